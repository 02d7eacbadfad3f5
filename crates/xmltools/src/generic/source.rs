//! Documents of the generic path: with a DTD, if they have one, in any encoding that is read.
//!
//! The one rule: a DTD is applied before anything is looked at, and then it is gone; what it
//! declared as ids are ids.

use std::cell::OnceCell;
use std::collections::HashMap;

use crate::dtd::{self, DeclaredId};
use crate::nodes::Tree;
use soapstone_xml::{Buffers, Document, Element, IdAttributes, NodeId, ParseOptions};

use super::error::GenericError;
use super::options::{IdAttribute, Options, StartNode};
use super::selection::select;
use soapstone_xmlsec::dsig::SignatureError;

/// A document that was read, ready for every operation.
pub(super) struct Source {
    pub(super) document: Document,
    /// Ids that only certain elements have: by the DTD, or by `--id-attr`.
    declared: Vec<DeclaredId>,
    elements: Vec<IdAttribute>,
    lookalikes: OnceCell<HashMap<String, Vec<NodeId>>>,
    /// The document type declaration as it stood, to be written in front of the edited document.
    doctype: Vec<u8>,
}

impl Source {
    /// Reads a document; `resolve` is asked for external entities.
    pub(super) fn load(
        octets: &[u8],
        options: &Options,
        resolve: &mut dyn FnMut(&str) -> Option<Vec<u8>>,
    ) -> Result<Self, GenericError> {
        let flattened = dtd::flatten(octets, &options.limits, resolve)?;
        let mut ids = IdAttributes::standard();
        let mut elements = Vec::new();
        for id in &options.id_attributes {
            match id.element {
                None => ids = ids.with(&id.attribute),
                Some(_) => elements.push(id.clone()),
            }
        }
        let parse = ParseOptions {
            limits: options.limits.clone(),
            ids,
        };
        let document = Document::parse(flattened.document, &parse, &mut Buffers::default())?;
        Ok(Self {
            document,
            declared: flattened.ids,
            elements,
            lookalikes: OnceCell::new(),
            doctype: doctype(octets),
        })
    }

    /// The document with another text: its type declaration in front, if it had one.
    pub(super) fn written(&self, text: Vec<u8>) -> Vec<u8> {
        if self.doctype.is_empty() {
            return text;
        }
        let mut written = self.doctype.clone();
        written.push(b'\n');
        written.extend_from_slice(&text);
        written
    }

    /// The one element with this id.
    pub(super) fn by_id(&self, id: &str) -> Result<NodeId, GenericError> {
        let duplicate = || SignatureError::DuplicateId { id: id.to_owned() }.into();
        let mut found = self.document.by_id(id).map_err(|_| duplicate())?;
        if !(self.declared.is_empty() && self.elements.is_empty()) {
            for element in self.document.root().descendants() {
                if self.has_declared_id(element, id)
                    && found
                        .replace(element.id())
                        .is_some_and(|other| other != element.id())
                {
                    return Err(duplicate());
                }
            }
        }
        let found = found.ok_or_else(|| SignatureError::NotFound { id: id.to_owned() })?;
        match self.lookalikes().get(id) {
            Some(carriers) if carriers.iter().any(|carrier| *carrier != found) => Err(duplicate()),
            _ => Ok(found),
        }
    }

    /// Whether any element has this id, or seems to.
    pub(super) fn has_id(&self, id: &str) -> bool {
        self.lookalikes().contains_key(id)
            || self.by_id(id) != Err(SignatureError::NotFound { id: id.to_owned() }.into())
    }

    /// Elements by what stands in an attribute that somebody may take for an id, declared or not.
    /// Where two elements are alike, whoever reads the document after us may find another one
    /// than we did.
    fn lookalikes(&self) -> &HashMap<String, Vec<NodeId>> {
        self.lookalikes.get_or_init(|| {
            let mut lookalikes: HashMap<String, Vec<NodeId>> = HashMap::new();
            for element in self.document.root().descendants() {
                for attribute in element.attributes() {
                    if attribute.local().eq_ignore_ascii_case("id") {
                        let carriers = lookalikes
                            .entry(attribute.value().into_owned())
                            .or_default();
                        carriers.push(element.id());
                    }
                }
            }
            lookalikes
        })
    }

    fn has_declared_id(&self, element: Element<'_>, id: &str) -> bool {
        let by_dtd = || {
            self.declared.iter().any(|declared| {
                declared.element == element.qualified_name()
                    && element.attributes().any(|attribute| {
                        attribute.qualified_name() == declared.attribute && attribute.value() == id
                    })
            })
        };
        let by_option = || {
            self.elements.iter().any(|declared| {
                let (namespace, local) = match declared
                    .attribute
                    .strip_prefix('{')
                    .and_then(|rest| rest.split_once('}'))
                {
                    Some((namespace, local)) => (namespace, local),
                    None => ("", declared.attribute.as_str()),
                };
                declared
                    .element
                    .as_ref()
                    .is_some_and(|(uri, name)| element.is(uri, name))
                    && element
                        .attribute(namespace, local)
                        .is_some_and(|value| value == id)
            })
        };
        by_dtd() || by_option()
    }
}

/// A [`Source`] that is being worked on, with its XPath tree, which is built when it is first
/// needed.
pub(super) struct Reading<'d> {
    pub(super) source: &'d Source,
    tree: OnceCell<Tree<'d>>,
}

impl<'d> Reading<'d> {
    pub(super) fn new(source: &'d Source) -> Self {
        Self {
            source,
            tree: OnceCell::new(),
        }
    }

