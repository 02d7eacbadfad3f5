//! Advice drawn from measurements that are made up, so that what is right is known.

mod calls;
mod tokens;

use super::*;
use crate::measurement::Tuning;

/// Lines of one mechanism whose operations take `fixed + 0.001 × octets` microseconds, and whose
/// messages grow by `fixed_octets` and a third.
fn lines(
    mechanism: &str,
    suite: &str,
    binding: &str,
    fixed: f64,
    fixed_octets: usize,
) -> Vec<Measurement> {
    let grows = if fixed_octets > 500 { 3 } else { usize::MAX };
    let of = |op: &str, payload: Payload| {
        let bytes = payload.envelope().len();
        let time = fixed + 0.001 * bytes as f64;
        Measurement {
            stack: "soapstone".into(),
            op: op.to_owned().into(),
            mechanism: mechanism.to_owned().into(),
            suite: suite.to_owned(),
            binding: binding.to_owned().into(),
            payload: payload.kind().into(),
            items: payload.items(),
            bytes,
            secured_bytes: bytes + bytes / grows + fixed_octets,
            clients: 1,
            n: 10,
            mean_us: time,
            median_us: time,
            p95_us: time,
            stdev_us: 0.0,
            per_s: 1e6 / time,
            tuning: Tuning {
                canonical_runs: true,
                derived_keys: true,
            },
            between_calls: false,
        }
    };
    let payloads = [
        Payload::Echo(12),
        Payload::Echo(10_000),
        Payload::Books(10),
        Payload::Books(500),
    ];
    let ops: &[&'static str] = if mechanism == "https" {
        &["carry"]
    } else {
        &["secure", "open"]
    };
    let pairs = ops
        .iter()
        .flat_map(|op| payloads.map(|payload| (*op, payload)));
    pairs.map(|(op, payload)| of(op, payload)).collect()
}

fn measurements() -> Vec<Measurement> {
    let mut all = lines("none", "Basic128GCM", "certificate", 1.0, 0);
    all.extend(lines("username", "Basic128GCM", "certificate", 10.0, 400));
    all.extend(lines("sign", "Basic128GCM", "certificate", 800.0, 4_000));
    all.extend(lines(
        "sign-encrypt",
        "Basic128GCM",
        "certificate",
        1_000.0,
        6_000,
    ));
    all.extend(lines(
        "sign-encrypt",
        "TripleDes",
        "certificate",
        900.0,
        6_000,
    ));
    all.extend(lines("sign-encrypt", "Basic256GCM", "shared", 1.0, 100));
    all.extend(lines(
        "secure-conversation",
        "Basic128GCM",
        "context",
        100.0,
        5_000,
    ));
    let mut tls = lines("https", "TLS 1.3", "certificate", 5.0, 50);
    let mut handshake = tls[0].clone();
    handshake.op = "handshake".into();
    handshake.median_us = 1_500.0;
    handshake.secured_bytes = 3_000;
    tls.push(handshake);
    all.extend(tls);
    all
}

fn workload(needs: &[Need]) -> Workload {
    Workload {
        request: Message::of_bytes(2_000.0),
        response: Message::of_bytes(2_000.0),
        messages_per_conversation: 100.0,
        cores: 2.0,
        needs: needs.to_vec(),
        ..Workload::default()
    }
}

fn modern(suite: &str) -> bool {
    suite.ends_with("GCM")
}

fn ranked(workload: &Workload) -> Vec<String> {
    let advice = Models::of(&measurements()).advise(workload, modern);
    advice
        .ranked
        .iter()
        .map(|it| it.means.to_string())
        .collect()
}

#[test]
fn what_was_measured_as_between_calls_is_not_fitted_to_the_engine() {
    let alone = measurements();
    let operations = alone
        .iter()
        .filter(|it| it.op == "secure" || it.op == "open");
    let between = operations.cloned().map(|line| Measurement {
        median_us: line.median_us * 2.0,
        between_calls: true,
        ..line
    });
    let both: Vec<_> = between.chain(alone.clone()).collect();
    let workload = workload(&[Need::Integrity]);
    let latencies = |of: &[Measurement]| {
        let advice = Models::of(of).advise(&workload, modern);
        let told = advice.ranked.iter();
        told.map(|it| (it.means.to_string(), it.latency))
            .collect::<Vec<_>>()
    };
    assert_eq!(latencies(&both), latencies(&alone));
}

