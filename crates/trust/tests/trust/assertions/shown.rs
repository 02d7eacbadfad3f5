//! Requesters that an assertion or a Kerberos token shows: what they get, and what they are not
//! taken for.

use jiff::{SignedDuration, Timestamp};
use soapstone_testkit::assertion::{ISSUER as PARTNER, Made};
use soapstone_testkit::keys;
use soapstone_trust::{
    AssertionRules, ClientRules, Delegation, DelegationForm, Effect, GrantedAttribute, KeyType,
    Parties, PendingIssue, Records, Refusal, Requester, RequesterToken,
};
use soapstone_wss::{Assertion, AssertionPolicy, ContextOwner, SamlVersion, SecurityContext};
use soapstone_xml::{Buffers, Document, ParseOptions};

use super::{
    BOOKS, FRONT, ISSUER, Sts, by_password, by_signature, certificate, claim, issue, issuer, read,
    request,
};

const PRINCIPAL: &str = "alice@EXAMPLE.ORG";
const KERBEROS: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:kerberos";

fn shown_by(token: RequesterToken) -> Requester {
    Requester {
        owner: ContextOwner::Anonymous,
        token: Some(token),
        signers: Vec::new(),
        ..by_password("nobody")
    }
}

pub(super) fn by_assertion(assertion: Assertion) -> Requester {
    shown_by(RequesterToken::Assertion {
        assertion: Box::new(assertion),
        ends: Timestamp::MAX,
    })
}

fn by_kerberos() -> Requester {
    shown_by(RequesterToken::Kerberos {
        client: PRINCIPAL.to_owned(),
        ends: Timestamp::MAX,
    })
}

/// A service that cancels, knows a partner, and has an attribute of a principal.
fn rules(rules: &mut AssertionRules) {
    rules.cancellable = true;
    let partner = issuer(PARTNER, certificate("CN=idp"));
    rules.issuers = [issuer(ISSUER, certificate("CN=sts")), partner].into();
    rules.attributes.push(GrantedAttribute {
        subjects: Parties {
            principals: vec![PRINCIPAL.to_owned()],
            ..Parties::default()
        },
        claim: claim("role"),
        values: vec!["guest".to_owned()],
    });
}

/// The context would have neither the assertion's subject nor its end.
#[test]
fn an_assertion_begins_no_security_context() {
    let sts = Sts::making_keys(|it| {
        it.contexts = true;
    });
    let shown = own(&Sts::with(rules), &by_password("alice"), "Bearer");
    let conversation = "http://docs.oasis-open.org/ws-sx/ws-secureconversation/200512";
    let sct = format!("<wst:TokenType>{conversation}/sct</wst:TokenType>");
    let wanted = super::request("Issue", &format!("{sct}{}", crate::support::entropy(32)));
    let alone = by_assertion(shown);
    let beside = Requester {
        token: alone.token.clone(),
        ..by_password("alice")
    };
    for requester in [alone, beside] {
        assert_eq!(sts.refusal(&wanted, &requester), Refusal::NotAuthenticated);
    }
}

/// The context would have the user's name, and the assertion's subject would send its messages.
#[test]
fn an_assertion_gives_no_security_context_an_owner() {
    let sts = Sts::making_keys(|it| {
        it.contexts = true;
    });
    let shown = own(&Sts::with(rules), &by_password("alice"), "Bearer");
    let nobodys = SecurityContext {
        owner: ContextOwner::Anonymous,
        created: sts.now,
        expires: sts.now + SignedDuration::from_secs(600),
        ..crate::support::context("urn:nobody")
    };
    let (_, request) = PendingIssue::amend(&ClientRules::default(), &nobodys);
    let body = crate::support::envelope(&request.body);
    let find = |_: &_| Ok(None);
    let amended_by = |token: Option<RequesterToken>| {
        let requester = Requester {
            token,
            context: Some(nobodys.clone()),
            ..by_password("alice")
        };
        let records = Records::of_contexts(&find);
        let action = Some(request.action.as_str());
        let answer = sts
            .service
            .answer(body.body(), action, &requester, records, sts.now);
        answer.map(|answer| answer.effects)
    };
    let refused = amended_by(by_assertion(shown).token).expect_err("a refusal");
    assert_eq!(refused.refusal, Refusal::NotAuthenticated);
    let effects = amended_by(None).expect("an answer");
    assert!(
        matches!(&effects[..], [Effect::Amend { after, .. }] if after.owner.to_string() == "alice")
    );
}

/// An assertion of the service itself, as a route has accepted it.
fn own(sts: &Sts, requester: &Requester, key_type: &str) -> Assertion {
    let written = sts.issued(&issue(FRONT, key_type, ""), requester);
    read(&written, "CN=sts", sts.now)
}

