//! The plan's demands, each compared with what was proven, node by node.

use soapstone_crypto::Certificate;
use soapstone_xml::{Element, NodeId};

use super::assertion::holder_misused;
use super::comparison::Comparison;
use crate::binding::{Layout, ProtectionOrder};
use crate::confirmation;
use crate::event::Demand;
use crate::evidence::{SignatureEvidence, Signer};
use crate::names::{WSSE, WSSE11, XENC};
use crate::part::{EncryptedPart, Part};
use crate::rejected::Rejected;

impl Comparison<'_, '_> {
    /// Compares everything that the plan demands.
    pub(super) fn compare(&mut self) -> Result<(), Rejected> {
        let demands = self.demands();
        if demands.has_security {
            // What one held may be several elements, or hide its header block in another one.
            let is_right = |held: Element<'_>| !held.is(WSSE11, "EncryptedHeader");
            let outcome = self.message.envelope.check_encrypted_headers(is_right);
            self.judge(Demand::EncryptedHeaders, outcome)?;
        }
        self.compare_items()?;
        for part in &demands.required {
            let outcome = match self.nodes_of(part).is_empty() {
                true => Err(Rejected::PartMissing { part: part.clone() }),
                false => Ok(()),
            };
            self.judge(Demand::Required(part), outcome)?;
        }
        if let Some(signature) = &demands.signature {
            if demands.endorsements.assigns_message {
                let outcome = self.compare_signers();
                self.judge(Demand::Signature, outcome)?;
            } else {
                let outcome = self.compare_signatures();
                self.judge(Demand::Signature, outcome)?;
                if !demands.endorsements.demands.is_empty() {
                    let outcome = self.compare_endorsements();
                    self.judge(Demand::Endorsements, outcome)?;
                }
            }
            for (part, _) in &signature.parts {
                let outcome = self.compare_signed(part);
                self.judge(Demand::Signed(part), outcome)?;
            }
        }
        if demands.assertion().is_some() {
            let outcome = self.confirm_assertion();
            self.judge(Demand::Assertion, outcome)?;
        }
        let awaited = self.compare_encryption()?;
        if let Some(optional) = &demands.optional_cipher {
            let outcome = self.check_deciphered(optional);
            self.judge(Demand::Deciphered(optional), outcome)?;
        }
        let outcome = self.compare_attachments();
        self.judge(Demand::Attachments, outcome)?;
        let outcome = self.check_order();
        self.judge(Demand::Order, outcome)?;
        let outcome = self.check_layout();
        self.judge(Demand::Layout, outcome)?;
        let outcome = self.check_places();
        let outcome = outcome.and_then(|()| self.check_deciphered_places(awaited));
        self.judge(Demand::Places, outcome)?;
        match self.refused.take() {
            Some(refused) => Err(refused),
            None => Ok(()),
        }
    }

    /// Compares the encrypted parts; returns the cipher text that they were in, where that stands
    /// in its place.
    fn compare_encryption(&mut self) -> Result<Vec<NodeId>, Rejected> {
        let mut awaited = Vec::new();
        let encryption = self.demands().encryption.as_ref();
        for (wanted, order) in encryption.iter().flat_map(|one| &one.parts) {
            let mut nodes = self.nodes_of(&wanted.part).into_iter();
            let outcome = nodes.try_for_each(|node| {
                let compared = self.compare_encrypted(wanted, node, *order);
                let data = match &compared {
                    Ok(data) => Some(*data),
                    // In the wrong order it is no other cipher text than the plan's.
                    Err(_) if self.observer.explains => self
                        .deciphering(node, wanted.extent)
                        .map(|proof| proof.encrypted_data),
                    Err(_) => None,
                };
                let in_place =
                    data.filter(|data| self.is_selected_in_place(&wanted.part, node, *data));
                awaited.extend(in_place);
                compared.map(drop)
            });
            self.judge(Demand::Encrypted(wanted), outcome)?;
        }
        Ok(awaited)
    }

    /// Ends the comparison where a demand is not met. For an explanation it goes on, and the first
    /// refusal is kept.
    fn judge(&mut self, demand: Demand<'_>, outcome: Result<(), Rejected>) -> Result<(), Rejected> {
        self.tell_of_demand(demand, outcome.as_ref().err());
        if !self.observer.explains {
            return outcome;
        }
        self.refused = self.refused.take().or(outcome.err());
        Ok(())
    }

    /// The items that the header must have, as far as no cipher text can hold them.
    pub(super) fn items_before_decryption(&mut self) -> Result<(), Rejected> {
        let (demand, outcome) = if let missing @ Err(_) = self.compare_timestamp() {
            (Demand::Timestamp, missing)
        } else if let missing @ Err(_) = self.compare_username() {
            (Demand::Username, missing)
        } else if let missing @ Err(_) = self.compare_kerberos() {
            (Demand::Kerberos, missing)
        } else {
            (Demand::Confirmation, self.compare_confirmation())
        };
        match outcome {
            Ok(()) => Ok(()),
            // An explanation tells of them when everything is compared.
            missing if self.observer.explains => missing,
            missing => self.judge(demand, missing),
        }
    }

