//! What is assured past a gateway that sees nothing of it.

use soapstone_broker::{Level, Property, SecurityIndex};

use super::*;

/// Past a gateway on the way nobody here compares answers: what is assured is compared with
/// what the provider serves.
#[test]
fn a_policy_gives_less_than_assured_where_a_property_a_bit_or_an_algorithm_is_missing() {
    let mut assured = SecurityIndex::default();
    for property in [
        Property::Authentication,
        Property::Integrity,
        Property::Confidentiality,
        Property::NonRepudiation,
    ] {
        assured.give(property, Level::Message, 128);
    }
    assured.algorithms = ["rsa-sha256", "sha256", "aes256-cbc"]
        .map(str::to_owned)
        .into();
    assured.encrypted = vec!["Body".to_owned()];
    let both = [SIGNED, ENCRYPTED].concat();
    let none = nothing();
    for (described, expected) in [
        (by_certificates("Basic256Sha256", &both), None),
        (none, Some("requests: no authentication")),
        (
            by_certificates("Basic256Sha256", SIGNED),
            Some("requests: no confidentiality"),
        ),
        (
            by_certificates("Basic256", &both),
            Some("requests: signatures of 61 bits, agreed 128"),
        ),
        (
            by_certificates("Basic128Sha256", &both),
            Some("requests: encryption by aes128-cbc, which is not one of those assured"),
        ),
    ] {
        let found = less_than_assured(&assured, &[described]);
        assert_eq!(found.as_deref(), expected);
    }
}

/// What is assured is that of the whole conversation.
#[test]
fn a_conversation_gives_what_is_assured_from_its_beginning_on() {
    let mut assured = SecurityIndex::default();
    let assure = |assured: &mut SecurityIndex, properties: &[Property]| {
        for property in properties {
            assured.give(*property, Level::Message, 61);
        }
    };
    assure(
        &mut assured,
        &[Property::Integrity, Property::Confidentiality],
    );
    assured.algorithms = ["hmac-sha1", "rsa-sha1", "sha1", "aes256-cbc"]
        .map(str::to_owned)
        .into();
    let endorsed = supporting("EndorsingSupportingTokens", &certificate());
    let found = |assured: &SecurityIndex, suite: &str, tokens: &str| {
        less_than_assured(assured, &[conversing(&beginning(suite, tokens))])
    };
    assert_eq!(found(&assured, "Basic256", ""), None);
    let begins = "the beginning of conversations: requests: ";
    for (suite, why) in [
        ("Basic256Rsa15", "session keys are encrypted by rsa-1_5"),
        (
            "Basic128",
            "encryption by aes128-cbc, which is not one of those assured",
        ),
    ] {
        assert_eq!(found(&assured, suite, ""), Some(format!("{begins}{why}")));
    }
    // Whoever names the old padding permits it.
    let mut padded = assured.clone();
    padded.algorithms.push("rsa-1_5".to_owned());
    assert_eq!(found(&padded, "Basic256Rsa15", ""), None);
    let mut more = assured.clone();
    more.give(Property::Integrity, Level::Message, 112);
    let mut digests = by_certificates("Basic256Sha256", &[SIGNED, ENCRYPTED].concat());
    digests
        .request
        .suite
        .digest
        .clone_from(&policy("Basic256", SIGNED).suite.digest);
    more.algorithms.push("rsa-sha256".to_owned());
    assert_eq!(
        less_than_assured(&more, &[digests]).as_deref(),
        Some("requests: digests of 61 bits, agreed 112")
    );
    assure(&mut assured, &[Property::Authentication]);
    let anonymous = found(&assured, "Basic256", "");
    assert_eq!(anonymous.as_deref(), Some("requests: no authentication"));
    assert_eq!(found(&assured, "Basic256", &endorsed), None);
    // Each message proves its user, whoever began the conversation.
    let user = token("UsernameToken", "<s:WssUsernameToken10/>");
    let users = supporting("SignedEncryptedSupportingTokens", &user);
    let of_users = |suite: &str| {
        let described = conversing_with(&beginning(suite, ""), &users);
        less_than_assured(&assured, &[described])
    };
    assert_eq!(of_users("Basic256"), None);
    // The beginning still gives whatever else is assured.
    for (suite, why) in [
        ("Basic256Rsa15", "session keys are encrypted by rsa-1_5"),
        (
            "Basic128",
            "encryption by aes128-cbc, which is not one of those assured",
        ),
    ] {
        assert_eq!(of_users(suite), Some(format!("{begins}{why}")));
    }
    let context = under(&token("SecurityContextToken", ""));
    let unknown = less_than_assured(&assured, &[context]);
    assert_eq!(unknown.as_deref(), Some("requests: no authentication"));
}

/// Nobody is guilty who encrypts more than what is named.
#[test]
fn headers_of_a_namespace_are_encrypted_where_one_of_them_is_assured() {
    let mut assured = SecurityIndex::default();
    assured.give(Property::Confidentiality, Level::Message, 128);
    assured.algorithms = ["rsa-sha256", "sha256", "aes256-cbc"]
        .map(str::to_owned)
        .into();
    assured.encrypted = ["Body", "{urn:a}To"].map(str::to_owned).into();
    for (header, is_encrypted) in [
        ("Name=\"To\" Namespace=\"urn:a\"", true),
        ("Namespace=\"urn:a\"", true),
        ("Namespace=\"urn:b\"", false),
        ("Name=\"From\" Namespace=\"urn:a\"", false),
    ] {
        let parts =
            format!("{SIGNED}<s:EncryptedParts><s:Body/><s:Header {header}/></s:EncryptedParts>");
        let found = less_than_assured(&assured, &[by_certificates("Basic256Sha256", &parts)]);
        let expected = (!is_encrypted).then_some("requests: {urn:a}To is not encrypted");
        assert_eq!(found.as_deref(), expected, "{header}");
    }
}
