//! Namespace declarations: left out, added, moved up or down, prefixes renamed.

use std::collections::{BTreeMap, BTreeSet};

use crate::search::Change;
use crate::tokens::{
    Kind, attributes, bound, declared, name_end, prefix, replaced, tag_length, tokens, uses,
    with_start_tags,
};

/// Most prefixes that changes are made for.
const MOST: usize = 12;

fn named(prefix: &str) -> String {
    match prefix {
        "" => "of the default namespace".to_owned(),
        prefix => format!("of the prefix `{prefix}`"),
    }
}

/// Declarations of a form by prefix: the first namespace of each.
fn declarations_of(form: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for (kind, tag) in tokens(form) {
        if kind != Kind::Start {
            continue;
        }
        for attribute in attributes(tag) {
            if let Some(prefix) = declared(&tag[attribute.name.clone()])
                && let Ok(prefix) = std::str::from_utf8(prefix)
                && (found.len() < MOST || found.contains_key(prefix))
            {
                found
                    .entry(prefix.to_owned())
                    .or_insert_with(|| tag[attribute.value].to_vec());
            }
        }
    }
    found
}

pub(super) fn declarations(form: &[u8], scope: &[(&str, &str)], changes: &mut Vec<Change>) {
    let in_form = declarations_of(form);
    for prefix in in_form.keys() {
        let name = named(prefix);
        let owned = prefix.clone();
        changes.push(Change::new(
            "prefix-declaration",
            format!("the declaration {name} left out (it stands further up in the message)"),
            move |form| without_declaration(form, owned.as_bytes(), false),
        ));
        let owned = prefix.clone();
        changes.push(Change::new(
            "prefix-declaration",
            format!("the declaration {name} left out at the outermost element"),
            move |form| without_declaration(form, owned.as_bytes(), true),
        ));
        let (owned, value) = (prefix.clone(), in_form[prefix].clone());
        changes.push(Change::new(
            "prefix-declaration",
            format!("the declaration {name} at the outermost element, not further down"),
            move |form| hoisted(form, owned.as_bytes(), &value),
        ));
        let (owned, value) = (prefix.clone(), in_form[prefix].clone());
        changes.push(Change::new(
            "prefix-declaration",
            format!("the declaration {name} where the prefix is used, not further up"),
            move |form| sunk(form, owned.as_bytes(), &value),
        ));
    }
    let others = scope
        .iter()
        .filter(|(prefix, _)| *prefix != "xml")
        .take(MOST);
    for (prefix, namespace) in others {
        let (owned, value) = ((*prefix).to_owned(), (*namespace).as_bytes().to_vec());
        changes.push(Change::new(
            "prefix-declaration",
            format!(
                "the declaration {} added at the outermost element",
                named(prefix)
            ),
            move |form| declared_at_apex(form, owned.as_bytes(), &value),
        ));
    }
    changes.push(Change::new(
        "prefix-declaration",
        "xmlns=\"\" added at the outermost element",
        |form| declared_at_apex(form, b"", b""),
    ));
    changes.push(Change::new(
        "prefix-declaration",
        "xmlns=\"\" left out",
        |form| replaced(form, b" xmlns=\"\"", b""),
    ));
    changes.push(Change::new(
        "prefix-declaration",
        "every declaration at each element that uses its prefix",
        repeated,
    ));
    changes.push(Change::new(
        "prefix-declaration",
        "the declarations that no name in it uses left out (they were added further up after signing)",
        without_unused,
    ));
    changes.push(Change::new(
        "canonicalization",
        "the attributes `xml:…` of the elements around it left out, which the announced canonicalization takes over",
        without_inherited,
    ));
    changes.push(Change::new(
        "attribute-order",
        "the declarations in the order of their namespaces, not of their prefixes",
        reordered_declarations,
    ));
}

fn without_declaration(form: &[u8], prefix: &[u8], apex: bool) -> Option<Vec<u8>> {
    let mut first = true;
    with_start_tags(form, |tag, out| {
        let applies = !apex || first;
        first = false;
        let found = attributes(tag)
            .into_iter()
            .find(|attribute| applies && declared(&tag[attribute.name.clone()]) == Some(prefix));
        match found {
            Some(found) => {
                out.extend_from_slice(&tag[..found.range.start]);
                out.extend_from_slice(&tag[found.range.end..]);
                true
            }
            None => {
                out.extend_from_slice(tag);
                false
            }
        }
    })
}

