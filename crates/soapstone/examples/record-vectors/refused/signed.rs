//! Alterations of a message whose Body and Timestamp are signed.

use super::Alteration;
use crate::alter::{
    Place, attribute, before, doubled_id, element, moved_body, replaced, tampered, twice, without,
    without_attribute,
};

const RSA_SHA256: &str = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";
const RSA_SHA1: &str = "http://www.w3.org/2000/09/xmldsig#rsa-sha1";
const SHA256: &str = "http://www.w3.org/2001/04/xmlenc#sha256";
const SHA1: &str = "http://www.w3.org/2000/09/xmldsig#sha1";
const EXCLUSIVE: &str = "Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"";
const INCLUSIVE: &str = "Algorithm=\"http://www.w3.org/TR/2001/REC-xml-c14n-20010315\"";
const X509_V3: &str =
    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-x509-token-profile-1.0#X509v3";

/// All of them.
pub(super) const SIGNED: &[Alteration] = &[
    (
        "altered-body",
        |m| replaced(m, ">100<", ">001<"),
        "digest-mismatch",
    ),
    (
        "altered-attribute",
        |m| replaced(m, "b:number='7'", "b:number='8'"),
        "digest-mismatch",
    ),
    (
        "element-added-to-body",
        |m| before(m, "</soap:Body>", "<x/>"),
        "digest-mismatch",
    ),
    (
        "text-added-to-body",
        |m| before(m, "</soap:Body>", " "),
        "digest-mismatch",
    ),
    (
        "altered-expires",
        |m| {
            replaced(
                m,
                "12:05:00.000Z</wsu:Expires>",
                "12:55:00.000Z</wsu:Expires>",
            )
        },
        "digest-mismatch",
    ),
    (
        "altered-digest",
        |m| tampered(m, "ds:DigestValue"),
        "signature-mismatch",
    ),
    (
        "altered-signature-value",
        |m| tampered(m, "ds:SignatureValue"),
        "signature-mismatch",
    ),
    (
        "reference-removed",
        |m| without(m, "ds:Reference"),
        "signature-mismatch",
    ),
    (
        "reference-twice",
        |m| twice(m, "ds:Reference"),
        "signature-mismatch",
    ),
    (
        "references-all-removed",
        |m| without(&without(m, "ds:Reference"), "ds:Reference"),
        "malformed",
    ),
    (
        "external-reference",
        |m| {
            replaced(
                m,
                "<ds:Reference URI=\"#",
                "<ds:Reference URI=\"http://example.org/#",
            )
        },
        "signature-mismatch",
    ),
    (
        "reference-without-uri",
        |m| without_attribute(m, "ds:Reference", "URI"),
        "signature-mismatch",
    ),
    (
        "reference-to-nothing",
        |m| replaced(m, "<ds:Reference URI=\"#", "<ds:Reference URI=\"#x"),
        "signature-mismatch",
    ),
    (
        "reference-by-xpointer",
        |m| {
            replaced(
                m,
                "<ds:Reference URI=\"#",
                "<ds:Reference URI=\"#xpointer(/)",
            )
        },
        "signature-mismatch",
    ),
    (
        "body-moved-to-header",
        |m| moved_body(m, Place::Header),
        "unsigned",
    ),
    (
        "body-moved-to-security",
        |m| moved_body(m, Place::Security),
        "element-unexpected",
    ),
    (
        "body-moved-to-body",
        |m| moved_body(m, Place::Body),
        "unsigned",
    ),
    (
        "body-moved-behind-body",
        |m| moved_body(m, Place::Envelope),
        "not-an-envelope",
    ),
    (
        "body-moved-to-signature",
        |m| moved_body(m, Place::SignatureObject),
        "unsigned",
    ),
    (
        "body-without-id",
        |m| without_attribute(m, "soap:Body", "wsu:Id"),
        "reference-not-found",
    ),
    ("second-body", |m| twice(m, "soap:Body"), "duplicate-id"),
    (
        "second-unsigned-body",
        |m| before(m, "</soap:Envelope>", "<soap:Body/>"),
        "not-an-envelope",
    ),
    ("no-body", |m| without(m, "soap:Body"), "not-an-envelope"),
    ("duplicate-id", doubled_id, "duplicate-id"),
    (
        "duplicate-id-of-timestamp",
        |m| {
            let id = attribute(m, "wsu:Timestamp", "wsu:Id").to_owned();
            before(
                m,
                "</soap:Header>",
                &format!("<x:other xmlns:x=\"urn:x\" xml:id=\"{id}\"/>"),
            )
        },
        "duplicate-id",
    ),
    (
        "duplicate-timestamp",
        |m| {
            let again = element(m, "wsu:Timestamp").replacen("-time\"", "-again\"", 1);
            before(m, "<wsu:Timestamp", &again)
        },
        "timestamp-duplicated",
    ),
    (
        "timestamp-removed",
        |m| without(m, "wsu:Timestamp"),
        "timestamp-missing",
    ),
    (
        "timestamp-without-created",
        |m| without(m, "wsu:Created"),
        "malformed",
    ),
    (
        "security-removed",
        |m| without(m, "wsse:Security"),
        "security-missing",
    ),
    (
        "second-security",
        |m| {
            let second = "<wsse:Security xmlns:wsse=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\"/>";
            before(m, "<wsse:Security", second)
        },
        "security-duplicated",
    ),
    (
        "security-for-another",
        |m| {
            let (attribute, ultimate) = if m.contains("soap-envelope") {
                ("role", "urn:other")
            } else {
                ("actor", "urn:other")
            };
            replaced(
                m,
                "<wsse:Security ",
                &format!("<wsse:Security soap:{attribute}=\"{ultimate}\" "),
            )
        },
        "security-missing",
    ),
    (
        "signature-removed",
        |m| without(m, "ds:Signature"),
        "signature-missing",
    ),
    (
        "signature-method-unknown",
        |m| replaced(m, RSA_SHA256, "urn:unknown"),
        "algorithm-not-allowed",
    ),
    (
        "signature-method-weak",
        |m| replaced(m, RSA_SHA256, RSA_SHA1),
        "algorithm-not-allowed",
    ),
    (
        "signature-method-hmac",
        |m| {
            replaced(
                m,
                RSA_SHA256,
                "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256",
            )
        },
        "algorithm-not-allowed",
    ),
    (
        "digest-method-weak",
        |m| replaced(m, SHA256, SHA1),
        "malformed",
    ),
    (
        "canonicalization-inclusive",
        |m| replaced(m, EXCLUSIVE, INCLUSIVE),
        "algorithm-not-allowed",
    ),
    (
        "transform-xpath",
        |m| {
            replaced(
                m,
                "<ds:Transforms>",
                "<ds:Transforms><ds:Transform Algorithm=\"http://www.w3.org/TR/1999/REC-xpath-19991116\"/>",
            )
        },
        "transform-not-allowed",
    ),
    (
        "transform-xslt",
        |m| {
            replaced(
                m,
                "<ds:Transforms>",
                "<ds:Transforms><ds:Transform Algorithm=\"http://www.w3.org/TR/1999/REC-xslt-19991116\"/>",
            )
        },
        "transform-not-allowed",
    ),
    (
        "transform-enveloped",
        |m| {
            replaced(
                m,
                "<ds:Transforms>",
                "<ds:Transforms><ds:Transform Algorithm=\"http://www.w3.org/2000/09/xmldsig#enveloped-signature\"/>",
            )
        },
        "signature-mismatch",
    ),
    (
        "key-info-removed",
        |m| without(m, "ds:KeyInfo"),
        "key-not-found",
    ),
    (
        "key-info-empty",
        |m| replaced(m, element(m, "wsse:SecurityTokenReference"), ""),
        "malformed",
    ),
    (
        "token-removed",
        |m| without(m, "wsse:BinarySecurityToken"),
        "key-not-found",
    ),
    (
        "token-altered",
        |m| tampered(m, "wsse:BinarySecurityToken"),
        "malformed",
    ),
    (
        "token-of-unknown-type",
        |m| replaced(m, X509_V3, "urn:unknown"),
        "token-unsupported",
    ),
    (
        "unknown-element-in-security",
        |m| before(m, "</wsse:Security>", "<x:other xmlns:x=\"urn:x\"/>"),
        "element-unexpected",
    ),
    (
        "header-to-understand",
        |m| {
            before(
                m,
                "</soap:Header>",
                "<x:other xmlns:x=\"urn:x\" soap:mustUnderstand=\"1\"/>",
            )
        },
        "header-not-verified",
    ),
    (
        "envelope-of-another-soap",
        |m| replaced(m, "xmlns:soap=\"http", "xmlns:soap=\"urn:http"),
        "not-an-envelope",
    ),
    (
        "doctype",
        |m| format!("<!DOCTYPE soap:Envelope [<!ENTITY e \"x\">]>{m}"),
        "dtd",
    ),
    (
        "not-closed",
        |m| replaced(m, "</soap:Envelope>", ""),
        "not-well-formed",
    ),
    (
        "undefined-prefix",
        |m| before(m, "</soap:Body>", "<y:undefined/>"),
        "not-well-formed",
    ),
    (
        "undefined-entity",
        |m| before(m, "</soap:Body>", "&undefined;"),
        "not-well-formed",
    ),
    (
        "control-character",
        |m| before(m, "</soap:Body>", "\u{1}"),
        "not-well-formed",
    ),
    (
        "too-deep",
        |m| {
            before(
                m,
                "</soap:Body>",
                &format!("{}{}", "<d>".repeat(300), "</d>".repeat(300)),
            )
        },
        "too-deep",
    ),
    ("empty", |_| String::new(), "not-an-envelope"),
];
