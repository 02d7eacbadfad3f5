//! Two mistakes in one message: in one part, in what signs it, and in two parts.

use soapstone::crypto::{
    DigestAlgorithm, SignatureAlgorithm, SymmetricKey, base64, digest, hexadecimal,
};
use soapstone::xml::{Canonicalization, Document, NodeId};
use soapstone_explain::Known;

use crate::cases::{Cases, SECRET, Sender, inclusive, indented, of_soap12, rich, without};
use crate::support::{
    self, Digested, Signer, as_it_is, certificate, form, known, private_key, replaced_value,
    secured, signed_anew, value, with_value,
};

fn open(form: &str) -> String {
    form.replace("&gt;", ">")
}

pub(crate) fn of_one_part(cases: &mut Cases) {
    let mut body = |name: &str, kinds, how: &dyn Fn(&str) -> String| {
        cases.body(name, kinds, &rich(), |form| how(form).into_bytes());
    };
    body("indented with CR LF", "line-ends white-space", &|form| {
        indented(form, "    ", "\n").replace('\n', "&#xD;\n")
    });
    body(
        "SOAP of another version and >",
        "namespace-renamed escaping",
        &|form| {
            let (old, new) = (
                "http://schemas.xmlsoap.org/soap/envelope/",
                "http://www.w3.org/2003/05/soap-envelope",
            );
            open(&match form.contains(old) {
                true => form.replace(old, new),
                false => form.replace(new, old),
            })
        },
    );
    body(
        "two prefixes renamed",
        "prefix-renamed prefix-renamed",
        &|form| {
            form.replace("q:", "ns2:")
                .replace("xmlns:q=", "xmlns:ns2=")
                .replace("soap:", "env:")
                .replace("xmlns:soap=", "xmlns:env=")
        },
    );
    body(
        "wrapped base64 and >",
        "base64-white-space escaping",
        &|form| {
            let start = form.find("<q:data>").expect("data") + "<q:data>".len() + 76;
            open(&format!("{}\n{}", &form[..start], &form[start..]))
        },
    );
    body(
        "single quotes and empty tags",
        "quotes empty-element-tags",
        &|form| {
            form.replace("<q:empty></q:empty>", "<q:empty/>")
                .replace('"', "\u{1}")
                .replace("\u{1}so\u{1}", "\"so\"")
                .replace('\u{1}', "'")
        },
    );
    body(
        "a declaration and a line end",
        "declaration white-space",
        &|form| format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>{form}\n"),
    );
    body(
        "a declaration further up and >",
        "prefix-declaration escaping",
        &|form| {
            let form = form.replace(" xmlns:q=\"urn:example:shop\"", "");
            open(&form.replacen("<soap:Body", "<soap:Body xmlns:q=\"urn:example:shop\"", 1))
        },
    );
    body("Latin-1 misread and >", "encoding escaping", &|form| {
        open(
            &form
                .replace('ü', "\u{c3}\u{bc}")
                .replace('€', "\u{e2}\u{82}\u{ac}"),
        )
    });
    body(
        "tabs as spaces and CR LF",
        "white-space line-ends",
        &|form| form.replace('\t', " ").replace('\n', "&#xD;\n"),
    );
    let content = |form: &str| {
        let start = form.find('>').expect("a tag") + 1;
        form[start..form.rfind('<').expect("a tag")].to_owned()
    };
    body(
        "the content with CR LF",
        "content-only line-ends",
        &|form| content(form).replace('\n', "&#xD;\n"),
    );
    let list = |document: &Document, node: NodeId, _: &str| {
        let bytes = form(document, node, Canonicalization::Exclusive, &["x"], &[]);
        open(&String::from_utf8(bytes).expect("UTF-8")).into_bytes()
    };
    cases.parts(
        "a listed prefix and >",
        "prefix-list escaping",
        &rich(),
        &[("Body", &list)],
    );
    let eleven = |document: &Document, node: NodeId, _: &str| {
        let bytes = form(document, node, Canonicalization::Inclusive11, &[], &[]);
        let text = String::from_utf8(bytes).expect("UTF-8");
        text.replace('ü', "u\u{308}").into_bytes()
    };
    cases.parts(
        "inclusive 1.1 and form D",
        "canonicalization unicode-form",
        &rich(),
        &[("Body", &eleven)],
    );
    let remarked = |document: &Document, node: NodeId, _: &str| {
        let method = Canonicalization::ExclusiveWithComments;
        let bytes = form(document, node, method, &[], &[]);
        let text = String::from_utf8(bytes).expect("UTF-8");
        text.replace('\n', "&#xD;\n").into_bytes()
    };
    cases.parts(
        "comments and CR LF",
        "comments line-ends",
        &rich(),
        &[("Body", &remarked)],
    );
    let bare = |_: &Document, _: NodeId, form: &str| {
        let attributes = [
            " wsu:Id=\"",
            " xmlns:wsu=\"",
            " soap:mustUnderstand=\"",
            " xmlns:soap=\"",
        ];
        without(form, &attributes).into_bytes()
    };
    cases.parts(
        "before id and mustUnderstand",
        "before-id before-must-understand",
        &rich(),
        &[("trace", &bare)],
    );
    let bare = |document: &Document, node: NodeId, _: &str| {
        without(&inclusive(document, node), &[" soap:mustUnderstand=\""]).into_bytes()
    };
    cases.parts(
        "inclusive and before mustUnderstand",
        "canonicalization before-must-understand",
        &rich(),
        &[("trace", &bare)],
    );
    let source = |document: &Document, _: NodeId, _: &str| {
        let body = document.root().children().last().expect("a Body").id();
        let source = document.source(body).expect("a source");
        let text = std::str::from_utf8(source).expect("UTF-8");
        text.replace('\n', "\r\n").into_bytes()
    };
    cases.parts(
        "the source with CR LF",
        "not-canonicalized line-ends",
        &rich(),
        &[("Body", &source)],
    );
    let elsewhere = |document: &Document, _: NodeId, _: &str| {
        let body = document.root().children().last().expect("a Body").id();
        let bytes = form(document, body, Canonicalization::Exclusive, &[], &[]);
        open(&String::from_utf8(bytes).expect("UTF-8")).into_bytes()
    };
    cases.parts(
        "another element and >",
        "other-element escaping",
        &rich(),
        &[("trace", &elsewhere)],
    );
}

