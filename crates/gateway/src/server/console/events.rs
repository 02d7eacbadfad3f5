//! The console's server-sent events (HTML, 9.2): what is known now, and again whenever something
//! changes.
//!
//! A comment before each event says why it comes: `begin`, `change`, or `time`. A page that finds
//! no place, and each page once the gateway will end, gets one event, and asks again later.
//!
//! The rule kept here: whoever watches is judged anew before each event. No event is made for a
//! reader who has not taken the last one, and he keeps his place no longer than his right.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc::{Permit, Sender};
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
    telling: Sender<Bytes>,
    _place: OwnedSemaphorePermit,
) {
    let ends = Instant::now() + LONGEST;
    let mut changes = state.resources.changes.listen();
    let mut why = Why::Begin;
    loop {
        let is_let_in = || asker.is_let_in(state.admin().as_deref());
        let Some(room) = room(&telling, ends, is_let_in).await else {
            return;
        };
        if !is_let_in() {
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

/// Room for an event, once the reader has taken the last one. `None` if he goes, is not let in any
/// more, or has not taken it until the answer ends: whoever does not read keeps no place.
async fn room(
    telling: &Sender<Bytes>,
    ends: Instant,
    is_let_in: impl Fn() -> bool,
) -> Option<Permit<'_, Bytes>> {
    let reserved = telling.reserve();
    tokio::pin!(reserved);
    loop {
        tokio::select! {
            biased;
            room = &mut reserved => return room.ok(),
            () = tokio::time::sleep_until(ends) => return None,
            () = tokio::time::sleep(APART) => {}
        }
        if !is_let_in() {
            return None;
        }
    }
}

fn event(state: &State, asker: &Asker, why: Why, again: u32) -> Bytes {
    let told = now(state, asker.address());
    format!(": {}\nretry: {again}\ndata: {told}\n\n", why.name()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long it takes until a reader who takes nothing has lost his place, who is let in for so
    /// long.
    async fn lost(is_let_in_for: Duration) -> Duration {
        let (telling, _told) = mpsc::channel(1);
        let begin = Instant::now();
        let first = room(&telling, begin + LONGEST, || true).await;
        first.expect("room for one").send(Bytes::new());
        let is_let_in = || begin.elapsed() < is_let_in_for;
        assert!(room(&telling, begin + LONGEST, is_let_in).await.is_none());
        begin.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_who_takes_nothing_keeps_no_place_beyond_the_end() {
        assert_eq!(lost(Duration::MAX).await, LONGEST);
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_who_takes_nothing_keeps_no_place_beyond_his_right() {
        assert!(lost(TICK).await <= TICK + APART);
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_who_takes_an_event_late_has_room_for_the_next_one() {
        let (telling, mut told) = mpsc::channel(1);
        let ends = Instant::now() + LONGEST;
        let first = room(&telling, ends, || true).await;
        first.expect("room for one").send(Bytes::new());
        let late = async {
            tokio::time::sleep(TICK).await;
            told.recv().await
        };
        let (next, taken) = tokio::join!(room(&telling, ends, || true), late);
        assert!(next.is_some() && taken.is_some());
    }
}
