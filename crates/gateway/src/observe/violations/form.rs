//! A violation record as it is written, and as it is verified.
//!
//! A record is a line: an XML element with an enveloped signature of its own (XML-DSig 6.6.4), made
//! by the means that sign elements of messages. Any XML-Signature tool verifies it, so that the
//! other party needs none of our programs. It has a number and the digest of the line before, and
//! both are signed: a record that is taken out, put elsewhere or changed does not fit its
//! neighbours.
//!
//! The rule kept here: a line is verified as a whole. It holds the signed element and nothing else.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use soapstone::crypto::{
    CryptoError, DigestAlgorithm, Identity, SignatureAlgorithm, TrustStore, base64, digest,
};
use soapstone::wss::{
    Envelope, InnerElement, InnerKeyInfo, InnerSigning, InnerVerification, Rejected, SecureError,
};
use soapstone::xml::{Buffers, Element, Limits, escape};
use soapstone_broker::{Obligation, Violation};

/// The namespace of records.
pub(crate) const NAMESPACE: &str = "urn:soapstone:violation:1";

/// The local name of a record.
const NAME: &str = "Violation";

/// What stands around a record while it is signed and verified: the engine signs elements of
/// messages.
const BEFORE: &str = "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body>";
const BEHIND: &str = "</s:Body></s:Envelope>";

/// What signatures of records are made with: the first that fits the key.
const ALGORITHMS: [SignatureAlgorithm; 5] = [
    SignatureAlgorithm::RsaSha256,
    SignatureAlgorithm::EcdsaSha256,
    SignatureAlgorithm::EcdsaSha384,
    SignatureAlgorithm::EcdsaSha512,
    SignatureAlgorithm::Ed25519,
];

const DIGEST: DigestAlgorithm = DigestAlgorithm::Sha256;

/// Where a chain of records ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The number of the last record; 0 before the first.
    pub number: u64,
    /// The digest of its line, as base64; empty before the first.
    pub digest: String,
}

impl Head {
    /// The end of a chain whose last record is that line.
    fn of(number: u64, line: &[u8]) -> Result<Self, CryptoError> {
        let digest = base64::encode(digest(DIGEST, line)?.as_ref());
        Ok(Self { number, digest })
    }

    /// The end of a chain that this line ends, without a look at its signature.
    pub(super) fn unverified(line: &[u8]) -> Result<Self, RecordError> {
        let envelope = parse(line)?;
        let record = record_in(&envelope, line)?;
        Self::of(number(record)?, line).map_err(RecordError::Crypto)
    }
}

/// Whether these bytes may be what a record leaves that was not written to its end: the beginning
/// of one, perhaps with zeros where the disk has none of it.
pub(super) fn is_beginning(bytes: &[u8]) -> bool {
    let zeros = bytes.iter().rev().take_while(|byte| **byte == 0).count();
    let written = &bytes[..bytes.len() - zeros];
    let start = format!("<v:{NAME} xmlns:v=\"{NAMESPACE}\" ");
    let start = start.as_bytes();
    written.starts_with(start) || start.starts_with(written)
}

fn element() -> InnerElement {
    InnerElement {
        namespace: NAMESPACE.to_owned(),
        local: NAME.to_owned(),
        encoded: false,
        of_answers: false,
    }
}

/// What signs records.
pub(super) fn signing(identity: Arc<Identity>) -> Option<InnerSigning> {
    let kind = identity.key().kind();
    let signature = ALGORITHMS.into_iter().find(|it| it.fits(kind))?;
    Some(InnerSigning {
        element: element(),
        identity,
        signature,
        digest: DIGEST,
        id: "Id",
        key_info: InnerKeyInfo::Certificate,
    })
}

