//! The `[security]` table: what is done to messages, as written, before it is compiled into plans.
//!
//! Names of algorithms and suites are handed on as text with their place: which of them exist is for the compiler of
//! plans to say. The rule kept here: every name with a closed set of values is checked here, once.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;

use super::problem::{Located, Place};
use super::reader::Table;

/// The security mechanisms, which are presets for a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MechanismName {
    /// Plain SOAP.
    None,
    /// A UsernameToken.
    Username,
    /// Signed parts.
    Sign,
    /// Encrypted parts.
    Encrypt,
    /// Signed, then encrypted.
    SignEncrypt,
    /// Encrypted, then signed.
    EncryptSign,
    /// WS-SecureConversation: a shared context with derived keys.
    SecureConversation,
}

impl MechanismName {
    /// Every mechanism under the name it has in configuration files, metrics and measurements.
    pub const ALL: [(&'static str, Self); 7] = [
        ("none", Self::None),
        ("username", Self::Username),
        ("sign", Self::Sign),
        ("encrypt", Self::Encrypt),
        ("sign-encrypt", Self::SignEncrypt),
        ("encrypt-sign", Self::EncryptSign),
        ("secure-conversation", Self::SecureConversation),
    ];

    /// The name it has in configuration files, metrics and measurements.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Username => "username",
            Self::Sign => "sign",
            Self::Encrypt => "encrypt",
            Self::SignEncrypt => "sign-encrypt",
            Self::EncryptSign => "encrypt-sign",
            Self::SecureConversation => "secure-conversation",
        }
    }
}

/// Where the policy comes from.
#[derive(Clone, Debug)]
pub enum SecuritySource {
    /// `mechanism = "…"`: a preset.
    Mechanism(MechanismName),
    /// `policy = "service.wsdl"`: a file with a WSDL or a WS-Policy document.
    Policy(PathBuf),
    /// `profile = "…"`: a named profile.
    Profile(String),
}

/// How a token or key is pointed to (WSS SOAP Message Security 1.1, section 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyReferenceName {
    /// A BinarySecurityToken in the message, referenced by its id.
    Direct,
    /// The certificate's SubjectKeyIdentifier.
    SubjectKeyIdentifier,
    /// The SHA-1 thumbprint of the certificate.
    Thumbprint,
    /// The certificate's issuer name and serial number.
    IssuerSerial,
    /// The token embedded in the reference.
    Embedded,
    /// A name agreed upon.
    KeyName,
    /// The SHA-1 of the encrypted key's octets.
    EncryptedKeySha1,
}

impl KeyReferenceName {
    /// Every key reference under the name it has in configuration files.
    pub const ALL: [(&'static str, Self); 7] = [
        ("direct", Self::Direct),
        ("ski", Self::SubjectKeyIdentifier),
        ("thumbprint", Self::Thumbprint),
        ("issuer-serial", Self::IssuerSerial),
        ("embedded", Self::Embedded),
        ("key-name", Self::KeyName),
        ("encrypted-key-sha1", Self::EncryptedKeySha1),
    ];
}

/// How the password of a UsernameToken travels (WSS UsernameToken Profile 1.1, section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PasswordForm {
    /// `#PasswordDigest`, with nonce and creation time.
    Digest,
    /// `#PasswordText`.
    Text,
}

/// A part of the envelope, as named in `signed` and `encrypted`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PartName {
    /// `Body`.
    Body,
    /// `Timestamp`: the `wsu:Timestamp` of the Security header.
    Timestamp,
    /// `Signature`: the message's own `ds:Signature`.
    Signature,
    /// `UsernameToken`.
    UsernameToken,
    /// `Token`: the token that the signature or encryption is made with.
    Token,
    /// `{namespace}local`: the header blocks of that name.
    Header {
        /// Namespace name.
        namespace: String,
        /// Local name.
        local: String,
    },
    /// `#id`: the element with that `wsu:Id`.
    Id(String),
}

