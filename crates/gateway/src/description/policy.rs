//! The policy of a route, in the description of its service.
//!
//! A policy file that is a description itself, with a service in it, is what clients are given,
//! with the gateway's address. One that is a policy alone is attached to every binding of the
//! backend's description. A preset is written as a policy: what it demands of endpoints is attached
//! to bindings, and which parts it has signed and encrypted to their inputs and outputs, as tools
//! of other vendors expect it. Security policies that the backend attached are for messages to it,
//! and are taken out.
//!
//! The rule kept here: a client learns of no policy but that of the route, and of that only if it
//! can be said as it is meant.

use std::collections::HashSet;
use std::ops::Range;

use soapstone::config::{EndpointConfig, LoadedFile, SecuritySource};
use soapstone::endpoint::preset_agreement;
use soapstone::wss::Policy;
use soapstone::wss::names::WSU;
use soapstone::xml::{Buffers, Document, Element, Limits, ParseOptions};
use soapstone_policy::{
    Agreement, PolicyVersion, SecurityPolicyVersion, SignatureReading, TransportRequirement,
};

use super::{Edit, WSDL};

/// What clients are told of a route's policy.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PublishedPolicy {
    /// The description of the service.
    Description(Vec<u8>),
    /// Policies to be attached to the backend's description.
    Policies {
        /// The policies.
        attached: Vec<Attached>,
        /// Namespace of WS-Policy.
        namespace: &'static str,
    },
}

/// A policy, and what of a description it is for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Attached {
    /// The element, with an id.
    element: String,
    /// The id.
    id: String,
    subject: Subject,
}

/// WS-PolicyAttachment 1.5, 4.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    /// Every binding.
    Endpoint,
    /// Inputs and outputs of every binding.
    Message,
}

/// What there is to tell, and what the operator should know of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Telling {
    /// What clients are told.
    pub(crate) published: Option<PublishedPolicy>,
    /// How it must be read.
    pub(crate) note: Option<&'static str>,
}

/// The id of a policy that has none.
const OUR_ID: &str = "SoapstoneEndpointPolicy";
/// The id of the policy of messages.
const OUR_MESSAGES_ID: &str = "SoapstoneMessagePolicy";

const READ_WITH_SHA256: &str = "clients must read the algorithm suites called …Sha256 with SHA-256 signatures, as WCF does; those of CXF \
     are told so by their properties ws-security.asymmetric.signature.algorithm and ws-security.symmetric.signature.algorithm";

impl PublishedPolicy {
    /// What there is to tell of a route's inbound endpoint. `transport` is what clients find when
    /// they connect.
    ///
    /// # Errors
    ///
    /// Why there is nothing to tell, although something is demanded.
    pub(crate) fn of(
        config: &EndpointConfig,
        transport: Option<TransportRequirement>,
    ) -> Result<Telling, String> {
        match &config.security.source.value {
            SecuritySource::Mechanism(_) => Self::of_preset(config, transport),
            SecuritySource::Policy(file) => match Self::of_file(file) {
                Some(published) => Ok(Telling {
                    published: Some(published),
                    note: None,
                }),
                None => Err(
                    "the policy file is neither a description with a service nor a policy alone"
                        .to_owned(),
                ),
            },
        }
    }

    fn of_preset(
        config: &EndpointConfig,
        transport: Option<TransportRequirement>,
    ) -> Result<Telling, String> {
        let agreement = preset_agreement(config).map_err(|problems| problems.to_string())?;
        let Some(mut agreement) = agreement.filter(|agreement| !agreement.demands_nothing()) else {
            return Ok(Telling::default());
        };
        leave_to_tls(&mut agreement, transport);
        let written = agreement.write().map_err(|problems| {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            problems.join("; ")
        })?;
        let mut attached = vec![Attached {
            element: written.endpoint_xml(OUR_ID),
            id: OUR_ID.to_owned(),
            subject: Subject::Endpoint,
        }];
        attached.extend(
            written
                .messages_xml(OUR_MESSAGES_ID)
                .map(|element| Attached {
                    element,
                    id: OUR_MESSAGES_ID.to_owned(),
                    subject: Subject::Message,
                }),
        );
        Ok(Telling {
            published: Some(Self::Policies {
                attached,
                namespace: written.version().namespace(),
            }),
            note: (written.signatures() == SignatureReading::Sha256).then_some(READ_WITH_SHA256),
        })
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
        Some(Self::Policies {
            attached: vec![Attached {
                element,
                id,
                subject: Subject::Endpoint,
            }],
            namespace: version.namespace(),
        })
    }

    /// What it takes to attach policies to what they are for in a description.
    pub(super) fn attachment(&self, definitions: Element<'_>) -> Vec<Edit> {
        let Self::Policies {
            attached,
            namespace,
        } = self
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
}

/// Says of messages with no key of their own that they travel on TLS. A policy has one binding, and
/// that of messages says more.
fn leave_to_tls(agreement: &mut Agreement, transport: Option<TransportRequirement>) {
    let has_key = |policy: &Policy| policy.signature().is_some() || policy.encryption().is_some();
    if !has_key(&agreement.request) && !has_key(&agreement.response) {
        agreement.transport = transport;
    }
    let conversation = agreement.conversation.as_mut();
    if let Some(bootstrap) = conversation.and_then(|found| found.bootstrap.as_mut()) {
        leave_to_tls(bootstrap, transport);
    }
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
        let expected = PublishedPolicy::Policies {
            attached: vec![Attached {
                element,
                id: OUR_ID.to_owned(),
                subject: Subject::Endpoint,
            }],
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
