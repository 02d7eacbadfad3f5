//! One message that arrived: authenticated, known to no replay cache, deciphered, compared,
//! admitted; in this order.
//!
//! ```text
//! authenticate ─▶ replay keys, tries of the deciphering keys
//!              ─▶ open ─▶ operation, late replay keys ─▶ admit
//! ```
//!
//! The rule kept here: nothing is deciphered before the replay cache has said that the message is
//! new, so that a captured message gives nobody a try at its cipher text. A message that fails
//! afterwards stays known.

use jiff::Timestamp;
use soapstone_wss::{
    Authenticated, Envelope, Facts, FirstSeen, InboundPlan, Mark, Opened, Rejected, Verified,
};
use soapstone_xml::Buffers;

use super::messages::Arriving;
use super::sent::Known;
use super::{Endpoint, Memory, Step, StepObserver, relation};
use crate::attempts::{Outcome, Tally};
use crate::replay::ReplayError;

/// Most openings that have not ended under one key. Stacks that use one `EncryptedKey` for several
/// messages send few at once; an attack on one block of CBC needs 258 (Jager and Somorovsky, 2011).
const MOST_OPEN: u32 = 32;

/// The openings that began under the keys of one message.
struct Tries {
    names: Vec<[u8; 32]>,
    before: Vec<Tally>,
    failures_until: Timestamp,
    until: Timestamp,
}

impl Endpoint {
    /// Opens a message with a plan, asks the replay cache and whether it was sent from here, and
    /// then whether it is what it was taken for.
    #[expect(
        clippy::too_many_arguments,
        reason = "everything that a verdict depends on"
    )]
    pub(super) fn proven(
        &self,
        plan: &InboundPlan,
        arriving: Arriving<'_>,
        envelope: Envelope,
        facts: &Facts,
        memory: Memory<'_>,
        now: Timestamp,
        buffers: &mut Buffers,
        observer: &mut dyn StepObserver,
    ) -> Result<Verified<Envelope>, Rejected> {
        let mut nobody = ();
        let authenticated = plan.authenticate(envelope, facts, now, buffers, &mut nobody)?;
        observer.ended(Step::Authenticate);
        self.refuse_our_own(authenticated.marks(), now)?;
        let (first_seen, tries) = begin(&authenticated, memory, now)?;
        observer.ended(Step::Replay);
        let opened = authenticated
            .open(&first_seen, buffers)
            .and_then(|opened| self.examined(plan, opened, arriving, facts, now));
        let ended = match &opened {
            Ok(_) => tries.succeeded(memory, now),
            Err(_) => tries.failed(memory, now),
        };
        let (opened, operations) = opened?;
        // The message is good, and what was begun ends by itself.
        ended.ok();
        observer.ended(Step::Open);
        let late = match opened.late_marks() {
            [] => FirstSeen::assertion(&[]),
            marks => {
                let first_seen = memory.replay.first_seen(marks, now);
                let first_seen = first_seen.map_err(|error| opened.refused(refusal(error)))?;
                observer.ended(Step::Replay);
                first_seen
            }
        };
        let mut verified = opened.admit(late)?;
        verified.note_operations(operations);
        Ok(verified)
    }

    /// Whether an opened message is of the operation that it was taken for and answers its request,
    /// and none of what it held was sent from here.
    fn examined(
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
            opened.examine(|answer| relation::confirm(answer, opened.blocks(), asked))?;
        }
        self.refuse_our_own(opened.late_marks(), now)
            .map_err(|rejected| opened.refused(rejected))?;
        Ok((opened, operations))
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

/// Takes the replay keys of a message, and begins an opening under each key that it asks to
/// decipher with: one step of the store.
fn begin(
    message: &Authenticated<'_>,
    memory: Memory<'_>,
    now: Timestamp,
) -> Result<(FirstSeen, Tries), Rejected> {
    let (marks, keys) = (message.marks(), message.deciphering_keys());
    let names: Vec<[u8; 32]> = keys.iter().map(|key| key.name).collect();
    let failures_until = keys.iter().map(|key| key.failures_until).max();
    let failures_until = failures_until.unwrap_or(now);
    let until = marks.iter().map(|mark| mark.until).max();
    let mut tries = Tries {
        names,
        before: Vec::new(),
        failures_until,
        until: until.unwrap_or(failures_until),
    };
    if marks.is_empty() && keys.is_empty() {
        return Ok((FirstSeen::assertion(&[]), tries));
    }
    if keys.is_empty() {
        let first_seen = memory.replay.first_seen(marks, now).map_err(refusal)?;
        return Ok((first_seen, tries));
    }
    let begun = memory.replay.begin(marks, &tries.names, tries.until, now);
    let (first_seen, before) = begun.map_err(refusal)?;
    tries.before = before;
    let worn = keys.iter().zip(&tries.before).find(|(key, tally)| {
        tally.failed >= key.most_failures || tally.failed.saturating_add(tally.open) >= MOST_OPEN
    });
    if let Some((_, tally)) = worn {
        let refused = Rejected::KeyTriedTooOften {
            tries: tally.failed.saturating_add(tally.open),
        };
        // It was not tried.
        tries
            .ended(Outcome::Succeeded, tries.until, memory, now)
            .ok();
        return Err(refused);
    }
    Ok((first_seen, tries))
}

impl Tries {
    /// A fresh key needs no word: what began under it ends with the marks of its message.
    fn succeeded(&self, memory: Memory<'_>, now: Timestamp) -> Result<(), ReplayError> {
        if self.before.iter().all(|tally| *tally == Tally::default()) {
            return Ok(());
        }
        self.ended(Outcome::Succeeded, self.until, memory, now)
    }

    /// Where the store cannot hear of it, what began stays open, and counts as a try all the same.
    fn failed(&self, memory: Memory<'_>, now: Timestamp) -> Result<(), ReplayError> {
        self.ended(Outcome::Failed, self.failures_until, memory, now)
    }

    fn ended(
        &self,
        outcome: Outcome,
        until: Timestamp,
        memory: Memory<'_>,
        now: Timestamp,
    ) -> Result<(), ReplayError> {
        if self.names.is_empty() {
            return Ok(());
        }
        memory
            .replay
            .end(&self.names, outcome, until, now)
            .map(|_| ())
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
