//! One mistake each in what is digested: characters, white space, forms, namespaces, moments.

use soapstone::crypto::{DigestAlgorithm, base64, digest, hexadecimal};
use soapstone::xml::Canonicalization;

use crate::cases::{Cases, inclusive, indented, lines, of_soap12, rich, without};
use crate::support::{Digested, Signer, as_it_is, form, secured, signed_anew, with_value};

pub(crate) fn characters(cases: &mut Cases) {
    let faces = rich().replace("5 €", "5 \u{1f600}");
    cases.body(
        "surrogates as decimal references",
        "escaping",
        &faces,
        |form| {
            form.replace('\u{1f600}', "&#55357;&#56832;")
                .replace('ü', "&#252;")
                .into_bytes()
        },
    );
    cases.body(
        "surrogates as hexadecimal references",
        "escaping",
        &faces,
        |form| {
            form.replace('\u{1f600}', "&#xD83D;&#xDE00;")
                .replace('ü', "&#xFC;")
                .into_bytes()
        },
    );
    cases.body("surrogates of three bytes", "encoding", &faces, |form| {
        let (before, behind) = form.split_once('\u{1f600}').expect("a face");
        let pair = [0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80];
        [before.as_bytes(), &pair, behind.as_bytes()].concat()
    });
    cases.body("Windows-1252", "encoding", &rich(), |form| {
        let byte = |one: char| match one {
            '€' => 0x80,
            one => u8::try_from(u32::from(one)).expect("Latin-1"),
        };
        form.chars().map(byte).collect()
    });
    cases.body(
        "UTF-16 with a byte order mark",
        "encoding",
        &rich(),
        |form| {
            let text = format!("\u{feff}{form}");
            text.encode_utf16().flat_map(u16::to_le_bytes).collect()
        },
    );
    cases.body(
        "hexadecimal references in small letters",
        "escaping",
        &rich(),
        |form| {
            form.replace('ü', "&#xfc;")
                .replace('€', "&#x20ac;")
                .into_bytes()
        },
    );
    cases.replaced(
        "quotes in attributes by number",
        "escaping",
        "a&quot;b",
        "a&#34;b",
    );
    cases.replaced("apostrophes in attributes", "escaping", "it's", "it&apos;s");
    cases.replaced("ampersands by number", "escaping", "&amp;", "&#38;");
    cases.replaced("brackets by number", "escaping", "&gt;", "&#62;");
    cases.replaced(
        "a CDATA section",
        "escaping",
        "7 &gt; 5 &amp; \"so\" 'on'",
        "<![CDATA[7 > 5 & \"so\" 'on']]>",
    );
    for (name, declaration) in [
        (
            "a declaration on a line",
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n",
        ),
        (
            "a declaration that stands alone",
            "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>",
        ),
        (
            "a declaration in small letters",
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>",
        ),
    ] {
        cases.body(name, "declaration", &rich(), |form| {
            format!("{declaration}{form}").into_bytes()
        });
    }
    let apart = rich().replace('ü', "u\u{308}");
    cases.body("normalization form C", "unicode-form", &apart, |form| {
        form.replace("u\u{308}", "ü").into_bytes()
    });
    let misread = rich().replace('ü', "\u{c3}\u{bc}").replace('€', "EUR");
    cases.body("UTF-8 taken for Latin-1", "encoding", &misread, |form| {
        form.replace("\u{c3}\u{bc}", "ü").into_bytes()
    });
    cases.body("the euro encoded twice", "encoding", &rich(), |form| {
        // 0x82 is a low quotation mark in Windows-1252, 0xAC a negation and 0xBC a quarter.
        form.replace('€', "\u{e2}\u{201a}\u{ac}")
            .replace('ü', "\u{c3}\u{bc}")
            .into_bytes()
    });
}

