//! Which operation a message is of, where the operations of a port have policies of their own.
//!
//! ```text
//! arrives ─ what can be seen ─▶ operations of one exchange policy
//!         ─ its plan opens ─▶ the opened message is of one of them, or refused
//! leaves  ─ what the Body holds ─▶ operations of one exchange policy
//!         ─ its plan secures ─▶ the receipt remembers them for the answer
//! ```
//!
//! What can be seen of a message that arrives (`SOAPAction`, `wsa:Action`, the Body) is not proven,
//! and chooses a plan, nothing else. The one rule: a message counts as one of an operation only if
//! it was opened by the plan of that operation, so that nobody steps down from the one to the other
//! (SOAPAction spoofing).

use std::collections::HashMap;

use soapstone_policy::{BodyContent, OperationExchange};
use soapstone_trust::TrustVersion;
use soapstone_trust::addressing::AddressingVersion;
use soapstone_wss::names::{WSSE11, XENC};
use soapstone_wss::{Envelope, Rejected, SecureError};
use soapstone_xml::Element;

/// The operations of an endpoint, and which exchange policy each of them has.
#[derive(Debug)]
pub(super) struct Operations {
    known: Vec<Operation>,
    by_content: HashMap<Content, Vec<usize>>,
    by_action: HashMap<String, Vec<usize>>,
    /// Requests arrive here; otherwise they leave from here.
    serves: bool,
}

/// What a Body holds: the expanded name of an element, or nothing.
pub(super) type Content = Option<String>;

#[derive(Debug)]
struct Operation {
    name: String,
    /// `soapAction`, and what `wsa:Action` may be.
    actions: Vec<String>,
    /// The `wsa:Action` to write.
    addressing_action: Option<String>,
    response: Option<Content>,
    exchange: usize,
    /// Its requests have something encrypted.
    encrypts: bool,
}

/// What a message says and shows.
#[derive(Debug)]
struct Seen {
    actions: Vec<String>,
    content: Visible,
}

#[derive(Debug)]
enum Visible {
    Content(Content),
    /// It is encrypted.
    Hidden,
}

/// What a message that arrives is taken for, before it is opened.
#[derive(Debug)]
pub(super) enum Expected {
    /// All messages are treated alike.
    Anything,
    /// A request of an operation with this exchange policy.
    Request {
        /// Place of the exchange policy.
        exchange: usize,
        /// What was said beside the message.
        actions: Vec<String>,
    },
    /// The answer to a request of one of these operations.
    Answer {
        /// Their places.
        operations: Vec<usize>,
    },
    /// A request for a token, in a conversation.
    TokenRequest,
}

impl Operations {
    /// The operations of a policy. `encrypts` says of which exchange policies requests have
    /// something encrypted; `serves`, whether requests arrive here.
    pub(super) fn new(
        operations: Vec<OperationExchange>,
        encrypts: impl Fn(usize) -> bool,
        serves: bool,
    ) -> Self {
        let mut all = Self {
            known: Vec::with_capacity(operations.len()),
            by_content: HashMap::new(),
            by_action: HashMap::new(),
            serves,
        };
        for OperationExchange {
            name,
            messages,
            agreement: exchange,
        } in operations
        {
            let place = all.known.len();
            let addressing_action = messages.addressing_actions.first().cloned();
            let mut actions = messages.addressing_actions;
            actions.extend(messages.soap_action);
            actions.sort_unstable();
            actions.dedup();
            for action in &actions {
                let alike = all.by_action.entry(action.clone()).or_default();
                alike.push(place);
            }
            if let Some(content) = content_of(&messages.request) {
                all.by_content.entry(content).or_default().push(place);
            }
            all.known.push(Operation {
                name,
                actions,
                addressing_action,
                response: messages.response.as_ref().and_then(content_of),
                exchange,
                encrypts: encrypts(exchange),
            });
        }
        all
    }

    /// Whether requests arrive here, and their answers leave.
    pub(super) fn serves(&self) -> bool {
        self.serves
    }

    /// The names of operations whose exchange policy is one of those that `is_meant` names.
    pub(super) fn names_of(&self, is_meant: impl Fn(usize) -> bool) -> impl Iterator<Item = &str> {
        let meant = self
            .known
            .iter()
            .filter(move |operation| is_meant(operation.exchange));
        meant.map(|operation| operation.name.as_str())
    }

    /// The exchange policy of operations, which all have the same; `None` of no operations.
    pub(super) fn exchange_of(&self, operations: &[usize]) -> Option<usize> {
        let known = self.known.get(*operations.first()?)?;
        Some(known.exchange)
    }

