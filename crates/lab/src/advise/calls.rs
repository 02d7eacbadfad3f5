//! Whole calls, through both gateways, and how far predictions are off them.
//!
//! The rule kept here: no model is fitted to a whole call, so that every one of them is held back.

use std::time::Duration;

use soapstone::wss::Mechanism;

use super::{Check, Means, Message, Models, Workload, means, measure, payload};
use crate::measurement::{Measurement, Samples};
use crate::payload::Payload;

/// The operation of a line that measures a whole call.
const CALL: &str = "call";
/// The same, where the call begins a conversation.
const FIRST_CALL: &str = "first-call";

/// How far predictions of whole calls were off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallCheck {
    /// Of what calls take in all: that of plain ones, as it was measured, and what security was predicted to add.
    pub whole: Check,
    /// Of what security adds to them.
    pub added: Check,
}

/// The line of a whole call under these means, request and response through both gateways: one that begins a conversation, or one of many.
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

impl Models {
    /// How well whole calls among the measurements are predicted; `None`, if there are none, or no plain ones that they can be compared with.
    pub fn check_calls(&self, measurements: &[Measurement]) -> Option<CallCheck> {
        let (mut whole, mut added) = (Vec::new(), Vec::new());
        for call in measurements {
            if call.op != CALL && call.op != FIRST_CALL {
                continue;
            }
            let Some((plain, predicted)) = self.plain_and_predicted(call, measurements) else {
                continue;
            };
            let measured = call.median_us;
            whole.push((plain + predicted - measured).abs() / measured);
            added.push((plain + predicted - measured).abs() / (measured - plain).abs());
        }
        Some(CallCheck {
            whole: Check::of(whole)?,
            added: Check::of(added)?,
        })
    }

    /// What the same call takes without security, and what security is predicted to add to it, microseconds.
    fn plain_and_predicted(&self, call: &Measurement, all: &[Measurement]) -> Option<(f64, f64)> {
        let means = means(call)?;
        if means.mechanism == Mechanism::None && !means.tls {
            return None;
        }
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
            rate: 0.0,
            clients: 1.0,
            bandwidth: f64::INFINITY,
            round_trip: 0.0,
            cores: 1.0,
            needs: Vec::new(),
        };
        let predicted = self.predict(&means, &workload)?;
        Some((plain.median_us, predicted.latency[0]))
    }
}
