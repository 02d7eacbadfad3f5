//! What is known of revocation: verified answers of responders, and lists that were fetched.
//!
//! Checks of certificates read it and leave their questions in it. Somebody else, with sockets and
//! a clock, takes the questions that are due, asks, and brings the answers back.
//!
//! The one rule: a check never waits, and nothing enters that was not verified with the key of the
//! issuer that the check found.

mod intake;
mod kept;
mod state;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};

use jiff::Timestamp;

use super::ocsp::{self, Answer, CertificateStatus};
use super::revocation::Coverage;
use super::window::Window;
use crate::certificate::Certificate;
use crate::random;
pub use kept::KeptAnswer;
pub(super) use state::Question;
use state::{AnswerEntry, AnswerKey, CRL, ListEntry, OCSP, State};

/// Bytes of a nonce: what RFC 9654 section 2.1 recommends.
const NONCE: usize = 32;

/// What is known of revocation. One serves all stores of a process, and outlives them.
#[derive(Default)]
pub struct RevocationCache {
    state: Mutex<State>,
    /// Counts what may change the mind of a check.
    generation: AtomicU64,
    has_new_questions: AtomicBool,
    /// Certificates that were believed although nobody answered.
    admitted: AtomicU64,
}

/// A question for which nobody has an answer that is new enough.
#[derive(Clone, Debug)]
pub enum RevocationErrand {
    /// For a responder.
    Responder(ResponderErrand),
    /// A list to fetch.
    List {
        /// From where.
        url: String,
    },
}

/// A question for a responder.
#[derive(Clone, Debug)]
pub struct ResponderErrand {
    key: AnswerKey,
    nonce: Vec<u8>,
    /// The responder.
    pub url: String,
    /// The subject of the certificate that it is about.
    pub subject: String,
    /// The request in DER.
    pub request: Vec<u8>,
}

#[cfg(test)]
impl ResponderErrand {
    pub(super) fn nonce(&self) -> &[u8] {
        &self.nonce
    }
}

impl RevocationErrand {
    /// Where to ask.
    #[must_use]
    pub fn url(&self) -> &str {
        match self {
            Self::Responder(errand) => &errand.url,
            Self::List { url } => url,
        }
    }

    /// The name for metrics and logs.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Responder(_) => OCSP,
            Self::List { .. } => CRL,
        }
    }
}

/// How much is known, for operators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RevocationCounts {
    /// Certificates that responders are asked about.
    pub certificates: usize,
    /// Those of them without an answer that holds and says something.
    pub unanswered: usize,
    /// Those of them that are revoked.
    pub revoked: usize,
    /// Lists that are fetched.
    pub lists: usize,
    /// Those of them that are missing or out of date.
    pub stale_lists: usize,
    /// How often a certificate was believed although nobody answered.
    pub admitted: u64,
}

/// What is known about the certificate of a question.
#[derive(Clone, Copy)]
pub(super) enum Known {
    Revoked,
    /// It is good, for as long.
    Good(Window),
    /// The authority's responder does not know it, and nothing else tells that it is good.
    Unknown,
    /// Nobody has answered yet, or not well.
    Nothing,
    /// There is nobody to ask.
    NoSource,
}

