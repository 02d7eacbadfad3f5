//! What the engine tells while it opens a message: keys, trust, signature values, plaintext and
//! demands.
//!
//! The rule kept here: what the engine says is written down as it is. Nothing is judged a second
//! time.

use std::fmt;

use soapstone_wss::{self as wss, Envelope, Event, Operation, OperationObserver, Rejected, Signer};
use soapstone_xml::NodeId;

use crate::model::{Demand, KeyFound, Trusted};

/// Most of each kind that is written down.
const MOST: usize = 256;

/// Hears what the engine tells
/// ([`InboundPlan::explain`](soapstone_wss::InboundPlan::explain)).
#[derive(Default)]
pub struct EngineReport {
    /// The demands of the plan, met or not.
    pub demands: Vec<Demand>,
    /// The keys that were found.
    pub keys: Vec<KeyFound>,
    /// The certificates of signers, trusted or not.
    pub trust: Vec<Trusted>,
    /// Signature values, and whether they verified.
    pub(crate) values: Vec<(Vec<u8>, bool)>,
    /// The message with everything in the clear that was deciphered.
    pub(crate) plain: Option<Vec<u8>>,
    /// Whether something was deciphered since the message was written.
    deciphered: bool,
}

impl fmt::Debug for EngineReport {
    /// Numbers only: plaintext is not for logs.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("EngineReport")
            .field("demands", &self.demands.len())
            .field("keys", &self.keys.len())
            .field("trust", &self.trust.len())
            .field("values", &self.values.len())
            .field("plain", &self.plain.as_ref().map(Vec::len))
            .finish_non_exhaustive()
    }
}

impl OperationObserver for EngineReport {
    fn ended(&mut self, _: Operation) {}

    fn listens(&self) -> bool {
        true
    }

    fn found(&mut self, envelope: &Envelope, event: Event<'_>) {
        match event {
            Event::KeyFound {
                user,
                named,
                holder,
                ..
            } => {
                let (element, line) = place(envelope, user);
                add(
                    &mut self.keys,
                    KeyFound {
                        element,
                        line,
                        named_by: named.map(ToString::to_string).unwrap_or_default(),
                        holder: holder_of(holder),
                    },
                );
            }
            Event::Trust {
                certificate,
                refused,
            } => add(
                &mut self.trust,
                Trusted {
                    subject: certificate.subject().to_owned(),
                    trusted: refused.is_none(),
                    says: refused.map(ToString::to_string).unwrap_or_default(),
                },
            ),
            Event::SignatureValue {
                signature, refused, ..
            } => add(
                &mut self.values,
                (signature.value.clone(), refused.is_none()),
            ),
            Event::Decryption { refused: None, .. } => self.deciphered = true,
            // Demands are compared when everything is deciphered.
            Event::Demand {
                demand,
                refused,
                unjudged_for,
            } => {
                if std::mem::take(&mut self.deciphered) {
                    let document = envelope.document();
                    let mut plain = Vec::new();
                    document.write(document.root().id(), &mut plain);
                    self.plain = Some(plain);
                }
                let before = unjudged_for.map(|item| place(envelope, item));
                add(&mut self.demands, compared(demand, refused, before));
            }
            _ => {}
        }
    }
}

fn add<T: PartialEq>(list: &mut Vec<T>, one: T) {
    if list.len() < MOST && !list.contains(&one) {
        list.push(one);
    }
}

fn place(envelope: &Envelope, node: NodeId) -> (String, u32) {
    let element = envelope.document().element(node);
    (element.qualified_name().to_owned(), element.line_column().0)
}

fn holder_of(holder: &Signer) -> String {
    match holder {
        Signer::Certificate(certificate) => format!("the holder of {}", certificate.subject()),
        Signer::SharedKey(name) => format!("a holder of the shared key `{name}`"),
        Signer::RequestKey(_) => "the recipient of the request's session key".to_owned(),
        Signer::SessionKey(_) => {
            "the maker of this message's session key: anybody who has our certificate".to_owned()
        }
        Signer::Holder {
            issuer, subject, ..
        } => format!("`{subject}`, whose key an assertion of `{issuer}` names"),
        Signer::User(name) => format!("the user `{name}`, by a key from the password"),
        Signer::Context { name, .. } => format!("the other party of {name}"),
        Signer::Kerberos(client) => {
            format!("whoever has the session key of the Kerberos token of `{client}`")
        }
    }
}

/// A demand in words, and how it compares. `before` is the refused item that it rests on.
fn compared(
    demand: wss::Demand<'_>,
    refused: Option<&Rejected>,
    before: Option<(String, u32)>,
) -> Demand {
    let judged = before.is_none();
    let met = judged && refused.is_none();
    let (demand, there) = match demand {
        wss::Demand::EncryptedHeaders => (
            "one header block in each wsse11:EncryptedHeader".to_owned(),
            "it is so",
        ),
        wss::Demand::Timestamp => ("a wsu:Timestamp".to_owned(), "it is there"),
        wss::Demand::Username => ("a wsse:UsernameToken".to_owned(), "it is there"),
        wss::Demand::Kerberos => ("a Kerberos token".to_owned(), "it is accepted"),
        wss::Demand::Assertion => ("a saml:Assertion".to_owned(), "it is accepted"),
        wss::Demand::Confirmation => (
            "the signatures of the request confirmed".to_owned(),
            "they are",
        ),
        wss::Demand::Required(part) => (format!("`{part}` in the message"), "it is there"),
        wss::Demand::Signature => (
            "one signature over the parts of the message".to_owned(),
            "it is there",
        ),
        wss::Demand::Endorsements => (
            "the endorsing signatures, and none beside them".to_owned(),
            "they are there",
        ),
        wss::Demand::Signed(part) => (
            format!("`{part}` signed"),
            "a signature covers it where it is there",
        ),
        wss::Demand::Encrypted(wanted) => (
            format!("`{}` encrypted", wanted.part),
            "it was cipher text where it is there",
        ),
        wss::Demand::Deciphered(part) => (
            format!("all cipher text that may hold `{part}` deciphered"),
            "it is",
        ),
        wss::Demand::Order => (
            "the order of signing and encrypting".to_owned(),
            "it is kept",
        ),
        wss::Demand::Attachments => (
            "attachments signed and encrypted as the file says".to_owned(),
            "those that are there are",
        ),
        wss::Demand::Layout => ("the order of the header's items".to_owned(), "it is kept"),
        wss::Demand::Places => (
            "signed elements where a receiver looks for them".to_owned(),
            "they are",
        ),
        wss::Demand::HeaderBlocks => (
            "proof of each header block that must be understood".to_owned(),
            "it is there",
        ),
        other => (format!("{other:?}"), "it is met"),
    };
    let says = match (before, refused) {
        (Some((element, line)), _) => format!("`{element}` in line {line} was refused before"),
        (None, None) => there.to_owned(),
        (None, Some(rejected)) => match rejected.hint() {
            Some(hint) => format!("{rejected}; {hint}"),
            None => rejected.to_string(),
        },
    };
    Demand {
        demand,
        met,
        judged,
        says,
    }
}
