//! Another stack: a program that is asked by lines of JSON on its standard input, and answers each
//! with one on its standard output.
//!
//! `interop/stacks/NAME/run` installs what it needs and becomes the program. What it says first is
//! that it is ready, or why it is absent. The rule kept here: a program that says what is no
//! answer, says nothing for too long, or ends, is ended and asked nothing more, since nobody knows
//! what its next line would be an answer to.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use soapstone::wss::Mechanism;
use soapstone_lab::study::{
    Bench, Call, Condition, NoCall, Operation, Round, Sensor, Sizes, Source, Stack, Step,
};

use super::super::process_log::ProcessLog;
use super::wish::StopSignal;
use crate::failure::Failure;

/// How long a stack may install, build and start: those from Maven Central fetch what they need.
const START: Duration = Duration::from_secs(30 * 60);
/// How long an answer may take, beside what was asked for.
const ANSWER: Duration = Duration::from_secs(300);
/// How long a program may take to end when its input has.
const END: Duration = Duration::from_secs(10);
/// How often the wish to stop is looked for.
const GLANCE: Duration = Duration::from_millis(100);

/// What a program says.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    Ready {
        version: String,
    },
    Absent(String),
    Us(Vec<f64>),
    /// How many conversations were ended.
    Parted(u32),
    Unsupported(String),
    Failed(String),
    #[serde(untagged)]
    Sizes {
        plain: usize,
        secured: usize,
    },
}

/// A program that runs.
pub(super) struct Program {
    stack: Stack,
    /// What was started.
    path: PathBuf,
    version: String,
    wish: StopSignal,
    process_log: ProcessLog,
    child: Child,
    /// Nothing, when it is to end.
    input: Option<ChildStdin>,
    output: Receiver<String>,
    /// Why it is asked nothing more.
    gone: Option<String>,
}

type Asked<T> = Result<T, NoCall<Failure>>;

impl Program {
    /// Starts `NAME/run` of the folder and waits until it is ready.
    ///
    /// # Errors
    /// Why it is absent, or that the run is to stop.
    pub(super) fn start(
        stack: Stack,
        folder: &Path,
        wish: &StopSignal,
        process_log: &ProcessLog,
    ) -> Asked<Self> {
        let file = folder.join(stack.name()).join("run");
        let absent =
            |why: &dyn std::fmt::Display| NoCall::LeftOut(format!("{}: {why}", file.display()));
        let path = file.canonicalize().map_err(|error| absent(&error))?;
        Self::start_with(stack, path, (wish, process_log), &[])
    }

    /// The same with more in its environment.
    fn start_with(
        stack: Stack,
        path: PathBuf,
        (wish, process_log): (&StopSignal, &ProcessLog),
        environment: &[(&str, String)],
    ) -> Asked<Self> {
        let absent =
            |why: &dyn std::fmt::Display| NoCall::LeftOut(format!("{}: {why}", path.display()));
        let mut command = Command::new(&path);
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(Stdio::piped());
        // What the sample services answer, others record from us.
        if let Ok(own) = std::env::current_exe() {
            command.env("SOAPSTONE_PROGRAM", own);
        }
        #[cfg(unix)]
        {
            // What it starts is ended with it, and not by the Ctrl-C that is meant for us.
            use std::os::unix::process::CommandExt;
            command.process_group(0);
        }
        let mut child = command.spawn().map_err(|error| absent(&error))?;
        let input = child.stdin.take();
        let output = lines(child.stdout.take());
        if let Some(errors) = child.stderr.take() {
            process_log.listen(errors);
        }
        let mut program = Self {
            stack,
            path,
            version: String::new(),
            wish: wish.clone(),
            process_log: process_log.clone(),
            child,
            input,
            output,
            gone: None,
        };
        match program.answer(START)? {
            Answer::Ready { version } => {
                program.version = version;
                Ok(program)
            }
            Answer::Absent(why) => Err(NoCall::LeftOut(why)),
            _ => Err(program.lose("it did not say first whether it is ready".to_owned())),
        }
    }

    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// Asks, and waits for the answer.
    fn ask(&mut self, request: &Value, lasting: Duration) -> Asked<Answer> {
        if let Some(why) = &self.gone {
            return Err(NoCall::LeftOut(why.clone()));
        }
        let written = match &mut self.input {
            Some(input) => writeln!(input, "{request}").and_then(|()| input.flush()),
            None => Ok(()),
        };
        // One that has ended may have said why before.
        let answer = self.answer(ANSWER + lasting)?;
        if let Err(error) = written {
            return Err(self.lose(format!("it reads nothing more: {error}")));
        }
        match answer {
            Answer::Unsupported(why) => Err(NoCall::LeftOut(why)),
            Answer::Failed(why) => Err(NoCall::LeftOut(format!("it failed: {why}"))),
            answer => Ok(answer),
        }
    }

