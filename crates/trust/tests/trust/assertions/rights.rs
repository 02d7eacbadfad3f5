//! Rights that delegations give on top: to renew what an actor got, and to the subjects of another
//! issuer. Without them both are refused.

use soapstone_testkit::assertion::{ISSUER as PARTNER, Made};
use soapstone_trust::{
    AssertionRules, Delegation, DelegationForm, Parties, Refusal, Requester, RequesterToken,
};
use soapstone_wss::{AssertionPolicy, ContextOwner};

use super::shown::{by_assertion, foreign, target};
use super::{
    BOOKS, FRONT, ISSUER, Sts, by_password, by_signature, certificate, issue, issuer, read,
};

/// The usual rules, changed, with a partner whose assertions are believed.
fn sts(change: impl FnOnce(&mut Vec<Delegation>)) -> Sts {
    Sts::with(|rules: &mut AssertionRules| {
        let partner = issuer(PARTNER, certificate("CN=idp"));
        rules.issuers = [issuer(ISSUER, certificate("CN=sts")), partner].into();
        change(&mut rules.delegations);
    })
}

fn renewing() -> Sts {
    sts(|rules| rules[0].renews = true)
}

fn front() -> Requester {
    by_signature("CN=front")
}

/// What a front got to act for alice, with its own key or for whoever bears it.
fn acting(sts: &Sts, key_type: &str, form: &str) -> String {
    let user = sts.issued(&issue(FRONT, "Bearer", ""), &by_password("alice"));
    let token = format!("<{form}>{user}</{form}>");
    sts.issued(&issue(BOOKS, key_type, &token), &front())
}

fn is_not_renewed(sts: &Sts, token: &str, requester: &Requester, problem: &str) {
    let refusal = sts.refusal(&target("Renew", token), requester);
    let problem = problem.to_owned();
    assert_eq!(refusal, Refusal::NotRenewable { problem });
}

const NOBODY: &str = "it was not issued here about the requester";

fn names_actor(token: &str, sts: &Sts, actor: &str) {
    let read = read(token, "CN=sts", sts.now);
    assert_eq!(read.subject.value, "alice");
    let mut attributes = read.attributes.iter();
    let named = attributes.find(|it| it.name.ends_with("/actor"));
    assert_eq!(named.expect("an actor").values, [actor]);
}

#[test]
fn an_actor_renews_what_names_it_where_its_right_says_so() {
    for key_type in ["PublicKey", "Bearer"] {
        let (strict, sts) = (Sts::new(), renewing());
        let token = acting(&strict, key_type, "wst14:ActAs");
        is_not_renewed(&strict, &token, &front(), NOBODY);
        let token = acting(&sts, key_type, "wst14:ActAs");
        let before = read(&token, "CN=sts", sts.now);
        let later = renewing().later(300);
        let renewed = later.issued(&target("Renew", &token), &front());
        names_actor(&renewed, &later, "CN=front");
        let after = read(&renewed, "CN=sts", later.now);
        let policy = AssertionPolicy::default();
        assert!(after.expires(&policy) > before.expires(&policy));
        assert_eq!(after.authenticated, before.authenticated);
        // And once more.
        let once_more = later.issued(&target("Renew", &renewed), &front());
        names_actor(&once_more, &later, "CN=front");
    }
}

/// WS-Trust 1.4, 5: whoever else has the assertion has no right by it.
#[test]
fn nobody_else_renews_what_an_actor_got() {
    let sts = renewing();
    let token = acting(&sts, "Bearer", "wst14:ActAs");
    for stranger in [
        by_signature("CN=client"),
        by_password("bob"),
        // A name is not the party that has it as the subject of its certificate.
        by_password("CN=front"),
    ] {
        is_not_renewed(&sts, &token, &stranger, NOBODY);
    }
    // The key of the assertion is the actor's.
    let held = acting(&sts, "PublicKey", "wst14:ActAs");
    let keyless = Requester {
        signers: Vec::new(),
        ..front()
    };
    is_not_renewed(&sts, &held, &keyless, "its key did not sign the request");
}

