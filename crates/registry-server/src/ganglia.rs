//! Ganglia: what the registry knows as the XML that `gmetad` polls, and what it polls from `gmond`.
//!
//! The rule kept here: a peer that says nothing, or never ends, is left after a while.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use soapstone::crypto::{DigestAlgorithm, digest};
use soapstone_registry::ganglia::{self, HostMetrics, LARGEST};
use soapstone_registry::{Answer, Provider, ProviderQuery, Request};
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
    let query = Request::FindProviders(ProviderQuery::default());
    let providers = match shared.inquire(&query) {
        Ok(Answer::Providers(providers)) => providers.found,
        _ => Vec::new(),
    };
    let hosts: Vec<HostMetrics> = providers.iter().filter_map(metrics).collect();
    ganglia::write(cluster, Timestamp::now().as_second(), &hosts)
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
    let digest = digest(DigestAlgorithm::Sha256, provider.binding_key.as_bytes()).ok()?;
    let digest: String = digest
        .as_ref()
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect();
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
