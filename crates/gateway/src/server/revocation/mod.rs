//! Asks responders and fetches revocation lists, in the background.
//!
//! Checks of certificates leave their questions in a cache and go on. Here they are asked, and the
//! answers brought back.
//!
//! The rule kept here: no request waits for any of it, and no host is asked that the configuration
//! does not name.

mod fetch;
mod keep;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::Uri;
use jiff::Timestamp;
use soapstone::crypto::trust::{CertificateStatus, KeptAnswer, RevocationCache, RevocationErrand};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinHandle, JoinSet};

use super::state::State;
use crate::config::revocation::RevocationConfig;
use crate::observe::metrics::GatewayMetrics;
use fetch::fetch;
pub(super) use keep::restore;

/// How often it is looked whether a check has left a question.
const LOOKING: Duration = Duration::from_millis(100);
/// So many looks later all questions are looked at: answers get old.
const LOOKS: u32 = 10;
/// Most questions that one host is asked at once.
const AT_ONCE: usize = 8;

/// The room of each host that is asked, by its name and port. A host that hangs fills its own.
#[derive(Default)]
struct Rooms(Mutex<HashMap<(String, u16), Arc<Semaphore>>>);

impl Rooms {
    /// Waits for a place. The hosts of the configuration bound the number of rooms: a room that
    /// nobody uses goes when another host is asked for the first time.
    async fn enter(&self, name: &str, port: u16) -> Option<OwnedSemaphorePermit> {
        let room = {
            // Nothing here can be left half done.
            let mut rooms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let host = (name.to_owned(), port);
            if !rooms.contains_key(&host) {
                rooms.retain(|_, room| Arc::strong_count(room) > 1);
            }
            let room = rooms.entry(host);
            Arc::clone(room.or_insert_with(|| Arc::new(Semaphore::new(AT_ONCE))))
        };
        // It is closed by nobody.
        room.acquire_owned().await.ok()
    }
}

/// What asks.
#[derive(Clone)]
struct Asker {
    config: Arc<RevocationConfig>,
    cache: Arc<RevocationCache>,
    metrics: Arc<GatewayMetrics>,
    rooms: Arc<Rooms>,
}

/// Asks for as long as the gateway runs, by the configuration in use.
pub(super) async fn run(state: &State) {
    let mut looking = tokio::time::interval(LOOKING);
    looking.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let rooms = Arc::<Rooms>::default();
    let mut asking = JoinSet::new();
    let mut looks = 0;
    let mut told = BTreeSet::new();
    loop {
        looking.tick().await;
        while asking.try_join_next().is_some() {}
        looks = (looks + 1) % LOOKS;
        let cache = &state.routes.revocation;
        if looks != 0 && !cache.has_new_questions() {
            continue;
        }
        let Some(config) = state.current.serving().revocation.clone() else {
            continue;
        };
        for kind in cache.take_refusals() {
            state.resources.metrics.count_revocation(kind, "no-room");
            if told.insert(kind) {
                tracing::warn!(kind, "there is no room for more questions about revocation");
            }
        }
        for errand in cache.due(Timestamp::now()) {
            let asker = Asker {
                config: Arc::clone(&config),
                cache: Arc::clone(cache),
                metrics: Arc::clone(&state.resources.metrics),
                rooms: Arc::clone(&rooms),
            };
            asking.spawn(asker.ask(errand));
        }
    }
}

impl Asker {
    async fn ask(self, errand: RevocationErrand) {
        // A URL that may not be asked takes no room: it fails at once.
        let url: Option<Uri> = errand.url().parse().ok();
        let host = url.as_ref().and_then(|url| self.config.allowed_host(url));
        let _permit = match host {
            Some((name, port)) => self.rooms.enter(name, port).await,
            None => None,
        };
        let (request, limit) = match &errand {
            RevocationErrand::Responder(errand) => {
                (Some(errand.request.clone()), self.config.largest_response)
            }
            RevocationErrand::List { .. } => (None, self.config.largest_list),
        };
        let answer = match fetch(&self.config, errand.url(), request, limit).await {
            Ok(answer) => answer,
            Err(error) => {
                self.cache.failed(&errand, Timestamp::now());
                self.tell_failure(&errand, error.name(), &error);
                return;
            }
        };
        // Signatures are checked and lists read where nobody else waits.
        let (asker, asked) = (self.clone(), errand.clone());
        let taking = tokio::task::spawn_blocking(move || asker.take(&asked, &answer));
        self.wait_for(taking, &errand).await;
    }

