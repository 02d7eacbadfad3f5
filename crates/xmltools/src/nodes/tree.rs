//! The XPath data model (XPath 1.0 section 5): root, elements, attributes, namespaces, text,
//! comments and instructions.
//!
//! A tree is one array of nodes in document order: an element, its namespace nodes, its attributes,
//! its content, as section 5 orders them. A node is its index; the nodes of a subtree are a range;
//! an ancestor is a comparison. It borrows its strings from the
//! [`Document`](soapstone_xml::Document) that it was built from.
//!
//! The one rule kept here: index order *is* document order, and nothing changes after the tree is
//! built.

use std::borrow::Cow;
use std::collections::HashMap;

use super::node::TreeNode;
use super::set::NodeSet;
use soapstone_xml::{Document, DuplicateId, NodeId};

/// Most nodes of a tree: a few per element of the largest document that the default limits let in.
/// Namespace nodes make it necessary, since every element has one for each namespace in scope.
pub(super) const NODES: u32 = 1 << 23;

/// The seven kinds of nodes (XPath 1.0 section 5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "the names are those of XPath")]
pub enum NodeKind {
    Root,
    Element,
    Namespace,
    Attribute,
    Text,
    Comment,
    Instruction,
}

/// A qualified name and its namespace; of a namespace node the prefix, of an instruction the
/// target, as local name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Name<'d> {
    pub(super) prefix: &'d str,
    pub(super) local: &'d str,
    pub(super) uri: &'d str,
}

#[derive(Debug)]
struct Node<'d> {
    kind: NodeKind,
    parent: TreeNode,
    /// After the last node of the subtree.
    end: TreeNode,
    /// First node of the content, behind namespaces and attributes.
    content: TreeNode,
    /// Index into the names.
    name: u32,
    value: Cow<'d, str>,
}

/// A document, or what is left of it after grafts, as XPath sees it.
#[derive(Debug)]
pub struct Tree<'d> {
    document: &'d Document,
    nodes: Vec<Node<'d>>,
    names: Vec<Name<'d>>,
    /// Ids that the DTD declared, with their elements: a second one makes them ambiguous.
    ids: HashMap<Cow<'d, str>, (NodeId, Option<NodeId>)>,
    elements: HashMap<NodeId, TreeNode>,
}

impl<'d> Tree<'d> {
    /// The kind of `node`.
    pub fn kind(&self, node: TreeNode) -> NodeKind {
        self.nodes[node.index()].kind
    }

    /// The parent: of attributes and namespaces too, although they are not its children. `None` for
    /// the root node.
    pub fn parent(&self, node: TreeNode) -> Option<TreeNode> {
        (node != TreeNode::ROOT).then(|| self.nodes[node.index()].parent)
    }

    /// The node of an element of the document; `None` if a graft stands in its place.
    pub fn element(&self, element: NodeId) -> Option<TreeNode> {
        self.elements.get(&element).copied()
    }

    /// The element with this id (XPath 1.0 section 5.2.1): by the id attributes known to the
    /// document, and by those that the DTD declared which it was flattened by.
    ///
    /// # Errors
    ///
    /// [`DuplicateId`] if several elements have it.
    pub fn by_id(&self, id: &str) -> Result<Option<TreeNode>, DuplicateId> {
        let known = self.document.by_id(id)?;
        let (first, second) = match (known, self.ids.get(id)) {
            (Some(known), Some((declared, None))) if known != *declared => (known, Some(*declared)),
            (_, Some((declared, second))) => (*declared, *second),
            (Some(known), None) => (known, None),
            (None, None) => return Ok(None),
        };
        match second {
            Some(second) => Err(DuplicateId {
                id: id.to_owned(),
                first,
                second,
            }),
            None => Ok(self.element(first)),
        }
    }

