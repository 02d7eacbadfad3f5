//! Which security context a client uses with which endpoint, and when to renew it.
//!
//! Pure: the host keeps it behind a lock and tells the time. The one rule: one caller at a time is
//! told to renew; the others go on with what there is.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use soapstone_wss::SecurityContext;

use crate::message::{between, later};

/// What a client does for its next message to an endpoint.
#[derive(Clone, Debug)]
pub enum Cached {
    /// There is no context, or none that lives: establish one.
    Missing,
    /// Use this one.
    Usable(Arc<SecurityContext>),
    /// Renew this one; until that is done it can be used.
    RenewalDue(Arc<SecurityContext>),
}

#[derive(Debug)]
struct Entry {
    context: Arc<SecurityContext>,
    renew_at: Timestamp,
    /// Somebody was told to renew; nobody else is until then.
    renewing_until: Timestamp,
}

impl Entry {
    fn is_of(&self, context: &SecurityContext) -> bool {
        self.context.identifier == context.identifier && self.context.instance == context.instance
    }
}

/// The contexts of a client, by endpoint.
///
/// ```
/// use soapstone_trust::{Cached, TokenCache};
///
/// let mut cache = TokenCache::new(100);
/// let now = jiff::Timestamp::now();
/// assert!(matches!(cache.find("https://example.org/books", now), Cached::Missing));
/// ```
#[derive(Debug)]
pub struct TokenCache {
    entries: HashMap<String, Entry>,
    capacity: usize,
}

/// A renewal is given that long before another caller is asked for one.
const RENEWAL_TIME: Duration = Duration::from_secs(30);

/// The last part of a context's life, as a divisor, in which it is renewed: the last tenth.
const LAST_PART: u32 = 10;

/// Least time before the end at which a renewal is due: messages under way must arrive.
const LEAST_AHEAD: Duration = Duration::from_secs(10);

