//! Private keys in tokens: security modules, smart cards and software tokens, through PKCS#11.
//!
//! [`open`] gives a [`PrivateKey`] whose operations run in the token. All that an application sees
//! is the key:
//!
//! ```text
//! PrivateKey ─ ExternalKey ─▶ Holder ─ job ─▶ worker thread ─ session ─▶ module (.so) ─▶ token
//!                                    ◀─ answer, or the deadline ─
//! ```
//!
//! * A caller waits for a worker up to [`KeyLocation::timeout`], whatever the module does.
//! * A session that is lost is opened anew by the next operation, and a module that lost its token
//!   is started anew. A token that comes back needs no restart of the application.
//! * A refused PIN is not tried again in the same process: tokens lock themselves after a few.
//!
//! The rule kept here: what a token says of a ciphertext is one refusal, whatever the code. A
//! [problem](Problem) that is told depends on the token, the key and the algorithm alone.
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::too_many_lines))]

mod error;
mod holder;
mod location;
mod mechanism;
mod module;
mod proof;
mod session;
mod worker;

use std::sync::Arc;

use soapstone_crypto::{PrivateKey, PublicKey};

pub use error::{Problem, TokenError};
pub use location::{KeyLocation, KeyName, TokenName};

/// The private key at this place, if it is the one of `public`: the token proves that by one
/// operation.
///
/// # Errors
///
/// [`TokenError`] with the module, the token and the key.
pub fn open(location: KeyLocation, public: &PublicKey) -> Result<PrivateKey, TokenError> {
    let holder = Arc::new(holder::Holder::start(location, public)?);
    proof::prove(&holder, public)?;
    Ok(PrivateKey::external(public.clone(), holder))
}
