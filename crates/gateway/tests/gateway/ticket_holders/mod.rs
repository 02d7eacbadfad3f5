//! Requesters of a token service that a Kerberos ticket shows, with a live KDC.
//!
//! Each test starts a realm, and runs its body in a process of that realm: the ignored test of the
//! same name in the module `body` beside it.

mod answered;
mod gateways;
mod refused;

use std::net::SocketAddr;

use http::StatusCode;
use soapstone::config::EndpointConfig;
use soapstone::conversation::NoContexts;
use soapstone::{Client, ForgetfulReplayCache, Memory};
use soapstone_gateway::Running;
use soapstone_testkit::kdc::{self, Realm};

use crate::support::{Answer, Backend, Folder, Said, soon};
use crate::token_services::{AUDIENCE, TLS, ask, assertion, request};

const SERVICE: &str = "HTTP/sts.example@EXAMPLE.COM";
const OTHER: &str = "HTTP/other.example@EXAMPLE.COM";
const FRONT: &str = "HTTP/front.example@EXAMPLE.COM";
const ALICE: &str = "alice@EXAMPLE.COM";
const BOB: &str = "bob@EXAMPLE.COM";

/// A realm with everybody, or none where there are no programs.
fn realm(settings: &str) -> Option<Realm> {
    if !kdc::is_there() {
        return None;
    }
    let realm = Realm::start(settings);
    for name in [SERVICE, OTHER, FRONT, ALICE, BOB] {
        realm.keytab(name, "");
    }
    Some(realm)
}

/// Runs the test of this name in the process of a realm: the ignored one of that module.
fn within(realm: &Realm, module: &str, test: &str) {
    kdc::within(
        realm,
        &format!("ticket_holders::{module}::body::{test}"),
        &[],
    );
}

fn run(module: &str, test: &str) {
    if let Some(realm) = realm("") {
        within(&realm, module, test);
    }
}

const FRONT_AUDIENCE: &str = "https://front.example";

/// How requests show the ticket: what the table of it says, and the mechanism.
const USES: [(&str, &str); 3] = [
    (
        "protect",
        "mechanism = \"sign-encrypt\", suite = \"Basic256GCM\"",
    ),
    ("endorse", "mechanism = \"none\""),
    ("authenticate", "mechanism = \"none\""),
];

const NO_CACHE: Memory<'static> = Memory {
    replay: &ForgetfulReplayCache,
    contexts: &NoContexts,
};

fn keytab_of(name: &str) -> String {
    let file = format!("{}.keytab", name.replace(['/', '@'], "-"));
    let path = kdc::inside().expect("the process of a realm").join(file);
    path.to_str().expect("text").to_owned()
}

/// The table of the token service: alice reads, and a front may act for her.
fn table() -> String {
    format!(
        "[routes.sts]\nissuer = \"https://sts.example\"\n\
         identity = {{ key = \"sts.key.pem\", certificate = \"sts.cert.pem\" }}\n\
         key_types = [\"bearer\", \"symmetric-key\", \"public-key\"]\nlongest_lifetime = \"1h\"\n\
         renewable = \"8h\"\ncancellable = true\n\
         services = [{{ address = \"{AUDIENCE}\", certificate = \"server.cert.pem\" }}, {{ address = \"{FRONT_AUDIENCE}\" }}]\n\
         attributes = [{{ subjects = {{ principals = [\"{ALICE}\"] }}, claim = \"role\", values = [\"reader\"] }}]\n\
         delegations = [{{ actors = {{ principals = [\"{FRONT}\"] }}, subjects = {{ principals = [\"{ALICE}\"] }}, \
         forms = [\"act-as\"], audiences = [\"{FRONT_AUDIENCE}\"], services = [\"{AUDIENCE}\"] }}]\n"
    )
}

/// Token services for tickets, one for each use, and one for a user who has the name of a
/// principal. `tickets` is said of the tickets besides.
fn services(more: &str, tickets: &str) -> String {
    let keytab = keytab_of(SERVICE);
    let route = |(usage, security): (&str, &str)| {
        format!(
            "[[routes]]\nname = \"{usage}\"\npath = \"/{usage}\"\n{}[routes.inbound]\n\
             kerberos = {{ keytab = \"{keytab}\", principal = \"{SERVICE}\", use = \"{usage}\"{tickets} }}\n\
             security = {{ {security} }}\n",
            table()
        )
    };
    let users = format!(
        "[[routes]]\nname = \"users\"\npath = \"/users\"\n{}[routes.inbound]\n\
         users = [{{ name = \"{ALICE}\", password = \"secret\" }}]\nsecurity = {{ mechanism = \"username\" }}\n",
        table()
    );
    let routes: String = USES.into_iter().map(route).collect();
    format!("LISTEN\n{TLS}\n{more}\n{routes}{users}")
}

