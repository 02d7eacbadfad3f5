//! Answers to HTTP requests.
//!
//! On one address messages are signed: they may ask and write, and their answers are signed. On the
//! other, which a registry need not have, anybody may ask.
//!
//! The rule kept here: a request is refused as coarsely as by the gateway until its signature is
//! verified, and is told what is wrong with it from then on.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Incoming};
use jiff::Timestamp;
use soapstone::wss::{Envelope, FaultCode, Receipt, Rejected, SoapVersion};
use soapstone::xml::{Buffers, Element, Limits, escape};
use soapstone::{Arrived, Memory, OpenedMessage, ReceiveError, Service};
use soapstone_gateway::{OneLine, refusal_fault, refusal_moment};
use soapstone_registry::names::OWN;
use soapstone_registry::{Answer, Owner, ProviderQuery, Refusal, uddi};
use soapstone_store::{Contexts, Replay};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::description::wsdl;
use crate::envelope::{around, fault};
use crate::shared::Shared;

/// How long a request may take to arrive.
const PATIENCE: Duration = Duration::from_secs(10);
/// Largest request: a business with three hundred services has some 500 kB.
const LARGEST: usize = 1 << 20;
/// Requests of one address that are worked on at once; others wait.
const AT_ONCE: usize = 32;
/// Requests of one address that are read at once: they are in memory.
const READ_AT_ONCE: usize = 256;

pub(crate) type Reply = Response<Full<Bytes>>;

/// The address for signed messages.
pub(crate) struct Signed {
    pub(crate) service: Service,
    pub(crate) replay: Replay,
    pub(crate) contexts: Contexts,
    pub(crate) shared: Arc<Shared>,
    /// Since when messages are remembered, where they are remembered in this process alone.
    pub(crate) remembers_since: Option<Timestamp>,
    turns: Turns,
}

/// What bounds the requests of one address.
pub(crate) struct Turns {
    reading: Semaphore,
    working: Semaphore,
}

impl Turns {
    pub(crate) fn new() -> Self {
        Self {
            reading: Semaphore::new(READ_AT_ONCE),
            working: Semaphore::new(AT_ONCE),
        }
    }

    /// Does work in a thread of its own. Nothing in it waits: a turn is not held for long.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let _turn = self.working.acquire().await.ok()?;
        tokio::task::spawn_blocking(work).await.ok()
    }
}

/// What is the same of requests as SOAP and as JSON.
enum Form {
    Soap,
    Json,
}

/// A request that was opened.
struct Opened {
    version: SoapVersion,
    receipt: Receipt,
    owner: Option<Owner>,
    /// The request, or what is wrong with it.
    request: Result<(Form, soapstone_registry::Request), Refusal>,
}

impl Signed {
    pub(crate) fn new(
        service: Service,
        replay: Replay,
        contexts: Contexts,
        shared: Arc<Shared>,
    ) -> Self {
        let in_memory = matches!(replay, Replay::Memory(_));
        Self {
            service,
            replay,
            contexts,
            shared,
            remembers_since: in_memory.then(Timestamp::now),
            turns: Turns::new(),
        }
    }

    /// Answers one request.
    pub(crate) async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Reply {
        if request.uri().path() == "/healthz" {
            return text(StatusCode::OK, "ok");
        }
        let Ok(reading) = self.turns.reading.acquire().await else {
            return failed();
        };
        let (version, body) = match soap_body(request).await {
            Ok(body) => body,
            Err(reply) => return reply,
        };
        let arrived = Instant::now();
        let length = body.len();
        let this = Arc::clone(&self);
        let opened = self.turns.work(move || this.open(body)).await;
        drop(reading);
        let opened = match opened {
            Some(Ok(opened)) => opened,
            Some(Err(Unopened::Refused(rejected))) => {
                tracing::warn!(reason = rejected.name(), detail = %OneLine(&rejected), "request refused");
                let (status, fault) = refusal_fault(version, rejected.fault());
                tokio::time::sleep_until(refusal_moment(arrived, length)).await;
                return soap(status, version, fault);
            }
            Some(Err(Unopened::Answered(bytes, version))) => {
                return soap(StatusCode::OK, version, bytes);
            }
            Some(Err(Unopened::Failed)) | None => return failed(),
        };
        Arc::clone(&self).serve(opened).await
    }

