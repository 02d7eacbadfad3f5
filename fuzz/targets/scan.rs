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
        let octets = reading::canonical(&document, Apex::Document, method);
        let again = reading::parse(&octets).expect("a canonical form is a document");
        let twice = reading::canonical(&again, Apex::Document, method);
        assert_eq!(
            String::from_utf8_lossy(&twice),
            String::from_utf8_lossy(&octets),
            "{method:?} is not idempotent"
        );
    }
});
