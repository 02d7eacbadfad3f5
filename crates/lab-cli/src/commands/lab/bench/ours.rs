//! What studies are run on: sample services and gateways, and clients in this process that call
//! them. For the stack `tls`, a gateway without message security that ends TLS before the services.
//! What is deployed for a call or two is in this process; the others are, too, or have their own.
//!
//! The rule kept here: the body of each answer is compared with what the service gives, outside of
//! the time that is measured.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use soapstone::wss::Mechanism;
use soapstone_lab::study::{
    Bench, Call, Condition, NoCall, Operation, Round, Sensor, Sizes, Source, Stack, Transport, Way,
};
use soapstone_services::{DatabaseLocation, Device};
use tokio::task::JoinSet;

use super::super::said::Said;
use super::asked::{Asked, service};
use super::own::OwnServices;
use super::sides::Sides;
use super::under::{self, Calls};
use super::wish::Wish;
use crate::failure::Failure;
use crate::testbed::{
    Apart, Client, Instance, Layout, Network, Place, Route, Scratch, Target, names_in_body,
};

/// The largest message that the gateways let through, MiB: 25,000 books are 6 MiB, and 9 when they
/// are encrypted.
const LARGEST_MESSAGE: u32 = 32;

/// A route for each way through the gateways that the calls, which are ours, take; those past the
/// gateways have one, too. And the instances of the services that they need.
pub(in super::super) fn layout(
    name: &'static str,
    calls: &[Call],
    databases: &[Option<DatabaseLocation>],
    own: &OwnServices,
) -> Layout {
    let mut instances: Vec<Instance> = Vec::new();
    let mut routes: Vec<Route> = Vec::new();
    for call in calls {
        let target = match (call.operation, service(call.operation)) {
            (Operation::Own(index), _) => Target::Own {
                url: own[index].url.clone(),
                authorities: own[index].authorities.clone(),
            },
            (_, None) => continue,
            (operation, Some(service)) => {
                let needed = instance(operation, databases);
                let known = instances.iter().position(|it| it.name == needed.name);
                let instance = known.unwrap_or(instances.len());
                if known.is_none() {
                    instances.push(needed);
                }
                Target::Sample { instance, service }
            }
        };
        let route = Route {
            prefix: prefix(call),
            target,
            mechanism: call.way.mechanism,
            proof: call.way.proof,
            suite: call.way.suite.to_owned(),
            rsa_bits: call.way.rsa_bits,
            tls: call.way.transport == Transport::Https,
        };
        if routes.iter().all(|other| other.path() != route.path()) {
            routes.push(route);
        }
    }
    Layout {
        name,
        routes,
        instances,
        largest_message: LARGEST_MESSAGE,
    }
}

/// Whether the stack is a gateway of ours, and no program of others.
pub(in super::super) fn is_ours(stack: Stack) -> bool {
    matches!(stack, Stack::Soapstone | Stack::Tls)
}

/// Which instance of the services an operation needs: books from a database, or a sensor that is
/// not as usual, have their own.
fn instance(operation: Operation, databases: &[Option<DatabaseLocation>]) -> Instance {
    let database = match operation {
        Operation::Books {
            source: Source::Database(index),
            ..
        } => databases.get(index).and_then(Option::as_ref),
        // It has one, too, which is not asked: one that is filled already is there at once.
        _ => databases.iter().flatten().next(),
    };
    let device = match operation {
        Operation::Temperature(sensor) => Device {
            delay: Duration::from_millis(u64::from(sensor.delay)),
            loss: f64::from(sensor.lost) / 100.0,
            ..Device::default()
        },
        _ => Device::default(),
    };
    Instance {
        name: instance_name(operation),
        database: database.cloned().unwrap_or_default(),
        device,
    }
}

/// Its name, which stands in paths.
fn instance_name(operation: Operation) -> String {
    match operation {
        Operation::Books {
            source: Source::Database(index),
            ..
        } => format!("database-{index}"),
        Operation::Temperature(sensor) if sensor != Sensor::PROMPT => {
            format!("sensor-{}-{}", sensor.delay, sensor.lost)
        }
        Operation::Own(index) => format!("own-{index}"),
        _ => "memory".to_owned(),
    }
}

/// What the path of the call's route begins with.
fn prefix(call: &Call) -> String {
    format!("/{}/{}", instance_name(call.operation), call.way.arm())
}

