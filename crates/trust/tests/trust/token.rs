//! Assertions that a client asks for, and what it must not accept in their place.

use std::sync::Arc;

use jiff::Timestamp;
use soapstone_crypto::{Identity, TrustRules, TrustStore};
use soapstone_testkit::assertion::{Assertion, ISSUER, Made};
use soapstone_testkit::keys;
use soapstone_trust::addressing::AddressingVersion;
use soapstone_trust::{
    AppliesTo, MessageError, OnBehalf, PendingToken, TokenKey, TokenRules, TrustError,
    TrustVersion, WantedClaims,
};
use soapstone_wss::{
    AssertionIssuer, AssertionPolicy, AssertionToken, IssuedAssertion, Rejected, SamlVersion,
};

use crate::support::{WST, WST_2005, envelope};

const AUDIENCE: &str = "https://books.example";

fn idp() -> Arc<Identity> {
    keys::identity("CN=idp", keys::RSA)
}

/// Rules of a bearer's token of the one issuer.
fn rules() -> TokenRules {
    let policy = AssertionPolicy {
        audiences: vec![AUDIENCE.to_owned()],
        ..AssertionPolicy::default()
    };
    let mut rules = TokenRules::new(policy);
    rules.applies_to = Some(AppliesTo::new(AUDIENCE, AddressingVersion::V10));
    let mut trust = TrustRules::default();
    trust.pinned.push(idp().certificate().clone());
    rules.issuers = [AssertionIssuer {
        name: ISSUER.to_owned(),
        trust: Some(TrustStore::new(trust).unwrap()),
    }]
    .into();
    rules
}

fn held(identity: &Identity) -> TokenRules {
    let mut rules = rules();
    rules.key = TokenKey::Public(identity.certificate().clone());
    rules
}

fn bearer() -> Assertion<'static> {
    Assertion {
        is_20: true,
        method: "bearer",
        holder: None,
        audience: Some(AUDIENCE),
        attributes: &[("role", "reader")],
    }
}

/// The answer to the request with that context, as CXF writes it.
fn answer(context: &str, version: SamlVersion, token: &str) -> String {
    let token_type = version.token_type();
    format!(
        "<wst:RequestSecurityTokenResponseCollection xmlns:wst=\"{WST}\">\
         <wst:RequestSecurityTokenResponse Context=\"{context}\"><wst:TokenType>{token_type}</wst:TokenType>\
         <wst:RequestedSecurityToken>{token}</wst:RequestedSecurityToken>\
         <wsp:AppliesTo xmlns:wsp=\"http://schemas.xmlsoap.org/ws/2004/09/policy\">\
         <wsa:EndpointReference xmlns:wsa=\"http://www.w3.org/2005/08/addressing\"><wsa:Address>{AUDIENCE}</wsa:Address>\
         </wsa:EndpointReference></wsp:AppliesTo><wst:Renewing/>\
         </wst:RequestSecurityTokenResponse></wst:RequestSecurityTokenResponseCollection>"
    )
}

/// What becomes of an answer that is made of the request's context.
fn concluded(
    rules: &TokenRules,
    answer: impl FnOnce(&str) -> String,
) -> Result<IssuedAssertion, TrustError> {
    let now = Timestamp::now();
    let (pending, request) = PendingToken::issue(rules, None, now);
    let body = String::from_utf8(request.body).unwrap();
    let (_, rest) = body.split_once("Context=\"").unwrap();
    let (context, _) = rest.split_once('"').unwrap();
    let envelope = envelope(answer(context).as_bytes());
    pending.accept(rules, envelope.body(), now)
}

#[track_caller]
fn refused(rules: &TokenRules, answer: impl FnOnce(&str) -> String) -> TrustError {
    concluded(rules, answer).expect_err("a refusal")
}

/// Why the assertion of an answer is refused.
#[track_caller]
fn unfit(rules: &TokenRules, version: SamlVersion, token: &str) -> Rejected {
    match refused(rules, |context| answer(context, version, token)) {
        TrustError::AssertionRefused(rejected) => *rejected,
        other => panic!("refused otherwise: {other}"),
    }
}

