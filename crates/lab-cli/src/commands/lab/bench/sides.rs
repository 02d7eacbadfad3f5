//! Where clients run, and where what they call does: on one runtime, or each on its own processors.
//!
//! The rule kept here: what answers calls is started as a server, so that its threads are on the
//! servers' side.

use tokio::runtime::Runtime;

use super::super::cores::Cores;
use super::wish::StopSignal;
use crate::failure::Failure;
use crate::runtime;

/// Both sides of calls that are measured.
pub(in super::super) struct Sides {
    clients: Runtime,
    /// Those of servers, where they have processors of their own.
    servers: Option<(Cores, Runtime)>,
}

impl Sides {
    /// On processors of their own, or both on all of them. Programs that are started before keep
    /// all processors.
    pub(in super::super) fn new(cores: Option<Cores>) -> Result<Self, Failure> {
        let servers = cores.map(|cores| {
            let runtime = cores.as_servers(runtime::multi_threaded);
            runtime.map(|runtime| (cores, runtime))
        });
        Ok(Self {
            servers: servers.transpose()?,
            clients: runtime::multi_threaded()?,
        })
    }

    /// Waits for the answers of calls, or for the wish to stop.
    pub(super) fn call<T>(
        &self,
        wish: &StopSignal,
        calls: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        self.clients.block_on(wish.or(calls))
    }

    /// Waits until what is called has begun, or for the wish to stop.
    pub(super) fn begin<T>(
        &self,
        wish: &StopSignal,
        beginning: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        self.serve(wish.or(beginning))
    }

    /// Waits for something that servers do.
    pub(in super::super) fn serve<T>(&self, work: impl Future<Output = T>) -> T {
        match &self.servers {
            Some((cores, runtime)) => cores.as_servers(|| runtime.block_on(work)),
            None => self.clients.block_on(work),
        }
    }
}
