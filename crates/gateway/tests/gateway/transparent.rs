//! A gateway on the way that chooses a provider: security from end to end stays, and the gateway
//! reads the needs that are addressed to it and signed for it.

use http::StatusCode;
use soapstone::config::EndpointConfig;
use soapstone::endpoint::Endpoint;
use soapstone::{Client, ForgetfulReplayCache, Memory, Opener};
use soapstone_gateway::{Config, Gateway, Running};
use soapstone_testkit::Folder;
use soapstone_testkit::envelope::{HELLO, SOAP11, with_header};
use soapstone_testkit::keys::RSA;

use crate::support::{Answer, Backend, post, send};

const SIGNED: &str = "signed = [\"Body\", \"Timestamp\", \"{urn:soapstone:qos:1}Requirements\"]";
const STRONG: &str = "<q:Property>confidentiality</q:Property><q:Bits>112</q:Bits>";
const ACTOR: &str = " s:actor=\"urn:broker\"";
const END: &str = "</wsse:Security>";

fn block(needs: &str, actor: &str) -> String {
    format!("<q:Requirements xmlns:q=\"urn:soapstone:qos:1\"{actor}>{needs}</q:Requirements>")
}

fn keys(name: &str) -> String {
    format!(
        "identity = {{ key = \"{name}.key.pem\", certificate = \"{name}.cert.pem\" }}\n\
         trust = {{ anchors = [\"ca.cert.pem\"] }}\n"
    )
}

fn folder() -> Folder {
    Folder::with_keys(RSA, &["client", "broker", "service"])
}

/// A client that protects messages for the service, and for the broker as it is told.
fn client(folder: &Folder, for_broker: &str) -> Client {
    named("client", folder, for_broker)
}

/// The same with the key of that name.
fn named(name: &str, folder: &Folder, for_broker: &str) -> Client {
    let text = keys(name)
        + "peer = { certificate = \"service.cert.pem\" }\n\
           security = { mechanism = \"sign-encrypt\", suite = \"Basic256GCM\" }\n\
           [[recipients]]\nactor = \"urn:broker\"\npeer = { certificate = \"broker.cert.pem\" }\n"
        + for_broker;
    let config = EndpointConfig::from_text(&text, &folder.path("client.toml"), &|_| None);
    let client = config.and_then(|config| Endpoint::from_config(&config));
    client.unwrap_or_else(|problems| panic!("{problems}"))
}

fn secured(client: &Client, blocks: &str) -> String {
    let plain = with_header(SOAP11, blocks, HELLO);
    let secured = client.secure(plain.into_bytes()).expect("it is secured");
    String::from_utf8(secured.bytes).expect("text")
}

/// A broker before two providers, with what else the file of it says.
struct Broker {
    folder: Folder,
    weak: Backend,
    strong: Backend,
    gateway: Running,
}

fn file(weak: &str, strong: &str, inbound: &str) -> String {
    format!(
        "listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/echo\"\n\
         [[routes.backends]]\nname = \"weak\"\nurl = \"http://{weak}/echo\"\n\
         assures = {{ properties = [\"authentication\", \"integrity\"], bits = 112, algorithms = [\"rsa-sha256\"] }}\n\
         [[routes.backends]]\nname = \"strong\"\nurl = \"http://{strong}/echo\"\n\
         assures = {{ properties = [\"authentication\", \"integrity\", \"confidentiality\"], bits = 112, \
         algorithms = [\"rsa-sha256\", \"aes256-gcm\"], encrypted = [\"Body\"] }}\n\
         [routes.balance]\nselection = \"round-robin\"\nrequirements = true\n\
         [routes.inbound]\nrole = \"urn:broker\"\n{}{inbound}",
        keys("broker").replace(
            "[\"ca.cert.pem\"]",
            "[\"ca.cert.pem\"], subjects = [\"CN=client\"]"
        )
    )
}

impl Broker {
    async fn new(mechanism: &str) -> Self {
        let folder = folder();
        let (weak, strong) = (Backend::echo().await, Backend::echo().await);
        let inbound = format!("security = {{ {mechanism} }}\n");
        let text = file(
            &weak.address.to_string(),
            &strong.address.to_string(),
            &inbound,
        );
        let config = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
        let config = config.unwrap_or_else(|problems| panic!("{problems}"));
        let gateway = Gateway::start(config).await.expect("the system has ports");
        Self {
            folder,
            weak,
            strong,
            gateway,
        }
    }