    /// Waits until an answer has been taken. After a panic the question counts as failed: it would
    /// be under way for ever otherwise.
    async fn wait_for(&self, taking: JoinHandle<()>, errand: &RevocationErrand) {
        if taking.await.is_err() {
            self.cache.failed(errand, Timestamp::now());
            self.tell_failure(errand, "internal", &"the answer was not read to its end");
        }
    }

    fn take(&self, errand: &RevocationErrand, answer: &[u8]) {
        let now = Timestamp::now();
        let taken = match errand {
            RevocationErrand::Responder(errand) => {
                let taken = self.cache.take_response(errand, answer, now);
                taken.map(|(status, kept)| (Some(status), vec![kept]))
            }
            RevocationErrand::List { url } => {
                let taken = self.cache.take_list(url, answer, now);
                taken.map(|(_, kept)| (None, kept))
            }
        };
        match taken {
            Ok((status, kept)) => {
                self.tell_success(errand, status);
                self.keep(&kept);
            }
            Err(error) => self.tell_failure(errand, error.name(), &error),
        }
    }

    fn tell_success(&self, errand: &RevocationErrand, status: Option<CertificateStatus>) {
        let outcome = status.map_or("taken", CertificateStatus::name);
        self.metrics.count_revocation(errand.kind(), outcome);
        let (url, kind) = (errand.url(), errand.kind());
        let subject = subject_of(errand);
        match status {
            Some(CertificateStatus::Revoked { since, .. }) => {
                tracing::warn!(url, kind, subject, %since, "a certificate was revoked");
            }
            Some(CertificateStatus::Unknown) => {
                tracing::warn!(
                    url,
                    kind,
                    subject,
                    "a responder does not know a certificate"
                );
            }
            _ => tracing::info!(url, kind, subject, outcome, "revocation was asked for"),
        }
    }

    fn tell_failure(
        &self,
        errand: &RevocationErrand,
        outcome: &'static str,
        error: &dyn std::fmt::Display,
    ) {
        self.metrics.count_revocation(errand.kind(), outcome);
        tracing::warn!(
            url = errand.url(),
            kind = errand.kind(),
            subject = subject_of(errand),
            reason = outcome,
            %error,
            "nothing was learnt about revocation; what was known stays, and it is asked again later"
        );
    }

    fn keep(&self, kept: &[KeptAnswer]) {
        let Some(folder) = &self.config.folder else {
            return;
        };
        for answer in kept {
            if let Err(error) = keep::write(folder, answer) {
                let folder = folder.display();
                tracing::warn!(%folder, %error, "an answer about revocation could not be kept");
            }
        }
    }
}

fn subject_of(errand: &RevocationErrand) -> Option<&str> {
    match errand {
        RevocationErrand::Responder(errand) => Some(&errand.subject),
        RevocationErrand::List { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use soapstone_testkit::keys;

    use super::*;
    use crate::config::revocation::tests::allowing;

    #[tokio::test]
    async fn a_question_whose_answer_ends_the_task_is_asked_again() {
        let cache = Arc::<RevocationCache>::default();
        let authority = keys::authority(keys::AUTHORITY);
        let url = "http://crl.example.com/ca.crl";
        cache.want_list(url, authority.certificate(), false);
        let asked = cache.due(Timestamp::now());
        let asker = Asker {
            config: Arc::new(allowing(&["crl.example.com"])),
            cache: Arc::clone(&cache),
            metrics: Arc::default(),
            rooms: Arc::default(),
        };
        let taking = tokio::task::spawn_blocking(|| panic!("a fault of a parser"));
        asker.wait_for(taking, &asked[0]).await;
        let soon = Timestamp::now().checked_add(Duration::from_secs(60));
        assert_eq!(cache.due(soon.expect("a moment")).len(), 1);
    }
}