    /// What it says next.
    fn answer(&mut self, patience: Duration) -> Asked<Answer> {
        let begun = Instant::now();
        let line = loop {
            self.wish.go_on()?;
            match self.output.recv_timeout(GLANCE) {
                Ok(line) => break line,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.lose("it ended before it answered".to_owned()));
                }
                Err(RecvTimeoutError::Timeout) if begun.elapsed() > patience => {
                    let seconds = patience.as_secs();
                    return Err(self.lose(format!("it said nothing for {seconds} s")));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        serde_json::from_str(&line).map_err(|error| {
            /// Enough to see what it is.
            const SHOWN: usize = 200;
            let shown: String = line.chars().take(SHOWN).collect();
            self.lose(format!("it said what is no answer ({error}): {shown}"))
        })
    }

    /// Asks it nothing more.
    fn lose(&mut self, why: String) -> NoCall<Failure> {
        self.end(Duration::ZERO);
        let why = format!("{}: {why}", self.stack);
        self.gone = Some(why.clone());
        NoCall::LeftOut(why)
    }

    /// Ends its input, and after some time it and what it started.
    fn end(&mut self, patience: Duration) {
        self.input = None;
        let begun = Instant::now();
        while begun.elapsed() < patience {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(GLANCE);
        }
        // The group first: when its leader is gone and waited for, its number may be another's.
        #[cfg(unix)]
        if matches!(self.child.try_wait(), Ok(None)) {
            let group = format!("-{}", self.child.id());
            // If there is no `kill`, the program itself is ended all the same.
            let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        }
        // One that has ended already is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn times(&mut self, request: &Value, lasting: Duration) -> Asked<Vec<Duration>> {
        let answer = self.ask(request, lasting)?;
        let Answer::Us(times) = answer else {
            return Err(self.lose("it answered something else than times".to_owned()));
        };
        let times = times
            .into_iter()
            .map(|time| Duration::try_from_secs_f64(time / 1e6));
        match times.collect::<Result<Vec<_>, _>>() {
            Ok(times) if !times.is_empty() => Ok(times),
            Ok(_) => Err(self.lose("it answered no time".to_owned())),
            Err(error) => Err(self.lose(format!("it answered what is no time: {error}"))),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if self.gone.is_none() {
            self.end(END);
        }
    }
}

/// Lines as they come, until there are no more.
fn lines(output: Option<impl std::io::Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    if let Some(output) = output {
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let Ok(line) = line else { break };
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
    }
    receiver
}

/// The call as the programs are told it.
fn told(call: &Call) -> Asked<Value> {
    let operation = match call.operation {
        Operation::Books {
            source: Source::Database(_),
            ..
        } => return left_out("its books are in memory only"),
        Operation::Books { books, .. } => json!({"books": {"books": books}}),
        Operation::Echo { characters } => json!({"echo": {"characters": characters}}),
        Operation::Strings { elements } => json!({"strings": {"elements": elements}}),
        Operation::Sum => json!("sum"),
        Operation::Employees => json!("employees"),
        Operation::OneEmployee => json!("employee"),
        Operation::Resource => return left_out("it speaks SOAP only"),
        Operation::Temperature(Sensor::PROMPT) => json!("temperature"),
        Operation::Temperature(_) => return left_out("its sensor answers at once"),
        Operation::Own(_) => return left_out("it calls the sample services only"),
    };
    if call.setup.direct {
        return left_out("it has no gateways to go past");
    }
    Ok(json!({
        "transport": call.setup.transport.name(),
        "mechanism": call.setup.mechanism_name(),
        "suite": call.setup.suite,
        "rsa_bits": call.setup.rsa_bits,
        "operation": operation,
    }))
}

impl Bench for Program {
    type Failure = Failure;

    fn call(&mut self, call: &Call) -> Asked<Duration> {
        let request = json!({"do": "call", "call": told(call)?});
        let times = self.times(&request, Duration::ZERO)?;
        Ok(times.first().copied().unwrap_or_default())
    }

    fn end_conversation(&mut self, call: &Call) -> Asked<()> {
        if call.setup.mechanism != Mechanism::SecureConversation {
            return Ok(());
        }
        let request = json!({"do": "part", "call": told(call)?});
        match self.ask(&request, Duration::ZERO)? {
            Answer::Parted(0) => {
                left_out("its clients were in no conversation that could be ended")
            }
            Answer::Parted(_) => Ok(()),
            _ => Err(self.lose("it answered something else than that it parted".to_owned())),
        }
    }

    fn weigh(&mut self, call: &Call) -> Asked<Sizes> {
        let request = json!({"do": "weigh", "call": told(call)?});
        match self.ask(&request, Duration::ZERO)? {
            Answer::Sizes { plain, secured } => Ok(Sizes {
                plain,
                secured,
                apart: None,
            }),
            _ => Err(self.lose("it answered something else than sizes".to_owned())),
        }
    }

    fn together(&mut self, call: &Call, clients: u32, requests: u32) -> Asked<Vec<Duration>> {
        let request = json!({
            "do": "together", "call": told(call)?, "clients": clients, "requests": requests,
        });
        self.times(&request, Duration::ZERO)
    }

    fn paced(&mut self, call: &Call, per_second: f64, lasting: Duration) -> Asked<Vec<Duration>> {
        let request = json!({
            "do": "paced", "call": told(call)?,
            "per_second": per_second, "seconds": lasting.as_secs_f64(),
        });
        self.times(&request, lasting)
    }

    fn fresh(&mut self, call: &Call, calls: u32) -> Asked<Vec<Duration>> {
        let request = json!({"do": "fresh", "call": told(call)?, "requests": calls});
        self.times(&request, Duration::ZERO)
    }

    fn newcomer(&mut self, call: &Call) -> Asked<Duration> {
        let request = json!({"do": "newcomer", "call": told(call)?});
        let times = self.times(&request, Duration::ZERO)?;
        Ok(times.first().copied().unwrap_or_default())
    }

    fn process(&mut self, call: &Call, step: Step, repetitions: u32) -> Asked<Vec<Duration>> {
        let (payload, items) = match call.operation {
            Operation::Books { books, .. } => ("books", books),
            Operation::Echo { characters } => ("echo", characters),
            _ => return left_out("it has answers of Echo and of getBooks in memory only"),
        };
        let request = json!({
            "do": match step {
                Step::Secure => "secure",
                Step::Open => "open",
            },
            "mechanism": call.setup.mechanism_name(),
            "suite": call.setup.suite,
            "rsa_bits": call.setup.rsa_bits,
            "payload": payload,
            "items": items,
            "repetitions": repetitions,
        });
        self.times(&request, Duration::ZERO)
    }

    /// Memory only, and only of a Java stack: the heap of its virtual machines, in a program of its
    /// own.
    fn under(
        &mut self,
        call: &Call,
        condition: &Condition,
        clients: u32,
        requests: u32,
        rounds: u32,
    ) -> Asked<Vec<Round>> {
        let (Stack::Cxf | Stack::Cxf35 | Stack::Metro, Condition::Memory { mebibytes }) =
            (self.stack, condition)
        else {
            return Err(NoCall::LeftOut(format!(
                "this stack cannot be put under a condition ({condition})"
            )));
        };
        let environment = [
            // It counts more than what is said on the command line, so that the program need not
            // know of it.
            ("_JAVA_OPTIONS", format!("-Xmx{mebibytes}m")),
            // It was installed when this run first started it: built anew, it would be another
            // than what the run has measured so far, and its archive would change
            // under the one that runs.
            ("SOAPSTONE_STACK_INSTALLED", "1".to_owned()),
        ];
        let mut limited = Self::start_with(
            self.stack,
            self.path.clone(),
            (&self.wish, &self.process_log),
            &environment,
        )?;
        let mut measured = Vec::new();
        for number in 0..=rounds {
            let begun = Instant::now();
            let times = limited.together(call, clients, requests)?;
            let lasted = begun.elapsed();
            // The first is for what begins, and for what a virtual machine compiles.
            if number > 0 {
                measured.push(Round {
                    times,
                    lasted,
                    memory: None,
                });
            }
        }
        Ok(measured)
    }
}

fn left_out<T>(why: &str) -> Asked<T> {
    Err(NoCall::LeftOut(why.to_owned()))
}