    async fn signing() -> Self {
        Self::new(&format!(
            "mechanism = \"sign\", suite = \"Basic256GCM\", {SIGNED}"
        ))
        .await
    }

    fn signing_client(&self) -> Client {
        client(&self.folder, &format!("mechanism = \"sign\"\n{SIGNED}\n"))
    }

    async fn called(&self, message: &str) -> Answer {
        send(self.gateway.address(), post("/echo", message.to_owned())).await
    }

    /// The messages that reached the providers since this was last asked.
    fn reached(&mut self) -> [Vec<String>; 2] {
        [&mut self.weak, &mut self.strong].map(|backend| {
            let seen = std::iter::from_fn(|| backend.seen.try_recv().ok());
            seen.map(|seen| String::from_utf8_lossy(&seen.body).into_owned())
                .collect()
        })
    }
}

/// A message without the part between both, ends included.
fn without(message: &str, start: &str, end: &str) -> String {
    let from = message.find(start).expect("its start");
    let to = from + message[from..].find(end).expect("its end") + end.len();
    format!("{}{}", &message[..from], &message[to..])
}

#[tokio::test]
async fn a_node_on_the_way_chooses_by_the_needs_that_are_signed_for_it_and_changes_nothing_else() {
    let mut broker = Broker::signing().await;
    let client = broker.signing_client();
    let text =
        keys("service") + "security = { mechanism = \"sign-encrypt\", suite = \"Basic256GCM\" }\n";
    let config = EndpointConfig::from_text(&text, &broker.folder.path("service.toml"), &|_| None);
    let service = config.and_then(|config| Endpoint::from_config(&config));
    let service: Opener = service.unwrap_or_else(|problems| panic!("{problems}"));
    for _ in 0..4 {
        let needs = format!("\n {}\t<!-- kept -->", block(STRONG, ACTOR));
        let message = secured(&client, &needs);
        let answer = broker.called(&message).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let [weak, strong] = broker.reached();
        assert_eq!(weak, Vec::<String>::new());
        // Every byte between sender and service is the sender's.
        let left = without(&message, "<wsse:Security ", END);
        let left = without(&left, "<q:Requirements", "</q:Requirements>");
        assert_eq!(strong, [left]);
        assert_eq!(answer.body, strong[0]);
        let memory = Memory::without_conversations(&ForgetfulReplayCache);
        let opened = service.open(strong[0].clone().into_bytes(), memory);
        let opened = String::from_utf8(opened.expect("it is the sender's").bytes).expect("text");
        assert!(opened.contains(HELLO), "{opened}");
    }
    // Without needs each takes its turn.
    for _ in 0..4 {
        let answer = broker.called(&secured(&client, "")).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    }
    assert_eq!(broker.reached().map(|seen| seen.len()), [2, 2]);
}

#[tokio::test]
async fn needs_may_be_for_the_eyes_of_the_broker_alone() {
    let both = format!("{SIGNED}, encrypted = [\"{{urn:soapstone:qos:1}}Requirements\"]");
    let mut broker = Broker::new(&format!(
        "mechanism = \"sign-encrypt\", suite = \"Basic256GCM\", {both}"
    ))
    .await;
    let own = both.replace(", encrypted", "\nencrypted");
    let client = client(
        &broker.folder,
        &format!("mechanism = \"sign-encrypt\"\n{own}\n"),
    );
    for _ in 0..4 {
        let message = secured(&client, &block(STRONG, ACTOR));
        assert!(!message.contains("confidentiality"), "{message}");
        let answer = broker.called(&message).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        assert_eq!(broker.reached().map(|seen| seen.len()), [0, 1]);
    }
}

