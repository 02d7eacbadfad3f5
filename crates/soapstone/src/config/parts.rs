//! `signed`, `encrypted` and `unsigned`: the parts of messages that are named.
//!
//! The rule kept here: a part is named once, and by a name that can be found in a message.

use soapstone_wss::{EncryptedPart, Extent, Part};

use super::problem::{Located, Place};
use super::quoting::slip;
use super::table::Table;

/// `signed`: the parts that a signature covers.
pub(super) fn read_signed(table: &mut Table<'_>) -> Option<Vec<Located<Part>>> {
    let signed = table.strings("signed").map(|names| {
        names
            .into_iter()
            .filter_map(|name| read_part(table, "signed", &name.value, name.place))
            .collect()
    });
    if table.is_empty_list("signed") {
        let place = table.place_of("signed").unwrap_or(table.place());
        table.report_with_hint(
            place,
            "`signed` names no part: a signature would prove nothing of a message",
            "leave it out for Body and Timestamp, or take a mechanism that signs nothing",
        );
    }
    signed
}

/// `encrypted`: the parts that are encrypted.
pub(super) fn read_encrypted(table: &mut Table<'_>) -> Option<Vec<Located<EncryptedPart>>> {
    table.strings("encrypted").map(|names| {
        names
            .into_iter()
            .filter_map(|name| read_encrypted_part(table, name))
            .collect()
    })
}

/// `unsigned`: header blocks that are passed on although nothing proves them.
pub(super) fn read_unsigned(table: &mut Table<'_>) -> Vec<Located<Part>> {
    let names = table.strings("unsigned").unwrap_or_default();
    let mut parts = Vec::with_capacity(names.len());
    for name in names {
        match read_part(table, "unsigned", &name.value, name.place) {
            Some(part) if matches!(part.value, Part::Header { .. }) => parts.push(part),
            Some(_) => table.report_with_hint(
                name.place,
                "`unsigned` must name header blocks, found another part",
                "a header block is {namespace}name",
            ),
            None => {}
        }
    }
    parts
}

fn read_encrypted_part(table: &Table<'_>, name: Located<String>) -> Option<Located<EncryptedPart>> {
    let (extent, rest) = match name.value.split_once(':') {
        Some(("content", rest)) => (Some(Extent::Content), rest),
        Some(("element", rest)) => (Some(Extent::Element), rest),
        _ => (None, name.value.as_str()),
    };
    let part = read_part(table, "encrypted", rest, name.place)?;
    Some(part.map(|part| {
        let customary = EncryptedPart::customary(part);
        EncryptedPart {
            extent: extent.unwrap_or(customary.extent),
            ..customary
        }
    }))
}

/// Parts that have a name of their own.
const NAMED_PARTS: [&str; 6] = [
    "Body",
    "Timestamp",
    "Signature",
    "UsernameToken",
    "Assertion",
    "Token",
];

fn read_part(table: &Table<'_>, key: &str, text: &str, place: Place) -> Option<Located<Part>> {
    match text.parse::<Part>() {
        Ok(value) => Some(Located { value, place }),
        Err(_) => {
            let (found, _) = slip(text, NAMED_PARTS.into_iter());
            table.report_with_hint(
                place,
                format!("`{key}` must name parts of the envelope, found {found}"),
                "a part is Body, Timestamp, Signature, UsernameToken, Assertion, Token, {namespace}header or #id",
            );
            None
        }
    }
}
