//! Command lines of xmlsec1: those of the vectors directory are understood, and every option of
//! xmlsec1 1.3 works or is refused by name.

use std::ffi::OsString;

use clap::Parser;
use soapstone_cli::arguments::Arguments;
use soapstone_cli::commands::xml::spelling;

#[test]
fn every_command_line_of_xmlsec1_in_the_vectors_is_understood() {
    let cases = soapstone_testkit::cases_of_suite("xmlsec");
    let mut read = 0;
    for case in &cases {
        let Some(tail) = case.option("xmlsec_args") else {
            continue;
        };
        let operation = match case.kind.as_str() {
            "dsig-verify" => "verify",
            "enc-decrypt" => "decrypt",
            _ => continue,
        };
        // No value in them has spaces but times, which are quoted.
        let words = ["soapstone", "xml", operation].into_iter();
        let words = words.map(str::to_owned).chain(split(tail));
        let words = words.map(OsString::from).chain(["in.xml".into()]).collect();
        let parsed = Arguments::try_parse_from(spelling::normalize(words));
        assert!(parsed.is_ok(), "{tail}: {}", parsed.unwrap_err());
        read += 1;
    }
    assert!(
        cases.is_empty() || read > 300,
        "{read} command lines were found"
    );
}

/// The words of a command line: separated by spaces, except between quotes.
fn split(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = None;
    for character in line.chars() {
        match (quoted, character) {
            (None, '"' | '\'') => quoted = Some(character),
            (Some(open), _) if open == character => quoted = None,
            (None, ' ') => words.push(String::new()),
            _ => words.last_mut().expect("there is one").push(character),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The options that `xmlsec1 --help-all` of 1.3 lists, each with a value where it takes one.
const OPTIONS: &str = "\
    --ignore-manifests
    --store-references
    --store-signatures
    --enabled-reference-uris empty
    --enable-visa3d-hack
    --enable-asn1-signatures-hack
    --hmac-min-out-len 80
    --binary-data a
    --binary a
    --xml-data a
    --enabled-cipher-reference-uris empty
    --session-key aes-128
    --output a
    -o a
    --print-debug
    --print-xml-debug
    --dtd-file a
    --node-id a
    --node-name a
    --node-xpath a
    --id-attr a
    --id-attr:b a
    --add-id-attr a
    --enabled-key-data x509
    --enabled-retrieval-method-uris empty
    --enabled-retrieval-uris empty
    --enabled-key-info-reference-uris empty
    --gen-key:a rsa-2048
    --keys-file a
    -k a
    --privkey-pem a
    --privkey:b a
    --privkey-der a
    --pkcs8-pem a
    --privkey-p8-pem a
    --pkcs8-der a
    --privkey-p8-der a
    --privkey-openssl-store a
    --privkey-openssl-engine a;b
    --pubkey-pem a
    --pubkey a
    --pubkey-der a
    --pubkey-openssl-store a
    --pubkey-openssl-engine a;b
    --aes-key a
    --aeskey a
    --concatkdf-key a
    --concatkdfkey:b a
    --des-key a
    --deskey a
    --hkdf-key a
    --hmac-key a
    --hmackey a
    --pbkdf2-key a
    --pbkdf2key a
    --pwd a
    --lax-key-search
    --pkcs12 a
    --pkcs12-persist
    --pubkey-cert-pem a
    --pubkey-cert a
    --pubkey-cert-der a
    --trusted-pem a
    --trusted a
    --untrusted-pem a
    --untrusted a
    --trusted-der a
    --untrusted-der a
    --crl-pem a
    --crl-der a
    --verification-time 2026-01-01+00:00:00
    --verification-gmt-time 2026-01-01+00:00:00
    --depth 3
    --X509-skip-strict-checks
    --X509-skip-time-checks
    --insecure
    --verify-keys
    --verify-crls
    --crypto openssl
    --crypto-config a
    --repeat 2
    --disable-error-msgs
    --print-crypto-error-msgs
    --help
    --xxe
    --url-map:urn:a a";

#[test]
fn every_option_of_xmlsec1_works_or_is_refused_by_name() {
    for line in OPTIONS.lines().map(str::trim) {
        let option = line.split([' ', ':']).next().expect("an option");
        let understood = ["sign", "verify", "encrypt", "decrypt"]
            .iter()
            .any(|operation| {
                let data = if *operation == "encrypt"
                    && !line.contains("data")
                    && !line.contains("binary")
                {
                    "--xml-data d"
                } else {
                    ""
                };
                let words = format!("soapstone xml {operation} {data} {line} in.xml");
                let words = words.split_whitespace().map(OsString::from).collect();
                match Arguments::try_parse_from(spelling::normalize(words)) {
                    Ok(_) => true,
                    Err(error) => error.kind() == clap::error::ErrorKind::DisplayHelp,
                }
            });
        let words = format!("soapstone xml verify {line} in.xml");
        let words: Vec<OsString> = words.split_whitespace().map(OsString::from).collect();
        let refused = spelling::absent(&words);
        assert_eq!(understood, refused.is_none(), "{line}: {refused:?}");
        if let Some(refused) = refused {
            let named = format!("`soapstone xml` has no {option}: ");
            assert!(refused.starts_with(&named), "{refused}");
        }
    }
}
