//! Public keys: read from certificates and messages, and made from the numbers of `ds:KeyValue`.
//!
//! Everything a message can say about a key is checked here, before a library sees it: sizes,
//! exponents, known curves; points are checked to lie on their curve when the key is made.

use std::fmt;
use std::sync::{Arc, OnceLock};

use aws_lc_rs::agreement;
use aws_lc_rs::rsa::{OaepPublicEncryptingKey, Pkcs1PublicEncryptingKey, PublicEncryptingKey};
use aws_lc_rs::signature::{ParsedPublicKey, VerificationAlgorithm};
use openssl::bn::BigNum;
use openssl::dsa::Dsa;
use openssl::error::ErrorStack;
use openssl::pkey::{PKey, PKeyRef, Public};
use openssl::rsa::Rsa;

use super::{Curve, KeyKind, RSA_MAXIMUM_BITS, RSA_MINIMUM_BITS};
use crate::aws_algorithms::{VERIFIERS, aws_verifier, usual_algorithm};
use crate::context_pool::ContextPool;
use crate::der::{self, NotDer, Reader};
use crate::error::CryptoError;
use crate::keystore::pem;

const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const DSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x38, 0x04, 0x01];
const X25519: &[u8] = &[0x2b, 0x65, 0x6e];
const X448: &[u8] = &[0x2b, 0x65, 0x6f];
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
const ED448: &[u8] = &[0x2b, 0x65, 0x71];

/// A public key. Cheap to clone.
#[derive(Clone)]
pub struct PublicKey(Arc<Inner>);

struct Inner {
    spki: Vec<u8>,
    /// Where in `spki` the contents of the bit string lie.
    bits_start: usize,
    kind: KeyKind,
    openssl: OnceLock<Option<PKey<Public>>>,
    contexts: ContextPool<Public>,
    oaep: OnceLock<Option<OaepPublicEncryptingKey>>,
    pkcs1: OnceLock<Option<Pkcs1PublicEncryptingKey>>,
    agreeing: OnceLock<Option<agreement::ParsedPublicKey>>,
    /// One parsed form per signature algorithm of `aws-lc-rs`, made at first use.
    verifiers: [OnceLock<Option<ParsedPublicKey>>; VERIFIERS],
}

impl PublicKey {
    /// Reads an X.509 `SubjectPublicKeyInfo` (also the contents of `dsig11:DEREncodedKeyValue`).
    ///
    /// # Errors
    ///
    /// [`CryptoError::Malformed`] if it is not one; [`CryptoError::RsaSize`] and
    /// [`CryptoError::RsaExponent`] for RSA keys out of bounds; [`CryptoError::Unsupported`]
    /// for other kinds of keys, and for curves that are not named or not known.
    pub fn from_spki_der(spki: &[u8]) -> Result<Self, CryptoError> {
        let key = Self::read(spki)?;
        key.require_point_on_curve()?;
        Ok(key)
    }

    /// Reads a `SubjectPublicKeyInfo`; whether a point lies on its curve is not looked at.
    fn read(spki: &[u8]) -> Result<Self, CryptoError> {
        let malformed = || NotDer::reading("a public key (SubjectPublicKeyInfo)");
        let mut outer = Reader::new(spki);
        let mut reader = outer.enter(der::SEQUENCE).map_err(malformed())?;
        outer.end().map_err(malformed())?;
        let mut algorithm = reader.enter(der::SEQUENCE).map_err(malformed())?;
        let oid = algorithm.expect(der::OID).map_err(malformed())?;
        let bits = reader.bit_string().map_err(malformed())?;
        reader.end().map_err(malformed())?;
        let kind = match oid {
            RSA => {
                let (modulus, exponent) = rsa_numbers(bits).map_err(malformed())?;
                rsa_kind(modulus, exponent)?
            }
            EC => KeyKind::Ec(named_curve(algorithm, bits)?),
            DSA => dsa_kind(algorithm, bits).map_err(malformed())?,
            X25519 if bits.len() == 32 => KeyKind::X25519,
            ED25519 if bits.len() == 32 => KeyKind::Ed25519,
            X448 if bits.len() == 56 => KeyKind::X448,
            ED448 if bits.len() == 57 => KeyKind::Ed448,
            X25519 | ED25519 | X448 | ED448 => return Err(malformed()(NotDer)),
            _ => {
                return Err(CryptoError::Unsupported {
                    what: format!("a public key of type {}", der::dotted(oid)),
                });
            }
        };
        Ok(Self(Arc::new(Inner {
            spki: spki.to_vec(),
            bits_start: spki.len() - bits.len(),
            kind,
            openssl: OnceLock::new(),
            contexts: ContextPool::new(),
            oaep: OnceLock::new(),
            pkcs1: OnceLock::new(),
            agreeing: OnceLock::new(),
            verifiers: [const { OnceLock::new() }; VERIFIERS],
        })))
    }

