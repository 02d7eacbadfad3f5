//! The way of a response: opened and secured, as the route has endpoints.
//!
//! The rule kept here: the client gets no word of a response that is not admitted.

use std::sync::Arc;

use http::{HeaderValue, Response, StatusCode, header};
use soapstone::config::UnsecuredFaults;
use soapstone::endpoint::{OpenedMessage, UnsecuredFault};
use soapstone::mime::{self, Attachment};
use soapstone::wss::{Receipt, SoapVersion};
use soapstone::xml::Limits;
use tokio::time::Instant;

use super::bsp::Suspect;
use super::package::{of_answer, unpack};
use super::refusal_moment::refusal_moment;
use super::reporter::{Message, Reporter};
use super::secure::Receipts;
use super::send::Arrival;
use super::steps::{EndpointError, PeerFault, is_unproven, open, pass_answer, secure_answer};
use super::working::{SMALL_MESSAGE, work};
use crate::config::direction::Direction;
use crate::observe::metrics::{Flow, Unsecured};
use crate::observe::traces::Observed;
use crate::route::agreements::AnswerEvidence;
use crate::route::upstream::Upstream;
use crate::scheduling::class::WorkClass;
use crate::scheduling::endpoint::{InboundEndpoint, OutboundEndpoint};
use crate::scheduling::task::{Desk, Task};
use crate::wire::answer_head::{self, Proven};
use crate::wire::budget::Reservation;
use crate::wire::fault::Cause;
use crate::wire::headers::{X_REQUEST_ID, mark_unproven};
use crate::wire::media;
use crate::wire::packaged::{Announced, Packing, Unpacked};
use crate::wire::reply::Reply;

/// Opens and secures a response, as the route has endpoints, and answers with it.
pub(super) async fn finish(
    reporter: &Reporter<'_>,
    upstream: &Upstream,
    (mut head, octets): Arrival,
    receipts: Box<Receipts>,
    version: SoapVersion,
    mut reservation: Reservation,
) -> Response<Reply> {
    let memory = &reporter.exchange.resources.memory;
    let metrics = &reporter.exchange.route.metrics;
    let is_trusted = upstream.endpoint.is_none();
    head.headers.insert(X_REQUEST_ID, reporter.id.clone());
    if octets.is_empty()
        && (head.status.is_success()
            || is_trusted && head.status == StatusCode::INTERNAL_SERVER_ERROR)
    {
        // The answer to a one-way message (WS-I Basic Profile 1.1, R2727).
        memory.buffers.give(octets);
        if is_trusted {
            return Response::from_parts(head, Reply::empty());
        }
        return reporter.named(answer_head::without_message());
    }
    let (response_version, package) = match of_answer(reporter, upstream, &head.headers) {
        Ok(expected) => expected,
        Err(why) => {
            let detail = format!(
                "the backend answered {}, and no SOAP message that is taken: {why}",
                head.status
            );
            return reporter.fail(version, Cause::BadGateway, "backend-not-soap", detail);
        }
    };
    let answer = Answer {
        octets,
        package,
        status: head.status,
    };
    match prepare_response(
        reporter,
        upstream,
        answer,
        receipts,
        version,
        &mut reservation,
    )
    .await
    {
        Ok(Rewritten {
            octets,
            content_type,
            proven,
            unproven,
        }) => {
            metrics.octets(Flow::ToClient, octets.len() as u64);
            reservation.settle(octets.len() as u64);
            if let Some(proven) = proven {
                let body = Reply::whole(memory.buffers.lend_in(octets, Some(reservation)));
                let mut answer = answer_head::with_message(proven, body);
                if let Some(content_type) = content_type {
                    let headers = answer.headers_mut();
                    headers.insert(header::CONTENT_TYPE, content_type);
                }
                return reporter.named(answer);
            }
            head.headers.insert(
                header::CONTENT_TYPE,
                content_type.unwrap_or_else(|| media::rewritten(&head.headers, response_version)),
            );
            head.headers.remove(header::CONTENT_LENGTH);
            if let Some(names) = unproven {
                mark_unproven(&mut head.headers, &names);
            }
            // They describe the bytes that came from the backend, not those that leave.
            head.headers.remove(header::ETAG);
            head.headers.remove("content-md5");
            Response::from_parts(
                head,
                Reply::whole(memory.buffers.lend_in(octets, Some(reservation))),
            )
        }
        Err(response) => response,
    }
}

