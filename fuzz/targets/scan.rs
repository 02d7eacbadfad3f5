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
    let known = reading::parse_again(bytes).expect("it was accepted before");
    reading::read(&known);
    for element in document.root().descendants() {
        for attribute in element.attributes() {
            let id = attribute.value();
            assert_eq!(known.by_id(&id), document.by_id(&id), "{id}");
        }
    }
    for method in Canonicalization::ALL {
        let Some(octets) = reading::canonical(&document, Apex::Document, method) else {
            continue;
        };
        let read_again = reading::canonical(&known, Apex::Document, method);
        assert_eq!(
            read_again.as_ref(),
            Some(&octets),
            "{method:?} of known tags"
        );
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
