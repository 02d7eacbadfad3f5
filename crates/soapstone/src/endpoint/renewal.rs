//! Requests to renew a context that show both at once who asks and that he has its key (WS-SecureConversation 1.4, 5): secured as the bootstrap is, and
//! endorsed by the context. So WCF does it where TLS protects messages.
//!
//! The one rule: what such a message looks like chooses its plan, and nothing else. The plan demands all that the bootstrap's does, and the context's
//! signature besides; and what it has opened may ask for a token, never for anything of the application.

use soapstone_wss::names::{DS, WSSE};
use soapstone_wss::{
    EndorsingPolicy, Envelope, InboundPlan, KeyBinding, KeyReference, Part, Policy, SignaturePolicy,
};

use super::Conversation;
use super::operations::holds_token_request;

/// What can be seen of how a message is secured: whether it names a user, and how many signatures it has.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Look {
    user: bool,
    signatures: usize,
}

impl Look {
    fn of(envelope: &Envelope, actor: Option<&str>) -> Self {
        let headers = || envelope.security_headers(actor);
        let count = |namespace, local| {
            let children = headers().flat_map(|header| header.children());
            children.filter(|child| child.is(namespace, local)).count()
        };
        Self {
            user: count(WSSE, "UsernameToken") > 0,
            signatures: count(DS, "Signature"),
        }
    }

    /// Of messages under a policy that encrypts nothing.
    fn under(policy: &Policy) -> Self {
        let signature = usize::from(policy.signature.is_some());
        Self {
            user: policy.username.is_some(),
            signatures: signature + policy.endorsing.len(),
        }
    }
}

/// The policy of requests that are secured as the bootstrap's are, and by the key of the context too. `None` where TLS does not protect both the bootstrap
/// and the conversation, or where that cannot be said: elsewhere such requests are refused.
pub(super) fn renewing(bootstrap: &Policy, conversation: &Policy) -> Option<Policy> {
    let signature = conversation.signature.as_ref()?;
    let on_tls = bootstrap.transport_protected && conversation.transport_protected;
    if !on_tls || signature.key != KeyBinding::Context || bootstrap.encryption.is_some() {
        return None;
    }
    // Without a Timestamp there is nothing to endorse.
    bootstrap.timestamp?;
    let derived_keys = conversation.derived_keys;
    let mut policy = bootstrap.clone();
    match &policy.signature {
        None => {
            policy.derived_keys = derived_keys;
            policy.signature = Some(SignaturePolicy {
                parts: vec![Part::Timestamp],
                key: KeyBinding::Context,
                reference: KeyReference::Direct,
            });
        }
        // Whoever signs by name asks.
        Some(_) => policy.endorsing.push(EndorsingPolicy {
            derived_keys,
            ..EndorsingPolicy::by(KeyBinding::Context, KeyReference::Direct)
        }),
    }
    let told_apart = Look::under(&policy) != Look::under(conversation);
    (told_apart && policy.endorsing.len() < policy.limits.signatures).then_some(policy)
}

impl Conversation {
    /// The plan of a message that names a context, where it looks like a request that is secured as the bootstrap's are besides.
    pub(super) fn renewal(&self, envelope: &Envelope) -> Option<&InboundPlan> {
        let plan = self.renewal_inbound.as_ref()?;
        let policy = plan.policy();
        let looks_like_it = Look::of(envelope, policy.actor.as_deref()) == Look::under(policy);
        (looks_like_it && holds_token_request(envelope)).then_some(plan)
    }
}

#[cfg(test)]
mod tests {
    use soapstone_wss::{Mechanism, PasswordKind, Suite, TimestampPolicy, UsernamePolicy};

    use super::*;

    fn on_tls(signature: Option<KeyBinding>) -> Policy {
        let suite = Suite::named("Basic256").expect("a suite");
        let mut policy = Mechanism::None.policy(suite);
        policy.transport_protected = true;
        policy.timestamp = Some(TimestampPolicy::default());
        policy.signature = signature.map(|key| SignaturePolicy {
            parts: vec![Part::Timestamp],
            key,
            reference: KeyReference::Direct,
        });
        policy
    }

    fn users() -> Policy {
        let freshness = TimestampPolicy::default();
        let mut policy = on_tls(None);
        policy.username = Some(UsernamePolicy {
            passwords: vec![PasswordKind::Text],
            ttl: freshness.ttl,
            skew: freshness.skew,
        });
        policy
    }

    #[test]
    fn a_renewal_demands_what_the_bootstrap_does_and_the_contexts_signature_over_the_timestamp() {
        let conversation = on_tls(Some(KeyBinding::Context));
        let by_user = renewing(&users(), &conversation).expect("it can be said");
        assert_eq!(by_user.signature, conversation.signature);
        assert_eq!(by_user.username, users().username);
        assert!(by_user.transport_protected && by_user.timestamp.is_some());
        let certificate = on_tls(Some(KeyBinding::Certificate));
        let by_name = renewing(&certificate, &conversation).expect("it can be said");
        assert_eq!(by_name.signature, certificate.signature);
        let by_context = EndorsingPolicy::by(KeyBinding::Context, KeyReference::Direct);
        assert_eq!(by_name.endorsing, [by_context]);
    }

    #[test]
    fn there_is_no_renewal_of_what_tls_does_not_protect_or_what_looks_like_other_messages() {
        let conversation = on_tls(Some(KeyBinding::Context));
        let none = |change: fn(&mut Policy, &mut Policy)| {
            let (mut bootstrap, mut conversation) = (users(), conversation.clone());
            change(&mut bootstrap, &mut conversation);
            renewing(&bootstrap, &conversation).is_none()
        };
        assert!(!none(|_, _| {}));
        assert!(none(|bootstrap, _| bootstrap.transport_protected = false));
        assert!(none(
            |_, conversation| conversation.transport_protected = false
        ));
        assert!(none(|bootstrap, _| bootstrap.timestamp = None));
        assert!(none(
            |_, conversation| *conversation = on_tls(Some(KeyBinding::Certificate))
        ));
        assert!(none(|bootstrap, conversation| conversation
            .username
            .clone_from(&bootstrap.username)));
        assert!(none(|bootstrap, _| bootstrap.username = None));
    }
}
