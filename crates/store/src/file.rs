//! Replay marks and tallies in a file, so that calls of the command line share them.
//!
//! The file is a `redb` database: trees of pages, of which a message reads and writes a few,
//! however many marks there are. A database has one user at a time; a lock on a second file
//! (`….lock`) says whose turn it is, among processes and threads alike, and nobody waits for his
//! turn without end.
//!
//! A new file is made beside and put in place when it is whole.
//!
//! The rule kept here: a mark is on disk before its message is admitted, and a message that ends no
//! later than a mark that was dropped is not admitted when the clock is set back.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Error, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use redb::{
    Database, ReadableDatabase, ReadableTable, ReadableTableMetadata, StorageError, Table,
    TableDefinition, TableError, WriteTransaction,
};
use soapstone::attempts::{Attempts, KeyName, Outcome, Tally};
use soapstone::replay::{ReplayCache, ReplayError};
use soapstone::wss::{FirstSeen, Mark};

use crate::StoreError;
use crate::memory::MemoryReplay;
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

/// Marks, with the second from which each is expired.
const MARKS: TableDefinition<'_, &[u8; 32], i64> = TableDefinition::new("marks");
/// The same by their end.
const MARK_ENDS: Ends<'_> = TableDefinition::new("mark ends");
/// Tallies: failed, open, and the second from which each is expired.
const TALLIES: TableDefinition<'_, &[u8; 32], (u32, u32, i64)> = TableDefinition::new("tallies");
/// The same by their end.
const TALLY_ENDS: Ends<'_> = TableDefinition::new("tally ends");
/// Of all marks that were dropped, the latest second from which one is expired.
const FORGOTTEN: TableDefinition<'_, (), i64> = TableDefinition::new("forgotten");

type Ends<'t> = TableDefinition<'t, (i64, &'static [u8; 32]), ()>;
type EndsTable<'t> = Table<'t, (i64, &'static [u8; 32]), ()>;

/// Remembers marks and tallies in a file until they expire.
#[derive(Debug)]
pub struct FileReplay {
    path: PathBuf,
    lock: PathBuf,
    capacity: usize,
    /// Among the threads of this process, so that they do not look at the lock all at once.
    turn: Mutex<()>,
    longest_wait: Duration,
    /// What this process accepted, to be known under another store as well.
    own: MemoryReplay,
}

/// A failure of a turn.
#[derive(Debug)]
enum Failure {
    /// Of the store.
    Replay(ReplayError),
    /// Of the file.
    File(Error),
}

impl<E: Into<redb::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::File(match error.into() {
            redb::Error::Io(error) => error,
            other => Error::other(other),
        })
    }
}

impl FileReplay {
    /// A cache in the file at `path`, which is created when absent, for at most so many unexpired
    /// marks, and as many tallies of openings.
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
        marks: &[Mark],
        now: i64,
    ) -> Result<(), Failure> {
        let mut held = transaction.open_table(MARKS)?;
        let mut ends = transaction.open_table(MARK_ENDS)?;
        let mut notes = transaction.open_table(FORGOTTEN)?;
        for mark in marks {
            let until = held.get(&mark.key)?.map(|until| until.value());
            if until.is_some_and(|until| until > now) {
                return Err(Failure::Replay(ReplayError::Seen));
            }
        }
        let forgotten = notes.get(())?.map(|until| until.value());
        if let Some(forgotten) = forgotten
            && marks.iter().any(|mark| rounded_up(mark.until) <= forgotten)
        {
            return Err(Failure::Replay(crate::set_back(forgotten)));
        }
        let mut latest = None;
        let mut clear = |held: &mut Table<'_, &[u8; 32], i64>, most| {
            clear(&mut ends, now, most, |key, until| {
                held.remove(key)?;
                latest = latest.max(Some(until));
                Ok(())
            })
        };
        clear(&mut held, CLEARED + marks.len())?;
        let full = |held: &Table<'_, &[u8; 32], i64>| -> Result<bool, StorageError> {
            Ok(held.len()? + marks.len() as u64 > self.capacity as u64)
        };
        if full(&held)? {
            clear(&mut held, usize::MAX)?;
            if full(&held)? {
                return Err(Failure::Replay(self.full()));
            }
        }
        if let Some(latest) = latest.max(forgotten) {
            notes.insert((), latest)?;
        }
        for mark in marks {
            let until = rounded_up(mark.until);
            let before = held.insert(&mark.key, until)?.map(|until| until.value());
            if let Some(before) = before {
                ends.remove((before, &mark.key))?;
            }
            ends.insert((until, &mark.key), ())?;
        }
        Ok(())
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

    fn full(&self) -> ReplayError {
        ReplayError::Full {
            capacity: self.capacity,
        }
    }
}

