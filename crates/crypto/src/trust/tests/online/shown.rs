//! Answers that servers of TLS bring, and certificates that are believed by themselves.

use super::*;

impl Asked {
    /// What becomes of the certificate in a handshake, with that answer beside it.
    fn shown(&self, stapled: &[u8]) -> Result<(), TrustError> {
        self.store
            .check_revoked(&self.certificate, &[], stapled, now())
            .map(drop)
    }

    fn useless(&self, why: AnswerError) -> Result<(), TrustError> {
        Err(TrustError::StapledAnswer {
            subject: self.certificate.subject_name().to_string(),
            why,
        })
    }
}

/// A store that pins a certificate, with these anchors and a cache.
fn pinning(pinned: &Certificate, anchors: &[&Identity], revocation: RevocationRules) -> Asked {
    let authority = authority();
    let anchors = anchors.iter().map(|it| it.certificate().clone());
    let store = TrustStore::new(TrustRules {
        anchors: anchors.collect(),
        pinned: vec![pinned.clone()],
        revocation: Some(revocation),
        ..TrustRules::default()
    });
    let store = store.unwrap();
    let cache = Arc::<RevocationCache>::default();
    store.online_revocation().unwrap().attach(&cache);
    Asked {
        authority,
        certificate: pinned.clone(),
        store,
        cache,
    }
}

#[test]
fn an_answer_that_comes_with_a_certificate_counts_at_once() {
    let asked = strict();
    assert_eq!(asked.shown(&[]), asked.unanswered());
    assert_eq!(asked.shown(&asked.good().by(&asked.authority)), Ok(()));
    assert_eq!(asked.shown(&[]), Ok(()), "it holds for its time");
}

/// Whoever holds a revoked key keeps the last answer from before.
#[test]
fn an_answer_that_a_server_brings_keeps_nobody_from_asking() {
    let asked = strict();
    let good = asked.good().by(&asked.authority);
    assert_eq!(asked.shown(&good), Ok(()));
    let due = asked.cache.due(now());
    let [RevocationErrand::Responder(errand)] = due.as_slice() else {
        panic!("expected one question at once, found {due:?}");
    };
    assert_eq!(asked.shown(&good), Ok(()));
    let mut revoked = Said::revoked(&asked.certificate, &asked.authority, 1);
    revoked.this_update = later(0);
    let answer = revoked.by(&asked.authority);
    asked.cache.take_response(errand, &answer, now()).unwrap();
    for stapled in [&good[..], &[]] {
        assert_eq!(asked.shown(stapled), asked.revoked());
    }
}

#[test]
fn a_server_that_brings_its_own_revocation_is_revoked() {
    let asked = soft();
    let revoked = Said::revoked(&asked.certificate, &asked.authority, 1);
    let revoked = revoked.by(&asked.authority);
    assert_eq!(asked.shown(&revoked), asked.revoked());
    assert_eq!(asked.shown(&[]), asked.revoked());
}

/// RFC 6066 section 8: a client that is not satisfied with the answer ends the handshake.
#[test]
fn an_answer_that_does_not_count_refuses_whoever_brings_it() {
    let asked = soft();
    assert_eq!(asked.shown(&[]), Ok(()), "nobody has answered, softly");
    let another = named_leaf(&asked.authority);
    let stranger = authority();
    let mut old = asked.good();
    (old.this_update, old.next_update) = (later(-120), Some(later(-60)));
    let mut early = asked.good();
    early.this_update = later(60);
    for (stapled, why) in [
        (asked.good().by(&stranger), AnswerError::BadSignature),
        (
            Said::good(&another, &asked.authority).by(&asked.authority),
            AnswerError::OtherCertificate,
        ),
        (
            old.by(&asked.authority),
            AnswerError::Stale { since: later(-60) },
        ),
        (
            early.by(&asked.authority),
            AnswerError::NotYet { from: later(60) },
        ),
    ] {
        assert_eq!(asked.shown(&stapled), asked.useless(why));
    }
    let refused = asked.shown(b"no answer").unwrap_err();
    assert_eq!(refused.name(), "revocation-unknown");
}

/// An answer that was made beforehand repeats no nonce of ours.
#[test]
fn where_a_nonce_is_demanded_what_a_server_brings_counts_for_nothing() {
    let asked = Asked::with(RevocationRules {
        must_repeat_nonce: true,
        ..RevocationRules::default()
    });
    let good = asked.good().by(&asked.authority);
    assert_eq!(asked.shown(&good), asked.unanswered());
}

