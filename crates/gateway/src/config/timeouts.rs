//! `[timeouts]`: how long clients, backends and the end of the gateway may take.
//!
//! The rule kept here: every wait has a bound, and no bound but those of the end is zero.

use std::time::Duration;

use soapstone::config::Table;

/// `[timeouts]`. Each route may have its own `connect` and `response`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a client to send a request's head, from its first byte. TLS handshakes too.
    pub header: Duration,
    /// For a client to send a request's body.
    pub request: Duration,
    /// For a backend to accept a connection.
    pub connect: Duration,
    /// For a backend to begin its response.
    pub response: Duration,
    /// For an unused connection, on either side.
    pub idle: Duration,
    /// For whoever sends requests to notice that the gateway will stop, before it accepts no more.
    pub drain_delay: Duration,
    /// For requests in hand when the gateway stops.
    pub drain: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            header: Duration::from_secs(10),
            request: Duration::from_secs(30),
            connect: Duration::from_secs(5),
            response: Duration::from_secs(60),
            idle: Duration::from_secs(75),
            // Short, as nothing but a load balancer needs it: one that is asked for its patience
            // gets more.
            drain_delay: Duration::from_secs(1),
            drain: Duration::from_secs(20),
        }
    }
}

/// Reads `[timeouts]`.
pub(super) fn read_timeouts(root: &mut Table<'_>) -> Timeouts {
    let mut timeouts = Timeouts::default();
    let Some(mut table) = root.table("timeouts") else {
        return timeouts;
    };
    for (key, timeout) in [
        ("header", &mut timeouts.header),
        ("request", &mut timeouts.request),
        ("connect", &mut timeouts.connect),
        ("response", &mut timeouts.response),
        ("idle", &mut timeouts.idle),
        ("drain_delay", &mut timeouts.drain_delay),
        ("drain", &mut timeouts.drain),
    ] {
        let Some(given) = table.duration(key) else {
            continue;
        };
        if given.value.is_zero() && !key.starts_with("drain") {
            table.report(
                given.place,
                format!("`{key}` must be longer than nothing, found 0"),
            );
        }
        *timeout = given.value;
    }
    table.finish();
    timeouts
}
