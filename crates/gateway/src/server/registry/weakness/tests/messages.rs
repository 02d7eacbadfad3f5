//! In what messages are weaker: parts, algorithms, keys, tokens and the connection.

use soapstone::wss::UsernamePolicy;

use super::*;

fn weaker(described: &Policy, agreed: &Policy) -> Option<String> {
    super::super::weaker(Judged::alone(described), Judged::alone(agreed))
}

fn weaker_answer(described: &Policy, agreed: &Policy) -> Option<String> {
    super::super::weaker_answer(Judged::alone(described), Judged::alone(agreed))
}

#[test]
fn a_policy_is_weaker_where_a_part_or_a_bit_is_missing() {
    let both = [SIGNED, ENCRYPTED].concat();
    let header =
        "<s:SignedParts><s:Body/><s:Header Name=\"To\" Namespace=\"urn:a\"/></s:SignedParts>";
    let nothing = nothing().response;
    let agreed = policy("Basic256", &both);
    assert_eq!(
        weaker(&nothing, &agreed).as_deref(),
        Some("nothing is signed")
    );
    for (suite, parts, expected) in [
        ("Basic256", both.as_str(), None),
        ("Basic256", SIGNED, Some("nothing is encrypted")),
        ("Basic256", ENCRYPTED, Some("Body is not signed")),
        (
            "Basic128",
            both.as_str(),
            Some("encryption of 128 bits, agreed 256"),
        ),
    ] {
        let found = weaker(&policy(suite, parts), &agreed);
        assert_eq!(found.as_deref(), expected, "{suite} {parts}");
    }
    // More than agreed is not weaker, and less is.
    let more = policy("Basic256", header);
    let less = policy("Basic256", SIGNED);
    assert_eq!(weaker(&more, &less), None);
    let found = weaker(&less, &more).expect("it is weaker");
    assert!(
        found.contains("To") && found.ends_with("is not signed"),
        "{found}"
    );
}

/// Whoever signs or encrypts all headers does so with each.
#[test]
fn a_policy_that_covers_all_headers_is_no_weaker_than_one_that_names_some() {
    let named = "<s:Body/><s:Header Name=\"To\" Namespace=\"urn:a\"/>";
    let of_namespace = "<s:Body/><s:Header Namespace=\"urn:a\"/>";
    let of_another = "<s:Body/><s:Header Namespace=\"urn:b\"/>";
    let both = |parts: &str| {
        let (signed, encrypted) = ("SignedParts", "EncryptedParts");
        let signed = format!("<s:{signed}>{parts}</s:{signed}>");
        policy(
            "Basic256",
            &format!("{signed}<s:{encrypted}>{parts}</s:{encrypted}>"),
        )
    };
    assert_eq!(weaker(&both(of_namespace), &both(named)), None);
    for (described, agreed) in [(of_another, named), (named, of_namespace)] {
        assert!(weaker(&both(described), &both(agreed)).is_some());
    }
    let signed = |parts: &str| {
        policy(
            "Basic256",
            &format!("<s:SignedParts>{parts}</s:SignedParts>"),
        )
    };
    for agreed in [named, of_namespace, of_another, "", "<s:Body/>"] {
        assert_eq!(weaker(&signed(""), &signed(agreed)), None, "{agreed}");
    }
    assert!(weaker(&signed(of_namespace), &signed("")).is_some());
}

/// The same parts and the same encryption: what signs them is broken by collisions.
#[test]
fn signatures_and_digests_of_sha_1_are_weaker_than_those_of_sha_256() {
    let both = [SIGNED, ENCRYPTED].concat();
    let (strong, weak) = (policy("Basic256Sha256", &both), policy("Basic256", &both));
    let found = weaker(&weak, &strong);
    assert_eq!(found.as_deref(), Some("signatures of 61 bits, agreed 128"));
    assert_eq!(weaker(&strong, &weak), None);
    assert_eq!(weaker(&strong, &strong), None);
    let mut digests = strong.clone();
    digests.suite.digest = weak.suite.digest.clone();
    let found = weaker(&digests, &strong);
    assert_eq!(found.as_deref(), Some("digests of 61 bits, agreed 128"));
    // One of several that are agreed on is enough.
    let mut either = strong.clone();
    either.suite.signature.extend(&weak.suite.signature);
    either.suite.digest.extend(&weak.suite.digest);
    assert_eq!(weaker(&weak, &either), None);
}

/// CVE-2012-5575: session keys under the old padding are deciphered by asking.
#[test]
fn session_keys_under_the_old_padding_are_weaker() {
    let both = [SIGNED, ENCRYPTED].concat();
    let (strong, weak) = (policy("Basic256", &both), policy("Basic256Rsa15", &both));
    let found = weaker(&weak, &strong);
    assert_eq!(
        found.as_deref(),
        Some("session keys are encrypted by rsa-1_5")
    );
    assert_eq!(weaker(&strong, &weak), None);
    // Nobody wraps a key where nothing is encrypted.
    let signed = |suite| policy(suite, SIGNED);
    assert_eq!(weaker(&signed("Basic256Rsa15"), &signed("Basic256")), None);
}

