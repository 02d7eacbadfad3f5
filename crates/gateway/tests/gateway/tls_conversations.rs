//! Conversations whose messages TLS protects: their key signs each request's Timestamp, and says
//! with that whose it is. WCF calls it a message credential with a security context.

use http::StatusCode;
use jiff::Timestamp;
use soapstone::trust::{ClientRules, PendingCancel, PendingIssue};
use soapstone::wss::{Envelope, OutboundPlan, Outgoing, SecurityContext, SoapVersion};
use soapstone::xml::Buffers;
use soapstone::{Call, Client, Handshake, Memory};
use soapstone_gateway::{Config, Running};
use soapstone_store::MemoryReplay;

use crate::support::{Answer, Backend, ENVELOPE, Folder, post, send, send_over, soon};
use crate::tls::connect;

const SP: &str = "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702";
const TRANSPORT: &str = "<sp:TransportBinding><wsp:Policy>\
    <sp:TransportToken><wsp:Policy><sp:HttpsToken><wsp:Policy/></sp:HttpsToken></wsp:Policy></sp:TransportToken>\
    <sp:AlgorithmSuite><wsp:Policy><sp:Basic256/></wsp:Policy></sp:AlgorithmSuite>\
    <sp:Layout><wsp:Policy><sp:Strict/></wsp:Policy></sp:Layout><sp:IncludeTimestamp/></wsp:Policy></sp:TransportBinding>";
const USERS: &str = "<sp:SignedSupportingTokens><wsp:Policy><sp:UsernameToken><wsp:Policy><sp:WssUsernameToken10/></wsp:Policy>\
    </sp:UsernameToken></wsp:Policy></sp:SignedSupportingTokens>";
const CERTIFICATES: &str = "<sp:EndorsingSupportingTokens><wsp:Policy><sp:X509Token><wsp:Policy><sp:WssX509V3Token10/></wsp:Policy>\
    </sp:X509Token></wsp:Policy></sp:EndorsingSupportingTokens>";

/// The policy of a conversation that `who` begins. `options` are of its token; To is signed
/// besides, as WCF has it.
fn policy(who: &str, options: &str) -> String {
    format!(
        "<wsp:Policy xmlns:wsp=\"http://www.w3.org/ns/ws-policy\" xmlns:sp=\"{SP}\">\
         <wsam:Addressing xmlns:wsam=\"http://www.w3.org/2007/05/addressing/metadata\"><wsp:Policy/></wsam:Addressing>\
         {TRANSPORT}<sp:EndorsingSupportingTokens><wsp:Policy>\
         <sp:SecureConversationToken sp:IncludeToken=\"{SP}/IncludeToken/AlwaysToRecipient\"><wsp:Policy>{options}\
         <sp:BootstrapPolicy><wsp:Policy>{TRANSPORT}{who}</wsp:Policy></sp:BootstrapPolicy></wsp:Policy></sp:SecureConversationToken>\
         <sp:SignedParts><sp:Header Name=\"To\" Namespace=\"http://www.w3.org/2005/08/addressing\"/></sp:SignedParts>\
         </wsp:Policy></sp:EndorsingSupportingTokens></wsp:Policy>"
    )
}

fn tables(us: &str, more: &str) -> String {
    format!(
        "identity = {{ key = \"{us}.key.pem\", certificate = \"{us}.cert.pem\" }}\ntrust = {{ anchors = [\"ca.cert.pem\"] }}\n\
         users = [{{ name = \"alice\", password = \"secret\" }}]\nsecurity = {{ policy = \"policy.xml\"{more} }}\n"
    )
}

/// A service with two routes; contexts of the one are none of the other.
fn service_file(backend: &Backend, more: &str) -> String {
    let route = |path: &str| {
        format!(
            "[[routes]]\npath = \"/{path}\"\nbackend = \"http://{}/{path}\"\n[routes.inbound]\n{}",
            backend.address,
            tables("server", more)
        )
    };
    format!(
        "LISTEN\ntls = {{ certificate = \"server.cert.pem\", key = \"server.key.pem\" }}\n{}{}",
        route("echo"),
        route("other")
    )
}

fn client_file(service: &Running) -> String {
    format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"https://localhost:{}/echo\"\ntls = {{ ca = [\"ca.cert.pem\"] }}\n[routes.outbound]\n{}",
        service.address().port(),
        tables("client", "")
    )
}

