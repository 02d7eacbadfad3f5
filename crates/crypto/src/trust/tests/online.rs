//! What responders and fetched lists tell: believed only from whom the issuer lets tell it, only
//! about the certificate that was asked about, and only while it is new (RFC 6960, RFC 5280).

use jiff::SignedDuration;

use super::*;
use crate::der;
use crate::issue::signed;
use crate::trust::ocsp;

mod answers;
mod bounds;
mod shared;
mod shown;

const URL: &str = "http://ocsp.example.com/";
const LIST_URL: &str = "http://crl.example.com/ca.crl";
const EKU: [u8; 3] = [0x55, 0x1d, 37];
const ACCESS: [u8; 8] = [0x2b, 6, 1, 5, 5, 7, 1, 1];
const OCSP_SIGNING: [u8; 8] = [0x2b, 6, 1, 5, 5, 7, 3, 9];
const GOOD: &[u8] = &[0x80, 0];
const UNKNOWN: &[u8] = &[0x82, 0];

fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    der::element(der::SEQUENCE, parts)
}

fn time(moment: Timestamp) -> Vec<u8> {
    let text = moment.strftime("%Y%m%d%H%M%SZ").to_string();
    der::element(der::GENERALIZED_TIME, &[text.as_bytes()])
}

fn later(minutes: i64) -> Timestamp {
    now()
        .checked_add(SignedDuration::from_mins(minutes))
        .unwrap()
}

/// A certificate that names a responder and a list.
fn named_leaf(issuer: &Identity) -> Certificate {
    let uri = |url: &str| der::element(der::context_primitive(6), &[url.as_bytes()]);
    let method = der::element(der::OID, &[&[0x2b, 6, 1, 5, 5, 7, 48, 1]]);
    let access = sequence(&[&sequence(&[&method, &uri(URL)])]);
    let template = template("CN=leaf,O=Acme").with_extension(&ACCESS, false, &access);
    let leaf = issue::identity(issuer, EC, &template).unwrap();
    leaf.certificate().clone()
}

/// What a responder says, and all of it that attackers change.
struct Said<'s> {
    about: (&'s Certificate, &'s Certificate),
    status: Vec<u8>,
    this_update: Timestamp,
    next_update: Option<Timestamp>,
    nonce: Option<Vec<u8>>,
    certificates: Vec<Certificate>,
}

impl<'s> Said<'s> {
    fn good(certificate: &'s Certificate, issuer: &'s Identity) -> Self {
        Self {
            about: (certificate, issuer.certificate()),
            status: GOOD.to_vec(),
            this_update: later(-1),
            next_update: Some(later(60)),
            nonce: None,
            certificates: Vec::new(),
        }
    }

    fn revoked(certificate: &'s Certificate, issuer: &'s Identity, reason: u8) -> Self {
        let reason = der::element(der::ENUMERATED, &[&[reason]]);
        let reason = der::element(der::context(0), &[&reason]);
        Self {
            status: der::element(der::context(1), &[&time(later(-600)), &reason]),
            ..Self::good(certificate, issuer)
        }
    }

    fn by(&self, signer: &Identity) -> Vec<u8> {
        let next = self
            .next_update
            .map(|next| der::element(der::context(0), &[&time(next)]));
        let single = sequence(&[
            &ocsp::certificate_id(self.about.0, self.about.1),
            &self.status,
            &time(self.this_update),
            &next.unwrap_or_default(),
        ]);
        let nonce = self.nonce.as_ref().map(|nonce| {
            let value = der::element(der::OCTET_STRING, &[nonce]);
            let oid = [0x2b, 6, 1, 5, 5, 7, 48, 1, 2];
            let list = sequence(&[&issue::extension(&oid, false, &value)]);
            der::element(der::context(1), &[&list])
        });
        let name = der::element(der::context(1), &[signer.certificate().subject_der()]);
        let data = sequence(&[
            &name,
            &time(self.this_update),
            &sequence(&[&single]),
            &nonce.unwrap_or_default(),
        ]);
        let algorithm = issue::usual_algorithm(signer.key().kind()).unwrap();
        let whole = signed(signer.key(), algorithm, &data).unwrap();
        let certificates: Vec<&[u8]> = self.certificates.iter().map(Certificate::der).collect();
        let certificates = der::element(der::context(0), &[&sequence(&certificates)]);
        let mut reader = der::Reader::new(&whole);
        let content = reader.expect(der::SEQUENCE).unwrap();
        let basic = sequence(&[content, &certificates]);
        let basic_oid = der::element(der::OID, &[&[0x2b, 6, 1, 5, 5, 7, 48, 1, 1]]);
        let bytes = sequence(&[&basic_oid, &der::element(der::OCTET_STRING, &[&basic])]);
        let success = der::element(der::ENUMERATED, &[&[0]]);
        sequence(&[&success, &der::element(der::context(0), &[&bytes])])
    }
}