    /// The local part of the expanded name; empty for kinds without name. Of an instruction the
    /// target, of a namespace node the prefix.
    pub fn local(&self, node: TreeNode) -> &'d str {
        self.name(node).local
    }

    /// The namespace of the expanded name; empty if there is none.
    pub fn namespace(&self, node: TreeNode) -> &'d str {
        self.name(node).uri
    }

    /// The attribute of an element.
    pub fn attribute(&self, element: TreeNode, namespace: &str, local: &str) -> Option<TreeNode> {
        self.attributes(element).find(|attribute| {
            let name = self.name(*attribute);
            name.local == local && name.uri == namespace
        })
    }

    /// The string-value (XPath 1.0 section 5).
    pub fn string_value(&self, node: TreeNode) -> Cow<'_, str> {
        match self.kind(node) {
            NodeKind::Root | NodeKind::Element => {
                let mut texts = self
                    .subtree(node)
                    .filter(|inner| self.kind(*inner) == NodeKind::Text);
                let Some(first) = texts.next() else {
                    return Cow::Borrowed("");
                };
                let mut value = Cow::Borrowed(self.value(first));
                for text in texts {
                    value.to_mut().push_str(self.value(text));
                }
                value
            }
            _ => Cow::Borrowed(self.value(node)),
        }
    }

    /// Every node of the document; without comments if not `comments`, which is what `URI=""` means
    /// (XML-Signature section 4.4.3.3).
    pub fn whole(&self, comments: bool) -> NodeSet {
        self.subtree_set(TreeNode::ROOT, comments)
    }

    /// `node` with all that is in it, its namespace nodes and attributes among it: what `URI="#id"`
    /// means (XML-Signature section 4.4.3.3), then without comments.
    pub fn subtree_set(&self, node: TreeNode, comments: bool) -> NodeSet {
        let mut set = NodeSet::empty(self.len());
        set.insert_range(node.index()..self.end(node).index());
        if !comments {
            self.subtree(node)
                .filter(|inner| self.kind(*inner) == NodeKind::Comment)
                .for_each(|inner| set.remove(inner));
        }
        set
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Always `false`: there is a root node at least.
    pub fn is_empty(&self) -> bool {
        false
    }

    pub(super) fn name(&self, node: TreeNode) -> Name<'d> {
        self.names[self.nodes[node.index()].name as usize]
    }

    /// Text of a text node, comment or instruction; value of an attribute; name of a namespace.
    pub(super) fn value(&self, node: TreeNode) -> &str {
        &self.nodes[node.index()].value
    }

    pub(super) fn end(&self, node: TreeNode) -> TreeNode {
        self.nodes[node.index()].end
    }

    /// First node behind the namespaces and attributes of an element.
    pub(super) fn content(&self, node: TreeNode) -> TreeNode {
        self.nodes[node.index()].content
    }

    /// The node and everything in it.
    pub(super) fn subtree(
        &self,
        node: TreeNode,
    ) -> impl DoubleEndedIterator<Item = TreeNode> + use<> {
        (node.0..self.end(node).0).map(TreeNode)
    }

    /// All nodes from `node` on.
    pub(super) fn after(&self, node: TreeNode) -> impl Iterator<Item = TreeNode> + use<> {
        (node.0..self.nodes.len() as u32).map(TreeNode)
    }

    /// All nodes before `node`.
    pub(super) fn before(
        &self,
        node: TreeNode,
    ) -> impl DoubleEndedIterator<Item = TreeNode> + use<> {
        (0..node.0).map(TreeNode)
    }

    pub(super) fn children(&self, node: TreeNode) -> impl Iterator<Item = TreeNode> + use<'_, 'd> {
        let (mut next, end) = (self.content(node), self.end(node));
        std::iter::from_fn(move || {
            let child = (next < end).then_some(next)?;
            next = self.end(child);
            Some(child)
        })
    }

    /// Namespace nodes of an element, in order of their prefixes.
    pub(super) fn namespaces(
        &self,
        element: TreeNode,
    ) -> impl Iterator<Item = TreeNode> + use<'_, 'd> {
        self.owned(element)
            .take_while(|node| self.kind(*node) == NodeKind::Namespace)
    }

    /// Attributes of an element, as they stand in the document.
    pub(super) fn attributes(
        &self,
        element: TreeNode,
    ) -> impl Iterator<Item = TreeNode> + use<'_, 'd> {
        self.owned(element)
            .skip_while(|node| self.kind(*node) == NodeKind::Namespace)
    }

    fn owned(&self, element: TreeNode) -> impl Iterator<Item = TreeNode> + use<'d> {
        (element.0 + 1..self.content(element).0).map(TreeNode)
    }

    /// The node, its parent and so on to the root.
    pub(super) fn ancestors_or_self(
        &self,
        node: TreeNode,
    ) -> impl Iterator<Item = TreeNode> + use<'_, 'd> {
        std::iter::successors(Some(node), |node| self.parent(*node))
    }
}

