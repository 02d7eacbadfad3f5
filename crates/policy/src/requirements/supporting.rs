//! Supporting tokens: eight kinds of them (WS-SecurityPolicy 1.3, 8).

use std::sync::Arc;

use super::parts::{ElementsDemand, PartsDemand};
use super::suite::AlgorithmSuite;
use super::token::{Token, TokenKind, is_token, names_token};
use super::{nested, not_supported, refuse_beside};
use crate::names::Name;
use crate::node::{Node, Place};
use crate::normal::Assertion;
use crate::problem::{PolicyProblem, ProblemKind};

/// What is done to supporting tokens, and what they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SupportingKind {
    /// The message's signature covers them.
    pub signed: bool,
    /// They are encrypted.
    pub encrypted: bool,
    /// They sign the message's signature, or the Timestamp where there is none.
    pub endorsing: bool,
}

impl SupportingKind {
    /// The kind that an assertion of this name means.
    pub fn named(local: &str) -> Option<Self> {
        let mut rest = local.strip_suffix("SupportingTokens")?;
        let mut has = |prefix: &str| match rest.strip_prefix(prefix) {
            Some(behind) => {
                rest = behind;
                true
            }
            None => false,
        };
        let kind = Self {
            signed: has("Signed"),
            endorsing: has("Endorsing"),
            encrypted: has("Encrypted"),
        };
        rest.is_empty().then_some(kind)
    }
}

/// One assertion of supporting tokens.
#[derive(Clone, Debug)]
pub struct SupportingTokens {
    /// Which kind.
    pub kind: SupportingKind,
    /// The tokens.
    pub tokens: Vec<Token>,
    /// A suite for the signatures of the tokens alone.
    pub suite: Option<AlgorithmSuite>,
    /// Parts that the tokens sign in particular.
    pub signed_parts: Vec<PartsDemand>,
    /// Elements that the tokens sign in particular.
    pub signed_elements: Vec<ElementsDemand>,
    /// The assertion.
    pub name: Name,
    /// Where it stands.
    pub place: Place,
}

impl SupportingTokens {
    pub(super) fn read(
        kind: SupportingKind,
        assertion: &Arc<Assertion>,
        problems: &mut Vec<PolicyProblem>,
    ) -> Self {
        let mut read = Self {
            kind,
            tokens: Vec::new(),
            suite: None,
            signed_parts: Vec::new(),
            signed_elements: Vec::new(),
            name: assertion.name().clone(),
            place: assertion.place().clone(),
        };
        refuse_beside(assertion, problems);
        let before = problems.len();
        let mut encrypted = Vec::new();
        for inner in nested(assertion) {
            if !is_token(inner, problems) {
                continue;
            }
            match &*inner.name().local {
                "AlgorithmSuite" => {
                    let suite = AlgorithmSuite::read(inner, problems);
                    if let (Some(known), Some(suite)) = (&read.suite, &suite)
                        && !known.says_the_same(suite)
                    {
                        problems.push(PolicyProblem::new(inner, ProblemKind::Repeated));
                    }
                    read.suite = suite.or(read.suite);
                }
                "SignedParts" => read.signed_parts.push(PartsDemand::read(inner, problems)),
                "SignedElements" => read
                    .signed_elements
                    .push(ElementsDemand::read(inner, problems)),
                "EncryptedParts" | "EncryptedElements" | "ContentEncryptedElements" => {
                    encrypted.push(inner);
                }
                _ => read.tokens.extend(Token::read(inner, problems)),
            }
        }
        let reason = why_not_encrypted(&read.tokens);
        problems.extend(
            encrypted
                .into_iter()
                .map(|inner| not_supported(inner, reason)),
        );
        if read.tokens.is_empty() && problems.len() == before && !has_written(assertion.node()) {
            problems.push(PolicyProblem::new(
                assertion,
                ProblemKind::Missing {
                    what: "a token assertion",
                },
            ));
        }
        read
    }
}

/// Why parts are not "encrypted using the token identified by this assertion" (8.1 to 8.8). With
/// another key, such as the message's, they would be encrypted for others than the policy says.
fn why_not_encrypted(tokens: &[Token]) -> &'static str {
    match tokens.first().map(|token| &token.kind) {
        Some(TokenKind::X509 { .. }) => {
            "what is encrypted with the certificate of whoever sends, nobody else reads: name them outside of the assertion, for the message's key"
        }
        Some(TokenKind::Username { .. }) => {
            "a password is no key to encrypt with: name them outside of the assertion, for the message's key"
        }
        Some(kind) if kind.is_context() => {
            "stacks do not agree on which key encrypts beside a context that supports: name them outside of the assertion"
        }
        _ => {
            "parts are encrypted with the message's key, not with that of a supporting token: name them outside of the assertion"
        }
    }
}

/// Whether tokens are written in an expression, which this alternative left out because they are
/// optional: WCF writes supporting tokens of which none has to be there.
fn has_written(expression: &Node) -> bool {
    expression.children.iter().any(|child| {
        if child.name.policy_version().is_some() {
            has_written(child)
        } else {
            names_token(&child.name)
        }
    })
}
