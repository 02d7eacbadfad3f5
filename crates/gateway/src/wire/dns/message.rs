//! Messages of DNS: a question is written, and the answers to it are read (RFC 1035, section 4).
//!
//! The rule kept here: a message counts only if it repeats the number and the question, and all of
//! its answers are well formed. Other sections are not read: what nobody asked for says nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::name;
use crate::config::dns_name::DnsName;

/// The class of the Internet.
const INTERNET: u16 = 1;
/// That the server may ask others.
const RECURSION_DESIRED: u16 = 0x0100;
const IS_ANSWER: u16 = 0x8000;
const OPERATION: u16 = 0x7800;
const IS_TRUNCATED: u16 = 0x0200;
const CODE: u16 = 0x000F;
/// Bytes of an answer in one datagram: as many as pass through without being cut to pieces.
pub(super) const DATAGRAM: u16 = 1232;
/// Names in a chain of aliases.
const ALIASES: usize = 8;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Addresses of IPv4.
    A,
    /// Addresses of IPv6 (RFC 3596).
    Aaaa,
    /// Where a service is (RFC 2782).
    Srv,
}

impl Kind {
    fn number(self) -> u16 {
        match self {
            Self::A => 1,
            Self::Aaaa => 28,
            Self::Srv => 33,
        }
    }
}

/// The number of aliases.
const ALIAS: u16 = 5;

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) name: DnsName,
    pub(crate) kind: Kind,
}

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Data {
    /// Where a service is.
    Service {
        priority: u16,
        weight: u16,
        port: u16,
        target: DnsName,
    },
    /// Where a host is.
    Address(IpAddr),
    /// Another name of the same.
    Alias(DnsName),
    /// Something that nobody asked for.
    Other,
}

/// A record that answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// For how many seconds it holds.
    pub(crate) ttl: u32,
    pub(crate) data: Data,
}

/// An answer to a question.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reply {
    /// How it went: 0 is well, 3 that there is no such name.
    pub(super) code: u8,
    /// Whether there was no room for all of it.
    pub(super) is_truncated: bool,
    records: Vec<(DnsName, Record)>,
}

/// A question as a message of that number.
pub(super) fn write(number: u16, question: &Question) -> Vec<u8> {
    let mut message = Vec::with_capacity(300);
    // One question, and one addition: how large a datagram may be (RFC 6891).
    for word in [number, RECURSION_DESIRED, 1, 0, 0, 1] {
        message.extend_from_slice(&word.to_be_bytes());
    }
    name::write(&question.name, &mut message);
    for word in [question.kind.number(), INTERNET] {
        message.extend_from_slice(&word.to_be_bytes());
    }
    message.push(0);
    for word in [41, DATAGRAM, 0, 0, 0] {
        message.extend_from_slice(&u16::to_be_bytes(word));
    }
    message
}

/// Reads the answer to that question with that number; `None` where it is none.
pub(super) fn read(message: &[u8], number: u16, question: &Question) -> Option<Reply> {
    let mut reader = Reader { message, at: 0 };
    let (found, flags) = (reader.word()?, reader.word()?);
    let [questions, answers] = [reader.word()?, reader.word()?];
    reader.take(4)?;
    let is_answer = found == number
        && flags & IS_ANSWER != 0
        && flags & OPERATION == 0
        && questions == 1
        && reader.name()? == question.name
        && reader.word()? == question.kind.number()
        && reader.word()? == INTERNET;
    if !is_answer {
        return None;
    }
    let is_truncated = flags & IS_TRUNCATED != 0;
    let mut records = Vec::new();
    if !is_truncated {
        for _ in 0..answers {
            records.push(reader.record()?);
        }
    }
    Some(Reply {
        // Four bits.
        code: u8::try_from(flags & CODE).unwrap_or(u8::MAX),
        is_truncated,
        records,
    })
}

impl Reply {
    /// The records that answer a question, by aliases where there are some. Each holds for as long
    /// as all that led to it.
    pub(super) fn answers(&self, question: &Question) -> Vec<Record> {
        let mut name = &question.name;
        let mut ttl = u32::MAX;
        for _ in 0..ALIASES {
            let of_name = self.records.iter().filter(|(owner, _)| owner == name);
            let of_name: Vec<&Record> = of_name.map(|(_, record)| record).collect();
            let found = of_name.iter().filter(|it| question.is_met_by(&it.data));
            let found = found.map(|record| Record {
                ttl: record.ttl.min(ttl),
                data: record.data.clone(),
            });
            let found: Vec<Record> = found.collect();
            if !found.is_empty() {
                return found;
            }
            let next = of_name.iter().find_map(|it| match &it.data {
                Data::Alias(next) => Some((next, it.ttl)),
                _ => None,
            });
            let Some((next, of_alias)) = next else {
                break;
            };
            (name, ttl) = (next, ttl.min(of_alias));
        }
        Vec::new()
    }
}

