//! `soapstone lab advise`: which mechanism to choose for one's own messages.
//!
//! The rule kept here: no prediction is printed without how far it may be off, and how well such
//! predictions came true.

mod calls;

use std::path::PathBuf;
use std::time::Duration;

use soapstone_lab::advise::{
    self, Advice, CallCheck, Check, Message, Models, Need, Over, Workload, gateway_file,
};
use soapstone_lab::measurement::{Effort, Measurement};

use crate::failure::Failure;
use crate::files::{self, Existing, Privacy};
use crate::progress::Progress;
use crate::suites;
use crate::table::{Align, Table};
use crate::testbed::Scratch;

pub(super) const ABOUT: &str = "\
Advise which mechanism to choose for one's own messages.

What each mechanism and suite costs is measured on this machine (a minute), or taken from the lines that `soapstone lab run engine --json` or \
an earlier --save left, and fitted: a fixed part, one per octet, one per element, what it takes to begin a conversation or a connection, and \
how clients wait for cores; what gateways add to that is fitted to whole calls. Those that satisfy the needs are ranked by the time that they add to a call, with processor time, octets and \
errors; then where another one becomes the better, and the gateway's file for the winner, unless none sustains the rate. Predictions are checked with measurements that \
were held back, and with whole calls whose messages were.";

pub(super) const EXAMPLES: &str = "\
Examples:
  soapstone lab advise --bytes 20kB --needs integrity,confidentiality,authentication,intermediaries
  soapstone lab advise --sample request.xml --response-bytes 1MB --messages-per-conversation 50 --rate 200
  soapstone lab advise --save engine.jsonl --bytes 2000 --needs integrity
  soapstone lab advise --measured engine.jsonl --bytes 2000 --needs confidentiality --bandwidth 10 --file gateway.toml";

/// Suites whose signatures or digests are SHA-1, or whose cipher is Triple DES, are only considered
/// when named.
const WEAK: [&str; 2] = ["Basic256", "TripleDes"];
/// What a measurement takes: about a minute for all of them.
const EFFORT: Effort = Effort {
    time: Duration::from_millis(40),
    least: 5,
    most: 2_000,
};

/// Arguments of `soapstone lab advise`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct AdviseArguments {
    /// Bytes of a request without security, such as 2000, 20kB or 1MiB
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "2000", conflicts_with = "sample")]
    bytes: f64,
    /// Elements of a request; as many as records of that size have, if not given
    #[arg(long, value_name = "N", value_parser = positive, conflicts_with = "sample")]
    elements: Option<f64>,
    /// Bytes of a response; as many as a request, if not given
    #[arg(long, value_name = "SIZE", value_parser = size)]
    response_bytes: Option<f64>,
    /// A captured request, without security, that bytes and elements are taken from
    #[arg(long, value_name = "FILE")]
    sample: Option<PathBuf>,
    /// Calls of a conversation, or of a connection, before it ends
    #[arg(long, value_name = "N", value_parser = positive, default_value = "1")]
    messages_per_conversation: f64,
    /// Calls in a second, all clients together
    #[arg(long, value_name = "N", value_parser = positive)]
    rate: Option<f64>,
    /// Clients that call at once
    #[arg(long, value_name = "N", value_parser = positive, default_value = "1")]
    clients: f64,
    /// What must be true of messages: integrity, confidentiality, authentication, intermediaries
    #[arg(
        long,
        value_name = "NEEDS",
        value_delimiter = ',',
        default_value = "integrity,confidentiality"
    )]
    needs: Vec<Need>,
    /// What the network carries, in megabits a second; no limit, if not given
    #[arg(long, value_name = "MBIT/S", value_parser = positive)]
    bandwidth: Option<f64>,
    /// What bytes take to the other side and back, in milliseconds
    #[arg(long, value_name = "MS", value_parser = positive)]
    round_trip: Option<f64>,
    /// Cores of each side; those of this machine, if not given
    #[arg(long, value_name = "N", value_parser = positive)]
    cores: Option<f64>,
    /// Only this suite; all measured ones without SHA-1 and Triple DES, if not given
    #[arg(long, value_name = "NAME", value_parser = suites::name)]
    suite: Option<String>,
    /// Lines of `soapstone lab run engine --json`, or of an earlier --save, instead of measuring
    #[arg(long, value_name = "FILE")]
    measured: Vec<PathBuf>,
    /// Save what was measured
    #[arg(long, value_name = "FILE", conflicts_with = "measured")]
    save: Option<PathBuf>,
    /// Write the gateway's file for the winner here, and do not print it
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long)]
    force: bool,
    /// Lines of JSON: mechanisms, the best first, then crossovers, what was left out, and how well
    /// is predicted
    #[arg(long)]
    json: bool,
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("expected a number above 0".to_owned()),
    }
}

