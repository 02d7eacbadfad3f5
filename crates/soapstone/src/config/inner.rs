//! The `[inner]` table: elements of the Body that are signed or encrypted by themselves.
//!
//! The rule kept here: where the table names no keys of its own, those of the endpoint sign, are
//! believed and decrypt. It says nothing of how the message around the element is protected.

use soapstone_wss::{
    Extent, InnerElement, InnerEncryption, InnerKeyInfo, KeyReference, ProtectionOrder,
};

use super::identity::{IdentityConfig, read_identity};
use super::peer::{PeerConfig, read_peer};
use super::policy_choice::expanded;
use super::problem::{Located, Place};
use super::quoting::OTHER_TEXT;
use super::security::{AlgorithmsConfig, SecurityConfig, read_suite};
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
    /// What is encrypted by itself.
    pub encryption: Option<InnerEncryptionConfig>,
}

/// The `[inner.encryption]` table.
#[derive(Clone, Debug)]
pub struct InnerEncryptionConfig {
    /// Where the table begins.
    pub place: Place,
    /// The element of requests.
    pub requests: Option<Located<InnerElement>>,
    /// The element of answers.
    pub answers: Option<Located<InnerElement>>,
    /// Whether the element is encrypted, or its content alone.
    pub extent: Extent,
    /// Whether the inner signature is over the plaintext or over the cipher text.
    pub order: ProtectionOrder,
    /// Name of an algorithm suite; `None` for that of the endpoint.
    pub suite: Option<Located<String>>,
    /// Algorithms listed one by one.
    pub algorithms: Option<AlgorithmsConfig>,
    /// How the key of the recipient is pointed to.
    pub key_reference: KeyReference,
    /// Whom to encrypt to, where it is not the peer of the endpoint.
    pub peer: Option<PeerConfig>,
    /// The key that decrypts, where it is not that of the endpoint.
    pub identity: Option<IdentityConfig>,
}

impl InnerEncryptionConfig {
    /// The `[security]` table with the algorithms of this one.
    pub(crate) fn instead_of(&self, security: &SecurityConfig) -> SecurityConfig {
        let mut own = security.clone();
        if self.suite.is_some() || self.algorithms.is_some() {
            own.suite.clone_from(&self.suite);
            own.algorithms.clone_from(&self.algorithms);
        }
        own
    }
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
    let encryption = table.table("encryption");
    let signs = table.has("requests") || table.has("answers");
    if !signs && encryption.is_none() {
        table.missing(
            "requests",
            "name the element of requests, of answers, or both: requests = \"{urn:example}Order\"",
        );
    }
    if !signs {
        refuse_keys_of_signatures(&table);
    }
    let signed = Signed {
        elements: [&requests, &answers],
        signs,
    };
    let encryption = encryption.and_then(|table| read_encryption(table, &signed));
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
        encryption,
    };
    table.finish();
    config
}

/// Reports what is said of inner signatures where no element is signed.
fn refuse_keys_of_signatures(table: &Table<'_>) {
    for key in [
        "base64",
        "id",
        "key_info",
        "signature_algorithms",
        "digest_algorithms",
        "identity",
        "trust",
    ] {
        if let (Some(place), true) = (table.place_of(key), table.has("encryption")) {
            table.report_with_hint(
                place,
                format!("`{key}` is of inner signatures, and no element is signed"),
                "leave it out, or name the element: requests = \"{urn:example}Order\"",
            );
        }
    }
}

/// The elements that are signed by themselves.
struct Signed<'a> {
    elements: [&'a Option<Located<InnerElement>>; 2],
    signs: bool,
}

/// Reads `[inner.encryption]` to its end.
fn read_encryption(mut table: Table<'_>, signed: &Signed<'_>) -> Option<InnerEncryptionConfig> {
    let place = table.place();
    let requests = read_element(&mut table, "requests", false);
    let answers = read_element(&mut table, "answers", false);
    if !table.has("requests") && !table.has("answers") {
        table.missing(
            "requests",
            "name the element of requests, of answers, or both: requests = \"{urn:example}Order\"",
        );
    }
    let content = table.boolean("content").is_some_and(|it| it.value);
    let orders = [
        ("sign-encrypt", ProtectionOrder::SignBeforeEncrypting),
        ("encrypt-sign", ProtectionOrder::EncryptBeforeSigning),
    ];
    let order = table.choice("order", &orders);
    if let (Some(order), false) = (&order, signed.signs) {
        table.report_with_hint(
            order.place,
            "`order` is given, and no element is signed",
            "leave it out, or name the element that is signed in [inner]",
        );
    }
    let signs_last =
        |one: &Located<ProtectionOrder>| one.value == ProtectionOrder::EncryptBeforeSigning;
    if let Some(order) = order.as_ref().filter(|one| signs_last(one)) {
        refuse_unreadable(&table, order.place, signed, [&requests, &answers], content);
    }
    let (suite, algorithms) = read_suite(&mut table);
    let references = InnerEncryption::REFERENCES.map(|one| (one.name(), one));
    let key_reference = table.choice("key_reference", &references);
    let (has_peer, has_identity) = (table.has("peer"), table.has("identity"));
    let peer = table.table("peer").and_then(read_peer);
    let identity = table.table("identity").and_then(read_identity);
    table.finish();
    // In the place of a key that cannot be read no other one is taken.
    if has_peer != peer.is_some() || has_identity != identity.is_some() {
        return None;
    }
    Some(InnerEncryptionConfig {
        place,
        requests,
        answers,
        extent: match content {
            true => Extent::Content,
            false => Extent::Element,
        },
        order: order.map_or(ProtectionOrder::SignBeforeEncrypting, |order| order.value),
        suite,
        algorithms,
        key_reference: key_reference.map_or(KeyReference::X509IssuerSerial, |it| it.value),
        peer,
        identity,
    })
}

/// Reports cipher text that would take the place of what is to be signed.
fn refuse_unreadable(
    table: &Table<'_>,
    place: Place,
    signed: &Signed<'_>,
    encrypted: [&Option<Located<InnerElement>>; 2],
    content: bool,
) {
    for (signed, encrypted) in signed.elements.into_iter().zip(encrypted) {
        let (Some(signed), Some(encrypted)) = (signed, encrypted) else {
            continue;
        };
        let (signed, encrypted) = (&signed.value, &encrypted.value);
        let is_same =
            (&signed.namespace, &signed.local) == (&encrypted.namespace, &encrypted.local);
        if is_same && (!content || signed.encoded) {
            table.report_with_hint(
                place,
                "the element is cipher text when it is to be signed",
                "encrypt its content, content = true, of an element that is no base64; or sign first: order = \"sign-encrypt\"",
            );
            return;
        }
    }
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
