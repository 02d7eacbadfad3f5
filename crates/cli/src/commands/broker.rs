//! `soapstone broker`: which of several backends a gateway may choose, and why.
//!
//! The rule kept here: nothing is started and no backend is asked. What is shown is computed from
//! the policies of the file by what chooses at run time, or told by a gateway that runs.

mod live;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use serde_json::{Value, json};
use soapstone_gateway::broker::{Level, Needs, Property, SecurityIndex};
use soapstone_gateway::{Config, Considered, ConsideredBackend};

use crate::admin::{ADDRESS, AdminOptions};
use crate::failure::{Failure, REFUSED};
use crate::files;

/// What `--help` tells about it.
pub(crate) const ABOUT: &str = "\
Show which of several backends a gateway may choose, and why.";

const EXAMPLES: &str = "\
Examples:
  soapstone broker explain --config gateway.toml
  soapstone broker explain --config gateway.toml --route /books --sender CN=client
  soapstone broker explain --config gateway.toml --property integrity --bits 128 --json
  soapstone broker explain --admin http://127.0.0.1:9901 --token-file admin.token --property integrity
  soapstone broker explain --admin https://gw:9901 --ca ca.pem --cert me.cert.pem --key me.key.pem";

/// What is shown.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Command {
    /// Show the security index of each backend, and whether it covers what requests need
    ///
    /// The index is computed from the compiled policy in front of each backend and from TLS. The
    /// needs are those of the route, of the class of the sender, and of the options. Times are
    /// measured by a gateway that runs: with --admin it tells what it knows of each backend now,
    /// and why each of them would be chosen or not. The exit code is 2 if a route has no backend
    /// that covers the needs, or with --admin none that may be chosen now.
    #[command(after_help = EXAMPLES)]
    Explain(Arguments),
}

/// Arguments of `soapstone broker explain`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The gateway's configuration file
    #[arg(long, short, value_name = "FILE", required_unless_present = ADDRESS)]
    config: Option<PathBuf>,
    /// The admin listener of a gateway that runs
    #[arg(long = "admin", id = ADDRESS, value_name = "ADMIN-URL", conflicts_with = "config")]
    admin: Option<String>,
    #[command(flatten)]
    shown: AdminOptions,
    /// Only the route with this path
    #[arg(long, value_name = "PATH")]
    route: Option<String>,
    /// The proven sender: a user, or the subject of a certificate
    #[arg(long, value_name = "NAME")]
    sender: Option<String>,
    /// A property that the request needs besides: authentication, integrity, confidentiality,
    /// freshness, non-repudiation, end-to-end
    #[arg(long, value_name = "NAME", value_parser = property)]
    property: Vec<Property>,
    /// The strength that the request needs besides, in bits
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    bits: u16,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn property(name: &str) -> Result<Property, String> {
    let known = || Property::ALL.map(Property::name).join(", ");
    Property::named(name).ok_or_else(|| format!("known are {}", known()))
}

/// Shows what was asked for.
///
/// # Errors
/// When the configuration has problems, or nothing can be printed.
pub fn run(command: &Command) -> Result<ExitCode, Failure> {
    let Command::Explain(arguments) = command;
    match (&arguments.admin, &arguments.config) {
        (Some(admin), _) => live::run(admin, arguments),
        (None, Some(file)) => of_file(file, arguments),
        (None, None) => Err(Failure::new("name --config FILE or --admin ADMIN-URL")),
    }
}

/// Shows what a file says before anything was measured.
fn of_file(file: &Path, arguments: &Arguments) -> Result<ExitCode, Failure> {
    let config = Config::load(file, &|name| std::env::var(name).ok())?;
    let needs = Needs {
        properties: arguments.property.clone(),
        bits: arguments.bits,
        ..Needs::nothing()
    };
    let route = arguments.route.as_deref();
    let routes = config.considered(route, arguments.sender.as_deref(), &needs);
    if routes.is_empty() {
        let message = match route {
            Some(path) => format!("no route {path} has several backends"),
            None => "no route has several backends".to_owned(),
        };
        return Err(Failure::new(message).with_hint("give one `backends = [...]`"));
    }
    files::print(match arguments.json {
        true => {
            let routes: Vec<Value> = routes.iter().map(as_json).collect();
            format!("{:#}\n", json!({ "routes": routes }))
        }
        false => routes.iter().map(as_text).collect(),
    })?;
    let covers = |backend: &ConsideredBackend| backend.verdict.shortfalls.is_empty();
    let is_covered = |route: &Considered| route.backends.iter().any(covers);
    Ok(match routes.iter().all(is_covered) {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(REFUSED),
    })
}

