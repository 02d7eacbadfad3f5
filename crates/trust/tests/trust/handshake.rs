//! The whole life of a context: issued, renewed, amended, validated, cancelled, between both sides
//! of this crate.

use std::sync::Arc;

use jiff::Timestamp;
use soapstone_crypto::{Identity, SecretBytes, TrustStore};
use soapstone_testkit::keys;
use soapstone_trust::addressing::{Addressing, AddressingVersion};
use soapstone_trust::{
    AppliesTo, Cached, ClientRules, ComputedKey, PendingCancel, PendingIssue, PendingValidate,
    Requester, TokenCache, TokenStatus, TrustError, TrustFaultCode, TrustRequest, TrustVersion,
};
use soapstone_wss::{
    Binding, ContextName, ContextOwner, EncryptedPart, EndorsingToken, Envelope, Facts, FirstSeen,
    InboundPlan, KeyReference, Keys, Mechanism, OutboundPlan, Outgoing, Part, Policy,
    SecurityContext, SoapVersion, Suite, SupportingToken, SymmetricToken, User, Verified,
};
use soapstone_xml::{Buffers, Limits};

use crate::support::{Host, after, alice, context, envelope, holder, now, requester, user};

/// Asks, answers, accepts.
fn exchange(
    host: &Host,
    pending: PendingIssue,
    request: &TrustRequest,
    requester: &Requester,
    at: Timestamp,
) -> SecurityContext {
    let answer = host
        .answer(&request.body, Some(&request.action), requester, at)
        .unwrap();
    assert!(answer.confidential && request.confidential);
    let body = envelope(&answer.body);
    pending
        .accept(body.body(), user("service"), at)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&answer.body)))
}

/// The context of the service has the same key and ends at the same time.
fn assert_shared(host: &Host, ours: &SecurityContext) {
    let theirs = host.find(&ours.name()).expect("a context");
    assert_eq!(theirs.secret.expose(), ours.secret.expose());
    assert_eq!(theirs.name(), ours.name());
    assert_eq!(theirs.expires, ours.expires);
}

#[test]
fn a_context_is_issued_renewed_and_cancelled_in_both_versions() {
    for version in TrustVersion::ALL {
        for computed_key in [ComputedKey::PSha1, ComputedKey::PSha256] {
            for key_size in [128, 192, 256, 512] {
                life(version, computed_key, key_size);
            }
        }
    }
}

fn life(version: TrustVersion, computed_key: ComputedKey, key_size: u32) {
    let host = Host::new(|rules| {
        rules.computed_keys = vec![ComputedKey::PSha1, ComputedKey::PSha256];
    });
    let mut rules = ClientRules::default();
    rules.version = version;
    rules.computed_key = computed_key;
    rules.key_size = key_size;
    let scope = AppliesTo::new("https://example.org/books", AddressingVersion::V10);
    let (pending, request) = PendingIssue::issue(&rules, Some(scope), now());
    let first = exchange(&host, pending, &request, &alice(), now());
    assert_eq!(first.secret.len() * 8, key_size as usize);
    assert_eq!(first.instance, None);
    assert_shared(&host, &first);

    let (pending, request) = PendingIssue::renew(&rules, &first, after(60));
    let signed = holder(user("alice"), &host.find(&first.name()).unwrap());
    let second = exchange(&host, pending, &request, &signed, after(60));
    assert_eq!(second.identifier, first.identifier);
    assert!(second.instance.is_some());
    assert_ne!(second.secret.expose(), first.secret.expose());
    assert!(second.expires > first.expires);
    assert_shared(&host, &second);

    let (pending, request) = PendingCancel::new(&second);
    let signed = holder(ContextOwner::Anonymous, &host.find(&second.name()).unwrap());
    let answer = host
        .answer(&request.body, Some(&request.action), &signed, after(120))
        .unwrap();
    assert!(!answer.confidential);
    assert_eq!(
        answer.action,
        format!("{}/RSTR/SCT/Cancel", version.namespace())
    );
    pending.accept(envelope(&answer.body).body()).unwrap();
    assert!(host.contexts.borrow().is_empty());
}

