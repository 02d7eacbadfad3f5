//! The end of a connection whose client was answered while it still sent.
//!
//! A socket that is closed with bytes in it that nobody read resets the connection, and the reset
//! destroys the answer on its way. So our direction is closed first, and what the client still
//! sends is read and thrown away, until it ends, falls silent, or has had its time
//! (RFC 9112 section 9.6).
//!
//! The rule kept here: it takes no memory for what is thrown away, and ends whatever the client
//! does.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::rt::{Read, ReadBuf, Write};
use tokio::time::{Instant, Sleep};

/// How long a client may be silent before its connection is closed for good.
const SILENCE: Duration = Duration::from_secs(2);

/// How far the end of a connection has come.
#[derive(Debug)]
pub(crate) struct Lingering {
    /// Our direction is closed.
    closed: bool,
    /// When it ends whatever the client sends.
    end: Instant,
    alarm: Pin<Box<Sleep>>,
}

impl Lingering {
    /// Begins the end, which may take so long.
    pub(crate) fn new(patience: Duration) -> Self {
        let now = Instant::now();
        Self {
            closed: false,
            end: now + patience,
            alarm: Box::pin(tokio::time::sleep(SILENCE.min(patience))),
        }
    }

    /// Goes on with it.
    pub(crate) fn poll<S: Read + Write + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.closed {
            ready!(Pin::new(&mut *stream).poll_shutdown(context))?;
            self.closed = true;
        }
        let mut thrown_away = [0; 8192];
        loop {
            if self.alarm.as_mut().poll(context).is_ready() {
                return Poll::Ready(Ok(()));
            }
            let mut buffer = ReadBuf::new(&mut thrown_away);
            // A client that resets the connection has no use for the answer either.
            let read = ready!(Pin::new(&mut *stream).poll_read(context, buffer.unfilled()));
            if read.is_err() || buffer.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            let silent = Instant::now() + SILENCE;
            self.alarm.as_mut().reset(silent.min(self.end));
        }
    }
}
