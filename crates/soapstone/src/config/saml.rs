//! The `[saml]` table: which assertions are accepted, and which one is sent.
//!
//! The rule kept here: an issuer is named together with its own certificates. Whose messages are
//! trusted says nothing of whose assertions are.

use std::time::Duration;

use soapstone_wss::{AssertionProtection, ConfirmationMethod, ConfirmationPart, SamlVersion};

use super::by_reference::{self, ByReferenceConfig, SendByReferenceConfig};
use super::confidential::Confidential;
use super::document::LoadedFile;
use super::problem::{Located, Place};
use super::table::Table;
use super::trust::{TrustConfig, read_trust_keys};

/// `[saml]`.
#[derive(Clone, Debug)]
pub struct SamlConfig {
    /// Where the table begins.
    pub place: Place,
    /// Whose assertions are accepted.
    pub issuers: Vec<AssertionIssuerConfig>,
    /// The assertion that requests carry.
    pub assertion: Option<LoadedFile>,
    /// Whether it is a header block of the plain request.
    pub from_request: bool,
    /// Whether the key of a holder is symmetric, and the key of messages.
    pub symmetric: Option<Located<bool>>,
    /// Whether keys are derived from a symmetric one.
    pub derived_keys: Option<Located<bool>>,
    /// The symmetric key of the assertion that requests carry, in base64.
    pub proof_key: Option<Located<Confidential<String>>>,
    /// The methods that confirm the subject.
    pub confirmation: Vec<ConfirmationMethod>,
    /// Who this side is to issuers; `None` if nothing is said of it.
    pub audience: Option<Vec<Located<String>>>,
    /// The addresses that confirmations may name.
    pub recipient: Vec<Located<String>>,
    /// What confirmations may say that nothing is compared with.
    pub ignore_confirmation: Option<Located<Vec<ConfirmationPart>>>,
    /// Those who may vouch for others: the subjects of certificates, or subjects with issuers.
    pub attesters: Vec<Located<String>>,
    /// The versions.
    pub versions: Option<Vec<SamlVersion>>,
    /// What ties an assertion without a key to its message.
    pub protection: Option<Located<AssertionProtection>>,
    /// How far the clocks of issuers may be off.
    pub skew: Option<Duration>,
    /// The longest age of an assertion that does not say when it ends.
    pub max_age: Option<Duration>,
    /// Whether the assertions are ID cards of DGWS.
    pub id_cards: Option<Located<bool>>,
    /// Whether each assertion is accepted once.
    pub once: bool,
    /// Whether those are refused that a token service cancelled.
    pub refuse_cancelled: Option<Located<bool>>,
    /// Whether the assertion is in cipher text of its own.
    pub encrypted: bool,
    /// Where assertions are fetched that messages only name.
    pub by_reference: Option<ByReferenceConfig>,
    /// The authority that has the assertion which requests name, and do not carry.
    pub send_by_reference: Option<SendByReferenceConfig>,
    /// Whether the assertion is passed on as a header block.
    pub forward: bool,
    /// Signature algorithms of issuers.
    pub signature_algorithms: Vec<Located<String>>,
    /// Digest algorithms of issuers.
    pub digest_algorithms: Vec<Located<String>>,
}

/// One of `[[saml.issuers]]`.
#[derive(Clone, Debug)]
pub struct AssertionIssuerConfig {
    /// Where the table begins.
    pub place: Place,
    /// `Issuer` of its assertions.
    pub name: Located<String>,
    /// Whether it signs them.
    pub signed: bool,
    /// The certificates that sign them.
    pub trust: TrustConfig,
}

const METHODS: [(&str, ConfirmationMethod); 3] = [
    (
        ConfirmationMethod::HolderOfKey.name(),
        ConfirmationMethod::HolderOfKey,
    ),
    (
        ConfirmationMethod::SenderVouches.name(),
        ConfirmationMethod::SenderVouches,
    ),
    (
        ConfirmationMethod::Bearer.name(),
        ConfirmationMethod::Bearer,
    ),
];

pub(super) const VERSIONS: [(&str, SamlVersion); 2] = [
    (SamlVersion::V20.name(), SamlVersion::V20),
    (SamlVersion::V11.name(), SamlVersion::V11),
];

