//! Ways to measure the arms of a point that are made of rounds: clients at once, a steady rate, new
//! deployments, new clients, conditions, and messages in memory.
//!
//! The rule kept here: in each round every arm has its turn, in an order drawn anew.

use std::time::{Duration, Instant};

use super::super::bench::Bench;
use super::super::call::Step;
use super::super::condition::Condition;
use super::super::line::Quantity;
use super::super::providers::Trial;
use super::clock::Clock;
use super::{Gathered, ROW, Run, microseconds};

impl<B: Bench> Run<'_, B> {
    /// Rounds of all arms that go on, each in an order of its own, until they are made or time is
    /// over.
    fn rounds(
        &mut self,
        gathered: &mut [Gathered<'_>],
        rounds: u32,
        clock: &Clock,
        progress: &mut dyn FnMut(f64),
        mut one: impl FnMut(&mut B, &mut Gathered<'_>) -> Result<(), B::Failure>,
    ) -> Result<(), B::Failure> {
        let mut turns: Vec<usize> = (0..gathered.len()).collect();
        for round in 0..rounds {
            let on = clock.goes_on(gathered, round);
            if !on.contains(&true) {
                break;
            }
            self.order.shuffle(&mut turns);
            for &turn in turns.iter().filter(|turn| on[**turn]) {
                let gathered = &mut gathered[turn];
                let begun = Instant::now();
                one(self.bench, gathered)?;
                gathered.spent += begun.elapsed();
            }
            progress(f64::from(round + 1) / f64::from(rounds));
        }
        Ok(())
    }

    pub(super) fn together(
        &mut self,
        gathered: &mut [Gathered<'_>],
        (clients, requests): (u32, u32),
        repetitions: u32,
        clock: &Clock,
        progress: &mut dyn FnMut(f64),
    ) -> Result<(), B::Failure> {
        self.rounds(gathered, repetitions, clock, progress, |bench, gathered| {
            let made = bench.together(&gathered.arm.call, clients, requests);
            if let Some(times) = gathered.take(made)?
                && !times.is_empty()
            {
                let total: Duration = times.iter().sum();
                gathered.add(Quantity::Time, microseconds(total) / times.len() as f64);
            }
            Ok(())
        })
    }

    pub(super) fn paced(
        &mut self,
        gathered: &mut [Gathered<'_>],
        per_second: f64,
        lasting: Duration,
        progress: &mut dyn FnMut(f64),
    ) -> Result<(), B::Failure> {
        let mut turns: Vec<usize> = (0..gathered.len()).collect();
        self.order.shuffle(&mut turns);
        for (done, &turn) in turns.iter().enumerate() {
            let gathered = &mut gathered[turn];
            if gathered.left_out.is_none() {
                let made = self.bench.paced(&gathered.arm.call, per_second, lasting);
                let times = gathered.take(made)?.unwrap_or_default();
                gathered.add_times(Quantity::Time, &times);
            }
            progress((done + 1) as f64 / turns.len() as f64);
        }
        Ok(())
    }

    pub(super) fn fresh(
        &mut self,
        gathered: &mut [Gathered<'_>],
        times: u32,
        calls: u32,
        clock: &Clock,
        progress: &mut dyn FnMut(f64),
    ) -> Result<(), B::Failure> {
        self.rounds(gathered, times, clock, progress, |bench, gathered| {
            let made = bench.fresh(&gathered.arm.call, calls);
            if let Some(times) = gathered.take(made)?
                && let [first, later @ ..] = times.as_slice()
            {
                gathered.add_times(Quantity::First, &[*first]);
                gathered.add_times(Quantity::Later, later);
                let total: Duration = times.iter().sum();
                gathered.add(Quantity::Total, microseconds(total));
                gathered.add(Quantity::Time, microseconds(total) / times.len() as f64);
            }
            Ok(())
        })
    }

    pub(super) fn newcomers(
        &mut self,
        gathered: &mut [Gathered<'_>],
        times: u32,
        clock: &Clock,
        progress: &mut dyn FnMut(f64),
    ) -> Result<(), B::Failure> {
        self.rounds(gathered, times, clock, progress, |bench, gathered| {
            let made = bench.newcomer(&gathered.arm.call);
            if let Some(time) = gathered.take(made)? {
                gathered.add_times(Quantity::Newcomer, &[time]);
            }
            Ok(())
        })
    }

    pub(super) fn by_the_client(
        &mut self,
        gathered: &mut [Gathered<'_>],
        repetitions: u32,
        clock: &Clock,
        progress: &mut dyn FnMut(f64),
    ) -> Result<(), B::Failure> {
        self.rounds(gathered, repetitions, clock, progress, |bench, gathered| {
            let made = bench.by_the_client(&gathered.arm.call);
            if let Some([exchange, opened]) = gathered.take(made)? {
                gathered.add_times(Quantity::Exchange, &[exchange]);
                gathered.add_times(Quantity::Opened, &[opened]);
            }
            Ok(())
        })
    }

    /// Not in turns: what is under a condition would have to be deployed anew for each.
    pub(super) fn under(
        &mut self,
        gathered: &mut [Gathered<'_>],
        condition: &Condition,
        (clients, requests, rounds): (u32, u32, u32),
        progress: &mut dyn FnMut(f64),
    ) -> Result<(), B::Failure> {
        let mut turns: Vec<usize> = (0..gathered.len()).collect();
        self.order.shuffle(&mut turns);
        for (done, &turn) in turns.iter().enumerate() {
            self.bench.go_on()?;
            let gathered = &mut gathered[turn];
            let call = gathered.arm.call;
            let made = self
                .bench
                .under(&call, condition, clients, requests, rounds);
            for round in gathered.take(made)?.unwrap_or_default() {
                let calls = round.times.len() as f64;
                if calls > 0.0 {
                    let total: Duration = round.times.iter().sum();
                    gathered.add(Quantity::Time, microseconds(total) / calls);
                    gathered.add(Quantity::Rate, calls / round.lasted.as_secs_f64());
                }
                if let Some(octets) = round.memory {
                    gathered.add(Quantity::Memory, octets as f64);
                }
            }
            progress((done + 1) as f64 / turns.len() as f64);
        }
        Ok(())
    }

    pub(super) fn providers(
        &mut self,
        gathered: &mut [Gathered<'_>],
        trial: Trial,
        (clients, requests): (u32, u32),
        (repetitions, clock): (u32, &Clock),
        progress: &mut dyn FnMut(f64),
    ) -> Result<(), B::Failure> {
        // What is started for an arm takes none of the time that it has for rounds.
        for gathered in gathered.iter_mut() {
            let arm = gathered.arm;
            let begun = self
                .bench
                .providers(&arm.call, &arm.name, trial, clients, 0);
            gathered.take(begun)?;
        }
        self.rounds(gathered, repetitions, clock, progress, |bench, gathered| {
            let arm = gathered.arm;
            let made = bench.providers(&arm.call, &arm.name, trial, clients, requests);
            let Some(round) = gathered.take(made)? else {
                return Ok(());
            };
            gathered.add_times(Quantity::Time, &round.times);
            if let Some(tail) = round.tail() {
                gathered.add(Quantity::Tail, microseconds(tail));
            }
            gathered.add(Quantity::Lost, f64::from(round.lost));
            if let Some(ended) = round.ended {
                gathered.add(Quantity::Ended, microseconds(ended));
            }
            if let Some(below) = round.below {
                gathered.add(Quantity::Below, f64::from(below));
            }
            if let Some(met) = round.met {
                gathered.add(Quantity::Met, met);
            }
            for (class, times) in &round.classes {
                gathered.add_part(class, Quantity::Time, times);
            }
            let counts = [
                (Quantity::Violations, round.violations),
                (Quantity::Unrecorded, round.unrecorded),
            ];
            for (quantity, count) in counts {
                if let Some(count) = count {
                    gathered.add(quantity, f64::from(count));
                }
            }
            Ok(())
        })
    }

    pub(super) fn in_memory(
        &mut self,
        gathered: &mut [Gathered<'_>],
        step: Step,
        repetitions: u32,
        clock: &Clock,
        progress: &mut dyn FnMut(f64),
    ) -> Result<(), B::Failure> {
        let mut turns: Vec<usize> = (0..gathered.len()).collect();
        let mut done = vec![0; gathered.len()];
        loop {
            let rows: Vec<u32> = gathered
                .iter()
                .zip(&done)
                .map(|(gathered, done)| clock.row(gathered, *done, repetitions).min(ROW))
                .collect();
            if rows.iter().all(|row| *row == 0) {
                break;
            }
            self.order.shuffle(&mut turns);
            for &turn in turns.iter().filter(|turn| rows[**turn] > 0) {
                let gathered = &mut gathered[turn];
                let made = self.bench.process(&gathered.arm.call, step, rows[turn]);
                let times = gathered.take(made)?.unwrap_or_default();
                gathered.add_times(Quantity::Time, &times);
                // Keys that are made and what is warmed up beside them do not come again.
                gathered.spent += times.iter().sum::<Duration>();
                done[turn] += rows[turn];
            }
            let made: u32 = done.iter().sum();
            progress(f64::from(made) / (f64::from(repetitions) * done.len() as f64));
        }
        Ok(())
    }
}
