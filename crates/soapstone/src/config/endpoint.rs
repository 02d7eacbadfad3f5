//! The endpoint file: who we are, whom we trust, and what is done to messages.
//!
//! The same tables stand alone in an endpoint file and below a gateway's routes. The rule kept
//! here: this is the file's content checked for shape, with every file and secret that it names
//! loaded; what it means is for the plans' compiler.

use std::path::{Path, PathBuf};

use soapstone_crypto::SubjectMatch;
use soapstone_wss::Tuning;

use super::confidential::Confidential;
use super::document::{Document, Environment, LoadedFile, Surroundings};
use super::identity::{self, IdentityConfig};
use super::known_key::KnownKey;
use super::problem::{Located, Place, Problem, Problems};
use super::security::{SecurityConfig, WITHOUT_POLICY};
use super::store::{Shared, StoreConfig};
use super::table::Table;
use super::tuning;
use super::values::decode_hexadecimal;

/// `[peer]`.
#[derive(Clone, Debug)]
pub struct PeerConfig {
    /// Where the table begins.
    pub place: Place,
    /// Whom to encrypt to.
    pub certificate: LoadedFile,
}

/// `[shared_key]`: a symmetric key that both sides hold.
#[derive(Clone, Debug)]
pub struct SharedKeyConfig {
    /// Where the table begins.
    pub place: Place,
    /// The name it has in messages.
    pub name: Option<Located<String>>,
    /// The key's octets.
    pub key: Confidential<Vec<u8>>,
}

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

/// One of `[[users]]`.
#[derive(Clone, Debug)]
pub struct UserConfig {
    /// Where the table begins.
    pub place: Place,
    /// The user's name.
    pub name: Located<String>,
    /// The password.
    pub password: Located<Confidential<String>>,
}

/// `[limits]`: each as written; what is absent keeps its default.
#[derive(Clone, Debug, Default)]
pub struct LimitsConfig {
    /// Deepest nesting of elements.
    pub depth: Option<Located<u64>>,
    /// Most attributes of one element.
    pub attributes: Option<Located<u64>>,
    /// Largest message, in bytes.
    pub message: Option<Located<u64>>,
    /// Most references in one signature.
    pub references: Option<Located<u64>>,
    /// Largest header, in bytes.
    pub header: Option<Located<u64>>,
    /// Most elements of one message.
    pub elements: Option<Located<u64>>,
    /// Most ids of one message.
    pub ids: Option<Located<u64>>,
    /// Longest name, in bytes.
    pub name: Option<Located<u64>>,
    /// Most distinct namespaces.
    pub namespaces: Option<Located<u64>>,
}

/// The tables that keys and passwords are given in.
const KEY_TABLES: [&str; 5] = ["identity", "peer", "shared_key", "trust", "users"];

/// An endpoint, as configured.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// The file it stands in.
    pub file: PathBuf,
    /// Where its tables begin.
    pub place: Place,
    /// Which of [`KEY_TABLES`] the file has, with or without problems.
    present: Vec<&'static str>,
    /// Our own key.
    pub identity: Option<IdentityConfig>,
    /// The other side's certificate.
    pub peer: Option<PeerConfig>,
    /// A symmetric key that both sides hold.
    pub shared_key: Option<SharedKeyConfig>,
    /// Whom we trust.
    pub trust: Option<TrustConfig>,
    /// Who we are (outbound), or whom we know (inbound).
    pub users: Vec<UserConfig>,
    /// The Redis or Valkey that nodes share.
    pub store: Option<StoreConfig>,
    /// What is done to messages.
    pub security: SecurityConfig,
    /// Bounds.
    pub limits: LimitsConfig,
    /// How messages are worked on.
    pub tuning: Tuning,
}

impl EndpointConfig {
    /// Loads an endpoint file.
    ///
    /// # Errors
    ///
    /// Everything wrong with it, in the order of the file.
    pub fn load(file: &Path, environment: &Environment<'_>) -> Result<Self, Problems> {
        Self::from_document(Document::load(file, environment)?)
    }

    /// Reads an endpoint file's text. `file` is its name for messages, and relative paths start at
    /// its folder.
    ///
    /// # Errors
    ///
    /// Everything wrong with it, in the order of the file.
    pub fn from_text(
        text: &str,
        file: &Path,
        environment: &Environment<'_>,
    ) -> Result<Self, Problems> {
        let surroundings = Surroundings {
            file: file.to_path_buf(),
            environment,
        };
        Self::from_document(Document::parse(text, surroundings))
    }

