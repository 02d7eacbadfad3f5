//! The registry of services: the gateway registers in it, reports to it, and reads providers from
//! it.
//!
//! The rule kept here: no request waits for the registry, and nothing of a registry that hangs
//! holds anything up.

mod client;
mod discovery;
mod figures;
mod host;
mod registrar;

pub(crate) use client::RegistryClient;
pub(crate) use discovery::Discovered;
pub(super) use discovery::discover;
pub(super) use registrar::{register, withdraw};
