//! What all exchanges of a gateway share, whatever the configuration in use.
//!
//! The rule kept here: nothing is changed by a reload.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http::HeaderValue;

use crate::observe::audit::Audit;
use crate::observe::calls::CallLog;
use crate::observe::changes::Changes;
use crate::observe::metrics::GatewayMetrics;
use crate::observe::record::Records;
use crate::observe::traces::Traces;
use crate::scheduling::executor::Executor;
use crate::shares::Clients;
use crate::wire::memory::MessageMemory;

/// What an exchange works with.
pub(crate) struct Resources {
    pub(crate) executor: Arc<Executor>,
    pub(crate) memory: MessageMemory,
    pub(crate) clients: Clients,
    pub(crate) audit: Option<Audit>,
    /// Calls for the log of the registry, where they are logged.
    pub(crate) calls: Option<CallLog>,
    pub(crate) records: Option<Records>,
    pub(crate) traces: Arc<Traces>,
    pub(crate) metrics: Arc<GatewayMetrics>,
    /// Who is told of refusals, and of other changes.
    pub(crate) changes: Changes,
    pub(crate) requests: RequestNames,
}

/// Names for requests that come without one.
#[derive(Debug)]
pub(crate) struct RequestNames {
    /// Differs from one process to the next; with a number behind it, names a request.
    process: String,
    count: AtomicU64,
}

impl RequestNames {
    /// Those of a process with that name.
    pub(crate) fn new(process: String) -> Self {
        Self {
            process,
            count: AtomicU64::new(0),
        }
    }

    /// The next one.
    pub(crate) fn next(&self) -> HeaderValue {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        HeaderValue::try_from(format!("{}-{number:x}", self.process))
            .unwrap_or(HeaderValue::from_static("unnamed"))
    }
}
