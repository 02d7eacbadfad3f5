//! From the `ds:KeyInfo` of a signature or of cipher text to a symmetric key: through derived key
//! tokens, to a shared key, a session key, a security context or a password.
//!
//! The one rule: the plan says where the key comes from; the message says only which one of those
//! it is. A key from elsewhere is not found, however well it would fit.

use soapstone_crypto::SymmetricKey;
use soapstone_xml::NodeId;

use super::keyring::{Derived, Keyring};
use super::message::Message;
use crate::conversation::{ContextName, DerivedKeyForm};
use crate::event::Event;
use crate::evidence::Signer;
use crate::key_locator::KeyLocator;
use crate::names::WSSE;
use crate::operation::Observer;
use crate::plan::{KeyDemand, KeySource};
use crate::rejected::Rejected;
use crate::token::{self, Derivation, PasswordKeyUse};

/// What a key is wanted for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Verifying,
    /// To verify the endorsing signature of a symmetric key.
    Endorsing,
    Deciphering,
}

/// Why a key is looked for.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) purpose: Purpose,
    /// The item of the header that is processed with it.
    pub(super) item: NodeId,
}

/// A symmetric key from where the plan has it.
pub(super) struct Resolved {
    pub(super) key: SymmetricKey,
    /// Who holds it.
    pub(super) holder: Signer,
    /// The token of this message that it comes from.
    pub(super) token: Option<NodeId>,
}

impl Keyring {
    /// The symmetric key that a `ds:KeyInfo` names.
    pub(super) fn symmetric_key(
        &mut self,
        message: &Message<'_>,
        key_info: Option<NodeId>,
        wanted: Wanted,
        observer: &mut Observer<'_>,
    ) -> Result<Resolved, Rejected> {
        let Wanted { purpose, item } = wanted;
        if message.key_source(purpose) == Some(KeySource::PrivateKey) {
            // Whoever has our certificate makes session keys, and derives what he likes from them.
            return Err(Rejected::KeyMisused {
                problem: "expected a signature with a certificate's private key, found one with a symmetric key".to_owned(),
            });
        }
        let derived = message
            .key_demand(purpose)
            .and_then(|demand| demand.derived_keys);
        let derived_wanted = derived.is_some();
        let Some(info) = key_info.map(|info| message.element(info)) else {
            if derived_wanted {
                return Err(Rejected::KeyNotDerived);
            }
            return self.root(message, None, wanted, item, observer);
        };
        let locator = KeyLocator::read(info)?;
        let implied = info
            .child(WSSE, "SecurityTokenReference")
            .map(token::implied)
            .transpose()?
            .flatten();
        let token = match &locator {
            KeyLocator::Token(id) => Some(message.token_by_id(id)?),
            _ => None,
        };
        let explicit = token.filter(|token| token::is_derived_key(message.element(*token)));
        if derived_wanted != (implied.is_some() || explicit.is_some()) {
            return Err(if derived_wanted {
                Rejected::KeyNotDerived
            } else {
                Rejected::TokenUnsupported {
                    found: "a derived key, and the plan derives none".to_owned(),
                }
            });
        }
        if let Some(derived) = derived.filter(|derived| derived.exclusive) {
            let (is_other, found) = match derived.form {
                DerivedKeyForm::Explicit => (
                    implied.is_some(),
                    "a derived key that the reference describes, and the plan wants a token of its own",
                ),
                DerivedKeyForm::Implied => (
                    explicit.is_some(),
                    "a derived key with a token of its own, and the plan wants it described by the reference",
                ),
            };
            if is_other {
                return Err(Rejected::TokenUnsupported {
                    found: found.to_owned(),
                });
            }
        }
        if let Some(implied) = implied {
            let root = self.root(message, Some(&locator), wanted, item, observer)?;
            return self.derive(message, root, implied);
        }
        let Some(token) = explicit else {
            return self.root(message, Some(&locator), wanted, item, observer);
        };
        let element = message.element(token);
        let derivation = token::explicit(element)?;
        let from = KeyLocator::read_reference(token::derived_from(element)?)?;
        self.note_use(token, item);
        let root = self.root(message, Some(&from), wanted, token, observer)?;
        self.derive(message, root, derivation)
    }

