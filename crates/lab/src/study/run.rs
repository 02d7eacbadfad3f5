//! The run of a study: which points, in which order, how often.
//!
//! At each point every way is called once for its first response, which counts nowhere, as the studies ignored it; then come the
//! repetitions, in which the ways take turns, in an order drawn anew for each turn.
//!
//! The rule kept here: what is compared is measured in turns, so that the moods of the machine fall on all ways alike.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::report::is_of;
use super::result::{Gathered, Outcome, Place, outcomes};
use super::{Bench, Call, Experiment, Load, Series, Source, Sources, Study, Way, ways};
use crate::{parts, studies};

/// Calls of one way in a row: more, and the machine's moods would fall on one way; fewer, and none runs warm.
const ROW: u32 = 10;
/// Calls of each way before anything is measured.
const WARM_UP: u32 = 20;

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Only the experiment of this number.
    pub experiment: Option<u8>,
    /// Only points whose name has every one of these in it, in whole segments: `books/2500`, `memory`.
    pub filter: Vec<String>,
    /// How often.
    pub repetitions: Repetitions,
    /// Names of the databases that there are.
    pub databases: Vec<String>,
    /// What the order of calls is drawn with.
    pub seed: u64,
    /// What was measured before: whole points, which are left out.
    pub measured: Vec<Outcome>,
}

/// How often a point is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repetitions {
    /// Where a repetition is one call.
    pub of_calls: u32,
    /// Where a repetition is many calls.
    pub of_totals: u32,
    /// What the paper's number of requests is divided by.
    pub fewer_requests: u32,
}

impl Repetitions {
    /// A glance: the whole study within a minute.
    pub const QUICK: Self = Self {
        of_calls: 3,
        of_totals: 3,
        fewer_requests: 50,
    };
    /// All requests of the paper.
    pub const FULL: Self = Self {
        of_calls: 15,
        of_totals: 5,
        fewer_requests: 1,
    };

    fn of(self, load: Load) -> u32 {
        if load.requests == 1 {
            self.of_calls
        } else {
            self.of_totals
        }
    }

    fn requests(self, load: Load) -> u32 {
        load.requests.div_ceil(self.fewer_requests.max(1))
    }
}

/// What happens during a run.
#[derive(Debug)]
pub enum Event<'e> {
    /// A call was made.
    Progress(Progress<'e>),
    /// A point was measured: one outcome for each way.
    Measured(&'e [Outcome]),
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'e> {
    /// The name of the point.
    pub point: &'e str,
    /// What was done of all that is to do, by the number of books and calls: 0 to 1.
    pub share: f64,
}

/// A point: a load of a series, on one source.
struct Point<'o> {
    experiment: &'static Experiment,
    series: &'static Series,
    source: Source,
    source_name: &'o str,
    load: Load,
}

impl Point<'_> {
    /// `mchale2012/1/figures-5-6/memory/books/2500`.
    fn name(&self, study: &Study) -> String {
        let Load { requests, books } = self.load;
        let mut name = format!(
            "{}/{}/{}/{}/books/{books}",
            study.name, self.experiment.number, self.series.shown_in, self.source_name
        );
        if requests > 1 {
            name.push_str(&format!("/requests/{requests}"));
        }
        name
    }

    /// Whether the outcome is one of this point's.
    fn is_of(&self, outcome: &Outcome, study: &Study, repetitions: Repetitions) -> bool {
        is_of(outcome, study, self.experiment, self.series)
            && outcome.source == self.source_name
            && outcome.measurement.items == self.load.books as usize
            && outcome.requests == repetitions.requests(self.load)
    }

    /// Calls of one way: to weigh, the first, and those that are measured.
    fn calls(&self, repetitions: Repetitions) -> u32 {
        2 + repetitions.of(self.load) * repetitions.requests(self.load)
    }

    /// What all ways of the point cost, roughly: a call costs something even without books.
    fn weight(&self, repetitions: Repetitions) -> f64 {
        let ways = ways(self.series).count() as f64;
        ways * f64::from(self.calls(repetitions)) * f64::from(200 + self.load.books)
    }
}

