//! Messages that lack what the plan demands of their header, or have it beside what was meant.

use soapstone_wss::{
    Binding, ElementPath, EncryptedPart, Extent, FaultCode, KerberosForm, KerberosPolicy,
    Mechanism, Part, Policy, Rejected, SupportingToken,
};

use soapstone_wss::names::WSSE;
use soapstone_xmlsec::enc::EncryptionError;

use super::{cut, refuse, sign};
use crate::support::*;

/// A policy that wants a token about the sender, too.
fn wanting(policy: &Policy, token: SupportingToken) -> Policy {
    with(policy, |policy| policy.supporting.push(token))
}

fn user_token() -> SupportingToken {
    let policy = policy(Mechanism::Username, "Basic128GCM");
    SupportingToken::Username(policy.username().unwrap().clone())
}

fn ticket() -> SupportingToken {
    SupportingToken::Kerberos(KerberosPolicy {
        form: KerberosForm::Gss,
        carried: true,
        by_identifier: false,
    })
}

/// In the clear it is missed before anything is deciphered; where cipher text of the header could
/// hold it, afterwards.
#[test]
fn a_message_without_the_token_about_its_sender_is_refused() {
    let users = policy(Mechanism::Username, "Basic128GCM");
    let message = secure(&users, PLAIN);
    let without = message.replacen(cut(&message, "wsse:UsernameToken"), "", 1);
    assert_eq!(refuse(&users, &without), Rejected::UsernameMissing);
    let hiding = with(&policy(Mechanism::SignEncrypt, "Basic128GCM"), |policy| {
        let signature = EncryptedPart::customary(Part::Signature);
        policy.parts.encrypted.push(signature);
    });
    for sent in [sign(), hiding] {
        let message = secure(&sent, PLAIN);
        assert!(open(&sent, &message).is_ok());
        let wanted = wanting(&sent, user_token());
        assert_eq!(refuse(&wanted, &message), Rejected::UsernameMissing);
    }
    // A ticket is shown behind a connection that protects it.
    let connected = with(&users, |policy| policy.binding = Binding::Transport);
    assert!(open(&connected, &message).is_ok());
    let wanted = wanting(&connected, ticket());
    assert_eq!(refuse(&wanted, &message), Rejected::KerberosMissing);
}

/// No key is missing, and the peer is told what he is told of a key.
#[test]
fn a_reference_to_cipher_text_that_no_element_is_names_the_reference() {
    let encrypt = policy(Mechanism::Encrypt, "Basic128GCM");
    let message = secure(&encrypt, PLAIN);
    let at = message.find("<xenc:DataReference URI=\"").unwrap() + 25;
    let uri = &message[at..at + message[at..].find('"').unwrap()];
    let timestamp = cut(&message, "wsu:Timestamp");
    let at = timestamp.find("wsu:Id=\"").unwrap() + 8;
    let of_timestamp = &timestamp[at..at + timestamp[at..].find('"').unwrap()];
    for reference in ["#nowhere", "nowhere", &format!("#{of_timestamp}")] {
        let misled = message.replacen(
            &format!("<xenc:DataReference URI=\"{uri}\""),
            &format!("<xenc:DataReference URI=\"{reference}\""),
            1,
        );
        let refused = refuse(&encrypt, &misled);
        let expected = Rejected::CipherTextNotFound {
            reference: reference.to_owned(),
        };
        assert_eq!(refused, expected);
        assert_eq!(refused.name(), "reference-not-found");
        let fault = told_to_peer(&encrypt, &misled).fault();
        assert_eq!(fault, FaultCode::SecurityTokenUnavailable);
    }
}

/// Only where deciphering failed, another key may be the reason.
#[test]
fn a_form_of_cipher_text_that_is_refused_is_no_matter_of_keys() {
    let encrypt = policy(Mechanism::Encrypt, "Basic128GCM");
    let message = secure(&encrypt, PLAIN);
    let data = cut(&message, "xenc:EncryptedData");
    let untyped = data.replacen(" Type=\"http://www.w3.org/2001/04/xmlenc#Content\"", "", 1);
    let refused = refuse(&encrypt, &message.replacen(data, &untyped, 1));
    assert_eq!(
        refused,
        Rejected::Encryption(EncryptionError::NotXml { kind: None })
    );
    assert_eq!(refused.hint(), None);
    let failed = Rejected::Encryption(EncryptionError::Failed);
    assert!(
        failed
            .hint()
            .is_some_and(|hint| hint.contains("another certificate"))
    );
}

/// XML-Enc 1.1, 2.1.2: content is all that an element holds. What stands beside the cipher text was
/// in no cipher text.
#[test]
fn a_body_of_which_a_part_is_encrypted_is_not_encrypted() {
    let encrypt = policy(Mechanism::Encrypt, "Basic128GCM");
    let message = secure(&encrypt, PLAIN);
    assert!(open(&encrypt, &message).is_ok());
    for beside in ["<added/>", "added"] {
        let end = "</soap:Body>";
        let changed = message.replacen(end, &format!("{beside}{end}"), 1);
        assert_ne!(changed, message);
        let part = Part::Body;
        assert_eq!(refuse(&encrypt, &changed), Rejected::Unencrypted { part });
    }
}

