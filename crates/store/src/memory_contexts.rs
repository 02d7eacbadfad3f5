//! Security contexts in this process, bounded.
//!
//! Conversations are spread over shards by a hash of scope and identifier, each with a lock of its
//! own. Owners' certificates are in a table of their own ([`Certificates`]), because a certificate
//! that was read takes several times as much as all the rest.
//!
//! The rule kept here: a context that is neither expired nor cancelled is never dropped. When no
//! more fit, or their owner holds as many as he may, new ones are refused.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use soapstone::conversation::{ContextStore, StoreUnavailable};
use soapstone::crypto::SymmetricKey;
use soapstone::wss::{
    AssertedOwner, ContextName, ContextOwner, ConversationVersion, SecurityContext,
};

use crate::certificates::{Certificates, Resting};
use crate::moments::later;
use crate::shares::{Share, Shares};

const SHARDS: usize = 16;

/// Remembers security contexts in memory until they expire or are cancelled.
#[derive(Debug)]
pub struct MemoryContexts {
    shards: Box<[Mutex<Shard>; SHARDS]>,
    hasher: RandomState,
    certificates: Certificates,
    shares: Shares,
    held: AtomicUsize,
    capacity: usize,
}

#[derive(Debug, Default)]
struct Shard {
    conversations: HashMap<Arc<str>, Conversation>,
    /// The same by their end.
    ends: BTreeSet<(Timestamp, Arc<str>)>,
}

#[derive(Debug)]
struct Conversation {
    latest: Instance,
    /// The one before, while a renewal is young.
    before: Option<Box<Instance>>,
    share: Share,
}

#[derive(Clone, Debug)]
struct Instance {
    name: Option<Box<str>>,
    version: ConversationVersion,
    secret: SymmetricKey,
    created: Timestamp,
    expires: Timestamp,
    owner: Owner,
}

#[derive(Clone, Debug)]
enum Owner {
    Certificate(Arc<Resting>),
    User(Box<str>),
    /// The client of a ticket, and the end of the ticket.
    Kerberos(Box<(Box<str>, Timestamp)>),
    Subject(Arc<AssertedOwner>),
    Anonymous,
}

impl MemoryContexts {
    /// A store for at most so many conversations.
    pub fn new(capacity: usize) -> Self {
        Self {
            shards: Default::default(),
            hasher: RandomState::new(),
            certificates: Certificates::default(),
            shares: Shares::new(usize::MAX),
            held: AtomicUsize::new(0),
            capacity,
        }
    }

    /// The same store with at most so many conversations for each owner. Those of nobody in
    /// particular count as one owner's.
    #[must_use]
    pub fn with_share(self, most: usize) -> Self {
        Self {
            shares: Shares::new(most),
            ..self
        }
    }

    /// How many conversations it may hold.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many conversations are held, expired ones that were not yet dropped included.
    pub fn len(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Whether no conversations are held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn shard(&self, key: &str) -> MutexGuard<'_, Shard> {
        let number = (self.hasher.hash_one(key) % SHARDS as u64) as usize;
        self.lock(number)
    }

    fn lock(&self, number: usize) -> MutexGuard<'_, Shard> {
        // A panic could leave an end without its conversation or the reverse, which costs memory
        // and proves nothing.
        self.shards[number]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes room for one more, or says that there is none.
    fn reserve(&self, now: Timestamp) -> Result<(), StoreUnavailable> {
        let fits = |held: usize| (held < self.capacity).then_some(held + 1);
        let reserve = || {
            self.held
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits)
        };
        if reserve().is_ok() {
            return Ok(());
        }
        self.drop_expired(now);
        reserve().map(drop).map_err(|_| StoreUnavailable::Full {
            capacity: Some(self.capacity),
        })
    }

    /// Room among what the owner may hold, or why there is none.
    fn share(&self, owner: &ContextOwner, now: Timestamp) -> Result<Share, StoreUnavailable> {
        if let Some(share) = self.shares.take(owner) {
            return Ok(share);
        }
        self.drop_expired(now);
        let share = self.shares.most();
        self.shares
            .take(owner)
            .ok_or(StoreUnavailable::ShareUsed { share })
    }

    fn drop_expired(&self, now: Timestamp) {
        for number in 0..SHARDS {
            let dropped = self.lock(number).drop_expired(now);
            self.held.fetch_sub(dropped, Ordering::Relaxed);
        }
    }

    fn instance(&self, context: &SecurityContext) -> Instance {
        let owner = match &context.owner {
            ContextOwner::Certificate(certificate) => {
                Owner::Certificate(self.certificates.lay_down(certificate))
            }
            ContextOwner::User(name) => Owner::User(name.as_str().into()),
            ContextOwner::Kerberos { client, ends } => {
                Owner::Kerberos(Box::new((client.as_str().into(), *ends)))
            }
            ContextOwner::Subject(owner) => Owner::Subject(Arc::clone(owner)),
            ContextOwner::Anonymous => Owner::Anonymous,
        };
        Instance {
            name: context.instance.as_deref().map(Into::into),
            version: context.version,
            secret: context.secret.clone(),
            created: context.created,
            expires: context.expires,
            owner,
        }
    }
}

