//! Supporting tokens: eight kinds of them (WS-SecurityPolicy 1.3, 8).

use std::sync::Arc;

use super::model::{SupportingKind, SupportingTokens, Token, TokenKind};
use super::parts::{ElementsDemand, PartsDemand};
use super::reading::{nested, not_supported, refuse_beside};
use super::suite::AlgorithmSuite;
use super::token::{is_token, names_token};
use crate::alternative::Assertion;
use crate::node::Node;
use crate::problem::{PolicyProblem, ProblemKind};

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
