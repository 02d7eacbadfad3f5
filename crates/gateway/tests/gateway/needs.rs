//! Routes with several backends behind different policies: who is served by which of them, as the
//! needs of route, sender and message say.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Mutex;

use http::StatusCode;
use soapstone_gateway::broker::{Needs, Property, Shortfall};
use soapstone_gateway::{Config, Running};
use soapstone_testkit::keys;

use crate::conversations::metric;
use crate::secured;
use crate::support::{Backend, ENVELOPE, Folder, Nobody, post, send};

/// The tables of an endpoint with a signature whose suite is strong.
fn strong(mechanism: &str, client: bool) -> String {
    let tables = match client {
        true => secured::client(mechanism),
        false => secured::service(mechanism),
    };
    tables.replace("Basic256Sha256", "Basic256Sha256+RsaSha256")
}

/// A provider with that policy in front of it.
async fn provider(folder: &Folder, backend: &Backend, tables: &str) -> Running {
    let text = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n{}",
        backend.address,
        match tables {
            "" => String::new(),
            tables => format!("[routes.inbound]\n{tables}"),
        }
    );
    folder.gateway(&text).await
}

/// Three providers, plain, weak and strong, and the broker's file in front of them.
struct Providers {
    folder: Folder,
    backends: [Backend; 3],
    gateways: [Running; 3],
}

impl Providers {
    async fn new() -> Self {
        let folder = Folder::with_keys();
        let backends = [
            Backend::echo().await,
            Backend::echo().await,
            Backend::echo().await,
        ];
        let gateways = [
            provider(&folder, &backends[0], "").await,
            provider(&folder, &backends[1], &secured::service("sign")).await,
            provider(&folder, &backends[2], &strong("sign-encrypt", false)).await,
        ];
        Self {
            folder,
            backends,
            gateways,
        }
    }

    fn file(&self, more: &str) -> String {
        let mut text = "LISTEN\n[[routes]]\npath = \"/echo\"\n".to_owned();
        let policies = [
            String::new(),
            secured::client("sign"),
            strong("sign-encrypt", true),
        ];
        let names = ["plain", "weak", "strong"];
        for ((gateway, policy), name) in self.gateways.iter().zip(policies).zip(names) {
            let address = gateway.address();
            let outbound = match policy.as_str() {
                "" => String::new(),
                policy => format!("[routes.backends.outbound]\n{policy}"),
            };
            writeln!(text, "[[routes.backends]]\nname = \"{name}\"\nurl = \"http://{address}/echo\"\n{outbound}")
                .expect("a string takes it");
        }
        text.push_str(more);
        text
    }

    async fn broker(&self, more: &str) -> Running {
        self.folder.gateway(&self.file(more)).await
    }

    /// Which providers' services have been called since this was last asked.
    fn called(&mut self) -> BTreeSet<usize> {
        let called = self
            .backends
            .iter_mut()
            .enumerate()
            .filter_map(|(index, backend)| {
                let mut called = false;
                while backend.seen.try_recv().is_ok() {
                    called = true;
                }
                called.then_some(index)
            });
        called.collect()
    }
}

async fn calls(broker: &Running, envelope: &str, expected: StatusCode) {
    for _ in 0..12 {
        let answer = send(broker.address(), post("/echo", envelope.to_owned())).await;
        assert_eq!(answer.status, expected, "{}", answer.body);
        if expected == StatusCode::OK {
            assert!(answer.body.contains(">hello<"), "{}", answer.body);
        }
    }
}

#[tokio::test]
async fn no_call_is_served_below_the_security_that_its_route_needs() {
    let mut providers = Providers::new().await;
    for (needs, served) in [
        ("", vec![0, 1, 2]),
        ("needs = { properties = [\"integrity\"] }\n", vec![1, 2]),
        (
            "needs = { properties = [\"integrity\"], bits = 112 }\n",
            vec![2],
        ),
        (
            "needs = { refused = [\"rsa-sha1\"], properties = [\"authentication\"] }\n",
            vec![2],
        ),
        ("needs = { encrypted = [\"Body\"] }\n", vec![2]),
        (
            "needs = { properties = [\"integrity\"], bits = 128 }\n",
            vec![],
        ),
    ] {
        let broker = providers
            .broker(&format!(
                "[routes.balance]\nselection = \"round-robin\"\n{needs}"
            ))
            .await;
        let status = match served.is_empty() {
            true => StatusCode::INTERNAL_SERVER_ERROR,
            false => StatusCode::OK,
        };
        calls(&broker, ENVELOPE, status).await;
        assert_eq!(
            providers.called(),
            served.iter().copied().collect(),
            "{needs}"
        );
        let uncovered = "soapstone_failures_total{route=\"/echo\",reason=\"needs-uncovered\"}";
        let expected = if served.is_empty() { 12 } else { 0 };
        assert_eq!(metric(&broker, uncovered).await, expected, "{needs}");
    }
}

