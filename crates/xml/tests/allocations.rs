//! In the steady state nothing is allocated that grows with the message.

use allocation_counter::measure;
use soapstone_xml::{
    Apex, Buffers, C14nOptions, C14nScratch, Canonicalization, Document, FnSink, Graft,
    ParseOptions, canonicalize,
};

/// A message of records that need rewriting and one element to graft over.
fn message(records: usize) -> Vec<u8> {
    let mut source = String::from("<r xmlns='urn:r' xmlns:p='urn:p'><cipher/>");
    for number in 0..records {
        source.push_str(&format!(
            "<p:record b='2' a='1' xml:id='i{number}'><name>n &amp; {number}</name>\r\n<empty/></p:record>"
        ));
    }
    source.push_str("</r>");
    source.into_bytes()
}

/// Bytes allocated for the second and later messages of a worker.
fn steady_state(records: usize) -> u64 {
    let mut buffers = Buffers::new();
    let mut scratch = C14nScratch::default();
    let options = ParseOptions::default();
    let canonical = C14nOptions::new(Canonicalization::Exclusive);
    let source = message(records);
    let mut allocated = 0;
    for _ in 0..4 {
        let measured = measure(|| {
            let mut bytes = buffers.take(source.len());
            bytes.extend_from_slice(&source);
            let mut document = Document::parse(bytes, &options, &mut buffers).unwrap();
            let mut plaintext = buffers.take(source.len());
            plaintext.extend_from_slice(b"<plain>");
            plaintext.resize(source.len() - 8, b'x');
            plaintext.extend_from_slice(b"</plain>");
            let cipher = document.root().first_child().unwrap().id();
            document
                .graft(cipher, plaintext, Graft::Element, &options)
                .unwrap();
            let mut octets = 0;
            let mut sink = FnSink(|bytes: &[u8]| octets += bytes.len());
            canonicalize(
                &document,
                Apex::Document,
                &canonical,
                &mut scratch,
                &mut sink,
            )
            .unwrap();
            assert!(octets > source.len());
            document.recycle(&mut buffers);
        });
        allocated = measured.bytes_total;
    }
    allocated
}

#[test]
fn a_worker_allocates_nothing_that_grows_with_its_messages() {
    let (small, large) = (steady_state(10), steady_state(10_000));
    assert!(small < 4096, "{small} bytes allocated per small message");
    assert!(large < 4096, "{large} bytes allocated per large message");
}
