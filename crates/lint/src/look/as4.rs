//! Signatures and encryption of AS4 messages (AS4 1.0, 5.1).
//!
//! The rule kept here: AS4 sends messages without security, too. What is signed or encrypted at all
//! is held against the rules.

use std::collections::HashSet;

use soapstone_xml::NodeId;

use crate::element::Element;

use crate::findings::{Findings, quoted};
use crate::look::ebms::{content_id, encrypted_in_body, messaging, payload, units};
use crate::look::encryption::listed_by_keys;
use crate::message::{Message, Target, Token, is_security};
use crate::names::{
    ATTACHMENT_CIPHERTEXT, ATTACHMENT_CONTENT, ATTACHMENT_CONTENT_ONLY, DS, EBBP_SIGNALS, EBMS,
    ENVELOPED, SOAP11, XENC,
};

/// An attachment that a message lists, with the element that lists it.
type Attachment<'d> = (Vec<u8>, Element<'d>);

pub(crate) fn look(message: &Message<'_>, findings: &mut Findings) {
    look_at_targets(message, findings);
    let payload = payload(message);
    if message.signatures.is_empty() {
        look_at_receipts(message, findings);
    } else {
        let signed = Signed::read(message, findings);
        look_at_coverage(message, &signed, &payload.attachments, findings);
    }
    look_at_keys(message, findings);
    look_at_header_cipher(message, findings);
    let of_attachments = encrypted_attachments(message, findings);
    let in_body: Vec<Element<'_>> = encrypted_in_body(message).collect();
    if of_attachments.is_empty() && in_body.is_empty() {
        return;
    }
    if let Some(body) = message.body {
        match in_body.first() {
            None if payload.is_in_body => {
                let found = "attachments alone are encrypted";
                findings.add("as4-encrypted-body", body, "an encrypted payload", found);
            }
            Some(data) if !payload.is_in_body => {
                let expected = "encrypted payloads alone";
                let found = "a Body that no eb:PartInfo lists";
                findings.add("as4-encrypted-empty-body", *data, expected, found);
            }
            _ => {}
        }
    }
    let named: HashSet<&[u8]> = of_attachments.iter().map(|(id, _)| id.as_slice()).collect();
    for (id, part) in &payload.attachments {
        if !named.contains(id.as_slice()) {
            let expected = "an xenc:EncryptedData for the attachment";
            findings.add("as4-encrypted-parts", *part, expected, "none");
        }
    }
    let attachments = of_attachments.iter().map(|(_, data)| *data);
    look_at_order(message, attachments.chain(in_body), findings);
}

/// The role of the header that authorizes.
fn look_at_targets(message: &Message<'_>, findings: &mut Findings) {
    let local = match message.soap {
        SOAP11 => "actor",
        _ => "role",
    };
    for security in &message.security {
        if security.attribute(message.soap, local).as_deref() != Some("ebms") {
            continue;
        }
        for child in security.children() {
            if child.is(DS, "Signature") || child.namespace() == XENC {
                let expected = "a wsse:UsernameToken";
                let found = quoted(Some(child.qualified_name()));
                findings.add("eb-security-target", child, expected, found);
            }
        }
    }
}

/// What the signatures of a message cover.
#[derive(Default)]
struct Signed<'d> {
    elements: HashSet<NodeId>,
    attachments: Vec<Attachment<'d>>,
    /// Whether a reference to `eb:Messaging` uses the attribute of ebMS.
    is_named_by_id: bool,
}

