//! The gateway over real sockets: what clients and backends see of it.

mod admin;
mod agreements;
mod answers;
mod brief;
mod certificates;
mod configuration;
mod contexts;
mod conversations;
mod description;
mod heads;
mod key_usage;
mod lifecycle;
mod limits;
mod operations;
mod pass_through;
mod policies;
mod published;
mod reflections;
mod relations;
mod replays;
mod secured;
mod support;
mod tls;
mod tls_conversations;
mod tuned;
