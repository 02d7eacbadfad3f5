//! Issuers' names in quotes, which stacks write and read in two ways.

use super::*;
use crate::conversations::text;

/// The DER of `CN=text`.
fn common_name(text: &str) -> Vec<u8> {
    let within = |tag: u8, content: Vec<u8>| {
        let length = u8::try_from(content.len()).unwrap();
        assert!(length < 0x80);
        [vec![tag, length], content].concat()
    };
    let value = within(0x0c, text.as_bytes().to_vec());
    let attribute = [vec![0x06, 3, 0x55, 4, 3], value].concat();
    within(0x30, within(0x31, within(0x30, attribute)))
}

/// The same certificate with another issuer. Nobody signed it.
fn reissued(certificate: &Certificate, issuer: &str, other: &str) -> Certificate {
    let (own, other) = (common_name(issuer), common_name(other));
    let der = certificate.der();
    let at = der.windows(own.len()).position(|it| it == own).unwrap();
    let mut changed = [&der[..at], &other, &der[at + own.len()..]].concat();
    // Both outer lengths have two bytes.
    for place in [2, 6] {
        assert_eq!(changed[place - 2..place], [0x30, 0x82]);
        let length = u16::from_be_bytes([changed[place], changed[place + 1]]);
        let length = usize::from(length) + other.len() - own.len();
        let length = u16::try_from(length).unwrap().to_be_bytes();
        changed[place..place + 2].copy_from_slice(&length);
    }
    Certificate::from_der(&changed).unwrap()
}

/// RFC 2253, 3, and OpenSSL's `oneline` have pairs of hexadecimal digits in quotes; Windows has
/// backslashes there.
#[test]
fn an_issuer_in_quotes_is_read_both_ways_and_two_issuers_mean_none() {
    let sender = keys::identity_by("CN=Grad Č\\, x", "CN=quoted", keys::RSA);
    let own = sender.certificate();
    let (issuer, written) = ("Grad Č, x", r"Grad \C4\8C, x");
    let other = reissued(own, issuer, written);
    let policy = signing_by(KeyReference::Thumbprint);
    let sending = Keys {
        identity: Some(Arc::clone(&sender)),
        ..client_keys()
    };
    let message = text(&secure_with(&policy, sending, PLAIN, None));
    let named = format!(
        "<ds:KeyInfo>{}</ds:KeyInfo>",
        x509_data(
            &issuer_serial(own).replace(own.issuer(), &format!("CN = &quot;{written}&quot;"))
        )
    );
    let message = message.replacen(cut(&message, "ds:KeyInfo"), &named, 1);
    let opened = |pinned: Vec<Certificate>| {
        let mut rules = keys::trust_rules();
        rules.pinned = pinned;
        let keys = Keys {
            trust: Some(Arc::new(TrustStore::new(rules).unwrap())),
            ..by_anchor_alone()
        };
        let opened = open_with(&policy, keys, &facts(), &message, now());
        opened.map(drop).map_err(|refused| refused.name())
    };
    assert_eq!(opened(vec![own.clone()]), Ok(()));
    assert_eq!(opened(vec![]), Err("key-not-found"));
    for two in [[own.clone(), other.clone()], [other, own.clone()]] {
        assert_eq!(opened(two.to_vec()), Err("key-ambiguous"));
    }
}