    /// The public half of a key pair that a library has just made: its point needs no check.
    pub(crate) fn generated(kind: KeyKind, octets: &[u8]) -> Result<Self, CryptoError> {
        match kind {
            KeyKind::Ec(curve) => {
                Self::read(&spki(EC, &der::element(der::OID, &[curve.oid()]), octets))
            }
            _ => Self::x25519(octets),
        }
    }

    /// Reads a PEM block `PUBLIC KEY` or `RSA PUBLIC KEY`; `None` for blocks of other labels.
    pub(crate) fn from_pem_block(block: &pem::Block<'_>) -> Option<Result<Self, CryptoError>> {
        let bytes = block.octets.expose();
        match block.label {
            "PUBLIC KEY" => Some(Self::from_spki_der(bytes)),
            "RSA PUBLIC KEY" => Some(
                rsa_numbers(bytes)
                    .map_err(NotDer::reading("an RSA public key"))
                    .and_then(|(modulus, exponent)| Self::rsa(modulus, exponent)),
            ),
            _ => None,
        }
    }

    /// An RSA key from modulus and exponent, big-endian, as in `ds:RSAKeyValue`. Leading zeros do
    /// not matter.
    ///
    /// # Errors
    ///
    /// [`CryptoError::RsaSize`], [`CryptoError::RsaExponent`].
    pub fn rsa(modulus: &[u8], exponent: &[u8]) -> Result<Self, CryptoError> {
        let numbers = der::element(
            der::SEQUENCE,
            &[&der::positive(modulus), &der::positive(exponent)],
        );
        let kind = rsa_kind(without_zeros(modulus), without_zeros(exponent))?;
        debug_assert!(matches!(kind, KeyKind::Rsa { .. }));
        Self::from_spki_der(&spki(RSA, &der::element(der::NULL, &[]), &numbers))
    }

    /// An elliptic curve key from its point, as in `dsig11:ECKeyValue`: `04`, x and y, or
    /// compressed.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Malformed`] if the point does not lie on the curve.
    pub fn ec(curve: Curve, point: &[u8]) -> Result<Self, CryptoError> {
        Self::from_spki_der(&spki(EC, &der::element(der::OID, &[curve.oid()]), point))
    }

    /// An Ed25519 key from its 32 bytes.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Malformed`] if there are more or fewer.
    pub fn ed25519(octets: &[u8]) -> Result<Self, CryptoError> {
        Self::from_spki_der(&spki(ED25519, &[], octets))
    }

    /// An X25519 key from its 32 bytes.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Malformed`] if there are more or fewer.
    pub fn x25519(octets: &[u8]) -> Result<Self, CryptoError> {
        Self::from_spki_der(&spki(X25519, &[], octets))
    }

    /// A DSA key from the numbers of `ds:DSAKeyValue`, big-endian.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Malformed`] or [`CryptoError::Unsupported`] if their sizes cannot be.
    pub fn dsa(p: &[u8], q: &[u8], g: &[u8], y: &[u8]) -> Result<Self, CryptoError> {
        let parameters = der::element(
            der::SEQUENCE,
            &[&der::positive(p), &der::positive(q), &der::positive(g)],
        );
        Self::from_spki_der(&spki(DSA, &parameters, &der::positive(y)))
    }

    /// What the key is, and how big.
    #[must_use]
    pub fn kind(&self) -> KeyKind {
        self.0.kind
    }

