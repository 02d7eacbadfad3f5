//! Conversations that the gateway begins with a backend: their security contexts, and the
//! handshakes that establish, renew and cancel these. Beside them: what a device is asked of its
//! clock.
//!
//! The rule kept here: whoever needs a context either gets a usable one or learns why there is
//! none.

pub(crate) mod context;
pub(crate) mod device_clock;
mod doubts;
pub(crate) mod handshake;
