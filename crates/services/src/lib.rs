//! The sample services of Soapstone: Echo, EchoStringArray, Sum, EmployeeDetails, Books and
//! Temperature.
//!
//! Plain SOAP 1.1 and 1.2 over HTTP, contract first (WSDL 1.1 and XML Schema in the folder
//! `contract`), without any security: they are what a gateway stands before, what the demo calls
//! and what the lab measures. [`Services::start`] runs them in the background, [`serve`] until a
//! future is done; [`requests`] and [`responses`] make their messages without a server.
//!
//! The one rule of this crate: an answer depends on the request alone. The same request gets the
//! same bytes from memory and from every database, today and in ten years, because studies compare
//! them. Only the temperature is what a [`Device`] says, and one that is told nothing else always
//! says the same.

#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::too_many_lines))]

mod answer;
mod catalogue;
mod config;
pub mod contract;
mod database;
mod database_server;
mod employees;
mod fault;
pub mod json;
mod message;
mod refusal;
pub mod requests;
pub mod responses;
mod sensor;
mod server;
mod service;
mod soap;
mod start_error;
mod words;

pub use catalogue::{AUTHORS, BOOKS, Book, Catalogue, PUBLISHERS};
pub use config::Config;
pub use database::{Counts, DatabaseError, DatabaseLocation};
pub use database_server::{DatabaseServer, NoServer};
pub use employees::{EMPLOYEES, Employee, employees, greeting};
pub use sensor::{Controller, ControllerLocation, Device, Patience};
pub use server::{Running, Services, serve};
pub use service::Service;
pub use soap::SoapVersion;
pub use start_error::StartError;