/// Reads the table to its end. `is_issued` says that it has the table of a token service, which was
/// read already.
pub(super) fn read(mut table: Table<'_>, is_issued: bool) -> SamlConfig {
    let place = table.place();
    let issuers = table.tables("issuers");
    let issuers: Vec<_> = issuers.into_iter().filter_map(read_issuer).collect();
    let config = SamlConfig {
        place,
        issuers,
        assertion: table.secret_file("assertion"),
        from_request: table.boolean("from_request").is_some_and(|it| it.value),
        symmetric: table.choice("holder_key", &[("public", false), ("symmetric", true)]),
        derived_keys: table.boolean("derived_keys"),
        proof_key: table.secret("proof_key", "proof_key_env", "proof_key_file"),
        confirmation: table.choices("confirmation", &METHODS).unwrap_or_default(),
        audience: table.strings("audience"),
        recipient: table.strings("recipient").unwrap_or_default(),
        ignore_confirmation: read_ignored(&mut table),
        attesters: table.strings("attesters").unwrap_or_default(),
        versions: table.choices("versions", &VERSIONS),
        protection: table.choice(
            "protection",
            &[
                ("signature", AssertionProtection::Signature),
                ("tls", AssertionProtection::Connection),
            ],
        ),
        skew: table.duration("skew").map(|skew| skew.value),
        max_age: table.duration("max_age").map(|age| age.value),
        id_cards: table.boolean("id_cards"),
        once: table.boolean("once").is_some_and(|once| once.value),
        refuse_cancelled: table.boolean("refuse_cancelled"),
        encrypted: table.boolean("encrypted").is_some_and(|it| it.value),
        by_reference: table.table("by_reference").map(by_reference::read),
        send_by_reference: table
            .table("send_by_reference")
            .and_then(by_reference::read_sent),
        forward: table
            .boolean("forward")
            .is_some_and(|forward| forward.value),
        signature_algorithms: table.strings("signature_algorithms").unwrap_or_default(),
        digest_algorithms: table.strings("digest_algorithms").unwrap_or_default(),
    };
    if !table.has("confirmation") {
        table.missing(
            "confirmation",
            "say how subjects are confirmed: confirmation = [\"holder-of-key\"], for example",
        );
    }
    if let Some(key) = &config.proof_key
        && !table.has("assertion")
    {
        table.report_with_hint(
            key.place,
            "`proof_key` is the key of the assertion that requests carry, and `assertion` names none",
            "name the file with the assertion: assertion = \"assertion.xml\"",
        );
    }
    let sources = [
        ("assertion", config.assertion.is_some()),
        ("from_request", config.from_request),
        ("token_service", is_issued),
    ];
    let mut sources = sources.into_iter().filter(|(_, is_there)| *is_there);
    if let (Some((first, _)), Some((second, _))) = (sources.next(), sources.next()) {
        let message =
            format!("`{first}` and `{second}` say of different assertions that they are sent");
        table.report_with_hint(place, message, "leave one of them out");
    }
    let names = config.issuers.iter().map(|issuer| &issuer.name);
    for (index, name) in names.clone().enumerate() {
        if names
            .clone()
            .take(index)
            .any(|other| other.value == name.value)
        {
            table.report_with_hint(
                name.place,
                "an issuer is there twice",
                "keep one of them, with the certificates of both",
            );
        }
    }
    table.finish();
    config
}

/// `ignore_confirmation`.
fn read_ignored(table: &mut Table<'_>) -> Option<Located<Vec<ConfirmationPart>>> {
    const KEY: &str = "ignore_confirmation";
    let parts = [ConfirmationPart::Address, ConfirmationPart::InResponseTo];
    let value = table.choices(KEY, &parts.map(|part| (part.name(), part)))?;
    let place = table.place_of(KEY)?;
    Some(Located { value, place })
}

pub(super) fn read_issuer(mut table: Table<'_>) -> Option<AssertionIssuerConfig> {
    let place = table.place();
    let name = table.required_string(
        "name",
        "as the issuer writes itself: name = \"https://idp.example\"",
    );
    let signed = table.boolean("signed").is_none_or(|signed| signed.value);
    let trust = read_trust_keys(&mut table);
    let has_keys = !trust.pinned.is_empty() || !trust.anchors.is_empty();
    let named = table.has("pinned") || table.has("anchors");
    match signed {
        true if !named => table.missing(
            "pinned",
            "name the certificates that sign its assertions: pinned = [\"idp.cert.pem\"]",
        ),
        true if !trust.anchors.is_empty() && trust.subjects.is_empty() => {
            table.report_with_hint(
                place,
                "whoever has a certificate of these authorities would be the issuer: `subjects` names nobody",
                "name the subject of the issuer's certificate, subjects = [\"CN=…\"], or pin the certificate",
            );
        }
        false if has_keys => table.report_with_hint(
            place,
            "an issuer that does not sign has no certificates",
            "leave `signed` out, or the certificates",
        ),
        _ => {}
    }
    table.finish();
    Some(AssertionIssuerConfig {
        place,
        name: name?,
        signed,
        trust,
    })
}
