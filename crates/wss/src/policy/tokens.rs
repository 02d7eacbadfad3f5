//! The tokens of a policy: who endorses, which user, assertion or ticket messages have.
//!
//! The rule kept here: a token is asked for where it may stand, in the binding or beside it.

use super::Policy;
use crate::binding::{Binding, KeyBinding, SymmetricToken};
use crate::kerberos::KerberosPolicy;
use crate::supporting::{EndorsingKey, EndorsingToken, SupportingToken};
use crate::token::{AssertionPolicy, ConfirmationMethod, HolderUse};
use crate::username::{PasswordKeyPolicy, UsernamePolicy};

impl Policy {
    /// Whether messages show nobody who sent them: no certificate signs, and they have no user, no
    /// ticket and no assertion.
    pub fn shows_nobody(&self) -> bool {
        let signs = self.signs_with() == Some(KeyBinding::Certificate);
        let mut endorsing = self.endorsing();
        let endorses = endorsing.any(|token| token.key.kind() == KeyBinding::Certificate);
        let has_user = self.username().is_some() || self.uses(KeyBinding::Password);
        let by_others = self.kerberos().is_some() || self.assertion().is_some();
        !(signs || endorses || has_user || by_others)
    }

    /// The tokens that endorse. Where the connection protects messages, the first of them makes the
    /// message's own signature.
    pub fn endorsing(&self) -> impl Iterator<Item = &EndorsingToken> {
        self.supporting.iter().filter_map(|token| match token {
            SupportingToken::Endorsing(token) => Some(token),
            SupportingToken::Username(_)
            | SupportingToken::Assertion(_)
            | SupportingToken::Kerberos(_) => None,
        })
    }

    /// As [`endorsing`](Self::endorsing).
    pub fn endorsing_mut(&mut self) -> impl Iterator<Item = &mut EndorsingToken> {
        self.supporting.iter_mut().filter_map(|token| match token {
            SupportingToken::Endorsing(token) => Some(token),
            SupportingToken::Username(_)
            | SupportingToken::Assertion(_)
            | SupportingToken::Kerberos(_) => None,
        })
    }

    /// The tokens that endorse beside the message's own signature.
    pub fn endorsing_beside(&self) -> impl Iterator<Item = &EndorsingToken> {
        self.endorsing().skip(usize::from(self.is_by_connection()))
    }

    /// Whether endorsing signatures are over the Timestamp, as the message's own is.
    pub(crate) fn endorses_timestamp(&self) -> bool {
        self.is_by_connection() && self.endorsing_beside().next().is_some()
    }

    /// The token of the security context that endorses.
    pub(crate) fn endorsing_context(&self) -> Option<&EndorsingToken> {
        let mut endorsing = self.endorsing_beside();
        endorsing.find(|token| matches!(token.key, EndorsingKey::Context { .. }))
    }

    /// The token that endorses with a symmetric key: of a security context, a Kerberos token or an
    /// assertion, or from a password.
    pub(crate) fn endorsing_secret(&self) -> Option<&EndorsingToken> {
        let mut endorsing = self.endorsing_beside();
        endorsing.find(|token| !matches!(token.key, EndorsingKey::Certificate(_)))
    }

    /// Whether certificates make endorsing signatures.
    pub(crate) fn endorses_by_certificate(&self) -> bool {
        let mut endorsing = self.endorsing_beside();
        endorsing.any(|token| matches!(token.key, EndorsingKey::Certificate(_)))
    }

    /// Adds a token that endorses.
    pub fn endorse_with(&mut self, token: EndorsingToken) {
        self.supporting.push(SupportingToken::Endorsing(token));
    }

    /// The user of messages.
    pub fn username(&self) -> Option<&UsernamePolicy> {
        self.supporting.iter().find_map(SupportingToken::username)
    }

    /// As [`username`](Self::username).
    pub fn username_mut(&mut self) -> Option<&mut UsernamePolicy> {
        self.supporting.iter_mut().find_map(|token| match token {
            SupportingToken::Username(username) => Some(username),
            SupportingToken::Endorsing(_)
            | SupportingToken::Assertion(_)
            | SupportingToken::Kerberos(_) => None,
        })
    }