/// The line of a violation behind `head`, without its end, and the head that it makes.
pub(super) fn write(
    signing: &InnerSigning,
    head: &Head,
    violation: &Violation,
    now: Timestamp,
) -> Result<(Vec<u8>, Head), SecureError> {
    let number = head.number.saturating_add(1);
    let mut message = BEFORE.as_bytes().to_vec();
    let start = format!(
        "<v:{NAME} xmlns:v=\"{NAMESPACE}\" Id=\"v{number}\" number=\"{number}\" previous=\"{}\">",
        head.digest
    );
    message.extend_from_slice(start.as_bytes());
    let moment = |since: Duration| {
        let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
        let moment = Timestamp::new(seconds, i32::try_from(since.subsec_nanos()).unwrap_or(0));
        moment.map_or_else(|_| String::new(), |moment| moment.to_string())
    };
    let excluded = violation.excluded.map(|time| time.as_secs().to_string());
    let (begun, ended) = violation.window;
    for (name, value) in [
        ("Time", Some(now.to_string())),
        ("Agreement", Some(violation.agreement.clone())),
        ("Service", Some(violation.service.clone())),
        ("Client", Some(violation.client.clone())),
        ("Provider", violation.provider.clone()),
        ("Backend", violation.backend.clone()),
        ("Party", Some(violation.obligation.party().to_owned())),
        ("Obligation", Some(violation.obligation.name().to_owned())),
        ("Promised", Some(violation.promised.clone())),
        ("Measured", Some(violation.measured.clone())),
        ("Calls", Some(violation.calls.to_string())),
        ("Violating", Some(violation.violating.to_string())),
        ("Begun", Some(moment(begun))),
        ("Ended", Some(moment(ended))),
        ("Penalty", violation.penalty.clone()),
        ("ExcludedSeconds", excluded),
    ] {
        let Some(value) = value else {
            continue;
        };
        message.extend_from_slice(format!("<v:{name}>").as_bytes());
        // A record is one line, whatever a file calls things.
        let value: String = value
            .chars()
            .map(|it| if it.is_control() { ' ' } else { it })
            .collect();
        escape::text(&value, &mut message);
        message.extend_from_slice(format!("</v:{name}>").as_bytes());
    }
    message.extend_from_slice(format!("</v:{NAME}>{BEHIND}").as_bytes());
    let signed = signing.sign(message, &Limits::default(), &mut Buffers::default())?;
    let line = signed
        .strip_prefix(BEFORE.as_bytes())
        .and_then(|rest| rest.strip_suffix(BEHIND.as_bytes()))
        .unwrap_or_default()
        .to_vec();
    let head = Head::of(number, &line).map_err(SecureError::Crypto)?;
    Ok((line, head))
}

/// Why records do not verify.
#[derive(Debug)]
#[non_exhaustive]
pub enum RecordError {
    /// A line is no record.
    Form(&'static str),
    /// A record has another number than the one before says.
    Number {
        /// The number that it should have.
        expected: u64,
        /// The number that it has.
        found: u64,
    },
    /// A record does not follow the line before it: one of them is another one, or was changed.
    Chain,
    /// The signature is not accepted.
    Signature(Rejected),
    /// The library cannot digest.
    Crypto(CryptoError),
}

impl fmt::Display for RecordError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form(what) => write!(out, "the line is no record: {what}"),
            Self::Number { expected, found } => {
                write!(out, "expected the record {expected}, found {found}")
            }
            Self::Chain => out.write_str(
                "the record does not follow the line before it: a line was changed, or is another one",
            ),
            Self::Signature(why) => write!(out, "the signature is not accepted: {why}"),
            Self::Crypto(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for RecordError {}

/// A record that does not verify.
#[derive(Debug)]
pub struct BrokenRecord {
    /// Its line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub error: RecordError,
}

impl fmt::Display for BrokenRecord {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}: {}", self.line, self.error)
    }
}

impl std::error::Error for BrokenRecord {}

/// A record that was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedRecord {
    /// Its number, and the digest of its line.
    pub head: Head,
    /// Subject of the certificate that signed it.
    pub signer: String,
    /// Every part, by its name, in their order.
    pub parts: Vec<(String, String)>,
}

impl VerifiedRecord {
    /// A part.
    pub fn part(&self, name: &str) -> Option<&str> {
        let mut parts = self.parts.iter();
        let (_, value) = parts.find(|(known, _)| known == name)?;
        Some(value)
    }
}

