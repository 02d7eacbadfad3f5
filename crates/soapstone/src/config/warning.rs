//! What is right in a configuration file and a risk all the same.
//!
//! The rule kept here: a warning has a stable name, a place and something to do about it, like a
//! problem; it keeps nobody from starting.

use std::fmt;
use std::net::IpAddr;

use super::document::Document;
use super::problem::{Place, Problem};

/// A choice that a file makes and that is a risk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Stable name, for those who sort warnings.
    pub name: &'static str,
    /// Where it is made, what follows from it, and what to do about it.
    pub problem: Problem,
}

impl fmt::Display for Warning {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(out)
    }
}

/// Warns of a secret that goes to a host without TLS, unless the host is this machine. IPv6 comes
/// without brackets.
pub fn warn_of_clear_secret(document: &Document<'_>, place: Place, key: &str, host: &str) {
    let is_this_machine = match host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    };
    if is_this_machine {
        return;
    }
    let message = format!("`{key}` goes to {host} in the clear");
    let problem = Problem::new(document.file(), place, message);
    document.warn(Warning {
        name: "secret-in-the-clear",
        problem: problem.with_hint("speak TLS with that host"),
    });
}
