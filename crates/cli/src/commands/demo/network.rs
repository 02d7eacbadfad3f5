//! What the demo runs: the sample services and both gateways, on free loopback ports, and a tap between the gateways.
//!
//! The rule kept here: the gateways are started from configuration files, as anybody's gateways are.

use std::net::SocketAddr;
use std::path::Path;

use soapstone_gateway::{Config, Gateway};
use soapstone_services::Services;

use super::scratch::Scratch;
use super::tap::Tap;
use crate::failure::Failure;

/// Everything that runs.
pub(super) struct Network {
    services: soapstone_services::Running,
    inbound: soapstone_gateway::Running,
    outbound: soapstone_gateway::Running,
    tap: Tap,
}

impl Network {
    /// Starts everything, from the services outwards.
    pub(super) async fn start(scratch: &Scratch) -> Result<Self, Failure> {
        let services = Services::start(soapstone_services::Config::default())
            .await
            .map_err(Failure::new)?;
        let inbound = gateway(&scratch.write_inbound(services.addr())?).await?;
        let tap = Tap::start(inbound.address()).await?;
        let outbound = gateway(&scratch.write_outbound(inbound.address(), tap.address())?).await?;
        Ok(Self {
            services,
            inbound,
            outbound,
            tap,
        })
    }

    /// Where the services are.
    pub(super) fn services(&self) -> SocketAddr {
        self.services.addr()
    }

    /// Where the gateway before the services is.
    pub(super) fn inbound(&self) -> SocketAddr {
        self.inbound.address()
    }

    /// Where the gateway for clients is.
    pub(super) fn outbound(&self) -> SocketAddr {
        self.outbound.address()
    }

    /// The tap between the gateways.
    pub(super) fn tap(&self) -> &Tap {
        &self.tap
    }

    /// Stops everything, from the outside inwards.
    pub(super) async fn shutdown(self) {
        self.outbound.shutdown().await;
        self.inbound.shutdown().await;
        self.services.shutdown().await;
    }
}

async fn gateway(file: &Path) -> Result<soapstone_gateway::Running, Failure> {
    let config = Config::load(file, &|name| std::env::var(name).ok())?;
    Gateway::start(config).await.map_err(Failure::new)
}
