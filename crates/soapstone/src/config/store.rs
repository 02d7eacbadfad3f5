//! The `[store]` table: the Redis or Valkey that several nodes share.
//!
//! The same keys may stand in `replay` and `conversations`, where a store of their own is wanted.
//! The rule kept here: which servers there are is checked while the file is read; whether they
//! answer is for those who ask them.

use std::time::Duration;

use super::confidential::Confidential;
use super::document::LoadedFile;
use super::problem::{Located, Place};
use super::quoting::OTHER_TEXT;
use super::server_address::{ServerAddress, Url, read_addresses};
use super::table::{FlagOrTable, Table};
use super::tls_files::TlsKey;
use super::values::decode_hexadecimal;

/// Longest that an operation may take when the configuration does not say.
///
/// A store in the same data centre answers within a millisecond; a quarter of a second bridges a
/// lost packet, and nobody waits longer for a store that hangs.
const DEFAULT_TIMEOUT: Duration = Duration::from_millis(250);

/// Bytes of a key that seals.
const SEAL_KEY_LENGTH: usize = 32;

/// Where keys begin when the configuration does not say.
const DEFAULT_PREFIX: &str = "soapstone";

/// How the servers of a store are arranged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreServers {
    /// `url = "redis://…"`: one server.
    Single(ServerAddress),
    /// `sentinels = […]`, `master = "…"`: the primary of that name, as the Sentinels know it.
    Sentinel {
        /// The Sentinels.
        sentinels: Vec<ServerAddress>,
        /// The name they watch the primary under.
        master: String,
    },
    /// `nodes = […]`: a Redis Cluster.
    Cluster {
        /// Nodes to ask for the others.
        nodes: Vec<ServerAddress>,
    },
}

/// `tls = true`, `tls = { … }` or `rediss://`.
#[derive(Clone, Debug, Default)]
pub struct StoreTlsConfig {
    /// Authorities of the servers' certificates; the system's when empty.
    pub ca: Vec<LoadedFile>,
    /// Our certificate and its key, for mutual TLS.
    pub identity: Option<(LoadedFile, TlsKey)>,
}

/// Name and password at a server.
#[derive(Clone, Debug, Default)]
pub struct StoreLogin {
    /// User of the access control list; the default user when there is none.
    pub username: Option<String>,
    /// Password.
    pub password: Option<Confidential<String>>,
}

/// `[store]`.
#[derive(Clone, Debug)]
pub struct StoreConfig {
    /// Where the table begins.
    pub place: Place,
    /// The servers.
    pub servers: StoreServers,
    /// TLS to servers and Sentinels; `None` for none.
    pub tls: Option<StoreTlsConfig>,
    /// Who we are at the servers.
    pub login: StoreLogin,
    /// Who we are at the Sentinels.
    pub sentinel_login: StoreLogin,
    /// Number of the database.
    pub database: u32,
    /// What all keys begin with.
    pub prefix: String,
    /// Longest that one operation takes, connecting and looking for the primary included.
    pub timeout: Duration,
    /// How many replicas must have a write before it counts.
    pub replicas: u32,
    /// What security contexts are sealed with.
    pub seal_key: Option<Confidential<Vec<u8>>>,
    /// What else opens them, while keys are changed.
    pub other_seal_key: Option<Confidential<Vec<u8>>>,
}

/// What is done while the store does not answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenUnavailable {
    /// Messages are refused.
    #[default]
    Refuse,
    /// Messages are accepted that this node alone has not seen before. Another node may have: each
    /// is counted.
    Accept,
}

/// The `[store]` that holds for a table which names no servers of its own.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shared<'s> {
    /// There is none.
    Nothing,
    /// There is one, and what is wrong with it has been reported.
    Unusable,
    /// This one.
    Store(&'s StoreConfig),
}

impl StoreConfig {
    /// Reads a `[store]` table to its end. `None` when there is no usable server, or a key that
    /// seals is not usable; whatever is wrong is reported.
    pub fn read(mut table: Table<'_>) -> Option<Self> {
        let seal = read_seal_keys(&mut table);
        let store = Self::read_servers(&mut table);
        if !names_servers(&table) {
            report_missing(&table);
        }
        let seal_key_unusable = seal.0.is_none() && has_seal_key(&table);
        table.finish();
        if seal_key_unusable {
            return None;
        }
        Some(Self {
            seal_key: seal.0,
            other_seal_key: seal.1,
            ..store?
        })
    }