    fn open(&self, body: Vec<u8>) -> Result<Opened, Unopened> {
        let memory = Memory {
            replay: &self.replay,
            contexts: &self.contexts,
        };
        let arrived = self
            .service
            .receive(body, memory)
            .map_err(|error| match error.cause() {
                ReceiveError::Rejected(rejected) => Unopened::Refused(Box::new(rejected)),
                other => {
                    tracing::error!(error = %other, "no answer could be secured");
                    Unopened::Failed
                }
            })?;
        let message = match arrived {
            Arrived::Message(message) => *message,
            Arrived::Answered(token) => return Err(Unopened::Answered(token.bytes, token.version)),
        };
        let is_doubtful = self.is_doubtful(&message);
        let OpenedMessage {
            bytes,
            version,
            evidence,
            receipt,
            ..
        } = message;
        let owner = evidence.signer();
        let owner = owner.map(|it| Owner::new(it.subject(), it.issuer()));
        let request =
            read(bytes).and_then(|(form, request)| match is_doubtful && request.writes() {
                true => Err(Refusal::Doubtful),
                false => Ok((form, request)),
            });
        Ok(Opened {
            version,
            receipt,
            owner,
            request,
        })
    }

    /// Whether a message may have been accepted before this process began, whose memory of messages
    /// ended with it.
    fn is_doubtful(&self, message: &OpenedMessage) -> bool {
        let created = message.evidence.freshness.map(|it| it.created);
        match (self.remembers_since, created) {
            (None, _) => false,
            (Some(since), Some(created)) => created < since,
            (Some(_), None) => true,
        }
    }

    async fn serve(self: Arc<Self>, opened: Opened) -> Reply {
        let owner = opened.owner.as_ref();
        let answered = match opened.request {
            Err(refusal) => Err(refusal),
            Ok((form, request)) if request.writes() => {
                let answer = self.shared.write(&request, owner).await;
                if answer.is_ok() {
                    let owner = owner.map(|it| it.subject.as_str());
                    tracing::debug!(request = request.name(), owner, "request done");
                }
                answer.map(|answer| body_of(form, &answer))
            }
            Ok((form, request)) => {
                let shared = Arc::clone(&self.shared);
                let inquire = move || {
                    let answer = shared.inquire(&request);
                    answer.map(|answer| body_of(form, &answer))
                };
                match self.turns.work(inquire).await {
                    Some(answered) => answered,
                    None => return failed(),
                }
            }
        };
        let (status, envelope) = match answered {
            Ok(body) => (StatusCode::OK, around(opened.version, &body)),
            Err(refusal) => {
                let owner = owner.map(|it| it.subject.as_str());
                tracing::warn!(reason = refusal.name(), owner, detail = %OneLine(&refusal), "request refused");
                (
                    fault_status(opened.version, &refusal),
                    fault(opened.version, &refusal),
                )
            }
        };
        let (this, receipt) = (Arc::clone(&self), opened.receipt);
        let secure = move || {
            let secured = this.service.answer(envelope.into_bytes(), &receipt);
            secured.map(|secured| secured.bytes)
        };
        match self.turns.work(secure).await {
            Some(Ok(bytes)) => soap(status, opened.version, bytes),
            Some(Err(error)) => {
                tracing::error!(%error, "an answer could not be secured");
                failed()
            }
            None => failed(),
        }
    }
}

/// Why there is no request to serve.
enum Unopened {
    Refused(Box<Rejected>),
    /// It asked for a token, and this is the answer.
    Answered(Vec<u8>, SoapVersion),
    Failed,
}

fn read(bytes: Vec<u8>) -> Result<(Form, soapstone_registry::Request), Refusal> {
    let envelope = Envelope::parse(bytes, &Limits::default(), &mut Buffers::default());
    // It was an envelope before it was opened.
    let envelope = envelope.map_err(|_| Refusal::Missing { part: "envelope" })?;
    let body = envelope.body();
    match body.first_child().filter(|first| first.is(OWN, "json")) {
        Some(json) => read_json(json).map(|request| (Form::Json, request)),
        None => uddi::read_request(body).map(|request| (Form::Soap, request)),
    }
}

fn read_json(element: Element<'_>) -> Result<soapstone_registry::Request, Refusal> {
    let text = element.text_strict().unwrap_or_default();
    serde_json::from_str(&text).map_err(not_json)
}

fn not_json(_: serde_json::Error) -> Refusal {
    Refusal::Value {
        part: "json",
        expected: "an object with one request of the registry",
    }
}

fn body_of(form: Form, answer: &Answer) -> String {
    match form {
        Form::Soap => uddi::write_answer(answer),
        Form::Json => {
            let json = escape::text_of(&json_of(answer));
            format!("<json xmlns=\"{OWN}\">{json}</json>")
        }
    }
}

/// Answers are structures of texts and finite numbers: each has a JSON form.
fn json_of(answer: &Answer) -> String {
    serde_json::to_string(answer).unwrap_or_default()
}

