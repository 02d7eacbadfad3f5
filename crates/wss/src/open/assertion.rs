//! The assertion of a message: the key of its holder, and whether the message is of its subject.
//!
//! The one rule: nothing is taken from an assertion but from the one that was accepted, by its
//! node.

use soapstone_crypto::SignatureFamily;
use soapstone_xml::{Element, NodeId};
use soapstone_xmlsec::dsig::Signature;

use super::authentic::{Found, Key};
use super::comparison::Comparison;
use super::message::Message;
use super::opening::Opening;
use crate::event::Event;
use crate::evidence::{AssertionEvidence, CipherKey, SignatureEvidence, SignatureRole, Signer};
use crate::key_locator::KeyLocator;
use crate::names::{WSSE, WSSE11};
use crate::part::Extent;
use crate::rejected::Rejected;
use crate::token::{
    AssertionReference, FetchedAssertion, HolderKey, IGNORED_CONFIRMATION, Presentation,
    PresentedSignature, SamlVersion, TokenKind, version_of,
};

/// That a signature names the assertion, where the plan has another key make it.
pub(super) fn holder_misused() -> Rejected {
    Rejected::KeyMisused {
        problem: "expected a signature with a trusted certificate, found one with the key of the assertion's holder"
            .to_owned(),
    }
}

