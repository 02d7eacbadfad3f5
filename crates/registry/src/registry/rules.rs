//! Who may publish what, and how much of it.
//!
//! The rule kept here: no rule, no publication.

use super::entry::Owner;
use crate::model::{BindingTemplate, BusinessService};
use crate::refusal::Refusal;
use crate::written_name::WrittenName;

/// What certificates may publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublisherRule {
    /// Of this subject; `None`: of every certificate that is trusted.
    pub subject: Option<WrittenName>,
    /// Of this issuer; `None`: of every authority that is trusted.
    pub issuer: Option<WrittenName>,
    /// Services of these names; `None`: of every name.
    pub services: Option<Vec<String>>,
    /// Access points below these URLs, each of which ends with `/`; `None`: everywhere.
    pub access_points: Option<Vec<String>>,
    /// Whether it may log what brokers tell: calls that others served.
    pub calls: bool,
}

impl PublisherRule {
    pub(super) fn is_for(&self, owner: &Owner) -> bool {
        let is = |wanted: &Option<WrittenName>, found: &WrittenName| {
            wanted.as_ref().is_none_or(|it| it == found)
        };
        is(&self.subject, &owner.subject) && is(&self.issuer, &owner.issuer)
    }

    fn allows_service(&self, service: &BusinessService) -> bool {
        self.services.as_ref().is_none_or(|allowed| {
            let mut names = service.names.iter();
            names.all(|name| allowed.contains(&name.text))
        })
    }

    fn allows_access_point(&self, url: &str) -> bool {
        self.access_points.as_ref().is_none_or(|allowed| {
            let mut allowed = allowed.iter();
            allowed.any(|prefix| url.starts_with(prefix.as_str()))
        })
    }
}

/// That one of the rules allows a service.
pub(super) fn allow_service(
    rules: &[&PublisherRule],
    service: &BusinessService,
) -> Result<(), Refusal> {
    match rules.iter().any(|rule| rule.allows_service(service)) {
        true => Ok(()),
        false => {
            let name = service.names.first().map(|name| name.text.as_str());
            let what = format!("the service {}", name.unwrap_or_default());
            Err(Refusal::NotAllowed { what })
        }
    }
}

/// That one of the rules allows a binding of a service.
pub(super) fn allow_binding(
    rules: &[&PublisherRule],
    service: &BusinessService,
    binding: &BindingTemplate,
) -> Result<(), Refusal> {
    let url = &binding.access_point;
    let mut rules = rules.iter();
    match rules.any(|rule| rule.allows_service(service) && rule.allows_access_point(url)) {
        true => Ok(()),
        false => {
            let what = format!("the access point {url}");
            Err(Refusal::NotAllowed { what })
        }
    }
}

/// That one of the rules allows to log what brokers tell.
pub(super) fn allow_calls(rules: &[&PublisherRule]) -> Result<(), Refusal> {
    match rules.iter().any(|rule| rule.calls) {
        true => Ok(()),
        false => {
            let what = "calls that others served".to_owned();
            Err(Refusal::NotAllowed { what })
        }
    }
}

/// How much the registry holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Entries of one owner.
    pub per_owner: usize,
    /// Entries of all owners.
    pub entries: usize,
    /// Longest period of reports, in milliseconds: a monitor that says more is held to this.
    pub period: u32,
    /// Whether there is a log of calls.
    pub logs_calls: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // A gateway with three hundred routes publishes six hundred entries.
            per_owner: 1_000,
            // In memory some 100 MB.
            entries: 100_000,
            // Three of them make half a minute: as long as callers should have to try a dead one.
            period: 10_000,
            logs_calls: false,
        }
    }
}
