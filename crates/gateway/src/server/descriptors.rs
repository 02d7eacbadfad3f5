//! File descriptors: how many the system gives this process, and how many clients that is enough
//! for.
//!
//! A client takes one, and while its request is in hand its backend takes another. Some stay for
//! the admin listener, stores and files, so that health is told while clients hold all that they
//! may have.
//!
//! The rule kept here: clients are turned away before descriptors run out.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Most descriptors that are kept from clients and their backends: both listeners, connections of
/// the admin listener and of stores, files that a reload reads. Of few, a quarter is kept.
const KEPT: u64 = 256;

/// Raises the limit of open descriptors as far as the system lets this process.
pub(crate) fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current == maximum {
        return;
    }
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "the limit of open descriptors could not be raised");
    }
}

/// How many clients may be connected at once; `None` where descriptors are not limited.
pub(crate) fn clients_that_fit() -> Option<u64> {
    getrlimit(Resource::Nofile).current.map(clients_within)
}

fn clients_within(limit: u64) -> u64 {
    (limit - KEPT.min(limit / 4)) / 2
}

/// Tells that the configuration speaks of more clients than there are descriptors for.
pub(crate) fn tell_if_out_of_reach(connections: usize, fitting: Option<u64>) {
    if let Some(fitting) = fitting.filter(|fitting| *fitting < connections as u64) {
        tracing::warn!(
            fitting,
            hint = "raise the limit of open files of the process: LimitNOFILE of systemd, ulimit -Hn of a shell",
            "`limits.connections` = {connections} is out of reach: clients and their backends take two descriptors each"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_and_their_backends_fit_beside_what_is_kept() {
        assert_eq!(clients_within(1024), 384);
        assert_eq!(clients_within(128), 48);
        assert_eq!(clients_within(20_256), 10_000);
        assert_eq!(clients_within(0), 0);
    }
}
