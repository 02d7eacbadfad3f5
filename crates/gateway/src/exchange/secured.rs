//! Requests on a route with an endpoint: opened, secured, or both, on their way to the backend, and
//! their responses on the way back.
//!
//! ```text
//! client ─ body ─▶ [inbound: open] ─▶ [outbound: secure] ─▶ backend
//! client ◀─ body ─ [inbound: secure] ◀─ [outbound: open] ◀─ backend
//! ```
//!
//! Each way is one task for the crypto workers, which they leave where it waits for a store. What
//! an endpoint learnt from the request, it needs for the response: its receipt.
//!
//! The rule kept here: the backend is not reached before the request is admitted, and the client
//! gets no word of a response that is not.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::{HeaderValue, Request, Response, StatusCode, header, request, response};
use hyper::body::Incoming;
use soapstone::endpoint::{Arrived, ReadRequest, TokenAnswer};
use soapstone::wss::{Receipt, SoapVersion};
use soapstone::xml::Buffers;
use soapstone_trust::addressing::Addressing;
use tokio::time::Instant;

use crate::conversation::established::InUse;
use crate::exchange::conversing::Within;
use crate::exchange::peer_said::PeerSaid;
use crate::exchange::proxy::{Exchange, backend_failure, too_large, too_many};
use crate::exchange::refusing::Refusals;
use crate::exchange::steps::{
    Label, Trouble, open, read_request, receive, secure_answer, secure_request,
};
use crate::observe::audit::Sender;
use crate::observe::metrics::Flow;
use crate::route::side::Side;
use crate::wire::answer_head::{self, Proven};
use crate::wire::body::{CollectError, Upload, collect};
use crate::wire::buffers::Place;
use crate::wire::fault::Cause;
use crate::wire::headers::X_REQUEST_ID;
use crate::wire::media;
use crate::wire::reply::Reply;
use crate::wire::unsecured;
use crate::work::asking::{Desk, Task};
use crate::work::workers::{Effort, NotDone};

/// Serves one request.
pub(crate) async fn serve(exchange: &Exchange<'_>, request: Request<Incoming>) -> Response<Reply> {
    let (mut head, body) = request.into_parts();
    let id = exchange.request_id(head.headers.get(X_REQUEST_ID));
    head.headers.insert(X_REQUEST_ID, id.clone());
    let call = Call {
        exchange,
        refusals: Refusals::new(exchange, id.clone()),
        id,
        action: media::action_of(&head.headers),
        actions: match &exchange.route.inbound {
            Some(side) if side.endpoint.asks_for_actions() => media::actions_of(&head.headers),
            _ => Vec::new(),
        },
    };
    let Some(version) = media::uncoded_version_of(&head.headers) else {
        let found = media::said(&head.headers);
        let detail = format!(
            "expected text/xml or application/soap+xml without content encoding, found {found}"
        );
        return call.fail(SoapVersion::V11, Cause::MediaType, "media-type", detail);
    };
    let mut place = exchange.connection.place(&exchange.serving.limits);
    let octets = match call.read_request(body, version, &mut place).await {
        Ok(octets) => octets,
        Err(response) => return response,
    };
    let mut forward = match call.prepare_request(octets, version, &mut place).await {
        Ok(Prepared::Forward(forward)) => forward,
        Ok(Prepared::Answered(answer)) => return call.answered(answer),
        Err(response) => return response,
    };
    let version = forward.version;
    if let Err((reason, wait)) = exchange.admit(forward.sender.as_ref(), &mut place) {
        return too_many(exchange, &head.headers, reason, wait);
    }
    exchange.note(|found| {
        found.sender = forward.sender.take();
        if let Some(action) = &forward.action {
            found.operation = Some(action.clone());
        }
    });
    head.headers.insert(
        header::CONTENT_TYPE,
        media::rewritten(&head.headers, version),
    );
    if exchange.route.outbound.is_none()
        && let Some(action) = &forward.action
    {
        // What the header said that is not passed on. A secured message may hide it (WS-Addressing
        // 1.0 SOAP Binding, 5.2).
        media::say_action(&mut head.headers, version, action);
    }
    head.headers.remove(header::CONTENT_LENGTH);
    // A compressed response could not be secured, and its length would tell of what it holds.
    head.headers.remove(header::ACCEPT_ENCODING);
    exchange.head_for_backend(&mut head);
    // Kept where the request may have to be sent again.
    let repeated = forward.within.is_some().then(|| head.clone());
    let mut receipts = forward.receipts;
    let mut response = match call.send(head, forward.octets, version, &mut place).await {
        Ok(response) => response,
        Err(response) => return response,
    };
    if let (Some(within), Some(head)) = (forward.within, repeated)
        && within.was_lost(&response)
    {
        exchange.shared().buffers.give(response.1);
        let (again, _in_use) = match call.within_another(within, version, &mut place).await {
            Ok(again) => again,
            Err(response) => return response,
        };
        receipts.outbound = Some(again.receipt);
        response = match call.send(head, again.bytes, version, &mut place).await {
            Ok(response) => response,
            Err(response) => return response,
        };
    }
    let said = PeerSaid::of(response.0.status);
    let response = call.finish(response, receipts, version, place).await;
    said.in_place_of(response, version)
}