fn size(text: &str) -> Result<f64, String> {
    soapstone::config::parse_size(text)
        .map(|octets| octets as f64)
        .filter(|octets| *octets > 0.0)
        .ok_or_else(|| "expected a size such as 2000, 20kB or 1MiB".to_owned())
}

/// Advises.
///
/// # Errors
/// Files cannot be read or written, or nothing that was measured satisfies the needs.
pub(super) fn run(arguments: &AdviseArguments) -> Result<(), Failure> {
    let workload = workload(arguments)?;
    let existing = if arguments.force {
        Existing::Replace
    } else {
        Existing::Keep
    };
    // Before a minute of measuring.
    let files = [&arguments.file, &arguments.save];
    files::must_be_new(files.into_iter().flatten().map(PathBuf::as_path), existing)?;
    let measurements = measurements(arguments, existing)?;
    let models = Models::of(&measurements);
    let Some(check) = models.check() else {
        return Err(
            Failure::new("there are too few measurements to fit what anything costs")
                .with_hint("soapstone lab run engine --json"),
        );
    };
    let allowed = |suite: &str| match &arguments.suite {
        Some(named) => named == suite,
        None => !WEAK.contains(&suite),
    };
    let advice = models.advise(&workload, allowed);
    let named = arguments.suite.as_deref();
    let unmeasured = named.filter(|suite| !models.has_suite(suite));
    let Some(winner) = advice.ranked.first() else {
        return Err(match unmeasured {
            Some(suite) => Failure::new(format_args!(
                "{suite} was not measured, and nothing without a suite satisfies the needs"
            ))
            .with_hint(format!("these were: {}", models.suites().join(", "))),
            None => Failure::new("nothing that was measured satisfies the needs")
                .with_hint("leave out a need, or name another suite"),
        });
    };
    // The ranking begins with what sustains the rate.
    let sustained = winner.utilization < 1.0;
    let file = gateway_file(&winner.means);
    if let (Some(path), true) = (&arguments.file, sustained) {
        files::create(path, file.as_bytes(), Privacy::Public, existing)?;
    }
    let too_slow = || {
        format!(
            "nothing that satisfies the needs sustains {} calls in a second on {} cores a side",
            workload.rate, workload.cores
        )
    };
    let calls = models.check_calls(&measurements);
    let text = if arguments.json {
        lines(&advice, unmeasured, &check, calls.as_ref())
    } else {
        let mut text = told(&workload, &advice, unmeasured, &check, calls.as_ref());
        match &arguments.file {
            _ if !sustained => text.push_str(&format!(
                "There is no gateway's file: {}; the least takes {} of them.\n",
                too_slow(),
                least_cores(&advice, &workload)
            )),
            Some(path) => text.push_str(&format!(
                "The gateway's file for {} is in {}.\n",
                winner.means,
                path.display()
            )),
            None => text.push_str(&format!("A gateway's file for {}:\n\n{file}", winner.means)),
        }
        text
    };
    files::print(text)?;
    match &arguments.file {
        Some(path) if !sustained => Err(Failure::file(
            path,
            format_args!("was not written: {}", too_slow()),
        )
        .with_hint(format!(
            "for more cores a side than here: --cores {}",
            least_cores(&advice, &workload)
        ))),
        _ => Ok(()),
    }
}

/// How many cores of each side it takes to sustain the rate by what takes fewest.
fn least_cores(advice: &Advice, workload: &Workload) -> f64 {
    let taken = advice.ranked.iter().map(|it| it.utilization);
    let least = taken.fold(f64::INFINITY, f64::min) * workload.cores;
    // All of as many would be taken, and nothing sustains that.
    least.floor() + 1.0
}

