//! The `[trust]` table: whose certificates are believed.
//!
//! The rule kept here: a table that trusts nobody is a mistake, and so is one whose keys speak of
//! nobody.

use soapstone_crypto::SubjectMatch;

use super::document::LoadedFile;
use super::problem::{Located, Place};
use super::table::Table;

/// `[trust]`.
#[derive(Clone, Debug, Default)]
pub struct TrustConfig {
    /// Where the table begins.
    pub place: Place,
    /// Certificates to which a path must lead.
    pub anchors: Vec<LoadedFile>,
    /// Certificates accepted as they are.
    pub pinned: Vec<LoadedFile>,
    /// Subjects that may sign; empty means any trusted one.
    pub subjects: Vec<Located<String>>,
    /// When a subject matches one of `subjects`.
    pub subject_match: SubjectMatch,
    /// Purposes one of which a certificate must name.
    pub extended_key_usage: Vec<Located<String>>,
    /// Revocation lists.
    pub crls: Vec<LoadedFile>,
    /// Smallest RSA modulus accepted.
    pub min_rsa_bits: Option<Located<u64>>,
    /// Whether certificates signed with SHA-1 are accepted.
    pub allow_sha1_certificates: Option<Located<bool>>,
}

const SUBJECT_MATCHES: &[(&str, SubjectMatch)] = &[
    ("whole", SubjectMatch::Whole),
    ("contains", SubjectMatch::Contains),
];

/// The certificates of a table, and what is asked of them.
pub(super) fn read_trust_keys(table: &mut Table<'_>) -> TrustConfig {
    TrustConfig {
        place: table.place(),
        anchors: table.files("anchors").unwrap_or_default(),
        pinned: table.files("pinned").unwrap_or_default(),
        subjects: table.strings("subjects").unwrap_or_default(),
        subject_match: table
            .choice("subject_match", SUBJECT_MATCHES)
            .map_or_else(SubjectMatch::default, |chosen| chosen.value),
        extended_key_usage: table.strings("extended_key_usage").unwrap_or_default(),
        crls: table.files("crls").unwrap_or_default(),
        min_rsa_bits: table.integer("min_rsa_bits", 512, 16_384),
        allow_sha1_certificates: table.boolean("allow_sha1_certificates"),
    }
}

pub(super) fn read_trust(mut table: Table<'_>) -> TrustConfig {
    let trust = read_trust_keys(&mut table);
    let named = |key| table.has(key) && !table.is_empty_list(key);
    let trust_nobody = !named("anchors") && !named("pinned");
    if !table.has("anchors") && !table.has("pinned") {
        table.missing(
            "anchors",
            "say whom to trust: anchors = [\"ca.pem\"], or pinned = [\"partner.pem\"]",
        );
    } else if trust_nobody {
        table.report_with_hint(
            trust.place,
            "`anchors` and `pinned` name nobody",
            "say whom to trust: anchors = [\"ca.pem\"], or pinned = [\"partner.pem\"]",
        );
    }
    if table.is_empty_list("subjects") {
        table.report_with_hint(
            trust.place,
            "`subjects` names nobody",
            "leave it out where whoever is trusted may sign",
        );
    } else if trust.subjects.is_empty() && table.has("subject_match") {
        table.report_with_hint(
            table.place_of("subject_match").unwrap_or(trust.place),
            "`subject_match` without `subjects`",
            "say who may sign: subjects = [\"CN=client,O=Example\"]",
        );
    }
    if table.is_empty_list("extended_key_usage") {
        table.report_with_hint(
            trust.place,
            "`extended_key_usage` names no purpose",
            "leave it out where none is asked for",
        );
    }
    table.finish();
    trust
}
