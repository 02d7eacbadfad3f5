//! Violation records: signed, and kept in a file that only grows.
//!
//! A thread of its own signs and writes, so that no request waits for a key or a disk. Records wait
//! in memory of a bounded size; one that finds no room is lost and counted.
//!
//! The rule kept here: a record that was written is whole, and the next one follows it. A chain
//! has one writer: a second process waits until the first has ended.

mod form;

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use soapstone::crypto::Identity;
use soapstone::wss::InnerSigning;
use soapstone_broker::{AgreementEvent, Moment, Violation};
use tokio::time::Instant;

pub use form::{BrokenRecord, Head, RecordError, VerifiedRecord, verify_records};

/// Most records that wait: some 500 bytes each. An agreement makes a handful in a window.
const MOST_WAITING: usize = 4096;

/// Most bytes of the last line that are looked for: a record has some three thousand.
const LAST_LINE: u64 = 256 << 10;

/// Now, as agreements take it.
pub(crate) fn moment() -> Moment {
    let unix = Timestamp::now().as_duration();
    Moment {
        at: Instant::now().into_std(),
        unix: Duration::try_from(unix).unwrap_or_default(),
    }
}

/// Where violations are told.
#[derive(Debug, Default)]
pub(crate) struct Violations {
    writer: Mutex<Option<Writer>>,
    counts: Arc<Counts>,
}

/// What hands records to the thread.
#[derive(Debug)]
struct Writer {
    file: PathBuf,
    orders: SyncSender<Order>,
    /// Where the chain of that file ends.
    head: Arc<Mutex<Head>>,
}

/// What is known of the records.
#[derive(Debug, Default)]
struct Counts {
    lost: AtomicU64,
}

/// What the thread is told.
enum Order {
    Write(Box<Violation>, Timestamp),
    /// Sign with this key from now on.
    Sign(Arc<Identity>),
    /// Say when all before is done.
    Say(SyncSender<()>),
}

impl Violations {
    /// Writes to that file from now on, signed with that key.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened for writing, or the system gives no thread.
    pub(crate) fn configure(&self, file: &Path, identity: &Arc<Identity>) -> io::Result<()> {
        if let Some(known) = self.writer().as_ref().filter(|known| known.file == file) {
            // The thread ends when this is dropped, and not before.
            let sent = known.orders.try_send(Order::Sign(Arc::clone(identity)));
            return sent.map_err(|_| io::Error::other("too many records wait to be written"));
        }
        let signing = form::signing(Arc::clone(identity));
        let signing = signing.ok_or_else(|| {
            let why = "no signature algorithm of records fits the key";
            io::Error::new(io::ErrorKind::InvalidInput, why)
        })?;
        // Outside the lock: requests tell of violations meanwhile, and a disk may be slow.
        let mut options = OpenOptions::new();
        let opened = options.read(true).append(true).create(true).open(file)?;
        let (orders, received) = sync_channel(MOST_WAITING);
        let counts = Arc::clone(&self.counts);
        let head = Arc::<Mutex<Head>>::default();
        let end = Arc::clone(&head);
        let thread = std::thread::Builder::new().name("violations".to_owned());
        thread.spawn(move || serve(&opened, signing, &received, &counts, &end))?;
        *self.writer() = Some(Writer {
            file: file.to_path_buf(),
            orders,
            head,
        });
        Ok(())
    }

    /// Tells what changed under an agreement: violations are recorded.
    pub(crate) fn tell(&self, events: Vec<AgreementEvent>) {
        for event in events {
            match event {
                AgreementEvent::Violated(violation) => self.record(violation),
                AgreementEvent::Returned { agreement, backend } => tracing::info!(
                    agreement,
                    backend,
                    "the provider's backend gets calls of the agreement again"
                ),
                AgreementEvent::Expired { agreement } => tracing::warn!(
                    agreement,
                    "the agreement has expired: its client is served without it"
                ),
            }
        }
    }

