//! The run: each point in its turn, warmed up, its arms measured the way that it says.
//!
//! The rule kept here: what is compared is measured in turns, so that the moods of the machine fall
//! on all arms alike.

mod clock;
mod rounds;
mod stolen;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::bench::{Bench, NoCall};
use super::call::Call;
use super::floor::{Floors, floor_together};
use super::line::{Done, LeftOut, Line, Quantity, Record};
use super::order::Order;
use super::point::{Arm, Procedure};
use super::select::{Options, Task, small};
use super::weight::weight;
use clock::{Clock, WarmUp};
use stolen::ProcessorTime;

pub use clock::WARM_UP_CALLS;

/// Calls of one arm in a row: more, and the machine's moods would fall on one arm; fewer, and none
/// runs warm.
const ROW: u32 = 10;
/// What happens during a run.
#[derive(Debug)]
pub enum Event<'e> {
    /// Calls were made.
    Progress(Progress<'e>),
    /// A point was measured: its lines, the arms that were left out, and that it is done.
    Measured(&'e [Record]),
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'e> {
    /// The name of the point.
    pub point: &'e str,
    /// What was done of all that is to do, by what it takes roughly: 0 to 1.
    pub share: f64,
}

/// Runs the tasks, and tells what happens.
///
/// # Errors
/// The first failure of the bench. What was told before holds.
pub fn run<B: Bench>(
    tasks: &[Task],
    options: &Options,
    bench: &mut B,
    observe: &mut dyn FnMut(Event<'_>),
) -> Result<(), B::Failure> {
    let began = Instant::now();
    let all: f64 = tasks.iter().map(weight).sum();
    let mut before = 0.0;
    let mut run = Run {
        bench,
        options,
        order: Order(options.seed),
        warm: Vec::new(),
        floors: Floors::default(),
    };
    for task in tasks {
        run.bench.go_on()?;
        let begun = Instant::now();
        let processors = ProcessorTime::now();
        let name = task.name();
        let weight = weight(task);
        // What is left of the budget is parted by what is left to do.
        let allowance = options.budget.map(|budget| {
            budget
                .saturating_sub(began.elapsed())
                .mul_f64((weight / (all - before)).clamp(0.0, 1.0))
        });
        let mut tell = |share: f64| {
            observe(Event::Progress(Progress {
                point: &name,
                share: ((before + share * weight) / all).clamp(0.0, 1.0),
            }));
        };
        tell(0.0);
        let mut records = run.measure(task, allowance, &mut tell)?;
        before += weight;
        records.push(Record::Done(Done {
            done: name,
            seconds: begun.elapsed().as_secs_f64(),
            stolen: processors.and_then(ProcessorTime::stolen_since),
        }));
        observe(Event::Measured(&records));
    }
    Ok(())
}

/// What was gathered of an arm.
struct Gathered<'t> {
    arm: &'t Arm,
    quantities: BTreeMap<Quantity, Vec<f64>>,
    /// Those of parts of its calls, each of which is an arm of its own: of a class of clients.
    parts: BTreeMap<(&'static str, Quantity), Vec<f64>>,
    /// Time that its repetitions took.
    spent: Duration,
    left_out: Option<String>,
}

impl Gathered<'_> {
    fn add(&mut self, quantity: Quantity, sample: f64) {
        self.quantities.entry(quantity).or_default().push(sample);
    }

    fn add_times(&mut self, quantity: Quantity, times: &[Duration]) {
        let samples = self.quantities.entry(quantity).or_default();
        samples.extend(times.iter().copied().map(microseconds));
    }

    fn add_part(&mut self, part: &'static str, quantity: Quantity, times: &[Duration]) {
        let samples = self.parts.entry((part, quantity)).or_default();
        samples.extend(times.iter().copied().map(microseconds));
    }

    /// What came of a call; nothing, if the stack cannot do it, after which the arm is left out.
    fn take<T, F>(&mut self, result: Result<T, NoCall<F>>) -> Result<Option<T>, F> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(NoCall::LeftOut(why)) => {
                self.left_out = Some(why);
                Ok(None)
            }
            Err(NoCall::Failed(failure)) => Err(failure),
        }
    }
}

/// A repetition of calls in turns.
struct Repetition {
    requests: u32,
    /// In conversations that are begun with it.
    anew: bool,
}

struct Run<'r, B> {
    bench: &'r mut B,
    options: &'r Options,
    order: Order,
    /// Calls whose ways are warm.
    warm: Vec<Call>,
    floors: Floors,
}

