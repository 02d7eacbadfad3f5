//! One measurement: what was run, how often, and how long it took.
//!
//! The line of JSON is the same from every stack, so that results can be laid side by side.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::Payload;

pub(crate) use crate::statistics::Figures;

/// As mechanism: the work that no message can avoid, each part alone.
pub(crate) const PARTS: &str = "parts";
/// As mechanism: messages, and in turns with them all that they cannot avoid.
pub(crate) const UNAVOIDABLE: &str = "unavoidable";
/// As mechanism: messages, and in turns with them their private-key operation alone.
pub(crate) const PRIVATE_KEY: &str = "private-key";
/// As mechanism: messages that the holder of an assertion's key signed, and in turns with them
/// messages that a certificate signed, and the verification of the assertion alone.
pub(crate) const HOLDER_OF_KEY: &str = "holder-of-key";
/// As mechanism: messages under a Kerberos session key, and in turns with them messages under a
/// shared key.
pub(crate) const KERBEROS_KEY: &str = "kerberos-key";

/// What was measured, and the figures. Times are in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The stack: `soapstone`, or a peer.
    pub stack: Cow<'static, str>,
    /// `secure`, `open`, or a part of them: `part-scan`, `part-digest`, …
    pub op: Cow<'static, str>,
    /// The mechanism.
    pub mechanism: Cow<'static, str>,
    /// The algorithm suite.
    pub suite: String,
    /// Which keys: `certificate`, `shared`, `context`, `assertion` or `kerberos`.
    pub binding: Cow<'static, str>,
    /// Kind of payload.
    pub payload: Cow<'static, str>,
    /// Records in the payload; for `echo`, characters.
    pub items: usize,
    /// Size of the plain envelope.
    pub bytes: usize,
    /// Size of the secured envelope; for parts, of what the part worked on.
    pub secured_bytes: usize,
    /// Concurrent clients.
    pub clients: usize,
    /// Repetitions counted.
    pub n: usize,
    /// Mean.
    pub mean_us: f64,
    /// Median.
    pub median_us: f64,
    /// 95th percentile.
    pub p95_us: f64,
    /// Standard deviation.
    pub stdev_us: f64,
    /// Operations per second at the median.
    pub per_s: f64,
    /// Optimisations in force.
    pub tuning: Tuning,
    /// Whether a small message went over loopback to another thread and back before each
    /// repetition.
    #[serde(default)]
    pub between_calls: bool,
}

impl Measurement {
    /// An operation of ours on a payload, by one client, with certificates and the optimisations
    /// that are the default.
    pub(crate) fn ours(
        op: &'static str,
        mechanism: &'static str,
        payload: Payload,
        figures: &Figures,
    ) -> Self {
        Self {
            stack: "soapstone".into(),
            op: op.into(),
            mechanism: mechanism.into(),
            suite: String::new(),
            binding: "certificate".into(),
            payload: payload.kind().into(),
            items: payload.items(),
            bytes: 0,
            secured_bytes: 0,
            clients: 1,
            n: figures.n,
            mean_us: figures.mean,
            median_us: figures.median,
            p95_us: figures.p95,
            stdev_us: figures.stdev,
            per_s: 1e6 / figures.median,
            tuning: Tuning {
                canonical_runs: true,
                derived_keys: true,
            },
            between_calls: false,
        }
    }

    /// Whether it is not of a case, but of what cases are compared with.
    pub(crate) fn is_beside_the_cases(&self) -> bool {
        [PARTS, UNAVOIDABLE, PRIVATE_KEY, HOLDER_OF_KEY, KERBEROS_KEY]
            .contains(&self.mechanism.as_ref())
    }

    /// Name of the case that was measured.
    pub fn case(&self) -> String {
        if self.is_beside_the_cases() {
            return format!("{}/{}/{}", self.mechanism, self.payload, self.items);
        }
        format!(
            "{}/{}/{}/{}/{}",
            self.mechanism, self.suite, self.binding, self.payload, self.items
        )
    }
}

/// The optimisations in force, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tuning {
    /// Whole runs of canonical source go to the digest as they are.
    pub canonical_runs: bool,
    /// Keys derived from a context are used for several messages.
    #[serde(default)]
    pub derived_keys: bool,
}

/// How long to repeat one case.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Time to spend on each case, warm-up apart.
    pub time: Duration,
    /// Fewest repetitions, however long they take.
    pub least: usize,
    /// Most repetitions, however short they are.
    pub most: usize,
}

impl Effort {
    /// A glance: all cases of the engine within a minute or two.
    pub const QUICK: Self = Self {
        time: Duration::from_millis(60),
        least: 5,
        most: 2_000,
    };
    /// Enough for medians that repeat.
    pub const FULL: Self = Self {
        time: Duration::from_millis(500),
        least: 15,
        most: 20_000,
    };
}

/// Times of single repetitions.
#[derive(Clone, Debug, Default)]
pub struct Samples(Vec<f64>);

impl FromIterator<f64> for Samples {
    /// Of times in microseconds.
    fn from_iter<I: IntoIterator<Item = f64>>(times: I) -> Self {
        Self(times.into_iter().collect())
    }
}

impl Samples {
    /// Repeats `run`, which does one operation and is told nothing. The first tenth of the time is
    /// warm-up and not counted.
    pub fn of(effort: Effort, mut run: impl FnMut()) -> Self {
        Self::of_prepared(effort, || (), |()| run())
    }

