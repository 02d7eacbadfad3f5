//! Questions to responders, and what they answer (RFC 6960).
//!
//! The one rule: an answer counts only when the issuer of the certificate, or a responder that the
//! issuer authorized directly, has signed it (section 4.2.2.2). It counts for one certificate.

use jiff::{SignedDuration, Timestamp};

use super::answer_error::AnswerError;
use super::revocation::first_refused;
use super::revocation_rules::AnswerRules;
use crate::DigestAlgorithm;
use crate::certificate::{self, Certificate, KeyPurpose};
use crate::der::{self, NotDer, Reader};
use crate::digest::digest;
use crate::signature::SignedWith;

const EXPECTED: &str = "an OCSP response";

/// How far the clock of a responder may be ahead of ours.
pub(super) const SKEW: SignedDuration = SignedDuration::from_mins(5);

/// How long an answer holds that does not say when the next one comes: "newer information is
/// available all the time" (section 4.2.2.1).
const WITHOUT_NEXT_UPDATE: SignedDuration = SignedDuration::from_hours(1);

/// Most answers in one response. A responder may add others to the one that was asked for.
const MOST_ANSWERS: usize = 64;
/// Most certificates in one response.
const MOST_CERTIFICATES: usize = 8;

const BASIC: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 48, 1, 1];
const NONCE: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 48, 1, 2];
const SHA1: &[u8] = &[0x2b, 0x0e, 3, 2, 0x1a];
const SHA256: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1];
/// `certificateHold` (RFC 5280 section 5.3.1): the one reason that can end.
const CERTIFICATE_HOLD: &[u8] = &[6];

/// What a responder says of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateStatus {
    /// It is not revoked.
    Good,
    /// It was revoked.
    Revoked {
        /// When.
        since: Timestamp,
        /// Whether it may become good again.
        on_hold: bool,
    },
    /// The responder does not know it.
    Unknown,
}

impl CertificateStatus {
    /// The name for metrics and logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Revoked { .. } => "revoked",
            Self::Unknown => "unknown",
        }
    }
}

/// A verified answer, and when it holds. Each check applies its own rules to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    pub(super) status: CertificateStatus,
    pub(super) this_update: Timestamp,
    /// The end that the responder gave it.
    pub(super) next_update: Timestamp,
    /// Whether it repeats the nonce of our request.
    pub(super) repeats_nonce: bool,
}

impl Answer {
    pub(super) fn is_revoked(&self) -> bool {
        matches!(self.status, CertificateStatus::Revoked { .. })
    }

    /// Whether the certificate is revoked for ever.
    pub(super) fn is_final(&self) -> bool {
        matches!(
            self.status,
            CertificateStatus::Revoked { on_hold: false, .. }
        )
    }

    /// The end of the answer where none may be older than that.
    pub(super) fn holds_until(&self, max_age: SignedDuration) -> Timestamp {
        self.next_update.min(later(self.this_update, max_age))
    }
}

fn later(moment: Timestamp, by: SignedDuration) -> Timestamp {
    moment.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// What is asked of an answer beside its signature.
pub(super) struct Demands<'d> {
    /// The nonce of the request. An answer that comes from a file was asked with none.
    pub(super) nonce: Option<&'d [u8]>,
    pub(super) rules: AnswerRules,
    pub(super) allow_sha1: bool,
    /// Whether a certificate of that issuer is known to be revoked.
    pub(super) is_revoked: &'d dyn Fn(&Certificate) -> bool,
    pub(super) now: Timestamp,
}

/// The DER of a request about one certificate, with this nonce (RFC 6960 section 4.1, RFC 9654).
///
/// The request names the certificate by SHA-1, as RFC 5019 section 2.1.1 demands, so that every
/// responder understands it. The hash protects nothing: the answer is signed.
pub(super) fn request(certificate: &Certificate, issuer: &Certificate, nonce: &[u8]) -> Vec<u8> {
    let sequence = |parts: &[&[u8]]| der::element(der::SEQUENCE, parts);
    let single = sequence(&[&certificate_id(certificate, issuer)]);
    let nonce = der::element(der::OCTET_STRING, &[nonce]);
    let extension = sequence(&[
        &der::element(der::OID, &[NONCE]),
        &der::element(der::OCTET_STRING, &[&nonce]),
    ]);
    let extensions = der::element(der::context(2), &[&sequence(&[&extension])]);
    sequence(&[&sequence(&[&sequence(&[&single]), &extensions])])
}

