//! From a document to one agreement: which port and operation, and which of the alternatives.
//!
//! The one rule: a weaker alternative is never taken because a stronger one cannot be done.
//! Alternatives without protection count only where all alternatives are without.

use std::fmt;

use super::{CompileOptions, ExchangePolicy, compile};
use crate::alternative::Alternative;
use crate::document::PolicyDocument;
use crate::error::PolicyError;
use crate::node::Place;
use crate::problem::PolicyProblem;
use crate::requirements::wants_key_value;
use crate::wsdl::{PolicySubject, SubjectAlternative};

/// Which part of a WSDL is meant. What is not named must be the only one there is, or be the same
/// for all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// A service.
    pub service: Option<String>,
    /// A port, or a binding that no port uses.
    pub port: Option<String>,
    /// An operation.
    pub operation: Option<String>,
}

/// Why a document gives no agreement.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExchangePolicyError {
    /// A policy cannot be read.
    Policy(PolicyError),
    /// Nothing of that name is there.
    NotFound {
        /// What was meant.
        wanted: Selection,
        /// What there is.
        known: Vec<String>,
    },
    /// Several ports with different policies, and none is named.
    Ambiguous {
        /// One of them.
        first: String,
        /// Another one that demands something else.
        second: String,
    },
    /// Operations that demand different things, and whose requests look alike.
    Indistinguishable {
        /// One of them.
        first: String,
        /// Another one.
        second: String,
        /// What both requests hold.
        content: String,
    },
    /// An operation demands something else than others, and the description does not say how its
    /// messages are told from theirs.
    Unidentified {
        /// The operation.
        subject: String,
        /// What is missing.
        problem: &'static str,
    },
    /// Operations demand different things, and some of them messages in conversations that others
    /// do not have, or begin in another way.
    ConversationsDiffer {
        /// One of them.
        first: String,
        /// Another one.
        second: String,
    },
    /// Operations demand too many different things.
    TooManyAgreements {
        /// [`PolicyLimits::agreements`](crate::PolicyLimits::agreements).
        allowed: usize,
    },
    /// The policies allow nothing at all (WS-Policy 1.5, 3.3: a policy without alternatives).
    NothingAllowed {
        /// Of what.
        subject: String,
        /// Where the choice stands that has nothing to choose; `None` where policies exclude each
        /// other.
        place: Option<Place>,
    },
    /// No alternative can be done: the problems of the one that has the fewest.
    NotSupported(Vec<PolicyProblem>),
}

impl From<PolicyError> for ExchangePolicyError {
    fn from(error: PolicyError) -> Self {
        Self::Policy(error)
    }
}

impl fmt::Display for ExchangePolicyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy(error) => error.fmt(out),
            Self::NotFound { known, .. } if known.is_empty() => {
                out.write_str("expected a port or an operation, found none")
            }
            Self::NotFound { wanted, known } => write!(
                out,
                "expected one of `{}`, found none that is {wanted}",
                known.join("`, `")
            ),
            Self::Ambiguous { first, second } => write!(
                out,
                "the policies of {first} and of {second} differ: name the one that is meant"
            ),
            Self::Indistinguishable {
                first,
                second,
                content,
            } => write!(
                out,
                "the policies of {first} and of {second} differ, and nothing tells their requests apart: both hold {content}, \
                 and no action of their own; name the one that is meant"
            ),
            Self::Unidentified { subject, problem } => write!(
                out,
                "the policies of operations differ, and what the messages of {subject} hold is not known: {problem}; \
                 name the operation that is meant"
            ),
            Self::ConversationsDiffer { first, second } => write!(
                out,
                "{first} and {second} do not share their conversations: their security contexts come about in different ways, \
                 or one has none; name the one that is meant"
            ),
            Self::TooManyAgreements { allowed } => write!(
                out,
                "operations demand more than {allowed} different things (limit `agreements`)"
            ),
            Self::NothingAllowed { subject, place } => {
                write!(out, "{subject} allows no messages: it has no alternative")?;
                match place {
                    Some(place) => write!(out, " (nothing to choose from at {place})"),
                    None => Ok(()),
                }
            }
            Self::NotSupported(problems) => {
                for (place, problem) in problems.iter().enumerate() {
                    let separator = if place == 0 { "" } else { "\n" };
                    write!(out, "{separator}{problem}")?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for ExchangePolicyError {}

impl fmt::Display for Selection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("service", &self.service),
            ("port", &self.port),
            ("operation", &self.operation),
        ];
        let mut separator = "";
        for (kind, name) in parts {
            if let Some(name) = name {
                write!(out, "{separator}{kind} {name}")?;
                separator = ", ";
            }
        }
        Ok(())
    }
}

impl Selection {
    /// Whether a subject is meant, or one of those meant.
    pub fn includes(&self, subject: &PolicySubject) -> bool {
        let fits =
            |wanted: &Option<String>, found: &Option<String>| wanted.is_none() || wanted == found;
        let port = match &subject.port {
            Some(_) => &subject.port,
            None => &subject.binding,
        };
        fits(&self.service, &subject.service)
            && fits(&self.port, port)
            && fits(&self.operation, &subject.operation)
    }
}

