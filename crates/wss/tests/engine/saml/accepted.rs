//! Messages with assertions that are accepted, and what is known of them then.

use std::sync::Arc;

use soapstone_testkit::keys;
use soapstone_wss::names::STR_TRANSFORM;
use soapstone_wss::{
    AssertionPolicy, AssertionProtection, AssertionToken, Binding, ConfirmationMethod,
    EncryptedPart, EndorsingToken, Envelope, Facts, HolderUse, InclusivePrefixes, KeyBinding,
    KeyReference, Keys, Mechanism, Part, Policy, Rejected, SamlVersion, Signer, TimestampPolicy,
    Verified,
};

use super::issuing::*;
use crate::support::*;

/// A message of a policy that carries an assertion.
pub(crate) fn carrying(policy: &Policy, assertion: &str) -> String {
    let token = AssertionToken::parse(assertion.as_bytes().to_vec()).unwrap();
    let keys = Keys {
        assertion: Some(Arc::new(token)),
        ..client_keys()
    };
    String::from_utf8(secure_at(policy, keys, PLAIN, None, moment()).bytes).unwrap()
}

/// The policy of messages that the holders of assertions sign.
pub(crate) fn by_holder() -> Policy {
    adjusted(&by_signature(), |accepted| {
        accepted.methods = vec![ConfirmationMethod::HolderOfKey];
    })
}

/// The policy of messages whose signature covers the assertion.
pub(crate) fn covering() -> Policy {
    let covering = with(&by_signature(), |policy| {
        policy.parts.signed.push(Part::Assertion);
    });
    adjusted(&covering, |accepted| {
        let by_key = ConfirmationMethod::HolderOfKey;
        accepted.methods.retain(|method| *method != by_key);
    })
}

fn confirmed(verified: &Verified<Envelope>) -> ConfirmationMethod {
    let found = verified.evidence().assertion.as_ref().unwrap();
    assert_eq!(found.assertion.subject.value, "alice");
    assert_eq!(found.assertion.issuer, ISSUER);
    let attribute = &found.assertion.attributes[0];
    assert_eq!(
        (attribute.name.as_str(), &attribute.values[..]),
        ("role", &["reader".to_owned()][..])
    );
    found.confirmed.unwrap()
}

#[test]
fn a_bearer_is_believed_over_a_connection() {
    for version in SamlVersion::ALL {
        let message = message(&Draft::bearer(version).signed());
        let verified = open_over_tls(&message).unwrap();
        assert_eq!(confirmed(&verified), ConfirmationMethod::Bearer);
        assert!(!forwarded(&verified).contains("Assertion"));
    }
}

#[test]
fn a_bearer_is_believed_whose_signature_covers_the_assertion() {
    for version in SamlVersion::ALL {
        let message = carrying(&covering(), &Draft::bearer(version).signed());
        let verified = open_as(&by_signature(), &message, &Facts::default()).unwrap();
        assert_eq!(confirmed(&verified), ConfirmationMethod::Bearer);
    }
}

#[test]
fn the_holder_of_a_key_signs_the_message() {
    for version in SamlVersion::ALL {
        for reference in [KeyReference::Direct, KeyReference::KeyName] {
            let mut policy = by_holder();
            policy.name_signing_key(reference);
            let assertion = Draft::holder(version, client().certificate()).signed();
            let message = carrying(&policy, &assertion);
            let token_type = match version {
                SamlVersion::V20 => "#SAMLV2.0\"",
                SamlVersion::V11 => "#SAMLV1.1\"",
            };
            assert!(message.contains(token_type) && !message.contains("BinarySecurityToken"));
            let verified = open_as(&by_signature(), &message, &Facts::default()).unwrap();
            assert_eq!(confirmed(&verified), ConfirmationMethod::HolderOfKey);
            let signature = &verified.evidence().signatures[0];
            let Signer::Holder {
                issuer,
                subject,
                certificate,
            } = &signature.signer
            else {
                panic!("{:?}", signature.signer);
            };
            assert_eq!((issuer.as_str(), subject.as_str()), (ISSUER, "alice"));
            assert_eq!(certificate.as_ref(), Some(client().certificate()));
            // Nothing but the issuer has to be believed.
            let alone = Keys {
                trust: None,
                ..knowing_issuers()
            };
            open_with(&by_holder(), alone, &Facts::default(), &message, moment()).unwrap();
            // Its TokenType need not be there.
            let start = message.find(" wsse11:TokenType").unwrap();
            let length = message[start..].find(token_type).unwrap() + token_type.len();
            let silent = message.replace(&message[start..start + length], "");
            open_as(&by_signature(), &silent, &Facts::default()).unwrap();
        }
    }
}

