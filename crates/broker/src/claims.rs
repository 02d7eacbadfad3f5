//! What a backend says of its own times, beside what is seen of it.
//!
//! A monitor may lie, and a backend that lies low draws calls. Therefore:
//!
//! - A claim makes no backend look faster than it was seen to be. One about the same operation may
//!   make it look slower: others call it, too.
//! - A claim about a backend that was not seen of late is worth at most what the fastest of the
//!   others was seen to take.
//! - Of two claims in a row the slower one counts, since calls are judged by the slower one, too.
//! - A mean counts for no less than a twentieth of the p95 beside it: it cannot be less.
//! - A claim meets no need for a time. That is for what was seen.
//! - A backend whose calls took much longer than its reports say, three reports in a row, is
//!   doubted: its claims count for nothing, until as many reports fit. Each three more that its
//!   calls contradict are told of anew.
//!
//! ```text
//! answers ─▶ open ── report k ─▶ pending ── report k+1 ─▶ judged by the claims of k and k+1
//! ```
//!
//! The rule kept here: calls are judged by reports that were taken while they were answered and
//! after that, never by older ones alone. Whoever slows down and says so is not doubted.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::outcome::Change;
use crate::performance::Operation;

/// Most operations whose claims and calls are kept for one backend: as many as their means.
const OPERATIONS: usize = 64;

/// So many reports in a row that calls contradict: the backend is doubted. So many that fit: it is
/// believed again.
pub(crate) const REPORTS: u32 = 3;

/// A call may take so many times the time that 95 of 100 calls do not exceed by the report, and
/// [`MARGIN`] more: the way, its connections, and what is larger than the calls of others.
const FACTOR: u32 = 3;

/// From so many calls on, what is claimed of the mean of their operations is judged, too. Fewer may
/// be the slow ones among many.
const ENOUGH: u32 = 8;

/// One call in so many takes the p95 or longer, by what a p95 is.
const TAIL: u32 = 20;

/// What a call may take besides.
const MARGIN: Duration = Duration::from_millis(100);

/// What a backend says of the times of its calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// The mean.
    pub mean: Duration,
    /// What 95 of 100 calls do not exceed.
    pub p95: Duration,
}

impl Claim {
    fn or_slower(self, other: Self) -> Self {
        Self {
            mean: self.mean.max(other.mean),
            p95: self.p95.max(other.p95),
        }
    }

    /// What a call takes at most that does not contradict it.
    fn most(self) -> Duration {
        beyond(self.p95.max(self.mean))
    }

    /// The least mean that both of its numbers leave.
    fn least(self) -> Duration {
        self.mean.max(self.p95 / TAIL)
    }
}

/// What is not yet much longer than a time that is claimed.
fn beyond(claimed: Duration) -> Duration {
    claimed.saturating_mul(FACTOR).saturating_add(MARGIN)
}

/// The last claim about something, and the one before.
#[derive(Clone, Copy, Debug)]
struct Said {
    last: Claim,
    before: Option<Claim>,
}

impl Said {
    /// A claim after others.
    fn after(former: Option<Self>, last: Claim) -> Self {
        let before = former.map(|former| former.last);
        Self { last, before }
    }

    /// The slower one of both.
    fn slower(self) -> Claim {
        match self.before {
            Some(before) => self.last.or_slower(before),
            None => self.last,
        }
    }
}

/// What a report of a backend says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// When it was taken, in milliseconds since 1970 by the clock of the backend. One that is not
    /// newer than the last one says nothing.
    pub taken: i64,
    /// Of all calls; `None` where there were none.
    pub all: Option<Claim>,
    /// Of operations.
    pub operations: Vec<(Operation, Claim)>,
}

/// A mean time that is claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClaimedMean {
    pub(crate) time: Duration,
    /// It is of the operation that was asked for, and not of all.
    pub(crate) is_of_operation: bool,
}

impl ClaimedMean {
    /// The mean that a prediction is made by: this and what was seen, as one. `fastest` is the
    /// least that was seen of any backend.
    pub(crate) fn joined(
        claimed: Option<Self>,
        seen: Option<Duration>,
        fastest: Option<Duration>,
    ) -> Option<Duration> {
        match (seen, claimed) {
            (Some(seen), Some(claimed)) if claimed.is_of_operation => Some(seen.max(claimed.time)),
            (None, Some(claimed)) => Some(claimed.time.max(fastest.unwrap_or_default())),
            (seen, _) => seen,
        }
    }
}

/// What is known of the claims of one backend.
#[derive(Debug, Default)]
pub(crate) struct Claimed {
    taken: Option<i64>,
    /// When the last claim came.
    at: Option<Instant>,
    all: Option<Said>,
    of: BTreeMap<Operation, Said>,
    /// Calls since the last report, and those between the two before.
    open: Seen,
    pending: Seen,
    /// Reports in a row that do not fit what is believed.
    run: u32,
    /// Reports in a row that calls contradicted while it was doubted already.
    repeated: u32,
    pub(crate) doubted: bool,
    /// Reports that calls contradicted.
    pub(crate) contradictions: u64,
}

/// Calls by their operation: how many, and the sum of their times.
#[derive(Debug, Default)]
struct Seen(BTreeMap<Option<Operation>, (u32, Duration)>);

impl Seen {
    /// Adds calls. Clients name operations: what finds no room is of none.
    fn add(&mut self, calls: u32, time: Duration, operation: Option<Operation>) {
        let has_room = self.0.len() < OPERATIONS || self.0.contains_key(&operation);
        let operation = operation.filter(|_| has_room);
        let (own, sum) = self.0.entry(operation).or_default();
        *own = own.saturating_add(calls);
        *sum = sum.saturating_add(time);
    }

