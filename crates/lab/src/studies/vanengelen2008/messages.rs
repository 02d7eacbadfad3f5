//! The messages of the study: arrays of strings as `EchoStringArray` takes them, signed as a whole
//! or string by string.
//!
//! Every string has an id of its own, as a sender needs who wants his digests remembered. The rule
//! kept here: a message is made anew for each measurement, and making it is not measured unless
//! that is what is asked for.

use std::fmt::Write;
use std::sync::Arc;

use soapstone::crypto::SymmetricKey;
use soapstone::wss::names::WSU;
use soapstone::wss::{
    Envelope, InboundPlan, KeyReference, Keys, Mechanism, OutboundPlan, Part, Policy, SharedKey,
    Suite, SymmetricToken, Tuning,
};
use soapstone::xml::{Buffers, Document, Element, ParseOptions};

use crate::payload::Payload;

/// How the strings of a message are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    /// In canonical form.
    Canonical,
    /// As other stacks may write them: single quotes, white space in tags, a reference to a
    /// character.
    Other,
}

/// What is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signed {
    /// Each string.
    Elements,
    /// The Body.
    Body,
}

/// A request with so many strings, of which the first `known` are the same in every message, and
/// the others those of `message` alone.
pub(super) fn request(elements: usize, known: usize, message: u64, spelling: Spelling) -> String {
    let mut out = String::with_capacity(1_000 + elements * 96);
    write!(
        out,
        "<soap:Envelope xmlns:soap=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:wsu=\"{WSU}\"><soap:Body wsu:Id=\"body\"><t:EchoStringArray xmlns:t=\"urn:soapstone:lab:strings\"><t:strings>"
    )
    .expect("text takes everything");
    for index in 0..elements {
        let version = if index < known { 0 } else { message };
        match spelling {
            Spelling::Canonical => write!(
                out,
                "<t:string wsu:Id=\"s{index}\">string {index} of message {version}</t:string>"
            ),
            Spelling::Other => write!(
                out,
                "<t:string  wsu:Id='s{index}' >string&#x20;{index} of message {version}</t:string >"
            ),
        }
        .expect("text takes everything");
    }
    out.push_str("</t:strings></t:EchoStringArray></soap:Body></soap:Envelope>");
    out
}

/// The elements that hold strings.
pub(super) fn elements(envelope: &Envelope) -> impl Iterator<Item = Element<'_>> {
    let strings = envelope
        .body()
        .first_child()
        .and_then(|operation| operation.first_child());
    strings.into_iter().flat_map(|strings| strings.children())
}

/// The strings of a message: what a stack hands to its application.
pub(super) fn strings(envelope: &Envelope) -> Vec<String> {
    elements(envelope)
        .map(|element| element.text().into_owned())
        .collect()
}

/// The string of an element that stands alone, in canonical form.
pub(super) fn string(canonical: &[u8], buffers: &mut Buffers) -> String {
    let document = Document::parse(canonical.to_vec(), &ParseOptions::default(), buffers)
        .expect("a canonical form is a document");
    let text = document.root().text().into_owned();
    document.recycle(buffers);
    text
}

/// Reads an envelope of any size.
pub(super) fn parse(octets: Vec<u8>, buffers: &mut Buffers) -> Envelope {
    Envelope::parse(octets, &Payload::limits(), buffers).expect("an envelope")
}

/// The plans of both sides for messages that are signed by HMAC-SHA-1 under a key that all plans
/// here share, with digests by SHA-256: the objects of elements are not kept by weaker ones.
pub(super) fn plans(
    signed: Signed,
    elements: usize,
    tuning: Tuning,
) -> (OutboundPlan, InboundPlan) {
    let suite = Suite::named("Basic256Sha256").expect("a suite of the table");
    let mut policy = Mechanism::Sign.policy(suite);
    policy.tuning = tuning;
    sign(&mut policy, signed, elements);
    let key = SymmetricKey::new(vec![0x5a; 32]).expect("a key that is not empty");
    let keys = Keys {
        shared: Some(Arc::new(SharedKey {
            name: "lab".to_owned(),
            signing: key.clone(),
            encrypting: key,
        })),
        ..Keys::default()
    };
    let outbound = OutboundPlan::compile(policy.clone(), keys.clone());
    let inbound = InboundPlan::compile(policy, keys);
    (
        outbound.expect("a policy that compiles"),
        inbound.expect("a policy that compiles"),
    )
}

/// Makes a policy sign the strings, or the Body.
fn sign(policy: &mut Policy, signed: Signed, elements: usize) {
    policy.limits.references = elements + 16;
    if policy.binding.signs() {
        policy.protect_with(SymmetricToken::Shared(KeyReference::KeyName));
        policy.parts.signed = match signed {
            Signed::Elements => (0..elements)
                .map(|index| Part::Id(format!("s{index}")))
                .collect(),
            Signed::Body => vec![Part::Body],
        };
        policy.parts.signed.push(Part::Timestamp);
    }
}
