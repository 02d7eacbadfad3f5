//! OpenSSL's contexts for key operations, ready for use.
//!
//! Making a context, initializing it and setting its parameters costs 5 to 15 µs, much of it
//! provider look-ups. A key keeps the contexts that have been used, a few for each purpose, so that
//! an operation costs little more than its arithmetic.

use std::sync::{Mutex, MutexGuard, PoisonError};

use openssl::pkey_ctx::PkeyCtx;

use crate::algorithms::{DigestAlgorithm, KeyTransport, SignatureAlgorithm};

/// Most contexts kept per key: more threads than this use one key at once only on big machines, and
/// then make some anew.
const MOST: usize = 16;

/// What a context has been prepared for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Signature(SignatureAlgorithm),
    Transport {
        algorithm: KeyTransport,
        digest: DigestAlgorithm,
        mgf: DigestAlgorithm,
    },
    DecryptionWithoutPadding,
}

/// The contexts of one key that nobody is using.
pub(crate) struct ContextPool<T>(Mutex<Vec<(Purpose, PkeyCtx<T>)>>);

impl<T> ContextPool<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    fn ready(&self) -> MutexGuard<'_, Vec<(Purpose, PkeyCtx<T>)>> {
        // A context is in the list or with one caller, so a panic elsewhere cannot leave one half
        // used in it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs an operation in a context for this purpose, one that is ready or one that `prepare`
    /// makes. A context whose operation failed is not used again.
    pub(crate) fn run<R, E>(
        &self,
        purpose: Purpose,
        prepare: impl FnOnce() -> Result<PkeyCtx<T>, E>,
        operation: impl FnOnce(&mut PkeyCtx<T>) -> Result<R, E>,
    ) -> Result<R, E> {
        let found = {
            let mut ready = self.ready();
            let position = ready.iter().position(|(its, _)| *its == purpose);
            position.map(|position| ready.swap_remove(position).1)
        };
        let mut context = match found {
            Some(context) => context,
            None => prepare()?,
        };
        let result = operation(&mut context)?;
        let mut ready = self.ready();
        if ready.len() < MOST {
            ready.push((purpose, context));
        }
        Ok(result)
    }
}