impl Message<'_> {
    /// The assertion with this version and id.
    pub(super) fn assertion_named(&self, version: SamlVersion, id: &str) -> Option<NodeId> {
        let found = self.named(id);
        found.filter(|node| version_of(self.element(*node)) == Some(version))
    }

    /// The assertion that a `ds:KeyInfo` names or holds; none, where it names another key.
    fn assertion_meant(&self, info: Element<'_>) -> Result<Option<NodeId>, Rejected> {
        let reference = info.child(WSSE, "SecurityTokenReference");
        let locator = KeyLocator::read(info)?;
        let node = match &locator {
            KeyLocator::Assertion { version, id } => self.assertion_named(*version, id),
            KeyLocator::Token(id) => match self.named(id) {
                Some(node) if version_of(self.element(node)).is_some() => Some(node),
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        let node = node.ok_or_else(|| Rejected::KeyNotFound {
            reference: locator.to_string(),
        })?;
        let version = version_of(self.element(node));
        let claimed = reference.and_then(|reference| reference.attribute(WSSE11, "TokenType"));
        match (version, claimed) {
            (Some(version), Some(claimed)) if version.token_type() != claimed => {
                Err(Rejected::TokenUnsupported {
                    found: format!(
                        "a reference of type `{claimed}` to an assertion of SAML {}",
                        version.name()
                    ),
                })
            }
            _ => Ok(Some(node)),
        }
    }
}

impl Opening<'_> {
    /// Takes the assertion that stands elsewhere and that the `wsse:SecurityTokenReference` of this
    /// node names, as if it stood there. It may be named again.
    pub(super) fn read_assertion_elsewhere(
        &mut self,
        node: NodeId,
        reference: &AssertionReference,
    ) -> Result<(), Rejected> {
        let accepted = self.evidence.assertion.as_ref();
        if accepted.is_some_and(|accepted| accepted.elsewhere.as_ref() == Some(reference)) {
            return Ok(());
        }
        let facts = self.message.facts;
        let fetched = facts.assertion.as_deref();
        let fetched = fetched.filter(|fetched| fetched.reference() == reference);
        let element = fetched.map(FetchedAssertion::element);
        let kind = element.and_then(TokenKind::of);
        let kind = kind.ok_or_else(|| Rejected::KeyNotFound {
            reference: KeyLocator::AssertionElsewhere(reference.clone()).to_string(),
        })?;
        self.prove_token(node, kind, element)?;
        if let Some(accepted) = &mut self.evidence.assertion {
            accepted.elsewhere = Some(reference.clone());
        }
        Ok(())
    }

    /// The assertion that a `ds:KeyInfo` names, in the message or elsewhere; none, where it names
    /// another key.
    fn assertion_of(&self, info: Element<'_>) -> Result<Option<NodeId>, Rejected> {
        let locator = KeyLocator::read(info)?;
        let KeyLocator::AssertionElsewhere(reference) = &locator else {
            return self.message.assertion_meant(info);
        };
        let accepted = self.evidence.assertion.as_ref();
        let accepted = accepted.filter(|one| one.elsewhere.as_ref() == Some(reference));
        match accepted {
            Some(accepted) => Ok(Some(accepted.node)),
            None => Err(Rejected::KeyNotFound {
                reference: locator.to_string(),
            }),
        }
    }

    /// Reads the assertion that the key reference of a signature holds, or names elsewhere.
    pub(super) fn read_embedded_assertion(
        &mut self,
        signature: &Signature,
    ) -> Result<(), Rejected> {
        if self.message.demands().assertion().is_none() || self.evidence.assertion.is_some() {
            return Ok(());
        }
        let document = self.message.document();
        let reference = signature
            .key_info
            .and_then(|info| document.element(info).child(WSSE, "SecurityTokenReference"));
        if let Some(reference) = reference.filter(|_| self.message.demands().names_assertions())
            && let Some(elsewhere) = AssertionReference::read(reference)?
        {
            let node = reference.id();
            self.budget.token()?;
            return self.read_assertion_elsewhere(node, &elsewhere);
        }
        let embedded = reference
            .and_then(|reference| reference.child(WSSE, "Embedded"))
            .and_then(|embedded| embedded.first_child());
        let assertion = embedded.filter(|token| version_of(*token).is_some());
        let Some((node, kind)) = assertion.and_then(|it| Some((it.id(), TokenKind::of(it)?)))
        else {
            return Ok(());
        };
        self.read_token(node, kind)
    }

    /// The key of the holder of the accepted assertion, where that is what a signature names.
    pub(super) fn key_of_holder(
        &mut self,
        signature: &Signature,
    ) -> Result<Option<Found>, Rejected> {
        let message = &self.message;
        let (Some(policy), Some(info)) = (message.demands().assertion(), signature.key_info) else {
            return Ok(None);
        };
        let Some(node) = self.assertion_of(message.element(info))? else {
            return Ok(None);
        };
        if message.demands().proves_by_key && signature.method.family() == SignatureFamily::Hmac {
            return Ok(None);
        }
        let not_found = || Rejected::KeyNotFound {
            reference: "an assertion that was not accepted".to_owned(),
        };
        let accepted = self.evidence.assertion.as_ref();
        let accepted =
            accepted.filter(|accepted| accepted.node == node && accepted.signed_by.is_some());
        let AssertionEvidence { assertion, .. } = accepted.ok_or_else(not_found)?;
        let (key, certificate) = match assertion.holder_key(policy)? {
            // It would stand for the certificate that is demanded beside the assertion.
            HolderKey::Public(..) if !policy.holder.names_assertion() => {
                return Err(holder_misused());
            }
            HolderKey::Public(key, certificate) => (Key::Public(key.clone()), certificate.clone()),
            HolderKey::Wrapped(_) => return Err(not_found()),
        };
        if let Some(certificate) = &certificate
            && message.demands().refuses_own_signatures
            && message.is_only_ours(certificate)
        {
            return Err(Rejected::Reflected);
        }
        let mut around = message.element(node).ancestors();
        let is_item = !around.any(|holder| holder.id() == info);
        let found = Found {
            key,
            signer: Signer::Holder {
                issuer: assertion.issuer.clone(),
                subject: assertion.subject.value.clone(),
                certificate,
            },
            root: None,
            token: is_item.then_some(node),
            info: (!is_item).then_some(info),
            by_name: false,
        };
        self.observer.found(&message.envelope, || Event::KeyFound {
            user: signature.node,
            named: None,
            holder: &found.signer,
            token: found.token,
        });
        if is_item {
            self.keyring.note_use(node, signature.node);
        }
        Ok(Some(found))
    }
}

