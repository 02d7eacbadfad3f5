//! What remembers security contexts between the messages that use them.
//!
//! A context belongs to a scope, the name of the endpoint that it was made at: for other endpoints
//! it does not exist. The rule kept here: a store that cannot tell says so; it never answers "not
//! there" in its place.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use soapstone_wss::{ContextName, SecurityContext};

/// Why a store of security contexts does not do what it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreUnavailable {
    /// It holds as many contexts as it may. Nobody else's is dropped for a new one.
    Full {
        /// How many it may hold; `None` where the store alone knows.
        capacity: Option<usize>,
    },
    /// The owner of the context holds as many as one owner may.
    ShareUsed {
        /// How many that are.
        share: usize,
    },
    /// It cannot be reached, or does not answer in time. Whether a write was done is not known.
    Unreachable {
        /// Why.
        problem: String,
    },
    /// It answers, and refuses or answers what makes no sense.
    Refused {
        /// What it said.
        problem: String,
    },
    /// It has a context of that name, which does not open: it was changed, or put there by somebody
    /// without the key.
    Unreadable {
        /// The context's identifier.
        identifier: String,
    },
}

impl fmt::Display for StoreUnavailable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full {
                capacity: Some(capacity),
            } => write!(
                out,
                "{capacity} security contexts are held, and no more fit"
            ),
            Self::Full { capacity: None } => {
                out.write_str("the store of security contexts has no memory left")
            }
            Self::ShareUsed { share } => write!(
                out,
                "the owner holds {share} security contexts, and may have no more"
            ),
            Self::Unreachable { problem } => {
                write!(
                    out,
                    "the store of security contexts cannot be reached: {problem}"
                )
            }
            Self::Refused { problem } => {
                write!(out, "the store of security contexts refuses: {problem}")
            }
            Self::Unreadable { identifier } => write!(
                out,
                "the store has a security context that was not sealed by one who may: {identifier}"
            ),
        }
    }
}

impl std::error::Error for StoreUnavailable {}

/// Remembers security contexts until they expire or are cancelled.
///
/// Calls wait for the store, for a bounded time; a server makes them on a pool of its own.
pub trait ContextStore: Send + Sync + fmt::Debug {
    /// The context of that name in `scope`, if there is one that has neither expired nor been
    /// cancelled. A name of another version names nothing.
    ///
    /// # Errors
    /// When the store cannot tell.
    fn find(
        &self,
        scope: &str,
        name: &ContextName,
        now: Timestamp,
    ) -> Result<Option<SecurityContext>, StoreUnavailable>;

    /// Remembers a new context, in the place of whatever had its identifier. `created` is now.
    ///
    /// # Errors
    /// When there is no room, or the store cannot say that it remembers. It may nevertheless, until
    /// the context expires.
    fn insert(&self, scope: &str, context: &SecurityContext) -> Result<(), StoreUnavailable>;

    /// Remembers a further instance of a context. The latest of those before stays usable for
    /// `grace` from `now` on, and not beyond its own end; older ones are forgotten. `false` if
    /// there is no such context: it has expired or was cancelled in the meantime, and stays so.
    ///
    /// # Errors
    /// As for [`insert`](Self::insert).
    fn renew(
        &self,
        scope: &str,
        context: &SecurityContext,
        grace: Duration,
        now: Timestamp,
    ) -> Result<bool, StoreUnavailable>;

    /// Puts `after` into the place of `before`, an instance of the same name, if that is still what
    /// the store has as the latest instance of the context. `false` if it is not: the context
    /// was cancelled in the meantime, renewed or amended otherwise, and stays so.
    ///
    /// # Errors
    /// As for [`insert`](Self::insert).
    fn amend(
        &self,
        scope: &str,
        before: &SecurityContext,
        after: &SecurityContext,
    ) -> Result<bool, StoreUnavailable>;

    /// Forgets a context with all its instances; `false` if there was none.
    ///
    /// # Errors
    /// When the store cannot say that it forgot.
    fn cancel(&self, scope: &str, identifier: &str) -> Result<bool, StoreUnavailable>;
}

/// A store for endpoints that have no conversations: it knows none, and takes none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoContexts;

impl ContextStore for NoContexts {
    fn find(
        &self,
        _: &str,
        _: &ContextName,
        _: Timestamp,
    ) -> Result<Option<SecurityContext>, StoreUnavailable> {
        Ok(None)
    }

    fn insert(&self, _: &str, _: &SecurityContext) -> Result<(), StoreUnavailable> {
        Err(StoreUnavailable::Full { capacity: Some(0) })
    }

    fn renew(
        &self,
        _: &str,
        _: &SecurityContext,
        _: Duration,
        _: Timestamp,
    ) -> Result<bool, StoreUnavailable> {
        Ok(false)
    }

    fn amend(
        &self,
        _: &str,
        _: &SecurityContext,
        _: &SecurityContext,
    ) -> Result<bool, StoreUnavailable> {
        Ok(false)
    }

    fn cancel(&self, _: &str, _: &str) -> Result<bool, StoreUnavailable> {
        Ok(false)
    }
}
