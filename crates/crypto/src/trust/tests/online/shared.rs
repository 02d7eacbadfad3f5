//! Stores with rules of their own that share one cache.

use super::*;

impl Asked {
    /// Another store with the same cache.
    pub(super) fn beside(&self, revocation: RevocationRules) -> TrustStore {
        let rules = TrustRules {
            revocation: Some(revocation),
            ..rules(&self.authority)
        };
        let store = TrustStore::new(rules).unwrap();
        store.online_revocation().unwrap().attach(&self.cache);
        store
    }

    pub(super) fn check_by(&self, store: &TrustStore) -> Result<(), TrustError> {
        store.check(&self.certificate, &[], now())
    }

    /// The questions for responders that are due now.
    fn questions(&self) -> Vec<ResponderErrand> {
        let due = self.cache.due(now()).into_iter();
        let mut questions: Vec<ResponderErrand> = due
            .filter_map(|errand| match errand {
                RevocationErrand::Responder(errand) => Some(errand),
                RevocationErrand::List { .. } => None,
            })
            .collect();
        questions.sort_by(|a, b| a.url.cmp(&b.url));
        questions
    }
}

#[test]
fn each_store_applies_its_own_age_to_an_answer_whoever_asked_last() {
    let asked = strict();
    let careful = asked.beside(RevocationRules {
        max_age: SignedDuration::from_hours(1),
        ..RevocationRules::default()
    });
    asked.check().unwrap_err();
    let mut said = asked.good();
    said.this_update = later(-120);
    let taken = asked.take(&said.by(&asked.authority));
    assert_eq!(taken, Ok(CertificateStatus::Good));
    assert_eq!(asked.check(), Ok(()));
    assert_eq!(asked.check_by(&careful), asked.unanswered());
    assert_eq!(asked.check(), Ok(()));
    let [errand] = asked.questions().try_into().unwrap();
    let taken = asked
        .cache
        .take_response(&errand, &said.by(&asked.authority), now());
    let since = later(-60);
    assert_eq!(taken.map(drop), Err(AnswerError::Stale { since }));
    said.this_update = later(-10);
    let taken = asked
        .cache
        .take_response(&errand, &said.by(&asked.authority), now());
    assert_eq!(taken.map(|(status, _)| status), Ok(CertificateStatus::Good));
    assert_eq!(asked.check_by(&careful), Ok(()));
}

#[test]
fn a_store_that_demands_the_nonce_believes_no_answer_without_it_that_another_store_took() {
    let asked = strict();
    let careful = asked.beside(RevocationRules {
        must_repeat_nonce: true,
        ..RevocationRules::default()
    });
    asked.check().unwrap_err();
    asked.take(&asked.good().by(&asked.authority)).unwrap();
    assert_eq!(asked.check(), Ok(()));
    assert_eq!(asked.check_by(&careful), asked.unanswered());
    let [errand] = asked.questions().try_into().unwrap();
    let mut said = asked.good();
    said.nonce = Some(errand.nonce().to_vec());
    let own = said.by(&asked.authority);
    asked.cache.take_response(&errand, &own, now()).unwrap();
    assert_eq!(asked.check_by(&careful), Ok(()));
}

#[test]
fn a_kept_answer_counts_for_nothing_where_the_nonce_is_demanded_or_it_is_too_old() {
    let asked = strict();
    asked.check().unwrap_err();
    let mut said = asked.good();
    said.this_update = later(-120);
    let errand = asked.errand();
    let response = said.by(&asked.authority);
    let taken = asked.cache.take_response(&errand, &response, now());
    let (_, kept) = taken.unwrap();
    let restarted = Asked {
        cache: Arc::default(),
        ..asked
    };
    let restored = restarted.cache.restore(kept.text.as_bytes(), now());
    assert_eq!(restored, Ok(()));
    let refused = restarted.unanswered();
    let of_nonce = restarted.beside(RevocationRules {
        must_repeat_nonce: true,
        ..RevocationRules::default()
    });
    assert_eq!(restarted.check_by(&of_nonce), refused);
    let of_age = restarted.beside(RevocationRules {
        max_age: SignedDuration::from_hours(1),
        ..RevocationRules::default()
    });
    assert_eq!(restarted.check_by(&of_age), refused);
    let usual = restarted.beside(RevocationRules::default());
    assert_eq!(restarted.check_by(&usual), Ok(()));
    assert_eq!(restarted.questions().len(), 2, "both are asked at once");
}

#[test]
fn stores_with_other_responders_keep_asking_their_own() {
    const OTHER_URL: &str = "http://other.example.com/";
    let asked = strict();
    let other = asked.beside(RevocationRules {
        responder: Some(OTHER_URL.to_owned()),
        ..RevocationRules::default()
    });
    asked.check().unwrap_err();
    asked.check_by(&other).unwrap_err();
    let questions = asked.questions();
    let urls: Vec<&str> = questions.iter().map(|it| it.url.as_str()).collect();
    assert_eq!(urls, [URL, OTHER_URL]);
    let said = Said::revoked(&asked.certificate, &asked.authority, 1);
    let response = said.by(&asked.authority);
    let taken = asked.cache.take_response(&questions[1], &response, now());
    taken.unwrap();
    assert_eq!(asked.check_by(&other), asked.revoked());
    assert_eq!(asked.check(), asked.revoked(), "it is so for all");
    let response = asked.good().by(&asked.authority);
    let taken = asked.cache.take_response(&questions[0], &response, now());
    assert_eq!(taken, Err(AnswerError::RevokedBefore));
    let late = asked.beside(RevocationRules {
        responder: Some("http://late.example.com/".to_owned()),
        ..RevocationRules::default()
    });
    assert_eq!(asked.check_by(&late), asked.revoked(), "also for a new one");
}

/// After a restart an answer signed with SHA-1 is refused, and its file removed.
#[test]
fn a_store_that_allows_sha1_keeps_its_answers_beside_those_of_a_strict_one() {
    let asked = strict();
    let allowing = TrustStore::new(TrustRules {
        allow_sha1_certificates: true,
        ..asked.store.rules().clone()
    });
    let allowing = allowing.unwrap();
    allowing.online_revocation().unwrap().attach(&asked.cache);
    asked.check().unwrap_err();
    asked.check_by(&allowing).unwrap_err();
    let response = asked.good().by(&asked.authority);
    let names: Vec<String> = asked
        .questions()
        .iter()
        .map(|errand| {
            asked
                .cache
                .take_response(errand, &response, now())
                .unwrap()
                .1
                .name
        })
        .collect();
    let [first, second] = names.as_slice() else {
        panic!("expected two questions, found {}", names.len())
    };
    assert_ne!(first, second);
}