/// Services and two gateways, called until somebody wants to stop.
pub(in super::super) struct Gateways<'n> {
    sides: &'n Sides,
    scratch: &'n Scratch,
    network: &'n Network,
    databases: Vec<Option<DatabaseLocation>>,
    /// The first of them makes calls that are alone.
    clients: Vec<Client>,
    wish: Wish,
    said: Said,
    /// The user's services.
    own: &'n OwnServices,
    /// The right body of the answer to an operation: the last one of the sample services, and all
    /// of the user's.
    right: Vec<(Operation, Vec<u8>)>,
}

/// Clients at once from which on connections are closed before others call another way: each leaves
/// some ends of connections in every process, for each way.
const MANY_CLIENTS: u32 = 500;

/// Answers, each with its time.
type Answers = Vec<(Bytes, Duration)>;

impl<'n> Gateways<'n> {
    /// The network, called from the clients' side until somebody wants to stop.
    pub(in super::super) fn new(
        sides: &'n Sides,
        scratch: &'n Scratch,
        network: &'n Network,
        (databases, own): (Vec<Option<DatabaseLocation>>, &'n OwnServices),
        wish: Wish,
        said: Said,
    ) -> Result<Self, Failure> {
        let authority = scratch.authority();
        let mut trusted = vec![authority.as_path()];
        trusted.extend(
            own.iter()
                .flat_map(|it| &it.authorities)
                .map(PathBuf::as_path),
        );
        trusted.sort_unstable();
        trusted.dedup();
        Ok(Self {
            sides,
            scratch,
            network,
            databases,
            clients: vec![Client::trusting(&trusted)?],
            wish,
            said,
            own,
            right: Vec::new(),
        })
    }

    /// Compares the answers with what the service gives.
    fn check(&mut self, asked: &Asked, call: &Call, answers: &Answers) -> Result<(), Failure> {
        let of = |it: &(Operation, Vec<u8>)| it.0 == call.operation;
        if !self.right.iter().any(of) {
            let body = match asked.right() {
                Some(right) => asked.held(&right)?,
                None => self.given(asked, call)?,
            };
            self.right.retain(|it| matches!(it.0, Operation::Own(_)));
            self.right.push((call.operation, body));
        }
        let right = self.right.iter().find(|it| of(it));
        let right = right.map_or(&[][..], |(_, body)| body);
        for (answer, _) in answers {
            if asked.held(answer)? != right {
                return Err(Failure::new(format_args!(
                    "the answer of {} is not what {} gives",
                    call.way.arm(),
                    asked.title
                )));
            }
        }
        Ok(())
    }

    /// What a service of the user's answers without gateways, in the form in which answers are
    /// compared.
    fn given(&self, asked: &Asked, call: &Call) -> Result<Vec<u8>, Failure> {
        let direct = Call {
            way: Way::DIRECT,
            ..*call
        };
        let url = url(self.network, &direct, asked, "", self.own)?;
        let (answer, _) = self
            .sides
            .call(&self.wish, post(&self.clients[0], &url, asked))?;
        let fault = format!("{{{}}}Fault ", asked.soap.0.namespace());
        if names_in_body(&answer, &asked.title)? == fault.as_bytes() {
            return Err(Failure::new(format_args!(
                "{url} answers the request of {} with a fault, without gateways: {}",
                asked.title,
                String::from_utf8_lossy(&answer)
            )));
        }
        asked.held(&answer)
    }

    /// Posts the call once.
    fn once(&mut self, call: &Call, before: &str) -> Result<(usize, Bytes, Duration), Failure> {
        let asked = Asked::of(call.operation, self.own);
        let url = url(self.network, call, &asked, before, self.own)?;
        let client = &self.clients[0];
        let answer = self.sides.call(&self.wish, post(client, &url, &asked))?;
        let answers = vec![answer];
        self.check(&asked, call, &answers)?;
        let (answer, took) = answers.into_iter().next().unwrap_or_default();
        Ok((asked.message.len(), answer, took))
    }
}

fn url(
    network: &Network,
    call: &Call,
    asked: &Asked,
    before: &str,
    own: &OwnServices,
) -> Result<String, Failure> {
    let (path, query) = (asked.path, &asked.query);
    if let (Operation::Own(index), true) = (call.operation, call.way.direct) {
        return Ok(format!("{}{query}", own[index].url));
    }
    if call.way.direct && call.way.transport == Transport::Http {
        let address = network.services(&instance_name(call.operation));
        let address =
            address.ok_or_else(|| Failure::new("the sample services were not started"))?;
        return Ok(format!("http://{address}{path}{query}"));
    }
    if call.stack == Stack::Tls && call.way.transport == Transport::Http {
        let address = network.inbound();
        return Ok(format!("http://{address}{}{path}{query}", prefix(call)));
    }
    if call.stack == Stack::Tls || call.way.direct {
        // Nothing is before the services but a gateway that ends TLS.
        let port = network.inbound_tls();
        let port = port.ok_or_else(|| Failure::new("no gateway was started behind TLS"))?;
        return Ok(format!(
            "https://localhost:{port}{}{path}{query}",
            prefix(call)
        ));
    }
    let address = network.outbound();
    Ok(format!(
        "http://{address}{before}{}{path}{query}",
        prefix(call)
    ))
}

pub(super) async fn post(
    client: &Client,
    url: &str,
    asked: &Asked,
) -> Result<(Bytes, Duration), Failure> {
    let message = asked.message.clone();
    let begun = Instant::now();
    let answer = if asked.is_resource() {
        client.json(url).await?
    } else {
        let soap = (asked.soap.0, asked.soap.1.as_str());
        client.post(url, soap, message).await?
    };
    Ok((answer, begun.elapsed()))
}

/// What the tasks gave; the first failure, if there is one.
async fn joined<T: 'static>(mut tasks: JoinSet<Result<T, Failure>>) -> Result<Vec<T>, Failure> {
    let mut all = Vec::with_capacity(tasks.len());
    while let Some(ended) = tasks.join_next().await {
        all.push(ended.map_err(Failure::new)??);
    }
    Ok(all)
}