/// The digest of the Body in another form, of other bytes.
fn with_digest(message: &str, signer: &Signer, how: impl Fn(&str) -> String) -> String {
    let read = support::document(message);
    let node = read.root().children().last().expect("a Body").id();
    let body = form(&read, node, Canonicalization::Exclusive, &[], &[]);
    let text = how(std::str::from_utf8(&body).expect("UTF-8"));
    let old = digest(DigestAlgorithm::Sha256, &body).expect("a digest");
    let old = base64::encode(old.as_ref());
    assert!(message.contains(&old));
    let message = message.replace(&old, &text);
    with_value(&message, |bytes| signer.sign(bytes), &as_it_is)
}

pub(crate) fn of_values(cases: &mut Cases) {
    let hashed = |algorithm, text: &str| digest(algorithm, text.as_bytes()).expect("a digest");
    let sender = cases.sender(&rich());
    let message = with_digest(&sender.message, &sender.signer, |form| {
        let text = form.replace('\n', "&#xD;\n");
        hexadecimal::encode(hashed(DigestAlgorithm::Sha256, &text).as_ref())
    });
    cases.add(
        "CR LF and a digest in hexadecimal",
        "line-ends digest-encoding",
        message,
        sender.known(),
    );
    let sender = cases.sender(&rich());
    let message = with_digest(&sender.message, &sender.signer, |form| {
        let text = indented(form, "  ", "\n");
        base64::encode(hashed(DigestAlgorithm::Sha1, &text).as_ref())
    });
    cases.add(
        "indented and SHA-1",
        "white-space other-hash",
        message,
        sender.known(),
    );
    let info: Digested<'_> = &|read, node, _| inclusive(read, node).into_bytes();
    // ECDSA.
    let key = private_key("p256");
    let message = with_value(
        &Sender::new(1, &rich()).message,
        |bytes| {
            let method = SignatureAlgorithm::EcdsaSha256;
            key.sign(method, bytes).expect("a signature")
        },
        info,
    );
    let bytes = base64::decode_xml_to_vec(value(&message).as_bytes()).expect("base64");
    let swapped = [&bytes[32..], &bytes[..32]].concat();
    cases.add(
        "ECDSA: s first and SignedInfo inclusive",
        "signature-encoding canonicalization",
        replaced_value(&message, &base64::encode(&swapped)),
        Known::default(),
    );
    // HMAC.
    let sharing = Sender::sharing(&rich());
    let text = hexadecimal::encode(SECRET).into_bytes();
    for (name, kinds, key, method) in [
        (
            "HMAC: hexadecimal key and SignedInfo inclusive",
            "key-in-hexadecimal canonicalization",
            text,
            SignatureAlgorithm::HmacSha256,
        ),
        (
            "HMAC: SHA-512 and SignedInfo inclusive",
            "canonicalization other-hash",
            SECRET.to_vec(),
            SignatureAlgorithm::HmacSha512,
        ),
    ] {
        let signer = Signer::Secret(SymmetricKey::new(key).expect("a key"), method);
        let message = with_value(&sharing.message, |bytes| signer.sign(bytes), info);
        cases.add(name, kinds, message, sharing.known());
    }
    // RSA.
    let server = private_key("server");
    let good = support::signed();
    let by = |method| {
        let server = &server;
        move |bytes: &[u8]| server.sign(method, bytes).expect("a signature")
    };
    let peer = || Known {
        certificates: vec![("`peer`".to_owned(), certificate("server"))],
        ..Known::default()
    };
    cases.add(
        "another certificate and SignedInfo indented",
        "other-certificate white-space",
        with_value(&good, by(SignatureAlgorithm::RsaSha256), &|_, _, form| {
            indented(form, "  ", "\n").into_bytes()
        }),
        peer(),
    );
    cases.add(
        "another certificate and SHA-1",
        "other-certificate other-hash",
        with_value(&good, by(SignatureAlgorithm::RsaSha1), &as_it_is),
        peer(),
    );
    let client = private_key("client");
    let renamed = with_value(
        &good,
        |bytes| {
            let method = SignatureAlgorithm::RsaSha1;
            client.sign(method, bytes).expect("a signature")
        },
        &|_, _, form| {
            form.replace(
                "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
                "http://www.w3.org/2000/09/xmldsig#rsa-sha1",
            )
            .into_bytes()
        },
    );
    cases.add(
        "the method changed by name",
        "other-hash algorithm-renamed",
        renamed,
        Known::default(),
    );
    let backwards = with_value(
        &good,
        |bytes| {
            let mut value = Signer::client().sign(bytes);
            value.reverse();
            value
        },
        &|_, _, form| {
            form.replace("></ds:Transform>", "/>")
                .replace("></ds:CanonicalizationMethod>", "/>")
                .replace("></ds:SignatureMethod>", "/>")
                .replace("></ds:DigestMethod>", "/>")
                .into_bytes()
        },
    );
    cases.add(
        "a value in reverse and empty tags",
        "signature-encoding empty-element-tags",
        backwards,
        Known::default(),
    );
}

