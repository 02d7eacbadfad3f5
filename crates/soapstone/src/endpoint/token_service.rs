//! Assertions that a token service makes: asked for, and taken or not.
//!
//! ```text
//! begin ─▶ bytes to the token service ─▶ its answer ─▶ conclude ─▶ IssuedAssertion
//! ```
//!
//! The endpoint that talks to the token service is one of its own, with its own keys. The one rule:
//! what its plan does not prove is not read, and of that nothing is believed but what was asked
//! for.

use std::fmt;

use jiff::Timestamp;
use soapstone_trust::addressing::Addressing;
use soapstone_trust::{
    OnBehalf, PendingToken, PendingTokenCancel, TokenRules, TrustError, TrustRequest,
};
use soapstone_wss::{
    AssertionToken, Envelope, IdDigest, IssuedAssertion, KerberosSession, Outgoing, Receipt,
    Rejected, SecureError, Secured, SoapVersion, take_assertion,
};
use soapstone_xml::Buffers;

use super::addressing_headers::envelope_of;
use super::asking::Workspace;
use super::call::Call;
use super::compiled::Endpoint;
use super::plans::Calling;
use crate::config::{TlsFiles, UserRole};

/// A token service, and how it is talked to. See
/// [`Endpoint::take_token_service`](super::Endpoint::take_token_service).
#[derive(Debug)]
pub struct TokenService {
    /// The endpoint that faces it.
    pub endpoint: Endpoint<Calling>,
    /// What is asked for.
    pub requests: TokenRequests,
}

/// What is asked for at a token service.
#[derive(Debug)]
pub struct TokenRequests {
    pub(super) rules: TokenRules,
    pub(super) url: String,
    pub(super) soap: SoapVersion,
    pub(super) user: Option<UserRole>,
    pub(super) capacity: usize,
    pub(super) renews: bool,
    pub(super) cancels: bool,
    pub(super) tls: Option<TlsFiles>,
}

/// A request for an assertion that was secured and waits for its answer.
#[derive(Debug)]
pub struct TokenQuestion {
    /// The envelope to send.
    pub bytes: Vec<u8>,
    /// Its `SOAPAction`.
    pub action: String,
    receipt: Receipt,
    pending: PendingToken,
}

/// A request to cancel an assertion that was secured and waits for its answer.
#[derive(Debug)]
pub struct TokenFarewell {
    /// The envelope to send.
    pub bytes: Vec<u8>,
    /// Its `SOAPAction`.
    pub action: String,
    receipt: Receipt,
    pending: PendingTokenCancel,
}

/// Why there is no assertion.
#[derive(Debug)]
pub enum TokenError {
    /// The request cannot be secured.
    Unsecurable(SecureError),
    /// The answer is not acceptable as a message.
    Rejected(Rejected),
    /// The answer grants nothing, or something else than what was asked for.
    Trust(TrustError),
}

impl fmt::Display for TokenError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsecurable(error) => {
                write!(
                    out,
                    "the request for an assertion cannot be secured: {error}"
                )
            }
            Self::Rejected(rejected) => write!(
                out,
                "the answer to the request for an assertion is refused: {rejected}"
            ),
            Self::Trust(error) => write!(out, "no assertion was granted: {error}"),
        }
    }
}

impl std::error::Error for TokenError {}

impl TokenRequests {
    /// Where they go.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The version of SOAP that they are in.
    pub fn soap(&self) -> SoapVersion {
        self.soap
    }

    /// Whether each is for the user whose assertion a plain request brings.
    pub fn are_for_users(&self) -> bool {
        self.user.is_some()
    }

    /// Whether an assertion that ends soon is renewed, where the token service does that.
    pub fn renew(&self) -> bool {
        self.renews
    }

    /// Whether assertions that are kept are cancelled when nobody needs them any more.
    pub fn cancel(&self) -> bool {
        self.cancels
    }

    /// The id of an assertion as logs and audit trails have it: a digest of it, where messages are
    /// sent that name the assertion. Whoever has the id may then be given the assertion.
    pub fn told_id(&self, assertion: &AssertionToken) -> String {
        match self.rules.policy.authority {
            Some(_) => IdDigest(assertion.id()).to_string(),
            None => assertion.id().to_owned(),
        }
    }

    /// Most assertions that are to be kept.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// What the file says of TLS.
    pub fn tls(&self) -> Option<&TlsFiles> {
        self.tls.as_ref()
    }

    /// A request for an assertion, for the user whose assertion that is, with the Kerberos session
    /// that was asked for. Without one, an endpoint with tokens waits for the KDC here.
    ///
    /// # Errors
    /// Why it cannot be secured.
    pub fn begin(
        &self,
        endpoint: &Endpoint<Calling>,
        user: Option<&AssertionToken>,
        kerberos: Option<&KerberosSession>,
        call: &mut Call<'_>,
    ) -> Result<TokenQuestion, TokenError> {
        let now = endpoint.clock(call.now);
        let user = match (user, self.user) {
            (None, None) => None,
            (Some(user), Some(UserRole::OnBehalfOf)) => Some(OnBehalf::Of(user)),
            (Some(user), Some(UserRole::ActAs)) => Some(OnBehalf::ActingAs(user)),
            // Without the user it would be a token about ourselves, with all that we may do.
            _ => return Err(TokenError::Unsecurable(SecureError::AssertionMissing)),
        };
        let asked = PendingToken::issue(&self.rules, user, now);
        self.question(endpoint, asked, kerberos, call)
    }