#[test]
fn the_holder_of_a_key_may_sign_with_a_certificate() {
    let signing = with(&covering(), |policy| {
        policy.parts.signed.retain(|part| *part != Part::Assertion)
    });
    let assertion = Draft::holder(SamlVersion::V20, client().certificate()).signed();
    let message = carrying(&signing, &assertion);
    let verified = open_as(&by_signature(), &message, &Facts::default()).unwrap();
    assert_eq!(confirmed(&verified), ConfirmationMethod::HolderOfKey);
    assert_eq!(verified.evidence().signer(), Some(client().certificate()));
}

#[test]
fn the_holder_of_a_key_shows_it_by_the_connection() {
    let message = message(&Draft::holder(SamlVersion::V20, client().certificate()).signed());
    let verified = open_as(&by_connection(), &message, &shown(&client())).unwrap();
    assert_eq!(confirmed(&verified), ConfirmationMethod::HolderOfKey);
    let held = |verified: &Verified<Envelope>| {
        let assertion = verified.evidence().assertion.as_ref();
        assertion.unwrap().held_by_connection
    };
    assert!(held(&verified));
    // Who shows another key holds none of a bearer's assertion.
    let bearer = self::message(&Draft::bearer(SamlVersion::V20).signed());
    let verified = open_as(&by_connection(), &bearer, &shown(&client())).unwrap();
    assert!(!held(&verified));
    // SAML Core 2.0, 2.4.1: each confirmation stands for itself. That of another holder, which has
    // ended, has the key that is shown; the one that holds is a bearer's.
    let over = Draft::holder(SamlVersion::V20, client().certificate());
    let over = over.confirmation.replacen(
        "<saml:SubjectConfirmationData",
        &format!(
            "<saml:SubjectConfirmationData NotOnOrAfter=\"{}\"",
            in_seconds(-600)
        ),
        1,
    );
    let both = Draft {
        confirmation: over + &confirmation(SamlVersion::V20, "bearer", ""),
        ..Draft::bearer(SamlVersion::V20)
    };
    let verified = open_as(
        &by_connection(),
        &self::message(&both.signed()),
        &shown(&client()),
    );
    let verified = verified.unwrap();
    assert_eq!(confirmed(&verified), ConfirmationMethod::Bearer);
    assert!(!held(&verified));
}

#[test]
fn an_attester_vouches_by_a_signature_or_by_the_connection() {
    for version in SamlVersion::ALL {
        let assertion = Draft::vouched(version).signed();
        let signed = carrying(&covering(), &assertion);
        let verified = open_as(&by_signature(), &signed, &Facts::default()).unwrap();
        assert_eq!(confirmed(&verified), ConfirmationMethod::SenderVouches);
        let bare = message(&assertion);
        let verified = open_as(&by_connection(), &bare, &shown(&client())).unwrap();
        assert_eq!(confirmed(&verified), ConfirmationMethod::SenderVouches);
    }
}

