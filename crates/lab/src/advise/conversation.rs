//! What it takes to begin a conversation, and to end it: the messages of both sides, by endpoints
//! as gateways run them.
//!
//! The rule kept here: every handshake is a whole one, with a context that the service grants,
//! keeps and forgets.

use std::time::Instant;

use jiff::Timestamp;
use soapstone::conversation::ContextStore;
use soapstone::endpoint::{Arrived, Call, Calling, Client, Handshakes, Memory, Service};
use soapstone::replay::ForgetfulReplayCache;
use soapstone::wss::{SecurityContext, SoapVersion};
use soapstone::xml::Buffers;
use soapstone_store::MemoryContexts;

use crate::measurement::{Effort, Measurement, Samples};
use crate::payload::Payload;

/// The operation of a line that measures how one begins: request and answer, both sides.
pub(super) const BEGIN: &str = "begin";
/// The operation of a line that measures how one ends: request and answer, both sides.
pub(super) const END: &str = "end";

/// Where the service is, for its client.
const SERVICE: &str = "http://localhost/service";
/// Contexts that the service has room for: there is one at a time.
const ROOM: usize = 64;

/// Both ends of conversations under one suite, each with the keys that it takes.
#[derive(Debug)]
pub struct Ends {
    /// The suite's name.
    pub suite: String,
    /// Who begins and ends them.
    pub client: Client,
    /// Who grants them.
    pub service: Service,
}

impl Ends {
    fn handshakes(&self) -> Handshakes<'_, Calling> {
        self.client
            .handshakes()
            .expect("the client has conversations")
    }
}

/// Measures how a conversation begins and how it ends: a line each.
///
/// # Panics
/// The ends do not understand each other.
pub fn measure_conversation(ends: &Ends, effort: Effort, emit: &mut dyn FnMut(&Measurement)) {
    let contexts = MemoryContexts::new(ROOM);
    let mut talk = Talk {
        ends,
        contexts: &contexts,
        buffers: Buffers::default(),
        octets: 0,
    };
    let (mut begins, mut ended) = (Vec::new(), Vec::new());
    let mut octets = [0; 2];
    let mut begun = Instant::now();
    let mut is_warm = false;
    while !is_warm
        || begins.len() < effort.most
            && (begins.len() < effort.least || begun.elapsed() < effort.time)
    {
        let (context, beginning) = talk.timed(Talk::begin);
        octets[0] = talk.octets;
        let ((), ending) = talk.timed(|talk| talk.end(&context));
        octets[1] = talk.octets;
        if is_warm {
            begins.push(beginning);
            ended.push(ending);
        } else if begun.elapsed() * 10 > effort.time {
            is_warm = true;
            begun = Instant::now();
        }
    }
    for ((op, times), octets) in [(BEGIN, begins), (END, ended)].into_iter().zip(octets) {
        let figures = Samples::from_iter(times).figures();
        emit(&Measurement {
            suite: ends.suite.clone(),
            binding: "context".into(),
            secured_bytes: octets,
            ..Measurement::ours(op, "secure-conversation", Payload::Echo(0), &figures)
        });
    }
}

struct Talk<'e> {
    ends: &'e Ends,
    contexts: &'e dyn ContextStore,
    buffers: Buffers,
    /// Of the last two messages.
    octets: usize,
}

impl Talk<'_> {
    /// What the work gives, and the microseconds that it took.
    fn timed<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> (T, f64) {
        let begun = Instant::now();
        let given = work(self);
        (given, begun.elapsed().as_secs_f64() * 1e6)
    }

    fn begin(&mut self) -> SecurityContext {
        let now = Timestamp::now();
        let handshakes = self.ends.handshakes();
        let mut handshake = handshakes
            .begin(
                SERVICE,
                SoapVersion::V11,
                &mut Call::new(now, &mut self.buffers),
            )
            .expect("a request that can be secured");
        let answer = self.answer(std::mem::take(&mut handshake.bytes));
        let memory = Memory::without_conversations(&ForgetfulReplayCache);
        handshakes
            .conclude(
                handshake,
                answer,
                memory,
                &mut Call::new(now, &mut self.buffers),
            )
            .expect("a context that was granted")
    }

    /// The client listens to no answer: the context is of no use to it whatever that says.
    fn end(&mut self, context: &SecurityContext) {
        let mut call = Call::new(Timestamp::now(), &mut self.buffers);
        let (request, _) = self
            .ends
            .handshakes()
            .cancel(context, false, SERVICE, SoapVersion::V11, &mut call)
            .expect("a request that can be secured");
        let answer = self.answer(request);
        self.buffers.give(answer);
    }

    /// What the service answers to a request for something about contexts.
    fn answer(&mut self, request: Vec<u8>) -> Vec<u8> {
        self.octets = request.len();
        let memory = Memory {
            replay: &ForgetfulReplayCache,
            contexts: self.contexts,
        };
        let mut call = Call::new(Timestamp::now(), &mut self.buffers);
        let service = &self.ends.service;
        let read = service.read(request, &mut call).expect("an envelope");
        let arrived = service
            .receive_with(read, memory, &mut call)
            .expect("a request that is accepted");
        let Arrived::Answered(answer) = arrived else {
            panic!("a request for a context is no message of an application");
        };
        assert!(answer.refused.is_none(), "{:?}", answer.refused);
        self.octets += answer.bytes.len();
        answer.bytes
    }
}
