//! What is done about contexts, and for whom.

mod batches;

use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use soapstone_crypto::SymmetricKey;
use soapstone_trust::{
    AppliesTo, ClientRules, Operation, PendingCancel, PendingIssue, Refusal, ServiceRules,
    TrustRequest,
};
use soapstone_wss::{
    ContextOwner, ConversationVersion, FaultCode, FirstSeen, InboundPlan, Keys, Lookups, Mechanism,
    ReplayKey, SoapVersion, Suite,
};
use soapstone_xml::Limits;

use super::super::asking::drive;
use super::*;
use crate::attempts::{Attempts, KeyName, Outcome, Tally};
use crate::config::EndpointConfig;
use crate::endpoint::{Call, Client, Endpoint, Fixed, HandshakeError, Memory, Service};
use crate::replay::{ForgetfulReplayCache, ReplayCache, ReplayError};

/// Has the latest instance of one context.
#[derive(Debug, Default)]
struct Latest(Mutex<Option<SecurityContext>>);

impl Latest {
    fn get(&self) -> MutexGuard<'_, Option<SecurityContext>> {
        self.0.lock().expect("no test panics here")
    }
}

impl ContextStore for Latest {
    fn find(
        &self,
        _: &str,
        name: &ContextName,
        _: Timestamp,
    ) -> Result<Option<SecurityContext>, StoreUnavailable> {
        Ok(self.get().clone().filter(|latest| latest.name() == *name))
    }

    fn insert(&self, _: &str, context: &SecurityContext) -> Result<(), StoreUnavailable> {
        *self.get() = Some(context.clone());
        Ok(())
    }

    fn renew(
        &self,
        _: &str,
        _: &SecurityContext,
        _: Duration,
        _: Timestamp,
    ) -> Result<bool, StoreUnavailable> {
        Ok(false)
    }

    fn amend(
        &self,
        _: &str,
        before: &SecurityContext,
        after: &SecurityContext,
    ) -> Result<bool, StoreUnavailable> {
        let mut latest = self.get();
        let there = latest.as_ref().map(SecurityContext::name) == Some(before.name());
        if there {
            *latest = Some(after.clone());
        }
        Ok(there)
    }

    fn cancel(&self, _: &str, _: &str) -> Result<bool, StoreUnavailable> {
        Ok(self.get().take().is_some())
    }
}

/// A service that demands nothing.
fn undemanding() -> Service {
    let policy = Mechanism::None.policy(Suite::named("Basic256GCM").expect("a suite"));
    let inbound = InboundPlan::compile(policy.clone(), Keys::default()).expect("a plan");
    let outbound = OutboundPlan::compile(policy, Keys::default()).expect("a plan");
    Service::of_plans(inbound, outbound, Limits::default())
}

fn some_context(now: Timestamp) -> SecurityContext {
    SecurityContext {
        version: ConversationVersion::V13,
        identifier: "urn:uuid:6b2f7c1e-0000-4000-8000-000000000001".to_owned(),
        instance: None,
        secret: SymmetricKey::generate(32).expect("a key"),
        created: now,
        expires: now + Duration::from_secs(600),
        owner: ContextOwner::Anonymous,
    }
}

/// What becomes of a context that is amended when the store has `meanwhile` in its place.
fn amended(
    meanwhile: impl FnOnce(SecurityContext) -> Option<SecurityContext>,
) -> (Result<&'static str, Rejected>, Option<SecurityContext>) {
    let now = Timestamp::now();
    let context = some_context(now);
    let (_, request) = PendingIssue::amend(&ClientRules::default(), &context);
    let plain = envelope_of(SoapVersion::V11, None, &request.body);
    let envelope = Envelope::parse(plain, &Limits::default(), &mut Buffers::default());
    let envelope = envelope.expect("it is an envelope");
    let alice = Requester {
        owner: ContextOwner::User("alice".to_owned()),
        token: None,
        context: Some(context.clone()),
        confidential: true,
        signers: Vec::new(),
        mixed: false,
        idle: false,
    };
    let service = SecurityTokenService::new(ServiceRules::default());
    let find = |_: &ContextName| Ok(Some(context.clone()));
    let answer = service
        .answer(
            envelope.body(),
            Some(&request.action),
            &alice,
            Records::of_contexts(&find),
            now,
        )
        .expect("it is granted");
    let contexts = Latest(Mutex::new(meanwhile(context)));
    let memory = Memory {
        replay: &ForgetfulReplayCache,
        contexts: &contexts,
    };
    let endpoint = undemanding();
    let done = drive(memory, &mut Buffers::default(), async |workspace| {
        endpoint.carry_out(answer.effects, workspace, now).await
    });
    let done = match done.failed {
        None => Ok(done.done[0].what),
        Some(failed) => Err(failed),
    };
    let latest = contexts.get().take();
    (done, latest)
}

