//! Every algorithm the product can name, as closed enums keyed by their URI.
//!
//! A plan is a set of these values, so an algorithm that is not listed here cannot be asked for,
//! and one that is not in the plan is refused before a key is touched. The rule this file keeps:
//! one variant, one identifier of a published specification; nothing is guessed from the shape of a
//! URI.

mod signature;
mod table;

use std::fmt;

pub use signature::{SignatureAlgorithm, SignatureFamily};
pub use table::UnknownAlgorithm;
use table::algorithms;

algorithms! {
    /// Message digests (XML-DSig 1.1 section 6.2, XML-Enc 1.1 section 5.8, RFC 9231 section 2.1).
    DigestAlgorithm, unknown = "digest algorithm" {
        /// MD5, broken: only for reading old documents.
        Md5 = "md5", "http://www.w3.org/2001/04/xmldsig-more#md5";
        /// SHA-1, open to collisions; still what classic WS-SecurityPolicy suites name.
        Sha1 = "sha1", "http://www.w3.org/2000/09/xmldsig#sha1";
        /// SHA-224.
        Sha224 = "sha224", "http://www.w3.org/2001/04/xmldsig-more#sha224";
        /// SHA-256.
        Sha256 = "sha256", "http://www.w3.org/2001/04/xmlenc#sha256";
        /// SHA-384. XML-Enc 1.1 gave it an identifier of its own, which is understood too.
        Sha384 = "sha384", "http://www.w3.org/2001/04/xmldsig-more#sha384" or "http://www.w3.org/2001/04/xmlenc#sha384";
        /// SHA-512.
        Sha512 = "sha512", "http://www.w3.org/2001/04/xmlenc#sha512";
        /// RIPEMD-160.
        Ripemd160 = "ripemd160", "http://www.w3.org/2001/04/xmlenc#ripemd160";
        /// SHA3-224.
        Sha3_224 = "sha3-224", "http://www.w3.org/2007/05/xmldsig-more#sha3-224";
        /// SHA3-256.
        Sha3_256 = "sha3-256", "http://www.w3.org/2007/05/xmldsig-more#sha3-256";
        /// SHA3-384.
        Sha3_384 = "sha3-384", "http://www.w3.org/2007/05/xmldsig-more#sha3-384";
        /// SHA3-512.
        Sha3_512 = "sha3-512", "http://www.w3.org/2007/05/xmldsig-more#sha3-512";
    }
}

impl DigestAlgorithm {
    /// Length of the digest, in bytes.
    #[must_use]
    pub const fn output_length(self) -> usize {
        match self {
            Self::Md5 => 16,
            Self::Sha1 | Self::Ripemd160 => 20,
            Self::Sha224 | Self::Sha3_224 => 28,
            Self::Sha256 | Self::Sha3_256 => 32,
            Self::Sha384 | Self::Sha3_384 => 48,
            Self::Sha512 | Self::Sha3_512 => 64,
        }
    }

    /// Whether collisions are feasible or nearly so (MD5, SHA-1, RIPEMD-160).
    #[must_use]
    pub const fn is_weak(self) -> bool {
        matches!(self, Self::Md5 | Self::Sha1 | Self::Ripemd160)
    }

    /// The identifier of mask generation function 1 over this digest (XML-Enc 1.1 section 5.5.2),
    /// where there is one.
    #[must_use]
    pub const fn mgf1_uri(self) -> Option<&'static str> {
        match self {
            Self::Sha1 => Some("http://www.w3.org/2009/xmlenc11#mgf1sha1"),
            Self::Sha224 => Some("http://www.w3.org/2009/xmlenc11#mgf1sha224"),
            Self::Sha256 => Some("http://www.w3.org/2009/xmlenc11#mgf1sha256"),
            Self::Sha384 => Some("http://www.w3.org/2009/xmlenc11#mgf1sha384"),
            Self::Sha512 => Some("http://www.w3.org/2009/xmlenc11#mgf1sha512"),
            _ => None,
        }
    }

    /// The digest of the mask generation function that `uri` identifies.
    #[must_use]
    pub fn from_mgf1_uri(uri: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|digest| digest.mgf1_uri() == Some(uri))
    }
}

algorithms! {
    /// Block encryption of data (XML-Enc 1.1 section 5.2).
    DataEncryption, unknown = "data encryption algorithm" {
        /// Triple DES in CBC mode.
        TripleDesCbc = "tripledes-cbc", "http://www.w3.org/2001/04/xmlenc#tripledes-cbc";
        /// AES-128 in CBC mode.
        Aes128Cbc = "aes128-cbc", "http://www.w3.org/2001/04/xmlenc#aes128-cbc";
        /// AES-192 in CBC mode.
        Aes192Cbc = "aes192-cbc", "http://www.w3.org/2001/04/xmlenc#aes192-cbc";
        /// AES-256 in CBC mode.
        Aes256Cbc = "aes256-cbc", "http://www.w3.org/2001/04/xmlenc#aes256-cbc";
        /// AES-128 in Galois/Counter mode.
        Aes128Gcm = "aes128-gcm", "http://www.w3.org/2009/xmlenc11#aes128-gcm";
        /// AES-192 in Galois/Counter mode.
        Aes192Gcm = "aes192-gcm", "http://www.w3.org/2009/xmlenc11#aes192-gcm";
        /// AES-256 in Galois/Counter mode.
        Aes256Gcm = "aes256-gcm", "http://www.w3.org/2009/xmlenc11#aes256-gcm";
    }
}