    fn merge(&mut self, other: Self) {
        for (operation, (calls, time)) in other.0 {
            self.add(calls, time, operation);
        }
    }
}

/// Calls beside the most that they may take.
#[derive(Debug, Default)]
struct Judged {
    calls: u32,
    seen: Duration,
    most: Duration,
}

impl Judged {
    /// Adds calls, all of which took that time, and each of which may take so long.
    fn add(&mut self, calls: u32, seen: Duration, most: Duration) {
        self.calls = self.calls.saturating_add(calls);
        self.seen = self.seen.saturating_add(seen);
        self.most = self.most.saturating_add(most.saturating_mul(calls));
    }

    fn fits(&self) -> bool {
        self.seen <= self.most
    }
}

impl Claimed {
    /// A call was answered.
    pub(crate) fn see(&mut self, took: Duration, operation: Option<Operation>) {
        // Nothing is judged where nothing is claimed.
        if self.taken.is_some() {
            self.open.add(1, took, operation);
        }
    }

    /// A report came. Returns what that changed.
    pub(crate) fn report(&mut self, claims: &Claims, now: Instant) -> Option<Change> {
        if self.taken.is_some_and(|last| claims.taken <= last) {
            return None;
        }
        let is_first = self.taken.replace(claims.taken).is_none();
        let verdict = match is_first {
            true => None,
            false => self.judge(claims),
        };
        if verdict.is_some() {
            self.pending = std::mem::take(&mut self.open);
        } else {
            // Too little was called to say anything: it waits for the next report.
            let open = std::mem::take(&mut self.open);
            self.pending.merge(open);
        }
        self.take(claims, now);
        let (fits, seen, claimed) = verdict?;
        self.contradictions += u64::from(!fits);
        if fits == self.doubted {
            (self.run, self.repeated) = (self.run + 1, 0);
        } else {
            self.run = 0;
            self.repeated += u32::from(!fits);
        }
        if self.run >= REPORTS {
            (self.run, self.repeated) = (0, 0);
            self.doubted = !self.doubted;
            return Some(match self.doubted {
                true => Change::Doubted { seen, claimed },
                false => Change::Believed,
            });
        }
        if self.repeated >= REPORTS {
            self.repeated = 0;
            return Some(Change::StillDoubted { seen, claimed });
        }
        None
    }

    /// Whether what was seen fits, with the mean that was seen and the one that was claimed. `None`
    /// where no claim is about what was seen.
    fn judge(&self, claims: &Claims) -> Option<(bool, Duration, Duration)> {
        let (mut all, mut named) = (Judged::default(), Judged::default());
        let mut claimed = Duration::ZERO;
        for (operation, (calls, time)) in &self.pending.0 {
            let Some((claim, is_of_operation)) = self.claim_of(*operation, claims) else {
                continue;
            };
            claimed = claimed.saturating_add(claim.mean.saturating_mul(*calls));
            all.add(*calls, *time, claim.most());
            if is_of_operation {
                named.add(*calls, *time, beyond(claim.mean));
            }
        }
        // A mean of all operations says nothing of the one that is called here.
        let fits = all.fits() && (named.calls < ENOUGH || named.fits());
        (all.calls > 0).then(|| (fits, all.seen / all.calls, claimed / all.calls))
    }

    /// The slower one of what the last report and this one say of an operation, or of all calls
    /// where neither names it; and whether it is of the operation.
    fn claim_of(&self, operation: Option<Operation>, claims: &Claims) -> Option<(Claim, bool)> {
        let of_new = |operation| {
            let mut named = claims.operations.iter();
            named
                .find(|(name, _)| *name == operation)
                .map(|(_, claim)| *claim)
        };
        let last = |said: Option<&Said>| said.map(|said| said.last);
        let named = operation
            .and_then(|operation| slower(last(self.of.get(&operation)), of_new(operation)));
        let all = || slower(last(self.all.as_ref()), claims.all);
        named
            .map(|claim| (claim, true))
            .or_else(|| all().map(|claim| (claim, false)))
    }

    /// Takes claims in the place of those before. Of what had no calls since, the last word stays.
    fn take(&mut self, claims: &Claims, now: Instant) {
        if claims.all.is_some() || !claims.operations.is_empty() {
            self.at = Some(now);
        }
        if let Some(claim) = claims.all {
            self.all = Some(Said::after(self.all, claim));
        }
        for (operation, claim) in &claims.operations {
            let former = self.of.get(operation).copied();
            if self.of.len() < OPERATIONS || former.is_some() {
                self.of.insert(*operation, Said::after(former, *claim));
            }
        }
    }

    /// The mean that is claimed of an operation, or of all calls where none is of that. `None`:
    /// nothing is, not of late, or it is doubted.
    pub(crate) fn mean(
        &self,
        operation: Option<Operation>,
        fresh: Duration,
        now: Instant,
    ) -> Option<ClaimedMean> {
        let age = now.saturating_duration_since(self.at?);
        if self.doubted || age > fresh {
            return None;
        }
        let named = operation.and_then(|operation| self.of.get(&operation));
        let said = named.copied().or(self.all)?;
        Some(ClaimedMean {
            time: said.slower().least(),
            is_of_operation: named.is_some(),
        })
    }
}

fn slower(one: Option<Claim>, other: Option<Claim>) -> Option<Claim> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.or_slower(other)),
        (one, other) => one.or(other),
    }
}
#[cfg(test)]
mod tests;
