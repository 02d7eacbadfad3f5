//! The log of calls: who may tell of which.

use soapstone_registry::LoggedCalls;
use soapstone_registry::calls::{
    Call, Calls, LARGEST_NUMBER, LONGEST_SOURCE, Logged, MOST_CALLS, Outcome,
};

use super::*;

const ACCESS_POINT: &str = "http://10.0.0.1:9000/books";

fn logging(rules: Vec<PublisherRule>) -> World {
    let limits = Limits {
        logs_calls: true,
        ..Limits::default()
    };
    let mut world = World::new(Vec::new());
    world.registry = Registry::new(rules, limits, Vec::new());
    for name in ["p1", "p2"] {
        let saved = Request::SaveBusiness(vec![business(name, ACCESS_POINT)]);
        world
            .apply(Some(&owner(name)), &saved)
            .expect("it is saved");
    }
    world
}

/// A call that the provider of an entry served.
fn served(world: &World, binding_key: &str) -> Call {
    Call {
        number: 1,
        time: world.now.as_millisecond(),
        request: Some("r-1".to_owned()),
        route: "/books".to_owned(),
        service: Some("Books".to_owned()),
        binding_key: Some(binding_key.to_owned()),
        provider: Some(ACCESS_POINT.to_owned()),
        operation: Some("urn:buy & \"sell\"".to_owned()),
        client: Some("CN=client".to_owned()),
        request_bytes: Some(7),
        total: 1_000,
        backend: 700,
        security: 200,
        attempts: 1,
        outcome: Outcome::Accepted,
        status: 200,
        ..Call::default()
    }
}

/// A call that a broker sent to a provider.
fn sent(world: &World) -> Call {
    Call {
        binding_key: None,
        chosen: Some("turn".to_owned()),
        choice: 3,
        agreement: Some("gold-1".to_owned()),
        class: Some("gold".to_owned()),
        ..served(world, "")
    }
}

fn told(calls: Vec<Call>) -> Request {
    Request::LogCalls(Calls {
        source: "gateway-1".to_owned(),
        calls,
    })
}

fn logged(calls: u64, unknown: u64) -> Result<Answer, Refusal> {
    Ok(Answer::Logged(Logged { calls, unknown }))
}

#[test]
fn a_provider_tells_of_its_own_entries_alone() {
    let mut world = logging(vec![ANYBODY]);
    let call = served(&world, "uddi:p1:binding");
    let own = told(vec![call.clone()]);
    assert_eq!(world.apply(Some(&owner("p1")), &own), logged(1, 0));
    let key = "uddi:p1:binding".to_owned();
    assert_eq!(
        world.apply(Some(&owner("p2")), &own),
        Err(Refusal::NotOwner { key })
    );
    assert_eq!(world.apply(None, &own), Err(Refusal::Unsigned));
    // Of its own entry, and yet of another one.
    let elsewhere = Call {
        provider: Some("http://10.0.0.2/books".to_owned()),
        ..call.clone()
    };
    let (part, expected) = ("provider", "the access point of the entry");
    let refused = Err(Refusal::Value { part, expected });
    assert_eq!(
        world.apply(Some(&owner("p1")), &told(vec![elsewhere])),
        refused
    );
    let other_service = Call {
        service: Some("Payments".to_owned()),
        ..call
    };
    let (part, expected) = ("service", "a name of the service of the entry");
    let refused = Err(Refusal::Value { part, expected });
    assert_eq!(
        world.apply(Some(&owner("p1")), &told(vec![other_service])),
        refused
    );
}

#[test]
fn a_broker_tells_of_others_where_a_rule_lets_it() {
    let mut world = logging(vec![ANYBODY]);
    let call = told(vec![sent(&world)]);
    let what = "calls that others served".to_owned();
    let refused = Err(Refusal::NotAllowed { what });
    assert_eq!(world.apply(Some(&owner("p1")), &call), refused);
    let balanced = Call {
        chosen: Some("turn".to_owned()),
        ..served(&world, "uddi:p1:binding")
    };
    let balanced = told(vec![balanced]);
    assert_eq!(world.apply(Some(&owner("p1")), &balanced), refused);
    let rule = PublisherRule {
        subject: Some("CN=broker".to_owned().into()),
        services: Some(Vec::new()),
        calls: true,
        ..ANYBODY
    };
    let mut world = logging(vec![ANYBODY, rule.clone()]);
    assert_eq!(world.apply(Some(&owner("broker")), &call), logged(1, 0));
    assert_eq!(world.apply(Some(&owner("stranger")), &call), refused);
    world.registry = Registry::new(
        vec![rule],
        Limits {
            logs_calls: true,
            ..Limits::default()
        },
        Vec::new(),
    );
    assert_eq!(world.apply(Some(&owner("broker")), &call), logged(1, 0));
    let publishes = Request::SaveBusiness(vec![business("b", ACCESS_POINT)]);
    let what = "the service Books".to_owned();
    assert_eq!(
        world.apply(Some(&owner("broker")), &publishes),
        Err(Refusal::NotAllowed { what })
    );
}

