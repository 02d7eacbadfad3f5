//! Runs a gateway until the process is told to stop, and takes a changed configuration into use
//! while it runs.
//!
//! `SIGTERM` stops it after a delay, in which `/readyz` says so; `SIGINT`, and a second signal,
//! stop it at once. `SIGHUP` has it read its file and everything the file names again; so does a
//! change of any of these files, which is looked for every two seconds. A configuration with
//! problems is read again every time: it may be a file that only it names which comes or changes.
//!
//! The rule kept here: a configuration with problems never takes the place of one that works.

use std::io;
use std::time::Duration;

use soapstone::config::Problems;
use tokio::signal::unix::{SignalKind, signal};

use super::descriptors;
use super::running::Running;
use super::sockets;
use super::start::Gateway;
use super::start_error::StartError;
use super::watched_files::{WatchedFiles, tell_problems};
use crate::config::Config;

/// The shortest time from one change of providers to the next: each has the whole file read again.
const SETTLING: Duration = Duration::from_secs(5);

/// How often files are looked at.
const LOOKING: Duration = Duration::from_secs(2);

/// Starts a gateway and serves until `SIGTERM` or `SIGINT`. `ready` is called when it serves.
///
/// # Errors
///
/// When it cannot be started.
pub async fn run(config: Config, ready: impl FnOnce(&Running)) -> Result<(), StartError> {
    let file = config.file().to_path_buf();
    let mut watched = WatchedFiles::new(config.files_as_read());
    let signals = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
        signal(SignalKind::hangup()),
    );
    let (Ok(mut terminate), Ok(mut interrupt), Ok(mut hangup)) = signals else {
        let source = io::Error::other("signals cannot be received");
        return Err(StartError::Threads { source });
    };
    descriptors::raise_limit();
    let started = config.at_start();
    let delay = config.timeouts.drain_delay;
    let sockets = sockets::passed().map_err(|source| StartError::Sockets { source })?;
    let gateway = Gateway::start_on(config, sockets).await?;
    ready(&gateway);
    let mut looking = tokio::time::interval(LOOKING);
    looking.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut last = LastReading::default();
    let mut providers = gateway.state().discovered.changes();
    let mut next_providers = tokio::time::Instant::now();
    loop {
        let (mut asked, mut found) = (false, false);
        // A change is taken once it has waited: one that is dropped meanwhile is seen again.
        let next = next_providers;
        let changed = async {
            tokio::time::sleep_until(next).await;
            providers.changed().await
        };
        tokio::select! {
            _ = terminate.recv() => {
                gateway.announce_end();
                tracing::info!(?delay, "stopping: /readyz says so, and requests are served on meanwhile");
                tokio::select! {
                    () = tokio::time::sleep(delay) => {}
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
                break;
            }
            _ = interrupt.recv() => break,
            _ = hangup.recv() => {
                asked = true;
                gateway.reopen_audit();
            }
            // The file is read again for other providers, too: a configuration is used once.
            Ok(()) = changed => {
                found = true;
                next_providers = tokio::time::Instant::now() + SETTLING;
            }
            _ = looking.tick() => if !watched.changed() && last.is_in_use() { continue },
        }
        match Config::load(&file, &|name| std::env::var(name).ok()) {
            Ok(config) => {
                watched = WatchedFiles::new(config.files_as_read());
                let waiting = changed_since(&started, &config);
                if let Err(error) = gateway.take_into_use(config) {
                    if last.is_news(LastReading::Unusable(error.to_string())) || asked {
                        gateway.tell_unusable(&error);
                    }
                    continue;
                }
                last = LastReading::InUse;
                match found {
                    true => tracing::info!("other providers are in use"),
                    false => tracing::info!("the changed configuration is in use"),
                }
                if !waiting.is_empty() {
                    tracing::warn!(
                        keys = waiting.join(", "),
                        "what these keys say now waits for a restart"
                    );
                }
            }
            Err(problems) => {
                if last.is_news(LastReading::Wrong(problems.clone())) || asked {
                    gateway.reload_failed();
                    tell_problems(&problems);
                }
            }
        }
    }
    tracing::info!("stopping: requests in hand may finish");
    gateway.shutdown().await;
    Ok(())
}