/// Answers one inquiry without a signature, which came by `http` or `https`.
pub(crate) async fn inquire(
    shared: Arc<Shared>,
    turns: Arc<Turns>,
    scheme: &'static str,
    request: Request<Incoming>,
) -> Reply {
    let query = request.uri().query().unwrap_or_default();
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/healthz") => return text(StatusCode::OK, "ok"),
        (&Method::GET, "/uddi") if query.eq_ignore_ascii_case("wsdl") => {
            return contract(scheme, &request);
        }
        _ => {}
    }
    let Ok(_reading) = turns.reading.acquire().await else {
        return failed();
    };
    let asked = match asked(request).await {
        Ok(asked) => asked,
        Err(reply) => return reply,
    };
    let replied = turns.work(move || asked.answer(&shared)).await;
    replied.unwrap_or_else(failed)
}

/// The contract, with the address by which the client has reached it. It is of no other client, so
/// that nobody on the way keeps it. A user before the host would be part of the address.
fn contract<B>(scheme: &str, request: &Request<B>) -> Reply {
    let said = request.headers().get(header::HOST);
    let said = said.and_then(|host| host.to_str().ok()?.parse::<Authority>().ok());
    let authority = request.uri().authority().cloned().or(said);
    let Some(authority) = authority.filter(|it| !it.as_str().contains('@')) else {
        return text(StatusCode::BAD_REQUEST, "expected a Host of the request");
    };
    let media_type = HeaderValue::from_static("text/xml; charset=utf-8");
    let mut reply = reply(StatusCode::OK, media_type, wsdl(scheme, &authority));
    let no_store = HeaderValue::from_static("no-store");
    reply.headers_mut().insert(header::CACHE_CONTROL, no_store);
    reply
}

/// An inquiry that was read.
enum Inquiry {
    Providers(ProviderQuery),
    Json(Vec<u8>),
    Soap(SoapVersion, Vec<u8>),
}

async fn asked(request: Request<Incoming>) -> Result<Inquiry, Reply> {
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/providers") => {
            let query = provider_query(request.uri().query().unwrap_or_default());
            let said = "expected service=, portType=, owner= or operations=true";
            let query = query.ok_or_else(|| text(StatusCode::BAD_REQUEST, said))?;
            Ok(Inquiry::Providers(query))
        }
        (&Method::POST, "/json") => whole(request).await.map(Inquiry::Json),
        _ => {
            let (version, body) = soap_body(request).await?;
            Ok(Inquiry::Soap(version, body))
        }
    }
}

impl Inquiry {
    fn answer(self, shared: &Shared) -> Reply {
        match self {
            Self::Providers(query) => {
                json(shared.inquire(&soapstone_registry::Request::FindProviders(query)))
            }
            Self::Json(body) => match serde_json::from_slice(&body) {
                Ok(request) => json(shared.inquire(&request)),
                Err(error) => json(Err(not_json(error))),
            },
            Self::Soap(version, body) => soap_answer(shared, version, body),
        }
    }
}

fn soap_answer(shared: &Shared, version: SoapVersion, body: Vec<u8>) -> Reply {
    let buffers = &mut Buffers::default();
    let envelope = match Envelope::parse(body, &Limits::default(), buffers) {
        Ok(envelope) => envelope,
        Err(_) => {
            let (status, fault) = refusal_fault(version, FaultCode::Sender);
            return soap(status, version, fault);
        }
    };
    let version = envelope.version();
    let request = uddi::read_request(envelope.body());
    drop(envelope);
    let answer = match request {
        Ok(request) => shared.inquire(&request),
        Err(refusal) => Err(refusal),
    };
    match answer {
        Ok(answer) => {
            let body = around(version, &uddi::write_answer(&answer));
            soap(StatusCode::OK, version, body)
        }
        Err(refusal) => {
            let status = fault_status(version, &refusal);
            soap(status, version, fault(version, &refusal))
        }
    }
}

fn json(answer: Result<Answer, Refusal>) -> Reply {
    let (status, body) = match answer {
        Ok(answer) => (StatusCode::OK, json_of(&answer)),
        Err(refusal) => {
            let status = match refusal {
                Refusal::Unsigned => StatusCode::FORBIDDEN,
                _ => StatusCode::BAD_REQUEST,
            };
            let said = serde_json::json!({
                "refused": refusal.name(),
                "code": refusal.code().1,
                "message": refusal.to_string(),
            });
            (status, said.to_string())
        }
    };
    reply(status, HeaderValue::from_static("application/json"), body)
}