/// A response that arrived, and is to be opened and secured.
struct Answer {
    octets: Vec<u8>,
    /// The package that it is, if it is one.
    package: Option<Announced>,
    status: StatusCode,
}

/// What a response came to.
struct Rewritten {
    octets: Vec<u8>,
    /// Its `Content-Type`, where it is a package.
    content_type: Option<HeaderValue>,
    /// What was proven of it, where it was opened.
    proven: Option<Proven>,
    /// What nothing proves here, where it passed this node.
    unproven: Option<Vec<String>>,
}

/// Opens and secures a response, as the route has endpoints.
async fn prepare_response(
    reporter: &Reporter<'_>,
    upstream: &Upstream,
    answer: Answer,
    receipts: Box<Receipts>,
    version: SoapVersion,
    reservation: &mut Reservation,
) -> Result<Rewritten, Response<Reply>> {
    let (arrived, bytes) = (Instant::now(), answer.octets.len());
    let inbound = reporter.exchange.route.inbound.as_ref();
    let reads = inbound.is_some_and(|it| it.endpoint.reader_of_answers().is_some());
    if upstream.endpoint.is_some() || reads {
        reporter.copy(&answer.octets, answer.package.as_ref());
    }
    let prepared = rewritten(reporter, upstream, answer, receipts, version, reservation);
    let prepared = prepared.await;
    if prepared.is_err() {
        tokio::time::sleep_until(refusal_moment(arrived, bytes)).await;
    }
    reporter.drop_copy();
    prepared
}

