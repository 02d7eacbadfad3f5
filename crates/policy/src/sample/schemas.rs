//! The schemas of a description, and what they declare.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;

use soapstone_xml::{Buffers, Document, Element, NodeId, ParseOptions};

use super::error::{MOST_DOCUMENTS, MOST_STEPS, SampleError};
use crate::names::{WSDL, XSD};

/// The schemas of a description.
pub(super) struct Schemas {
    pub(super) documents: Vec<Document>,
    /// For each document: the namespace of the schema that includes it, if its own has none (XML
    /// Schema, 4.2.1).
    adopted: Vec<Option<String>>,
    /// What stands at the top of a schema: of several with one name the first.
    declared: HashMap<Key, (usize, NodeId)>,
    /// What is left of [`MOST_STEPS`], for all elements that are made.
    steps: Cell<usize>,
    /// Locations that nothing was found at.
    absent: Vec<String>,
}

/// A kind, a namespace and a local name.
type Key = (&'static str, String, String);

/// A name: namespace and local.
pub(super) type Name<'n> = (&'n str, &'n str);

impl Schemas {
    /// Those of a WSDL or a schema, and of the documents that `resolve` gives for the locations of
    /// its imports and includes. What it does not give is missed where it is needed.
    ///
    /// # Errors
    /// A document is not well-formed, or there are too many.
    pub(super) fn read(
        description: Vec<u8>,
        resolve: &dyn Fn(&str) -> Option<Vec<u8>>,
    ) -> Result<Self, SampleError> {
        let mut documents = vec![parse(description, "")?];
        let mut adopted = vec![None];
        let mut known: Vec<(String, Option<String>)> = Vec::new();
        let mut absent: Vec<String> = Vec::new();
        let mut next = 0;
        while let Some(document) = documents.get(next) {
            for wanted in locations(document, adopted[next].as_deref()) {
                let (location, includer) = &wanted;
                let whole = (location.clone(), None);
                let is_known = known.contains(&wanted) || known.contains(&whole);
                if is_known || absent.contains(location) {
                    continue;
                }
                if documents.len() == MOST_DOCUMENTS {
                    return Err(SampleError::TooManyDocuments);
                }
                let Some(bytes) = resolve(location) else {
                    absent.push(location.clone());
                    continue;
                };
                let found = parse(bytes, location)?;
                if includer.is_some() && found.root().attribute("", "targetNamespace").is_none() {
                    adopted.push(includer.clone());
                    known.push(wanted);
                } else {
                    adopted.push(None);
                    known.push(whole);
                }
                documents.push(found);
            }
            next += 1;
        }
        Ok(Self {
            declared: declared(&documents, &adopted),
            documents,
            adopted,
            steps: Cell::new(MOST_STEPS),
            absent,
        })
    }

    /// Counts steps.
    ///
    /// # Errors
    /// All elements together take more than [`MOST_STEPS`].
    pub(super) fn spend(&self, steps: usize) -> Result<(), SampleError> {
        let left = self.steps.get().checked_sub(steps);
        self.steps.set(left.unwrap_or_default());
        left.map(|_| ()).ok_or(SampleError::TooLarge)
    }

    /// What is declared with this name at the top of a schema.
    pub(super) fn find<'s>(
        &'s self,
        kind: &'static str,
        (namespace, local): Name<'_>,
    ) -> Result<Element<'s>, SampleError> {
        let key = (kind, namespace.to_owned(), local.to_owned());
        let found = self.declared.get(&key);
        let found = found.map(|(document, node)| self.documents[*document].element(*node));
        found.ok_or_else(|| SampleError::Missing {
            kind,
            name: format!("{{{namespace}}}{local}"),
            absent: self.absent.clone(),
        })
    }

    /// The namespace that the document of an element has from whoever includes it.
    fn adopted(&self, at: Element<'_>) -> Option<&str> {
        let mut documents = self.documents.iter();
        let place = documents.position(|it| std::ptr::eq(it, at.document()))?;
        self.adopted[place].as_deref()
    }

    /// The namespace of the schema that a declaration stands in.
    pub(super) fn target(&self, declaration: Element<'_>) -> Option<String> {
        target(schema_of(declaration)?, self.adopted(declaration))
    }

    /// The name that a prefixed text means where it stands.
    pub(super) fn qualified<'n>(
        &'n self,
        at: Element<'n>,
        text: &'n str,
    ) -> Result<Name<'n>, SampleError> {
        match qualified(at, text)? {
            ("", local) => Ok((self.adopted(at).unwrap_or_default(), local)),
            name => Ok(name),
        }
    }
}

