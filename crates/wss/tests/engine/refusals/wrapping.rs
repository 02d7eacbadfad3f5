//! Signed elements that were moved, copied or left out: what is signed has to stand where it is
//! looked for.

use soapstone_wss::names::{DS, WSSE, WSU};
use soapstone_wss::{EncryptedPart, FaultCode, Mechanism, Part, Rejected, TimestampPolicy};

use super::{cut, name_of, refuse, sign};
use crate::support::*;

#[test]
fn an_unsigned_body_is_refused() {
    let mut partial = sign();
    partial.parts.signed = vec![Part::Timestamp];
    let refused = refuse(&sign(), &secure(&partial, PLAIN));
    assert_eq!(refused, Rejected::Unsigned { part: Part::Body });
    assert_eq!(refused.fault(), FaultCode::InvalidSecurity);
}

#[test]
fn an_unsigned_timestamp_is_refused() {
    let mut partial = sign();
    partial.parts.signed = vec![Part::Body];
    assert_eq!(
        refuse(&sign(), &secure(&partial, PLAIN)),
        Rejected::Unsigned {
            part: Part::Timestamp
        }
    );
}

/// McIntosh and Austel, XML Signature Element Wrapping Attacks (2005): the signed body is moved
/// elsewhere, another takes its place.
#[test]
fn a_signed_body_moved_elsewhere_is_not_the_body() {
    let message = secure(&sign(), PLAIN);
    let body = cut(&message, "soap:Body");
    let forged =
        "<soap:Body><e:echo xmlns:e=\"urn:echo\"><e:text>forged</e:text></e:echo></soap:Body>";
    let security_end = "</wsse:Security>";
    let placements = [
        (
            "a header block",
            message
                .replace(body, forged)
                .replace(security_end, &format!("{security_end}<w>{body}</w>")),
        ),
        (
            "under the signature",
            message.replace(body, forged).replace(
                "</ds:Signature>",
                &format!("<ds:Object>{body}</ds:Object></ds:Signature>"),
            ),
        ),
        (
            "inside the forged body",
            message.replace(
                body,
                &forged.replace("<e:text>", &format!("{body}<e:text>")),
            ),
        ),
        (
            "inside another header",
            message
                .replace(body, forged)
                .replace("<a:To>urn:service", &format!("<a:To>{body}urn:service")),
        ),
    ];
    for (placement, moved) in placements {
        let refused = refuse(&sign(), &moved);
        assert_eq!(
            refused,
            Rejected::Unsigned { part: Part::Body },
            "{placement}"
        );
    }
    let twice = message.replace(body, &format!("{forged}{body}"));
    assert_eq!(name_of(&refuse(&sign(), &twice)), "not-an-envelope");
    let in_security = message
        .replace(body, forged)
        .replace(security_end, &format!("{body}{security_end}"));
    assert_eq!(
        name_of(&refuse(&sign(), &in_security)),
        "element-unexpected"
    );
}

#[test]
fn a_signed_timestamp_moved_elsewhere_is_not_the_timestamp() {
    let message = secure(&sign(), PLAIN);
    let stamp = cut(&message, "wsu:Timestamp");
    let now = jiff::Timestamp::now();
    let forged = format!(
        "<wsu:Timestamp xmlns:wsu=\"{}\"><wsu:Created>{now}</wsu:Created></wsu:Timestamp>",
        soapstone_wss::names::WSU
    );
    let moved = message.replace(stamp, &forged).replace(
        "</wsse:Security>",
        &format!("</wsse:Security><w>{stamp}</w>"),
    );
    assert_eq!(
        refuse(&sign(), &moved),
        Rejected::Unsigned {
            part: Part::Timestamp
        }
    );
}

#[test]
fn two_elements_with_one_id_are_refused() {
    let message = secure(&sign(), PLAIN);
    let body = cut(&message, "soap:Body");
    let copied = message.replace("</soap:Header>", &format!("<w>{body}</w></soap:Header>"));
    let refused = refuse(&sign(), &copied);
    assert_eq!(name_of(&refused), "duplicate-id");
}

