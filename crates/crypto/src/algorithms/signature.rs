//! Algorithms of signatures and of message authentication.

use std::fmt;

use super::DigestAlgorithm;
use super::table::{UnknownAlgorithm, algorithms};

algorithms! {
    /// Signature and message authentication algorithms (XML-DSig 1.1 sections 6.3 and 6.4, RFC 9231
    /// sections 2.2 and 2.3).
    SignatureAlgorithm, unknown = "signature algorithm" {
        /// RSASSA-PKCS1-v1_5 with MD5.
        RsaMd5 = "rsa-md5", "http://www.w3.org/2001/04/xmldsig-more#rsa-md5";
        /// RSASSA-PKCS1-v1_5 with RIPEMD-160.
        RsaRipemd160 = "rsa-ripemd160", "http://www.w3.org/2001/04/xmldsig-more#rsa-ripemd160";
        /// RSASSA-PKCS1-v1_5 with SHA-1.
        RsaSha1 = "rsa-sha1", "http://www.w3.org/2000/09/xmldsig#rsa-sha1";
        /// RSASSA-PKCS1-v1_5 with SHA-224.
        RsaSha224 = "rsa-sha224", "http://www.w3.org/2001/04/xmldsig-more#rsa-sha224";
        /// RSASSA-PKCS1-v1_5 with SHA-256.
        RsaSha256 = "rsa-sha256", "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";
        /// RSASSA-PKCS1-v1_5 with SHA-384.
        RsaSha384 = "rsa-sha384", "http://www.w3.org/2001/04/xmldsig-more#rsa-sha384";
        /// RSASSA-PKCS1-v1_5 with SHA-512.
        RsaSha512 = "rsa-sha512", "http://www.w3.org/2001/04/xmldsig-more#rsa-sha512";
        /// RSASSA-PSS with SHA-1 and MGF1-SHA-1.
        RsaPssSha1 = "rsa-pss-sha1", "http://www.w3.org/2007/05/xmldsig-more#sha1-rsa-MGF1";
        /// RSASSA-PSS with SHA-224 and MGF1-SHA-224.
        RsaPssSha224 = "rsa-pss-sha224", "http://www.w3.org/2007/05/xmldsig-more#sha224-rsa-MGF1";
        /// RSASSA-PSS with SHA-256 and MGF1-SHA-256.
        RsaPssSha256 = "rsa-pss-sha256", "http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1";
        /// RSASSA-PSS with SHA-384 and MGF1-SHA-384.
        RsaPssSha384 = "rsa-pss-sha384", "http://www.w3.org/2007/05/xmldsig-more#sha384-rsa-MGF1";
        /// RSASSA-PSS with SHA-512 and MGF1-SHA-512.
        RsaPssSha512 = "rsa-pss-sha512", "http://www.w3.org/2007/05/xmldsig-more#sha512-rsa-MGF1";
        /// RSASSA-PSS with SHA3-224 and MGF1 over it.
        RsaPssSha3_224 = "rsa-pss-sha3-224", "http://www.w3.org/2007/05/xmldsig-more#sha3-224-rsa-MGF1";
        /// RSASSA-PSS with SHA3-256 and MGF1 over it.
        RsaPssSha3_256 = "rsa-pss-sha3-256", "http://www.w3.org/2007/05/xmldsig-more#sha3-256-rsa-MGF1";
        /// RSASSA-PSS with SHA3-384 and MGF1 over it.
        RsaPssSha3_384 = "rsa-pss-sha3-384", "http://www.w3.org/2007/05/xmldsig-more#sha3-384-rsa-MGF1";
        /// RSASSA-PSS with SHA3-512 and MGF1 over it.
        RsaPssSha3_512 = "rsa-pss-sha3-512", "http://www.w3.org/2007/05/xmldsig-more#sha3-512-rsa-MGF1";
        /// ECDSA with RIPEMD-160.
        EcdsaRipemd160 = "ecdsa-ripemd160", "http://www.w3.org/2007/05/xmldsig-more#ecdsa-ripemd160";
        /// ECDSA with SHA-1.
        EcdsaSha1 = "ecdsa-sha1", "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha1";
        /// ECDSA with SHA-224.
        EcdsaSha224 = "ecdsa-sha224", "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha224";
        /// ECDSA with SHA-256.
        EcdsaSha256 = "ecdsa-sha256", "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256";
        /// ECDSA with SHA-384.
        EcdsaSha384 = "ecdsa-sha384", "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384";
        /// ECDSA with SHA-512.
        EcdsaSha512 = "ecdsa-sha512", "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha512";
        /// ECDSA with SHA3-224.
        EcdsaSha3_224 = "ecdsa-sha3-224", "http://www.w3.org/2021/04/xmldsig-more#ecdsa-sha3-224";
        /// ECDSA with SHA3-256.
        EcdsaSha3_256 = "ecdsa-sha3-256", "http://www.w3.org/2021/04/xmldsig-more#ecdsa-sha3-256";
        /// ECDSA with SHA3-384.
        EcdsaSha3_384 = "ecdsa-sha3-384", "http://www.w3.org/2021/04/xmldsig-more#ecdsa-sha3-384";
        /// ECDSA with SHA3-512.
        EcdsaSha3_512 = "ecdsa-sha3-512", "http://www.w3.org/2021/04/xmldsig-more#ecdsa-sha3-512";
        /// DSA with SHA-1.
        DsaSha1 = "dsa-sha1", "http://www.w3.org/2000/09/xmldsig#dsa-sha1";
        /// DSA with SHA-256.
        DsaSha256 = "dsa-sha256", "http://www.w3.org/2009/xmldsig11#dsa-sha256";
        /// Ed25519 (RFC 8032), pure.
        Ed25519 = "ed25519", "http://www.w3.org/2021/04/xmldsig-more#eddsa-ed25519";
        /// Ed448 (RFC 8032), pure.
        Ed448 = "ed448", "http://www.w3.org/2021/04/xmldsig-more#eddsa-ed448";
        /// HMAC with MD5.
        HmacMd5 = "hmac-md5", "http://www.w3.org/2001/04/xmldsig-more#hmac-md5";
        /// HMAC with RIPEMD-160.
        HmacRipemd160 = "hmac-ripemd160", "http://www.w3.org/2001/04/xmldsig-more#hmac-ripemd160";
        /// HMAC with SHA-1. Collisions of SHA-1 do not touch it.
        HmacSha1 = "hmac-sha1", "http://www.w3.org/2000/09/xmldsig#hmac-sha1";
        /// HMAC with SHA-224.
        HmacSha224 = "hmac-sha224", "http://www.w3.org/2001/04/xmldsig-more#hmac-sha224";
        /// HMAC with SHA-256.
        HmacSha256 = "hmac-sha256", "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256";
        /// HMAC with SHA-384.
        HmacSha384 = "hmac-sha384", "http://www.w3.org/2001/04/xmldsig-more#hmac-sha384";
        /// HMAC with SHA-512.
        HmacSha512 = "hmac-sha512", "http://www.w3.org/2001/04/xmldsig-more#hmac-sha512";
    }
}