/// Without the declarations of prefixes that no name of the form has.
fn without_unused(form: &[u8]) -> Option<Vec<u8>> {
    let mut used: BTreeSet<&[u8]> = BTreeSet::new();
    for (kind, tag) in tokens(form) {
        if kind == Kind::Start && tag.len() > 2 {
            used.insert(prefix(&tag[1..name_end(tag)]));
            let names = attributes(tag).into_iter();
            let names = names.map(|attribute| &tag[attribute.name]);
            used.extend(names.filter(|name| declared(name).is_none()).map(prefix));
        }
    }
    with_start_tags(form, |tag, out| {
        without(tag, out, |name| {
            declared(name).is_some_and(|prefix| !used.contains(prefix))
        })
    })
}

/// Without the attributes of the namespace `xml` at the outermost element.
fn without_inherited(form: &[u8]) -> Option<Vec<u8>> {
    let mut first = true;
    with_start_tags(form, |tag, out| {
        let is_apex = std::mem::take(&mut first);
        without(tag, out, |name| is_apex && name.starts_with(b"xml:"))
    })
}

/// Writes a start tag without the attributes and declarations of some names. Whether there were
/// any.
fn without(tag: &[u8], out: &mut Vec<u8>, goes: impl Fn(&[u8]) -> bool) -> bool {
    let mut copied = 0;
    for attribute in attributes(tag) {
        if goes(&tag[attribute.name]) {
            out.extend_from_slice(&tag[copied..attribute.range.start]);
            copied = attribute.range.end;
        }
    }
    out.extend_from_slice(&tag[copied..]);
    copied > 0
}

/// A start tag with one more declaration, which stands at its place in canonical order.
fn with_declaration(tag: &[u8], prefix: &[u8], namespace: &[u8], out: &mut Vec<u8>) -> bool {
    let written = attributes(tag);
    let declarations = || {
        written.iter().filter_map(|attribute| {
            declared(&tag[attribute.name.clone()]).map(|prefix| (prefix, attribute))
        })
    };
    if declarations().any(|(other, _)| other == prefix) {
        out.extend_from_slice(tag);
        return false;
    }
    let behind = declarations()
        .filter(|(other, _)| *other < prefix)
        .map(|(_, attribute)| attribute.range.end)
        .max();
    let place = behind.unwrap_or_else(|| name_end(tag));
    out.extend_from_slice(&tag[..place]);
    out.extend_from_slice(b" xmlns");
    if !prefix.is_empty() {
        out.push(b':');
        out.extend_from_slice(prefix);
    }
    out.extend_from_slice(b"=\"");
    out.extend_from_slice(namespace);
    out.push(b'"');
    out.extend_from_slice(&tag[place..]);
    true
}

pub(super) fn declared_at_apex(form: &[u8], prefix: &[u8], namespace: &[u8]) -> Option<Vec<u8>> {
    if !form.starts_with(b"<") {
        return None;
    }
    let (tag, rest) = form.split_at(tag_length(form));
    let mut out = Vec::with_capacity(form.len() + 100);
    let added = tag.len() > 2 && with_declaration(tag, prefix, namespace, &mut out);
    out.extend_from_slice(rest);
    added.then_some(out)
}

fn hoisted(form: &[u8], prefix: &[u8], namespace: &[u8]) -> Option<Vec<u8>> {
    let without = with_start_tags(form, |tag, out| {
        let found = attributes(tag).into_iter().find(|attribute| {
            declared(&tag[attribute.name.clone()]) == Some(prefix)
                && &tag[attribute.value.clone()] == namespace
        });
        let Some(found) = found else {
            out.extend_from_slice(tag);
            return false;
        };
        out.extend_from_slice(&tag[..found.range.start]);
        out.extend_from_slice(&tag[found.range.end..]);
        true
    })?;
    let hoisted = declared_at_apex(&without, prefix, namespace)?;
    (hoisted != form).then_some(hoisted)
}

