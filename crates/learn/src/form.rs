//! The form of a message: its elements and their fixed values, without ids, keys and text.
//!
//! The rule kept here: what differs between two messages of one sender is no form.

use soapstone::wss::names::{DS, SOAP11, SOAP12, WSSE, WSSE11, XENC};
use soapstone::wss::{Envelope, EnvelopeError, SecurityHeader};
use soapstone::xml::{Buffers, Element, Limits};

/// Attributes whose value is part of the form.
const FIXED: [&str; 10] = [
    "Algorithm",
    "EncodingType",
    "PrefixList",
    "TokenType",
    "Type",
    "Usage",
    "ValueType",
    "actor",
    "mustUnderstand",
    "role",
];

/// Most differences that are told.
const MOST: usize = 32;

/// How a message differs in form from another one, in words: nothing where only values differ.
///
/// # Errors
///
/// One of both is no SOAP envelope.
pub fn difference(sample: &[u8], ours: &[u8]) -> Result<Vec<String>, EnvelopeError> {
    let read =
        |bytes: &[u8]| Envelope::parse(bytes.to_vec(), &Limits::default(), &mut Buffers::default());
    let (sample, ours) = (read(sample)?, read(ours)?);
    let mut told = Vec::new();
    compare(sample.document().root(), ours.document().root(), &mut told);
    Ok(told)
}

/// The message without its Security header, as its sender had it before it was signed; `None` where
/// cipher text is in it, or no Security header. Prefix lists depend on what the Envelope declares,
/// and of that a receiver passes on no more than was proven.
///
/// # Errors
///
/// It is no SOAP envelope.
pub fn unsecured(sample: &[u8]) -> Result<Option<Vec<u8>>, EnvelopeError> {
    let envelope = Envelope::parse(sample.to_vec(), &Limits::default(), &mut Buffers::default())?;
    let document = envelope.document();
    let has_cipher_text = document.elements_named(XENC, "EncryptedData").next();
    let headers = SecurityHeader::all(&envelope);
    let header = headers.first().filter(|_| has_cipher_text.is_none());
    Ok(header.map(|header| {
        let cut = document.element(header.node()).range();
        let bytes = document.bytes();
        [&bytes[..cut.start as usize], &bytes[cut.end as usize..]].concat()
    }))
}

fn compare(sample: Element<'_>, ours: Element<'_>, told: &mut Vec<String>) {
    if told.len() >= MOST {
        return;
    }
    let (wanted, found) = (attributes(sample), attributes(ours));
    let place = place(sample);
    for (name, value) in &wanted {
        match found.iter().find(|(other, _)| other == name) {
            Some((_, other)) if other == value => {}
            Some((_, other)) => told.push(format!(
                "{place}: the sample has {name} {}, ours {}",
                shown(value),
                shown(other)
            )),
            None => told.push(format!(
                "{place}: the sample has the attribute {name}, ours has not"
            )),
        }
    }
    for (name, _) in &found {
        if !wanted.iter().any(|(other, _)| other == name) {
            told.push(format!(
                "{place}: ours has the attribute {name}, the sample has not"
            ));
        }
    }
    // The Body of an application is no security.
    if sample.local() == "Body"
        && sample
            .children()
            .all(|child| child.local() != "EncryptedData")
    {
        return;
    }
    if sample.is(DS, "SignedInfo") {
        compare_order(sample, ours, &place, told);
    }
    let (theirs, mine) = (compared(sample), compared(ours));
    let names = |list: &[Element<'_>]| -> Vec<String> {
        list.iter().map(|one| one.local().to_owned()).collect()
    };
    if names(&theirs) != names(&mine) {
        told.push(format!(
            "{place}: the sample holds {}, ours {}",
            listed(&names(&theirs)),
            listed(&names(&mine))
        ));
    }
    for (theirs, mine) in alike(&theirs, &mine) {
        if theirs.namespace() == mine.namespace() {
            compare(theirs, mine, told);
        } else {
            told.push(format!(
                "{place}: the sample has {} in {}, ours in {}",
                theirs.local(),
                theirs.namespace(),
                mine.namespace()
            ));
        }
    }
}

/// Compares where the references of two signatures lead, in their order.
fn compare_order(sample: Element<'_>, ours: Element<'_>, place: &str, told: &mut Vec<String>) {
    let (theirs, mine) = (targets(sample), targets(ours));
    if theirs.len() == mine.len() && theirs != mine {
        told.push(format!(
            "{place}: the references of the sample lead to {}, ours to {}",
            listed(&theirs),
            listed(&mine)
        ));
    }
}

/// The names of the elements to which the references of a signature lead. What cipher text hides
/// has none.
fn targets(info: Element<'_>) -> Vec<String> {
    let references = info.children().filter(|it| it.is(DS, "Reference"));
    let named = references.map(|reference| {
        let uri = reference.attribute("", "URI").unwrap_or_default();
        let id = uri.strip_prefix('#').unwrap_or(&uri);
        let has_it = |element: &Element<'_>| {
            let mut ids = element
                .attributes()
                .filter(|it| it.local().eq_ignore_ascii_case("id"));
            ids.any(|it| it.value() == id)
        };
        let mut all = info.document().root().descendants();
        let target = all.find(has_it);
        target.map_or_else(
            || "cipher text".to_owned(),
            |target| target.local().to_owned(),
        )
    });
    named.collect()
}

/// The children of the same name, the first with the first: what stands elsewhere or is not there
/// hides no other difference.
fn alike<'e>(
    theirs: &[Element<'e>],
    mine: &[Element<'e>],
) -> impl Iterator<Item = (Element<'e>, Element<'e>)> {
    let mut left: Vec<Element<'e>> = mine.to_vec();
    theirs.iter().filter_map(move |one| {
        let place = left.iter().position(|it| it.local() == one.local())?;
        Some((*one, left.remove(place)))
    })
}

/// The children that are compared: of the SOAP header those that are security.
fn compared(element: Element<'_>) -> Vec<Element<'_>> {
    let is_header = matches!(element.namespace(), SOAP11 | SOAP12) && element.local() == "Header";
    let is_security = |child: &Element<'_>| matches!(child.namespace(), WSSE | WSSE11 | XENC);
    let children = element.children();
    children
        .filter(|child| !is_header || is_security(child))
        .collect()
}

/// Names of attributes, with the values that are fixed. An `Id` of a signature or a key is no form:
/// only a reference shows whether the message needs it, and is compared itself.
fn attributes(element: Element<'_>) -> Vec<(String, Option<String>)> {
    let has_free_id = matches!(element.namespace(), DS | XENC);
    let attributes = element.plain_attributes();
    let attributes = attributes.filter(|one| !(has_free_id && one.local() == "Id"));
    let found = attributes.map(|attribute| {
        let name = attribute.local().to_owned();
        let is_fixed = FIXED.contains(&name.as_str());
        let value = is_fixed.then(|| attribute.value().into_owned());
        (name, value)
    });
    found.collect()
}

fn shown(value: &Option<String>) -> String {
    match value {
        Some(value) => format!("`{value}`"),
        None => "another value".to_owned(),
    }
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "nothing".to_owned(),
        names => names.join(", "),
    }
}

fn place(element: Element<'_>) -> String {
    let mut names: Vec<&str> = element.ancestors().map(|it| it.local()).collect();
    names.insert(0, element.local());
    names.reverse();
    names.iter().skip(1).copied().collect::<Vec<_>>().join("/")
}
