//! How one call is made: at which time, with which memory, and with which observer.
//!
//! The one rule: a call without any of this is made now, with the memory of its thread.

use std::cell::{Cell, RefCell};
use std::fmt;

use jiff::Timestamp;
use soapstone_wss::{Envelope, OperationObserver, Verified};
use soapstone_xml::Buffers;

use super::step::{Step, StepObserver};

/// How one call is made, for those who tune it.
pub struct Call<'c> {
    pub(super) now: Timestamp,
    pub(super) buffers: &'c mut Buffers,
    observer: Option<&'c mut dyn StepObserver>,
}

impl<'c> Call<'c> {
    /// A call at this time, with memory that one message leaves to the next.
    pub fn new(now: Timestamp, buffers: &'c mut Buffers) -> Self {
        Self {
            now,
            buffers,
            observer: None,
        }
    }

    /// The same call with an observer of its steps.
    #[must_use]
    pub fn observed(mut self, observer: &'c mut dyn StepObserver) -> Self {
        self.observer = Some(observer);
        self
    }

    /// The buffers and the observer of the call.
    pub(super) fn parts(&mut self) -> (&mut Buffers, Observer<'_>) {
        let observer = match &mut self.observer {
            Some(observer) => Observer(Some(&mut **observer)),
            None => Observer(None),
        };
        (self.buffers, observer)
    }
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Call")
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

/// The observer of a call, if it has one.
pub(super) struct Observer<'o>(Option<&'o mut dyn StepObserver>);

impl StepObserver for Observer<'_> {
    fn ended(&mut self, step: Step) {
        if let Some(observer) = &mut self.0 {
            observer.ended(step);
        }
    }

    fn verified(&mut self, message: &Verified<Envelope>) {
        if let Some(observer) = &mut self.0 {
            observer.verified(message);
        }
    }

    fn securing(&mut self) -> Option<&mut dyn OperationObserver> {
        self.0.as_mut()?.securing()
    }
}

thread_local! {
    /// What the messages of this thread leave to the next ones.
    static BUFFERS: RefCell<Buffers> = RefCell::default();
    /// Calls since the memory was trimmed.
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

/// After how many calls of a thread its memory is trimmed: one large message must not be paid for
/// by all small ones behind it.
const TRIMMED_AFTER: u32 = 256;

/// Makes a call now, with the memory of this thread.
pub(super) fn make<T>(call: impl FnOnce(&mut Call<'_>) -> T) -> T {
    // A thread that ends has no memory any more.
    let mut buffers = BUFFERS.try_with(RefCell::take).unwrap_or_default();
    let made = call(&mut Call::new(Timestamp::now(), &mut buffers));
    let calls = CALLS.try_with(|calls| calls.replace(calls.get().wrapping_add(1)));
    if calls.is_ok_and(|calls| calls % TRIMMED_AFTER == TRIMMED_AFTER - 1) {
        buffers.trim();
    }
    // What a call within this one has left behind is dropped.
    BUFFERS.try_with(|kept| kept.replace(buffers)).ok();
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of the buffer that the call of this thread would find.
    fn kept() -> usize {
        make(|call| {
            let buffer = call.buffers.take(0);
            let capacity = buffer.capacity();
            call.buffers.give(buffer);
            capacity
        })
    }

    #[test]
    fn the_memory_of_one_call_is_left_to_the_next_one_of_its_thread() {
        make(|call| call.buffers.give(Vec::with_capacity(5_000)));
        assert_eq!(kept(), 5_000);
        let elsewhere = std::thread::spawn(kept).join().expect("no panic");
        assert_eq!(elsewhere, 0);
    }

    #[test]
    fn memory_that_no_call_needs_any_more_is_let_go() {
        make(|call| call.buffers.give(Vec::with_capacity(5_000)));
        for _ in 0..2 * TRIMMED_AFTER {
            make(|_| ());
        }
        assert_eq!(kept(), 0);
    }

    #[test]
    fn a_call_within_a_call_has_memory_of_its_own() {
        make(|outer| {
            outer.buffers.give(Vec::with_capacity(5_000));
            assert_eq!(kept(), 0);
        });
        assert_eq!(kept(), 5_000);
    }
}
