//! What becomes of a request: found a route, it passes as it is, is secured and opened on its way,
//! or is answered here.
//!
//! The rule kept here: on a route with an endpoint nothing reaches the backend but what the
//! endpoint let through, and the description of the service.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::{
    HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, Version, header, request,
};
use hyper::body::{Body, Incoming};
use soapstone::wss::SoapVersion;
use tokio::time::Instant;

use crate::config::Shares;
use crate::description;
use crate::exchange::secured;
use crate::observe::audit::{Found, Notes, Sender};
use crate::observe::log::Beginning;
use crate::observe::metrics::Detail;
use crate::observe::traces::{Calling, Observed, Recording, Traced};
use crate::observe::{audit, trace_context};
use crate::route::backend::BackendError;
use crate::route::{Route, Serving};
use crate::server::admin;
use crate::server::gateway::Shared;
use crate::server::listener::Connection;
use crate::shares::{Client, Turn};
use crate::wire::body::{PassError, Upload};
use crate::wire::buffers::Place;
use crate::wire::fault::{self, Cause, Failure};
use crate::wire::headers::{self, X_REQUEST_ID};
use crate::wire::media;
use crate::wire::reply::Reply;

/// Everything that is known of a request besides its body.
pub(crate) struct Exchange<'e> {
    pub(crate) connection: &'e Connection,
    pub(crate) serving: &'e Serving,
    pub(crate) route: &'e Route,
    /// When its head had arrived.
    pub(crate) started: Instant,
    /// What the audit trail and the trace will tell of it, where there is one.
    pub(crate) notes: Option<Notes>,
    /// The trace that it belongs to.
    pub(crate) trace: Option<String>,
    /// The spans of its trace, where these are recorded.
    pub(crate) recording: Option<Arc<Recording>>,
}

