//! The three bindings and their properties (WS-SecurityPolicy 1.3, 6 and 7).

use std::sync::Arc;

use soapstone_wss::{Layout, ProtectionOrder};

use super::model::{
    AsymmetricBinding, Binding, BindingProperties, SupportingKind, SymmetricBinding, Token,
    TransportBinding,
};
use super::reading::{is_security, nested, refuse_beside};
use super::suite::AlgorithmSuite;
use super::token::is_token;
use crate::alternative::Assertion;
use crate::problem::{PolicyProblem, ProblemKind};

impl Binding {
    pub(super) fn read(
        assertion: &Arc<Assertion>,
        beside: &[Arc<Assertion>],
        problems: &mut Vec<PolicyProblem>,
    ) -> Option<Self> {
        let mut read = Reading {
            properties: BindingProperties {
                name: assertion.name().clone(),
                place: assertion.place().clone(),
                suite: None,
                layout: Layout::Lax,
                include_timestamp: false,
                order: ProtectionOrder::SignBeforeEncrypting,
                encrypt_signature: false,
                protect_tokens: false,
                only_entire_headers_and_body: false,
                incomplete: false,
                misplaced: Vec::new(),
                canonical: assertion.canonical(),
            },
            tokens: Vec::new(),
            layout: None,
            places_timestamp: None,
        };
        let roles: &[&str] = match &*assertion.name().local {
            "TransportBinding" => &["TransportToken"],
            "SymmetricBinding" => &["ProtectionToken", "EncryptionToken", "SignatureToken"],
            _ => &[
                "InitiatorToken",
                "InitiatorSignatureToken",
                "InitiatorEncryptionToken",
                "RecipientToken",
                "RecipientSignatureToken",
                "RecipientEncryptionToken",
            ],
        };
        let before = problems.len();
        refuse_beside(assertion, problems);
        for inner in nested(assertion).iter().chain(beside) {
            if is_security(inner, problems) {
                // What belongs beside the binding is read there, with what is in it.
                if !belongs_beside(&inner.name().local) {
                    refuse_beside(inner, problems);
                }
                read.inner(inner, roles, problems);
            }
        }
        if let Some(layout) = &read.places_timestamp
            && !read.properties.include_timestamp
        {
            // WS-SecurityPolicy 1.3, 6.7.
            let what = "sp:IncludeTimestamp";
            problems.push(PolicyProblem::new(layout, ProblemKind::Missing { what }));
        }
        read.properties.incomplete = problems.len() > before;
        Some(match &*assertion.name().local {
            "TransportBinding" => Self::Transport(TransportBinding {
                token: read.token(&["TransportToken"]),
                properties: read.properties,
            }),
            "SymmetricBinding" => Self::Symmetric(SymmetricBinding {
                encryption: read.token(&["ProtectionToken", "EncryptionToken"]),
                signature: read.token(&["ProtectionToken", "SignatureToken"]),
                properties: read.properties,
            }),
            _ => Self::Asymmetric(Box::new(AsymmetricBinding {
                initiator_signature: read.token(&["InitiatorToken", "InitiatorSignatureToken"]),
                initiator_encryption: read.token(&["InitiatorToken", "InitiatorEncryptionToken"]),
                recipient_signature: read.token(&["RecipientToken", "RecipientSignatureToken"]),
                recipient_encryption: read.token(&["RecipientToken", "RecipientEncryptionToken"]),
                properties: read.properties,
            })),
        })
    }
}

struct Reading {
    properties: BindingProperties,
    /// The tokens by the names of their roles.
    tokens: Vec<(String, Token)>,
    /// The layout, once it is said.
    layout: Option<Layout>,
    /// Where it says so, if it says where the Timestamp stands.
    places_timestamp: Option<Arc<Assertion>>,
}

impl Reading {
    fn token(&self, roles: &[&str]) -> Option<Token> {
        self.tokens
            .iter()
            .find(|(role, _)| roles.contains(&role.as_str()))
            .map(|(_, token)| token.clone())
    }

