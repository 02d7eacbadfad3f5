//! The backends of one service, and the choice among them.
//!
//! A pool is made of a configuration. What is known of a member goes on in the pool of the next
//! configuration that has a member of the same name; calls that began under the former pool are
//! counted there, too.
//!
//! The rule kept here: each choice is ended once. Until then the call counts as in hand.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::affinity::Affinity;
use crate::candidate::{
    Candidate, balanced, drawn, fastest, less_loaded, next_in_turn, stuck_to, to_be_measured,
};
use crate::dice::Dice;
use crate::needs::Needs;
use crate::outcome::{Change, Failed, Outcome};
use crate::performance::Operation;
use crate::reason::{Reason, Refusal};
use crate::record::Record;
use crate::retry::{Budget, NoRetry, Repeatable};
use crate::settings::{Selection, Settings, Terms};
use crate::status::{MemberStatus, State};
use crate::verdict::Verdict;

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
    /// What it needs.
    pub needs: Option<&'a Needs>,
    /// Its operation, where it is known.
    pub operation: Option<Operation>,
}

/// Where a call goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The member.
    pub member: MemberId,
    /// Why that one.
    pub reason: Reason,
}

/// A member as a choice finds it.
struct Seen {
    state: State,
    in_hand: u32,
    share: u64,
    is_tried: bool,
    time: Option<Duration>,
    availability: Option<u8>,
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
        let look = |member| self.look(member, ask.operation, now);
        let seen: Vec<Seen> = self.members.iter().map(look).collect();
        let needs = ask.needs.filter(|needs| needs.has_security());
        let covers = |index: usize| {
            needs.is_none_or(|needs| self.members[index].terms.security.covers(needs))
        };
        // Whatever happens, no call goes where its security is not covered.
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
        let can = |backup: bool| {
            let all = all.iter().copied();
            all.filter(move |(index, seen)| {
                self.members[*index].terms.backup == backup
                    && seen.state.is_usable()
                    && !seen.is_tried
            })
        };
        let mut usable: Vec<(usize, &Seen)> = can(false).collect();
        if usable.is_empty() {
            usable.extend(can(true));
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
        let has_room = |(index, seen): &(usize, &Seen)| {
            let limit = self.members[*index].terms.limit;
            limit.is_none_or(|limit| seen.in_hand < limit)
        };
        let candidates = usable.into_iter().filter(has_room);
        let candidates = candidates.map(|(index, seen)| Candidate {
            index,
            name: &self.members[index].name,
            in_hand: seen.in_hand,
            weight: u64::from(self.members[index].terms.weight),
            share: seen.share,
            time: seen.time,
            bits: f64::from(self.members[index].terms.security.bits()),
        });
        let candidates: Vec<Candidate<'_>> = candidates.collect();
        let in_time = |candidate: &Candidate<'_>| match ask.needs {
            Some(needs) => is_in_time(needs, &seen[candidate.index]),
            None => true,
        };
        let chosen = self.select(&candidates, in_time, ask.affinity, &mut course.turns);
        let (index, reason) = chosen.ok_or(Refusal::Busy)?;
        let on_trial = seen[index].state == State::HalfOpen;
        let reason = match (is_last_resort, on_trial) {
            (true, _) => Reason::LastResort,
            (false, true) => Reason::Trial,
            (false, false) => reason,
        };
        self.record(index).begin(reason == Reason::Trial);
        let member = MemberId(index);
        Ok(Choice { member, reason })
    }

    fn look(&self, member: &Member, operation: Option<Operation>, now: Instant) -> Seen {
        let record = locked(&member.record);
        let (measured, fresh) = (&record.measured, self.settings.fresh);
        let weight = member.terms.weight;
        Seen {
            time: measured.predict(operation, record.in_hand, weight, fresh, now),
            availability: measured.availability(),
            state: record.state(self.settings.slow_start, now),
            in_hand: record.in_hand,
            share: record.share(self.settings.slow_start, now),
            is_tried: record.is_tried(),
        }
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
        let in_time: Vec<Candidate<'_>> = candidates
            .iter()
            .copied()
            .filter(|it| in_time(it))
            .collect();
        let is_met = !in_time.is_empty();
        let is_needed = in_time.len() < candidates.len();
        if !is_met {
            let known = candidates
                .iter()
                .filter_map(|it| Some((it.index, it.time?)));
            if let Some((index, time)) = known.min_by_key(|(_, time)| *time) {
                return Some((index, Reason::Nearest { time }));
            }
        }
        let candidates = if is_met { &in_time[..] } else { candidates };
        let measures = matches!(
            self.settings.selection,
            Selection::Performance | Selection::Balanced { .. }
        );
        if measures
            && affinity.is_none()
            && !(is_met && is_needed)
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

    /// A health check has come to its end. Returns what that changed.
    pub fn checked(&self, member: MemberId, healthy: bool, now: Instant) -> Option<Change> {
        let record = self.members.get(member.0).map(|it| &it.record)?;
        locked(record).check(healthy, &self.settings.checks, now)
    }

    /// What is known of each member, in their order.
    pub fn status(&self, now: Instant) -> Vec<MemberStatus> {
        let status = |member: &Member| {
            let record = locked(&member.record);
            MemberStatus {
                name: member.name.clone(),
                state: record.state(self.settings.slow_start, now),
                weight: member.terms.weight,
                limit: member.terms.limit,
                backup: member.terms.backup,
                in_hand: record.in_hand,
                answered: record.answered,
                failed: record.failed,
                ejections: record.ejections,
                mean: record.measured.mean(),
                availability: record.measured.availability(),
            }
        };
        self.members.iter().map(status).collect()
    }

    /// What each member is worth to a call, in their order.
    pub fn explain(&self, ask: &Ask<'_>, now: Instant) -> Vec<Verdict> {
        let nothing = Needs::nothing();
        let needs = ask.needs.unwrap_or(&nothing);
        let verdict = |member: &Member| {
            let seen = self.look(member, ask.operation, now);
            let security = &member.terms.security;
            Verdict {
                name: member.name.clone(),
                state: seen.state,
                shortfalls: security.shortfalls(needs),
                security: security.score(needs),
                time: seen.time,
                availability: seen.availability,
                in_time: is_in_time(needs, &seen),
            }
        };
        self.members.iter().map(verdict).collect()
    }

    fn record(&self, index: usize) -> MutexGuard<'_, Record> {
        locked(&self.members[index].record)
    }

    fn course(&self) -> MutexGuard<'_, Course> {
        locked(&self.course)
    }
}

