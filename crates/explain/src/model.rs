//! What is told of a message: the names of these fields are those of the JSON output.
//!
//! The rule kept here: a field that is there is always there; what is not known is absent or empty.

use serde::Serialize;

use crate::cause::Cause;

/// Everything that was found out about a message.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Explanation {
    /// Version of SOAP; empty if the root element is no envelope.
    pub soap: &'static str,
    /// Length of the message.
    pub bytes: usize,
    /// What stands in the security headers, in order.
    pub header: Vec<ItemFound>,
    /// Certificates in the message.
    pub certificates: Vec<CertificateFound>,
    /// Cipher texts and session keys.
    pub encryption: Vec<EncryptionFound>,
    /// Signatures, in document order.
    pub signatures: Vec<SignatureFound>,
    /// What is wrong or worth knowing, in document order.
    pub findings: Vec<Finding>,
    /// How the message differs in form from a good one, where there is one.
    pub differences: Vec<String>,
    /// How what was signed arrived, where what was sent is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arrived: Vec<Arrived>,
    /// What an endpoint file says of it, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// An endpoint file that would open it, as far as the message tells.
    pub sketch: String,
    /// How many forms of signed parts were digested in the search for causes.
    pub tried: usize,
    /// Whether the search stopped at its bound.
    pub stopped: bool,
    /// The canonical bytes of what is signed, by the name of a file: only with
    /// [`Options::dump`](crate::Options::dump).
    #[serde(skip)]
    pub dumps: Vec<(String, Vec<u8>)>,
}

/// Something that was signed, as it arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Arrived {
    /// What it is.
    pub place: String,
    /// Whether the bytes that arrived are those that were sent; absent where no key opens them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same: Option<bool>,
    /// In words.
    pub says: String,
}

/// A child of `wsse:Security`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ItemFound {
    /// Its name as it is written.
    pub name: String,
    /// Line of its start tag.
    pub line: u32,
    /// Its id, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// In words.
    pub says: String,
}

/// A certificate in the message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CertificateFound {
    /// Where it stands.
    pub place: String,
    /// Its subject.
    pub subject: String,
    /// Its issuer.
    pub issuer: String,
    /// Its serial number, decimal.
    pub serial: String,
    /// First moment of its validity.
    pub not_before: String,
    /// Last moment of its validity.
    pub not_after: String,
    /// Kind and size of its key.
    pub key: String,
    /// SHA-256 of it.
    pub thumbprint: String,
}

/// One `xenc:EncryptedData` or `xenc:EncryptedKey`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EncryptionFound {
    /// `EncryptedKey` or `EncryptedData`.
    pub kind: &'static str,
    /// Line of its start tag.
    pub line: u32,
    /// The algorithm as it is announced.
    pub algorithm: String,
    /// Whether a known key opened it.
    pub opened: bool,
    /// In words.
    pub says: String,
    /// Why a known key did not open it, or opened it in another way than is announced.
    pub causes: Vec<Cause>,
}

/// How a comparison ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Both are the same.
    Matches,
    /// They differ.
    Differs,
    /// There was nothing to compare with, or no key.
    NotChecked,
}

/// A signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SignatureFound {
    /// Line of its start tag.
    pub line: u32,
    /// Its id, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The signature method.
    pub algorithm: String,
    /// The canonicalization of `ds:SignedInfo`.
    pub canonicalization: String,
    /// How the message names the key.
    pub key_reference: String,
    /// The key that it was checked with.
    pub key: String,
    /// How the signature value compares.
    pub value: State,
    /// What the block recovered from an RSA signature says, where the value differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<String>,
    /// What is signed.
    pub references: Vec<ReferenceFound>,
}

/// A reference of a signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReferenceFound {
    /// Its URI.
    pub uri: String,
    /// The element that it leads to.
    pub element: String,
    /// Its transforms with their prefix lists.
    pub transforms: Vec<String>,
    /// The digest method.
    pub algorithm: String,
    /// The digest in the message.
    pub expected: String,
    /// The digest of what the reference leads to.
    pub computed: String,
    /// How the two compare.
    pub state: State,
    /// How many bytes were digested.
    pub bytes: usize,
    /// The first of them.
    pub first: String,
    /// The last of them.
    pub last: String,
}

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// The message may be refused.
    Warning,
    /// A receiver that checks it refuses the message.
    Error,
}

