//! One message on its way through an endpoint: opened or secured by the plans that fit it, and
//! remembered.
//!
//! The one rule: what is given back of a message that arrived is rebuilt from what was proven.

use jiff::Timestamp;
use soapstone_wss::{
    ContextName, Envelope, Facts, Lookups, OutboundPlan, Outgoing, Part, Policy, Receipt, Rejected,
    SecureError, Secured, SecurityContext, Verified,
};
use soapstone_xml::{Buffers, NodeId};

use super::arriving::Arriving;
use super::asking::{Store, Workspace, drive};
use super::compiled::Endpoint;
use super::memory::Memory;
use super::opened::OpenedMessage;
use super::operations::{Expected, Operations, carries_token_request};
use super::plans::Plans;
use super::step::{Step, StepObserver};
use super::{addressing_headers, fault, relation};
use crate::conversation::StoreUnavailable;

impl Endpoint {
    /// Verifies a message: parses, looks up, decrypts, verifies, compares, asks the replay cache.
    ///
    /// `request` is what our own request left behind, where this message is its answer.
    ///
    /// # Errors
    /// Why the message is refused.
    ///
    /// # Panics
    /// If the endpoint's [`Role`](super::Role) has no inbound direction.
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

    /// A message that was verified, and the agreement that it was verified by.
    async fn verified(
        &self,
        bytes: Vec<u8>,
        request: Option<Receipt>,
        workspace: &Workspace,
        now: Timestamp,
        observer: &mut dyn StepObserver,
    ) -> Result<(Verified<Envelope>, &Plans), Rejected> {
        let now = self.clock(now);
        let envelope = Envelope::parse(bytes, &self.limits, &mut workspace.buffers())?;
        observer.ended(Step::Parse);
        let (agreement, expected) = match &self.operations {
            Some(operations) if !operations.serves() => self.expect_answer(request.as_ref())?,
            _ => self.expect_request(&envelope, &[], false)?,
        };
        let plan = agreement.inbound();
        let lookups = plan.peek(&envelope);
        let facts = self
            .facts(&lookups, request, workspace, now, observer)
            .await?;
        let arriving = Arriving {
            expected,
            said: None,
        };
        let verified = self
            .proven(plan, arriving, envelope, &facts, workspace, now, observer)
            .await?;
        Ok((verified, agreement))
    }

    /// By which agreement a request is to be opened, and as what. `actions` is what was said beside
    /// it.
    pub(super) fn expect_request(
        &self,
        envelope: &Envelope,
        actions: &[String],
        in_conversation: bool,
    ) -> Result<(&Plans, Expected), Rejected> {
        let Some(operations) = &self.operations else {
            return Ok((&self.agreements[0], Expected::Anything));
        };
        let expected = operations.expect_request(envelope, actions, in_conversation)?;
        let agreement = match &expected {
            Expected::Request { agreement, .. } => &self.agreements[*agreement],
            _ => self.for_tokens(),
        };
        Ok((agreement, expected))
    }

    /// By which agreement the answer to a request is to be opened, and as what.
    pub(super) fn expect_answer(
        &self,
        request: Option<&Receipt>,
    ) -> Result<(&Plans, Expected), Rejected> {
        let answered = request.map(|receipt| receipt.operations.clone());
        let operations = answered.unwrap_or_default();
        match self.agreed(&operations) {
            Some(agreement) => Ok((agreement, Expected::Answer { operations })),
            None => Err(Rejected::OperationUnclear {
                problem: NO_REQUEST,
            }),
        }
    }

    /// The agreement of operations that are treated alike; `None` of no operations.
    pub(super) fn agreed(&self, operations: &[usize]) -> Option<&Plans> {
        let table = self.operations.as_ref()?;
        self.agreements.get(table.agreement_of(operations)?)
    }

    /// By which agreement a message is to be secured, and which operations it may be of.
    pub(super) fn leaving(
        &self,
        envelope: &Envelope,
        outgoing: Outgoing<'_>,
    ) -> Result<(&Plans, Vec<usize>), SecureError> {
        let Some(table) = &self.operations else {
            return Ok((&self.agreements[0], Vec::new()));
        };
        let operations = match (table.serves(), outgoing.answers) {
            (false, _) => table.of_plain(envelope, outgoing.action)?,
            (true, Some(receipt)) => receipt.operations.clone(),
            (true, None) => Vec::new(),
        };
        match self.agreed(&operations) {
            Some(agreement) => Ok((agreement, operations)),
            None => Err(SecureError::OperationUnclear {
                problem: NO_REQUEST,
            }),
        }
    }

    /// The agreement of requests for tokens in a conversation: that of the first operation whose
    /// requests have a signed Body.
    pub(super) fn for_tokens(&self) -> &Plans {
        let serves = self.operations.as_ref().is_none_or(Operations::serves);
        let signs_body = |agreement: &&Plans| {
            agreement
                .of_requests(serves)
                .is_some_and(|policy| policy.signs(&Part::Body))
        };
        self.agreements
            .iter()
            .find(signs_body)
            .unwrap_or(&self.agreements[0])
    }

    /// What a plan asks for about a message, as far as this endpoint knows.
    pub(super) async fn facts(
        &self,
        lookups: &Lookups,
        request: Option<Receipt>,
        workspace: &Workspace,
        now: Timestamp,
        observer: &mut dyn StepObserver,
    ) -> Result<Facts, Rejected> {
        let passwords = self
            .users
            .iter()
            .filter(|(name, _)| lookups.hidden_user || lookups.users.contains(name))
            .map(|(name, password)| (name.clone(), password.duplicate()))
            .collect();
        let contexts = match &lookups.contexts[..] {
            [] => Vec::new(),
            names => {
                let contexts = self.contexts(names.to_vec(), workspace, now).await?;
                observer.ended(Step::Contexts);
                contexts
            }
        };
        Ok(Facts {
            passwords,
            contexts,
            request,
            ..Facts::default()
        })
    }

