//! Requests to renew a context that show both at once who asks and that he has its key
//! (WS-SecureConversation 1.4, 5): secured as the bootstrap is, and endorsed by the context. So WCF
//! and Metro do it.
//!
//! The one rule: what such a message looks like chooses its plan, and nothing else. The plan
//! demands all that the bootstrap's does, and the context's signature besides; and what it has
//! opened may ask for a token, never for anything of the application.

use soapstone_wss::names::{DS, WSSE, XENC};
use soapstone_wss::{
    EncryptedPart, EndorsingToken, Envelope, InboundPlan, KeyBinding, Part, Policy,
};

use super::bootstrap::Conversation;
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
        let signature = usize::from(policy.signs_with().is_some());
        let shown = policy.encryption().is_none();
        Self {
            user: shown.then_some(policy.username().is_some()),
            signatures: signature + policy.endorsing_beside().count(),
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
    let signature = conversation.signature()?;
    let alike = bootstrap.is_by_connection() == conversation.is_by_connection();
    if !alike || signature.key != KeyBinding::Context || hides_signatures(bootstrap) {
        return None;
    }
    if bootstrap.is_by_connection() {
        // Without a Timestamp there is nothing to endorse.
        bootstrap.header.timestamp?;
    }
    let derived_keys = conversation.derived_keys();
    let mut policy = bootstrap.clone();
    if policy.signature().is_none() && !policy.is_by_connection() {
        // Nothing signs what is asked for.
        return None;
    }
    // Whoever signs by name asks; over a connection that protects messages, the context does where
    // nobody signs by name.
    policy.endorse_with(EndorsingToken::by_context(true, derived_keys));
    let told_apart = !Look::under(&policy).is_like(Look::under(conversation));
    (told_apart && policy.endorsing_beside().count() < policy.limits.signatures).then_some(policy)
}

/// Whether nobody sees how many signatures there are before he has deciphered them; or, on TLS,
/// whether anything is encrypted at all.
fn hides_signatures(policy: &Policy) -> bool {
    let encrypts_signature = |parts: &[EncryptedPart]| {
        let mut parts = parts.iter();
        parts.any(|encrypted| encrypted.part == Part::Signature)
    };
    policy
        .encryption()
        .is_some_and(|encryption| policy.is_by_connection() || encrypts_signature(encryption.parts))
}

impl Conversation {
    /// The plan of a message that names a context, where it looks like a request that is secured as
    /// the bootstrap's are besides.
    pub(super) fn renewal(&self, envelope: &Envelope) -> Option<&InboundPlan> {
        let plan = self.renewal_inbound.as_ref()?;
        let policy = plan.policy();
        let look = Look::of(envelope, policy.header.actor.as_deref());
        let hidden = policy.encryption().is_some()
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
    use soapstone_wss::{
        Binding, KeyReference, Mechanism, PasswordKind, Suite, SymmetricToken, TimestampPolicy,
        UsernamePolicy,
    };

    use super::*;

    fn on_tls(token: Option<EndorsingToken>) -> Policy {
        let suite = Suite::named("Basic256").expect("a suite");
        let mut policy = Mechanism::None.policy(suite);
        policy.binding = Binding::Transport;
        policy.header.timestamp = Some(TimestampPolicy::default());
        if let Some(token) = token {
            policy.endorse_with(token);
        }
        policy
    }

    fn by_context() -> EndorsingToken {
        EndorsingToken::by_context(true, None)
    }

    fn by_certificate() -> EndorsingToken {
        EndorsingToken::by_certificate(KeyReference::Direct)
    }

    fn users() -> Policy {
        let mut policy = on_tls(None);
        let passwords = vec![PasswordKind::Text];
        policy.set_username(Some(UsernamePolicy::with_passwords(passwords)));
        policy
    }

    #[test]
    fn a_renewal_demands_what_the_bootstrap_does_and_the_contexts_signature_over_the_timestamp() {
        let conversation = on_tls(Some(by_context()));
        let by_user = renewing(&users(), &conversation).expect("it can be said");
        assert_eq!(by_user.signature(), conversation.signature());
        assert_eq!(by_user.username(), users().username());
        assert!(by_user.is_by_connection() && by_user.header.timestamp.is_some());
        let certificate = on_tls(Some(by_certificate()));
        let by_name = renewing(&certificate, &conversation).expect("it can be said");
        assert_eq!(by_name.signature(), certificate.signature());
        let beside: Vec<_> = by_name.endorsing_beside().cloned().collect();
        assert_eq!(beside, [by_context()]);
    }

    /// Messages whose Body is signed and encrypted by keys of their own.
    fn by_message(key: Option<SymmetricToken>) -> Policy {
        let suite = Suite::named("Basic256").expect("a suite");
        let mut policy = Mechanism::SignEncrypt.policy(suite);
        if let Some(key) = key {
            policy.protect_with(key);
        }
        policy
    }

    #[test]
    fn without_tls_the_contexts_signature_covers_that_of_the_bootstrap() {
        let conversation = by_message(Some(SymmetricToken::Context { carried: true }));
        for key in [None, Some(SymmetricToken::Session(KeyReference::Direct))] {
            let bootstrap = by_message(key);
            let policy = renewing(&bootstrap, &conversation).expect("it can be said");
            assert_eq!(policy.signature(), bootstrap.signature());
            assert_eq!(policy.encryption(), bootstrap.encryption());
            let beside: Vec<_> = policy.endorsing_beside().cloned().collect();
            assert_eq!(beside, [by_context()]);
        }
    }

    #[test]
    fn without_tls_there_is_no_renewal_where_signatures_are_hidden_or_nothing_is_signed() {
        let conversation = by_message(Some(SymmetricToken::Context { carried: true }));
        let mut hidden = by_message(None);
        let signature = EncryptedPart::customary(Part::Signature);
        hidden.parts.encrypted.push(signature);
        assert!(renewing(&hidden, &conversation).is_none());
        let mut unsigned = by_message(None);
        unsigned.parts.signed.clear();
        assert!(renewing(&unsigned, &conversation).is_none());
        assert!(renewing(&users(), &conversation).is_none());
    }

    #[test]
    fn on_tls_there_is_no_renewal_without_timestamp_or_of_what_looks_like_other_messages() {
        let conversation = on_tls(Some(by_context()));
        let none = |change: fn(&mut Policy, &mut Policy)| {
            let (mut bootstrap, mut conversation) = (users(), conversation.clone());
            change(&mut bootstrap, &mut conversation);
            renewing(&bootstrap, &conversation).is_none()
        };
        assert!(!none(|_, _| {}));
        assert!(none(|bootstrap, _| bootstrap.binding = Binding::None));
        assert!(none(|_, conversation| conversation.binding = Binding::None));
        assert!(none(|bootstrap, _| bootstrap.header.timestamp = None));
        assert!(none(
            |_, conversation| *conversation = on_tls(Some(by_certificate()))
        ));
        assert!(none(
            |bootstrap, conversation| conversation.set_username(bootstrap.username().cloned())
        ));
        assert!(none(|bootstrap, _| bootstrap.set_username(None)));
    }
}
