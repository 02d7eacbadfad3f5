//! What nodes on the way do to SOAP: another version, a `mustUnderstand` taken out.
//!
//! The rule kept here: what they put in is left out elsewhere, with the other attributes.

use soapstone_wss::names::{SOAP11, SOAP12};

use super::namespaces::{declared_at_apex, local};
use crate::search::Change;
use crate::tokens::{attributes, declared, find, name_end, prefix, replaced, tag_length};

/// Namespaces of two versions of one specification.
const VERSIONS: [(&str, &str, &str); 2] = [
    ("SOAP", SOAP11, SOAP12),
    (
        "WS-Addressing",
        "http://schemas.xmlsoap.org/ws/2004/08/addressing",
        "http://www.w3.org/2005/08/addressing",
    ),
];

/// The namespace of the other version: a gateway on the way changed the version.
pub(super) fn versions(form: &[u8], changes: &mut Vec<Change>) {
    for (name, old, new) in VERSIONS {
        for (from, to) in [(old, new), (new, old)] {
            let quoted = format!("\"{from}\"").into_bytes();
            if find(form, &quoted).is_none() {
                continue;
            }
            let by = format!("\"{to}\"").into_bytes();
            changes.push(Change::new(
                "namespace-renamed",
                format!("the namespace `{to}` of {name} for `{from}`"),
                move |form| replaced(form, &quoted, &by),
            ));
        }
    }
}

/// `mustUnderstand` at the outermost element: a node on the way took it out.
pub(super) fn marks(form: &[u8], scope: &[(&str, &str)], changes: &mut Vec<Change>) {
    let tag = &form[..tag_length(form)];
    let has_mark = find(tag, b":mustUnderstand=").is_some();
    let soap = scope.iter().filter(|(prefix, namespace)| {
        !prefix.is_empty() && matches!(*namespace, SOAP11 | SOAP12) && !has_mark
    });
    for (prefix, namespace) in soap {
        for value in ["1", "true"] {
            let name = format!("{prefix}:mustUnderstand");
            let known: Vec<(Vec<u8>, Vec<u8>)> = scope
                .iter()
                .map(|(prefix, namespace)| {
                    (prefix.as_bytes().to_vec(), namespace.as_bytes().to_vec())
                })
                .collect();
            let (prefix, namespace) = ((*prefix).to_owned(), (*namespace).to_owned());
            changes.push(Change::new(
                "attribute-removed",
                format!("`{name}=\"{value}\"`, which was taken out after signing"),
                move |form| {
                    let form = declared_at_apex(form, prefix.as_bytes(), namespace.as_bytes())
                        .unwrap_or_else(|| form.to_vec());
                    marked(&form, &name, value, namespace.as_bytes(), &known)
                },
            ));
        }
    }
}

/// The form with one more attribute at the outermost element, at its place in canonical order
/// (Canonical XML 1.0, 2.2: by namespace and local name).
fn marked(
    form: &[u8],
    name: &str,
    value: &str,
    namespace: &[u8],
    known: &[(Vec<u8>, Vec<u8>)],
) -> Option<Vec<u8>> {
    if !form.starts_with(b"<") {
        return None;
    }
    let (tag, rest) = form.split_at(tag_length(form));
    let namespace_of = |prefix: &[u8]| {
        let found = known.iter().find(|(one, _)| one == prefix);
        found.map_or(&[][..], |(_, namespace)| namespace.as_slice())
    };
    let attribute_name = local(name.as_bytes());
    let comes_first = |other: &[u8]| match declared(other) {
        Some(_) => true,
        None if prefix(other).is_empty() => true,
        None => (namespace_of(prefix(other)), local(other)) < (namespace, attribute_name),
    };
    let place = attributes(tag)
        .into_iter()
        .filter(|attribute| comes_first(&tag[attribute.name.clone()]))
        .map(|attribute| attribute.range.end)
        .max()
        .unwrap_or_else(|| name_end(tag));
    let written = format!(" {name}=\"{value}\"");
    Some([&tag[..place], written.as_bytes(), &tag[place..], rest].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_that_was_taken_out_stands_in_canonical_order() {
        let scope = [("s", SOAP11), ("z", "urn:z")];
        let mut changes = Vec::new();
        let form = b"<z:a xmlns:z=\"urn:z\" b=\"1\" z:c=\"2\"></z:a>";
        marks(form, &scope, &mut changes);
        let expected = format!(
            "<z:a xmlns:s=\"{SOAP11}\" xmlns:z=\"urn:z\" b=\"1\" s:mustUnderstand=\"1\" z:c=\"2\"></z:a>"
        );
        assert_eq!((changes[0].apply)(form).unwrap(), expected.as_bytes());
    }
}