/// The strong one is gone: the others are no replacement.
#[tokio::test]
async fn a_provider_that_fails_is_never_replaced_by_a_weaker_one() {
    let mut providers = Providers::new().await;
    let broker = providers
        .broker("[routes.balance]\nneeds = { properties = [\"confidentiality\"] }\nidempotent = [\"echo\"]\n")
        .await;
    calls(&broker, ENVELOPE, StatusCode::OK).await;
    assert_eq!(providers.called(), BTreeSet::from([2]));
    let nobody = Nobody::new();
    let gone = providers.file("[routes.balance]\nneeds = { properties = [\"confidentiality\"] }\nidempotent = [\"echo\"]\n");
    let strong = providers.gateways[2].address().to_string();
    let broker = providers
        .folder
        .gateway(&gone.replace(&strong, &nobody.address.to_string()))
        .await;
    calls(&broker, ENVELOPE, StatusCode::BAD_GATEWAY).await;
    assert_eq!(providers.called(), BTreeSet::new());
}

/// A strong offer and a weak service: the offer is the broker's own policy, and what the service
/// answers is held against it.
#[tokio::test]
async fn a_provider_that_answers_more_weakly_than_its_policy_is_refused_and_ejected() {
    let mut providers = Providers::new().await;
    // The strong place is taken by a provider that only echoes what it gets.
    let strong = providers.gateways[2].address().to_string();
    let lying = providers.backends[0].address.to_string();
    let file = providers.file(
        "[routes.balance]\nneeds = { properties = [\"confidentiality\"] }\nejection = { failures = 2 }\n",
    );
    let broker = providers
        .folder
        .gateway(&file.replace(&strong, &lying))
        .await;
    calls(&broker, ENVELOPE, StatusCode::BAD_GATEWAY).await;
    let ejected = "soapstone_balanced_ejections_total{route=\"/echo\",backend=\"strong\"}";
    assert_eq!(metric(&broker, ejected).await, 1);
    assert_eq!(
        providers.called(),
        BTreeSet::from([0]),
        "no weaker one was asked instead"
    );
}

/// The balanced choice is by time and by the strength that the policies have, whatever is said.
#[tokio::test]
async fn the_strongest_is_preferred_where_time_counts_nothing() {
    let mut providers = Providers::new().await;
    let broker = providers
        .broker("[routes.balance]\nselection = \"balanced\"\ntime_weight = 0\n")
        .await;
    // Some calls measure providers whose time is not known.
    calls(&broker, ENVELOPE, StatusCode::OK).await;
    providers.called();
    let balanced = "soapstone_choices_total{route=\"/echo\",reason=\"balanced\"}";
    let before = metric(&broker, balanced).await;
    calls(&broker, ENVELOPE, StatusCode::OK).await;
    assert!(metric(&broker, balanced).await > before);
    assert!(providers.called().contains(&2));
}

fn requirements(needs: &str) -> String {
    let block = format!(
        "<s:Header><q:Requirements xmlns:q=\"urn:soapstone:qos:1\">{needs}</q:Requirements></s:Header><s:Body>"
    );
    ENVELOPE.replace("<s:Body>", &block)
}

