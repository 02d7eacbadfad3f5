//! WS-Security for Rust: what an application depends on.
//!
//! The rule kept here: everything that an application needs is reachable from this crate.
#![forbid(unsafe_code)]

pub mod config;