#[test]
fn calls_of_an_entry_that_is_gone_take_no_other_call_out() {
    let mut world = logging(vec![ANYBODY]);
    let known = served(&world, "uddi:p1:binding");
    let gone = served(&world, "uddi:p1:gone");
    let own = owner("p1");
    let answer = world.apply(Some(&own), &told(vec![gone.clone(), known.clone()]));
    assert_eq!(answer, logged(1, 1));
    assert_eq!(world.apply(Some(&own), &told(vec![gone])), logged(0, 1));
    let mut asked = Asked {
        owner: Some(&own),
        now: world.now,
        new_key: &mut String::new,
    };
    let applied = world.registry.apply(&told(vec![known.clone()]), &mut asked);
    let changes = applied.expect("it is logged").changes;
    let expected = LoggedCalls {
        owner: own,
        source: "gateway-1".to_owned(),
        received: world.now,
        calls: vec![known],
    };
    assert_eq!(changes, [Change::Log(Box::new(expected))]);
}

#[test]
fn a_registry_without_a_log_says_so() {
    let mut world = World::new(vec![ANYBODY]);
    let call = told(vec![sent(&world)]);
    let found = "calls: it has no [calls] in its file".to_owned();
    assert_eq!(
        world.apply(Some(&owner("broker")), &call),
        Err(Refusal::Unsupported { found })
    );
}

#[test]
fn what_is_told_of_calls_has_its_bounds() {
    let rule = PublisherRule {
        calls: true,
        ..ANYBODY
    };
    let mut world = logging(vec![rule]);
    let call = sent(&world);
    let own = owner("broker");
    let many = told(vec![call.clone(); MOST_CALLS]);
    assert_eq!(world.apply(Some(&own), &many), logged(MOST_CALLS as u64, 0));
    let too_many = Refusal::TooMany {
        part: "call",
        most: MOST_CALLS,
    };
    let long = Refusal::TooMany {
        part: "client",
        most: 255,
    };
    let controls = Refusal::Value {
        part: "client",
        expected: "a text without control characters",
    };
    let large = Refusal::Value {
        part: "total",
        expected: "a number below 2^48",
    };
    let of_client = |client: String| Call {
        client: Some(client),
        ..call.clone()
    };
    let cases = [
        (vec![call.clone(); MOST_CALLS + 1], too_many),
        (Vec::new(), Refusal::Missing { part: "call" }),
        (vec![of_client("x".repeat(256))], long),
        (vec![of_client("x\0".to_owned())], controls),
        (
            vec![Call {
                total: LARGEST_NUMBER + 1,
                ..call.clone()
            }],
            large,
        ),
        (
            vec![Call {
                time: call.time + 61_000,
                ..call.clone()
            }],
            Refusal::FutureReport,
        ),
    ];
    for (calls, refused) in cases {
        assert_eq!(world.apply(Some(&own), &told(calls)), Err(refused));
    }
    let of_source = |source: String| {
        let calls = vec![call.clone()];
        Request::LogCalls(Calls { source, calls })
    };
    let most = LONGEST_SOURCE;
    let long = Refusal::TooMany {
        part: "source",
        most,
    };
    assert_eq!(
        world.apply(Some(&own), &of_source("g".repeat(most + 1))),
        Err(long)
    );
    let nameless = of_source(String::new());
    assert_eq!(
        world.apply(Some(&own), &nameless),
        Err(Refusal::Missing { part: "source" })
    );
}

#[test]
fn calls_are_the_same_as_soap_and_as_json() {
    let world = World::new(Vec::new());
    let least = Call {
        outcome: Outcome::Refused,
        reason: Some("replayed".to_owned()),
        ..Call::default()
    };
    let request = told(vec![sent(&world), served(&world, "uddi:p1:binding"), least]);
    let xml = format!("<Body>{}</Body>", uddi::write_request(&request));
    let read = uddi::read_request(parse(&xml).root());
    assert_eq!(read.as_ref(), Ok(&request));
    let json = serde_json::to_string(&request).expect("JSON");
    assert_eq!(
        serde_json::from_str::<Request>(&json).expect("JSON"),
        request
    );
    let answer = Answer::Logged(Logged {
        calls: 3,
        unknown: 1,
    });
    let xml = format!("<Body>{}</Body>", uddi::write_answer(&answer));
    assert_eq!(uddi::read_answer(parse(&xml).root()), Ok(answer));
}
