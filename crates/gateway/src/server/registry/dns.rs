//! Asks DNS for the providers of routes, again and again: as often as its answers say, within
//! bounds.
//!
//! The rule kept here: DNS that is away, or whose answer does not count, takes no backend out of
//! use; and no service waits for another one.

use std::collections::BTreeMap;

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::lookup::{Found, KnownAddresses, LookupError, SHORTEST, look_up};
use crate::config::source::SourceSpec;
use crate::config::srv::DnsSource;
use crate::server::state::State;

/// What is remembered of a service from one question to the next.
struct Asked {
    /// Which of the tasks asks for it: a source that went and came again has a new one.
    turn: u64,
    is_away: bool,
    passed_over: Vec<String>,
}

type Answer = (SourceSpec, u64, Result<Found, LookupError>);

/// Asks for as long as the gateway serves.
pub(in crate::server) async fn discover_by_names(state: &State) {
    let mut replaced = state.current.replacements();
    let mut known: BTreeMap<SourceSpec, Asked> = BTreeMap::new();
    let mut turn = 0;
    let mut asking: JoinSet<Answer> = JoinSet::new();
    loop {
        let serving = state.current.serving();
        let balancers = serving.routes.iter().filter_map(|it| it.balancer.as_ref());
        let sources = balancers.filter_map(|it| it.source.as_ref());
        let sources: Vec<&SourceSpec> = sources.collect();
        known.retain(|source, _| sources.contains(&source));
        for source in sources {
            if let SourceSpec::Dns(wanted) = source
                && !known.contains_key(source)
            {
                turn += 1;
                let before = addresses(state, source);
                asking.spawn(asked(wanted.clone(), before, turn, Instant::now()));
                let begun = Asked {
                    turn,
                    is_away: false,
                    passed_over: Vec::new(),
                };
                known.insert(source.clone(), begun);
            }
        }
        drop(serving);
        tokio::select! {
            Some(answer) = asking.join_next() => {
                // A task ends in disorder where the process does.
                let Ok((source, of_turn, answer)) = answer else {
                    continue;
                };
                let asked_before = known.get_mut(&source).filter(|it| it.turn == of_turn);
                // Nothing asks for it any more.
                let (Some(before), SourceSpec::Dns(wanted)) = (asked_before, &source) else {
                    continue;
                };
                let next = Instant::now() + heed(state, &source, before, answer);
                let before = addresses(state, &source);
                asking.spawn(asked(wanted.clone(), before, of_turn, next));
            }
            Ok(()) = replaced.changed() => {}
            else => return,
        }
    }
}

/// The addresses that are known of the hosts of a service.
fn addresses(state: &State, source: &SourceSpec) -> KnownAddresses {
    let mut addresses = KnownAddresses::new();
    let known = state.discovered.known();
    for provider in known.get(source).into_iter().flatten() {
        if let Some(target) = &provider.target {
            let of_host = addresses.entry(target.host.clone()).or_default();
            of_host.insert(target.address.ip());
        }
    }
    addresses
}

async fn asked(wanted: DnsSource, known: KnownAddresses, turn: u64, at: Instant) -> Answer {
    tokio::time::sleep_until(at).await;
    let found = look_up(&wanted, &known).await;
    (SourceSpec::Dns(wanted), turn, found)
}

/// Takes an answer, and says when the next one is wanted.
fn heed(
    state: &State,
    source: &SourceSpec,
    before: &mut Asked,
    answer: Result<Found, LookupError>,
) -> std::time::Duration {
    let service = source.label();
    match answer {
        Ok(found) => {
            if found.passed_over != before.passed_over {
                for why in &found.passed_over {
                    tracing::warn!(service, why, "a record of DNS is passed over");
                }
                before.passed_over = found.passed_over;
            }
            if before.is_away {
                tracing::info!(service, "DNS answers again");
            }
            before.is_away = false;
            state.discovered.learn(source, found.providers);
            found.holds
        }
        Err(error) => {
            state.discovered.miss(source);
            if !before.is_away {
                tracing::warn!(service, %error, "DNS gives no answer that counts: what is known stays in use");
            }
            before.is_away = true;
            SHORTEST
        }
    }
}