fn processors() -> u32 {
    let known = std::thread::available_parallelism().ok();
    known
        .and_then(|it| u32::try_from(it.get()).ok())
        .unwrap_or(1)
}

impl<B: Bench> Run<'_, B> {
    fn measure(
        &mut self,
        task: &Task,
        allowance: Option<Duration>,
        progress: &mut dyn FnMut(f64),
    ) -> Result<Vec<Record>, B::Failure> {
        let place = Place { task };
        if let Procedure::Own(measure) = task.point.procedure {
            let mut records = Vec::new();
            measure(&task.point, &self.options.scope, &mut |line| {
                records.push(Record::Line(place.fill(line)));
            });
            return Ok(records);
        }
        let mut gathered: Vec<Gathered<'_>> = task
            .point
            .arms
            .iter()
            .map(|arm| Gathered {
                arm,
                quantities: BTreeMap::new(),
                parts: BTreeMap::new(),
                spent: Duration::ZERO,
                left_out: None,
            })
            .collect();
        let runs_already = !matches!(
            task.point.procedure,
            Procedure::Fresh { .. }
                | Procedure::Newcomers { .. }
                | Procedure::Under { .. }
                | Procedure::Providers { .. }
                | Procedure::InMemory { .. }
        );
        if runs_already {
            for gathered in &mut gathered {
                self.begin(gathered, task.point.procedure)?;
            }
        }
        let clock = Clock::begun(allowance, self.options.arm_budget);
        match task.point.procedure {
            Procedure::Turns {
                repetitions,
                requests,
            } => {
                let each = Repetition {
                    requests,
                    anew: false,
                };
                self.turns(&mut gathered, repetitions, each, &clock, progress)?;
            }
            Procedure::Conversations {
                repetitions,
                requests,
            } => {
                let each = Repetition {
                    requests,
                    anew: true,
                };
                self.turns(&mut gathered, repetitions, each, &clock, progress)?;
            }
            Procedure::Together {
                clients,
                requests,
                repetitions,
            } => {
                let each = (clients, requests);
                self.together(&mut gathered, each, repetitions, &clock, progress)?;
            }
            Procedure::Paced {
                per_second,
                lasting,
            } => self.paced(&mut gathered, per_second, lasting, progress)?,
            Procedure::Fresh { times, calls } => {
                self.fresh(&mut gathered, times, calls, &clock, progress)?;
            }
            Procedure::Newcomers { times } => {
                self.newcomers(&mut gathered, times, &clock, progress)?;
            }
            Procedure::ByTheClient { repetitions } => {
                self.by_the_client(&mut gathered, repetitions, &clock, progress)?;
            }
            Procedure::Under {
                condition,
                clients,
                requests,
                repetitions,
            } => {
                let rounds = (clients, requests, repetitions);
                self.under(&mut gathered, &condition, rounds, progress)?;
            }
            Procedure::Providers {
                trial,
                clients,
                requests,
                repetitions,
            } => {
                let each = (clients, requests);
                self.providers(&mut gathered, trial, each, (repetitions, &clock), progress)?;
            }
            Procedure::InMemory { step, repetitions } => {
                self.in_memory(&mut gathered, step, repetitions, &clock, progress)?;
            }
            Procedure::Own(_) => {}
        }
        for gathered in &mut gathered {
            let sizes = gathered.quantities.get(&Quantity::Size);
            let octets = sizes.and_then(|sizes| sizes.first()).copied();
            let (call, procedure) = (&gathered.arm.call, task.point.procedure);
            if let Some(floor) = self.floors.of(call, procedure, octets.unwrap_or_default()) {
                gathered.add(Quantity::Floor, floor);
                if let Some(together) = floor_together(floor, procedure, processors()) {
                    gathered.add(Quantity::FloorTogether, together);
                }
            }
        }
        Ok(place.records(&gathered))
    }

    /// Warms the way up, if nobody has, makes the point's first call, and weighs one.
    fn begin(
        &mut self,
        gathered: &mut Gathered<'_>,
        procedure: Procedure,
    ) -> Result<(), B::Failure> {
        let call = gathered.arm.call;
        let warming = small(call);
        if !self.warm.contains(&warming) {
            self.warm.push(warming);
            let mut warm_up = WarmUp::of(call.stack, self.options.scope.scale);
            while warm_up.goes_on() {
                let made = self.bench.call(&warming);
                if gathered.take(made)?.is_none() {
                    return Ok(());
                }
            }
        }
        let first = self.bench.call(&call);
        let Some(first) = gathered.take(first)? else {
            return Ok(());
        };
        // Where conversations are begun anew, the first call of each is told instead.
        if !matches!(procedure, Procedure::Conversations { .. }) {
            gathered.add(Quantity::First, microseconds(first));
        }
        match self.bench.weigh(&call) {
            Ok(sizes) => {
                gathered.add(Quantity::Size, sizes.plain as f64);
                gathered.add(Quantity::Secured, sizes.secured as f64);
                if let Some([request, response]) = sizes.apart {
                    gathered.add(Quantity::SecuredRequest, request as f64);
                    gathered.add(Quantity::SecuredResponse, response as f64);
                }
                Ok(())
            }
            // A stack whose messages cannot be weighed is measured all the same.
            Err(NoCall::LeftOut(_)) => Ok(()),
            Err(NoCall::Failed(failure)) => Err(failure),
        }
    }

    fn turns(
        &mut self,
        gathered: &mut [Gathered<'_>],
        repetitions: u32,
        Repetition { requests, anew }: Repetition,
        clock: &Clock,
        progress: &mut dyn FnMut(f64),
    ) -> Result<(), B::Failure> {
        let mut turns: Vec<usize> = (0..gathered.len()).collect();
        let calls = f64::from(repetitions) * f64::from(requests);
        for repetition in 0..repetitions {
            let on = clock.goes_on(gathered, repetition);
            if !on.contains(&true) {
                break;
            }
            if anew {
                for (gathered, _) in gathered.iter_mut().zip(&on).filter(|(_, on)| **on) {
                    let ended = self.bench.end_conversation(&gathered.arm.call);
                    gathered.take(ended)?;
                }
            }
            let mut totals = vec![Duration::ZERO; gathered.len()];
            let mut left = requests;
            while left > 0 {
                let row = left.min(ROW);
                self.order.shuffle(&mut turns);
                for &turn in turns.iter().filter(|turn| on[**turn]) {
                    let gathered = &mut gathered[turn];
                    let begun = Instant::now();
                    for number in 0..row {
                        if gathered.left_out.is_some() {
                            break;
                        }
                        let made = self.bench.call(&gathered.arm.call);
                        let took = gathered.take(made)?.unwrap_or_default();
                        totals[turn] += took;
                        if anew && left == requests && number == 0 {
                            gathered.add_times(Quantity::First, &[took]);
                        }
                    }
                    gathered.spent += begun.elapsed();
                }
                left -= row;
                let made = f64::from(repetition) * f64::from(requests) + f64::from(requests - left);
                progress(made / calls);
            }
            let all = gathered.iter_mut().zip(totals).zip(&on);
            for ((gathered, total), _) in all.filter(|(_, on)| **on) {
                gathered.add(Quantity::Time, microseconds(total) / f64::from(requests));
                if anew {
                    gathered.add(Quantity::Total, microseconds(total));
                }
            }
        }
        Ok(())
    }
}

