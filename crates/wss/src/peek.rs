//! The questions that a message raises for the host, found before any cryptography.
//!
//! The one rule: an unproven message decides which facts are looked up, never what they are.

use soapstone_xml::Element;

use crate::envelope::Envelope;
use crate::facts::Lookups;
use crate::kerberos::KerberosName;
use crate::key_locator::KeyLocator;
use crate::names::{DS, KERBEROS_AP_REQ_SHA1, SAML11, SAML20, WSSE, WSSE_2002, XENC};
use crate::part::Part;
use crate::plan::InboundPlan;
use crate::token::{self, AssertionReference};
use crate::values::octets;

impl InboundPlan {
    /// Finds out what the host has to look up for `envelope`. No cryptography, no judgement.
    pub fn peek(&self, envelope: &Envelope) -> Lookups {
        let mut lookups = Lookups::default();
        if self.demands.uses_context {
            self.peek_contexts(envelope, &mut lookups);
        }
        if self.demands.kerberos.is_some() {
            self.peek_kerberos(envelope, &mut lookups);
        }
        if self.demands.names_assertions() {
            self.peek_assertion(envelope, &mut lookups);
        }
        if self.demands.username().is_some() || self.demands.password_keys.is_some() {
            self.peek_users(envelope, &mut lookups);
        }
        lookups
    }

    fn peek_users(&self, envelope: &Envelope, lookups: &mut Lookups) {
        let actor = self.demands.actor.as_deref();
        let children = || {
            let of_draft = envelope.draft_headers(actor);
            envelope
                .security_headers(actor)
                .chain(of_draft.filter(|_| self.demands.accepts_draft()))
                .flat_map(|security| security.children())
        };
        lookups.hidden_user = children().any(|child| child.is(XENC, "EncryptedData"));
        for token in children()
            .filter(|token| token.local() == "UsernameToken" && is_extension(*token))
            .take(self.demands.limits.tokens)
        {
            let name = token
                .child(token.namespace(), "Username")
                .and_then(|name| name.text_strict().map(|text| text.into_owned()));
            if let Some(name) = name.filter(|name| !lookups.users.contains(name)) {
                lookups.users.push(name);
            }
        }
    }

    /// The first Kerberos token of the header, or else the first name of one. A second one finds no
    /// session.
    fn peek_kerberos(&self, envelope: &Envelope, lookups: &mut Lookups) {
        let actor = self.demands.actor.as_deref();
        let children = envelope.security_headers(actor);
        let mut children = children.flat_map(|security| security.children());
        let token = children.find_map(|child| {
            let is_token = child.is(WSSE, "BinarySecurityToken");
            is_token.then(|| token::kerberos_name(child)).flatten()
        });
        let named = || {
            let elements = envelope.security_headers(actor);
            let mut elements = elements.flat_map(|security| security.descendants());
            elements.find_map(|element| {
                let is_name = element.is(WSSE, "KeyIdentifier")
                    && element.attribute("", "ValueType").as_deref() == Some(KERBEROS_AP_REQ_SHA1);
                let bytes = is_name.then(|| octets(element).ok()).flatten()?;
                bytes.try_into().ok().map(KerberosName::Sha1)
            })
        };
        lookups.kerberos = token.or_else(named);
    }

    /// The first assertion elsewhere that the header names, or a signature in it. Nothing is looked
    /// up for a message without the signature that the plan demands. A second one is not found.
    fn peek_assertion(&self, envelope: &Envelope, lookups: &mut Lookups) {
        let actor = self.demands.actor.as_deref();
        let children = || {
            envelope
                .security_headers(actor)
                .flat_map(|security| security.children())
        };
        // One that the plan has enciphered is cipher text here.
        let encryption = self.demands.encryption.iter();
        let hides_signature = encryption
            .flat_map(|demand| &demand.parts)
            .any(|(wanted, _)| wanted.part == Part::Signature);
        let is_signed = || {
            children().any(|child| {
                child.is(DS, "Signature") || hides_signature && child.is(XENC, "EncryptedData")
            })
        };
        if self.demands.signature.is_some() && !is_signed() {
            return;
        }
        // Beside one that the message carries, none is accepted that it names.
        let is_carried = |child: Element<'_>| {
            child.is(SAML11, "Assertion")
                || child.is(SAML20, "Assertion")
                || child.is(SAML20, "EncryptedAssertion")
        };
        if children().any(is_carried) {
            return;
        }
        let mut references = children()
            .filter_map(token_reference)
            .take(self.demands.limits.tokens);
        let found =
            references.find_map(|reference| AssertionReference::read(reference).ok().flatten());
        lookups.assertion = found.filter(|found| self.demands.accepts_version(found.version));
    }

    /// The contexts named by tokens, and by references to what is not in the message.
    fn peek_contexts(&self, envelope: &Envelope, lookups: &mut Lookups) {
        let is_token = |element: Element<'_>| element.is_local("SecurityContextToken");
        let elements = envelope
            .security_headers(self.demands.actor.as_deref())
            .flat_map(|security| security.descendants())
            .filter(|element| is_token(*element) || element.is(WSSE, "Reference"));
        for element in elements {
            let name = match is_token(element) {
                true => token::secret(element).ok().flatten(),
                false => element
                    .attribute("", "URI")
                    .and_then(|uri| token::outside(element, &uri)),
            };
            if let Some(KeyLocator::Context(name)) = name
                && !lookups.contexts.contains(&name)
            {
                lookups.contexts.push(name);
            }
            // One message has one context; a second one is looked up only so that its refusal can
            // say so.
            if lookups.contexts.len() == MOST_CONTEXTS {
                return;
            }
        }
    }
}

/// The reference to a token that a child of the header is, or that a signature has as its key.
fn token_reference(child: Element<'_>) -> Option<Element<'_>> {
    match child.is(DS, "Signature") {
        true => {
            let info = child.child(DS, "KeyInfo")?;
            info.child(WSSE, "SecurityTokenReference")
        }
        false => Some(child).filter(|child| child.is(WSSE, "SecurityTokenReference")),
    }
}

/// Whether an element is one of the extension elements of WS-Security, or of its draft.
fn is_extension(element: Element<'_>) -> bool {
    element.namespace() == WSSE || element.namespace() == WSSE_2002
}

/// Most contexts that are looked up for one message.
const MOST_CONTEXTS: usize = 2;