fn workload(arguments: &AdviseArguments) -> Result<Workload, Failure> {
    let mut request = Message::of_bytes(arguments.bytes);
    if let Some(elements) = arguments.elements {
        request.elements = elements;
    }
    if let Some(sample) = &arguments.sample {
        let octets = files::read(Some(sample))?;
        request = Message::of_sample(&octets)
            .ok_or_else(|| Failure::file(sample, "is no SOAP message"))?;
    }
    let response = arguments.response_bytes.map_or(request, |bytes| Message {
        bytes,
        elements: request.elements / request.bytes * bytes,
    });
    let cores = std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64);
    Ok(Workload {
        request,
        response,
        messages_per_conversation: arguments.messages_per_conversation,
        rate: arguments.rate.unwrap_or(0.0),
        clients: arguments.clients,
        bandwidth: arguments
            .bandwidth
            .map_or(f64::INFINITY, |megabits| megabits * 1e6),
        round_trip: arguments.round_trip.unwrap_or(0.0) * 1e3,
        cores: arguments.cores.unwrap_or(cores),
        needs: arguments.needs.clone(),
    })
}

fn measurements(
    arguments: &AdviseArguments,
    existing: Existing,
) -> Result<Vec<Measurement>, Failure> {
    let mut measurements = Vec::new();
    for path in &arguments.measured {
        let octets = files::read(Some(path))?;
        let text = std::str::from_utf8(&octets).map_err(|error| Failure::file(path, error))?;
        for (number, line) in text
            .lines()
            .enumerate()
            .filter(|(_, it)| !it.trim().is_empty())
        {
            let read = serde_json::from_str(line);
            measurements.push(read.map_err(|error| {
                Failure::file(
                    path,
                    format_args!(
                        "line {} is no measurement of the engine: {error}",
                        number + 1
                    ),
                )
            })?);
        }
    }
    if arguments.measured.is_empty() {
        let mut progress = Progress::new();
        let scratch = Scratch::make("advise")?;
        let ends = calls::ends(&scratch)?;
        let mut measured = |measurement: &Measurement| {
            progress.say(&format!("measuring {}", measurement.case()));
            measurements.push(measurement.clone());
        };
        advise::measure(EFFORT, &mut measured);
        for ends in &ends {
            advise::measure_conversation(ends, EFFORT, &mut measured);
        }
        let calls = calls::measure(&scratch, &mut |measurement| {
            progress.say(&format!("calling {}", measurement.case()));
            measurements.push(measurement);
        });
        progress.end();
        calls?;
    }
    if let Some(path) = &arguments.save {
        let mut text = String::new();
        for measurement in &measurements {
            text.push_str(&serde_json::to_string(measurement).map_err(Failure::new)?);
            text.push('\n');
        }
        files::create(path, text.as_bytes(), Privacy::Public, existing)?;
    }
    Ok(measurements)
}

/// A line for each prediction, the best first; then one for each crossover, for each means that is
/// left out, and for the check.
fn lines(
    advice: &Advice,
    unmeasured: Option<&str>,
    check: &Check,
    calls: Option<&CallCheck>,
) -> String {
    let ranked = advice.ranked.iter().map(|it| {
        serde_json::json!({
            "means": it.means.to_string(), "latency_us": it.latency[0], "latency_error_us": it.latency[1],
            "processor_us": it.processor[0], "processor_error_us": it.processor[1], "octets": it.octets,
            "handshake_us": it.handshake, "utilization": it.utilization,
        })
    });
    let turns = advice.turns.iter().map(|turn| {
        let over = match turn.over {
            Over::Calls => "calls",
            Over::Octets => "octets",
        };
        serde_json::json!({
            "from": turn.at, "over": over, "better": turn.above.to_string(), "than": turn.below.to_string(),
        })
    });
    let left_out = advice.left_out.iter().map(|(means, need, why)| {
        serde_json::json!({ "left_out": means.to_string(), "need": need.name(), "why": why })
    });
    let unmeasured = unmeasured
        .map(|suite| serde_json::json!({ "left_out": suite, "why": "it was not measured" }));
    let check = serde_json::json!({
        "held_back": check.n, "median_error_percent": check.median_percent, "worst_error_percent": check.worst_percent,
    });
    let calls = calls.map(|CallCheck { whole, added }| {
        serde_json::json!({
            "whole_calls": whole.n, "median_error_percent": whole.median_percent, "worst_error_percent": whole.worst_percent,
            "median_error_of_added_percent": added.median_percent, "worst_error_of_added_percent": added.worst_percent,
        })
    });
    let all = ranked.chain(turns).chain(left_out).chain(unmeasured);
    let checks = [check].into_iter().chain(calls);
    all.chain(checks).map(|line| format!("{line}\n")).collect()
}

