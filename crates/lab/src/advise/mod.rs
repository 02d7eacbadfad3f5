//! Advice: which mechanism to choose for one's own messages, from what each costs on this machine.
//!
//! [`Models`] are fitted to measurements of the engine: for each mechanism and suite, what securing
//! and opening cost, in processor time and in bytes, by a fixed part, one per byte and one per
//! element; what conversations and connections cost to begin and to end; and what clients at
//! once cost each other, by waiting for cores. Whole calls tell what gateways add to that. A
//! [`Workload`] then ranks those that satisfy its needs.
//!
//! The rule kept here: every prediction has its error, from measurements that were held back.

mod calls;
mod conversation;
mod endpoint;
mod measure;
mod model;
mod opening;
mod partner;
mod parts;
mod token;
mod tunings;
mod turns;
mod workload;

use std::fmt;

use soapstone::wss::Mechanism;

use crate::measurement::Measurement;
use crate::payload::Payload;
use crate::study::Proof;

use calls::Beside;
pub use calls::{CallCheck, whole_call};
pub use conversation::{Ends, measure_conversation};
pub use endpoint::{Side, gateway_file};
pub use measure::measure;
pub use model::{Cost, Fit, Observation};
pub use partner::Partner;
use parts::Parts;
pub use token::{Source, TokenEnds, measure_token};
pub use tunings::Tunings;
pub use turns::{Over, Turn};
pub use workload::{Means, Message, Need, Workload};

/// What each mechanism and suite costs on a machine.
#[derive(Clone, Debug)]
pub struct Models {
    models: Vec<Model>,
    /// Of a TLS connection.
    tls_handshake: Option<Parts>,
    /// Of conversations by their suite: how they begin, and how they end.
    conversations: Vec<(String, [Parts; 2])>,
    /// What gateways add beside the engine.
    beside: Vec<Beside>,
}

/// What one of them costs.
#[derive(Clone, Debug)]
pub struct Model {
    /// Which.
    pub means: Means,
    /// Microseconds to secure a message; of TLS, to carry it.
    pub secure: Fit,
    /// Microseconds to open a message; of TLS, nothing more.
    pub open: Option<Fit>,
    /// Bytes as they travel.
    pub octets: Fit,
}

/// How well predictions of measurements that were held back come true.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Check {
    /// Of how many.
    pub n: usize,
    /// Half are off by no more, in percent.
    pub median_percent: f64,
    /// The largest, in percent.
    pub worst_percent: f64,
}

impl Check {
    /// Of errors, as shares; `None`, if there are none.
    fn of(mut errors: Vec<f64>) -> Option<Self> {
        errors.sort_by(f64::total_cmp);
        let worst = errors.last()?;
        Some(Self {
            n: errors.len(),
            median_percent: errors[errors.len() / 2] * 100.0,
            worst_percent: worst * 100.0,
        })
    }

    /// What the median must not exceed for predictions to be trusted, in percent.
    pub const BAR: f64 = 15.0;
}

/// What a call is predicted to cost under one mechanism.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Which.
    pub means: Means,
    /// Time that security and the network add to a call, microseconds, and how far that may be
    /// off.
    pub latency: [f64; 2],
    /// Processor time of both sides for a call, microseconds, and how far that may be off.
    pub processor: [f64; 2],
    /// Bytes of a call as they travel.
    pub octets: f64,
    /// Microseconds that beginning a conversation or a connection takes, which is shared by its
    /// calls.
    pub handshake: f64,
    /// Share of the cores of the busier side that the rate takes; above 1 it cannot be served.
    pub utilization: f64,
}

/// Advice.
#[derive(Clone, Debug)]
pub struct Advice {
    /// Those that satisfy the needs, the best first.
    pub ranked: Vec<Prediction>,
    /// Those that do not, and why.
    pub left_out: Vec<LeftOut>,
    /// Where another one becomes the better.
    pub turns: Vec<Turn>,
}

/// Means that are not among those to choose from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Which.
    pub means: Means,
    /// For what.
    pub demand: Demand,
    /// Why it is not satisfied.
    pub why: &'static str,
}

/// What means have to satisfy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// A need.
    Need(Need),
    /// A stack on the other side.
    Partner(Partner),
}

