//! Inner protection in conversations: messages of the application have it, and those that begin,
//! renew or end the conversation have none.
//!
//! The one rule: a message without it reaches no application.

use jiff::Timestamp;
use soapstone::config::EndpointConfig;
use soapstone::endpoint::Endpoint;
use soapstone::wss::{
    Envelope, Keys, Mechanism, OutboundPlan, Outgoing, Rejected, SecureError, SecurityContext,
    SoapVersion, Suite,
};
use soapstone::xml::{Buffers, Limits};
use soapstone::{
    Arrived, Call, Client, ForgetfulReplayCache, Handshake, Memory, ReceiveError, Service,
};
use soapstone_testkit::envelope::{SOAP12, with_header};
use soapstone_testkit::keys::{RSA, identity};

use super::contexts::Granted;
use super::{BY_CLERK, ORDER, Pair, REQUESTS, TRUST_CLERK};

const CONVERSATION: &str = "mechanism = \"secure-conversation\", suite = \"Basic256GCM\"";
const RECEIPT: &str = "<r:Receipt xmlns:r=\"urn:tax\" Id=\"a\"/>";
const TO: &str = "http://service.example/";

/// A request that ends the context of its message (WS-SecureConversation 1.4, 6).
const CANCEL: &str = "<t:RequestSecurityToken xmlns:t=\"http://docs.oasis-open.org/ws-sx/ws-trust/200512\">\
    <t:RequestType>http://docs.oasis-open.org/ws-sx/ws-trust/200512/Cancel</t:RequestType></t:RequestSecurityToken>";

fn plain(body: &str) -> Vec<u8> {
    with_header(SOAP12, "", body).into_bytes()
}

/// A client and a service in a conversation.
struct Conversing {
    client: Client,
    service: Service,
    granted: Granted,
    context: SecurityContext,
}

impl Conversing {
    fn begun(pair: &Pair, client: &str, service: &str) -> Self {
        let client: Client = pair.endpoint("client", CONVERSATION, client);
        let service: Service = pair.endpoint("service", CONVERSATION, service);
        let granted = Granted::default();
        let mut buffers = Buffers::new();
        let mut call = Call::new(Timestamp::now(), &mut buffers);
        let handshakes = client.handshakes().expect("it has conversations");
        let asked = handshakes.begin(TO, SoapVersion::V12, &mut call);
        let context = granted_by(&service, &granted, &client, asked.expect("it is asked for"));
        Self {
            client,
            service,
            granted,
            context,
        }
    }

    fn receive(&self, message: Vec<u8>) -> Result<Arrived, Rejected> {
        let memory = Memory {
            replay: &ForgetfulReplayCache,
            contexts: &self.granted,
        };
        match self.service.receive(message, memory) {
            Ok(arrived) => Ok(arrived),
            Err(ReceiveError::Rejected(rejected)) => Err(rejected),
            other => panic!("{other:?}"),
        }
    }

    /// What the service says of a message that is not to reach the application.
    fn refused(&self, message: Vec<u8>) -> &'static str {
        match self.receive(message) {
            Ok(arrived) => panic!("{arrived:?}"),
            Err(rejected) => rejected.cause().name(),
        }
    }

    /// A message of the context whose sender knows its key and keeps no rule of ours.
    fn forged(&self, body: &str) -> Vec<u8> {
        let suite = Suite::named("Basic256GCM").expect("a suite");
        let policy = Mechanism::SecureConversation.policy(suite);
        let plan = OutboundPlan::compile(policy, Keys::default()).expect("a plan");
        let mut buffers = Buffers::new();
        let envelope = Envelope::parse(plain(body), &Limits::default(), &mut buffers);
        let outgoing = Outgoing::within(&self.context);
        let envelope = envelope.expect("an envelope");
        let secured = plan.secure(envelope, outgoing, Timestamp::now(), &mut buffers);
        secured.expect("it is secured").bytes
    }
}