impl<'d> Signed<'d> {
    fn read(message: &Message<'d>, findings: &mut Findings) -> Self {
        let mut signed = Self::default();
        let messaging = messaging(message);
        let id = messaging.and_then(|messaging| messaging.attribute("", "id"));
        for signature in &message.signatures {
            let info = signature.child(DS, "SignedInfo").into_iter();
            let references = info.flat_map(|info| info.children());
            for reference in references.filter(|child| child.is(DS, "Reference")) {
                let uri = reference.attribute("", "URI");
                let uri = uri.as_deref();
                if let Some(attachment) = uri.and_then(content_id) {
                    look_at_transform(reference, findings);
                    signed.attachments.push((attachment, reference));
                    continue;
                }
                let target = match message.target(uri) {
                    Target::Inside(target) => Some(target),
                    _ => None,
                };
                let around = target.is_some_and(|target| target.contains(*signature));
                let names_envelope = uri.is_none_or(str::is_empty);
                if around || names_envelope || algorithms(reference).any(|it| it == ENVELOPED) {
                    let expected = "a reference to another element";
                    let found = "one to an element around the signature";
                    findings.add("as4-detached-signature", reference, expected, found);
                }
                signed.elements.extend(target.map(|target| target.id()));
                if target.is_some() && target == messaging {
                    let fragment = uri.and_then(|uri| uri.strip_prefix('#'));
                    signed.is_named_by_id |= id.as_deref() == fragment;
                }
            }
        }
        signed
    }
}

/// The algorithms of the transforms of a reference.
fn algorithms<'d>(reference: Element<'d>) -> impl Iterator<Item = std::borrow::Cow<'d, str>> {
    let transforms = reference.children().filter(|it| it.local() == "Transforms");
    let transforms = transforms.flat_map(|transforms| transforms.children());
    transforms.filter_map(|transform| transform.attribute("", "Algorithm"))
}

fn look_at_transform(reference: Element<'_>, findings: &mut Findings) {
    let mut found = algorithms(reference);
    let first = found.next();
    let is_alone = found.next().is_none();
    if first.as_deref() != Some(ATTACHMENT_CONTENT) || !is_alone {
        let found = match is_alone {
            true => quoted(first.as_deref()),
            false => "several transforms".to_owned(),
        };
        let expected = format!("{} alone", quoted(Some(ATTACHMENT_CONTENT)));
        findings.add("as4-content-transform", reference, expected, found);
    }
}

