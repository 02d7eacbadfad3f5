//! What each client and each partner holds of what all share: connections, room for messages,
//! places in the queue, requests a second.
//!
//! A client is an IPv4 address, or the /64 of an IPv6 address, since whoever has one address of it
//! has all. A partner is a certificate or a user that proved itself, wherever it calls from. A
//! client whose messages are refused again and again gets a part of the workers, so that work which
//! comes to nothing leaves the rest to others.
//!
//! The rule kept here: the table of clients is bounded, and nobody is forgotten while it holds
//! something or waits for its rate.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use soapstone_broker::{Bucket, Rate};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::config::limits::Shares;

/// Most clients and partners that are known apart: some 200 bytes each.
const MOST_CLIENTS: usize = 65_536;

/// How often a full table is searched for clients that can go.
const SEARCHED: Duration = Duration::from_secs(1);

/// The part of the workers that works for a client whose messages are refused again and again.
const PART_FOR_REFUSED: usize = 4;

/// Who holds something.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Holder {
    Address(IpAddr),
    /// How it proved itself, and its name.
    Partner(&'static str, String),
}

/// Everybody who holds something.
#[derive(Debug)]
pub(crate) struct Clients {
    table: Mutex<Table>,
    most: usize,
    /// Workers for each client whose messages are refused again and again.
    turns: usize,
    /// Those who came when the table was full share one entry.
    others: Arc<Client>,
}

#[derive(Debug)]
struct Table {
    clients: HashMap<Holder, Arc<Client>>,
    searched: Option<Instant>,
}

/// What one of them holds.
#[derive(Debug)]
pub(crate) struct Client {
    connections: AtomicU64,
    buffered: AtomicU64,
    /// Requests in work, and those that wait for it.
    in_work: AtomicU64,
    requests: Bucket,
    refusals: Bucket,
    turns: Arc<Semaphore>,
}

/// A part of something that is held until it is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    client: Arc<Client>,
    of: fn(&Client) -> &AtomicU64,
}

impl Drop for Held {
    fn drop(&mut self) {
        (self.of)(&self.client).fetch_sub(1, Ordering::Relaxed);
    }
}

/// A request of a client in work.
#[derive(Debug)]
pub(crate) struct Turn {
    _held: Held,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Clients {
    /// An empty table, for a gateway with so many workers.
    pub(crate) fn new(workers: usize) -> Self {
        Self::for_most(MOST_CLIENTS, workers)
    }

    fn for_most(most: usize, workers: usize) -> Self {
        let turns = (workers / PART_FOR_REFUSED).max(1);
        Self {
            table: Mutex::new(Table {
                clients: HashMap::new(),
                searched: None,
            }),
            most,
            turns,
            others: Arc::new(Client::new(turns)),
        }
    }

    /// Who calls from an address.
    pub(crate) fn at(&self, address: IpAddr) -> Arc<Client> {
        self.of(Holder::Address(network(address)))
    }

    /// A partner that proved itself: how, and its name.
    pub(crate) fn partner(&self, by: &'static str, name: &str) -> Arc<Client> {
        self.of(Holder::Partner(by, name.to_owned()))
    }

    fn of(&self, holder: Holder) -> Arc<Client> {
        let now = Instant::now();
        let mut table = self.lock();
        if let Some(client) = table.clients.get(&holder) {
            return Arc::clone(client);
        }
        let searchable = table
            .searched
            .is_none_or(|last| now.saturating_duration_since(last) >= SEARCHED);
        if table.clients.len() >= self.most && searchable {
            table.let_go(now);
        }
        if table.clients.len() >= self.most {
            return Arc::clone(&self.others);
        }
        let client = Arc::new(Client::new(self.turns));
        table.clients.insert(holder, Arc::clone(&client));
        client
    }

    /// How many are known.
    pub(crate) fn len(&self) -> usize {
        self.lock().clients.len()
    }

    /// Forgets who holds nothing.
    pub(crate) fn tidy(&self) {
        self.lock().let_go(Instant::now());
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn let_go(&mut self, now: Instant) {
        self.searched = Some(now);
        self.clients.retain(|_, client| {
            Arc::strong_count(client) > 1
                || !client.requests.is_full(now.into_std())
                || !client.refusals.is_full(now.into_std())
        });
        if self.clients.capacity() > 4 * self.clients.len() {
            self.clients.shrink_to(2 * self.clients.len());
        }
    }
}

/// The moment as buckets take it.
fn now() -> std::time::Instant {
    Instant::now().into_std()
}

/// The addresses that one client has.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let bits = address.to_bits() & (u128::MAX << 64);
            IpAddr::V6(Ipv6Addr::from_bits(bits))
        }
        address => address,
    }
}

impl Client {
    fn new(turns: usize) -> Self {
        Self {
            connections: AtomicU64::new(0),
            buffered: AtomicU64::new(0),
            in_work: AtomicU64::new(0),
            requests: Bucket::default(),
            refusals: Bucket::default(),
            turns: Arc::new(Semaphore::new(turns)),
        }
    }