/// WS-Trust 1.4, 4.4.3: the requestor has nothing to contribute, the key is the issuer's.
#[test]
fn a_client_without_entropy_gets_the_key_of_the_service() {
    let host = Host::default();
    let mut rules = ClientRules::default();
    rules.entropy = false;
    let (pending, request) = PendingIssue::issue(&rules, None, now());
    assert!(!request.confidential);
    let answer = host
        .answer(&request.body, Some(&request.action), &alice(), now())
        .unwrap();
    assert!(answer.confidential);
    let body = envelope(&answer.body);
    let ours = pending
        .accept(body.body(), ContextOwner::Anonymous, now())
        .unwrap();
    assert_shared(&host, &ours);
}

/// WS-SecureConversation 1.4, 4.
#[test]
fn an_anonymous_context_gets_an_owner_and_keeps_its_key() {
    let host = Host::new(|rules| rules.anonymous = true);
    let rules = ClientRules::default();
    let (pending, request) = PendingIssue::issue(&rules, None, now());
    let nobody = requester(ContextOwner::Anonymous);
    let first = exchange(&host, pending, &request, &nobody, now());

    let (pending, request) = PendingIssue::amend(&rules, &first);
    assert!(!request.confidential);
    let signed = holder(user("alice"), &host.find(&first.name()).unwrap());
    let answer = host
        .answer(&request.body, Some(&request.action), &signed, now())
        .unwrap();
    assert!(!answer.confidential);
    let body = envelope(&answer.body);
    let amended = pending.accept(body.body(), user("service"), now()).unwrap();
    assert_eq!(amended.name(), first.name());
    assert_shared(&host, &amended);
    assert_eq!(host.find(&first.name()).unwrap().owner.to_string(), "alice");
}

/// WS-Trust 1.4, 7.
#[test]
fn the_owner_of_a_context_is_told_whether_it_is_good() {
    let host = Host::default();
    let rules = ClientRules::default();
    let (pending, request) = PendingIssue::issue(&rules, None, now());
    let context = exchange(&host, pending, &request, &alice(), now());
    let status = |name: ContextName, requester: &Requester, at| {
        let (pending, request) = PendingValidate::new(name);
        let answer = host
            .answer(&request.body, Some(&request.action), requester, at)
            .unwrap();
        assert!(answer.effects.is_empty());
        pending.accept(envelope(&answer.body).body()).unwrap()
    };
    let name = context.name();
    assert_eq!(status(name.clone(), &alice(), now()), TokenStatus::Valid);
    let held = holder(ContextOwner::Anonymous, &host.find(&name).unwrap());
    assert_eq!(status(name.clone(), &held, now()), TokenStatus::Valid);
    assert_eq!(
        status(name.clone(), &alice(), context.expires),
        TokenStatus::Invalid
    );
    let mut unknown = name;
    unknown.identifier.push('x');
    assert_eq!(status(unknown, &alice(), now()), TokenStatus::Invalid);
}

#[test]
fn a_fault_is_told_with_its_code() {
    for (code, blames_token) in [
        (TrustFaultCode::ContextUnableToRenew, false),
        (TrustFaultCode::FailedAuthentication, true),
    ] {
        let (pending, _) = PendingIssue::issue(&ClientRules::default(), None, now());
        let mut fault = Vec::new();
        code.write(TrustVersion::V13, SoapVersion::V12, &mut fault);
        let refused = pending.accept(envelope(&fault).body(), ContextOwner::Anonymous, now());
        let expected = TrustError::Fault {
            code: Some(code),
            blames_token,
        };
        assert_eq!(refused.unwrap_err(), expected);
    }
}

#[test]
fn a_client_renews_what_its_cache_says_is_due() {
    let host = Host::default();
    let mut rules = ClientRules::default();
    rules.lifetime = Some(std::time::Duration::from_secs(100));
    let mut cache = TokenCache::new(10);
    let endpoint = "https://example.org/books";
    assert!(matches!(cache.find(endpoint, now()), Cached::Missing));
    let (pending, request) = PendingIssue::issue(&rules, None, now());
    let context = exchange(&host, pending, &request, &alice(), now());
    assert_eq!(context.expires, after(100));
    cache.put(endpoint, context, now());
    let Cached::RenewalDue(due) = cache.find(endpoint, after(95)) else {
        panic!("a renewal is due");
    };
    let (pending, request) = PendingIssue::renew(&rules, &due, after(95));
    let signed = holder(user("alice"), &host.find(&due.name()).unwrap());
    let renewed = exchange(&host, pending, &request, &signed, after(95));
    cache.put(endpoint, renewed.clone(), after(95));
    cache.forget(endpoint, &due);
    let Cached::Usable(current) = cache.find(endpoint, after(96)) else {
        panic!("a usable context");
    };
    assert_eq!(current.name(), renewed.name());
    assert_eq!(current.expires, after(195));
}

