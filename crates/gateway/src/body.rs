//! Bodies that go through the gateway: up to a backend, and down to a client; streamed, or whole.
//!
//! The rule kept here: no body grows beyond its limit, whatever its length was said to be.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use crate::backend::Download;
use crate::buffers::{Place, SharedBuffers};
use crate::metrics::{Flow, RouteMetrics};

/// The body of a request to a backend.
#[derive(Debug)]
pub(crate) enum Upload {
    /// All of it.
    Whole(Option<Bytes>),
    /// As it arrives from a client.
    Streamed {
        /// From the client.
        body: Incoming,
        /// How many octets may still come.
        left: u64,
        /// How many there might be in all.
        limit: u64,
        /// Where they are counted.
        metrics: Arc<RouteMetrics>,
    },
}

/// Why a request's body did not reach the backend.
#[derive(Debug)]
pub(crate) enum UploadError {
    /// It is larger than allowed.
    TooLarge { limit: u64 },
    /// The client broke it off.
    Client(hyper::Error),
}

impl fmt::Display for UploadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { limit } => write!(formatter, "the body has more than {limit} octets"),
            Self::Client(error) => write!(formatter, "the body broke off: {error}"),
        }
    }
}

impl std::error::Error for UploadError {}

impl Upload {
    /// Nothing.
    pub(crate) fn empty() -> Self {
        Self::Whole(None)
    }

    /// These octets.
    pub(crate) fn whole(octets: Bytes) -> Self {
        Self::Whole(Some(octets).filter(|octets| !octets.is_empty()))
    }

    /// A client's body as it arrives, up to a limit.
    pub(crate) fn streamed(body: Incoming, limit: u64, metrics: Arc<RouteMetrics>) -> Self {
        Self::Streamed {
            body,
            left: limit,
            limit,
            metrics,
        }
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = UploadError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, UploadError>>> {
        match self.get_mut() {
            Self::Whole(octets) => Poll::Ready(octets.take().map(|octets| Ok(Frame::data(octets)))),
            Self::Streamed {
                body,
                left,
                limit,
                metrics,
            } => {
                let Some(frame) = ready!(Pin::new(body).poll_frame(context)) else {
                    return Poll::Ready(None);
                };
                let frame = frame.map_err(UploadError::Client)?;
                let length = frame.data_ref().map_or(0, |data| data.remaining() as u64);
                match left.checked_sub(length) {
                    Some(rest) => {
                        metrics.octets(Flow::FromClient, length);
                        metrics.octets(Flow::ToBackend, length);
                        *left = rest;
                        Poll::Ready(Some(Ok(frame)))
                    }
                    None => Poll::Ready(Some(Err(UploadError::TooLarge { limit: *limit }))),
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(octets) => octets.is_none(),
            Self::Streamed { body, .. } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(octets) => {
                SizeHint::with_exact(octets.as_ref().map_or(0, |octets| octets.len() as u64))
            }
            Self::Streamed { body, .. } => body.size_hint(),
        }
    }
}

/// The body of a response to a client.
pub(crate) enum Reply {
    /// All of it.
    Whole(Option<Bytes>),
    /// As it arrives from a backend.
    Streamed {
        /// From the backend.
        body: Download,
        /// How many octets may still come.
        left: u64,
        /// How many there might be in all.
        limit: u64,
        /// Where they are counted.
        metrics: Arc<RouteMetrics>,
    },
}

/// Why a response's body did not reach its client whole.
#[derive(Debug)]
pub(crate) enum ReplyError {
    /// It is larger than allowed.
    TooLarge { limit: u64 },
    /// The backend broke it off.
    Backend(hyper::Error),
}

impl fmt::Display for ReplyError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { limit } => {
                write!(formatter, "the response has more than {limit} octets")
            }
            Self::Backend(error) => write!(formatter, "the response broke off: {error}"),
        }
    }
}

impl std::error::Error for ReplyError {}

impl Reply {
    /// Nothing.
    pub(crate) fn empty() -> Self {
        Self::Whole(None)
    }

    /// These octets.
    pub(crate) fn whole(octets: impl Into<Bytes>) -> Self {
        Self::Whole(Some(octets.into()).filter(|octets| !octets.is_empty()))
    }

    /// A backend's body as it arrives, up to a limit.
    pub(crate) fn streamed(body: Download, limit: u64, metrics: Arc<RouteMetrics>) -> Self {
        Self::Streamed {
            body,
            left: limit,
            limit,
            metrics,
        }
    }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = ReplyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ReplyError>>> {
        match self.get_mut() {
            Self::Whole(octets) => Poll::Ready(octets.take().map(|octets| Ok(Frame::data(octets)))),
            Self::Streamed {
                body,
                left,
                limit,
                metrics,
            } => {
                let arrived = match ready!(Pin::new(body).poll_frame(context)) {
                    None => return Poll::Ready(None),
                    Some(arrived) => arrived.map_err(ReplyError::Backend),
                };
                let passed = arrived.and_then(|frame| {
                    let length = frame.data_ref().map_or(0, |data| data.len() as u64);
                    let rest = left.checked_sub(length);
                    *left = rest.ok_or(ReplyError::TooLarge { limit: *limit })?;
                    metrics.octets(Flow::FromBackend, length);
                    metrics.octets(Flow::ToClient, length);
                    Ok(frame)
                });
                if let Err(error) = &passed {
                    // Its head has left: nothing remains but to break it off, by which its client notices.
                    let reason = "backend-broken";
                    metrics.failure(reason);
                    tracing::warn!(route = metrics.route(), reason, detail = %error, "response broken off");
                }
                Poll::Ready(Some(passed))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(octets) => octets.is_none(),
            Self::Streamed { body, .. } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(octets) => {
                SizeHint::with_exact(octets.as_ref().map_or(0, |octets| octets.len() as u64))
            }
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

/// What a peer only announces is not worth more new memory than this. Once so much has arrived, the rest is believed.
const TRUSTED_ANNOUNCEMENT: usize = 1 << 20;

/// Reads a body to its end into a buffer, as far as there is a place for it.
///
/// # Errors
///
/// When it has more than `limit` octets (at once, when it says so itself), breaks off, or finds no room.
pub(crate) async fn collect<B>(
    mut body: B,
    limit: u64,
    place: &mut Place,
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
        if !place.grow(data.len() as u64) {
            return Err(CollectError::NoRoom);
        }
        if length > buffer.capacity() {
            // At once into one of the right size, which mostly is there already, rather than through ever larger ones.
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
