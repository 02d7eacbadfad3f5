//! The start of a gateway: it serves, and its warm-ups begin.
//!
//! The rule kept here: a route with a warm-up is cold before anybody can ask whether the gateway is
//! ready.

use std::net::TcpListener;
use std::pin::Pin;

use super::running::{self, Running};
use super::start_error::StartError;
use super::warm_up;
use crate::config::Config;

/// Starts gateways.
#[derive(Debug)]
pub struct Gateway;

impl Gateway {
    /// Begins to serve. Must be called within a tokio runtime, on which the connections then live.
    ///
    /// # Errors
    ///
    /// When the system refuses: see [`StartError`].
    // Boxed, so that what serves is compiled with this crate and not into each that calls it.
    pub fn start(
        config: Config,
    ) -> Pin<Box<dyn Future<Output = Result<Running, StartError>> + Send>> {
        Box::pin(started(config, Vec::new()))
    }

    /// The same on sockets that somebody else opened, such as systemd: each is used in the place of
    /// an own one with its address.
    pub fn start_on(
        config: Config,
        sockets: Vec<TcpListener>,
    ) -> Pin<Box<dyn Future<Output = Result<Running, StartError>> + Send>> {
        Box::pin(started(config, sockets))
    }
}

async fn started(config: Config, sockets: Vec<TcpListener>) -> Result<Running, StartError> {
    // The configuration is large, and the future holds it.
    let running = Box::pin(running::begin(config, sockets)).await?;
    warm_up::begin(running.state());
    Ok(running)
}
