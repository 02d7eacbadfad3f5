//! The three bindings and their properties (WS-SecurityPolicy 1.3, 6 and 7).

use std::sync::Arc;

use soapstone_wss::{Layout, ProtectionOrder};

use super::suite::AlgorithmSuite;
use super::token::{Token, is_token};
use super::{is_security, nested, refuse_beside};
use crate::names::Name;
use crate::node::Place;
use crate::normal::Assertion;
use crate::problem::{PolicyProblem, ProblemKind};

/// How messages are protected.
#[derive(Clone, Debug)]
pub enum Binding {
    /// By the connection they travel on (7.3).
    Transport(TransportBinding),
    /// By one key for both directions (7.4).
    Symmetric(SymmetricBinding),
    /// By the keys of certificates (7.5).
    Asymmetric(Box<AsymmetricBinding>),
}

/// `sp:TransportBinding`.
#[derive(Clone, Debug)]
pub struct TransportBinding {
    /// `sp:TransportToken`.
    pub token: Option<Token>,
    /// Everything else.
    pub properties: BindingProperties,
}

/// `sp:SymmetricBinding`.
#[derive(Clone, Debug)]
pub struct SymmetricBinding {
    /// `sp:ProtectionToken` or `sp:EncryptionToken`.
    pub encryption: Option<Token>,
    /// `sp:ProtectionToken` or `sp:SignatureToken`.
    pub signature: Option<Token>,
    /// Everything else.
    pub properties: BindingProperties,
}

/// `sp:AsymmetricBinding`.
#[derive(Clone, Debug)]
pub struct AsymmetricBinding {
    /// `sp:InitiatorToken` or `sp:InitiatorSignatureToken`: signs requests.
    pub initiator_signature: Option<Token>,
    /// `sp:InitiatorToken` or `sp:InitiatorEncryptionToken`: responses are encrypted for it.
    pub initiator_encryption: Option<Token>,
    /// `sp:RecipientToken` or `sp:RecipientSignatureToken`: signs responses.
    pub recipient_signature: Option<Token>,
    /// `sp:RecipientToken` or `sp:RecipientEncryptionToken`: requests are encrypted for it.
    pub recipient_encryption: Option<Token>,
    /// Everything else.
    pub properties: BindingProperties,
}

/// What all bindings have.
#[derive(Clone, Debug)]
pub struct BindingProperties {
    /// The binding's name.
    pub name: Name,
    /// Where it stands.
    pub place: Place,
    /// `sp:AlgorithmSuite`.
    pub suite: Option<AlgorithmSuite>,
    /// `sp:Layout`; lax if nothing is said (6.7).
    pub layout: Layout,
    /// `sp:IncludeTimestamp`.
    pub include_timestamp: bool,
    /// `sp:EncryptBeforeSigning`; otherwise signatures come first (6.3).
    pub order: ProtectionOrder,
    /// `sp:EncryptSignature`.
    pub encrypt_signature: bool,
    /// `sp:ProtectTokens`.
    pub protect_tokens: bool,
    /// `sp:OnlySignEntireHeadersAndBody`.
    pub only_entire_headers_and_body: bool,
    /// Something in it is among the problems: what seems to be missing may be that.
    pub(crate) incomplete: bool,
    canonical: String,
}

impl Binding {
    /// What all bindings have.
    pub fn properties(&self) -> &BindingProperties {
        match self {
            Self::Transport(binding) => &binding.properties,
            Self::Symmetric(binding) => &binding.properties,
            Self::Asymmetric(binding) => &binding.properties,
        }
    }

    /// A text that two bindings share if they say the same.
    pub(crate) fn canonical(&self) -> &str {
        &self.properties().canonical
    }

    pub(super) fn read(
        assertion: &Arc<Assertion>,
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
        for inner in nested(assertion) {
            if is_security(inner, problems) {
                refuse_beside(inner, problems);
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
            _ => {
                problems.push(PolicyProblem::new(inner, ProblemKind::Unknown));
                return;
            }
        };
        *flag = true;
    }
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
