//! Digests and canonical forms that differ, and what happened to a message afterwards.

use soapstone::crypto::{DigestAlgorithm, base64, digest, hexadecimal};
use soapstone::xml::Canonicalization;

use crate::cases::Cases;
use crate::support::{
    self, Digested, PLAIN, RSA, Signer, as_it_is, form, secured, signed, signed_anew, with_value,
};

/// Without an attribute, wherever it stands.
fn without(form: &str, start: &str) -> String {
    let from = form.find(start).expect("an attribute");
    let length = form[from + start.len()..].find('"').expect("its end");
    format!(
        "{}{}",
        &form[..from],
        &form[from + start.len() + length + 1..]
    )
}

pub(crate) fn digests(cases: &mut Cases) {
    cases.replaced("a line end between all tags", "white-space", "><", ">\n<");
    cases.digested(
        "tags on lines of their own",
        "white-space",
        "Body",
        &|_, _, form| {
            form.replace("><", ">\n<")
                .replace(">\n</q:empty>", "></q:empty>")
                .into_bytes()
        },
    );
    cases.digested("a line end behind", "white-space", "Body", &|_, _, form| {
        format!("{form}\n").into_bytes()
    });
    cases.replaced("tabs as spaces", "white-space", "\t", " ");
    let long =
        "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ejAxMjM0NTY3ODkh";
    let (start, end) = long.split_at(76);
    cases.replaced(
        "base64 in lines of 76",
        "base64-white-space",
        long,
        &format!("{start}\n{end}"),
    );
    let (start, end) = long.split_at(64);
    cases.replaced(
        "base64 in lines of 64 with CR LF",
        "base64-white-space",
        "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ejAxMjM0NTY3ODkhQUJDREVGR0hJSktMTU5PUFFSU1RV",
        &format!("{start}&#xD;\n{end}QUJDREVGR0hJSktMTU5PUFFSU1RV"),
    );
    cases.replaced("CR LF", "line-ends", "\n", "&#xD;\n");
    cases.replaced("CR LF as bytes", "line-ends", "\n", "\r\n");
    cases.replaced("CR alone", "line-ends", "\n", "&#xD;");
    cases.replaced("> as it is", "escaping", "&gt;", ">");
    cases.replaced("& as it is", "escaping", "&amp;", "&");
    cases.replaced(
        "quotes in text escaped",
        "escaping",
        "\"so\"",
        "&quot;so&quot;",
    );
    cases.replaced("apostrophes escaped", "escaping", "'on'", "&apos;on&apos;");
    cases.replaced(
        "quotes in attributes as they are",
        "escaping",
        "a&quot;b",
        "a\"b",
    );
    cases.replaced("decimal references", "escaping", "ü", "&#252;");
    cases.replaced("hexadecimal references", "escaping", "ü", "&#xFC;");
    cases.replaced(
        "ISO-8859-1 taken for UTF-8",
        "encoding",
        "ü",
        "\u{c3}\u{bc}",
    );
    cases.replaced("question marks", "encoding", "ü", "?");
    cases.digested("ISO-8859-1", "encoding", "Body", &|_, _, form| {
        form.chars()
            .map(|one| u8::try_from(u32::from(one)).expect("Latin-1"))
            .collect()
    });
    cases.digested("UTF-16", "encoding", "Body", &|_, _, form| {
        form.encode_utf16().flat_map(u16::to_le_bytes).collect()
    });
    cases.digested(
        "a byte order mark",
        "byte-order-mark",
        "Body",
        &|_, _, form| format!("\u{feff}{form}").into_bytes(),
    );
    cases.replaced("normalization form D", "unicode-form", "ü", "u\u{308}");
    cases.replaced(
        "empty tags",
        "empty-element-tags",
        "<q:empty></q:empty>",
        "<q:empty/>",
    );
    cases.replaced(
        "empty tags with a space",
        "empty-element-tags",
        "<q:empty></q:empty>",
        "<q:empty />",
    );
    cases.digested("single quotes", "quotes", "trace", &|_, _, form| {
        form.replace('"', "'").into_bytes()
    });
    cases.digested(
        "an XML declaration",
        "declaration",
        "Body",
        &|_, _, form| format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>{form}").into_bytes(),
    );
    cases.digested("digested twice", "digested-twice", "Body", &|_, _, form| {
        let once = digest(DigestAlgorithm::Sha256, form.as_bytes()).expect("a digest");
        once.as_ref().to_vec()
    });
}

