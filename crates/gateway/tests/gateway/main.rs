//! The gateway over real sockets: what clients and backends see of it.

mod admin;
mod agreements;
mod brief;
mod certificates;
mod configuration;
mod contexts;
mod conversations;
mod demands;
mod description;
mod heads;
mod keys;
mod lifecycle;
mod limits;
mod operations;
mod pass_through;
mod policies;
mod published;
mod reflections;
mod secured;
mod support;
mod tls;
mod tls_conversations;
mod tuned;
mod warnings;
