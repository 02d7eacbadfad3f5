//! `soapstone lab advise`: which mechanism to choose for one's own messages.
//!
//! The rule kept here: no prediction is printed without how far it may be off, and how well such
//! predictions came true.

mod calls;
pub(super) mod tokens;

use std::path::PathBuf;
use std::time::Duration;

use soapstone_lab::advise::{
    self, Advice, CallCheck, Check, Demand, LeftOut, Message, Models, Need, Over, Partner, Side,
    Source, Tunings, Workload, gateway_file,
};
use soapstone_lab::measurement::{Effort, Measurement};

use super::bench::StopSignal;
use crate::failure::Failure;
use crate::files::{self, Existing, Privacy};
use crate::progress::Progress;
use crate::runtime;
use crate::suites;
use crate::table::{Align, Table};
use crate::testbed::Scratch;

pub(super) const ABOUT: &str = "\
Advise which mechanism to choose for one's own messages.

What each mechanism and suite costs is measured on this machine (a minute), or taken from the lines that `soapstone lab run engine --json` or \
an earlier --save left, and fitted: a fixed part, one per byte, one per element, what it takes to begin a conversation or a connection, and \
how clients wait for cores; what gateways add to that is fitted to whole calls. Those that satisfy the needs are ranked by the time that they add to a call, with processor time, octets and \
errors; then where another one becomes the better, and the gateway's file for the winner, unless none sustains the rate. Predictions are checked with measurements that \
were held back, and with whole calls whose messages were.";

pub(super) const EXAMPLES: &str = "\
Examples:
  soapstone lab advise --bytes 20kB --needs integrity,confidentiality,authentication,intermediaries
  soapstone lab advise --bytes 20kB --partner metro,wcf --service-time 40 --hops 2
  soapstone lab advise --bytes 800 --has kdc,issuer,passwords
  soapstone lab advise --bytes 200kB --encrypt-share 5 --repeated 80 --file gateway.toml --client-file client.toml
  soapstone lab advise --sample request.xml --response-bytes 1MB --messages-per-conversation 50 --rate 200
  soapstone lab advise --save engine.jsonl --bytes 2000 --needs integrity
  soapstone lab advise --measured engine.jsonl --bytes 2000 --needs confidentiality --bandwidth 10 --file gateway.toml";

/// Suites whose signatures or digests are SHA-1, or whose cipher is Triple DES, are only considered
/// when named.
const WEAK: [&str; 2] = ["Basic256", "TripleDes"];
/// A suite with AES in CBC is only considered for partners that may have no GCM.
const WITHOUT_GCM: &str = "Basic256Sha256+RsaSha256";
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
    /// What messages are made of: records of short fields, or one text
    #[arg(long, value_name = "STRUCTURE", value_enum, default_value_t = Structure::Records, conflicts_with_all = ["sample", "elements"])]
    structure: Structure,
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
    /// What there is beside certificates that keys of messages can come from; tokens without it
    /// are not considered: shared-key, passwords (which the service knows), kdc (of Kerberos),
    /// issuer (of SAML assertions)
    #[arg(long, value_name = "SOURCES", value_delimiter = ',')]
    has: Vec<Source>,
    /// Stacks that the other side is; what they do not speak is left out: cxf, wcf, metro, gsoap,
    /// wss4j-1.6
    #[arg(long, value_name = "STACKS", value_delimiter = ',')]
    partner: Vec<Partner>,
    /// How many partners call
    #[arg(long, value_name = "N", value_parser = positive)]
    partners: Option<f64>,
    /// What the service takes for a call, in milliseconds
    #[arg(long, value_name = "MS", value_parser = positive)]
    service_time: Option<f64>,
    /// Intermediaries between both sides, which pass messages on
    #[arg(long, value_name = "N", default_value = "0")]
    hops: u16,
    /// How much of a message's bytes has to be encrypted, in percent
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "100")]
    encrypt_share: f64,
    /// How much of the signed elements comes again with the same content, in percent: tunings
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    repeated: Option<f64>,
    /// How many messages come in canonical form, in percent: tunings
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    canonical: Option<f64>,
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
    #[arg(long, value_name = "NAME", value_parser = suites::name_in_files)]
    suite: Option<String>,
    /// Lines of `soapstone lab run engine --json`, or of an earlier --save, instead of measuring
    #[arg(long, value_name = "FILE")]
    measured: Vec<PathBuf>,
    /// Save what was measured
    #[arg(long, value_name = "FILE", conflicts_with = "measured")]
    save: Option<PathBuf>,
    /// Write the service's gateway file for the winner here, and do not print it
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Write the clients' gateway file for the winner here, and do not print it
    #[arg(long, value_name = "FILE")]
    client_file: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long)]
    force: bool,
    /// Lines of JSON: mechanisms, the best first, then crossovers, what was left out, and how well
    /// is predicted
    #[arg(long)]
    json: bool,
}

/// What messages are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Structure {
    /// Records of short fields, an element for each 21 bytes.
    Records,
    /// One text in one element.
    Text,
}

