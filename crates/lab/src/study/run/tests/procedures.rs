//! Each way to measure a point: how many calls it makes, and which lines come of it.

use super::*;

/// A point of the first experiment, measured in another way.
fn point_measured(procedure: Procedure, bench: &mut Pretending) -> Vec<Record> {
    let options = Options::at_a_glance(&["figures-5-6", "books/1"]);
    let mut tasks = selected(1, &options);
    tasks[0].point.procedure = procedure;
    records_of(&tasks, &options, bench)
}

#[test]
fn each_repetition_of_conversations_begins_with_a_handshake_and_tells_its_total() {
    let options = Options::at_a_glance(&["figure-11", "load/10x15000"]);
    let mut tasks = selected(3, &options);
    tasks[0].point.procedure = Procedure::Conversations {
        repetitions: 3,
        requests: 25,
    };
    let records = records_of(&tasks, &options, &mut Pretending::new(1_000, 1_500));
    let lines = lines(&records);
    let of = |arm, quantity| {
        let mut lines = lines.iter();
        let line = lines.find(|line| line.arm == arm && line.quantity == quantity);
        &line.expect("a line").samples
    };
    let arm = "secure-conversation/Basic256";
    let total = 1_000_000.0 + 24.0 * 1_500.0;
    assert_eq!(*of(arm, Quantity::First), [1e6; 3]);
    assert_eq!(*of(arm, Quantity::Total), [total; 3]);
    assert_eq!(*of(arm, Quantity::Time), [total / 25.0; 3]);
    assert_eq!(*of("none", Quantity::First), [1_000.0; 3]);
    assert_eq!(*of("none", Quantity::Total), [25_000.0; 3]);
}

#[test]
fn clients_at_once_give_the_mean_of_their_calls_in_each_repetition() {
    let procedure = Procedure::Together {
        clients: 5,
        requests: 4,
        repetitions: 6,
    };
    let mut bench = Pretending::new(1_000, 1_500);
    let records = point_measured(procedure, &mut bench);
    let lines = lines(&records);
    let time = |arm| {
        let line = lines
            .iter()
            .find(|line| line.arm == arm && line.quantity == Quantity::Time);
        line.expect("a line").figures
    };
    assert_eq!((time("none").n, time("none").mean), (6, 1_000.0));
    assert_eq!(time("sign-encrypt/Basic256").mean, 1_500.0);
    assert_eq!(bench.calls.len(), 3 * (20 + 1 + 5 * 4 * 6));
}

#[test]
fn paced_calls_are_samples_of_their_own() {
    let procedure = Procedure::Paced {
        per_second: 100.0,
        lasting: Duration::from_millis(250),
    };
    let records = point_measured(procedure, &mut Pretending::new(1_000, 1_500));
    for line in lines(&records) {
        if line.quantity == Quantity::Time {
            assert_eq!(line.figures.n, 25, "{}", line.arm);
        }
    }
}

#[test]
fn a_new_deployment_tells_the_first_call_apart_from_later_ones() {
    let procedure = Procedure::Fresh { times: 4, calls: 3 };
    let records = point_measured(procedure, &mut Pretending::new(1_000, 1_500));
    let told: Vec<_> = lines(&records)
        .into_iter()
        .filter(|line| line.arm == "none")
        .map(|line| (line.quantity, line.figures.n, line.figures.median))
        .collect();
    assert_eq!(
        told,
        [
            (Quantity::Time, 4, 1_002_000.0 / 3.0),
            (Quantity::First, 4, 1e6),
            (Quantity::Later, 8, 1_000.0),
            (Quantity::Total, 4, 1_002_000.0),
        ]
    );
}

#[test]
fn a_new_deployment_tells_its_total_and_the_mean_from_the_first_call_on() {
    let procedure = Procedure::Fresh { times: 2, calls: 5 };
    let records = point_measured(procedure, &mut Pretending::new(100, 900));
    let lines = lines(&records);
    let of = |quantity| {
        let mut lines = lines.iter();
        let line = lines.find(|line| line.arm == "none" && line.quantity == quantity);
        line.expect("a line").samples.clone()
    };
    // The first call takes a second.
    assert_eq!(of(Quantity::Total), [1_000_400.0; 2]);
    assert_eq!(of(Quantity::Time), [200_080.0; 2]);
}

#[test]
fn calls_under_a_condition_give_time_rate_and_memory_and_arms_that_it_is_too_much_for_are_left_out()
{
    let procedure = Procedure::Under {
        condition: Condition::Memory { mebibytes: 16 },
        clients: 2,
        requests: 10,
        repetitions: 3,
    };
    let records = point_measured(procedure, &mut Pretending::new(100, 900));
    let lines = lines(&records);
    for (quantity, sample) in [
        (Quantity::Time, 4_000.0),
        (Quantity::Rate, 500.0),
        (Quantity::Memory, 1_048_576.0),
    ] {
        let mut lines = lines.iter();
        let line = lines.find(|line| line.arm == "none" && line.quantity == quantity);
        assert_eq!(line.expect("a line").samples, [sample; 3]);
    }
    let left_out = records.iter().find_map(|record| match record {
        Record::LeftOut(left_out) => Some(left_out.left_out.as_str()),
        _ => None,
    });
    assert_eq!(left_out, Some("too much for 16 MiB of memory"));
}

