//! Work on the messages of an exchange, done by the executor.
//!
//! The rule kept here: a message has its place while it is worked on, and the client of a request
//! its share of the queue. No answer is refused for want of a worker.

use http::Response;
use soapstone::wss::SoapVersion;

use super::reporter::{Message, Reporter};
use super::steps::EndpointError;
use crate::scheduling::task::Task;
use crate::scheduling::workers::NotDone;
use crate::wire::budget::Reservation;
use crate::wire::fault::Cause;
use crate::wire::reply::Reply;

/// The largest message that is not heavy to work on for its size: bytes.
///
/// Both operations of a conversation take some 0.15 ms for it (`soapstone lab run engine --filter
/// secure-conversation`: 0.24 ms for 100 kB).
pub(super) const SMALL_MESSAGE: usize = 64 * 1024;

/// Has work done, for which the message has its place, and the client of a request its share of the
/// queue. An answer has none: there are no more answers than requests that had their turns.
pub(super) async fn work<T: Send + 'static>(
    reporter: &Reporter<'_>,
    version: SoapVersion,
    task: Task<Result<T, EndpointError>>,
    reservation: &mut Reservation,
    message: Message,
) -> Result<T, Response<Reply>> {
    let exchange = reporter.exchange;
    let (task, turn) = match message {
        Message::Request => {
            let Some(turn) = exchange.turn().await else {
                let detail = "the client has its share of the messages that wait".to_owned();
                return Err(reporter.fail(version, Cause::Busy, "client-queue", detail));
            };
            (task, Some(turn))
        }
        Message::Response => (task.of_answer(), None),
    };
    let held = (turn, reservation.hand_over());
    let (done, held) = task
        .perform(&reporter.exchange.resources.executor, held)
        .await;
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
