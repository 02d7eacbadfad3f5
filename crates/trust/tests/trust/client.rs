//! What a client must not accept, each by its clause or its attack.

use soapstone_crypto::base64;
use soapstone_trust::{
    ClientRules, ComputedKey, MessageError, PendingCancel, PendingIssue, PendingValidate,
    TrustError, TrustVersion,
};
use soapstone_wss::{ContextOwner, SecurityContext};

use crate::support::{
    Host, WSC, WST, WST_2005, after, alice, context, envelope, holder, now, user,
};

/// An honest answer to a new request, to be changed on its way.
struct Exchange {
    pending: PendingIssue,
    answer: String,
    /// Our entropy, in base64.
    entropy: String,
}

pub(crate) fn between<'t>(text: &'t str, start: &str, end: &str) -> &'t str {
    let (_, rest) = text.split_once(start).expect(start);
    rest.split_once(end).expect(end).0
}

fn exchange(rules: &ClientRules) -> Exchange {
    let (pending, request) = PendingIssue::issue(rules, None, now());
    let answer = Host::new(|rules| rules.computed_keys.push(ComputedKey::PSha256))
        .answer(&request.body, Some(&request.action), &alice(), now())
        .unwrap();
    let text = String::from_utf8(request.body).unwrap();
    Exchange {
        pending,
        answer: String::from_utf8(answer.body).unwrap(),
        entropy: between(&text, "/Nonce\">", "<").to_owned(),
    }
}

/// Why a client with `rules` does not accept the honest answer after `change`.
fn refused_with(rules: &ClientRules, change: impl FnOnce(&Exchange) -> String) -> TrustError {
    let exchange = exchange(rules);
    let changed = change(&exchange);
    assert_ne!(changed, exchange.answer);
    let body = envelope(changed.as_bytes());
    let refused = exchange.pending.accept(body.body(), user("service"), now());
    refused.map(|context| context.name()).unwrap_err()
}

fn refused(change: impl FnOnce(&Exchange) -> String) -> TrustError {
    refused_with(&ClientRules::default(), change)
}

/// The answer with the text between two marks replaced.
pub(crate) fn with(answer: &str, start: &str, end: &str, new: &str) -> String {
    let old = between(answer, start, end);
    answer.replacen(
        &format!("{start}{old}{end}"),
        &format!("{start}{new}{end}"),
        1,
    )
}

const NONCE: &str = "/Nonce\">";

/// A man in the middle who can write the answer sends the client's entropy back, so that both parts
/// of the key are one.
#[test]
fn reflected_entropy_is_refused() {
    let refusal = refused(|it| with(&it.answer, NONCE, "<", &it.entropy));
    assert_eq!(refusal, TrustError::EntropyReflected);
}

/// Entropy that can be guessed, or none at all.
#[test]
fn short_and_missing_entropy_is_refused() {
    for found in [1, 15] {
        let short = base64::encode(&vec![7; found]);
        let refusal = refused(|it| with(&it.answer, NONCE, "<", &short));
        let minimum = 16;
        assert_eq!(refusal, TrustError::EntropyLength { found, minimum });
    }
    let refusal = refused(|it| {
        let entropy = between(&it.answer, "<wst:Entropy>", "</wst:Entropy>");
        it.answer
            .replace(&format!("<wst:Entropy>{entropy}</wst:Entropy>"), "")
    });
    assert_eq!(refusal, TrustError::EntropyMissing);
}

/// Substituted entropy gives another key than the service has: the next message fails, and nobody
/// else knows the key.
#[test]
fn substituted_entropy_gives_a_key_that_nobody_knows() {
    let it = exchange(&ClientRules::default());
    let substitute = base64::encode(&[7; 32]);
    let changed = with(&it.answer, NONCE, "<", &substitute);
    let context = it
        .pending
        .accept(envelope(changed.as_bytes()).body(), user("service"), now())
        .unwrap();
    let ours = base64::decode_xml_to_vec(it.entropy.as_bytes()).unwrap();
    let expected = ComputedKey::PSha1.compute(&ours, &[7; 32], 32).unwrap();
    assert_eq!(context.secret.expose(), expected.expose());
    assert_ne!(context.secret.expose(), &[7; 32]);
}