/// Two parties with certificates, and the policies between them.
struct Wire {
    client: Arc<Identity>,
    service: Arc<Identity>,
    trust: Arc<TrustStore>,
}

impl Wire {
    fn new() -> Self {
        // The story is of another day than the certificates.
        let mut rules = keys::trust_rules();
        rules.ignore_validity = true;
        Self {
            client: keys::identity("CN=client", keys::RSA),
            service: keys::identity("CN=service", keys::RSA),
            trust: Arc::new(TrustStore::new(rules).unwrap()),
        }
    }

    fn keys(&self, own: &Arc<Identity>, peer: &Arc<Identity>) -> Keys {
        Keys {
            identity: Some(Arc::clone(own)),
            peer: Some(peer.certificate().clone()),
            trust: Some(Arc::clone(&self.trust)),
            ..Keys::default()
        }
    }

    /// Secures a message with headers and a Body, and opens it at the other end.
    fn travel(
        &self,
        from: &Arc<Identity>,
        to: &Arc<Identity>,
        headers: &Addressing,
        body: &[u8],
        keys: Between<'_>,
    ) -> Verified<Envelope> {
        let soap = SoapVersion::V11;
        let mut text =
            format!("<s:Envelope xmlns:s=\"{}\"><s:Header>", soap.namespace()).into_bytes();
        headers.write(Some(soap), &mut text);
        text.extend_from_slice(b"</s:Header><s:Body>");
        text.extend_from_slice(body);
        text.extend_from_slice(b"</s:Body></s:Envelope>");
        let policy = keys.policy();
        let (mut buffers, limits) = (Buffers::default(), Limits::default());
        let plain = Envelope::parse(text, &limits, &mut buffers).unwrap();
        let secured = OutboundPlan::compile(policy.clone(), self.keys(from, to))
            .unwrap()
            .secure(plain, keys.outgoing(), now(), &mut buffers)
            .unwrap();
        assert!(!String::from_utf8_lossy(&secured.bytes).contains("RequestSecurityToken"));
        let sealed = Envelope::parse(secured.bytes, &limits, &mut buffers).unwrap();
        let facts = Facts {
            contexts: keys.known.to_vec(),
            ..Facts::default()
        };
        let opened = InboundPlan::compile(policy, self.keys(to, from))
            .unwrap()
            .open_unmarked(sealed, &facts, now(), &mut buffers)
            .unwrap();
        let first_seen = FirstSeen::assertion(opened.late_marks());
        opened.admit(first_seen).unwrap()
    }
}

/// What a message is secured with, and what its receiver knows.
#[derive(Clone, Copy, Default)]
struct Between<'a> {
    context: Option<&'a SecurityContext>,
    known: &'a [SecurityContext],
}

impl<'a> Between<'a> {
    fn policy(self) -> Policy {
        let mut policy = Mechanism::SignEncrypt.policy(Suite::named("Basic256Sha256").unwrap());
        if self.context.is_some() {
            policy.protect_with(SymmetricToken::Context { carried: true });
        }
        for local in ["Action", "MessageID", "To", "RelatesTo", "ReplyTo"] {
            policy.parts.signed.push(Part::Header {
                namespace: AddressingVersion::V10.namespace().to_owned(),
                local: local.to_owned(),
            });
        }
        policy
    }

    fn outgoing(self) -> Outgoing<'a> {
        Outgoing {
            context: self.context,
            ..Outgoing::default()
        }
    }
}