    /// The `wsa:Action` to write into requests of these operations.
    pub(super) fn addressing_action(&self, operations: &[usize]) -> Option<&str> {
        let known = self.known.get(*operations.first()?)?;
        known.addressing_action.as_deref()
    }

    /// What a request that arrives is to be opened as, by all that can be seen of it.
    ///
    /// `actions` is what was said beside it.
    pub(super) fn expect_request(
        &self,
        envelope: &Envelope,
        actions: &[String],
        in_conversation: bool,
    ) -> Result<Expected, Rejected> {
        let seen = Seen::of(envelope, actions)?;
        if in_conversation && seen.asks_for_token(envelope) {
            return Ok(Expected::TokenRequest);
        }
        let fitting = self.fitting(&seen)?;
        match self.common_exchange(&fitting) {
            Some(exchange) => Ok(Expected::Request {
                exchange,
                actions: actions.to_vec(),
            }),
            None => Err(Rejected::OperationUnclear {
                problem: match seen.content {
                    Visible::Hidden => {
                        "its Body is encrypted, and neither `SOAPAction` nor `wsa:Action` tells"
                    }
                    Visible::Content(_) => ALIKE,
                },
            }),
        }
    }

    /// What the Bodies of requests hold, as far as that is an element.
    pub(super) fn contents(&self) -> impl Iterator<Item = &str> {
        let contents = self.by_content.keys();
        contents.filter_map(|content| content.as_deref())
    }

    /// Whether a message that was opened is what it was taken for; the operations that it may be
    /// of.
    pub(super) fn confirm(
        &self,
        envelope: &Envelope,
        expected: Expected,
    ) -> Result<Vec<usize>, Rejected> {
        match expected {
            Expected::Anything => Ok(Vec::new()),
            Expected::TokenRequest if holds_token_request(envelope) => Ok(Vec::new()),
            Expected::TokenRequest => Err(Rejected::OperationMismatch {
                expected: "a request for a token".to_owned(),
                found: described(&content(envelope)),
            }),
            Expected::Request { exchange, actions } => {
                self.confirm_request(envelope, exchange, &actions)
            }
            Expected::Answer { operations } => {
                self.confirm_answer(envelope, &operations)?;
                Ok(operations)
            }
        }
    }

    fn confirm_request(
        &self,
        envelope: &Envelope,
        exchange: usize,
        actions: &[String],
    ) -> Result<Vec<usize>, Rejected> {
        let mut seen = Seen::of(envelope, actions)?;
        // What is still cipher text is what the Body holds.
        seen.content = Visible::Content(content(envelope));
        let fitting = self.fitting(&seen)?;
        if self.common_exchange(&fitting) == Some(exchange) {
            return Ok(fitting);
        }
        let is_used = |place: &usize| self.known[*place].exchange == exchange;
        if fitting.iter().any(is_used) {
            return Err(Rejected::OperationUnclear { problem: ALIKE });
        }
        let used: Vec<usize> = (0..self.known.len()).filter(is_used).collect();
        Err(Rejected::OperationMismatch {
            expected: self.names(&used),
            found: self.names(&fitting),
        })
    }

    fn confirm_answer(&self, envelope: &Envelope, operations: &[usize]) -> Result<(), Rejected> {
        only_one_element(envelope).map_err(|problem| Rejected::OperationUnclear { problem })?;
        let body = envelope.body();
        let is_fault = body
            .first_child()
            .is_some_and(|child| child.is(envelope.version().namespace(), "Fault"));
        let found = content(envelope);
        let answers = || operations.iter().map(|place| &self.known[*place].response);
        if is_fault || answers().any(|response| response.as_ref() == Some(&found)) {
            return Ok(());
        }
        let expected = answers().find_map(Option::as_ref);
        Err(Rejected::OperationMismatch {
            expected: match expected {
                Some(expected) => format!("the answer {} or a fault", described(expected)),
                None => "no answer or a fault".to_owned(),
            },
            found: described(&found),
        })
    }

