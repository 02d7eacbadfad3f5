//! From a `pkcs11` table to a private key in a token.
//!
//! The rule kept here: a build without PKCS#11 says so, and takes no other key.

use soapstone_crypto::{Certificate, CryptoError, Identity, PrivateKey};

use super::compiler::Compiler;
use crate::config::{LoadedFile, TokenKeyConfig};

/// A private key in a token that cannot be used.
#[derive(Clone, Debug)]
pub struct TokenKeyProblem {
    /// The key, its token and its module, and what is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<&'static str>,
}

/// The private key in a token that belongs to a certificate: the token proves that by one
/// operation.
///
/// # Errors
/// Why it cannot be used.
#[cfg(feature = "pkcs11")]
pub fn token_key(
    key: &TokenKeyConfig,
    certificate: &Certificate,
) -> Result<PrivateKey, TokenKeyProblem> {
    let opened = soapstone_pkcs11::open(location(key), certificate.public_key());
    opened.map_err(|error| TokenKeyProblem {
        message: error.to_string(),
        hint: hint(&error.problem),
    })
}

/// Says that there is no PKCS#11.
///
/// # Errors
/// Always.
#[cfg(not(feature = "pkcs11"))]
pub fn token_key(_: &TokenKeyConfig, _: &Certificate) -> Result<PrivateKey, TokenKeyProblem> {
    Err(TokenKeyProblem {
        message: "this build cannot use keys in tokens: it is built without PKCS#11".to_owned(),
        hint: Some("build it with the feature `pkcs11`, or name a key in a file"),
    })
}

impl Compiler<'_> {
    /// The identity of a key in a token. `None`: what is wrong is told. The error is one of the
    /// certificate.
    pub(super) fn token_identity(
        &mut self,
        key: &TokenKeyConfig,
        certificate: &LoadedFile,
    ) -> Option<Result<Identity, CryptoError>> {
        let read = Certificate::from_file_contents(certificate.bytes.expose());
        let mut certificates = match read {
            Ok(certificates) => certificates.into_iter(),
            Err(error) => return Some(Err(error)),
        };
        let Some(own) = certificates.next() else {
            let file = certificate.path.display();
            self.report(certificate.place, format!("`{file}` holds no certificate"));
            return None;
        };
        match token_key(key, &own) {
            Ok(private) => Some(Identity::new(private, own, certificates.collect())),
            Err(TokenKeyProblem { message, hint }) => {
                match hint {
                    Some(hint) => self.report_with_hint(key.place, message, hint),
                    None => self.report(key.place, message),
                }
                None
            }
        }
    }
}

#[cfg(feature = "pkcs11")]
fn location(key: &TokenKeyConfig) -> soapstone_pkcs11::KeyLocation {
    use soapstone_crypto::SecretBytes;
    use soapstone_pkcs11::{KeyLocation, KeyName, TokenName};

    use crate::config::{TokenChoice, TokenKeyChoice};

    const { assert!(TokenKeyConfig::SESSIONS == KeyLocation::SESSIONS) };
    KeyLocation {
        module: key.module.clone(),
        token: match &key.token {
            TokenChoice::Label(label) => TokenName::Label(label.clone()),
            TokenChoice::Slot(slot) => TokenName::Slot(*slot),
        },
        key: match &key.key {
            TokenKeyChoice::Label(label) => KeyName::Label(label.clone()),
            TokenKeyChoice::Id(id) => KeyName::Id(id.clone()),
        },
        pin: key
            .pin
            .as_ref()
            .map(|pin| SecretBytes::copy_of(pin.value.expose().as_bytes())),
        sessions: key.sessions_at_once(),
        timeout: key
            .timeout
            .as_ref()
            .map_or(KeyLocation::TIMEOUT, |timeout| timeout.value),
    }
}

#[cfg(feature = "pkcs11")]
fn hint(problem: &soapstone_pkcs11::Problem) -> Option<&'static str> {
    use soapstone_pkcs11::Problem;

    match problem {
        Problem::PinNeeded => Some("give `pin_env`, `pin_file` or `pin` in the table pkcs11"),
        Problem::SeveralKeys { .. } => Some("name it by its id: id = \"0a1b\""),
        Problem::OtherKey => Some("name the certificate that was issued for the key"),
        Problem::Module { .. } => {
            Some("the module is the shared library of the token's maker, such as libsofthsm2.so")
        }
        _ => None,
    }
}
