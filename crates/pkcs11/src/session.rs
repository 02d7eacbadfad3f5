//! A session with a token, logged in, with the key found; and the operations of the key.
//!
//! The rule kept here: whatever a module answers about a ciphertext or a point is
//! [`Failure::Refused`], unless the code says that the session, the token or the device is gone, or
//! that the key or the token has no such operation.

use std::ffi::c_ulong;

use cryptoki::context::{Function, Pkcs11};
use cryptoki::error::{Error, RvError};
use cryptoki::mechanism::Mechanism;
use cryptoki::mechanism::elliptic_curve::{EcKdf, Ecdh1DeriveParams};
use cryptoki::object::{Attribute, AttributeType, KeyType, ObjectClass, ObjectHandle};
use cryptoki::session::{Session, UserType};
use cryptoki::slot::Slot;
use cryptoki::types::RawAuthPin;
use soapstone_crypto::{RsaPadding, SecretBytes, SignatureAlgorithm};

use crate::error::Problem;
use crate::location::{KeyLocation, KeyName, TokenName};
use crate::mechanism;
use crate::module::{Module, said};

/// Why an operation gives no result.
pub(crate) enum Failure {
    /// The session, the token or the device is gone. A new session may help.
    Lost(Problem),
    /// The module says so of an operation on what a peer sent. The input itself may be the cause.
    LostOver(Problem),
    /// The key cannot be used, whatever the input.
    Unusable(Problem),
    /// The token refused the input.
    Refused,
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Unusable(problem)
    }
}

/// An operation of a private key.
pub(crate) enum Operation {
    /// Says what the key may be used for.
    Uses,
    /// Signs a digest; the last number is the length of the order of a curve.
    Sign(SignatureAlgorithm, Vec<u8>, usize),
    /// Decrypts.
    Decrypt(Padding, Vec<u8>),
    /// Agrees with the holder of a point; the number is the length of the secret.
    Agree(Vec<u8>, usize),
}

/// A padding that owns its label.
pub(crate) enum Padding {
    None,
    Oaep {
        digest: soapstone_crypto::DigestAlgorithm,
        mgf: soapstone_crypto::DigestAlgorithm,
        label: Vec<u8>,
    },
}

impl From<RsaPadding<'_>> for Padding {
    fn from(padding: RsaPadding<'_>) -> Self {
        match padding {
            RsaPadding::None => Self::None,
            RsaPadding::Oaep { digest, mgf, label } => Self::Oaep {
                digest,
                mgf,
                label: label.to_vec(),
            },
        }
    }
}

impl Padding {
    fn borrowed(&self) -> RsaPadding<'_> {
        match self {
            Self::None => RsaPadding::None,
            Self::Oaep { digest, mgf, label } => RsaPadding::Oaep {
                digest: *digest,
                mgf: *mgf,
                label,
            },
        }
    }
}

/// What a private key may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Uses {
    pub(crate) sign: bool,
    pub(crate) decrypt: bool,
    pub(crate) agree: bool,
}

/// What an operation gives.
pub(crate) enum Outcome {
    Bytes(SecretBytes),
    Uses(Uses),
}

/// A session in which the key was found.
pub(crate) struct OpenKey {
    session: Session,
    key: ObjectHandle,
    /// The start of the module that the session belongs to.
    start: u64,
}

impl OpenKey {
    /// Opens a session, logs in, and finds the key.
    pub(crate) fn open(
        location: &KeyLocation,
        module: &Module,
        cryptoki: &Pkcs11,
    ) -> Result<Self, Failure> {
        let slot = slot(location, cryptoki)?;
        let session = cryptoki
            .open_ro_session(slot)
            .map_err(|error| gone(&error))?;
        let wants_pin = cryptoki
            .get_token_info(slot)
            .map_err(|error| gone(&error))?
            .login_required();
        match &location.pin {
            Some(pin) => log_in(location, module, &session, pin)?,
            None if wants_pin => return Err(Problem::PinNeeded.into()),
            None => {}
        }
        let key = private_key(location, &session)?;
        let attributes = session
            .get_attributes(key, &[AttributeType::AlwaysAuthenticate])
            .map_err(|error| gone(&error))?;
        if attributes.contains(&Attribute::AlwaysAuthenticate(true)) {
            return Err(Problem::PinForEachUse.into());
        }
        Ok(Self {
            session,
            key,
            start: module.start(),
        })
    }

