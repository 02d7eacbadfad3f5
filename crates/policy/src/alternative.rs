//! Alternatives and assertions: what a policy in normal form consists of (WS-Policy 1.5, 3).
//!
//! The one rule: assertions are shared, never copied, however many alternatives hold them.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::names::{Name, PolicyVersion};
use crate::node::{Node, Place};

/// A policy in normal form.
#[derive(Clone, Debug)]
pub struct NormalPolicy {
    /// The version of WS-Policy in which it was written, for writing it again.
    pub version: PolicyVersion,
    /// The alternatives, in the order in which they are preferred: as written, and with an
    /// optional assertion before without it. None at all: the policy allows nothing.
    pub alternatives: Vec<Alternative>,
}

/// One alternative: all of its assertions hold together.
#[derive(Clone, Debug, Default)]
pub struct Alternative {
    /// The assertions, in order of appearance.
    pub assertions: Vec<Arc<Assertion>>,
}

/// One assertion of an alternative.
#[derive(Clone, Debug)]
pub struct Assertion {
    node: Arc<Node>,
    nested: Option<Alternative>,
    /// Elements of it and inside it, written out.
    weight: usize,
}

impl Assertion {
    /// The assertion of an element that has `elements` elements, itself and its parameters.
    pub(crate) fn new(node: Arc<Node>, nested: Option<Alternative>, elements: usize) -> Self {
        Self {
            weight: elements + nested.as_ref().map_or(0, Alternative::weight),
            node,
            nested,
        }
    }

    /// Its name, which is its type (WS-Policy 1.5, 3.1).
    pub fn name(&self) -> &Name {
        &self.node.name
    }

    /// Where it was written.
    pub fn place(&self) -> &Place {
        &self.node.place
    }

    /// The element as written: its attributes, and the prefixes declared there.
    pub fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// The one alternative of its nested policy, if it has a nested policy.
    pub fn nested(&self) -> Option<&Alternative> {
        self.nested.as_ref()
    }

    /// Whether it says nothing about messages (WS-Policy 1.5, 4.3.3: `wsp:Ignorable`).
    pub fn is_ignorable(&self) -> bool {
        self.node
            .policy_attribute("Ignorable")
            .is_some_and(|value| matches!(value.trim(), "true" | "1"))
    }

    /// Its parameters: the elements inside that are no nested policy.
    pub fn parameters(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.node
            .children
            .iter()
            .filter(|child| !child.is_policy_element("Policy"))
    }

    /// A text that two assertions share if they say the same, wherever they were written and in
    /// whatever order.
    pub(crate) fn canonical(&self) -> String {
        let mut text = String::new();
        write_node(&self.node, &mut text);
        if let Some(nested) = &self.nested {
            text.push_str(&nested.canonical());
        }
        text
    }
}

impl Alternative {
    /// The same without the assertions of these names, wherever they are; `dropped` learns of each.
    /// Assertions of WS-SecurityPolicy stay.
    pub(crate) fn without(&self, ignored: &[Name], dropped: &mut Vec<(Name, Place)>) -> Self {
        if ignored.is_empty() {
            return self.clone();
        }
        let mut assertions = Vec::with_capacity(self.assertions.len());
        for assertion in &self.assertions {
            let name = assertion.name();
            if name.security_version().is_none() && ignored.contains(name) {
                dropped.push((name.clone(), assertion.place().clone()));
                continue;
            }
            let Some(nested) = &assertion.nested else {
                assertions.push(Arc::clone(assertion));
                continue;
            };
            assertions.push(Arc::new(Assertion {
                node: Arc::clone(&assertion.node),
                nested: Some(nested.without(ignored, dropped)),
                weight: assertion.weight,
            }));
        }
        Self { assertions }
    }

    /// Elements of all of its assertions, written out. Alternatives share assertions, but whoever
    /// looks at them does not.
    pub(crate) fn weight(&self) -> usize {
        self.assertions
            .iter()
            .map(|assertion| assertion.weight)
            .sum()
    }

    /// See [`Assertion::canonical`].
    pub(crate) fn canonical(&self) -> String {
        let mut parts: Vec<String> = self
            .assertions
            .iter()
            .map(|assertion| assertion.canonical())
            .collect();
        parts.sort_unstable();
        format!("<{}>", parts.concat())
    }
}

impl NormalPolicy {
    /// Whether both offer the same alternatives. Order and repetition of alternatives, order of
    /// assertions and places do not matter.
    pub fn is_equivalent(&self, other: &Self) -> bool {
        let all = |policy: &Self| -> BTreeSet<String> {
            policy
                .alternatives
                .iter()
                .map(Alternative::canonical)
                .collect()
        };
        all(self) == all(other)
    }
}

fn write_node(node: &Node, text: &mut String) {
    let mut attributes: Vec<_> = node
        .attributes
        .iter()
        .filter(|attribute| {
            !(attribute.name.policy_version().is_some() && &*attribute.name.local == "Optional")
        })
        .map(|attribute| format!("{:?}={:?}", attribute.name, attribute.value))
        .collect();
    attributes.sort_unstable();
    text.push_str(&format!(
        "({:?}{}{:?}",
        node.name,
        attributes.concat(),
        node.text.trim()
    ));
    for child in &node.children {
        if !child.is_policy_element("Policy") {
            write_node(child, text);
        }
    }
    text.push(')');
}