#[test]
fn an_assertion_may_be_encrypted_with_the_message() {
    for version in SamlVersion::ALL {
        let encrypting = with(&policy(Mechanism::SignEncrypt, "Basic256GCM"), |policy| {
            policy.parts.signed.push(Part::Assertion);
            policy
                .parts
                .encrypted
                .push(EncryptedPart::customary(Part::Assertion));
        });
        let encrypting = with_assertion(encrypting, accepting());
        let vouching = adjusted(&encrypting, |accepted| {
            accepted.methods = vec![
                ConfirmationMethod::SenderVouches,
                ConfirmationMethod::Bearer,
            ];
        });
        // Cipher text is covered by its id.
        let vouching = with(&vouching, |policy| policy.parts.tokens_by_reference = true);
        let message = carrying(&vouching, &Draft::vouched(version).signed());
        assert!(!message.contains("Assertion"), "{message}");
        let verified = open_as(&encrypting, &message, &Facts::default()).unwrap();
        assert_eq!(confirmed(&verified), ConfirmationMethod::SenderVouches);
        // The key of the holder comes to light in time to verify the signature.
        let holding = adjusted(&encrypting, |accepted| {
            accepted.methods = vec![ConfirmationMethod::HolderOfKey];
        });
        let assertion = Draft::holder(version, client().certificate()).signed();
        let message = carrying(&holding, &assertion);
        let verified = open_as(&encrypting, &message, &Facts::default()).unwrap();
        assert_eq!(confirmed(&verified), ConfirmationMethod::HolderOfKey);
    }
}

/// SOAP Message Security 1.1.1, 8.3: it is digested in the place of what refers to it, with the
/// default namespace around it.
#[test]
fn an_assertion_is_covered_through_a_reference_where_that_is_wanted() {
    let in_default_namespace = PLAIN.replace("soap:", "").replace(":soap", "");
    let through = |policy: &Policy| with(policy, |policy| policy.parts.tokens_by_reference = true);
    let holding = with(&by_holder(), |policy| policy.parts.signed.push(Part::Token));
    let listing = with(&covering(), |policy| {
        policy.parts.inclusive_prefixes = InclusivePrefixes::InScope;
    });
    for version in SamlVersion::ALL {
        let vouched = Draft::vouched(version).signed();
        let held = Draft::holder(version, client().certificate()).signed();
        for (policy, assertion) in [
            (&covering(), &vouched),
            (&listing, &vouched),
            (&holding, &held),
        ] {
            let by_id = carrying(policy, assertion);
            assert!(!by_id.contains(STR_TRANSFORM), "{by_id}");
            for plain in [PLAIN, &in_default_namespace] {
                let token = AssertionToken::parse(assertion.as_bytes().to_vec()).unwrap();
                let keys = Keys {
                    assertion: Some(Arc::new(token)),
                    ..client_keys()
                };
                let secured = secure_at(&through(policy), keys, plain, None, moment());
                let message = String::from_utf8(secured.bytes).unwrap();
                assert_eq!(message.matches(STR_TRANSFORM).count(), 1, "{message}");
                // A default namespace is taken back where there is one.
                let taken_back = message.contains("<saml:Assertion xmlns=\"\"");
                assert_eq!(taken_back, plain != PLAIN, "{message}");
                let verified = open_as(policy, &message, &Facts::default());
                confirmed(&verified.unwrap_or_else(|refused| panic!("{refused}\n{message}")));
            }
        }
    }
}

#[test]
fn an_assertion_inside_of_the_key_reference_is_read() {
    let mut policy = by_holder();
    policy.name_signing_key(KeyReference::KeyName);
    let assertion = Draft::holder(SamlVersion::V20, client().certificate()).signed();
    let message = carrying(&policy, &assertion);
    let token = AssertionToken::parse(assertion.as_bytes().to_vec()).unwrap();
    let written = token.written_beneath("").into_owned();
    let written = std::str::from_utf8(&written).unwrap();
    let start = message.find("<wsse:KeyIdentifier").unwrap();
    let end = message.find("</wsse:KeyIdentifier>").unwrap() + "</wsse:KeyIdentifier>".len();
    let embedded = format!("<wsse:Embedded>{written}</wsse:Embedded>");
    let message = message.replace(&message[start..end].to_owned(), &embedded);
    let moved = message.replacen(written, "", 1);
    assert!(moved.contains("<wsse:Embedded><saml:Assertion"), "{moved}");
    let verified = open_as(&by_signature(), &moved, &Facts::default()).unwrap();
    assert_eq!(confirmed(&verified), ConfirmationMethod::HolderOfKey);
    // It is the token of the signature, which does not cover it there.
    let covering = with(&by_signature(), |policy| {
        policy.parts.signed.push(Part::Token);
    });
    let refused = open_as(&covering, &moved, &Facts::default()).unwrap_err();
    let part = Part::Token;
    assert_eq!(refused, Rejected::Unsigned { part });
}

