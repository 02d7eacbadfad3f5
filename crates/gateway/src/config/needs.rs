//! `needs` and `classes` of a route with several backends: what its requests need of the backend
//! that serves them.
//!
//! The rule kept here: a class adds to what the route needs, and takes nothing away.

use soapstone::config::{Located, OTHER_TEXT, Table};
use soapstone_broker::{Needs, Property};

/// The needs of some senders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClassSpec {
    /// Users and subjects of certificates, as the audit trail names them.
    pub(crate) members: Vec<String>,
    pub(crate) needs: Needs,
}

/// Reads `needs`.
pub(super) fn read_needs(mut table: Table<'_>) -> Needs {
    let security = read_security(&mut table);
    let time = table.duration("time").map(|time| time.value);
    let availability = table.integer("availability", 0, 100);
    table.finish();
    Needs {
        time,
        availability: availability
            .and_then(|share| u8::try_from(share.value).ok())
            .unwrap_or(0),
        ..security
    }
}

/// Reads what is needed of security.
pub(super) fn read_security(table: &mut Table<'_>) -> Needs {
    let names = Property::ALL.map(|property| (property.name(), property));
    let mut properties = table.choices("properties", &names).unwrap_or_default();
    properties.sort_unstable();
    properties.dedup();
    let bits = table.integer("bits", 0, 512).map(|bits| bits.value);
    let texts = |texts: Option<Vec<Located<String>>>| -> Vec<String> {
        let texts = texts.unwrap_or_default().into_iter();
        texts.map(|text| text.value).collect()
    };
    let refused_algorithms = texts(table.strings("refused"));
    let parts = table.strings("encrypted").unwrap_or_default();
    for part in parts.iter().filter(|part| !names_part(&part.value)) {
        let message = format!("`encrypted` holds names of parts, found {OTHER_TEXT}");
        let hint = "\"Body\", or \"{urn:example}name\" of a header block";
        table.report_with_hint(part.place, message, hint);
    }
    Needs {
        properties,
        bits: bits.and_then(|bits| u16::try_from(bits).ok()).unwrap_or(0),
        refused_algorithms,
        encrypted: parts.into_iter().map(|part| part.value).collect(),
        ..Needs::nothing()
    }
}

fn names_part(text: &str) -> bool {
    text == "Body" || text.starts_with('{') && text.contains('}') && !text.ends_with('}')
}

/// Reads `classes`.
pub(super) fn read_classes(tables: Vec<Table<'_>>) -> Vec<ClassSpec> {
    let read = |mut table: Table<'_>| {
        let place = table.place();
        let members = table.strings("members");
        if members.as_ref().is_none_or(Vec::is_empty) {
            let hint = "users and subjects of certificates: members = [\"alice\", \"CN=client\"]";
            table.report_with_hint(place, "a class without `members` is of nobody", hint);
        }
        let needs = table.table("needs").map(read_needs);
        table.finish();
        Some(ClassSpec {
            members: members?.into_iter().map(|member| member.value).collect(),
            needs: needs.unwrap_or_default(),
        })
    };
    tables.into_iter().filter_map(read).collect()
}
