//! Routes that are configured by a mechanism alone tell clients of it as a policy.

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use soapstone_gateway::{Config, Running};

use crate::support::{Answer, Backend, ENVELOPE, Folder, get, post, send};

/// A description whose backend has a policy of its own, and whose operation has one message of each
/// form.
const DESCRIPTION: &str = "<w:definitions xmlns:w=\"http://schemas.xmlsoap.org/wsdl/\" xmlns:t=\"urn:t\" targetNamespace=\"urn:t\" \
    xmlns:soap=\"http://schemas.xmlsoap.org/wsdl/soap/\" xmlns:p=\"http://www.w3.org/ns/ws-policy\" \
    xmlns:u=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd\">\
    <p:Policy u:Id=\"theirs\"><s:SignedParts xmlns:s=\"http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702\"/></p:Policy>\
    <w:binding name=\"b\" type=\"t:T\"><p:PolicyReference URI=\"#theirs\"/>\
    <soap:binding transport=\"http://schemas.xmlsoap.org/soap/http\"/><w:operation name=\"echo\">\
    <w:input/><w:output><w:documentation>back</w:documentation><soap:body use=\"literal\"/></w:output></w:operation></w:binding>\
    <w:service name=\"S\"><w:port name=\"P\" binding=\"t:b\"><soap:address location=\"http://internal/echo\"/></w:port></w:service>\
    </w:definitions>";

/// Answers `?wsdl` with the description, and everything else with itself.
async fn described_echo() -> Backend {
    Backend::answering(|seen| {
        let asked = seen.uri.query().is_some();
        let body = if asked {
            Bytes::from(DESCRIPTION)
        } else {
            seen.body.clone()
        };
        let mut response = Response::new(Full::new(body));
        let media_type = "text/xml; charset=utf-8".parse().expect("a value");
        response.headers_mut().insert("content-type", media_type);
        response
    })
    .await
}

fn tables(us: &str, peer: Option<&str>, security: &str) -> String {
    let peer = peer.map_or(String::new(), |peer| {
        format!("peer = {{ certificate = \"{peer}.cert.pem\" }}\n")
    });
    format!(
        "identity = {{ key = \"{us}.key.pem\", certificate = \"{us}.cert.pem\" }}\n{peer}trust = {{ anchors = [\"ca.cert.pem\"] }}\n\
         users = [{{ name = \"alice\", password = \"secret\" }}]\nsecurity = {{ {security} }}\n"
    )
}

/// A gateway before the backend; `more` stands in its route.
fn service_file(backend: &Backend, more: &str, peer: Option<&str>, security: &str) -> String {
    format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n{more}\n[routes.inbound]\n{}",
        backend.address,
        tables("server", peer, security)
    )
}

async fn told(service: &Running) -> String {
    let answer = send(service.address(), get("/echo?wsdl")).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    answer.body
}

/// A client that knows of the service what the service tells of itself, and how its suites are
/// read.
async fn call_as_told(folder: &Folder, service: &Running, reading: &str) -> Answer {
    let policy = folder.write("told.wsdl", told(service).await);
    let security = format!("policy = \"{}\"{reading}", policy.display());
    let client = folder
        .gateway(&format!(
            "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.outbound]\n{}",
            service.address(),
            tables("client", Some("server"), &security)
        ))
        .await;
    send(client.address(), post("/echo", ENVELOPE)).await
}

#[tokio::test]
async fn a_client_is_configured_by_what_a_mechanism_demands() {
    let folder = Folder::with_keys();
    let sha256 = ", sha256_suites = \"sha256\"";
    for (security, reading) in [
        ("mechanism = \"username\"", ""),
        ("mechanism = \"username\", password = \"text\"", ""),
        ("mechanism = \"sign\"", sha256),
        ("mechanism = \"sign\", suite = \"Basic128\"", ""),
        ("mechanism = \"encrypt\", suite = \"Basic256\"", ""),
        ("mechanism = \"sign-encrypt\", suite = \"Basic256\"", ""),
        (
            "mechanism = \"sign-encrypt\", suite = \"Basic256Sha256\"",
            "",
        ),
        (
            "mechanism = \"sign-encrypt\", suite = \"Basic256Sha256+RsaSha256\"",
            sha256,
        ),
        (
            "mechanism = \"encrypt-sign\", suite = \"Basic192Rsa15\", key_reference = \"thumbprint\"",
            "",
        ),
        (
            "mechanism = \"secure-conversation\", suite = \"Basic256\"",
            "",
        ),
        (
            "mechanism = \"secure-conversation\", suite = \"Basic128\", conversations = { version = \"2005-02\" }",
            "",
        ),
    ] {
        for peer in [None, Some("client")] {
            // A certificate that messages only name must be known.
            if peer.is_none() && security.contains("thumbprint") {
                continue;
            }
            let mut backend = described_echo().await;
            let file = service_file(&backend, "publish_policy = true", peer, security);
            let service = folder.gateway(&file).await;
            let answer = call_as_told(&folder, &service, reading).await;
            assert_eq!(answer.status, StatusCode::OK, "{security}: {}", answer.body);
            assert!(
                answer.body.contains(">hello<"),
                "{security}: {}",
                answer.body
            );
            while backend
                .seen
                .recv()
                .await
                .expect("it arrived")
                .uri
                .query()
                .is_some()
            {}
            let plain = send(service.address(), post("/echo", ENVELOPE)).await;
            assert_eq!(
                plain.status,
                StatusCode::INTERNAL_SERVER_ERROR,
                "{security}"
            );
        }
    }
}

