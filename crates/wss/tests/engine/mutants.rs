//! Messages of drawn policies, changed on the way by somebody who has no key: elements removed, repeated, moved, exchanged and wrapped, names and
//! ids changed. What is accepted all the same says what its sender said, and nothing else.

use std::ops::Range;

use soapstone_crypto::SymmetricKey;
use soapstone_wss::{
    ConversationVersion, ElementPath, EncryptedPart, Mechanism, Outgoing, Part, ProtectionOrder,
    Rejected, SecurityContext,
};
use soapstone_xml::Buffers;

use crate::combinations::{Choices, compiled, drawn, keys};
use crate::conversations::{context, knowing, text};
use crate::support::{PLAIN, envelope, forwarded, now, open, open_with, policy, secure};

/// Policies that sign the Body, and changes of a message of each.
const POLICIES: u64 = 120;
const CHANGES: u64 = 40;

/// An element: all of it, and its start tag.
#[derive(Clone)]
struct Found {
    whole: Range<usize>,
    start_tag: Range<usize>,
}

/// The elements of a message without comments and the like, outermost first.
fn elements(message: &str) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut from = 0;
    while let Some(at) = message[from..].find('<').map(|at| from + at) {
        let end = at + message[at..].find('>').unwrap() + 1;
        if message[at..].starts_with("</") {
            let opened: &mut Found = &mut found[open.pop().unwrap()];
            opened.whole.end = end;
        } else {
            let is_empty = message[..end].ends_with("/>");
            if !is_empty {
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

/// The values of ids and of references to them.
fn ids(message: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for name in ["Id=\"", "URI=\"#"] {
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

/// A message changed once. The root stays.
fn changed(message: &str, choices: &mut Choices) -> String {
    let elements = elements(message);
    let [_, inner @ ..] = elements.as_slice() else {
        return message.to_owned();
    };
    if inner.is_empty() {
        return message.to_owned();
    }
    let mut one = || choices.one_of(inner);
    let (first, second) = (one(), one());
    let octets = |found: &Found| message[found.whole.clone()].to_owned();
    let inside = |found: &Found| found.start_tag.end;
    match choices.next() % 9 {
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
            let wrapper = choices.one_of(&[
                "x",
                "soap:Body",
                "soap:Header",
                "wsse:Security",
                "xenc:EncryptedData",
            ]);
            let declared = "xmlns:soap=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:wsse=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\" \
                            xmlns:xenc=\"http://www.w3.org/2001/04/xmlenc#\"";
            let wrapped = format!("<{wrapper} {declared}>{}</{wrapper}>", octets(&first));
            spliced(message, first.whole, &wrapped)
        }
        // One id for another.
        7 if !ids(message).is_empty() => {
            let ids = ids(message);
            let (id, other) = (choices.one_of(&ids), choices.one_of(&ids));
            spliced(message, id, &message[other])
        }
        // Something that was never signed, in the place of something or beside it.
        _ => {
            let foreign = choices.one_of(&[
                "<e:echo xmlns:e=\"urn:echo\"><e:text>forged</e:text></e:echo>",
                "<soap:Body><e:echo xmlns:e=\"urn:echo\"><e:text>forged</e:text></e:echo></soap:Body>",
                "<a:To xmlns:a=\"http://www.w3.org/2005/08/addressing\">urn:forged</a:To>",
                "<e:text xmlns:e=\"urn:echo\">forged</e:text>",
            ]);
            let place = match choices.once_in(2) {
                true => first.whole,
                false => inside(&first)..inside(&first),
            };
            spliced(message, place, foreign)
        }
    }
}

/// Without namespace declarations: those that nothing visibly uses are not signed in exclusive form.
fn without_declarations(text: &str) -> String {
    let mut pieces = text.split(" xmlns");
    let first = pieces.next().unwrap().to_owned();
    pieces.fold(first, |text, piece| {
        let value = piece
            .split_once('"')
            .and_then(|(_, rest)| rest.split_once('"'));
        text + value.unwrap().1
    })
}

/// The Body of what is passed on, and its header blocks.
fn said(message: &str) -> (String, Vec<String>) {
    let parsed = envelope(message);
    let source = |range: Range<u32>| {
        without_declarations(&message[range.start as usize..range.end as usize])
    };
    let blocks = parsed
        .header()
        .into_iter()
        .flat_map(|header| header.children());
    let blocks = blocks.map(|block| source(block.range())).collect();
    let body = parsed.body();
    let children = body.children().map(|child| source(child.range()));
    (children.collect(), blocks)
}

#[test]
fn whatever_is_accepted_of_a_changed_message_was_said_by_its_sender() {
    let (mut policies, mut accepted, mut tried, mut number) = (0, 0, 0, 0);
    while policies < POLICIES {
        number += 1;
        let mut choices = Choices::of(number);
        let policy = drawn(&mut choices);
        let signs_body = policy
            .signature
            .as_ref()
            .is_some_and(|it| it.parts.contains(&Part::Body));
        if !signs_body || policy.transport_protected {
            continue;
        }
        let Some((plan, _)) = compiled(&policy, keys(&policy)) else {
            continue;
        };
        let version = policy
            .derived_keys
            .map_or(ConversationVersion::V13, |keys| keys.version);
        let length = policy.suite.data[0].key_length();
        let context = SecurityContext {
            secret: SymmetricKey::new(vec![7; length]).unwrap(),
            ..context(version)
        };
        let outgoing = Outgoing::within(&context);
        let secured = plan.secure(envelope(PLAIN), outgoing, now(), &mut Buffers::default());
        let message = text(&secured.unwrap());
        let [_, service] = keys(&policy);
        let facts = knowing(&[&context]);
        let opened = |message: &str| {
            let opened = open_with(&policy, service.clone(), &facts, message, now());
            opened.map(|opened| forwarded(&opened))
        };
        let (body, blocks) = said(&opened(&message).unwrap());
        policies += 1;
        for _ in 0..CHANGES {
            let mut mutant = message.clone();
            for _ in 0..choices.one_of(&[1, 1, 1, 2, 3]) {
                mutant = changed(&mutant, &mut choices);
            }
            tried += 1;
            let Ok(seen) = opened(&mutant) else {
                continue;
            };
            accepted += 1;
            let (seen_body, seen_blocks) = said(&seen);
            assert_eq!(
                seen_body, body,
                "policy {number}: {policy:?}\n{message}\n{mutant}"
            );
            let foreign = seen_blocks.iter().find(|block| !blocks.contains(block));
            assert_eq!(
                foreign, None,
                "policy {number}: {policy:?}\n{message}\n{mutant}"
            );
        }
    }
    println!("{accepted} of {tried} changed messages are accepted");
    assert!(accepted > 0 && accepted < tried / 2);
}

/// What is to be encrypted if it is there is not there for who does not decipher it, and the list of what is to be deciphered is not signed.
#[test]
fn what_is_taken_out_of_the_list_of_what_is_deciphered_is_missed() {
    let element = |path: &str| {
        let resolve = |prefix: &str| (prefix == "e").then(|| "urn:echo".to_owned());
        Part::Path(ElementPath::parse(path, resolve).unwrap())
    };
    let mut policy = policy(Mechanism::EncryptSign, "Basic256GCM");
    let parts = &mut policy.encryption.as_mut().unwrap().parts;
    parts.clear();
    let hidden = ["//e:empty", "/*/*/e:echo/e:text"].map(element);
    parts.extend(hidden.clone().map(EncryptedPart::customary));
    let message = secure(&policy, PLAIN);
    open(&policy, &message).unwrap();
    let lists: Vec<&str> = message
        .split_inclusive("</xenc:DataReference>")
        .filter_map(|text| text.rfind("<xenc:DataReference").map(|at| &text[at..]))
        .collect();
    assert_eq!(lists.len(), 2, "{message}");
    for reference in lists {
        assert_eq!(
            open(&policy, &message.replace(reference, "")).unwrap_err(),
            Rejected::Undeciphered {
                part: hidden[0].clone()
            }
        );
    }
    // Cipher text of the application is none of ours where all of ours is told: in plain text that is signed, and in a Body that is enciphered whole.
    let own = "<x:EncryptedData xmlns:x=\"http://www.w3.org/2001/04/xmlenc#\"/>";
    let with_own = PLAIN.replace("<e:empty/>", own);
    for mechanism in [Mechanism::SignEncrypt, Mechanism::EncryptSign] {
        let policy = self::policy(mechanism, "Basic256GCM");
        let opened = open(&policy, &secure(&policy, &with_own)).unwrap();
        assert!(forwarded(&opened).contains("EncryptedData"));
    }
    policy.order = ProtectionOrder::SignBeforeEncrypting;
    open(&policy, &secure(&policy, &with_own)).unwrap();
}