/// Attacks on the way, and by senders that nobody trusts: the needs are what the sender signed, or
/// the message gets no further.
#[tokio::test]
async fn needs_that_were_changed_on_the_way_get_nowhere() {
    let mut broker = Broker::signing().await;
    let client = broker.signing_client();
    let message = || secured(&client, &block(STRONG, ACTOR));
    let more = block("<q:Bits>1</q:Bits>", ACTOR);
    // Stripped.
    let mut attacks = vec![
        (
            "stripped",
            without(&message(), "<q:Requirements", "</q:Requirements>"),
        ),
        (
            "stripped with the header of the broker",
            without(
                &without(&message(), "<q:Requirements", "</q:Requirements>"),
                "<wsse:Security ",
                END,
            ),
        ),
        (
            "weakened",
            message().replace("<q:Bits>112</q:Bits>", "<q:Bits>1</q:Bits>"),
        ),
        (
            "addressed to another node",
            message().replace("s:actor=\"urn:broker\">", "s:actor=\"urn:other\">"),
        ),
        (
            "moved aside",
            message()
                .replace(
                    "<q:Requirements",
                    "<w:aside xmlns:w=\"urn:w\"><q:Requirements",
                )
                .replace("</q:Requirements>", "</q:Requirements></w:aside>"),
        ),
        ("moved into the Body", {
            let sent = message();
            let left = without(&sent, "<q:Requirements", "</q:Requirements>");
            let from = sent.find("<q:Requirements").expect("needs");
            let to = sent.find("</q:Requirements>").expect("needs") + "</q:Requirements>".len();
            left.replace("</s:Body>", &format!("{}</s:Body>", &sent[from..to]))
        }),
        (
            "beside others that nobody signed",
            message().replace("</s:Header>", &format!("{more}</s:Header>")),
        ),
    ];
    // Nobody signed them at all.
    let careless = self::client(
        &broker.folder,
        "mechanism = \"sign\"\nsigned = [\"Body\", \"Timestamp\"]\n",
    );
    attacks.push(("unsigned", secured(&careless, &block(STRONG, ACTOR))));
    // Who signs them is nobody whom the broker trusts.
    let for_broker = format!("mechanism = \"sign\"\n{SIGNED}\n");
    let stranger = named("service", &broker.folder, &for_broker);
    attacks.push(("by a stranger", secured(&stranger, &block(STRONG, ACTOR))));
    attacks.push((
        "not understood",
        secured(&client, &block("<q:Cost>1</q:Cost>", ACTOR)),
    ));
    for (what, attack) in attacks {
        let answer = broker.called(&attack).await;
        assert!(answer.status.is_server_error(), "{what}: {}", answer.body);
        let reached = broker.reached();
        assert_eq!(reached, [vec![], Vec::<String>::new()], "{what}");
    }
}

/// The header for the broker and the needs of one message, in another of the same sender.
#[tokio::test]
async fn needs_of_one_message_are_of_no_use_in_another() {
    let mut broker = Broker::signing().await;
    let client = broker.signing_client();
    let part = |message: &str, start: &str, end: &str| {
        let from = message.find(start).expect("its start");
        let to = from + message[from..].find(end).expect("its end") + end.len();
        message[from..to].to_owned()
    };
    let weak = block("<q:Property>integrity</q:Property>", ACTOR);
    for needs in [weak.as_str(), ""] {
        // Each of the weak message is enough to reach the weak provider.
        let (strong, weak) = (
            secured(&client, &block(STRONG, ACTOR)),
            secured(&client, needs),
        );
        let (start, end) = ("<wsse:Security ", END);
        let mut swapped = strong.replace(&part(&strong, start, end), &part(&weak, start, end));
        let (start, end) = ("<q:Requirements", "</q:Requirements>");
        let of_weak = match needs {
            "" => String::new(),
            _ => part(&weak, start, end),
        };
        swapped = swapped.replace(&part(&swapped, start, end), &of_weak);
        for _ in 0..4 {
            let answer = broker.called(&swapped).await;
            assert!(answer.status.is_server_error(), "{}", answer.body);
            let reached = broker.reached();
            assert_eq!(reached, [vec![], Vec::<String>::new()], "{needs}");
        }
    }
}

