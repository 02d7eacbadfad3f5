//! What can be wrong with a policy or its keys.

use std::fmt;

use soapstone_crypto::KeyKind;
use soapstone_xml::Canonicalization;

use super::keys::KeyField;
use crate::binding::KeyReference;
use crate::header_order::OrderedItem;
use crate::part::Part;

/// One thing wrong with a policy or its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanProblem {
    /// A key that the policy needs is not there.
    KeyMissing {
        /// Where it is looked for.
        field: KeyField,
        /// What is missing.
        what: &'static str,
        /// What it is needed for.
        purpose: &'static str,
    },
    /// A shared key cannot encrypt with the suite.
    KeyLength {
        /// Bytes that the suite's data encryption wants.
        expected: usize,
        /// Bytes that it has.
        found: usize,
    },
    /// The suite lists no algorithm for a purpose.
    NoAlgorithm {
        /// The purpose.
        purpose: &'static str,
    },
    /// No signature algorithm of the suite fits our key.
    KeyDoesNotFit {
        /// Kind of our key.
        key: String,
        /// The suite's name.
        suite: String,
    },
    /// The suite has no way to encrypt a session key to a certificate.
    RecipientDoesNotFit {
        /// Whose certificate it is.
        field: KeyField,
        /// Kind of its key.
        key: KeyKind,
        /// The suite's name.
        suite: String,
    },
    /// No proof key of an assertion can be encrypted to our certificate.
    ProofKeyDoesNotFit {
        /// Kind of our key.
        key: KeyKind,
        /// The suite's name.
        suite: String,
    },
    /// A part that cannot be treated this way.
    Part {
        /// The part.
        part: Part,
        /// Why not.
        problem: &'static str,
    },
    /// Attachments cannot be treated as is wanted.
    Attachments {
        /// Why not.
        problem: &'static str,
    },
    /// A way to name keys that does not go with the kind of key.
    Reference {
        /// The way.
        reference: KeyReference,
        /// Why not.
        problem: &'static str,
    },
    /// A way to name keys that is for keys of another kind.
    ReferenceDoesNotFit {
        /// The way.
        reference: KeyReference,
        /// Kind of the key.
        key: KeyKind,
    },
    /// Demands that do not go together.
    Combination {
        /// Why not.
        problem: &'static str,
    },
    /// An item of the Security header stands behind an item that it must stand before.
    HeaderOrder {
        /// The item that must stand first.
        first: OrderedItem,
        /// The item that stands first.
        second: OrderedItem,
        /// Why it must not.
        reason: &'static str,
    },
    /// Messages cannot have the order of the Security header, or any.
    HeaderOrderUnfit {
        /// Why not.
        problem: &'static str,
    },
    /// The order of the Security header names an item twice.
    ItemRepeated {
        /// The item.
        item: OrderedItem,
    },
    /// Fewer keys endorse than the policy wants endorsing signatures.
    Endorsers {
        /// Signatures.
        wanted: usize,
        /// Keys that differ.
        found: usize,
    },
    /// A canonicalization that messages we make cannot use.
    Canonicalization {
        /// The method.
        method: Canonicalization,
    },
}

impl fmt::Display for PlanProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeyMissing { what, purpose, .. } => {
                write!(out, "{what} is needed to {purpose}")
            }
            Self::KeyLength { expected, found } => write!(
                out,
                "the suite's data encryption wants a shared key of {expected} bytes, found one of {found}"
            ),
            Self::NoAlgorithm { purpose } => write!(out, "no {purpose} algorithm is named"),
            Self::KeyDoesNotFit { key, suite } => {
                write!(
                    out,
                    "suite `{suite}` names no signature algorithm for a key of kind {key}"
                )
            }
            Self::RecipientDoesNotFit { field, key, suite } => {
                let whose = match field {
                    KeyField::Peer => "the peer's certificate",
                    _ => "our certificate",
                };
                write!(
                    out,
                    "suite `{suite}` names no key transport and no key agreement for {whose}, whose key is {key}"
                )
            }
            Self::ProofKeyDoesNotFit { key, suite } => write!(
                out,
                "proof keys of assertions come by RSA-OAEP: they need a suite that names it, and an RSA key of ours; found suite `{suite}` and a key of kind {key}"
            ),
            Self::Part { part, problem } => write!(out, "`{part}` {problem}"),
            Self::Attachments { problem } => write!(out, "attachments: {problem}"),
            Self::Reference { reference, problem } => {
                write!(out, "key reference `{}` {problem}", reference.name())
            }
            Self::ReferenceDoesNotFit { key, .. } => write!(
                out,
                "the policy wants an RSA key that is written out (`sp:RsaKeyValue`), found a key of kind {key}"
            ),
            Self::Combination { problem } | Self::HeaderOrderUnfit { problem } => {
                out.write_str(problem)
            }
            Self::HeaderOrder {
                first,
                second,
                reason,
            } => {
                let (first, second) = (first.name(), second.name());
                write!(
                    out,
                    "`header_order` must have `{first}` before `{second}`, found `{second}` before `{first}`: {reason}"
                )
            }
            Self::ItemRepeated { item } => write!(
                out,
                "`header_order` must name an item once, found `{}` twice",
                item.name()
            ),
            Self::Endorsers { wanted, found } => write!(
                out,
                "{wanted} endorsing signatures are wanted, each with a key of its own, and the keys that endorse are {found}"
            ),
            Self::Canonicalization { method } => write!(
                out,
                "messages are written in exclusive canonical form; `{}` can only be accepted, not used",
                method.uri()
            ),
        }
    }
}

impl std::error::Error for PlanProblem {}
