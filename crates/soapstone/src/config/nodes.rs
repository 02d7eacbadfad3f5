//! `role`, `reinsert` and `recipients`: the nodes on the path of messages.
//!
//! The one rule: who reads which header is said once. An actor that two would have is refused.

use soapstone_wss::names::{NEXT, NEXT_11, NEXT_12, ULTIMATE_RECEIVER};
use soapstone_wss::{EncryptedPart, KeyReference, Mechanism, Part};

use super::key_naming::{EncryptionNaming, SignatureNaming, key_reference};
use super::parts::{read_encrypted, read_signed};
use super::peer::{PeerConfig, read_peer};
use super::policy_choice::{PolicyChoice, WITHOUT_POLICY, read_policy_choice};
use super::problem::{Located, Place};
use super::security::{
    AlgorithmsConfig, POLICY_KEYS, SecurityConfig, SecuritySource, TimestampConfig, read_suite,
    read_timestamp,
};
use super::shared_key::{self, SharedKeyConfig};
use super::table::Table;

/// `role` and `reinsert`: an endpoint that passes messages on to other nodes.
#[derive(Clone, Debug)]
pub struct IntermediaryConfig {
    /// The actor (SOAP 1.1) or role (SOAP 1.2) of the header that it reads, or `next`.
    pub role: Located<String>,
    /// Whether the message goes on with plaintext in the place of cipher text that was for it.
    pub reinserts: bool,
}

/// One of `[[recipients]]`: a node that reads a header of its own.
#[derive(Clone, Debug)]
pub struct RecipientConfig {
    /// Where the table begins.
    pub place: Place,
    /// The actor or role of its header, or `next`.
    pub actor: Located<String>,
    /// Whom to encrypt to.
    pub peer: Option<PeerConfig>,
    /// The key that this node holds as well, in the place of certificates.
    pub shared_key: Option<SharedKeyConfig>,
    /// What is done for it: a preset, or what its policy says.
    pub source: Located<SecuritySource>,
    /// What is meant in its policy.
    pub policy_choice: PolicyChoice,
    /// Name of an algorithm suite; `None` for that of the endpoint.
    pub suite: Option<Located<String>>,
    /// Algorithms listed one by one.
    pub algorithms: Option<AlgorithmsConfig>,
    /// Signed parts.
    pub signed: Option<Vec<Located<Part>>>,
    /// Encrypted parts.
    pub encrypted: Option<Vec<Located<EncryptedPart>>>,
    /// How keys are pointed to.
    pub key_reference: Option<Located<KeyReference>>,
    /// Timestamp settings.
    pub timestamp: Option<Located<TimestampConfig>>,
    /// Whether the header is marked `mustUnderstand`.
    pub must_understand: Option<Located<bool>>,
    /// Whether that node puts plaintext back, so that later ones find what it decrypts.
    pub reinserts: bool,
}

impl RecipientConfig {
    /// What the `[security]` table of this node alone would be.
    pub(crate) fn instead_of(&self, security: &SecurityConfig) -> SecurityConfig {
        let mut own = security.clone();
        own.source = self.source.clone();
        own.policy_choice = self.policy_choice.clone();
        let has_policy = matches!(self.source.value, SecuritySource::Policy(_));
        // A policy names its suite: that of the endpoint is none of its.
        if has_policy || self.suite.is_some() || self.algorithms.is_some() {
            own.suite.clone_from(&self.suite);
            own.algorithms.clone_from(&self.algorithms);
        }
        own.signed.clone_from(&self.signed);
        own.encrypted.clone_from(&self.encrypted);
        own.key_reference.clone_from(&self.key_reference);
        if self.timestamp.is_some() {
            own.timestamp.clone_from(&self.timestamp);
        }
        if self.must_understand.is_some() {
            own.must_understand.clone_from(&self.must_understand);
        }
        own.actor = Some(self.actor.clone());
        own.unsigned = Vec::new();
        own.ignore = Vec::new();
        own.several_signatures = None;
        own.allow_short_cipher_text = None;
        own.header_order = None;
        // No attachment is at hand when a header for a node is made.
        own.attachments = None;
        own.signature = SignatureNaming::default();
        own.encryption = EncryptionNaming::default();
        own.password = None;
        own.password_keys = None;
        own.username_token = None;
        own
    }
}

impl IntermediaryConfig {
    /// Reads the keys of an endpoint.
    pub(super) fn read(table: &mut Table<'_>) -> Option<Self> {
        let role = table.string("role");
        let reinsert = table.boolean("reinsert");
        let Some(role) = role else {
            if let (Some(reinsert), false) = (&reinsert, table.has("role")) {
                table.report_with_hint(
                    reinsert.place,
                    "`reinsert` is given without `role`, and a last node passes nothing on",
                    "leave it out, or say which header this node reads: role = \"next\"",
                );
            }
            return None;
        };
        let role = actor(table, "role", role)?;
        Some(Self {
            role,
            reinserts: reinsert.is_some_and(|reinsert| reinsert.value),
        })
    }
}