#[test]
fn an_amendment_brings_no_cancelled_context_back_and_undoes_no_renewal() {
    let (done, latest) = amended(Some);
    assert_eq!(done, Ok("amended"));
    let latest = latest.expect("it is there");
    assert_eq!(latest.owner.to_string(), "alice");

    let refused = Err(Rejected::ContextUnknown {
        name: latest.name(),
    });
    let (done, latest) = amended(|_| None);
    assert_eq!(done, refused);
    assert!(latest.is_none(), "it stays cancelled");

    let (done, latest) = amended(|context| {
        Some(SecurityContext {
            instance: Some("a".to_owned()),
            ..context
        })
    });
    assert_eq!(done, refused);
    let latest = latest.expect("it is there");
    assert_eq!(latest.instance.as_deref(), Some("a"), "it stays renewed");
}

/// A client or a service as in `interop/recorded/cxf`, with what `security` says.
fn recorded<P: Fixed>([own, peer]: [&str; 2], security: &str) -> Endpoint<P> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop/recorded/cxf");
    let text = format!(
        "identity = {{ key = \"keys/{own}.key.pem\", certificate = \"keys/{own}.cert.pem\" }}\n\
         peer = {{ certificate = \"keys/{peer}.cert.pem\" }}\ntrust = {{ anchors = [\"keys/ca.pem\"] }}\n\
         [security]\n{security}\n"
    );
    EndpointConfig::from_text(&text, &folder.join("endpoint.toml"), &|_| None)
        .and_then(|config| Endpoint::from_config(&config))
        .unwrap_or_else(|problems| panic!("{problems}"))
}

fn both(security: &str) -> (Client, Service) {
    let client = recorded(["client", "server"], security);
    (client, recorded(["server", "client"], security))
}

/// What becomes of a message that arrives at a service.
fn arrived(
    service: &Service,
    bytes: Vec<u8>,
    memory: Memory<'_>,
    now: Timestamp,
) -> Result<Arrived, ReceiveError> {
    let mut buffers = Buffers::default();
    let mut call = Call::new(now, &mut buffers);
    let request = service.read(bytes, &mut call)?;
    service.receive_with(request, memory, &mut call)
}

/// What a service with a recorded policy, in which `from` is replaced by `to`, says to a request
/// for a context.
fn refusal(
    (from, to): (&str, &str),
    ask: impl FnOnce() -> (PendingIssue, TrustRequest),
) -> Option<Refusal> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop/recorded/cxf");
    let wsdl = folder.join("secure-conversation-Basic256/service.wsdl");
    let wsdl = std::fs::read_to_string(wsdl).expect("a recorded policy");
    assert!(wsdl.contains(from), "{from}");
    let temporary = soapstone_testkit::Folder::new();
    let changed = temporary.write("service.wsdl", wsdl.replace(from, to));
    let security = format!("policy = \"{}\"", changed.display());
    let (client, service) = both(&security);
    let moment = std::fs::read_to_string(folder.join("moment")).expect("the moment");
    let now: Timestamp = moment.trim().parse().expect("a moment");
    let mut buffers = Buffers::default();
    let handshakes = client.handshakes().expect("it has conversations");
    let asked = handshakes
        .ask(
            ask(),
            "http://localhost/",
            SoapVersion::V11,
            now,
            &mut buffers,
        )
        .expect("it can be secured");
    let contexts = Latest::default();
    let memory = Memory {
        replay: &ForgetfulReplayCache,
        contexts: &contexts,
    };
    match arrived(&service, asked.bytes, memory, now).expect("it is accepted as a message") {
        Arrived::Answered(answer) => answer.refused.map(|fault| fault.refusal),
        Arrived::Message(_) => panic!("it is no message of an application"),
    }
}

/// WS-SecurityPolicy 1.3, 10.2: `sp:RequireClientEntropy` and `sp:RequireAppliesTo` are demands on
/// requests for tokens.
#[test]
fn what_a_policy_demands_of_requests_for_tokens_is_demanded() {
    let now = Timestamp::now();
    let without_entropy = || {
        let mut rules = ClientRules::default();
        rules.entropy = false;
        let to = AppliesTo::new("http://localhost/", AddressingVersion::V10);
        PendingIssue::issue(&rules, Some(to), now)
    };
    let entropy = "<sp:RequireClientEntropy/>";
    assert_eq!(
        refusal((entropy, entropy), without_entropy),
        Some(Refusal::EntropyMissing)
    );
    assert_eq!(refusal((entropy, ""), without_entropy), None);

    let without_scope = || PendingIssue::issue(&ClientRules::default(), None, now);
    let scope = "<sp:RequireClientEntropy/><sp:RequireAppliesTo/>";
    assert_eq!(
        refusal((entropy, scope), without_scope),
        Some(Refusal::ScopeMissing)
    );
    assert_eq!(refusal((entropy, entropy), without_scope), None);
}

