//! The clock of a peer that does not keep time: `clock` of an endpoint file.
//!
//! Case `sectors/10-peer-clock-offset`.

#[path = "support/kept.rs"]
mod kept;

use jiff::{SignedDuration, Timestamp};
use kept::Kept;
use soapstone::config::{EndpointConfig, Problems};
use soapstone::endpoint::Endpoint;
use soapstone::wss::{Rejected, parse_date_time};
use soapstone::xml::Buffers;
use soapstone::{
    Arrived, Call, Client, ForgetfulReplayCache, Memory, ReceiveError, ReplayCache, Service,
};
use soapstone_testkit::Folder;
use soapstone_testkit::envelope::{HELLO, SOAP11, SOAP12, with_header};
use soapstone_testkit::keys::RSA;

/// Mechanisms whose messages have times.
const MECHANISMS: [&str; 5] = [
    "mechanism = \"username\"",
    "mechanism = \"username\", timestamp = true",
    "mechanism = \"sign\"",
    "mechanism = \"sign-encrypt\"",
    "mechanism = \"encrypt-sign\", suite = \"Basic256Sha256\"",
];

fn text(name: &str, security: &str) -> String {
    let peer = match name {
        "client" => "service",
        _ => "client",
    };
    format!(
        "identity = {{ key = \"{name}.key.pem\", certificate = \"{name}.cert.pem\" }}\n\
         peer = {{ certificate = \"{peer}.cert.pem\" }}\ntrust = {{ anchors = [\"ca.cert.pem\"] }}\n\
         users = [{{ name = \"alice\", password = \"opens it\" }}]\nsecurity = {{ {security} }}\n"
    )
}

fn config(folder: &Folder, text: &str) -> Result<EndpointConfig, Problems> {
    EndpointConfig::from_text(text, &folder.path("endpoint.toml"), &|_| None)
}

fn client(folder: &Folder, security: &str) -> Client {
    let config = config(folder, &text("client", security));
    let client = config.and_then(|config| Endpoint::from_config(&config));
    client.unwrap_or_else(|problems| panic!("{security}: {problems}"))
}

fn service(folder: &Folder, security: &str) -> Service {
    let config = config(folder, &text("service", security));
    let service = config.and_then(|config| Endpoint::from_config(&config));
    service.unwrap_or_else(|problems| panic!("{security}: {problems}"))
}

/// The moments that a message says.
fn moments(message: &[u8]) -> Vec<Timestamp> {
    let text = String::from_utf8(message.to_vec()).expect("text");
    let created = text.split("<wsu:Created>").skip(1);
    let moments = created.map(|rest| rest.split('<').next().expect("a time"));
    moments
        .map(|time| parse_date_time(time).expect("a time"))
        .collect()
}

fn plain(soap: &str) -> Vec<u8> {
    with_header(soap, "", HELLO).into_bytes()
}

fn seconds(count: i64) -> SignedDuration {
    SignedDuration::from_secs(count)
}

fn received(
    service: &Service,
    message: &[u8],
    cache: &dyn ReplayCache,
    now: Timestamp,
) -> Result<soapstone::OpenedMessage, Rejected> {
    let mut buffers = Buffers::default();
    let mut call = Call::new(now, &mut buffers);
    let request = service.read(message.to_vec(), &mut call)?;
    let memory = Memory::without_conversations(cache);
    match service.receive_with(request, memory, &mut call) {
        Ok(Arrived::Message(opened)) => Ok(*opened),
        Err(ReceiveError::Rejected(rejected)) => Err(rejected),
        other => panic!("{other:?}"),
    }
}

/// A device whose clock is behind, or an hour ahead, and the client of it.
#[test]
fn times_are_written_and_read_by_the_peers_clock() {
    let folder = Folder::with_keys(RSA, &["client", "service"]);
    for mechanism in MECHANISMS {
        for soap in [SOAP11, SOAP12] {
            for offset in [-200, 3_600] {
                let now = Timestamp::now();
                let theirs = now.checked_add(seconds(offset)).expect("a time");
                let device = service(&folder, mechanism);
                let allowing = format!("{mechanism}, clock = {{ offset = \"{offset}s\" }}");
                let (strict, client) = (client(&folder, mechanism), client(&folder, &allowing));
                let mut buffers = Buffers::default();
                let secured = strict.secure_with(
                    plain(soap),
                    Default::default(),
                    &mut Call::new(now, &mut buffers),
                );
                let secured = secured.expect("it is secured").bytes;
                let refused = received(&device, &secured, &ForgetfulReplayCache, theirs);
                let expected = match offset < 0 {
                    true => "timestamp-in-future",
                    false => "timestamp-expired",
                };
                assert_eq!(refused.expect_err("the clocks differ").name(), expected);
                let secured = client.secure_with(
                    plain(soap),
                    Default::default(),
                    &mut Call::new(now, &mut buffers),
                );
                let secured = secured.expect("it is secured");
                let said = moments(&secured.bytes);
                assert!(!said.is_empty());
                for moment in said {
                    let apart = moment.duration_since(theirs).as_secs();
                    assert!(apart.abs() <= 1, "{mechanism}: {moment}, {theirs}");
                }
                let opened = received(&device, &secured.bytes, &ForgetfulReplayCache, theirs);
                let opened = opened.unwrap_or_else(|it| panic!("{mechanism}: {it}"));
                let answer = device.answer_with(
                    plain(soap),
                    &opened.receipt,
                    &mut Call::new(theirs, &mut buffers),
                );
                let answer = answer.expect("an answer").bytes;
                let memory = Memory::without_conversations(&ForgetfulReplayCache);
                let mut call = Call::new(now, &mut buffers);
                let opened = client.open_with(answer, secured.receipt, memory, &mut call);
                let opened = opened.unwrap_or_else(|it| panic!("{mechanism}: {it}"));
                // What is told of the answer's life is by our clock.
                if let Some(life) = opened.evidence.freshness {
                    let apart = life.created.duration_since(now).as_secs();
                    assert!(apart.abs() <= 1, "{mechanism}: {}", life.created);
                }
            }
        }
    }
}

