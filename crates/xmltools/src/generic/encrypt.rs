//! `soapstone xml encrypt`: fills in an encryption template.
//!
//! The one rule: the template says how; a key is used only for the algorithm that the template
//! names.

use soapstone_crypto::{SymmetricKey, cipher};
use soapstone_xml::NodeId;

use super::edit::{Edits, content_range, element_range};
use super::error::GenericError;
use super::key::{Key, Material, Need, SecretKind};
use super::key_info::Search;
use super::session::Session;
use super::source::{Reading, Source};
use super::template::{base64_lines, fill_key_info};
use soapstone_xmlsec::enc::{CipherData, ContentType, EncryptedData, KeyEncryption};
use soapstone_xmlsec::namespaces::{DSIG, XENC};
use soapstone_xmlsec::structure::Children;

/// What is encrypted.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum PlainData<'a> {
    /// Bytes (`--binary-data`): the result is the filled template.
    Octets(&'a [u8]),
    /// An element of a document, or its content, by the template's `Type` (`--xml-data`): the
    /// result is the document, with the filled template in its place. Which element is said by
    /// [`Options::start`](super::Options::start); without it, the root.
    Xml(&'a [u8]),
}

/// A key to make for this one encryption (`--session-key`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionKey {
    kind: SecretKind,
    octets: usize,
}

impl SessionKey {
    /// Reads `aes-128`, `aes-192`, `aes-256`, `des-192`, or `hmac-` and a number of bits.
    ///
    /// # Errors
    /// [`GenericError::Template`] for anything else.
    pub fn parse(text: &str) -> Result<Self, GenericError> {
        let unknown = GenericError::Template {
            reason: "a session key is `aes-128`, `aes-192`, `aes-256`, `des-192` or `hmac-BITS`",
        };
        let (kind, bits) = text.split_once('-').ok_or(unknown.clone())?;
        let bits: usize = bits.parse().map_err(|_| unknown.clone())?;
        let kind = match (kind, bits) {
            ("aes", 128 | 192 | 256) => SecretKind::Aes,
            ("des", 192) => SecretKind::TripleDes,
            ("hmac", 8..=4096) if bits.is_multiple_of(8) => SecretKind::Hmac,
            _ => return Err(unknown),
        };
        Ok(Self {
            kind,
            octets: bits / 8,
        })
    }
}

/// Encrypts `data` as `template` says and returns the document that holds the result.
///
/// Where the template has an `xenc:EncryptedKey`, a key is made (of the kind of `session_key`, or
/// as the algorithm needs) and encrypted in it; otherwise `ds:KeyInfo` leads to the key as in
/// decryption.
///
/// # Errors
/// [`GenericError::Encryption`] for templates that are none, [`GenericError::KeyNotFound`],
/// [`GenericError::Template`].
pub fn encrypt(
    template: &[u8],
    data: PlainData<'_>,
    session_key: Option<SessionKey>,
    session: &mut Session<'_>,
) -> Result<Vec<u8>, GenericError> {
    let source = session.load(template)?;
    let reading = Reading::new(&source);
    let node = source
        .document
        .root()
        .descendants()
        .find(|element| element.is(XENC, "EncryptedData"));
    let node = node
        .ok_or(GenericError::NoStartNode {
            expected: "`xenc:EncryptedData` in the template",
        })?
        .id();
    let encrypted = EncryptedData::parse(&source.document, node)?;
    let CipherData::Value(value) = encrypted.cipher else {
        return Err(GenericError::Template {
            reason: "`xenc:CipherValue` is needed to hold the result",
        });
    };
    let need = Need::Data(encrypted.method);

    let mut edits = Edits::default();
    let encrypted_keys: Vec<NodeId> = match encrypted.key_info {
        Some(key_info) => {
            let children = source.document.element(key_info).children();
            children
                .filter(|child| child.is(XENC, "EncryptedKey"))
                .map(|child| child.id())
                .collect()
        }
        None => Vec::new(),
    };
    let key = if session_key.is_some() || !encrypted_keys.is_empty() {
        let made = match session_key {
            Some(SessionKey { kind, octets }) => Key::new(
                None,
                Material::Secret(kind, SymmetricKey::generate(octets)?),
            ),
            None => Key::new(
                None,
                Material::Secret(
                    SecretKind::Aes,
                    SymmetricKey::generate(encrypted.method.key_length())?,
                ),
            ),
        };
        let fits = made
            .secret()
            .is_some_and(|secret| secret.len() == encrypted.method.key_length());
        if !fits {
            return Err(GenericError::Template {
                reason: "the session key is not of the length that the algorithm needs",
            });
        }
        made
    } else {
        Search::originating(session).find_for_template(&reading, encrypted.key_info, need)?
    };
    let secret = key.secret().ok_or(GenericError::KeyNotFound)?;
    for encrypted_key in encrypted_keys {
        fill_encrypted_key(&reading, encrypted_key, secret, session, &mut edits)?;
    }
    if let Some(key_info) = encrypted.key_info {
        fill_key_info(
            &source.document,
            key_info,
            &key,
            session.options.base64_line,
            &mut edits,
        )?;
    }

    let ciphertext = |plaintext: &[u8]| -> Result<Vec<u8>, GenericError> {
        Ok(base64_lines(
            &cipher::seal(encrypted.method, secret, plaintext)?,
            session.options.base64_line,
        ))
    };
    match data {
        PlainData::Octets(octets) => {
            edits.replace_content(&source.document, value, &ciphertext(octets)?);
            let text = edits.apply(&source.document);
            Ok(source.written(text))
        }
        PlainData::Xml(octets) => {
            let data = Source::load(octets, session.options, &mut |_| None)?;
            let target = Reading::new(&data)
                .start_element(&session.options.start, "such element")?
                .id();
            let range = match encrypted.content_type {
                ContentType::Element => element_range(&data.document, target),
                ContentType::Content => content_range(&data.document, target),
                ContentType::Other(_) | ContentType::Unspecified => {
                    return Err(GenericError::Template {
                        reason: "`Type` must be `xenc:Element` or `xenc:Content` to encrypt XML",
                    });
                }
            };
            edits.replace_content(
                &source.document,
                value,
                &ciphertext(&data.document.bytes()[range.clone()])?,
            );
            let filled = session.load(&edits.apply(&source.document))?;
            let markup = encrypted_data_markup(&filled)?;
            let mut replaced = Edits::default();
            match encrypted.content_type {
                ContentType::Content => replaced.replace_content(&data.document, target, &markup),
                _ => replaced.replace_range(range, markup),
            }
            let text = replaced.apply(&data.document);
            Ok(data.written(text))
        }
    }
}