/// Where lines are of.
struct Place<'t> {
    task: &'t Task,
}

impl Place<'_> {
    fn at(&self) -> BTreeMap<Cow<'static, str>, String> {
        let at = self.task.point.at.iter();
        at.map(|(axis, value)| (Cow::Borrowed(*axis), value.clone()))
            .collect()
    }

    fn fill(&self, line: Line) -> Line {
        Line {
            study: self.task.study.name.into(),
            experiment: self.task.experiment.number,
            shown_in: self.task.point.shown_in.into(),
            at: self.at(),
            ..line
        }
    }

    fn records(&self, gathered: &[Gathered<'_>]) -> Vec<Record> {
        let mut records = Vec::new();
        for Gathered {
            arm,
            quantities,
            parts,
            left_out,
            ..
        } in gathered
        {
            let stack = arm.call.stack;
            if let Some(why) = left_out {
                records.push(Record::LeftOut(LeftOut {
                    study: self.task.study.name.into(),
                    experiment: self.task.experiment.number,
                    shown_in: self.task.point.shown_in.into(),
                    at: self.at(),
                    stack,
                    arm: arm.name.clone(),
                    left_out: why.clone(),
                }));
                continue;
            }
            for (quantity, samples) in quantities {
                let line = Line::of(stack, &arm.name, *quantity, samples);
                records.extend(line.map(|line| Record::Line(self.fill(line))));
            }
            for ((part, quantity), samples) in parts {
                let name = format!("{}/{part}", arm.name);
                let line = Line::of(stack, &name, *quantity, samples);
                records.extend(line.map(|line| Record::Line(self.fill(line))));
            }
        }
        records
    }
}

fn microseconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

#[cfg(test)]
mod tests;