/// A service and a client under the policy that the folder has.
async fn both(folder: &Folder, backend: &Backend, more: &str) -> (Running, Running) {
    let service = folder.gateway(&service_file(backend, more)).await;
    let client = folder.gateway(&client_file(&service)).await;
    (service, client)
}

async fn called(client: &Running) {
    let answer = send(client.address(), post("/echo", ENVELOPE)).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    assert!(answer.body.contains(">hello<"), "{}", answer.body);
}

async fn send_over_tls(service: &Running, path: &str, message: Vec<u8>) -> Answer {
    let stream = connect(service.address(), b"http/1.1", false).await;
    let stream = stream.expect("a handshake");
    let request = post(path, message);
    send_over(stream, request).await.expect("an answer")
}

fn counted(gateway: &Running, line: &str) -> u64 {
    let metrics = gateway.metrics();
    let mut lines = metrics.lines();
    let value = lines.find_map(|found| found.strip_prefix(line)?.strip_prefix(' '));
    value.map_or(0, |value| value.parse().expect("a count"))
}

fn event(name: &str) -> String {
    format!("soapstone_contexts_total{{route=\"/echo\",event=\"{name}\"}}")
}

const ESTABLISHED: &str = "soapstone_handshakes_total{route=\"/echo\",outcome=\"established\"}";
const RESENT: &str = "soapstone_resent_requests_total{route=\"/echo\"}";
const HELD: &str = "soapstone_conversations{route=\"/echo\",direction=\"inbound\"}";

#[tokio::test]
async fn users_and_certificates_begin_conversations_that_tls_protects() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    // A key that encrypts nothing has any length.
    let long = ", conversations = { key_size = 384 }";
    for (who, options, more) in [
        (USERS, "", ""),
        (USERS, "", long),
        (USERS, "<sp:RequireDerivedKeys/>", ""),
        (USERS, "<sp:RequireImpliedDerivedKeys/>", ""),
        (CERTIFICATES, "", ""),
        (CERTIFICATES, "<sp:RequireDerivedKeys/>", ""),
    ] {
        folder.write("policy.xml", policy(who, options));
        let (service, client) = both(&folder, &backend, more).await;
        for _ in 0..2 {
            called(&client).await;
            let seen = backend.seen.recv().await.expect("it arrived");
            let body = String::from_utf8(seen.body.to_vec()).expect("it is UTF-8");
            assert!(!body.contains("Security"), "{body}");
        }
        assert!(
            backend.seen.try_recv().is_err(),
            "the handshake is not the backend's"
        );
        assert_eq!(counted(&client, ESTABLISHED), 1, "{who} {options}");
        assert_eq!(counted(&service, &event("issued")), 1);
        assert_eq!(counted(&service, HELD), 1);
    }
}

#[tokio::test]
async fn a_conversation_over_tls_is_renewed_lost_found_again_and_ended() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    folder.write("policy.xml", policy(USERS, ""));
    let short = ", conversations = { lifetime = \"4s\", owner_alone = true }";
    let (service, client) = both(&folder, &backend, short).await;
    called(&client).await;
    let renewal = async {
        while counted(&service, &event("renewed")) == 0 {
            called(&client).await;
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    };
    soon("a renewal", renewal).await;
    called(&client).await;
    assert_eq!(counted(&service, &event("issued")), 1);
    client.end_conversations().await;
    assert_eq!(counted(&service, HELD), 0);
    called(&client).await;
    assert_eq!(counted(&client, RESENT), 0);
    // And one that the service has lost.
    let address = service.address();
    service.shutdown().await;
    let file = service_file(&backend, "").replace("LISTEN", &format!("listen = \"{address}\""));
    let again = folder.gateway(&file).await;
    called(&client).await;
    assert_eq!(counted(&client, RESENT), 1);
    assert_eq!(counted(&again, &event("issued")), 1);
}

