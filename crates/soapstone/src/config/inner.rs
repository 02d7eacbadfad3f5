//! The `[inner]` table: an element of the Body that is signed by itself.
//!
//! The rule kept here: where the table names no keys of its own, those of the endpoint sign and are
//! believed. It says nothing of how the message around the element is protected.

use soapstone_wss::{InnerElement, InnerKeyInfo};

use super::identity::{IdentityConfig, read_identity};
use super::policy_choice::expanded;
use super::problem::{Located, Place};
use super::quoting::OTHER_TEXT;
use super::table::Table;
use super::trust::{TrustConfig, read_trust};

/// The `[inner]` table.
#[derive(Clone, Debug)]
pub struct InnerConfig {
    /// Where the table begins.
    pub place: Place,
    /// The element of requests.
    pub requests: Option<Located<InnerElement>>,
    /// The element of answers.
    pub answers: Option<Located<InnerElement>>,
    /// Local name of the attribute that the element's id is in.
    pub id: &'static str,
    /// What names the key.
    pub key_info: InnerKeyInfo,
    /// Signature algorithms: the first one signs, all are accepted.
    pub signature_algorithms: Vec<Located<String>>,
    /// Digest algorithms: the first one digests, all are accepted.
    pub digest_algorithms: Vec<Located<String>>,
    /// The key that signs, where it is not the endpoint's.
    pub identity: Option<IdentityConfig>,
    /// Whom to believe, where it is not whom messages are believed of.
    pub trust: Option<TrustConfig>,
}

const IDS: [(&str, &str); 3] = [("Id", "Id"), ("ID", "ID"), ("id", "id")];

const KEY_INFOS: [(&str, InnerKeyInfo); 3] = [
    ("certificate", InnerKeyInfo::Certificate),
    ("certificate-and-issuer", InnerKeyInfo::CertificateAndIssuer),
    ("chain", InnerKeyInfo::Chain),
];

/// Reads the table to its end.
pub(super) fn read(mut table: Table<'_>) -> InnerConfig {
    let place = table.place();
    let encoded = table.boolean("base64").is_some_and(|it| it.value);
    let requests = read_element(&mut table, "requests", encoded);
    let answers = read_element(&mut table, "answers", encoded);
    if !table.has("requests") && !table.has("answers") {
        table.missing(
            "requests",
            "name the element of requests, of answers, or both: requests = \"{urn:example}Order\"",
        );
    }
    let id = table.choice("id", &IDS);
    if let (Some(id), true) = (&id, encoded) {
        table.report_with_hint(
            id.place,
            "`id` is given, and a document in base64 is signed as a whole",
            "leave it out",
        );
    }
    let config = InnerConfig {
        place,
        requests,
        answers,
        id: id.map_or("Id", |id| id.value),
        key_info: table
            .choice("key_info", &KEY_INFOS)
            .map_or(InnerKeyInfo::Certificate, |it| it.value),
        signature_algorithms: table.strings("signature_algorithms").unwrap_or_default(),
        digest_algorithms: table.strings("digest_algorithms").unwrap_or_default(),
        identity: table.table("identity").and_then(read_identity),
        trust: table.table("trust").map(read_trust),
    };
    table.finish();
    config
}

fn read_element(
    table: &mut Table<'_>,
    key: &'static str,
    encoded: bool,
) -> Option<Located<InnerElement>> {
    let given = table.string(key)?;
    let Some((namespace, local)) = expanded(&given.value) else {
        table.report_with_hint(
            given.place,
            format!("`{key}` must name an element of the Body, found {OTHER_TEXT}"),
            "an element is {namespace}local, for example {urn:example}Order",
        );
        return None;
    };
    Some(Located {
        value: InnerElement {
            namespace,
            local,
            encoded,
            of_answers: key == "answers",
        },
        place: given.place,
    })
}
