//! Questions to DNS: what a gateway needs to find the providers of a service (RFC 1035, RFC 2782).
//!
//! DNS proves nothing of what it says. What is read here is bounded and well formed, and answers
//! the question; whoever asks decides what it is worth.
//!
//! The rule kept here: what is no answer to the question is none, and each question has its end.

mod client;
mod message;
mod name;

pub(crate) use client::{DnsError, ask, servers_of_the_system};
pub(crate) use message::{Data, Kind, Question, Record};
