//! Thirty messages more: ten mistakes, each made by a sender with RSA, with ECDSA and with HMAC.

use soapstone::crypto::{DigestAlgorithm, base64, digest, hexadecimal};
use soapstone::xml::{Canonicalization, Document, NodeId};

use crate::cases::{Cases, Sender, rich};
use crate::support::{Digested, as_it_is, form, signed_anew, with_value};

/// A part that the senders of RSA, ECDSA and HMAC digest otherwise.
fn each(cases: &mut Cases, name: &str, kinds: &'static str, part: &str, how: Digested<'_>) {
    for number in 0..3 {
        let sender = Sender::new(number, &rich());
        let message = signed_anew(&sender.message, &sender.signer, &[(part, how)], &as_it_is);
        assert_ne!(message, sender.message, "{name}: nothing is broken");
        let name = format!("{name}, sender {number}");
        cases.add(&name, kinds, message, sender.known());
    }
}

fn body(cases: &mut Cases, name: &str, kinds: &'static str, how: impl Fn(&str) -> Vec<u8>) {
    let digested = |_: &Document, _: NodeId, form: &str| how(form);
    each(cases, name, kinds, "Body", &digested);
}

pub(crate) fn all(cases: &mut Cases) {
    body(cases, "tabs as spaces", "white-space", |form| {
        assert!(form.contains('\t'), "{form}");
        form.replace('\t', " ").into_bytes()
    });
    body(cases, "apostrophes of text escaped", "escaping", |form| {
        form.replace("'on'", "&apos;on&apos;").into_bytes()
    });
    body(cases, "UTF-16 of the other order", "encoding", |form| {
        form.encode_utf16().flat_map(u16::to_be_bytes).collect()
    });
    body(cases, "a line end behind", "white-space", |form| {
        format!("{form}\n").into_bytes()
    });
    body(cases, "quotes of text by number", "escaping", |form| {
        form.replace("\"so\"", "&#34;so&#34;").into_bytes()
    });
    each(
        cases,
        "comments of the Body",
        "comments",
        "Body",
        &|document, node, _| {
            form(
                document,
                node,
                Canonicalization::ExclusiveWithComments,
                &[],
                &[],
            )
        },
    );
    each(
        cases,
        "a block in the place of the Body",
        "other-element/digest-swapped",
        "Body",
        &|document, _, _| {
            let mut all = document.root().descendants();
            let block = all.find(|element| element.local() == "trace");
            let node = block.expect("a block").id();
            form(document, node, Canonicalization::Exclusive, &[], &[])
        },
    );
    body(cases, "base64 digested", "digested-twice", |form| {
        let once = digest(DigestAlgorithm::Sha256, form.as_bytes()).expect("a digest");
        base64::encode(once.as_ref()).into_bytes()
    });
    each(
        cases,
        "a Timestamp with seven digits",
        "timestamp-format",
        "Timestamp",
        &|_, _, form| {
            assert!(form.contains(".000Z"), "{form}");
            form.replace(".000Z", ".0000000Z").into_bytes()
        },
    );
    capitals(cases);
}

/// A digest that is written in hexadecimal capitals.
fn capitals(cases: &mut Cases) {
    for number in 0..3 {
        let sender = Sender::new(number, &rich());
        let message = &sender.message;
        let start = message.find("<ds:DigestValue>").expect("a digest") + "<ds:DigestValue>".len();
        let end = start + message[start..].find('<').expect("its end");
        let value = base64::decode_xml_to_vec(&message.as_bytes()[start..end]).expect("base64");
        let text = hexadecimal::encode(&value).to_uppercase();
        let message = format!("{}{text}{}", &message[..start], &message[end..]);
        let message = with_value(&message, |bytes| sender.signer.sign(bytes), &as_it_is);
        let name = format!("a digest in hexadecimal capitals, sender {number}");
        cases.add(&name, "digest-encoding", message, sender.known());
    }
}
