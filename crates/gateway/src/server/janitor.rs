//! What is done now and then while a gateway runs.
//!
//! The rule kept here: no request waits for it.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::checks;
use super::key_usage::KeyUsageWarnings;
use super::registry;
use super::revocation;
use super::state::State;
use super::stores;
use crate::config::validity::tell;
use crate::wire::buffers::TRIM_INTERVAL;

/// How often a gateway that runs says what has expired or will soon.
const REMINDING: Duration = Duration::from_hours(24);

/// How often windows of agreements are looked at that no call ends.
const MEASURING: Duration = Duration::from_secs(1);

/// Closes connections and lets go of memory that nobody needs any more, and warns of shared keys
/// that are used up soon; and says once a day what expires meanwhile.
pub(crate) async fn tidy(state: Arc<State>) {
    let connections = async {
        loop {
            let serving = state.current.serving();
            tokio::time::sleep((serving.timeouts.idle / 4).max(Duration::from_millis(100))).await;
            for route in serving.routes.iter() {
                for upstream in route.upstreams() {
                    let backend = &upstream.backend;
                    backend.close_idle(backend.timeouts().idle);
                }
            }
        }
    };
    let memory = async {
        let mut key_usage = KeyUsageWarnings::default();
        loop {
            tokio::time::sleep(TRIM_INTERVAL).await;
            let serving = state.current.serving();
            key_usage.tell(&serving.routes);
            for route in serving.routes.iter() {
                for upstream in route.upstreams() {
                    upstream.backend.shrink(TRIM_INTERVAL);
                }
            }
            state.resources.memory.buffers.trim();
            state.resources.executor.workers().trim();
            state.resources.clients.tidy();
        }
    };
    let validity = async {
        loop {
            tokio::time::sleep(REMINDING).await;
            tell(&state.current.serving().dated, Timestamp::now());
        }
    };
    let registry = async {
        if let Some(client) = &state.registry {
            tokio::join!(
                registry::register(&state, client),
                registry::discover(&state, client),
                registry::compare(&state, client),
                registry::log_calls(&state, client)
            );
        }
    };
    let agreements = async {
        loop {
            tokio::time::sleep(MEASURING).await;
            if let Some(agreements) = state.current.serving().agreements.clone() {
                // A panic there would be a bug, and is told where it happens.
                tokio::task::spawn_blocking(move || agreements.tick())
                    .await
                    .ok();
            }
        }
    };
    let traces = state.resources.traces.export();
    tokio::join!(
        connections,
        memory,
        validity,
        stores::watch(&state.current),
        checks::run(&state.current),
        revocation::run(&state),
        registry,
        registry::discover_by_names(&state),
        agreements,
        traces
    );
}
