//! Builds the tree of a document.
//!
//! The walk follows grafts, as every view of a document does: what was decrypted stands where its
//! `EncryptedData` stood.
//!
//! The one rule kept here: text nodes are as long as they can be (XPath 1.0 section 5.7), and the
//! namespaces of an element are all that are in scope, `xml` among them, in order of their
//! prefixes.

use std::borrow::Cow;
use std::fmt;
use std::rc::Rc;

use super::tree::{Builder, Full, NODES, Name, NodeKind, Tree};
use crate::dtd::DeclaredId;
use soapstone_xml::XML_NAMESPACE;
use soapstone_xml::{Content, Contents};
use soapstone_xml::{Document, Element};

/// A document has more nodes than a tree holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TreeTooLarge;

impl fmt::Display for TreeTooLarge {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "the document has more than {NODES} nodes, namespace nodes included"
        )
    }
}

impl std::error::Error for TreeTooLarge {}

impl From<Full> for TreeTooLarge {
    fn from(_: Full) -> Self {
        TreeTooLarge
    }
}

/// Prefix and namespace name of what is in scope, in order of the prefixes.
type Scope<'d> = Rc<Vec<(&'d str, &'d str)>>;

impl<'d> Tree<'d> {
    /// The tree of `document` as it now stands. `declared` are the ids that its DTD declared, if it
    /// was [flattened](crate::dtd::flatten).
    ///
    /// # Errors
    ///
    /// [`TreeTooLarge`] if there are more than 8,388,608 nodes, namespace nodes included.
    pub fn new(document: &'d Document, declared: &[DeclaredId]) -> Result<Tree<'d>, TreeTooLarge> {
        let mut builder = Builder::new(document);
        let scope: Scope<'d> = Rc::new(vec![("xml", XML_NAMESPACE)]);
        let mut open: Vec<(Contents<'d>, Scope<'d>)> = vec![(document.contents(), scope)];
        while let Some((contents, scope)) = open.last_mut() {
            match contents.next() {
                Some(Content::Element(element)) => {
                    let scope = start(&mut builder, element, scope, declared)?;
                    open.push((element.contents(), scope));
                }
                Some(Content::Text(text)) => builder.text(text)?,
                Some(Content::Comment(text)) => builder.comment(text)?,
                Some(Content::ProcessingInstruction { target, data }) => {
                    builder.instruction(target, data)?
                }
                None => {
                    builder.end();
                    open.pop();
                }
            }
        }
        Ok(builder.finish())
    }
}

/// Adds an element with its namespaces and attributes; returns what is in scope inside it.
fn start<'d>(
    builder: &mut Builder<'d>,
    element: Element<'d>,
    outer: &Scope<'d>,
    declared: &[DeclaredId],
) -> Result<Scope<'d>, Full> {
    let name = Name {
        prefix: element.prefix(),
        local: element.local(),
        uri: element.namespace(),
    };
    builder.start(name, element.id())?;
    let mut scope = outer.clone();
    for (prefix, uri) in element.declarations() {
        let bindings = Rc::make_mut(&mut scope);
        match bindings.binary_search_by_key(&prefix, |binding| binding.0) {
            Ok(at) if uri.is_empty() => drop(bindings.remove(at)),
            Ok(at) => bindings[at].1 = uri,
            Err(_) if uri.is_empty() => {}
            Err(at) => bindings.insert(at, (prefix, uri)),
        }
    }
    for (prefix, uri) in scope.iter() {
        builder.owned(
            NodeKind::Namespace,
            Name {
                local: prefix,
                ..Name::default()
            },
            Cow::Borrowed(uri),
        )?;
    }
    for attribute in element.attributes() {
        let name = Name {
            prefix: attribute.prefix(),
            local: attribute.local(),
            uri: attribute.namespace(),
        };
        builder.owned(NodeKind::Attribute, name, attribute.value())?;
        let is_id = |id: &DeclaredId| {
            id.element == element.qualified_name() && id.attribute == attribute.qualified_name()
        };
        if declared.iter().any(is_id) {
            builder.id(attribute.value(), element.id());
        }
    }
    Ok(scope)
}