/// A store with a cache, and the certificate of a peer that was seen once.
struct Asked {
    authority: Identity,
    certificate: Certificate,
    store: TrustStore,
    cache: Arc<RevocationCache>,
}

impl Asked {
    fn with(rules: RevocationRules) -> Self {
        let authority = authority();
        let certificate = named_leaf(&authority);
        Self::of(authority, certificate, rules)
    }

    fn of(authority: Identity, certificate: Certificate, revocation: RevocationRules) -> Self {
        let store = TrustStore::new(TrustRules {
            revocation: Some(revocation),
            ..rules(&authority)
        })
        .unwrap();
        let cache = Arc::<RevocationCache>::default();
        store.online_revocation().unwrap().attach(&cache);
        Self {
            authority,
            certificate,
            store,
            cache,
        }
    }

    fn check(&self) -> Result<(), TrustError> {
        self.store.check(&self.certificate, &[], now())
    }

    /// The question that a check left.
    fn errand(&self) -> ResponderErrand {
        let due = self.cache.due(later(30));
        match due.as_slice() {
            [RevocationErrand::Responder(errand)] => errand.clone(),
            other => panic!("expected one question for a responder, found {other:?}"),
        }
    }

    fn take(&self, response: &[u8]) -> Result<CertificateStatus, AnswerError> {
        let errand = self.errand();
        let taken = self.cache.take_response(&errand, response, now());
        taken.map(|(status, _)| status)
    }

    fn unanswered(&self) -> Result<(), TrustError> {
        Err(TrustError::RevocationUnanswered {
            subject: self.certificate.subject_name().to_string(),
            why: "nobody has answered yet",
        })
    }

    fn revoked(&self) -> Result<(), TrustError> {
        Err(TrustError::Revoked {
            subject: self.certificate.subject_name().to_string(),
        })
    }

    fn good(&self) -> Said<'_> {
        Said::good(&self.certificate, &self.authority)
    }
}

fn strict() -> Asked {
    Asked::with(RevocationRules::default())
}

fn soft() -> Asked {
    Asked::with(RevocationRules {
        accept_unanswered: true,
        ..RevocationRules::default()
    })
}

/// A responder of its own key, with these extensions in its certificate.
fn responder(issuer: &Identity, purposes: Option<&[u8]>) -> Identity {
    let mut template = template("CN=responder");
    if let Some(purpose) = purposes {
        let list = sequence(&[&der::element(der::OID, &[purpose])]);
        template = template.with_extension(&EKU, false, &list);
    }
    issue::identity(issuer, EC, &template).unwrap()
}

#[test]
fn a_certificate_is_refused_until_its_responder_has_answered_and_believed_from_then_on() {
    let asked = strict();
    assert_eq!(asked.check(), asked.unanswered());
    let response = asked.good().by(&asked.authority);
    assert_eq!(asked.take(&response), Ok(CertificateStatus::Good));
    assert_eq!(asked.check(), Ok(()));
    let hours_later = asked.store.check(&asked.certificate, &[], later(61));
    assert_eq!(
        hours_later,
        asked.unanswered(),
        "the answer held for an hour"
    );
}

#[test]
fn soft_fail_believes_whom_nobody_answers_for_and_counts_it() {
    let asked = soft();
    assert_eq!(asked.check(), Ok(()));
    assert_eq!(asked.cache.counts(now()).admitted, 1);
    let said = Said::revoked(&asked.certificate, &asked.authority, 1);
    assert!(asked.take(&said.by(&asked.authority)).is_ok());
    assert_eq!(
        asked.check(),
        asked.revoked(),
        "what was remembered of it ends"
    );
}

#[test]
fn without_a_cache_hard_fail_refuses_and_soft_fail_believes() {
    let authority = authority();
    let certificate = named_leaf(&authority);
    for accept_unanswered in [false, true] {
        let revocation = RevocationRules {
            accept_unanswered,
            ..RevocationRules::default()
        };
        let rules = TrustRules {
            revocation: Some(revocation),
            ..rules(&authority)
        };
        assert_eq!(check(rules, &certificate).is_ok(), accept_unanswered);
    }
}

