//! What securing and opening messages take in memory: for questions of studies that are about
//! processing alone, or about policies that no preset of a gateway has.
//!
//! The rule kept here: what is measured is what gateways run, endpoint and plans, with messages of
//! the sample services.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use soapstone::crypto::{KeyKind, SecretBytes};
use soapstone::endpoint::{Call as Work, Memory, Opener, Securer};
use soapstone::replay::ForgetfulReplayCache;
use soapstone::wss::{Envelope, KeyBinding, Mechanism, Outgoing, Policy, Suite, Tuning};
use soapstone::xml::Buffers;
use soapstone_services::{EMPLOYEES, SoapVersion, json, requests, responses};

use crate::engine::Established;
use crate::measurement::{Effort, Samples};
use crate::payload::Payload;
use crate::peers::{PASSWORD, Peers, USER};
use crate::study::{Call, Line, Operation, Quantity, Scale, Stack, Step};

const VERSION: SoapVersion = SoapVersion::Soap11;

/// Two parties with keys of one kind.
pub(super) struct Workbench(Peers);

/// What both of them do to a message.
pub(super) struct Processing {
    sender: Securer,
    receiver: Opener,
    /// The conversation, where there is one.
    established: Option<Established>,
}

/// Both messages of a call, in plain.
pub(super) struct Messages([Vec<u8>; 2]);

impl Messages {
    /// Those of an operation; of books, from memory.
    pub(super) fn of(operation: Operation) -> Self {
        let text = |characters: u32| responses::text_of_length(characters as usize);
        let (request, response) = match operation {
            Operation::Books { books, .. } => (
                requests::get_books(VERSION, books),
                responses::books(VERSION, books),
            ),
            Operation::Echo { characters } => (
                requests::echo(VERSION, &text(characters)),
                responses::echo(VERSION, &text(characters)),
            ),
            Operation::Strings { elements } => {
                let strings: Vec<String> = (0..elements)
                    .map(|index| format!("string {index}"))
                    .collect();
                (
                    requests::echo_string_array(VERSION, &strings),
                    responses::echo_string_array(VERSION, &strings),
                )
            }
            Operation::Sum => (requests::sum(VERSION, 2, 3), responses::sum(VERSION, 2, 3)),
            Operation::Employees => (
                requests::employee_details(VERSION),
                responses::employee_details(VERSION, EMPLOYEES),
            ),
            Operation::OneEmployee => (
                requests::employee_details(VERSION),
                responses::one_employee(VERSION),
            ),
            Operation::Resource => (String::new(), json::employee_details(EMPLOYEES)),
            Operation::Temperature(_) => (
                requests::get_temperature(VERSION),
                responses::temperature(VERSION, 2_150),
            ),
            // Captured messages are sent to services, and processed by gateways alone.
            Operation::Own(_) => (String::new(), Vec::new()),
        };
        Self([request.into_bytes(), response])
    }
}

impl Workbench {
    /// With certificates of RSA-2048.
    pub(super) fn new() -> Self {
        Self(Peers::new())
    }

    /// With certificates of another kind.
    pub(super) fn with_keys(kind: KeyKind) -> Self {
        Self(Peers::with_keys(kind))
    }

    /// A mechanism with a suite; `change` changes what its preset says.
    pub(super) fn processing(
        &self,
        mechanism: Mechanism,
        suite: &Suite,
        change: impl FnOnce(&mut Policy),
    ) -> Processing {
        let conversation = mechanism == Mechanism::SecureConversation;
        let binding = if conversation {
            KeyBinding::Context
        } else {
            KeyBinding::Certificate
        };
        let (outbound, inbound) =
            self.0
                .plans_with(mechanism, suite, binding, Tuning::default(), change);
        let limits = Payload::limits();
        let receiver = Opener::of_plan(inbound, limits.clone())
            .with_user(USER, SecretBytes::copy_of(PASSWORD));
        Processing {
            sender: Securer::of_plan(outbound, limits),
            receiver,
            established: conversation.then(Established::new),
        }
    }
}

/// Our engine as it processes messages in memory, with parties for each size of keys.
#[derive(Default)]
pub struct InMemory(BTreeMap<u32, Workbench>);

