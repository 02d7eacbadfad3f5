//! What an RSA signature holds, for tools that look into a signature that does not verify.
//!
//! The rule kept here: what is recovered proves nothing. A signature is verified with
//! [`PublicKey::verify`] alone.

use openssl::rsa::Padding;

use crate::key::PublicKey;

impl PublicKey {
    /// The block that an RSA signature was made of: the signature raised to the public exponent, as
    /// long as the modulus. `None` for other kinds of keys, and for a signature that is not as long
    /// as the modulus or not below it.
    ///
    /// A block of PKCS#1 v1.5 names the digest that was signed (RFC 8017, 9.2). It says nothing of
    /// whether its padding is right.
    #[must_use]
    pub fn recovered_block(&self, signature: &[u8]) -> Option<Vec<u8>> {
        let (modulus, _) = self.rsa_components()?;
        if signature.len() != modulus.len() {
            return None;
        }
        let key = self.openssl().ok()?.rsa().ok()?;
        let mut block = vec![0; signature.len()];
        let length = key
            .public_decrypt(signature, &mut block, Padding::NONE)
            .ok()?;
        (length == block.len()).then_some(block)
    }
}

#[cfg(test)]
mod tests {
    use crate::{DigestAlgorithm, KeyKind, PrivateKey, SignatureAlgorithm, digest};

    #[test]
    fn the_block_of_a_signature_ends_with_the_digest() {
        let key = PrivateKey::generate(KeyKind::Rsa { bits: 2048 }).unwrap();
        let signature = key.sign(SignatureAlgorithm::RsaSha256, b"text").unwrap();
        let block = key.public_key().recovered_block(&signature).unwrap();
        assert_eq!(block[..3], [0, 1, 0xFF]);
        let expected = digest(DigestAlgorithm::Sha256, b"text").unwrap();
        assert_eq!(block[block.len() - 32..], *expected.as_ref());
    }

    #[test]
    fn a_signature_of_another_length_has_no_block() {
        let key = PrivateKey::generate(KeyKind::Rsa { bits: 2048 }).unwrap();
        assert_eq!(key.public_key().recovered_block(&[0; 128]), None);
        assert_eq!(key.public_key().recovered_block(&[0xFF; 256]), None);
        let other = PrivateKey::generate(KeyKind::Ed25519).unwrap();
        assert_eq!(other.public_key().recovered_block(&[0; 64]), None);
    }
}
