//! Transforms of the generic path (XML-DSig 6.6, RFC 9231 2.5): canonicalization, base64, XPath,
//! XPath Filter 2.0, XPointer, enveloped signature.
//!
//! Data is bytes or a set of nodes; where a transform needs the other kind, the data is parsed or
//! canonicalized (XML-DSig 4.4.3.2). Chains that the strict path knows take it.
//!
//! The one rule: XSLT is never executed, and no transform reaches out of the data that it is given.

use crate::nodes::filter::{self, Filter, Operation};
use crate::nodes::xpath::{Evaluation, Expression};
use crate::nodes::{NodeKind, NodeSet, Tree, canonicalize_nodes};
use soapstone_crypto::base64;
use soapstone_xml::{Apex, Element, NodeId};

use super::error::GenericError;
use super::session::Session;
use super::source::Reading;
use super::{pointer, relationship};
use soapstone_xmlsec::dsig::{CanonicalizationMethod, SameDocument, Scratch, Transform};
use soapstone_xmlsec::namespaces::{BASE64, DSIG, XPATH, XPATH_FILTER2, XPOINTER};
use soapstone_xmlsec::structure::StructureError;

/// What a transform works on.
enum Data<'t, 'd> {
    Octets(Vec<u8>),
    Nodes(&'t Tree<'d>, NodeSet),
}

/// A chain of transforms and the document in which it is written.
struct Chain<'c, 'd> {
    /// The document that holds the transforms, where XPath expressions find their namespaces and
    /// `here()`.
    home: &'c Reading<'d>,
    /// The signature that `enveloped-signature` leaves out.
    signature: Option<NodeId>,
}

impl Reading<'_> {
    /// The bytes that `transforms` make of what `uri` names in this document, or elsewhere as far
    /// as the session allows.
    pub(super) fn octets(
        &self,
        uri: &str,
        transforms: &[Transform],
        signature: Option<NodeId>,
        session: &mut Session<'_>,
    ) -> Result<Vec<u8>, GenericError> {
        let uri = pointer::without_escapes(uri, self.source)?;
        let uri = &*uri;
        let selection = SameDocument::parse(uri);
        if let Some(selection) = selection
            && let Some(octets) = self.fast(selection, transforms, signature)?
        {
            return Ok(octets);
        }
        let chain = Chain {
            home: self,
            signature,
        };
        let data = match selection {
            Some(SameDocument::Document { comments }) => {
                let tree = self.tree()?;
                Data::Nodes(tree, tree.whole(comments))
            }
            Some(SameDocument::Element { id, comments }) => {
                let tree = self.tree()?;
                let node =
                    tree.element(self.source.by_id(id)?)
                        .ok_or(GenericError::NoStartNode {
                            expected: "such element",
                        })?;
                Data::Nodes(tree, tree.subtree_set(node, comments))
            }
            None => match uri.strip_prefix('#') {
                Some(fragment) => {
                    let tree = self.tree()?;
                    Data::Nodes(tree, pointer::point(tree, fragment)?)
                }
                None => Data::Octets(session.fetch(uri)?),
            },
        };
        chain.run(transforms, data, session)
    }

    /// Enveloped signature and one canonicalization of an element or the document: as the strict
    /// path does it.
    fn fast(
        &self,
        selection: SameDocument<'_>,
        transforms: &[Transform],
        signature: Option<NodeId>,
    ) -> Result<Option<Vec<u8>>, GenericError> {
        let (canonicalization, before) = match transforms.split_last() {
            Some((Transform::Canonicalization(method), before)) => (method.clone(), before),
            _ => (CanonicalizationMethod::DEFAULT, transforms),
        };
        if !before
            .iter()
            .all(|transform| *transform == Transform::Enveloped)
        {
            return Ok(None);
        }
        let omit: Vec<NodeId> = if before.is_empty() {
            Vec::new()
        } else {
            signature.into_iter().collect()
        };
        let apex = match selection {
            SameDocument::Document { .. } => Apex::Document,
            SameDocument::Element { id, .. } => Apex::Element(self.source.by_id(id)?),
        };
        let mut octets = Vec::new();
        let mut scratch = Scratch::default();
        scratch.canonicalize(
            self.document(),
            apex,
            &canonicalization,
            selection.comments(),
            &omit,
            &mut octets,
        )?;
        Ok(Some(octets))
    }
}

