//! Inner encryption of messages that arrive.
//!
//! The one rule: the place decides what is deciphered, and its own key opens it. From the moment a
//! key is used there is one failure, and it is the one of the cipher text around it.

use std::sync::Arc;

use jiff::Timestamp;
use soapstone_crypto::Identity;
use soapstone_xml::{Buffers, Element};
use soapstone_xmlsec::enc::{ContentType, EncryptedData};
use soapstone_xmlsec::namespaces::DSIG;

use super::{InnerCipherEvidence, InnerElement, is_cipher_text, refuse_retired};
use crate::envelope::Envelope;
use crate::envelope_error::EnvelopeError;
use crate::keyed_cipher_text::KeyedCipherText;
use crate::limits::SecurityLimits;
use crate::open::{DecipheringKey, OwnKey, not_allowed};
use crate::part::Extent;
use crate::rejected::{AlgorithmUse, Rejected};
use crate::secure::wrapping_for;
use crate::secure_error::SecureError;
use crate::suite::{Retirement, Suite};
use crate::verified::Opened;

/// How an element of the Body must be encrypted.
#[derive(Debug)]
pub struct InnerDecryption {
    element: InnerElement,
    extent: Extent,
    suite: Suite,
    identities: Vec<Arc<Identity>>,
    signed_as_cipher_text: bool,
    retirements: Vec<Retirement>,
}

/// The cipher text of the element, and its key.
struct CipherText {
    data: EncryptedData,
    key: OwnKey,
}

impl InnerDecryption {
    /// Deciphers `element`, or its content, with one of `identities`, by the algorithms of `suite`.
    /// `signed_as_cipher_text` says whether the element has an enveloped signature beside the
    /// cipher text of its content.
    ///
    /// # Errors
    /// [`SecureError::RecipientUnfit`] where the suite has no way to encrypt a key to any of
    /// `identities`, [`SecureError::KeyMissing`] where there is none.
    pub fn new(
        element: InnerElement,
        extent: Extent,
        suite: Suite,
        identities: Vec<Arc<Identity>>,
        signed_as_cipher_text: bool,
    ) -> Result<Self, SecureError> {
        let mut fits = Err(SecureError::KeyMissing);
        for own in &identities {
            fits = wrapping_for(&suite, own.certificate()).map(|_| ());
            if fits.is_ok() {
                break;
            }
        }
        fits?;
        Ok(Self {
            element,
            extent,
            suite,
            identities,
            signed_as_cipher_text,
            retirements: Vec::new(),
        })
    }

    /// Refuses weak algorithms from a day on, although the suite lists them.
    #[must_use]
    pub fn retiring(mut self, retirements: Vec<Retirement>) -> Self {
        self.retirements = retirements;
        self
    }

    /// Whether a private key is held elsewhere.
    pub fn waits_for_keys(&self) -> bool {
        self.identities.iter().any(|own| own.key().is_external())
    }

    /// The algorithms that are accepted.
    pub fn suite(&self) -> &Suite {
        &self.suite
    }

    /// The key whose failed openings are counted, if the message is one of which each tells
    /// something: without an authentication of its own, cipher text can be changed piece by piece
    /// (Jager and Somorovsky, How to Break XML Encryption, 2011).
    pub fn deciphering_key(
        &self,
        opened: &Opened,
        limits: &SecurityLimits,
        now: Timestamp,
    ) -> Option<DecipheringKey> {
        let found = self.cipher_text(&opened.envelope, now).ok().flatten()?;
        let is_counted = !found.data.method.is_authenticated();
        is_counted.then(|| found.key.counted(limits.failed_openings, now))
    }

    /// Puts the element, or its content, in the place of its cipher text. `None` of an answer that
    /// is a fault: it has none.
    ///
    /// # Errors
    /// [`Rejected::InnerEncryption`] where the message has another form, and what is wrong with the
    /// algorithms or with whom it is for. From the first use of a key on, all reasons are one to
    /// everybody but the operator.
    pub fn decrypt(
        &self,
        mut opened: Opened,
        now: Timestamp,
        buffers: &mut Buffers,
    ) -> Result<(Opened, Option<InnerCipherEvidence>), Rejected> {
        let Some(found) = opened.examine(|envelope| self.cipher_text(envelope, now))? else {
            return Ok((opened, None));
        };
        opened.deciphered = true;
        match self.decipher(&mut opened.envelope, &found, buffers) {
            Ok(evidence) => Ok((opened, Some(evidence))),
            Err(rejected) => Err(opened.refused(rejected)),
        }
    }

