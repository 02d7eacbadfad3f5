//! The `[security]` table: what is done to messages, as written, before it is compiled into plans.
//!
//! Names of algorithms and suites are handed on as text with their place: which of them exist is
//! for the compiler of plans to say. The rule kept here: every name with a closed set of values is
//! checked here, once.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use soapstone_trust::addressing::AddressingVersion;
use soapstone_wss::names::{DS, WSSE, WSSE11, WSU, XENC};
use soapstone_wss::{
    EncryptedPart, KeyReference, Mechanism, OrderedItem, Part, PasswordKind, UsernameDialects,
};

use super::attachments::{AttachmentsConfig, read_attachments};
use super::clock::{ClockConfig, read_clock};
use super::confidential::Confidential;
use super::document::LoadedFile;
use super::key_naming::{EncryptionNaming, SignatureNaming, key_reference};
use super::memory::{ConversationsConfig, ReplayConfig, read_conversations, read_replay};
use super::parts::{read_encrypted, read_signed, read_unsigned};
use super::password_keys::{PasswordKeysConfig, read_password_keys};
use super::policy_choice::{PolicyChoice, WITHOUT_POLICY, expanded, read_policy_choice};
use super::problem::{Located, Place};
use super::profile::PROFILES;
use super::quoting::OTHER_TEXT;
use super::store::Shared;
use super::table::{FlagOrTable, Table};

/// The keys that speak of a `policy`.
pub(super) const POLICY_KEYS: [&str; 5] = [
    "policy_subject",
    "sha256_suites",
    "same_endorser",
    "policy_may_be_empty",
    "ignore_assertions",
];

/// How the path of a policy begins that is a profile's, and no file.
pub(crate) const OF_PROFILE: &str = "the profile ";

/// Where the policy comes from.
#[derive(Clone, Debug)]
pub enum SecuritySource {
    /// `mechanism = "…"`: a preset.
    Mechanism(Mechanism),
    /// `policy = "service.wsdl"`: a file with a WSDL or a WS-Policy document.
    Policy(Box<LoadedFile>),
}

/// `algorithms = { … }`: each list as written, by URI or by short name, the first one being used to
/// send.
#[derive(Clone, Debug, Default)]
pub struct AlgorithmsConfig {
    /// Where the table begins.
    pub place: Place,
    /// Signature algorithms.
    pub signature: Vec<Located<String>>,
    /// Digest algorithms.
    pub digest: Vec<Located<String>>,
    /// Canonicalization methods.
    pub canonicalization: Vec<Located<String>>,
    /// Key transport algorithms.
    pub key_transport: Vec<Located<String>>,
    /// Digest algorithms of OAEP.
    pub oaep_digest: Vec<Located<String>>,
    /// Digest algorithms of OAEP's mask generation function.
    pub oaep_mgf: Vec<Located<String>>,
    /// Key agreement algorithms.
    pub key_agreement: Vec<Located<String>>,
    /// How an agreed secret becomes a key.
    pub key_derivation: Vec<Located<String>>,
    /// Digest algorithms of key derivation.
    pub derivation_digest: Vec<Located<String>>,
    /// Key wrap algorithms, by which an agreed key encrypts a session key.
    pub key_wrap: Vec<Located<String>>,
    /// Data encryption algorithms.
    pub data: Vec<Located<String>>,
}

/// `timestamp = { … }`.
#[derive(Clone, Copy, Debug)]
pub struct TimestampConfig {
    /// Whether a timestamp is sent and demanded (`timestamp = false` says no, and so does
    /// `required = false` in a table).
    pub wanted: bool,
    /// How long a message lives.
    pub ttl: Option<Duration>,
    /// How far the peer's clock may be off.
    pub skew: Option<Duration>,
    /// A `wsu:Timestamp` without `wsu:Expires` is refused.
    pub require_expires: bool,
}

/// `username_token = { … }`.
#[derive(Clone, Debug)]
pub struct UsernameTokenConfig {
    /// Where the table begins.
    pub place: Place,
    /// Whether our tokens have a nonce.
    pub nonce: Option<Located<bool>>,
    /// Whether our tokens have the time of their making.
    pub created: Option<Located<bool>>,
    /// Whether our tokens leave out the type of a password as text.
    pub implied_text: Option<Located<bool>>,
    /// Forms that are accepted beside that of the profile.
    pub dialects: UsernameDialects,
}

