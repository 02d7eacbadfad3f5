//! The room that one endpoint takes up in the memory of its process.
//!
//! The rule kept here: a place is taken by whatever is held in it, and ends with that.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The room of one endpoint.
#[derive(Debug, Default)]
pub(crate) struct Room {
    pub(crate) marks: Count,
    pub(crate) tallies: Count,
}

/// How many places are taken.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicUsize);

/// The place of a mark.
#[derive(Debug)]
pub(crate) struct Place(Arc<Room>);

/// The place of a tally.
#[derive(Debug)]
pub(crate) struct TallyPlace(Arc<Room>);

impl Count {
    pub(crate) fn taken(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes places, if no more than `most` are taken then.
    fn take(&self, count: usize, most: usize) -> bool {
        let fits = |taken: usize| taken.checked_add(count).filter(|taken| *taken <= most);
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits)
            .is_ok()
    }

    fn leave(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Room {
    /// Places for marks. `None` if there are not so many.
    pub(crate) fn take_marks(room: &Arc<Self>, count: usize, most: usize) -> Option<Vec<Place>> {
        let taken = room.marks.take(count, most);
        taken.then(|| (0..count).map(|_| Place(Arc::clone(room))).collect())
    }

    /// The place for a tally. `None` if there is none.
    pub(crate) fn take_tally(room: &Arc<Self>, most: usize) -> Option<TallyPlace> {
        let taken = room.tallies.take(1, most);
        taken.then(|| TallyPlace(Arc::clone(room)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.marks.leave();
    }
}

impl Drop for TallyPlace {
    fn drop(&mut self) {
        self.0.tallies.leave();
    }
}
