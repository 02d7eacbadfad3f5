//! The registry of services as a server.
//!
//! It is a program of its own, so that the program that faces the network has no driver of a
//! database. `soapstone registry` starts it with its own words. [`Config`] is its file, `answer`
//! opens and secures messages, `storage` keeps entries, and `server` has the sockets.
//!
//! The rule kept here: nothing is written that no certificate signed, and nothing is in force that
//! the storage has not kept.
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::too_many_lines))]

mod answer;
mod at_start;
mod calls;
mod calls_command;
pub mod command;
mod config;
mod description;
mod envelope;
mod find_command;
mod ganglia;
mod location;
mod peers;
mod reload;
mod server;
mod shared;
mod stalling;
mod storage;
mod tls;

pub use config::{Config, GangliaConfig};
pub use location::Location;
pub use server::{Running, StartError, start};
pub use storage::StorageError;