/// A key that the attacker chose alone, although the client contributed (WS-Trust 1.4, 4.4.3).
#[test]
fn a_key_without_our_entropy_is_refused_unless_the_rules_take_it() {
    let forged = |it: &Exchange| {
        let key = base64::encode(&[7; 32]);
        let secret =
            format!("<wst:BinarySecret Type=\"{WST}/SymmetricKey\">{key}</wst:BinarySecret>");
        with(
            &it.answer,
            "<wst:RequestedProofToken>",
            "</wst:RequestedProofToken>",
            &secret,
        )
    };
    assert_eq!(refused(forged), TrustError::EntropyIgnored);

    let mut rules = ClientRules::default();
    rules.issuer_key_alone = true;
    let it = exchange(&rules);
    let changed = forged(&it);
    let context = it
        .pending
        .accept(envelope(changed.as_bytes()).body(), user("service"), now())
        .unwrap();
    assert_eq!(context.secret.expose(), &[7; 32]);
}

/// The requestor's entropy alone is no key here: a service that contributes nothing cannot be told
/// from a cut answer.
#[test]
fn an_answer_without_a_proof_token_is_refused() {
    let refusal = refused(|it| {
        let start = "<wst:RequestedProofToken>";
        let end = "</wst:RequestedProofToken>";
        let proof = between(&it.answer, start, end);
        it.answer.replace(&format!("{start}{proof}{end}"), "")
    });
    assert_eq!(refusal, TrustError::ProofMissing);
}

/// Downgrade of what was asked for.
#[test]
fn another_computation_or_a_shorter_key_than_asked_for_is_refused() {
    let mut rules = ClientRules::default();
    rules.computed_key = ComputedKey::PSha256;
    let found = format!("{WST}/CK/PSHA1");
    let refusal = refused_with(&rules, |it| it.answer.replace("CK/PSHA256", "CK/PSHA1"));
    assert_eq!(refusal, TrustError::ComputedKeyRefused { found });
    let found = format!("{WST}/CK/HASH");
    let refusal = refused(|it| it.answer.replace("CK/PSHA1", "CK/HASH"));
    assert_eq!(refusal, TrustError::ComputedKeyRefused { found });
    for found in [0, 8, 128, 248, 257, 520, u32::MAX] {
        let size = found.to_string();
        let refusal = refused(|it| with(&it.answer, "<wst:KeySize>", "<", &size));
        let minimum = 256;
        assert_eq!(refusal, TrustError::KeySize { found, minimum });
    }
}

/// A key of the service's whose length is another than it says, or than was asked for.
#[test]
fn a_key_of_the_wrong_length_is_refused() {
    let mut rules = ClientRules::default();
    rules.entropy = false;
    for (octets, said) in [
        (16, "256"),
        (31, "256"),
        (65, "512"),
        (64, "256"),
        (32, "512"),
    ] {
        let key = base64::encode(&vec![7; octets]);
        let (pending, _) = PendingIssue::issue(&rules, None, now());
        let answer = Host::default()
            .answer(
                crate::support::request("Issue", "").as_bytes(),
                None,
                &alice(),
                now(),
            )
            .unwrap();
        let answer = String::from_utf8(answer.body).unwrap();
        let answer = with(&answer, "SymmetricKey\">", "<", &key);
        let answer = with(&answer, "<wst:KeySize>", "<", said);
        let refused = pending.accept(
            envelope(answer.as_bytes()).body(),
            ContextOwner::Anonymous,
            now(),
        );
        let (found, minimum) = (octets as u32 * 8, 256);
        assert_eq!(
            refused.map(drop),
            Err(TrustError::KeySize { found, minimum }),
            "{octets} {said}"
        );
    }
}

/// A computed key was not asked for: whose entropy would it be?
#[test]
fn a_computed_key_is_refused_where_we_sent_no_entropy() {
    let mut rules = ClientRules::default();
    rules.entropy = false;
    let (pending, _) = PendingIssue::issue(&rules, None, now());
    let answer = exchange(&ClientRules::default()).answer;
    let refused = pending.accept(
        envelope(answer.as_bytes()).body(),
        ContextOwner::Anonymous,
        now(),
    );
    assert_eq!(refused.map(drop), Err(TrustError::EntropyMissing));
}