/// The context that a service grants.
fn granted_by(
    service: &Service,
    granted: &Granted,
    client: &Client,
    mut asked: Handshake,
) -> SecurityContext {
    let memory = Memory {
        replay: &ForgetfulReplayCache,
        contexts: granted,
    };
    let answered = service.receive(std::mem::take(&mut asked.bytes), memory);
    let Ok(Arrived::Answered(answer)) = answered else {
        panic!("{answered:?}");
    };
    let mut buffers = Buffers::new();
    let mut call = Call::new(Timestamp::now(), &mut buffers);
    let handshakes = client.handshakes().expect("it has conversations");
    let nobody = Memory::without_conversations(&ForgetfulReplayCache);
    let concluded = handshakes.conclude(asked, answer.bytes, nobody, &mut call);
    concluded.expect("a context")
}

/// A clerk who signs, and an office that decrypts.
fn pair() -> Pair {
    let pair = Pair::new();
    pair.0.write_identity("office", &identity("CN=office", RSA));
    pair
}

#[test]
fn an_element_is_signed_and_encrypted_by_itself_in_a_conversation_from_its_beginning_to_its_end() {
    let pair = pair();
    let both = "requests = \"{urn:tax}Order\", answers = \"{urn:tax}Receipt\"";
    let office = "{ key = \"office.key.pem\", certificate = \"office.cert.pem\" }";
    let inner = format!(
        "{both}, {BY_CLERK}, {TRUST_CLERK}, encryption = {{ {both}, identity = {office}, \
         peer = {{ certificate = \"office.cert.pem\" }} }}"
    );
    let conversing = Conversing::begun(&pair, &inner, &inner);
    let mut buffers = Buffers::new();
    let mut call = Call::new(Timestamp::now(), &mut buffers);
    for _ in 0..2 {
        let outgoing = Outgoing::within(&conversing.context);
        let client = &conversing.client;
        let sent = client.secure_with(plain(ORDER), outgoing, &mut call);
        let sent = sent.expect("it is secured");
        let Ok(Arrived::Message(opened)) = conversing.receive(sent.bytes) else {
            panic!("the request is not received");
        };
        let signed = opened.evidence.inner.as_ref().expect("an inner signature");
        assert_eq!(signed.subject, "CN=clerk");
        assert!(opened.evidence.inner_encryption.is_some());
        let passed_on = String::from_utf8(opened.bytes.clone()).expect("text");
        assert!(passed_on.contains("<t:total>12</t:total>"), "{passed_on}");
        let answer = conversing.service.answer(plain(RECEIPT), &opened.receipt);
        let answer = answer.expect("it is secured").bytes;
        let nobody = Memory::without_conversations(&ForgetfulReplayCache);
        let read = client.open_with(answer, sent.receipt, nobody, &mut call);
        let evidence = read.expect("the client").evidence;
        let signed = evidence.inner.expect("an inner signature");
        assert_eq!(signed.element, "{urn:tax}Receipt");
        assert!(evidence.inner_encryption.is_some());
    }
    let handshakes = conversing.client.handshakes().expect("conversations");
    let (ended, _) = handshakes
        .cancel(&conversing.context, false, TO, SoapVersion::V12, &mut call)
        .expect("it is secured");
    let Ok(Arrived::Answered(answer)) = conversing.receive(ended) else {
        panic!("the conversation is not ended");
    };
    let done: Vec<_> = answer.done.iter().map(|done| done.what).collect();
    assert_eq!(done, ["cancelled"], "{:?}", answer.refused);
}

/// The key of the context proves who sent a message, and not who signed the document in it.
#[test]
fn what_lacks_its_inner_protection_reaches_no_application() {
    let pair = pair();
    let signs_nothing = format!("answers = \"{{urn:tax}}Receipt\", {TRUST_CLERK}");
    let conversing =
        Conversing::begun(&pair, &signs_nothing, &format!("{REQUESTS}, {TRUST_CLERK}"));
    assert_eq!(
        conversing.refused(conversing.forged(ORDER)),
        "inner-signature"
    );
    // What makes a message one for the token service is its first element.
    let behind = conversing.forged(&format!("{ORDER}{CANCEL}"));
    assert_eq!(conversing.refused(behind), "inner-signature");
    let before = conversing.receive(conversing.forged(&format!("{CANCEL}{ORDER}")));
    assert!(!matches!(before, Ok(Arrived::Message(_))), "{before:?}");
    // Outside of the conversation there is no way around either.
    let sign: Client = pair.endpoint("client", "mechanism = \"sign-encrypt\"", &signs_nothing);
    let secured = sign.secure(plain(ORDER)).expect("it is secured");
    assert_eq!(conversing.refused(secured.bytes), "not-in-conversation");

    let to_office = format!(
        "encryption = {{ {REQUESTS}, identity = {{ key = \"office.key.pem\", certificate = \"office.cert.pem\" }} }}"
    );
    let conversing = Conversing::begun(&pair, &signs_nothing, &to_office);
    assert_eq!(
        conversing.refused(conversing.forged(ORDER)),
        "inner-encryption"
    );
}

