//! Any bytes as a private key, encrypted or not: reading ends, and a key that is accepted writes
//! and reads as itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use soapstone_crypto::PrivateKey;
use soapstone_fuzz::keystores::{self, PASSWORD};

fuzz_target!(|bytes: &[u8]| {
    if keystores::asks_for_long_work(bytes) {
        return;
    }
    for password in [None, Some(PASSWORD)] {
        if let Ok(key) = PrivateKey::from_file_contents(bytes, password) {
            keystores::key(&key);
        }
    }
});
