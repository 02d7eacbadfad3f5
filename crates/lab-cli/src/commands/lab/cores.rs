//! The processors of a run: clients have some of their own, and what they call has the others, so
//! that neither takes time from the other.
//!
//! The rule kept here: where one side would have none, nothing is pinned; what was pinned stands in
//! the manifest.

use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// One in so many processors is the clients', where nothing else is said: a call is less work for
/// who makes it than for two gateways and a service.
const CLIENTS_SHARE: usize = 4;

/// Which processors each side has, by the numbers that the system gives them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cores {
    clients: Vec<usize>,
    servers: Vec<usize>,
}

impl Cores {
    /// Parts the processors that this process may run on. `wanted` is how many the clients get; 0
    /// pins nothing, and so does a machine with fewer than four, if nothing is wanted.
    ///
    /// # Errors
    /// More are wanted than leave one to the servers, or the system cannot pin.
    pub(super) fn apart(wanted: Option<usize>) -> Result<Option<Self>, Failure> {
        let allowed = system::allowed();
        let clients = wanted.unwrap_or(allowed.len() / CLIENTS_SHARE);
        if clients == 0 {
            return Ok(None);
        }
        if clients >= allowed.len() {
            return Err(Failure::new(format_args!(
                "expected fewer cores for clients than there are to pin to ({}), found {clients}",
                allowed.len()
            )));
        }
        // The last ones: the system's own work is mostly on the first.
        let (servers, clients) = allowed.split_at(allowed.len() - clients);
        Ok(Some(Self {
            clients: clients.to_vec(),
            servers: servers.to_vec(),
        }))
    }

    /// Runs `begin` as a server: threads that it starts stay on the servers' processors. This
    /// thread is a client's afterwards.
    pub(super) fn as_servers<T>(&self, begin: impl FnOnce() -> T) -> T {
        // Where the system refuses what it allowed before, threads run wherever it puts them.
        system::pin(&self.servers);
        let begun = begin();
        system::pin(&self.clients);
        begun
    }
}

#[cfg(target_os = "linux")]
mod system {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    /// The processors that this thread may run on, ascending.
    pub(super) fn allowed() -> Vec<usize> {
        sched_getaffinity(None).map_or_else(
            |_| Vec::new(),
            |set| {
                (0..CpuSet::MAX_CPU)
                    .filter(|&cpu| set.is_set(cpu))
                    .collect()
            },
        )
    }

    /// Keeps this thread, and those that it starts from now on, on these processors.
    pub(super) fn pin(processors: &[usize]) {
        let mut set = CpuSet::new();
        for &processor in processors {
            set.set(processor);
        }
        let _ = sched_setaffinity(None, &set);
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    /// Other systems are not asked to pin threads.
    pub(super) fn allowed() -> Vec<usize> {
        Vec::new()
    }

    pub(super) fn pin(_: &[usize]) {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// On a thread of its own: being pinned ends with it.
    fn apart<T: Send>(run: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| scope.spawn(run).join().expect("a thread that ends"))
    }

    #[test]
    fn threads_of_servers_stay_on_their_side_and_this_one_becomes_a_clients() {
        apart(|| {
            let all = system::allowed();
            if all.len() < 2 {
                eprintln!("skipped: there is one processor, which cannot be parted");
                return;
            }
            let cores = Cores::apart(Some(1))
                .expect("one for each side")
                .expect("one is wanted");
            let server = cores.as_servers(|| std::thread::spawn(system::allowed));
            assert_eq!(server.join().expect("a server"), cores.servers);
            assert_eq!(system::allowed(), cores.clients);
            let mut both = [cores.servers, cores.clients].concat();
            both.sort_unstable();
            assert_eq!(both, all);
        });
    }

    #[test]
    fn servers_keep_at_least_one_processor() {
        let all = system::allowed().len();
        assert!(Cores::apart(Some(all)).is_err());
        assert_eq!(Cores::apart(Some(0)).expect("nothing to pin"), None);
        let found = Cores::apart(None).expect("what the machine allows");
        assert_eq!(found.is_some(), all >= CLIENTS_SHARE);
    }
}