/// A response of the backend that arrived whole.
pub(crate) type Arrival = (response::Parts, Vec<u8>);

/// What is to become of a request.
enum Prepared {
    /// It goes on to the backend.
    Forward(Box<Forward>),
    /// It was a request for a token, and this is the answer.
    Answered(TokenAnswer),
}

/// A request on its way to the backend.
struct Forward {
    octets: Vec<u8>,
    version: SoapVersion,
    receipts: Receipts,
    /// What a header said that is not passed on, and that may be told.
    action: Option<String>,
    /// Who sent it, as far as that was proven.
    sender: Option<Sender>,
    /// The conversation with the backend that it is secured in.
    within: Option<Within>,
}

/// What the request left behind on each side.
#[derive(Default)]
struct Receipts {
    inbound: Option<Receipt>,
    /// What the client's addressing headers said, where the answer has to refer to them.
    addressing: Option<Box<Addressing>>,
    outbound: Option<Receipt>,
}

/// One request on its way.
pub(crate) struct Call<'c> {
    pub(crate) exchange: &'c Exchange<'c>,
    pub(crate) id: HeaderValue,
    pub(crate) refusals: Refusals<'c>,
    /// What the client says that the request is about.
    action: Option<String>,
    /// Everything that it says of that beside the message, where the endpoint asks.
    actions: Vec<String>,
}

/// A message of up to [`TICK_MESSAGE`] bytes that is refused is answered at a multiple of this time
/// after it arrived, a larger one at a multiple of as many times as it is larger: the time depends
/// on the size of the message alone. It does not tell which step refused it: where the padding, the
/// tag, the plaintext or the signature was wrong (Jager and Somorovsky, How to Break XML
/// Encryption, 2011).
///
/// Opening 8 MiB takes about 25 ms (`soapstone lab run engine`); a message of the same size that is
/// made up of small elements up to 20 times that.
const REFUSAL_TICK: Duration = Duration::from_millis(50);

/// Bytes of a message for each [`REFUSAL_TICK`].
const TICK_MESSAGE: usize = 1 << 20;

/// The largest message that is not heavy to work on for its size: octets.
///
/// Both operations of a conversation take some 0.15 ms for it (`soapstone lab run engine --filter
/// secure-conversation`: 0.24 ms for 100 kB).
const SMALL_MESSAGE: usize = 64 * 1024;

/// When a message of this size that arrived then is answered for, if it is refused: the first of
/// its moments that is not past.
fn refusal_moment(arrived: Instant, bytes: usize) -> Instant {
    let times = u32::try_from(bytes / TICK_MESSAGE).unwrap_or(u32::MAX);
    let tick = REFUSAL_TICK.saturating_mul(times.saturating_add(1));
    let ticks = arrived.elapsed().as_millis() / tick.as_millis() + 1;
    arrived + tick.saturating_mul(u32::try_from(ticks).unwrap_or(u32::MAX))
}