/// A broker whose clients sign the Body and their needs, and a client's gateway in front of it.
async fn signing_client(providers: &Providers) -> (Running, Running) {
    let signed =
        "signed = [\"Body\", \"{urn:soapstone:qos:1}Requirements\", \"Timestamp\"], mechanism";
    let inbound = secured::service("sign").replace("mechanism", signed);
    let more = format!(
        "[routes.balance]\nselection = \"round-robin\"\nrequirements = true\n[routes.inbound]\n{inbound}"
    );
    let broker = providers.broker(&more).await;
    let outbound = secured::client("sign").replace("mechanism", signed);
    let text = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.outbound]\n{outbound}",
        broker.address()
    );
    let client = providers.folder.gateway(&text).await;
    (broker, client)
}

/// What `xmllint` says of a block by the schema of the documentation: whether it is valid. Where
/// `xmllint` is not installed (Debian: `libxml2-utils`) this says so and is `None`, but not in
/// continuous integration.
fn is_valid(folder: &Folder, needs: &str) -> Option<bool> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let block = format!("<q:Requirements xmlns:q=\"urn:soapstone:qos:1\">{needs}</q:Requirements>");
    let file = folder.write("block.xml", block);
    let mut command = std::process::Command::new("xmllint");
    command.args(["--noout", "--nonet", "--schema"]);
    command
        .arg(root.join("docs/qos-requirements.xsd"))
        .arg(file);
    let Ok(output) = command.output() else {
        assert!(std::env::var_os("CI").is_none(), "xmllint is not installed");
        eprintln!("skipped: xmllint is not installed");
        return None;
    };
    // 3: the document does not fit the schema. Others are failures of the question.
    match output.status.code() {
        Some(0) => Some(true),
        Some(3) => Some(false),
        _ => panic!("{output:?}"),
    }
}

/// Each block of these, at the gateway and by the schema.
#[tokio::test]
async fn the_schema_of_needs_accepts_and_refuses_what_the_gateway_does() {
    let providers = Providers::new().await;
    let (broker, client) = signing_client(&providers).await;
    let unclear = "soapstone_failures_total{route=\"/echo\",reason=\"needs-unclear\"}";
    let mut refused = 0;
    let most = "<q:Bits>1</q:Bits>".repeat(64);
    let more = "<q:Bits>1</q:Bits>".repeat(65);
    for (needs, expected) in [
        ("", true),
        ("<q:Property>integrity</q:Property>", true),
        (
            "<q:Property> authentication </q:Property><q:Property>integrity</q:Property>",
            true,
        ),
        ("<q:Bits>112</q:Bits><q:Encrypted>Body</q:Encrypted>", true),
        ("<q:RefusedAlgorithm>rsa-sha1</q:RefusedAlgorithm>", true),
        (
            "<q:Milliseconds>60000</q:Milliseconds><q:Availability>0</q:Availability>",
            true,
        ),
        (&most, true),
        (&more, false),
        ("<q:Property>Integrity</q:Property>", false),
        ("<q:Property>integrity authentication</q:Property>", false),
        ("<q:Property/>", false),
        ("<q:Bits>-1</q:Bits>", false),
        ("<q:Bits>many</q:Bits>", false),
        ("<q:Bits/>", false),
        ("<q:Bits>65536</q:Bits>", false),
        ("integrity", false),
        (
            "<q:Property optional=\"true\">integrity</q:Property>",
            false,
        ),
        ("<q:Bits>1<q:Bits/></q:Bits>", false),
        ("<q:Milliseconds>4294967296</q:Milliseconds>", false),
        ("<q:Availability>101</q:Availability>", false),
        ("<q:Availability>99.9</q:Availability>", false),
        ("<q:Cost>1</q:Cost>", false),
        ("<Bits xmlns=\"urn:other\">1</Bits>", false),
        ("<Bits>1</Bits>", false),
    ] {
        let answer = send(client.address(), post("/echo", requirements(needs))).await;
        let is_served = answer.status == StatusCode::OK;
        assert_eq!(is_served, expected, "{needs}: {}", answer.body);
        refused += u64::from(!expected);
        assert_eq!(metric(&broker, unclear).await, refused, "{needs}");
        if let Some(is_valid) = is_valid(&providers.folder, needs) {
            assert_eq!(is_valid, expected, "{needs}");
        }
    }
    let properties = [
        "authentication",
        "integrity",
        "confidentiality",
        "freshness",
        "non-repudiation",
        "end-to-end",
    ];
    for property in properties {
        let needs = format!("<q:Property>{property}</q:Property>");
        assert!(Property::named(property).is_some(), "{property}");
        assert_ne!(
            is_valid(&providers.folder, &needs),
            Some(false),
            "{property}"
        );
    }
}

