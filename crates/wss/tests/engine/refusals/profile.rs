//! What the WS-I Basic Security Profile 1.1 forbids: forms that two receivers read as two messages.

use soapstone_wss::names::{BASE64_BINARY, DS, WSSE11, X509_PKI_PATH_V1, X509_V3};
use soapstone_wss::{
    EncryptedPart, EnvelopeError, KeyReference, Mechanism, Part, Policy, Rejected,
};

use super::{cut, name_of, refuse, sign};
use crate::support::Adjust as _;
use crate::support::*;

const HEX_BINARY: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-soap-message-security-1.0#HexBinary";

fn username() -> Policy {
    policy(Mechanism::Username, "Basic128GCM")
}

fn signing_by(reference: KeyReference) -> Policy {
    let mut policy = sign();
    policy.name_signing_key(reference);
    policy
}

/// A message changed at one place, which is there.
#[track_caller]
fn changed(message: &str, from: &str, to: &str) -> String {
    assert!(message.contains(from), "no {from} in {message}");
    message.replacen(from, to, 1)
}

/// R4221, R3071 and R3030: what is no base64 would be other bytes.
#[test]
fn another_encoding_of_nonces_tokens_and_key_identifiers_is_refused() {
    for (policy, what) in [
        (username(), "nonce"),
        (signing_by(KeyReference::Direct), "token"),
        (signing_by(KeyReference::Thumbprint), "key identifier"),
    ] {
        let message = secure(&policy, PLAIN);
        let found = format!("{what} encoding `{HEX_BINARY}`");
        let refused = refuse(&policy, &changed(&message, BASE64_BINARY, HEX_BINARY));
        assert_eq!(refused, Rejected::TokenUnsupported { found });
    }
}

/// R3213 and R3215: receivers take a second 60 for the second before, for the one behind, or for
/// none.
#[test]
fn a_second_60_is_refused_in_every_time() {
    let message = secure(&username(), PLAIN);
    for (parent, element) in [
        ("wsu:Timestamp", "wsu:Created"),
        ("wsu:Timestamp", "wsu:Expires"),
        ("wsse:UsernameToken", "wsu:Created"),
    ] {
        let whole = cut(&message, parent);
        let time = cut(whole, element);
        let text = &time[time.find('>').unwrap() + 1..time.rfind('<').unwrap()];
        let leap = format!("{}:60Z", &text[..16]);
        let leaping = whole.replace(time, &time.replace(text, &leap));
        let refused = refuse(&username(), &message.replace(whole, &leaping));
        let local = element.trim_start_matches("wsu:");
        let problem = format!(
            "expected `{local}` as xsd:dateTime with a time zone, four digits of the year and an hour below 24, found `{leap}`"
        );
        let element = match parent {
            "wsu:Timestamp" => "wsu:Timestamp",
            _ => "wsse:UsernameToken",
        };
        assert_eq!(refused, Rejected::Malformed { element, problem });
    }
}

/// R3225 and R3226, and the same of every element whose schema has no such attribute.
#[test]
fn attributes_that_an_element_may_not_have_are_refused() {
    let value_type = " ValueType=\"xsd:dateTime\"";
    let encoding = format!(" EncodingType=\"{BASE64_BINARY}\"");
    for (policy, element, attribute) in [
        (username(), "wsu:Created", value_type),
        (username(), "wsu:Expires", value_type),
        (username(), "wsse:Nonce", value_type),
        (username(), "wsse:Username", value_type),
        (username(), "wsse:Username", &encoding),
        (username(), "wsse:Password", value_type),
        (username(), "wsse:Password", &encoding),
        (username(), "wsse:UsernameToken", value_type),
        (sign(), "wsu:Timestamp", value_type),
        (sign(), "wsse:SecurityTokenReference", value_type),
        (sign(), "wsse:Reference", &encoding),
        (sign(), "wsse:BinarySecurityToken", " Type=\"urn:t\""),
        (
            signing_by(KeyReference::Thumbprint),
            "wsse:KeyIdentifier",
            " URI=\"#a\"",
        ),
        (
            signing_by(KeyReference::Embedded),
            "wsse:Embedded",
            &encoding,
        ),
    ] {
        let message = secure(&policy, PLAIN);
        open(&policy, &message).unwrap();
        let tag = format!("<{element}");
        let with = |attribute: &str| {
            let mut ends = [">", " "].into_iter();
            let start = ends.find_map(|end| message.find(&format!("{tag}{end}")));
            let behind = start.unwrap() + tag.len();
            format!("{}{attribute}{}", &message[..behind], &message[behind..])
        };
        let refused = refuse(&policy, &with(attribute));
        let Rejected::Malformed { problem, .. } = &refused else {
            panic!("{element}: {refused}")
        };
        let local = element.split(':').nth(1).unwrap();
        let name = attribute.trim().split('=').next().unwrap();
        let expected = format!("expected no attribute `{name}` in `{local}`, found");
        assert!(problem.starts_with(&expected), "{problem}");
        // The schema leaves attributes of other namespaces open, which no receiver of these
        // elements knows.
        let other = with(" xmlns:o=\"urn:other\" o:ValueType=\"x\"");
        if !matches!(element, "wsse:UsernameToken" | "wsu:Timestamp")
            && policy.signature().is_none()
        {
            open(&policy, &other).unwrap();
        }
    }
}