/// What names no actor says nothing of who got it: the user's own, or one on behalf of the user.
#[test]
fn an_actor_renews_nothing_that_does_not_name_it_last() {
    let sts = renewing();
    let own = sts.issued(&issue(FRONT, "Bearer", ""), &by_password("alice"));
    let on_behalf = acting(&sts, "Bearer", "wst:OnBehalfOf");
    for token in [own, on_behalf] {
        is_not_renewed(&sts, &token, &front(), NOBODY);
    }
    // Another actor acts behind it: the first one has given the assertion away.
    let chained = self::sts(|rules| {
        rules[0].renews = true;
        rules[0].services.push(FRONT.to_owned());
        rules.push(Delegation {
            actors: Parties {
                users: vec!["middle".to_owned()],
                ..Parties::default()
            },
            ..rules[0].clone()
        });
    });
    let user = chained.issued(&issue(FRONT, "Bearer", ""), &by_password("alice"));
    let first = format!("<wst14:ActAs>{user}</wst14:ActAs>");
    let first = chained.issued(&issue(FRONT, "Bearer", &first), &front());
    let second = format!("<wst14:ActAs>{first}</wst14:ActAs>");
    let second = chained.issued(&issue(BOOKS, "Bearer", &second), &by_password("middle"));
    is_not_renewed(&chained, &second, &front(), NOBODY);
    chained
        .answer(&target("Renew", &second), &by_password("middle"))
        .expect("the last one renews");
}

/// The rule of today counts, not that under which the assertion was issued; and it counts for the
/// subject and the service that it names.
#[test]
fn a_right_to_renew_is_for_its_subjects_services_and_form() {
    let token = acting(&renewing(), "Bearer", "wst14:ActAs");
    type Change = fn(&mut Delegation);
    let changes: [Change; 4] = [
        |rule| rule.renews = false,
        |rule| rule.subjects.users = vec!["bob".to_owned()],
        |rule| rule.services = vec![FRONT.to_owned()],
        |rule| rule.forms = vec![DelegationForm::OnBehalfOf],
    ];
    for change in changes {
        let sts = sts(|rules| {
            rules[0].renews = true;
            change(&mut rules[0]);
        });
        is_not_renewed(&sts, &token, &front(), NOBODY);
    }
    // No longer than the subject itself could renew.
    let late = renewing().later(9 * 3600);
    let refused = late.refusal(&target("Renew", &token), &front());
    assert!(
        matches!(refused, Refusal::TokenRejected { .. }),
        "{refused:?}"
    );
    let short = Sts::with(|rules| {
        rules.delegations[0].renews = true;
        rules.renewable = Some(std::time::Duration::from_secs(60));
    });
    let problem = "its subject has to authenticate anew";
    is_not_renewed(&short.later(120), &token, &front(), problem);
}

/// A service where the partner's front acts for alice.
fn partnered() -> Sts {
    sts(|rules| {
        rules[0].actors = Parties {
            users: vec!["front".to_owned()],
            ..Parties::default()
        };
        rules[0].actor_issuer = Some(PARTNER.to_owned());
        rules[0].renews = true;
    })
}

fn partners(subject: &str, sts: &Sts) -> Requester {
    by_assertion(foreign(subject, &Made::default(), sts))
}

fn act_as(sts: &Sts) -> String {
    let user = sts.issued(&issue(FRONT, "Bearer", ""), &by_password("alice"));
    issue(
        BOOKS,
        "Bearer",
        &format!("<wst14:ActAs>{user}</wst14:ActAs>"),
    )
}

