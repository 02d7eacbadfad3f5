//! Good messages that a program on the way changed: serializers, proxies, editors, printers.
//!
//! The rule kept here: the whole message is changed, with its `ds:SignedInfo`, as such programs do.

use soapstone_explain::Known;

use crate::cases::{Sender, indented, rich};
use crate::support::{first_causes, told_with};

/// A message that was changed on the way, and kinds that explain it: any of those that `/`
/// separates, each alone or two of them.
pub(crate) struct Changed {
    name: &'static str,
    kinds: &'static str,
    message: String,
    known: Known,
}

/// The message with lines in a text that end with CR LF, and with white space that is lost easily.
fn plain() -> String {
    rich()
        .replace("first\n", "first&#13;\n")
        .replace("b=\"2\"", "b=\"2\" lines=\"one&#10;two\"")
        .replace("</q:city>", "</q:city><q:row>1\t2\t3</q:row>")
        .replace("<q:blank> </q:blank>", "<q:pad> </q:pad>")
}

const INFO: &str = "</ds:SignedInfo>";

/// What a change does to a message.
type How<'h> = &'h dyn Fn(&str) -> String;

pub(crate) fn broken() -> Vec<Changed> {
    let mut all: Vec<Changed> = Vec::new();
    let mut number = 0;
    let mut add = |name, kinds, how: How<'_>| {
        let sender = Sender::new(number, &plain());
        number += 1;
        let message = how(&sender.message);
        assert_ne!(message, sender.message, "{name}: nothing is changed");
        all.push(Changed {
            name,
            kinds,
            message,
            known: sender.known(),
        });
    };
    add("printed by a Windows program", "white-space", &|it| {
        indented(it, "  ", "\r\n")
    });
    add("printed, with the CR escaped", "white-space", &|it| {
        indented(it, "  ", "&#xD;\n")
    });
    add(
        "printed, with the CR of texts lost",
        "white-space line-ends",
        &|it| {
            indented(
                &it.replace("&#xD;", "").replace("&#13;", ""),
                "    ",
                "\r\n",
            )
        },
    );
    add("printed with tabs", "white-space", &|it| {
        indented(it, "\t", "\n")
    });
    add("a CR of texts lost", "line-ends", &|it| {
        it.replace("&#xD;", "").replace("&#13;", "")
    });
    add(
        "line ends of attributes read as spaces",
        "line-ends/escaping",
        &|it| {
            it.replace("one&#xA;two", "one two")
                .replace("one&#10;two", "one two")
        },
    );
    add("escaped twice", "escaping", &|it| {
        it.replace("7 &gt; 5 &amp; ", "7 &amp;gt; 5 &amp;amp; ")
    });
    add("tabs written as spaces", "white-space", &|it| {
        it.replace("1\t2\t3", "1    2    3")
            .replace("second\tthird", "second    third")
    });
    add("an element of a space emptied", "white-space", &|it| {
        it.replace("<q:pad> </q:pad>", "<q:pad/>")
    });
    add("base64 wrapped with CR LF", "base64-white-space", &|it| {
        wrapped(it, "\r\n")
    });
    add(
        "base64 wrapped with escaped CR LF",
        "base64-white-space",
        &|it| wrapped(it, "&#13;\n"),
    );
    add("xml:lang added to the Body", "before-attribute", &|it| {
        it.replacen("<soap:Body ", "<soap:Body xml:lang=\"en\" ", 1)
    });
    add("the prefix of SOAP renamed", "prefix-renamed", &|it| {
        renamed(it, "soap", "SOAP-ENV")
    });
    add(
        "printed, and a prefix renamed",
        "white-space prefix-renamed",
        &|it| indented(&renamed(it, "soap", "S"), "  ", "\n"),
    );
    add("mustUnderstand as a word", "attribute-value", &|it| {
        it.replace("soap:mustUnderstand=\"1\"", "soap:mustUnderstand=\"true\"")
    });
    add("a type put in", "before-attribute", &|it| {
        it.replacen(
            "<q:order ",
            "<q:order xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:type=\"q:Order\" ",
            1,
        )
    });
    add("UTF-8 taken for Latin-1", "encoding", &|it| {
        it.replace('ü', "\u{c3}\u{bc}")
            .replace('€', "\u{e2}\u{82}\u{ac}")
    });
    add("letters and accents apart", "unicode-form", &|it| {
        it.replace('ü', "u\u{308}")
    });
    add("one reference escaped twice", "escaping", &|it| {
        it.replace("7 &gt; 5", "7 &amp;gt; 5")
    });
    add("marked by an editor", "processing-instruction", &|it| {
        it.replace("<q:city>", "<?editor position=\"1\"?><q:city>")
    });
    add("elements in another order", "element-order", &|it| {
        let (start, rest) = it.split_once("<q:city>").expect("a city");
        let (city, rest) = rest.split_once("</q:city>").expect("its end");
        let rest = rest.replacen("</q:row>", &format!("</q:row><q:city>{city}</q:city>"), 1);
        [start, &rest].concat()
    });
    add("references in another order", "reference-order", &|it| {
        let end = "</ds:Reference>";
        let start = it.find("<ds:Reference ").expect("a reference");
        let (references, _) = it[start..].rsplit_once(end).expect("its end");
        let mut ordered: Vec<&str> = references.split(end).collect();
        ordered.reverse();
        let ordered = ordered.join(end);
        it.replacen(references, &ordered, 1)
    });
    add(
        "another canonicalization of the signature",
        "canonicalization algorithm-renamed",
        &|it| {
            it.replacen(
                "CanonicalizationMethod Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"",
                "CanonicalizationMethod Algorithm=\"http://www.w3.org/TR/2001/REC-xml-c14n-20010315\"",
                1,
            )
        },
    );
    all
}

