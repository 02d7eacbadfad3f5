//! `wst:Entropy` and `wst:BinarySecret` (WS-Trust 1.4, 3.3 and 4.1): one side's part of a key, or a
//! key.
//!
//! The one rule: what is read here goes into a [`SecretBytes`] at once, and no error quotes it.

use soapstone_crypto::{KeyTransport, PrivateKey, SecretBytes, base64};
use soapstone_wss::names::XENC;
use soapstone_xml::Element;
use soapstone_xmlsec::enc::{EncryptedKey, KeyEncryption};
use soapstone_xmlsec::write::{EncryptedKeyParts, encrypted_key};

use super::read::{MessageError, only_child};
use super::write::Writer;
use crate::version::{SecretType, TrustVersion};

/// Longest secret that is read, bytes: twice the longest key.
pub(crate) const LONGEST_SECRET: usize = 128;

/// Longest enciphered secret, bytes: RSA of 16,384 bits.
const LONGEST_CIPHER: usize = 2048;

/// What is inside `wst:Entropy`, or stands for a key in `wst:RequestedProofToken`.
#[derive(Debug)]
pub enum Entropy {
    /// `wst:BinarySecret`: readable by whoever can read the message.
    Secret {
        /// `@Type`; `None` if it is left out.
        kind: Option<SecretType>,
        /// The bytes, 1 to 128.
        octets: SecretBytes,
    },
    /// `xenc:EncryptedKey`: readable by one. Whose key it takes, both sides know.
    Encrypted {
        /// How it was enciphered.
        method: KeyEncryption,
        /// The enciphered bytes.
        cipher_value: Vec<u8>,
    },
}

impl Entropy {
    /// Fresh random bytes, to be sent as a nonce.
    #[must_use]
    pub fn nonce(octets: usize) -> Self {
        Self::Secret {
            kind: Some(SecretType::Nonce),
            octets: SecretBytes::random(octets.clamp(1, LONGEST_SECRET)),
        }
    }

    /// The bytes. `key` opens an encrypted one; `None` for every reason for which there are none,
    /// on purpose not told apart.
    ///
    /// RSA 1.5 is never taken: its padding could be made to answer questions here, and nobody needs
    /// it for entropy.
    #[must_use]
    pub fn open(&self, key: Option<&PrivateKey>) -> Option<SecretBytes> {
        let opened = match self {
            Self::Secret { octets, .. } => octets.duplicate(),
            Self::Encrypted {
                method: KeyEncryption::Transport { algorithm, oaep },
                cipher_value,
            } => {
                // `rsa-oaep-mgf1p` with another mask function is what XML-Enc 1.1 calls `rsa-oaep`.
                let algorithm = match algorithm {
                    KeyTransport::Rsa15 => return None,
                    _ => KeyTransport::RsaOaep,
                };
                key?.unwrap(algorithm, oaep, cipher_value, None).ok()?
            }
            Self::Encrypted { .. } => return None,
        };
        (1..=LONGEST_SECRET)
            .contains(&opened.len())
            .then_some(opened)
    }

    /// Reads the one child of `wst:Entropy`.
    pub(crate) fn read(entropy: Element<'_>, version: TrustVersion) -> Result<Self, MessageError> {
        let child = only_child(entropy, "one `wst:BinarySecret` or `xenc:EncryptedKey`")?;
        Self::read_secret(child, version)
    }

    /// Reads a `wst:BinarySecret` or an `xenc:EncryptedKey`.
    pub(crate) fn read_secret(
        element: Element<'_>,
        version: TrustVersion,
    ) -> Result<Self, MessageError> {
        if element.is(XENC, "EncryptedKey") {
            let key = EncryptedKey::parse(element.document(), element.id(), 0)
                .ok()
                .filter(|key| key.cipher_value.len() <= LONGEST_CIPHER);
            let expected = "an encrypted key of a known algorithm";
            return match key {
                Some(key) => Ok(Self::Encrypted {
                    method: key.method,
                    cipher_value: key.cipher_value,
                }),
                None => Err(MessageError::value(element, expected, None)),
            };
        }
        if !element.is(version.namespace(), "BinarySecret") {
            let expected = "`wst:BinarySecret` or `xenc:EncryptedKey`";
            return Err(MessageError::unexpected(expected, element));
        }
        let kind = match element.attribute("", "Type") {
            None => None,
            Some(uri) => {
                let expected = "the type `SymmetricKey` or `Nonce`";
                let kind = SecretType::from_uri(version, uri.trim());
                Some(kind.ok_or_else(|| MessageError::value(element, expected, None))?)
            }
        };
        let octets = secret(element)
            .filter(|octets| (1..=LONGEST_SECRET).contains(&octets.len()))
            .ok_or_else(|| {
                MessageError::value(element, "1 to 128 bytes of base64 and nothing else", None)
            })?;
        Ok(Self::Secret { kind, octets })
    }

    pub(crate) fn write(&self, version: TrustVersion, writer: &mut Writer<'_>) {
        match self {
            Self::Secret { kind, octets } => {
                let uri = kind.map(|kind| kind.uri(version));
                let attribute = uri.as_deref().map(|uri| ("Type", uri));
                writer.element("wst:BinarySecret", None, attribute.as_slice(), |writer| {
                    writer.base64(octets.expose());
                });
            }
            Self::Encrypted {
                method,
                cipher_value,
            } => encrypted_key(
                &EncryptedKeyParts {
                    id: None,
                    recipient: None,
                    method,
                    implied_oaep_digest: false,
                    raw_key_info: None,
                    cipher_value,
                    data_references: &[],
                    carried_key_name: None,
                },
                writer.out(),
            ),
        }
    }
}

fn secret(element: Element<'_>) -> Option<SecretBytes> {
    let text = SecretBytes::copy_of(element.text_strict()?.as_bytes());
    if text.len() > 8 * LONGEST_SECRET {
        return None;
    }
    let mut octets = SecretBytes::new(Vec::with_capacity(2 * LONGEST_SECRET));
    base64::decode_xml(text.expose(), octets.expose_mut()).ok()?;
    Some(octets)
}
