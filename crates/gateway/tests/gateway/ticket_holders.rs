//! Requesters of a token service that a Kerberos ticket shows, with a live KDC.
//!
//! Each test starts a realm, and runs its body in a process of that realm: the ignored test of the
//! same name in `body`.

use soapstone_testkit::kdc::{self, Realm};

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

fn run(test: &str) {
    if let Some(realm) = realm("") {
        kdc::within(&realm, &format!("ticket_holders::body::{test}"), &[]);
    }
}

#[test]
fn the_assertion_of_a_ticket_is_about_its_principal() {
    run("the_assertion_of_a_ticket_is_about_its_principal");
}

#[test]
fn a_principal_renews_validates_and_cancels_what_is_its_own() {
    run("a_principal_renews_validates_and_cancels_what_is_its_own");
}

#[test]
fn a_gateway_asks_with_its_ticket() {
    run("a_gateway_asks_with_its_ticket");
}

/// Kerberos Token Profile 1.1, 3.4: a later message names a token that the service has accepted.
#[test]
fn a_lost_question_leaves_no_session_behind_that_the_token_service_does_not_know() {
    run("a_lost_question_leaves_no_session_behind_that_the_token_service_does_not_know");
}

#[test]
fn questions_that_wait_for_a_kdc_hold_no_worker() {
    let Some(mut realm) = realm("") else {
        return;
    };
    let hangs = realm.hang_kdc();
    let test = "ticket_holders::body::questions_that_wait_for_a_kdc_hold_no_worker";
    kdc::within(&realm, test, &[]);
    drop(hangs);
}

#[test]
fn rules_and_roles_name_principals() {
    run("rules_and_roles_name_principals");
}

#[test]
fn a_front_with_a_ticket_acts_for_the_principal_that_sent_its_assertion() {
    run("a_front_with_a_ticket_acts_for_the_principal_that_sent_its_assertion");
}

#[test]
fn actors_that_the_presented_token_is_not_for_get_nothing() {
    run("actors_that_the_presented_token_is_not_for_get_nothing");
}

#[test]
fn a_ticket_asks_once() {
    run("a_ticket_asks_once");
}

#[test]
fn tickets_for_others_and_of_others_ask_for_nothing() {
    run("tickets_for_others_and_of_others_ask_for_nothing");
}

#[test]
fn a_ticket_names_no_key_and_begins_no_conversation() {
    run("a_ticket_names_no_key_and_begins_no_conversation");
}

#[test]
fn an_ended_ticket_asks_for_nothing_and_no_assertion_outlives_one() {
    let Some(realm) = realm("clockskew = 1") else {
        return;
    };
    let keytab = |name: &str| realm.folder().path(format!("{name}-EXAMPLE.COM.keytab"));
    realm.cache(ALICE, &keytab("alice"), &["-l", "60s"]);
    let test =
        "ticket_holders::body::an_ended_ticket_asks_for_nothing_and_no_assertion_outlives_one";
    kdc::within(&realm, test, &[]);
}

mod body {
    use http::StatusCode;
    use jiff::{SignedDuration, Timestamp};
    use serde_json::Value;
    use soapstone::config::EndpointConfig;
    use soapstone::conversation::NoContexts;
    use soapstone::{Client, ForgetfulReplayCache, Memory};
    use soapstone_gateway::Running;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::cancelled::{shown, targeted};
    use crate::support::{Answer, Backend, ENVELOPE, Folder, Said, post, send, soon};
    use crate::token_services::{AUDIENCE, SIGNER, TLS, ask, asking, assertion, folder, request};

    const FRONT_AUDIENCE: &str = "https://front.example";
    const SAML: &str = "http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1.1#SAMLV";

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

