//! The keys that plans are compiled with: ours, and those of whoever is at the other end.

use std::sync::Arc;

use soapstone_crypto::{Certificate, Identity, SymmetricKey, TrustStore};

use crate::digest;
use crate::token::{AssertionIssuer, AssertionToken};
use crate::username::User;

/// A symmetric key that both sides hold, with the name they give it.
#[derive(Debug)]
pub struct SharedKey {
    /// `ds:KeyName`.
    pub name: String,
    /// Signs (HMAC).
    pub signing: SymmetricKey,
    /// Encrypts; as long as the suite's data encryption wants.
    pub encrypting: SymmetricKey,
}

impl SharedKey {
    /// What stands for the key in `EncryptedKeySHA1` references: it was never wrapped, so the SHA-1
    /// of the key itself, as WSS4J has it.
    pub(crate) fn sha1(&self) -> [u8; 20] {
        digest::sha1([self.signing.expose()])
    }
}

/// The keys that a plan may use.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    /// Our private key and certificate: signs outbound, and decrypts inbound unless there is
    /// another one for that.
    pub identity: Option<Arc<Identity>>,
    /// The private keys and certificates that decrypt inbound, where [`identity`](Self::identity)
    /// does not: an Ed25519 key signs and agrees on nothing, an X25519 key the other way
    /// round. Several, while partners change from one to the other. Empty, the identity
    /// decrypts; otherwise it does not.
    pub decryption: Vec<Arc<Identity>>,
    /// The peer's certificate: encrypted to outbound, known inbound when a message only names it.
    pub peer: Option<Certificate>,
    /// Whom to believe, inbound.
    pub trust: Option<Arc<TrustStore>>,
    /// Whose assertions to believe, inbound: apart from whose messages.
    pub issuers: Arc<[AssertionIssuer]>,
    /// The symmetric key both sides hold.
    pub shared: Option<Arc<SharedKey>>,
    /// The assertion that messages carry, outbound, where none is given with a message.
    pub assertion: Option<Arc<AssertionToken>>,
    /// Who we are, outbound.
    pub user: Option<Arc<User>>,
    /// The private keys and certificates that endorse outbound, in the order of the policy's
    /// endorsing signatures: where the connection protects messages, the message's own first.
    /// Empty, the identity endorses.
    pub endorsing: Vec<Arc<Identity>>,
}

impl Keys {
    /// The private keys and certificates that decrypt.
    pub fn decrypting(&self) -> impl Iterator<Item = &Arc<Identity>> {
        let identity = self.identity.iter();
        let signs_alone = !self.decryption.is_empty();
        self.decryption
            .iter()
            .chain(identity.filter(move |_| !signs_alone))
    }

    /// Every private key and certificate of ours.
    pub(crate) fn own(&self) -> impl Iterator<Item = &Arc<Identity>> {
        let endorsing = self.endorsing.iter();
        self.identity
            .iter()
            .chain(&self.decryption)
            .chain(endorsing)
    }

    /// Whether a private key is held elsewhere, so that its operations may wait.
    pub(super) fn may_wait(&self) -> bool {
        self.own().any(|identity| identity.key().is_external())
    }

    /// The private keys and certificates that endorse.
    pub(super) fn endorsers(&self) -> Vec<&Arc<Identity>> {
        match self.endorsing.as_slice() {
            [] => self.identity.iter().collect(),
            endorsing => endorsing.iter().collect(),
        }
    }
}

/// A field of [`Keys`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyField {
    /// [`Keys::identity`].
    Identity,
    /// [`Keys::peer`].
    Peer,
    /// [`Keys::trust`].
    Trust,
    /// [`Keys::issuers`].
    Issuers,
    /// [`Keys::shared`].
    Shared,
    /// [`Keys::user`].
    User,
}