/// `addressing = { … }`: what addressing headers of requests must say.
#[derive(Clone, Debug)]
pub struct AddressingConfig {
    /// Where the table begins.
    pub place: Place,
    /// What `wsa:To` may be; empty leaves it open.
    pub to: Vec<String>,
    /// `SOAPAction` and the `action` of the media type must be `wsa:Action`.
    pub soap_action: bool,
    /// `wsa:Action` of requests that leave, whatever HTTP says.
    pub action: Option<String>,
    /// Whether requests that leave have a `wsa:MessageID`.
    pub message_id: Option<Located<bool>>,
    /// `wsa:ReplyTo` of requests that leave: `anonymous`, `absent`, or an address.
    pub reply_to: Option<Located<String>>,
    /// `wsa:From` of requests that leave: `anonymous`, or an address.
    pub from: Option<Located<String>>,
    /// The version of requests that leave.
    pub version: Option<AddressingVersion>,
    /// The first key that is of requests that leave.
    of_requests_that_leave: Option<(&'static str, Place)>,
}

impl AddressingConfig {
    /// The first of the keys that speak of requests that leave.
    pub(crate) fn of_requests_that_leave(&self) -> Option<(&'static str, Place)> {
        self.of_requests_that_leave
    }
}

/// `allow_weak_until = { "rsa-sha1" = "2027-01-01" }`: one algorithm and the moment from which it
/// is refused.
#[derive(Clone, Debug)]
pub struct WeakUse {
    /// URI or short name of the algorithm.
    pub algorithm: Located<String>,
    /// From then on it is refused.
    pub until: Located<Timestamp>,
}

/// The `[security]` table.
#[derive(Clone, Debug)]
pub struct SecurityConfig {
    /// Where the table begins.
    pub place: Place,
    /// Preset or policy.
    pub source: Located<SecuritySource>,
    /// What is meant in a policy file.
    pub policy_choice: PolicyChoice,
    /// Name of an algorithm suite.
    pub suite: Option<Located<String>>,
    /// Algorithms listed one by one instead of a suite.
    pub algorithms: Option<AlgorithmsConfig>,
    /// Parts to sign; `None` leaves it to the preset.
    pub signed: Option<Vec<Located<Part>>>,
    /// Parts to encrypt; `None` leaves it to the preset.
    pub encrypted: Option<Vec<Located<EncryptedPart>>>,
    /// Header blocks that are passed on although nothing proves them.
    pub unsigned: Vec<Located<Part>>,
    /// What is done to attachments.
    pub attachments: Option<AttachmentsConfig>,
    /// How keys are pointed to.
    pub key_reference: Option<Located<KeyReference>>,
    /// Attributes without a namespace that are ids on every element of messages that arrive.
    pub ids: Vec<&'static str>,
    /// Items of the Security header that are not read, by namespace and local name.
    pub ignore: Vec<Located<(String, String)>>,
    /// Whether several signatures may prove a message together.
    pub several_signatures: Option<Located<bool>>,
    /// Whether short cipher text is signed without its key.
    pub allow_short_cipher_text: Option<Located<bool>>,
    /// How the key that signs is pointed to.
    pub signature: SignatureNaming,
    /// How the key that session keys are wrapped to is pointed to.
    pub encryption: EncryptionNaming,
    /// How passwords travel.
    pub password: Option<Located<PasswordKind>>,
    /// How keys are derived from the passwords of users.
    pub password_keys: Option<PasswordKeysConfig>,
    /// What tokens of users look like.
    pub username_token: Option<UsernameTokenConfig>,
    /// Timestamp settings.
    pub timestamp: Option<Located<TimestampConfig>>,
    /// What addressing headers must say.
    pub addressing: Option<AddressingConfig>,
    /// Where processing instructions in messages are refused.
    pub refused_instructions: Option<Place>,
    /// Replay store.
    pub replay: Option<ReplayConfig>,
    /// Store of security contexts.
    pub conversations: Option<ConversationsConfig>,
    /// Weak algorithms with an expiry date.
    pub allow_weak_until: Vec<WeakUse>,
    /// The role that the Security header is addressed to (`actor` in SOAP 1.1, `role` in SOAP
    /// 1.2).
    pub actor: Option<Located<String>>,
    /// Whether the Security header is marked `mustUnderstand`; `None` leaves it to the preset.
    pub must_understand: Option<Located<bool>>,
    /// The order in which items of the Security header are written.
    pub header_order: Option<Located<Vec<OrderedItem>>>,
    /// By how much the peer's clock is off.
    pub clock: Option<ClockConfig>,
    /// The moment to pretend it is.
    pub time: Option<Located<Timestamp>>,
}

impl SecurityConfig {
    /// The preset's name, when it is a preset.
    pub fn mechanism(&self) -> Option<Mechanism> {
        match &self.source.value {
            SecuritySource::Mechanism(name) => Some(*name),
            _ => None,
        }
    }