    /// Repeats `run` on what `prepare` makes, which is not timed.
    pub fn of_prepared<T>(
        effort: Effort,
        mut prepare: impl FnMut() -> T,
        mut run: impl FnMut(T),
    ) -> Self {
        let mut samples = Self::default();
        repeat(effort, |counted| {
            let prepared = prepare();
            let time = timed(|| run(prepared));
            if counted {
                samples.0.push(time);
            }
        });
        samples
    }

    /// Repeats `run` and `beside` on what `prepare` makes for them, in turns: the times of the one
    /// and of the other, of those turns that took least, a quarter of all. What else runs on
    /// the machine takes caches and processor time from both, but not alike from short code and
    /// from long.
    pub(crate) fn in_turns<T, U>(
        effort: Effort,
        mut prepare: impl FnMut() -> (T, U),
        mut run: impl FnMut(T),
        mut beside: impl FnMut(U),
    ) -> (Self, Self) {
        let mut turns = Vec::new();
        repeat(effort, |counted| {
            let (one, other) = prepare();
            let turn = [timed(|| run(one)), timed(|| beside(other))];
            if counted {
                turns.push(turn);
            }
        });
        let [run, beside] = Self::of_quiet(turns);
        (run, beside)
    }

    /// Does several works in turns, each of which tells how long it took: the times of each, of
    /// those turns that took least, a quarter of all.
    pub(crate) fn all_in_turns<const N: usize>(
        effort: Effort,
        works: &mut [&mut dyn FnMut() -> f64; N],
    ) -> [Self; N] {
        let mut turns: Vec<[f64; N]> = Vec::new();
        repeat(effort, |counted| {
            let turn = works.each_mut().map(|work| work());
            if counted {
                turns.push(turn);
            }
        });
        Self::of_quiet(turns)
    }

    /// The times of each work, of those turns that took least: a quarter of all.
    fn of_quiet<const N: usize>(mut turns: Vec<[f64; N]>) -> [Self; N] {
        let whole = |turn: &[f64; N]| turn.iter().sum::<f64>();
        turns.sort_by(|one, other| whole(one).total_cmp(&whole(other)));
        turns.truncate(turns.len().div_ceil(4));
        std::array::from_fn(|at| turns.iter().map(|turn| turn[at]).collect())
    }

    /// Them, in the order of measuring, in microseconds.
    pub(crate) fn times(&self) -> &[f64] {
        &self.0
    }

    /// Their figures; [`Figures::NONE`], if nothing was repeated.
    pub fn figures(self) -> Figures {
        Figures::of(&self.0).unwrap_or(Figures::NONE)
    }
}

/// Calls `once` as often as the effort says, and before that for a tenth of its time; told whether
/// it counts.
pub(crate) fn repeat(effort: Effort, mut once: impl FnMut(bool)) {
    let warm_up = Instant::now();
    loop {
        once(false);
        if warm_up.elapsed() * 10 > effort.time {
            break;
        }
    }
    let begin = Instant::now();
    let mut counted = 0;
    while (counted < effort.least || begin.elapsed() < effort.time) && counted < effort.most {
        once(true);
        counted += 1;
    }
}

/// How long it takes, in microseconds.
pub(crate) fn timed(run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64() * 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_number_of_repetitions_is_kept_however_short_the_time() {
        let effort = Effort {
            time: Duration::ZERO,
            least: 7,
            most: 100,
        };
        assert_eq!(Samples::of(effort, || ()).figures().n, 7);
    }

    #[test]
    fn of_turns_those_count_in_which_the_machine_was_least_disturbed() {
        let effort = Effort {
            time: Duration::ZERO,
            least: 8,
            most: 8,
        };
        let wait = |milliseconds| std::thread::sleep(Duration::from_millis(milliseconds));
        // One turn is the warm-up; of the others every fourth is quiet, and takes 6 and 1
        // milliseconds.
        let turn = std::cell::Cell::new(0);
        let prepare = || {
            let is_quiet = turn.replace(turn.get() + 1) % 4 == 0;
            (is_quiet, is_quiet)
        };
        let (long, short) = Samples::in_turns(
            effort,
            prepare,
            |is_quiet| wait(if is_quiet { 6 } else { 30 }),
            |is_quiet| wait(if is_quiet { 1 } else { 20 }),
        );
        let (long, short) = (long.figures(), short.figures());
        assert_eq!((long.n, short.n), (2, 2));
        assert!((6e3..30e3).contains(&long.median), "{} µs", long.median);
        assert!((1e3..20e3).contains(&short.median), "{} µs", short.median);
    }

    #[test]
    fn of_turns_of_several_works_the_quiet_ones_count_for_each_work() {
        let effort = Effort {
            time: Duration::ZERO,
            least: 8,
            most: 8,
        };
        // One turn is the warm-up. Of the others two are quiet, and the works take 1, 2 and 3.
        let mut turns = [0; 3];
        let mut took = |at: usize| {
            turns[at] += 1;
            let disturbed = if turns[at] % 4 == 0 { 0 } else { 50 };
            (at + 1 + disturbed) as f64
        };
        let took = std::cell::RefCell::new(&mut took);
        let mut works: [&mut dyn FnMut() -> f64; 3] = [
            &mut || (took.borrow_mut())(0),
            &mut || (took.borrow_mut())(1),
            &mut || (took.borrow_mut())(2),
        ];
        let all = Samples::all_in_turns(effort, &mut works).map(|one| one.times().to_vec());
        assert_eq!(all, [vec![1.0; 2], vec![2.0; 2], vec![3.0; 2]]);
    }
}
