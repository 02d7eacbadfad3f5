//! One message on its way through an endpoint: opened or secured by the plans that fit it, and
//! remembered.
//!
//! The one rule: what is given back of a message that arrived is rebuilt from what was proven.
//!
//! What is large is handed on by its pointer: from step to step of work that waits, it would be
//! copied several times.

use std::sync::Arc;

use jiff::Timestamp;
use soapstone_wss::{
    ContextName, ContextOwner, Envelope, Facts, Lookups, Message, OutboundPlan, Outgoing, Part,
    Policy, Receipt, Rejected, SecureError, Secured, SecurityContext, Verified,
};
use soapstone_xml::{Buffers, NodeId};

use super::arriving::Arriving;
use super::asking::{Store, Workspace};
use super::compiled::Endpoint;
use super::nodes::check_addressees;
use super::opened::OpenedMessage;
use super::opening::{Judged, refuse_cancelled};
use super::operations::{Expected, Operations, carries_token_request};
use super::plans::{Directions, Opens, Plans, Secures};
use super::step::{Step, StepObserver};
use super::{addressing_headers, fault, relation};
use crate::conversation::StoreUnavailable;

impl<P: Opens> Endpoint<P> {
    /// A message that was verified, and the exchange policy that it was verified by.
    pub(super) async fn verified(
        &self,
        message: Message,
        request: Option<Box<Receipt>>,
        workspace: &Workspace,
        now: Timestamp,
        observer: &mut dyn StepObserver,
    ) -> Result<(Verified<Envelope>, &Plans<P>), Rejected> {
        let judged = self.judged(message, request, workspace, now, observer);
        let (judged, plans) = judged.await?;
        Ok((judged.admit()?, plans))
    }

    /// A message that was opened, and the exchange policy that it was opened by.
    pub(super) async fn judged(
        &self,
        message: Message,
        request: Option<Box<Receipt>>,
        workspace: &Workspace,
        now: Timestamp,
        observer: &mut dyn StepObserver,
    ) -> Result<(Box<Judged>, &Plans<P>), Rejected> {
        let now = self.clock(now);
        let envelope = self.parse(message, &mut workspace.buffers())?;
        observer.ended(Step::Parse);
        let (plans, expected) = match &self.operations {
            Some(operations) if !operations.serves() => self.expect_answer(request.as_deref())?,
            _ => self.expect_request(&envelope, &[], false)?,
        };
        let plan = plans.opening();
        let lookups = plan.peek(&envelope);
        let facts = self
            .facts(&lookups, request, workspace, now, observer)
            .await?;
        let arriving = Arriving {
            expected,
            said: None,
        };
        let judged = self
            .proven(plan, arriving, envelope, &facts, workspace, now, observer)
            .await?;
        Ok((judged, plans))
    }

    /// A message that was verified and rebuilt from what was proven.
    pub(super) async fn opened(
        &self,
        message: Message,
        request: Option<Box<Receipt>>,
        workspace: &Workspace,
        now: Timestamp,
        observer: &mut dyn StepObserver,
    ) -> Result<Box<OpenedMessage>, Rejected> {
        let verified = self.verified(message, request, workspace, now, observer);
        let (verified, plans) = verified.await?;
        plans.rebuilt(verified, &mut workspace.buffers(), observer)
    }
}

