//! Keys derived from passwords (UsernameToken Profile 1.1.1, 4): the token that says how one is
//! derived, written and read.
//!
//! The one rule: a token is read completely, within the bounds of the policy, before a password is
//! looked for. An unknown user costs the same derivation as a known one.

use std::fmt;

use soapstone_crypto::random::Supply;
use soapstone_crypto::{CryptoError, DataEncryption, PasswordKey, SecretBytes, SymmetricKey};
use soapstone_xml::Element;

use super::super::kind::broken;
use crate::attributes::only_attributes;
use crate::binding::KeyBinding;
use crate::digest;
use crate::names::{WSSE, WSSE11};
use crate::policy::Policy;
use crate::rejected::Rejected;
use crate::username::PasswordKeyPolicy;
use crate::values::{base64_octets, only_base64};

/// The purpose of a key, which the first byte of its salt tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PasswordKeyUse {
    /// An HMAC; the derivation of other keys is one, too.
    Mac,
    /// The encryption of data.
    Encryption,
}

impl PasswordKeyUse {
    const fn first_byte(self) -> u8 {
        match self {
            Self::Mac => 1,
            Self::Encryption => 2,
        }
    }
}

impl fmt::Display for PasswordKeyUse {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Mac => "a MAC",
            Self::Encryption => "encryption",
        })
    }
}

/// Iterations of a token that names none (UsernameToken Profile 1.1.1, 4).
const DEFAULT_ITERATIONS: u32 = 1000;

/// Longest name of a user, bytes.
const LONGEST_NAME: usize = 1024;

const ELEMENT: &str = "wsse:UsernameToken";

fn malformed(problem: impl Into<String>) -> Rejected {
    Rejected::Malformed {
        element: ELEMENT,
        problem: problem.into(),
    }
}

/// Whether an element is a token that keys may be derived from.
pub(crate) fn is_username_token(element: Element<'_>) -> bool {
    element.is(WSSE, "UsernameToken")
}

/// Of keys from passwords.
pub(super) fn wrong_demands(policy: &Policy) -> impl Iterator<Item = &'static str> + use<> {
    let endorsing = |kind| {
        let beside = policy.endorsing_beside();
        beside.filter(|token| token.key.kind() == kind).count()
    };
    let sessions = endorsing(KeyBinding::Context) + endorsing(KeyBinding::Kerberos);
    let passwords = endorsing(KeyBinding::Password);
    let by_password = policy.password_keys();
    let protects = policy.uses(KeyBinding::Password);
    let encrypts_itself = policy
        .encryption()
        .is_some_and(|one| one.key == KeyBinding::Password && one.derived_keys.is_none());
    broken([
        (
            by_password.is_some_and(out_of_bounds),
            "the iterations of a key from a password are at least 1, at most 1000000, and the fewest are not more than the most",
        ),
        (
            by_password.is_some() && policy.username().is_some(),
            "a message has one user: its token holds a password, or keys are derived from it",
        ),
        (
            protects && policy.signature().is_none(),
            "a key from a password encrypts for a user whom a signature proves",
        ),
        (
            encrypts_itself && !PasswordKeyPolicy::encrypts_by(&policy.suite),
            "a key from a password has 20 bytes, and the suite's data encryption wants more: take a suite of AES-128, or derive keys from it",
        ),
        (
            passwords > 0 && (sessions + passwords > 1 || protects),
            "one symmetric key endorses, and the key of a user endorses nothing that it signs itself",
        ),
    ])
}

fn out_of_bounds(keys: PasswordKeyPolicy) -> bool {
    let is_ordered = keys.least > 0 && keys.least <= keys.most;
    let made = 1..=PasswordKeyPolicy::MAXIMUM_ITERATIONS;
    !is_ordered
        || keys.most > PasswordKeyPolicy::MAXIMUM_ITERATIONS
        || !made.contains(&keys.iterations)
}

/// What a token says of the derivation.
pub(crate) struct PasswordKeyToken {
    pub(crate) user: String,
    key: PasswordKey,
}