    /// Lets the session go. It is closed only if it is one of the present start of the module: the
    /// same handle may be the session of somebody else by now.
    #[expect(
        clippy::mem_forget,
        reason = "the drop of a session closes whatever has its handle"
    )]
    pub(crate) fn let_go(self, module: &Module) {
        if self.start == module.start() {
            drop(self);
        } else {
            std::mem::forget(self);
        }
    }

    /// Whether the module was started anew since.
    pub(crate) fn is_of_former_start(&self, module: &Module) -> bool {
        self.start != module.start()
    }

    /// Runs an operation.
    pub(crate) fn run(&self, operation: &Operation) -> Result<Outcome, Failure> {
        match operation {
            Operation::Uses => self.uses().map(Outcome::Uses),
            Operation::Sign(algorithm, digest, order) => {
                let (mechanism, input) = mechanism::signing(*algorithm, digest, *order)?;
                let what = || format!("{} signatures", algorithm.short_name());
                let signed = self.session.sign(&mechanism, self.key, &input);
                let signed = signed.map_err(|error| failure(&error, what))?;
                Ok(Outcome::Bytes(SecretBytes::new(signed)))
            }
            Operation::Decrypt(padding, ciphertext) => {
                let mechanism = mechanism::decryption(&padding.borrowed())?;
                let what = || match padding {
                    Padding::None => "RSA without padding, which RSA 1.5 needs".to_owned(),
                    Padding::Oaep { digest, mgf, .. } => mechanism::oaep_name(*digest, *mgf),
                };
                let decrypted = self.session.decrypt(&mechanism, self.key, ciphertext);
                let decrypted = decrypted.map_err(|error| failure(&error, what))?;
                Ok(Outcome::Bytes(SecretBytes::new(decrypted)))
            }
            Operation::Agree(point, length) => self.agree(point, *length).map(Outcome::Bytes),
        }
    }

    fn uses(&self) -> Result<Uses, Failure> {
        let asked = [
            AttributeType::Sign,
            AttributeType::Decrypt,
            AttributeType::Derive,
        ];
        let found = self
            .session
            .get_attributes(self.key, &asked)
            .map_err(|error| gone(&error))?;
        Ok(Uses {
            sign: found.contains(&Attribute::Sign(true)),
            decrypt: found.contains(&Attribute::Decrypt(true)),
            agree: found.contains(&Attribute::Derive(true)),
        })
    }

    fn agree(&self, point: &[u8], length: usize) -> Result<SecretBytes, Failure> {
        let what = || "ECDH".to_owned();
        let parameters = Ecdh1DeriveParams::new(EcKdf::null(), point);
        let length = (length as c_ulong).into();
        // An object of the session, which is read and destroyed at once.
        let template = [
            Attribute::Class(ObjectClass::SECRET_KEY),
            Attribute::KeyType(KeyType::GENERIC_SECRET),
            Attribute::Token(false),
            Attribute::Sensitive(false),
            Attribute::Extractable(true),
            Attribute::ValueLen(length),
        ];
        let mechanism = Mechanism::Ecdh1Derive(parameters);
        let derived = self.session.derive_key(&mechanism, self.key, &template);
        let derived = derived.map_err(|error| failure(&error, what))?;
        let value = self
            .session
            .get_attributes(derived, &[AttributeType::Value]);
        let destroyed = self.session.destroy_object(derived);
        let value = value.map_err(|error| gone(&error))?;
        destroyed.map_err(|error| gone(&error))?;
        match value.into_iter().next() {
            Some(Attribute::Value(value)) => Ok(SecretBytes::new(value)),
            _ => Err(Problem::Unsupported { what: what() }.into()),
        }
    }
}

fn slot(location: &KeyLocation, cryptoki: &Pkcs11) -> Result<Slot, Failure> {
    let slots = cryptoki
        .get_slots_with_token()
        .map_err(|error| gone(&error))?;
    let mut available = Vec::new();
    for slot in slots {
        match &location.token {
            TokenName::Slot(wanted) if slot.id() == *wanted => return Ok(slot),
            TokenName::Slot(_) => available.push(slot.id().to_string()),
            TokenName::Label(wanted) => {
                // A token that cannot be read is another one, or is missed below.
                let Ok(token) = cryptoki.get_token_info(slot) else {
                    continue;
                };
                if token.label() == wanted {
                    return Ok(slot);
                }
                if token.token_initialized() {
                    available.push(token.label().to_owned());
                }
            }
        }
    }
    Err(Failure::Lost(Problem::NoToken { available }))
}

