//! A route that is a token service: what it issues, another route accepts.

mod refused;

use std::path::Path;

use http::StatusCode;
use serde_json::Value;
use soapstone_gateway::{Config, Running};
use soapstone_testkit::{envelope, keys};

use crate::support::{Answer, Backend, ENVELOPE, Folder, get, post, send, send_over, soon};
use crate::tls::connect;

pub(crate) const WST: &str = "http://docs.oasis-open.org/ws-sx/ws-trust/200512";
pub(crate) const TLS: &str =
    "tls = { certificate = \"server.cert.pem\", key = \"server.key.pem\" }";
pub(crate) const AUDIENCE: &str = "https://books.example/books";

/// The table of a token service.
pub(crate) const STS: &str = "[routes.sts]\nissuer = \"https://sts.example\"\n\
    identity = { key = \"sts.key.pem\", certificate = \"sts.cert.pem\" }\n\
    key_types = [\"public-key\", \"bearer\", \"symmetric-key\"]\nlongest_lifetime = \"1h\"\n\
    services = [{ address = \"https://books.example/books\", certificate = \"server.cert.pem\" }, { address = \"https://front.example\" }]\n\
    attributes = [{ subjects = { users = [\"alice\"], certificates = [\"CN=client\"] }, claim = \"role\", values = [\"reader\"] }]\n\
    delegations = [{ actors = { certificates = [\"CN=client\"] }, subjects = { users = [\"alice\"] }, forms = [\"act-as\"], \
    audiences = [\"https://front.example\"], services = [\"https://books.example/books\"] }]\n";

/// A token service for users with a password, and one for signers.
pub(crate) fn services(more: &str) -> String {
    let signs = "trust = { pinned = [\"client.cert.pem\"] }\nidentity = { key = \"sts.key.pem\", certificate = \"sts.cert.pem\" }\nsecurity = { mechanism = \"sign\" }\n";
    format!(
        "LISTEN\n{TLS}\n{more}\n\
         [[routes]]\nname = \"users\"\npath = \"/users\"\n{STS}[routes.inbound]\nusers = [{{ name = \"alice\", password = \"secret\" }}]\nsecurity = {{ mechanism = \"username\" }}\n\
         [[routes]]\nname = \"signers\"\npath = \"/signers\"\n{STS}[routes.inbound]\n{signs}"
    )
}

pub(crate) const USER: &str = "users = [{ name = \"alice\", password = \"secret\" }]\nsecurity = { mechanism = \"username\" }\n";
pub(crate) const SIGNER: &str = "identity = { key = \"client.key.pem\", certificate = \"client.cert.pem\" }\nsecurity = { mechanism = \"sign\" }\n";

pub(crate) fn folder() -> Folder {
    let folder = Folder::with_keys();
    for name in ["sts", "evil"] {
        let identity = keys::identity(&format!("CN={name}"), keys::RSA);
        folder.write_identity(name, &identity);
    }
    folder
}

/// A message with a request.
pub(crate) fn request(operation: &str, address: &str, key_type: &str, more: &str) -> String {
    let body = format!(
        "<wst:RequestSecurityToken xmlns:wst=\"{WST}\"><wst:RequestType>{WST}/{operation}</wst:RequestType>\
         <wsp:AppliesTo xmlns:wsp=\"http://schemas.xmlsoap.org/ws/2004/09/policy\"><wsa:EndpointReference \
         xmlns:wsa=\"http://www.w3.org/2005/08/addressing\"><wsa:Address>{address}</wsa:Address></wsa:EndpointReference></wsp:AppliesTo>\
         <wst:KeyType>{WST}/{key_type}</wst:KeyType>{more}</wst:RequestSecurityToken>"
    );
    envelope::with_body(&body)
}

pub(crate) async fn ask(gateway: &Running, path: &str, message: Vec<u8>) -> Answer {
    let stream = connect(gateway.address(), b"http/1.1", false).await;
    let stream = stream.expect("a handshake");
    send_over(stream, post(path, message))
        .await
        .expect("an answer")
}