    fn hold(self: &Arc<Self>, of: fn(&Self) -> &AtomicU64, most: u64) -> Option<Held> {
        if of(self).fetch_add(1, Ordering::Relaxed) >= most {
            of(self).fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        Some(Held {
            client: Arc::clone(self),
            of,
        })
    }

    /// A connection more, if it has fewer than `most`.
    pub(crate) fn connect(self: &Arc<Self>, most: u64) -> Option<Held> {
        self.hold(|client| &client.connections, most)
    }

    /// A request in work, once it is its turn; `None` where its share of the queue is full.
    pub(crate) async fn turn(self: &Arc<Self>, shares: &Shares, workers: usize) -> Option<Turn> {
        let most = shares.queue.saturating_add(workers) as u64;
        let held = self.hold(|client| &client.in_work, most)?;
        let is_patient = shares
            .refused
            .is_none_or(|rate| self.refusals.has_one(rate, now()));
        let permit = match is_patient {
            true => None,
            // It is never closed.
            false => Arc::clone(&self.turns).acquire_owned().await.ok(),
        };
        Some(Turn {
            _held: held,
            _permit: permit,
        })
    }

    /// Notes that one of its messages was refused.
    pub(crate) fn refused(&self, shares: &Shares) {
        if let Some(rate) = shares.refused {
            // What it costs is told by the next look at the bucket.
            self.refusals.drain(rate, now());
        }
    }

    /// Counts a request.
    ///
    /// # Errors
    ///
    /// How long to wait, when there were too many.
    pub(crate) fn request(&self, rate: Option<Rate>) -> Result<(), Duration> {
        match rate {
            Some(rate) => self.requests.take(rate, now()),
            None => Ok(()),
        }
    }

    /// How many bytes of the room it has.
    pub(crate) fn buffered(&self) -> u64 {
        self.buffered.load(Ordering::Relaxed)
    }

    /// Takes so many bytes of the room. `own` are those of the message itself, which is let in
    /// whatever its size if it is the only one.
    pub(crate) fn take_room(&self, bytes: u64, own: u64, most: u64) -> bool {
        let before = self.buffered.fetch_add(bytes, Ordering::Relaxed);
        if before > own && before.saturating_add(bytes) > most {
            self.buffered.fetch_sub(bytes, Ordering::Relaxed);
            return false;
        }
        true
    }

    /// Has it hold so many bytes for a message that held others before.
    pub(crate) fn settle_room(&self, before: u64, after: u64) {
        match after.checked_sub(before) {
            Some(more) => self.buffered.fetch_add(more, Ordering::Relaxed),
            None => self.buffered.fetch_sub(before - after, Ordering::Relaxed),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares() -> Shares {
        Shares {
            queue: 1,
            refused: Rate::new(1, Duration::from_secs(1), 2),
            ..Shares::default()
        }
    }

    #[test]
    fn an_ipv6_client_is_its_network_and_a_mapped_address_is_ipv4() {
        let address = |text: &str| network(text.parse().expect("an address"));
        assert_eq!(
            address("2001:db8:1:2:3:4:5:6"),
            address("2001:db8:1:2:ffff::1")
        );
        assert_ne!(address("2001:db8:1:2::1"), address("2001:db8:1:3::1"));
        assert_eq!(address("::ffff:192.0.2.1"), address("192.0.2.1"));
        assert_ne!(address("192.0.2.1"), address("192.0.2.2"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_table_lets_go_of_who_holds_nothing_and_of_nobody_else() {
        let clients = Clients::for_most(2, 1);
        let [one, two, three] = [1, 2, 3].map(|last| IpAddr::from([192, 0, 2, last]));
        let holding = clients.at(one).connect(1).expect("it has none");
        clients
            .at(two)
            .request(Rate::new(1, Duration::from_secs(60), 1))
            .expect("its first");
        let third = clients.at(three);
        assert!(Arc::ptr_eq(&third, &clients.others));
        tokio::time::advance(Duration::from_secs(61)).await;
        // The second one has waited for its rate.
        let third = clients.at(three);
        assert!(!Arc::ptr_eq(&third, &clients.others));
        assert!(clients.at(one).connect(1).is_none(), "the first is known");
        drop((holding, third));
        clients.tidy();
        assert_eq!(clients.lock().clients.len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_whose_messages_are_refused_again_and_again_gets_a_part_of_the_workers() {
        let clients = Clients::new(4);
        let client = clients.at(IpAddr::from([192, 0, 2, 1]));
        let shares = Shares {
            queue: 10,
            ..shares()
        };
        client.refused(&shares);
        let two = [
            client.turn(&shares, 4).await.expect("room"),
            client.turn(&shares, 4).await.expect("room"),
        ];
        drop(two);
        for _ in 0..3 {
            client.refused(&shares);
        }
        let first = client.turn(&shares, 4).await.expect("room");
        let waiting = tokio::time::timeout(Duration::from_millis(1), client.turn(&shares, 4));
        assert!(waiting.await.is_err(), "one of four workers works for it");
        drop(first);
        let held = client.turn(&shares, 4).await.expect("room");
        // Others are not concerned.
        let other = clients.at(IpAddr::from([192, 0, 2, 2]));
        let _ = other.turn(&shares, 4).await.expect("room");
        tokio::time::advance(Duration::from_secs(10)).await;
        client.turn(&shares, 4).await.expect("it is forgiven");
        drop(held);
    }

    #[tokio::test]
    async fn a_share_of_the_queue_is_full_when_workers_and_places_are_taken() {
        let clients = Clients::new(1);
        let client = clients.at(IpAddr::from([192, 0, 2, 1]));
        let one = client.turn(&shares(), 1).await.expect("a worker");
        let _other = client.turn(&shares(), 1).await.expect("a place");
        assert!(client.turn(&shares(), 1).await.is_none());
        drop(one);
        assert!(client.turn(&shares(), 1).await.is_some());
    }

    #[test]
    fn a_message_alone_may_be_larger_than_the_share() {
        let client = Client::new(1);
        assert!(client.take_room(6, 0, 10));
        assert!(client.take_room(6, 6, 10), "it is the only one");
        assert!(!client.take_room(1, 0, 10), "it is another one");
        client.settle_room(12, 3);
        assert!(client.take_room(7, 0, 10));
        assert!(!client.take_room(1, 7, 10));
    }
}
