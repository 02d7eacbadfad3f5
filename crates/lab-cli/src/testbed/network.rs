//! Everything that runs: the sample services and the gateways, on free loopback ports, and a tap
//! between the gateways.
//!
//! The rule kept here: the gateways are started from configuration files, as anybody's gateways
//! are.

use std::net::SocketAddr;

use super::apart::LOOPBACK;
use super::child::Child;
use super::part::{GatewayPart, Place, ServicesPart};
use super::scratch::{Behind, Ports};
use super::tap::{Exchange, Tap};
use super::{Layout, Scratch, authority};
use crate::failure::Failure;

/// Everything that runs.
pub(crate) struct Network {
    /// By the names of their instances.
    services: Vec<(String, ServicesPart)>,
    inbound: GatewayPart,
    /// The same gateway behind TLS, where a route asks for it.
    inbound_tls: Option<GatewayPart>,
    outbound: GatewayPart,
    tap: Tap,
    /// The authority of the assertion that requests name, where some do.
    authority: Option<Child>,
}

impl Network {
    /// Starts everything, from the services outwards, and all but the tap in this place.
    pub(crate) async fn start(
        scratch: &Scratch,
        layout: &Layout,
        place: Place<'_>,
    ) -> Result<Self, Failure> {
        let mut services = Vec::new();
        for instance in &layout.instances {
            let part = ServicesPart::start(instance, place).await?;
            services.push((instance.name.clone(), part));
        }
        let addresses = services.iter().map(|(_, part)| part.address());
        let addresses: Vec<SocketAddr> = addresses.collect();
        scratch.make_keys(layout)?;
        let authority = authority::start(scratch, layout, &[], place.log())?;
        let behind = Behind {
            services: &addresses,
            authority: port(authority.as_ref()),
        };
        let file = scratch.write_inbound(layout, LOOPBACK, behind, false)?;
        let inbound = GatewayPart::start(&file, place).await?;
        let inbound_tls = if layout.routes.iter().any(|route| route.tls) {
            let file = scratch.write_inbound(layout, LOOPBACK, behind, true)?;
            Some(GatewayPart::start(&file, place).await?)
        } else {
            None
        };
        let tap = Tap::start(inbound.address()).await?;
        let ports = Ports {
            authority: behind.authority,
            ..ports(&inbound, inbound_tls.as_ref(), &tap)
        };
        let file = scratch.write_outbound(layout, ports)?;
        let outbound = GatewayPart::start(&file, place).await?;
        Ok(Self {
            services,
            inbound,
            inbound_tls,
            outbound,
            tap,
            authority,
        })
    }

    /// Closes the connections that calls left open between gateways and services.
    ///
    /// # Errors
    /// A gateway in a process of its own does not answer.
    pub(crate) fn close_idle(&self) -> Result<(), Failure> {
        let gateways = [&self.outbound, &self.inbound];
        let mut gateways = gateways.into_iter().chain(&self.inbound_tls);
        gateways.try_for_each(GatewayPart::close_idle)
    }

    /// Ends the conversations of the gateway for clients: the next call of each route begins
    /// another.
    ///
    /// # Errors
    /// It is in a process of its own, and does not answer.
    pub(crate) async fn end_conversations(&self) -> Result<(), Failure> {
        self.outbound.end_conversations().await
    }

    /// Another gateway for clients, beside the one that is there, in this place.
    pub(crate) async fn newcomer(
        &self,
        scratch: &Scratch,
        layout: &Layout,
        place: Place<'_>,
    ) -> Result<GatewayPart, Failure> {
        let ports = Ports {
            authority: port(self.authority.as_ref()),
            ..ports(&self.inbound, self.inbound_tls.as_ref(), &self.tap)
        };
        GatewayPart::start(&scratch.write_outbound(layout, ports)?, place).await
    }

    /// Where the instance of the services with this name is; nowhere, if the layout has none.
    pub(crate) fn services(&self, instance: &str) -> Option<SocketAddr> {
        let mut services = self.services.iter();
        let (_, part) = services.find(|(name, _)| name == instance)?;
        Some(part.address())
    }

    /// Where the gateway before the services is.
    pub(crate) fn inbound(&self) -> SocketAddr {
        self.inbound.address()
    }

    /// The port of localhost where the gateway before the services is behind TLS; none, if no route
    /// asks for it.
    pub(crate) fn inbound_tls(&self) -> Option<u16> {
        let part = self.inbound_tls.as_ref();
        part.map(|part| part.address().port())
    }

    /// Where the gateway for clients is. Each route is there twice: the second time below
    /// `/tapped`, by way of the tap.
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
        if let Some(part) = self.inbound_tls {
            part.shutdown().await;
        }
        for (_, part) in self.services {
            part.shutdown().await;
        }
    }
}

fn ports(inbound: &GatewayPart, inbound_tls: Option<&GatewayPart>, tap: &Tap) -> Ports {
    Ports {
        inbound: inbound.address().port(),
        inbound_tls: inbound_tls.map(|part| part.address().port()),
        tap: tap.address().port(),
        authority: None,
    }
}

/// The port of a process that is there.
fn port(child: Option<&Child>) -> Option<u16> {
    child.map(|child| child.address().port())
}
