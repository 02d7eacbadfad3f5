//! `soapstone lab run conversations`: clients with conversations, calling while somebody breaks
//! things.
//!
//! The rule kept here: a conversation that was lost, or a message that was accepted twice, is a
//! failure of the command.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use soapstone::endpoint::Client;
use soapstone_lab::conversations::{self, Counts, Latencies, Options, Outcome};
use soapstone_store::Replay;

use super::applicable_options::OF_CONVERSATIONS;
use crate::failure::Failure;
use crate::{files, runtime};

/// What only this experiment takes.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = OF_CONVERSATIONS)]
pub(super) struct LoadArguments {
    /// The clients' endpoint file, with mechanism secure-conversation or a policy that has one
    #[arg(long, value_name = "FILE", required_if_eq("subject", "conversations"))]
    config: Option<PathBuf>,
    /// Where Echo is
    #[arg(long, value_name = "URL", required_if_eq("subject", "conversations"))]
    url: Option<Uri>,
    /// How many conversations are held
    #[arg(long, value_name = "NUMBER", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    conversations: u32,
    /// How long calls are made; 0 leaves the conversations behind, idle
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    seconds: u32,
    /// Calls a second, of all conversations together
    #[arg(long, value_name = "NUMBER", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
    /// Most calls at once
    #[arg(long, value_name = "NUMBER", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..))]
    connections: u32,
    /// Each so many calls of a conversation, a message that was accepted is sent again
    #[arg(long, value_name = "NUMBER", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    replay_every: u32,
    /// Each so many calls, a conversation goes on with a new context
    #[arg(long, value_name = "NUMBER", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    begin_every: u32,
    /// How long an answer may take
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    patience: u32,
    /// Serve Echo here meanwhile, and count what arrives twice
    #[arg(long, value_name = "ADDRESS")]
    service: Option<SocketAddr>,
}

/// Runs the experiment.
///
/// # Errors
/// It cannot be run, or a conversation was lost, or a message accepted twice.
pub(super) fn run(arguments: &LoadArguments, json: bool) -> Result<(), Failure> {
    let outcome = runtime::multi_threaded()?.block_on(async {
        let mut begins = |phase: conversations::Phase| {
            // Whoever reads this may be gone; the run goes on.
            let _ = writeln!(std::io::stderr(), "{}", phase.name());
        };
        conversations::run(options(arguments)?, &mut begins)
            .await
            .map_err(Failure::new)
    })?;
    files::print(if json {
        serde_json::to_string(&outcome).map_err(Failure::new)? + "\n"
    } else {
        told(&outcome)
    })?;
    if outcome.holds() {
        return Ok(());
    }
    Err(Failure::new(format_args!(
        "{} of {} conversations lost, {} of {} replays accepted, {} messages served twice",
        outcome.lost.len(),
        outcome.conversations,
        outcome.replays.accepted,
        outcome.replays.sent,
        outcome.delivered.map_or(0, |delivered| delivered.repeated),
    )))
}

fn options(arguments: &LoadArguments) -> Result<Options, Failure> {
    let (Some(config), Some(url)) = (&arguments.config, &arguments.url) else {
        return Err(Failure::new("--config and --url are needed"));
    };
    if url.scheme_str() != Some("http") {
        return Err(Failure::new(format_args!(
            "`--url` must begin with http://, found {url}"
        )));
    }
    let environment = |name: &str| std::env::var(name).ok();
    let endpoint = Client::from_file(config, &environment)?;
    let replay = Replay::open(endpoint.replay()).map_err(Failure::new)?;
    let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    Ok(Options {
        endpoint: Arc::new(endpoint),
        replay: Arc::new(replay),
        url: url.clone(),
        conversations: count(arguments.conversations),
        load: Duration::from_secs(arguments.seconds.into()),
        rate: arguments.rate,
        connections: count(arguments.connections),
        replay_every: arguments.replay_every,
        begin_every: arguments.begin_every,
        patience: Duration::from_secs(arguments.patience.into()),
        service: arguments.service,
    })
}

/// The outcome for people.
fn told(outcome: &Outcome) -> String {
    let mut text = format!(
        "{} conversations with {} contexts in all: {}; {} were not made\n",
        outcome.conversations,
        outcome.handshakes.n,
        times(&outcome.handshakes),
        counts(&outcome.handshakes_failed)
    );
    if outcome.seconds == 0.0 {
        return text;
    }
    text.push_str(&format!(
        "{} calls answered within {:.1} s of load and the audit: {}\n{:.2} % failed: {}\n\
         longest time without an answer: {:.2} s\n",
        outcome.answered.n,
        outcome.seconds,
        times(&outcome.answered),
        outcome.error_rate * 100.0,
        counts(&outcome.failed),
        outcome.longest_silence
    ));
    for disturbance in &outcome.disturbances {
        text.push_str(&format!(
            "disturbed from {:.2} s to {:.2} s, {:.2} s of it without any answer: {}; {} answered meanwhile\n",
            disturbance.begins,
            disturbance.ends,
            disturbance.silence,
            counts(&disturbance.failed),
            disturbance.answered
        ));
    }
    for lost in &outcome.lost {
        text.push_str(&format!(
            "LOST: conversation {} ({}) at {:.2} s: {}\n",
            lost.conversation, lost.identifier, lost.second, lost.reason
        ));
    }
    let (replays, resent) = (&outcome.replays, &outcome.resent);
    text.push_str(&format!(
        "{} conversations lost\n{} accepted messages sent again: {} accepted; refused: {}; unanswered: {}\n\
         {} messages of unknown fate sent again: {} accepted, {} refused\n",
        outcome.lost.len(),
        replays.sent,
        replays.accepted,
        counts(&replays.refused),
        counts(&replays.unanswered),
        resent.sent,
        resent.accepted,
        resent.refused
    ));
    if let Some(delivered) = &outcome.delivered {
        text.push_str(&format!(
            "the service received {} messages, {} of them more than once\n",
            delivered.messages, delivered.repeated
        ));
    }
    text
}

fn times(latencies: &Latencies) -> String {
    let milliseconds = |us: f64| us / 1000.0;
    format!(
        "median {:.2} ms, 95 % {:.2} ms, 99 % {:.2} ms, most {:.1} ms",
        milliseconds(latencies.median_us),
        milliseconds(latencies.p95_us),
        milliseconds(latencies.p99_us),
        milliseconds(latencies.most_us)
    )
}

fn counts(counts: &Counts) -> String {
    if counts.is_empty() {
        return "none".to_owned();
    }
    let each: Vec<String> = counts
        .iter()
        .map(|(kind, number)| format!("{number} x {kind}"))
        .collect();
    each.join(", ")
}
