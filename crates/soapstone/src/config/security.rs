//! The `[security]` table: what is done to messages, as written, before it is compiled into plans.
//!
//! Names of algorithms and suites are handed on as text with their place: which of them exist is
//! for the compiler of plans to say. The rule kept here: every name with a closed set of values is
//! checked here, once.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use soapstone_trust::ComputedKey;
use soapstone_wss::{
    ConversationVersion, EncryptedPart, Extent, KeyReference, Mechanism, Part, PasswordKind,
};

use super::document::LoadedFile;
use super::problem::{Located, Place};
use super::quoting::slip;
use super::store::{Shared, StoreConfig, WhenUnavailable, read_when_unavailable};
use super::table::{FlagOrStrings, FlagOrTable, Table};

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
    /// Whether a timestamp is sent and demanded (`timestamp = false` says no).
    pub wanted: bool,
    /// How long a message lives.
    pub ttl: Option<Duration>,
    /// How far the peer's clock may be off.
    pub skew: Option<Duration>,
    /// A `wsu:Timestamp` without `wsu:Expires` is refused.
    pub require_expires: bool,
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
}

/// `policy_may_be_empty`: which operations of a policy may be without protection.
#[derive(Clone, Debug, Default)]
pub enum MayBeEmpty {
    /// None.
    #[default]
    Nothing,
    /// All of them, and the policy as a whole.
    Everything,
    /// The operations of these names.
    Operations(Vec<Located<String>>),
}

/// Where replay marks are kept.
#[derive(Clone, Debug)]
pub enum ReplayStoreConfig {
    /// In this process.
    Memory,
    /// In a file, so that calls of the command line share them.
    File {
        /// The file; created when absent.
        path: PathBuf,
    },
    /// In Redis or Valkey.
    Redis {
        /// The servers.
        store: Box<StoreConfig>,
        /// What is done while they do not answer.
        when_unavailable: WhenUnavailable,
    },
}

/// `replay = { … }`.
#[derive(Clone, Debug)]
pub struct ReplayConfig {
    /// Where the table begins.
    pub place: Place,
    /// The store.
    pub store: ReplayStoreConfig,
    /// How many marks are kept at most.
    pub capacity: Option<u64>,
    /// Where a message that was accepted is a copy.
    pub scope: ReplayScope,
}

/// Where a message that was accepted is a copy: `scope = "process" | "route"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayScope {
    /// Wherever it comes to.
    Process,
    /// At this route. What another route accepted is accepted here again.
    Route,
}

/// Where security contexts are kept.
#[derive(Clone, Debug)]
pub enum ConversationStoreConfig {
    /// In this process.
    Memory,
    /// In Redis or Valkey.
    Redis {
        /// The servers, and the key that seals: it is always there.
        store: Box<StoreConfig>,
    },
}

/// `policy_subject = { … }`, `sha256_suites` and `same_endorser`: what a WSDL leaves open.
#[derive(Clone, Debug, Default)]
pub struct PolicyChoice {
    /// The service that is meant.
    pub service: Option<String>,
    /// The port that is meant.
    pub port: Option<String>,
    /// The operation that is meant.
    pub operation: Option<String>,
    /// Signatures of the `…Sha256` suites use SHA-256 too.
    pub sha256_signatures: bool,
    /// One key may make several of the endorsing signatures.
    pub same_endorser: bool,
    /// What may be without protection.
    pub may_be_empty: MayBeEmpty,
}

