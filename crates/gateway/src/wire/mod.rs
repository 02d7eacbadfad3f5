//! Messages as HTTP carries them: heads, media types, bodies and their memory, faults, and the
//! connections to backends.
//!
//! The rule kept here: nothing knows of routes, endpoints or keys.

pub(crate) mod answer_head;
pub(crate) mod authorities;
pub(crate) mod backend;
pub(crate) mod body;
pub(crate) mod budget;
pub(crate) mod buffers;
pub(crate) mod dns;
pub(crate) mod errand;
pub(crate) mod fault;
pub(crate) mod fetch;
pub(crate) mod headers;
pub(crate) mod media;
pub(crate) mod memory;
pub(crate) mod packaged;
pub(crate) mod reply;
pub(crate) mod text;
pub(crate) mod unsecured;