    fn compare_items(&mut self) -> Result<(), Rejected> {
        let demands = self.demands();
        if demands.requires_timestamp {
            let outcome = self.compare_timestamp();
            self.judge(Demand::Timestamp, outcome)?;
        }
        if demands.username().is_some() {
            let outcome = self.compare_username();
            self.judge(Demand::Username, outcome)?;
        }
        if demands.kerberos_beside {
            let outcome = self.compare_kerberos();
            self.judge(Demand::Kerberos, outcome)?;
        }
        if demands.password_keys.is_some() {
            let outcome = self.compare_password_tokens();
            self.judge(Demand::Username, outcome)?;
        }
        if demands.confirms {
            let outcome = self.compare_confirmation();
            self.judge(Demand::Confirmation, outcome)?;
        }
        Ok(())
    }

    fn compare_timestamp(&self) -> Result<(), Rejected> {
        match self.demands().requires_timestamp && self.evidence.timestamp.is_none() {
            true => Err(Rejected::TimestampMissing),
            false => Ok(()),
        }
    }

    fn compare_username(&self) -> Result<(), Rejected> {
        match self.demands().username().is_some() && self.evidence.user_token.is_none() {
            true => Err(Rejected::UsernameMissing),
            false => Ok(()),
        }
    }

    fn compare_kerberos(&self) -> Result<(), Rejected> {
        match self.demands().kerberos_beside && self.evidence.kerberos.is_none() {
            true => Err(Rejected::KerberosMissing),
            false => Ok(()),
        }
    }

    /// An answer confirms the signatures of its request.
    fn compare_confirmation(&self) -> Result<(), Rejected> {
        match (&self.message.facts.request, self.demands().confirms) {
            (Some(request), true) => {
                let confirmed = self.evidence.confirmations.iter();
                let confirmed: Vec<_> = confirmed.map(|one| one.value.as_deref()).collect();
                confirmation::compare(&confirmed, &request.signature_values)
            }
            _ => Ok(()),
        }
    }

    /// Whether every node of a part is signed.
    fn compare_signed(&self, part: &Part) -> Result<(), Rejected> {
        let is_signed = |node: NodeId| self.signing_steps(node).next().is_some();
        let all_signed = match part {
            // Of these there may be thousands, and each is one element or none.
            Part::Id(id) => self.message.named(id).is_none_or(is_signed),
            Part::Token => self.evidence.message_signatures().all(|signature| {
                signature.covers_certificate
                    || signature
                        .token
                        .is_none_or(|token| is_signed(token) && !self.is_name(token))
            }),
            // A signature over a reference covers nothing of what it names.
            Part::Assertion if self.names_assertion() => false,
            part => self.nodes_of(part).into_iter().all(is_signed),
        };
        match all_signed {
            true => Ok(()),
            false => Err(Rejected::Unsigned { part: part.clone() }),
        }
    }

    /// Whether a token is the name of an assertion that stands elsewhere. Whatever is done to it
    /// protects nothing of the assertion.
    pub(super) fn is_name(&self, token: NodeId) -> bool {
        let accepted = self.evidence.assertion.as_ref();
        accepted.is_some_and(|accepted| accepted.elsewhere.is_some() && accepted.node == token)
    }

    /// Whether the message names its assertion, which stands elsewhere.
    fn names_assertion(&self) -> bool {
        let accepted = self.evidence.assertion.as_ref();
        accepted.is_some_and(|accepted| accepted.elsewhere.is_some())
    }

    /// Where cipher text is what is signed, no signature tells whether it was listed for
    /// decryption: somebody may take an element that is encrypted if it is there for one that
    /// is not there, by taking its reference out of the list. Whole header blocks are judged by
    /// their places ([`check_places`](Self::check_places)), and the Body is always there.
    fn check_deciphered(&self, optional: &Part) -> Result<(), Rejected> {
        let blocks = self.header_blocks();
        let mut left = blocks
            .filter(|block| !block.is(WSSE, "Security"))
            .chain(std::iter::once(self.message.envelope.body()))
            .flat_map(|held| held.descendants());
        match left.any(|element| element.is(XENC, "EncryptedData") && !element.is_replaced()) {
            true => Err(Rejected::Undeciphered {
                part: optional.clone(),
            }),
            false => Ok(()),
        }
    }