impl Exchange<'_> {
    pub(crate) fn shared(&self) -> &Shared {
        &self.connection.shared
    }

    /// A name for this request in logs: the one it came with, or a new one.
    pub(crate) fn request_id(&self, given: Option<&HeaderValue>) -> HeaderValue {
        match given {
            Some(given) if given.len() <= 128 && given.to_str().is_ok() => given.clone(),
            _ => self.shared().new_request_id(),
        }
    }

    /// What observes the work on its messages.
    pub(crate) fn observed(&self) -> Observed {
        Observed {
            metrics: Arc::clone(&self.route.metrics),
            recording: self.recording.clone(),
        }
    }

    /// Records a part of the work that ends now.
    pub(crate) fn record(&self, name: &'static str, begun: Instant) {
        if let Some(recording) = &self.recording {
            recording.part(name, begun, Instant::now());
        }
    }

    /// Records the request to the backend with that head, until what is returned is dropped.
    pub(crate) fn call(&self, headers: &mut HeaderMap) -> Option<Calling<'_>> {
        let recording = self.recording.as_ref()?;
        Some(recording.call(headers))
    }

    /// Notes something for the audit trail and the trace.
    pub(crate) fn note(&self, note: impl FnOnce(&mut Found)) {
        if let Some(notes) = &self.notes {
            note(&mut notes.lock());
        }
    }

    /// Writes the line of the audit trail.
    fn tell(&self, response: &Response<Reply>) {
        let (Some(audit), Some(notes)) = (&self.shared().audit, &self.notes) else {
            return;
        };
        let mut found = notes.lock();
        if found.response_bytes.is_none() {
            found.response_bytes = response.body().size_hint().exact();
        }
        let id = response.headers().get(X_REQUEST_ID);
        audit.write(&audit::Line {
            route: &self.route.name,
            request: id.and_then(|id| id.to_str().ok()),
            trace: self.trace.as_deref(),
            client: self.connection.peer.ip(),
            status: response.status(),
            microseconds: u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX),
            found: &found,
        });
    }

    /// Counts a message of whoever proved to have sent it, and holds its place for them; otherwise
    /// why it does not go on, and how long to wait.
    pub(crate) fn admit(
        &self,
        sender: Option<&Sender>,
        place: &mut Place,
    ) -> Result<(), (&'static str, Duration)> {
        let Some(Sender { by, name }) = sender else {
            return Ok(());
        };
        let shares = &self.serving.limits.per_partner;
        let partner = self.shared().clients.partner(by, name);
        // Whose certificate made the connection was counted before.
        let is_counted = |known: &Arc<Client>| Arc::ptr_eq(known, &partner);
        if !self.connection.partner.as_ref().is_some_and(is_counted) {
            let rate = partner.request(shares.rate);
            rate.map_err(|wait| ("partner-rate", wait))?;
        }
        match place.hold_for(&partner, shares.buffered) {
            true => Ok(()),
            false => Err(("partner-room", Duration::from_secs(1))),
        }
    }

    /// Counts a message of the client in work, once it is its turn; `None` where its share is full.
    pub(crate) async fn turn(&self) -> Option<Turn> {
        let workers = self.serving.limits.workers;
        self.connection.client.turn(self.shares(), workers).await
    }

    /// Notes that a message of the client was refused.
    pub(crate) fn note_refused(&self) {
        self.connection.client.refused(self.shares());
    }

    /// What the client may have.
    fn shares(&self) -> &Shares {
        let address = self.connection.peer.ip();
        self.serving.limits.of_client(address)
    }

    /// Counts a request of the client, of the partner whose certificate it shows, and of the route.
    /// Otherwise whose rate it exceeds, and how long to wait.
    fn within_rates(&self) -> Result<(), (&'static str, Duration)> {
        let limits = &self.serving.limits;
        let connection = self.connection;
        let client = connection.client.request(self.shares().rate);
        client.map_err(|wait| ("client-rate", wait))?;
        if let Some(partner) = &connection.partner {
            let partner = partner.request(limits.per_partner.rate);
            partner.map_err(|wait| ("partner-rate", wait))?;
        }
        match &self.route.rate {
            Some((rate, bucket)) => bucket
                .take(*rate, Instant::now())
                .map_err(|wait| ("route-rate", wait)),
            None => Ok(()),
        }
    }

    /// Turns a client's request head into one for the backend.
    pub(crate) fn head_for_backend(&self, head: &mut request::Parts) {
        let asked = std::mem::take(&mut head.uri);
        head.uri = self.route.backend_target(&asked);
        head.version = Version::HTTP_11;
        headers::join_lines(&mut head.headers);
        headers::remove_namesakes(&mut head.headers);
        // Whoever polls the body has had it sent; the backend need not be asked again.
        head.headers.remove(header::EXPECT);
        self.connection
            .forwarded
            .apply(&mut head.headers, self.route.backend.authority());
    }
}

