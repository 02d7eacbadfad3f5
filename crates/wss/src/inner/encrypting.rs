//! Inner encryption of messages that leave.

use soapstone_crypto::{Certificate, SymmetricKey, base64, cipher};
use soapstone_xml::{Buffers, Element, Limits};
use soapstone_xmlsec::enc::ContentType;
use soapstone_xmlsec::write::{self, EncryptedDataStart};

use super::{InnerElement, is_cipher_text};
use crate::binding::KeyReference;
use crate::envelope::{Envelope, content, is_self_closing, range};
use crate::part::Extent;
use crate::secure::{wrapping_for, write_own_key};
use crate::secure_error::SecureError;
use crate::suite::Suite;

/// How an element of the Body is encrypted.
#[derive(Clone, Debug)]
pub struct InnerEncryption {
    element: InnerElement,
    extent: Extent,
    suite: Suite,
    recipient: Option<Certificate>,
    reference: KeyReference,
}

impl InnerEncryption {
    /// The ways to name its recipient: there is no header for a token.
    pub const REFERENCES: [KeyReference; 10] = [
        KeyReference::X509IssuerSerial,
        KeyReference::X509Data,
        KeyReference::X509Ski,
        KeyReference::IssuerSerial,
        KeyReference::IssuerSerialQuoted,
        KeyReference::SubjectKeyIdentifier,
        KeyReference::Thumbprint,
        KeyReference::Embedded,
        KeyReference::KeyName,
        KeyReference::KeyValue,
    ];

    /// Encrypts `element`, or its content, by the first algorithms of `suite`. Without a
    /// `recipient`, answers are encrypted to the signer of the request.
    ///
    /// # Errors
    /// [`SecureError::RecipientUnfit`] where the suite has no way to encrypt a key to the
    /// recipient, [`SecureError::KeyMissing`] where it enciphers nothing, and
    /// [`SecureError::InnerEncryption`] where `reference` is none of
    /// [`REFERENCES`](Self::REFERENCES).
    pub fn new(
        element: InnerElement,
        extent: Extent,
        suite: Suite,
        recipient: Option<Certificate>,
        reference: KeyReference,
    ) -> Result<Self, SecureError> {
        if suite.data.is_empty() {
            return Err(SecureError::KeyMissing);
        }
        if let Some(recipient) = &recipient {
            wrapping_for(&suite, recipient)?;
        }
        let encryption = Self {
            element,
            extent,
            suite,
            recipient,
            reference,
        };
        match Self::REFERENCES.contains(&reference) {
            true => Ok(encryption),
            false => Err(encryption.failed(format!(
                "expected a reference that needs no token, found `{}`",
                reference.name()
            ))),
        }
    }

    /// The algorithms, of which the first are used.
    pub fn suite(&self) -> &Suite {
        &self.suite
    }

    /// The message with cipher text in the place of the element, or of its content. An answer that
    /// is a fault stays as it is. `requester` is who signed the request that is answered.
    ///
    /// # Errors
    /// [`SecureError::InnerEncryption`] where the message has no such element, several, or cipher
    /// text that a receiver could take for this; [`SecureError::RequestKeyMissing`] where nobody is
    /// known to encrypt to; [`SecureError::RecipientUnfit`], [`SecureError::Crypto`].
    pub fn encrypt(
        &self,
        message: Vec<u8>,
        requester: Option<&Certificate>,
        limits: &Limits,
        buffers: &mut Buffers,
    ) -> Result<Vec<u8>, SecureError> {
        let envelope = Envelope::parse(message, limits, buffers)?;
        let found = self.element.find(&envelope);
        let Some(element) = found.map_err(|problem| self.failed(problem))? else {
            return Ok(envelope.into_bytes(buffers));
        };
        self.refuse_other_cipher_text(&envelope, element)?;
        let source = envelope.document().bytes();
        let place = range(element);
        let replaced = match self.extent {
            Extent::Element => self.sealed(&whole(element, source), requester)?,
            Extent::Content => {
                let content = content(element, source);
                let data = self.sealed(&source[content.clone()], requester)?;
                let end = ["</", element.qualified_name(), ">"].concat();
                match is_self_closing(element, source) {
                    true => {
                        let tag = &source[place.start..place.end - 2];
                        [tag, b">", &data, end.as_bytes()].concat()
                    }
                    false => {
                        let (tag, end) = (place.start..content.start, content.end..place.end);
                        [&source[tag], &data, &source[end]].concat()
                    }
                }
            }
        };
        Ok([&source[..place.start], &replaced, &source[place.end..]].concat())
    }

    /// Refuses what a receiver could take for the cipher text of this element.
    fn refuse_other_cipher_text(
        &self,
        envelope: &Envelope,
        element: Element<'_>,
    ) -> Result<(), SecureError> {
        let problem = match self.extent {
            Extent::Element => {
                let mut others = envelope.body().descendants().filter(is_cipher_text);
                let is_beside = others.any(|other| !element.contains(other));
                is_beside.then_some("the Body has cipher text already, which is not in it")
            }
            Extent::Content => {
                let is_encrypted = element.children().any(|child| is_cipher_text(&child));
                is_encrypted.then_some("its content is cipher text already")
            }
        };
        match problem {
            Some(problem) => Err(self.failed(problem)),
            None => Ok(()),
        }
    }

    /// The `xenc:EncryptedData` of a plaintext.
    fn sealed(
        &self,
        plaintext: &[u8],
        requester: Option<&Certificate>,
    ) -> Result<Vec<u8>, SecureError> {
        let recipient = self.recipient.as_ref().or(requester);
        let recipient = recipient.ok_or(SecureError::RequestKeyMissing)?;
        let method = *self.suite.data.first().ok_or(SecureError::KeyMissing)?;
        let key = SymmetricKey::generate(method.key_length())?;
        let mut key_info = Vec::new();
        write_own_key(&self.suite, &key, recipient, self.reference, &mut key_info)?;
        let cipher_text = cipher::seal(method, &key, plaintext)?;
        let mut data = Vec::new();
        write::begin_encrypted_data(
            &EncryptedDataStart {
                id: None,
                mime_type: None,
                content_type: match self.extent {
                    Extent::Element => &ContentType::Element,
                    Extent::Content => &ContentType::Content,
                },
                method,
                raw_key_info: Some(&key_info),
            },
            &mut data,
        );
        base64::encode_into(&cipher_text, &mut data);
        write::end_encrypted_data(&mut data);
        Ok(data)
    }

    fn failed(&self, problem: impl Into<String>) -> SecureError {
        SecureError::InnerEncryption {
            element: self.element.to_string(),
            problem: problem.into(),
        }
    }
}

/// The source of an element with every namespace that is in scope declared on it: a node that
/// rebuilds the message sees cipher text alone, and may drop what it does not see used.
fn whole(element: Element<'_>, source: &[u8]) -> Vec<u8> {
    let text = &source[range(element)];
    let (name, rest) = text.split_at(1 + element.qualified_name().len());
    let own: Vec<&str> = element.declarations().map(|(prefix, _)| prefix).collect();
    let mut whole = name.to_vec();
    for (prefix, uri) in element.namespaces_in_scope() {
        if prefix == "xml" || own.contains(&prefix) {
            continue;
        }
        let name = match prefix {
            "" => "xmlns".to_owned(),
            prefix => format!("xmlns:{prefix}"),
        };
        write::attribute(&name, uri, &mut whole);
    }
    whole.extend_from_slice(rest);
    whole
}