impl TokenCache {
    /// An empty cache that holds contexts for at most `capacity` endpoints, at least one.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            entries: HashMap::new(),
            capacity: capacity.max(1),
        }
    }

    /// The context for `endpoint`. [`Cached::RenewalDue`] is said to one caller in 30 seconds.
    pub fn find(&mut self, endpoint: &str, now: Timestamp) -> Cached {
        let Some(entry) = self.entries.get_mut(endpoint) else {
            return Cached::Missing;
        };
        if entry.context.expires <= now {
            self.entries.remove(endpoint);
            return Cached::Missing;
        }
        if entry.renew_at > now || entry.renewing_until > now {
            return Cached::Usable(Arc::clone(&entry.context));
        }
        entry.renewing_until = later(now, RENEWAL_TIME);
        Cached::RenewalDue(Arc::clone(&entry.context))
    }

    /// Remembers a new or renewed context, and forgets the one that was there. Where there is no
    /// room, the context that ends first goes: it only costs a handshake.
    ///
    /// A context that ends no later than the one before is not renewed: something else ends both,
    /// such as a ticket, and each renewal would have less time before the next one.
    pub fn put(
        &mut self,
        endpoint: &str,
        context: SecurityContext,
        now: Timestamp,
    ) -> Arc<SecurityContext> {
        if self.entries.len() >= self.capacity && !self.entries.contains_key(endpoint) {
            self.make_room(now);
        }
        let life = between(now, context.expires);
        // A life shorter than twenty seconds is halved instead.
        let ahead = (life / LAST_PART).max(LEAST_AHEAD.min(life / 2));
        let before = self.entries.get(endpoint);
        let before = before.filter(|entry| entry.context.expires > now);
        let renew_at = match before {
            Some(before) if context.expires <= before.context.expires => context.expires,
            _ => later(now, life - ahead),
        };
        let context = Arc::new(context);
        let entry = Entry {
            context: Arc::clone(&context),
            renew_at,
            renewing_until: Timestamp::MIN,
        };
        self.entries.insert(endpoint.to_owned(), entry);
        context
    }

    /// Forgets the context of `endpoint` if it is still `context`: the service lost it, or it was
    /// cancelled. Whoever learns that late does not throw away the next one.
    pub fn forget(&mut self, endpoint: &str, context: &SecurityContext) {
        if self.holds(endpoint, context) {
            self.entries.remove(endpoint);
        }
    }

    /// Whether `context` is that of `endpoint`: neither forgotten nor followed by another one.
    #[must_use]
    pub fn holds(&self, endpoint: &str, context: &SecurityContext) -> bool {
        let entry = self.entries.get(endpoint);
        entry.is_some_and(|entry| entry.is_of(context))
    }

    /// Says of no renewal of `context` any more that it is due: another context would end no later.
    /// The next one is established when this one has ended.
    pub fn renew_no_more(&mut self, endpoint: &str, context: &SecurityContext) {
        let entry = self.entries.get_mut(endpoint);
        if let Some(entry) = entry.filter(|entry| entry.is_of(context)) {
            entry.renew_at = entry.context.expires;
        }
    }

    /// All contexts that live, to be cancelled when the client ends.
    pub fn drain(&mut self, now: Timestamp) -> Vec<(String, Arc<SecurityContext>)> {
        self.entries
            .drain()
            .filter(|(_, entry)| entry.context.expires > now)
            .map(|(endpoint, entry)| (endpoint, entry.context))
            .collect()
    }

    /// How many contexts are held, ended ones perhaps included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn make_room(&mut self, now: Timestamp) {
        self.entries.retain(|_, entry| entry.context.expires > now);
        while self.entries.len() >= self.capacity {
            let first = self
                .entries
                .iter()
                .min_by_key(|(_, entry)| entry.context.expires)
                .map(|(endpoint, _)| endpoint.clone());
            match first {
                Some(endpoint) => self.entries.remove(&endpoint),
                None => return,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use soapstone_crypto::SymmetricKey;
    use soapstone_wss::{ContextOwner, ConversationVersion};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_000_000_000 + second).unwrap()
    }

    fn context(identifier: &str, end: i64) -> SecurityContext {
        SecurityContext {
            version: ConversationVersion::V13,
            identifier: identifier.to_owned(),
            instance: None,
            secret: SymmetricKey::generate(32).unwrap(),
            created: at(0),
            expires: at(end),
            owner: ContextOwner::Anonymous,
        }
    }

    /// `U` usable, `R` to be renewed, `-` missing, with the identifier.
    fn found(cache: &mut TokenCache, endpoint: &str, second: i64) -> String {
        match cache.find(endpoint, at(second)) {
            Cached::Missing => "-".to_owned(),
            Cached::Usable(context) => format!("U {}", context.identifier),
            Cached::RenewalDue(context) => format!("R {}", context.identifier),
        }
    }

    #[test]
    fn a_context_is_renewed_in_the_last_tenth_of_its_life() {
        let mut cache = TokenCache::new(2);
        cache.put("e", context("urn:1", 1000), at(0));
        assert_eq!(found(&mut cache, "e", 0), "U urn:1");
        assert_eq!(found(&mut cache, "e", 899), "U urn:1");
        assert_eq!(found(&mut cache, "e", 900), "R urn:1");
        assert_eq!(found(&mut cache, "other", 900), "-");
    }

    #[test]
    fn one_caller_in_thirty_seconds_is_told_to_renew() {
        let mut cache = TokenCache::new(2);
        cache.put("e", context("urn:1", 1000), at(0));
        assert_eq!(found(&mut cache, "e", 910), "R urn:1");
        assert_eq!(found(&mut cache, "e", 911), "U urn:1");
        assert_eq!(found(&mut cache, "e", 939), "U urn:1");
        assert_eq!(found(&mut cache, "e", 940), "R urn:1");
        cache.put("e", context("urn:1", 2000), at(941));
        assert_eq!(found(&mut cache, "e", 980), "U urn:1");
    }

    #[test]
    fn a_context_whose_renewal_gains_no_time_is_not_renewed_again() {
        let mut cache = TokenCache::new(2);
        cache.put("e", context("urn:1", 1000), at(0));
        assert_eq!(found(&mut cache, "e", 900), "R urn:1");
        cache.put("e", context("urn:2", 1000), at(901));
        assert_eq!(found(&mut cache, "e", 999), "U urn:2");
        assert_eq!(found(&mut cache, "e", 1000), "-");
        // The next one is as good as the first.
        cache.put("e", context("urn:3", 2000), at(1000));
        assert_eq!(found(&mut cache, "e", 1900), "R urn:3");
    }

    /// A client that learns of no gain while it renews asks no second time.
    #[test]
    fn a_context_that_nothing_can_prolong_is_due_once() {
        let mut cache = TokenCache::new(2);
        cache.put("e", context("urn:1", 1000), at(0));
        let due = |second: &i64| {
            let found = cache.find("e", at(*second));
            if let Cached::RenewalDue(context) = &found {
                cache.renew_no_more("e", context);
            }
            matches!(found, Cached::RenewalDue(_))
        };
        assert_eq!((0..1000).filter(due).collect::<Vec<_>>(), [900]);
        assert_eq!(found(&mut cache, "e", 999), "U urn:1");
        assert_eq!(found(&mut cache, "e", 1000), "-");
    }

    #[test]
    fn nothing_is_said_of_the_next_context_by_who_means_the_one_before() {
        let mut cache = TokenCache::new(2);
        let first = cache.put("e", context("urn:1", 1000), at(0));
        assert!(cache.holds("e", &first));
        assert!(!cache.holds("other", &first));
        cache.put("e", context("urn:2", 2000), at(0));
        assert!(!cache.holds("e", &first));
        cache.renew_no_more("e", &first);
        assert_eq!(found(&mut cache, "e", 1800), "R urn:2");
        cache.forget("e", &context("urn:2", 2000));
        assert!(!cache.holds("e", &context("urn:2", 2000)));
    }

    #[test]
    fn a_context_is_gone_when_it_ends() {
        let mut cache = TokenCache::new(2);
        cache.put("e", context("urn:1", 1000), at(0));
        assert_eq!(found(&mut cache, "e", 1000), "-");
        assert!(cache.is_empty());
    }

    #[test]
    fn the_shortest_life_has_a_time_to_renew() {
        let mut cache = TokenCache::new(2);
        cache.put("e", context("urn:1", 4), at(0));
        assert_eq!(found(&mut cache, "e", 1), "U urn:1");
        assert_eq!(found(&mut cache, "e", 2), "R urn:1");
        cache.put("e", context("urn:2", 0), at(0));
        assert_eq!(found(&mut cache, "e", 0), "-");
    }

    #[test]
    fn a_late_failure_does_not_forget_the_next_context() {
        let mut cache = TokenCache::new(2);
        let first = cache.put("e", context("urn:1", 1000), at(0));
        cache.put("e", context("urn:2", 1000), at(0));
        cache.forget("e", &first);
        assert_eq!(found(&mut cache, "e", 1), "U urn:2");
        cache.forget("e", &context("urn:2", 1000));
        assert_eq!(found(&mut cache, "e", 1), "-");
    }

    #[test]
    fn where_there_is_no_room_the_first_to_end_goes() {
        let mut cache = TokenCache::new(2);
        cache.put("a", context("urn:a", 500), at(0));
        cache.put("b", context("urn:b", 400), at(0));
        cache.put("c", context("urn:c", 600), at(0));
        assert_eq!(cache.len(), 2);
        assert_eq!(found(&mut cache, "b", 1), "-");
        cache.put("d", context("urn:d", 700), at(550));
        assert_eq!(found(&mut cache, "a", 551), "-");
        assert_eq!(found(&mut cache, "c", 551), "R urn:c");
        let mut left = cache.drain(at(650));
        assert_eq!(
            left.pop().map(|(endpoint, _)| endpoint),
            Some("d".to_owned())
        );
        assert!(left.is_empty() && cache.is_empty());
    }
}