pub(crate) fn spaces(cases: &mut Cases) {
    for (name, indent) in [
        ("indented by four", "    "),
        ("indented by tabs", "\t"),
        ("indented by three", "   "),
    ] {
        cases.body(name, "white-space", &rich(), |form| {
            indented(form, indent, "\n").into_bytes()
        });
    }
    cases.body("a line end in front", "white-space", &rich(), |form| {
        format!("\n{form}").into_bytes()
    });
    cases.body("CR LF behind", "white-space/line-ends", &rich(), |form| {
        format!("{form}\r\n").into_bytes()
    });
    cases.replaced(
        "line ends as spaces",
        "white-space/line-ends",
        "first\nsecond",
        "first second",
    );
    cases.replaced(
        "white space alone left out",
        "white-space",
        "<q:blank> </q:blank>",
        "<q:blank></q:blank>",
    );
    let hard = rich().replace("5 €", "5\u{a0}€");
    cases.body("non-breaking spaces", "white-space", &hard, |form| {
        form.replace('\u{a0}', " ").into_bytes()
    });
    let returned = rich().replace("first\n", "first&#13;\n");
    cases.body("CR left out", "line-ends", &returned, |form| {
        assert!(form.contains("&#xD;\n"), "{form}");
        form.replace("&#xD;\n", "\n").into_bytes()
    });
    cases.body(
        "base64 in lines that all end",
        "base64-white-space",
        &rich(),
        |form| {
            let start = form.find("<q:data>").expect("data") + "<q:data>".len();
            let end = form.find("</q:data>").expect("data");
            let text = &form[start..end];
            let wrapped = format!("{}\n{}\n", &text[..64], &text[64..]);
            format!("{}{wrapped}{}", &form[..start], &form[end..]).into_bytes()
        },
    );
}

pub(crate) fn forms(cases: &mut Cases) {
    cases.parts(
        "inclusive 1.1",
        "canonicalization",
        &rich(),
        &[("trace", &|document, node, _| {
            form(document, node, Canonicalization::Inclusive11, &[], &[])
        })],
    );
    let remarked = rich().replace(">7</q:trace>", "><!-- seven -->7</q:trace>");
    cases.parts(
        "comments of a header block",
        "comments",
        &remarked,
        &[("trace", &|document, node, _| {
            let method = Canonicalization::ExclusiveWithComments;
            form(document, node, method, &[], &[])
        })],
    );
    cases.parts(
        "two prefixes that are not listed",
        // All prefixes that are in scope: the inclusive form has the same bytes.
        "prefix-list/canonicalization",
        &rich(),
        &[("Body", &|document, node, _| {
            form(
                document,
                node,
                Canonicalization::Exclusive,
                &["x", "y"],
                &[],
            )
        })],
    );
    let defaulted = rich().replace(
        "<soap:Envelope ",
        "<soap:Envelope xmlns=\"urn:by-default\" ",
    );
    cases.parts(
        "the default namespace listed",
        "prefix-list",
        &defaulted,
        &[("Body", &|document, node, _| {
            let method = Canonicalization::Exclusive;
            form(document, node, method, &["#default"], &[])
        })],
    );
    let inner = rich().replace(
        "<q:blank>",
        "<ds:Signature xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\"><ds:SignedInfo/></ds:Signature><q:blank>",
    );
    cases.body(
        "a signature in the Body left out",
        "transform-order",
        &inner,
        |form| {
            let start = form.find("<ds:Signature ").expect("a signature");
            let end = form.find("</ds:Signature>").expect("a signature") + "</ds:Signature>".len();
            format!("{}{}", &form[..start], &form[end..]).into_bytes()
        },
    );
    cases.body("the text alone", "text-only", &rich(), |form| {
        let mut out = String::new();
        let mut inside = false;
        for one in form.chars() {
            match one {
                '<' => inside = true,
                '>' => inside = false,
                one if !inside => out.push(one),
                _ => {}
            }
        }
        out.into_bytes()
    });
    let hashed = |form: &str, algorithm| digest(algorithm, form.as_bytes()).expect("a digest");
    cases.body(
        "the hexadecimal digest digested",
        "digested-twice",
        &rich(),
        |form| hexadecimal::encode(hashed(form, DigestAlgorithm::Sha256).as_ref()).into_bytes(),
    );
    cases.body(
        "the base64 of a SHA-1 digest digested",
        "digested-twice",
        &rich(),
        |form| base64::encode(hashed(form, DigestAlgorithm::Sha1).as_ref()).into_bytes(),
    );
    cases.parts(
        "the Timestamp in the place of a block",
        "other-element/digest-swapped",
        &rich(),
        &[("trace", &|document, _, _| {
            let mut all = document.root().descendants();
            let timestamp = all.find(|element| element.local() == "Timestamp");
            let node = timestamp.expect("a Timestamp").id();
            form(document, node, Canonicalization::Exclusive, &[], &[])
        })],
    );
    cases.parts(
        "the source of a block",
        "not-canonicalized",
        &rich(),
        &[("trace", &|document, node, _| {
            document.source(node).expect("a source").to_vec()
        })],
    );
}