/// What stands at the top of the schemas of these documents.
fn declared(documents: &[Document], adopted: &[Option<String>]) -> HashMap<Key, (usize, NodeId)> {
    let mut declared = HashMap::new();
    for (at, (document, adopted)) in documents.iter().zip(adopted).enumerate() {
        for schema in schemas(document.root()) {
            let target = target(schema, adopted.as_deref()).unwrap_or_default();
            for element in schema.children().filter(|it| it.namespace() == XSD) {
                let kind = match element.local() {
                    "complexType" | "simpleType" => "type",
                    "element" => "element",
                    "group" => "group",
                    "attributeGroup" => "attributeGroup",
                    _ => continue,
                };
                if let Some(name) = element.attribute("", "name") {
                    let key = (kind, target.clone(), name.into_owned());
                    declared.entry(key).or_insert((at, element.id()));
                }
            }
        }
    }
    declared
}

/// The namespace of a schema: its own, or else that of the schema that includes it.
fn target(schema: Element<'_>, adopted: Option<&str>) -> Option<String> {
    let own = schema.attribute("", "targetNamespace");
    own.map(Cow::into_owned)
        .or_else(|| adopted.map(str::to_owned))
}

/// The schema that a declaration stands in.
pub(super) fn schema_of(declaration: Element<'_>) -> Option<Element<'_>> {
    declaration.ancestors().find(|it| it.is(XSD, "schema"))
}

/// The schemas of a document: itself, or those of a WSDL.
fn schemas(root: Element<'_>) -> impl Iterator<Item = Element<'_>> {
    let own = root.is(XSD, "schema").then_some(root);
    let types = root.children().filter(|it| it.is(WSDL, "types"));
    let inside = types.flat_map(|it| it.children().filter(|it| it.is(XSD, "schema")));
    own.into_iter().chain(inside)
}

fn parse(bytes: Vec<u8>, document: &str) -> Result<Document, SampleError> {
    let parsed = Document::parse(bytes, &ParseOptions::default(), &mut Buffers::default());
    parsed.map_err(|error| SampleError::Xml {
        document: document.to_owned(),
        problem: error.to_string(),
    })
}

/// Where the documents are that this one imports or includes, each with the namespace of the schema
/// that includes it.
fn locations(document: &Document, adopted: Option<&str>) -> Vec<(String, Option<String>)> {
    let all = document.root().descendants();
    let named = all.filter_map(|it| {
        let attribute = match (it.namespace(), it.local()) {
            (XSD, "import" | "include") => "schemaLocation",
            (WSDL, "import") => "location",
            _ => return None,
        };
        let includer = schema_of(it).filter(|_| it.local() == "include");
        let namespace = includer.and_then(|it| target(it, adopted));
        Some((it.attribute("", attribute)?.into_owned(), namespace))
    });
    named.collect()
}

pub(super) fn is_annotation(element: Element<'_>) -> bool {
    element.is(XSD, "annotation")
}

/// The extension or restriction of a complex type, and its base.
pub(super) fn derivation(of: Element<'_>) -> Option<(Element<'_>, String)> {
    let content = ["complexContent", "simpleContent"];
    let content = content.into_iter().find_map(|name| of.child(XSD, name))?;
    let derived = ["extension", "restriction"];
    let derived = derived
        .into_iter()
        .find_map(|name| content.child(XSD, name))?;
    let base = derived.attribute("", "base")?.into_owned();
    Some((derived, base))
}

/// The name that a prefixed text means where it stands.
fn qualified<'t>(at: Element<'t>, text: &'t str) -> Result<Name<'t>, SampleError> {
    let (prefix, local) = text.trim().split_once(':').unwrap_or(("", text.trim()));
    match at.namespace_of(prefix) {
        Some(namespace) => Ok((namespace, local)),
        None if prefix.is_empty() => Ok(("", local)),
        None => Err(unmakeable(
            &format!("a name whose prefix {prefix} is bound to nothing"),
            at,
        )),
    }
}

pub(super) fn unmakeable(what: &str, at: Element<'_>) -> SampleError {
    SampleError::Unmakeable {
        what: what.to_owned(),
        place: at.line_column(),
    }
}
