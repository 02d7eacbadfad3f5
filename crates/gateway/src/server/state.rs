//! What a gateway consists of while it runs.
//!
//! The rule kept here: only the server knows all of it. Every other room is handed what it needs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

use super::cold::Cold;
use super::current::Current;
use super::explaining::Explaining;
use super::readiness::Readiness;
use super::registry::{Discovered, RegistryClient};
use super::watchers::Watchers;
use crate::config::admin::AdminConfig;
use crate::exchange::resources::Resources;
use crate::route::build::RouteResources;

/// What all connections of a gateway share.
pub(crate) struct State {
    pub(crate) current: Current,
    /// What exchanges work with.
    pub(crate) resources: Resources,
    /// What routes are built with.
    pub(crate) routes: RouteResources,
    pub(crate) readiness: Readiness,
    pub(crate) cold: Arc<Cold>,
    /// Whether `/readyz` says that the gateway will end.
    draining: AtomicBool,
    /// Who may ask the listener of health and metrics, if they have one of their own.
    admin: watch::Sender<Option<Arc<AdminConfig>>>,
    /// What explains refused messages to operators.
    pub(crate) explaining: Explaining,
    /// The pages of the console that are told of changes.
    pub(crate) watchers: Watchers,
    /// How many clients there are file descriptors for.
    pub(crate) fitting: Option<u64>,
    /// What speaks to the registry, if there is one.
    pub(crate) registry: Option<Arc<RegistryClient>>,
    /// The providers that the registry knows.
    pub(crate) discovered: Discovered,
}

impl State {
    /// The state of a gateway that begins with that configuration.
    pub(crate) fn new(
        current: Current,
        resources: Resources,
        routes: RouteResources,
        admin: Option<AdminConfig>,
        fitting: Option<u64>,
        (registry, discovered): (Option<Arc<RegistryClient>>, Discovered),
    ) -> Self {
        let serving = current.serving();
        let cold = serving
            .routes
            .iter()
            .filter(|route| route.warm_up.is_some());
        Self {
            cold: Arc::new(Cold::new(
                cold.map(|route| route.path().to_owned()),
                resources.changes.clone(),
            )),
            current,
            resources,
            routes,
            readiness: Readiness::default(),
            draining: AtomicBool::new(false),
            admin: watch::Sender::new(admin.map(Arc::new)),
            explaining: Explaining::default(),
            watchers: Watchers::default(),
            fitting,
            registry,
            discovered,
        }
    }

    /// Who may ask the listener of health and metrics now; `None` if they have none of their own.
    pub(crate) fn admin(&self) -> Option<Arc<AdminConfig>> {
        self.admin.borrow().clone()
    }

    /// Done when what a connection to that listener has shown is judged otherwise than when it was
    /// made.
    pub(crate) async fn judges_otherwise(&self, began_with: &AdminConfig) {
        let mut changes = self.admin.subscribe();
        let is_other = |now: &Option<Arc<AdminConfig>>| {
            now.as_ref().is_some_and(|now| !now.judges_as(began_with))
        };
        // The sender is here.
        let _ = changes.wait_for(is_other).await;
    }

    /// Lets others ask from now on, if there is such a listener.
    pub(crate) fn replace_admin(&self, admin: Option<AdminConfig>) {
        let Some(admin) = admin else {
            return;
        };
        self.admin.send_if_modified(|current| {
            let is_there = current.is_some();
            if let Some(current) = current {
                *current = Arc::new(admin);
            }
            is_there
        });
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Notes that the gateway will end.
    pub(crate) fn announce_end(&self) {
        self.draining.store(true, Ordering::Relaxed);
        self.resources.changes.tell();
    }

    /// How many connections from clients there may be.
    pub(crate) fn most_connections(&self, configured: usize) -> u64 {
        let configured = configured as u64;
        self.fitting
            .map_or(configured, |fitting| configured.min(fitting))
    }
}