    /// The operations that a plain request may be of, which all have the same exchange policy. Its
    /// sender is believed: what the Body holds decides, and actions where it is the same for
    /// several.
    pub(super) fn of_plain(
        &self,
        envelope: &Envelope,
        action: Option<&str>,
    ) -> Result<Vec<usize>, SecureError> {
        only_one_element(envelope).map_err(|problem| SecureError::OperationUnclear { problem })?;
        let content = content(envelope);
        let Some(alike) = self.by_content.get(&content) else {
            return Err(SecureError::OperationUnknown {
                found: shortened(content.as_deref().unwrap_or("an empty Body")),
            });
        };
        let mut said: Vec<String> = action.map(str::to_owned).into_iter().collect();
        said.retain(|action| !action.is_empty());
        said.extend(addressed(envelope).flatten());
        let narrowed: Vec<usize> = alike
            .iter()
            .copied()
            .filter(|place| self.known[*place].says(&said))
            .collect();
        let fitting = if narrowed.is_empty() {
            alike.clone()
        } else {
            narrowed
        };
        match self.common_exchange(&fitting) {
            Some(_) => Ok(fitting),
            None => Err(SecureError::OperationUnclear { problem: ALIKE }),
        }
    }

    /// The operations that everything seen fits: one at least.
    fn fitting(&self, seen: &Seen) -> Result<Vec<usize>, Rejected> {
        let unknown = |found: &str| Rejected::OperationUnknown {
            found: shortened(found),
        };
        let mut by_first_action = None;
        for action in &seen.actions {
            let Some(alike) = self.by_action.get(action) else {
                return Err(unknown(action));
            };
            by_first_action.get_or_insert(alike);
        }
        let all;
        let alike = match (&seen.content, by_first_action) {
            (Visible::Content(content), _) => self
                .by_content
                .get(content)
                .ok_or_else(|| unknown(content.as_deref().unwrap_or("an empty Body")))?,
            (Visible::Hidden, Some(alike)) => alike,
            (Visible::Hidden, None) => {
                all = (0..self.known.len()).collect();
                &all
            }
        };
        let hidden = matches!(seen.content, Visible::Hidden);
        let fitting: Vec<usize> = alike
            .iter()
            .copied()
            .filter(|place| {
                let operation = &self.known[*place];
                operation.says(&seen.actions) && (operation.encrypts || !hidden)
            })
            .collect();
        if fitting.is_empty() {
            return Err(Rejected::OperationMismatch {
                expected: if hidden {
                    "one with something encrypted".to_owned()
                } else {
                    self.names(alike)
                },
                found: seen.described(),
            });
        }
        Ok(fitting)
    }

    /// The exchange policy that all of these operations have.
    fn common_exchange(&self, operations: &[usize]) -> Option<usize> {
        let first = self.exchange_of(operations)?;
        let same = |place: &usize| self.known[*place].exchange == first;
        operations.iter().all(same).then_some(first)
    }

    /// The names of operations, a few of them.
    fn names(&self, operations: &[usize]) -> String {
        let mut names: Vec<&str> = operations
            .iter()
            .map(|place| self.known[*place].name.as_str())
            .collect();
        names.dedup();
        let more = names.len().saturating_sub(MOST_NAMES);
        names.truncate(MOST_NAMES);
        let others = if more > 0 { " and others" } else { "" };
        format!("`{}`{others}", names.join("`, `"))
    }
}

/// Most operations that an error names.
const MOST_NAMES: usize = 3;

/// Several operations have the same Body, and no action tells which of them is meant.
const ALIKE: &str = "several operations have a Body like this, and no `SOAPAction` or `wsa:Action` tells which is meant";

impl Operation {
    /// Whether all of these may be actions of its requests.
    fn says(&self, actions: &[String]) -> bool {
        actions.iter().all(|action| self.actions.contains(action))
    }
}

impl Seen {
    fn of(envelope: &Envelope, actions: &[String]) -> Result<Self, Rejected> {
        only_one_element(envelope).map_err(|problem| Rejected::OperationUnclear { problem })?;
        let mut actions: Vec<String> = actions.to_vec();
        actions.retain(|action| !action.is_empty());
        for action in addressed(envelope) {
            let problem = "its `wsa:Action` is no text";
            actions.push(action.ok_or(Rejected::OperationUnclear { problem })?);
        }
        actions.sort_unstable();
        actions.dedup();
        let is_hidden = envelope
            .body()
            .first_child()
            .is_some_and(|child| child.is(XENC, "EncryptedData"));
        let content = if is_hidden {
            Visible::Hidden
        } else {
            Visible::Content(content(envelope))
        };
        Ok(Self { actions, content })
    }

    /// Whether it looks like a request for a token.
    fn asks_for_token(&self, envelope: &Envelope) -> bool {
        match self.content {
            Visible::Content(_) => holds_token_request(envelope),
            Visible::Hidden => self.actions.iter().any(|action| {
                TrustVersion::ALL
                    .iter()
                    .filter_map(|version| version.path_of(action))
                    .any(|path| path.starts_with("RST/"))
            }),
        }
    }

