//! Messages through the whole engine: secured, opened, and attacked on the way.

mod agreements;
mod bindings;
mod combinations;
mod conversations;
mod declarations;
mod dereferences;
mod derivations;
mod endorsements;
mod endorsers;
mod endorsing_contexts;
mod endorsing_conversations;
mod events;
mod headers;
mod mutants;
mod oracles;
mod paths;
mod reflections;
mod refusals;
mod round_trips;
mod saml;
mod support;
mod tls_endorsers;
mod tunings;
mod wrapped_derivations;
