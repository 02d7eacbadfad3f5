//! A report in Markdown, from lines of JSON that runs of studies left.
//!
//! In the order of the studies: each experiment's question, its tables, what held of what the paper reported, and the command that
//! repeats it. The rule kept here: every number comes from a line or from the paper.

use std::fmt;
use std::fmt::Write as _;

use super::result::range;
use super::{Experiment, Outcome, Reported, Series, Study};
use crate::studies;

/// A line that is none of a study's.
#[derive(Debug)]
#[non_exhaustive]
pub enum LineError {
    /// It is no line of JSON with what a study's line has.
    Form {
        /// Which, from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// No study has such a series.
    Unknown {
        /// Which, from 1.
        line: usize,
        /// Study, experiment and figure or table.
        found: String,
    },
}

impl fmt::Display for LineError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form { line, source } => {
                write!(out, "line {line} is no measurement of a study: {source}")
            }
            Self::Unknown { line, found } => {
                write!(
                    out,
                    "line {line}: expected a series of a known study, found {found}"
                )
            }
        }
    }
}

impl std::error::Error for LineError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Form { source, .. } => Some(source),
            Self::Unknown { .. } => None,
        }
    }
}

/// Reads lines of JSON; empty ones are none.
///
/// # Errors
/// The first line that is no measurement of a known study.
pub fn read(lines: &str) -> Result<Vec<Outcome>, LineError> {
    let mut outcomes = Vec::new();
    for (index, text) in lines.lines().enumerate() {
        let line = index + 1;
        if text.trim().is_empty() {
            continue;
        }
        let outcome: Outcome =
            serde_json::from_str(text).map_err(|source| LineError::Form { line, source })?;
        let known = studies::named(&outcome.study).is_some_and(|study| {
            study
                .series()
                .any(|(experiment, series)| is_of(&outcome, study, experiment, series))
        });
        if !known {
            let found = format!(
                "{}/{}/{}",
                outcome.study, outcome.experiment, outcome.shown_in
            );
            return Err(LineError::Unknown { line, found });
        }
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

/// Whether it is of this series of this study.
pub fn is_of(outcome: &Outcome, study: &Study, experiment: &Experiment, series: &Series) -> bool {
    outcome.study == study.name
        && outcome.experiment == experiment.number
        && outcome.shown_in == series.shown_in
}

/// The report.
pub fn markdown(outcomes: &[Outcome]) -> String {
    let mut text = String::from("# Studies of message security, run again\n");
    for study in studies::ALL {
        let mut told = None;
        for (experiment, series) in study.series() {
            let of: Vec<&Outcome> = outcomes
                .iter()
                .filter(|outcome| is_of(outcome, study, experiment, series))
                .collect();
            if of.is_empty() {
                continue;
            }
            if told.is_none() {
                text.push_str(&heading(study));
            }
            if told != Some(experiment.number) {
                // Writing to a String does not fail.
                let _ = write!(
                    text,
                    "\n### Experiment {}: {}\n\nRepeat it with `soapstone lab run {}/{}`.\n",
                    experiment.number, experiment.question, study.name, experiment.number
                );
            }
            told = Some(experiment.number);
            let _ = write!(
                text,
                "\nIn the paper: {}.\n\n{}",
                series.shown_in,
                table(&of)
            );
            text.push_str(&held(series.reported, &of));
        }
    }
    text.push_str(
        "\nTimes are of one round trip, measured at the client. Impact is best time by best time of `none`, the same way through both \
         gateways without security; `direct` is without gateways. Floor is the impact if of all security only the operations with private \
         keys cost anything: two signatures and two unwrapped keys, as they took alone in the same run.\n",
    );
    text
}

fn heading(study: &Study) -> String {
    let paper = &study.paper;
    format!(
        "\n## {}\n\n{}: *{}*. {}, {}. It measured {}.\n",
        study.name, paper.authors, paper.title, paper.published, paper.year, paper.stack
    )
}

fn table(outcomes: &[&Outcome]) -> String {
    let row = |cells: &mut dyn Iterator<Item = &str>| {
        let mut row = String::from("|");
        for cell in cells {
            let _ = write!(row, " {} |", cell.replace('|', "\\|"));
        }
        row + "\n"
    };
    let mut text = row(&mut Outcome::COLUMNS.iter().map(|(name, _)| *name));
    text += &row(
        &mut Outcome::COLUMNS.iter().map(|(_, number)| match number {
            true => "--:",
            false => "---",
        }),
    );
    for outcome in outcomes {
        text += &row(&mut outcome.cells().iter().map(String::as_str));
    }
    text
}

/// A line for each claim of the paper: at how many points our impact is below it, within it, above it.
fn held(claims: &[Reported], outcomes: &[&Outcome]) -> String {
    let mut text = String::new();
    for claim in claims {
        let paper = claim.percent();
        let ours: Vec<f64> = outcomes
            .iter()
            .filter(|outcome| outcome.measurement.mechanism == claim.mechanism.name())
            .map(|outcome| outcome.impact_percent)
            .collect();
        if ours.is_empty() {
            continue;
        }
        let least = ours.iter().copied().fold(f64::INFINITY, f64::min);
        let most = ours.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let below = ours.iter().filter(|it| **it < paper[0]).count();
        let above = ours.iter().filter(|it| **it > paper[1]).count();
        let _ = write!(
            text,
            "\n`{}`: the paper reports {} of plain, here it is {}; of {} points {below} are below the paper's, {above} above.\n",
            claim.mechanism,
            range(paper),
            range([least, most]),
            ours.len(),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(mechanism: &str, books: u32, best: f64, impact: f64) -> String {
        let reported = if mechanism == "sign-encrypt" {
            "[1000.0,1500.0]"
        } else {
            "null"
        };
        format!(
            r#"{{"stack":"soapstone","op":"roundtrip","mechanism":"{mechanism}","suite":"","binding":"","payload":"books","items":{books},
"bytes":1,"secured_bytes":2,"clients":1,"n":3,"mean_us":{best},"median_us":{best},"p95_us":{best},"stdev_us":0.0,"per_s":1.0,
"tuning":{{"canonical_runs":true}},"study":"mchale2012","experiment":1,"shown_in":"figures-5-6","source":"memory","requests":1,
"best_us":{best},"first_us":9.0,"impact_percent":{impact},"impact_of_medians_percent":{impact},"impact_over_direct_percent":1.0,
"floor_percent":900.0,"reported_percent":{reported}}}"#
        )
        .replace('\n', "")
    }

    #[test]
    fn tables_and_what_held_are_computed_from_the_lines() {
        let lines = [
            line("none", 1, 200.0, 100.0),
            line("sign-encrypt", 1, 3_200.0, 1_600.0),
            String::new(),
            line("none", 2_500, 1_000.0, 100.0),
            line("sign-encrypt", 2_500, 2_500.0, 250.0),
        ];
        let report = markdown(&read(&lines.join("\n")).expect("lines of a study"));
        for part in [
            "\n## mchale2012\n\nG. McHale, J. O'Raw, K. Curran: *WS-I* compliant",
            "\n### Experiment 1: What does signing",
            "soapstone lab run mchale2012/1`",
            "| source | books | requests |",
            "| --- | --: | --: |",
            "| memory | 1 | 1 | sign-encrypt | - | 3 | 3.200 | 3.200 | 0 % | 1600 % | 1600 % | 900 % | 1000 to 1500 % |",
            "| memory | 2500 | 1 | none | - | 3 | 1.000 | 1.000 | 0 % | 100 % | 100 % | 900 % | - |",
            "\n`sign-encrypt`: the paper reports 1000 to 1500 % of plain, here it is 250 to 1600 %; of 2 points 1 are below the paper's, 1 above.\n",
        ] {
            assert!(report.contains(part), "{part} is not in\n{report}");
        }
        assert!(!report.contains("Experiment 2"), "{report}");
    }

    #[test]
    fn a_line_of_another_experiment_is_told() {
        let good = line("none", 1, 200.0, 100.0);
        let told = |lines: &str| read(lines).expect_err("a line that is none").to_string();
        assert_eq!(
            told(&format!(
                "{good}\n\n{}",
                good.replace("figures-5-6", "figure-99")
            )),
            "line 3: expected a series of a known study, found mchale2012/1/figure-99"
        );
        assert_eq!(
            told("{}"),
            "line 1 is no measurement of a study: missing field `study` at line 1 column 2"
        );
    }
}
