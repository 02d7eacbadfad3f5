//! Messages with attachments: signed, encrypted, opened, and attacked on the way (WS-Security SOAP
//! Messages with Attachments Profile 1.1.1).

mod attacks;
mod round_trips;

use soapstone_crypto::base64;
use soapstone_wss::{
    Attachment, AttachmentPolicy, AttachmentProblem, AttachmentProtection, Coverage, Envelope,
    EnvelopeError, FirstSeen, InboundPlan, Mechanism, OutboundPlan, Outgoing, Package, Policy,
    Rejected, SecureError, Verified,
};
use soapstone_xml::{Buffers, Limits};

use crate::support::*;

/// Most bytes of attachments together.
const LIMIT: usize = 1 << 20;

/// A message with its attachments, on its way.
#[derive(Clone, Debug)]
struct Sent {
    text: String,
    parts: Vec<Attachment>,
}

fn part(id: &str, content_type: &str, content: &[u8]) -> Attachment {
    Attachment::new(id, content_type, content.to_vec()).expect("an attachment")
}

/// One of each canonical form.
fn parts() -> Vec<Attachment> {
    let invoice = part("invoice@sender", "text/xml", INVOICE.as_bytes());
    let invoice = invoice.with_field("Content-Description", "An invoice");
    vec![
        invoice.expect("a field"),
        part("note@sender", "text/plain; charset=utf-8", b"one\ntwo\r\n"),
        part(
            "a+b/c@sender",
            "application/gzip",
            b"\x1f\x8b\x08 bytes \r\n",
        ),
    ]
}

const INVOICE: &str = "<?xml version=\"1.0\"?><!-- a remark --><i:invoice  xmlns:i='urn:i' b='2' a=\"1\"><i:sum/></i:invoice>";

const CANONICAL_INVOICE: &str =
    "<i:invoice xmlns:i=\"urn:i\" a=\"1\" b=\"2\"><i:sum></i:sum></i:invoice>";

fn sending(policy: &Policy, plain: &str, parts: Vec<Attachment>) -> Result<Sent, SecureError> {
    sending_within(LIMIT, policy, plain, parts)
}

/// Secures a message whose attachments have at most so many bytes together.
fn sending_within(
    limit: usize,
    policy: &Policy,
    plain: &str,
    parts: Vec<Attachment>,
) -> Result<Sent, SecureError> {
    let plan = OutboundPlan::compile(policy.clone(), client_keys()).expect("a plan");
    let envelope = envelope(plain).with_attachments(parts, limit)?;
    let secured = plan.secure(
        envelope,
        Outgoing::default(),
        now(),
        &mut Buffers::default(),
    )?;
    Ok(Sent {
        text: String::from_utf8(secured.bytes).expect("UTF-8"),
        parts: secured.parts,
    })
}

fn send(policy: &Policy) -> Sent {
    sending(policy, PLAIN, parts()).expect("it can be secured")
}

/// Opens a message; what is wrong with it is told as a peer is told.
fn receive_as_peer(policy: &Policy, sent: &Sent) -> Result<Verified<Envelope>, Rejected> {
    receive_within(LIMIT, policy, sent)
}

/// Opens a message whose attachments may have so many bytes together.
fn receive_within(
    limit: usize,
    policy: &Policy,
    sent: &Sent,
) -> Result<Verified<Envelope>, Rejected> {
    let plan = InboundPlan::compile(policy.clone(), service_keys()).expect("a plan");
    let (mut buffers, limits) = (Buffers::default(), Limits::default());
    let envelope = Envelope::parse(sent.text.clone().into_bytes(), &limits, &mut buffers)?;
    let envelope = envelope.with_attachments(sent.parts.clone(), limit)?;
    let opened = plan.open_unmarked(envelope, &facts(), now(), &mut buffers)?;
    let first_seen = FirstSeen::assertion(opened.late_marks());
    opened.admit(first_seen)
}

/// Opens a message; what is wrong with it is told as an operator is told.
fn receive(policy: &Policy, sent: &Sent) -> Result<Verified<Envelope>, Rejected> {
    receive_as_peer(policy, sent).map_err(|rejected| rejected.cause().clone())
}

