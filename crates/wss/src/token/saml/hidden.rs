//! An assertion in cipher text of its own: `saml:EncryptedAssertion` (SAML Core 2.0, 2.3.4), or an
//! `xenc:EncryptedData` that holds its key.
//!
//! The one rule: there is one key, and everything that says which one says this one. A receiver
//! that chooses among several lets the sender choose what is read.

use soapstone_xml::{Element, NodeId};
use soapstone_xmlsec::enc::{ContentType, EncryptedData, EncryptedKey};
use soapstone_xmlsec::keyinfo::{KeySource, sources};

use super::reading::Reader;
use crate::names::{DS, SAML20, XENC};
use crate::rejected::Rejected;

/// An assertion in cipher text of its own.
pub(crate) struct HiddenAssertion {
    /// The item of the header.
    pub(crate) item: NodeId,
    /// The cipher text.
    pub(crate) data: EncryptedData,
    /// The key of the cipher text, for its receiver.
    pub(crate) key: EncryptedKey,
}

/// Most children of the `ds:KeyInfo`.
const MOST_SOURCES: usize = 4;

const KEY_TYPE: &str = "http://www.w3.org/2001/04/xmlenc#EncryptedKey";

/// Whether an `xenc:EncryptedData` holds its key, instead of being listed by one of the message.
pub(crate) fn holds_key(data: Element<'_>) -> bool {
    let info = data.child(DS, "KeyInfo");
    info.is_some_and(|info| info.child(XENC, "EncryptedKey").is_some())
}

impl HiddenAssertion {
    /// Reads the cipher text of an assertion. Nothing is deciphered.
    pub(crate) fn read(item: Element<'_>) -> Result<Self, Rejected> {
        let document = item.document();
        let mut keys = Vec::new();
        let data = match item.is(SAML20, "EncryptedAssertion") {
            true => {
                let mut children = Reader::of(item, &[])?.children();
                let data = children.required(XENC, "EncryptedData")?;
                keys.extend(children.optional(XENC, "EncryptedKey").map(|key| key.id()));
                children.end()?;
                data
            }
            false => item,
        };
        let data = EncryptedData::parse(document, data.id())?;
        if data.content_type != ContentType::Element {
            return Err(malformed("expected `Type` to say that it is an element"));
        }
        let info = data.key_info.map(|info| document.element(info));
        let found = info.map(|info| sources(info, MOST_SOURCES)).transpose();
        let found = found.map_err(|error| malformed(&error.to_string()))?;
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
            true => Ok(Self {
                item: item.id(),
                data,
                key,
            }),
            false => Err(malformed(
                "expected its key and its cipher text to name each other",
            )),
        }
    }
}

fn malformed(problem: &str) -> Rejected {
    Rejected::Malformed {
        element: "saml:EncryptedAssertion",
        problem: problem.to_owned(),
    }
}
