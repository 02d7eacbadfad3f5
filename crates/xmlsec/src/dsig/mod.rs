//! XML-Signature: the strict, fast path.
//!
//! [`Signature::parse`] reads a `ds:Signature` once and refuses what its caller's [`Rules`] do not admit.
//! [`Reference::target`] and [`Reference::verify`] digest what was signed straight from the document's source;
//! [`Signature::verify_value`] checks the value with the key that the caller chose. The three are separate so that the caller can
//! record which node each reference covered.
//!
//! The one rule: nothing here fetches, executes a stylesheet or takes a key from the message.

mod error;
mod signature;
mod transform;
mod uri;
mod verify;

#[cfg(test)]
mod tests;

pub use error::SignatureError;
pub use signature::{Reference, Signature};
pub use transform::{CanonicalizationMethod, Rules, Transform};
pub use uri::SameDocument;
pub use verify::{DigestSink, Extension, NoExtension, Scratch, Target, VerificationKey};