impl ContextStore for MemoryContexts {
    fn find(
        &self,
        scope: &str,
        name: &ContextName,
        now: Timestamp,
    ) -> Result<Option<SecurityContext>, StoreUnavailable> {
        let key = key(scope, &name.identifier);
        let found = {
            let shard = self.shard(&key);
            shard
                .conversations
                .get(key.as_str())
                .and_then(|conversation| {
                    conversation
                        .instances()
                        .find(|instance| instance.name.as_deref() == name.instance.as_deref())
                        .filter(|instance| {
                            instance.version == name.version && now < instance.expires
                        })
                        .cloned()
                })
        };
        let Some(instance) = found else {
            return Ok(None);
        };
        let owner = match instance.owner {
            Owner::Certificate(resting) => match self.certificates.take_up(&resting) {
                Some(certificate) => ContextOwner::Certificate(certificate),
                None => {
                    return Err(StoreUnavailable::Unreadable {
                        identifier: name.identifier.clone(),
                    });
                }
            },
            Owner::User(name) => ContextOwner::User(name.into()),
            Owner::Kerberos(ticket) => ContextOwner::Kerberos {
                client: ticket.0.into(),
                ends: ticket.1,
            },
            Owner::Subject(owner) => ContextOwner::Subject(owner),
            Owner::Anonymous => ContextOwner::Anonymous,
        };
        Ok(Some(SecurityContext {
            version: instance.version,
            identifier: name.identifier.clone(),
            instance: name.instance.clone(),
            secret: instance.secret,
            created: instance.created,
            expires: instance.expires,
            owner,
        }))
    }

    fn insert(&self, scope: &str, context: &SecurityContext) -> Result<(), StoreUnavailable> {
        let share = self.share(&context.owner, context.created)?;
        let latest = self.instance(context);
        let key: Arc<str> = key(scope, &context.identifier).into();
        if self.shard(&key).conversations.contains_key(&key) {
            // It takes the room of the one it replaces.
            self.held.fetch_add(1, Ordering::Relaxed);
        } else {
            self.reserve(context.created)?;
        }
        let mut shard = self.shard(&key);
        // Expired ones of the shard at hand go now, so that steady traffic never needs a sweep.
        let dropped = shard.drop_expired(context.created);
        let replaced = usize::from(shard.remove(&key));
        shard.ends.insert((latest.expires, Arc::clone(&key)));
        shard.conversations.insert(
            key,
            Conversation {
                latest,
                before: None,
                share,
            },
        );
        drop(shard);
        self.held.fetch_sub(dropped + replaced, Ordering::Relaxed);
        Ok(())
    }

    fn renew(
        &self,
        scope: &str,
        context: &SecurityContext,
        grace: Duration,
        now: Timestamp,
    ) -> Result<bool, StoreUnavailable> {
        let latest = self.instance(context);
        let key = key(scope, &context.identifier);
        let mut shard = self.shard(&key);
        let Some((key, conversation)) = shard
            .conversations
            .get_key_value(key.as_str())
            .filter(|(_, conversation)| now < conversation.end())
        else {
            return Ok(false);
        };
        let (key, former_end) = (Arc::clone(key), conversation.end());
        shard.ends.remove(&(former_end, Arc::clone(&key)));
        let mut end = latest.expires;
        if let Some(conversation) = shard.conversations.get_mut(&key) {
            conversation.renew(latest, now, later(now, grace));
            end = conversation.end();
        }
        shard.ends.insert((end, key));
        Ok(true)
    }

