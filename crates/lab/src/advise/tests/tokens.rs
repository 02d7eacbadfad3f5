//! Messages under tokens, ranked where the source of the token is there.

use super::*;

/// The same with messages under tokens: a shared key is cheapest, and each other token dearer.
fn with_tokens() -> Vec<Measurement> {
    let mut all = measurements();
    let tokens = [
        "shared",
        "kerberos-once",
        "kerberos",
        "password",
        "saml-holder",
    ];
    for (place, binding) in tokens.into_iter().enumerate() {
        let fixed = 10.0 * (place + 1) as f64;
        all.extend(lines("sign-encrypt", "Basic128GCM", binding, fixed, 3_000));
    }
    all
}

#[test]
fn a_token_is_ranked_beside_the_others_where_its_source_is_there() {
    let of = |sources: &[Source]| {
        let workload = Workload {
            sources: sources.to_vec(),
            ..workload(&[Need::Integrity, Need::Confidentiality, Need::Intermediaries])
        };
        let advice = Models::of(&with_tokens()).advise(&workload, |suite| suite == "Basic128GCM");
        let ranked = advice.ranked.iter().map(|it| it.means.to_string());
        ranked.collect::<Vec<_>>()
    };
    let others = [
        "secure-conversation/Basic128GCM".to_owned(),
        "sign-encrypt/Basic128GCM".to_owned(),
    ];
    assert_eq!(of(&[]), others);
    let named = |sources: &[Source], expected: &[&str]| {
        let expected = expected.iter().map(|it| format!("{it}/Basic128GCM"));
        let expected: Vec<String> = expected.chain(others.clone()).collect();
        assert_eq!(of(sources), expected);
    };
    named(
        &[Source::Kdc],
        &["sign-encrypt-kerberos-once", "sign-encrypt-kerberos"],
    );
    named(&[Source::Passwords], &["sign-encrypt-password"]);
    named(
        &[Source::Issuer, Source::SharedKey],
        &["sign-encrypt-hmac", "sign-encrypt-saml-holder"],
    );
}

#[test]
fn a_partner_that_was_not_tried_with_a_token_leaves_it_out() {
    let workload = Workload {
        sources: Source::ALL.to_vec(),
        partners: vec![Partner::Cxf],
        ..workload(&[Need::Integrity, Need::Intermediaries])
    };
    let advice = Models::of(&with_tokens()).advise(&workload, |suite| suite == "Basic128GCM");
    let left_out = advice
        .left_out
        .iter()
        .find(|it| it.means.proof == Proof::SharedKey);
    assert_eq!(
        left_out.map(|it| (it.demand, it.why)),
        Some((
            Demand::Partner(Partner::Cxf),
            "it was not tried with a shared key"
        ))
    );
    let ranked = |proof| advice.ranked.iter().any(|it| it.means.proof == proof);
    assert!(ranked(Proof::Kerberos) && ranked(Proof::SamlHolder));
}
