//! What a token service must not do: who gets no assertion, and which answers it does not give.

use http::StatusCode;
use soapstone::config::{Document, EndpointConfig, StsConfig, Surroundings};
use soapstone::endpoint::{Call, ReceiveError};
use soapstone::xml::Buffers;
use soapstone::{ForgetfulReplayCache, Memory, Service};
use soapstone_testkit::envelope;

use super::{AUDIENCE, SIGNER, STS, USER, WST, ask, folder, request, services};
use crate::support::{ENVELOPE, Folder, get, send_over};
use crate::tls::connect;

/// An unknown sender gets nothing, and a message that is no request for a token goes nowhere.
#[tokio::test]
async fn strangers_and_other_messages_get_no_token() {
    let folder = folder();
    let gateway = folder.gateway(&services("")).await;
    let plain = request("Issue", AUDIENCE, "PublicKey", "");
    let evil = SIGNER.replace("client.", "evil.");
    for message in [plain.clone().into_bytes(), folder.secured(&evil, &plain)] {
        let answer = ask(&gateway, "/signers", message).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(!answer.body.contains("Assertion"), "{}", answer.body);
    }
    // Of another user than the one whose password it is.
    let other = USER.replace("secret", "guess");
    let guessed = folder.secured(&other, &request("Issue", AUDIENCE, "Bearer", ""));
    let answer = ask(&gateway, "/users", guessed).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    let answer = ask(&gateway, "/signers", folder.secured(SIGNER, ENVELOPE)).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(
        answer.body.contains("wst:InvalidRequest"),
        "{}",
        answer.body
    );
    let stream = connect(gateway.address(), b"http/1.1", false).await;
    let answer = send_over(stream.expect("a handshake"), get("/signers")).await;
    assert_eq!(
        answer.expect("an answer").status,
        StatusCode::METHOD_NOT_ALLOWED
    );
}

/// A route that answers requests itself is no way around roles.
#[tokio::test]
async fn roles_decide_who_gets_an_assertion() {
    for (allowed, status) in [
        ("signers:RequestSecurityToken", StatusCode::OK),
        ("signers:*", StatusCode::OK),
        ("signers:Other", StatusCode::FORBIDDEN),
        ("users:*", StatusCode::FORBIDDEN),
    ] {
        let folder = folder();
        let role = |name: &str, subject: &str, allow: &str| {
            format!(
                "[[roles]]\nname = \"{name}\"\nmembers = {{ subjects = [\"{subject}\"] }}\nallow = [\"{allow}\"]\n"
            )
        };
        let roles = role("clients", "CN=client", allowed) + &role("others", "CN=other", "*:*");
        let gateway = folder.gateway(&services(&roles)).await;
        let message = folder.secured(SIGNER, &request("Issue", AUDIENCE, "PublicKey", ""));
        let answer = ask(&gateway, "/signers", message).await;
        assert_eq!(answer.status, status, "{allowed}: {}", answer.body);
        let is_issued = answer.body.contains("Assertion");
        assert_eq!(is_issued, status == StatusCode::OK, "{}", answer.body);
    }
}

/// Roles are asked before the requester learns anything of services, keys and delegations.
#[tokio::test]
async fn a_requester_without_a_role_learns_nothing_of_the_token_service() {
    let folder = folder();
    let role = "[[roles]]\nname = \"others\"\nmembers = { subjects = [\"CN=other\"] }\nallow = [\"*:*\"]\n";
    let gateway = folder.gateway(&services(role)).await;
    let on_behalf_of = "<wst:OnBehalfOf><a/></wst:OnBehalfOf>";
    let mut told = Vec::new();
    for plain in [
        request("Issue", AUDIENCE, "PublicKey", ""),
        request("Issue", "urn:other", "PublicKey", ""),
        request("Issue", AUDIENCE, "Unknown", ""),
        request("Issue", AUDIENCE, "PublicKey", on_behalf_of),
        request("Cancel", AUDIENCE, "PublicKey", ""),
    ] {
        let answer = ask(&gateway, "/signers", folder.secured(SIGNER, &plain)).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{}", answer.body);
        told.push(answer.body);
    }
    assert!(told.iter().all(|one| *one == told[0]), "{told:?}");
}