#[tokio::test]
async fn needs_for_another_node_say_nothing_here_and_two_blocks_need_what_both_say() {
    let mut broker = Broker::signing().await;
    let client = broker.signing_client();
    let other = block(STRONG, " s:actor=\"urn:other\"");
    // A later node is on the way, and the block is for that.
    let later =
        "[[recipients]]\nactor = \"urn:other\"\nmechanism = \"sign\"\nsigned = [\"Timestamp\"]\n";
    let farther = self::client(
        &broker.folder,
        &format!("mechanism = \"sign\"\n{SIGNED}\n{later}"),
    );
    for _ in 0..4 {
        let answer = broker.called(&secured(&farther, &other)).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    }
    let reached = broker.reached();
    assert_eq!(reached.each_ref().map(Vec::len), [2, 2]);
    for passed in reached.iter().flatten() {
        assert!(passed.contains("urn:other"), "it goes on: {passed}");
    }
    let weak = block("<q:Property>integrity</q:Property>", ACTOR);
    let strong = block(STRONG, ACTOR);
    for blocks in [format!("{strong}{weak}"), format!("{weak}{strong}")] {
        for _ in 0..4 {
            let answer = broker.called(&secured(&client, &blocks)).await;
            assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        }
        assert_eq!(broker.reached().map(|seen| seen.len()), [0, 4]);
    }
    // None assures that much: no weaker one is asked instead.
    let most = block(
        "<q:Property>integrity</q:Property><q:Bits>256</q:Bits>",
        ACTOR,
    );
    let answer = broker.called(&secured(&client, &most)).await;
    assert!(answer.status.is_server_error(), "{}", answer.body);
    assert_eq!(broker.reached().map(|seen| seen.len()), [0, 0]);
}

/// A weak algorithm counts as assured where the file names it. Whoever runs the gateway is told.
#[tokio::test]
async fn weak_algorithms_that_a_backend_assures_are_warned_of_and_counted() {
    let folder = folder();
    let (weak, strong) = (Backend::echo().await, Backend::echo().await);
    let security =
        format!("security = {{ mechanism = \"sign\", suite = \"Basic256GCM\", {SIGNED} }}\n");
    let (weak_at, strong_at) = (weak.address.to_string(), strong.address.to_string());
    let text = file(&weak_at, &strong_at, &security);
    let warned = |text: &str| {
        let config = Config::from_text(text, &folder.path("gateway.toml"), &|_| None);
        let config = config.unwrap_or_else(|problems| panic!("{problems}"));
        let warnings = config.warnings().into_iter();
        let weak = warnings.filter(|it| it.name == "weak-algorithm");
        let told: Vec<String> = weak.map(|it| it.problem.message).collect();
        (config, told)
    };
    assert_eq!(warned(&text).1, [""; 0]);
    let permits = text.replace(
        "[\"rsa-sha256\"]",
        "[\"rsa-sha256\", \"rsa-1_5\", \"SHA1\"]",
    );
    let (config, told) = warned(&permits);
    assert_eq!(told, ["`assures` permits weak algorithms: rsa-1_5, sha1"]);
    let gateway = Gateway::start(config).await.expect("the system has ports");
    let client = client(&folder, &format!("mechanism = \"sign\"\n{SIGNED}\n"));
    for _ in 0..4 {
        let needs = block("<q:Property>integrity</q:Property>", ACTOR);
        let message = secured(&client, &needs);
        let answer = send(gateway.address(), post("/echo", message)).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    }
    let metrics = gateway.metrics();
    for algorithm in ["rsa-1_5", "sha1"] {
        let counted = |line: &&str| {
            line.starts_with("soapstone_weak_algorithm_uses_total{")
                && line.contains("direction=\"outbound\"")
                && line.ends_with(&format!("algorithm=\"{algorithm}\"}} 2"))
        };
        assert_eq!(metrics.lines().filter(counted).count(), 1, "{metrics}");
    }
    // Whoever refuses one of them is served by the other backend.
    let refused = block("<q:RefusedAlgorithm>sha1</q:RefusedAlgorithm>", ACTOR);
    for _ in 0..4 {
        let message = secured(&client, &refused);
        let answer = send(gateway.address(), post("/echo", message)).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    }
    let again = gateway.metrics();
    let uses = |metrics: &str| metrics.matches("algorithm=\"sha1\"} 2\n").count();
    assert_eq!((uses(&metrics), uses(&again)), (1, 1));
}

