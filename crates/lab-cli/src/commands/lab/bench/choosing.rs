//! Providers of one service, and what is in front of them: a broker, nginx, HAProxy, or nothing.
//!
//! The rule kept here: all fronts of a trial are in front of the same processes, and get the same
//! secured messages.

mod mixed;
mod watch;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use soapstone_lab::study::{NoCall, ProvidersRound, Trial};
use soapstone_services::{SoapVersion, requests, responses};
use tokio::task::JoinSet;

use self::mixed::Mixed;
use self::watch::{PATIENCE, back_in_use, out_of_use};
use super::recorded::Recorded;
use crate::brokered::cast::{LIAR, PROVIDERS, SLOWED};
use crate::failure::Failure;
use crate::suites::Keys;
use crate::testbed::architecture::{
    Architecture, Front, IN_CONVERSATIONS, Offer, Provider, SERVICE, Security,
};
use crate::testbed::round_robin::{Balancer, RoundRobin};
use crate::testbed::{Client, Limit, Limited, Scratch};

/// What providers of one policy demand of calls.
const SECURITY: Security = Security {
    mechanism: "sign-encrypt",
    suite: "Basic128GCM",
};

/// The files of the key that these providers have, and a broker that opens calls for them.
const KEY: &str = "service";

/// Bits of the RSA key in these files.
const BITS: u32 = 2048;

/// The files of a key that takes longer.
const LONG_KEY: &str = "service-long";

/// The mechanism of a broker that has conversations with providers.
const CONVERSATION: &str = "secure-conversation";

/// What is slowed, or killed, or breaks agreements.
const VICTIM: usize = 0;

/// Characters of the text that is echoed.
const CHARACTERS: usize = 1_000;

/// How late answers of one of the mixed providers are, ms: no call that goes there is in time. For
/// each client there is another provider.
const TOO_LATE: u64 = 1_000;

/// For how long a provider gets no calls after a failure, in each front: shorter than a round.
const EJECTED: &str = "1s";

/// Providers, and what runs in front of them.
pub(super) struct Choosing {
    trial: Trial,
    clients: Vec<Client>,
    /// By their names in the study.
    fronts: BTreeMap<String, Running>,
    mixed: Option<Mixed>,
    /// Violations, where there is an agreement.
    recorded: Option<Recorded>,
    architecture: Architecture,
}

/// Something that clients call, and the gateway that secures their calls, where it is another.
struct Running {
    url: String,
    /// Asked before each call, where a call begins with a question.
    asks: Option<String>,
    /// The broker, where there is one.
    broker: Option<Front>,
    _secures: Option<Front>,
    _round_robin: Option<RoundRobin>,
}

impl Choosing {
    /// Starts the providers of a trial.
    pub(super) async fn start(scratch: &Scratch, trial: Trial) -> Result<Self, NoCall<Failure>> {
        let mut offers: Vec<Offer> = match trial {
            Trial::Needs => PROVIDERS[..LIAR].iter().map(|it| it.offer).collect(),
            _ => ["provider-1", "provider-2", "provider-3"].map(offer).into(),
        };
        if let Trial::Slowed { percent, bits } = trial {
            Limited::new(Limit::Processor(percent)).map_err(NoCall::LeftOut)?;
            offers[VICTIM].processor = Some(percent);
            for offer in &mut offers {
                offer.key = key(trial);
            }
            scratch.issue_as(key(trial), Keys::of(SECURITY.suite, bits).signing)?;
        }
        for offer in &mut offers {
            offer.converses = trial == Trial::Well;
        }
        if matches!(trial, Trial::Lying { .. }) {
            offers[VICTIM].is_called_by_a_way = true;
        }
        if let Trial::Factors { secured: false, .. } = trial {
            for offer in &mut offers {
                offer.security.mechanism = "none";
            }
        }
        let broker_rsa = Security::kind(SECURITY.suite);
        scratch.issue_as("broker-rsa", broker_rsa)?;
        let architecture = Architecture::start(scratch, &offers).await?;
        let mixed = match trial {
            Trial::Needs => Some(Mixed::start(scratch, &architecture).await?),
            _ => None,
        };
        let recorded = match trial {
            Trial::Agreement => Some(Recorded::agreed(scratch)?),
            _ => None,
        };
        let victim = &architecture.providers[VICTIM];
        match (trial, &victim.unseen) {
            (Trial::Late { milliseconds } | Trial::Factors { milliseconds, .. }, _) => {
                victim.way.delay(milliseconds.into());
            }
            (Trial::Lying { milliseconds }, Some(unseen)) => unseen.delay(milliseconds.into()),
            (Trial::Needs, _) => architecture.providers[SLOWED].way.delay(TOO_LATE),
            _ => {}
        }
        Ok(Self {
            trial,
            clients: Vec::new(),
            fronts: BTreeMap::new(),
            mixed,
            recorded,
            architecture,
        })
    }