    pub(super) fn document(&self) -> &'d Document {
        &self.source.document
    }

    pub(super) fn tree(&self) -> Result<&Tree<'d>, GenericError> {
        if let Some(tree) = self.tree.get() {
            return Ok(tree);
        }
        let mut declared = self.source.declared.clone();
        for id in &self.source.elements {
            // XPath's id() goes by the names as written, as DTDs do.
            if let Some((namespace, local)) = &id.element {
                declared.extend(
                    self.document()
                        .root()
                        .descendants()
                        .filter(|element| element.is(namespace, local))
                        .map(|element| DeclaredId {
                            element: element.qualified_name().to_owned(),
                            attribute: id.attribute.clone(),
                        }),
                );
            }
        }
        declared.dedup();
        let tree = Tree::new(self.document(), &declared).map_err(|_| GenericError::TooLarge)?;
        Ok(self.tree.get_or_init(|| tree))
    }

    /// The first element of `{namespace}local` at or below the start node of the options.
    pub(super) fn start(
        &self,
        start: &StartNode,
        namespace: &str,
        local: &str,
        expected: &'static str,
    ) -> Result<NodeId, GenericError> {
        let within = self.start_element(start, expected)?;
        let found = within
            .descendants()
            .find(|element| element.is(namespace, local));
        found
            .map(|element| element.id())
            .ok_or(GenericError::NoStartNode { expected })
    }

    /// The start node of the options; the root element where they name none.
    pub(super) fn start_element(
        &self,
        start: &StartNode,
        expected: &'static str,
    ) -> Result<Element<'d>, GenericError> {
        let document = self.document();
        match start {
            StartNode::First => Ok(document.root()),
            StartNode::Id(id) => Ok(document.element(self.source.by_id(id)?)),
            StartNode::Name { namespace, local } => document
                .root()
                .descendants()
                .find(|element| element.is(namespace.as_deref().unwrap_or(""), local))
                .ok_or(GenericError::NoStartNode { expected }),
            StartNode::XPath(text) => {
                let tree = self.tree()?;
                let selected = select(tree, text, &|prefix| document.root().namespace_of(prefix))?;
                document
                    .root()
                    .descendants()
                    .find(|element| {
                        tree.element(element.id())
                            .is_some_and(|node| selected.contains(node))
                    })
                    .ok_or(GenericError::NoStartNode { expected })
            }
        }
    }
}

/// The document type declaration in `octets`, where it is UTF-8 text and all declarations are in
/// it.
fn doctype(octets: &[u8]) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(octets) else {
        return Vec::new();
    };
    let mut at = 0;
    // Before the root element there are only comments, instructions and the declaration itself.
    while let Some(open) = text[at..].find('<').map(|open| at + open) {
        let rest = &text[open..];
        let skipped = if rest.starts_with("<?") {
            rest.find("?>").map(|end| end + 2)
        } else if rest.starts_with("<!--") {
            rest.find("-->").map(|end| end + 3)
        } else if rest.starts_with("<!DOCTYPE") {
            return rest.as_bytes()[..doctype_length(rest)].to_vec();
        } else {
            None
        };
        match skipped {
            Some(skipped) => at = open + skipped,
            None => break,
        }
    }
    Vec::new()
}

/// Bytes up to and including the `>` that closes the declaration: quotes, comments and the
/// internal subset are skipped.
fn doctype_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut quote) = (0, 0u32, None);
    while at < bytes.len() {
        match (quote, bytes[at]) {
            (Some(open), byte) => {
                if open == byte {
                    quote = None;
                }
            }
            (None, b'<') if text[at..].starts_with("<!--") => {
                at += text[at..].find("-->").unwrap_or(0) + 2;
            }
            (None, byte @ (b'"' | b'\'')) => quote = Some(byte),
            (None, b'<' | b'[') => depth += 1,
            (None, b']') => depth = depth.saturating_sub(1),
            (None, b'>') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            (None, _) => {}
        }
        at += 1;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_type_declaration_is_found_and_kept() {
        let declaration = "<!DOCTYPE a [<!-- ]> --><!ENTITY b \"]>\"><!ATTLIST a id ID #IMPLIED>]>";
        let text = format!("<?xml version=\"1.0\"?><!-- <!DOCTYPE x> -->\n{declaration}\n<a/>");
        assert_eq!(doctype(text.as_bytes()), declaration.as_bytes());
        assert!(doctype(b"<a><!DOCTYPE b></a>").is_empty());
    }

    #[test]
    fn an_id_that_another_element_seems_to_have_is_refused() {
        let options = Options::new(jiff::Timestamp::UNIX_EPOCH);
        let text = "<a xml:id='x'><b ID='x'/></a>";
        let source = Source::load(text.as_bytes(), &options, &mut |_| None).unwrap();
        let duplicate = SignatureError::DuplicateId { id: "x".to_owned() };
        assert_eq!(source.by_id("x"), Err(GenericError::Signature(duplicate)));
    }

    #[test]
    fn ids_are_those_of_the_dtd_and_of_the_options_on_their_elements_only() {
        let mut options = Options::new(jiff::Timestamp::UNIX_EPOCH);
        let element = Some(("urn:b".to_owned(), "b".to_owned()));
        options.id_attributes.push(IdAttribute {
            attribute: "name".to_owned(),
            element,
        });
        let text = "<!DOCTYPE a [<!ATTLIST a key ID #IMPLIED>]><a key='1' name='2'><b xmlns='urn:b' name='2' key='1'/></a>";
        let source = Source::load(text.as_bytes(), &options, &mut |_| None).unwrap();
        let root = source.document.root();
        assert_eq!(source.by_id("1"), Ok(root.id()));
        assert_eq!(source.by_id("2"), Ok(root.first_child().unwrap().id()));
        let missing = SignatureError::NotFound { id: "3".to_owned() };
        assert_eq!(source.by_id("3"), Err(GenericError::Signature(missing)));
    }
}