/// The assertion in an answer.
pub(crate) fn assertion(answer: &Answer) -> String {
    let (start, end) = (
        "<wst:RequestedSecurityToken>",
        "</wst:RequestedSecurityToken>",
    );
    let from = answer.body.find(start);
    let from = from.unwrap_or_else(|| panic!("{}", answer.body)) + start.len();
    let to = answer.body.find(end).expect("its end");
    answer.body[from..to].to_owned()
}

/// The id of an assertion.
pub(crate) fn id_of(assertion: &str) -> &str {
    let names = [" ID=\"", " AssertionID=\""];
    let found = names.iter().find_map(|name| assertion.split_once(name));
    let (_, rest) = found.expect("it has an id");
    rest.split_once('"').expect("its end").0
}

/// Routes of another gateway, which trust the token service.
fn books(backend: std::net::SocketAddr, mechanism: &str, confirmation: &str) -> String {
    format!(
        "LISTEN\n{TLS}\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{backend}/echo\"\n\
         identity = {{ subject = \"X-Subject\", attributes = [{{ name = \"http://schemas.xmlsoap.org/ws/2005/05/identity/claims/role\", header = \"X-Role\" }}] }}\n\
         [routes.inbound]\nidentity = {{ key = \"server.key.pem\", certificate = \"server.cert.pem\" }}\n\
         security = {{ mechanism = \"{mechanism}\" }}\n\
         [routes.inbound.saml]\naudience = [\"{AUDIENCE}\"]\nconfirmation = [\"{confirmation}\"]\n\
         issuers = [{{ name = \"https://sts.example\", pinned = [\"sts.cert.pem\"] }}]\n"
    )
}

pub(crate) async fn accepted(
    folder: &Folder,
    mechanism: &str,
    confirmation: &str,
    message: Vec<u8>,
) -> String {
    let mut backend = Backend::echo().await;
    let text = books(backend.address, mechanism, confirmation);
    let gateway = folder.gateway(&text).await;
    let answer = ask(&gateway, "/echo", message).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let seen = soon("the request", backend.seen.recv())
        .await
        .expect("a request");
    assert_eq!(seen.headers["x-role"], "reader");
    seen.headers["x-subject"].to_str().expect("text").to_owned()
}

#[tokio::test]
async fn a_bearer_assertion_over_tls_is_accepted_by_the_service_that_it_is_for() {
    let folder = folder();
    let gateway = folder.gateway(&services("")).await;
    let message = folder.secured(USER, &request("Issue", AUDIENCE, "Bearer", ""));
    let answer = ask(&gateway, "/users", message).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let token = assertion(&answer);
    let header = format!(
        "<wsse:Security xmlns:wsse=\"{}\">{token}</wsse:Security>",
        soapstone::wss::names::WSSE
    );
    let message = envelope::with_header(soapstone::wss::names::SOAP11, &header, "<a/>");
    assert_eq!(
        accepted(&folder, "none", "bearer", message.into_bytes()).await,
        "alice"
    );
}

#[tokio::test]
async fn an_assertion_with_a_public_key_is_accepted_with_a_signature_by_that_key() {
    let folder = folder();
    let gateway = folder.gateway(&services("")).await;
    let message = folder.secured(SIGNER, &request("Issue", AUDIENCE, "PublicKey", ""));
    let answer = ask(&gateway, "/signers", message).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    // The route signs its answers.
    assert!(answer.body.contains("<wsse:Security"), "{}", answer.body);
    std::fs::write(folder.path("assertion.xml"), assertion(&answer)).expect("it is written");
    let sender = format!(
        "saml = {{ assertion = \"assertion.xml\", confirmation = [\"holder-of-key\"] }}\n{SIGNER}"
    );
    let message = folder.secured(&sender, ENVELOPE);
    assert_eq!(
        accepted(&folder, "sign", "holder-of-key", message).await,
        "CN=client"
    );
}

