//! How often another assertion is asked for in place of one that a backend seems to refuse.
//!
//! A backend may be right to refuse an assertion that has not ended: its issuer has a new key. It
//! may also refuse all of them, or a stranger answers in its place. Then each further assertion is
//! refused as well.
//!
//! The rule kept here: whatever a backend says, it has the token service asked once in a pause of
//! minutes.

use std::time::{Duration, Instant};

/// The first pause. The refusal before it is followed by a question at once, so an assertion that
/// is rightly refused costs no pause.
const SHORTEST_PAUSE: Duration = Duration::from_secs(60);

/// The longest pause: four questions an hour are few beside those of any token service's users.
const LONGEST_PAUSE: Duration = Duration::from_secs(15 * 60);

/// The questions that the refusals of one backend have caused.
#[derive(Debug, Default)]
pub(super) struct Doubts {
    last: Option<Pause>,
}

#[derive(Debug)]
struct Pause {
    until: Instant,
    length: Duration,
}

impl Doubts {
    /// Whether to ask now. A pause begins with each question, twice as long as the one before.
    ///
    /// Success ends no pause: a backend that grants and refuses in turn would have one question
    /// asked for each refusal. After a time without questions the pauses begin anew.
    pub(super) fn may_ask(&mut self, now: Instant) -> bool {
        let length = match &self.last {
            Some(last) if now < last.until => return false,
            Some(last) if now < last.until + LONGEST_PAUSE => (last.length * 2).min(LONGEST_PAUSE),
            _ => SHORTEST_PAUSE,
        };
        let until = now + length;
        self.last = Some(Pause { until, length });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn minutes(minutes: u64) -> Duration {
        Duration::from_secs(60 * minutes)
    }

    #[test]
    fn a_backend_that_refuses_each_second_causes_few_questions() {
        let (mut doubts, start) = (Doubts::default(), Instant::now());
        let asked = (0..3600).filter(|second| doubts.may_ask(start + Duration::from_secs(*second)));
        let asked: Vec<u64> = asked.map(|second| second / 60).collect();
        assert_eq!(asked, [0, 1, 3, 7, 15, 30, 45]);
    }

    #[test]
    fn pauses_begin_anew_after_a_time_without_questions() {
        let (mut doubts, start) = (Doubts::default(), Instant::now());
        for (minute, expected) in [
            (0, true),
            (1, true),
            (2, false),
            // The pause of two minutes ended at 3, and the longest one would have at 18.
            (18, true),
            (19, true),
            (20, false),
            (21, true),
        ] {
            assert_eq!(
                doubts.may_ask(start + minutes(minute)),
                expected,
                "{minute}"
            );
        }
    }
}
