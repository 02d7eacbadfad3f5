//! Keys, entropy and lifetimes: short, absurd, in the open.

use soapstone_crypto::{KeyTransport, OaepParameters, PrivateKey, base64};
use soapstone_testkit::keys::{RSA, key_of};
use soapstone_trust::{MessageError, Refusal, TrustFaultCode};

use super::{about, host_of};
use crate::support::{
    Host, WST, WST_2005, after, alice, context, entropy, holder, lifetime, now, request, user,
};

/// WS-Trust 1.4, 4.1 and 12: entropy that can be guessed makes a key that can be.
#[test]
fn short_entropy_is_refused() {
    let host = Host::default();
    for (found, bits, minimum) in [(1, 128, 16), (15, 256, 16), (16, 264, 17), (31, 512, 32)] {
        let elements = format!("{}<wst:KeySize>{bits}</wst:KeySize>", entropy(found));
        let refusal = host.refusal(&request("Issue", &elements), &alice());
        assert_eq!(refusal, Refusal::EntropyLength { found, minimum });
    }
}

#[test]
fn entropy_that_is_none_is_refused() {
    let host = Host::default();
    let secret = |attributes: &str, text: &str| {
        format!(
            "<wst:Entropy><wst:BinarySecret {attributes}>{text}</wst:BinarySecret></wst:Entropy>"
        )
    };
    let long = base64::encode(&[7; 129]);
    let good = base64::encode(&[7; 32]);
    let asymmetric = format!("Type='{WST}/AsymmetricKey'");
    for elements in [
        secret("", ""),
        secret("", "!!!!"),
        secret("", &long),
        secret("", &"A".repeat(100_000)),
        secret("", &format!("<x/>{good}")),
        secret("", &format!("<!-- -->{good}")),
        secret(&asymmetric, &good),
        secret("Type='urn:other'", &good),
        secret(&format!("Type='{WST_2005}/Nonce'"), &good),
        "<wst:Entropy/>".to_owned(),
        format!("<wst:Entropy><wst:Nonce>{good}</wst:Nonce></wst:Entropy>"),
        entropy(32).replace(
            "</wst:Entropy>",
            "<wst:BinarySecret>AAAA</wst:BinarySecret></wst:Entropy>",
        ),
    ] {
        let refusal = host.refusal(&request("Issue", &elements), &alice());
        assert!(matches!(refusal, Refusal::Malformed(_)), "{refusal}");
        assert_eq!(refusal.code(), TrustFaultCode::InvalidRequest);
        // What may be secret is in no log.
        assert!(!refusal.to_string().contains(&good), "{refusal}");
    }
}

#[test]
fn entropy_is_required_where_the_rules_say_so() {
    let theirs = context("urn:uuid:theirs");
    let host = Host::new(|rules| {
        rules.issuer_key_alone = false;
        rules.renewal_by_key_alone = Some(std::time::Duration::from_secs(1000));
    });
    let refusal = host.refusal(&request("Issue", ""), &alice());
    assert_eq!(refusal, Refusal::EntropyMissing);
    // Of new contexts only: what is renewed has been agreed on.
    let body = about("Renew", &theirs.identifier, "");
    host.answer(
        body.as_bytes(),
        None,
        &holder(user("alice"), &theirs),
        now(),
    )
    .unwrap();
    let renewed = host.contexts.borrow_mut().pop().unwrap();
    assert_ne!(renewed.secret.expose(), theirs.secret.expose());
}

/// Entropy for one reader: one failure, whatever its cause (Bleichenbacher 1998; Manger 2001).
#[test]
fn encrypted_entropy_opens_with_oaep_and_our_key_or_not_at_all() {
    let [key, other] = ["the service's", "another"].map(|owner| key_of(owner, RSA));
    let sealed = |key: &PrivateKey, algorithm: KeyTransport| {
        let cipher = key
            .public_key()
            .wrap(algorithm, &OaepParameters::default(), &[7; 32])
            .unwrap();
        format!(
            "<wst:Entropy><x:EncryptedKey xmlns:x='http://www.w3.org/2001/04/xmlenc#'><x:EncryptionMethod Algorithm='{}'/>\
             <x:CipherData><x:CipherValue>{}</x:CipherValue></x:CipherData></x:EncryptedKey></wst:Entropy>",
            algorithm.uri(),
            base64::encode(&cipher)
        )
    };
    let host = Host::new(|rules| rules.decryption_key = Some(key.clone()));
    // The one's entropy is secret, so that the other's need not be.
    let mut readable = alice();
    readable.confidential = false;
    let body = request("Issue", &sealed(&key, KeyTransport::RsaOaepMgf1p));
    let answer = host
        .answer(body.as_bytes(), None, &readable, now())
        .unwrap();
    assert!(!answer.confidential);

    let longer =
        sealed(&key, KeyTransport::RsaOaepMgf1p).replace("<x:CipherValue>", "<x:CipherValue>AAAA");
    for elements in [
        sealed(&other, KeyTransport::RsaOaepMgf1p),
        sealed(&key, KeyTransport::Rsa15),
        sealed(&other, KeyTransport::Rsa15),
        longer,
    ] {
        let refusal = host.refusal(&request("Issue", &elements), &alice());
        assert_eq!(refusal, Refusal::EntropyUnreadable);
    }
    let keyless = Host::default();
    assert_eq!(keyless.refusal(&body, &alice()), Refusal::EntropyUnreadable);
}

