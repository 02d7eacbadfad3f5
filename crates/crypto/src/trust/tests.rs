//! Paths of certificates: accepted, and refused for the exact reason.

mod lists;
mod online;
mod profile;

use self::lists::with_list;
use super::*;
use crate::identity::Identity;
use crate::issue::{self, Template, Validity};
use crate::key::{Curve, PrivateKey};
use crate::testing;
use crate::{KeyKind, SignatureAlgorithm};

const EC: KeyKind = KeyKind::Ec(Curve::P256);

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn now() -> Timestamp {
    at("2026-11-21T12:00:00Z")
}

fn validity() -> Validity {
    Validity {
        not_before: at("2026-01-01T00:00:00Z"),
        not_after: at("2026-12-31T00:00:00Z"),
    }
}

fn template(subject: &str) -> Template {
    Template::new(subject, validity()).unwrap()
}

fn authority() -> Identity {
    issue::authority("CN=ca", EC, validity()).unwrap()
}

/// With a key that tests share, for kinds that take long to make.
fn authority_of(kind: KeyKind) -> Identity {
    issue::self_signed(testing::key(kind), &template("CN=ca").for_authority()).unwrap()
}

fn leaf(issuer: &Identity) -> Certificate {
    issue::identity(issuer, EC, &template("CN=leaf,O=Acme"))
        .unwrap()
        .certificate()
        .clone()
}

fn rules(authority: &Identity) -> TrustRules {
    TrustRules {
        anchors: vec![authority.certificate().clone()],
        ..TrustRules::default()
    }
}

fn check(rules: TrustRules, certificate: &Certificate) -> Result<(), TrustError> {
    TrustStore::new(rules)
        .unwrap()
        .check(certificate, &[], now())
}

fn leaf_name() -> String {
    leaf(&authority()).subject_name().to_string()
}

#[test]
fn a_certificate_under_an_anchor_is_trusted() {
    let authority = authority();
    assert_eq!(check(rules(&authority), &leaf(&authority)), Ok(()));
}

#[test]
fn nobody_is_trusted_by_default() {
    assert_eq!(
        check(TrustRules::default(), &leaf(&authority())),
        Err(TrustError::Untrusted {
            subject: leaf_name()
        })
    );
}

#[test]
fn an_authority_with_the_same_name_and_another_key_is_not_the_anchor() {
    let impostor = authority();
    assert!(matches!(
        check(rules(&authority()), &leaf(&impostor)),
        Err(TrustError::Untrusted { .. } | TrustError::InvalidPath { .. })
    ));
}

#[test]
fn a_pinned_certificate_needs_no_path() {
    let leaf = leaf(&authority());
    let pinned = |one: &Certificate| TrustRules {
        pinned: vec![one.clone()],
        ..TrustRules::default()
    };
    assert_eq!(check(pinned(&leaf), &leaf), Ok(()));
    let other = self::leaf(&authority());
    assert_eq!(
        check(pinned(&other), &leaf),
        Err(TrustError::Untrusted {
            subject: leaf_name()
        })
    );
}

#[test]
fn a_self_signed_certificate_among_the_anchors_is_trusted_itself() {
    let key = PrivateKey::generate(EC).unwrap();
    let own = issue::self_signed(key, &template("CN=peer")).unwrap();
    assert_eq!(check(rules(&own), own.certificate()), Ok(()));
}

#[test]
fn intermediates_may_come_with_the_message_or_from_the_rules() {
    let root = authority();
    let between = issue::identity(&root, EC, &template("CN=between").for_authority()).unwrap();
    let leaf = leaf(&between);
    let alone = TrustStore::new(rules(&root)).unwrap();
    assert_eq!(
        alone.check(&leaf, &[], now()),
        Err(TrustError::Untrusted {
            subject: leaf_name()
        })
    );
    let sent = [between.certificate().clone()];
    assert_eq!(alone.check(&leaf, &sent, now()), Ok(()));
    let configured = TrustRules {
        intermediates: sent.to_vec(),
        ..rules(&root)
    };
    assert_eq!(check(configured, &leaf), Ok(()));
}

