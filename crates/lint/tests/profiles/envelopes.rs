//! Envelopes and faults that keep Basic Profile 1.1, and the change that breaks each of its rules.

use std::collections::BTreeSet;

use soapstone_lint::{Choice, Profile, Profiles};

use super::{Sample, broken, compare};

const ENVELOPE: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><s:Envelope \
    xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:e=\"http://schemas.xmlsoap.org/soap/encoding/\" \
    xmlns:b=\"urn:b\"><s:Header><b:h s:mustUnderstand=\"1\"/></s:Header><s:Body><b:book/></s:Body></s:Envelope>";

const FAULT: &str = "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:b=\"urn:b\"><s:Body>\
    <s:Fault><faultcode>s:Client</faultcode><faultstring>no</faultstring></s:Fault></s:Body></s:Envelope>";

pub(super) const ENVELOPES: &[Sample] = &[
    ("R9980", "<s:Body><b:book/></s:Body>", "", &[]),
    ("R9981", "<b:book/>", "<b:book/><b:book/>", &[]),
    ("R1014", "<b:book/>", "<book/>", &[]),
    ("R1009", "<b:book/>", "<b:book><?run x?></b:book>", &[]),
    (
        "R1033",
        "xmlns:b=",
        "xmlns:xml=\"http://www.w3.org/XML/1998/namespace\" xmlns:b=",
        &[],
    ),
    ("R1012", "UTF-8", "ISO-8859-1", &[]),
    ("R1011", "</s:Body>", "</s:Body><b:x/>", &[]),
    (
        "R1005",
        "<s:Body>",
        "<s:Body s:encodingStyle=\"urn:x\">",
        &["R1032"],
    ),
    (
        "R1006",
        "<b:book/>",
        "<b:book s:encodingStyle=\"urn:x\"/>",
        &[],
    ),
    ("R1013", "=\"1\"/>", "=\"true\"/>", &[]),
    ("R1032", "<s:Body>", "<s:Body s:actor=\"urn:x\">", &[]),
    (
        "R2113",
        "<b:book/>",
        "<b:book e:arrayType=\"b:x[2]\"/>",
        &[],
    ),
];

pub(super) const FAULTS: &[Sample] = &[
    ("R1000", "</faultstring>", "</faultstring><b:more/>", &[]),
    (
        "R1001",
        "<faultstring>no</faultstring>",
        "<b:faultstring>no</b:faultstring>",
        &[],
    ),
    ("R1004", "s:Client", "s:Sender", &[]),
    ("R1031", "s:Client", "s:Client.Authentication", &[]),
];

#[test]
fn each_rule_of_envelopes_is_found_where_it_is_broken() {
    let profiles = Profiles::of(Profile::Bp11);
    compare(ENVELOPE, ENVELOPES, profiles);
    compare(FAULT, FAULTS, profiles);
}

#[test]
fn the_basic_profile_of_the_other_soap_version_refuses_the_envelope() {
    let of_12 = ENVELOPE.replace(
        "http://schemas.xmlsoap.org/soap/envelope/",
        "http://www.w3.org/2003/05/soap-envelope",
    );
    let of = |profile| Choice::Of(Profiles::of(profile));
    let refused = BTreeSet::from(["R9980"]);
    assert_eq!(broken(ENVELOPE, of(Profile::Bp20)), refused);
    assert_eq!(broken(&of_12, of(Profile::Bp12)), refused);
    assert_eq!(broken(&of_12, of(Profile::Bp20)), BTreeSet::new());
    assert_eq!(broken(&of_12, Choice::Fitting), BTreeSet::new());
}