/// WS-Trust 1.4, 4.4: two values, of which two readers could take different ones.
#[test]
fn an_element_that_occurs_twice_is_refused() {
    for local in [
        "TokenType",
        "RequestedSecurityToken",
        "RequestedAttachedReference",
        "RequestedUnattachedReference",
        "RequestedProofToken",
        "Entropy",
        "Lifetime",
        "KeySize",
    ] {
        let refusal = refused(|it| {
            let end = format!("</wst:{local}>");
            let inside = between(&it.answer, &format!("<wst:{local}>"), &end);
            let again = inside.replace("wsu:Id=\"sct", "wsu:Id=\"again");
            let twice = format!("{end}<wst:{local}>{again}{end}");
            it.answer.replacen(&end, &twice, 1)
        });
        let element = format!("{{{WST}}}{local}");
        let duplicate = MessageError::Duplicate { element, line: 1 };
        assert_eq!(refusal, TrustError::Malformed(duplicate));
    }
}

#[test]
fn an_element_of_ws_trust_that_is_not_understood_is_refused() {
    let end = "</wst:RequestSecurityTokenResponse>";
    let refusal = refused(|it| {
        it.answer
            .replace(end, &format!("<wst:SignChallenge/>{end}"))
    });
    let element = format!("{{{WST}}}SignChallenge");
    assert_eq!(refusal, TrustError::NotUnderstood { element });
    let it = exchange(&ClientRules::default());
    let extended = it.answer.replace(end, &format!("<x xmlns='urn:x'/>{end}"));
    let body = envelope(extended.as_bytes());
    it.pending
        .accept(body.body(), user("service"), now())
        .unwrap();
}

/// WS-Trust 1.4, 4.3: one token was asked for.
#[test]
fn answers_in_other_numbers_and_versions_are_refused() {
    let refusal = refused(|it| {
        let end = "</wst:RequestSecurityTokenResponse>";
        let one = between(&it.answer, "<wst:RequestSecurityTokenResponse>", end);
        let again = one.replace("wsu:Id=\"sct", "wsu:Id=\"again");
        let twice = format!("{end}<wst:RequestSecurityTokenResponse>{again}{end}");
        it.answer.replace(end, &twice)
    });
    assert_eq!(refusal, TrustError::AnswerCount { found: 2 });
    let empty = format!("<wst:RequestSecurityTokenResponseCollection xmlns:wst='{WST}'/>");
    assert_eq!(refused(|_| empty), TrustError::AnswerCount { found: 0 });
    let found = TrustVersion::February2005;
    let old = format!("<wst:RequestSecurityTokenResponse xmlns:wst='{WST_2005}'/>");
    assert_eq!(refused(|_| old), TrustError::Version { found });
    let request = crate::support::request("Issue", "");
    assert!(matches!(refused(|_| request), TrustError::Malformed(_)));
    assert!(matches!(
        refused(|_| String::new()),
        TrustError::Malformed(_)
    ));
}

#[test]
fn other_tokens_than_asked_for_are_refused() {
    let start = "<wst:RequestedSecurityToken>";
    let end = "</wst:RequestedSecurityToken>";
    let saml = "<s:Assertion xmlns:s='urn:oasis:names:tc:SAML:2.0:assertion'/>";
    let found = Some("{urn:oasis:names:tc:SAML:2.0:assertion}Assertion".to_owned());
    let refusal = refused(|it| with(&it.answer, start, end, saml));
    assert_eq!(refusal, TrustError::TokenMissing { found });
    let refusal = refused(|it| {
        let token = between(&it.answer, start, end);
        it.answer.replace(&format!("{start}{token}{end}"), "")
    });
    assert_eq!(refusal, TrustError::TokenMissing { found: None });
    let old = "http://schemas.xmlsoap.org/ws/2005/02/sc";
    let refusal = refused(|it| {
        let token = between(&it.answer, start, end).replace(WSC, old);
        with(&it.answer, start, end, &token)
    });
    let found = Some(format!("{old}/sct"));
    assert_eq!(refusal, TrustError::TokenMissing { found });
    let refusal = refused(|it| with(&it.answer, "<wst:TokenType>", "<", "urn:other"));
    let found = Some("urn:other".to_owned());
    assert_eq!(refusal, TrustError::TokenMissing { found });
}

