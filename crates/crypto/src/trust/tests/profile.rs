//! What certificates and revocation lists may say that changes what they are good for (RFC 5280).

use super::lists::revokes_an_authority_in_between;
use super::*;
use crate::certificate::KeyPurpose;
use crate::der;
use crate::name::DistinguishedName;

const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 37];
const DISTRIBUTION_POINTS: &[u8] = &[0x55, 0x1d, 31];
const ISSUING_POINT: &[u8] = &[0x55, 0x1d, 28];
const DELTA: &[u8] = &[0x55, 0x1d, 27];
const NAME_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 30];
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 19];

fn issued(root: &Identity, template: &Template) -> Certificate {
    issue::identity(root, EC, template)
        .unwrap()
        .certificate()
        .clone()
}

fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    der::element(der::SEQUENCE, parts)
}

/// Both validators: the strict one, and OpenSSL for legacy certificates.
fn in_both_ways(rules: &TrustRules) -> [TrustRules; 2] {
    [false, true].map(|legacy| TrustRules {
        allow_legacy_certificates: legacy,
        ..rules.clone()
    })
}

fn not_allowed(subject: &str, partly: Option<&str>, expected: &str) -> Result<(), TrustError> {
    Err(TrustError::SubjectNotAllowed {
        subject: subject.to_owned(),
        partly: partly.map(str::to_owned),
        expected: format!("`{expected}`"),
    })
}

#[test]
fn an_expected_subject_is_the_whole_name_unless_the_rules_say_otherwise() {
    let root = authority();
    let expecting = |subject: &str, subject_match| TrustRules {
        subjects: vec![subject.to_owned()],
        subject_match,
        ..rules(&root)
    };
    for (subject, expected, whole, contains) in [
        ("CN=client", "CN=client", true, true),
        ("CN=client,O=Example", "CN=client,O=Example", true, true),
        ("CN=client,O=Example", "O=Example,CN=client", true, true),
        ("CN=client,O=Example", "CN=client", false, true),
        ("CN=client,CN=evil", "CN=client", false, false),
        ("CN=evil+CN=client", "CN=client", false, false),
        (
            "CN=client,O=Evil,O=Example",
            "CN=client,O=Example",
            false,
            false,
        ),
        ("CN=client,O=Evil", "CN=client,O=Example", false, false),
    ] {
        let certificate = issued(&root, &template(subject));
        let accepted = |subject_match| {
            let outcome = check(expecting(expected, subject_match), &certificate);
            match &outcome {
                Ok(()) => true,
                refused => {
                    let partly = contains.then_some(expected);
                    assert_eq!(*refused, not_allowed(subject, partly, expected));
                    false
                }
            }
        };
        assert_eq!(accepted(SubjectMatch::Whole), whole, "{subject}");
        assert_eq!(accepted(SubjectMatch::Contains), contains, "{subject}");
    }
}

#[test]
fn a_subject_that_is_a_part_of_the_name_is_told() {
    let error = not_allowed("CN=client,O=Example", Some("CN=client"), "CN=client").unwrap_err();
    assert_eq!(
        error.to_string(),
        "`CN=client,O=Example` is trusted but not among the subjects expected (`CN=client` is only a part of it)"
    );
    let error = not_allowed("CN=other", None, "CN=client").unwrap_err();
    assert_eq!(
        error.to_string(),
        "`CN=other` is trusted but not among the subjects expected (`CN=client`)"
    );
}

#[test]
fn an_empty_subject_is_nobody_who_is_expected() {
    let root = authority();
    let name = sequence(&[&der::element(der::context_primitive(2), &[b"client"])]);
    let nameless =
        Template::new("", validity())
            .unwrap()
            .with_extension(&[0x55, 0x1d, 17], true, &name);
    let nameless = issued(&root, &nameless);
    assert_eq!(check(rules(&root), &nameless), Ok(()));
    for subject_match in [SubjectMatch::Whole, SubjectMatch::Contains] {
        let expecting = TrustRules {
            subjects: vec!["CN=client".to_owned()],
            subject_match,
            ..rules(&root)
        };
        assert_eq!(
            check(expecting, &nameless),
            not_allowed("", None, "CN=client")
        );
    }
}

