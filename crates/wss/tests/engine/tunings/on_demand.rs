//! The gamble that bytes are canonical as they came, and those who would have it won where it must
//! be lost.

use soapstone_crypto::{DigestAlgorithm, base64, digest};
use soapstone_wss::{Part, Policy, Tuning, names::WSU};

use super::{Receiver, items, items_policy, shared, signed_anew};
use crate::support::*;

fn gambling() -> [Tuning; 2] {
    [true, false].map(|canonical_runs| Tuning {
        canonical_runs,
        on_demand: true,
        ..Tuning::default()
    })
}

fn body(inside: &str) -> String {
    format!(
        "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:u=\"{WSU}\"><s:Body><w>{inside}</w></s:Body></s:Envelope>"
    )
}

fn one() -> Policy {
    shared(&[Part::Id("one".to_owned())])
}

#[test]
fn what_came_canonical_and_what_did_not_is_accepted() {
    let shapes = [
        "<x:one xmlns:x=\"urn:x\" u:Id=\"one\"><x:b></x:b>text</x:one>",
        "<x:one xmlns:x='urn:x'  u:Id='one' ><x:b/>t&#x65;xt<!-- c --><![CDATA[<]]></x:one >",
        "<one u:Id=\"one\"/>",
        "<one u:Id=\"one\"></one>",
        "<one b=\"1\" a=\"2\" u:Id=\"one\">\n <b xmlns=\"urn:b\"></b>\n</one>",
    ];
    for shape in shapes {
        let message = secure(&one(), &body(shape));
        for tuning in gambling() {
            let verified = Receiver::service(&one(), tuning)
                .open(&message)
                .unwrap_or_else(|error| panic!("{shape}: {error}"));
            let expected = open(&one(), &message).unwrap();
            assert_eq!(forwarded(&verified), forwarded(&expected));
        }
    }
}

/// The bytes that came have the digest that was signed, all of them; but their names mean
/// something else.
#[test]
fn a_default_namespace_declared_around_the_element_is_noticed() {
    let plain = body("<x:one xmlns:x=\"urn:x\" u:Id=\"one\"><pay>1</pay></x:one>");
    let message = secure(&one(), &plain);
    let moved = message.replace("<w>", "<w xmlns=\"urn:evil\">");
    for tuning in gambling() {
        let mut receiver = Receiver::service(&one(), tuning);
        receiver.open(&message).unwrap();
        assert_eq!(receiver.refuse(&moved).name(), "digest-mismatch");
    }
}

/// A partner who signs what he sends instead of its canonical form: what nobody else accepts is not
/// accepted here.
#[test]
fn a_digest_over_octets_that_are_not_canonical_proves_nothing() {
    let shapes = [
        "1<!-- and 2 -->",
        "<p a=\"1\" xmlns:q=\"urn:q\"></p>",
        "<p b=\"1\" a=\"1\"></p>",
        "<p/>",
        "<![CDATA[1]]>",
        "1&#x32;",
        "1\r\n",
    ];
    for shape in shapes {
        let element = format!("<x:one xmlns:x=\"urn:x\" u:Id=\"one\">{shape}</x:one>");
        let message = secure(&one(), &body(&element));
        let as_it_came = element.replace(
            "<x:one xmlns:x=\"urn:x\" ",
            &format!("<x:one xmlns:u=\"{WSU}\" xmlns:x=\"urn:x\" "),
        );
        let value = digest(DigestAlgorithm::Sha256, as_it_came.as_bytes()).unwrap();
        let (start, end) = ("<ds:DigestValue>", "</ds:DigestValue>");
        let from = message.find(start).unwrap() + start.len();
        let to = message.find(end).unwrap();
        let forged = format!(
            "{}{}{}",
            &message[..from],
            base64::encode(value.as_ref()),
            &message[to..]
        );
        let forged = signed_anew(&forged);
        let expected = open(&one(), &forged).unwrap_err().name();
        assert_eq!(expected, "digest-mismatch", "{shape}");
        for tuning in gambling() {
            let mut receiver = Receiver::service(&one(), tuning);
            assert_eq!(receiver.refuse(&forged).name(), expected, "{shape}");
        }
    }
}

#[test]
fn a_prefix_that_means_something_else_is_noticed() {
    let policy = items_policy();
    let message = secure(&policy, &items(["1", "2", "3"]));
    let moved = message.replace("xmlns:p=\"urn:items\"", "xmlns:p=\"urn:other\"");
    for tuning in gambling() {
        let mut receiver = Receiver::service(&policy, tuning);
        assert_eq!(receiver.refuse(&moved).name(), "digest-mismatch");
    }
}