/// A client that read the description by the weaker reading of a suite is refused, not obliged.
#[tokio::test]
async fn a_suite_that_is_read_with_sha1_is_refused_where_sha256_is_meant() {
    let folder = Folder::with_keys();
    let backend = described_echo().await;
    let security = "mechanism = \"sign\", suite = \"Basic256Sha256+RsaSha256\"";
    let service = folder
        .gateway(&service_file(&backend, "", None, security))
        .await;
    let answer = call_as_told(&folder, &service, "").await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{}", answer.body);
}

#[tokio::test]
async fn the_policy_is_attached_to_bindings_and_messages_in_the_place_of_the_backends_own() {
    let folder = Folder::with_keys();
    let backend = described_echo().await;
    let security = "mechanism = \"sign-encrypt\", suite = \"Basic256\"";
    let service = folder
        .gateway(&service_file(&backend, "", None, security))
        .await;
    let description = told(&service).await;
    assert!(!description.contains("theirs"), "{description}");
    assert!(description.contains("location=\"http://gateway.example:8443/echo\""));
    let reference = |id| {
        format!("<wsp:PolicyReference xmlns:wsp=\"http://www.w3.org/ns/ws-policy\" URI=\"#{id}\"/>")
    };
    let endpoint = reference("SoapstoneEndpointPolicy");
    let message = reference("SoapstoneMessagePolicy");
    for place in [
        format!("<w:binding name=\"b\" type=\"t:T\">{endpoint}<soap:binding"),
        format!("<w:input>{message}</w:input>"),
        format!("<w:documentation>back</w:documentation>{message}<soap:body"),
    ] {
        assert!(description.contains(&place), "{place}\n{description}");
    }
    assert_eq!(description.matches("PolicyReference").count(), 3);
    // A second gateway before this one speaks for itself alone.
    let chained = service_file(&backend, "", None, "mechanism = \"username\"")
        .replace(&backend.address.to_string(), &service.address().to_string());
    let outer = folder.gateway(&chained).await;
    let description = told(&outer).await;
    assert!(
        description.contains("<sp:SupportingTokens>"),
        "{description}"
    );
    assert!(!description.contains("AsymmetricBinding"), "{description}");
    assert_eq!(description.matches("PolicyReference").count(), 1);
    assert_eq!(description.matches("<wsp:Policy ").count(), 1);
}

#[tokio::test]
async fn a_user_who_comes_over_tls_is_told_so() {
    let folder = Folder::with_keys();
    let backend = described_echo().await;
    let plain = service_file(&backend, "", None, "mechanism = \"username\"");
    let description = told(&folder.gateway(&plain).await).await;
    assert!(!description.contains("TransportBinding"), "{description}");
    let public = plain.replace("LISTEN", "LISTEN\npublic_url = \"https://soap.example\"");
    let description = told(&folder.gateway(&public).await).await;
    assert!(
        description.contains("<sp:HttpsToken><wsp:Policy/></sp:HttpsToken>"),
        "{description}"
    );
    assert!(
        description.contains("location=\"https://soap.example/echo\""),
        "{description}"
    );
}

fn without_a_policy() -> String {
    let (before, rest) = DESCRIPTION
        .split_once("<p:Policy u:Id=\"theirs\">")
        .expect("it is there");
    let rest = rest.split_once("</p:Policy>").expect("it is there").1;
    format!("{before}{rest}")
        .replace("<p:PolicyReference URI=\"#theirs\"/>", "")
        .replace("http://internal/echo", "http://gateway.example:8443/echo")
}

