//! One message that arrived: authenticated, known to no replay cache, deciphered, compared,
//! admitted; in this order.
//!
//! ```text
//! authenticate ─▶ replay keys, tries of the deciphering keys
//!              ─▶ open ─▶ operation, late replay keys ─▶ admit
//! ```
//!
//! Each question to a store is one of the [`Workspace`]: whoever drives the opening waits for it.
//!
//! The rule kept here: nothing is deciphered before the replay cache has said that the message is
//! new, so that a captured message gives nobody a try at its cipher text. A message that fails
//! afterwards stays known.

use jiff::Timestamp;
use soapstone_wss::{
    Envelope, Facts, FirstSeen, InboundPlan, Opened, Rejected, ReplayKey, Verified,
};

use super::arriving::Arriving;
use super::asking::{Store, Workspace};
use super::compiled::Endpoint;
use super::inner::InnerFound;
use super::operations::holds_token_request;
use super::plans::Directions;
use super::reflection_guard::Origin;
use super::relation;
use super::step::{Step, StepObserver};
use super::tries::{Tries, refusal};
use crate::cancellations;

/// A message that was opened and is new, before it is said what it is for.
pub(super) struct Judged {
    pub(super) opened: Opened,
    /// The word of the replay cache about its late marks.
    pub(super) late: FirstSeen,
    /// The operations that it may be of.
    operations: Vec<usize>,
    /// What was proven, and what was deciphered, of elements of the Body.
    inner: InnerFound,
}

impl Judged {
    /// The message, where it ends here.
    pub(super) fn admit(self: Box<Self>) -> Result<Verified<Envelope>, Rejected> {
        let mut verified = self.opened.admit(self.late)?;
        verified.note_operations(self.operations);
        verified.note_inner(self.inner.signature);
        verified.note_inner_encryption(self.inner.encryption);
        Ok(verified)
    }
}