/// R3058: who heeds the reference reads another token than who heeds the token.
#[test]
fn a_reference_of_another_type_than_its_token_is_refused() {
    for policy in [
        signing_by(KeyReference::Direct),
        policy(Mechanism::SignEncrypt, "Basic128GCM"),
    ] {
        let message = secure(&policy, PLAIN);
        open(&policy, &message).unwrap();
        let reference = cut(&message, "wsse:Reference");
        let (claim, other) = if reference.contains(X509_V3) {
            (X509_V3, X509_PKI_PATH_V1)
        } else {
            (soapstone_wss::names::ENCRYPTED_KEY_TOKEN, X509_V3)
        };
        let claiming = changed(reference, claim, other);
        let refused = refuse(&policy, &message.replace(reference, &claiming));
        let Rejected::TokenUnsupported { found } = &refused else {
            panic!("{refused}")
        };
        let expected = format!("a reference of type `{other}` to `{{http://");
        assert!(found.starts_with(&expected), "{found}");
    }
}

fn with_encrypted_to(suite: &str) -> (Policy, String) {
    let mut policy = policy(Mechanism::SignEncrypt, suite);
    let to = Part::Header {
        namespace: "http://www.w3.org/2005/08/addressing".to_owned(),
        local: "To".to_owned(),
    };
    policy.parts.signed.push(to.clone());
    policy.parts.encrypted.push(EncryptedPart::customary(to));
    let message = secure(&policy, PLAIN);
    open(&policy, &message).unwrap();
    (policy, message)
}

/// R3230, before anything is deciphered: receivers would take different ones for the header block.
#[test]
fn an_encrypted_header_holds_one_encrypted_data_and_nothing_else() {
    let (policy, message) = with_encrypted_to("Basic128GCM");
    let block = cut(&message, "wsse11:EncryptedHeader");
    let data = cut(block, "xenc:EncryptedData");
    let other = data.replacen(" Id=\"", " Id=\"other", 1);
    for held in [
        format!("<w/>{data}"),
        format!("{data}<a:To>urn:other</a:To>"),
        format!("{data}{other}"),
        format!("{data} text"),
        "<a:To>urn:other</a:To>".to_owned(),
        format!(
            "<wsse11:EncryptedHeader xmlns:wsse11=\"{WSSE11}\">{data}</wsse11:EncryptedHeader>"
        ),
        String::new(),
    ] {
        let holding = block.replace(data, &held);
        let refused = refuse(&policy, &message.replace(block, &holding));
        let problem =
            "expected one `xenc:EncryptedData`, or one header block in it, and nothing else"
                .to_owned();
        let element = "wsse11:EncryptedHeader";
        assert_eq!(refused, Rejected::Malformed { element, problem }, "{held}");
    }
    let apart = format!("{data}<!-- -->\n");
    let message = message.replace(block, &block.replace(data, &apart));
    open(&policy, &message).unwrap();
}

/// Other receivers resolve `Id` without a namespace on any element.
#[test]
fn an_id_without_a_namespace_that_equals_a_wsu_id_is_refused() {
    let message = secure(&sign(), PLAIN);
    let body = cut(&message, "soap:Body");
    let id = body.split("wsu:Id=\"").nth(1).unwrap();
    let id = &id[..id.find('"').unwrap()];
    for attribute in ["Id", "ID", "id"] {
        let aside = format!("<w {attribute}=\"{id}\"/></soap:Header>");
        let refused = refuse(&sign(), &changed(&message, "</soap:Header>", &aside));
        let Rejected::Envelope(EnvelopeError::DuplicateId(duplicate)) = &refused else {
            panic!("{refused}")
        };
        assert_eq!(
            (duplicate.id.as_str(), name_of(&refused)),
            (id, "duplicate-id")
        );
        // What an application numbers is its own.
        let other = format!("<w {attribute}=\"1\"/><w {attribute}=\"1\"/></soap:Header>");
        open(&sign(), &changed(&message, "</soap:Header>", &other)).unwrap();
    }
    assert!(message.contains(DS));
}
