//! The warm-up: a request of the operator's goes through all steps of a route before `/readyz` says
//! that the gateway is ready.
//!
//! ```text
//! file ─▶ [client: secure ─▶ inbound: open] ─▶ [outbound: secure] ─▶ backend
//!         [client: open ◀─ inbound: secure] ◀─ [outbound: open] ◀─ backend
//! ```
//!
//! First calls take longer than later ones: connections, conversations, caches and memory are made
//! in them. Novakouski et al. (CMU/SEI-2010-TR-023, section 4.1.2) recommend that a dummy
//! application calls a newly deployed service at once.
//!
//! The rule kept here: a warm-up is no client. It leaves no mark in a store of requests, and counts
//! in no number of requests, steps and refusals. What it comes to is known to the log alone, and it
//! delays readiness for a bounded time.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use soapstone::endpoint::{Arrived, Call, Client, Memory, OpenedMessage};
use soapstone::replay::ForgetfulReplayCache;
use soapstone::wss::{Outgoing, Receipt};
use tokio::time::Instant;

use super::cold::Cold;
use super::state::State;
use crate::config::warm_up::WarmUp;
use crate::conversation::handshake::Failed;
use crate::exchange::steps::{
    EndpointError, With, kerberos_session, open, secure_answer, secure_request,
};
use crate::observe::log::Beginning;
use crate::observe::metrics::RouteMetrics;
use crate::observe::traces::Observed;
use crate::route::Route;
use crate::route::serving::Serving;
use crate::route::upstream::{Said, Upstream};
use crate::scheduling::class::WorkClass;
use crate::scheduling::endpoint::{InboundEndpoint, RouteStores};
use crate::scheduling::executor::Executor;
use crate::scheduling::session::SessionInUse;
use crate::scheduling::task::{Desk, Task};
use crate::scheduling::workers::NotDone;
use crate::wire::errand::{Undone, demand_soap};

/// Begins the warm-ups of all routes, each in its own time.
pub(super) fn begin(state: &State) {
    let serving = state.current.serving();
    for route in serving.routes.iter() {
        let Some(warm_up) = &route.warm_up else {
            continue;
        };
        let warming = Warming {
            executor: Arc::clone(&state.resources.executor),
            cold: Arc::clone(&state.cold),
            serving: Arc::clone(&serving),
            warm_up: Arc::clone(warm_up),
            path: route.path().to_owned(),
        };
        state.routes.background.spawn(warming.run());
    }
}

/// How long a backend that cannot be reached is left alone: it may start beside the gateway.
const PAUSE: Duration = Duration::from_millis(500);

/// Why a warm-up did not come to its end.
enum Failure {
    /// There is no connection to the backend, and nothing was sent.
    Unreachable(String),
    /// Another cause.
    Other(String),
}

impl Failure {
    fn of(why: impl fmt::Display) -> Self {
        Self::Other(why.to_string())
    }
}

impl From<Undone> for Failure {
    fn from(undone: Undone) -> Self {
        match &undone {
            Undone::Backend(error) if error.is_unreachable() => {
                Self::Unreachable(error.to_string())
            }
            _ => Self::of(undone),
        }
    }
}

impl From<Arc<Failed>> for Failure {
    fn from(failed: Arc<Failed>) -> Self {
        match &*failed {
            Failed::Backend(error) if error.is_unreachable() => {
                Self::Unreachable(failed.to_string())
            }
            _ => Self::of(failed),
        }
    }
}

impl From<EndpointError> for Failure {
    fn from(error: EndpointError) -> Self {
        match error {
            EndpointError::Refused {
                direction,
                rejected,
                ..
            } => Self::Other(format!("{} refuses: {rejected}", direction.name())),
            EndpointError::Unsecurable { direction, error } => {
                Self::Other(format!("{} cannot secure: {error}", direction.name()))
            }
            EndpointError::Package(error) => Self::Other(error.to_string()),
            EndpointError::NoRoom => Self::of("there is no room for the request"),
            EndpointError::PackageUntaken => Self::of("the request is a package"),
            EndpointError::WouldExpose => Self::of("the answer would show a key"),
            EndpointError::AfterTokens { error, .. } => Self::from(*error),
            EndpointError::Denied(denied) => Self::Other(denied.detail),
            EndpointError::OverAgreement(over) => Self::Other(over.detail),
        }
    }
}

/// The warm-up of one route.
struct Warming {
    executor: Arc<Executor>,
    cold: Arc<Cold>,
    serving: Arc<Serving>,
    warm_up: Arc<WarmUp>,
    path: String,
}

/// What a request that `inbound` opened leaves for its answer.
struct Entered {
    opened: Box<OpenedMessage>,
    /// The client's receipt.
    sent: Receipt,
}

/// Whatever ends it, the gateway does not wait for it any longer.
impl Drop for Warming {
    fn drop(&mut self) {
        self.cold.warm(&self.path);
    }
}