    fn record(&self, violation: Box<Violation>) {
        tracing::warn!(
            agreement = violation.agreement,
            route = violation.service,
            backend = violation.backend,
            obligation = violation.obligation.name(),
            party = violation.obligation.party(),
            promised = violation.promised,
            measured = violation.measured,
            calls = violation.calls,
            violating = violation.violating,
            excluded = violation.excluded.map(tracing::field::debug),
            "an agreement was violated"
        );
        let writer = self.writer();
        let order = Order::Write(violation, Timestamp::now());
        let sent = writer.as_ref().map(|it| it.orders.try_send(order).is_ok());
        if sent != Some(true) {
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many records were lost.
    pub(crate) fn lost(&self) -> u64 {
        self.counts.lost.load(Ordering::Relaxed)
    }

    /// Where the chain of records ends.
    pub(crate) fn head(&self) -> Head {
        let writer = self.writer();
        let head = writer.as_ref().map(|it| lock(&it.head).clone());
        head.unwrap_or_default()
    }

    /// Waits until every record is written, but no longer than that.
    pub(crate) fn flush(&self, patience: Duration) {
        let (say, said) = sync_channel(1);
        let orders = self.writer().as_ref().map(|it| it.orders.clone());
        if orders.is_some_and(|orders| orders.try_send(Order::Say(say)).is_ok()) {
            // Too late is told by the count of what is lost.
            let _ = said.recv_timeout(patience);
        }
    }

    fn writer(&self) -> MutexGuard<'_, Option<Writer>> {
        lock(&self.writer)
    }
}

/// Each change under a lock is complete in itself.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(
    file: &File,
    mut signing: InnerSigning,
    orders: &Receiver<Order>,
    counts: &Counts,
    head: &Mutex<Head>,
) {
    let continued = || match file.try_clone().and_then(Chain::continued) {
        Ok(chain) => {
            lock(head).clone_from(&chain.head);
            Some(chain)
        }
        Err(error) => {
            tracing::error!(%error, "the violation records cannot be continued: violations are lost");
            None
        }
    };
    let mut chain = continued();
    // It ends when nobody is left who tells of violations.
    while let Ok(order) = orders.recv() {
        match order {
            Order::Sign(identity) => match form::signing(identity) {
                Some(next) => signing = next,
                None => tracing::error!(
                    "no signature algorithm of violation records fits the new key: the former one signs on"
                ),
            },
            // Nobody waits any more.
            Order::Say(say) => drop(say.send(())),
            Order::Write(violation, time) => {
                // Somebody may have mended the file.
                chain = chain.or_else(continued);
                let written = chain
                    .as_mut()
                    .map(|chain| chain.append(&signing, &violation, time));
                match (written, &chain) {
                    (Some(Ok(())), Some(chain)) => lock(head).clone_from(&chain.head),
                    (written, _) => {
                        counts.lost.fetch_add(1, Ordering::Relaxed);
                        if let Some(Err(error)) = written {
                            tracing::error!(error, "a violation record was lost");
                        }
                    }
                }
            }
        }
    }
}

/// The file of records, and where it ends.
struct Chain {
    file: File,
    length: u64,
    head: Head,
    /// Whether something may stand behind the last record that is none.
    torn: bool,
}

impl Chain {
    /// Goes on where a file ends. Waits for another process that writes to it. What is no chain of
    /// ours stays as it is.
    fn continued(mut file: File) -> io::Result<Self> {
        file.lock()?;
        let length = file.metadata()?.len();
        let from = length.saturating_sub(LAST_LINE);
        file.seek(SeekFrom::Start(from))?;
        let mut end = Vec::new();
        file.read_to_end(&mut end)?;
        let whole = end.iter().rposition(|byte| *byte == b'\n');
        let (lines, torn) = end.split_at(whole.map_or(0, |at| at + 1));
        let head = match lines.strip_suffix(b"\n") {
            None if from == 0 => Head::default(),
            None => return Err(no_chain("its last line is longer than any record")),
            Some(lines) => {
                let last = lines.rsplit(|byte| *byte == b'\n').next();
                Head::unverified(last.unwrap_or_default()).map_err(no_chain)?
            }
        };
        if !form::is_beginning(torn) {
            return Err(no_chain("its last line is no beginning of a record"));
        }
        let mut chain = Self {
            file,
            length: from + lines.len() as u64,
            head,
            torn: !torn.is_empty(),
        };
        if chain.torn {
            // The process ended while it wrote: this line was never a record.
            let bytes = torn.len();
            tracing::warn!(bytes, "a torn violation record was cut off");
            chain.cut()?;
        }
        Ok(chain)
    }

    /// Cuts off what stands behind the last record.
    fn cut(&mut self) -> io::Result<()> {
        if self.torn {
            self.file.set_len(self.length)?;
            self.torn = false;
        }
        Ok(())
    }

    /// Signs and writes a record.
    fn append(
        &mut self,
        signing: &InnerSigning,
        violation: &Violation,
        time: Timestamp,
    ) -> Result<(), String> {
        self.cut().map_err(|cut| {
            format!("what stands behind the last record cannot be cut off: {cut}")
        })?;
        let made = form::write(signing, &self.head, violation, time);
        let (mut line, head) = made.map_err(|error| error.to_string())?;
        line.push(b'\n');
        let written = self
            .file
            .write_all(&line)
            .and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // What was written of it is no record.
            self.torn = true;
            return Err(match self.cut() {
                Ok(()) => error.to_string(),
                Err(cut) => format!("{error}; its beginning could not be cut off: {cut}"),
            });
        }
        self.length += line.len() as u64;
        self.head = head;
        Ok(())
    }
}

fn no_chain(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests;