impl DataEncryption {
    /// Length of the key, in bytes (for Triple DES with its parity bits).
    #[must_use]
    pub const fn key_length(self) -> usize {
        match self {
            Self::Aes128Cbc | Self::Aes128Gcm => 16,
            Self::TripleDesCbc | Self::Aes192Cbc | Self::Aes192Gcm => 24,
            Self::Aes256Cbc | Self::Aes256Gcm => 32,
        }
    }

    /// Length of the initialization vector that stands before the ciphertext, in bytes.
    #[must_use]
    pub const fn iv_length(self) -> usize {
        match self {
            Self::TripleDesCbc => 8,
            Self::Aes128Cbc | Self::Aes192Cbc | Self::Aes256Cbc => 16,
            Self::Aes128Gcm | Self::Aes192Gcm | Self::Aes256Gcm => 12,
        }
    }

    /// Length of the authentication tag that stands after the ciphertext, in bytes; 0 in CBC mode.
    #[must_use]
    pub const fn tag_length(self) -> usize {
        if self.is_authenticated() { 16 } else { 0 }
    }

    /// Length of the cipher's block, in bytes: what CBC mode pads to.
    #[must_use]
    pub const fn block_length(self) -> usize {
        match self {
            Self::TripleDesCbc => 8,
            _ => 16,
        }
    }

    /// Whether an altered ciphertext is noticed by the cipher itself.
    #[must_use]
    pub const fn is_authenticated(self) -> bool {
        matches!(self, Self::Aes128Gcm | Self::Aes192Gcm | Self::Aes256Gcm)
    }

    /// Bytes of initialization vector, ciphertext and tag together for a plaintext of that many
    /// bytes.
    #[must_use]
    pub const fn ciphertext_length(self, plaintext_length: usize) -> usize {
        let body = if self.is_authenticated() {
            plaintext_length + self.tag_length()
        } else {
            (plaintext_length / self.block_length() + 1) * self.block_length()
        };
        self.iv_length() + body
    }

    /// Whether a plan has to name it expressly (Triple DES: 64-bit blocks).
    #[must_use]
    pub const fn is_weak(self) -> bool {
        matches!(self, Self::TripleDesCbc)
    }
}

algorithms! {
    /// Encryption of a key to an RSA public key (XML-Enc 1.1 section 5.5).
    KeyTransport, unknown = "key transport algorithm" {
        /// RSAES-PKCS1-v1_5.
        Rsa15 = "rsa-1_5", "http://www.w3.org/2001/04/xmlenc#rsa-1_5";
        /// RSAES-OAEP with MGF1-SHA-1; the digest is a parameter, SHA-1 when absent.
        RsaOaepMgf1p = "rsa-oaep-mgf1p", "http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p";
        /// RSAES-OAEP with digest and mask generation function as parameters, both SHA-1 when
        /// absent.
        RsaOaep = "rsa-oaep", "http://www.w3.org/2009/xmlenc11#rsa-oaep";
    }
}

impl KeyTransport {
    /// Whether a plan has to name it expressly (PKCS#1 v1.5: padding oracles).
    #[must_use]
    pub const fn is_weak(self) -> bool {
        matches!(self, Self::Rsa15)
    }
}

algorithms! {
    /// Encryption of a key with a shared key (XML-Enc 1.1 section 5.7).
    KeyWrap, unknown = "key wrap algorithm" {
        /// Triple DES key wrap (RFC 3217).
        TripleDes = "kw-tripledes", "http://www.w3.org/2001/04/xmlenc#kw-tripledes";
        /// AES-128 key wrap (RFC 3394).
        Aes128 = "kw-aes128", "http://www.w3.org/2001/04/xmlenc#kw-aes128";
        /// AES-192 key wrap (RFC 3394).
        Aes192 = "kw-aes192", "http://www.w3.org/2001/04/xmlenc#kw-aes192";
        /// AES-256 key wrap (RFC 3394).
        Aes256 = "kw-aes256", "http://www.w3.org/2001/04/xmlenc#kw-aes256";
    }
}

impl KeyWrap {
    /// Length of the wrapping key, in bytes.
    #[must_use]
    pub const fn key_length(self) -> usize {
        match self {
            Self::Aes128 => 16,
            Self::TripleDes | Self::Aes192 => 24,
            Self::Aes256 => 32,
        }
    }

    /// Whether a plan has to name it expressly (Triple DES).
    #[must_use]
    pub const fn is_weak(self) -> bool {
        matches!(self, Self::TripleDes)
    }
}

