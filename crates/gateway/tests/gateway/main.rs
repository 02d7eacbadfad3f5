//! The gateway over real sockets: what clients and backends see of it.

mod admin;
mod agreements;
mod audited;
mod brief;
mod certificates;
mod closing;
mod configuration;
mod contexts;
mod conversations;
mod description;
mod heads;
mod lifecycle;
mod limits;
mod operations;
mod pass_through;
mod policies;
mod published;
mod reflections;
mod secured;
mod shares;
mod support;
mod tls;
mod tls_conversations;
mod tuned;
