//! Algorithm suites (WS-SecurityPolicy 1.3, 6.1 and 7.1), and those that Apache CXF adds.
//!
//! CXF's suites with GCM keep the digests, signatures and key transport of the classic ones; only
//! the data encryption differs. The one rule: what a suite means is decided here, not where it is
//! used.

use std::sync::Arc;

use soapstone_crypto::DataEncryption;
use soapstone_wss::Suite;

use super::reading::{nested, not_supported, refuse_beside};
use crate::alternative::Assertion;
use crate::names::{CXF_SUITES, Name};
use crate::node::Place;
use crate::problem::{PolicyProblem, ProblemKind};

/// `sp:AlgorithmSuite`.
#[derive(Clone, Debug)]
pub struct AlgorithmSuite {
    suite: Suite,
    /// `sp:InclusiveC14N` or `sp:InclusiveC14N11`: signatures in another canonical form than the
    /// exclusive one.
    pub inclusive: Option<(Name, Place)>,
    /// Where it stands.
    pub place: Place,
}

impl AlgorithmSuite {
    /// The suite's name.
    pub fn name(&self) -> &str {
        &self.suite.name
    }

    /// The algorithms by the letter: `…Sha256` suites digest with SHA-256 and sign with SHA-1.
    pub fn suite(&self) -> &Suite {
        &self.suite
    }

    /// Whether both demand the same, wherever they stand.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        self.suite == other.suite && self.inclusive.is_some() == other.inclusive.is_some()
    }

    /// Whether there is another reading, in which signatures use SHA-256 too.
    pub fn has_sha256_reading(&self) -> bool {
        self.suite.name.contains("Sha256")
    }

    /// Octets of a signature key that is derived (WS-SecurityPolicy 1.3, 6.1: [Sig KD]).
    pub fn signature_key_length(&self) -> usize {
        if self.suite.name.starts_with("Basic128") {
            16
        } else {
            24
        }
    }

    pub(super) fn read(
        assertion: &Arc<Assertion>,
        problems: &mut Vec<PolicyProblem>,
    ) -> Option<Self> {
        let mut found: Option<Suite> = None;
        let mut inclusive = None;
        let before = problems.len();
        refuse_beside(assertion, problems);
        for inner in nested(assertion) {
            let name = inner.name();
            let suite = if &*name.namespace == CXF_SUITES {
                suite_in_namespace_of_cxf(&name.local)
            } else if name.security_version().is_some() && !name.local.contains("GCM") {
                Suite::named(&name.local)
            } else {
                None
            };
            if let Some(suite) = suite {
                if found.as_ref().is_some_and(|known| known.name != suite.name) {
                    problems.push(PolicyProblem::new(inner, ProblemKind::Repeated));
                }
                found = Some(suite);
                continue;
            }
            // Newer versions of CXF write it in the namespace of WS-SecurityPolicy.
            if &*name.local == "CustomAlgorithmSuite" {
                problems.push(not_supported(
                    inner,
                    "its algorithms are in the configuration of CXF, and not in the policy",
                ));
                continue;
            }
            if name.security_version().is_none() {
                problems.push(PolicyProblem::new(inner, ProblemKind::Unknown));
                continue;
            }
            match &*name.local {
                "InclusiveC14N" | "InclusiveC14N11" => {
                    inclusive = Some((name.clone(), inner.place().clone()));
                }
                // Paths are absolute here anyway, and the transform is applied wherever it must be.
                "AbsXPath" | "STRTransform10" => {}
                "SOAPNormalization10" => problems.push(not_supported(
                    inner,
                    "messages are not normalized before they are digested",
                )),
                "XPath10" | "XPathFilter20" => problems.push(not_supported(
                    inner,
                    "references of signatures name elements by id",
                )),
                _ => problems.push(PolicyProblem::new(inner, ProblemKind::Unknown)),
            }
        }
        if found.is_none() && problems.len() == before {
            problems.push(PolicyProblem::new(
                assertion,
                ProblemKind::Missing {
                    what: "the name of a suite",
                },
            ));
        }
        Some(Self {
            suite: found?,
            inclusive,
            place: assertion.place().clone(),
        })
    }
}

/// Every name that [`suite_in_namespace_of_cxf`] knows.
pub(crate) const CXF_SUITE_NAMES: [&str; 9] = [
    "Basic256GCM",
    "Basic192GCM",
    "Basic128GCM",
    "Basic256GCMRsa15",
    "Basic192GCMRsa15",
    "Basic128GCMRsa15",
    "Basic256GCMSha256Rsa15",
    "Basic192GCMSha256Rsa15",
    "Basic128GCMSha256Rsa15",
];

/// The suites in CXF's own namespace.
pub(crate) fn suite_in_namespace_of_cxf(name: &str) -> Option<Suite> {
    let (size, rest) = name.split_once("GCM")?;
    let data = match size {
        "Basic128" => DataEncryption::Aes128Gcm,
        "Basic192" => DataEncryption::Aes192Gcm,
        "Basic256" => DataEncryption::Aes256Gcm,
        _ => return None,
    };
    if !matches!(rest, "" | "Rsa15" | "Sha256Rsa15") {
        return None;
    }
    let mut suite = Suite::named(&format!("{size}{rest}"))?;
    suite.name = name.to_owned();
    suite.data = vec![data];
    Some(suite)
}
