//! The assertions of one alternative as types (WS-SecurityPolicy 1.3, 4 to 9).
//!
//! Reading takes what is well-formed; whether it can be done is for [`compile`](crate::compile())
//! to judge. The one rule: an assertion is either in the result or among the problems. Only what is
//! ignorable by its own word, and what configures another stack without saying anything about
//! messages, is in neither, and listed.

mod binding;
mod foreign;
mod issued;
mod model;
mod options;
mod parts;
mod reading;
mod suite;
mod supporting;
mod token;

use std::sync::Arc;

pub use issued::{IssuedKey, IssuedToken};
pub use model::{
    AsymmetricBinding, Binding, BindingProperties, DerivedKeyDemand, Inclusion, PasswordDemand,
    ReferenceDemand, Requirements, SupportingKind, SupportingTokens, SymmetricBinding, Token,
    TokenKind, TransportBinding,
};
pub use options::{Trust, TrustVersion, Wss};
pub use parts::{ElementsDemand, HeaderDemand, PartsDemand, PathDemand};
pub use suite::AlgorithmSuite;
pub(crate) use suite::{CXF_SUITE_NAMES, suite_in_namespace_of_cxf};
pub(crate) use token::wants_key_value;

use crate::alternative::{Alternative, Assertion};
use crate::names::{
    ADDRESSING_2004_POLICY, ADDRESSING_METADATA, ADDRESSING_METADATA_DRAFT, ADDRESSING_WSDL,
};
use crate::notice::{Notice, NoticeKind};
use crate::problem::{PolicyProblem, ProblemKind};
use reading::{nested, not_supported};

/// Where supporting tokens, parts and options belong (WS-SecurityPolicy 1.3, 3).
const BESIDE_BINDING: &str = "beside the binding, not in it";
/// Where the properties of bindings belong (WS-SecurityPolicy 1.3, 7).
const IN_BINDING: &str = "in the binding, not beside it";

/// Why a token that stands in no other assertion is not obeyed. It says what to use, and the
/// assertion around it says for what (WS-SecurityPolicy 1.3, 5, 7 and 8). No policy subject has a
/// token alone (Appendix A).
const TOKEN_ALONE: &str = "a token has its use from the assertion around it, a binding or supporting tokens, and here is none (WS-SecurityPolicy 1.3, 7 and 8)";

/// Namespaces in which policies ask for addressing headers.
const ADDRESSING: [&str; 4] = [
    ADDRESSING_METADATA,
    ADDRESSING_METADATA_DRAFT,
    ADDRESSING_WSDL,
    ADDRESSING_2004_POLICY,
];

fn is_binding(assertion: &Assertion) -> bool {
    let name = assertion.name();
    let bindings = ["TransportBinding", "SymmetricBinding", "AsymmetricBinding"];
    name.security_version().is_some() && bindings.contains(&&*name.local)
}

impl Requirements {
    /// Reads an alternative.
    ///
    /// What is not understood is added to `problems`, and missing in the result.
    pub fn read(alternative: &Alternative, problems: &mut Vec<PolicyProblem>) -> Self {
        let mut read = Self::default();
        let has_binding = alternative.assertions.iter().any(|it| is_binding(it));
        let (properties, others): (Vec<_>, Vec<_>) =
            alternative.assertions.iter().cloned().partition(|it| {
                let name = it.name();
                has_binding
                    && name.security_version().is_some()
                    && binding::is_property(&name.local)
            });
        for property in &properties {
            read.note(property, IN_BINDING);
        }
        for assertion in &others {
            read.assertion(assertion, &properties, problems);
        }
        read
    }

    /// Notes that an assertion is obeyed although it is in another place than its own.
    fn note(&mut self, assertion: &Assertion, belongs: &'static str) {
        let kind = NoticeKind::Misplaced { belongs };
        let notice = Notice::new(assertion.name(), assertion.place(), kind);
        self.notices.push(notice);
    }

    /// Notes which of several suites is used.
    fn note_suite(&mut self, suite: Option<&AlgorithmSuite>) {
        self.notices
            .extend(suite.and_then(|suite| suite.notice().cloned()));
    }

    /// `properties` are those of the binding that are beside it.
    fn assertion(
        &mut self,
        assertion: &Arc<Assertion>,
        properties: &[Arc<Assertion>],
        problems: &mut Vec<PolicyProblem>,
    ) {
        let name = assertion.name();
        let namespace = &*name.namespace;
        if ADDRESSING.contains(&namespace) {
            return self.addressing_assertion(assertion, problems);
        }
        if foreign::demands_mtom(name) && nested(assertion).is_empty() {
            let notice = Notice::new(name, assertion.place(), NoticeKind::WithoutMtom);
            return self.notices.push(notice);
        }
        if foreign::demands_http_basic(name) {
            self.http_basic = Some((name.clone(), assertion.place().clone()));
            return;
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
                let binding = Binding::read(assertion, properties, problems);
                if let Some(known) = &self.binding {
                    if known.canonical() != assertion.canonical() {
                        problems.push(PolicyProblem::new(assertion, ProblemKind::Repeated));
                    }
                } else if let Some(binding) = binding {
                    self.note_suite(binding.properties().suite.as_ref());
                    let misplaced = binding.properties().misplaced.clone();
                    self.binding = Some(binding);
                    for assertion in misplaced {
                        self.note(&assertion, BESIDE_BINDING);
                        self.assertion(&assertion, &[], problems);
                    }
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
                self.note_suite(tokens.suite.as_ref());
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
            _ if token::names_token(assertion.name()) => {
                problems.push(not_supported(assertion, TOKEN_ALONE));
                return;
            }
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
        let is_2004 = &*assertion.name().namespace == ADDRESSING_2004_POLICY;
        self.addressing_2004 = is_2004 && (self.addressing_2004 || !self.addressing);
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
