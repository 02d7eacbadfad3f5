//! Digikoppeling WUS, profiles 2W-be-S and 2W-be-SE.

use std::collections::HashSet;

use soapstone_xml::NodeId;

use crate::element::Element;

use crate::findings::{Findings, quoted};
use crate::look::encryption::listed_by_keys;
use crate::message::{Message, Target, Token};
use crate::names::{ADDRESSING, ADDRESSING_2004, DS, EXC_C14N, STR_TRANSFORM, WSSE, WSU, XENC};

/// Hashes that signatures and digests may use.
const HASHES: [&str; 3] = ["sha256", "sha384", "sha512"];

pub(crate) fn look(message: &Message<'_>, findings: &mut Findings) {
    look_at_blocks(message, findings);
    let Some(security) = message.security.first().copied() else {
        findings.add(
            "WB002",
            message.envelope,
            "a wsse:Security with a wsu:Timestamp",
            "none",
        );
        return;
    };
    let timestamp = security.child(WSU, "Timestamp");
    if timestamp.is_none_or(|timestamp| timestamp.child(WSU, "Created").is_none()) {
        findings.add(
            "WB002",
            security,
            "a wsu:Timestamp with wsu:Created",
            "none",
        );
    }
    look_at_coverage(message, security, timestamp, findings);
    look_at_order(message, findings);
    for signature in &message.signatures {
        look_at_algorithms(*signature, findings);
    }
    look_at_key(message, findings);
    look_at_ciphers(message, findings);
}

fn look_at_blocks(message: &Message<'_>, findings: &mut Findings) {
    let mut has_action = false;
    for block in message
        .header
        .into_iter()
        .flat_map(|header| header.children())
    {
        has_action |= block.is(ADDRESSING, "Action");
        let name = quoted(Some(block.qualified_name()));
        match block.namespace() {
            ADDRESSING | WSSE => {}
            ADDRESSING_2004 => {
                let expected = "addressing headers of 2005/08";
                findings.add("WA001", block, expected, format!("{name} of 2004/08"));
            }
            _ => {
                let expected = "headers of WS-Addressing and WS-Security";
                findings.add("WS007", block, expected, name);
            }
        }
    }
    if !has_action {
        let place = message.header.unwrap_or(message.envelope);
        findings.add("WS002", place, "a wsa:Action", "none");
    }
}

fn look_at_coverage(
    message: &Message<'_>,
    security: Element<'_>,
    timestamp: Option<Element<'_>>,
    findings: &mut Findings,
) {
    let mut signed: HashSet<NodeId> = HashSet::new();
    for signature in &message.signatures {
        let info = signature.child(DS, "SignedInfo").into_iter();
        for reference in info.flat_map(|info| info.children()) {
            let uri = reference.attribute("", "URI");
            if let Target::Inside(target) = message.target(uri.as_deref()) {
                signed.insert(target.id());
            }
        }
    }
    let blocks = message
        .header
        .into_iter()
        .flat_map(|header| header.children());
    let addressing = blocks.filter(|block| block.namespace() == ADDRESSING);
    let wanted = message.body.into_iter().chain(timestamp).chain(addressing);
    for part in wanted.filter(|part| !signed.contains(&part.id())) {
        let place = if message.signatures.is_empty() {
            security
        } else {
            part
        };
        let found = "none";
        let expected = format!("a ds:Reference to `{}`", part.qualified_name());
        findings.add("WB004", place, expected, found);
    }
}

fn look_at_order(message: &Message<'_>, findings: &mut Findings) {
    let listed = listed_by_keys(message);
    let used: HashSet<NodeId> = listed.into_values().collect();
    for key in message
        .encrypted_keys
        .iter()
        .filter(|key| used.contains(&key.id()))
    {
        let signed_first = message
            .signatures
            .iter()
            .all(|signature| key.range().start < signature.range().start);
        if !signed_first {
            let expected = "the xenc:EncryptedKey in front of the ds:Signature";
            findings.add("WB006", *key, expected, "the signature in front");
        }
    }
}

fn look_at_algorithms(signature: Element<'_>, findings: &mut Findings) {
    for element in signature.descendants() {
        if element.namespace() != DS {
            continue;
        }
        let Some(algorithm) = element.attribute("", "Algorithm") else {
            continue;
        };
        let found = quoted(Some(&algorithm));
        match element.local() {
            "CanonicalizationMethod" if algorithm != EXC_C14N => {
                findings.add("WB007", element, quoted(Some(EXC_C14N)), found);
            }
            "Transform" if !matches!(&*algorithm, EXC_C14N | STR_TRANSFORM) => {
                findings.add("WB007", element, quoted(Some(EXC_C14N)), found);
            }
            "SignatureMethod" | "DigestMethod" => {
                let is_sha1 = algorithm.ends_with("sha1");
                if is_sha1 {
                    findings.add("SIGN001", element, "an algorithm with SHA-2", found);
                } else if !HASHES.iter().any(|hash| algorithm.ends_with(hash)) {
                    findings.add("SIGN003", element, "SHA-256, SHA-384 or SHA-512", found);
                }
            }
            _ => {}
        }
    }
}

fn look_at_key(message: &Message<'_>, findings: &mut Findings) {
    for reference in &message.references {
        let signature = reference
            .element
            .parent()
            .and_then(|key_info| key_info.parent());
        let of_signature = signature.is_some_and(|signature| signature.is(DS, "Signature"));
        let is_direct = reference.direct.is_some() && reference.inside().is_some();
        let is_certificate = matches!(reference.token, Some(Token::X509 | Token::PkiPath));
        if of_signature && !(is_direct && is_certificate) {
            let expected = "a wsse:Reference to a wsse:BinarySecurityToken of the message";
            findings.add("WB010", reference.element, expected, "another reference");
        }
    }
}

fn look_at_ciphers(message: &Message<'_>, findings: &mut Findings) {
    let method = |element: Element<'_>| {
        let method = element.child(XENC, "EncryptionMethod")?;
        method
            .attribute("", "Algorithm")
            .map(std::borrow::Cow::into_owned)
    };
    for data in &message.encrypted_data {
        if let Some(algorithm) = method(*data)
            && !algorithm.ends_with("-gcm")
        {
            findings.add("ENC003", *data, "AES in GCM", quoted(Some(&algorithm)));
        }
    }
    for key in &message.encrypted_keys {
        if let Some(algorithm) = method(*key)
            && !algorithm.contains("rsa-oaep")
        {
            findings.add("ENC004", *key, "RSA-OAEP", quoted(Some(&algorithm)));
        }
    }
}
