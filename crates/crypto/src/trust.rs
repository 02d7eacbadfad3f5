//! Which certificates are believed.
//!
//! A key found in a message is never trusted because it is there. A [`TrustStore`] trusts a
//! certificate that is pinned, or that has a valid path to one of the anchors; either way the
//! certificate must be valid at the time in question, strong enough, allowed to sign, and its
//! subject must be one of those expected. The answer for a peer that comes back is remembered,
//! bounded in number and in time.

mod cache;
mod legacy;
mod path;
mod revocation;

use std::fmt;

use jiff::Timestamp;
use rustls_pki_types::TrustAnchor;

use crate::certificate::{Certificate, KeyPurpose};
use crate::error::CryptoError;
use crate::key::KeyKind;
use crate::name::DistinguishedName;
use cache::{Cache, Entry};
use revocation::RevocationList;

/// What a [`TrustStore`] is made from. Start from [`TrustRules::default`], which trusts nobody.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TrustRules {
    /// Authorities: a path to one of them is enough. A certificate that is one of them itself is
    /// trusted too, so that the self-signed certificate of a peer can stand here.
    pub anchors: Vec<Certificate>,
    /// Certificates that are trusted by themselves, without any path.
    pub pinned: Vec<Certificate>,
    /// More certificates to build paths from, not trusted by themselves.
    pub intermediates: Vec<Certificate>,
    /// Who may sign, such as `CN=client,O=Acme`: a subject must match one of these. Empty: anybody
    /// who is trusted.
    pub subjects: Vec<String>,
    /// When a subject matches one of `subjects`.
    pub subject_match: SubjectMatch,
    /// Purposes one of which a certificate must name as an extended key usage. Empty: none is
    /// asked for, and only a critical extension must allow the signing of messages (see
    /// [`KeyPurpose::covers_messages`]).
    pub extended_key_usage: Vec<KeyPurpose>,
    /// Revocation lists, PEM or DER. A certificate whose issuer has none among them is refused,
    /// unless this is empty.
    pub revocation_lists: Vec<Vec<u8>>,
    /// Fewest bits of an RSA or DSA key, in the certificate and everywhere on its path.
    pub min_rsa_bits: u32,
    /// Whether certificates may be signed with SHA-1.
    pub allow_sha1_certificates: bool,
    /// Whether end entities of version 1 and end entities that claim to be authorities are taken,
    /// and signatures with MD5 and DSA. Paths are then built by OpenSSL, which knows how,
    /// instead of the stricter validator.
    pub allow_legacy_certificates: bool,
    /// Whether a certificate that restricts the usage of its key, or the purposes by a critical
    /// extension, must allow signatures.
    pub require_key_usage: bool,
    /// Whether times do not matter. For examining old documents by hand.
    pub ignore_validity: bool,
}

/// When a subject is the one that is expected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SubjectMatch {
    /// It is the same name: the same attributes in the same order, or in the opposite one.
    #[default]
    Whole,
    /// It has all attributes that are named, and of their types no others: `CN=client` matches
    /// `CN=client,O=Acme`, and neither `CN=evil,CN=client` nor `CN=evil+CN=client`.
    Contains,
}

impl SubjectMatch {
    fn accepts(self, subject: &DistinguishedName, expected: &DistinguishedName) -> bool {
        match self {
            Self::Whole => subject.matches(expected),
            Self::Contains => subject.contains(expected),
        }
    }
}

impl Default for TrustRules {
    fn default() -> Self {
        Self {
            anchors: Vec::new(),
            pinned: Vec::new(),
            intermediates: Vec::new(),
            subjects: Vec::new(),
            subject_match: SubjectMatch::default(),
            extended_key_usage: Vec::new(),
            revocation_lists: Vec::new(),
            min_rsa_bits: 2048,
            allow_sha1_certificates: false,
            allow_legacy_certificates: false,
            require_key_usage: true,
            ignore_validity: false,
        }
    }
}

