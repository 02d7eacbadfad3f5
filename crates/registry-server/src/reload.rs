//! What a registry takes into use while it runs: `[tls]` and `[[publishers]]` of its file.
//!
//! `SIGHUP` has it read its file and everything the file names again; so does a change of any of
//! these files, which is looked for every two seconds.
//!
//! The rule kept here: a file with problems never takes the place of one that works.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::Duration;

use soapstone::config::{FileState, Problems};
use soapstone_gateway::{WatchedFiles, tell_problems};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::MissedTickBehavior;

use crate::config::Config;
use crate::shared::Shared;
use crate::tls::CurrentTls;

/// How often files are looked at.
const LOOKING: Duration = Duration::from_secs(2);

/// Follows the files of a registry for as long as it is waited for. `files` are as they were when
/// they were read.
pub(crate) async fn follow(
    file: &Path,
    files: Vec<(PathBuf, FileState)>,
    tls: &CurrentTls,
    shared: &Shared,
) -> Infallible {
    let mut watched = WatchedFiles::new(files);
    let mut hangup = signal(SignalKind::hangup()).ok();
    let mut looking = tokio::time::interval(LOOKING);
    looking.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut wrong: Option<Problems> = None;
    loop {
        let asked = tokio::select! {
            () = told(hangup.as_mut()) => true,
            _ = looking.tick() => {
                // What is wrong is read again: a file that only it names may come or change.
                if !watched.changed() && wrong.is_none() {
                    continue;
                }
                false
            }
        };
        match Config::load(file, &|name| std::env::var(name).ok()) {
            Ok(config) => {
                wrong = None;
                watched = WatchedFiles::new(config.files);
                tls.replace(config.tls.as_ref());
                shared.replace_rules(config.publishers);
                tracing::info!(
                    "the changed configuration is in use: `tls` and `publishers`; other keys wait for a restart"
                );
            }
            Err(problems) => {
                if asked || wrong.as_ref() != Some(&problems) {
                    tell_problems(&problems);
                }
                wrong = Some(problems);
            }
        }
    }
}

/// Done when the signal comes; never, where the system has none.
async fn told(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}