#[test]
fn rounds_of_calls_to_providers_give_every_time_and_one_sample_of_the_rest() {
    let procedure = Procedure::Providers {
        trial: Trial::Killed,
        clients: 2,
        requests: 10,
        repetitions: 3,
    };
    let records = point_measured(procedure, &mut Pretending::new(100, 900));
    let lines = lines(&records);
    let of = |quantity| {
        let mut lines = lines.iter();
        let line = lines.find(|line| line.arm == "none" && line.quantity == quantity);
        line.map(|line| line.samples.clone()).unwrap_or_default()
    };
    assert_eq!(of(Quantity::Time).len(), 60);
    for (quantity, sample) in [
        (Quantity::Tail, 19_000.0),
        (Quantity::Lost, 2.0),
        (Quantity::Ended, 7_000.0),
        (Quantity::Below, 0.0),
        (Quantity::Met, 90.0),
        (Quantity::Violations, 2.0),
        (Quantity::Unrecorded, 0.0),
    ] {
        assert_eq!(of(quantity), [sample; 3], "{quantity:?}");
    }
    let mut of_class = lines.iter().filter(|line| line.arm == "none/bank");
    let line = of_class.next().expect("an arm of the class");
    assert_eq!(
        (line.quantity, &line.samples[..]),
        (Quantity::Time, &[3_000.0; 3][..])
    );
    assert!(of_class.next().is_none());
    let left_out = records.iter().find_map(|record| match record {
        Record::LeftOut(left_out) => Some(left_out.left_out.as_str()),
        _ => None,
    });
    assert_eq!(left_out, Some("it is not there"));
}

#[test]
fn clients_that_open_answers_themselves_give_both_spans_of_each_call() {
    let procedure = Procedure::ByTheClient { repetitions: 4 };
    let records = point_measured(procedure, &mut Pretending::new(100, 900));
    let lines = lines(&records);
    for (arm, exchange, opened) in [
        ("none", 100.0, 100.0),
        ("sign-encrypt/Basic256", 100.0, 900.0),
    ] {
        let of = |quantity| {
            let mut lines = lines.iter();
            let line = lines.find(|line| line.arm == arm && line.quantity == quantity);
            line.expect("a line").samples.clone()
        };
        assert_eq!(of(Quantity::Exchange), [exchange; 4], "{arm}");
        assert_eq!(of(Quantity::Opened), [opened; 4], "{arm}");
    }
}

#[test]
fn a_stack_without_clients_that_come_later_is_left_out() {
    let procedure = Procedure::Newcomers { times: 3 };
    let records = point_measured(procedure, &mut Pretending::new(100, 900));
    assert!(
        lines(&records)
            .iter()
            .all(|line| line.quantity == Quantity::Floor || line.samples.is_empty())
    );
    assert!(
        records
            .iter()
            .any(|record| matches!(record, Record::LeftOut(_)))
    );
}

#[test]
fn messages_are_processed_in_memory_without_any_call_before() {
    let mut options = Options::at_a_glance(&["books/1"]);
    options.filter.push("beyond-opening".to_owned());
    options.scope.stacks = vec![Stack::Soapstone, Stack::Cxf, Stack::Wss4j];
    let mut bench = Pretending::new(1_000, 1_500);
    let tasks = selected(1, &options);
    assert!(needs(&tasks).is_empty(), "no route is needed");
    let records = records_of(&tasks, &options, &mut bench);
    let told: Vec<_> = lines(&records)
        .into_iter()
        .filter(|line| line.quantity == Quantity::Time)
        .map(|line| (line.stack, line.figures.n, line.figures.median))
        .collect();
    assert_eq!(
        told,
        [(Stack::Soapstone, 10, 1_500.0), (Stack::Wss4j, 10, 1_500.0)]
    );
    assert_eq!(bench.calls.len(), 2, "a row of each");
}

#[test]
fn what_a_study_measures_itself_gets_its_place() {
    let procedure = Procedure::Own(|point, scope, emit| {
        assert_eq!((point.shown_in, scope.scale), ("figures-5-6", Scale::Quick));
        let line = Line::of(Stack::Soapstone, "scan", Quantity::Processor, &[1.0, 3.0]);
        emit(line.expect("samples"));
    });
    let records = point_measured(procedure, &mut Pretending::new(1, 1));
    let line = lines(&records)[0];
    assert_eq!(
        (&*line.study, line.experiment, &*line.shown_in, &*line.arm),
        ("mchale2012", 1, "figures-5-6", "scan")
    );
    assert_eq!((line.at["books"].as_str(), line.figures.mean), ("1", 2.0));
}