/// The `CertID` of a certificate by SHA-1.
pub(super) fn certificate_id(certificate: &Certificate, issuer: &Certificate) -> Vec<u8> {
    let algorithm = [
        der::element(der::OID, &[SHA1]),
        der::element(der::NULL, &[]),
    ]
    .concat();
    let hashes = issuer_hashes(DigestAlgorithm::Sha1, issuer).unwrap_or_default();
    der::element(
        der::SEQUENCE,
        &[
            &der::element(der::SEQUENCE, &[&algorithm]),
            &der::element(der::OCTET_STRING, &[&hashes.0]),
            &der::element(der::OCTET_STRING, &[&hashes.1]),
            &der::element(der::INTEGER, &[certificate.serial()]),
        ],
    )
}

/// The hashes of an issuer's name and key (section 4.1.1).
fn issuer_hashes(algorithm: DigestAlgorithm, issuer: &Certificate) -> Option<(Vec<u8>, Vec<u8>)> {
    let hash = |bytes| Some(digest(algorithm, bytes).ok()?.as_ref().to_vec());
    Some((
        hash(issuer.subject_der())?,
        hash(issuer.public_key().key_bits())?,
    ))
}

/// The answer about `certificate` in a response.
pub(super) fn read(
    response: &[u8],
    certificate: &Certificate,
    issuer: &Certificate,
    demands: &Demands<'_>,
) -> Result<Answer, AnswerError> {
    let parts = Basic::read(response).map_err(|error| match error {
        Unread::NotDer => AnswerError::Malformed(NotDer::reading(EXPECTED)(NotDer)),
        Unread::Status(status) => AnswerError::Declined { status },
        Unread::Critical(oid) => AnswerError::CriticalExtension {
            oid: der::dotted(&oid),
        },
    })?;
    parts.verify(issuer, demands)?;
    let repeats_nonce = match (parts.nonce, demands.nonce) {
        (None, Some(_)) if demands.rules.must_repeat_nonce => {
            return Err(AnswerError::NonceMissing);
        }
        (Some(found), Some(sent)) if found != sent => return Err(AnswerError::OtherNonce),
        (found, sent) => found.is_some() && sent.is_some(),
    };
    let mut matching = parts
        .answers
        .iter()
        .filter(|answer| answer.is_about(certificate, issuer));
    let (Some(found), None) = (matching.next(), matching.next()) else {
        return Err(AnswerError::OtherCertificate);
    };
    found.judge(parts.produced_at, repeats_nonce, demands)
}

/// Why a response was not read.
enum Unread {
    NotDer,
    Status(&'static str),
    Critical(Vec<u8>),
}

impl From<NotDer> for Unread {
    fn from(_: NotDer) -> Self {
        Self::NotDer
    }
}

/// A `BasicOCSPResponse`, read and not verified.
struct Basic<'r> {
    signed: &'r [u8],
    signed_with: SignedWith,
    signature: &'r [u8],
    responder: Responder<'r>,
    produced_at: Timestamp,
    answers: Vec<Single<'r>>,
    nonce: Option<&'r [u8]>,
    certificates: Vec<Certificate>,
}

enum Responder<'r> {
    /// The DER of its name.
    Name(&'r [u8]),
    /// The SHA-1 of its key.
    Key(&'r [u8]),
}

struct Single<'r> {
    algorithm: &'r [u8],
    name_hash: &'r [u8],
    key_hash: &'r [u8],
    serial: &'r [u8],
    status: CertificateStatus,
    this_update: Timestamp,
    next_update: Option<Timestamp>,
}

/// The name of a `responseStatus` other than `successful` (section 4.2.1).
fn status_name(status: u8) -> &'static str {
    match status {
        1 => "malformedRequest",
        2 => "internalError",
        3 => "tryLater",
        5 => "sigRequired",
        6 => "unauthorized",
        _ => "a status without a name",
    }
}

