//! What a deployment remembers between messages: replay marks, security contexts, and how many
//! requests it let in.
//!
//! [`MemoryReplay`] and [`MemoryContexts`] are for a process that serves many messages,
//! [`FileReplay`] for calls of the command line that share what they have seen, [`RedisReplay`] and
//! [`RedisContexts`] for nodes that serve the same clients. [`Stores`] opens whichever an
//! endpoint's configuration asks for, and lets endpoints share connections.
//!
//! The rule kept here: when in doubt, refuse. A store that is full, damaged or out of reach admits
//! nothing, unless the configuration says for replay marks that a node may decide alone.
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::too_many_lines))]

mod breaker;
mod buckets;
mod canary;
mod cancellers;
mod certificates;
mod contexts;
mod conversations;
mod doubt;
mod error;
#[cfg(test)]
mod excursions;
mod file;
pub mod held_key;
mod ledger;
mod marks;
mod memory;
mod memory_contexts;
mod moments;
mod problem;
mod remote;
mod replay;
mod room;
mod sealed_owner;
mod sealing;
pub mod server_trust;
mod shares;
mod stores;
mod tallies;
pub mod tls_revocation;
mod windows;

pub use breaker::Breaker;
pub use buckets::RedisBuckets;
pub use contexts::RedisContexts;
pub use conversations::Contexts;
pub use error::StoreError;
pub use file::FileReplay;
pub use marks::RedisReplay;
pub use memory::{MemoryReplay, ProcessMemory};
pub use memory_contexts::MemoryContexts;
pub use problem::StoreProblem;
pub use replay::Replay;
pub use stores::{DEFAULT_CAPACITY, DEFAULT_CONVERSATIONS, DEFAULT_SHARE, Stores};
pub use windows::{Added, RedisWindows, Turn, WindowCounts, WindowEnd, WindowName};
