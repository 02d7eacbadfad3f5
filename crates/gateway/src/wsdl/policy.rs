//! The policy of a route, in the description of its service.
//!
//! A policy file that is a description itself, with a service in it, is what clients are given, with the gateway's address. One that is a
//! policy alone is attached to every binding of the backend's description. Security policies that the backend attached are for messages
//! to it, and are taken out.
//!
//! The rule kept here: a client learns of no policy but that of the route.

use std::ops::Range;

use soapstone::config::{LoadedFile, SecurityConfig, SecuritySource};
use soapstone::wss::names::WSU;
use soapstone::xml::{Buffers, Document, Element, Limits, ParseOptions};
use soapstone_policy::{PolicyVersion, SecurityPolicyVersion};

use super::{Edit, WSDL};

/// What a route's policy file is to clients.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PublishedPolicy {
    /// The description of the service.
    Description(Vec<u8>),
    /// A policy to be attached to the backend's description.
    Policy {
        /// The element, with an id.
        element: String,
        /// The id.
        id: String,
        /// Namespace of WS-Policy.
        namespace: &'static str,
    },
}

/// The id of a policy that has none.
const OUR_ID: &str = "SoapstoneEndpointPolicy";

impl PublishedPolicy {
    /// What there is to publish of a `[security]` table. `None` where it names no file, or one that is neither a description with a service
    /// nor a policy alone.
    pub(crate) fn of(security: &SecurityConfig) -> Option<Self> {
        match &security.source.value {
            SecuritySource::Policy(file) => Self::of_file(file),
            _ => None,
        }
    }

    fn of_file(file: &LoadedFile) -> Option<Self> {
        Self::read(file.bytes.expose().clone())
    }

    fn read(octets: Vec<u8>) -> Option<Self> {
        let mut limits = Limits::default();
        limits.message = limits.message.max(octets.len());
        let options = ParseOptions {
            limits,
            ..ParseOptions::default()
        };
        let document = Document::parse(octets, &options, &mut Buffers::default()).ok()?;
        let root = document.root();
        if root.is(WSDL, "definitions") {
            let service = root.child(WSDL, "service")?;
            service.child(WSDL, "port")?;
            return Some(Self::Description(document.bytes().to_vec()));
        }
        let version = PolicyVersion::from_namespace(root.namespace())?;
        if root.local() != "Policy" {
            return None;
        }
        let mut element = text(&document, root.range())?.to_owned();
        let id = match root.attribute(WSU, "Id") {
            Some(id) => id.into_owned(),
            None => {
                let name = 1 + root.prefix().len() + usize::from(!root.prefix().is_empty());
                let behind_name = name + root.local().len();
                element.insert_str(
                    behind_name,
                    &format!(" xmlns:wsu=\"{WSU}\" wsu:Id=\"{OUR_ID}\""),
                );
                OUR_ID.to_owned()
            }
        };
        Some(Self::Policy {
            element,
            id,
            namespace: version.namespace(),
        })
    }

    /// What it takes to attach a policy to every binding of a description.
    pub(super) fn attachment(&self, definitions: Element<'_>) -> Vec<Edit> {
        let Self::Policy {
            element,
            id,
            namespace,
        } = self
        else {
            return Vec::new();
        };
        let bindings = definitions
            .children()
            .filter(|child| child.is(WSDL, "binding"));
        let reference = format!("<wsp:PolicyReference xmlns:wsp=\"{namespace}\" URI=\"#{id}\"/>");
        let references = bindings.map(|binding| (behind_documentation(binding), reference.clone()));
        let mut edits = vec![(behind_documentation(definitions), element.clone())];
        edits.extend(references);
        edits
    }
}

/// Where the first child of an element can be put that is no documentation (WSDL 1.1, 2.1.4).
fn behind_documentation(element: Element<'_>) -> Range<usize> {
    let documentation = element
        .first_child()
        .filter(|child| child.is(WSDL, "documentation"));
    let place = match documentation {
        Some(documentation) => documentation.range().end,
        None => element.start_tag_range().end,
    } as usize;
    place..place
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
    let ids: Vec<String> = policies
        .iter()
        .filter_map(|policy| Some(format!("#{}", policy.attribute(WSU, "Id")?)))
        .collect();
    let references = root.descendants().filter(|element| {
        let refers = PolicyVersion::from_namespace(element.namespace()).is_some()
            && element.local() == "PolicyReference";
        let uri = element.attribute("", "URI").unwrap_or_default();
        refers && ids.iter().any(|id| *id == uri)
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

fn text(document: &Document, range: Range<u32>) -> Option<&str> {
    let octets = document
        .bytes()
        .get(range.start as usize..range.end as usize)?;
    std::str::from_utf8(octets).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_without_an_id_gets_one() {
        let policy = "<?xml version=\"1.0\"?>\n<p:Policy xmlns:p=\"http://www.w3.org/ns/ws-policy\" Name=\"x\"><p:All/></p:Policy>";
        let published = PublishedPolicy::read(policy.as_bytes().to_vec());
        let element = format!(
            "<p:Policy xmlns:wsu=\"{WSU}\" wsu:Id=\"SoapstoneEndpointPolicy\" xmlns:p=\"http://www.w3.org/ns/ws-policy\" Name=\"x\">\
             <p:All/></p:Policy>"
        );
        let expected = PublishedPolicy::Policy {
            element,
            id: OUR_ID.to_owned(),
            namespace: PolicyVersion::V15.namespace(),
        };
        assert_eq!(published, Some(expected));
    }

    #[test]
    fn a_description_is_published_if_it_has_a_service() {
        let with = format!(
            "<definitions xmlns=\"{WSDL}\"><service name=\"S\"><port name=\"P\"/></service></definitions>"
        );
        let published = PublishedPolicy::read(with.clone().into_bytes());
        assert_eq!(
            published,
            Some(PublishedPolicy::Description(with.into_bytes()))
        );
        let without = format!("<definitions xmlns=\"{WSDL}\"><binding name=\"B\"/></definitions>");
        assert_eq!(PublishedPolicy::read(without.into_bytes()), None);
    }
}
