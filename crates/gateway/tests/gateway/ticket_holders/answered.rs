//! Assertions that a token service makes, renews, validates and cancels for the holders of tickets.

use super::*;

#[test]
fn the_assertion_of_a_ticket_is_about_its_principal() {
    run(
        "answered",
        "the_assertion_of_a_ticket_is_about_its_principal",
    );
}

#[test]
fn a_principal_renews_validates_and_cancels_what_is_its_own() {
    run(
        "answered",
        "a_principal_renews_validates_and_cancels_what_is_its_own",
    );
}

#[test]
fn rules_and_roles_name_principals() {
    run("answered", "rules_and_roles_name_principals");
}

#[test]
fn a_front_with_a_ticket_acts_for_the_principal_that_sent_its_assertion() {
    run(
        "answered",
        "a_front_with_a_ticket_acts_for_the_principal_that_sent_its_assertion",
    );
}

mod body {
    use http::StatusCode;
    use serde_json::Value;

    use super::*;
    use crate::cancelled::{shown, targeted};
    use crate::support::{Said, soon};
    use crate::token_services::{AUDIENCE, ask, assertion, folder, request};

    const SAML: &str = "http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1.1#SAMLV";

    fn token_type(version: &str) -> String {
        format!("<wst:TokenType>{SAML}{version}</wst:TokenType>")
    }

    /// Kerberos Token Profile 1.1, 3; WS-Trust 1.4, 4: in each use of the ticket, in both versions
    /// of SAML.
    #[tokio::test]
    #[ignore = "runs in the process of a realm"]
    async fn the_assertion_of_a_ticket_is_about_its_principal() {
        let folder = folder();
        let file = services("audit = { file = \"audit.jsonl\" }", "");
        let gateway = folder.gateway(&file).await;
        let mut books = Books::new(&folder).await;
        for (usage, _) in USES {
            let alice = Requester::new(&folder, &gateway, ALICE, usage);
            for (version, way) in [("2.0", "classes:Kerberos"), ("1.1", "urn:ietf:rfc:1510")] {
                let token = alice.gets(AUDIENCE, &token_type(version)).await;
                assert!(token.contains(way), "{token}");
                assert!(token.contains("nameid-format:kerberos"), "{token}");
                let subject = books.accepted(shown(&token)).await;
                assert_eq!(subject, ALICE, "{usage} {version}");
            }
            let symmetric = alice
                .asks(&request("Issue", AUDIENCE, "SymmetricKey", ""))
                .await;
            assert_eq!(symmetric.status, StatusCode::OK, "{}", symmetric.body);
            assert!(assertion(&symmetric).contains("EncryptedKey"));
            assert!(symmetric.body.contains("RequestedProofToken"));
        }
        let path = folder.path("audit.jsonl");
        let lines = soon("the lines", async {
            loop {
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                if text.lines().count() == 9 && text.ends_with('\n') {
                    return text;
                }
                tokio::task::yield_now().await;
            }
        });
        for line in lines.await.lines() {
            let line: Value = serde_json::from_str(line).expect("JSON");
            assert_eq!(line["sender"], ALICE);
            assert_eq!(line["proven_by"], "kerberos");
            assert_eq!(line["assertions"][0]["subject"], ALICE);
        }
    }