fn log_in(
    location: &KeyLocation,
    module: &Module,
    session: &Session,
    pin: &SecretBytes,
) -> Result<(), Failure> {
    let token = location.token.to_string();
    // Several workers try one PIN once.
    let _one_at_a_time = module.log_in();
    if module.has_refused(&token, pin) {
        let reason = "it was refused before".to_owned();
        return Err(Problem::PinRefused { reason }.into());
    }
    let offered = RawAuthPin::new(Box::new(pin.expose().clone()));
    match session.login_with_raw(UserType::User, &offered) {
        Ok(()) | Err(Error::Pkcs11(RvError::UserAlreadyLoggedIn, _)) => Ok(()),
        Err(
            error @ Error::Pkcs11(
                RvError::PinIncorrect
                | RvError::PinInvalid
                | RvError::PinLenRange
                | RvError::PinExpired
                | RvError::PinLocked,
                _,
            ),
        ) => {
            module.refuse(&token, pin);
            let reason = said(&error);
            Err(Problem::PinRefused { reason }.into())
        }
        Err(error) => Err(gone(&error)),
    }
}

fn private_key(location: &KeyLocation, session: &Session) -> Result<ObjectHandle, Failure> {
    let private = Attribute::Class(ObjectClass::PRIVATE_KEY);
    let named = match &location.key {
        KeyName::Label(label) => Attribute::Label(label.clone().into_bytes()),
        KeyName::Id(id) => Attribute::Id(id.clone()),
    };
    let found = session
        .find_objects(&[private.clone(), named])
        .map_err(|error| gone(&error))?;
    match found[..] {
        [key] => Ok(key),
        [] => {
            let all = session
                .find_objects(&[private])
                .map_err(|error| gone(&error))?;
            let labels = all.into_iter().filter_map(|key| label(session, key));
            let mut available: Vec<String> = labels.collect();
            available.sort();
            Err(Problem::NoKey { available }.into())
        }
        _ => Err(Problem::SeveralKeys { found: found.len() }.into()),
    }
}

fn label(session: &Session, key: ObjectHandle) -> Option<String> {
    let found = session.get_attributes(key, &[AttributeType::Label]).ok()?;
    match found.into_iter().next()? {
        Attribute::Label(label) => Some(String::from_utf8_lossy(&label).into_owned()),
        _ => None,
    }
}

/// Whether the session, the token or the device is gone.
fn is_loss(code: RvError) -> bool {
    matches!(
        code,
        RvError::CryptokiNotInitialized
            | RvError::DeviceError
            | RvError::DeviceMemory
            | RvError::DeviceRemoved
            | RvError::KeyHandleInvalid
            | RvError::ObjectHandleInvalid
            | RvError::SessionClosed
            | RvError::SessionHandleInvalid
            | RvError::SlotIdInvalid
            | RvError::TokenNotPresent
            | RvError::TokenNotRecognized
            | RvError::UserNotLoggedIn
    )
}

/// A failure outside of any operation with an input: the module can be asked anew.
fn gone(error: &Error) -> Failure {
    Failure::Lost(Problem::Failed {
        reason: said(error),
    })
}

/// A failure of an operation with an input.
///
/// What is said when a signature or a decryption begins depends on the mechanism and the key alone.
/// An agreement is given the point of a peer at once, so less of what is said of it counts.
fn failure(error: &Error, what: impl FnOnce() -> String) -> Failure {
    let Error::Pkcs11(code, function) = error else {
        return Failure::Refused;
    };
    let begins = matches!(function, Function::SignInit | Function::DecryptInit);
    let has_input = matches!(function, Function::Decrypt | Function::DeriveKey);
    match code {
        code if is_loss(*code) && has_input => Failure::LostOver(Problem::Failed {
            reason: said(error),
        }),
        code if is_loss(*code) => gone(error),
        RvError::KeyFunctionNotPermitted => {
            Failure::Unusable(Problem::NotPermitted { what: what() })
        }
        RvError::MechanismInvalid | RvError::KeyTypeInconsistent | RvError::KeySizeRange => {
            Failure::Unusable(Problem::Unsupported { what: what() })
        }
        RvError::ArgumentsBad | RvError::MechanismParamInvalid if begins => {
            Failure::Unusable(Problem::Unsupported { what: what() })
        }
        _ if begins => Failure::Unusable(Problem::Failed {
            reason: said(error),
        }),
        _ => Failure::Refused,
    }
}
