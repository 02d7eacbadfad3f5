//! Messages that arrived, judged by the WS-I Basic Security Profile 1.1 where the route asks.
//!
//! The message is judged as it was received, by the rules of `soapstone lint`. It is copied before
//! it is opened, since opening deciphers in place.
//!
//! The rule kept here: nothing is judged before it verified, and a refusal tells the peer no more
//! than a failed decryption does.

use std::net::SocketAddr;

use http::{HeaderValue, Response};
use soapstone::wss::{Rejected, SoapVersion};
use soapstone::xml::{Buffers, Limits, ParseOptions};
use soapstone_lint::{Profile, Severity, broken_rules};

use super::reporter::Reporter;
use super::steps::EndpointError;
use crate::config::bsp::Bsp;
use crate::config::direction::Direction;
use crate::observe::traces::Observed;
use crate::wire::budget::Reservation;
use crate::wire::reply::Reply;

/// Most rules that a line of the log names; further ones are counted.
const MOST_NAMED: usize = 16;

/// In the place of a rule's number where a message cannot be judged.
const NOT_JUDGED: &str = "not-judged";

/// A message that is to be judged once it verified.
pub(super) struct Suspect {
    bsp: Bsp,
    octets: Vec<u8>,
    direction: Direction,
    route: String,
    request: HeaderValue,
    peer: SocketAddr,
    /// The room that judging takes.
    _room: Reservation,
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
        // Judging takes a second copy, since parsing consumes one.
        if !room.grow(2 * octets.len() as u64) {
            return Err(Box::new(reporter.no_room(version)));
        }
        Ok(Some(Self {
            bsp,
            octets: octets.to_vec(),
            direction,
            route: exchange.route.name.clone(),
            request: reporter.id.clone(),
            peer: exchange.connection.peer,
            _room: room,
        }))
    }

    /// Judges the message, which verified. `deciphered` says whether something of it was.
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
    ) -> Result<(), EndpointError> {
        let options = ParseOptions {
            limits: limits.clone(),
            ..ParseOptions::default()
        };
        let broken = broken_rules(self.octets.clone(), &options, &mut Buffers::new());
        let (rules, is_certain): (Vec<&'static str>, bool) = match &broken {
            Ok(rules) => (
                rules.iter().map(|rule| rule.id).collect(),
                rules.iter().any(|rule| rule.severity == Severity::Error),
            ),
            Err(_) => (vec![NOT_JUDGED], true),
        };
        if rules.is_empty() {
            return Ok(());
        }
        if self.bsp == Bsp::Strict && is_certain {
            let rejected = Rejected::ProfileBroken {
                profile: Profile::Bsp.title(),
                rules: named(&rules),
            };
            return Err(EndpointError::Refused {
                direction: self.direction,
                rejected: rejected.after(deciphered),
                peer_fault: None,
            });
        }
        for rule in &rules {
            observed.metrics.bsp_breach(self.direction, rule);
        }
        tracing::warn!(
            route = self.route,
            request = self.request.to_str().unwrap_or_default(),
            peer = %self.peer,
            direction = self.direction.name(),
            rules = named(&rules),
            "a message that breaks the Basic Security Profile goes on"
        );
        Ok(())
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
}