/// `conversations = { … }`.
#[derive(Clone, Debug)]
pub struct ConversationsConfig {
    /// Where the table begins.
    pub place: Place,
    /// The store.
    pub store: ConversationStoreConfig,
    /// How many contexts are kept in memory at most.
    pub capacity: Option<u64>,
    /// How many contexts of one owner are kept in memory at most.
    pub per_owner: Option<u64>,
    /// Preset by which contexts are asked for; `None` is `sign-encrypt`.
    pub bootstrap: Option<Located<Mechanism>>,
    /// Version of the tokens; `None` is 1.3.
    pub version: Option<Located<ConversationVersion>>,
    /// Life of contexts.
    pub lifetime: Option<Located<Duration>>,
    /// Contexts may be renewed by their key alone for so long after their owner was authenticated.
    pub renewal_by_key_alone: Option<Located<Duration>>,
    /// Contexts may be renewed and cancelled by their owner without a signature by their key.
    pub owner_alone: bool,
    /// Whether somebody who does not authenticate is given a context.
    pub anonymous: bool,
    /// How keys are computed from what both sides contribute: what is granted, the first where
    /// nothing is asked for; a client asks for the first. Empty is P_SHA1.
    pub computed_keys: Vec<ComputedKey>,
    /// Bits of a context's key where nothing else says them.
    pub key_size: Option<Located<u32>>,
    /// Addresses for which contexts are made; empty is all.
    pub applies_to: Vec<String>,
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
    /// How keys are pointed to.
    pub key_reference: Option<Located<KeyReference>>,
    /// How passwords travel.
    pub password: Option<Located<PasswordKind>>,
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

    /// Reads the table to its end. `None` when there is no usable source; whatever is wrong is
    /// reported.
    pub(super) fn read(mut table: Table<'_>, shared: Shared<'_>) -> Option<Self> {
        let place = table.place();
        let source = read_source(&mut table);
        let policy_choice = read_policy_choice(&mut table);
        if let Some(SecuritySource::Mechanism(_)) = source.as_ref().map(|source| &source.value) {
            for key in [
                "policy_subject",
                "sha256_suites",
                "same_endorser",
                "policy_may_be_empty",
            ] {
                if let Some(place) = table.place_of(key) {
                    let message = format!("`{key}` is given without `policy`, of which it speaks");
                    table.report_with_hint(place, message, WITHOUT_POLICY);
                }
            }
        }
        let suite = table.string("suite");
        let algorithms = table.table("algorithms").map(read_algorithms);
        if let (Some(_), Some(algorithms)) = (&suite, &algorithms) {
            table.report_with_hint(
                algorithms.place,
                "both `suite` and `algorithms` are given",
                "keep one of them",
            );
        }
        let signed = table.strings("signed").map(|names| {
            names
                .into_iter()
                .filter_map(|name| read_part(&table, "signed", &name.value, name.place))
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
        let encrypted = table.strings("encrypted").map(|names| {
            names
                .into_iter()
                .filter_map(|name| read_encrypted_part(&table, name))
                .collect()
        });
        let key_reference = table.choice(
            "key_reference",
            &KeyReference::ALL.map(|reference| (reference.name(), reference)),
        );
        let password = table.choice(
            "password",
            &[
                ("digest", PasswordKind::Digest),
                ("text", PasswordKind::Text),
            ],
        );
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
            key_reference,
            password,
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
            time,
        })
    }
}