/// Reads `recipients`, in the order in which a message reaches them.
pub(super) fn read_recipients(table: &mut Table<'_>) -> Vec<RecipientConfig> {
    let mut recipients: Vec<RecipientConfig> = Vec::new();
    for recipient in table.tables("recipients").into_iter().filter_map(read) {
        let is_same = |known: &RecipientConfig| {
            let (known, new) = (&known.actor.value, &recipient.actor.value);
            known == new || is_next(known) && is_next(new)
        };
        if recipients.iter().any(is_same) {
            table.report_with_hint(
                recipient.actor.place,
                "two recipients have one actor: neither could tell which header is its own",
                "give each an actor of its own",
            );
        }
        recipients.push(recipient);
    }
    recipients
}

/// Whether it is the actor of every node, in whatever version.
pub(crate) fn is_next(actor: &str) -> bool {
    [NEXT, NEXT_11, NEXT_12].contains(&actor)
}

fn read(mut table: Table<'_>) -> Option<RecipientConfig> {
    let place = table.place();
    let named = table.required_string("actor", "for example actor = \"urn:example:hop\"");
    let named = named.and_then(|named| actor(&table, "actor", named));
    let has_peer = table.has("peer");
    let peer = table.table("peer").and_then(read_peer);
    let has_shared_key = table.has("shared_key");
    let shared_key = table.table("shared_key").and_then(shared_key::read);
    let source = read_source(&mut table);
    let policy_choice = read_policy_choice(&mut table);
    check_source(&mut table, source.as_ref().map(|it| &it.value));
    let (suite, algorithms) = read_suite(&mut table);
    let signed = read_signed(&mut table);
    let encrypted = read_encrypted(&mut table);
    let key_reference = key_reference(&mut table);
    let timestamp = read_timestamp(&mut table);
    let must_understand = table.boolean("must_understand");
    let reinserts = table.boolean("reinserts");
    table.finish();
    Some(RecipientConfig {
        place,
        actor: named?,
        peer: match has_peer {
            true => Some(peer?),
            false => None,
        },
        shared_key: match has_shared_key {
            true => Some(shared_key?),
            false => None,
        },
        source: source?,
        policy_choice,
        suite,
        algorithms,
        signed,
        encrypted,
        key_reference,
        timestamp,
        must_understand,
        reinserts: reinserts.is_some_and(|it| it.value),
    })
}

/// `mechanism` or `policy` of a recipient.
fn read_source(table: &mut Table<'_>) -> Option<Located<SecuritySource>> {
    let mechanisms = [
        Mechanism::Sign,
        Mechanism::Encrypt,
        Mechanism::SignEncrypt,
        Mechanism::EncryptSign,
    ];
    match (table.has("mechanism"), table.place_of("policy")) {
        (false, None) => table.missing(
            "mechanism",
            "say what is done for this node: mechanism = \"sign\" for example, or policy = \"node.wsdl\"",
        ),
        (true, Some(place)) => table.report_with_hint(
            place,
            "both `mechanism` and `policy` are given",
            "keep one of them",
        ),
        _ => {}
    }
    let mechanism = table.choice("mechanism", &mechanisms.map(|it| (it.name(), it)));
    let policy = table.file("policy").map(|file| Located {
        place: file.place,
        value: SecuritySource::Policy(Box::new(file)),
    });
    mechanism
        .map(|it| it.map(SecuritySource::Mechanism))
        .or(policy)
}

/// Reports keys that a recipient with this source has no use for, and keys of tokens that no
/// recipient has.
fn check_source(table: &mut Table<'_>, source: Option<&SecuritySource>) {
    match source {
        Some(SecuritySource::Mechanism(_)) => {
            for key in POLICY_KEYS {
                if let Some(place) = table.place_of(key) {
                    let message = format!("`{key}` is given without `policy`, of which it speaks");
                    table.report_with_hint(place, message, WITHOUT_POLICY);
                }
            }
        }
        Some(SecuritySource::Policy(_)) => {
            if let Some(place) = table.place_of("shared_key") {
                table.report_with_hint(
                    place,
                    "`shared_key` is given beside `policy`, and no token of a policy stands for a key that both sides hold",
                    "leave it out, or use a mechanism",
                );
            }
            if let Some(place) = table.place_of("policy_may_be_empty") {
                table.report_with_hint(
                    place,
                    "`policy_may_be_empty` is given, and a node for which nothing is done is no recipient",
                    "leave it out, or leave the recipient out",
                );
            }
        }
        None => {}
    }
    table.belong_elsewhere(
        &["kerberos"],
        "tickets are for the last node: a recipient has a certificate (`peer`) or a `shared_key`",
    );
}

/// An actor or role that is not that of the last node.
pub(super) fn actor(
    table: &Table<'_>,
    key: &str,
    named: Located<String>,
) -> Option<Located<String>> {
    let text = named.value.as_str();
    let is_uri = text.contains(':') && !text.contains(char::is_whitespace);
    if text == ULTIMATE_RECEIVER || !is_uri && text != NEXT {
        let found = match text == ULTIMATE_RECEIVER {
            true => "that of the last node",
            false => "another text",
        };
        table.report_with_hint(
            named.place,
            format!("`{key}` must be the URI of a node on the way or \"next\", found {found}"),
            "for example \"urn:example:hop\"",
        );
        return None;
    }
    Some(named)
}