fn selected<'o>(study: &'static Study, options: &'o Options) -> Vec<Point<'o>> {
    let mut points = Vec::new();
    for experiment in study.experiments {
        if options.experiment.is_some_and(|it| it != experiment.number) {
            continue;
        }
        for series in experiment.series {
            let databases = match series.sources {
                Sources::Memory => &[][..],
                Sources::MemoryAndDatabases => &options.databases,
            };
            let databases = databases
                .iter()
                .enumerate()
                .map(|(index, name)| (Source::Database(index), name.as_str()));
            for (source, source_name) in [(Source::Memory, "memory")].into_iter().chain(databases) {
                points.extend(series.loads.iter().map(|load| Point {
                    experiment,
                    series,
                    source,
                    source_name,
                    load: *load,
                }));
            }
        }
    }
    points.retain(|point| {
        let segments = format!("/{}/", point.name(study));
        let mut wanted = options.filter.iter();
        let mut measured = options.measured.iter();
        wanted.all(|wanted| segments.contains(&format!("/{wanted}/")))
            && !measured.any(|outcome| point.is_of(outcome, study, options.repetitions))
    });
    points
}

/// Names of the points that these options select, in the order of running.
pub fn points(study: &'static Study, options: &Options) -> Vec<String> {
    let points = selected(study, options);
    points.iter().map(|point| point.name(study)).collect()
}

/// How many of the outcomes, from the first, make whole points: the rest was measured for some of its ways only.
pub fn whole_points(outcomes: &[Outcome]) -> usize {
    let last = outcomes.iter().rposition(|outcome| {
        studies::ALL.into_iter().any(|study| {
            study.series().any(|(experiment, series)| {
                is_of(outcome, study, experiment, series)
                    && ways(series).last().is_some_and(|last| {
                        outcome.measurement.mechanism == last.name()
                            && outcome.measurement.suite == last.suite()
                    })
            })
        })
    });
    last.map_or(0, |last| last + 1)
}

/// What a bench must have for them: each source with each way, once.
pub fn routes(study: &'static Study, options: &Options) -> Vec<(Source, Way)> {
    let mut routes = Vec::new();
    for point in selected(study, options) {
        for way in ways(point.series) {
            if !routes.contains(&(point.source, way)) {
                routes.push((point.source, way));
            }
        }
    }
    routes
}

