//! Which certificates are believed.
//!
//! A key found in a message is never trusted because it is there. A [`TrustStore`] trusts a
//! certificate that is pinned, or that has a valid path to one of the anchors; either way the
//! certificate must be valid at the time in question, strong enough, allowed to sign, and its
//! subject must be one of those expected. The answer for a peer that comes back is remembered,
//! bounded in number and in time.

mod answer_error;
mod cache;
mod error;
mod legacy;
mod ocsp;
mod online;
mod path;
mod revocation;
mod revocation_cache;
mod revocation_rules;
mod revoked;
mod rules;
mod schedule;
mod shown;
mod store;
mod window;

use std::sync::Arc;

use jiff::Timestamp;

use crate::certificate::{Certificate, KeyPurpose};
use crate::error::CryptoError;
use crate::key::KeyKind;
use crate::name::DistinguishedName;
pub use answer_error::AnswerError;
use cache::{Cache, Entry};
pub use error::TrustError;
pub use ocsp::CertificateStatus;
pub use online::OnlineRevocation;
use revocation::RevocationList;
pub use revocation::RevocationListFacts;
pub use revocation_cache::{
    KeptAnswer, ResponderErrand, RevocationCache, RevocationCounts, RevocationErrand,
};
pub use revocation_rules::RevocationRules;
pub use rules::{SubjectMatch, TrustRules};
pub use store::TrustStore;
use window::Window;

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
        let online = rules.revocation.clone().map(|online| {
            let authorities = rules.anchors.iter().chain(&rules.intermediates);
            let authorities = authorities.filter(|it| it.is_authority());
            let allow_sha1 = rules.allow_sha1_certificates || rules.allow_legacy_certificates;
            let authorities = authorities.cloned().collect();
            Arc::new(OnlineRevocation::new(online, allow_sha1, authorities))
        });
        Ok(Self {
            online,
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

    /// What it asks about revocation, if it does: a cache is to be attached.
    #[must_use]
    pub fn online_revocation(&self) -> Option<&Arc<OnlineRevocation>> {
        self.online.as_ref()
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
        self.root_of(certificate, intermediates, now).map(drop)
    }

    /// As [`TrustStore::check`], and the SHA-256 of the certificate of the rules that vouches for
    /// this one: its own where it is pinned or an anchor, otherwise that of the anchor at the end
    /// of its path. [`TrustStore::may_know`] asks for it later.
    ///
    /// # Errors
    ///
    /// As for [`TrustStore::check`].
    pub fn root_of(
        &self,
        certificate: &Certificate,
        intermediates: &[Certificate],
        now: Timestamp,
    ) -> Result<[u8; 32], TrustError> {
        // Read before anything is looked up: what is told meanwhile is looked up the next time.
        let generation = self.online.as_ref().map_or(0, |online| online.generation());
        if let Some((window, root)) = self.cache.known(certificate, generation)
            && (window.contains(now) || self.rules.ignore_validity)
        {
            return Ok(root);
        }
        let (window, root) = self.validate(certificate, intermediates, now)?;
        self.cache.remember(Entry {
            certificate: certificate.clone(),
            window,
            root,
            generation,
        });
        Ok(root)
    }

    fn validate(
        &self,
        certificate: &Certificate,
        intermediates: &[Certificate],
        now: Timestamp,
    ) -> Result<(Window, [u8; 32]), TrustError> {
        let itself_trusted =
            self.rules.pinned.contains(certificate) || self.rules.anchors.contains(certificate);
        self.check_time(certificate, now)?;
        let mut window = Window::of(certificate);
        let mut root = certificate.thumbprint_sha256();
        let path;
        if itself_trusted {
            self.check_strength(certificate)?;
            path = self.path_of_known(certificate)?;
        } else {
            path = if self.rules.allow_legacy_certificates {
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
                if self.rules.anchors.contains(step) {
                    root = step.thumbprint_sha256();
                }
            }
        }
        if self.rules.require_key_usage
            && let Some(usage) = certificate.key_usage().filter(|usage| !usage.may_sign())
        {
            return Err(TrustError::KeyUsage {
                subject: certificate.subject_name().to_string(),
                of_authority: false,
                found: usage.names(),
            });
        }
        self.check_purpose(certificate, Position::Signer)?;
        self.check_subject(certificate)?;
        // Last of all: a certificate that is refused anyway must leave no question in the cache.
        let window = window.narrowed(self.check_revocation(&path, now)?);
        Ok((window, root))
    }

    /// Whether a certificate that was trusted before could still be, as far as its subject, its
    /// SHA-256 and its root tell: whoever keeps nothing else of it asks when the rules may have
    /// changed. The root is the one that [`TrustStore::root_of`] told.
    ///
    /// Revocation, times and paths take the certificate itself.
    #[must_use]
    pub fn may_know(
        &self,
        subject: &DistinguishedName,
        thumbprint: &[u8; 32],
        root: &[u8; 32],
    ) -> bool {
        let TrustRules {
            pinned, anchors, ..
        } = &self.rules;
        let has = |one: &Certificate, digest: &[u8; 32]| one.thumbprint_sha256() == *digest;
        let mut themselves = pinned.iter().chain(anchors);
        let vouched =
            themselves.any(|one| has(one, thumbprint)) || anchors.iter().any(|one| has(one, root));
        self.allows(subject) && vouched
    }

    fn allows(&self, subject: &DistinguishedName) -> bool {
        let accepts = |name| self.rules.subject_match.accepts(subject, name);
        self.subjects.is_empty() || self.subjects.iter().any(accepts)
    }

    fn check_subject(&self, certificate: &Certificate) -> Result<(), TrustError> {
        let subject = certificate.subject_name();
        if self.allows(subject) {
            return Ok(());
        }
        let mut named = self.subjects.iter().zip(&self.rules.subjects);
        let partly = named.find(|(name, _)| SubjectMatch::Contains.accepts(subject, name));
        Err(TrustError::SubjectNotAllowed {
            subject: subject.to_string(),
            partly: partly.map(|(_, text)| text.clone()),
            expected: listed(&self.rules.subjects),
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

/// The first of some names, and how many there are more.
fn listed(names: &[String]) -> String {
    /// As many as one line has room for.
    const SHOWN: usize = 4;
    let first = names.iter().take(SHOWN).map(|name| format!("`{name}`"));
    let first = first.collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
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
    let usage = authority.key_usage();
    if let Some(usage) = usage.filter(|usage| !usage.may_sign_certificates()) {
        return Err(TrustError::KeyUsage {
            subject: subject(),
            of_authority: true,
            found: usage.names(),
        });
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

#[cfg(test)]
mod tests;