    /// WS-Trust 1.4, 5 to 7. Another principal, and a user of that name, are others.
    #[tokio::test]
    #[ignore = "runs in the process of a realm"]
    async fn a_principal_renews_validates_and_cancels_what_is_its_own() {
        let (said, _listening) = Said::listen();
        let folder = folder();
        let gateway = folder.gateway(&services("", "")).await;
        let mut books = Books::new(&folder).await;
        for (usage, _) in USES {
            let alice = Requester::new(&folder, &gateway, ALICE, usage);
            let bob = Requester::new(&folder, &gateway, BOB, usage);
            for version in ["2.0", "1.1"] {
                let token = alice.gets(AUDIENCE, &token_type(version)).await;
                let renewed = alice.asks(&targeted("Renew", &token)).await;
                assert_eq!(renewed.status, StatusCode::OK, "{}", renewed.body);
                let renewed = assertion(&renewed);
                assert_ne!(renewed, token);
                assert_eq!(books.accepted(shown(&renewed)).await, ALICE);
                for (operation, reason) in [
                    ("Renew", "it was not issued here about the requester"),
                    ("Cancel", "is neither the subject of the token"),
                ] {
                    let wanted = targeted(operation, &token);
                    bob.is_refused(&said, &wanted, reason).await;
                    let users = format!(
                        "users = [{{ name = \"{ALICE}\", password = \"secret\" }}]\nsecurity = {{ mechanism = \"username\" }}\n"
                    );
                    let before = said.times(reason);
                    let answer = ask(&gateway, "/users", folder.secured(&users, &wanted)).await;
                    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
                    assert_eq!(said.times(reason), before + 1, "{said}");
                }
                // Who shows an assertion is told whether it is good.
                for requester in [&alice, &bob] {
                    let valid = requester.asks(&targeted("Validate", &token)).await;
                    assert!(valid.body.contains("/status/valid<"), "{}", valid.body);
                }
                let forged = token.replace(">reader<", ">writer<");
                assert_ne!(forged, token);
                let invalid = alice.asks(&targeted("Validate", &forged)).await;
                assert!(
                    invalid.body.contains("/status/invalid<"),
                    "{}",
                    invalid.body
                );
                let cancelled = alice.asks(&targeted("Cancel", &token)).await;
                assert!(
                    cancelled.body.contains("RequestedTokenCancelled"),
                    "{}",
                    cancelled.body
                );
                let invalid = bob.asks(&targeted("Validate", &token)).await;
                assert!(
                    invalid.body.contains("/status/invalid<"),
                    "{}",
                    invalid.body
                );
                alice
                    .is_refused(&said, &targeted("Renew", &token), "it was cancelled")
                    .await;
            }
        }
    }

    #[tokio::test]
    #[ignore = "runs in the process of a realm"]
    async fn rules_and_roles_name_principals() {
        let folder = folder();
        let role = format!(
            "[[roles]]\nname = \"askers\"\nmembers = {{ principals = [\"{ALICE}\"] }}\nallow = [\"protect:*\", \"endorse:*\"]\n\
             [[roles]]\nname = \"others\"\nmembers = {{ principals = [\"{BOB}\"] }}\nallow = [\"authenticate:*\", \"users:*\"]\n"
        );
        let gateway = folder.gateway(&services(&role, "")).await;
        for (usage, allowed, other) in [
            ("protect", ALICE, BOB),
            ("endorse", ALICE, BOB),
            ("authenticate", BOB, ALICE),
        ] {
            let requester = Requester::new(&folder, &gateway, allowed, usage);
            let token = requester.gets(AUDIENCE, "").await;
            // What alice may be said to be nobody says of bob.
            assert_eq!(token.contains(">reader<"), allowed == ALICE, "{token}");
            let requester = Requester::new(&folder, &gateway, other, usage);
            let answer = requester
                .asks(&request("Issue", AUDIENCE, "Bearer", ""))
                .await;
            assert_eq!(answer.status, StatusCode::FORBIDDEN, "{}", answer.body);
            assert!(!answer.body.contains("Assertion"), "{}", answer.body);
        }
        // A service that accepts some clients alone asks no role.
        let clients = format!(", clients = [\"{BOB}\"]");
        let gateway = folder.gateway(&services("", &clients)).await;
        for (usage, _) in USES {
            let bob = Requester::new(&folder, &gateway, BOB, usage);
            bob.gets(AUDIENCE, "").await;
            let alice = Requester::new(&folder, &gateway, ALICE, usage);
            let answer = alice.asks(&request("Issue", AUDIENCE, "Bearer", "")).await;
            assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR, "{usage}");
        }
    }

    /// WS-Trust 1.4, 9.1: `wst14:ActAs`.
    #[tokio::test]
    #[ignore = "runs in the process of a realm"]
    async fn a_front_with_a_ticket_acts_for_the_principal_that_sent_its_assertion() {
        let folder = folder();
        let gateway = folder.gateway(&services("", "")).await;
        let mut books = Books::new(&folder).await;
        for (usage, _) in USES {
            let alice = Requester::new(&folder, &gateway, ALICE, usage);
            let front = Requester::new(&folder, &gateway, FRONT, usage);
            let user = alice.gets(FRONT_AUDIENCE, "").await;
            let token = front.gets(AUDIENCE, &act_as(&user)).await;
            assert!(token.contains("claims/actor"), "{token}");
            assert!(token.contains(&format!(">kerberos {FRONT}<")), "{token}");
            assert_eq!(books.accepted(shown(&token)).await, ALICE);
        }
    }
}
