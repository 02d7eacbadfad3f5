//! Endorsing tokens (WS-SecurityPolicy 1.3, 8.3 to 8.9): what policies with them demand, and which
//! of them are refused.

use soapstone_policy::{ExchangePolicy, ProblemKind, message_in_words};
use soapstone_wss::{EndorsingKey, EndorsingToken, KeyBinding, KeyReference, Part};

use crate::agreements::{body, encrypted, signed};
use crate::refusals::not_supported;
use crate::support::*;

/// An endorsing signature of which a policy says nothing in particular.
const ENDORSING: EndorsingToken = EndorsingToken::by_certificate(KeyReference::Direct);

#[test]
fn endorsing_tokens_sign_the_signature_or_over_https_the_timestamp() {
    let endorsing = nest(
        "SignedEndorsingSupportingTokens",
        &x509("AlwaysToRecipient", ""),
    );
    let message = agreement(&format!(
        "{}{SIGNED_BODY}{endorsing}",
        symmetric(&x509("Never", ""), &suite("Basic256"))
    ));
    assert_eq!(
        beside(&message.request),
        [EndorsingToken {
            signed: true,
            ..ENDORSING
        }]
    );
    assert_eq!(signed(&message.request), [Part::Body]);
    assert_eq!(beside(&message.response), []);
    // WS-SecurityPolicy 1.3, 8.9: where tokens are protected, each signature covers its own.
    let protecting = agreement(&format!(
        "{}{SIGNED_BODY}{endorsing}",
        symmetric(
            &x509("Never", ""),
            &format!("{}<sp:ProtectTokens/>", suite("Basic256"))
        )
    ));
    assert!(beside(&protecting.request)[0].covers_token);
    let to = "<sp:SignedParts><sp:Header Name='To' Namespace='urn:a'/></sp:SignedParts>";
    let endorsing = nest(
        "EndorsingSupportingTokens",
        &format!("{}{to}", x509("AlwaysToRecipient", "")),
    );
    let over_https = agreement(&format!(
        "{}{endorsing}",
        transport("<sp:IncludeTimestamp/>")
    ));
    assert_eq!(beside(&over_https.request), []);
    assert_eq!(
        signed(&over_https.request),
        [
            Part::Timestamp,
            Part::Header {
                namespace: "urn:a".to_owned(),
                local: "To".to_owned()
            }
        ]
    );
    assert!(over_https.response.signature().is_none());
    // 7.3: what the signature does not cover is as good as what it covers.
    let by_transport = |agreement: &ExchangePolicy| agreement.request.is_by_connection();
    assert!(by_transport(&over_https) && !by_transport(&message));
}

/// WS-SecurityPolicy 1.3, 5.3: derived keys of a certificate are those of the keys that it
/// encrypts. One that endorses signs with its own, and the policies that stacks write demand them
/// of it nevertheless.
#[test]
fn derived_keys_are_those_of_the_binding_and_not_of_a_certificate_that_endorses() {
    for (derived, form) in DERIVED_KEYS {
        let endorsing = nest(
            "EndorsingSupportingTokens",
            &x509("AlwaysToRecipient", derived),
        );
        let with = |protection: &str| {
            let binding = symmetric(&x509("Never", protection), &suite("Basic256"));
            agreement(&format!("{binding}{SIGNED_BODY}{endorsing}")).request
        };
        let request = with(derived);
        assert_eq!(
            request
                .derived_keys()
                .map(|derived| (derived.form, derived.exclusive)),
            Some(form)
        );
        assert_eq!(beside(&request)[0].key.reference(), KeyReference::Direct);
        assert_eq!(with("").derived_keys(), None);
        let over_https = agreement(&format!(
            "{}{endorsing}",
            transport("<sp:IncludeTimestamp/>")
        ));
        assert_eq!(over_https.request.derived_keys(), None);
    }
}

