//! An endpoint knows what it has sent under a key that its peer holds as well, and takes none of it
//! for the peer's.

use std::path::Path;

use jiff::{Timestamp, ToSpan};
use soapstone::attempts::{Attempts, KeyName, Outcome, Tally};
use soapstone::config::EndpointConfig;
use soapstone::endpoint::{Arrived, Endpoint, Memory, ReceiveError, Role};
use soapstone::replay::{ForgetfulReplayCache, ReplayCache, ReplayError};
use soapstone::wss::{FirstSeen, Mark, Outgoing, Receipt, Rejected, Secured};
use soapstone::xml::Buffers;
use soapstone_testkit::envelope::ECHO;
use soapstone_testkit::moment;

/// A replay cache that must not be asked.
#[derive(Debug)]
struct Untouched;

impl ReplayCache for Untouched {
    fn first_seen(&self, _: &[Mark], _: Timestamp) -> Result<FirstSeen, ReplayError> {
        panic!("what was sent from here leaves no mark in a replay cache")
    }
}

impl Attempts for Untouched {
    fn begin(
        &self,
        _: &[Mark],
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

fn endpoint(role: Role, more: &str) -> Endpoint {
    let text = format!(
        "shared_key = {{ hex = \"{}\" }}\n\
         security = {{ mechanism = \"sign-encrypt\", key_reference = \"key-name\"{more} }}\n",
        "5a".repeat(32)
    );
    let config = EndpointConfig::from_text(&text, Path::new("endpoint.toml"), &|_| None)
        .unwrap_or_else(|problems| panic!("{problems}"));
    Endpoint::compile(&config, role).unwrap_or_else(|problems| panic!("{problems}"))
}

fn now() -> Timestamp {
    moment("2026-02-03T04:05:06Z")
}

fn secured(endpoint: &Endpoint, outgoing: Outgoing<'_>) -> Secured {
    let plain = ECHO.as_bytes().to_vec();
    endpoint
        .secure(plain, outgoing, now(), &mut Buffers::default(), &mut ())
        .expect("it can be secured")
}

fn opened(
    endpoint: &Endpoint,
    bytes: &[u8],
    replay: &dyn ReplayCache,
    now: Timestamp,
) -> Result<Receipt, Rejected> {
    let (memory, mut buffers) = (Memory::without_conversations(replay), Buffers::default());
    endpoint
        .open(bytes.to_vec(), None, memory, now, &mut buffers, &mut ())
        .map(|opened| opened.receipt)
}

#[test]
fn a_client_does_not_take_its_request_for_the_answer() {
    let client = endpoint(Role::Client, "");
    let request = secured(&client, Outgoing::default()).bytes;
    let back = opened(&client, &request, &Untouched, now());
    assert_eq!(back.unwrap_err(), Rejected::Reflected);
}

#[test]
fn a_service_does_not_take_its_answer_for_a_request() {
    let (client, service) = (endpoint(Role::Client, ""), endpoint(Role::Service, ""));
    let request = secured(&client, Outgoing::default()).bytes;
    let receipt =
        opened(&service, &request, &ForgetfulReplayCache, now()).expect("it is a request");
    let answer = secured(&service, Outgoing::answer(&receipt)).bytes;
    opened(&client, &answer, &ForgetfulReplayCache, now()).expect("it is the answer");
    let back = service.receive(
        answer,
        false,
        Memory::without_conversations(&Untouched),
        now(),
        &mut Buffers::default(),
        &mut (),
    );
    assert!(matches!(
        back,
        Err(ReceiveError::Rejected(Rejected::Reflected))
    ));
    let again = secured(&client, Outgoing::default()).bytes;
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    let next = service.receive(
        again,
        false,
        memory,
        now(),
        &mut Buffers::default(),
        &mut (),
    );
    assert!(matches!(next, Ok(Arrived::Message(_))));
}

#[test]
fn an_endpoint_goes_on_with_what_the_one_before_has_sent() {
    let client = endpoint(Role::Client, "");
    let request = secured(&client, Outgoing::default()).bytes;
    let mut next = endpoint(Role::Client, "");
    opened(&next, &request, &ForgetfulReplayCache, now()).expect("it knows nothing of it");
    next.keep_memory_of(&client);
    let back = opened(&next, &request, &Untouched, now());
    assert_eq!(back.unwrap_err(), Rejected::Reflected);
}

#[test]
fn what_was_sent_is_known_until_its_timestamp_ends_it() {
    let ends = ", timestamp = { ttl = \"5m\", skew = \"60s\" }";
    let client = endpoint(Role::Client, ends);
    let request = secured(&client, Outgoing::default()).bytes;
    let last = opened(&client, &request, &Untouched, now() + 359.seconds());
    assert_eq!(last.unwrap_err(), Rejected::Reflected);
    let late = opened(&client, &request, &Untouched, now() + 360.seconds());
    assert_eq!(late.unwrap_err().name(), "timestamp-expired");
}

#[test]
fn a_memory_that_is_full_forgets_what_was_sent_first_and_sending_goes_on() {
    let client = endpoint(
        Role::Client,
        ", replay = { store = \"memory\", capacity = 16 }",
    );
    let first = secured(&client, Outgoing::default()).bytes;
    let mut last = Vec::new();
    for _ in 0..200 {
        last = secured(&client, Outgoing::default()).bytes;
    }
    opened(&client, &first, &ForgetfulReplayCache, now()).expect("it was forgotten");
    let back = opened(&client, &last, &Untouched, now());
    assert_eq!(back.unwrap_err(), Rejected::Reflected);
}