#[test]
fn an_encrypted_duplicate_of_an_id_is_refused() {
    let policy = policy(Mechanism::Encrypt, "Basic128GCM");
    let plain = PLAIN.replace("<e:empty/>", "<e:empty xml:id=\"twin\"/>");
    let message = secure(&policy, &plain);
    assert!(open(&policy, &message).is_ok());
    // Before decryption there is one element with this id, afterwards there would be two.
    let twins = message.replace("<a:To>", "<a:To xml:id=\"twin\">");
    let refused = refuse(&policy, &twins);
    assert_eq!(refused.name(), "duplicate-id");
}

#[test]
fn a_header_that_must_be_understood_and_is_not_signed_is_not_dropped_silently() {
    let plain = PLAIN.replace("soap:mustUnderstand=\"0\"", "soap:mustUnderstand=\"1\"");
    let refused = refuse(&sign(), &secure(&sign(), &plain));
    assert_eq!(refused.name(), "header-not-verified");
    assert_eq!(refused.fault(), FaultCode::MustUnderstand);
}

#[test]
fn a_signed_header_block_that_was_moved_aside_is_not_overlooked() {
    let mut policy = sign();
    policy.parts.signed.push(Part::Header {
        namespace: "http://www.w3.org/2005/08/addressing".to_owned(),
        local: "To".to_owned(),
    });
    let message = secure(&policy, PLAIN);
    assert!(open(&policy, &message).is_ok());
    let block = cut(&message, "a:To");
    let aside = message.replace(block, &format!("<w>{block}</w>"));
    let without = message.replace(block, "");
    let object = format!("<ds:Object>{block}</ds:Object></ds:Signature>");
    let hidden = without.replace("</ds:Signature>", &object);
    // In what holds keys, in a token that nothing refers to and nobody reads.
    let unread = format!(
        "<wsse:BinarySecurityToken><ds:KeyInfo xmlns:ds=\"{DS}\">{block}</ds:KeyInfo></wsse:BinarySecurityToken></wsse:Security>"
    );
    let unread = without.replace("</wsse:Security>", &unread);
    // A reference of the header that nobody follows is read as strictly as any.
    let reference = "wsse:SecurityTokenReference";
    let referring = format!("<{reference}>{block}</{reference}></wsse:Security>");
    let referring = without.replace("</wsse:Security>", &referring);
    assert_eq!(name_of(&refuse(&policy, &referring)), "token-unsupported");
    for moved in [aside, hidden, unread] {
        assert_ne!(moved, without);
        let refused = refuse(&policy, &moved);
        let element = "{http://www.w3.org/2005/08/addressing}To".to_owned();
        assert_eq!(refused, Rejected::SignedElsewhere { element });
    }
}

/// Where the Body is not signed, anybody puts into it what he likes.
#[test]
fn a_signed_header_block_that_was_moved_into_an_unsigned_body_is_not_overlooked() {
    let to = Part::Header {
        namespace: "http://www.w3.org/2005/08/addressing".to_owned(),
        local: "To".to_owned(),
    };
    for parts in [vec![to.clone()], vec![to.clone(), Part::Body]] {
        let mut policy = sign();
        policy.parts.signed = parts.clone();
        let message = secure(&policy, PLAIN);
        let block = cut(&message, "a:To").to_owned();
        let moved = message
            .replace(&block, "")
            .replace("</e:echo>", &format!("{block}</e:echo>"));
        assert_ne!(moved, message);
        let refused = refuse(&policy, &moved);
        if parts.contains(&Part::Body) {
            assert!(matches!(refused, Rejected::Signature(_)), "{refused}");
            // One that was there beforehand is content like any other.
            let plain = PLAIN.replace("<e:empty/>", "<a:To>urn:service</a:To>");
            assert!(open(&policy, &secure(&policy, &plain)).is_ok());
        } else {
            let element = "{http://www.w3.org/2005/08/addressing}To".to_owned();
            assert_eq!(refused, Rejected::SignedElsewhere { element });
        }
    }
}

