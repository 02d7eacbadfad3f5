//! `wsp:AppliesTo` (WS-Trust 1.4, 4.1): the service for which a token is wanted, as an endpoint
//! reference.
//!
//! The one rule: the address is compared, never connected to.

use soapstone_xml::Element;

use super::read::{MessageError, only_child, uri};
use super::write::Writer;
use crate::addressing::AddressingVersion;

/// Namespaces of WS-Policy in which `AppliesTo` is met: 1.2 and 1.5.
const POLICY: [&str; 2] = [
    "http://schemas.xmlsoap.org/ws/2004/09/policy",
    "http://www.w3.org/ns/ws-policy",
];

/// What a token is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliesTo {
    /// Address of the endpoint reference.
    pub address: String,
    /// Version of the endpoint reference.
    pub addressing: AddressingVersion,
    /// Namespace of `AppliesTo` itself.
    policy: &'static str,
}

impl AppliesTo {
    /// The endpoint with this address.
    #[must_use]
    pub fn new(address: impl Into<String>, addressing: AddressingVersion) -> Self {
        Self {
            address: address.into(),
            addressing,
            policy: POLICY[0],
        }
    }

    /// Whether this is an `AppliesTo` of a known WS-Policy.
    pub(crate) fn is(element: Element<'_>) -> bool {
        element.local() == "AppliesTo" && POLICY.contains(&element.namespace())
    }

    pub(crate) fn read(element: Element<'_>) -> Result<Self, MessageError> {
        let expected = "`wsa:EndpointReference`";
        let reference = only_child(element, expected)?;
        let addressing = AddressingVersion::from_namespace(reference.namespace())
            .filter(|_| reference.local() == "EndpointReference")
            .ok_or_else(|| MessageError::unexpected(expected, reference))?;
        let address = endpoint_address(reference, addressing)?;
        let policy = POLICY
            .into_iter()
            .find(|policy| *policy == element.namespace());
        Ok(Self {
            address,
            addressing,
            policy: policy.ok_or_else(|| MessageError::unexpected("`wsp:AppliesTo`", element))?,
        })
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>) {
        writer.element("wsp:AppliesTo", Some(self.policy), &[], |writer| {
            let namespace = Some(self.addressing.namespace());
            writer.element("wsa:EndpointReference", namespace, &[], |writer| {
                writer.text("wsa:Address", &self.address);
            });
        });
    }
}

/// The `wsa:Address` of an endpoint reference (WS-Addressing 1.0 Core, 2.2): exactly one.
pub(crate) fn endpoint_address(
    reference: Element<'_>,
    version: AddressingVersion,
) -> Result<String, MessageError> {
    let mut addresses = reference
        .children()
        .filter(|child| child.is(version.namespace(), "Address"));
    match (addresses.next(), addresses.next()) {
        (Some(address), None) => uri(address),
        (Some(_), Some(second)) => Err(MessageError::unexpected("one `wsa:Address`", second)),
        (None, _) => Err(MessageError::missing("`wsa:Address`", reference)),
    }
}