#[test]
fn an_answer_counts_about_a_certificate_that_names_no_responder() {
    let authority = authority();
    let certificate = leaf(&authority);
    let asked = Asked::of(authority, certificate, RevocationRules::default());
    assert!(asked.shown(&[]).is_err());
    assert_eq!(asked.shown(&asked.good().by(&asked.authority)), Ok(()));
    assert_eq!(asked.shown(&[]), Ok(()));
    assert!(
        asked.cache.due(later(30)).is_empty(),
        "there is nobody to ask"
    );
}

#[test]
fn a_pinned_certificate_is_asked_about_in_the_name_of_its_issuer() {
    let authority = authority();
    let certificate = named_leaf(&authority);
    let asked = pinning(&certificate, &[&authority], RevocationRules::default());
    assert_eq!(asked.check(), asked.unanswered());
    assert_eq!(asked.shown(&[]), asked.unanswered());
    let revoked = Said::revoked(&certificate, &authority, 1).by(&authority);
    assert!(asked.take(&revoked).is_ok());
    assert_eq!(asked.check(), asked.revoked());
    assert_eq!(asked.shown(&[]), asked.revoked());
}

/// For a signature that is there, somebody can make a key that verifies it, and an authority with
/// that key whose responder calls every certificate good.
#[test]
fn an_issuer_that_comes_with_a_pinned_certificate_is_asked_for_nothing() {
    let authority = authority();
    let certificate = named_leaf(&authority);
    let asked = pinning(&certificate, &[], RevocationRules::default());
    let refused = Err(TrustError::RevocationUnanswered {
        subject: certificate.subject_name().to_string(),
        why: "its issuer is not among the certificates that are configured",
    });
    let with_it = [authority.certificate().clone()];
    let good = Said::good(&certificate, &authority).by(&authority);
    let shown = asked
        .store
        .check_revoked(&certificate, &with_it, &good, now());
    assert_eq!(shown.map(drop), refused);
    assert_eq!(asked.store.check(&certificate, &with_it, now()), refused);
    let named: Vec<_> = asked.store.unaskable().collect();
    assert_eq!(named, [&certificate]);
    let soft = RevocationRules {
        accept_unanswered: true,
        ..RevocationRules::default()
    };
    let soft = pinning(&certificate, &[], soft);
    assert_eq!(soft.check(), Ok(()));
    assert_eq!(soft.cache.counts(now()).admitted, 1);
    assert_eq!(soft.store.unaskable().count(), 0);
}

#[test]
fn nobody_is_asked_about_a_certificate_that_issued_itself() {
    let own = authority();
    let asked = pinning(own.certificate(), &[], RevocationRules::default());
    assert_eq!(asked.shown(&[]), Ok(()));
    assert_eq!(asked.store.unaskable().count(), 0);
    let anchor = Asked::of(
        own.clone(),
        own.certificate().clone(),
        RevocationRules::default(),
    );
    assert_eq!(anchor.shown(&[]), Ok(()));
}

#[test]
fn a_certificate_under_no_anchor_is_refused_whatever_it_brings() {
    let asked = strict();
    let stranger = authority();
    let certificate = named_leaf(&stranger);
    let good = Said::good(&certificate, &stranger).by(&stranger);
    let shown = asked.store.check_revoked(&certificate, &[], &good, now());
    assert_eq!(shown.unwrap_err().name(), "untrusted");
    assert!(asked.cache.due(later(30)).is_empty());
}

/// A connection stays open for longer than the answer holds that it was accepted by.
#[test]
fn whoever_is_accepted_learns_up_to_when_the_answer_holds() {
    let asked = strict();
    let mut short = asked.good();
    short.next_update = Some(later(2));
    let short = short.by(&asked.authority);
    let until = |stapled: &[u8]| {
        let shown = asked
            .store
            .check_revoked(&asked.certificate, &[], stapled, now());
        shown.unwrap()
    };
    assert_eq!(until(&short), later(2));
    assert_eq!(until(&[]), later(2));
}

/// Stores share a cache, and one of them asks no responder.
#[test]
fn an_answer_that_came_to_another_store_counts_only_where_responders_are_asked() {
    let authority = authority();
    let certificate = leaf(&authority);
    let asked = Asked::of(authority, certificate, RevocationRules::default());
    assert_eq!(asked.shown(&asked.good().by(&asked.authority)), Ok(()));
    for (ocsp, counts) in [(true, true), (false, false)] {
        let store = TrustStore::new(TrustRules {
            anchors: vec![asked.authority.certificate().clone()],
            revocation: Some(RevocationRules {
                ocsp,
                ..RevocationRules::default()
            }),
            ..TrustRules::default()
        });
        let store = store.unwrap();
        store.online_revocation().unwrap().attach(&asked.cache);
        let shown = store.check_revoked(&asked.certificate, &[], &[], now());
        assert_eq!(shown.is_ok(), counts, "{shown:?}");
    }
}
