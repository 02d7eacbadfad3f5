//! What an endpoint file demands of messages beside their policy: to whom they are addressed, that
//! HTTP says the same action, that they end, and that they hold no processing instructions.
//!
//! The one rule: where the plan wants signatures, a header block counts only if one covers it.

use soapstone_trust::addressing::AddressingVersion;
use soapstone_wss::names::WSU;
use soapstone_wss::{Envelope, Opened, Part, Policy, Rejected};
use soapstone_xml::{Content, Element, NodeId};

use super::compiler::Compiler;
use super::exchange_policy::Exchange;
use super::operations::addressing_blocks;
use super::role::Role;

/// What every message that arrives must show.
#[derive(Debug, Default)]
pub(super) struct Demands {
    /// What `wsa:To` may be; empty leaves it open.
    to: Vec<String>,
    /// What HTTP says of the action is what `wsa:Action` says.
    action: bool,
    expires: bool,
    no_instructions: bool,
}

impl Demands {
    /// Whether what is said beside the message has to be known.
    pub(super) fn compare_actions(&self) -> bool {
        self.action
    }

    /// Compares a message that was opened. `said` is what HTTP says of its action; `None` where
    /// there is no HTTP.
    pub(super) fn check(
        &self,
        opened: &Opened,
        policy: &Policy,
        said: Option<&[String]>,
    ) -> Result<(), Rejected> {
        opened.examine(|envelope| {
            let covered = |block: Element<'_>| opened.blocks().contains(&block.id());
            if self.expires && lacks_expires(envelope, policy) {
                return Err(Rejected::ExpiresMissing);
            }
            if !self.to.is_empty() {
                self.check_destination(envelope, covered)?;
            }
            if let (true, Some(said)) = (self.action, said) {
                check_action(envelope, said, covered)?;
            }
            if self.no_instructions {
                check_instructions(envelope, opened.blocks())?;
            }
            Ok(())
        })
    }

    fn check_destination(
        &self,
        envelope: &Envelope,
        covered: impl Fn(Element<'_>) -> bool,
    ) -> Result<(), Rejected> {
        for found in values(envelope, "To", covered)? {
            if !self.to.contains(&found) {
                let found = excerpt(&found);
                return Err(Rejected::DestinationMismatch { found });
            }
        }
        Ok(())
    }
}

/// Each action that is said beside the message is the one in it. An empty one says nothing
/// (WS-Addressing 1.0 SOAP Binding, 5.2).
fn check_action(
    envelope: &Envelope,
    said: &[String],
    covered: impl Fn(Element<'_>) -> bool,
) -> Result<(), Rejected> {
    for expected in values(envelope, "Action", covered)? {
        let mut said = said.iter().filter(|action| !action.is_empty());
        if let Some(other) = said.find(|action| **action != expected) {
            return Err(Rejected::ActionMismatch {
                expected: excerpt(&expected),
                found: excerpt(other),
            });
        }
    }
    Ok(())
}

/// The values of the addressing headers of a name, in whatever version: one at least, and all of
/// them covered.
fn values(
    envelope: &Envelope,
    local: &'static str,
    covered: impl Fn(Element<'_>) -> bool,
) -> Result<Vec<String>, Rejected> {
    let mut values = Vec::new();
    for block in addressing_blocks(envelope, local) {
        let part = part(block.namespace(), local);
        if !covered(block) {
            return Err(Rejected::Unsigned { part });
        }
        let text = block.text_strict().ok_or_else(|| Rejected::Malformed {
            element: if local == "To" {
                "wsa:To"
            } else {
                "wsa:Action"
            },
            problem: "expected text, found elements or comments".to_owned(),
        })?;
        values.push(text.trim().to_owned());
    }
    if values.is_empty() {
        let part = part(AddressingVersion::V10.namespace(), local);
        return Err(Rejected::PartMissing { part });
    }
    Ok(values)
}

fn part(namespace: &str, local: &str) -> Part {
    Part::Header {
        namespace: namespace.to_owned(),
        local: local.to_owned(),
    }
}

/// Whether the message has a `wsu:Timestamp` that says no end.
fn lacks_expires(envelope: &Envelope, policy: &Policy) -> bool {
    let headers = envelope.security_headers(policy.header.actor.as_deref());
    let mut timestamps = headers
        .flat_map(|security| security.children())
        .filter(|child| child.is(WSU, "Timestamp"));
    timestamps.any(|timestamp| timestamp.child(WSU, "Expires").is_none())
}

/// Refuses processing instructions in the Body and in the header blocks that are passed on.
fn check_instructions(envelope: &Envelope, blocks: &[NodeId]) -> Result<(), Rejected> {
    let document = envelope.document();
    let blocks = blocks.iter().map(|block| document.element(*block));
    let passed_on = std::iter::once(envelope.body()).chain(blocks);
    for element in passed_on.flat_map(|part| part.descendants()) {
        for content in element.contents() {
            if let Content::ProcessingInstruction { target, .. } = content {
                let target = excerpt(target);
                return Err(Rejected::ProcessingInstruction { target });
            }
        }
    }
    Ok(())
}

/// The beginning of a stranger's text, which may have megabytes.
fn excerpt(text: &str) -> String {
    text.chars().take(200).collect()
}

impl Compiler<'_> {
    /// What the file demands beside the policies of `exchanges`. What makes no sense with them is
    /// reported.
    pub(super) fn demands(&mut self, role: Role, exchanges: &[Exchange]) -> Demands {
        let config = self.config;
        let security = &config.security;
        if role == Role::Secure {
            return Demands::default();
        }
        let addressing = security.addressing.as_ref();
        if let (Some(addressing), Role::Client) = (addressing.filter(|it| it.soap_action), role) {
            self.report_with_hint(
                addressing.place,
                "`addressing` is for requests that arrive, and this endpoint sends them",
                "leave it out, or let it stand with the endpoint of the service: [routes.inbound]",
            );
        }
        let expires = security.timestamp.as_ref();
        let expires = expires.filter(|timestamp| timestamp.value.require_expires);
        let policies = |of: fn(&Policy) -> bool| {
            let mut all = exchanges.iter();
            all.any(|exchange| of(&exchange.request) || of(&exchange.response))
        };
        if let (Some(expires), false) = (expires, policies(|it| it.header.timestamp.is_some())) {
            self.report_with_hint(
                expires.place,
                "`require_expires` is given, and the policy has no Timestamp",
                "leave it out",
            );
        }
        // A client's table says what is written, and nothing of what arrives.
        let addressing = addressing.filter(|_| role != Role::Client);
        let place = addressing.map(|table| table.place);
        if let (Some(place), false) = (
            place.or(security.refused_instructions),
            policies(|it| !it.demands_nothing()),
        ) {
            self.report_with_hint(
                place,
                "more is demanded of messages, and nothing protects them: they are passed on unread",
                "name a mechanism, or leave it out",
            );
        }
        Demands {
            to: addressing.map_or_else(Vec::new, |table| table.to.clone()),
            action: addressing.is_some_and(|table| table.soap_action),
            expires: expires.is_some(),
            no_instructions: security.refused_instructions.is_some(),
        }
    }
}