    /// Reads the keys of a store that stand among those of another table, or takes the shared store
    /// where there are none.
    pub(super) fn read_among(
        table: &mut Table<'_>,
        shared: Shared<'_>,
        seals: bool,
    ) -> Option<Self> {
        let own_seal = if seals {
            read_seal_keys(table)
        } else {
            (None, None)
        };
        let own = Self::read_servers(table);
        let store = match shared {
            _ if names_servers(table) => own?,
            Shared::Store(shared) => shared.clone(),
            Shared::Unusable => return None,
            Shared::Nothing => {
                report_missing(table);
                return None;
            }
        };
        if seals && own_seal.0.is_none() && has_seal_key(table) {
            return None;
        }
        let store = Self {
            seal_key: own_seal.0.or(store.seal_key),
            other_seal_key: own_seal.1.or(store.other_seal_key),
            ..store
        };
        if seals && store.seal_key.is_none() {
            table.missing(
                "seal_key",
                "security contexts rest sealed: seal_key_env = \"…\" or seal_key_file = \"…\" with 64 hexadecimal digits, \
                 as `openssl rand -hex 32` prints them",
            );
            return None;
        }
        Some(store)
    }

    fn read_servers(table: &mut Table<'_>) -> Option<Self> {
        let forms: Vec<&str> = ["url", "sentinels", "nodes"]
            .into_iter()
            .filter(|form| table.has(form))
            .collect();
        if let [first, second, ..] = forms.as_slice() {
            let place = table.place_of(second).unwrap_or_default();
            table.report_with_hint(
                place,
                format!("both `{first}` and `{second}` are given"),
                "url for one server, sentinels and master for a primary with replicas, nodes for a cluster",
            );
        }
        let url = table.string("url").and_then(|url| {
            let parsed = Url::parse(&url.value);
            if parsed.is_none() {
                // The value may hold a password and is not shown.
                table.report_with_hint(
                    url.place,
                    "`url` must be redis://host, or rediss://host for TLS, with a port and the number of a database if need be, \
                     found something else",
                    "for example \"redis://127.0.0.1:6379/0\"; name and password stand in username and password_env, \
                     or percent-encoded before the host",
                );
            }
            parsed
        });
        let sentinels = read_addresses(table, "sentinels", 26_379);
        if table.has("sentinels") && !table.has("master") {
            table.missing(
                "master",
                "the name that the Sentinels watch the primary under, for example master = \"soapstone\"",
            );
        }
        let master = table.string("master");
        if let (Some(place), false) = (table.place_of("master"), table.has("sentinels")) {
            table.report(place, "`master` is given without `sentinels`");
        }
        let nodes = read_addresses(table, "nodes", 6379);
        let tls = read_tls(table);
        let mut login = read_login(table, "username", PASSWORD_KEYS);
        let sentinel_login = read_login(table, "sentinel_username", SENTINEL_PASSWORD_KEYS);
        let database = table.integer("database", 0, 1 << 16);
        let prefix = table.string("prefix").and_then(|prefix| {
            let right = (1..=64).contains(&prefix.value.len())
                && prefix
                    .value
                    .bytes()
                    .all(|octet| octet.is_ascii_alphanumeric() || b"-_.:".contains(&octet));
            if !right {
                table.report(
                    prefix.place,
                    format!(
                        "`prefix` must be 1 to 64 letters, digits, `-`, `_`, `.` or `:`, found {OTHER_TEXT}"
                    ),
                );
            }
            right.then_some(prefix.value)
        });
        let timeout = table.duration("timeout").filter(|timeout| {
            let right =
                (Duration::from_millis(5)..=Duration::from_secs(60)).contains(&timeout.value);
            if !right {
                table.report(
                    timeout.place,
                    format!(
                        "`timeout` must be from 5ms to 60s, found {:?}",
                        timeout.value
                    ),
                );
            }
            right
        });
        let replicas = table.integer("replicas", 0, 16);
        let (url_tls, url_database) = match &url {
            Some(url) => (url.tls, url.database),
            None => (false, None),
        };
        if let (Some(database), true) = (&database, table.has("nodes"))
            && database.value != 0
        {
            table.report(database.place, "a cluster has database 0 only");
        }
        let servers = if let Some(url) = url {
            login.username = login.username.or(url.username);
            login.password = login.password.or(url.password);
            StoreServers::Single(url.address)
        } else if let (Some(sentinels), Some(master)) = (sentinels, master) {
            StoreServers::Sentinel {
                sentinels,
                master: master.value,
            }
        } else {
            StoreServers::Cluster { nodes: nodes? }
        };
        let tls = tls.or(url_tls.then(StoreTlsConfig::default));
        if tls.is_none() {
            warn_of_clear_passwords(table, &servers, &login, &sentinel_login);
        }
        // A primary that can be replaced may take with it what no replica has.
        let customary_replicas = u32::from(!matches!(servers, StoreServers::Single(_)));
        Some(Self {
            place: table.place(),
            servers,
            tls,
            login,
            sentinel_login,
            database: database
                .and_then(|database| u32::try_from(database.value).ok())
                .or(url_database)
                .unwrap_or(0),
            prefix: prefix.unwrap_or_else(|| DEFAULT_PREFIX.to_owned()),
            timeout: timeout.map_or(DEFAULT_TIMEOUT, |timeout| timeout.value),
            replicas: replicas
                .and_then(|replicas| u32::try_from(replicas.value).ok())
                .unwrap_or(customary_replicas),
            seal_key: None,
            other_seal_key: None,
        })
    }
}