    fn described(&self) -> String {
        let mut found: Vec<String> = self
            .actions
            .iter()
            .map(|action| format!("action `{}`", shortened(action)))
            .collect();
        found.push(match &self.content {
            Visible::Content(content) => described(content),
            Visible::Hidden => "an encrypted Body".to_owned(),
        });
        found.join(", ")
    }
}

/// Whether the Body of a message is a request for a token.
pub(super) fn holds_token_request(envelope: &Envelope) -> bool {
    envelope.body().first_child().is_some_and(asks_for_token)
}

/// Whether there is a request for a token in the Body of a message, in whatever place: some
/// services listen to others than the first.
pub(super) fn carries_token_request(envelope: &Envelope) -> bool {
    envelope.body().children().any(asks_for_token)
}

fn asks_for_token(request: Element<'_>) -> bool {
    let named =
        ["RequestSecurityToken", "RequestSecurityTokenCollection"].contains(&request.local());
    named && TrustVersion::from_namespace(request.namespace()).is_some()
}

/// A second element in the Body could be another operation's, to which some services would listen
/// (WS-I Basic Profile 1.1, R9981).
fn only_one_element(envelope: &Envelope) -> Result<(), &'static str> {
    match envelope.body().children().nth(1) {
        Some(_) => Err("its Body holds more than one element"),
        None => Ok(()),
    }
}

/// Drafts of WS-Addressing that are not spoken here, and that services may listen to: stacks of
/// that time, and CXF. The first two came before the submission of August 2004, the others are the
/// Working Drafts of the W3C between that and the recommendation.
const ADDRESSING_DRAFTS: [&str; 5] = [
    "http://schemas.xmlsoap.org/ws/2003/03/addressing",
    "http://schemas.xmlsoap.org/ws/2004/03/addressing",
    "http://www.w3.org/2004/12/addressing",
    "http://www.w3.org/2005/02/addressing",
    "http://www.w3.org/2005/03/addressing",
];

/// The header blocks of WS-Addressing with this name, in whatever version, be they encrypted as
/// `wsse11:EncryptedHeader` before.
pub(super) fn addressing_blocks<'e>(
    envelope: &'e Envelope,
    local: &'static str,
) -> impl Iterator<Item = Element<'e>> {
    let blocks = envelope
        .header()
        .into_iter()
        .flat_map(|header| header.children());
    let with_inner = blocks.flat_map(|block| {
        let inner = block
            .is(WSSE11, "EncryptedHeader")
            .then(|| block.first_child())
            .flatten();
        [Some(block), inner].into_iter().flatten()
    });
    with_inner.filter(move |block| {
        let namespace = block.namespace();
        block.local() == local
            && (AddressingVersion::from_namespace(namespace).is_some()
                || ADDRESSING_DRAFTS.contains(&namespace))
    })
}

/// The values of all `wsa:Action` header blocks; `None` for one that is no text.
fn addressed(envelope: &Envelope) -> impl Iterator<Item = Option<String>> {
    addressing_blocks(envelope, "Action").map(|block| {
        let text = block.text_strict()?;
        Some(text.trim().to_owned())
    })
}

fn content(envelope: &Envelope) -> Content {
    envelope.operation()
}

pub(super) fn content_of(content: &BodyContent) -> Option<Content> {
    match content {
        BodyContent::Empty => Some(None),
        BodyContent::Element(name) if name.namespace.is_empty() => {
            Some(Some(name.local.to_string()))
        }
        BodyContent::Element(name) => Some(Some(format!("{{{}}}{}", name.namespace, name.local))),
        BodyContent::Unknown { .. } => None,
    }
}

/// An action or the name of an element as an error tells it: a stranger's action, or namespace, may
/// have megabytes.
fn shortened(found: &str) -> String {
    match found.char_indices().nth(LONGEST_TOLD) {
        Some((end, _)) => format!("{}…", &found[..end]),
        None => found.to_owned(),
    }
}

/// Characters of it that an error tells.
const LONGEST_TOLD: usize = 200;

fn described(content: &Content) -> String {
    match content {
        Some(name) => format!("`{}`", shortened(name)),
        None => "an empty Body".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_tells_little_of_a_name_of_a_megabyte() {
        let name = format!("{{urn:{}}}pay", "ä".repeat(1 << 20));
        assert!(described(&Some(name.clone())).len() < 1_000);
        assert!(shortened(&name).ends_with('…'));
        assert_eq!(shortened("{urn:bank}Pay"), "{urn:bank}Pay");
    }
}
