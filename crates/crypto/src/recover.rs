//! What an RSA signature holds, for tools that look into a signature that does not verify: the
//! block that PKCS#1 v1.5 and PSS make of a digest (RFC 8017, 9.1 and 9.2).
//!
//! The rule kept here: a block that is well-formed in all its bytes was made with the private key.
//! It proves nothing else: a signature is verified with [`PublicKey::verify`] alone.

use openssl::rsa::Padding;

use crate::algorithms::DigestAlgorithm;
use crate::digest::digest;
use crate::key::PublicKey;

/// The block that an RSA signature was made of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignedBlock {
    /// PKCS#1 v1.5: the digest itself.
    Pkcs1 {
        /// The algorithm that the block names.
        algorithm: DigestAlgorithm,
        /// The digest that was signed.
        digest: Vec<u8>,
        /// Why a strict verifier refuses the block.
        oddity: Option<&'static str>,
    },
    /// PSS: a digest of the digest and a salt.
    Pss {
        /// The algorithm of both digests.
        algorithm: DigestAlgorithm,
        /// The salt.
        salt: Vec<u8>,
        /// The digest of digest and salt.
        hash: Vec<u8>,
    },
}

impl SignedBlock {
    /// The algorithm of the digest.
    #[must_use]
    pub fn algorithm(&self) -> DigestAlgorithm {
        match self {
            Self::Pkcs1 { algorithm, .. } | Self::Pss { algorithm, .. } => *algorithm,
        }
    }

    /// Whether the block was made of these bytes.
    #[must_use]
    pub fn holds(&self, message: &[u8]) -> bool {
        let Ok(of_message) = digest(self.algorithm(), message) else {
            return false;
        };
        match self {
            Self::Pkcs1 { digest, .. } => of_message.as_ref() == digest,
            Self::Pss {
                algorithm,
                salt,
                hash,
            } => {
                let whole = [&[0; 8], of_message.as_ref(), salt].concat();
                digest(*algorithm, &whole).is_ok_and(|digest| digest.as_ref() == hash)
            }
        }
    }
}

impl PublicKey {
    /// The block that an RSA signature was made of; `None` where the signature opens to none with
    /// this key. Another key gives no block, except by chance.
    #[must_use]
    pub fn signed_block(&self, signature: &[u8]) -> Option<SignedBlock> {
        let block = self.recovered_block(signature)?;
        pkcs1(&block).or_else(|| {
            let mut algorithms = INFOS.iter();
            algorithms.find_map(|(algorithm, _)| pss(&block, *algorithm))
        })
    }

    /// The signature raised to the public exponent, as long as the modulus. `None` for other kinds
    /// of keys, and for a signature that is not as long as the modulus or not below it.
    fn recovered_block(&self, signature: &[u8]) -> Option<Vec<u8>> {
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

/// `DigestInfo` up to the digest, by algorithm (RFC 8017, 9.2, note 1), with and without the NULL.
const INFOS: [(DigestAlgorithm, &[u8]); 7] = [
    (
        DigestAlgorithm::Sha256,
        &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01],
    ),
    (DigestAlgorithm::Sha1, &[0x2b, 0x0e, 0x03, 0x02, 0x1a]),
    (
        DigestAlgorithm::Sha512,
        &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03],
    ),
    (
        DigestAlgorithm::Sha384,
        &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02],
    ),
    (
        DigestAlgorithm::Sha224,
        &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x04],
    ),
    (
        DigestAlgorithm::Md5,
        &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02, 0x05],
    ),
    (DigestAlgorithm::Ripemd160, &[0x2b, 0x24, 0x03, 0x02, 0x01]),
];

fn info(algorithm: DigestAlgorithm, oid: &[u8], null: bool) -> Vec<u8> {
    let null: &[u8] = if null { &[0x05, 0x00] } else { &[] };
    let length = |bytes: usize| u8::try_from(bytes).unwrap_or(u8::MAX);
    let digest = algorithm.output_length();
    let mut out = vec![0x30, length(oid.len() + null.len() + digest + 6)];
    out.extend([
        0x30,
        length(oid.len() + null.len() + 2),
        0x06,
        length(oid.len()),
    ]);
    out.extend_from_slice(oid);
    out.extend_from_slice(null);
    out.extend([0x04, length(digest)]);
    out
}

