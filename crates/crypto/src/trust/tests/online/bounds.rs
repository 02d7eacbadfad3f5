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