#[test]
fn a_request_says_what_is_asked_for() {
    let client = keys::identity("CN=client", keys::RSA);
    let mut rules = held(&client);
    rules.claims = Some(WantedClaims::Types(vec!["urn:role".to_owned()]));
    rules.lifetime = Some(std::time::Duration::from_secs(600));
    let user = bearer().about("alice", &idp());
    let user = AssertionToken::parse(user.into_bytes()).unwrap();
    let now = Timestamp::now();
    let (_, request) = PendingToken::issue(&rules, Some(OnBehalf::ActingAs(&user)), now);
    assert_eq!(request.action, format!("{WST}/RST/Issue"));
    assert!(request.confidential);
    let body = String::from_utf8(request.body).unwrap();
    for part in [
        "<wst:TokenType>http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1.1#SAMLV2.0</wst:TokenType>",
        "<wsa:Address>https://books.example</wsa:Address>",
        "<wst:Claims Dialect=\"http://schemas.xmlsoap.org/ws/2005/05/identity\"><ic:ClaimType xmlns:ic=\"http://schemas.xmlsoap.org/ws/2005/05/identity\" Uri=\"urn:role\"></ic:ClaimType></wst:Claims>",
        "<wst14:ActAs xmlns:wst14=\"http://docs.oasis-open.org/ws-sx/ws-trust/200802\"><saml:Assertion",
        "<wst:KeyType>http://docs.oasis-open.org/ws-sx/ws-trust/200512/PublicKey</wst:KeyType><wst:UseKey><ds:KeyInfo",
    ] {
        assert!(body.contains(part), "{part}\n{body}");
    }
    rules.version = TrustVersion::February2005;
    rules.key = TokenKey::Bearer;
    let (_, request) = PendingToken::issue(&rules, Some(OnBehalf::Of(&user)), now);
    assert_eq!(request.action, format!("{WST_2005}/RST/Issue"));
    let body = String::from_utf8(request.body).unwrap();
    for part in [
        "<wst:OnBehalfOf><saml:Assertion",
        "<wst:KeyType>http://schemas.xmlsoap.org/ws/2005/05/identity/NoProofKey</wst:KeyType>",
    ] {
        assert!(body.contains(part), "{part}\n{body}");
    }
}

#[test]
fn the_token_that_was_asked_for_is_taken() {
    let client = keys::identity("CN=client", keys::RSA);
    for version in SamlVersion::ALL {
        for key in [None, Some(&client)] {
            let mut rules = key.map_or_else(rules, |client| held(client));
            rules.assertion = version;
            let assertion = Assertion {
                is_20: version == SamlVersion::V20,
                method: key.map_or("bearer", |_| "holder-of-key"),
                holder: key.map(|client| client.certificate()),
                ..bearer()
            };
            let once = Made {
                once: true,
                ..Made::default()
            };
            for (made, once) in [(Made::default(), false), (once, true)] {
                let token = assertion.made("alice", &idp(), &made);
                let issued = concluded(&rules, |context| answer(context, version, &token)).unwrap();
                assert_eq!(issued.name.value, "alice");
                assert_eq!(issued.issuer, ISSUER);
                assert_eq!(issued.once, once);
                assert_eq!(issued.token.version(), version);
            }
        }
    }
}

/// The answer may end before the assertion does, and what it says is believed no longer than that.
#[test]
fn the_earliest_end_counts() {
    let mut rules = rules();
    let token = bearer().about("alice", &idp());
    let shorter = |context: &str| {
        let wsu = crate::support::WSU;
        let end = crate::support::now();
        let end = end.max(Timestamp::from_second(Timestamp::now().as_second() + 60).unwrap());
        let lifetime = format!(
            "<wst:Lifetime><wsu:Expires xmlns:wsu=\"{wsu}\">{end}</wsu:Expires></wst:Lifetime><wst:Renewing/>"
        );
        answer(context, SamlVersion::V20, &token).replace("<wst:Renewing/>", &lifetime)
    };
    let longest = |issued: &IssuedAssertion| issued.ends.as_second() - Timestamp::now().as_second();
    let by_answer = concluded(&rules, shorter).unwrap();
    assert!((50..=61).contains(&longest(&by_answer)), "{by_answer:?}");
    rules.longest_lifetime = std::time::Duration::from_secs(30);
    let whole = |context: &str| answer(context, SamlVersion::V20, &token);
    let by_rules = concluded(&rules, whole).unwrap();
    assert!((20..=31).contains(&longest(&by_rules)), "{by_rules:?}");
}

/// A thief of another subject's token, or a token service that was made to mix clients up.
#[test]
fn a_token_with_another_subjects_key_is_refused() {
    let client = keys::identity("CN=client", keys::RSA);
    let other = keys::identity("CN=other", keys::RSA);
    for version in SamlVersion::ALL {
        let mut rules = held(&client);
        rules.assertion = version;
        let token = Assertion {
            is_20: version == SamlVersion::V20,
            method: "holder-of-key",
            holder: Some(other.certificate()),
            ..bearer()
        };
        let token = token.about("alice", &idp());
        let expected = "it names another key than the one that was shown";
        assert_eq!(
            unfit(&rules, version, &token),
            Rejected::AssertionUnconfirmed {
                problem: expected.to_owned()
            }
        );
    }
}

