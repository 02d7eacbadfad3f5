//! Packages that keep every rule, and the change that breaks each.

use std::collections::BTreeSet;

use soapstone_lint::{Choice, Profile, Profiles};

use super::{Sample, as4, broken, compare};

/// A package with a message and one part.
fn package(announced: &str, of_root: &str, message: &str, of_part: &str) -> String {
    format!(
        "MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=\"b-1\"; type=\"{announced}\";\r\n start=\"<root@sender.example>\"\r\n\
         \r\n--b-1\r\nContent-Type: {of_root}\r\nContent-Transfer-Encoding: binary\r\nContent-ID: <root@sender.example>\r\n\r\n{message}\r\n\
         --b-1\r\nContent-Type: {of_part}\r\nContent-Transfer-Encoding: base64\r\nContent-ID: <p+q@sender.example>\r\n\r\nH4sIAAAA\r\n--b-1--\r\n"
    )
}

fn of_as4(message: &str, of_part: &str) -> String {
    let of_soap = "application/soap+xml";
    package(
        of_soap,
        "application/soap+xml; charset=UTF-8",
        message,
        of_part,
    )
}

/// A compressed attachment that is signed and encrypted.
pub(super) fn encrypted() -> String {
    of_as4(&as4::with_attachment(), "application/octet-stream")
}

/// A compressed attachment that is signed.
pub(super) fn signed() -> String {
    of_as4(&as4::with_signed_attachment(), "application/gzip")
}

/// A message of SOAP 1.1 with binary content apart from it.
pub(super) fn mtom() -> String {
    let message = "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body><b:image xmlns:b=\"urn:b\">\
        <xop:Include xmlns:xop=\"http://www.w3.org/2004/08/xop/include\" href=\"cid:p%2Bq@sender.example\"/></b:image></s:Body></s:Envelope>";
    let of_root = "application/xop+xml; charset=UTF-8; type=\"text/xml\"";
    package("application/xop+xml", of_root, message, "image/png")
}

/// A further part in front of the last line.
const WITHOUT_ID: &str = "--b-1\r\n\r\nx\r\n--b-1--";
const WITH_OTHER_ID: &str = "--b-1\r\nContent-ID: <x@y>\r\n\r\nx\r\n--b-1--";

pub(super) const OF_ENCRYPTED: &[Sample] = &[
    (
        "swa-root-type",
        "Content-Type: application/soap+xml;",
        "Content-Type: text/xml;",
        &["swa-type-parameter"],
    ),
    (
        "swa-type-parameter",
        "type=\"application/soap+xml\"",
        "type=\"text/xml\"",
        &[],
    ),
    (
        "swa-type-parameter",
        " type=\"application/soap+xml\";",
        "",
        &[],
    ),
    (
        "swa-content-id",
        "--b-1--",
        "--b-1\r\nContent-ID: <x>\r\n\r\nx\r\n--b-1--",
        &["as4-part-listed", "as4-part-signed"],
    ),
    (
        "swa-content-id",
        "--b-1--",
        "--b-1\r\nContent-ID: x@y\r\n\r\nx\r\n--b-1--",
        &["as4-part-listed", "as4-part-signed"],
    ),
    (
        "swa-content-id",
        "--b-1--",
        "--b-1\r\nContent-ID: <a b@y>\r\n\r\nx\r\n--b-1--",
        &["as4-part-listed", "as4-part-signed"],
    ),
    (
        "swa-content-id-missing",
        "--b-1--",
        WITHOUT_ID,
        &["as4-part-listed", "as4-part-signed"],
    ),
    (
        "swa-content-id-unique",
        "--b-1--",
        "--b-1\r\nContent-Type: application/octet-stream\r\nContent-ID: <p+q@sender.example>\r\n\r\nx\r\n--b-1--",
        &[],
    ),
    (
        "swa-transfer-encoding",
        "Content-Transfer-Encoding: base64",
        "Content-Transfer-Encoding: x-own",
        &[],
    ),
    ("swa-transfer-encoding", "H4sIAAAA", "H4sIAAA", &[]),
    (
        "swa-transfer-encoding",
        "Content-Transfer-Encoding: base64\r\nContent-ID: <p+q@sender.example>\r\n\r\nH4",
        "Content-ID: <p+q@sender.example>\r\n\r\né",
        &[],
    ),
    (
        "swa-outside-parts",
        "\r\n\r\n--b-1\r\n",
        "\r\n\r\nbefore\r\n--b-1\r\n",
        &[],
    ),
    ("swa-outside-parts", "--b-1--\r\n", "--b-1--\r\nbehind", &[]),
    (
        "swa-reference",
        "<xenc:CipherReference URI=\"cid:p+q@sender.example\">",
        "<xenc:CipherReference URI=\"cid:lost@x\">",
        &["as4-compressed-type", "as4-encrypted-parts"],
    ),
    (
        "swa-reference",
        "<ds:Reference URI=\"cid:p+q@sender.example\">",
        "<ds:Reference URI=\"cid:lost@x\">",
        &["as4-signed-part-listed", "as4-signed-parts"],
    ),
    (
        "as4-part-attached",
        "</eb:PayloadInfo>",
        "<eb:PartInfo href=\"cid:lost@x\"/></eb:PayloadInfo>",
        &["as4-encrypted-parts", "as4-signed-parts"],
    ),
    (
        "as4-part-listed",
        "--b-1--",
        WITH_OTHER_ID,
        &["as4-part-signed"],
    ),
    (
        "as4-part-signed",
        "--b-1--",
        WITH_OTHER_ID,
        &["as4-part-listed"],
    ),
    (
        "as4-encrypted-part-type",
        "Content-Type: application/octet-stream",
        "Content-Type: application/gzip",
        &[],
    ),
    (
        "as4-compressed-type",
        "MimeType=\"application/gzip\"",
        "MimeType=\"application/xml\"",
        &[],
    ),
];

