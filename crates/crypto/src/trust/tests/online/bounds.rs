//! What a cache has room for, and what it forgets.

use super::*;

/// A stranger has certificates of others, and no private key.
#[test]
fn a_certificate_that_is_refused_for_another_reason_leaves_no_question() {
    let asked = strict();
    let purpose = sequence(&[&der::element(der::OID, &[&OCSP_SIGNING])]);
    let with_responder = || {
        let uri = der::element(der::context_primitive(6), &[URL.as_bytes()]);
        let method = der::element(der::OID, &[&[0x2b, 6, 1, 5, 5, 7, 48, 1]]);
        let access = sequence(&[&sequence(&[&method, &uri])]);
        template("CN=leaf,O=Acme").with_extension(&ACCESS, false, &access)
    };
    let encrypting = with_responder().limited_to(false, true);
    let other_purpose = with_responder().with_extension(&EKU, true, &purpose);
    for (template, reason) in [
        (encrypting, "key-usage"),
        (other_purpose, "key-usage"),
        (with_responder(), "subject-not-allowed"),
    ] {
        let stranger = issue::identity(&asked.authority, EC, &template).unwrap();
        let store = TrustStore::new(TrustRules {
            subjects: vec!["CN=partner".to_owned()],
            ..asked.store.rules().clone()
        })
        .unwrap();
        store.online_revocation().unwrap().attach(&asked.cache);
        let refused = store.check(stranger.certificate(), &[], now()).unwrap_err();
        assert_eq!(refused.name(), reason);
        assert_eq!(asked.cache.counts(now()).certificates, 0, "{reason}");
    }
}

fn days(number: i64) -> Timestamp {
    later(number * 24 * 60)
}

fn list_of(issuer: &Identity, until: Timestamp) -> Vec<u8> {
    let validity = Validity {
        not_before: later(-1),
        not_after: until,
    };
    issue::revocation_list(issuer, [], validity).unwrap()
}

/// A weekend without a message.
#[test]
fn a_list_that_a_configuration_names_stays_for_as_long_as_a_store_names_it() {
    let authority = authority();
    let certificate = leaf(&authority);
    let rules = RevocationRules {
        list_urls: vec![LIST_URL.to_owned()],
        ..RevocationRules::default()
    };
    let asked = Asked::of(authority, certificate, rules);
    assert_eq!(asked.cache.due(now()).len(), 1);
    let list = list_of(&asked.authority, days(30));
    asked.cache.take_list(LIST_URL, &list, now()).unwrap();
    assert_eq!(asked.cache.due(days(9)).len(), 1, "it is fetched on");
    let monday = asked.store.check(&asked.certificate, &[], days(9));
    assert_eq!(monday, Ok(()));
    drop(asked.store);
    assert!(asked.cache.due(days(15)).is_empty());
    assert_eq!(asked.cache.counts(days(15)).lists, 1);
    asked.cache.take_list(LIST_URL, &list, days(15)).unwrap();
    assert!(asked.cache.due(days(17)).is_empty());
    assert_eq!(asked.cache.counts(days(17)).lists, 0, "nobody names it");
}

#[test]
fn an_answer_is_asked_for_on_for_a_week_after_the_last_message() {
    let asked = strict();
    asked.check().unwrap_err();
    let mut said = asked.good();
    said.next_update = Some(days(9));
    asked.take(&said.by(&asked.authority)).unwrap();
    let on_monday = asked.cache.due(days(3));
    let [RevocationErrand::Responder(errand)] = on_monday.as_slice() else {
        panic!("expected a question, found {on_monday:?}")
    };
    let response = said.by(&asked.authority);
    asked
        .cache
        .take_response(errand, &response, days(3))
        .unwrap();
    assert_eq!(asked.store.check(&asked.certificate, &[], days(3)), Ok(()));
    assert_eq!(asked.cache.due(days(9)).len(), 1);
    asked
        .cache
        .take_response(errand, &response, days(9))
        .unwrap();
    assert!(asked.cache.due(days(11)).is_empty());
    assert_eq!(asked.cache.counts(days(11)).certificates, 0);
}

