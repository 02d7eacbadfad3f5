//! Changes of a message by somebody who has no key: what is there is removed, repeated, moved,
//! exchanged, wrapped, renamed and listed for decryption, and pieces of another message of the same
//! policy come in.

use std::ops::Range;

use soapstone_wss::{ConversationVersion, names};

use crate::combinations::Choices;

/// An element: all of it, and its start tag.
#[derive(Clone)]
struct Found {
    whole: Range<usize>,
    start_tag: Range<usize>,
}

/// The elements of a message, outermost first.
fn elements(message: &str) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut from = 0;
    while let Some(at) = message[from..].find('<').map(|at| from + at) {
        let rest = &message[at..];
        let closing = match () {
            () if rest.starts_with("<!--") => "-->",
            () if rest.starts_with("<![CDATA[") => "]]>",
            () if rest.starts_with("<?") => "?>",
            () => ">",
        };
        let end = at + rest.find(closing).unwrap() + closing.len();
        if rest.starts_with("</") {
            let opened: &mut Found = &mut found[open.pop().unwrap()];
            opened.whole.end = end;
        } else if closing == ">" {
            if !rest[..end - at].ends_with("/>") {
                open.push(found.len());
            }
            found.push(Found {
                whole: at..end,
                start_tag: at..end,
            });
        }
        from = end;
    }
    found
}

/// The values of attributes that end as one of `names`, such as `Id="`.
fn values(message: &str, names: &[&str]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for name in names {
        for (at, _) in message.match_indices(name) {
            let from = at + name.len();
            found.push(from..from + message[from..].find('"').unwrap());
        }
    }
    found
}

fn spliced(message: &str, place: Range<usize>, with: &str) -> String {
    [&message[..place.start], with, &message[place.end..]].concat()
}

/// The message with what its pieces need declared by its root, so that they mean the same
/// everywhere in it.
pub(super) fn rooted(message: &str, version: ConversationVersion) -> String {
    let named = message.find("Envelope").unwrap();
    let end = named + message[named..].find('>').unwrap();
    let soap = match message.contains(names::SOAP12) {
        true => names::SOAP12,
        false => names::SOAP11,
    };
    let prefixes = [
        ("soap", soap),
        ("wsse", names::WSSE),
        ("wsse11", names::WSSE11),
        ("wsu", names::WSU),
        ("wsc", version.namespace()),
        ("ds", names::DS),
        ("xenc", names::XENC),
        ("a", "http://www.w3.org/2005/08/addressing"),
        ("e", "urn:echo"),
    ];
    let missing = prefixes.iter().filter(|(prefix, _)| {
        let declaration = format!("xmlns:{prefix}=");
        !message[..end].contains(&declaration)
    });
    let declarations: Vec<String> = missing
        .map(|(prefix, uri)| format!(" xmlns:{prefix}=\"{uri}\""))
        .collect();
    spliced(message, end..end, &declarations.concat())
}

/// What a message is made of: each of its elements with all that is in it, but for the root.
pub(super) fn pieces(message: &str) -> Vec<String> {
    let inner = elements(message).into_iter().skip(1);
    inner.map(|found| message[found.whole].to_owned()).collect()
}

/// Elements that stand for something in a message, for what is wrapped into one more of them.
const WRAPPERS: [&str; 7] = [
    "x",
    "soap:Body",
    "soap:Header",
    "wsse:Security",
    "xenc:EncryptedData",
    "ds:Object",
    "ds:KeyInfo",
];
const DECLARATIONS: &str = concat!(
    "xmlns:soap=\"http://schemas.xmlsoap.org/soap/envelope/\" ",
    "xmlns:wsse=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\" ",
    "xmlns:xenc=\"http://www.w3.org/2001/04/xmlenc#\" xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\"",
);

/// What was never signed.
const FOREIGN: [&str; 6] = [
    "<e:echo xmlns:e=\"urn:echo\"><e:text>forged</e:text></e:echo>",
    "<soap:Body><e:echo xmlns:e=\"urn:echo\"><e:text>forged</e:text></e:echo></soap:Body>",
    "<a:To xmlns:a=\"http://www.w3.org/2005/08/addressing\">urn:forged</a:To>",
    "<e:text xmlns:e=\"urn:echo\">forged</e:text>",
    "<!-- forged -->",
    "<?forged?>",
];

/// Algorithms that other policies name, each of which would make something weaker or void.
const ALGORITHMS: [&str; 10] = [
    "http://www.w3.org/2000/09/xmldsig#hmac-sha1",
    "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256",
    "http://www.w3.org/2000/09/xmldsig#rsa-sha1",
    "http://www.w3.org/2000/09/xmldsig#sha1",
    "http://www.w3.org/2001/10/xml-exc-c14n#WithComments",
    "http://www.w3.org/TR/2001/REC-xml-c14n-20010315",
    "http://www.w3.org/2000/09/xmldsig#enveloped-signature",
    "http://www.w3.org/2001/04/xmlenc#aes128-cbc",
    "http://www.w3.org/2001/04/xmlenc#rsa-1_5",
    "http://www.w3.org/2001/04/xmlenc#Content",
];