#[test]
fn the_root_of_a_certificate_is_what_the_rules_have_on_its_path() {
    let root = authority();
    let between = issue::identity(&root, EC, &template("CN=between").for_authority()).unwrap();
    let leaf = leaf(&between);
    let sent = [between.certificate().clone()];
    let anchored = rules(&root);
    let legacy = TrustRules {
        allow_legacy_certificates: true,
        ..anchored.clone()
    };
    let pinned = TrustRules {
        pinned: vec![leaf.clone()],
        ..anchored.clone()
    };
    let anchor = root.certificate().thumbprint_sha256();
    let own = leaf.thumbprint_sha256();
    for (rules, expected) in [(anchored, anchor), (legacy, anchor), (pinned, own)] {
        let store = TrustStore::new(rules).unwrap();
        // The second answer is one that was remembered.
        for _ in 0..2 {
            assert_eq!(store.root_of(&leaf, &sent, now()), Ok(expected));
        }
    }
}

#[test]
fn what_was_taken_out_of_the_rules_vouches_for_nobody() {
    let (root, namesake) = (authority(), authority());
    let leaf = leaf(&root);
    let trusted = TrustStore::new(rules(&root)).unwrap();
    let anchor = trusted.root_of(&leaf, &[], now()).unwrap();
    let may = |rules: TrustRules| {
        let store = TrustStore::new(rules).unwrap();
        store.may_know(leaf.subject_name(), &leaf.thumbprint_sha256(), &anchor)
    };
    let pinned = |one: &Certificate| TrustRules {
        pinned: vec![one.clone()],
        ..TrustRules::default()
    };
    assert!(may(rules(&root)));
    assert!(may(pinned(&leaf)));
    assert!(!may(rules(&namesake)));
    assert!(!may(pinned(root.certificate())));
    assert!(!may(TrustRules {
        subjects: vec!["CN=other".to_owned()],
        ..rules(&root)
    }));
}

#[test]
fn an_end_entity_issues_nothing() {
    let root = authority();
    let middle = issue::identity(&root, EC, &template("CN=middle")).unwrap();
    let forged = leaf(&middle);
    let store = TrustStore::new(rules(&root)).unwrap();
    let outcome = store.check(&forged, &[middle.certificate().clone()], now());
    assert_eq!(
        outcome,
        Err(TrustError::InvalidPath {
            subject: leaf_name(),
            reason: "EndEntityUsedAsCa".to_owned()
        })
    );
    let legacy = TrustRules {
        allow_legacy_certificates: true,
        ..rules(&root)
    };
    let legacy = TrustStore::new(legacy).unwrap();
    assert!(matches!(
        legacy.check(&forged, &[middle.certificate().clone()], now()),
        Err(TrustError::InvalidPath { .. })
    ));
}

#[test]
fn times_are_checked_to_the_second() {
    let authority = authority();
    let (one, subject) = (leaf(&authority), leaf_name());
    let (first, last) = (at("2026-01-01T00:00:00Z"), at("2026-12-31T00:00:00Z"));
    for legacy in [false, true] {
        let store = || {
            TrustStore::new(TrustRules {
                allow_legacy_certificates: legacy,
                ..rules(&authority)
            })
            .unwrap()
        };
        let check = |now: &str| store().check(&one, &[], at(now));
        assert_eq!(check("2026-01-01T00:00:00Z"), Ok(()));
        assert_eq!(check("2026-12-30T23:59:59Z"), Ok(()));
        assert_eq!(
            check("2025-12-31T23:59:59Z"),
            Err(TrustError::NotYetValid {
                subject: subject.clone(),
                until: first
            })
        );
        assert_eq!(
            check("2026-12-31T00:00:01Z"),
            Err(TrustError::Expired {
                subject: subject.clone(),
                since: last
            })
        );
    }
    let pinned = TrustRules {
        pinned: vec![one.clone()],
        ..TrustRules::default()
    };
    assert_eq!(
        TrustStore::new(pinned)
            .unwrap()
            .check(&one, &[], at("2027-01-01T00:00:00Z")),
        Err(TrustError::Expired {
            subject,
            since: last
        })
    );
    let ignoring = TrustRules {
        ignore_validity: true,
        ..rules(&authority)
    };
    let ignoring = TrustStore::new(ignoring).unwrap();
    assert_eq!(
        ignoring.check(&one, &[], at("2030-01-01T00:00:00Z")),
        Ok(())
    );
}