/// The algorithms of a backend that says nothing of them are not known, and so not good.
#[tokio::test]
async fn a_refused_algorithm_is_not_covered_by_a_backend_without_assurance() {
    let folder = folder();
    let (weak, mut strong) = (Backend::echo().await, Backend::echo().await);
    let security =
        format!("security = {{ mechanism = \"sign\", suite = \"Basic256GCM\", {SIGNED} }}\n");
    let (weak_at, strong_at) = (weak.address.to_string(), strong.address.to_string());
    let text = without(&file(&weak_at, &strong_at, &security), "assures = {", "}\n");
    let config = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
    let config = config.unwrap_or_else(|problems| panic!("{problems}"));
    let gateway = Gateway::start(config).await.expect("the system has ports");
    let client = client(&folder, &format!("mechanism = \"sign\"\n{SIGNED}\n"));
    // Named by its URI, as in messages.
    let uri = "http://www.w3.org/2000/09/xmldsig#rsa-sha1";
    for name in ["rsa-sha1", uri] {
        let needs = format!("<q:RefusedAlgorithm>{name}</q:RefusedAlgorithm>");
        for _ in 0..4 {
            let message = secured(&client, &block(&needs, ACTOR));
            let answer = send(gateway.address(), post("/echo", message)).await;
            assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
            assert!(strong.seen.try_recv().is_ok());
        }
    }
}

#[test]
fn what_a_broker_on_the_way_cannot_keep_is_refused() {
    let folder = folder();
    let problem = |text: String| {
        let config = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
        config.map(drop).expect_err("problems").to_string()
    };
    let security =
        format!("security = {{ mechanism = \"sign\", suite = \"Basic256GCM\", {SIGNED} }}\n");
    let good = file("127.0.0.1:1", "127.0.0.1:2", &security);
    let config = Config::from_text(&good, &folder.path("gateway.toml"), &|_| None);
    assert!(config.is_ok(), "{:?}", config.err());
    for (from, to, expected) in [
        (
            ", \"{urn:soapstone:qos:1}Requirements\"]",
            "]",
            "`requirements` is given, and `inbound` passes on messages without the sender's signature of them for this node",
        ),
        (
            "signed = [\"Body\", ",
            "signed = [",
            "`requirements` is given, and `inbound` passes on messages whose Body is not signed for this node with them",
        ),
        (
            "role = \"urn:broker\"\n",
            "",
            "`assures` is for a route whose `inbound` passes messages on",
        ),
        (
            ", algorithms = [\"rsa-sha256\"] }",
            " }",
            "`algorithms` is missing",
        ),
        (
            "algorithms = [\"rsa-sha256\"] }",
            "algorithms = [] }",
            "`algorithms` is missing",
        ),
        (
            "algorithms = [\"rsa-sha256\"] }",
            "algorithms = [\"rsa-sha-256\"] }",
            "`algorithms` names algorithms of signatures, digests and the encryption of data",
        ),
        (
            "requirements = true\n",
            "requirements = true\nneeds = { refused = [\"rsa1\"] }\n",
            "`refused` names algorithms of signatures, digests and the encryption of data",
        ),
        (
            "\"integrity\", \"confidentiality\"]",
            "\"integrity\"]",
            "`encrypted` is given, and `properties` has no \"confidentiality\"",
        ),
        (
            "[routes.balance]",
            "[routes.backends.outbound]\nsecurity = { mechanism = \"none\" }\n[routes.balance]",
            "a backend has an `outbound`, and `inbound` passes messages on",
        ),
    ] {
        let told = problem(good.replacen(from, to, 1));
        assert!(told.contains(expected), "{told}");
    }
}

