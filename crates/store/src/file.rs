//! Replay marks and tallies in a file, so that calls of the command line share them.
//!
//! The file is a `redb` database: trees of pages, of which a message reads and writes a few,
//! however many marks there are. A database has one user at a time; a lock on a second file
//! (`….lock`) says whose turn it is, among processes and threads alike, and nobody waits for his
//! turn without end.
//!
//! A new file is made beside and put in place when it is whole.
//!
//! Marks of messages that prove their end are kept by the clock of the host, and the others for as
//! long as it takes. The file has a measure of the time elapsed for these: it goes on with the
//! machine's time since its start, and stands still where that begins anew.
//!
//! The rule kept here: a mark is on disk before its message is admitted, and a message that ends
//! when a mark ended that was dropped is not admitted, wherever the clock was set.

mod failure;
mod shelf;

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Error, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use redb::{
    Database, ReadableDatabase, ReadableTable, ReadableTableMetadata, StorageError,
    TableDefinition, TableError, WriteTransaction,
};
use rustix::time::{ClockId, clock_gettime};
use soapstone::attempts::{Attempts, KeyName, Outcome, Tally};
use soapstone::clock::{Elapsed, Forgotten, Steps};
use soapstone::replay::{ReplayCache, ReplayError};
use soapstone::wss::{End, FirstSeen, ReplayKey};

use self::failure::Failure;
use self::shelf::{Ends, Shelf, clear};
use crate::error::StoreError;
use crate::memory::MemoryReplay;
use crate::moments::set_back;
use crate::tallies::{Change, rounded_up};

/// The longest wait for a turn. A turn takes some milliseconds, so that hundreds of calls fit in.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Between two looks whether it is our turn.
const LOOK_PAUSE: Duration = Duration::from_millis(2);

/// Expired entries that one message drops at most, beside as many as it adds: enough to drop more
/// than are added, and few enough that no message waits for the clearing away of others.
const CLEARED: usize = 16;

/// Memory for pages: a message uses some ten of 4 kB.
const CACHE: usize = 1 << 20;

/// The first bytes of every `redb` database.
const MAGIC: &[u8; 4] = b"redb";

/// Marks of messages that prove their end, with the second from which each is expired.
const MARKS: TableDefinition<'_, &[u8; 32], i64> = TableDefinition::new("marks");
/// The same by their end.
const MARK_ENDS: Ends<'_> = TableDefinition::new("mark ends");
/// Marks of messages that prove no end, with the millisecond of the time elapsed from which each is
/// expired.
const COUNTED: TableDefinition<'_, &[u8; 32], i64> = TableDefinition::new("counted marks");
/// The same by their end.
const COUNTED_ENDS: Ends<'_> = TableDefinition::new("counted mark ends");
/// The time elapsed, and the time since the machine's start when it was noted, in milliseconds; in
/// seconds, the longest time for which a message was still good when it was accepted, and the steps
/// of the clock.
const TIME: TableDefinition<'_, (), (i64, i64, i64, i64, i64, i64)> =
    TableDefinition::new("time elapsed");
/// Tallies: failed, open, and the second from which each is expired.
const TALLIES: TableDefinition<'_, &[u8; 32], (u32, u32, i64)> = TableDefinition::new("tallies");
/// The same by their end.
const TALLY_ENDS: Ends<'_> = TableDefinition::new("tally ends");
/// Names of assertions that were cancelled, with the second from which each is expired.
const CANCELLED: TableDefinition<'_, &[u8; 32], i64> = TableDefinition::new("cancelled");
/// The same by their end.
const CANCELLED_ENDS: Ends<'_> = TableDefinition::new("cancelled ends");
/// The seconds from which marks are expired that were dropped: spans, by their first.
const FORGOTTEN: TableDefinition<'_, i64, i64> = TableDefinition::new("forgotten spans");

/// Remembers marks and tallies in a file until they expire.
#[derive(Debug)]
pub struct FileReplay {
    path: PathBuf,
    lock: PathBuf,
    capacity: usize,
    /// Among the threads of this process, so that they do not look at the lock all at once.
    turn: Mutex<()>,
    longest_wait: Duration,
    /// The time since the machine's start.
    running: Elapsed,
    /// What this process accepted, to be known under another store as well.
    own: MemoryReplay,
}

/// What is known of the present beside the clock.
struct Times {
    /// The millisecond of the time elapsed.
    elapsed: i64,
    /// The earliest second that it may be.
    earliest: i64,
    /// In seconds, the longest time for which a message was still good when it was accepted.
    longest: i64,
}

