//! Everything that runs: the sample services and the gateways, on free loopback ports, and a tap between the gateways.
//!
//! The rule kept here: the gateways are started from configuration files, as anybody's gateways are.

use std::net::SocketAddr;
use std::path::Path;

use soapstone_gateway::{Config, Gateway};
use soapstone_services::{ControllerLocation, Services};

use super::apart::LOOPBACK;
use super::scratch::Ports;
use super::tap::{Exchange, Tap};
use super::{Layout, Scratch};
use crate::failure::Failure;

/// Everything that runs.
pub(crate) struct Network {
    /// By the names of their instances.
    services: Vec<(String, soapstone_services::Running)>,
    inbound: soapstone_gateway::Running,
    /// The same gateway behind TLS, where a route asks for it.
    inbound_tls: Option<soapstone_gateway::Running>,
    outbound: soapstone_gateway::Running,
    tap: Tap,
}

impl Network {
    /// Starts everything, from the services outwards.
    pub(crate) async fn start(scratch: &Scratch, layout: &Layout) -> Result<Self, Failure> {
        let mut services = Vec::new();
        for instance in &layout.instances {
            let config = soapstone_services::Config {
                database: instance.database.clone(),
                controller: ControllerLocation::Own(instance.device),
                ..soapstone_services::Config::default()
            };
            let running = Services::start(config).await.map_err(Failure::new)?;
            services.push((instance.name.clone(), running));
        }
        let addresses = services.iter().map(|(_, running)| running.addr());
        let addresses: Vec<SocketAddr> = addresses.collect();
        scratch.make_keys(layout)?;
        let inbound = gateway(&scratch.write_inbound(layout, LOOPBACK, &addresses, false)?).await?;
        let inbound_tls = if layout.routes.iter().any(|route| route.tls) {
            Some(gateway(&scratch.write_inbound(layout, LOOPBACK, &addresses, true)?).await?)
        } else {
            None
        };
        let tap = Tap::start(inbound.address()).await?;
        let ports = ports(&inbound, inbound_tls.as_ref(), &tap);
        let outbound = gateway(&scratch.write_outbound(layout, ports)?).await?;
        Ok(Self {
            services,
            inbound,
            inbound_tls,
            outbound,
            tap,
        })
    }

    /// Closes the connections that calls left open between gateways and services.
    pub(crate) fn close_idle(&self) {
        let gateways = [&self.outbound, &self.inbound];
        let gateways = gateways.into_iter().chain(&self.inbound_tls);
        gateways.for_each(soapstone_gateway::Running::close_idle);
    }

    /// Ends the conversations of the gateway for clients: the next call of each route begins another.
    pub(crate) async fn end_conversations(&self) {
        self.outbound.end_conversations().await;
    }

    /// Another gateway for clients, beside the one that is there.
    pub(crate) async fn newcomer(
        &self,
        scratch: &Scratch,
        layout: &Layout,
    ) -> Result<soapstone_gateway::Running, Failure> {
        let ports = ports(&self.inbound, self.inbound_tls.as_ref(), &self.tap);
        gateway(&scratch.write_outbound(layout, ports)?).await
    }

    /// Where the instance of the services with this name is; nowhere, if the layout has none.
    pub(crate) fn services(&self, instance: &str) -> Option<SocketAddr> {
        let mut services = self.services.iter();
        let (_, running) = services.find(|(name, _)| name == instance)?;
        Some(running.addr())
    }

    /// Where the gateway before the services is.
    pub(crate) fn inbound(&self) -> SocketAddr {
        self.inbound.address()
    }

    /// The port of localhost where the gateway before the services is behind TLS; none, if no route asks for it.
    pub(crate) fn inbound_tls(&self) -> Option<u16> {
        let running = self.inbound_tls.as_ref();
        running.map(|running| running.address().port())
    }

    /// Where the gateway for clients is. Each route is there twice: the second time below `/tapped`, by way of the tap.
    pub(crate) fn outbound(&self) -> SocketAddr {
        self.outbound.address()
    }

    /// The call that passed the tap last.
    pub(crate) fn tapped(&self) -> Exchange {
        self.tap.last()
    }

    /// Stops everything, from the outside inwards.
    pub(crate) async fn shutdown(self) {
        self.outbound.shutdown().await;
        self.inbound.shutdown().await;
        if let Some(running) = self.inbound_tls {
            running.shutdown().await;
        }
        for (_, running) in self.services {
            running.shutdown().await;
        }
    }
}

fn ports(
    inbound: &soapstone_gateway::Running,
    inbound_tls: Option<&soapstone_gateway::Running>,
    tap: &Tap,
) -> Ports {
    Ports {
        inbound: inbound.address().port(),
        inbound_tls: inbound_tls.map(|running| running.address().port()),
        tap: tap.address().port(),
    }
}

/// Starts a gateway from a file.
pub(super) async fn gateway(file: &Path) -> Result<soapstone_gateway::Running, Failure> {
    let config = Config::load(file, &|name| std::env::var(name).ok())?;
    Gateway::start(config).await.map_err(Failure::new)
}