/// WS-SecurityPolicy 1.3, 5.4.7: `sp:MustNotSendRenew` and its like say that the service does not
/// do it.
#[test]
fn what_a_policy_rules_out_is_not_done_about_contexts() {
    let now = Timestamp::now();
    let renewal = || PendingIssue::renew(&ClientRules::default(), &some_context(now), now);
    let bootstrap = "<sp:BootstrapPolicy>";
    for (assertion, refused) in [
        (
            "<sp:MustNotSendRenew/>",
            Some(Refusal::OperationNotOffered {
                operation: Operation::Renew,
            }),
        ),
        (
            "<sp:MustNotSendCancel/>",
            Some(Refusal::ContextNotProven {
                name: Some(some_context(now).name()),
            }),
        ),
    ] {
        let changed = format!("{assertion}{bootstrap}");
        assert_eq!(refusal((bootstrap, &changed), renewal), refused);
    }
}

/// WS-Trust 1.4, 12: a client shows its part of a key to the service alone, whether that would mind
/// or not.
#[test]
fn a_client_shows_its_part_of_a_key_to_nobody_else() {
    let begun = |bootstrap: &str, to: &str| {
        let security = format!(
            "mechanism = \"secure-conversation\"\nconversations = {{ bootstrap = \"{bootstrap}\" }}"
        );
        let (client, _) = both(&security);
        let handshakes = client.handshakes().expect("it has conversations");
        let mut buffers = Buffers::default();
        let mut call = Call::new(Timestamp::now(), &mut buffers);
        let begun = handshakes.begin(to, SoapVersion::V11, &mut call);
        begun.map(drop)
    };
    for to in ["http://localhost/", "HTTP://localhost/", "localhost"] {
        let refused = begun("sign", to);
        assert!(
            matches!(refused, Err(HandshakeError::WouldExpose)),
            "{refused:?}"
        );
    }
    assert!(begun("sign", "https://localhost/").is_ok());
    assert!(begun("sign-encrypt", "http://localhost/").is_ok());
}

/// WS-SecureConversation 1.4, 6: the key of a context signs what is asked for. Where the policy has
/// it sign something else, somebody on the way can ask for what he likes.
#[test]
fn a_request_that_the_contexts_key_did_not_sign_changes_no_context() {
    let outcome = |more: &str| {
        let security = format!("mechanism = \"secure-conversation\"\n{more}");
        let (client, service) = both(&security);
        let (now, mut buffers) = (Timestamp::now(), Buffers::default());
        let context = some_context(now);
        let contexts = Latest(Mutex::new(Some(context.clone())));
        let memory = Memory {
            replay: &ForgetfulReplayCache,
            contexts: &contexts,
        };
        let (_, request) = PendingCancel::new(&context);
        let harmless = vec![b'x'; request.body.len() - "<e></e>".len()];
        let harmless = [b"<e>".as_slice(), &harmless, b"</e>"].concat();
        let plain = envelope_of(SoapVersion::V11, None, &harmless);
        let sent = client
            .secure_with(
                plain,
                Outgoing::within(&context),
                &mut Call::new(now, &mut buffers),
            )
            .expect("it can be secured");
        let mut changed = sent.bytes;
        let body = changed
            .windows(harmless.len())
            .position(|it| it == harmless);
        let body = body.expect("it is not encrypted");
        changed[body..body + harmless.len()].copy_from_slice(&request.body);
        let refused = match arrived(&service, changed, memory, now) {
            Ok(Arrived::Answered(answer)) => answer.refused.map(|fault| fault.refusal),
            Ok(Arrived::Message(_)) => panic!("it asks for a token"),
            Err(ReceiveError::Rejected(rejected)) => {
                assert_eq!(rejected.name(), "digest-mismatch");
                None
            }
            Err(other) => panic!("{other:?}"),
        };
        assert!(contexts.get().is_some(), "it is still there");
        refused
    };
    let name = some_context(Timestamp::now()).name();
    let unsigned = "signed = [\"Timestamp\"]\nencrypted = []";
    assert_eq!(
        outcome(unsigned),
        Some(Refusal::ContextNotProven { name: Some(name) })
    );
    assert_eq!(outcome("encrypted = []"), None);
}

/// Has a context of every name, and none of them opens.
#[derive(Debug)]
struct Poisoned;

impl ContextStore for Poisoned {
    fn find(
        &self,
        _: &str,
        name: &ContextName,
        _: Timestamp,
    ) -> Result<Option<SecurityContext>, StoreUnavailable> {
        Err(StoreUnavailable::Unreadable {
            identifier: name.identifier.clone(),
        })
    }

