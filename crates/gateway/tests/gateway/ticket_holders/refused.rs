//! Tickets and requests that get nothing: replayed, for others, of others, or ended.

use super::*;

#[test]
fn actors_that_the_presented_token_is_not_for_get_nothing() {
    run(
        "refused",
        "actors_that_the_presented_token_is_not_for_get_nothing",
    );
}

#[test]
fn a_ticket_asks_once() {
    run("refused", "a_ticket_asks_once");
}

#[test]
fn tickets_for_others_and_of_others_ask_for_nothing() {
    run(
        "refused",
        "tickets_for_others_and_of_others_ask_for_nothing",
    );
}

#[test]
fn a_ticket_names_no_key_and_begins_no_conversation() {
    run(
        "refused",
        "a_ticket_names_no_key_and_begins_no_conversation",
    );
}

#[test]
fn an_ended_ticket_asks_for_nothing_and_no_assertion_outlives_one() {
    let Some(realm) = realm("clockskew = 1") else {
        return;
    };
    let keytab = |name: &str| realm.folder().path(format!("{name}-EXAMPLE.COM.keytab"));
    realm.cache(ALICE, &keytab("alice"), &["-l", "60s"]);
    within(
        &realm,
        "refused",
        "an_ended_ticket_asks_for_nothing_and_no_assertion_outlives_one",
    );
}

mod body {
    use http::StatusCode;
    use jiff::{SignedDuration, Timestamp};

    use super::*;
    use crate::cancelled::targeted;
    use crate::support::Said;
    use crate::token_services::{AUDIENCE, ask, assertion, folder, request};

    /// The content of the Kerberos token.
    fn token_of(message: &str) -> &str {
        let from = message.find("<wsse:BinarySecurityToken").expect("a token");
        let rest = &message[from..];
        let start = rest.find('>').expect("a tag") + 1;
        &rest[start..rest.find("</wsse:BinarySecurityToken>").expect("its end")]
    }

    /// A right that nobody has, an assertion that was for another service, one about another
    /// principal, a form without a right, and an assertion beside the ticket.
    #[tokio::test]
    #[ignore = "runs in the process of a realm"]
    async fn actors_that_the_presented_token_is_not_for_get_nothing() {
        let (said, _listening) = Said::listen();
        let folder = folder();
        let gateway = folder.gateway(&services("", "")).await;
        for (usage, _) in USES {
            let alice = Requester::new(&folder, &gateway, ALICE, usage);
            let bob = Requester::new(&folder, &gateway, BOB, usage);
            let front = Requester::new(&folder, &gateway, FRONT, usage);
            let for_front = alice.gets(FRONT_AUDIENCE, "").await;
            let for_books = alice.gets(AUDIENCE, "").await;
            let of_bob = bob.gets(FRONT_AUDIENCE, "").await;
            let on_behalf_of = format!("<wst:OnBehalfOf>{for_front}</wst:OnBehalfOf>");
            for (actor, more) in [
                (&bob, act_as(&for_front)),
                (&alice, act_as(&for_front)),
                (&front, act_as(&for_books)),
                (&front, act_as(&of_bob)),
                (&front, on_behalf_of),
            ] {
                let wanted = request("Issue", AUDIENCE, "Bearer", &more);
                actor
                    .is_refused(&said, &wanted, "no delegation allows")
                    .await;
            }
            let forged = for_front.replace(&format!(">{ALICE}<"), &format!(">{BOB}<"));
            assert_ne!(forged, for_front);
            let wanted = request("Issue", AUDIENCE, "Bearer", &act_as(&forged));
            front
                .is_refused(&said, &wanted, "the token in the request is not believed")
                .await;
            // Who acts is not the subject, and prolongs nothing.
            let acting = front.gets(AUDIENCE, &act_as(&for_front)).await;
            let reason = "not issued here about the requester";
            front
                .is_refused(&said, &targeted("Renew", &acting), reason)
                .await;
            let message = bob.secured(&request("Issue", AUDIENCE, "Bearer", ""));
            let beside = String::from_utf8(message).expect("text");
            let end = "</wsse:Security>";
            assert!(beside.contains(end), "{beside}");
            let beside = beside.replacen(end, &format!("{for_front}{end}"), 1);
            let before = said.caused("element-unexpected");
            let answer = bob.sends(beside.into_bytes()).await;
            assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
            assert_eq!(said.caused("element-unexpected"), before + 1, "{said}");
        }
    }

