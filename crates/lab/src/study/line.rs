//! What a run leaves, as lines of JSON: one for each stack that is not there, one for each quantity
//! of each arm at each point, one for each arm that was left out, and one when a point is done.
//!
//! The rule kept here: a line holds what was measured, and nothing that is computed from other
//! lines; the report does that.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::call::Stack;
use crate::statistics::Figures;
use crate::studies;

/// One line of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Record {
    /// What was measured.
    Line(Line),
    /// What was not.
    LeftOut(LeftOut),
    /// A stack that is not there.
    Absent(Absent),
    /// The point whose lines stand before it is whole.
    Done(Done),
}

/// An arm that a stack cannot do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The study.
    pub study: Cow<'static, str>,
    /// The number of the experiment.
    pub experiment: u8,
    /// The figure or table of the paper.
    pub shown_in: Cow<'static, str>,
    /// The point's coordinates.
    pub at: BTreeMap<Cow<'static, str>, String>,
    /// Which stack.
    pub stack: Stack,
    /// Which arm.
    pub arm: String,
    /// Why.
    pub left_out: String,
}

/// A stack that was asked for and is not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absent {
    /// Which.
    pub stack: Stack,
    /// Why.
    pub absent: String,
}

/// A point that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// Its name: [`Task::name`](super::Task::name).
    pub done: String,
    /// How long it took.
    pub seconds: f64,
    /// How much of the processors' time the hypervisor gave to others meanwhile, from 0 to 1;
    /// nothing, where the system does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stolen: Option<f64>,
}

/// A line that none of our runs left.
#[derive(Debug)]
#[non_exhaustive]
pub enum LineError {
    /// It is no JSON, or has not what a line of a study has.
    Form {
        /// Which, from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// No study has such a figure.
    Unknown {
        /// Which, from 1.
        line: usize,
        /// Study, experiment and figure.
        found: String,
    },
}

impl fmt::Display for LineError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form { line, source } => {
                write!(out, "line {line} is no measurement of a study: {source}")
            }
            Self::Unknown { line, found } => write!(
                out,
                "line {line}: expected a figure of a known study, found {found}"
            ),
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
/// The first that is no line of a known study's run.
pub fn read(lines: &str) -> Result<Vec<Record>, LineError> {
    let mut records = Vec::new();
    for (index, text) in lines.lines().enumerate() {
        let line = index + 1;
        if text.trim().is_empty() {
            continue;
        }
        let record = parse(text).map_err(|source| LineError::Form { line, source })?;
        let place = match &record {
            Record::Line(it) => Some((&it.study, it.experiment, &it.shown_in)),
            Record::LeftOut(it) => Some((&it.study, it.experiment, &it.shown_in)),
            Record::Absent(_) | Record::Done(_) => None,
        };
        if let Some((study, experiment, shown_in)) = place {
            let known = studies::named(study)
                .is_some_and(|study| study.figure(experiment, shown_in).is_some());
            if !known {
                let found = format!("{study}/{experiment}/{shown_in}");
                return Err(LineError::Unknown { line, found });
            }
        }
        records.push(record);
    }
    Ok(records)
}

/// By the field that only it has, so that what is wrong with the others is told.
fn parse(text: &str) -> Result<Record, serde_json::Error> {
    let value: serde_json::Value = serde_json::from_str(text)?;
    if value.get("done").is_some() {
        serde_json::from_value(value).map(Record::Done)
    } else if value.get("absent").is_some() {
        serde_json::from_value(value).map(Record::Absent)
    } else if value.get("left_out").is_some() {
        serde_json::from_value(value).map(Record::LeftOut)
    } else {
        serde_json::from_value(value).map(Record::Line)
    }
}

/// How many of the records, from the first, belong to points that are whole: a run that was killed
/// left the rest.
pub fn whole(records: &[Record]) -> usize {
    let last = records
        .iter()
        .rposition(|record| matches!(record, Record::Done(_)));
    last.map_or(0, |last| last + 1)
}

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The study.
    pub study: Cow<'static, str>,
    /// The number of the experiment.
    pub experiment: u8,
    /// The figure or table of the paper.
    pub shown_in: Cow<'static, str>,
    /// The point's coordinates.
    pub at: BTreeMap<Cow<'static, str>, String>,
    /// Who answered.
    pub stack: Stack,
    /// What is compared: `none`, `sign-encrypt/Basic256`, `prehashed`.
    pub arm: String,
    /// What was measured.
    pub quantity: Quantity,
    /// Its figures.
    pub figures: Figures,
    /// The samples that the figures are of, in the order of measuring; none, if they were more
    /// than [`Line::SAMPLES`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<f64>,
}