/// Makes certificates of one key, which name a responder.
struct Many {
    authority: Identity,
    key: PrivateKey,
    access: Vec<u8>,
}

impl Many {
    fn of(authority: &Identity) -> Self {
        let uri = der::element(der::context_primitive(6), &[URL.as_bytes()]);
        let method = der::element(der::OID, &[&[0x2b, 6, 1, 5, 5, 7, 48, 1]]);
        Self {
            authority: authority.clone(),
            key: PrivateKey::generate(EC).unwrap(),
            access: sequence(&[&sequence(&[&method, &uri])]),
        }
    }

    fn numbered(&self, number: usize, not_after: Timestamp) -> Certificate {
        let validity = Validity {
            not_after,
            ..validity()
        };
        let template = Template::new(&format!("CN={number}"), validity).unwrap();
        let template = template.with_extension(&ACCESS, false, &self.access);
        issue::issued(&self.authority, self.key.public_key(), &template).unwrap()
    }
}

#[test]
fn more_certificates_than_there_is_room_for_push_out_no_revoked_one() {
    let asked = soft();
    asked.check().unwrap();
    let said = Said::revoked(&asked.certificate, &asked.authority, 1);
    asked.take(&said.by(&asked.authority)).unwrap();
    let many = Many::of(&asked.authority);
    for number in 0..1100 {
        let other = many.numbered(number, validity().not_after);
        assert_eq!(asked.store.check(&other, &[], later(1)), Ok(()));
    }
    assert_eq!(asked.cache.counts(now()).certificates, 1024);
    assert_eq!(asked.check(), asked.revoked());
}

/// Whoever has a certificate that was revoked must not take away a place for ever.
#[test]
fn where_all_are_revoked_the_one_that_was_wanted_longest_ago_makes_room() {
    let asked = soft();
    let many = Many::of(&asked.authority);
    for number in 0..1024 {
        let other = many.numbered(number, validity().not_after);
        asked.store.check(&other, &[], now()).unwrap();
        let said = Said::revoked(&other, &asked.authority, 1);
        let [RevocationErrand::Responder(errand)] = &asked.cache.due(now())[..] else {
            panic!("expected one question")
        };
        let response = said.by(&asked.authority);
        asked.cache.take_response(errand, &response, now()).unwrap();
    }
    assert_eq!(asked.cache.counts(now()).revoked, 1024);
    asked.check().unwrap();
    let [RevocationErrand::Responder(errand)] = &asked.cache.due(now())[..] else {
        panic!("expected the question of a new certificate")
    };
    assert_eq!(errand.subject, "CN=leaf,O=Acme");
    assert_eq!(asked.cache.counts(now()).revoked, 1023);
    assert!(asked.cache.take_refusals().is_empty());
}

/// No check wants to know it any more, and no answer may come.
#[test]
fn a_certificate_that_has_expired_is_not_asked_about_any_more() {
    let asked = soft();
    let many = Many::of(&asked.authority);
    let short = many.numbered(1, later(60));
    asked.store.check(&short, &[], now()).unwrap();
    let [RevocationErrand::Responder(errand)] = &asked.cache.due(now())[..] else {
        panic!("expected one question")
    };
    let response = Said::revoked(&short, &asked.authority, 1).by(&asked.authority);
    asked.cache.take_response(errand, &response, now()).unwrap();
    assert_eq!(asked.cache.counts(now()).revoked, 1);
    assert!(asked.cache.due(later(61)).is_empty());
    assert_eq!(asked.cache.counts(later(61)).certificates, 0);
}

