//! What studies are run on: sample services and gateways, and clients in this process that call
//! them. For the stack `tls`, a gateway without message security that ends TLS before the services.
//! What is deployed for a call or two is in this process; the others are, too, or have their own.
//!
//! The rule kept here: the body of each answer is compared with what the service gives, outside of
//! the time that is measured.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use soapstone::wss::Mechanism;
use soapstone_lab::study::{
    Bench, Call, Condition, NoCall, Operation, Proof, ProvidersRound, Round, Setup, Sizes, Stack,
    Transport, Trial,
};
use soapstone_services::DatabaseLocation;
use tokio::task::JoinSet;

use super::super::process_log::ProcessLog;
use super::asked::Asked;
use super::choosing::Choosing;
use super::own::OwnServices;
use super::routes::{instance_name, layout, prefix, url};
use super::secured_client::SecuredClient;
use super::sides::Sides;
use super::under::{self, Calls};
use super::wish::StopSignal;
use crate::failure::Failure;
use crate::testbed::{Apart, Client, Network, Place, Scratch, WarmUp, names_in_body};

/// Services and two gateways, called until somebody wants to stop.
pub(in super::super) struct Gateways<'n> {
    sides: &'n Sides,
    scratch: &'n Scratch,
    network: &'n Network,
    /// Where new clients are.
    newcomers: Place<'n>,
    databases: Vec<Option<DatabaseLocation>>,
    /// The first of them makes calls that are alone.
    clients: Vec<Client>,
    wish: StopSignal,
    process_log: ProcessLog,
    /// The user's services.
    own: &'n OwnServices,
    /// The right body of the answer to an operation: the last one of the sample services, and all
    /// of the user's.
    right: Vec<(Operation, Vec<u8>)>,
    /// Clients that secure and open messages themselves.
    secured: Vec<(Call, Rc<SecuredClient>)>,
    /// Providers, and what is in front of them.
    choosing: Option<Choosing>,
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
        wish: StopSignal,
        process_log: ProcessLog,
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
            newcomers: Place::Here,
            databases,
            clients: vec![Client::trusting(&trusted)?],
            wish,
            process_log,
            own,
            right: Vec::new(),
            secured: Vec::new(),
            choosing: None,
        })
    }

    /// The same with new clients in this place.
    pub(in super::super) fn with_newcomers(self, newcomers: Place<'n>) -> Self {
        Self { newcomers, ..self }
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
                    call.setup.arm(),
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
            setup: Setup::DIRECT,
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

    /// A client that secures the call's requests and opens its answers itself.
    fn secured_client(&mut self, call: &Call) -> Result<Rc<SecuredClient>, NoCall<Failure>> {
        let known = self.secured.iter().find(|it| it.0 == *call);
        if let Some((_, client)) = known {
            return Ok(Rc::clone(client));
        }
        let client = Rc::new(SecuredClient::of(call, self.scratch, self.own)?);
        self.secured.push((*call, Rc::clone(&client)));
        Ok(client)
    }

    /// Posts the call once.
    fn once(&mut self, call: &Call, before: &str) -> Result<(usize, Bytes, Duration), Failure> {
        let asked = Asked::of(call.operation, self.own);
        let url = url(self.network, call, &asked, before, self.own)?;
        let client = match call.setup.transport {
            Transport::HttpsAnew => self.clients[0].without_resumption(),
            _ => self.clients[0].clone(),
        };
        let answer = self.sides.call(&self.wish, post(&client, &url, &asked))?;
        let answers = vec![answer];
        self.check(&asked, call, &answers)?;
        let (answer, took) = answers.into_iter().next().unwrap_or_default();
        Ok((asked.message.len(), answer, took))
    }
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

/// Waits until the gateway for clients is ready.
async fn until_ready(client: &Client, network: &Network) -> Result<(), Failure> {
    /// How long a warm-up may last.
    const PATIENCE: Duration = Duration::from_secs(30);
    /// How often it is looked for.
    const GLANCE: Duration = Duration::from_millis(5);
    let url = format!("http://{}/readyz", network.outbound());
    let begun = Instant::now();
    loop {
        match client.json(&url).await {
            Ok(_) => return Ok(()),
            Err(failure) if begun.elapsed() > PATIENCE => return Err(failure),
            Err(_) => tokio::time::sleep(GLANCE).await,
        }
    }
}

/// Calls that have a connection each are made one after the other.
fn keeps_connections(call: &Call) -> Result<(), NoCall<Failure>> {
    match call.setup.transport {
        Transport::HttpsAnew => Err(NoCall::LeftOut(
            "calls with a connection each are measured one after the other only".to_owned(),
        )),
        Transport::Http | Transport::Https => Ok(()),
    }
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
        if call.setup.mechanism == Mechanism::SecureConversation {
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
        if call.setup.proof == Proof::KerberosOnce {
            // The first request carries the token, and those that are measured name it.
            self.once(call, before)?;
        }
        let (asked, answer, _) = self.once(call, before)?;
        let plain = asked + answer.len();
        let [request, response] = if call.setup.direct || call.stack == Stack::Tls {
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
        keeps_connections(call)?;
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
        keeps_connections(call)?;
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
        let mut layout = layout("fresh", &[*call], &self.databases, self.own);
        keeps_connections(call)?;
        // Only what is deployed anew for a call warms up for it.
        for route in layout.routes.iter_mut().filter(|_| call.setup.warmed_up) {
            route.warm_up = Some(WarmUp {
                request: asked.message.clone(),
                action: asked.soap.1.clone(),
            });
        }
        let client = self.clients[0].another();
        let begun = async {
            let network = Network::start(self.scratch, &layout, Place::Here).await?;
            if call.setup.warmed_up {
                // Another client than the one whose first call is measured.
                until_ready(&client.another(), &network).await?;
            }
            Ok(network)
        };
        let network = self.sides.begin(&self.wish, begun)?;
        let url = url(&network, call, &asked, "", self.own)?;
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
        let gateway = if call.stack == Stack::Soapstone && !call.setup.direct {
            let newcomer = self.network.newcomer(self.scratch, &layout, self.newcomers);
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

    fn by_the_client(&mut self, call: &Call) -> Result<[Duration; 2], NoCall<Failure>> {
        let asked = Asked::of(call.operation, self.own);
        let client = self.secured_client(call)?;
        let url = client.url(self.network, call, &asked, self.own)?;
        let post = client.post(&self.clients[0], &url, &asked);
        let (answer, spans) = self.sides.call(&self.wish, post)?;
        let answers = vec![(answer, spans[1])];
        self.check(&asked, call, &answers)?;
        Ok(spans)
    }

    fn providers(
        &mut self,
        _call: &Call,
        front: &str,
        trial: Trial,
        clients: u32,
        requests: u32,
    ) -> Result<ProvidersRound, NoCall<Failure>> {
        let (sides, wish, scratch) = (self.sides, &self.wish, self.scratch);
        let mut choosing = match self.choosing.take() {
            Some(choosing) if choosing.trial() == trial => choosing,
            former => {
                drop(former);
                let started = async { Ok(Choosing::start(scratch, trial).await) };
                sides.begin(wish, started)??
            }
        };
        let ready = async { Ok(choosing.ready(scratch, front).await) };
        let ready = sides.begin(wish, ready)?;
        let round = match ready {
            Ok(()) => {
                let round = choosing.tried(front, clients, requests);
                sides.call(wish, round).map_err(NoCall::Failed)
            }
            Err(why) => Err(why),
        };
        self.choosing = Some(choosing);
        round
    }

    fn under(
        &mut self,
        call: &Call,
        condition: &Condition,
        clients: u32,
        requests: u32,
        rounds: u32,
    ) -> Result<Vec<Round>, NoCall<Failure>> {
        if call.stack != Stack::Soapstone || call.setup.direct {
            let why = "only the gateway before the services is put under a condition";
            return Err(NoCall::LeftOut(why.to_owned()));
        }
        let asked = Arc::new(Asked::of(call.operation, self.own));
        let layout = layout("apart", &[*call], &[], self.own);
        let services = self.network.services(&instance_name(call.operation));
        let services =
            services.ok_or_else(|| Failure::new("the sample services were not started"))?;
        let log = self.process_log.file();
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
