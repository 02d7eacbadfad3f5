//! Looking for breaches: one file for each area.
//!
//! The rule kept here: each file reads the message and writes findings, and knows nothing of the
//! others.

pub(crate) mod addressing;
pub(crate) mod as4;
pub(crate) mod binary_token;
pub(crate) mod digikoppeling;
pub(crate) mod ebms;
pub(crate) mod edelivery;
pub(crate) mod encryption;
pub(crate) mod envelope;
mod envelope12;
pub(crate) mod header;
pub(crate) mod kerberos;
pub(crate) mod package;
pub(crate) mod policy;
pub(crate) mod reference;
pub(crate) mod rel;
pub(crate) mod saml;
pub(crate) mod signature;
pub(crate) mod timestamp;
pub(crate) mod username;
pub(crate) mod wsdl;
pub(crate) mod x509;