    /// Puts a user, or none, in the place of whatever user there is.
    pub fn set_username(&mut self, username: Option<UsernamePolicy>) {
        self.supporting
            .retain(|token| !matches!(token, SupportingToken::Username(_)));
        let username = username.map(SupportingToken::Username);
        self.supporting.extend(username);
    }

    /// How keys are derived from passwords, where they are: to protect messages, or to endorse.
    pub fn password_keys(&self) -> Option<PasswordKeyPolicy> {
        let protecting = match &self.binding {
            Binding::Symmetric(binding) => match binding.key {
                SymmetricToken::Password(keys) => Some(keys),
                _ => None,
            },
            _ => None,
        };
        let mut endorsing = self.endorsing().filter_map(|token| match token.key {
            EndorsingKey::Password { keys, .. } => Some(keys),
            _ => None,
        });
        protecting.or_else(|| endorsing.next())
    }

    /// Sets the bounds of [`password_keys`](Self::password_keys), where there are such keys; says
    /// whether there are.
    pub fn bound_password_keys(&mut self, bounds: PasswordKeyPolicy) -> bool {
        let mut found = false;
        if let Binding::Symmetric(binding) = &mut self.binding
            && let SymmetricToken::Password(keys) = &mut binding.key
        {
            (*keys, found) = (bounds, true);
        }
        for token in self.endorsing_mut() {
            if let EndorsingKey::Password { keys, .. } = &mut token.key {
                (*keys, found) = (bounds, true);
            }
        }
        found
    }

    /// What is accepted of the assertion that messages have.
    pub fn assertion(&self) -> Option<&AssertionPolicy> {
        self.supporting.iter().find_map(SupportingToken::assertion)
    }

    /// Whether the assertion of messages is in cipher text of its own.
    pub fn hides_assertion(&self) -> bool {
        self.assertion()
            .is_some_and(|assertion| assertion.encrypted)
    }

    /// Whether the proof key of an assertion protects messages, or endorses them.
    pub fn uses_proof_key(&self) -> bool {
        self.uses(KeyBinding::Assertion) || self.is_endorsed_by_proof_key()
    }

    /// Whether the proof key of an assertion endorses.
    pub(crate) fn is_endorsed_by_proof_key(&self) -> bool {
        let mut endorsing = self.endorsing();
        endorsing.any(|token| token.key.kind() == KeyBinding::Assertion)
    }

    /// Whether messages are protected or endorsed with the proof key of the assertion that they
    /// have.
    pub(crate) fn proves_by_key(&self) -> bool {
        self.assertion().is_some() && self.uses_proof_key()
    }

    /// Whether the holders of assertions sign messages, and nobody else has to.
    pub(crate) fn is_signed_by_holder(&self) -> bool {
        self.uses_holder(HolderUse::Signs)
    }

    /// Whether the holders of assertions endorse messages, and nobody else does.
    pub(crate) fn is_endorsed_by_holder(&self) -> bool {
        self.uses_holder(HolderUse::Endorses)
    }

    fn uses_holder(&self, usage: HolderUse) -> bool {
        let holders = [ConfirmationMethod::HolderOfKey];
        let assertion = self.assertion();
        assertion.is_some_and(|one| one.methods == holders && one.holder == usage)
    }

    /// The Kerberos token that messages have beside those of their keys.
    pub fn kerberos_beside(&self) -> Option<KerberosPolicy> {
        self.supporting.iter().find_map(|token| match token {
            SupportingToken::Kerberos(kerberos) => Some(*kerberos),
            _ => None,
        })
    }

    /// The Kerberos token of messages, for its key or beside it.
    pub fn kerberos(&self) -> Option<KerberosPolicy> {
        let of_binding = match &self.binding {
            Binding::Symmetric(binding) => match binding.key {
                SymmetricToken::Kerberos(kerberos) => Some(kerberos),
                _ => None,
            },
            _ => None,
        };
        let mut endorsing = self.endorsing();
        let of_endorsement = || {
            endorsing.find_map(|token| match token.key {
                EndorsingKey::Kerberos { token, .. } => Some(token),
                _ => None,
            })
        };
        let found = of_binding.or_else(of_endorsement);
        found.or_else(|| self.kerberos_beside())
    }
}
