//! Attacks on a registry over the wire.

use super::*;

/// Registry poisoning, over the wire.
#[tokio::test]
async fn another_certificate_turns_no_traffic_to_itself() {
    let folder = folder();
    let running = registry(&folder).await;
    let (own, mallory) = (client(&folder, "p1"), client(&folder, "mallory"));
    let address = running.address();
    waiting(move || {
        call(address, &own, &uddi::write_request(&business(HOME)));
        let evil = uddi::write_request(&business("http://203.0.113.66/"));
        let (_, status, body) = call(address, &mallory, &evil);
        assert_eq!(status, 500);
        assert!(body.contains("errCode=\"E_userMismatch\""), "{body}");
        assert_eq!(providers(&running)[0].access_point, HOME);
        // Without a signature there is not even that much to be heard.
        let (status, answer) = post(address, "/uddi", &envelope(&evil));
        let answer = String::from_utf8_lossy(&answer);
        assert_eq!(status, 500);
        assert!(answer.contains("wsse:InvalidSecurity"), "{answer}");
        assert!(!answer.contains("errCode"), "{answer}");
        // The other address has no ear for it.
        let inquiry = running.inquiry().expect("inquiries");
        let (_, answer) = post(inquiry, "/uddi", &envelope(&evil));
        let answer = String::from_utf8_lossy(&answer);
        assert!(
            answer.contains("errCode=\"E_authTokenRequired\""),
            "{answer}"
        );
        assert_eq!(providers(&running)[0].access_point, HOME);
    })
    .await;
}

#[tokio::test]
async fn a_replayed_message_is_refused() {
    let folder = folder();
    let running = registry(&folder).await;
    let (own, address) = (client(&folder, "p1"), running.address());
    let (running, old, found) = waiting(move || {
        let (old, ..) = call(address, &own, &uddi::write_request(&business(HOME)));
        call(
            address,
            &own,
            &uddi::write_request(&business("http://127.0.0.1:9002/books")),
        );
        let (status, answer) = post(address, "/uddi", &old);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert_eq!(status, 500);
        assert!(answer.contains("wsse:FailedAuthentication"), "{answer}");
        let found = providers(&running);
        (running, old, found)
    })
    .await;
    assert_eq!(found[0].access_point, "http://127.0.0.1:9002/books");
    // Nor does a restart forget it, whose memory of messages is gone.
    running.shutdown().await;
    let running = registry(&folder).await;
    let address = running.address();
    let found = waiting(move || {
        let (status, _) = post(address, "/uddi", &old);
        assert_eq!(status, 500);
        providers(&running)
    })
    .await;
    assert_eq!(found[0].access_point, "http://127.0.0.1:9002/books");
}

/// Signature wrapping: the signed request is moved aside, and another one takes its place.
#[tokio::test]
async fn a_wrapped_request_is_refused() {
    let folder = folder();
    let running = registry(&folder).await;
    let (own, address) = (client(&folder, "p1"), running.address());
    waiting(move || {
        let good = uddi::write_request(&business(HOME));
        let secured = own.secure(envelope(&good)).expect("it is secured");
        let text = String::from_utf8(secured.bytes).expect("text");
        let start = text.find("<s:Body").expect("a Body");
        let end = text.find("</s:Envelope>").expect("an end");
        let signed = &text[start..end];
        let evil = uddi::write_request(&business("http://203.0.113.66/"));
        let wrapped = format!(
            "{}<s:Body>{evil}</s:Body></s:Envelope>",
            text[..start].replace(
                "</s:Header>",
                &format!("<w:w xmlns:w=\"urn:w\">{signed}</w:w></s:Header>")
            )
        );
        assert!(wrapped.contains("urn:w"), "{wrapped}");
        let (status, answer) = post(address, "/uddi", wrapped.as_bytes());
        assert_eq!(status, 500);
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.contains("wsse:"), "{answer}");
        assert_eq!(providers(&running), []);
    })
    .await;
}

/// External entities and entity bombs (CVE-2013-1643 and its kind): a DTD is refused at its first
/// byte, on both addresses.
#[tokio::test]
async fn document_types_are_refused() {
    let folder = folder();
    let running = registry(&folder).await;
    waiting(move || {
        let inquiry = running.inquiry().expect("inquiries");
        for declared in [
            "<!ENTITY x SYSTEM \"file:///etc/passwd\">",
            "<!ENTITY a \"aaaaaaaaaa\"><!ENTITY x \"&a;&a;&a;&a;&a;&a;&a;&a;\">",
        ] {
            let find = "<find_service xmlns=\"urn:uddi-org:api_v3\"><name>&x;</name></find_service>";
            let message = [
                format!("<!DOCTYPE s [{declared}]>").as_bytes(),
                &envelope(find),
            ]
            .concat();
            for address in [running.address(), inquiry] {
                let (status, answer) = post(address, "/uddi", &message);
                let answer = String::from_utf8_lossy(&answer);
                assert_eq!(status, 500, "{answer}");
                assert!(!answer.contains("root:"), "{answer}");
                assert!(!answer.contains("serviceList"), "{answer}");
            }
        }
        // A bomb of elements, and one of bytes.
        let deep = "<a>".repeat(100_000);
        let (status, _) = post(inquiry, "/uddi", &envelope(&deep));
        assert_eq!(status, 500);
        let head = "POST /uddi HTTP/1.1\r\nhost: r\r\ncontent-type: text/xml\r\ncontent-length: 99999999\r\nconnection: close\r\n\r\n";
        assert_eq!(exchange(inquiry, head.as_bytes()).0, 413);
        // A bomb of brackets.
        let (status, _) = post(inquiry, "/json", "[".repeat(500_000).as_bytes());
        assert_eq!(status, 400);
    })
    .await;
}