    /// A request for a later end of an assertion that was granted here (WS-Trust 1.4, 5); none,
    /// where assertions are asked for anew.
    ///
    /// # Errors
    /// Why it cannot be secured.
    pub fn begin_renewal(
        &self,
        endpoint: &Endpoint<Calling>,
        granted: &IssuedAssertion,
        kerberos: Option<&KerberosSession>,
        call: &mut Call<'_>,
    ) -> Result<Option<TokenQuestion>, TokenError> {
        let now = endpoint.clock(call.now);
        let asked = PendingToken::renew(&self.rules, granted, now).filter(|_| self.renews);
        let asked = asked.map(|asked| self.question(endpoint, asked, kerberos, call));
        asked.transpose()
    }

    /// A request to cancel an assertion that was granted here (WS-Trust 1.4, 6).
    ///
    /// # Errors
    /// Why it cannot be secured.
    pub fn begin_farewell(
        &self,
        endpoint: &Endpoint<Calling>,
        granted: &IssuedAssertion,
        kerberos: Option<&KerberosSession>,
        call: &mut Call<'_>,
    ) -> Result<TokenFarewell, TokenError> {
        let (pending, request) = PendingTokenCancel::cancel(self.rules.version, &granted.token);
        let secured = self.secured(endpoint, &request, kerberos, call)?;
        Ok(TokenFarewell {
            bytes: secured.bytes,
            action: request.action,
            receipt: secured.receipt,
            pending,
        })
    }

    fn question(
        &self,
        endpoint: &Endpoint<Calling>,
        (pending, request): (PendingToken, TrustRequest),
        kerberos: Option<&KerberosSession>,
        call: &mut Call<'_>,
    ) -> Result<TokenQuestion, TokenError> {
        let secured = self.secured(endpoint, &request, kerberos, call)?;
        Ok(TokenQuestion {
            bytes: secured.bytes,
            action: request.action,
            receipt: secured.receipt,
            pending,
        })
    }

    fn secured(
        &self,
        endpoint: &Endpoint<Calling>,
        request: &TrustRequest,
        kerberos: Option<&KerberosSession>,
        call: &mut Call<'_>,
    ) -> Result<Secured, TokenError> {
        let headers = Addressing::request(
            endpoint.request_headers.version(),
            request.action.clone(),
            self.url.clone(),
        );
        let plain = envelope_of(self.soap, Some(&headers), &request.body);
        let outgoing = Outgoing {
            action: Some(&request.action),
            kerberos,
            ..Outgoing::default()
        };
        let secured = endpoint.secure_with(plain, outgoing, call);
        secured.map_err(TokenError::Unsecurable)
    }

    /// The assertion that the token service made.
    ///
    /// # Errors
    /// Why it made none, or none that is acceptable.
    pub async fn conclude_in(
        &self,
        endpoint: &Endpoint<Calling>,
        workspace: &Workspace,
        question: TokenQuestion,
        answer: Vec<u8>,
        now: Timestamp,
    ) -> Result<IssuedAssertion, TokenError> {
        let TokenQuestion {
            receipt, pending, ..
        } = question;
        let mut nobody = ();
        let receipt = Some(Box::new(receipt));
        let verified = endpoint.verified(answer.into(), receipt, workspace, now, &mut nobody);
        let (verified, _) = verified.await.map_err(TokenError::Rejected)?;
        let now = endpoint.clock(now);
        let granted = pending.accept(&self.rules, verified.envelope().body(), now);
        verified.finish(&mut workspace.buffers());
        granted.map_err(TokenError::Trust)
    }

    /// That the token service has cancelled an assertion.
    ///
    /// # Errors
    /// Why that is not known.
    pub async fn conclude_farewell(
        &self,
        endpoint: &Endpoint<Calling>,
        workspace: &Workspace,
        farewell: TokenFarewell,
        answer: Vec<u8>,
        now: Timestamp,
    ) -> Result<(), TokenError> {
        let TokenFarewell {
            receipt, pending, ..
        } = farewell;
        let mut nobody = ();
        let receipt = Some(Box::new(receipt));
        let verified = endpoint.verified(answer.into(), receipt, workspace, now, &mut nobody);
        let (verified, _) = verified.await.map_err(TokenError::Rejected)?;
        let cancelled = pending.accept(verified.envelope().body());
        verified.finish(&mut workspace.buffers());
        cancelled.map_err(TokenError::Trust)
    }
}

impl<P> Endpoint<P> {
    /// The token service that makes the assertions of requests, for whoever can ask it. Without it
    /// requests are secured with the assertion of
    /// [`Outgoing::assertion`](soapstone_wss::Outgoing), or not at all.
    pub fn take_token_service(&mut self) -> Option<TokenService> {
        self.token_service.take().map(|service| *service)
    }
}

/// The assertion of a user that stands in the header of a plain request, and the request without
/// it.
///
/// # Errors
/// There is none, there are several, or it is none that a receiver would accept.
pub fn user_of(
    bytes: Vec<u8>,
    limits: &soapstone_xml::Limits,
    buffers: &mut Buffers,
) -> Result<(Vec<u8>, AssertionToken), SecureError> {
    let envelope = Envelope::parse(bytes, limits, buffers)?;
    let (envelope, user) = take_assertion(envelope, buffers)?;
    let user = user.ok_or(SecureError::AssertionMissing)?;
    Ok((envelope.into_bytes(buffers), user))
}