/// Drops so many of the expired entries, those that ended first.
fn clear(
    ends: &mut EndsTable<'_>,
    now: i64,
    most: usize,
    mut drop: impl FnMut(&[u8; 32], i64) -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    for _ in 0..most {
        let first = ends.first()?.map(|(first, _)| {
            let (until, key) = first.value();
            (until, *key)
        });
        match first {
            Some((until, key)) if until <= now => {
                ends.remove((until, &key))?;
                drop(&key, until)?;
            }
            _ => break,
        }
    }
    Ok(())
}

impl ReplayCache for FileReplay {
    fn first_seen(&self, marks: &[Mark], now: Timestamp) -> Result<FirstSeen, ReplayError> {
        let (first_seen, _) = self.begin(marks, &[], now, now)?;
        Ok(first_seen)
    }
}

impl Attempts for FileReplay {
    fn begin(
        &self,
        marks: &[Mark],
        names: &[KeyName],
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(FirstSeen, Vec<Tally>), ReplayError> {
        if marks.is_empty() && names.is_empty() {
            return Ok((FirstSeen::assertion(marks), Vec::new()));
        }
        if !marks.is_empty() {
            self.own.certain(now)?;
        }
        if self.own.holds(marks, now) {
            return Err(ReplayError::Seen);
        }
        let second = now.as_second();
        let tallies = self.write(|transaction| {
            if !marks.is_empty() {
                self.remember(transaction, marks, second)?;
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

    fn record_failure(
        &self,
        name: &KeyName,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<u32, ReplayError> {
        let (names, now) = (std::slice::from_ref(name), now.as_second());
        let before =
            self.write(|transaction| self.change(transaction, names, Change::FAILURE, until, now))?;
        Ok(crate::failures_after(&before))
    }

    fn failures(&self, name: &KeyName, now: Timestamp) -> Result<u32, ReplayError> {
        self.work(|database| {
            let transaction = database.begin_read()?;
            let tallies = match transaction.open_table(TALLIES) {
                Ok(tallies) => tallies,
                // No opening was counted yet.
                Err(TableError::TableDoesNotExist(_)) => return Ok(0),
                Err(error) => return Err(error.into()),
            };
            let known = tallies.get(name)?.map(|known| known.value());
            let unexpired = known.filter(|(.., until)| *until > now.as_second());
            Ok(unexpired.map_or(0, |(failed, ..)| failed))
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
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("soapstone-store-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).expect("the temporary folder is writable");
            Self(path)
        }

        fn cache(&self, capacity: usize) -> FileReplay {
            FileReplay::open(&self.0.join("marks"), capacity).expect("the folder is writable")
        }

        /// How many marks the file has, expired ones included.
        fn marks(&self) -> u64 {
            let database = Database::open(self.0.join("marks")).expect("nobody uses it");
            let transaction = database.begin_read().expect("it is whole");
            let marks = transaction.open_table(MARKS).expect("it is there");
            marks.len().expect("it is whole")
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.0).ok();
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).expect("a moment")
    }

    fn mark(number: u16, until: i64) -> Mark {
        let mut key = [7; 32];
        key[..2].copy_from_slice(&number.to_be_bytes());
        key[30..].copy_from_slice(&number.to_be_bytes());
        Mark {
            key,
            until: at(until),
        }
    }

    #[test]
    fn a_second_call_sees_what_the_first_one_remembered() {
        let folder = Folder::new("second-call");
        folder
            .cache(10)
            .first_seen(&[mark(1, 60)], at(0))
            .expect("the first time");
        assert_eq!(
            folder
                .cache(10)
                .first_seen(&[mark(1, 60)], at(1))
                .unwrap_err(),
            ReplayError::Seen
        );
        folder
            .cache(10)
            .first_seen(&[mark(1, 120)], at(60))
            .expect("it is expired");
    }

    #[test]
    fn expired_marks_are_dropped_faster_than_new_ones_come() {
        let folder = Folder::new("clear");
        let cache = folder.cache(1000);
        let marks: Vec<Mark> = (0..300).map(|number| mark(number, 60)).collect();
        cache.first_seen(&marks, at(0)).expect("the first time");
        assert_eq!(folder.marks(), 300);
        let later = |number: u16| cache.first_seen(&[mark(number, 200)], at(61));
        later(500).expect("the first time");
        assert_eq!(folder.marks(), 300 - CLEARED as u64);
        for number in 501..520 {
            later(number).expect("the first time");
        }
        assert_eq!(folder.marks(), 20);
        assert_eq!(later(500).unwrap_err(), ReplayError::Seen);
    }

    #[test]
    fn what_was_dropped_is_not_admitted_when_the_clock_is_set_back() {
        let folder = Folder::new("set-back");
        let cache = folder.cache(1000);
        cache
            .first_seen(&[mark(1, 360)], at(0))
            .expect("the first time");
        cache
            .first_seen(&[mark(500, 660)], at(400))
            .expect("the first time");
        let problem = "marks that ended by 2027-01-15T08:06:00Z are dropped, and the clock was set back since: \
                       whether the message was seen before is not known";
        let other = folder.cache(1000);
        assert_eq!(
            other.first_seen(&[mark(1, 360)], at(60)).unwrap_err(),
            ReplayError::Unavailable {
                problem: problem.to_owned()
            }
        );
        other
            .first_seen(&[mark(501, 361)], at(61))
            .expect("nothing that ends so late was dropped");
    }

    #[test]
    fn a_full_file_refuses() {
        let folder = Folder::new("full");
        let cache = folder.cache(1);
        cache
            .first_seen(&[mark(1, 60)], at(0))
            .expect("room is left");
        assert_eq!(
            cache.first_seen(&[mark(2, 60)], at(1)).unwrap_err(),
            ReplayError::Full { capacity: 1 }
        );
    }

    #[test]
    fn a_full_file_makes_room_by_dropping_all_that_is_expired() {
        let folder = Folder::new("room");
        let cache = folder.cache(100);
        let marks: Vec<Mark> = (0..100).map(|number| mark(number, 60)).collect();
        cache.first_seen(&marks, at(0)).expect("room is left");
        let marks: Vec<Mark> = (100..200).map(|number| mark(number, 90)).collect();
        assert_eq!(
            cache.first_seen(&marks, at(59)).unwrap_err(),
            ReplayError::Full { capacity: 100 }
        );
        cache.first_seen(&marks, at(60)).expect("all are expired");
    }

    #[test]
    fn openings_are_counted_by_all_who_use_the_file() {
        let folder = Folder::new("openings");
        let names = [[1; 32], [2; 32]];
        let tally = |failed, open| Tally { failed, open };
        let begin = |number| {
            let marks = [mark(number, 60)];
            let begun = folder.cache(10).begin(&marks, &names, at(60), at(0));
            begun.map(|(_, tallies)| tallies)
        };
        assert_eq!(begin(1), Ok(vec![tally(0, 0); 2]));
        assert_eq!(begin(1), Err(ReplayError::Seen));
        assert_eq!(begin(2), Ok(vec![tally(0, 1); 2]));
        let end = |outcome| folder.cache(10).end(&names, outcome, at(90), at(1));
        assert_eq!(end(Outcome::Failed), Ok(vec![tally(0, 2); 2]));
        assert_eq!(end(Outcome::Succeeded), Ok(vec![tally(1, 1); 2]));
        let cache = folder.cache(2);
        assert_eq!(cache.record_failure(&names[0], at(30), at(2)), Ok(2));
        assert_eq!(cache.failures(&names[0], at(89)), Ok(2));
        assert_eq!(cache.failures(&names[0], at(90)), Ok(0));
        assert_eq!(
            cache.record_failure(&[3; 32], at(90), at(89)),
            Err(ReplayError::Full { capacity: 2 })
        );
        assert_eq!(cache.record_failure(&[3; 32], at(120), at(90)), Ok(1));
    }

    #[test]
    fn a_message_that_was_seen_begins_no_opening_and_a_full_store_admits_no_message() {
        let folder = Folder::new("together");
        let cache = folder.cache(1);
        cache
            .begin(&[mark(1, 60)], &[[1; 32]], at(60), at(0))
            .expect("there is room");
        let end = |outcome| cache.end(&[[1; 32]], outcome, at(60), at(0));
        end(Outcome::Failed).expect("it is there");
        let seen = cache.begin(&[mark(1, 60)], &[[1; 32]], at(60), at(0));
        assert_eq!(seen.unwrap_err(), ReplayError::Seen);
        assert_eq!(cache.failures(&[1; 32], at(0)), Ok(1));
        let cache = FileReplay {
            capacity: 2,
            ..cache
        };
        cache
            .begin(&[], &[[2; 32]], at(60), at(0))
            .expect("there is room");
        let full = cache.begin(&[mark(2, 60)], &[[3; 32]], at(60), at(0));
        assert_eq!(full.unwrap_err(), ReplayError::Full { capacity: 2 });
        assert_eq!(folder.marks(), 1);
    }

    #[test]
    fn a_damaged_file_admits_nothing() {
        let folder = Folder::new("damaged");
        let cache = folder.cache(10);
        for damaged in ["nonsense\n", ""] {
            std::fs::write(&cache.path, damaged).expect("the file is writable");
            let refused = cache.first_seen(&[mark(1, 60)], at(0)).unwrap_err();
            let problem = format!("{}: ", cache.path.display());
            assert!(
                matches!(&refused, ReplayError::Unavailable { problem: told } if told.starts_with(&problem)),
                "{refused}"
            );
        }
        std::fs::remove_file(&cache.path).expect("it is there");
        let problem = format!(
            "{}: No such file or directory (os error 2)",
            cache.path.display()
        );
        assert_eq!(
            cache.first_seen(&[mark(1, 60)], at(0)).unwrap_err(),
            ReplayError::Unavailable { problem }
        );
    }

    #[test]
    fn a_file_of_another_form_is_called_what_it_is() {
        let folder = Folder::new("earlier");
        let path = folder.0.join("marks");
        let line = format!("{} 1800000060\n", "07".repeat(32));
        for (text, problem) in [
            (
                line.as_str(),
                "an earlier version wrote it, as text; remove it when no message that it names could be accepted \
                 any more, `ttl` and `skew` after its last use, or name another file",
            ),
            ("nonsense\n", "it is no file of replay marks"),
        ] {
            std::fs::write(&path, text).expect("the folder is writable");
            let error = FileReplay::open(&path, 10).unwrap_err();
            let expected = format!(
                "the file of replay marks {} cannot be used: {problem}",
                path.display()
            );
            assert_eq!(error.to_string(), expected);
            let kept = std::fs::read_to_string(&path).expect("it is there");
            assert_eq!(kept, text);
        }
    }

    #[test]
    fn whoever_waits_for_the_file_too_long_says_so() {
        let folder = Folder::new("wait");
        let mut cache = folder.cache(10);
        let turn = cache.turn().expect("nobody uses it");
        cache.longest_wait = Duration::from_millis(20);
        let problem = format!("{}: other processes used it for 20ms", cache.path.display());
        assert_eq!(
            cache.first_seen(&[mark(1, 60)], at(0)).unwrap_err(),
            ReplayError::Unavailable { problem }
        );
        drop(turn);
        cache
            .first_seen(&[mark(1, 60)], at(0))
            .expect("it was not remembered");
    }

    #[test]
    fn of_many_copies_at_once_one_is_first() {
        let folder = Folder::new("copies");
        let shared = folder.cache(1000);
        let first = std::sync::atomic::AtomicU32::new(0);
        std::thread::scope(|scope| {
            for number in 0..4 {
                let (shared, folder, first) = (&shared, &folder, &first);
                scope.spawn(move || {
                    // As threads of one process, and as processes do.
                    let own = folder.cache(1000);
                    let cache = if number % 2 == 0 { shared } else { &own };
                    for number in 0..20 {
                        match cache.first_seen(&[mark(number, 60)], at(0)) {
                            Ok(_) => {
                                first.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                            }
                            Err(error) => assert_eq!(error, ReplayError::Seen),
                        }
                    }
                });
            }
        });
        assert_eq!(first.into_inner(), 20);
    }

    #[test]
    fn a_folder_that_does_not_exist_is_reported_at_once() {
        let folder = Folder::new("absent");
        let path = folder.0.join("absent/marks");
        let error = FileReplay::open(&path, 10).unwrap_err();
        let expected = format!(
            "the file of replay marks {}.lock cannot be used: No such file or directory (os error 2)",
            path.display()
        );
        assert_eq!(error.to_string(), expected);
    }
}