    fn amend(
        &self,
        scope: &str,
        before: &SecurityContext,
        after: &SecurityContext,
    ) -> Result<bool, StoreUnavailable> {
        let key = key(scope, &before.identifier);
        let (whose, now) = (&after.owner, after.created);
        let share = match Shares::is_of_one(&before.owner, whose) {
            true => None,
            false => Some(self.share(whose, now)?),
        };
        let (before, after) = (self.instance(before), self.instance(after));
        let mut shard = self.shard(&key);
        let Some((key, conversation)) = shard
            .conversations
            .get_key_value(key.as_str())
            .filter(|(_, conversation)| conversation.latest.is(&before))
        else {
            return Ok(false);
        };
        let (key, former_end) = (Arc::clone(key), conversation.end());
        shard.ends.remove(&(former_end, Arc::clone(&key)));
        let mut end = former_end;
        if let Some(conversation) = shard.conversations.get_mut(&key) {
            conversation.latest = after;
            if let Some(share) = share {
                conversation.share = share;
            }
            end = conversation.end();
        }
        shard.ends.insert((end, key));
        Ok(true)
    }

    fn cancel(&self, scope: &str, identifier: &str) -> Result<bool, StoreUnavailable> {
        let key = key(scope, identifier);
        let removed = self.shard(&key).remove(&key);
        self.held.fetch_sub(usize::from(removed), Ordering::Relaxed);
        Ok(removed)
    }
}

impl Instance {
    /// Whether both say the same. Their keys need not be compared: each instance of a context has a
    /// name of its own.
    fn is(&self, other: &Self) -> bool {
        self.owner.is(&other.owner)
            && (&self.name, self.version) == (&other.name, other.version)
            && (self.created, self.expires) == (other.created, other.expires)
    }
}

impl Owner {
    /// Whether both are the same somebody, or nobody.
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            // Certificates rest once.
            (Self::Certificate(one), Self::Certificate(other)) => Arc::ptr_eq(one, other),
            (Self::User(one), Self::User(other)) => one == other,
            (Self::Kerberos(one), Self::Kerberos(other)) => one == other,
            (Self::Subject(one), Self::Subject(other)) => one == other,
            (Self::Anonymous, Self::Anonymous) => true,
            _ => false,
        }
    }
}

impl Shard {
    fn remove(&mut self, key: &str) -> bool {
        let Some((key, conversation)) = self.conversations.remove_entry(key) else {
            return false;
        };
        self.ends.remove(&(conversation.end(), key));
        true
    }

    /// Drops what is expired, and says how many conversations that were.
    fn drop_expired(&mut self, now: Timestamp) -> usize {
        let mut dropped = 0;
        while let Some((end, _)) = self.ends.first()
            && *end <= now
        {
            if let Some((_, key)) = self.ends.pop_first() {
                dropped += usize::from(self.conversations.remove(&key).is_some());
            }
        }
        dropped
    }
}

impl Conversation {
    fn instances(&self) -> impl Iterator<Item = &Instance> {
        std::iter::once(&self.latest).chain(self.before.as_deref())
    }

    fn end(&self) -> Timestamp {
        self.before.as_ref().map_or(self.latest.expires, |before| {
            before.expires.max(self.latest.expires)
        })
    }

    /// The instance that lives longest stays for a while; one of the same name is replaced.
    fn renew(&mut self, latest: Instance, now: Timestamp, until: Timestamp) {
        let former = std::mem::replace(&mut self.latest, latest);
        self.before = [Some(former), self.before.take().map(|before| *before)]
            .into_iter()
            .flatten()
            .filter(|instance| instance.name != self.latest.name && now < instance.expires)
            .max_by_key(|instance| instance.expires)
            .map(|instance| {
                Box::new(Instance {
                    expires: instance.expires.min(until),
                    ..instance
                })
            });
    }
}

/// Scope and identifier, so that no two pairs are written alike.
fn key(scope: &str, identifier: &str) -> String {
    format!("{}:{scope}{identifier}", scope.len())
}
