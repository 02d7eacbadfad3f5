//! The proof that a private key in a token belongs to a certificate: one operation that only the
//! right key does.
//!
//! The rule kept here: attributes of a token prove nothing.

use soapstone_crypto::{
    Curve, KeyAgreement, KeyKind, KeyTransport, OaepParameters, PublicKey, RsaPadding,
    SignatureAlgorithm, digest, random,
};

use crate::error::{Problem, TokenError};
use crate::holder::Holder;
use crate::session::Failure;

/// Has the token prove that the key is the one of `public`.
pub(crate) fn prove(holder: &Holder, public: &PublicKey) -> Result<(), TokenError> {
    let uses = holder.uses()?;
    let proven = match public.kind() {
        KeyKind::Rsa { .. } if uses.sign => signs(holder, public, SignatureAlgorithm::RsaSha256),
        KeyKind::Rsa { .. } if uses.decrypt => decrypts(holder, public),
        KeyKind::Ec(curve) if uses.sign => signs(holder, public, usual(curve)),
        KeyKind::Ec(_) if uses.agree => agrees(holder, public),
        KeyKind::Ed25519 if uses.sign => signs(holder, public, SignatureAlgorithm::Ed25519),
        KeyKind::Rsa { .. } | KeyKind::Ec(_) | KeyKind::Ed25519 => {
            return Err(holder.error(Problem::NoUse));
        }
        other => {
            let what = format!("keys of {other}");
            return Err(holder.error(Problem::Unsupported { what }));
        }
    };
    match proven {
        Ok(true) => Ok(()),
        Ok(false) | Err(Failure::Refused) => Err(holder.error(Problem::OtherKey)),
        Err(Failure::Lost(problem) | Failure::LostOver(problem) | Failure::Unusable(problem)) => {
            Err(holder.error(problem))
        }
    }
}

fn usual(curve: Curve) -> SignatureAlgorithm {
    match curve.coordinate_length() {
        ..=32 => SignatureAlgorithm::EcdsaSha256,
        33..=48 => SignatureAlgorithm::EcdsaSha384,
        _ => SignatureAlgorithm::EcdsaSha512,
    }
}

fn signs(
    holder: &Holder,
    public: &PublicKey,
    algorithm: SignatureAlgorithm,
) -> Result<bool, Failure> {
    let message: [u8; 32] = random::bytes();
    let hash = algorithm.digest().map(|hash| digest(hash, &message));
    let Ok(digest) = hash.transpose() else {
        return Ok(false);
    };
    let input = digest.as_ref().map_or(&message[..], AsRef::as_ref);
    let signature = holder.signed(algorithm, input)?;
    Ok(public
        .verify(algorithm, &message, signature.expose())
        .is_ok())
}

fn decrypts(holder: &Holder, public: &PublicKey) -> Result<bool, Failure> {
    let secret: [u8; 16] = random::bytes();
    let oaep = OaepParameters::default();
    let Ok(wrapped) = public.wrap(KeyTransport::RsaOaep, &oaep, &secret) else {
        return Ok(false);
    };
    let padding = RsaPadding::Oaep {
        digest: oaep.digest,
        mgf: oaep.mgf,
        label: &[],
    };
    let opened = holder.decrypted(padding, &wrapped)?;
    Ok(opened.expose() == &secret)
}

fn agrees(holder: &Holder, public: &PublicKey) -> Result<bool, Failure> {
    let Ok(made) = public.agree_ephemeral(KeyAgreement::EcdhEs) else {
        return Ok(false);
    };
    let secret = holder.agreed(made.originator.key_bits())?;
    Ok(secret.expose() == made.secret.expose())
}
