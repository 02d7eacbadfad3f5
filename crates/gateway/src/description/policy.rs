//! The policies of a description: those of the route are attached, and those of the backend are
//! taken out, since they are for messages to it.
//!
//! The rule kept here: a client learns of no security policy but that of the route.

use std::collections::HashSet;
use std::ops::Range;

use soapstone::policy::{PolicyVersion, SecurityPolicyVersion};
use soapstone::wss::names::WSU;
use soapstone::xml::Element;

use super::edit::Edit;
use crate::config::published::{PublishedPolicy, Subject, WSDL};

/// What it takes to attach policies to what they are for in a description.
pub(super) fn attachment(published: &PublishedPolicy, definitions: Element<'_>) -> Vec<Edit> {
    let PublishedPolicy::Policies {
        attached,
        namespace,
    } = published
    else {
        return Vec::new();
    };
    let bindings = || {
        definitions
            .children()
            .filter(|child| child.is(WSDL, "binding"))
    };
    let messages = || {
        let operations = bindings().flat_map(|binding| binding.children());
        operations
            .filter(|child| child.is(WSDL, "operation"))
            .flat_map(|operation| operation.children())
            .filter(|child| child.is(WSDL, "input") || child.is(WSDL, "output"))
    };
    let elements = attached.iter().map(|policy| policy.element.as_str());
    let mut edits = vec![inside(definitions, &elements.collect::<String>())];
    for policy in attached {
        let reference = format!(
            "<wsp:PolicyReference xmlns:wsp=\"{namespace}\" URI=\"#{}\"/>",
            policy.id
        );
        let refer = |subject| inside(subject, &reference);
        match policy.subject {
            Subject::Endpoint => edits.extend(bindings().map(refer)),
            Subject::Message => edits.extend(messages().map(refer)),
        }
    }
    edits
}

/// Puts something into an element, as its first child that is no documentation (WSDL 1.1, 2.1.4).
fn inside(element: Element<'_>, content: &str) -> Edit {
    let (start_tag, whole) = (element.start_tag_range(), element.range());
    if start_tag.end == whole.end {
        let prefix = match element.prefix() {
            "" => String::new(),
            prefix => format!("{prefix}:"),
        };
        let opened = format!(">{content}</{prefix}{}>", element.local());
        let end = whole.end as usize;
        return (end - "/>".len()..end, opened);
    }
    let documentation = element
        .first_child()
        .filter(|child| child.is(WSDL, "documentation"));
    let place = match documentation {
        Some(documentation) => documentation.range().end,
        None => start_tag.end,
    } as usize;
    (place..place, content.to_owned())
}

/// What it takes to take out the security policies of a description, and what refers to them.
pub(super) fn removal(root: Element<'_>) -> Vec<Edit> {
    let is_policy = |element: &Element<'_>| {
        PolicyVersion::from_namespace(element.namespace()).is_some() && element.local() == "Policy"
    };
    let is_of_security = |policy: &Element<'_>| {
        policy
            .descendants()
            .any(|assertion| SecurityPolicyVersion::from_namespace(assertion.namespace()).is_some())
    };
    let policies: Vec<Element<'_>> = root
        .descendants()
        .filter(|element| is_policy(element) && is_of_security(element))
        .collect();
    let ids: HashSet<String> = policies
        .iter()
        .filter_map(|policy| Some(format!("#{}", policy.attribute(WSU, "Id")?)))
        .collect();
    let references = root.descendants().filter(|element| {
        let refers = PolicyVersion::from_namespace(element.namespace()).is_some()
            && element.local() == "PolicyReference";
        let uri = element.attribute("", "URI").unwrap_or_default();
        refers && ids.contains(&*uri)
    });
    let mut ranges: Vec<Range<usize>> = policies
        .iter()
        .copied()
        .chain(references)
        .map(|element| element.range().start as usize..element.range().end as usize)
        .collect();
    ranges.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    let mut edits: Vec<Edit> = Vec::new();
    for range in ranges {
        // What lies in a policy goes with it.
        if edits.last().is_none_or(|(last, _)| last.end <= range.start) {
            edits.push((range, String::new()));
        }
    }
    edits
}
