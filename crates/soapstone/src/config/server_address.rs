//! Where the servers of a store are: addresses in lists, and the URL of a single one.
//!
//! The rule kept here: a text that is wrong and may hold a password is shown to nobody.

use std::fmt;

use super::confidential::Confidential;
use super::quoting::OTHER_TEXT;
use super::table::Table;

/// A server's address.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerAddress {
    /// Name or address; IPv6 without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(out, "[{}]:{}", self.host, self.port)
        } else {
            write!(out, "{}:{}", self.host, self.port)
        }
    }
}

/// The addresses of a list, where it is there; `port` is the customary one.
pub(super) fn read_addresses(
    table: &mut Table<'_>,
    key: &'static str,
    port: u16,
) -> Option<Vec<ServerAddress>> {
    let texts = table.strings(key)?;
    if texts.is_empty() {
        let place = table.place_of(key).unwrap_or_default();
        table.report(place, format!("`{key}` must name at least one server"));
        return None;
    }
    let mut addresses = Vec::with_capacity(texts.len());
    for text in &texts {
        match parse_address(&text.value, port) {
            Some(address) => addresses.push(address),
            None => table.report_with_hint(
                text.place,
                format!("`{key}` must name servers, found {OTHER_TEXT}"),
                format!("for example \"10.0.0.1:{port}\" or \"[::1]:{port}\""),
            ),
        }
    }
    (addresses.len() == texts.len()).then_some(addresses)
}

/// `host`, `host:port` or `[address]:port`.
fn parse_address(text: &str, customary_port: u16) -> Option<ServerAddress> {
    let (host, port) = match text.strip_prefix('[') {
        Some(bracketed) => {
            let (host, rest) = bracketed.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            let port = match rest {
                "" => None,
                rest => Some(rest.strip_prefix(':')?),
            };
            (host, port)
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let named = !host.is_empty()
        && host
            .bytes()
            .all(|octet| octet.is_ascii_alphanumeric() || b"-_.:".contains(&octet));
    let port = match port {
        Some(digits) => digits.parse().ok().filter(|port| *port != 0)?,
        None => customary_port,
    };
    named.then(|| ServerAddress {
        host: host.to_owned(),
        port,
    })
}

/// `redis[s]://[[user]:password@]host[:port][/database]`.
pub(super) struct Url {
    pub(super) tls: bool,
    pub(super) address: ServerAddress,
    pub(super) username: Option<String>,
    pub(super) password: Option<Confidential<String>>,
    pub(super) database: Option<u32>,
}

impl Url {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let tls = match scheme {
            "redis" | "valkey" => false,
            "rediss" | "valkeys" => true,
            _ => return None,
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let database = match path {
            "" => None,
            digits => Some(digits.parse().ok()?),
        };
        let (login, server) = match authority.rsplit_once('@') {
            Some((login, server)) => (Some(login), server),
            None => (None, authority),
        };
        let (username, password) = match login {
            Some(login) => {
                let (username, password) = login.split_once(':')?;
                (percent_decoded(username)?, Some(percent_decoded(password)?))
            }
            None => (String::new(), None),
        };
        Some(Self {
            tls,
            address: parse_address(server, 6379)?,
            username: Some(username).filter(|name| !name.is_empty()),
            password: password.map(Confidential::new),
            database,
        })
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(octet) = rest.next() {
        let octet = match octet {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? << 4 | digit()?).ok()?
            }
            octet => octet,
        };
        octets.push(octet);
    }
    String::from_utf8(octets).ok()
}
