//! What reports of providers are worth: honest ones, late ones, and lies.

use super::*;

const FRESH: Duration = Duration::from_secs(30);

fn ms(time: u64) -> Duration {
    Duration::from_millis(time)
}

fn claim(mean: u64, p95: u64) -> Claim {
    Claim {
        mean: ms(mean),
        p95: ms(p95),
    }
}

fn claims(taken: i64, mean: u64) -> Claims {
    Claims {
        taken,
        all: Some(claim(mean, mean * 2)),
        operations: Vec::new(),
    }
}

/// The mean that is claimed of all calls.
fn time(claimed: &Claimed, now: Instant) -> Option<Duration> {
    claimed.mean(None, FRESH, now).map(|mean| mean.time)
}

/// Reports of a backend, with a call of the first time before each of them; what each changed.
fn told(claimed: &mut Claimed, from: i64, took: u64, mean: u64, reports: i64) -> Vec<Change> {
    let now = Instant::now();
    let changes = (from..from + reports).filter_map(|taken| {
        claimed.see(ms(took), None);
        claimed.report(&claims(taken, mean), now)
    });
    changes.collect()
}

#[test]
fn a_backend_that_is_slower_than_its_reports_is_doubted_after_three_and_believed_after_three() {
    let mut claimed = Claimed::default();
    let now = Instant::now();
    claimed.report(&claims(0, 5), now);
    // The first report after a call may be older than the call: the second one judges it.
    let doubted = Change::Doubted {
        seen: ms(500),
        claimed: ms(5),
    };
    assert_eq!(told(&mut claimed, 1, 500, 5, 3), []);
    assert_eq!(told(&mut claimed, 4, 500, 5, 1), [doubted]);
    assert_eq!(claimed.mean(None, FRESH, now), None);
    assert_eq!(claimed.contradictions, 3);
    // The last call that was slow is judged by the next report.
    assert_eq!(told(&mut claimed, 5, 6, 5, 3), []);
    assert_eq!(told(&mut claimed, 8, 6, 5, 1), [Change::Believed]);
    assert_eq!(time(&claimed, now), Some(ms(5)));
}

#[test]
fn a_backend_that_goes_on_lying_is_told_of_after_each_three_reports() {
    let mut claimed = Claimed::default();
    claimed.report(&claims(0, 5), Instant::now());
    let (seen, said) = (ms(500), ms(5));
    let doubted = Change::Doubted {
        seen,
        claimed: said,
    };
    let still = Change::StillDoubted {
        seen,
        claimed: said,
    };
    assert_eq!(told(&mut claimed, 1, 500, 5, 10), [doubted, still, still]);
    // One that fits, and the three begin anew.
    assert_eq!(told(&mut claimed, 11, 500, 5, 1), []);
    assert_eq!(told(&mut claimed, 12, 5, 5, 2), []);
    assert_eq!(told(&mut claimed, 14, 500, 5, 3), []);
    assert_eq!(told(&mut claimed, 17, 500, 5, 1), [still]);
    assert!(claimed.doubted);
}

#[test]
fn who_slows_down_and_says_so_is_not_doubted() {
    let mut claimed = Claimed::default();
    assert_eq!(told(&mut claimed, 0, 5, 5, 4), []);
    // Of the first slow calls a report tells that was taken a while later.
    assert_eq!(told(&mut claimed, 4, 500, 5, 1), []);
    assert_eq!(told(&mut claimed, 5, 500, 480, 20), []);
    assert_eq!(claimed.contradictions, 0);
}

/// The report that judges a call may tell of a better time already.
#[test]
fn who_recovers_is_not_doubted_for_calls_from_before() {
    let mut claimed = Claimed::default();
    assert_eq!(told(&mut claimed, 0, 500, 480, 5), []);
    assert_eq!(told(&mut claimed, 5, 5, 5, 5), []);
    assert_eq!(claimed.contradictions, 0);
}

#[test]
fn the_way_to_a_backend_is_no_lie() {
    let mut claimed = Claimed::default();
    // 95 of 100 calls within 10 ms: three times that, and 100 ms.
    assert_eq!(told(&mut claimed, 0, 130, 5, 20), []);
    assert_eq!(claimed.contradictions, 0);
    let slower = told(&mut claimed, 20, 131, 5, 6);
    assert!(matches!(slower[..], [Change::Doubted { .. }]), "{slower:?}");
}