/// While a question is under way nobody can take its place: so many questions wait at most.
#[test]
fn a_question_that_finds_no_room_is_told_once() {
    let asked = soft();
    let many = Many::of(&asked.authority);
    for number in 0..1024 {
        let other = many.numbered(number, validity().not_after);
        asked.store.check(&other, &[], now()).unwrap();
    }
    assert_eq!(asked.cache.due(now()).len(), 1024);
    for number in [2000, 2001] {
        let other = many.numbered(number, validity().not_after);
        asked.store.check(&other, &[], now()).unwrap();
    }
    assert_eq!(asked.cache.take_refusals(), ["ocsp"]);
    assert!(asked.cache.take_refusals().is_empty());
    assert!(asked.cache.due(now()).is_empty());
}

#[test]
fn the_list_that_was_wanted_longest_ago_makes_room_unless_a_configuration_names_it() {
    let authority = authority();
    let certificate = leaf(&authority);
    let named = |number: usize| format!("http://crl.example.com/{number}.crl");
    let wanting = |urls: Vec<String>| RevocationRules {
        list_urls: urls,
        accept_unanswered: true,
        ..RevocationRules::default()
    };
    let asked = Asked::of(authority, certificate, wanting(vec![named(0)]));
    let urls = |minute| {
        let due = asked.cache.due(later(minute));
        let mut urls: Vec<String> = due.iter().map(|it| it.url().to_owned()).collect();
        for errand in &due {
            asked.cache.failed(errand, later(minute));
        }
        urls.sort();
        urls
    };
    assert_eq!(urls(0), [named(0)]);
    let issuer = asked.authority.certificate();
    for number in 1..64 {
        asked.cache.want_list(&named(number), issuer, false);
    }
    assert_eq!(urls(60).len(), 64);
    let other = asked.beside(wanting(vec![named(64)]));
    assert_eq!(asked.cache.counts(now()).lists, 64);
    let all = urls(120);
    assert!(all.contains(&named(0)) && all.contains(&named(64)));
    let many: Vec<String> = (100..163).map(named).collect();
    let more = asked.beside(wanting(many));
    assert_eq!(asked.cache.take_refusals(), ["crl"], "65 are named");
    assert_eq!(asked.cache.counts(now()).lists, 64);
    drop((other, more));
}

#[test]
fn an_address_whose_list_is_of_one_of_several_authorities_counts_once() {
    let authority = authority();
    let other = issue::authority("CN=other", EC, validity()).unwrap();
    let urls: Vec<String> = (0..40).map(|it| format!("{LIST_URL}?{it}")).collect();
    let revocation = RevocationRules {
        list_urls: urls.clone(),
        ..RevocationRules::default()
    };
    let store = TrustStore::new(TrustRules {
        anchors: vec![authority.certificate().clone(), other.certificate().clone()],
        revocation: Some(revocation),
        ..TrustRules::default()
    })
    .unwrap();
    let cache = Arc::<RevocationCache>::default();
    store.online_revocation().unwrap().attach(&cache);
    assert!(cache.take_refusals().is_empty());
    assert_eq!(cache.due(now()).len(), 40);
    for url in &urls {
        let list = list_of(&authority, later(60));
        cache.take_list(url, &list, now()).unwrap();
    }
    let counts = |at| {
        let counts = cache.counts(at);
        (counts.lists, counts.stale_lists)
    };
    assert_eq!(counts(now()), (40, 0));
    assert_eq!(counts(later(61)), (40, 40), "they count when they get old");
}

/// An operator must see that nothing comes of an address.
#[test]
fn an_address_whose_list_is_of_no_authority_stays_stale() {
    let authority = authority();
    let certificate = leaf(&authority);
    let rules = RevocationRules {
        list_urls: vec![LIST_URL.to_owned()],
        ..RevocationRules::default()
    };
    let asked = Asked::of(authority, certificate, rules);
    let other = issue::authority("CN=other", EC, validity()).unwrap();
    asked.cache.due(now());
    let list = list_of(&other, later(60));
    let taken = asked.cache.take_list(LIST_URL, &list, now());
    assert_eq!(taken.map(drop), Err(AnswerError::OtherCertificate));
    assert_eq!(asked.cache.counts(now()).stale_lists, 1);
}
