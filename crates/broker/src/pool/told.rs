//! What is told of a pool: each member as it is, and what it is worth to a call.
//!
//! The rule kept here: looking changes nothing, and goes by the rules that choose.

use std::time::Instant;

use super::{Ask, Member, MemberId, Narrowed, Pool, Seen, is_in_time, locked, narrowed};
use crate::candidate::Candidate;
use crate::needs::Needs;
use crate::status::{MemberStatus, State};
use crate::verdict::{Prospect, Verdict};

impl Pool {
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
                claimed: record
                    .claimed
                    .mean(None, self.settings.fresh, now)
                    .map(|mean| mean.time),
                doubted: record.claimed.doubted,
                contradictions: record.claimed.contradictions,
            }
        };
        self.members.iter().map(status).collect()
    }

    /// What each member is worth to a call, in their order.
    pub fn explain(&self, ask: &Ask<'_>, now: Instant) -> Vec<Verdict> {
        let nothing = Needs::nothing();
        let needs = ask.needs.unwrap_or(&nothing);
        let seen = self.look(ask.operation, now);
        let prospects = self.prospects(ask, needs, &seen);
        let verdict = |((member, seen), prospect): ((&Member, Seen), Prospect)| {
            let security = &member.terms.security;
            Verdict {
                name: member.name.clone(),
                state: seen.state,
                given: security.clone(),
                shortfalls: security.shortfalls(needs),
                security: security.score(needs),
                time: seen.time,
                seen: seen.measured,
                availability: seen.availability,
                in_time: is_in_time(needs, &seen),
                prospect,
            }
        };
        let members = self.members.iter().zip(seen).zip(prospects);
        members.map(verdict).collect()
    }

    /// Whether the call might go to each member, by the rules that choose.
    fn prospects(&self, ask: &Ask<'_>, needs: &Needs, seen: &[Seen]) -> Vec<Prospect> {
        let among = self.among(ask, seen);
        let is_last_resort = among.as_ref().is_ok_and(|among| among.is_last_resort);
        let with_room = among.map(|among| among.members).unwrap_or_default();
        let candidates = self.candidates(&with_room, seen);
        let in_time = |candidate: &Candidate<'_>| is_in_time(needs, &seen[candidate.index]);
        let chosen = match narrowed(&candidates, in_time) {
            Narrowed::Nearest { index, .. } => vec![index],
            Narrowed::InTime(some) => some.iter().map(|it| it.index).collect(),
            Narrowed::Unknown => with_room.clone(),
        };
        let prospect = |(index, seen): (usize, &Seen)| {
            if chosen.contains(&index) {
                return match (is_last_resort, is_in_time(needs, seen)) {
                    (true, _) => Prospect::LastResort,
                    (false, true) => Prospect::May,
                    (false, false) => Prospect::Late,
                };
            }
            let security = &self.members[index].terms.security;
            if ask.barred.contains(&MemberId(index)) || !security.covers(needs) {
                Prospect::Uncovered
            } else if seen.state == State::Down {
                Prospect::Down
            } else if with_room.contains(&index) {
                Prospect::OthersInTime
            } else if !self.has_room(index, seen, ask.class) {
                Prospect::Full
            } else if !seen.state.is_usable() {
                Prospect::Ejected
            } else if seen.is_tried {
                Prospect::OnTrial
            } else {
                Prospect::OthersFirst
            }
        };
        seen.iter().enumerate().map(prospect).collect()
    }
}
