//! Requests to renew a context that show both at once who asks and that he has its key
//! (WS-SecureConversation 1.4, 5): secured as the bootstrap is, and endorsed by the context. So WCF
//! and Metro do it.
//!
//! The one rule: what such a message looks like chooses its plan, and nothing else. The plan
//! demands all that the bootstrap's does, and the context's signature besides; and what it has
//! opened may ask for a token, never for anything of the application.

use soapstone_wss::names::{DS, WSSE, XENC};
use soapstone_wss::{
    EncryptedPart, EndorsingPolicy, Envelope, InboundPlan, KeyBinding, KeyReference, Part, Policy,
    SignaturePolicy,
};

use super::Conversation;
use super::operations::holds_token_request;

/// What can be seen of how a message is secured: how many signatures it has, and whether it names a
/// user, if that is known.
#[derive(Clone, Copy)]
struct Look {
    user: Option<bool>,
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
            user: Some(count(WSSE, "UsernameToken") > 0),
            signatures: count(DS, "Signature"),
        }
    }

    /// Of messages under a policy that encrypts no signature. Where it encrypts anything, the user
    /// may be hidden, too.
    fn under(policy: &Policy) -> Self {
        let signature = usize::from(policy.signature.is_some());
        let shown = policy.encryption.is_none();
        Self {
            user: shown.then_some(policy.username.is_some()),
            signatures: signature + policy.endorsing.len(),
        }
    }

    /// Whether a message could look like both.
    fn is_like(self, other: Self) -> bool {
        let users = self.user.zip(other.user);
        self.signatures == other.signatures && users.is_none_or(|(one, other)| one == other)
    }
}

/// The policy of requests that are secured as the bootstrap's are, and by the key of the context
/// too. `None` where TLS protects one of bootstrap and conversation alone, and where that cannot be
/// said or seen: such requests are refused then.
pub(super) fn renewing(bootstrap: &Policy, conversation: &Policy) -> Option<Policy> {
    let signature = conversation.signature.as_ref()?;
    let alike = bootstrap.transport_protected == conversation.transport_protected;
    if !alike || signature.key != KeyBinding::Context || hides_signatures(bootstrap) {
        return None;
    }
    if bootstrap.transport_protected {
        // Without a Timestamp there is nothing to endorse.
        bootstrap.timestamp?;
    }
    let derived_keys = conversation.derived_keys;
    let mut policy = bootstrap.clone();
    match &policy.signature {
        None if policy.transport_protected => {
            policy.derived_keys = derived_keys;
            policy.signature = Some(SignaturePolicy {
                parts: vec![Part::Timestamp],
                key: KeyBinding::Context,
                reference: KeyReference::Direct,
            });
        }
        // Nothing signs what is asked for.
        None => return None,
        // Whoever signs by name asks.
        Some(_) => policy.endorsing.push(EndorsingPolicy {
            derived_keys,
            ..EndorsingPolicy::by(KeyBinding::Context, KeyReference::Direct)
        }),
    }
    let told_apart = !Look::under(&policy).is_like(Look::under(conversation));
    (told_apart && policy.endorsing.len() < policy.limits.signatures).then_some(policy)
}

/// Whether nobody sees how many signatures there are before he has deciphered them; or, on TLS,
/// whether anything is encrypted at all.
fn hides_signatures(policy: &Policy) -> bool {
    let encrypts_signature = |parts: &[EncryptedPart]| {
        let mut parts = parts.iter();
        parts.any(|encrypted| encrypted.part == Part::Signature)
    };
    policy.encryption.as_ref().is_some_and(|encryption| {
        policy.transport_protected || encrypts_signature(&encryption.parts)
    })
}

impl Conversation {
    /// The plan of a message that names a context, where it looks like a request that is secured as
    /// the bootstrap's are besides.
    pub(super) fn renewal(&self, envelope: &Envelope) -> Option<&InboundPlan> {
        let plan = self.renewal_inbound.as_ref()?;
        let policy = plan.policy();
        let look = Look::of(envelope, policy.actor.as_deref());
        let hidden = policy.encryption.is_some()
            && envelope
                .body()
                .first_child()
                .is_some_and(|content| content.is(XENC, "EncryptedData"));
        let may_ask = hidden || holds_token_request(envelope);
        (look.is_like(Look::under(policy)) && may_ask).then_some(plan)
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

    /// Messages whose Body is signed and encrypted by keys of their own.
    fn by_message(key: KeyBinding) -> Policy {
        let suite = Suite::named("Basic256").expect("a suite");
        let mut policy = Mechanism::SignEncrypt.policy(suite);
        policy.signature.as_mut().expect("it signs").key = key;
        policy
    }

    #[test]
    fn without_tls_the_contexts_signature_covers_that_of_the_bootstrap() {
        let conversation = by_message(KeyBinding::Context);
        for key in [KeyBinding::Certificate, KeyBinding::SessionKey] {
            let bootstrap = by_message(key);
            let policy = renewing(&bootstrap, &conversation).expect("it can be said");
            assert_eq!(policy.signature, bootstrap.signature);
            assert_eq!(policy.encryption, bootstrap.encryption);
            let by_context = EndorsingPolicy::by(KeyBinding::Context, KeyReference::Direct);
            assert_eq!(policy.endorsing, [by_context]);
        }
    }

    #[test]
    fn without_tls_there_is_no_renewal_where_signatures_are_hidden_or_nothing_is_signed() {
        let conversation = by_message(KeyBinding::Context);
        let mut hidden = by_message(KeyBinding::Certificate);
        let encryption = hidden.encryption.as_mut().expect("it encrypts");
        let signature = EncryptedPart::customary(Part::Signature);
        encryption.parts.push(signature);
        assert!(renewing(&hidden, &conversation).is_none());
        let mut unsigned = by_message(KeyBinding::Certificate);
        unsigned.signature = None;
        assert!(renewing(&unsigned, &conversation).is_none());
        assert!(renewing(&users(), &conversation).is_none());
    }

    #[test]
    fn on_tls_there_is_no_renewal_without_timestamp_or_of_what_looks_like_other_messages() {
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
