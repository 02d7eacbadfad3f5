//! Routes with endpoints: what is secured, what is opened, and what is refused.

use std::path::Path;

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use soapstone_gateway::Running;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::support::{
    Backend, ENVELOPE, ENVELOPE_12, Folder, exchange, get, post, post_as, reason, send, soon,
};

/// The tables of the side before the service, for a mechanism.
pub(crate) fn service(mechanism: &str) -> String {
    match mechanism {
        "username" => "users = [{ name = \"alice\", password = \"secret\" }]\nsecurity = { mechanism = \"username\" }\n".to_owned(),
        _ => format!(
            "identity = {{ key = \"server.key.pem\", certificate = \"server.cert.pem\" }}\npeer = {{ certificate = \"client.cert.pem\" }}\n\
             trust = {{ anchors = [\"ca.cert.pem\"] }}\nsecurity = {{ mechanism = \"{mechanism}\", suite = \"Basic256Sha256\" }}\n"
        ),
    }
}

/// The tables of the side behind the client, for a mechanism.
pub(crate) fn client(mechanism: &str) -> String {
    match mechanism {
        "username" => service(mechanism),
        _ => service(mechanism)
            .replace("server", "swapped")
            .replace("client", "server")
            .replace("swapped", "client"),
    }
}

fn route(backend: std::net::SocketAddr, sides: &[(&str, String)]) -> String {
    let sides: String = sides
        .iter()
        .map(|(side, tables)| format!("[routes.{side}]\n{tables}"))
        .collect();
    format!("LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{backend}/echo\"\n{sides}")
}

async fn inbound(folder: &Folder, backend: &Backend, mechanism: &str) -> Running {
    folder
        .gateway(&route(backend.address, &[("inbound", service(mechanism))]))
        .await
}

async fn outbound(folder: &Folder, service: &Running, mechanism: &str) -> Running {
    folder
        .gateway(&route(
            service.address(),
            &[("outbound", client(mechanism))],
        ))
        .await
}

/// A message that the client's side secured.
pub(crate) fn secured(folder: &Folder, mechanism: &str) -> Vec<u8> {
    folder.secured(&client(mechanism), ENVELOPE)
}

pub(crate) async fn metrics(gateway: &Running) -> String {
    gateway.metrics()
}

#[tokio::test]
async fn a_call_travels_through_two_gateways_under_every_mechanism() {
    let folder = Folder::with_keys();
    for mechanism in [
        "none",
        "username",
        "sign",
        "encrypt",
        "sign-encrypt",
        "encrypt-sign",
    ] {
        let mut backend = Backend::echo().await;
        let service = inbound(&folder, &backend, mechanism).await;
        let client = outbound(&folder, &service, mechanism).await;
        for (envelope, media_type) in [
            (ENVELOPE, "text/xml; charset=utf-8"),
            (
                ENVELOPE_12,
                "application/soap+xml; charset=utf-8; action=\"urn:echo\"",
            ),
        ] {
            let request = post_as("/echo", media_type, envelope);
            let answer = send(client.address(), request).await;
            assert_eq!(
                answer.status,
                StatusCode::OK,
                "{mechanism}: {}",
                answer.body
            );
            // What else the head of an answer says, nothing proves.
            let said = match media_type.split_once("; action") {
                Some((proven, _)) if mechanism != "none" => proven,
                _ => media_type,
            };
            assert_eq!(answer.headers["content-type"], said);
            assert!(
                answer
                    .body
                    .contains("<e:echo xmlns:e=\"urn:echo\">hello</e:echo>"),
                "{mechanism}: {}",
                answer.body
            );
            let seen = backend.seen.recv().await.expect("it arrived");
            assert_eq!(seen.headers["soapaction"], "\"urn:echo\"");
            let body = String::from_utf8(seen.body.to_vec()).expect("it is UTF-8");
            assert!(
                body.contains(">hello<") && !body.contains("Security"),
                "{mechanism}: {body}"
            );
        }
        let (client, service) = (metrics(&client).await, metrics(&service).await);
        if mechanism != "none" {
            let labels = |direction| {
                format!("route=\"/echo\",direction=\"{direction}\",mechanism=\"{mechanism}\"")
            };
            let secured = format!(
                "soapstone_step_seconds_count{{{},step=\"secure\"}} 2",
                labels("outbound")
            );
            let opened = format!(
                "soapstone_step_seconds_count{{{},step=\"open\"}} 2",
                labels("inbound")
            );
            assert!(client.contains(&secured), "{client}");
            assert!(service.contains(&opened), "{service}");
        }
    }
}

