//! What clients and services of other stacks said to each other, recorded in `interop/recorded`:
//! Metro's, and WCF's as far as Mono has them. Our endpoints, configured from the policy that they
//! obeyed, accept requests as a service and responses as a client.

#[path = "support/arrived.rs"]
mod arrived;
#[path = "support/contexts.rs"]
mod contexts;
#[path = "support/moment.rs"]
mod moment;

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use soapstone::endpoint::{Endpoint, Fixed};
use soapstone::wss::{ConversationVersion, Receipt, Rejected, SecurityContext};
use soapstone::xml::Buffers;
use soapstone::{
    Arrived, Call, Client, ForgetfulReplayCache, Memory, OpenedMessage, ReceiveError, Service,
};

use contexts::{Granted, agreed};

/// Of the text in each request and in the answer to it, characters that stand for themselves only
/// if they came through unharmed.
const TEXT: &str = "Grüße &amp; more<";

fn cells(stack: &str) -> Vec<PathBuf> {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop/recorded");
    let mut cells: Vec<PathBuf> = std::fs::read_dir(recorded.join(stack))
        .expect("the recorded messages")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.join("service.wsdl").exists())
        .collect();
    cells.sort();
    cells
}

/// Those in which each message is protected by itself.
fn exchanges() -> Vec<PathBuf> {
    let cells = ["wcf", "metro"].map(cells).concat();
    let alone = cells
        .into_iter()
        .filter(|cell| !begins_with_a_context(cell));
    let alone: Vec<PathBuf> = alone.collect();
    assert!(alone.len() >= 60, "{} exchanges are recorded", alone.len());
    alone
}

/// Those in which a context is asked for first.
fn conversations() -> Vec<PathBuf> {
    let cells = cells("metro").into_iter();
    let cells: Vec<PathBuf> = cells.filter(|cell| begins_with_a_context(cell)).collect();
    assert!(cells.len() >= 24, "{} are recorded", cells.len());
    cells
}

fn begins_with_a_context(cell: &Path) -> bool {
    cell.join("bootstrap.wsdl").exists()
}

/// Our service in an exchange, some hours after it was recorded.
fn service(cell: &Path, hours: i64) -> Service {
    moment::endpoint(&cell.join("service.toml"), hours)
}

/// Our client in an exchange.
fn client(cell: &Path) -> Client {
    moment::endpoint(&cell.join("client.toml"), 0)
}

/// The side of a file while a context is asked for, as if that were a message like others.
fn bootstrap<P: Fixed>(cell: &Path, file: &str) -> Endpoint<P> {
    let file = cell.join(file);
    let text = std::fs::read_to_string(&file).expect("an endpoint file");
    let text = text
        .replace("service.wsdl", "bootstrap.wsdl")
        .replace("conversations = { anonymous = true }, ", "");
    moment::endpoint_of(&text, &file, 0)
}

fn recorded(cell: &Path, name: &str) -> String {
    std::fs::read_to_string(cell.join(name)).expect("a recorded message")
}

fn memory() -> Memory<'static> {
    Memory::without_conversations(&ForgetfulReplayCache)
}

fn open_request(service: &Service, message: String) -> Result<OpenedMessage, Rejected> {
    arrived::message(service.receive(message.into_bytes(), memory()))
}

fn open_answer(
    client: &Client,
    message: String,
    request: Receipt,
    memory: Memory<'_>,
) -> Result<OpenedMessage, Rejected> {
    client.open(message.into_bytes(), request, memory)
}

fn receive(service: &Service, message: String, contexts: &Granted) -> Result<Arrived, String> {
    let memory = Memory {
        replay: &ForgetfulReplayCache,
        contexts,
    };
    let mut buffers = Buffers::default();
    let mut call = Call::new(Timestamp::now(), &mut buffers);
    let request = service.read(message.into_bytes(), &mut call);
    let arrived = request
        .map_err(ReceiveError::from)
        .and_then(|request| service.receive_with(request.over_tls(), memory, &mut call));
    arrived.map_err(|error| format!("{error:?}"))
}

fn holds_the_text(cell: &Path, opened: &OpenedMessage) {
    let text = String::from_utf8(opened.bytes.clone()).expect("it is UTF-8");
    assert!(text.contains(TEXT), "{cell:?}: {text}");
}

#[test]
fn every_exchange_is_accepted_under_its_policy() {
    for cell in exchanges() {
        let (service, client) = (service(&cell, 0), client(&cell));
        let request = open_request(&service, recorded(&cell, "1.request.xml"));
        let request = request.unwrap_or_else(|rejected| panic!("{cell:?}: {rejected}"));
        holds_the_text(&cell, &request);
        let response = recorded(&cell, "1.response.xml");
        let response = open_answer(&client, response, request.receipt, memory());
        let response = response.unwrap_or_else(|rejected| panic!("{cell:?}: {rejected}"));
        holds_the_text(&cell, &response);
    }
}

