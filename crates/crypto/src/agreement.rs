//! Agreement on a secret between two key pairs (XML-Enc 1.1 section 5.6): ECDH, X25519 and X448.
//!
//! The secret is never used as a key itself: it goes through one of the functions of
//! [`derive`](crate::derive). Both libraries compute it in constant time, and both refuse points
//! that are not on the curve; one key pair may agree with any number of others.

use aws_lc_rs::agreement as aws;
use openssl::derive::Deriver;

use crate::algorithms::KeyAgreement;
use crate::aws_algorithms::aws_agreement;
use crate::error::{CryptoError, OrLibrary};
use crate::key::{KeyBackend, KeyKind, PrivateKey, PublicKey};
use crate::secret::SecretBytes;

/// What is told of an agreement that fails.
const FAILED: &str = "agreeing on a secret";

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

    fn require_fit(self, kind: KeyKind) -> Result<(), CryptoError> {
        if self.fits(kind) {
            return Ok(());
        }
        Err(CryptoError::WrongKey {
            operation: self.short_name(),
            key: kind,
        })
    }
}

/// A secret for one message: shared by a key pair that was made for it, and the recipient's.
#[derive(Debug)]
pub struct EphemeralAgreement {
    /// The public half of the pair that was made, for `xenc:OriginatorKeyInfo`. The private half
    /// is gone.
    pub originator: PublicKey,
    /// The secret.
    pub secret: SecretBytes,
}

impl PublicKey {
    /// Makes a key pair for one message, agrees with the holder of this key, and forgets the
    /// private half (ephemeral-static Diffie-Hellman, XML-Enc 1.1 section 5.6.4).
    ///
    /// # Errors
    ///
    /// [`CryptoError::WrongKey`] if this key does not fit the algorithm; [`CryptoError::Library`]
    /// if there is no secret, as with a point of low order.
    pub fn agree_ephemeral(
        &self,
        algorithm: KeyAgreement,
    ) -> Result<EphemeralAgreement, CryptoError> {
        loop {
            let made = self.agree_once(algorithm)?;
            if !made.is_taken_for_dsa() {
                return Ok(made);
            }
        }
    }

    fn agree_once(&self, algorithm: KeyAgreement) -> Result<EphemeralAgreement, CryptoError> {
        let kind = self.kind();
        algorithm.require_fit(kind)?;
        let Some(known) = aws_agreement(kind) else {
            let private = PrivateKey::generate(kind)?;
            return Ok(EphemeralAgreement {
                secret: private.agree(algorithm, self)?,
                originator: private.public_key().clone(),
            });
        };
        let private = aws::PrivateKey::generate(known).or_library(FAILED)?;
        let public = private.compute_public_key().or_library(FAILED)?;
        Ok(EphemeralAgreement {
            secret: agree(&private, known, self)?,
            originator: Self::generated(kind, public.as_ref())?,
        })
    }
}

impl EphemeralAgreement {
    /// Whether the originator's bytes could begin a DER `INTEGER`, as a DSA key does: Santuario
    /// tries one kind of key after the other, and Java's reader of DSA keys takes whatever
    /// begins so, of any algorithm. One in some 2,000 messages to WSS4J could not be opened.
    fn is_taken_for_dsa(&self) -> bool {
        /// Bytes of a `SubjectPublicKeyInfo` before those of the key itself (RFC 8410, 4).
        const BEFORE: usize = 12;
        const INTEGER: u8 = 2;
        matches!(self.originator.kind(), KeyKind::X25519 | KeyKind::X448)
            && self.originator.spki_der().get(BEFORE) == Some(&INTEGER)
    }
}

impl PrivateKey {
    /// The secret shared with the holder of the other key: for ECDH the x coordinate, as long as
    /// the curve's field.
    ///
    /// The public key has been found on its curve when it was read; a secret of zeros (X25519 and
    /// X448 with a point of low order) is refused.
    ///
    /// # Errors
    ///
    /// [`CryptoError::WrongKey`] if either key does not fit the algorithm or their kinds differ;
    /// [`CryptoError::Library`] if there is no secret; [`CryptoError::KeyUnavailable`] if a key
    /// held elsewhere cannot be used.
    pub fn agree(
        &self,
        algorithm: KeyAgreement,
        other: &PublicKey,
    ) -> Result<SecretBytes, CryptoError> {
        algorithm.require_fit(self.kind())?;
        if other.kind() != self.kind() {
            return Err(CryptoError::WrongKey {
                operation: algorithm.short_name(),
                key: other.kind(),
            });
        }
        let key = match self.backend() {
            KeyBackend::Software(key) => key,
            KeyBackend::External(key) => {
                return key
                    .agree(other.key_bits())
                    .map_err(|error| error.of(FAILED));
            }
        };
        if let (Some(private), Some(known)) = (key.agreeing(), aws_agreement(self.kind())) {
            return agree(private, known, other);
        }
        let mut deriver = Deriver::new(key.openssl()).or_library(FAILED)?;
        deriver.set_peer(other.openssl()?).or_library(FAILED)?;
        deriver
            .derive_to_vec()
            .map(SecretBytes::new)
            .or_library(FAILED)
    }
}

