//! Any bytes as a message, opened by every plan: what a plan with a signature accepts is what the
//! client signed.
//!
//! The seeds are messages that are accepted, so that what is tried begins close to them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use soapstone_fuzz::parties::CASES;

fuzz_target!(|bytes: &[u8]| {
    for case in CASES.iter() {
        case.open(bytes);
    }
});
