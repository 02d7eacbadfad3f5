//! `soapstone xml` on documents that other programs signed and enciphered: which key, which
//! certificate and which element their names mean.

mod common;

use common::Folder;

/// A file that stands beside these tests: signed and enciphered by other means, with keys of its
/// own.
fn document(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/documents");
    format!("{folder}/{name}")
}

/// XML-DSig 1.1, 4.5.2.1 to 4.5.2.3: what a `ds:KeyValue` holds can be retrieved by itself.
#[test]
fn a_key_value_is_retrieved_in_each_of_its_forms() {
    let folder = Folder::new();
    for kind in ["rsa", "dsa", "ec"] {
        let signed = document(&format!("retrieved-{kind}-key-value.xml"));
        let verify = |data: &str| {
            folder.run(&format!(
                "xml verify --insecure --enabled-key-data {data} {signed}"
            ))
        };
        verify(&format!("retrieval-method,key-value,{kind}")).succeeds();
        let another = if kind == "rsa" { "dsa" } else { "rsa" };
        for without in [
            format!("retrieval-method,{kind}"),
            format!("key-value,{kind}"),
            format!("retrieval-method,key-value,{another}"),
        ] {
            verify(&without).refuses("key-not-found");
        }
    }
}

#[test]
fn the_order_of_certificates_on_the_command_line_decides_nothing() {
    let folder = Folder::new();
    let [ca, inter, leaf] =
        ["ca", "inter", "leaf"].map(|name| document(&format!("{name}.cert.pem")));
    for name in ["issuer-serial", "subject-name"] {
        let signed = document(&format!("chain-by-{name}.xml"));
        for (first, second) in [(&inter, &leaf), (&leaf, &inter)] {
            for options in [
                format!("--trusted-pem {ca} --untrusted-pem {first} --untrusted-pem {second}"),
                format!("--pubkey-cert-pem {first} --pubkey-cert-pem {second}"),
            ] {
                folder
                    .run(&format!(
                        "xml verify {options} --verification-gmt-time 2026-11-26+00:00:00 --enabled-key-data x509 {signed}"
                    ))
                    .succeeds();
            }
        }
    }
}

/// `--verify-crls` of xmlsec1: a list that does not hold is an error, and not passed over.
#[test]
fn a_revocation_list_that_its_issuer_did_not_sign_takes_nothing_away_or_is_refused() {
    let folder = Folder::new();
    let [ca, inter, leaf] =
        ["ca", "inter", "leaf"].map(|name| document(&format!("{name}.cert.pem")));
    let signed = document("chain-by-issuer-serial.xml");
    let verify = |rest: &str| {
        folder.run(&format!(
            "xml verify --trusted-pem {ca} --untrusted-pem {inter} --untrusted-pem {leaf} \
             --verification-gmt-time 2026-11-26+00:00:00 --enabled-key-data x509 {rest} {signed}"
        ))
    };
    let (forged, revoking) = (document("forged.crl.pem"), document("revoking.crl.pem"));
    verify(&format!("--crl-pem {forged}")).succeeds();
    verify("--verify-crls").succeeds();
    let unknown = verify(&format!("--verify-crls --crl-pem {forged}")).refuses("untrusted");
    assert!(unknown.err.contains("CN=Inter"), "{}", unknown.err);
    // The leaf is revoked; its issuer is named beside it, and did not sign the document.
    verify(&format!("--crl-pem {revoking}")).refuses("untrusted");
    verify(&format!("--verify-crls --crl-pem {revoking}")).refuses("untrusted");
}

/// RFC 3986, 2.1 and 3.5: the escapes of a fragment are undone before it is read.
#[test]
fn percent_escapes_of_a_fragment_are_undone() {
    let folder = Folder::new();
    let hmac = document("hmac.bin");
    for name in ["fragment", "xpointer"] {
        let signed = document(&format!("{name}-percent-encoded.xml"));
        folder
            .run(&format!(
                "xml verify --lax-key-search --hmackey {hmac} {signed}"
            ))
            .succeeds();
    }
    // Other programs find the element whose id has the escapes in it.
    let signed = std::fs::read_to_string(document("fragment-percent-encoded.xml")).unwrap();
    let twice = "<Object Id=\"caf%C3%A9\">y</Object></Signature>";
    folder.write("twice.xml", signed.replace("</Signature>", twice));
    folder
        .run(&format!(
            "xml verify --lax-key-search --hmackey {hmac} twice.xml"
        ))
        .refuses("duplicate-id");
}

/// RFC 9231, 2.5.1.
#[test]
fn the_xpointer_transform_keeps_what_it_points_to() {
    let folder = Folder::new();
    let (hmac, signed) = (document("hmac.bin"), document("xptr-transform.xml"));
    let verify = |input: &str| {
        folder.run(&format!(
            "xml verify --lax-key-search --hmackey {hmac} {input}"
        ))
    };
    verify(&signed).succeeds();
    let signed = std::fs::read_to_string(&signed).unwrap();
    folder.write("altered.xml", signed.replace(">x</Object>", ">y</Object>"));
    verify("altered.xml").refuses("digest-mismatch");
    folder.write("gone.xml", signed.replace("<Object Id=\"o\">", "<Object>"));
    verify("gone.xml").refuses("xpath");
}

#[test]
fn a_key_is_derived_by_hkdf_with_sha224() {
    let folder = Folder::new();
    let (ikm, encrypted) = (document("ikm.bin"), document("hkdf-hmac-sha224.xml"));
    let opened = folder
        .run(&format!("xml decrypt --hkdf-key:ikm {ikm} {encrypted}"))
        .succeeds();
    assert_eq!(opened.text(), "hello");
}