/// A plan that asks for neither of them might take one that stands aside for one that is not there.
#[test]
fn a_signed_time_or_user_in_an_unsigned_body_is_not_overlooked() {
    let to = Part::Header {
        namespace: "http://www.w3.org/2005/08/addressing".to_owned(),
        local: "To".to_owned(),
    };
    let receiving = with(&sign(), |policy| {
        policy.parts.signed = vec![to.clone()];
        policy.header.timestamp = None;
    });
    let users = policy(Mechanism::Username, "Basic128GCM");
    for (part, namespace, name) in [
        (Part::UsernameToken, WSSE, "wsse:UsernameToken"),
        (Part::Timestamp, WSU, "wsu:Timestamp"),
    ] {
        let sending = with(&receiving, |policy| {
            match part {
                Part::Timestamp => policy.header.timestamp = Some(TimestampPolicy::default()),
                _ => policy.set_username(users.username().cloned()),
            }
            policy.parts.signed.push(part.clone());
        });
        let message = secure(&sending, PLAIN);
        let item = cut(&message, name);
        let moved = format!("<w xmlns:wsse=\"{WSSE}\" xmlns:wsu=\"{WSU}\">{item}</w></soap:Body>");
        let moved = message
            .replacen(item, "", 1)
            .replacen("</soap:Body>", &moved, 1);
        let (_, local) = name.split_once(':').unwrap();
        let element = format!("{{{namespace}}}{local}");
        assert_eq!(
            refuse(&receiving, &moved),
            Rejected::SignedElsewhere { element }
        );
    }
}

/// What the header never holds is content of the Body like any other.
#[test]
fn a_signed_element_of_an_unsigned_body_stands_in_its_place() {
    let sending = with(&sign(), |policy| {
        policy.parts.signed = vec![Part::Timestamp, Part::Id("inner".to_owned())];
    });
    let inner = format!("<e:empty xmlns:wsu=\"{WSU}\" wsu:Id=\"inner\"/>");
    let message = secure(&sending, &PLAIN.replace("<e:empty/>", &inner));
    let receiving = with(&sign(), |policy| {
        policy.parts.signed = vec![Part::Timestamp];
    });
    assert!(open(&receiving, &message).is_ok());
}

/// SOAP Message Security 1.1.1, 9.3: what an `EncryptedHeader` held is a header block, and what
/// anything else held is not.
#[test]
fn a_header_block_that_another_element_hides_is_not_in_its_place() {
    let to = Part::Header {
        namespace: "http://www.w3.org/2005/08/addressing".to_owned(),
        local: "To".to_owned(),
    };
    let mut policy = policy(Mechanism::SignEncrypt, "Basic128GCM");
    policy.parts.signed.push(to.clone());
    policy.parts.encrypted.push(EncryptedPart::customary(to));
    let message = secure(&policy, PLAIN);
    assert!(open(&policy, &message).is_ok());
    let hidden = message
        .replace("<wsse11:EncryptedHeader", "<hidden")
        .replace("</wsse11:EncryptedHeader", "</hidden");
    assert_ne!(hidden, message);
    let element = "{http://www.w3.org/2005/08/addressing}To".to_owned();
    assert_eq!(
        refuse(&policy, &hidden),
        Rejected::SignedElsewhere { element }
    );
}

/// Nothing signed says what is to be deciphered.
#[test]
fn a_signed_header_block_that_is_left_enciphered_is_not_overlooked() {
    let to = Part::Header {
        namespace: "http://www.w3.org/2005/08/addressing".to_owned(),
        local: "To".to_owned(),
    };
    let mut policy = policy(Mechanism::EncryptSign, "Basic128GCM");
    policy.parts.signed.push(to.clone());
    policy.parts.encrypted.push(EncryptedPart::customary(to));
    let message = secure(&policy, PLAIN);
    assert!(open(&policy, &message).is_ok());
    let start = message.find("<xenc:DataReference").unwrap();
    let end = start + message[start..].find("</xenc:DataReference>").unwrap();
    let left = message.replacen(&message[start..end + "</xenc:DataReference>".len()], "", 1);
    let bare = cut(&left, "xenc:EncryptedData").to_owned();
    let bare = left.replace(cut(&left, "wsse11:EncryptedHeader"), &bare);
    for changed in [left, bare] {
        assert_ne!(changed, message);
        let element = "{http://www.w3.org/2001/04/xmlenc#}EncryptedData".to_owned();
        let refused = refuse(&policy, &changed);
        assert_eq!(refused, Rejected::SignedElsewhere { element });
    }
}