#[test]
fn the_subject_of_another_issuer_acts_where_a_right_names_that_issuer() {
    let sts = partnered();
    let front = partners("front", &sts);
    let token = sts.issued(&act_as(&sts), &front);
    // Downstream it is nobody of ours.
    let actor = format!("front of {PARTNER}");
    names_actor(&token, &sts, &actor);
    let renewed = sts.issued(&target("Renew", &token), &front);
    names_actor(&renewed, &sts, &actor);
    // No assertion outlives what shows the actor.
    let Some(RequesterToken::Assertion(shown)) = &front.token else {
        panic!("an assertion");
    };
    let policy = AssertionPolicy::default();
    let end = read(&token, "CN=sts", sts.now).expires(&policy);
    assert!(end <= shown.expires(&policy));
}

/// Issuer confusion, each way.
#[test]
fn nobody_else_of_that_name_has_the_right() {
    let sts = partnered();
    let named = |requester: &Requester, actor: &str| {
        let refusal = sts.refusal(&act_as(&sts), requester);
        let expected = Refusal::DelegationNotAllowed {
            actor: actor.to_owned(),
            form: "act-as",
        };
        assert_eq!(refusal, expected);
    };
    // Another one of the partner, and one whom we know ourselves.
    named(&partners("back", &sts), &format!("back of {PARTNER}"));
    named(&by_password("front"), "front");
    // One who has the name under which the actor is told of.
    let told = format!("front of {PARTNER}");
    named(&by_password(&told), &told);
    let token = sts.issued(&act_as(&sts), &partners("front", &sts));
    is_not_renewed(&sts, &token, &by_password(&told), NOBODY);
    // A subject of a third domain, in the partner's assertion.
    let elsewhere = Made {
        qualifiers: " NameQualifier=\"https://third.example\"",
        ..Made::default()
    };
    let third = by_assertion(foreign("front", &elsewhere, &sts));
    let refusal = sts.refusal(&act_as(&sts), &third);
    assert_eq!(refusal, Refusal::NotAuthenticated);
    // The right of another issuer's subject.
    let others = self::sts(|rules| {
        rules[0].actors.users = vec!["front".to_owned()];
        rules[0].actor_issuer = Some("https://third.example".to_owned());
    });
    let refusal = others.refusal(&act_as(&others), &partners("front", &others));
    assert!(matches!(refusal, Refusal::DelegationNotAllowed { .. }));
}

/// A right for everybody of another issuer is none: the issuer decides who that is.
#[test]
fn anybody_of_another_issuer_has_no_right() {
    let sts = sts(|rules| {
        rules[0].actors = Parties {
            anybody: true,
            ..Parties::default()
        };
        rules[0].actor_issuer = Some(PARTNER.to_owned());
    });
    for requester in [partners("front", &sts), by_password("front"), front()] {
        let refusal = sts.refusal(&act_as(&sts), &requester);
        assert!(matches!(refusal, Refusal::DelegationNotAllowed { .. }));
    }
}

/// Contexts are for owners that later messages can show: a ticket is none of them
/// (WS-SecureConversation 1.4, 3).
#[test]
fn a_kerberos_client_owns_no_security_context() {
    let sts = Sts::making_keys(|rules| rules.contexts = true);
    let requester = Requester {
        owner: ContextOwner::Anonymous,
        token: Some(RequesterToken::Kerberos {
            client: "alice@EXAMPLE.ORG".to_owned(),
            ends: jiff::Timestamp::MAX,
        }),
        ..by_password("nobody")
    };
    let conversation = "http://docs.oasis-open.org/ws-sx/ws-secureconversation/200512";
    let sct = format!("<wst:TokenType>{conversation}/sct</wst:TokenType>");
    let entropy = crate::support::entropy(32);
    let issue = super::request("Issue", &format!("{sct}{entropy}"));
    let refusal = sts.refusal(&issue, &requester);
    assert_eq!(refusal, Refusal::NotAuthenticated);
    let message = super::message(&issue);
    let records = soapstone_trust::Records::of_contexts(&|_| Ok(None));
    let alice = by_password("alice");
    let answer = sts
        .service
        .answer(message.body(), None, &alice, records, sts.now);
    answer.expect("a user owns one");
}
