//! What a route counts by operation.
//!
//! The operation of a request is known when it was opened. What was refused before that counts as
//! [`Operations::other`], and so does all that has no name of its own here: the sum is what the
//! route counts.
//!
//! The rule kept here: an operation is counted apart only if the policy of the route names it, or a
//! backend has served it to a proven sender. There are so many at most, so that nobody makes the
//! series grow, and no client takes their places with names that no backend knows.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use soapstone_registry::OTHER;

use super::times::{CallSample, Histogram, TimesSample};

/// Most operations that a route counts apart. Services have some ten; the broker keeps means of as
/// many.
const MOST: usize = 64;

/// Longest name of an operation, in bytes: that of a file on most systems, and what the registry
/// takes twice.
const LONGEST_NAME: usize = 255;

/// What is counted of one operation.
#[derive(Debug)]
pub(crate) struct OperationMetrics {
    /// `{namespace}name`; the name alone where it has no namespace.
    name: Arc<str>,
    pub(super) request_time: Histogram,
    pub(super) backend_time: Histogram,
    /// Time of security steps, in nanoseconds.
    pub(super) security: AtomicU64,
    pub(super) refusals: AtomicU64,
    pub(super) failures: AtomicU64,
    pub(super) in_hand: AtomicU64,
}

impl OperationMetrics {
    fn new(name: &str) -> Arc<Self> {
        Arc::new(Self {
            name: name.into(),
            request_time: Histogram::default(),
            backend_time: Histogram::default(),
            security: AtomicU64::new(0),
            refusals: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            in_hand: AtomicU64::new(0),
        })
    }

    /// The name of it, where it is one operation.
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Whether it is that of an element.
    fn is(&self, namespace: &str, local: &str) -> bool {
        match namespace {
            "" => *self.name == *local,
            _ => {
                let rest = self.name.strip_prefix('{');
                let rest = rest.and_then(|rest| rest.strip_prefix(namespace));
                rest.and_then(|rest| rest.strip_prefix('}')) == Some(local)
            }
        }
    }

    /// The backend's response head arrived.
    pub(crate) fn backend(&self, took: Duration) {
        self.backend_time.record(took);
    }

    /// A message was refused for its security.
    pub(crate) fn refusal(&self) {
        self.refusals.fetch_add(1, Ordering::Relaxed);
    }

    /// A call failed for another reason.
    pub(crate) fn failure(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// What it has counted until now.
    pub(crate) fn sample(&self) -> CallSample {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CallSample {
            request: TimesSample::of(&self.request_time),
            backend: TimesSample::of(&self.backend_time),
            security_nanoseconds: load(&self.security),
            refusals: load(&self.refusals),
            failures: load(&self.failures),
            in_hand: load(&self.in_hand),
        }
    }
}

/// The operations of a route.
#[derive(Debug)]
pub(crate) struct Operations {
    known: RwLock<Vec<Arc<OperationMetrics>>>,
    other: Arc<OperationMetrics>,
}

impl Default for Operations {
    fn default() -> Self {
        Self {
            known: RwLock::default(),
            other: OperationMetrics::new(OTHER),
        }
    }
}

impl Operations {
    /// Counts the operations that a policy names apart from now on.
    pub(crate) fn know<'n>(&self, names: impl Iterator<Item = &'n str>) {
        let mut names: Vec<&str> = names.collect();
        names.sort_unstable();
        for name in names {
            let (namespace, local) = match name.strip_prefix('{') {
                Some(rest) => rest.split_once('}').unwrap_or(("", name)),
                None => ("", name),
            };
            if let Some(new) = self.new_name(namespace, local) {
                self.add(&new);
            }
        }
    }

    /// The operation of an element, where it is counted apart.
    pub(crate) fn find(&self, namespace: &str, local: &str) -> Option<Arc<OperationMetrics>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let mut known = known.iter();
        known.find(|it| it.is(namespace, local)).cloned()
    }

    /// The name of an operation that is not counted apart yet, and could be.
    pub(crate) fn new_name(&self, namespace: &str, local: &str) -> Option<String> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let fits = namespace.len() + local.len() + 2 <= LONGEST_NAME;
        (fits && known.len() < MOST).then(|| match namespace {
            "" => local.to_owned(),
            _ => format!("{{{namespace}}}{local}"),
        })
    }

    /// Counts an operation apart from now on. `None`: there is no room.
    fn add(&self, name: &str) -> Option<Arc<OperationMetrics>> {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        // Another request may have been quicker.
        if let Some(known) = known.iter().find(|it| *it.name == *name) {
            return Some(Arc::clone(known));
        }
        if known.len() >= MOST {
            return None;
        }
        let new = OperationMetrics::new(name);
        known.push(Arc::clone(&new));
        Some(new)
    }

    /// All calls that none of the others is of.
    pub(crate) fn other(&self) -> &Arc<OperationMetrics> {
        &self.other
    }

    /// All of them, and what is of none.
    pub(crate) fn all(&self) -> Vec<Arc<OperationMetrics>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let mut all = known.clone();
        drop(known);
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all.push(Arc::clone(&self.other));
        all
    }
}

