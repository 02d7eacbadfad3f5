//! A gateway as a process: sockets, connections, what runs between start and end, and what is told
//! of its health.
//!
//! The rule kept here: whatever was begun here has an end, and nothing of an exchange is decided.

mod activity;
mod admin;
mod admission;
mod agreements;
mod backends;
mod candidates;
mod checks;
mod cold;
mod console;
mod current;
mod descriptors;
mod dispatch;
pub(crate) mod explaining;
mod janitor;
mod key_usage;
mod lingering;
mod listener;
mod notices;
mod operations;
mod readiness;
mod registry;
mod repoll;
mod revocation;
pub(crate) mod run;
pub(crate) mod running;
mod snapshot;
mod sockets;
pub(crate) mod start;
pub(crate) mod start_error;
mod state;
mod stores;
pub(crate) mod tls;
mod warm_up;
pub(crate) mod watched_files;
mod watchers;
mod weak_algorithms;
