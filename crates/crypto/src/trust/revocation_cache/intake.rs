//! Answers of responders and lists that are brought here: each is judged, and then known.
//!
//! The rule kept here: what does not count changes nothing of what was known before.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use jiff::Timestamp;

use super::kept::{KeptAnswer, Restored};
use super::state::{ANSWERS_EVERY, AnswerKey, LISTS_EVERY, ListKey, Question};
use super::{ResponderErrand, RevocationCache, RevocationErrand};
use crate::certificate::Certificate;
use crate::trust::answer_error::AnswerError;
use crate::trust::ocsp::{self, CertificateStatus, Demands};
use crate::trust::revocation::{Coverage, RevocationList, RevocationListFacts};

/// Most bytes of all fetched lists together. Serial numbers take some three times as much in
/// memory as in a list.
const MOST_LIST_BYTES: usize = 128 << 20;

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

impl RevocationCache {
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
    pub(in crate::trust) fn take_stapled(
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
