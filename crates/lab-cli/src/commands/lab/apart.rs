//! `soapstone lab apart`, which lab and demo run: services, or a gateway, in a process of its own,
//! as they are where they are deployed.
//!
//! The rule kept here: it ends when nobody can tell it anything any more, however its starter
//! ended.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use soapstone_cli::arguments::address;
use soapstone_services::{
    Config, ControllerLocation, DatabaseError, DatabaseLocation, Device, Services,
};
use tracing::Level;

use super::advise;
use crate::failure::Failure;
use crate::logging::LogArguments;
use crate::testbed::{Authority, DONE, FrontService, Order, gateway};
use crate::{files, runtime};

const EXAMPLES: &str = "\
The lab runs this itself:
  soapstone lab run mchale2012 --quick --own-processes";

/// What runs apart.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum ApartCommand {
    /// The sample services
    Services(ServicesArguments),
    /// A gateway
    #[command(after_help = EXAMPLES)]
    Gateway {
        /// The gateway's configuration file
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
    },
    /// What messages under the keys of Kerberos tokens take, as lines of JSON
    #[command(after_help = EXAMPLES)]
    Kerberos {
        /// The endpoint file of the client
        #[arg(long, value_name = "FILE")]
        client: PathBuf,
        /// The endpoint file of the service
        #[arg(long, value_name = "FILE")]
        service: PathBuf,
        /// Messages after the first one name its token
        #[arg(long)]
        once: bool,
    },
    /// An authority that answers the id of an assertion with the assertion of a scratch folder
    #[command(after_help = EXAMPLES)]
    Authority {
        /// The scratch folder
        #[arg(long, value_name = "FOLDER")]
        folder: PathBuf,
    },
    /// A service that asks another one for books
    #[command(after_help = EXAMPLES)]
    Front {
        /// Where it asks for them
        #[arg(long, value_name = "ADDRESS", value_parser = address)]
        books: SocketAddr,
    },
}

/// Arguments of `soapstone lab apart services`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ServicesArguments {
    /// Where the books are
    #[arg(long, value_name = "URL", env = "SOAPSTONE_DATABASE", hide_env_values = true, default_value = "sqlite::memory:",
        value_parser = |text: &str| text.parse::<DatabaseLocation>().map_err(|error: DatabaseError| error.to_string()))]
    database: DatabaseLocation,
    /// How long the sensor's controller takes to answer, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0)]
    delay: u32,
    /// The share of requests that it does not answer, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    loss: f64,
}

/// Runs it until standard input ends.
///
/// # Errors
/// It cannot be started.
pub(super) fn run(command: ApartCommand, log: LogArguments) -> Result<(), Failure> {
    log.start_at(Level::WARN);
    let runtime = runtime::multi_threaded()?;
    match command {
        ApartCommand::Services(arguments) => {
            let config = Config {
                database: arguments.database,
                controller: ControllerLocation::Own(Device {
                    delay: Duration::from_millis(u64::from(arguments.delay)),
                    loss: arguments.loss,
                    ..Device::default()
                }),
                ..Config::default()
            };
            let running = runtime.block_on(Services::start(config));
            let running = running.map_err(Failure::new)?;
            obey(running.addr(), |_| {})?;
            runtime.block_on(running.shutdown());
        }
        ApartCommand::Gateway { config } => {
            let running = runtime.block_on(gateway(&config))?;
            obey(running.address(), |order| match order {
                Order::EndConversations => runtime.block_on(running.end_conversations()),
                Order::CloseIdle => running.close_idle(),
            })?;
            runtime.block_on(running.shutdown());
        }
        ApartCommand::Kerberos {
            client,
            service,
            once,
        } => {
            let mut lines = String::new();
            let mut unwritten = None;
            advise::tokens::measure_apart(once, [&client, &service], &mut |measurement| {
                match serde_json::to_string(measurement) {
                    Ok(line) => lines.push_str(&(line + "\n")),
                    Err(error) => unwritten = Some(error),
                }
            })?;
            if let Some(error) = unwritten {
                return Err(Failure::new(error));
            }
            files::print(lines)?;
        }
        ApartCommand::Authority { folder } => {
            let authority = runtime.block_on(Authority::start(&folder))?;
            obey(authority.address(), |_| {})?;
        }
        ApartCommand::Front { books } => {
            let service = runtime.block_on(FrontService::start(books))?;
            obey(service.address(), |_| {})?;
        }
    }
    Ok(())
}

/// Says where it listens, and carries out the orders that come until there are no more.
fn obey(address: SocketAddr, carry_out: impl Fn(Order)) -> Result<(), Failure> {
    files::print(format!("{address}\n"))?;
    for line in io::stdin().lines() {
        let line = line.map_err(Failure::new)?;
        let order = Order::read(&line)
            .ok_or_else(|| Failure::new(format_args!("expected an order, found `{line}`")))?;
        carry_out(order);
        files::print(format!("{DONE}\n"))?;
    }
    Ok(())
}
