//! Signatures as libraries for XML signatures write them: node-soap, strong-soap and xml-crypto,
//! signxml, goxmldsig, .NET's `SignedXml`.

use std::sync::Arc;

use soapstone_crypto::{Identity, TrustStore, base64};
use soapstone_wss::names::{DS, WSSE, WSU};
use soapstone_wss::{
    Envelope, EnvelopeError, FirstSeen, InboundPlan, Keys, Mechanism, Part, Policy, Rejected,
};
use soapstone_xml::{Buffers, Limits};

use crate::endorsers::signed_anew;
use crate::support::*;

const ENVELOPED: &str = "http://www.w3.org/2000/09/xmldsig#enveloped-signature";

fn sign() -> Policy {
    policy(Mechanism::Sign, "Basic128GCM")
}

/// The text of the first element of this name, tags included.
fn cut<'m>(message: &'m str, name: &str) -> &'m str {
    let start = message.find(&format!("<{name}")).unwrap();
    let end = format!("</{name}>");
    let length = message[start..].find(&end).unwrap() + end.len();
    &message[start..start + length]
}

/// A signature with another `SignedInfo`, made by somebody.
fn signed_by(identity: &Identity, signature: &str, change: impl FnOnce(&str) -> String) -> String {
    signed_anew(signature, change, |octets| {
        let key = identity.key();
        key.sign(sign().suite.signature[0], octets).unwrap()
    })
}

/// The message with another `SignedInfo`, signed by the client.
fn signing(message: &str, change: impl FnOnce(&str) -> String) -> String {
    let signature = cut(message, "ds:Signature");
    let signed = signed_by(&PARTIES.client, signature, change);
    message.replacen(signature, &signed, 1)
}

fn enveloped(info: &str) -> String {
    let transform = format!("<ds:Transform Algorithm=\"{ENVELOPED}\"></ds:Transform>");
    info.replace("<ds:Transforms>", &format!("<ds:Transforms>{transform}"))
}

/// Opens a message in which `Id` and `ID` without a namespace are ids.
fn open_knowing(ids: &[&str], policy: &Policy, message: &str) -> Result<String, Rejected> {
    let plan = InboundPlan::compile(policy.clone(), service_keys()).unwrap();
    let mut buffers = Buffers::default();
    let octets = message.as_bytes().to_vec();
    let envelope = Envelope::parse_with(octets, &Limits::default(), ids, &mut buffers)?;
    let opened = plan
        .open_unmarked(envelope, &facts(), now(), &mut buffers)
        .map_err(|refused| refused.cause().clone())?;
    let first_seen = FirstSeen::assertion(opened.late_marks());
    opened
        .admit(first_seen)
        .map(|verified| forwarded(&verified))
}

/// BSP 1.1, R5423: the transform is allowed. It takes nothing out of what holds no signature.
#[test]
fn enveloped_signature_among_the_transforms_of_a_part_takes_nothing_out() {
    let message = secure(&sign(), PLAIN);
    let changed = signing(&message, enveloped);
    assert_eq!(changed.matches(ENVELOPED).count(), 2);
    let opened = open(&sign(), &changed).unwrap();
    assert!(forwarded(&opened).contains("Grüße"));
    // A changed part has another digest, as without it.
    let forged = changed.replacen("mehr", "weniger", 1);
    let refused = open(&sign(), &forged).unwrap_err();
    assert_eq!(refused.name(), "digest-mismatch");
}

/// strong-soap writes the id of its token without `#`. Such a URI names another document (RFC 3986,
/// 4.4), and no token of the message (SOAP Message Security 1.1.1, 7.2). WSS4J refuses it as well.
#[test]
fn a_token_that_is_named_without_a_number_sign_is_not_looked_for_in_the_message() {
    let message = secure(&sign(), PLAIN);
    let reference = cut(&message, "wsse:Reference");
    let (_, rest) = reference.split_once("URI=\"#").unwrap();
    let (id, _) = rest.split_once('"').unwrap();
    let elsewhere = reference.replacen("URI=\"#", "URI=\"", 1);
    let refused = open(&sign(), &message.replacen(reference, &elsewhere, 1)).unwrap_err();
    let found = format!("a reference to `{id}`");
    assert_eq!(refused.cause(), &Rejected::TokenUnsupported { found });
    let hint = refused.hint().unwrap();
    assert!(hint.contains("begins with `#`"), "{hint}");
}

/// What the signature is left out of is another element than the one that stands there.
#[test]
fn an_element_that_holds_the_signature_is_not_signed_by_it() {
    let message = declaring(&secure(&sign(), PLAIN));
    let message = message.replacen("<wsse:Security ", "<wsse:Security wsu:Id=\"all\" ", 1);
    for (uri, id) in [("#all", "all"), ("", "")] {
        let reference = |info: &str| {
            let first = cut(info, "ds:Reference").to_owned();
            let start = first.find("URI=\"").unwrap();
            let end = start + 5 + first[start + 5..].find('"').unwrap() + 1;
            let other = first.replacen(&first[start..end], &format!("URI=\"{uri}\""), 1);
            info.replacen(&first, &format!("{first}{}", enveloped(&other)), 1)
        };
        let refused = open(&sign(), &signing(&message, reference)).unwrap_err();
        assert_eq!(refused.name(), "transform-not-allowed", "{id}");
    }
}

