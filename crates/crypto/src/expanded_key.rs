//! What an algorithm makes of a key before its first use, kept with the key.
//!
//! For a short message that is as much work as the message itself. Keys are mostly used with one
//! algorithm; what another one needs is made each time. The rule: what is kept is wiped with the
//! key.

use std::sync::OnceLock;

use aws_lc_rs::aead::LessSafeKey;
use aws_lc_rs::cipher::{DecryptingKey, EncryptingKey};
use aws_lc_rs::hmac;

use crate::algorithms::{DataEncryption, DigestAlgorithm};
use crate::error::CryptoError;

/// What one algorithm made of the key, once it was used with one.
pub(crate) struct Schedule<A, T>(OnceLock<Box<(A, T)>>);

impl<A, T> Default for Schedule<A, T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<A: PartialEq, T> Schedule<A, T> {
    /// Runs `operation` with what is kept for `algorithm`, or with what `make` makes of the key.
    pub(crate) fn with<R>(
        &self,
        algorithm: A,
        make: impl FnOnce() -> Result<T, CryptoError>,
        operation: impl FnOnce(&T) -> Result<R, CryptoError>,
    ) -> Result<R, CryptoError> {
        match self.0.get() {
            Some(kept) if kept.0 == algorithm => return operation(&kept.1),
            Some(_) => return operation(&make()?),
            None => {}
        }
        let made = Box::new((algorithm, make()?));
        let result = operation(&made.1);
        // Another thread may have been faster; one of both is enough.
        let _ = self.0.set(made);
        result
    }
}

/// What ciphers make of a key before its first use.
#[derive(Default)]
pub(crate) struct Schedules {
    pub(crate) gcm: Schedule<DataEncryption, LessSafeKey>,
    pub(crate) encrypting: Schedule<DataEncryption, EncryptingKey>,
    pub(crate) decrypting: Schedule<DataEncryption, DecryptingKey>,
    pub(crate) mac: Schedule<DigestAlgorithm, hmac::Key>,
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn what_the_first_algorithm_made_is_kept_and_no_other() {
        let schedule = Schedule::<u8, u32>::default();
        let count = Cell::new(0);
        let with = |algorithm: u8| {
            let make = || {
                count.set(count.get() + 1);
                Ok(u32::from(algorithm) * 10)
            };
            (
                schedule.with(algorithm, make, |made| Ok(*made)),
                count.get(),
            )
        };
        assert_eq!(with(1), (Ok(10), 1));
        assert_eq!(with(1), (Ok(10), 1));
        assert_eq!(with(2), (Ok(20), 2));
        assert_eq!(with(2), (Ok(20), 3));
        assert_eq!(with(1), (Ok(10), 3));
    }
}