#[test]
fn a_request_of_wcf_is_refused_when_something_signed_has_changed() {
    for cell in cells("wcf") {
        let service = service(&cell, 0);
        let request = recorded(&cell, "1.request.xml");
        for (signed, changed) in [
            ("echo:Echo</a:Action>", "echo:Oche</a:Action>"),
            (">urn:uuid:", ">urn:diuu:"),
        ] {
            assert_eq!(request.matches(signed).count(), 1, "{cell:?}");
            let refused = open_request(&service, request.replace(signed, changed))
                .err()
                .unwrap_or_else(|| panic!("{cell:?}: accepted with {changed}"));
            assert_eq!(refused.cause().name(), "digest-mismatch", "{cell:?}");
        }
    }
}

#[test]
fn an_exchange_is_stale_an_hour_later() {
    for cell in exchanges() {
        let service = service(&cell, 1);
        let request = recorded(&cell, "1.request.xml");
        if cell.ends_with("metro/asymmetric-encrypt") {
            assert!(!request.contains("Timestamp"), "its policy wants none");
            continue;
        }
        let refused = open_request(&service, request)
            .err()
            .unwrap_or_else(|| panic!("{cell:?}: accepted"));
        assert_eq!(refused.cause().name(), "timestamp-expired", "{cell:?}");
    }
}

/// WS-SecureConversation 1.4, sections 3 to 7: what follows under the context's key is opened with
/// the key that both sides made, and with no other one.
#[test]
fn every_conversation_is_granted_and_goes_on_under_the_key_that_was_agreed_on() {
    let mut renewals = 0;
    for cell in conversations() {
        let (service, client) = (service(&cell, 0), client(&cell));
        let granted = Granted::default();
        let asked = receive(&service, recorded(&cell, "1.request.xml"), &granted);
        let Ok(Arrived::Answered(answer)) = asked else {
            panic!("{cell:?}: {asked:?}");
        };
        assert!(answer.refused.is_none(), "{cell:?}: {:?}", answer.refused);
        let ours = granted.contexts().remove(0);

        // The same messages, opened for what both sides contributed.
        let as_service = bootstrap(&cell, "service.toml");
        let request = open_request(&as_service, recorded(&cell, "1.request.xml"));
        let request = request.unwrap_or_else(|rejected| panic!("{cell:?}: {rejected}"));
        let OpenedMessage { bytes, receipt, .. } = request;
        let as_client = bootstrap(&cell, "client.toml");
        let response = recorded(&cell, "1.response.xml");
        let response = open_answer(&as_client, response, receipt, memory());
        let response = response.unwrap_or_else(|rejected| panic!("{cell:?}: {rejected}"));
        let [request, response] =
            [bytes, response.bytes].map(|it| String::from_utf8(it).expect("it is UTF-8"));
        let version = match cell.to_string_lossy().contains("of-2005") {
            true => ConversationVersion::February2005,
            false => ConversationVersion::V13,
        };
        let theirs = agreed(
            version,
            &request,
            &response,
            ours.owner.clone(),
            Timestamp::now(),
        );
        let mut namesake = theirs.clone();
        namesake.secret = ours.secret.clone();
        renewals += goes_on(&cell, &service, &client, theirs);
        let second = recorded(&cell, "2.request.xml");
        let refused = receive(&service, second, &Granted::knowing(namesake));
        // What is encrypted cannot be deciphered; where TLS protects messages, the endorsement does
        // not verify.
        let why = refused.expect_err("another key");
        assert!(
            why.contains("Encryption(Failed)") || why.contains("ValueMismatch"),
            "{cell:?}: {why}"
        );
    }
    assert_eq!(renewals, 1, "one is in clear text, under TLS");
}

/// Everything after the first exchange, until another key is agreed on where nobody else can read
/// it. Returns how many other keys there were.
fn goes_on(cell: &Path, service: &Service, client: &Client, mut context: SecurityContext) -> usize {
    let mut renewals = 0;
    for number in 2.. {
        let request = format!("{number}.request.xml");
        assert!(cell.join(&request).exists(), "{cell:?}: there is no end");
        let contexts = Granted::knowing(context.clone());
        match receive(service, recorded(cell, &request), &contexts) {
            Ok(Arrived::Message(request)) => {
                holds_the_text(cell, &request);
                let memory = Memory {
                    replay: &ForgetfulReplayCache,
                    contexts: &contexts,
                };
                let response = recorded(cell, &format!("{number}.response.xml"));
                let response = open_answer(client, response, request.receipt, memory);
                let response = response.unwrap_or_else(|rejected| panic!("{cell:?}: {rejected}"));
                holds_the_text(cell, &response);
            }
            // A renewal, after which there is another key, or the end.
            Ok(Arrived::Answered(answer)) => {
                assert!(answer.refused.is_none(), "{cell:?}: {:?}", answer.refused);
                assert!(number > 2, "{cell:?}: nothing was said");
                let response = recorded(cell, &format!("{number}.response.xml"));
                let request = recorded(cell, &request);
                let is_readable = |message: &String| message.contains(":BinarySecret");
                if ![&request, &response].into_iter().all(is_readable) {
                    return renewals;
                }
                let (version, now) = (context.version, Timestamp::now());
                let renewed = agreed(version, &request, &response, context.owner.clone(), now);
                assert_eq!(renewed.identifier, context.identifier, "{cell:?}");
                assert_ne!(renewed.instance, context.instance, "{cell:?}");
                context = renewed;
                renewals += 1;
            }
            Err(problem) => panic!("{cell:?}, {request}: {problem}"),
        }
    }
    renewals
}