    /// The key that is derived from the root; in a conversation it may be that of another message.
    fn derive(
        &mut self,
        message: &Message<'_>,
        root: Resolved,
        derivation: Derivation,
    ) -> Result<Resolved, Rejected> {
        let of_context = matches!(root.holder, Signer::Context { .. });
        let holders = message.plan.key_holders.as_ref().filter(|_| of_context);
        let kept = holders.and_then(|it| it.find(&root.key, &derivation.as_found()));
        if let Some(key) = kept {
            return Ok(Resolved { key, ..root });
        }
        let key = derivation.execute(&root.key)?;
        if holders.is_some() {
            self.derived.push(Derived {
                secret: root.key,
                derivation,
                key: key.clone(),
            });
        }
        Ok(Resolved { key, ..root })
    }

    /// The key that a locator means, if it is from where the plan has it. `user` is the element of
    /// the header that uses it.
    fn root(
        &mut self,
        message: &Message<'_>,
        locator: Option<&KeyLocator>,
        wanted: Wanted,
        user: NodeId,
        observer: &mut Observer<'_>,
    ) -> Result<Resolved, Rejected> {
        let resolved = self.resolved(message, locator, wanted, user, observer)?;
        observer.found(&message.envelope, || Event::KeyFound {
            user,
            named: locator,
            holder: &resolved.holder,
            token: resolved.token,
        });
        Ok(resolved)
    }

    fn resolved(
        &mut self,
        message: &Message<'_>,
        locator: Option<&KeyLocator>,
        wanted: Wanted,
        user: NodeId,
        observer: &mut Observer<'_>,
    ) -> Result<Resolved, Rejected> {
        let Wanted { purpose, item } = wanted;
        let not_found = || Rejected::KeyNotFound {
            reference: locator.map_or_else(
                || "nothing: no key is named".to_owned(),
                ToString::to_string,
            ),
        };
        match message.key_source(purpose) {
            Some(KeySource::Shared) => {
                let shared = message.plan.keys.shared.as_deref().ok_or_else(not_found)?;
                let named = match locator {
                    None => true,
                    Some(KeyLocator::Name(name)) => *name == shared.name,
                    Some(KeyLocator::EncryptedKeySha1(sha1)) => *sha1 == shared.sha1(),
                    Some(_) => false,
                };
                let demand = message.key_demand(purpose);
                let derived = demand.is_some_and(|demand| demand.derived_keys.is_some());
                let key = match purpose {
                    Purpose::Deciphering if !derived => &shared.encrypting,
                    _ => &shared.signing,
                };
                named
                    .then(|| Resolved {
                        key: key.clone(),
                        holder: Signer::SharedKey(shared.name.clone()),
                        token: None,
                    })
                    .ok_or_else(not_found)
            }
            Some(KeySource::Request) => {
                let Some(KeyLocator::EncryptedKeySha1(sha1)) = locator else {
                    return Err(not_found());
                };
                let request = message.facts.request.as_ref().ok_or_else(not_found)?;
                let known = request
                    .session_keys
                    .iter()
                    .find(|(known, _)| known.as_slice() == sha1.as_slice());
                known
                    .map(|(sha1, key)| Resolved {
                        key: key.clone(),
                        holder: Signer::RequestKey(*sha1),
                        token: None,
                    })
                    .ok_or_else(not_found)
            }
            Some(KeySource::Wrapped) => {
                self.unwrap_named(message, locator, item)?;
                let document = message.document();
                let session = locator.and_then(|locator| self.session_key(document, locator));
                let resolved = session
                    .map(|session| Resolved {
                        key: session.key.clone(),
                        holder: Signer::SessionKey(session.sha1),
                        token: Some(session.node),
                    })
                    .ok_or_else(|| self.no_session_key(message, locator, item))?;
                if let Some(token) = resolved.token {
                    self.use_session_key(message, token)?;
                    self.note_use(token, user);
                }
                Ok(resolved)
            }
            Some(KeySource::Token) => {
                let locator = locator.ok_or_else(not_found)?;
                let (name, token) = self.context_name(message, locator)?;
                if let Some(token) = token {
                    self.note_use(token, user);
                }
                self.context_key(message, name, token)
            }
            Some(KeySource::Kerberos) => {
                let locator = locator.ok_or_else(not_found)?;
                let (sha1, token) = message.kerberos_name(locator)?;
                if let Some(token) = token {
                    self.note_use(token, user);
                }
                self.kerberos_key(message, &sha1, token)
            }
            Some(KeySource::Assertion) => {
                self.proof_key(message, locator.ok_or_else(not_found)?, user)
            }
            Some(KeySource::Password) => {
                let token = match locator {
                    Some(KeyLocator::Token(id)) => message.token_by_id(id)?,
                    _ => return Err(not_found()),
                };
                let demand = message.key_demand(purpose);
                let derived = demand.is_some_and(|demand| demand.derived_keys.is_some());
                let usage = match purpose {
                    Purpose::Deciphering if !derived => PasswordKeyUse::Encryption,
                    _ => PasswordKeyUse::Mac,
                };
                self.note_use(token, user);
                self.password_key(message, token, usage, observer)
            }
            Some(KeySource::PrivateKey) | None => Err(not_found()),
        }
    }