#[tokio::test]
async fn a_plain_request_is_refused_and_the_backend_not_reached() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let gateway = inbound(&folder, &backend, "sign-encrypt").await;
    let answer = send(gateway.address(), post("/echo", ENVELOPE)).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(
        answer.body.contains(">wsse:InvalidSecurity</faultcode>"),
        "{}",
        answer.body
    );
    assert!(answer.headers.contains_key("x-request-id"));
    assert!(backend.seen.try_recv().is_err());
    let refusal = "soapstone_refusals_total{route=\"/echo\",direction=\"inbound\",mechanism=\"sign-encrypt\",reason=\"security-missing\"} 1";
    let metrics = metrics(&gateway).await;
    assert!(metrics.lines().any(|line| line == refusal), "{metrics}");
}

#[tokio::test]
async fn a_refusal_of_soap_12_is_a_sender_fault_with_status_400() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let gateway = inbound(&folder, &backend, "sign").await;
    let mut request = post("/echo", ENVELOPE_12);
    request.headers_mut().insert(
        "content-type",
        "application/soap+xml".parse().expect("a value"),
    );
    let answer = send(gateway.address(), request).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    assert!(
        answer
            .body
            .contains("<soap:Value>soap:Sender</soap:Value><soap:Subcode>"),
        "{}",
        answer.body
    );
}

#[tokio::test]
async fn a_message_is_accepted_once() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let gateway = inbound(&folder, &backend, "sign").await;
    let message = secured(&folder, "sign");
    let first = send(gateway.address(), post("/echo", message.clone())).await;
    assert_eq!(first.status, StatusCode::OK, "{}", first.body);
    backend.seen.recv().await.expect("it arrived");
    // A reload must not forget it.
    gateway.reload(folder.config(&route(backend.address, &[("inbound", service("sign"))])));
    let second = send(gateway.address(), post("/echo", message)).await;
    assert!(
        second
            .body
            .contains(">wsse:FailedAuthentication</faultcode>"),
        "{}",
        second.body
    );
    assert!(backend.seen.try_recv().is_err());
    assert!(metrics(&gateway).await.contains("reason=\"replayed\"} 1"));
}

#[tokio::test]
async fn an_altered_message_is_refused() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let gateway = inbound(&folder, &backend, "sign").await;
    let message = String::from_utf8(secured(&folder, "sign"))
        .expect("it is UTF-8")
        .replace(">hello<", ">jello<");
    let answer = send(gateway.address(), post("/echo", message)).await;
    assert!(
        answer.body.contains(">wsse:FailedCheck</faultcode>"),
        "{}",
        answer.body
    );
    assert!(backend.seen.try_recv().is_err());
}

