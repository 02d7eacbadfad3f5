//! Answers of a token service that grant something else than what was asked for.

use super::*;

/// An answer that a token service, or somebody on the way to it, may give in the place of the right
/// one, and what the log says of it.
#[tokio::test]
async fn what_was_not_asked_for_reaches_no_backend() {
    type Grant = fn(&str, &str, u32) -> String;
    fn made(method: &str, audience: &str, is_20: bool, made: &Made<'_>) -> String {
        let assertion = Assertion {
            is_20,
            method,
            holder: None,
            audience: Some(audience),
            attributes: &[],
        };
        assertion.made("alice", &keys::identity("CN=idp", keys::RSA), made)
    }
    let attacks: [(&str, Grant, &str); 8] = [
        (
            "another subject's key",
            |context, _, _| {
                let other = keys::identity("CN=other", keys::RSA);
                let assertion = Assertion {
                    is_20: true,
                    method: "holder-of-key",
                    holder: Some(other.certificate()),
                    audience: Some(AUDIENCE),
                    attributes: &[],
                };
                let idp = keys::identity("CN=idp", keys::RSA);
                answer(context, true, &assertion.about("alice", &idp))
            },
            "it names another key than the one that was shown",
        ),
        (
            "another audience",
            |context, _, _| {
                let other = "https://other.example";
                answer(
                    context,
                    true,
                    &made("bearer", other, true, &Made::default()),
                )
            },
            "https://other.example",
        ),
        (
            "another type",
            |context, _, _| {
                answer(
                    context,
                    true,
                    &made("bearer", AUDIENCE, false, &Made::default()),
                )
            },
            "an assertion of SAML 1.1",
        ),
        (
            "expired",
            |context, _, _| {
                let expired = Made {
                    begin: -900,
                    end: -300,
                    ..Made::default()
                };
                answer(context, true, &made("bearer", AUDIENCE, true, &expired))
            },
            "its confirmation ended",
        ),
        (
            "unsigned",
            |context, _, _| {
                let signed = made("bearer", AUDIENCE, true, &Made::default());
                let (start, rest) = signed.split_once("<ds:Signature ").expect("a signature");
                let (_, end) = rest.split_once("</ds:Signature>").expect("its end");
                answer(context, true, &format!("{start}{end}"))
            },
            "expected the issuer's signature",
        ),
        (
            "two tokens",
            |context, _, _| {
                let other = Made {
                    id: "_other",
                    ..Made::default()
                };
                let one = made("bearer", AUDIENCE, true, &Made::default());
                let other = made("bearer", AUDIENCE, true, &other);
                answer(context, true, &format!("{one}{other}"))
            },
            "expected one token",
        ),
        (
            "of an earlier request",
            |_, _, _| {
                answer(
                    "urn:uuid:earlier",
                    true,
                    &made("bearer", AUDIENCE, true, &Made::default()),
                )
            },
            "the answer is to another request",
        ),
        (
            "a refusal",
            |_, _, _| {
                format!(
                    "<s:Fault xmlns:s=\"{SOAP12}\"><s:Code><s:Value>s:Sender</s:Value><s:Subcode>\
                     <s:Value xmlns:wst=\"{WST}\">wst:RequestFailed</s:Value></s:Subcode></s:Code>\
                     <s:Reason><s:Text xml:lang=\"en\">secret reason</s:Text></s:Reason></s:Fault>"
                )
            },
            "the service refused",
        ),
    ];
    for (name, grant, expected) in attacks {
        let confirmation = match name {
            "another subject's key" => "holder-of-key",
            _ => "bearer",
        };
        let (said, _listening) = Said::listen();
        let folder = folder();
        let (mut backend, _) = service(&folder, confirmation).await;
        let sts = Sts::granting(&folder, grant).await;
        let text = file(backend.address, sts.backend.address, confirmation, "");
        let gateway = folder.gateway(&text).await;
        let answer = ask(&gateway).await;
        assert_eq!(
            answer.status,
            StatusCode::BAD_GATEWAY,
            "{name}: {}",
            answer.body
        );
        assert_eq!(
            reason(&answer.body),
            "The service behind this gateway gave no usable answer",
            "{name}"
        );
        assert_eq!(sts.asked(), 1, "{name}");
        assert_eq!(metric(&gateway, FAILED).await, 1, "{name}");
        assert!(backend.seen.try_recv().is_err(), "{name}");
        let log = said.to_string();
        assert!(
            log.contains("token-refused") && log.contains(expected),
            "{name}: {log}"
        );
    }
}

/// Everybody on the way can write an answer that nobody signed, or have a genuine one come with
/// another head.
#[tokio::test]
async fn answers_that_the_endpoint_does_not_accept_are_not_read() {
    let elsewhere = Backend::echo().await;
    let leads = format!("http://{}/issue", elsewhere.address);
    let right = answer("urn:a", true, &token(true, false, &Made::default()));
    let unsigned =
        format!("<s:Envelope xmlns:s=\"{SOAP12}\"><s:Body>{right}</s:Body></s:Envelope>");
    let cases = [
        ("unsigned", 200, unsigned.clone(), "token-refused"),
        ("redirect", 307, unsigned, "token-service-answer"),
        ("huge", 200, " ".repeat(2 << 20), "token-service-answer"),
        (
            "no SOAP",
            404,
            "nobody here".to_owned(),
            "token-service-answer",
        ),
    ];
    for (name, status, body, expected) in cases {
        let (said, _listening) = Said::listen();
        let folder = folder();
        let (mut backend, _) = service(&folder, "bearer").await;
        let leads = leads.clone();
        let sts = Backend::answering(move |_| {
            let mut response = Response::new(Full::new(Bytes::from(body.clone())));
            *response.status_mut() = StatusCode::from_u16(status).expect("a status");
            let headers = response.headers_mut();
            let media_type = "application/soap+xml; charset=utf-8";
            headers.insert("content-type", media_type.parse().expect("a value"));
            headers.insert("location", leads.parse().expect("a value"));
            response
        })
        .await;
        let text = file(backend.address, sts.address, "bearer", "");
        let gateway = folder.gateway(&text).await;
        let answer = ask(&gateway).await;
        assert_eq!(
            answer.status,
            StatusCode::BAD_GATEWAY,
            "{name}: {}",
            answer.body
        );
        assert!(backend.seen.try_recv().is_err(), "{name}");
        assert!(said.to_string().contains(expected), "{name}: {said}");
    }
    assert_eq!(elsewhere.connections.load(Ordering::Relaxed), 0);
}
