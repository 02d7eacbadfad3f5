//! The lab: what each security mechanism costs.
//!
//! An experiment runs cases and hands out one [`Measurement`](measurement::Measurement) for each;
//! whoever runs it prints or keeps them. The rule kept here: no figure without its number of
//! repetitions and its spread.
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::too_many_lines))]

pub mod advise;
pub mod compare;
pub mod conversations;
pub mod engine;
pub mod growth;
pub mod loopback;
pub mod measurement;
pub mod papers;
mod parts;
mod payload;
mod peers;
pub mod report;
mod segments;
pub mod statistics;
pub mod studies;
pub mod study;
mod tls;
mod tokens;

pub use payload::Payload;