/// Answers a request.
pub(crate) async fn answer(
    connection: &Connection,
    mut request: Request<Incoming>,
) -> Response<Reply> {
    let started = Instant::now();
    let shared = &connection.shared;
    let serving = shared.serving();
    if let Some((status, why)) = unfit(&mut request) {
        tracing::debug!(peer = %connection.peer, status = status.as_u16(), why, "request not looked at");
        return text(status, format!("{why}\n"));
    }
    let path = request.uri().path();
    let Some(route) = serving.routes.find(path) else {
        if admin::knows(path) && !shared.has_admin_listener() {
            return admin::answer(shared, request.method(), path, Detail::Classes).await;
        }
        shared.metrics.unrouted.fetch_add(1, Ordering::Relaxed);
        tracing::debug!(peer = %connection.peer, %path, "no route has this path");
        return not_found(path);
    };
    // Before anything is read of them: what is judged is what passes on.
    headers::remove_hop_by_hop(request.headers_mut());
    let context = trace_context::settle(request.headers_mut());
    let recording = shared.traces.begin(context, started);
    let trace = recording
        .as_ref()
        .map(|recording| recording.trace())
        .or(context.map(|context| context.trace));
    let mut traced = recording.as_ref().map(|recording| {
        let names = (route.name.as_str(), route.path());
        Traced::new(&shared.traces, recording, request.method(), names)
    });
    let is_told = shared.audit.is_some() || recording.is_some();
    let notes = is_told.then(Notes::default);
    let _in_flight = shared.in_flight();
    let exchange = Exchange {
        connection,
        serving: &serving,
        route,
        started,
        notes,
        trace: trace.map(|trace| format!("{trace:032x}")),
        recording,
    };
    exchange.note(|found| {
        found.operation = media::action_of(request.headers());
        found.request_bytes = request.body().size_hint().exact();
    });
    let response = if let Err((reason, wait)) = exchange.within_rates() {
        too_many(&exchange, request.headers(), reason, wait)
    } else if is_description(request.method(), request.uri()) {
        description::serve(&exchange, request).await
    } else if route.needs_tls && !connection.through_tls {
        let detail =
            "the policy of the route leaves protection to TLS, and the request came without";
        of_another_connection(&exchange, &request, Cause::NeedsTls, "needs-tls", detail)
    } else if route.needs_client_certificate && !connection.shows_certificate {
        let detail = "the policy of the route wants a client certificate, and the connection was made without";
        let (cause, reason) = (Cause::NeedsClientCertificate, "needs-client-certificate");
        of_another_connection(&exchange, &request, cause, reason, detail)
    } else if route.is_plain() {
        pass(&exchange, request).await
    } else if request.method() == Method::POST {
        secured::serve(&exchange, request).await
    } else {
        only_post()
    };
    route.metrics.response(response.status(), started);
    exchange.tell(&response);
    if let Some(traced) = &mut traced {
        let notes = exchange.notes.as_ref();
        traced.answered(
            response.status(),
            notes.and_then(|notes| notes.lock().reason),
        );
    }
    tracing::debug!(
        route = route.name,
        trace = exchange.trace,
        request = response
            .headers()
            .get(X_REQUEST_ID)
            .and_then(|id| id.to_str().ok()),
        peer = %connection.peer,
        status = response.status().as_u16(),
        took = ?started.elapsed(),
        "request"
    );
    response
}

/// Answers a request whose connection is not as the policy wants it.
fn of_another_connection(
    exchange: &Exchange<'_>,
    request: &Request<Incoming>,
    cause: Cause,
    reason: &'static str,
    detail: &str,
) -> Response<Reply> {
    fail(
        exchange,
        media::version_of(request.headers()).unwrap_or(SoapVersion::V11),
        cause,
        request.headers().get(X_REQUEST_ID),
        &Failure {
            reason,
            detail: detail.to_owned(),
        },
    )
}

/// Answers a request that came too soon.
pub(crate) fn too_many(
    exchange: &Exchange<'_>,
    headers: &HeaderMap,
    reason: &'static str,
    wait: Duration,
) -> Response<Reply> {
    let failure = Failure {
        reason,
        detail: format!("the next request may come in {wait:?}"),
    };
    let version = media::version_of(headers).unwrap_or(SoapVersion::V11);
    let given_id = headers.get(X_REQUEST_ID);
    let mut response = fail(exchange, version, Cause::TooMany, given_id, &failure);
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    response
        .headers_mut()
        .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    response
}

/// Passes a request and its response as they are, as streams.
async fn pass(exchange: &Exchange<'_>, request: Request<Incoming>) -> Response<Reply> {
    let (mut head, body) = request.into_parts();
    let metrics = &exchange.route.metrics;
    let version = media::version_of(&head.headers).unwrap_or(SoapVersion::V11);
    let limit = exchange.serving.limits.body;
    let announced = body.size_hint().lower();
    if announced > limit {
        return fail(
            exchange,
            version,
            Cause::TooLarge,
            head.headers.get(X_REQUEST_ID),
            &too_large(limit),
        );
    }
    let given_id = head.headers.get(X_REQUEST_ID).cloned();
    exchange.head_for_backend(&mut head);
    let mut calling = exchange.call(&mut head.headers);
    let upload = Upload::streamed(body, limit, Arc::clone(metrics));
    match exchange
        .route
        .backend
        .send(Request::from_parts(head, upload), exchange.started)
        .await
    {
        Ok(response) => {
            metrics.backend(exchange.started.elapsed());
            if let Some(calling) = &mut calling {
                calling.answered(response.status());
            }
            if response.body().size_hint().lower() > limit {
                let failure = Failure {
                    reason: "backend-broken",
                    detail: format!("the response has more than {limit} octets"),
                };
                return fail(
                    exchange,
                    version,
                    Cause::BadGateway,
                    given_id.as_ref(),
                    &failure,
                );
            }
            response.map(|body| Reply::streamed(body, limit, Arc::clone(metrics)))
        }
        Err(error) => backend_failure(exchange, version, &error, given_id.as_ref()),
    }
}

