//! What `soapstone xml sign|verify|encrypt|decrypt` does: XML-Signature and XML-Encryption in their
//! full generality, with the options and the key search of `xmlsec1`.
//!
//! [`verify`], [`sign`], [`encrypt`] and [`decrypt`] work in a [`Session`]: the caller's [`Keys`],
//! its [`Options`], and a [`Resolver`] for everything that lies outside the document. Nothing here
//! reads a file, opens a connection or asks for the time.
//!
//! ```
//! use soapstone_xmltools::generic::{Keys, NoResolver, Options, SecretKind, Session, sign, verify};
//!
//! let template = br#"<doc>text<Signature xmlns="http://www.w3.org/2000/09/xmldsig#"><SignedInfo>
//!   <CanonicalizationMethod Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/>
//!   <SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#hmac-sha256"/>
//!   <Reference URI=""><Transforms>
//!   <Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"/></Transforms>
//!   <DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><DigestValue/></Reference>
//!   </SignedInfo><SignatureValue/></Signature></doc>"#;
//! let mut keys = Keys::new();
//! keys.add_secret(None, SecretKind::Hmac, b"a shared secret".to_vec())?;
//! let options = Options::new(jiff::Timestamp::UNIX_EPOCH);
//! let signed = sign(template, &mut Session::new(&keys, &options, &mut NoResolver))?;
//! let report = verify(&signed, &mut Session::new(&keys, &options, &mut NoResolver))?;
//! assert_eq!((report.method, report.references.len()), ("hmac-sha256", 1));
//! # Ok::<(), soapstone_xmltools::generic::GenericError>(())
//! ```
//!
//! The one rule: generality ends where trust begins. XSLT is never executed, DTDs are applied
//! within bounds, and which keys count is the caller's decision.

mod decrypt;
mod edit;
mod encrypt;
mod error;
mod key;
mod key_info;
mod keys;
mod options;
mod pointer;
mod relationship;
mod selection;
mod session;
mod sign;
mod signature_value;
mod source;
mod template;
mod transforms;
mod trust;
mod verify;

pub use decrypt::{Decrypted, decrypt};
pub use encrypt::{PlainData, SessionKey, encrypt};
pub use error::GenericError;
pub use key::{Key, Material, SecretKind};
pub use keys::Keys;
pub use options::{EnabledKeyData, EnabledUris, IdAttribute, Options, StartNode};
pub use session::{NoResolver, Resolver, Session};
pub use sign::sign;
pub use verify::{ManifestReport, ReferenceReport, VerifyReport, verify, verify_observed};