fn percent(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (0.0..=100.0).contains(&number) => Ok(number / 100.0),
        _ => Err("expected a percentage from 0 to 100".to_owned()),
    }
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
    let files = [&arguments.file, &arguments.client_file, &arguments.save];
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
        None => !WEAK.contains(&suite) && (suite != WITHOUT_GCM || !workload.partners.is_empty()),
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
                .with_hint("leave out a need or a partner, or name another suite"),
        });
    };
    let sources = arguments
        .has
        .iter()
        .filter(|it| !models.has_tokens_of(**it));
    let unmeasured: Vec<&str> = unmeasured
        .into_iter()
        .chain(sources.map(|it| it.name()))
        .collect();
    // The ranking begins with what sustains the rate.
    let sustained = winner.utilization < 1.0;
    let tunings = Tunings::of(&winner.means, &workload);
    let sides = [
        (&arguments.file, Side::Service, "service's"),
        (&arguments.client_file, Side::Clients, "clients'"),
    ];
    let sides = sides.map(|(path, side, whose)| {
        let file = gateway_file(&winner.means, &tunings, side);
        (path, whose, file)
    });
    for (path, _, file) in &sides {
        if let (Some(path), true) = (path, sustained) {
            files::create(path, file.as_bytes(), Privacy::Public, existing)?;
        }
    }
    let too_slow = || {
        format!(
            "nothing that satisfies the needs sustains {} calls in a second on {} cores a side",
            workload.rate, workload.cores
        )
    };
    let calls = models.check_calls(&measurements);
    let text = if arguments.json {
        lines(&advice, &unmeasured, &check, calls.as_ref())
    } else {
        let mut text = told(&workload, &advice, &unmeasured, &check, calls.as_ref());
        for why in &tunings.why {
            text.push_str(&format!("Tuning: {why}\n"));
        }
        if sustained {
            for (path, whose, file) in &sides {
                text.push_str(&match path {
                    Some(path) => format!(
                        "The file of the {whose} side for {} is in {}.\n",
                        winner.means,
                        path.display()
                    ),
                    None => format!(
                        "The file of the {whose} side for {}:\n\n{file}\n",
                        winner.means
                    ),
                });
            }
        } else {
            text.push_str(&format!(
                "There is no gateway's file: {}; the least takes {} of them.\n",
                too_slow(),
                least_cores(&advice, &workload)
            ));
        }
        text
    };
    files::print(text)?;
    match arguments.file.as_ref().or(arguments.client_file.as_ref()) {
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
    let mut request = match arguments.structure {
        Structure::Records => Message::of_bytes(arguments.bytes),
        Structure::Text => Message::of_text(arguments.bytes),
    };
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
        elements: match arguments.structure {
            Structure::Records => request.elements / request.bytes * bytes,
            Structure::Text => request.elements,
        },
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
        sources: arguments.has.clone(),
        partners: arguments.partner.clone(),
        callers: arguments.partners,
        service: arguments
            .service_time
            .map(|milliseconds| milliseconds * 1e3),
        hops: f64::from(arguments.hops),
        encrypted: arguments.encrypt_share,
        repeated: arguments.repeated,
        canonical: arguments.canonical,
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
        let mut measured = |measurement: &Measurement| {
            progress.say(&format!("measuring {}", measurement.case()));
            measurements.push(measurement.clone());
        };
        advise::measure(EFFORT, &mut measured);
        // Until here a signal ends the process, which leaves nothing behind. From here on there are
        // keys in a folder, and programs beside this one.
        let runtime = runtime::multi_threaded()?;
        let wish = StopSignal::listen(&runtime);
        let scratch = Scratch::make("advise")?;
        for ends in &calls::ends(&scratch)? {
            wish.go_on()?;
            advise::measure_conversation(ends, EFFORT, &mut measured);
        }
        tokens::measure(&scratch, &arguments.has, &wish, &mut measured)?;
        let calls = calls::measure(&scratch, &wish, &mut |measurement| {
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
fn lines(advice: &Advice, unmeasured: &[&str], check: &Check, calls: Option<&CallCheck>) -> String {
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
    let left_out = advice.left_out.iter().map(|it| {
        let (key, demand) = match it.demand {
            Demand::Need(need) => ("need", need.name()),
            Demand::Partner(partner) => ("partner", partner.name()),
        };
        serde_json::json!({ "left_out": it.means.to_string(), key: demand, "why": it.why })
    });
    let unmeasured = unmeasured
        .iter()
        .map(|name| serde_json::json!({ "left_out": name, "why": "it was not measured" }));
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
    unmeasured: &[&str],
    check: &Check,
    calls: Option<&CallCheck>,
) -> String {
    let needs: Vec<&str> = workload.needs.iter().map(|need| need.name()).collect();
    let mut text = format!(
        "{}\nRequests of {} bytes and {} elements, responses of {} bytes; {} calls of a conversation or connection. Needs: {}.\n\n",
        advice.opening(workload, check),
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
            Over::Octets => ("bytes of a message", turn.at.round()),
        };
        text.push_str(&format!(
            "From {at} {what} on, {} is better than {}.\n",
            turn.above, turn.below
        ));
    }
    for LeftOut { means, demand, why } in &advice.left_out {
        text.push_str(&format!("Left out for {demand}: {means}, as {why}.\n"));
    }
    for name in unmeasured {
        text.push_str(&format!("Left out: {name}, as it was not measured.\n"));
    }
    let bar = Check::BAR;
    let verdict = if check.median_percent <= bar
        && calls.is_none_or(|it| it.added.median_percent <= bar)
    {
        "within"
    } else {
        "above: do not trust the ranking of what lies close together, and measure again when the machine is quiet"
    };
    let of_calls = calls.map_or(String::new(), |CallCheck { whole, added }| {
        format!(
            ", {:.1} % of what security adds to {} whole calls through two gateways (worst {:.0} %)",
            added.median_percent, whole.n, added.worst_percent
        )
    });
    text.push_str(&format!(
        "\nPrediction error, half of the time at most: {:.1} % of {} measurements that were held back (worst {:.0} %){of_calls}; checked on the \
         machine that was measured. The bar is {bar:.0} %, and this is {verdict}.\n",
        check.median_percent, check.n, check.worst_percent
    ));
    text.push('\n');
    text
}