    /// Remembers a message that `plan` has secured and that is about to be sent, if it could be
    /// taken for the peer's.
    pub(super) fn note_sent(&self, plan: &OutboundPlan, receipt: &Receipt, now: Timestamp) {
        if receipt.marks.is_empty() {
            return;
        }
        let skew = |policy: &Policy| policy.header.timestamp.unwrap_or_default().skew;
        let bootstrap = self.conversation.iter().map(|one| &one.bootstrap_inbound);
        let opening = self.inbound().chain(bootstrap);
        // An endpoint that opens nothing has nothing to fear.
        if let Some(longest) = opening.map(|plan| skew(plan.policy())).max() {
            let longer = longest.saturating_sub(skew(plan.policy()));
            let marks = &receipt.marks;
            self.all_sent.remember(&self.sent, marks, longer, now);
        }
    }

    /// The contexts that a message names, as far as this endpoint has them.
    async fn contexts(
        &self,
        names: Vec<ContextName>,
        workspace: &Workspace,
        now: Timestamp,
    ) -> Result<Vec<SecurityContext>, Rejected> {
        let scope = self.scope.clone();
        let found = workspace.ask(Store::Contexts, move |memory| {
            let found = names.into_iter().map(|name| {
                let found = memory.contexts.find(&scope, &name, now);
                found.map_err(|error| match error {
                    StoreUnavailable::Unreadable { .. } => Rejected::ContextUnreadable { name },
                    other => Rejected::ContextsUnavailable {
                        problem: other.to_string(),
                    },
                })
            });
            found.filter_map(Result::transpose).collect()
        });
        found.await
    }

    /// Opens a message: [verifies](Self::verify) it, and rebuilds it from what was proven.
    ///
    /// # Errors
    /// Why the message is refused.
    ///
    /// # Panics
    /// If the endpoint's [`Role`](super::Role) has no inbound direction.
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
            self.open_in(workspace, bytes, request, now, observer).await
        })
    }

    /// [Opens](Self::open) a message in a workspace.
    ///
    /// # Errors
    /// Why the message is refused.
    ///
    /// # Panics
    /// If the endpoint's [`Role`](super::Role) has no inbound direction.
    pub async fn open_in(
        &self,
        workspace: &Workspace,
        bytes: Vec<u8>,
        request: Option<Receipt>,
        now: Timestamp,
        observer: &mut dyn StepObserver,
    ) -> Result<OpenedMessage, Rejected> {
        let (verified, agreement) = self
            .verified(bytes, request, workspace, now, observer)
            .await?;
        agreement.rebuilt(verified, &mut workspace.buffers(), observer)
    }

    /// Secures a plain message of an application. In a conversation it is no request for a token,
    /// which would be obeyed as our own.
    ///
    /// # Errors
    /// Why the message cannot be secured.
    ///
    /// # Panics
    /// If the endpoint's [`Role`](super::Role) has no outbound direction.
    pub fn secure(
        &self,
        bytes: Vec<u8>,
        outgoing: Outgoing<'_>,
        now: Timestamp,
        buffers: &mut Buffers,
        observer: &mut dyn StepObserver,
    ) -> Result<Secured, SecureError> {
        let envelope = Envelope::parse(bytes, &self.limits, buffers)?;
        observer.ended(Step::Parse);
        let is_request = outgoing.answers.is_none();
        if is_request && self.conversation.is_some() && carries_token_request(&envelope) {
            return Err(SecureError::TokenRequest);
        }
        let (agreement, operations) = self.leaving(&envelope, outgoing)?;
        let plan = agreement.outbound();
        let now = self.clock(now);
        let relates = is_request.then_some(agreement.relates);
        let relation = relates.and_then(|demanded| relation::of_request(&envelope, demanded));
        let mut secured = plan.secure(envelope, outgoing, now, buffers)?;
        self.note_sent(plan, &secured.receipt, now);
        secured.receipt.operations = operations;
        secured.receipt.relation = relation;
        observer.ended(Step::Secure);
        Ok(secured)
    }
}

/// What answers depend on is not there.
const NO_REQUEST: &str = "the request that it answers is not known";

impl Plans {
    /// A message that is passed on, rebuilt from what was proven.
    pub(super) fn rebuilt(
        &self,
        mut verified: Verified<Envelope>,
        buffers: &mut Buffers,
        observer: &mut dyn StepObserver,
    ) -> Result<OpenedMessage, Rejected> {
        let version = verified.envelope().version();
        let fault = fault::blame(verified.envelope());
        let addressing = self
            .addressing
            .then(|| addressing_headers::of(verified.envelope()))
            .flatten()
            .map(Box::new);
        let action = addressing.as_deref().and_then(|read| {
            let document = verified.envelope().document();
            let mut passed = verified.blocks().iter();
            let is_action = |block: &NodeId| {
                let block = document.element(*block);
                block.is(read.version.namespace(), "Action")
            };
            passed.any(is_action).then(|| read.action.clone())
        });
        if self.addressing {
            verified.drop_blocks(addressing_headers::is_block);
        }
        let mut forwarded = buffers.take(verified.envelope().document().bytes().len());
        verified.forward(&mut forwarded, buffers)?;
        let (evidence, receipt) = verified.finish(buffers);
        observer.ended(Step::Forward);
        Ok(OpenedMessage {
            bytes: forwarded,
            version,
            fault,
            evidence,
            receipt,
            addressing,
            action,
        })
    }
}
