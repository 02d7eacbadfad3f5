//! What a check learns of revocation, and what happens when nobody answers.
//!
//! The one rule: a check reads what is known, and never waits.

use std::sync::{Arc, OnceLock};

use jiff::Timestamp;

use super::answer_error::AnswerError;
use super::error::TrustError;
use super::revocation_cache::{Known, Question, RevocationCache};
use super::revocation_rules::RevocationRules;
use super::schedule::HOLDS_AT_MOST;
use super::window::Window;
use crate::certificate::Certificate;

/// The rules of a store, and the cache that it asks once it has one.
#[derive(Debug)]
pub struct OnlineRevocation {
    rules: RevocationRules,
    allow_sha1: bool,
    /// The authorities whose lists can be fetched before any message comes.
    authorities: Vec<Certificate>,
    /// What the cache sees of the life of the store.
    alive: Arc<()>,
    cache: OnceLock<Arc<RevocationCache>>,
}

impl OnlineRevocation {
    pub(super) fn new(
        rules: RevocationRules,
        allow_sha1: bool,
        authorities: Vec<Certificate>,
    ) -> Self {
        Self {
            rules,
            allow_sha1,
            authorities,
            alive: Arc::default(),
            cache: OnceLock::new(),
        }
    }

    /// Whom it asks.
    #[must_use]
    pub fn rules(&self) -> &RevocationRules {
        &self.rules
    }

    /// Asks this cache from now on. The first one stays. Without any, no question has an answer.
    pub fn attach(&self, cache: &Arc<RevocationCache>) {
        if self.cache.set(Arc::clone(cache)).is_err() {
            return;
        }
        for url in &self.rules.list_urls {
            for authority in &self.authorities {
                let by = Arc::downgrade(&self.alive);
                cache.want_list_for(url, authority, self.allow_sha1, by);
            }
        }
    }

    /// Changes whenever an answer may change the mind of a check.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.cache.get().map_or(0, |cache| cache.generation())
    }

    /// Takes the answer about its own certificate that a server of TLS has brought.
    ///
    /// # Errors
    ///
    /// The answer does not count.
    pub(super) fn take_stapled(
        &self,
        certificate: &Certificate,
        issuer: &Certificate,
        response: &[u8],
        now: Timestamp,
    ) -> Result<(), AnswerError> {
        let question = Question {
            certificate,
            issuer,
            rules: &self.rules,
            allow_sha1: self.allow_sha1,
        };
        let cache = self.cache.get();
        cache.map_or(Ok(()), |cache| cache.take_stapled(&question, response, now))
    }

    /// What becomes of a certificate about which nobody can be asked: its issuer is not known.
    ///
    /// # Errors
    ///
    /// The rules demand an answer.
    pub(super) fn without_issuer(&self, certificate: &Certificate) -> Result<(), TrustError> {
        if !self.rules.accept_unanswered {
            return Err(TrustError::RevocationUnanswered {
                subject: certificate.subject_name().to_string(),
                why: "its issuer is not among the certificates that are configured",
            });
        }
        if let Some(cache) = self.cache.get() {
            cache.count_admitted();
        }
        Ok(())
    }

    /// What is known of a certificate of a path. `is_signer` is false for authorities, which may
    /// have nobody to be asked about. `is_answered` tells whether a given list has answered.
    ///
    /// # Errors
    ///
    /// It is revoked, or nobody answered and the rules demand an answer.
    pub(super) fn check(
        &self,
        certificate: &Certificate,
        issuer: &Certificate,
        is_signer: bool,
        is_answered: bool,
        now: Timestamp,
    ) -> Result<Window, TrustError> {
        let subject = || certificate.subject_name().to_string();
        let question = Question {
            certificate,
            issuer,
            rules: &self.rules,
            allow_sha1: self.allow_sha1,
        };
        let at_most = Window {
            from: Timestamp::MIN,
            to: now.checked_add(HOLDS_AT_MOST).unwrap_or(Timestamp::MAX),
        };
        let cache = self.cache.get();
        let known = cache.map_or(Known::Nothing, |cache| cache.ask(&question, now));
        match known {
            Known::Revoked => Err(TrustError::Revoked { subject: subject() }),
            Known::Good(window) => Ok(at_most.narrowed(window)),
            Known::NoSource if !is_signer => Ok(at_most),
            _ if is_answered => Ok(at_most),
            // Soft fail is for responders out of reach. This one has answered.
            Known::Unknown => Err(TrustError::RevocationUnanswered {
                subject: subject(),
                why: "its responder does not know it",
            }),
            Known::NoSource | Known::Nothing if self.rules.accept_unanswered => {
                if let Some(cache) = cache {
                    cache.count_admitted();
                }
                Ok(at_most)
            }
            Known::NoSource => Err(TrustError::RevocationUnanswered {
                subject: subject(),
                why: "it names nobody who could tell",
            }),
            Known::Nothing => Err(TrustError::RevocationUnanswered {
                subject: subject(),
                why: "nobody has answered yet",
            }),
        }
    }
}
