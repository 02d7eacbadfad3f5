//! The sample services over real HTTP, with real databases.

mod calls;
mod databases;
mod faults;
mod serving;
mod support;
mod temperature;
