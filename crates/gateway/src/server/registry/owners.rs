//! Who has the access points that a registry tells of.
//!
//! The rule kept here: owners choose their access points, and each has a backend of its own for
//! one. What may be the backend of two is nobody's. Access points are compared as the URLs that
//! backends are asked at.

use std::collections::HashMap;

use http::Uri;
use soapstone_registry::Provider;

use crate::config::url::backend_url;

/// Providers by their access points. One whose access point is no URL is no backend, and is not
/// among them.
pub(super) struct AccessPoints<'p> {
    of: HashMap<Uri, Vec<&'p Provider>>,
}

impl<'p> AccessPoints<'p> {
    pub(super) fn of(found: impl IntoIterator<Item = &'p Provider>) -> Self {
        let mut of: HashMap<Uri, Vec<&Provider>> = HashMap::new();
        for provider in found {
            if let Ok(url) = backend_url(&provider.access_point) {
                of.entry(url).or_default().push(provider);
            }
        }
        Self { of }
    }

    /// The other entries with the access point of a provider.
    fn others(&self, provider: &Provider) -> impl Iterator<Item = &'p Provider> {
        let url = backend_url(&provider.access_point).ok();
        let all = url.and_then(|url| self.of.get(&url));
        let all = all.into_iter().flatten().copied();
        all.filter(move |other| {
            other.owner != provider.owner || other.binding_key != provider.binding_key
        })
    }

    /// Whether an entry is the only one of its owner with its access point.
    pub(super) fn is_alone(&self, provider: &Provider) -> bool {
        let mut others = self.others(provider);
        !others.any(|other| other.owner == provider.owner)
    }

    /// The backend of a provider, unless one of another owner may be the same. `leads` says which
    /// backend is that of an entry.
    pub(super) fn own_backend<Id: PartialEq>(
        &self,
        provider: &Provider,
        leads: impl Fn(&Provider) -> Option<Id>,
    ) -> Option<Id> {
        let own = leads(provider)?;
        let mut strangers = self
            .others(provider)
            .filter(|other| other.owner != provider.owner);
        // One without a backend of its own may share this one.
        let is_apart = |other| leads(other).is_some_and(|id| id != own);
        strangers.all(is_apart).then_some(own)
    }
}
