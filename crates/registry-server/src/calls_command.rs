//! `soapstone registry calls`: the log of calls, and the overhead of the architecture.
//!
//! The rule kept here: the numbers are those of the registry, and nothing is computed from a part
//! of them without saying so.

use std::fmt::Write;
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use soapstone_cli::admin::Credentials;
use soapstone_cli::failure::Failure;
use soapstone_cli::table::{Align, Table};
use soapstone_cli::{admin, files};
use soapstone_registry::calls::{CallEntry, CallPage, Group, Outcome, Overhead, PartTimes};

use crate::calls::LARGEST_PAGE;

pub(crate) const ABOUT: &str = "\
Show calls that gateways told of, or the overhead of the architecture computed from them.

Gateways with `calls = true` in [registry] tell of their calls, and a registry with [calls] in its file keeps them. The overhead is \
the share of the time of calls that is not the service's own: choice of a backend, security, network and the rest of the gateways.";

const EXAMPLES: &str = "\
Examples:
  soapstone registry calls --registry http://127.0.0.1:8702 --service Books --since 1h
  soapstone registry calls --registry http://127.0.0.1:8702 --token-file calls.token --outcome refused --json
  soapstone registry calls --registry http://127.0.0.1:8702 --overhead";

/// Arguments of `soapstone registry calls`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CallsArguments {
    /// Address of the registry's log of calls
    #[arg(long, value_name = "URL")]
    registry: String,
    /// File with the token of the log of calls
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Show the overhead in the place of calls
    #[arg(long)]
    overhead: bool,
    /// Only calls of this service
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// Only calls of this provider: an access point, or the name of a backend
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// Only calls with this action
    #[arg(long, value_name = "NAME")]
    operation: Option<String>,
    /// Only calls of this client
    #[arg(long, value_name = "NAME")]
    client: Option<String>,
    /// Only calls that the certificate with this subject told of
    #[arg(long, value_name = "SUBJECT")]
    owner: Option<String>,
    /// Only calls that came to this: accepted, refused, failed
    #[arg(long, value_name = "NAME", value_parser = outcome)]
    outcome: Option<Outcome>,
    /// Only calls since so long ago, for example 90s, 1h, 2d
    #[arg(long, value_name = "TIME")]
    since: Option<SignedDuration>,
    /// Only calls before this place in the log
    #[arg(long, value_name = "ID")]
    before: Option<i64>,
    /// Most calls, up to 1000
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=LARGEST_PAGE as u64))]
    limit: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn outcome(name: &str) -> Result<Outcome, String> {
    Outcome::named(name).ok_or_else(|| "known are accepted, refused, failed".to_owned())
}

/// Shows what was asked for.
pub(crate) fn run(arguments: &CallsArguments) -> Result<(), Failure> {
    let path = path(arguments, Timestamp::now());
    let shown = Credentials {
        token: arguments.token_file.as_deref(),
        ..Credentials::default()
    };
    let body = admin::get(&arguments.registry, &path, shown)?;
    if arguments.json {
        let text = String::from_utf8_lossy(&body);
        return files::print(format!("{}\n", text.trim_end()));
    }
    let unreadable = |_| {
        let what = "the answer is no JSON of a log of calls";
        Failure::new(format_args!("{}: {what}", arguments.registry))
    };
    files::print(match arguments.overhead {
        true => overhead_as_text(&serde_json::from_slice(&body).map_err(unreadable)?),
        false => calls_as_text(&serde_json::from_slice(&body).map_err(unreadable)?),
    })
}

/// What is asked of the registry.
fn path(arguments: &CallsArguments, now: Timestamp) -> String {
    let since = arguments.since.map(|since| {
        let begun = now.as_millisecond() - i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        begun.to_string()
    });
    let before = arguments.before.map(|before| before.to_string());
    let limit = (!arguments.overhead).then(|| arguments.limit.to_string());
    let outcome = arguments.outcome.map(Outcome::name);
    let asked = [
        ("service", arguments.service.as_deref()),
        ("provider", arguments.provider.as_deref()),
        ("operation", arguments.operation.as_deref()),
        ("client", arguments.client.as_deref()),
        ("owner", arguments.owner.as_deref()),
        ("outcome", outcome),
        ("since", since.as_deref()),
        ("before", before.as_deref()),
        ("limit", limit.as_deref()),
    ];
    let mut path = match arguments.overhead {
        true => "/calls/overhead".to_owned(),
        false => "/calls".to_owned(),
    };
    let given = asked.into_iter().filter_map(|(name, it)| Some((name, it?)));
    for (place, (name, value)) in given.enumerate() {
        path.push(if place == 0 { '?' } else { '&' });
        path.push_str(name);
        path.push('=');
        for byte in value.bytes() {
            match byte.is_ascii_alphanumeric() || byte == b'-' {
                true => path.push(char::from(byte)),
                // Writing to a string cannot fail.
                false => drop(write!(path, "%{byte:02X}")),
            }
        }
    }
    path
}

