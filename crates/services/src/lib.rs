//! The sample services of Soapstone: Echo, EchoStringArray, Sum, EmployeeDetails and Books.
//!
//! Plain SOAP 1.1 and 1.2 over HTTP, contract first (WSDL 1.1 and XML Schema in the folder `contract`), without any security:
//! they are what a gateway stands before, what the demo calls and what the lab measures.

#![forbid(unsafe_code)]

mod catalogue;
mod employees;
mod words;

pub use catalogue::{AUTHORS, BOOKS, Book, Catalogue, PUBLISHERS};
pub use employees::{EMPLOYEES, Employee, employees};
