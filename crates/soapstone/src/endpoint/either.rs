//! Endpoints whose role is chosen at run time: for hosts that keep endpoints of several roles as
//! one type. Elsewhere the type of an endpoint says what it can do.

use std::path::Path;

use jiff::Timestamp;
use soapstone_wss::{
    Envelope, InboundPlan, OutboundPlan, Outgoing, Receipt, Rejected, SecureError, Secured,
    SecurityContext, SoapVersion, Verified,
};
use soapstone_xml::{Buffers, Limits};

use super::arrived::{Arrived, ReadRequest, ReceiveError};
use super::asking::{Workspace, drive};
use super::call::Call;
use super::compile;
use super::compiled::Endpoint;
use super::handshake::{Handshake, HandshakeError, Handshakes};
use super::memory::Memory;
use super::opened::OpenedMessage;
use super::plans::Either;
use super::role::Role;
use super::step::StepObserver;
use crate::config::{EndpointConfig, Environment, Problems};

impl Endpoint<Either> {
    /// Loads and compiles an endpoint file.
    ///
    /// # Errors
    /// Everything that is wrong with the file, and with what it asks for.
    pub fn load(file: &Path, role: Role, environment: &Environment<'_>) -> Result<Self, Problems> {
        compile::load(file, role, environment)
    }

    /// Compiles an endpoint that was read.
    ///
    /// # Errors
    /// Everything that is wrong with what it asks for.
    pub fn compile(config: &EndpointConfig, role: Role) -> Result<Self, Problems> {
        compile::compile(config, role)
    }

    /// Assembles an endpoint from plans: for applications that have no file.
    pub fn from_plans(
        inbound: Option<InboundPlan>,
        outbound: Option<OutboundPlan>,
        limits: Limits,
    ) -> Self {
        Self::assembled(Either { inbound, outbound }, limits)
    }

    /// Verifies a message: parses, looks up, decrypts, verifies, compares, asks the replay cache.
    ///
    /// `request` is what our own request left behind, where this message is its answer.
    ///
    /// # Errors
    /// Why the message is refused.
    ///
    /// # Panics
    /// If the endpoint's [`Role`] has no inbound direction.
    pub fn verify(
        &self,
        bytes: Vec<u8>,
        request: Option<Receipt>,
        memory: Memory<'_>,
        now: Timestamp,
        buffers: &mut Buffers,
        observer: &mut dyn StepObserver,
    ) -> Result<Verified<Envelope>, Rejected> {
        let verified = drive(memory, buffers, async |workspace| {
            self.verified(bytes, request, workspace, now, observer)
                .await
        });
        verified.map(|(verified, _)| verified)
    }

    /// Opens a message: [verifies](Self::verify) it, and rebuilds it from what was proven.
    ///
    /// # Errors
    /// Why the message is refused.
    ///
    /// # Panics
    /// If the endpoint's [`Role`] has no inbound direction.
    pub fn open(
        &self,
        bytes: Vec<u8>,
        request: Option<Receipt>,
        memory: Memory<'_>,
        now: Timestamp,
        buffers: &mut Buffers,
        observer: &mut dyn StepObserver,
    ) -> Result<OpenedMessage, Rejected> {
        drive(memory, buffers, async |workspace| {
            self.opened(bytes, request, workspace, now, observer).await
        })
    }

    /// [Opens](Self::open) a message in a workspace.
    ///
    /// # Errors
    /// Why the message is refused.
    ///
    /// # Panics
    /// If the endpoint's [`Role`] has no inbound direction.
    pub async fn open_in(
        &self,
        workspace: &Workspace,
        bytes: Vec<u8>,
        request: Option<Receipt>,
        now: Timestamp,
        observer: &mut dyn StepObserver,
    ) -> Result<OpenedMessage, Rejected> {
        self.opened(bytes, request, workspace, now, observer).await
    }

    /// Secures a plain message of an application. In a conversation it is no request for a token,
    /// which would be obeyed as our own.
    ///
    /// # Errors
    /// Why the message cannot be secured.
    ///
    /// # Panics
    /// If the endpoint's [`Role`] has no outbound direction.
    pub fn secure(
        &self,
        bytes: Vec<u8>,
        outgoing: Outgoing<'_>,
        now: Timestamp,
        buffers: &mut Buffers,
        observer: &mut dyn StepObserver,
    ) -> Result<Secured, SecureError> {
        self.secured(bytes, outgoing, now, buffers, observer)
    }

    /// Reads a request at a service, for [`receive_read`](Self::receive_read). Nothing of it is
    /// proven yet.
    ///
    /// # Errors
    /// It is no envelope, or passes a limit.
    ///
    /// # Panics
    /// If the endpoint's [`Role`] has no inbound direction.
    pub fn read_request(
        &self,
        bytes: Vec<u8>,
        buffers: &mut Buffers,
        observer: &mut dyn StepObserver,
    ) -> Result<ReadRequest, Rejected> {
        self.read_from(bytes, buffers, observer)
    }