/// Every [kind](Finding::kind) of finding, in the order of the guide.
pub const FINDINGS: [&str; 36] = [
    "not-secured",
    "not-soap",
    "security-missing",
    "malformed",
    "duplicate-id",
    "digest-mismatch",
    "signature-mismatch",
    "still-encrypted",
    "key-not-found",
    "key-transport",
    "data-cipher",
    "algorithm-unknown",
    "transform-not-supported",
    "str-transform",
    "reference-without-uri",
    "reference-not-found",
    "id-attribute",
    "external-reference",
    "timestamp-malformed",
    "timestamp-expired",
    "timestamp-in-future",
    "token-malformed",
    "certificate-expired",
    "certificate-not-yet-valid",
    "authentication-failed",
    "confirmation-missing",
    "confirmation-mismatch",
    "answer-to-another-request",
    "request-unreadable",
    "attachment-transform",
    "attachment-malformed",
    "xop-package",
    "xop-part-missing",
    "xop-too-large",
    "work-bound",
    "dump-incomplete",
];

/// Something wrong, or worth knowing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Stable name.
    pub kind: &'static str,
    /// How much it weighs.
    pub severity: Severity,
    /// Where.
    pub place: String,
    /// What was expected and what was found.
    pub says: String,
    /// Causes, the best one first.
    pub causes: Vec<Cause>,
}

impl Finding {
    pub(crate) fn new(
        severity: Severity,
        kind: &'static str,
        place: impl Into<String>,
        says: impl Into<String>,
    ) -> Self {
        debug_assert!(FINDINGS.contains(&kind), "{kind} is not listed");
        Self {
            kind,
            severity,
            place: place.into(),
            says: says.into(),
            causes: Vec::new(),
        }
    }

    pub(crate) fn because(mut self, causes: impl IntoIterator<Item = Cause>) -> Self {
        self.causes.extend(causes);
        self
    }
}

/// What an endpoint file says of the message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Whether it accepts it.
    pub accepted: bool,
    /// Stable name of the reason for a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// In words.
    pub says: String,
    /// What to look at first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What the file demands, met or not.
    pub demands: Vec<Demand>,
    /// The keys that were found, and who holds them.
    pub keys: Vec<KeyFound>,
    /// The certificates of signers, trusted or not.
    pub trust: Vec<Trusted>,
}

/// A key that the endpoint file's plan found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyFound {
    /// The element that uses it.
    pub element: String,
    /// Line of its start tag.
    pub line: u32,
    /// What names the key; empty where nothing does.
    pub named_by: String,
    /// Who holds it.
    pub holder: String,
}

/// A signer's certificate, judged by the endpoint file's trust.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trusted {
    /// Subject of the certificate.
    pub subject: String,
    /// Whether it is trusted.
    pub trusted: bool,
    /// Why not; empty where it is.
    pub says: String,
}

/// A demand of an endpoint file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Demand {
    /// What is demanded.
    pub demand: String,
    /// Whether the message meets it, as far as it can be told without trust.
    pub met: bool,
    /// Whether it was judged. Where something that it rests on was refused before, it is neither
    /// met nor unmet.
    pub judged: bool,
    /// What the message has, and what would meet the demand; or what was refused before.
    pub says: String,
}

impl Explanation {
    /// Whether anything was found for which the message is refused.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        let error = |finding: &Finding| finding.severity == Severity::Error;
        let refused = self
            .verdict
            .as_ref()
            .is_some_and(|verdict| !verdict.accepted);
        refused || self.findings.iter().any(error)
    }

    /// Whether anything that was signed arrived as something else.
    #[must_use]
    pub fn differs_from_sent(&self) -> bool {
        self.arrived.iter().any(|one| one.same == Some(false))
    }

    /// All causes, in the order of their findings.
    pub fn causes(&self) -> impl Iterator<Item = &Cause> {
        self.findings.iter().flat_map(|finding| &finding.causes)
    }
}
