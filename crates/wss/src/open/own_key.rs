//! The key of cipher text that has its key with it, apart from everything in the header.
//!
//! The one rule: it opens this cipher text, with a private key that is named for it. No key of the
//! header takes its place, and it takes the place of none.

use std::sync::Arc;

use jiff::Timestamp;
use soapstone_crypto::{Identity, SymmetricKey};
use soapstone_xml::Document;
use soapstone_xmlsec::enc::EncryptedKey;

use super::authenticate::{DecipheringKey, FAILURES_REMEMBERED};
use super::keyring::{WrappedKey, unwrapped};
use super::wrapped_keys::{listed_method, recipient_of};
use crate::digest;
use crate::evidence::KeyEvidence;
use crate::freshness;
use crate::rejected::Rejected;
use crate::suite::Suite;

/// A key of its own, as it was read before anything was deciphered.
pub(crate) struct OwnKey {
    key: WrappedKey,
    method: KeyEvidence,
}

impl OwnKey {
    /// Reads it, and finds the private key that it is for among `identities`. Nothing is unwrapped.
    pub(crate) fn read(
        document: &Document,
        suite: &Suite,
        wrapped: EncryptedKey,
        identities: &[Arc<Identity>],
    ) -> Result<Self, Rejected> {
        let (method, agreement) = listed_method(document, suite, &wrapped)?;
        let locator = recipient_of(document, &wrapped, agreement.as_ref())?;
        let is_meant = |own: &Identity| {
            let named = locator.as_ref();
            named.is_none_or(|locator| locator.names(own.certificate()))
        };
        let mut identities = identities.iter();
        let found = identities.find(|own| is_meant(own) && method.fits(own.key().kind()));
        let identity = found.cloned().ok_or_else(|| Rejected::KeyNotFound {
            reference: match &locator {
                Some(locator) => locator.to_string(),
                None => method.unnamed(),
            },
        })?;
        Ok(Self {
            key: WrappedKey {
                sha1: digest::sha1([wrapped.cipher_value.as_slice()]),
                wrapped,
                agreement,
                identity,
            },
            method,
        })
    }

    /// The key, of this length in bytes. Whether unwrapping succeeds shows nowhere.
    pub(crate) fn unwrapped(&self, length: usize) -> Result<SymmetricKey, Rejected> {
        unwrapped(&self.key, length)
    }

    /// Under which name its failed openings are counted. No mark of the message tells a copy of the
    /// cipher text, which may stand in any other message.
    pub(crate) fn counted(&self, most_failures: u32, now: Timestamp) -> DecipheringKey {
        let cipher_value = &self.key.wrapped.cipher_value;
        DecipheringKey {
            name: digest::mark([b"deciphering key".as_slice(), cipher_value]),
            most_failures,
            failures_until: freshness::later(now, FAILURES_REMEMBERED),
        }
    }

    /// Whether the algorithm that encrypts it is weak, and its short name.
    pub(crate) fn weakness(&self) -> (bool, &'static str) {
        self.method.weakness()
    }

    /// Who can open it.
    pub(crate) fn identity(&self) -> &Identity {
        &self.key.identity
    }
}