algorithms! {
    /// Agreement on a key between two key pairs (XML-Enc 1.1 section 5.6, RFC 9231 section 2.6).
    KeyAgreement, unknown = "key agreement algorithm" {
        /// Elliptic curve Diffie-Hellman, ephemeral-static.
        EcdhEs = "ecdh-es", "http://www.w3.org/2009/xmlenc11#ECDH-ES";
        /// X25519 (RFC 7748).
        X25519 = "x25519", "http://www.w3.org/2021/04/xmldsig-more#x25519";
        /// X448 (RFC 7748).
        X448 = "x448", "http://www.w3.org/2021/04/xmldsig-more#x448";
    }
}

impl KeyAgreement {
    /// Whether a plan has to name it expressly: none of them.
    #[must_use]
    pub const fn is_weak(self) -> bool {
        false
    }
}

algorithms! {
    /// Derivation of a key from a shared secret or a password (XML-Enc 1.1 section 5.4, RFC 9231
    /// section 2.5).
    KeyDerivation, unknown = "key derivation algorithm" {
        /// Concatenation key derivation function (NIST SP 800-56A).
        ConcatKdf = "concat-kdf", "http://www.w3.org/2009/xmlenc11#ConcatKDF";
        /// Password-based key derivation function 2 (RFC 8018).
        Pbkdf2 = "pbkdf2", "http://www.w3.org/2009/xmlenc11#pbkdf2";
        /// HMAC-based extract-and-expand key derivation function (RFC 5869).
        Hkdf = "hkdf", "http://www.w3.org/2021/04/xmldsig-more#hkdf";
    }
}

impl KeyDerivation {
    /// Whether a plan has to name it expressly: none of them.
    #[must_use]
    pub const fn is_weak(self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_is_found_by_its_uri_and_by_its_short_name() {
        fn all<T: Copy + PartialEq + fmt::Debug>(
            list: &[T],
            uri: fn(T) -> &'static str,
            short: fn(T) -> &'static str,
            from: fn(&str) -> Option<T>,
        ) {
            for &algorithm in list {
                assert_eq!(from(uri(algorithm)), Some(algorithm));
                assert_eq!(from(&short(algorithm).to_uppercase()), Some(algorithm));
            }
        }
        all(
            DigestAlgorithm::ALL,
            DigestAlgorithm::uri,
            DigestAlgorithm::short_name,
            DigestAlgorithm::from_name,
        );
        all(
            SignatureAlgorithm::ALL,
            SignatureAlgorithm::uri,
            SignatureAlgorithm::short_name,
            SignatureAlgorithm::from_name,
        );
        all(
            DataEncryption::ALL,
            DataEncryption::uri,
            DataEncryption::short_name,
            DataEncryption::from_name,
        );
        all(
            KeyTransport::ALL,
            KeyTransport::uri,
            KeyTransport::short_name,
            KeyTransport::from_name,
        );
        all(
            KeyWrap::ALL,
            KeyWrap::uri,
            KeyWrap::short_name,
            KeyWrap::from_name,
        );
        all(
            KeyAgreement::ALL,
            KeyAgreement::uri,
            KeyAgreement::short_name,
            KeyAgreement::from_name,
        );
        all(
            KeyDerivation::ALL,
            KeyDerivation::uri,
            KeyDerivation::short_name,
            KeyDerivation::from_name,
        );
    }

    #[test]
    fn a_uri_that_differs_in_case_is_another_uri() {
        assert_eq!(
            DigestAlgorithm::from_uri("http://www.w3.org/2000/09/xmldsig#SHA1"),
            None
        );
    }

    #[test]
    fn an_unknown_name_is_named_in_the_error() {
        assert_eq!(
            "sha0".parse::<DigestAlgorithm>(),
            Err(UnknownAlgorithm {
                expected: "digest algorithm",
                found: "sha0".to_owned()
            })
        );
    }

    #[test]
    fn mask_generation_functions_are_found_by_their_uri() {
        assert_eq!(
            DigestAlgorithm::from_mgf1_uri("http://www.w3.org/2009/xmlenc11#mgf1sha256"),
            Some(DigestAlgorithm::Sha256)
        );
        assert_eq!(
            DigestAlgorithm::from_mgf1_uri("http://www.w3.org/2001/04/xmlenc#sha256"),
            None
        );
    }

    #[test]
    fn ciphertext_lengths_count_vector_padding_and_tag() {
        assert_eq!(DataEncryption::Aes128Cbc.ciphertext_length(0), 32);
        assert_eq!(DataEncryption::Aes128Cbc.ciphertext_length(15), 32);
        assert_eq!(DataEncryption::Aes128Cbc.ciphertext_length(16), 48);
        assert_eq!(DataEncryption::TripleDesCbc.ciphertext_length(7), 16);
        assert_eq!(DataEncryption::Aes256Gcm.ciphertext_length(5), 33);
    }
}