    /// Every key that the reader of an endpoint file with this text asks for, whether it is there
    /// or not: those of tables that the text has.
    pub fn known_keys(text: &str, file: &Path, environment: &Environment<'_>) -> Vec<KnownKey> {
        let surroundings = Surroundings {
            file: file.to_path_buf(),
            environment,
        };
        let document = Document::parse(text, surroundings);
        // Whatever is wrong with the text, its keys are those.
        let _ = Self::read(document.root());
        document.known_keys()
    }

    /// A problem with this endpoint's file, for whoever finds more than its shape to be wrong.
    pub fn problem(&self, place: Place, message: impl Into<String>) -> Problem {
        Problem::new(&self.file, place, message)
    }

    /// Whether the file has this table of keys or users, be it one that cannot be used.
    pub fn has(&self, table: &str) -> bool {
        self.present.contains(&table)
    }

    /// Reads an endpoint's tables from the table that holds them, to its end.
    ///
    /// `None` when something that must be there is not; it is reported to the table's document.
    pub fn read(table: Table<'_>) -> Option<Self> {
        Self::read_sharing(table, None)
    }

    /// The same, with a store that holds where the endpoint names none of its own.
    pub fn read_sharing(mut table: Table<'_>, shared: Option<&StoreConfig>) -> Option<Self> {
        let file = table.document().file().to_path_buf();
        let place = table.place();
        let present = KEY_TABLES
            .into_iter()
            .filter(|name| table.has(name) && !table.is_empty_list(name))
            .collect();
        let identity = table.table("identity").and_then(identity::read);
        let peer = table.table("peer").and_then(read_peer);
        let shared_key = table.table("shared_key").and_then(read_shared_key);
        let trust = table.table("trust").map(read_trust);
        let users = read_users(&mut table);
        if !table.has("security") {
            table.missing(
                "security",
                "say what is done to messages: security = { mechanism = \"sign-encrypt\", … }",
            );
        }
        let has_store = table.has("store");
        let store = table.table("store").and_then(StoreConfig::read);
        let shared = match store.as_ref().or(shared) {
            None if has_store => Shared::Unusable,
            None => Shared::Nothing,
            Some(store) => Shared::Store(store),
        };
        let security = table
            .table("security")
            .and_then(|table| SecurityConfig::read(table, shared));
        if let (Some(first), Some(_)) = (
            identity.as_ref().and_then(|one| one.endorsing.first()),
            security.as_ref().and_then(SecurityConfig::mechanism),
        ) {
            table.report_with_hint(
                first.place,
                "`endorsing` is given, and nothing is endorsed without a `policy` that wants it",
                WITHOUT_POLICY,
            );
        }
        let limits = table.table("limits").map(read_limits).unwrap_or_default();
        let tuning = table.table("tuning").map(tuning::read).unwrap_or_default();
        table.belong_elsewhere(
            &["listen", "routes"],
            "this is a key of a gateway's file: `soapstone gateway --config FILE` runs one",
        );
        table.belong_elsewhere(
            &[
                "conversations",
                "encrypted",
                "mechanism",
                "replay",
                "signed",
                "suite",
                "timestamp",
            ],
            "this is a key of `security`: security = { mechanism = \"…\", … }",
        );
        table.finish();
        Some(Self {
            file,
            place,
            present,
            identity,
            peer,
            shared_key,
            trust,
            users,
            store,
            security: security?,
            limits,
            tuning,
        })
    }

    fn from_document(document: Document<'_>) -> Result<Self, Problems> {
        let endpoint = Self::read(document.root());
        document.finish(endpoint)
    }
}

fn read_peer(mut table: Table<'_>) -> Option<PeerConfig> {
    let place = table.place();
    if !table.has("certificate") {
        table.missing(
            "certificate",
            "name a PEM file with the certificate to encrypt to",
        );
    }
    let certificate = table.file("certificate");
    table.finish();
    Some(PeerConfig {
        place,
        certificate: certificate?,
    })
}

