//! The WSDL documents that are read together, with everything in them by its name.
//!
//! The one rule: of several elements of one name the first one counts.

use std::collections::HashMap;
use std::sync::Arc;

use super::elements::named;
use crate::error::PolicyError;
use crate::node::Node;

/// The WSDL documents, read together, with everything in them by its name.
pub(crate) struct Wsdl<'d> {
    definitions: Vec<&'d Arc<Node>>,
    /// By kind, target namespace and name. Of several the first one counts.
    by_name: HashMap<(&'static str, &'d str, &'d str), &'d Arc<Node>>,
    /// Operations by port type and name.
    pub(super) operations: HashMap<(*const Node, &'d str), &'d Arc<Node>>,
}

/// What other elements refer to by name.
const KINDS: [&str; 3] = ["binding", "portType", "message"];

impl<'d> Wsdl<'d> {
    pub(super) fn new(definitions: Vec<&'d Arc<Node>>) -> Self {
        let mut by_name = HashMap::new();
        let mut operations = HashMap::new();
        for definitions in &definitions {
            let namespace = definitions.attribute("", "targetNamespace");
            let namespace = namespace.unwrap_or_default();
            for kind in KINDS {
                for element in named(definitions, kind) {
                    if let Some(name) = element.attribute("", "name") {
                        by_name.entry((kind, namespace, name)).or_insert(element);
                    }
                }
            }
            for port_type in named(definitions, "portType") {
                for operation in named(port_type, "operation") {
                    if let Some(name) = operation.attribute("", "name") {
                        let key = (Arc::as_ptr(port_type), name);
                        operations.entry(key).or_insert(operation);
                    }
                }
            }
        }
        Self {
            definitions,
            by_name,
            operations,
        }
    }

    /// Everything of a kind in all documents.
    pub(super) fn all(&self, kind: &'static str) -> impl Iterator<Item = &'d Arc<Node>> {
        self.definitions
            .iter()
            .flat_map(move |definitions| named(definitions, kind))
    }

    /// The binding of a port, which has most of its policies: one that is nowhere, in a document
    /// that was not given perhaps, is an error. Port types and messages that are nowhere are
    /// missed where operations have to be told apart.
    pub(super) fn binding_of(&self, port: &Node) -> Result<Option<&'d Arc<Node>>, PolicyError> {
        let found = self.find(port, "binding", "binding");
        match port.attribute("", "binding") {
            Some(name) if found.is_none() => Err(PolicyError::UnknownBinding {
                name: name.to_owned(),
                place: port.place.clone(),
            }),
            _ => Ok(found),
        }
    }

    /// What a QName in an attribute names.
    pub(crate) fn find(
        &self,
        from: &Node,
        attribute: &str,
        kind: &'static str,
    ) -> Option<&'d Arc<Node>> {
        let qualified = from.attribute("", attribute)?.trim();
        let (prefix, local) = qualified.split_once(':').unwrap_or(("", qualified));
        let namespace = from.namespace_of(prefix).unwrap_or_default();
        self.by_name.get(&(kind, namespace, local)).copied()
    }
}
