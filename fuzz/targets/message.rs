//! Any bytes as a MIME package.
//!
//! What is read has no Content-ID twice. What is written of it reads back as the same message, and
//! a header in canonical form is its own canonical form.
#![no_main]

use libfuzzer_sys::fuzz_target;
use soapstone_mime::{LARGEST_PACKAGE, MOST_PARTS, Package, Packaging, attachment_named, uri_of};

fuzz_target!(|bytes: &[u8]| {
    let Ok(Some(package)) = Package::read(bytes) else {
        return;
    };
    let Some(root_type) = package.root.media_type() else {
        return;
    };
    let Ok(message) = package.into_message() else {
        return;
    };
    assert!(message.parts.len() < MOST_PARTS && bytes.len() <= LARGEST_PACKAGE);
    for (at, one) in message.parts.iter().enumerate() {
        let others = &message.parts[..at];
        assert!(others.iter().all(|other| other.id() != one.id()));
        let named = attachment_named(&uri_of(one.id()));
        assert_eq!(named.as_deref(), Some(one.id().as_bytes()));
        let mut canonical = one.clone();
        if let Ok(header) = one.canonical_header() {
            canonical.canonicalize_header().expect("it has a canonical form");
            assert_eq!(canonical.canonical_header(), Ok(header));
        }
    }
    let packaging = Packaging {
        root_type: root_type.essence(),
        parameters: &[],
    };
    let file = packaging.write(&message).into_file();
    let read = Package::read(&file).expect("a package").expect("a header");
    let read = read.into_message().expect("a message");
    assert_eq!(read.root, message.root);
    assert_eq!(read.parts.len(), message.parts.len());
    for (read, written) in read.parts.iter().zip(&message.parts) {
        assert_eq!((read.id(), read.content()), (written.id(), written.content()));
        // A folded field has none, and is written in one line.
        if let Ok(header) = written.canonical_header() {
            assert_eq!(read.canonical_header(), Ok(header));
        }
    }
});
