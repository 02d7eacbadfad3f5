//! Two parties made for measuring: each with a key, a certificate and trust in the other's.

use std::sync::Arc;

use jiff::Timestamp;
use soapstone::crypto::issue::{self, Template, Validity};
use soapstone::crypto::{Identity, KeyKind, SecretBytes, SymmetricKey, TrustRules, TrustStore};
use soapstone::wss::{
    InboundPlan, KeyBinding, KeyReference, Keys, Mechanism, OutboundPlan, Policy, SharedKey, Suite,
    SymmetricToken, Tuning, User,
};

/// Keys of both sides of one binding.
pub(crate) struct Peers {
    /// Who secures requests.
    pub(crate) sender: Keys,
    /// Who opens them.
    pub(crate) receiver: Keys,
}

/// The user of `username`.
pub(crate) const USER: &str = "alice";
/// Her password.
pub(crate) const PASSWORD: &[u8] = b"wonderland";

impl Peers {
    /// Makes an authority, two RSA-2048 certificates signed by it, and a shared key.
    pub(crate) fn new() -> Self {
        Self::with_keys(KeyKind::Rsa { bits: 2048 })
    }

    /// The same with keys of another kind, however weak.
    pub(crate) fn with_keys(kind: KeyKind) -> Self {
        let validity = Validity::days(Timestamp::now(), 2);
        let authority =
            issue::authority("CN=Soapstone Lab CA", kind, validity).expect("an authority");
        let leaf = |subject| {
            let template = Template::new(subject, validity).expect("a subject");
            Arc::new(issue::identity(&authority, kind, &template).expect("a certificate"))
        };
        let (sender, receiver) = (leaf("CN=sender"), leaf("CN=receiver"));
        let trust = {
            let mut rules = TrustRules::default();
            rules.anchors.push(authority.certificate().clone());
            match kind {
                KeyKind::Rsa { bits } => rules.min_rsa_bits = rules.min_rsa_bits.min(bits),
                KeyKind::Dsa { bits } => {
                    // As long as they were when they were used; no path of theirs is believed.
                    rules.min_rsa_bits = bits;
                    rules.pinned = [&sender, &receiver]
                        .map(|one| one.certificate().clone())
                        .to_vec();
                }
                _ => {}
            }
            TrustStore::new(rules).expect("a trust store")
        };
        let user = Arc::new(User {
            name: USER.to_owned(),
            password: SecretBytes::copy_of(PASSWORD),
        });
        let keys = |identity: &Arc<Identity>, peer: &Arc<Identity>| Keys {
            identity: Some(Arc::clone(identity)),
            peer: Some(peer.certificate().clone()),
            user: Some(Arc::clone(&user)),
            ..Keys::default()
        };
        let trust = Some(Arc::new(trust));
        Self {
            sender: Keys {
                trust: trust.clone(),
                ..keys(&sender, &receiver)
            },
            receiver: Keys {
                trust,
                ..keys(&receiver, &sender)
            },
        }
    }

    /// The plans of both sides.
    pub(crate) fn plans(
        &self,
        mechanism: Mechanism,
        suite: &Suite,
        binding: KeyBinding,
        tuning: Tuning,
    ) -> (OutboundPlan, InboundPlan) {
        self.plans_with(mechanism, suite, binding, tuning, |_| ())
    }

    /// The plans of both sides, with changes to the preset.
    pub(crate) fn plans_with(
        &self,
        mechanism: Mechanism,
        suite: &Suite,
        binding: KeyBinding,
        tuning: Tuning,
        change: impl FnOnce(&mut Policy),
    ) -> (OutboundPlan, InboundPlan) {
        let tunings = [tuning; 2];
        self.plans_tuned(mechanism, suite, binding, tunings, change)
    }

    /// The same with the tuning of the sender, and that of the receiver.
    pub(crate) fn plans_tuned(
        &self,
        mechanism: Mechanism,
        suite: &Suite,
        binding: KeyBinding,
        [sending, receiving]: [Tuning; 2],
        change: impl FnOnce(&mut Policy),
    ) -> (OutboundPlan, InboundPlan) {
        let mut policy = mechanism.policy(suite.clone());
        policy.tuning = sending;
        change(&mut policy);
        let mut sender = self.sender.clone();
        let mut receiver = self.receiver.clone();
        if binding == KeyBinding::Shared {
            let length = suite.data.first().map_or(32, |data| data.key_length());
            let key = SymmetricKey::generate(length).expect("a key");
            let shared = Arc::new(SharedKey {
                name: "lab".to_owned(),
                signing: key.clone(),
                encrypting: key,
            });
            sender.shared = Some(Arc::clone(&shared));
            receiver.shared = Some(shared);
            if policy.binding.signs() || policy.binding.encrypts() {
                policy.protect_with(SymmetricToken::Shared(KeyReference::KeyName));
            }
        }
        let outbound =
            OutboundPlan::compile(policy.clone(), sender).expect("a policy that compiles");
        policy.tuning = receiving;
        let inbound = InboundPlan::compile(policy, receiver).expect("a policy that compiles");
        (outbound, inbound)
    }
}
