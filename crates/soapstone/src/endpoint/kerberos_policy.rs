//! From the `[kerberos]` table to what a policy says of the tokens.
//!
//! The rule kept here: requests have tokens. Answers are secured with the session of their request,
//! and carry none.

use soapstone_wss::{
    Binding, ConversationVersion, DerivedKeyForm, DerivedKeyPolicy, EndorsingKey, EndorsingToken,
    KerberosPolicy, KeyBinding, Mechanism, Policy, SupportingToken, SymmetricBinding,
    SymmetricToken, TimestampPolicy,
};

use super::compiler::Compiler;
use crate::config::{KerberosConfig, KerberosUse, Place, SecuritySource};

impl Compiler<'_> {
    /// Puts the tokens of the file into the policy of a preset; of a conversation, into that of its
    /// bootstrap.
    pub(super) fn add_kerberos(&mut self, policy: &mut Policy, mechanism: Mechanism) {
        let Some(config) = &self.config.kerberos else {
            return;
        };
        let usage = config.usage.clone();
        let protects = usage.value == KerberosUse::Protect;
        let protected = [
            Mechanism::Sign,
            Mechanism::SignEncrypt,
            Mechanism::EncryptSign,
        ];
        let wanted = match protects {
            true => protected.contains(&mechanism),
            false => mechanism == Mechanism::None,
        };
        if !wanted {
            let source = &self.config.security.source.value;
            let begins = matches!(
                source,
                SecuritySource::Mechanism(Mechanism::SecureConversation)
            );
            let hint = match protects {
                _ if begins => {
                    "take use = \"protect\", and bootstrap = \"sign\", \"sign-encrypt\" or \"encrypt-sign\""
                }
                true => "take mechanism = \"sign\", \"sign-encrypt\" or \"encrypt-sign\"",
                false => "take mechanism = \"none\": the connection protects the message",
            };
            let message = format!("a Kerberos token does not go with mechanism = \"{mechanism}\"");
            self.report_with_hint(usage.place, message, hint);
            return;
        }
        if self.config.has("identity") || self.config.has("shared_key") || self.config.has("peer") {
            self.report_with_hint(
                config.place,
                "the session key of the Kerberos token is the key of messages, and other keys are given",
                "leave out identity, peer and shared_key",
            );
        }
        let token = token_of(config);
        let derived_keys = config.derived_keys.then(|| derivation(policy));
        match usage.value {
            KerberosUse::Protect => {
                policy.binding = Binding::Symmetric(SymmetricBinding {
                    key: SymmetricToken::Kerberos(token),
                    derived_keys,
                    order: policy.order(),
                });
            }
            KerberosUse::Endorse => {
                policy.binding = Binding::Transport;
                policy.header.timestamp = Some(demanded_timestamp(policy));
                let key = EndorsingKey::Kerberos {
                    token,
                    derived_keys,
                };
                policy.endorse_with(EndorsingToken::by(key));
            }
            KerberosUse::Authenticate => {
                policy.binding = Binding::Transport;
                policy.header.timestamp = Some(demanded_timestamp(policy));
                policy.supporting.push(SupportingToken::Kerberos(token));
            }
        }
    }

    /// Says of the tokens that a policy file wants how they are carried.
    pub(super) fn fill_kerberos(&mut self, policy: &Policy) {
        if policy.kerberos().is_none() {
            return;
        }
        let Some(config) = &self.config.kerberos else {
            let place = self.config.security.source.place;
            self.report_with_hint(
                place,
                "the policy wants a Kerberos token, and nothing is said of one",
                "say whose are accepted, or for which service they are made: kerberos = { … }",
            );
            return;
        };
        if policy
            .kerberos()
            .is_some_and(|wanted| wanted.form != config.form)
        {
            self.report_with_hint(
                config.place,
                "the policy wants Kerberos tokens of another form",
                "form = \"gss\" is WssGssKerberosV5ApReqToken11, form = \"raw\" WssKerberosV5ApReqToken11",
            );
        }
    }

    /// Reports a token that begins a conversation and would begin others by its name.
    pub(super) fn refuse_bootstrap_by_name(&mut self) {
        if let Some(config) = self.config.kerberos.as_ref().filter(|config| config.once) {
            self.report_with_hint(
                config.place,
                "`include = \"once\"` is given, and each Kerberos token begins one conversation",
                "leave out `include`: the conversation has many messages",
            );
        }
    }

    /// Reports a table of tokens that no policy asks for.
    pub(super) fn refuse_needless_kerberos(&mut self, place: Place) {
        self.report_with_hint(
            place,
            "`kerberos` is given, and the policy wants no Kerberos token",
            "leave it out, or put an `sp:KerberosToken` into the policy",
        );
    }
}

/// The Timestamp without which nobody knows how old a message is.
fn demanded_timestamp(policy: &Policy) -> TimestampPolicy {
    TimestampPolicy {
        required: true,
        sent: true,
        ..policy.header.timestamp.unwrap_or_default()
    }
}

const fn token_of(config: &KerberosConfig) -> KerberosPolicy {
    KerberosPolicy {
        form: config.form,
        carried: true,
        by_identifier: false,
    }
}

pub(super) fn derivation(policy: &Policy) -> DerivedKeyPolicy {
    DerivedKeyPolicy {
        version: ConversationVersion::V13,
        form: DerivedKeyForm::Explicit,
        exclusive: false,
        signature_length: policy.suite.derived_signature_length(),
    }
}

/// A policy of answers, which have no token of their own.
pub(super) fn without_kerberos(policy: &mut Policy) {
    policy.supporting.retain(|token| match token {
        SupportingToken::Kerberos(_) => false,
        SupportingToken::Endorsing(token) => token.key.kind() != KeyBinding::Kerberos,
        _ => true,
    });
}

/// Whether the connection has to protect messages, for the sake of their Kerberos tokens.
pub(super) fn rests_on_connection(policy: &Policy) -> bool {
    policy.kerberos().is_some() && policy.is_by_connection()
}
