//! Runs a gateway until the process is told to stop, and takes a changed configuration into use while it runs.
//!
//! `SIGTERM` and `SIGINT` stop it. `SIGHUP` has it read its file and everything the file names again; so does a change of any of these
//! files, which is looked for every two seconds.
//!
//! The rule kept here: a configuration with problems never takes the place of one that works.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use tokio::signal::unix::{SignalKind, signal};

use crate::config::Config;
use crate::gateway::{Gateway, Running, StartError};

/// How often files are looked at.
const LOOKING: Duration = Duration::from_secs(2);

/// Starts a gateway and serves until `SIGTERM` or `SIGINT`. `ready` is called when it serves.
///
/// # Errors
///
/// When it cannot be started.
pub async fn run(config: Config, ready: impl FnOnce(&Running)) -> Result<(), StartError> {
    let file = config.file().to_path_buf();
    let mut watched = Watched::new(config.files());
    let signals = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
        signal(SignalKind::hangup()),
    );
    let (Ok(mut terminate), Ok(mut interrupt), Ok(mut hangup)) = signals else {
        let source = io::Error::other("signals cannot be received");
        return Err(StartError::Threads { source });
    };
    let gateway = Gateway::start(config).await?;
    ready(&gateway);
    let mut looking = tokio::time::interval(LOOKING);
    looking.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = hangup.recv() => {}
            _ = looking.tick() => if !watched.changed() { continue },
        }
        match Config::load(&file, &|name| std::env::var(name).ok()) {
            Ok(config) => {
                watched = Watched::new(config.files());
                gateway.reload(config);
                tracing::info!("the changed configuration is in use");
            }
            Err(problems) => {
                gateway.reload_failed();
                tracing::error!(
                    "the changed configuration has problems; the former one stays in use\n{problems}"
                );
            }
        }
    }
    tracing::info!("stopping: requests in hand may finish");
    gateway.shutdown().await;
    Ok(())
}

/// Files and when they last changed.
struct Watched(BTreeMap<PathBuf, Option<SystemTime>>);

impl Watched {
    fn new(files: impl IntoIterator<Item = PathBuf>) -> Self {
        Self(
            files
                .into_iter()
                .map(|file| {
                    let time = changed_at(&file);
                    (file, time)
                })
                .collect(),
        )
    }

    /// Whether any file changed since the last look.
    fn changed(&mut self) -> bool {
        let mut changed = false;
        for (file, known) in &mut self.0 {
            let now = changed_at(file);
            changed |= now != *known;
            *known = now;
        }
        changed
    }
}

fn changed_at(file: &std::path::Path) -> Option<SystemTime> {
    std::fs::metadata(file)
        .and_then(|metadata| metadata.modified())
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changes_comes_or_goes_is_noticed_once() {
        let file = std::env::temp_dir().join(format!("soapstone-watched-{}", std::process::id()));
        std::fs::write(&file, "one").expect("the temporary folder is writable");
        let mut watched = Watched::new([file.clone()]);
        assert!(!watched.changed());
        let handle = std::fs::File::options()
            .append(true)
            .open(&file)
            .expect("it exists");
        handle
            .set_modified(SystemTime::UNIX_EPOCH)
            .expect("it is ours");
        assert!(watched.changed());
        assert!(!watched.changed());
        std::fs::remove_file(&file).expect("it exists");
        assert!(watched.changed());
        assert!(!watched.changed());
    }
}
