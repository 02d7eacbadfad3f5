//! Canonical form of a set of nodes: inclusive 1.0, 1.1 and exclusive, on any document subset.
//!
//! The fast path canonicalizes subtrees; here every node may be in or out for itself. An element
//! that is out still lets its namespaces, attributes and content through, as far as these are in
//! (Canonical XML section 2.3).
//!
//! The one rule kept here: an *output ancestor* is an ancestor element that is in the set, and
//! every comparison of namespaces is with the nearest one that the specification names.

use soapstone_xml::{Canonicalization, Sink, XML_NAMESPACE, base, escape};

use super::{NodeKind, NodeSet, Tree, TreeNode};

/// Writes the canonical form of `set` to `sink`. `inclusive_prefixes` are those of the
/// `InclusiveNamespaces` element of exclusive canonicalization, `#default` for the default
/// namespace; the inclusive methods ignore them.
pub fn canonicalize_nodes(
    tree: &Tree<'_>,
    set: &NodeSet,
    method: Canonicalization,
    inclusive_prefixes: &[&str],
    sink: &mut impl Sink,
) {
    let mut writer = Writer {
        tree,
        set,
        method,
        inclusive_prefixes,
        output: Vec::new(),
        open: Vec::new(),
        used: Vec::new(),
        rooted: false,
    };
    let mut next = tree.content(TreeNode::ROOT);
    while next.index() < tree.len() {
        writer.close_before(next);
        next = writer.node(next);
        if writer.output.len() >= CHUNK {
            sink.write(&writer.output);
            writer.output.clear();
        }
    }
    writer.close_before(next);
    sink.write(&writer.output);
}

/// The sink is fed in pieces of about this many bytes.
const CHUNK: usize = 16 << 10;

/// An element that has begun.
struct Open {
    node: TreeNode,
    /// It is in the set: its tags are written.
    included: bool,
    /// How many [`Used`] prefixes were there before it.
    used: usize,
}

/// Exclusive: a prefix that an output ancestor visibly utilizes, and its namespace as far as that
/// is in the set.
struct Used<'t> {
    prefix: &'t str,
    namespace: Option<&'t str>,
}

struct Writer<'t, 'd> {
    tree: &'t Tree<'d>,
    set: &'t NodeSet,
    method: Canonicalization,
    inclusive_prefixes: &'t [&'t str],
    output: Vec<u8>,
    open: Vec<Open>,
    used: Vec<Used<'t>>,
    /// The document element has begun.
    rooted: bool,
}

