//! The client's side of a conversation: contexts asked for, renewed, and given up.

use std::fmt;

use jiff::Timestamp;
use soapstone_trust::addressing::Addressing;
use soapstone_trust::{
    AppliesTo, PendingCancel, PendingIssue, TrustError, TrustFaultCode, TrustRequest,
};
use soapstone_wss::{
    ContextOwner, ConversationVersion, Envelope, FaultCode, IssuedAssertion, KerberosSession,
    OutboundPlan, Outgoing, Receipt, Rejected, SecureError, Secured, SecurityContext, SoapVersion,
    Verified,
};
use soapstone_xml::{Buffers, Limits};

use super::addressing_headers::envelope_of;
use super::arriving::Arriving;
use super::asking::{Workspace, drive};
use super::bootstrap::Conversation;
use super::call::Call;
use super::compiled::Endpoint;
use super::memory::Memory;
use super::operations::Expected;
use super::plans::{Opens, Secures};
use super::relation;

/// A request for a context that was secured and waits for its answer.
#[derive(Debug)]
pub struct Handshake {
    /// The envelope to send.
    pub bytes: Vec<u8>,
    /// Its `SOAPAction`.
    pub action: String,
    receipt: Receipt,
    pending: PendingIssue,
    /// The end of the assertion that a token service made for it.
    assertion_ends: Option<Timestamp>,
}

/// Why a handshake gave no context.
#[derive(Debug)]
pub enum HandshakeError {
    /// The request cannot be secured.
    Unsecurable(SecureError),
    /// Request and answer hold what the key is made of, and neither their policy nor TLS would hide
    /// it.
    WouldExpose,
    /// The answer is not acceptable as a message.
    Rejected(Rejected),
    /// The answer grants no context.
    Trust(TrustError),
}

impl fmt::Display for HandshakeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsecurable(error) => {
                write!(out, "the request for a context cannot be secured: {error}")
            }
            Self::WouldExpose => out.write_str(
                "what the context's key is made of would travel readable by everybody: the bootstrap encrypts no Body, and the service is not https",
            ),
            Self::Rejected(rejected) => write!(
                out,
                "the answer to the request for a context is refused: {rejected}"
            ),
            Self::Trust(error) => write!(out, "no context was granted: {error}"),
        }
    }
}

impl std::error::Error for HandshakeError {}

/// The contexts of a client: asked for, renewed, and given up. See
/// [`Client::handshakes`](super::Client::handshakes).
#[derive(Debug)]
pub struct Handshakes<'e, P> {
    endpoint: &'e Endpoint<P>,
    conversation: &'e Conversation,
    kerberos: Option<&'e KerberosSession>,
    assertion: Option<&'e IssuedAssertion>,
}

impl<P> Clone for Handshakes<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Handshakes<'_, P> {}

impl<P: Opens + Secures> Endpoint<P> {
    /// The handshakes of an endpoint that has conversations.
    pub(super) fn context_handshakes(&self) -> Option<Handshakes<'_, P>> {
        let conversation = self.conversation.as_ref()?;
        Some(Handshakes {
            endpoint: self,
            conversation,
            kerberos: None,
            assertion: None,
        })
    }
}

impl<'e, P> Handshakes<'e, P> {
    /// The same with the Kerberos session of the next request, which
    /// [`Client::handshake_session`](super::Client::handshake_session) gave. Without it a request
    /// waits for the KDC on its own thread.
    #[must_use]
    pub fn with_session(self, kerberos: Option<&'e KerberosSession>) -> Self {
        Self { kerberos, ..self }
    }

    /// The same with the assertion that a token service made for the next request, where one
    /// makes those that begin conversations.
    #[must_use]
    pub fn with_assertion(self, assertion: Option<&'e IssuedAssertion>) -> Self {
        Self { assertion, ..self }
    }

    /// The assertion of a token service, where messages by that plan show one.
    fn shown_by(self, plan: &OutboundPlan) -> Option<&'e IssuedAssertion> {
        let shows = plan.policy().assertion().is_some();
        self.assertion.filter(|_| shows)
    }

    /// Whether a Kerberos token begins conversations.
    pub(super) fn have_tickets(self) -> bool {
        let policy = self.conversation.bootstrap_outbound.policy();
        policy.kerberos().is_some()
    }
}

