//! Routes whose endpoints are configured by WS-SecurityPolicy, and what they tell clients of it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use soapstone_gateway::{Config, Running};

use crate::support::{Answer, Backend, ENVELOPE, Folder, get, post, post_12, send, soon};

/// The WSDL of a service that CXF was recorded with.
fn recorded(cell: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join(format!("interop/recorded/cxf/{cell}/service.wsdl"))
}

fn tables(us: &str, peer: &str, policy: &Path) -> String {
    format!(
        "identity = {{ key = \"{us}.key.pem\", certificate = \"{us}.cert.pem\" }}\npeer = {{ certificate = \"{peer}.cert.pem\" }}\n\
         trust = {{ anchors = [\"ca.cert.pem\"] }}\nusers = [{{ name = \"alice\", password = \"secret\" }}]\n\
         security = {{ policy = \"{}\" }}\n",
        policy.display()
    )
}

fn service_file(backend: &Backend, policy: &Path) -> String {
    format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.inbound]\n{}",
        backend.address,
        tables("server", "client", policy)
    )
}

fn client_file(service: &str, policy: &Path) -> String {
    format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"{service}/echo\"\n[routes.outbound]\n{}",
        tables("client", "server", policy)
    )
}

/// A service under a policy, and a client configured by what the service tells of it.
async fn both(folder: &Folder, backend: &Backend, policy: &Path) -> (Running, Running) {
    let service = folder.gateway(&service_file(backend, policy)).await;
    let described = send(service.address(), get("/echo?wsdl")).await;
    assert_eq!(described.status, StatusCode::OK, "{}", described.body);
    let told = folder.write("told.wsdl", described.body);
    let to = format!("http://{}", service.address());
    let client = folder.gateway(&client_file(&to, &told)).await;
    (service, client)
}

async fn call(client: &Running) -> Answer {
    send(client.address(), post("/echo", ENVELOPE)).await
}

#[tokio::test]
async fn a_client_is_configured_by_the_description_that_the_service_is_configured_by() {
    let folder = Folder::with_keys();
    for cell in [
        "symmetric-derived-keys-Basic256",
        "symmetric-Basic128GCM",
        "symmetric-derived-keys-signed-endorsing",
        "sign-encrypt-Basic256",
        "symmetric-derived-keys-signed-username",
    ] {
        let mut backend = Backend::echo().await;
        let (service, client) = both(&folder, &backend, &recorded(cell)).await;
        let answer = call(&client).await;
        assert_eq!(answer.status, StatusCode::OK, "{cell}: {}", answer.body);
        assert!(answer.body.contains(">hello<"), "{cell}: {}", answer.body);
        let seen = backend.seen.recv().await.expect("it arrived");
        let body = String::from_utf8(seen.body.to_vec()).expect("it is UTF-8");
        assert!(!body.contains("Security"), "{cell}: {body}");
        let plain = send(service.address(), post("/echo", ENVELOPE)).await;
        assert_eq!(plain.status, StatusCode::INTERNAL_SERVER_ERROR, "{cell}");
    }
}

#[tokio::test]
async fn a_conversation_is_held_as_a_policy_says_with_addressing_by_the_gateways() {
    let folder = Folder::with_keys();
    for cell in [
        "secure-conversation-Basic256",
        "secure-conversation-Basic128GCM",
        "secure-conversation-endorsed-bootstrap",
        "secure-conversation-of-2005",
    ] {
        let mut backend = Backend::echo().await;
        let (service, client) = both(&folder, &backend, &recorded(cell)).await;
        for _ in 0..3 {
            let answer = call(&client).await;
            assert_eq!(answer.status, StatusCode::OK, "{cell}: {}", answer.body);
            assert!(answer.body.contains(">hello<"), "{cell}: {}", answer.body);
            let seen = backend.seen.recv().await.expect("it arrived");
            let body = String::from_utf8(seen.body.to_vec()).expect("it is UTF-8");
            assert!(!body.contains("addressing"), "{cell}: {body}");
        }
        let metrics = client.metrics();
        let line = "soapstone_handshakes_total{route=\"/echo\",outcome=\"established\"} 1";
        assert!(metrics.lines().any(|found| found == line), "{metrics}");
        // The client says when it is done.
        client.shutdown().await;
        let metrics = service.metrics();
        for line in [
            "soapstone_contexts_total{route=\"/echo\",event=\"cancelled\"} 1",
            "soapstone_conversations{route=\"/echo\",direction=\"inbound\"} 0",
        ] {
            assert!(metrics.lines().any(|found| found == line), "{metrics}");
        }
    }
}

