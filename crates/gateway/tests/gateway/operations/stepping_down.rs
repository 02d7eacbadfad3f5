//! Attempts to have an operation with less than it demands.

use http::StatusCode;

use super::bank::*;
use crate::support::{Said, reason, send};

/// SOAPAction spoofing: what an operation demands is avoided by naming another one.
#[tokio::test]
async fn the_body_of_a_strong_operation_is_refused_under_the_action_of_a_weak_one() {
    let mut site = Site::new(&bank(GCM), a_bank(None).await).await;
    let invalid = "wsse:InvalidSecurity";
    let plain = envelope_with("", &element("Pay"));
    site.refuses(&["urn:bank:Hello"], &plain, "operation-mismatch", invalid)
        .await;
    // A service that listens to the action, and not to the Body, would do the same.
    let hello = envelope("Hello");
    site.refuses(&["urn:bank:Pay"], &hello, "operation-mismatch", invalid)
        .await;
    // Only one of two actions would be compared.
    for actions in [
        ["urn:bank:Hello", "urn:bank:Pay"],
        ["urn:bank:Pay", "urn:bank:Hello"],
    ] {
        site.refuses(&actions, &hello, "operation-mismatch", invalid)
            .await;
    }
    let mut twofold = request(&["urn:bank:Pay"], hello);
    let value = "text/xml; action=\"urn:bank:Hello\"";
    twofold
        .headers_mut()
        .insert("content-type", value.parse().expect("a value"));
    let answer = send(site.service.address(), twofold).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    // What was encrypted for another operation is cipher text under the action of one that encrypts
    // nothing.
    let secret = site.secured_as("Pay", &envelope("Pay"));
    site.refuses(&["urn:bank:Hello"], &secret, "operation-mismatch", invalid)
        .await;
    // Without its own agreement it is not enough.
    site.refuses(&["urn:bank:Pay"], &plain, "security-missing", invalid)
        .await;
}

/// The Body is cipher text until the plan of the action that was said has opened it.
#[tokio::test]
async fn an_encrypted_body_must_be_of_the_operation_whose_plan_opened_it() {
    for suite in [GCM, CBC] {
        let mut site = Site::new(&bank(suite), a_bank(None).await).await;
        // Signed and encrypted as `Pay`, which leaves the action of `Transfer` unsigned.
        let transfer = envelope_with("", &element("Transfer"));
        let two = format!("{}{}", element("Pay"), element("Transfer"));
        for (plain, cause) in [
            (transfer, "operation-mismatch"),
            (envelope("Hello"), "operation-mismatch"),
            // Nothing that the policy knows, and two things at once.
            (envelope("Steal"), "operation-unknown"),
            (envelope_with("", &two), "operation-unclear"),
        ] {
            let message = site.secured_as("Pay", &plain);
            site.hides(&["urn:bank:Pay"], &message, cause).await;
        }
    }
}

#[tokio::test]
async fn an_encrypted_body_without_an_action_is_refused() {
    let mut site = Site::new(&bank(GCM), a_bank(None).await).await;
    let message = site.secured_as("Pay", &envelope("Pay"));
    for actions in [&[][..], &[""]] {
        site.refuses(actions, &message, "operation-unclear", "soap:Client")
            .await;
    }
    assert_eq!(
        site.send(&["urn:bank:Pay"], &message).await.status,
        StatusCode::OK
    );
}

#[tokio::test]
async fn a_message_of_no_operation_is_refused_on_both_ways() {
    let mut site = Site::new(&bank(GCM), a_bank(None).await).await;
    let steal = envelope("Steal");
    for (actions, message) in [
        (&[][..], &steal),
        (&["urn:bank:Hello"], &steal),
        // WS-I Basic Profile 1.1, R2744: the action is that of the description.
        (&["urn:bank:hello"], &envelope("Hello")),
        (&["urn:bank:Hello, urn:bank:Pay"], &envelope("Hello")),
    ] {
        site.refuses(actions, message, "operation-unknown", "soap:Client")
            .await;
    }
    let client = site.client().await;
    for (message, expected) in [
        (
            steal,
            "The Body holds no operation that the policy of the service knows",
        ),
        (
            envelope_with("", &format!("{}{}", element("Pay"), element("Ask"))),
            "Several operations fit the message, and their policies differ: say by SOAPAction which is meant",
        ),
    ] {
        let answer = send(client.address(), request(&[], message)).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(answer.body.contains(">soap:Client<"), "{}", answer.body);
        assert_eq!(reason(&answer.body), expected);
    }
    let unknown = "soapstone_failures_total{route=\"/bank\",reason=\"operation-unknown\"}";
    assert_eq!(count(&client, unknown).await, 1);
    assert!(site.backend.seen.try_recv().is_err());
}

