//! An endpoint knows what it has sent under a key that its peer holds as well, and takes none of it
//! for the peer's.

#[path = "support/arrived.rs"]
mod arrived;

use std::path::Path;

use jiff::{Timestamp, ToSpan};
use soapstone::attempts::{Attempts, KeyName, Outcome, Tally};
use soapstone::config::EndpointConfig;
use soapstone::endpoint::{Endpoint, Fixed};
use soapstone::replay::{ForgetfulReplayCache, ReplayCache, ReplayError};
use soapstone::wss::{FirstSeen, Outgoing, Receipt, Rejected, ReplayKey, Secured};
use soapstone::xml::Buffers;
use soapstone::{Call, Client, Memory, OpenedMessage, Service};
use soapstone_testkit::envelope::ECHO;
use soapstone_testkit::moment;

/// A replay cache that must not be asked.
#[derive(Debug)]
struct Untouched;

impl ReplayCache for Untouched {
    fn first_seen(&self, _: &[ReplayKey], _: Timestamp) -> Result<FirstSeen, ReplayError> {
        panic!("what was sent from here leaves no mark in a replay cache")
    }
}

impl Attempts for Untouched {
    fn begin(
        &self,
        _: &[ReplayKey],
        _: &[KeyName],
        _: Timestamp,
        _: Timestamp,
    ) -> Result<(FirstSeen, Vec<Tally>), ReplayError> {
        panic!("what was sent from here begins no opening")
    }

    fn end(
        &self,
        _: &[KeyName],
        _: Outcome,
        _: Timestamp,
        _: Timestamp,
    ) -> Result<Vec<Tally>, ReplayError> {
        panic!("what was sent from here begins no opening")
    }
}

fn endpoint<P: Fixed>(more: &str) -> Endpoint<P> {
    let text = format!(
        "shared_key = {{ hex = \"{}\" }}\n\
         security = {{ mechanism = \"sign-encrypt\", key_reference = \"key-name\"{more} }}\n",
        "5a".repeat(32)
    );
    let config = EndpointConfig::from_text(&text, Path::new("endpoint.toml"), &|_| None)
        .unwrap_or_else(|problems| panic!("{problems}"));
    Endpoint::from_config(&config).unwrap_or_else(|problems| panic!("{problems}"))
}

fn now() -> Timestamp {
    moment("2026-02-03T04:05:06Z")
}

fn client(more: &str) -> Client {
    endpoint(more)
}

fn request(client: &Client) -> Secured {
    let mut buffers = Buffers::default();
    let mut call = Call::new(now(), &mut buffers);
    client
        .secure_with(ECHO, Outgoing::default(), &mut call)
        .expect("it can be secured")
}

/// What a client opens as the answer to the request that left this receipt behind.
fn opened(
    client: &Client,
    bytes: &[u8],
    request: Receipt,
    replay: &dyn ReplayCache,
    now: Timestamp,
) -> Result<OpenedMessage, Rejected> {
    let (memory, mut buffers) = (Memory::without_conversations(replay), Buffers::default());
    let mut call = Call::new(now, &mut buffers);
    client.open_with(bytes.to_vec(), request, memory, &mut call)
}

/// What a client says of a request of its own that comes back as the answer to another one.
fn reflected(
    client: &Client,
    request: &[u8],
    replay: &dyn ReplayCache,
    now: Timestamp,
) -> Result<OpenedMessage, Rejected> {
    opened(client, request, Receipt::default(), replay, now)
}

fn received(
    service: &Service,
    bytes: Vec<u8>,
    replay: &dyn ReplayCache,
) -> Result<OpenedMessage, Rejected> {
    let (memory, mut buffers) = (Memory::without_conversations(replay), Buffers::default());
    let mut call = Call::new(now(), &mut buffers);
    let request = service.read(bytes, &mut call)?;
    arrived::message(service.receive_with(request, memory, &mut call))
}

#[test]
fn a_client_does_not_take_its_request_for_the_answer() {
    let client = client("");
    let Secured { bytes, receipt, .. } = request(&client);
    let back = opened(&client, &bytes, receipt, &Untouched, now());
    assert_eq!(back.unwrap_err(), Rejected::Reflected);
    let back = reflected(&client, &bytes, &Untouched, now());
    assert_eq!(back.unwrap_err(), Rejected::Reflected);
}

#[test]
fn a_service_does_not_take_its_answer_for_a_request() {
    let (client, service): (_, Service) = (client(""), endpoint(""));
    let asked = request(&client);
    let arrived = received(&service, asked.bytes, &ForgetfulReplayCache);
    let receipt = arrived.expect("it is a request").receipt;
    let mut buffers = Buffers::default();
    let mut call = Call::new(now(), &mut buffers);
    let answer = service.answer_with(ECHO, &receipt, &mut call);
    let answer = answer.expect("it can be secured").bytes;
    let replay = &ForgetfulReplayCache;
    opened(&client, &answer, asked.receipt, replay, now()).expect("it is the answer");
    let back = received(&service, answer, &Untouched);
    assert_eq!(back.unwrap_err(), Rejected::Reflected);
    let next = received(&service, request(&client).bytes, &ForgetfulReplayCache);
    next.expect("it is a request");
}

#[test]
fn an_endpoint_goes_on_with_what_the_one_before_has_sent() {
    let before = client("");
    let request = request(&before).bytes;
    let mut next = client("");
    let taken = reflected(&next, &request, &ForgetfulReplayCache, now());
    taken.expect("it knows nothing of it");
    next.keep_memory_of(&before);
    let back = reflected(&next, &request, &Untouched, now());
    assert_eq!(back.unwrap_err(), Rejected::Reflected);
}

#[test]
fn what_was_sent_is_known_until_its_timestamp_ends_it() {
    let client = client(", timestamp = { ttl = \"5m\", skew = \"60s\" }");
    let request = request(&client).bytes;
    let last = reflected(&client, &request, &Untouched, now() + 359.seconds());
    assert_eq!(last.unwrap_err(), Rejected::Reflected);
    let late = reflected(&client, &request, &Untouched, now() + 360.seconds());
    assert_eq!(late.unwrap_err().name(), "timestamp-expired");
}

#[test]
fn a_memory_that_is_full_forgets_what_was_sent_first_and_sending_goes_on() {
    let client = client(", replay = { store = \"memory\", capacity = 16 }");
    let first = request(&client).bytes;
    let mut last = Vec::new();
    for _ in 0..200 {
        last = request(&client).bytes;
    }
    let taken = reflected(&client, &first, &ForgetfulReplayCache, now());
    taken.expect("it was forgotten");
    let back = reflected(&client, &last, &Untouched, now());
    assert_eq!(back.unwrap_err(), Rejected::Reflected);
}
