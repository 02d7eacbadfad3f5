//! A description, and what its elements refer to by name.
//!
//! The rule kept here: a name of another namespace than the description's leads nowhere.

use std::collections::{BTreeMap, HashMap};

use soapstone_xml::{Element, NodeId};

use crate::names::{WSDL, WSDL_SOAP11, WSDL_SOAP12};

/// A name with its namespace.
pub(super) type QName = (String, String);

/// A description, with what its elements refer to by name.
pub(super) struct Description<'d> {
    pub(super) definitions: Element<'d>,
    /// Messages by local name. Those of other namespaces are not at hand.
    messages: HashMap<String, Element<'d>>,
    /// The parts of all messages, by the message and their name: of two with one name the first.
    parts: HashMap<(NodeId, String), Element<'d>>,
    port_types: HashMap<String, PortType<'d>>,
    pub(super) target: String,
}

/// The operations of a port type, by name: read once, however many bindings it has.
pub(super) type PortType<'d> = BTreeMap<String, Element<'d>>;

impl<'d> Description<'d> {
    pub(super) fn read(definitions: Element<'d>) -> Self {
        let named = |local: &'static str| {
            let of_kind = definitions.children();
            let of_kind = of_kind.filter(move |child| child.is(WSDL, local));
            of_kind.filter_map(|child| Some((child.attribute("", "name")?.into_owned(), child)))
        };
        let target = definitions.attribute("", "targetNamespace");
        let mut parts = HashMap::new();
        for (_, message) in named("message") {
            for part in message.children().filter(|child| child.is(WSDL, "part")) {
                if let Some(name) = part.attribute("", "name") {
                    parts
                        .entry((message.id(), name.into_owned()))
                        .or_insert(part);
                }
            }
        }
        Self {
            definitions,
            parts,
            messages: named("message").collect(),
            port_types: named("portType")
                .map(|(name, port_type)| (name, named_operations(port_type).collect()))
                .collect(),
            target: target.unwrap_or_default().into_owned(),
        }
    }

    /// The message that an attribute names.
    pub(super) fn message(&self, element: Element<'d>) -> Option<Element<'d>> {
        let (namespace, local) = qname(element, &element.attribute("", "message")?)?;
        let found = self.messages.get(&local).copied();
        found.filter(|_| namespace == self.target)
    }

    /// The part of a message with this name.
    pub(super) fn part(&self, message: Element<'d>, name: &str) -> Option<Element<'d>> {
        self.parts.get(&(message.id(), name.to_owned())).copied()
    }

    /// The port type of a binding.
    pub(super) fn port_type(&self, binding: Element<'d>) -> Option<&PortType<'d>> {
        let (namespace, local) = qname(binding, &binding.attribute("", "type")?)?;
        let found = self.port_types.get(&local);
        found.filter(|_| namespace == self.target)
    }
}

/// The operations of a binding or a port type with their names.
pub(super) fn named_operations<'d>(
    owner: Element<'d>,
) -> impl Iterator<Item = (String, Element<'d>)> {
    let operations = owner.children().filter(|child| child.is(WSDL, "operation"));
    operations.map(|operation| {
        let name = operation.attribute("", "name").unwrap_or_default();
        (name.into_owned(), operation)
    })
}

/// The expanded name that a value with a prefix means.
pub(super) fn qname(element: Element<'_>, value: &str) -> Option<QName> {
    let value = value.trim();
    let (prefix, local) = value.split_once(':').unwrap_or(("", value));
    let namespace = element.namespace_of(prefix);
    if namespace.is_none() && !prefix.is_empty() {
        return None;
    }
    Some((namespace.unwrap_or_default().to_owned(), local.to_owned()))
}

/// Whether an element is of the SOAP binding, of either version.
pub(in crate::look) fn is_soap(element: Element<'_>, local: &str) -> bool {
    element.is(WSDL_SOAP11, local) || element.is(WSDL_SOAP12, local)
}
