//! A message that keeps every rule of Digikoppeling, and the change that breaks each.

use soapstone_lint::{Profile, Profiles};

use super::{Sample, compare};

/// A message that Digikoppeling takes: signed and encrypted.
fn wus() -> String {
    let secured = |uri: &str| {
        format!(
            "<ds:Reference URI=\"#{uri}\"><ds:Transforms><ds:Transform Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"/></ds:Transforms>\
                 <ds:DigestMethod Algorithm=\"http://www.w3.org/2001/04/xmlenc#sha256\"/><ds:DigestValue>AAAA</ds:DigestValue></ds:Reference>"
        )
    };
    let certificate =
        "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-x509-token-profile-1.0#X509v3";
    format!(
        "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:a=\"http://www.w3.org/2005/08/addressing\" xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\" \
         xmlns:xenc=\"http://www.w3.org/2001/04/xmlenc#\" xmlns:wsu=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd\" \
         xmlns:wsse=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\"><s:Header><a:Action wsu:Id=\"A\">urn:a</a:Action>\
         <wsse:Security><wsu:Timestamp wsu:Id=\"T\"><wsu:Created>2026-01-31T12:00:00Z</wsu:Created></wsu:Timestamp>\
         <wsse:BinarySecurityToken wsu:Id=\"C\" ValueType=\"{certificate}\">MAQwAqAA</wsse:BinarySecurityToken>\
         <xenc:EncryptedKey Id=\"K\"><xenc:EncryptionMethod Algorithm=\"http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p\"/>\
         <xenc:ReferenceList><xenc:DataReference URI=\"#D\"/></xenc:ReferenceList></xenc:EncryptedKey>\
         <ds:Signature><ds:SignedInfo><ds:CanonicalizationMethod Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"/>\
         <ds:SignatureMethod Algorithm=\"http://www.w3.org/2001/04/xmldsig-more#rsa-sha256\"/>{}{}{}</ds:SignedInfo>\
         <ds:KeyInfo><wsse:SecurityTokenReference><wsse:Reference URI=\"#C\" ValueType=\"{certificate}\"/></wsse:SecurityTokenReference></ds:KeyInfo></ds:Signature>\
         </wsse:Security></s:Header><s:Body wsu:Id=\"B\"><xenc:EncryptedData Id=\"D\"><xenc:EncryptionMethod Algorithm=\"http://www.w3.org/2009/xmlenc11#aes256-gcm\"/>\
         </xenc:EncryptedData></s:Body></s:Envelope>",
        secured("A"),
        secured("T"),
        secured("B"),
    )
}

pub(super) const WUS: &[Sample] = &[
    ("WS002", "<a:Action wsu:Id=\"A\">urn:a</a:Action>", "", &[]),
    (
        "WS007",
        "<wsse:Security>",
        "<b:h xmlns:b=\"urn:b\"/><wsse:Security>",
        &[],
    ),
    (
        "WA001",
        "<wsse:Security>",
        "<o:To xmlns:o=\"http://schemas.xmlsoap.org/ws/2004/08/addressing\"/><wsse:Security>",
        &[],
    ),
    (
        "WB002",
        "<wsu:Created>2026-01-31T12:00:00Z</wsu:Created>",
        "",
        &[],
    ),
    (
        "WB004",
        "<s:Body wsu:Id=\"B\">",
        "<s:Body wsu:Id=\"Z\">",
        &[],
    ),
    (
        "WB006",
        "<xenc:EncryptedKey Id=\"K\">",
        "<ds:Signature/><xenc:EncryptedKey Id=\"K\">",
        &[],
    ),
    (
        "WB007",
        "<ds:CanonicalizationMethod Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"/>",
        "<ds:CanonicalizationMethod Algorithm=\"http://www.w3.org/TR/2001/REC-xml-c14n-20010315\"/>",
        &[],
    ),
    (
        "WB010",
        "<wsse:Reference URI=\"#C\"",
        "<wsse:Reference URI=\"urn:c\"",
        &[],
    ),
    (
        "SIGN001",
        "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
        "http://www.w3.org/2000/09/xmldsig#rsa-sha1",
        &[],
    ),
    (
        "SIGN003",
        "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
        "http://www.w3.org/2001/04/xmldsig-more#rsa-sha224",
        &[],
    ),
    (
        "ENC003",
        "http://www.w3.org/2009/xmlenc11#aes256-gcm",
        "http://www.w3.org/2001/04/xmlenc#aes256-cbc",
        &[],
    ),
    (
        "ENC004",
        "http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p",
        "http://www.w3.org/2001/04/xmlenc#rsa-1_5",
        &[],
    ),
];

#[test]
fn each_rule_of_digikoppeling_is_found_where_it_is_broken() {
    compare(&wus(), WUS, Profiles::of(Profile::Digikoppeling));
}
