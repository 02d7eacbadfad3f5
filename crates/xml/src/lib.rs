//! XML for SOAP messages: scanned once into a compact tape, decrypted parts grafted onto it,
//! canonical forms streamed from it.
//!
//! [`Document::parse`] reads a message; [`Element`] is a view into it; [`Document::graft`] links a
//! decrypted plaintext in; [`canonicalize`] writes canonical bytes to a [`Sink`]. The rule of this
//! crate: a document type declaration is refused at its first byte, everything is bounded by
//! [`Limits`], and no byte is copied that can be handed over where it lies.

#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]
// Nothing here asks the system: clippy.toml lists the calls.
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_types))]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::too_many_lines))]

mod attributes;
pub mod base;
mod buffers;
mod c14n;
pub mod chars;
mod content;
mod decode;
mod document;
mod element;
mod error;
pub mod escape;
mod graft;
mod ids;
mod limits;
mod names;
mod numbers;
mod options;
mod parts;
mod scan;
mod sink;
mod tape;

pub use attributes::Attribute;
pub use buffers::{BufferPool, Buffers};
pub use c14n::{
    Apex, ApexAttribute, C14nError, C14nOptions, C14nScratch, Canonicalization,
    canonical_start_tag, canonicalize, canonicalize_each,
};
pub use content::{Content, Contents};
pub use decode::decode_text;
pub use document::Document;
pub use element::Element;
pub use error::{DuplicateId, Limit, ParseError, Position, Problem};
pub use graft::{Graft, Grafted};
pub use ids::IdAttributes;
pub use limits::Limits;
pub use names::XML_NAMESPACE;
pub use options::ParseOptions;
pub use sink::{FnSink, Sink};
pub use tape::NodeId;