/// The key would prove nothing: whoever has such a token is its subject.
#[test]
fn a_token_that_is_confirmed_otherwise_is_refused() {
    let client = keys::identity("CN=client", keys::RSA);
    let token = bearer().about("alice", &idp());
    assert_eq!(
        unfit(&held(&client), SamlVersion::V20, &token),
        Rejected::AssertionUnconfirmed {
            problem: "the method bearer was not asked for".to_owned()
        }
    );
    let vouched = Assertion {
        method: "sender-vouches",
        ..bearer()
    };
    assert_eq!(
        unfit(&rules(), SamlVersion::V20, &vouched.about("alice", &idp())),
        Rejected::AssertionUnconfirmed {
            problem: "the method sender-vouches was not asked for".to_owned()
        }
    );
}

#[test]
fn a_token_for_another_audience_is_refused() {
    for (audience, found) in [
        (Some("https://other.example"), "https://other.example"),
        (None, "none"),
    ] {
        let token = Assertion {
            audience,
            ..bearer()
        };
        assert_eq!(
            unfit(&rules(), SamlVersion::V20, &token.about("alice", &idp())),
            Rejected::AudienceMismatch {
                found: found.to_owned()
            }
        );
    }
}

#[test]
fn a_token_of_another_version_is_refused() {
    let token = Assertion {
        is_20: false,
        ..bearer()
    };
    let token = token.about("alice", &idp());
    assert_eq!(
        unfit(&rules(), SamlVersion::V20, &token),
        Rejected::TokenUnsupported {
            found: "an assertion of SAML 1.1".to_owned()
        }
    );
    // The answer may say so beside it.
    let refusal = refused(&rules(), |context| {
        answer(context, SamlVersion::V11, &token)
    });
    let found = Some(SamlVersion::V11.token_type().to_owned());
    assert_eq!(refusal, TrustError::AssertionMissing { found });
}

#[test]
fn tokens_that_do_not_hold_now_are_refused() {
    let expired = Made {
        begin: -900,
        end: -300,
        ..Made::default()
    };
    let future = Made {
        begin: 300,
        end: 900,
        ..Made::default()
    };
    // Forgiving clocks is for receivers: a token that has ended is not sent.
    let just_ended = Made {
        begin: -900,
        end: -10,
        ..Made::default()
    };
    for (made, name) in [
        (expired, "assertion-expired"),
        (future, "assertion-in-future"),
        (just_ended, "assertion-expired"),
    ] {
        let token = bearer().made("alice", &idp(), &made);
        assert_eq!(unfit(&rules(), SamlVersion::V20, &token).name(), name);
    }
    let token = bearer().about("alice", &idp());
    let wsu = crate::support::WSU;
    let past = format!(
        "<wst:Lifetime><wsu:Expires xmlns:wsu=\"{wsu}\">2020-01-01T00:00:00Z</wsu:Expires></wst:Lifetime><wst:Renewing/>"
    );
    let refusal = refused(&rules(), |context| {
        answer(context, SamlVersion::V20, &token).replace("<wst:Renewing/>", &past)
    });
    assert!(
        matches!(refusal, TrustError::LifetimeRefused { .. }),
        "{refusal}"
    );
}

#[test]
fn a_token_that_its_issuer_did_not_sign_is_refused() {
    let token = bearer().about("alice", &idp());
    let (start, rest) = token.split_once("<ds:Signature ").unwrap();
    let (_, end) = rest.split_once("</ds:Signature>").unwrap();
    let unsigned = format!("{start}{end}");
    assert_eq!(
        unfit(&rules(), SamlVersion::V20, &unsigned),
        Rejected::AssertionUnsigned
    );
    // An issuer that signs nothing vouches for nobody here.
    let mut nobody = rules();
    nobody.issuers = [AssertionIssuer {
        name: ISSUER.to_owned(),
        trust: None,
    }]
    .into();
    assert_eq!(
        unfit(&nobody, SamlVersion::V20, &unsigned),
        Rejected::AssertionUnsigned
    );
    let strange = bearer().about("alice", &keys::identity("CN=other", keys::RSA));
    let refusal = unfit(&rules(), SamlVersion::V20, &strange);
    assert_eq!(refusal.name(), "signature-mismatch", "{refusal}");
    let changed = token.replace("reader", "writer");
    let refusal = unfit(&rules(), SamlVersion::V20, &changed);
    assert_eq!(refusal.name(), "digest-mismatch", "{refusal}");
}