/// The tables of a requester with the keys of `name`, or with the tickets of `more`.
fn tables(name: &str, usage: &str, more: &str) -> String {
    let (_, security) = USES.iter().find(|(one, _)| *one == usage).expect("a use");
    let keys = format!("keytab = \"{}\", principal = \"{name}\"", keytab_of(name));
    let whose = if more.is_empty() { &keys } else { more };
    format!(
        "kerberos = {{ {whose}, service = \"{SERVICE}\", use = \"{usage}\", timeout = \"60s\" }}\n\
         security = {{ {security} }}\n"
    )
}

/// One requester.
struct Requester<'r> {
    gateway: &'r Running,
    usage: &'static str,
    client: Client,
}

impl<'r> Requester<'r> {
    fn new(folder: &'r Folder, gateway: &'r Running, name: &str, usage: &'static str) -> Self {
        Self::with(folder, gateway, usage, &tables(name, usage, ""))
    }

    fn with(folder: &'r Folder, gateway: &'r Running, usage: &'static str, tables: &str) -> Self {
        let file = folder.path("requester.toml");
        let client = EndpointConfig::from_text(tables, &file, &|_| None)
            .and_then(|config| Client::from_config(&config));
        Self {
            gateway,
            usage,
            client: client.unwrap_or_else(|problems| panic!("{problems}")),
        }
    }

    fn secured(&self, plain: &str) -> Vec<u8> {
        self.client.secure(plain).expect("a ticket").bytes
    }

    async fn sends(&self, message: Vec<u8>) -> Answer {
        ask(self.gateway, &format!("/{}", self.usage), message).await
    }

    /// The answer to a request, in plain.
    async fn asks(&self, plain: &str) -> Answer {
        let secured = self.client.secure(plain).expect("a ticket");
        let mut answer = self.sends(secured.bytes).await;
        if answer.status == StatusCode::OK {
            let opened = self
                .client
                .open(answer.body.into_bytes(), secured.receipt, NO_CACHE);
            let opened = opened.unwrap_or_else(|refused| panic!("{refused}"));
            answer.body = String::from_utf8(opened.bytes).expect("text");
        }
        answer
    }

    /// The assertion for a service.
    async fn gets(&self, address: &str, more: &str) -> String {
        let answer = self.asks(&request("Issue", address, "Bearer", more)).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        assertion(&answer)
    }

    /// Asks for what is refused, with a reason for the log and nothing for the requester.
    async fn is_refused(&self, said: &Said, plain: &str, reason: &str) {
        let before = said.times(reason);
        let answer = self.asks(plain).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(!answer.body.contains("Assertion"), "{}", answer.body);
        assert_eq!(said.times(reason), before + 1, "{reason}\n{said}");
    }
}

fn act_as(token: &str) -> String {
    let wst14 = "http://docs.oasis-open.org/ws-sx/ws-trust/200802";
    format!("<wst14:ActAs xmlns:wst14=\"{wst14}\">{token}</wst14:ActAs>")
}

/// A service that accepts assertions of bearers.
fn books(backend: SocketAddr) -> String {
    format!(
        "LISTEN\n{TLS}\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{backend}/echo\"\nidentity = {{ subject = \"X-Subject\" }}\n\
         [routes.inbound]\nsecurity = {{ mechanism = \"none\" }}\n[routes.inbound.saml]\naudience = [\"{AUDIENCE}\"]\n\
         confirmation = [\"bearer\"]\nversions = [\"2.0\", \"1.1\"]\nissuers = [{{ name = \"https://sts.example\", pinned = [\"sts.cert.pem\"] }}]\n"
    )
}

/// That service, running.
struct Books {
    gateway: Running,
    backend: Backend,
}

impl Books {
    async fn new(folder: &Folder) -> Self {
        let backend = Backend::echo().await;
        let gateway = folder.gateway(&books(backend.address)).await;
        Self { gateway, backend }
    }

    /// Of whom the service learns.
    async fn accepted(&mut self, message: Vec<u8>) -> String {
        let answer = ask(&self.gateway, "/echo", message).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let seen = soon("the request", self.backend.seen.recv()).await;
        let seen = seen.expect("a request");
        seen.headers["x-subject"].to_str().expect("text").to_owned()
    }
}