#[tokio::test]
async fn neither_a_request_for_a_context_nor_one_within_it_is_heard_without_tls() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    folder.write("policy.xml", policy(USERS, ""));
    let client = Somebody::with(&folder);
    let with_tls = service_file(&backend, "");
    let service = folder.gateway(&with_tls).await;
    let context = client.established(&service).await;
    let (_, without_tls) = with_tls.split_once("[[routes]]").expect("it has routes");
    let without_tls = format!("LISTEN\n[[routes]]{without_tls}");
    let open = folder.gateway(&without_tls).await;
    for message in [
        client.asking(&service).bytes,
        client.within(&context, ENVELOPE),
    ] {
        let answer = send(open.address(), post("/echo", message)).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{}", answer.body);
    }
    assert_eq!(counted(&open, &event("issued")), 0);
    let refused = "soapstone_failures_total{route=\"/echo\",reason=\"needs-tls\"}";
    assert_eq!(counted(&open, refused), 2);
    assert!(backend.seen.try_recv().is_err());
    // Nor is one sent.
    let file = client_file(&service).replace("https://", "http://");
    let file = file
        .replace("tls = { ca = [\"ca.cert.pem\"] }\n", "")
        .replace("LISTEN", "listen = \"127.0.0.1:0\"");
    let problems = Config::from_text(&file, &folder.path("gateway.toml"), &|_| None);
    let problems = problems.expect_err("it is a mistake").to_string();
    assert!(
        problems.contains("the policy of the backend leaves protection to TLS"),
        "{problems}"
    );
}

#[tokio::test]
async fn a_message_is_heard_once_at_its_own_route_and_while_its_context_is_there() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    folder.write("policy.xml", policy(USERS, ""));
    let service = folder.gateway(&service_file(&backend, "")).await;
    let client = Somebody::with(&folder);
    let context = client.established(&service).await;
    let refusals = |route: &str, reason: &str| {
        format!(
            "soapstone_refusals_total{{route=\"/{route}\",direction=\"inbound\",mechanism=\"secure-conversation\",reason=\"{reason}\"}}"
        )
    };
    let unheard = async |path: &str, message: Vec<u8>, reason: &str| {
        let answer = send_over_tls(&service, path, message).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR, "{reason}");
        let line = refusals(path.trim_start_matches('/'), reason);
        assert_eq!(counted(&service, &line), 1, "{reason}");
    };

    let message = client.within(&context, ENVELOPE);
    let answer = send_over_tls(&service, "/echo", message.clone()).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    backend.seen.recv().await.expect("it arrived");
    unheard("/echo", message.clone(), "replayed").await;
    // With another Body on a connection of his own: what the key has signed is good for one
    // message.
    let text = String::from_utf8(client.within(&context, ENVELOPE)).expect("it is UTF-8");
    let changed = text.replace(">hello<", ">other<");
    let first = send_over_tls(&service, "/echo", changed.into_bytes()).await;
    assert_eq!(first.status, StatusCode::OK, "TLS protects the Body");
    backend.seen.recv().await.expect("it arrived");
    let again = send_over_tls(&service, "/echo", text.into_bytes()).await;
    assert_eq!(again.status, StatusCode::INTERNAL_SERVER_ERROR);
    unheard(
        "/other",
        client.within(&context, ENVELOPE),
        "context-unknown",
    )
    .await;
    let mut bare = String::from_utf8(client.within(&context, ENVELOPE)).expect("it is UTF-8");
    let (start, end) = (bare.find("<ds:Signature "), bare.find("</ds:Signature>"));
    bare.replace_range(
        start.expect("one")..end.expect("one") + "</ds:Signature>".len(),
        "",
    );
    unheard("/echo", bare.into_bytes(), "signature-missing").await;
    // A request of the application under the bootstrap, which proves the same user.
    unheard(
        "/echo",
        client.as_bootstrap(ENVELOPE),
        "not-in-conversation",
    )
    .await;

    let (_, request) = PendingCancel::new(&context);
    let cancel = String::from_utf8(request.body).expect("it is XML");
    let plain = ENVELOPE.replace("<e:echo xmlns:e=\"urn:echo\">hello</e:echo>", &cancel);
    // Another context of the same user does not cancel it.
    let other = client.established(&service).await;
    let answer = send_over_tls(&service, "/echo", client.within(&other, &plain)).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(counted(&service, HELD), 2);
    let answer = send_over_tls(&service, "/echo", client.within(&context, &plain)).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    assert_eq!(counted(&service, HELD), 1);
    unheard(
        "/echo",
        client.within(&context, ENVELOPE),
        "context-unknown",
    )
    .await;
    assert!(backend.seen.try_recv().is_err());
}

/// A request to renew a context, as an application would write it.
fn renewing(context: &SecurityContext) -> String {
    let rules = ClientRules::default();
    let (_, request) = PendingIssue::renew(&rules, context, Timestamp::now());
    let renew = String::from_utf8(request.body).expect("it is XML");
    ENVELOPE.replace("<e:echo xmlns:e=\"urn:echo\">hello</e:echo>", &renew)
}