fn pkcs1(block: &[u8]) -> Option<SignedBlock> {
    let padded = block.strip_prefix(&[0, 1])?;
    let filling = padded.iter().take_while(|byte| **byte == 0xFF).count();
    let content = padded[filling..]
        .strip_prefix(&[0])
        .filter(|_| filling >= 8)?;
    for (algorithm, oid) in INFOS {
        for null in [true, false] {
            if let Some(digest) = content.strip_prefix(info(algorithm, oid, null).as_slice())
                && digest.len() == algorithm.output_length()
            {
                return Some(SignedBlock::Pkcs1 {
                    algorithm,
                    digest: digest.to_vec(),
                    oddity: (!null)
                        .then_some("the NULL parameters of the digest left out of the padding"),
                });
            }
        }
    }
    let usual = [
        DigestAlgorithm::Sha256,
        DigestAlgorithm::Sha1,
        DigestAlgorithm::Sha512,
        DigestAlgorithm::Sha384,
    ];
    let algorithm = usual
        .into_iter()
        .find(|one| one.output_length() == content.len())?;
    Some(SignedBlock::Pkcs1 {
        algorithm,
        digest: content.to_vec(),
        oddity: Some("the digest signed bare, without the name of its algorithm"),
    })
}

/// MGF1 (RFC 8017, B.2.1).
fn mask(algorithm: DigestAlgorithm, seed: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(length + 64);
    let mut counter = 0_u32;
    while out.len() < length {
        let piece = digest(algorithm, &[seed, &counter.to_be_bytes()].concat()).ok()?;
        out.extend_from_slice(piece.as_ref());
        counter += 1;
    }
    out.truncate(length);
    Some(out)
}

fn pss(block: &[u8], algorithm: DigestAlgorithm) -> Option<SignedBlock> {
    let inside = block.strip_suffix(&[0xBC])?;
    let masked_length = inside.len().checked_sub(algorithm.output_length())?;
    let (masked, hash) = inside.split_at(masked_length);
    let mask = mask(algorithm, hash, masked_length)?;
    let mut db: Vec<u8> = masked
        .iter()
        .zip(mask)
        .map(|(one, other)| one ^ other)
        .collect();
    // One bit less than the modulus has, whose length is a multiple of 8 in practice.
    *db.first_mut()? &= 0x7F;
    let zeros = db.iter().take_while(|byte| **byte == 0).count();
    let salt = db[zeros..].strip_prefix(&[1])?;
    // A salt longer than any digest would leave too few zeros to prove anything.
    (zeros >= 8 && salt.len() <= 64).then(|| SignedBlock::Pss {
        algorithm,
        salt: salt.to_vec(),
        hash: hash.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KeyKind, PrivateKey, SignatureAlgorithm};

    #[test]
    fn blocks_of_both_paddings_are_read() {
        let key = PrivateKey::generate(KeyKind::Rsa { bits: 2048 }).unwrap();
        for (method, algorithm) in [
            (SignatureAlgorithm::RsaSha256, DigestAlgorithm::Sha256),
            (SignatureAlgorithm::RsaSha1, DigestAlgorithm::Sha1),
            (SignatureAlgorithm::RsaSha512, DigestAlgorithm::Sha512),
        ] {
            let signature = key.sign(method, b"text").unwrap();
            let block = key.public_key().signed_block(&signature).unwrap();
            let expected = digest(algorithm, b"text").unwrap().as_ref().to_vec();
            assert!(block.holds(b"text") && !block.holds(b"texts"));
            assert_eq!(
                block,
                SignedBlock::Pkcs1 {
                    algorithm,
                    digest: expected,
                    oddity: None
                }
            );
        }
        let signature = key.sign(SignatureAlgorithm::RsaPssSha256, b"text").unwrap();
        let block = key.public_key().signed_block(&signature).unwrap();
        assert!(matches!(block, SignedBlock::Pss { .. }), "{block:?}");
        assert_eq!(block.algorithm(), DigestAlgorithm::Sha256);
        assert!(block.holds(b"text") && !block.holds(b"texts"));
    }

    #[test]
    fn another_key_gives_no_block() {
        let key = PrivateKey::generate(KeyKind::Rsa { bits: 2048 }).unwrap();
        let other = PrivateKey::generate(KeyKind::Rsa { bits: 2048 }).unwrap();
        let signature = key.sign(SignatureAlgorithm::RsaSha256, b"text").unwrap();
        assert_eq!(other.public_key().signed_block(&signature), None);
    }

    #[test]
    fn a_signature_of_another_length_has_no_block() {
        let key = PrivateKey::generate(KeyKind::Rsa { bits: 2048 }).unwrap();
        assert_eq!(key.public_key().signed_block(&[0; 128]), None);
        assert_eq!(key.public_key().signed_block(&[0xFF; 256]), None);
        let other = PrivateKey::generate(KeyKind::Ed25519).unwrap();
        assert_eq!(other.public_key().signed_block(&[0; 64]), None);
    }
}
