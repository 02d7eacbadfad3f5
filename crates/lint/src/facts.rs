//! What pairing asks of a message.
//!
//! The rule kept here: what is encrypted is not judged, and a message that hides something says so.

use std::collections::{BTreeSet, HashSet};

use crate::element::Element;
use crate::findings::shortened;
use crate::message::{Message, Target};
use crate::names::{ADDRESSING, ADDRESSING_2004, ADDRESSING_REPLY, DS, WSU, XENC};

/// What pairing asks of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExchangeFacts {
    /// Whether it has headers of WS-Addressing 1.0 or of August 2004.
    pub(crate) is_addressed: bool,
    pub(crate) message_id: Option<String>,
    /// When its first Timestamp says that it was made.
    pub(crate) created: Option<String>,
    /// The messages that it says it is the reply to.
    pub(crate) relates_to: Vec<String>,
    pub(crate) action: Option<String>,
    pub(crate) is_fault: bool,
    /// Values of signatures, without white space.
    pub(crate) signatures: BTreeSet<String>,
    /// Values of confirmations; `None` confirms that there was no signature.
    pub(crate) confirmations: Vec<Option<String>>,
    /// Whether every confirmation is signed.
    pub(crate) confirmations_signed: bool,
    pub(crate) body_signed: bool,
    pub(crate) body_encrypted: bool,
    /// Whether something of a security header is encrypted.
    pub(crate) is_hidden: bool,
    /// Whether a block of the Header is encrypted, such as one of addressing.
    pub(crate) hides_blocks: bool,
    pub(crate) signing: Algorithms,
    pub(crate) encryption: Algorithms,
}

/// The algorithms of one kind, of signatures and digests or of encryption.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Algorithms {
    pub(crate) is_used: bool,
    pub(crate) weak: BTreeSet<String>,
}

impl Algorithms {
    fn note(&mut self, uri: &str, weak: &[&str]) {
        self.is_used = true;
        if weak.iter().any(|end| uri.ends_with(end)) {
            self.weak.insert(shortened(uri));
        }
    }
}

/// How the weak algorithms of signatures and digests end, and those of encryption.
const WEAK_SIGNING: [&str; 2] = ["sha1", "md5"];
const WEAK_ENCRYPTION: [&str; 2] = ["-cbc", "#rsa-1_5"];

impl ExchangeFacts {
    /// When the message says that it was made; nothing proves it here.
    pub(crate) fn created(&self) -> Option<&str> {
        self.created.as_deref()
    }

    /// Its `wsa:MessageID`.
    pub(crate) fn message_id(&self) -> Option<&str> {
        self.message_id.as_deref()
    }

    pub(crate) fn read(message: &Message<'_>) -> Self {
        let mut facts = Self::default();
        let mut timestamps = message.timestamps.iter();
        let created = timestamps.find_map(|one| one.child(WSU, "Created"));
        facts.created = created.map(|created| shortened(created.text().trim()));
        for block in message
            .header
            .into_iter()
            .flat_map(|header| header.children())
            .filter(|block| matches!(block.namespace(), ADDRESSING | ADDRESSING_2004))
        {
            facts.is_addressed = true;
            let text = block.text().trim().to_owned();
            match block.local() {
                "MessageID" => facts.message_id = Some(text),
                "RelatesTo" if is_reply(block) => facts.relates_to.push(text),
                "Action" => facts.action = Some(text),
                _ => {}
            }
        }
        let mut signed = BTreeSet::new();
        for signature in &message.signatures {
            if let Some(value) = signature.child(DS, "SignatureValue") {
                facts.signatures.insert(joined(&value.text()));
            }
            let info = signature.child(DS, "SignedInfo").into_iter();
            for child in info.flat_map(|info| info.children()) {
                let uri = child.attribute("", "URI");
                if child.is(DS, "Reference")
                    && let Target::Inside(target) = message.target(uri.as_deref())
                {
                    signed.insert(target.range().start);
                }
                let method = child.child(DS, "DigestMethod").unwrap_or(child);
                let algorithm = method.attribute("", "Algorithm").unwrap_or_default();
                facts.signing.note(&algorithm, &WEAK_SIGNING);
            }
        }
        let is_signed = |element: &Element<'_>| signed.contains(&element.range().start);
        facts.confirmations_signed = message.confirmations.iter().all(is_signed);
        facts.confirmations = message
            .confirmations
            .iter()
            .map(|one| one.attribute("", "Value").map(|value| joined(&value)))
            .collect();
        facts.hides_blocks = !message.encrypted_headers.is_empty();
        let headers: HashSet<u32> = message
            .security
            .iter()
            .map(|header| header.range().start)
            .collect();
        for encrypted in message.encrypted_data.iter().chain(&message.encrypted_keys) {
            if let Some(method) = encrypted.child(XENC, "EncryptionMethod") {
                let algorithm = method.attribute("", "Algorithm").unwrap_or_default();
                facts.encryption.note(&algorithm, &WEAK_ENCRYPTION);
            }
            let of_header = |parent: Element<'_>| headers.contains(&parent.range().start);
            if encrypted.is(XENC, "EncryptedData") {
                let parent = encrypted.parent();
                facts.is_hidden |= parent.is_some_and(of_header);
                facts.hides_blocks |= parent.is_some() && parent == message.header;
            }
        }
        if let Some(body) = message.body {
            facts.body_signed = is_signed(&body);
            facts.body_encrypted = body.child(XENC, "EncryptedData").is_some();
            facts.is_fault = body.child(message.soap, "Fault").is_some();
        }
        facts
    }

    pub(crate) fn is_answer(&self) -> bool {
        !self.relates_to.is_empty() || !self.confirmations.is_empty()
    }
}

/// Whether a `wsa:RelatesTo` says that its message is the reply to another (1.0 Core, 3.1; in
/// August 2004 a qualified name said so).
///
/// `soapstone-trust` decides the same for the engine. This crate has no key and stands beside that
/// one, so a test holds both against each other.
fn is_reply(block: Element<'_>) -> bool {
    let Some(kind) = block.attribute("", "RelationshipType") else {
        return true;
    };
    if block.namespace() == ADDRESSING {
        return kind == ADDRESSING_REPLY;
    }
    let (prefix, local) = kind.split_once(':').unwrap_or(("", &kind));
    local == "Reply" && block.namespace_of(prefix) == Some(block.namespace())
}

/// A value of base64 without white space.
fn joined(text: &str) -> String {
    text.split_ascii_whitespace().collect()
}