/// WS-SecureConversation 1.4, 5: by the key of the context, and by its owner anew. WCF shows both
/// in one message.
#[tokio::test]
async fn a_context_is_renewed_by_who_owns_it_and_has_its_key() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    for (who, of_owner) in [(USERS, "alice"), (CERTIFICATES, "client")] {
        folder.write("policy.xml", policy(who, ""));
        let service = folder.gateway(&service_file(&backend, "")).await;
        let client = Somebody::known_as(&folder, who);
        let context = client.established(&service).await;
        let (renewed, refused) = (event("renewed"), event("refused"));
        let counts = async || {
            let renewed = counted(&service, &renewed);
            (renewed, counted(&service, &refused))
        };
        let send = async |message: Vec<u8>| send_over_tls(&service, "/echo", message).await;
        let plain = renewing(&context);

        // By its owner alone, or by its key alone.
        for message in [client.as_bootstrap(&plain), client.within(&context, &plain)] {
            let answer = send(message).await;
            assert_eq!(
                answer.status,
                StatusCode::INTERNAL_SERVER_ERROR,
                "{of_owner}"
            );
        }
        assert_eq!(counts().await, (0, 2), "{of_owner}");
        // By the key of another one of the same owner.
        let other = client.established(&service).await;
        let answer = send(client.as_both(&other, &plain)).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(counts().await, (0, 3), "{of_owner}");
        // A message of the application, which the context alone secures.
        let reason = match who {
            USERS => "element-unexpected",
            _ => "algorithm-not-allowed",
        };
        let refusals = format!(
            "soapstone_refusals_total{{route=\"/echo\",direction=\"inbound\",mechanism=\"secure-conversation\",reason=\"{reason}\"}}"
        );
        let answer = send(client.as_both(&context, ENVELOPE)).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(counted(&service, &refusals), 1, "{of_owner}");
        // One of the signatures, or what the other side of it is, alone.
        let message = String::from_utf8(client.as_both(&context, &plain)).expect("it is UTF-8");
        let first = message.find("<ds:Signature ").expect("a signature");
        let end = message.find("</ds:Signature>").expect("a signature") + "</ds:Signature>".len();
        let without = format!("{}{}", &message[..first], &message[end..]);
        let answer = send(without.into_bytes()).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        let later = message.replace("Z</wsu:Expires>", "1Z</wsu:Expires>");
        let answer = send(later.into_bytes()).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(counts().await, (0, 3), "{of_owner}");

        let answer = send(message.clone().into_bytes()).await;
        assert_eq!(answer.status, StatusCode::OK, "{of_owner}: {}", answer.body);
        assert!(answer.body.contains("RequestSecurityTokenResponse"));
        assert_eq!(counts().await, (1, 3), "{of_owner}");
        // Once.
        let answer = send(message.into_bytes()).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(counts().await, (1, 3), "{of_owner}");
        assert!(
            backend.seen.try_recv().is_err(),
            "none of it is the backend's"
        );
    }
}

/// A user renews no context of somebody else's, though he has got hold of its key.
#[tokio::test]
async fn a_context_is_not_renewed_by_another_user_who_has_its_key() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    folder.write("policy.xml", policy(USERS, ""));
    let users = |file: String| {
        file.replace(
            "users = [{ name = \"alice\", password = \"secret\" }]",
            "users = [{ name = \"alice\", password = \"secret\" }, { name = \"bob\", password = \"other\" }]",
        )
    };
    let service = folder.gateway(&users(service_file(&backend, ""))).await;
    let client = Somebody::with(&folder);
    let context = client.established(&service).await;
    let as_alice = client.as_both(&context, &renewing(&context));
    let as_alice = String::from_utf8(as_alice).expect("it is UTF-8");
    let as_bob = as_alice
        .replace(">alice<", ">bob<")
        .replace(">secret<", ">other<");
    assert_ne!(as_bob, as_alice);
    let answer = send_over_tls(&service, "/echo", as_bob.into_bytes()).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    let fault = "soapstone_faults_total{route=\"/echo\",code=\"wsc:BadContextToken\"}";
    assert_eq!(counted(&service, fault), 1);
    assert_eq!(counted(&service, &event("refused")), 1);
    let guessed = as_alice.replace(">secret<", ">guessed<");
    let answer = send_over_tls(&service, "/echo", guessed.into_bytes()).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(counted(&service, &event("renewed")), 0);
}