pub(super) const OF_SIGNED: &[Sample] = &[
    (
        "as4-compressed-type",
        "Content-Type: application/gzip",
        "Content-Type: application/xml",
        &[],
    ),
    ("as4-compressed-bytes", "H4sIAAAA", "PGEvPgAA", &[]),
];

pub(super) const OF_MTOM: &[Sample] = &[
    ("xop-root-type", "; type=\"text/xml\"", "", &[]),
    (
        "xop-root-type",
        "; type=\"text/xml\"",
        "; type=\"application/soap+xml\"",
        &[],
    ),
    (
        "xop-include",
        "cid:p%2Bq@sender.example",
        "cid:p%2Br@sender.example",
        &[],
    ),
];

#[test]
fn each_rule_of_packages_is_found_where_it_is_broken() {
    let of_mtom = Profiles::of(Profile::Swa);
    for (base, samples, profiles) in [
        (encrypted(), OF_ENCRYPTED, Profiles::AS4),
        (signed(), OF_SIGNED, Profiles::AS4),
        (mtom(), OF_MTOM, of_mtom),
    ] {
        compare(&base, samples, profiles);
    }
}

#[test]
fn a_package_is_held_against_its_rules_where_no_profile_is_chosen() {
    let base = encrypted();
    assert_eq!(
        broken(&base, Choice::Fitting),
        broken(&as4::with_attachment(), Choice::Fitting)
    );
    let changed = base.replacen("--b-1--", "--b-1\r\n\r\nx\r\n--b-1--", 1);
    let found = broken(&changed, Choice::Fitting);
    assert!(found.contains("swa-content-id-missing"), "{found:?}");
    assert!(found.contains("as4-part-listed"), "{found:?}");
}

#[test]
fn parts_are_listed_and_signed_where_a_message_lists_and_signs() {
    let of_as4 = Choice::Of(Profiles::of(Profile::As4));
    // Without an ebMS header nothing is listed.
    let expected = BTreeSet::from(["eb-messaging"]);
    let other = mtom().replacen("<s:Body>", "<s:Header/><s:Body>", 1);
    assert_eq!(broken(&other, of_as4), expected);
    let signed = signed();
    // What is not called compressed is of any type.
    let property = "<eb:Property name=\"CompressionType\">application/gzip</eb:Property>";
    let whole = signed
        .replacen(property, "", 1)
        .replacen("application/gzip", "application/xml", 1)
        .replacen("H4sIAAAA", "PGEvPgAA", 1);
    assert_eq!(broken(&whole, of_as4), BTreeSet::new());
    let start = signed.find("<wsse:Security ").expect("a header");
    let end = signed.find("</s:Header>").expect("its end");
    let plain = format!("{}{}", &signed[..start], &signed[end..]);
    assert_eq!(broken(&plain, of_as4), BTreeSet::new());
    let unlisted = plain.replacen(
        "--b-1--",
        "--b-1\r\nContent-ID: <x@y>\r\n\r\nx\r\n--b-1--",
        1,
    );
    let expected = BTreeSet::from(["as4-part-listed"]);
    assert_eq!(broken(&unlisted, of_as4), expected);
}