/// WS-Trust 1.4, 4.4.2: references that lead to another context than the token's, foreign or fixed
/// by somebody else.
#[test]
fn references_to_another_context_are_refused() {
    for (start, end, new) in [
        (
            "<wst:RequestedUnattachedReference>",
            "</wst:RequestedUnattachedReference>",
            "urn:uuid:foreign",
        ),
        (
            "<wst:RequestedAttachedReference>",
            "</wst:RequestedAttachedReference>",
            "#foreign",
        ),
    ] {
        let refusal = refused(|it| {
            let reference = between(&it.answer, start, end);
            let uri = between(reference, "URI=\"", "\"");
            with(&it.answer, start, end, &reference.replace(uri, new))
        });
        assert!(
            matches!(&refusal, TrustError::ContextMismatch { found, .. } if found.contains("foreign")),
            "{refusal}"
        );
    }
}

/// BSP 1.1, R3213, R3215, R3225 and R3226: the times of a context are read like those of a
/// Timestamp.
#[test]
fn a_lifetime_with_a_second_60_or_a_value_type_is_refused() {
    for (from, to) in [
        ("<wsu:Created", "<wsu:Created ValueType=\"xsd:dateTime\""),
        ("<wsu:Expires", "<wsu:Expires ValueType=\"xsd:dateTime\""),
        (":00.000Z</wsu:Created>", ":60Z</wsu:Created>"),
        (":00.000Z</wsu:Expires>", ":60Z</wsu:Expires>"),
    ] {
        let refusal = refused(|it: &Exchange| {
            let changed = it.answer.replacen(from, to, 1);
            assert_ne!(changed, it.answer, "{from}");
            changed
        });
        assert!(matches!(refusal, TrustError::Malformed(_)), "{refusal}");
    }
}

/// A context that has ended, has not begun, or never ends.
#[test]
fn absurd_lifetimes_are_refused_and_long_ones_cut() {
    let life = |created: i64, expires: i64| {
        let lifetime = crate::support::lifetime(created, expires);
        move |it: &Exchange| {
            let inside = between(&lifetime, "<wst:Lifetime>", "</wst:Lifetime>")
                .replace(
                    "<wsu:Created>",
                    &format!("<wsu:Created xmlns:wsu='{}'>", crate::support::WSU),
                )
                .replace(
                    "<wsu:Expires>",
                    &format!("<wsu:Expires xmlns:wsu='{}'>", crate::support::WSU),
                );
            with(&it.answer, "<wst:Lifetime>", "</wst:Lifetime>", &inside)
        }
    };
    for (created, expires) in [(-600, 0), (-600, -1), (10, 10), (20, 10), (301, 900)] {
        let refusal = refused(life(created, expires));
        assert!(
            matches!(refusal, TrustError::LifetimeRefused { .. }),
            "{refusal}"
        );
    }
    for (created, expires, believed) in [(0, 60, 60), (-60, 60, 60), (0, 1_000_000, 86_400)] {
        let it = exchange(&ClientRules::default());
        let changed = life(created, expires)(&it);
        let body = envelope(changed.as_bytes());
        let context = it
            .pending
            .accept(body.body(), user("service"), now())
            .unwrap();
        assert_eq!(context.expires, after(believed));
    }
    let it = exchange(&ClientRules::default());
    let inside = between(&it.answer, "<wst:Lifetime>", "</wst:Lifetime>").to_owned();
    let without = it
        .answer
        .replace(&format!("<wst:Lifetime>{inside}</wst:Lifetime>"), "");
    let body = envelope(without.as_bytes());
    let context = it
        .pending
        .accept(body.body(), user("service"), now())
        .unwrap();
    assert_eq!(context.expires, after(300));
}

