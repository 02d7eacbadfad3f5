//! XML-Signature 1.1 and XML-Encryption 1.1, nothing of SOAP.
//!
//! Two ways through it:
//!
//! * the strict, fast one ([`dsig`], [`enc`], [`keyinfo`], [`write`](mod@write)): same-document references, canonicalization only, streamed from
//!   the message's source; what WS-Security is built on;
//! * the generic one ([`generic`]): what the command line needs to stand in for `xmlsec1`: templates, key stores, XPath and base64
//!   transforms, documents with a DTD.
//!
//! Rules that hold for both: no input or output, no clock, no key trusted because it is in the message, XSLT never executed,
//! everything bounded.
#![forbid(unsafe_code)]

pub mod dsig;
pub mod enc;
pub mod generic;
pub mod keyinfo;
pub mod namespaces;
mod structure;
pub mod write;

pub use structure::StructureError;
