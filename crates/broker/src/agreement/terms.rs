//! What an agreement says: who the parties are, what each of them owes, and how that is measured.
//!
//! The rule kept here: an agreement adds demands. What it is silent about stays as the route has
//! it.

use std::fmt;
use std::time::{Duration, Instant};

use crate::needs::Needs;
use crate::rate::Rate;

/// A moment, by both clocks of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// By the clock that nobody sets: for all that is measured.
    pub at: Instant,
    /// Since 1970 in UTC: for validity and for records.
    pub unix: Duration,
}

/// A share of calls, in thousandths of a hundredth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(u32);

/// All of them.
const ALL: u32 = 100_000;

impl Share {
    /// Reads `"95%"` or `"99.95%"`: at most three digits behind the point.
    pub fn parse(text: &str) -> Option<Self> {
        let number = text.strip_suffix('%')?.trim_end();
        let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
        if !digits(whole) || !digits(part) || part.len() > 3 {
            return None;
        }
        let whole: u32 = whole.parse().ok()?;
        let part: u32 = format!("{part:0<3}").parse().ok()?;
        let share = whole.checked_mul(1000)?.checked_add(part)?;
        (share <= ALL && share > 0).then_some(Self(share))
    }

    /// So many of all.
    pub(crate) fn of(some: u64, all: u64) -> Self {
        let share = u128::from(some) * u128::from(ALL) / u128::from(all.max(1));
        Self(u32::try_from(share).unwrap_or(ALL).min(ALL))
    }

    /// Whether more calls miss it than may.
    pub(crate) fn is_missed(self, missing: u64, calls: u64) -> bool {
        let may_miss = u128::from(calls) * u128::from(ALL - self.0);
        u128::from(missing) * u128::from(ALL) > may_miss
    }
}

impl fmt::Display for Share {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / 1000, self.0 % 1000);
        if part == 0 {
            return write!(out, "{whole}%");
        }
        let part = format!("{part:03}");
        write!(out, "{whole}.{}%", part.trim_end_matches('0'))
    }
}

/// Who goes first where there is little room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Calls without an agreement have this one, too.
    #[default]
    Bronze,
    /// In between.
    Silver,
    /// May use all of a backend's limit.
    Gold,
}

impl Class {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Bronze, Self::Silver, Self::Gold];

    /// Its name in files and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bronze => "bronze",
            Self::Silver => "silver",
            Self::Gold => "gold",
        }
    }

    /// The part of each backend's limit that calls of this class leave to higher ones, in
    /// hundredths. A queue with priorities would hold up the calls of the lowest class for as long
    /// as others come; a part that is left free refuses them at once.
    pub(crate) fn leaves(self) -> u32 {
        match self {
            Self::Bronze => 25,
            Self::Silver => 10,
            Self::Gold => 0,
        }
    }
}

/// From when until when an agreement is in force, since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// The first moment.
    pub from: Duration,
    /// The first moment at which it is over.
    pub until: Duration,
}

/// What the client owes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientTerms {
    /// Most requests.
    pub rate: Option<Rate>,
    /// The same in words.
    pub rate_text: String,
    /// Most bytes of a request, in plain.
    pub bytes: Option<u64>,
    /// Operations that may be called, by local name or `{namespace}local`; every one, where there
    /// are none.
    pub operations: Vec<String>,
    /// What a violation costs, in words.
    pub penalty: Option<String>,
}

/// Such a share of calls is answered in such a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseTime {
    /// The longest time.
    pub within: Duration,
    /// The share of calls.
    pub quantile: Share,
}

/// When violations take a provider out of the choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exclusion {
    /// After so many violations.
    pub after: u32,
    /// For that time.
    pub time: Duration,
}

/// What the provider owes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderTerms {
    /// How quickly calls are answered.
    pub time: Option<ResponseTime>,
    /// The share of calls that are answered.
    pub availability: Option<Share>,
    /// The least security of exchanges. Time and availability of it are not used.
    pub security: Needs,
    /// Whether its reports must fit its calls.
    pub reports: bool,
    /// Whether the policy that it registered counts: it is no weaker than that of the file, and
    /// answers are no weaker than it.
    pub description: bool,
    /// Subject of the certificate that signs its answers.
    pub subject: Option<String>,
    /// What a violation costs, in words.
    pub penalty: Option<String>,
    /// When it gets no calls.
    pub exclusion: Option<Exclusion>,
}

/// Which calls are measured together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// So many calls.
    Calls(u64),
    /// Those of a span of time.
    Time {
        /// How long it is.
        length: Duration,
        /// Time and availability are judged from so many calls on.
        at_least: u64,
    },
}

/// What an agreement says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgreementTerms {
    /// Its name, in records and metrics.
    pub name: String,
    /// The name of the route that it is about.
    pub service: String,
    /// Subject of the client's certificate.
    pub client: String,
    /// Names of the provider's backends; all backends of the route, where there are none.
    pub backends: Vec<String>,
    /// Who goes first.
    pub class: Class,
    /// When it is in force.
    pub validity: Validity,
    /// What the client owes.
    pub of_client: ClientTerms,
    /// What the provider owes.
    pub of_provider: ProviderTerms,
    /// What is measured together.
    pub window: Window,
}

impl AgreementTerms {
    /// Whether it is in force.
    pub fn is_in_force(&self, unix: Duration) -> bool {
        (self.validity.from..self.validity.until).contains(&unix)
    }

    /// Whether a backend is the provider's.
    pub fn is_about(&self, backend: &str) -> bool {
        self.backends.is_empty() || self.backends.iter().any(|name| name == backend)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_has_three_digits_behind_the_point_and_no_more() {
        for (text, expected) in [
            ("95%", Some("95%")),
            ("99.95 %", Some("99.95%")),
            ("99.999%", Some("99.999%")),
            ("100%", Some("100%")),
            ("0.5%", Some("0.5%")),
            ("100.001%", None),
            ("99.9999%", None),
            ("0%", None),
            ("95", None),
            ("-1%", None),
            (".5%", None),
            ("5.%", None),
        ] {
            let share = Share::parse(text).map(|share| share.to_string());
            assert_eq!(share.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_share_is_missed_by_the_first_call_above_what_may_miss() {
        let share = Share::parse("95%").expect("a share");
        assert!(!share.is_missed(5, 100));
        assert!(share.is_missed(6, 100));
        assert!(share.is_missed(1, 1));
        let every = Share::parse("100%").expect("a share");
        assert!(!every.is_missed(0, 100));
        assert!(every.is_missed(1, 1_000_000));
        assert_eq!(Share::of(1, 3).to_string(), "33.333%");
    }
}
