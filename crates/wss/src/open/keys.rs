//! From the `ds:KeyInfo` of a signature or of cipher text to a symmetric key: through derived key
//! tokens, to a shared key, a session key or a security context.
//!
//! The one rule: the plan says what kind of key it is; the message says only which one of that
//! kind. A key of another kind is not found, however well it would fit.

use std::sync::Arc;

use soapstone_crypto::{P_HASH_LIMIT, PHash, SymmetricKey};
use soapstone_xml::{Element, NodeId};

use super::Opening;
use super::decrypt::WrappedKey;
use crate::binding::KeyBinding;
use crate::conversation::{
    ContextName, ConversationVersion, DEFAULT_LABEL, DerivedKeyForm, LONGEST_KEY, LONGEST_NONCE,
    SHORTEST_KEY,
};
use crate::derived::FoundKey;
use crate::evidence::Signer;
use crate::key_reference::{self, KeyLocator};
use crate::names::WSSE;
use crate::plan::KeyDemand;
use crate::rejected::{AlgorithmUse, Rejected};

/// What a key is wanted for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Verifying,
    /// To verify the endorsing signature of a security context.
    Endorsing,
    Deciphering,
}

/// A symmetric key of the plan's kind.
pub(super) struct Resolved {
    pub(super) key: SymmetricKey,
    /// Who holds it.
    pub(super) holder: Signer,
    /// The token of this message that it comes from.
    pub(super) token: Option<NodeId>,
}

/// What is said about a derivation (WS-SecureConversation 1.4, 7).
struct Derivation {
    label: Option<String>,
    nonce: Vec<u8>,
    offset: usize,
    length: usize,
}

/// A key that was derived for this message, and that no other has brought yet.
pub(super) struct Derived {
    secret: SymmetricKey,
    derivation: Derivation,
    key: SymmetricKey,
}

const ELEMENT: &str = "wsc:DerivedKeyToken";

fn malformed(problem: impl Into<String>) -> Rejected {
    Rejected::Malformed {
        element: ELEMENT,
        problem: problem.into(),
    }
}