impl FileReplay {
    /// A cache in the file at `path`, which is created when absent, for at most so many unexpired
    /// marks, as many tallies of openings, and as many cancelled assertions.
    ///
    /// # Errors
    ///
    /// When the file or its lock cannot be opened for writing, is of another form, or is in use for
    /// too long.
    pub fn open(path: &Path, capacity: usize) -> Result<Self, StoreError> {
        let cache = Self {
            path: path.to_path_buf(),
            lock: beside(path, ".lock"),
            capacity,
            turn: Mutex::default(),
            longest_wait: LONGEST_WAIT,
            running: Elapsed::read_by(since_start),
            // The file bounds it.
            own: MemoryReplay::new(usize::MAX),
        };
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            |source| StoreError::File { path, source }
        };
        let _turn = cache.turn().map_err(failed(&cache.lock))?;
        cache.make_ready().map_err(failed(path))?;
        Ok(cache)
    }

    /// Measures the time elapsed by another clock.
    #[cfg(test)]
    pub(crate) fn measured_by(self, running: Elapsed) -> Self {
        Self { running, ..self }
    }

    pub(crate) fn own(&self) -> &MemoryReplay {
        &self.own
    }

    pub(crate) fn own_mut(&mut self) -> &mut MemoryReplay {
        &mut self.own
    }

    /// Waits for the lock, which ends with the file that is returned.
    fn turn(&self) -> std::io::Result<File> {
        let start = Instant::now();
        // A panic leaves nothing behind here.
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&self.lock)?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) if start.elapsed() < self.longest_wait => {
                    std::thread::sleep(LOOK_PAUSE);
                }
                Err(TryLockError::WouldBlock) => {
                    let waited = self.longest_wait;
                    let problem = format!("other processes used it for {waited:?}");
                    return Err(Error::new(ErrorKind::TimedOut, problem));
                }
            }
        }
    }

    /// Makes the file where it is absent, and looks whether it is one of ours where it is there.
    fn make_ready(&self) -> std::io::Result<()> {
        match File::open(&self.path) {
            Ok(mut file) if file.metadata()?.len() > 0 => return is_ours(&mut file),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let new = beside(&self.path, ".new");
        match std::fs::remove_file(&new) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let made = Database::create(&new)
            .map_err(Failure::from)
            .and_then(|database| {
                let transaction = database.begin_write()?;
                drop(transaction.open_table(MARKS)?);
                transaction.commit()?;
                Ok(database.close()?)
            });
        match made {
            Ok(()) => {}
            Err(Failure::File(error)) => return Err(error),
            Err(Failure::Replay(error)) => return Err(Error::other(error)),
        }
        std::fs::rename(&new, &self.path)?;
        // The name is on disk with the file, or the marks of the first messages could be lost.
        let folder = self.path.parent().filter(|it| *it != Path::new(""));
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    }

    /// Works on the database when it is our turn, until the work says that nothing is to be kept.
    fn work<T>(
        &self,
        work: impl FnOnce(&Database) -> Result<T, Failure>,
    ) -> Result<T, ReplayError> {
        let done = self.turn().map_err(Failure::File).and_then(|_turn| {
            let database = Database::builder().set_cache_size(CACHE).open(&self.path)?;
            let done = work(&database)?;
            database.close()?;
            Ok(done)
        });
        done.map_err(|failure| match failure {
            Failure::Replay(error) => error,
            Failure::File(error) => ReplayError::Unavailable {
                problem: format!("{}: {error}", self.path.display()),
            },
        })
    }

    fn write<T>(
        &self,
        work: impl FnOnce(&WriteTransaction) -> Result<T, Failure>,
    ) -> Result<T, ReplayError> {
        self.work(|database| {
            let transaction = database.begin_write()?;
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        })
    }

    fn remember(
        &self,
        transaction: &WriteTransaction,
        marks: &[ReplayKey],
        now: Timestamp,
    ) -> Result<(), Failure> {
        let Times {
            elapsed,
            earliest,
            longest,
        } = self.time(transaction, marks, now.as_second())?;
        let mut proven = Shelf::open(transaction, (MARKS, MARK_ENDS), now.as_second())?;
        let mut counted = Shelf::open(transaction, (COUNTED, COUNTED_ENDS), elapsed)?;
        let mut forgotten = read_forgotten(transaction)?;
        let known = forgotten.clone();
        for mark in marks {
            if proven.holds(&mark.key)? || counted.holds(&mark.key)? {
                return Err(Failure::Replay(ReplayError::Seen));
            }
            if mark.end == End::Proven
                && let Some(last) = forgotten.last_beside(rounded_up(mark.until))
            {
                return Err(Failure::Replay(set_back(last)));
            }
        }
        let mut note = |until| forgotten.note(until, until);
        proven.clear(earliest, CLEARED + marks.len(), &mut note)?;
        counted.clear(elapsed, CLEARED + marks.len(), &mut |_| ())?;
        let is_full = |proven: &Shelf<'_>, counted: &Shelf<'_>| -> Result<bool, StorageError> {
            let held = proven.marks.len()? + counted.marks.len()?;
            Ok(held + marks.len() as u64 > self.capacity as u64)
        };
        if is_full(&proven, &counted)? {
            proven.clear(earliest, usize::MAX, &mut note)?;
            counted.clear(elapsed, usize::MAX, &mut |_| ())?;
        }
        if is_full(&proven, &counted)? {
            proven.clear(proven.now, usize::MAX, &mut note)?;
        }
        if is_full(&proven, &counted)? {
            // What ends later than any message that is good now was accepted before the clock was
            // set back.
            proven.clear_ahead(proven.now.saturating_add(longest), &mut note)?;
        }
        if is_full(&proven, &counted)? {
            return Err(Failure::Replay(self.full()));
        }
        for mark in marks {
            let before = match mark.end {
                End::Proven => proven.put(&mark.key, rounded_up(mark.until))?,
                End::Counted => {
                    let life = mark.until.as_millisecond() - now.as_millisecond();
                    // Rounded up.
                    let end = elapsed.saturating_add(life.max(0)).saturating_add(1);
                    counted.put(&mark.key, end)?;
                    None
                }
            };
            before
                .into_iter()
                .filter(|before| *before != rounded_up(mark.until))
                .for_each(&mut note);
        }
        if forgotten != known {
            write_forgotten(transaction, &forgotten)?;
        }
        Ok(())
    }

    /// The time elapsed, of which no more is counted than has passed: nothing, where the machine
    /// was started anew.
    fn time(
        &self,
        transaction: &WriteTransaction,
        marks: &[ReplayKey],
        now: i64,
    ) -> Result<Times, Failure> {
        let mut time = transaction.open_table(TIME)?;
        let running = self.running.milliseconds();
        let known = time.get(())?.map(|known| known.value());
        let mut steps = Steps::default();
        let (mut elapsed, mut longest) = (0, 0);
        if let Some((passed, noted, most, begin, before, since)) = known {
            elapsed = passed.saturating_add((running - noted).max(0));
            longest = most;
            steps = Steps {
                begin,
                before,
                since,
            };
        }
        let earliest = steps.earliest(now, elapsed.div_euclid(1000));
        let proven = marks.iter().filter(|mark| mark.end == End::Proven);
        let left = proven.map(|mark| rounded_up(mark.until) - now);
        longest = left.fold(longest, i64::max);
        let Steps {
            begin,
            before,
            since,
        } = steps;
        time.insert((), (elapsed, running, longest, begin, before, since))?;
        Ok(Times {
            elapsed,
            earliest,
            longest,
        })
    }

    fn change(
        &self,
        transaction: &WriteTransaction,
        names: &[KeyName],
        change: Change,
        until: Timestamp,
        now: i64,
    ) -> Result<Vec<Tally>, Failure> {
        let mut tallies = transaction.open_table(TALLIES)?;
        let mut ends = transaction.open_table(TALLY_ENDS)?;
        clear(&mut ends, now, CLEARED + names.len(), |key, _| {
            tallies.remove(key).map(drop)
        })?;
        let mut before = Vec::with_capacity(names.len());
        for name in names {
            let known = tallies.get(name)?.map(|known| known.value());
            let (failed, open, end) = known.unwrap_or_default();
            let tally = match end > now {
                true => Tally { failed, open },
                false => Tally::default(),
            };
            if known.is_some() {
                ends.remove((end, name))?;
            }
            before.push(tally);
            let after = change.of(tally);
            if after == Tally::default() {
                tallies.remove(name)?;
                continue;
            }
            if known.is_none() && tallies.len()? >= self.capacity as u64 {
                clear(&mut ends, now, usize::MAX, |key, _| {
                    tallies.remove(key).map(drop)
                })?;
                if tallies.len()? >= self.capacity as u64 {
                    return Err(Failure::Replay(self.full()));
                }
            }
            let end = end.max(rounded_up(until));
            tallies.insert(name, (after.failed, after.open, end))?;
            ends.insert((end, name), ())?;
        }
        Ok(before)
    }

    fn remember_cancelled(
        &self,
        transaction: &WriteTransaction,
        name: &KeyName,
        until: i64,
        now: i64,
    ) -> Result<(), Failure> {
        let mut cancelled = Shelf::open(transaction, (CANCELLED, CANCELLED_ENDS), now)?;
        cancelled.clear(now, CLEARED, &mut |_| ())?;
        let known = cancelled.marks.get(name)?.map(|until| until.value());
        if known.is_none() && cancelled.marks.len()? >= self.capacity as u64 {
            cancelled.clear(now, usize::MAX, &mut |_| ())?;
            if cancelled.marks.len()? >= self.capacity as u64 {
                return Err(Failure::Replay(self.full()));
            }
        }
        cancelled.put(name, known.map_or(until, |known| known.max(until)))?;
        Ok(())
    }

    fn full(&self) -> ReplayError {
        ReplayError::Full {
            capacity: self.capacity,
        }
    }
}

