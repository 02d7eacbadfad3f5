//! Any bytes as a JKS file with the digest that its password gives: reading ends, and what is
//! accepted can be used.
#![no_main]

use libfuzzer_sys::fuzz_target;
use soapstone_crypto::{DigestAlgorithm, KeyStore, digest};
use soapstone_fuzz::keystores::{self, PASSWORD};

/// What Java puts between the password and the file before it digests both.
const WHITENER: &[u8] = b"Mighty Aphrodite";

fuzz_target!(|bytes: &[u8]| {
    let password: Vec<u8> = PASSWORD.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let digested = [&password, WHITENER, bytes].concat();
    let digest = digest(DigestAlgorithm::Sha1, &digested).expect("a digest");
    let file = [bytes, digest.as_ref()].concat();
    for file in [bytes, &file] {
        if let Ok(store) = KeyStore::from_jks(file, PASSWORD) {
            keystores::read(&store);
        }
    }
});
