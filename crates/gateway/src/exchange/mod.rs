//! One exchange: a request of a client, and its answer.
//!
//! The rule kept here: on a route with an endpoint the backend gets what the endpoint let through.

pub(crate) mod conversing;
pub(crate) mod peer_said;
pub(crate) mod proxy;
pub(crate) mod refusing;
pub(crate) mod secured;
pub(crate) mod steps;