/// Why a certificate is not trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrustError {
    /// Not pinned, and no path to an anchor.
    Untrusted {
        /// Its subject.
        subject: String,
    },
    /// A certificate is no longer valid.
    Expired {
        /// Whose: the signer's or that of an authority on its path.
        subject: String,
        /// Last moment of validity.
        since: Timestamp,
    },
    /// A certificate is not valid yet.
    NotYetValid {
        /// Whose: the signer's or that of an authority on its path.
        subject: String,
        /// First moment of validity.
        until: Timestamp,
    },
    /// A certificate is on a revocation list.
    Revoked {
        /// Whose: the signer's or that of an authority on its path.
        subject: String,
    },
    /// Revocation lists are configured, and none of them tells about this certificate.
    RevocationUnknown {
        /// The issuer whose list is missing.
        issuer: String,
    },
    /// The revocation list that would tell is out of date, or not valid yet.
    RevocationListExpired {
        /// The issuer of the list.
        issuer: String,
        /// When the next one was due.
        since: Timestamp,
    },
    /// A key is too short.
    WeakKey {
        /// Whose: the signer's or that of an authority on its path.
        subject: String,
        /// Bits found.
        bits: u32,
        /// Fewest bits accepted.
        minimum: u32,
    },
    /// A certificate is signed with an algorithm that is not accepted.
    WeakSignature {
        /// Whose: the signer's or that of an authority on its path.
        subject: String,
        /// The algorithm's name or number.
        algorithm: String,
    },
    /// A certificate is of an old kind that is taken only when the rules say so.
    LegacyCertificate {
        /// Its subject.
        subject: String,
        /// What is old about it.
        what: &'static str,
    },
    /// The certificate restricts the usage of its key, and signatures are not among what it allows;
    /// or an authority on its path may not sign certificates.
    KeyUsage {
        /// Whose: the signer's or that of an authority on its path.
        subject: String,
    },
    /// The purposes that a certificate names do not cover the signing of messages, or are not those
    /// that are asked for.
    ExtendedKeyUsage {
        /// Whose: the signer's or that of an authority on its path.
        subject: String,
        /// The purposes that it names.
        found: Vec<KeyPurpose>,
    },
    /// The certificate is trusted, but nobody with this subject is expected.
    SubjectNotAllowed {
        /// Its subject.
        subject: String,
        /// The expected name that is a part of it, if there is one.
        partly: Option<String>,
    },
    /// There is a path to an anchor, and it breaks a constraint.
    InvalidPath {
        /// Subject of the signer's certificate.
        subject: String,
        /// The constraint.
        reason: String,
    },
}

impl TrustError {
    /// Stable name of the reason, for logs, metrics and `--json`; one for what has one remedy.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Untrusted { .. } | Self::LegacyCertificate { .. } | Self::InvalidPath { .. } => {
                "untrusted"
            }
            Self::Expired { .. } => "certificate-expired",
            Self::NotYetValid { .. } => "certificate-not-yet-valid",
            Self::Revoked { .. } => "certificate-revoked",
            Self::RevocationUnknown { .. } | Self::RevocationListExpired { .. } => {
                "revocation-unknown"
            }
            Self::WeakKey { .. } | Self::WeakSignature { .. } => "certificate-weak",
            Self::KeyUsage { .. } | Self::ExtendedKeyUsage { .. } => "key-usage",
            Self::SubjectNotAllowed { .. } => "subject-not-allowed",
        }
    }
}

