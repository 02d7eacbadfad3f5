//! The schemas of a description, and what they declare.

use soapstone_xml::{Buffers, Document, Element, ParseOptions};

use super::error::{MOST_DOCUMENTS, SampleError};
use crate::names::{WSDL, XSD};

/// The schemas of a description.
pub(super) struct Schemas {
    pub(super) documents: Vec<Document>,
    /// Locations that nothing was found at.
    absent: Vec<String>,
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
        Ok(Self { documents, absent })
    }

    fn schemas(&self) -> impl Iterator<Item = Element<'_>> {
        let documents = self.documents.iter().map(Document::root);
        documents.flat_map(|root| {
            let own = root.is(XSD, "schema").then_some(root);
            let types = root.children().filter(|it| it.is(WSDL, "types"));
            own.into_iter()
                .chain(types.flat_map(|it| it.children().filter(|it| it.is(XSD, "schema"))))
        })
    }

    /// What is declared with this name at the top of a schema.
    pub(super) fn find<'s>(
        &'s self,
        kind: &'static str,
        (namespace, local): Name<'_>,
    ) -> Result<Element<'s>, SampleError> {
        let of_namespace = self.schemas().filter(|schema| {
            let target = schema.attribute("", "targetNamespace");
            // An included schema without a namespace has that of whoever includes it.
            target.is_none_or(|target| target == namespace)
        });
        let kinds: &[&str] = match kind {
            "type" => &["complexType", "simpleType"],
            "element" => &["element"],
            _ => &["group"],
        };
        let mut declared = of_namespace.flat_map(|schema| schema.children());
        let found = declared.find(|it| {
            it.namespace() == XSD
                && kinds.contains(&it.local())
                && it.attribute("", "name").as_deref() == Some(local)
        });
        found.ok_or_else(|| SampleError::Missing {
            kind,
            name: format!("{{{namespace}}}{local}"),
            absent: self.absent.clone(),
        })
    }
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
