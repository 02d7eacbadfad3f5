//! Shared keys: bytes that both sides know.

use std::fmt;
use std::sync::{Arc, Weak};

use subtle::ConstantTimeEq;

use crate::derived_keys::DerivedKeys;
use crate::error::CryptoError;
use crate::expanded_key::Schedules;
use crate::secret::SecretBytes;

use super::usage::{CipherUsage, UsageCounter};

/// A key that sender and receiver share. Never empty; wiped with its last clone, and with it what
/// ciphers have made of it, and the keys derived from it that are kept.
#[derive(Clone)]
pub struct SymmetricKey(Arc<Inner>);

struct Inner {
    octets: SecretBytes,
    schedules: Schedules,
    derived: DerivedKeys,
    usage: UsageCounter,
}

/// A key as long as somebody else has it.
#[derive(Clone)]
pub struct WeakSymmetricKey(Weak<Inner>);

impl WeakSymmetricKey {
    /// The key, if it is still there.
    #[must_use]
    pub fn upgrade(&self) -> Option<SymmetricKey> {
        self.0.upgrade().map(SymmetricKey)
    }
}

impl SymmetricKey {
    /// A key of these bytes.
    ///
    /// # Errors
    ///
    /// [`CryptoError::EmptyKey`] if there are none: an HMAC under an empty key proves nothing.
    pub fn new(octets: Vec<u8>) -> Result<Self, CryptoError> {
        Self::from_secret(SecretBytes::new(octets))
    }

    /// A key of the bytes in the box.
    ///
    /// # Errors
    ///
    /// [`CryptoError::EmptyKey`] if there are none.
    pub fn from_secret(octets: SecretBytes) -> Result<Self, CryptoError> {
        if octets.is_empty() {
            return Err(CryptoError::EmptyKey);
        }
        Ok(Self(Arc::new(Inner {
            octets,
            schedules: Schedules::default(),
            derived: DerivedKeys::default(),
            usage: UsageCounter::default(),
        })))
    }

    /// A fresh random key of that many bytes.
    ///
    /// # Errors
    ///
    /// [`CryptoError::EmptyKey`] for 0.
    pub fn generate(length: usize) -> Result<Self, CryptoError> {
        Self::from_secret(SecretBytes::random(length))
    }

    /// The bytes. The name is there to be searched for.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        self.0.octets.expose()
    }

    /// The keys derived from it that are kept. Clones share them.
    #[must_use]
    pub fn derived(&self) -> &DerivedKeys {
        &self.0.derived
    }

    /// How much it has enciphered. Clones count together; another key of the same bytes counts
    /// apart.
    #[must_use]
    pub fn usage(&self) -> CipherUsage {
        self.0.usage.so_far()
    }

    /// Counts what the same bytes have enciphered elsewhere.
    pub fn count_as_used(&self, usage: CipherUsage) {
        self.0.usage.add(usage);
    }

    /// Whether both are of the same bytes. Takes as long wherever they differ.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.expose().ct_eq(other.expose()).into()
    }

    pub(crate) fn usage_counter(&self) -> &UsageCounter {
        &self.0.usage
    }

    /// The key without keeping it.
    #[must_use]
    pub fn downgrade(&self) -> WeakSymmetricKey {
        WeakSymmetricKey(Arc::downgrade(&self.0))
    }

    pub(crate) fn schedules(&self) -> &Schedules {
        &self.0.schedules
    }

    /// Number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.octets.len()
    }

    /// Never: an empty key cannot be made.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    pub(crate) fn require_length(
        &self,
        algorithm: &'static str,
        expected: usize,
    ) -> Result<(), CryptoError> {
        if self.len() == expected {
            return Ok(());
        }
        Err(CryptoError::KeyLength {
            algorithm,
            expected,
            found: self.len(),
        })
    }
}

impl fmt::Debug for SymmetricKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SymmetricKey({} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_key_cannot_be_made() {
        assert_eq!(
            SymmetricKey::new(Vec::new()).map(drop),
            Err(CryptoError::EmptyKey)
        );
        assert_eq!(
            SymmetricKey::generate(0).map(drop),
            Err(CryptoError::EmptyKey)
        );
    }

    #[test]
    fn a_key_prints_its_length_only() {
        let key = SymmetricKey::new(b"secret".to_vec()).unwrap();
        assert_eq!(format!("{key:?}"), "SymmetricKey(6 bytes)");
    }
}