    /// The size that is usually quoted: [`KeyKind::bits`].
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.0.kind.bits()
    }

    /// The X.509 `SubjectPublicKeyInfo`.
    #[must_use]
    pub fn spki_der(&self) -> &[u8] {
        &self.0.spki
    }

    /// The contents of the bit string inside [`spki_der`](Self::spki_der): what a subject key
    /// identifier is computed from.
    #[must_use]
    pub fn key_bits(&self) -> &[u8] {
        &self.0.spki[self.0.bits_start..]
    }

    /// Modulus and exponent of an RSA key, big-endian without leading zeros, as `ds:RSAKeyValue`
    /// wants them.
    #[must_use]
    pub fn rsa_components(&self) -> Option<(&[u8], &[u8])> {
        match self.0.kind {
            KeyKind::Rsa { .. } => rsa_numbers(self.key_bits()).ok(),
            _ => None,
        }
    }

    /// Curve and encoded point of an elliptic curve key, as `dsig11:ECKeyValue` wants them.
    #[must_use]
    pub fn ec_components(&self) -> Option<(Curve, &[u8])> {
        match self.0.kind {
            KeyKind::Ec(curve) => Some((curve, self.key_bits())),
            _ => None,
        }
    }

    /// `p`, `q`, `g` and `y` of a DSA key, big-endian without leading zeros, as `ds:DSAKeyValue`
    /// wants them.
    #[must_use]
    pub fn dsa_components(&self) -> Option<[&[u8]; 4]> {
        let KeyKind::Dsa { .. } = self.0.kind else {
            return None;
        };
        let mut outer = Reader::new(&self.0.spki).enter(der::SEQUENCE).ok()?;
        let mut algorithm = outer.enter(der::SEQUENCE).ok()?;
        algorithm.expect(der::OID).ok()?;
        let [p, q, g] = dsa_parameters(algorithm).ok()?;
        Some([p, q, g, Reader::new(self.key_bits()).positive().ok()?])
    }

    /// Fails if this is an elliptic curve key whose point is not on its curve.
    fn require_point_on_curve(&self) -> Result<(), CryptoError> {
        let KeyKind::Ec(curve) = self.0.kind else {
            return Ok(());
        };
        match usual_algorithm(curve).and_then(|usual| aws_verifier(usual, self.0.kind)) {
            Some((slot, algorithm)) => self
                .verifier(slot, algorithm)
                .map(drop)
                .ok_or_else(|| self.invalid()),
            None => self.openssl().map(drop),
        }
    }

    fn invalid(&self) -> CryptoError {
        CryptoError::Malformed {
            expected: "a valid public key",
            found: format!("one that is not ({})", self.0.kind),
        }
    }

    /// The key as OpenSSL has it. Making it checks that a point lies on its curve.
    pub(crate) fn openssl(&self) -> Result<&PKeyRef<Public>, CryptoError> {
        self.0
            .openssl
            .get_or_init(|| self.make_openssl().ok())
            .as_deref()
            .ok_or_else(|| self.invalid())
    }

    pub(crate) fn contexts(&self) -> &ContextPool<Public> {
        &self.0.contexts
    }

    /// Built from its numbers where there are some: OpenSSL 3 takes 0.1 ms and more to read DER.
    fn make_openssl(&self) -> Result<PKey<Public>, ErrorStack> {
        let number = BigNum::from_slice;
        if let Some((modulus, exponent)) = self.rsa_components() {
            return PKey::from_rsa(Rsa::from_public_components(
                number(modulus)?,
                number(exponent)?,
            )?);
        }
        if let Some([p, q, g, y]) = self.dsa_components() {
            return PKey::from_dsa(Dsa::from_public_components(
                number(p)?,
                number(q)?,
                number(g)?,
                number(y)?,
            )?);
        }
        PKey::public_key_from_der(&self.0.spki)
    }

    /// The key for PKCS#1 v1.5, if `aws-lc-rs` takes it (RSA from 2048 to 8192 bits).
    pub(crate) fn pkcs1_key(&self) -> Option<&Pkcs1PublicEncryptingKey> {
        self.0
            .pkcs1
            .get_or_init(|| {
                let key = PublicEncryptingKey::from_der(&self.0.spki).ok()?;
                Pkcs1PublicEncryptingKey::new(key).ok()
            })
            .as_ref()
    }

    /// The key for OAEP, if `aws-lc-rs` takes it (RSA from 2048 to 8192 bits).
    pub(crate) fn oaep_key(&self) -> Option<&OaepPublicEncryptingKey> {
        self.0
            .oaep
            .get_or_init(|| {
                let key = PublicEncryptingKey::from_der(&self.0.spki).ok()?;
                OaepPublicEncryptingKey::new(key).ok()
            })
            .as_ref()
    }

    /// The key for agreement, if `aws-lc-rs` takes it. Making it checks that a point lies on its
    /// curve.
    pub(crate) fn agreeing(
        &self,
        algorithm: &'static agreement::Algorithm,
    ) -> Option<&agreement::ParsedPublicKey> {
        self.0
            .agreeing
            .get_or_init(|| {
                agreement::UnparsedPublicKey::new(algorithm, self.key_bits())
                    .try_into()
                    .ok()
            })
            .as_ref()
    }

    /// The key parsed for one of the algorithms of `aws-lc-rs`; `slot` tells them apart.
    pub(crate) fn verifier(
        &self,
        slot: usize,
        algorithm: &'static dyn VerificationAlgorithm,
    ) -> Option<&ParsedPublicKey> {
        self.0.verifiers[slot]
            .get_or_init(|| ParsedPublicKey::new(algorithm, self.key_bits()).ok())
            .as_ref()
    }
}

