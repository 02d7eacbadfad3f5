//! A gateway as a process: sockets, connections, what runs between start and end, and what is told
//! of its health.
//!
//! The rule kept here: whatever was begun here has an end, and nothing of an exchange is decided.

pub(crate) mod activity;
pub(crate) mod admin;
pub(crate) mod cold;
pub(crate) mod descriptors;
pub(crate) mod gateway;
pub(crate) mod key_usage;
pub(crate) mod lingering;
pub(crate) mod listener;
pub(crate) mod run;
pub(crate) mod settled;
pub(crate) mod sockets;
pub(crate) mod start;
pub(crate) mod stores;
pub(crate) mod tls;
pub(crate) mod warm_up;
