//! What DNS says of a service, as providers (RFC 2782).
//!
//! Whoever can change what DNS says can name any host and any port. Therefore an address counts
//! only in the networks that the file names, numbers of records are bounded, and an answer of which
//! nothing counts is no answer: it takes no backend out of use. A zone that has no service any more
//! says so with the root as its target.
//!
//! The rule kept here: no name from DNS gets into a request or into TLS.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use soapstone_registry::Owner;
use tokio::time::Instant;

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
/// How long the question for the addresses of one host may take.
const PATIENCE_WITH_A_NAME: Duration = Duration::from_secs(5);
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

/// The addresses that are known of hosts from former answers.
pub(super) type KnownAddresses = BTreeMap<String, BTreeSet<IpAddr>>;

/// Why there is no answer that counts.
#[derive(Debug)]
pub(super) enum LookupError {
    /// There is none at all.
    Dns(DnsError),
    /// The questions took too long.
    Late(Duration),
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
            Self::Late(limit) => write!(out, "the answers were not complete within {limit:?}"),
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

/// Asks DNS for the providers of a service. A host whose addresses cannot be looked up keeps those
/// that are known of it, and takes no other one out of use.
///
/// # Errors
/// Why there is no answer that counts: what is known stays in use.
pub(super) async fn look_up(
    source: &DnsSource,
    known: &KnownAddresses,
) -> Result<Found, LookupError> {
    let servers = match &source.servers {
        Some(servers) => servers.clone(),
        None => servers_of_the_system(),
    };
    let asker = Asker {
        servers,
        end: Instant::now() + PATIENCE,
    };
    answered(source, &asker, known).await
}

/// Asks servers up to some moment.
struct Asker {
    servers: Vec<SocketAddr>,
    end: Instant,
}

impl Asker {
    async fn ask(&self, name: &DnsName, kind: Kind) -> Result<Vec<Record>, LookupError> {
        let name = name.clone();
        let question = Question { name, kind };
        let asking = tokio::time::timeout_at(self.end, ask(&self.servers, &question));
        Ok(asking.await.map_err(|_| LookupError::Late(PATIENCE))??)
    }

    /// The same for an address. One name gets a part of the time: others wait for it.
    async fn addresses(&self, name: &DnsName, kind: Kind) -> Result<Vec<Record>, LookupError> {
        let asking = tokio::time::timeout(PATIENCE_WITH_A_NAME, self.ask(name, kind));
        asking
            .await
            .unwrap_or(Err(LookupError::Late(PATIENCE_WITH_A_NAME)))
    }
}

/// Where the hosts of a service are.
struct Located<'s> {
    addresses: BTreeMap<&'s DnsName, Vec<IpAddr>>,
    /// What could not be looked up, and why.
    failed: Vec<String>,
    ttl: u32,
}

/// Looks up the hosts of records.
///
/// # Errors
/// None could be looked up, or they have too many addresses.
async fn locate<'s>(
    services: &'s [Service],
    asker: &Asker,
    known: &KnownAddresses,
) -> Result<Located<'s>, LookupError> {
    let mut located = Located {
        addresses: BTreeMap::new(),
        failed: Vec::new(),
        ttl: u32::MAX,
    };
    let mut count = 0;
    let mut has_answer = false;
    let mut first = None;
    for service in services {
        let target = &service.target;
        if target.is_root() || located.addresses.contains_key(target) {
            continue;
        }
        let mut of_target = Vec::new();
        let mut failures = Vec::new();
        for kind in [Kind::A, Kind::Aaaa] {
            match asker.addresses(target, kind).await {
                Ok(records) => {
                    has_answer = true;
                    located.ttl = shortest(&records, located.ttl);
                    of_target.extend(records.iter().filter_map(|record| match record.data {
                        Data::Address(address) => Some(address.to_canonical()),
                        _ => None,
                    }));
                }
                Err(error) => failures.push((kind, error)),
            }
        }
        for (kind, error) in failures {
            if kind == Kind::A || of_target.is_empty() {
                // It is asked again as soon as that may be.
                located.ttl = 0;
            }
            let of_host = known.get(&target.to_string()).into_iter().flatten();
            let is_asked = |it: &&IpAddr| it.is_ipv4() == (kind == Kind::A);
            of_target.extend(of_host.filter(is_asked));
            let failed = format!("{target} cannot be looked up, what is known stays: {error}");
            located.failed.push(failed);
            first = first.or(Some(error));
        }
        count += of_target.len();
        if count > MOST {
            let (what, most) = ("addresses", MOST);
            return Err(LookupError::TooMany { what, most });
        }
        located.addresses.insert(target, of_target);
    }
    match first {
        Some(error) if !has_answer => Err(error),
        _ => Ok(located),
    }
}

/// Where a service is, by one record.
struct Service {
    priority: u16,
    weight: u16,
    port: u16,
    target: DnsName,
}

async fn answered(
    source: &DnsSource,
    asker: &Asker,
    known: &KnownAddresses,
) -> Result<Found, LookupError> {
    let records = asker.ask(&source.name, Kind::Srv).await?;
    let ttl = shortest(&records, u32::MAX);
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
    let located = locate(&services, asker, known).await?;
    let (providers, passed_over) = providers(source, &services, located.addresses, located.failed);
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
        holds: holding(ttl.min(located.ttl)),
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
    mut addresses: BTreeMap<&DnsName, Vec<IpAddr>>,
    failed: Vec<String>,
) -> (Vec<KnownProvider>, Vec<String>) {
    let mut passed_over = failed;
    for (target, of_target) in &mut addresses {
        if of_target.is_empty() {
            passed_over.push(format!("{target} has no address"));
        }
        of_target.sort();
        of_target.dedup();
        of_target.retain(|address| {
            let is_admitted = source.admits(*address);
            if !is_admitted {
                passed_over.push(format!("{target} is at {address}, where no backend may be"));
            }
            is_admitted
        });
    }
    let counts = addresses.values().map(Vec::len);
    let scale = counts.fold(1, common_multiple);
    let mut found: Vec<(u16, KnownProvider)> = Vec::new();
    for service in services {
        let Service {
            target,
            port,
            priority,
            weight,
        } = service;
        let Some(of_target) = addresses.get(target) else {
            passed_over.push(format!("{target} has no address"));
            continue;
        };
        if *port == 0 {
            passed_over.push(format!("{target} has port 0"));
            continue;
        }
        let weight = share(*weight, scale, of_target.len());
        for address in of_target {
            let provider = KnownProvider {
                access_point: source.url(*port),
                owner: Owner::default(),
                backup: false,
                target: Some(DnsTarget {
                    host: target.to_string(),
                    address: SocketAddr::new(*address, *port),
                    weight,
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

/// Largest number that weights are multiplied by.
const LARGEST_SCALE: usize = 5_040;

/// A number that both divide, or the largest one that counts.
fn common_multiple(one: usize, other: usize) -> usize {
    let other = other.max(1);
    let mut multiples = (1..=other).map(|times| one * times);
    let found = multiples.find(|it| it.is_multiple_of(other));
    found.unwrap_or(one).min(LARGEST_SCALE)
}

/// The part of a record's weight that each of its addresses has: the weight is that of the host
/// (RFC 2782).
fn share(weight: u16, scale: usize, addresses: usize) -> u32 {
    let scaled = usize::from(weight).max(1) * scale / addresses.max(1);
    u32::try_from(scaled).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests;
