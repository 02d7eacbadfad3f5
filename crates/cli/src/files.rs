//! Reading what a command is given and writing what it makes.
//!
//! `-` and nothing at all are standard input and output. The rule kept here: a file is written
//! completely or not at all, and one that holds a secret is never readable by others, not even for
//! a moment.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Who may read a file that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privacy {
    /// Whoever the user's umask lets.
    Public,
    /// The user alone (mode 0600).
    Secret,
}

/// What to do about a file that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Fail.
    Keep,
    /// Put the new one in its place.
    Replace,
    /// Put the new one in the place of a regular file; fail for a link and anything else.
    ReplaceFile,
}

fn is_standard(path: Option<&Path>) -> bool {
    path.is_none_or(|path| path == Path::new("-"))
}

/// Largest file that is read without another limit: keys, certificates, results of the lab. A
/// certificate has some kilobytes, a revocation list some megabytes, and a run of everything in the
/// lab some tens of them.
const LARGEST: usize = 256 << 20;

/// Reads a file or standard input to its end.
///
/// # Errors
/// [`Failure`] naming the file; when it is larger than 256 MiB, too.
pub fn read(path: Option<&Path>) -> Result<Vec<u8>, Failure> {
    let named = path.filter(|path| !is_standard(Some(path)));
    let too_large = || {
        let name = named.unwrap_or(Path::new("standard input"));
        Failure::file(name, format_args!("has more than {LARGEST} bytes"))
    };
    let length = named.and_then(|path| path.metadata().ok());
    if length.is_some_and(|about| about.len() > LARGEST as u64) {
        return Err(too_large());
    }
    let octets = read_at_most(path, LARGEST)?;
    if octets.len() > LARGEST {
        return Err(too_large());
    }
    Ok(octets)
}

/// Reads a file or standard input, up to one byte more than `most`: enough for its reader to see
/// that it is too long.
///
/// # Errors
/// [`Failure`] naming the file.
pub fn read_at_most(path: Option<&Path>, most: usize) -> Result<Vec<u8>, Failure> {
    read_by_beginning(path, most, |_| most)
}

/// [Reads](read_at_most) a file or standard input; `longest` says of its beginning how much of it
/// may be read.
///
/// # Errors
/// [`Failure`] naming the file.
pub fn read_by_beginning(
    path: Option<&Path>,
    most: usize,
    longest: impl FnOnce(&[u8]) -> usize,
) -> Result<Vec<u8>, Failure> {
    let first = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    let mut octets = Vec::new();
    let failed = |error: std::io::Error| match path {
        Some(path) if !is_standard(Some(path)) => unreadable(path, &error),
        _ => Failure::new(format_args!("standard input cannot be read: {error}")),
    };
    let mut input: Box<dyn Read> = match path {
        Some(path) if !is_standard(Some(path)) => {
            let file = File::open(path).map_err(failed)?;
            if let Ok(about) = file.metadata() {
                octets.reserve_exact(usize::try_from(about.len().min(first)).unwrap_or(0));
            }
            Box::new(file)
        }
        _ => Box::new(std::io::stdin().lock()),
    };
    input
        .by_ref()
        .take(first)
        .read_to_end(&mut octets)
        .map_err(failed)?;
    if octets.len() > most {
        let more = longest(&octets).saturating_sub(most);
        let more = u64::try_from(more).unwrap_or(u64::MAX);
        input.take(more).read_to_end(&mut octets).map_err(failed)?;
    }
    Ok(octets)
}

/// The failure of reading `path`.
pub fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::file(path, format_args!("cannot be read: {error}"))
}

/// Writes a file (in place of one that is there) or standard output.
///
/// # Errors
/// [`Failure`] naming the file.
pub fn write(path: Option<&Path>, octets: &[u8]) -> Result<(), Failure> {
    match path {
        Some(path) if !is_standard(Some(path)) => {
            create(path, octets, Privacy::Public, Existing::Replace)
        }
        _ => print(octets),
    }
}

/// Writes to standard output.
///
/// # Errors
/// [`Failure`] when it cannot be written; [`Failure::Unread`] when nobody reads it any more.
pub fn print(octets: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(octets.as_ref()).and_then(|()| out.flush());
    written.map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::Unread,
        _ => Failure::new(format_args!("standard output cannot be written: {error}")),
    })
}

