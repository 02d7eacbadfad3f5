//! What arrives at a service, and what becomes of it.

use std::fmt;
use std::sync::Arc;

use soapstone_crypto::Certificate;
use soapstone_trust::{RequesterToken, TrustFault};
use soapstone_wss::{ContextOwner, Envelope, Lookups, Rejected, SecureError, SoapVersion};

use super::opened::OpenedMessage;

/// What arrived at a service.
#[derive(Debug)]
pub enum Arrived {
    /// A message for the application.
    Message(Box<OpenedMessage>),
    /// A request for a token, and its answer.
    Answered(TokenAnswer),
}

/// A request that was read and not yet opened.
#[derive(Debug)]
pub struct ReadRequest {
    pub(super) envelope: Envelope,
    /// What the plan for requests for tokens asks for.
    pub(super) lookups: Lookups,
    pub(super) actions: Vec<String>,
    pub(super) over_tls: bool,
    pub(super) client_certificate: Option<Arc<Certificate>>,
}

impl ReadRequest {
    /// The same request, with what was said beside it of its operation: `SOAPAction`, the parameter
    /// `action` of its media type. Each of them has to be right.
    #[must_use]
    pub fn about(mut self, actions: Vec<String>) -> Self {
        self.actions = actions;
        self
    }

    /// The same request, which came over TLS. Its answer has to go back the same way.
    #[must_use]
    pub fn over_tls(mut self) -> Self {
        self.over_tls = true;
        self
    }

    /// The same request, whose client proved the key of a certificate while the connection was
    /// made, if it did. The host trusts the certificate.
    #[must_use]
    pub fn shown(mut self, certificate: Option<Arc<Certificate>>) -> Self {
        self.client_certificate = certificate;
        self
    }

    /// Whether it names a security context, so that it is opened with the plan of the conversation
    /// and never with the bootstrap's.
    pub fn names_context(&self) -> bool {
        !self.lookups.contexts.is_empty()
    }
}

/// The answer to a request for a token, ready to be sent.
#[derive(Debug)]
pub struct TokenAnswer {
    /// The envelope: secured, or a fault.
    pub bytes: Vec<u8>,
    /// Its version.
    pub version: SoapVersion,
    /// `wsa:Action` of the answer.
    pub action: String,
    /// Who asked, as far as a user or a certificate showed that.
    pub requester: Box<ContextOwner>,
    /// Who asked, where another token showed it.
    pub token: Option<RequesterToken>,
    /// The one element of the request's Body: `{namespace}local`, and its local name.
    pub operation: (String, String),
    /// Whether a service of assertions answered, and not one of contexts.
    pub of_assertions: bool,
    /// What was done, for logs and metrics.
    pub done: Vec<TokenDone>,
    /// Why the request was refused, if it was.
    pub refused: Option<Box<TrustFault>>,
}

/// What became of a context, or of an assertion.
#[derive(Clone, Debug)]
pub struct TokenDone {
    /// `issued`, `renewed`, `amended` or `cancelled`.
    pub what: &'static str,
    /// Which. Of a bearer's assertion it is a digest of the id.
    pub identifier: String,
    /// Whose; for a cancelled context nobody's any more. The subject of an assertion.
    pub owner: Option<String>,
    /// The domain of that subject's name, where it is another issuer's. That of a context's owner
    /// whom an assertion names, always.
    pub domain: Option<String>,
    /// For whom an assertion is.
    pub audience: Option<String>,
}

/// Why a message or a request for a token came to nothing.
#[derive(Debug)]
pub enum ReceiveError {
    /// The message is refused.
    Rejected(Rejected),
    /// The answer cannot be secured.
    Unsecurable(SecureError),
    /// The answer holds a key, and the policy of answers does not encrypt it.
    WouldExpose,
    /// The requester may not ask for the token, as the caller says.
    NotAllowed,
    /// A request for tokens failed after something of it was done, which stands.
    AfterTokens {
        /// Who asked, and what was done. Nothing of it is an answer.
        told: Box<TokenAnswer>,
        /// Why the request failed.
        error: Box<ReceiveError>,
    },
}

impl ReceiveError {
    /// The failure itself, without what was done about tokens before.
    #[must_use]
    pub fn cause(self) -> Self {
        match self {
            Self::AfterTokens { error, .. } => error.cause(),
            error => error,
        }
    }
}

impl fmt::Display for ReceiveError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(rejected) => rejected.fmt(out),
            Self::Unsecurable(error) => write!(out, "the answer cannot be secured: {error}"),
            Self::WouldExpose => out
                .write_str("the answer holds a key, and the policy of answers does not encrypt it"),
            Self::NotAllowed => out.write_str("the requester may not ask for the token"),
            Self::AfterTokens { told, error } => {
                let count = told.done.len();
                write!(out, "{error}; done about tokens before: {count}")
            }
        }
    }
}

impl std::error::Error for ReceiveError {}

impl From<Rejected> for ReceiveError {
    fn from(rejected: Rejected) -> Self {
        Self::Rejected(rejected)
    }
}
