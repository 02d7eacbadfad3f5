//! The assertions of one alternative as types (WS-SecurityPolicy 1.3, 4 to 9).
//!
//! Reading takes what is well-formed; whether it can be done is for [`compile`](crate::compile())
//! to judge. The one rule: an assertion is either in the result or among the problems. Only what is
//! ignorable by its own word, and what configures another stack without saying anything about
//! messages, is in neither, and listed.

mod binding;
mod foreign;
mod options;
mod parts;
mod suite;
mod supporting;
mod token;

use std::sync::Arc;

pub use binding::{
    AsymmetricBinding, Binding, BindingProperties, SymmetricBinding, TransportBinding,
};
pub use options::{Trust, TrustVersion, Wss};
pub use parts::{ElementsDemand, HeaderDemand, PartsDemand, PathDemand};
pub use suite::AlgorithmSuite;
pub(crate) use suite::{CXF_SUITE_NAMES, suite_in_namespace_of_cxf};
pub use supporting::{SupportingKind, SupportingTokens};
pub use token::{DerivedKeyDemand, Inclusion, PasswordDemand, ReferenceDemand, Token, TokenKind};

use crate::names::{
    ADDRESSING_2004_POLICY, ADDRESSING_METADATA, ADDRESSING_METADATA_DRAFT, ADDRESSING_WSDL, Name,
};
use crate::node::Place;
use crate::normal::{Alternative, Assertion};
use crate::problem::{PolicyProblem, ProblemKind};

/// What one alternative demands.
#[derive(Clone, Debug, Default)]
pub struct Requirements {
    /// How messages are protected.
    pub binding: Option<Binding>,
    /// Tokens beside those of the binding.
    pub supporting: Vec<SupportingTokens>,
    /// `sp:SignedParts`.
    pub signed_parts: Vec<PartsDemand>,
    /// `sp:EncryptedParts`.
    pub encrypted_parts: Vec<PartsDemand>,
    /// `sp:RequiredParts`.
    pub required_parts: Vec<PartsDemand>,
    /// `sp:SignedElements`.
    pub signed_elements: Vec<ElementsDemand>,
    /// `sp:EncryptedElements`.
    pub encrypted_elements: Vec<ElementsDemand>,
    /// `sp:ContentEncryptedElements`.
    pub content_encrypted_elements: Vec<ElementsDemand>,
    /// `sp:RequiredElements`.
    pub required_elements: Vec<ElementsDemand>,
    /// `sp:Wss10` or `sp:Wss11`.
    pub wss: Option<Wss>,
    /// `sp:Trust10` or `sp:Trust13`.
    pub trust: Option<Trust>,
    /// Messages carry WS-Addressing headers.
    pub addressing: bool,
    /// Assertions that say nothing about messages: ignorable ones, and the configuration of other
    /// stacks.
    pub passed_over: Vec<(Name, Place)>,
}

/// Namespaces in which policies ask for addressing headers.
const ADDRESSING: [&str; 4] = [
    ADDRESSING_METADATA,
    ADDRESSING_METADATA_DRAFT,
    ADDRESSING_WSDL,
    ADDRESSING_2004_POLICY,
];

impl Requirements {
    /// Reads an alternative.
    ///
    /// What is not understood is added to `problems`, and missing in the result.
    pub fn read(alternative: &Alternative, problems: &mut Vec<PolicyProblem>) -> Self {
        let mut read = Self::default();
        for assertion in &alternative.assertions {
            read.assertion(assertion, problems);
        }
        read
    }

    /// Whether nothing is demanded at all.
    pub fn is_empty(&self) -> bool {
        self.binding.is_none()
            && self.supporting.is_empty()
            && self.wss.is_none()
            && self.trust.is_none()
            && !self.addressing
            && self.protections().all(|(list, _)| list.is_empty())
            && self.element_lists().all(|(list, _)| list.is_empty())
    }

    /// Whether something in the binding is among the problems.
    pub(crate) fn is_incomplete(&self) -> bool {
        let binding = self.binding.as_ref();
        binding.is_some_and(|binding| binding.properties().incomplete)
    }

    /// The lists of parts with the names of their assertions.
    pub(crate) fn protections(&self) -> impl Iterator<Item = (&Vec<PartsDemand>, &'static str)> {
        [
            (&self.signed_parts, "SignedParts"),
            (&self.encrypted_parts, "EncryptedParts"),
            (&self.required_parts, "RequiredParts"),
        ]
        .into_iter()
    }

    /// The lists of elements with the names of their assertions.
    pub(crate) fn element_lists(
        &self,
    ) -> impl Iterator<Item = (&Vec<ElementsDemand>, &'static str)> {
        [
            (&self.signed_elements, "SignedElements"),
            (&self.encrypted_elements, "EncryptedElements"),
            (&self.content_encrypted_elements, "ContentEncryptedElements"),
            (&self.required_elements, "RequiredElements"),
        ]
        .into_iter()
    }

