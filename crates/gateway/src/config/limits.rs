//! `[limits]` of a gateway: how much it bears in all, and how much of that one client or one
//! partner may have.
//!
//! The rule kept here: what is left out is bounded too, and by no more than the machine has.

use std::net::IpAddr;
use std::time::Duration;

use soapstone::config::{Located, Table};
use soapstone_broker::Rate;

use super::memory;
use super::rate::read_rate;

/// `[limits]` of a gateway. What concerns the inside of a message is in an endpoint's own limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GatewayLimits {
    /// Largest body, in bytes, in either direction. The engine's own default is the same.
    pub body: u64,
    /// Most bytes of messages in hand at once, on routes with endpoints. The engine needs up to
    /// four times as much beside.
    pub buffered: u64,
    /// Most connections from clients at once.
    pub connections: usize,
    /// Most requests that wait for a crypto worker: at some 0.4 ms each (an RSA-2048 operation),
    /// 1024 are 0.2 s on two cores.
    pub queue: usize,
    /// Crypto workers; as many as processors unless said otherwise.
    pub workers: usize,
    /// What one client address may have of that.
    pub per_client: Shares,
    /// The same where it is an address of this machine: all of it unless said otherwise, since
    /// whoever calls from here mostly stands for others.
    pub per_local_client: Shares,
    /// What one partner may have of it: a certificate or a user that proved itself.
    pub per_partner: Shares,
}

/// `[limits.per_client]` and `[limits.per_partner]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// Most connections at once; of as many as there may be, or of half of these, unless said
    /// otherwise.
    pub connections: Option<u64>,
    /// Whether that is half of them.
    pub half: bool,
    /// Most bytes of messages in hand at once. A message alone may be larger.
    pub buffered: u64,
    /// Most requests that wait for a crypto worker, or for a store.
    pub queue: usize,
    /// Most requests in a time.
    pub rate: Option<Rate>,
    /// How many messages may be refused in a time before a part of the workers is left for the
    /// client.
    pub refused: Option<Rate>,
}

/// Room for messages, unless said otherwise and where there is memory for it: 32 of the largest.
const BUFFERED: u64 = 256 << 20;

/// The part of the memory that room for messages takes at most, unless said otherwise: the engine
/// needs up to four times as much beside.
const PART_OF_MEMORY: u64 = 4;

impl Default for GatewayLimits {
    fn default() -> Self {
        let buffered = buffered_within(memory::limit());
        let queue = 1024;
        Self {
            body: 8 << 20,
            buffered,
            connections: 10_000,
            queue,
            workers: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            per_client: Shares::half(buffered, queue),
            per_local_client: Shares::whole(buffered, queue),
            per_partner: Shares::half(buffered, queue),
        }
    }
}

fn buffered_within(memory: Option<u64>) -> u64 {
    memory.map_or(BUFFERED, |memory| BUFFERED.min(memory / PART_OF_MEMORY))
}

impl GatewayLimits {
    /// What a client at that address may have.
    pub(crate) fn of_client(&self, address: IpAddr) -> &Shares {
        match address.to_canonical().is_loopback() {
            true => &self.per_local_client,
            false => &self.per_client,
        }
    }
}

impl Shares {
    /// Everything.
    fn whole(buffered: u64, queue: usize) -> Self {
        Self {
            connections: None,
            half: false,
            buffered,
            queue,
            rate: None,
            refused: None,
        }
    }

    /// Half of everything: one client leaves as much to all others.
    fn half(buffered: u64, queue: usize) -> Self {
        Self {
            connections: None,
            half: true,
            buffered: buffered / 2,
            queue: queue.div_ceil(2),
            rate: None,
            // A partner whose clock is wrong sends some in a second; whoever probes sends as many
            // as he can.
            refused: Rate::new(20, Duration::from_secs(1), 200),
        }
    }

    /// How many connections of `most` one client may have.
    pub(crate) fn connections_of(&self, most: u64) -> u64 {
        let unless_said = if self.half { most.div_ceil(2) } else { most };
        self.connections.unwrap_or(unless_said)
    }
}

