//! ExchangePolicies written as policies again. What presets demand is tested where endpoint files
//! are read: `soapstone`'s tests `written`.

use soapstone_policy::Unwritable;

use crate::support::*;

/// What is read from `assertions`, written and read once more, has the same words for both
/// messages.
pub(crate) fn read_again(assertions: &str) {
    let meant = agreement(assertions);
    let written = meant
        .write()
        .unwrap_or_else(|problems| panic!("{problems:?}"));
    let options = soapstone_policy::CompileOptions {
        signatures: written.signatures(),
        ..soapstone_policy::CompileOptions::default()
    };
    let again = document(&written.to_xml())
        .agreement(&soapstone_policy::Selection::default(), &options)
        .unwrap();
    for (meant, again) in [
        (&meant.request, &again.request),
        (&meant.response, &again.response),
    ] {
        assert_eq!(format!("{meant:?}"), format!("{again:?}"));
    }
}

#[test]
fn options_of_bindings_are_written_and_read_again() {
    let options = nest("Layout", "<sp:Strict/>")
        + "<sp:IncludeTimestamp/><sp:EncryptBeforeSigning/><sp:EncryptSignature/><sp:ProtectTokens/>\
           <sp:OnlySignEntireHeadersAndBody/>";
    let binding = asymmetric(&format!("{}{options}", suite("Basic192Rsa15")));
    read_again(&format!("{binding}{SIGNED_BODY}{ENCRYPTED_BODY}"));
}

#[test]
fn a_path_is_written_and_read_again() {
    let path = "<sp:WssX509PkiPathV1Token10/>";
    let carried = nest(
        "InitiatorToken",
        &token("X509Token", "AlwaysToRecipient", path),
    );
    let recipient = nest(
        "RecipientToken",
        &x509("Never", "<sp:RequireThumbprintReference/>"),
    );
    let binding = nest(
        "AsymmetricBinding",
        &format!("{carried}{recipient}{}", suite("Basic256")),
    );
    read_again(&format!("{binding}{SIGNED_BODY}"));
}

#[test]
fn a_key_for_both_directions_is_written_and_read_again() {
    for derived in ["", "<sp:RequireThumbprintReference/>"] {
        let binding = symmetric(&x509("Never", derived), &suite("Basic256"));
        read_again(&format!("{binding}{ENCRYPTED_BODY}"));
        let signed = symmetric(
            &x509("Never", derived),
            &format!("{}<sp:IncludeTimestamp/>", suite("Basic256")),
        );
        read_again(&format!("{signed}{SIGNED_BODY}{ENCRYPTED_BODY}"));
    }
}

/// What is demanded and has no place in what was written makes the whole unsayable: a client that
/// was told less would do less.
#[test]
fn nothing_that_is_demanded_is_left_out_of_what_is_written() {
    let binding = asymmetric(&format!("{}<sp:IncludeTimestamp/>", suite("Basic256")));
    let endorsing = nest("EndorsingSupportingTokens", &x509("AlwaysToRecipient", ""));
    let derived = symmetric(
        &x509("Never", "<sp:RequireDerivedKeys/>"),
        &format!("{}<sp:IncludeTimestamp/>", suite("Basic256")),
    );
    let derived_encryption = binding.replace(
        "<sp:RequireThumbprintReference/>",
        "<sp:RequireDerivedKeys/><sp:RequireThumbprintReference/>",
    );
    assert_ne!(derived_encryption, binding);
    for (assertions, what) in [
        (
            format!(
                "{binding}{}",
                nest("Wss11", "<sp:RequireSignatureConfirmation/>")
            ),
            None,
        ),
        (format!("{binding}{endorsing}"), Some("the request")),
        (
            format!(
                "{binding}<sp:RequiredParts><sp:Header Name='a' Namespace='urn:a'/></sp:RequiredParts>"
            ),
            Some("the request"),
        ),
        (derived, Some("the request")),
        (
            format!("{derived_encryption}{ENCRYPTED_BODY}"),
            Some("the request"),
        ),
        (
            format!(
                "{binding}<a:Addressing xmlns:a='http://www.w3.org/2007/05/addressing/metadata'/>"
            ),
            Some("the addressing headers"),
        ),
    ] {
        let problems = agreement(&format!("{assertions}{SIGNED_BODY}"))
            .write()
            .expect_err(&assertions);
        match what {
            Some(what) => assert_eq!(problems, [Unwritable::Unsaid { what }], "{assertions}"),
            None => assert!(
                matches!(problems.as_slice(), [Unwritable::Signed { .. }]),
                "{problems:?}"
            ),
        }
    }
}

#[test]
fn an_id_is_escaped() {
    let binding = asymmetric(&format!("{}<sp:IncludeTimestamp/>", suite("Basic256")));
    let written = agreement(&binding).write().unwrap();
    let policy = written.endpoint_xml("a\"><b c=\"");
    assert!(
        policy.contains("wsu:Id=\"a&quot;>&lt;b c=&quot;\""),
        "{policy}"
    );
    assert_eq!(written.messages_xml("parts"), None);
}