    /// What happens to its providers.
    pub(super) fn trial(&self) -> Trial {
        self.trial
    }

    /// Starts what has this name in the study, where it does not run yet.
    pub(super) async fn ready(
        &mut self,
        scratch: &Scratch,
        name: &str,
    ) -> Result<(), NoCall<Failure>> {
        if self.mixed.is_some() || self.fronts.contains_key(name) {
            return Ok(());
        }
        let providers = self.architecture.providers.iter();
        let addresses: Vec<SocketAddr> = providers.map(|it| it.address).collect();
        // One that nothing happens to.
        let direct = addresses[VICTIM + 1];
        let round_robin = match name {
            "nginx" => Some(Balancer::Nginx),
            "haproxy" => Some(Balancer::Haproxy),
            _ => None,
        };
        let round_robin = round_robin.map(|it| RoundRobin::start(it, scratch.folder(), &addresses));
        let round_robin = round_robin.transpose().map_err(NoCall::LeftOut)?;
        let routes = match name {
            "gateway" => Some(route(
                &format!("backend = \"http://{direct}{}\"\n", SERVICE.path()),
                "",
            )),
            "broker" => Some(self.found("performance", "")),
            "client-broker" => Some(self.found("performance", &self.outbound())),
            "bridge" => {
                let sides = self.inbound() + &self.outbound();
                let agreements = self.recorded.as_ref().map_or("", |it| it.table());
                Some(agreements.to_owned() + &self.found("performance", &sides))
            }
            "bridge-conversation" => {
                let converses = self.outbound().replace(SECURITY.mechanism, CONVERSATION);
                let sides = self.inbound() + &converses;
                Some(self.found_as(IN_CONVERSATIONS.0, "performance", &sides))
            }
            "random" | "performance" => Some(match self.trial {
                Trial::Factors { secured: false, .. } => self.found(name, ""),
                _ => self.found(name, &self.outbound()),
            }),
            _ => None,
        };
        let broker = routes.map(|routes| self.architecture.front(scratch, name, &routes));
        let broker = broker.transpose()?;
        if let Some(broker) = broker.as_ref().filter(|_| name != "gateway") {
            broker.knows(&Client::new(), self.chosen().len()).await?;
        }
        let target = match (&round_robin, &broker) {
            (Some(it), _) => it.address(),
            (_, Some(it)) => it.address(),
            _ => direct,
        };
        let secures = match name {
            "client-broker" | "random" | "performance" => None,
            _ => {
                let backend = format!("backend = \"http://{target}{}\"\n", SERVICE.path());
                let routes = route(&backend, &self.outbound());
                let name = format!("client-of-{name}");
                Some(self.architecture.front(scratch, &name, &routes)?)
            }
        };
        let called = secures.as_ref().map_or(target, Front::address);
        let inquiry = self.architecture.inquiry();
        let running = Running {
            url: format!("http://{called}{}", SERVICE.path()),
            asks: (name == "look-up")
                .then(|| format!("http://{inquiry}/providers?service={}", SERVICE.operation())),
            broker,
            _secures: secures,
            _round_robin: round_robin,
        };
        self.fronts.insert(name.to_owned(), running);
        // Connections, and times that a choice is made by.
        self.round(name, 2, 10).await?;
        Ok(())
    }

    /// The providers that something chooses among: an agreement is with one alone.
    fn chosen(&self) -> &[Provider] {
        let all = &self.architecture.providers;
        match self.trial {
            Trial::Agreement => &all[..=VICTIM],
            _ => all,
        }
    }