/// Answers pass unopened, so that nobody here could tell whether the promise is kept.
#[test]
fn an_agreement_about_security_that_passes_by_is_refused() {
    let folder = Folder::with_keys(RSA, &["client", "broker", "gateway"]);
    let agreement = |more: &str| {
        let text = format!(
            "service = \"/echo\"\nuntil = 2999-01-01\nwindow = {{ calls = 10 }}\n\
             [client]\nsubject = \"CN=client\"\n[provider]\nbackends = [\"strong\"]\n{more}"
        );
        folder.write("gold.toml", text);
        let security =
            format!("security = {{ mechanism = \"sign\", suite = \"Basic256GCM\", {SIGNED} }}\n");
        let route = file("127.0.0.1:1", "127.0.0.1:2", &security);
        let agreements = "[agreements]\nfiles = [\"gold.toml\"]\nrecords = \"violations.xml\"\n\
             identity = { key = \"gateway.key.pem\", certificate = \"gateway.cert.pem\" }\n[[routes]]";
        let text = route.replacen("[[routes]]", agreements, 1);
        let config = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
        config.map(drop).map_err(|problems| problems.to_string())
    };
    assert_eq!(agreement("availability = \"99%\"\n"), Ok(()));
    let told = agreement("security = { properties = [\"integrity\"] }\n");
    let told = told.expect_err("a problem");
    let expected = "`security` of [provider] is compared with answers, and the route passes those of a backend on unopened";
    assert!(told.contains(expected), "{told}");
}

/// What a registry says of a provider is the provider's word, and DNS says nothing of security.
#[test]
fn providers_that_are_found_have_what_the_file_assures_of_them_or_the_file_is_refused() {
    let folder = Folder::with_keys(RSA, &["client", "broker", "service", "registry"]);
    let security =
        format!("security = {{ mechanism = \"sign\", suite = \"Basic256GCM\", {SIGNED} }}\n");
    let registry = "[registry]\nurl = \"http://127.0.0.1:1/uddi\"\n[registry.client]\n\
                    identity = { key = \"broker.key.pem\", certificate = \"broker.cert.pem\" }\n\
                    peer = { certificate = \"registry.cert.pem\" }\n\
                    trust = { anchors = [\"ca.cert.pem\"], subjects = [\"CN=registry\"] }\n\
                    security = { mechanism = \"sign\", suite = \"Basic256GCM\" }\n";
    let assures =
        "assures = { properties = [\"integrity\"], bits = 112, algorithms = [\"rsa-sha256\"] }\n";
    let of = |backends: &str, balance: &str, role: &str| {
        let text = format!(
            "listen = \"127.0.0.1:0\"\n{registry}[[routes]]\npath = \"/echo\"\n[routes.backends]\n{backends}\
             [routes.balance]\n{balance}[routes.inbound]\n{role}{}{security}",
            keys("broker")
        );
        let config = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
        config.map(drop).map_err(|problems| problems.to_string())
    };
    let known = "service = \"Books\"\nowners = [\"CN=p1\", \"CN=p2\"]\n";
    let named = "srv = \"http://_books._tcp.example.com/books\"\nnetworks = [\"10.0.0.0/8\"]\n";
    let (asks, role) = ("requirements = true\n", "role = \"urn:broker\"\n");
    let missing = "nothing says what a provider and its clients assure each other";
    let of_owner = format!("{known}[[routes.backends.policies]]\nowners = [\"CN=p2\"]\n{assures}");
    for source in [known, named] {
        let needs = "needs = { properties = [\"integrity\"] }\n";
        for balance in [asks, needs] {
            let told = of(source, balance, role).expect_err("nothing is assured");
            assert!(told.contains(missing), "{told}");
        }
        assert_eq!(of(source, "selection = \"random\"\n", role), Ok(()));
        let assured = source.to_owned() + assures;
        assert_eq!(of(&assured, asks, role), Ok(()));
        // Elsewhere the gateway computes it.
        let told = of(&assured, asks, "").expect_err("it is assured");
        assert!(told.contains("`assures` is for a route whose"), "{told}");
    }
    assert_eq!(of(&of_owner, asks, role), Ok(()));
    let told = of(&of_owner, asks, "").expect_err("it is assured");
    assert!(told.contains("`assures` is for a route whose"), "{told}");
    let both =
        of_owner + "[routes.backends.policies.outbound]\nsecurity = { mechanism = \"none\" }\n";
    let told = of(&both, asks, role).expect_err("it is secured twice");
    assert!(
        told.contains(
            "`assures` is about messages that pass as they come, and `outbound` secures them"
        ),
        "{told}"
    );
}