fn read_forgotten(transaction: &WriteTransaction) -> Result<Forgotten, Failure> {
    let table = transaction.open_table(FORGOTTEN)?;
    let mut forgotten = Forgotten::default();
    for span in table.iter()? {
        let (first, last) = span?;
        forgotten.note(first.value(), last.value());
    }
    Ok(forgotten)
}

fn write_forgotten(transaction: &WriteTransaction, forgotten: &Forgotten) -> Result<(), Failure> {
    let mut table = transaction.open_table(FORGOTTEN)?;
    table.retain(|_, _| false)?;
    for (first, last) in forgotten.spans() {
        table.insert(first, last)?;
    }
    Ok(())
}

/// The time since the machine's start, with what it slept through.
fn since_start() -> Duration {
    // A machine was not started before its start.
    Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default()
}

impl ReplayCache for FileReplay {
    fn first_seen(&self, marks: &[ReplayKey], now: Timestamp) -> Result<FirstSeen, ReplayError> {
        let (first_seen, _) = self.begin(marks, &[], now, now)?;
        Ok(first_seen)
    }
}

impl Attempts for FileReplay {
    fn begin(
        &self,
        marks: &[ReplayKey],
        names: &[KeyName],
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(FirstSeen, Vec<Tally>), ReplayError> {
        if marks.is_empty() && names.is_empty() {
            return Ok((FirstSeen::assertion(marks), Vec::new()));
        }
        self.own.certain(marks, now)?;
        if self.own.holds(marks, now) {
            return Err(ReplayError::Seen);
        }
        let second = now.as_second();
        let tallies = self.write(|transaction| {
            if !marks.is_empty() {
                self.remember(transaction, marks, now)?;
            }
            if names.is_empty() {
                return Ok(Vec::new());
            }
            self.change(transaction, names, Change::BEGUN, until, second)
        })?;
        self.own.remember(marks, now)?;
        Ok((FirstSeen::assertion(marks), tallies))
    }

    fn end(
        &self,
        names: &[KeyName],
        outcome: Outcome,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<Tally>, ReplayError> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let change = Change::ended(outcome);
        self.write(|transaction| self.change(transaction, names, change, until, now.as_second()))
    }

    /// Remembered by the process as well, to be known under another store.
    fn cancel(
        &self,
        name: &KeyName,
        by: &KeyName,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(), ReplayError> {
        let end = rounded_up(until);
        let remember = |transaction: &WriteTransaction| {
            self.remember_cancelled(transaction, name, end, now.as_second())
        };
        let ends = (until, now);
        self.own
            .cancel_after(name, by, ends, self.capacity, || self.write(remember))
    }

    fn is_cancelled(&self, name: &KeyName, now: Timestamp) -> Result<bool, ReplayError> {
        if self.own.is_cancelled(name, now)? {
            return Ok(true);
        }
        self.work(|database| {
            let table = match database.begin_read()?.open_table(CANCELLED) {
                Err(TableError::TableDoesNotExist(_)) => return Ok(false),
                table => table?,
            };
            let until = table.get(name)?.map(|until| until.value());
            Ok(until.is_some_and(|until| until > now.as_second()))
        })
    }
}

/// Whether a file that is not empty is a database.
fn is_ours(file: &mut File) -> std::io::Result<()> {
    let mut first = Vec::new();
    file.take(65).read_to_end(&mut first)?;
    if first.starts_with(MAGIC) {
        return Ok(());
    }
    let text =
        first.len() == 65 && first[..64].iter().all(u8::is_ascii_hexdigit) && first[64] == b' ';
    let problem = match text {
        true => {
            "an earlier version wrote it, as text; remove it when no message that it names could be \
             accepted any more, `ttl` and `skew` after its last use, or name another file"
        }
        false => "it is no file of replay marks",
    };
    Err(Error::new(ErrorKind::InvalidData, problem))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(ending);
    beside.into()
}

#[cfg(test)]
mod tests;