#[test]
fn an_expired_authority_in_between_is_named() {
    let root = authority();
    let short = Validity {
        not_before: validity().not_before,
        not_after: at("2026-06-01T00:00:00Z"),
    };
    let between = issue::identity(
        &root,
        EC,
        &Template::new("CN=between", short).unwrap().for_authority(),
    )
    .unwrap();
    let leaf = leaf(&between);
    for legacy in [false, true] {
        let store = TrustStore::new(TrustRules {
            allow_legacy_certificates: legacy,
            ..rules(&root)
        })
        .unwrap();
        assert_eq!(
            store.check(&leaf, &[between.certificate().clone()], now()),
            Err(TrustError::Expired {
                subject: "CN=between".to_owned(),
                since: short.not_after
            })
        );
    }
}

#[test]
fn keys_below_the_minimum_are_refused_wherever_they_stand() {
    let weak = KeyKind::Rsa { bits: 1024 };
    let root = issue::authority("CN=weak ca", weak, validity()).unwrap();
    let strong_leaf = leaf(&root);
    let expected = |subject: &str| {
        Err(TrustError::WeakKey {
            subject: subject.to_owned(),
            bits: 1024,
            minimum: 2048,
        })
    };
    assert_eq!(check(rules(&root), &strong_leaf), expected("CN=weak ca"));
    let authority = authority();
    let weak_leaf = issue::identity(&authority, weak, &template("CN=weak")).unwrap();
    assert_eq!(
        check(rules(&authority), weak_leaf.certificate()),
        expected("CN=weak")
    );
    let allowed = TrustRules {
        min_rsa_bits: 1024,
        ..rules(&authority)
    };
    assert_eq!(check(allowed, weak_leaf.certificate()), Ok(()));
    let pinned = TrustRules {
        pinned: vec![weak_leaf.certificate().clone()],
        ..TrustRules::default()
    };
    assert_eq!(check(pinned, weak_leaf.certificate()), expected("CN=weak"));
}

#[test]
fn sha1_certificates_are_trusted_only_when_allowed() {
    let root = authority_of(KeyKind::Rsa { bits: 2048 });
    let old = template("CN=old").signed_with(SignatureAlgorithm::RsaSha1);
    let old = issue::identity(&root, EC, &old).unwrap();
    assert_eq!(
        check(rules(&root), old.certificate()),
        Err(TrustError::WeakSignature {
            subject: "CN=old".to_owned(),
            algorithm: "rsa-sha1".to_owned()
        })
    );
    let allowed = TrustRules {
        allow_sha1_certificates: true,
        ..rules(&root)
    };
    assert_eq!(check(allowed, old.certificate()), Ok(()));
    let legacy = TrustRules {
        allow_legacy_certificates: true,
        ..rules(&root)
    };
    assert_eq!(check(legacy, old.certificate()), Ok(()));
}

#[test]
fn every_kind_of_authority_is_understood() {
    for kind in [
        KeyKind::Rsa { bits: 2048 },
        KeyKind::Ec(Curve::P384),
        KeyKind::Ec(Curve::P521),
        KeyKind::Ec(Curve::Brainpool256),
        KeyKind::Ec(Curve::Brainpool384),
        KeyKind::Ec(Curve::Brainpool512),
        KeyKind::Ed25519,
        KeyKind::Ed448,
    ] {
        let root = authority_of(kind);
        let leaf = leaf(&root);
        assert_eq!(check(rules(&root), &leaf), Ok(()), "{kind}");
        let legacy = TrustRules {
            allow_legacy_certificates: true,
            ..rules(&root)
        };
        assert_eq!(check(legacy, &leaf), Ok(()), "{kind}");
    }
}

#[test]
fn dsa_chains_are_legacy() {
    let root = authority_of(KeyKind::Dsa { bits: 1024 });
    let leaf = leaf(&root);
    assert!(matches!(
        check(rules(&root), &leaf),
        Err(TrustError::WeakSignature { .. })
    ));
    let legacy = TrustRules {
        allow_legacy_certificates: true,
        min_rsa_bits: 1024,
        ..rules(&root)
    };
    assert_eq!(check(legacy, &leaf), Ok(()));
}

