//! What is called when calls are measured: the sample services, an inbound gateway before them, an
//! outbound gateway before that, a tap between the gateways, and a plain SOAP client.
//!
//! The demo and the studies of the lab run on it, on free loopback ports, and in a scratch folder.
//! Everything is in this process, or services and gateways are each in one of their own, as where
//! they are deployed; what is put under a condition is, and may be on a network of its own.
//! The rule kept here: calls travel over real HTTP, through gateways that were started from
//! configuration files.

mod apart;
pub(crate) mod architecture;
mod authority;
mod child;
mod client;
mod front_service;
mod limits;
mod namespace;
mod network;
mod part;
mod realm;
pub(crate) mod round_robin;
mod scratch;
mod server;
mod slow_way;
mod tap;
mod thumbprints;
mod tokens;
mod trail;
mod wire;

pub(crate) use apart::Apart;
pub(crate) use authority::Authority;
pub(crate) use child::{Child, DONE, Order};
pub(crate) use client::{Client, canonical_body, names_in_body};
pub(crate) use front_service::FrontService;
pub(crate) use limits::{Limit, Limited};
pub(crate) use network::Network;
pub(crate) use part::{Place, gateway};
pub(crate) use realm::Realm;
pub(crate) use scratch::Scratch;
pub(crate) use tap::{Exchange, Tap};
pub(crate) use tokens::{kerberos_endpoint, token_ends};
pub(crate) use trail::Trail;

use std::path::PathBuf;

use bytes::Bytes;
use soapstone::wss::Mechanism;
use soapstone_lab::study::{Form, Proof};
use soapstone_services::{DatabaseLocation, Device, Service};

/// What is to run.
pub(crate) struct Layout {
    /// What the configuration files are told apart by, where more than one layout runs.
    pub(crate) name: &'static str,
    /// The instances of the services.
    pub(crate) instances: Vec<Instance>,
    /// The ways through both gateways.
    pub(crate) routes: Vec<Route>,
    /// The largest message that the gateways let through, in MiB.
    pub(crate) largest_message: u32,
}

/// An instance of the services.
#[derive(Clone)]
pub(crate) struct Instance {
    /// What it is told apart by.
    pub(crate) name: String,
    /// Where its books are.
    pub(crate) database: DatabaseLocation,
    /// What the sensor's controller is like that it reads.
    pub(crate) device: Device,
}

/// One way through both gateways.
pub(crate) struct Route {
    /// What its path begins with, such as `/sign-encrypt`; the service's own path follows.
    pub(crate) prefix: String,
    /// Where it leads.
    pub(crate) target: Target,
    /// How messages are secured between the gateways.
    pub(crate) mechanism: Mechanism,
    /// With what kind of key or password.
    pub(crate) proof: Proof,
    /// The algorithm suite of what is signed or encrypted.
    pub(crate) suite: String,
    /// Bits of the RSA keys of both sides.
    pub(crate) rsa_bits: u32,
    /// How messages are made.
    pub(crate) form: Form,
    /// The gateways speak over TLS; by way of the tap they do not.
    pub(crate) tls: bool,
    /// What the gateway for clients sends before it is ready.
    pub(crate) warm_up: Option<WarmUp>,
}

/// A request that warms a route up.
#[derive(Clone)]
pub(crate) struct WarmUp {
    /// The plain message.
    pub(crate) request: Bytes,
    /// The action beside it.
    pub(crate) action: String,
}

/// Where a route leads.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// To a sample service.
    Sample {
        /// Which instance: a place in [`Layout::instances`].
        instance: usize,
        /// The service.
        service: Service,
    },
    /// To a service of the user's.
    Own {
        /// Its URL, without a query.
        url: String,
        /// Files with the certificates of authorities that its own is from, where it is behind
        /// TLS.
        authorities: Vec<PathBuf>,
    },
}

impl Route {
    /// Its path on both gateways.
    pub(crate) fn path(&self) -> String {
        match &self.target {
            Target::Sample { service, .. } => format!("{}{}", self.prefix, service.path()),
            Target::Own { .. } => self.prefix.clone(),
        }
    }
}