/// WS-SecurityPolicy 1.3, 8: every token of every assertion, each as its own assertion has it.
#[test]
fn every_endorsing_token_makes_a_signature_of_its_own() {
    let to = "<sp:SignedParts><sp:Header Name='To' Namespace='urn:a'/></sp:SignedParts>";
    let named = x509("Never", "<sp:RequireThumbprintReference/>");
    let signed_one = nest(
        "SignedEndorsingSupportingTokens",
        &x509("AlwaysToRecipient", ""),
    );
    let other_two = nest(
        "EndorsingEncryptedSupportingTokens",
        &format!("{}{named}{to}", x509("AlwaysToRecipient", "")),
    );
    let request = agreement(&format!(
        "{}{SIGNED_BODY}{signed_one}{other_two}",
        symmetric(&x509("Never", ""), &suite("Basic256"))
    ))
    .request;
    let hidden = EndorsingToken {
        parts: vec![Part::Header {
            namespace: "urn:a".to_owned(),
            local: "To".to_owned(),
        }],
        encrypted: true,
        ..ENDORSING
    };
    assert_eq!(
        beside(&request),
        [
            EndorsingToken {
                signed: true,
                ..ENDORSING
            },
            hidden.clone(),
            EndorsingToken {
                key: EndorsingKey::Certificate(KeyReference::Thumbprint),
                ..hidden
            }
        ]
    );
    assert!(!request.same_endorser);
    assert_eq!(
        message_in_words(&request)[1..7],
        [
            "Signed with a fresh key, wrapped to the receiver's certificate, which is named by issuer and serial number: \
             the Body; the token of the first endorsing signature's key.",
            "Encrypted with the same key: the token of the second endorsing signature's key; \
             the token of the third endorsing signature's key.",
            "The signature is endorsed by 3 others, each with a key of its own.",
            "The certificate of the first endorsing signature is in the message.",
            "The certificate of the second endorsing signature is in the message.",
            "The second endorsing signature covers besides: the header To of urn:a.",
        ]
    );
    // Two assertions are two, though they say the same.
    let twice = |second: &str| {
        let first = nest("EndorsingSupportingTokens", &x509("AlwaysToRecipient", ""));
        agreement(&format!(
            "{}{SIGNED_BODY}{first}{second}",
            symmetric(&x509("Never", ""), &suite("Basic256"))
        ))
        .request
    };
    let again = nest("EndorsingSupportingTokens", &x509("AlwaysToRecipient", ""));
    assert_eq!(beside(&twice(&again)), [ENDORSING, ENDORSING]);
}

/// WS-SecurityPolicy 1.3, 8.7 and 8.8: the message's key encrypts the token, whatever else it
/// encrypts.
#[test]
fn endorsing_tokens_are_encrypted_with_the_key_of_the_message() {
    let by_certificate = asymmetric(&suite("Basic256"));
    let by_session_key = symmetric(&x509("Never", ""), &suite("Basic256"));
    for (binding, key) in [
        (&by_certificate, KeyBinding::Certificate),
        (&by_session_key, KeyBinding::SessionKey),
    ] {
        for (kind, signed) in [
            ("EndorsingEncryptedSupportingTokens", false),
            ("SignedEndorsingEncryptedSupportingTokens", true),
        ] {
            let hidden = nest(kind, &x509("AlwaysToRecipient", ""));
            let both = agreement(&format!("{binding}{hidden}{SIGNED_BODY}{ENCRYPTED_BODY}"));
            let token = EndorsingToken {
                signed,
                encrypted: true,
                ..ENDORSING
            };
            assert_eq!(beside(&both.request), std::slice::from_ref(&token));
            assert_eq!(encrypted(&both.request), [body()]);
            assert_eq!(encrypted(&both.response), [body()]);
            let alone = agreement(&format!("{binding}{hidden}{SIGNED_BODY}"));
            assert_eq!(beside(&alone.request), [token]);
            let encryption = alone.request.encryption().unwrap();
            assert_eq!((encryption.parts, encryption.key), (&[][..], key));
            assert!(alone.response.encryption().is_none());
        }
    }
    // Nothing of it is there to be encrypted, unless a peer sends it nevertheless.
    let named = nest(
        "EndorsingEncryptedSupportingTokens",
        &x509("Never", "<sp:RequireThumbprintReference/>"),
    );
    let named = agreement(&format!("{by_session_key}{named}{SIGNED_BODY}"));
    assert_eq!(
        beside(&named.request),
        [EndorsingToken {
            key: EndorsingKey::Certificate(KeyReference::Thumbprint),
            encrypted: true,
            ..ENDORSING
        }]
    );
    // The connection encrypts it.
    let hidden = nest(
        "SignedEndorsingEncryptedSupportingTokens",
        &x509("AlwaysToRecipient", ""),
    );
    let over_https = agreement(&format!("{}{hidden}", transport("<sp:IncludeTimestamp/>")));
    assert!(over_https.request.encryption().is_none());
    assert_eq!(signed(&over_https.request), [Part::Timestamp]);
}

