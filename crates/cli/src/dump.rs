//! Folders with canonical bytes of a message, which may be the plaintext of what it has encrypted.
//!
//! The rule kept here: a folder has the bytes of one message, for their owner alone.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::files::{self, Existing, Privacy};

/// The file of a folder that says what was signed when a message was sent.
pub(crate) const TREE: &str = "secured.json";

/// Writes files, and what was signed, into a folder. Those of an earlier message are removed.
///
/// # Errors
/// [`Failure`] naming what cannot be written, what is no regular file, and what belongs to another
/// user. A folder of what was sent is kept for that, and one into which others may write is none.
pub(crate) fn write(
    folder: &Path,
    files: &[(String, &[u8])],
    tree: Option<&[u8]>,
) -> Result<(), Failure> {
    // A slash at its end would have a link followed.
    let folder = &folder.components().collect::<PathBuf>();
    make(folder)?;
    let sent = folder.join(TREE);
    must_be_own_file(&sent)?;
    if tree.is_none() && sent.symlink_metadata().is_ok() {
        let says = "says what was sent, and its folder is kept for that";
        return Err(Failure::file(&sent, says).with_hint("give another folder"));
    }
    let earlier = earlier(folder)?;
    let new = || files.iter().map(|(name, _)| folder.join(name));
    for path in new().chain(earlier.iter().cloned()) {
        must_be_own_file(&path)?;
    }
    // No folder says of one message what it has of another.
    for path in std::iter::once(&sent).chain(&earlier) {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                let says = format_args!("is of an earlier message, and cannot be removed: {error}");
                return Err(Failure::file(path, says));
            }
            _ => {}
        }
    }
    let put = |path: &Path, bytes: &[u8]| {
        files::create(path, bytes, Privacy::Secret, Existing::ReplaceFile)
    };
    for (name, bytes) in files {
        put(&folder.join(name), bytes)?;
    }
    tree.map_or(Ok(()), |tree| put(&sent, tree))
}

/// Makes a folder for its owner alone, if it is not there.
fn make(folder: &Path) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::file(folder, error);
    match folder.symlink_metadata() {
        Ok(about) if about.is_dir() => return refuse_open(folder, &about),
        Ok(_) => {
            let says = "is a link or a file, and a folder is expected in its place";
            return Err(Failure::file(folder, says).with_hint("give another folder"));
        }
        Err(_) => {}
    }
    if let Some(parent) = folder.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(failed)
}

/// Others who may write into the folder could have the bytes written elsewhere. Its owner may
/// always, and reads what is in it.
#[cfg(unix)]
fn refuse_open(folder: &Path, about: &Metadata) -> Result<(), Failure> {
    refuse_foreign(folder, about)?;
    let mode = std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o777;
    match mode & 0o022 {
        0 => Ok(()),
        _ => {
            let says = format_args!("has mode {mode:o}: others may write into it");
            let hint = "give a folder that is not there yet, or one of mode 700";
            Err(Failure::file(folder, says).with_hint(hint))
        }
    }
}

/// A folder or a file must be that of the user who runs the program.
#[cfg(unix)]
fn refuse_foreign(path: &Path, about: &Metadata) -> Result<(), Failure> {
    let own = rustix::process::geteuid().as_raw();
    match std::os::unix::fs::MetadataExt::uid(about) {
        owner if owner == own => Ok(()),
        owner => {
            let says = format_args!("must belong to the user with number {own}, found {owner}");
            let hint = "give a folder that is not there yet, or one of your own";
            Err(Failure::file(path, says).with_hint(hint))
        }
    }
}

#[cfg(not(unix))]
fn refuse_open(_: &Path, _: &Metadata) -> Result<(), Failure> {
    Ok(())
}

#[cfg(not(unix))]
fn refuse_foreign(_: &Path, _: &Metadata) -> Result<(), Failure> {
    Ok(())
}

/// That nothing stands at a path, or a regular file of the user who runs the program.
fn must_be_own_file(path: &Path) -> Result<(), Failure> {
    files::must_be_file(path)?;
    match path.symlink_metadata() {
        Ok(about) => refuse_foreign(path, &about),
        Err(_) => Ok(()),
    }
}

/// The files of an earlier message in a folder.
fn earlier(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |error: std::io::Error| Failure::file(folder, error);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_name().to_str().is_some_and(is_ours) {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// Whether a file is named as those of canonical bytes are: `signature-1-signed-info.c14n`,
/// `signature-1-reference-2.c14n`.
fn is_ours(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|one| one.is_ascii_digit());
    let name = name.strip_prefix("signature-");
    let Some(name) = name.and_then(|name| name.strip_suffix(".c14n")) else {
        return false;
    };
    match name.split_once('-') {
        Some((number, "signed-info")) => is_number(number),
        Some((number, rest)) => {
            is_number(number) && rest.strip_prefix("reference-").is_some_and(is_number)
        }
        None => false,
    }
}
