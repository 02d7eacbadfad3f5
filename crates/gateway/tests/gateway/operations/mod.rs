//! Routes whose policy demands different things of different operations.

mod bank;
mod conversations;
mod counted;
mod stepping_down;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode};
use http_body_util::Full;
use soapstone_gateway::Config;

use crate::support::{Backend, Folder, reason, send};
use bank::*;

#[tokio::test]
async fn operations_that_demand_different_things_travel_each_in_its_own_way() {
    let mut site = Site::new(&bank(GCM), a_bank(None).await).await;
    let client = site.client().await;
    for operation in ["Pay", "Transfer", "Ask", "Hello"] {
        let action = format!("urn:bank:{operation}");
        let answer = send(client.address(), request(&[&action], envelope(operation))).await;
        assert_eq!(
            answer.status,
            StatusCode::OK,
            "{operation}: {}",
            answer.body
        );
        let expected = format!("<b:{operation}Response xmlns:b=\"urn:bank\">");
        assert!(answer.body.contains(&expected), "{}", answer.body);
        let seen = site.backend.seen.recv().await.expect("it arrived");
        let body = String::from_utf8(seen.body.to_vec()).expect("it is UTF-8");
        assert!(body.contains(&element(operation)), "{body}");
        assert!(!body.contains("Security"), "{body}");
        // What only TLS or nobody protects is for `Hello` alone.
        let plain = site.send(&[&action], &envelope(operation)).await;
        let expected = if operation == "Hello" {
            StatusCode::OK
        } else {
            StatusCode::INTERNAL_SERVER_ERROR
        };
        assert_eq!(plain.status, expected, "{operation}: {}", plain.body);
        let also_plain = site.backend.seen.try_recv();
        assert_eq!(also_plain.is_ok(), operation == "Hello");
    }
    let what = |demands: &str| {
        let plain = envelope(demands);
        site.secured_as(demands, &plain)
    };
    assert!(what("Pay").contains("EncryptedData"));
    assert!(!what("Ask").contains("EncryptedData") && what("Ask").contains("Signature"));
    assert!(!what("Hello").contains("Security"));
}

#[tokio::test]
async fn an_operation_is_told_by_its_body_where_no_action_is_said() {
    let site = Site::new(&bank(GCM), a_bank(None).await).await;
    let client = site.client().await;
    for actions in [&[][..], &[""]] {
        for operation in ["Ask", "Hello"] {
            let answer = send(client.address(), request(actions, envelope(operation))).await;
            assert_eq!(
                answer.status,
                StatusCode::OK,
                "{operation}: {}",
                answer.body
            );
        }
    }
}

/// The parameter `action` of the media type (RFC 3902) is what `SOAPAction` is in SOAP 1.1.
#[tokio::test]
async fn an_action_of_soap_12_tells_the_operation() {
    let mut site = Site::new(&bank(GCM), a_bank(None).await).await;
    let plain = envelope("Pay").replace(
        "http://schemas.xmlsoap.org/soap/envelope/",
        "http://www.w3.org/2003/05/soap-envelope",
    );
    let message = site.secured_as("Pay", &plain);
    for (action, status) in [
        ("", StatusCode::BAD_REQUEST),
        ("; action=\"urn:bank:Hello\"", StatusCode::BAD_REQUEST),
        (
            "; action=\"urn:bank:Pay\"; action=\"urn:bank:Hello\"",
            StatusCode::BAD_REQUEST,
        ),
        ("; action=\"urn:bank:Pay\"", StatusCode::OK),
    ] {
        let mut request = request(&[], message.clone());
        let value = format!("application/soap+xml{action}");
        request
            .headers_mut()
            .insert("content-type", value.parse().expect("a value"));
        let answer = send(site.service.address(), request).await;
        assert_eq!(answer.status, status, "{action}: {}", answer.body);
        assert_eq!(site.backend.seen.try_recv().is_ok(), status.is_success());
    }
}

