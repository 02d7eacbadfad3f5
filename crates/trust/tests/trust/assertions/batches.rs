//! Several requests in one message (WS-Trust 1.4, 4.2): all of them are done, or none is, and none
//! gets more than it would alone.

use std::sync::Arc;

use soapstone_trust::addressing::AddressingVersion;
use soapstone_trust::{
    Answer, AppliesTo, PendingTokens, Refusal, TokenRules, TrustError, TrustVersion,
};
use soapstone_wss::AssertionPolicy;

use super::{
    BOOKS, FRONT, ISSUER, Sts, by_password, by_signature, certificate, is_valid, issue, issuer,
    message, request,
};
use crate::support::WST;

/// A collection of requests that were alone.
fn together(requests: &[String]) -> String {
    let one = |request: &String| {
        let kinds = ["Issue", "Renew", "Cancel", "Validate"];
        kinds.iter().fold(request.clone(), |request, kind| {
            request.replace(&format!("{WST}/{kind}<"), &format!("{WST}/Batch{kind}<"))
        })
    };
    let requests: String = requests.iter().map(one).collect();
    format!(
        "<wst:RequestSecurityTokenCollection xmlns:wst='{WST}'>{requests}</wst:RequestSecurityTokenCollection>"
    )
}

fn target(operation: &str, token: &str) -> String {
    let element = format!("wst:{operation}Target");
    request(operation, &format!("<{element}>{token}</{element}>"))
}

fn both(operation: &str, first: &str, second: &str) -> String {
    together(&[target(operation, first), target(operation, second)])
}

fn cancelling() -> Sts {
    Sts::with(|rules| rules.cancellable = true)
}

fn holds(sts: &Sts, token: &str) -> bool {
    let answer = sts.answer(&target("Validate", token), &by_signature("CN=books"));
    is_valid(&answer.expect("an answer"))
}

fn text(answer: &Answer) -> String {
    String::from_utf8(answer.body.clone()).expect("text")
}

/// WS-Trust 1.4, 9.1: another subject takes a delegation, in a collection as well.
#[test]
fn another_subject_in_a_batch_ends_all_of_it() {
    let sts = Sts::new();
    let alices = sts.issued(&issue(FRONT, "Bearer", ""), &by_password("alice"));
    let bobs = sts.issued(&issue(FRONT, "Bearer", ""), &by_password("bob"));
    let acting = |token: &str| {
        let act_as = format!("<wst14:ActAs>{token}</wst14:ActAs>");
        issue(BOOKS, "PublicKey", &act_as)
    };
    let front = by_signature("CN=front");
    let own = issue(BOOKS, "PublicKey", "");
    let granted = sts.answer(&together(&[acting(&alices), own.clone()]), &front);
    assert_eq!(granted.expect("an answer").issued.len(), 2);
    // The right is for Alice alone, whatever stands before.
    for requests in [[acting(&alices), acting(&bobs)], [own, acting(&bobs)]] {
        let alone = sts.refusal(&requests[1], &front);
        assert_eq!(sts.refusal(&together(&requests), &front), alone);
    }
}

#[test]
fn assertions_are_cancelled_together_or_not_at_all() {
    let sts = cancelling();
    let alice = by_password("alice");
    let of = |name: &str| sts.issued(&issue(FRONT, "Bearer", ""), &by_password(name));
    let (first, second, bobs) = (of("alice"), of("alice"), of("bob"));
    let refusal = sts.refusal(&both("Cancel", &first, &bobs), &alice);
    let requester = "alice".to_owned();
    assert_eq!(refusal, Refusal::CancelNotAllowed { requester });
    assert!(holds(&sts, &first) && holds(&sts, &bobs));
    let answer = sts.answer(&both("Cancel", &first, &second), &alice);
    let answer = answer.expect("an answer");
    assert_eq!(answer.action, format!("{WST}/RSTRC/CancelFinal"));
    assert_eq!(
        text(&answer)
            .matches("<wst:RequestedTokenCancelled>")
            .count(),
        2
    );
    assert!(!holds(&sts, &first) && !holds(&sts, &second));
    assert!(holds(&sts, &bobs));
}

#[test]
fn assertions_are_renewed_together_or_not_at_all() {
    let sts = cancelling();
    let alice = by_password("alice");
    let of = |name: &str| sts.issued(&issue(FRONT, "Bearer", ""), &by_password(name));
    let (first, second, bobs) = (of("alice"), of("alice"), of("bob"));
    let answer = sts.answer(&both("Renew", &first, &second), &alice);
    assert_eq!(answer.expect("an answer").issued.len(), 2);
    // That of another subject, whose bearer would have it for longer.
    let alone = sts.refusal(&target("Renew", &bobs), &alice);
    assert_eq!(sts.refusal(&both("Renew", &first, &bobs), &alice), alone);
    // One that is over.
    sts.answer(&target("Cancel", &second), &alice)
        .expect("an answer");
    let problem = "it was cancelled".to_owned();
    let cancelled = Refusal::TokenRejected { problem };
    assert_eq!(
        sts.refusal(&both("Renew", &first, &second), &alice),
        cancelled
    );
}