/// The bootstrap by certificates, then a message and a cancellation by the context; bytes to
/// bytes.
#[test]
fn a_context_is_established_used_and_cancelled_by_secured_messages() {
    let wire = Wire::new();
    let (client, service) = (&wire.client, &wire.service);
    let host = Host::default();
    let to = "https://example.org/books".to_owned();
    let headers =
        |action: &str| Addressing::request(AddressingVersion::V10, action.to_owned(), to.clone());
    let heard = |message: &Verified<Envelope>| {
        Addressing::read(message.envelope().header().unwrap())
            .unwrap()
            .unwrap()
    };

    let (pending, request) = PendingIssue::issue(&ClientRules::default(), None, now());
    let asked = headers(&request.action);
    let keys = Between::default();
    let message = wire.travel(client, service, &asked, &request.body, keys);
    assert_eq!(heard(&message), asked);
    let requester = Requester::of(&message, &[], false);
    assert!(requester.confidential);
    let answer = host
        .answer_to(message.envelope(), &asked.action, &requester)
        .unwrap();
    let back = asked.answer(answer.action.clone());
    let message = wire.travel(service, client, &back, &answer.body, keys);
    assert_eq!(heard(&message).relates_to, asked.message_id);
    let peer = Requester::of(&message, &[], false).owner;
    let ours = pending
        .accept(message.envelope().body(), peer, now())
        .unwrap();
    assert_eq!(ours.owner.to_string(), "CN=service");
    let theirs = host.find(&ours.name()).unwrap();
    assert_eq!(theirs.owner.to_string(), "CN=client");
    assert_eq!(ours.secret.expose(), theirs.secret.expose());

    let (pending, request) = PendingCancel::new(&ours);
    let known = [theirs];
    let keys = Between {
        context: Some(&ours),
        known: &known,
    };
    let asked = headers(&request.action);
    let message = wire.travel(client, service, &asked, &request.body, keys);
    let requester = Requester::of(&message, &known, false);
    assert_eq!(requester.context.as_ref().unwrap().name(), ours.name());
    // The context's own protection does not make a new key of it confidential
    // (WS-SecureConversation 1.4, 5).
    assert!(!requester.confidential);
    let answer = host
        .answer_to(message.envelope(), &asked.action, &requester)
        .unwrap();
    let back = asked.answer(answer.action.clone());
    let keys = Between {
        context: Some(&known[0]),
        known: std::slice::from_ref(&ours),
    };
    let message = wire.travel(service, client, &back, &answer.body, keys);
    pending.accept(message.envelope().body()).unwrap();
    assert!(host.contexts.borrow().is_empty());
}

/// A service that is called over TLS holds what its callers endorse with: a Timestamp and its
/// signature. Beside a token of the service's own they make no request of the caller's.
#[test]
fn an_endorsing_signature_of_a_caller_makes_no_requester_of_him() {
    let wire = Wire::new();
    let password = || SecretBytes::new(b"open sesame".to_vec());
    let suite = || Suite::named("Basic256Sha256").unwrap();
    let by_user = || {
        let mut policy = Mechanism::Username.policy(suite());
        policy.binding = Binding::Transport;
        policy
    };
    let endorsed = || {
        let mut policy = by_user();
        let token = EndorsingToken::by_certificate(KeyReference::Direct);
        policy.supporting.push(SupportingToken::Endorsing(token));
        policy
    };
    let covered = || {
        let mut policy = Mechanism::Sign.policy(suite());
        policy.set_username(by_user().username().cloned());
        policy.parts.signed.push(Part::UsernameToken);
        policy
    };
    let body = PendingIssue::issue(&ClientRules::default(), None, now())
        .1
        .body;
    let secured = |policy: Policy, name: &str| {
        let keys = Keys {
            identity: Some(Arc::clone(&wire.client)),
            user: Some(Arc::new(User {
                name: name.to_owned(),
                password: password(),
            })),
            ..Keys::default()
        };
        let plan = OutboundPlan::compile(policy, keys).unwrap();
        let outgoing = Outgoing::default();
        let secured = plan.secure(envelope(&body), outgoing, now(), &mut Buffers::default());
        String::from_utf8(secured.unwrap().bytes).unwrap()
    };
    let token = |message: &str| {
        let (start, end) = ("<wsse:UsernameToken", "</wsse:UsernameToken>");
        let from = message.find(start).expect("a token");
        let to = message.find(end).expect("its end") + end.len();
        message[from..to].to_owned()
    };
    let opened = |policy: Policy, message: String| {
        let service = Keys {
            trust: Some(wire.trust.clone()),
            ..Keys::default()
        };
        let facts = Facts {
            passwords: ["alice", "mallory"]
                .map(|name| (name.to_owned(), password()))
                .into(),
            ..Facts::default()
        };
        let (mut buffers, limits) = (Buffers::default(), Limits::default());
        let sealed = Envelope::parse(message.into_bytes(), &limits, &mut buffers).unwrap();
        let opened = InboundPlan::compile(policy, service)
            .unwrap()
            .open_unmarked(sealed, &facts, now(), &mut buffers)
            .unwrap();
        let first_seen = FirstSeen::assertion(opened.late_marks());
        let message = opened.admit(first_seen).unwrap();
        assert_eq!(message.evidence().signatures.len(), 1);
        let requester = Requester::of(&message, &[], true);
        (requester.owner.to_string(), requester.mixed)
    };
    let of_caller = secured(endorsed(), "alice");
    let of_service = secured(by_user(), "mallory");
    let moved = of_caller.replace(&token(&of_caller), &token(&of_service));
    assert_eq!(opened(endorsed(), moved), ("mallory".to_owned(), true));
    // The same with nothing moved cannot be told from that.
    assert_eq!(opened(endorsed(), of_caller), ("alice".to_owned(), true));
    let of_caller = secured(covered(), "alice");
    assert_eq!(opened(covered(), of_caller), ("alice".to_owned(), false));
}