/// Verifies a whole file of records from its first one on. `trust` says whose signatures count.
/// What was cut off at the end is not seen: compare the head with what the gateway says of it.
///
/// # Errors
///
/// The first record that does not verify.
pub fn verify_records(
    bytes: &[u8],
    trust: TrustStore,
) -> Result<(Vec<VerifiedRecord>, Head), BrokenRecord> {
    let verification = InnerVerification {
        element: element(),
        trust,
        signature: ALGORITHMS.to_vec(),
        digest: vec![DIGEST],
        retirements: Vec::new(),
    };
    let mut head = Head::default();
    let mut records = Vec::new();
    let whole = bytes.strip_suffix(b"\n");
    if whole.is_none() && !bytes.is_empty() {
        let line = bytes.split(|byte| *byte == b'\n').count();
        let error = RecordError::Form("it does not end");
        return Err(BrokenRecord { line, error });
    }
    let lines = whole
        .into_iter()
        .flat_map(|it| it.split(|byte| *byte == b'\n'));
    for (index, line) in lines.enumerate() {
        let verified = verify(line, &head, &verification);
        let record = verified.map_err(|error| BrokenRecord {
            line: index + 1,
            error,
        })?;
        head.clone_from(&record.head);
        records.push(record);
    }
    Ok((records, head))
}

fn parse(line: &[u8]) -> Result<Envelope, RecordError> {
    // Signatures of canonical form cover neither. We write none.
    let holds = |part: &[u8]| line.windows(2).any(|two| two == part);
    if holds(b"<!") || holds(b"<?") {
        return Err(RecordError::Form("it has comments or instructions"));
    }
    let message = [BEFORE.as_bytes(), line, BEHIND.as_bytes()].concat();
    let parsed = Envelope::parse(message, &Limits::default(), &mut Buffers::default());
    parsed.map_err(|_| RecordError::Form("it is not XML"))
}

/// The one element of a line, which is all of it.
fn record_in<'e>(envelope: &'e Envelope, line: &[u8]) -> Result<Element<'e>, RecordError> {
    let record = envelope
        .body()
        .children()
        .next()
        .filter(|record| record.is(NAMESPACE, NAME))
        .ok_or(RecordError::Form("expected a violation"))?;
    let range = record.range();
    let (start, end) = (range.start as usize, range.end as usize);
    if (start, end) != (BEFORE.len(), BEFORE.len() + line.len()) {
        return Err(RecordError::Form("something stands beside the record"));
    }
    Ok(record)
}

fn number(record: Element<'_>) -> Result<u64, RecordError> {
    let number = record.attribute("", "number");
    let number = number.and_then(|number| number.parse().ok());
    number.ok_or(RecordError::Form("it has no number"))
}

fn verify(
    line: &[u8],
    head: &Head,
    verification: &InnerVerification,
) -> Result<VerifiedRecord, RecordError> {
    let envelope = parse(line)?;
    let record = record_in(&envelope, line)?;
    let (expected, found) = (head.number.saturating_add(1), number(record)?);
    let parts = record
        .children()
        .filter(|part| part.namespace() == NAMESPACE);
    let parts = parts.map(|part| Some((part.local().to_owned(), part.text_strict()?.into_owned())));
    let parts: Option<Vec<(String, String)>> = parts.collect();
    let verified = VerifiedRecord {
        head: Head::of(found, line).map_err(RecordError::Crypto)?,
        signer: String::new(),
        parts: parts.ok_or(RecordError::Form("a part of it is no text"))?,
    };
    // Judged by the time that it was made at: the certificate may have expired since.
    let time = verified.part("Time").and_then(|time| time.parse().ok());
    let time = time.ok_or(RecordError::Form("it has no time"))?;
    let evidence = verification
        .verify(&envelope, time)
        .map_err(RecordError::Signature)?;
    if expected != found {
        return Err(RecordError::Number { expected, found });
    }
    if record.attribute("", "previous").as_deref() != Some(head.digest.as_str()) {
        return Err(RecordError::Chain);
    }
    let known = |name: &str| Obligation::ALL.iter().any(|one| one.name() == name);
    if !verified.part("Obligation").is_some_and(known) {
        return Err(RecordError::Form("its obligation is not known"));
    }
    let signer = evidence
        .map(|evidence| evidence.subject)
        .unwrap_or_default();
    Ok(VerifiedRecord { signer, ..verified })
}
