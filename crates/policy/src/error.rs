//! Why a policy cannot be read, normalized or compared.
//!
//! What a well-formed policy demands and we cannot give is not here: that is a
//! [`PolicyProblem`](crate::PolicyProblem) of compiling.

use std::fmt;
use std::sync::Arc;

use soapstone_xml::ParseError;

use crate::names::Name;
use crate::node::Place;

/// A document that holds no policy we can work with.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyError {
    /// The document is not well-formed, or larger or deeper than its limits.
    NotXml {
        /// The document, as it was asked for; `None` for the one that was handed in.
        document: Option<Arc<str>>,
        /// What is wrong, and where.
        error: ParseError,
    },
    /// Neither a `wsp:Policy` nor a WSDL 1.1.
    NoPolicy {
        /// The root element.
        root: Name,
    },
    /// A reference to a policy that is nowhere.
    UnknownReference {
        /// The reference.
        uri: String,
        /// Where it stands.
        place: Place,
    },
    /// A port with a binding that is nowhere, so that nobody knows which policies are attached to
    /// it.
    UnknownBinding {
        /// Name of the binding.
        name: String,
        /// Where the port stands.
        place: Place,
    },
    /// A reference to an id or a name that several policies have.
    AmbiguousReference {
        /// The reference.
        uri: String,
        /// The first of these policies.
        first: Place,
        /// The second one.
        second: Place,
    },
    /// A policy that refers to itself, be it through others (WS-Policy 1.5, 4.3.5).
    ReferenceLoop {
        /// The reference that closes the loop.
        uri: String,
        /// Where it stands.
        place: Place,
    },
    /// References that lead to references, too many of them.
    ReferencesTooDeep {
        /// [`PolicyLimits::references`](crate::PolicyLimits::references).
        allowed: usize,
        /// The reference too many.
        place: Place,
    },
    /// Imports and external references, too many of them.
    TooManyDocuments {
        /// [`PolicyLimits::documents`](crate::PolicyLimits::documents).
        allowed: usize,
    },
    /// Ports with operations, too many of them.
    TooManySubjects {
        /// [`PolicyLimits::subjects`](crate::PolicyLimits::subjects).
        allowed: usize,
    },
    /// A reference with a digest that the policy must have: digests of policies are not supported
    /// (WS-Policy 1.5, 4.3.4).
    Digest {
        /// Where it stands.
        place: Place,
    },
    /// An element of WS-Policy where it has no meaning.
    Unexpected {
        /// The element.
        found: Name,
        /// Where it stands.
        place: Place,
    },
    /// A second nested policy in one assertion (WS-Policy 1.5, 4.3.2).
    SecondPolicy {
        /// The assertion.
        assertion: Name,
        /// Where the second policy stands.
        place: Place,
    },
    /// An attribute with a value that it cannot have.
    Value {
        /// The attribute.
        attribute: &'static str,
        /// What it may be.
        expected: &'static str,
        /// What it is.
        found: String,
        /// Where its element stands.
        place: Place,
    },
    /// More alternatives than anybody chooses from.
    TooManyAlternatives {
        /// [`PolicyLimits::alternatives`](crate::PolicyLimits::alternatives).
        allowed: usize,
        /// Where they became too many; `None` when two policies are combined.
        place: Option<Place>,
    },
    /// More work than a policy is worth.
    TooMuchWork {
        /// [`PolicyLimits::steps`](crate::PolicyLimits::steps).
        allowed: u64,
        /// Where it became too much; `None` when two policies are combined.
        place: Option<Place>,
    },
}

impl fmt::Display for PolicyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |out: &mut fmt::Formatter<'_>, place: &Option<Place>| match place {
            Some(place) => write!(out, " (at {place})"),
            None => Ok(()),
        };
        match self {
            Self::NotXml { document, error } => match document {
                Some(document) => write!(out, "`{document}`: {error}"),
                None => write!(out, "{error}"),
            },
            Self::NoPolicy { root } => write!(
                out,
                "expected `wsp:Policy` or a WSDL 1.1, found `{root}` with no policy in it"
            ),
            Self::UnknownReference { uri, place } => write!(
                out,
                "expected the policy that `wsp:PolicyReference` names, found none: `{uri}` (at {place})"
            ),
            Self::UnknownBinding { name, place } => write!(
                out,
                "expected the binding that `wsdl:port` names, found none: `{name}` (at {place})"
            ),
            Self::AmbiguousReference { uri, first, second } => write!(
                out,
                "expected one policy of this id or name, found one at {first} and one at {second}: `{uri}`"
            ),
            Self::ReferenceLoop { uri, place } => {
                write!(out, "the policy refers to itself (at {place}): `{uri}`")
            }
            Self::ReferencesTooDeep { allowed, place } => write!(
                out,
                "policy references lead to more than {allowed} others (limit `references`, at {place})"
            ),
            Self::TooManyDocuments { allowed } => write!(
                out,
                "imports and references lead to more than {allowed} documents (limit `documents`)"
            ),
            Self::TooManySubjects { allowed } => write!(
                out,
                "ports and their operations are more than {allowed} (limit `subjects`)"
            ),
            Self::Digest { place } => write!(
                out,
                "`wsp:PolicyReference` with a Digest is not supported (at {place})"
            ),
            Self::Unexpected { found, place } => {
                write!(
                    out,
                    "expected an assertion or a policy operator, found `{found}` (at {place})"
                )
            }
            Self::SecondPolicy { assertion, place } => write!(
                out,
                "expected at most one nested policy in `{assertion}`, found a second one (at {place})"
            ),
            Self::Value {
                attribute,
                expected,
                found,
                place,
            } => write!(
                out,
                "expected {expected} as `{attribute}`, found `{found}` (at {place})"
            ),
            Self::TooManyAlternatives { allowed, place } => {
                write!(
                    out,
                    "the policy has more than {allowed} alternatives (limit `alternatives`)"
                )?;
                at(out, place)
            }
            Self::TooMuchWork { allowed, place } => {
                write!(
                    out,
                    "normalizing the policy takes more than {allowed} steps (limit `steps`)"
                )?;
                at(out, place)
            }
        }
    }
}

impl std::error::Error for PolicyError {}
