//! The four roles of an endpoint: each makes its own calls, with memory of the library or of its
//! caller.

#[path = "support/body.rs"]
mod body;

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use soapstone::crypto::{Identity, KeyKind, TrustRules, TrustStore, issue};
use soapstone::endpoint::{Step, StepObserver};
use soapstone::wss::{
    InboundPlan, Keys, Mechanism, Operation, OperationObserver, OutboundPlan, Outgoing, Policy,
    Rejected, SecuringEvent, Suite,
};
use soapstone::xml::{Buffers, Limits};
use soapstone::{
    Arrived, Call, Client, ForgetfulReplayCache, Memory, Opener, ReceiveError, Securer, Service,
};

/// What the Body of [`PLAIN`] holds.
const CONTENT: &str = "<getBooks xmlns=\"urn:books\"></getBooks>";

const PLAIN: &str = "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body><getBooks xmlns=\"urn:books\"></getBooks></s:Body></s:Envelope>";

const MEMORY: &ForgetfulReplayCache = &ForgetfulReplayCache;

/// What the Body of a message holds.
fn content(message: Vec<u8>) -> String {
    String::from_utf8(body::body_content(message)).expect("it is text")
}

fn memory() -> Memory<'static> {
    Memory::without_conversations(MEMORY)
}

/// Two parties that know each other, and what they agreed on.
struct Parties {
    client: Keys,
    service: Keys,
}

impl Parties {
    fn new() -> Self {
        let validity = issue::Validity::days(Timestamp::now(), 1);
        let kind = KeyKind::Rsa { bits: 2048 };
        let authority = issue::authority("CN=ca", kind, validity).expect("an authority");
        let party = |subject: &str| {
            let template = issue::Template::new(subject, validity).expect("a template");
            Arc::new(issue::identity(&authority, kind, &template).expect("an identity"))
        };
        let (client, service) = (party("CN=client"), party("CN=service"));
        let keys = |own: &Arc<Identity>, peer: &Identity| {
            let mut rules = TrustRules::default();
            rules.anchors.push(authority.certificate().clone());
            Keys {
                identity: Some(Arc::clone(own)),
                peer: Some(peer.certificate().clone()),
                trust: Some(Arc::new(TrustStore::new(rules).expect("rules"))),
                ..Keys::default()
            }
        };
        Self {
            client: keys(&client, &service),
            service: keys(&service, &client),
        }
    }
}

fn policy() -> Policy {
    Mechanism::SignEncrypt.policy(Suite::named("Basic256GCM").expect("a suite"))
}

fn inbound(keys: &Keys) -> InboundPlan {
    InboundPlan::compile(policy(), keys.clone()).expect("it can be demanded")
}

fn outbound(keys: &Keys) -> OutboundPlan {
    OutboundPlan::compile(policy(), keys.clone()).expect("it can be done")
}

#[derive(Default)]
struct Steps(Vec<Step>);

impl StepObserver for Steps {
    fn ended(&mut self, step: Step) {
        self.0.push(step);
    }
}

#[test]
fn a_client_and_a_service_exchange_messages_without_memory_of_their_own() {
    let parties = Parties::new();
    let Parties { client, service } = &parties;
    let client = Client::of_plans(outbound(client), inbound(client), Limits::default());
    let service = Service::of_plans(inbound(service), outbound(service), Limits::default());
    let request = client.secure(PLAIN).expect("it can be secured");
    let arrived = service.receive(request.bytes, memory());
    let Ok(Arrived::Message(opened)) = arrived else {
        panic!("expected a message of the application, found {arrived:?}");
    };
    assert_eq!(content(opened.bytes.clone()), CONTENT);
    let answer = service.answer(opened.bytes, &opened.receipt);
    let answer = answer.expect("it can be secured");
    let opened = client.open(answer.bytes, request.receipt, memory());
    let opened = opened.expect("it is accepted");
    assert_eq!(content(opened.bytes), CONTENT);
    let signer = opened.evidence.signer().expect("it is signed");
    assert_eq!(signer.subject(), "CN=service");
    assert!(client.handshakes().is_none(), "there are no conversations");
}

/// Counts the headers and the values of signatures that it hears of.
#[derive(Default)]
struct Headers([usize; 2]);

impl OperationObserver for Headers {
    fn ended(&mut self, _: Operation) {}

    fn listens(&self) -> bool {
        true
    }

    fn made(&mut self, event: SecuringEvent<'_>) {
        match event {
            SecuringEvent::Header { .. } => self.0[0] += 1,
            SecuringEvent::SignatureValue { .. } => self.0[1] += 1,
            _ => {}
        }
    }
}

