//! Lines on their way to whoever reads them: written by a thread of their own, so that nobody waits
//! who has a line.
//!
//! Lines wait in memory of a bounded size while the reader stands still (a stopped collector, `^S`
//! on a terminal, a full pipe). A line that finds no room is lost and counted. Once the reader is
//! back, it is told how many lines it did not get.
//!
//! The rule kept here: handing in a line takes a lock for as long as the line is copied, and never
//! for a write.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long to wait before a write is tried again that a pipe in non-blocking mode did not take.
const AGAIN: Duration = Duration::from_millis(10);

/// Where lines are handed in.
#[derive(Clone, Debug)]
pub(crate) struct Lines(Arc<Queue>);

#[derive(Debug)]
struct Queue {
    state: Mutex<State>,
    arrived: Condvar,
    written: Condvar,
    /// Most bytes that wait.
    most: usize,
    lost: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    pending: Vec<u8>,
    /// Lines that were lost since the reader was last told.
    untold: u64,
    /// Lines are being written.
    writing: bool,
    /// What takes the place of the former sink, before the next write.
    next: Option<File>,
}

impl Lines {
    /// Starts the thread that writes. At most `most` bytes wait for it. `tell` is called with the
    /// number of lost lines when a write succeeds again.
    ///
    /// # Errors
    ///
    /// When the system gives no thread.
    pub(crate) fn to(
        sink: impl Write + Send + 'static,
        most: usize,
        tell: impl Fn(u64) + Send + 'static,
    ) -> io::Result<Self> {
        let queue = Arc::new(Queue {
            state: Mutex::default(),
            arrived: Condvar::new(),
            written: Condvar::new(),
            most,
            lost: AtomicU64::new(0),
        });
        let serving = Arc::clone(&queue);
        let thread = std::thread::Builder::new().name("lines".to_owned());
        thread.spawn(move || serving.serve(Box::new(sink), &tell))?;
        Ok(Self(queue))
    }

    /// Hands in a whole line, or several.
    pub(crate) fn push(&self, lines: &[u8]) {
        let mut state = self.0.lock();
        if state.pending.len() + lines.len() > self.0.most {
            self.0.lose(&mut state, lines);
            return;
        }
        state.pending.extend_from_slice(lines);
        drop(state);
        self.0.arrived.notify_one();
    }

    /// How many lines were lost since the start.
    pub(crate) fn lost(&self) -> u64 {
        self.0.lost.load(Ordering::Relaxed)
    }

    /// How many bytes wait.
    pub(crate) fn waiting(&self) -> usize {
        self.0.lock().pending.len()
    }

    /// Writes to another file from the next line on.
    pub(crate) fn reopen(&self, file: File) {
        self.0.lock().next = Some(file);
    }

    /// Waits until every line is written, but no longer than `patience`. Says whether every line
    /// is.
    pub(crate) fn flush(&self, patience: Duration) -> bool {
        let end = Instant::now() + patience;
        let mut state = self.0.lock();
        while state.writing || !state.pending.is_empty() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.0.written.wait_timeout(state, left);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        true
    }
}

impl Write for Lines {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        self.push(lines);
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lose(&self, state: &mut State, lines: &[u8]) {
        let count = lines.iter().filter(|byte| **byte == b'\n').count() as u64;
        state.untold += count;
        self.lost.fetch_add(count, Ordering::Relaxed);
    }

    fn serve(&self, mut sink: Box<dyn Write + Send>, tell: &dyn Fn(u64)) {
        let mut batch = Vec::new();
        loop {
            {
                let mut state = self.lock();
                state.writing = false;
                self.written.notify_all();
                while state.pending.is_empty() {
                    let woken = self.arrived.wait(state);
                    state = woken.unwrap_or_else(PoisonError::into_inner);
                }
                state.writing = true;
                std::mem::swap(&mut state.pending, &mut batch);
                if let Some(file) = state.next.take() {
                    sink = Box::new(file);
                }
            }
            let written = write_all(&mut sink, &batch);
            let untold = {
                let mut state = self.lock();
                match written {
                    Ok(()) => std::mem::take(&mut state.untold),
                    // It is told with the next write that succeeds.
                    Err(_) => {
                        self.lose(&mut state, &batch);
                        0
                    }
                }
            };
            batch.clear();
            if untold > 0 {
                tell(untold);
            }
        }
    }
}

