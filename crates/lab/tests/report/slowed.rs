//! Code that is slowed makes the report change: the engine itself is measured, and once more with a
//! pause in it.

use std::time::{Duration, Instant};

use soapstone_lab::report::{Report, Run};
use soapstone_lab::studies::InMemory;
use soapstone_lab::study::{
    Bench, Call, Design, Event, NoCall, Options, OwnCalls, Record, Scale, Scope, Selection, Sizes,
    Stack, Step, run, select,
};

use super::mchale;
use super::read::{between, values};

/// Calls are answers that are secured and opened by the engine, with a pause where there is
/// security.
struct Engine {
    engine: InMemory,
    pause: Duration,
}

type Made<T> = Result<T, NoCall<&'static str>>;

const NOT_ASKED: NoCall<&str> = NoCall::Failed("nobody asks for it");

impl Bench for Engine {
    type Failure = &'static str;

    fn call(&mut self, call: &Call) -> Made<Duration> {
        let both = [Step::Secure, Step::Open].map(|step| self.engine.process(call, step, 1)[0]);
        let begun = Instant::now();
        if !call.setup.suite.is_empty() {
            std::thread::sleep(self.pause);
        }
        Ok(both[0] + both[1] + begun.elapsed())
    }

    fn weigh(&mut self, _call: &Call) -> Made<Sizes> {
        Ok(Sizes {
            plain: 1_000,
            secured: 2_000,
            apart: None,
        })
    }

    fn together(&mut self, _call: &Call, _clients: u32, _requests: u32) -> Made<Vec<Duration>> {
        Err(NOT_ASKED)
    }

    fn paced(&mut self, _call: &Call, _rate: f64, _lasting: Duration) -> Made<Vec<Duration>> {
        Err(NOT_ASKED)
    }

    fn fresh(&mut self, _call: &Call, _calls: u32) -> Made<Vec<Duration>> {
        Err(NOT_ASKED)
    }
}

/// A run of one point of McHale et al., on the engine with this pause.
fn measured(pause: Duration) -> Run {
    let options = Options {
        scope: Scope {
            scale: Scale::Quick,
            stacks: vec![Stack::Soapstone],
            databases: Vec::new(),
            own: OwnCalls::default(),
            design: Design::default(),
        },
        filter: ["table-1-figure-14", "books/1"].map(str::to_owned).to_vec(),
        claims: false,
        seed: 1,
        budget: Some(Duration::from_millis(1)),
        arm_budget: None,
        measured: Vec::new(),
    };
    let selection = Selection {
        study: mchale(),
        experiment: Some(4),
    };
    let mut bench = Engine {
        engine: InMemory::default(),
        pause,
    };
    let mut records: Vec<Record> = Vec::new();
    let tasks = select(&[selection], &options);
    run(&tasks, &options, &mut bench, &mut |event| {
        if let Event::Measured(of) = event {
            records.extend_from_slice(of);
        }
    })
    .expect("a run that ends");
    Run {
        name: "one".to_owned(),
        records,
        manifest: None,
    }
}

#[test]
fn a_pause_in_the_engine_shows_in_every_part_of_the_report() {
    let runs = [Duration::ZERO, Duration::from_millis(60)].map(|pause| [measured(pause)]);
    let impacts = runs.each_ref().map(|runs| {
        let rows = values(runs, "mchale2012-4-table-1-figure-14");
        let row = rows.iter().find(|it| it["arm"] == "sign-encrypt/Basic256");
        row.expect("a row")["value"]
            .parse::<f64>()
            .expect("a number")
    });
    assert!(impacts[1] > 1.5 * impacts[0], "{impacts:?}");
    let pages = runs.each_ref().map(|runs| {
        let report = Report::of(&[mchale()], runs);
        (report.html("files"), report.markdown())
    });
    let part = |page: usize, begin: &str, end: &str| between(&pages[page].0, begin, end).to_owned();
    for (begin, end) in [
        ("<figure>", "</figure>"),
        ("<table class=\"values\">", "</table>"),
        ("<table class=\"held\">", "</table>"),
        ("<table class=\"lines\">", "</table>"),
    ] {
        assert_ne!(part(0, begin, end), part(1, begin, end), "{begin}");
    }
    assert_ne!(pages[0].1, pages[1].1);
}
