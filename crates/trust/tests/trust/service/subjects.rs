//! Contexts that an assertion began (WS-SecureConversation 1.4, 3 to 6): whose they are, and when
//! they end.

use std::sync::Arc;
use std::time::Duration;

use soapstone_trust::{Refusal, Requester, TRANSIENT_NAMES};
use soapstone_wss::{
    AssertedOwner, AssertionAttribute, Attester, ContextOwner, KnownCertificate, NameIdentifier,
    SecurityContext,
};

use super::{about, not_proven};
use crate::support::{Host, after, context, entropy, holder, now, request, requester, user};

fn asserted(issuer: &str, ends: i64, change: impl FnOnce(&mut AssertedOwner)) -> ContextOwner {
    let mut subject = NameIdentifier::default();
    subject.value = "alice".to_owned();
    let mut owner = AssertedOwner {
        issuer: issuer.to_owned(),
        signed_by: None,
        subject,
        id: "_a1".to_owned(),
        ends: after(ends),
        attributes: Vec::new(),
        attester: None,
    };
    change(&mut owner);
    ContextOwner::Subject(Arc::new(owner))
}

/// Somebody who vouches, with a certificate that ends then.
fn vouching(thumbprint: u8, ends: i64) -> Option<Attester> {
    Some(Attester {
        certificate: KnownCertificate {
            thumbprint: [thumbprint; 32],
            root: [9; 32],
            subject: "CN=gateway".to_owned(),
            issuer: "CN=ca".to_owned(),
        },
        ends: after(ends),
    })
}

const IDP: &str = "https://idp.example";

fn alice(ends: i64) -> ContextOwner {
    asserted(IDP, ends, |_| {})
}

/// What is asked for, granted and renewed, whatever life the rules would give.
#[test]
fn a_context_never_outlives_the_assertion_that_began_it() {
    let host = Host::new(|rules| {
        rules.owner_alone = true;
        rules.renewal_by_key_alone = Some(Duration::from_secs(100_000));
    });
    let issue = request("Issue", &entropy(32));
    host.answer(issue.as_bytes(), None, &requester(alice(300)), now())
        .unwrap();
    let begun = host.contexts.borrow().last().unwrap().clone();
    assert_eq!(begun.expires, after(300));
    // The key alone shows no other assertion.
    let renew = about("Renew", &begun.identifier, &entropy(32));
    let key_alone = holder(ContextOwner::Anonymous, &begun);
    host.answer(renew.as_bytes(), None, &key_alone, after(200))
        .unwrap();
    assert_eq!(host.contexts.borrow().last().unwrap().expires, after(300));
    // An assertion that ends sooner takes life, and a later one gives life.
    for ends in [250, 900] {
        host.answer(renew.as_bytes(), None, &requester(alice(ends)), after(210))
            .unwrap();
        assert_eq!(host.contexts.borrow().last().unwrap().expires, after(ends));
    }
}

/// Who vouches could write the end of an assertion that its issuer did not sign.
#[test]
fn a_context_never_outlives_the_certificate_of_who_vouched() {
    for (ends, expected) in [(300, 300), (900, 600), (-10, 600)] {
        let host = Host::new(|_| {});
        let vouched = asserted(IDP, 600, |owner| owner.attester = vouching(1, ends));
        let issue = request("Issue", &entropy(32));
        host.answer(issue.as_bytes(), None, &requester(vouched), now())
            .unwrap();
        let begun = host.contexts.borrow().last().unwrap().expires;
        // Where it is over already, the rules of trust do not ask for times.
        assert_eq!(begun, after(expected), "{ends}");
    }
}

