//! `soapstone demo`: real calls through two gateways under each mechanism, and what they cost.
//!
//! Everything runs in this process on free loopback ports: the sample services, an inbound gateway
//! before them, an outbound gateway before that, each with a configuration file of its own in a
//! scratch folder. Calls travel over real HTTP.
//!
//! The rule kept here: every figure comes from calls whose answers were checked; one wrong answer
//! fails the demo.

mod broker;
mod calls;
mod federation;
mod message;
mod report;

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use soapstone::wss::Mechanism;
use soapstone_lab::study::{Form, Proof};
use soapstone_services::{DatabaseLocation, Device, Service};

use self::calls::{Caller, Operation};
use self::report::{Cell, Results, Way};
use crate::failure::Failure;
use crate::files;
use crate::progress::Progress;
use crate::runtime;
use crate::suites;
use crate::testbed::{Instance, Layout, Network, Place, Route, Scratch, Target};

/// What `--help` tells about it.
pub(crate) const ABOUT: &str = "\
Send real calls through two gateways, under each mechanism, and show what it costs.

In a scratch folder it makes a certificate authority, keys and certificates for a client and a server, and the configuration of two \
gateways; it starts the sample services and both gateways on free loopback ports, calls Echo and getBooks through them, checks \
every answer, shows one message before and after, and ends with a table. It takes less than half a minute.

With --broker it shows another thing: four providers of one service with different policies, which register and report, three clients \
with different needs, and a broker that chooses by both. One provider is slowed, one is killed, and one does not keep its policy. A table \
says who was served by whom and why. The exit code is 1 if a call was served below its needs, or was lost for another reason than the lie.

With --federation it shows two services in a chain, and a token service. A plain client calls the front service, which calls the books \
service in the name of the client's user. Each step tells who asked for which token, what the token says, and what both services saw. Then \
it shows what is refused and why, how often the token service is asked, and what a call costs with tokens. The exit code is 1 if a step \
does not hold.";

const EXAMPLES: &str = "\
Examples:
  soapstone demo
  soapstone demo --keep                 leave all running, with a curl line to try
  soapstone demo --suite Basic256Sha256 --count 50
  soapstone demo --json                 one line of JSON per measurement
  soapstone demo --broker               clients with needs, providers with policies, a broker between them
  soapstone demo --federation           a chain of services, and a token service that tells them the user
  soapstone demo --federation --keep    the same, and leave all running to look at files and logs";

/// Books asked for in a call.
const BOOKS: u32 = 100;
/// Calls of one kind in a row: more of them, and the machine's moods would fall on one mechanism;
/// fewer, and none runs warm.
const ROW: u32 = 10;
/// When measuring ends however much is left, so that the demo ends within half a minute on a slow
/// machine, too.
const PATIENCE: Duration = Duration::from_secs(20);

/// Arguments of `soapstone demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Show a broker that chooses providers by their security and time
    #[arg(long, conflicts_with_all = ["keep", "suite"])]
    broker: bool,
    /// Show a chain of services that learn the user from a token service
    #[arg(long, conflicts_with_all = ["broker", "suite"])]
    federation: bool,
    /// Leave services and gateways running until Ctrl-C, and say how to call them
    #[arg(long)]
    keep: bool,
    /// Print one line of JSON per measurement instead of tables
    #[arg(long)]
    json: bool,
    /// Calls of each kind
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    count: u32,
    /// The algorithm suite of what is signed or encrypted
    #[arg(long, value_name = "NAME", default_value = "Basic256GCM", value_parser = suites::name)]
    suite: String,
}

