//! The backends of one service, and the choice among them.
//!
//! A pool is made of a configuration. What is known of a member goes on in the pool of the next
//! configuration that has a member of the same name; calls that began under the former pool are
//! counted there, too.
//!
//! The rule kept here: each choice is ended once. Until then the call counts as in hand.

mod told;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::affinity::Affinity;
use crate::agreement::{Class, Standing};
use crate::candidate::{
    Candidate, balanced, drawn, fastest, less_loaded, next_in_turn, stuck_to, to_be_measured,
};
use crate::claims::{ClaimedMean, Claims};
use crate::dice::Dice;
use crate::needs::Needs;
use crate::outcome::{Change, Failed, Outcome};
use crate::performance::{Operation, behind};
use crate::reason::{Reason, Refusal};
use crate::record::Record;
use crate::retry::{Budget, NoRetry, Repeatable};
use crate::settings::{Selection, Settings, Terms};
use crate::status::State;

/// The backends of one service.
#[derive(Debug)]
pub struct Pool {
    settings: Settings,
    members: Vec<Member>,
    dice: Dice,
    /// Held while a decision is made: two calls at once must not take the same last place.
    course: Mutex<Course>,
}

/// One backend.
#[derive(Debug)]
struct Member {
    name: String,
    terms: Terms,
    /// Shared with the pools of former configurations.
    record: Arc<Mutex<Record>>,
}

/// What goes on from one choice to the next.
#[derive(Debug, Default)]
struct Course {
    turns: Vec<i64>,
    budget: Budget,
}

/// The place of a member in its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberId(usize);

impl MemberId {
    /// From zero, in the order of the configuration.
    pub fn index(self) -> usize {
        self.0
    }
}

/// What is known of a call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ask<'a> {
    /// The calls that it belongs to, where these stay together.
    pub affinity: Option<Affinity>,
    /// Members that did not answer it.
    pub tried: &'a [MemberId],
    /// Members that cannot take it, whatever their state.
    pub barred: &'a [MemberId],
    /// What it needs.
    pub needs: Option<&'a Needs>,
    /// Its operation, where it is known.
    pub operation: Option<Operation>,
    /// What its agreement says of each member; nothing without one.
    pub standings: &'a [Standing],
    /// Its class, where calls have one.
    pub class: Option<Class>,
}

/// Where a call goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The member.
    pub member: MemberId,
    /// Why that one.
    pub reason: Reason,
    /// How many members cover the security that the call needs.
    pub covering: usize,
}

/// A member as a choice finds it.
struct Seen {
    state: State,
    in_hand: u32,
    share: u64,
    is_tried: bool,
    /// The time in which it will answer.
    time: Option<Duration>,
    /// The same as far as it was seen.
    measured: Option<Duration>,
    availability: Option<u8>,
}

/// The members that a call is chosen among.
struct Among {
    /// Those that have room for it.
    members: Vec<usize>,
    /// Whether they are ejected or excluded, since there is no other.
    is_last_resort: bool,
    /// How many cover the security that it needs.
    covering: usize,
}

/// What is left of candidates by the time that a call needs.
enum Narrowed<'c> {
    /// Those that are known to answer in it.
    InTime(Vec<Candidate<'c>>),
    /// None is, and this one is nearest.
    Nearest { index: usize, time: Duration },
    /// None is, and no time of any is known.
    Unknown,
}

impl Pool {
    /// The pool of members with these names and terms. All of them are up.
    pub fn new(
        settings: Settings,
        members: impl IntoIterator<Item = (String, Terms)>,
        dice: Dice,
    ) -> Self {
        let members = members.into_iter().map(|(name, terms)| Member {
            name,
            terms,
            record: Arc::default(),
        });
        Self::of(settings, members.collect(), dice)
    }

    /// The same, after another one. Of each member is told whether it stays: what is known of it
    /// goes on. The others join those that serve.
    pub fn following(
        former: &Self,
        settings: Settings,
        members: impl IntoIterator<Item = (String, Terms, bool)>,
        dice: Dice,
        now: Instant,
    ) -> Self {
        let members = members.into_iter().map(|(name, terms, stays)| {
            let mut known = former.members.iter();
            let known = known.find(|member| stays && member.name == name);
            let record = match known {
                Some(member) => Arc::clone(&member.record),
                None => Arc::new(Mutex::new(Record::joined(now))),
            };
            Member {
                name,
                terms,
                record,
            }
        });
        Self::of(settings, members.collect(), dice)
    }

