//! Providers of one service behind something that chooses among them, and what happens to them
//! while clients call.
//!
//! The rule kept here: whatever chooses is in front of the same providers, and a round of one is
//! followed by a round of another.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// What happens to the providers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    /// Nothing.
    Well,
    /// One of three has so many percent of a processor.
    Slowed {
        /// So many.
        percent: u32,
        /// The length of the RSA keys of all three: what a call costs a provider.
        bits: u32,
    },
    /// The service behind one of three answers so many milliseconds later.
    Late {
        /// So many.
        milliseconds: u32,
    },
    /// The same, and the monitor of that one does not see it: what it reports is little.
    Lying {
        /// So many milliseconds.
        milliseconds: u32,
    },
    /// One of three is killed when a third of the calls of a round has been made.
    Killed,
    /// They have different policies, and clients have different needs. One of them is slow.
    Needs,
    /// A client has an agreement with one of them, whose answers are late in every other window of
    /// [`WINDOW`](Self::WINDOW) calls: each of those windows is a violation.
    Agreement,
    /// The factors of a design: one of three answers so many milliseconds later, which may be none,
    /// and messages are signed and encrypted, or as they are.
    Factors {
        /// So many.
        milliseconds: u32,
        /// Signed and encrypted.
        secured: bool,
    },
}

impl Trial {
    /// The calls that an agreement measures together.
    pub const WINDOW: u32 = 10;
}

impl fmt::Display for Trial {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Well => out.write_str("all providers run"),
            Self::Slowed { percent, bits } => write!(
                out,
                "one provider has {percent} % of a processor, keys of providers have {bits} bits"
            ),
            Self::Late { milliseconds } => {
                write!(out, "one provider answers {milliseconds} ms later")
            }
            Self::Lying { milliseconds } => write!(
                out,
                "one provider answers {milliseconds} ms later and reports that it does not"
            ),
            Self::Killed => out.write_str("one provider is killed"),
            Self::Needs => out.write_str("providers have different policies"),
            Self::Agreement => out.write_str("one provider breaks an agreement now and then"),
            Self::Factors {
                milliseconds,
                secured,
            } => {
                let how = match secured {
                    true => "secured",
                    false => "as they are",
                };
                write!(
                    out,
                    "one provider answers {milliseconds} ms later, messages are {how}"
                )
            }
        }
    }
}

/// A round of calls.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProvidersRound {
    /// The time of each call that was answered.
    pub times: Vec<Duration>,
    /// Calls that were not answered.
    pub lost: u32,
    /// From the death of a provider until the last call was sent that it would have got.
    pub ended: Option<Duration>,
    /// Calls that were answered below their needs, where they have some.
    pub below: Option<u32>,
    /// Percent of the calls that were answered in the time that they need.
    pub met: Option<f64>,
    /// The time of each call that was answered, by the class of the client, where they have some.
    pub classes: BTreeMap<&'static str, Vec<Duration>>,
    /// Violations of agreements that were made, where there are some.
    pub violations: Option<u32>,
    /// Violations that were made and not recorded, or recorded and not made.
    pub unrecorded: Option<u32>,
}

impl ProvidersRound {
    /// The smallest time that 95 of 100 calls do not exceed.
    pub fn tail(&self) -> Option<Duration> {
        let mut times = self.times.clone();
        times.sort_unstable();
        times
            .get((times.len() * 95).div_ceil(100).checked_sub(1)?)
            .copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_what_95_of_100_calls_do_not_exceed() {
        let round = |count: u64| ProvidersRound {
            times: (1..=count).rev().map(Duration::from_millis).collect(),
            ..ProvidersRound::default()
        };
        assert_eq!(round(100).tail(), Some(Duration::from_millis(95)));
        assert_eq!(round(1).tail(), Some(Duration::from_millis(1)));
        assert_eq!(round(0).tail(), None);
    }
}
