//! How much keys and tokens prove of their holder.
//!
//! The rule kept here: keys of conversations prove no more than the messages that begin them.

use std::ops::Deref;

use soapstone::policy::ExchangePolicy;
use soapstone::wss::{ConfirmationMethod, KeyBinding, PasswordKind, Policy};

/// The policy of messages that is compared, with what counts as proven of who began the
/// conversation that they belong to.
#[derive(Clone, Copy)]
pub(super) struct Judged<'p> {
    pub(super) policy: &'p Policy,
    pub(super) begun: u8,
}

impl Deref for Judged<'_> {
    type Target = Policy;

    fn deref(&self) -> &Policy {
        self.policy
    }
}

impl<'p> Judged<'p> {
    /// Of messages outside of conversations, or in one of which nobody knows who began it.
    pub(super) fn alone(policy: &'p Policy) -> Self {
        Self { policy, begun: 0 }
    }

    /// How much a key proves of its holder.
    pub(super) fn proof(self, key: KeyBinding) -> u8 {
        proof(key, self.begun)
    }

    pub(super) fn name(self, key: KeyBinding) -> &'static str {
        match (key, self.begun) {
            (KeyBinding::Context, 0) => "the key of a conversation that anybody begins",
            (KeyBinding::Context, PASSWORD) => "the key of a conversation that a password begins",
            _ => name(key),
        }
    }
}

/// What counts of several ways in which a policy lets somebody be proven.
#[derive(Clone, Copy)]
pub(super) enum Counts {
    /// Of what is described.
    Strongest,
    /// Of what was agreed on.
    Weakest,
}

/// The policies of one exchange with a provider, each with who began its conversation.
pub(super) fn judged(one: &ExchangePolicy) -> (Judged<'_>, Judged<'_>) {
    let beginning = one.conversation.as_ref();
    let beginning = beginning.and_then(|it| it.bootstrap.as_deref());
    let by_certificate = |it: &ExchangePolicy| {
        let transport = it.transport.as_ref();
        u8::from(transport.is_some_and(|it| it.client_certificate)) * SHARED
    };
    let of_client = beginning.map(|it| {
        let asked = proven(&it.request, Counts::Strongest);
        asked.max(by_certificate(it))
    });
    let of_provider = beginning.map(|it| proven_provider(&it.response, Counts::Strongest));
    let request = Judged {
        policy: &one.request,
        begun: of_client.unwrap_or(0),
    };
    let answer = Judged {
        policy: &one.response,
        begun: of_provider.unwrap_or(0),
    };
    (request, answer)
}

/// How much is proven of somebody: that he knows a password, shares a key, or has a private key, by
/// which he is proven to anybody. Nothing is less.
pub(super) const PASSWORD: u8 = 1;
const SHARED: u8 = 2;
pub(super) const PRIVATE: u8 = 3;

/// How much a key proves of its holder, in a conversation whose beginning proves so much of him.
fn proof(key: KeyBinding, begun: u8) -> u8 {
    match key {
        KeyBinding::SessionKey => 0,
        KeyBinding::Password => PASSWORD,
        // In answers, only who could open the request has it.
        KeyBinding::RequestKey
        | KeyBinding::Shared
        | KeyBinding::Kerberos
        | KeyBinding::Assertion => SHARED,
        // Whoever began the conversation has it.
        KeyBinding::Context => begun.min(SHARED),
        KeyBinding::Certificate => PRIVATE,
    }
}

/// How much messages that begin a conversation prove of their sender.
pub(super) fn proven(beginning: &Policy, counts: Counts) -> u8 {
    let counted = |ways: &mut dyn Iterator<Item = u8>| match counts {
        Counts::Strongest => ways.max(),
        Counts::Weakest => ways.min(),
    };
    let by_user = beginning.username().and_then(|user| {
        let mut ways = user.passwords.iter().map(|it| match it {
            PasswordKind::Absent => 0,
            _ => PASSWORD,
        });
        counted(&mut ways)
    });
    let by_assertion = beginning.assertion().and_then(|assertion| {
        let mut ways = assertion.methods.iter().map(|it| match it {
            ConfirmationMethod::HolderOfKey => SHARED,
            ConfirmationMethod::SenderVouches | ConfirmationMethod::Bearer => PASSWORD,
        });
        counted(&mut ways)
    });
    let by_ticket = beginning.kerberos().map(|_| SHARED);
    let endorsing = beginning.endorsing_beside().map(|it| it.key.kind());
    let keys = endorsing.chain(beginning.signs_with());
    let by_keys = keys.map(|key| proof(key, 0)).max();
    let ways = [by_user, by_assertion, by_ticket, by_keys];
    ways.into_iter().flatten().max().unwrap_or(0)
}

/// As [`proven`], of the provider: TLS proves it.
pub(super) fn proven_provider(beginning: &Policy, counts: Counts) -> u8 {
    match beginning.is_by_connection() {
        true => SHARED,
        false => proven(beginning, counts),
    }
}

pub(super) fn name(key: KeyBinding) -> &'static str {
    match key {
        KeyBinding::Certificate => "a certificate",
        KeyBinding::Shared => "a shared key",
        KeyBinding::RequestKey => "the key of the request",
        KeyBinding::SessionKey => "a session key of anybody",
        KeyBinding::Context => "the key of a conversation",
        KeyBinding::Kerberos => "the key of a Kerberos token",
        KeyBinding::Assertion => "the key of an assertion",
        KeyBinding::Password => "a password",
    }
}

pub(super) fn confirmation(method: ConfirmationMethod) -> u8 {
    match method {
        ConfirmationMethod::Bearer => 0,
        ConfirmationMethod::SenderVouches => 1,
        ConfirmationMethod::HolderOfKey => 2,
    }
}