pub(crate) fn namespaces(cases: &mut Cases) {
    cases.parts(
        "SOAP of the other version",
        "namespace-renamed",
        &rich(),
        &[("Body", &|_, _, form| {
            let (old, new) = (
                "http://schemas.xmlsoap.org/soap/envelope/",
                "http://www.w3.org/2003/05/soap-envelope",
            );
            match form.contains(old) {
                true => form.replace(old, new),
                false => form.replace(new, old),
            }
            .into_bytes()
        })],
    );
    let optional = rich().replace(" soap:mustUnderstand=\"1\"", "");
    cases.parts(
        "mustUnderstand taken out",
        "attribute-removed",
        &optional,
        &[("trace", &|document, _, form| {
            let soap = document.root().namespace();
            // Declarations come first, by prefix; attributes stand by namespace.
            let form = form.replacen(
                "<q:trace xmlns:q=\"urn:example:shop\"",
                &format!("<q:trace xmlns:q=\"urn:example:shop\" xmlns:soap=\"{soap}\""),
                1,
            );
            let last = " q:zone=\"z\"";
            form.replace(last, &format!(" soap:mustUnderstand=\"1\"{last}"))
                .into_bytes()
        })],
    );
    cases.parts(
        "the prefix of SOAP renamed",
        "prefix-renamed",
        &rich(),
        &[("trace", &|_, _, form| {
            form.replace("soap:", "soapenv:")
                .replace("xmlns:soap=", "xmlns:soapenv=")
                .into_bytes()
        })],
    );
    cases.parts(
        "the default namespace for a prefix",
        "prefix-renamed",
        &rich()
            .replace("q:kind=", "kind=")
            .replace("<inner xmlns=\"urn:inner\">deep</inner>", ""),
        &[("Body", &|_, _, form| {
            form.replace("<q:", "<")
                .replace("</q:", "</")
                .replace("xmlns:q=", "xmlns=")
                .into_bytes()
        })],
    );
    let empty = rich().replace("<inner xmlns", "<bare xmlns=\"\"/><inner xmlns");
    let empty = empty.replace("<q:order ", "<order xmlns=\"urn:o\"><q:order ");
    let empty = empty.replace("</q:order>", "</q:order></order>");
    cases.body(
        "an empty declaration left out",
        "prefix-declaration",
        &empty,
        |form| {
            assert!(form.contains("<bare xmlns=\"\">"), "{form}");
            form.replace(" xmlns=\"\"", "").into_bytes()
        },
    );
    cases.body("an id without a namespace", "before-id", &rich(), |form| {
        let start = form.find(" wsu:Id=").expect("an id");
        let end = start + form[start..].find('>').expect("a tag");
        let id = &form[start + " wsu:Id".len()..end];
        let form = format!("{} Id{id}{}", &form[..start], &form[end..]);
        without(&form, &[" xmlns:wsu=\""]).into_bytes()
    });
    cases.body(
        "an inner declaration left out",
        "prefix-declaration",
        &rich(),
        |form| form.replace(" xmlns=\"urn:inner\"", "").into_bytes(),
    );
    cases.parts(
        "attributes in reverse",
        "attribute-order",
        &rich(),
        &[("Body", &|_, _, form| {
            let (first, second, third) = (" b=\"2\"", " number=\"1\"", " q:kind=\"a&quot;b\"");
            let written = format!("{first}{second}{third}");
            assert!(form.contains(&written), "{form}");
            form.replace(&written, &format!("{third}{second}{first}"))
                .into_bytes()
        })],
    );
    announced_inclusive(cases);
}

/// Inclusive canonicalization is announced, and the sender's library has its own view of it.
fn announced_inclusive(cases: &mut Cases) {
    let inclusively: Digested<'_> = &|document, node, _| inclusive(document, node).into_bytes();
    let of_body = |plain: &str, body: Digested<'_>| {
        let message = secured("client", &lines("rsa-sha256"), plain).replace(
            "http://www.w3.org/2001/10/xml-exc-c14n#",
            "http://www.w3.org/TR/2001/REC-xml-c14n-20010315",
        );
        let parts = [
            ("Body", body),
            ("Timestamp", inclusively),
            ("trace", inclusively),
        ];
        signed_anew(&message, &Signer::client(), &parts, inclusively)
    };
    let by = |plain: &str, how: &dyn Fn(&str) -> String| {
        of_body(plain, &|document, node, _| {
            let form = inclusive(document, node);
            let changed = how(&form);
            assert_ne!(changed, form);
            changed.into_bytes()
        })
    };
    let spoken = rich().replace("<soap:Envelope ", "<soap:Envelope xml:lang=\"en\" ");
    let mut add = |name, kinds, message| cases.add(name, kinds, message, Default::default());
    add(
        "a namespace of the Envelope added later",
        "prefix-declaration",
        by(&rich(), &|form| form.replace(" xmlns:y=\"urn:other\"", "")),
    );
    add(
        "all namespaces of the Envelope added later",
        "prefix-declaration",
        by(&spoken, &|form| {
            without(form, &[" xmlns:x=\"", " xmlns:y=\""])
        }),
    );
    add(
        "no attributes of the Envelope",
        "canonicalization",
        by(&spoken, &|form| without(form, &[" xml:lang=\""])),
    );
    add(
        "exclusive for inclusive",
        "canonicalization",
        of_body(&of_soap12(&rich()), &as_it_is),
    );
}

