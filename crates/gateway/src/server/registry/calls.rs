//! Tells the registry of calls.
//!
//! The rule kept here: a call waits until the registry has answered for it. What it may have logged
//! is told again under the same number, and is in the log once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use soapstone_registry::calls::Calls;
use soapstone_registry::{Answer, Request};

use super::client::{AskError, RegistryClient};
use super::registrar::binding_keys;
use crate::observe::calls::{CallLog, Waiting};
use crate::server::state::State;

/// Tells of calls for as long as the gateway serves.
pub(in crate::server) async fn log_calls(state: &State, client: &Arc<RegistryClient>) {
    let Some(log) = &state.resources.calls else {
        return;
    };
    let mut ticks = tokio::time::interval(client.period);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut was_lost = false;
    loop {
        ticks.tick().await;
        // Before that it does not know the entries that the calls are about.
        if client.business.is_some() && !client.is_known.load(Ordering::Relaxed) {
            continue;
        }
        match tell(state, client, log).await {
            Ok(()) => was_lost = false,
            Err(error) if !was_lost => {
                tracing::warn!(%error, "the registry does not log calls");
                was_lost = true;
            }
            Err(_) => {}
        }
    }
}

/// Tells of the last calls.
pub(in crate::server) async fn log_last_calls(state: &State, client: &Arc<RegistryClient>) {
    let Some(log) = &state.resources.calls else {
        return;
    };
    if let Err(error) = tell(state, client, log).await {
        let calls = log.counts().waiting;
        tracing::warn!(%error, calls, "calls are not logged at the end");
    }
}

/// Tells of all calls that wait now.
async fn tell(state: &State, client: &Arc<RegistryClient>, log: &CallLog) -> Result<(), AskError> {
    let _turn = client.logging.lock().await;
    let mut refused = Ok(());
    for of_broker in [false, true] {
        // What comes meanwhile is told the next time.
        for _ in 0..=log.counts().waiting {
            let batch = log.next(of_broker);
            if batch.is_empty() {
                break;
            }
            let count = batch.len();
            match ask(state, client, log, batch).await {
                Ok(logged) => log.told(of_broker, count, logged),
                // It would be refused the next time, too.
                Err(error @ AskError::Refused { .. }) if !error.is_passing() => {
                    log.told(of_broker, count, 0);
                    refused = refused.and(Err(error));
                }
                Err(error) => return Err(error),
            }
        }
    }
    refused
}

/// How many of these calls are in the log.
async fn ask(
    state: &State,
    client: &Arc<RegistryClient>,
    log: &CallLog,
    batch: Vec<Waiting>,
) -> Result<u64, AskError> {
    let keys = match &client.business {
        Some(business) => binding_keys(business, &state.current.serving()),
        None => BTreeMap::new(),
    };
    let calls = batch.into_iter().filter_map(|waiting| {
        let mut call = waiting.call;
        if let Some(provided) = &waiting.provided {
            // A route that a reload took away is no entry any more.
            call.binding_key = Some(keys.get(provided)?.clone());
            // The registry compares them, and these are longer than it keeps.
            let (service, access_point) = provided;
            let is_whole = call.chosen.is_some()
                || call.service.as_ref() == Some(service)
                    && call.provider.as_ref() == Some(access_point);
            if !is_whole {
                return None;
            }
        }
        Some(call)
    });
    let calls: Vec<_> = calls.collect();
    if calls.is_empty() {
        return Ok(0);
    }
    let told = Request::LogCalls(Calls {
        source: log.source.clone(),
        calls,
    });
    match client.ask(&told).await? {
        Answer::Logged(logged) => Ok(logged.calls),
        _ => Err(AskError::Other),
    }
}
