//! Real servers for tests: Redis, Sentinels and clusters on free ports of the loopback interface,
//! gone when the test ends.

#![allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "each test program uses its part"
)]

mod moments;

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use jiff::ToSpan;
use redis::{Connection, FromRedisValue};
use soapstone::config::EndpointConfig;
use soapstone::crypto::SymmetricKey;
use soapstone::wss::{ContextOwner, ConversationVersion, SecurityContext};
use soapstone_store::{Contexts, Replay, Stores};
use soapstone_testkit::Folder;

pub use moments::{at, mark};

/// What seals in tests, in the notation of the configuration.
pub const SEAL_KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

/// A running `redis-server`.
pub struct Server {
    pub port: u16,
    child: Child,
    folder: Folder,
    program: String,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
}

const REDIS: &str = "redis-server";

/// A port that nobody listens on, with the one 10,000 above, where nodes of clusters listen too.
/// The ports of a run are spread by its process id, so that runs beside each other seldom meet, and
/// lie below those that the system gives to outgoing connections.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 10_000 + (std::process::id() % 180) as u16 * 50;
    loop {
        let port = first + NEXT.fetch_add(1, Ordering::Relaxed) % 900;
        let free = |port| TcpListener::bind(("127.0.0.1", port)).is_ok();
        if free(port) && free(port + 10_000) {
            return port;
        }
    }
}

impl Server {
    /// Starts a server that forgets all when it ends, with further options.
    pub fn start(options: &[&str]) -> Self {
        Self::start_at(free_port(), options)
    }

    /// The same on a port that is known to be free.
    pub fn start_at(port: u16, options: &[&str]) -> Self {
        let folder = Folder::new();
        let mut arguments: Vec<String> =
            ["--save", "", "--appendonly", "no", "--bind", "127.0.0.1"]
                .iter()
                .map(|text| (*text).to_owned())
                .collect();
        if !options.contains(&"--port") {
            arguments.extend(["--port".to_owned(), port.to_string()]);
        }
        arguments.extend(options.iter().map(|option| (*option).to_owned()));
        Self::start_redis(port, folder, arguments)
    }

    /// Redis with exactly these arguments.
    fn start_redis(port: u16, folder: Folder, arguments: Vec<String>) -> Self {
        let mut server = Self {
            port,
            child: spawn(REDIS, &arguments, &[], folder.root()),
            folder,
            program: REDIS.to_owned(),
            arguments,
            environment: Vec::new(),
        };
        server.wait_until_it_listens();
        server
    }

    /// A Sentinel that watches the primary at a port under the name `soapstone`.
    pub fn start_sentinel(primary: u16) -> Self {
        let port = free_port();
        let folder = Folder::new();
        let file = folder.path("sentinel.conf");
        let text = format!(
            "port {port}\nbind 127.0.0.1\nsentinel monitor soapstone 127.0.0.1 {primary} 2\n\
             sentinel down-after-milliseconds soapstone 500\nsentinel failover-timeout soapstone 3000\n\
             sentinel parallel-syncs soapstone 1\n"
        );
        std::fs::write(&file, text).expect("the temporary folder is writable");
        let arguments = vec![file.display().to_string(), "--sentinel".to_owned()];
        Self::start_redis(port, folder, arguments)
    }

    /// What a start script of `deploy/` starts, in a folder of its own.
    pub fn start_script(
        port: u16,
        script: &str,
        arguments: &[String],
        environment: &[(&str, String)],
    ) -> Self {
        let folder = Folder::new();
        let script = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../deploy")
            .join(script);
        let mut environment: Vec<(String, String)> = environment
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        environment.push(("FOLDER".to_owned(), folder.root().display().to_string()));
        let program = script.display().to_string();
        let mut server = Self {
            port,
            child: spawn(&program, arguments, &environment, folder.root()),
            folder,
            program,
            arguments: arguments.to_vec(),
            environment,
        };
        server.wait_until_it_listens();
        server
    }

    /// Ends it at once, as a power failure would.
    pub fn kill(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }

    /// Sends it a signal: `STOP` freezes it, `CONT` thaws it.
    pub fn signal(&mut self, name: &str) {
        let sent = Command::new("kill")
            .args([format!("-{name}"), self.child.id().to_string()])
            .status();
        assert!(sent.is_ok_and(|status| status.success()), "kill -{name}");
    }

    /// Starts it again where it was.
    pub fn restart(&mut self) {
        self.child = spawn(
            &self.program,
            &self.arguments,
            &self.environment,
            self.folder.root(),
        );
        self.wait_until_it_listens();
    }

    /// A connection of the test's own.
    pub fn connect(&self) -> Connection {
        redis::Client::open(("127.0.0.1", self.port))
            .and_then(|client| client.get_connection())
            .expect("the server listens")
    }

    /// The answer to a command.
    pub fn ask<T: FromRedisValue>(&self, words: &[&str]) -> T {
        command(words)
            .query(&mut self.connect())
            .unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    /// The answer to a command, from a server that may be closing connections.
    pub fn try_ask<T: FromRedisValue>(&self, words: &[&str]) -> Option<T> {
        let client = redis::Client::open(("127.0.0.1", self.port)).ok()?;
        command(words)
            .query(&mut client.get_connection().ok()?)
            .ok()
    }

    /// All keys.
    pub fn keys(&self) -> Vec<String> {
        let mut keys: Vec<String> = self.ask(&["KEYS", "*"]);
        keys.sort();
        keys
    }

    fn wait_until_it_listens(&mut self) {
        wait_for("the server to listen", || {
            if let Ok(Some(status)) = self.child.try_wait() {
                panic!("redis-server ended: {status}");
            }
            std::net::TcpStream::connect(("127.0.0.1", self.port)).is_ok()
        });
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

fn spawn(
    program: &str,
    arguments: &[String],
    environment: &[(String, String)],
    folder: &Path,
) -> Child {
    Command::new(program)
        .args(arguments)
        .envs(environment.iter().cloned())
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("redis-server runs (Debian: apt-get install redis-server)")
}

/// A command of several words.
pub fn command(words: &[&str]) -> redis::Cmd {
    let mut command = redis::cmd(words[0]);
    for word in &words[1..] {
        command.arg(*word);
    }
    command
}

/// Waits until something is so, for as long as servers may reasonably take.
pub fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !is_so() {
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "waited for {what}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    start.elapsed()
}

/// A cluster of so many primaries, each with its part of the slots, and after them one replica of
/// each where they are wanted.
pub fn start_cluster(size: usize, with_replicas: bool) -> Vec<Server> {
    let count = if with_replicas { 2 * size } else { size };
    let servers: Vec<Server> = (0..count)
        .map(|_| {
            let options = [
                "--cluster-enabled",
                "yes",
                "--cluster-node-timeout",
                "1000",
                "--cluster-require-full-coverage",
                "no",
                "--repl-diskless-sync-delay",
                "0",
            ];
            Server::start(&options)
        })
        .collect();
    for (index, server) in servers.iter().enumerate() {
        let slot = |index: usize| (index * 16_384 / size).to_string();
        let last = |index: usize| ((index + 1) * 16_384 / size - 1).to_string();
        let epoch = (index + 1).to_string();
        let () = server.ask(&["CLUSTER", "SET-CONFIG-EPOCH", &epoch]);
        if index < size {
            let () = server.ask(&["CLUSTER", "ADDSLOTSRANGE", &slot(index), &last(index)]);
        }
        let first = servers[0].port.to_string();
        let () = server.ask(&["CLUSTER", "MEET", "127.0.0.1", &first]);
    }
    let agree = |replicas: usize| {
        // Replicas are shown as `slave`, the one that answers as `myself,slave`.
        for server in &servers {
            wait_for("the cluster to agree", || {
                let state: String = server.ask(&["CLUSTER", "INFO"]);
                let nodes: String = server.ask(&["CLUSTER", "NODES"]);
                state.contains("cluster_state:ok")
                    && nodes.lines().count() == count
                    && nodes.matches("slave ").count() == replicas
            });
        }
    };
    agree(0);
    if !with_replicas {
        return servers;
    }
    for (replica, primary) in servers[size..].iter().zip(&servers) {
        let id: String = primary.ask(&["CLUSTER", "MYID"]);
        wait_for("the replica to know its primary", || {
            let done: Option<String> = replica.try_ask(&["CLUSTER", "REPLICATE", &id]);
            done.is_some()
        });
    }
    agree(size);
    for primary in &servers[..size] {
        wait_for("the replicas to follow", || {
            let text: String = primary.ask(&["INFO", "replication"]);
            text.contains("state=online")
        });
    }
    servers
}

/// What an endpoint file with this `[store]` table opens: replay marks (with further keys in their
/// table) and contexts.
pub struct Node {
    pub stores: Stores,
    pub replay: Replay,
    pub contexts: Contexts,
}

/// How long a store may take to answer where a test does not say: a machine that does other work
/// beside is no store that is away.
const PATIENCE: &str = "timeout = \"5s\"";

/// A node of a deployment whose store is described by these lines.
pub fn node(store: &str, replay: &str) -> Node {
    node_in(Path::new("."), store, replay)
}

/// The same, with files in a folder.
pub fn node_in(folder: &Path, store: &str, replay: &str) -> Node {
    let patience = if store.contains("timeout") {
        ""
    } else {
        PATIENCE
    };
    let text = format!(
        "[store]\n{store}\n{patience}\n[security]\nmechanism = \"sign\"\nreplay = {{ store = \"redis\"{replay} }}\n\
         conversations = {{ store = \"redis\", seal_key = \"{SEAL_KEY}\" }}\n"
    );
    let config = EndpointConfig::from_text(&text, &folder.join("endpoint.toml"), &|_| None)
        .unwrap_or_else(|problems| panic!("{problems}\nin\n{text}"));
    let stores = Stores::default();
    Node {
        replay: stores
            .replay(config.security.replay.as_ref())
            .expect("the configuration is right"),
        contexts: stores
            .contexts(config.security.conversations.as_ref())
            .expect("the configuration is right"),
        stores,
    }
}

/// Has a server drop keys, without a word to those who are connected: first its policy changes,
/// then it has less memory than it uses.
pub fn drop_keys(server: &Server) {
    let memory: String = server.ask(&["INFO", "memory"]);
    let used = memory
        .lines()
        .find_map(|line| line.strip_prefix("used_memory:"));
    let used: u64 = used.expect("it says so").trim().parse().expect("a number");
    let bound = (used - 10_000).to_string();
    let () = server.ask(&["CONFIG", "SET", "maxmemory-policy", "allkeys-random"]);
    let () = server.ask(&["CONFIG", "SET", "maxmemory", &bound]);
    wait_for("the server to drop keys", || {
        let stats: String = server.ask(&["INFO", "stats"]);
        !stats.contains("evicted_keys:0\r")
    });
    // A look is good for 20 ms.
    std::thread::sleep(Duration::from_millis(30));
}

/// Has a server keep again what it is given.
pub fn keep_keys(server: &Server) {
    let () = server.ask(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    let () = server.ask(&["CONFIG", "SET", "maxmemory", "0"]);
}

/// A node whose store is one server.
pub fn node_at(server: &Server) -> Node {
    node(&format!("url = \"redis://127.0.0.1:{}\"", server.port), "")
}

/// A context of that number that was made at a second and lives for an hour.
pub fn context(number: u32, made: i64) -> SecurityContext {
    SecurityContext {
        version: ConversationVersion::V13,
        identifier: format!("urn:uuid:00000000-0000-4000-8000-{number:012x}"),
        instance: None,
        secret: SymmetricKey::new(secret(number)).expect("octets"),
        created: at(made),
        expires: at(made) + 1.hour(),
        owner: ContextOwner::User("alice".to_owned()),
    }
}

/// The secret of that context.
pub fn secret(number: u32) -> Vec<u8> {
    let text = format!("{number:08}open-sesame-open-sesame-");
    text.into_bytes()
}
