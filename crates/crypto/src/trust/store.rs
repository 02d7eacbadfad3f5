//! Rules that are prepared for use, and what is remembered of their answers.

use std::fmt;
use std::sync::Arc;

use rustls_pki_types::TrustAnchor;

use super::cache::Cache;
use super::online::OnlineRevocation;
use super::revocation::RevocationList;
use super::rules::TrustRules;
use crate::name::DistinguishedName;

/// Decides which certificates are trusted. Made once from [`TrustRules`], used by any number of
/// threads.
pub struct TrustStore {
    pub(super) rules: TrustRules,
    /// The anchors as the strict validator wants them, in the same order; none under legacy rules,
    /// which do not ask it.
    pub(super) anchors: Vec<TrustAnchor<'static>>,
    pub(super) subjects: Vec<DistinguishedName>,
    pub(super) revocation_lists: Vec<RevocationList>,
    /// What others tell of revocation.
    pub(super) online: Option<Arc<OnlineRevocation>>,
    pub(super) cache: Cache,
}

impl fmt::Debug for TrustStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("TrustStore")
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}
