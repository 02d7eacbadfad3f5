//! Agreement on a secret between two key pairs (XML-Enc 1.1 section 5.6): ECDH, X25519 and X448.
//!
//! The secret is never used as a key itself: it goes through one of the functions of [`derive`](crate::derive).

use openssl::derive::Deriver;

use crate::algorithms::KeyAgreement;
use crate::error::{CryptoError, OrLibrary};
use crate::key::{KeyKind, PrivateKey, PublicKey};
use crate::secret::SecretBytes;

impl KeyAgreement {
    /// Whether this algorithm can be used with a key of this kind.
    #[must_use]
    pub const fn fits(self, kind: KeyKind) -> bool {
        matches!(
            (self, kind),
            (Self::EcdhEs, KeyKind::Ec(_))
                | (Self::X25519, KeyKind::X25519)
                | (Self::X448, KeyKind::X448)
        )
    }
}

impl PrivateKey {
    /// The secret shared with the holder of the other key: for ECDH the x coordinate, as long as the curve's field.
    ///
    /// The public key has been found on its curve when it was read; a secret of zeros (X25519 and X448 with a point of low order)
    /// is refused.
    ///
    /// # Errors
    ///
    /// [`CryptoError::WrongKey`] if either key does not fit the algorithm or their kinds differ; [`CryptoError::Library`] if
    /// there is no secret.
    pub fn agree(
        &self,
        algorithm: KeyAgreement,
        other: &PublicKey,
    ) -> Result<SecretBytes, CryptoError> {
        let operation = algorithm.short_name();
        let failed = "agreeing on a secret";
        if !algorithm.fits(self.kind()) {
            return Err(CryptoError::WrongKey {
                operation,
                key: self.kind(),
            });
        }
        if other.kind() != self.kind() {
            return Err(CryptoError::WrongKey {
                operation,
                key: other.kind(),
            });
        }
        let mut deriver = Deriver::new(self.openssl()).or_library(failed)?;
        deriver.set_peer(other.openssl()?).or_library(failed)?;
        deriver
            .derive_to_vec()
            .map(SecretBytes::new)
            .or_library(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Curve;
    use crate::testing::hex;

    #[test]
    fn both_sides_agree_on_the_same_secret() {
        for (algorithm, kind, length) in [
            (KeyAgreement::EcdhEs, KeyKind::Ec(Curve::P256), 32),
            (KeyAgreement::EcdhEs, KeyKind::Ec(Curve::P384), 48),
            (KeyAgreement::EcdhEs, KeyKind::Ec(Curve::P521), 66),
            (KeyAgreement::EcdhEs, KeyKind::Ec(Curve::Brainpool256), 32),
            (KeyAgreement::X25519, KeyKind::X25519, 32),
            (KeyAgreement::X448, KeyKind::X448, 56),
        ] {
            let (one, two) = (
                PrivateKey::generate(kind).unwrap(),
                PrivateKey::generate(kind).unwrap(),
            );
            let secret = one.agree(algorithm, two.public_key()).unwrap();
            assert_eq!(
                secret.expose(),
                two.agree(algorithm, one.public_key()).unwrap().expose()
            );
            assert_eq!(secret.len(), length, "{kind}");
        }
    }

    /// RFC 7748 section 6.1.
    #[test]
    fn the_example_of_rfc_7748_holds() {
        // PKCS#8 around the 32 octets (RFC 8410 section 7).
        let own = hex(
            "302e020100300506032b656e0422042077076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
        );
        let private = PrivateKey::from_der(&own).unwrap();
        let other = PublicKey::x25519(&hex(
            "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f",
        ))
        .unwrap();
        assert_eq!(
            private
                .agree(KeyAgreement::X25519, &other)
                .unwrap()
                .expose(),
            &hex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")
        );
    }

    #[test]
    fn a_point_of_low_order_gives_no_secret() {
        let private = PrivateKey::generate(KeyKind::X25519).unwrap();
        let zero = PublicKey::x25519(&[0; 32]).unwrap();
        assert_eq!(
            private.agree(KeyAgreement::X25519, &zero).map(drop),
            Err(CryptoError::Library {
                operation: "agreeing on a secret"
            })
        );
    }

    #[test]
    fn keys_of_different_kinds_do_not_agree() {
        let one = PrivateKey::generate(KeyKind::Ec(Curve::P256)).unwrap();
        let two = PrivateKey::generate(KeyKind::Ec(Curve::P384)).unwrap();
        assert_eq!(
            one.agree(KeyAgreement::EcdhEs, two.public_key()).map(drop),
            Err(CryptoError::WrongKey {
                operation: "ecdh-es",
                key: KeyKind::Ec(Curve::P384)
            })
        );
        assert_eq!(
            one.agree(KeyAgreement::X25519, one.public_key()).map(drop),
            Err(CryptoError::WrongKey {
                operation: "x25519",
                key: KeyKind::Ec(Curve::P256)
            })
        );
    }
}