/// A message changed once, with pieces of itself or of `other`. The root stays.
pub(super) fn changed(message: &str, other: &str, choices: &mut Choices) -> String {
    let elements = self::elements(message);
    let [_, inner @ ..] = elements.as_slice() else {
        return message.to_owned();
    };
    if inner.is_empty() {
        return message.to_owned();
    }
    let (first, second) = (choices.one_of(inner), choices.one_of(inner));
    let octets = |found: &Found| message[found.whole.clone()].to_owned();
    let inside = |found: &Found| found.start_tag.end;
    match choices.next() % 13 {
        // Removed.
        0 => spliced(message, first.whole, ""),
        // Once more, right behind or somewhere else.
        1 => spliced(message, first.whole.end..first.whole.end, &octets(&first)),
        2 => spliced(message, inside(&second)..inside(&second), &octets(&first)),
        // Moved: what is behind goes first, so that places stay right.
        3 if second.whole.end <= first.whole.start => {
            let without = spliced(message, first.whole.clone(), "");
            spliced(&without, inside(&second)..inside(&second), &octets(&first))
        }
        // Exchanged.
        4 if second.whole.end <= first.whole.start => {
            let with = spliced(message, first.whole.clone(), &octets(&second));
            spliced(&with, second.whole.clone(), &octets(&first))
        }
        // In the place of another one.
        5 => spliced(message, second.whole.clone(), &octets(&first)),
        // Wrapped.
        6 => {
            let wrapper = choices.one_of(&WRAPPERS);
            let wrapped = format!("<{wrapper} {DECLARATIONS}>{}</{wrapper}>", octets(&first));
            spliced(message, first.whole, &wrapped)
        }
        // One id for another, one algorithm for another.
        7 => one_for_another(message, other, &["Id=\"", "URI=\"#"], choices),
        8 => {
            let algorithms = values(message, &["Algorithm=\"", " Type=\""]);
            if algorithms.is_empty() {
                return message.to_owned();
            }
            let place = choices.one_of(&algorithms);
            spliced(message, place, choices.one_of(&ALGORITHMS))
        }
        // From the other message: in the place of its like, or anywhere.
        9 | 10 => {
            let theirs = self::elements(other);
            let name = |message: &str, found: &Found| {
                let tag = &message[found.start_tag.clone()];
                let ends = |sign: char| sign.is_ascii_whitespace() || "/>".contains(sign);
                tag[..1 + tag[1..].find(ends).unwrap()].to_owned()
            };
            let wanted = name(message, &first);
            let alike = theirs.iter().filter(|it| name(other, it) == wanted);
            let alike: Vec<Found> = alike.cloned().collect();
            let piece = match alike.is_empty() || choices.once_in(4) {
                true => choices.one_of(&theirs[1..]),
                false => choices.one_of(&alike),
            };
            let place = match choices.once_in(3) {
                true => first.whole.end..first.whole.end,
                false => first.whole,
            };
            spliced(message, place, &other[piece.whole])
        }
        11 => listed(message, other, choices),
        // Something that was never signed, in the place of something or beside it.
        _ => {
            let place = match choices.once_in(2) {
                true => first.whole,
                false => inside(&first)..inside(&first),
            };
            spliced(message, place, choices.one_of(&FOREIGN))
        }
    }
}

/// One more reference to cipher text of one of the messages: in a list, or in one of its own.
fn listed(message: &str, other: &str, choices: &mut Choices) -> String {
    let of_cipher_text = |message: &str| -> Vec<String> {
        let all = elements(message).into_iter();
        let tags = all.map(|found| message[found.start_tag].to_owned());
        let tags = tags.filter(|tag| tag.starts_with("<xenc:EncryptedData "));
        let ids =
            tags.filter_map(|tag| values(&tag, &[" Id=\""]).pop().map(|id| tag[id].to_owned()));
        ids.collect()
    };
    let ids = [of_cipher_text(message), of_cipher_text(other)].concat();
    if ids.is_empty() {
        return message.to_owned();
    }
    let reference = format!("<xenc:DataReference URI=\"#{}\"/>", choices.one_of(&ids));
    let list = format!("<xenc:ReferenceList>{reference}</xenc:ReferenceList>");
    let (place, piece) = choices.one_of(&[
        ("<xenc:DataReference", &reference),
        ("</xenc:ReferenceList>", &reference),
        ("<ds:Signature", &list),
        ("</wsse:Security>", &list),
    ]);
    message.replacen(place, &[piece, place].concat(), 1)
}

/// A value of such an attribute in the place of another one.
fn one_for_another(message: &str, other: &str, names: &[&str], choices: &mut Choices) -> String {
    let places = values(message, names);
    let donor = choices.one_of(&[message, other]);
    let theirs = values(donor, names);
    if places.is_empty() || theirs.is_empty() {
        return message.to_owned();
    }
    let (place, value) = (choices.one_of(&places), choices.one_of(&theirs));
    spliced(message, place, &donor[value])
}