/// One of the partner's.
pub(super) fn foreign(subject: &str, made: &Made<'_>, sts: &Sts) -> Assertion {
    let assertion = soapstone_testkit::assertion::Assertion {
        is_20: true,
        method: "bearer",
        holder: None,
        audience: Some("https://sts.example"),
        attributes: &[("role", "admin")],
    };
    let written = assertion.made(subject, &keys::identity("CN=idp", keys::RSA), made);
    let document = Document::parse(
        written.into_bytes(),
        &ParseOptions::default(),
        &mut Buffers::new(),
    );
    let issuers = [issuer(PARTNER, certificate("CN=idp"))];
    let policy = AssertionPolicy {
        versions: SamlVersion::ALL.to_vec(),
        ..AssertionPolicy::default()
    };
    let document = document.expect("a document");
    Assertion::verify(document.root(), &issuers, &policy, sts.now).expect("an assertion")
}

/// A request that wants something done with an assertion.
pub(super) fn target(operation: &str, token: &str) -> String {
    let element = format!("wst:{operation}Target");
    request(operation, &format!("<{element}>{token}</{element}>"))
}

#[test]
fn the_subject_of_an_assertion_of_ours_gets_another_one_that_ends_no_later() {
    let sts = Sts::with(rules);
    let shown = own(&sts, &by_password("alice"), "Bearer");
    let end = shown.expires(&AssertionPolicy::default());
    let authenticated = shown.authenticated;
    let later = Sts::with(rules).later(300);
    let written = later.issued(&issue(BOOKS, "Bearer", ""), &by_assertion(shown));
    let issued = read(&written, "CN=sts", later.now);
    assert_eq!(issued.subject.value, "alice");
    assert_eq!(issued.subject.qualifier, None);
    assert_eq!(issued.authenticated, authenticated);
    assert!(issued.expires(&AssertionPolicy::default()) <= end);
    assert!(
        issued
            .attributes
            .iter()
            .any(|it| it.values.contains(&"reader".to_owned()))
    );
}

/// What a front got to act for a user stays a token of that front.
#[test]
fn actors_of_a_shown_assertion_stay() {
    let sts = exchanging();
    let shown = by_assertion(acting(&sts));
    let written = sts.issued(&issue(BOOKS, "Bearer", ""), &shown);
    let issued = read(&written, "CN=sts", sts.now);
    assert_eq!(issued.subject.value, "alice");
    let actor = issued
        .attributes
        .iter()
        .find(|it| it.name.ends_with("/actor"));
    assert_eq!(actor.expect("an actor").values, ["certificate CN=front"]);
}

/// The right of an actor is for a service. It does not end, prolong or pass on what the subject
/// has, as if the subject had asked.
#[test]
fn an_actor_is_not_the_subject() {
    let sts = exchanging();
    let alice = by_password("alice");
    let own = sts.issued(&issue(FRONT, "Bearer", ""), &alice);
    let shown = by_assertion(acting(&sts));
    let refusal = sts.refusal(&target("Cancel", &own), &shown);
    assert!(
        matches!(refusal, Refusal::CancelNotAllowed { .. }),
        "{refusal:?}"
    );
    let refusal = sts.refusal(&target("Renew", &own), &shown);
    assert!(
        matches!(refusal, Refusal::NotRenewable { .. }),
        "{refusal:?}"
    );
    // The rule is for alice, and would lose who acts for her.
    for form in ["ActAs", "OnBehalfOf"] {
        let prefix = if form == "ActAs" { "wst14" } else { "wst" };
        let token = format!("<{prefix}:{form}>{own}</{prefix}:{form}>");
        let body = issue(BOOKS, "Bearer", &token);
        let refusal = sts.refusal(&body, &shown);
        assert!(
            matches!(refusal, Refusal::DelegationNotAllowed { .. }),
            "{refusal:?}"
        );
        sts.answer(&body, &alice).expect("alice has the right");
    }
    for operation in ["Renew", "Cancel"] {
        sts.answer(&target(operation, &own), &alice)
            .expect("an answer");
    }
}

/// Where everybody may act, everybody is one whom we know. A partner's alice would be told of as
/// ours.
#[test]
fn the_subject_of_a_partners_assertion_acts_for_nobody() {
    let sts = Sts::with(|of_assertions| {
        rules(of_assertions);
        for delegation in &mut of_assertions.delegations {
            delegation.actors.anybody = true;
        }
    });
    let token = sts.issued(&issue(FRONT, "Bearer", ""), &by_password("alice"));
    let body = issue(
        BOOKS,
        "Bearer",
        &format!("<wst14:ActAs>{token}</wst14:ActAs>"),
    );
    sts.answer(&body, &by_password("bob")).expect("an answer");
    let partners = by_assertion(foreign("alice", &Made::default(), &sts));
    let refusal = sts.refusal(&body, &partners);
    assert!(
        matches!(refusal, Refusal::DelegationNotAllowed { .. }),
        "{refusal:?}"
    );
}

