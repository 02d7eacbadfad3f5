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

pub mod dtd;
pub mod generic;
pub mod nodes;
