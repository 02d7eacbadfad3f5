//! An `xenc:EncryptedData` that has its key with it: an `xenc:EncryptedKey` in its `ds:KeyInfo`, or
//! beside it.
//!
//! The one rule: there is one key, and everything that says which one says this one. A receiver
//! that chooses among several lets the sender choose what is read.

use soapstone_xml::{Element, NodeId};
use soapstone_xmlsec::enc::{EncryptedData, EncryptedKey};
use soapstone_xmlsec::keyinfo::{KeySource, sources};

use crate::rejected::Rejected;

/// Cipher text and the key that it was enciphered with, for its receiver.
pub(crate) struct KeyedCipherText {
    /// The cipher text.
    pub(crate) data: EncryptedData,
    /// Its key.
    pub(crate) key: EncryptedKey,
}

/// Most children of the `ds:KeyInfo`.
const MOST_SOURCES: usize = 4;

const KEY_TYPE: &str = "http://www.w3.org/2001/04/xmlenc#EncryptedKey";

impl KeyedCipherText {
    /// Reads an `xenc:EncryptedData`. Nothing is deciphered. `beside` are the keys that stand
    /// beside it; `malformed` says what is wrong with it.
    pub(crate) fn read(
        data: Element<'_>,
        beside: &[NodeId],
        malformed: impl Fn(&str) -> Rejected,
    ) -> Result<Self, Rejected> {
        let document = data.document();
        let data = EncryptedData::parse(document, data.id())?;
        let info = data.key_info.map(|info| document.element(info));
        let found = info.map(|info| sources(info, MOST_SOURCES)).transpose();
        let found = found.map_err(|error| malformed(&error.to_string()))?;
        let mut keys = beside.to_vec();
        let (mut names, mut places) = (Vec::new(), Vec::new());
        for source in found.unwrap_or_default() {
            match source {
                KeySource::EncryptedKey(key) => keys.push(key),
                KeySource::KeyName(name) => names.push(name),
                KeySource::RetrievalMethod { node, uri, kind }
                    if document.element(node).first_child().is_none()
                        && kind.as_deref().is_none_or(|kind| kind == KEY_TYPE) =>
                {
                    places.push(uri);
                }
                _ => return Err(malformed("expected an `EncryptedKey` in its `KeyInfo`")),
            }
        }
        let [key] = keys[..] else {
            return Err(malformed("expected one `EncryptedKey`"));
        };
        let key = EncryptedKey::parse(document, key, 1)?;
        let refers = |uri: &String, id: &Option<String>| {
            let id = id.as_deref();
            uri.strip_prefix('#') == id && id.is_some()
        };
        let is_this = names
            .iter()
            .all(|it| key.carried_key_name.as_ref() == Some(it))
            && places.iter().all(|uri| refers(uri, &key.id))
            && key.data_references.iter().all(|uri| refers(uri, &data.id))
            && key.key_references.is_empty();
        match is_this {
            true => Ok(Self { data, key }),
            false => Err(malformed(
                "expected its key and its cipher text to name each other",
            )),
        }
    }
}
