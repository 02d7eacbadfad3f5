//! Work on the messages of an exchange, done by the executor.
//!
//! The rule kept here: a message has its place while it is worked on, and the client of a request
//! its share of the queue. No request that was let in, and no answer, is refused for want of a
//! worker.

use http::Response;
use soapstone::wss::SoapVersion;

use super::reporter::{Message, Reporter};
use super::steps::EndpointError;
use crate::scheduling::task::Task;
use crate::scheduling::workers::NotDone;
use crate::shares::Turn;
use crate::wire::budget::Reservation;
use crate::wire::fault::Cause;
use crate::wire::reply::Reply;

/// The largest message that is not heavy to work on for its size: bytes.
///
/// Both operations of a conversation take some 0.15 ms for it (`soapstone lab run engine --filter
/// secure-conversation`: 0.24 ms for 100 kB).
pub(super) const SMALL_MESSAGE: usize = 64 * 1024;

/// Has work done, for which the message has its place, and the client of a request its share of the
/// queue. An answer has none: there are no more answers than requests that had their turns. So it
/// is with requests that [go on](go_on).
pub(super) async fn work<T: Send + 'static>(
    reporter: &Reporter<'_>,
    version: SoapVersion,
    task: Task<Result<T, EndpointError>>,
    reservation: &mut Reservation,
    message: Message,
) -> Result<T, Response<Reply>> {
    match message {
        Message::Request => {
            let Some(turn) = reporter.exchange.turn().await else {
                let detail = "the client has its share of the messages that wait".to_owned();
                return Err(reporter.fail(version, Cause::Busy, "client-queue", detail));
            };
            perform(reporter, version, task, reservation, message, Some(turn)).await
        }
        Message::Response => {
            let task = task.let_in_before();
            perform(reporter, version, task, reservation, message, None).await
        }
    }
}

/// Has further work done on a request that was let in: its marks and its token of an agreement are
/// taken, or a backend has had it. It has had its turn.
pub(super) async fn go_on<T: Send + 'static>(
    reporter: &Reporter<'_>,
    version: SoapVersion,
    task: Task<Result<T, EndpointError>>,
    reservation: &mut Reservation,
) -> Result<T, Response<Reply>> {
    let (task, message) = (task.let_in_before(), Message::Request);
    perform(reporter, version, task, reservation, message, None).await
}

async fn perform<T: Send + 'static>(
    reporter: &Reporter<'_>,
    version: SoapVersion,
    task: Task<Result<T, EndpointError>>,
    reservation: &mut Reservation,
    message: Message,
    turn: Option<Turn>,
) -> Result<T, Response<Reply>> {
    let held = (turn, reservation.hand_over());
    let executor = &reporter.exchange.resources.executor;
    let (done, held) = task.perform(executor, held).await;
    if let Some((_, held)) = held {
        *reservation = held;
    }
    self::done(reporter, version, done, message).map_err(|answer| *answer)
}

/// What work came to, or the answer for what is wrong.
pub(super) fn done<T>(
    reporter: &Reporter<'_>,
    version: SoapVersion,
    done: Result<Result<T, EndpointError>, NotDone>,
    message: Message,
) -> Result<T, Box<Response<Reply>>> {
    match done {
        Ok(result) => result.map_err(|error| Box::new(reporter.error(message, version, error))),
        Err(NotDone::Full) => {
            let executor = &reporter.exchange.resources.executor;
            let detail = format!(
                "{} messages wait for a crypto worker, and {} for a store, a KDC or an authority",
                executor.workers().waiting(),
                executor.waiting_for_stores()
            );
            Err(Box::new(reporter.fail(
                version,
                Cause::Busy,
                "queue-full",
                detail,
            )))
        }
        Err(NotDone::Failed) => Err(Box::new(reporter.fail(
            version,
            Cause::Internal,
            "worker-failed",
            "the crypto worker panicked".to_owned(),
        ))),
    }
}