impl InMemory {
    /// Secures or opens the answer to the call so many times: the time of each.
    pub fn process(&mut self, call: &Call, step: Step, repetitions: u32) -> Vec<Duration> {
        let bits = call.setup.rsa_bits;
        let parties = self.0.entry(bits);
        let parties = parties.or_insert_with(|| Workbench::with_keys(KeyKind::Rsa { bits }));
        // Where nothing is signed or encrypted the suite does not matter.
        let suite = Suite::named(call.setup.suite).or_else(|| Suite::named("Basic256GCM"));
        let suite = suite.expect("a suite that is known");
        let processing = parties.processing(call.setup.mechanism, &suite, |_| {});
        let Messages([_, plain]) = Messages::of(call.operation);
        let mut buffers = Buffers::default();
        let copy = |octets: &[u8], buffers: &mut Buffers| {
            let mut copy = buffers.take(octets.len());
            copy.extend_from_slice(octets);
            copy
        };
        let mut times = Vec::with_capacity(repetitions as usize);
        // The first fills the buffers, and counts nowhere.
        for _ in 0..=repetitions {
            let message = copy(&plain, &mut buffers);
            let begun = Instant::now();
            let secured = processing.secure(message, &mut buffers);
            let mut took = begun.elapsed();
            let octets = if step == Step::Open {
                let begun = Instant::now();
                let opened = processing.open(secured, &mut buffers);
                took = begun.elapsed();
                opened
            } else {
                secured
            };
            times.push(took);
            buffers.give(octets);
        }
        times.split_off(1)
    }
}

impl Processing {
    fn secure(&self, plain: Vec<u8>, buffers: &mut Buffers) -> Vec<u8> {
        let outgoing = match &self.established {
            Some(established) => established.outgoing(),
            None => Outgoing::default(),
        };
        let mut work = Work::new(Timestamp::now(), buffers);
        let secured = self.sender.secure_with(plain, outgoing, &mut work);
        secured.expect("a message that can be secured").bytes
    }

    fn open(&self, secured: Vec<u8>, buffers: &mut Buffers) -> Vec<u8> {
        let nothing = Established::new();
        let memory = Memory {
            replay: &ForgetfulReplayCache,
            contexts: self.established.as_ref().unwrap_or(&nothing),
        };
        let mut work = Work::new(Timestamp::now(), buffers);
        let opened = self.receiver.open_with(secured, None, memory, &mut work);
        opened.expect("a message that is accepted").bytes
    }

    /// Measures securing and opening both messages, each as a message of its own, and weighs them.
    pub(super) fn measure(
        &self,
        messages: &Messages,
        scale: Scale,
        arm: &str,
        emit: &mut dyn FnMut(Line),
    ) {
        let effort = match scale {
            Scale::Quick => Effort::QUICK,
            Scale::Full => Effort::FULL,
        };
        let buffers = RefCell::new(Buffers::default());
        let copies = || {
            messages.0.each_ref().map(|plain| {
                let mut copy = buffers.borrow_mut().take(plain.len());
                copy.extend_from_slice(plain);
                copy
            })
        };
        let samples = Samples::of_prepared(effort, copies, |messages| {
            let buffers = &mut buffers.borrow_mut();
            for plain in messages {
                let secured = self.secure(plain, buffers);
                let opened = self.open(secured, buffers);
                buffers.give(opened);
            }
        });
        Line::of(Stack::Soapstone, arm, Quantity::Processor, samples.times()).map(&mut *emit);
        self.weigh(messages, arm, emit);
    }

    /// Weighs both messages: as they are, secured, and their Security headers.
    pub(super) fn weigh(&self, messages: &Messages, arm: &str, emit: &mut dyn FnMut(Line)) {
        let plain: usize = messages.0.iter().map(Vec::len).sum();
        let secured = messages
            .0
            .each_ref()
            .map(|plain| self.secure(plain.clone(), &mut Buffers::default()));
        let sizes = [
            (Quantity::Size, plain),
            (Quantity::Secured, secured.iter().map(Vec::len).sum()),
            (Quantity::Header, secured.into_iter().map(header).sum()),
        ];
        // Where nothing is secured there is no header.
        for (quantity, bytes) in sizes.into_iter().filter(|it| it.1 > 0) {
            Line::of(Stack::Soapstone, arm, quantity, &[bytes as f64]).map(&mut *emit);
        }
    }
}

/// The bytes of the Security headers of a message.
fn header(message: Vec<u8>) -> usize {
    let envelope = Envelope::parse(message, &Payload::limits(), &mut Buffers::default());
    let envelope = envelope.expect("an envelope of ours");
    let headers = envelope.security_headers(None);
    headers.map(|it| it.range().len()).sum()
}
