//! The `soapstone` command.
#![forbid(unsafe_code)]
fn main() {}