#[test]
fn the_assertion_goes_on_as_a_header_block_and_no_other_does() {
    let forwarding = adjusted(&by_connection(), |accepted| accepted.forwarded = true);
    let assertion = Draft::bearer(SamlVersion::V20).signed();
    let forged = Draft {
        subject: "mallory".to_owned(),
        id: "_forged".to_owned(),
        ..Draft::bearer(SamlVersion::V20)
    };
    let blocks = format!(
        "{}<b:block xmlns:b=\"urn:b\">{}</b:block><b:other xmlns:b=\"urn:b\"/>",
        forged.unsigned(),
        Draft {
            id: "_x".to_owned(),
            ..forged.clone()
        }
        .unsigned()
    );
    let message = message_with(&assertion, &blocks, "");
    for (policy, forwards) in [(&forwarding, true), (&by_connection(), false)] {
        let verified = open_as(policy, &message, &Facts::default()).unwrap();
        let passed = forwarded(&verified);
        assert_eq!(passed.contains(">alice<"), forwards);
        assert!(
            !passed.contains("mallory") && passed.contains(":other"),
            "{passed}"
        );
        assert_eq!(verified.evidence().dropped.len(), 2);
    }
    // Its signature holds where it stands then.
    let verified = open_as(&forwarding, &message, &Facts::default()).unwrap();
    let passed = forwarded(&verified);
    let start = passed.find("<saml:Assertion").unwrap();
    let end = passed.find("</saml:Assertion>").unwrap() + "</saml:Assertion>".len();
    open_over_tls(&super::issuing::message(&passed[start..end])).unwrap();
}

#[test]
fn an_issuer_need_not_say_with_which_key_it_signs() {
    for version in SamlVersion::ALL {
        let form = SignatureForm {
            with_certificate: false,
            ..SignatureForm::of(ID)
        };
        let assertion = sign(&Draft::bearer(version).unsigned(), &form, &IDP);
        open_over_tls(&message(&assertion)).unwrap();
    }
}

#[test]
fn an_issuer_with_an_authority_of_its_own_renews_its_certificate() {
    use soapstone_crypto::{TrustRules, TrustStore};
    use soapstone_wss::AssertionIssuer;
    let renewed = keys::identity_by("CN=idp authority", "CN=idp", keys::P256);
    let mut rules = TrustRules::default();
    rules
        .anchors
        .push(keys::authority("CN=idp authority").certificate().clone());
    rules.subjects.push("CN=idp".to_owned());
    let keys = Keys {
        issuers: Arc::new([AssertionIssuer {
            name: ISSUER.to_owned(),
            trust: Some(TrustStore::new(rules).unwrap()),
        }]),
        ..service_keys()
    };
    let unsigned = Draft::bearer(SamlVersion::V20).unsigned();
    let assertion = sign(&unsigned, &SignatureForm::of(ID), &renewed);
    open_with(
        &by_connection(),
        keys,
        &Facts::default(),
        &message(&assertion),
        moment(),
    )
    .unwrap();
}

/// The policy of messages that the holder of an assertion endorses.
fn endorsed(mut policy: Policy, protection: AssertionProtection) -> Policy {
    policy.endorse_with(EndorsingToken::by_certificate(KeyReference::KeyName));
    let endorsing = AssertionPolicy {
        methods: vec![ConfirmationMethod::HolderOfKey],
        holder: HolderUse::Endorses,
        protection,
        ..accepting()
    };
    with_assertion(policy, endorsing)
}