/// WS-Trust 1.4, 3.1: each answer repeats the context of its request.
#[test]
fn each_status_of_a_batch_is_that_of_its_request() {
    let sts = cancelling();
    let alice = by_password("alice");
    let good = sts.issued(&issue(FRONT, "Bearer", ""), &alice);
    let over = sts.issued(&issue(FRONT, "Bearer", ""), &alice);
    sts.answer(&target("Cancel", &over), &alice)
        .expect("an answer");
    let named = |context: &str, token: &str| {
        let named = format!("<wst:RequestSecurityToken Context='{context}'");
        target("Validate", token).replacen("<wst:RequestSecurityToken", &named, 1)
    };
    let requests = [named("urn:over", &over), named("urn:good", &good)];
    let answer = sts.answer(&together(&requests), &by_signature("CN=books"));
    let text = text(&answer.expect("an answer"));
    let (_, of_over) = text.split_once("Context=\"urn:over\"").expect("an answer");
    let (of_over, of_good) = of_over.split_once("Context=\"urn:good\"").expect("two");
    assert!(of_over.contains("/status/invalid<"), "{text}");
    assert!(of_good.contains("/status/valid<"), "{text}");
}

/// What a client asks for, for either service.
fn wanted() -> [TokenRules; 2] {
    [
        (BOOKS, "https://books.example"),
        (FRONT, "https://front.example"),
    ]
    .map(|(address, audience)| {
        let mut rules = TokenRules::new(AssertionPolicy {
            audiences: vec![audience.to_owned()],
            ..AssertionPolicy::default()
        });
        rules.applies_to = Some(AppliesTo::new(address, AddressingVersion::V10));
        rules.issuers = Arc::new([issuer(ISSUER, certificate("CN=sts"))]);
        rules
    })
}

/// What our client takes of the answer of our service, after that was changed.
fn taken(change: impl FnOnce(String) -> String) -> Result<Vec<String>, TrustError> {
    let sts = Sts::new();
    let rules = wanted();
    let (pending, asked) = PendingTokens::issue(&rules, sts.now).expect("a request");
    assert_eq!(asked.action, format!("{WST}/BatchIssue"));
    let body = String::from_utf8(asked.body).expect("text");
    let answer = sts.answer(&body, &by_password("alice")).expect("an answer");
    let changed = message(&change(text(&answer)));
    let granted = pending.accept(&rules, changed.body(), sts.now)?;
    Ok(granted.into_iter().map(|one| one.name.value).collect())
}

/// The two answers of a collection, with what is around them.
fn parts(text: &str) -> [String; 4] {
    let start = "<wst:RequestSecurityTokenResponse ";
    let first = text.find(start).expect("an answer");
    let second = first + 1 + text[first + 1..].find(start).expect("another one");
    let end = text.rfind("</wst:RequestSecurityTokenResponseCollection>");
    let end = end.expect("its end");
    [
        &text[..first],
        &text[first..second],
        &text[second..end],
        &text[end..],
    ]
    .map(str::to_owned)
}

#[test]
fn a_client_takes_all_that_it_asked_for_in_whatever_order() {
    assert_eq!(taken(|text| text), Ok(vec!["alice".to_owned(); 2]));
    let swapped = taken(|text| {
        let [head, first, second, end] = parts(&text);
        [head, second, first, end].concat()
    });
    assert_eq!(swapped, Ok(vec!["alice".to_owned(); 2]));
}

/// An answer that grants one token twice, or to the other request, gives none.
#[test]
fn a_client_takes_nothing_of_an_answer_that_is_not_to_all_requests() {
    let fewer = taken(|text| {
        let [head, first, _, end] = parts(&text);
        [head, first, end].concat()
    });
    assert_eq!(fewer, Err(TrustError::AnswerCount { found: 1 }));
    let twice = taken(|text| {
        let [head, first, second, end] = parts(&text);
        let context = |answer: &str| {
            let (_, rest) = answer.split_once("Context=\"").expect("a context");
            rest.split_once('"').expect("its end").0.to_owned()
        };
        let second = second.replace(&context(&second), &context(&first));
        [head, first, second, end].concat()
    });
    let refused = matches!(twice, Err(TrustError::AnotherRequestAnswered { .. }));
    assert!(refused, "{twice:?}");
    // The contexts stay, and the tokens change places: each is for the other service.
    let crossed = taken(|text| {
        let [head, first, second, end] = parts(&text);
        let token = |answer: &str| {
            let from = answer
                .find("<wst:RequestedSecurityToken>")
                .expect("a token");
            let close = "</wst:RequestedSecurityToken>";
            let to = answer.find(close).expect("its end") + close.len();
            answer[from..to].to_owned()
        };
        let (one, other) = (token(&first), token(&second));
        let (first, second) = (first.replace(&one, &other), second.replace(&other, &one));
        [head, first, second, end].concat()
    });
    let refused = matches!(crossed, Err(TrustError::AssertionRefused(_)));
    assert!(refused, "{crossed:?}");
}

#[test]
fn a_client_asks_for_few_tokens_at_once_and_in_a_version_that_has_batches() {
    let sts = Sts::new();
    let asked = |rules: &[TokenRules]| PendingTokens::issue(rules, sts.now).map(drop);
    let [books, front] = wanted();
    let alone = asked(&[books]);
    assert_eq!(alone, Err(TrustError::BatchSize { found: 1 }));
    let many: Vec<TokenRules> = (0..5).flat_map(|_| wanted()).collect();
    assert_eq!(asked(&many), Err(TrustError::BatchSize { found: 10 }));
    let [mut old, _] = wanted();
    old.version = TrustVersion::February2005;
    let found = TrustVersion::February2005;
    assert_eq!(asked(&[front, old]), Err(TrustError::Version { found }));
}
