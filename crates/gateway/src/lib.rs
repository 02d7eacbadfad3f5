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
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::too_many_lines, clippy::large_futures)
)]

mod config;
mod conversation;
mod description;
mod exchange;
mod issued;
mod observe;
mod route;
mod scheduling;
mod server;
mod shares;
mod wire;

pub use config::Config;
pub use config::address::read_address;
pub use config::admin::{AdminAccess, read_access};
pub use config::considered::{Considered, ConsideredBackend};
pub use config::limits::{GatewayLimits, Shares};
pub use config::log::{LogConfig, LogFormat, read_log};
pub use config::party::{NAME_THE_ISSUER, read_name};
pub use config::read::share_a_port;
pub use config::timeouts::Timeouts;
pub use config::tls::{ServerTls, read_server as read_tls};
pub use config::url::{NotABackend, backend_url};
pub use config::validity::ValidityWarning;
pub use exchange::refusal_moment::refusal_moment;
pub use observe::log::{
    OneLine, flush as flush_log, install as install_log, install_into as install_log_into,
};
pub use observe::violations::{BrokenRecord, Head, RecordError, VerifiedRecord, verify_records};
pub use server::explaining::RefusedMessage;
pub use server::run::run;
pub use server::running::Running;
pub use server::start::Gateway;
pub use server::start_error::StartError;
pub use server::tls::Handshakes;
pub use server::watched_files::{WatchedFiles, tell_problems};
pub use soapstone_broker as broker;
pub use soapstone_broker::Rate;
pub use soapstone_store::{StoreError, StoreProblem};
pub use wire::fault::refusal as refusal_fault;
pub use wire::fetch::{SoapAnswer, Unfetched, fetch_document, post_soap};