    fn inner(&mut self, inner: &Arc<Assertion>, roles: &[&str], problems: &mut Vec<PolicyProblem>) {
        let local = &*inner.name().local;
        let flag = match local {
            "IncludeTimestamp" => &mut self.properties.include_timestamp,
            "EncryptSignature" => &mut self.properties.encrypt_signature,
            "ProtectTokens" => &mut self.properties.protect_tokens,
            "OnlySignEntireHeadersAndBody" => &mut self.properties.only_entire_headers_and_body,
            "EncryptBeforeSigning" => {
                self.properties.order = ProtectionOrder::EncryptBeforeSigning;
                return;
            }
            // What holds anyway; written by old versions of stacks.
            "SignBeforeEncrypting" => return,
            "AlgorithmSuite" => {
                let suite = AlgorithmSuite::read(inner, problems);
                match (&self.properties.suite, suite) {
                    (Some(known), Some(read)) if !known.says_the_same(&read) => {
                        problems.push(PolicyProblem::new(inner, ProblemKind::Repeated));
                    }
                    (None, read) => self.properties.suite = read,
                    _ => {}
                }
                return;
            }
            "Layout" => {
                if let Some(layout) = read_layout(inner, problems) {
                    if self.layout.is_some_and(|known| known != layout) {
                        problems.push(PolicyProblem::new(inner, ProblemKind::Repeated));
                    }
                    self.layout = Some(layout);
                    self.properties.layout = layout;
                    if layout.places_timestamp() {
                        self.places_timestamp = Some(Arc::clone(inner));
                    }
                }
                return;
            }
            role if roles.contains(&role) => {
                if self
                    .tokens
                    .iter()
                    .any(|(other, _)| share_a_purpose(other, role))
                {
                    problems.push(PolicyProblem::new(inner, TWO_TOKENS));
                    return;
                }
                let before = problems.len();
                let mut tokens = nested(inner)
                    .iter()
                    .filter(|token| is_token(token, problems))
                    .collect::<Vec<_>>()
                    .into_iter();
                match tokens.next() {
                    Some(token) => {
                        if let Some(token) = Token::read(token, problems) {
                            self.tokens.push((role.to_owned(), token));
                        }
                    }
                    None if problems.len() > before => {}
                    None => problems.push(PolicyProblem::new(
                        inner,
                        ProblemKind::Missing {
                            what: "a token assertion",
                        },
                    )),
                }
                for second in tokens {
                    problems.push(PolicyProblem::new(second, TWO_TOKENS));
                }
                return;
            }
            _ if belongs_beside(local) => {
                self.properties.misplaced.push(Arc::clone(inner));
                return;
            }
            _ => {
                problems.push(PolicyProblem::new(inner, ProblemKind::Unknown));
                return;
            }
        };
        *flag = true;
    }
}

/// Properties of bindings (WS-SecurityPolicy 1.3, 7), which some descriptions have beside their
/// binding.
pub(super) fn is_property(local: &str) -> bool {
    matches!(
        local,
        "AlgorithmSuite"
            | "Layout"
            | "IncludeTimestamp"
            | "EncryptSignature"
            | "EncryptBeforeSigning"
            | "ProtectTokens"
            | "OnlySignEntireHeadersAndBody"
    )
}

/// Whether an assertion that some descriptions have in their binding belongs beside it
/// (WS-SecurityPolicy 1.3, 4, 8 to 10).
fn belongs_beside(local: &str) -> bool {
    SupportingKind::named(local).is_some()
        || matches!(
            local,
            "SignedParts"
                | "EncryptedParts"
                | "RequiredParts"
                | "SignedElements"
                | "EncryptedElements"
                | "ContentEncryptedElements"
                | "RequiredElements"
                | "Wss10"
                | "Wss11"
                | "Trust10"
                | "Trust13"
        )
}

const TWO_TOKENS: ProblemKind = ProblemKind::Conflict {
    with: "another token for the same purpose",
};

/// Whether tokens in both roles would sign, or encrypt, in one direction.
fn share_a_purpose(one: &str, other: &str) -> bool {
    let is_recipients = |role: &str| role.starts_with("Recipient");
    let signs = |role: &str| !role.ends_with("EncryptionToken");
    let encrypts = |role: &str| !role.ends_with("SignatureToken");
    is_recipients(one) == is_recipients(other)
        && (signs(one) && signs(other) || encrypts(one) && encrypts(other))
}

/// WS-SecurityPolicy 1.3, 7.2.
fn read_layout(assertion: &Assertion, problems: &mut Vec<PolicyProblem>) -> Option<Layout> {
    let mut layout = None;
    for inner in nested(assertion) {
        let read = match &*inner.name().local {
            "Strict" => Layout::Strict,
            "Lax" => Layout::Lax,
            "LaxTsFirst" | "LaxTimestampFirst" => Layout::LaxTimestampFirst,
            "LaxTsLast" | "LaxTimestampLast" => Layout::LaxTimestampLast,
            _ => {
                problems.push(PolicyProblem::new(inner, ProblemKind::Unknown));
                continue;
            }
        };
        if layout.is_some_and(|known| known != read) {
            problems.push(PolicyProblem::new(inner, ProblemKind::Repeated));
        }
        layout = Some(read);
    }
    layout
}