impl Chain<'_, '_> {
    fn run(
        &self,
        transforms: &[Transform],
        data: Data<'_, '_>,
        session: &mut Session<'_>,
    ) -> Result<Vec<u8>, GenericError> {
        let Some((transform, rest)) = transforms.split_first() else {
            return Ok(match data {
                Data::Octets(octets) => octets,
                Data::Nodes(tree, set) => canonical(tree, &set, &CanonicalizationMethod::DEFAULT),
            });
        };
        if let Transform::Other { uri, .. } = transform
            && uri == BASE64
        {
            return self.run(rest, Data::Octets(decode(data)?), session);
        }
        if let Transform::Other { uri, node } = transform
            && uri == relationship::URI
        {
            let part = match data {
                Data::Octets(octets) => octets,
                Data::Nodes(tree, set) => canonical(tree, &set, &CanonicalizationMethod::DEFAULT),
            };
            let part = session.load(&part)?;
            let octets = relationship::apply(self.home.document().element(*node), &part)?;
            return self.run(rest, Data::Octets(octets), session);
        }
        // Everything else works on nodes.
        let (tree, set) = match data {
            Data::Nodes(tree, set) => (tree, set),
            Data::Octets(octets) => {
                let source = session.load(&octets)?;
                let reading = Reading::new(&source);
                let tree = reading.tree()?;
                return self.run(transforms, Data::Nodes(tree, tree.whole(true)), session);
            }
        };
        match transform {
            Transform::Canonicalization(method) => {
                self.run(rest, Data::Octets(canonical(tree, &set, method)), session)
            }
            Transform::Enveloped => {
                let mut set = set;
                let signature = self
                    .signature
                    .and_then(|signature| self.node_in(tree, signature))
                    .ok_or_else(|| {
                        // The signature must be in the data that it is left out of.
                        GenericError::TransformRefused {
                            uri: transform.uri().to_owned(),
                        }
                    })?;
                filter::enveloped_signature(tree, signature, &mut set);
                self.run(rest, Data::Nodes(tree, set), session)
            }
            Transform::Other { uri, node } => {
                let element = self.home.document().element(*node);
                let mut evaluation = Evaluation::new(tree);
                let set = match uri.as_str() {
                    XPATH => {
                        let xpath = element
                            .child(DSIG, "XPath")
                            .ok_or_else(|| structure(element, "`ds:XPath`"))?;
                        let expression = parse(xpath)?;
                        evaluation.set_here(self.node_in(tree, xpath.id()));
                        evaluation
                            .filter(&expression, &set)
                            .map_err(failed(xpath))?
                    }
                    XPATH_FILTER2 => {
                        let mut filters = Vec::new();
                        for xpath in element.children() {
                            let operation = xpath
                                .attribute("", "Filter")
                                .and_then(|name| Operation::from_name(&name));
                            let operation = operation.filter(|_| xpath.is(XPATH_FILTER2, "XPath"));
                            let operation = operation.ok_or_else(|| {
                                structure(element, "`dsig-xpath:XPath` with a `Filter`")
                            })?;
                            let here = self.node_in(tree, xpath.id());
                            filters.push(Filter {
                                operation,
                                expression: parse(xpath)?,
                                here,
                            });
                        }
                        filter::filter2(&mut evaluation, &filters, &set).map_err(failed(element))?
                    }
                    XPOINTER => {
                        let parameter = element
                            .child(XPOINTER, "XPointer")
                            .ok_or_else(|| structure(element, "`XPointer`"))?;
                        // RFC 9231 2.5.1: as a same-document XPointer, over the data so far.
                        let mut selected = pointer::point(tree, &parameter.text())?;
                        selected.intersect(&set);
                        selected
                    }
                    _ => return Err(GenericError::TransformRefused { uri: uri.clone() }),
                };
                self.run(rest, Data::Nodes(tree, set), session)
            }
        }
    }

    /// The node of an element of the home document, if `tree` is that document's.
    fn node_in(&self, tree: &Tree<'_>, element: NodeId) -> Option<crate::nodes::TreeNode> {
        let home = self.home.tree().ok()?;
        // Trees are compared by address: the home document has exactly one.
        (std::ptr::from_ref(home).addr() == std::ptr::from_ref(tree).addr())
            .then(|| home.element(element))
            .flatten()
    }
}

fn canonical(tree: &Tree<'_>, set: &NodeSet, canonicalization: &CanonicalizationMethod) -> Vec<u8> {
    let prefixes: Vec<&str> = canonicalization
        .inclusive_prefixes
        .iter()
        .map(String::as_str)
        .collect();
    let mut octets = Vec::new();
    canonicalize_nodes(tree, set, canonicalization.method, &prefixes, &mut octets);
    octets
}

/// XML-DSig 6.6.2: of nodes, the text among them is decoded.
fn decode(data: Data<'_, '_>) -> Result<Vec<u8>, GenericError> {
    let octets = match data {
        Data::Octets(octets) => octets,
        Data::Nodes(tree, set) => {
            let text = set
                .iter()
                .filter(|node| tree.kind(*node) == NodeKind::Text)
                .map(|node| tree.string_value(node));
            text.collect::<String>().into_bytes()
        }
    };
    base64::decode_xml_to_vec(&octets).map_err(|_| {
        soapstone_xmlsec::dsig::SignatureError::Malformed {
            element: "Transform",
            reason: "the data is not base64",
        }
        .into()
    })
}

/// Parses the expression in an `XPath` element, with the namespaces in scope there.
fn parse(xpath: Element<'_>) -> Result<Expression, GenericError> {
    Expression::parse(&xpath.text(), &|prefix| {
        if prefix.is_empty() {
            None
        } else {
            xpath.namespace_of(prefix)
        }
    })
    .map_err(failed(xpath))
}

fn failed<E: std::fmt::Display>(xpath: Element<'_>) -> impl FnOnce(E) -> GenericError + '_ {
    move |error| GenericError::XPath {
        expression: xpath.text().trim().to_owned(),
        reason: error.to_string(),
    }
}

fn structure(element: Element<'_>, expected: &'static str) -> GenericError {
    let found = element
        .first_child()
        .map(|child| child.qualified_name().to_owned());
    soapstone_xmlsec::dsig::SignatureError::Structure(StructureError::new(element, expected, found))
        .into()
}