impl Line {
    /// The most samples that a line keeps.
    pub const SAMPLES: usize = 1_000;

    /// The line of these samples, without its place; `None`, if there are no samples.
    pub fn of(stack: Stack, arm: &str, quantity: Quantity, samples: &[f64]) -> Option<Self> {
        let kept = if samples.len() > Self::SAMPLES {
            &[][..]
        } else {
            samples
        };
        Some(Self {
            study: Cow::Borrowed(""),
            experiment: 0,
            shown_in: Cow::Borrowed(""),
            at: BTreeMap::new(),
            stack,
            arm: arm.to_owned(),
            quantity,
            figures: Figures::of(samples)?,
            samples: kept.to_vec(),
        })
    }
}

/// What can be measured, and its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Time of a call, µs.
    Time,
    /// Time of the first call at the point, which is not among the others, or of a deployment or a
    /// conversation, where it is, µs.
    First,
    /// Time of a call after the first of a new deployment, µs.
    Later,
    /// Time of the first call of a client that comes to what runs already, µs.
    Newcomer,
    /// Time of all calls together after a new deployment, or in a new conversation, µs.
    Total,
    /// Time of a call from sending the secured request until the whole answer was there, µs.
    Exchange,
    /// The same until the answer was opened, µs.
    Opened,
    /// Processor time of an operation, µs.
    Processor,
    /// Bytes of both messages, as the client sends and gets them.
    Size,
    /// Bytes of both messages, as they travel secured.
    Secured,
    /// Bytes of the request, as it travels secured.
    SecuredRequest,
    /// Bytes of the response, as it travels secured.
    SecuredResponse,
    /// Bytes of the Security headers of both messages.
    Header,
    /// Calls in a second.
    Rate,
    /// Memory, bytes.
    Memory,
    /// The time that 95 of 100 calls of a round do not exceed, µs.
    Tail,
    /// Calls of a round that were not answered.
    Lost,
    /// Time from the death of a provider until the last call was sent that it would have got, µs.
    Ended,
    /// Calls of a round that were answered below their needs.
    Below,
    /// Calls of a round that were answered in the time that they need, percent.
    Met,
    /// Violations of agreements that were made in a round.
    Violations,
    /// Violations of a round that were made and not recorded, or recorded and not made.
    Unrecorded,
    /// Time that private keys, digests and ciphers take alone for such a call, µs: what no
    /// implementation can be faster than.
    Floor,
    /// What the mean call of clients at once takes of such time, if they are served in turns, µs,
    /// where there are fewer processors than clients.
    FloorTogether,
}

impl Quantity {
    /// Whether it is a number of bytes that is counted, and varies with nothing but the message.
    pub const fn is_counted(self) -> bool {
        matches!(
            self,
            Self::Size
                | Self::Secured
                | Self::SecuredRequest
                | Self::SecuredResponse
                | Self::Header
        )
    }

    /// Its name in lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::First => "first",
            Self::Later => "later",
            Self::Newcomer => "newcomer",
            Self::Total => "total",
            Self::Exchange => "exchange",
            Self::Opened => "opened",
            Self::Processor => "processor",
            Self::Size => "size",
            Self::Secured => "secured",
            Self::SecuredRequest => "secured-request",
            Self::SecuredResponse => "secured-response",
            Self::Header => "header",
            Self::Rate => "rate",
            Self::Memory => "memory",
            Self::Tail => "tail",
            Self::Lost => "lost",
            Self::Ended => "ended",
            Self::Below => "below",
            Self::Met => "met",
            Self::Violations => "violations",
            Self::Unrecorded => "unrecorded",
            Self::Floor => "floor",
            Self::FloorTogether => "floor-together",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_line_is_told_with_its_number() {
        let wrong = |text: &str| read(text).expect_err("a wrong line").to_string();
        assert!(
            wrong("\n{\"stack\":\"soapstone\"}")
                .starts_with("line 2 is no measurement of a study: missing field")
        );
        assert_eq!(
            wrong(
                r#"{"study":"mchale2012","experiment":9,"shown_in":"figure-1","at":{},"stack":"cxf","arm":"sign","left_out":"why"}"#
            ),
            "line 1: expected a figure of a known study, found mchale2012/9/figure-1"
        );
    }
}
