//! `signature = { … }` and `encryption = { … }` of the `[security]` table: how messages that leave
//! name either key, and the form of what it makes.
//!
//! The one rule: these change what is written. Inbound, every form is understood.

use soapstone_crypto::hexadecimal;
use soapstone_wss::{InclusivePrefixes, KeyReference};

use super::problem::Located;
use super::quoting::OTHER_TEXT;
use super::table::{FlagOrStrings, Table};

/// `signature = { … }`.
#[derive(Clone, Debug, Default)]
pub struct SignatureNaming {
    /// How the certificate that signs is named.
    pub key_reference: Option<Located<KeyReference>>,
    /// Whether tokens are signed through the references to them.
    pub str_transform: Option<Located<bool>>,
    /// The prefixes that signatures list.
    pub inclusive_prefixes: Option<Located<InclusivePrefixes>>,
}

/// `encryption = { … }`.
#[derive(Clone, Debug, Default)]
pub struct EncryptionNaming {
    /// How the certificate that session keys are wrapped to is named.
    pub key_reference: Option<Located<KeyReference>>,
    /// What ConcatKDF digests behind the secret that was agreed on.
    pub derivation_info: Option<Located<Vec<u8>>>,
    /// Whether SHA-1 of OAEP is left out, as the default that it is.
    pub implied_digest: Option<Located<bool>>,
    /// Whether cipher text of header blocks is in a `wsse11:EncryptedHeader`.
    pub encrypted_header: Option<Located<bool>>,
    /// Whether signatures cover the session key of short cipher text.
    pub sign_session_key: Option<Located<bool>>,
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
            inclusive_prefixes: inclusive_prefixes(&mut table),
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
        let implied_digest = table.boolean("implied_digest");
        let encrypted_header = table.boolean("encrypted_header");
        let sign_session_key = table.boolean("sign_session_key");
        table.finish();
        Self {
            key_reference,
            derivation_info,
            implied_digest,
            encrypted_header,
            sign_session_key,
        }
    }
}

/// The prefixes that signatures list: those in scope, none, or those that are named.
fn inclusive_prefixes(table: &mut Table<'_>) -> Option<Located<InclusivePrefixes>> {
    let given = table.flag_or_strings("inclusive_prefixes", "[\"soap\"]")?;
    let place = given.place;
    let at_place = |value| Some(Located { value, place });
    let named = match given.value {
        FlagOrStrings::Flag(true) => return at_place(InclusivePrefixes::InScope),
        FlagOrStrings::Flag(false) => return at_place(InclusivePrefixes::Nothing),
        FlagOrStrings::Strings(named) => named,
    };
    if named.is_empty() {
        table.report_with_hint(
            place,
            "`inclusive_prefixes` names no prefix",
            "say true for those in scope, or false for none",
        );
    }
    for word in named.iter().filter(|word| !is_prefix(&word.value)) {
        table.report_with_hint(
            word.place,
            format!("`inclusive_prefixes` must name prefixes, found {OTHER_TEXT}"),
            "a prefix stands without its colon; \"#default\" is the default namespace",
        );
    }
    let named = named.into_iter().map(|word| word.value);
    at_place(InclusivePrefixes::Listed(named.collect()))
}

/// Whether a word can stand in a `PrefixList` (Exclusive XML Canonicalization 1.0, 3).
fn is_prefix(word: &str) -> bool {
    let begins = |first: char| first.is_alphabetic() || first == '_';
    let goes_on = |one: char| one.is_alphanumeric() || "-._".contains(one);
    word == "#default" || word.starts_with(begins) && word.chars().all(goes_on)
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