/// What of a part is enciphered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EncryptedScope {
    /// `content:`: what is inside the element (XML Encryption `#Content`).
    Content,
    /// `element:`: the element itself (XML Encryption `#Element`).
    Element,
    /// `header:`: the element, in a `wsse11:EncryptedHeader`.
    Header,
}

/// An entry of `encrypted`: a part, and what of it where the file says so.
pub type EncryptedPartName = (PartName, Option<EncryptedScope>);

/// `algorithms = { … }`: each list as written, by URI or by short name, the first one being used to send.
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
    /// Symmetric key wrap algorithms.
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
        /// `redis://…`.
        url: String,
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
}

/// `allow_weak_until = { "rsa-sha1" = "2027-01-01" }`: one algorithm and the moment from which it is refused.
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
    /// Preset, policy or profile.
    pub source: Located<SecuritySource>,
    /// Name of an algorithm suite.
    pub suite: Option<Located<String>>,
    /// Algorithms listed one by one instead of a suite.
    pub algorithms: Option<AlgorithmsConfig>,
    /// Parts to sign; `None` leaves it to the preset.
    pub signed: Option<Vec<Located<PartName>>>,
    /// Parts to encrypt, each with what of it when the file says so; `None` leaves it to the preset.
    pub encrypted: Option<Vec<Located<EncryptedPartName>>>,
    /// How keys are pointed to.
    pub key_reference: Option<Located<KeyReferenceName>>,
    /// How passwords travel.
    pub password: Option<Located<PasswordForm>>,
    /// Timestamp settings.
    pub timestamp: Option<Located<TimestampConfig>>,
    /// Replay store.
    pub replay: Option<ReplayConfig>,
    /// Weak algorithms with an expiry date.
    pub allow_weak_until: Vec<WeakUse>,
    /// The role that the Security header is addressed to (`actor` in SOAP 1.1, `role` in SOAP 1.2).
    pub actor: Option<Located<String>>,
    /// Whether the Security header is marked `mustUnderstand`; `None` leaves it to the preset.
    pub must_understand: Option<Located<bool>>,
    /// The moment to pretend it is.
    pub time: Option<Located<Timestamp>>,
}

impl SecurityConfig {
    /// The preset's name, when it is a preset.
    pub fn mechanism(&self) -> Option<MechanismName> {
        match &self.source.value {
            SecuritySource::Mechanism(name) => Some(*name),
            _ => None,
        }
    }

    /// Reads the table to its end. `None` when there is no usable source; whatever is wrong is reported.
    pub(super) fn read(mut table: Table<'_>) -> Option<Self> {
        let place = table.place();
        let source = read_source(&mut table);
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
        let encrypted = table.strings("encrypted").map(|names| {
            names
                .into_iter()
                .filter_map(|name| read_scoped_part(&table, name))
                .collect()
        });
        let key_reference = table.choice("key_reference", &KeyReferenceName::ALL);
        let password = table.choice(
            "password",
            &[
                ("digest", PasswordForm::Digest),
                ("text", PasswordForm::Text),
            ],
        );
        let timestamp = read_timestamp(&mut table);
        let replay = table.table("replay").and_then(read_replay);
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
            suite,
            algorithms,
            signed,
            encrypted,
            key_reference,
            password,
            timestamp,
            replay,
            allow_weak_until,
            actor,
            must_understand,
            time,
        })
    }
}

fn read_source(table: &mut Table<'_>) -> Option<Located<SecuritySource>> {
    let given: Vec<&str> = ["mechanism", "policy", "profile"]
        .into_iter()
        .filter(|key| table.has(key))
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
    let mechanism = table
        .choice("mechanism", &MechanismName::ALL)
        .map(|name| name.map(SecuritySource::Mechanism));
    let policy = table
        .path("policy")
        .map(|path| path.map(SecuritySource::Policy));
    let profile = table
        .string("profile")
        .map(|name| name.map(SecuritySource::Profile));
    mechanism.or(policy).or(profile)
}