impl Bench for Gateways<'_> {
    type Failure = Failure;

    fn call(&mut self, call: &Call) -> Result<Duration, NoCall<Failure>> {
        let (_, _, took) = self.once(call, "")?;
        Ok(took)
    }

    /// That of every way, which is all the same: all arms of a point begin at once.
    fn end_conversation(&mut self, call: &Call) -> Result<(), NoCall<Failure>> {
        if call.way.mechanism == Mechanism::SecureConversation {
            self.sides.serve(self.network.end_conversations())?;
        }
        Ok(())
    }

    fn weigh(&mut self, call: &Call) -> Result<Sizes, NoCall<Failure>> {
        let before = if call.stack == Stack::Tls {
            ""
        } else {
            "/tapped"
        };
        let (asked, answer, _) = self.once(call, before)?;
        let plain = asked + answer.len();
        let [request, response] = if call.way.direct || call.stack == Stack::Tls {
            [asked, answer.len()]
        } else {
            let seen = self.network.tapped();
            [seen.request.len(), seen.response.len()]
        };
        Ok(Sizes {
            plain,
            secured: request + response,
            apart: Some([request, response]),
        })
    }

    fn together(
        &mut self,
        call: &Call,
        clients: u32,
        requests: u32,
    ) -> Result<Vec<Duration>, NoCall<Failure>> {
        let asked = Arc::new(Asked::of(call.operation, self.own));
        let url = url(self.network, call, &asked, "", self.own)?;
        while self.clients.len() < clients as usize {
            let client = self.clients[0].another();
            self.clients.push(client);
        }
        let callers = self.clients[..clients as usize].to_vec();
        let each = {
            let (asked, url) = (Arc::clone(&asked), url);
            async move {
                let mut tasks = JoinSet::new();
                for client in callers {
                    let (asked, url) = (Arc::clone(&asked), url.clone());
                    tasks.spawn(async move {
                        let mut answers = Answers::with_capacity(requests as usize);
                        for _ in 0..requests {
                            answers.push(post(&client, &url, &asked).await?);
                        }
                        Ok(answers)
                    });
                }
                joined(tasks).await
            }
        };
        let answers = self.sides.call(&self.wish, each)?.concat();
        if clients >= MANY_CLIENTS {
            self.network.close_idle()?;
        }
        self.check(&asked, call, &answers)?;
        Ok(answers.into_iter().map(|(_, took)| took).collect())
    }

    fn paced(
        &mut self,
        call: &Call,
        per_second: f64,
        lasting: Duration,
    ) -> Result<Vec<Duration>, NoCall<Failure>> {
        let asked = Arc::new(Asked::of(call.operation, self.own));
        let url = url(self.network, call, &asked, "", self.own)?;
        let client = self.clients[0].clone();
        let calls = (per_second * lasting.as_secs_f64()).ceil().max(1.0) as u32;
        let all = {
            let asked = Arc::clone(&asked);
            async move {
                let mut tasks = JoinSet::new();
                let began = tokio::time::Instant::now();
                for number in 0..calls {
                    let begins = began + Duration::from_secs_f64(f64::from(number) / per_second);
                    tokio::time::sleep_until(begins).await;
                    let (client, url) = (client.clone(), url.clone());
                    let asked = Arc::clone(&asked);
                    tasks.spawn(async move {
                        let (answer, _) = post(&client, &url, &asked).await?;
                        // Whatever kept the call from beginning in time is part of what its client
                        // waits.
                        Ok((answer, begins.elapsed()))
                    });
                }
                joined(tasks).await
            }
        };
        let answers = self.sides.call(&self.wish, all)?;
        self.check(&asked, call, &answers)?;
        Ok(answers.into_iter().map(|(_, took)| took).collect())
    }

    fn fresh(&mut self, call: &Call, calls: u32) -> Result<Vec<Duration>, NoCall<Failure>> {
        let asked = Asked::of(call.operation, self.own);
        let layout = layout("fresh", &[*call], &self.databases, self.own);
        let network = Network::start(self.scratch, &layout, Place::Here);
        let network = self.sides.begin(&self.wish, network)?;
        let url = url(&network, call, &asked, "", self.own)?;
        let client = self.clients[0].another();
        let all = async {
            let mut answers = Answers::new();
            for _ in 0..calls {
                answers.push(post(&client, &url, &asked).await?);
            }
            Ok(answers)
        };
        let answers = self.sides.call(&self.wish, all);
        drop(client);
        self.sides.serve(network.shutdown());
        let answers = answers?;
        self.check(&asked, call, &answers)?;
        Ok(answers.into_iter().map(|(_, took)| took).collect())
    }

    fn newcomer(&mut self, call: &Call) -> Result<Duration, NoCall<Failure>> {
        let asked = Asked::of(call.operation, self.own);
        let layout = layout("newcomer", &[*call], &[], self.own);
        let client = self.clients[0].another();
        // Other ways than ours through gateways have nothing but the client that could be new.
        let gateway = if call.stack == Stack::Soapstone && !call.way.direct {
            let newcomer = self.network.newcomer(self.scratch, &layout);
            Some(self.sides.begin(&self.wish, newcomer)?)
        } else {
            None
        };
        let url = match &gateway {
            Some(running) => {
                let (path, query) = (asked.path, &asked.query);
                format!("http://{}{}{path}{query}", running.address(), prefix(call))
            }
            None => url(self.network, call, &asked, "", self.own)?,
        };
        let answer = self.sides.call(&self.wish, post(&client, &url, &asked));
        drop(client);
        if let Some(running) = gateway {
            self.sides.serve(running.shutdown());
        }
        let answers = vec![answer?];
        self.check(&asked, call, &answers)?;
        Ok(answers[0].1)
    }

    fn under(
        &mut self,
        call: &Call,
        condition: &Condition,
        clients: u32,
        requests: u32,
        rounds: u32,
    ) -> Result<Vec<Round>, NoCall<Failure>> {
        if call.stack != Stack::Soapstone || call.way.direct {
            let why = "only the gateway before the services is put under a condition";
            return Err(NoCall::LeftOut(why.to_owned()));
        }
        let asked = Arc::new(Asked::of(call.operation, self.own));
        let layout = layout("apart", &[*call], &[], self.own);
        let services = self.network.services(&instance_name(call.operation));
        let services =
            services.ok_or_else(|| Failure::new("the sample services were not started"))?;
        let log = self.said.file();
        let start =
            async { Ok(Apart::start(self.scratch, &layout, *condition, services, log).await) };
        let mut apart = self.sides.begin(&self.wish, start)??;
        let (path, query) = (asked.path, &asked.query);
        let mut calls = Calls {
            clients: (0..clients).map(|_| self.clients[0].another()).collect(),
            requests: 1,
            url: format!("http://{}{}{path}{query}", apart.address(), prefix(call)),
            asked: Arc::clone(&asked),
        };
        let mut measured = Vec::new();
        for number in 0..=rounds {
            let round = async { Ok(under::round(&mut apart, condition, &calls).await) };
            let (round, answers) = self.sides.call(&self.wish, round)??;
            self.check(&asked, call, &answers)?;
            // The first, of one call of each client, is for connections and whatever else begins.
            if number > 0 {
                measured.push(round);
            }
            calls.requests = requests;
        }
        drop(calls);
        self.sides.serve(apart.shutdown());
        Ok(measured)
    }
}