/// XML-Enc 1.1, 3.1: the content of an element is not the element, whose name and attributes
/// anybody reads.
#[test]
fn an_element_whose_content_is_encrypted_is_not_encrypted() {
    let resolve = |prefix: &str| (prefix == "e").then(|| "urn:echo".to_owned());
    let part = Part::Path(ElementPath::parse("//e:text", resolve).unwrap());
    for mechanism in [Mechanism::SignEncrypt, Mechanism::Encrypt] {
        let encrypting = |extent| {
            let part = part.clone();
            with(&policy(mechanism, "Basic128GCM"), |policy| {
                policy.parts.encrypted = vec![EncryptedPart { part, extent }];
            })
        };
        let (content, element) = (encrypting(Extent::Content), encrypting(Extent::Element));
        let message = secure(&content, PLAIN);
        assert!(open(&content, &message).is_ok());
        let part = part.clone();
        assert_eq!(refuse(&element, &message), Rejected::Unencrypted { part });
        let message = secure(&element, PLAIN);
        assert!(open(&element, &message).is_ok());
        assert!(open(&content, &message).is_ok());
    }
}

/// A reference of the header is there for a signature to cover its token.
#[test]
fn a_reference_to_a_token_is_unexpected_where_nothing_is_signed() {
    let encrypt = policy(Mechanism::Encrypt, "Basic128GCM");
    let message = secure(&encrypt, PLAIN);
    let reference = format!(
        "<s:SecurityTokenReference xmlns:s=\"{WSSE}\"><s:Reference URI=\"#any\"/></s:SecurityTokenReference></wsse:Security>"
    );
    let changed = message.replacen("</wsse:Security>", &reference, 1);
    let element = format!("{{{WSSE}}}SecurityTokenReference");
    assert_eq!(
        refuse(&encrypt, &changed),
        Rejected::ElementUnexpected { element }
    );
}

#[test]
fn a_header_for_somebody_else_is_told_from_none() {
    let message = secure(&sign(), PLAIN);
    let start = "<wsse:Security ";
    let for_actor = |actor: &str| {
        let start_tag = format!("{start}soap:actor=\"{actor}\" ");
        refuse(&sign(), &message.replacen(start, &start_tag, 1))
    };
    let refused = for_actor("urn:someone");
    assert_eq!(
        refused.to_string(),
        "expected a `wsse:Security` header for this actor, found one for actor `urn:someone`"
    );
    assert_eq!(refused.name(), "security-missing");
    assert_eq!(refused.fault(), Rejected::SecurityMissing.fault());
    // What a peer wrote forges no line, and fills no log.
    let refused = for_actor(&format!("a&#10;\u{202e}{}", "b".repeat(200)));
    let found = format!("a\\n\\u{{202e}}{}…", "b".repeat(117));
    assert_eq!(refused, Rejected::SecurityForOthers { actor: Some(found) });
    let wanting_actor = with(&sign(), |policy| {
        policy.header.actor = Some("urn:us".to_owned());
    });
    let refused = refuse(&wanting_actor, &message);
    assert_eq!(refused, Rejected::SecurityForOthers { actor: None });
}

#[test]
fn a_header_of_another_namespace_is_told_from_none() {
    let message = secure(&sign(), PLAIN);
    let namespace = "http://schemas.xmlsoap.org/ws/2002/12/secext";
    let refused = refuse(&sign(), &message.replace(WSSE, namespace));
    assert_eq!(
        refused.to_string(),
        format!("expected a `wsse:Security` header, found `Security` of namespace `{namespace}`")
    );
    assert_eq!(refused.name(), "security-missing");
    assert_eq!(refused.fault(), Rejected::SecurityMissing.fault());
}

/// Whoever the header is for, a receiver has to understand it: a key of the policy says so, and no
/// part of it.
#[test]
fn a_header_for_whoever_comes_next_has_a_remedy_of_its_own() {
    let message = secure(&sign(), PLAIN);
    let next = "<wsse:Security soap:actor=\"http://schemas.xmlsoap.org/soap/actor/next\" ";
    let message = message.replacen("<wsse:Security ", next, 1);
    let refused = refuse(&sign(), &message);
    assert_eq!(refused.name(), "header-not-understood");
    let hint = refused.hint().unwrap();
    assert!(
        hint.contains("say `actor = \"next\"` in [security]"),
        "{hint}"
    );
    let for_next = with(&sign(), |policy| {
        policy.header.actor = Some("next".to_owned())
    });
    assert!(open(&for_next, &message).is_ok());
}