/// WS-SecurityPolicy 1.3, 5.4.7: `sp:MustNotSendCancel`.
#[tokio::test]
async fn a_context_is_not_cancelled_where_the_policy_rules_it_out() {
    let folder = Folder::with_keys();
    let wsdl = recorded("secure-conversation-Basic256");
    let wsdl = std::fs::read_to_string(wsdl).expect("a recorded policy");
    let changed = wsdl.replace(
        "<sp:BootstrapPolicy>",
        "<sp:MustNotSendCancel/><sp:BootstrapPolicy>",
    );
    assert_ne!(changed, wsdl);
    let policy = folder.write("no-cancel.wsdl", changed);
    let backend = Backend::echo().await;
    let (service, client) = both(&folder, &backend, &policy).await;
    let answer = call(&client).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    client.shutdown().await;
    let metrics = service.metrics();
    let held = "soapstone_conversations{route=\"/echo\",direction=\"inbound\"} 1";
    assert!(metrics.lines().any(|found| found == held), "{metrics}");
    let events = metrics
        .lines()
        .filter(|line| line.starts_with("soapstone_contexts_total{") && !line.ends_with(" 0"));
    let events: Vec<&str> = events.collect();
    let issued = "soapstone_contexts_total{route=\"/echo\",event=\"issued\"} 1";
    assert_eq!(events, [issued]);
}