/// What became of the files when they were last read. What is not in use is tried again, for its
/// cause may lie elsewhere: a store may be busy.
#[derive(Debug, Default, PartialEq)]
enum LastReading {
    #[default]
    InUse,
    /// What was wrong with them.
    Wrong(Problems),
    /// Why nothing could be built of them.
    Unusable(String),
}

impl LastReading {
    fn is_in_use(&self) -> bool {
        *self == Self::InUse
    }

    /// Takes the place of the last one, and says whether it differs.
    fn is_news(&mut self, next: Self) -> bool {
        let is_news = *self != next;
        *self = next;
        is_news
    }
}

/// The keys that say something else than they did when the gateway started, and that only a start
/// takes into use.
fn changed_since(started: &[(&'static str, String)], config: &Config) -> Vec<&'static str> {
    let now = config.at_start();
    let changed = started.iter().zip(&now).filter(|(then, now)| then != now);
    changed.map(|((key, _), _)| *key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_that_cannot_be_used_is_tried_again_and_told_once() {
        let busy = || LastReading::Unusable("route /s: the file is in use".to_owned());
        let mut last = LastReading::default();
        assert!(last.is_in_use());
        assert!(last.is_news(busy()));
        assert!(!last.is_in_use(), "the next look reads again");
        assert!(!last.is_news(busy()));
    }

    /// The case `reliability/04`: the times to compare with were taken after the files had been
    /// read.
    #[test]
    fn a_change_while_a_file_is_read_is_noticed() {
        let folder = std::env::temp_dir().join(format!("soapstone-reading-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("the temporary folder is writable");
        let (file, next) = (folder.join("gateway.toml"), folder.join("next.toml"));
        let text = "listen = \"127.0.0.1:8443\"\n[[routes]]\npath = \"/\"\nbackend = \"http://127.0.0.1:9/\"\n[routes.inbound]\n\
                    users = [{ name = \"alice\", password_env = \"READ\" }]\nsecurity = { mechanism = \"username\" }\n";
        std::fs::write(&file, text).expect("the temporary folder is writable");
        std::fs::write(&next, text).expect("the temporary folder is writable");
        // What the file says is asked for while it is read: at that moment another one, as long and
        // as old, takes its place.
        let config = Config::load(&file, &|_| {
            std::fs::rename(&next, &file).expect("both are ours");
            Some("secret".to_owned())
        });
        let mut watched = WatchedFiles::new(config.expect("nothing is wrong").files_as_read());
        assert!(watched.changed());
        assert!(!watched.changed());
        std::fs::remove_dir_all(&folder).expect("it is ours");
    }

    #[test]
    fn what_a_reload_leaves_as_it_was_is_named() {
        let config = |rest: &str| {
            let text =
                format!("{rest}\n[[routes]]\npath = \"/\"\nbackend = \"http://127.0.0.1:9/\"\n");
            Config::from_text(&text, std::path::Path::new("gateway.toml"), &|_| None)
                .expect("nothing is wrong with it")
        };
        let started = config("listen = \"127.0.0.1:8443\"").at_start();
        let other_limits = config("listen = \"127.0.0.1:8443\"\n[limits]\nbody = \"1MiB\"");
        assert!(changed_since(&started, &other_limits).is_empty());
        let other = config(
            "listen = \"127.0.0.1:8444\"\nadmin = \"127.0.0.1:9901\"\n[limits]\nqueue = 7\n[log]\nlevel = \"debug\"",
        );
        assert_eq!(
            changed_since(&started, &other),
            ["listen", "admin", "limits.queue", "log.level"]
        );
    }
}