async fn rewritten(
    reporter: &Reporter<'_>,
    upstream: &Upstream,
    answer: Answer,
    receipts: Box<Receipts>,
    version: SoapVersion,
    reservation: &mut Reservation,
) -> Result<Rewritten, Response<Reply>> {
    let exchange = reporter.exchange;
    let Answer {
        octets,
        package,
        status,
    } = answer;
    let (message, mut packing) = match package {
        None => (mime::Message::from(octets), None),
        Some(package) => {
            let is_answer = Message::Response;
            let unpacked = unpack(reporter, octets, package, version, reservation, is_answer);
            let Unpacked { message, packing } = Box::pin(unpacked).await?;
            (message, Some(packing))
        }
    };
    let inbound = exchange.route.inbound.clone();
    let outbound = upstream.endpoint.clone();
    let passes = |it: &Arc<InboundEndpoint>| it.endpoint.reader_of_answers().is_some();
    let suspect = match outbound.is_some() || inbound.as_ref().is_some_and(passes) {
        true => Suspect::copy(reporter, Direction::Outbound, version, &message.root)
            .map_err(|answer| *answer)?,
        false => None,
    };
    let in_conversation = |receipt: &Receipt| receipt.context.is_some();
    let opening =
        |endpoint: &OutboundEndpoint| endpoint.opening(in_conversation(&receipts.outbound));
    let securing =
        |endpoint: &InboundEndpoint| endpoint.securing(in_conversation(&receipts.inbound));
    let class = if message.size() > SMALL_MESSAGE {
        WorkClass::Blocking
    } else {
        let opening = outbound.as_deref().map_or(WorkClass::Inline, opening);
        let passing = inbound.as_deref().map(InboundEndpoint::passing_answers);
        opening
            .max(inbound.as_deref().map_or(WorkClass::Inline, securing))
            .max(passing.unwrap_or(WorkClass::Inline))
    };
    let hint = refusable(&receipts.outbound);
    let observed = Arc::clone(&reporter.observed);
    let asks = |endpoint: &&Arc<InboundEndpoint>| endpoint.endpoint.reader_of_answers().is_some();
    let asked = outbound
        .as_ref()
        .map(|endpoint| Arc::clone(&endpoint.stores))
        .or_else(|| {
            let passing = inbound.as_ref().filter(asks);
            passing.map(|endpoint| Arc::clone(&endpoint.stores))
        });
    let steps = |desk: Desk| async move {
        let (mut octets, mut parts) = (message.root, message.parts);
        let (mut proven, mut passed, mut evidence, mut unproven) = (None, None, None, None);
        let reader = inbound
            .as_ref()
            .and_then(|it| it.endpoint.reader_of_answers());
        if let Some(reader) = reader {
            let kept = (!status.is_success()).then(|| octets.clone());
            let told = UnsecuredFaults::default();
            match Box::pin(pass_answer(reader, octets, &observed, &desk)).await {
                Ok(answer) => {
                    judge(suspect.as_ref(), reader.limits(), &answer, &observed, &desk)?;
                    unproven = Some(answer.evidence.unproven);
                    octets = answer.bytes;
                }
                Err(error) => {
                    octets = passed_fault(error, kept, told, None, &observed, &desk)?.octets
                }
            }
        }
        if let Some(endpoint) = &outbound {
            // A peer that refuses a message says so in a fault that it mostly does not secure.
            let told = endpoint.endpoint.unsecured_faults();
            let kept = !status.is_success() || told == UnsecuredFaults::All;
            let kept = kept.then(|| octets.clone());
            let message = mime::Message {
                root: octets,
                parts: std::mem::take(&mut parts),
            };
            let request = Box::new(receipts.outbound);
            let opened = open(endpoint, message, request, &observed, &desk).await;
            let admitted = match opened {
                Ok(opened) => admitted(endpoint, opened, suspect.as_ref(), &observed, &desk)?,
                Err(error) => passed_fault(error, kept, told, hint, &observed, &desk)?,
            };
            parts = admitted.parts;
            // A fault in the place of a refused answer is no package any more.
            packing = packing
                .filter(|_| !(parts.is_empty() && admitted.told.is_some()))
                .map(|_| Packing::proven(admitted.head.version));
            (octets, proven, passed) = (admitted.octets, Some(admitted.head), admitted.told);
            evidence = admitted.evidence;
        }
        if let Some(endpoint) = &inbound {
            let request = &receipts.inbound;
            let addressing = receipts.addressing.as_deref();
            let buffers = &mut desk.workspace().buffers();
            let message = mime::Message {
                root: octets,
                parts,
            };
            let secured =
                secure_answer(endpoint, message, request, addressing, &observed, buffers)?;
            (octets, parts) = (secured.bytes, secured.parts);
        }
        let mut content_type = None;
        if let Some(packing) = packing {
            let packed = packing.write(octets, parts);
            (octets, content_type) = (packed.body, Some(packed.content_type));
        }
        let rewritten = Rewritten {
            octets,
            content_type,
            proven,
            unproven,
        };
        Ok((rewritten, passed, evidence))
    };
    let task = Task::new(class, asked, steps).recorded(&reporter.observed);
    let done = work(reporter, version, task, reservation, Message::Response).await?;
    let (rewritten, passed, evidence) = done;
    if let Some(evidence) = evidence {
        reporter.note_answer(evidence);
    }
    if let Some(text) = passed {
        reporter.passed_fault(&text, hint);
    }
    Ok(rewritten)
}

/// Judges an answer that verified, where the route asks. It is not passed on as an unsecured fault
/// either when it is refused.
fn judge(
    suspect: Option<&Suspect>,
    limits: &Limits,
    opened: &OpenedMessage,
    observed: &Observed,
    desk: &Desk,
) -> Result<(), EndpointError> {
    let deciphered = !opened.evidence.encrypted.is_empty();
    suspect.map_or(Ok(()), |it| it.judge(limits, deciphered, observed, desk))
}

