//! The steps as they are told: in words, as JSON, and with a verdict.
//!
//! The rule kept here: a step that does not hold fails the demo.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::failure::Failure;

/// A step.
pub(super) struct Step {
    name: &'static str,
    title: String,
    lines: Vec<String>,
    facts: Map<String, Value>,
    broken: Vec<String>,
}

impl Step {
    /// One of this name for programs and title for people.
    pub(super) fn new(name: &'static str, title: impl Into<String>) -> Self {
        Self {
            name,
            title: title.into(),
            lines: Vec::new(),
            facts: Map::new(),
            broken: Vec::new(),
        }
    }

    /// A line for people.
    pub(super) fn say(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    /// A figure or a word for programs.
    pub(super) fn fact(&mut self, name: &str, value: impl Into<Value>) {
        self.facts.insert(name.to_owned(), value.into());
    }

    /// Notes a condition of the step, which fails the demo where it does not hold.
    pub(super) fn must(&mut self, holds: bool, what: impl Into<String>) {
        if !holds {
            self.broken.push(what.into());
        }
    }

    fn json(&self) -> Value {
        let mut line = self.facts.clone();
        line.insert("step".to_owned(), self.name.into());
        line.insert("broken".to_owned(), self.broken.clone().into());
        Value::Object(line)
    }
}

/// All steps.
#[derive(Default)]
pub(super) struct Told(Vec<Step>);

impl Told {
    pub(super) fn step(&mut self, step: Step) {
        self.0.push(step);
    }

    /// One line of JSON for each step.
    pub(super) fn json(&self) -> String {
        let lines = self.0.iter().map(|step| format!("{}\n", step.json()));
        lines.collect()
    }

    /// All of it for people.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (index, step) in self.0.iter().enumerate() {
            // Writing to a String does not fail.
            let _ = writeln!(text, "{}. {}", index + 1, step.title);
            for line in &step.lines {
                let _ = writeln!(text, "   {line}");
            }
            for what in &step.broken {
                let _ = writeln!(text, "   DOES NOT HOLD: {what}");
            }
            text.push('\n');
        }
        let broken = self.0.iter().filter(|step| !step.broken.is_empty()).count();
        let _ = match broken {
            0 => writeln!(text, "All {} steps hold.", self.0.len()),
            _ => writeln!(text, "{broken} of {} steps do not hold.", self.0.len()),
        };
        text
    }

    /// How the demo ends.
    ///
    /// # Errors
    /// What did not hold.
    pub(super) fn verdict(&self) -> Result<(), Failure> {
        let broken = self.0.iter().flat_map(|step| {
            let of_step = step.broken.iter();
            of_step.map(|what| format!("{}: {what}", step.title))
        });
        let broken: Vec<String> = broken.collect();
        match broken.is_empty() {
            true => Ok(()),
            false => Err(Failure::new(broken.join("; "))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_does_not_hold_fails_the_demo() {
        let mut told = Told::default();
        let mut step = Step::new("asked", "a user asks");
        step.say("for a token");
        step.fact("subject", "alice");
        step.must(true, "the sky is blue");
        told.step(step);
        assert!(told.verdict().is_ok());
        let mut step = Step::new("refused", "a stranger asks");
        step.must(false, "the stranger is refused");
        told.step(step);
        assert_eq!(
            told.verdict().map_err(|failure| failure.to_string()),
            Err("soapstone: a stranger asks: the stranger is refused\n".to_owned())
        );
        assert_eq!(
            told.text(),
            "1. a user asks\n   for a token\n\n2. a stranger asks\n   DOES NOT HOLD: the stranger is refused\n\n\
             1 of 2 steps do not hold.\n"
        );
        assert_eq!(
            told.json(),
            "{\"broken\":[],\"step\":\"asked\",\"subject\":\"alice\"}\n\
             {\"broken\":[\"the stranger is refused\"],\"step\":\"refused\"}\n"
        );
    }
}
