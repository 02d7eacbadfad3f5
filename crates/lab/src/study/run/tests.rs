//! The runner on benches that answer as told: its order, its budgets and its errors.

mod budgets;
mod pretending;
mod procedures;

use soapstone::wss::Mechanism;

use self::pretending::Pretending;
use super::*;
use crate::studies;
use crate::study::{
    Condition, Operation, ProvidersRound, Round, Scale, Selection, Setup, Sizes, Stack, Step,
    Study, Transport, Trial, needs, select, whole,
};

fn mchale() -> &'static Study {
    studies::named("mchale2012").expect("the study")
}

fn selected(experiment: u8, options: &Options) -> Vec<Task> {
    let selection = Selection {
        study: mchale(),
        experiment: Some(experiment),
    };
    select(&[selection], options)
}

fn names(tasks: &[Task]) -> Vec<String> {
    let mut names: Vec<String> = tasks.iter().map(Task::name).collect();
    names.sort();
    names
}

fn records_of(tasks: &[Task], options: &Options, bench: &mut Pretending) -> Vec<Record> {
    let mut all = Vec::new();
    run(tasks, options, bench, &mut |event| {
        if let Event::Measured(records) = event {
            all.extend_from_slice(records);
        }
    })
    .expect("a run that ends");
    all
}

fn lines(records: &[Record]) -> Vec<&Line> {
    let records = records.iter();
    let lines = records.filter_map(|record| match record {
        Record::Line(line) => Some(line),
        _ => None,
    });
    lines.collect()
}

#[test]
fn every_quantity_of_every_arm_is_a_line_and_the_point_ends_with_that_it_is_done() {
    let options = Options::at_a_glance(&["figures-5-6", "books/2500"]);
    let records = records_of(
        &selected(1, &options),
        &options,
        &mut Pretending::new(1_000, 1_500),
    );
    let told: Vec<_> = lines(&records)
        .into_iter()
        .filter(|line| line.quantity != Quantity::Floor)
        .map(|line| (&*line.arm, line.quantity, line.figures.median))
        .collect();
    let of = |arm, time, secured| {
        [
            (arm, Quantity::Time, time),
            (arm, Quantity::First, 1e6),
            (arm, Quantity::Size, 200.0),
            (arm, Quantity::Secured, secured),
            (arm, Quantity::SecuredRequest, secured / 2.0),
            (arm, Quantity::SecuredResponse, secured / 2.0),
        ]
    };
    assert_eq!(
        told,
        [
            of("direct", 500.0, 200.0),
            of("none", 1_000.0, 200.0),
            of("sign-encrypt/Basic256", 1_500.0, 400.0),
        ]
        .concat()
    );
    let floors: Vec<_> = lines(&records)
        .into_iter()
        .filter(|line| line.quantity == Quantity::Floor && line.figures.best > 0.0)
        .map(|line| &*line.arm)
        .collect();
    assert_eq!(floors, ["sign-encrypt/Basic256"]);
    let Some(Record::Done(done)) = records.last() else {
        panic!("the last record is not that the point is done");
    };
    assert_eq!(done.done, "mchale2012/1/figures-5-6/books/2500");
}

#[test]
fn a_line_of_json_has_its_place_its_samples_and_their_figures() {
    let options = Options::at_a_glance(&["load/75x100"]);
    let records = records_of(
        &selected(3, &options),
        &options,
        &mut Pretending::new(1_000, 1_500),
    );
    let line = lines(&records)
        .into_iter()
        .find(|line| line.arm == "secure-conversation/Basic256")
        .expect("the arm");
    let line = serde_json::to_value(line).expect("a line");
    for (key, value) in [
        ("study", serde_json::json!("mchale2012")),
        ("experiment", 3.into()),
        ("shown_in", "figure-11".into()),
        ("at", serde_json::json!({"load": "75x100"})),
        ("stack", "soapstone".into()),
        ("quantity", "time".into()),
        ("samples", serde_json::json!(vec![1_111_000.0 / 75.0; 3])),
    ] {
        assert_eq!(line[key], value, "{key}");
    }
    assert_eq!(line["figures"]["n"], 3);
    assert_eq!(line["figures"]["stdev"], 0.0);
}

#[test]
fn the_paper_s_experiments_are_all_there() {
    let count = |experiment| selected(experiment, &Options::at_a_glance(&[])).len();
    assert_eq!([1, 2, 3, 4].map(count), [17, 8, 13, 15]);
    let options = Options::at_a_glance(&["books/20000"]);
    assert_eq!(
        names(&selected(4, &options)),
        ["memory", "postgres", "sqlite"]
            .map(|source| format!("mchale2012/4/table-1-figure-14/books/20000/source/{source}"))
    );
}

