//! From algorithms of XML security to mechanisms of PKCS#11 (v2.40, sections 2.1 and 2.3).
//!
//! Tokens are given digests, not messages: that is the mechanism that most tokens have, and a
//! message need not travel. Ed25519 alone takes messages. The rule kept here: an algorithm without
//! a mechanism is refused by its name.

use std::borrow::Cow;
use std::ffi::c_ulong;

use cryptoki::mechanism::eddsa::{EddsaParams, EddsaSignatureScheme};
use cryptoki::mechanism::rsa::{PkcsMgfType, PkcsOaepParams, PkcsOaepSource, PkcsPssParams};
use cryptoki::mechanism::{Mechanism, MechanismType};
use soapstone_crypto::{DigestAlgorithm, RsaPadding, SignatureAlgorithm, SignatureFamily};

use crate::error::Problem;

/// The mechanism of a signature and what is given to it, for a digest; of Ed25519 for a message.
///
/// `order` is the length of the numbers of an ECDSA signature.
pub(crate) fn signing(
    algorithm: SignatureAlgorithm,
    digest: &[u8],
    order: usize,
) -> Result<(Mechanism<'static>, Cow<'_, [u8]>), Problem> {
    let unsupported = || Problem::Unsupported {
        what: format!("{} signatures", algorithm.short_name()),
    };
    if algorithm == SignatureAlgorithm::Ed25519 {
        // It digests the message itself, so `digest` is the message (RFC 8032, 5.1.6).
        let plain = EddsaParams::new(EddsaSignatureScheme::Ed25519);
        return Ok((Mechanism::Eddsa(plain), digest.into()));
    }
    let hash = algorithm.digest().ok_or_else(unsupported)?;
    match algorithm.family() {
        SignatureFamily::RsaPkcs1 => {
            let prefix = digest_info(hash).ok_or_else(unsupported)?;
            Ok((Mechanism::RsaPkcs, [prefix, digest].concat().into()))
        }
        SignatureFamily::RsaPss => {
            let (hash_alg, mgf) = hashing(hash).ok_or_else(unsupported)?;
            let parameters = PkcsPssParams {
                hash_alg,
                mgf,
                // XML signatures have a salt as long as the digest (RFC 9231 section 2.3.9).
                s_len: (digest.len() as c_ulong).into(),
            };
            Ok((Mechanism::RsaPkcsPss(parameters), digest.into()))
        }
        // Of a digest longer than the order, the leftmost bits are signed (FIPS 186-4, 6.4). Not
        // every token cuts it itself.
        SignatureFamily::Ecdsa => {
            let kept = &digest[..digest.len().min(order)];
            Ok((Mechanism::Ecdsa, kept.into()))
        }
        _ => Err(unsupported()),
    }
}

/// The mechanism that removes a padding.
pub(crate) fn decryption<'l>(padding: &RsaPadding<'l>) -> Result<Mechanism<'l>, Problem> {
    match *padding {
        RsaPadding::None => Ok(Mechanism::RsaX509),
        RsaPadding::Oaep { digest, mgf, label } => {
            let unsupported = || Problem::Unsupported {
                what: oaep_name(digest, mgf),
            };
            let (hash, _) = hashing(digest).ok_or_else(unsupported)?;
            let (_, mgf) = hashing(mgf).ok_or_else(unsupported)?;
            let source = if label.is_empty() {
                PkcsOaepSource::empty()
            } else {
                PkcsOaepSource::data_specified(label)
            };
            Ok(Mechanism::RsaPkcsOaep(PkcsOaepParams::new(
                hash, mgf, source,
            )))
        }
    }
}

/// The name of OAEP with these digests.
pub(crate) fn oaep_name(digest: DigestAlgorithm, mgf: DigestAlgorithm) -> String {
    format!("RSA-OAEP with {digest} and MGF1 with {mgf}")
}

fn hashing(digest: DigestAlgorithm) -> Option<(MechanismType, PkcsMgfType)> {
    Some(match digest {
        DigestAlgorithm::Sha1 => (MechanismType::SHA1, PkcsMgfType::MGF1_SHA1),
        DigestAlgorithm::Sha224 => (MechanismType::SHA224, PkcsMgfType::MGF1_SHA224),
        DigestAlgorithm::Sha256 => (MechanismType::SHA256, PkcsMgfType::MGF1_SHA256),
        DigestAlgorithm::Sha384 => (MechanismType::SHA384, PkcsMgfType::MGF1_SHA384),
        DigestAlgorithm::Sha512 => (MechanismType::SHA512, PkcsMgfType::MGF1_SHA512),
        _ => return None,
    })
}

/// The DER of `DigestInfo` before the digest (RFC 8017 section 9.2, note 1).
fn digest_info(digest: DigestAlgorithm) -> Option<&'static [u8]> {
    Some(match digest {
        DigestAlgorithm::Sha1 => &[
            0x30, 0x21, 0x30, 0x09, 0x06, 0x05, 0x2b, 0x0e, 0x03, 0x02, 0x1a, 0x05, 0x00, 0x04,
            0x14,
        ],
        DigestAlgorithm::Sha224 => &[
            0x30, 0x2d, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02,
            0x04, 0x05, 0x00, 0x04, 0x1c,
        ],
        DigestAlgorithm::Sha256 => &[
            0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02,
            0x01, 0x05, 0x00, 0x04, 0x20,
        ],
        DigestAlgorithm::Sha384 => &[
            0x30, 0x41, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02,
            0x02, 0x05, 0x00, 0x04, 0x30,
        ],
        DigestAlgorithm::Sha512 => &[
            0x30, 0x51, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02,
            0x03, 0x05, 0x00, 0x04, 0x40,
        ],
        _ => return None,
    })
}