/// A call on a route that counts by operation, while it is served.
#[derive(Debug, Default)]
pub(crate) struct CountedCall {
    operation: OnceLock<InHand>,
    /// What it calls, where that is not counted apart yet.
    new: OnceLock<NewOperation>,
    /// Time of its security steps, in nanoseconds.
    security: AtomicU64,
}

/// The operation of a call, which has it in hand until this is dropped.
#[derive(Debug)]
struct InHand(Arc<OperationMetrics>);

impl Drop for InHand {
    fn drop(&mut self) {
        self.0.in_hand.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An operation that a proven sender calls, and that no backend has served yet.
#[derive(Debug)]
struct NewOperation {
    name: String,
    /// What such calls count for, until one of them is served.
    other: Arc<OperationMetrics>,
    /// How long backends took, where they answered.
    backend: Mutex<Vec<Duration>>,
    /// The answer is a fault, whatever its status.
    is_fault: AtomicBool,
}

impl NewOperation {
    /// Counts what backends took for an operation.
    fn count_for(&self, operation: &OperationMetrics) {
        let mut backend = self.backend.lock().unwrap_or_else(PoisonError::into_inner);
        for took in backend.drain(..) {
            operation.backend(took);
        }
    }

    /// It was answered. Returns what the call counts for.
    fn answered(&self, operations: &Operations, succeeded: bool) -> Option<Arc<OperationMetrics>> {
        let backend = self.backend.lock().unwrap_or_else(PoisonError::into_inner);
        let is_answered = !backend.is_empty();
        drop(backend);
        let is_served = is_answered && succeeded && !self.is_fault.load(Ordering::Relaxed);
        is_served.then(|| operations.add(&self.name)).flatten()
    }
}

impl Drop for NewOperation {
    fn drop(&mut self) {
        self.count_for(&self.other);
    }
}

impl CountedCall {
    /// It was opened, and is of an operation of that name, which is not counted apart yet.
    pub(crate) fn is_of_new(&self, name: String, operations: &Operations) {
        self.new.get_or_init(|| NewOperation {
            name,
            other: Arc::clone(&operations.other),
            backend: Mutex::default(),
            is_fault: AtomicBool::new(false),
        });
    }

    /// Whether its answer says if its operation is counted apart from now on.
    pub(crate) fn is_new(&self) -> bool {
        self.new.get().is_some()
    }

    /// Its answer is a fault.
    pub(crate) fn is_answered_by_fault(&self) {
        if let Some(new) = self.new.get() {
            new.is_fault.store(true, Ordering::Relaxed);
        }
    }

    /// The head of a backend's response arrived.
    pub(crate) fn backend(&self, operations: &Operations, took: Duration) {
        match (self.operation(), self.new.get()) {
            (None, Some(new)) => {
                let mut backend = new.backend.lock().unwrap_or_else(PoisonError::into_inner);
                backend.push(took);
            }
            (operation, _) => operation.unwrap_or(operations.other()).backend(took),
        }
    }

    /// It was opened, and is of that operation.
    pub(crate) fn is_of(&self, operation: Arc<OperationMetrics>) {
        self.operation.get_or_init(|| {
            operation.in_hand.fetch_add(1, Ordering::Relaxed);
            InHand(operation)
        });
    }

    /// Its operation, where it is known and counted apart.
    pub(crate) fn operation(&self) -> Option<&Arc<OperationMetrics>> {
        self.operation.get().map(|in_hand| &in_hand.0)
    }

    /// A security step took that time.
    pub(crate) fn secured(&self, took: Duration) {
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.security.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// The call was answered, after that time. `succeeded` is what the status of the answer says.
    pub(crate) fn answered(&self, operations: &Operations, succeeded: bool, took: Duration) {
        if let Some(new) = self.new.get() {
            if let Some(operation) = new.answered(operations, succeeded) {
                self.is_of(operation);
            }
            new.count_for(self.operation().unwrap_or(operations.other()));
        }
        let operation = self.operation().unwrap_or(operations.other());
        let security = self.security.load(Ordering::Relaxed);
        operation.security.fetch_add(security, Ordering::Relaxed);
        operation.request_time.record(took);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(operations: &Operations) -> Vec<String> {
        let all = operations.all().into_iter();
        all.map(|it| it.name().to_string()).collect()
    }

    /// A call of an operation that is answered with success, by a fault perhaps.
    fn call(operations: &Operations, local: &str, succeeded: bool, is_fault: bool) -> bool {
        let call = CountedCall::default();
        if let Some(known) = operations.find("urn:b", local) {
            call.is_of(known);
        } else if let Some(name) = operations.new_name("urn:b", local) {
            call.is_of_new(name, operations);
        }
        call.backend(operations, Duration::from_millis(1));
        if is_fault {
            call.is_answered_by_fault();
        }
        call.answered(operations, succeeded, Duration::from_millis(2));
        call.operation().is_some()
    }

    #[test]
    fn an_operation_is_counted_apart_where_the_policy_names_it_or_a_backend_has_served_it() {
        let operations = Operations::default();
        operations.know(["{urn:b}getBooks", "ping"].into_iter());
        assert!(operations.find("urn:b", "getBooks").is_some());
        assert!(operations.find("", "ping").is_some());
        for (namespace, local) in [
            ("urn:c", "getBooks"),
            ("urn:b", "getBook"),
            ("", "getBooks"),
        ] {
            let found = operations.find(namespace, local);
            assert!(found.is_none(), "{namespace} {local}");
        }
        assert!(!call(&operations, "buy", false, false));
        assert!(!call(&operations, "buy", true, true));
        assert_eq!(names(&operations), ["ping", "{urn:b}getBooks", "*"]);
        assert!(call(&operations, "buy", true, false));
        // Then failures count for it, too.
        assert!(call(&operations, "buy", false, false));
        let buy = operations.find("urn:b", "buy").expect("it is known");
        for (counted, calls) in [(&buy, 2), (operations.other(), 2)] {
            let sample = counted.sample();
            let counts = (sample.request.count(), sample.backend.count());
            assert_eq!(counts, (calls, calls), "{counted:?}");
        }
    }

    /// What the gateway answers by itself, and a client that has gone, make no operation.
    #[test]
    fn what_no_backend_answered_is_no_operation() {
        let operations = Operations::default();
        let own = CountedCall::default();
        own.is_of_new("own".to_owned(), &operations);
        own.answered(&operations, true, Duration::from_millis(2));
        let gone = CountedCall::default();
        gone.is_of_new("gone".to_owned(), &operations);
        gone.backend(&operations, Duration::from_millis(1));
        drop(gone);
        assert_eq!(names(&operations), ["*"]);
        let other = operations.other().sample();
        let counts = (other.request.count(), other.backend.count());
        assert_eq!(counts, (1, 1));
    }

    /// Whoever has a key of a client can name as many operations as he likes.
    #[test]
    fn no_sender_makes_more_operations_than_a_route_counts() {
        let operations = Operations::default();
        operations.know(["{urn:b}getBooks"].into_iter());
        for number in 0..1000 {
            call(&operations, &format!("invented{number}"), false, false);
        }
        assert_eq!(names(&operations).len(), 2);
        for number in 0..1000 {
            call(&operations, &format!("o{number}"), true, false);
        }
        assert_eq!(names(&operations).len(), MOST + 1);
        assert!(operations.find("urn:b", "getBooks").is_some());
        // Calls that were in hand when the last place was taken.
        assert!(operations.add("late").is_none());
    }

    #[test]
    fn a_name_that_is_too_long_is_another_operation() {
        let operations = Operations::default();
        assert!(operations.new_name(&"n".repeat(250), "abc").is_some());
        assert!(operations.new_name(&"n".repeat(250), "abcd").is_none());
        assert!(operations.new_name("", &"n".repeat(254)).is_none());
    }

    #[test]
    fn a_call_counts_once_for_its_operation_or_for_others() {
        let operations = Operations::default();
        let get = operations.add("{urn:b}get").expect("there is room");
        let call = CountedCall::default();
        call.is_of(Arc::clone(&get));
        call.is_of(Arc::clone(operations.other()));
        call.secured(Duration::from_nanos(30));
        assert_eq!(get.sample().in_hand, 1);
        call.answered(&operations, true, Duration::from_millis(2));
        drop(call);
        let refused = CountedCall::default();
        refused.answered(&operations, false, Duration::from_millis(1));
        let (get, other) = (get.sample(), operations.other().sample());
        assert_eq!((get.request.count(), get.in_hand), (1, 0));
        assert_eq!(get.security_nanoseconds, 30);
        assert_eq!((other.request.count(), other.in_hand), (1, 0));
    }
}