#[test]
fn a_run_goes_on_after_the_last_whole_point() {
    let mut options = Options::at_a_glance(&["memory"]);
    let all = selected(4, &options);
    let mut measured = records_of(&all, &options, &mut Pretending::new(1_000, 1_500));
    assert_eq!(whole(&measured), measured.len());
    let second = measured
        .iter()
        .position(|record| matches!(record, Record::Done(_)));
    let second = second.expect("a point") + 1;
    measured.truncate(second + 3);
    assert_eq!(whole(&measured), second);
    measured.truncate(second);
    options.measured = measured;
    let rest = selected(4, &options);
    assert_eq!(names(&rest), names(&all[1..]));
    assert_eq!(rest[0].name(), all[1].name(), "in the same order");
    let rest = records_of(&rest, &options, &mut Pretending::new(1_000, 1_500));
    options.measured.extend(rest);
    assert!(selected(4, &options).is_empty());
}

#[test]
fn a_way_is_needed_once_for_each_source() {
    let needs = needs(&selected(4, &Options::at_a_glance(&[])));
    assert_eq!(needs.len(), 18);
}

#[test]
fn points_and_arms_come_in_orders_that_the_seed_decides() {
    let setups_of = |seed| {
        let mut bench = Pretending::new(1_000, 1_500);
        let mut options = Options::at_a_glance(&["figures-12-13", "books/600"]);
        options.seed = seed;
        options.scope.scale = Scale::Full;
        records_of(&selected(3, &options), &options, &mut bench);
        bench
            .calls
            .iter()
            .map(|call| call.setup)
            .collect::<Vec<_>>()
    };
    let setups = setups_of(1);
    // Four ways: calls that warm up, the first, then five times 500 in rows of ten.
    assert_eq!(setups.len(), 4 * (20 + 1 + 5 * 500));
    for turn in setups[4 * 21..].chunks(40) {
        for setup in turn {
            let calls = turn.iter().filter(|it| *it == setup).count();
            assert_eq!(calls, 10, "{setup:?}");
        }
    }
    assert_eq!(setups, setups_of(1));
    assert_ne!(setups, setups_of(2));
    let points_of = |seed| {
        let mut options = Options::at_a_glance(&[]);
        options.seed = seed;
        let tasks = selected(1, &options);
        tasks.iter().map(Task::name).collect::<Vec<_>>()
    };
    assert_eq!(points_of(1), points_of(1));
    assert_ne!(points_of(1), points_of(2));
}

#[test]
fn what_was_measured_before_a_failure_was_told() {
    let mut bench = Pretending::new(1_000, 1_500);
    bench.fails_at = 3 * (20 + 1 + 3) + 2;
    let options = Options::at_a_glance(&["figures-5-6"]);
    let mut told = 0;
    let ended = run(
        &selected(1, &options),
        &options,
        &mut bench,
        &mut |event| match event {
            Event::Measured(_) => told += 1,
            Event::Progress(made) => assert!((0.0..=1.0).contains(&made.share)),
        },
    );
    assert_eq!((ended, told), (Err("no answer"), 1));
}

#[test]
fn an_arm_that_a_stack_cannot_do_is_left_out_and_the_others_are_measured() {
    let mut options = Options::at_a_glance(&["figures-5-6", "books/1"]);
    options.scope.stacks = vec![Stack::Soapstone, Stack::Gsoap];
    let records = records_of(
        &selected(1, &options),
        &options,
        &mut Pretending::new(1_000, 1_500),
    );
    let left_out: Vec<_> = records
        .iter()
        .filter_map(|record| match record {
            Record::LeftOut(it) => Some((it.stack, &*it.arm, &*it.left_out)),
            _ => None,
        })
        .collect();
    assert_eq!(
        left_out,
        [(Stack::Gsoap, "sign-encrypt/Basic256", "no such suite")]
    );
    let timed = lines(&records)
        .into_iter()
        .filter(|line| line.quantity == Quantity::Time);
    let timed: Vec<_> = timed.map(|line| (line.stack, &*line.arm)).collect();
    assert_eq!(
        timed,
        [
            (Stack::Soapstone, "direct"),
            (Stack::Soapstone, "none"),
            (Stack::Soapstone, "sign-encrypt/Basic256"),
            (Stack::Gsoap, "none"),
        ]
    );
}

#[test]
fn ways_are_named_after_what_they_change() {
    let sign = Setup::secured(Mechanism::Sign, "Basic256");
    let told = [
        Setup::DIRECT,
        Setup::PLAIN,
        Setup::PLAIN.over_tls(),
        Setup::secured(Mechanism::Username, "").over_tls(),
        sign,
        sign.with_rsa(1024),
    ]
    .map(|setup| setup.arm());
    assert_eq!(
        told,
        [
            "direct",
            "none",
            "https",
            "https+username",
            "sign/Basic256",
            "sign/Basic256/rsa1024"
        ]
    );
    assert_eq!(Setup::PLAIN.over_tls().transport, Transport::Https);
    assert_eq!(
        small(Call {
            stack: Stack::Cxf,
            setup: sign,
            operation: Operation::Echo { characters: 99 }
        })
        .operation,
        Operation::Echo { characters: 12 }
    );
}
