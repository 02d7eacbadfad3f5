//! Schemas inside of a description (Basic Profile 1.1, 4.3).

use std::collections::{HashMap, HashSet};

use soapstone_xml::Element;

use crate::findings::{Findings, quoted};
use crate::look::wsdl::description::{QName, qname};
use crate::names::{SOAP_ENCODING, WSDL, XML, XSD};

/// Attributes of a schema that hold names.
const REFERENCES: [&str; 5] = ["type", "ref", "base", "itemType", "substitutionGroup"];

/// What the schemas of a description declare.
pub(super) struct Known {
    /// Their target namespaces, and those that they import.
    pub(super) namespaces: HashSet<String>,
    /// Elements by namespace, of schemas that are here as a whole.
    elements: HashMap<String, HashSet<String>>,
}

impl Known {
    /// Whether the schema of a name is here as a whole and does not declare the element.
    pub(super) fn lacks(&self, (namespace, local): &QName) -> bool {
        let declared = self.elements.get(namespace);
        declared.is_some_and(|declared| !declared.contains(local))
    }
}

pub(super) fn look(definitions: Element<'_>, findings: &mut Findings) -> Known {
    let mut known = Known {
        namespaces: HashSet::new(),
        elements: HashMap::new(),
    };
    let mut in_part = HashSet::new();
    let types = definitions
        .children()
        .filter(|child| child.is(WSDL, "types"));
    for schema in types.flat_map(|types| types.children()) {
        if !schema.is(XSD, "schema") {
            continue;
        }
        let target = schema.attribute("", "targetNamespace").unwrap_or_default();
        let declares = schema
            .children()
            .any(|child| !child.is(XSD, "import") && !child.is(XSD, "annotation"));
        if target.is_empty() && declares {
            findings.add("R2105", schema, "a targetNamespace", "none");
        }
        known.namespaces.insert(target.clone().into_owned());
        let mut own: HashSet<String> = HashSet::from([XSD.to_owned(), XML.to_owned()]);
        own.insert(target.clone().into_owned());
        let elements = known
            .elements
            .entry(target.clone().into_owned())
            .or_default();
        for child in schema.children() {
            if child.is(XSD, "import") {
                let namespace = child.attribute("", "namespace").unwrap_or_default();
                own.insert(namespace.clone().into_owned());
                known.namespaces.insert(namespace.clone().into_owned());
                in_part.insert(namespace.into_owned());
            } else if child.is(XSD, "include") || child.is(XSD, "redefine") {
                in_part.insert(target.clone().into_owned());
            } else if child.is(XSD, "element") {
                elements.extend(
                    child
                        .attribute("", "name")
                        .map(std::borrow::Cow::into_owned),
                );
            }
        }
        look_at_schema(schema, &own, findings);
    }
    // An import without a location means the schema beside it; one with a location adds to it.
    known
        .elements
        .retain(|namespace, elements| !in_part.contains(namespace) && !elements.is_empty());
    known
}

fn look_at_schema(schema: Element<'_>, own: &HashSet<String>, findings: &mut Findings) {
    for element in schema.descendants() {
        if element.namespace() != XSD {
            continue;
        }
        if let Some(value) = element.attribute(WSDL, "arrayType") {
            findings.add("R2111", element, "no wsdl:arrayType", quoted(Some(&value)));
        }
        if element.local() == "element"
            && let Some(name) = element.attribute("", "name")
            && name.starts_with("ArrayOf")
        {
            let expected = "a name that says what the element is";
            findings.add("R2112", element, expected, quoted(Some(&name)));
        }
        for local in REFERENCES {
            let Some(value) = element.attribute("", local) else {
                continue;
            };
            let name = qname(element, &value);
            let is_array = name
                .as_ref()
                .is_some_and(|(namespace, name)| namespace == SOAP_ENCODING && name == "Array");
            if is_array && local == "base" {
                let expected = "an element that repeats";
                findings.add("R2110", element, expected, quoted(Some(&value)));
            }
            let is_known = name.is_some_and(|(namespace, _)| own.contains(&namespace));
            if !is_known {
                let expected = "a name of the schema's namespaces";
                findings.add("R2102", element, expected, quoted(Some(&value)));
            }
        }
    }
}