fn agree(
    private: &aws::PrivateKey,
    algorithm: &'static aws::Algorithm,
    other: &PublicKey,
) -> Result<SecretBytes, CryptoError> {
    let failed = CryptoError::Library { operation: FAILED };
    let Some(other) = other.agreeing(algorithm) else {
        return Err(failed);
    };
    aws::agree(private, other.clone(), failed, |secret| {
        Ok(SecretBytes::copy_of(secret))
    })
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
        // PKCS#8 around the 32 bytes (RFC 8410 section 7).
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

    /// The points of order 1, 2, 4 and 8, and their other encodings (RFC 7748 section 6.1; RFC 7748
    /// section 7 on contributory behaviour).
    #[test]
    fn every_point_of_low_order_is_refused_by_either_side() {
        let private = PrivateKey::generate(KeyKind::X25519).unwrap();
        for point in [
            "0000000000000000000000000000000000000000000000000000000000000000",
            "0100000000000000000000000000000000000000000000000000000000000000",
            "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
            "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        ] {
            let low = PublicKey::x25519(&hex(point)).unwrap();
            let refused = CryptoError::Library {
                operation: "agreeing on a secret",
            };
            assert_eq!(
                private.agree(KeyAgreement::X25519, &low).map(drop),
                Err(refused.clone()),
                "{point}"
            );
            let ephemeral = low.agree_ephemeral(KeyAgreement::X25519);
            assert_eq!(ephemeral.map(drop), Err(refused), "{point}");
        }
    }

    #[test]
    fn the_holder_of_the_key_finds_the_secret_of_one_message() {
        for (algorithm, kind) in [
            (KeyAgreement::EcdhEs, KeyKind::Ec(Curve::P256)),
            (KeyAgreement::EcdhEs, KeyKind::Ec(Curve::P384)),
            (KeyAgreement::EcdhEs, KeyKind::Ec(Curve::P521)),
            (KeyAgreement::EcdhEs, KeyKind::Ec(Curve::Brainpool256)),
            (KeyAgreement::X25519, KeyKind::X25519),
            (KeyAgreement::X448, KeyKind::X448),
        ] {
            let private = PrivateKey::generate(kind).unwrap();
            let one = private.public_key().agree_ephemeral(algorithm).unwrap();
            let other = private.public_key().agree_ephemeral(algorithm).unwrap();
            assert_ne!(one.originator, other.originator, "{kind}");
            assert_eq!(
                private.agree(algorithm, &one.originator).unwrap().expose(),
                one.secret.expose(),
                "{kind}"
            );
            // What was made is what would be read.
            PublicKey::from_spki_der(one.originator.spki_der()).unwrap();
        }
    }

    /// Of keys drawn without regard to it, 2,000 would hardly all be others (0.04 %).
    #[test]
    fn no_key_of_one_message_could_be_taken_for_a_dsa_key() {
        for (algorithm, kind, octets) in [
            (KeyAgreement::X25519, KeyKind::X25519, 32),
            (KeyAgreement::X448, KeyKind::X448, 56),
        ] {
            let recipient = PrivateKey::generate(kind).unwrap();
            for _ in 0..2_000 {
                let made = recipient.public_key().agree_ephemeral(algorithm).unwrap();
                let spki = made.originator.spki_der();
                assert_ne!(spki[spki.len() - octets], 2, "{spki:02x?}");
            }
        }
    }

    /// Both libraries compute the same: the keys go through OpenSSL here.
    #[test]
    fn the_secret_is_that_of_openssl() {
        for (algorithm, kind) in [
            (KeyAgreement::EcdhEs, KeyKind::Ec(Curve::P256)),
            (KeyAgreement::EcdhEs, KeyKind::Ec(Curve::P384)),
            (KeyAgreement::EcdhEs, KeyKind::Ec(Curve::P521)),
            (KeyAgreement::X25519, KeyKind::X25519),
        ] {
            let one = PrivateKey::generate(kind).unwrap();
            let two = PrivateKey::generate(kind).unwrap();
            let mut deriver = Deriver::new(one.software().unwrap().openssl()).unwrap();
            deriver
                .set_peer(two.public_key().openssl().unwrap())
                .unwrap();
            assert_eq!(
                one.agree(algorithm, two.public_key()).unwrap().expose(),
                &deriver.derive_to_vec().unwrap(),
                "{kind}"
            );
        }
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