/// An answer that goes on to the client.
struct Admitted {
    octets: Vec<u8>,
    parts: Vec<Attachment>,
    head: Proven,
    evidence: Option<AnswerEvidence>,
    /// What it says, if it is a fault that nobody secured.
    told: Option<String>,
}

/// An answer that verified, as it goes on.
fn admitted(
    endpoint: &OutboundEndpoint,
    opened: Box<OpenedMessage>,
    suspect: Option<&Suspect>,
    observed: &Observed,
    desk: &Desk,
) -> Result<Admitted, EndpointError> {
    judge(suspect, endpoint.endpoint.limits(), &opened, observed, desk)?;
    Ok(Admitted {
        evidence: evidence_of(&opened),
        told: unsecured_text(endpoint, &opened, desk),
        head: Proven {
            version: opened.version,
            fault: opened.fault,
            unproven: opened.evidence.unproven,
        },
        octets: opened.bytes,
        parts: opened.parts,
    })
}

/// What was proven of an answer; `None` for a fault that nobody signed, which is the answer of a
/// service that could not read its request.
fn evidence_of(opened: &OpenedMessage) -> Option<AnswerEvidence> {
    match opened.evidence.signer() {
        Some(signer) => Some(AnswerEvidence::Signed(signer.clone())),
        None if !opened.evidence.signatures.is_empty() => Some(AnswerEvidence::Keyed),
        None if opened.fault.is_some() => None,
        None => Some(AnswerEvidence::Unsigned),
    }
}

/// What an answer says that is a fault, and that nothing had to prove.
fn unsecured_text(
    endpoint: &OutboundEndpoint,
    opened: &OpenedMessage,
    desk: &Desk,
) -> Option<String> {
    opened.fault?;
    let buffers = &mut desk.workspace().buffers();
    let fault = || UnsecuredFault::read(opened.bytes.clone(), buffers);
    let text = is_unproven(endpoint, opened).then(fault).flatten();
    text.map(|fault| fault.text())
}

/// What a peer may refuse of a request.
fn refusable(request: &Receipt) -> Option<&'static str> {
    request.signs_session_key.then_some(SIGNED_SESSION_KEY)
}

/// What some peers refuse of a request that has short cipher text.
const SIGNED_SESSION_KEY: &str = "the request's signature covers the `xenc:EncryptedKey`, as its cipher text is short; some peers, Metro among them, refuse \
     that: take `sign-encrypt`; `encryption = { sign_session_key = false }` takes the risk";

/// The unsecured fault in the place of an answer that was refused, where the operator has it passed
/// on; or else why the answer was refused, with what the fault says.
fn passed_fault(
    error: EndpointError,
    kept: Option<Vec<u8>>,
    told: UnsecuredFaults,
    hint: Option<&'static str>,
    observed: &Observed,
    desk: &Desk,
) -> Result<Admitted, EndpointError> {
    let EndpointError::Refused {
        direction,
        rejected,
        ..
    } = error
    else {
        return Err(error);
    };
    let buffers = &mut desk.workspace().buffers();
    let fault = kept.and_then(|kept| UnsecuredFault::read(kept, buffers));
    match fault.map(Box::new) {
        Some(mut fault) if told == UnsecuredFaults::All && fault.plain.is_some() => {
            observed
                .metrics
                .unsecured_answer(direction, Unsecured::Fault);
            Ok(Admitted {
                evidence: None,
                told: Some(fault.text()),
                head: Proven {
                    version: fault.version,
                    fault: Some(fault.blame),
                    unproven: Vec::new(),
                },
                octets: fault.plain.take().unwrap_or_default(),
                parts: Vec::new(),
            })
        }
        fault => Err(EndpointError::Refused {
            direction,
            rejected,
            peer_fault: fault.map(|fault| PeerFault { fault, told, hint }),
        }),
    }
}