#[tokio::test]
async fn a_service_acts_for_the_user_of_an_assertion_that_it_was_sent() {
    let folder = folder();
    let gateway = folder.gateway(&services("")).await;
    let message = folder.secured(
        USER,
        &request("Issue", "https://front.example", "Bearer", ""),
    );
    let user = assertion(&ask(&gateway, "/users", message).await);
    let act_as = |token: &str| {
        let wst14 = "http://docs.oasis-open.org/ws-sx/ws-trust/200802";
        format!("<wst14:ActAs xmlns:wst14=\"{wst14}\">{token}</wst14:ActAs>")
    };
    let issue = |more: &str| folder.secured(SIGNER, &request("Issue", AUDIENCE, "PublicKey", more));
    let answer = ask(&gateway, "/signers", issue(&act_as(&user))).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    assert!(assertion(&answer).contains("claims/actor"));
    std::fs::write(folder.path("assertion.xml"), assertion(&answer)).expect("it is written");
    let sender = format!(
        "saml = {{ assertion = \"assertion.xml\", confirmation = [\"holder-of-key\"] }}\n{SIGNER}"
    );
    let message = folder.secured(&sender, ENVELOPE);
    assert_eq!(
        accepted(&folder, "sign", "holder-of-key", message).await,
        "alice"
    );
    // Changed, in another form, and wrapped: one fault.
    let forged = user.replace(">alice<", ">bob<");
    let at = "</saml2:Issuer>";
    let wrapped = forged.replacen("ID=\"_", "ID=\"_evil", 1).replacen(
        at,
        &format!("{at}<saml2:Advice>{user}</saml2:Advice>"),
        1,
    );
    let on_behalf_of = format!("<wst:OnBehalfOf>{user}</wst:OnBehalfOf>");
    for more in [act_as(&forged), act_as(&wrapped), on_behalf_of] {
        let answer = ask(&gateway, "/signers", issue(&more)).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(
            answer.body.contains("wst:FailedAuthentication"),
            "{}",
            answer.body
        );
    }
}

/// What `saml` says of a token service that is asked: which route, for whom, and how.
pub(crate) fn asking(
    sts: u16,
    route: &str,
    confirmation: &str,
    more: &str,
    endpoint: &str,
) -> String {
    format!(
        "[routes.outbound.saml]\nconfirmation = [\"{confirmation}\"]\n\
         issuers = [{{ name = \"https://sts.example\", pinned = [\"sts.cert.pem\"] }}]\n\
         [routes.outbound.saml.token_service]\nurl = \"https://localhost:{sts}/{route}\"\n{more}\ntls = {{ ca = [\"ca.cert.pem\"] }}\n\
         [routes.outbound.saml.token_service.endpoint]\n{endpoint}"
    )
}

/// Two services in a chain: the second one learns of the first user, and of the service that acts
/// for that user. Nobody but the gateways knows of tokens (WS-Trust 1.4, 9.1).
#[tokio::test]
async fn the_user_of_a_plain_client_is_known_at_the_end_of_a_chain_of_services() {
    let folder = folder();
    let sts = folder.gateway(&services("")).await;
    let sts = sts.address().port();
    let mut backend = Backend::echo().await;
    let end = folder
        .gateway(&books(backend.address, "sign", "holder-of-key"))
        .await;
    let act_as = format!("applies_to = \"{AUDIENCE}\"\nuser = \"act-as\"");
    let towards = format!("trust = {{ pinned = [\"sts.cert.pem\"] }}\n{SIGNER}");
    let front = format!(
        "LISTEN\n{TLS}\n[[routes]]\npath = \"/front\"\nbackend = \"https://localhost:{}/echo\"\ntls = {{ ca = [\"ca.cert.pem\"] }}\n\
         [routes.inbound]\nsecurity = {{ mechanism = \"none\" }}\n\
         [routes.inbound.saml]\naudience = [\"https://front.example\"]\nconfirmation = [\"bearer\"]\nforward = true\n\
         issuers = [{{ name = \"https://sts.example\", pinned = [\"sts.cert.pem\"] }}]\n\
         [routes.outbound]\ntrust = {{ anchors = [\"ca.cert.pem\"], subjects = [\"CN=server\"] }}\n{SIGNER}{}",
        end.address().port(),
        asking(sts, "signers", "holder-of-key", &act_as, &towards)
    );
    let front = folder.gateway(&front).await;
    let client = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"https://localhost:{}/front\"\ntls = {{ ca = [\"ca.cert.pem\"] }}\n\
         [routes.outbound]\nsecurity = {{ mechanism = \"none\" }}\n{}",
        front.address().port(),
        asking(
            sts,
            "users",
            "bearer",
            "applies_to = \"https://front.example\"",
            USER
        )
    );
    let client = folder.gateway(&client).await;
    for _ in 0..2 {
        let answer = send(client.address(), post("/echo", ENVELOPE)).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let seen = soon("the request", backend.seen.recv()).await;
        let seen = seen.expect("a request");
        assert_eq!(seen.headers["x-subject"], "alice");
        assert_eq!(seen.headers["x-role"], "reader");
        let body = String::from_utf8_lossy(&seen.body);
        assert!(!body.contains("Assertion"), "{body}");
    }
}