/// A message whose Body has an id in `attribute`, by which the signature refers to it.
fn with_id(attribute: &str) -> String {
    let plain = PLAIN.replace("<soap:Body>", &format!("<soap:Body {attribute}=\"_0\">"));
    let message = secure(&sign(), &plain);
    let body = cut(&message, "soap:Body");
    let start = body.find("wsu:Id=\"").unwrap() + 8;
    let id = body[start..start + body[start..].find('"').unwrap()].to_owned();
    signing(&message, |info| {
        info.replace(&format!("URI=\"#{id}\""), "URI=\"#_0\"")
    })
}

/// SOAP Message Security 1.1.1, 4.2: ids by other schemas, where the endpoint says so.
#[test]
fn ids_without_a_namespace_are_ids_where_they_are_named() {
    for attribute in ["Id", "ID", "id"] {
        let message = with_id(attribute);
        let opened = open_knowing(&[attribute], &sign(), &message).unwrap();
        assert!(opened.contains("Grüße"));
        for ids in [&[][..], &["AssertionID"]] {
            let refused = open_knowing(ids, &sign(), &message).unwrap_err();
            assert_eq!(refused.name(), "reference-not-found", "{attribute}");
        }
    }
}

/// A signed Body with another one in its place: an id means one element, whichever attribute has
/// it.
#[test]
fn an_id_that_two_elements_have_in_any_attribute_is_refused() {
    let message = with_id("Id");
    let declared = format!("xmlns:wsu=\"{WSU}\"");
    for other in ["Id", "ID", "id", "wsu:Id", "xml:id"] {
        let block = format!("<e:aside xmlns:e=\"urn:echo\" {declared} {other}=\"_0\"/>");
        let twice = message.replacen("</soap:Header>", &format!("{block}</soap:Header>"), 1);
        let refused = open_knowing(&["Id", "ID"], &sign(), &twice).unwrap_err();
        assert!(
            matches!(&refused, Rejected::Envelope(EnvelopeError::DuplicateId(_))),
            "{other}: {refused}"
        );
    }
}

/// The second element with an id comes out of cipher text.
#[test]
fn an_encrypted_duplicate_of_an_id_without_a_namespace_is_refused() {
    let plain = PLAIN
        .replace("<e:empty/>", "<e:empty Id=\"twice\"/>")
        .replace(
            "</soap:Header>",
            "<e:one xmlns:e=\"urn:echo\" Id=\"twice\"/></soap:Header>",
        );
    let policy = policy(Mechanism::SignEncrypt, "Basic128GCM");
    let message = secure(&policy, &plain);
    assert!(open_knowing(&[], &policy, &message).is_ok());
    let refused = open_knowing(&["Id"], &policy, &message).unwrap_err();
    assert_eq!(refused.name(), "duplicate-id", "{refused}");
}

/// An item that the endpoint has no use for, such as the token of another receiver.
fn with_item(item: &str) -> String {
    let message = secure(&sign(), PLAIN);
    message.replacen("</wsse:Security>", &format!("{item}</wsse:Security>"), 1)
}

#[test]
fn items_that_are_ignored_are_neither_read_nor_passed_on() {
    let ignoring = with(&sign(), |policy| {
        policy.header.ignored = vec![
            (WSSE.to_owned(), "UsernameToken".to_owned()),
            ("urn:vendor".to_owned(), "Token".to_owned()),
        ];
    });
    let user = "<wsse:UsernameToken><wsse:Username>mallory</wsse:Username></wsse:UsernameToken>";
    let vendor = "<v:Token xmlns:v=\"urn:vendor\">x</v:Token>";
    for (item, name) in [
        (user, format!("{{{WSSE}}}UsernameToken")),
        (vendor, "{urn:vendor}Token".to_owned()),
    ] {
        let message = with_item(item);
        let refused = open(&sign(), &message).unwrap_err();
        assert_eq!(refused.name(), "element-unexpected");
        let opened = open(&ignoring, &message).unwrap();
        assert_eq!(opened.evidence().user, None);
        assert!(opened.evidence().dropped.contains(&name), "{name}");
        let counted = match item == user {
            true => "UsernameToken",
            false => "other",
        };
        assert_eq!(opened.evidence().ignored, [counted]);
        assert!(!forwarded(&opened).contains(&name[name.find('}').unwrap() + 1..]));
    }
    // What is not named is refused, and nothing signed hides in what is ignored.
    let refused = open(&ignoring, &with_item("<v:Other xmlns:v=\"urn:vendor\"/>")).unwrap_err();
    assert_eq!(refused.name(), "element-unexpected");
    let message = declaring(&secure(&sign(), PLAIN));
    let timestamp = cut(&message, "wsu:Timestamp").to_owned();
    let hidden = message.replacen(&timestamp, "", 1).replacen(
        "</wsse:Security>",
        &format!("<v:Token xmlns:v=\"urn:vendor\">{timestamp}</v:Token></wsse:Security>"),
        1,
    );
    let refused = open(&ignoring, &hidden).unwrap_err();
    assert_eq!(refused, Rejected::TimestampMissing);
    let limited = with(&ignoring, |policy| policy.limits.tokens = 4);
    let refused = open(&limited, &with_item(&vendor.repeat(9))).unwrap_err();
    assert_eq!(refused.name(), "too-many");
}