impl<P: Secures> Endpoint<P> {
    /// A plain message of an application, secured. In a conversation it is no request for a token,
    /// which would be obeyed as our own.
    pub(super) fn secured(
        &self,
        message: Message,
        outgoing: Outgoing<'_>,
        now: Timestamp,
        buffers: &mut Buffers,
        observer: &mut dyn StepObserver,
    ) -> Result<Secured, SecureError> {
        let is_request = outgoing.answers.is_none();
        let Message { root: bytes, parts } = message;
        if !is_request && self.is_intermediary() {
            // It is for whoever sent the request, and protected for him.
            return Ok(Secured {
                bytes,
                parts,
                receipt: Receipt::default(),
            });
        }
        let converses = is_request && self.conversation.is_some();
        let tells = converses || self.operations.is_some();
        let (bytes, left) = match tells && self.inner.encrypts() {
            // The operation may be what is encrypted, and so may a request for a token.
            true => {
                let envelope = Envelope::parse(bytes, &self.limits, buffers)?;
                if converses && carries_token_request(&envelope) {
                    return Err(SecureError::TokenRequest);
                }
                let left = self.leaving(&envelope, outgoing)?;
                (envelope.into_bytes(buffers), Some(left))
            }
            false => (bytes, None),
        };
        let requester = outgoing.answers.and_then(|request| request.signer.as_ref());
        let inner = &self.inner;
        let bytes = inner.protected(bytes, requester, &self.limits, buffers)?;
        let envelope = Envelope::parse(bytes, &self.limits, buffers)?;
        let envelope = self.attached(envelope, parts)?;
        observer.ended(Step::Parse);
        if converses && carries_token_request(&envelope) {
            return Err(SecureError::TokenRequest);
        }
        let (plans, operations) = match left {
            Some(left) => left,
            None => self.leaving(&envelope, outgoing)?,
        };
        let plan = plans.securing();
        let recipients = self.on_the_way(is_request);
        check_addressees(&envelope, plan, recipients)?;
        let now = self.clock(now);
        let relates = is_request.then_some(plans.relates);
        let relation = relates.and_then(|demanded| relation::of_request(&envelope, demanded));
        let begun = match &self.kerberos {
            Some(kerberos)
                if is_request
                    && outgoing.kerberos.is_none()
                    && plan.policy().kerberos().is_some() =>
            {
                kerberos.begin(now)?
            }
            _ => None,
        };
        let outgoing = Outgoing {
            clock: self.peer_clock(),
            kerberos: begun.as_ref().or(outgoing.kerberos),
            ..outgoing
        };
        let mut secured = match observer.securing() {
            Some(listener) => plan.secure_observed(envelope, outgoing, now, buffers, listener)?,
            None => plan.secure(envelope, outgoing, now, buffers)?,
        };
        self.note_sent(plan, &secured.receipt, now);
        secured.receipt.operations = operations;
        secured.receipt.relation = relation;
        observer.ended(Step::Secure);
        secured.bytes = self.secured_onward(recipients, secured.bytes, now, buffers, observer)?;
        Ok(secured)
    }
}

impl<P: Directions> Endpoint<P> {
    /// By which exchange policy a request is to be opened, and as what. `actions` is what was said
    /// beside it.
    pub(super) fn expect_request(
        &self,
        envelope: &Envelope,
        actions: &[String],
        in_conversation: bool,
    ) -> Result<(&Plans<P>, Expected), Rejected> {
        let Some(operations) = &self.operations else {
            return Ok((&self.plans[0], Expected::Anything));
        };
        let expected = operations.expect_request(envelope, actions, in_conversation)?;
        let plans = match &expected {
            Expected::Request { exchange, .. } => &self.plans[*exchange],
            _ => self.for_tokens(),
        };
        Ok((plans, expected))
    }

    /// By which exchange policy the answer to a request is to be opened, and as what.
    pub(super) fn expect_answer(
        &self,
        request: Option<&Receipt>,
    ) -> Result<(&Plans<P>, Expected), Rejected> {
        let answered = request.map(|receipt| receipt.operations.clone());
        let operations = answered.unwrap_or_default();
        match self.plans_of(&operations) {
            Some(plans) => Ok((plans, Expected::Answer { operations })),
            None => Err(Rejected::OperationUnclear {
                problem: NO_REQUEST,
            }),
        }
    }

    /// The exchange policy of operations that are treated alike; `None` of no operations.
    pub(super) fn plans_of(&self, operations: &[usize]) -> Option<&Plans<P>> {
        let table = self.operations.as_ref()?;
        self.plans.get(table.exchange_of(operations)?)
    }

    /// By which exchange policy a message is to be secured, and which operations it may be of.
    pub(super) fn leaving(
        &self,
        envelope: &Envelope,
        outgoing: Outgoing<'_>,
    ) -> Result<(&Plans<P>, Vec<usize>), SecureError> {
        let Some(table) = &self.operations else {
            return Ok((&self.plans[0], Vec::new()));
        };
        let operations = match (table.serves(), outgoing.answers) {
            (false, _) => table.of_plain(envelope, outgoing.action)?,
            (true, Some(receipt)) => receipt.operations.clone(),
            (true, None) => Vec::new(),
        };
        match self.plans_of(&operations) {
            Some(plans) => Ok((plans, operations)),
            None => Err(SecureError::OperationUnclear {
                problem: NO_REQUEST,
            }),
        }
    }

