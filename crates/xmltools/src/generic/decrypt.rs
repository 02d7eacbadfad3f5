//! `soapstone xml decrypt`: one encrypted element, opened in its place or as bytes.
//!
//! The one rule: whatever fails after a key was found is the one error of decryption.

use soapstone_crypto::SymmetricKey;

use super::edit::Edits;
use super::error::GenericError;
use super::key::Need;
use super::key_info::Search;
use super::session::Session;
use super::source::Reading;
use soapstone_xmlsec::dsig::Transform;
use soapstone_xmlsec::enc::{CipherData, ContentType, EncryptedData, EncryptionError};
use soapstone_xmlsec::namespaces::{DSIG, XENC};

/// What was decrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decrypted {
    /// The document with the plaintext in place of the encrypted element, or the plaintext alone
    /// when it is not XML by its `Type`.
    pub octets: Vec<u8>,
    /// Whether `octets` is the document.
    pub replaced: bool,
}

/// Decrypts the `xenc:EncryptedData` at the start node of the options, or the first one of the
/// document.
///
/// # Errors
/// [`GenericError::Encryption`] and everything that may be wrong on the way to the key.
pub fn decrypt(document: &[u8], session: &mut Session<'_>) -> Result<Decrypted, GenericError> {
    let source = session.load(document)?;
    let reading = Reading::new(&source);
    let node = reading.start(
        &session.options.start,
        XENC,
        "EncryptedData",
        "`xenc:EncryptedData`",
    )?;
    let encrypted = EncryptedData::parse(&source.document, node)?;
    let key =
        Search::new(session).find(&reading, encrypted.key_info, Need::Data(encrypted.method))?;
    let secret = key.secret().ok_or(GenericError::KeyNotFound)?;
    let plaintext = open(&reading, &encrypted, secret, session)?;
    match encrypted.content_type {
        ContentType::Element | ContentType::Content => {
            let mut edits = Edits::default();
            edits.replace(&source.document, node, plaintext);
            let text = source.written(edits.apply(&source.document));
            // What was decrypted must be XML where it stands; if not, that is a failure like any
            // other.
            session.load(&text).map_err(|_| EncryptionError::Failed)?;
            Ok(Decrypted {
                octets: text,
                replaced: true,
            })
        }
        ContentType::Other(_) | ContentType::Unspecified => Ok(Decrypted {
            octets: plaintext,
            replaced: false,
        }),
    }
}

fn open(
    reading: &Reading<'_>,
    encrypted: &EncryptedData,
    key: &SymmetricKey,
    session: &mut Session<'_>,
) -> Result<Vec<u8>, GenericError> {
    let mut buffer = Vec::new();
    let plaintext = match &encrypted.cipher {
        CipherData::Value(_) => encrypted.decrypt_octets(reading.document(), key, &mut buffer)?,
        CipherData::Reference {
            uri, transforms, ..
        } => {
            session.allow(uri, session.options.cipher_reference_uris)?;
            // XML-Enc 3.3.1: xenc:Transforms holds ds:Transform elements.
            let transforms = match transforms {
                Some(transforms) => reading
                    .document()
                    .element(*transforms)
                    .children()
                    .filter(|child| child.is(DSIG, "Transform"))
                    .take(session.options.transforms)
                    .map(Transform::parse)
                    .collect::<Result<Vec<_>, _>>()?,
                None => Vec::new(),
            };
            buffer = reading.octets(uri, &transforms, None, session)?;
            encrypted.open(key, &mut buffer)?
        }
    };
    buffer.truncate(plaintext.end);
    buffer.drain(..plaintext.start);
    Ok(buffer)
}
