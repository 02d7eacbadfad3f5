//! A document with any document type definition: flattening ends, within its bounds, with a
//! document that has none.
//!
//! What comes before the first NUL is the document, what comes after it is every external entity.
#![no_main]

use libfuzzer_sys::fuzz_target;
use soapstone_fuzz::reading;
use soapstone_xml::Limits;
use soapstone_xmltools::dtd;

fuzz_target!(|bytes: &[u8]| {
    let (source, external) = match bytes.iter().position(|byte| *byte == 0) {
        Some(at) => (&bytes[..at], Some(&bytes[at + 1..])),
        None => (bytes, None),
    };
    let mut limits = Limits::default();
    limits.expansion = 64 << 10;
    limits.entities = 1_000;
    let flattened = dtd::flatten(source, &limits, &mut |_| external.map(<[u8]>::to_vec));
    let Ok(flattened) = flattened else {
        return;
    };
    // Every octet of another encoding may become three in UTF-8.
    assert!(flattened.document.len() <= 3 * source.len() + limits.expansion);
    if let Some(document) = reading::parse(&flattened.document) {
        reading::read(&document);
        let again = dtd::flatten(&flattened.document, &limits, &mut |_| None)
            .expect("without a DTD there is nothing to apply");
        assert_eq!(
            String::from_utf8_lossy(&again.document),
            String::from_utf8_lossy(&flattened.document)
        );
        assert!(again.ids.is_empty());
    }
});
