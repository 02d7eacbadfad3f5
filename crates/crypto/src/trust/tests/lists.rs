//! Revocation lists that the rules hold: whose they are, whom they revoke, until when they count
//! (RFC 5280, 6.3).

use super::*;

pub(super) fn with_list(issuer: &Identity, list: Vec<u8>) -> TrustRules {
    TrustRules {
        revocation_lists: vec![list],
        ..rules(issuer)
    }
}

#[test]
fn a_revoked_certificate_is_refused() {
    let root = authority();
    let (good, bad) = (leaf(&root), leaf(&root));
    let list = issue::revocation_list(&root, [&bad], validity()).unwrap();
    for legacy in [false, true] {
        let rules = TrustRules {
            allow_legacy_certificates: legacy,
            ..with_list(&root, list.clone())
        };
        assert_eq!(check(rules.clone(), &good), Ok(()));
        assert_eq!(
            check(rules, &bad),
            Err(TrustError::Revoked {
                subject: leaf_name()
            })
        );
    }
    let pem = pem_of(&list);
    assert_eq!(
        check(with_list(&root, pem.into_bytes()), &bad),
        Err(TrustError::Revoked {
            subject: leaf_name()
        })
    );
}

fn pem_of(list: &[u8]) -> String {
    crate::keystore::pem::block("X509 CRL", list)
}

#[test]
fn a_revoked_authority_in_between_is_noticed() {
    revokes_an_authority_in_between(|root, between| {
        issue::revocation_list(root, [between], validity()).unwrap()
    });
}

/// The root's list, which is made of the root and the authority that it revokes, is noticed.
pub(super) fn revokes_an_authority_in_between(list: impl Fn(&Identity, &Certificate) -> Vec<u8>) {
    let root = authority();
    let between = issue::identity(&root, EC, &template("CN=between").for_authority()).unwrap();
    let leaf = leaf(&between);
    let lists = vec![
        list(&root, between.certificate()),
        issue::revocation_list(&between, [], validity()).unwrap(),
    ];
    let store = TrustStore::new(TrustRules {
        revocation_lists: lists,
        ..rules(&root)
    })
    .unwrap();
    assert_eq!(
        store.check(&leaf, &[between.certificate().clone()], now()),
        Err(TrustError::Revoked {
            subject: "CN=between".to_owned()
        })
    );
}

#[test]
fn a_list_must_come_from_the_issuer_and_be_current() {
    let root = authority();
    let leaf = leaf(&root);
    // The same name with another key: the list is not that of the issuer.
    let forged = issue::revocation_list(&authority(), [], validity()).unwrap();
    assert_eq!(
        check(with_list(&root, forged), &leaf),
        Err(TrustError::RevocationUnknown {
            issuer: "CN=ca".to_owned()
        })
    );
    let due = at("2026-11-01T00:00:00Z");
    let stale = Validity {
        not_before: validity().not_before,
        not_after: due,
    };
    let stale = issue::revocation_list(&root, [], stale).unwrap();
    assert_eq!(
        check(with_list(&root, stale), &leaf),
        Err(TrustError::RevocationListExpired {
            issuer: "CN=ca".to_owned(),
            since: due
        })
    );
}

#[test]
fn a_revocation_list_says_whose_it_is_when_it_was_made_and_when_the_next_is_due() {
    let list = issue::revocation_list(&authority(), [], validity()).unwrap();
    let expected = RevocationListFacts {
        issuer: "CN=ca".to_owned(),
        this_update: validity().not_before,
        next_update: Some(validity().not_after),
    };
    assert_eq!(RevocationListFacts::of(&list), Ok(expected));
}

#[test]
fn a_revocation_list_that_is_none_is_refused_when_the_store_is_made() {
    let root = authority();
    assert_eq!(
        TrustStore::new(with_list(&root, b"no list".to_vec())).map(drop),
        Err(CryptoError::Malformed {
            expected: "a certificate revocation list",
            found: "bytes that are not its DER".to_owned()
        })
    );
}
