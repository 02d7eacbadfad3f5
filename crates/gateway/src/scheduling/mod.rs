//! Where and when work on messages is done: on crypto workers, which wait for no store.
//!
//! The rule kept here: the number of messages that are worked on at once is bounded.

pub(crate) mod background;
pub(crate) mod class;
pub(crate) mod endpoint;
pub(crate) mod executor;
pub(crate) mod own_message;
mod queue;
pub(crate) mod session;
pub(crate) mod task;
pub(crate) mod workers;
