//! Whole calls: what they take beside the engine, and how well that is predicted.

use super::*;

#[test]
fn whole_calls_are_compared_with_what_was_never_fitted_to_them() {
    let means = |mechanism, suite: &str| Means {
        proof: Proof::Usual,
        tls: false,
        mechanism,
        suite: suite.to_owned(),
    };
    let payload = Payload::Echo(12);
    let line = |means: &Means, begins, microseconds| {
        let time = std::time::Duration::from_micros(microseconds);
        whole_call(means, payload, begins, &[time; 3])
    };
    let signed = means(Mechanism::SignEncrypt, "Basic128GCM");
    let conversing = means(Mechanism::SecureConversation, "Basic128GCM");
    let mut all = measurements();
    assert_eq!(Models::of(&all).check_calls(&all), None);
    all.push(line(&signed, false, 4_400));
    let without_plain = Models::of(&all).check_calls(&all);
    assert_eq!(without_plain, None);
    all.push(line(&means(Mechanism::None, ""), false, 400));
    // Two messages of some 270 bytes, secured and opened: 4 × 1,000 µs and a little more than 1
    // µs, and 4 × 100 µs in a conversation, which begins with 4 × 1,002 µs.
    let check = Models::of(&all).check_calls(&all).expect("a check");
    assert_eq!(check.whole.n, 1);
    assert!(check.whole.median_percent < 0.1, "{check:?}");
    all.push(line(&conversing, false, 1_000));
    all.push(line(&conversing, true, 400 + 401 + 4_008));
    let check = Models::of(&all).check_calls(&all).expect("a check");
    assert_eq!(check.whole.n, 3);
    // 801 µs instead of 1,000, and of what was added 401 instead of 600.
    assert!((check.whole.worst_percent - 19.9).abs() < 0.2, "{check:?}");
    assert!((check.added.worst_percent - 33.2).abs() < 0.2, "{check:?}");
    assert!(check.added.median_percent < 0.1, "{check:?}");
}

/// Lines of calls that take 300 µs without security and, signed and encrypted, what the engine
/// takes and as much as `beside` says.
fn calls(payloads: &[Payload], beside: impl Fn(Payload) -> f64) -> Vec<Measurement> {
    let signed = Means {
        proof: Proof::Usual,
        tls: false,
        mechanism: Mechanism::SignEncrypt,
        suite: "Basic128GCM".to_owned(),
    };
    let plain = Means {
        proof: Proof::Usual,
        tls: false,
        mechanism: Mechanism::None,
        suite: String::new(),
    };
    let line = |means: &Means, payload: Payload, microseconds: f64| {
        let time = std::time::Duration::from_secs_f64(microseconds / 1e6);
        whole_call(means, payload, false, &[time; 3])
    };
    let both = |payload: &Payload| {
        let octets = (payload.request().len() + payload.envelope().len()) as f64;
        let engine = 4_000.0 + 2.0 * 0.001 * octets;
        [
            line(&plain, *payload, 300.0),
            line(&signed, *payload, 300.0 + engine + beside(*payload)),
        ]
    };
    payloads.iter().flat_map(both).collect()
}

const CALLED: [Payload; 4] = [
    Payload::Echo(12),
    Payload::Echo(20_000),
    Payload::Echo(100_000),
    Payload::Books(100),
];

#[test]
fn what_gateways_add_beside_the_engine_is_fitted_to_calls_with_other_messages() {
    let mut all = measurements();
    let octets = |payload: Payload| (payload.request().len() + payload.envelope().len()) as f64;
    let beside = |payload| 2_000.0 + 0.05 * octets(payload);
    all.extend(calls(&CALLED, beside));
    let models = Models::of(&all);
    let check = models.check_calls(&all).expect("a check");
    assert_eq!(check.added.n, 4);
    assert!(check.added.worst_percent < 0.5, "{check:?}");
    let means = |mechanism, tls| Means {
        proof: Proof::Usual,
        tls,
        mechanism,
        suite: "Basic128GCM".to_owned(),
    };
    let without = Models::of(&measurements());
    let latency = |models: &Models, means: &Means| {
        let call = models.predict(means, &workload(&[])).expect("a call");
        call.latency[0]
    };
    let signed = means(Mechanism::SignEncrypt, false);
    let added = latency(&models, &signed) - latency(&without, &signed);
    assert!((added - 2_200.0).abs() < 5.0, "{added}");
    // Nothing is known of calls under another mechanism.
    let conversing = means(Mechanism::SecureConversation, false);
    let added = latency(&models, &conversing) - latency(&without, &conversing);
    assert!(added.abs() < 1e-9, "{added}");
    // Of the suites that were not called with, the mechanism tells.
    let other = Means {
        suite: "TripleDes".to_owned(),
        ..signed
    };
    let added = latency(&models, &other) - latency(&without, &other);
    assert!((added - 2_200.0).abs() < 5.0, "{added}");
}

#[test]
fn a_call_that_is_unlike_the_others_is_predicted_badly_and_said_to_be() {
    let mut all = measurements();
    let odd = |payload| match payload {
        Payload::Books(_) => 20_000.0,
        _ => 2_000.0,
    };
    all.extend(calls(&CALLED, odd));
    let check = Models::of(&all).check_calls(&all).expect("a check");
    // 6,050 µs instead of 24,050.
    assert!((check.added.worst_percent - 74.8).abs() < 0.5, "{check:?}");
    assert!(check.added.median_percent < 75.0, "{check:?}");
}