    fn assertion(&mut self, assertion: &Arc<Assertion>, problems: &mut Vec<PolicyProblem>) {
        let name = assertion.name();
        let namespace = &*name.namespace;
        if ADDRESSING.contains(&namespace) {
            return self.addressing_assertion(assertion, problems);
        }
        if name.security_version().is_none() {
            // What is understood is obeyed, ignorable or not: that word is for those who do not
            // understand it.
            if assertion.is_ignorable() || foreign::says_nothing(assertion) {
                let place = assertion.place().clone();
                self.passed_over.push((name.clone(), place));
            } else {
                problems.push(PolicyProblem::new(assertion, foreign::refusal(name)));
            }
            return;
        }
        match &*name.local {
            "TransportBinding" | "SymmetricBinding" | "AsymmetricBinding" => {
                let binding = Binding::read(assertion, problems);
                if let Some(known) = &self.binding {
                    if known.canonical() != assertion.canonical() {
                        problems.push(PolicyProblem::new(assertion, ProblemKind::Repeated));
                    }
                } else {
                    self.binding = binding;
                }
            }
            "Wss10" | "Wss11" => match (&mut self.wss, Wss::read(assertion, problems)) {
                (Some(known), read) => known.add(read),
                (none, read) => *none = Some(read),
            },
            "Trust10" | "Trust13" => match (&mut self.trust, Trust::read(assertion, problems)) {
                (Some(known), read) => known.add(read),
                (none, read) => *none = Some(read),
            },
            _ => self.protection(assertion, problems),
        }
    }

    fn protection(&mut self, assertion: &Arc<Assertion>, problems: &mut Vec<PolicyProblem>) {
        if let Some(kind) = SupportingKind::named(&assertion.name().local) {
            let tokens = SupportingTokens::read(kind, assertion, problems);
            // What is attached twice, to a port and to an operation, is one assertion.
            if !self.supporting.iter().any(|one| one.place == tokens.place) {
                self.supporting.push(tokens);
            }
            return;
        }
        let parts = match &*assertion.name().local {
            "SignedParts" => &mut self.signed_parts,
            "EncryptedParts" => &mut self.encrypted_parts,
            "RequiredParts" => &mut self.required_parts,
            _ => return self.elements(assertion, problems),
        };
        parts.push(PartsDemand::read(assertion, problems));
    }

    fn elements(&mut self, assertion: &Arc<Assertion>, problems: &mut Vec<PolicyProblem>) {
        let elements = match &*assertion.name().local {
            "SignedElements" => &mut self.signed_elements,
            "EncryptedElements" => &mut self.encrypted_elements,
            "ContentEncryptedElements" => &mut self.content_encrypted_elements,
            "RequiredElements" => &mut self.required_elements,
            _ => {
                problems.push(PolicyProblem::new(assertion, ProblemKind::Unknown));
                return;
            }
        };
        elements.push(ElementsDemand::read(assertion, problems));
    }

    /// WS-Addressing 1.0 Metadata, 3.1.
    fn addressing_assertion(
        &mut self,
        assertion: &Arc<Assertion>,
        problems: &mut Vec<PolicyProblem>,
    ) {
        if !matches!(&*assertion.name().local, "Addressing" | "UsingAddressing") {
            problems.push(PolicyProblem::new(assertion, ProblemKind::Unknown));
            return;
        }
        self.addressing = true;
        for inner in nested(assertion) {
            match &*inner.name().local {
                "AnonymousResponses" => {}
                "NonAnonymousResponses" => problems.push(not_supported(
                    inner,
                    "answers go back on the connection of their request",
                )),
                _ => problems.push(PolicyProblem::new(inner, ProblemKind::Unknown)),
            }
        }
    }
}

/// The assertions of the nested policy; none where there is none.
fn nested(assertion: &Assertion) -> &[Arc<Assertion>] {
    assertion
        .nested()
        .map_or(&[], |alternative| &alternative.assertions)
}

/// Adds a problem for whatever stands in an assertion beside its nested policy, where nobody would
/// obey it: an assertion, a reference to the policy that should be there (WS-Policy 1.5, 4.3.2 has
/// none without a `wsp:Policy` around it), or an element of others.
fn refuse_beside(assertion: &Assertion, problems: &mut Vec<PolicyProblem>) {
    for one in assertion.parameters() {
        let name = &one.name;
        let kind = if name.security_version().is_some() || name.policy_version().is_some() {
            let what = "a wsp:Policy around it";
            ProblemKind::Missing { what }
        } else if foreign::is_configuration(name) {
            continue;
        } else {
            ProblemKind::Unknown
        };
        problems.push(PolicyProblem::at(name, &one.place, kind));
    }
}

/// Whether `assertion` is one of WS-SecurityPolicy, of whatever version; adds the problem if it is
/// not.
fn is_security(assertion: &Assertion, problems: &mut Vec<PolicyProblem>) -> bool {
    if assertion.name().security_version().is_some() {
        return true;
    }
    if !assertion.is_ignorable() {
        let kind = foreign::refusal(assertion.name());
        problems.push(PolicyProblem::new(assertion, kind));
    }
    false
}

fn not_supported(assertion: &Assertion, reason: &'static str) -> PolicyProblem {
    PolicyProblem::new(assertion, ProblemKind::NotSupported { reason })
}
