//! Whole calls, through both gateways: what gateways add to them beside the engine, and how far
//! predictions are off them.
//!
//! The rule kept here: a whole call is compared with what models say that saw none with its
//! messages.

use std::time::Duration;

use soapstone::wss::Mechanism;

use super::{Check, Fit, Means, Message, Models, Observation, Workload, means, measure, payload};
use crate::measurement::{Measurement, Samples};
use crate::payload::Payload;

/// The operation of a line that measures a whole call.
const CALL: &str = "call";
/// The same, where the call begins a conversation.
const FIRST_CALL: &str = "first-call";

/// What two gateways add to a call beside what the engine takes in a loop of its own: messages that
/// are read whole before they are worked on, and longer over HTTP; threads that wake each other;
/// caches that other work has made cold.
#[derive(Clone, Debug)]
pub(super) struct Beside {
    added_by: Layer,
    fit: Fit,
}

/// What is between the gateways: TLS, a mechanism, or first the one and then the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    Tls,
    Messages(Mechanism),
}

/// A whole call beside what is known of it.
struct Compared {
    means: Means,
    workload: Workload,
    /// What the same call takes without security, microseconds.
    plain: f64,
    /// What it took.
    measured: f64,
}

/// How far predictions of whole calls were off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallCheck {
    /// Of what calls take in all: that of plain ones, as it was measured, and what security was
    /// predicted to add.
    pub whole: Check,
    /// Of what security adds to them.
    pub added: Check,
}

/// The line of a whole call under these means, request and response through both gateways: one that
/// begins a conversation, or one of many.
pub fn whole_call(
    means: &Means,
    payload: Payload,
    begins: bool,
    times: &[Duration],
) -> Measurement {
    let times = times.iter().map(|time| time.as_secs_f64() * 1e6);
    let figures = times.collect::<Samples>().figures();
    let op = if begins { FIRST_CALL } else { CALL };
    let mechanism = if means.tls {
        measure::HTTPS
    } else {
        means.mechanism.name()
    };
    let conversation = means.mechanism == Mechanism::SecureConversation;
    Measurement {
        suite: means.suite.clone(),
        binding: if conversation {
            "context"
        } else {
            "certificate"
        }
        .into(),
        bytes: payload.request().len() + payload.envelope().len(),
        ..Measurement::ours(op, mechanism, payload, &figures)
    }
}

impl Means {
    fn layers(&self) -> impl Iterator<Item = Layer> {
        let messages =
            (self.mechanism != Mechanism::None).then_some(Layer::Messages(self.mechanism));
        self.tls.then_some(Layer::Tls).into_iter().chain(messages)
    }
}

impl Models {
    /// These models, with what gateways add to the whole calls among the measurements. What is too
    /// few to fit adds nothing.
    pub(super) fn with_calls(mut self, measurements: &[Measurement]) -> Self {
        self.beside.clear();
        let mut observed: Vec<(Layer, Vec<Observation>)> = Vec::new();
        for call in measurements.iter().filter(|it| it.op == CALL) {
            let Some(compared) = compared(call, measurements) else {
                continue;
            };
            let Some(engine) = self.predict(&compared.means, &compared.workload) else {
                continue;
            };
            // What two layers add is not told apart.
            let mut layers = compared.means.layers();
            let (Some(layer), None) = (layers.next(), layers.next()) else {
                continue;
            };
            let added = compared.measured - compared.plain;
            let [request, response] = [compared.workload.request, compared.workload.response];
            let observation = Observation {
                bytes: request.bytes + response.bytes,
                elements: request.elements + response.elements,
                cost: added - engine.latency[0],
                whole: added,
            };
            match observed.iter_mut().find(|it| it.0 == layer) {
                // A call that took no longer than without security tells nothing.
                _ if added <= 0.0 => {}
                Some((_, of_layer)) => of_layer.push(observation),
                None => observed.push((layer, vec![observation])),
            }
        }
        let fits = observed.into_iter().filter_map(|(added_by, observed)| {
            let fit = Fit::of(&observed)?;
            Some(Beside { added_by, fit })
        });
        self.beside = fits.collect();
        self
    }

    /// What gateways add to a call that takes the engine so long, microseconds, and how far that
    /// may be off.
    pub(super) fn beside(&self, means: &Means, workload: &Workload, engine: f64) -> [f64; 2] {
        let [request, response] = [workload.request, workload.response];
        let (bytes, elements) = (
            request.bytes + response.bytes,
            request.elements + response.elements,
        );
        let (mut added, mut error) = (0.0, 0.0_f64);
        for layer in means.layers() {
            let mut fitted = self.beside.iter();
            if let Some(Beside { fit, .. }) = fitted.find(|it| it.added_by == layer) {
                added += fit.cost.of(bytes, elements);
                error = error.max(fit.error());
            }
        }
        [added, error * (engine + added)]
    }

    /// How well whole calls among the measurements are predicted, each by models that saw no call
    /// with its payload; `None`, if there are none, or no plain ones that they can be compared
    /// with.
    pub fn check_calls(&self, measurements: &[Measurement]) -> Option<CallCheck> {
        let is_call = |it: &&Measurement| it.op == CALL || it.op == FIRST_CALL;
        let same = |one: &Measurement, other: &Measurement| {
            (&one.payload, one.items) == (&other.payload, other.items)
        };
        let mut others_of: Vec<(&Measurement, Self)> = Vec::new();
        let (mut whole, mut added) = (Vec::new(), Vec::new());
        for call in measurements.iter().filter(is_call) {
            let Some(compared) = compared(call, measurements) else {
                continue;
            };
            let known = others_of.iter().position(|it| same(it.0, call));
            let place = known.unwrap_or_else(|| {
                let others = measurements.iter().filter(|it| !same(it, call)).cloned();
                let models = self.clone().with_calls(&others.collect::<Vec<_>>());
                others_of.push((call, models));
                others_of.len() - 1
            });
            let models = &others_of[place].1;
            let Some(predicted) = models.predict(&compared.means, &compared.workload) else {
                continue;
            };
            let Compared {
                plain, measured, ..
            } = compared;
            let off = (plain + predicted.latency[0] - measured).abs();
            whole.push(off / measured);
            added.push(off / (measured - plain).abs());
        }
        Some(CallCheck {
            whole: Check::of(whole)?,
            added: Check::of(added)?,
        })
    }
}

/// A whole call and the same without security; `None` for what has no other to be compared with.
fn compared(call: &Measurement, all: &[Measurement]) -> Option<Compared> {
    let means = means(call)?;
    means.layers().next()?;
    let is_plain = |it: &&Measurement| {
        it.op == CALL
            && it.mechanism == Mechanism::None.name()
            && (&it.payload, it.items) == (&call.payload, call.items)
    };
    let plain = all.iter().find(is_plain)?;
    let payload = payload(call)?;
    let workload = Workload {
        request: Message {
            bytes: payload.request().len() as f64,
            elements: Payload::ELEMENTS_OF_REQUESTS as f64,
        },
        response: Message {
            bytes: payload.envelope().len() as f64,
            elements: payload.elements() as f64,
        },
        messages_per_conversation: if call.op == FIRST_CALL { 1.0 } else { 1e9 },
        ..Workload::default()
    };
    Some(Compared {
        means,
        workload,
        plain: plain.median_us,
        measured: call.median_us,
    })
}