pub(crate) fn forms(cases: &mut Cases) {
    for (name, method) in [
        ("inclusive", Canonicalization::Inclusive10),
        ("inclusive 1.1", Canonicalization::Inclusive11),
    ] {
        cases.digested(
            name,
            "canonicalization",
            "Body",
            &move |document, node, _| form(document, node, method, &[], &[]),
        );
    }
    cases.digested("with comments", "comments", "Body", &|document, node, _| {
        form(
            document,
            node,
            Canonicalization::ExclusiveWithComments,
            &[],
            &[],
        )
    });
    cases.digested(
        "a prefix list not announced",
        "prefix-list",
        "Body",
        &|document, node, _| form(document, node, Canonicalization::Exclusive, &["x"], &[]),
    );
    let listed = signed().replace(
        "<ds:Transform Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"></ds:Transform>",
        "<ds:Transform Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"><ec:InclusiveNamespaces \
         xmlns:ec=\"http://www.w3.org/2001/10/xml-exc-c14n#\" PrefixList=\"x\"></ec:InclusiveNamespaces></ds:Transform>",
    );
    assert!(listed.contains("PrefixList"), "{listed}");
    let parts: Vec<(&str, Digested<'_>)> = ["Body", "Timestamp", "trace"]
        .map(|part| (part, &as_it_is as Digested<'_>))
        .to_vec();
    cases.add(
        "a prefix list announced and not used",
        "prefix-list",
        signed_anew(&listed, &Signer::client(), &parts, &as_it_is),
    );
    cases.digested(
        "a declaration left out",
        "prefix-declaration",
        "Body",
        &|_, _, form| {
            form.replace(" xmlns:q=\"urn:example:shop\"", "")
                .into_bytes()
        },
    );
    cases.digested(
        "a declaration further up",
        "prefix-declaration",
        "Body",
        &|_, _, form| {
            let form = form.replace(" xmlns:q=\"urn:example:shop\"", "");
            form.replacen("<soap:Body", "<soap:Body xmlns:q=\"urn:example:shop\"", 1)
                .into_bytes()
        },
    );
    cases.digested(
        "the content alone",
        "content-only",
        "Body",
        &|_, _, form| {
            let start = form.find('>').expect("a tag") + 1;
            form.as_bytes()[start..form.rfind('<').expect("a tag")].to_vec()
        },
    );
    cases.digested(
        "an element further down",
        "other-element",
        "trace",
        &|document, _, _| {
            let order = document
                .root()
                .children()
                .last()
                .expect("a Body")
                .first_child()
                .expect("an order");
            let item = order.first_child().expect("an item").id();
            form(document, item, Canonicalization::Exclusive, &[], &[])
        },
    );
    cases.digested(
        "another block",
        "other-element",
        "trace",
        &|document, _, _| {
            let root = document.root();
            let body = root
                .children()
                .last()
                .expect("a Body")
                .first_child()
                .expect("an order")
                .id();
            form(document, body, Canonicalization::Exclusive, &[], &[])
        },
    );
    cases.digested("before the id", "before-id", "Body", &|_, _, form| {
        let form = without(form, " wsu:Id=\"");
        without(&form, " xmlns:wsu=\"").into_bytes()
    });
    cases.digested(
        "before mustUnderstand",
        "before-must-understand",
        "trace",
        &|_, _, form| {
            without(&without(form, " soap:mustUnderstand=\""), " xmlns:soap=\"").into_bytes()
        },
    );
    cases.digested(
        "before an attribute",
        "before-attribute",
        "Body",
        &|_, _, form| without(form, " b=\"").into_bytes(),
    );
    cases.digested(
        "mustUnderstand true",
        "attribute-value",
        "trace",
        &|_, _, form| {
            form.replace("mustUnderstand=\"1\"", "mustUnderstand=\"true\"")
                .into_bytes()
        },
    );
    cases.digested(
        "attributes by name",
        "attribute-order",
        "trace",
        &|_, _, form| {
            let (early, late) = (" q:zone=\"z\"", " soap:mustUnderstand=\"1\"");
            let start = form.find(" wsu:Id=\"").expect("an id");
            let end = start + 9 + form[start + 9..].find('"').expect("its end") + 1;
            let id = &form[start..end];
            let form = form.replace(early, "").replace(id, "");
            form.replace(late, &format!("{early}{late}{id}"))
                .into_bytes()
        },
    );
    cases.digested(
        "not canonicalized",
        "not-canonicalized",
        "trace",
        &|document, node, _| document.source(node).expect("a source").to_vec(),
    );
    cases.digested(
        "the prefix renamed",
        "prefix-renamed",
        "Body",
        &|_, _, form| {
            form.replace("q:", "ns0:")
                .replace("xmlns:q=", "xmlns:ns0=")
                .into_bytes()
        },
    );
    cases.digested(
        "a Timestamp without milliseconds",
        "timestamp-format",
        "Timestamp",
        &|_, _, form| {
            assert!(form.contains(".000Z"), "{form}");
            form.replace(".000Z", "Z").into_bytes()
        },
    );
}

/// What was done to the message after it was signed.
pub(crate) fn afterwards(cases: &mut Cases) {
    let message = signed();
    cases.add("indented", "white-space", message.replace("><", ">\n  <"));
    let body = PLAIN.find("<soap:Body>").expect("a Body");
    let lines = PLAIN[body..]
        .replace("<!-- a remark -->", "")
        .replace("><", ">\n<");
    let lines = lines
        .replace(">\n</q:empty>", "></q:empty>")
        .replace("</soap:Body>\n", "</soap:Body>");
    let message_in_lines = secured("client", RSA, &format!("{}{lines}", &PLAIN[..body]));
    cases.add(
        "line ends taken out",
        "white-space",
        message_in_lines.replace(">\n<", "><"),
    );
    let expires =
        message.find("<wsu:Expires>").expect("an end") + "<wsu:Expires>2026-11-21T16:0".len();
    let mut later = message.clone();
    let minute = if &message[expires..=expires] == "9" {
        "8"
    } else {
        "9"
    };
    later.replace_range(expires..=expires, minute);
    cases.add("another end", "timestamp-changed", later);
    let first = |tag: &str| {
        let start = message.find(tag).expect("a value") + tag.len();
        start..start + message[start..].find('<').expect("an end")
    };
    let place = first("<ds:DigestValue>");
    let digest_value = message[place.clone()].to_owned();
    let octets = base64::decode_xml_to_vec(digest_value.as_bytes()).expect("base64");
    let with_digest = |text: &str| {
        let message = message.replace(&digest_value, text);
        with_value(&message, |octets| Signer::client().sign(octets), &as_it_is)
    };
    cases.add(
        "a digest in hexadecimal",
        "digest-encoding",
        with_digest(&hexadecimal::encode(&octets)),
    );
    let text = base64::encode(hexadecimal::encode(&octets).as_bytes());
    cases.add(
        "a digest in hexadecimal in base64",
        "digest-encoding",
        with_digest(&text),
    );
    cases.add("a digest changed after signing", "digest-value-changed", {
        let other = digest(DigestAlgorithm::Sha256, b"another message").expect("a digest");
        message.replace(&digest_value, &base64::encode(other.as_ref()))
    });
    let body = message.rfind("<ds:DigestValue>").expect("a value") + "<ds:DigestValue>".len();
    let other = message[body..body + digest_value.len()].to_owned();
    let swapped = message
        .replace(&digest_value, "FIRST")
        .replace(&other, &digest_value)
        .replace("FIRST", &other);
    cases.add(
        "digests swapped",
        "digest-swapped",
        with_value(&swapped, |octets| Signer::client().sign(octets), &as_it_is),
    );
    cases.add("SHA-1 under the name of SHA-256", "other-hash", {
        let read = support::document(&message);
        let id = read
            .elements_named("http://www.w3.org/2000/09/xmldsig#", "Reference")
            .next()
            .expect("a reference");
        let uri = id.attribute("", "URI").expect("a URI").into_owned();
        let node = read.by_id(&uri[1..]).expect("one").expect("a target");
        let octets = form(&read, node, Canonicalization::Exclusive, &[], &[]);
        let value = digest(DigestAlgorithm::Sha1, &octets).expect("a digest");
        with_digest(&base64::encode(value.as_ref()))
    });
}
