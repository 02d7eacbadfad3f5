//! SAML assertions and encrypted keys that are referred to (SAML Token Profile 1.1.1).

use std::collections::HashSet;

use soapstone_crypto::base64;
use soapstone_xml::NodeId;

use crate::element::Element;

use crate::findings::{Findings, quoted};
use crate::message::{Message, Target, Token, TokenReference};
use crate::names::{
    DS, ENCRYPTED_KEY, ENCRYPTED_KEY_SHA1, SAML11, SAML11_ID, SAML11_TOKEN, SAML20, SAML20_ID,
    SAML20_TOKEN, STR_TRANSFORM, WSSE,
};

pub(crate) fn look(message: &Message<'_>, findings: &mut Findings) {
    let mut embedding = HashSet::new();
    for reference in &message.references {
        look_at(message, reference, findings);
        if reference.embedded.is_some() && reference.token == Some(Token::Saml20) {
            embedding.insert(reference.element.id());
        }
    }
    look_at_confirmations(message, findings);
    look_at_transforms(message, &embedding, findings);
}

fn look_at(message: &Message<'_>, reference: &TokenReference<'_>, findings: &mut Findings) {
    let element = reference.element;
    let token_type = reference.token_type.as_deref();
    let mut of_type = |wanted, rule| {
        if token_type != Some(wanted) {
            findings.add(rule, element, quoted(Some(wanted)), quoted(token_type));
        }
    };
    match reference.token {
        Some(Token::Saml11) => of_type(SAML11_TOKEN, "R6611"),
        Some(Token::Saml20) => of_type(SAML20_TOKEN, "R6617"),
        Some(Token::EncryptedKey) => {
            of_type(ENCRYPTED_KEY, "R3069");
            if let Some(identifier) = reference.key_identifier {
                let value = identifier.attribute("", "ValueType");
                if value.as_deref() != Some(ENCRYPTED_KEY_SHA1) {
                    let found = quoted(value.as_deref());
                    let expected = quoted(Some(ENCRYPTED_KEY_SHA1));
                    findings.add("R3072", identifier, expected, found);
                }
            }
            return;
        }
        _ => {
            look_at_encoded_id(message, reference, findings);
            return;
        }
    }
    let is_20 = reference.token == Some(Token::Saml20);
    let is_inside = reference.inside().is_some();
    if let Some(direct) = reference.direct
        && is_20
        && is_inside
        && let Some(value) = direct.attribute("", "ValueType")
    {
        findings.add("R6614", direct, "no ValueType", quoted(Some(&value)));
    }
    let binding = element.child(SAML11, "AuthorityBinding");
    if let Some(binding) = binding {
        look_at_binding(binding, findings);
        if is_inside {
            let expected = "no saml:AuthorityBinding";
            findings.add(
                "R6608",
                element,
                expected,
                "one for an assertion of the message",
            );
        }
    } else if !is_inside && !is_20 {
        findings.add("R6606", element, "a saml:AuthorityBinding", "none");
    }
    if !is_inside && is_20 && reference.direct.is_none() {
        findings.add("R6613", element, "a wsse:Reference", "none");
    }
    if let Some(identifier) = reference.key_identifier {
        look_at_identifier(reference, identifier, findings);
    }
    look_at_encoded_id(message, reference, findings);
}

fn look_at_identifier(
    reference: &TokenReference<'_>,
    identifier: Element<'_>,
    findings: &mut Findings,
) {
    let is_inside = reference.inside().is_some();
    let (wanted, rule) = match reference.token {
        Some(Token::Saml20) => (SAML20_ID, "R6616"),
        _ => (SAML11_ID, "R6603"),
    };
    match identifier.attribute("", "ValueType") {
        None => {
            let rule = if is_inside { "R6602" } else { "R6609" };
            findings.add(rule, identifier, "a ValueType", "none");
        }
        Some(value) if value != wanted => {
            findings.add(rule, identifier, quoted(Some(wanted)), quoted(Some(&value)));
        }
        Some(_) => {}
    }
    if let Some(encoding) = identifier.attribute("", "EncodingType") {
        findings.add(
            "R6604",
            identifier,
            "no EncodingType",
            quoted(Some(&encoding)),
        );
    }
    if is_inside {
        let expected = "a wsse:Reference or a wsse:Embedded";
        findings.add("R6610", reference.element, expected, "a wsse:KeyIdentifier");
    }
}

/// An assertion's id in base64 as a key identifier.
fn look_at_encoded_id(
    message: &Message<'_>,
    reference: &TokenReference<'_>,
    findings: &mut Findings,
) {
    let Some(identifier) = reference.key_identifier else {
        return;
    };
    let text = identifier.text();
    let decoded = base64::decode_xml_to_vec(text.as_bytes());
    let decoded = decoded.ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let is_id = decoded.is_some_and(|id| message.assertion(&id).is_some());
    if is_id {
        findings.add("R6605", identifier, "the id of the assertion", "its base64");
    }
}

fn look_at_binding(binding: Element<'_>, findings: &mut Findings) {
    let kind = binding.attribute("", "AuthorityKind");
    let kind = kind.as_deref().unwrap_or_default().trim();
    let (prefix, local) = kind.split_once(':').unwrap_or(("", kind));
    let of_saml = binding.namespace_of(prefix).is_some_and(|namespace| {
        // The query stands in the protocol's schema; the profile writes the assertion's prefix.
        namespace == SAML11 || namespace == "urn:oasis:names:tc:SAML:1.0:protocol"
    });
    if local != "AssertionIDReference" || !of_saml {
        findings.add(
            "R6607",
            binding,
            "saml:AssertionIDReference",
            quoted(Some(kind)),
        );
    }
}

fn look_at_confirmations(message: &Message<'_>, findings: &mut Findings) {
    for reference in &message.references {
        if !matches!(reference.token, Some(Token::Saml11 | Token::Saml20)) {
            continue;
        }
        let mut around = reference.element.ancestors();
        let in_key_info = around.next().is_some_and(|parent| parent.is(DS, "KeyInfo"));
        let confirms = around.take(2).any(|ancestor| {
            matches!(ancestor.namespace(), SAML11 | SAML20)
                && matches!(
                    ancestor.local(),
                    "SubjectConfirmation" | "SubjectConfirmationData"
                )
        });
        if in_key_info && confirms {
            let expected = "a key or a certificate";
            findings.add(
                "R6601",
                reference.element,
                expected,
                "a reference to an assertion",
            );
        }
    }
}

fn look_at_transforms(message: &Message<'_>, embedding: &HashSet<NodeId>, findings: &mut Findings) {
    if embedding.is_empty() {
        return;
    }
    for signature in &message.signatures {
        let signed = signature.child(DS, "SignedInfo").into_iter();
        for reference in signed.flat_map(|signed| signed.children()) {
            let uri = reference.attribute("", "URI");
            let Target::Inside(target) = message.target(uri.as_deref()) else {
                continue;
            };
            let is_embedding =
                target.is(WSSE, "SecurityTokenReference") && embedding.contains(&target.id());
            let mut transforms = reference
                .child(DS, "Transforms")
                .into_iter()
                .flat_map(|transforms| transforms.children());
            let dereferences = transforms.any(|transform| {
                transform.attribute("", "Algorithm").as_deref() == Some(STR_TRANSFORM)
            });
            if is_embedding && dereferences {
                findings.add("R6612", reference, "no STR-Transform", "one");
            }
        }
    }
}
