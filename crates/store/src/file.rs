//! Replay marks in a file, so that calls of the command line share them.
//!
//! One line per mark: the hexadecimal key, a space, the second (Unix time) from which it is expired. Marks are appended; when most of
//! them are expired the file is written anew beside and put in place at once. A lock on a second file (`….lock`) orders all that.
//! Every message reads the whole file, which suits single calls and not a busy server.
//!
//! A line with zeros in the place of a key says by which second all marks have ended that were left out.
//!
//! The rule kept here: a mark is on disk before its message is admitted, and what a mark was left out of is not admitted when the clock is
//! set back.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use soapstone::crypto::hexadecimal;
use soapstone::replay::{ReplayCache, ReplayError};
use soapstone::wss::{FirstSeen, Mark};

use crate::StoreError;

/// Expired lines that are left alone: fewer are not worth writing the file anew.
const EXPIRED_LINES_BORNE: usize = 256;

/// Remembers marks in a file until they expire.
#[derive(Debug)]
pub struct FileReplay {
    path: PathBuf,
    lock: PathBuf,
    capacity: usize,
}

/// Stands in the place of a key in the line about marks that were left out: no digest is like this.
const LEFT_OUT: &str = "0000000000000000000000000000000000000000000000000000000000000000";

struct Contents {
    unexpired: HashMap<String, i64>,
    expired: usize,
    /// The latest second from which one of these is expired.
    latest_expired: Option<i64>,
    /// The same of those that were left out.
    forgotten: Option<i64>,
    /// Octets up to the end of the last whole line.
    whole: u64,
    /// Whether a line was begun and not finished, which only happens to a call that was killed before its message was admitted.
    torn: bool,
}

impl FileReplay {
    /// A cache in the file at `path`, which is created when absent, for at most so many unexpired marks.
    ///
    /// # Errors
    ///
    /// When the file or its lock cannot be opened for writing.
    pub fn open(path: &Path, capacity: usize) -> Result<Self, StoreError> {
        let mut lock = path.as_os_str().to_owned();
        lock.push(".lock");
        let cache = Self {
            path: path.to_path_buf(),
            lock: lock.into(),
            capacity,
        };
        for path in [&cache.lock, &cache.path] {
            append(path).map_err(|source| StoreError::File {
                path: path.clone(),
                source,
            })?;
        }
        Ok(cache)
    }

    fn remember(&self, marks: &[Mark], now: Timestamp) -> Result<FirstSeen, ReplayError> {
        let locked = append(&self.lock).map_err(|error| self.unavailable(&error))?;
        locked.lock().map_err(|error| self.unavailable(&error))?;
        let mut contents = self.read(now.as_second())?;
        let lines: Vec<(String, i64)> = marks.iter().map(line).collect();
        if lines
            .iter()
            .any(|(key, _)| contents.unexpired.contains_key(key))
        {
            return Err(ReplayError::Seen);
        }
        if let Some(forgotten) = contents.forgotten
            && lines.iter().any(|(_, until)| *until <= forgotten)
        {
            return Err(crate::set_back(forgotten));
        }
        if contents.unexpired.len() + lines.len() > self.capacity {
            return Err(ReplayError::Full {
                capacity: self.capacity,
            });
        }
        let compact = contents.expired > EXPIRED_LINES_BORNE.max(contents.unexpired.len());
        let written = if compact {
            contents.unexpired.extend(lines);
            let forgotten = contents.forgotten.max(contents.latest_expired);
            let left_out = forgotten.map(|until| (LEFT_OUT.to_owned(), until));
            contents.unexpired.extend(left_out);
            self.write_anew(&contents.unexpired)
        } else {
            self.append_lines(&lines, &contents)
        };
        written.map_err(|error| self.unavailable(&error))?;
        Ok(FirstSeen::assertion(marks))
    }

    fn read(&self, now: i64) -> Result<Contents, ReplayError> {
        let text = match std::fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(self.unavailable(&error)),
        };
        let whole = text.rfind('\n').map_or(0, |newline| newline + 1);
        let torn = whole < text.len();
        let mut contents = Contents {
            unexpired: HashMap::new(),
            expired: 0,
            latest_expired: None,
            forgotten: None,
            whole: whole as u64,
            torn,
        };
        for (number, line) in (1..).zip(text[..whole].lines()) {
            let Some((key, until)) = parse(line) else {
                let problem = format!("line {number} of {} is no replay mark", self.path.display());
                return Err(ReplayError::Unavailable { problem });
            };
            if key == LEFT_OUT {
                contents.forgotten = contents.forgotten.max(Some(until));
            } else if until > now {
                contents.unexpired.insert(key.to_owned(), until);
            } else {
                contents.expired += 1;
                contents.latest_expired = contents.latest_expired.max(Some(until));
            }
        }
        Ok(contents)
    }

    fn append_lines(&self, lines: &[(String, i64)], contents: &Contents) -> std::io::Result<()> {
        let mut file = append(&self.path)?;
        if contents.torn {
            file.set_len(contents.whole)?;
        }
        file.write_all(written(lines.iter().map(|(key, until)| (key, until))).as_bytes())?;
        file.sync_data()
    }

    fn write_anew(&self, marks: &HashMap<String, i64>) -> std::io::Result<()> {
        let mut beside = self.path.as_os_str().to_owned();
        beside.push(".new");
        let mut file = File::create(&beside)?;
        file.write_all(written(marks.iter()).as_bytes())?;
        file.sync_data()?;
        std::fs::rename(beside, &self.path)
    }

    fn unavailable(&self, error: &std::io::Error) -> ReplayError {
        ReplayError::Unavailable {
            problem: format!("{}: {error}", self.path.display()),
        }
    }
}

