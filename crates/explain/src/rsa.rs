//! The block of an RSA signature, as PKCS#1 v1.5 and PSS make it (RFC 8017, 9.1 and 9.2).
//!
//! The rule kept here: a block that is well-formed in all its bytes was made with the private key.
//! Chance does not make one.

use soapstone_crypto::{DigestAlgorithm, digest, hexadecimal};

/// What a signature holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// PKCS#1 v1.5: the digest itself.
    Pkcs1 {
        algorithm: DigestAlgorithm,
        digest: Vec<u8>,
        /// What a strict verifier does not accept about it.
        oddity: Option<&'static str>,
    },
    /// PSS: a digest of the digest and a salt.
    Pss {
        algorithm: DigestAlgorithm,
        salt: Vec<u8>,
        hash: Vec<u8>,
    },
}

impl Block {
    pub(crate) fn algorithm(&self) -> DigestAlgorithm {
        match self {
            Self::Pkcs1 { algorithm, .. } | Self::Pss { algorithm, .. } => *algorithm,
        }
    }

    /// In words.
    pub(crate) fn says(&self) -> String {
        match self {
            Self::Pkcs1 {
                algorithm, digest, ..
            } => format!(
                "the signature opens to a well-formed block of PKCS#1 v1.5 with the {} digest {}",
                algorithm.short_name(),
                hexadecimal::encode(digest)
            ),
            Self::Pss { algorithm, .. } => format!(
                "the signature opens to a well-formed block of PSS with {}",
                algorithm.short_name()
            ),
        }
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

/// Reads a block; `None` if it is none.
pub(crate) fn block_of(block: &[u8]) -> Option<Block> {
    pkcs1(block).or_else(|| {
        INFOS
            .iter()
            .find_map(|(algorithm, _)| pss(block, *algorithm))
    })
}

fn pkcs1(block: &[u8]) -> Option<Block> {
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
                return Some(Block::Pkcs1 {
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
    Some(Block::Pkcs1 {
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

fn pss(block: &[u8], algorithm: DigestAlgorithm) -> Option<Block> {
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
    (zeros >= 8 && salt.len() <= 64).then(|| Block::Pss {
        algorithm,
        salt: salt.to_vec(),
        hash: hash.to_vec(),
    })
}

/// Whether a block of PSS is of this digest.
pub(crate) fn pss_fits(algorithm: DigestAlgorithm, of: &[u8], salt: &[u8], hash: &[u8]) -> bool {
    let whole = [&[0; 8], of, salt].concat();
    digest(algorithm, &whole).is_ok_and(|digest| digest.as_ref() == hash)
}

#[cfg(test)]
mod tests {
    use soapstone_crypto::{PrivateKey, SignatureAlgorithm};

    use super::*;

    #[test]
    fn blocks_of_both_paddings_are_read() {
        let key = PrivateKey::generate(KeyKind::Rsa { bits: 2048 }).unwrap();
        for (method, algorithm) in [
            (SignatureAlgorithm::RsaSha256, DigestAlgorithm::Sha256),
            (SignatureAlgorithm::RsaSha1, DigestAlgorithm::Sha1),
            (SignatureAlgorithm::RsaSha512, DigestAlgorithm::Sha512),
        ] {
            let signature = key.sign(method, b"text").unwrap();
            let block = block_of(&key.public_key().recovered_block(&signature).unwrap());
            let expected = digest(algorithm, b"text").unwrap().as_ref().to_vec();
            assert_eq!(
                block,
                Some(Block::Pkcs1 {
                    algorithm,
                    digest: expected,
                    oddity: None
                })
            );
        }
        let signature = key.sign(SignatureAlgorithm::RsaPssSha256, b"text").unwrap();
        let block = block_of(&key.public_key().recovered_block(&signature).unwrap());
        let Some(Block::Pss {
            algorithm,
            salt,
            hash,
        }) = block
        else {
            panic!("expected a block of PSS, found {block:?}");
        };
        let of = digest(algorithm, b"text").unwrap();
        assert!(pss_fits(algorithm, of.as_ref(), &salt, &hash));
    }

    #[test]
    fn another_key_gives_no_block() {
        let key = PrivateKey::generate(KeyKind::Rsa { bits: 2048 }).unwrap();
        let other = PrivateKey::generate(KeyKind::Rsa { bits: 2048 }).unwrap();
        let signature = key.sign(SignatureAlgorithm::RsaSha256, b"text").unwrap();
        let block = other.public_key().recovered_block(&signature);
        assert_eq!(block.as_deref().and_then(block_of), None);
    }

    use soapstone_crypto::KeyKind;
}