#[tokio::test]
async fn an_operation_without_protection_is_told_when_the_configuration_is_checked() {
    let site = Site::new(&bank(GCM), a_bank(None).await).await;
    for (side, tables) in [
        ("inbound", tables("server", "client", &site.policy, "")),
        ("outbound", tables("client", "server", &site.policy, "")),
    ] {
        let config = site.folder.config(&route(side, "http://bank", &tables));
        let told = config.to_string();
        let expected = format!(", {side} by-operation Basic256GCM (without protection: Hello)\n");
        assert!(told.contains(&expected), "{told}");
        // Unless the file says that it may be, it is a mistake.
        let text = |may_be_empty: &str| {
            let tables = tables.replace(", policy_may_be_empty = true", may_be_empty);
            let route = route(side, "http://bank", &tables);
            route.replace("LISTEN", "listen = \"127.0.0.1:0\"")
        };
        let read = |may_be_empty: &str| {
            let file = site.folder.path("gateway.toml");
            Config::from_text(&text(may_be_empty), &file, &|_| None)
                .map(|_| ())
                .map_err(|problems| {
                    let told = problems.0.into_iter().map(|problem| problem.message);
                    told.collect::<Vec<_>>()
                })
        };
        let demands = "bank.wsdl: the policy demands nothing of requests for `Hello`, ";
        for (named, expected) in [
            ("", Some("and protects other operations")),
            (
                ", policy_may_be_empty = []",
                Some("which `policy_may_be_empty` does not name"),
            ),
            (", policy_may_be_empty = [\"Hello\"]", None),
        ] {
            let found = read(named);
            match expected {
                None => assert_eq!(found, Ok(())),
                Some(expected) => {
                    let found = found.expect_err(named);
                    assert_eq!(found.len(), 1, "{found:?}");
                    let expected = format!("{demands}{expected}");
                    assert!(found[0].ends_with(&expected), "{found:?}");
                }
            }
        }
        let found =
            read(", policy_may_be_empty = [\"Hello\", \"Pay\"]").expect_err("Pay is protected");
        assert_eq!(
            found,
            [
                "`policy_may_be_empty` must name operations that the policy leaves without protection, found another text"
            ]
        );
    }
}

#[tokio::test]
async fn an_encrypted_body_tells_enough_where_one_agreement_encrypts() {
    let binding = asymmetric(GCM);
    let description = bank_with(
        "",
        &[
            ("Pay", format!("{binding}{SECRET}")),
            ("Ask", format!("{binding}{SIGNED}")),
        ],
    );
    let mut site = Site::new(&description, a_bank(None).await).await;
    let message = site.secured_as("Pay", &envelope("Pay"));
    assert_eq!(site.send(&[], &message).await.status, StatusCode::OK);
    site.backend.seen.try_recv().expect("it arrived");
    let message = site.secured_as("Pay", &envelope("Ask"));
    site.hides(&[], &message, "operation-mismatch").await;
}

#[tokio::test]
async fn a_fault_is_an_answer_of_every_operation() {
    let fault =
        "<s:Fault><faultcode>s:Server</faultcode><faultstring>closed</faultstring></s:Fault>";
    let backend = Backend::answering(move |_| {
        let mut response = Response::new(Full::new(Bytes::from(envelope_with("", fault))));
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        let headers = response.headers_mut();
        headers.insert("content-type", HeaderValue::from_static("text/xml"));
        response
    })
    .await;
    let site = Site::new(&bank(GCM), backend).await;
    let client = site.client().await;
    for operation in ["Pay", "Ask", "Hello"] {
        let action = format!("urn:bank:{operation}");
        let answer = send(client.address(), request(&[&action], envelope(operation))).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(reason(&answer.body), "closed");
    }
}