impl<'t> Writer<'t, '_> {
    /// Writes a node and returns the next one to write.
    fn node(&mut self, node: TreeNode) -> TreeNode {
        match self.tree.kind(node) {
            NodeKind::Element => {
                self.element(node);
                return self.tree.content(node);
            }
            NodeKind::Text if self.set.contains(node) => {
                escape::text(self.tree.value(node), &mut self.output)
            }
            NodeKind::Instruction if self.set.contains(node) => {
                let (target, data) = (self.tree.local(node), self.tree.value(node));
                let space = if data.is_empty() { "" } else { " " };
                self.markup(&["<?", target, space, data, "?>"]);
            }
            NodeKind::Comment if self.set.contains(node) && self.method.with_comments() => {
                self.markup(&["<!--", self.tree.value(node), "-->"]);
            }
            _ => {}
        }
        self.tree.end(node)
    }

    /// A comment or instruction; outside the document element a line of its own (Canonical XML
    /// section 2.3).
    fn markup(&mut self, pieces: &[&str]) {
        let outside = self.open.is_empty();
        if outside && self.rooted {
            self.output.push(b'\n');
        }
        for piece in pieces {
            self.output.extend_from_slice(piece.as_bytes());
        }
        if outside && !self.rooted {
            self.output.push(b'\n');
        }
    }

    /// Ends the elements that end before `node`.
    fn close_before(&mut self, node: TreeNode) {
        while let Some(open) = self.open.pop_if(|open| self.tree.end(open.node) <= node) {
            self.used.truncate(open.used);
            if open.included {
                self.output.extend_from_slice(b"</");
                self.qualified_name(open.node);
                self.output.push(b'>');
            }
        }
    }

    fn element(&mut self, element: TreeNode) {
        let included = self.set.contains(element);
        let outer_used = self.used.len();
        self.rooted = true;
        if included {
            self.output.push(b'<');
            self.qualified_name(element);
        }
        let exclusive = matches!(
            self.method,
            Canonicalization::Exclusive | Canonicalization::ExclusiveWithComments
        );
        if exclusive {
            self.exclusive_namespaces(element, included)
        } else {
            self.inclusive_namespaces(element, included)
        }
        self.attributes(element, included && !exclusive);
        if included {
            self.output.push(b'>');
        }
        self.open.push(Open {
            node: element,
            included,
            used: outer_used,
        });
    }

    fn qualified_name(&mut self, node: TreeNode) {
        let name = self.tree.name(node);
        if !name.prefix.is_empty() {
            self.output.extend_from_slice(name.prefix.as_bytes());
            self.output.push(b':');
        }
        self.output.extend_from_slice(name.local.as_bytes());
    }

    /// The namespace of a prefix on `element`, if that namespace node is in the set.
    fn namespace_in_set(&self, element: TreeNode, prefix: &str) -> Option<&'t str> {
        let mut nodes = self.tree.namespaces(element);
        nodes
            .find(|node| self.tree.local(*node) == prefix && self.set.contains(*node))
            .map(|node| self.tree.value(node))
    }

    /// The namespace axis of Canonical XML section 2.3.
    fn inclusive_namespaces(&mut self, element: TreeNode, included: bool) {
        let ancestor = self.output_ancestor();
        let mut theirs = ancestor
            .into_iter()
            .flat_map(|ancestor| self.tree.namespaces(ancestor))
            .peekable();
        let mut declared = Vec::new();
        let mut default = false;
        for node in self
            .tree
            .namespaces(element)
            .filter(|node| self.set.contains(*node))
        {
            let (prefix, namespace) = (self.tree.local(node), self.tree.value(node));
            default |= prefix.is_empty();
            // Both axes are in order of their prefixes.
            while theirs
                .next_if(|other| self.tree.local(*other) < prefix)
                .is_some()
            {}
            let same = theirs.peek().is_some_and(|other| {
                self.tree.local(*other) == prefix
                    && self.tree.value(*other) == namespace
                    && self.set.contains(*other)
            });
            if !same {
                declared.push((prefix, namespace));
            }
        }
        if included
            && !default
            && ancestor.is_some_and(|ancestor| self.namespace_in_set(ancestor, "").is_some())
        {
            self.declare("", "");
        }
        for (prefix, namespace) in declared {
            self.declare(prefix, namespace);
        }
    }

    /// Section 3 of Exclusive XML Canonicalization.
    fn exclusive_namespaces(&mut self, element: TreeNode, included: bool) {
        let ancestor = self.output_ancestor();
        let mut declared: Vec<(&'t str, &'t str)> = Vec::new();
        for token in self.inclusive_prefixes {
            let prefix = if *token == "#default" { "" } else { token };
            let known = ancestor.and_then(|ancestor| self.namespace_in_set(ancestor, prefix));
            match self.namespace_in_set(element, prefix) {
                Some(namespace) if known != Some(namespace) => declared.push((prefix, namespace)),
                None if prefix.is_empty() && included && known.is_some() => declared.push(("", "")),
                _ => {}
            }
        }
        if included {
            let attributes = self
                .tree
                .attributes(element)
                .filter(|attribute| self.set.contains(*attribute));
            let prefixes = attributes
                .map(|attribute| self.tree.name(attribute).prefix)
                .filter(|prefix| !prefix.is_empty());
            let mut utilized: Vec<&'t str> =
                prefixes.chain([self.tree.name(element).prefix]).collect();
            utilized.sort_unstable();
            utilized.dedup();
            let outer = self.used.len();
            for prefix in utilized {
                let namespace = self.namespace_in_set(element, prefix);
                let listed =
                    |token: &&str| *token == prefix || (prefix.is_empty() && *token == "#default");
                if !self.inclusive_prefixes.iter().any(listed) {
                    let nearest = self.used[..outer]
                        .iter()
                        .rev()
                        .find(|used| used.prefix == prefix);
                    let known = nearest.and_then(|used| used.namespace);
                    match namespace {
                        Some(namespace) if known != Some(namespace) => {
                            declared.push((prefix, namespace))
                        }
                        None if prefix.is_empty() && known.is_some() => declared.push(("", "")),
                        _ => {}
                    }
                }
                self.used.push(Used { prefix, namespace });
            }
        }
        declared.sort_unstable();
        declared.dedup();
        for (prefix, namespace) in declared {
            self.declare(prefix, namespace);
        }
    }

    fn declare(&mut self, prefix: &str, namespace: &str) {
        // Every element has it and nobody needs to be told (Canonical XML section 2.3).
        if prefix == "xml" && namespace == XML_NAMESPACE {
            return;
        }
        self.output.extend_from_slice(if prefix.is_empty() {
            b" xmlns"
        } else {
            b" xmlns:"
        });
        self.output.extend_from_slice(prefix.as_bytes());
        self.quoted(namespace);
    }

    fn quoted(&mut self, value: &str) {
        self.output.extend_from_slice(b"=\"");
        escape::attribute(value, &mut self.output);
        self.output.push(b'"');
    }

    /// The nearest ancestor that is in the set.
    fn output_ancestor(&self) -> Option<TreeNode> {
        self.open
            .iter()
            .rev()
            .find(|open| open.included)
            .map(|open| open.node)
    }

    /// The attribute axis: what is in the set, and what an element whose parent is out takes over
    /// from its ancestors.
    fn attributes(&mut self, element: TreeNode, inherits: bool) {
        let mut attributes: Vec<(TreeNode, Option<String>)> = self
            .tree
            .attributes(element)
            .filter(|attribute| self.set.contains(*attribute))
            .map(|attribute| (attribute, None))
            .collect();
        let parent_included = self
            .open
            .last()
            .map_or(self.set.contains(TreeNode::ROOT), |parent| parent.included);
        if inherits && !parent_included {
            self.inherit(element, &mut attributes);
        }
        attributes.sort_unstable_by_key(|(attribute, _)| {
            let name = self.tree.name(*attribute);
            (name.uri, name.local)
        });
        for (attribute, value) in attributes {
            self.output.push(b' ');
            self.qualified_name(attribute);
            match value {
                Some(value) => self.quoted(&value),
                None => self.quoted(self.tree.value(attribute)),
            }
        }
    }

    /// Attributes in the `xml` namespace (Canonical XML 1.0 and 1.1 section 2.4), whether in the
    /// set or not: the nearest of each name, unless the element has its own. 1.1 takes over
    /// `lang` and `space` only, and joins `base`.
    fn inherit(&self, element: TreeNode, attributes: &mut Vec<(TreeNode, Option<String>)>) {
        let in_xml = |element: TreeNode| {
            self.tree
                .attributes(element)
                .filter(|attribute| self.tree.namespace(*attribute) == XML_NAMESPACE)
        };
        let only_simple = matches!(
            self.method,
            Canonicalization::Inclusive11 | Canonicalization::Inclusive11WithComments
        );
        let mut seen: Vec<&str> = in_xml(element)
            .map(|attribute| self.tree.local(attribute))
            .collect();
        for open in self.open.iter().rev() {
            for attribute in in_xml(open.node) {
                let local = self.tree.local(attribute);
                if !seen.contains(&local) {
                    seen.push(local);
                    if !only_simple || matches!(local, "lang" | "space") {
                        attributes.push((attribute, None));
                    }
                }
            }
        }
        if only_simple {
            self.join_base(element, attributes);
        }
    }

    /// `xml:base` fixup (Canonical XML 1.1 section 2.4): the values of the omitted ancestors up to
    /// the nearest one that is in, joined with the element's own, which counts whether in the
    /// set or not.
    fn join_base(&self, element: TreeNode, attributes: &mut Vec<(TreeNode, Option<String>)>) {
        let own = self.tree.attribute(element, XML_NAMESPACE, "base");
        let omitted = self.open.iter().rev().take_while(|open| !open.included);
        let theirs: Vec<TreeNode> = omitted
            .filter_map(|open| self.tree.attribute(open.node, XML_NAMESPACE, "base"))
            .collect();
        let Some(attribute) = own.or(theirs.first().copied()) else {
            return;
        };
        let mut values = own
            .iter()
            .chain(&theirs)
            .map(|attribute| self.tree.value(*attribute));
        let mut joined = values.next().unwrap_or_default().to_owned();
        for outer in values {
            joined = base::join(outer, &joined);
        }
        attributes.retain(|(attribute, _)| Some(*attribute) != own);
        // Bases that join to nothing say nothing; one alone is an attribute like others.
        if !joined.is_empty() || theirs.is_empty() {
            attributes.push((attribute, Some(joined)));
        }
    }
}
