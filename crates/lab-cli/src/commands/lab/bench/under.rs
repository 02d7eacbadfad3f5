//! Rounds of calls while the service's side is under a condition.
//!
//! The rule kept here: what a condition is too much for is left out with the reason, and never
//! shown as a figure.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use soapstone_lab::study::{Condition, NoCall, Round};
use tokio::task::JoinSet;

use super::asked::Asked;
use super::ours::post;
use crate::failure::Failure;
use crate::testbed::{Apart, Client};

/// How long a call is tried again on a network that breaks: longer than any outage, and than TCP
/// and gateways wait after it.
const PATIENCE: Duration = Duration::from_secs(60);

/// What clients do in a round.
pub(super) struct Calls {
    /// The clients, all at once.
    pub(super) clients: Vec<Client>,
    /// Calls of each, one after another.
    pub(super) requests: u32,
    /// What is called.
    pub(super) url: String,
    /// What is asked.
    pub(super) asked: Arc<Asked>,
}

/// Makes the calls: the round, and its answers.
pub(super) async fn round(
    apart: &mut Apart,
    condition: &Condition,
    calls: &Calls,
) -> Result<(Round, Vec<(Bytes, Duration)>), NoCall<Failure>> {
    let again = matches!(condition, Condition::Network(_));
    let begun = Instant::now();
    let mut tasks = JoinSet::new();
    for client in &calls.clients {
        let (client, url, asked) = (client.clone(), calls.url.clone(), Arc::clone(&calls.asked));
        let requests = calls.requests;
        tasks.spawn(async move {
            let mut answers = Vec::with_capacity(requests as usize);
            for _ in 0..requests {
                answers.push(answered(&client, &url, &asked, again).await?);
            }
            Ok::<_, Failure>(answers)
        });
    }
    let (mut answers, mut failed) = (Vec::new(), None);
    while let Some(ended) = tasks.join_next().await {
        match ended.map_err(Failure::new)? {
            Ok(more) => answers.extend(more),
            Err(failure) => failed = Some(failure),
        }
    }
    let lasted = begun.elapsed();
    if let Some(failure) = failed {
        return Err(NoCall::LeftOut(match apart.ended() {
            Some(status) => {
                format!("the gateway before the services did not live with {condition}: {status}")
            }
            None => format!("calls fail with {condition}: {failure}"),
        }));
    }
    let round = Round {
        times: answers.iter().map(|(_, took)| *took).collect(),
        lasted,
        memory: apart.memory(),
    };
    Ok((round, answers))
}

/// Makes a call, and where networks break makes it again until there is an answer: the time it took
/// in all.
async fn answered(
    client: &Client,
    url: &str,
    asked: &Asked,
    again: bool,
) -> Result<(Bytes, Duration), Failure> {
    let begun = Instant::now();
    loop {
        match post(client, url, asked).await {
            Ok((answer, _)) => return Ok((answer, begun.elapsed())),
            Err(failure) if !again || begun.elapsed() > PATIENCE => return Err(failure),
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}
