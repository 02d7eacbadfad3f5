//! Ganglia: what the registry knows as the XML that `gmetad` polls, and what it polls from `gmond`.
//!
//! The rule kept here: a peer that says nothing, or never ends, is left after a while.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use soapstone::crypto::{DigestAlgorithm, digest, hexadecimal};
use soapstone_registry::ganglia::{self, HostMetrics, LARGEST};
use soapstone_registry::{Answer, Figures, OTHER, Operation, Provider, ProviderQuery, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::shared::Shared;

/// How long a peer may take for a document.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a `gmond` is asked: as often as `gmetad` would be asked for new figures by people.
pub(crate) const POLLING: Duration = Duration::from_secs(2);
/// Documents that are written at once.
const AT_ONCE: usize = 8;
/// Characters of a host's name, before what tells it from others.
const LONGEST_NAME: usize = 150;
/// Characters of the local name of an operation in the name of a metric.
const LONGEST_OPERATION: usize = 60;
/// `TMAX` of what is served, in seconds: monitors report every two.
const TMAX: u64 = 20;

/// Serves documents: each connection gets one, and is closed.
pub(crate) async fn serve(listener: TcpListener, cluster: String, shared: Arc<Shared>) {
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let Ok((mut stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        // Others wait to be accepted.
        let Ok(turn) = Arc::clone(&turns).acquire_owned().await else {
            return;
        };
        let (cluster, shared) = (cluster.clone(), Arc::clone(&shared));
        tokio::spawn(async move {
            let _turn = turn;
            let written = tokio::task::spawn_blocking(move || document(&cluster, &shared)).await;
            let document = written.unwrap_or_default();
            let writing = async {
                stream.write_all(document.as_bytes()).await?;
                stream.shutdown().await
            };
            // A peer that does not read has left by then.
            let _ = tokio::time::timeout(PATIENCE, writing).await;
        });
    }
}

fn document(cluster: &str, shared: &Shared) -> String {
    let query = Request::FindProviders(ProviderQuery {
        operations: true,
        ..ProviderQuery::default()
    });
    let providers = match shared.inquire(&query) {
        Ok(Answer::Providers(providers)) => providers.found,
        _ => Vec::new(),
    };
    let hosts = hosts(&providers);
    ganglia::write(cluster, Timestamp::now().as_second(), &hosts)
}

/// Most operations of one provider that are metrics, and of all together. `gmetad` makes a file of
/// some 12 kB for each of the eleven metrics of an operation.
const OPERATIONS_OF_ONE: usize = 16;
const OPERATIONS_OF_ALL: usize = 2000;

/// The providers that reported, as hosts of Ganglia.
fn hosts(providers: &[Provider]) -> Vec<HostMetrics> {
    let mut operations_left = OPERATIONS_OF_ALL;
    let hosts = providers.iter().filter_map(|provider| {
        let mut host = metrics(provider)?;
        let operations = busiest(provider.figures.as_ref()?);
        for operation in operations.into_iter().take(operations_left) {
            operations_left -= 1;
            add_operation(operation, &mut host.metrics);
        }
        Some(host)
    });
    hosts.collect()
}

/// The operations with most calls, those that have as many by their names: the same ones each time,
/// as far as they can be.
fn busiest(figures: &Figures) -> Vec<&Operation> {
    let named = figures.operations.iter().filter(|it| it.name != OTHER);
    let mut operations: Vec<&Operation> = named.collect();
    operations.sort_by(|one, other| {
        let by_calls = other.calls.total_cmp(&one.calls);
        by_calls.then_with(|| one.name.cmp(&other.name))
    });
    operations.truncate(OPERATIONS_OF_ONE);
    operations
}

/// The metrics of an operation. Their names begin with its local name and a digest of all of it:
/// two operations may be alike in what Ganglia leaves of their names.
fn add_operation(operation: &Operation, metrics: &mut Vec<(String, f64, String)>) {
    let Some(digest) = short_digest(&operation.name) else {
        return;
    };
    let local = operation
        .name
        .rsplit_once('}')
        .map_or(operation.name.as_str(), |(_, it)| it);
    let local: String = local.chars().take(LONGEST_OPERATION).collect();
    let mut add = |name: &str, value: f64, units: &str| {
        let name = format!("soapstone_operation_{local}-{digest}_{name}");
        metrics.push((name, value, units.to_owned()));
    };
    add("in_hand", operation.in_hand, "calls");
    add("calls", operation.calls, "calls");
    add("errors", operation.errors, "calls");
    add("refusals", operation.refusals, "calls");
    add("security_share", operation.security_share, "");
    for (name, times) in [
        ("service", operation.service),
        ("backend", operation.backend),
    ] {
        add(&format!("{name}_mean"), times.mean, "ms");
        add(&format!("{name}_p50"), times.p50, "ms");
        add(&format!("{name}_p95"), times.p95, "ms");
    }
}

/// The first digits of a digest: what tells names apart that are alike in what is left of them.
fn short_digest(text: &str) -> Option<String> {
    let digest = digest(DigestAlgorithm::Sha256, text.as_bytes()).ok()?;
    digest.as_ref().get(..4).map(hexadecimal::encode)
}

/// A provider that reported, as a host of Ganglia. Its name has business and access point in it.
fn metrics(provider: &Provider) -> Option<HostMetrics> {
    let figures = provider.figures.as_ref()?;
    let mut metrics: Vec<(String, f64, String)> = Vec::new();
    let of_host = provider.host.unwrap_or_default().figures().into_iter();
    let of_host =
        of_host.filter_map(|(name, units, it)| Some((name.to_owned(), it?, units.to_owned())));
    metrics.extend(of_host);
    let mut add = |name: &str, value: f64, units: &str| {
        metrics.push((format!("soapstone_{name}"), value, units.to_owned()));
    };
    add("in_hand", figures.in_hand, "calls");
    add("queue", figures.queue, "calls");
    add("calls", figures.calls, "calls");
    add("errors", figures.errors, "calls");
    add("refusals", figures.refusals, "calls");
    add("security_share", figures.security_share, "");
    for (name, times) in [("service", figures.service), ("backend", figures.backend)] {
        add(&format!("{name}_mean"), times.mean, "ms");
        add(&format!("{name}_p50"), times.p50, "ms");
        add(&format!("{name}_p95"), times.p95, "ms");
    }
    // Two bindings may be alike in what is left of their names.
    let digest = short_digest(&provider.binding_key)?;
    let name = format!("{} {}", provider.business, provider.access_point);
    let name: String = name.chars().take(LONGEST_NAME).collect();
    let uri = provider.access_point.parse::<http::Uri>().ok()?;
    let address = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    Some(HostMetrics {
        name: format!("{name}-{digest}"),
        address: address.to_owned(),
        seconds: provider.age.unwrap_or_default() / 1000,
        patience: TMAX,
        metrics,
    })
}

/// Asks a `gmond` again and again.
pub(crate) async fn poll(address: SocketAddr, shared: Arc<Shared>) {
    let mut polling = tokio::time::interval(POLLING);
    polling.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut was_away = false;
    loop {
        polling.tick().await;
        let read = tokio::time::timeout(PATIENCE, fetch(address)).await;
        let read = read.unwrap_or_else(|_| Err(io::Error::other("it did not end in time")));
        let hosts = read.and_then(|document| ganglia::read(&document).map_err(io::Error::other));
        match hosts {
            Ok(hosts) => {
                shared.observe(&address.to_string(), hosts);
                was_away = false;
            }
            // Its hosts get old, and are inactive soon.
            Err(error) if !was_away => {
                tracing::warn!(%address, %error, "gmond cannot be read");
                was_away = true;
            }
            Err(_) => {}
        }
    }
}

async fn fetch(address: SocketAddr) -> io::Result<Vec<u8>> {
    let stream = TcpStream::connect(address).await?;
    let mut document = Vec::new();
    // One byte more shows that there is more.
    let most = LARGEST as u64 + 1;
    stream.take(most).read_to_end(&mut document).await?;
    Ok(document)
}

#[cfg(test)]
mod tests {
    use soapstone_registry::{Owner, State};

    use super::*;

    fn provider(number: usize, operations: Vec<Operation>) -> Provider {
        Provider {
            binding_key: format!("uddi:p{number}"),
            service_key: String::new(),
            business: "b".to_owned(),
            service: "Books".to_owned(),
            port_type: None,
            access_point: "http://10.0.0.5/".to_owned(),
            wsdl: None,
            policy: None,
            agreements: Vec::new(),
            owner: Owner::default(),
            state: State::Active,
            age: None,
            taken: None,
            host: None,
            figures: Some(Figures {
                operations,
                ..Figures::default()
            }),
        }
    }

    fn operation(name: String, calls: f64) -> Operation {
        Operation {
            name,
            calls,
            ..Operation::default()
        }
    }

    fn calls_of(host: &HostMetrics) -> Vec<f64> {
        let metrics = host.metrics.iter();
        let calls = metrics.filter(|(name, ..)| {
            name.starts_with("soapstone_operation_") && name.ends_with("_calls")
        });
        calls.map(|(_, calls, _)| *calls).collect()
    }

    #[test]
    fn the_busiest_operations_are_metrics_and_all_others_are_not() {
        let many = (0..20).map(|number| operation(format!("{{urn:b}}o{number}"), number.into()));
        let other = operation(OTHER.to_owned(), 1e6);
        let hosts = hosts(&[provider(1, many.chain([other]).collect())]);
        let calls: Vec<f64> = (4..20).rev().map(f64::from).collect();
        assert_eq!(calls_of(&hosts[0]), calls);
    }

    #[test]
    fn operations_of_one_local_name_have_metrics_of_their_own() {
        let names = ["{urn:a}get", "{urn:b}get"].map(str::to_owned);
        let operations = names.map(|name| operation(name, 1.0)).into();
        let hosts = hosts(&[provider(1, operations)]);
        let mut names: Vec<&String> = hosts[0].metrics.iter().map(|(name, ..)| name).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn a_document_has_so_many_operations() {
        let operations = || (0..16).map(|number| operation(format!("o{number}"), 1.0));
        let providers: Vec<Provider> = (0..200)
            .map(|number| provider(number, operations().collect()))
            .collect();
        let hosts = hosts(&providers);
        assert_eq!(hosts.len(), 200);
        let told = hosts.iter().map(|host| calls_of(host).len()).sum::<usize>();
        assert_eq!(told, OPERATIONS_OF_ALL);
    }
}