impl Opening<'_> {
    /// The symmetric key that a `ds:KeyInfo` names.
    pub(super) fn symmetric_key(
        &mut self,
        key_info: Option<NodeId>,
        purpose: Purpose,
    ) -> Result<Resolved, Rejected> {
        let document = &self.envelope.document;
        if purpose == Purpose::Verifying
            && self.kind_of_key(purpose) == Some(KeyBinding::Certificate)
        {
            // Whoever has our certificate makes session keys, and derives what he likes from them.
            return Err(Rejected::KeyMisused {
                problem: "expected a signature with a certificate's private key, found one with a symmetric key".to_owned(),
            });
        }
        let wanted = self.demand(purpose).and_then(|demand| demand.derived_keys);
        let derived_wanted = wanted.is_some();
        let Some(info) = key_info.map(|info| document.element(info)) else {
            if derived_wanted {
                return Err(Rejected::KeyNotDerived);
            }
            return self.root(None, purpose, self.current);
        };
        let locator = KeyLocator::read(info)?;
        let implied = info
            .child(WSSE, "SecurityTokenReference")
            .map(implied_derivation)
            .transpose()?
            .flatten();
        let token = match &locator {
            KeyLocator::Token(id) => Some(self.token_by_id(id)?),
            _ => None,
        };
        let explicit = token.filter(|token| is_derived_key_token(document.element(*token)));
        if derived_wanted != (implied.is_some() || explicit.is_some()) {
            return Err(if derived_wanted {
                Rejected::KeyNotDerived
            } else {
                Rejected::TokenUnsupported {
                    found: "a derived key, and the plan derives none".to_owned(),
                }
            });
        }
        if let Some(wanted) = wanted.filter(|wanted| wanted.exclusive) {
            let (is_other, found) = match wanted.form {
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
            let root = self.root(Some(&locator), purpose, self.current)?;
            return self.derive(root, implied);
        }
        let Some(token) = explicit else {
            return self.root(Some(&locator), purpose, self.current);
        };
        let element = document.element(token);
        let derivation = explicit_derivation(element)?;
        let from = KeyLocator::read_reference(derived_from(element)?)?;
        self.note_use(token);
        let root = self.root(Some(&from), purpose, Some(token))?;
        self.derive(root, derivation)
    }

    /// The key that is derived from the root; in a conversation it may be that of another message.
    fn derive(&mut self, root: Resolved, derivation: Derivation) -> Result<Resolved, Rejected> {
        let of_context = matches!(root.holder, Signer::Context { .. });
        let holders = self.plan.key_holders.as_ref().filter(|_| of_context);
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

    /// Keeps the keys that this message brought. It has been accepted.
    pub(super) fn keep_derived_keys(&mut self) {
        let Some(holders) = &self.plan.key_holders else {
            return;
        };
        for one in self.derived.drain(..) {
            holders.keep(&one.secret, &one.derivation.as_found(), &one.key);
        }
    }

    /// Whether a `ds:KeyInfo` leads to a security context, by a derived key or without one. Where a
    /// context endorses and nothing else is protected with one, this tells its signature from
    /// the message's; whether it is a context that may is for the key to show.
    pub(super) fn leads_to_context(&self, key_info: Option<NodeId>) -> Result<bool, Rejected> {
        let document = &self.envelope.document;
        let Some(info) = key_info.map(|info| document.element(info)) else {
            return Ok(false);
        };
        let mut locator = KeyLocator::read(info)?;
        if let KeyLocator::Token(id) = &locator {
            let token = document.element(self.token_by_id(id)?);
            if is_derived_key_token(token) {
                locator = KeyLocator::read_reference(derived_from(token)?)?;
            }
        }
        Ok(match &locator {
            KeyLocator::Context(_) => true,
            KeyLocator::Token(id) => {
                let token = document.element(self.token_by_id(id)?);
                key_reference::context_token(token)?.is_some()
            }
            _ => false,
        })
    }

    /// The key that the plan demands.
    fn demand(&self, purpose: Purpose) -> Option<&KeyDemand> {
        let demands = &self.plan.demands;
        match purpose {
            Purpose::Verifying => demands.signature.as_ref().map(|signature| &signature.key),
            Purpose::Endorsing => demands.endorsements.context.as_ref(),
            Purpose::Deciphering => demands
                .encryption
                .as_ref()
                .map(|encryption| &encryption.key),
        }
    }

    fn kind_of_key(&self, purpose: Purpose) -> Option<KeyBinding> {
        self.demand(purpose).map(|demand| demand.kind)
    }

    /// The key that a locator means, if it is of the plan's kind. `user` is the element of the
    /// header that uses it.
    fn root(
        &mut self,
        locator: Option<&KeyLocator>,
        purpose: Purpose,
        user: Option<NodeId>,
    ) -> Result<Resolved, Rejected> {
        let not_found = || Rejected::KeyNotFound {
            reference: locator.map_or_else(
                || "nothing: no key is named".to_owned(),
                ToString::to_string,
            ),
        };
        match self.kind_of_key(purpose) {
            Some(KeyBinding::Shared) => {
                let shared = self.plan.keys.shared.as_deref().ok_or_else(not_found)?;
                let named = match locator {
                    None => true,
                    Some(KeyLocator::Name(name)) => *name == shared.name,
                    Some(KeyLocator::EncryptedKeySha1(sha1)) => *sha1 == shared.sha1(),
                    Some(_) => false,
                };
                let demand = self.demand(purpose);
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
            Some(KeyBinding::RequestKey) => {
                let Some(KeyLocator::EncryptedKeySha1(sha1)) = locator else {
                    return Err(not_found());
                };
                let request = self.facts.request.as_ref().ok_or_else(not_found)?;
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
            Some(KeyBinding::Certificate | KeyBinding::SessionKey) => {
                self.unwrap_named(locator)?;
                let session = locator.and_then(|locator| self.session_key(locator));
                let resolved = session
                    .map(|session| Resolved {
                        key: session.key.clone(),
                        holder: Signer::SessionKey(session.sha1),
                        token: Some(session.node),
                    })
                    .ok_or_else(not_found)?;
                if let Some(token) = resolved.token {
                    self.use_session_key(token)?;
                    self.uses.extend(user.map(|user| (token, user)));
                }
                Ok(resolved)
            }
            Some(KeyBinding::Context) => {
                let locator = locator.ok_or_else(not_found)?;
                let (name, token) = self.context_name(locator)?;
                if let (Some(token), Some(user)) = (token, user) {
                    self.uses.push((token, user));
                }
                self.context_key(name, token)
            }
            None => Err(not_found()),
        }
    }

    /// Unwraps the key that a locator means, where the header has it in front of the element that
    /// uses it.
    fn unwrap_named(&mut self, locator: Option<&KeyLocator>) -> Result<(), Rejected> {
        let document = &self.envelope.document;
        let node = match locator {
            Some(KeyLocator::Token(id)) => document.by_id(id).ok().flatten(),
            _ => None,
        };
        let is_meant = |key: &&Arc<WrappedKey>| match locator {
            Some(KeyLocator::EncryptedKeySha1(sha1)) => key.sha1.as_slice() == sha1.as_slice(),
            _ => node == Some(key.wrapped.node),
        };
        let Some(key) = self.wrapped_keys.iter().find(is_meant).cloned() else {
            return Ok(());
        };
        if self.current.is_some_and(|user| user < key.wrapped.node) {
            return Ok(());
        }
        self.use_session_key(key.wrapped.node)?;
        self.unwrap(&key)
    }

    /// Where a session key both signs and encrypts, it is one (WS-SecurityPolicy 1.3, 7.4: the
    /// `ProtectionToken`). Anybody can make one to sign with, and have beside it what somebody
    /// else enciphered: a password, whose cipher text he signs, or which nobody signs. So it is
    /// where keys are derived: all of them come from one.
    pub(super) fn use_session_key(&mut self, token: NodeId) -> Result<(), Rejected> {
        let used = *self.session_key_in_use.get_or_insert(token);
        if used != token && self.plan.demands.single_session_key {
            return Err(Rejected::KeyMisused {
                problem: "one message is secured with two session keys".to_owned(),
            });
        }
        Ok(())
    }

    /// The context that a reference means, and its token if it is in the message.
    fn context_name(
        &self,
        locator: &KeyLocator,
    ) -> Result<(ContextName, Option<NodeId>), Rejected> {
        match locator {
            KeyLocator::Context(name) => Ok((name.clone(), None)),
            KeyLocator::Token(id) => {
                let token = self.token_by_id(id)?;
                let element = self.envelope.document.element(token);
                match key_reference::context_token(element)? {
                    Some(name) => Ok((name, Some(token))),
                    None => Err(Rejected::KeyNotFound {
                        reference: locator.to_string(),
                    }),
                }
            }
            _ => Err(Rejected::KeyNotFound {
                reference: locator.to_string(),
            }),
        }
    }

    /// The key of a context that the host knows.
    fn context_key(
        &mut self,
        name: ContextName,
        token: Option<NodeId>,
    ) -> Result<Resolved, Rejected> {
        // A response that carries no token is secured with the context of its request.
        let asked = self
            .facts
            .request
            .as_ref()
            .and_then(|request| request.context.as_ref());
        let context = self
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
        if context.expires <= self.now {
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

    /// Remembers that the element being processed uses a token.
    pub(super) fn note_use(&mut self, token: NodeId) {
        if let Some(user) = self.current {
            self.uses.push((token, user));
        }
    }
}

fn is_derived_key_token(element: Element<'_>) -> bool {
    element.local() == "DerivedKeyToken"
        && ConversationVersion::from_namespace(element.namespace()).is_some()
}

/// What names the key that another one is derived from.
fn derived_from(token: Element<'_>) -> Result<Element<'_>, Rejected> {
    token
        .child(WSSE, "SecurityTokenReference")
        .ok_or_else(|| malformed("expected a `wsse:SecurityTokenReference`"))
}

/// `wsc:Nonce` and `wsc:Length` of an implied derived key (WS-SecureConversation 1.4, 7.4).
fn implied_derivation(reference: Element<'_>) -> Result<Option<Derivation>, Rejected> {
    for version in ConversationVersion::ALL {
        let Some(nonce) = reference.attribute(version.namespace(), "Nonce") else {
            continue;
        };
        let length = match reference.attribute(version.namespace(), "Length") {
            Some(length) => number(&length, "Length")?,
            None => DEFAULT_LENGTH,
        };
        let derivation = Derivation {
            label: None,
            nonce: key_reference::base64_octets(&nonce, ELEMENT)?,
            offset: 0,
            length,
        };
        return derivation.checked().map(Some);
    }
    Ok(None)
}

/// Length of a derived key that says none (WS-SecureConversation 1.4, 7.1).
const DEFAULT_LENGTH: usize = 32;

/// Longest label, octets.
const LONGEST_LABEL: usize = 256;

/// Reads a `wsc:DerivedKeyToken` (WS-SecureConversation 1.4, 7.1).
fn explicit_derivation(token: Element<'_>) -> Result<Derivation, Rejected> {
    let version = ConversationVersion::from_namespace(token.namespace())
        .ok_or_else(|| malformed("expected a namespace of WS-SecureConversation"))?;
    if let Some(algorithm) = token.attribute("", "Algorithm")
        && algorithm != version.p_sha1()
    {
        return Err(Rejected::AlgorithmNotAllowed {
            purpose: AlgorithmUse::KeyDerivation,
            found: algorithm.into_owned(),
            allowed: version.p_sha1().to_owned(),
        });
    }
    let (mut offset, mut generation, mut length, mut label, mut nonce) =
        (None, None, None, None, None);
    for child in token.children() {
        let text = || {
            child
                .text_strict()
                .ok_or_else(|| malformed(format!("expected text in `{}`", child.local())))
        };
        let twice = match (child.namespace(), child.local()) {
            (WSSE, "SecurityTokenReference") => continue,
            (namespace, _) if namespace != version.namespace() => {
                return Err(Rejected::ElementUnexpected {
                    element: crate::envelope::expanded_name(child),
                });
            }
            (_, "Offset") => offset.replace(number(&text()?, "Offset")?).is_some(),
            (_, "Generation") => generation
                .replace(number(&text()?, "Generation")?)
                .is_some(),
            (_, "Length") => length.replace(number(&text()?, "Length")?).is_some(),
            (_, "Label") => label.replace(text()?.into_owned()).is_some(),
            (_, "Nonce") => {
                key_reference::only_base64(child, "nonce")?;
                nonce
                    .replace(key_reference::base64_octets(text()?.trim(), ELEMENT)?)
                    .is_some()
            }
            _ => {
                return Err(Rejected::ElementUnexpected {
                    element: crate::envelope::expanded_name(child),
                });
            }
        };
        if twice {
            return Err(malformed(format!(
                "expected one `{}`, found more",
                child.local()
            )));
        }
    }
    let length = length.unwrap_or(DEFAULT_LENGTH);
    let offset = match (offset, generation) {
        (Some(_), Some(_)) => {
            return Err(malformed("expected `Offset` or `Generation`, found both"));
        }
        (Some(offset), None) => offset,
        (None, Some(generation)) => generation
            .checked_mul(length)
            .ok_or_else(|| malformed(format!("`Generation` {generation} lies too far")))?,
        (None, None) => 0,
    };
    Derivation {
        label,
        nonce: nonce.ok_or_else(|| malformed("expected a `Nonce`"))?,
        offset,
        length,
    }
    .checked()
}

fn number(text: &str, name: &str) -> Result<usize, Rejected> {
    let digits = text.trim();
    let short = digits.len() <= 9 && digits.bytes().all(|octet| octet.is_ascii_digit());
    short.then(|| digits.parse().ok()).flatten().ok_or_else(|| {
        malformed(format!(
            "expected `{name}` as a small number, found `{}`",
            excerpt(digits)
        ))
    })
}

fn excerpt(text: &str) -> String {
    text.chars().take(20).collect()
}

impl Derivation {
    fn as_found(&self) -> FoundKey<'_> {
        FoundKey {
            label: self.label.as_deref().unwrap_or(DEFAULT_LABEL).as_bytes(),
            nonce: &self.nonce,
            offset: self.offset,
            length: self.length,
        }
    }

    fn execute(&self, secret: &SymmetricKey) -> Result<SymmetricKey, Rejected> {
        let found = self.as_found();
        PHash::SHA1
            .derive(
                secret.expose(),
                &[found.label, found.nonce],
                found.offset,
                found.length,
            )
            .and_then(SymmetricKey::from_secret)
            .map_err(|error| malformed(error.to_string()))
    }

    fn checked(self) -> Result<Self, Rejected> {
        if !(SHORTEST_KEY..=LONGEST_KEY).contains(&self.length) {
            return Err(malformed(format!(
                "expected a `Length` of {SHORTEST_KEY} to {LONGEST_KEY}, found {}",
                self.length
            )));
        }
        if self.offset > P_HASH_LIMIT - self.length {
            return Err(malformed(format!(
                "expected the key within the first {P_HASH_LIMIT} octets, found offset {}",
                self.offset
            )));
        }
        if self.nonce.is_empty() || self.nonce.len() > LONGEST_NONCE {
            return Err(malformed(format!(
                "expected a `Nonce` of 1 to {LONGEST_NONCE} octets, found {}",
                self.nonce.len()
            )));
        }
        if self
            .label
            .as_ref()
            .is_some_and(|label| label.len() > LONGEST_LABEL)
        {
            return Err(malformed(format!(
                "expected a `Label` of at most {LONGEST_LABEL} octets"
            )));
        }
        Ok(self)
    }
}
