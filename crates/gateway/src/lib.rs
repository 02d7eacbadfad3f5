//! A proxy that gives plain SOAP services and clients WS-Security, without touching their code.
//!
//! A gateway listens on one address and serves routes. An *inbound* endpoint of a route stands
//! before a service: it opens requests and secures responses. An *outbound* endpoint stands behind
//! a client: it secures requests and opens responses. A route with both is a bridge from one policy
//! to another; a route with neither passes messages as they are.
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use soapstone_gateway::{Config, Gateway};
//!
//! let config = Config::load("gateway.toml".as_ref(), &|name| std::env::var(name).ok())?;
//! let gateway = Gateway::start(config).await?;
//! println!("serving at {}", gateway.address());
//! gateway.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! The rule kept here: a bounded number of messages is worked on at once, and whatever is to be
//! done, sockets do not wait for long.
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::too_many_lines))]

mod activity;
mod admin;
mod answer_head;
mod asking;
mod audit;
mod backend;
mod body;
mod buffers;
mod client_trust;
mod cold;
mod config;
mod conversing;
mod dated;
mod descriptors;
mod errand;
mod established;
mod fault;
mod gateway;
mod handshake;
mod headers;
mod key_usage;
mod lingering;
mod listener;
mod log;
mod media;
mod memory;
mod metrics;
mod peer_said;
mod proxy;
mod refusing;
mod route;
mod run;
mod secured;
mod settled;
mod shares;
mod side;
mod sockets;
mod start;
mod steps;
mod stores;
mod tls;
mod trace_context;
mod traces;
mod unsecured;
mod warm_up;
mod workers;
mod wsdl;

pub use backend::{NotABackend, backend_url};
pub use config::{Config, GatewayLimits, LogConfig, LogFormat, Shares, Timeouts, share_a_port};
pub use dated::ValidityWarning;
pub use gateway::{Running, StartError};
pub use log::{
    OneLine, flush as flush_log, install as install_log, install_into as install_log_into,
};
pub use run::run;
pub use shares::Rate;
pub use soapstone_store::StoreProblem;
pub use start::Gateway;