/// Warns of passwords that servers are told without TLS.
fn warn_of_clear_passwords(
    table: &Table<'_>,
    servers: &StoreServers,
    login: &StoreLogin,
    sentinel_login: &StoreLogin,
) {
    let addresses = match servers {
        StoreServers::Single(address) => std::slice::from_ref(address),
        StoreServers::Sentinel { sentinels, .. } => sentinels,
        StoreServers::Cluster { nodes } => nodes,
    };
    let key = match (&login.password, &sentinel_login.password) {
        (Some(_), _) => "password",
        (None, Some(_)) => "sentinel_password",
        (None, None) => return,
    };
    for address in addresses {
        table
            .document()
            .warn_of_clear_secret(table.place(), key, &address.host);
    }
}

/// `when_unavailable = "refuse" | "accept"`.
pub(super) fn read_when_unavailable(table: &mut Table<'_>) -> WhenUnavailable {
    table
        .choice(
            "when_unavailable",
            &[
                ("refuse", WhenUnavailable::Refuse),
                ("accept", WhenUnavailable::Accept),
            ],
        )
        .map_or(WhenUnavailable::default(), |choice| choice.value)
}

fn names_servers(table: &Table<'_>) -> bool {
    ["url", "sentinels", "nodes"]
        .iter()
        .any(|form| table.has(form))
}

fn report_missing(table: &Table<'_>) {
    table.missing(
        "url",
        "for example url = \"redis://127.0.0.1:6379\"; or sentinels and master, or the nodes of a cluster; or a [store] table with them",
    );
}

const PASSWORD_KEYS: [&str; 3] = ["password", "password_env", "password_file"];
const SENTINEL_PASSWORD_KEYS: [&str; 3] = [
    "sentinel_password",
    "sentinel_password_env",
    "sentinel_password_file",
];