fn look_at_coverage(
    message: &Message<'_>,
    signed: &Signed<'_>,
    attachments: &[Attachment<'_>],
    findings: &mut Findings,
) {
    let parts = [
        ("as4-signed-messaging", messaging(message)),
        ("as4-signed-body", message.body),
    ];
    for (rule, part) in parts {
        let Some(part) = part else { continue };
        if !signed.elements.contains(&part.id()) {
            let expected = format!("a ds:Reference to `{}`", part.qualified_name());
            findings.add(rule, part, expected, "none");
        } else if rule == "as4-signed-messaging" && !signed.is_named_by_id {
            let expected = "a reference to the attribute id";
            let found = "one to another attribute";
            findings.add("as4-messaging-id", part, expected, found);
        }
    }
    let ids = |attachments: &[Attachment<'_>]| -> HashSet<Vec<u8>> {
        attachments.iter().map(|(id, _)| id.clone()).collect()
    };
    let (covered, listed) = (ids(&signed.attachments), ids(attachments));
    for (_, part) in attachments.iter().filter(|(id, _)| !covered.contains(id)) {
        let expected = "a ds:Reference to the attachment";
        findings.add("as4-signed-parts", *part, expected, "none");
    }
    for (_, reference) in &signed.attachments {
        let uri = reference.attribute("", "URI");
        if !uri
            .as_deref()
            .and_then(content_id)
            .is_some_and(|id| listed.contains(&id))
        {
            let expected = "an eb:PartInfo for the attachment";
            findings.add("as4-signed-part-listed", *reference, expected, "none");
        }
    }
}

/// Evidence that nobody signed.
fn look_at_receipts(message: &Message<'_>, findings: &mut Findings) {
    let units = messaging(message).into_iter().flat_map(units);
    let receipts = units.filter_map(|unit| unit.child(EBMS, "Receipt"));
    for receipt in receipts {
        if receipt
            .child(EBBP_SIGNALS, "NonRepudiationInformation")
            .is_some()
        {
            let expected = "a ds:Signature over the eb:Messaging";
            findings.add("as4-receipt-signed", receipt, expected, "none");
        }
    }
}

/// The certificates that signatures and session keys name.
fn look_at_keys(message: &Message<'_>, findings: &mut Findings) {
    let mut named = HashSet::new();
    for reference in &message.references {
        let is_certificate = matches!(
            reference.token,
            Some(Token::X509 | Token::PkiPath | Token::Pkcs7)
        );
        let key_info = reference.element.parent();
        if is_certificate && reference.target != Target::Nowhere {
            let user = key_info.and_then(|key_info| key_info.parent());
            named.extend(user.map(|user| user.id()));
        }
    }
    for key in &message.encrypted_keys {
        let info = key.child(DS, "KeyInfo");
        // A key that is agreed on names its receiver inside of the agreement.
        let is_agreed = info.is_some_and(|info| info.child(XENC, "AgreementMethod").is_some());
        let of_message = key.parent().is_some_and(is_security);
        if of_message && !is_agreed && !named.contains(&key.id()) {
            let place = info.unwrap_or(*key);
            let expected = "a wsse:SecurityTokenReference to an X.509 token";
            findings.add("as4-x509-encryption", place, expected, "none");
        }
    }
    for signature in &message.signatures {
        if !named.contains(&signature.id()) {
            let place = signature.child(DS, "KeyInfo").unwrap_or(*signature);
            let expected = "a wsse:SecurityTokenReference to an X.509 token";
            findings.add("as4-x509-token", place, expected, "none");
        }
    }
}

fn look_at_header_cipher(message: &Message<'_>, findings: &mut Findings) {
    let messaging = messaging(message);
    let of_header = message.encrypted_data.iter();
    let of_header =
        of_header.filter(|data| messaging.is_some_and(|messaging| messaging.contains(**data)));
    let instead = message.encrypted_headers.iter();
    let instead = instead.filter(|_| messaging.is_none());
    for data in of_header.chain(instead) {
        let found = quoted(Some(data.qualified_name()));
        let expected = "eb:Messaging in clear";
        findings.add("as4-encrypted-messaging", *data, expected, found);
    }
}

/// The encrypted attachments of a message, each with its `xenc:EncryptedData`.
fn encrypted_attachments<'d>(
    message: &Message<'d>,
    findings: &mut Findings,
) -> Vec<Attachment<'d>> {
    let mut attachments = Vec::new();
    for data in &message.encrypted_data {
        let cipher = data.child(XENC, "CipherData");
        let cipher = cipher.and_then(|cipher| cipher.child(XENC, "CipherReference"));
        let uri = cipher.and_then(|cipher| cipher.attribute("", "URI"));
        let (Some(cipher), Some(id)) = (cipher, uri.as_deref().and_then(content_id)) else {
            continue;
        };
        if !data.parent().is_some_and(is_security) {
            let expected = "a child of wsse:Security";
            findings.add("as4-encrypted-data-place", *data, expected, "another place");
        }
        let of_type = data.attribute("", "Type");
        if of_type.as_deref() != Some(ATTACHMENT_CONTENT_ONLY) {
            let expected = quoted(Some(ATTACHMENT_CONTENT_ONLY));
            let found = quoted(of_type.as_deref());
            findings.add("as4-encrypted-content-only", *data, expected, found);
        }
        if data.attribute("", "MimeType").is_none() {
            findings.add("as4-encrypted-mime-type", *data, "a MimeType", "none");
        }
        if !algorithms(cipher).any(|algorithm| algorithm == ATTACHMENT_CIPHERTEXT) {
            let expected = quoted(Some(ATTACHMENT_CIPHERTEXT));
            findings.add("as4-ciphertext-transform", cipher, expected, "none");
        }
        attachments.push((id, *data));
    }
    attachments
}

/// The order in the header: what was done last stands first.
fn look_at_order<'d>(
    message: &Message<'d>,
    payloads: impl Iterator<Item = Element<'d>>,
    findings: &mut Findings,
) {
    let starts = message.signatures.iter();
    let Some(signed) = starts.map(|signature| signature.range().start).min() else {
        return;
    };
    let listed = listed_by_keys(message);
    let used: HashSet<NodeId> = payloads
        .filter_map(|data| listed.get(&data.id()).copied())
        .collect();
    for key in &message.encrypted_keys {
        if used.contains(&key.id()) && signed < key.range().start {
            let expected = "the xenc:EncryptedKey in front of the ds:Signature";
            findings.add("as4-sign-first", *key, expected, "the signature in front");
        }
    }
}