/// Writes a new file: beside its place first, then into it.
///
/// # Errors
/// [`Failure`] naming the file; when it exists and is to be kept, with the advice to use `--force`.
pub fn create(
    path: &Path,
    octets: &[u8],
    privacy: Privacy,
    existing: Existing,
) -> Result<(), Failure> {
    let named = path;
    let mut path = path.to_path_buf();
    if existing == Existing::ReplaceFile {
        must_be_file(named)?;
    }
    if existing == Existing::Replace {
        match named.metadata() {
            // A device or a pipe is written to, not replaced.
            Ok(about) if !about.is_file() => {
                return std::fs::write(named, octets).map_err(|error| unwritable(named, &error));
            }
            // A link stays; the file that it leads to is replaced.
            Ok(_) => {
                path = named
                    .canonicalize()
                    .map_err(|error| unwritable(named, &error))?
            }
            // Where it leads to a file that is not there yet, the file is made.
            Err(_) => {
                if let (Ok(target), Some(folder)) = (named.read_link(), named.parent()) {
                    path = folder.join(target);
                }
            }
        }
    }
    let beside = beside(&path);
    let written = open_new(&beside, privacy)
        .and_then(|mut file| file.write_all(octets).and_then(|()| file.sync_all()))
        .and_then(|()| match existing {
            Existing::Replace | Existing::ReplaceFile => std::fs::rename(&beside, &path),
            // Unlike a rename, a link never replaces what is there.
            Existing::Keep => {
                std::fs::hard_link(&beside, &path).and_then(|()| std::fs::remove_file(&beside))
            }
        });
    written.map_err(|error| {
        // It may never have been made.
        let _ = std::fs::remove_file(&beside);
        match error.kind() {
            ErrorKind::AlreadyExists => Failure::file(named, "exists already")
                .with_hint("give another name, or --force to replace it"),
            _ => unwritable(named, &error),
        }
    })
}

/// Fails if one of the files exists: asked before any of several is made, so that it is all or
/// none.
///
/// # Errors
/// [`Failure`] naming the first that exists.
pub fn must_be_new<'p>(
    paths: impl IntoIterator<Item = &'p Path>,
    existing: Existing,
) -> Result<(), Failure> {
    match paths
        .into_iter()
        .find(|path| path.symlink_metadata().is_ok())
    {
        Some(path) if existing == Existing::Keep => Err(Failure::file(path, "exists already")
            .with_hint("give another name, or --force to replace it")),
        _ => Ok(()),
    }
}

/// Fails if anything but a regular file stands at a path: a link is not followed.
///
/// # Errors
/// [`Failure`] naming what stands there.
pub fn must_be_file(path: &Path) -> Result<(), Failure> {
    let kind = match path.symlink_metadata() {
        Ok(about) if about.is_symlink() => "a link",
        Ok(about) if about.is_dir() => "a folder",
        Ok(about) if !about.is_file() => "a pipe or a device",
        _ => return Ok(()),
    };
    let says = format_args!("is {kind}, and a regular file is expected in its place");
    Err(Failure::file(path, says).with_hint("take it away, or give another folder"))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    match error.kind() {
        ErrorKind::BrokenPipe => Failure::Unread,
        _ => Failure::file(path, format_args!("cannot be written: {error}")),
    }
}

fn beside(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.new", std::process::id()));
    path.with_file_name(name)
}

fn open_new(path: &Path, privacy: Privacy) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if privacy == Privacy::Secret {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    #[cfg(not(unix))]
    let _ = privacy;
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_exists_is_replaced_only_when_asked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.key.pem");
        create(&path, b"one", Privacy::Secret, Existing::Keep).unwrap();
        let failure = create(&path, b"two", Privacy::Secret, Existing::Keep).unwrap_err();
        assert!(failure.to_string().contains("exists already"), "{failure}");
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
        create(&path, b"two", Privacy::Secret, Existing::Replace).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            1,
            "nothing is left beside it"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_secret_file_is_readable_by_its_owner_alone_even_when_it_replaces_a_public_one() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.key.pem");
        create(&path, b"public", Privacy::Public, Existing::Keep).unwrap();
        create(&path, b"secret", Privacy::Secret, Existing::Replace).unwrap();
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_secret_that_is_put_where_a_link_stands_is_readable_by_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        std::os::unix::fs::symlink("file", &link).unwrap();
        for there in [false, true] {
            if there {
                create(&file, b"public", Privacy::Public, Existing::Replace).unwrap();
            }
            create(&link, b"secret", Privacy::Secret, Existing::Replace).unwrap();
            assert!(link.symlink_metadata().unwrap().is_symlink());
            assert_eq!(std::fs::read(&file).unwrap(), b"secret");
            let mode = std::fs::metadata(&file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            std::fs::remove_file(&file).unwrap();
        }
    }

    #[test]
    fn a_file_that_does_not_fit_into_memory_is_a_failure_and_no_abort() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("huge");
        // No byte of it is on the disk.
        File::create(&path).unwrap().set_len(1 << 43).unwrap();
        let failure = read(Some(&path)).unwrap_err();
        let message = "has more than 268435456 bytes\n";
        assert!(failure.to_string().ends_with(message), "{failure}");
    }

    #[test]
    fn reading_stops_one_octet_after_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long");
        std::fs::write(&path, [b'x'; 100]).unwrap();
        assert_eq!(read_at_most(Some(&path), 10).unwrap().len(), 11);
        assert_eq!(read_at_most(Some(&path), 100).unwrap().len(), 100);
    }
}