    /// A route whose backends are the providers that the registry knows.
    fn found(&self, selection: &str, sides: &str) -> String {
        self.found_as(SERVICE.operation(), selection, sides)
    }

    /// The same of a service of that name.
    fn found_as(&self, service: &str, selection: &str, sides: &str) -> String {
        let owners = self.chosen().iter();
        let owners: Vec<String> = owners
            .map(|it| format!("\"CN={}\"", it.offer.name))
            .collect();
        // Passed on, the operation is cipher text: nobody knows whether it may be done twice.
        let idempotent = match sides.is_empty() {
            true => String::new(),
            false => format!("idempotent = [\"{}\"], ", SERVICE.operation()),
        };
        let backends = format!(
            "backends = {{ service = \"{service}\", owners = [{}] }}\n\
             balance = {{ selection = \"{selection}\", {idempotent}\
             ejection = {{ time = \"{EJECTED}\", longest = \"{EJECTED}\" }} }}\n",
            owners.join(", ")
        );
        self.architecture.registry_table("broker") + &route(&backends, sides)
    }

    /// The endpoint of a gateway that calls: as the client.
    fn outbound(&self) -> String {
        side("outbound", "client", key(self.trial))
    }

    /// The endpoint of a broker that opens calls of the client.
    fn inbound(&self) -> String {
        side("inbound", key(self.trial), "client")
    }

    /// A round of calls to what has this name, while it happens what the trial is.
    pub(super) async fn tried(
        &mut self,
        name: &str,
        clients: u32,
        requests: u32,
    ) -> Result<ProvidersRound, Failure> {
        if requests == 0 {
            return Ok(ProvidersRound::default());
        }
        if let Some(mixed) = &mut self.mixed {
            return mixed.round(clients, requests).await;
        }
        if self.trial == Trial::Agreement {
            return self.agreed(name, requests).await;
        }
        let round = self.round(name, clients, requests).await?;
        if self.trial == Trial::Killed {
            self.architecture.providers[VICTIM].run()?;
            // What has no broker looks again after so long.
            tokio::time::sleep(Duration::from_millis(1_500)).await;
            let url = self.architecture.providers[VICTIM].url();
            let front = self.fronts.get(name);
            if let Some(broker) = front.and_then(|it| it.broker.as_ref()) {
                back_in_use(broker, &url).await?;
            }
        }
        Ok(round)
    }

    /// So many windows of calls under an agreement, of which every other one is late, and what was
    /// recorded of them.
    async fn agreed(&mut self, name: &str, windows: u32) -> Result<ProvidersRound, Failure> {
        let mut all = ProvidersRound::default();
        let (mut made, mut unrecorded) = (0, 0);
        let watcher = Client::new();
        self.begin_window(name, &watcher).await?;
        for number in 0..windows {
            let is_late = number.is_multiple_of(2);
            let delay = if is_late { Recorded::LATE } else { 0 };
            self.architecture.providers[VICTIM].way.delay(delay);
            let window = self.round(name, Trial::WINDOW, 1).await?;
            if window.lost > 0 {
                return Err(Failure::new(
                    "a call under the agreement was lost: nobody knows where its windows end",
                ));
            }
            all.times.extend(window.times);
            let front = self.fronts.get(name).and_then(|it| it.broker.as_ref());
            if let (Some(recorded), Some(front)) = (&mut self.recorded, front) {
                let told = async || front.agreements(&watcher).await;
                made += u32::from(is_late);
                unrecorded += recorded.after_window(u32::from(is_late), told).await?;
                all.violations = Some(made);
                all.unrecorded = Some(unrecorded);
            }
        }
        self.architecture.providers[VICTIM].way.delay(0);
        Ok(all)
    }

    /// Calls until a window of the agreement begins. A call that warms up may be lost, and then no
    /// window begins with the first call that is measured.
    async fn begin_window(&mut self, name: &str, watcher: &Client) -> Result<(), Failure> {
        for _ in 0..4 * Trial::WINDOW {
            // A call is counted after its answer.
            tokio::time::sleep(Duration::from_millis(50)).await;
            let front = self.fronts.get(name).and_then(|it| it.broker.as_ref());
            let (Some(recorded), Some(front)) = (&mut self.recorded, front) else {
                return Ok(());
            };
            if recorded.begins(&front.agreements(watcher).await?)? {
                return Ok(());
            }
            self.round(name, 1, 1).await?;
        }
        Err(Failure::new("no window of the agreement begins"))
    }