    /// Where the plan has the plain text of a part signed, no signature is over its cipher text:
    /// anybody can sign somebody else's, without knowing what it holds. Steps alone do not
    /// tell: one signature may be verified between two decryptions of the same part, or refer to
    /// what is deciphered already.
    fn check_order(&self) -> Result<(), Rejected> {
        if !self.plaintext.has_signed() {
            return Ok(());
        }
        let signature = self.demands().signature.iter();
        for (part, order) in signature.flat_map(|signature| &signature.parts) {
            let mut nodes = self.nodes_of(part).into_iter();
            if *order == ProtectionOrder::SignBeforeEncrypting
                && nodes.any(|node| self.is_signed_as_cipher(node))
            {
                return Err(Rejected::WrongOrder { part: part.clone() });
            }
        }
        Ok(())
    }

    /// One signature proves all parts. Two could come from two messages, whose parts somebody
    /// without a key has put together: the Body of one with the Timestamp, or the password, of
    /// the other. And of two signers it could not be told which one sends.
    fn compare_signatures(&self) -> Result<(), Rejected> {
        let is_holders = |one: &SignatureEvidence| {
            matches!(one.signer, Signer::Holder { .. }) && !one.is_by_secret()
        };
        let demand = self.demands().signature.as_ref();
        let by_holder = demand.is_some_and(|demand| demand.by_holder);
        if !by_holder && self.evidence.message_signatures().any(is_holders) {
            return Err(holder_misused());
        }
        let mut signatures = self.evidence.message_signatures();
        signatures.try_for_each(|one| self.check_signing_key(one))?;
        let mut signatures = self.evidence.message_signatures();
        match (signatures.next(), signatures.next()) {
            (None, _) => Err(Rejected::SignatureMissing),
            (Some(_), None) => Ok(()),
            (Some(_), Some(_)) if self.demands().several_signatures => self.compare_together(),
            (Some(_), Some(_)) => Err(Rejected::TooMany {
                what: "signatures that endorse none",
                limit: 1,
            }),
        }
    }

    /// Several signatures prove parts of one message if one certificate made them, and each of
    /// them covers the Timestamp: that is one element, of one message.
    fn compare_together(&self) -> Result<(), Rejected> {
        let sender = self.evidence.signer().map(Certificate::der);
        let timestamp = self.evidence.timestamp;
        for signature in self.evidence.message_signatures() {
            let signer = signature.certificate().map(Certificate::der);
            if sender.is_none() || signer != sender {
                return Err(Rejected::TooMany {
                    what: "signers of one message",
                    limit: 1,
                });
            }
            if !timestamp.is_some_and(|timestamp| signature.covers(timestamp)) {
                let part = Part::Timestamp;
                return Err(Rejected::Unsigned { part });
            }
        }
        Ok(())
    }

    /// The order of the header's elements (WS-SecurityPolicy 1.3, 6.7).
    fn check_layout(&self) -> Result<(), Rejected> {
        let Some(security) = self.message.security else {
            return Ok(());
        };
        let security = self.message.element(security);
        let violated = |problem| Err(Rejected::LayoutViolated { problem });
        let is_timestamp =
            |child: Option<Element<'_>>| child.map(|child| child.id()) == self.evidence.timestamp;
        match self.demands().layout {
            Layout::LaxTimestampFirst if !is_timestamp(security.first_child()) => {
                violated("expected the `wsu:Timestamp` first in `wsse:Security`")
            }
            Layout::LaxTimestampLast if !is_timestamp(security.children().last()) => {
                violated("expected the `wsu:Timestamp` last in `wsse:Security`")
            }
            Layout::Lax | Layout::LaxTimestampFirst | Layout::LaxTimestampLast => Ok(()),
            Layout::Strict => {
                let order: Vec<NodeId> = security.children().map(|child| child.id()).collect();
                let place = |node: NodeId| order.iter().position(|child| *child == node);
                let late = self.uses.iter().any(|(token, user)| {
                    place(*token)
                        .zip(place(*user))
                        .is_some_and(|(token, user)| token > user)
                });
                if late {
                    return violated("expected tokens before what uses them in `wsse:Security`");
                }
                Ok(())
            }
        }
    }

    /// Whether a node of a part was encrypted, and in this order if it is to be signed, too;
    /// returns the cipher text.
    pub(super) fn compare_encrypted(
        &self,
        wanted: &EncryptedPart,
        node: NodeId,
        order: Option<ProtectionOrder>,
    ) -> Result<NodeId, Rejected> {
        let part = || wanted.part.clone();
        let proof = self
            .deciphering(node, wanted.extent)
            .ok_or_else(|| Rejected::Unencrypted { part: part() })?;
        let right_order = order.is_none_or(|order| {
            self.signing_steps(node).any(|step| match order {
                ProtectionOrder::SignBeforeEncrypting => step > proof.step,
                ProtectionOrder::EncryptBeforeSigning => step < proof.step,
            })
        });
        if right_order {
            Ok(proof.encrypted_data)
        } else {
            Err(Rejected::WrongOrder { part: part() })
        }
    }
}