impl PolicyDocument {
    /// The agreement for the ports and operations that are meant: they must all demand the same.
    ///
    /// # Errors
    /// An [`ExchangePolicyError`] if nothing is meant, if different things are, or if what they
    /// demand cannot be done.
    pub fn agreement(
        &self,
        selection: &Selection,
        options: &CompileOptions,
    ) -> Result<ExchangePolicy, ExchangePolicyError> {
        let meant = self.meant(selection)?;
        let (mut agreements, of) = self.distinct(&meant, options)?;
        match of.iter().position(|agreement| *agreement != 0) {
            Some(other) => Err(ExchangePolicyError::Ambiguous {
                first: meant[0].to_string(),
                second: meant[other].to_string(),
            }),
            None => Ok(agreements.swap_remove(0)),
        }
    }

    /// The ports and operations that are meant: one at least.
    pub(super) fn meant(
        &self,
        selection: &Selection,
    ) -> Result<Vec<PolicySubject>, ExchangePolicyError> {
        let mut meant = self.subjects()?;
        let mut known: Vec<String> = Vec::new();
        if !meant.iter().any(|subject| selection.includes(subject)) {
            known.extend(meant.iter().map(ToString::to_string));
            known.dedup();
            return Err(ExchangePolicyError::NotFound {
                wanted: selection.clone(),
                known,
            });
        }
        meant.retain(|subject| selection.includes(subject));
        // Bindings that no port uses, and bindings of other protocols than SOAP, matter only if
        // there is nothing else.
        if selection.port.is_none() && meant.iter().any(|subject| subject.port.is_some()) {
            meant.retain(|subject| subject.port.is_some());
        }
        if meant.iter().any(|subject| subject.soap.is_some()) {
            meant.retain(|subject| subject.soap.is_some());
        }
        Ok(meant)
    }

    /// The agreements of subjects, each once, and which of them each subject has. The first subject
    /// has the first one.
    pub(super) fn distinct(
        &self,
        subjects: &[PolicySubject],
        options: &CompileOptions,
    ) -> Result<(Vec<ExchangePolicy>, Vec<usize>), ExchangePolicyError> {
        let mut agreements = Vec::new();
        let mut of = Vec::with_capacity(subjects.len());
        for subject in subjects {
            let agreement = self.agreement_of(subject, options)?;
            let next = agreements.len();
            let known = agreements
                .iter()
                .position(|known: &ExchangePolicy| known.terms() == agreement.terms());
            let place = known.unwrap_or(next);
            if place == next {
                if next == self.limits.agreements {
                    return Err(ExchangePolicyError::TooManyAgreements { allowed: next });
                }
                agreements.push(agreement);
            }
            of.push(place);
        }
        Ok((agreements, of))
    }

    /// The agreement for one subject: the first of its alternatives that can be done.
    ///
    /// # Errors
    /// An [`ExchangePolicyError`] if a policy cannot be read, or none of the alternatives can be
    /// done.
    pub fn agreement_of(
        &self,
        subject: &PolicySubject,
        options: &CompileOptions,
    ) -> Result<ExchangePolicy, ExchangePolicyError> {
        if !self.overlooked.is_empty() {
            return Err(ExchangePolicyError::NotSupported(self.overlooked.clone()));
        }
        let alternatives = self.alternatives(subject)?;
        let strongest = alternatives.iter().map(strength).max();
        // WCF makes such a key for one message, and lets it be: it proves nobody. Where a policy
        // does without, none is demanded.
        let (with_keys, without): (Vec<_>, Vec<_>) = alternatives
            .iter()
            .partition(|one| wants_key_value(&one.request) || wants_key_value(&one.response));
        let mut best: Option<Vec<PolicyProblem>> = None;
        for alternative in without.into_iter().chain(with_keys) {
            if Some(strength(alternative)) != strongest {
                continue;
            }
            match compile(alternative, options) {
                Ok(mut agreement) => {
                    agreement.addressing |= subject.needs_addressing;
                    return Ok(agreement);
                }
                Err(problems) => {
                    let fewer = best.as_ref().is_none_or(|best| problems.len() < best.len());
                    if fewer {
                        best = Some(problems);
                    }
                }
            }
        }
        let Some(mut problems) = best else {
            return Err(ExchangePolicyError::NothingAllowed {
                subject: subject.to_string(),
                place: self.forbidding(subject),
            });
        };
        if subject.binding.is_some() || subject.port.is_some() {
            for problem in &mut problems {
                problem.subject = subject.to_string();
            }
        }
        Err(ExchangePolicyError::NotSupported(problems))
    }
}

/// How much of protection an alternative speaks of: nothing, something, a binding in one direction,
/// in both.
fn strength(alternative: &SubjectAlternative) -> u8 {
    let has_binding = |alternative: &Alternative| {
        alternative.assertions.iter().any(|assertion| {
            let name = assertion.name();
            name.security_version().is_some() && name.local.ends_with("Binding")
        })
    };
    let bindings =
        u8::from(has_binding(&alternative.request)) + u8::from(has_binding(&alternative.response));
    let something = |alternative: &Alternative| {
        alternative
            .assertions
            .iter()
            .any(|assertion| assertion.name().security_version().is_some())
    };
    match bindings {
        0 => u8::from(something(&alternative.request) || something(&alternative.response)),
        bindings => 1 + bindings,
    }
}