fn with_purposes(template: Template, critical: bool, purposes: &[&str]) -> Template {
    let oids: Vec<Vec<u8>> = purposes
        .iter()
        .map(|purpose| match *purpose {
            "anyExtendedKeyUsage" => der::oid_from_dotted("2.5.29.37.0").unwrap(),
            "serverAuth" => der::oid_from_dotted("1.3.6.1.5.5.7.3.1").unwrap(),
            "clientAuth" => der::oid_from_dotted("1.3.6.1.5.5.7.3.2").unwrap(),
            "codeSigning" => der::oid_from_dotted("1.3.6.1.5.5.7.3.3").unwrap(),
            "emailProtection" => der::oid_from_dotted("1.3.6.1.5.5.7.3.4").unwrap(),
            "OCSPSigning" => der::oid_from_dotted("1.3.6.1.5.5.7.3.9").unwrap(),
            dotted => der::oid_from_dotted(dotted).unwrap(),
        })
        .map(|oid| der::element(der::OID, &[&oid]))
        .collect();
    let parts: Vec<&[u8]> = oids.iter().map(Vec::as_slice).collect();
    template.with_extension(EXTENDED_KEY_USAGE, critical, &sequence(&parts))
}

fn for_other_purposes(subject: &str, found: &[&str]) -> Result<(), TrustError> {
    Err(TrustError::ExtendedKeyUsage {
        subject: subject.to_owned(),
        found: found
            .iter()
            .map(|purpose| KeyPurpose::parse(purpose).unwrap())
            .collect(),
    })
}

#[test]
fn a_critical_extended_key_usage_must_cover_messages() {
    let root = authority();
    for (critical, purposes, accepted) in [
        (true, &["codeSigning"][..], false),
        (true, &["OCSPSigning"], false),
        (true, &["serverAuth"], false),
        (true, &["1.2.3.4"], false),
        (true, &["codeSigning", "clientAuth"], true),
        (true, &["emailProtection"], true),
        (true, &["anyExtendedKeyUsage"], true),
        (false, &["codeSigning"], true),
    ] {
        let one = issued(
            &root,
            &with_purposes(template("CN=leaf"), critical, purposes),
        );
        let expected = match accepted {
            true => Ok(()),
            false => for_other_purposes("CN=leaf", purposes),
        };
        for rules in in_both_ways(&rules(&root)) {
            assert_eq!(check(rules, &one), expected, "{purposes:?}");
        }
        let pinned = TrustRules {
            pinned: vec![one.clone()],
            ..TrustRules::default()
        };
        assert_eq!(check(pinned, &one), expected, "{purposes:?}");
    }
}

#[test]
fn a_purpose_can_be_demanded() {
    let root = authority();
    let demanding = TrustRules {
        extended_key_usage: vec![
            KeyPurpose::parse("clientAuth").unwrap(),
            KeyPurpose::parse("1.3.6.1.5.5.7.3.36").unwrap(),
        ],
        ..rules(&root)
    };
    let plain = issued(&root, &template("CN=leaf"));
    assert_eq!(
        check(demanding.clone(), &plain),
        for_other_purposes("CN=leaf", &[])
    );
    for (purposes, accepted) in [
        (&["clientAuth"][..], true),
        (&["serverAuth", "1.3.6.1.5.5.7.3.36"], true),
        (&["serverAuth"], false),
        // It restricts nothing, and says nothing of what is demanded either.
        (&["anyExtendedKeyUsage"], false),
        (&["emailProtection"], false),
    ] {
        for critical in [false, true] {
            let one = issued(
                &root,
                &with_purposes(template("CN=leaf"), critical, purposes),
            );
            let expected = match accepted {
                true => Ok(()),
                false => for_other_purposes("CN=leaf", purposes),
            };
            for rules in in_both_ways(&demanding) {
                assert_eq!(check(rules, &one), expected, "{purposes:?}");
            }
        }
    }
}

#[test]
fn the_purposes_of_an_authority_cover_what_it_issues() {
    let root = authority();
    let demanding = TrustRules {
        extended_key_usage: vec![KeyPurpose::parse("clientAuth").unwrap()],
        ..rules(&root)
    };
    for (critical, purpose, by_default, demanded) in [
        (true, "codeSigning", false, false),
        (false, "codeSigning", true, false),
        (false, "anyExtendedKeyUsage", true, true),
        (true, "clientAuth", true, true),
    ] {
        let between = with_purposes(template("CN=between"), critical, &[purpose]).for_authority();
        let between = issue::identity(&root, EC, &between).unwrap();
        let leaf = issued(
            &between,
            &with_purposes(template("CN=leaf"), false, &["clientAuth"]),
        );
        let sent = [between.certificate().clone()];
        for (rules, accepted) in [(rules(&root), by_default), (demanding.clone(), demanded)] {
            let expected = match accepted {
                true => Ok(()),
                false => for_other_purposes("CN=between", &[purpose]),
            };
            for rules in in_both_ways(&rules) {
                let store = TrustStore::new(rules).unwrap();
                assert_eq!(store.check(&leaf, &sent, now()), expected, "{purpose}");
            }
        }
    }
}