/// A store counts contexts, and not how long their owners are.
#[test]
fn a_subject_with_more_than_is_kept_begins_no_context() {
    let with = |values: usize| {
        asserted(IDP, 900, |owner| {
            let values = vec!["v".repeat(40); values];
            owner.attributes = vec![AssertionAttribute::new("role".to_owned(), None, values)];
        })
    };
    let host = Host::new(|rules| rules.owner_alone = true);
    let issue = request("Issue", &entropy(32));
    host.answer(issue.as_bytes(), None, &requester(with(200)), now())
        .unwrap();
    let too_large = |refusal: Refusal| matches!(refusal, Refusal::OwnerTooLarge { .. });
    assert!(too_large(host.refusal(&issue, &requester(with(300)))));
    let begun = host.contexts.borrow().last().unwrap().identifier.clone();
    let renew = about("Renew", &begun, &entropy(32));
    assert!(too_large(host.refusal(&renew, &requester(with(300)))));
}

/// SAML Core 2.0, 2.2.2 and 8.3: a name is one's own within its issuer, its domain and its format.
#[test]
fn another_subject_of_the_same_name_is_not_the_owner() {
    let of_gateway = || asserted(IDP, 900, |owner| owner.attester = vouching(1, 900));
    let for_a_login = |id: &str| {
        asserted(IDP, 900, |owner| {
            owner.subject.format = Some(TRANSIENT_NAMES.to_owned());
            owner.id = id.to_owned();
        })
    };
    let cases = [
        (alice(900), user("alice")),
        (alice(900), asserted("https://other.example", 900, |_| {})),
        (
            alice(900),
            asserted(IDP, 900, |owner| {
                owner.subject.format = Some("urn:f".to_owned())
            }),
        ),
        (
            alice(900),
            asserted(IDP, 900, |owner| {
                owner.subject.qualifier = Some("https://elsewhere.example".to_owned());
            }),
        ),
        (alice(900), of_gateway()),
        (of_gateway(), alice(900)),
        (
            of_gateway(),
            asserted(IDP, 900, |owner| owner.attester = vouching(2, 900)),
        ),
        (for_a_login("_a1"), for_a_login("_a2")),
    ];
    for (owner, other) in cases {
        let theirs = SecurityContext {
            owner,
            ..context("urn:uuid:theirs")
        };
        let host = Host::new(|rules| rules.owner_alone = true);
        host.contexts.borrow_mut().push(theirs.clone());
        for operation in ["Renew", "Cancel"] {
            let body = about(operation, &theirs.identifier, "");
            let alone = host.refusal(&body, &requester(other.clone()));
            assert_eq!(alone, not_proven(&theirs));
            let name = theirs.name();
            let with_key = host.refusal(&body, &holder(other.clone(), &theirs));
            assert_eq!(with_key, Refusal::ContextNotYours { name });
        }
    }
}

/// Another assertion of the subject, by its id, is the same subject's.
#[test]
fn another_assertion_of_the_owner_renews_and_is_remembered() {
    let theirs = SecurityContext {
        owner: alice(900),
        ..context("urn:uuid:theirs")
    };
    let host = Host::new(|rules| rules.owner_alone = true);
    host.contexts.borrow_mut().push(theirs.clone());
    let again = asserted(IDP, 900, |owner| owner.id = "_a2".to_owned());
    let renew = about("Renew", &theirs.identifier, &entropy(32));
    host.answer(renew.as_bytes(), None, &requester(again), now())
        .unwrap();
    let contexts = host.contexts.borrow();
    let ContextOwner::Subject(owner) = &contexts.last().unwrap().owner else {
        panic!("{contexts:?}");
    };
    assert_eq!(owner.id, "_a2");
}

/// Whose request it is is not known: nobody in particular would hold what an assertion began.
#[test]
fn an_assertion_that_shows_nobody_begins_no_context_of_nobody() {
    let host = Host::new(|rules| rules.anonymous = true);
    let beside = Requester {
        idle: true,
        ..requester(ContextOwner::Anonymous)
    };
    let refusal = host.refusal(&request("Issue", &entropy(32)), &beside);
    assert_eq!(refusal, Refusal::NotAuthenticated);
}