#[test]
fn a_signed_encrypted_header_for_us_is_deciphered() {
    let namespace = "http://docs.oasis-open.org/wss/oasis-wss-wssecurity-secext-1.1.xsd";
    let mut policy = sign();
    policy.parts.signed.push(Part::Header {
        namespace: namespace.to_owned(),
        local: "EncryptedHeader".to_owned(),
    });
    let with = |attributes: &str| {
        let block = format!(
            "<w:EncryptedHeader xmlns:w=\"{namespace}\"{attributes}><x:EncryptedData xmlns:x=\"http://www.w3.org/2001/04/xmlenc#\"/></w:EncryptedHeader>"
        );
        let plain = PLAIN.replace("</soap:Header>", &format!("{block}</soap:Header>"));
        assert_ne!(plain, PLAIN);
        secure(&policy, &plain)
    };
    let element = format!("{{{namespace}}}EncryptedHeader");
    for ours in ["", " soap:actor=\"\""] {
        let refused = refuse(&policy, &with(ours));
        let element = element.clone();
        assert_eq!(refused, Rejected::SignedElsewhere { element });
    }
    let passed_on = open(&policy, &with(" soap:actor=\"urn:other\"")).unwrap();
    assert!(forwarded(&passed_on).contains("EncryptedHeader"));
}

#[test]
fn a_signed_header_block_that_is_gone_with_deciphered_data_is_not_overlooked() {
    for mechanism in [Mechanism::SignEncrypt, Mechanism::EncryptSign] {
        let mut policy = policy(mechanism, "Basic128GCM");
        policy.parts.signed = vec![Part::Header {
            namespace: "http://www.w3.org/2005/08/addressing".to_owned(),
            local: "To".to_owned(),
        }];
        let message = secure(&policy, PLAIN);
        assert!(open(&policy, &message).is_ok());
        let block = cut(&message, "a:To");
        let without = message.replace(block, "");
        let key_info = without.rfind("<ds:KeyInfo").unwrap();
        let inside = key_info + without[key_info..].find('>').unwrap() + 1;
        let refused = refuse(
            &policy,
            &format!("{}{block}{}", &without[..inside], &without[inside..]),
        );
        let element = "{http://www.w3.org/2005/08/addressing}To".to_owned();
        assert_eq!(refused, Rejected::SignedElsewhere { element });
    }
}

/// Exclusive XML Canonicalization 1.0, 3: attributes of the XML namespace are not inherited, so
/// that no signature covers them; in the form in which messages are passed on (C14N 1.0, 2.4) they
/// are.
#[test]
fn attributes_around_what_is_signed_are_not_passed_on_with_it() {
    let around = r#"xml:base="http://attacker/" xml:id="body" xml:lang="tlh" xml:space="preserve""#;
    let mut policy = sign();
    let action = Part::Header {
        namespace: "http://www.w3.org/2005/08/addressing".to_owned(),
        local: "Action".to_owned(),
    };
    policy.parts.signed.push(action);
    let plain = PLAIN.replace("<e:text ", "<e:text xml:lang=\"de\" ");
    let message = secure(&policy, &plain);
    let expected = forwarded(&open(&policy, &message).unwrap());
    assert!(expected.contains("<a:Action ") && expected.contains("xml:lang=\"de\""));
    for element in ["<soap:Envelope", "<soap:Header"] {
        let changed = message.replacen(element, &format!("{element} {around}"), 1);
        assert_eq!(forwarded(&open(&policy, &changed).unwrap()), expected);
    }
}