/// The nonce among extensions.
fn nonce_in(extensions: Option<&[u8]>) -> Result<Option<&[u8]>, Unread> {
    let Some(extensions) = extensions else {
        return Ok(None);
    };
    let mut reader = Reader::new(extensions);
    let list = reader.expect(der::SEQUENCE)?;
    reader.end()?;
    let mut nonce = None;
    let refused = first_refused(list, |oid, value| {
        if oid == NONCE {
            nonce = Some(Reader::new(value).expect(der::OCTET_STRING)?);
            return Ok(Some(true));
        }
        Ok(None)
    })?;
    match refused {
        Some(oid) => Err(Unread::Critical(oid.to_vec())),
        None => Ok(nonce),
    }
}

impl<'r> Basic<'r> {
    fn read(response: &'r [u8]) -> Result<Self, Unread> {
        let mut outer = Reader::new(response);
        let mut fields = outer.enter(der::SEQUENCE)?;
        outer.end()?;
        match fields.expect(der::ENUMERATED)? {
            [0] => {}
            [status] => return Err(Unread::Status(status_name(*status))),
            _ => return Err(Unread::NotDer),
        }
        let mut explicit = fields.enter(der::context(0))?;
        fields.end()?;
        let mut bytes = explicit.enter(der::SEQUENCE)?;
        explicit.end()?;
        if bytes.expect(der::OID)? != BASIC {
            return Err(Unread::NotDer);
        }
        let mut basic = Reader::new(bytes.expect(der::OCTET_STRING)?);
        bytes.end()?;
        let mut parts = basic.enter(der::SEQUENCE)?;
        basic.end()?;
        let signed = parts.any()?;
        if signed.tag != der::SEQUENCE {
            return Err(Unread::NotDer);
        }
        let signed_with = SignedWith::read(parts.expect(der::SEQUENCE)?);
        let signature = parts.bit_string()?;
        let mut certificates = Vec::new();
        if let Some(given) = parts.optional(der::context(0))? {
            let mut reader = Reader::new(given);
            let mut list = reader.enter(der::SEQUENCE)?;
            reader.end()?;
            while !list.is_empty() && certificates.len() < MOST_CERTIFICATES {
                // One with a key that nobody here can use has signed nothing.
                certificates.extend(Certificate::from_der(list.any()?.whole).ok());
            }
        }
        parts.end()?;
        let mut data = Reader::new(signed.content);
        data.optional(der::context(0))?;
        let identified = data.any()?;
        let responder = match identified.tag {
            tag if tag == der::context(1) => Responder::Name(identified.content),
            tag if tag == der::context(2) => {
                Responder::Key(Reader::new(identified.content).expect(der::OCTET_STRING)?)
            }
            _ => return Err(Unread::NotDer),
        };
        let produced_at = certificate::time(&mut data)?;
        let mut list = data.enter(der::SEQUENCE)?;
        let mut answers = Vec::new();
        while !list.is_empty() {
            if answers.len() == MOST_ANSWERS {
                return Err(Unread::NotDer);
            }
            answers.push(Single::read(list.enter(der::SEQUENCE)?)?);
        }
        let nonce = nonce_in(data.optional(der::context(1))?)?;
        data.end()?;
        Ok(Self {
            signed: signed.whole,
            signed_with,
            signature,
            responder,
            produced_at,
            answers,
            nonce,
            certificates,
        })
    }

    fn is_by(&self, certificate: &Certificate) -> bool {
        match self.responder {
            Responder::Name(name) => certificate.subject_der() == name,
            Responder::Key(hash) => {
                let own = digest(DigestAlgorithm::Sha1, certificate.public_key().key_bits());
                own.is_ok_and(|own| own.as_ref() == hash)
            }
        }
    }

