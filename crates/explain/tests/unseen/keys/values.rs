//! Values of RSA and ECDSA that are written otherwise, or made by another hash or key.

use soapstone::crypto::{SignatureAlgorithm, base64};
use soapstone_explain::Known;

use super::decoded;
use crate::cases::{Cases, Sender, rich};
use crate::support::{
    self, as_it_is, certificate, private_key, replaced_value, secured, value, with_value,
};

/// An RSA message whose value begins with a zero.
fn with_zero() -> String {
    for number in 0..4000 {
        let plain = rich().replace("deep", &format!("deep {number}"));
        let message = secured("client", support::RSA, &plain);
        if decoded(&message)[0] == 0 {
            return message;
        }
    }
    panic!("no value begins with a zero");
}

fn der(value: &[u8]) -> Vec<u8> {
    let integer = |number: &[u8]| {
        let zeros = number.iter().take_while(|byte| **byte == 0).count();
        let mut digits = number[zeros..].to_vec();
        if digits[0] >= 0x80 {
            digits.insert(0, 0);
        }
        let length = u8::try_from(digits.len()).expect("short");
        [&[0x02, length], digits.as_slice()].concat()
    };
    let (r, s) = value.split_at(value.len() / 2);
    let inside = [integer(r), integer(s)].concat();
    let length = u8::try_from(inside.len()).expect("short");
    [&[0x30, length], inside.as_slice()].concat()
}

pub(super) fn values(cases: &mut Cases) {
    let message = support::signed();
    let bytes = decoded(&message);
    let mut add = |name, kinds, message: String| {
        cases.add(name, kinds, message, Known::default());
    };
    let kind = "signature-encoding";
    let again = |bytes: &[u8]| replaced_value(&message, &base64::encode(bytes));
    let zero = with_zero();
    let cut = base64::encode(&decoded(&zero)[1..]);
    add("a zero in front cut off", kind, replaced_value(&zero, &cut));
    add(
        "a zero in front",
        kind,
        again(&[&[0], bytes.as_slice()].concat()),
    );
    let spaced = value(&message).replace('+', " ");
    assert_ne!(spaced, value(&message));
    add(
        "plus signs read as spaces",
        kind,
        replaced_value(&message, &spaced),
    );
    let key = private_key("client");
    let by = |method, bytes: &[u8]| key.sign(method, bytes).expect("a signature");
    add(
        "SHA-384 under the name of SHA-256",
        "other-hash",
        with_value(
            &message,
            |it| by(SignatureAlgorithm::RsaSha384, it),
            &as_it_is,
        ),
    );
    let ec = |number: usize| Sender::new(number, &rich());
    let (p256, p384) = (ec(1).message, ec(4).message);
    let ec256 = decoded(&p256);
    add(
        "r and s in reverse",
        kind,
        replaced_value(
            &p256,
            &base64::encode(
                &ec256
                    .chunks(32)
                    .flat_map(|number| number.iter().rev().copied())
                    .collect::<Vec<u8>>(),
            ),
        ),
    );
    add(
        "P-384 in DER",
        kind,
        replaced_value(&p384, &base64::encode(&der(&decoded(&p384)))),
    );
    let url = base64::encode(&ec256).replace('+', "-").replace('/', "_");
    let url = url.trim_end_matches('=');
    add("ECDSA in base64url", kind, replaced_value(&p256, url));
    let p384_key = private_key("p384");
    add(
        "P-384 with SHA-256 under the name of SHA-384",
        "other-hash",
        with_value(
            &p384,
            |it| {
                p384_key
                    .sign(SignatureAlgorithm::EcdsaSha256, it)
                    .expect("a signature")
            },
            &as_it_is,
        ),
    );
    let mut with_peer = |name, kinds, message: String| {
        let known = Known {
            certificates: vec![("`peer`".to_owned(), certificate("p384"))],
            ..Known::default()
        };
        cases.add(name, kinds, message, known);
    };
    let p384_key = private_key("p384");
    with_peer(
        "ECDSA: a certificate that is not named",
        "other-certificate",
        with_value(
            &p256,
            |it| {
                p384_key
                    .sign(SignatureAlgorithm::EcdsaSha256, it)
                    .expect("a signature")
            },
            &as_it_is,
        ),
    );
}
