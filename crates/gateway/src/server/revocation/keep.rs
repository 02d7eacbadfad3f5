//! Answers about revocation in a folder, over a restart.
//!
//! The rule kept here: what is read from the folder is verified as if it came from its responder.
//! Whoever can write there can take answers away, and can forge none.

use std::io::{self, Write as _};
use std::path::Path;

use jiff::Timestamp;
use soapstone::crypto::trust::{KeptAnswer, RevocationCache};

/// Longest file that is read: as the largest list, in base64.
const LONGEST: u64 = 256 << 20;
/// Most files that are read: more than there can be questions.
const MOST: usize = 4096;

/// Writes an answer in the place of the former one to the same question.
pub(super) fn write(folder: &Path, answer: &KeptAnswer) -> io::Result<()> {
    let partial = folder.join(format!(".{}.partial", answer.name));
    let written = std::fs::File::create(&partial).and_then(|mut file| {
        file.write_all(answer.text.as_bytes())?;
        std::fs::rename(&partial, folder.join(&answer.name))
    });
    if written.is_err() {
        // It may not even be there.
        let _ = std::fs::remove_file(&partial);
    }
    written
}

/// Takes up what is in the folder. A file whose answer does not count any more is removed.
pub(crate) fn restore(folder: &Path, cache: &RevocationCache) {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            let folder = folder.display();
            tracing::warn!(%folder, %error, "kept answers about revocation cannot be read");
            return;
        }
    };
    let is_ours = |name: &str| {
        (name.starts_with("ocsp-") || name.starts_with("crl-")) && name.ends_with(".pem")
    };
    let named = entries.filter_map(Result::ok);
    let ours = named.filter(|entry| entry.file_name().to_str().is_some_and(is_ours));
    // Lists come first: a responder may be on one.
    let mut paths: Vec<_> = ours.map(|entry| entry.path()).take(MOST).collect();
    paths.sort();
    let mut restored = 0_usize;
    for path in &paths {
        let is_short = std::fs::metadata(path).is_ok_and(|it| it.is_file() && it.len() <= LONGEST);
        let Some(text) = is_short.then(|| std::fs::read(path).ok()).flatten() else {
            continue;
        };
        match cache.restore(&text, Timestamp::now()) {
            Ok(()) => restored += 1,
            Err(error) => {
                let file = path.display();
                tracing::info!(%file, %error, "a kept answer about revocation does not count any more");
                // It is asked for again, and kept again.
                let _ = std::fs::remove_file(path);
            }
        }
    }
    if !paths.is_empty() {
        tracing::info!(restored, of = paths.len(), "kept answers about revocation");
    }
}
