//! Parts that a policy names by a path.

use crate::support::Adjust as _;
use crate::support::*;
use soapstone_wss::{
    ElementPath, EncryptedPart, Extent, Mechanism, Part, Policy, ProtectionOrder, Rejected,
};

fn path(expression: &str) -> Part {
    let namespace = |prefix: &str| match prefix {
        "s" => Some("http://schemas.xmlsoap.org/soap/envelope/".to_owned()),
        "a" => Some("http://www.w3.org/2005/08/addressing".to_owned()),
        "e" => Some("urn:echo".to_owned()),
        _ => None,
    };
    Part::Path(ElementPath::parse(expression, namespace).unwrap())
}

/// Signs and encrypts the text element, and the header block `a:To`, by paths.
fn by_paths() -> Policy {
    let mut policy = policy(Mechanism::SignEncrypt, "Basic128GCM");
    let parts = [path("//e:echo/e:text"), path("/s:Envelope/s:Header/a:To")];
    policy.parts.signed = parts.to_vec();
    policy.parts.encrypted = parts.map(EncryptedPart::customary).to_vec();
    policy
}

#[test]
fn elements_selected_by_paths_are_signed_and_encrypted_in_either_order() {
    for order in [
        ProtectionOrder::SignBeforeEncrypting,
        ProtectionOrder::EncryptBeforeSigning,
    ] {
        let mut policy = by_paths();
        policy.set_order(order);
        let message = secure(&policy, PLAIN);
        assert!(!message.contains("Grüße") && !message.contains("urn:service"));
        let plain = forwarded(&open(&policy, &message).unwrap());
        assert!(
            plain.contains("Grüße") && plain.contains("urn:service"),
            "{plain}"
        );
    }
}

#[test]
fn parts_that_mean_the_same_element_or_one_inside_another_are_encrypted_once() {
    let mut policy = by_paths();
    let content = |part| EncryptedPart {
        part,
        extent: Extent::Content,
    };
    policy.parts.encrypted = vec![
        EncryptedPart::customary(Part::Body),
        content(path("/s:Envelope/s:Body")),
        EncryptedPart::customary(path("//e:text")),
        EncryptedPart::customary(path("//e:*")),
    ];
    let message = secure(&policy, PLAIN);
    let plain = forwarded(&open(&policy, &message).unwrap());
    assert!(plain.contains("Grüße"), "{plain}");
}

#[test]
fn an_element_that_a_path_selects_and_nobody_signed_or_encrypted_is_refused() {
    let mut signing = by_paths();
    signing.unencrypt();
    let message = secure(&signing, PLAIN);
    let mut more = signing.clone();
    more.parts.signed.push(path("//e:empty"));
    assert_eq!(
        open(&more, &message).unwrap_err(),
        Rejected::Unsigned {
            part: path("//e:empty")
        }
    );
    let message = secure(&by_paths(), PLAIN);
    let mut more = by_paths();
    let parts = &mut more.parts.encrypted;
    parts.push(EncryptedPart::customary(path("//e:empty")));
    assert_eq!(
        open(&more, &message).unwrap_err(),
        Rejected::Unencrypted {
            part: path("//e:empty")
        }
    );
}

#[test]
fn a_path_may_say_what_must_be_there() {
    let mut policy = by_paths();
    let message = secure(&policy, PLAIN);
    policy.parts.required = vec![path("//e:echo"), path("//e:missing")];
    assert_eq!(
        open(&policy, &message).unwrap_err(),
        Rejected::PartMissing {
            part: path("//e:missing")
        }
    );
}

/// The id that the inner one is given is in the digest of the outer one.
#[test]
fn an_element_is_signed_beside_the_one_that_holds_it() {
    for mechanism in [
        Mechanism::Sign,
        Mechanism::SignEncrypt,
        Mechanism::EncryptSign,
    ] {
        let mut policy = policy(mechanism, "Basic128GCM");
        let parts = &mut policy.parts.signed;
        *parts = vec![Part::Body, path("/s:Envelope/s:Header/a:To")];
        if mechanism != Mechanism::EncryptSign {
            parts.extend([path("//e:text"), path("//e:echo")]);
        }
        let message = secure(&policy, PLAIN);
        let verified = open(&policy, &message)
            .unwrap_or_else(|error| panic!("{mechanism}: {error}\n{message}"));
        let nodes = &verified.evidence().signatures[0].nodes;
        assert_eq!(nodes.len(), parts_of(&policy));
    }
}

fn parts_of(policy: &Policy) -> usize {
    policy.parts.signed.len()
}
