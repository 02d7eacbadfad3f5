//! What `soapstone xml` needs and WS-Security does not: XML-Signature and XML-Encryption in their
//! full generality.
//!
//! [`dtd`] applies document type declarations and leaves a document without one; [`nodes`] has
//! trees, node-sets and XPath for the transforms that select any set of nodes; [`generic`] signs,
//! verifies, encrypts and decrypts with them, as `xmlsec1` does. The gateway and the engine depend
//! on none of it: there, a DTD is an error and a transform is a canonicalization.
//!
//! The rule kept here: whatever comes with a document is bounded, and no code runs that a document
//! names.
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]
// Nothing here asks the system: clippy.toml lists the calls.
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_types))]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::too_many_lines))]

pub mod dtd;
pub mod generic;
pub mod nodes;