/// A password's digest in the clear proves a user, and not whose message it is in: somebody on the
/// way who holds one back can have it in a message of his own, under a session key like anybody
/// makes. That must not give him a conversation in the user's name.
#[test]
fn a_user_whose_token_could_have_been_moved_into_a_message_owns_no_context() {
    let wire = Wire::new();
    let owner = |within: Option<ContextOwner>, hidden: bool, private_transport: bool| {
        let context = within.map(|owner| SecurityContext {
            owner,
            ..context("urn:uuid:within")
        });
        let key = match context {
            Some(_) => SymmetricToken::Context { carried: true },
            None => SymmetricToken::Session(KeyReference::Direct),
        };
        let suite = Suite::named("Basic256GCM").unwrap();
        let mut policy = Mechanism::SignEncrypt.policy(suite.clone());
        policy.set_username(Mechanism::Username.policy(suite).username().cloned());
        policy.protect_with(key);
        policy.parts.signed.push(Part::UsernameToken);
        if hidden {
            let token = EncryptedPart::customary(Part::UsernameToken);
            policy.parts.encrypted.push(token);
        }
        let password = || SecretBytes::new(b"open sesame".to_vec());
        let client = Keys {
            peer: Some(wire.service.certificate().clone()),
            user: Some(Arc::new(User {
                name: "alice".to_owned(),
                password: password(),
            })),
            ..Keys::default()
        };
        let service = Keys {
            identity: Some(Arc::clone(&wire.service)),
            ..Keys::default()
        };
        let (mut buffers, limits) = (Buffers::default(), Limits::default());
        let (_, request) = PendingIssue::issue(&ClientRules::default(), None, now());
        let secured = OutboundPlan::compile(policy.clone(), client)
            .unwrap()
            .secure(
                envelope(&request.body),
                Outgoing {
                    context: context.as_ref(),
                    ..Outgoing::default()
                },
                now(),
                &mut buffers,
            )
            .unwrap();
        let facts = Facts {
            contexts: context.into_iter().collect(),
            passwords: vec![("alice".to_owned(), password())],
            ..Facts::default()
        };
        let sealed = Envelope::parse(secured.bytes, &limits, &mut buffers).unwrap();
        let opened = InboundPlan::compile(policy, service)
            .unwrap()
            .open_unmarked(sealed, &facts, now(), &mut buffers)
            .unwrap();
        let first_seen = FirstSeen::assertion(opened.late_marks());
        let message = opened.admit(first_seen).unwrap();
        assert_eq!(message.evidence().user.as_deref(), Some("alice"));
        Requester::of(&message, &[], private_transport)
            .owner
            .to_string()
    };
    assert_eq!(owner(None, false, false), "anonymous");
    assert_eq!(owner(None, true, false), "alice");
    assert_eq!(owner(None, false, true), "alice");
    // Whoever has a conversation has a key, too.
    assert_eq!(owner(Some(user("mallory")), false, false), "anonymous");
    assert_eq!(
        owner(Some(ContextOwner::Anonymous), false, false),
        "anonymous"
    );
    assert_eq!(owner(Some(user("mallory")), true, false), "alice");
    assert_eq!(owner(Some(user("alice")), false, false), "alice");
}