#[test]
fn an_anchor_that_is_no_authority_issues_nothing() {
    let key = PrivateKey::generate(EC).unwrap();
    let peer = issue::self_signed(key, &template("CN=peer")).unwrap();
    let forged = issued(&peer, &template("CN=somebody else"));
    assert_eq!(
        check(rules(&peer), &forged),
        Err(TrustError::InvalidPath {
            subject: "CN=somebody else".to_owned(),
            reason: "`CN=peer` is not an authority".to_owned()
        })
    );
}

/// The value of basic constraints for an authority with at most that many below it.
fn at_most(below: u8) -> Vec<u8> {
    sequence(&[
        &der::element(der::BOOLEAN, &[&[0xff]]),
        &der::element(der::INTEGER, &[&[below]]),
    ])
}

#[test]
fn an_anchor_has_no_more_authorities_below_it_than_it_allows() {
    for (allowed, accepted) in [(0, false), (1, true)] {
        let root = with_constraints(&at_most(allowed));
        let between = issue::identity(&root, EC, &template("CN=between").for_authority()).unwrap();
        let leaf = issued(&between, &template("CN=leaf"));
        let store = TrustStore::new(rules(&root)).unwrap();
        let outcome = store.check(&leaf, &[between.certificate().clone()], now());
        let expected = match accepted {
            true => Ok(()),
            false => Err(TrustError::InvalidPath {
                subject: "CN=leaf".to_owned(),
                reason: "`CN=ca` allows 0 authorities below it".to_owned(),
            }),
        };
        assert_eq!(outcome, expected);
    }
}

/// An authority with these basic constraints: those of `issue` have no bound.
fn with_constraints(value: &[u8]) -> Identity {
    use openssl::asn1::{Asn1Object, Asn1OctetString, Asn1Time};
    use openssl::x509::{X509Builder, X509Extension, X509NameBuilder};
    let key = PrivateKey::generate(EC).unwrap();
    let mut name = X509NameBuilder::new().unwrap();
    name.append_entry_by_text("CN", "ca").unwrap();
    let name = name.build();
    let mut builder = X509Builder::new().unwrap();
    builder.set_version(2).unwrap();
    builder.set_subject_name(&name).unwrap();
    builder.set_issuer_name(&name).unwrap();
    let time = |moment: Timestamp| Asn1Time::from_unix(moment.as_second()).unwrap();
    builder
        .set_not_before(&time(validity().not_before))
        .unwrap();
    builder.set_not_after(&time(validity().not_after)).unwrap();
    builder
        .set_pubkey(key.software().unwrap().openssl())
        .unwrap();
    let oid = Asn1Object::from_str(&der::dotted(BASIC_CONSTRAINTS)).unwrap();
    let value = Asn1OctetString::new_from_bytes(value).unwrap();
    let extension = X509Extension::new_from_der(&oid, true, &value).unwrap();
    builder.append_extension(extension).unwrap();
    builder
        .sign(
            key.software().unwrap().openssl(),
            openssl::hash::MessageDigest::sha256(),
        )
        .unwrap();
    let certificate = Certificate::from_der(&builder.build().to_der().unwrap()).unwrap();
    Identity::new(key, certificate, Vec::new()).unwrap()
}

#[test]
fn name_constraints_that_are_not_understood_refuse_what_they_are_about() {
    let root = authority();
    // Permitted: names below `O=Acme` only, which is not computed, so that it permits none.
    let acme = DistinguishedName::parse("O=Acme").unwrap().to_der();
    let subtree = sequence(&[&der::element(der::context(4), &[&acme])]);
    let constraints = sequence(&[&der::element(der::context(0), &[&subtree])]);
    let between =
        template("CN=between")
            .for_authority()
            .with_extension(NAME_CONSTRAINTS, true, &constraints);
    let between = issue::identity(&root, EC, &between).unwrap();
    let store = TrustStore::new(rules(&root)).unwrap();
    assert_eq!(
        store.check(
            &issued(&between, &template("CN=leaf,O=Other")),
            &[between.certificate().clone()],
            now()
        ),
        Err(TrustError::InvalidPath {
            subject: "CN=leaf,O=Other".to_owned(),
            reason: "NameConstraintViolation".to_owned()
        })
    );
}

