//! Keys that are derived from passwords (UsernameToken Profile 1.1.1, 4), and the tokens that say
//! how.
//!
//! The one rule: a message has one user, and one key of his for each purpose. A derivation is the
//! work that a stranger can ask for: it is done once for each of these keys, and within the bounds
//! of the plan.

use std::sync::Arc;

use soapstone_xml::NodeId;

use super::comparison::Comparison;
use super::keyring::{FromPassword, Keyring};
use super::message::Message;
use super::symmetric_keys::Resolved;
use crate::envelope::expanded_name;
use crate::evidence::Signer;
use crate::operation::{Observer, Operation};
use crate::rejected::Rejected;
use crate::token::{PasswordKeyToken, PasswordKeyUse, is_username_token};
use crate::username::User;

impl Keyring {
    /// The key of a token.
    pub(super) fn password_key(
        &mut self,
        message: &Message<'_>,
        token: NodeId,
        usage: PasswordKeyUse,
        observer: &mut Observer<'_>,
    ) -> Result<Resolved, Rejected> {
        let element = message.element(token);
        let in_header = element.parent().map(|parent| parent.id()) == message.security;
        let policy = message.demands().password_keys.as_ref();
        let Some(policy) = policy.filter(|_| in_header && is_username_token(element)) else {
            return Err(Rejected::KeyNotFound {
                reference: format!("the token `{}`", expanded_name(element)),
            });
        };
        let read = PasswordKeyToken::read(element, policy)?;
        read.check_use(usage)?;
        let misused = |problem: &str| Rejected::KeyMisused {
            problem: problem.to_owned(),
        };
        let user = read.user.as_str();
        let asked = message.facts.request.as_ref();
        let asked = asked.and_then(|request| request.user.as_ref());
        if asked.is_some_and(|asked| asked.name != user) {
            return Err(misused(
                "an answer is secured with the password of another user than its request",
            ));
        }
        if self.from_passwords.iter().any(|known| known.user != user) {
            return Err(misused(
                "one message is secured with the passwords of two users",
            ));
        }
        let mut known = self.from_passwords.iter();
        let key = match known.find(|known| known.usage == usage) {
            Some(known) if known.token == token => known.key.clone(),
            Some(_) => {
                return Err(misused(
                    "one message has two keys from passwords for one use",
                ));
            }
            None => {
                let password = message.facts.password(user);
                observer.ended(Operation::Other);
                let key = read.derive(password)?;
                observer.ended(Operation::Username);
                self.user = password.map(|password| {
                    Arc::new(User {
                        name: read.user.clone(),
                        password: password.duplicate(),
                    })
                });
                self.from_passwords.push(FromPassword {
                    user: read.user.clone(),
                    token,
                    usage,
                    key: key.clone(),
                });
                key
            }
        };
        Ok(Resolved {
            key,
            holder: Signer::User(read.user),
            token: Some(token),
        })
    }
}

impl Message<'_> {
    /// What copies of tokens are known by. Cipher text under a key that is derived from a password
    /// has no other name: whoever changes it has to use the salt again.
    pub(super) fn salts(&self, tokens: &[NodeId]) -> Vec<[u8; 32]> {
        let policy = self.demands().password_keys.as_ref();
        let read = |(token, policy)| PasswordKeyToken::read(self.element(token), policy).ok();
        let tokens = tokens.iter().copied();
        let read = tokens.filter_map(|token| read((token, policy?)));
        read.map(|token| token.mark()).collect()
    }
}

impl Comparison<'_, '_> {
    /// Refuses a token that nothing of the message uses: it names a user who has proven nothing.
    pub(super) fn compare_password_tokens(&self) -> Result<(), Rejected> {
        let is_used = |token: &NodeId| self.uses.iter().any(|(used, _)| used == token);
        let mut tokens = self.evidence.password_tokens.iter();
        match tokens.find(|token| !is_used(token)) {
            Some(unused) => Err(Rejected::ElementUnexpected {
                element: expanded_name(self.message.element(*unused)),
            }),
            None => Ok(()),
        }
    }
}
