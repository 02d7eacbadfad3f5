//! Items of the header that need no key of the message: a time, a confirmation, a token.

use soapstone_xml::{Element, NodeId};

use super::opening::Opening;
use crate::confirmation;
use crate::envelope::expanded_name;
use crate::evidence::Confirmation;
use crate::freshness::{self, TimestampPolicy};
use crate::header::ItemKind;
use crate::key_locator::KeyLocator;
use crate::names::WSSE;
use crate::rejected::Rejected;
use crate::token::{Proving, TokenKind};

impl Opening<'_> {
    /// Reads an item, if it needs no key of the message.
    pub(super) fn read_item(&mut self, node: NodeId, kind: ItemKind) -> Result<(), Rejected> {
        let item = self.message.element(node);
        let may_be_ignored = matches!(
            kind,
            ItemKind::Token(_) | ItemKind::EncryptedAssertion | ItemKind::Unknown
        );
        if may_be_ignored && self.message.demands().ignores(item) {
            // Each is counted, as tokens are.
            self.budget.token()?;
            self.evidence.note_dropped(expanded_name(item));
            let name = match item.is(WSSE, "UsernameToken") {
                true => "UsernameToken",
                false => "other",
            };
            self.evidence.ignored.push(name);
            return Ok(());
        }
        match self.message.demands().kind(kind) {
            ItemKind::Timestamp => self.read_timestamp(node),
            ItemKind::Confirmation => self.read_confirmation(node),
            ItemKind::Token(kind) => self.read_token(node, kind),
            ItemKind::TokenReference => self.read_token_reference(node),
            _ => Err(Rejected::ElementUnexpected {
                element: expanded_name(item),
            }),
        }
    }

    fn read_timestamp(&mut self, node: NodeId) -> Result<(), Rejected> {
        if self.evidence.timestamp.replace(node).is_some() {
            return Err(Rejected::TimestampDuplicated);
        }
        let demanded = self.message.demands().timestamp;
        let TimestampPolicy { ttl, skew, .. } = demanded.unwrap_or_default();
        let (element, clock) = (self.message.element(node), self.message.facts.clock);
        let life = freshness::read(element, ttl, skew, clock, self.message.now)?;
        self.evidence.freshness = Some(life);
        Ok(())
    }

    /// Reads a reference that stands in the header for a signature to cover its token (SOAP Message
    /// Security 1.1.1, 8.3). It is read strictly, so that nothing else can stand inside.
    fn read_token_reference(&mut self, node: NodeId) -> Result<(), Rejected> {
        self.budget.token()?;
        let (item, demands) = (self.message.element(node), self.message.demands());
        match KeyLocator::read_reference(item)? {
            KeyLocator::AssertionElsewhere(reference) if demands.names_assertions() => {
                self.read_assertion_elsewhere(node, &reference)
            }
            _ if demands.signature.is_some() => Ok(()),
            _ => Err(Rejected::ElementUnexpected {
                element: expanded_name(item),
            }),
        }
    }

    fn read_confirmation(&mut self, node: NodeId) -> Result<(), Rejected> {
        self.budget.confirmation()?;
        let value = confirmation::read(self.message.element(node))?;
        let confirmation = Confirmation { node, value };
        self.evidence.confirmations.push(confirmation);
        Ok(())
    }

    pub(super) fn read_token(&mut self, node: NodeId, kind: TokenKind) -> Result<(), Rejected> {
        self.budget.token()?;
        self.check_hidden(node)?;
        self.prove_token(node, kind, None)?;
        let accepted = self.evidence.assertion.as_ref();
        match accepted.is_some_and(|accepted| accepted.node == node) {
            true => self.read_proof_key(),
            false => Ok(()),
        }
    }

    /// Proves whom a token proves by itself: the element of that node, or the one that it is only
    /// the reference to.
    pub(super) fn prove_token(
        &mut self,
        node: NodeId,
        kind: TokenKind,
        elsewhere: Option<Element<'_>>,
    ) -> Result<(), Rejected> {
        let message = &self.message;
        let mut proving = Proving {
            issuers: &message.plan.keys.issuers,
            retired: &|algorithm| message.demands().retired(algorithm, message.now),
            demanded: &message.demands().supporting,
            kerberos: message.demands().kerberos,
            password_keys: message.demands().password_keys.as_ref(),
            facts: message.facts,
            now: message.now,
            token: node,
            evidence: &mut self.evidence,
            marks: &mut self.replay.marks,
            observer: &mut *self.observer.observer,
        };
        let token = elsewhere.unwrap_or_else(|| message.element(node));
        kind.prove(token, &mut proving)
    }
}
