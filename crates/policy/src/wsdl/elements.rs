//! The elements of a WSDL, and what is attached to one of them.
//!
//! The one rule: a question here is about one element and what is directly inside.

use std::sync::Arc;

use soapstone_wss::SoapVersion;

use crate::names::{WSDL, WSDL_SOAP11, WSDL_SOAP12};
use crate::node::Node;

/// WSDL elements of a kind directly inside.
pub(crate) fn named<'d>(node: &'d Node, kind: &'static str) -> impl Iterator<Item = &'d Arc<Node>> {
    node.children
        .iter()
        .filter(move |child| child.name.is(WSDL, kind))
}

pub(crate) fn soap_child<'d>(node: &'d Node, local: &str) -> Option<&'d Arc<Node>> {
    node.child(WSDL_SOAP11, local)
        .or_else(|| node.child(WSDL_SOAP12, local))
}

/// The version of SOAP that a binding is of.
pub(crate) fn soap_version(binding: &Node) -> Option<SoapVersion> {
    let of = |namespace, version| binding.child(namespace, "binding").map(|_| version);
    of(WSDL_SOAP11, SoapVersion::V11).or_else(|| of(WSDL_SOAP12, SoapVersion::V12))
}

/// Whether the binding inside a binding, or the operation inside an operation, says that it is in
/// rpc style; `None` where it says nothing (WSDL 1.1, 3.3 and 3.4).
pub(crate) fn says_rpc(node: &Node, local: &str) -> Option<bool> {
    let style = soap_child(node, local)?.attribute("", "style")?;
    Some(style == "rpc")
}

/// Whether an element says, or refers to, what is attached to the element that it is in.
pub(crate) fn is_policy(node: &Node) -> bool {
    node.is_policy_element("Policy") || node.is_policy_element("PolicyReference")
}

/// The references of the attribute `wsp:PolicyURIs` (WS-PolicyAttachment 1.5, 3.2).
pub(crate) fn policy_uris(node: &Node) -> impl Iterator<Item = &str> {
    node.policy_attribute("PolicyURIs")
        .unwrap_or_default()
        .split_ascii_whitespace()
}
