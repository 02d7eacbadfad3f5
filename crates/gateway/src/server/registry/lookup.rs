//! What DNS says of a service, as providers (RFC 2782).
//!
//! Whoever can change what DNS says can name any host and any port. Therefore an address counts
//! only in the networks that the file names, numbers of records are bounded, and an answer of which
//! nothing counts is no answer: it takes no backend out of use. A zone that has no service any more
//! says so with the root as its target.
//!
//! The rule kept here: no name from DNS gets into a request or into TLS.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::config::dns_name::DnsName;
use crate::config::source::{DnsTarget, KnownProvider};
use crate::config::srv::DnsSource;
use crate::wire::dns::{Data, DnsError, Kind, Question, Record, ask, servers_of_the_system};

/// Most records of a service: each may be one more name to look up.
const MOST_RECORDS: usize = 64;
/// Most addresses that they have in all, and most backends that come of them: as many as a route
/// has.
const MOST: usize = 256;
/// How long all questions about a service may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The shortest time for which an answer holds, whatever it says, and after which DNS is asked
/// again where it gave none. Backends do not change more often than every five seconds, either.
pub(super) const SHORTEST: Duration = Duration::from_secs(5);
/// The longest time for which an answer holds. One that was wrong is not believed for longer.
const LONGEST: Duration = Duration::from_mins(5);

/// What DNS says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) providers: Vec<KnownProvider>,
    /// What was passed over, and why.
    pub(super) passed_over: Vec<String>,
    /// For how long it holds.
    pub(super) holds: Duration,
}

/// Why there is no answer that counts.
#[derive(Debug)]
pub(super) enum LookupError {
    /// There is none at all.
    Dns(DnsError),
    /// The questions took too long.
    Late,
    /// There is no record of the service.
    NoRecord,
    /// There are more than count.
    TooMany { what: &'static str, most: usize },
    /// None of them has an address that may be a backend's.
    Unusable {
        /// Why the first one has none.
        first: String,
    },
}

impl fmt::Display for LookupError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dns(error) => error.fmt(out),
            Self::Late => write!(out, "the answers were not complete within {PATIENCE:?}"),
            Self::NoRecord => out.write_str("there is no record of the service"),
            Self::TooMany { what, most } => write!(out, "expected at most {most} {what}"),
            Self::Unusable { first } => write!(out, "no record can be used: {first}"),
        }
    }
}

impl From<DnsError> for LookupError {
    fn from(error: DnsError) -> Self {
        Self::Dns(error)
    }
}

/// Asks DNS for the providers of a service.
///
/// # Errors
/// Why there is no answer that counts: what is known stays in use.
pub(super) async fn look_up(source: &DnsSource) -> Result<Found, LookupError> {
    let asking = tokio::time::timeout(PATIENCE, answered(source));
    asking.await.unwrap_or(Err(LookupError::Late))
}

/// Where a service is, by one record.
struct Service {
    priority: u16,
    weight: u16,
    port: u16,
    target: DnsName,
}

async fn answered(source: &DnsSource) -> Result<Found, LookupError> {
    let servers = match &source.servers {
        Some(servers) => servers.clone(),
        None => servers_of_the_system(),
    };
    let question = |name: &DnsName, kind| Question {
        name: name.clone(),
        kind,
    };
    let records = ask(&servers, &question(&source.name, Kind::Srv)).await?;
    let mut ttl = shortest(&records, u32::MAX);
    let services = services(records)?;
    if let [only] = &services[..]
        && only.target.is_root()
    {
        return Ok(Found {
            providers: Vec::new(),
            passed_over: Vec::new(),
            holds: holding(ttl),
        });
    }
    let mut addresses: BTreeMap<&DnsName, Vec<IpAddr>> = BTreeMap::new();
    let mut count = 0;
    for service in &services {
        let target = &service.target;
        if target.is_root() || addresses.contains_key(target) {
            continue;
        }
        let mut of_target = Vec::new();
        for kind in [Kind::A, Kind::Aaaa] {
            let records = ask(&servers, &question(target, kind)).await?;
            ttl = shortest(&records, ttl);
            of_target.extend(records.iter().filter_map(|record| match record.data {
                Data::Address(address) => Some(address.to_canonical()),
                _ => None,
            }));
        }
        count += of_target.len();
        if count > MOST {
            let (what, most) = ("addresses", MOST);
            return Err(LookupError::TooMany { what, most });
        }
        addresses.insert(target, of_target);
    }
    let (providers, passed_over) = providers(source, &services, &addresses);
    if providers.len() > MOST {
        let (what, most) = ("backends", MOST);
        return Err(LookupError::TooMany { what, most });
    }
    if let (true, Some(first)) = (providers.is_empty(), passed_over.first()) {
        let first = first.clone();
        return Err(LookupError::Unusable { first });
    }
    Ok(Found {
        providers,
        passed_over,
        holds: holding(ttl),
    })
}

fn shortest(records: &[Record], ttl: u32) -> u32 {
    let times = records.iter().map(|record| record.ttl);
    times.fold(ttl, u32::min)
}

fn holding(ttl: u32) -> Duration {
    Duration::from_secs(ttl.into()).clamp(SHORTEST, LONGEST)
}

fn services(records: Vec<Record>) -> Result<Vec<Service>, LookupError> {
    if records.len() > MOST_RECORDS {
        let (what, most) = ("records of a service", MOST_RECORDS);
        return Err(LookupError::TooMany { what, most });
    }
    let services = records.into_iter().filter_map(|record| match record.data {
        Data::Service {
            priority,
            weight,
            port,
            target,
        } => Some(Service {
            priority,
            weight,
            port,
            target,
        }),
        _ => None,
    });
    let services: Vec<Service> = services.collect();
    match services.is_empty() {
        true => Err(LookupError::NoRecord),
        false => Ok(services),
    }
}

/// The providers in an order of their own, and what is none. Those of the first priority that has
/// any are preferred, and all others are backups.
fn providers(
    source: &DnsSource,
    services: &[Service],
    addresses: &BTreeMap<&DnsName, Vec<IpAddr>>,
) -> (Vec<KnownProvider>, Vec<String>) {
    let mut passed_over = Vec::new();
    let mut found: Vec<(u16, KnownProvider)> = Vec::new();
    for service in services {
        let Service {
            target,
            port,
            priority,
            weight,
        } = service;
        let of_target = addresses.get(target).map(Vec::as_slice).unwrap_or_default();
        if of_target.is_empty() {
            passed_over.push(format!("{target} has no address"));
        }
        if *port == 0 {
            passed_over.push(format!("{target} has port 0"));
            continue;
        }
        for address in of_target {
            if !source.admits(*address) {
                passed_over.push(format!("{target} is at {address}, where no backend may be"));
                continue;
            }
            let provider = KnownProvider {
                access_point: source.url(*port),
                owner: String::new(),
                backup: false,
                target: Some(DnsTarget {
                    host: target.to_string(),
                    address: SocketAddr::new(*address, *port),
                    weight: u32::from(*weight).max(1),
                }),
            };
            found.push((*priority, provider));
        }
    }
    let first = found.iter().map(|(priority, _)| *priority).min();
    let providers = found.into_iter().map(|(priority, provider)| KnownProvider {
        backup: Some(priority) != first,
        ..provider
    });
    let mut providers: Vec<KnownProvider> = providers.collect();
    providers.sort();
    providers.dedup();
    passed_over.sort();
    passed_over.dedup();
    (providers, passed_over)
}

#[cfg(test)]
mod tests;
