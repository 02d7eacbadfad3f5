//! How the services are run.
//!
//! The rule kept here: nothing has to be said, and what is said changes no answer but its URLs.

use std::net::SocketAddr;
use std::time::Duration;

use crate::database::DatabaseLocation;
use crate::sensor::{ControllerLocation, Patience};

/// How the services are run.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where to listen; port 0 takes a free one. Default: `127.0.0.1:0`.
    pub listen: SocketAddr,
    /// The URL that the contracts name instead of the request's Host, such as
    /// `https://services.example`. No default.
    pub public_url: Option<String>,
    /// Where the books are. Default: SQLite in memory.
    pub database: DatabaseLocation,
    /// Where the controller of the sensor is that `getTemperature` reads. Default: one of its own.
    pub controller: ControllerLocation,
    /// For how long a controller that does not answer is asked. Default: six times, 250 ms each.
    pub sensor_patience: Patience,
    /// The largest request, in bytes. Default: 8 MiB, the limit of the engine's endpoints.
    pub message: usize,
    /// How long a request may take to arrive. Default: 30 s.
    pub patience: Duration,
    /// How long a stop waits for requests that are being answered. Default: 10 s.
    pub grace: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            public_url: None,
            database: DatabaseLocation::default(),
            controller: ControllerLocation::default(),
            sensor_patience: Patience::default(),
            message: 8 * 1024 * 1024,
            patience: Duration::from_secs(30),
            grace: Duration::from_secs(10),
        }
    }
}
