//! Answers that prove less than requests, and faults that nobody secured: what reaches the client,
//! the log and the metrics.
//!
//! Cases `clients/04-answers-protected-otherwise`, `clients/05-fault-text-lost`,
//! `sectors/01-answers-not-secured`.

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use soapstone_gateway::{Config, Running};

use crate::support::{
    Answer, Backend, ENVELOPE, ENVELOPE_12, Folder, Said, get, post_as, reason, send,
};

const TABLES: &str = "identity = { key = \"client.key.pem\", certificate = \"client.cert.pem\" }\n\
    peer = { certificate = \"server.cert.pem\" }\ntrust = { anchors = [\"ca.cert.pem\"], subjects = [\"CN=server\"] }\n";

/// Of a service that signs nothing: a fault of its business.
const FAULT: &str = "<s:Fault><faultcode>s:Server</faultcode><faultstring>sold out</faultstring>\
    <detail><e:code xmlns:e=\"urn:shop\">E42</e:code></detail></s:Fault>";

const FAULT_12: &str = "<s:Fault><s:Code><s:Value>s:Sender</s:Value></s:Code><s:Reason>\
    <s:Text xml:lang=\"en\">sold out</s:Text></s:Reason><s:Detail><e:code xmlns:e=\"urn:shop\">E42</e:code></s:Detail></s:Fault>";

const HELLO: &str = "<e:echo xmlns:e=\"urn:echo\">hello</e:echo>";

/// A service that answers with this, whatever it is asked.
async fn service(status: StatusCode, envelope: &str, media_type: &'static str) -> Backend {
    let body = Bytes::from(envelope.to_owned());
    Backend::answering(move |_| {
        let mut response = Response::new(Full::new(body.clone()));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert("content-type", media_type.parse().expect("a value"));
        response
    })
    .await
}

fn text(backend: &str, answers: &str) -> String {
    format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"{backend}/echo\"\n[routes.outbound]\n{TABLES}\
         answers = {{ {answers} }}\nsecurity = {{ mechanism = \"sign\" }}\n"
    )
}

async fn client(folder: &Folder, backend: &Backend, answers: &str) -> Running {
    let answers = format!("{answers}, without_tls = true");
    let backend = format!("http://{}", backend.address);
    folder.gateway(&text(&backend, &answers)).await
}

async fn metric(gateway: &Running, of: &str) -> String {
    let metrics = send(gateway.address(), get("/metrics")).await.body;
    let mut lines = metrics.lines();
    let line = lines.find(|line| line.contains(of) && !line.starts_with('#'));
    let value = line.and_then(|line| line.rsplit(' ').next());
    value.unwrap_or("none").to_owned()
}

async fn asked(gateway: &Running, envelope: &'static str, media_type: &'static str) -> Answer {
    send(gateway.address(), post_as("/echo", media_type, envelope)).await
}

#[tokio::test]
async fn plain_answers_to_signed_requests_reach_the_client_and_are_counted() {
    let folder = Folder::with_keys();
    for (envelope, media_type) in [
        (ENVELOPE, "text/xml; charset=utf-8"),
        (ENVELOPE_12, "application/soap+xml; charset=utf-8"),
    ] {
        let backend = service(StatusCode::OK, envelope, media_type).await;
        for (answers, status) in [
            ("mechanism = \"plain\"", StatusCode::OK),
            ("mechanism = \"timestamp\"", StatusCode::OK),
            ("mechanism = \"sign\"", StatusCode::BAD_GATEWAY),
        ] {
            let gateway = client(&folder, &backend, answers).await;
            let answer = asked(&gateway, envelope, media_type).await;
            assert_eq!(answer.status, status, "{answers}: {}", answer.body);
            let counted = metric(&gateway, "soapstone_unsecured_answers_total{").await;
            match status {
                StatusCode::OK => {
                    assert!(answer.body.contains(HELLO), "{}", answer.body);
                    assert_eq!(counted, "1", "{answers}");
                }
                _ => assert_eq!(counted, "none", "{answers}"),
            }
        }
    }
}

