//! How many files this process may have open: a thousand clients, two gateways, the tap and the
//! services have eight thousand connections' ends here.
//!
//! The rule kept here: no more is taken than the system allows without asking anybody.

/// As many as a thousand clients need, and some.
#[cfg(unix)]
const WANTED: u64 = 16_384;

/// Raises the number to what is wanted, as far as the system lets it.
#[cfg(unix)]
pub(super) fn allow() {
    use rustix::process::{Resource, getrlimit, setrlimit};

    let mut limit = getrlimit(Resource::Nofile);
    let allowed = limit.maximum.map_or(WANTED, |most| most.min(WANTED));
    // No current limit is more than is wanted.
    if limit.current.is_some_and(|current| current < allowed) {
        limit.current = Some(allowed);
        // Where it stays as it is, calls of many clients say that they cannot connect.
        let _ = setrlimit(Resource::Nofile, limit);
    }
}

/// Systems that have no such limit need nothing.
#[cfg(not(unix))]
pub(super) fn allow() {}