/// A context that the client and `service` share, and the answer to its renewal.
fn renewal(change: impl FnOnce(&str) -> String) -> Result<SecurityContext, TrustError> {
    let host = Host::default();
    let theirs = context("urn:uuid:theirs");
    let ours = SecurityContext {
        owner: user("service"),
        ..theirs.clone()
    };
    host.contexts.borrow_mut().push(theirs.clone());
    let (pending, request) = PendingIssue::renew(&ClientRules::default(), &ours, now());
    let signed = holder(user("alice"), &theirs);
    let answer = host
        .answer(&request.body, Some(&request.action), &signed, now())
        .unwrap();
    let changed = change(&String::from_utf8(answer.body).unwrap());
    pending.accept(envelope(changed.as_bytes()).body(), user("service"), now())
}

/// WS-SecureConversation 1.4, 5: the renewed context is the one that was to be renewed, with
/// another key.
#[test]
fn the_answer_to_a_renewal_is_about_that_context_and_a_new_instance() {
    renewal(str::to_owned).unwrap();
    let refused = renewal(|answer| answer.replace("urn:uuid:theirs", "urn:uuid:foreign"));
    let refused = refused.map(|context| context.name()).unwrap_err();
    assert!(
        matches!(refused, TrustError::ContextMismatch { .. }),
        "{refused}"
    );
    let refused = renewal(|answer| {
        let instance = between(answer, "<wsc:Instance>", "</wsc:Instance>");
        answer.replace(&format!("<wsc:Instance>{instance}</wsc:Instance>"), "")
    });
    let refused = refused.map(|context| context.name()).unwrap_err();
    assert!(
        matches!(refused, TrustError::InstanceUnchanged { .. }),
        "{refused}"
    );
}

/// Somebody else answers in the name of the service.
#[test]
fn a_renewal_that_somebody_else_answers_is_refused() {
    let host = Host::default();
    let theirs = context("urn:uuid:theirs");
    let ours = SecurityContext {
        owner: user("service"),
        ..theirs.clone()
    };
    let (pending, request) = PendingIssue::renew(&ClientRules::default(), &ours, now());
    let signed = holder(user("alice"), &theirs);
    let answer = host
        .answer(&request.body, Some(&request.action), &signed, now())
        .unwrap();
    let refused = pending.accept(envelope(&answer.body).body(), user("mallory"), now());
    assert_eq!(refused.map(drop), Err(TrustError::PeerChanged));
}

/// WS-SecureConversation 1.4, 4: amending changes no key.
#[test]
fn an_amendment_that_brings_a_key_is_refused() {
    let ours = context("urn:uuid:theirs");
    let (pending, _) = PendingIssue::amend(&ClientRules::default(), &ours);
    let renewed = exchange(&ClientRules::default()).answer;
    let identifier = between(&renewed, "<wsc:Identifier>", "<").to_owned();
    let forged = renewed.replace(&identifier, "urn:uuid:theirs");
    let refused = pending.accept(envelope(forged.as_bytes()).body(), user("alice"), now());
    assert_eq!(refused.map(drop), Err(TrustError::ProofUnexpected));
}

#[test]
fn an_answer_to_something_else_cancels_and_validates_nothing() {
    let answer = exchange(&ClientRules::default()).answer;
    let body = envelope(answer.as_bytes());
    let ours = context("urn:uuid:theirs");
    let (pending, _) = PendingCancel::new(&ours);
    assert_eq!(pending.accept(body.body()), Err(TrustError::NotCancelled));
    let (pending, _) = PendingValidate::new(ours.name());
    assert_eq!(pending.accept(body.body()), Err(TrustError::StatusMissing));
}

#[test]
fn a_request_shows_no_entropy_in_logs() {
    let (pending, request) = PendingIssue::issue(&ClientRules::default(), None, now());
    let text = String::from_utf8(request.body.clone()).unwrap();
    let entropy = between(&text, NONCE, "<");
    assert_eq!(entropy.len(), 44);
    assert!(!format!("{request:?} {pending:?}").contains(entropy));
}