#[test]
fn those_that_satisfy_the_needs_are_ranked_by_latency() {
    use Need::{Authentication, Confidentiality, Integrity, Intermediaries};
    assert_eq!(
        ranked(&workload(&[
            Integrity,
            Confidentiality,
            Authentication,
            Intermediaries
        ])),
        [
            "secure-conversation/Basic128GCM",
            "sign-encrypt/Basic128GCM"
        ]
    );
    assert_eq!(
        ranked(&workload(&[Integrity, Confidentiality]))[..2],
        ["https", "https+username"]
    );
    assert_eq!(
        ranked(&workload(&[Integrity, Authentication, Intermediaries])),
        [
            "secure-conversation/Basic128GCM",
            "sign/Basic128GCM",
            "sign-encrypt/Basic128GCM"
        ]
    );
    let alone = Workload {
        messages_per_conversation: 1.0,
        ..workload(&[Confidentiality, Intermediaries])
    };
    assert_eq!(ranked(&alone)[0], "sign-encrypt/Basic128GCM");
}

#[test]
fn a_prediction_is_the_sum_of_its_parts() {
    let models = Models::of(&measurements());
    let means = Means {
        proof: Proof::Usual,
        tls: false,
        mechanism: Mechanism::SecureConversation,
        suite: "Basic128GCM".to_owned(),
    };
    let slow = Workload {
        bandwidth: 8e6,
        round_trip: 1_000.0,
        ..workload(&[])
    };
    let call = models.predict(&means, &slow).expect("a prediction");
    // Four operations of 102 µs; a handshake of four of 1,002 µs for 100 calls; bytes at one a
    // microsecond; the way there and back.
    let processor = 4.0 * 102.0 + 4.0 * 1_002.0 / 100.0;
    assert!((call.processor[0] - processor).abs() < 0.1, "{call:?}");
    let octets =
        2.0 * (2_000.0 * 4.0 / 3.0 + 5_000.0) + 2.0 * (2_000.0 * 4.0 / 3.0 + 6_000.0) / 100.0;
    assert!(
        (call.octets - octets).abs() < 3.0,
        "{call:?}, expected {octets}"
    );
    let latency = processor + call.octets + 1_000.0 * 1.01;
    assert!((call.latency[0] - latency).abs() < 0.1, "{call:?}");
    assert!(call.processor[1] < 1.0, "what was made up fits: {call:?}");
}

/// What one line of conversations says: how they begin, or how they end.
fn conversation(op: &str, time: f64, octets: usize) -> Measurement {
    let mut lines = lines("secure-conversation", "Basic128GCM", "context", time, 0);
    let line = lines.swap_remove(0);
    Measurement {
        op: op.to_owned().into(),
        mean_us: time,
        median_us: time,
        secured_bytes: octets,
        ..line
    }
}

#[test]
fn what_a_conversation_takes_to_begin_and_to_end_is_what_was_measured() {
    let mut all = measurements();
    all.push(conversation("begin", 3_000.0, 10_000));
    all.push(conversation("end", 500.0, 8_000));
    let models = Models::of(&all);
    let means = Means {
        proof: Proof::Usual,
        tls: false,
        mechanism: Mechanism::SecureConversation,
        suite: "Basic128GCM".to_owned(),
    };
    let call = models.predict(&means, &workload(&[])).expect("a call");
    // Four operations of 102 µs, and of what 100 calls share nobody waits for the end.
    assert!((call.processor[0] - 408.0 - 35.0).abs() < 0.1, "{call:?}");
    assert!((call.latency[0] - 408.0 - 30.0).abs() < 0.1, "{call:?}");
    assert!((call.handshake - 3_000.0).abs() < 1e-9, "{call:?}");
    let plain = 2.0 * (2_000.0 * 4.0 / 3.0 + 5_000.0);
    assert!((call.octets - plain - 180.0).abs() < 3.0, "{call:?}");
    // With clients beyond the cores, everybody waits for everything.
    let crowd = Workload {
        clients: 4.0,
        ..workload(&[])
    };
    let crowd = models.predict(&means, &crowd).expect("a call");
    assert!((crowd.latency[0] - 438.0 - 443.0).abs() < 0.2, "{crowd:?}");
}

