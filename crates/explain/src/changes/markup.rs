//! Tags and attributes: written otherwise, in another order, with other values.

use crate::search::Change;
use crate::tokens::{self, declared, name_end, replaced, with_start_tags};
use soapstone_crypto::{DigestAlgorithm, SignatureAlgorithm};
use soapstone_xml::Canonicalization;

fn attributes_of(tag: &[u8]) -> (Vec<&[u8]>, Vec<&[u8]>) {
    let (declarations, others): (Vec<_>, Vec<_>) = tokens::attributes(tag)
        .into_iter()
        .partition(|attribute| declared(&tag[attribute.name.clone()]).is_some());
    let written = |list: Vec<tokens::Attribute>| {
        list.into_iter()
            .map(|attribute| &tag[attribute.range])
            .collect()
    };
    (written(declarations), written(others))
}

fn rewritten(tag: &[u8], parts: &[&[u8]], out: &mut Vec<u8>) -> bool {
    let start = out.len();
    out.extend_from_slice(&tag[..name_end(tag)]);
    for part in parts {
        out.extend_from_slice(part);
    }
    out.push(b'>');
    out[start..] != *tag
}

/// An order of declarations and attributes.
type Order = fn(Vec<&[u8]>, Vec<&[u8]>) -> Vec<Vec<u8>>;

fn ordered(form: &[u8], order: Order) -> Option<Vec<u8>> {
    with_start_tags(form, |tag, out| {
        let (declarations, others) = attributes_of(tag);
        let parts = order(declarations, others);
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        rewritten(tag, &parts, out)
    })
}

fn owned(parts: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Vec<Vec<u8>> {
    parts
        .into_iter()
        .map(|part| part.as_ref().to_vec())
        .collect()
}

pub(super) fn attributes(form: &[u8], changes: &mut Vec<Change>) {
    changes.push(Change::new(
        "attribute-order",
        "the attributes in the order of their qualified names, not of their namespaces",
        |form| {
            ordered(form, |declarations, mut others| {
                others.sort();
                owned(declarations.into_iter().chain(others))
            })
        },
    ));
    changes.push(Change::new(
        "attribute-order",
        "the attributes before the declarations",
        |form| {
            ordered(form, |declarations, others| {
                owned(others.into_iter().chain(declarations))
            })
        },
    ));
    changes.push(Change::new(
        "attribute-order",
        "attributes and declarations in one alphabetical order",
        |form| {
            ordered(form, |declarations, others| {
                let mut all: Vec<&[u8]> = declarations.into_iter().chain(others).collect();
                all.sort();
                owned(all)
            })
        },
    ));
    changes.push(Change::new(
        "attribute-order",
        "the attributes in the reverse order",
        |form| {
            ordered(form, |declarations, mut others| {
                others.reverse();
                owned(declarations.into_iter().chain(others))
            })
        },
    ));
    for (from, to) in [
        ("mustUnderstand=\"1\"", "mustUnderstand=\"true\""),
        ("mustUnderstand=\"true\"", "mustUnderstand=\"1\""),
        ("mustUnderstand=\"1\"", "mustUnderstand=\"0\""),
        ("mustUnderstand=\"0\"", "mustUnderstand=\"1\""),
    ] {
        if tokens::find(form, from.as_bytes()).is_some() {
            changes.push(Change::new(
                "attribute-value",
                format!("`{to}` in the place of `{from}`"),
                move |form| replaced(form, from.as_bytes(), to.as_bytes()),
            ));
        }
    }
}

pub(super) fn tags(changes: &mut Vec<Change>) {
    changes.push(Change::new(
        "empty-element-tags",
        "empty elements written as `<a/>`, not as `<a></a>`",
        |form| emptied(form, b"/>"),
    ));
    changes.push(Change::new(
        "empty-element-tags",
        "empty elements written as `<a />`, not as `<a></a>`",
        |form| emptied(form, b" />"),
    ));
    changes.push(Change::new(
        "quotes",
        "attribute values in single quotes",
        |form| {
            with_start_tags(form, |tag, out| {
                let quoted = replaced(tag, b"\"", b"'");
                out.extend_from_slice(quoted.as_deref().unwrap_or(tag));
                quoted.is_some()
            })
        },
    ));
}

fn emptied(form: &[u8], end: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(form.len());
    let mut read = tokens::tokens(form).peekable();
    let mut changed = false;
    while let Some((kind, token)) = read.next() {
        let next_ends = read
            .peek()
            .is_some_and(|(next, _)| *next == tokens::Kind::End);
        if kind == tokens::Kind::Start && next_ends && token.ends_with(b">") {
            out.extend_from_slice(&token[..token.len() - 1]);
            out.extend_from_slice(end);
            read.next();
            changed = true;
        } else {
            out.extend_from_slice(token);
        }
    }
    changed.then_some(out)
}

/// Names of algorithms that were written anew in a `ds:SignedInfo`.
pub(super) fn algorithms(form: &[u8], changes: &mut Vec<Change>) {
    let families: [Vec<&'static str>; 3] = [
        Canonicalization::ALL.map(Canonicalization::uri).to_vec(),
        DigestAlgorithm::ALL.iter().map(|one| one.uri()).collect(),
        SignatureAlgorithm::ALL
            .iter()
            .map(|one| one.uri())
            .collect(),
    ];
    // One URI names the canonicalization of the signature and that of its references.
    for (element, says) in [
        ("CanonicalizationMethod", "the signature"),
        ("Transform", "the references"),
    ] {
        for from in &families[0] {
            let written = format!("{element} Algorithm=\"{from}\"").into_bytes();
            if tokens::find(form, &written).is_none() {
                continue;
            }
            for to in families[0].iter().filter(|to| *to != from) {
                let by = format!("{element} Algorithm=\"{to}\"").into_bytes();
                let written = written.clone();
                let change = Change::new(
                    "algorithm-renamed",
                    format!("the canonicalization `{to}` of {says} named in the place of `{from}`"),
                    move |form| replaced(form, &written, &by),
                );
                // The one that was named then was used as well.
                changes.push(match element {
                    "CanonicalizationMethod" => change,
                    _ => change.alone(),
                });
            }
        }
    }
    for family in families {
        for from in &family {
            let quoted = format!("\"{from}\"").into_bytes();
            if tokens::find(form, &quoted).is_none() {
                continue;
            }
            for to in family.iter().filter(|to| *to != from) {
                let (quoted, by) = (quoted.clone(), format!("\"{to}\"").into_bytes());
                changes.push(
                    Change::new(
                        "algorithm-renamed",
                        format!("the algorithm `{to}` named in the place of `{from}`"),
                        move |form| replaced(form, &quoted, &by),
                    )
                    .alone(),
                );
            }
        }
    }
}
