//! An endpoint file that would open the message, as far as the message tells.
//!
//! The rule kept here: a sketch names what it cannot know. It trusts nobody by itself.

use std::collections::BTreeSet;

use soapstone_crypto::{DataEncryption, KeyTransport};
use soapstone_wss::names::{DS, SOAP11, SOAP12, WSSE, WSU, XENC};
use soapstone_wss::{ItemKind, SecurityHeader};
use soapstone_xml::{Canonicalization, Document};

use crate::read::SignatureRead;

pub(crate) fn sketch(
    plain: &Document,
    message: &Document,
    signatures: &[SignatureRead<'_>],
) -> String {
    let Some(security) = SecurityHeader::in_document(message).into_iter().next() else {
        return String::new();
    };
    let place = |kind: ItemKind| security.items().iter().position(|item| item.kind == kind);
    let signed = place(ItemKind::Signature);
    let key = place(ItemKind::EncryptedKey).or_else(|| place(ItemKind::ReferenceList));
    let mut items = security.items().iter();
    let user = items.any(|item| message.element(item.node).is(WSSE, "UsernameToken"));
    let data = message
        .elements_named(XENC, "EncryptedData")
        .next()
        .is_some();
    let hmac = signatures.iter().any(|one| {
        one.method
            .is_some_and(soapstone_crypto::SignatureAlgorithm::is_mac)
    });
    let mechanism = match (signed, data, user) {
        (Some(_), false, _) => "sign",
        // What was done last stands first.
        (Some(signature), true, _) if key.is_some_and(|key| key < signature) => "sign-encrypt",
        (Some(_), true, _) => "encrypt-sign",
        (None, true, _) => "encrypt",
        (None, false, true) => "username",
        (None, false, false) => "none",
    };
    let mut lines = Vec::new();
    if data {
        lines.push("[identity]                     # the key to which it was encrypted".to_owned());
        lines.push("key = \"our.key.pem\"".to_owned());
        lines.push("certificate = \"our.cert.pem\"".to_owned());
    }
    if signed.is_some() && !hmac {
        lines.push("[trust]".to_owned());
        lines.push(
            "anchors = [\"ca.cert.pem\"]       # the issuer of the signer's certificate".to_owned(),
        );
    }
    if hmac {
        lines.push("# signed with a key that both sides hold: [shared_key], a session key or a conversation".to_owned());
    }
    if user {
        lines.push("[[users]]".to_owned());
        lines.push("name = \"…\"".to_owned());
        lines.push("password_env = \"…\"".to_owned());
    }
    lines.push("[security]".to_owned());
    lines.push(format!("mechanism = \"{mechanism}\""));
    let algorithms = algorithms(message, plain, signatures);
    if !algorithms.is_empty() {
        lines.push(format!("algorithms = {{ {algorithms} }}"));
    }
    if signed.is_some() {
        lines.push(format!("signed = [{}]", quoted(&parts(plain, signatures))));
    }
    if !security.has(ItemKind::Timestamp) {
        lines.push("timestamp = false              # it has none".to_owned());
    }
    lines.push(String::new());
    lines.join("\n")
}

fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    names.join(", ")
}

/// The signed parts as an endpoint file names them.
fn parts(document: &Document, signatures: &[SignatureRead<'_>]) -> Vec<String> {
    let mut names = Vec::new();
    let references = signatures.iter().flat_map(|one| &one.references);
    for reference in references {
        let id = reference
            .uri
            .as_deref()
            .and_then(|uri| uri.strip_prefix('#'));
        let node = id.and_then(|id| document.by_id(id).ok().flatten());
        let Some(element) = node.map(|node| document.element(node)) else {
            continue;
        };
        let name = match (element.namespace(), element.local()) {
            (SOAP11 | SOAP12, "Body") => "Body".to_owned(),
            (WSU, "Timestamp") => "Timestamp".to_owned(),
            (WSSE | DS | XENC, _) => continue,
            (namespace, local) => format!("{{{namespace}}}{local}"),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn algorithms(message: &Document, plain: &Document, signatures: &[SignatureRead<'_>]) -> String {
    let mut lists: Vec<(&str, BTreeSet<String>)> = Vec::new();
    let methods = signatures.iter().filter_map(|one| one.method);
    lists.push((
        "signature",
        methods.map(|one| one.short_name().to_owned()).collect(),
    ));
    let references = || signatures.iter().flat_map(|one| &one.references);
    let digests = references().filter_map(|one| one.digest_method);
    lists.push((
        "digest",
        digests.map(|one| one.short_name().to_owned()).collect(),
    ));
    let transforms = references()
        .flat_map(|one| &one.transforms)
        .chain(
            signatures
                .iter()
                .filter_map(|one| one.canonicalization.as_ref()),
        )
        .filter_map(|one| Canonicalization::from_uri(&one.uri));
    lists.push((
        "canonicalization",
        transforms.map(|one| one.short_name().to_owned()).collect(),
    ));
    let methods = |local: &str| {
        let documents = [message, plain];
        let elements = documents
            .into_iter()
            .flat_map(|document| document.elements_named(XENC, local));
        let methods = elements.filter_map(|element| {
            let method = element.child(XENC, "EncryptionMethod")?;
            method
                .attribute("", "Algorithm")
                .map(|uri| uri.into_owned())
        });
        methods.collect::<Vec<String>>()
    };
    let transport = methods("EncryptedKey");
    let transport = transport
        .iter()
        .filter_map(|uri| KeyTransport::from_uri(uri));
    lists.push((
        "key_transport",
        transport.map(|one| one.short_name().to_owned()).collect(),
    ));
    let data = methods("EncryptedData");
    let data = data.iter().filter_map(|uri| DataEncryption::from_uri(uri));
    lists.push((
        "data",
        data.map(|one| one.short_name().to_owned()).collect(),
    ));
    let written = lists.into_iter().filter(|(_, names)| !names.is_empty());
    let written: Vec<String> = written
        .map(|(key, names)| {
            let names: Vec<String> = names.into_iter().collect();
            format!("{key} = [{}]", quoted(&names))
        })
        .collect();
    written.join(", ")
}