impl fmt::Display for Demand {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Need(need) => need.fmt(out),
            Self::Partner(partner) => partner.fmt(out),
        }
    }
}

/// The messages that a conversation begins with, where that was not measured: a request for a token
/// and its answer.
const TOKEN_MESSAGE: Message = Message {
    bytes: 2_000.0,
    elements: 30.0,
};

impl Models {
    /// From measurements: those of `lab run engine`, and of TLS, where there are some. What is too
    /// few to fit is left out.
    pub fn of(measurements: &[Measurement]) -> Self {
        let mut models: Vec<Model> = Vec::new();
        for first in measurements {
            let Some(means) = means(first) else { continue };
            if models.iter().any(|it| it.means == means) {
                continue;
            }
            let of = |op: &str, cost: fn(&Measurement) -> f64| {
                let same = measurements
                    .iter()
                    .filter(|it| it.op == op && self::means(it).as_ref() == Some(&means));
                let observed = same.filter_map(|it| observation(it, cost));
                Fit::of(&observed.collect::<Vec<_>>())
            };
            let (secure, open) = if means.tls {
                (measure::CARRY, None)
            } else {
                ("secure", Some("open"))
            };
            let time = |it: &Measurement| it.median_us;
            let fits = (of(secure, time), of(secure, |it| it.secured_bytes as f64));
            let opening = open.map(|op| of(op, time));
            if let ((Some(secure), Some(octets)), None | Some(Some(_))) = (fits, &opening) {
                models.push(Model {
                    means,
                    secure,
                    open: opening.flatten(),
                    octets,
                });
            }
        }
        let of = |op: &str, suite: &str| {
            let mut lines = measurements.iter().filter(|it| it.stack == "soapstone");
            lines
                .find(|it| it.op == op && it.suite == suite)
                .map(Parts::of)
        };
        let begin = measurements
            .iter()
            .filter(|it| it.op == conversation::BEGIN);
        let conversations = begin.filter_map(|it| {
            let suite = it.suite.as_str();
            let both = [
                of(conversation::BEGIN, suite)?,
                of(conversation::END, suite)?,
            ];
            Some((suite.to_owned(), both))
        });
        let engine = Self {
            tls_handshake: of(measure::HANDSHAKE, measure::TLS),
            conversations: conversations.collect(),
            beside: Vec::new(),
            models,
        };
        engine.with_calls(measurements)
    }

    /// What was fitted.
    pub fn models(&self) -> &[Model] {
        &self.models
    }

    /// The suites of what was fitted with certificates, each once, in the order of the
    /// measurements.
    pub fn suites(&self) -> Vec<&str> {
        let mut suites: Vec<&str> = Vec::new();
        for model in self.with_certificates() {
            let suite = model.means.suite.as_str();
            if !suite.is_empty() && !suites.contains(&suite) {
                suites.push(suite);
            }
        }
        suites
    }

    /// Whether anything was fitted for a suite with certificates.
    pub fn has_suite(&self, suite: &str) -> bool {
        self.with_certificates().any(|it| it.means.suite == suite)
    }

    /// Whether anything was fitted for tokens of a source.
    pub fn has_tokens_of(&self, source: Source) -> bool {
        let mut models = self.models.iter();
        models.any(|it| source.tokens().contains(&it.means.proof))
    }

    fn with_certificates(&self) -> impl Iterator<Item = &Model> {
        self.models
            .iter()
            .filter(|it| it.means.proof == Proof::Usual)
    }

    /// How well times of measurements that were held back are predicted; `None`, if nothing was
    /// fitted.
    pub fn check(&self) -> Option<Check> {
        let fits = self
            .models
            .iter()
            .flat_map(|it| [Some(&it.secure), it.open.as_ref()].into_iter().flatten());
        Check::of(fits.flat_map(|it| it.held_back.iter().copied()).collect())
    }