/// Jager and Somorovsky (2011): whoever can tell a wrong padding from a wrong plaintext reads the
/// message.
#[tokio::test]
async fn every_failure_to_decrypt_gives_the_same_answer_and_none_at_once() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let gateway = inbound(&folder, &backend, "encrypt").await;
    let message = || String::from_utf8(secured(&folder, "encrypt")).expect("it is UTF-8");
    let changed = |message: &str, value: usize, offset: usize| {
        let start = "<xenc:CipherValue>";
        let (at, _) = message.match_indices(start).nth(value).expect("a value");
        let at = at + start.len() + offset;
        let other = if message.as_bytes()[at] == b'A' {
            "B"
        } else {
            "A"
        };
        format!("{}{other}{}", &message[..at], &message[at + 1..])
    };
    let ask = async |message: String| {
        let sent = std::time::Instant::now();
        let answer = send(gateway.address(), post("/echo", message)).await;
        let refused = answer.status != StatusCode::OK;
        assert!(
            !refused || sent.elapsed().as_millis() >= 50,
            "{:?}",
            sent.elapsed()
        );
        (answer.status, answer.body)
    };
    // Each is of a message of its own: cipher text has one try. The first value is that of the
    // wrapped key.
    let mut answers = Vec::new();
    for value in [0, 1] {
        for offset in [20, 40] {
            answers.push(ask(changed(&message(), value, offset)).await);
        }
    }
    assert!(
        answers[0].1.contains(">wsse:FailedCheck</faultcode>"),
        "{}",
        answers[0].1
    );
    assert!(
        answers.iter().all(|answer| answer == &answers[0]),
        "{answers:?}"
    );
    let tried = "mechanism=\"encrypt\",reason=\"decryption-failed\"} 4";
    assert!(metrics(&gateway).await.contains(tried));
    // Whatever became of a message, copies under its key are not deciphered, and those that could
    // be read are answered as all others.
    let (accepted, refused) = (message(), message());
    let genuine = ask(accepted.clone()).await;
    assert_eq!(genuine.0, StatusCode::OK, "{}", genuine.1);
    backend.seen.recv().await.expect("it arrived");
    assert_eq!(ask(changed(&refused, 1, 20)).await, answers[0]);
    let mut copies = Vec::new();
    for message in [accepted, refused] {
        for offset in [20, 40] {
            copies.push(ask(changed(&message, 1, offset)).await);
        }
        copies.push(ask(message).await);
    }
    assert!(
        copies[0]
            .1
            .contains(">wsse:FailedAuthentication</faultcode>"),
        "{}",
        copies[0].1
    );
    assert!(copies.iter().all(|copy| copy == &copies[0]), "{copies:?}");
    let told = metrics(&gateway).await;
    let tried = "mechanism=\"encrypt\",reason=\"decryption-failed\"} 5";
    let untried = "mechanism=\"encrypt\",reason=\"replayed\"} 6";
    assert!(told.contains(tried) && told.contains(untried), "{told}");
    assert!(backend.seen.try_recv().is_err());
}

#[tokio::test]
async fn what_is_no_description_is_not_told_under_the_name_of_one() {
    let folder = Folder::with_keys();
    let secrets = [
        (StatusCode::OK, "application/json", "[\"a secret\"]"),
        (
            StatusCode::OK,
            "text/xml",
            "<users><user>a secret</user></users>",
        ),
        (StatusCode::NOT_FOUND, "text/html", "<p>a secret</p>"),
    ];
    for (status, media_type, secret) in secrets {
        let backend = Backend::answering(move |_| {
            let mut response = Response::new(Full::new(Bytes::from(secret)));
            *response.status_mut() = status;
            let headers = response.headers_mut();
            headers.insert("content-type", media_type.parse().expect("a value"));
            response
        })
        .await;
        let gateway = inbound(&folder, &backend, "sign").await;
        let answer = send(gateway.address(), get("/echo/users?wsdl&page=1")).await;
        assert!(!answer.body.contains("secret"), "{}", answer.body);
        let told = match status {
            StatusCode::OK => StatusCode::BAD_GATEWAY,
            other => other,
        };
        assert_eq!(answer.status, told);
    }
}

/// The same of responses, whose client somebody on the way may be able to watch.
#[tokio::test]
async fn no_response_is_refused_at_once() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    for mechanism in ["encrypt", "sign"] {
        let gateway = folder
            .gateway(&route(backend.address, &[("outbound", client(mechanism))]))
            .await;
        let sent = std::time::Instant::now();
        // What comes back is what was sent, which no answer is.
        let answer = send(gateway.address(), post("/echo", ENVELOPE)).await;
        assert!(sent.elapsed().as_millis() >= 50, "{:?}", sent.elapsed());
        assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{}", answer.body);
    }
}

#[tokio::test]
async fn one_route_bridges_from_one_mechanism_to_another() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let signed = inbound(&folder, &backend, "sign").await;
    let sides = [
        ("inbound", service("username")),
        ("outbound", client("sign")),
    ];
    let bridge = folder.gateway(&route(signed.address(), &sides)).await;
    let user = outbound(&folder, &bridge, "username").await;
    let answer = send(user.address(), post("/echo", ENVELOPE)).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    assert!(answer.body.contains(">hello<"));
    backend.seen.recv().await.expect("it arrived");
}