impl fmt::Display for TrustError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untrusted { subject } => {
                write!(
                    formatter,
                    "the certificate of `{subject}` is neither pinned nor issued under an anchor"
                )
            }
            Self::Expired { subject, since } => {
                write!(
                    formatter,
                    "the certificate of `{subject}` expired at {since}"
                )
            }
            Self::NotYetValid { subject, until } => {
                write!(
                    formatter,
                    "the certificate of `{subject}` is not valid before {until}"
                )
            }
            Self::Revoked { subject } => {
                write!(formatter, "the certificate of `{subject}` has been revoked")
            }
            Self::RevocationUnknown { issuer } => {
                write!(
                    formatter,
                    "no revocation list of `{issuer}` is configured that tells about the certificate"
                )
            }
            Self::RevocationListExpired { issuer, since } => {
                write!(
                    formatter,
                    "the revocation list of `{issuer}` is out of date since {since}"
                )
            }
            Self::WeakKey {
                subject,
                bits,
                minimum,
            } => write!(
                formatter,
                "the key of `{subject}` has {bits} bits (fewest accepted: {minimum})"
            ),
            Self::WeakSignature { subject, algorithm } => write!(
                formatter,
                "the certificate of `{subject}` is signed with {algorithm}, which is not accepted"
            ),
            Self::LegacyCertificate { subject, what } => {
                write!(
                    formatter,
                    "the certificate of `{subject}` is {what}, which is not accepted"
                )
            }
            Self::KeyUsage { subject } => write!(
                formatter,
                "the certificate of `{subject}` does not allow its key to be used like this"
            ),
            Self::ExtendedKeyUsage { subject, found } if found.is_empty() => write!(
                formatter,
                "the certificate of `{subject}` names no extended key usage, and one is asked for"
            ),
            Self::ExtendedKeyUsage { subject, found } => {
                let found: Vec<String> = found.iter().map(ToString::to_string).collect();
                write!(
                    formatter,
                    "the certificate of `{subject}` is for other purposes (extended key usage {})",
                    found.join(", ")
                )
            }
            Self::SubjectNotAllowed { subject, partly } => {
                write!(
                    formatter,
                    "`{subject}` is trusted but not among the subjects expected"
                )?;
                match partly {
                    Some(part) => write!(formatter, " (`{part}` is only a part of it)"),
                    None => Ok(()),
                }
            }
            Self::InvalidPath { subject, reason } => {
                write!(
                    formatter,
                    "the certificate path of `{subject}` is not valid: {reason}"
                )
            }
        }
    }
}

impl std::error::Error for TrustError {}

/// Decides which certificates are trusted. Made once from [`TrustRules`], used by any number of
/// threads.
pub struct TrustStore {
    rules: TrustRules,
    /// The anchors as the strict validator wants them, in the same order; none under legacy rules,
    /// which do not ask it.
    anchors: Vec<TrustAnchor<'static>>,
    subjects: Vec<DistinguishedName>,
    revocation_lists: Vec<RevocationList>,
    cache: Cache,
}

/// What a revocation list says of itself (RFC 5280 section 5.1.2); nobody has verified it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevocationListFacts {
    /// Whose certificates it tells about, as RFC 4514 writes names.
    pub issuer: String,
    /// When it was made.
    pub this_update: Timestamp,
    /// When the next one is due, if it says so.
    pub next_update: Option<Timestamp>,
}

impl RevocationListFacts {
    /// Reads them in a list (PEM or DER).
    ///
    /// # Errors
    ///
    /// [`CryptoError::Malformed`] and [`CryptoError::Unsupported`] as in [`TrustStore::new`].
    pub fn of(list: &[u8]) -> Result<Self, CryptoError> {
        RevocationList::from_file_contents(list).map(|list| list.facts())
    }
}

/// Who may sign. A name without attributes would be everybody's.
fn expected_subject(subject: &str) -> Result<DistinguishedName, CryptoError> {
    let name = DistinguishedName::parse(subject)?;
    if name.is_empty() {
        return Err(CryptoError::Malformed {
            expected: "a distinguished name with an attribute",
            found: format!("`{subject}`"),
        });
    }
    Ok(name)
}

/// When the answer for a certificate holds.
#[derive(Clone, Copy)]
struct Window {
    from: Timestamp,
    to: Timestamp,
}

impl Window {
    fn of(certificate: &Certificate) -> Self {
        Self {
            from: certificate.not_before(),
            to: certificate.not_after(),
        }
    }

    fn narrowed(self, other: Self) -> Self {
        Self {
            from: self.from.max(other.from),
            to: self.to.min(other.to),
        }
    }

