//! Configuration files: TOML read with places, so that every problem is reported at once and says where.
//!
//! A file is parsed into a [`Document`]; its tables are read key by key through [`Table`], which notes what is
//! wrong and goes on. [`Document::finish`] then hands out either the complete result or all the problems.
//! [`EndpointConfig`] is the endpoint file (and the tables under a gateway's routes) in that form: checked for
//! shape, every file it names loaded, not yet compiled into plans.
//!
//! The rule kept here: a key that nobody asked for is a problem, so a misspelt setting is never silently ignored.

mod confidential;
mod document;
mod endpoint;
mod identity;
mod problem;
mod security;
mod server_address;
mod store;
mod table;
mod tree;
mod tuning;
mod values;

pub use confidential::Confidential;
pub use document::{Document, Environment, FileState, LoadedFile, Surroundings, read_beside};
pub use endpoint::{
    EndpointConfig, LimitsConfig, PeerConfig, SharedKeyConfig, TrustConfig, UserConfig,
};
pub use identity::{IdentityConfig, IdentitySource};
pub use problem::{Located, Place, Problem, Problems};
pub use security::{
    AlgorithmsConfig, ConversationStoreConfig, ConversationsConfig, ReplayConfig,
    ReplayStoreConfig, SecurityConfig, SecuritySource, TimestampConfig, WeakUse,
};
pub use server_address::ServerAddress;
pub use store::{StoreConfig, StoreLogin, StoreServers, StoreTlsConfig, WhenUnavailable};
pub use table::{FlagOrTable, Table};
pub use values::{parse_duration, parse_size};