/// At every moment a copy is one that is remembered, or too old.
#[test]
fn a_copy_is_never_fresh_again_whatever_the_offset() {
    let folder = Folder::with_keys(RSA, &["client", "service"]);
    for mechanism in MECHANISMS {
        for offset in [-7_200, -60, 60, 7_200] {
            let now = Timestamp::now();
            let sender = client(&folder, mechanism);
            let mut buffers = Buffers::default();
            let at = now.checked_add(seconds(offset)).expect("a time");
            let secured = sender.secure_with(
                plain(SOAP11),
                Default::default(),
                &mut Call::new(at, &mut buffers),
            );
            let message = secured.expect("it is secured").bytes;
            let allowing = format!("{mechanism}, clock = {{ offset = \"{offset}s\" }}");
            let service = service(&folder, &allowing);
            let cache = Kept::until_their_ends();
            received(&service, &message, &cache, now).expect("it is accepted");
            for later in [
                1, 60, 299, 300, 301, 359, 360, 361, 7_000, 7_200, 7_560, 8_000,
            ] {
                let then = now.checked_add(seconds(later)).expect("a time");
                let refused = received(&service, &message, &cache, then);
                let name = refused.expect_err("a copy").name();
                assert!(
                    ["replayed", "timestamp-expired"].contains(&name),
                    "{mechanism} {offset} {later}: {name}"
                );
            }
        }
    }
}

/// A clock that is learnt to be further behind makes an old answer fresh again: it is a copy still.
#[test]
fn a_copy_is_never_fresh_again_when_another_clock_is_learnt() {
    let folder = Folder::with_keys(RSA, &["client", "service"]);
    let security = "mechanism = \"sign\"";
    let learning =
        format!("{security}, clock = {{ offset = \"auto\", from = \"date\", limit = \"30m\" }}");
    let (client, service) = (client(&folder, &learning), service(&folder, security));
    let now = Timestamp::now();
    let mut buffers = Buffers::default();
    let mut ask = || {
        let mut call = Call::new(now, &mut buffers);
        let request = client.secure_with(plain(SOAP11), Default::default(), &mut call);
        request.expect("it is secured").receipt
    };
    let request = ask();
    let again = ask();
    let receipt = {
        let asked = client.secure(plain(SOAP11)).expect("it is secured");
        let opened = received(&service, &asked.bytes, &ForgetfulReplayCache, now);
        opened.expect("it is accepted").receipt
    };
    let answer = service
        .answer(plain(SOAP11), &receipt)
        .expect("an answer")
        .bytes;
    let cache = Kept::until_their_ends();
    let open = |receipt, later: i64| {
        let then = now.checked_add(seconds(later)).expect("a time");
        let mut buffers = Buffers::default();
        let memory = Memory::without_conversations(&cache);
        let opened = client.open_with(
            answer.clone(),
            receipt,
            memory,
            &mut Call::new(then, &mut buffers),
        );
        opened.map(|_| ()).map_err(|rejected| rejected.name())
    };
    assert_eq!(open(request, 0), Ok(()));
    // Twenty minutes later somebody sets the clock back by twenty minutes.
    let then = now.checked_add(seconds(1_200)).expect("a time");
    client.learn_clock(now, then).expect("it is believed");
    assert_eq!(open(again, 1_200), Err("replayed"));
}

#[test]
fn what_makes_no_sense_of_a_clock_is_a_mistake_of_the_file() {
    let folder = Folder::with_keys(RSA, &["client", "service"]);
    let of_client = |security: &str| {
        let made: Result<Client, Problems> =
            config(&folder, &text("client", security)).and_then(|it| Endpoint::from_config(&it));
        made.err()
            .map(|problems| problems.to_string())
            .unwrap_or_default()
    };
    for (security, expected) in [
        (
            "mechanism = \"sign\", clock = { offset = \"soon\" }",
            "`offset` must be \"auto\" or a duration with a sign, such as \"-37s\"",
        ),
        (
            "mechanism = \"sign\", clock = { from = \"date\" }",
            "`offset` is missing in [security.clock]",
        ),
        (
            "mechanism = \"sign\", clock = { offset = \"-1s\", from = \"date\" }",
            "`from` is of a clock that is learnt, and `offset` says how far it is off",
        ),
        (
            "mechanism = \"none\", clock = { offset = \"-1s\" }",
            "`clock` is given, and messages have no time",
        ),
    ] {
        let found = of_client(security);
        assert!(found.contains(expected), "{security}: {found}");
    }
    let learning = "mechanism = \"sign\", clock = { offset = \"auto\" }";
    let made: Result<Service, Problems> =
        config(&folder, &text("service", learning)).and_then(|it| Endpoint::from_config(&it));
    let found = made.expect_err("nothing to learn from").to_string();
    assert!(
        found.contains("a clock is learnt from answers, and this endpoint gets none"),
        "{found}"
    );
}