#[test]
fn a_certificate_that_names_nobody_is_refused_unless_a_responder_is_configured() {
    let authority = authority();
    let certificate = leaf(&authority);
    let asked = Asked::of(authority, certificate, RevocationRules::default());
    assert_eq!(
        asked.check(),
        Err(TrustError::RevocationUnanswered {
            subject: leaf_name(),
            why: "it names nobody who could tell",
        })
    );
    let rules = RevocationRules {
        responder: Some("http://other.example.com/".to_owned()),
        ..RevocationRules::default()
    };
    let asked = Asked::of(asked.authority, asked.certificate, rules);
    assert_eq!(asked.check(), asked.unanswered());
    assert_eq!(asked.errand().url, "http://other.example.com/");
}

/// RFC 6960 section 4.2.2.2.
#[test]
fn only_the_issuer_and_whom_it_authorized_directly_may_answer() {
    let not_authorized = |why| Err(AnswerError::NotAuthorized { why });
    let asked = strict();
    assert_eq!(asked.check(), asked.unanswered());
    let from = |signer: &Identity| {
        let mut said = asked.good();
        said.certificates = vec![signer.certificate().clone()];
        let taken = asked.take(&said.by(signer));
        let at = later(60 * 24);
        asked.store.check(&asked.certificate, &[], at).unwrap_err();
        taken
    };
    let without_purpose = responder(&asked.authority, None);
    let why = "its certificate is not for OCSPSigning";
    assert_eq!(from(&without_purpose), not_authorized(why));
    let any = responder(&asked.authority, Some(&[0x55, 0x1d, 0x25, 0]));
    assert_eq!(from(&any), not_authorized(why));
    let other_authority = authority();
    let of_another = responder(&other_authority, Some(&OCSP_SIGNING));
    let why = "its certificate is not from the issuer";
    assert_eq!(from(&of_another), not_authorized(why));
    let namesake = issue::authority("CN=ca", EC, validity()).unwrap();
    assert_eq!(from(&namesake), not_authorized(why));
    let delegate = responder(&asked.authority, Some(&OCSP_SIGNING));
    assert_eq!(from(&delegate), Ok(CertificateStatus::Good));
}

#[test]
fn a_responder_that_is_not_in_the_response_has_not_signed_it() {
    let asked = strict();
    asked.check().unwrap_err();
    let delegate = responder(&asked.authority, Some(&OCSP_SIGNING));
    let taken = asked.take(&asked.good().by(&delegate));
    assert_eq!(taken, Err(AnswerError::BadSignature));
}

#[test]
fn a_responder_whose_certificate_has_expired_or_may_not_sign_is_not_authorized() {
    let asked = strict();
    asked.check().unwrap_err();
    let purpose = sequence(&[&der::element(der::OID, &[&OCSP_SIGNING])]);
    let past = Validity {
        not_before: at("2025-01-01T00:00:00Z"),
        not_after: at("2025-12-31T00:00:00Z"),
    };
    let expired = Template::new("CN=responder", past).unwrap();
    let encrypting = template("CN=responder").limited_to(false, true);
    for (template, why) in [
        (expired, "its certificate is not valid now"),
        (encrypting, "its certificate does not allow signatures"),
    ] {
        let template = template.with_extension(&EKU, true, &purpose);
        let signer = issue::identity(&asked.authority, EC, &template).unwrap();
        let mut said = asked.good();
        said.certificates = vec![signer.certificate().clone()];
        let taken = asked.take(&said.by(&signer));
        assert_eq!(taken, Err(AnswerError::NotAuthorized { why }));
    }
}

#[test]
fn an_answer_about_another_certificate_is_none() {
    let asked = strict();
    asked.check().unwrap_err();
    let other = named_leaf(&asked.authority);
    let response = Said::good(&other, &asked.authority).by(&asked.authority);
    assert_eq!(asked.take(&response), Err(AnswerError::OtherCertificate));
    assert_eq!(asked.check(), asked.unanswered());
}

#[test]
fn an_answer_is_refused_that_is_stale_from_the_future_or_too_old() {
    let asked = strict();
    asked.check().unwrap_err();
    let from = |this_update, next_update| {
        let mut said = asked.good();
        (said.this_update, said.next_update) = (this_update, next_update);
        asked.take(&said.by(&asked.authority))
    };
    let since = later(-1);
    let stale = Err(AnswerError::Stale { since });
    assert_eq!(from(later(-60), Some(since)), stale);
    assert_eq!(
        from(later(-61), None),
        stale,
        "without a next update: an hour"
    );
    let ten_days = 10 * 24 * 60;
    assert_eq!(from(later(-ten_days - 1), Some(later(60))), stale);
    let early = Err(AnswerError::NotYet { from: later(6) });
    assert_eq!(from(later(6), Some(later(60))), early);
    assert_eq!(from(later(4), Some(later(60))), Ok(CertificateStatus::Good));
}

