//! Assertions that our client has renewed and cancelled by our service (WS-Trust 1.4, 5 and 6).

use std::sync::Arc;

use soapstone_trust::addressing::AddressingVersion;
use soapstone_trust::{
    AppliesTo, PendingToken, PendingTokenCancel, Refusal, Requester, TokenKey, TokenRules,
    TrustError, TrustVersion,
};
use soapstone_wss::{AssertionPolicy, IssuedAssertion};

use super::{BOOKS, ISSUER, Sts, by_password, by_signature, certificate, issuer, message};
use crate::support::WST;

fn cancelling() -> Sts {
    Sts::with(|rules| rules.cancellable = true)
}

fn wanted(key: TokenKey) -> TokenRules {
    let mut rules = TokenRules::new(AssertionPolicy {
        audiences: vec!["https://books.example".to_owned()],
        ..AssertionPolicy::default()
    });
    rules.key = key;
    rules.applies_to = Some(AppliesTo::new(BOOKS, AddressingVersion::V10));
    rules.issuers = Arc::new([issuer(ISSUER, certificate("CN=sts"))]);
    rules
}

/// What a request brings, after its answer was changed.
fn brought(
    sts: &Sts,
    rules: &TokenRules,
    (pending, asked): (PendingToken, soapstone_trust::TrustRequest),
    requester: &Requester,
    change: impl FnOnce(String) -> String,
) -> Result<IssuedAssertion, TrustError> {
    let body = String::from_utf8(asked.body).expect("text");
    let answer = sts.answer(&body, requester).expect("an answer");
    let answer = String::from_utf8(answer.body).expect("text");
    let answer = message(&change(answer));
    pending.accept(rules, answer.body(), sts.now)
}

fn granted(sts: &Sts, rules: &TokenRules, requester: &Requester) -> IssuedAssertion {
    let asked = PendingToken::issue(rules, None, sts.now);
    let granted = brought(sts, rules, asked, requester, |answer| answer);
    granted.expect("an assertion")
}

#[test]
fn an_assertion_is_renewed_for_whom_it_is_about() {
    let bearer = (wanted(TokenKey::Bearer), by_password("alice"));
    let held = TokenKey::Public(certificate("CN=client"));
    let held = (wanted(held), by_signature("CN=client"));
    for (rules, requester) in [bearer, held] {
        let sts = cancelling();
        let first = granted(&sts, &rules, &requester);
        let sts = sts.later(300);
        let asked = PendingToken::renew(&rules, &first, sts.now).expect("a request");
        assert_eq!(asked.1.action, format!("{WST}/RST/Renew"));
        assert!(asked.1.confidential);
        let renewed = brought(&sts, &rules, asked, &requester, |answer| answer);
        let renewed = renewed.expect("an assertion");
        assert_eq!(renewed.name, first.name);
        assert!(renewed.ends > first.ends);
    }
}

/// Whoever sees an assertion does not have it for longer.
#[test]
fn the_assertion_of_another_one_is_not_renewed() {
    let sts = cancelling();
    let rules = wanted(TokenKey::Bearer);
    let alices = granted(&sts, &rules, &by_password("alice"));
    for stranger in [by_password("bob"), by_signature("CN=books")] {
        let (_, asked) = PendingToken::renew(&rules, &alices, sts.now).expect("a request");
        let body = String::from_utf8(asked.body).expect("text");
        let refusal = sts.refusal(&body, &stranger);
        assert!(matches!(refusal, Refusal::NotRenewable { .. }), "{refusal}");
    }
}

/// The answer is to our request, and about somebody else.
#[test]
fn a_renewed_assertion_about_another_subject_is_not_taken() {
    let sts = cancelling();
    let rules = wanted(TokenKey::Bearer);
    let alices = granted(&sts, &rules, &by_password("alice"));
    let bobs = granted(&sts, &rules, &by_password("bob"));
    let asked = PendingToken::renew(&rules, &alices, sts.now).expect("a request");
    let taken = brought(&sts, &rules, asked, &by_password("alice"), |answer| {
        let open = "<wst:RequestedSecurityToken>";
        let close = "</wst:RequestedSecurityToken>";
        let from = answer.find(open).expect("a token") + open.len();
        let to = answer.find(close).expect("its end");
        let bobs = std::str::from_utf8(bobs.token.written()).expect("text");
        [&answer[..from], bobs, &answer[to..]].concat()
    });
    let (expected, found) = ("alice".to_owned(), "bob".to_owned());
    let changed = TrustError::SubjectChanged { expected, found };
    assert_eq!(taken.expect_err("a refusal"), changed);
}

