//! What a registry takes into use while it runs: `[tls]` and `[[publishers]]` of its file.
//!
//! `SIGHUP` has it read its file and everything the file names again; so does a change of any of
//! these files, which is looked for every two seconds.
//!
//! Two rules are kept here. A file with problems never takes the place of one that works. And no
//! file takes TLS away from under a policy that is in use and leaves protection to it.

use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

use soapstone::config::Problems;
use soapstone_gateway::{WatchedFiles, tell_problems};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Mutex;
use tokio::time::MissedTickBehavior;

use crate::at_start::{AtStart, Files};
use crate::config::Config;
use crate::shared::Shared;
use crate::tls::{CurrentTls, LeftToTls};

/// How often files are looked at.
const LOOKING: Duration = Duration::from_secs(2);

/// `SIGHUP`, which from then on does not end the process.
pub(crate) struct Hangups(Mutex<Option<Signal>>);

impl Hangups {
    /// Listens from now on. To be called on a runtime.
    pub(crate) fn listen() -> Self {
        Self(Mutex::new(signal(SignalKind::hangup()).ok()))
    }
}

/// What was taken into use when the registry started.
pub(crate) struct Started {
    /// Every file as it was when it was read.
    pub(crate) files: Files,
    /// What waits for a restart.
    pub(crate) at_start: AtStart,
    /// What the policy leaves to TLS.
    pub(crate) left: LeftToTls,
}

/// Follows the files of a registry for as long as it is waited for.
pub(crate) async fn follow(
    file: &Path,
    started: &Started,
    hangups: &Hangups,
    tls: &CurrentTls,
    shared: &Shared,
) -> Infallible {
    let mut watched = WatchedFiles::new(started.files.clone());
    let mut hangup = hangups.0.lock().await;
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
            Ok(mut config) => {
                wrong = None;
                watched = WatchedFiles::new(std::mem::take(&mut config.files));
                let waiting = started.at_start.changed(&config.at_start);
                take_into_use(config, started.left, tls, shared);
                if !waiting.is_empty() {
                    tracing::warn!(
                        keys = waiting.join(", "),
                        "what these keys say now waits for a restart"
                    );
                }
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

/// Takes `[tls]` and `[[publishers]]` into use.
fn take_into_use(config: Config, left: LeftToTls, tls: &CurrentTls, shared: &Shared) {
    shared.replace_rules(config.publishers);
    // The changed file may have another policy, which waits for a restart, and no TLS for this one.
    if left.missing(config.tls.as_ref()).is_some() {
        tracing::warn!(
            "`tls` waits for a restart: the policy that is in use leaves to it what it does not have any more"
        );
        tracing::info!("the changed configuration is in use: `publishers`");
        return;
    }
    tls.replace(config.tls.as_ref());
    tracing::info!("the changed configuration is in use: `tls` and `publishers`");
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
