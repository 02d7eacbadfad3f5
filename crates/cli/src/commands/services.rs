//! `soapstone services`: the sample services alone, plain SOAP.
//!
//! The rule kept here: the address that is printed is the one that is served.

use std::net::SocketAddr;

use soapstone_services::{Config, DatabaseError, DatabaseLocation, Service, Services};
use tracing::Level;

use crate::failure::Failure;
use crate::files;
use crate::logging::LogArguments;
use crate::runtime;

/// What `--help` tells about it.
pub(crate) const ABOUT: &str = "\
Run the sample services alone: Echo, EchoStringArray, Sum, EmployeeDetails and Books, in SOAP 1.1 and 1.2, without security.

Books come from a real database of 25,000 books: SQLite in memory unless --database names another. Each service shows its contract at \
its address with ?wsdl.";

const EXAMPLES: &str = "\
Examples:
  soapstone services
  soapstone services --listen 0.0.0.0:9000 --database sqlite:books.db
  soapstone services --database postgres://user:password@127.0.0.1/books
  curl http://127.0.0.1:9000/books?wsdl";

/// Arguments of `soapstone services`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9000")]
    listen: SocketAddr,
    /// Where the books are: sqlite::memory:, sqlite:PATH, mysql://… or postgres://…
    #[arg(long, value_name = "URL", env = "SOAPSTONE_DATABASE", hide_env_values = true, default_value = "sqlite::memory:",
        value_parser = |text: &str| text.parse::<DatabaseLocation>().map_err(|error: DatabaseError| error.to_string()))]
    database: DatabaseLocation,
    /// The URL that contracts show instead of the one that was called
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
}

/// Runs the services until Ctrl-C.
///
/// # Errors
/// Why they cannot start.
pub fn run(arguments: Arguments, log: LogArguments) -> Result<(), Failure> {
    log.start_at(Level::INFO);
    let config = Config {
        listen: arguments.listen,
        database: arguments.database,
        public_url: arguments.public_url,
        ..Config::default()
    };
    runtime::multi_threaded()?.block_on(async {
        // Who reads the addresses may tell us to stop at once.
        let stop = runtime::stop_requested();
        let running = Services::start(config).await.map_err(Failure::new)?;
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