/// WS-SecurityPolicy 1.3, 8.3: the message's signature is made with a session key that everybody
/// can make, and the holder's says whose it is.
#[test]
fn the_holder_of_a_key_endorses_the_message() {
    let session = with(&policy(Mechanism::SignEncrypt, "Basic256GCM"), |policy| {
        policy.bind(KeyBinding::SessionKey, KeyReference::Thumbprint);
    });
    let policy = endorsed(session, AssertionProtection::Signature);
    for version in SamlVersion::ALL {
        let assertion = Draft::holder(version, client().certificate()).signed();
        let message = carrying(&policy, &assertion);
        assert!(!message.contains("BinarySecurityToken"), "{message}");
        let verified = open_as(&policy, &message, &Facts::default()).unwrap();
        assert_eq!(confirmed(&verified), ConfirmationMethod::HolderOfKey);
    }
    // A stolen assertion: its key endorses nothing.
    let stolen = Draft::holder(SamlVersion::V20, PARTIES.service.certificate()).signed();
    let right = Draft::holder(SamlVersion::V20, client().certificate()).signed();
    let message = carrying(&policy, &right);
    let written = AssertionToken::parse(right.into_bytes()).unwrap();
    let written = written.written_beneath("").into_owned();
    let written = std::str::from_utf8(&written).unwrap();
    let changed = message.replace(written, &stolen);
    assert_ne!(changed, message);
    let refused = open_as(&policy, &changed, &Facts::default()).unwrap_err();
    assert_eq!(refused.name(), "signature-mismatch");
}

#[test]
fn the_holder_of_a_key_signs_the_timestamp_over_a_connection() {
    let connection = with(&policy(Mechanism::None, "Basic256GCM"), |policy| {
        policy.header.timestamp = Some(TimestampPolicy::default());
        policy.binding = Binding::Transport;
    });
    let policy = endorsed(connection, AssertionProtection::Connection);
    let assertion = Draft::holder(SamlVersion::V20, client().certificate()).signed();
    let message = carrying(&policy, &assertion);
    let keys = Keys {
        trust: None,
        ..knowing_issuers()
    };
    let verified = open_with(&policy, keys, &Facts::default(), &message, moment()).unwrap();
    assert_eq!(confirmed(&verified), ConfirmationMethod::HolderOfKey);
    // The Timestamp alone is not signed by anybody else.
    let refused = open_as(
        &policy,
        &message.replace("wsse:KeyIdentifier", "wsse:Nothing"),
        &Facts::default(),
    );
    assert_eq!(refused.unwrap_err().name(), "token-unsupported");
}

/// WS-SecurityPolicy 1.3, 6.3: the signature covers the cipher text of the assertion.
#[test]
fn an_assertion_may_be_encrypted_before_it_is_signed() {
    let encrypting = with(&policy(Mechanism::EncryptSign, "Basic256GCM"), |policy| {
        policy.parts.signed.push(Part::Assertion);
        let assertion = EncryptedPart::customary(Part::Assertion);
        policy.parts.encrypted.push(assertion);
    });
    let bearing = AssertionPolicy {
        methods: vec![ConfirmationMethod::Bearer],
        ..accepting()
    };
    let policy = with_assertion(encrypting, bearing);
    let message = carrying(&policy, &Draft::bearer(SamlVersion::V20).signed());
    let verified = open_as(&policy, &message, &Facts::default()).unwrap();
    assert_eq!(confirmed(&verified), ConfirmationMethod::Bearer);
}

/// OpenSAML writes the type that the schema has.
#[test]
fn the_type_of_an_assertion_may_be_said() {
    let xsi = "http://www.w3.org/2001/XMLSchema-instance";
    let unsigned = Draft::bearer(SamlVersion::V20).unsigned();
    let typed = unsigned
        .replacen(" ID=", &format!(" xmlns:xsi=\"{xsi}\" ID="), 1)
        .replacen(
            "Version=\"2.0\">",
            "Version=\"2.0\" xsi:type=\"saml:AssertionType\">",
            1,
        );
    let signed = sign(&typed, &SignatureForm::of(ID), &IDP);
    open_over_tls(&message(&signed)).unwrap();
}

/// Whoever has captured cipher text puts no message of his own around it: without the assertion
/// that the plan demands, nothing is deciphered.
#[test]
fn a_message_without_its_assertion_is_not_deciphered() {
    let plain = policy(Mechanism::SignEncrypt, "Basic256GCM");
    let message = String::from_utf8(secure_at(&plain, client_keys(), PLAIN, None, moment()).bytes);
    let wanting = with_assertion(plain, accepting());
    let (keys, facts) = (knowing_issuers(), Facts::default());
    let refused = open_as_peer_with(&wanting, keys, &facts, &message.unwrap(), moment());
    assert_eq!(refused.unwrap_err(), Rejected::AssertionMissing);
}
