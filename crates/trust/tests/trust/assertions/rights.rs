//! Rights that delegations give on top: to renew what an actor got, and to the subjects of another
//! issuer. Without them both are refused.

use soapstone_testkit::assertion::{ISSUER as PARTNER, Made};
use soapstone_trust::{
    AssertionRules, Delegation, DelegationForm, ForeignSubjects, Parties, Refusal, Requester,
    RequesterToken, TRANSIENT_NAMES,
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
        names_actor(&renewed, &later, "certificate CN=front");
        let after = read(&renewed, "CN=sts", later.now);
        let policy = AssertionPolicy::default();
        assert!(after.expires(&policy) > before.expires(&policy));
        assert_eq!(after.authenticated, before.authenticated);
        // And once more.
        let once_more = later.issued(&target("Renew", &renewed), &front());
        names_actor(&once_more, &later, "certificate CN=front");
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

/// The front of an issuer, by its name in a format.
fn of_issuer(issuer: &str, format: Option<&str>) -> Parties {
    Parties {
        foreign: vec![ForeignSubjects {
            issuer: issuer.to_owned(),
            format: format.map(str::to_owned),
            names: vec!["front".to_owned()],
        }],
        ..Parties::default()
    }
}

/// How the partner's subjects are told of as actors.
fn told(name: &str) -> String {
    format!("subject {PARTNER} {UNSPECIFIED} {name}")
}

const UNSPECIFIED: &str = "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified";

/// A service where the partner's front acts for alice.
fn partnered() -> Sts {
    sts(|rules| {
        rules[0].actors = of_issuer(PARTNER, None);
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
    let actor = told("front");
    names_actor(&token, &sts, &actor);
    let renewed = sts.issued(&target("Renew", &token), &front);
    names_actor(&renewed, &sts, &actor);
    // No assertion outlives what shows the actor.
    let Some(RequesterToken::Assertion {
        assertion: shown, ..
    }) = &front.token
    else {
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
    named(&partners("back", &sts), &told("back"));
    named(&by_password("front"), "user front");
    // One who has the name under which the actor is told of.
    let told = told("front");
    named(&by_password(&told), &format!("user {told}"));
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
        rules[0].actors = of_issuer("https://third.example", None);
    });
    let refusal = others.refusal(&act_as(&others), &partners("front", &others));
    assert!(matches!(refusal, Refusal::DelegationNotAllowed { .. }));
}

/// Everybody means everybody whom the service knows: another issuer does not decide who acts.
#[test]
fn anybody_of_another_issuer_has_no_right() {
    let sts = sts(|rules| {
        rules[0].actors.anybody = true;
    });
    let refusal = sts.refusal(&act_as(&sts), &partners("front", &sts));
    assert!(matches!(refusal, Refusal::DelegationNotAllowed { .. }));
    for ours in [by_password("front"), front()] {
        sts.answer(&act_as(&sts), &ours).expect("one of ours");
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

/// Issuer and kind confusion: parties with the name of the actor, each shown by another token.
#[test]
fn an_actor_is_a_kind_an_issuer_and_a_name() {
    let kerberos = |name: &str| Requester {
        owner: ContextOwner::Kerberos {
            client: name.to_owned(),
            ends: jiff::Timestamp::MAX,
        },
        ..by_password("nobody")
    };
    let sts = partnered();
    let of_partner = partners("front", &sts);
    let shown = [
        ("user", by_password("front")),
        ("kerberos", kerberos("front")),
        ("certificate", by_signature("CN=front")),
        ("subject", of_partner),
    ];
    let mut rights = [(); 4].map(|()| Parties::default());
    rights[0].users.push("front".to_owned());
    rights[1].principals.push("front".to_owned());
    rights[2] = super::certificates(&["CN=front"]);
    rights[3] = of_issuer(PARTNER, None);
    for (at, right) in rights.into_iter().enumerate() {
        let sts = self::sts(|rules| {
            rules[0].actors = right;
            rules[0].renews = true;
        });
        let token = sts.issued(&act_as(&sts), &shown[at].1);
        for (with, (kind, requester)) in shown.iter().enumerate() {
            let acts = sts.answer(&act_as(&sts), requester).is_ok();
            let renews = sts.answer(&target("Renew", &token), requester).is_ok();
            assert_eq!((acts, renews), (at == with, at == with), "{at}: {kind}");
        }
    }
    // With rights for all of them nobody renews what another one got.
    let all = self::sts(|rules| {
        rules[0].actors = Parties {
            users: vec!["front".to_owned(), "CN=front".to_owned(), told("front")],
            principals: vec!["front".to_owned(), "CN=front".to_owned()],
            ..of_issuer(PARTNER, None)
        };
        rules[0].actors.certificates = super::certificates(&["CN=front"]).certificates;
        rules[0].renews = true;
    });
    let everybody = [
        by_password("front"),
        by_password("CN=front"),
        by_password(&told("front")),
        kerberos("front"),
        kerberos("CN=front"),
        by_signature("CN=front"),
        partners("front", &all),
    ];
    for (at, one) in everybody.iter().enumerate() {
        let token = all.issued(&act_as(&all), one);
        for (with, other) in everybody.iter().enumerate() {
            let renewed = all.answer(&target("Renew", &token), other);
            assert_eq!(renewed.is_ok(), at == with, "{at} and {with}");
        }
    }
}

/// SAML Core 2.0, 8.3: one name in two formats is two subjects, and a transient one is of a login.
#[test]
fn the_format_of_a_name_belongs_to_the_actor() {
    let persistent = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent";
    let formats = [
        ("", None),
        (persistent, Some(persistent)),
        (TRANSIENT_NAMES, Some(TRANSIENT_NAMES)),
    ];
    for (right, by_format) in formats {
        let sts = sts(|rules| rules[0].actors = of_issuer(PARTNER, by_format));
        for (shown, _) in formats {
            let format = format!(" Format=\"{shown}\"");
            let made = Made {
                qualifiers: if shown.is_empty() { "" } else { &format },
                ..Made::default()
            };
            let requester = by_assertion(foreign("front", &made, &sts));
            let acts = sts.answer(&act_as(&sts), &requester).is_ok();
            let expected = right == shown && right != TRANSIENT_NAMES;
            assert_eq!(acts, expected, "{right:?} and {shown:?}");
        }
    }
}