    /// The context that a reference means, and its token if it is in the message. A token that
    /// several items use is read once, unless something inside of it was deciphered since.
    fn context_name(
        &mut self,
        message: &Message<'_>,
        locator: &KeyLocator,
    ) -> Result<(ContextName, Option<NodeId>), Rejected> {
        let not_found = || Rejected::KeyNotFound {
            reference: locator.to_string(),
        };
        let id = match locator {
            KeyLocator::Context(name) => return Ok((name.clone(), None)),
            KeyLocator::Token(id) => id,
            _ => return Err(not_found()),
        };
        let token = message.token_by_id(id)?;
        let is_as_it_came = message.document().source(token).is_some();
        if let Some((read, name)) = &self.named_context
            && *read == token
            && is_as_it_came
        {
            return Ok((name.clone(), Some(token)));
        }
        match token::secret(message.element(token))? {
            Some(KeyLocator::Context(name)) => {
                self.named_context = Some((token, name.clone()));
                Ok((name, Some(token)))
            }
            _ => Err(not_found()),
        }
    }

    /// The key of a context that the host knows.
    fn context_key(
        &mut self,
        message: &Message<'_>,
        name: ContextName,
        token: Option<NodeId>,
    ) -> Result<Resolved, Rejected> {
        // A response that carries no token is secured with the context of its request.
        let asked = message
            .facts
            .request
            .as_ref()
            .and_then(|request| request.context.as_ref());
        let context = message
            .facts
            .contexts
            .iter()
            .chain(asked)
            .find(|context| {
                context.identifier == name.identifier
                    && context.instance == name.instance
                    && context.version == name.version
            })
            .ok_or_else(|| Rejected::ContextUnknown { name: name.clone() })?;
        if asked.is_some_and(|asked| asked.identifier != context.identifier) {
            return Err(Rejected::ContextUnknown { name });
        }
        if context.expires <= message.now {
            return Err(Rejected::ContextExpired {
                name,
                expired: context.expires,
            });
        }
        let other = self.context.as_ref().is_some_and(|used| {
            used.identifier != name.identifier || used.instance != name.instance
        });
        if other {
            return Err(Rejected::KeyMisused {
                problem: "one message is secured with two security contexts".to_owned(),
            });
        }
        let resolved = Resolved {
            key: context.secret.clone(),
            holder: Signer::Context {
                name,
                owner: context.owner.clone(),
            },
            token,
        };
        if self.context.is_none() {
            self.context = Some(context.clone());
        }
        Ok(resolved)
    }
}

