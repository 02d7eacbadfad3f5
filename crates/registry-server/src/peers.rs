//! How many connections each address has.
//!
//! The rule kept here: one address never has all connections.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Connections of one address at once.
const PER_PEER: usize = 64;

/// The connections of each address that has some.
#[derive(Clone, Default)]
pub(crate) struct Peers(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// A connection that counts until it is dropped.
pub(crate) struct Counted {
    peers: Peers,
    address: IpAddr,
}

impl Peers {
    /// Counts one more. `None` where the address has as many as it may have.
    pub(crate) fn one_more(&self, address: IpAddr) -> Option<Counted> {
        let mut peers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = peers.entry(address).or_default();
        if *count >= PER_PEER {
            return None;
        }
        *count += 1;
        Some(Counted {
            peers: self.clone(),
            address,
        })
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut peers = self.peers.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = peers.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                peers.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_so_many_connections_and_takes_none_from_another() {
        let peers = Peers::default();
        let (one, other) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let mut held: Vec<Counted> = (0..PER_PEER)
            .map(|_| peers.one_more(one).expect("there is room"))
            .collect();
        assert!(peers.one_more(one).is_none());
        assert!(peers.one_more(other).is_some());
        held.pop();
        assert!(peers.one_more(one).is_some());
        drop(held);
        assert!(peers.0.lock().expect("no panic").is_empty());
    }
}