/// What kind of key and padding a [`SignatureAlgorithm`] needs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SignatureFamily {
    /// RSASSA-PKCS1-v1_5.
    RsaPkcs1,
    /// RSASSA-PSS, salt as long as the digest.
    RsaPss,
    /// ECDSA, the signature being the two integers side by side.
    Ecdsa,
    /// DSA, the signature being the two integers side by side.
    Dsa,
    /// Edwards curves.
    EdDsa,
    /// HMAC: a [`SymmetricKey`](crate::SymmetricKey), never a public one.
    Hmac,
}

impl SignatureAlgorithm {
    /// The kind of key and padding.
    #[must_use]
    pub const fn family(self) -> SignatureFamily {
        use SignatureFamily::{Dsa, Ecdsa, EdDsa, Hmac, RsaPkcs1, RsaPss};
        match self {
            Self::RsaMd5
            | Self::RsaRipemd160
            | Self::RsaSha1
            | Self::RsaSha224
            | Self::RsaSha256
            | Self::RsaSha384
            | Self::RsaSha512 => RsaPkcs1,
            Self::RsaPssSha1
            | Self::RsaPssSha224
            | Self::RsaPssSha256
            | Self::RsaPssSha384
            | Self::RsaPssSha512
            | Self::RsaPssSha3_224
            | Self::RsaPssSha3_256
            | Self::RsaPssSha3_384
            | Self::RsaPssSha3_512 => RsaPss,
            Self::EcdsaRipemd160
            | Self::EcdsaSha1
            | Self::EcdsaSha224
            | Self::EcdsaSha256
            | Self::EcdsaSha384
            | Self::EcdsaSha512
            | Self::EcdsaSha3_224
            | Self::EcdsaSha3_256
            | Self::EcdsaSha3_384
            | Self::EcdsaSha3_512 => Ecdsa,
            Self::DsaSha1 | Self::DsaSha256 => Dsa,
            Self::Ed25519 | Self::Ed448 => EdDsa,
            Self::HmacMd5
            | Self::HmacRipemd160
            | Self::HmacSha1
            | Self::HmacSha224
            | Self::HmacSha256
            | Self::HmacSha384
            | Self::HmacSha512 => Hmac,
        }
    }