#[tokio::test]
async fn a_request_is_answered_once_and_told_in_the_audit_trail() {
    let folder = folder();
    let gateway = folder
        .gateway(&services("audit = { file = \"audit.jsonl\" }"))
        .await;
    let message = folder.secured(SIGNER, &request("Issue", AUDIENCE, "PublicKey", ""));
    let answer = ask(&gateway, "/signers", message.clone()).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let again = ask(&gateway, "/signers", message).await;
    assert_eq!(again.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(!again.body.contains("Assertion"), "{}", again.body);
    let elsewhere = folder.secured(SIGNER, &request("Issue", "urn:other", "PublicKey", ""));
    let refused = ask(&gateway, "/signers", elsewhere).await;
    assert!(
        refused.body.contains("wst:InvalidScope"),
        "{}",
        refused.body
    );
    let file = folder.path("audit.jsonl");
    let text = soon("the lines", async {
        loop {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            if text.lines().count() == 3 && text.ends_with('\n') {
                return text;
            }
            tokio::task::yield_now().await;
        }
    });
    let text = text.await;
    let lines = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let lines: Vec<Value> = lines.collect();
    assert_eq!(lines[0]["verdict"], "accepted");
    assert_eq!(lines[0]["sender"], "CN=client");
    assert_eq!(lines[0]["assertions"][0]["subject"], "CN=client");
    // Its holder shows a key: the id alone is worth nothing.
    let issued = assertion(&answer);
    assert_eq!(lines[0]["assertions"][0]["id"], id_of(&issued));
    assert_eq!(lines[0]["assertions"][0]["audience"], AUDIENCE);
    assert_eq!(lines[1]["reason"], "replayed");
    assert_eq!(lines[2]["verdict"], "refused");
    assert_eq!(lines[2]["reason"], "trust-scope");
    assert!(lines[2].get("assertions").is_none());
    let stream = connect(gateway.address(), b"http/1.1", false).await;
    let metrics = send_over(stream.expect("a handshake"), get("/metrics")).await;
    let metrics = metrics.expect("an answer").body;
    for (event, count) in [("issued", 1), ("refused", 1)] {
        let line =
            format!("soapstone_assertions_total{{route=\"signers\",event=\"{event}\"}} {count}");
        assert!(metrics.contains(&line), "{line}");
    }
}

/// It has no backend that could describe it.
#[tokio::test]
async fn a_token_service_is_described_by_its_policy_file_or_not_at_all() {
    let folder = folder();
    let namespaces = "xmlns:w=\"http://schemas.xmlsoap.org/wsdl/\" xmlns:soap=\"http://schemas.xmlsoap.org/wsdl/soap/\" \
        xmlns:p=\"http://www.w3.org/ns/ws-policy\" xmlns:sp=\"http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702\"";
    let policy = "<p:Policy><sp:TransportBinding><p:Policy><sp:TransportToken><p:Policy><sp:HttpsToken><p:Policy/></sp:HttpsToken></p:Policy>\
        </sp:TransportToken><sp:AlgorithmSuite><p:Policy><sp:Basic256/></p:Policy></sp:AlgorithmSuite><sp:IncludeTimestamp/></p:Policy>\
        </sp:TransportBinding><sp:SignedSupportingTokens><p:Policy><sp:UsernameToken><p:Policy/></sp:UsernameToken></p:Policy>\
        </sp:SignedSupportingTokens></p:Policy>";
    let described = |address: &str| {
        format!(
            "<w:definitions {namespaces}><w:binding name=\"B\">{policy}</w:binding><w:service name=\"S\"><w:port name=\"P\" binding=\"B\">\
             <soap:address location=\"{address}\"/></w:port></w:service></w:definitions>"
        )
    };
    folder.write("sts.wsdl", described("https://token-service.example/"));
    let own = format!(
        "{}[[routes]]\npath = \"/described\"\n{STS}[routes.inbound]\nusers = [{{ name = \"alice\", password = \"secret\" }}]\n\
         security = {{ policy = \"sts.wsdl\" }}\n",
        services("")
    );
    let gateway = folder.gateway(&own).await;
    let asked = async |path: &str| {
        let stream = connect(gateway.address(), b"http/1.1", false).await;
        let answer = send_over(stream.expect("a handshake"), get(path)).await;
        answer.expect("an answer")
    };
    let answer = asked("/described?wsdl").await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let here = "https://gateway.example:8443/described";
    assert_eq!(answer.body, described(here));
    for path in ["/users?wsdl", "/described?xsd=1"] {
        let answer = asked(path).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        assert_eq!(answer.body, "this service has no description\n");
    }
    let hidden = own.replace(
        "path = \"/described\"",
        "path = \"/described\"\npublish_policy = false",
    );
    let gateway = folder.gateway(&hidden).await;
    let stream = connect(gateway.address(), b"http/1.1", false).await;
    let answer = send_over(stream.expect("a handshake"), get("/described?wsdl")).await;
    let answer = answer.expect("an answer");
    assert_eq!(answer.status, StatusCode::NOT_FOUND, "{}", answer.body);
    let undescribed = services("").replace(
        "path = \"/users\"",
        "path = \"/users\"\npublish_policy = true",
    );
    let told = problems(&folder, &undescribed);
    let expected = "the policy cannot be published: only a policy file that is a WSDL with a service describes a token service";
    assert!(told.contains(expected), "{told}");
}

/// What is said of a gateway's file in this folder.
fn problems(folder: &Folder, text: &str) -> String {
    let text = text.replace("LISTEN", "listen = \"127.0.0.1:0\"");
    let file: &Path = &folder.path("gateway.toml");
    let read = Config::from_text(&text, file, &|_| None);
    read.err().map(|it| it.to_string()).unwrap_or_default()
}

#[test]
fn mistakes_in_the_table_are_told() {
    let folder = folder();
    let right = services("");
    assert_eq!(problems(&folder, &right), "");
    for (from, to, expected) in [
        (
            TLS,
            "",
            "bearer tokens and symmetric keys would be readable on the way",
        ),
        (
            "path = \"/users\"",
            "path = \"/users\"\nbackend = \"http://127.0.0.1:1/\"",
            "`backend` is given, and `sts` answers",
        ),
        (
            "claim = \"role\"",
            "claim = \"http://schemas.xmlsoap.org/ws/2009/09/identity/claims/actor\"",
            "which the service alone says",
        ),
        (
            "services = [\"https://books.example/books\"]",
            "services = [\"urn:other\"]",
            "expected an address of `services`",
        ),
        (
            "longest_lifetime = \"1h\"",
            "longest_lifetime = \"1h\"\nlifetime = \"2h\"",
            "expected `lifetime` between",
        ),
        (
            "actors = { certificates = [\"CN=client\"] }",
            "actors = { certificates = [\"client\"] }",
            "distinguished names",
        ),
        (
            "actors = { certificates = [\"CN=client\"] }",
            "actors = {}",
            "`users` is missing",
        ),
        (
            ", certificate = \"server.cert.pem\" }, {",
            " }, {",
            "no service has a certificate",
        ),
        (
            "forms = [\"act-as\"]",
            "issuer = \"https://idp.example\", forms = [\"act-as\"]",
            "expected the name of one of `issuers`",
        ),
        (
            "subjects = { users = [\"alice\"] }, forms",
            "subjects = { users = [\"alice\"], format = \"urn:x\" }, forms",
            "no `issuer` is named",
        ),
        (
            "subjects = { users = [\"alice\"] }, forms",
            "subjects = { users = [\"alice\"], format = \"urn:oasis:names:tc:SAML:2.0:nameid-format:transient\" }, issuer = \"https://idp.example\", forms",
            "a transient name is of one login",
        ),
        (
            "subjects = { users = [\"alice\"] }, forms",
            "subjects = { certificates = [\"CN=alice\"] }, issuer = \"https://idp.example\", forms",
            "have the names that it gives them",
        ),
        (
            "forms = [\"act-as\"]",
            "renew = true, forms = [\"act-as\"]",
            "nothing is renewed by this right",
        ),
        (
            "actors = { certificates = [\"CN=client\"] }",
            "actors = { subjects = [{ issuer = \"https://idp.example\", names = [\"front\"] }] }",
            "expected the name of another issuer that `saml` of `inbound` accepts",
        ),
        (
            "actors = { certificates = [\"CN=client\"] }",
            "actors = { subjects = [{ issuer = \"https://idp.example\", names = [] }] }",
            "expected the names of this issuer's subjects, found none",
        ),
        (
            "actors = { certificates = [\"CN=client\"] }",
            "actors = { subjects = [{ issuer = \"https://idp.example\" }] }",
            "`names` is missing",
        ),
        (
            "actors = { certificates = [\"CN=client\"] }",
            "actors = { subjects = [{ names = [\"front\"] }] }",
            "`issuer` is missing",
        ),
        (
            "actors = { certificates = [\"CN=client\"] }",
            "actors = { subjects = [{ issuer = \"https://idp.example\", names = [\"front\"], format = \"urn:oasis:names:tc:SAML:2.0:nameid-format:transient\" }] }",
            "a transient name is of one login",
        ),
        (
            "subjects = { users = [\"alice\"] }, forms",
            "subjects = { subjects = [{ issuer = \"https://idp.example\", names = [\"front\"] }] }, forms",
            "`subjects`",
        ),
        (
            "users = [{ name = \"alice\", password = \"secret\" }]\nsecurity = { mechanism = \"username\" }",
            "security = { mechanism = \"none\" }",
            "requests show no user, certificate, assertion or Kerberos client",
        ),
        (
            "users = [{ name = \"alice\", password = \"secret\" }]\nsecurity = { mechanism = \"username\" }",
            "shared_key = { hex = \"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\" }\nsecurity = { mechanism = \"sign\" }",
            "requests show no user, certificate, assertion or Kerberos client",
        ),
        (
            "{ address = \"https://front.example\" }",
            "{ address = \"https://front.example\", audience = \"https://books.example/books\" }",
            "two services have one audience",
        ),
        (
            "longest_lifetime = \"1h\"",
            "longest_lifetime = \"1h\"\nissuers = [{ name = \"https://idp.example\", signed = false }]",
            "a token service believes no assertion that its issuer does not sign",
        ),
        (
            "mechanism = \"username\"",
            "mechanism = \"secure-conversation\", conversations = { bootstrap = \"username\" }",
            "within conversations is not supported",
        ),
    ] {
        let told = problems(&folder, &right.replacen(from, to, 1));
        assert!(told.contains(expected), "{to}: {told}");
    }
    let alone = format!("LISTEN\n{TLS}\n[[routes]]\npath = \"/sts\"\n{STS}");
    let told = problems(&folder, &alone);
    assert!(told.contains("`inbound` is missing"), "{told}");
}
