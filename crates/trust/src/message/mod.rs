//! The messages of WS-Trust: read from elements, written as bytes.
//!
//! [`RequestSecurityToken`] and [`RequestSecurityTokenResponse`] are what a Body holds, alone or in
//! a collection ([`Requests`], [`Responses`]). Parts that both have are in files of their own. The
//! order of their elements says nothing (the schema is open), but none may occur twice: two readers
//! could take different ones.
//!
//! The one rule: reading judges shape and size only. What a message asks for, or claims, is judged
//! by the service and by the client.

mod claims;
mod endpoint;
mod entropy;
mod lifetime;
mod read;
mod reference;
mod request;
mod response;
mod use_key;
mod write;

pub use claims::{RequestedClaim, RequestedClaims};
pub use endpoint::AppliesTo;
pub use entropy::Entropy;
pub use lifetime::Lifetime;
pub use read::MessageError;
pub use reference::{ContextReference, Foreign, SecurityToken};
pub use request::{Participants, RequestSecurityToken, Requests};
pub use response::{ProofToken, RequestSecurityTokenResponse, Responses, TokenStatus};

pub(crate) use endpoint::endpoint_address;
pub(crate) use lifetime::{between, later};
pub(crate) use read::{expanded_name, only_child, set, uri};
pub(crate) use write::Writer;