fn spki(oid: &[u8], parameters: &[u8], bits: &[u8]) -> Vec<u8> {
    let algorithm = der::element(
        der::SEQUENCE,
        &[&der::element(der::OID, &[oid]), parameters],
    );
    der::element(der::SEQUENCE, &[&algorithm, &der::bit_string(bits)])
}

fn without_zeros(magnitude: &[u8]) -> &[u8] {
    let skipped = magnitude.iter().take_while(|&&octet| octet == 0).count();
    &magnitude[skipped..]
}

fn bit_length(magnitude: &[u8]) -> u32 {
    match magnitude {
        [] => 0,
        [first, rest @ ..] => (rest.len() as u32) * 8 + (8 - first.leading_zeros()),
    }
}

/// Modulus and exponent of an `RSAPublicKey` (RFC 8017 A.1.1).
fn rsa_numbers(bits: &[u8]) -> Result<(&[u8], &[u8]), NotDer> {
    let mut outer = Reader::new(bits);
    let mut numbers = outer.enter(der::SEQUENCE)?;
    outer.end()?;
    let found = (numbers.positive()?, numbers.positive()?);
    numbers.end()?;
    Ok(found)
}

fn rsa_kind(modulus: &[u8], exponent: &[u8]) -> Result<KeyKind, CryptoError> {
    let bits = bit_length(modulus);
    let (minimum, maximum) = (RSA_MINIMUM_BITS, RSA_MAXIMUM_BITS);
    if bits < minimum || bits > maximum {
        return Err(CryptoError::RsaSize {
            bits,
            minimum,
            maximum,
        });
    }
    // 33 bits is what AWS-LC accepts; every exponent in use has at most 17.
    let odd = exponent.last().is_some_and(|last| last & 1 == 1);
    if !odd || exponent == [1] || bit_length(exponent) > 33 {
        return Err(CryptoError::RsaExponent);
    }
    Ok(KeyKind::Rsa { bits })
}

fn named_curve(mut algorithm: Reader<'_>, point: &[u8]) -> Result<Curve, CryptoError> {
    let unsupported = |what: String| CryptoError::Unsupported { what };
    let oid = algorithm.expect(der::OID).map_err(|_| {
        unsupported("an elliptic curve given by its parameters instead of its name".into())
    })?;
    let curve = Curve::from_oid(oid)
        .ok_or_else(|| unsupported(format!("the elliptic curve {}", der::dotted(oid))))?;
    let length = curve.coordinate_length();
    match point {
        [0x04, rest @ ..] if rest.len() == 2 * length => Ok(curve),
        [0x02 | 0x03, rest @ ..] if rest.len() == length => Ok(curve),
        _ => Err(CryptoError::Malformed {
            expected: "a point of the named curve",
            found: format!("{} bytes that are none", point.len()),
        }),
    }
}