#[tokio::test]
async fn an_answer_that_another_operation_would_give_is_refused() {
    for (operation, always) in [("Ask", "Pay"), ("Pay", "Hello"), ("Hello", "Pay")] {
        let site = Site::new(&bank(GCM), a_bank(Some(always)).await).await;
        let client = site.client().await;
        let action = format!("urn:bank:{operation}");
        let (said, listening) = Said::listen();
        let answer = send(client.address(), request(&[&action], envelope(operation))).await;
        drop(listening);
        assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{}", answer.body);
        assert!(!answer.body.contains(always), "{}", answer.body);
        // The answer to `Pay` is found out after it was deciphered.
        let name = match operation {
            "Pay" => "decryption-failed",
            _ => "operation-mismatch",
        };
        let line = format!(
            "soapstone_refusals_total{{route=\"/bank\",direction=\"outbound\",mechanism=\"by-operation\",reason=\"{name}\"}}"
        );
        assert_eq!(count(&client, &line).await, 1, "{}", metrics(&client).await);
        assert_eq!(said.caused("operation-mismatch"), 1, "{said}");
    }
}

#[tokio::test]
async fn the_action_of_addressing_must_be_that_of_the_operation() {
    let mut site = Site::new(&bank(GCM), a_bank(None).await).await;
    let action = |value: &str| format!("<a:Action xmlns:a=\"{WSA}\">{value}</a:Action>");
    let august = "<a:Action xmlns:a=\"http://schemas.xmlsoap.org/ws/2004/08/addressing\">urn:bank:Pay</a:Action>";
    let (hello, invalid) = (element("Hello"), "wsse:InvalidSecurity");
    for header in [
        action("urn:bank:Pay"),
        // A second one, for a reader who takes the last.
        format!("{}{}", action("urn:bank:Hello"), action("urn:bank:Pay")),
        format!("{}{august}", action("urn:bank:Hello")),
    ] {
        for actions in [&[][..], &["urn:bank:Hello"]] {
            let message = envelope_with(&header, &hello);
            site.refuses(actions, &message, "operation-mismatch", invalid)
                .await;
        }
    }
    // A proven one: `Transfer` signs it. Its Body is not that of the action.
    let transfer = envelope_with(&action("urn:bank:Transfer"), &element("Pay"));
    for actions in [&[][..], &["urn:bank:Transfer"]] {
        let message = site.secured_as("Transfer", &transfer);
        site.hides(actions, &message, "operation-mismatch").await;
    }
    // The default pattern is right without being said (WS-Addressing 1.0 Metadata, 4.4.4).
    let message = envelope_with(&action("urn:bank:Bank:HelloRequest"), &hello);
    let answer = site.send(&["urn:bank:Hello"], &message).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
}

