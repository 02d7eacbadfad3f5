//! The registry of services: the gateway registers in it, reports to it, and reads providers from
//! it.
//!
//! The rule kept here: no request waits for the registry, and nothing of a registry that hangs
//! holds anything up.

mod calls;
mod client;
mod discovery;
mod figures;
mod host;
mod known;
mod registrar;

pub(super) use calls::{log_calls, log_last_calls};
pub(crate) use client::RegistryClient;
pub(super) use discovery::discover;
pub(crate) use known::Discovered;
pub(super) use registrar::{register, withdraw};
