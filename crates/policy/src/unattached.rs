//! Policies of a description that are defined and attached to nothing.
//!
//! Such a policy may be a leftover, or a reference to it was forgotten: then messages go without
//! its protection. The one rule: a policy is attached if any reference of any document that was
//! read leads to it.

use std::collections::HashSet;

use crate::document::PolicyDocument;
use crate::names::{WSU, XML};
use crate::node::{Node, Place};
use crate::wsdl::elements::policy_uris;

impl PolicyDocument {
    /// The policies that a WSDL defines and no reference leads to: what each is called, and its
    /// place.
    pub fn unattached(&self) -> Vec<(String, Place)> {
        let roots = self.roots();
        let mut referenced: HashSet<&str> = HashSet::new();
        for root in &roots {
            root.walk(&mut |node| {
                let reference = node
                    .is_policy_element("PolicyReference")
                    .then(|| node.attribute("", "URI"))
                    .flatten();
                for uri in reference.into_iter().chain(policy_uris(node)) {
                    referenced.insert(uri);
                    referenced.extend(uri.rsplit_once('#').map(|(_, id)| id));
                }
            });
        }
        let defined = self.definitions().into_iter().flat_map(|it| &it.children);
        let policies = defined.filter(|node| node.is_policy_element("Policy"));
        policies
            .filter(|policy| !names(policy).any(|name| referenced.contains(name)))
            .map(|policy| {
                let name = names(policy).next().unwrap_or("a policy without an id");
                (name.to_owned(), policy.place.clone())
            })
            .collect()
    }
}

/// Everything that references call a policy by.
fn names(policy: &Node) -> impl Iterator<Item = &str> {
    let attributes = [
        (WSU, "Id"),
        (XML, "id"),
        ("", "Id"),
        ("", "ID"),
        ("", "Name"),
    ];
    attributes
        .into_iter()
        .filter_map(|(namespace, local)| policy.attribute(namespace, local))
}
