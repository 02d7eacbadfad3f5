//! Exchanges: requests and answers of the traffic, paired, and what an answer owes its request.
//!
//! The rule kept here: what is encrypted is not judged. A signature in cipher text is neither
//! confirmed nor missing.

use std::collections::{BTreeSet, HashMap};

use crate::facts::ExchangeFacts;
use crate::findings::quoted;
use crate::names::ADDRESSING_UNSPECIFIED;
use crate::rule::Rule;
use crate::table::exchange_rules;
use crate::verdict::{Evidence, Verdict};

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