#[tokio::test]
async fn a_signed_message_says_what_it_needs_and_its_needs_do_not_go_on() {
    let mut providers = Providers::new().await;
    let (_broker, client) = signing_client(&providers).await;
    for (needs, served) in [
        ("<q:Property>integrity</q:Property>", vec![1, 2]),
        (
            "<q:Encrypted>Body</q:Encrypted><q:Bits>112</q:Bits>",
            vec![2],
        ),
    ] {
        calls(&client, &requirements(needs), StatusCode::OK).await;
        let mut called = BTreeSet::new();
        for (index, backend) in providers.backends.iter_mut().enumerate() {
            while let Ok(seen) = backend.seen.try_recv() {
                called.insert(index);
                let body = String::from_utf8_lossy(&seen.body).into_owned();
                assert!(!body.contains("Requirements"), "{body}");
            }
        }
        assert_eq!(called, served.into_iter().collect(), "{needs}");
    }
    let answer = send(
        client.address(),
        post("/echo", requirements("<q:Cost>1</q:Cost>")),
    )
    .await;
    assert_ne!(answer.status, StatusCode::OK);
    assert_eq!(providers.called(), BTreeSet::new());
}

/// Somebody on the way takes the needs out, weakens them, or adds some that nobody signed.
#[tokio::test]
async fn needs_that_were_stripped_or_weakened_on_the_way_are_refused() {
    let mut providers = Providers::new().await;
    let (broker, client) = signing_client(&providers).await;
    let broker_at = broker.address();
    type Change = fn(&str) -> String;
    let strip: Change = |body| {
        let (before, rest) = body.split_once("<q:Requirements").expect("it is there");
        let (_, after) = rest.split_once("</q:Requirements>").expect("it ends");
        format!("{before}{after}")
    };
    let weaken: Change = |body| body.replace(">112<", ">0<");
    let same: Change = str::to_owned;
    for (change, served) in [(strip, false), (weaken, false), (same, true)] {
        let caught = Mutex::new(None);
        let caught = std::sync::Arc::new(caught);
        let keep = std::sync::Arc::clone(&caught);
        let tap = Backend::answering(move |seen| {
            *keep.lock().expect("no panic") =
                Some(String::from_utf8_lossy(&seen.body).into_owned());
            http::Response::new(http_body_util::Full::default())
        })
        .await;
        let text = format!(
            "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.outbound]\n{}",
            tap.address,
            secured::client("sign").replace(
                "mechanism",
                "signed = [\"Body\", \"{urn:soapstone:qos:1}Requirements\", \"Timestamp\"], mechanism"
            )
        );
        let tapped = providers.folder.gateway(&text).await;
        let message = requirements("<q:Encrypted>Body</q:Encrypted><q:Bits>112</q:Bits>");
        send(tapped.address(), post("/echo", message)).await;
        let sent = caught
            .lock()
            .expect("no panic")
            .take()
            .expect("it was sent");
        let answer = send(broker_at, post("/echo", change(&sent))).await;
        assert_eq!(answer.status == StatusCode::OK, served, "{}", answer.body);
        let expected = if served {
            BTreeSet::from([2])
        } else {
            BTreeSet::new()
        };
        assert_eq!(providers.called(), expected);
    }
    drop(client);
}

#[tokio::test]
async fn a_class_adds_to_what_its_members_need() {
    let mut providers = Providers::new().await;
    let inbound = "users = [{ name = \"alice\", password = \"secret\" }, { name = \"bob\", password = \"secret\" }]\nsecurity = { mechanism = \"username\" }\n";
    let more = format!(
        "[routes.balance]\nselection = \"round-robin\"\n[[routes.balance.classes]]\nmembers = [\"alice\", \"CN=other\"]\nneeds = {{ properties = [\"confidentiality\"] }}\n[routes.inbound]\n{inbound}"
    );
    let broker = providers.broker(&more).await;
    for (user, served) in [("alice", vec![2]), ("bob", vec![0, 1, 2])] {
        let text = format!(
            "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.outbound]\nusers = [{{ name = \"{user}\", password = \"secret\" }}]\nsecurity = {{ mechanism = \"username\" }}\n",
            broker.address()
        );
        let client = providers.folder.gateway(&text).await;
        calls(&client, ENVELOPE, StatusCode::OK).await;
        assert_eq!(providers.called(), served.into_iter().collect(), "{user}");
    }
}

