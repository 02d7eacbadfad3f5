//! Kerberos as far as single messages go: the session that a token began, and the tokens that
//! messages carry.
//!
//! What a token is worth is not for this crate to say: it opens no ticket and asks no KDC. Here a
//! session is a fact. Whoever asks the engine to open or secure a message has it.

use jiff::Timestamp;
use soapstone_crypto::SymmetricKey;

use crate::names::{
    GSS_KERBEROS_AP_REQ, GSS_KERBEROS_AP_REQ_1510, GSS_KERBEROS_AP_REQ_4120, KERBEROS_AP_REQ,
    KERBEROS_AP_REQ_1510, KERBEROS_AP_REQ_4120,
};

/// How an AP-REQ stands in a token (Kerberos Token Profile 1.1, 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KerberosForm {
    /// In the frame of GSS (RFC 1964, 1.1).
    Gss,
    /// As it is.
    Raw,
}

/// The token types, each with its form. The profile names the two editions of Kerberos beside the
/// type that names none; their AP-REQs have one form.
const TYPES: [(&str, KerberosForm); 6] = [
    (GSS_KERBEROS_AP_REQ, KerberosForm::Gss),
    (KERBEROS_AP_REQ, KerberosForm::Raw),
    (GSS_KERBEROS_AP_REQ_1510, KerberosForm::Gss),
    (KERBEROS_AP_REQ_1510, KerberosForm::Raw),
    (GSS_KERBEROS_AP_REQ_4120, KerberosForm::Gss),
    (KERBEROS_AP_REQ_4120, KerberosForm::Raw),
];

impl KerberosForm {
    /// The form of tokens with this `ValueType`; none, where it is no type of Kerberos.
    pub fn of_type(value_type: &str) -> Option<Self> {
        let mut types = TYPES.iter();
        types.find(|(one, _)| *one == value_type).map(|one| one.1)
    }

    /// The `ValueType` of tokens that we make.
    pub const fn token_type(self) -> &'static str {
        match self {
            Self::Gss => GSS_KERBEROS_AP_REQ,
            Self::Raw => KERBEROS_AP_REQ,
        }
    }
}

/// What a policy wants of the Kerberos token of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KerberosPolicy {
    /// The form of tokens. Inbound, no other is accepted.
    pub form: KerberosForm,
    /// Whether messages that we make carry the token, where there is one, instead of naming it.
    pub carried: bool,
    /// Whether messages that we make name a token by its SHA-1 even where they carry it
    /// (WS-SecurityPolicy 1.3, 5.4.4: `RequireKeyIdentifierReference`). Inbound, both are
    /// understood.
    pub by_identifier: bool,
}

/// Which token a message carries or names. Unproven: anybody can repeat a token and write a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KerberosName {
    /// A token of the message.
    Token {
        /// Its form.
        form: KerberosForm,
        /// Its bytes.
        bytes: Vec<u8>,
    },
    /// A token of an earlier message, by the SHA-1 of its bytes.
    Sha1([u8; 20]),
}

/// A session between the client of a token and the service that accepted it.
#[derive(Clone, Debug)]
pub struct KerberosSession {
    /// SHA-1 of the token's bytes, by which later messages name it.
    pub sha1: [u8; 20],
    /// The token itself, where a message is to carry it.
    pub token: Option<Vec<u8>>,
    /// The session key that both sides hold. Clones share it.
    pub key: SymmetricKey,
    /// The principal of the client, where a token proved it.
    pub client: String,
    /// The end of the ticket. From then on the session is refused.
    pub expires: Timestamp,
    /// SHA-256 over the authenticator of a token that this message carries: each is accepted once,
    /// in whatever form.
    pub authenticator: Option<[u8; 32]>,
    /// Until when that authenticator could be accepted.
    pub authenticator_ends: Timestamp,
}

impl KerberosSession {
    /// The session as answers have it: they name the token, and carry none.
    pub(crate) fn of_answers(self) -> Self {
        Self {
            token: None,
            authenticator: None,
            ..self
        }
    }
}
