//! `soapstone demo --broker`: clients with different needs, providers with different policies, and
//! a broker between them that chooses by security and time.
//!
//! The service, the registry, each provider's gateway and the broker are processes of their own.
//! The providers register and report, and the broker finds them in the registry. Then one provider
//! is slowed, one is killed, and one does not keep the policy that it is known for.
//!
//! The rule kept here: what is told of a call is what the broker's audit trail says, and what must
//! hold is judged by what providers do.

mod told;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::task::JoinSet;

use self::told::{Part, Told};
use super::Arguments;
use crate::brokered::Caller;
use crate::brokered::cast::{AUDIT, CLIENTS, KILLED, PROVIDERS, SLOWED, broker_file};
use crate::failure::Failure;
use crate::files;
use crate::progress::Progress;
use crate::testbed::architecture::{Architecture, SERVICE, Security};
use crate::testbed::{Client, Scratch, Trail};

/// How many calls of one client are on their way at once.
const AT_ONCE: u32 = 2;

/// How late answers to the slowed provider are, ms.
const SLOW: u64 = 400;

/// Starts everything, calls in three parts, and tells what came of it.
///
/// # Errors
/// What cannot be started, and what did not hold that must.
pub(super) async fn show(arguments: &Arguments) -> Result<(), Failure> {
    let begun = Instant::now();
    let mut progress = Progress::new();
    progress.say("starting the service, a registry, four providers and a broker");
    let scratch = Scratch::make("broker")?;
    let offers = PROVIDERS.each_ref().map(|it| it.offer);
    scratch.issue_as("broker-rsa", Security::kind("Basic256GCM"))?;
    let mut architecture = Architecture::start(&scratch, &offers).await?;
    let broker = architecture.front(
        &scratch,
        "broker",
        &broker_file(&architecture, &PROVIDERS, None),
    )?;
    let client = Client::new();
    broker.knows(&client, PROVIDERS.len()).await?;
    let url = format!("http://{}{}", broker.address(), SERVICE.path());
    let mut callers = Vec::new();
    for customer in &CLIENTS {
        callers.push(Caller::new(&scratch, customer, &url)?);
    }
    let mut trail = Trail::new(scratch.folder().join(AUDIT));
    let mut told = Told::new(&architecture);
    for part in Part::ALL {
        progress.say(part.title());
        if part == Part::Slowed {
            architecture.providers[SLOWED].way.delay(SLOW);
        }
        let made = Arc::<AtomicU32>::default();
        let calls = calls(&callers, arguments.count, &made);
        let ended = async {
            if part == Part::Killed {
                // In the midst of calls: some are on their way to it.
                while made.load(Ordering::Relaxed) < arguments.count / 2 {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                architecture.providers[KILLED].kill();
            }
        };
        let (lost, ()) = tokio::join!(calls, ended);
        let lost = lost?;
        let lines = trail.next(CLIENTS.len() * arguments.count as usize).await?;
        told.part(part, &lines, lost);
    }
    let backends: Value = broker.backends(&client).await?;
    told.end(&backends, begun.elapsed());
    progress.end();
    files::print(match arguments.json {
        true => told.json(),
        false => told.tables(&url),
    })?;
    told.verdict()
}

/// All clients at once, each with so many calls: what was not answered.
async fn calls(
    callers: &[Arc<Caller>],
    count: u32,
    made: &Arc<AtomicU32>,
) -> Result<Vec<String>, Failure> {
    let mut tasks = JoinSet::new();
    for caller in callers {
        for first in 0..AT_ONCE {
            let (caller, made) = (Arc::clone(caller), Arc::clone(made));
            tasks.spawn(async move {
                let mut lost = Vec::new();
                for number in (first..count).step_by(AT_ONCE as usize) {
                    let words = format!("call {number} of {count}");
                    if let Err(failure) = caller.call(&words).await {
                        lost.push(failure.to_string().trim().to_owned());
                    }
                    made.fetch_add(1, Ordering::Relaxed);
                }
                lost
            });
        }
    }
    let mut lost = Vec::new();
    while let Some(ended) = tasks.join_next().await {
        lost.extend(ended.map_err(Failure::new)?);
    }
    Ok(lost)
}
