//! What the routes of a configuration demand, in words: what `soapstone policy gateway.toml`
//! prints.
//!
//! The rule kept here: each plan of a route is told, and plans that say the same once.

use std::fmt::Write;

use soapstone::endpoint::{Directions, Endpoint};
use soapstone::policy::message_in_words;
use soapstone::wss::{InboundPlan, OutboundPlan, Policy};

use super::Config;
use super::route::RouteSpec;

impl Config {
    /// What each route demands of messages and does to them, in words.
    pub fn in_words(&self) -> String {
        let routes: Vec<String> = self.routes.iter().map(route).collect();
        routes.join("\n")
    }
}

fn route(route: &RouteSpec) -> String {
    let mut told = match &route.backend {
        Some(backend) => format!("route {} -> {backend}\n", route.path),
        None => format!("route {}, a token service\n", route.path),
    };
    match &route.inbound {
        Some(side) => {
            let arriving = side.endpoint.inbound().map(InboundPlan::policy);
            let leaving = side.endpoint.outbound().map(OutboundPlan::policy);
            tell(&mut told, "Clients", &side.endpoint, arriving, leaving);
        }
        None => told.push_str("  Clients: messages pass as they are.\n"),
    }
    match &route.outbound {
        Some(side) => {
            let leaving = side.endpoint.outbound().map(OutboundPlan::policy);
            let arriving = side.endpoint.inbound().map(InboundPlan::policy);
            tell(&mut told, "Backend", &side.endpoint, leaving, arriving);
        }
        None if route.backend.is_none() => {}
        None => told.push_str("  Backend: messages pass as they are.\n"),
    }
    told
}

/// Tells an endpoint: what requests and answers must do.
fn tell<'p, P: Directions>(
    told: &mut String,
    who: &str,
    endpoint: &Endpoint<P>,
    requests: impl Iterator<Item = &'p Policy>,
    answers: impl Iterator<Item = &'p Policy>,
) {
    let (mechanism, suite) = (endpoint.mechanism(), endpoint.suite());
    let separator = if suite.is_empty() { "" } else { " " };
    // Writing to a string cannot fail.
    let _ = writeln!(told, "  {who}: {mechanism}{separator}{suite}");
    if endpoint.needs_tls() {
        told.push_str("    The connection is TLS.\n");
    }
    if endpoint.conversation().is_some() {
        told.push_str("    Messages belong to a conversation; what begins it is not told here.\n");
    }
    for (title, sentences) in [
        ("Requests", distinct(requests)),
        ("Answers", distinct(answers)),
    ] {
        for lines in sentences {
            let _ = writeln!(told, "    {title}:");
            for line in lines {
                let _ = writeln!(told, "      {line}");
            }
        }
    }
}

/// The words of policies, those that say the same once.
pub(crate) fn distinct<'p>(policies: impl Iterator<Item = &'p Policy>) -> Vec<Vec<String>> {
    let mut all: Vec<Vec<String>> = Vec::new();
    for policy in policies {
        let words = message_in_words(policy);
        if !words.is_empty() && !all.contains(&words) {
            all.push(words);
        }
    }
    all
}
