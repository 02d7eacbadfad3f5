//! What is wrong with the stores that nodes share, looked for while the gateway runs.
//!
//! The rule kept here: a problem is told when it begins and when it ends, and not in between.

use std::sync::Arc;
use std::time::Duration;

use soapstone_store::{StoreProblem, Stores};

use super::current::Current;

/// Between two looks: as often as the stores want to be told of the key that seals.
const LOOKING: Duration = Duration::from_secs(60);

/// How soon a changed configuration is noticed.
const NOTICING: Duration = Duration::from_secs(1);

/// The problems of the stores at this moment.
pub(crate) async fn store_problems(stores: &Arc<Stores>) -> Vec<StoreProblem> {
    let stores = Arc::clone(stores);
    // A panic there would be a bug, and is told where it happens.
    tokio::task::spawn_blocking(move || stores.problems())
        .await
        .unwrap_or_default()
}

/// Looks at the stores at once, once a minute, and whenever the configuration was changed.
pub(crate) async fn watch(current: &Current) {
    let mut known: Vec<StoreProblem> = Vec::new();
    loop {
        let stores = Arc::clone(&current.serving().stores);
        let announced = Arc::clone(&stores);
        let announcing = tokio::task::spawn_blocking(move || announced.announce());
        // The problems are found out next.
        announcing.await.ok();
        let found = store_problems(&stores).await;
        for problem in found.iter().filter(|problem| !known.contains(problem)) {
            tracing::error!(hint = problem.hint(), "store: {problem}");
        }
        if found.is_empty() && !known.is_empty() {
            tracing::info!("store: all problems are over");
        }
        known = found;
        let next = tokio::time::Instant::now() + LOOKING;
        while tokio::time::Instant::now() < next && Arc::ptr_eq(&stores, &current.serving().stores)
        {
            tokio::time::sleep(NOTICING).await;
        }
    }
}