    /// A copy of a request, and its ticket before another request (RFC 4120, 3.2.3).
    #[tokio::test]
    #[ignore = "runs in the process of a realm"]
    async fn a_ticket_asks_once() {
        let (said, _listening) = Said::listen();
        let folder = folder();
        let gateway = folder.gateway(&services("", "")).await;
        for (usage, _) in USES {
            let alice = Requester::new(&folder, &gateway, ALICE, usage);
            let once = alice.secured(&request("Issue", AUDIENCE, "Bearer", ""));
            let first = alice.sends(once.clone()).await;
            assert_eq!(first.status, StatusCode::OK, "{}", first.body);
            let text = String::from_utf8(once.clone()).expect("text");
            let mut copies = vec![once];
            if usage != "protect" {
                let other = text.replace(AUDIENCE, FRONT_AUDIENCE);
                assert_ne!(other, text);
                copies.push(other.into_bytes());
            }
            for copy in copies {
                let before = said.caused("replayed");
                let answer = alice.sends(copy).await;
                assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
                assert!(!answer.body.contains("Assertion"), "{}", answer.body);
                assert_eq!(said.caused("replayed"), before + 1, "{usage}\n{said}");
            }
            // At another route of the same principal.
            let other = Requester::new(&folder, &gateway, ALICE, "authenticate");
            let once = other.secured(&request("Issue", AUDIENCE, "Bearer", ""));
            let first = other.sends(once.clone()).await;
            assert_eq!(first.status, StatusCode::OK, "{}", first.body);
            let second = folder.gateway(&services("", "")).await;
            let before = said.caused("replayed");
            let answer = ask(&second, "/authenticate", once).await;
            assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
            assert_eq!(said.caused("replayed"), before + 1, "{said}");
        }
    }

    /// Wrong principal of the service, wrong realm of the client and of the service, another
    /// client's key, and a token that was changed.
    #[tokio::test]
    #[ignore = "runs in the process of a realm"]
    async fn tickets_for_others_and_of_others_ask_for_nothing() {
        let (said, _listening) = Said::listen();
        let folder = folder();
        let right = services("", "");
        let gateway = folder.gateway(&right).await;
        let elsewhere = SERVICE.replace("EXAMPLE.COM", "ELSEWHERE.COM");
        let abroad = right.replace(
            &format!("principal = \"{SERVICE}\""),
            &format!("principal = \"{elsewhere}\""),
        );
        let abroad = folder.gateway(&abroad).await;
        let foreign = services("", ", realms = [\"ELSEWHERE.COM\"]");
        let foreign = folder.gateway(&foreign).await;
        let strong = services("", ", enctypes = [\"aes256-cts-hmac-sha384-192\"]");
        let strong = folder.gateway(&strong).await;
        let wanted = request("Issue", AUDIENCE, "Bearer", "");
        for (usage, _) in USES {
            let other = tables(ALICE, usage, "").replace(SERVICE, OTHER);
            let other = Requester::with(&folder, &gateway, usage, &other);
            for requester in [
                other,
                Requester::new(&folder, &abroad, ALICE, usage),
                Requester::new(&folder, &foreign, ALICE, usage),
                Requester::new(&folder, &strong, ALICE, usage),
            ] {
                requester
                    .is_refused(&said, &wanted, " cause=\"kerberos-refused\" ")
                    .await;
            }
            let alice = Requester::new(&folder, &gateway, ALICE, usage);
            let message = String::from_utf8(alice.secured(&wanted)).expect("text");
            let token = token_of(&message);
            let at = token.len() - 40;
            let letter = if &token[at..=at] == "A" { "B" } else { "A" };
            let mut changed = token.to_owned();
            changed.replace_range(at..=at, letter);
            let before = said.caused("kerberos-refused");
            let answer = alice
                .sends(message.replace(token, &changed).into_bytes())
                .await;
            assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
            assert_eq!(said.caused("kerberos-refused"), before + 1, "{said}");
            if usage == "authenticate" {
                continue;
            }
            // The signature of alice under the ticket of bob.
            let bob = Requester::new(&folder, &gateway, BOB, usage);
            let of_bob = String::from_utf8(bob.secured(&wanted)).expect("text");
            let message = String::from_utf8(alice.secured(&wanted)).expect("text");
            let mixed = message.replace(token_of(&message), token_of(&of_bob));
            let answer = alice.sends(mixed.into_bytes()).await;
            assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
            assert!(!answer.body.contains("Assertion"), "{}", answer.body);
        }
    }

