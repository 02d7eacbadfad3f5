//! Encryption around a signature, and below it.

use crate::cases::{Cases, inclusive, rich};
use crate::support::{Signer, known, secured, with_value};

pub(super) fn encrypted(cases: &mut Cases) {
    let of = |mechanism: &str, more: &str| {
        secured(
            "client",
            &format!(
                "[security]\nmechanism = \"{mechanism}\"\nalgorithms = {{ signature = [\"rsa-sha256\"], digest = [\"sha256\"], canonicalization = [\"exc-c14n\"], data = [\"aes128-gcm\"], {more} }}"
            ),
            &rich(),
        )
    };
    let mut add = |name, kinds, message: String| cases.add(name, kinds, message, known());
    let wide =
        "key_transport = [\"rsa-oaep\"], oaep_digest = [\"sha256\"], oaep_mgf = [\"sha256\"]";
    let good = of("encrypt", wide);
    let start = good.find("<xenc:EncryptionMethod ").expect("a method");
    let end = good.find("</xenc:EncryptionMethod>").expect("a method");
    let inside = start + good[start..].find('>').expect("a tag") + 1;
    add(
        "OAEP whose digest and mask are not named",
        "key-transport",
        format!("{}{}", &good[..inside], &good[end..]),
    );
    let usual = "key_transport = [\"rsa-oaep-mgf1p\"]";
    let good = of("encrypt", usual);
    add(
        "GCM under the name of CBC",
        "data-cipher",
        good.replace(
            "http://www.w3.org/2009/xmlenc11#aes128-gcm",
            "http://www.w3.org/2001/04/xmlenc#aes128-cbc",
        ),
    );
    // The first to be undone stands first: the key has to come before the signature.
    for (mechanism, name) in [
        ("sign-encrypt", "signed first, and the header says last"),
        ("encrypt-sign", "signed last, and the header says first"),
    ] {
        let good = of(mechanism, usual);
        let part = |name: &str| {
            let start = good.find(&format!("<{name}")).expect("a part");
            let end = good.find(&format!("</{name}>")).expect("a part") + name.len() + 3;
            good[start..end].to_owned()
        };
        let (key, signature) = (part("xenc:EncryptedKey"), part("ds:Signature"));
        let swapped = match mechanism {
            "sign-encrypt" => good
                .replace(&signature, "")
                .replace(&key, &format!("{signature}{key}")),
            _ => good
                .replace(&key, "")
                .replace(&signature, &format!("{key}{signature}")),
        };
        assert_ne!(good, swapped);
        add(name, "other-order", swapped);
    }
    let good = of("sign-encrypt", usual);
    add(
        "sign-encrypt: SignedInfo inclusive",
        "canonicalization",
        with_value(
            &good,
            |bytes| Signer::client().sign(bytes),
            &|read, node, _| inclusive(read, node).into_bytes(),
        ),
    );
}
