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
    /// What stands at the top of a schema, by kind and local name, in the order of the documents.
    declared: HashMap<(&'static str, String), Vec<Declared>>,
    /// What is left of [`MOST_STEPS`], for all elements that are made.
    steps: Cell<usize>,
    /// Locations that nothing was found at.
    absent: Vec<String>,
}

/// Where a declaration stands.
struct Declared {
    /// The `targetNamespace` of its schema.
    target: Option<String>,
    document: usize,
    node: NodeId,
}

/// A name: namespace and local.
type Name<'n> = (&'n str, &'n str);

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
        let (mut known, mut absent): (Vec<String>, Vec<String>) = Default::default();
        let mut next = 0;
        while let Some(document) = documents.get(next) {
            for location in locations(document) {
                if known.contains(&location) {
                    continue;
                }
                known.push(location.clone());
                if documents.len() == MOST_DOCUMENTS {
                    return Err(SampleError::TooManyDocuments);
                }
                match resolve(&location) {
                    Some(bytes) => documents.push(parse(bytes, &location)?),
                    None => absent.push(location),
                }
            }
            next += 1;
        }
        Ok(Self {
            declared: declared(&documents),
            documents,
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
        let of_name = self.declared.get(&(kind, local.to_owned()));
        let mut of_name = of_name.into_iter().flatten();
        let found = of_name.find(|it| {
            let target = it.target.as_deref();
            // An included schema without a namespace has that of whoever includes it.
            target.is_none_or(|target| target == namespace)
        });
        let found = found.map(|it| self.documents[it.document].element(it.node));
        found.ok_or_else(|| SampleError::Missing {
            kind,
            name: format!("{{{namespace}}}{local}"),
            absent: self.absent.clone(),
        })
    }
}

/// What stands at the top of the schemas of these documents.
fn declared(documents: &[Document]) -> HashMap<(&'static str, String), Vec<Declared>> {
    let mut declared: HashMap<_, Vec<Declared>> = HashMap::new();
    for (document, schema) in documents
        .iter()
        .enumerate()
        .flat_map(|(at, document)| schemas(document.root()).map(move |it| (at, it)))
    {
        for element in schema.children().filter(|it| it.namespace() == XSD) {
            let kind = match element.local() {
                "complexType" | "simpleType" => "type",
                "element" => "element",
                "group" => "group",
                _ => continue,
            };
            if let Some(name) = element.attribute("", "name") {
                let target = schema.attribute("", "targetNamespace");
                let key = (kind, name.into_owned());
                declared.entry(key).or_default().push(Declared {
                    target: target.map(Cow::into_owned),
                    document,
                    node: element.id(),
                });
            }
        }
    }
    declared
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

/// Where the documents are that this one imports or includes.
fn locations(document: &Document) -> Vec<String> {
    let all = document.root().descendants();
    let named = all.filter_map(|it| match (it.namespace(), it.local()) {
        (XSD, "import" | "include") => it.attribute("", "schemaLocation"),
        (WSDL, "import") => it.attribute("", "location"),
        _ => None,
    });
    named.map(|it| it.into_owned()).collect()
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
pub(super) fn qualified<'t>(at: Element<'t>, text: &'t str) -> Result<Name<'t>, SampleError> {
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
