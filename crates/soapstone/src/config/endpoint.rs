//! The endpoint file: who we are, whom we trust, and what is done to messages.
//!
//! The same tables stand alone in an endpoint file and below a gateway's routes. The rule kept
//! here: this is the file's content checked for shape, with every file and secret that it names
//! loaded; what it means is for the plans' compiler.

use std::path::{Path, PathBuf};

use soapstone_wss::Tuning;

use super::answers::AnswersConfig;
use super::confidential::Confidential;
use super::document::{Document, Environment, Surroundings};
use super::identity::{self, IdentityConfig};
use super::inner::{self, InnerConfig};
use super::kerberos::{self, KerberosConfig};
use super::known_key::KnownKey;
use super::nodes::{IntermediaryConfig, RecipientConfig, read_recipients};
use super::peer::{PeerConfig, read_peer};
use super::policy_choice::WITHOUT_POLICY;
use super::problem::{Located, Place, Problem, Problems};
use super::saml::{self, SamlConfig};
use super::security::SecurityConfig;
use super::shared_key::{self, SharedKeyConfig};
use super::store::{Shared, StoreConfig};
use super::sts::StsConfig;
use super::table::Table;
use super::token_service::{self, TokenServiceConfig};
use super::trust::{TrustConfig, read_trust};
use super::tuning;

/// One of `[[users]]`.
#[derive(Clone, Debug)]
pub struct UserConfig {
    /// Where the table begins.
    pub place: Place,
    /// The user's name.
    pub name: Located<String>,
    /// The password; none, where no message proves one.
    pub password: Option<Located<Confidential<String>>>,
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
    /// Most attachments of a message together, in bytes.
    pub attachments: Option<Located<u64>>,
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
const KEY_TABLES: [&str; 8] = [
    "identity",
    "kerberos",
    "inner",
    "peer",
    "saml",
    "shared_key",
    "trust",
    "users",
];

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
    /// The Kerberos tokens that are accepted, or made.
    pub kerberos: Option<KerberosConfig>,
    /// The assertions that are accepted, or sent.
    pub saml: Option<SamlConfig>,
    /// The token service that the endpoint is. Its table stands beside those of the endpoint.
    pub sts: Option<StsConfig>,
    /// The token service that makes the assertions of requests.
    pub token_service: Option<TokenServiceConfig>,
    /// Elements of the Body that are signed or encrypted by themselves.
    pub inner: Option<InnerConfig>,
    /// The Redis or Valkey that nodes share.
    pub store: Option<StoreConfig>,
    /// What is done to messages.
    pub security: SecurityConfig,
    /// Whether it passes messages on to other nodes, and how.
    pub intermediary: Option<IntermediaryConfig>,
    /// Nodes that get a header of their own in messages that leave, in the order in which a
    /// message reaches them.
    pub recipients: Vec<RecipientConfig>,
    /// What answers prove or get, where that differs from requests.
    pub answers: Option<AnswersConfig>,
    /// What answers have for a node on the way; `None`, where they pass it as they come.
    pub passed_answers: Option<AnswersConfig>,
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

    /// The same file with the keys of one node on the way in the place of those of the last one:
    /// no user, no ticket and no assertion is for such a node.
    pub(crate) fn towards(&self, node: &RecipientConfig) -> Self {
        let mut own = self.clone();
        own.peer.clone_from(&node.peer);
        own.shared_key.clone_from(&node.shared_key);
        own.security = node.instead_of(&self.security);
        own.intermediary = None;
        own.answers = None;
        own.users = Vec::new();
        own.kerberos = None;
        own.saml = None;
        let is_of_last =
            |table: &&str| !["peer", "shared_key", "users", "kerberos", "saml"].contains(table);
        own.present.retain(is_of_last);
        let present = [
            ("peer", node.peer.is_some()),
            ("shared_key", node.shared_key.is_some()),
        ];
        let present = present.into_iter().filter(|(_, is_there)| *is_there);
        own.present.extend(present.map(|(table, _)| table));
        own
    }

    /// The same file with this key, or with none, in the place of the key that both sides hold.
    pub(crate) fn hold(&mut self, key: Option<SharedKeyConfig>) {
        const TABLE: &str = "shared_key";
        self.present.retain(|table| *table != TABLE);
        if key.is_some() {
            self.present.push(TABLE);
        }
        self.shared_key = key;
    }

    /// Reads an endpoint's tables from the table that holds them, to its end.
    ///
    /// `None` when something that must be there is not; it is reported to the table's document.
    pub fn read(table: Table<'_>) -> Option<Self> {
        Self::read_sharing(table, None)
    }