/// An answer is the application's, though its Body looks like a request for a token.
#[test]
fn an_answer_that_looks_like_a_request_for_a_token_needs_its_inner_signature() {
    let pair = pair();
    let answers = "answers = \"{urn:tax}Receipt\"";
    let trusting = format!("{answers}, {TRUST_CLERK}");
    let conversing = Conversing::begun(
        &pair,
        &trusting,
        &format!("{REQUESTS}, {TRUST_CLERK}, {BY_CLERK}"),
    );
    let mut buffers = Buffers::new();
    let mut call = Call::new(Timestamp::now(), &mut buffers);
    let signing = format!("{REQUESTS}, {BY_CLERK}");
    let signing: Client = pair.endpoint("client", CONVERSATION, &signing);
    let outgoing = Outgoing::within(&conversing.context);
    let sent = signing.secure_with(plain(ORDER), outgoing, &mut call);
    let sent = sent.expect("it is secured");
    let Ok(Arrived::Message(opened)) = conversing.receive(sent.bytes) else {
        panic!("the request is not received");
    };
    let answer = conversing.service.answer(plain(CANCEL), &opened.receipt);
    let answer = answer.expect("it is secured").bytes;
    let nobody = Memory::without_conversations(&ForgetfulReplayCache);
    let read = conversing
        .client
        .open_with(answer, sent.receipt, nobody, &mut call);
    let refused = read.map(drop).expect_err("nobody signed it");
    assert_eq!(refused.cause().name(), "inner-signature");
}

/// Cipher text would hide it from the check, and the service would obey it as the client's own.
#[test]
fn a_request_for_a_token_is_not_hidden_in_inner_cipher_text() {
    let pair = pair();
    let hiding = "encryption = { requests = \"{http://docs.oasis-open.org/ws-sx/ws-trust/200512}RequestSecurityToken\", \
        peer = { certificate = \"office.cert.pem\" } }";
    let conversing = Conversing::begun(&pair, hiding, &format!("{REQUESTS}, {TRUST_CLERK}"));
    let mut buffers = Buffers::new();
    let mut call = Call::new(Timestamp::now(), &mut buffers);
    let outgoing = Outgoing::within(&conversing.context);
    let secured = conversing
        .client
        .secure_with(plain(CANCEL), outgoing, &mut call);
    assert!(matches!(secured, Err(SecureError::TokenRequest)));
}

#[test]
fn a_service_in_conversations_says_whom_elements_of_answers_are_for() {
    let pair = pair();
    let told = |mechanism: &str| {
        let text = format!(
            "identity = {{ key = \"service.key.pem\", certificate = \"service.cert.pem\" }}\n\
             trust = {{ anchors = [\"ca.cert.pem\"], subjects = [\"CN=client\"] }}\nsecurity = {{ {mechanism} }}\n\
             inner = {{ encryption = {{ answers = \"{{urn:tax}}Receipt\" }} }}\n"
        );
        let config = EndpointConfig::from_text(&text, &pair.0.path("endpoint.toml"), &|_| None);
        let service: Result<Service, _> = Endpoint::from_config(&config.expect("it is read"));
        service.err().map(|it| it.to_string()).unwrap_or_default()
    };
    assert_eq!(told("mechanism = \"sign-encrypt\""), "");
    let found = told(CONVERSATION);
    let expected = "`peer` is needed to encrypt an element by itself";
    assert!(found.contains(expected), "{found}");
}