/// McIntosh and Austel, 2005, between operations.
#[tokio::test]
async fn a_signed_body_moved_aside_is_no_body_of_any_operation() {
    let mut site = Site::new(&bank(GCM), a_bank(None).await).await;
    let message = site.secured_as("Ask", &envelope("Ask"));
    let start = message.find("<s:Body").expect("it has a Body");
    let end = message.find("</s:Envelope>").expect("it ends");
    let body = &message[start..end];
    let with_body = |other: &str| {
        let around = format!("<w:Aside xmlns:w=\"urn:w\">{body}</w:Aside></s:Header>");
        let moved = message.replacen(body, other, 1);
        moved.replacen("</s:Header>", &around, 1)
    };
    for operation in ["Ask", "Pay", "Hello"] {
        let other = format!("<s:Body>{}</s:Body>", element(operation));
        let moved = with_body(&other);
        let action = format!("urn:bank:{operation}");
        let name = match operation {
            "Ask" => "unsigned",
            "Pay" => "part-missing",
            _ => "security-unexpected",
        };
        let answer = site.send(&[&action], &moved).await;
        assert_eq!(
            answer.status,
            StatusCode::INTERNAL_SERVER_ERROR,
            "{name}: {}",
            answer.body
        );
        // Under the action of the signed Body it is another operation's.
        if operation != "Ask" {
            let invalid = "wsse:InvalidSecurity";
            site.refuses(&["urn:bank:Ask"], &moved, "operation-mismatch", invalid)
                .await;
        }
    }
    // One operation beside the other in a signed Body.
    let both = format!("{}{}", element("Hello"), element("Pay"));
    let message = site.secured_as(
        "Ask",
        &envelope_with("<b:Session xmlns:b=\"urn:bank\"/>", &both),
    );
    for action in ["urn:bank:Ask", "urn:bank:Hello"] {
        site.refuses(&[action], &message, "operation-unclear", "soap:Client")
            .await;
    }
    assert!(site.backend.seen.try_recv().is_err());
}

/// Cipher text has one try: the mark is taken once the signature has proven the message, and before
/// anything is deciphered.
#[tokio::test]
async fn replays_are_noticed_across_operations_and_after_a_refusal() {
    let mut site = Site::new(&bank(GCM), a_bank(None).await).await;
    let replayed = ("replayed", "wsse:FailedAuthentication");
    let message = site.secured_as("Pay", &envelope("Pay"));
    // Nobody keeps a message from its service by sending a changed copy first: a copy that its
    // signature does not prove leaves no mark.
    let digest = "<ds:DigestValue>";
    let at = message.find(digest).expect("it is signed") + digest.len();
    let other = if message.as_bytes()[at] == b'A' {
        "B"
    } else {
        "A"
    };
    let changed = format!("{}{other}{}", &message[..at], &message[at + 1..]);
    let (name, code) = ("signature-mismatch", "wsse:FailedCheck");
    site.refuses(&["urn:bank:Pay"], &changed, name, code).await;
    let answer = site.send(&["urn:bank:Pay"], &message).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    site.backend.seen.recv().await.expect("it arrived");
    for action in ["urn:bank:Pay", "urn:bank:Transfer"] {
        site.refuses(&[action], &message, replayed.0, replayed.1)
            .await;
    }
    // A copy under another action is refused, and none is deciphered afterwards.
    let message = site.secured_as("Pay", &envelope("Pay"));
    site.hides(&["urn:bank:Transfer"], &message, "operation-mismatch")
        .await;
    for action in ["urn:bank:Transfer", "urn:bank:Pay"] {
        site.refuses(&[action], &message, replayed.0, replayed.1)
            .await;
    }
}

/// Stacks of that time, and CXF today, read the drafts of WS-Addressing, too.
#[tokio::test]
async fn the_action_of_a_draft_of_addressing_must_be_that_of_the_operation() {
    let mut site = Site::new(&bank(GCM), a_bank(None).await).await;
    for draft in [
        "schemas.xmlsoap.org/ws/2003/03",
        "schemas.xmlsoap.org/ws/2004/03",
        "www.w3.org/2004/12",
        "www.w3.org/2005/02",
        "www.w3.org/2005/03",
    ] {
        let action = |operation: &str| {
            let namespace = format!("http://{draft}/addressing");
            format!("<a:Action xmlns:a=\"{namespace}\">urn:bank:{operation}</a:Action>")
        };
        let message = envelope_with(&action("Pay"), &element("Hello"));
        let invalid = "wsse:InvalidSecurity";
        site.refuses(&["urn:bank:Hello"], &message, "operation-mismatch", invalid)
            .await;
        let message = envelope_with(&action("Hello"), &element("Hello"));
        let answer = site.send(&["urn:bank:Hello"], &message).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        site.backend.seen.try_recv().expect("it arrived");
    }
}
