//! Whole calls through two gateways, which predictions are compared with, and the ends of
//! conversations.
//!
//! The rule kept here: calls that are compared take turns, in an order drawn anew each time.

use std::time::Duration;

use soapstone::config::EndpointConfig;
use soapstone::endpoint::{Client, Service};
use soapstone::wss::Mechanism;
use soapstone_lab::Payload;
use soapstone_lab::advise::{Ends, Means, whole_call};
use soapstone_lab::engine::CONVERSATION_SUITES;
use soapstone_lab::measurement::Measurement;
use soapstone_lab::study::{Bench, Call, NoCall, Operation, Order, Setup, Source, Stack};

use super::super::bench::{Gateways, Sides, StopSignal, layout};
use super::super::process_log::ProcessLog;
use crate::failure::Failure;
use crate::testbed::{Network, Place, Scratch};

/// What orders are drawn with.
const SEED: u64 = 2012;
/// Calls of each way before any counts.
const WARM_UP: u32 = 10;
/// Calls of each way that count.
const REPETITIONS: usize = 25;

/// What is asked for: small messages, and sizes that no model is fitted to.
const PAYLOADS: [Payload; 5] = [
    Payload::Echo(12),
    Payload::Echo(10_000),
    Payload::Echo(200_000),
    Payload::Books(30),
    Payload::Books(1_000),
];

/// Ways between the gateways: the first adds nothing.
const SETUPS: [Setup; 11] = [
    Setup::PLAIN,
    Setup::PLAIN.over_tls(),
    Setup::secured(Mechanism::Username, ""),
    Setup::secured(Mechanism::Sign, "Basic128GCM"),
    Setup::secured(Mechanism::Encrypt, "Basic128GCM"),
    Setup::secured(Mechanism::SignEncrypt, "Basic128GCM"),
    Setup::secured(Mechanism::SignEncrypt, "Basic256"),
    Setup::secured(Mechanism::SignEncrypt, "Basic128GCMEcdhEs"),
    Setup::secured(Mechanism::EncryptSign, "Basic128GCM"),
    CONVERSATION,
    Setup::secured(Mechanism::SecureConversation, "Basic256"),
];
const CONVERSATION: Setup = Setup::secured(Mechanism::SecureConversation, "Basic128GCM");

/// Both ends of conversations, with the keys of the scratch folder.
pub(super) fn ends(scratch: &Scratch) -> Result<Vec<Ends>, Failure> {
    let config = |suite: &str, own: &str, peer: &str| {
        let text = format!(
            "identity = {{ key = \"{own}.key.pem\", certificate = \"{own}.cert.pem\" }}\n\
             peer = {{ certificate = \"{peer}.cert.pem\" }}\ntrust = {{ anchors = [\"ca.cert.pem\"], subjects = [\"CN={peer}\"] }}\n\
             [security]\nmechanism = \"secure-conversation\"\nsuite = \"{suite}\"\n"
        );
        let file = scratch.folder().join("end.toml");
        EndpointConfig::from_text(&text, &file, &|_| None)
    };
    let ends = CONVERSATION_SUITES.iter().map(|suite| {
        Ok(Ends {
            suite: (*suite).to_owned(),
            client: Client::from_config(&config(suite, "client", "server")?)?,
            service: Service::from_config(&config(suite, "server", "client")?)?,
        })
    });
    ends.collect()
}

/// Makes whole calls, and hands out what each took.
///
/// # Errors
/// Services or gateways do not start, an answer is wrong, or somebody wants to stop.
pub(super) fn measure(
    scratch: &Scratch,
    wish: &StopSignal,
    emit: &mut dyn FnMut(Measurement),
) -> Result<(), Failure> {
    let sides = Sides::new(None)?;
    let calls: Vec<Call> = PAYLOADS
        .iter()
        .flat_map(|payload| SETUPS.map(|setup| call(setup, *payload)))
        .collect();
    let network = sides.serve(Network::start(
        scratch,
        &layout("advise", &calls, &[], &[]),
        Place::Here,
    ))?;
    let mut order = Order::new(SEED);
    let measured = (|| {
        let process_log = ProcessLog::default();
        let mut bench = Gateways::new(
            &sides,
            scratch,
            &network,
            (Vec::new(), &[]),
            wish.clone(),
            process_log,
        )?;
        for payload in PAYLOADS {
            in_turns(&mut bench, &mut order, payload, emit)?;
        }
        let first = call(CONVERSATION, PAYLOADS[0]);
        let mut times = Vec::with_capacity(REPETITIONS);
        for _ in 0..REPETITIONS {
            bench.end_conversation(&first).map_err(failure)?;
            times.push(bench.call(&first).map_err(failure)?);
        }
        emit(whole_call(&means(CONVERSATION), PAYLOADS[0], true, &times));
        Ok(())
    })();
    sides.serve(network.shutdown());
    measured
}