    /// Whether users of the file may be without a password: no message proves one, or a policy says
    /// whether one does.
    pub(super) fn may_lack_passwords(&self) -> bool {
        let by_policy = matches!(self.source.value, SecuritySource::Policy(_));
        let none = self.password.as_ref().map(|password| password.value);
        by_policy || none == Some(PasswordKind::Absent)
    }

    /// Reads the table to its end. `None` when there is no usable source; whatever is wrong is
    /// reported.
    pub(super) fn read(mut table: Table<'_>, shared: Shared<'_>) -> Option<Self> {
        let place = table.place();
        let source = read_source(&mut table);
        let policy_choice = read_policy_choice(&mut table);
        if let Some(SecuritySource::Mechanism(_)) = source.as_ref().map(|source| &source.value) {
            for key in POLICY_KEYS {
                if let Some(place) = table.place_of(key) {
                    let message = format!("`{key}` is given without `policy`, of which it speaks");
                    table.report_with_hint(place, message, WITHOUT_POLICY);
                }
            }
        }
        let (suite, algorithms) = read_suite(&mut table);
        let signed = read_signed(&mut table);
        let encrypted = read_encrypted(&mut table);
        let unsigned = read_unsigned(&mut table);
        let attachments = table.table("attachments").map(read_attachments);
        let key_reference = key_reference(&mut table);
        let ids = table.choices("ids", &["Id", "ID", "id"].map(|name| (name, name)));
        let ignore = read_ignored(&mut table);
        let several_signatures = table.boolean("several_signatures");
        let allow_short_cipher_text = table.boolean("allow_short_cipher_text");
        let signature = SignatureNaming::read(&mut table);
        let encryption = EncryptionNaming::read(&mut table);
        let password = table.choice(
            "password",
            &[
                ("digest", PasswordKind::Digest),
                ("text", PasswordKind::Text),
                ("none", PasswordKind::Absent),
            ],
        );
        let password_keys = table.table("password_keys").map(read_password_keys);
        let username_token = table.table("username_token").map(read_username_token);
        let timestamp = read_timestamp(&mut table);
        let addressing = table.table("addressing").and_then(read_addressing);
        let instructions = table.choice(
            "processing_instructions",
            &[("allow", false), ("refuse", true)],
        );
        let replay = table
            .table("replay")
            .and_then(|table| read_replay(table, shared));
        let conversations = table
            .table("conversations")
            .and_then(|table| read_conversations(table, shared));
        let allow_weak_until = table
            .moments("allow_weak_until")
            .into_iter()
            .map(|(algorithm, until)| WeakUse { algorithm, until })
            .collect();
        let actor = table.string("actor");
        let must_understand = table.boolean("must_understand");
        let header_order = read_header_order(&mut table);
        let clock = table.table("clock").and_then(read_clock);
        let time = table.moment("time");
        table.finish();
        Some(Self {
            place,
            source: source?,
            policy_choice,
            suite,
            algorithms,
            signed,
            encrypted,
            unsigned,
            attachments,
            key_reference,
            ids: ids.unwrap_or_default(),
            ignore,
            several_signatures,
            allow_short_cipher_text,
            signature,
            encryption,
            password,
            password_keys,
            username_token,
            timestamp,
            addressing,
            refused_instructions: instructions
                .filter(|refused| refused.value)
                .map(|refused| refused.place),
            replay,
            conversations,
            allow_weak_until,
            actor,
            must_understand,
            header_order,
            clock,
            time,
        })
    }
}

/// The order in which items of the Security header are written.
fn read_header_order(table: &mut Table<'_>) -> Option<Located<Vec<OrderedItem>>> {
    let place = table.place_of("header_order");
    let value = table.choices(
        "header_order",
        &OrderedItem::ALL.map(|item| (item.name(), item)),
    )?;
    Some(Located {
        value,
        place: place?,
    })
}

fn read_source(table: &mut Table<'_>) -> Option<Located<SecuritySource>> {
    let profiles: Vec<(&str, usize)> = PROFILES
        .iter()
        .enumerate()
        .map(|(index, profile)| (profile.name, index))
        .collect();
    let profile = table.choice("profile", &profiles);
    let by_profile = table.place_of("profile");
    // What a profile says is where the profile is named.
    let of_file = |key: &&str| {
        let place = table.place_of(key);
        place.is_some() && (*key == "profile" || place != by_profile)
    };
    let given: Vec<&str> = ["profile", "mechanism", "policy"]
        .into_iter()
        .filter(of_file)
        .collect();
    match given.as_slice() {
        [] => table.missing(
            "mechanism",
            "say mechanism = \"sign-encrypt\", for example; \"none\" is plain SOAP",
        ),
        [_] => {}
        [first, second, ..] => {
            let place = table.place_of(second).unwrap_or_default();
            table.report_with_hint(
                place,
                format!("both `{first}` and `{second}` are given"),
                "keep one of them",
            );
        }
    }
    let choices = Mechanism::ALL.map(|mechanism| (mechanism.name(), mechanism));
    let mechanism = table
        .choice("mechanism", &choices)
        .map(|preset| preset.map(SecuritySource::Mechanism));
    let policy = table.file("policy").or_else(|| {
        let profile = profile?;
        let found = &PROFILES[profile.value];
        Some(LoadedFile {
            path: PathBuf::from(format!("{OF_PROFILE}{}", found.name)),
            bytes: Confidential::new(found.policy?.as_bytes().to_vec()),
            place: profile.place,
        })
    });
    let policy = policy.map(|file| Located {
        place: file.place,
        value: SecuritySource::Policy(Box::new(file)),
    });
    mechanism.or(policy)
}

/// A suite, or algorithms one by one.
pub(super) fn read_suite(
    table: &mut Table<'_>,
) -> (Option<Located<String>>, Option<AlgorithmsConfig>) {
    let suite = table.string("suite");
    let algorithms = table.table("algorithms").map(read_algorithms);
    if let (Some(_), Some(algorithms)) = (&suite, &algorithms) {
        table.report_with_hint(
            algorithms.place,
            "both `suite` and `algorithms` are given",
            "keep one of them",
        );
    }
    (suite, algorithms)
}

fn read_algorithms(mut table: Table<'_>) -> AlgorithmsConfig {
    let mut list = |key| table.strings(key).unwrap_or_default();
    let (signature, digest, canonicalization) =
        (list("signature"), list("digest"), list("canonicalization"));
    let (key_transport, oaep_digest, oaep_mgf) =
        (list("key_transport"), list("oaep_digest"), list("oaep_mgf"));
    let (key_agreement, key_derivation) = (list("key_agreement"), list("key_derivation"));
    let (derivation_digest, key_wrap) = (list("derivation_digest"), list("key_wrap"));
    let data = list("data");
    let place = table.place();
    table.finish();
    AlgorithmsConfig {
        place,
        signature,
        digest,
        canonicalization,
        key_transport,
        oaep_digest,
        oaep_mgf,
        key_agreement,
        key_derivation,
        derivation_digest,
        key_wrap,
        data,
    }
}

/// Items of the Security header that may be ignored.
fn read_ignored(table: &mut Table<'_>) -> Vec<Located<(String, String)>> {
    let names = table.strings("ignore").unwrap_or_default();
    let mut ignored = Vec::with_capacity(names.len());
    for name in names {
        let value = match name.value.as_str() {
            "UsernameToken" => Some((WSSE.to_owned(), name.value.clone())),
            text => expanded(text),
        };
        let Some((namespace, local)) = value else {
            table.report_with_hint(
                name.place,
                format!("`ignore` must name items of the Security header, found {OTHER_TEXT}"),
                "an item is UsernameToken or {namespace}local",
            );
            continue;
        };
        let protects = [DS, XENC, WSU, WSSE11].contains(&namespace.as_str());
        if protects || (namespace == WSSE && local == "BinarySecurityToken") {
            table.report_with_hint(
                name.place,
                format!("`ignore` names `{local}`, which is read in every header"),
                "leave it out: what such an item says is checked wherever it is",
            );
            continue;
        }
        ignored.push(Located {
            value: (namespace, local),
            place: name.place,
        });
    }
    ignored
}

pub(super) fn read_timestamp(table: &mut Table<'_>) -> Option<Located<TimestampConfig>> {
    let given = table.flag_or_table("timestamp", "{ ttl = \"5m\", skew = \"60s\" }")?;
    let place = given.place;
    let mut table = match given.value {
        FlagOrTable::Flag(wanted) => {
            return Some(Located {
                value: TimestampConfig {
                    wanted,
                    ttl: None,
                    skew: None,
                    require_expires: false,
                },
                place,
            });
        }
        FlagOrTable::Table(table) => table,
    };
    let ttl = table.duration("ttl").map(|ttl| ttl.value);
    let skew = table.duration("skew").map(|skew| skew.value);
    let require_expires = table.boolean("require_expires");
    let required = table.boolean("required");
    table.finish();
    Some(Located {
        value: TimestampConfig {
            wanted: required.is_none_or(|required| required.value),
            ttl,
            skew,
            require_expires: require_expires.is_some_and(|required| required.value),
        },
        place,
    })
}

fn read_username_token(mut table: Table<'_>) -> UsernameTokenConfig {
    let place = table.place();
    let nonce = table.boolean("nonce");
    let created = table.boolean("created");
    let implied_text = table.boolean("implied_text");
    let forms = ["qualified-types", "other-identifiers", "2002/07"];
    let accepted = table.choices("accept", &forms.map(|form| (form, form)));
    let accepted = accepted.unwrap_or_default();
    table.finish();
    UsernameTokenConfig {
        place,
        nonce,
        created,
        implied_text,
        dialects: UsernameDialects {
            qualified_types: accepted.contains(&"qualified-types"),
            other_identifiers: accepted.contains(&"other-identifiers"),
            draft_2002: accepted.contains(&"2002/07"),
        },
    }
}

/// What the versions of WS-Addressing are called.
pub(crate) const ADDRESSING_VERSIONS: [(&str, AddressingVersion); 2] = [
    ("2005/08", AddressingVersion::V10),
    ("2004/08", AddressingVersion::August2004),
];

fn read_addressing(mut table: Table<'_>) -> Option<AddressingConfig> {
    let place = table.place();
    let to = table.strings("to");
    let soap_action = table.boolean("soap_action");
    let soap_action = soap_action.is_some_and(|compared| compared.value);
    let of_requests_that_leave = ["action", "message_id", "reply_to", "from", "version"]
        .into_iter()
        .find_map(|key| Some((key, table.place_of(key)?)));
    let action = table.string("action").map(|action| action.value);
    let message_id = table.boolean("message_id");
    let reply_to = table.string("reply_to");
    let from = table.string("from");
    let version = table.choice("version", &ADDRESSING_VERSIONS);
    let version = version.map(|it| it.value);
    if table.is_empty_list("to") {
        table.report_with_hint(
            table.place_of("to").unwrap_or(place),
            "`to` names no address: every message would be for somebody else",
            "name the addresses of this endpoint, or leave it out",
        );
    } else if !table.has("to") && !soap_action && of_requests_that_leave.is_none() {
        table.report_with_hint(
            place,
            "`addressing` demands nothing",
            "name the addresses of this endpoint, to = [\"https://…\"], or set soap_action = true",
        );
    }
    table.finish();
    let to = to.unwrap_or_default();
    Some(AddressingConfig {
        place,
        to: to.into_iter().map(|address| address.value).collect(),
        soap_action,
        action,
        message_id,
        reply_to,
        from,
        version,
        of_requests_that_leave,
    })
}