impl Keyring {
    /// The key of the Kerberos session that the host knows. An answer is secured with that of its
    /// request.
    fn kerberos_key(
        &mut self,
        message: &Message<'_>,
        sha1: &[u8],
        token: Option<NodeId>,
    ) -> Result<Resolved, Rejected> {
        let request = message.facts.request.as_ref();
        let asked = request.and_then(|request| request.kerberos.as_ref());
        let session = asked.or(message.facts.kerberos.as_ref());
        let session = session.filter(|session| session.sha1.as_slice() == sha1);
        let session = session.ok_or(Rejected::KerberosUnknown)?;
        if session.expires <= message.now {
            return Err(Rejected::KerberosExpired {
                expired: session.expires,
            });
        }
        self.kerberos.get_or_insert_with(|| session.clone());
        Ok(Resolved {
            key: session.key.clone(),
            holder: Signer::Kerberos(session.client.clone()),
            token,
        })
    }
}

impl Message<'_> {
    /// Whether a `ds:KeyInfo` leads to a security context, a Kerberos token, an assertion or a key
    /// from a password, by a derived key or without one. Where such a key endorses and nothing else
    /// is protected with one, this tells its signature from the message's; whether it is a key that
    /// may is for the key to show.
    pub(super) fn leads_to(
        &self,
        source: KeySource,
        key_info: Option<NodeId>,
    ) -> Result<bool, Rejected> {
        let Some(info) = key_info.map(|info| self.element(info)) else {
            return Ok(false);
        };
        let mut locator = KeyLocator::read(info)?;
        if let KeyLocator::Token(id) = &locator {
            let token = self.element(self.token_by_id(id)?);
            if token::is_derived_key(token) {
                locator = KeyLocator::read_reference(token::derived_from(token)?)?;
            }
        }
        Ok(match &locator {
            KeyLocator::Context(_) => source == KeySource::Token,
            KeyLocator::KerberosSha1(_) => source == KeySource::Kerberos,
            KeyLocator::Assertion { .. } => source == KeySource::Assertion,
            KeyLocator::Token(id) => {
                let token = self.element(self.token_by_id(id)?);
                match source {
                    KeySource::Token => {
                        matches!(token::secret(token)?, Some(KeyLocator::Context(_)))
                    }
                    KeySource::Kerberos => {
                        matches!(token::secret(token)?, Some(KeyLocator::KerberosSha1(_)))
                    }
                    KeySource::Assertion => token::version_of(token).is_some(),
                    _ => token::is_username_token(token),
                }
            }
            _ => false,
        })
    }

    /// The key that the plan demands.
    fn key_demand(&self, purpose: Purpose) -> Option<&KeyDemand> {
        let demands = self.demands();
        match purpose {
            Purpose::Verifying => demands.signature.as_ref().map(|signature| &signature.key),
            Purpose::Endorsing => demands.endorsements.secret.as_ref(),
            Purpose::Deciphering => demands
                .encryption
                .as_ref()
                .map(|encryption| &encryption.key),
        }
    }

    fn key_source(&self, purpose: Purpose) -> Option<KeySource> {
        self.key_demand(purpose).map(|demand| demand.source)
    }

    /// The SHA-1 of the Kerberos token that a reference means, and the token if it is in the
    /// message.
    fn kerberos_name(&self, locator: &KeyLocator) -> Result<(Vec<u8>, Option<NodeId>), Rejected> {
        let not_found = || Rejected::KeyNotFound {
            reference: locator.to_string(),
        };
        match locator {
            KeyLocator::KerberosSha1(sha1) => Ok((sha1.clone(), None)),
            KeyLocator::Token(id) => {
                let token = self.token_by_id(id)?;
                match token::secret(self.element(token))? {
                    Some(KeyLocator::KerberosSha1(sha1)) => Ok((sha1, Some(token))),
                    _ => Err(not_found()),
                }
            }
            _ => Err(not_found()),
        }
    }
}