#[test]
fn a_single_call_that_took_long_is_no_lie() {
    let mut claimed = Claimed::default();
    assert_eq!(told(&mut claimed, 0, 5, 5, 3), []);
    assert_eq!(told(&mut claimed, 3, 9_000, 5, 1), []);
    assert_eq!(told(&mut claimed, 4, 5, 5, 10), []);
    assert_eq!(claimed.contradictions, 1);
}

#[test]
fn an_operation_is_judged_by_what_is_said_of_it() {
    let (quick, slow) = (Operation::of(b"quick"), Operation::of(b"slow"));
    let said = |taken| Claims {
        taken,
        all: Some(claim(5, 10)),
        operations: vec![(quick, claim(4, 8)), (slow, claim(700, 900))],
    };
    let now = Instant::now();
    for (operation, contradicted) in [(quick, true), (slow, false)] {
        let mut claimed = Claimed::default();
        for taken in 0..10 {
            claimed.see(ms(800), Some(operation));
            claimed.report(&said(taken), now);
        }
        assert_eq!(claimed.doubted, contradicted, "{operation:?}");
    }
    let mut claimed = Claimed::default();
    claimed.report(&said(0), now);
    for (operation, time, is_of_operation) in [
        (quick, ms(4), true),
        (slow, ms(700), true),
        (Operation::of(b"other"), ms(5), false),
    ] {
        let mean = ClaimedMean {
            time,
            is_of_operation,
        };
        assert_eq!(claimed.mean(Some(operation), FRESH, now), Some(mean));
    }
}

/// Changes after reports that say that of an operation, with so many of its calls before each.
fn changes_of(claim: Claim, calls: u32, took: u64) -> Vec<Change> {
    let (get, now) = (Operation::of(b"get"), Instant::now());
    let mut claimed = Claimed::default();
    let changes = (0..6).filter_map(|taken| {
        for _ in 0..calls {
            claimed.see(ms(took), Some(get));
        }
        let said = Claims {
            taken,
            all: Some(claim),
            operations: vec![(get, claim)],
        };
        claimed.report(&said, now)
    });
    changes.collect()
}

/// A p95 of ages fits every call, and the choice goes by the mean.
#[test]
fn a_mean_that_many_calls_contradict_is_a_lie_whatever_the_p95() {
    let day = 24 * 60 * 60 * 1000;
    for (calls, took, lies) in [(8, 500, 1), (7, 500, 0), (8, 103, 0), (8, 104, 1)] {
        let changes = changes_of(claim(1, day), calls, took);
        assert_eq!(changes.len(), lies, "{calls} {took} {changes:?}");
    }
    // The way is none: 100 ms and three times the mean, of many calls, too.
    assert_eq!(changes_of(claim(10, 20), 100, 130), []);
}

/// Others may call quick operations, and the report names none.
#[test]
fn a_mean_of_all_operations_is_no_lie_about_one() {
    let mut claimed = Claimed::default();
    let now = Instant::now();
    for taken in 0..9 {
        for _ in 0..100 {
            claimed.see(ms(400), Some(Operation::of(b"slow")));
        }
        let said = Claims {
            taken,
            all: Some(claim(40, 400)),
            operations: Vec::new(),
        };
        assert_eq!(claimed.report(&said, now), None);
    }
}

/// Five of 100 calls that took a day make a mean of more than an hour.
#[test]
fn a_mean_is_worth_no_less_than_its_p95_leaves() {
    let day = 24 * 60 * 60 * 1000;
    let mut claimed = Claimed::default();
    let now = Instant::now();
    let said = Claims {
        taken: 0,
        all: Some(claim(1, day)),
        operations: Vec::new(),
    };
    claimed.report(&said, now);
    assert_eq!(time(&claimed, now), Some(ms(day / 20)));
    // One that both numbers leave is taken as it is.
    assert_eq!(claim(5, 100).least(), ms(5));
}

/// Calls are judged by the slower of two reports: so the quicker one is worth nothing.
#[test]
fn of_slow_and_quick_reports_in_turn_the_slow_ones_count() {
    let mut claimed = Claimed::default();
    let (now, get) = (Instant::now(), Operation::of(b"get"));
    for (taken, mean, expected) in [
        (0, 5, 5),
        (1, 500, 500),
        (2, 5, 500),
        (3, 500, 500),
        (4, 5, 500),
        (5, 5, 5),
    ] {
        let claim = claim(mean, mean * 2);
        let said = Claims {
            taken,
            all: Some(claim),
            operations: vec![(get, claim)],
        };
        claimed.report(&said, now);
        assert_eq!(time(&claimed, now), Some(ms(expected)), "{taken}");
        let of_get = claimed.mean(Some(get), FRESH, now).map(|mean| mean.time);
        assert_eq!(of_get, Some(ms(expected)), "{taken}");
    }
}