    fn contains(self, now: Timestamp) -> bool {
        self.from <= now && now <= self.to
    }
}

impl TrustStore {
    /// Prepares the rules for use.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Malformed`] and [`CryptoError::Unsupported`] for subjects, anchors and
    /// revocation lists that cannot be used.
    pub fn new(rules: TrustRules) -> Result<Self, CryptoError> {
        let anchors = if rules.allow_legacy_certificates {
            Vec::new()
        } else {
            rules
                .anchors
                .iter()
                .map(path::anchor)
                .collect::<Result<_, _>>()?
        };
        let subjects = rules
            .subjects
            .iter()
            .map(|subject| expected_subject(subject))
            .collect::<Result<_, _>>()?;
        let revocation_lists = rules
            .revocation_lists
            .iter()
            .map(|list| RevocationList::from_file_contents(list))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            rules,
            anchors,
            subjects,
            revocation_lists,
            cache: Cache::default(),
        })
    }

    /// The rules it was made from.
    #[must_use]
    pub fn rules(&self) -> &TrustRules {
        &self.rules
    }

    /// Reads a certificate, or finds the one that was read and found trusted before, with its key
    /// ready for use.
    ///
    /// # Errors
    ///
    /// As for [`Certificate::from_der`].
    pub fn read(&self, der: &[u8]) -> Result<Certificate, CryptoError> {
        match self.cache.certificate(der) {
            Some(known) => Ok(known),
            None => Certificate::from_der(der),
        }
    }

    /// Whether `certificate` may be believed to have signed a message at `now`.
    ///
    /// `intermediates` are what came with it, in any order. The answer for a certificate that was
    /// trusted before costs less than 2 µs while it and everything on its path stay valid.
    ///
    /// # Errors
    ///
    /// [`TrustError`]: the first reason found not to. Refusals are not remembered.
    pub fn check(
        &self,
        certificate: &Certificate,
        intermediates: &[Certificate],
        now: Timestamp,
    ) -> Result<(), TrustError> {
        if let Some(window) = self.cache.window(certificate)
            && (window.contains(now) || self.rules.ignore_validity)
        {
            return Ok(());
        }
        let window = self.validate(certificate, intermediates, now)?;
        self.cache.remember(Entry {
            certificate: certificate.clone(),
            window,
        });
        Ok(())
    }

    fn validate(
        &self,
        certificate: &Certificate,
        intermediates: &[Certificate],
        now: Timestamp,
    ) -> Result<Window, TrustError> {
        let itself_trusted =
            self.rules.pinned.contains(certificate) || self.rules.anchors.contains(certificate);
        self.check_time(certificate, now)?;
        let mut window = Window::of(certificate);
        if itself_trusted {
            self.check_strength(certificate)?;
        } else {
            let path = if self.rules.allow_legacy_certificates {
                self.legacy_path(certificate, intermediates, now)?
            } else {
                self.path(certificate, intermediates, now)?
            };
            for (index, step) in path.iter().enumerate() {
                self.check_strength(step)?;
                if index > 0 {
                    check_authority(&path, index)?;
                    self.check_purpose(step, Position::Authority)?;
                }
                // An anchor is trusted for its key, not for its dates (RFC 5280 section 6.1.1).
                if index + 1 < path.len() {
                    window = window.narrowed(Window::of(step));
                }
            }
            window = window.narrowed(self.check_revocation(&path, now)?);
        }
        let subject = || certificate.subject_name().to_string();
        if self.rules.require_key_usage
            && certificate
                .key_usage()
                .is_some_and(|usage| !usage.may_sign())
        {
            return Err(TrustError::KeyUsage { subject: subject() });
        }
        self.check_purpose(certificate, Position::Signer)?;
        self.check_subject(certificate)?;
        Ok(window)
    }

    fn check_subject(&self, certificate: &Certificate) -> Result<(), TrustError> {
        let subject = certificate.subject_name();
        let accepts = |name| self.rules.subject_match.accepts(subject, name);
        if self.subjects.is_empty() || self.subjects.iter().any(accepts) {
            return Ok(());
        }
        let mut named = self.subjects.iter().zip(&self.rules.subjects);
        let partly = named.find(|(name, _)| SubjectMatch::Contains.accepts(subject, name));
        Err(TrustError::SubjectNotAllowed {
            subject: subject.to_string(),
            partly: partly.map(|(_, text)| text.clone()),
        })
    }

    /// Whether the purposes that a certificate names let its key sign messages, or issue
    /// certificates for keys that do (RFC 5280 section 4.2.1.12).
    fn check_purpose(
        &self,
        certificate: &Certificate,
        position: Position,
    ) -> Result<(), TrustError> {
        let demanded = &self.rules.extended_key_usage;
        let allowed = match certificate.extended_key_usage() {
            None => demanded.is_empty() || position == Position::Authority,
            Some(usage) if demanded.is_empty() => {
                !usage.critical
                    || !self.rules.require_key_usage
                    || usage.purposes.iter().any(KeyPurpose::covers_messages)
            }
            Some(usage) => usage.purposes.iter().any(|purpose| {
                demanded.contains(purpose) || position == Position::Authority && purpose.is_any()
            }),
        };
        if allowed {
            return Ok(());
        }
        let usage = certificate.extended_key_usage();
        Err(TrustError::ExtendedKeyUsage {
            subject: certificate.subject_name().to_string(),
            found: usage.map_or_else(Vec::new, |usage| usage.purposes.clone()),
        })
    }

    fn check_time(&self, certificate: &Certificate, now: Timestamp) -> Result<(), TrustError> {
        if self.rules.ignore_validity {
            return Ok(());
        }
        let subject = || certificate.subject_name().to_string();
        if now < certificate.not_before() {
            return Err(TrustError::NotYetValid {
                subject: subject(),
                until: certificate.not_before(),
            });
        }
        if now > certificate.not_after() {
            return Err(TrustError::Expired {
                subject: subject(),
                since: certificate.not_after(),
            });
        }
        Ok(())
    }

    fn check_strength(&self, certificate: &Certificate) -> Result<(), TrustError> {
        let minimum = self.rules.min_rsa_bits;
        match certificate.public_key().kind() {
            KeyKind::Rsa { bits } | KeyKind::Dsa { bits } if bits < minimum => {
                let subject = certificate.subject_name().to_string();
                Err(TrustError::WeakKey {
                    subject,
                    bits,
                    minimum,
                })
            }
            _ => Ok(()),
        }
    }
}

