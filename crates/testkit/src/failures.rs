//! The failures of a table of cases.
//!
//! The rule kept here: one case that fails hides none of the others.

use std::fmt::Display;

/// The cases that failed, and why.
#[derive(Debug, Default)]
pub struct Failures(Vec<String>);

impl Failures {
    /// Notes a failure of a case.
    pub fn add(&mut self, case: impl Display, why: impl Display) {
        self.0.push(format!("{case}: {why}"));
    }

    /// Notes a failure of a case, if it failed.
    pub fn note(&mut self, case: impl Display, outcome: Result<(), impl Display>) {
        if let Err(why) = outcome {
            self.add(case, why);
        }
    }

    /// Ends the table.
    ///
    /// # Panics
    /// If a case failed, with all that failed.
    #[track_caller]
    pub fn end(self) {
        let failed = self.0.len();
        assert!(failed == 0, "{failed} failures\n{}", self.0.join("\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_without_failures_ends() {
        let mut failures = Failures::default();
        failures.note("one", Ok::<(), &str>(()));
        failures.end();
    }

    #[test]
    #[should_panic(expected = "2 failures\none: wrong\nother: missing")]
    fn every_failure_is_told() {
        let mut failures = Failures::default();
        failures.note("one", Err("wrong"));
        failures.add("other", "missing");
        failures.end();
    }
}
