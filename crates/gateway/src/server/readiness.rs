//! Whether a gateway can do something for clients: its backends and stores, tried.
//!
//! The rule kept here: however often somebody asks, they are tried once a second.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use soapstone_store::StoreProblem;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::stores::store_problems;
use crate::route::serving::Serving;

/// How long what was found of backends and stores is told again without asking them.
///
/// Without it whoever reaches `/readyz` has the gateway open connections to all backends as fast as
/// he asks. Load balancers ask every second or two.
const FRESH: Duration = Duration::from_secs(1);

/// What was last found of backends and stores, and when.
#[derive(Debug, Default)]
pub(crate) struct Readiness(Mutex<Option<(Instant, Arc<Found>)>>);

/// What backends and stores answered.
#[derive(Debug)]
pub(super) struct Found {
    /// There are no backends, or at least one is there; and the stores let this node in.
    pub(super) useful: bool,
    /// A line for each.
    pub(super) lines: String,
}

impl Readiness {
    /// What was found, found anew if it is old. Who asks meanwhile gets the same.
    pub(super) async fn found(&self, serving: &Serving) -> Arc<Found> {
        let mut last = self.0.lock().await;
        if let Some((when, found)) = &*last
            && when.elapsed() < FRESH
        {
            return Arc::clone(found);
        }
        let found = Arc::new(Found::now(serving).await);
        *last = Some((Instant::now(), Arc::clone(&found)));
        found
    }
}

impl Found {
    async fn now(serving: &Serving) -> Self {
        let mut probes = tokio::task::JoinSet::new();
        for route in serving.routes.iter() {
            let names = route.balancer.iter().flat_map(|balancer| {
                let pool = &balancer.pool;
                pool.ids()
                    .map(|id| format!("{} {}", route.name, pool.name(id)))
            });
            let alone = route.balancer.is_none().then(|| route.name.clone());
            for (name, upstream) in alone.into_iter().chain(names).zip(route.upstreams()) {
                let backend = Arc::clone(&upstream.backend);
                probes.spawn(async move { (name, backend.probe().await) });
            }
        }
        let mut probed = probes.join_all().await;
        probed.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut lines = String::new();
        for (name, result) in &probed {
            // Writing to a string cannot fail.
            let _ = match result {
                Ok(()) => writeln!(lines, "{name}: reachable"),
                Err(error) => writeln!(lines, "{name}: {error}"),
            };
        }
        // A reason to send requests elsewhere only where the other nodes may not have it as well.
        let problems = store_problems(&serving.stores).await;
        for problem in &problems {
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "store: {problem}");
        }
        let is_let_in = !problems.iter().any(StoreProblem::is_of_this_node);
        let reaches_any = probed.is_empty() || probed.iter().any(|(_, result)| result.is_ok());
        Self {
            useful: is_let_in && reaches_any,
            lines,
        }
    }
}
