//! The questions of a cache, and what is known of each.
//!
//! The one rule: every number here is bounded, and who fills a bound takes the place of the
//! question that was wanted longest ago.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Weak};

use jiff::{SignedDuration, Timestamp};

use crate::certificate::Certificate;
use crate::trust::answer_error::AnswerError;
use crate::trust::ocsp::{Answer, CertificateStatus};
use crate::trust::revocation::RevocationList;
use crate::trust::revocation_rules::{AnswerRules, RevocationRules};
use crate::trust::schedule::Schedule;
use crate::trust::window::Window;

/// Most certificates that are asked about: as many as the store of trusted ones remembers.
const MOST_ANSWERS: usize = 1024;
/// Most addresses that lists are fetched from. An authority has one or two.
const MOST_LISTS: usize = 64;
/// Most pairs of such an address and an authority that may have signed the list there. Addresses of
/// a configuration make a pair with each of its authorities.
const MOST_PAIRS: usize = 1024;
/// How often a responder is asked again, and a list fetched, at the latest.
pub(super) const ANSWERS_EVERY: SignedDuration = SignedDuration::from_hours(1);
pub(super) const LISTS_EVERY: SignedDuration = SignedDuration::from_hours(4);

/// The kinds of questions.
pub(super) const OCSP: &str = "ocsp";
pub(super) const CRL: &str = "crl";

/// Stores with other responders or other rules ask on their own.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct AnswerKey {
    pub(super) certificate: [u8; 32],
    pub(super) issuer: [u8; 32],
    pub(super) allow_sha1: bool,
    /// Where to ask. An answer that was kept over a restart has none.
    pub(super) urls: Vec<String>,
    pub(super) rules: AnswerRules,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct ListKey {
    pub(super) url: String,
    pub(super) issuer: [u8; 32],
    pub(super) allow_sha1: bool,
}

pub(super) struct AnswerEntry {
    pub(super) certificate: Certificate,
    pub(super) issuer: Certificate,
    pub(super) answer: Option<Answer>,
    pub(super) schedule: Schedule,
}

pub(super) struct ListEntry {
    pub(super) issuer: Certificate,
    pub(super) list: Option<Arc<RevocationList>>,
    pub(super) bytes: usize,
    pub(super) schedule: Schedule,
    /// The stores whose rules name the list, each for as long as it lives.
    pub(super) named_by: Vec<Weak<()>>,
    /// Whether the address has the list of another authority.
    pub(super) is_of_another: bool,
}

impl ListEntry {
    pub(super) fn is_named(&self) -> bool {
        self.named_by.iter().any(|store| store.strong_count() > 0)
    }
}

#[derive(Default)]
pub(super) struct State {
    pub(super) answers: HashMap<AnswerKey, AnswerEntry>,
    pub(super) lists: HashMap<ListKey, ListEntry>,
    /// The kinds of questions that found no room since refusals were last taken.
    pub(super) refused: BTreeSet<&'static str>,
}

/// What a check asks about one certificate of a path.
pub(in crate::trust) struct Question<'q> {
    pub(in crate::trust) certificate: &'q Certificate,
    pub(in crate::trust) issuer: &'q Certificate,
    pub(in crate::trust) rules: &'q RevocationRules,
    pub(in crate::trust) allow_sha1: bool,
}

impl AnswerKey {
    pub(super) fn of(question: &Question<'_>, urls: Vec<String>) -> Self {
        Self {
            certificate: question.certificate.thumbprint_sha256(),
            issuer: question.issuer.thumbprint_sha256(),
            allow_sha1: question.allow_sha1,
            urls,
            rules: question.rules.of_answers(),
        }
    }

    pub(super) fn of_kept(certificate: &Certificate, issuer: &Certificate) -> Self {
        Self {
            certificate: certificate.thumbprint_sha256(),
            issuer: issuer.thumbprint_sha256(),
            allow_sha1: false,
            urls: Vec::new(),
            rules: AnswerRules::NONE,
        }
    }

    /// Whether a verified answer to the other question is one to this question, too.
    fn is_about_the_same(&self, other: &Self) -> bool {
        self.certificate == other.certificate
            && self.issuer == other.issuer
            && self.allow_sha1 == other.allow_sha1
    }
}

impl AnswerEntry {
    fn new(certificate: &Certificate, issuer: &Certificate, now: Timestamp) -> Self {
        Self {
            certificate: certificate.clone(),
            issuer: issuer.clone(),
            answer: None,
            schedule: Schedule::new(now),
        }
    }

    pub(super) fn is_revoked(&self) -> bool {
        self.answer.is_some_and(|answer| answer.is_revoked())
    }
}

impl Answer {
    /// When it holds by these rules, if it does.
    pub(super) fn window(&self, rules: AnswerRules, now: Timestamp) -> Option<Window> {
        let window = Window {
            from: Timestamp::MIN,
            to: self.holds_until(rules.max_age),
        };
        let is_fresh = self.repeats_nonce || !rules.must_repeat_nonce;
        (is_fresh && window.contains(now)).then_some(window)
    }

    /// Whether it may stand in the place of a known one.
    pub(super) fn replaces(&self, known: &Self) -> Result<(), AnswerError> {
        if known.is_final() && !self.is_final() {
            return Err(AnswerError::RevokedBefore);
        }
        // A revocation for ever counts whenever its word comes.
        if self.this_update < known.this_update && !self.is_final() {
            let known = known.this_update;
            return Err(AnswerError::Older { known });
        }
        Ok(())
    }
}

