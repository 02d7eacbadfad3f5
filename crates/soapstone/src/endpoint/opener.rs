//! The security of single messages that arrive.

use jiff::Timestamp;
use soapstone_wss::{Envelope, InboundPlan, Message, Receipt, Rejected, Verified};
use soapstone_xml::Limits;

use super::asking::{Workspace, drive};
use super::call::{Call, make};
use super::compiled::Endpoint;
use super::memory::Memory;
use super::opened::OpenedMessage;
use super::step::StepObserver;

/// What opens single messages, as `soapstone open` does.
///
/// ```no_run
/// # use std::path::Path;
/// # use soapstone::{ForgetfulReplayCache, Memory, Opener};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let message = Vec::new();
/// # let cache = ForgetfulReplayCache;
/// let opener = Opener::from_file(Path::new("server.toml"), &|name| std::env::var(name).ok())?;
/// let opened = opener.open(message, Memory::without_conversations(&cache))?;
/// # Ok(())
/// # }
/// ```
///
/// It secures nothing:
///
/// ```compile_fail,E0599
/// # fn wrong(opener: soapstone::Opener, bytes: Vec<u8>) {
/// opener.secure(bytes).ok();
/// # }
/// ```
pub type Opener = Endpoint<InboundPlan>;

impl Endpoint<InboundPlan> {
    /// Assembles it from a plan: for applications that have no file.
    pub fn of_plan(plan: InboundPlan, limits: Limits) -> Self {
        Self::assembled(plan, limits)
    }

    /// Opens a message, and rebuilds it from what was proven.
    ///
    /// # Errors
    /// Why the message is refused.
    pub fn open(
        &self,
        message: impl Into<Message>,
        memory: Memory<'_>,
    ) -> Result<OpenedMessage, Rejected> {
        make(|call| self.open_with(message, None, memory, call))
    }

    /// [Opens](Self::open) a message in a tuned call. `request` is the receipt of the request that
    /// it answers, if it is an answer.
    ///
    /// # Errors
    /// Why the message is refused.
    pub fn open_with(
        &self,
        message: impl Into<Message>,
        request: Option<Receipt>,
        memory: Memory<'_>,
        call: &mut Call<'_>,
    ) -> Result<OpenedMessage, Rejected> {
        let (now, message) = (call.now, message.into());
        let (buffers, mut observer) = call.parts();
        let request = request.map(Box::new);
        let opened = drive(memory, buffers, async |workspace| {
            self.opened(message, request, workspace, now, &mut observer)
                .await
        });
        opened.map(|opened| *opened)
    }

    /// [Opens](Self::open) a message in a workspace.
    ///
    /// # Errors
    /// Why the message is refused.
    pub async fn open_in(
        &self,
        workspace: &Workspace,
        message: impl Into<Message>,
        request: Option<Receipt>,
        now: Timestamp,
        observer: &mut dyn StepObserver,
    ) -> Result<OpenedMessage, Rejected> {
        let request = request.map(Box::new);
        let opened = self.opened(message.into(), request, workspace, now, observer);
        opened.await.map(|opened| *opened)
    }

    /// Verifies a message without rebuilding it: who signed which of its nodes.
    ///
    /// # Errors
    /// Why the message is refused.
    pub fn verify(
        &self,
        message: impl Into<Message>,
        memory: Memory<'_>,
    ) -> Result<Verified<Envelope>, Rejected> {
        make(|call| self.verify_with(message, None, memory, call))
    }

    /// [Verifies](Self::verify) a message in a tuned call.
    ///
    /// # Errors
    /// Why the message is refused.
    pub fn verify_with(
        &self,
        message: impl Into<Message>,
        request: Option<Receipt>,
        memory: Memory<'_>,
        call: &mut Call<'_>,
    ) -> Result<Verified<Envelope>, Rejected> {
        let (now, message) = (call.now, message.into());
        let (buffers, mut observer) = call.parts();
        let request = request.map(Box::new);
        let verified = drive(memory, buffers, async |workspace| {
            self.verified(message, request, workspace, now, &mut observer)
                .await
        });
        verified.map(|(verified, _)| verified)
    }
}