    /// The digest inside, or `None` for the Edwards curves, which hash as they please.
    #[must_use]
    pub const fn digest(self) -> Option<DigestAlgorithm> {
        Some(match self {
            Self::RsaMd5 | Self::HmacMd5 => DigestAlgorithm::Md5,
            Self::RsaRipemd160 | Self::EcdsaRipemd160 | Self::HmacRipemd160 => {
                DigestAlgorithm::Ripemd160
            }
            Self::RsaSha1 | Self::RsaPssSha1 | Self::EcdsaSha1 | Self::DsaSha1 | Self::HmacSha1 => {
                DigestAlgorithm::Sha1
            }
            Self::RsaSha224 | Self::RsaPssSha224 | Self::EcdsaSha224 | Self::HmacSha224 => {
                DigestAlgorithm::Sha224
            }
            Self::RsaSha256
            | Self::RsaPssSha256
            | Self::EcdsaSha256
            | Self::DsaSha256
            | Self::HmacSha256 => DigestAlgorithm::Sha256,
            Self::RsaSha384 | Self::RsaPssSha384 | Self::EcdsaSha384 | Self::HmacSha384 => {
                DigestAlgorithm::Sha384
            }
            Self::RsaSha512 | Self::RsaPssSha512 | Self::EcdsaSha512 | Self::HmacSha512 => {
                DigestAlgorithm::Sha512
            }
            Self::RsaPssSha3_224 | Self::EcdsaSha3_224 => DigestAlgorithm::Sha3_224,
            Self::RsaPssSha3_256 | Self::EcdsaSha3_256 => DigestAlgorithm::Sha3_256,
            Self::RsaPssSha3_384 | Self::EcdsaSha3_384 => DigestAlgorithm::Sha3_384,
            Self::RsaPssSha3_512 | Self::EcdsaSha3_512 => DigestAlgorithm::Sha3_512,
            Self::Ed25519 | Self::Ed448 => return None,
        })
    }

    /// Whether this is message authentication with a shared key rather than a signature.
    #[must_use]
    pub const fn is_mac(self) -> bool {
        matches!(self.family(), SignatureFamily::Hmac)
    }

    /// Whether a plan has to name it expressly: DSA, and every signature over MD5, SHA-1 or
    /// RIPEMD-160.
    ///
    /// HMAC-SHA-1 is not weak: it needs no resistance to collisions. HMAC-MD5 is, to keep MD5 out
    /// altogether.
    #[must_use]
    pub const fn is_weak(self) -> bool {
        match self {
            Self::HmacSha1 => false,
            Self::DsaSha256 => true,
            other => match other.digest() {
                Some(digest) => digest.is_weak(),
                None => false,
            },
        }
    }
}
