//! `signature = { … }` and `encryption = { … }` of the `[security]` table: how messages that leave
//! name either key, and what goes with its name.
//!
//! The one rule: these change what is written. Inbound, every form is understood.

use soapstone_crypto::hexadecimal;
use soapstone_wss::KeyReference;

use super::problem::Located;
use super::quoting::OTHER_TEXT;
use super::table::Table;

/// `signature = { … }`.
#[derive(Clone, Debug, Default)]
pub struct SignatureNaming {
    /// How the certificate that signs is named.
    pub key_reference: Option<Located<KeyReference>>,
    /// Whether tokens are signed through the references to them.
    pub str_transform: Option<Located<bool>>,
}

/// `encryption = { … }`.
#[derive(Clone, Debug, Default)]
pub struct EncryptionNaming {
    /// How the certificate that session keys are wrapped to is named.
    pub key_reference: Option<Located<KeyReference>>,
    /// What ConcatKDF digests behind the secret that was agreed on.
    pub derivation_info: Option<Located<Vec<u8>>>,
}

/// A way to name keys.
pub(super) fn key_reference(table: &mut Table<'_>) -> Option<Located<KeyReference>> {
    let choices = KeyReference::ALL.map(|reference| (reference.name(), reference));
    table.choice("key_reference", &choices)
}

impl SignatureNaming {
    /// Reads the table, if it is there.
    pub(super) fn read(security: &mut Table<'_>) -> Self {
        let Some(mut table) = security.table("signature") else {
            return Self::default();
        };
        let naming = Self {
            key_reference: key_reference(&mut table),
            str_transform: table.boolean("str_transform"),
        };
        table.finish();
        naming
    }
}

impl EncryptionNaming {
    /// Reads the table, if it is there.
    pub(super) fn read(security: &mut Table<'_>) -> Self {
        let Some(mut table) = security.table("encryption") else {
            return Self::default();
        };
        let key_reference = key_reference(&mut table);
        let derivation_info = table.string("derivation_info");
        let derivation_info = derivation_info.and_then(|text| derivation(&table, &text));
        table.finish();
        Self {
            key_reference,
            derivation_info,
        }
    }
}

/// Most bytes of derivation information. Names of algorithms and parties have some dozens.
const LONGEST_INFO: usize = 256;

fn derivation(table: &Table<'_>, text: &Located<String>) -> Option<Located<Vec<u8>>> {
    let value = hexadecimal::decode(&text.value).filter(|octets| octets.len() <= LONGEST_INFO);
    if value.is_none() {
        table.report_with_hint(
            text.place,
            format!(
                "`derivation_info` must be at most {LONGEST_INFO} bytes in hexadecimal, found {OTHER_TEXT}"
            ),
            "derivation_info = \"\" leaves everything empty; \"00\" is what WSS4J writes",
        );
    }
    Some(Located {
        value: value?,
        place: text.place,
    })
}