/// The declaration at the outermost elements that use the prefix.
fn sunk(form: &[u8], prefix: &[u8], namespace: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(form.len() + 100);
    let (mut depth, mut covered) = (0_usize, None);
    let bound = bound(form);
    for (kind, token) in tokens(form) {
        if out.len() > bound {
            return None;
        }
        match kind {
            Kind::Start => {
                depth += 1;
                let found = attributes(token)
                    .into_iter()
                    .find(|attribute| declared(&token[attribute.name.clone()]) == Some(prefix));
                let mut tag = token.to_vec();
                if let Some(found) = found {
                    if &token[found.value.clone()] != namespace {
                        return None;
                    }
                    tag.drain(found.range);
                }
                if covered.is_none() && uses(&tag, prefix) {
                    covered = Some(depth);
                    with_declaration(&tag, prefix, namespace, &mut out);
                } else {
                    out.extend_from_slice(&tag);
                }
            }
            Kind::End => {
                if covered == Some(depth) {
                    covered = None;
                }
                depth = depth.saturating_sub(1);
                out.extend_from_slice(token);
            }
            _ => out.extend_from_slice(token),
        }
    }
    (out != form).then_some(out)
}

/// Every element declares what it uses, whatever stands around it.
fn repeated(form: &[u8]) -> Option<Vec<u8>> {
    let known = declarations_of(form);
    with_start_tags(form, |tag, out| {
        let mut tag = tag.to_vec();
        let mut changed = false;
        for (prefix, namespace) in &known {
            if uses(&tag, prefix.as_bytes()) {
                let mut next = Vec::with_capacity(tag.len() + 100);
                changed |= with_declaration(&tag, prefix.as_bytes(), namespace, &mut next);
                tag = next;
            }
        }
        out.extend_from_slice(&tag);
        changed
    })
}

fn reordered_declarations(form: &[u8]) -> Option<Vec<u8>> {
    with_start_tags(form, |tag, out| {
        let written = attributes(tag);
        let (mut declarations, others): (Vec<_>, Vec<_>) = written
            .into_iter()
            .partition(|attribute| declared(&tag[attribute.name.clone()]).is_some());
        let before = declarations.clone();
        declarations.sort_by(|one, other| tag[one.value.clone()].cmp(&tag[other.value.clone()]));
        let changed = declarations != before;
        out.extend_from_slice(&tag[..name_end(tag)]);
        for attribute in declarations.iter().chain(&others) {
            out.extend_from_slice(&tag[attribute.range.clone()]);
        }
        out.push(b'>');
        changed
    })
}

/// Prefixes that libraries write.
const USUAL: [&str; 32] = [
    "", "soap", "soapenv", "SOAP-ENV", "S", "s", "env", "ds", "dsig", "wsse", "wsu", "ns0", "ns1",
    "ns2", "ns3", "a", "b", "o", "u", "tns", "soap12", "S11", "S12", "ns4", "ns5", "n1", "q1", "m",
    "p", "web", "tem", "ser",
];

/// Most prefixes that are renamed.
const RENAMED: usize = 6;

pub(super) fn renamed(form: &[u8], changes: &mut Vec<Change>) {
    let declared: BTreeSet<String> = declarations_of(form).into_keys().collect();
    for from in declared.iter().take(RENAMED) {
        for to in USUAL {
            if declared.contains(to) {
                continue;
            }
            let owned = from.clone();
            let says = match (from.as_str(), to) {
                ("", to) => format!(
                    "the prefix `{to}` for the default namespace (the message was written anew after it was signed)"
                ),
                (from, "") => format!(
                    "the default namespace for the prefix `{from}` (the message was written anew after it was signed)"
                ),
                (from, to) => format!(
                    "the prefix `{to}` for `{from}` (the message was written anew after it was signed)"
                ),
            };
            changes.push(
                Change::new("prefix-renamed", says, move |form| {
                    rename(form, owned.as_bytes(), to.as_bytes())
                })
                .among_its_like(),
            );
        }
    }
}

fn qualified(prefix: &[u8], local: &[u8]) -> Vec<u8> {
    match prefix {
        [] => local.to_vec(),
        prefix => [prefix, b":", local].concat(),
    }
}

pub(super) fn local(name: &[u8]) -> &[u8] {
    match prefix(name) {
        [] => name,
        prefix => &name[prefix.len() + 1..],
    }
}