/// The rates of roles and agreements count messages: a message holds one request unless the file
/// says how many.
#[tokio::test]
async fn a_collection_of_requests_takes_the_operators_word() {
    let folder = folder();
    let one = |address| request("BatchIssue", address, "PublicKey", "");
    let inside = |message: String| {
        let end = "</wst:RequestSecurityToken>";
        let from = message.find("<wst:RequestSecurityToken").expect("one");
        let to = message.find(end).expect("its end") + end.len();
        message[from..to].to_owned()
    };
    let both = inside(one(AUDIENCE)) + &inside(one("https://front.example"));
    let body = format!(
        "<wst:RequestSecurityTokenCollection xmlns:wst=\"{WST}\">{both}</wst:RequestSecurityTokenCollection>"
    );
    let several = services("").replace("longest_lifetime", "batch = 2\nlongest_lifetime");
    for (text, granted) in [(services(""), 0), (several, 2)] {
        let gateway = folder.gateway(&text).await;
        let message = folder.secured(SIGNER, &envelope::with_body(&body));
        let answer = ask(&gateway, "/signers", message).await;
        let body = answer.body;
        let tokens = body.matches("<wst:RequestedSecurityToken>").count();
        assert_eq!(tokens, granted, "{body}");
        match granted {
            0 => {
                assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR, "{body}");
                assert!(body.contains("wst:InvalidRequest"), "{body}");
            }
            _ => assert_eq!(answer.status, StatusCode::OK, "{body}"),
        }
    }
}

/// The service in one process, without a gateway around it.
fn service(folder: &Folder) -> Service {
    let environment = |_: &str| None;
    let file = folder.path("service.toml");
    let text = "trust = { pinned = [\"client.cert.pem\"] }\nidentity = { key = \"sts.key.pem\", certificate = \"sts.cert.pem\" }\nsecurity = { mechanism = \"sign\" }\n";
    let mut config = EndpointConfig::from_text(text, &file, &environment).expect("a file");
    let surroundings = Surroundings {
        file,
        environment: &environment,
    };
    let sts = STS.replace("[routes.sts]\n", "");
    let document = Document::parse(&sts, surroundings);
    config.sts = StsConfig::read(document.root());
    assert!(config.sts.is_some());
    Service::from_config(&config).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Every reader of a bearer's assertion, or of a symmetric key, is the subject.
#[test]
fn no_secret_is_in_an_answer_that_everybody_can_read() {
    let folder = folder();
    let service = service(&folder);
    let cache = ForgetfulReplayCache;
    let ask = |key_type: &str, hidden: bool| {
        let message = folder.secured(SIGNER, &request("Issue", AUDIENCE, key_type, ""));
        let buffers = &mut Buffers::default();
        let call = &mut Call::new(jiff::Timestamp::now(), buffers);
        let request = service.read(message, call).expect("a message");
        let request = if hidden { request.over_tls() } else { request };
        service.receive_with(request, Memory::without_conversations(&cache), call)
    };
    assert!(matches!(
        ask("Bearer", false),
        Err(ReceiveError::WouldExpose)
    ));
    let refused = |key_type, hidden| match ask(key_type, hidden) {
        Ok(soapstone::Arrived::Answered(answer)) => answer.refused.map(|it| it.refusal.name()),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        refused("SymmetricKey", false),
        Some("trust-not-confidential")
    );
    for (key_type, hidden) in [
        ("Bearer", true),
        ("SymmetricKey", true),
        ("PublicKey", false),
    ] {
        assert_eq!(refused(key_type, hidden), None, "{key_type}");
    }
}
