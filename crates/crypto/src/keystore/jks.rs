//! JKS, the keystore of Java before version 9 (read only: nobody should write one any more).
//!
//! The format is big-endian: magic `FEEDFEED`, a version, a count, and entries (tag, alias,
//! milliseconds, then key and chain or a certificate); at the end the SHA-1 of the password, the
//! words `Mighty Aphrodite` and everything before. A private key is protected by a key stream of
//! chained SHA-1 digests over password and salt, and a SHA-1 of password and key at its end.
//! That resists no attacker who has the file; it is read because files exist.

use aws_lc_rs::constant_time;
use zeroize::Zeroizing;

use super::entries::{KeyEntry, KeyStore, ProtectedKey};
use crate::algorithms::DigestAlgorithm;
use crate::certificate::Certificate;
use crate::der::{self, NotDer, Reader};
use crate::digest::{Digest, Hasher};
use crate::error::CryptoError;
use crate::secret::SecretBytes;

const MAGIC: [u8; 4] = [0xfe, 0xed, 0xfe, 0xed];
const JCEKS_MAGIC: [u8; 4] = [0xce, 0xce, 0xce, 0xce];

/// What keeps the digest of a file from being that of a password alone.
const WHITENER: &[u8] = b"Mighty Aphrodite";

/// Bytes of SHA-1, of the salt and of both checksums.
const DIGEST: usize = 20;

/// 1.3.6.1.4.1.42.2.17.1.1, Sun's number for the protection of keys.
const KEY_PROTECTOR: &[u8] = &[0x2b, 6, 1, 4, 1, 0x2a, 2, 0x11, 1, 1];

/// Most entries: more than any authority list has.
const MOST: u32 = 10_000;

const EXPECTED: &str = "a JKS keystore";

pub(super) fn looks_like_jks(file: &[u8]) -> bool {
    file.starts_with(&MAGIC) || file.starts_with(&JCEKS_MAGIC)
}

/// The password as Java digests it: UTF-16, big-endian.
fn password_octets(password: &str) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(password.encode_utf16().flat_map(u16::to_be_bytes).collect())
}

fn sha1(parts: &[&[u8]]) -> Result<Digest, CryptoError> {
    let mut hasher = Hasher::new(DigestAlgorithm::Sha1)?;
    parts.iter().for_each(|part| hasher.update(part));
    Ok(hasher.finish())
}

fn malformed(found: impl Into<String>) -> CryptoError {
    CryptoError::Malformed {
        expected: EXPECTED,
        found: found.into(),
    }
}

/// Reads the file from its beginning to its end.
struct Fields<'f> {
    rest: &'f [u8],
}

impl<'f> Fields<'f> {
    fn take(&mut self, length: usize) -> Result<&'f [u8], CryptoError> {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or_else(|| malformed("a file that ends too early"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u32, CryptoError> {
        let octets = self.take(4)?;
        Ok(octets
            .iter()
            .fold(0, |sum, &octet| sum << 8 | u32::from(octet)))
    }

    /// A string with its length before it; Java's UTF-8 differs from the real one only outside the
    /// basic plane.
    fn text(&mut self) -> Result<String, CryptoError> {
        let length = self.take(2)?;
        let octets = self.take(usize::from(length[0]) << 8 | usize::from(length[1]))?;
        Ok(String::from_utf8_lossy(octets).into_owned())
    }

    fn octets(&mut self) -> Result<&'f [u8], CryptoError> {
        let length = self.number()?;
        self.take(length as usize)
    }

    fn certificate(&mut self, version: u32) -> Result<Certificate, CryptoError> {
        // Version 1 knew only X.509 and did not say so.
        if version == 2 {
            let kind = self.text()?;
            if kind != "X.509" {
                return Err(CryptoError::Unsupported {
                    what: format!("a certificate of type {kind}"),
                });
            }
        }
        Certificate::from_der(self.octets()?)
    }
}

pub(super) fn read(file: &[u8], password: &str) -> Result<KeyStore, CryptoError> {
    if file.starts_with(&JCEKS_MAGIC) {
        return Err(CryptoError::Unsupported {
            what:
                "a JCEKS keystore: convert it with `keytool -importkeystore -deststoretype pkcs12`"
                    .to_owned(),
        });
    }
    let Some((body, checksum)) = file.split_last_chunk::<DIGEST>() else {
        return Err(malformed("a file that is too short"));
    };
    let mut fields = Fields { rest: body };
    if fields.take(4)? != MAGIC {
        return Err(malformed("a file that does not begin like one"));
    }
    let version = fields.number()?;
    if !(1..=2).contains(&version) {
        return Err(malformed(format!("version {version}")));
    }
    let expected = sha1(&[&password_octets(password), WHITENER, body])?;
    constant_time::verify_slices_are_equal(expected.as_ref(), checksum)
        .map_err(|_| CryptoError::WrongPassword)?;
    let count = fields.number()?;
    if count > MOST {
        return Err(malformed(format!("{count} entries, more than {MOST}")));
    }
    let mut store = KeyStore {
        keys: Vec::new(),
        certificates: Vec::new(),
    };
    for _ in 0..count {
        let tag = fields.number()?;
        let alias = fields.text()?;
        fields.take(8)?;
        match tag {
            1 => {
                let key = ProtectedKey::Java(fields.octets()?.to_vec());
                let length = fields.number()?.min(MOST);
                let chain = (0..length)
                    .map(|_| fields.certificate(version))
                    .collect::<Result<_, _>>()?;
                store.keys.push(KeyEntry { alias, key, chain });
            }
            2 => store
                .certificates
                .push((alias, fields.certificate(version)?)),
            other => return Err(malformed(format!("an entry of type {other}"))),
        }
    }
    Ok(store)
}

/// Removes Java's protection from a private key; the result is PKCS#8.
pub(super) fn open_private_key(
    protected: &[u8],
    password: &str,
) -> Result<SecretBytes, CryptoError> {
    let octets = protected_octets(protected)
        .map_err(NotDer::reading("a protected key of a JKS keystore"))?;
    let Some((salt, rest)) = octets.split_first_chunk::<DIGEST>() else {
        return Err(malformed("a protected key that is too short"));
    };
    let Some((encrypted, checksum)) = rest.split_last_chunk::<DIGEST>() else {
        return Err(malformed("a protected key that is too short"));
    };
    let password = password_octets(password);
    let mut key = SecretBytes::copy_of(encrypted);
    let mut stream = Digest::new(salt);
    for chunk in key.expose_mut().chunks_mut(DIGEST) {
        stream = sha1(&[&password, stream.as_ref()])?;
        chunk
            .iter_mut()
            .zip(stream.as_ref())
            .for_each(|(octet, mask)| *octet ^= mask);
    }
    let expected = sha1(&[&password, key.expose()])?;
    constant_time::verify_slices_are_equal(expected.as_ref(), checksum)
        .map_err(|_| CryptoError::WrongPassword)?;
    Ok(key)
}

/// Salt, encrypted key and checksum out of their `EncryptedPrivateKeyInfo`.
fn protected_octets(info: &[u8]) -> Result<&[u8], NotDer> {
    let mut outer = Reader::new(info);
    let mut sequence = outer.enter(der::SEQUENCE)?;
    outer.end()?;
    if sequence.enter(der::SEQUENCE)?.expect(der::OID)? != KEY_PROTECTOR {
        return Err(NotDer);
    }
    let octets = sequence.expect(der::OCTET_STRING)?;
    sequence.end()?;
    Ok(octets)
}