#[test]
fn an_extension_that_occurs_twice_makes_a_certificate_unreadable() {
    let twice = with_purposes(template("CN=leaf"), true, &["clientAuth"]);
    let twice = with_purposes(twice, true, &["codeSigning"]);
    assert_eq!(
        issue::identity(&authority(), EC, &twice).map(drop),
        Err(CryptoError::Malformed {
            expected: "an X.509 certificate",
            found: "bytes that are not its DER".to_owned()
        })
    );
}

/// `GeneralNames` with one address, without its tag.
fn address(text: &str) -> Vec<u8> {
    der::element(der::context_primitive(6), &[text.as_bytes()])
}

/// A `DistributionPointName` with a full name, in its tag.
fn full_name(general_name: &[u8]) -> Vec<u8> {
    let full = der::element(der::context(0), &[general_name]);
    der::element(der::context(0), &[&full])
}

/// A certificate whose lists are at these points.
fn at_points(root: &Identity, points: &[Vec<u8>]) -> Certificate {
    let parts: Vec<&[u8]> = points.iter().map(Vec::as_slice).collect();
    let points = template("CN=leaf").with_extension(DISTRIBUTION_POINTS, false, &sequence(&parts));
    issued(root, &points)
}

fn part_of_a_list(root: &Identity, point: &[u8], revoked: Option<&Certificate>) -> Vec<u8> {
    let point = issue::extension(ISSUING_POINT, true, &sequence(&[point]));
    let name = root.certificate().subject_der();
    issue::list_with(root, name, revoked, validity(), &[point]).unwrap()
}

fn unknown() -> Result<(), TrustError> {
    Err(TrustError::RevocationUnknown {
        issuer: "CN=ca".to_owned(),
    })
}

#[test]
fn a_part_of_a_revocation_list_tells_about_its_own_certificates_only() {
    let root = authority();
    let point = |part: &str| full_name(&address(&format!("http://crl.example/{part}.crl")));
    let of = |part: &str| at_points(&root, &[sequence(&[&point(part)])]);
    let seventh = part_of_a_list(&root, &point("7"), None);
    let several = at_points(&root, &[sequence(&[&point("1")]), sequence(&[&point("7")])]);
    for rules in in_both_ways(&with_list(&root, seventh)) {
        assert_eq!(check(rules.clone(), &of("7")), Ok(()));
        assert_eq!(check(rules.clone(), &several), Ok(()));
        assert_eq!(check(rules.clone(), &of("1")), unknown());
        assert_eq!(check(rules, &leaf(&root)), unknown());
    }
    let revoked = of("7");
    let list = part_of_a_list(&root, &point("7"), Some(&revoked));
    assert_eq!(
        check(with_list(&root, list.clone()), &revoked),
        Err(TrustError::Revoked {
            subject: "CN=leaf".to_owned()
        })
    );
    let both = TrustRules {
        revocation_lists: vec![list, part_of_a_list(&root, &point("1"), None)],
        ..rules(&root)
    };
    assert_eq!(check(both, &of("1")), Ok(()));
}

#[test]
fn a_point_by_the_issuers_name_is_that_of_all_its_certificates() {
    let root = authority();
    let directory = |name: &str| {
        let name = DistinguishedName::parse(name).unwrap().to_der();
        full_name(&der::element(der::context(4), &[&name]))
    };
    let of = |name: &str| part_of_a_list(&root, &directory(name), None);
    assert_eq!(check(with_list(&root, of("CN=ca")), &leaf(&root)), Ok(()));
    assert_eq!(
        check(with_list(&root, of("CN=other")), &leaf(&root)),
        unknown()
    );
    let relative = |value: &[u8]| {
        let oid = der::element(der::OID, &[&[0x55, 4, 3]]);
        let attribute = sequence(&[&oid, &der::element(0x0c, &[value])]);
        let relative = der::element(der::context(1), &[&attribute]);
        der::element(der::context(0), &[&relative])
    };
    let certificate = at_points(&root, &[sequence(&[&relative(b"crl 7")])]);
    for (list, expected) in [
        (part_of_a_list(&root, &relative(b"crl 7"), None), Ok(())),
        (part_of_a_list(&root, &relative(b"crl 1"), None), unknown()),
        (of("CN=crl 7,CN=ca"), Ok(())),
    ] {
        assert_eq!(check(with_list(&root, list), &certificate), expected);
    }
}