/// Answers for a backend that gave no response, or for a client whose body could not be sent to it.
pub(crate) fn backend_failure(
    exchange: &Exchange<'_>,
    version: SoapVersion,
    error: &BackendError,
    given_id: Option<&HeaderValue>,
) -> Response<Reply> {
    let (cause, reason) = match error.upload_error() {
        Some(PassError::TooLarge { .. }) => (Cause::TooLarge, "too-large"),
        Some(PassError::Broken { .. }) => (Cause::Incomplete, "incomplete"),
        None if error.is_timeout() => (Cause::GatewayTimeout, error.name()),
        None => (Cause::BadGateway, error.name()),
    };
    fail(
        exchange,
        version,
        cause,
        given_id,
        &Failure {
            reason,
            detail: error.to_string(),
        },
    )
}

pub(crate) fn too_large(limit: u64) -> Failure {
    Failure {
        reason: "too-large",
        detail: format!("the body has more than {limit} octets"),
    }
}

/// Counts and logs a failure, and answers with its fault.
pub(crate) fn fail(
    exchange: &Exchange<'_>,
    version: SoapVersion,
    cause: Cause,
    given_id: Option<&HeaderValue>,
    failure: &Failure,
) -> Response<Reply> {
    let metrics = &exchange.route.metrics;
    metrics.failure(failure.reason);
    exchange.note(|found| found.reason = Some(failure.reason));
    metrics.fault(cause.code());
    let id = exchange.request_id(given_id);
    tracing::warn!(
        route = exchange.route.name,
        request = id.to_str().unwrap_or_default(),
        trace = exchange.trace,
        peer = %exchange.connection.peer,
        reason = failure.reason,
        detail = Beginning(&failure.detail).to_string(),
        fault = cause.code(),
        "request failed"
    );
    let mut response = fault::response(version, cause);
    response.headers_mut().insert(X_REQUEST_ID, id);
    response
}

/// Whether a request asks for the description of a service or a part of it.
fn is_description(method: &Method, uri: &Uri) -> bool {
    let Some(query) = uri.query() else {
        return false;
    };
    let name = query.split(['=', '&']).next().unwrap_or_default();
    matches!(*method, Method::GET | Method::HEAD)
        && ["wsdl", "xsd", "singlewsdl"]
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known))
}

/// Why no route gets a request whose head can be read in two ways, or asks for what is not done
/// here; `None` if it is as it should be.
fn unfit(request: &mut Request<Incoming>) -> Option<(StatusCode, &'static str)> {
    if request.method() == Method::CONNECT {
        return Some((StatusCode::NOT_IMPLEMENTED, "no tunnels are made here"));
    }
    if headers::has_unknown_coding(request.headers()) {
        // RFC 9112 section 6.1.
        let why = "the only transfer coding that is known here is chunked";
        return Some((StatusCode::NOT_IMPLEMENTED, why));
    }
    if !headers::settle_host(request) {
        let why = "a request names its host, once and without a user";
        return Some((StatusCode::BAD_REQUEST, why));
    }
    None
}

fn not_found(path: &str) -> Response<Reply> {
    let why = format!("no route serves {}\n", path.escape_debug());
    text(StatusCode::NOT_FOUND, why)
}

fn only_post() -> Response<Reply> {
    let why = "a SOAP service is called with POST; its description is at ?wsdl\n";
    let mut response = text(StatusCode::METHOD_NOT_ALLOWED, why);
    response
        .headers_mut()
        .insert(header::ALLOW, HeaderValue::from_static("POST"));
    response
}

/// An answer without SOAP, for those who did not speak it.
fn text(status: StatusCode, why: impl Into<String>) -> Response<Reply> {
    let mut response = Response::new(Reply::whole(why.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    response
}
