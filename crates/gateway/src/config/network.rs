//! Networks, as files have them: `10.0.0.0/8`, `2001:db8::/32`.
//!
//! The rule kept here: an address has one form. One of IPv4 that is written as one of IPv6 is the
//! same address.

use std::fmt;
use std::net::IpAddr;

/// A network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    /// Reads a network: an address and the number of bits that its addresses have in common. An
    /// address alone is a network of its own.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        // Its prefix would count from another beginning.
        if address != address.to_canonical() {
            return None;
        }
        let bits = bits_of(address);
        let prefix = match prefix {
            Some(prefix) => prefix.parse().ok().filter(|prefix| *prefix <= bits)?,
            None => bits,
        };
        let network = Self { address, prefix };
        // Bits behind the prefix are a mistake: 10.0.0.1/8.
        (network.begin(address) == Some(number(address))).then_some(network)
    }

    /// Whether an address is in it.
    pub(crate) fn contains(self, address: IpAddr) -> bool {
        self.begin(address.to_canonical()) == Some(number(self.address))
    }

    /// The first address of the network of this size that an address is in; `None` for one of the
    /// other version.
    fn begin(self, address: IpAddr) -> Option<u128> {
        if address.is_ipv4() != self.address.is_ipv4() {
            return None;
        }
        let rest = u32::from(bits_of(address) - self.prefix);
        let kept = u128::MAX.checked_shl(rest).unwrap_or(0);
        Some(number(address) & kept)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.address, self.prefix)
    }
}

fn bits_of(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_in_a_network_by_its_first_bits() {
        for (network, address, is_in) in [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.0.0.1", true),
            ("10.0.0.0/8", "::10.0.0.1", false),
            ("10.1.2.3", "10.1.2.3", true),
            ("10.1.2.3", "10.1.2.4", false),
            ("0.0.0.0/0", "203.0.113.1", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("::/0", "2001:db8::1", true),
            ("::/0", "::ffff:10.0.0.1", false),
            ("2001:db8::/32", "2001:db8:ffff::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
        ] {
            let read = Network::parse(network).expect("a network");
            let address: IpAddr = address.parse().expect("an address");
            assert_eq!(read.contains(address), is_in, "{network} {address}");
        }
    }

    #[test]
    fn what_is_no_network_is_none() {
        for wrong in [
            "",
            "10.0.0.1/8",
            "10.0.0.0/33",
            "2001:db8::/129",
            "10.0.0.0/",
            "10.0.0.0/-1",
            "::ffff:10.0.0.0/104",
            "example.com",
            "10.0.0/8",
        ] {
            assert_eq!(Network::parse(wrong), None, "{wrong}");
        }
    }
}