    /// A ticket has no public key, and what it shows owns no security context
    /// (WS-SecureConversation 1.4, 3).
    #[tokio::test]
    #[ignore = "runs in the process of a realm"]
    async fn a_ticket_names_no_key_and_begins_no_conversation() {
        let (said, _listening) = Said::listen();
        let folder = folder();
        let gateway = folder.gateway(&services("", "")).await;
        let sct = "<wst:TokenType>http://docs.oasis-open.org/ws-sx/ws-secureconversation/200512/sct</wst:TokenType>";
        for (usage, _) in USES {
            let alice = Requester::new(&folder, &gateway, ALICE, usage);
            let wanted = request("Issue", AUDIENCE, "PublicKey", "");
            alice
                .is_refused(
                    &said,
                    &wanted,
                    "the key that the token is to name did not sign the request",
                )
                .await;
            let wanted = request("Issue", AUDIENCE, "SymmetricKey", sct);
            let reason = "are not issued here";
            alice.is_refused(&said, &wanted, reason).await;
        }
    }

    #[tokio::test]
    #[ignore = "runs in the process of a realm"]
    async fn an_ended_ticket_asks_for_nothing_and_no_assertion_outlives_one() {
        let (said, _listening) = Said::listen();
        let folder = folder();
        let gateway = folder.gateway(&services("", "")).await;
        let cache = |name: &str| {
            let path = kdc::inside().expect("the process of a realm").join(name);
            format!("cache = \"{}\"", path.display())
        };
        let usage = "endorse";
        let of = |name: &str, cache: &str| {
            Requester::with(&folder, &gateway, usage, &tables(name, usage, cache))
        };
        let wanted = request("Issue", AUDIENCE, "Bearer", "");
        let before = Timestamp::now();
        let answer = of(ALICE, &cache("alice-EXAMPLE.COM")).asks(&wanted).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let token = assertion(&answer);
        let name = "NotOnOrAfter=\"";
        let mut ends = token.match_indices(name).map(|(at, _)| {
            let rest = &token[at + name.len()..];
            let end = &rest[..rest.find('"').expect("its end")];
            end.parse::<Timestamp>().expect("a time")
        });
        let first = ends.next().expect("an end");
        assert!(first <= before + SignedDuration::from_secs(61), "{token}");
        // Six seconds, and one of skew.
        let bob = cache("bob-of-six-seconds");
        let path = kdc::inside()
            .expect("the process of a realm")
            .join("bob-of-six-seconds");
        let known = ["-k", "-t", &keytab_of(BOB), "-l", "6s", "-c"];
        let mut kinit = std::process::Command::new("/usr/bin/kinit");
        let got = kinit.args(known).arg(path).arg(BOB).status();
        assert!(got.expect("kinit starts").success());
        let bob = of(BOB, &bob);
        let late = bob.secured(&wanted);
        tokio::time::sleep(std::time::Duration::from_secs(9)).await;
        let refused = bob.sends(late).await;
        assert_eq!(refused.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(said.caused("kerberos-refused"), 1, "{said}");
        assert_eq!(said.times("the ticket has ended"), 1, "{said}");
    }
}
