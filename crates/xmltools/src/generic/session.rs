//! What an operation works with: keys, options, and the world outside of the document.
//!
//! The one rule: what lies outside is fetched only where the options or the caller allow it.

use super::error::GenericError;
use super::keys::Keys;
use super::options::{EnabledUris, Options};
use super::source::Source;

/// Gives the bytes that URIs outside the document stand for.
pub trait Resolver {
    /// The bytes of `uri`; `None` when there are none, or the caller does not want them used.
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
    pub(super) keys: &'r Keys,
    pub(super) options: &'r Options,
    pub(super) resolver: &'r mut dyn Resolver,
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
    pub(super) fn load(&mut self, octets: &[u8]) -> Result<Source, GenericError> {
        let (options, resolver) = (self.options, &mut *self.resolver);
        Source::load(octets, options, &mut |uri| {
            resolver
                .is_mapped(uri)
                .then(|| resolver.resolve(uri))
                .flatten()
        })
    }

    /// Whether `uri` may be followed.
    pub(super) fn allow(&self, uri: &str, enabled: EnabledUris) -> Result<(), GenericError> {
        if enabled.allow(uri) || self.resolver.is_mapped(uri) {
            Ok(())
        } else {
            Err(GenericError::UriNotEnabled {
                uri: uri.to_owned(),
            })
        }
    }

    /// The bytes of a URI outside the document, which was allowed.
    pub(super) fn fetch(&mut self, uri: &str) -> Result<Vec<u8>, GenericError> {
        self.resolver
            .resolve(uri)
            .ok_or_else(|| GenericError::Unresolved {
                uri: uri.to_owned(),
            })
    }
}
