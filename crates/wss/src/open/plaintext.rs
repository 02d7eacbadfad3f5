//! What was deciphered: nodes that took the place of cipher text, and what signatures say of that
//! cipher text.

use soapstone_xml::{Document, NodeId};

/// Where a graft came from: the nodes that took the place of an `EncryptedData`.
struct Graft {
    encrypted_data: NodeId,
    /// Ascending, and behind those of the grafts before.
    nodes: Vec<NodeId>,
}

/// The plaintext of a message.
#[derive(Default)]
pub(super) struct Plaintext {
    grafts: Vec<Graft>,
    /// The `EncryptedData` elements that were deciphered, each with the graft that took its place
    /// if it held elements.
    deciphered: Vec<(NodeId, Option<usize>)>,
    /// `EncryptedData` that was deciphered, and that a signature covers as cipher text.
    signed_ciphers: Vec<NodeId>,
    /// Something was deciphered, or tried to be.
    pub(super) is_tried: bool,
}

impl Plaintext {
    /// Notes the nodes that took the place of an `EncryptedData`.
    pub(super) fn graft(&mut self, encrypted_data: NodeId, nodes: Vec<NodeId>) {
        let graft = (!nodes.is_empty()).then_some(self.grafts.len());
        self.deciphered.push((encrypted_data, graft));
        // Of what holds no element, there is nothing to ask for.
        if !nodes.is_empty() {
            self.grafts.push(Graft {
                encrypted_data,
                nodes,
            });
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.grafts.is_empty()
    }

    /// Every `EncryptedData` that was deciphered, with the elements that took its place.
    pub(super) fn deciphered(&self) -> impl Iterator<Item = (NodeId, &[NodeId])> {
        let nodes = |graft: Option<usize>| graft.map_or(&[][..], |at| &*self.grafts[at].nodes);
        let deciphered = self.deciphered.iter();
        deciphered.map(move |(data, graft)| (*data, nodes(*graft)))
    }

    /// The `EncryptedData` elements that held elements.
    pub(super) fn encrypted_data(&self) -> impl Iterator<Item = NodeId> {
        self.grafts.iter().map(|graft| graft.encrypted_data)
    }

    /// The `EncryptedData` that brought `node`. There may be many nodes to ask for, and as many
    /// that were brought.
    pub(super) fn origin(&self, node: NodeId) -> Option<NodeId> {
        let first_behind = |graft: &Graft| graft.nodes.first().is_some_and(|first| *first <= node);
        let behind = self.grafts.partition_point(first_behind);
        let graft = self.grafts[..behind].last()?;
        let is_brought = graft.nodes.binary_search(&node).is_ok();
        is_brought.then_some(graft.encrypted_data)
    }

    /// Where `node` is in the message as it came: itself, or the outermost `EncryptedData` that it
    /// was in.
    pub(super) fn place(&self, node: NodeId) -> NodeId {
        let hidden = |node: &NodeId| self.origin(*node);
        std::iter::successors(Some(node), hidden)
            .last()
            .unwrap_or(node)
    }

    /// The next element after `node`, or after what took the place of `node`.
    pub(super) fn after(&self, document: &Document, node: NodeId) -> Option<NodeId> {
        let mut grafts = self.grafts.iter();
        let own = grafts.find(|graft| graft.encrypted_data == node);
        let last = own.and_then(|graft| graft.nodes.last().copied());
        let next = document.element(last.unwrap_or(node)).next_sibling();
        next.map(|next| next.id())
    }

    /// `node`, every element around it, and every `EncryptedData` in whose cipher text it was;
    /// `node` first.
    pub(super) fn holders<'a>(
        &'a self,
        document: &'a Document,
        node: NodeId,
    ) -> impl Iterator<Item = NodeId> + 'a {
        let around =
            move |node: &NodeId| document.element(*node).parent().map(|parent| parent.id());
        std::iter::successors(Some(node), around)
            .flat_map(move |node| std::iter::once(node).chain(self.origin(node)))
    }

    /// Notes that a signature covers an `EncryptedData` as cipher text.
    pub(super) fn sign(&mut self, encrypted_data: impl IntoIterator<Item = NodeId>) {
        self.signed_ciphers.extend(encrypted_data);
    }

    /// Whether signatures cover cipher text that was deciphered.
    pub(super) fn has_signed(&self) -> bool {
        !self.signed_ciphers.is_empty()
    }

    /// Whether a signature is over cipher text that `node`, or something inside of it, was in.
    pub(super) fn is_signed_as_cipher(&self, document: &Document, node: NodeId) -> bool {
        let mut signed = self.signed_ciphers.iter();
        signed.any(|data| self.is_hidden_in(document, node, *data))
    }

    /// Whether `node`, or something inside of it, was in this cipher text, maybe in cipher text
    /// that was in it.
    fn is_hidden_in(&self, document: &Document, node: NodeId, data: NodeId) -> bool {
        let hidden = |node: &NodeId| self.origin(*node);
        document.element(node).contains(document.element(data))
            || self
                .holders(document, node)
                .any(|holder| std::iter::successors(Some(holder), hidden).any(|it| it == data))
    }
}