    fn insert(&self, _: &str, _: &SecurityContext) -> Result<(), StoreUnavailable> {
        Ok(())
    }

    fn renew(
        &self,
        _: &str,
        _: &SecurityContext,
        _: Duration,
        _: Timestamp,
    ) -> Result<bool, StoreUnavailable> {
        Ok(false)
    }

    fn amend(
        &self,
        _: &str,
        _: &SecurityContext,
        _: &SecurityContext,
    ) -> Result<bool, StoreUnavailable> {
        Ok(false)
    }

    fn cancel(&self, _: &str, _: &str) -> Result<bool, StoreUnavailable> {
        Ok(false)
    }
}

/// WS-SecureConversation 1.4, 9: a client that is told of a bad context makes another one. One that
/// is told to come again later would be told so until its context ends.
#[test]
fn a_context_that_does_not_open_is_said_to_be_bad_so_that_its_client_begins_anew() {
    let now = Timestamp::now();
    let name = some_context(now).name();
    let lookups = Lookups {
        contexts: vec![name.clone()],
        ..Lookups::default()
    };
    let endpoint = undemanding();
    let memory = Memory {
        replay: &ForgetfulReplayCache,
        contexts: &Poisoned,
    };
    let refused = drive(memory, &mut Buffers::default(), async |workspace| {
        let mut nobody = ();
        let facts = endpoint.facts(&lookups, None, workspace, now, &mut nobody);
        facts.await.map(|facts| facts.contexts)
    });
    let refused = refused.expect_err("it does not open");
    assert_eq!(refused, Rejected::ContextUnreadable { name });
    let bad = FaultCode::BadContextToken(ConversationVersion::V13);
    assert_eq!(refused.fault(), bad);
    assert_eq!(refused.name(), "context-unreadable");
}

/// Remembers so many cancelled assertions, and no more of anybody.
#[derive(Debug)]
struct ShareUsed(Mutex<usize>);

impl ReplayCache for ShareUsed {
    fn first_seen(&self, marks: &[ReplayKey], now: Timestamp) -> Result<FirstSeen, ReplayError> {
        ForgetfulReplayCache.first_seen(marks, now)
    }
}

impl Attempts for ShareUsed {
    fn begin(
        &self,
        marks: &[ReplayKey],
        names: &[KeyName],
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(FirstSeen, Vec<Tally>), ReplayError> {
        ForgetfulReplayCache.begin(marks, names, until, now)
    }

    fn end(
        &self,
        names: &[KeyName],
        outcome: Outcome,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<Tally>, ReplayError> {
        ForgetfulReplayCache.end(names, outcome, until, now)
    }

    fn cancel(
        &self,
        _: &KeyName,
        _: &KeyName,
        _: Timestamp,
        _: Timestamp,
    ) -> Result<(), ReplayError> {
        let mut left = self.0.lock().expect("no test panics here");
        *left = left
            .checked_sub(1)
            .ok_or(ReplayError::ShareUsed { share: 2 })?;
        Ok(())
    }
}

fn cancel(id: &str, now: Timestamp) -> Effect {
    Effect::CancelAssertion {
        issuer: "https://sts.example".to_owned(),
        id: id.to_owned(),
        until: now + Duration::from_secs(60),
        requester: "user\nmallory".to_owned(),
    }
}

/// What was cancelled before the share was used stays cancelled, and is told.
#[test]
fn cancellations_of_a_batch_that_fails_are_told() {
    let now = Timestamp::now();
    let endpoint = undemanding();
    let memory = Memory {
        replay: &ShareUsed(Mutex::new(1)),
        contexts: &Latest::default(),
    };
    let carried = drive(memory, &mut Buffers::default(), async |workspace| {
        let effects = vec![cancel("_1", now), cancel("_2", now), cancel("_3", now)];
        endpoint.carry_out(effects, workspace, now).await
    });
    assert_eq!(carried.cancelled, ["_1"]);
    let used = Rejected::CancellationsUsed { share: 2 };
    assert_eq!(carried.failed, Some(used));
}

/// No store is away: operators are not called, and the requester does not try again at once.
#[test]
fn who_has_cancelled_too_many_assertions_is_refused_for_that() {
    let now = Timestamp::now();
    let endpoint = undemanding();
    let memory = Memory {
        replay: &ShareUsed(Mutex::new(0)),
        contexts: &Latest::default(),
    };
    let refused = drive(memory, &mut Buffers::default(), async |workspace| {
        let effects = vec![cancel("_1", now)];
        endpoint.carry_out(effects, workspace, now).await
    });
    let refused = refused.failed.expect("the share is used");
    assert_eq!(refused, Rejected::CancellationsUsed { share: 2 });
    assert!(!refused.is_temporary());
    assert_eq!(refused.name(), "cancellations-used");
}
