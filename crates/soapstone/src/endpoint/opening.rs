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
    Authenticated, DecipheringKey, Envelope, Facts, FirstSeen, InboundPlan, InnerEvidence, Mark,
    Opened, Rejected, Verified,
};

use super::arriving::Arriving;
use super::asking::{Store, Workspace};
use super::compiled::Endpoint;
use super::plans::Directions;
use super::relation;
use super::sent::Known;
use super::step::{Step, StepObserver};
use crate::attempts::{KeyName, Outcome, Tally};
use crate::cancellations;
use crate::replay::ReplayError;

/// Most openings that have not ended under one key. Stacks that use one `EncryptedKey` for several
/// messages send few at once; an attack on one block of CBC needs 258 (Jager and Somorovsky, 2011).
const MOST_OPEN: u32 = 32;

/// A message that was opened and is new, before it is said what it is for.
pub(super) struct Judged {
    pub(super) opened: Opened,
    /// The word of the replay cache about its late marks.
    pub(super) late: FirstSeen,
    /// The operations that it may be of.
    operations: Vec<usize>,
    /// The inner signature, where one was verified.
    inner: Option<InnerEvidence>,
}

impl Judged {
    /// The message, where it ends here.
    pub(super) fn admit(self: Box<Self>) -> Result<Verified<Envelope>, Rejected> {
        let mut verified = self.opened.admit(self.late)?;
        verified.note_operations(self.operations);
        verified.note_inner(self.inner);
        Ok(verified)
    }
}

/// What the store is told of one message: its replay keys, and the openings under its keys.
struct Tries {
    marks: Vec<Mark>,
    keys: Vec<DecipheringKey>,
    names: Vec<KeyName>,
    before: Vec<Tally>,
    failures_until: Timestamp,
    until: Timestamp,
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
        let opened = opened.and_then(|opened| self.examined(plan, opened, arriving, facts, now));
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

    /// Whether an opened message is of the operation that it was taken for and answers its request,
    /// none of what it held was sent from here, and its inner signature is good.
    pub(super) fn examined(
        &self,
        plan: &InboundPlan,
        opened: Opened,
        arriving: Arriving<'_>,
        facts: &Facts,
        now: Timestamp,
    ) -> Result<(Opened, Vec<usize>, Option<InnerEvidence>), Rejected> {
        let operations = match &self.operations {
            Some(table) => opened.examine(|envelope| table.confirm(envelope, arriving.expected))?,
            None => Vec::new(),
        };
        self.demands.check(&opened, plan.policy(), arriving.said)?;
        let request = facts.request.as_ref();
        if let Some(asked) = request.and_then(|request| request.relation.as_ref()) {
            opened.examine(|answer| relation::confirm(answer, opened.blocks(), asked))?;
        }
        self.refuse_our_own(opened.late_marks(), now)
            .map_err(|rejected| opened.refused(rejected))?;
        let inner = self.inner.verified(&opened, now)?;
        Ok((opened, operations, inner))
    }

    fn refuse_our_own(&self, marks: &[Mark], now: Timestamp) -> Result<(), Rejected> {
        match self.all_sent.known(marks, now) {
            Known::Foreign => Ok(()),
            Known::Sent => Err(Rejected::Reflected),
            Known::Forgotten => Err(Rejected::ReplayUnknown {
                problem: "the clock was set: whether the message was sent from here is not known any more".to_owned(),
            }),
        }
    }
}

impl Tries {
    fn of(message: &Authenticated<'_>, now: Timestamp) -> Self {
        let marks = message.marks().to_vec();
        let keys = message.deciphering_keys().to_vec();
        let failures_until = keys.iter().map(|key| key.failures_until).max();
        let failures_until = failures_until.unwrap_or(now);
        let until = marks.iter().map(|mark| mark.until).max();
        Self {
            names: keys.iter().map(|key| key.name).collect(),
            marks,
            keys,
            before: Vec::new(),
            failures_until,
            until: until.unwrap_or(failures_until),
        }
    }

    /// Takes the replay keys of the message, and begins an opening under each key that it asks to
    /// decipher with: one step of the store.
    async fn begin(
        &mut self,
        workspace: &Workspace,
        now: Timestamp,
    ) -> Result<FirstSeen, Rejected> {
        if self.marks.is_empty() && self.keys.is_empty() {
            return Ok(FirstSeen::assertion(&[]));
        }
        let marks = std::mem::take(&mut self.marks);
        let (names, until) = (self.names.clone(), self.until);
        let begun = workspace.ask(Store::Replay, move |memory| match names.is_empty() {
            true => {
                let first_seen = memory.replay.first_seen(&marks, now);
                first_seen.map(|first_seen| (first_seen, Vec::new()))
            }
            false => memory.replay.begin(&marks, &names, until, now),
        });
        let (first_seen, before) = begun.await.map_err(refusal)?;
        self.before = before;
        let mut tried = self.keys.iter().zip(&self.before);
        let worn = tried.find(|(key, tally)| {
            tally.failed >= key.most_failures
                || tally.failed.saturating_add(tally.open) >= MOST_OPEN
        });
        if let Some((_, tally)) = worn {
            let refused = Rejected::KeyTriedTooOften {
                tries: tally.failed.saturating_add(tally.open),
            };
            self.untried(workspace, now).await.ok();
            return Err(refused);
        }
        Ok(first_seen)
    }

    /// Tells the store that the message is good, and says whether it was asked. A fresh key needs
    /// no word: what began under it ends with the marks of its message.
    async fn succeeded(&self, workspace: &Workspace, now: Timestamp) -> Result<bool, ReplayError> {
        if self.before.iter().all(|tally| *tally == Tally::default()) {
            return Ok(false);
        }
        self.ended(Outcome::Succeeded, self.until, workspace, now)
            .await
    }

    /// Tells the store that no key was tried: too many openings are under way, or the key is away.
    async fn untried(&self, workspace: &Workspace, now: Timestamp) -> Result<bool, ReplayError> {
        self.ended(Outcome::Succeeded, self.until, workspace, now)
            .await
    }

    /// Where the store cannot hear of it, what began stays open, and counts as a try all the same.
    async fn failed(&self, workspace: &Workspace, now: Timestamp) -> Result<bool, ReplayError> {
        self.ended(Outcome::Failed, self.failures_until, workspace, now)
            .await
    }

    async fn ended(
        &self,
        outcome: Outcome,
        until: Timestamp,
        workspace: &Workspace,
        now: Timestamp,
    ) -> Result<bool, ReplayError> {
        if self.names.is_empty() {
            return Ok(false);
        }
        let names = self.names.clone();
        let ended = workspace.ask(Store::Replay, move |memory| {
            memory.replay.end(&names, outcome, until, now)
        });
        ended.await.map(|_| true)
    }
}

/// Refuses a message whose assertion was cancelled, by its issuer and its id.
async fn refuse_cancelled(
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

fn refusal(error: ReplayError) -> Rejected {
    match error {
        ReplayError::Seen => Rejected::Replayed,
        other => Rejected::ReplayUnknown {
            problem: other.to_string(),
        },
    }
}