    /// Advice for a workload. Only suites that `allowed` lets through are considered, and only
    /// tokens whose source the workload names.
    pub fn advise(&self, workload: &Workload, allowed: impl Fn(&str) -> bool) -> Advice {
        let mut left_out = Vec::new();
        let mut chosen = Vec::new();
        for means in self.choices(workload, allowed) {
            let needs = workload.needs.iter();
            let mut needs =
                needs.filter_map(|need| Some((Demand::Need(*need), means.satisfies(*need).err()?)));
            let partners = workload.partners.iter();
            let mut partners =
                partners.filter_map(|it| Some((Demand::Partner(*it), it.speaks(&means).err()?)));
            match needs.next().or_else(|| partners.next()) {
                Some((demand, why)) => left_out.push(LeftOut { means, demand, why }),
                None => chosen.push(means),
            }
        }
        let mut ranked: Vec<Prediction> = chosen
            .iter()
            .filter_map(|means| self.predict(means, workload))
            .collect();
        let sustained = |it: &Prediction| it.utilization < 1.0;
        ranked.sort_by(|one, other| {
            let by_latency = one.latency[0].total_cmp(&other.latency[0]);
            sustained(other).cmp(&sustained(one)).then(by_latency)
        });
        let turns = self.turns(&ranked, workload);
        Advice {
            ranked,
            left_out,
            turns,
        }
    }

    fn choices(&self, workload: &Workload, allowed: impl Fn(&str) -> bool) -> Vec<Means> {
        let all = self.models.iter().map(|it| &it.means);
        let all = all.filter(|it| token::is_there(&workload.sources, it.mechanism, it.proof));
        let of_messages = all.filter(|it| !it.tls && (it.suite.is_empty() || allowed(&it.suite)));
        let mut choices: Vec<Means> = of_messages.cloned().collect();
        if self.tls().is_some() {
            choices.extend(
                [Mechanism::None, Mechanism::Username].map(|mechanism| Means {
                    proof: Proof::Usual,
                    tls: true,
                    mechanism,
                    suite: String::new(),
                }),
            );
        }
        choices
    }

    fn tls(&self) -> Option<(&Model, Parts)> {
        let model = self.models.iter().find(|it| it.means.tls)?;
        Some((model, self.tls_handshake?))
    }

    /// The model of a mechanism with certificates.
    fn model(&self, mechanism: Mechanism, suite: &str) -> Option<&Model> {
        self.with_certificates()
            .find(|it| !it.means.tls && it.means.mechanism == mechanism && it.means.suite == suite)
    }

    /// The model of messages of these means, which are under no TLS or under another model's.
    fn of_messages(&self, means: &Means) -> Option<&Model> {
        let mut models = self.models.iter();
        models.find(|it| {
            let it = &it.means;
            (it.mechanism, it.proof) == (means.mechanism, means.proof)
                && it.suite == means.suite
                && !it.tls
        })
    }

    /// What a call costs under these means; `None`, if they were not measured.
    pub fn predict(&self, means: &Means, workload: &Workload) -> Option<Prediction> {
        let messages = [workload.request, workload.response];
        let shared = 1.0 / workload.messages_per_conversation.max(1.0);
        let mut call = Parts::default();
        let [mut handshake, mut ending] = [Parts::default(); 2];
        let (mut exchanges, mut relayed) = (0.0, 0.0);
        if means.tls {
            let (model, begun) = self.tls()?;
            for message in messages {
                call.add(model, message);
            }
            handshake = begun;
            exchanges += 1.0;
            // Each intermediary ends one connection and has another.
            relayed = workload.hops * (call.time + begun.time * shared);
        }
        if !means.tls || means.mechanism != Mechanism::None {
            let model = self.of_messages(means)?;
            let unencrypted = self.unencrypted(means);
            for message in messages {
                call.add_share(model, unencrypted, workload.encrypted, message);
            }
        }
        if means.mechanism == Mechanism::SecureConversation {
            [handshake, ending] = self.conversation(&means.suite)?;
            exchanges += 1.0;
        }
        if means.tls && means.mechanism != Mechanism::None {
            // Both count the bytes of the plain message.
            call.octets -= workload.request.bytes + workload.response.bytes;
        }
        let answered = call.time + handshake.time * shared;
        let processor = answered + ending.time * shared;
        let error = call.error + (handshake.error + ending.error) * shared;
        let octets = call.octets + (handshake.octets + ending.octets) * shared;
        // Each side does about half; clients beyond its cores wait for each other.
        let side = processor / 2.0;
        let utilization = workload.rate * side / 1e6 / workload.cores;
        let crowd = (workload.clients / workload.cores).max(1.0);
        // What arrives at random and takes the same time each waits for ρ/(2(1 − ρ)) of it
        // (Pollaczek and Khinchine), at either side.
        let waiting = if utilization < 1.0 {
            processor / workload.cores * utilization / (2.0 * (1.0 - utilization))
        } else {
            f64::INFINITY
        };
        // Nobody waits until a conversation has ended, but for its share of the cores.
        let awaited = octets - ending.octets * shared;
        let legs = workload.hops + 1.0;
        let network = legs
            * (awaited * 8.0 / workload.bandwidth * 1e6
                + workload.round_trip * (1.0 + exchanges * shared));
        let slower = crowd
            + if waiting.is_finite() {
                waiting / processor
            } else {
                0.0
            };
        let [beside, beside_error] = self.beside(means, workload, answered);
        Some(Prediction {
            means: means.clone(),
            latency: [
                answered + processor * (crowd - 1.0) + waiting + network + beside + relayed,
                error * slower + beside_error,
            ],
            processor: [processor, error],
            octets,
            handshake: handshake.time * if means.tls { legs } else { 1.0 }
                + legs
                    * (handshake.octets * 8.0 / workload.bandwidth * 1e6
                        + workload.round_trip * exchanges),
            utilization,
        })
    }