/// The status of a fault: SOAP 1.1, section 6.2, and SOAP 1.2 part 2, section 7.5.2.2.
fn fault_status(version: SoapVersion, refusal: &Refusal) -> StatusCode {
    match version {
        SoapVersion::V12 if !refusal.is_ours() => StatusCode::BAD_REQUEST,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The query of `/providers`, without a name that it does not know.
fn provider_query(query: &str) -> Option<ProviderQuery> {
    let mut asked = ProviderQuery::default();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=')?;
        let value = Some(decoded(value)?);
        match name {
            "service" => asked.service = value,
            "portType" => asked.port_type = value,
            "owner" => asked.owners.extend(value),
            "operations" => match value.as_deref() {
                Some("true") => asked.operations = true,
                Some("false") => asked.operations = false,
                _ => return None,
            },
            _ => return None,
        }
    }
    Some(asked)
}

/// The text of a part of a query.
pub(crate) fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(rest.next())?, digit(rest.next())?);
                u8::try_from(high * 16 + low).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

/// A SOAP message that arrived, and the version that its media type says.
async fn soap_body(request: Request<Incoming>) -> Result<(SoapVersion, Vec<u8>), Reply> {
    if request.method() != Method::POST {
        let said = "send a SOAP message with POST";
        return Err(text(StatusCode::METHOD_NOT_ALLOWED, said));
    }
    if !request.uri().path().starts_with("/uddi") {
        return Err(text(StatusCode::NOT_FOUND, "the registry is at /uddi"));
    }
    let Some(version) = version_of(request.headers()) else {
        let said = "expected text/xml or application/soap+xml, and no content encoding";
        return Err(text(StatusCode::UNSUPPORTED_MEDIA_TYPE, said));
    };
    whole(request).await.map(|body| (version, body))
}

async fn whole(request: Request<Incoming>) -> Result<Vec<u8>, Reply> {
    let too_large = || {
        let said = "the message is larger than the registry accepts";
        text(StatusCode::PAYLOAD_TOO_LARGE, said)
    };
    // A client that says so at once is not waited for.
    if request.body().size_hint().lower() > LARGEST as u64 {
        return Err(too_large());
    }
    let body = Limited::new(request.into_body(), LARGEST).collect();
    match tokio::time::timeout(PATIENCE, body).await {
        Ok(Ok(body)) => Ok(body.to_bytes().to_vec()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(text(StatusCode::BAD_REQUEST, "the message broke off")),
        Err(_) => {
            let said = "the message did not arrive in time";
            Err(text(StatusCode::REQUEST_TIMEOUT, said))
        }
    }
}

fn version_of(headers: &HeaderMap) -> Option<SoapVersion> {
    let said = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let essence = said.split(';').next()?.trim();
    let versions = [SoapVersion::V11, SoapVersion::V12];
    let mut versions = versions.into_iter();
    versions
        .find(|version| essence.eq_ignore_ascii_case(version.media_type()))
        .filter(|_| !headers.contains_key(header::CONTENT_ENCODING))
}

fn soap(status: StatusCode, version: SoapVersion, body: impl Into<Bytes>) -> Reply {
    let media_type = format!("{}; charset=utf-8", version.media_type());
    // A media type holds no character that a header cannot have.
    let media_type = HeaderValue::try_from(media_type);
    let media_type = media_type.unwrap_or(HeaderValue::from_static("text/xml"));
    reply(status, media_type, body)
}

fn failed() -> Reply {
    text(StatusCode::INTERNAL_SERVER_ERROR, "the registry failed")
}

pub(crate) fn text(status: StatusCode, said: impl Into<Bytes>) -> Reply {
    let media_type = HeaderValue::from_static("text/plain; charset=utf-8");
    reply(status, media_type, said)
}

pub(crate) fn reply(status: StatusCode, media_type: HeaderValue, body: impl Into<Bytes>) -> Reply {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, media_type);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_names_service_and_port_type() {
        let asked = provider_query(
            "service=My+Books%21&portType=%7Burn%3Ab%7DBooks&owner=CN%3Dp1&owner=CN%3Dp2",
        );
        let expected = ProviderQuery {
            service: Some("My Books!".to_owned()),
            port_type: Some("{urn:b}Books".to_owned()),
            owners: vec!["CN=p1".to_owned(), "CN=p2".to_owned()],
            operations: false,
        };
        assert_eq!(asked, Some(expected));
        assert_eq!(provider_query(""), Some(ProviderQuery::default()));
        let operations = ["true", "false"].map(|asked| {
            let asked = provider_query(&format!("operations={asked}"));
            asked.map(|it| it.operations)
        });
        assert_eq!(operations, [Some(true), Some(false)]);
        for wrong in [
            "name=x",
            "service",
            "operations=1",
            "service=%4",
            "service=%zz",
            "service=%ff",
        ] {
            assert_eq!(provider_query(wrong), None, "{wrong}");
        }
    }
}