/// WS-SecurityPolicy 1.3, 8.3.
#[test]
fn endorsing_tokens_sign_parts_of_their_own() {
    let own = "<sp:SignedParts><sp:Header Name='To' Namespace='urn:a'/></sp:SignedParts>\
               <sp:SignedElements><sp:XPath>//Price</sp:XPath></sp:SignedElements>";
    let endorsing = nest(
        "EndorsingSupportingTokens",
        &format!("{}{own}", x509("AlwaysToRecipient", "")),
    );
    let request = agreement(&format!(
        "{}{SIGNED_BODY}{endorsing}",
        asymmetric(&suite("Basic256"))
    ))
    .request;
    assert_eq!(signed(&request), [Part::Body]);
    let endorsing = beside(&request);
    let parts = endorsing[0].parts.as_slice();
    let to = Part::Header {
        namespace: "urn:a".to_owned(),
        local: "To".to_owned(),
    };
    assert!(matches!(parts, [header, Part::Path(_)] if *header == to));
    let words = message_in_words(&request);
    let said =
        "The endorsing signature covers besides: the header To of urn:a; the elements //Price.";
    assert!(words.iter().any(|line| line == said), "{words:?}");
}

/// WS-SecurityPolicy 1.3, 8.3: where the connection protects the message, every token signs its
/// Timestamp.
#[test]
fn on_tls_every_endorsing_token_signs_the_timestamp_with_a_key_of_its_own() {
    let to = "<sp:SignedParts><sp:Header Name='To' Namespace='urn:a'/></sp:SignedParts>";
    let first = nest(
        "SignedEndorsingSupportingTokens",
        &x509("AlwaysToRecipient", ""),
    );
    let named = x509("Never", "<sp:RequireThumbprintReference/>");
    let second = nest(
        "EndorsingEncryptedSupportingTokens",
        &format!("{}{named}{to}", x509("AlwaysToRecipient", "")),
    );
    let on_tls = transport("<sp:IncludeTimestamp/><sp:ProtectTokens/>");
    let both = agreement(&format!("{on_tls}{first}{second}"));
    let request = &both.request;
    assert_eq!(signed(request), [Part::Timestamp, Part::Token]);
    let header = Part::Header {
        namespace: "urn:a".to_owned(),
        local: "To".to_owned(),
    };
    let one = EndorsingToken {
        parts: vec![header],
        covers_token: true,
        ..ENDORSING
    };
    assert_eq!(
        beside(request),
        [
            one.clone(),
            EndorsingToken {
                key: EndorsingKey::Certificate(KeyReference::Thumbprint),
                ..one
            }
        ]
    );
    assert!(request.encryption().is_none() && both.response.signature().is_none());
    assert_eq!(beside(&both.response), []);
    assert_eq!(
        message_in_words(request)[2..],
        [
            "Signed with the key of the sender's certificate, which is in the message: the Timestamp; the token of the signature's key.",
            "The Timestamp is endorsed by 3 signatures, each with a key of its own.",
            "The certificate of the second endorsing signature, which it covers itself, is in the message.",
            "The second endorsing signature covers besides: the header To of urn:a.",
            "The certificate of the third endorsing signature, which it covers itself, is named by its thumbprint.",
            "The third endorsing signature covers besides: the header To of urn:a.",
        ]
    );
}

