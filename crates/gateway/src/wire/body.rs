//! Bodies that go through the gateway: up to a backend, and down to a client; streamed, or whole.
//!
//! The rule kept here: no body grows beyond its limit, whatever its length was said to be.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::sync::mpsc;

use crate::observe::metrics::{Flow, RouteMetrics};
use crate::wire::budget::Reservation;
use crate::wire::buffers::SharedBuffers;

/// The body of a request to a backend.
pub(crate) type Upload = Passing<Incoming>;

/// A body that the gateway hands on.
#[derive(Debug)]
pub(crate) enum Passing<B> {
    /// All of it.
    Whole(Option<Bytes>),
    /// As somebody in the gateway tells it, until nobody does.
    Told(mpsc::Receiver<Bytes>),
    /// As it arrives from the other side.
    Streamed {
        /// From there.
        body: B,
        /// How much of it may pass.
        bound: Bound,
    },
}

/// Which way a body goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// From a client to a backend.
    Up,
    /// From a backend to a client.
    Down,
}

/// How much of a body may pass.
#[derive(Debug)]
pub(crate) struct Bound {
    way: Way,
    /// How many bytes may still come.
    left: u64,
    /// How many there might be in all.
    limit: u64,
    /// Where they are counted.
    metrics: Arc<RouteMetrics>,
}

/// Why a body did not arrive whole where it was going.
#[derive(Debug)]
pub(crate) enum PassError {
    /// It is larger than allowed.
    TooLarge { way: Way, limit: u64 },
    /// Who sent it broke it off.
    Broken { way: Way, error: hyper::Error },
}

impl fmt::Display for Way {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Up => "the body",
            Self::Down => "the response",
        })
    }
}

impl fmt::Display for PassError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { way, limit } => {
                write!(formatter, "{way} has more than {limit} bytes")
            }
            Self::Broken { way, error } => write!(formatter, "{way} broke off: {error}"),
        }
    }
}

impl std::error::Error for PassError {}

impl<B> Passing<B> {
    /// Nothing.
    pub(crate) fn empty() -> Self {
        Self::Whole(None)
    }

    /// These bytes.
    pub(crate) fn whole(octets: impl Into<Bytes>) -> Self {
        Self::Whole(Some(octets.into()).filter(|octets| !octets.is_empty()))
    }

    /// What the other end of the channel says, until it is dropped.
    pub(crate) fn told(said: mpsc::Receiver<Bytes>) -> Self {
        Self::Told(said)
    }

    pub(super) fn bounded(body: B, way: Way, limit: u64, metrics: Arc<RouteMetrics>) -> Self {
        let bound = Bound {
            way,
            left: limit,
            limit,
            metrics,
        };
        Self::Streamed { body, bound }
    }
}

impl Upload {
    /// A client's body as it arrives, up to a limit.
    pub(crate) fn streamed(body: Incoming, limit: u64, metrics: Arc<RouteMetrics>) -> Self {
        Self::bounded(body, Way::Up, limit, metrics)
    }
}

impl Bound {
    /// Counts what has arrived.
    fn pass(
        &mut self,
        arrived: Result<Frame<Bytes>, hyper::Error>,
    ) -> Result<Frame<Bytes>, PassError> {
        let way = self.way;
        let frame = arrived.map_err(|error| PassError::Broken { way, error })?;
        let length = frame.data_ref().map_or(0, |data| data.len() as u64);
        let limit = self.limit;
        self.left = self
            .left
            .checked_sub(length)
            .ok_or(PassError::TooLarge { way, limit })?;
        for flow in match way {
            Way::Up => [Flow::FromClient, Flow::ToBackend],
            Way::Down => [Flow::FromBackend, Flow::ToClient],
        } {
            self.metrics.octets(flow, length);
        }
        Ok(frame)
    }
}

impl<B: Body<Data = Bytes, Error = hyper::Error> + Unpin> Body for Passing<B> {
    type Data = Bytes;
    type Error = PassError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, PassError>>> {
        let (body, bound) = match self.get_mut() {
            Self::Whole(octets) => {
                return Poll::Ready(octets.take().map(|octets| Ok(Frame::data(octets))));
            }
            Self::Told(said) => {
                let said = ready!(said.poll_recv(context));
                return Poll::Ready(said.map(|octets| Ok(Frame::data(octets))));
            }
            Self::Streamed { body, bound } => (body, bound),
        };
        let Some(arrived) = ready!(Pin::new(body).poll_frame(context)) else {
            return Poll::Ready(None);
        };
        let passed = bound.pass(arrived);
        if let (Way::Down, Err(error)) = (bound.way, &passed) {
            // Its head has left: nothing remains but to break it off, by which its client notices.
            let reason = "backend-broken";
            bound.metrics.failure(reason);
            tracing::warn!(route = bound.metrics.route(), reason, detail = %error, "response broken off");
        }
        Poll::Ready(Some(passed))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(octets) => octets.is_none(),
            Self::Told(said) => said.is_closed() && said.is_empty(),
            Self::Streamed { body, .. } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(octets) => {
                SizeHint::with_exact(octets.as_ref().map_or(0, |octets| octets.len() as u64))
            }
            Self::Told(_) => SizeHint::default(),
            Self::Streamed { body, .. } => body.size_hint(),
        }
    }
}

/// Why a body could not be had whole.
#[derive(Debug)]
pub(crate) enum CollectError {
    /// It is larger than allowed.
    TooLarge { limit: u64 },
    /// It broke off.
    Broken(hyper::Error),
    /// There is no room for more messages.
    NoRoom,
}

/// What a peer only announces is not worth more new memory than this. Once so much has arrived, the
/// rest is believed.
const TRUSTED_ANNOUNCEMENT: usize = 1 << 20;

/// Reads a body to its end into a buffer, as far as there is a place for it.
///
/// # Errors
///
/// When it has more than `limit` bytes (at once, when it says so itself), breaks off, or finds no
/// room.
pub(crate) async fn collect<B>(
    mut body: B,
    limit: u64,
    reservation: &mut Reservation,
    buffers: &SharedBuffers,
) -> Result<Vec<u8>, CollectError>
where
    B: Body<Data = Bytes, Error = hyper::Error> + Unpin,
{
    let announced = body.size_hint().lower();
    if announced > limit {
        return Err(CollectError::TooLarge { limit });
    }
    let announced = usize::try_from(announced).unwrap_or(usize::MAX);
    let mut buffer = match buffers.find(announced) {
        Some(buffer) => buffer,
        None => Vec::with_capacity(announced.min(TRUSTED_ANNOUNCEMENT)),
    };
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(CollectError::Broken)?.into_data() else {
            continue;
        };
        let length = buffer.len() + data.len();
        if length as u64 > limit {
            return Err(CollectError::TooLarge { limit });
        }
        if !reservation.grow(data.len() as u64) {
            return Err(CollectError::NoRoom);
        }
        if length > buffer.capacity() {
            // At once into one of the right size, which mostly is there already, rather than
            // through ever larger ones.
            let needed = if announced < length {
                length * 2
            } else {
                announced
            };
            let mut larger = buffers.take(needed);
            larger.extend_from_slice(&buffer);
            buffers.give(std::mem::replace(&mut buffer, larger));
        }
        buffer.extend_from_slice(&data);
    }
    Ok(buffer)
}