impl PasswordKeyToken {
    /// Reads a token. It has a name, a salt and iterations, and nothing else: a password beside
    /// them would tell the key to everybody who sees the message.
    pub(crate) fn read(token: Element<'_>, policy: &PasswordKeyPolicy) -> Result<Self, Rejected> {
        let attributes =
            |element, allowed: &[&str]| only_attributes(element, allowed).map_err(malformed);
        attributes(token, &[])?;
        let (mut user, mut salt, mut iterations) = (None, None, None);
        for child in token.children() {
            let text = || {
                let text = child.text_strict();
                text.ok_or_else(|| malformed(format!("expected text in `{}`", child.local())))
            };
            let is_second = match (child.namespace(), child.local()) {
                (WSSE, "Username") => {
                    attributes(child, &[])?;
                    user.replace(text()?.into_owned()).is_some()
                }
                (WSSE11, "Salt") => {
                    attributes(child, &["EncodingType"])?;
                    if child.attribute("", "EncodingType").is_some() {
                        only_base64(child, "salt")?;
                    }
                    salt.replace(read_salt(&text()?)?).is_some()
                }
                (WSSE11, "Iteration") => {
                    attributes(child, &[])?;
                    iterations
                        .replace(read_iterations(&text()?, policy)?)
                        .is_some()
                }
                (WSSE, "Password") => {
                    return Err(malformed(
                        "expected no `Password` in a token that keys are derived from, found one",
                    ));
                }
                (_, local) => {
                    let local: String = local.chars().take(40).collect();
                    return Err(malformed(format!(
                        "expected `Username`, `Salt` and `Iteration`, found `{local}`"
                    )));
                }
            };
            if is_second {
                let local = child.local();
                return Err(malformed(format!("expected one `{local}`, found more")));
            }
        }
        let user = user.ok_or_else(|| malformed("expected `Username`, found none"))?;
        if user.len() > LONGEST_NAME {
            return Err(malformed(format!(
                "expected a `Username` of at most {LONGEST_NAME} bytes, found more"
            )));
        }
        let salt = salt.ok_or_else(|| {
            malformed("expected `Salt`, found none: no key is derived by such a token")
        })?;
        let iterations = match iterations {
            Some(iterations) => iterations,
            None => within(DEFAULT_ITERATIONS, policy)?,
        };
        Ok(Self {
            user,
            key: PasswordKey { salt, iterations },
        })
    }

    /// Refuses a salt that is for another purpose.
    pub(crate) fn check_use(&self, purpose: PasswordKeyUse) -> Result<(), Rejected> {
        let (expected, found) = (purpose.first_byte(), self.key.salt[0]);
        if expected == found {
            return Ok(());
        }
        let problem = format!(
            "the salt of a key for {purpose} begins with {expected:02x}, found {found:02x}"
        );
        Err(Rejected::KeyMisused { problem })
    }

    /// Derives the key; of an unknown user one that nobody has.
    pub(crate) fn derive(&self, known: Option<&SecretBytes>) -> Result<SymmetricKey, Rejected> {
        // A user without a password has none that could be right.
        let known = known.filter(|password| !password.expose().is_empty());
        let stand_in = SecretBytes::random(STAND_IN_LENGTH);
        let password = known.unwrap_or(&stand_in);
        self.key
            .derive(password)
            .map_err(|error| Rejected::KeyMisused {
                problem: error.to_string(),
            })
    }

    /// What a copy of the token is known by: a salt is used once.
    pub(crate) fn mark(&self) -> [u8; 32] {
        digest::mark([b"salt".as_slice(), self.user.as_bytes(), &self.key.salt])
    }
}

/// Bytes of the password that stands for one that is not known. SHA-1 digests it with the salt in
/// one block, as it does usual passwords.
const STAND_IN_LENGTH: usize = 16;

fn read_salt(text: &str) -> Result<[u8; PasswordKey::SALT_LENGTH], Rejected> {
    const EXPECTED: usize = PasswordKey::SALT_LENGTH;
    let salt = match text.len() > 8 * EXPECTED {
        true => Vec::new(),
        false => base64_octets(text.trim(), ELEMENT)?,
    };
    let found = salt.len();
    salt.try_into().map_err(|_| {
        malformed(match found {
            0 => format!("expected a `Salt` of {EXPECTED} bytes"),
            _ => format!("expected a `Salt` of {EXPECTED} bytes, found {found}"),
        })
    })
}

fn read_iterations(text: &str, policy: &PasswordKeyPolicy) -> Result<u32, Rejected> {
    let digits = text.trim();
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number {
        return Err(malformed("expected a number in `Iteration`"));
    }
    // A number that is too long for this type is too large as well.
    within(digits.parse().unwrap_or(u32::MAX), policy)
}

fn within(iterations: u32, policy: &PasswordKeyPolicy) -> Result<u32, Rejected> {
    if iterations > policy.most {
        return Err(Rejected::TooMany {
            what: "iterations of a key from a password",
            limit: usize::try_from(policy.most).unwrap_or(usize::MAX),
        });
    }
    if iterations < policy.least {
        let least = policy.least;
        return Err(Rejected::KeyMisused {
            problem: format!(
                "a key from a password takes at least {least} iterations, found {iterations}"
            ),
        });
    }
    Ok(iterations)
}

/// The first bytes of a derived key, as many as an algorithm wants (UsernameToken Profile 1.1.1,
/// 4).
pub(crate) fn encryption_key(
    key: &SymmetricKey,
    algorithm: DataEncryption,
) -> Result<SymmetricKey, CryptoError> {
    let length = algorithm.key_length();
    match key.expose().get(..length) {
        Some(first) => SymmetricKey::from_secret(SecretBytes::copy_of(first)),
        None => Err(CryptoError::KeyLength {
            algorithm: algorithm.short_name(),
            expected: length,
            found: key.len(),
        }),
    }
}

/// A new derivation with a salt of its own.
pub(crate) fn derivation(
    policy: &PasswordKeyPolicy,
    purpose: PasswordKeyUse,
    supply: &mut Supply,
) -> PasswordKey {
    let mut salt = supply.bytes::<{ PasswordKey::SALT_LENGTH }>();
    salt[0] = purpose.first_byte();
    PasswordKey {
        salt,
        iterations: policy.iterations,
    }
}
