//! Implicit rejection of key transport with RSA PKCS#1 v1.5 (draft-irtf-cfrg-rsa-guidance, section
//! 7).
//!
//! A wrong padding is no error: a substitute takes the place of the key, and the message fails
//! where any wrong key makes it fail. The substitute is a function of the private key and the
//! ciphertext, so a second try of the same ciphertext behaves like the first one. The one rule: the
//! steps are the same for a good padding and a wrong one, up to the masked selection at the end.

use aws_lc_rs::hmac;
use openssl::error::ErrorStack;
use openssl::pkey::{Id, PKeyRef, Private};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

use crate::digest::sha256;
use crate::key::{ExternalKey, KeyKind, PublicKey, RsaPadding};
use crate::random;
use crate::secret::{Secret, SecretBytes};

/// Fewest bytes of padding that are not zero (RFC 8017 section 7.2.1).
const SHORTEST_PADDING: usize = 8;

/// What the substitutes of a private key are derived from: the digest of its exponent (`DH` in the
/// draft), or of its PKCS#8 if it is not an RSA key.
pub(crate) struct ImplicitRejection(Secret<[u8; 32]>);

impl ImplicitRejection {
    pub(crate) fn of(key: &PKeyRef<Private>, pkcs8: &[u8]) -> Result<Self, ErrorStack> {
        if key.id() != Id::RSA {
            return Ok(Self(Secret::new(sha256(pkcs8))));
        }
        let rsa = key.rsa()?;
        let exponent = Zeroizing::new(rsa.d().to_vec_padded(rsa.size() as i32)?);
        Ok(Self(Secret::new(sha256(&exponent))))
    }

    /// For a key held elsewhere: the digest of what the key makes of a fixed input, which nobody
    /// else can compute and no answer to a peer shows. RSA decrypts a fixed number; a key that
    /// agrees does so with its own public half. So a second node with the same key has the same
    /// substitutes. A key that does neither needs no substitute, and has random ones.
    pub(crate) fn of_external(public: &PublicKey, key: &dyn ExternalKey) -> Self {
        let made = match public.kind() {
            KeyKind::Rsa { bits } => {
                let length = (bits as usize).div_ceil(8);
                key.decrypt(RsaPadding::None, &fixed_number(length))
            }
            _ => key.agree(public.key_bits()),
        };
        Self(Secret::new(match made {
            Ok(secret) => sha256(secret.expose()),
            Err(_) => random::bytes(),
        }))
    }

    /// The substitute of `length` bytes for the key in `ciphertext`.
    pub(crate) fn substitute(&self, ciphertext: &[u8], length: usize) -> SecretBytes {
        let exponent = hmac::Key::new(hmac::HMAC_SHA256, self.0.expose());
        let derivation = hmac::sign(&exponent, ciphertext);
        let derivation = hmac::Key::new(hmac::HMAC_SHA256, derivation.as_ref());
        let bits = (length as u16).wrapping_mul(8).to_be_bytes();
        let mut substitute = SecretBytes::new(vec![0; length]);
        for (index, block) in (0_u16..).zip(substitute.expose_mut().chunks_mut(32)) {
            let mut context = hmac::Context::with_key(&derivation);
            context.update(&index.to_be_bytes());
            context.update(b"message");
            context.update(&bits);
            block.copy_from_slice(&context.sign().as_ref()[..block.len()]);
        }
        substitute
    }
}

/// A number below every modulus of so many bytes, the same each time.
fn fixed_number(length: usize) -> Vec<u8> {
    let mut number = vec![0; length];
    for (index, block) in (0_u8..).zip(number.chunks_mut(32)) {
        let label = [b"soapstone implicit rejection ", &[index][..]].concat();
        block.copy_from_slice(&sha256(&label)[..block.len()]);
    }
    if let Some(first) = number.first_mut() {
        *first = 0;
    }
    number
}

/// The key that the encoded message `00 02 PADDING 00 KEY` holds if it is as long as `substitute`,
/// and `substitute` otherwise (RFC 8017 section 7.2.2, step 3).
///
/// The separator has one place only, since the length of the key is known: a key of another length
/// puts a zero into the padding, or another byte in the place of the separator.
pub(super) fn key_or_substitute(encoded: &[u8], mut substitute: SecretBytes) -> SecretBytes {
    let Some(separator) = encoded.len().checked_sub(substitute.len() + 1) else {
        return substitute;
    };
    if separator < 2 + SHORTEST_PADDING {
        return substitute;
    }
    let padding = &encoded[2..separator];
    let filled = padding
        .iter()
        .fold(Choice::from(1), |filled, byte| filled & !byte.ct_eq(&0));
    let good = encoded[0].ct_eq(&0) & encoded[1].ct_eq(&2) & filled & encoded[separator].ct_eq(&0);
    for (chosen, byte) in substitute
        .expose_mut()
        .iter_mut()
        .zip(&encoded[separator + 1..])
    {
        chosen.conditional_assign(byte, good);
    }
    substitute
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `00 02`, padding that fills the modulus, `00`, the key.
    fn encoded(size: usize, key: &[u8]) -> Vec<u8> {
        let mut encoded = vec![0, 2];
        encoded.resize(size - key.len() - 1, 0xff);
        encoded.push(0);
        encoded.extend_from_slice(key);
        encoded
    }

    fn chosen(encoded: &[u8]) -> Vec<u8> {
        key_or_substitute(encoded, SecretBytes::new(vec![9; 16]))
            .expose()
            .clone()
    }

    #[test]
    fn a_good_padding_gives_the_key_and_every_wrong_one_the_substitute() {
        let (key, substitute) = ([7; 16], vec![9; 16]);
        let good = encoded(64, &key);
        assert_eq!(chosen(&good), key);
        for at in 0..64 - 17 {
            let mut wrong = good.clone();
            wrong[at] = if at < 2 { 1 } else { 0 };
            assert_eq!(chosen(&wrong), substitute, "byte {at}");
        }
        let mut without_separator = good;
        without_separator[64 - 17] = 1;
        assert_eq!(chosen(&without_separator), substitute);
    }

    #[test]
    fn a_key_of_another_length_gives_the_substitute() {
        for length in (0..48).filter(|length| *length != 16) {
            assert_eq!(chosen(&encoded(64, &vec![7; length])), [9; 16], "{length}");
        }
    }

    #[test]
    fn a_padding_that_is_too_short_gives_the_substitute() {
        assert_eq!(chosen(&encoded(27, &[7; 16])), [7; 16]);
        for size in 19..27 {
            assert_eq!(chosen(&encoded(size, &[7; 16])), [9; 16], "{size}");
        }
        for size in 0..19 {
            assert_eq!(chosen(&vec![0; size]), [9; 16], "{size}");
        }
    }
}