fn read_shared_key(mut table: Table<'_>) -> Option<SharedKeyConfig> {
    let place = table.place();
    let name = table.string("name");
    let file = table.secret_file("file");
    let hexadecimal = table.secret("hex", "hex_env", "hex_file");
    let given = usize::from(table.has("file"))
        + ["hex", "hex_env", "hex_file"]
            .iter()
            .filter(|key| table.has(key))
            .count()
            .min(1);
    match given {
        0 => table.missing(
            "file",
            "name a file with the key's octets, or give them as hex, hex_env or hex_file",
        ),
        1 => {}
        _ => table.report_with_hint(place, "both `file` and `hex` are given", "keep one of them"),
    }
    let from_hexadecimal =
        hexadecimal.and_then(
            |text| match decode_hexadecimal(text.value.expose().trim()) {
                Some(octets) => Some(Confidential::new(octets)),
                None => {
                    table.report(
                        text.place,
                        "the key must be pairs of hexadecimal digits, found something else",
                    );
                    None
                }
            },
        );
    table.finish();
    Some(SharedKeyConfig {
        place,
        name,
        key: file.map(|file| file.bytes).or(from_hexadecimal)?,
    })
}

const SUBJECT_MATCHES: &[(&str, SubjectMatch)] = &[
    ("whole", SubjectMatch::Whole),
    ("contains", SubjectMatch::Contains),
];

