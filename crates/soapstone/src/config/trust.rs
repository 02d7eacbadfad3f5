//! The `[trust]` table: whose certificates are believed.
//!
//! The rule kept here: a table that trusts nobody is a mistake, and so is one whose keys speak of
//! nobody.

use std::time::Duration;

use jiff::SignedDuration;
use soapstone_crypto::SubjectMatch;
use soapstone_crypto::trust::RevocationRules;

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
    /// Who is asked whether certificates were revoked.
    pub revocation: Option<RevocationConfig>,
    /// Smallest RSA modulus accepted.
    pub min_rsa_bits: Option<Located<u64>>,
    /// Whether certificates signed with SHA-1 are accepted.
    pub allow_sha1_certificates: Option<Located<bool>>,
}

/// `[trust.revocation]`: each key that is not there leaves the default of
/// [`RevocationRules`].
#[derive(Clone, Debug, Default)]
pub struct RevocationConfig {
    /// Where the table begins.
    pub place: Place,
    /// Whether the responders that certificates name are asked.
    pub ocsp: Option<Located<bool>>,
    /// Whether the lists that certificates name are fetched.
    pub crl: Option<Located<bool>>,
    /// The responder that is asked in the place of those.
    pub responder: Option<Located<String>>,
    /// Lists that are fetched whatever certificates name.
    pub crl_urls: Vec<Located<String>>,
    /// Whether certificates are believed for which nobody answers.
    pub accept_unanswered: bool,
    /// Whether answers have to repeat the nonce.
    pub must_repeat_nonce: bool,
    /// The oldest answer of a responder that counts.
    pub max_age: Option<Located<Duration>>,
}

/// What happens when nobody answers: whether a certificate is believed then.
const FAILS: &[(&str, bool)] = &[("hard", false), ("soft", true)];

/// Whether an answer has to repeat the nonce.
const NONCES: &[(&str, bool)] = &[("optional", false), ("required", true)];

/// The endings of files with certificates, and of those with revocation lists.
const CERTIFICATE_ENDINGS: &[&str] = &["pem", "crt", "cer", "der"];
const LIST_ENDINGS: &[&str] = &["pem", "crl", "der"];

const SUBJECT_MATCHES: &[(&str, SubjectMatch)] = &[
    ("whole", SubjectMatch::Whole),
    ("contains", SubjectMatch::Contains),
];

fn certificates(table: &mut Table<'_>, key: &'static str) -> Vec<LoadedFile> {
    let files = table.files_or_folders(key, CERTIFICATE_ENDINGS);
    files.unwrap_or_default()
}

/// A URL that can be asked, without a user: addresses are shown in logs.
fn check_url(table: &Table<'_>, key: &str, url: &Located<String>) {
    let rest = url
        .value
        .strip_prefix("http://")
        .or_else(|| url.value.strip_prefix("https://"));
    let is_plain = |rest: &str| {
        let host = rest.split(['/', '?']).next().unwrap_or_default();
        !host.is_empty() && !host.contains('@') && rest.bytes().all(|it| it.is_ascii_graphic())
    };
    if !rest.is_some_and(is_plain) {
        let message = format!("`{key}` must name http or https URLs without a user");
        table.report_with_hint(
            url.place,
            message,
            "for example \"http://pki.example.com/ca\"",
        );
    }
}

impl RevocationConfig {
    /// Reads the table to its end. What is wrong with it is reported.
    pub fn read(mut table: Table<'_>) -> Self {
        let config = Self {
            place: table.place(),
            ocsp: table.boolean("ocsp"),
            crl: table.boolean("crl"),
            responder: table.string("responder"),
            crl_urls: table.strings("crl_urls").unwrap_or_default(),
            accept_unanswered: table.choice("fail", FAILS).is_some_and(|it| it.value),
            must_repeat_nonce: table.choice("nonce", NONCES).is_some_and(|it| it.value),
            max_age: table.duration("max_age"),
        };
        let is_off = |flag: &Option<Located<bool>>| flag.as_ref().is_some_and(|flag| !flag.value);
        if is_off(&config.ocsp) && is_off(&config.crl) && config.crl_urls.is_empty() {
            table.report_with_hint(
                config.place,
                "`revocation` asks nobody",
                "leave `ocsp` or `crl` out, or name lists: crl_urls = [\"http://…\"]",
            );
        }
        if let (Some(responder), true) = (&config.responder, is_off(&config.ocsp)) {
            let message = "`responder` is asked by OCSP, and `ocsp` is false";
            table.report(responder.place, message);
        }
        if let Some(url) = &config.responder {
            check_url(&table, "responder", url);
        }
        for url in &config.crl_urls {
            check_url(&table, "crl_urls", url);
        }
        table.finish();
        config
    }

    /// Whom the table has asked.
    pub fn rules(&self) -> RevocationRules {
        let mut rules = RevocationRules::default();
        if let Some(ocsp) = &self.ocsp {
            rules.ocsp = ocsp.value;
        }
        if let Some(lists) = &self.crl {
            rules.lists = lists.value;
        }
        rules.responder = self.responder.as_ref().map(|url| url.value.clone());
        let urls = self.crl_urls.iter();
        rules.list_urls = urls.map(|url| url.value.clone()).collect();
        rules.accept_unanswered = self.accept_unanswered;
        rules.must_repeat_nonce = self.must_repeat_nonce;
        if let Some(age) = &self.max_age {
            rules.max_age = SignedDuration::try_from(age.value).unwrap_or(SignedDuration::MAX);
        }
        rules
    }
}

/// The certificates of a table, and what is asked of them.
pub(super) fn read_trust_keys(table: &mut Table<'_>) -> TrustConfig {
    TrustConfig {
        place: table.place(),
        anchors: certificates(table, "anchors"),
        pinned: certificates(table, "pinned"),
        subjects: table.strings("subjects").unwrap_or_default(),
        subject_match: table
            .choice("subject_match", SUBJECT_MATCHES)
            .map_or_else(SubjectMatch::default, |chosen| chosen.value),
        extended_key_usage: table.strings("extended_key_usage").unwrap_or_default(),
        crls: table
            .files_or_folders("crls", LIST_ENDINGS)
            .unwrap_or_default(),
        revocation: table.table("revocation").map(RevocationConfig::read),
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