    /// The cipher text in the place of the element, or of its content.
    fn cipher_text(
        &self,
        envelope: &Envelope,
        now: Timestamp,
    ) -> Result<Option<CipherText>, Rejected> {
        if self.element.is_left_out(envelope) {
            return Ok(None);
        }
        let (place, kind, said) = match self.extent {
            Extent::Element => (
                self.in_place_of_element(envelope)?,
                ContentType::Element,
                "expected `Type` to say that it is an element",
            ),
            Extent::Content => (
                self.in_place_of_content(envelope)?,
                ContentType::Content,
                "expected `Type` to say that it is the content of an element",
            ),
        };
        let read = KeyedCipherText::read(place, &[], |problem| self.refused(problem))?;
        if read.data.content_type != kind {
            return Err(self.refused(said));
        }
        let allowed = &self.suite.data;
        if !allowed.contains(&read.data.method) {
            let names = allowed.iter().map(|one| one.short_name());
            let found = read.data.method.uri();
            return Err(not_allowed(AlgorithmUse::Data, found, names));
        }
        let document = envelope.document();
        let key = OwnKey::read(document, &self.suite, read.key, &self.identities)?;
        let data = (read.data.method.is_weak(), read.data.method.short_name());
        refuse_retired(&self.retirements, [data, key.weakness()], now)?;
        Ok(Some(CipherText {
            key,
            data: read.data,
        }))
    }

    fn in_place_of_element<'e>(&self, envelope: &'e Envelope) -> Result<Element<'e>, Rejected> {
        if self.element.named(envelope).next().is_some() {
            return Err(self.refused("expected cipher text in its place, found the element"));
        }
        let mut found = envelope.body().descendants().filter(is_cipher_text);
        match (found.next(), found.count()) {
            (Some(only), 0) => Ok(only),
            (first, others) => Err(self.refused(format!(
                "expected one `xenc:EncryptedData` in the Body, found {}",
                others.saturating_add(usize::from(first.is_some()))
            ))),
        }
    }

    fn in_place_of_content<'e>(&self, envelope: &'e Envelope) -> Result<Element<'e>, Rejected> {
        let found = self.element.find(envelope);
        let element = found.map_err(|problem| self.refused(problem))?;
        let element = element.ok_or_else(|| self.refused("expected it, found a fault"))?;
        let is_signature =
            |child: &Element<'_>| self.signed_as_cipher_text && child.is(DSIG, "Signature");
        let mut content = element.children().filter(|child| !is_signature(child));
        match (content.next(), content.next()) {
            (Some(only), None) if is_cipher_text(&only) && element.text().trim().is_empty() => {
                Ok(only)
            }
            _ => Err(self.refused("expected one `xenc:EncryptedData` and nothing else in it")),
        }
    }

    fn decipher(
        &self,
        envelope: &mut Envelope,
        CipherText { data, key }: &CipherText,
        buffers: &mut Buffers,
    ) -> Result<InnerCipherEvidence, Rejected> {
        let unwrapped = key.unwrapped(data.method.key_length())?;
        let place = envelope.document.element(data.node);
        let around = place.parent().map(|parent| parent.id());
        let Envelope {
            document, options, ..
        } = envelope;
        let grafted = data.decrypt(document, &unwrapped, options, buffers)?;
        if let Some(duplicate) = envelope.document.duplicate_id() {
            return Err(EnvelopeError::DuplicateId(duplicate).into());
        }
        // What came to light may hold another element of the name, or be none.
        let found = self.element.find(envelope);
        let element = found.map_err(|problem| self.refused(problem))?;
        let expected = match self.extent {
            Extent::Element => grafted.first(),
            Extent::Content => around,
        };
        let element = element.filter(|element| Some(element.id()) == expected);
        let Some(element) = element else {
            return Err(self.refused("expected it in its cipher text, found it elsewhere"));
        };
        if element.children().any(|child| is_cipher_text(&child)) {
            return Err(self.refused("expected its content, found cipher text in cipher text"));
        }
        let used = [
            (data.method.is_weak(), data.method.short_name()),
            key.weakness(),
        ];
        let weak = used.into_iter().filter(|(is_weak, _)| *is_weak);
        Ok(InnerCipherEvidence {
            element: self.element.to_string(),
            extent: self.extent,
            algorithm: data.method,
            key: key.weakness().1,
            recipient: key.identity().certificate().subject().to_owned(),
            weak: weak.map(|(_, name)| name).collect(),
        })
    }

    fn refused(&self, problem: impl Into<String>) -> Rejected {
        Rejected::InnerEncryption {
            element: self.element.to_string(),
            problem: problem.into(),
        }
    }
}
