//! Exchanges: requests and answers of the traffic, paired, and what an answer owes its request.
//!
//! The rule kept here: what is encrypted is not judged. A signature in cipher text is neither
//! confirmed nor missing.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::conform::{Evidence, Verdict};
use crate::element::Element;
use crate::findings::{quoted, shortened};
use crate::message::{Message, Target};
use crate::names::{
    ADDRESSING, ADDRESSING_2004, ADDRESSING_REPLY, ADDRESSING_UNSPECIFIED, DS, WSU, XENC,
};
use crate::rule::Rule;
use crate::table::exchange_rules;

/// What pairing asks of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExchangeFacts {
    /// Whether it has headers of WS-Addressing 1.0 or of August 2004.
    is_addressed: bool,
    message_id: Option<String>,
    /// When its first Timestamp says that it was made.
    created: Option<String>,
    /// The messages that it says it is the reply to.
    relates_to: Vec<String>,
    action: Option<String>,
    is_fault: bool,
    /// Values of signatures, without white space.
    signatures: BTreeSet<String>,
    /// Values of confirmations; `None` confirms that there was no signature.
    confirmations: Vec<Option<String>>,
    /// Whether every confirmation is signed.
    confirmations_signed: bool,
    body_signed: bool,
    body_encrypted: bool,
    /// Whether something of a security header is encrypted.
    is_hidden: bool,
    /// Whether a block of the Header is encrypted, such as one of addressing.
    hides_blocks: bool,
    signing: Algorithms,
    encryption: Algorithms,
}

/// The algorithms of one kind, of signatures and digests or of encryption.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Algorithms {
    is_used: bool,
    weak: BTreeSet<String>,
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

    fn is_answer(&self) -> bool {
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

/// How the messages of the traffic are paired, and what is demanded of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pairing {
    /// Documents are a request, its answer, the next request and so on. Otherwise ids and
    /// confirmed signatures pair them.
    pub in_order: bool,
    /// Each answer has to confirm the signatures of its request.
    pub confirmed: bool,
}

/// What tells that a message answers another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairedBy {
    /// `wsa:RelatesTo` is the `wsa:MessageID` of the request.
    MessageId,
    /// It confirms a signature of the request.
    Confirmation,
    /// The order in which the documents are named.
    Order,
}

impl PairedBy {
    /// Its words.
    pub fn name(self) -> &'static str {
        match self {
            Self::MessageId => "message id",
            Self::Confirmation => "signature confirmation",
            Self::Order => "order of the documents",
        }
    }
}

/// A request and its answer.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// Name of the request.
    pub request: String,
    /// Name of the answer.
    pub answer: String,
    /// Why they are taken for a pair.
    pub by: PairedBy,
    /// The verdict on each rule, with what was found where it is broken.
    pub rules: Vec<(&'static Rule, Verdict, String)>,
}

/// The exchanges of the traffic, and the names of messages whose other half is not in it: answers,
/// and with the order of the documents also a request at their end.
pub(crate) fn exchanges(traffic: &[Evidence], pairing: Pairing) -> (Vec<Exchange>, Vec<String>) {
    let messages: Vec<(&str, &ExchangeFacts)> = traffic
        .iter()
        .filter_map(|one| Some((one.name.as_str(), one.report.exchange.as_ref()?)))
        .collect();
    if pairing.in_order {
        let (pairs, rest) = messages.as_chunks::<2>();
        let judged = pairs
            .iter()
            .map(|[request, answer]| judged(*request, *answer, PairedBy::Order, pairing));
        let unpaired = rest.iter().map(|(name, _)| (*name).to_owned());
        return (judged.collect(), unpaired.collect());
    }
    let mut by_id = HashMap::new();
    let mut by_signature = HashMap::new();
    for (at, (_, facts)) in messages.iter().enumerate() {
        if let Some(id) = &facts.message_id {
            by_id.entry(id.as_str()).or_insert(at);
        }
        for signature in &facts.signatures {
            by_signature.entry(signature.as_str()).or_insert(at);
        }
    }
    let (mut found, mut unpaired) = (Vec::new(), Vec::new());
    for (at, answer) in messages.iter().enumerate() {
        if !answer.1.is_answer() {
            continue;
        }
        let mut ids = answer.1.relates_to.iter();
        let of_id = ids.find_map(|id| by_id.get(id.as_str()));
        let mut values = answer.1.confirmations.iter().flatten();
        let mut of_signature = || values.find_map(|value| by_signature.get(value.as_str()));
        let request = of_id
            .map(|request| (*request, PairedBy::MessageId))
            .or_else(|| of_signature().map(|request| (*request, PairedBy::Confirmation)))
            .filter(|(request, _)| *request != at);
        match request {
            Some((request, by)) => found.push(judged(messages[request], *answer, by, pairing)),
            None => unpaired.push(answer.0.to_owned()),
        }
    }
    (found, unpaired)
}

fn judged(
    (request_name, request): (&str, &ExchangeFacts),
    (answer_name, answer): (&str, &ExchangeFacts),
    by: PairedBy,
    pairing: Pairing,
) -> Exchange {
    let pair = Pair {
        request,
        answer,
        is_demanded: pairing.confirmed,
    };
    let rules = exchange_rules()
        .iter()
        .map(|rule| match pair.judge(rule.id) {
            None => (rule, Verdict::NotApplicable, String::new()),
            Some(Ok(())) => (rule, Verdict::Kept, String::new()),
            Some(Err(found)) => (rule, Verdict::of_breach(rule), found),
        });
    Exchange {
        request: request_name.to_owned(),
        answer: answer_name.to_owned(),
        by,
        rules: rules.collect(),
    }
}