/// One name may be that of several subjects: the issuer, the format and the qualifiers tell them
/// apart.
#[test]
fn a_renewed_assertion_is_about_the_same_subject_of_the_same_issuer() {
    let sts = cancelling();
    let rules = wanted(TokenKey::Bearer);
    let alice = by_password("alice");
    let first = granted(&sts, &rules, &alice);
    let sts = sts.later(300);
    let renewed = |change: &dyn Fn(&mut IssuedAssertion)| {
        let mut before = first.clone();
        change(&mut before);
        let asked = PendingToken::renew(&rules, &before, sts.now).expect("a request");
        brought(&sts, &rules, asked, &alice, |answer| answer)
    };
    assert!(renewed(&|_| {}).is_ok());
    let other = || Some("urn:other".to_owned());
    let changes: [&dyn Fn(&mut IssuedAssertion); 3] = [
        &|before| before.name.format = other(),
        &|before| before.name.qualifier = other(),
        &|before| before.name.service_qualifier = other(),
    ];
    for change in changes {
        let name = "alice".to_owned();
        let expected = TrustError::SubjectRequalified { name };
        assert_eq!(renewed(change).expect_err("a refusal"), expected);
    }
    let taken = renewed(&|before| before.issuer = "https://other.example".to_owned());
    let expected = TrustError::IssuerChanged {
        expected: "https://other.example".to_owned(),
        found: ISSUER.to_owned(),
    };
    assert_eq!(taken.expect_err("a refusal"), expected);
}

/// Otherwise the next question would come when there is no assertion any more.
#[test]
fn a_renewed_assertion_that_ends_no_later_is_not_taken() {
    let sts = cancelling();
    let rules = wanted(TokenKey::Bearer);
    let alice = by_password("alice");
    let first = granted(&sts, &rules, &alice);
    let asked = PendingToken::renew(&rules, &first, sts.now).expect("a request");
    let taken = brought(&sts, &rules, asked, &alice, |answer| answer);
    let expected = TrustError::NotProlonged {
        before: first.ends,
        found: first.ends,
    };
    assert_eq!(taken.expect_err("a refusal"), expected);
}

#[test]
fn what_our_client_cancelled_is_renewed_no_more() {
    let sts = cancelling();
    let rules = wanted(TokenKey::Bearer);
    let alice = by_password("alice");
    let first = granted(&sts, &rules, &alice);
    let (pending, asked) = PendingTokenCancel::cancel(TrustVersion::V13, &first.token);
    assert_eq!(asked.action, format!("{WST}/RST/Cancel"));
    let body = String::from_utf8(asked.body).expect("text");
    // A stranger's word changes nothing.
    let requester = "bob".to_owned();
    let not_allowed = Refusal::CancelNotAllowed { requester };
    assert_eq!(sts.refusal(&body, &by_password("bob")), not_allowed);
    let answer = sts.answer(&body, &alice).expect("an answer");
    let text = String::from_utf8(answer.body).expect("text");
    assert_eq!(pending.accept(message(&text).body()), Ok(()));
    // A service that says nothing of it has not cancelled it.
    let (pending, asked) = PendingTokenCancel::cancel(TrustVersion::V13, &first.token);
    let body = String::from_utf8(asked.body).expect("text");
    let answer = sts.answer(&body, &alice).expect("an answer");
    let text = String::from_utf8(answer.body).expect("text");
    let silent = text.replace(
        "<wst:RequestedTokenCancelled></wst:RequestedTokenCancelled>",
        "",
    );
    assert_ne!(silent, text);
    let refused = pending.accept(message(&silent).body());
    assert_eq!(refused, Err(TrustError::NotCancelled));
    let sts = sts.later(60);
    let (_, asked) = PendingToken::renew(&rules, &first, sts.now).expect("a request");
    let body = String::from_utf8(asked.body).expect("text");
    let problem = "it was cancelled".to_owned();
    let cancelled = Refusal::TokenRejected { problem };
    assert_eq!(sts.refusal(&body, &alice), cancelled);
}

/// Nothing in a request shows who holds a symmetric key.
#[test]
fn an_assertion_with_a_symmetric_key_is_asked_for_anew() {
    let sts = cancelling();
    let first = granted(&sts, &wanted(TokenKey::Bearer), &by_password("alice"));
    let rules = wanted(TokenKey::Symmetric(soapstone_trust::ProofRules::default()));
    assert!(PendingToken::renew(&rules, &first, sts.now).is_none());
}
