//! Clients with different needs, and the broker that chooses among all providers for them.
//!
//! The rule kept here: a call below its client's needs is counted by the audit trail, and not by
//! what the broker says.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use soapstone_lab::study::ProvidersRound;
use tokio::task::JoinSet;

use crate::brokered::Caller;
use crate::brokered::cast::{AUDIT, CLIENTS, LIAR, PROVIDERS, broker_file};
use crate::failure::Failure;
use crate::testbed::architecture::{Architecture, Front, Provider, SERVICE};
use crate::testbed::{Client, Scratch, Trail};

/// The time that calls of mixed clients need, ms.
const NEEDED: u32 = 400;

/// Clients with different needs, and the audit trail of their broker.
pub(super) struct Mixed {
    callers: Vec<Arc<Caller>>,
    trail: Trail,
    /// The names of the providers at the broker.
    backends: Vec<String>,
    _broker: Front,
}

impl Mixed {
    /// Starts the broker, and makes its clients.
    pub(super) async fn start(
        scratch: &Scratch,
        architecture: &Architecture,
    ) -> Result<Self, Failure> {
        let text = broker_file(architecture, &PROVIDERS[..LIAR], Some(NEEDED));
        let broker = architecture.front(scratch, "mixed-broker", &text)?;
        broker.knows(&Client::new(), LIAR).await?;
        let url = format!("http://{}{}", broker.address(), SERVICE.path());
        let callers = CLIENTS.iter();
        let callers = callers.map(|customer| Caller::new(scratch, customer, &url));
        let providers = architecture.providers.iter();
        Ok(Self {
            callers: callers.collect::<Result<_, _>>()?,
            trail: Trail::new(scratch.folder().join(AUDIT)),
            backends: providers.map(Provider::backend).collect(),
            _broker: broker,
        })
    }

    /// A round of calls by so many clients, which have the needs of each class in turn.
    pub(super) async fn round(
        &mut self,
        clients: u32,
        requests: u32,
    ) -> Result<ProvidersRound, Failure> {
        let mut tasks = JoinSet::new();
        let classes = CLIENTS.iter().map(|client| client.name);
        let callers = self.callers.iter().zip(classes).cycle();
        for (number, (caller, class)) in (0..clients).zip(callers) {
            let caller = Arc::clone(caller);
            tasks.spawn(async move {
                let mut times = Vec::new();
                for call in 0..requests {
                    let words = format!("call {call} of client {number}");
                    times.extend(caller.call(&words).await.ok());
                }
                (class, times)
            });
        }
        let mut classes: BTreeMap<&'static str, Vec<Duration>> = BTreeMap::new();
        while let Some(ended) = tasks.join_next().await {
            let (class, times) = ended.map_err(Failure::new)?;
            classes.entry(class).or_default().extend(times);
        }
        let times: Vec<Duration> = classes.values().flatten().copied().collect();
        let all = clients * requests;
        let lines = self.trail.next(all as usize).await?;
        let below = lines.iter().filter(|line| self.is_below_needs(line));
        let below = u32::try_from(below.count()).unwrap_or(u32::MAX);
        let needed = Duration::from_millis(NEEDED.into());
        let met = times.iter().filter(|time| **time <= needed).count();
        Ok(ProvidersRound {
            lost: all - u32::try_from(times.len()).unwrap_or(u32::MAX),
            times,
            below: Some(below),
            met: Some(met as f64 / f64::from(all) * 100.0),
            classes,
            ..ProvidersRound::default()
        })
    }

    /// Whether a line of the trail tells of a call that a provider answered whose policy does not
    /// cover the needs of the client.
    fn is_below_needs(&self, line: &Value) -> bool {
        let text = |field: &str| line[field].as_str().unwrap_or_default();
        let sender = text("sender").trim_start_matches("CN=");
        let client = CLIENTS.iter().find(|it| it.name == sender);
        let named = text("backend");
        let provider = self.backends.iter().position(|name| name == named);
        let fits = client
            .zip(provider)
            .is_some_and(|(client, provider)| client.is_served_by(&PROVIDERS[provider]));
        line["verdict"] == "accepted" && !fits
    }
}
