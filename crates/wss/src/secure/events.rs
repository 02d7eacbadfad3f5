//! What a listener is told of securing.
//!
//! The one rule: what is made for a listener is made for nobody else, and changes no message.

use jiff::Timestamp;
use soapstone_crypto::{Certificate, DataEncryption, SignatureAlgorithm};
use soapstone_xml::{
    Apex, Buffers, C14nOptions, C14nScratch, Document, NodeId, ParseOptions, canonicalize,
};
use soapstone_xmlsec::write::SignedInfo;

use super::covered::{Covered, LAST, Signed};
use super::message::numbered;
use super::prefix_lists::PrefixLists;
use super::root::{Purpose, Reference, Root};
use super::scope::Scope;
use super::securing::Securing;
use super::shown::{Shown, name_of};
use super::text::put;
use crate::attachments::Coverage;
use crate::binding::ProtectionOrder;
use crate::conversation::{DEFAULT_LABEL, DerivedKeyForm};
use crate::envelope::{Envelope, range};
use crate::evidence::KeyEvidence;
use crate::freshness;
use crate::key_locator::KeyLocator;
use crate::names::{ATTACHMENT_COMPLETE_SIGNATURE, ATTACHMENT_CONTENT_SIGNATURE, DS};
use crate::plan::{Encrypting, Endorser, KeySource};
use crate::secure_error::SecureError;
use crate::securing_event::{
    CipherExtent, DerivedKey, KeyOrigin, KeyUsage, SecuringEvent, TokenUse, Transformation,
    WrittenToken,
};
use crate::suite::Wrapping;

/// A signature that was made.
pub(super) struct MadeSignature<'s> {
    pub(super) id: &'s str,
    pub(super) algorithm: SignatureAlgorithm,
    pub(super) signed_info: &'s SignedInfo,
    pub(super) value: &'s [u8],
    /// What names its key.
    pub(super) key_info: &'s [u8],
}