#[test]
fn an_answer_to_another_question_is_refused_by_its_nonce() {
    let asked = strict();
    asked.check().unwrap_err();
    let mut said = asked.good();
    said.nonce = Some(vec![7; 32]);
    let replayed = said.by(&asked.authority);
    assert_eq!(asked.take(&replayed), Err(AnswerError::OtherNonce));
    let errand = asked.errand();
    said.nonce = Some(errand.nonce().to_vec());
    let own = said.by(&asked.authority);
    let taken = asked.cache.take_response(&errand, &own, now());
    assert_eq!(taken.map(|(status, _)| status), Ok(CertificateStatus::Good));
}

#[test]
fn an_answer_without_a_nonce_is_refused_where_the_rules_demand_one() {
    let asked = Asked::with(RevocationRules {
        must_repeat_nonce: true,
        ..RevocationRules::default()
    });
    asked.check().unwrap_err();
    let response = asked.good().by(&asked.authority);
    assert_eq!(asked.take(&response), Err(AnswerError::NonceMissing));
}

#[test]
fn a_certificate_that_was_revoked_stays_so_whatever_comes_later() {
    let asked = soft();
    assert_eq!(asked.check(), Ok(()));
    let said = Said::revoked(&asked.certificate, &asked.authority, 1);
    asked.take(&said.by(&asked.authority)).unwrap();
    assert_eq!(asked.check(), asked.revoked());
    let mut good = asked.good();
    for this_update in [later(-30), later(2)] {
        good.this_update = this_update;
        let errand = asked.cache.due(later(60 * 24));
        let [RevocationErrand::Responder(errand)] = errand.as_slice() else {
            panic!("expected a question")
        };
        let response = good.by(&asked.authority);
        let taken = asked.cache.take_response(errand, &response, now());
        assert_eq!(taken, Err(AnswerError::RevokedBefore));
        assert_eq!(asked.check(), asked.revoked());
    }
    let a_month_later = later(30 * 24 * 60);
    let checked = asked.store.check(&asked.certificate, &[], a_month_later);
    assert_eq!(checked, asked.revoked(), "the word of it never ends");
}

#[test]
fn a_certificate_on_hold_becomes_good_by_a_newer_answer_only() {
    const ON_HOLD: u8 = 6;
    let asked = strict();
    asked.check().unwrap_err();
    let said = Said::revoked(&asked.certificate, &asked.authority, ON_HOLD);
    asked.take(&said.by(&asked.authority)).unwrap();
    assert_eq!(asked.check(), asked.revoked());
    let mut good = asked.good();
    good.this_update = later(-2);
    let errand = asked.cache.due(later(60 * 24));
    let [RevocationErrand::Responder(errand)] = errand.as_slice() else {
        panic!("expected a question")
    };
    let known = said.this_update;
    let taken = asked
        .cache
        .take_response(errand, &good.by(&asked.authority), now());
    assert_eq!(taken, Err(AnswerError::Older { known }));
    good.this_update = now();
    let taken = asked
        .cache
        .take_response(errand, &good.by(&asked.authority), now());
    assert_eq!(taken.map(|(status, _)| status), Ok(CertificateStatus::Good));
    assert_eq!(asked.check(), Ok(()));
}

#[test]
fn a_responder_that_declines_or_talks_nonsense_is_asked_again_later() {
    let asked = strict();
    asked.check().unwrap_err();
    let later_please = sequence(&[&der::element(der::ENUMERATED, &[&[3]])]);
    let declined = Err(AnswerError::Declined { status: "tryLater" });
    assert_eq!(asked.take(&later_please), declined);
    assert!(asked.cache.due(now()).is_empty(), "not at once");
    let nonsense = asked.take(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff]);
    assert_eq!(nonsense.unwrap_err().name(), "malformed");
    assert_eq!(asked.check(), asked.unanswered());
}

