//! Every algorithm the product can name, as closed enums keyed by their URI.
//!
//! A plan is a set of these values, so an algorithm that is not listed here cannot be asked for,
//! and one that is not in the plan is refused before a key is touched. The rule this file keeps:
//! one variant, one identifier of a published specification; nothing is guessed from the shape of a
//! URI.

use std::fmt;

/// Writes one enum of algorithms together with its table of names.
macro_rules! algorithms {
    (
        $(#[$about:meta])*
        $name:ident, unknown = $what:literal {
            $( $(#[$note:meta])* $variant:ident = $short:literal, $uri:literal $(or $alias:literal)*; )*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum $name { $( $(#[$note])* #[doc = concat!("\n\n`", $uri, "`")] $variant, )* }

        impl $name {
            /// Every algorithm of this kind, in the order of the specification's tables.
            pub const ALL: &'static [$name] = &[$( $name::$variant, )*];

            /// The algorithm that `uri` identifies, or `None` when this crate has no such
            /// algorithm.
            ///
            /// Comparison is byte by byte, as XML Signature and XML Encryption demand of
            /// identifiers.
            #[must_use]
            pub fn from_uri(uri: &str) -> Option<Self> {
                match uri { $( $uri $(| $alias)* => Some($name::$variant), )* _ => None }
            }

            /// The identifier written into messages.
            #[must_use]
            pub const fn uri(self) -> &'static str {
                match self { $( $name::$variant => $uri, )* }
            }

            /// The name used in configuration files, on the command line and in logs.
            #[must_use]
            pub const fn short_name(self) -> &'static str {
                match self { $( $name::$variant => $short, )* }
            }

            /// The algorithm with this short name (in any case) or this URI.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::from_uri(name)
                    .or_else(|| Self::ALL.iter().copied().find(|known| known.short_name().eq_ignore_ascii_case(name)))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.pad(self.short_name())
            }
        }

        impl std::str::FromStr for $name {
            type Err = UnknownAlgorithm;

            fn from_str(name: &str) -> Result<Self, UnknownAlgorithm> {
                Self::from_name(name).ok_or_else(|| UnknownAlgorithm { expected: $what, found: name.to_owned() })
            }
        }
    };
}

/// A name or URI that is not an algorithm of the kind that was expected there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownAlgorithm {
    /// The kind of algorithm, for example `digest algorithm`.
    pub expected: &'static str,
    /// The name or URI as it was given.
    pub found: String,
}

impl fmt::Display for UnknownAlgorithm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "expected a {}, found `{}`",
            self.expected, self.found
        )
    }
}

impl std::error::Error for UnknownAlgorithm {}

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