#[tokio::test]
async fn a_fault_of_the_backend_comes_back_secured_with_its_status() {
    let folder = Folder::with_keys();
    let fault = ENVELOPE.replace(
        "<e:echo xmlns:e=\"urn:echo\">hello</e:echo>",
        "<s:Fault><faultcode>s:Server</faultcode><faultstring>no books</faultstring></s:Fault>",
    );
    let backend = Backend::answering(move |_| {
        let mut response = Response::new(Full::new(Bytes::from(fault.clone())));
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response
            .headers_mut()
            .insert("content-type", "text/xml".parse().expect("a value"));
        response
    })
    .await;
    let service = inbound(&folder, &backend, "sign-encrypt").await;
    let direct = send(
        service.address(),
        post("/echo", secured(&folder, "sign-encrypt")),
    )
    .await;
    assert_eq!(direct.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(
        direct.body.contains("EncryptedData") && !direct.body.contains("no books"),
        "{}",
        direct.body
    );
    let client = outbound(&folder, &service, "sign-encrypt").await;
    let answer = send(client.address(), post("/echo", ENVELOPE)).await;
    assert_eq!(
        (answer.status, reason(&answer.body)),
        (StatusCode::INTERNAL_SERVER_ERROR, "no books")
    );
}

#[tokio::test]
async fn a_client_learns_the_code_of_an_unsecured_fault_and_that_it_proves_nothing() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let service = inbound(&folder, &backend, "sign-encrypt").await;
    let client = outbound(&folder, &service, "sign").await;
    let answer = send(client.address(), post("/echo", ENVELOPE)).await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
    assert_eq!(
        reason(&answer.body),
        "The service behind this gateway refused the message with an unsecured fault: InvalidSecurity"
    );
}

#[tokio::test]
async fn the_answer_to_a_one_way_message_passes_without_a_body() {
    let folder = Folder::with_keys();
    let backend = Backend::answering(|_| {
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::ACCEPTED;
        response
    })
    .await;
    let gateway = inbound(&folder, &backend, "sign").await;
    let answer = send(gateway.address(), post("/echo", secured(&folder, "sign"))).await;
    assert_eq!(
        (answer.status, answer.body.as_str()),
        (StatusCode::ACCEPTED, "")
    );
}