fn told(
    workload: &Workload,
    advice: &Advice,
    unmeasured: Option<&str>,
    check: &Check,
    calls: Option<&CallCheck>,
) -> String {
    let needs: Vec<&str> = workload.needs.iter().map(|need| need.name()).collect();
    let mut text = format!(
        "{}\nRequests of {} octets and {} elements, responses of {} octets; {} calls of a conversation or connection. Needs: {}.\n\n",
        advice.opening(check),
        workload.request.bytes.round(),
        workload.request.elements.round(),
        workload.response.bytes.round(),
        workload.messages_per_conversation,
        needs.join(", ")
    );
    let mut table = Table::new([
        ("", Align::Left),
        ("latency ms", Align::Right),
        ("±", Align::Right),
        ("processor ms", Align::Right),
        ("±", Align::Right),
        ("octets", Align::Right),
        ("to begin ms", Align::Right),
        ("cores taken", Align::Right),
    ]);
    for it in &advice.ranked {
        let ms = |microseconds: f64| format!("{:.3}", microseconds / 1e3);
        let sustained = it.utilization < 1.0;
        table.row([
            it.means.to_string(),
            if sustained {
                ms(it.latency[0])
            } else {
                "too slow".to_owned()
            },
            if sustained {
                ms(it.latency[1])
            } else {
                String::new()
            },
            ms(it.processor[0]),
            ms(it.processor[1]),
            format!("{:.0}", it.octets),
            ms(it.handshake),
            format!("{:.1} %", it.utilization * 100.0),
        ]);
    }
    text.push_str(&table.to_string());
    text.push_str(
        "\nLatency is what security and the network add to a call, services left out; processor time is that of the engine on both sides. Beginning a conversation or \
         a connection is shared by its calls.\n\n",
    );
    for turn in &advice.turns {
        let (what, at) = match turn.over {
            Over::Calls => ("calls of a conversation or connection", turn.at.ceil()),
            Over::Octets => ("octets of a message", turn.at.round()),
        };
        text.push_str(&format!(
            "From {at} {what} on, {} is better than {}.\n",
            turn.above, turn.below
        ));
    }
    for (means, need, why) in &advice.left_out {
        text.push_str(&format!("Left out for {need}: {means}, as {why}.\n"));
    }
    if let Some(suite) = unmeasured {
        text.push_str(&format!("Left out: {suite}, as it was not measured.\n"));
    }
    let verdict = |check: &Check| {
        if check.median_percent <= Check::BAR {
            "within"
        } else {
            "above: do not trust the ranking of what lies close together, and measure again when the machine is quiet"
        }
    };
    text.push_str(&format!(
        "\nOf {} measurements that were held back, half were predicted to within {:.1} % (worst {:.0} %); the bar is {:.0} %, and this is {}.\n",
        check.n,
        check.median_percent,
        check.worst_percent,
        Check::BAR,
        verdict(check)
    ));
    if let Some(CallCheck { whole, added }) = calls {
        text.push_str(&format!(
            "Of {} whole calls through two gateways, predicted from calls with other messages, half were to within {:.1} % (worst {:.0} %), given what a \
             plain call takes; what security adds to them to within {:.1} % (worst {:.0} %): {}.\n",
            whole.n, whole.median_percent, whole.worst_percent, added.median_percent, added.worst_percent, verdict(added)
        ));
    }
    text.push('\n');
    text
}
