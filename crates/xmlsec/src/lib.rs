//! XML-Signature 1.1 and XML-Encryption 1.1, nothing of SOAP.
//!
//! The strict, fast way that WS-Security is built on ([`dsig`], [`enc`], [`keyinfo`],
//! [`write`](mod@write)): same-document references and canonicalization only, streamed from the
//! message's source. The crate `xmltools` has the general way on top of it, which stands in for
//! `xmlsec1`; [`structure`] and what says so in its documentation are seams for that crate.
//!
//! The rules: no input or output, no clock, no key trusted because it is in the message, everything
//! bounded.
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]
// Nothing here asks the system: clippy.toml lists the calls.
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_types))]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::too_many_lines))]

pub mod dsig;
pub mod enc;
pub mod keyinfo;
pub mod namespaces;
pub mod structure;
pub mod write;

pub use structure::StructureError;
