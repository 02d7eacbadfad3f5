//! Signatures that cover the certificate which they name (SOAP Message Security 1.1.1, 8.3).

use super::*;

/// Every way through which a signature covers the certificate.
fn dereferenced() -> impl Iterator<Item = KeyReference> {
    all().filter(|way| way.is_dereferenced())
}

/// Messages whose signature covers the token, through the reference to it.
fn protecting(reference: KeyReference) -> Policy {
    with(&signing_by(reference), |policy| {
        policy.parts.signed.push(Part::Token);
        policy.parts.tokens_by_reference = true;
    })
}

/// SOAP Message Security 1.1.1, 8.3: whatever the reference, and whether or not the header has the
/// token.
#[test]
fn a_signature_covers_its_token_through_every_reference() {
    let in_default_namespace = PLAIN.replace("soap:", "").replace(":soap", "");
    for way in dereferenced() {
        for plain in [PLAIN, &PLAIN.replace(SOAP11, SOAP12), &in_default_namespace] {
            let policy = protecting(way);
            let message = secure(&policy, plain);
            assert_eq!(message.matches(STR_TRANSFORM).count(), 1, "{way:?}");
            if let Err(refused) = open(&policy, &message) {
                panic!("{way:?}: {refused}\n{message}");
            }
            // The receiver asks for the token itself, whatever the way that the sender has.
            let plain = with(&signing_by(KeyReference::Direct), |policy| {
                policy.parts.signed.push(Part::Token);
            });
            open(&plain, &message).unwrap();
        }
    }
}

/// What stands in the header is covered as it stands, unless the policy says otherwise.
#[test]
fn a_token_of_the_header_is_covered_by_its_id_unless_told() {
    for way in [KeyReference::Direct, KeyReference::PkiPath] {
        let policy = with(&protecting(way), |policy| {
            policy.parts.tokens_by_reference = false;
        });
        let message = secure(&policy, PLAIN);
        assert!(!message.contains(STR_TRANSFORM), "{way:?}");
        open(&policy, &message).unwrap();
    }
}

/// The certificate that a signature covers cannot be exchanged for another one of the same key.
#[test]
fn a_covered_certificate_is_not_exchanged_for_another_one_of_its_key() {
    let key = PARTIES.client.key();
    let template = keys::template("CN=client");
    let again = issue::issued(&PARTIES.authority, key.public_key(), &template).unwrap();
    assert_ne!(again.der(), client().der());
    let mut rules = trust_rules();
    rules.pinned.push(again.clone());
    let keys = Keys {
        trust: Some(Arc::new(TrustStore::new(rules).unwrap())),
        ..service_keys()
    };
    let exchanged = |policy: &Policy| {
        let message = secure(policy, PLAIN);
        let named = key_identifier(THUMBPRINT_SHA1, &client().thumbprint_sha1());
        let (old, new) = (client().thumbprint_sha1(), again.thumbprint_sha1());
        assert!(named.contains(&base64::encode(&old)));
        let message = message.replacen(&base64::encode(&old), &base64::encode(&new), 1);
        open_with(policy, keys.clone(), &facts(), &message, now()).map(drop)
    };
    // Nothing covers it: another certificate of the same key says the same.
    assert_eq!(exchanged(&signing_by(KeyReference::Thumbprint)), Ok(()));
    let refused = exchanged(&protecting(KeyReference::Thumbprint)).unwrap_err();
    assert_eq!(refused.name(), "digest-mismatch");
}

/// A token inside of the reference to it is demanded to be covered, as is any other.
#[test]
fn an_embedded_token_that_nothing_covers_is_unsigned() {
    let message = secure(&signing_by(KeyReference::Embedded), PLAIN);
    let refused = open(&protecting(KeyReference::Embedded), &message).unwrap_err();
    assert_eq!(refused, Rejected::Unsigned { part: Part::Token });
}

#[test]
fn a_reference_that_cannot_be_dereferenced_covers_no_token() {
    for way in all().filter(|way| !way.is_dereferenced()) {
        let problems = OutboundPlan::compile(protecting(way), client_keys()).unwrap_err();
        assert!(
            matches!(&*problems, [PlanProblem::Reference { reference, .. }] if *reference == way),
            "{problems:?}"
        );
    }
}
