//! The registry of services: the gateway registers in it, reports to it, and reads providers from
//! it. DNS is another way to find providers.
//!
//! The rule kept here: no request waits for the registry or for DNS, and nothing of what hangs
//! holds anything up.

mod calls;
mod claims;
mod client;
mod described;
mod discovery;
mod dns;
mod figures;
mod host;
mod known;
mod lookup;
mod owners;
mod registrar;
#[cfg(test)]
mod testing;
mod weakness;

pub(super) use calls::{log_calls, log_last_calls};
pub(crate) use client::RegistryClient;
pub(super) use described::compare;
pub(super) use discovery::discover;
pub(super) use dns::discover_by_names;
pub(super) use figures::operation as of_operation;
pub(crate) use known::Discovered;
pub(super) use registrar::{register, withdraw};