fn dsa_parameters(mut algorithm: Reader<'_>) -> Result<[&[u8]; 3], NotDer> {
    let mut numbers = algorithm.enter(der::SEQUENCE)?;
    let found = [
        numbers.positive()?,
        numbers.positive()?,
        numbers.positive()?,
    ];
    numbers.end()?;
    Ok(found)
}

/// DSA primes of 512 to 3072 bits with subgroups of 160, 224 or 256 bits (FIPS 186-4 section 4.2,
/// and its predecessors).
fn dsa_kind(algorithm: Reader<'_>, bits: &[u8]) -> Result<KeyKind, NotDer> {
    let [p, q, _] = dsa_parameters(algorithm)?;
    let mut value = Reader::new(bits);
    value.positive()?;
    value.end()?;
    let (prime, order) = (bit_length(p), bit_length(q));
    if (512..=3072).contains(&prime) && matches!(order, 160 | 224 | 256) {
        Ok(KeyKind::Dsa { bits: prime })
    } else {
        Err(NotDer)
    }
}

impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.0.spki == other.0.spki
            || (self.0.kind == other.0.kind
                && !matches!(self.0.kind, KeyKind::Dsa { .. })
                && self.key_bits() == other.key_bits())
    }
}

impl Eq for PublicKey {}

impl fmt::Debug for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PublicKey({})", self.0.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rsa_keys_out_of_bounds_are_refused() {
        let size = |bits| {
            Err(CryptoError::RsaSize {
                bits,
                minimum: 512,
                maximum: 16_384,
            })
        };
        let modulus = |octets: usize| [&[0xff][..], &vec![0xfd; octets - 1]].concat();
        assert_eq!(PublicKey::rsa(&modulus(63), &[3]), size(504));
        assert_eq!(PublicKey::rsa(&modulus(2049), &[3]), size(16_392));
        assert_eq!(PublicKey::rsa(&[], &[3]), size(0));
        for exponent in [
            &[][..],
            &[0],
            &[1],
            &[2],
            &[1, 0, 0],
            &[0x02, 0, 0, 0, 1],
            &[1; 64],
        ] {
            assert_eq!(
                PublicKey::rsa(&modulus(256), exponent),
                Err(CryptoError::RsaExponent)
            );
        }
        let key = PublicKey::rsa(&modulus(256), &[0, 1, 0, 1]).unwrap();
        assert_eq!(key.kind(), KeyKind::Rsa { bits: 2048 });
        assert_eq!(
            key.rsa_components(),
            Some((&modulus(256)[..], &[1, 0, 1][..]))
        );
        let padded = PublicKey::rsa(&[&[0, 0][..], &modulus(256)].concat(), &[1, 0, 1]).unwrap();
        assert_eq!(key, padded);
    }

    #[test]
    fn a_point_that_is_not_on_the_curve_is_refused() {
        let mut point = vec![4];
        point.extend([7; 64]);
        assert_eq!(
            PublicKey::ec(Curve::P256, &point),
            Err(CryptoError::Malformed {
                expected: "a valid public key",
                found: "one that is not (EC on P-256)".to_owned()
            })
        );
    }

    #[test]
    fn the_point_at_infinity_is_refused() {
        assert_eq!(
            PublicKey::ec(Curve::P256, &[0]),
            Err(CryptoError::Malformed {
                expected: "a point of the named curve",
                found: "1 bytes that are none".to_owned()
            })
        );
    }

    #[test]
    fn octets_after_the_key_are_refused() {
        let mut spki = PublicKey::ed25519(&[9; 32]).unwrap().spki_der().to_vec();
        spki.push(0);
        assert!(matches!(
            PublicKey::from_spki_der(&spki),
            Err(CryptoError::Malformed { .. })
        ));
    }
}