/// Runs the demo.
///
/// # Errors
/// What cannot be started, or the first answer that is not what it should be.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    runtime::multi_threaded()?.block_on(async {
        let mut stop = std::pin::pin!(runtime::stop_requested());
        if arguments.broker {
            return tokio::select! {
                shown = broker::show(&arguments) => shown,
                () = &mut stop => Err(Failure::new("stopped before the end")),
            };
        }
        if arguments.federation {
            let running = tokio::select! {
                shown = federation::show(&arguments) => shown?,
                () = &mut stop => return Err(Failure::new("stopped before the end")),
            };
            if arguments.keep {
                files::print(running.invitation())?;
                stop.await;
            }
            return Ok(());
        }
        let (network, scratch) = tokio::select! {
            shown = show(&arguments) => shown?,
            () = &mut stop => return Err(Failure::new("stopped before the end")),
        };
        if arguments.keep {
            files::print(report::invitation(&network, &scratch))?;
            stop.await;
        }
        network.shutdown().await;
        Ok(())
    })
}

/// Starts everything, calls, and tells what came of it; what runs then keeps running.
async fn show(arguments: &Arguments) -> Result<(Network, Scratch), Failure> {
    let mut progress = Progress::new();
    progress.say("making keys and certificates");
    let scratch = Scratch::make("demo")?;
    progress.say("starting the sample services and two gateways");
    let network = Network::start(&scratch, &layout(&arguments.suite), Place::Here).await?;
    let services = network
        .services(INSTANCE)
        .ok_or_else(|| Failure::new("the sample services were not started"))?;
    let caller = Caller::new(&network, services);
    progress.end();
    if !arguments.json {
        files::print(report::introduction(&network, services))?;
        let seen = caller
            .watch(Mechanism::SignEncrypt, Operation::Books(2))
            .await?;
        files::print(report::before_and_after(&seen, &arguments.suite))?;
    }
    let results = measure(&caller, arguments, &mut progress).await?;
    progress.end();
    files::print(if arguments.json {
        results.json()
    } else {
        results.tables(std::io::stdout().is_terminal())
    })?;
    Ok((network, scratch))
}

/// The only instance of the services.
const INSTANCE: &str = "services";

/// Echo and Books, under each mechanism.
fn layout(suite: &str) -> Layout {
    let route = |mechanism: Mechanism, service| Route {
        prefix: format!("/{mechanism}"),
        target: Target::Sample {
            instance: 0,
            service,
        },
        mechanism,
        proof: Proof::Usual,
        suite: suite.to_owned(),
        rsa_bits: 2048,
        form: Form::Preset,
        tls: false,
        warm_up: None,
    };
    Layout {
        name: "demo",
        instances: vec![Instance {
            name: INSTANCE.to_owned(),
            database: DatabaseLocation::default(),
            device: Device::default(),
        }],
        routes: Mechanism::ALL
            .into_iter()
            .flat_map(|mechanism| {
                [Service::Echo, Service::Books].map(|service| route(mechanism, service))
            })
            .collect(),
        largest_message: 8,
    }
}

/// Calls every operation in every way, and checks every answer.
async fn measure(
    caller: &Caller<'_>,
    arguments: &Arguments,
    progress: &mut Progress,
) -> Result<Results, Failure> {
    let ways = [Way::Direct]
        .into_iter()
        .chain(Mechanism::ALL.map(Way::Through));
    let mut cells = Vec::new();
    for operation in [Operation::Echo, Operation::Books(BOOKS)] {
        let expected = caller.expected(operation).await?;
        for way in ways.clone() {
            let sizes = match way {
                Way::Direct => expected.sizes,
                Way::Through(mechanism) => {
                    caller.watch(mechanism, operation).await?.secured_sizes()
                }
            };
            cells.push((
                Cell::new(way, operation, &arguments.suite, sizes, expected.sizes),
                expected.clone(),
            ));
        }
    }
    let begun = Instant::now();
    let mut left = arguments.count;
    while left > 0 && (left == arguments.count || begun.elapsed() < PATIENCE) {
        let row = left.min(ROW);
        progress.say(&format!(
            "calling: {} of {} times each",
            arguments.count - left,
            arguments.count
        ));
        for (cell, expected) in &mut cells {
            for _ in 0..row {
                cell.samples
                    .push(caller.call(cell.way, cell.operation, expected).await?);
            }
        }
        left -= row;
    }
    Ok(Results::new(
        cells.into_iter().map(|(cell, _)| cell).collect(),
    ))
}