/// Runs the points that the options select, and tells what happens.
///
/// # Errors
/// The first failure of the bench. What was told before holds.
pub fn run<B: Bench>(
    study: &'static Study,
    options: &Options,
    bench: &mut B,
    observe: &mut dyn FnMut(Event<'_>),
) -> Result<(), B::Failure> {
    let private_key = parts::private_key_operations();
    for (source, way) in routes(study, options) {
        let books = 1;
        let call = Call { way, source, books };
        for _ in 0..WARM_UP {
            bench.call(&call)?;
        }
    }
    let points = selected(study, options);
    let all: f64 = points
        .iter()
        .map(|point| point.weight(options.repetitions))
        .sum();
    let mut order = Order(options.seed);
    let mut before = 0.0;
    for point in &points {
        let name = point.name(study);
        let weight = point.weight(options.repetitions);
        let gathered = measure(
            point,
            options.repetitions,
            bench,
            &mut order,
            &mut |share| {
                observe(Event::Progress(Progress {
                    point: &name,
                    share: (before + share * weight) / all,
                }));
            },
        )?;
        before += weight;
        let place = Place {
            study: study.name,
            experiment: point.experiment.number,
            series: point.series,
            source: point.source_name.to_owned(),
            load: Load {
                requests: options.repetitions.requests(point.load),
                ..point.load
            },
            private_key,
        };
        observe(Event::Measured(&outcomes(&place, gathered)));
    }
    Ok(())
}

/// Measures all ways of a point; `progress` is told which share of the calls was made.
fn measure<B: Bench>(
    point: &Point<'_>,
    repetitions: Repetitions,
    bench: &mut B,
    order: &mut Order,
    progress: &mut dyn FnMut(f64),
) -> Result<Vec<Gathered>, B::Failure> {
    let call = |way| Call {
        way,
        source: point.source,
        books: point.load.books,
    };
    let calls = ways(point.series).count() as f64 * f64::from(point.calls(repetitions));
    let mut made = 0;
    let mut made_more = |more: u32| {
        made += more;
        progress(f64::from(made) / calls);
    };
    let mut gathered = Vec::new();
    for way in ways(point.series) {
        let first = microseconds(bench.call(&call(way))?);
        let sizes = bench.weigh(&call(way))?;
        made_more(2);
        gathered.push(Gathered {
            way,
            sizes,
            first,
            repetitions: Vec::new(),
        });
    }
    let requests = repetitions.requests(point.load);
    let mut turns: Vec<usize> = (0..gathered.len()).collect();
    for _ in 0..repetitions.of(point.load) {
        let mut totals = vec![Duration::ZERO; gathered.len()];
        let mut left = requests;
        while left > 0 {
            let row = left.min(ROW);
            order.shuffle(&mut turns);
            for &turn in &turns {
                for _ in 0..row {
                    totals[turn] += bench.call(&call(gathered[turn].way))?;
                }
                made_more(row);
            }
            left -= row;
        }
        for (gathered, total) in gathered.iter_mut().zip(totals) {
            let each = microseconds(total) / f64::from(requests);
            gathered.repetitions.push(each);
        }
    }
    Ok(gathered)
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Draws orders: SplitMix64, so that a seed gives the same orders everywhere.
struct Order(u64);

impl Order {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Fisher and Yates. Of a handful of ways, the remainder favours none by more than one in 2^60.
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.next() % (last as u64 + 1);
            items.swap(last, other as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::Sizes;

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
    }

    impl Pretending {
        fn new(plain: u64, secured: u64) -> Self {
            Self {
                plain,
                secured,
                calls: Vec::new(),
                fails_at: usize::MAX,
            }
        }
    }

    impl Bench for Pretending {
        type Failure = &'static str;

        fn call(&mut self, call: &Call) -> Result<Duration, &'static str> {
            if self.calls.len() == self.fails_at {
                return Err("no answer");
            }
            let known = self.calls.contains(call);
            self.calls.push(*call);
            Ok(Duration::from_micros(match call.way {
                _ if !known => 1_000_000,
                Way::Direct => self.plain / 2,
                Way::PLAIN => self.plain,
                Way::Through { .. } => self.secured,
            }))
        }

        fn weigh(&mut self, call: &Call) -> Result<Sizes, &'static str> {
            let plain = 200 + call.books as usize;
            let secured = match call.way {
                Way::Direct | Way::PLAIN => plain,
                Way::Through { .. } => 2 * plain,
            };
            Ok(Sizes { plain, secured })
        }
    }

    fn options(experiment: u8, filter: &[&str]) -> Options {
        Options {
            experiment: Some(experiment),
            filter: filter.iter().map(|it| (*it).to_owned()).collect(),
            repetitions: Repetitions::QUICK,
            databases: vec!["sqlite".to_owned(), "postgres".to_owned()],
            seed: 1,
            measured: Vec::new(),
        }
    }

    fn mchale() -> &'static Study {
        studies::named("mchale2012").expect("the study")
    }

    fn outcomes_of(options: &Options, bench: &mut Pretending) -> Vec<Outcome> {
        let mut all = Vec::new();
        run(mchale(), options, bench, &mut |event| {
            if let Event::Measured(outcomes) = event {
                all.extend_from_slice(outcomes);
            }
        })
        .expect("a run that ends");
        all
    }

    #[test]
    fn impact_is_the_best_time_by_that_of_plain_calls_beside_what_the_paper_reported() {
        let outcomes = outcomes_of(
            &options(1, &["books/2500"]),
            &mut Pretending::new(1_000, 1_500),
        );
        let told: Vec<_> = outcomes
            .iter()
            .map(|it| {
                (
                    &*it.measurement.mechanism,
                    it.best_us,
                    it.first_us,
                    it.impact_percent.round(),
                    it.impact_over_direct_percent.round(),
                    it.reported_percent,
                )
            })
            .collect();
        let first = 1e6;
        assert_eq!(
            told,
            [
                ("direct", 500.0, first, 50.0, 100.0, None),
                ("none", 1_000.0, first, 100.0, 200.0, None),
                (
                    "sign-encrypt",
                    1_500.0,
                    first,
                    150.0,
                    300.0,
                    Some([1_000.0, 1_500.0])
                ),
            ]
        );
    }

    #[test]
    fn slower_calls_make_a_larger_impact() {
        let impact = |secured| {
            let outcomes = outcomes_of(
                &options(1, &["books/1"]),
                &mut Pretending::new(1_000, secured),
            );
            outcomes[2].impact_percent.round()
        };
        assert_eq!((impact(1_300), impact(2_600)), (130.0, 260.0));
    }

    #[test]
    fn a_line_of_json_has_what_every_stack_is_measured_in_and_what_studies_add() {
        let outcomes = outcomes_of(
            &options(3, &["figure-11", "requests/750"]),
            &mut Pretending::new(1_000, 1_500),
        );
        let floor = outcomes[2].floor_percent.expect("a floor of sign-encrypt");
        assert!(floor > 100.0, "{floor}");
        let line = serde_json::to_value(&outcomes[3]).expect("a line");
        for (key, value) in [
            ("stack", serde_json::json!("soapstone")),
            ("op", "roundtrip".into()),
            ("mechanism", "secure-conversation".into()),
            ("suite", "Basic256".into()),
            ("binding", "context".into()),
            ("payload", "books".into()),
            ("items", 100.into()),
            ("bytes", 300.into()),
            ("secured_bytes", 600.into()),
            ("n", 3.into()),
            ("study", "mchale2012".into()),
            ("experiment", 3.into()),
            ("shown_in", "figure-11".into()),
            ("source", "memory".into()),
            ("requests", 15.into()),
            ("floor_percent", serde_json::Value::Null),
            ("reported_percent", serde_json::json!([450.0, 450.0])),
        ] {
            assert_eq!(line[key], value, "{key}");
        }
    }

    #[test]
    fn the_paper_s_experiments_are_all_there() {
        let count = |experiment| points(mchale(), &options(experiment, &[])).len();
        assert_eq!([1, 2, 3, 4].map(count), [11, 10, 9, 12]);
        let options = options(4, &["books/20000"]);
        assert_eq!(
            points(mchale(), &options),
            ["memory", "sqlite", "postgres"]
                .map(|source| format!("mchale2012/4/table-1-figure-14/{source}/books/20000"))
        );
    }

    #[test]
    fn a_run_goes_on_after_the_last_whole_point() {
        let mut options = options(4, &["memory"]);
        let mut measured = outcomes_of(&options, &mut Pretending::new(1_000, 1_500));
        assert_eq!((measured.len(), whole_points(&measured)), (12, 12));
        measured.truncate(8);
        assert_eq!(whole_points(&measured), 6);
        measured.truncate(6);
        options.measured = measured;
        assert_eq!(
            points(mchale(), &options),
            [5_034, 20_000]
                .map(|books| format!("mchale2012/4/table-1-figure-14/memory/books/{books}"))
        );
        let rest = outcomes_of(&options, &mut Pretending::new(1_000, 1_500));
        options.measured.extend(rest);
        assert_eq!(points(mchale(), &options), Vec::<String>::new());
    }

    #[test]
    fn a_route_is_asked_for_once_for_each_source_and_way() {
        let routes = routes(mchale(), &options(4, &[]));
        assert_eq!(routes.len(), 9);
        assert!(routes.contains(&(Source::Database(1), Way::sign_encrypt("Basic256"))));
    }

    #[test]
    fn ways_take_turns_in_an_order_that_the_seed_decides() {
        let ways_of = |seed| {
            let mut bench = Pretending::new(1_000, 1_500);
            let options = Options {
                seed,
                repetitions: Repetitions::FULL,
                ..options(3, &["figures-12-13", "books/600"])
            };
            outcomes_of(&options, &mut bench);
            bench.calls.iter().map(|call| call.way).collect::<Vec<_>>()
        };
        let ways = ways_of(1);
        // Four ways: calls that warm up, the first, then five times 500 in rows of ten.
        assert_eq!(ways.len(), 4 * (20 + 1 + 5 * 500));
        let turns = &ways[4 * 21..];
        for turn in turns.chunks(40) {
            for way in turn {
                let calls = turn.iter().filter(|it| *it == way).count();
                assert_eq!(calls, 10, "{way:?}");
            }
        }
        assert_eq!(ways, ways_of(1));
        assert_ne!(ways, ways_of(2));
    }

    #[test]
    fn what_was_measured_before_a_failure_was_told() {
        let mut bench = Pretending::new(1_000, 1_500);
        bench.fails_at = 3 * (20 + 1 + 3) + 5;
        let mut told = Vec::new();
        let ended = run(
            mchale(),
            &options(1, &[]),
            &mut bench,
            &mut |event| match event {
                Event::Measured(outcomes) => told.push(outcomes[0].measurement.items),
                Event::Progress(made) => assert!((0.0..=1.0).contains(&made.share)),
            },
        );
        assert_eq!((ended, told), (Err("no answer"), vec![1]));
    }
}
