//! Conversations that the gateway begins with a backend: their security contexts, and the
//! handshakes that establish, renew and cancel these.
//!
//! The rule kept here: whoever needs a context either gets a usable one or learns why there is
//! none.

pub(crate) mod context;
pub(crate) mod handshake;