#[tokio::test]
async fn what_is_no_soap_message_is_refused_on_both_ways() {
    let folder = Folder::with_keys();
    let backend = Backend::answering(|_| {
        let mut response = Response::new(Full::from("<html>sorry</html>"));
        *response.status_mut() = StatusCode::NOT_FOUND;
        response
            .headers_mut()
            .insert("content-type", "text/html".parse().expect("a value"));
        response
    })
    .await;
    let gateway = inbound(&folder, &backend, "sign").await;
    let answer = send(gateway.address(), post("/echo", secured(&folder, "sign"))).await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
    assert!(!answer.body.contains("sorry"));

    let compressed = Backend::answering(|seen| {
        let mut response = Response::new(Full::new(seen.body.clone()));
        for (name, value) in [("content-type", "text/xml"), ("content-encoding", "gzip")] {
            let headers = response.headers_mut();
            headers.insert(name, value.parse().expect("a value"));
        }
        response
    })
    .await;
    let before_it = inbound(&folder, &compressed, "sign").await;
    let request = post("/echo", secured(&folder, "sign"));
    let answer = send(before_it.address(), request).await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY);

    let request = post_as("/echo", "multipart/related", ENVELOPE);
    assert_eq!(
        send(gateway.address(), request).await.status,
        StatusCode::UNSUPPORTED_MEDIA_TYPE
    );

    let mut request = post("/echo", ENVELOPE);
    let headers = request.headers_mut();
    headers.insert("content-encoding", "gzip".parse().expect("a value"));
    assert_eq!(
        send(gateway.address(), request).await.status,
        StatusCode::UNSUPPORTED_MEDIA_TYPE
    );

    let answer = send(gateway.address(), get("/echo")).await;
    assert_eq!(
        (answer.status, &answer.headers["allow"]),
        (
            StatusCode::METHOD_NOT_ALLOWED,
            &"POST".parse().expect("a value")
        )
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn more_messages_than_the_queue_holds_are_told_to_come_again() {
    let folder = Folder::with_keys();
    let backend = Backend::answering(|_| {
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::ACCEPTED;
        response
    })
    .await;
    let text = route(backend.address, &[("outbound", client("sign"))])
        .replace("LISTEN", "LISTEN\nlimits = { workers = 1, queue = 1 }");
    let gateway = folder.gateway(&text).await;
    let mut clients = JoinSet::new();
    for _ in 0..60 {
        let address = gateway.address();
        clients.spawn(async move { send(address, post("/echo", ENVELOPE)).await });
    }
    let mut busy = 0;
    while let Some(answer) = soon("all clients", clients.join_next()).await {
        let answer = answer.expect("no panic");
        match answer.status {
            StatusCode::SERVICE_UNAVAILABLE => {
                assert_eq!(answer.headers["retry-after"], "1");
                assert_eq!(reason(&answer.body), "The gateway is busy; try again later");
                busy += 1;
            }
            status => assert_eq!(status, StatusCode::ACCEPTED, "{}", answer.body),
        }
    }
    assert!(busy > 0, "the queue was never full");
}

#[test]
fn problems_of_keys_and_policies_are_reported_with_their_place() {
    let text = "listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/\"\nbackend = \"http://127.0.0.1:9/\"\n\
                [routes.inbound]\nsecurity = { mechanism = \"sign\", suite = \"Basic257\" }\n";
    let problems = soapstone_gateway::Config::from_text(text, Path::new("gateway.toml"), &|_| None)
        .expect_err("no such suite");
    let problems = problems.to_string();
    assert!(problems.starts_with("gateway.toml:6:42: "), "{problems}");
}

#[tokio::test]
async fn a_plain_message_with_a_dtd_is_refused_by_name_on_its_way_out() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let gateway = folder
        .gateway(&route(backend.address, &[("outbound", client("sign"))]))
        .await;
    let message = format!("<!DOCTYPE x [<!ENTITY e 'x'>]>{ENVELOPE}");
    let answer = send(gateway.address(), post("/echo", message)).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(
        answer.body.contains("<faultcode>soap:Client</faultcode>"),
        "{}",
        answer.body
    );
    assert!(backend.seen.try_recv().is_err());
    let metrics = metrics(&gateway).await;
    let refusal = "soapstone_refusals_total{route=\"/echo\",direction=\"outbound\",mechanism=\"sign\",reason=\"dtd\"} 1";
    assert!(metrics.lines().any(|line| line == refusal), "{metrics}");
}

#[tokio::test]
async fn a_body_that_does_not_arrive_in_time_is_a_fault() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let text = route(backend.address, &[("inbound", service("sign"))])
        .replace("LISTEN", "LISTEN\ntimeouts = { request = \"50ms\" }");
    let gateway = folder.gateway(&text).await;
    let mut stream = TcpStream::connect(gateway.address())
        .await
        .expect("it listens");
    let head = b"POST /echo HTTP/1.1\r\nHost: g\r\nContent-Type: text/xml\r\nContent-Length: 9\r\n\r\n<s:En";
    let answer = soon(
        "a fault",
        exchange(&mut stream, head, |text| text.ends_with("Envelope>")),
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
}

#[tokio::test]
async fn messages_beyond_the_room_for_all_are_told_to_come_again_and_leave_none_taken() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let text = route(backend.address, &[("inbound", service("sign"))])
        .replace("LISTEN", "LISTEN\nlimits = { buffered = 100 }");
    let gateway = folder.gateway(&text).await;
    let answer = send(gateway.address(), post("/echo", ENVELOPE)).await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    let metrics = metrics(&gateway).await;
    for line in [
        "soapstone_buffered_octets 0",
        "soapstone_failures_total{route=\"/echo\",reason=\"no-room\"} 1",
    ] {
        assert!(
            metrics.lines().any(|found| found == line),
            "expected {line} in\n{metrics}"
        );
    }
}