#[track_caller]
fn refused(policy: &Policy, sent: &Sent) -> Rejected {
    match receive(policy, sent) {
        Err(rejected) => rejected,
        Ok(verified) => panic!("accepted: {:?}", verified.attachments()),
    }
}

fn problem(id: &str, problem: AttachmentProblem) -> Rejected {
    let id = id.to_owned();
    Rejected::Attachment { id, problem }
}

fn protecting(mechanism: Mechanism, coverage: Coverage) -> Policy {
    let mut policy = policy(mechanism, "Basic128GCM");
    let wanted = AttachmentProtection::Of(coverage);
    policy.parts.attachments = AttachmentPolicy {
        signed: match mechanism {
            Mechanism::Encrypt => AttachmentProtection::AsMessage,
            _ => wanted,
        },
        encrypted: match mechanism {
            Mechanism::Sign => AttachmentProtection::AsMessage,
            _ => wanted,
        },
    };
    policy
}

fn sign() -> Policy {
    policy(Mechanism::Sign, "Basic128GCM")
}

fn sign_and_encrypt() -> Policy {
    policy(Mechanism::SignEncrypt, "Basic128GCM")
}

/// The text between two texts.
fn between<'m>(text: &'m str, start: &str, end: &str) -> &'m str {
    let from = text
        .find(start)
        .unwrap_or_else(|| panic!("no {start} in {text}"));
    let length = text[from..].find(end).unwrap_or_else(|| panic!("no {end}")) + end.len();
    &text[from..from + length]
}

/// The message with other references, signed anew by the same sender: nothing is wrong but what
/// they say.
fn signed_anew(sent: &Sent, change: impl FnOnce(&str) -> String) -> Sent {
    let info = between(&sent.text, "<ds:SignedInfo>", "</ds:SignedInfo>");
    let changed = change(info);
    let declared = format!("<ds:SignedInfo xmlns:ds=\"{}\">", soapstone_wss::names::DS);
    let canonical = changed.replacen("<ds:SignedInfo>", &declared, 1);
    let identity = client_keys().identity.expect("our key");
    let method = sign().suite.signature[0];
    let value = identity
        .key()
        .sign(method, canonical.as_bytes())
        .expect("a signature");
    let value = format!(
        "<ds:SignatureValue>{}</ds:SignatureValue>",
        base64::encode(&value)
    );
    let old = between(&sent.text, "<ds:SignatureValue>", "</ds:SignatureValue>");
    Sent {
        text: sent
            .text
            .replacen(info, &changed, 1)
            .replacen(old, &value, 1),
        parts: sent.parts.clone(),
    }
}

/// The `ds:Reference` to an attachment.
fn reference_to<'m>(sent: &'m Sent, uri: &str) -> &'m str {
    let start = format!("<ds:Reference URI=\"{uri}\">");
    between(&sent.text, &start, "</ds:Reference>")
}

#[test]
fn an_attachment_is_one_of_its_id() {
    let twice = vec![
        part("a@x", "text/plain", b"one"),
        part("a@x", "text/plain", b"two"),
    ];
    let id = "a@x".to_owned();
    let refused = envelope(PLAIN)
        .with_attachments(twice, 100)
        .expect_err("an id twice");
    assert_eq!(refused, EnvelopeError::AttachmentRepeated { id });
    assert_eq!(Rejected::from(refused).name(), "attachment-repeated");
}

#[test]
fn attachments_are_bounded_together() {
    let both = || {
        vec![
            part("a@x", "text/plain", b"one"),
            part("b@x", "text/plain", b"two"),
        ]
    };
    assert!(envelope(PLAIN).with_attachments(both(), 6).is_ok());
    let refused = envelope(PLAIN)
        .with_attachments(both(), 5)
        .expect_err("too large");
    assert_eq!(refused, EnvelopeError::AttachmentsTooLarge { limit: 5 });
    assert_eq!(Rejected::from(refused).name(), "too-large");
}