/// Where on a path a certificate stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    Signer,
    Authority,
}

/// Whether the certificate at `index` of `path` may have issued the one before it, the anchor
/// included: an anchor can be the self-signed certificate of a peer, who issues nothing.
///
/// A certificate of version 3 is that of an authority only if it says so (RFC 5280 section
/// 4.2.1.9). One of version 1 cannot say so, and is taken as an anchor only.
fn check_authority(path: &[Certificate], index: usize) -> Result<(), TrustError> {
    let authority = &path[index];
    let subject = || authority.subject_name().to_string();
    let says_nothing = authority.version() < 3 && index + 1 == path.len();
    if !authority.is_authority() && !says_nothing {
        return Err(TrustError::InvalidPath {
            subject: path[0].subject_name().to_string(),
            reason: format!("`{}` is not an authority", subject()),
        });
    }
    if authority
        .key_usage()
        .is_some_and(|usage| !usage.may_sign_certificates())
    {
        return Err(TrustError::KeyUsage { subject: subject() });
    }
    let below = path[1..index]
        .iter()
        .filter(|step| step.issuer_der() != step.subject_der())
        .count();
    match authority.path_length() {
        Some(most) if below > most as usize => Err(TrustError::InvalidPath {
            subject: path[0].subject_name().to_string(),
            reason: format!("`{}` allows {most} authorities below it", subject()),
        }),
        _ => Ok(()),
    }
}

impl fmt::Debug for TrustStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("TrustStore")
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