/// Puts a tree together in document order.
pub(super) struct Builder<'d> {
    tree: Tree<'d>,
    known: HashMap<Name<'d>, u32>,
    open: Vec<TreeNode>,
}

/// More nodes than [`NODES`].
#[derive(Debug)]
pub(super) struct Full;

impl<'d> Builder<'d> {
    pub(super) fn new(document: &'d Document) -> Self {
        let root = Node {
            kind: NodeKind::Root,
            parent: TreeNode::ROOT,
            end: TreeNode(1),
            content: TreeNode(1),
            name: 0,
            value: Cow::Borrowed(""),
        };
        let tree = Tree {
            document,
            nodes: vec![root],
            names: vec![Name::default()],
            ids: HashMap::new(),
            elements: HashMap::new(),
        };
        let known = HashMap::from([(Name::default(), 0)]);
        Builder {
            tree,
            known,
            open: vec![TreeNode::ROOT],
        }
    }

    pub(super) fn start(&mut self, name: Name<'d>, element: NodeId) -> Result<(), Full> {
        let node = self.push(NodeKind::Element, name, Cow::Borrowed(""))?;
        self.open.push(node);
        self.tree.elements.insert(element, node);
        Ok(())
    }

    /// A namespace node or an attribute of the element that was just started, in this order.
    pub(super) fn owned(
        &mut self,
        kind: NodeKind,
        name: Name<'d>,
        value: Cow<'d, str>,
    ) -> Result<(), Full> {
        let node = self.push(kind, name, value)?;
        let element = self.tree.nodes[node.index()].parent;
        self.tree.nodes[element.index()].content = TreeNode(node.0 + 1);
        Ok(())
    }

    pub(super) fn text(&mut self, text: Cow<'d, str>) -> Result<(), Full> {
        self.push(NodeKind::Text, Name::default(), text).map(drop)
    }

    pub(super) fn comment(&mut self, text: Cow<'d, str>) -> Result<(), Full> {
        self.push(NodeKind::Comment, Name::default(), text)
            .map(drop)
    }

    pub(super) fn instruction(&mut self, target: &'d str, text: Cow<'d, str>) -> Result<(), Full> {
        self.push(
            NodeKind::Instruction,
            Name {
                local: target,
                ..Name::default()
            },
            text,
        )
        .map(drop)
    }

    pub(super) fn end(&mut self) {
        if let Some(element) = self.open.pop() {
            self.tree.nodes[element.index()].end = TreeNode(self.tree.nodes.len() as u32);
        }
    }

    /// Makes `id` an id of `element`.
    pub(super) fn id(&mut self, id: Cow<'d, str>, element: NodeId) {
        self.tree
            .ids
            .entry(id)
            .and_modify(|(first, second)| {
                if *first != element {
                    second.get_or_insert(element);
                }
            })
            .or_insert((element, None));
    }

    pub(super) fn finish(self) -> Tree<'d> {
        self.tree
    }

    fn push(
        &mut self,
        kind: NodeKind,
        name: Name<'d>,
        value: Cow<'d, str>,
    ) -> Result<TreeNode, Full> {
        let index = self.tree.nodes.len();
        if index >= NODES as usize {
            return Err(Full);
        }
        let name = *self.known.entry(name).or_insert_with(|| {
            self.tree.names.push(name);
            self.tree.names.len() as u32 - 1
        });
        let node = TreeNode(index as u32);
        let parent = self.open.last().copied().unwrap_or(TreeNode::ROOT);
        let after = TreeNode(node.0 + 1);
        self.tree.nodes.push(Node {
            kind,
            parent,
            end: after,
            content: after,
            name,
            value,
        });
        Ok(node)
    }
}
