//! `sp:KerberosToken` (WS-SecurityPolicy 1.3, 5.4.4) in the places where it may stand, and refused
//! in the others.

use soapstone_policy::Unwritable;
use soapstone_wss::{
    Binding, EndorsingKey, KerberosForm, KerberosPolicy, Part, SupportingToken, SymmetricToken,
};

use crate::refusals::not_supported;
use crate::support::*;

fn kerberos(inner: &str) -> String {
    token("KerberosToken", "Once", inner)
}

const GSS: &str = "<sp:WssGssKerberosV5ApReqToken11/>";
const RAW: &str = "<sp:WssKerberosV5ApReqToken11/>";

const WANTED: KerberosPolicy = KerberosPolicy {
    form: KerberosForm::Gss,
    carried: true,
    by_identifier: false,
};

#[test]
fn the_token_protects_messages_and_its_session_their_answers() {
    let binding = |inner: &str| symmetric(&kerberos(inner), &suite("Basic256"));
    let by_identifier = format!("{GSS}<sp:RequireKeyIdentifierReference/>");
    for (inner, wanted) in [
        ("", WANTED),
        (GSS, WANTED),
        (
            RAW,
            KerberosPolicy {
                form: KerberosForm::Raw,
                ..WANTED
            },
        ),
        (
            &by_identifier,
            KerberosPolicy {
                by_identifier: true,
                ..WANTED
            },
        ),
    ] {
        let found = agreement(&format!("{}{SIGNED_BODY}{ENCRYPTED_BODY}", binding(inner)));
        let Binding::Symmetric(keys) = &found.request.binding else {
            panic!("{:?}", found.request.binding);
        };
        assert_eq!(keys.key, SymmetricToken::Kerberos(wanted));
        assert_eq!(keys.derived_keys, None);
        assert!(found.request.signs(&Part::Body) && found.request.encrypts(&Part::Body));
        // Answers have the session, and no token.
        let answered = found.response.kerberos().map(|wanted| wanted.carried);
        assert_eq!(answered, Some(false));
    }
    let derived = binding("<sp:RequireDerivedKeys/>");
    let found = agreement(&format!("{derived}{SIGNED_BODY}"));
    assert!(found.request.derived_keys().is_some());
}

#[test]
fn the_token_endorses_or_says_who_sends() {
    let tls = transport("<sp:IncludeTimestamp/>");
    let endorsing = nest("EndorsingSupportingTokens", &kerberos(GSS));
    let found = agreement(&format!("{tls}{endorsing}"));
    let by = |request: &soapstone_wss::Policy| match request.endorsing().next() {
        Some(token) => match token.key {
            EndorsingKey::Kerberos { token, .. } => Some(token),
            _ => None,
        },
        None => None,
    };
    assert_eq!(by(&found.request), Some(WANTED));
    assert!(found.request.signs(&Part::Timestamp));
    assert_eq!(found.response.kerberos(), None);
    let binding = asymmetric(&suite("Basic256")) + SIGNED_BODY;
    let found = agreement(&format!("{binding}{endorsing}"));
    assert_eq!(by(&found.request), Some(WANTED));
    for kind in ["SupportingTokens", "SignedSupportingTokens"] {
        let found = agreement(&format!("{tls}{}", nest(kind, &kerberos(GSS))));
        let expected = [SupportingToken::Kerberos(WANTED)];
        assert_eq!(found.request.supporting, expected, "{kind}");
        assert_eq!(found.response.kerberos(), None);
    }
}

#[test]
fn a_token_in_another_place_is_refused_by_name() {
    let tls = transport("<sp:IncludeTimestamp/>");
    let binding = asymmetric(&suite("Basic256")) + SIGNED_BODY;
    let plain = nest("SupportingTokens", &kerberos(GSS));
    let hidden = nest("EndorsingEncryptedSupportingTokens", &kerberos(GSS));
    let two = plain.clone() + &nest("EndorsingSupportingTokens", &kerberos(GSS));
    let never = symmetric(&token("KerberosToken", "Never", ""), &suite("Basic256"));
    let issued = kerberos("").replace(
        "<wsp:Policy>",
        "<sp:IssuerName>urn:kdc</sp:IssuerName><wsp:Policy>",
    );
    let thumbprint = kerberos("<sp:RequireThumbprintReference/>");
    for (assertions, reason) in [
        (
            format!("{binding}{plain}"),
            "a Kerberos token whose key does nothing is tied to no message: let it endorse",
        ),
        (
            format!("{binding}{hidden}"),
            "a Kerberos token is accepted before anything is deciphered: it cannot be encrypted",
        ),
        (
            format!("{tls}{two}"),
            "a message has one Kerberos token, and belongs to no conversation beside it",
        ),
        (
            never + SIGNED_BODY,
            "a Kerberos token that is not in requests begins no session",
        ),
        (
            symmetric(&issued, &suite("Basic256")) + SIGNED_BODY,
            "issuers and claims of Kerberos tokens are a matter of the endpoint, not of policies",
        ),
        (
            symmetric(&thumbprint, &suite("Basic256")) + SIGNED_BODY,
            "a Kerberos token is referred to in the message, or by the SHA-1 of its bytes",
        ),
    ] {
        let (name, found) = not_supported(&assertions);
        assert_eq!((name.as_str(), found), ("KerberosToken", reason));
    }
}

#[test]
fn the_algorithms_of_an_endorsing_token_are_told() {
    let endorsing = nest("EndorsingSupportingTokens", &kerberos(GSS));
    let binding = asymmetric(&suite("Basic256")) + SIGNED_BODY;
    let request = agreement(&format!("{binding}{endorsing}")).request;
    assert_eq!(
        soapstone_policy::message_in_words(&request)[0],
        "Algorithms: Basic256 (hmac-sha1, rsa-sha1, sha1)."
    );
}

/// A client that was not told of the token would be refused without it.
#[test]
fn a_policy_with_the_token_is_not_written() {
    let tls = transport("<sp:IncludeTimestamp/>");
    let supporting = |kind: &str| nest(kind, &kerberos(GSS));
    let binding = asymmetric(&format!("{}<sp:IncludeTimestamp/>", suite("Basic256")));
    let protecting = symmetric(
        &kerberos(GSS),
        &format!("{}<sp:IncludeTimestamp/>", suite("Basic256")),
    );
    for assertions in [
        format!("{tls}{}", supporting("SupportingTokens")),
        format!("{tls}{}", supporting("SignedSupportingTokens")),
        format!("{tls}{}", supporting("EndorsingSupportingTokens")),
        format!(
            "{binding}{SIGNED_BODY}{}",
            supporting("EndorsingSupportingTokens")
        ),
        format!("{protecting}{SIGNED_BODY}{ENCRYPTED_BODY}"),
    ] {
        let written = agreement(&assertions)
            .write()
            .map(|written| written.to_xml());
        let problems = written.expect_err(&assertions);
        assert_eq!(problems, [Unwritable::Kerberos], "{assertions}");
    }
}