#[tokio::test]
async fn clients_are_told_nothing_where_nothing_can_be_said_or_shall_be() {
    let folder = Folder::with_keys();
    let backend = described_echo().await;
    for (more, security) in [
        (
            "publish_policy = false",
            "mechanism = \"sign-encrypt\", suite = \"Basic256\"",
        ),
        // The default suite has no name.
        ("", "mechanism = \"sign-encrypt\""),
        (
            "",
            "mechanism = \"sign\", signed = [\"#one\", \"Timestamp\"], suite = \"Basic256\"",
        ),
    ] {
        let service = folder
            .gateway(&service_file(&backend, more, None, security))
            .await;
        assert_eq!(told(&service).await, without_a_policy(), "{security}");
    }
    // Messages pass as they are, and so does what the backend tells of them.
    let none = service_file(
        &backend,
        "publish_policy = true",
        None,
        "mechanism = \"none\"",
    );
    let service = folder.gateway(&none).await;
    assert!(told(&service).await.contains("#theirs"));
}

fn problems(folder: &Folder, file: &str) -> Vec<(u32, String)> {
    let file = file.replace("LISTEN", "listen = \"127.0.0.1:0\"");
    Config::from_text(&file, &folder.path("gateway.toml"), &|_| None)
        .expect_err("it is a mistake")
        .0
        .into_iter()
        .map(|problem| (problem.line, problem.message))
        .collect()
}

#[tokio::test]
async fn a_policy_that_must_be_published_and_cannot_be_said_is_a_mistake_in_the_file() {
    let folder = Folder::with_keys();
    let backend = described_echo().await;
    let file = service_file(
        &backend,
        "publish_policy = true",
        None,
        "mechanism = \"sign-encrypt\"",
    );
    assert_eq!(
        problems(&folder, &file),
        [(
            5,
            "the policy cannot be published: WS-SecurityPolicy has no name for the suite of rsa-sha256, sha256, rsa-oaep, aes256-gcm; suites \
             that have a name: `Basic256Sha256+RsaSha256`, `Basic256Sha256`, `Basic256`"
                .to_owned()
        )]
    );
    let outbound = file
        .replace("[routes.inbound]", "[routes.outbound]")
        .replace(
            "trust = ",
            "peer = { certificate = \"client.cert.pem\" }\ntrust = ",
        );
    assert_eq!(
        problems(&folder, &outbound),
        [(
            5,
            "`publish_policy` is for a route with `inbound`: without it clients are plain"
                .to_owned()
        )]
    );
}

#[test]
fn a_policy_that_demands_nothing_is_told_when_the_file_is_checked() {
    let folder = Folder::with_keys();
    std::fs::write(folder.path("plain.wsdl"), without_a_policy()).expect("it is writable");
    let file = "listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/\"\nbackend = \"http://127.0.0.1:9/\"\n\
                [routes.inbound]\nsecurity = { policy = \"plain.wsdl\", policy_may_be_empty = true }\n";
    let checked = |file: &str| {
        Config::from_text(file, &folder.path("gateway.toml"), &|_| None)
            .expect("nothing is wrong with it")
            .to_string()
    };
    assert!(
        checked(file)
            .contains("inbound none (without protection: the policy demands nothing of messages)"),
        "{}",
        checked(file)
    );
    // The mechanism of that name says it already.
    let meant = file.replace(
        "policy = \"plain.wsdl\", policy_may_be_empty = true",
        "mechanism = \"none\"",
    );
    let meant = checked(&meant);
    assert!(meant.ends_with("inbound none\n"), "{meant}");
    // And where nobody says it, it is a mistake.
    for side in ["inbound", "outbound"] {
        let unsaid = file
            .replace(", policy_may_be_empty = true", "")
            .replace("routes.inbound", &format!("routes.{side}"));
        let (line, message) = &problems(&folder, &unsaid)[0];
        assert_eq!(*line, 6);
        assert!(
            message.ends_with("plain.wsdl: the policy demands nothing of requests"),
            "{message}"
        );
    }
}

#[tokio::test]
async fn several_policies_are_put_into_a_description_that_is_empty() {
    let folder = Folder::with_keys();
    let backend = Backend::answering(|_| {
        let empty = "<w:definitions xmlns:w=\"http://schemas.xmlsoap.org/wsdl/\"/>";
        let mut response = Response::new(Full::new(Bytes::from(empty)));
        let media_type = "text/xml; charset=utf-8".parse().expect("a value");
        response.headers_mut().insert("content-type", media_type);
        response
    })
    .await;
    let security = "mechanism = \"sign-encrypt\", suite = \"Basic256\"";
    let file = service_file(&backend, "", Some("client"), security);
    let told = told(&folder.gateway(&file).await).await;
    assert_eq!(told.matches("<wsp:Policy ").count(), 2, "{told}");
    assert!(told.ends_with("</w:definitions>"), "{told}");
}