impl<P: Directions> Endpoint<P> {
    /// Opens a message with a plan, asks the replay cache and whether it was sent from here, and
    /// then whether it is what it was taken for.
    #[expect(
        clippy::too_many_arguments,
        reason = "everything that a verdict depends on"
    )]
    pub(super) async fn proven(
        &self,
        plan: &InboundPlan,
        arriving: Arriving<'_>,
        envelope: Envelope,
        facts: &Facts,
        workspace: &Workspace,
        now: Timestamp,
        observer: &mut dyn StepObserver,
    ) -> Result<Box<Judged>, Rejected> {
        let mut nobody = ();
        let authenticated = {
            let buffers = &mut workspace.buffers();
            plan.authenticate(envelope, facts, now, buffers, &mut nobody)?
        };
        observer.ended(Step::Authenticate);
        self.refuse_our_own(authenticated.marks(), now)?;
        let mut tries = Tries::of(&authenticated, now);
        let first_seen = tries.begin(workspace, now).await?;
        observer.ended(Step::Replay);
        let opened = {
            let buffers = &mut workspace.buffers();
            authenticated.open(&first_seen, buffers)
        };
        let opened = match opened {
            Ok(opened) => {
                let opened = self.inner_opened(plan, opened, facts, &mut tries, workspace, now);
                opened.await
            }
            Err(rejected) => Err(rejected),
        };
        let opened = opened.and_then(|(opened, inner)| {
            let (opened, operations) = self.examined(plan, opened, arriving, facts, now)?;
            Ok((opened, operations, inner))
        });
        let ended = match &opened {
            Ok(_) => {
                observer.ended(Step::Open);
                tries.succeeded(workspace, now).await
            }
            Err(rejected) if rejected.is_temporary() => tries.untried(workspace, now).await,
            Err(_) => tries.failed(workspace, now).await,
        };
        let (opened, operations, inner) = opened?;
        // The message is good. What the store has not heard of ends by itself.
        if ended.unwrap_or(true) {
            observer.ended(Step::Replay);
        }
        let shown = opened.assertion().filter(|_| self.refuses_cancelled);
        if let Some((issuer, id)) = shown {
            let name = (issuer.to_owned(), id.to_owned());
            let holds = refuse_cancelled(name, workspace, now).await;
            holds.map_err(|rejected| opened.refused(rejected))?;
            observer.ended(Step::Replay);
        }
        let late = match opened.late_marks() {
            [] => FirstSeen::assertion(&[]),
            marks => {
                let marks = marks.to_vec();
                let first_seen = workspace
                    .ask(Store::Replay, move |memory| {
                        memory.replay.first_seen(&marks, now)
                    })
                    .await;
                let first_seen = first_seen.map_err(|error| opened.refused(refusal(error)))?;
                observer.ended(Step::Replay);
                first_seen
            }
        };
        Ok(Box::new(Judged {
            opened,
            late,
            operations,
            inner,
        }))
    }

    /// An opened message with the elements of its Body that are protected by themselves deciphered
    /// and verified. Its operation may be among them.
    async fn inner_opened(
        &self,
        plan: &InboundPlan,
        opened: Opened,
        facts: &Facts,
        tries: &mut Tries,
        workspace: &Workspace,
        now: Timestamp,
    ) -> Result<(Opened, InnerFound), Rejected> {
        if self.is_about_tokens(plan, &opened, facts)? {
            return Ok((opened, InnerFound::default()));
        }
        let limits = &plan.policy().limits;
        if let Some(key) = self.inner.deciphering_key(&opened, limits, now) {
            let begun = Box::pin(tries.begin_with(key, workspace, now)).await;
            begun.map_err(|rejected| opened.refused(rejected))?;
        }
        self.inner.opened(opened, now, &mut workspace.buffers())
    }

    /// Whether an opened message begins, renews or ends a conversation. Such a message has no
    /// element that is protected by itself. The token service answers it, and no backend hears of
    /// it: what is asked here decides there, too.
    pub(super) fn is_about_tokens(
        &self,
        plan: &InboundPlan,
        opened: &Opened,
        facts: &Facts,
    ) -> Result<bool, Rejected> {
        let Some(conversation) = &self.conversation else {
            return Ok(false);
        };
        let renewal = conversation.renewal_inbound.as_ref();
        let begins = std::ptr::eq(plan, &conversation.bootstrap_inbound)
            || renewal.is_some_and(|renewal| std::ptr::eq(plan, renewal));
        // An answer is the application's, whatever it looks like.
        let is_request = facts.request.is_none();
        opened.examine(|envelope| Ok(begins || is_request && holds_token_request(envelope)))
    }

    /// Whether an opened message is of the operation that it was taken for and answers its request,
    /// and none of what it held was sent from here.
    pub(super) fn examined(
        &self,
        plan: &InboundPlan,
        opened: Opened,
        arriving: Arriving<'_>,
        facts: &Facts,
        now: Timestamp,
    ) -> Result<(Opened, Vec<usize>), Rejected> {
        let operations = match &self.operations {
            Some(table) => opened.examine(|envelope| table.confirm(envelope, arriving.expected))?,
            None => Vec::new(),
        };
        self.demands.check(&opened, plan.policy(), arriving.said)?;
        let request = facts.request.as_ref();
        if let Some(asked) = request.and_then(|request| request.relation.as_ref()) {
            opened.examine(|answer| {
                relation::confirm(answer, opened.blocks(), asked, plan.policy())
            })?;
        }
        self.refuse_our_own(opened.late_marks(), now)
            .map_err(|rejected| opened.refused(rejected))?;
        Ok((opened, operations))
    }

    fn refuse_our_own(&self, marks: &[ReplayKey], now: Timestamp) -> Result<(), Rejected> {
        match self.all_sent.known(marks, now) {
            Origin::Foreign => Ok(()),
            Origin::Sent => Err(Rejected::Reflected),
            Origin::Forgotten => Err(Rejected::ReplayUnknown {
                problem: "the clock was set: whether the message was sent from here is not known any more".to_owned(),
            }),
        }
    }
}

/// Refuses a message whose assertion was cancelled, by its issuer and its id.
pub(super) async fn refuse_cancelled(
    (issuer, id): (String, String),
    workspace: &Workspace,
    now: Timestamp,
) -> Result<(), Rejected> {
    let cancelled = workspace.ask(Store::Replay, move |memory| {
        let name = (issuer.as_str(), id.as_str());
        cancellations::is_cancelled(memory.replay, name, now)
    });
    match cancelled.await {
        Ok(false) => Ok(()),
        Ok(true) => Err(Rejected::AssertionCancelled),
        Err(error) => Err(refusal(error)),
    }
}
