//! Watches a connection, so that one that does nothing, or sends its request a byte at a time, is
//! closed.
//!
//! Timers per request cost more than the rest of a small exchange. Here a connection only notes
//! when bytes moved and how many requests are in hand, and one timer per connection looks at those
//! notes now and then.
//!
//! The rule kept here: whatever state a connection is in, there is a moment at which it is given
//! up.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::time::Instant;

use super::lingering::Lingering;

/// How long a connection may stay in each state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionTimeouts {
    /// Between requests.
    pub(crate) idle: Duration,
    /// From the connection's start to its first byte, and from a request's first byte to the end
    /// of its headers.
    pub(crate) header: Duration,
    /// With a request in hand, without a byte moving either way.
    pub(crate) stalled: Duration,
}

impl ConnectionTimeouts {
    /// The longest time between two looks at a connection, since its state may change to one that
    /// is borne less.
    pub(crate) fn shortest(&self) -> Duration {
        self.idle.min(self.header).min(self.stalled)
    }
}

/// Notes about one connection. Milliseconds count from the connection's start.
#[derive(Debug)]
pub(crate) struct Activity {
    start: Instant,
    in_hand: AtomicU32,
    moved: AtomicU64,
    /// When the first byte of a request's head arrived; `NONE` when none is being read.
    head: AtomicU64,
    /// Whether a byte has come at all.
    heard: AtomicBool,
    /// The client was answered with an error, and may still be sending.
    interrupted: AtomicBool,
    /// HTTP/2 also sends what belongs to no request, so bytes between requests do not mean that
    /// one has begun.
    multiplexed: AtomicBool,
}

const NONE: u64 = u64::MAX;

impl Activity {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            start: Instant::now(),
            in_hand: AtomicU32::new(0),
            moved: AtomicU64::new(0),
            head: AtomicU64::new(NONE),
            heard: AtomicBool::new(false),
            interrupted: AtomicBool::new(false),
            multiplexed: AtomicBool::new(false),
        })
    }

    /// Notes that a request's head is complete; the request is in hand until the guard is dropped.
    /// That is not before the response's body has been handed on: bytes that come from the
    /// client meanwhile, of this request's body or of the next request, are no head that takes its
    /// time.
    pub(crate) fn request(self: &Arc<Self>, multiplexed: bool) -> InHand {
        if multiplexed {
            self.multiplexed.store(true, Ordering::Relaxed);
        }
        self.in_hand.fetch_add(1, Ordering::Relaxed);
        self.head.store(NONE, Ordering::Relaxed);
        self.interrupted.store(false, Ordering::Relaxed);
        InHand(Arc::clone(self))
    }

    /// Notes that the request in hand was answered without having been wanted to its end.
    pub(crate) fn interrupt(&self) {
        let alone = !self.multiplexed.load(Ordering::Relaxed);
        self.interrupted.store(alone, Ordering::Relaxed);
    }

    /// Whether a byte has come at all.
    pub(crate) fn was_heard(&self) -> bool {
        self.heard.load(Ordering::Relaxed)
    }

    /// How much longer the connection may stay as it is; `None` when its time is over.
    pub(crate) fn remaining(&self, patience: ConnectionTimeouts) -> Option<Duration> {
        let now = self.now();
        let since = |moment: u64| Duration::from_millis(now.saturating_sub(moment));
        let (allowed, passed) = if self.in_hand.load(Ordering::Relaxed) > 0 {
            (patience.stalled, since(self.moved.load(Ordering::Relaxed)))
        } else {
            match self.head.load(Ordering::Relaxed) {
                NONE if !self.heard.load(Ordering::Relaxed) => (patience.header, since(0)),
                NONE => (patience.idle, since(self.moved.load(Ordering::Relaxed))),
                started => (patience.header, since(started)),
            }
        };
        allowed.checked_sub(passed).filter(|left| !left.is_zero())
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(NONE - 1)
    }

    fn received(&self) {
        let now = self.now();
        self.moved.store(now, Ordering::Relaxed);
        self.heard.store(true, Ordering::Relaxed);
        if self.in_hand.load(Ordering::Relaxed) == 0 && !self.multiplexed.load(Ordering::Relaxed) {
            let first = self.head.load(Ordering::Relaxed) == NONE;
            if first {
                self.head.store(now, Ordering::Relaxed);
            }
        }
    }

    fn sent(&self) {
        self.moved.store(self.now(), Ordering::Relaxed);
    }
}

/// A request in hand.
#[derive(Debug)]
pub(crate) struct InHand(Arc<Activity>);

impl Drop for InHand {
    fn drop(&mut self) {
        self.0.sent();
        self.0.in_hand.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A stream that notes when bytes move.
#[derive(Debug)]
pub(crate) struct Watched<S> {
    stream: S,
    activity: Arc<Activity>,
    /// How long a client that was interrupted may go on sending.
    patience: Duration,
    lingering: Option<Lingering>,
}

impl<S> Watched<S> {
    pub(crate) fn new(stream: S, activity: Arc<Activity>, patience: Duration) -> Self {
        Self {
            stream,
            activity,
            patience,
            lingering: None,
        }
    }
}

impl<S: Read + Unpin> Read for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_read(context, buffer);
        if result.is_ready() {
            self.activity.received();
        }
        result
    }
}

impl<S: Read + Write + Unpin> Write for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(context, octets);
        if result.is_ready() {
            self.activity.sent();
        }
        result
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        if result.is_ready() {
            self.activity.sent();
        }
        result
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.lingering.is_none() && this.activity.interrupted.load(Ordering::Relaxed) {
            this.lingering = Some(Lingering::new(this.patience));
        }
        match &mut this.lingering {
            Some(lingering) => lingering.poll(&mut this.stream, context),
            None => Pin::new(&mut this.stream).poll_shutdown(context),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: ConnectionTimeouts = ConnectionTimeouts {
        idle: Duration::from_secs(60),
        header: Duration::from_secs(10),
        stalled: Duration::from_secs(30),
    };

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_never_sends_a_byte_is_given_up_after_the_time_for_a_head() {
        let activity = Activity::new();
        tokio::time::advance(Duration::from_secs(9)).await;
        assert_eq!(activity.remaining(PATIENCE), Some(Duration::from_secs(1)));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(activity.remaining(PATIENCE), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_a_further_request_is_given_up_after_the_idle_time() {
        let activity = Activity::new();
        activity.received();
        drop(activity.request(false));
        tokio::time::advance(Duration::from_secs(59)).await;
        assert_eq!(activity.remaining(PATIENCE), Some(Duration::from_secs(1)));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(activity.remaining(PATIENCE), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_trickles_in_is_given_up_however_often_an_octet_arrives() {
        let activity = Activity::new();
        for _ in 0..10 {
            activity.received();
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!(activity.remaining(PATIENCE), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_in_hand_lives_as_long_as_octets_move() {
        let activity = Activity::new();
        activity.received();
        let request = activity.request(false);
        tokio::time::advance(Duration::from_secs(29)).await;
        activity.sent();
        tokio::time::advance(Duration::from_secs(29)).await;
        assert_eq!(activity.remaining(PATIENCE), Some(Duration::from_secs(1)));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(activity.remaining(PATIENCE), None);
        drop(request);
        assert_eq!(activity.remaining(PATIENCE), Some(Duration::from_secs(60)));
    }
}
