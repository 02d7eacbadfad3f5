//! A signature whose value verified, with its key and what its references prove.

use soapstone_crypto::{PublicKey, SymmetricKey};
use soapstone_xml::NodeId;
use soapstone_xmlsec::dsig::{Signature, Target};

use crate::attachments::Coverage;
use crate::evidence::Signer;

/// The key of a signature, found and believed.
pub(super) enum Key {
    Public(PublicKey),
    Secret(SymmetricKey),
}

/// A key, whose it is, and the token of this message that it comes from.
pub(super) struct Found {
    pub(super) key: Key,
    pub(super) signer: Signer,
    /// SHA-256 of the certificate of the trust rules that vouches for the signer's.
    pub(super) root: Option<[u8; 32]>,
    pub(super) token: Option<NodeId>,
    /// Whether the token was found by a name that it has, and by no reference to it.
    pub(super) by_name: bool,
    /// The `ds:KeyInfo` that holds the certificate itself.
    pub(super) info: Option<NodeId>,
}

/// What a reference proves, whose digest verified.
pub(super) enum Proven {
    /// A node, and what was referred to.
    Node(NodeId, Target<'static>),
    /// A certificate that the `SecurityTokenReference` of this node only names: no node at all.
    Certificate(NodeId),
    /// The attachment in this place, or its content.
    Attachment(usize, Coverage),
}

impl Proven {
    /// The node that is proven.
    pub(super) fn node(&self) -> Option<NodeId> {
        match self {
            Self::Node(node, _) => Some(*node),
            Self::Certificate(_) | Self::Attachment(..) => None,
        }
    }

    /// The `SecurityTokenReference` whose token is proven in its place.
    pub(super) fn dereferenced(&self) -> Option<NodeId> {
        match self {
            Self::Node(token, Target::Element { node, .. }) => (token != node).then_some(*node),
            Self::Node(..) | Self::Attachment(..) => None,
            Self::Certificate(reference) => Some(*reference),
        }
    }

    /// The attachment that is proven.
    pub(super) fn attachment(&self) -> Option<(usize, Coverage)> {
        match self {
            Self::Attachment(at, coverage) => Some((*at, *coverage)),
            _ => None,
        }
    }
}

/// A signature whose value verified, and whose turn has not come.
pub(super) struct Authentic {
    pub(super) node: NodeId,
    pub(super) signature: Signature,
    pub(super) found: Found,
    /// Whether it is the signature with which a symmetric key endorses.
    pub(super) by_secret: bool,
    /// What each reference proves, where it was digested before anything was deciphered.
    pub(super) proven: Vec<Option<Proven>>,
}