impl Warming {
    async fn run(self) {
        let begun = Instant::now();
        let within = self.warm_up.within;
        let mut unreachable = None;
        let calls = self.calls(&mut unreachable);
        let ended = tokio::time::timeout(within, calls).await;
        let ended = ended.unwrap_or_else(|_| {
            let last = unreachable.map(|why| format!(": {why}"));
            let last = last.unwrap_or_default();
            Err(format!("it was not over within {within:?}{last}"))
        });
        let path = &self.path;
        match ended {
            Ok(()) => {
                let times = self.warm_up.times;
                tracing::info!(path, times, took = ?begun.elapsed(), "the route is warm");
            }
            Err(why) => tracing::warn!(
                path,
                detail = Beginning(&why).to_string(),
                "the warm-up failed; the route is served without it"
            ),
        }
    }

    /// All of its requests. Why the backend cannot be reached yet is left in `unreachable`.
    async fn calls(&self, unreachable: &mut Option<String>) -> Result<(), String> {
        let mut routes = self.serving.routes.iter();
        let Some(route) = routes.find(|route| route.path() == self.path) else {
            return Ok(());
        };
        let mut left = self.warm_up.times;
        while left > 0 {
            match self.call(route).await {
                Ok(()) => left -= 1,
                Err(Failure::Other(why)) => return Err(why),
                Err(Failure::Unreachable(why)) => {
                    *unreachable = Some(why);
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
        Ok(())
    }

    /// One request and its answer.
    async fn call(&self, route: &Route) -> Result<(), Failure> {
        let mut octets = self.warm_up.request.clone();
        let mut entered = None;
        match (&route.inbound, &self.warm_up.client) {
            (Some(side), Some(client)) => {
                let mut found = self.enter(side, client, octets).await?;
                octets = std::mem::take(&mut found.opened.bytes);
                entered = Some(found);
            }
            (Some(side), None) => {
                // Without a client nobody has sent it: what `inbound` protects is not reached.
                self.exercise(side, octets.clone()).await?;
                if route.outbound().is_none() {
                    return Ok(());
                }
            }
            (None, _) => {}
        }
        let answer = self.ask_backends(route, octets).await?;
        if let (Some(octets), Some(side), Some(client), Some(entered)) =
            (answer, &route.inbound, &self.warm_up.client, entered)
        {
            self.leave(side, client, entered, octets).await?;
        }
        Ok(())
    }

    /// Secures the request as the client does, and opens it.
    async fn enter(
        &self,
        side: &Arc<InboundEndpoint>,
        client: &Arc<Client>,
        octets: Vec<u8>,
    ) -> Result<Entered, Failure> {
        let (side, client) = (Arc::clone(side), Arc::clone(client));
        let action = Some(self.warm_up.action.clone()).filter(|action| !action.is_empty());
        let public = self.serving.public_url.as_deref().unwrap_or_default();
        let to = format!("{public}{}", self.path);
        let stores = Arc::clone(&side.stores);
        self.work(Some(&stores), move |desk| async move {
            let unsecurable = |error| Failure::Other(format!("client cannot secure: {error}"));
            // No worker waits for the KDC.
            let kerberos = client.kerberos_session(desk.workspace(), Timestamp::now());
            let kerberos = kerberos.await.map_err(unsecurable)?;
            let buffers = &mut desk.workspace().buffers();
            let action = action.as_deref();
            let labelled = client.label_request(octets, action, Some(&to), buffers);
            let outgoing = Outgoing {
                action,
                kerberos: kerberos.as_ref(),
                ..Outgoing::default()
            };
            let labelled = labelled.map_err(Failure::of)?;
            let mut call = Call::new(Timestamp::now(), buffers);
            let secured = client
                .secure_with(labelled, outgoing, &mut call)
                .map_err(unsecurable)?;
            let refused = |rejected| Failure::Other(format!("inbound refuses: {rejected}"));
            let said = action.filter(|_| side.endpoint.asks_for_actions());
            let request = side
                .endpoint
                .read(secured.bytes, &mut call)
                .map_err(refused)?
                .about(said.map(str::to_owned).into_iter().collect())
                .over_tls();
            let memory = Memory::without_conversations(&ForgetfulReplayCache);
            match side.endpoint.receive_with(request, memory, &mut call) {
                Ok(Arrived::Message(opened)) => Ok(Entered {
                    opened,
                    sent: secured.receipt,
                }),
                Ok(Arrived::Answered(_)) => Err(Failure::of("the request asks for a token")),
                Err(error) => Err(EndpointError::of(error).into()),
            }
        })
        .await
    }

    /// Secures an answer to the client, and opens it as the client does.
    async fn leave(
        &self,
        side: &Arc<InboundEndpoint>,
        client: &Arc<Client>,
        entered: Entered,
        octets: Vec<u8>,
    ) -> Result<(), Failure> {
        let (side, client) = (Arc::clone(side), Arc::clone(client));
        let observed = unobserved();
        self.work(None, move |desk| async move {
            let buffers = &mut desk.workspace().buffers();
            let receipt = &entered.opened.receipt;
            let addressing = entered.opened.addressing.as_deref();
            let secured = secure_answer(&side, octets, receipt, addressing, &observed, buffers)?;
            let memory = Memory::without_conversations(&ForgetfulReplayCache);
            let mut call = Call::new(Timestamp::now(), buffers);
            let opened = client.open_with(secured.bytes, entered.sent, memory, &mut call);
            opened.map_err(|rejected| Failure::Other(format!("client refuses: {rejected}")))?;
            Ok(())
        })
        .await
    }

    /// Secures the request as if it were an answer, and reads what that comes to. Nobody gets it.
    async fn exercise(&self, side: &Arc<InboundEndpoint>, octets: Vec<u8>) -> Result<(), Failure> {
        let side = Arc::clone(side);
        let observed = unobserved();
        self.work(None, move |desk| async move {
            let buffers = &mut desk.workspace().buffers();
            let nothing = Receipt::default();
            let secured = secure_answer(&side, octets, &nothing, None, &observed, buffers)?;
            let mut call = Call::new(Timestamp::now(), buffers);
            let read = side.endpoint.read(secured.bytes, &mut call);
            read.map_err(|rejected| Failure::Other(format!("inbound cannot read: {rejected}")))?;
            Ok(())
        })
        .await
    }

    /// Sends the request to each backend. The answer is that of the first one that gives one.
    async fn ask_backends(
        &self,
        route: &Route,
        octets: Vec<u8>,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let mut answer = Err(Failure::of("the route has no backend"));
        for upstream in route.upstreams() {
            let asked = self.ask_backend(upstream, octets.clone()).await;
            if answer.is_err() {
                answer = asked;
            }
        }
        answer
    }

    /// Sends the request to a backend, secured and opened as the route has it. `None` where the
    /// answer is empty.
    async fn ask_backend(
        &self,
        upstream: &Upstream,
        mut octets: Vec<u8>,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let version = self.warm_up.version;
        let action = &self.warm_up.action;
        let (mut receipt, mut context, mut kerberos) = (Receipt::default(), None, None);
        let mut token = None;
        if let Some(side) = &upstream.endpoint {
            if let Some(clock) = &upstream.device_clock {
                clock.wait().await;
            }
            if let Some(conversation) = &upstream.conversation {
                context = Some(conversation.obtain(version).await?);
            }
            let tokens = upstream.tokens_of_requests();
            if let Some(tokens) = tokens.filter(|it| !it.are_for_users()) {
                let obtained = tokens.obtain(None).await;
                token = Some(obtained.map_err(|failed| Failure::Other(failed.to_string()))?);
            }
            let label = upstream.label(Said {
                action: Some(action.clone()).filter(|action| !action.is_empty()),
                packing: None,
            });
            let (side, observed) = (Arc::clone(side), unobserved());
            let stores = Arc::clone(&side.stores);
            let done = self.work(Some(&stores), move |desk| async move {
                let kerberos = kerberos_session(&side, &desk).await?;
                let with = With {
                    context: context.as_ref().map(|context| context.context()),
                    kerberos: kerberos.as_ref().and_then(SessionInUse::session),
                    assertion: token.as_ref().map(|token| &token.assertion.token),
                };
                let buffers = &mut desk.workspace().buffers();
                let secured = secure_request(&side, octets, &label, with, &observed, buffers)?;
                Ok((secured, context, kerberos))
            });
            let secured;
            (secured, context, kerberos) = done.await?;
            octets = secured.bytes;
            receipt = secured.receipt;
        }
        let errand = &upstream.errand;
        let request = errand.request(version, action, octets);
        let (head, mut octets) = errand.exchange(request).await?;
        // The conversation is in use until its answer is here.
        drop(context);
        if !head.status.is_success() {
            return Err(Failure::Other(format!(
                "the backend answered {}",
                head.status
            )));
        }
        if let Some(kerberos) = kerberos {
            kerberos.accepted();
        }
        if octets.is_empty() {
            return Ok(None);
        }
        demand_soap(&head)?;
        if let Some(side) = &upstream.endpoint {
            let (asked, observed) = (Arc::clone(side), unobserved());
            let opened = self.work(Some(&side.stores), move |desk| async move {
                let opened = open(&asked, octets, Box::new(receipt), &observed, &desk).await;
                opened.map_err(Failure::from)
            });
            octets = opened.await?.bytes;
        }
        Ok(Some(octets))
    }

    /// Has work done by the workers, which asks these stores.
    async fn work<T, F>(
        &self,
        stores: Option<&Arc<RouteStores>>,
        work: impl FnOnce(Desk) -> F,
    ) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Failure>> + Send + 'static,
    {
        let task = Task::new(WorkClass::Blocking, stores.map(Arc::clone), work);
        match task.perform(&self.executor, ()).await.0 {
            Ok(result) => result,
            Err(NotDone::Full) => Err(Failure::of("the crypto workers are busy")),
            Err(NotDone::Failed) => Err(Failure::of("the crypto worker panicked")),
        }
    }
}

/// Numbers that nobody is shown.
fn unobserved() -> Observed {
    Observed {
        metrics: RouteMetrics::new("", None, None),
        recording: None,
        spent: None,
        counted: None,
    }
}
