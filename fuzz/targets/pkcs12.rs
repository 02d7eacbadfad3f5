//! Any bytes as a PKCS#12 file: reading ends, and what is accepted can be used.
#![no_main]

use libfuzzer_sys::fuzz_target;
use soapstone_crypto::KeyStore;
use soapstone_fuzz::keystores::{self, PASSWORD};

fuzz_target!(|bytes: &[u8]| {
    if keystores::asks_for_long_work(bytes) {
        return;
    }
    if let Ok(store) = KeyStore::from_pkcs12(bytes, PASSWORD) {
        keystores::read(&store);
    }
});
