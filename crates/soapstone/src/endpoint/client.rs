//! The security of a client: requests leave, and their answers arrive.

use jiff::Timestamp;
use soapstone_wss::{
    Envelope, InboundPlan, KerberosSession, Message, OutboundPlan, Outgoing, Receipt, Rejected,
    SecureError, Secured, Verified,
};
use soapstone_xml::Limits;

use super::asking::{Store, Workspace, drive};
use super::call::{Call, make};
use super::compiled::Endpoint;
use super::handshake::Handshakes;
use super::memory::Memory;
use super::opened::OpenedMessage;
use super::plans::Calling;
use super::step::StepObserver;

/// What stands behind a client: it secures requests and opens their answers.
///
/// ```no_run
/// # use std::path::Path;
/// # use soapstone::{Client, ForgetfulReplayCache, Memory};
/// # fn send(_: Vec<u8>) -> Vec<u8> { Vec::new() }
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let request = Vec::new();
/// # let cache = ForgetfulReplayCache;
/// let client = Client::from_file(Path::new("client.toml"), &|name| std::env::var(name).ok())?;
/// let secured = client.secure(request)?;
/// let answer = send(secured.bytes);
/// let memory = Memory::without_conversations(&cache);
/// let opened = client.open(answer, secured.receipt, memory)?;
/// # Ok(())
/// # }
/// ```
///
/// It receives no requests:
///
/// ```compile_fail,E0599
/// # use soapstone::{Client, Memory};
/// # fn wrong(client: Client, bytes: Vec<u8>, memory: Memory<'_>) {
/// client.receive(bytes, memory).ok();
/// # }
/// ```
///
/// and an answer is opened with the receipt of its request alone:
///
/// ```compile_fail,E0061
/// # use soapstone::{Client, Memory};
/// # fn wrong(client: Client, bytes: Vec<u8>, memory: Memory<'_>) {
/// client.open(bytes, memory).ok();
/// # }
/// ```
pub type Client = Endpoint<Calling>;

impl Endpoint<Calling> {
    /// Assembles a client from the plan of its requests and that of their answers: for
    /// applications that have no file.
    pub fn of_plans(requests: OutboundPlan, answers: InboundPlan, limits: Limits) -> Self {
        Self::assembled(Calling { requests, answers }, limits)
    }

    /// Secures a request. In a conversation it is no request for a token, which would be obeyed as
    /// our own.
    ///
    /// # Errors
    /// Why the request cannot be secured.
    pub fn secure(&self, message: impl Into<Message>) -> Result<Secured, SecureError> {
        make(|call| self.secure_with(message, Outgoing::default(), call))
    }

    /// [Secures](Self::secure) a request in a tuned call: with a security context, or with what is
    /// said beside it of its action.
    ///
    /// # Errors
    /// Why the request cannot be secured.
    pub fn secure_with(
        &self,
        message: impl Into<Message>,
        outgoing: Outgoing<'_>,
        call: &mut Call<'_>,
    ) -> Result<Secured, SecureError> {
        let now = call.now;
        let (buffers, mut observer) = call.parts();
        self.secured(message.into(), outgoing, now, buffers, &mut observer)
    }

    /// The Kerberos session of the next request, asked for in a workspace: whoever secures requests
    /// without it waits for the KDC on its own thread. `None` where requests have no tokens, as
    /// those of a conversation that a token begins.
    ///
    /// # Errors
    /// Why there is no token.
    pub async fn kerberos_session(
        &self,
        workspace: &Workspace,
        now: Timestamp,
    ) -> Result<Option<KerberosSession>, SecureError> {
        let has_ticket = |plan: &OutboundPlan| plan.policy().kerberos().is_some();
        let have_tickets = self.outbound().any(has_ticket);
        match have_tickets {
            true => self.ticket(workspace, now).await,
            false => Ok(None),
        }
    }

    /// The Kerberos session of the next request for a security context, asked for in a workspace.
    /// `None` where no token begins conversations.
    ///
    /// # Errors
    /// Why there is no token.
    pub async fn handshake_session(
        &self,
        workspace: &Workspace,
        now: Timestamp,
    ) -> Result<Option<KerberosSession>, SecureError> {
        let handshakes = self.context_handshakes();
        let have_tickets = handshakes.is_some_and(Handshakes::have_tickets);
        match have_tickets {
            true => self.ticket(workspace, now).await,
            false => Ok(None),
        }
    }

    async fn ticket(
        &self,
        workspace: &Workspace,
        now: Timestamp,
    ) -> Result<Option<KerberosSession>, SecureError> {
        let kerberos = self.kerberos.clone();
        let Some(kerberos) = kerberos.filter(|kerberos| kerberos.initiates()) else {
            return Ok(None);
        };
        let now = self.clock(now);
        let begin = move |_: Memory<'_>| kerberos.begin(now);
        workspace.ask(Store::Tickets, begin).await
    }

    /// Opens the answer to a request that left `receipt` behind, and rebuilds it from what was
    /// proven.
    ///
    /// # Errors
    /// Why the answer is refused.
    pub fn open(
        &self,
        message: impl Into<Message>,
        receipt: Receipt,
        memory: Memory<'_>,
    ) -> Result<OpenedMessage, Rejected> {
        make(|call| self.open_with(message, receipt, memory, call))
    }

    /// [Opens](Self::open) an answer in a tuned call.
    ///
    /// # Errors
    /// Why the answer is refused.
    pub fn open_with(
        &self,
        message: impl Into<Message>,
        receipt: Receipt,
        memory: Memory<'_>,
        call: &mut Call<'_>,
    ) -> Result<OpenedMessage, Rejected> {
        let (now, message) = (call.now, message.into());
        let (buffers, mut observer) = call.parts();
        let receipt = Some(Box::new(receipt));
        let opened = drive(memory, buffers, async |workspace| {
            self.opened(message, receipt, workspace, now, &mut observer)
                .await
        });
        opened.map(|opened| *opened)
    }

    /// [Opens](Self::open) an answer in a workspace.
    ///
    /// # Errors
    /// Why the answer is refused.
    pub async fn open_in(
        &self,
        workspace: &Workspace,
        message: impl Into<Message>,
        receipt: impl Into<Box<Receipt>>,
        now: Timestamp,
        observer: &mut dyn StepObserver,
    ) -> Result<Box<OpenedMessage>, Rejected> {
        let receipt = Some(receipt.into());
        self.opened(message.into(), receipt, workspace, now, observer)
            .await
    }

    /// Verifies an answer without rebuilding it: who signed which of its nodes.
    ///
    /// # Errors
    /// Why the answer is refused.
    pub fn verify_with(
        &self,
        message: impl Into<Message>,
        receipt: Receipt,
        memory: Memory<'_>,
        call: &mut Call<'_>,
    ) -> Result<Verified<Envelope>, Rejected> {
        let (now, message) = (call.now, message.into());
        let (buffers, mut observer) = call.parts();
        let receipt = Some(Box::new(receipt));
        let verified = drive(memory, buffers, async |workspace| {
            self.verified(message, receipt, workspace, now, &mut observer)
                .await
        });
        verified.map(|(verified, _)| verified)
    }

    /// How contexts are asked for, renewed and given up; `None` without conversations.
    pub fn handshakes(&self) -> Option<Handshakes<'_, Calling>> {
        self.context_handshakes()
    }
}
