//! Keys: private, public and shared.
//!
//! The three are different types, so that a public key that came with a message can never be used
//! as the shared key of an HMAC. All are cheap to clone and keep the parsed forms the libraries
//! need, so that using a key does not parse it again.

mod external;
mod private;
mod public;
mod symmetric;
mod usage;

use std::fmt;

pub use external::{ExternalKey, ExternalKeyError, RsaPadding};
pub use private::PrivateKey;
pub(crate) use private::{AwsKeys, KeyBackend, SoftwareKey};
pub use public::PublicKey;
pub use symmetric::{SymmetricKey, WeakSymmetricKey};
pub use usage::{CipherUsage, GCM_MESSAGES, TRIPLE_DES_BLOCKS};

/// Fewest bits an RSA modulus may have to be read at all. What a plan accepts is stricter.
pub const RSA_MINIMUM_BITS: u32 = 512;

/// Most bits an RSA modulus may have: beyond this, checking one signature takes milliseconds.
pub const RSA_MAXIMUM_BITS: u32 = 16_384;

/// A named elliptic curve for ECDSA and ECDH.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Curve {
    /// NIST P-256 (secp256r1).
    P256,
    /// NIST P-384 (secp384r1).
    P384,
    /// NIST P-521 (secp521r1).
    P521,
    /// brainpoolP256r1 (RFC 5639).
    Brainpool256,
    /// brainpoolP384r1 (RFC 5639).
    Brainpool384,
    /// brainpoolP512r1 (RFC 5639).
    Brainpool512,
}

/// What stands for a curve in DER, in XML and in prose (OpenSSL knows the latter).
struct CurveNames {
    curve: Curve,
    oid: &'static [u8],
    uri: &'static str,
    name: &'static str,
    bits: u32,
}

const CURVES: [CurveNames; 6] = [
    CurveNames {
        curve: Curve::P256,
        oid: &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07],
        uri: "urn:oid:1.2.840.10045.3.1.7",
        name: "P-256",
        bits: 256,
    },
    CurveNames {
        curve: Curve::P384,
        oid: &[0x2b, 0x81, 0x04, 0x00, 0x22],
        uri: "urn:oid:1.3.132.0.34",
        name: "P-384",
        bits: 384,
    },
    CurveNames {
        curve: Curve::P521,
        oid: &[0x2b, 0x81, 0x04, 0x00, 0x23],
        uri: "urn:oid:1.3.132.0.35",
        name: "P-521",
        bits: 521,
    },
    CurveNames {
        curve: Curve::Brainpool256,
        oid: &[0x2b, 0x24, 0x03, 0x03, 0x02, 0x08, 0x01, 0x01, 0x07],
        uri: "urn:oid:1.3.36.3.3.2.8.1.1.7",
        name: "brainpoolP256r1",
        bits: 256,
    },
    CurveNames {
        curve: Curve::Brainpool384,
        oid: &[0x2b, 0x24, 0x03, 0x03, 0x02, 0x08, 0x01, 0x01, 0x0b],
        uri: "urn:oid:1.3.36.3.3.2.8.1.1.11",
        name: "brainpoolP384r1",
        bits: 384,
    },
    CurveNames {
        curve: Curve::Brainpool512,
        oid: &[0x2b, 0x24, 0x03, 0x03, 0x02, 0x08, 0x01, 0x01, 0x0d],
        uri: "urn:oid:1.3.36.3.3.2.8.1.1.13",
        name: "brainpoolP512r1",
        bits: 512,
    },
];

impl Curve {
    const fn names(self) -> &'static CurveNames {
        &CURVES[self as usize]
    }

    fn from_oid(oid: &[u8]) -> Option<Self> {
        CURVES
            .iter()
            .find(|names| names.oid == oid)
            .map(|names| names.curve)
    }

    pub(crate) fn oid(self) -> &'static [u8] {
        self.names().oid
    }

    /// The curve that a `dsig11:NamedCurve` names (XML-DSig 1.1 section 4.5.2.3.1).
    #[must_use]
    pub fn from_uri(uri: &str) -> Option<Self> {
        CURVES
            .iter()
            .find(|names| names.uri == uri)
            .map(|names| names.curve)
    }

    /// The `URI` of `dsig11:NamedCurve`: `urn:oid:` and the object identifier.
    #[must_use]
    pub const fn uri(self) -> &'static str {
        self.names().uri
    }

    /// The usual name, such as `P-256`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.names().name
    }

    /// Bits of the order of the curve's base point.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.names().bits
    }

    /// Bytes of one coordinate, and of each of the two numbers of a signature.
    #[must_use]
    pub const fn coordinate_length(self) -> usize {
        self.names().bits.div_ceil(8) as usize
    }
}

/// What a key is, and how big.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum KeyKind {
    /// RSA with a modulus of that many bits.
    Rsa {
        /// Bits of the modulus.
        bits: u32,
    },
    /// An elliptic curve key for ECDSA and ECDH.
    Ec(Curve),
    /// DSA with a prime of that many bits.
    Dsa {
        /// Bits of the prime `p`.
        bits: u32,
    },
    /// Ed25519, for signatures.
    Ed25519,
    /// Ed448, for signatures.
    Ed448,
    /// X25519, for key agreement.
    X25519,
    /// X448, for key agreement.
    X448,
}

impl KeyKind {
    /// The size that is usually quoted, in bits: modulus, prime or order.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Rsa { bits } | Self::Dsa { bits } => bits,
            Self::Ec(curve) => curve.bits(),
            Self::Ed25519 | Self::X25519 => 255,
            Self::Ed448 | Self::X448 => 448,
        }
    }
}

impl fmt::Display for KeyKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rsa { bits } => write!(formatter, "RSA of {bits} bits"),
            Self::Dsa { bits } => write!(formatter, "DSA of {bits} bits"),
            Self::Ec(curve) => write!(formatter, "EC on {}", curve.name()),
            Self::Ed25519 => formatter.write_str("Ed25519"),
            Self::Ed448 => formatter.write_str("Ed448"),
            Self::X25519 => formatter.write_str("X25519"),
            Self::X448 => formatter.write_str("X448"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_curves_is_in_the_order_of_the_enum() {
        for names in &CURVES {
            assert_eq!(names.curve.name(), names.name);
            assert_eq!(Curve::from_uri(names.uri), Some(names.curve));
            assert_eq!(Curve::from_oid(names.oid), Some(names.curve));
        }
    }
}