/// A name is the word of whoever writes it: another key in the name of the service would speak for
/// every user.
#[test]
fn what_another_key_signs_in_our_name_shows_nobody() {
    let forging = Sts::signing("CN=evil", rules);
    let forged = forging.issued(&issue(FRONT, "Bearer", ""), &by_password("alice"));
    let shown = by_assertion(read(&forged, "CN=evil", forging.now));
    let sts = Sts::with(|of_assertions| {
        rules(of_assertions);
        of_assertions.issuers = [issuer(ISSUER, certificate("CN=evil"))].into();
    });
    let refusal = sts.refusal(&issue(BOOKS, "Bearer", ""), &shown);
    assert_eq!(refusal, Refusal::NotAuthenticated);
    let act_as = format!("<wst14:ActAs>{forged}</wst14:ActAs>");
    let refusal = sts.refusal(&issue(BOOKS, "Bearer", &act_as), &by_signature("CN=front"));
    let problem = "another key signed it in the name of this service".to_owned();
    assert_eq!(refusal, Refusal::TokenRejected { problem });
}

/// A service whose users show assertions to it. A front may act for alice, and she for herself.
fn exchanging() -> Sts {
    Sts::with(|of_assertions| {
        rules(of_assertions);
        of_assertions.delegations.push(Delegation {
            actors: Parties {
                users: vec!["alice".to_owned()],
                ..Parties::default()
            },
            forms: DelegationForm::ALL.to_vec(),
            ..of_assertions.delegations[0].clone()
        });
        of_assertions.services.push(soapstone_trust::TargetService {
            address: "https://sts.example/exchange".to_owned(),
            audience: ISSUER.to_owned(),
            certificate: None,
            key_transport: soapstone_trust::TargetService::KEY_TRANSPORT,
        });
        for delegation in &mut of_assertions.delegations {
            delegation
                .services
                .push("https://sts.example/exchange".to_owned());
        }
    })
}

/// What a front got to act for alice, as a route has accepted it.
fn acting(sts: &Sts) -> Assertion {
    let user = sts.issued(&issue(FRONT, "Bearer", ""), &by_password("alice"));
    let act_as = format!("<wst14:ActAs>{user}</wst14:ActAs>");
    let acting = issue("https://sts.example/exchange", "PublicKey", &act_as);
    let acting = sts.issued(&acting, &by_signature("CN=front"));
    read(&acting, "CN=sts", sts.now)
}

/// A partner names its own users. One with the name of ours is somebody else.
#[test]
fn the_subject_of_a_partners_assertion_is_nobody_of_ours() {
    let sts = Sts::with(rules);
    let alice = by_password("alice");
    let of_alice = sts.issued(&issue(FRONT, "Bearer", ""), &alice);
    let partners = by_assertion(foreign("alice", &Made::default(), &sts));
    let written = sts.issued(&issue(BOOKS, "Bearer", ""), &partners);
    let issued = read(&written, "CN=sts", sts.now);
    assert_eq!(issued.subject.qualifier.as_deref(), Some(PARTNER));
    assert!(issued.attributes.is_empty(), "{:?}", issued.attributes);
    let refusal = sts.refusal(&target("Cancel", &of_alice), &partners);
    assert!(
        matches!(refusal, Refusal::CancelNotAllowed { .. }),
        "{refusal:?}"
    );
    let refusal = sts.refusal(&target("Renew", &of_alice), &partners);
    assert!(
        matches!(refusal, Refusal::NotRenewable { .. }),
        "{refusal:?}"
    );
    // A front that a partner names is not our front.
    let front = by_assertion(foreign("CN=front", &Made::default(), &sts));
    let act_as = format!("<wst14:ActAs>{of_alice}</wst14:ActAs>");
    let refusal = sts.refusal(&issue(BOOKS, "Bearer", &act_as), &front);
    assert!(
        matches!(refusal, Refusal::DelegationNotAllowed { .. }),
        "{refusal:?}"
    );
    // A name of a third domain is not of the partner.
    let elsewhere = Made {
        qualifiers: " NameQualifier=\"https://third.example\"",
        ..Made::default()
    };
    let third = by_assertion(foreign("alice", &elsewhere, &sts));
    assert_eq!(
        sts.refusal(&issue(BOOKS, "Bearer", ""), &third),
        Refusal::NotAuthenticated
    );
}

