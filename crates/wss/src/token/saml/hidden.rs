//! An assertion in cipher text of its own: `saml:EncryptedAssertion` (SAML Core 2.0, 2.3.4), or an
//! `xenc:EncryptedData` that holds its key.
//!
//! The one rule: what is read is one element, in one of the two forms.

use soapstone_xml::{Element, NodeId};
use soapstone_xmlsec::enc::{ContentType, EncryptedData, EncryptedKey};

use super::reading::Reader;
use crate::keyed_cipher_text::KeyedCipherText;
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

/// Whether an `xenc:EncryptedData` holds its key, instead of being listed by one of the message.
pub(crate) fn holds_key(data: Element<'_>) -> bool {
    let info = data.child(DS, "KeyInfo");
    info.is_some_and(|info| info.child(XENC, "EncryptedKey").is_some())
}

impl HiddenAssertion {
    /// Reads the cipher text of an assertion. Nothing is deciphered.
    pub(crate) fn read(item: Element<'_>) -> Result<Self, Rejected> {
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
        let cipher_text = KeyedCipherText::read(data, &keys, malformed)?;
        match cipher_text.data.content_type {
            ContentType::Element => Ok(Self {
                item: item.id(),
                data: cipher_text.data,
                key: cipher_text.key,
            }),
            _ => Err(malformed("expected `Type` to say that it is an element")),
        }
    }
}

fn malformed(problem: &str) -> Rejected {
    Rejected::Malformed {
        element: "saml:EncryptedAssertion",
        problem: problem.to_owned(),
    }
}
