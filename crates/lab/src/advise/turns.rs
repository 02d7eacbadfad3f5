//! Where one mechanism becomes better than another: over the calls of a conversation, and over the
//! bytes of a message.

use super::workload::{Means, Workload};
use super::{Models, Prediction};
use crate::statistics::{Crossover, Growth};

/// Where one mechanism becomes better than another.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// What grows: calls of a conversation, or bytes of a message.
    pub over: Over,
    /// Which is better below.
    pub below: Means,
    /// Which is better above.
    pub above: Means,
    /// How many it takes.
    pub at: f64,
}

/// What grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Calls of a conversation or connection.
    Calls,
    /// Bytes of request and response each.
    Octets,
}

impl Models {
    /// Whether the difference exceeds the error of both predictions, at a tenth of the break-even
    /// point and at ten times of it. Lines that are close together may cross anywhere, or nowhere.
    fn is_clear(&self, turn: &Turn, workload: &Workload) -> bool {
        [turn.at / 10.0, turn.at * 10.0].into_iter().all(|place| {
            let there = turn.over.place(workload, place);
            let of = |means| self.predict(means, &there).map(|it| it.latency);
            of(&turn.below)
                .zip(of(&turn.above))
                .is_some_and(|(below, above)| {
                    (below[0] - above[0]).abs() > below[1].hypot(above[1])
                })
        })
    }

    /// Where others become better than the best, or the best becomes better than others, as far as
    /// errors let it be told.
    pub(super) fn turns(&self, ranked: &[Prediction], workload: &Workload) -> Vec<Turn> {
        let Some((best, others)) = ranked.split_first() else {
            return Vec::new();
        };
        let mut turns = Vec::new();
        for other in others {
            for over in [Over::Calls, Over::Octets] {
                let lines = [&best.means, &other.means].map(|it| self.line(it, workload, over));
                if let [Some(one), Some(two)] = lines {
                    let turn = turn(over, (&best.means, one), (&other.means, two));
                    turns.extend(turn.filter(|turn| self.is_clear(turn, workload)));
                }
            }
        }
        turns
    }

    /// The time of all calls of a conversation over their number, or of a call over bytes of its
    /// messages.
    fn line(&self, means: &Means, workload: &Workload, over: Over) -> Option<Growth> {
        match over {
            Over::Calls => {
                let call = self.predict(means, &over.place(workload, f64::INFINITY))?;
                Some(Growth {
                    fixed: call.handshake,
                    each: call.latency[0],
                })
            }
            Over::Octets => {
                let of = |bytes: f64| {
                    let call = self.predict(means, &over.place(workload, bytes))?;
                    Some(call.latency[0])
                };
                const FAR: f64 = 1e6;
                let fixed = of(0.0)?;
                Some(Growth {
                    fixed,
                    each: (of(FAR)? - fixed) / FAR,
                })
            }
        }
    }
}

impl Over {
    /// A workload of so many calls or bytes, with nobody waiting.
    fn place(self, workload: &Workload, place: f64) -> Workload {
        let mut there = Workload {
            rate: 0.0,
            ..workload.clone()
        };
        match self {
            Self::Calls => there.messages_per_conversation = place,
            Self::Octets => {
                for message in [&mut there.request, &mut there.response] {
                    message.elements *= place / message.bytes.max(1.0);
                    message.bytes = place;
                }
            }
        }
        there
    }
}

/// A turn that somebody could meet: within 1 to a million calls, 100 bytes to 100 MB.
fn turn(
    over: Over,
    (one, first): (&Means, Growth),
    (two, second): (&Means, Growth),
) -> Option<Turn> {
    let (below, above, at) = match first.crossover(&second) {
        Crossover::FirstThenSecond(at) => (one, two, at),
        Crossover::SecondThenFirst(at) => (two, one, at),
        Crossover::FirstAlways | Crossover::SecondAlways => return None,
    };
    let likely = match over {
        Over::Calls => 1.0..1e6,
        Over::Octets => 100.0..1e8,
    };
    likely.contains(&at).then(|| Turn {
        over,
        below: below.clone(),
        above: above.clone(),
        at,
    })
}
