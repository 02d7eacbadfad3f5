//! The strength of algorithms and keys, in bits of security.
//!
//! The numbers are those of NIST SP 800-57 part 1 revision 5, tables 2 and 3; below them, what
//! attacks that were carried out leave.
//!
//! The rule kept here: where two numbers can be given, it is the smaller one.

use crate::algorithms::{DataEncryption, DigestAlgorithm, SignatureAlgorithm};
use crate::key::KeyKind;

impl DigestAlgorithm {
    /// Strength against collisions: of a signature over something that another party may have
    /// chosen.
    #[must_use]
    pub const fn collision_strength(self) -> u16 {
        match self {
            // Stevens et al., 2009 (chosen prefixes within a day); Leurent and Peyrin, 2020.
            Self::Md5 => 39,
            Self::Sha1 => 61,
            Self::Ripemd160 => 80,
            Self::Sha224 | Self::Sha3_224 => 112,
            Self::Sha256 | Self::Sha3_256 => 128,
            Self::Sha384 | Self::Sha3_384 => 192,
            Self::Sha512 | Self::Sha3_512 => 256,
        }
    }

    /// Strength as the digest of an HMAC, where collisions do not matter.
    #[must_use]
    pub const fn mac_strength(self) -> u16 {
        match self {
            Self::Md5 | Self::Sha1 | Self::Ripemd160 => 128,
            Self::Sha224 | Self::Sha3_224 => 224,
            _ => 256,
        }
    }
}

impl SignatureAlgorithm {
    /// Strength of the algorithm, whatever its key.
    #[must_use]
    pub const fn strength(self) -> u16 {
        match (self, self.digest()) {
            (Self::Ed25519, _) => 128,
            (Self::Ed448, _) | (_, None) => 224,
            (_, Some(digest)) if self.is_mac() => digest.mac_strength(),
            (_, Some(digest)) => digest.collision_strength(),
        }
    }
}

impl DataEncryption {
    /// Strength of the algorithm with a key of its length.
    #[must_use]
    pub const fn strength(self) -> u16 {
        match self {
            // 112 by the table; its blocks of 64 bits repeat themselves long before
            // (CVE-2016-2183).
            Self::TripleDesCbc => 80,
            Self::Aes128Cbc | Self::Aes128Gcm => 128,
            Self::Aes192Cbc | Self::Aes192Gcm => 192,
            Self::Aes256Cbc | Self::Aes256Gcm => 256,
        }
    }
}

impl KeyKind {
    /// Strength of the key.
    #[must_use]
    pub const fn strength(self) -> u16 {
        match self {
            Self::Rsa { bits } | Self::Dsa { bits } => of_modulus(bits),
            Self::Ec(curve) => {
                let half = curve.bits() / 2;
                if half > 256 { 256 } else { half as u16 }
            }
            Self::Ed25519 | Self::X25519 => 128,
            Self::Ed448 | Self::X448 => 224,
        }
    }
}

/// Strength of RSA and DSA with a modulus of so many bits.
const fn of_modulus(bits: u32) -> u16 {
    match bits {
        15360.. => 256,
        7680.. => 192,
        3072.. => 128,
        2048.. => 112,
        1024.. => 80,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Curve;

    #[test]
    fn strengths_are_those_of_the_tables() {
        for (bits, strength) in [
            (512, 0),
            (1024, 80),
            (2047, 80),
            (2048, 112),
            (3072, 128),
            (4096, 128),
            (7680, 192),
            (15360, 256),
        ] {
            assert_eq!(KeyKind::Rsa { bits }.strength(), strength, "{bits}");
        }
        assert_eq!(KeyKind::Ec(Curve::P256).strength(), 128);
        assert_eq!(KeyKind::Ec(Curve::P384).strength(), 192);
        for (algorithm, strength) in [
            (SignatureAlgorithm::RsaSha1, 61),
            (SignatureAlgorithm::RsaSha256, 128),
            (SignatureAlgorithm::RsaPssSha512, 256),
            (SignatureAlgorithm::HmacSha1, 128),
            (SignatureAlgorithm::HmacSha256, 256),
            (SignatureAlgorithm::Ed25519, 128),
        ] {
            assert_eq!(algorithm.strength(), strength, "{algorithm}");
        }
        assert_eq!(DataEncryption::TripleDesCbc.strength(), 80);
        assert_eq!(DataEncryption::Aes256Gcm.strength(), 256);
    }
}
