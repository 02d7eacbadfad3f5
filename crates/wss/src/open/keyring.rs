//! The keys of a message: those that it brings wrapped, those that it names, and which element uses
//! which token.
//!
//! The one rule: a wrapped key is unwrapped once, and only where something uses it. Whether that
//! succeeds shows nowhere.

use std::sync::Arc;

use soapstone_crypto::{Identity, SymmetricKey};
use soapstone_xml::{Document, NodeId};
use soapstone_xmlsec::enc::{EncryptedKey, OpeningKey};

use super::key_agreement::Agreement;
use super::message::Message;
use crate::conversation::{ContextName, SecurityContext};
use crate::evidence::Evidence;
use crate::kerberos::KerberosSession;
use crate::key_locator::KeyLocator;
use crate::names::XENC;
use crate::rejected::{BEHIND_ITS_USER, Rejected};
use crate::token::{Derivation, HiddenAssertion, PasswordKeyUse, SamlVersion};
use crate::username::User;

/// An `EncryptedKey` of the header, as it was read before anything was deciphered.
pub(super) struct WrappedKey {
    pub(super) wrapped: EncryptedKey,
    pub(super) sha1: [u8; 20],
    pub(super) agreement: Option<Agreement>,
    /// Whose private key unwraps it.
    pub(super) identity: Arc<Identity>,
}

/// An assertion in cipher text of its own, and who can open it.
pub(super) struct Hidden {
    pub(super) assertion: HiddenAssertion,
    pub(super) key: Arc<WrappedKey>,
}

/// The key of the accepted assertion's holder.
pub(super) struct Proof {
    pub(super) assertion: NodeId,
    pub(super) version: SamlVersion,
    pub(super) id: String,
    pub(super) issuer: String,
    pub(super) subject: String,
    pub(super) wrapped: WrappedKey,
    /// The key, once something used it.
    pub(super) key: Option<SymmetricKey>,
}

/// A session key that an `EncryptedKey` of this message carried.
pub(super) struct SessionKey {
    pub(super) node: NodeId,
    pub(super) sha1: [u8; 20],
    pub(super) key: SymmetricKey,
    /// Something of the message was deciphered with it.
    pub(super) deciphers: bool,
}

/// A key that was derived for this message, and that no other has brought yet.
pub(super) struct Derived {
    pub(super) secret: SymmetricKey,
    pub(super) derivation: Derivation,
    pub(super) key: SymmetricKey,
}

/// A key that was derived from a password.
pub(super) struct FromPassword {
    pub(super) user: String,
    pub(super) token: NodeId,
    pub(super) usage: PasswordKeyUse,
    pub(super) key: SymmetricKey,
}

/// The keys of one message.
#[derive(Default)]
pub(super) struct Keyring {
    pub(super) wrapped: Vec<Arc<WrappedKey>>,
    sessions: Vec<SessionKey>,
    /// The key of the assertion's holder, where messages are secured with that.
    pub(super) proof: Option<Proof>,
    /// The assertion in cipher text of its own, until its turn comes.
    pub(super) hidden: Option<Hidden>,
    /// The assertion that came to light.
    pub(super) came_hidden: Option<NodeId>,
    /// The `EncryptedKey` whose key signs and encrypts, where the plan has one key do both.
    session_in_use: Option<NodeId>,
    /// The token of the header that was read last, with the context that it names.
    pub(super) named_context: Option<(NodeId, ContextName)>,
    /// The security context that keys come from.
    pub(super) context: Option<SecurityContext>,
    /// The Kerberos session that keys come from.
    pub(super) kerberos: Option<KerberosSession>,
    /// Keys that were derived from the context for this message.
    pub(super) derived: Vec<Derived>,
    /// Keys that were derived from passwords.
    pub(super) from_passwords: Vec<FromPassword>,
    /// The user whose password they come from.
    pub(super) user: Option<Arc<User>>,
    /// Which element of the header uses which token.
    uses: Vec<(NodeId, NodeId)>,
}

/// Length of a key in bytes where neither cipher text nor suite says one: that of AES-256.
const LONGEST_DATA_KEY: usize = 32;

/// The key that an `EncryptedKey` carries, which has this length in bytes.
pub(super) fn unwrapped(key: &WrappedKey, length: usize) -> Result<SymmetricKey, Rejected> {
    let private = key.identity.key();
    Ok(match &key.agreement {
        Some(Agreement {
            method, originator, ..
        }) => key
            .wrapped
            .open_agreed(private, method, originator.as_ref(), length)?,
        None => key
            .wrapped
            .open(OpeningKey::Private(private), Some(length))?,
    })
}

impl Keyring {
    /// Notes that an element of the header uses a token.
    pub(super) fn note_use(&mut self, token: NodeId, user: NodeId) {
        self.uses.push((token, user));
    }

    /// Tokens, each with an element of the header that uses it.
    pub(super) fn uses(&self) -> &[(NodeId, NodeId)] {
        &self.uses
    }