impl Question {
    fn is_met_by(&self, data: &Data) -> bool {
        match data {
            Data::Service { .. } => self.kind == Kind::Srv,
            Data::Address(IpAddr::V4(_)) => self.kind == Kind::A,
            Data::Address(IpAddr::V6(_)) => self.kind == Kind::Aaaa,
            Data::Alias(_) | Data::Other => false,
        }
    }
}

/// A message, and how far it is read.
struct Reader<'m> {
    message: &'m [u8],
    at: usize,
}

impl<'m> Reader<'m> {
    fn take(&mut self, length: usize) -> Option<&'m [u8]> {
        let taken = self.message.get(self.at..self.at + length)?;
        self.at += length;
        Some(taken)
    }

    fn word(&mut self) -> Option<u16> {
        let taken = self.take(2)?;
        Some(u16::from_be_bytes(taken.try_into().ok()?))
    }

    fn name(&mut self) -> Option<DnsName> {
        name::read(self.message, &mut self.at)
    }

    fn record(&mut self) -> Option<(DnsName, Record)> {
        let owner = self.name()?;
        let (kind, class) = (self.word()?, self.word()?);
        let ttl = u32::from_be_bytes(self.take(4)?.try_into().ok()?);
        let length = usize::from(self.word()?);
        let end = self.at + length;
        let data = match (class, kind) {
            (INTERNET, 1) => {
                let bytes: [u8; 4] = self.take(length)?.try_into().ok()?;
                Data::Address(Ipv4Addr::from(bytes).into())
            }
            (INTERNET, 28) => {
                let bytes: [u8; 16] = self.take(length)?.try_into().ok()?;
                Data::Address(Ipv6Addr::from(bytes).into())
            }
            (INTERNET, ALIAS) => Data::Alias(self.name()?),
            (INTERNET, 33) => Data::Service {
                priority: self.word()?,
                weight: self.word()?,
                port: self.word()?,
                target: self.name()?,
            },
            _ => {
                self.take(length)?;
                Data::Other
            }
        };
        if self.at != end {
            return None;
        }
        let ttl = match i32::try_from(ttl) {
            Ok(_) => ttl,
            // RFC 2181, section 8: with its highest bit set it is zero.
            Err(_) => 0,
        };
        Some((owner, Record { ttl, data }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(kind: Kind) -> Question {
        let name = DnsName::parse("_books._tcp.example.com").expect("a name");
        Question { name, kind }
    }

    /// An answer to that question, with records of owner, number, TTL and data.
    fn answer(question: &Question, records: &[(&str, u16, u32, Vec<u8>)]) -> Vec<u8> {
        let mut message = write(7, question);
        // Without the addition.
        message.truncate(message.len() - 11);
        message[2] |= 0x80;
        message[7] = u8::try_from(records.len()).expect("a number");
        message[11] = 0;
        for (owner, kind, ttl, data) in records {
            name::write(&DnsName::parse(owner).expect("a name"), &mut message);
            message.extend_from_slice(&kind.to_be_bytes());
            message.extend_from_slice(&INTERNET.to_be_bytes());
            message.extend_from_slice(&ttl.to_be_bytes());
            let length = u16::try_from(data.len()).expect("a length");
            message.extend_from_slice(&length.to_be_bytes());
            message.extend_from_slice(data);
        }
        message
    }

    fn service(target: &str) -> Vec<u8> {
        let mut data = vec![0, 1, 0, 20, 0x1F, 0x90];
        match DnsName::parse(target) {
            Some(target) => name::write(&target, &mut data),
            None => data.push(0),
        }
        data
    }

    fn alias(target: &str) -> Vec<u8> {
        let mut data = Vec::new();
        name::write(&DnsName::parse(target).expect("a name"), &mut data);
        data
    }

    const OWN: &str = "_books._tcp.example.com";

    #[test]
    fn records_of_a_service_are_read() {
        let question = question(Kind::Srv);
        let message = answer(&question, &[(OWN, 33, 60, service("one.example.com"))]);
        let reply = read(&message, 7, &question).expect("an answer");
        let expected = Record {
            ttl: 60,
            data: Data::Service {
                priority: 1,
                weight: 20,
                port: 8080,
                target: DnsName::parse("one.example.com").expect("a name"),
            },
        };
        assert_eq!(reply.answers(&question), [expected]);
    }

    /// Spoofed answers: what does not repeat number and question is no answer (RFC 5452, section
    /// 9.1).
    #[test]
    fn what_does_not_answer_the_question_is_no_answer() {
        let asked = question(Kind::Srv);
        let good = answer(&asked, &[(OWN, 33, 60, service("one.example.com"))]);
        assert!(read(&good, 7, &asked).is_some());
        assert_eq!(read(&good, 8, &asked), None, "another number");
        assert_eq!(read(&good, 7, &question(Kind::A)), None, "another kind");
        let other = Question {
            name: DnsName::parse("_books._tcp.example.org").expect("a name"),
            kind: Kind::Srv,
        };
        assert_eq!(read(&good, 7, &other), None, "another name");
        for (at, value, what) in [
            (2, 0x01, "a question"),
            (2, 0x91, "another operation"),
            (5, 0, "no question in it"),
            (5, 2, "two questions in it"),
        ] {
            let mut wrong = good.clone();
            wrong[at] = value;
            assert_eq!(read(&wrong, 7, &asked), None, "{what}");
        }
    }

    /// Whatever is cut off or changed, reading ends, and never with a record that was not sent.
    #[test]
    fn what_is_malformed_is_no_answer() {
        let asked = question(Kind::Srv);
        let records = [
            (OWN, 33, 60, service("one.example.com")),
            (OWN, 16, 60, vec![3, b'a', b'b', b'c']),
        ];
        let good = answer(&asked, &records);
        for length in 0..good.len() {
            assert_eq!(read(&good[..length], 7, &asked), None, "{length} bytes");
        }
        for (kind, data) in [
            (33, vec![0, 1, 0, 20]),
            (33, [service("one.example.com"), vec![0]].concat()),
            (1, vec![10, 0, 0]),
            (28, vec![0; 15]),
            (5, Vec::new()),
        ] {
            let wrong = answer(&asked, &[(OWN, kind, 60, data)]);
            assert_eq!(read(&wrong, 7, &asked), None, "of kind {kind}");
        }
        for at in 0..good.len() {
            for bit in 0..8 {
                let mut changed = good.clone();
                changed[at] ^= 1 << bit;
                // It ends, with whatever it comes to.
                let _ = read(&changed, 7, &asked);
            }
        }
    }

    /// Records of names that nobody asked for (CVE-2008-1447 and its kind).
    #[test]
    fn records_of_other_names_and_kinds_say_nothing() {
        let asked = question(Kind::Srv);
        let message = answer(
            &asked,
            &[
                (
                    "_books._tcp.example.org",
                    33,
                    60,
                    service("evil.example.org"),
                ),
                (OWN, 1, 60, vec![203, 0, 113, 66]),
                ("one.example.com", 1, 60, vec![203, 0, 113, 66]),
            ],
        );
        let reply = read(&message, 7, &asked).expect("an answer");
        assert_eq!(reply.answers(&asked), []);
    }

    #[test]
    fn aliases_are_followed_and_none_for_ever() {
        let asked = question(Kind::Srv);
        let message = answer(
            &asked,
            &[
                ("b.example.com", 33, 60, service("one.example.com")),
                (OWN, 5, 20, alias("a.example.com")),
                ("a.example.com", 5, 40, alias("b.example.com")),
            ],
        );
        let reply = read(&message, 7, &asked).expect("an answer");
        let found = reply.answers(&asked);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].ttl, 20, "the shortest of all that led to it");
        let ring = answer(
            &asked,
            &[
                (OWN, 5, 20, alias("a.example.com")),
                ("a.example.com", 5, 40, alias(OWN)),
            ],
        );
        let reply = read(&ring, 7, &asked).expect("an answer");
        assert_eq!(reply.answers(&asked), []);
    }

    #[test]
    fn a_time_with_its_highest_bit_set_is_zero() {
        let asked = question(Kind::Srv);
        for (said, read_as) in [(0x7FFF_FFFF, 0x7FFF_FFFF), (0x8000_0000, 0)] {
            let message = answer(&asked, &[(OWN, 33, said, service("one.example.com"))]);
            let reply = read(&message, 7, &asked).expect("an answer");
            assert_eq!(reply.answers(&asked)[0].ttl, read_as);
        }
    }

    #[test]
    fn the_root_as_a_target_is_read() {
        let asked = question(Kind::Srv);
        let message = answer(&asked, &[(OWN, 33, 60, service(""))]);
        let reply = read(&message, 7, &asked).expect("an answer");
        let found = reply.answers(&asked);
        assert!(
            matches!(&found[0].data, Data::Service { target, .. } if target.is_root()),
            "{found:?}"
        );
    }
}
