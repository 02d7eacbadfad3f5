//! Messages as HTTP carries them: heads, media types, bodies and their memory, and faults.
//!
//! The rule kept here: nothing knows of routes, endpoints or keys.

pub(crate) mod answer_head;
pub(crate) mod body;
pub(crate) mod buffers;
pub(crate) mod fault;
pub(crate) mod headers;
pub(crate) mod media;
pub(crate) mod memory;
pub(crate) mod reply;
pub(crate) mod text;
pub(crate) mod unsecured;
