//! The exchange between client and service, and what must not succeed in it.

mod assertions;
mod client;
mod handshake;
mod interop;
mod proof;
mod service;
mod support;
mod token;
mod vectors;
