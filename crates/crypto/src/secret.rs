//! A box for secrets.
//!
//! What lies in a [`Secret`] is wiped when the box is dropped, is not shown by `Debug`, and cannot
//! be compared with `==`. Taking it out is spelled [`expose`](Secret::expose), so that every place
//! that does so can be found.
//!
//! ```
//! let one = soapstone_crypto::SecretBytes::new(vec![1]);
//! let two = one.duplicate(); // a copy is made where it can be seen
//! assert!(one.expose() == two.expose());
//! assert_eq!(format!("{one:?}"), "Secret");
//! ```
//!
//! It has no `==`, which would take time that depends on the secret:
//!
//! ```compile_fail,E0369
//! let one = soapstone_crypto::SecretBytes::new(vec![1]);
//! let two = one.duplicate();
//! assert!(one == two);
//! ```
//!
//! It cannot be printed:
//!
//! ```compile_fail,E0277
//! let one = soapstone_crypto::SecretBytes::new(vec![1]);
//! format!("{one}");
//! ```
//!
//! It cannot be written as hexadecimal digits, either:
//!
//! ```compile_fail,E0277
//! let one = soapstone_crypto::SecretBytes::new(vec![1]);
//! format!("{one:x}");
//! ```
//!
//! It has no `clone`:
//!
//! ```compile_fail,E0599
//! let one = soapstone_crypto::SecretBytes::new(vec![1]);
//! let two = one.clone();
//! ```
//!
//! Its value cannot be reached by its field, or taken out of the box that wipes it:
//!
//! ```compile_fail,E0616
//! let one = soapstone_crypto::SecretBytes::new(vec![1]);
//! let value = one.0;
//! ```

use std::fmt;

use zeroize::Zeroize;

/// A value that is wiped from memory when it is dropped.
pub struct Secret<T: Zeroize>(T);

/// Secret bytes: key material, passwords, decrypted keys.
pub type SecretBytes = Secret<Vec<u8>>;

impl<T: Zeroize> Secret<T> {
    /// Puts a value in the box.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// The value itself. The name is there to be searched for.
    pub fn expose(&self) -> &T {
        &self.0
    }

    /// The value itself, to be filled or changed in place.
    pub fn expose_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Zeroize + Clone> Secret<T> {
    /// A second box with the same secret.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        Self(self.0.clone())
    }
}

impl SecretBytes {
    /// A box with a copy of these bytes.
    #[must_use]
    pub fn copy_of(octets: &[u8]) -> Self {
        Self(octets.to_vec())
    }

    /// A box with that many random bytes.
    #[must_use]
    pub fn random(length: usize) -> Self {
        let mut octets = vec![0; length];
        crate::random::fill(&mut octets);
        Self(octets)
    }

    /// Number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no byte at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Zeroize> Drop for Secret<T> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl<T: Zeroize> fmt::Debug for Secret<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_print_what_it_holds() {
        assert_eq!(
            format!("{:?}", SecretBytes::copy_of(b"open sesame")),
            "Secret"
        );
    }
}
