//! Any bytes: what the scanner accepts can be read in every way, and its canonical form is stable.
#![no_main]

use libfuzzer_sys::fuzz_target;
use soapstone_fuzz::reading;
use soapstone_xml::{Apex, Canonicalization};

fuzz_target!(|bytes: &[u8]| {
    let Some(document) = reading::parse(bytes) else {
        return;
    };
    reading::read(&document);
    for method in Canonicalization::ALL {
        let Some(octets) = reading::canonical(&document, Apex::Document, method) else {
            continue;
        };
        let Some(again) = reading::parse(&octets) else {
            panic!("{method:?} is not a document");
        };
        let twice = reading::canonical(&again, Apex::Document, method).expect("it does not grow");
        assert_eq!(
            String::from_utf8_lossy(&twice),
            String::from_utf8_lossy(&octets),
            "{method:?} is not idempotent"
        );
    }
});