/// Nobody without a name begins a conversation, though TLS hides everything.
#[tokio::test]
async fn a_bootstrap_that_proves_nobody_gives_no_context_over_tls_either() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    folder.write("policy.xml", policy("", ""));
    let (service, client) = both(&folder, &backend, "").await;
    let answer = send(client.address(), post("/echo", ENVELOPE)).await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
    let fault = "soapstone_faults_total{route=\"/echo\",code=\"wst:FailedAuthentication\"}";
    assert_eq!(counted(&service, fault), 1);
    assert_eq!(counted(&service, &event("refused")), 1);
    assert_eq!(counted(&service, &event("issued")), 0);
}

/// A client that writes its messages itself.
struct Somebody {
    endpoint: Client,
    bootstrap: Client,
    /// Everything that the bootstrap has, and the context's signature.
    renewal: Client,
}

impl Somebody {
    fn with(folder: &Folder) -> Self {
        Self::known_as(folder, USERS)
    }

    fn known_as(folder: &Folder, who: &str) -> Self {
        let begins = "<wsp:Policy xmlns:wsp=\"http://www.w3.org/ns/ws-policy\" xmlns:sp=";
        folder.write(
            "bootstrap.xml",
            format!("{begins}\"{SP}\">{TRANSPORT}{who}</wsp:Policy>"),
        );
        let both = policy(who, "");
        let (both, _) = both.split_once("<sp:SignedParts>").expect("To is signed");
        let ends = "</wsp:Policy></sp:EndorsingSupportingTokens>";
        folder.write("renewal.xml", format!("{both}{ends}{who}</wsp:Policy>"));
        let loaded = |policy: &str| {
            let file = tables("client", "").replace("policy.xml", policy);
            let file = folder.write("somebody.toml", file);
            let endpoint = Client::from_file(&file, &|_| None);
            endpoint.unwrap_or_else(|problems| panic!("{problems}"))
        };
        Self {
            endpoint: loaded("policy.xml"),
            bootstrap: loaded("bootstrap.xml"),
            renewal: loaded("renewal.xml"),
        }
    }

    fn asking(&self, service: &Running) -> Handshake {
        let to = format!("https://localhost:{}/echo", service.address().port());
        let mut buffers = Buffers::default();
        let mut call = Call::new(Timestamp::now(), &mut buffers);
        let handshakes = self.endpoint.handshakes().expect("it has conversations");
        let asked = handshakes.begin(&to, SoapVersion::V11, &mut call);
        asked.unwrap_or_else(|error| panic!("{error}"))
    }

    async fn established(&self, service: &Running) -> SecurityContext {
        let mut handshake = self.asking(service);
        let bytes = std::mem::take(&mut handshake.bytes);
        let answer = send_over_tls(service, "/echo", bytes).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let replay = MemoryReplay::new(10);
        let memory = Memory::without_conversations(&replay);
        let answer = answer.body.into_bytes();
        let mut buffers = Buffers::default();
        let mut call = Call::new(Timestamp::now(), &mut buffers);
        let handshakes = self.endpoint.handshakes().expect("it has conversations");
        let granted = handshakes.conclude(handshake, answer, memory, &mut call);
        granted.unwrap_or_else(|error| panic!("{error}"))
    }

    /// By the plan alone: the endpoint would refuse to ask for tokens in somebody else's words.
    fn within(&self, context: &SecurityContext, plain: &str) -> Vec<u8> {
        let plan = self.endpoint.outbound().next().expect("it sends requests");
        self.secured(plan, plain, Outgoing::within(context))
    }

    fn as_both(&self, context: &SecurityContext, plain: &str) -> Vec<u8> {
        let plan = self.renewal.outbound().next().expect("it sends requests");
        self.secured(plan, plain, Outgoing::within(context))
    }

    fn as_bootstrap(&self, plain: &str) -> Vec<u8> {
        let plan = self.bootstrap.outbound().next().expect("it sends requests");
        self.secured(plan, plain, Outgoing::default())
    }

    fn secured(&self, plan: &OutboundPlan, plain: &str, outgoing: Outgoing<'_>) -> Vec<u8> {
        let mut buffers = Buffers::default();
        let bytes = plain.as_bytes().to_vec();
        let envelope = Envelope::parse(bytes, self.endpoint.limits(), &mut buffers);
        let envelope = envelope.expect("it is an envelope");
        let secured = plan.secure(envelope, outgoing, Timestamp::now(), &mut buffers);
        secured.expect("it can be secured").bytes
    }
}
