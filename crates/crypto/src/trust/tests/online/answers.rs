//! What becomes of answers that say little, or come in the wrong order.

use super::*;

fn unknown_by(asked: &Asked) -> Vec<u8> {
    let mut said = asked.good();
    said.status = UNKNOWN.to_vec();
    said.by(&asked.authority)
}

/// RFC 6960 section 2.2: the responder does not know of a certificate that the authority issued.
#[test]
fn a_certificate_that_its_responder_does_not_know_is_refused_even_with_soft_fail() {
    for asked in [strict(), soft()] {
        // Soft fail believes until then.
        asked.check().ok();
        let taken = asked.take(&unknown_by(&asked));
        assert_eq!(taken, Ok(CertificateStatus::Unknown));
        assert_eq!(
            asked.check(),
            Err(TrustError::RevocationUnanswered {
                subject: leaf_name(),
                why: "its responder does not know it",
            })
        );
    }
}

#[test]
fn a_certificate_that_its_responder_does_not_know_is_believed_if_a_list_knows_it() {
    let asked = soft();
    asked.check().unwrap();
    asked.take(&unknown_by(&asked)).unwrap();
    let with_list = asked.beside(RevocationRules {
        list_urls: vec![LIST_URL.to_owned()],
        accept_unanswered: true,
        ..RevocationRules::default()
    });
    let validity = Validity {
        not_before: later(-1),
        not_after: later(60),
    };
    let list = issue::revocation_list(&asked.authority, [], validity).unwrap();
    asked.cache.take_list(LIST_URL, &list, now()).unwrap();
    assert_eq!(asked.check_by(&with_list), Ok(()));
    let given = TrustStore::new(TrustRules {
        revocation_lists: vec![list],
        ..asked.store.rules().clone()
    });
    let given = given.unwrap();
    given.online_revocation().unwrap().attach(&asked.cache);
    assert_eq!(asked.check_by(&given), Ok(()));
}

/// A responder behind a cache may send the word of a revocation after a newer answer.
#[test]
fn a_revocation_for_ever_counts_though_a_newer_answer_was_good() {
    let asked = strict();
    asked.check().unwrap_err();
    asked.take(&asked.good().by(&asked.authority)).unwrap();
    assert_eq!(asked.check(), Ok(()));
    let mut said = Said::revoked(&asked.certificate, &asked.authority, 1);
    said.this_update = later(-30);
    let taken = asked.take(&said.by(&asked.authority));
    assert_eq!(taken.unwrap().name(), "revoked");
    assert_eq!(asked.check(), asked.revoked());
}

/// RFC 5280 section 5.1.2.5: authorities must say when the next list comes.
#[test]
fn a_fetched_list_without_a_next_update_counts_for_a_day_at_most() {
    let authority = authority();
    let certificate = leaf(&authority);
    let rules = RevocationRules {
        list_urls: vec![LIST_URL.to_owned()],
        ..RevocationRules::default()
    };
    let asked = Asked::of(authority, certificate, rules);
    let list = |this_update| {
        let algorithm = issue::usual_algorithm(asked.authority.key().kind()).unwrap();
        let body = sequence(&[
            &der::positive(&[1]),
            &issue::x509_identifier(algorithm).unwrap(),
            asked.authority.certificate().subject_der(),
            &time(this_update),
        ]);
        signed(asked.authority.key(), algorithm, &body).unwrap()
    };
    let day = 24 * 60;
    let taken = asked
        .cache
        .take_list(LIST_URL, &list(later(-day - 1)), now());
    let since = later(-1);
    assert_eq!(taken.map(drop), Err(AnswerError::Stale { since }));
    let taken = asked.cache.take_list(LIST_URL, &list(now()), now());
    assert_eq!(taken.map(drop), Ok(()));
    let at = |minute| asked.store.check(&asked.certificate, &[], later(minute));
    assert_eq!(at(day), Ok(()));
    assert_eq!(asked.cache.counts(later(day)).stale_lists, 0);
    assert_eq!(at(day + 1), asked.unanswered());
    assert_eq!(asked.cache.counts(later(day + 1)).stale_lists, 1);
}
