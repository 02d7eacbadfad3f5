//! What a call cannot take less than: its private keys, its digests and its ciphers, each measured
//! alone.
//!
//! The rule kept here: only what the algorithms of the call have to do is counted, as often as it
//! has to be done and at its best time, so that nobody who uses them can be faster.

use std::collections::BTreeMap;

use soapstone::wss::{Mechanism, Suite};

use super::call::{Call, Stack, Step};
use super::point::Procedure;
use super::setup::{Proof, Setup};
use crate::parts::{OctetTimes, PrivateKeyTimes};

/// Floors of calls; what they are made of is measured once.
#[derive(Default)]
pub(super) struct Floors {
    /// Of RSA keys by bits, and of those on P-256.
    keys: BTreeMap<Option<u32>, PrivateKeyTimes>,
    /// By suite.
    octets: BTreeMap<&'static str, OctetTimes>,
}

/// How often each is done.
#[derive(Default)]
struct Times {
    signatures: f64,
    unwrapped_keys: f64,
    digests: f64,
    sealed: f64,
    opened: f64,
}

impl Floors {
    /// The floor of one of our calls whose plain messages have so many bytes together,
    /// microseconds; `None`, where nothing is signed or encrypted, or with keys that are not
    /// measured.
    pub(super) fn of(&mut self, call: &Call, procedure: Procedure, octets: f64) -> Option<f64> {
        let setup = &call.setup;
        let (signs, encrypts) = (setup.mechanism.signs(), setup.mechanism.encrypts());
        if call.stack != Stack::Soapstone
            || setup.direct
            || matches!(setup.proof, Proof::Dsa | Proof::Ecdsa)
            || !(signs || encrypts)
        {
            return None;
        }
        // Request and response: one side signs and enciphers each, the other verifies, unwraps and
        // deciphers. In memory it is one side.
        let times = match procedure {
            Procedure::InMemory { step, .. } => match step {
                Step::Secure => Times {
                    signatures: 1.0,
                    digests: 1.0,
                    sealed: 1.0,
                    ..Times::default()
                },
                Step::Open => Times {
                    unwrapped_keys: 1.0,
                    digests: 1.0,
                    opened: 1.0,
                    ..Times::default()
                },
            },
            _ => Times {
                signatures: 2.0,
                unwrapped_keys: 2.0,
                digests: 2.0,
                sealed: 1.0,
                opened: 1.0,
            },
        };
        let mut floor = 0.0;
        if let (Mechanism::SecureConversation, Procedure::Conversations { requests, .. }) =
            (setup.mechanism, procedure)
        {
            // Both messages of the handshake are signed and encrypted.
            let keys = self.keys(setup);
            let message = keys.sign + keys.unwrap + keys.verify + keys.wrap;
            floor += 2.0 * message / f64::from(requests);
        }
        if setup.has_rsa_keys() || setup.has_elliptic_keys() {
            let keys = self.keys(setup);
            // Who signs wraps, and who unwraps verifies.
            if signs {
                floor += times.signatures * keys.sign + times.unwrapped_keys * keys.verify;
            }
            if encrypts {
                floor += times.unwrapped_keys * keys.unwrap + times.signatures * keys.wrap;
            }
        }
        if let Some(suite) = Suite::named(setup.suite) {
            let each = self.octets.entry(setup.suite);
            let each = each.or_insert_with(|| OctetTimes::measure(&suite));
            if signs {
                floor += times.digests * octets * each.digest;
            }
            if encrypts {
                floor += octets * (times.sealed * each.seal + times.opened * each.open);
            }
        }
        Some(floor)
    }

    fn keys(&mut self, setup: &Setup) -> PrivateKeyTimes {
        let bits = (!setup.agrees()).then_some(setup.rsa_bits);
        let keys = self.keys.entry(bits);
        *keys.or_insert_with(|| match bits {
            Some(bits) => PrivateKeyTimes::measure(bits),
            None => PrivateKeyTimes::measure_elliptic(),
        })
    }
}