/// The text of the `xenc:EncryptedData`, with the namespaces in scope declared on it where the
/// template declares them further out.
fn encrypted_data_markup(filled: &Source) -> Result<Vec<u8>, GenericError> {
    let found = filled
        .document
        .root()
        .descendants()
        .find(|element| element.is(XENC, "EncryptedData"));
    let element = found.ok_or(GenericError::NoStartNode {
        expected: "`xenc:EncryptedData` in the template",
    })?;
    let text = &filled.document.bytes()[element_range(&filled.document, element.id())];
    let own: Vec<&str> = element.declarations().map(|(prefix, _)| prefix).collect();
    let name = element.qualified_name().len() + 1;
    let mut markup = text[..name].to_vec();
    for (prefix, uri) in element.namespaces_in_scope() {
        if !own.contains(&prefix) {
            let name = if prefix.is_empty() {
                "xmlns".to_owned()
            } else {
                format!("xmlns:{prefix}")
            };
            soapstone_xmlsec::write::attribute(&name, uri, &mut markup);
        }
    }
    markup.extend_from_slice(&text[name..]);
    Ok(markup)
}

/// Encrypts `secret` in an `xenc:EncryptedKey` of the template.
fn fill_encrypted_key(
    reading: &Reading<'_>,
    node: NodeId,
    secret: &SymmetricKey,
    session: &mut Session<'_>,
    edits: &mut Edits,
) -> Result<(), GenericError> {
    let document = reading.document();
    let mut children = Children::of(document.element(node));
    let no_method = GenericError::Template {
        reason: "`xenc:EncryptedKey` without `xenc:EncryptionMethod`",
    };
    let method = KeyEncryption::parse(
        children
            .optional(XENC, "EncryptionMethod")
            .ok_or(no_method)?,
    )?;
    let key_info = children
        .optional(DSIG, "KeyInfo")
        .map(|key_info| key_info.id());
    let value = children
        .optional(XENC, "CipherData")
        .and_then(|data| data.child(XENC, "CipherValue"));
    let value = value.ok_or(GenericError::Template {
        reason: "`xenc:EncryptedKey` without `xenc:CipherValue`",
    })?;

    let need = match &method {
        KeyEncryption::Transport { .. } => Need::TransportTo,
        KeyEncryption::Wrap(algorithm) => Need::Wrap(*algorithm),
        KeyEncryption::Data(algorithm) => Need::Data(*algorithm),
    };
    let key = Search::originating(session).find_for_template(reading, key_info, need)?;
    let wrapped = match (&method, key.public_key(), key.secret()) {
        (KeyEncryption::Transport { algorithm, oaep }, Some(public), _) => {
            public.wrap(*algorithm, oaep, secret.expose())?
        }
        (KeyEncryption::Wrap(algorithm), _, Some(wrapping)) => {
            wrapping.wrap(*algorithm, secret.expose())?
        }
        (KeyEncryption::Data(algorithm), _, Some(wrapping)) => {
            cipher::seal(*algorithm, wrapping, secret.expose())?
        }
        _ => return Err(GenericError::KeyNotFound),
    };
    edits.replace_content(
        document,
        value.id(),
        &base64_lines(&wrapped, session.options.base64_line),
    );
    if let Some(key_info) = key_info {
        fill_key_info(document, key_info, &key, session.options.base64_line, edits)?;
    }
    Ok(())
}
