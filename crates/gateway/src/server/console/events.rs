//! The console's server-sent events (HTML, 9.2): what is known now, and again whenever something
//! changes.
//!
//! A comment before each event says why it comes: `begin`, `change`, or `time`. A page that finds
//! no place, and each page once the gateway will end, gets one event, and asks again later.
//!
//! The rule kept here: whoever watches is judged anew before each event. No event is made for a
//! reader who has not taken the last one.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::Instant;

use super::state::now;
use crate::server::admission::Asker;
use crate::server::state::State;
use crate::wire::reply::Reply;

/// Shortest time between two events of one page: a flood of refusals is one change.
const APART: Duration = Duration::from_millis(500);

/// Longest time between two: rates and latencies move without a change.
const TICK: Duration = Duration::from_secs(5);

/// How long one answer goes on. Then the browser asks again, and proves again who it is.
const LONGEST: Duration = Duration::from_mins(10);

/// How long a browser waits before it asks again, in milliseconds, and one that found no place.
const AGAIN: u32 = 2000;
const LATER: u32 = 10_000;

/// Why an event comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// It is the first one.
    Begin,
    /// Something changed.
    Change,
    /// Nothing was heard of for a while.
    Time,
}

impl Why {
    fn name(self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::Change => "change",
            Self::Time => "time",
        }
    }
}

/// The events for somebody who was let in.
pub(super) fn answer(state: &Arc<State>, asker: Asker) -> Reply {
    match state.watchers.place() {
        Some(place) if !state.is_draining() => {
            // One event waits for the reader, at most.
            let (telling, told) = mpsc::channel(1);
            tokio::spawn(tell(Arc::clone(state), asker, telling, place));
            Reply::told(told)
        }
        _ => Reply::whole(event(state, &asker, Why::Begin, LATER)),
    }
}

/// Tells one page, until it goes, is not let in any more, or the gateway will end.
async fn tell(
    state: Arc<State>,
    asker: Asker,
    telling: mpsc::Sender<Bytes>,
    _place: OwnedSemaphorePermit,
) {
    let ends = Instant::now() + LONGEST;
    let mut changes = state.resources.changes.listen();
    let mut why = Why::Begin;
    loop {
        let Ok(room) = telling.reserve().await else {
            return;
        };
        if !asker.is_let_in(state.admin().as_deref()) {
            return;
        }
        // What changes while the event is made comes with the next one.
        changes.mark_unchanged();
        let is_last = state.is_draining() || Instant::now() >= ends;
        room.send(event(&state, &asker, why, AGAIN));
        if is_last {
            return;
        }
        tokio::select! {
            () = telling.closed() => return,
            () = tokio::time::sleep(APART) => {}
        }
        why = tokio::select! {
            biased;
            () = telling.closed() => return,
            // The sender is in the state.
            _ = changes.changed() => Why::Change,
            () = tokio::time::sleep(TICK.saturating_sub(APART)) => Why::Time,
        };
    }
}

fn event(state: &State, asker: &Asker, why: Why, again: u32) -> Bytes {
    let told = now(state, asker.address());
    format!(": {}\nretry: {again}\ndata: {told}\n\n", why.name()).into()
}