/// Two tokens are one that was asked for and one that was not; which of them a reader takes would
/// be the sender's choice.
#[test]
fn one_token_is_taken() {
    let token = bearer().about("alice", &idp());
    let made = Made {
        id: "_other",
        ..Made::default()
    };
    let other = bearer().made("bob", &idp(), &made);
    let refusal = refused(&rules(), |context| {
        answer(context, SamlVersion::V20, &format!("{token}{other}"))
    });
    let TrustError::Malformed(MessageError::Unexpected { expected, .. }) = &refusal else {
        panic!("{refusal}");
    };
    assert_eq!(*expected, "one token");
    let refusal = refused(&rules(), |context| {
        let one = answer(context, SamlVersion::V20, &token);
        let (start, rest) = one
            .split_once("<wst:RequestSecurityTokenResponse ")
            .unwrap();
        let (inner, end) = rest
            .split_once("</wst:RequestSecurityTokenResponse>")
            .unwrap();
        let inner =
            format!("<wst:RequestSecurityTokenResponse {inner}</wst:RequestSecurityTokenResponse>");
        format!("{start}{inner}{}{end}", inner.replace(&token, &other))
    });
    assert_eq!(refusal, TrustError::AnswerCount { found: 2 });
    let refusal = refused(&rules(), |context| {
        let requested = format!("<wst:RequestedSecurityToken>{token}</wst:RequestedSecurityToken>");
        let one = answer(context, SamlVersion::V20, &token);
        one.replace(
            &requested,
            &format!("{requested}{}", requested.replace(&token, &other)),
        )
    });
    assert!(
        matches!(
            refusal,
            TrustError::Malformed(MessageError::Duplicate { .. })
        ),
        "{refusal}"
    );
}

/// WS-Trust 1.4, 3.2: the context of a request is repeated in its answers.
#[test]
fn an_answer_to_an_earlier_request_is_refused() {
    let token = bearer().about("alice", &idp());
    let earlier = "urn:uuid:earlier";
    let refusal = refused(&rules(), |_| answer(earlier, SamlVersion::V20, &token));
    let found = Some(earlier.to_owned());
    assert_eq!(refusal, TrustError::AnotherRequestAnswered { found });
    let refusal = refused(&rules(), |context| {
        let one = answer(context, SamlVersion::V20, &token);
        one.replace(&format!(" Context=\"{context}\""), "")
    });
    assert_eq!(refusal, TrustError::AnotherRequestAnswered { found: None });
}

#[test]
fn an_answer_about_something_else_is_refused() {
    let token = bearer().about("alice", &idp());
    let changed = |from: &str, to: &str| {
        let (from, to) = (from.to_owned(), to.to_owned());
        let token = token.clone();
        refused(&rules(), move |context| {
            let one = answer(context, SamlVersion::V20, &token);
            let changed = one.replace(&from, &to);
            assert_ne!(one, changed);
            changed
        })
    };
    let elsewhere = "<wsa:Address>https://other.example</wsa:Address>";
    assert_eq!(
        changed(&format!("<wsa:Address>{AUDIENCE}</wsa:Address>"), elsewhere),
        TrustError::AppliesToRefused {
            found: "https://other.example".to_owned()
        }
    );
    let symmetric = format!("{WST}/SymmetricKey");
    assert_eq!(
        changed(
            "<wst:Renewing/>",
            &format!("<wst:KeyType>{symmetric}</wst:KeyType>")
        ),
        TrustError::KeyTypeRefused { found: symmetric }
    );
    assert_eq!(
        changed(
            "<wst:Renewing/>",
            "<wst:RequestedProofToken><wst:BinarySecret>MTIzNDU2Nzg5MDEyMzQ1Ng==</wst:BinarySecret></wst:RequestedProofToken>"
        ),
        TrustError::ProofUnexpected
    );
    assert_eq!(
        changed("<wst:Renewing/>", "<wst:RequestedTokenCancelled/>"),
        TrustError::NotUnderstood {
            element: "wst:RequestedTokenCancelled".to_owned()
        }
    );
    assert_eq!(
        changed(
            &format!("<wst:RequestedSecurityToken>{token}</wst:RequestedSecurityToken>"),
            ""
        ),
        TrustError::AssertionMissing { found: None }
    );
    assert_eq!(
        changed(WST, WST_2005),
        TrustError::Malformed(MessageError::Unexpected {
            expected: "`wst:RequestSecurityTokenResponse`",
            found: Some(format!(
                "{{{WST_2005}}}RequestSecurityTokenResponseCollection"
            )),
            line: 1
        })
    );
}

/// Thousands of assertions are kept: the size of each has a bound.
#[test]
fn an_assertion_that_is_too_large_is_refused() {
    let long = "x".repeat(128 << 10);
    let token = Assertion {
        attributes: &[("role", &long)],
        ..bearer()
    };
    let token = token.about("alice", &idp());
    match refused(&rules(), |context| {
        answer(context, SamlVersion::V20, &token)
    }) {
        TrustError::AssertionTooLarge { size, limit } => {
            assert!(size > limit && limit == 128 << 10, "{size} {limit}");
        }
        other => panic!("refused otherwise: {other}"),
    }
}
