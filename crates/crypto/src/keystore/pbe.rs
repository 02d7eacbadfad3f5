//! Password-based encryption, as PKCS#12 files and encrypted PKCS#8 keys use it.
//!
//! New files use PBES2 (RFC 8018): PBKDF2 with AES or Triple DES in CBC mode. Old ones use the
//! scheme of PKCS#12 itself (RFC 7292 appendices B and C) with Triple DES or RC2; RC2 is asked of
//! OpenSSL's legacy provider, and only when a file needs it.

use aws_lc_rs::cipher::PaddedBlockDecryptingKey;
use openssl::cipher::Cipher;
use openssl::cipher_ctx::CipherCtx;
use openssl::lib_ctx::LibCtx;
use openssl::provider::Provider;
use zeroize::Zeroizing;

use crate::algorithms::{DataEncryption, DigestAlgorithm, SignatureAlgorithm};
use crate::cipher::{block_cipher, decryption_context};
use crate::der::{self, NotDer, Reader};
use crate::derive::Pbkdf2;
use crate::digest::Hasher;
use crate::error::{CryptoError, OrLibrary};
use crate::secret::SecretBytes;

/// 1.2.840.113549.1
const PKCS: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1];
/// 1.2.840.113549
const RSADSI: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d];
/// 2.16.840.1.101.3.4
const NIST: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4];

/// Most iterations: as for PBKDF2.
const MOST_ITERATIONS: u32 = crate::derive::PBKDF2_MAXIMUM_ITERATIONS;

/// Decrypts an `EncryptedPrivateKeyInfo` (RFC 5958 section 3); the result is PKCS#8.
pub(crate) fn open_private_key(info: &[u8], password: &str) -> Result<SecretBytes, CryptoError> {
    let malformed = || NotDer::reading("an encrypted private key");
    let (algorithm, encrypted) = read_encrypted_key(info).map_err(malformed())?;
    open(algorithm, encrypted, password)
}

/// Whether this is an `EncryptedPrivateKeyInfo`.
pub(crate) fn is_encrypted_key(info: &[u8]) -> bool {
    read_encrypted_key(info).is_ok()
}

fn read_encrypted_key(info: &[u8]) -> Result<(&[u8], &[u8]), NotDer> {
    let mut outer = Reader::new(info);
    let mut sequence = outer.enter(der::SEQUENCE)?;
    outer.end()?;
    let parts = (
        sequence.expect(der::SEQUENCE)?,
        sequence.expect(der::OCTET_STRING)?,
    );
    sequence.end()?;
    Ok(parts)
}

/// Decrypts `encrypted` as the contents of its `AlgorithmIdentifier` say.
pub(super) fn open(
    algorithm: &[u8],
    encrypted: &[u8],
    password: &str,
) -> Result<SecretBytes, CryptoError> {
    let scheme =
        Scheme::read(algorithm).map_err(NotDer::reading("password-based encryption"))??;
    let (key, vector) = scheme.key_and_vector(password)?;
    scheme.cipher.decrypt(&key, &vector, encrypted)
}

/// A block cipher in CBC mode with the usual padding.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockCipher {
    Modern(DataEncryption),
    Rc2With40Bits,
    Rc2With128Bits,
}

impl BlockCipher {
    const TRIPLE_DES: Self = Self::Modern(DataEncryption::TripleDesCbc);

    const fn key_length(self) -> usize {
        match self {
            Self::Modern(algorithm) => algorithm.key_length(),
            Self::Rc2With40Bits => 5,
            Self::Rc2With128Bits => 16,
        }
    }

    fn decrypt(
        self,
        key: &[u8],
        vector: &[u8],
        encrypted: &[u8],
    ) -> Result<SecretBytes, CryptoError> {
        match self {
            Self::Modern(algorithm) => decrypt(algorithm, key, vector, encrypted),
            Self::Rc2With40Bits => decrypt_rc2("RC2-40-CBC", key, vector, encrypted),
            Self::Rc2With128Bits => decrypt_rc2("RC2-CBC", key, vector, encrypted),
        }
    }
}

/// PKCS#7 padding, all of it checked (RFC 8018 section 6.1.1): that is how a wrong password shows.
fn decrypt(
    algorithm: DataEncryption,
    key: &[u8],
    vector: &[u8],
    encrypted: &[u8],
) -> Result<SecretBytes, CryptoError> {
    let key = block_cipher(algorithm, key).and_then(|key| {
        PaddedBlockDecryptingKey::cbc_pkcs7(key).or_library("decrypting a keystore")
    })?;
    let context = decryption_context(algorithm, vector)?;
    let mut plain = SecretBytes::copy_of(encrypted);
    let length = key
        .decrypt(plain.expose_mut(), context)
        .map_err(|_| CryptoError::WrongPassword)?
        .len();
    plain.expose_mut().truncate(length);
    Ok(plain)
}

