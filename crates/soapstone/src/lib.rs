//! WS-Security for Rust: what an application depends on.
//!
//! An [`Endpoint`](endpoint::Endpoint) secures and opens messages as its file says; the layers
//! below are re-exported for those who build policies themselves.
//!
//! The rule kept here: everything that an application needs is reachable from this crate.
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::too_many_lines, clippy::large_futures)
)]

pub mod attempts;
pub mod cancellations;
pub mod clock;
pub mod config;
pub mod conversation;
pub mod endpoint;
pub mod replay;

pub use attempts::{Attempts, KeyName, Outcome, Tally};
pub use endpoint::{
    Arrived, Call, Client, Handshake, HandshakeError, Handshakes, Memory, OpenedMessage, Opener,
    PassedMessage, ReceiveError, Securer, Service, Step, StepObserver,
};
pub use replay::{ForgetfulReplayCache, ReplayCache, ReplayError};

pub use soapstone_crypto as crypto;
pub use soapstone_mime as mime;
pub use soapstone_policy as policy;
pub use soapstone_trust as trust;
pub use soapstone_wss as wss;
pub use soapstone_xml as xml;
pub use soapstone_xmlsec as xmlsec;

/// The examples of the guides, so that they are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct Guide;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/tuning.md")]
struct Tuning;