        fn with(
            folder: &'r Folder,
            gateway: &'r Running,
            usage: &'static str,
            tables: &str,
        ) -> Self {
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

    fn token_type(version: &str) -> String {
        format!("<wst:TokenType>{SAML}{version}</wst:TokenType>")
    }

    /// Kerberos Token Profile 1.1, 3; WS-Trust 1.4, 4: in each use of the ticket, in both versions
    /// of SAML.
    #[tokio::test]
    #[ignore = "runs in the process of a realm"]
    async fn the_assertion_of_a_ticket_is_about_its_principal() {
        let folder = folder();
        let file = services("audit = { file = \"audit.jsonl\" }", "");
        let gateway = folder.gateway(&file).await;
        let mut books = Books::new(&folder).await;
        for (usage, _) in USES {
            let alice = Requester::new(&folder, &gateway, ALICE, usage);
            for (version, way) in [("2.0", "classes:Kerberos"), ("1.1", "urn:ietf:rfc:1510")] {
                let token = alice.gets(AUDIENCE, &token_type(version)).await;
                assert!(token.contains(way), "{token}");
                assert!(token.contains("nameid-format:kerberos"), "{token}");
                let subject = books.accepted(shown(&token)).await;
                assert_eq!(subject, ALICE, "{usage} {version}");
            }
            let symmetric = alice
                .asks(&request("Issue", AUDIENCE, "SymmetricKey", ""))
                .await;
            assert_eq!(symmetric.status, StatusCode::OK, "{}", symmetric.body);
            assert!(assertion(&symmetric).contains("EncryptedKey"));
            assert!(symmetric.body.contains("RequestedProofToken"));
        }
        let path = folder.path("audit.jsonl");
        let lines = soon("the lines", async {
            loop {
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                if text.lines().count() == 9 && text.ends_with('\n') {
                    return text;
                }
                tokio::task::yield_now().await;
            }
        });
        for line in lines.await.lines() {
            let line: Value = serde_json::from_str(line).expect("JSON");
            assert_eq!(line["sender"], ALICE);
            assert_eq!(line["proven_by"], "kerberos");
            assert_eq!(line["assertions"][0]["subject"], ALICE);
        }
    }

    /// WS-Trust 1.4, 5 to 7. Another principal, and a user of that name, are others.
    #[tokio::test]
    #[ignore = "runs in the process of a realm"]
    async fn a_principal_renews_validates_and_cancels_what_is_its_own() {
        let (said, _listening) = Said::listen();
        let folder = folder();
        let gateway = folder.gateway(&services("", "")).await;
        let mut books = Books::new(&folder).await;
        for (usage, _) in USES {
            let alice = Requester::new(&folder, &gateway, ALICE, usage);
            let bob = Requester::new(&folder, &gateway, BOB, usage);
            for version in ["2.0", "1.1"] {
                let token = alice.gets(AUDIENCE, &token_type(version)).await;
                let renewed = alice.asks(&targeted("Renew", &token)).await;
                assert_eq!(renewed.status, StatusCode::OK, "{}", renewed.body);
                let renewed = assertion(&renewed);
                assert_ne!(renewed, token);
                assert_eq!(books.accepted(shown(&renewed)).await, ALICE);
                for (operation, reason) in [
                    ("Renew", "it was not issued here about the requester"),
                    ("Cancel", "is neither the subject of the token"),
                ] {
                    let wanted = targeted(operation, &token);
                    bob.is_refused(&said, &wanted, reason).await;
                    let users = format!(
                        "users = [{{ name = \"{ALICE}\", password = \"secret\" }}]\nsecurity = {{ mechanism = \"username\" }}\n"
                    );
                    let before = said.times(reason);
                    let answer = ask(&gateway, "/users", folder.secured(&users, &wanted)).await;
                    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
                    assert_eq!(said.times(reason), before + 1, "{said}");
                }
                // Who shows an assertion is told whether it is good.
                for requester in [&alice, &bob] {
                    let valid = requester.asks(&targeted("Validate", &token)).await;
                    assert!(valid.body.contains("/status/valid<"), "{}", valid.body);
                }
                let forged = token.replace(">reader<", ">writer<");
                assert_ne!(forged, token);
                let invalid = alice.asks(&targeted("Validate", &forged)).await;
                assert!(
                    invalid.body.contains("/status/invalid<"),
                    "{}",
                    invalid.body
                );
                let cancelled = alice.asks(&targeted("Cancel", &token)).await;
                assert!(
                    cancelled.body.contains("RequestedTokenCancelled"),
                    "{}",
                    cancelled.body
                );
                let invalid = bob.asks(&targeted("Validate", &token)).await;
                assert!(
                    invalid.body.contains("/status/invalid<"),
                    "{}",
                    invalid.body
                );
                alice
                    .is_refused(&said, &targeted("Renew", &token), "it was cancelled")
                    .await;
            }
        }
    }

    /// A service that accepts assertions of bearers.
    fn books(backend: std::net::SocketAddr) -> String {
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

    /// A route to that service, which asks a token service for the assertion. Both are named by
    /// their ports.
    fn client_of(books: u16, sts: u16, path: &str, usage: &str, endpoint: &str) -> String {
        let applies_to = format!("applies_to = \"{AUDIENCE}\"");
        format!(
            "[[routes]]\npath = \"{path}\"\nbackend = \"https://localhost:{books}/echo\"\ntls = {{ ca = [\"ca.cert.pem\"] }}\n\
             [routes.outbound]\nsecurity = {{ mechanism = \"none\" }}\n{}",
            asking(sts, usage, "bearer", &applies_to, endpoint)
        )
    }

    /// A plain client behind an outbound gateway, which has a keytab.
    #[tokio::test]
    #[ignore = "runs in the process of a realm"]
    async fn a_gateway_asks_with_its_ticket() {
        let folder = folder();
        let sts = folder.gateway(&services("", "")).await;
        let mut backend = Backend::echo().await;
        let books = folder.gateway(&books(backend.address)).await;
        for (usage, _) in USES {
            let (books, sts) = (books.address().port(), sts.address().port());
            let client = client_of(books, sts, "/echo", usage, &tables(ALICE, usage, ""));
            let client = folder.gateway(&format!("LISTEN\n{client}")).await;
            for _ in 0..2 {
                let answer = send(client.address(), post("/echo", ENVELOPE)).await;
                assert_eq!(answer.status, StatusCode::OK, "{usage}: {}", answer.body);
                let seen = soon("the request", backend.seen.recv()).await;
                assert_eq!(seen.expect("a request").headers["x-subject"], ALICE);
            }
        }
    }

    /// Leads to a port on loopback, but for the first connection that somebody speaks on.
    async fn loses_the_first_connection(port: u16) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        tokio::spawn(async move {
            let mut is_first = true;
            while let Ok((mut near, _)) = listener.accept().await {
                let mut head = [0; 1];
                let spoken = near.read(&mut head).await;
                if !spoken.is_ok_and(|read| read == 1) || std::mem::take(&mut is_first) {
                    continue;
                }
                let far = TcpStream::connect(("127.0.0.1", port)).await;
                let mut far = far.expect("the token service listens");
                far.write_all(&head).await.expect("it reads");
                tokio::spawn(async move {
                    // Whichever side ends first ends both.
                    let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
                });
            }
        });
        address.port()
    }

    #[tokio::test]
    #[ignore = "runs in the process of a realm"]
    async fn a_lost_question_leaves_no_session_behind_that_the_token_service_does_not_know() {
        let (said, _listening) = Said::listen();
        let folder = folder();
        let sts = folder.gateway(&services("", ", include = \"once\"")).await;
        let port = loses_the_first_connection(sts.address().port()).await;
        let mut backend = Backend::echo().await;
        let books = folder.gateway(&books(backend.address)).await;
        let once = tables(ALICE, "protect", "").replacen(" }", ", include = \"once\" }", 1);
        let client = client_of(books.address().port(), port, "/echo", "protect", &once);
        let client = folder.gateway(&format!("LISTEN\n{client}")).await;
        let lost = send(client.address(), post("/echo", ENVELOPE)).await;
        assert_ne!(lost.status, StatusCode::OK, "{}", lost.body);
        // A token service that was away is not asked at once.
        let asked = async {
            while send(client.address(), post("/echo", ENVELOPE)).await.status != StatusCode::OK {
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        };
        soon("an answer", asked).await;
        let seen = soon("the request", backend.seen.recv()).await;
        assert_eq!(seen.expect("a request").headers["x-subject"], ALICE);
        assert_eq!(said.caused("kerberos-unknown"), 0, "{said}");
    }

    /// More questions than there are workers, each for another route.
    #[tokio::test]
    #[ignore = "runs in the process of a realm"]
    async fn questions_that_wait_for_a_kdc_hold_no_worker() {
        let folder = folder();
        let backend = Backend::echo().await;
        let patient = tables(ALICE, "protect", "").replacen("60s", "10s", 1);
        let asking =
            |number: usize| client_of(1, 1, &format!("/asking{number}"), "protect", &patient);
        let routes: String = (0..64).map(asking).collect();
        let signs = "trust = { pinned = [\"client.cert.pem\"] }\nidentity = { key = \"server.key.pem\", certificate = \"server.cert.pem\" }\nsecurity = { mechanism = \"sign\" }\n";
        let signed = format!(
            "[[routes]]\npath = \"/signed\"\nbackend = \"http://{}/echo\"\n[routes.inbound]\n{signs}",
            backend.address
        );
        let gateway = folder.gateway(&format!("LISTEN\n{routes}{signed}")).await;
        let address = gateway.address();
        let waiting: Vec<_> = (0..64)
            .map(|number| {
                let request = post(&format!("/asking{number}"), ENVELOPE);
                tokio::spawn(async move { send(address, request).await.status })
            })
            .collect();
        for _ in 0..4 {
            let message = folder.secured(SIGNER, ENVELOPE);
            let answer = send(address, post("/signed", message)).await;
            assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        }
        let ended = waiting.iter().filter(|one| one.is_finished()).count();
        // Some were told at once that too many wait already.
        assert!(ended < waiting.len(), "they wait for the KDC");
        for one in waiting {
            assert_ne!(one.await.expect("no panic"), StatusCode::OK);
        }
    }

    #[tokio::test]
    #[ignore = "runs in the process of a realm"]
    async fn rules_and_roles_name_principals() {
        let folder = folder();
        let role = format!(
            "[[roles]]\nname = \"askers\"\nmembers = {{ principals = [\"{ALICE}\"] }}\nallow = [\"protect:*\", \"endorse:*\"]\n\
             [[roles]]\nname = \"others\"\nmembers = {{ principals = [\"{BOB}\"] }}\nallow = [\"authenticate:*\", \"users:*\"]\n"
        );
        let gateway = folder.gateway(&services(&role, "")).await;
        for (usage, allowed, other) in [
            ("protect", ALICE, BOB),
            ("endorse", ALICE, BOB),
            ("authenticate", BOB, ALICE),
        ] {
            let requester = Requester::new(&folder, &gateway, allowed, usage);
            let token = requester.gets(AUDIENCE, "").await;
            // What alice may be said to be nobody says of bob.
            assert_eq!(token.contains(">reader<"), allowed == ALICE, "{token}");
            let requester = Requester::new(&folder, &gateway, other, usage);
            let answer = requester
                .asks(&request("Issue", AUDIENCE, "Bearer", ""))
                .await;
            assert_eq!(answer.status, StatusCode::FORBIDDEN, "{}", answer.body);
            assert!(!answer.body.contains("Assertion"), "{}", answer.body);
        }
        // A service that accepts some clients alone asks no role.
        let clients = format!(", clients = [\"{BOB}\"]");
        let gateway = folder.gateway(&services("", &clients)).await;
        for (usage, _) in USES {
            let bob = Requester::new(&folder, &gateway, BOB, usage);
            bob.gets(AUDIENCE, "").await;
            let alice = Requester::new(&folder, &gateway, ALICE, usage);
            let answer = alice.asks(&request("Issue", AUDIENCE, "Bearer", "")).await;
            assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR, "{usage}");
        }
    }

    /// WS-Trust 1.4, 9.1: `wst14:ActAs`.
    #[tokio::test]
    #[ignore = "runs in the process of a realm"]
    async fn a_front_with_a_ticket_acts_for_the_principal_that_sent_its_assertion() {
        let folder = folder();
        let gateway = folder.gateway(&services("", "")).await;
        let mut books = Books::new(&folder).await;
        for (usage, _) in USES {
            let alice = Requester::new(&folder, &gateway, ALICE, usage);
            let front = Requester::new(&folder, &gateway, FRONT, usage);
            let user = alice.gets(FRONT_AUDIENCE, "").await;
            let token = front.gets(AUDIENCE, &act_as(&user)).await;
            assert!(token.contains("claims/actor"), "{token}");
            assert!(token.contains(&format!(">{FRONT}<")), "{token}");
            assert_eq!(books.accepted(shown(&token)).await, ALICE);
        }
    }

    /// A right that nobody has, an assertion that was for another service, one about another
    /// principal, a form without a right, and an assertion beside the ticket.
    #[tokio::test]
    #[ignore = "runs in the process of a realm"]
    async fn actors_that_the_presented_token_is_not_for_get_nothing() {
        let (said, _listening) = Said::listen();
        let folder = folder();
        let gateway = folder.gateway(&services("", "")).await;
        for (usage, _) in USES {
            let alice = Requester::new(&folder, &gateway, ALICE, usage);
            let bob = Requester::new(&folder, &gateway, BOB, usage);
            let front = Requester::new(&folder, &gateway, FRONT, usage);
            let for_front = alice.gets(FRONT_AUDIENCE, "").await;
            let for_books = alice.gets(AUDIENCE, "").await;
            let of_bob = bob.gets(FRONT_AUDIENCE, "").await;
            let on_behalf_of = format!("<wst:OnBehalfOf>{for_front}</wst:OnBehalfOf>");
            for (actor, more) in [
                (&bob, act_as(&for_front)),
                (&alice, act_as(&for_front)),
                (&front, act_as(&for_books)),
                (&front, act_as(&of_bob)),
                (&front, on_behalf_of),
            ] {
                let wanted = request("Issue", AUDIENCE, "Bearer", &more);
                actor
                    .is_refused(&said, &wanted, "no delegation allows")
                    .await;
            }
            let forged = for_front.replace(&format!(">{ALICE}<"), &format!(">{BOB}<"));
            assert_ne!(forged, for_front);
            let wanted = request("Issue", AUDIENCE, "Bearer", &act_as(&forged));
            front
                .is_refused(&said, &wanted, "the token in the request is not believed")
                .await;
            // Who acts is not the subject, and prolongs nothing.
            let acting = front.gets(AUDIENCE, &act_as(&for_front)).await;
            let reason = "not issued here about the requester";
            front
                .is_refused(&said, &targeted("Renew", &acting), reason)
                .await;
            let message = bob.secured(&request("Issue", AUDIENCE, "Bearer", ""));
            let beside = String::from_utf8(message).expect("text");
            let end = "</wsse:Security>";
            assert!(beside.contains(end), "{beside}");
            let beside = beside.replacen(end, &format!("{for_front}{end}"), 1);
            let before = said.caused("element-unexpected");
            let answer = bob.sends(beside.into_bytes()).await;
            assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
            assert_eq!(said.caused("element-unexpected"), before + 1, "{said}");
        }
    }

    /// A copy of a request, and its ticket before another request (RFC 4120, 3.2.3).
    #[tokio::test]
    #[ignore = "runs in the process of a realm"]
    async fn a_ticket_asks_once() {
        let (said, _listening) = Said::listen();
        let folder = folder();
        let gateway = folder.gateway(&services("", "")).await;
        for (usage, _) in USES {
            let alice = Requester::new(&folder, &gateway, ALICE, usage);
            let once = alice.secured(&request("Issue", AUDIENCE, "Bearer", ""));
            let first = alice.sends(once.clone()).await;
            assert_eq!(first.status, StatusCode::OK, "{}", first.body);
            let text = String::from_utf8(once.clone()).expect("text");
            let mut copies = vec![once];
            if usage != "protect" {
                let other = text.replace(AUDIENCE, FRONT_AUDIENCE);
                assert_ne!(other, text);
                copies.push(other.into_bytes());
            }
            for copy in copies {
                let before = said.caused("replayed");
                let answer = alice.sends(copy).await;
                assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
                assert!(!answer.body.contains("Assertion"), "{}", answer.body);
                assert_eq!(said.caused("replayed"), before + 1, "{usage}\n{said}");
            }
            // At another route of the same principal.
            let other = Requester::new(&folder, &gateway, ALICE, "authenticate");
            let once = other.secured(&request("Issue", AUDIENCE, "Bearer", ""));
            let first = other.sends(once.clone()).await;
            assert_eq!(first.status, StatusCode::OK, "{}", first.body);
            let second = folder.gateway(&services("", "")).await;
            let before = said.caused("replayed");
            let answer = ask(&second, "/authenticate", once).await;
            assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
            assert_eq!(said.caused("replayed"), before + 1, "{said}");
        }
    }

    /// Wrong principal of the service, wrong realm of the client and of the service, another
    /// client's key, and a token that was changed.
    #[tokio::test]
    #[ignore = "runs in the process of a realm"]
    async fn tickets_for_others_and_of_others_ask_for_nothing() {
        let (said, _listening) = Said::listen();
        let folder = folder();
        let right = services("", "");
        let gateway = folder.gateway(&right).await;
        let elsewhere = SERVICE.replace("EXAMPLE.COM", "ELSEWHERE.COM");
        let abroad = right.replace(
            &format!("principal = \"{SERVICE}\""),
            &format!("principal = \"{elsewhere}\""),
        );
        let abroad = folder.gateway(&abroad).await;
        let foreign = services("", ", realms = [\"ELSEWHERE.COM\"]");
        let foreign = folder.gateway(&foreign).await;
        let strong = services("", ", enctypes = [\"aes256-cts-hmac-sha384-192\"]");
        let strong = folder.gateway(&strong).await;
        let wanted = request("Issue", AUDIENCE, "Bearer", "");
        for (usage, _) in USES {
            let other = tables(ALICE, usage, "").replace(SERVICE, OTHER);
            let other = Requester::with(&folder, &gateway, usage, &other);
            for requester in [
                other,
                Requester::new(&folder, &abroad, ALICE, usage),
                Requester::new(&folder, &foreign, ALICE, usage),
                Requester::new(&folder, &strong, ALICE, usage),
            ] {
                requester
                    .is_refused(&said, &wanted, " cause=\"kerberos-refused\" ")
                    .await;
            }
            let alice = Requester::new(&folder, &gateway, ALICE, usage);
            let message = String::from_utf8(alice.secured(&wanted)).expect("text");
            let token = token_of(&message);
            let at = token.len() - 40;
            let letter = if &token[at..=at] == "A" { "B" } else { "A" };
            let mut changed = token.to_owned();
            changed.replace_range(at..=at, letter);
            let before = said.caused("kerberos-refused");
            let answer = alice
                .sends(message.replace(token, &changed).into_bytes())
                .await;
            assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
            assert_eq!(said.caused("kerberos-refused"), before + 1, "{said}");
            if usage == "authenticate" {
                continue;
            }
            // The signature of alice under the ticket of bob.
            let bob = Requester::new(&folder, &gateway, BOB, usage);
            let of_bob = String::from_utf8(bob.secured(&wanted)).expect("text");
            let message = String::from_utf8(alice.secured(&wanted)).expect("text");
            let mixed = message.replace(token_of(&message), token_of(&of_bob));
            let answer = alice.sends(mixed.into_bytes()).await;
            assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
            assert!(!answer.body.contains("Assertion"), "{}", answer.body);
        }
    }

    /// The content of the Kerberos token.
    fn token_of(message: &str) -> &str {
        let from = message.find("<wsse:BinarySecurityToken").expect("a token");
        let rest = &message[from..];
        let start = rest.find('>').expect("a tag") + 1;
        &rest[start..rest.find("</wsse:BinarySecurityToken>").expect("its end")]
    }

    /// A ticket has no public key, and what it shows owns no security context
    /// (WS-SecureConversation 1.4, 3).
    #[tokio::test]
    #[ignore = "runs in the process of a realm"]
    async fn a_ticket_names_no_key_and_begins_no_conversation() {
        let (said, _listening) = Said::listen();
        let folder = folder();
        let gateway = folder.gateway(&services("", "")).await;
        let sct = "<wst:TokenType>http://docs.oasis-open.org/ws-sx/ws-secureconversation/200512/sct</wst:TokenType>";
        for (usage, _) in USES {
            let alice = Requester::new(&folder, &gateway, ALICE, usage);
            let wanted = request("Issue", AUDIENCE, "PublicKey", "");
            alice
                .is_refused(
                    &said,
                    &wanted,
                    "the key that the token is to name did not sign the request",
                )
                .await;
            let wanted = request("Issue", AUDIENCE, "SymmetricKey", sct);
            let reason = "are not issued here";
            alice.is_refused(&said, &wanted, reason).await;
        }
    }

    #[tokio::test]
    #[ignore = "runs in the process of a realm"]
    async fn an_ended_ticket_asks_for_nothing_and_no_assertion_outlives_one() {
        let (said, _listening) = Said::listen();
        let folder = folder();
        let gateway = folder.gateway(&services("", "")).await;
        let cache = |name: &str| {
            let path = kdc::inside().expect("the process of a realm").join(name);
            format!("cache = \"{}\"", path.display())
        };
        let usage = "endorse";
        let of = |name: &str, cache: &str| {
            Requester::with(&folder, &gateway, usage, &tables(name, usage, cache))
        };
        let wanted = request("Issue", AUDIENCE, "Bearer", "");
        let before = Timestamp::now();
        let answer = of(ALICE, &cache("alice-EXAMPLE.COM")).asks(&wanted).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let token = assertion(&answer);
        let name = "NotOnOrAfter=\"";
        let mut ends = token.match_indices(name).map(|(at, _)| {
            let rest = &token[at + name.len()..];
            let end = &rest[..rest.find('"').expect("its end")];
            end.parse::<Timestamp>().expect("a time")
        });
        let first = ends.next().expect("an end");
        assert!(first <= before + SignedDuration::from_secs(61), "{token}");
        // Six seconds, and one of skew.
        let bob = cache("bob-of-six-seconds");
        let path = kdc::inside()
            .expect("the process of a realm")
            .join("bob-of-six-seconds");
        let known = ["-k", "-t", &keytab_of(BOB), "-l", "6s", "-c"];
        let mut kinit = std::process::Command::new("/usr/bin/kinit");
        let got = kinit.args(known).arg(path).arg(BOB).status();
        assert!(got.expect("kinit starts").success());
        let bob = of(BOB, &bob);
        let late = bob.secured(&wanted);
        tokio::time::sleep(std::time::Duration::from_secs(9)).await;
        let refused = bob.sends(late).await;
        assert_eq!(refused.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(said.caused("kerberos-refused"), 1, "{said}");
        assert_eq!(said.times("the ticket has ended"), 1, "{said}");
    }
}