impl Call<'_> {
    async fn read_request(
        &self,
        body: Incoming,
        version: SoapVersion,
        place: &mut Place,
    ) -> Result<Vec<u8>, Response<Reply>> {
        let serving = self.exchange.serving;
        let buffers = &self.exchange.shared().buffers;
        let patience = serving.timeouts.request;
        let collecting = collect(body, serving.limits.body, place, buffers);
        let collected = tokio::time::timeout(patience, collecting).await;
        self.exchange.record("read", self.exchange.started);
        match collected {
            Ok(Ok(buffer)) => {
                let length = buffer.len() as u64;
                let metrics = &self.exchange.route.metrics;
                metrics.octets(Flow::FromClient, length);
                self.exchange
                    .note(|found| found.request_bytes = Some(length));
                Ok(buffer)
            }
            Ok(Err(CollectError::TooLarge { limit })) => {
                Err(self.fail_with(version, Cause::TooLarge, &too_large(limit)))
            }
            Ok(Err(CollectError::NoRoom)) => Err(self.no_room(version)),
            Ok(Err(CollectError::Broken(error))) => Err(self.fail(
                version,
                Cause::Incomplete,
                "incomplete",
                format!("the body broke off: {error}"),
            )),
            Err(_) => {
                let detail = format!("the body did not arrive within {patience:?}");
                Err(self.fail(version, Cause::RequestTimeout, "request-timeout", detail))
            }
        }
    }

    /// Opens and secures a request, as the route has endpoints.
    async fn prepare_request(
        &self,
        octets: Vec<u8>,
        version: SoapVersion,
        place: &mut Place,
    ) -> Result<Prepared, Response<Reply>> {
        let (arrived, bytes) = (Instant::now(), octets.len());
        let forward = Box::new(Forward {
            octets,
            version,
            receipts: Receipts::default(),
            action: None,
            sender: None,
            within: None,
        });
        let prepared = self.prepare(forward, place).await;
        let refused = match &prepared {
            Ok(Prepared::Answered(answer)) => answer.refused.is_some(),
            Ok(Prepared::Forward(_)) => false,
            Err(_) => true,
        };
        if refused {
            tokio::time::sleep_until(refusal_moment(arrived, bytes)).await;
        }
        prepared
    }

    async fn prepare(
        &self,
        mut forward: Box<Forward>,
        place: &mut Place,
    ) -> Result<Prepared, Response<Reply>> {
        let (mut inbound, outbound) = self.sides();
        let mut context = None;
        if let Some(side) = &outbound
            && let Some(established) = &side.established
        {
            context = established.at_hand(&side.endpoint, || self.parties(side, forward.version));
        }
        if let Some(side) = &outbound
            && let Some(established) = side.established.as_ref().filter(|_| context.is_none())
        {
            // The backend is asked for nothing before the request is admitted.
            if let Some(side) = inbound.take() {
                let opened = self.prepare_by_worker(forward, Some(side), None, place);
                forward = match opened.await? {
                    Prepared::Forward(forward) => forward,
                    answered => return Ok(answered),
                };
            }
            let parties = self.parties(side, forward.version);
            context = Some(self.conversing(established, parties).await?);
        }
        let outbound = outbound.map(|side| (side, context));
        self.prepare_by_worker(forward, inbound, outbound, place)
            .await
    }

    async fn prepare_by_worker(
        &self,
        mut forward: Box<Forward>,
        inbound: Option<Arc<Side>>,
        outbound: Option<(Arc<Side>, Option<InUse>)>,
        place: &mut Place,
    ) -> Result<Prepared, Response<Reply>> {
        let version = forward.version;
        let private = self.exchange.connection.through_tls;
        let observed = self.exchange.observed();
        let brief = self.read_if_brief(
            &mut forward.octets,
            version,
            inbound.as_deref(),
            outbound.as_ref(),
        );
        let (read, effort) = brief.map_err(|answer| *answer)?;
        let mut label = self.label();
        let actions = self.actions.clone();
        let asked = inbound.clone();
        let work = |desk: Desk| async move {
            if let Some(side) = &inbound {
                let request = match read {
                    Some(request) => request,
                    None => {
                        let buffers = &mut desk.workspace().buffers();
                        read_request(side, forward.octets, actions, &observed, buffers)?
                    }
                };
                match receive(side, request, private, &observed, &desk).await? {
                    Arrived::Message(opened) => {
                        forward.sender = Sender::of(&opened);
                        forward.octets = opened.bytes;
                        forward.version = opened.version;
                        forward.receipts.inbound = Some(opened.receipt);
                        forward.receipts.addressing = opened.addressing;
                        forward.action = opened.action;
                    }
                    Arrived::Answered(answer) => return Ok(Prepared::Answered(answer)),
                }
            }
            if let Some((side, context)) = outbound {
                let octets = std::mem::take(&mut forward.octets);
                if label.action.is_none() {
                    label.action = forward.action.take();
                }
                forward.within =
                    context.map(|context| Within::new(context, octets.clone(), label.clone()));
                let context = forward.within.as_ref().map(Within::context);
                let buffers = &mut desk.workspace().buffers();
                let secured = secure_request(&side, octets, &label, context, &observed, buffers)?;
                forward.octets = secured.bytes;
                forward.receipts.outbound = Some(secured.receipt);
            }
            Ok(Prepared::Forward(forward))
        };
        let task = Task::new(effort, asked, work).recorded(self.exchange.observed());
        let answer = |call: &Self, trouble| call.unprepared(version, trouble);
        self.work(version, task, place, answer).await
    }

    /// What it takes to open and secure a request, and the request itself, if it had to be read to
    /// know that.
    fn read_if_brief(
        &self,
        octets: &mut Vec<u8>,
        version: SoapVersion,
        inbound: Option<&Side>,
        outbound: Option<&(Arc<Side>, Option<InUse>)>,
    ) -> Result<(Option<ReadRequest>, Effort), Box<Response<Reply>>> {
        if octets.len() > SMALL_MESSAGE {
            return Ok((None, Effort::Heavy));
        }
        let securing = outbound.map_or(Effort::Brief, |(side, context)| {
            side.securing(context.is_some())
        });
        let Some(side) = inbound else {
            return Ok((None, securing));
        };
        let opening = side.opening(false);
        if opening == Effort::Brief
            || securing > Effort::Brief
            || side.opening(true) > Effort::Brief
        {
            return Ok((None, opening.max(securing)));
        }
        let octets = std::mem::take(octets);
        let observed = &self.exchange.observed();
        let actions = self.actions.clone();
        let read = |buffers: &mut Buffers| read_request(side, octets, actions, observed, buffers);
        let shared = self.exchange.shared();
        let request = self.done(version, shared.workers.run_here(read), |call, trouble| {
            call.unprepared(version, trouble)
        })?;
        let effort = if request.names_context() {
            Effort::Brief
        } else {
            opening
        };
        Ok((Some(request), effort))
    }

    /// Sends a request to the backend and waits for all of its response.
    async fn send(
        &self,
        mut head: request::Parts,
        octets: Vec<u8>,
        version: SoapVersion,
        place: &mut Place,
    ) -> Result<Arrival, Response<Reply>> {
        let (exchange, shared) = (self.exchange, self.exchange.shared());
        let metrics = &exchange.route.metrics;
        metrics.octets(Flow::ToBackend, octets.len() as u64);
        let sent = Instant::now();
        let mut calling = exchange.call(&mut head.headers);
        let upload = Upload::whole(shared.buffers.lend(octets));
        let request = Request::from_parts(head, upload);
        let (head, body) = match exchange.route.backend.send(request, sent).await {
            Ok(response) => response.into_parts(),
            Err(error) => return Err(backend_failure(exchange, version, &error, Some(&self.id))),
        };
        metrics.backend(sent.elapsed());
        if let Some(calling) = &mut calling {
            calling.answered(head.status);
        }
        if exchange.route.outbound.is_some()
            && let Some(failure) = answer_head::unfit(head.status)
        {
            let failed = self.fail_with(version, Cause::BadGateway, &failure);
            return Err(PeerSaid::of(head.status).in_place_of(failed, version));
        }
        let patience = exchange.route.backend.timeouts().response;
        let collecting = collect(body, exchange.serving.limits.body, place, &shared.buffers);
        let detail = match tokio::time::timeout_at(sent + patience, collecting).await {
            Ok(Ok(octets)) => {
                metrics.octets(Flow::FromBackend, octets.len() as u64);
                return Ok((head, octets));
            }
            Ok(Err(CollectError::TooLarge { limit })) => {
                format!("the response has more than {limit} octets")
            }
            Ok(Err(CollectError::NoRoom)) => return Err(self.no_room(version)),
            Ok(Err(CollectError::Broken(error))) => format!("the response broke off: {error}"),
            Err(_) => {
                let detail = format!("the response was not complete within {patience:?}");
                return Err(self.fail(
                    version,
                    Cause::GatewayTimeout,
                    "backend-response-timeout",
                    detail,
                ));
            }
        };
        Err(self.fail(version, Cause::BadGateway, "backend-broken", detail))
    }

    /// Opens and secures a response, as the route has endpoints, and answers with it.
    async fn finish(
        &self,
        (mut head, octets): Arrival,
        receipts: Receipts,
        version: SoapVersion,
        mut place: Place,
    ) -> Response<Reply> {
        let shared = self.exchange.shared();
        let metrics = &self.exchange.route.metrics;
        let is_trusted = self.exchange.route.outbound.is_none();
        head.headers.insert(X_REQUEST_ID, self.id.clone());
        if octets.is_empty()
            && (head.status.is_success()
                || is_trusted && head.status == StatusCode::INTERNAL_SERVER_ERROR)
        {
            // The answer to a one-way message (WS-I Basic Profile 1.1, R2727).
            shared.buffers.give(octets);
            if is_trusted {
                return Response::from_parts(head, Reply::empty());
            }
            return self.named(answer_head::without_message());
        }
        let Some(response_version) = media::uncoded_version_of(&head.headers) else {
            let found = media::said(&head.headers);
            let detail = format!(
                "the backend answered {} with {found}, which is no SOAP message",
                head.status
            );
            return self.fail(version, Cause::BadGateway, "backend-not-soap", detail);
        };
        match self
            .prepare_response(octets, receipts, version, head.status, &mut place)
            .await
        {
            Ok((octets, proven)) => {
                metrics.octets(Flow::ToClient, octets.len() as u64);
                place.settle(octets.len() as u64);
                if let Some(proven) = proven {
                    let body = Reply::whole(shared.buffers.lend_in(octets, Some(place)));
                    return self.named(answer_head::with_message(proven, body));
                }
                head.headers.insert(
                    header::CONTENT_TYPE,
                    media::rewritten(&head.headers, response_version),
                );
                head.headers.remove(header::CONTENT_LENGTH);
                // They describe the octets that came from the backend, not those that leave.
                head.headers.remove(header::ETAG);
                head.headers.remove("content-md5");
                Response::from_parts(
                    head,
                    Reply::whole(shared.buffers.lend_in(octets, Some(place))),
                )
            }
            Err(response) => response,
        }
    }

    /// A response of ours, under the name of the request.
    fn named(&self, mut response: Response<Reply>) -> Response<Reply> {
        response.headers_mut().insert(X_REQUEST_ID, self.id.clone());
        response
    }

    /// Opens and secures a response, as the route has endpoints; what it came to, and what was
    /// proven of it where it was opened.
    async fn prepare_response(
        &self,
        octets: Vec<u8>,
        receipts: Receipts,
        version: SoapVersion,
        status: StatusCode,
        place: &mut Place,
    ) -> Result<(Vec<u8>, Option<Proven>), Response<Reply>> {
        let (arrived, bytes) = (Instant::now(), octets.len());
        let prepared = self.rewritten(octets, receipts, version, status, place);
        let prepared = prepared.await;
        if prepared.is_err() {
            tokio::time::sleep_until(refusal_moment(arrived, bytes)).await;
        }
        prepared
    }

    async fn rewritten(
        &self,
        octets: Vec<u8>,
        receipts: Receipts,
        version: SoapVersion,
        status: StatusCode,
        place: &mut Place,
    ) -> Result<(Vec<u8>, Option<Proven>), Response<Reply>> {
        let (inbound, outbound) = self.sides();
        let in_conversation = |receipt: &Option<Receipt>| {
            let context = receipt.as_ref().map(|receipt| receipt.context.is_some());
            context.unwrap_or_default()
        };
        let opening = |side: &Side| side.opening(in_conversation(&receipts.outbound));
        let securing = |side: &Side| side.securing(in_conversation(&receipts.inbound));
        let effort = if octets.len() > SMALL_MESSAGE {
            Effort::Heavy
        } else {
            let opening = outbound.as_deref().map_or(Effort::Brief, opening);
            opening.max(inbound.as_deref().map_or(Effort::Brief, securing))
        };
        let observed = self.exchange.observed();
        let asked = outbound.clone();
        let work = |desk: Desk| async move {
            let (mut octets, mut proven) = (octets, None);
            if let Some(side) = &outbound {
                // A peer that refuses a message says so in a fault that it mostly does not secure.
                let kept = (!status.is_success()).then(|| octets.clone());
                let opened = open(side, octets, receipts.outbound, &observed, &desk).await;
                let opened = opened.map_err(|trouble| match trouble {
                    Trouble::Refused { side, rejected, .. } => {
                        let buffers = &mut desk.workspace().buffers();
                        let peer_fault = kept.and_then(|kept| unsecured::fault_code(kept, buffers));
                        Trouble::Refused {
                            side,
                            rejected,
                            peer_fault,
                        }
                    }
                    other => other,
                })?;
                octets = opened.bytes;
                proven = Some(Proven {
                    version: opened.version,
                    fault: opened.fault,
                });
            }
            if let Some(side) = &inbound {
                let request = receipts.inbound.as_ref();
                let addressing = receipts.addressing.as_deref();
                let buffers = &mut desk.workspace().buffers();
                octets =
                    secure_answer(side, octets, request, addressing, &observed, buffers)?.bytes;
            }
            Ok((octets, proven))
        };
        let task = Task::new(effort, asked, work).recorded(self.exchange.observed());
        self.work(version, task, place, |call, trouble| {
            call.unanswerable(version, trouble)
        })
        .await
    }

    /// Has work done, for which the message has its place, and its client its share of the queue.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        version: SoapVersion,
        task: Task<Result<T, Trouble>>,
        place: &mut Place,
        answer: impl FnOnce(&Self, Trouble) -> Response<Reply>,
    ) -> Result<T, Response<Reply>> {
        let Some(turn) = self.exchange.turn().await else {
            let detail = "the client has its share of the messages that wait".to_owned();
            return Err(self.fail(version, Cause::Busy, "client-queue", detail));
        };
        let held = (turn, place.hand_over());
        let (done, held) = task.perform(&self.exchange.connection.shared, held).await;
        if let Some((_, held)) = held {
            *place = held;
        }
        self.done(version, done, answer).map_err(|answer| *answer)
    }

    /// What work came to, or the answer for what is wrong.
    fn done<T>(
        &self,
        version: SoapVersion,
        done: Result<Result<T, Trouble>, NotDone>,
        answer: impl FnOnce(&Self, Trouble) -> Response<Reply>,
    ) -> Result<T, Box<Response<Reply>>> {
        match done {
            Ok(result) => result.map_err(|trouble| Box::new(answer(self, trouble))),
            Err(NotDone::Full) => {
                let shared = self.exchange.shared();
                let detail = format!(
                    "{} messages wait for a crypto worker, and {} for a store",
                    shared.workers.waiting(),
                    shared.metrics.store_waiting.load(Ordering::Relaxed)
                );
                Err(Box::new(self.fail(
                    version,
                    Cause::Busy,
                    "queue-full",
                    detail,
                )))
            }
            Err(NotDone::Failed) => Err(Box::new(self.fail(
                version,
                Cause::Internal,
                "worker-failed",
                "the crypto worker panicked".to_owned(),
            ))),
        }
    }

    /// What a request for the backend is about.
    fn label(&self) -> Label {
        Label {
            action: self.action.clone(),
            to: Arc::clone(&self.exchange.route.backend_address),
        }
    }

    fn sides(&self) -> (Option<Arc<Side>>, Option<Arc<Side>>) {
        (
            self.exchange.route.inbound.clone(),
            self.exchange.route.outbound.clone(),
        )
    }
}
