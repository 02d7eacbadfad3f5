//! The policy of an inbound endpoint, as clients are told of it.
//!
//! A policy file that is a description itself, with a service in it, is what clients are given. One
//! that is a policy alone is for every binding of the backend's description. A preset is written as
//! a policy: what it demands of endpoints is for bindings, and which parts it has signed and
//! encrypted is for their inputs and outputs, as tools of other vendors expect it.
//!
//! The rule kept here: a client learns of no policy but that of the route, and of that only if it
//! can be said as it is meant.

use std::ops::Range;

use soapstone::config::{EndpointConfig, LoadedFile, SecuritySource};
use soapstone::endpoint::preset_exchange_policy;
use soapstone::policy::{ExchangePolicy, PolicyVersion, SignatureReading, TransportRequirement};
use soapstone::wss::Policy;
use soapstone::wss::names::WSU;
use soapstone::xml::{Buffers, Document, Limits, ParseOptions};

/// Namespace of WSDL 1.1.
pub(crate) const WSDL: &str = "http://schemas.xmlsoap.org/wsdl/";

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
    pub(crate) element: String,
    /// The id.
    pub(crate) id: String,
    pub(crate) subject: Subject,
}

/// WS-PolicyAttachment 1.5, 4.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// Every binding.
    Endpoint,
    /// Inputs and outputs of every binding.
    Message,
}

/// What is published of a policy, and what the operator should know of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Publication {
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
    ) -> Result<Publication, String> {
        if config.intermediary.is_some() {
            return Err("it is that of a node on the way, and not of the service".to_owned());
        }
        if config.sts.is_some() {
            return Self::of_token_service(config);
        }
        match &config.security.source.value {
            SecuritySource::Mechanism(_) => Self::of_preset(config, transport),
            SecuritySource::Policy(_) if config.security.algorithms.is_some() => {
                Err("`algorithms` takes the place of what the policy file says".to_owned())
            }
            SecuritySource::Policy(file) => match Self::of_file(file) {
                Some(published) => Ok(Publication {
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

    /// No backend has a description that a policy could be attached to.
    fn of_token_service(config: &EndpointConfig) -> Result<Publication, String> {
        let own = match &config.security.source.value {
            SecuritySource::Policy(file) if config.security.algorithms.is_none() => {
                Self::of_file(file)
            }
            _ => None,
        };
        match own {
            Some(Self::Description(_)) => Ok(Publication {
                published: own,
                note: None,
            }),
            _ => Err(
                "only a policy file that is a WSDL with a service describes a token service, \
                 and `algorithms` take the place of its policy"
                    .to_owned(),
            ),
        }
    }

    fn of_preset(
        config: &EndpointConfig,
        transport: Option<TransportRequirement>,
    ) -> Result<Publication, String> {
        let agreement = preset_exchange_policy(config).map_err(|problems| problems.to_string())?;
        let Some(mut agreement) = agreement.filter(|agreement| !agreement.demands_nothing()) else {
            return Ok(Publication::default());
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
        Ok(Publication {
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
}

/// Says of messages with no key of their own that they travel on TLS. A policy has one binding, and
/// that of messages says more.
fn leave_to_tls(agreement: &mut ExchangePolicy, transport: Option<TransportRequirement>) {
    let has_key = |policy: &Policy| policy.signature().is_some() || policy.encryption().is_some();
    if !has_key(&agreement.request) && !has_key(&agreement.response) {
        agreement.transport = transport;
    }
    let conversation = agreement.conversation.as_mut();
    if let Some(bootstrap) = conversation.and_then(|found| found.bootstrap.as_mut()) {
        leave_to_tls(bootstrap, transport);
    }
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
