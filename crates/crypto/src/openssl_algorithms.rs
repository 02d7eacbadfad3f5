//! OpenSSL's digests, fetched once.
//!
//! OpenSSL 3 looks up a provider each time an algorithm is used by its old static name, which costs
//! more than hashing a short message. Objects fetched once and kept here do not pay that. They are
//! immutable.

use std::sync::OnceLock;

use openssl::md::{Md, MdRef};

use crate::algorithms::DigestAlgorithm;
use crate::error::CryptoError;

const DIGESTS: usize = DigestAlgorithm::ALL.len();

/// OpenSSL's object for a digest; fails when the installed OpenSSL was built without it.
pub(crate) fn md(algorithm: DigestAlgorithm) -> Result<&'static MdRef, CryptoError> {
    static FETCHED: [OnceLock<Option<Md>>; DIGESTS] = [const { OnceLock::new() }; DIGESTS];
    let name = match algorithm {
        DigestAlgorithm::Md5 => "MD5",
        DigestAlgorithm::Sha1 => "SHA1",
        DigestAlgorithm::Sha224 => "SHA2-224",
        DigestAlgorithm::Sha256 => "SHA2-256",
        DigestAlgorithm::Sha384 => "SHA2-384",
        DigestAlgorithm::Sha512 => "SHA2-512",
        DigestAlgorithm::Ripemd160 => "RIPEMD-160",
        DigestAlgorithm::Sha3_224 => "SHA3-224",
        DigestAlgorithm::Sha3_256 => "SHA3-256",
        DigestAlgorithm::Sha3_384 => "SHA3-384",
        DigestAlgorithm::Sha3_512 => "SHA3-512",
    };
    FETCHED[algorithm as usize]
        .get_or_init(|| Md::fetch(None, name, None).ok())
        .as_deref()
        .ok_or_else(|| CryptoError::Unsupported {
            what: format!("{algorithm}: the installed OpenSSL does not offer it"),
        })
}
