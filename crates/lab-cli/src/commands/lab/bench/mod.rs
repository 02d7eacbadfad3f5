//! What studies are run on: our gateways, and other stacks as programs of their own.
//!
//! The rule kept here: a program that fails takes only its own arms out of a run; a wrong answer of
//! our own ends it.

mod asked;
mod choosing;
mod ours;
mod own;
mod program;
mod recorded;
mod routes;
mod secured_client;
mod sides;
mod under;
mod wish;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use soapstone_lab::studies::InMemory;
use soapstone_lab::study::{
    Absent, Bench, Call, Condition, NoCall, Operation, ProvidersRound, Round, Sizes, Stack, Step,
    Trial,
};

pub(super) use ours::Gateways;
pub(super) use own::{OwnCall, OwnServices};
use program::Program;
pub(super) use routes::{is_ours, layout};
pub(super) use sides::Sides;
pub(super) use wish::StopSignal;

use super::databases::Databases;
use super::issuers::Issuers;
use super::process_log::ProcessLog;
use crate::failure::Failure;

/// Programs of other stacks that are there.
#[derive(Default)]
pub(super) struct Programs(BTreeMap<Stack, Program>);

impl Programs {
    /// Starts the programs of the stacks that are not ours, which are in `folder`; tells which are
    /// absent, and why.
    pub(super) fn start(
        stacks: &[Stack],
        folder: &Path,
        wish: &StopSignal,
        process_log: &ProcessLog,
        say: &mut dyn FnMut(Stack),
    ) -> Result<(Self, Vec<Absent>), Failure> {
        let mut programs = BTreeMap::new();
        let mut absent = Vec::new();
        for &stack in stacks.iter().filter(|stack| !is_ours(**stack)) {
            say(stack);
            match Program::start(stack, folder, wish, process_log) {
                Ok(program) => {
                    programs.insert(stack, program);
                }
                Err(NoCall::LeftOut(why)) => absent.push(Absent { stack, absent: why }),
                Err(NoCall::Failed(failure)) => return Err(failure),
            }
        }
        Ok((Self(programs), absent))
    }

    /// Their versions, as they tell them.
    pub(super) fn versions(&self) -> BTreeMap<Stack, String> {
        let programs = self.0.iter();
        programs
            .map(|(stack, program)| (*stack, program.version().to_owned()))
            .collect()
    }
}

/// All stacks.
pub(super) struct Stacks<'n> {
    pub(super) wish: StopSignal,
    /// Nothing, where only others are measured.
    pub(super) ours: Option<Gateways<'n>>,
    /// Those beside issuers of tokens; nothing, where no token is measured.
    pub(super) beside_issuers: Option<Gateways<'n>>,
    pub(super) issuers: &'n Issuers,
    pub(super) engine: InMemory,
    pub(super) programs: Programs,
    pub(super) databases: &'n Databases,
}

impl Stacks<'_> {
    /// Who answers the call: a bench.
    fn of(&mut self, call: &Call) -> Result<&mut dyn Bench<Failure = Failure>, NoCall<Failure>> {
        if is_ours(call.stack) {
            self.databases.answers(call)?;
            self.issuers.issue_for(call)?;
        }
        let bench = if is_ours(call.stack) {
            let ours = match call.setup.beside_issuers {
                true => &mut self.beside_issuers,
                false => &mut self.ours,
            };
            ours.as_mut()
                .map(|ours| ours as &mut dyn Bench<Failure = Failure>)
        } else {
            let program = self.programs.0.get_mut(&call.stack);
            program.map(|program| program as &mut dyn Bench<Failure = Failure>)
        };
        bench.ok_or_else(|| NoCall::LeftOut("it was not started".to_owned()))
    }
}

impl Bench for Stacks<'_> {
    type Failure = Failure;

    fn go_on(&mut self) -> Result<(), Failure> {
        self.wish.go_on()
    }

    fn call(&mut self, call: &Call) -> Result<Duration, NoCall<Failure>> {
        self.of(call)?.call(call)
    }

    fn end_conversation(&mut self, call: &Call) -> Result<(), NoCall<Failure>> {
        self.of(call)?.end_conversation(call)
    }

    fn weigh(&mut self, call: &Call) -> Result<Sizes, NoCall<Failure>> {
        self.of(call)?.weigh(call)
    }

    fn together(
        &mut self,
        call: &Call,
        clients: u32,
        requests: u32,
    ) -> Result<Vec<Duration>, NoCall<Failure>> {
        self.of(call)?.together(call, clients, requests)
    }

    fn paced(
        &mut self,
        call: &Call,
        per_second: f64,
        lasting: Duration,
    ) -> Result<Vec<Duration>, NoCall<Failure>> {
        self.of(call)?.paced(call, per_second, lasting)
    }

    fn fresh(&mut self, call: &Call, calls: u32) -> Result<Vec<Duration>, NoCall<Failure>> {
        self.of(call)?.fresh(call, calls)
    }

    fn newcomer(&mut self, call: &Call) -> Result<Duration, NoCall<Failure>> {
        self.of(call)?.newcomer(call)
    }

    fn by_the_client(&mut self, call: &Call) -> Result<[Duration; 2], NoCall<Failure>> {
        self.of(call)?.by_the_client(call)
    }

    fn under(
        &mut self,
        call: &Call,
        condition: &Condition,
        clients: u32,
        requests: u32,
        rounds: u32,
    ) -> Result<Vec<Round>, NoCall<Failure>> {
        self.of(call)?
            .under(call, condition, clients, requests, rounds)
    }

    fn providers(
        &mut self,
        call: &Call,
        front: &str,
        trial: Trial,
        clients: u32,
        requests: u32,
    ) -> Result<ProvidersRound, NoCall<Failure>> {
        self.of(call)?
            .providers(call, front, trial, clients, requests)
    }

    fn process(
        &mut self,
        call: &Call,
        step: Step,
        repetitions: u32,
    ) -> Result<Vec<Duration>, NoCall<Failure>> {
        if let Operation::Own(_) = call.operation {
            return Err(NoCall::LeftOut(
                "only its service knows the answer".to_owned(),
            ));
        }
        match call.stack {
            Stack::Soapstone => Ok(self.engine.process(call, step, repetitions)),
            _ => self.of(call)?.process(call, step, repetitions),
        }
    }
}
