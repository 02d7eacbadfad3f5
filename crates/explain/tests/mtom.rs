//! Packages of MTOM: what a sender signed is the message with its parts written into it (XOP 1.0,
//! 3.2).

#[path = "support/mod.rs"]
mod support;

use soapstone::crypto::base64;
use soapstone::xml::{Document, NodeId};
use soapstone_explain::{Cause, Explanation, Severity, State, of_mtom};

use support::{Signer, as_it_is, first_causes, known, signed, signed_anew, told_with};

const INCLUDE: &str =
    "<xop:Include xmlns:xop=\"http://www.w3.org/2004/08/xop/include\" href=\"cid:data%40x\"/>";

/// The text of the element that is sent as a part.
fn data(message: &str) -> &str {
    let start = message.find("<q:data>").expect("data") + "<q:data>".len();
    &message[start..message.find("</q:data>").expect("its end")]
}

fn with_data(message: &str, by: &str) -> String {
    message.replacen(data(message), by, 1)
}

fn package(root: &str, part: &[u8]) -> Vec<u8> {
    let head = format!(
        "MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=b; type=\"application/xop+xml\"; \
         start=\"<root@x>\"; start-info=\"text/xml\"\r\n\r\n--b\r\n\
         Content-Type: application/xop+xml; charset=UTF-8; type=\"text/xml\"\r\n\
         Content-Transfer-Encoding: 8bit\r\nContent-ID: <root@x>\r\n\r\n{root}\r\n--b\r\n\
         Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: binary\r\n\
         Content-ID: <data@x>\r\n\r\n"
    );
    [head.as_bytes(), part, b"\r\n--b--\r\n"].concat()
}

fn bytes() -> Vec<u8> {
    base64::decode_xml_to_vec(data(&signed()).as_bytes()).expect("base64")
}

fn causes(told: &Explanation) -> Vec<(&[&'static str], bool)> {
    first_causes(told)
        .into_iter()
        .map(|cause: &Cause| (cause.kinds.as_slice(), cause.certain))
        .collect()
}

#[test]
fn digests_are_those_of_the_message_with_its_parts_in_it() {
    let sent = signed();
    let package = package(&with_data(&sent, INCLUDE), &bytes());
    let told = told_with(&package, known());
    assert!(!told.is_refused(), "{:#?}", told.findings);
    let kinds: Vec<_> = told
        .findings
        .iter()
        .map(|it| (it.kind, it.severity))
        .collect();
    assert_eq!(kinds, [("xop-package", Severity::Note)]);
    let references = &told.signatures[0].references;
    assert!(references.iter().all(|one| one.state == State::Matches));
    let message = of_mtom(&package, &Default::default()).expect("it is of MTOM");
    assert_eq!(String::from_utf8(message.root).expect("UTF-8"), sent);
    assert!(message.parts.is_empty());
}

#[test]
fn base64_that_was_signed_in_lines_is_told() {
    let message = signed();
    let lines = |_: &Document, _: NodeId, form: &str| {
        let text = data(form);
        with_data(form, &format!("{}\n{}", &text[..76], &text[76..])).into_bytes()
    };
    let anew = signed_anew(&message, &Signer::client(), &[("Body", &lines)], &as_it_is);
    let told = told_with(&package(&with_data(&anew, INCLUDE), &bytes()), known());
    assert_eq!(causes(&told), [(&["base64-white-space"][..], true)]);
}

/// Then no signature covers what the part says.
#[test]
fn includes_that_were_digested_as_they_stand_are_told() {
    let message = with_data(&signed(), INCLUDE);
    let anew = signed_anew(
        &message,
        &Signer::client(),
        &[("Body", &as_it_is)],
        &as_it_is,
    );
    let told = told_with(&package(&anew, &bytes()), known());
    assert_eq!(causes(&told), [(&["xop-include"][..], true)]);
}

#[test]
fn a_part_that_was_changed_has_no_certain_cause() {
    let told = told_with(&package(&with_data(&signed(), INCLUDE), b"other"), known());
    assert_eq!(causes(&told), [(&["content-changed"][..], false)]);
}

#[test]
fn a_part_that_is_missing_is_named() {
    let include = INCLUDE.replace("data%40x", "gone%40x");
    let told = told_with(&package(&with_data(&signed(), &include), &bytes()), known());
    let missing = told
        .findings
        .iter()
        .find(|it| it.kind == "xop-part-missing");
    let missing = missing.expect("it is missing");
    assert!(missing.says.contains("`cid:gone%40x`"), "{}", missing.says);
    assert!(told.is_refused());
}

/// A part of some kilobytes that is included again and again makes no message of gigabytes.
#[test]
fn a_part_that_is_included_often_makes_no_large_message() {
    let part = vec![b'x'; 100_000];
    let package = package(&with_data(&signed(), &INCLUDE.repeat(200)), &part);
    let told = told_with(&package, known());
    assert!(
        told.bytes <= 2 * package.len() + INCLUDE.len() * 200,
        "{}",
        told.bytes
    );
    let of = |kind: &str| {
        let found = told.findings.iter().filter(|it| it.kind == kind);
        found.map(|it| it.says.as_str()).collect::<Vec<_>>()
    };
    // The part is there.
    assert!(of("xop-part-missing").is_empty());
    let [first, others] = of("xop-too-large")[..] else {
        panic!("{:#?}", told.findings);
    };
    assert!(first.contains("`cid:data%40x`"), "{first}");
    assert!(others.contains("more xop:Include as well"), "{others}");
}