impl<P: Opens + Secures> Handshakes<'_, P> {
    /// A request for a context with the service at `to`, where it is to be sent.
    ///
    /// # Errors
    /// Why it cannot be secured.
    pub fn begin(
        self,
        to: &str,
        soap: SoapVersion,
        call: &mut Call<'_>,
    ) -> Result<Handshake, HandshakeError> {
        let now = self.endpoint.clock(call.now);
        let applies_to = AppliesTo::new(to, self.endpoint.request_headers.version());
        let asked = PendingIssue::issue(&self.conversation.client, Some(applies_to), now);
        self.ask(asked, to, soap, now, call.buffers)
    }

    /// A request for a new instance of a context, under the bootstrap's policy. Services that want
    /// a signature by the context's key as well refuse it; then a new context has to do.
    ///
    /// # Errors
    /// Why it cannot be secured.
    pub fn renew(
        self,
        context: &SecurityContext,
        to: &str,
        soap: SoapVersion,
        call: &mut Call<'_>,
    ) -> Result<Handshake, HandshakeError> {
        let now = self.endpoint.clock(call.now);
        let asked = PendingIssue::renew(&self.conversation.client, context, now);
        self.ask(asked, to, soap, now, call.buffers)
    }

    /// Secures a request for a context under the bootstrap's policy.
    pub(super) fn ask(
        self,
        (pending, request): (PendingIssue, TrustRequest),
        to: &str,
        soap: SoapVersion,
        now: Timestamp,
        buffers: &mut Buffers,
    ) -> Result<Handshake, HandshakeError> {
        let conversation = self.conversation;
        // Whatever the service thinks of it (WS-Trust 1.4, 12).
        if !(conversation.hides_its_keys() || is_https(to)) {
            return Err(HandshakeError::WouldExpose);
        }
        let plan = &conversation.bootstrap_outbound;
        let secured = self
            .request(plan, &request, to, soap, Outgoing::default(), now, buffers)
            .map_err(HandshakeError::Unsecurable)?;
        Ok(Handshake {
            bytes: secured.bytes,
            action: request.action,
            receipt: secured.receipt,
            pending,
            assertion_ends: self.shown_by(plan).map(|assertion| assertion.ends),
        })
    }

    /// A client's last word in a conversation: the context is not needed any more. It is secured
    /// with the context itself (WS-SecureConversation 1.4, 6) or, for services that want it so,
    /// as the bootstrap is. The answer changes nothing for the client, who forgets the context
    /// anyway. Returns the message and its `SOAPAction`.
    ///
    /// # Errors
    /// Why it cannot be secured.
    pub fn cancel(
        self,
        context: &SecurityContext,
        as_bootstrap: bool,
        to: &str,
        soap: SoapVersion,
        call: &mut Call<'_>,
    ) -> Result<(Vec<u8>, String), SecureError> {
        let now = self.endpoint.clock(call.now);
        let (_, request) = PendingCancel::new(context);
        let (plan, outgoing) = if as_bootstrap {
            (&self.conversation.bootstrap_outbound, Outgoing::default())
        } else {
            let plan = self.endpoint.for_tokens().securing();
            (plan, Outgoing::within(context))
        };
        let secured = self.request(plan, &request, to, soap, outgoing, now, call.buffers)?;
        Ok((secured.bytes, request.action))
    }

    /// The context that the service granted.
    ///
    /// # Errors
    /// Why it granted none, or none that is acceptable.
    pub fn conclude(
        self,
        handshake: Handshake,
        answer: Vec<u8>,
        memory: Memory<'_>,
        call: &mut Call<'_>,
    ) -> Result<SecurityContext, HandshakeError> {
        let now = call.now;
        drive(memory, call.buffers, async |workspace| {
            self.conclude_in(workspace, handshake, answer, now).await
        })
    }

    /// [Concludes](Self::conclude) a handshake in a workspace.
    ///
    /// # Errors
    /// Why the service granted no context, or none that is acceptable.
    pub async fn conclude_in(
        self,
        workspace: &Workspace,
        handshake: Handshake,
        answer: Vec<u8>,
        now: Timestamp,
    ) -> Result<SecurityContext, HandshakeError> {
        let now = self.endpoint.clock(now);
        let Handshake {
            receipt,
            pending,
            assertion_ends,
            ..
        } = handshake;
        let ticket_ends = receipt.kerberos.as_ref().map(|session| session.expires);
        let verified = self.verified_answer(workspace, receipt, answer, now).await;
        let verified = verified.map_err(HandshakeError::Rejected)?;
        let peer = match verified.evidence().signer() {
            Some(certificate) => ContextOwner::Certificate(certificate.clone()),
            None => ContextOwner::Anonymous,
        };
        let granted = pending.accept(verified.envelope().body(), peer, now);
        verified.finish(&mut workspace.buffers());
        let mut context = granted.map_err(HandshakeError::Trust)?;
        // Whatever the service says of its end.
        let ends = [ticket_ends, assertion_ends, self.conversation.assertion_end];
        for ends in ends.into_iter().flatten() {
            context.expires = context.expires.min(ends);
        }
        Ok(context)
    }

    /// The answer to a request for a context, opened by the bootstrap's plan.
    async fn verified_answer(
        self,
        workspace: &Workspace,
        request: Receipt,
        answer: Vec<u8>,
        now: Timestamp,
    ) -> Result<Verified<Envelope>, Rejected> {
        let plan = &self.conversation.bootstrap_inbound;
        let envelope = self
            .endpoint
            .parse(answer.into(), &mut workspace.buffers())?;
        let lookups = plan.peek(&envelope);
        let mut nobody = ();
        let facts = self.endpoint.facts(
            &lookups,
            Some(Box::new(request)),
            workspace,
            now,
            &mut nobody,
        );
        let facts = facts.await?;
        let arriving = Arriving {
            expected: Expected::Anything,
            said: None,
        };
        let judged = self.endpoint.proven(
            plan,
            arriving,
            envelope,
            &facts,
            workspace,
            now,
            &mut nobody,
        );
        judged.await?.admit()
    }

    /// Secures a client's request for a token.
    #[expect(
        clippy::too_many_arguments,
        reason = "everything that a request depends on"
    )]
    fn request(
        self,
        plan: &OutboundPlan,
        request: &TrustRequest,
        to: &str,
        soap: SoapVersion,
        outgoing: Outgoing<'_>,
        now: Timestamp,
        buffers: &mut Buffers,
    ) -> Result<Secured, SecureError> {
        let headers = Addressing::request(
            self.endpoint.request_headers.version(),
            request.action.clone(),
            to.to_owned(),
        );
        let plain = envelope_of(soap, Some(&headers), &request.body);
        let envelope = Envelope::parse(plain, self.endpoint.limits(), buffers)?;
        // The policy of a bootstrap says nothing of addressing: what is proven is compared.
        let relation = relation::of_request(&envelope, false);
        let begun = match &self.endpoint.kerberos {
            Some(kerberos) if self.kerberos.is_none() && plan.policy().kerberos().is_some() => {
                kerberos.begin(now)?
            }
            _ => None,
        };
        let assertion = self.shown_by(plan);
        let outgoing = Outgoing {
            assertion: assertion.map(|assertion| &assertion.token),
            clock: self.endpoint.peer_clock(),
            kerberos: begun.as_ref().or(self.kerberos),
            ..outgoing
        };
        let mut secured = plan.secure(envelope, outgoing, now, buffers)?;
        self.endpoint.note_sent(plan, &secured.receipt, now);
        secured.receipt.relation = relation;
        let recipients = self.endpoint.on_the_way(true);
        let bytes = secured.bytes;
        secured.bytes = self
            .endpoint
            .secured_onward(recipients, bytes, now, buffers, &mut ())?;
        Ok(secured)
    }
}

fn is_https(address: &str) -> bool {
    let scheme = address.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("https"))
}

/// Whether a fault tells a client that its context is no good any more. What it says is not proven:
/// the worst that a stranger can do with it is to make the client establish another context.
pub fn says_context_is_gone(bytes: &[u8]) -> bool {
    let codes = [
        FaultCode::BadContextToken(ConversationVersion::V13),
        FaultCode::RenewNeeded(ConversationVersion::V13),
    ];
    let Ok(envelope) = Envelope::parse(bytes.to_vec(), &Limits::default(), &mut Buffers::default())
    else {
        return false;
    };
    let Some(fault) = envelope.body().first_child() else {
        return false;
    };
    TrustFaultCode::read(fault)
        .is_some_and(|(code, _)| codes.iter().any(|known| known.local() == code.local()))
}