#[test]
fn a_kept_answer_is_verified_again_and_counts_after_a_restart() {
    let asked = strict();
    asked.check().unwrap_err();
    let response = asked.good().by(&asked.authority);
    let errand = asked.errand();
    let (_, kept) = asked
        .cache
        .take_response(&errand, &response, now())
        .unwrap();
    let again = strict();
    assert_eq!(again.cache.restore(kept.text.as_bytes(), now()), Ok(()));
    let store = |cache: &Arc<RevocationCache>| {
        let store = TrustStore::new(asked.store.rules().clone()).unwrap();
        store.online_revocation().unwrap().attach(cache);
        store
    };
    let restarted = store(&again.cache);
    assert_eq!(restarted.check(&asked.certificate, &[], now()), Ok(()));
    let since = later(60);
    let late = Arc::<RevocationCache>::default();
    let restored = late.restore(kept.text.as_bytes(), later(61));
    assert_eq!(restored, Err(AnswerError::Stale { since }));
    let forged = asked.good().by(&authority());
    let text = kept.text.split("-----BEGIN OCSP RESPONSE").next().unwrap();
    let text = format!(
        "{text}{}",
        crate::keystore::pem::block("OCSP RESPONSE", &forged)
    );
    let restored = late.restore(text.as_bytes(), now());
    assert_eq!(restored, Err(AnswerError::BadSignature));
}

#[test]
fn a_fetched_list_counts_if_the_issuer_signed_it_and_is_new() {
    let authority = authority();
    let certificate = leaf(&authority);
    let rules = RevocationRules {
        list_urls: vec![LIST_URL.to_owned()],
        ..RevocationRules::default()
    };
    let asked = Asked::of(authority, certificate, rules);
    let due = asked.cache.due(now());
    let [RevocationErrand::List { url }] = due.as_slice() else {
        panic!("expected the list that the rules name, found {due:?}")
    };
    assert_eq!(asked.check(), asked.unanswered());
    let list = |issuer: &Identity, from: i64, to: i64, revoked: &[&Certificate]| {
        let validity = Validity {
            not_before: later(from),
            not_after: later(to),
        };
        issue::revocation_list(issuer, revoked.iter().copied(), validity).unwrap()
    };
    let take = |list: &[u8]| asked.cache.take_list(url, list, now()).map(drop);
    let namesake = issue::authority("CN=ca", EC, validity()).unwrap();
    let forged = list(&namesake, -1, 60, &[]);
    assert_eq!(take(&forged), Err(AnswerError::BadSignature));
    let other = issue::authority("CN=other", EC, validity()).unwrap();
    assert_eq!(
        take(&list(&other, -1, 60, &[])),
        Err(AnswerError::OtherCertificate)
    );
    let since = later(-1);
    let stale = list(&asked.authority, -60, -1, &[]);
    assert_eq!(take(&stale), Err(AnswerError::Stale { since }));
    assert_eq!(asked.check(), asked.unanswered());
    assert_eq!(take(&list(&asked.authority, -10, 60, &[])), Ok(()));
    assert_eq!(asked.check(), Ok(()));
    let now_revoked = list(&asked.authority, -5, 60, &[&asked.certificate]);
    assert_eq!(take(&now_revoked), Ok(()));
    assert_eq!(asked.check(), asked.revoked());
    let known = later(-5);
    let older = list(&asked.authority, -10, 60, &[]);
    assert_eq!(take(&older), Err(AnswerError::Older { known }));
    assert_eq!(asked.check(), asked.revoked());
}

/// Whatever is changed of a response, it is refused, or it says what it said.
#[test]
fn no_byte_of_a_response_can_be_changed_to_say_something_else() {
    let authority = authority();
    let certificate = named_leaf(&authority);
    let delegate = responder(&authority, Some(&OCSP_SIGNING));
    let mut said = Said::revoked(&certificate, &authority, 1);
    said.certificates = vec![delegate.certificate().clone()];
    let response = said.by(&delegate);
    let read = |response: &[u8]| {
        let demands = ocsp::Demands {
            nonce: None,
            rules: RevocationRules::default().of_answers(),
            allow_sha1: false,
            is_revoked: &|_| false,
            now: now(),
        };
        let read = ocsp::read(response, &certificate, authority.certificate(), &demands);
        read.map(|answer| answer.status)
    };
    let right = read(&response).unwrap();
    for at in 0..response.len() {
        assert_eq!(
            read(&response[..at]).unwrap_err().name(),
            "malformed",
            "{at}"
        );
        for bit in [0x01, 0x80] {
            let mut changed = response.clone();
            changed[at] ^= bit;
            if let Ok(status) = read(&changed) {
                assert_eq!(status, right, "byte {at}");
            }
        }
    }
}