    /// The same without encryption, of which a share may be left out; nothing for what encrypts
    /// nothing, and for conversations and tokens, which are not measured without.
    fn unencrypted(&self, means: &Means) -> Option<&Model> {
        match means.mechanism {
            _ if means.proof != Proof::Usual => None,
            Mechanism::SignEncrypt | Mechanism::EncryptSign => {
                self.model(Mechanism::Sign, &means.suite)
            }
            Mechanism::Encrypt => self.model(Mechanism::None, ""),
            _ => None,
        }
    }

    /// What a conversation takes to begin and to end: as it was measured or, where it was not, as
    /// much as a request and a response for a token, signed and encrypted with certificates,
    /// and nothing to end.
    fn conversation(&self, suite: &str) -> Option<[Parts; 2]> {
        if let Some((_, measured)) = self.conversations.iter().find(|it| it.0 == suite) {
            return Some(*measured);
        }
        let bootstrap = self.model(Mechanism::SignEncrypt, suite).or_else(|| {
            let mut models = self.models.iter();
            models.find(|it| it.means.mechanism == Mechanism::SignEncrypt)
        })?;
        let mut begin = Parts::default();
        begin.add(bootstrap, TOKEN_MESSAGE);
        begin.add(bootstrap, TOKEN_MESSAGE);
        Some([begin, Parts::default()])
    }
}

/// What a measurement is of; `None` for what cannot be advised: parts of the work, keys of an
/// unknown kind, other stacks; and for operations measured as between calls, as what calls take
/// beside the engine is added to it.
fn means(of: &Measurement) -> Option<Means> {
    if of.stack != "soapstone" || of.between_calls {
        return None;
    }
    if of.mechanism == measure::HTTPS {
        return Some(Means {
            proof: Proof::Usual,
            tls: true,
            mechanism: Mechanism::None,
            suite: String::new(),
        });
    }
    let mechanism: Mechanism = of.mechanism.parse().ok()?;
    let keyed = mechanism.signs() || mechanism.encrypts();
    token::proof_of(&of.binding).map(|proof| Means {
        proof,
        tls: false,
        mechanism,
        suite: if keyed {
            of.suite.clone()
        } else {
            String::new()
        },
    })
}

fn observation(of: &Measurement, cost: fn(&Measurement) -> f64) -> Option<Observation> {
    Some(Observation {
        bytes: of.bytes as f64,
        elements: payload(of)?.elements() as f64,
        cost: cost(of),
        whole: cost(of),
    })
}

/// What a measurement worked on; `None` for what the lab does not know.
fn payload(of: &Measurement) -> Option<Payload> {
    match &*of.payload {
        "echo" => Some(Payload::Echo(of.items)),
        "books" => Some(Payload::Books(u32::try_from(of.items).ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