fn read_source(table: &mut Table<'_>) -> Option<Located<SecuritySource>> {
    const EXAMPLE: &str = "say mechanism = \"sign-encrypt\", for example";
    let reserved = table.reserve("profile", EXAMPLE);
    let given: Vec<&str> = ["mechanism", "policy"]
        .into_iter()
        .filter(|key| table.has(key))
        .collect();
    match given.as_slice() {
        // Whoever says that means it in the place of the others.
        [] if reserved => {}
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
    let policy = table.file("policy").map(|file| Located {
        place: file.place,
        value: SecuritySource::Policy(Box::new(file)),
    });
    mechanism.or(policy)
}

/// What to do about a key that changes nothing under a preset.
pub(super) const WITHOUT_POLICY: &str =
    "leave it out, or name a policy = \"service.wsdl\" in the place of the mechanism";

fn read_policy_choice(table: &mut Table<'_>) -> PolicyChoice {
    let sha256_signatures = table
        .choice("sha256_suites", &[("letter", false), ("sha256", true)])
        .is_some_and(|choice| choice.value);
    let same_endorser = table
        .boolean("same_endorser")
        .is_some_and(|same| same.value);
    let example = "[\"Ping\"]";
    let may_be_empty = match table.flag_or_strings("policy_may_be_empty", example) {
        None => MayBeEmpty::Nothing,
        Some(given) => match given.value {
            FlagOrStrings::Flag(false) => MayBeEmpty::Nothing,
            FlagOrStrings::Flag(true) => MayBeEmpty::Everything,
            FlagOrStrings::Strings(names) => MayBeEmpty::Operations(names),
        },
    };
    let mut choice = PolicyChoice {
        sha256_signatures,
        same_endorser,
        may_be_empty,
        ..PolicyChoice::default()
    };
    if let Some(mut subject) = table.table("policy_subject") {
        let mut name = |key| subject.string(key).map(|name| name.value);
        choice.service = name("service");
        choice.port = name("port");
        choice.operation = name("operation");
        subject.finish();
    }
    choice
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

fn read_timestamp(table: &mut Table<'_>) -> Option<Located<TimestampConfig>> {
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
    table.finish();
    Some(Located {
        value: TimestampConfig {
            wanted: true,
            ttl,
            skew,
            require_expires: require_expires.is_some_and(|required| required.value),
        },
        place,
    })
}

fn read_addressing(mut table: Table<'_>) -> Option<AddressingConfig> {
    let place = table.place();
    let to = table.strings("to");
    let soap_action = table.boolean("soap_action");
    let soap_action = soap_action.is_some_and(|compared| compared.value);
    if table.is_empty_list("to") {
        table.report_with_hint(
            table.place_of("to").unwrap_or(place),
            "`to` names no address: every message would be for somebody else",
            "name the addresses of this endpoint, or leave it out",
        );
    } else if !table.has("to") && !soap_action {
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
    })
}

fn read_replay(mut table: Table<'_>, shared: Shared<'_>) -> Option<ReplayConfig> {
    #[derive(Clone, Copy)]
    enum Kind {
        Memory,
        File,
        Redis,
    }
    let place = table.place();
    let kind = table.choice(
        "store",
        &[
            ("memory", Kind::Memory),
            ("file", Kind::File),
            ("redis", Kind::Redis),
        ],
    );
    let path = table.path("path");
    let capacity = table.integer("capacity", 1, u64::from(u32::MAX));
    let store = match kind.map(|kind| kind.value) {
        Some(Kind::File) => {
            if !table.has("path") {
                table.missing(
                    "path",
                    "name the file that remembers, for example path = \"replay.marks\"",
                );
            }
            path.map(|path| ReplayStoreConfig::File { path: path.value })
        }
        Some(Kind::Redis) => {
            let when_unavailable = read_when_unavailable(&mut table);
            StoreConfig::read_among(&mut table, shared, false).map(|store| {
                ReplayStoreConfig::Redis {
                    store: Box::new(store),
                    when_unavailable,
                }
            })
        }
        Some(Kind::Memory) => Some(ReplayStoreConfig::Memory),
        None if table.has("store") => None,
        None => Some(ReplayStoreConfig::Memory),
    };
    let scopes = [
        ("process", ReplayScope::Process),
        ("route", ReplayScope::Route),
    ];
    let scope = table.choice("scope", &scopes);
    if let (Some(scope), Some(store)) = (&scope, &store)
        && scope.value == ReplayScope::Route
        && !matches!(store, ReplayStoreConfig::Memory)
    {
        table.report_with_hint(
            scope.place,
            "`scope = \"route\"` is for marks in memory: whoever shares a store does not know whose route is which",
            "leave `scope` out, or take store = \"memory\"",
        );
    }
    table.finish();
    Some(ReplayConfig {
        place,
        store: store?,
        capacity: capacity.map(|capacity| capacity.value),
        scope: scope.map_or(ReplayScope::Process, |scope| scope.value),
    })
}

fn read_conversations(mut table: Table<'_>, shared: Shared<'_>) -> Option<ConversationsConfig> {
    let place = table.place();
    let in_redis = table.choice("store", &[("memory", false), ("redis", true)]);
    let capacity = table
        .integer("capacity", 1, u64::from(u32::MAX))
        .map(|capacity| capacity.value);
    let per_owner = table
        .integer("per_owner", 1, u64::from(u32::MAX))
        .map(|share| share.value);
    let store = match in_redis.map(|choice| choice.value) {
        Some(true) => {
            let when_unavailable = read_when_unavailable(&mut table);
            if when_unavailable == WhenUnavailable::Accept {
                table.report(
                    table.place_of("when_unavailable").unwrap_or(place),
                    "`when_unavailable` must be \"refuse\" for conversations: their keys are in the store, found \"accept\"",
                );
            }
            StoreConfig::read_among(&mut table, shared, true).map(|store| {
                ConversationStoreConfig::Redis {
                    store: Box::new(store),
                }
            })
        }
        Some(false) => Some(ConversationStoreConfig::Memory),
        None if table.has("store") => None,
        None => Some(ConversationStoreConfig::Memory),
    };
    // Not `encrypt`: it says nothing of who asks, and what is said about a request that nobody
    // signed tells of its plaintext.
    let bootstraps = [
        Mechanism::Username,
        Mechanism::Sign,
        Mechanism::SignEncrypt,
        Mechanism::EncryptSign,
    ];
    let bootstrap = table.choice(
        "bootstrap",
        &bootstraps.map(|mechanism| (mechanism.name(), mechanism)),
    );
    let version = table.choice(
        "version",
        &[
            ("1.3", ConversationVersion::V13),
            ("2005-02", ConversationVersion::February2005),
        ],
    );
    let lifetime = table.duration("lifetime");
    let renewal_by_key_alone = table.duration("renewal_by_key_alone");
    let owner_alone = table
        .boolean("owner_alone")
        .is_some_and(|allowed| allowed.value);
    let anonymous = table
        .boolean("anonymous")
        .is_some_and(|anonymous| anonymous.value);
    let computed_keys = table.choices(
        "computed_keys",
        &[
            ("P_SHA1", ComputedKey::PSha1),
            ("P_SHA256", ComputedKey::PSha256),
        ],
    );
    let key_size = read_key_size(&mut table);
    let applies_to = table.strings("applies_to").unwrap_or_default();
    table.finish();
    Some(ConversationsConfig {
        place,
        store: store?,
        capacity,
        per_owner,
        bootstrap,
        version,
        lifetime,
        renewal_by_key_alone,
        owner_alone,
        anonymous,
        computed_keys: computed_keys.unwrap_or_default(),
        key_size,
        applies_to: applies_to
            .into_iter()
            .map(|address| address.value)
            .collect(),
    })
}

/// Bits, in whole octets, between what is never too short and what a context holds.
fn read_key_size(table: &mut Table<'_>) -> Option<Located<u32>> {
    let found = table.integer("key_size", 128, 512)?;
    let bits = u32::try_from(found.value).ok().filter(|bits| bits % 8 == 0);
    if bits.is_none() {
        let message = format!(
            "`key_size` must be bits of whole octets, found {}",
            found.value
        );
        table.report_with_hint(found.place, message, "256 is customary");
    }
    bits.map(|value| Located {
        value,
        place: found.place,
    })
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
const NAMED_PARTS: [&str; 5] = ["Body", "Timestamp", "Signature", "UsernameToken", "Token"];

fn read_part(table: &Table<'_>, key: &str, text: &str, place: Place) -> Option<Located<Part>> {
    match text.parse::<Part>() {
        Ok(value) => Some(Located { value, place }),
        Err(_) => {
            let (found, _) = slip(text, NAMED_PARTS.into_iter());
            table.report_with_hint(
                place,
                format!("`{key}` must name parts of the envelope, found {found}"),
                "a part is Body, Timestamp, Signature, UsernameToken, Token, {namespace}header or #id",
            );
            None
        }
    }
}