    fn of(settings: Settings, members: Vec<Member>, dice: Dice) -> Self {
        let course = Course {
            turns: vec![0; members.len()],
            budget: Budget::default(),
        };
        Self {
            settings,
            members,
            dice,
            course: Mutex::new(course),
        }
    }

    /// What the operator says of it.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Every member.
    pub fn ids(&self) -> impl Iterator<Item = MemberId> + use<> {
        (0..self.members.len()).map(MemberId)
    }

    /// The name of a member.
    pub fn name(&self, member: MemberId) -> &str {
        self.members
            .get(member.0)
            .map_or("", |member| member.name.as_str())
    }

    /// Chooses a member for a call, which is in its hand from now on.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub fn choose(&self, ask: &Ask<'_>, now: Instant) -> Result<Choice, Refusal> {
        let mut course = self.course();
        if ask.tried.is_empty() {
            course.budget.earn();
        }
        let seen = self.look(ask.operation, now);
        let among = self.among(ask, &seen)?;
        let candidates = self.candidates(&among.members, &seen);
        let in_time = |candidate: &Candidate<'_>| match ask.needs {
            Some(needs) => is_in_time(needs, &seen[candidate.index]),
            None => true,
        };
        let chosen = self.select(&candidates, in_time, ask.affinity, &mut course.turns);
        let (index, reason) = chosen.ok_or(Refusal::Busy)?;
        let on_trial = seen[index].state == State::HalfOpen;
        let reason = match (among.is_last_resort, on_trial) {
            (true, _) => Reason::LastResort,
            (false, true) => Reason::Trial,
            (false, false) => reason,
        };
        self.record(index).begin(reason == Reason::Trial);
        Ok(Choice {
            member: MemberId(index),
            reason,
            covering: among.covering,
        })
    }

    /// Those that a call is chosen among, whatever it needs of time.
    ///
    /// # Errors
    ///
    /// Why there is none. Where only their limits are in the way, the list is empty.
    fn among(&self, ask: &Ask<'_>, seen: &[Seen]) -> Result<Among, Refusal> {
        let needs = ask.needs.filter(|needs| needs.has_security());
        let covers = |index: usize| {
            !ask.barred.contains(&MemberId(index))
                && needs.is_none_or(|needs| self.members[index].terms.security.covers(needs))
        };
        // Whatever happens, no call goes where its security is not covered, or where it is barred.
        let covering: Vec<(usize, &Seen)> = seen
            .iter()
            .enumerate()
            .filter(|(index, _)| covers(*index))
            .collect();
        if covering.is_empty() {
            return Err(Refusal::Uncovered);
        }
        let untried = covering.iter().copied();
        let untried = untried.filter(|(index, _)| !ask.tried.contains(&MemberId(*index)));
        let all: Vec<(usize, &Seen)> = untried.collect();
        let standing = |index: usize| ask.standings.get(index).copied();
        let can = |wanted: Standing, backup: bool| {
            let all = all.iter().copied();
            let can = all.filter(|(index, seen)| {
                self.members[*index].terms.backup == backup
                    && standing(*index).unwrap_or(Standing::Party) == wanted
                    && seen.state.is_usable()
                    && !seen.is_tried
            });
            can.collect::<Vec<(usize, &Seen)>>()
        };
        // Where its agreement is with a provider, others serve a call only without that one.
        let mut usable = can(Standing::Party, false);
        for (wanted, backup) in [
            (Standing::Party, true),
            (Standing::Other, false),
            (Standing::Other, true),
        ] {
            if usable.is_empty() {
                usable = can(wanted, backup);
            }
        }
        let is_last_resort = usable.is_empty();
        if is_last_resort {
            // Failures of calls may be the work of one client; and a member that came back is found
            // at once.
            let all = all.iter().copied();
            usable.extend(all.filter(|(_, seen)| seen.state != State::Down));
        }
        if usable.is_empty() {
            let mut covering = covering.iter();
            let others_are_up = covering.any(|(_, seen)| seen.state != State::Down);
            return Err(match others_are_up {
                true => Refusal::Tried,
                false => Refusal::Down,
            });
        }
        let usable = usable.into_iter();
        let with_room = usable.filter(|(index, seen)| self.has_room(*index, seen, ask.class));
        Ok(Among {
            members: with_room.map(|(index, _)| index).collect(),
            is_last_resort,
            covering: covering.len(),
        })
    }

    fn has_room(&self, index: usize, seen: &Seen, class: Option<Class>) -> bool {
        let left_free = class.map_or(0, Class::leaves);
        let of = |limit: u32| limit - limit / 100 * left_free - limit % 100 * left_free / 100;
        let limit = self.members[index].terms.limit;
        limit.is_none_or(|limit| seen.in_hand < of(limit))
    }

    fn candidates(&self, members: &[usize], seen: &[Seen]) -> Vec<Candidate<'_>> {
        let candidate = |index: &usize| {
            let (index, seen) = (*index, &seen[*index]);
            let Member { name, terms, .. } = &self.members[index];
            Candidate {
                index,
                name,
                in_hand: seen.in_hand,
                weight: u64::from(terms.weight),
                share: seen.share,
                time: seen.time,
                measured: seen.measured,
                bits: f64::from(terms.security.bits()),
            }
        };
        members.iter().map(candidate).collect()
    }

    /// Every member as it is now, in their order.
    fn look(&self, operation: Option<Operation>, now: Instant) -> Vec<Seen> {
        let fresh = self.settings.fresh;
        let look = |member: &Member| {
            let record = locked(&member.record);
            let seen = Seen {
                time: None,
                measured: record.measured.mean_of(operation, fresh, now),
                availability: record.measured.availability(),
                state: record.state(self.settings.slow_start, now),
                in_hand: record.in_hand,
                share: record.share(self.settings.slow_start, now),
                is_tried: record.is_tried(),
            };
            (seen, record.claimed.mean(operation, fresh, now))
        };
        let looked: Vec<(Seen, Option<ClaimedMean>)> = self.members.iter().map(look).collect();
        let fastest = looked.iter().filter_map(|(seen, _)| seen.measured).min();
        let looked = self.members.iter().zip(looked);
        let predicted = looked.map(|(member, (seen, claimed))| {
            let behind = |mean| behind(mean, seen.in_hand, member.terms.weight);
            let mean = ClaimedMean::joined(claimed, seen.measured, fastest);
            Seen {
                time: mean.map(behind),
                measured: seen.measured.map(behind),
                ..seen
            }
        });
        predicted.collect()
    }

    /// A report of a member came. Returns what that changed.
    pub fn reported(&self, member: MemberId, claims: &Claims, now: Instant) -> Option<Change> {
        let record = self.members.get(member.0).map(|it| &it.record)?;
        locked(record).claimed.report(claims, now)
    }

    fn select(
        &self,
        candidates: &[Candidate<'_>],
        in_time: impl Fn(&Candidate<'_>) -> bool,
        affinity: Option<Affinity>,
        turns: &mut [i64],
    ) -> Option<(usize, Reason)> {
        if let [only] = candidates {
            return Some((only.index, Reason::Only));
        }
        let narrowed = narrowed(candidates, in_time);
        let (candidates, is_decided) = match &narrowed {
            Narrowed::Nearest { index, time } => {
                return Some((*index, Reason::Nearest { time: *time }));
            }
            Narrowed::InTime(some) => (&some[..], some.len() < candidates.len()),
            Narrowed::Unknown => (candidates, false),
        };
        let measures = matches!(
            self.settings.selection,
            Selection::Performance | Selection::Balanced { .. }
        );
        if measures
            && affinity.is_none()
            && !is_decided
            && let Some(unknown) = to_be_measured(candidates, &self.dice)
        {
            return Some((unknown.index, Reason::Measuring));
        }
        let (chosen, reason) = match (affinity, self.settings.selection) {
            (Some(affinity), _) => (stuck_to(candidates, affinity)?, Reason::Sticky),
            (None, Selection::Random) => (drawn(candidates, &self.dice)?, Reason::Drawn),
            (None, Selection::RoundRobin) => (next_in_turn(candidates, turns)?, Reason::Turn),
            (None, Selection::LeastLoad) => less_loaded(candidates, &self.dice)?,
            (None, Selection::Performance) => fastest(candidates, &self.dice)?,
            (None, Selection::Balanced { time }) => balanced(candidates, time, &self.dice)?,
        };
        Some((chosen.index, reason))
    }

    /// A call has come to its end. Returns what that changed.
    pub fn ended(&self, choice: Choice, outcome: Outcome, now: Instant) -> Option<Change> {
        let index = choice.member.0;
        let ejection = &self.settings.ejection;
        let on_trial = choice.reason == Reason::Trial;
        let failed = {
            let mut record = self.record(index);
            record.end(on_trial);
            match outcome {
                Outcome::Abandoned => return None,
                Outcome::Answered { took, operation } => {
                    let proves = on_trial || choice.reason == Reason::LastResort;
                    return record.answer(took, operation, proves, ejection, now);
                }
                Outcome::Failed(failed) => {
                    if !record.fail(failed, on_trial, ejection, now) {
                        return None;
                    }
                    failed
                }
            }
        };
        let _deciding = self.course();
        (on_trial || self.may_eject(index, failed)).then(|| {
            let mut record = self.record(index);
            record.eject(failed, ejection, now)
        })
    }

    /// Whether as many others may stay as there must be.
    fn may_eject(&self, index: usize, failed: Failed) -> bool {
        let all = self.members.len();
        if all < 2 {
            return false;
        }
        if failed == Failed::Unreachable {
            return true;
        }
        let others = (0..all).filter(|other| *other != index);
        let ejected = others.filter(|other| self.record(*other).is_ejected_though_reachable());
        let most = all * usize::from(self.settings.ejection.most) / 100;
        ejected.count() < most.max(1)
    }

    /// Whether a call that a member failed may go to another one, after as many as it was sent to.
    /// One that was sent costs a part of the budget. Where it is not sent again after all, that is
    /// to be [refunded](Self::refund).
    ///
    /// # Errors
    ///
    /// Why not.
    pub fn retry(
        &self,
        failed: Failed,
        repeatable: Repeatable,
        attempts: usize,
    ) -> Result<(), NoRetry> {
        if attempts > self.settings.retries {
            return Err(NoRetry::Attempts);
        }
        match (repeatable, failed) {
            (Repeatable::Unsent, _) => Ok(()),
            (Repeatable::Once, _) => Err(NoRetry::Once),
            (Repeatable::Idempotent, Failed::Late | Failed::Unproven) => Err(NoRetry::Failure),
            (Repeatable::Idempotent, _) => match self.course().budget.spend() {
                true => Ok(()),
                false => Err(NoRetry::Budget),
            },
        }
    }

    /// A call was not sent again that might have been, by [`retry`](Self::retry): what it cost
    /// comes back.
    pub fn refund(&self, repeatable: Repeatable) {
        if repeatable == Repeatable::Idempotent {
            self.course().budget.refund();
        }
    }

    /// A health check has come to its end. Returns what that changed.
    pub fn checked(&self, member: MemberId, healthy: bool, now: Instant) -> Option<Change> {
        let record = self.members.get(member.0).map(|it| &it.record)?;
        locked(record).check(healthy, &self.settings.checks, now)
    }

    fn record(&self, index: usize) -> MutexGuard<'_, Record> {
        locked(&self.members[index].record)
    }

    fn course(&self) -> MutexGuard<'_, Course> {
        locked(&self.course)
    }
}

/// The candidates as far as the time that a call needs tells them apart.
fn narrowed<'c>(
    candidates: &[Candidate<'c>],
    in_time: impl Fn(&Candidate<'c>) -> bool,
) -> Narrowed<'c> {
    let some = candidates.iter().copied().filter(|it| in_time(it));
    let some: Vec<Candidate<'c>> = some.collect();
    if !some.is_empty() {
        return Narrowed::InTime(some);
    }
    let known = candidates
        .iter()
        .filter_map(|it| Some((it.index, it.measured?)));
    match known.min_by_key(|(_, time)| *time) {
        Some((index, time)) => Narrowed::Nearest { index, time },
        None => Narrowed::Unknown,
    }
}

/// Whether a member was seen to answer in the time and as often as needed. What it claims of itself
/// meets no need.
fn is_in_time(needs: &Needs, seen: &Seen) -> bool {
    needs
        .time
        .is_none_or(|most| seen.measured.is_some_and(|time| time <= most))
        && (needs.availability == 0
            || seen
                .availability
                .is_some_and(|share| share >= needs.availability))
}

/// Each change under a lock is complete in itself, so that a panic beside it spoils nothing.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