#[test]
fn clients_wait_for_cores_and_a_rate_beyond_them_ranks_last() {
    let crowded = |clients, rate| {
        let workload = Workload {
            clients,
            rate,
            messages_per_conversation: 1e9,
            ..workload(&[Need::Confidentiality, Need::Intermediaries])
        };
        Models::of(&measurements()).advise(&workload, modern).ranked
    };
    let (alone, ten) = (crowded(1.0, 0.0), crowded(10.0, 0.0));
    assert!((ten[0].latency[0] / alone[0].latency[0] - 5.0).abs() < 1e-6);
    // Each side spends 204 µs on a call of a conversation and 2,004 µs on a signed and encrypted
    // one, on two cores.
    let busy = crowded(1.0, 1_500.0);
    assert!((busy[0].utilization - 0.153).abs() < 1e-3 && busy[0].latency[0] > alone[0].latency[0]);
    assert!(busy[1].utilization > 1.0);
}

#[test]
fn crossovers_say_from_how_many_calls_a_conversation_wins() {
    let models = Models::of(&measurements());
    let advice = models.advise(
        &workload(&[Need::Confidentiality, Need::Intermediaries]),
        modern,
    );
    let turn = advice
        .turns
        .iter()
        .find(|it| it.over == Over::Calls)
        .expect("a turn");
    assert_eq!(
        (turn.below.to_string(), turn.above.to_string()),
        (
            "sign-encrypt/Basic128GCM".to_owned(),
            "secure-conversation/Basic128GCM".to_owned()
        )
    );
    // 4 × 1,002 µs to begin, and 4 × 900 µs less for each call.
    assert!((turn.at - 4.0 * 1_002.0 / 3_600.0).abs() < 0.01, "{turn:?}");
}

#[test]
fn where_errors_are_larger_than_the_difference_no_crossover_is_told() {
    // Almost the same lines, which cross at 100,000 bytes.
    let signed = |time: fn(&Measurement) -> f64| {
        let mut all = lines("sign", "Basic128GCM", "certificate", 1.0, 4_000);
        all.extend(lines(
            "sign-encrypt",
            "Basic128GCM",
            "certificate",
            1.0,
            4_000,
        ));
        for it in &mut all {
            it.median_us = match &*it.mechanism {
                "sign" => 900.0 + 0.01 * it.bytes as f64,
                _ => time(it),
            };
        }
        let needs = workload(&[Need::Integrity, Need::Intermediaries]);
        Models::of(&all).advise(&needs, modern).turns
    };
    let over_octets = |turns: Vec<Turn>| turns.iter().filter(|it| it.over == Over::Octets).count();
    assert_eq!(over_octets(signed(|it| 800.0 + 0.011 * it.bytes as f64)), 1);
    // The same, measured by somebody whose machine had moods.
    let moody = |it: &Measurement| {
        let mood = if (it.payload == "echo") == (it.bytes > 5_000) {
            1.03
        } else {
            0.97
        };
        (800.0 + 0.011 * it.bytes as f64) * mood
    };
    assert_eq!(over_octets(signed(moody)), 0);
}

#[test]
fn what_does_not_satisfy_is_left_out_with_its_reason() {
    let models = Models::of(&measurements());
    let advice = models.advise(&workload(&[Need::Integrity, Need::Intermediaries]), modern);
    let told: Vec<String> = advice
        .left_out
        .iter()
        .map(|LeftOut { means, demand, why }| format!("{means}: {demand}: {why}"))
        .collect();
    assert!(
        told.contains(&"username: integrity: nothing is signed".to_owned()),
        "{told:?}"
    );
    assert!(
        told.contains(&"https: intermediaries: TLS ends at the first intermediary".to_owned()),
        "{told:?}"
    );
    assert!(
        !told
            .iter()
            .any(|it| it.contains("TripleDes") || it.contains("Basic256GCM")),
        "{told:?}"
    );
}