#[test]
fn an_assertion_that_says_so_or_was_cancelled_asks_for_nothing() {
    let sts = Sts::with(rules);
    let restricted = "its issuer restricts the assertions that are made from it";
    let proxies = Made {
        conditions: "<saml:ProxyRestriction Count=\"0\"></saml:ProxyRestriction>",
        ..Made::default()
    };
    let once = Made {
        once: true,
        ..Made::default()
    };
    for made in [proxies, once] {
        let shown = by_assertion(foreign("alice", &made, &sts));
        let problem = restricted.to_owned();
        assert_eq!(
            sts.refusal(&issue(BOOKS, "Bearer", ""), &shown),
            Refusal::TokenRejected { problem }
        );
    }
    let alice = by_password("alice");
    let written = sts.issued(&issue(FRONT, "Bearer", ""), &alice);
    let shown = by_assertion(read(&written, "CN=sts", sts.now));
    sts.answer(&issue(BOOKS, "Bearer", ""), &shown)
        .expect("an answer");
    sts.answer(&target("Cancel", &written), &alice)
        .expect("an answer");
    for body in [
        issue(BOOKS, "Bearer", ""),
        target("Validate", &written),
        target("Renew", &written),
        target("Cancel", &written),
    ] {
        let problem = "it was cancelled".to_owned();
        assert_eq!(
            sts.refusal(&body, &shown),
            Refusal::TokenRejected { problem }
        );
    }
}

/// Two tokens are two senders, one of whom was asked by nobody.
#[test]
fn a_token_beside_another_senders_shows_nobody() {
    let sts = Sts::with(rules);
    let shown = Requester {
        mixed: true,
        ..by_assertion(own(&sts, &by_password("alice"), "Bearer"))
    };
    assert_eq!(
        sts.refusal(&issue(BOOKS, "Bearer", ""), &shown),
        Refusal::RequesterAmbiguous
    );
}

/// SAML Core 2.0, 2.4.1.2: the confirmation that confirmed the subject may end before the assertion
/// does, and before another confirmation.
#[test]
fn an_assertion_of_another_one_ends_with_the_confirmation_that_showed_its_requester() {
    let sts = Sts::with(rules);
    let shown = own(&sts, &by_password("alice"), "Bearer");
    let ends = sts.now + SignedDuration::from_secs(100);
    assert!(shown.expires(&AssertionPolicy::default()) > ends);
    let shown = shown_by(RequesterToken::Assertion {
        assertion: Box::new(shown),
        ends,
    });
    let written = sts.issued(&issue(BOOKS, "Bearer", ""), &shown);
    let issued = read(&written, "CN=sts", sts.now);
    assert!(issued.expires(&AssertionPolicy::default()) <= ends);
}

/// A client without a ticket would not ask any more.
#[test]
fn the_assertion_of_a_kerberos_client_ends_with_its_ticket() {
    let sts = Sts::with(rules);
    let ends = sts.now + SignedDuration::from_secs(200);
    let shown = shown_by(RequesterToken::Kerberos {
        client: PRINCIPAL.to_owned(),
        ends,
    });
    let written = sts.issued(&issue(BOOKS, "Bearer", ""), &shown);
    let issued = read(&written, "CN=sts", sts.now);
    assert!(issued.expires(&AssertionPolicy::default()) <= ends);
}

#[test]
fn a_kerberos_client_gets_an_assertion_about_its_principal() {
    for version in SamlVersion::ALL {
        let sts = Sts::with(|of_assertions| {
            rules(of_assertions);
            of_assertions.versions = vec![version];
            of_assertions.key_types = vec![KeyType::Bearer];
        });
        let written = sts.issued(&issue(BOOKS, "Bearer", ""), &by_kerberos());
        let issued = read(&written, "CN=sts", sts.now);
        assert_eq!(issued.subject.value, PRINCIPAL);
        assert_eq!(issued.subject.format.as_deref(), Some(KERBEROS));
        let role = issued.attributes.iter().flat_map(|it| &it.values);
        assert_eq!(role.collect::<Vec<_>>(), ["guest"]);
        let way = ["classes:Kerberos", "urn:ietf:rfc:1510"];
        assert!(way.iter().any(|way| written.contains(way)), "{written}");
        // Only the principal itself is its subject.
        for other in [by_password(PRINCIPAL), by_password("alice")] {
            let refusal = sts.refusal(&target("Renew", &written), &other);
            assert!(
                matches!(refusal, Refusal::NotRenewable { .. }),
                "{refusal:?}"
            );
            let refusal = sts.refusal(&target("Cancel", &written), &other);
            assert!(
                matches!(refusal, Refusal::CancelNotAllowed { .. }),
                "{refusal:?}"
            );
        }
        sts.answer(&target("Renew", &written), &by_kerberos())
            .expect("an answer");
        sts.answer(&target("Cancel", &written), &by_kerberos())
            .expect("an answer");
    }
}
