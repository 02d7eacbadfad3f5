//! Where keys live: the slots of a Redis Cluster, and which primary has which.

use redis::Value;
use soapstone::config::ServerAddress;

/// Slots of a cluster.
const SLOTS: u16 = 16_384;

/// The slot of a key. Our keys have no braces, so that all of a key counts (Redis Cluster
/// specification, "hash tags").
pub(super) fn slot_of(key: &str) -> u16 {
    crc16(key.as_bytes()) % SLOTS
}

/// CRC-16/XMODEM, as the specification of Redis Cluster has it.
fn crc16(octets: &[u8]) -> u16 {
    octets.iter().fold(0, |sum: u16, octet| {
        (0..8).fold(sum ^ (u16::from(*octet) << 8), |sum, _| {
            let shifted = sum << 1;
            if sum & 0x8000 == 0 {
                shifted
            } else {
                shifted ^ 0x1021
            }
        })
    })
}

/// Primaries by the last of the slots that they have; slots that nobody has are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Slots(Vec<Range>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Range {
    first: u16,
    last: u16,
    primary: ServerAddress,
}

impl Slots {
    /// One primary for all.
    pub(super) fn all_at(primary: ServerAddress) -> Self {
        Self(vec![Range {
            first: 0,
            last: SLOTS - 1,
            primary,
        }])
    }

    /// Who has a slot.
    pub(super) fn primary(&self, slot: u16) -> Option<&ServerAddress> {
        let range = self
            .0
            .iter()
            .find(|range| (range.first..=range.last).contains(&slot))?;
        Some(&range.primary)
    }

    /// All primaries, some of them more than once.
    pub(super) fn primaries(&self) -> impl Iterator<Item = &ServerAddress> {
        self.0.iter().map(|range| &range.primary)
    }

    /// Learns that one slot has moved.
    pub(super) fn moved(&mut self, slot: u16, primary: ServerAddress) {
        // The first range that matches counts.
        self.0
            .retain(|range| range.first != slot || range.last != slot);
        self.0.insert(
            0,
            Range {
                first: slot,
                last: slot,
                primary,
            },
        );
    }

    /// Reads the answer to `CLUSTER SLOTS`. Servers without a host are at `asked`.
    pub(super) fn read(answer: &Value, asked: &ServerAddress) -> Option<Self> {
        let Value::Array(ranges) = answer else {
            return None;
        };
        let mut slots = Vec::with_capacity(ranges.len());
        for range in ranges {
            let Value::Array(range) = range else {
                return None;
            };
            let [
                Value::Int(first),
                Value::Int(last),
                Value::Array(primary),
                ..,
            ] = range.as_slice()
            else {
                return None;
            };
            let [host, Value::Int(port), ..] = primary.as_slice() else {
                return None;
            };
            let host = match host {
                Value::BulkString(host) => String::from_utf8_lossy(host).into_owned(),
                _ => String::new(),
            };
            slots.push(Range {
                first: u16::try_from(*first).ok()?,
                last: u16::try_from(*last).ok()?,
                primary: ServerAddress {
                    host: match host.as_str() {
                        "" | "?" => asked.host.clone(),
                        _ => host,
                    },
                    port: u16::try_from(*port).ok()?,
                },
            });
        }
        Some(Self(slots))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(host: &str) -> ServerAddress {
        ServerAddress {
            host: host.to_owned(),
            port: 6379,
        }
    }

    #[test]
    fn keys_have_the_slots_that_the_specification_gives_them() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        assert_eq!(slot_of("foo"), 12_182);
        assert_eq!(slot_of("somekey"), 11_058);
    }

    #[test]
    fn a_slot_that_moved_is_found_at_its_new_place_and_the_others_at_their_old_one() {
        let mut slots = Slots::all_at(address("a"));
        slots.moved(7, address("b"));
        slots.moved(7, address("c"));
        assert_eq!(slots.primary(7), Some(&address("c")));
        assert_eq!(slots.primary(8), Some(&address("a")));
        assert_eq!(slots.primaries().count(), 2);
    }

    #[test]
    fn slots_that_nobody_has_have_no_primary() {
        let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let range = |first, last, host| {
            let primary = Value::Array(vec![host, Value::Int(7000), text("id")]);
            Value::Array(vec![Value::Int(first), Value::Int(last), primary])
        };
        let answer = Value::Array(vec![range(0, 10, text("b")), range(20, 30, Value::Nil)]);
        let slots = Slots::read(&answer, &address("a")).expect("well-formed");
        let host = |slot| slots.primary(slot).map(|primary| primary.host.as_str());
        assert_eq!(host(10), Some("b"));
        assert_eq!(host(11), None);
        assert_eq!(host(20), Some("a"));
    }
}