impl ReplayCache for FileReplay {
    fn first_seen(&self, marks: &[Mark], now: Timestamp) -> Result<FirstSeen, ReplayError> {
        if marks.is_empty() {
            Ok(FirstSeen::assertion(marks))
        } else {
            self.remember(marks, now)
        }
    }
}

fn append(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

fn line(mark: &Mark) -> (String, i64) {
    (
        hexadecimal::encode(&mark.key),
        mark.until.as_second() + i64::from(mark.until.subsec_nanosecond() > 0),
    )
}

fn written<'l>(lines: impl Iterator<Item = (&'l String, &'l i64)>) -> String {
    lines
        .map(|(key, until)| format!("{key} {until}\n"))
        .collect()
}

fn parse(line: &str) -> Option<(&str, i64)> {
    let (key, until) = line.split_once(' ')?;
    let hexadecimal = key.len() == 64 && key.bytes().all(|digit| digit.is_ascii_hexdigit());
    Some((key, until.parse().ok()?)).filter(|_| hexadecimal)
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

        fn lines(&self) -> usize {
            std::fs::read_to_string(self.0.join("marks"))
                .expect("it exists")
                .lines()
                .count()
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
    fn expired_lines_are_dropped_when_most_are() {
        let folder = Folder::new("compact");
        let cache = folder.cache(1000);
        let marks: Vec<Mark> = (0..300).map(|number| mark(number, 60)).collect();
        cache.first_seen(&marks, at(0)).expect("the first time");
        assert_eq!(folder.lines(), 300);
        cache
            .first_seen(&[mark(500, 200)], at(61))
            .expect("the first time");
        // The mark, and a line about those that are left out.
        assert_eq!(folder.lines(), 2);
        assert_eq!(
            cache.first_seen(&[mark(500, 200)], at(62)).unwrap_err(),
            ReplayError::Seen
        );
    }

    #[test]
    fn what_was_left_out_is_not_admitted_when_the_clock_is_set_back() {
        let folder = Folder::new("set-back");
        let cache = folder.cache(1000);
        let marks: Vec<Mark> = (0..300).map(|number| mark(number, 360)).collect();
        cache.first_seen(&marks, at(0)).expect("the first time");
        cache
            .first_seen(&[mark(500, 660)], at(400))
            .expect("the first time");
        let problem = "marks that ended by 2027-01-15T08:06:00Z are dropped, and the clock was set back since: \
                       whether the message was seen before is not known";
        assert_eq!(
            cache.first_seen(&[mark(1, 360)], at(60)).unwrap_err(),
            ReplayError::Unavailable {
                problem: problem.to_owned()
            }
        );
        cache
            .first_seen(&[mark(501, 361)], at(61))
            .expect("nothing that ends so late was left out");
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
    fn a_line_that_a_killed_call_left_unfinished_is_overwritten() {
        let folder = Folder::new("torn");
        let cache = folder.cache(10);
        cache
            .first_seen(&[mark(1, 60)], at(0))
            .expect("the first time");
        append(&cache.path)
            .and_then(|mut file| file.write_all(b"07070"))
            .expect("the file is writable");
        cache
            .first_seen(&[mark(2, 60)], at(1))
            .expect("the first time");
        assert_eq!(folder.lines(), 2);
        assert_eq!(
            cache.first_seen(&[mark(2, 60)], at(2)).unwrap_err(),
            ReplayError::Seen
        );
    }

    #[test]
    fn a_damaged_file_admits_nothing() {
        let folder = Folder::new("damaged");
        let cache = folder.cache(10);
        std::fs::write(&cache.path, "nonsense\n").expect("the file is writable");
        let problem = format!("line 1 of {} is no replay mark", cache.path.display());
        assert_eq!(
            cache.first_seen(&[mark(1, 60)], at(0)).unwrap_err(),
            ReplayError::Unavailable { problem }
        );
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