fn read_algorithms(mut table: Table<'_>) -> AlgorithmsConfig {
    let mut list = |key| table.strings(key).unwrap_or_default();
    let (signature, digest, canonicalization) =
        (list("signature"), list("digest"), list("canonicalization"));
    let (key_transport, oaep_digest, oaep_mgf) =
        (list("key_transport"), list("oaep_digest"), list("oaep_mgf"));
    let (key_wrap, data) = (list("key_wrap"), list("data"));
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
        key_wrap,
        data,
    }
}

fn read_timestamp(table: &mut Table<'_>) -> Option<Located<TimestampConfig>> {
    let place = table.place_of("timestamp")?;
    if let Some(wanted) = table.boolean_or_table("timestamp") {
        return Some(Located {
            value: TimestampConfig {
                wanted,
                ttl: None,
                skew: None,
            },
            place,
        });
    }
    let mut table = table.table("timestamp")?;
    let ttl = table.duration("ttl").map(|ttl| ttl.value);
    let skew = table.duration("skew").map(|skew| skew.value);
    table.finish();
    Some(Located {
        value: TimestampConfig {
            wanted: true,
            ttl,
            skew,
        },
        place,
    })
}

fn read_replay(mut table: Table<'_>) -> Option<ReplayConfig> {
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
    let url = table.string("url");
    let capacity = table
        .integer("capacity", 1, u64::from(u32::MAX))
        .map(|capacity| capacity.value);
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
            if !table.has("url") {
                table.missing("url", "for example url = \"redis://127.0.0.1:6379\"");
            }
            url.map(|url| ReplayStoreConfig::Redis { url: url.value })
        }
        Some(Kind::Memory) => Some(ReplayStoreConfig::Memory),
        None if table.has("store") => None,
        None => Some(ReplayStoreConfig::Memory),
    };
    table.finish();
    Some(ReplayConfig {
        place,
        store: store?,
        capacity,
    })
}

fn read_scoped_part(
    table: &Table<'_>,
    name: Located<String>,
) -> Option<Located<EncryptedPartName>> {
    let (scope, rest) = match name.value.split_once(':') {
        Some(("content", rest)) => (Some(EncryptedScope::Content), rest),
        Some(("element", rest)) => (Some(EncryptedScope::Element), rest),
        Some(("header", rest)) => (Some(EncryptedScope::Header), rest),
        _ => (None, name.value.as_str()),
    };
    Some(read_part(table, "encrypted", rest, name.place)?.map(|part| (part, scope)))
}

fn read_part(table: &Table<'_>, key: &str, text: &str, place: Place) -> Option<Located<PartName>> {
    let named = match text {
        "Body" => Some(PartName::Body),
        "Timestamp" => Some(PartName::Timestamp),
        "Signature" => Some(PartName::Signature),
        "UsernameToken" => Some(PartName::UsernameToken),
        "Token" => Some(PartName::Token),
        _ => None,
    };
    let id = || {
        text.strip_prefix('#')
            .filter(|id| !id.is_empty())
            .map(|id| PartName::Id(id.to_owned()))
    };
    let header = || {
        let (namespace, local) = text.strip_prefix('{')?.split_once('}')?;
        let plain = !local.is_empty() && !local.contains(['{', '}', ':', ' ', '#', '/']);
        plain.then(|| PartName::Header {
            namespace: namespace.to_owned(),
            local: local.to_owned(),
        })
    };
    match named.or_else(id).or_else(header) {
        Some(value) => Some(Located { value, place }),
        None => {
            table.report_with_hint(
                place,
                format!("`{key}` must name parts of the envelope, found \"{text}\""),
                "a part is Body, Timestamp, Signature, UsernameToken, Token, {namespace}header or #id",
            );
            None
        }
    }
}
