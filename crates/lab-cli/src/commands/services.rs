//! `soapstone services`: the sample services alone, plain SOAP.
//!
//! `soapstone services controller` runs what one of them reads: the controller of a sensor. The
//! rule kept here: the address that is printed is the one that is served.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use soapstone_cli::arguments::address;
use soapstone_services::{
    Config, Controller, ControllerLocation, DatabaseError, DatabaseLocation, Device, Service,
    Services, StartError,
};
use tracing::Level;

use crate::failure::Failure;
use crate::files;
use crate::logging::LogArguments;
use crate::runtime;

/// What `--help` tells about it.
pub(crate) const ABOUT: &str = "\
Run the sample services alone: Echo, EchoStringArray, Sum, EmployeeDetails, Books and Temperature, in SOAP 1.1 and 1.2, without security.

Books come from a real database of 25,000 books: SQLite in memory unless --database names another. The temperature comes from a sensor's \
controller, over UDP: one of its own unless --controller names another. Each service shows its contract at its address with ?wsdl.";

const CONTROLLER_ABOUT: &str = "\
Run the controller of a sensor: the device that getTemperature reads over UDP.

A request and its answer have nine bytes each: 02, a code, a sequence number of four bytes, two bytes of value, 03. Code 10 asks for \
a sensor by its number (there is number 1), 11 answers in hundredths of a degree Celsius, 1F says that there is no such sensor. Numbers are \
big-endian. Anything else gets no answer. With --delay and --loss it is as slow and as forgetful as real ones; what it forgets depends \
on --seed and the order of requests alone.";

const EXAMPLES: &str = "\
Examples:
  soapstone services
  soapstone services --listen 0.0.0.0:9000 --database sqlite:books.db
  soapstone services --database postgres://user:password@127.0.0.1/books
  soapstone services controller --listen 127.0.0.1:9001 --delay 20 --loss 0.1
  soapstone services --controller 127.0.0.1:9001
  curl http://127.0.0.1:9000/books?wsdl";

/// Arguments of `soapstone services`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    alone: Option<Alone>,
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9000", value_parser = address)]
    listen: SocketAddr,
    /// Where the books are: sqlite::memory:, sqlite:PATH, mysql://… or postgres://…
    #[arg(long, value_name = "URL", env = "SOAPSTONE_DATABASE", hide_env_values = true, default_value = "sqlite::memory:",
        value_parser = |text: &str| text.parse::<DatabaseLocation>().map_err(|error: DatabaseError| error.to_string()))]
    database: DatabaseLocation,
    /// The URL that contracts show instead of the one that was called
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// The controller of the sensor that getTemperature reads [default: one that is started with
    /// the services]
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    controller: Option<SocketAddr>,
}

/// What services stand on, alone.
#[derive(Debug, clap::Subcommand)]
enum Alone {
    /// Run the controller of a sensor: the device that getTemperature reads over UDP
    #[command(long_about = CONTROLLER_ABOUT)]
    Controller(ControllerArguments),
}

/// Arguments of `soapstone services controller`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
struct ControllerArguments {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9001", value_parser = address)]
    listen: SocketAddr,
    /// What the sensor measures, in degrees Celsius
    #[arg(long, value_name = "DEGREES", default_value = "21.50", value_parser = hundredths, allow_negative_numbers = true)]
    temperature: i16,
    /// How long an answer takes, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0, value_parser = milliseconds)]
    delay: u32,
    /// The share of requests that get no answer, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share)]
    loss: f64,
    /// What decides which requests get none
    #[arg(long, value_name = "NUMBER", default_value_t = Device::default().seed)]
    seed: u64,
}

fn hundredths(text: &str) -> Result<i16, String> {
    let expected = || "expected degrees from -327.68 to 327.67".to_owned();
    let degrees: f64 = text.parse().map_err(|_| expected())?;
    let hundredths = (degrees * 100.0).round();
    if (f64::from(i16::MIN)..=f64::from(i16::MAX)).contains(&hundredths) {
        Ok(hundredths as i16)
    } else {
        Err(expected())
    }
}

fn milliseconds(text: &str) -> Result<u32, String> {
    let expected = || format!("expected milliseconds, such as 20, up to {}", u32::MAX);
    text.parse().map_err(|_| expected())
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok();
    let share = share.filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

/// Runs the services until Ctrl-C.
///
/// # Errors
/// Why they cannot start.
pub fn run(arguments: Arguments, log: LogArguments) -> Result<(), Failure> {
    log.start_at(Level::INFO);
    if let Some(Alone::Controller(arguments)) = arguments.alone {
        return run_controller(&arguments);
    }
    let controller = arguments.controller;
    let config = Config {
        listen: arguments.listen,
        database: arguments.database,
        public_url: arguments.public_url,
        controller: controller.map_or_else(ControllerLocation::default, ControllerLocation::At),
        ..Config::default()
    };
    runtime::multi_threaded()?.block_on(async {
        // Who reads the addresses may tell us to stop at once.
        let stop = runtime::stop_requested();
        let running = Services::start(config).await.map_err(|error| match error {
            StartError::Listen { address, source } => cannot_listen(address, &source),
            other => Failure::new(other),
        })?;
        let addresses: String = Service::ALL
            .iter()
            .map(|service| format!("{}\n", running.url(*service)))
            .collect();
        files::print(addresses)?;
        stop.await;
        running.shutdown().await;
        Ok(())
    })
}

/// The same words as a gateway has for it.
fn cannot_listen(address: SocketAddr, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::AddrInUse => Failure::new(format_args!(
            "cannot listen on {address}: another program listens there"
        ))
        .with_hint("stop it, or choose another port with --listen"),
        _ => Failure::new(format_args!("cannot listen on {address}: {error}")),
    }
}

/// Runs the controller until Ctrl-C.
fn run_controller(arguments: &ControllerArguments) -> Result<(), Failure> {
    let device = Device {
        temperature: arguments.temperature,
        delay: Duration::from_millis(arguments.delay.into()),
        loss: arguments.loss,
        seed: arguments.seed,
    };
    let listen = arguments.listen;
    runtime::multi_threaded()?.block_on(async {
        let stop = runtime::stop_requested();
        let controller = Controller::start(listen, device).await;
        let controller = controller.map_err(|error| cannot_listen(listen, &error))?;
        files::print(format!("udp://{}\n", controller.address()))?;
        stop.await;
        Ok(())
    })
}
