//! Algorithm suites as commands take them: their names, and the keys that they need.
//!
//! The rule kept here: a name that no endpoint file could have is refused before anything is done.

use soapstone::crypto::{Curve, KeyKind};
use soapstone::wss::{SHA256_SIGNATURES, SUITE_NAMES, Suite};

/// Reads the name of a suite.
///
/// # Errors
/// What the names are.
pub fn name(text: &str) -> Result<String, String> {
    if SUITE_NAMES.contains(&text) {
        Ok(text.to_owned())
    } else {
        Err(format!("expected one of {}", SUITE_NAMES.join(", ")))
    }
}

/// Reads what endpoint files may call a suite.
///
/// # Errors
/// What the names are.
pub fn name_in_files(text: &str) -> Result<String, String> {
    if Suite::called(text).is_some() {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "expected one of {}; {SHA256_SIGNATURES} behind one makes its signatures SHA-256",
            SUITE_NAMES.join(", ")
        ))
    }
}

/// Which keys a party needs for a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keys {
    /// The one that signs.
    pub signing: KeyKind,
    /// The one that messages are encrypted to; the same, where it can be.
    pub decrypting: KeyKind,
}

impl Keys {
    /// Of a suite by its name, with RSA keys of so many bits where it takes RSA keys; an unknown
    /// one takes those.
    pub fn of(suite: &str, bits: u32) -> Self {
        let rsa = KeyKind::Rsa { bits };
        let kinds = [
            rsa,
            KeyKind::Ec(Curve::P256),
            KeyKind::Ed25519,
            KeyKind::X25519,
        ];
        let first = |fits: &dyn Fn(KeyKind) -> bool| {
            let mut kinds = kinds.into_iter();
            kinds.find(|kind| fits(*kind)).unwrap_or(rsa)
        };
        let Some(suite) = Suite::called(suite) else {
            return Self {
                signing: rsa,
                decrypting: rsa,
            };
        };
        Self {
            signing: first(&|kind| suite.signature.iter().any(|one| one.fits(kind))),
            decrypting: first(&|kind| {
                let mut agreements = suite.key_agreement.iter();
                match kind {
                    KeyKind::Rsa { .. } => !suite.key_transport.is_empty(),
                    _ => agreements.any(|one| one.algorithm.fits(kind)),
                }
            }),
        }
    }

    /// The key that decrypts, where it is not the one that signs.
    pub fn apart(self) -> Option<KeyKind> {
        (self.signing != self.decrypting).then_some(self.decrypting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_has_the_keys_that_its_algorithms_fit() {
        let rsa = KeyKind::Rsa { bits: 2048 };
        let p256 = KeyKind::Ec(Curve::P256);
        for name in SUITE_NAMES {
            let (signing, decrypting) = if name.ends_with("EcdhEs") {
                (p256, p256)
            } else if name.ends_with("X25519") {
                (KeyKind::Ed25519, KeyKind::X25519)
            } else {
                (rsa, rsa)
            };
            let keys = Keys {
                signing,
                decrypting,
            };
            assert_eq!(Keys::of(name, 2048), keys, "{name}");
            let sha256 = format!("{name}{SHA256_SIGNATURES}");
            let keys = Keys {
                signing: rsa,
                decrypting,
            };
            assert_eq!(Keys::of(&sha256, 2048), keys, "{sha256}");
        }
    }
}