/// Key material in messages that everybody on the way can read.
#[test]
fn keys_are_not_made_in_the_open() {
    let theirs = context("urn:uuid:theirs");
    let host = host_of(std::slice::from_ref(&theirs));
    let mut requester = holder(user("alice"), &theirs);
    requester.confidential = false;
    for body in [
        request("Issue", ""),
        request("Issue", &entropy(32)),
        about("Renew", &theirs.identifier, &entropy(32)),
        about("Renew", &theirs.identifier, ""),
    ] {
        assert_eq!(host.refusal(&body, &requester), Refusal::NotConfidential);
    }
    let body = about("Cancel", &theirs.identifier, "");
    host.answer(body.as_bytes(), None, &requester, now())
        .unwrap();
}

#[test]
fn absurd_key_sizes_are_refused() {
    let host = Host::default();
    for found in [0, 1, 8, 120, 127, 129, 255, 520, 4096, u32::MAX] {
        let elements = format!("<wst:KeySize>{found}</wst:KeySize>{}", entropy(32));
        let refusal = host.refusal(&request("Issue", &elements), &alice());
        let (minimum, maximum) = (128, 512);
        assert_eq!(
            refusal,
            Refusal::KeySizeNotOffered {
                found,
                minimum,
                maximum
            }
        );
    }
    for text in ["", "-1", "4294967296", "256.0", "0x100", "256 bits"] {
        let elements = format!("<wst:KeySize>{text}</wst:KeySize>");
        let refusal = host.refusal(&request("Issue", &elements), &alice());
        let expected = MessageError::Value {
            element: format!("{{{WST}}}KeySize"),
            expected: "a number of bits",
            found: Some(text.to_owned()),
            line: 1,
        };
        assert_eq!(refusal, Refusal::Malformed(expected));
    }
}

/// WS-Trust 1.4, 9.2.
#[test]
fn other_keys_and_computations_are_refused() {
    let host = Host::default();
    for kind in ["PublicKey", "Bearer", "Other"] {
        let found = format!("{WST}/{kind}");
        let elements = format!("<wst:KeyType>{found}</wst:KeyType>");
        let refusal = host.refusal(&request("Issue", &elements), &alice());
        assert_eq!(refusal, Refusal::KeyTypeNotOffered { found });
    }
    for algorithm in ["CK/HASH", "CK/PSHA256", "PSHA1"] {
        let found = format!("{WST}/{algorithm}");
        let elements = format!(
            "<wst:ComputedKeyAlgorithm>{found}</wst:ComputedKeyAlgorithm>{}",
            entropy(32)
        );
        let refusal = host.refusal(&request("Issue", &elements), &alice());
        assert_eq!(refusal, Refusal::ComputedKeyNotOffered { found });
    }
}

/// WS-Trust 1.4, 4.1: `wst:InvalidTimeRange`.
#[test]
fn absurd_lifetimes_are_refused_and_long_ones_cut() {
    let host = Host::default();
    for (created, expires) in [(0, 0), (10, 5), (-7200, -3600), (301, 600), (-100_000, 0)] {
        let body = request("Issue", &(lifetime(created, expires) + &entropy(32)));
        let refusal = host.refusal(&body, &alice());
        assert!(matches!(refusal, Refusal::TimeRange { .. }), "{refusal}");
        assert_eq!(refusal.code(), TrustFaultCode::InvalidTimeRange);
    }
    let hour = 3600;
    for (elements, granted) in [
        (lifetime(0, 600), 600),
        (lifetime(-120, 480), 600),
        (lifetime(250, 850), 600),
        (lifetime(0, 240 * hour), 12 * hour),
        (lifetime(-1000 * hour, 2 * hour), 2 * hour),
        (
            lifetime(0, 1).replace(&after(1).to_string(), "9999-12-30T22:00:00Z"),
            12 * hour,
        ),
        ("<wst:Lifetime/>".to_owned(), hour),
        (String::new(), hour),
    ] {
        let body = request("Issue", &(elements + &entropy(32)));
        host.answer(body.as_bytes(), None, &alice(), now()).unwrap();
        let context = host.contexts.borrow_mut().pop().unwrap();
        assert_eq!(context.expires, after(granted), "{body}");
    }
    for text in [
        "",
        "tomorrow",
        "2026-11-20T13:00:00",
        "2026-11-20 13:00:00Z",
    ] {
        let time = format!("<wst:Lifetime><wsu:Expires>{text}</wsu:Expires></wst:Lifetime>");
        let refusal = host.refusal(&request("Issue", &time), &alice());
        assert!(matches!(refusal, Refusal::Malformed(_)), "{refusal}");
    }
}