    async fn round(
        &mut self,
        name: &str,
        clients: u32,
        requests: u32,
    ) -> Result<ProvidersRound, Failure> {
        while self.clients.len() < clients as usize {
            self.clients.push(Client::new());
        }
        let front = self
            .fronts
            .get(name)
            .ok_or_else(|| Failure::new(format_args!("{name} was not started")))?;
        let text = responses::text_of_length(CHARACTERS);
        let message = Bytes::from(requests::echo(SoapVersion::Soap11, &text));
        let right = Arc::<str>::from(format!(">{text}<"));
        let made = Arc::<AtomicU32>::default();
        let mut tasks = JoinSet::new();
        for client in self.clients.iter().take(clients as usize) {
            let (client, message, made) = (client.clone(), message.clone(), Arc::clone(&made));
            let (url, asks, right) = (front.url.clone(), front.asks.clone(), Arc::clone(&right));
            tasks.spawn(async move {
                let mut times = Vec::with_capacity(requests as usize);
                for _ in 0..requests {
                    let begun = Instant::now();
                    let soap = (SoapVersion::Soap11, SERVICE.soap_action());
                    let answer = async {
                        if let Some(asks) = &asks {
                            client.json(asks).await?;
                        }
                        client.post(&url, soap, message.clone()).await
                    };
                    let answer = answer.await;
                    made.fetch_add(1, Ordering::Relaxed);
                    let Ok(answer) = answer else { continue };
                    times.push(begun.elapsed());
                    if !String::from_utf8_lossy(&answer).contains(&*right) {
                        return Err(Failure::new(format_args!(
                            "an answer at {url} is not what was asked"
                        )));
                    }
                }
                Ok(times)
            });
        }
        let victim = &mut self.architecture.providers[VICTIM];
        let is_killed = self.trial == Trial::Killed && clients * requests > WARM_UP;
        let broker = front.broker.as_ref();
        let dies = async {
            if !is_killed {
                return Ok(None);
            }
            while made.load(Ordering::Relaxed) < clients * requests / 3 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let url = victim.url();
            victim.kill();
            let Some(broker) = broker else {
                return Ok::<_, Failure>(None);
            };
            let watcher = Client::new();
            let ended = out_of_use(async || broker.backends(&watcher).await, &url, PATIENCE);
            Ok(Some(ended.await?))
        };
        let answers = async {
            let mut times = Vec::new();
            while let Some(ended) = tasks.join_next().await {
                times.extend(ended.map_err(Failure::new)??);
            }
            Ok::<_, Failure>(times)
        };
        let (times, ended) = tokio::join!(answers, dies);
        let times = times?;
        Ok(ProvidersRound {
            lost: clients * requests - u32::try_from(times.len()).unwrap_or(u32::MAX),
            times,
            ended: ended?,
            ..ProvidersRound::default()
        })
    }
}

/// Calls of a round that only warms up.
const WARM_UP: u32 = 20;

const fn offer(name: &'static str) -> Offer {
    Offer {
        name,
        key: KEY,
        security: SECURITY,
        lies: None,
        converses: false,
        is_called_by_a_way: false,
        processor: None,
    }
}

fn route(backends: &str, sides: &str) -> String {
    format!(
        "[[routes]]\npath = \"{}\"\n{backends}{sides}",
        SERVICE.path()
    )
}

/// The files of the key that the providers of a trial have.
fn key(trial: Trial) -> &'static str {
    match trial {
        Trial::Slowed { bits, .. } if bits != BITS => LONG_KEY,
        _ => KEY,
    }
}

fn side(table: &str, own: &str, peer: &str) -> String {
    let mut text = format!("[routes.{table}]\n");
    // Writing to a String does not fail.
    let _ = write!(
        text,
        "identity = {{ key = \"{own}.key.pem\", certificate = \"{own}.cert.pem\" }}\n\
         peer = {{ certificate = \"{peer}.cert.pem\" }}\n\
         trust = {{ anchors = [\"ca.cert.pem\"], subjects = [\"CN={peer}\"] }}\nsecurity = {}\n",
        SECURITY.written()
    );
    text
}
