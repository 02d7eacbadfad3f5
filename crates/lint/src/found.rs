//! What was found in one document.
//!
//! The rule kept here: breaches that are not listed are counted.

use crate::facts::ExchangeFacts;
use crate::findings::Finding;
use crate::rule::{Area, Profiles, Severity};

/// What a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subject {
    /// A SOAP envelope.
    Envelope,
    /// A MIME package with a SOAP envelope.
    Package,
    /// A WSDL 1.1.
    Description,
    /// A policy.
    Policy,
}

impl Subject {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Envelope => "envelope",
            Self::Package => "package",
            Self::Description => "description",
            Self::Policy => "policy",
        }
    }
}

/// What was found in one document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What the document is.
    pub subject: Subject,
    /// The profiles that it was held against.
    pub profiles: Profiles,
    /// The breaches, in document order; [`MOST_FINDINGS`](crate::MOST_FINDINGS) at most.
    pub findings: Vec<Finding>,
    /// Further warnings that are counted alone.
    pub further_warnings: usize,
    /// Further errors that are counted alone.
    pub further_errors: usize,
    /// The areas of rules that the document has something of.
    pub areas: Vec<Area>,
    /// What pairing asks of it, if it is a message.
    pub exchange: Option<ExchangeFacts>,
}

impl Report {
    /// How many breaches of a severity there are, further ones included.
    pub fn count(&self, severity: Severity) -> usize {
        let further = match severity {
            Severity::Warning => self.further_warnings,
            Severity::Error => self.further_errors,
        };
        let kept = self.findings.iter();
        further
            + kept
                .filter(|finding| finding.severity() == severity)
                .count()
    }
}