/// WS-SecurityPolicy 1.3, 8: what supporting tokens cannot do here.
#[test]
fn certificates_that_support_in_other_ways_are_refused_each_with_its_reason() {
    let with = |kind: &str, inner: &str| {
        let binding = symmetric(&x509("Never", ""), &suite("Basic256"));
        not_supported(&format!("{binding}{SIGNED_BODY}{}", nest(kind, inner)))
    };
    let certificate = x509("AlwaysToRecipient", "");
    for kind in [
        "SupportingTokens",
        "SignedSupportingTokens",
        "EncryptedSupportingTokens",
        "SignedEncryptedSupportingTokens",
    ] {
        let reason = "a certificate that signs nothing proves nothing: let it endorse";
        assert_eq!(with(kind, &certificate), ("X509Token".to_owned(), reason));
    }
    let endorsing = "EndorsingSupportingTokens";
    let four = certificate.repeat(4);
    let reason = "a message has three endorsing signatures at most";
    assert_eq!(with(endorsing, &four), ("X509Token".to_owned(), reason));
    let on_tls = transport("<sp:IncludeTimestamp/>");
    assert_eq!(
        not_supported(&format!("{on_tls}{}", nest(endorsing, &four))),
        ("X509Token".to_owned(), reason)
    );
    let inside = x509("AlwaysToRecipient", "<sp:RequireEmbeddedTokenReference/>");
    let reason = "a token inside of the reference to it is neither signed nor encrypted by itself";
    for kind in [
        "SignedEndorsingSupportingTokens",
        "EndorsingEncryptedSupportingTokens",
        "SignedEndorsingEncryptedSupportingTokens",
    ] {
        assert_eq!(with(kind, &inside), ("X509Token".to_owned(), reason));
    }
}

/// WS-SecurityPolicy 1.3, 8.1 to 8.8: "additional message parts that MUST be encrypted using the
/// token identified by this assertion". With the message's key they would be encrypted for somebody
/// else.
#[test]
fn parts_that_a_supporting_token_is_to_encrypt_are_refused_whatever_the_token() {
    let user = token("UsernameToken", "AlwaysToRecipient", "");
    let context = token("SecurityContextToken", "AlwaysToRecipient", "");
    let certificate = x509("AlwaysToRecipient", "");
    let elements = |kind: &str| format!("<sp:{kind}><sp:XPath>//Price</sp:XPath></sp:{kind}>");
    for (kind, token, reason) in [
        (
            "EndorsingSupportingTokens",
            &certificate,
            "what is encrypted with the certificate of whoever sends, nobody else reads: name them outside of the assertion, for the message's key",
        ),
        (
            "SignedSupportingTokens",
            &user,
            "a password is no key to encrypt with: name them outside of the assertion, for the message's key",
        ),
        (
            "EndorsingSupportingTokens",
            &context,
            "stacks do not agree on which key encrypts beside a context that supports: name them outside of the assertion",
        ),
    ] {
        for (name, parts) in [
            ("EncryptedParts", ENCRYPTED_BODY.to_owned()),
            ("EncryptedElements", elements("EncryptedElements")),
            (
                "ContentEncryptedElements",
                elements("ContentEncryptedElements"),
            ),
        ] {
            for binding in [
                format!(
                    "{}{SIGNED_BODY}",
                    symmetric(&x509("Never", ""), &suite("Basic256"))
                ),
                transport("<sp:IncludeTimestamp/>"),
            ] {
                let supporting = nest(kind, &format!("{token}{parts}"));
                let problems = refused(&format!("{binding}{supporting}"));
                let expected = (name.to_owned(), ProblemKind::NotSupported { reason });
                assert!(problems.contains(&expected), "{problems:?}");
            }
        }
    }
}