#[test]
fn the_content_of_an_element_is_less_than_the_element() {
    let element = |name: &str| {
        format!("{SIGNED}<s:{name} xmlns:a=\"urn:a\"><s:XPath>//a:Card</s:XPath></s:{name}>")
    };
    let whole = policy("Basic256", &element("EncryptedElements"));
    let content = policy("Basic256", &element("ContentEncryptedElements"));
    let found = weaker(&content, &whole).expect("it is weaker");
    assert!(
        found.starts_with("the tags of ") && found.ends_with(" are not encrypted"),
        "{found}"
    );
    assert_eq!(weaker(&whole, &content), None);
    assert_eq!(weaker(&content, &content), None);
}

/// A session key that anybody can make signs as well, and proves nobody.
#[test]
fn a_signature_of_nobody_is_weaker_than_that_of_a_certificate() {
    let (parts, suite) = ([SIGNED, ENCRYPTED].concat(), "Basic256");
    let agreed = by_certificates(suite, &parts).request;
    let tokens = format!(
        "<s:ProtectionToken><p:Policy>{}</p:Policy></s:ProtectionToken>",
        certificate().replace("AlwaysToRecipient", "Never")
    );
    let of_nobody = compiled("SymmetricBinding", suite, &tokens, &parts).request;
    let found = weaker(&of_nobody, &agreed);
    assert_eq!(
        found.as_deref(),
        Some("signed by a session key of anybody, agreed a certificate")
    );
    assert_eq!(weaker(&agreed, &of_nobody), None);
}

#[test]
fn a_token_that_is_missing_or_proves_nobody_is_weaker() {
    use PasswordKind::{Absent, Digest, Text};
    let of = |beside: &str| by_certificates("Basic256", &(SIGNED.to_owned() + beside)).request;
    let alone = of("");
    let user = |passwords: &[PasswordKind]| {
        let mut policy = alone.clone();
        let user = UsernamePolicy::with_passwords(passwords.to_vec());
        policy.set_username((!passwords.is_empty()).then_some(user));
        policy
    };
    for (agreed, described, expected) in [
        (&[Text][..], &[][..], Some("no UsernameToken")),
        (&[Absent], &[], Some("no UsernameToken")),
        (&[Text, Digest], &[Absent], Some("users without passwords")),
        (&[Text], &[Digest], None),
        (&[Text, Absent], &[Absent], None),
        (&[Absent], &[Text], None),
        (&[], &[Absent], None),
    ] {
        let found = weaker(&user(described), &user(agreed));
        assert_eq!(found.as_deref(), expected, "{agreed:?} and {described:?}");
    }
    // Whether it is signed is a matter of parts.
    let token = token("UsernameToken", "<s:NoPassword/>");
    let signed = format!(
        "<s:SignedSupportingTokens><p:Policy>{token}</p:Policy></s:SignedSupportingTokens>"
    );
    let found = weaker(&user(&[Absent]), &of(&signed)).expect("it is weaker");
    assert!(found.contains("UsernameToken") && found.ends_with("is not signed"));
    let endorsed = of(&format!(
        "<s:EndorsingSupportingTokens><p:Policy>{}</p:Policy></s:EndorsingSupportingTokens>",
        certificate()
    ));
    let found = weaker(&alone, &endorsed);
    assert_eq!(found.as_deref(), Some("not endorsed by a certificate"));
    assert_eq!(weaker(&endorsed, &endorsed), None);
    assert_eq!(weaker(&endorsed, &alone), None);
}

#[test]
fn answers_that_confirm_nothing_or_have_no_time_are_weaker() {
    let agreed = policy("Basic256", SIGNED);
    let confirming = |confirms: bool| {
        let mut policy = agreed.clone();
        policy.header.signature_confirmation = confirms;
        policy
    };
    let found = weaker_answer(&confirming(false), &confirming(true));
    assert_eq!(
        found.as_deref(),
        Some("signatures of requests are not confirmed")
    );
    assert_eq!(weaker_answer(&confirming(true), &confirming(false)), None);
    let mut timeless = agreed.clone();
    timeless.header.timestamp = None;
    assert_eq!(weaker(&timeless, &agreed).as_deref(), Some("no Timestamp"));
}

#[test]
fn a_connection_that_nobody_protects_is_weaker() {
    let tokens = "<s:TransportToken><p:Policy><s:HttpsToken><p:Policy/></s:HttpsToken></p:Policy></s:TransportToken>";
    let agreed = compiled("TransportBinding", "Basic256", tokens, "").request;
    let nothing = nothing().request;
    assert_eq!(
        weaker(&nothing, &agreed).as_deref(),
        Some("neither the connection nor a key protects messages")
    );
    let both = policy("Basic256", &[SIGNED, ENCRYPTED].concat());
    assert_eq!(weaker(&both, &agreed), None);
    assert!(weaker(&policy("Basic256", SIGNED), &agreed).is_some());
    assert_eq!(weaker(&agreed, &agreed), None);
}