pub(crate) fn of_two_parts(cases: &mut Cases) {
    let ended = |_: &Document, _: NodeId, form: &str| form.replace('\n', "&#xD;\n").into_bytes();
    let opened = |_: &Document, _: NodeId, form: &str| open(form).into_bytes();
    let lost = |_: &Document, _: NodeId, form: &str| form.replace(".000Z", ".250Z").into_bytes();
    let plain = |document: &Document, node: NodeId, _: &str| inclusive(document, node).into_bytes();
    let bare = |_: &Document, _: NodeId, form: &str| {
        without(form, &[" wsu:Id=\"", " xmlns:wsu=\""]).into_bytes()
    };
    cases.parts(
        "a Body inclusive, a Timestamp without its milliseconds",
        "canonicalization | timestamp-format",
        &rich(),
        &[("Body", &plain), ("Timestamp", &lost)],
    );
    cases.parts(
        "a Body with CR LF, a block before its id",
        "line-ends | before-id",
        &rich(),
        &[("Body", &ended), ("trace", &bare)],
    );
    cases.parts(
        "a Body with >, a block inclusive",
        "escaping | canonicalization",
        &rich(),
        &[("Body", &opened), ("trace", &plain)],
    );
    let sender = Sender::new(4, &of_soap12(&rich()));
    let message = signed_anew(&sender.message, &sender.signer, &[("Body", &ended)], &plain);
    cases.add(
        "a Body with CR LF, SignedInfo inclusive",
        "line-ends | canonicalization",
        message,
        sender.known(),
    );
    let good = secured(
        "client",
        "[security]\nmechanism = \"sign-encrypt\"\nalgorithms = { signature = [\"rsa-sha256\"], digest = [\"sha256\"], canonicalization = [\"exc-c14n\"], key_transport = [\"rsa-1_5\"], data = [\"aes128-gcm\"] }",
        &rich(),
    );
    let message = signed_anew(
        &good,
        &Signer::client(),
        &[("Timestamp", &|_, _, form: &str| {
            format!("{form}\n").into_bytes()
        })],
        &as_it_is,
    );
    let message = message.replace(
        "http://www.w3.org/2001/04/xmlenc#rsa-1_5",
        "http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p",
    );
    cases.add(
        "a Timestamp with a line end, a session key under another name",
        "white-space | key-transport",
        message,
        known(),
    );
}