#[tokio::test]
async fn a_policy_that_lets_anybody_in_gives_contexts_to_nobody_unless_the_file_says_so() {
    let folder = Folder::with_keys();
    let policy = recorded("secure-conversation-Basic256-symmetric-bootstrap");
    let backend = Backend::echo().await;
    let closed = folder.config(&service_file(&backend, &policy));
    let told = "(serves nobody: its clients are anonymous)";
    assert!(closed.to_string().contains(told), "{closed}");
    let warnings = closed.warnings();
    let warning = warnings.iter().find(|one| one.name == "serves-nobody");
    let problem = &warning.expect("a warning").problem;
    assert_eq!(
        problem.message,
        "route /echo serves nobody: its clients are anonymous"
    );
    let hint = problem.hint.as_deref().expect("a hint");
    assert!(
        hint.contains("conversations = { anonymous = true }"),
        "{hint}"
    );
    let (service, client) = both(&folder, &backend, &policy).await;
    let answer = call(&client).await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{}", answer.body);
    let metrics = service.metrics();
    for line in [
        "soapstone_contexts_total{route=\"/echo\",event=\"refused\"} 1",
        "soapstone_faults_total{route=\"/echo\",code=\"wst:FailedAuthentication\"} 1",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{metrics}");
    }
    let open_to_all = service_file(&backend, &policy).replace(
        "security = { ",
        "security = { conversations = { anonymous = true }, ",
    );
    let open = folder.config(&open_to_all);
    assert!(!open.to_string().contains("serves nobody"), "{open}");
    service.reload(open);
    // The client asks again a moment after it was refused.
    soon("a conversation", async {
        while call(&client).await.status != StatusCode::OK {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn what_a_policy_leaves_to_tls_is_refused_without_it() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let policy = recorded("transport-username-Basic256");
    let service = folder.gateway(&service_file(&backend, &policy)).await;
    let answer = call(&service).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    assert!(
        answer.body.contains("<faultcode>soap:Client</faultcode>"),
        "{}",
        answer.body
    );
    assert!(backend.seen.try_recv().is_err());
    let metrics = service.metrics();
    let line = "soapstone_failures_total{route=\"/echo\",reason=\"needs-tls\"} 1";
    assert!(metrics.lines().any(|found| found == line), "{metrics}");
}

#[tokio::test]
async fn a_route_whose_policy_every_connection_fails_is_said_to_serve_nobody() {
    let folder = Folder::with_keys();
    let policy = recorded("transport-username-Basic256");
    let backend = Backend::echo().await;
    let file = service_file(&backend, &policy);
    let shown = |file: &str| folder.config(file).to_string();
    let without = "(serves nobody: the policy leaves protection to TLS, and there is no [tls])";
    assert!(shown(&file).contains(without), "{}", shown(&file));
    let tls = "LISTEN\ntls = { certificate = \"server.cert.pem\", key = \"server.key.pem\" }";
    let over_tls = file.replace("LISTEN", tls);
    assert!(!shown(&over_tls).contains("nobody"), "{}", shown(&over_tls));
    let wanting = std::fs::read_to_string(&policy).expect("a recorded policy").replace(
        "<sp:HttpsToken><wsp:Policy/></sp:HttpsToken>",
        "<sp:HttpsToken><wsp:Policy><sp:RequireClientCertificate/></wsp:Policy></sp:HttpsToken>",
    );
    let wanting = folder.write("wanting.wsdl", wanting);
    let over_tls = service_file(&backend, &wanting).replace("LISTEN", tls);
    let without =
        "(serves nobody: the policy wants client certificates, and [tls] has no `client_ca`)";
    assert!(shown(&over_tls).contains(without), "{}", shown(&over_tls));
    let mutual = over_tls.replace(
        "server.key.pem\" }\n[[",
        "server.key.pem\", client_ca = [\"ca.cert.pem\"] }\n[[",
    );
    assert_ne!(mutual, over_tls);
    assert!(!shown(&mutual).contains("nobody"), "{}", shown(&mutual));
}

#[tokio::test]
async fn a_backend_whose_policy_leaves_protection_to_tls_must_be_https() {
    let folder = Folder::with_keys();
    let policy = recorded("transport-username-Basic256");
    let file =
        client_file("http://127.0.0.1:9", &policy).replace("LISTEN", "listen = \"127.0.0.1:0\"");
    let problems = Config::from_text(&file, &folder.path("gateway.toml"), &|_| None)
        .expect_err("it is a mistake");
    assert_eq!(problems.0.len(), 1, "{problems}");
    assert_eq!(
        problems.0[0].message,
        "the policy of the backend leaves protection to TLS, and http://127.0.0.1:9/echo is not https"
    );
}

const DESCRIPTION: &str = "<w:definitions xmlns:w=\"http://schemas.xmlsoap.org/wsdl/\" xmlns:soap=\"http://schemas.xmlsoap.org/wsdl/soap/\" \
    xmlns:p=\"http://www.w3.org/ns/ws-policy\" xmlns:u=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd\">\
    <w:documentation>Echo</w:documentation>\
    <p:Policy u:Id=\"theirs\"><s:SymmetricBinding xmlns:s=\"http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702\"/></p:Policy>\
    <p:Policy u:Id=\"addressing\"><a:Addressing xmlns:a=\"http://www.w3.org/2007/05/addressing/metadata\"/></p:Policy>\
    <w:binding name=\"b\"><p:PolicyReference URI=\"#theirs\"/><p:PolicyReference URI=\"#addressing\"/>\
    <soap:binding transport=\"http://schemas.xmlsoap.org/soap/http\"/></w:binding>\
    <w:service name=\"S\"><w:port name=\"P\" binding=\"b\"><soap:address location=\"http://internal/echo\"/></w:port></w:service></w:definitions>";

#[tokio::test]
async fn a_policy_alone_is_attached_to_the_backends_description_in_the_place_of_the_backends_own() {
    let folder = Folder::with_keys();
    let backend = Backend::answering(|_| {
        let mut response = Response::new(Full::new(Bytes::from(DESCRIPTION)));
        response
            .headers_mut()
            .insert("content-type", "text/xml".parse().expect("a value"));
        response
    })
    .await;
    let alone = "<Policy xmlns=\"http://www.w3.org/ns/ws-policy\" xmlns:sp=\"http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702\">\
        <sp:AsymmetricBinding><Policy><sp:InitiatorToken><Policy><sp:X509Token sp:IncludeToken=\"http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702/IncludeToken/AlwaysToRecipient\"><Policy><sp:WssX509V3Token10/></Policy></sp:X509Token></Policy></sp:InitiatorToken>\
        <sp:RecipientToken><Policy><sp:X509Token sp:IncludeToken=\"http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702/IncludeToken/Never\"><Policy><sp:WssX509V3Token10/></Policy></sp:X509Token></Policy></sp:RecipientToken>\
        <sp:AlgorithmSuite><Policy><sp:Basic256/></Policy></sp:AlgorithmSuite><sp:IncludeTimestamp/></Policy></sp:AsymmetricBinding>\
        <sp:SignedParts><sp:Body/></sp:SignedParts></Policy>";
    let policy = folder.write("alone.xml", alone);
    let service = folder.gateway(&service_file(&backend, &policy)).await;
    let answer = send(service.address(), get("/echo?wsdl")).await;
    let utility =
        "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";
    let (theirs, rest) = DESCRIPTION
        .split_once("<p:Policy u:Id=\"theirs\">")
        .and_then(|(before, rest)| Some((before, rest.split_once("</p:Policy>")?.1)))
        .expect("it is there");
    let ours = alone.replacen(
        "<Policy",
        &format!("<Policy xmlns:wsu=\"{utility}\" wsu:Id=\"SoapstoneEndpointPolicy\""),
        1,
    );
    let expected = format!("{theirs}{ours}{rest}")
        .replace(
            "<p:PolicyReference URI=\"#theirs\"/>",
            "<wsp:PolicyReference xmlns:wsp=\"http://www.w3.org/ns/ws-policy\" URI=\"#SoapstoneEndpointPolicy\"/>",
        )
        .replace("http://internal/echo", "http://gateway.example:8443/echo");
    assert_eq!(answer.body, expected);
    // A client that is plain to its gateway is not told to secure what the gateway secures.
    let client = folder
        .gateway(&client_file(
            &format!("http://{}", backend.address),
            &policy,
        ))
        .await;
    let told = send(client.address(), get("/echo?wsdl")).await.body;
    assert!(
        !told.contains("SymmetricBinding") && !told.contains("#theirs"),
        "{told}"
    );
    assert!(
        told.contains("a:Addressing") && told.contains("#addressing"),
        "{told}"
    );
}

/// WS-SecurityPolicy 1.3, 4.3.2: a policy may demand parts alone. Where nothing else protects
/// messages, they passed unread.
#[tokio::test]
async fn a_message_without_a_part_that_it_must_have_is_refused_where_nothing_is_signed() {
    let folder = Folder::with_keys();
    let policy = folder.write(
        "required.xml",
        "<wsp:Policy xmlns:wsp='http://www.w3.org/ns/ws-policy' xmlns:sp='http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702'>\
         <sp:RequiredParts><sp:Header Name='Ticket' Namespace='urn:t'/></sp:RequiredParts></wsp:Policy>",
    );
    let mut backend = Backend::echo().await;
    let file = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.inbound]\nsecurity = {{ policy = \"{}\" }}\n",
        backend.address,
        policy.display()
    );
    let service = folder.gateway(&file).await;
    let refused = send(service.address(), post("/echo", ENVELOPE)).await;
    assert_eq!(refused.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(backend.seen.try_recv().is_err());
    let ticket = "<s:Header><t:Ticket xmlns:t=\"urn:t\"/></s:Header><s:Body";
    let answer = send(
        service.address(),
        post("/echo", ENVELOPE.replacen("<s:Body", ticket, 1)),
    )
    .await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
}

/// WS-Addressing 1.0 Metadata, 3.1: services of WCF over HTTPS ask for addressing headers and for
/// nothing else of messages.
#[tokio::test]
async fn addressing_headers_are_written_where_a_policy_asks_for_nothing_else() {
    let folder = Folder::with_keys();
    let policy = folder.write(
        "addressing.xml",
        "<wsp:Policy xmlns:wsp='http://schemas.xmlsoap.org/ws/2004/09/policy'>\
         <wsaw:UsingAddressing xmlns:wsaw='http://www.w3.org/2006/05/addressing/wsdl'/></wsp:Policy>",
    );
    let mut backend = Backend::echo().await;
    let file = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.outbound]\nsecurity = {{ policy = \"{}\", policy_may_be_empty = true }}\n",
        backend.address,
        policy.display()
    );
    let client = folder.gateway(&file).await;
    let answer = send(client.address(), post("/echo", ENVELOPE)).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let seen = backend.seen.recv().await.expect("it arrived");
    let body = String::from_utf8(seen.body.to_vec()).expect("it is UTF-8");
    assert!(
        body.contains("http://www.w3.org/2005/08/addressing"),
        "{body}"
    );
    assert!(body.contains(">urn:echo<"), "{body}");
}

/// A request in SOAP 1.2 with an action in its header and none beside it, as Mono's WCF sends it.
fn addressed() -> http::Request<Full<Bytes>> {
    let message = "<s:Envelope xmlns:s=\"http://www.w3.org/2003/05/soap-envelope\"><s:Header>\
        <a:Action xmlns:a=\"http://www.w3.org/2005/08/addressing\" s:mustUnderstand=\"1\">urn:echo:loudly</a:Action></s:Header><s:Body>\
        <e:echo xmlns:e=\"urn:echo\">hello</e:echo></s:Body></s:Envelope>";
    let mut request = post_12("/echo", message);
    request.headers_mut().remove("soapaction");
    request
}

const ADDRESSING_ALONE: &str = "<wsp:Policy xmlns:wsp='http://schemas.xmlsoap.org/ws/2004/09/policy'>\
     <wsaw:UsingAddressing xmlns:wsaw='http://www.w3.org/2006/05/addressing/wsdl'/></wsp:Policy>";

/// SOAP 1.2 part 2, 6.5.3: services that choose the operation by the action would not know it any
/// more.
#[tokio::test]
async fn the_backend_learns_the_action_whose_header_is_taken_out() {
    let folder = Folder::with_keys();
    folder.write("addressing.xml", ADDRESSING_ALONE);
    let mut backend = Backend::echo().await;
    let file = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.inbound]\n\
         security = {{ policy = \"addressing.xml\", policy_may_be_empty = true }}\n",
        backend.address
    );
    let service = folder.gateway(&file).await;
    let answer = send(service.address(), addressed()).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let seen = backend.seen.recv().await.expect("it arrived");
    let body = String::from_utf8(seen.body.to_vec()).expect("it is UTF-8");
    assert!(!body.contains("urn:echo:loudly"), "{body}");
    assert_eq!(
        seen.headers["content-type"],
        "application/soap+xml; charset=utf-8; action=\"urn:echo:loudly\""
    );
}

/// Whoever is on the way can write an action that no signature covers.
#[tokio::test]
async fn the_backend_learns_no_action_that_nobody_signed() {
    let signed = "<sp:Header Namespace=\"http://www.w3.org/2005/08/addressing\"/>";
    let policy = std::fs::read_to_string(recorded("sign-encrypt-Basic256-SOAP-1.2"));
    let policy = policy.expect("a policy").replace(
        "<sp:AsymmetricBinding>",
        "<wsam:Addressing xmlns:wsam=\"http://www.w3.org/2007/05/addressing/metadata\"><wsp:Policy/></wsam:Addressing><sp:AsymmetricBinding>",
    );
    assert!(policy.contains(signed) && policy.contains("wsam:Addressing"));
    for (policy, told) in [
        (policy.clone(), "; action=\"urn:echo/echo\""),
        (policy.replace(signed, ""), ""),
    ] {
        let folder = Folder::with_keys();
        let policy = folder.write("policy.wsdl", policy);
        let mut backend = Backend::echo().await;
        let service = folder.gateway(&service_file(&backend, &policy)).await;
        let to = format!("http://{}", service.address());
        let client = folder.gateway(&client_file(&to, &policy)).await;
        let mut request = addressed();
        *request.body_mut() = Full::new(Bytes::from(
            "<s:Envelope xmlns:s=\"http://www.w3.org/2003/05/soap-envelope\"><s:Body><echo xmlns=\"urn:echo\">hello</echo></s:Body></s:Envelope>",
        ));
        let answer = send(client.address(), request).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let seen = backend.seen.recv().await.expect("it arrived");
        let said = seen.headers["content-type"].to_str().expect("text");
        assert_eq!(said, format!("application/soap+xml; charset=utf-8{told}"));
    }
}

#[tokio::test]
async fn between_two_policies_a_request_keeps_its_action() {
    let folder = Folder::with_keys();
    folder.write("addressing.xml", ADDRESSING_ALONE);
    let mut backend = Backend::echo().await;
    let file = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n\
         [routes.inbound]\nsecurity = {{ policy = \"addressing.xml\", policy_may_be_empty = true }}\n\
         [routes.outbound]\nsecurity = {{ policy = \"addressing.xml\", policy_may_be_empty = true }}\n",
        backend.address
    );
    let between = folder.gateway(&file).await;
    let answer = send(between.address(), addressed()).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let seen = backend.seen.recv().await.expect("it arrived");
    let body = String::from_utf8(seen.body.to_vec()).expect("it is UTF-8");
    assert!(body.contains(">urn:echo:loudly</"), "{body}");
    // Beside a message that is secured, nothing is said that its client did not say there.
    assert_eq!(
        seen.headers["content-type"],
        "application/soap+xml; charset=utf-8"
    );
}
