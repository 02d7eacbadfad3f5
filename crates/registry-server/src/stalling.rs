//! A stream on which a peer that reads nothing is given up.
//!
//! The rule kept here: a write that makes no progress has an end.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::time::{Sleep, sleep};

/// How long a write may make no progress.
const PATIENCE: Duration = Duration::from_secs(30);

/// A stream that ends when a write stalls.
pub(crate) struct Stalling<S> {
    stream: S,
    /// Runs while a write waits for the peer.
    end: Option<Pin<Box<Sleep>>>,
}

impl<S> Stalling<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, end: None }
    }

    /// What a write came to, or its end.
    fn bounded<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.end = None;
            return written;
        }
        let end = self.end.get_or_insert_with(|| Box::pin(sleep(PATIENCE)));
        ready!(end.as_mut().poll(context));
        let error = io::Error::new(io::ErrorKind::TimedOut, "the peer reads nothing");
        Poll::Ready(Err(error))
    }
}

impl<S: Read + Unpin> Read for Stalling<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: Write + Unpin> Write for Stalling<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.bounded(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        self.bounded(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.bounded(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let closed = Pin::new(&mut self.stream).poll_shutdown(context);
        self.bounded(closed, context)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use hyper_util::rt::TokioIo;
    use tokio::io::AsyncReadExt;

    use super::*;

    async fn write(stream: &mut Stalling<TokioIo<tokio::io::DuplexStream>>) -> io::Result<usize> {
        poll_fn(|context| Pin::new(&mut *stream).poll_write(context, b"12345678")).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_reads_nothing_is_given_up() {
        let (own, mut peer) = tokio::io::duplex(8);
        let mut stream = Stalling::new(TokioIo::new(own));
        assert_eq!(write(&mut stream).await.expect("there is room"), 8);
        let start = tokio::time::Instant::now();
        let slow = async {
            tokio::time::sleep(Duration::from_secs(29)).await;
            peer.read_u8().await.expect("a byte")
        };
        let (written, _) = tokio::join!(write(&mut stream), slow);
        assert_eq!(written.expect("there is room for one"), 1);
        let error = write(&mut stream).await.expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(start.elapsed().as_secs(), 59);
    }
}