#[test]
fn predictions_are_checked_with_measurements_that_were_held_back() {
    let check = Models::of(&measurements()).check().expect("a check");
    assert!(check.median_percent < 0.1, "{check:?}");
    let mut noisy = measurements();
    for (place, it) in noisy.iter_mut().enumerate() {
        it.median_us *= [0.6, 1.0, 1.4][place % 3];
    }
    let check = Models::of(&noisy).check().expect("a check");
    assert!(check.median_percent > Check::BAR, "{check:?}");
    assert_eq!(Models::of(&[]).check(), None);
}

#[test]
fn slower_code_is_advised_against() {
    let mut slowed = measurements();
    for it in slowed
        .iter_mut()
        .filter(|it| it.mechanism == "secure-conversation")
    {
        it.median_us *= 50.0;
    }
    let advice = Models::of(&slowed).advise(
        &workload(&[Need::Confidentiality, Need::Intermediaries]),
        modern,
    );
    assert_eq!(advice.ranked[0].means.mechanism, Mechanism::SignEncrypt);
}

#[test]
fn a_partner_leaves_out_what_it_does_not_speak_and_says_so() {
    let workload = Workload {
        partners: vec![Partner::Gsoap],
        ..workload(&[Need::Integrity, Need::Confidentiality, Need::Intermediaries])
    };
    let advice = Models::of(&measurements()).advise(&workload, modern);
    let ranked: Vec<String> = advice
        .ranked
        .iter()
        .map(|it| it.means.to_string())
        .collect();
    assert_eq!(ranked, ["sign-encrypt/Basic128GCM"]);
    let left_out = advice.left_out.iter().find(|it| {
        it.means.mechanism == Mechanism::SecureConversation && it.means.suite == "Basic128GCM"
    });
    assert_eq!(
        left_out.map(|it| (it.demand, it.why)),
        Some((Demand::Partner(Partner::Gsoap), "it has no conversations"))
    );
}

#[test]
fn encrypting_a_share_costs_between_signing_alone_and_encrypting_all() {
    // What is only signed does not grow with the message.
    let mut measurements = measurements();
    measurements.extend(lines("sign", "Basic128GCM", "certificate", 800.0, 4_000));
    for line in measurements.iter_mut().filter(|it| it.mechanism == "sign") {
        line.secured_bytes = line.bytes + 4_000;
    }
    let models = Models::of(&measurements);
    let time = |mechanism, encrypted| {
        let workload = Workload {
            request: Message::of_bytes(1e6),
            encrypted,
            ..workload(&[])
        };
        let means = Means {
            proof: Proof::Usual,
            tls: false,
            mechanism,
            suite: "Basic128GCM".to_owned(),
        };
        models.predict(&means, &workload).expect("a prediction")
    };
    let all = time(Mechanism::SignEncrypt, 1.0);
    let half = time(Mechanism::SignEncrypt, 0.5);
    let none = time(Mechanism::SignEncrypt, 0.0);
    assert!(half.octets < all.octets && none.octets < half.octets);
    let middle = f64::midpoint(all.octets, none.octets);
    assert!((half.octets - middle).abs() < 1.0, "{half:?}");
    assert!(none.latency[0] <= all.latency[0]);
    assert_eq!(
        time(Mechanism::Sign, 0.5).octets,
        time(Mechanism::Sign, 1.0).octets
    );
}

#[test]
fn intermediaries_make_tls_dearer_and_leave_messages_as_they_are() {
    let models = Models::of(&measurements());
    let latency = |tls, hops| {
        let workload = Workload {
            hops,
            round_trip: 1_000.0,
            ..workload(&[])
        };
        let means = Means {
            proof: Proof::Usual,
            tls,
            mechanism: if tls {
                Mechanism::None
            } else {
                Mechanism::SignEncrypt
            },
            suite: if tls { "" } else { "Basic128GCM" }.to_owned(),
        };
        models
            .predict(&means, &workload)
            .expect("a prediction")
            .latency[0]
    };
    let network = 1_000.0 * 3.0;
    assert!((latency(false, 3.0) - latency(false, 0.0) - network).abs() < 1e-6);
    assert!(latency(true, 3.0) - latency(true, 0.0) > network);
}
