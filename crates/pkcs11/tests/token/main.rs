//! Private keys in tokens of SoftHSM, and behind `p11-kit server`, which can be stopped.
//!
//! A module reads its settings from the environment of the process. So each test runs itself again
//! as a process of its own (`support.rs`). Where the programs are not installed the tests say so
//! and pass, but not in continuous integration.

mod losses;
mod modules;
mod operations;
mod refusals;
mod support;