impl Comparison<'_, '_> {
    /// Whether the message has the assertion that the plan demands.
    pub(super) fn check_assertion(&self) -> Result<(), Rejected> {
        match self.demands().assertion().is_some() && self.evidence.assertion.is_none() {
            true => Err(Rejected::AssertionMissing),
            false => Ok(()),
        }
    }

    /// Confirms that the message is of the subject of its assertion.
    pub(super) fn confirm_assertion(&mut self) -> Result<(), Rejected> {
        let (Some(policy), Some(found)) = (self.demands().assertion(), &self.evidence.assertion)
        else {
            return Err(Rejected::AssertionMissing);
        };
        let signatures = self.evidence.signatures.iter();
        let presented = Presentation {
            is_signed: found.signed_by.is_some(),
            signatures: signatures
                .map(|one| self.presented(one, found.node))
                .collect(),
            client_certificate: self.message.facts.client_certificate.as_ref(),
            now: self.message.now,
        };
        let confirmation = found.assertion.confirm(policy, &presented)?;
        let (method, end) = (confirmation.method, confirmation.life.end);
        let is_weak = confirmation.tells_of_the_way();
        let client = presented.client_certificate;
        let by_connection = client.is_some_and(|client| confirmation.is_of(client));
        if let Some(found) = &mut self.evidence.assertion {
            if let Some(end) = end {
                found.ends = found.ends.min(end);
            }
            found.confirmed = Some(method);
            found.held_by_connection = by_connection;
        }
        let evidence = &mut self.evidence;
        self.message
            .note_weak(evidence, is_weak, IGNORED_CONFIRMATION)
    }

    /// A signature as the confirmation of an assertion sees it.
    fn presented<'s>(
        &self,
        signature: &'s SignatureEvidence,
        assertion: NodeId,
    ) -> PresentedSignature<'s> {
        let covers = |node: NodeId| self.holders(node).any(|holder| signature.covers(holder));
        let body = self.message.envelope.body().id();
        let endorses_body = || {
            let mut endorsed = self.evidence.message_signatures();
            let covers_body = |one: &SignatureEvidence| {
                self.holders(body).any(|holder| one.covers(holder)) && signature.covers(one.node)
            };
            signature.role == SignatureRole::Endorsing && endorsed.any(covers_body)
        };
        // Who signs cipher text need not know what it holds. What an issuer enciphered is in the
        // hands of everybody who sees a message with it.
        let is_unread = match self.demands().hides_assertion() {
            true => self.is_signed_as_cipher(assertion),
            false => self.is_signed_unread(assertion),
        };
        // A signature over a reference covers the name of an assertion, and nothing that it says.
        let accepted = self.evidence.assertion.as_ref();
        let is_named = accepted.is_some_and(|accepted| accepted.elsewhere.is_some());
        let covers_both = covers(assertion) && covers(body) && !is_unread && !is_named;
        PresentedSignature {
            certificate: signature.certificate(),
            by_holder: matches!(signature.signer, Signer::Holder { .. }),
            covers_body: covers(body) || endorses_body(),
            covers_both,
            is_personal: match &signature.signer {
                Signer::Certificate(_)
                | Signer::SharedKey(_)
                | Signer::Holder { .. }
                | Signer::Kerberos(_)
                | Signer::User(_)
                | Signer::Context { .. } => true,
                // Everybody makes one. What it enciphered itself was not in another message.
                Signer::SessionKey(_) => signature.token.is_some_and(|key| {
                    let mut encrypted = self.evidence.encrypted.iter();
                    encrypted.any(|it| {
                        let hides = it.node == assertion && it.extent == Extent::Element;
                        hides && it.key == CipherKey::Session(key)
                    })
                }),
                Signer::RequestKey(_) => false,
            },
        }
    }

    /// The accepted assertion, where it goes on as a header block.
    pub(super) fn forwarded_assertion(&self) -> Option<NodeId> {
        let forwards = self.demands().assertion().is_some_and(|one| one.forwarded);
        let found = self.evidence.assertion.as_ref();
        let found = found.filter(|found| forwards && found.elsewhere.is_none());
        found.map(|found| found.node)
    }
}