fn rename(form: &[u8], from: &[u8], to: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(form.len());
    let mut changed = false;
    let new_name = |name: &[u8]| match prefix(name) == from {
        true => qualified(to, local(name)),
        false => name.to_vec(),
    };
    for (kind, token) in tokens(form) {
        match kind {
            Kind::Start => {
                let end = name_end(token);
                out.push(b'<');
                out.extend_from_slice(&new_name(&token[1..end]));
                let mut declarations: Vec<(Vec<u8>, &[u8])> = Vec::new();
                let mut others: Vec<(Vec<u8>, &[u8])> = Vec::new();
                for attribute in attributes(token) {
                    let name = &token[attribute.name.clone()];
                    let value = &token[attribute.value.clone()];
                    match declared(name) {
                        Some(prefix) if prefix == from => {
                            changed = true;
                            declarations.push((to.to_vec(), value));
                        }
                        Some(prefix) => declarations.push((prefix.to_vec(), value)),
                        // An attribute in a namespace needs a prefix.
                        None if !from.is_empty() && prefix(name) == from => {
                            if to.is_empty() {
                                return None;
                            }
                            others.push((new_name(name), value));
                        }
                        None => others.push((name.to_vec(), value)),
                    }
                }
                declarations.sort();
                for (prefix, value) in declarations {
                    let name = match prefix.as_slice() {
                        [] => b"xmlns".to_vec(),
                        prefix => [b"xmlns:", prefix].concat(),
                    };
                    write(&name, value, &mut out);
                }
                for (name, value) in others {
                    write(&name, value, &mut out);
                }
                out.push(b'>');
            }
            Kind::End if token.len() > 3 => {
                out.extend_from_slice(b"</");
                out.extend_from_slice(&new_name(&token[2..token.len() - 1]));
                out.push(b'>');
            }
            _ => out.extend_from_slice(token),
        }
    }
    changed.then_some(out)
}

fn write(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    out.push(b' ');
    out.extend_from_slice(name);
    out.extend_from_slice(b"=\"");
    out.extend_from_slice(value);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &[u8] =
        b"<a:x xmlns:a=\"u\"><b:y xmlns:b=\"v\"></b:y><b:z xmlns:b=\"v\"></b:z></a:x>";

    #[test]
    fn declarations_move_up_and_down() {
        let up = hoisted(FORM, b"b", b"v").unwrap();
        let expected = b"<a:x xmlns:a=\"u\" xmlns:b=\"v\"><b:y></b:y><b:z></b:z></a:x>";
        assert_eq!(up, expected);
        assert_eq!(sunk(&up, b"b", b"v").as_deref(), Some(FORM));
        assert_eq!(sunk(FORM, b"b", b"v"), None);
    }

    #[test]
    fn a_long_namespace_on_many_elements_grows_no_further_than_its_bound() {
        let namespace = "u".repeat(1 << 16);
        let inner = "<a:y></a:y>".repeat(1 << 10);
        let form = format!("<x xmlns:a=\"{namespace}\">{inner}</x>");
        // Written at each element it would have 64 MiB.
        assert_eq!(sunk(form.as_bytes(), b"a", namespace.as_bytes()), None);
        assert_eq!(repeated(form.as_bytes()), None);
        let few = format!("<x xmlns:a=\"{namespace}\"><a:y></a:y></x>");
        assert!(sunk(few.as_bytes(), b"a", namespace.as_bytes()).is_some());
        assert!(repeated(few.as_bytes()).is_some());
    }

    #[test]
    fn a_prefix_is_renamed_in_both_tags() {
        let renamed = rename(b"<a:x xmlns:a=\"u\" a:i=\"1\"></a:x>", b"a", b"q").unwrap();
        assert_eq!(renamed, b"<q:x xmlns:q=\"u\" q:i=\"1\"></q:x>");
        assert_eq!(
            rename(b"<a:x xmlns:a=\"u\" a:i=\"1\"></a:x>", b"a", b""),
            None
        );
    }

    #[test]
    fn declarations_that_no_name_uses_are_left_out() {
        let form = b"<a xmlns:a=\"u\" xmlns:b=\"v\"><b:c></b:c></a>";
        let without = without_unused(form).unwrap();
        assert_eq!(without, b"<a xmlns:b=\"v\"><b:c></b:c></a>");
        assert_eq!(without_unused(&without), None);
        let spoken = b"<a xml:lang=\"en\"><b xml:lang=\"de\"></b></a>";
        let without = without_inherited(spoken).unwrap();
        assert_eq!(without, b"<a><b xml:lang=\"de\"></b></a>");
    }

    #[test]
    fn a_declaration_is_left_out_everywhere_or_at_the_apex() {
        let without = without_declaration(FORM, b"b", false).unwrap();
        assert_eq!(without, b"<a:x xmlns:a=\"u\"><b:y></b:y><b:z></b:z></a:x>");
        assert_eq!(without_declaration(FORM, b"b", true), None);
    }
}
