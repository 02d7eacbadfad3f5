//! Messages that arrived, judged by the WS-I Basic Security Profile 1.1 where the route asks.
//!
//! The message is judged as it was received, by the rules of `soapstone lint`. It is copied before
//! it is opened, since opening deciphers in place. What judging may take is in proportion to the
//! message's size; a message that takes more is not judged, which is a result of its own.
//!
//! The rule kept here: nothing is judged before it verified, and the answer to a refused message
//! has the code of a failed decryption. The time until it comes says that the message verified.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use http::{HeaderValue, Response};
use soapstone::wss::{Rejected, SoapVersion};
use soapstone::xml::{Limits, ParseOptions};
use soapstone_lint::{LintError, Profile, Rule, Severity, broken_rules};

use super::reporter::Reporter;
use super::steps::EndpointError;
use crate::config::bsp::Bsp;
use crate::config::direction::Direction;
use crate::observe::traces::Observed;
use crate::scheduling::task::Desk;
use crate::wire::budget::Reservation;
use crate::wire::reply::Reply;

/// Most rules that a line of the log names; further ones are counted.
const MOST_NAMED: usize = 16;

/// In the place of a rule's number where a message cannot be judged.
const NOT_JUDGED: &str = "not-judged";

/// Room that is taken for each byte of a message: for the copy, and for the index that judging
/// makes of its elements, ids and references. As for all room, the engine may need some times as
/// much beside.
const ROOM: u64 = 4;

/// A message that is to be judged once it verified.
pub(super) struct Suspect {
    bsp: Bsp,
    state: Mutex<State>,
    direction: Direction,
    route: String,
    request: HeaderValue,
    peer: SocketAddr,
    /// The room that judging takes.
    _room: Reservation,
}

/// The numbers of the rules that a message breaks, and whether it breaks one for certain or cannot
/// be judged.
type Verdict = (Vec<&'static str>, bool);

/// What is known of a message.
enum State {
    /// Its bytes. Parsing consumes them.
    Copied(Vec<u8>),
    /// What was found.
    Judged(Verdict),
}

impl Suspect {
    /// A copy of a message that is not opened yet; `None` where the route does not judge.
    ///
    /// # Errors
    ///
    /// The answer to the client, if there is no room for the copy.
    pub(super) fn copy(
        reporter: &Reporter<'_>,
        direction: Direction,
        version: SoapVersion,
        octets: &[u8],
    ) -> Result<Option<Self>, Box<Response<Reply>>> {
        let exchange = reporter.exchange;
        let Some(bsp) = exchange.route.bsp else {
            return Ok(None);
        };
        let mut room = exchange.reserve();
        if !room.grow(ROOM * octets.len() as u64) {
            return Err(Box::new(reporter.no_room(version)));
        }
        Ok(Some(Self {
            bsp,
            state: Mutex::new(State::Copied(octets.to_vec())),
            direction,
            route: exchange.route.name.clone(),
            request: reporter.id.clone(),
            peer: exchange.connection.peer,
            _room: room,
        }))
    }

    /// Judges the message, which verified. `deciphered` says whether something of it was. A message
    /// that two endpoints open is judged and counted once.
    ///
    /// # Errors
    ///
    /// [`Rejected::ProfileBroken`], if the route is strict and the message breaks a rule for
    /// certain or cannot be judged.
    pub(super) fn judge(
        &self,
        limits: &Limits,
        deciphered: bool,
        observed: &Observed,
        desk: &Desk,
    ) -> Result<(), EndpointError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (verdict, is_first) = match &mut *state {
            State::Judged(verdict) => (verdict.clone(), false),
            State::Copied(octets) => {
                let options = ParseOptions {
                    limits: limits.clone(),
                    ..ParseOptions::default()
                };
                let octets = std::mem::take(octets);
                let buffers = &mut desk.workspace().buffers();
                let verdict = verdict(broken_rules(octets, &options, buffers));
                *state = State::Judged(verdict.clone());
                (verdict, true)
            }
        };
        let (rules, is_certain) = &verdict;
        if rules.is_empty() {
            return Ok(());
        }
        if self.bsp == Bsp::Strict && *is_certain {
            let rejected = Rejected::ProfileBroken {
                profile: Profile::Bsp.title(),
                rules: named(rules),
            };
            return Err(EndpointError::Refused {
                direction: self.direction,
                rejected: rejected.after(deciphered),
                peer_fault: None,
            });
        }
        if !is_first {
            return Ok(());
        }
        for rule in rules {
            observed.metrics.bsp_breach(self.direction, rule);
        }
        tracing::warn!(
            route = self.route,
            request = self.request.to_str().unwrap_or_default(),
            peer = %self.peer,
            direction = self.direction.name(),
            rules = named(rules),
            "a message that breaks the Basic Security Profile goes on"
        );
        Ok(())
    }
}

fn verdict(broken: Result<Vec<&'static Rule>, LintError>) -> Verdict {
    match broken {
        Ok(rules) => (
            rules.iter().map(|rule| rule.id).collect(),
            rules.iter().any(|rule| rule.severity == Severity::Error),
        ),
        Err(_) => (vec![NOT_JUDGED], true),
    }
}

/// The numbers of rules as a list that is bounded.
fn named(rules: &[&str]) -> String {
    let first = rules.iter().take(MOST_NAMED).copied();
    let mut list = first.collect::<Vec<_>>().join(", ");
    if let Some(further) = rules.len().checked_sub(MOST_NAMED).filter(|it| *it > 0) {
        list.push_str(&format!(" and {further} more"));
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_log_names_sixteen_rules_and_counts_the_others() {
        assert_eq!(named(&["R3203", "R5404"]), "R3203, R5404");
        let all = ["R3203"; MOST_NAMED + 2];
        assert!(named(&all[..MOST_NAMED]).ends_with("R3203"));
        assert!(named(&all).ends_with("R3203 and 2 more"));
        assert_eq!(named(&all).matches("R3203").count(), MOST_NAMED);
    }

    /// What takes too much work is not passed for a message without breaches.
    #[test]
    fn a_message_whose_work_has_no_end_is_not_judged_and_breaks_the_profile_for_certain() {
        let expected = (vec![NOT_JUDGED], true);
        assert_eq!(verdict(Err(LintError::TooMuchWork)), expected);
        assert_eq!(verdict(Ok(Vec::new())), (Vec::new(), false));
    }
}