/// What `openssl x509 -req` makes when it is given no extensions.
fn version_1(issuer: &Identity) -> Certificate {
    use openssl::asn1::Asn1Time;
    use openssl::x509::{X509, X509Builder};
    let authority = X509::from_der(issuer.certificate().der()).unwrap();
    let mut builder = X509Builder::new().unwrap();
    builder.set_version(0).unwrap();
    builder.set_subject_name(authority.subject_name()).unwrap();
    let mut name = openssl::x509::X509NameBuilder::new().unwrap();
    name.append_entry_by_text("CN", "old").unwrap();
    builder.set_subject_name(&name.build()).unwrap();
    builder.set_issuer_name(authority.subject_name()).unwrap();
    builder
        .set_not_before(&Asn1Time::from_unix(validity().not_before.as_second()).unwrap())
        .unwrap();
    builder
        .set_not_after(&Asn1Time::from_unix(validity().not_after.as_second()).unwrap())
        .unwrap();
    builder
        .set_pubkey(
            PrivateKey::generate(EC)
                .unwrap()
                .software()
                .unwrap()
                .openssl(),
        )
        .unwrap();
    builder
        .sign(
            issuer.key().software().unwrap().openssl(),
            openssl::hash::MessageDigest::sha256(),
        )
        .unwrap();
    Certificate::from_der(&builder.build().to_der().unwrap()).unwrap()
}

#[test]
fn version_1_end_entities_are_legacy() {
    let root = authority();
    let old = version_1(&root);
    assert_eq!(old.version(), 1);
    assert_eq!(
        check(rules(&root), &old),
        Err(TrustError::LegacyCertificate {
            subject: "CN=old".to_owned(),
            what: "not of version 3"
        })
    );
    let legacy = TrustRules {
        allow_legacy_certificates: true,
        ..rules(&root)
    };
    assert_eq!(check(legacy.clone(), &old), Ok(()));
    let impostor = TrustRules {
        anchors: vec![authority().certificate().clone()],
        ..legacy
    };
    assert!(check(impostor, &old).is_err());
}

#[test]
fn an_authority_that_signs_messages_is_legacy() {
    let root = authority();
    let both = issue::identity(&root, EC, &template("CN=both").for_authority()).unwrap();
    assert_eq!(
        check(rules(&root), both.certificate()),
        Err(TrustError::LegacyCertificate {
            subject: "CN=both".to_owned(),
            what: "that of an authority, used to sign messages"
        })
    );
    let legacy = TrustRules {
        allow_legacy_certificates: true,
        require_key_usage: false,
        ..rules(&root)
    };
    assert_eq!(check(legacy, both.certificate()), Ok(()));
}

#[test]
fn a_key_that_may_not_sign_is_refused() {
    let root = authority();
    let only = |sign, encrypt| {
        let template = template("CN=leaf").limited_to(sign, encrypt);
        issue::identity(&root, KeyKind::Rsa { bits: 2048 }, &template)
            .unwrap()
            .certificate()
            .clone()
    };
    assert_eq!(check(rules(&root), &only(true, false)), Ok(()));
    let error = TrustError::KeyUsage {
        subject: "CN=leaf".to_owned(),
        of_authority: false,
        found: "`keyEncipherment`, `dataEncipherment`".to_owned(),
    };
    assert_eq!(
        error.to_string(),
        "expected `digitalSignature` or `nonRepudiation` in the key usage of the certificate of `CN=leaf`, found `keyEncipherment`, `dataEncipherment`"
    );
    let refused = Err(error);
    assert_eq!(check(rules(&root), &only(false, true)), refused);
    let pinned = TrustRules {
        pinned: vec![only(false, true)],
        ..TrustRules::default()
    };
    assert_eq!(check(pinned.clone(), &pinned.pinned[0]), refused);
    let lenient = TrustRules {
        require_key_usage: false,
        ..rules(&root)
    };
    assert_eq!(check(lenient, &only(false, true)), Ok(()));
}