fn read_login(
    table: &mut Table<'_>,
    username: &'static str,
    [password, environment, file]: [&'static str; 3],
) -> StoreLogin {
    StoreLogin {
        username: table.string(username).map(|name| name.value),
        password: table
            .secret(password, environment, file)
            .map(|password| password.value),
    }
}

fn has_seal_key(table: &Table<'_>) -> bool {
    ["seal_key", "seal_key_env", "seal_key_file"]
        .iter()
        .any(|key| table.has(key))
}

type SealKey = Option<Confidential<Vec<u8>>>;

fn read_seal_keys(table: &mut Table<'_>) -> (SealKey, SealKey) {
    let key = table.secret("seal_key", "seal_key_env", "seal_key_file");
    let other = table.secret(
        "other_seal_key",
        "other_seal_key_env",
        "other_seal_key_file",
    );
    (
        key.and_then(|key| read_seal_key(table, &key)),
        other.and_then(|key| read_seal_key(table, &key)),
    )
}

fn read_seal_key(table: &Table<'_>, text: &Located<Confidential<String>>) -> SealKey {
    let octets = decode_hexadecimal(text.value.expose().trim()).map(Confidential::new);
    let key = octets.filter(|octets| octets.expose().len() == SEAL_KEY_LENGTH);
    if key.is_none() {
        table.report_with_hint(
            text.place,
            "a key that seals must be 64 hexadecimal digits, found something else",
            "make one with `openssl rand -hex 32`",
        );
    }
    key
}

/// `tls = true`, or a table. `None` when it is absent or false.
fn read_tls(table: &mut Table<'_>) -> Option<StoreTlsConfig> {
    let given = table.flag_or_table("tls", "{ ca = [\"ca.pem\"] }")?;
    let mut table = match given.value {
        FlagOrTable::Flag(wanted) => return wanted.then(StoreTlsConfig::default),
        FlagOrTable::Table(table) => table,
    };
    let ca = table.files("ca").unwrap_or_default();
    const BOTH: &str = "mutual TLS takes a certificate and its key";
    match (table.has("certificate"), TlsKey::is_named(&table)) {
        (true, false) => table.missing("key", BOTH),
        (false, true) => table.missing("certificate", BOTH),
        _ => {}
    }
    let identity = table.file("certificate").zip(TlsKey::read(&mut table));
    table.finish();
    Some(StoreTlsConfig { ca, identity })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ConversationStoreConfig, EndpointConfig, Problems, ReplayStoreConfig};
    use std::path::Path;

    const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

    fn read(text: &str) -> Result<EndpointConfig, Problems> {
        let environment = |name: &str| match name {
            "KEY" => Some(KEY.to_owned()),
            "PASSWORD" => Some("open sesame".to_owned()),
            _ => None,
        };
        EndpointConfig::from_text(text, Path::new("endpoint.toml"), &environment)
    }

    fn replay_store(text: &str) -> StoreConfig {
        let endpoint = read(text).unwrap_or_else(|problems| panic!("{problems}"));
        match endpoint.security.replay.expect("given").store {
            ReplayStoreConfig::Redis { store, .. } => *store,
            other => panic!("not Redis: {other:?}"),
        }
    }

    fn problems(text: &str) -> String {
        read(text).expect_err("the text is wrong").to_string()
    }

    fn address(host: &str, port: u16) -> ServerAddress {
        ServerAddress {
            host: host.to_owned(),
            port,
        }
    }

    #[test]
    fn a_url_says_all_about_a_single_server() {
        let store = replay_store(
            "[security]\nmechanism = \"sign\"\n\
             replay = { store = \"redis\", url = \"rediss://us%40er:pa%3Ass@redis.example:7000/3\" }\n",
        );
        assert_eq!(
            store.servers,
            StoreServers::Single(address("redis.example", 7000))
        );
        assert!(store.tls.is_some());
        assert_eq!(store.login.username.as_deref(), Some("us@er"));
        let password = store.login.password.expect("given");
        assert_eq!(password.expose(), "pa:ss");
        assert_eq!((store.database, store.replicas), (3, 0));
        assert_eq!(store.timeout, Duration::from_millis(250));
        assert_eq!(store.prefix, "soapstone");
    }

    #[test]
    fn one_store_table_serves_replay_marks_and_conversations() {
        let endpoint = read(
            r#"
[store]
sentinels = ["10.0.0.1", "10.0.0.2:26380", "[::1]:26381"]
master = "soapstone"
password_env = "PASSWORD"
timeout = "100ms"
seal_key_env = "KEY"
[security]
mechanism = "sign"
replay = { store = "redis", when_unavailable = "accept" }
conversations = { store = "redis" }
"#,
        )
        .unwrap_or_else(|problems| panic!("{problems}"));
        let replay = endpoint.security.replay.expect("given").store;
        let ReplayStoreConfig::Redis {
            store,
            when_unavailable,
        } = replay
        else {
            panic!("not Redis")
        };
        assert_eq!(when_unavailable, WhenUnavailable::Accept);
        let expected = StoreServers::Sentinel {
            sentinels: vec![
                address("10.0.0.1", 26_379),
                address("10.0.0.2", 26_380),
                address("::1", 26_381),
            ],
            master: "soapstone".to_owned(),
        };
        assert_eq!(store.servers, expected);
        assert_eq!(store.replicas, 1);
        let conversations = endpoint.security.conversations.expect("given").store;
        let ConversationStoreConfig::Redis { store } = conversations else {
            panic!("not Redis")
        };
        assert_eq!(store.servers, expected);
        let key = store.seal_key.expect("given");
        assert_eq!(key.expose(), &(0..32).collect::<Vec<u8>>());
        let debug = format!("{:?}", (endpoint.store, store.login));
        assert!(!debug.contains("sesame"), "{debug}");
    }

    #[test]
    fn what_is_wrong_with_a_store_is_reported_where_it_stands() {
        let found = problems(
            r#"[store]
nodes = ["10.0.0.1:port"]
url = "http://secret@host"
timeout = "2m"
prefix = "a b"
seal_key = "abc"
tls = { certificate = "c.pem" }
[security]
mechanism = "sign"
"#,
        );
        for line in [
            "endpoint.toml:2:10: `nodes` must name servers, found another text",
            "endpoint.toml:2:9: both `url` and `nodes` are given",
            "endpoint.toml:3:7: `url` must be redis://host, or rediss://host for TLS, with a port and the number of a database \
             if need be, found something else",
            "endpoint.toml:4:11: `timeout` must be from 5ms to 60s, found 120s",
            "endpoint.toml:5:10: `prefix` must be 1 to 64 letters, digits, `-`, `_`, `.` or `:`, found another text",
            "endpoint.toml:6:12: a key that seals must be 64 hexadecimal digits, found something else",
            "endpoint.toml:7:7: `key` is missing in [store.tls]",
        ] {
            assert!(found.contains(line), "{line}\nin\n{found}");
        }
        assert!(!found.contains("secret"), "{found}");
    }

    #[test]
    fn a_store_without_servers_is_reported_where_it_is_asked_for() {
        assert_eq!(
            problems(
                "[security]\nmechanism = \"sign\"\nreplay = { store = \"redis\" }\n\
                 conversations = { store = \"redis\", url = \"redis://h\" }\n"
            ),
            "endpoint.toml:3:10: `url` is missing in [security.replay]\n    \
             hint: for example url = \"redis://127.0.0.1:6379\"; or sentinels and master, or the nodes of a cluster; \
             or a [store] table with them\n\
             endpoint.toml:4:17: `seal_key` is missing in [security.conversations]\n    \
             hint: security contexts rest sealed: seal_key_env = \"…\" or seal_key_file = \"…\" with 64 hexadecimal digits, \
             as `openssl rand -hex 32` prints them"
        );
    }

    #[test]
    fn keys_of_a_store_are_unknown_where_marks_are_kept_in_memory() {
        assert_eq!(
            problems(
                "[security]\nmechanism = \"sign\"\nreplay = { store = \"memory\", url = \"redis://h\" }\n"
            ),
            "endpoint.toml:3:30: unknown key `url` in [security.replay]\n    \
             hint: known here: capacity, path, scope, store"
        );
    }

    #[test]
    fn contexts_are_never_accepted_without_their_store() {
        let found = problems(
            "[security]\nmechanism = \"sign\"\n\
             conversations = { store = \"redis\", url = \"redis://h\", seal_key_env = \"KEY\", when_unavailable = \"accept\" }\n",
        );
        assert_eq!(
            found,
            "endpoint.toml:3:96: `when_unavailable` must be \"refuse\" for conversations: their keys are in the store, \
             found \"accept\""
        );
    }
}