/// A message with a second signature beside the first one, over what a part of its references says.
fn with_two_signatures(
    second: &Identity,
    covers: impl Fn(&str) -> bool,
    from_first: impl Fn(&str) -> bool,
) -> String {
    let all = with(&sign(), |policy| {
        policy.parts.signed.push(Part::Header {
            namespace: "http://www.w3.org/2005/08/addressing".to_owned(),
            local: "To".to_owned(),
        });
    });
    let plain = PLAIN.replace(
        "<a:To>",
        &format!("<a:To xmlns:wsu=\"{WSU}\" wsu:Id=\"to\">"),
    );
    let message = secure(&all, &plain);
    let signature = cut(&message, "ds:Signature").to_owned();
    let keep = |info: &str, kept: &dyn Fn(&str) -> bool| {
        let mut changed = info.to_owned();
        let references = info.split("<ds:Reference ").skip(1);
        for reference in references.map(|rest| &rest[..rest.find("</ds:Reference>").unwrap()]) {
            if !kept(reference) {
                let whole = format!("<ds:Reference {reference}</ds:Reference>");
                changed = changed.replacen(&whole, "", 1);
            }
        }
        changed
    };
    let first = signed_by(&PARTIES.client, &signature, |info| keep(info, &from_first));
    let mut other = signed_by(second, &signature, |info| keep(info, &covers));
    other = other.replacen("-signature\"", "-second\"", 1);
    if second.certificate().der() != PARTIES.client.certificate().der() {
        let named = base64::encode(second.certificate().der());
        let info = cut(&other, "ds:KeyInfo").to_owned();
        let by_data = format!(
            "<ds:KeyInfo xmlns:ds=\"{DS}\"><ds:X509Data><ds:X509Certificate>{named}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>"
        );
        other = other.replacen(&info, &by_data, 1);
    }
    message.replacen(&signature, &format!("{first}{other}"), 1)
}

/// WSS4J's `Signature Signature` and hand-written clients: each signature over its parts.
#[test]
fn several_signatures_of_one_sender_prove_a_message_together() {
    let strict = with(&sign(), |policy| {
        policy.parts.signed.push(Part::Id("to".to_owned()));
    });
    let several = with(&strict, |policy| policy.parts.several_signatures = true);
    let is_time = |reference: &str| reference.contains("-time\"");
    let is_to = |reference: &str| reference.contains("#to\"");
    let apart = with_two_signatures(
        &PARTIES.client,
        |one| is_to(one) || is_time(one),
        |one| !is_to(one),
    );
    let opened = open(&several, &apart).unwrap();
    assert!(forwarded(&opened).contains("urn:service"));
    let refused = open(&strict, &apart).unwrap_err();
    assert_eq!(refused.name(), "too-many");
    // Each has to say that it is of this message.
    let loose = with_two_signatures(&PARTIES.client, is_to, |one| !is_to(one));
    let refused = open(&several, &loose).unwrap_err();
    let part = Part::Timestamp;
    assert_eq!(refused, Rejected::Unsigned { part });
    // Of a part that none of them covers nobody says anything.
    let partial = with_two_signatures(&PARTIES.client, is_time, |one| !is_to(one));
    let part = Part::Id("to".to_owned());
    assert_eq!(
        open(&several, &partial).unwrap_err(),
        Rejected::Unsigned { part }
    );
    // Nor does somebody else, though he is trusted.
    let mut rules = trust_rules();
    rules.pinned.push(PARTIES.stranger.certificate().clone());
    let keys = Keys {
        trust: Some(Arc::new(TrustStore::new(rules).unwrap())),
        ..service_keys()
    };
    let foreign = with_two_signatures(
        &PARTIES.stranger,
        |one| is_to(one) || is_time(one),
        |one| !is_to(one),
    );
    let refused = open_with(&several, keys, &facts(), &foreign, now()).unwrap_err();
    let what = "signers of one message";
    assert_eq!(refused, Rejected::TooMany { what, limit: 1 });
}
