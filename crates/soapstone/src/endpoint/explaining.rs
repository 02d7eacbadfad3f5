//! A message explained: opened without a replay cache, with everything that is found out told to an
//! observer.
//!
//! The one rule: what is explained is not remembered, and leaves nothing but its verdict.

use jiff::Timestamp;
use soapstone_wss::{InboundPlan, Message, OperationObserver, Receipt, Rejected};
use soapstone_xml::Buffers;

use super::arriving::Arriving;
use super::asking::{Workspace, drive};
use super::compiled::Endpoint;
use super::memory::Memory;
use super::plans::Opens;

/// What an endpoint says of a message that is explained.
#[derive(Debug)]
pub struct Explained<'e> {
    /// The plan that the message is opened by; `None` where none was chosen.
    pub plan: Option<&'e InboundPlan>,
    /// The first refusal, if there is one.
    pub verdict: Result<(), Rejected>,
}

impl<P: Opens> Endpoint<P> {
    /// Explains a message: [opens](InboundPlan::explain) it and goes on after each refusal as far
    /// as it can. `observer` hears of everything that is found out. `request` is the receipt of the
    /// request that it answers, if it is an answer.
    ///
    /// No replay cache is asked, so the verdict says nothing of copies. It is for messages at rest:
    /// behind a network, its time tells a peer what failed.
    pub fn explain(
        &self,
        message: impl Into<Message>,
        request: Option<Receipt>,
        memory: Memory<'_>,
        now: Timestamp,
        observer: &mut dyn OperationObserver,
    ) -> Explained<'_> {
        let (mut plan, message) = (None, message.into());
        let verdict = drive(memory, &mut Buffers::default(), async |workspace| {
            self.explained(message, request, workspace, now, &mut plan, observer)
                .await
        });
        Explained { plan, verdict }
    }

    async fn explained<'e>(
        &'e self,
        message: Message,
        request: Option<Receipt>,
        workspace: &Workspace,
        now: Timestamp,
        chosen: &mut Option<&'e InboundPlan>,
        observer: &mut dyn OperationObserver,
    ) -> Result<(), Rejected> {
        let now = self.clock(now);
        let envelope = self.parse(message, &mut workspace.buffers())?;
        let (plans, expected) = match &self.operations {
            Some(operations) if !operations.serves() => self.expect_answer(request.as_ref())?,
            _ => self.expect_request(&envelope, &[], false)?,
        };
        let plan = plans.opening();
        *chosen = Some(plan);
        let lookups = plan.peek(&envelope);
        let facts = self
            .facts(&lookups, request.map(Box::new), workspace, now, &mut ())
            .await?;
        let arriving = Arriving {
            expected,
            said: None,
        };
        let opened = {
            let buffers = &mut workspace.buffers();
            plan.explain(envelope, &facts, now, buffers, observer)?
        };
        let opened = match self.is_about_tokens(plan, &opened, &facts)? {
            true => opened,
            false => {
                let buffers = &mut workspace.buffers();
                self.inner.opened(opened, now, buffers)?.0
            }
        };
        self.examined(plan, opened, arriving, &facts, now)?;
        Ok(())
    }
}
