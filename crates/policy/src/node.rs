//! Elements of a policy document, kept when the document itself is gone: small, shared, each with
//! its place.
//!
//! The one rule: what is copied is linear in the document. Namespaces in scope are a chain, not a
//! copy per element.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use soapstone_xml::{Buffers, Document, Element, ParseError, ParseOptions};

use crate::limits::PolicyLimits;
use crate::names::{Name, PolicyVersion, WSDL};

/// Where something stands. Lines and columns start at 1; columns count characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The document, as it was asked for; `None` for the one that was handed in.
    pub document: Option<Arc<str>>,
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(document) = &self.document {
            write!(out, "`{document}` ")?;
        }
        write!(out, "line {} column {}", self.line, self.column)
    }
}

/// An attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its name.
    pub name: Name,
    /// The prefix it is written with; empty for none.
    pub prefix: Arc<str>,
    /// Its value.
    pub value: String,
}

/// An element: an assertion, an operator, or a parameter of an assertion.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name.
    pub name: Name,
    /// The prefix it is written with; empty for none.
    pub prefix: Arc<str>,
    /// Its attributes, namespace declarations apart.
    pub attributes: Vec<Attribute>,
    /// The character data directly inside.
    pub text: String,
    /// The elements directly inside.
    pub children: Vec<Arc<Node>>,
    /// Where it stands.
    pub place: Place,
    scope: Option<Arc<Scope>>,
}

/// Namespace declarations of one start tag, and those around it.
#[derive(Debug)]
struct Scope {
    outer: Option<Arc<Scope>>,
    declared: Vec<(Arc<str>, Arc<str>)>,
}

impl Node {
    /// The value of an attribute.
    pub fn attribute(&self, namespace: &str, local: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|attribute| attribute.name.is(namespace, local))
            .map(|attribute| attribute.value.as_str())
    }

    /// The first element of this name directly inside.
    pub fn child(&self, namespace: &str, local: &str) -> Option<&Arc<Node>> {
        self.children
            .iter()
            .find(|child| child.name.is(namespace, local))
    }

    /// The namespace that a prefix (empty: the default) is bound to here.
    pub fn namespace_of(&self, prefix: &str) -> Option<&str> {
        let mut scope = self.scope.as_deref();
        while let Some(here) = scope {
            if let Some((_, uri)) = here.declared.iter().find(|(known, _)| &**known == prefix) {
                return Some(&**uri).filter(|uri| !uri.is_empty());
            }
            scope = here.outer.as_deref();
        }
        None
    }

    /// This element and all elements inside it, in document order.
    pub(crate) fn walk<'n>(self: &'n Arc<Self>, visit: &mut dyn FnMut(&'n Arc<Node>)) {
        visit(self);
        for child in &self.children {
            child.walk(visit);
        }
    }

    /// Whether both are written alike, wherever they stand.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        self.name == other.name
            && self.attributes == other.attributes
            && self.text == other.text
            && self.children.len() == other.children.len()
            && self
                .children
                .iter()
                .zip(&other.children)
                .all(|(one, other)| one.says_the_same(other))
    }

    /// Whether this is `wsp:local`, of whatever version.
    pub(crate) fn is_policy_element(&self, local: &str) -> bool {
        &*self.name.local == local && self.name.policy_version().is_some()
    }

    /// An attribute of WS-Policy, in the namespace of any version.
    pub(crate) fn policy_attribute(&self, local: &str) -> Option<&str> {
        PolicyVersion::ALL
            .into_iter()
            .find_map(|version| self.attribute(version.namespace(), local))
    }
}

/// Reads a document into nodes.
pub(crate) fn read(
    source: Vec<u8>,
    document: Option<Arc<str>>,
    limits: &PolicyLimits,
) -> Result<Arc<Node>, ParseError> {
    let options = ParseOptions {
        limits: limits.xml(),
        ..ParseOptions::default()
    };
    let parsed = Document::parse(source, &options, &mut Buffers::new())?;
    let mut reader = Reader {
        names: HashSet::new(),
        cursor: Cursor {
            bytes: parsed.bytes(),
            at: 0,
            line: 1,
            column: 1,
        },
        document,
    };
    Ok(reader.node(parsed.root(), None))
}

struct Reader<'d> {
    /// Names are few, elements many.
    names: HashSet<Arc<str>>,
    cursor: Cursor<'d>,
    document: Option<Arc<str>>,
}

impl Reader<'_> {
    fn node(&mut self, element: Element<'_>, outer: Option<&Arc<Scope>>) -> Arc<Node> {
        let (line, column) = self.cursor.advance(element.range().start as usize);
        let declared: Vec<_> = element
            .declarations()
            .map(|(prefix, uri)| (self.share(prefix), self.share(uri)))
            .collect();
        let scope = if declared.is_empty() {
            outer.cloned()
        } else {
            Some(Arc::new(Scope {
                outer: outer.cloned(),
                declared,
            }))
        };
        let attributes = element
            .attributes()
            .map(|attribute| Attribute {
                name: Name {
                    namespace: self.share(attribute.namespace()),
                    local: self.share(attribute.local()),
                },
                prefix: self.share(attribute.prefix()),
                value: attribute.value().into_owned(),
            })
            .collect();
        // Schemas say nothing about policies and are most of a WSDL.
        let children = if element.is(WSDL, "types") {
            Vec::new()
        } else {
            element
                .children()
                .map(|child| self.node(child, scope.as_ref()))
                .collect()
        };
        Arc::new(Node {
            name: Name {
                namespace: self.share(element.namespace()),
                local: self.share(element.local()),
            },
            prefix: self.share(element.prefix()),
            attributes,
            text: element.text().into_owned(),
            children,
            place: Place {
                document: self.document.clone(),
                line,
                column,
            },
            scope,
        })
    }

    fn share(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.names.get(text) {
            return known.clone();
        }
        let shared: Arc<str> = text.into();
        self.names.insert(shared.clone());
        shared
    }
}

/// Lines and columns of ascending offsets, in one pass over the document.
struct Cursor<'d> {
    bytes: &'d [u8],
    at: usize,
    line: u32,
    column: u32,
}

impl Cursor<'_> {
    fn advance(&mut self, to: usize) -> (u32, u32) {
        let passed = self.bytes.get(self.at..to).unwrap_or_default();
        for (place, &byte) in (self.at..).zip(passed) {
            match byte {
                b'\n' => self.new_line(),
                b'\r' if self.bytes.get(place + 1) != Some(&b'\n') => self.new_line(),
                // Behind the first byte of a character.
                0x80..=0xBF => {}
                _ => self.column += 1,
            }
        }
        self.at = self.at.max(to);
        (self.line, self.column)
    }

    fn new_line(&mut self) {
        self.line += 1;
        self.column = 1;
    }
}
