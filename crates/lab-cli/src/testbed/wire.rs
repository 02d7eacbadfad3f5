//! A wire between two networks: passes packets on as late, as slowly and as seldom as it is told.
//!
//! It does in this process what the kernel's netem does where there is one, so that a poor network
//! is the same everywhere. The rule kept here: which packets are lost depends on the seed and on
//! their order alone.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use soapstone_lab::study::{Link, Order};
use tokio::net::UnixDatagram;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// The largest packet.
const PACKET: usize = 65_536;
/// Packets that may wait to be sent; more are lost, as in any router.
const QUEUE: usize = 1_000;

/// A wire. It is cut when it is dropped.
pub(super) struct Wire(Vec<JoinHandle<()>>);

impl Wire {
    /// Between two ends, which send to `near-wire` and `far-wire` in the folder, and listen at
    /// `near` and `far`. To be called on a runtime.
    pub(super) fn between(folder: &Path, link: Link) -> io::Result<Self> {
        let near = Arc::new(UnixDatagram::bind(folder.join("near-wire"))?);
        let far = Arc::new(UnixDatagram::bind(folder.join("far-wire"))?);
        let begun = Instant::now();
        let mut tasks = Vec::new();
        for (seed, from, by, to) in [(1, &near, &far, "far"), (2, &far, &near, "near")] {
            let (give, take) = mpsc::channel(QUEUE);
            let pace = Pace::new(link, seed, begun);
            tasks.push(tokio::spawn(receive(Arc::clone(from), pace, give)));
            tasks.push(tokio::spawn(send(Arc::clone(by), folder.join(to), take)));
        }
        Ok(Self(tasks))
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        for task in &self.0 {
            task.abort();
        }
    }
}

/// When packets of one direction arrive.
struct Pace {
    link: Link,
    chance: Order,
    begun: Instant,
    /// When the last packet has left.
    free: Instant,
}

impl Pace {
    fn new(link: Link, seed: u64, begun: Instant) -> Self {
        Self {
            link,
            chance: Order::new(seed),
            begun,
            free: begun,
        }
    }

    /// When a packet of so many bytes arrives that is sent now; never, if it is lost.
    fn arrival(&mut self, octets: usize, now: Instant) -> Option<Instant> {
        /// A packet that would wait longer finds the queue full.
        const LONGEST_WAIT: Duration = Duration::from_millis(400);
        // Drawn for every packet: what else becomes of one does not change the fate of the next.
        let lost = self.chance.share() < self.link.loss;
        let out = self.link.outages.is_some_and(|outages| {
            let since = now.duration_since(self.begun).as_nanos();
            // Each ends with its period, so that a connection can be made before the first.
            since % outages.every.as_nanos().max(1) + outages.lasting.as_nanos()
                >= outages.every.as_nanos()
        });
        if lost || out {
            return None;
        }
        let leaves = self.free.max(now);
        if leaves.duration_since(now) > LONGEST_WAIT {
            return None;
        }
        if let Some(kilobits) = self.link.kilobits {
            let seconds = octets as f64 * 8.0 / (f64::from(kilobits.max(1)) * 1_000.0);
            self.free = leaves + Duration::from_secs_f64(seconds);
        } else {
            self.free = leaves;
        }
        Some(self.free + self.link.delay)
    }
}

async fn receive(from: Arc<UnixDatagram>, mut pace: Pace, give: mpsc::Sender<(Instant, Vec<u8>)>) {
    let mut packet = vec![0; PACKET];
    while let Ok(length) = from.recv(&mut packet).await {
        if let Some(arrival) = pace.arrival(length, Instant::now()) {
            // A queue that is full loses it.
            let _ = give.try_send((arrival, packet[..length].to_vec()));
        }
    }
}

async fn send(
    by: Arc<UnixDatagram>,
    to: std::path::PathBuf,
    mut take: mpsc::Receiver<(Instant, Vec<u8>)>,
) {
    while let Some((arrival, packet)) = take.recv().await {
        tokio::time::sleep_until(arrival).await;
        // The other end may not listen yet, or no more: then the packet is lost.
        let _ = by.send_to(&packet, &to).await;
    }
}

#[cfg(test)]
mod tests {
    use soapstone_lab::study::Outages;

    use super::*;

    fn arrivals(link: Link, packets: u64, apart: Duration) -> Vec<Option<Duration>> {
        let begun = Instant::now();
        let mut pace = Pace::new(link, 1, begun);
        (0..packets)
            .map(|number| {
                let now = begun + apart * number as u32;
                pace.arrival(1_250, now).map(|arrival| arrival - begun)
            })
            .collect()
    }

    #[test]
    fn packets_arrive_one_after_the_other_at_the_rate_of_the_wire_and_late() {
        let link = Link {
            kilobits: Some(1_000),
            delay: Duration::from_millis(20),
            ..Link::PERFECT
        };
        // 1,250 bytes are 10,000 bits: 10 ms each.
        let expected = [30, 40, 50].map(|ms| Some(Duration::from_millis(ms)));
        assert_eq!(arrivals(link, 3, Duration::ZERO), expected);
        let lost = arrivals(link, 100, Duration::ZERO);
        assert_eq!(
            lost.iter().flatten().count(),
            41,
            "those that wait 400 ms at most"
        );
    }

    #[test]
    fn as_many_packets_are_lost_as_are_meant_to_be_and_the_same_ones() {
        let link = Link {
            loss: 0.05,
            ..Link::PERFECT
        };
        let first = arrivals(link, 2_000, Duration::from_millis(1));
        let lost = first.iter().filter(|arrival| arrival.is_none()).count();
        assert!((70..130).contains(&lost), "{lost}");
        let again = arrivals(link, 2_000, Duration::from_millis(1));
        assert_eq!(first, again);
    }

    #[test]
    fn nothing_passes_in_an_outage_at_the_end_of_each_period() {
        let link = Link {
            outages: Some(Outages {
                every: Duration::from_millis(10),
                lasting: Duration::from_millis(3),
            }),
            ..Link::PERFECT
        };
        let passed: String = arrivals(link, 20, Duration::from_millis(1))
            .iter()
            .map(|arrival| if arrival.is_some() { '+' } else { '-' })
            .collect();
        assert_eq!(passed, "+++++++---+++++++---");
    }
}
