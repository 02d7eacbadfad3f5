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
