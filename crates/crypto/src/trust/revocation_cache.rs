//! What is known of revocation: verified answers of responders, and lists that were fetched.
//!
//! Checks of certificates read it and leave their questions in it. Somebody else, with sockets and
//! a clock, takes the questions that are due, asks, and brings the answers back.
//!
//! The one rule: a check never waits, and nothing enters that was not verified with the key of the
//! issuer that the check found.

mod kept;
mod state;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use jiff::Timestamp;

use super::answer_error::AnswerError;
use super::ocsp::{self, Answer, CertificateStatus, Demands};
use super::revocation::{Coverage, RevocationList, RevocationListFacts};
use super::window::Window;
use crate::certificate::Certificate;
use crate::random;
pub use kept::KeptAnswer;
use kept::Restored;
pub(super) use state::Question;
use state::{
    ANSWERS_EVERY, AnswerEntry, AnswerKey, CRL, LISTS_EVERY, ListEntry, ListKey, OCSP, State,
};

/// Most bytes of all fetched lists together. Serial numbers take some three times as much in
/// memory as in a list.
const MOST_LIST_BYTES: usize = 128 << 20;
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

/// From where an answer comes.
#[derive(Clone, Copy)]
enum Came<'n> {
    /// From a responder that was asked with this nonce.
    Asked { nonce: &'n [u8] },
    /// From what was kept over a restart.
    Kept,
    /// From the server that it is about.
    Stapled,
}