struct Pair<'a> {
    request: &'a ExchangeFacts,
    answer: &'a ExchangeFacts,
    /// Whether confirmations are demanded.
    is_demanded: bool,
}

impl Pair<'_> {
    /// Whether a rule is kept, with what was found if it is not; `None` if it does not apply.
    fn judge(&self, id: &str) -> Option<Result<(), String>> {
        match id {
            "exchange-relates" => self.relates(),
            "exchange-action" => {
                let has_action = self.answer.action.is_some();
                let is_exempt = self.is_bare_fault() || !has_action && self.answer.hides_blocks;
                let applies = self.request.action.is_some() && !is_exempt;
                applies.then(|| held(has_action, || "none".to_owned()))
            }
            "exchange-action-own" => {
                let action = self.answer.action.as_ref();
                let (theirs, ours) = self.request.action.as_ref().zip(action)?;
                Some(held(theirs != ours, || quoted(Some(ours))))
            }
            "exchange-confirmed" => self.confirmed(),
            "exchange-confirms-others" => {
                let mut values = self.answer.confirmations.iter().flatten().peekable();
                values.peek()?;
                if self.request.is_hidden {
                    return None;
                }
                let other = values.find(|value| !self.request.signatures.contains(*value));
                Some(other.map_or(Ok(()), |value| Err(quoted(Some(value)))))
            }
            "exchange-confirmation-signed" => {
                if self.answer.confirmations.is_empty() || self.answer.is_hidden {
                    return None;
                }
                let found = || "a confirmation that no signature covers".to_owned();
                Some(held(self.answer.confirmations_signed, found))
            }
            "exchange-signed" => {
                let applies = self.request.body_signed && !self.answer.is_fault;
                let is_signed = self.answer.body_signed;
                let found = || "a Body that is not signed".to_owned();
                (applies && (is_signed || !self.answer.is_hidden)).then(|| held(is_signed, found))
            }
            "exchange-encrypted" => {
                let applies = self.request.body_encrypted && !self.answer.is_fault;
                let found = || "a Body in clear".to_owned();
                applies.then(|| held(self.answer.body_encrypted, found))
            }
            _ => self.algorithms(),
        }
    }

    /// A fault without addressing headers, such as one of a gateway that did not get as far as the
    /// headers of the request.
    fn is_bare_fault(&self) -> bool {
        self.answer.is_fault && !self.answer.is_addressed
    }

    /// A request without an id is answered without a relation, or with one to the message that is
    /// not specified (WS-Addressing Core, 3.1).
    fn relates(&self) -> Option<Result<(), String>> {
        let id = self.request.message_id.as_deref();
        let is_unrelated = self.answer.relates_to.is_empty();
        if self.is_bare_fault() || id.is_none() && is_unrelated {
            return None;
        }
        if id.is_none() && self.request.hides_blocks || is_unrelated && self.answer.hides_blocks {
            return None;
        }
        let wanted = id.unwrap_or(ADDRESSING_UNSPECIFIED);
        let relates = self.answer.relates_to.iter().any(|one| one == wanted);
        Some(held(relates, || {
            let found = self.answer.relates_to.first().map(String::as_str);
            format!("{} for the id {}", quoted(found), quoted(id))
        }))
    }

    fn confirmed(&self) -> Option<Result<(), String>> {
        let given = &self.answer.confirmations;
        let is_hidden = self.request.is_hidden || self.answer.is_hidden;
        // Faults in clear sign nothing, and so confirm nothing.
        let is_plain_fault = self.answer.is_fault && self.answer.signatures.is_empty();
        let is_demanded = self.is_demanded && !is_plain_fault;
        if is_hidden || given.is_empty() && !is_demanded {
            return None;
        }
        if self.request.signatures.is_empty() {
            let is_said = matches!(given.as_slice(), [None]);
            let found = || "no single confirmation without a Value".to_owned();
            return Some(held(is_said, found));
        }
        let given: BTreeSet<&String> = given.iter().flatten().collect();
        let signatures = self.request.signatures.iter();
        let missing = signatures.filter(|one| !given.contains(one)).count();
        Some(held(missing == 0, || {
            let all = self.request.signatures.len();
            format!("{missing} of {all} signatures unconfirmed")
        }))
    }

    /// Algorithms of a kind are compared where both messages show some: a request that is signed
    /// alone says nothing about encryption.
    fn algorithms(&self) -> Option<Result<(), String>> {
        let mut is_compared = false;
        for (theirs, ours) in [
            (&self.request.signing, &self.answer.signing),
            (&self.request.encryption, &self.answer.encryption),
        ] {
            if self.request.is_hidden || !theirs.is_used || !ours.is_used {
                continue;
            }
            is_compared = true;
            if let Some(weak) = ours.weak.first().filter(|_| theirs.weak.is_empty()) {
                return Some(Err(quoted(Some(weak))));
            }
        }
        is_compared.then_some(Ok(()))
    }
}

fn held(is_kept: bool, found: impl FnOnce() -> String) -> Result<(), String> {
    match is_kept {
        true => Ok(()),
        false => Err(found()),
    }
}

/// A value of base64 without white space.
fn joined(text: &str) -> String {
    text.split_ascii_whitespace().collect()
}
