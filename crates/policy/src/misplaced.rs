//! Policies that nobody would look at: in places where none is attached, and in versions of
//! WS-Policy that are not known.
//!
//! Whoever wrote them meant them. The one rule: what is not applied is said, so that nothing goes
//! without protection because of a place or a name.

use std::collections::HashSet;
use std::sync::Arc;

use crate::names::{WSDL, WSDL_SOAP11, WSDL_SOAP12};
use crate::node::Node;
use crate::problem::{PolicyProblem, ProblemKind};
use crate::wsdl::elements::{is_policy, named, policy_uris};

/// Elements of a WSDL that policies are attached to (WS-PolicyAttachment 1.5, 4.1).
const SUBJECTS: [&str; 9] = [
    "service",
    "port",
    "binding",
    "portType",
    "operation",
    "input",
    "output",
    "fault",
    "message",
];

const NOWHERE: &str =
    "policies are attached to services, ports, bindings, port types, operations and messages";
const BESIDE: &str = "what a WSDL's own bindings demand is attached to them, inside";
const SECOND_OF_A_NAME: &str = "operations of one name have the policies of the first one";
const OTHER_VERSION: &str = "policies are those of WS-Policy 1.2 and 1.5";

/// The policies of a document that are not applied to anything, each with its place.
pub(crate) fn policies(root: &Arc<Node>) -> Vec<PolicyProblem> {
    let mut describes = false;
    root.walk(&mut |node| {
        describes |= node.name.is(WSDL, "service") || node.name.is(WSDL, "binding");
    });
    let mut problems = Vec::new();
    look(root, describes, &mut problems);
    problems
}

fn look(node: &Arc<Node>, describes: bool, problems: &mut Vec<PolicyProblem>) {
    if node.name.is(WSDL, "documentation") {
        return;
    }
    let mut refuse = |node: &Node, reason| {
        let kind = ProblemKind::NotSupported { reason };
        problems.push(PolicyProblem::at(&node.name, &node.place, kind));
    };
    let is_of_other_version = node.name.is_of_other_policy_version()
        || node
            .attributes
            .iter()
            .any(|attribute| attribute.name.is_of_other_policy_version());
    if is_of_other_version {
        refuse(node, OTHER_VERSION);
    }
    if describes && node.is_policy_element("PolicyAttachment") {
        refuse(node, BESIDE);
    }
    if node.name.is(WSDL, "portType") {
        let mut known = HashSet::new();
        for operation in named(node, "operation") {
            if !known.insert(operation.attribute("", "name")) {
                operation.walk(&mut |inside| {
                    if is_policy(inside) || policy_uris(inside).next().is_some() {
                        refuse(inside, SECOND_OF_A_NAME);
                    }
                });
            }
        }
    }
    if is_description(node) && !is_subject(node) {
        if policy_uris(node).next().is_some() {
            refuse(node, NOWHERE);
        }
        let defines = node.name.is(WSDL, "definitions");
        for child in &node.children {
            let is_definition = defines && child.is_policy_element("Policy");
            if !is_definition && is_policy(child) {
                refuse(child, NOWHERE);
            }
        }
    }
    for child in &node.children {
        look(child, describes, problems);
    }
}

fn is_description(node: &Node) -> bool {
    [WSDL, WSDL_SOAP11, WSDL_SOAP12].contains(&&*node.name.namespace)
}

fn is_subject(node: &Node) -> bool {
    &*node.name.namespace == WSDL && SUBJECTS.contains(&&*node.name.local)
}
