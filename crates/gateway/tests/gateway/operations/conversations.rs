//! Operations that share a conversation.

use http::StatusCode;
use soapstone_gateway::Config;

use super::bank::*;
use crate::support::{Folder, send};

/// A conversation, begun with certificates.
fn conversing() -> String {
    let inner = format!("{}{SECRET}", asymmetric(CBC));
    let addressing = "<m:Addressing xmlns:m='http://www.w3.org/2007/05/addressing/metadata'><wsp:Policy/></m:Addressing>";
    format!(
        "{addressing}<sp:SymmetricBinding><wsp:Policy><sp:ProtectionToken><wsp:Policy>\
         <sp:SecureConversationToken sp:IncludeToken='{SP}/IncludeToken/AlwaysToRecipient'><wsp:Policy><sp:RequireDerivedKeys/>\
         <sp:BootstrapPolicy><wsp:Policy>{inner}</wsp:Policy></sp:BootstrapPolicy></wsp:Policy></sp:SecureConversationToken></wsp:Policy>\
         </sp:ProtectionToken><sp:AlgorithmSuite><wsp:Policy>{CBC}</wsp:Policy></sp:AlgorithmSuite><sp:IncludeTimestamp/></wsp:Policy>\
         </sp:SymmetricBinding><sp:Trust13><wsp:Policy><sp:RequireClientEntropy/><sp:RequireServerEntropy/></wsp:Policy></sp:Trust13>"
    )
}

/// A bank whose operations share a conversation; each says which parts.
fn conversation(operations: &[(&str, String)]) -> String {
    bank_with(
        &format!("<wsp:Policy>{}</wsp:Policy>", conversing()),
        operations,
    )
}

#[tokio::test]
async fn operations_share_a_conversation_and_not_its_demands() {
    let operations = [("Pay", SECRET.to_owned()), ("Ask", SIGNED.to_owned())];
    let description = conversation(&operations);
    let mut site = Site::new(&description, a_bank(None).await).await;
    let client = site.client().await;
    for operation in ["Pay", "Ask", "Pay", "Ask"] {
        for actions in [&[][..], &[&*format!("urn:bank:{operation}")]] {
            let answer = send(client.address(), request(actions, envelope(operation))).await;
            assert_eq!(
                answer.status,
                StatusCode::OK,
                "{operation}: {}",
                answer.body
            );
            let seen = site.backend.seen.recv().await.expect("it arrived");
            let body = String::from_utf8(seen.body.to_vec()).expect("it is UTF-8");
            assert!(body.contains(&element(operation)), "{body}");
            assert!(!body.contains("addressing"), "{body}");
        }
    }
    let established = "soapstone_handshakes_total{route=\"/bank\",outcome=\"established\"}";
    assert_eq!(count(&client, established).await, 1);
    // What only asks for a token does not come as an operation.
    let plain = envelope("Ask");
    let answer = site.send(&["urn:bank:Ask"], &plain).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(site.backend.seen.try_recv().is_err());
    client.shutdown().await;
    let cancelled = "soapstone_contexts_total{route=\"/bank\",event=\"cancelled\"}";
    assert_eq!(count(&site.service, cancelled).await, 1);
}

/// A client that reads the policy in another way: the strong operation has the demands of the weak
/// one.
#[tokio::test]
async fn a_conversation_does_not_let_an_operation_come_with_less_than_it_demands() {
    let operations = [("Pay", SECRET.to_owned()), ("Ask", SIGNED.to_owned())];
    let mut site = Site::new(&conversation(&operations), a_bank(None).await).await;
    let lenient = [("Pay", SIGNED.to_owned()), ("Ask", SECRET.to_owned())];
    site.policy = site.folder.write("lenient.wsdl", conversation(&lenient));
    let client = site.client().await;
    for (operation, action) in [
        ("Pay", "urn:bank:Pay"),
        ("Pay", ""),
        ("Ask", "urn:bank:Ask"),
    ] {
        let answer = send(client.address(), request(&[action], envelope(operation))).await;
        assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{}", answer.body);
        assert!(site.backend.seen.try_recv().is_err());
    }
    let held = "soapstone_conversations{route=\"/bank\",direction=\"inbound\"}";
    assert_eq!(count(&site.service, held).await, 1);
}

#[tokio::test]
async fn conversations_that_begin_in_different_ways_are_a_mistake_of_the_configuration() {
    let folder = Folder::with_keys();
    let operations = [
        ("Pay", format!("{}{SECRET}", conversing())),
        ("Ask", format!("{}{SIGNED}", asymmetric(CBC))),
    ];
    let policy = folder.write("bank.wsdl", bank_with("", &operations));
    let side = tables("server", "client", &policy, "");
    let file =
        route("inbound", "http://127.0.0.1:9", &side).replace("LISTEN", "listen = \"127.0.0.1:0\"");
    let problems = Config::from_text(&file, &folder.path("gateway.toml"), &|_| None)
        .expect_err("it is a mistake");
    let message = &problems.0[0].message;
    assert!(
        message.contains("do not share their conversations"),
        "{message}"
    );
}