impl Securing<'_> {
    /// Tells of the pieces that need no key.
    pub(super) fn tell_of_first_pieces(&mut self) {
        if !self.observer.listens {
            return;
        }
        let (plan, protection) = (self.message.plan, self.message.protection());
        let shown: Timestamp = self.message.outgoing.clock.shown(self.message.now);
        if let Some(life) = protection.timestamp {
            let id = self.message.named("time");
            self.observer.made(|| SecuringEvent::Timestamp {
                id: &id,
                created: shown,
                expires: freshness::later(shown, life.ttl),
            });
        }
        if let (true, Some(request)) = (protection.confirms, self.message.outgoing.answers) {
            let values = &request.signature_values;
            self.observer
                .made(|| SecuringEvent::Confirmation { values });
        }
        if let (true, Some(user)) = (protection.username.is_some(), &plan.keys.user) {
            let token = WrittenToken::Username { user: &user.name };
            let encryption = protection.encryption.as_ref();
            let is_secret = encryption.is_some_and(|one| one.hides_username);
            self.tell_of_token("user", token, TokenUse::Authentication, is_secret);
        }
        if let Some(assertion) = self
            .message
            .assertion()
            .filter(|_| protection.carries_assertion)
            && protection.assertion_authority.is_none()
        {
            let id = assertion.id();
            let token = WrittenToken::Assertion {
                version: assertion.version(),
                id,
            };
            let is_secret = self.hides_assertion();
            self.observer.made(|| SecuringEvent::Token {
                id: Some(id),
                token,
                usage: TokenUse::Authentication,
                is_secret,
            });
        }
    }

    /// Tells of the tokens with our certificate.
    pub(super) fn tell_of_certificate_tokens(&mut self) {
        if !self.observer.listens {
            return;
        }
        let protection = self.message.protection();
        for (index, endorsing) in protection.endorsing.iter().enumerate() {
            if let Endorser::Certificate(identity, _) = &endorsing.endorser
                && !self.pieces.endorsements[index].token.is_empty()
            {
                let token = WrittenToken::Certificate(identity.certificate());
                let (name, usage) = (numbered("endorse", index), TokenUse::Endorsement);
                self.tell_of_token(&name, token, usage, endorsing.token_encrypted);
            }
        }
        if let Some((identity, _)) = &protection.introduced {
            let mut signing = protection.signature.iter();
            let is_named = !protection.introduces_apart
                && signing.any(|one| {
                    one.key == KeySource::PrivateKey && one.reference.has_token() && !one.by_holder
                });
            let (name, usage) = match (protection.introduces_apart, is_named) {
                (true, _) => ("own", TokenUse::Introduction),
                (false, false) => ("cert", TokenUse::Introduction),
                (false, true) => ("cert", TokenUse::Signature),
            };
            let token = WrittenToken::Certificate(identity.certificate());
            self.tell_of_token(name, token, usage, false);
        }
    }

    /// Tells of a token with an id of ours.
    pub(super) fn tell_of_token(
        &mut self,
        name: &str,
        token: WrittenToken<'_>,
        usage: TokenUse,
        is_secret: bool,
    ) {
        if !self.observer.listens {
            return;
        }
        let id = self.message.named(name);
        self.observer.made(|| SecuringEvent::Token {
            id: Some(&id),
            token,
            usage,
            is_secret,
        });
    }

    /// Tells of a symmetric key that was chosen, and how it was derived, if it was.
    pub(super) fn tell_of_key(
        &mut self,
        root: &Root<'_>,
        purpose: Purpose,
        key_info: &[u8],
        derived: Option<(DerivedKeyForm, &[u8], usize)>,
    ) {
        if !self.observer.listens {
            return;
        }
        let named = self.named_by(key_info);
        let is_secret = match purpose {
            Purpose::Signing | Purpose::Endorsing => self.hides_signature(),
            Purpose::Encrypting => false,
        };
        let of_assertion = matches!(root.reference, Reference::Assertion(..));
        let is_secret = is_secret || of_assertion && self.hides_assertion();
        let of_root = derived.and_then(|_| {
            let mut name = Vec::new();
            root.reference.write(None, &mut Scope::alone(), &mut name);
            self.named_by(&name)
        });
        self.observer.made(|| SecuringEvent::Key {
            usage: match purpose {
                Purpose::Signing => KeyUsage::Signature,
                Purpose::Endorsing => KeyUsage::Endorsement,
                Purpose::Encrypting => KeyUsage::Encryption,
            },
            origin: match &root.reference {
                Reference::Shared(_, shared) => KeyOrigin::Shared(&shared.name),
                Reference::Here(_) => KeyOrigin::Session,
                Reference::EncryptedKeySha1(_) => KeyOrigin::Request,
                Reference::Token(_, context) | Reference::Context(context) => {
                    KeyOrigin::Context(&context.identifier)
                }
                Reference::KerberosToken(..) | Reference::KerberosSha1(..) => KeyOrigin::Kerberos,
                Reference::Assertion(_, id, _) => KeyOrigin::Assertion(id),
                Reference::Password(_) => KeyOrigin::Password,
            },
            named: named.as_ref(),
            derived: derived.map(|(form, nonce, length)| DerivedKey {
                root: of_root.as_ref(),
                form,
                label: DEFAULT_LABEL,
                nonce,
                length,
            }),
            is_secret,
        });
    }

    /// Tells of a key without a derivation. `is_secret` says whether only the receiver may read
    /// whose it is.
    pub(super) fn tell_of_plain_key(
        &mut self,
        usage: KeyUsage,
        origin: KeyOrigin<'_>,
        key_info: &[u8],
        is_secret: bool,
    ) {
        if !self.observer.listens {
            return;
        }
        let named = self.named_by(key_info);
        self.observer.made(|| SecuringEvent::Key {
            usage,
            origin,
            named: named.as_ref(),
            derived: None,
            is_secret,
        });
    }

    /// Tells of a key that was wrapped. `named` is what names its recipient.
    pub(super) fn tell_of_wrapping(
        &mut self,
        (id, sha1): (&str, &[u8; 20]),
        wrapping: Wrapping<'_>,
        recipient: &Certificate,
        named: Option<&KeyLocator>,
    ) {
        self.observer.made(|| SecuringEvent::KeyWrapped {
            id,
            method: match wrapping {
                Wrapping::Transport(method) => KeyEvidence::Transport(*method),
                Wrapping::Agreement(method) => KeyEvidence::Agreement(*method),
            },
            recipient,
            named,
            sha1,
        });
    }

    /// Tells of a signature and of all that it covers.
    pub(super) fn tell_of_signature(
        &mut self,
        made: &MadeSignature<'_>,
        covered: &Covered<'_, '_>,
    ) -> Result<(), SecureError> {
        if !self.observer.listens {
            return Ok(());
        }
        let protection = self.message.protection();
        let method = protection.suite.digest[0];
        for one in covered.elements {
            let transform = Transformation::Exclusive(&one.prefixes);
            self.tell_of_reference(made.id, one, transform);
        }
        for one in &covered.dereferenced {
            self.tell_of_reference(made.id, one, Transformation::Dereference);
        }
        for one in covered.attached {
            let Some(shown) = &one.shown else {
                continue;
            };
            self.observer.made(|| SecuringEvent::Reference {
                signature: made.id,
                uri: &one.uri,
                element: &shown.element,
                part: None,
                transform: Transformation::Attachment(match one.coverage {
                    Coverage::Content => ATTACHMENT_CONTENT_SIGNATURE,
                    Coverage::Complete => ATTACHMENT_COMPLETE_SIGNATURE,
                }),
                method,
                canonical: &shown.octets,
                digest: &one.digest,
                is_secret: shown.is_secret,
            });
        }
        let signed_info = self.signed_octets(made.signed_info)?;
        let named = self.named_by(made.key_info);
        let is_secret = self.hides_signature();
        self.observer.made(|| SecuringEvent::SignatureValue {
            id: made.id,
            algorithm: made.algorithm,
            named: named.as_ref(),
            signed_info: &signed_info,
            value: made.value,
            is_secret,
        });
        Ok(())
    }

    fn tell_of_reference(
        &mut self,
        signature: &str,
        one: &Signed<'_>,
        transform: Transformation<'_>,
    ) {
        let Some(shown) = &one.shown else {
            return;
        };
        let protection = self.message.protection();
        let uri = ["#", &one.id].concat();
        self.observer.made(|| SecuringEvent::Reference {
            signature,
            uri: &uri,
            element: &shown.element,
            part: match one.place {
                LAST => None,
                place => protection.signed_parts().get(place),
            },
            transform,
            method: protection.suite.digest[0],
            canonical: &shown.octets,
            digest: &one.digest,
            is_secret: shown.is_secret,
        });
    }

    /// Tells of something that is encrypted with the key of the message.
    pub(super) fn tell_of_encryption(&mut self, id: &str, element: &str, extent: CipherExtent) {
        let Some(session) = self.keys.session.as_ref().filter(|_| self.observer.listens) else {
            return;
        };
        let (algorithm, named) = (session.algorithm, self.named_by(&session.key_info));
        self.tell_of_cipher_text((id, element, extent), algorithm, named.as_ref());
    }

    /// Tells of something that is encrypted with a key that `named` names.
    pub(super) fn tell_of_cipher_text(
        &mut self,
        (id, element, extent): (&str, &str, CipherExtent),
        algorithm: DataEncryption,
        named: Option<&KeyLocator>,
    ) {
        self.observer.made(|| SecuringEvent::Encryption {
            id,
            element,
            extent,
            algorithm,
            named,
        });
    }

    /// Tells of the header as it is about to be written.
    pub(super) fn tell_of_header(&mut self, envelope: &Envelope) {
        if !self.observer.listens {
            return;
        }
        let protection = self.message.protection();
        let pieces: Vec<&[u8]> = self.pieces.in_order(protection).collect();
        let (wanted, declared) = (&protection.inclusive_prefixes, &self.pieces.declarations);
        let items = PrefixLists::items(wanted, declared, envelope, &pieces.concat());
        // What cannot be read is no item. The message is what it is all the same.
        let items = items.unwrap_or_default();
        self.observer.made(|| SecuringEvent::Header {
            actor: protection.actor.as_deref(),
            items: &items,
        });
    }

    /// What the content of a `ds:KeyInfo` names, read as its receiver reads it.
    pub(super) fn named_by(&self, key_info: &[u8]) -> Option<KeyLocator> {
        let mut piece = b"<wsse:Security".to_vec();
        self.pieces.declarations.write(&mut piece);
        put(&["><ds:KeyInfo xmlns:ds=\"", DS, "\">"], &mut piece);
        piece.extend_from_slice(key_info);
        put(&["</ds:KeyInfo></wsse:Security>"], &mut piece);
        let options = ParseOptions::default();
        let document = Document::parse(piece, &options, &mut Buffers::default()).ok()?;
        KeyLocator::read(document.root().first_child()?).ok()
    }

    /// What a listener is shown of a piece of the header. `octets` are its exclusive canonical form
    /// without a list.
    pub(super) fn shown_piece(
        &self,
        octets: &[u8],
        written: &[u8],
    ) -> Result<Option<Box<Shown>>, SecureError> {
        if !self.observer.listens {
            return Ok(None);
        }
        let octets = match &self.lists {
            None => octets.to_vec(),
            Some(lists) => lists.octets(written)?.0,
        };
        Ok(Some(Box::new(Shown {
            element: name_of(&octets).to_owned(),
            is_secret: self.is_secret_piece(written),
            octets,
        })))
    }

    /// What a listener is shown of the token that is digested in the place of its reference.
    pub(super) fn shown_token(&self, octets: &[u8], is_secret: bool) -> Option<Box<Shown>> {
        self.observer.listens.then(|| {
            Box::new(Shown {
                element: name_of(octets).to_owned(),
                octets: octets.to_vec(),
                is_secret,
            })
        })
    }

    /// What a listener is shown of an element of the message.
    pub(super) fn shown_node(
        &self,
        envelope: &Envelope,
        node: NodeId,
        options: &C14nOptions<'_>,
    ) -> Result<Option<Box<Shown>>, SecureError> {
        if !self.observer.listens {
            return Ok(None);
        }
        let document = &envelope.document;
        let (mut octets, mut scratch) = (Vec::new(), C14nScratch::default());
        canonicalize(
            document,
            Apex::Element(node),
            options,
            &mut scratch,
            &mut octets,
        )
        .map_err(SecureError::Canonicalization)?;
        Ok(Some(Box::new(Shown {
            element: document.element(node).qualified_name().to_owned(),
            octets,
            is_secret: self.is_secret_node(envelope, node)?,
        })))
    }

    /// Whether signatures will be cipher text.
    pub(super) fn hides_signature(&self) -> bool {
        let encryption = self.message.protection().encryption.as_ref();
        encryption.is_some_and(|one| one.hides_signature)
    }

    /// Whether the assertion will be cipher text.
    pub(super) fn hides_assertion(&self) -> bool {
        let protection = self.message.protection();
        let encryption = protection.encryption.as_ref();
        protection.hides_assertion || encryption.is_some_and(|one| one.hides_assertion)
    }

    /// Whether a piece of the header will be cipher text, or has a password.
    fn is_secret_piece(&self, piece: &[u8]) -> bool {
        let protection = self.message.protection();
        let hides =
            |hides: fn(&Encrypting) -> bool| protection.encryption.as_ref().is_some_and(hides);
        let mut endorsing = protection.endorsing.iter().zip(&self.pieces.endorsements);
        let has = |text: &[u8]| piece.windows(text.len()).any(|window| window == text);
        match name_of(piece).rsplit(':').next() {
            Some("UsernameToken") => hides(|one| one.hides_username) || has(b"<wsse:Password"),
            Some("Assertion") => self.hides_assertion(),
            Some("Signature") => hides(|one| one.hides_signature),
            Some("SignatureConfirmation") => hides(|one| one.hides_confirmations),
            _ => endorsing.any(|(demand, one)| demand.token_encrypted && one.token == piece),
        }
    }

    /// Whether something of an element that is to be signed will be cipher text.
    fn is_secret_node(&self, envelope: &Envelope, node: NodeId) -> Result<bool, SecureError> {
        let protection = self.message.protection();
        let is_sign_first = protection.order == ProtectionOrder::SignBeforeEncrypting;
        let place = range(envelope.document.element(node));
        let encryption = protection.encryption.iter().filter(|_| is_sign_first);
        for wanted in encryption.flat_map(|one| &one.parts) {
            for other in self.message.nodes_of(envelope, &wanted.part)? {
                let hidden = range(envelope.document.element(other));
                if hidden.start < place.end && place.start < hidden.end {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}