fn decrypt_rc2(
    name: &str,
    key: &[u8],
    vector: &[u8],
    encrypted: &[u8],
) -> Result<SecretBytes, CryptoError> {
    let missing = |_| CryptoError::Unsupported {
        what: format!("{name}: the installed OpenSSL does not offer it"),
    };
    // A context of its own, so that nothing else in the process gains old algorithms.
    let library = LibCtx::new().map_err(missing)?;
    // Dropped last: what was fetched from it is in use until then.
    let _provider = Provider::load(Some(&library), "legacy").map_err(missing)?;
    let cipher = Cipher::fetch(Some(&library), name, None).map_err(missing)?;
    let mut context = CipherCtx::new().or_library("decrypting a keystore")?;
    let mut plain = SecretBytes::new(Vec::with_capacity(encrypted.len() + 16));
    context
        .decrypt_init(Some(&cipher), Some(key), Some(vector))
        .and_then(|()| context.cipher_update_vec(encrypted, plain.expose_mut()))
        .and_then(|_| context.cipher_final_vec(plain.expose_mut()))
        .map_err(|_| CryptoError::WrongPassword)?;
    Ok(plain)
}

/// How key and vector come from the password.
enum Derivation<'a> {
    Pbkdf2 {
        parameters: Pbkdf2,
        vector: &'a [u8],
    },
    Pkcs12 {
        salt: &'a [u8],
        iterations: u32,
    },
}

struct Scheme<'a> {
    cipher: BlockCipher,
    derivation: Derivation<'a>,
}

impl<'a> Scheme<'a> {
    /// The inner error is for what is well-formed and not supported.
    fn read(algorithm: &'a [u8]) -> Result<Result<Self, CryptoError>, NotDer> {
        let mut reader = Reader::new(algorithm);
        let oid = reader.expect(der::OID)?;
        let mut parameters = reader.enter(der::SEQUENCE)?;
        if oid.strip_prefix(PKCS) == Some(&[5, 13]) {
            return Self::read_pbes2(parameters);
        }
        let cipher = match oid.strip_prefix(PKCS) {
            Some([12, 1, 3]) => BlockCipher::TRIPLE_DES,
            Some([12, 1, 5]) => BlockCipher::Rc2With128Bits,
            Some([12, 1, 6]) => BlockCipher::Rc2With40Bits,
            _ => return Ok(Err(unsupported(oid))),
        };
        let salt = parameters.expect(der::OCTET_STRING)?;
        let iterations = parameters.small()?;
        Ok(Ok(Self {
            cipher,
            derivation: Derivation::Pkcs12 { salt, iterations },
        }))
    }

    fn read_pbes2(mut parameters: Reader<'a>) -> Result<Result<Self, CryptoError>, NotDer> {
        let mut derivation = parameters.enter(der::SEQUENCE)?;
        let oid = derivation.expect(der::OID)?;
        if oid.strip_prefix(PKCS) != Some(&[5, 12]) {
            return Ok(Err(unsupported(oid)));
        }
        let mut pbkdf2 = derivation.enter(der::SEQUENCE)?;
        let salt = pbkdf2.expect(der::OCTET_STRING)?.to_vec();
        let iterations = pbkdf2.small()?;
        pbkdf2.optional(der::INTEGER)?;
        let prf = match pbkdf2.optional(der::SEQUENCE)? {
            None => SignatureAlgorithm::HmacSha1,
            Some(prf) => {
                let oid = Reader::new(prf).expect(der::OID)?;
                match oid.strip_prefix(RSADSI) {
                    Some([2, 7]) => SignatureAlgorithm::HmacSha1,
                    Some([2, 8]) => SignatureAlgorithm::HmacSha224,
                    Some([2, 9]) => SignatureAlgorithm::HmacSha256,
                    Some([2, 10]) => SignatureAlgorithm::HmacSha384,
                    Some([2, 11]) => SignatureAlgorithm::HmacSha512,
                    _ => return Ok(Err(unsupported(oid))),
                }
            }
        };
        let mut encryption = parameters.enter(der::SEQUENCE)?;
        let oid = encryption.expect(der::OID)?;
        let cipher = match (oid.strip_prefix(NIST), oid.strip_prefix(RSADSI)) {
            (Some([1, 2]), _) => DataEncryption::Aes128Cbc,
            (Some([1, 22]), _) => DataEncryption::Aes192Cbc,
            (Some([1, 42]), _) => DataEncryption::Aes256Cbc,
            (_, Some([3, 7])) => DataEncryption::TripleDesCbc,
            _ => return Ok(Err(unsupported(oid))),
        };
        let vector = encryption.expect(der::OCTET_STRING)?;
        if vector.len() != cipher.iv_length() {
            return Err(NotDer);
        }
        let parameters = Pbkdf2 {
            prf,
            salt,
            iterations,
        };
        Ok(Ok(Self {
            cipher: BlockCipher::Modern(cipher),
            derivation: Derivation::Pbkdf2 { parameters, vector },
        }))
    }

