//! The runner on benches that answer as told: its order, its budgets and its errors.

mod budgets;

use soapstone::wss::Mechanism;

use super::*;
use crate::studies;
use crate::study::{
    Condition, Operation, ProvidersRound, Round, Scale, Selection, Setup, Sizes, Stack, Step,
    Study, Transport, Trial, needs, select, whole,
};

/// Answers at once, and says it took what was asked of it.
struct Pretending {
    /// Microseconds without security.
    plain: u64,
    /// Microseconds signed and encrypted.
    secured: u64,
    /// What was called. The first call of a kind takes a second.
    calls: Vec<Call>,
    /// Fails at this call.
    fails_at: usize,
    /// Calls whose conversation was ended, and that were not made since.
    ended: Vec<Call>,
    /// How long a call with keys of certificates takes really.
    really: Duration,
}

impl Pretending {
    fn new(plain: u64, secured: u64) -> Self {
        Self {
            plain,
            secured,
            calls: Vec::new(),
            fails_at: usize::MAX,
            ended: Vec::new(),
            really: Duration::ZERO,
        }
    }

    /// Takes its time, where the call takes some.
    fn take_time(&self, call: &Call) {
        if call.setup.has_rsa_keys() {
            std::thread::sleep(self.really);
        }
    }
}

type Made<T> = Result<T, NoCall<&'static str>>;

impl Bench for Pretending {
    type Failure = &'static str;

    fn call(&mut self, call: &Call) -> Made<Duration> {
        if self.calls.len() == self.fails_at {
            return Err(NoCall::Failed("no answer"));
        }
        if call.stack == Stack::Gsoap && call.setup.has_rsa_keys() {
            return Err(NoCall::LeftOut("no such suite".to_owned()));
        }
        let ended = self.ended.iter().position(|it| it == call);
        let ended = ended.map(|at| self.ended.remove(at));
        let known = ended.is_none() && self.calls.contains(call);
        self.take_time(call);
        self.calls.push(*call);
        Ok(Duration::from_micros(match call.setup {
            _ if !known => 1_000_000,
            setup if setup.direct => self.plain / 2,
            Setup::PLAIN => self.plain,
            _ => self.secured,
        }))
    }

    /// The next call takes a second again.
    fn end_conversation(&mut self, call: &Call) -> Made<()> {
        if call.setup.mechanism == Mechanism::SecureConversation {
            self.ended.push(*call);
        }
        Ok(())
    }

    fn weigh(&mut self, call: &Call) -> Made<Sizes> {
        let plain = 200;
        let secured = if call.setup.suite.is_empty() {
            plain
        } else {
            2 * plain
        };
        let half = secured / 2;
        Ok(Sizes {
            plain,
            secured,
            apart: Some([half, secured - half]),
        })
    }

    fn together(&mut self, call: &Call, clients: u32, requests: u32) -> Made<Vec<Duration>> {
        (0..clients * requests).map(|_| self.call(call)).collect()
    }

    fn paced(&mut self, call: &Call, per_second: f64, lasting: Duration) -> Made<Vec<Duration>> {
        let calls = (per_second * lasting.as_secs_f64()) as u32;
        self.together(call, 1, calls)
    }

    fn providers(
        &mut self,
        _call: &Call,
        front: &str,
        _trial: Trial,
        clients: u32,
        requests: u32,
    ) -> Made<ProvidersRound> {
        if front != "none" {
            return Err(NoCall::LeftOut("it is not there".to_owned()));
        }
        // The first calls only start what is in front.
        let times = (1..=u64::from(clients * requests)).map(Duration::from_millis);
        Ok(ProvidersRound {
            times: times.collect(),
            lost: 2,
            ended: Some(Duration::from_millis(7)),
            below: Some(0),
            met: Some(90.0),
            classes: [("bank", vec![Duration::from_millis(3)])].into(),
            violations: Some(2),
            unrecorded: Some(0),
        })
    }

    fn process(&mut self, call: &Call, step: Step, repetitions: u32) -> Made<Vec<Duration>> {
        let took = match step {
            Step::Secure => self.plain,
            Step::Open => self.secured,
        };
        self.calls.push(*call);
        Ok(vec![Duration::from_micros(took); repetitions as usize])
    }

    fn fresh(&mut self, call: &Call, calls: u32) -> Made<Vec<Duration>> {
        self.calls.clear();
        self.together(call, 1, calls)
    }

    fn by_the_client(&mut self, call: &Call) -> Made<[Duration; 2]> {
        self.calls.push(*call);
        let opened = match call.setup.has_rsa_keys() {
            true => self.secured,
            false => self.plain,
        };
        Ok([self.plain, opened].map(Duration::from_micros))
    }

    fn under(
        &mut self,
        call: &Call,
        condition: &Condition,
        clients: u32,
        requests: u32,
        rounds: u32,
    ) -> Made<Vec<Round>> {
        if call.setup.has_rsa_keys() {
            return Err(NoCall::LeftOut(format!("too much for {condition}")));
        }
        let round = Round {
            times: vec![Duration::from_millis(4); (clients * requests) as usize],
            lasted: Duration::from_millis(4) * requests,
            memory: Some(1 << 20),
        };
        Ok(vec![round; rounds as usize])
    }
}

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

/// A point of the first experiment, measured in another way.
fn point_measured(procedure: Procedure, bench: &mut Pretending) -> Vec<Record> {
    let options = Options::at_a_glance(&["figures-5-6", "books/1"]);
    let mut tasks = selected(1, &options);
    tasks[0].point.procedure = procedure;
    records_of(&tasks, &options, bench)
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