#[test]
fn a_claim_makes_nothing_faster_than_it_was_seen_to_be() {
    let said = |time, is_of_operation| {
        Some(ClaimedMean {
            time: ms(time),
            is_of_operation,
        })
    };
    for (claimed, seen, fastest, expected) in [
        (said(1, true), Some(90), Some(10), Some(90)),
        (said(200, true), Some(90), Some(10), Some(200)),
        // Other clients may call other operations.
        (said(200, false), Some(90), Some(10), Some(90)),
        // Nobody who was never called is faster than the fastest that was.
        (said(1, true), None, Some(10), Some(10)),
        (said(1, false), None, None, Some(1)),
        (said(20, false), None, Some(10), Some(20)),
        (None, Some(90), Some(10), Some(90)),
        (None, None, Some(10), None),
    ] {
        let joined = ClaimedMean::joined(claimed, seen.map(ms), fastest.map(ms));
        assert_eq!(joined, expected.map(ms), "{claimed:?} {seen:?} {fastest:?}");
    }
}

/// A registry that repeats a report, or an attacker who has an old one.
#[test]
fn a_report_that_is_not_newer_says_nothing() {
    let mut claimed = Claimed::default();
    let now = Instant::now();
    claimed.report(&claims(5, 900), now);
    for old in [5, 4] {
        assert_eq!(claimed.report(&claims(old, 1), now), None);
        assert_eq!(time(&claimed, now), Some(ms(900)), "{old}");
    }
    // Nor does it judge.
    for _ in 0..9 {
        claimed.see(ms(9_000), None);
        claimed.report(&claims(5, 1), now);
    }
    assert_eq!((claimed.doubted, claimed.contradictions), (false, 0));
}

#[test]
fn a_claim_that_is_old_is_none() {
    let mut claimed = Claimed::default();
    let now = Instant::now();
    claimed.report(&claims(1, 5), now);
    assert_eq!(time(&claimed, now + FRESH), Some(ms(5)));
    assert_eq!(claimed.mean(None, FRESH, now + FRESH + ms(1)), None);
    // A report of a backend that had no calls says nothing of times.
    let none = Claims {
        taken: 2,
        ..Claims::default()
    };
    claimed.report(&none, now + FRESH);
    assert_eq!(claimed.mean(None, FRESH, now + FRESH + ms(1)), None);
}

/// A report has any number that is finite.
#[test]
fn a_claim_of_ages_is_no_overflow() {
    let mut claimed = Claimed::default();
    let now = Instant::now();
    for taken in 0..9 {
        claimed.see(ms(5), None);
        let ages = Claim {
            mean: Duration::MAX,
            p95: Duration::MAX,
        };
        let said = Claims {
            taken,
            all: Some(ages),
            operations: Vec::new(),
        };
        assert_eq!(claimed.report(&said, now), None);
    }
}

#[test]
fn claims_and_calls_take_no_memory_without_bound() {
    let mut claimed = Claimed::default();
    let now = Instant::now();
    let operations = (0_u32..1000).map(|name| Operation::of(&name.to_be_bytes()));
    let operations: Vec<Operation> = operations.collect();
    let said = Claims {
        taken: 1,
        all: None,
        operations: operations.iter().map(|it| (*it, claim(1, 1))).collect(),
    };
    claimed.report(&said, now);
    assert_eq!(claimed.of.len(), OPERATIONS);
    // Of a backend that claims nothing, nothing is judged: the calls wait.
    let mut claimed = Claimed::default();
    for (taken, some) in operations.chunks(50).enumerate() {
        let none = Claims {
            taken: i64::try_from(taken).expect("a few"),
            ..Claims::default()
        };
        claimed.report(&none, now);
        for operation in some {
            claimed.see(ms(1), Some(*operation));
        }
    }
    assert!(claimed.pending.0.len() <= OPERATIONS + 1);
    let calls = [&claimed.pending, &claimed.open].map(|seen| {
        let calls = seen.0.values().map(|(calls, _)| *calls);
        calls.sum::<u32>()
    });
    assert_eq!(calls.iter().sum::<u32>(), 1000);
}
