//! Algorithm suites (WS-SecurityPolicy 1.3, 6.1 and 7.1), and those that Apache CXF adds.
//!
//! CXF's suites with GCM keep the digests, signatures and key transport of the classic ones; only
//! the data encryption differs. The one rule: what a suite means is decided here, not where it is
//! used.

use std::sync::Arc;

use soapstone_crypto::{DataEncryption, DigestAlgorithm, SignatureAlgorithm};
use soapstone_wss::{KeyTransportMethod, Suite};

use super::reading::{nested, not_supported, refuse_beside};
use crate::alternative::Assertion;
use crate::names::{CXF_SUITES, Name};
use crate::node::Place;
use crate::notice::{Notice, NoticeKind};
use crate::problem::{PolicyProblem, ProblemKind};

/// `sp:AlgorithmSuite`.
#[derive(Clone, Debug)]
pub struct AlgorithmSuite {
    suite: Suite,
    /// `sp:InclusiveC14N` or `sp:InclusiveC14N11`: signatures in another canonical form than the
    /// exclusive one.
    pub inclusive: Option<(Name, Place)>,
    /// The assertion and its place where the algorithms are not in the policy: CXF has them in its
    /// configuration.
    pub(crate) custom: Option<(Name, Place)>,
    /// Which suite of several it is.
    notice: Option<Notice>,
    /// Where it stands.
    pub place: Place,
}

impl AlgorithmSuite {
    /// Which suite is used, where several are listed.
    pub(crate) fn notice(&self) -> Option<&Notice> {
        self.notice.as_ref()
    }

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

    /// Bytes of a signature key that is derived (WS-SecurityPolicy 1.3, 6.1: [Sig KD]).
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
        let mut others = Vec::new();
        let mut unknown = Vec::new();
        let mut custom = None;
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
                match &found {
                    None => found = Some(suite),
                    Some(known) if known.name == suite.name => {}
                    // All of them together (WS-Policy 1.5, 4.3.1) no message can have: its author
                    // means that any of them will do.
                    Some(_) => others.push(suite.name),
                }
                continue;
            }
            // Newer versions of CXF write it in the namespace of WS-SecurityPolicy.
            if &*name.local == CUSTOM {
                custom = Some((name.clone(), inner.place().clone()));
                continue;
            }
            if names_suite(name) {
                unknown.push(PolicyProblem::new(inner, ProblemKind::Unknown));
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
        // What is listed beside a suite that has a name is not needed.
        let custom = match (custom, &found) {
            (Some(_), Some(_)) => {
                others.push(CUSTOM.to_owned());
                None
            }
            (Some(custom), None) => {
                found = Some(Suite::without_algorithms(CUSTOM));
                Some(custom)
            }
            (None, _) => None,
        };
        // Of several suites one that is known does; alone, one that is not is a problem.
        match found {
            Some(_) => others.extend(unknown.iter().map(|it| it.assertion.local.to_string())),
            None => problems.append(&mut unknown),
        }
        if found.is_none() && problems.len() == before {
            problems.push(PolicyProblem::new(
                assertion,
                ProblemKind::Missing {
                    what: "the name of a suite",
                },
            ));
        }
        let suite = found?;
        let notice = (!others.is_empty()).then(|| {
            let chosen = suite.name.clone();
            let kind = NoticeKind::SuiteChosen { chosen, others };
            Notice::new(assertion.name(), assertion.place(), kind)
        });
        Some(Self {
            suite,
            inclusive,
            custom,
            notice,
            place: assertion.place().clone(),
        })
    }
}

/// CXF's word for a suite whose algorithms are in its configuration.
const CUSTOM: &str = "CustomAlgorithmSuite";

/// Whether a name is that of a suite, be it one that is not known: all of them begin with the
/// cipher of their data.
fn names_suite(name: &Name) -> bool {
    let language = name.security_version().is_some() || &*name.namespace == CXF_SUITES;
    language && (name.local.starts_with("Basic") || name.local.starts_with("TripleDes"))
}

/// The names in CXF's namespace that policies are written with: those that every CXF knows.
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

/// The suites that CXF's own tests add, and descriptions made from those: OAEP of XML-Enc 1.1 with
/// SHA-256 in its mask, and RSA with SHA-512.
fn suite_of_cxf_tests(name: &str) -> Option<Suite> {
    let mut suite = match name {
        "Basic256GCMMGFSHA256" => Suite::named("Basic256")?,
        "Basic256GCMMGFSHA256Digest" => Suite::named("Basic256Sha256")?,
        "Basic128RsaSha512" => Suite {
            signature: vec![SignatureAlgorithm::RsaSha512],
            digest: vec![DigestAlgorithm::Sha512],
            ..Suite::named("Basic128")?
        },
        _ => return None,
    };
    if name.starts_with("Basic256GCM") {
        suite.data = vec![DataEncryption::Aes256Gcm];
        let digest = suite.digest.clone();
        suite.key_transport = digest
            .into_iter()
            .map(|digest| KeyTransportMethod {
                digest,
                ..KeyTransportMethod::OAEP_SHA256
            })
            .collect();
    }
    suite.name = name.to_owned();
    Some(suite)
}

/// The suites in CXF's own namespace.
pub(crate) fn suite_in_namespace_of_cxf(name: &str) -> Option<Suite> {
    if let Some(suite) = suite_of_cxf_tests(name) {
        return Some(suite);
    }
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