    /// Opens a request at a service: an application's message is rebuilt from what was proven, a
    /// request for a token is answered.
    ///
    /// `private_transport` says that the message came over TLS, and that its answer goes back the
    /// same way. Where operations have policies of their own, what was said beside the message
    /// has to be heard as well: [read](Self::read_request) it, and say what it is
    /// [about](ReadRequest::about).
    ///
    /// # Errors
    /// Why the message is refused, or its answer cannot be secured.
    ///
    /// # Panics
    /// If the endpoint's [`Role`] has no inbound direction.
    pub fn receive(
        &self,
        bytes: Vec<u8>,
        private_transport: bool,
        memory: Memory<'_>,
        now: Timestamp,
        buffers: &mut Buffers,
        observer: &mut dyn StepObserver,
    ) -> Result<Arrived, ReceiveError> {
        let request = self.read_from(bytes, buffers, observer)?;
        self.receive_read(request, private_transport, memory, now, buffers, observer)
    }

    /// [Receives](Self::receive) a request that was read before.
    ///
    /// # Errors
    /// Why the message is refused, or its answer cannot be secured.
    ///
    /// # Panics
    /// If the endpoint's [`Role`] has no inbound direction.
    pub fn receive_read(
        &self,
        request: ReadRequest,
        private_transport: bool,
        memory: Memory<'_>,
        now: Timestamp,
        buffers: &mut Buffers,
        observer: &mut dyn StepObserver,
    ) -> Result<Arrived, ReceiveError> {
        drive(memory, buffers, async |workspace| {
            self.receive_in(workspace, request, private_transport, now, observer)
                .await
        })
    }

    /// [Receives](Self::receive) a request that was read before in a workspace.
    ///
    /// # Errors
    /// Why the message is refused, or its answer cannot be secured.
    ///
    /// # Panics
    /// If the endpoint's [`Role`] has no inbound direction.
    pub async fn receive_in(
        &self,
        workspace: &Workspace,
        mut request: ReadRequest,
        private_transport: bool,
        now: Timestamp,
        observer: &mut dyn StepObserver,
    ) -> Result<Arrived, ReceiveError> {
        request.over_tls = private_transport;
        self.received(request, workspace, now, observer).await
    }

    /// A client's request for a context with the service at `to`, where it is to be sent.
    ///
    /// # Errors
    /// Why it cannot be secured.
    ///
    /// # Panics
    /// If the endpoint has no conversations.
    pub fn begin(
        &self,
        to: &str,
        soap: SoapVersion,
        now: Timestamp,
        buffers: &mut Buffers,
    ) -> Result<Handshake, HandshakeError> {
        let handshakes = self.the_handshakes();
        handshakes.begin(to, soap, &mut Call::new(now, buffers))
    }

    /// A client's request for a new instance of a context. See [`Handshakes::renew`].
    ///
    /// # Errors
    /// Why it cannot be secured.
    ///
    /// # Panics
    /// If the endpoint has no conversations.
    pub fn renew(
        &self,
        context: &SecurityContext,
        to: &str,
        soap: SoapVersion,
        now: Timestamp,
        buffers: &mut Buffers,
    ) -> Result<Handshake, HandshakeError> {
        let handshakes = self.the_handshakes();
        handshakes.renew(context, to, soap, &mut Call::new(now, buffers))
    }

    /// A client's last word in a conversation. See [`Handshakes::cancel`].
    ///
    /// # Errors
    /// Why it cannot be secured.
    ///
    /// # Panics
    /// If the endpoint has no conversations.
    pub fn cancel(
        &self,
        context: &SecurityContext,
        as_bootstrap: bool,
        to: &str,
        soap: SoapVersion,
        now: Timestamp,
        buffers: &mut Buffers,
    ) -> Result<(Vec<u8>, String), SecureError> {
        let mut call = Call::new(now, buffers);
        let handshakes = self.the_handshakes();
        handshakes.cancel(context, as_bootstrap, to, soap, &mut call)
    }

    /// The context that the service granted.
    ///
    /// # Errors
    /// Why it granted none, or none that is acceptable.
    ///
    /// # Panics
    /// If the endpoint has no conversations.
    pub fn conclude(
        &self,
        handshake: Handshake,
        answer: Vec<u8>,
        memory: Memory<'_>,
        now: Timestamp,
        buffers: &mut Buffers,
    ) -> Result<SecurityContext, HandshakeError> {
        let mut call = Call::new(now, buffers);
        self.the_handshakes()
            .conclude(handshake, answer, memory, &mut call)
    }

    /// [Concludes](Self::conclude) a handshake in a workspace.
    ///
    /// # Errors
    /// Why the service granted no context, or none that is acceptable.
    ///
    /// # Panics
    /// If the endpoint has no conversations.
    pub async fn conclude_in(
        &self,
        workspace: &Workspace,
        handshake: Handshake,
        answer: Vec<u8>,
        now: Timestamp,
    ) -> Result<SecurityContext, HandshakeError> {
        self.the_handshakes()
            .conclude_in(workspace, handshake, answer, now)
            .await
    }

    fn the_handshakes(&self) -> Handshakes<'_, Either> {
        self.context_handshakes()
            .expect("an endpoint that begins a conversation has them")
    }
}