#[tokio::test]
async fn an_operator_reads_what_an_unsecured_fault_says() {
    let folder = Folder::with_keys();
    let fault = ENVELOPE.replace(HELLO, FAULT);
    let backend = service(StatusCode::INTERNAL_SERVER_ERROR, &fault, "text/xml").await;
    for answers in [
        "unsecured_faults = \"code\"",
        "unsecured_faults = \"reason\"",
        "unsecured_faults = \"all\"",
        "mechanism = \"plain\"",
    ] {
        let (log, _listening) = Said::listen();
        let gateway = client(&folder, &backend, answers).await;
        let answer = asked(&gateway, ENVELOPE, "text/xml").await;
        assert_ne!(answer.status, StatusCode::OK);
        assert_eq!(
            log.times("Server: sold out; detail: code: E42"),
            1,
            "{answers}"
        );
    }
}

/// Metro refuses a signature over the session key.
#[tokio::test]
async fn an_operator_is_told_that_the_peer_may_refuse_a_signed_session_key() {
    let folder = Folder::with_keys();
    let fault = ENVELOPE.replace(HELLO, FAULT);
    let backend = service(StatusCode::INTERNAL_SERVER_ERROR, &fault, "text/xml").await;
    let long = ENVELOPE.replace("hello", &"hello ".repeat(20));
    let short = ENVELOPE.to_owned();
    for (security, request, times) in [
        ("\"encrypt-sign\"", &short, 1),
        ("\"encrypt-sign\"", &long, 0),
        ("\"sign-encrypt\"", &short, 0),
        (
            "\"encrypt-sign\", encryption = { sign_session_key = false }",
            &short,
            0,
        ),
    ] {
        for told in ["code", "all"] {
            let (log, _listening) = Said::listen();
            let text = format!(
                "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.outbound]\n{TABLES}\
                 answers = {{ unsecured_faults = \"{told}\", without_tls = true }}\n\
                 security = {{ mechanism = {security}, suite = \"Basic256\" }}\n",
                backend.address
            );
            let gateway = folder.gateway(&text).await;
            let answer = send(
                gateway.address(),
                post_as("/echo", "text/xml", request.clone()),
            )
            .await;
            assert_ne!(answer.status, StatusCode::OK);
            assert_eq!(
                log.times("`encryption = { sign_session_key = false }`"),
                times,
                "{told}"
            );
        }
    }
}

#[tokio::test]
async fn a_client_is_told_as_much_of_an_unsecured_fault_as_the_operator_chose() {
    let folder = Folder::with_keys();
    for (envelope, plain, fault, media_type, code, status) in [
        (
            ENVELOPE.replace(HELLO, FAULT),
            ENVELOPE,
            FAULT,
            "text/xml; charset=utf-8",
            "Server",
            StatusCode::INTERNAL_SERVER_ERROR,
        ),
        (
            ENVELOPE_12.replace(HELLO, FAULT_12),
            ENVELOPE_12,
            FAULT_12,
            "application/soap+xml; charset=utf-8",
            "Sender",
            StatusCode::BAD_REQUEST,
        ),
    ] {
        // A service that says 200 with its faults is heard where all of them are.
        for given in [status, StatusCode::OK] {
            let backend = service(given, &envelope, media_type).await;
            let told = format!(
                "The service behind this gateway refused the message with an unsecured fault: {code}"
            );
            for (answers, expected) in [
                ("code", told.clone()),
                ("reason", format!("{told}: sold out")),
            ] {
                let gateway = client(
                    &folder,
                    &backend,
                    &format!("unsecured_faults = \"{answers}\""),
                )
                .await;
                let answer = asked(&gateway, plain, media_type).await;
                assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{answers}");
                if given == status {
                    assert!(
                        answer.body.contains(&format!("{expected}<")),
                        "{}",
                        answer.body
                    );
                }
                assert!(!answer.body.contains("E42"), "{}", answer.body);
            }
            let gateway = client(&folder, &backend, "unsecured_faults = \"all\"").await;
            let answer = asked(&gateway, plain, media_type).await;
            assert_eq!(answer.status, status, "{}", answer.body);
            assert_eq!(answer.headers["content-type"], media_type);
            for part in ["sold out", "E42", &fault[fault.len() - 10..]] {
                assert!(answer.body.contains(part), "{}", answer.body);
            }
            let of = "soapstone_unsecured_answers_total{route=\"/echo\",direction=\"outbound\"";
            assert_eq!(metric(&gateway, of).await, "1");
        }
    }
}