fn read_trust(mut table: Table<'_>) -> TrustConfig {
    let trust = TrustConfig {
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
    };
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

fn read_users(table: &mut Table<'_>) -> Vec<UserConfig> {
    let mut users: Vec<UserConfig> = Vec::new();
    for user in table.tables("users").into_iter().filter_map(read_user) {
        if users
            .iter()
            .any(|known| known.name.value == user.name.value)
        {
            // The first password would be the one that counts.
            table.report_with_hint(
                user.name.place,
                format!("the user {} is there twice", user.name.value),
                "keep one of them",
            );
        }
        users.push(user);
    }
    users
}

fn read_user(mut table: Table<'_>) -> Option<UserConfig> {
    let place = table.place();
    let name = table.required_string("name", "for example name = \"alice\"");
    let password = table.secret("password", "password_env", "password_file");
    if let Some(empty) = password.as_ref().filter(|it| it.value.expose().is_empty()) {
        // A variable that was left empty, most of the time: everybody would be this user.
        table.report_with_hint(
            empty.place,
            "the password of a user is empty",
            "say which it is, or leave the user out",
        );
    }
    if !["password", "password_env", "password_file"]
        .iter()
        .any(|key| table.has(key))
    {
        table.missing("password", "give password_env, password_file or password");
    }
    table.finish();
    Some(UserConfig {
        place,
        name: name?,
        password: password?,
    })
}

fn read_limits(mut table: Table<'_>) -> LimitsConfig {
    let limits = LimitsConfig {
        depth: table.integer("depth", 1, u64::from(u16::MAX)),
        attributes: table.integer("attributes", 1, u64::from(u16::MAX)),
        message: table.size("message"),
        references: table.integer("references", 1, u64::from(u16::MAX)),
        header: table.size("header"),
        elements: table.integer("elements", 1, u64::from(u32::MAX)),
        ids: table.integer("ids", 1, u64::from(u32::MAX)),
        name: table.integer("name", 1, u64::from(u16::MAX)),
        namespaces: table.integer("namespaces", 1, u64::from(u16::MAX)),
    };
    table.finish();
    limits
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use soapstone_wss::{Extent, KeyReference, Mechanism, Part};

    use crate::config::{IdentitySource, ReplayStoreConfig};

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir()
                .join(format!("soapstone-config-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).expect("the temporary folder is writable");
            for file in [
                "client.key.pem",
                "client.cert.pem",
                "server.pem",
                "ca.pem",
                "ca.crl.pem",
            ] {
                std::fs::write(path.join(file), file).expect("the temporary folder is writable");
            }
            Self(path)
        }

        fn read(&self, text: &str) -> Result<EndpointConfig, Problems> {
            EndpointConfig::from_text(text, &self.0.join("endpoint.toml"), &|name| {
                (name == "ALICE_PASSWORD").then(|| "secret".to_owned())
            })
        }

        fn problems(&self, text: &str) -> String {
            let folder = format!("{}{}", self.0.display(), std::path::MAIN_SEPARATOR);
            self.read(text)
                .expect_err("the text is wrong")
                .to_string()
                .replace(&folder, "")
                .replace(&self.0.display().to_string(), "FOLDER")
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.0).ok();
        }
    }

    #[test]
    fn a_file_with_every_key_is_read_with_the_files_it_names() {
        let folder = Folder::new("every-key");
        let endpoint = folder
            .read(
                r##"
[identity]
key = "client.key.pem"
certificate = "client.cert.pem"
[peer]
certificate = "server.pem"
[trust]
anchors = ["ca.pem"]
pinned = ["server.pem"]
subjects = ["CN=client"]
subject_match = "contains"
extended_key_usage = ["clientAuth"]
crls = ["ca.crl.pem"]
min_rsa_bits = 2048
[[users]]
name = "alice"
password_env = "ALICE_PASSWORD"
[security]
mechanism = "sign-encrypt"
suite = "Basic256Sha256"
signed = ["Body", "Timestamp", "{http://www.w3.org/2005/08/addressing}To", "#Order-1"]
encrypted = ["Body", "element:#Order-1", "{urn:x}Secret"]
key_reference = "issuer-serial"
timestamp = { ttl = "5m", skew = "60s" }
replay = { store = "file", path = "marks" }
allow_weak_until = { rsa-sha1 = "2027-01-01" }
time = "2026-11-20T12:00:00Z"
[limits]
depth = 200
attributes = 256
message = "8MiB"
references = 64
"##,
            )
            .expect("the file is right");
        let identity = endpoint.identity.expect("there is one");
        let IdentitySource::KeyAndCertificate { key, certificate } = identity.source else {
            panic!("not a keystore")
        };
        assert_eq!(key.bytes.expose(), b"client.key.pem");
        assert_eq!(certificate.bytes.expose(), b"client.cert.pem");
        assert_eq!(endpoint.users[0].password.value.expose(), "secret");
        assert_eq!(endpoint.limits.message.expect("it is given").value, 8 << 20);
        let security = endpoint.security;
        assert_eq!(security.mechanism(), Some(Mechanism::SignEncrypt));
        assert_eq!(
            security.key_reference.expect("it is given").value,
            KeyReference::IssuerSerial
        );
        let signed: Vec<Part> = security
            .signed
            .expect("given")
            .into_iter()
            .map(|part| part.value)
            .collect();
        let to = Part::Header {
            namespace: "http://www.w3.org/2005/08/addressing".into(),
            local: "To".into(),
        };
        assert_eq!(
            signed,
            [Part::Body, Part::Timestamp, to, Part::Id("Order-1".into())]
        );
        let scopes: Vec<_> = security
            .encrypted
            .expect("given")
            .into_iter()
            .map(|part| part.value.extent)
            .collect();
        assert_eq!(scopes, [Extent::Content, Extent::Element, Extent::Element]);
        assert_eq!(
            security.timestamp.expect("given").value.skew,
            Some(Duration::from_secs(60))
        );
        let ReplayStoreConfig::File { path } = security.replay.expect("given").store else {
            panic!("not a file")
        };
        assert!(path.ends_with("marks") && path.is_absolute());
        assert_eq!(
            security.allow_weak_until[0].until.value.to_string(),
            "2027-01-01T00:00:00Z"
        );
    }

    #[test]
    fn all_problems_are_reported_at_once_with_place_and_hint() {
        let folder = Folder::new("problems");
        let problems = folder.problems(
            r#"[identity]
key = "cleint.key.pem"
[trust]
anchor = ["ca.pem"]
[[users]]
name = "bob"
password_env = "BOB_PASSWORD"
[security]
mechanism = "sign-encript"
sute = "Basic256"
signed = ["Body", "Boddy"]
timestamp = { ttl = "5 minutes" }
[limits]
depth = 0
"#,
        );
        let expected = r#"endpoint.toml:1:1: `certificate` is missing in [identity]
    hint: name a PEM file with the certificate, or a keystore = "….p12"
endpoint.toml:2:7: `key` names a file that cannot be read: No such file or directory (os error 2)
    hint: relative paths start at the folder FOLDER
endpoint.toml:3:1: `anchors` is missing in [trust]
    hint: say whom to trust: anchors = ["ca.pem"], or pinned = ["partner.pem"]
endpoint.toml:4:1: unknown key `anchor` in [trust]
    hint: did you mean `anchors`?
endpoint.toml:7:16: the environment variable that `password_env` names is not set
    hint: set it, or use `password` or `password_file`
endpoint.toml:9:13: `mechanism` must be one of none, username, sign, encrypt, sign-encrypt, encrypt-sign, secure-conversation, found "sign-encript"
    hint: did you mean "sign-encrypt"?
endpoint.toml:10:1: unknown key `sute` in [security]
    hint: did you mean `suite`?
endpoint.toml:11:19: `signed` must name parts of the envelope, found "Boddy"
    hint: a part is Body, Timestamp, Signature, UsernameToken, Token, {namespace}header or #id
endpoint.toml:12:21: `ttl` must be a duration such as "500ms", "60s", "5m" or "1h30m", found "5 minutes"
endpoint.toml:14:9: `depth` must be a whole number from 1 to 65535, found a smaller number"#;
        assert_eq!(problems, expected);
    }

    #[test]
    fn a_syntax_error_is_reported_with_its_place_and_without_its_consequences() {
        let folder = Folder::new("syntax");
        assert_eq!(
            folder.problems("[security\nmechanism = \"none\"\n"),
            "endpoint.toml:1:10: not valid TOML: unclosed table, expected `]`"
        );
    }

    #[test]
    fn lists_of_nobody_are_not_trust() {
        let folder = Folder::new("nobody");
        let expected = "endpoint.toml:1:1: `anchors` and `pinned` name nobody\n    \
             hint: say whom to trust: anchors = [\"ca.pem\"], or pinned = [\"partner.pem\"]";
        for nobody in ["anchors = []", "anchors = []\npinned = []", "pinned = []"] {
            let text = format!("[trust]\n{nobody}\n[security]\nmechanism = \"sign\"\n");
            assert_eq!(folder.problems(&text), expected);
        }
    }

    #[test]
    fn a_gateways_file_in_the_place_of_an_endpoints_is_recognised() {
        let folder = Folder::new("gateways");
        let problems =
            folder.problems("listen = \"127.0.0.1:0\"\nsecurity = { mechanism = \"none\" }\n");
        assert_eq!(
            problems,
            "endpoint.toml:1:1: unknown key `listen`\n    \
             hint: this is a key of a gateway's file: `soapstone gateway --config FILE` runs one"
        );
    }

    #[test]
    fn an_empty_file_lacks_its_security_table() {
        let folder = Folder::new("empty");
        assert_eq!(
            folder.problems(""),
            "endpoint.toml:1:1: `security` is missing\n    \
             hint: say what is done to messages: security = { mechanism = \"sign-encrypt\", … }"
        );
    }

    #[test]
    fn a_list_of_subjects_that_names_nobody_does_not_mean_everybody() {
        let folder = Folder::new("subjects");
        let problems = folder.problems(
            "trust = { anchors = [\"ca.pem\"], subjects = [] }\nsecurity = { mechanism = \"sign\" }\n",
        );
        let expected = "endpoint.toml:1:9: `subjects` names nobody\n    hint: leave it out where whoever is trusted may sign";
        assert_eq!(problems, expected);
    }

    #[test]
    fn a_signature_over_nothing_is_not_agreed_on() {
        let folder = Folder::new("nothing-signed");
        let problems = folder.problems("security = { mechanism = \"sign\", signed = [] }\n");
        let expected = "endpoint.toml:1:43: `signed` names no part: a signature would prove nothing of a message\n    \
                        hint: leave it out for Body and Timestamp, or take a mechanism that signs nothing";
        assert_eq!(problems, expected);
    }

    #[test]
    fn a_user_whom_everybody_could_be_or_who_is_there_twice_is_reported() {
        let folder = Folder::new("users");
        let empty = folder.0.join("empty");
        std::fs::write(empty, "\nopen sesame\n").expect("the temporary folder is writable");
        let problems = folder.problems(
            "users = [\n{ name = \"alice\", password = \"\" },\n{ name = \"bob\", password_file = \"empty\" },\n\
             { name = \"bob\", password = \"hunter2\" }]\nsecurity = { mechanism = \"username\" }\n",
        );
        let expected = "endpoint.toml:2:30: the password of a user is empty\n    hint: say which it is, or leave the user out\n\
                        endpoint.toml:3:33: the password of a user is empty\n    hint: say which it is, or leave the user out\n\
                        endpoint.toml:4:10: the user bob is there twice\n    hint: keep one of them";
        assert_eq!(problems, expected);
    }

    #[test]
    fn secrets_are_not_shown_by_debug() {
        let folder = Folder::new("debug");
        let endpoint = folder
            .read("[[users]]\nname = \"alice\"\npassword = \"hunter2\"\n[security]\nmechanism = \"username\"\n")
            .expect("the file is right");
        assert!(!format!("{endpoint:?}").contains("hunter2"));
    }

    #[test]
    fn a_shared_key_may_be_hexadecimal() {
        let folder = Folder::new("shared");
        let text = "shared_key = { name = \"k\", hex = \"00ff10\" }\nsecurity = { mechanism = \"sign\" }\n";
        let endpoint = folder.read(text).expect("the file is right");
        assert_eq!(
            endpoint.shared_key.expect("given").key.expose(),
            &[0x00, 0xff, 0x10]
        );
    }
}