pub(super) fn read_limits(mut table: Table<'_>) -> GatewayLimits {
    let default = GatewayLimits::default();
    let bounded = |given: Option<Located<u64>>, otherwise: usize| {
        given.map_or(otherwise, |given| {
            usize::try_from(given.value).unwrap_or(usize::MAX)
        })
    };
    let body = table.size("body").map_or(default.body, |body| body.value);
    let buffered = table
        .size("buffered")
        .map_or(default.buffered, |buffered| buffered.value);
    let connections = bounded(
        table.integer("connections", 1, 1_000_000),
        default.connections,
    );
    let queue = bounded(table.integer("queue", 1, 1_000_000), default.queue);
    let workers = bounded(table.integer("workers", 1, 1024), default.workers);
    let (half, whole) = (
        Shares::half(buffered, queue),
        Shares::whole(buffered, queue),
    );
    let of_clients = table.table("per_client");
    let of_clients = of_clients.map_or_else(Given::default, |table| read_shares(table, true));
    let of_partners = table.table("per_partner");
    let of_partners = of_partners.map_or_else(Given::default, |table| read_shares(table, false));
    let limits = GatewayLimits {
        body,
        buffered,
        connections,
        queue,
        workers,
        per_client: of_clients.or(half),
        per_local_client: of_clients.or(whole),
        per_partner: of_partners.or(half),
    };
    table.finish();
    limits
}

/// What a table says of shares.
#[derive(Clone, Copy, Default)]
struct Given {
    connections: Option<u64>,
    buffered: Option<u64>,
    queue: Option<usize>,
    rate: Option<Rate>,
    refused: Option<Rate>,
}

impl Given {
    /// The same, and otherwise something else.
    fn or(self, otherwise: Shares) -> Shares {
        Shares {
            connections: self.connections.or(otherwise.connections),
            half: otherwise.half,
            buffered: self.buffered.unwrap_or(otherwise.buffered),
            queue: self.queue.unwrap_or(otherwise.queue),
            rate: self.rate.or(otherwise.rate),
            refused: self.refused.or(otherwise.refused),
        }
    }
}

/// Reads the shares of a client or a partner. Whose message was refused is not proven, so that only
/// clients have a bound on that.
fn read_shares(mut table: Table<'_>, of_client: bool) -> Given {
    let queue = table.integer("queue", 1, 1_000_000);
    let given = Given {
        connections: table
            .integer("connections", 1, 1_000_000)
            .map(|given| given.value),
        buffered: table.size("buffered").map(|given| given.value),
        queue: queue.and_then(|given| usize::try_from(given.value).ok()),
        rate: read_rate(&mut table, "rate", "burst"),
        refused: match of_client {
            true => read_rate(&mut table, "refused", "refused_burst"),
            false => None,
        },
    };
    table.finish();
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_for_messages_is_at_most_a_quarter_of_the_memory() {
        assert_eq!(buffered_within(None), 256 << 20);
        assert_eq!(buffered_within(Some(8 << 30)), 256 << 20);
        assert_eq!(buffered_within(Some(512 << 20)), 128 << 20);
    }

    #[test]
    fn one_client_has_half_unless_it_stands_for_others_or_it_is_said_otherwise() {
        let limits = GatewayLimits::default();
        let shares = |address: &str| *limits.of_client(address.parse().expect("an address"));
        for (address, connections, queue) in [
            ("192.0.2.1", 4, 512),
            ("2001:db8::1", 4, 512),
            ("127.0.0.1", 7, 1024),
            ("::1", 7, 1024),
            ("::ffff:127.0.0.1", 7, 1024),
        ] {
            let shares = shares(address);
            let found = (shares.connections_of(7), shares.queue);
            assert_eq!(found, (connections, queue), "{address}");
        }
        let given = Given {
            connections: Some(7),
            ..Given::default()
        };
        for shares in [Shares::half(100, 3), Shares::whole(100, 3)] {
            assert_eq!(given.or(shares).connections_of(4), 7);
        }
        assert_eq!(Shares::half(100, 3).buffered, 50);
    }
}