/// Somebody on the way who takes the signature off an answer, or changes it, makes no fault of it.
#[tokio::test]
async fn nothing_but_a_fault_without_security_is_passed_on_unsecured() {
    let folder = Folder::with_keys();
    let security = "<s:Header><w:Security xmlns:w=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\">\
        <d:Signature xmlns:d=\"http://www.w3.org/2000/09/xmldsig#\"/></w:Security></s:Header><s:Body>";
    let fault = ENVELOPE.replace(HELLO, FAULT);
    for envelope in [
        ENVELOPE.to_owned(),
        ENVELOPE.replace(HELLO, ""),
        ENVELOPE.replace(
            HELLO,
            &format!("<e:echo xmlns:e=\"urn:echo\">{FAULT}</e:echo>"),
        ),
        ENVELOPE.replace(HELLO, &format!("{HELLO}{FAULT}")),
        fault.replace("<s:Body>", security),
    ] {
        for status in [StatusCode::OK, StatusCode::INTERNAL_SERVER_ERROR] {
            let backend = service(status, &envelope, "text/xml").await;
            let gateway = client(&folder, &backend, "unsecured_faults = \"all\"").await;
            let answer = asked(&gateway, ENVELOPE, "text/xml").await;
            assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{envelope}");
            for part in ["hello", "sold out", "E42"] {
                assert!(!answer.body.contains(part), "{}", answer.body);
            }
        }
    }
}

#[tokio::test]
async fn answers_of_a_service_get_what_its_file_says() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let side = "identity = { key = \"server.key.pem\", certificate = \"server.cert.pem\" }\n\
        peer = { certificate = \"client.cert.pem\" }\ntrust = { anchors = [\"ca.cert.pem\"] }\n";
    for (answers, kind) in [("plain", "plain"), ("timestamp", "timestamp")] {
        let service = folder
            .gateway(&format!(
                "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.inbound]\n{side}\
                 answers = {{ mechanism = \"{answers}\", without_tls = true }}\nsecurity = {{ mechanism = \"sign\" }}\n",
                backend.address
            ))
            .await;
        let through = folder
            .gateway(&text(
                &format!("http://{}", service.address()),
                &format!("mechanism = \"{answers}\", without_tls = true"),
            ))
            .await;
        let answer = asked(&through, ENVELOPE, "text/xml").await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        for (gateway, direction) in [(&service, "inbound"), (&through, "outbound")] {
            let of = format!(
                "soapstone_unsecured_answers_total{{route=\"/echo\",direction=\"{direction}\",mechanism=\"sign\",kind=\"{kind}\"}}"
            );
            assert_eq!(metric(gateway, &of).await, "1", "{of}");
        }
        // Requests prove what they did.
        let refused = asked(&service, ENVELOPE, "text/xml").await;
        assert_eq!(refused.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(
            reason(&refused.body),
            "An error was discovered processing the &lt;wsse:Security&gt; header."
        );
    }
}

/// What a file says of answers, as `--check` and the start tell it.
#[test]
fn weaker_answers_want_tls_and_are_warned_of() {
    let folder = Folder::with_keys();
    let read = |backend: &str, answers: &str| {
        let text = text(backend, answers).replace("LISTEN", "listen = \"127.0.0.1:0\"");
        Config::from_text(&text, &folder.path("gateway.toml"), &|_| None)
    };
    let names = |config: Config| -> Vec<&'static str> {
        let warnings = config.warnings().into_iter().map(|warning| warning.name);
        warnings.filter(|name| *name != "readable-secret").collect()
    };
    for (answers, expected) in [
        ("mechanism = \"plain\"", "weaker-answers"),
        ("mechanism = \"timestamp\"", "weaker-answers"),
        ("mechanism = \"encrypt\"", "weaker-answers"),
        ("unsecured_faults = \"reason\"", "unsecured-faults"),
        ("unsecured_faults = \"all\"", "unsecured-faults"),
    ] {
        let problems = read("http://127.0.0.1:9", answers).expect_err(answers);
        assert!(
            problems.to_string().contains(
                "answers prove less than requests, and no TLS protects them: everybody on the way could write them"
            ),
            "{answers}: {problems}"
        );
        let config = read("https://127.0.0.1:9", answers).expect(answers);
        assert_eq!(names(config), [expected], "{answers}");
        let accepted = format!("{answers}, without_tls = true");
        let config = read("http://127.0.0.1:9", &accepted).expect(answers);
        assert_eq!(names(config), [expected], "{answers}");
    }
    for answers in [
        "mechanism = \"sign-encrypt\"",
        "unsecured_faults = \"code\"",
    ] {
        let config = read("http://127.0.0.1:9", answers).expect(answers);
        assert_eq!(names(config), [""; 0], "{answers}");
    }
}