/// Calls of all ways for this payload.
fn in_turns(
    bench: &mut Gateways<'_>,
    order: &mut Order,
    payload: Payload,
    emit: &mut dyn FnMut(Measurement),
) -> Result<(), Failure> {
    for setup in SETUPS {
        for _ in 0..WARM_UP {
            bench.call(&call(setup, payload)).map_err(failure)?;
        }
    }
    let mut times = vec![Vec::<Duration>::with_capacity(REPETITIONS); SETUPS.len()];
    let mut turns: Vec<usize> = (0..SETUPS.len()).collect();
    for _ in 0..REPETITIONS {
        order.shuffle(&mut turns);
        for &turn in &turns {
            let took = bench.call(&call(SETUPS[turn], payload)).map_err(failure)?;
            times[turn].push(took);
        }
    }
    for (setup, times) in SETUPS.into_iter().zip(times) {
        emit(whole_call(&means(setup), payload, false, &times));
    }
    Ok(())
}

fn call(setup: Setup, payload: Payload) -> Call {
    let operation = match payload {
        Payload::Echo(characters) => Operation::Echo {
            characters: characters as u32,
        },
        Payload::Books(books) => Operation::Books {
            source: Source::Memory,
            books,
        },
    };
    Call {
        stack: Stack::Soapstone,
        setup,
        operation,
    }
}

fn means(setup: Setup) -> Means {
    Means {
        proof: setup.proof,
        tls: setup.transport.is_tls(),
        mechanism: setup.mechanism,
        suite: setup.suite.to_owned(),
    }
}

fn failure(no: NoCall<Failure>) -> Failure {
    match no {
        NoCall::Failed(failure) => failure,
        NoCall::LeftOut(why) => Failure::new(why),
    }
}

#[cfg(test)]
mod tests {
    use soapstone_lab::advise::measure_conversation;
    use soapstone_lab::measurement::Effort;

    use super::*;

    #[test]
    fn conversations_begin_with_keys_of_certificates_and_end_without() {
        let scratch = Scratch::make("ends").expect("a folder with keys");
        let effort = Effort {
            time: Duration::ZERO,
            least: 5,
            most: 5,
        };
        let ends = ends(&scratch).expect("ends that compile");
        assert_eq!(ends.len(), CONVERSATION_SUITES.len());
        for ends in ends {
            let mut lines = Vec::new();
            measure_conversation(&ends, effort, &mut |line| lines.push(line.clone()));
            let [begin, end] = lines.try_into().expect("two lines");
            assert_eq!((&*begin.op, &*end.op), ("begin", "end"));
            assert_eq!((begin.n, end.n), (5, 5));
            assert_eq!((&begin.suite, &*begin.binding), (&ends.suite, "context"));
            // Certificates, wrapped keys and signatures with private keys, and none of them.
            assert!(
                begin.secured_bytes > end.secured_bytes + 4_000,
                "{begin:?} {end:?}"
            );
            for line in [begin, end] {
                assert!((4_000..60_000).contains(&line.secured_bytes), "{line:?}");
            }
        }
    }

    #[test]
    fn the_first_way_adds_nothing_and_no_payload_is_one_that_models_are_fitted_to_but_the_smallest()
    {
        assert_eq!(SETUPS[0], Setup::PLAIN);
        let known = PAYLOADS.iter().filter(|it| Payload::ALL.contains(it));
        assert_eq!(known.collect::<Vec<_>>(), [&Payload::Echo(12)]);
    }
}