    /// The exchange policy of requests for tokens in a conversation: that of the first operation
    /// whose requests have a signed Body.
    pub(super) fn for_tokens(&self) -> &Plans<P> {
        let serves = self.operations.as_ref().is_none_or(Operations::serves);
        let signs_body = |plans: &&Plans<P>| {
            plans
                .of_requests(serves)
                .is_some_and(|policy| policy.signs(&Part::Body))
        };
        self.plans.iter().find(signs_body).unwrap_or(&self.plans[0])
    }

    /// What a plan asks for about a message, as far as this endpoint knows.
    pub(super) async fn facts(
        &self,
        lookups: &Lookups,
        request: Option<Box<Receipt>>,
        workspace: &Workspace,
        now: Timestamp,
        observer: &mut dyn StepObserver,
    ) -> Result<Box<Facts>, Rejected> {
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
        let kerberos = self.kerberos.as_ref().filter(|_| request.is_none());
        let kerberos = match (kerberos, lookups.kerberos.clone()) {
            (Some(kerberos), Some(name)) => {
                let (kerberos, scope) = (Arc::clone(kerberos), self.scope.clone());
                let session = workspace.ask(Store::Kerberos, move |memory| {
                    kerberos.session(name, memory, &scope, now)
                });
                let session = session.await?;
                observer.ended(Step::Contexts);
                session
            }
            _ => None,
        };
        let references = self.references.as_ref().filter(|_| request.is_none());
        let assertion = match (references, lookups.assertion.clone()) {
            (Some(references), Some(name)) => match references.at_hand(&name, now)? {
                Some(held) => Some(held),
                None => {
                    let references = Arc::clone(references);
                    let fetched = workspace
                        .ask(Store::Assertions, move |_| references.fetch(&name, now))
                        .await?;
                    observer.ended(Step::Contexts);
                    Some(fetched)
                }
            },
            _ => None,
        };
        Ok(Box::new(Facts {
            passwords,
            contexts,
            kerberos,
            assertion,
            request: request.map(|request| *request),
            clock: self.peer_clock(),
            ..Facts::default()
        }))
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

    /// The contexts of these names, as far as this endpoint has them and may use them.
    pub(super) async fn contexts(
        &self,
        names: Vec<ContextName>,
        workspace: &Workspace,
        now: Timestamp,
    ) -> Result<Vec<SecurityContext>, Rejected> {
        let scope = self.scope.clone();
        let found = workspace.ask(Store::Contexts, move |memory| -> Result<Vec<_>, Rejected> {
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
        let mut found: Vec<SecurityContext> = found.await?;
        // A context is kept beyond a reload, and the rules are those of today.
        found.retain(|context| match &context.owner {
            ContextOwner::Kerberos { client, .. } => {
                let kerberos = self.kerberos.as_ref();
                kerberos.is_some_and(|kerberos| kerberos.accepts_client(client))
            }
            ContextOwner::Subject(owner) => {
                let mut conversation = self.conversation.iter();
                conversation.any(|one| one.accepts(owner))
            }
            _ => true,
        });
        if self.refuses_cancelled {
            for context in &found {
                if let ContextOwner::Subject(owner) = &context.owner {
                    let name = (owner.issuer.clone(), owner.id.clone());
                    refuse_cancelled(name, workspace, now).await?;
                }
            }
        }
        Ok(found)
    }
}

/// What answers depend on is not there.
const NO_REQUEST: &str = "the request that it answers is not known";

impl<P> Plans<P> {
    /// A message that is passed on, rebuilt from what was proven.
    pub(super) fn rebuilt(
        &self,
        mut verified: Verified<Envelope>,
        buffers: &mut Buffers,
        observer: &mut dyn StepObserver,
    ) -> Result<Box<OpenedMessage>, Rejected> {
        observer.verified(&verified);
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
        let parts = verified.take_attachments();
        let (evidence, receipt) = verified.finish(buffers);
        observer.ended(Step::Forward);
        Ok(Box::new(OpenedMessage {
            bytes: forwarded,
            parts,
            version,
            fault,
            evidence,
            receipt,
            addressing,
            action,
            addressed: None,
        }))
    }
}