    /// The same, with a store that holds where the endpoint names none of its own.
    pub fn read_sharing(table: Table<'_>, shared: Option<&StoreConfig>) -> Option<Self> {
        Self::read_tables(table, shared, true)
    }

    /// Reads the tables of an endpoint that talks to a token service: keys, users, tickets, trust,
    /// and what is done to messages.
    pub(super) fn read_towards_token_service(table: Table<'_>) -> Option<Self> {
        Self::read_tables(table, None, false)
    }

    /// `whole` says whether the endpoint may have every table.
    fn read_tables(
        mut table: Table<'_>,
        shared: Option<&StoreConfig>,
        whole: bool,
    ) -> Option<Self> {
        let file = table.document().file().to_path_buf();
        let place = table.place();
        let present = KEY_TABLES
            .into_iter()
            .filter(|name| table.has(name) && !table.is_empty_list(name))
            .collect();
        let identity = table.table("identity").and_then(identity::read);
        let peer = table.table("peer").and_then(read_peer);
        let shared_key = table.table("shared_key").and_then(shared_key::read);
        let trust = table.table("trust").map(read_trust);
        let mut of_saml = table_if(whole, &mut table, "saml");
        let token_service = of_saml
            .as_mut()
            .and_then(|saml| saml.table("token_service"))
            .map(token_service::read);
        let saml = of_saml.map(|saml| saml::read(saml, token_service.is_some()));
        let kerberos = table.table("kerberos").map(kerberos::read);
        let inner = table_if(whole, &mut table, "inner").map(inner::read);
        if !table.has("security") {
            table.missing(
                "security",
                "say what is done to messages: security = { mechanism = \"sign-encrypt\", … }",
            );
        }
        let has_store = whole && table.has("store");
        let store = table_if(whole, &mut table, "store").and_then(StoreConfig::read);
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
        let names_alone = security
            .as_ref()
            .is_some_and(SecurityConfig::may_lack_passwords);
        let users = read_users(&mut table, names_alone);
        let intermediary = match whole {
            true => IntermediaryConfig::read(&mut table),
            false => None,
        };
        let actor = security.as_ref().and_then(|it| it.actor.as_ref());
        if let (Some(_), Some(actor)) = (&intermediary, actor) {
            table.report_with_hint(
                actor.place,
                "both `role` and `actor` are given",
                "keep `role`, which is the actor of an intermediary",
            );
        }
        let recipients = match whole {
            true => read_recipients(&mut table),
            false => Vec::new(),
        };
        let answers = table_if(whole, &mut table, "answers").map(AnswersConfig::read);
        if let Some(answers) = &answers {
            answers.check_readers(&table, table.has("role"));
        }
        let (answers, passed_answers) = match intermediary {
            Some(_) => (None, answers),
            None => (answers, None),
        };
        let limits = table.table("limits").map(read_limits).unwrap_or_default();
        let tuning = table_if(whole, &mut table, "tuning").map(tuning::read);
        let tuning = tuning.unwrap_or_default();
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
            kerberos,
            saml,
            sts: None,
            token_service,
            inner,
            store,
            security: security?,
            intermediary,
            recipients,
            answers,
            passed_answers,
            limits,
            tuning,
        })
    }

    fn from_document(document: Document<'_>) -> Result<Self, Problems> {
        let endpoint = Self::read(document.root());
        document.finish(endpoint)
    }
}

/// A table that only some endpoints have.
fn table_if<'d>(may: bool, table: &mut Table<'d>, key: &'static str) -> Option<Table<'d>> {
    match may {
        true => table.table(key),
        false => None,
    }
}

fn read_users(table: &mut Table<'_>, names_alone: bool) -> Vec<UserConfig> {
    let mut users: Vec<UserConfig> = Vec::new();
    let read = |table| read_user(table, names_alone);
    for user in table.tables("users").into_iter().filter_map(read) {
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

fn read_user(mut table: Table<'_>, names_alone: bool) -> Option<UserConfig> {
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
    let is_given = ["password", "password_env", "password_file"]
        .iter()
        .any(|key| table.has(key));
    if !is_given && !names_alone {
        table.missing("password", "give password_env, password_file or password");
    }
    table.finish();
    Some(UserConfig {
        place,
        name: name?,
        password: match is_given {
            true => Some(password?),
            false => None,
        },
    })
}

fn read_limits(mut table: Table<'_>) -> LimitsConfig {
    let limits = LimitsConfig {
        depth: table.integer("depth", 1, u64::from(u16::MAX)),
        attributes: table.integer("attributes", 1, u64::from(u16::MAX)),
        message: table.size("message"),
        attachments: table.size("attachments"),
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
mod tests;
