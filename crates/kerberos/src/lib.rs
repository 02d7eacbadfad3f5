//! Kerberos for messages: the AP-REQ of a client, accepted or made, and the session key of both
//! sides.
//!
//! ```text
//! client   Initiator ─ ticket of the KDC, from a cache or by a keytab ─▶ Initiated { token, key }
//! service  ApRequest::parse ─ rules ─▶ Acceptor ─ keytab ─▶ Accepted { client, key, expires }
//! ```
//!
//! MIT's GSS library does the work. It is loaded at run time: a program that is built once runs on
//! machines without it, and says so where it is needed.
//!
//! * An [`Acceptor`] asks nobody: what it knows is in the keytab.
//! * An [`Initiator`] may have to ask the KDC. A caller waits up to a timeout, whatever the KDC
//!   does.
//!
//! The rule kept here: a token is [read strictly](ApRequest::parse), and its realm, service and
//! encryption types are what the rules name, before the library sees a byte of it.
#![deny(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::too_many_lines))]

mod acceptor;
mod ap_request;
mod der;
mod enctype;
mod error;
// The project's one module with `unsafe` code: it calls a C library, and gives nothing of it away
// but owned values.
#[expect(
    unsafe_code,
    reason = "a C library is called; each use says why it is sound"
)]
mod gss;
mod initiator;
mod principal;

pub use acceptor::{Accepted, Acceptor, AcceptorRules};
pub use ap_request::{ApRequest, Framing, in_framing};
pub use enctype::Enctype;
pub use error::KerberosError;
pub use gss::is_available;
pub use initiator::{ClientCredential, Initiated, Initiator, InitiatorRules};
pub use principal::Principal;