impl StepObserver for Headers {
    fn ended(&mut self, _: Step) {}

    fn securing(&mut self) -> Option<&mut dyn OperationObserver> {
        Some(self)
    }
}

#[test]
fn a_call_tells_a_listener_of_requests_and_answers_that_are_secured_in_it() {
    let parties = Parties::new();
    let Parties { client, service } = &parties;
    let client = Client::of_plans(outbound(client), inbound(client), Limits::default());
    let service = Service::of_plans(inbound(service), outbound(service), Limits::default());
    let (mut buffers, mut headers) = (Buffers::default(), Headers::default());
    let mut call = Call::new(Timestamp::now(), &mut buffers).observed(&mut headers);
    let request = client.secure_with(PLAIN, Outgoing::default(), &mut call);
    let request = request.expect("it can be secured");
    let arrived = service.receive(request.bytes, memory());
    let Ok(Arrived::Message(opened)) = arrived else {
        panic!("expected a message of the application, found {arrived:?}");
    };
    let answer = service.answer_with(opened.bytes, &opened.receipt, &mut call);
    answer.expect("it can be secured");
    assert_eq!(headers.0, [2, 2]);
}

#[test]
fn tuned_calls_use_the_callers_memory_and_tell_of_their_steps() {
    let parties = Parties::new();
    let Parties { client, service } = &parties;
    let securer = Securer::of_plan(outbound(client), Limits::default());
    let opener = Opener::of_plan(inbound(service), Limits::default());
    let now = Timestamp::now();
    let (mut buffers, mut steps) = (Buffers::default(), Steps::default());
    let mut call = Call::new(now, &mut buffers).observed(&mut steps);
    let secured = securer.secure_with(PLAIN, Outgoing::default(), &mut call);
    let secured = secured.expect("it can be secured");
    let opened = opener.open_with(secured.bytes, None, memory(), &mut call);
    assert_eq!(content(opened.expect("it is accepted").bytes), CONTENT);
    assert_eq!(
        steps.0,
        [
            Step::Parse,
            Step::Secure,
            Step::Parse,
            Step::Authenticate,
            Step::Replay,
            Step::Open,
            Step::Forward,
        ]
    );
    assert!(buffers.take(0).capacity() > 0, "memory is left to the next");
}

#[test]
fn a_message_that_was_changed_is_refused_by_each_role_that_opens() {
    let parties = Parties::new();
    let Parties { client, service } = &parties;
    let securer = Securer::of_plan(outbound(client), Limits::default());
    let opener = Opener::of_plan(inbound(service), Limits::default());
    let receiver = Service::of_plans(inbound(service), outbound(service), Limits::default());
    let secured = securer.secure(PLAIN).expect("it can be secured");
    let text = String::from_utf8(secured.bytes).expect("it is text");
    let changed = text.replace("<s:Body ", "<s:Body changed=\"\" ");
    assert_ne!(text, changed);
    let Err(rejected) = opener.open(changed.as_str(), memory()) else {
        panic!("it was changed");
    };
    assert_eq!(rejected.name(), "decryption-failed");
    let verified = opener.verify(changed.as_str(), memory());
    assert_eq!(verified.map(drop), Err(rejected));
    match receiver.receive(changed.as_str(), memory()) {
        Err(ReceiveError::Rejected(rejected)) => assert_eq!(rejected.name(), "decryption-failed"),
        other => panic!("expected a refusal, found {other:?}"),
    }
    let opened = opener.open(b"<a/>".to_vec(), memory());
    assert!(matches!(opened, Err(Rejected::Envelope(_))), "{opened:?}");
}

#[test]
fn each_role_reads_the_endpoint_files_that_are_its_own() {
    let cell = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop/recorded/metro");
    let mut cells: Vec<_> = std::fs::read_dir(cell)
        .expect("the recorded messages")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.join("service.wsdl").exists() && !path.join("bootstrap.wsdl").exists())
        .collect();
    cells.sort();
    let cell = cells.first().expect("an exchange is recorded");
    let environment = |_: &str| None;
    let client = Client::from_file(&cell.join("client.toml"), &environment);
    let client = client.expect("it is right");
    assert_eq!(
        (client.inbound().count(), client.outbound().count()),
        (1, 1)
    );
    let file = cell.join("service.toml");
    let service = Service::from_file(&file, &environment).expect("it is right");
    assert_eq!(
        (service.inbound().count(), service.outbound().count()),
        (1, 1)
    );
    let opener = Opener::from_file(&file, &environment).expect("it is right");
    assert_eq!(
        (opener.inbound().count(), opener.outbound().count()),
        (1, 0)
    );
}
