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
pub use sign::sign;
pub use verify::{ManifestReport, ReferenceReport, VerifyReport, verify, verify_observed};

use source::Source;

/// Gives the octets that URIs outside the document stand for.
pub trait Resolver {
    /// The octets of `uri`; `None` when there are none, or the caller does not want them used.
    fn resolve(&mut self, uri: &str) -> Option<Vec<u8>>;

    /// Whether the caller named this very URI (`--url-map`): then it may be used whatever its kind.
    fn is_mapped(&self, uri: &str) -> bool {
        let _ = uri;
        false
    }
}

/// A [`Resolver`] that has nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoResolver;

impl Resolver for NoResolver {
    fn resolve(&mut self, _: &str) -> Option<Vec<u8>> {
        None
    }
}

/// What an operation works with.
pub struct Session<'r> {
    keys: &'r Keys,
    options: &'r Options,
    resolver: &'r mut dyn Resolver,
}

impl<'r> Session<'r> {
    /// A session of these keys, options and outside world.
    pub fn new(keys: &'r Keys, options: &'r Options, resolver: &'r mut dyn Resolver) -> Self {
        Self {
            keys,
            options,
            resolver,
        }
    }

    /// Reads a document, its DTD included; external entities come from the resolver if it was told
    /// of them.
    fn load(&mut self, octets: &[u8]) -> Result<Source, GenericError> {
        let (options, resolver) = (self.options, &mut *self.resolver);
        Source::load(octets, options, &mut |uri| {
            resolver
                .is_mapped(uri)
                .then(|| resolver.resolve(uri))
                .flatten()
        })
    }

    /// Whether `uri` may be followed.
    fn allow(&self, uri: &str, enabled: EnabledUris) -> Result<(), GenericError> {
        if enabled.allow(uri) || self.resolver.is_mapped(uri) {
            Ok(())
        } else {
            Err(GenericError::UriNotEnabled {
                uri: uri.to_owned(),
            })
        }
    }

    /// The octets of a URI outside the document, which was allowed.
    fn fetch(&mut self, uri: &str) -> Result<Vec<u8>, GenericError> {
        self.resolver
            .resolve(uri)
            .ok_or_else(|| GenericError::Unresolved {
                uri: uri.to_owned(),
            })
    }
}