    /// Finds who signed the response, and whether that responder may answer for `issuer`.
    fn verify(&self, issuer: &Certificate, demands: &Demands<'_>) -> Result<(), AnswerError> {
        let weak = |with: &SignedWith| with.algorithm().is_none_or(|it| it.is_weak());
        if weak(&self.signed_with) && !demands.allow_sha1 {
            return Err(AnswerError::WeakSignature {
                algorithm: self.signed_with.name().to_owned(),
            });
        }
        let has_signed = |signer: &Certificate| {
            self.signed_with
                .verify(signer.public_key(), self.signed, self.signature)
                .is_ok()
        };
        if self.is_by(issuer) && has_signed(issuer) {
            return Ok(());
        }
        let mut candidates = self.certificates.iter().filter(|it| self.is_by(it));
        let Some(signer) = candidates.find(|it| has_signed(it)) else {
            return Err(AnswerError::BadSignature);
        };
        let refused = |why| Err(AnswerError::NotAuthorized { why });
        // The issuer must have issued the responder's certificate directly (section 4.2.2.2).
        if signer.issuer_der() != issuer.subject_der() || !signer.is_signed_by(issuer.public_key())
        {
            return refused("its certificate is not from the issuer");
        }
        let purposes = signer.extended_key_usage();
        let answers =
            purposes.is_some_and(|usage| usage.purposes.iter().any(KeyPurpose::is_ocsp_signing));
        if !answers {
            return refused("its certificate is not for OCSPSigning");
        }
        if signer.key_usage().is_some_and(|usage| !usage.may_sign()) {
            return refused("its certificate does not allow signatures");
        }
        if demands.now < signer.not_before() || signer.not_after() < demands.now {
            return refused("its certificate is not valid now");
        }
        if weak(signer.signed_with()) && !demands.allow_sha1 {
            return refused("its certificate is signed with a weak algorithm");
        }
        if !signer.needs_no_check() && (demands.is_revoked)(signer) {
            return refused("its certificate was revoked");
        }
        Ok(())
    }
}

impl<'r> Single<'r> {
    fn read(mut fields: Reader<'r>) -> Result<Self, Unread> {
        let mut id = fields.enter(der::SEQUENCE)?;
        let mut algorithm = id.enter(der::SEQUENCE)?;
        let oid = algorithm.expect(der::OID)?;
        algorithm.optional(der::NULL)?;
        algorithm.end()?;
        let name_hash = id.expect(der::OCTET_STRING)?;
        let key_hash = id.expect(der::OCTET_STRING)?;
        let serial = id.expect(der::INTEGER)?;
        id.end()?;
        let told = fields.any()?;
        let status = match told.tag {
            0x80 => CertificateStatus::Good,
            0x82 => CertificateStatus::Unknown,
            0xa1 => {
                let mut revoked = Reader::new(told.content);
                let since = certificate::time(&mut revoked)?;
                let reason = match revoked.optional(der::context(0))? {
                    Some(reason) => Some(Reader::new(reason).expect(der::ENUMERATED)?),
                    None => None,
                };
                revoked.end()?;
                CertificateStatus::Revoked {
                    since,
                    on_hold: reason == Some(CERTIFICATE_HOLD),
                }
            }
            _ => return Err(Unread::NotDer),
        };
        let this_update = certificate::time(&mut fields)?;
        let next_update = match fields.optional(der::context(0))? {
            Some(next) => Some(certificate::time(&mut Reader::new(next))?),
            None => None,
        };
        nonce_in(fields.optional(der::context(1))?)?;
        fields.end()?;
        Ok(Self {
            algorithm: oid,
            name_hash,
            key_hash,
            serial,
            status,
            this_update,
            next_update,
        })
    }

    fn is_about(&self, certificate: &Certificate, issuer: &Certificate) -> bool {
        let algorithm = match self.algorithm {
            SHA1 => DigestAlgorithm::Sha1,
            SHA256 => DigestAlgorithm::Sha256,
            _ => return false,
        };
        self.serial == certificate.serial()
            && issuer_hashes(algorithm, issuer)
                .is_some_and(|(name, key)| self.name_hash == name && self.key_hash == key)
    }

    /// Whether the answer is one of now (section 4.2.2.1).
    fn judge(
        &self,
        produced_at: Timestamp,
        repeats_nonce: bool,
        demands: &Demands<'_>,
    ) -> Result<Answer, AnswerError> {
        let from = self.this_update.max(produced_at);
        if later(demands.now, SKEW) < from {
            return Err(AnswerError::NotYet { from });
        }
        let next_update = self.next_update;
        let answer = Answer {
            status: self.status,
            this_update: self.this_update,
            next_update: next_update
                .unwrap_or_else(|| later(self.this_update, WITHOUT_NEXT_UPDATE)),
            repeats_nonce,
        };
        let since = answer.holds_until(demands.rules.max_age);
        // A certificate that was revoked stays so, however old the word of it is.
        if since < demands.now && !answer.is_final() {
            return Err(AnswerError::Stale { since });
        }
        Ok(answer)
    }
}