#[tokio::test]
async fn operations_with_the_same_body_are_told_by_their_actions() {
    let binding = asymmetric(GCM);
    let operations = [
        ("Pay", format!("{binding}{SECRET}")),
        ("Ask", format!("{binding}{SIGNED}")),
    ];
    let description = bank_with("", &operations).replace("element='t:Ask'", "element='t:Pay'");
    let mut site = Site::new(&description, a_bank(Some("Pay")).await).await;
    let client = site.client().await;
    let pay = || envelope("Pay");
    let answer = send(client.address(), request(&["urn:bank:Pay"], pay())).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    site.backend.seen.recv().await.expect("it arrived");
    let answer = send(client.address(), request(&[], pay())).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(reason(&answer.body).starts_with("Several operations fit"));
    // Signed only, and no action: it could be either.
    let message = site.secured_as("Ask", &pay());
    site.refuses(&[], &message, "operation-unclear", "soap:Client")
        .await;
    // Encrypted, and without an action: it was opened as `Pay`, and `Ask` would look the same.
    let message = site.secured_as("Pay", &pay());
    site.hides(&[], &message, "operation-unclear").await;
}

#[tokio::test]
async fn operations_that_nothing_tells_apart_are_a_mistake_of_the_configuration() {
    let folder = Folder::with_keys();
    let description = bank(GCM)
        .replace("element='t:Ask'", "element='t:Hello'")
        .replace("urn:bank:Ask", "urn:bank:Hello");
    let policy = folder.write("bank.wsdl", description);
    let side = tables("server", "client", &policy, "");
    let file =
        route("inbound", "http://127.0.0.1:9", &side).replace("LISTEN", "listen = \"127.0.0.1:0\"");
    let problems = Config::from_text(&file, &folder.path("gateway.toml"), &|_| None)
        .expect_err("it is a mistake");
    assert_eq!(problems.0.len(), 1, "{problems}");
    let expected = "the policies of service S, port P, operation Ask and of service S, port P, operation Hello differ, and nothing tells \
         their requests apart: both hold `{urn:bank}Hello`, and no action of their own; name the one that is meant";
    let message = &problems.0[0].message;
    assert!(message.ends_with(expected), "{message}");
}

/// The element that says the operation is encrypted by itself: the operation is told by what is
/// said beside the message, and confirmed by what came to light.
#[tokio::test]
async fn an_operation_whose_element_is_encrypted_by_itself_is_confirmed_in_the_clear() {
    let binding = asymmetric(GCM);
    let description = bank_with(
        "",
        &[
            ("Ask", format!("{binding}{SIGNED}")),
            ("Hello", String::new()),
        ],
    );
    let folder = Folder::with_keys();
    let policy = folder.write("bank.wsdl", &description);
    let mut backend = a_bank(None).await;
    let inner = "inner = { encryption = { requests = \"{urn:bank}Ask\" } }\n";
    let side = tables("server", "client", &policy, "") + inner;
    let to = format!("http://{}", backend.address);
    let service = folder.gateway(&route("inbound", &to, &side)).await;
    let to = format!("http://{}", service.address());
    let side = tables("client", "server", &policy, "") + inner;
    let client = folder.gateway(&route("outbound", &to, &side)).await;
    let answer = send(
        client.address(),
        request(&["urn:bank:Ask"], envelope("Ask")),
    )
    .await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let seen = backend.seen.recv().await.expect("it arrived");
    let body = String::from_utf8(seen.body.to_vec()).expect("it is UTF-8");
    assert!(body.contains(&element("Ask")), "{body}");
    // Attack: the cipher text of one operation goes as another one, which demands no signature.
    let side = "security = { mechanism = \"none\" }\n\
         peer = { certificate = \"server.cert.pem\" }\n"
        .to_owned()
        + inner;
    let unsigned = folder.secured(&side, &envelope("Ask"));
    for action in ["urn:bank:Hello", "urn:bank:Ask", ""] {
        let refused = send(service.address(), request(&[action], unsigned.clone())).await;
        assert!(
            refused.status.is_server_error(),
            "{action}: {}",
            refused.body
        );
        assert!(backend.seen.try_recv().is_err(), "it reached the backend");
    }
}