impl<'n> Came<'n> {
    const fn nonce(self) -> Option<&'n [u8]> {
        match self {
            Self::Asked { nonce } => Some(nonce),
            Self::Kept | Self::Stapled => None,
        }
    }

    /// Whether the responder is asked later for it. What a server brings puts nothing off: with its
    /// last good answer it could keep us from asking.
    const fn puts_off(self) -> bool {
        !matches!(self, Self::Stapled)
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

    /// Takes the response of a responder, and says what it tells. What is to be kept over a
    /// restart comes with it: see [`restore`](Self::restore).
    ///
    /// # Errors
    ///
    /// [`AnswerError`]: why it does not count. What was known before stays, and the question is
    /// asked again later.
    pub fn take_response(
        &self,
        errand: &ResponderErrand,
        response: &[u8],
        now: Timestamp,
    ) -> Result<(CertificateStatus, KeptAnswer), AnswerError> {
        let came = Came::Asked {
            nonce: &errand.nonce,
        };
        let taken = self.response(&errand.key, came, response, now);
        if taken.is_err() {
            self.failed(&RevocationErrand::Responder(errand.clone()), now);
        }
        taken
    }

    /// Takes the answer that a server of TLS has brought about its own certificate (RFC 6066
    /// section 8). The question is noted, and asked as if there were no such answer.
    ///
    /// It counts for nothing where a nonce is demanded: nobody asked for it with one.
    ///
    /// # Errors
    ///
    /// [`AnswerError`]: why the answer is none. One that is good and older than what is known is
    /// passed over.
    pub(super) fn take_stapled(
        &self,
        question: &Question<'_>,
        response: &[u8],
        now: Timestamp,
    ) -> Result<(), AnswerError> {
        if !question.rules.ocsp || question.rules.must_repeat_nonce {
            return Ok(());
        }
        let responders = question.rules.responders_of(question.certificate);
        let key = AnswerKey::of(question, responders.clone());
        let (_, is_new) = self.state().answer(question, responders, now);
        if is_new {
            self.has_new_questions.store(true, Ordering::Release);
        }
        match self.response(&key, Came::Stapled, response, now) {
            Ok(_)
            | Err(AnswerError::Older { .. } | AnswerError::RevokedBefore | AnswerError::NotAsked) => {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn response(
        &self,
        key: &AnswerKey,
        came: Came<'_>,
        response: &[u8],
        now: Timestamp,
    ) -> Result<(CertificateStatus, KeptAnswer), AnswerError> {
        let mut state = self.state();
        let entry = state.answers.get(key).ok_or(AnswerError::NotAsked)?;
        let (certificate, issuer) = (entry.certificate.clone(), entry.issuer.clone());
        let lists: Vec<Arc<RevocationList>> = state
            .lists
            .iter()
            .filter(|(of, _)| of.issuer == key.issuer)
            .filter_map(|(_, entry)| entry.list.clone())
            .collect();
        let is_revoked = |responder: &Certificate| {
            lists.iter().any(|list| {
                list.coverage(responder) != Coverage::Nothing
                    && list.revoked.contains(responder.serial())
            })
        };
        let demands = Demands {
            nonce: came.nonce(),
            rules: key.rules,
            allow_sha1: key.allow_sha1,
            is_revoked: &is_revoked,
            now,
        };
        drop(state);
        // Signatures are checked while others read.
        let answer = ocsp::read(response, &certificate, &issuer, &demands)?;
        state = self.state();
        let entry = state.answers.get_mut(key).ok_or(AnswerError::NotAsked)?;
        if let Some(known) = &entry.answer {
            answer.replaces(known)?;
        }
        let held = entry
            .answer
            .filter(|known| known.window(key.rules, now).is_some());
        let is_news = held.map(|known| known.status) != Some(answer.status);
        entry.answer = Some(answer);
        if came.puts_off() {
            let until = answer.holds_until(key.rules.max_age);
            entry.schedule.succeed(now, Some(until), ANSWERS_EVERY);
        }
        if answer.is_revoked() {
            state.tell_others(key, answer);
        }
        drop(state);
        if is_news {
            self.changed();
        }
        let kept = KeptAnswer::of_response(&certificate, &issuer, key.allow_sha1, response);
        Ok((answer.status, kept))
    }

    /// Takes a list that was fetched from that URL.
    ///
    /// # Errors
    ///
    /// [`AnswerError`]: why it does not count. What was known before stays.
    pub fn take_list(
        &self,
        url: &str,
        bytes: &[u8],
        now: Timestamp,
    ) -> Result<(RevocationListFacts, Vec<KeptAnswer>), AnswerError> {
        let list = RevocationList::from_file_contents(bytes).map_err(|error| {
            let url = url.to_owned();
            self.failed(&RevocationErrand::List { url }, now);
            AnswerError::Malformed(error)
        })?;
        let list = Arc::new(list);
        let wanted: Vec<(ListKey, Certificate)> = {
            let state = self.state();
            let of_url = state.lists.iter().filter(|(key, _)| key.url == url);
            of_url
                .map(|(key, entry)| (key.clone(), entry.issuer.clone()))
                .collect()
        };
        let mut kept = Vec::new();
        let mut of_others = Vec::new();
        let mut refused = None;
        for (key, issuer) in wanted {
            let judged = judge_list(&list, &issuer, key.allow_sha1, now);
            match judged.and_then(|()| self.put_list(&key, &list, bytes.len(), now)) {
                Ok(()) => kept.push(KeptAnswer::of_list(url, &issuer, key.allow_sha1, bytes)),
                Err(error) => {
                    if let Some(entry) = self.state().lists.get_mut(&key) {
                        match error {
                            // The list of another of the issuers that this URL is asked for.
                            AnswerError::OtherCertificate => {
                                entry.schedule.succeed(now, None, LISTS_EVERY);
                                of_others.push(key);
                            }
                            _ => entry.schedule.fail(now),
                        }
                    }
                    if refused.is_none() || refused == Some(AnswerError::OtherCertificate) {
                        refused = Some(error);
                    }
                }
            }
        }
        if kept.is_empty() {
            return Err(refused.unwrap_or(AnswerError::NotAsked));
        }
        let mut state = self.state();
        for key in &of_others {
            if let Some(entry) = state.lists.get_mut(key) {
                entry.is_of_another = entry.list.is_none();
            }
        }
        drop(state);
        self.changed();
        Ok((list.facts(), kept))
    }

    fn put_list(
        &self,
        key: &ListKey,
        list: &Arc<RevocationList>,
        bytes: usize,
        now: Timestamp,
    ) -> Result<(), AnswerError> {
        let mut state = self.state();
        let others = state.lists.iter().filter(|(of, _)| *of != key);
        let others: usize = others.map(|(_, entry)| entry.bytes).sum();
        if others.saturating_add(bytes) > MOST_LIST_BYTES {
            return Err(AnswerError::NoRoom);
        }
        let entry = state.lists.get_mut(key).ok_or(AnswerError::NotAsked)?;
        if let Some(known) = &entry.list
            && list.this_update < known.this_update
        {
            let known = known.this_update;
            return Err(AnswerError::Older { known });
        }
        entry.list = Some(Arc::clone(list));
        entry.bytes = bytes;
        entry.is_of_another = false;
        let until = list.window_if_fetched().to;
        entry.schedule.succeed(now, Some(until), LISTS_EVERY);
        Ok(())
    }

    /// Takes up what was kept before a restart. It is verified as if it came now. Answers signed
    /// with SHA-1 are not taken up: they are asked for again.
    ///
    /// # Errors
    ///
    /// [`AnswerError`]: why it does not count any more.
    pub fn restore(&self, text: &[u8], now: Timestamp) -> Result<(), AnswerError> {
        match Restored::read(text)? {
            Restored::Response {
                certificate,
                issuer,
                response,
            } => {
                let key = AnswerKey::of_kept(&certificate, &issuer);
                self.state().add_kept(&key, &certificate, &issuer, now);
                self.response(&key, Came::Kept, &response, now).map(drop)
            }
            Restored::List { url, issuer, list } => {
                self.state().note_list(url.clone(), &issuer, false, now);
                self.take_list(&url, &list, now).map(drop)
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

/// Whether a list that was fetched counts for that issuer (RFC 5280 section 6.3.3).
fn judge_list(
    list: &RevocationList,
    issuer: &Certificate,
    allow_sha1: bool,
    now: Timestamp,
) -> Result<(), AnswerError> {
    if !list.issuer_name.matches(issuer.subject_name()) {
        return Err(AnswerError::OtherCertificate);
    }
    let weak = list.signed_with.algorithm().is_none_or(|it| it.is_weak());
    if weak && !allow_sha1 {
        return Err(AnswerError::WeakSignature {
            algorithm: list.signed_with.name().to_owned(),
        });
    }
    let usage = issuer.key_usage();
    if usage.is_some_and(|usage| !usage.may_sign_revocation_lists()) {
        return Err(AnswerError::NotAuthorized {
            why: "its certificate does not allow revocation lists",
        });
    }
    if !list.is_signed_by(issuer.public_key()) {
        return Err(AnswerError::BadSignature);
    }
    let from = list.this_update;
    if now.checked_add(ocsp::SKEW).unwrap_or(Timestamp::MAX) < from {
        return Err(AnswerError::NotYet { from });
    }
    let since = list.window_if_fetched().to;
    if since < now {
        return Err(AnswerError::Stale { since });
    }
    Ok(())
}
