//! Keys derived from the passwords of users (UsernameToken Profile 1.1.1, 4).
//!
//! The one rule: the number of iterations alone decides how long a derivation takes. Who asks for
//! one bounds it.

use aws_lc_rs::digest as aws;

use crate::error::CryptoError;
use crate::key::SymmetricKey;
use crate::secret::SecretBytes;

/// The derivation of a key from a password.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PasswordKey {
    /// `wsse11:Salt`.
    pub salt: [u8; Self::SALT_LENGTH],
    /// `wsse11:Iteration`: how often SHA-1 is applied. Zero counts as one.
    pub iterations: u32,
}

impl PasswordKey {
    /// Bytes of a salt.
    pub const SALT_LENGTH: usize = 16;

    /// Bytes of a derived key: a SHA-1.
    pub const LENGTH: usize = 20;

    /// Derives the key: the SHA-1 of password and salt, digested again and again.
    ///
    /// # Errors
    ///
    /// None is known: the key has the length that a key may have.
    pub fn derive(&self, password: &SecretBytes) -> Result<SymmetricKey, CryptoError> {
        let mut context = aws::Context::new(&aws::SHA1_FOR_LEGACY_USE_ONLY);
        context.update(password.expose());
        context.update(&self.salt);
        let mut key = SecretBytes::copy_of(context.finish().as_ref());
        for _ in 1..self.iterations {
            let next = aws::digest(&aws::SHA1_FOR_LEGACY_USE_ONLY, key.expose());
            key.expose_mut().copy_from_slice(next.as_ref());
        }
        SymmetricKey::from_secret(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::digest;
    use crate::{DigestAlgorithm, hexadecimal};

    fn derived(iterations: u32) -> String {
        let salt = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
        let password = SecretBytes::copy_of(b"password");
        let key = PasswordKey { salt, iterations }.derive(&password).unwrap();
        hexadecimal::encode(key.expose())
    }

    #[test]
    fn the_first_iteration_digests_password_and_salt_and_the_others_what_was_before() {
        let sha1 = |octets: &[u8]| digest(DigestAlgorithm::Sha1, octets).unwrap();
        let mut expected =
            sha1(b"password\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10");
        for iterations in 1..4 {
            assert_eq!(derived(iterations), hexadecimal::encode(expected.as_ref()));
            expected = sha1(expected.as_ref());
        }
    }
}