/// The base64 of the Body in lines of 76 characters.
fn wrapped(message: &str, end: &str) -> String {
    let start = message.find("<q:data>").expect("data") + "<q:data>".len() + 76;
    format!("{}{end}{}", &message[..start], &message[start..])
}

fn renamed(message: &str, from: &str, to: &str) -> String {
    message
        .replace(&format!("<{from}:"), &format!("<{to}:"))
        .replace(&format!("</{from}:"), &format!("</{to}:"))
        .replace(&format!(" {from}:"), &format!(" {to}:"))
        .replace(&format!("xmlns:{from}="), &format!("xmlns:{to}="))
}

/// What is wrong with what is told of a message.
pub(crate) fn missed(case: Changed) -> Option<String> {
    let told = told_with(case.message.as_bytes(), case.known);
    let causes = first_causes(&told);
    let allowed: Vec<&str> = case.kinds.split(['/', ' ']).collect();
    let together: Vec<&str> = case
        .kinds
        .split('/')
        .next()
        .unwrap_or_default()
        .split(' ')
        .collect();
    let fits = |kinds: &[&str]| kinds.iter().all(|kind| allowed.contains(kind));
    let whole = case.kinds.contains('/')
        || together
            .iter()
            .all(|kind| causes.iter().any(|cause| cause.kinds.contains(kind)));
    let holds = !causes.is_empty()
        && whole
        && causes
            .iter()
            .all(|cause| cause.certain && fits(&cause.kinds));
    let says: Vec<_> = causes
        .iter()
        .map(|cause| (&cause.kinds, &cause.says))
        .collect();
    (!holds).then(|| format!("{}: expected {}, found {says:#?}", case.name, case.kinds))
}

pub(crate) fn unbroken() -> Vec<(&'static str, Vec<u8>, Known)> {
    let mut all: Vec<(&'static str, Vec<u8>, Known)> = Vec::new();
    let mut number = 0;
    let mut add = |name, how: &dyn Fn(&str) -> Vec<u8>| {
        let sender = Sender::new(number, &plain());
        number += 1;
        let message = how(&sender.message);
        assert_ne!(
            message,
            sender.message.as_bytes(),
            "{name}: nothing is changed"
        );
        all.push((name, message, sender.known()));
    };
    add("a declaration put before it", &|it| {
        format!("<?xml version='1.0' encoding='UTF-8'?>\r\n{it}").into_bytes()
    });
    add("a byte order mark", &|it| {
        format!("\u{feff}{it}").into_bytes()
    });
    add("another writing of empty elements", &|it| {
        it.replace("<q:empty></q:empty>", "<q:empty />")
            .into_bytes()
    });
    add("other quotes, and line ends of Windows in tags", &|it| {
        it.replace("number=\"1\"", "number='1'")
            .replace("<q:order ", "<q:order\r\n  ")
            .into_bytes()
    });
    add("characters as references", &|it| {
        it.replace('ü', "&#252;")
            .replace('€', "&#x20AC;")
            .into_bytes()
    });
    add("a CDATA section", &|it| {
        it.replace("Z\u{fc}rich", "<![CDATA[Z\u{fc}rich]]>")
            .into_bytes()
    });
    add("a comment in the Body", &|it| {
        it.replace("<q:empty", "<!-- passed here --><q:empty")
            .into_bytes()
    });
    add("white space between items of the header", &|it| {
        it.replace("<q:trace ", "\r\n  <q:trace ")
            .replace("</wsse:Security>", "\r\n</wsse:Security>")
            .into_bytes()
    });
    add("header blocks in another order", &|it| {
        let start = it.find("<q:trace ").expect("a block");
        let end = it.find("</q:trace>").expect("its end") + "</q:trace>".len();
        let header = it.find("</soap:Header>").expect("a header");
        let block = &it[start..end];
        let without = it.replacen(block, "", 1);
        let security = without.find("<wsse:Security").expect("a header");
        if security > start {
            let header = without.find("</soap:Header>").expect("a header");
            return format!("{}{block}{}", &without[..header], &without[header..]).into_bytes();
        }
        assert!(header > security);
        format!("{}{block}{}", &without[..security], &without[security..]).into_bytes()
    });
    add("xml:lang added to the Envelope", &|it| {
        it.replacen("<soap:Envelope ", "<soap:Envelope xml:lang=\"en\" ", 1)
            .into_bytes()
    });
    add("a declaration of a prefix that nothing uses", &|it| {
        it.replacen(
            "<soap:Envelope ",
            "<soap:Envelope xmlns:esb=\"urn:esb\" ",
            1,
        )
        .into_bytes()
    });
    all
}

/// Changes of what a message says.
pub(crate) fn lost() -> Vec<(&'static str, String, Known)> {
    let mut all = Vec::new();
    let changes: [(&str, How<'_>); 4] = [
        ("a number written otherwise", &|it| {
            it.replace("number=\"1\"", "number=\"1.0\"")
        }),
        ("a text in capitals", &|it| it.replace("deep", "DEEP")),
        ("an element less", &|it| {
            it.replace("<q:empty></q:empty>", "")
                .replace("<q:empty/>", "")
        }),
        ("two lines in one", &|it| {
            it.replace("second\tthird", "secondthird")
        }),
    ];
    for (number, (name, how)) in changes.into_iter().enumerate() {
        let sender = Sender::new(number, &plain());
        let message = how(&sender.message);
        assert_ne!(message, sender.message, "{name}: nothing is changed");
        assert!(message.contains(INFO), "{name}: it is signed");
        let known = sender.known();
        all.push((name, message, known));
    }
    all
}