impl State {
    /// The answer to a question, which is noted; and whether it is new here.
    pub(super) fn answer(
        &mut self,
        question: &Question<'_>,
        urls: Vec<String>,
        now: Timestamp,
    ) -> (Option<Answer>, bool) {
        let key = AnswerKey::of(question, urls);
        let is_new = !self.answers.contains_key(&key);
        if is_new {
            self.make_room();
        }
        if is_new && self.answers.len() >= MOST_ANSWERS {
            self.refused.insert(OCSP);
            return (None, false);
        }
        let learnt = is_new.then(|| self.learnt(&key, now)).flatten();
        let max_age = key.rules.max_age;
        let entry = self
            .answers
            .entry(key)
            .or_insert_with(|| AnswerEntry::new(question.certificate, question.issuer, now));
        if let Some(answer) = learnt {
            entry.answer = Some(answer);
            let until = answer.holds_until(max_age);
            entry.schedule.succeed(now, Some(until), ANSWERS_EVERY);
        }
        entry.schedule.want(now);
        (entry.answer, is_new)
    }

    /// What a new question can use of the answers to others about the same certificate, and of what
    /// was kept over a restart.
    fn learnt(&self, key: &AnswerKey, now: Timestamp) -> Option<Answer> {
        let same = self
            .answers
            .iter()
            .filter(|(of, _)| of.is_about_the_same(key));
        let usable = |answer: &Answer| {
            let is_good = answer.status == CertificateStatus::Good;
            answer.is_revoked() || is_good && answer.window(key.rules, now).is_some()
        };
        same.filter_map(|(_, entry)| entry.answer)
            .filter(usable)
            .max_by_key(|answer| (answer.is_final(), answer.this_update))
    }

    /// A certificate that one responder calls revoked is revoked whomever a store asks.
    pub(super) fn tell_others(&mut self, key: &AnswerKey, answer: Answer) {
        for (of, entry) in &mut self.answers {
            if of.is_about_the_same(key)
                && entry
                    .answer
                    .is_none_or(|known| answer.replaces(&known).is_ok())
            {
                entry.answer = Some(answer);
            }
        }
    }

    /// Makes room for a question in the place of the one that was not wanted for longest. What is
    /// revoked goes last. A question that is under way stays: what waits is bounded by it.
    fn make_room(&mut self) {
        if self.answers.len() < MOST_ANSWERS {
            return;
        }
        let others = self.answers.iter();
        let others = others.filter(|(_, entry)| !entry.schedule.is_under_way());
        let oldest = others.min_by_key(|(_, entry)| (entry.is_revoked(), entry.schedule.wanted()));
        if let Some(key) = oldest.map(|(key, _)| key.clone()) {
            self.answers.remove(&key);
        }
    }

    fn has_room_for_list(&self, url: &str) -> bool {
        let urls: BTreeSet<&str> = self.lists.keys().map(|key| key.url.as_str()).collect();
        self.lists.len() < MOST_PAIRS && (urls.contains(url) || urls.len() < MOST_LISTS)
    }

    /// Makes room for the list of a URL in the place of the URL that was not wanted for longest,
    /// and that no configuration names.
    fn make_room_for_list(&mut self, url: &str) {
        if self.has_room_for_list(url) {
            return;
        }
        // When each URL was wanted; nothing for those that stay.
        let mut wanted: HashMap<&str, Option<Timestamp>> = HashMap::new();
        for (key, entry) in &self.lists {
            let stays = key.url == url || entry.is_named() || entry.schedule.is_under_way();
            let of_url = wanted.entry(&key.url).or_insert(Some(Timestamp::MIN));
            *of_url = of_url
                .filter(|_| !stays)
                .map(|wanted| wanted.max(entry.schedule.wanted()));
        }
        let may_go = wanted
            .into_iter()
            .filter_map(|(url, wanted)| Some((wanted?, url)));
        if let Some(oldest) = may_go.min().map(|(_, url)| url.to_owned()) {
            self.lists.retain(|key, _| key.url != oldest);
        }
    }

    /// An entry for an answer that was kept. Checks say later where to ask.
    pub(super) fn add_kept(
        &mut self,
        key: &AnswerKey,
        certificate: &Certificate,
        issuer: &Certificate,
        now: Timestamp,
    ) {
        if self.answers.len() < MOST_ANSWERS {
            self.answers
                .entry(key.clone())
                .or_insert_with(|| AnswerEntry::new(certificate, issuer, now));
        }
    }

    /// The list of a URL as that issuer signed it, which is noted as wanted; and whether it is new
    /// here. Nothing where there is no room for it.
    pub(super) fn note_list(
        &mut self,
        url: String,
        issuer: &Certificate,
        allow_sha1: bool,
        now: Timestamp,
    ) -> Option<(&mut ListEntry, bool)> {
        let key = ListKey {
            url,
            issuer: issuer.thumbprint_sha256(),
            allow_sha1,
        };
        let is_new = !self.lists.contains_key(&key);
        if is_new {
            self.make_room_for_list(&key.url);
        }
        if is_new && !self.has_room_for_list(&key.url) {
            self.refused.insert(CRL);
            return None;
        }
        let entry = self.lists.entry(key).or_insert_with(|| ListEntry {
            issuer: issuer.clone(),
            list: None,
            bytes: 0,
            schedule: Schedule::new(now),
            named_by: Vec::new(),
            is_of_another: false,
        });
        entry.schedule.want(now);
        Some((entry, is_new))
    }
}