pub(crate) fn infos(cases: &mut Cases) {
    cases.info(
        "line ends behind digests",
        "base64-white-space/white-space",
        |form| form.replace("</ds:DigestValue>", "\n</ds:DigestValue>"),
    );
    cases.info("indented by four", "white-space", |form| {
        indented(form, "    ", "\n")
    });
    cases.info(
        "no declaration",
        "prefix-declaration/not-canonicalized",
        |form| without(form, &[" xmlns:ds=\""]),
    );
    cases.info("empty tags with a space", "empty-element-tags", |form| {
        let mut form = form.to_owned();
        for name in [
            "CanonicalizationMethod",
            "SignatureMethod",
            "Transform",
            "DigestMethod",
        ] {
            form = form.replace(&format!("></ds:{name}>"), " />");
        }
        form
    });
    cases.info(
        "another canonicalization by name",
        "algorithm-renamed",
        |form| {
            form.replacen(
                "http://www.w3.org/2001/10/xml-exc-c14n#",
                "http://www.w3.org/TR/2001/REC-xml-c14n-20010315",
                1,
            )
        },
    );
    cases.info("another transform by name", "algorithm-renamed", |form| {
        let (before, behind) = form.split_once("<ds:Reference").expect("a reference");
        let behind = behind.replace(
            "http://www.w3.org/2001/10/xml-exc-c14n#",
            "http://www.w3.org/TR/2001/REC-xml-c14n-20010315",
        );
        format!("{before}<ds:Reference{behind}")
    });
    cases.info("a declaration", "declaration", |form| {
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>{form}")
    });
    cases.info("digested once more", "digested-twice", |form| {
        let once = digest(DigestAlgorithm::Sha256, form.as_bytes()).expect("a digest");
        hexadecimal::encode(once.as_ref())
    });
    let listed = |message: &str| {
        let empty = "<ds:CanonicalizationMethod Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"></ds:CanonicalizationMethod>";
        assert!(message.contains(empty), "{message}");
        message.replace(
            empty,
            "<ds:CanonicalizationMethod Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"><ec:InclusiveNamespaces \
             xmlns:ec=\"http://www.w3.org/2001/10/xml-exc-c14n#\" PrefixList=\"soap x\"></ec:InclusiveNamespaces></ds:CanonicalizationMethod>",
        )
    };
    let sender = cases.sender(&rich());
    let message = with_value(
        &listed(&sender.message),
        |bytes| sender.signer.sign(bytes),
        &as_it_is,
    );
    let known = sender.known();
    cases.add(
        "a list that is announced and not used",
        "prefix-list",
        message,
        known,
    );
}

pub(crate) fn timestamps(cases: &mut Cases) {
    let moved = |form: &str, changes: &[(&str, &str)]| {
        let mut form = form.to_owned();
        for (what, by) in changes {
            assert!(form.contains(what), "{form}");
            form = form.replace(what, by);
        }
        form.into_bytes()
    };
    let mut add = |name: &str, kinds, changes: &[(&str, &str)]| {
        cases.parts(
            name,
            kinds,
            &rich(),
            &[("Timestamp", &|_, _, form| moved(form, changes))],
        );
    };
    add(
        "Created changed",
        "timestamp-changed",
        &[("T16:02:29", "T16:01:05")],
    );
    add(
        "both moments an hour later",
        "timestamp-changed",
        &[("T16:", "T15:")],
    );
    add(
        "both moments in another zone",
        "timestamp-format",
        &[("T16:", "T17:"), (".000Z", "+01:00")],
    );
    add(
        "milliseconds lost",
        "timestamp-format",
        &[(".000Z", ".417Z")],
    );
    add(
        "the zone by number",
        "timestamp-format",
        &[(".000Z", "+00:00")],
    );
}