/// Whether a member is known to answer in the time and as often as needed.
fn is_in_time(needs: &Needs, seen: &Seen) -> bool {
    needs
        .time
        .is_none_or(|most| seen.time.is_some_and(|time| time <= most))
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
mod tests {
    use super::*;
    use crate::needs::Property;
    use crate::security::Level;
    use crate::settings::{Checks, Ejection};

    const TOOK: Duration = Duration::from_millis(2);

    fn members<const N: usize>(terms: [Terms; N]) -> impl Iterator<Item = (String, Terms)> {
        let names = ["a", "b", "c", "d"].map(str::to_owned);
        names.into_iter().zip(terms)
    }

    fn settings(selection: Selection) -> Settings {
        Settings {
            selection,
            ejection: Ejection {
                failures: Some(2),
                share: None,
                ..Ejection::default()
            },
            ..Settings::default()
        }
    }

    fn pool<const N: usize>(selection: Selection, terms: [Terms; N]) -> Pool {
        Pool::new(settings(selection), members(terms), Dice::new(1))
    }

    fn three(selection: Selection) -> Pool {
        pool(selection, [(); 3].map(|()| Terms::default()))
    }

    /// Chooses and ends as told; the index of the member.
    fn call(pool: &Pool, now: Instant, outcome: impl Fn(usize) -> Outcome) -> usize {
        let choice = pool.choose(&Ask::default(), now).expect("there is one");
        let index = choice.member.index();
        pool.ended(choice, outcome(index), now);
        index
    }

    fn answered(_: usize) -> Outcome {
        Outcome::answered(TOOK)
    }

    fn failing(which: usize, failed: Failed) -> impl Fn(usize) -> Outcome {
        move |index| match index == which {
            true => Outcome::Failed(failed),
            false => answered(index),
        }
    }

    fn state(pool: &Pool, index: usize, now: Instant) -> &'static str {
        pool.status(now)[index].state.name()
    }

    #[test]
    fn a_member_that_fails_gets_no_calls_then_one_on_trial_then_its_share() {
        let (pool, now) = (three(Selection::RoundRobin), Instant::now());
        let order: Vec<usize> = (0..9)
            .map(|_| call(&pool, now, failing(1, Failed::Broken)))
            .collect();
        assert_eq!(order[..6], [0, 1, 2, 0, 1, 2]);
        assert!(!order[6..].contains(&1), "{order:?}");
        assert_eq!(state(&pool, 1, now), "ejected");
        let later = now + Ejection::default().time;
        assert_eq!(state(&pool, 1, later), "half-open");
        // One call on trial at a time.
        let choices: Vec<Choice> = (0..6)
            .map(|_| pool.choose(&Ask::default(), later).expect("there is one"))
            .collect();
        let on_trial: Vec<&Choice> = choices
            .iter()
            .filter(|choice| choice.member == MemberId(1))
            .collect();
        assert_eq!(on_trial.len(), 1);
        assert_eq!(on_trial[0].reason, Reason::Trial);
        let change = pool.ended(*on_trial[0], answered(1), later);
        assert_eq!(change, Some(Change::Returned));
        assert_eq!(state(&pool, 1, later), "up");
    }

    #[test]
    fn a_trial_that_nobody_waits_for_is_followed_by_another() {
        let (pool, now) = (
            pool(Selection::Random, [(); 2].map(|()| Terms::default())),
            Instant::now(),
        );
        while state(&pool, 0, now) == "up" {
            call(&pool, now, failing(0, Failed::Broken));
        }
        let later = now + Ejection::default().time;
        let trial = || {
            (0..20).find_map(|_| {
                let choice = pool.choose(&Ask::default(), later).expect("there is one");
                (choice.reason == Reason::Trial).then_some(choice)
            })
        };
        let first = trial().expect("half-open");
        assert_eq!(trial(), None);
        pool.ended(first, Outcome::Abandoned, later);
        let second = trial().expect("half-open still");
        let change = pool.ended(second, Outcome::Failed(Failed::Late), later);
        let time = 2 * Ejection::default().time;
        let failed = Failed::Late;
        assert_eq!(change, Some(Change::Ejected { failed, time }));
    }

    #[test]
    fn failures_of_calls_never_eject_more_than_they_may() {
        let (pool, now) = (
            pool(Selection::Random, [(); 4].map(|()| Terms::default())),
            Instant::now(),
        );
        for _ in 0..200 {
            call(&pool, now, |_| Outcome::Failed(Failed::Late));
        }
        let usable = pool.status(now);
        let usable = usable.iter().filter(|status| status.state.is_usable());
        assert_eq!(usable.count(), 2);
    }

    #[test]
    fn all_that_cannot_be_reached_are_ejected_and_tried_all_the_same() {
        let (pool, now) = (three(Selection::Random), Instant::now());
        for _ in 0..50 {
            call(&pool, now, |_| Outcome::Failed(Failed::Unreachable));
        }
        let is_ejected = |status: &MemberStatus| status.state.name() == "ejected";
        assert!(pool.status(now).iter().all(is_ejected));
        let choice = pool.choose(&Ask::default(), now).expect("the last resort");
        assert_eq!(choice.reason, Reason::LastResort);
        let change = pool.ended(choice, answered(0), now);
        assert_eq!(change, Some(Change::Returned));
        let next = pool.choose(&Ask::default(), now).expect("there is one");
        assert_eq!((next.member, next.reason), (choice.member, Reason::Only));
    }

    #[test]
    fn members_that_checks_find_down_get_nothing() {
        let (pool, now) = (three(Selection::RoundRobin), Instant::now());
        for member in pool.ids() {
            for _ in 1..Checks::default().fall {
                assert_eq!(pool.checked(member, false, now), None);
            }
            assert_eq!(pool.checked(member, false, now), Some(Change::Down));
        }
        let refused = pool.choose(&Ask::default(), now);
        assert_eq!(refused, Err(Refusal::Down));
        for _ in 0..Checks::default().rise {
            pool.checked(MemberId(2), true, now);
        }
        assert_eq!(call(&pool, now, answered), 2);
    }

    #[test]
    fn a_limit_holds_and_backups_get_calls_where_no_other_can() {
        let limited = Terms {
            limit: Some(1),
            ..Terms::default()
        };
        let backup = Terms {
            backup: true,
            ..Terms::default()
        };
        let (pool, now) = (
            pool(Selection::LeastLoad, [limited.clone(), limited, backup]),
            Instant::now(),
        );
        let choose = || pool.choose(&Ask::default(), now);
        let (first, second) = (choose().expect("one"), choose().expect("another"));
        assert_ne!(first.member, second.member);
        // Too much to do is no reason for a backup.
        assert_eq!(choose(), Err(Refusal::Busy));
        for choice in [first, second] {
            pool.ended(choice, answered(0), now);
        }
        let unreachable = |index| match index {
            2 => answered(2),
            _ => Outcome::Failed(Failed::Unreachable),
        };
        let order: Vec<usize> = (0..8).map(|_| call(&pool, now, unreachable)).collect();
        let mut of_others = order[..4].to_vec();
        of_others.sort_unstable();
        assert_eq!((of_others, &order[4..]), (vec![0, 0, 1, 1], &[2; 4][..]));
    }

    #[test]
    fn calls_go_where_there_are_fewer_in_hand() {
        let (pool, now) = (
            pool(Selection::LeastLoad, [(); 2].map(|()| Terms::default())),
            Instant::now(),
        );
        // The first one never answers.
        let mut counts = [0, 0];
        for _ in 0..100 {
            let choice = pool.choose(&Ask::default(), now).expect("there is one");
            counts[choice.member.index()] += 1;
            if choice.member.index() == 1 {
                pool.ended(choice, answered(1), now);
            }
        }
        // Alike with none in hand each, at most once.
        assert!(counts[0] <= 1, "{counts:?}");
    }

    #[test]
    fn calls_that_belong_together_stay_together_until_their_member_fails() {
        let (pool, now) = (three(Selection::RoundRobin), Instant::now());
        let ask = Ask {
            affinity: Some(Affinity::of(b"urn:uuid:1")),
            ..Ask::default()
        };
        let home = pool.choose(&ask, now).expect("there is one");
        assert_eq!(home.reason, Reason::Sticky);
        for _ in 0..2 {
            let choice = pool.choose(&ask, now).expect("there is one");
            assert_eq!(choice.member, home.member);
            pool.ended(choice, Outcome::Failed(Failed::Unreachable), now);
        }
        let elsewhere = pool.choose(&ask, now).expect("there is one");
        assert_ne!(elsewhere.member, home.member);
        assert_eq!(pool.choose(&ask, now), Ok(elsewhere));
    }

    #[test]
    fn a_call_goes_to_each_member_once_and_again_only_if_it_may() {
        let (pool, now) = (three(Selection::Random), Instant::now());
        let mut tried = Vec::new();
        for _ in 0..3 {
            let ask = Ask {
                tried: &tried,
                ..Ask::default()
            };
            let choice = pool.choose(&ask, now).expect("there is one");
            assert!(!tried.contains(&choice.member));
            tried.push(choice.member);
        }
        let ask = Ask {
            tried: &tried,
            ..Ask::default()
        };
        assert_eq!(pool.choose(&ask, now), Err(Refusal::Tried));
        use Repeatable::{Idempotent, Once, Unsent};
        for (failed, repeatable, attempts, expected) in [
            (Failed::Unreachable, Unsent, 1, Ok(())),
            (Failed::Broken, Idempotent, 2, Ok(())),
            (Failed::Unavailable, Idempotent, 1, Ok(())),
            (Failed::Broken, Once, 1, Err(NoRetry::Once)),
            (Failed::Late, Idempotent, 1, Err(NoRetry::Failure)),
            (Failed::Unproven, Idempotent, 1, Err(NoRetry::Failure)),
            (Failed::Unreachable, Unsent, 3, Err(NoRetry::Attempts)),
        ] {
            assert_eq!(pool.retry(failed, repeatable, attempts), expected);
        }
        let repeat = || pool.retry(Failed::Broken, Idempotent, 1);
        while repeat().is_ok() {}
        assert_eq!(repeat(), Err(NoRetry::Budget));
    }

    #[test]
    fn a_reload_keeps_what_is_known_of_members_that_stay() {
        let (former, now) = (three(Selection::RoundRobin), Instant::now());
        for _ in 0..6 {
            call(&former, now, failing(1, Failed::Broken));
        }
        let in_hand = former.choose(&Ask::default(), now).expect("there is one");
        let settings = Settings {
            slow_start: Duration::from_secs(10),
            ..settings(Selection::Random)
        };
        let stays = former.name(in_hand.member);
        let names = [("b", true), ("other", false), (stays, true), ("a", false)];
        let members = names.map(|(name, stays)| (name.to_owned(), Terms::default(), stays));
        let next = Pool::following(&former, settings, members, Dice::new(2), now);
        assert_eq!(state(&next, 0, now), "ejected");
        // A member that joins others starts slowly, and those that stay go on.
        assert_eq!(state(&next, 1, now), "starting");
        assert_eq!(next.status(now)[3].answered, 0);
        assert_eq!(state(&next, 2, now), "up");
        assert_eq!(next.status(now)[2].in_hand, 1);
        former.ended(in_hand, answered(0), now);
        assert_eq!(next.status(now)[2].in_hand, 0);
    }

    #[test]
    fn one_member_alone_is_never_ejected() {
        let (pool, now) = (
            pool(Selection::LeastLoad, [Terms::default()]),
            Instant::now(),
        );
        for _ in 0..20 {
            call(&pool, now, |_| Outcome::Failed(Failed::Unreachable));
        }
        assert_eq!(state(&pool, 0, now), "up");
    }

    fn giving(bits: u16) -> Terms {
        let mut terms = Terms::default();
        terms
            .security
            .give(Property::Integrity, Level::Message, bits);
        terms
    }

    #[test]
    fn no_call_goes_below_the_security_that_it_needs_whatever_fails() {
        let terms = [giving(80), giving(112), giving(128)];
        let (pool, now) = (pool(Selection::Random, terms), Instant::now());
        let needs = |bits| Needs {
            properties: vec![Property::Integrity],
            bits,
            ..Needs::nothing()
        };
        let choose = |needs: &Needs| {
            let ask = Ask {
                needs: Some(needs),
                ..Ask::default()
            };
            pool.choose(&ask, now)
        };
        for _ in 0..50 {
            let choice = choose(&needs(112)).expect("two cover it");
            assert_ne!(choice.member.index(), 0);
            pool.ended(choice, Outcome::Failed(Failed::Unreachable), now);
        }
        // Both are ejected now: they are the last resort, and the weak one is none.
        for _ in 0..20 {
            let choice = choose(&needs(112)).expect("two cover it");
            assert_eq!(choice.reason, Reason::LastResort);
            assert_ne!(choice.member.index(), 0);
        }
        for member in pool.ids().skip(1) {
            for _ in 0..Checks::default().fall {
                pool.checked(member, false, now);
            }
        }
        assert_eq!(choose(&needs(112)), Err(Refusal::Down));
        assert_eq!(choose(&needs(192)), Err(Refusal::Uncovered));
        let weak = choose(&needs(80)).expect("the weak one covers it");
        assert_eq!(weak.member.index(), 0);
    }

    #[test]
    fn calls_that_are_in_a_hurry_go_where_the_time_is_known_to_be_met() {
        let (pool, now) = (three(Selection::LeastLoad), Instant::now());
        let answer = |index: usize, took: Duration| {
            let tried: Vec<MemberId> = pool.ids().filter(|id| id.index() != index).collect();
            let ask = Ask {
                tried: &tried,
                ..Ask::default()
            };
            let choice = pool.choose(&ask, now).expect("it is there");
            pool.ended(choice, Outcome::answered(took), now);
        };
        answer(0, Duration::from_millis(400));
        answer(1, Duration::from_millis(20));
        let hurry = |time: u64| {
            let needs = Needs {
                time: Some(Duration::from_millis(time)),
                ..Needs::nothing()
            };
            let ask = Ask {
                needs: Some(&needs),
                ..Ask::default()
            };
            let choice = pool.choose(&ask, now).expect("there is one");
            pool.ended(choice, Outcome::Abandoned, now);
            (choice.member.index(), choice.reason.name())
        };
        for _ in 0..20 {
            assert_eq!(hurry(50).0, 1);
            assert_ne!(hurry(500).0, 2, "unknown is never good");
            assert_eq!(hurry(5), (1, "nearest"));
        }
    }

    #[test]
    fn a_slow_member_gets_next_to_nothing_by_performance() {
        let (pool, now) = (three(Selection::Performance), Instant::now());
        let mut counts = [0_u32; 3];
        for _ in 0..300 {
            let took = |index| Outcome::answered(Duration::from_millis([90, 10, 10][index]));
            counts[call(&pool, now, took)] += 1;
        }
        assert!(counts[0] <= 3, "{counts:?}");
        assert!(counts[1] > 60 && counts[2] > 60, "{counts:?}");
        let verdicts = pool.explain(&Ask::default(), now);
        assert!(verdicts[0].time > verdicts[1].time);
        let later = now + Settings::default().fresh + TOOK;
        assert_eq!(pool.explain(&Ask::default(), later)[1].time, None);
    }
}