impl RevocationCache {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing here can be left half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes whenever an answer may change the mind of a check.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    fn changed(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn count_admitted(&self) {
        self.admitted.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether a check has left a question since the last time that questions were taken.
    #[must_use]
    pub fn has_new_questions(&self) -> bool {
        self.has_new_questions.load(Ordering::Acquire)
    }

    /// What is known, without waiting. What is not known is asked for.
    pub(super) fn ask(&self, question: &Question<'_>, now: Timestamp) -> Known {
        let responders = question.rules.responders_of(question.certificate);
        let lists = question.rules.lists_of(question.certificate);
        let mut state = self.state();
        // A server may bring an answer about a certificate that names no responder.
        let is_stapled = question.rules.ocsp
            && responders.is_empty()
            && state
                .answers
                .contains_key(&AnswerKey::of(question, Vec::new()));
        if responders.is_empty() && lists.is_empty() && !is_stapled {
            return Known::NoSource;
        }
        let mut holds: Option<Window> = None;
        let mut is_revoked = false;
        let mut is_unknown = false;
        let mut is_new = false;
        if !responders.is_empty() || is_stapled {
            let (answer, added) = state.answer(question, responders, now);
            is_new |= added;
            match answer {
                Some(answer) if answer.is_revoked() => is_revoked = true,
                Some(answer) => {
                    let window = answer.window(question.rules.of_answers(), now);
                    match answer.status {
                        CertificateStatus::Good => holds = window,
                        _ => is_unknown = window.is_some(),
                    }
                }
                None => {}
            }
        }
        for url in lists {
            let noted = state.note_list(url, question.issuer, question.allow_sha1, now);
            let Some((entry, added)) = noted else {
                continue;
            };
            is_new |= added;
            let Some(list) = &entry.list else { continue };
            let coverage = list.coverage(question.certificate);
            if coverage == Coverage::Nothing {
                continue;
            }
            is_revoked |= list.revoked.contains(question.certificate.serial());
            let window = list.window_if_fetched();
            if coverage == Coverage::Everything && window.contains(now) {
                holds = Some(holds.map_or(window, |known| known.narrowed(window)));
            }
        }
        drop(state);
        if is_new {
            self.has_new_questions.store(true, Ordering::Release);
        }
        match (is_revoked, holds) {
            (true, _) => Known::Revoked,
            (false, Some(window)) => Known::Good(window),
            (false, None) if is_unknown => Known::Unknown,
            (false, None) => Known::Nothing,
        }
    }

    /// Asks for a list before any check wants it.
    pub fn want_list(&self, url: &str, issuer: &Certificate, allow_sha1: bool) {
        self.want_list_for(url, issuer, allow_sha1, Weak::new());
    }

    /// Asks for a list for as long as a store lives that names it, whether checks want it or not.
    pub(super) fn want_list_for(
        &self,
        url: &str,
        issuer: &Certificate,
        allow_sha1: bool,
        store: Weak<()>,
    ) {
        let mut state = self.state();
        // Nobody has a clock here: it counts as wanted from the first time that it is due.
        let noted = state.note_list(url.to_owned(), issuer, allow_sha1, Timestamp::MIN);
        if let Some((entry, _)) = noted {
            entry.named_by.retain(|store| store.strong_count() > 0);
            entry.named_by.push(store);
        }
        drop(state);
        self.has_new_questions.store(true, Ordering::Release);
    }

    /// The kinds of questions for which there was no room since this was last asked: as many are
    /// under way, or stand in configurations, as there are places.
    pub fn take_refusals(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.state().refused)
            .into_iter()
            .collect()
    }

    /// The questions that are due. Each is given out once, until it is answered or has failed.
    pub fn due(&self, now: Timestamp) -> Vec<RevocationErrand> {
        self.has_new_questions.store(false, Ordering::Release);
        let mut state = self.state();
        let mut errands = Vec::new();
        state.answers.retain(|_, entry| {
            let has_expired = entry.certificate.not_after() < now && !entry.schedule.is_under_way();
            !has_expired && (entry.is_revoked() || !entry.schedule.is_forgotten(now))
        });
        state.lists.retain(|_, entry| {
            if entry.is_named() || entry.schedule.wanted() == Timestamp::MIN {
                entry.schedule.want(now);
            }
            !entry.schedule.is_forgotten(now)
        });
        for (key, entry) in &mut state.answers {
            let turn = entry.schedule.failures() as usize % key.urls.len().max(1);
            let Some(url) = key.urls.get(turn) else {
                continue;
            };
            if !entry.schedule.begin(now) {
                continue;
            }
            let nonce = random::bytes::<NONCE>().to_vec();
            errands.push(RevocationErrand::Responder(ResponderErrand {
                key: key.clone(),
                url: url.clone(),
                subject: entry.certificate.subject_name().to_string(),
                request: ocsp::request(&entry.certificate, &entry.issuer, &nonce),
                nonce,
            }));
        }
        let mut urls: Vec<&str> = Vec::new();
        for (key, entry) in &mut state.lists {
            if entry.schedule.begin(now) && !urls.contains(&key.url.as_str()) {
                urls.push(&key.url);
            }
        }
        errands.extend(urls.into_iter().map(|url| RevocationErrand::List {
            url: url.to_owned(),
        }));
        errands
    }

    /// Notes that a question was not answered. It is asked again later, and ever later.
    pub fn failed(&self, errand: &RevocationErrand, now: Timestamp) {
        let mut state = self.state();
        match errand {
            RevocationErrand::Responder(errand) => {
                if let Some(entry) = state.answers.get_mut(&errand.key) {
                    entry.schedule.fail(now);
                }
            }
            RevocationErrand::List { url } => {
                for (_, entry) in state.lists.iter_mut().filter(|(key, _)| key.url == *url) {
                    entry.schedule.fail(now);
                }
            }
        }
    }

    /// What is known of a certificate of that issuer, of all that is here and for whatever rules.
    #[must_use]
    pub fn is_known_to_be_revoked(&self, certificate: &Certificate) -> bool {
        let state = self.state();
        let digest = certificate.thumbprint_sha256();
        let mut answers = state.answers.iter();
        let mut lists = state.lists.values();
        answers.any(|(key, entry)| key.certificate == digest && entry.is_revoked())
            || lists.any(|entry| {
                entry.list.as_ref().is_some_and(|list| {
                    certificate.is_signed_by(entry.issuer.public_key())
                        && list.coverage(certificate) != Coverage::Nothing
                        && list.revoked.contains(certificate.serial())
                })
            })
    }

    /// How much is known.
    #[must_use]
    pub fn counts(&self, now: Timestamp) -> RevocationCounts {
        let state = self.state();
        let asked = || state.answers.iter().filter(|(key, _)| !key.urls.is_empty());
        let unanswered = |(key, entry): &(&AnswerKey, &AnswerEntry)| {
            let answer = entry.answer.as_ref();
            let is_good = |it: &Answer| it.status == CertificateStatus::Good;
            let holds = |it: &Answer| is_good(it) && it.window(key.rules, now).is_some();
            !entry.is_revoked() && !answer.is_some_and(holds)
        };
        let lists = || state.lists.values().filter(|entry| !entry.is_of_another);
        let stale = |entry: &&ListEntry| {
            let list = entry.list.as_ref();
            !list.is_some_and(|list| list.window_if_fetched().contains(now))
        };
        RevocationCounts {
            certificates: asked().count(),
            unanswered: asked().filter(unanswered).count(),
            revoked: asked().filter(|(_, entry)| entry.is_revoked()).count(),
            lists: lists().count(),
            stale_lists: lists().filter(stale).count(),
            admitted: self.admitted.load(Ordering::Relaxed),
        }
    }
}

impl std::fmt::Debug for RevocationCache {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("RevocationCache").finish_non_exhaustive()
    }
}