/// Text that only looks like the subject would leave its requests without what they need.
#[tokio::test]
async fn the_holder_of_a_certificate_is_a_member_however_its_name_is_written() {
    let mut providers = Providers::new().await;
    let class = |member: &str| {
        format!(
            "[routes.balance]\nselection = \"round-robin\"\n[[routes.balance.classes]]\nmembers = [\"{member}\"]\nneeds = {{ properties = [\"confidentiality\"] }}\n"
        )
    };
    for mechanism in ["sign", "secure-conversation"] {
        for (member, served) in [
            ("cn = Client", vec![2]),
            ("CN=client of CN=Ca", vec![2]),
            ("CN=client of CN=other", vec![0, 1, 2]),
        ] {
            let inbound = format!("[routes.inbound]\n{}", secured::service(mechanism));
            let broker = providers.broker(&(class(member) + &inbound)).await;
            let text = format!(
                "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.outbound]\n{}",
                broker.address(),
                secured::client(mechanism)
            );
            let client = providers.folder.gateway(&text).await;
            calls(&client, ENVELOPE, StatusCode::OK).await;
            let served: BTreeSet<usize> = served.into_iter().collect();
            assert_eq!(providers.called(), served, "{mechanism}: {member}");
        }
    }
    // Which of two holders of one name is meant, nobody knows.
    let other = keys::authority("CN=other");
    providers
        .folder
        .write("other.cert.pem", other.certificates_to_pem());
    let two =
        secured::service("sign").replace("\"ca.cert.pem\"", "\"ca.cert.pem\", \"other.cert.pem\"");
    let said = |member: &str| {
        let text = providers.file(&format!("{}[routes.inbound]\n{two}", class(member)));
        let text = text.replace("LISTEN", "listen = \"127.0.0.1:0\"");
        let read = Config::from_text(&text, &providers.folder.path("gateway.toml"), &|_| None);
        read.err().map(|problems| problems.to_string())
    };
    let expected = "`members` has that of several certificates: `trust` believes 2 issuers, and each may issue one\n    \
                    hint: say whose it is: members = [\"CN=client of CN=authority\"]";
    let found = said("CN=client").expect("it is ambiguous");
    assert!(found.ends_with(expected), "{found}");
    for member in ["CN=client of CN=ca", "alice", "alice of Books"] {
        assert_eq!(said(member), None);
    }
    // The needs of a class whose member is half a name would be nobody's.
    let expected = "`members` must hold whole names, found a text with \" of \" outside of quotes\n    \
                    hint: name an issuer, \"CN=client of CN=authority\"; a value with the word stands in quotes: 'CN=\"Bank of Books\"'";
    let found = said("CN=client of authority").expect("half a name");
    assert!(found.contains(expected), "{found}");
}

#[tokio::test]
async fn the_index_is_explained_from_the_policies_of_the_file() {
    let providers = Providers::new().await;
    let config: Config = providers.folder.config(&providers.file(""));
    let needs = Needs {
        properties: vec![Property::Integrity],
        bits: 112,
        ..Needs::nothing()
    };
    let [route] = &config.considered(Some("/echo"), None, &needs)[..] else {
        panic!("one route");
    };
    let shortfalls: Vec<_> = route
        .backends
        .iter()
        .map(|backend| backend.verdict.shortfalls.clone())
        .collect();
    let weak = Shortfall::Weak {
        property: Property::Integrity,
        bits: 61,
        needed: 112,
    };
    assert_eq!(
        shortfalls,
        [
            vec![Shortfall::Missing(Property::Integrity)],
            vec![weak],
            vec![]
        ]
    );
    assert_eq!(route.backends[2].security.encrypted, ["Body"]);
    assert_eq!(route.backends[2].verdict.time, None, "nothing was measured");
    assert!(config.considered(Some("/other"), None, &needs).is_empty());
}