    fn key_and_vector(&self, password: &str) -> Result<(Zeroizing<Vec<u8>>, Vec<u8>), CryptoError> {
        let length = self.cipher.key_length();
        match &self.derivation {
            Derivation::Pbkdf2 { parameters, vector } => {
                let password = SecretBytes::copy_of(password.as_bytes());
                let key = parameters.derive(&password, length)?;
                Ok((Zeroizing::new(key.expose().clone()), vector.to_vec()))
            }
            Derivation::Pkcs12 { salt, iterations } => {
                let password = bmp_password(password);
                let derive = |purpose, length| {
                    pkcs12_derive(
                        DigestAlgorithm::Sha1,
                        purpose,
                        &password,
                        salt,
                        *iterations,
                        length,
                    )
                };
                Ok((
                    derive(Purpose::Key, length)?,
                    derive(Purpose::Vector, 8)?.to_vec(),
                ))
            }
        }
    }
}

fn unsupported(oid: &[u8]) -> CryptoError {
    CryptoError::Unsupported {
        what: format!("the password-based algorithm {}", der::dotted(oid)),
    }
}

/// What a derived key is for (RFC 7292 appendix B.3).
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    Key = 1,
    Vector = 2,
    Mac = 3,
}

/// The password as PKCS#12 wants it: UTF-16, big-endian, with a zero at the end (RFC 7292 appendix
/// B.1).
pub(super) fn bmp_password(password: &str) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(
        password
            .encode_utf16()
            .chain([0])
            .flat_map(u16::to_be_bytes)
            .collect(),
    )
}

/// PKCS#12's own key derivation (RFC 7292 appendix B.2).
pub(super) fn pkcs12_derive(
    digest: DigestAlgorithm,
    purpose: Purpose,
    password: &[u8],
    salt: &[u8],
    iterations: u32,
    length: usize,
) -> Result<Zeroizing<Vec<u8>>, CryptoError> {
    if iterations == 0 || iterations > MOST_ITERATIONS {
        return Err(CryptoError::Unsupported {
            what: format!("a keystore with {iterations} iterations"),
        });
    }
    let block = if digest.output_length() > 32 { 128 } else { 64 };
    let filled = |octets: &[u8]| -> Vec<u8> {
        octets
            .iter()
            .copied()
            .cycle()
            .take(octets.len().next_multiple_of(block))
            .collect()
    };
    let diversifier = vec![purpose as u8; block];
    let mut input = Zeroizing::new([filled(salt), filled(password)].concat());
    let mut output = Zeroizing::new(Vec::with_capacity(length + digest.output_length()));
    loop {
        let mut hasher = Hasher::new(digest)?;
        hasher.update(&diversifier);
        hasher.update(&input);
        let mut made = hasher.finish();
        for _ in 1..iterations {
            made = crate::digest::digest(digest, made.as_ref())?;
        }
        output.extend_from_slice(made.as_ref());
        if output.len() >= length {
            output.truncate(length);
            return Ok(output);
        }
        // Every block of the input plus the filled digest plus one, as big-endian numbers.
        for chunk in input.chunks_mut(block) {
            let mut carry = 1_u16;
            for (index, octet) in chunk.iter_mut().enumerate().rev() {
                let addend = made.as_ref()[index % digest.output_length()];
                let sum = u16::from(*octet) + u16::from(addend) + carry;
                *octet = sum as u8;
                carry = sum >> 8;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;

    /// The published examples of PKCS#12's derivation: password `smeg`, SHA-1.
    #[test]
    fn pkcs12_derivation_gives_the_published_keys() {
        let password = bmp_password("smeg");
        for (purpose, salt, iterations, expected) in [
            (
                Purpose::Key,
                "0a58cf64530d823f",
                1,
                "8aaae6297b6cb04642ab5b077851284eb7128f1a2a7fbca3",
            ),
            (Purpose::Vector, "0a58cf64530d823f", 1, "79993dfe048d3b76"),
            (
                Purpose::Mac,
                "3d83c0e4546ac140",
                1,
                "8d967d88f6caa9d714800ab3d48051d63f73a312",
            ),
        ] {
            let made = pkcs12_derive(
                DigestAlgorithm::Sha1,
                purpose,
                &password,
                &hex(salt),
                iterations,
                expected.len() / 2,
            );
            assert_eq!(*made.unwrap(), hex(expected));
        }
    }
}