#[test]
fn points_of_other_issuers_or_of_some_reasons_do_not_make_a_list_complete() {
    let root = authority();
    let point = full_name(&address("http://crl.example/7.crl"));
    let reasons = der::element(der::context_primitive(1), &[&[1, 0x40]]);
    let name = DistinguishedName::parse("CN=other").unwrap().to_der();
    let other = der::element(der::context(4), &[&name]);
    let issuer = der::element(der::context(2), &[&other]);
    let list = || part_of_a_list(&root, &point, None);
    for fields in [
        &[&point[..], &reasons][..],
        &[&point[..], &issuer],
        &[&issuer[..]],
    ] {
        let certificate = at_points(&root, &[sequence(fields)]);
        assert_eq!(check(with_list(&root, list()), &certificate), unknown());
    }
    let certificate = at_points(&root, &[sequence(&[&point, &reasons])]);
    let revoking = part_of_a_list(&root, &point, Some(&certificate));
    assert_eq!(
        check(with_list(&root, revoking), &certificate),
        Err(TrustError::Revoked {
            subject: "CN=leaf".to_owned()
        })
    );
}

#[test]
fn a_distribution_point_that_cannot_be_read_is_none() {
    let root = authority();
    let point = full_name(&address("http://crl.example/7.crl"));
    let certificate = at_points(&root, &[vec![1, 2, 3]]);
    let list = part_of_a_list(&root, &point, None);
    assert_eq!(check(with_list(&root, list), &certificate), unknown());
    let full = issue::revocation_list(&root, [], validity()).unwrap();
    assert_eq!(check(with_list(&root, full), &certificate), Ok(()));
}

#[test]
fn a_list_that_is_not_complete_by_itself_is_refused_whether_it_says_critical_or_not() {
    let root = authority();
    let flag = |number| sequence(&[&der::element(der::context_primitive(number), &[&[0xff]])]);
    for critical in [true, false] {
        for (oid, value, name) in [
            (DELTA, der::element(der::INTEGER, &[&[1]]), "2.5.29.27"),
            (ISSUING_POINT, flag(4), "2.5.29.28"),
            (ISSUING_POINT, flag(5), "2.5.29.28"),
            (
                ISSUING_POINT,
                sequence(&[&der::element(der::context_primitive(3), &[&[1, 0x40]])]),
                "2.5.29.28",
            ),
        ] {
            let extension = issue::extension(oid, critical, &value);
            let name_of_issuer = root.certificate().subject_der();
            let list =
                issue::list_with(&root, name_of_issuer, [], validity(), &[extension]).unwrap();
            assert_eq!(
                TrustStore::new(with_list(&root, list)).map(drop),
                Err(CryptoError::Unsupported {
                    what: format!("a revocation list with the critical extension {name}")
                })
            );
        }
    }
}

#[test]
fn an_extension_that_occurs_twice_makes_a_list_unreadable() {
    let root = authority();
    let point = |part: &str| {
        let point = full_name(&address(&format!("http://crl.example/{part}.crl")));
        issue::extension(ISSUING_POINT, true, &sequence(&[&point]))
    };
    let name = root.certificate().subject_der();
    let list = issue::list_with(&root, name, [], validity(), &[point("1"), point("7")]).unwrap();
    assert_eq!(
        TrustStore::new(with_list(&root, list)).map(drop),
        Err(CryptoError::Malformed {
            expected: "a certificate revocation list",
            found: "bytes that are not its DER".to_owned()
        })
    );
}

#[test]
fn a_list_whose_issuer_is_written_in_another_string_type_revokes_all_the_same() {
    // PrintableString where the certificates have UTF8String.
    let oid = der::element(der::OID, &[&[0x55, 4, 3]]);
    let attribute = sequence(&[&oid, &der::element(0x13, &[b"ca"])]);
    let name = sequence(&[&der::element(der::SET, &[&attribute])]);
    revokes_an_authority_in_between(|root, between| {
        issue::list_with(root, &name, [between], validity(), &[]).unwrap()
    });
}