    /// Unwraps a key of the header, once. Whether unwrapping succeeds shows nowhere: a key of the
    /// right length takes the place of one that cannot be unwrapped.
    pub(super) fn unwrap(
        &mut self,
        message: &Message<'_>,
        key: &WrappedKey,
    ) -> Result<(), Rejected> {
        let node = key.wrapped.node;
        if self.sessions.iter().any(|known| known.node == node) {
            return Ok(());
        }
        // The cipher text says how long the key must be.
        let uris = key.wrapped.data_references.iter();
        let listed = uris.filter_map(|uri| message.encrypted_data(uri).transpose());
        let first = listed.into_iter().next().transpose()?;
        let by_suite = || message.demands().suite.data.first().copied();
        let method = first.map(|data| data.method).or_else(by_suite);
        let length = method.map_or(LONGEST_DATA_KEY, |method| method.key_length());
        self.sessions.push(SessionKey {
            node,
            sha1: key.sha1,
            key: unwrapped(key, length)?,
            deciphers: false,
        });
        Ok(())
    }

    /// Unwraps the key that a locator means, where the header has it in front of the item that is
    /// processed with it.
    pub(super) fn unwrap_named(
        &mut self,
        message: &Message<'_>,
        locator: Option<&KeyLocator>,
        item: NodeId,
    ) -> Result<(), Rejected> {
        let Some(key) = self.wrapped_named(message, locator).cloned() else {
            return Ok(());
        };
        if item < key.wrapped.node {
            return Ok(());
        }
        self.use_session_key(message, key.wrapped.node)?;
        self.unwrap(message, &key)
    }

    /// The wrapped key of the header that a locator means, wherever in the header it stands.
    fn wrapped_named(
        &self,
        message: &Message<'_>,
        locator: Option<&KeyLocator>,
    ) -> Option<&Arc<WrappedKey>> {
        let node = match locator {
            Some(KeyLocator::Token(id)) => message.named(id),
            _ => None,
        };
        self.wrapped.iter().find(|key| match locator {
            Some(KeyLocator::EncryptedKeySha1(sha1)) => key.sha1.as_slice() == sha1.as_slice(),
            _ => node == Some(key.wrapped.node),
        })
    }

    /// The refusal of an item of the header that names no session key in front of it.
    pub(super) fn no_session_key(
        &self,
        message: &Message<'_>,
        locator: Option<&KeyLocator>,
        item: NodeId,
    ) -> Rejected {
        let Some(named) = locator else {
            return Rejected::KeyNotFound {
                reference: "nothing: no key is named".to_owned(),
            };
        };
        let found = self.wrapped_named(message, locator);
        let reference = match found.is_some_and(|key| item < key.wrapped.node) {
            true => format!("{named}, {BEHIND_ITS_USER}"),
            false => named.to_string(),
        };
        Rejected::KeyNotFound { reference }
    }

    /// Where a session key both signs and encrypts, it is one (WS-SecurityPolicy 1.3, 7.4: the
    /// `ProtectionToken`). Anybody can make one to sign with, and have beside it what somebody
    /// else enciphered: a password, whose cipher text he signs, or which nobody signs. So it is
    /// where keys are derived: all of them come from one.
    pub(super) fn use_session_key(
        &mut self,
        message: &Message<'_>,
        token: NodeId,
    ) -> Result<(), Rejected> {
        let used = *self.session_in_use.get_or_insert(token);
        if used != token && message.demands().single_session_key {
            return Err(Rejected::KeyMisused {
                problem: "one message is secured with two session keys".to_owned(),
            });
        }
        Ok(())
    }

    /// The session key of this message that a locator means; `None` if it means no session key.
    pub(super) fn session_key(
        &self,
        document: &Document,
        locator: &KeyLocator,
    ) -> Option<&SessionKey> {
        match locator {
            KeyLocator::Token(id) => {
                let node = document.by_id(id).ok().flatten()?;
                let is_key = document.element(node).is(XENC, "EncryptedKey");
                self.sessions
                    .iter()
                    .find(|session| is_key && session.node == node)
            }
            KeyLocator::EncryptedKeySha1(sha1) => self
                .sessions
                .iter()
                .find(|session| session.sha1.as_slice() == sha1.as_slice()),
            _ => None,
        }
    }

    /// The session key that an `EncryptedKey` carried, once it is unwrapped.
    pub(super) fn session_key_of(&mut self, token: NodeId) -> Option<&mut SessionKey> {
        let mut sessions = self.sessions.iter_mut();
        sessions.find(|session| session.node == token)
    }

    /// Keeps the keys that this message brought. It has been accepted.
    pub(super) fn keep_derived_keys(&mut self, message: &Message<'_>) {
        let Some(holders) = &message.plan.key_holders else {
            return;
        };
        for one in self.derived.drain(..) {
            holders.keep(&one.secret, &one.derivation.as_found(), &one.key);
        }
    }

    /// The session key of the sender: the one that signed the message or, where none did, the only
    /// one that deciphered something of it. No signature covers wrapped keys, so that anybody
    /// can put one of his own beside the sender's, with or without something that he enciphered; an
    /// answer under that one would be his to read.
    pub(super) fn senders_key(&mut self, evidence: &Evidence) -> Option<SessionKey> {
        let mut keys = std::mem::take(&mut self.sessions);
        let signs = |key: &SessionKey| evidence.signing_tokens().any(|token| token == key.node);
        let is_signed = keys.iter().any(signs);
        keys.retain(|key| if is_signed { signs(key) } else { key.deciphers });
        keys.pop().filter(|_| keys.is_empty())
    }
}