fn as_text(route: &Considered) -> String {
    let mut text = format!("route {} ({})\n", route.route, route.selection);
    let needs = in_words(&route.needs);
    // Writing to a string cannot fail.
    let _ = writeln!(text, "needs: {needs}");
    for backend in &route.backends {
        let verdict = &backend.verdict;
        let shortfalls: Vec<String> = verdict.shortfalls.iter().map(ToString::to_string).collect();
        let verdict_text = match shortfalls.is_empty() {
            true => "covers the needs".to_owned(),
            false => format!("does not cover the needs: {}", shortfalls.join("; ")),
        };
        let _ = writeln!(text, "backend {} -> {}", verdict.name, backend.url);
        let _ = writeln!(text, "  {verdict_text}");
        let index = verdict.security;
        let _ = writeln!(
            text,
            "  security index {index:.0}: {}",
            given(&backend.security)
        );
        let _ = writeln!(text, "  time: not measured");
    }
    text
}

fn in_words(needs: &Needs) -> String {
    let mut words: Vec<String> = needs.properties.iter().map(ToString::to_string).collect();
    if needs.bits > 0 {
        words.push(format!("{} bits", needs.bits));
    }
    words.extend(
        needs
            .refused_algorithms
            .iter()
            .map(|name| format!("no {name}")),
    );
    words.extend(
        needs
            .encrypted
            .iter()
            .map(|part| format!("{part} encrypted")),
    );
    words.extend(needs.time.map(|time| format!("an answer within {time:?}")));
    if needs.availability > 0 {
        words.push(format!("{} % of answers", needs.availability));
    }
    match words.is_empty() {
        true => "nothing".to_owned(),
        false => words.join(", "),
    }
}

fn given(index: &SecurityIndex) -> String {
    let each = Property::ALL.into_iter().filter_map(|property| {
        let given = index.of(property);
        let (level, bits) = (given.level.name(), given.bits);
        (given.level > Level::None).then(|| format!("{property} {bits} ({level})"))
    });
    let mut each: Vec<String> = each.collect();
    if each.is_empty() {
        each.push("nothing".to_owned());
    }
    if !index.algorithms.is_empty() {
        each.push(format!("with {}", index.algorithms.join(" ")));
    }
    each.join(", ")
}

fn as_json(route: &Considered) -> Value {
    let needs = &route.needs;
    let names = |properties: &[Property]| -> Vec<&str> {
        properties.iter().map(|property| property.name()).collect()
    };
    let backends = route.backends.iter().map(|backend| {
        let shortfalls = backend.verdict.shortfalls.iter();
        let shortfalls: Vec<String> = shortfalls.map(ToString::to_string).collect();
        let properties = Property::ALL.into_iter().map(|property| {
            let given = backend.security.of(property);
            let value = json!({ "level": given.level.name(), "bits": given.bits });
            (property.name().to_owned(), value)
        });
        let properties: serde_json::Map<String, Value> = properties.collect();
        json!({
            "name": backend.verdict.name,
            "url": backend.url,
            "covers": backend.verdict.shortfalls.is_empty(),
            "shortfalls": shortfalls,
            "security_index": backend.verdict.security,
            "security": properties,
            "algorithms": backend.security.algorithms,
            "encrypted": backend.security.encrypted,
            "time_ms": Value::Null,
        })
    });
    let backends: Vec<Value> = backends.collect();
    json!({
        "route": route.route,
        "selection": route.selection,
        "needs": {
            "properties": names(&needs.properties),
            "bits": needs.bits,
            "refused": needs.refused_algorithms,
            "encrypted": needs.encrypted,
            "time_ms": needs.time.map(|time| time.as_millis()),
            "availability": needs.availability,
        },
        "backends": backends,
    })
}