#[test]
fn an_authority_that_may_not_sign_certificates_does_not() {
    let root = authority();
    let between = template("CN=between")
        .for_authority()
        .limited_to(true, true);
    let between = issue::identity(&root, EC, &between).unwrap();
    let leaf = leaf(&between);
    let store = TrustStore::new(rules(&root)).unwrap();
    assert_eq!(
        store.check(&leaf, &[between.certificate().clone()], now()),
        Err(TrustError::KeyUsage {
            subject: "CN=between".to_owned(),
            of_authority: true,
            found: "`digitalSignature`, `nonRepudiation`, `keyEncipherment`, `dataEncipherment`"
                .to_owned(),
        })
    );
}

#[test]
fn only_expected_subjects_are_accepted() {
    let root = authority();
    let leaf = leaf(&root);
    let expecting = |subjects: &[&str]| TrustRules {
        subjects: subjects.iter().map(|&subject| subject.to_owned()).collect(),
        ..rules(&root)
    };
    assert_eq!(
        check(expecting(&["CN=other", "o=ACME, cn=LEAF"]), &leaf),
        Ok(())
    );
    for other in ["CN=leaf,O=Other", "CN=leaf,O=Acme,C=CH"] {
        assert_eq!(
            check(expecting(&["CN=other", other]), &leaf),
            Err(TrustError::SubjectNotAllowed {
                subject: leaf_name(),
                partly: None,
                expected: format!("`CN=other`, `{other}`"),
            })
        );
    }
    assert_eq!(
        TrustStore::new(expecting(&["leaf"])).map(drop),
        Err(CryptoError::Malformed {
            expected: "a distinguished name",
            found: "`leaf`".to_owned()
        })
    );
}

#[test]
fn a_subject_without_attributes_is_refused_and_does_not_mean_everybody() {
    for subject in ["", "  "] {
        let rules = TrustRules {
            subjects: vec!["CN=other".to_owned(), subject.to_owned()],
            ..rules(&authority())
        };
        assert_eq!(
            TrustStore::new(rules).map(drop),
            Err(CryptoError::Malformed {
                expected: "a distinguished name with an attribute",
                found: format!("`{subject}`")
            })
        );
    }
}

#[test]
fn what_was_trusted_is_remembered_until_it_is_no_longer_valid() {
    let root = authority();
    let leaf = leaf(&root);
    let list = issue::revocation_list(
        &root,
        [],
        Validity {
            not_before: validity().not_before,
            not_after: at("2026-12-01T00:00:00Z"),
        },
    )
    .unwrap();
    let store = TrustStore::new(with_list(&root, list)).unwrap();
    assert_eq!(store.check(&leaf, &[], now()), Ok(()));
    assert_eq!(store.cache.len(), 1);
    assert_eq!(store.check(&leaf, &[], now()), Ok(()));
    // The window ends with the revocation list, before the certificate.
    assert!(matches!(
        store.check(&leaf, &[], at("2026-12-02T00:00:00Z")),
        Err(TrustError::RevocationListExpired { .. })
    ));
    assert!(matches!(
        store.check(&leaf, &[], at("2027-12-02T00:00:00Z")),
        Err(TrustError::Expired { .. })
    ));
    assert_eq!(store.cache.len(), 1);
    let again = store.read(leaf.der()).unwrap();
    assert_eq!(again, leaf);
}

#[test]
fn refusals_are_not_remembered_and_the_cache_is_bounded() {
    let root = authority();
    let store = TrustStore::new(rules(&root)).unwrap();
    let stranger = leaf(&issue::authority("CN=stranger", EC, validity()).unwrap());
    assert!(store.check(&stranger, &[], now()).is_err());
    assert_eq!(store.cache.len(), 0);
    let key = PrivateKey::generate(EC).unwrap();
    for _ in 0..1100 {
        let one = issue::issued(&root, key.public_key(), &template("CN=leaf")).unwrap();
        store.cache.remember(Entry {
            window: Window::of(&one),
            root: root.certificate().thumbprint_sha256(),
            certificate: one,
            generation: 0,
        });
    }
    assert_eq!(store.cache.len(), 1024);
}
