//! A message held against a good one of the same sender: what differs in form.
//!
//! The rule kept here: values are expected to differ and are not told, except names of algorithms.

use std::collections::{BTreeMap, BTreeSet};

use soapstone_wss::SecurityHeader;
use soapstone_xml::{Buffers, Document, Element};

use crate::keys::{Certified, Known};
use crate::options::Options;
use crate::read::SignatureRead;

/// Most differences that are told.
const MOST: usize = 64;

pub(crate) fn differences(message: &Document, options: &Options<'_>) -> Vec<String> {
    let Some(good) = options.against else {
        return Vec::new();
    };
    let parsed = Document::parse(good.to_vec(), &options.parsing(), &mut Buffers::new());
    let good = match parsed {
        Ok(good) => good,
        Err(error) => return vec![format!("the good message cannot be read: {error}")],
    };
    let mut told = Vec::new();
    for (name, read) in FEATURES {
        let (found, expected) = (read(message), read(&good));
        if found != expected {
            told.push(format!(
                "{name}: the good message has {expected}, this one has {found}"
            ));
        }
    }
    let (found, expected) = (shapes(message), shapes(&good));
    for (name, shape) in &expected {
        match found.get(name) {
            None => told.push(format!(
                "`{name}` is in the good message and not in this one"
            )),
            Some(other) if other != shape => {
                told.push(format!(
                    "`{name}`: the good message has {}, this one has {}",
                    shown(shape),
                    shown(other)
                ));
            }
            Some(_) => {}
        }
    }
    let new = found.keys().filter(|name| !expected.contains_key(*name));
    told.extend(new.map(|name| format!("`{name}` is in this message and not in the good one")));
    told.truncate(MOST);
    told
}

/// The certificates of the good message: its sender may have signed this one with another of them.
pub(crate) fn certificates(options: &Options<'_>) -> Vec<Certified> {
    let parsed = options.against.and_then(|good| {
        Document::parse(good.to_vec(), &options.parsing(), &mut Buffers::new()).ok()
    });
    let found = parsed.map(|good| crate::keys::certificates(&good, &Known::default()));
    let found = found.into_iter().flatten();
    found
        .map(|one| Certified {
            place: format!("{} of the good message", one.place),
            node: None,
            ..one
        })
        .collect()
}

fn shown(set: &BTreeSet<String>) -> String {
    match set.is_empty() {
        true => "no attributes".to_owned(),
        false => set
            .iter()
            .map(|one| format!("`{one}`"))
            .collect::<Vec<_>>()
            .join(", "),
    }
}

/// A feature of the form of a message, by its name.
type Feature = (&'static str, fn(&Document) -> String);

const FEATURES: [Feature; 7] = [
    ("byte order mark", |document| {
        yes(document.bytes().starts_with(b"\xEF\xBB\xBF"))
    }),
    ("XML declaration", |document| {
        let bytes = document.bytes();
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        yes(bytes.starts_with(b"<?xml"))
    }),
    ("line ends CR LF", |document| {
        yes(crate::tokens::find(document.bytes(), b"\r\n").is_some())
    }),
    ("white space between header blocks", |document| {
        let root = document.root();
        let header = root.children().next();
        let content = header.and_then(|header| document.content_source(header.id()));
        yes(content.is_some_and(|content| content.first().is_some_and(u8::is_ascii_whitespace)))
    }),
    ("namespaces declared on the envelope", |document| {
        let declared: Vec<String> = document
            .root()
            .declarations()
            .map(|(prefix, namespace)| format!("{prefix}={namespace}"))
            .collect();
        declared.join(" ")
    }),
    ("order of the security header", |document| {
        let headers = SecurityHeader::in_document(document);
        let items = headers.iter().take(1).flat_map(SecurityHeader::items);
        let names = items.map(|item| document.element(item.node).local().to_owned());
        names.collect::<Vec<_>>().join(", ")
    }),
    ("what the signatures say of their algorithms", |document| {
        let signatures = SignatureRead::all(document);
        let said = signatures.iter().map(|one| {
            let c14n = one
                .canonicalization
                .as_ref()
                .map(|c14n| format!("{} [{}]", c14n.uri, c14n.prefixes().unwrap_or_default()));
            let references = one.references.iter().map(|reference| {
                let transforms: Vec<String> = reference
                    .transforms
                    .iter()
                    .map(|one| format!("{} [{}]", one.uri, one.prefixes().unwrap_or_default()))
                    .collect();
                format!("{} by {}", transforms.join(", "), reference.digest_uri)
            });
            let references: BTreeSet<String> = references.collect();
            let references: Vec<String> = references.into_iter().collect();
            format!(
                "{} over {} ({})",
                one.method_uri,
                c14n.unwrap_or_default(),
                references.join("; ")
            )
        });
        said.collect::<Vec<_>>().join("; ")
    }),
];

fn yes(has: bool) -> String {
    if has { "one" } else { "none" }.to_owned()
}

/// Attributes by the path of their element, down to the children of header blocks.
fn shapes(document: &Document) -> BTreeMap<String, BTreeSet<String>> {
    let mut shapes = BTreeMap::new();
    let root = document.root();
    add(root, "", 4, &mut shapes);
    shapes
}

fn add(
    element: Element<'_>,
    above: &str,
    depth: usize,
    shapes: &mut BTreeMap<String, BTreeSet<String>>,
) {
    let path = format!("{above}/{}", element.qualified_name());
    let attributes = element
        .attributes()
        .map(|one| one.qualified_name().to_owned());
    shapes.entry(path.clone()).or_default().extend(attributes);
    // What the Body holds is the application's.
    if depth > 0 && element.local() != "Body" && shapes.len() < 4 * MOST {
        for child in element.children() {
            add(child, &path, depth - 1, shapes);
        }
    }
}
