//! How many of something may come in a time, and how many at once.
//!
//! The rule kept here: a rate lets at least one through.

use std::time::Duration;

/// How many in which time, and how many at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Nanoseconds for each.
    pub(crate) each: u64,
    /// Nanoseconds for as many as may come at once.
    pub(crate) depth: u64,
}

impl Rate {
    /// So many in a time, of which `burst` may come at once. `None` unless both are at least one.
    pub fn new(count: u64, time: Duration, burst: u64) -> Option<Self> {
        let time = u64::try_from(time.as_nanos()).ok()?;
        let each = time.checked_div(count)?.max(1);
        let depth = each.checked_mul(burst)?;
        (burst > 0).then_some(Self { each, depth })
    }

    /// The time for each.
    pub fn each(self) -> Duration {
        Duration::from_nanos(self.each)
    }

    /// The time for as many as may come at once.
    pub fn depth(self) -> Duration {
        Duration::from_nanos(self.depth)
    }

    /// How many may come at once.
    pub fn burst(self) -> u64 {
        self.depth / self.each
    }

    /// Reads `"100/s"`, `"30/m"` or `"500/h"`. Unless `burst` says otherwise, all of them may come
    /// at once.
    pub fn parse(text: &str, burst: Option<u64>) -> Option<Self> {
        let (count, unit) = text.split_once('/')?;
        let count: u64 = count.trim().parse().ok()?;
        let seconds = match unit.trim() {
            "s" => 1,
            "m" => 60,
            "h" => 3600,
            _ => return None,
        };
        Self::new(count, Duration::from_secs(seconds), burst.unwrap_or(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_in_a_second_a_minute_or_an_hour() {
        assert_eq!(
            Rate::parse("60/m", None),
            Rate::new(60, Duration::from_secs(60), 60)
        );
        for wrong in ["60", "0/s", "1/d", "-1/s", "x/s", "/s"] {
            assert_eq!(Rate::parse(wrong, None), None, "{wrong}");
        }
        assert_eq!(Rate::parse("1/s", Some(0)), None);
    }
}