/// Writes all of it, also where the sink does not wait for its reader.
fn write_all(sink: &mut dyn Write, mut rest: &[u8]) -> io::Result<()> {
    while !rest.is_empty() {
        match sink.write(rest) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => rest = &rest[count..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(AGAIN),
            Err(error) => return Err(error),
        }
    }
    sink.flush()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    /// A reader that takes one write each time that it is told to.
    struct Reader {
        turns: Receiver<io::Result<()>>,
        got: Sender<Vec<u8>>,
    }

    impl Write for Reader {
        fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
            self.turns.recv().unwrap_or(Ok(()))?;
            // A test that has ended reads no more.
            let _ = self.got.send(lines.to_vec());
            Ok(lines.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A queue, what gives its reader a turn, what the reader got, and what it was told.
    type Tried = (
        Lines,
        SyncSender<io::Result<()>>,
        Receiver<Vec<u8>>,
        Receiver<u64>,
    );

    fn queue(most: usize) -> Tried {
        let (turn, turns) = sync_channel(16);
        let (got, lines) = channel();
        let (say, told) = channel();
        let tell = move |lost| say.send(lost).expect("the test listens");
        let queue = Lines::to(Reader { turns, got }, most, tell).expect("a thread");
        (queue, turn, lines, told)
    }

    /// Has the thread begin a write, which the reader does not take.
    fn stand_still(queue: &Lines) {
        queue.push(b"first\n");
        while queue.waiting() > 0 {
            std::thread::yield_now();
        }
    }

    #[test]
    fn lines_that_find_no_room_are_lost_counted_and_told_when_the_reader_is_back() {
        let (queue, turn, lines, told) = queue(10);
        stand_still(&queue);
        queue.push(b"second\n");
        queue.push(b"third\n");
        queue.push(b"fourth\n");
        assert_eq!((queue.lost(), queue.waiting()), (2, 7));
        assert!(!queue.flush(Duration::ZERO));
        turn.send(Ok(())).expect("the reader is there");
        assert_eq!(lines.recv_timeout(LONG).expect("a write"), b"first\n");
        assert_eq!(told.recv_timeout(LONG), Ok(2));
        turn.send(Ok(())).expect("the reader is there");
        assert_eq!(lines.recv_timeout(LONG).expect("a write"), b"second\n");
        assert!(queue.flush(LONG));
        assert_eq!(queue.lost(), 2);
        assert!(told.try_recv().is_err(), "it is told once");
    }

    #[test]
    fn lines_that_cannot_be_written_are_lost_and_told_once_the_sink_takes_some() {
        let (queue, turn, lines, told) = queue(100);
        turn.send(Err(ErrorKind::StorageFull.into()))
            .expect("the reader is there");
        queue.push(b"one\n");
        assert!(queue.flush(LONG));
        assert_eq!(queue.lost(), 1);
        turn.send(Ok(())).expect("the reader is there");
        queue.push(b"other\n");
        assert_eq!(lines.recv_timeout(LONG).expect("a write"), b"other\n");
        assert_eq!(told.recv_timeout(LONG), Ok(1));
    }

    #[test]
    fn a_pipe_that_does_not_wait_for_its_reader_gets_every_line() {
        let (queue, turn, lines, _told) = queue(100);
        turn.send(Err(ErrorKind::WouldBlock.into()))
            .expect("the reader is there");
        turn.send(Ok(())).expect("the reader is there");
        queue.push(b"one\n");
        assert_eq!(lines.recv_timeout(LONG).expect("a write"), b"one\n");
        assert!(queue.flush(LONG));
        assert_eq!(queue.lost(), 0);
    }
}
