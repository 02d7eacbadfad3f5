//! Clients with different needs, and providers with different policies: who takes part in the demo
//! of the broker, and in the lab's study of it.
//!
//! The rule kept here: nothing runs yet. The demo and the lab start what they need of it.

mod caller;
pub(crate) mod cast;

pub(crate) use caller::Caller;