fn calls_as_text(page: &CallPage) -> String {
    let mut table = Table::new([
        ("time", Align::Left),
        ("told by", Align::Left),
        ("service", Align::Left),
        ("provider", Align::Left),
        ("chosen", Align::Left),
        ("operation", Align::Left),
        ("client", Align::Left),
        ("outcome", Align::Left),
        ("ms", Align::Right),
        ("backend", Align::Right),
        ("security", Align::Right),
        ("choice", Align::Right),
    ]);
    for CallEntry { owner, call, .. } in &page.calls {
        let time = Timestamp::from_millisecond(call.time).map(|time| time.to_string());
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        let outcome = match &call.reason {
            Some(reason) => format!("{}: {reason}", call.outcome.name()),
            None => call.outcome.name().to_owned(),
        };
        table.row([
            time.unwrap_or_else(|_| call.time.to_string()),
            owner.clone(),
            call.service.clone().unwrap_or_else(|| call.route.clone()),
            text(&call.provider),
            text(&call.chosen),
            text(&call.operation),
            text(&call.client),
            outcome,
            milliseconds(call.total),
            milliseconds(call.backend),
            milliseconds(call.security),
            milliseconds(call.choice),
        ]);
    }
    let mut said = table.to_string();
    if let Some(before) = page.before {
        said.push_str(&format!("there are more: --before {before}\n"));
    }
    said
}

fn overhead_as_text(overhead: &Overhead) -> String {
    let mut said = format!("{} calls", overhead.calls);
    if overhead.truncated {
        said.push_str(", the last ones of more");
    }
    said.push_str("; times in ms\n");
    let mut table = Table::new([
        ("service", Align::Left),
        ("provider", Align::Left),
        ("told by", Align::Left),
        ("calls", Align::Right),
        ("part", Align::Left),
        ("share", Align::Right),
        ("mean", Align::Right),
        ("p50", Align::Right),
        ("p95", Align::Right),
    ]);
    for group in &overhead.groups {
        row(&mut table, group, "total", Some(&group.total));
        for (part, times) in &group.parts {
            row(&mut table, group, part.name(), Some(times));
        }
        if group.overhead.is_some() {
            row(&mut table, group, "overhead", None);
        }
    }
    said.push_str(&table.to_string());
    said
}

/// A part of a group; all that is not the service where there are no times.
fn row(table: &mut Table, group: &Group, part: &str, times: Option<&PartTimes>) {
    let share = times.map(|times| times.share).or(group.overhead);
    let percent = format!("{:.1} %", share.unwrap_or_default() * 100.0);
    let [mean, p50, p95] = match times {
        Some(times) => [
            format!("{:.3}", times.mean / 1e3),
            milliseconds(times.p50),
            milliseconds(times.p95),
        ],
        None => Default::default(),
    };
    table.row([
        group.service.clone(),
        group.provider.clone().unwrap_or_else(|| "-".to_owned()),
        group.basis.name().to_owned(),
        group.calls.to_string(),
        part.to_owned(),
        percent,
        mean,
        p50,
        p95,
    ]);
}

fn milliseconds(microseconds: u64) -> String {
    format!("{:.3}", microseconds as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use soapstone_registry::calls::{Call, overhead};

    use super::*;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        asked: CallsArguments,
    }

    fn asked(words: &str) -> CallsArguments {
        let words = format!("x --registry http://h {words}");
        Words::parse_from(words.split(' ')).asked
    }

    #[test]
    fn what_is_asked_is_in_the_path() {
        let now = Timestamp::from_millisecond(7_200_000).expect("a moment");
        let calls = asked("--service Bü&r --since 1h --outcome refused --limit 7");
        let expected = "/calls?service=B%C3%BC%26r&outcome=refused&since=3600000&limit=7";
        assert_eq!(path(&calls, now), expected);
        assert_eq!(path(&asked("--overhead"), now), "/calls/overhead");
    }

    #[test]
    fn the_overhead_is_shown_with_its_parts() {
        let call = Call {
            service: Some("Books".to_owned()),
            provider: Some("http://p1/".to_owned()),
            binding_key: Some("uddi:p1".to_owned()),
            total: 2_000,
            backend: 1_500,
            security: 400,
            attempts: 1,
            ..Call::default()
        };
        let expected = "\
1 calls; times in ms
service  provider    told by   calls  part        share   mean    p50    p95
Books    http://p1/  provider      1  total     100.0 %  2.000  2.000  2.000
Books    http://p1/  provider      1  security   20.0 %  0.400  0.400  0.400
Books    http://p1/  provider      1  service    75.0 %  1.500  1.500  1.500
Books    http://p1/  provider      1  other       5.0 %  0.100  0.100  0.100
Books    http://p1/  provider      1  overhead   25.0 %
";
        assert_eq!(overhead_as_text(&overhead(&[call], false)), expected);
    }
}