/// The floor of the mean call of clients that call at once, each as soon as its last call has
/// ended, where there are fewer processors than clients and these are served in turns: nobody gets
/// a second answer before everybody has a first, and so on, as where calls are answered
/// in the order in which they came.
///
/// Each client has a call out until it has its last answer, so that the times of all calls add up
/// to the times at which the clients are done; and before the one that is done as the k-th, the
/// processors have done all calls but the last ones of the clients after it.
pub(super) fn floor_together(floor: f64, procedure: Procedure, processors: u32) -> Option<f64> {
    let (Procedure::Together {
        clients, requests, ..
    }
    | Procedure::Under {
        clients, requests, ..
    }) = procedure
    else {
        return None;
    };
    let requests = requests.max(1);
    let earlier = (requests - 1) * clients;
    let ends: u32 = (1..=clients)
        .map(|client| (earlier + client).div_ceil(processors))
        .sum();
    (clients > processors).then(|| floor * f64::from(ends) / f64::from(clients * requests))
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::super::call::Operation;
    use super::*;

    fn floors(mechanism: Mechanism, octets: f64) -> Option<f64> {
        floors_by(Procedure::Newcomers { times: 1 }, mechanism, octets)
    }

    fn floors_by(procedure: Procedure, mechanism: Mechanism, octets: f64) -> Option<f64> {
        let call = Call {
            stack: Stack::Soapstone,
            setup: Setup::secured(mechanism, "Basic128GCM"),
            operation: Operation::Sum,
        };
        let mut floors = Floors {
            keys: BTreeMap::from([(
                Some(2048),
                PrivateKeyTimes {
                    sign: 500.0,
                    unwrap: 400.0,
                    verify: 0.0,
                    wrap: 0.0,
                },
            )]),
            octets: BTreeMap::from([(
                "Basic128GCM",
                OctetTimes {
                    digest: 0.01,
                    seal: 0.002,
                    open: 0.003,
                },
            )]),
        };
        floors.of(&call, procedure, octets)
    }

    #[test]
    fn the_calls_of_a_conversation_share_its_handshake() {
        let procedure = Procedure::Conversations {
            repetitions: 1,
            requests: 10,
        };
        let conversation = floors_by(procedure, Mechanism::SecureConversation, 0.0);
        let handshake = floors(Mechanism::SignEncrypt, 0.0).expect("a floor");
        assert_eq!(conversation, Some(handshake / 10.0));
        let alone = floors_by(procedure, Mechanism::SignEncrypt, 0.0);
        assert_eq!(alone, Some(handshake));
    }

    #[test]
    fn keys_that_agree_are_made_for_each_message_and_its_signature_is_verified() {
        let call = Call {
            stack: Stack::Soapstone,
            setup: Setup::secured(Mechanism::SignEncrypt, "Basic128GCMEcdhEs"),
            operation: Operation::Sum,
        };
        let times = PrivateKeyTimes {
            sign: 20.0,
            unwrap: 50.0,
            verify: 60.0,
            wrap: 70.0,
        };
        let mut floors = Floors {
            keys: BTreeMap::from([(None, times)]),
            ..Floors::default()
        };
        let mut of = |step| {
            floors.of(
                &call,
                Procedure::InMemory {
                    step,
                    repetitions: 1,
                },
                0.0,
            )
        };
        assert_eq!(of(Step::Secure), Some(90.0));
        assert_eq!(of(Step::Open), Some(110.0));
        let called = floors.of(&call, Procedure::Newcomers { times: 1 }, 0.0);
        assert_eq!(called, Some(400.0));
    }

    #[test]
    fn each_octet_is_digested_twice_and_ciphered_there_and_back() {
        let near = |floor: Option<f64>, expected: f64| {
            let floor = floor.expect("a floor");
            assert!((floor - expected).abs() < 1e-6, "{floor} {expected}");
        };
        near(floors(Mechanism::Sign, 0.0), 1_000.0);
        near(floors(Mechanism::Encrypt, 0.0), 800.0);
        near(floors(Mechanism::Sign, 1e6), 1_000.0 + 20_000.0);
        near(floors(Mechanism::Encrypt, 1e6), 800.0 + 5_000.0);
        near(floors(Mechanism::SignEncrypt, 1e6), 1_800.0 + 25_000.0);
        near(floors(Mechanism::SecureConversation, 1e6), 25_000.0);
        assert_eq!(floors(Mechanism::Username, 1e6), None);
    }

    #[test]
    fn clients_that_call_at_once_wait_for_each_other_s_keys() {
        let together = |clients, requests| Procedure::Together {
            clients,
            requests,
            repetitions: 3,
        };
        // One after the other on one processor: 1, 2 and 3 times as long.
        assert_eq!(floor_together(800.0, together(3, 1), 1), Some(1_600.0));
        // Pairs: the first after 1, the last after 5.
        assert_eq!(floor_together(800.0, together(10, 1), 2), Some(2_400.0));
        // Every second call waits for a whole turn: 5.
        assert_eq!(floor_together(800.0, together(10, 2), 2), Some(3_200.0));
        assert_eq!(floor_together(800.0, together(10, 10), 2), Some(3_840.0));
        assert_eq!(floor_together(800.0, together(2, 9), 2), None);
        assert_eq!(floor_together(800.0, together(10, 9), 16), None);
        assert_eq!(
            floor_together(800.0, Procedure::Newcomers { times: 9 }, 2),
            None
        );
    }

    #[test]
    fn clients_served_in_the_order_of_their_calls_take_what_the_floor_says() {
        let (clients, requests, processors) = (7, 4, 3);
        let mut free_at = [0_u32; 3];
        let mut calls = VecDeque::from(vec![(0, requests); 7]);
        let mut times = Vec::new();
        while let Some((came, left)) = calls.pop_front() {
            let next = free_at.iter_mut().min().expect("three of them");
            *next = came.max(*next) + 1;
            times.push(*next - came);
            if left > 1 {
                calls.push_back((*next, left - 1));
            }
        }
        let mean = f64::from(times.iter().sum::<u32>()) / f64::from(clients * requests);
        let procedure = Procedure::Together {
            clients,
            requests,
            repetitions: 1,
        };
        let floor =
            floor_together(1.0, procedure, processors).expect("more clients than processors");
        assert!((floor - mean).abs() < 1e-9, "{floor} {mean}");
    }

    #[test]
    fn what_is_measured_takes_time() {
        let suite = Suite::named("Basic256").expect("a suite");
        let times = OctetTimes::measure(&suite);
        // From the fastest digests there are to ten megabytes a second.
        for time in [times.digest, times.seal, times.open] {
            assert!((1e-5..0.1).contains(&time), "{time}");
        }
    }
}
