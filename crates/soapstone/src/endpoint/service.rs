//! The security of a service: requests arrive, and their answers leave.

use jiff::Timestamp;
use soapstone_wss::{
    InboundPlan, Message, OutboundPlan, Outgoing, Receipt, Rejected, SecureError, Secured,
};
use soapstone_xml::Limits;

use super::arrived::{Arrived, ReadRequest, ReceiveError, TokenAnswer};
use super::asking::{Workspace, drive};
use super::call::{Call, make};
use super::compiled::Endpoint;
use super::memory::Memory;
use super::plans::Serving;
use super::step::StepObserver;

/// What stands in front of a service: it opens requests and secures their answers.
///
/// ```no_run
/// # use std::path::Path;
/// # use soapstone::{Arrived, ForgetfulReplayCache, Memory, Service};
/// # fn ask(_: Vec<u8>) -> Vec<u8> { Vec::new() }
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let bytes = Vec::new();
/// # let cache = ForgetfulReplayCache;
/// let service = Service::from_file(Path::new("service.toml"), &|name| std::env::var(name).ok())?;
/// let memory = Memory::without_conversations(&cache);
/// let answer = match service.receive(bytes, memory)? {
///     Arrived::Message(request) => {
///         let answer = ask(request.bytes);
///         service.answer(answer, &request.receipt)?.bytes
///     }
///     Arrived::Answered(token) => token.bytes,
/// };
/// # Ok(())
/// # }
/// ```
///
/// It begins no conversation, which is its client's part:
///
/// ```compile_fail,E0599
/// # fn wrong(service: soapstone::Service) {
/// service.handshakes();
/// # }
/// ```
pub type Service = Endpoint<Serving>;

impl Endpoint<Serving> {
    /// Assembles a service from the plan of its requests and that of their answers: for
    /// applications that have no file.
    pub fn of_plans(requests: InboundPlan, answers: OutboundPlan, limits: Limits) -> Self {
        Self::assembled(Serving { requests, answers }, limits)
    }

    /// Opens a request, or answers it if it asks for a token.
    ///
    /// # Errors
    /// Why the message is refused, or the answer to a request for a token cannot be secured.
    pub fn receive(
        &self,
        message: impl Into<Message>,
        memory: Memory<'_>,
    ) -> Result<Arrived, ReceiveError> {
        make(|call| {
            let request = self.read(message, call)?;
            self.receive_with(request, memory, call)
        })
    }

    /// Reads a request, for [`receive_with`](Self::receive_with). Nothing of it is proven yet.
    ///
    /// # Errors
    /// It is no envelope, or passes a limit.
    pub fn read(
        &self,
        message: impl Into<Message>,
        call: &mut Call<'_>,
    ) -> Result<ReadRequest, Rejected> {
        let (buffers, mut observer) = call.parts();
        self.read_from(message.into(), buffers, &mut observer)
    }

    /// [Receives](Self::receive) a request that was read.
    ///
    /// # Errors
    /// Why the message is refused, or the answer to a request for a token cannot be secured.
    pub fn receive_with(
        &self,
        request: ReadRequest,
        memory: Memory<'_>,
        call: &mut Call<'_>,
    ) -> Result<Arrived, ReceiveError> {
        let now = call.now;
        let (buffers, mut observer) = call.parts();
        let request = Box::new(request);
        drive(memory, buffers, async |workspace| {
            let allows = &|_: &TokenAnswer| true;
            self.received(request, workspace, allows, now, &mut observer)
                .await
        })
    }

    /// [Receives](Self::receive) a request that was read, in a workspace. `allows` says whether its
    /// requester may ask for a token, before anything is done about it: the answer has no bytes
    /// yet.
    ///
    /// # Errors
    /// Why the message is refused, or the answer to a request for a token cannot be secured.
    pub async fn receive_in(
        &self,
        workspace: &Workspace,
        request: Box<ReadRequest>,
        allows: &(dyn Fn(&TokenAnswer) -> bool + Sync),
        now: Timestamp,
        observer: &mut dyn StepObserver,
    ) -> Result<Arrived, ReceiveError> {
        self.received(request, workspace, allows, now, observer)
            .await
    }

    /// Secures the answer to a request that left `receipt` behind.
    ///
    /// # Errors
    /// Why the answer cannot be secured.
    pub fn answer(
        &self,
        message: impl Into<Message>,
        receipt: &Receipt,
    ) -> Result<Secured, SecureError> {
        make(|call| self.answer_with(message, receipt, call))
    }

    /// [Secures](Self::answer) an answer in a tuned call.
    ///
    /// # Errors
    /// Why the answer cannot be secured.
    pub fn answer_with(
        &self,
        message: impl Into<Message>,
        receipt: &Receipt,
        call: &mut Call<'_>,
    ) -> Result<Secured, SecureError> {
        let now = call.now;
        let (buffers, mut observer) = call.parts();
        let outgoing = Outgoing::answer(receipt);
        self.secured(message.into(), outgoing, now, buffers, &mut observer)
    }
}
