//! Keys that are written out in the references to them (WS-SecurityPolicy 1.3, 5.4.11).

use soapstone_policy::ProblemKind;
use soapstone_wss::KeyReference;

use crate::refusals::not_supported;
use crate::support::*;
use crate::written::read_again;

/// The token, with this inclusion.
fn key_value(inclusion: &str, inner: &str) -> String {
    let inner = format!("{inner}<sp:RsaKeyValue/>");
    token("KeyValueToken", inclusion, &inner)
}

fn both(initiator: &str, recipient: &str, inner: &str) -> String {
    let initiator = nest("InitiatorToken", initiator);
    let recipient = nest("RecipientToken", recipient);
    let inner = format!("{initiator}{recipient}{}{inner}", suite("Basic256"));
    nest("AsymmetricBinding", &inner)
}

#[test]
fn messages_name_the_keys_of_an_asymmetric_binding_by_their_values() {
    // CXF writes the one inclusion, and WCF the other.
    for inclusion in ["AlwaysToRecipient", "Never"] {
        let token = key_value(inclusion, "");
        let policy = format!("{}{SIGNED_BODY}{ENCRYPTED_BODY}", both(&token, &token, ""));
        let found = agreement(&policy);
        for message in [&found.request, &found.response] {
            let signature = message.signature().expect("a signature");
            assert_eq!(signature.reference, KeyReference::RsaKeyValue);
            let encryption = message.encryption().expect("encryption");
            assert_eq!(encryption.reference, KeyReference::RsaKeyValue);
            assert!(!message.introduces_certificate());
        }
    }
    // Keys of any kind, where the policy says no more.
    let any = token("KeyValueToken", "Never", "");
    let found = agreement(&format!("{}{SIGNED_BODY}", both(&any, &any, ""))).request;
    let signature = found.signature().expect("a signature");
    assert_eq!(signature.reference, KeyReference::KeyValue);
    let symmetric = symmetric(&key_value("Never", ""), &suite("Basic256"));
    let found = agreement(&format!("{symmetric}{SIGNED_BODY}")).request;
    let signature = found.signature().expect("a signature");
    assert_eq!(signature.reference, KeyReference::RsaKeyValue);
}

#[test]
fn a_key_that_is_written_out_endorses() {
    let endorsing = nest("EndorsingSupportingTokens", &key_value("Never", ""));
    for binding in [
        transport("<sp:IncludeTimestamp/>"),
        asymmetric(&suite("Basic256")) + SIGNED_BODY,
        symmetric(&x509("Never", ""), &suite("Basic256")) + SIGNED_BODY,
    ] {
        let found = agreement(&format!("{binding}{endorsing}")).request;
        let mut references = found.endorsing().map(|one| one.key.reference());
        let signs = found.signature().map(|signature| signature.reference);
        let endorses = references.next().or(signs);
        assert_eq!(endorses, Some(KeyReference::RsaKeyValue), "{binding}");
    }
}

/// What stands in the `ds:KeyInfo` of a signature, no signature covers.
#[test]
fn a_key_that_is_written_out_is_refused_where_it_would_be_protected() {
    let token = key_value("Never", "");
    let protected = both(&token, &x509("Never", ""), "<sp:ProtectTokens/>");
    let plain = asymmetric(&suite("Basic256")) + SIGNED_BODY;
    let of_kind = |kind: &str| format!("{plain}{}", nest(kind, &token));
    for (policy, expected) in [
        (
            protected + SIGNED_BODY,
            "a key that is written out is no token that a signature could cover: leave sp:ProtectTokens out",
        ),
        (
            of_kind("SignedEndorsingSupportingTokens"),
            "a token inside of the reference to it is neither signed nor encrypted by itself",
        ),
        (
            of_kind("SupportingTokens"),
            "a key that signs nothing proves nothing: let it endorse",
        ),
    ] {
        let (name, reason) = not_supported(&policy);
        assert_eq!((name.as_str(), reason), ("KeyValueToken", expected));
    }
}

#[test]
fn a_key_that_is_written_out_is_named_by_nothing_else() {
    let named = key_value("Never", "<sp:RequireThumbprintReference/>");
    let policy = both(&named, &x509("Never", ""), "") + SIGNED_BODY;
    let (name, reason) = not_supported(&policy);
    let expected = "a key that is written out is named by itself alone";
    assert_eq!((name.as_str(), reason), ("KeyValueToken", expected));
    let unknown = token("KeyValueToken", "Never", "<sp:EcKeyValue/>");
    let found = refused(&(both(&unknown, &x509("Never", ""), "") + SIGNED_BODY));
    assert_eq!(found, [("EcKeyValue".to_owned(), ProblemKind::Unknown)]);
}

/// What is written says of which kind the keys are, where it is demanded.
#[test]
fn keys_that_are_written_out_are_written_as_policies_again() {
    let any = token("KeyValueToken", "Never", "");
    let certificate = x509("Never", "<sp:RequireThumbprintReference/>");
    for (initiator, recipient, more) in [
        (
            &key_value("Never", ""),
            &key_value("Never", ""),
            ENCRYPTED_BODY,
        ),
        (&any, &any, ENCRYPTED_BODY),
        (&key_value("Never", ""), &any, ""),
        (&any, &certificate, ""),
        (&certificate, &key_value("Never", ""), ENCRYPTED_BODY),
    ] {
        let policy = both(initiator, recipient, "<sp:IncludeTimestamp/>");
        read_again(&format!("{policy}{SIGNED_BODY}{more}"));
    }
    for token in [&key_value("Never", ""), &any] {
        let policy = symmetric(
            token,
            &format!("{}<sp:IncludeTimestamp/>", suite("Basic256")),
        );
        let policy = format!("{policy}{SIGNED_BODY}{ENCRYPTED_BODY}");
        read_again(&policy);
        let written = agreement(&policy).write().expect("it can be said").to_xml();
        let says_rsa = token.contains("RsaKeyValue");
        assert_eq!(written.contains("<sp:RsaKeyValue/>"), says_rsa, "{written}");
        assert!(written.contains("<sp:KeyValueToken "), "{written}");
    }
}

/// Clients of WCF make such a key for one message: whoever does without is in the same position.
#[test]
fn a_key_that_need_not_be_there_is_not_demanded() {
    let token = key_value("Never", "").replacen(
        "<sp:KeyValueToken",
        "<sp:KeyValueToken wsp:Optional='true'",
        1,
    );
    let endorsing = nest(
        "EndorsingSupportingTokens",
        &format!("{}{token}", x509("AlwaysToRecipient", "")),
    );
    let found = agreement(&format!(
        "{}{endorsing}",
        transport("<sp:IncludeTimestamp/>")
    ));
    let signature = found.request.signature().expect("a signature");
    assert_eq!(signature.reference, KeyReference::Direct);
    assert_eq!(found.request.endorsing().count(), 1);
}
