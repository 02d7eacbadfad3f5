//! Health checks of backends, where a route has several and asks for them.
//!
//! The rule kept here: each backend of the configuration in use is checked by one task. A reload
//! ends those of the former one, and what they found stays known.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Method, Request, StatusCode, Uri, header};
use soapstone_broker::MemberId;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::current::Current;
use crate::route::balancer::Balancer;
use crate::wire::backend::Backend;
use crate::wire::body::Upload;

/// Checks the backends of each configuration for as long as it is in use.
pub(super) async fn run(current: &Current) {
    let mut replacements = current.replacements();
    loop {
        replacements.mark_unchanged();
        let mut checking = JoinSet::new();
        for route in current.serving().routes.iter() {
            let Some(balancer) = &route.balancer else {
                continue;
            };
            for (member, of) in balancer.pool.ids().zip(&balancer.members) {
                if let Some(backend) = &of.checked {
                    let backend = Arc::clone(backend);
                    checking.spawn(check(Arc::clone(balancer), member, backend));
                }
            }
        }
        if replacements.changed().await.is_err() {
            return;
        }
        checking.shutdown().await;
    }
}

/// Checks one backend again and again.
async fn check(balancer: Arc<Balancer>, member: MemberId, backend: Arc<Backend>) {
    let Some(spec) = balancer.rules.check.clone() else {
        return;
    };
    // Backends that share a host are not all asked at the same moment.
    let apart = spread(spec.interval, member.index(), balancer.members.len());
    let mut next = Instant::now() + apart;
    loop {
        tokio::time::sleep_until(next).await;
        let asked = tokio::time::timeout(spec.timeout, answers(&backend, spec.path.as_deref()));
        let healthy = asked.await.unwrap_or(false);
        backend.close_idle(Duration::ZERO);
        balancer.checked(member, healthy);
        next = (next + spec.interval).max(Instant::now());
    }
}

/// The part of an interval after which the first check of one of several comes.
fn spread(interval: Duration, index: usize, of: usize) -> Duration {
    let (index, of) = (u32::try_from(index), u32::try_from(of));
    interval * index.unwrap_or(0) / of.unwrap_or(1).max(1)
}

/// Whether the backend takes a connection, and answers with a success where a path is asked for.
async fn answers(backend: &Arc<Backend>, path: Option<&str>) -> bool {
    let Some(path) = path else {
        return backend.probe().await.is_ok();
    };
    let mut request = Request::new(Upload::empty());
    *request.method_mut() = Method::GET;
    *request.uri_mut() = path.parse().unwrap_or(Uri::from_static("/"));
    let headers = request.headers_mut();
    headers.insert(header::HOST, backend.authority().clone());
    let agent = HeaderValue::from_static("soapstone-health-check");
    headers.insert(header::USER_AGENT, agent);
    let answer = backend.send(request, Instant::now()).await;
    let status = answer.map(|response| response.status());
    status.as_ref().is_ok_and(StatusCode::is_success)
}
