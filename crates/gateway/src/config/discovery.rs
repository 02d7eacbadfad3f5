//! `backends = { … }` of a route: its backends are the providers that a registry knows.
//!
//! The rule kept here: a provider is a backend only if its owner is one that the file names.

use std::collections::BTreeMap;
use std::path::PathBuf;

use http::Uri;
use soapstone::config::Table;
use soapstone_broker::Terms;

use super::Config;
use super::balance::MemberSpec;
use super::route::{RouteSpec, with_security};
use super::tls;
use super::url::{backend_url, without_brackets};

/// Which providers are backends of a route.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SourceSpec {
    /// Of the service with this name or key.
    pub(crate) service: Option<String>,
    /// Of this port type: `{namespace}name`, or its name alone.
    pub(crate) port_type: Option<String>,
    /// Subjects of the certificates that own entries; `*` is every one that the registry trusts.
    pub(crate) owners: Vec<String>,
    /// Where the providers that are known are kept while the gateway does not run.
    pub(crate) cache: Option<PathBuf>,
}

/// A provider that may be a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownProvider {
    pub(crate) access_point: String,
    /// It does not say how it does: others are preferred.
    pub(crate) backup: bool,
}

/// The providers that are known for each route with a source.
pub(crate) type KnownProviders = BTreeMap<SourceSpec, Vec<KnownProvider>>;

/// Reads `backends` where it is a table.
pub(super) fn read_source(mut table: Table<'_>) -> Option<SourceSpec> {
    let place = table.place();
    let service = table.string("service").map(|it| it.value);
    let port_type = table.string("port_type").map(|it| it.value);
    if service.is_none() && port_type.is_none() {
        let hint = "for example backends = { service = \"Books\", owners = [\"CN=provider\"] }";
        table.report_with_hint(
            place,
            "`backends` names neither `service` nor `port_type`",
            hint,
        );
    }
    let owners = table.strings("owners");
    if owners.as_ref().is_none_or(Vec::is_empty) {
        let hint =
            "owners = [\"CN=provider\"]; \"*\" is every certificate that the registry trusts";
        table.missing("owners", hint);
    }
    let cache = table.string("cache");
    let folder = table.document().file().parent().map(PathBuf::from);
    let cache = cache.map(|it| folder.unwrap_or_default().join(it.value));
    table.finish();
    Some(SourceSpec {
        service,
        port_type,
        owners: owners?.into_iter().map(|it| it.value).collect(),
        cache,
    })
}

/// The backend of a route for which no provider is known: it takes no call, so that clients are
/// told to come again. Nothing has its name (RFC 6761, section 6.4).
pub(super) fn nobody() -> MemberSpec {
    MemberSpec {
        name: "no provider is known".to_owned(),
        url: Uri::from_static("http://registry.invalid/"),
        tls: None,
        outbound: None,
        terms: Terms {
            limit: Some(0),
            ..Terms::default()
        },
    }
}

impl Config {
    /// The same configuration, with the providers that are known as the backends of its routes.
    pub(crate) fn resolved(mut self, known: &KnownProviders) -> Self {
        for route in &mut self.routes {
            route.resolve(known);
        }
        self
    }

    /// The sources of its routes.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &SourceSpec> {
        let groups = self.routes.iter().filter_map(|route| route.group.as_ref());
        groups.filter_map(|group| group.source.as_ref())
    }
}

impl RouteSpec {
    fn resolve(&mut self, known: &KnownProviders) {
        let Some(group) = &mut self.group else {
            return;
        };
        let known = group.source.as_ref().and_then(|source| known.get(source));
        let Some(known) = known else {
            return;
        };
        let needs_tls = self
            .outbound
            .as_ref()
            .is_some_and(|side| side.endpoint.needs_tls() || side.shows_its_keys());
        let mut members: Vec<MemberSpec> = Vec::new();
        for provider in known {
            match member(provider, needs_tls) {
                Ok(member) if members.iter().all(|it| it.url != member.url) => members.push(member),
                Ok(_) => {}
                Err(why) => {
                    let url = provider.access_point.as_str();
                    tracing::warn!(route = self.name, url, why, "provider passed over");
                }
            }
        }
        if members.is_empty() {
            members.push(nobody());
        }
        group.members = with_security(members, self.outbound.as_ref());
    }
}

fn member(provider: &KnownProvider, needs_tls: bool) -> Result<MemberSpec, &'static str> {
    let url = backend_url(&provider.access_point).map_err(|error| error.found)?;
    let is_secure = url.scheme_str() == Some("https");
    if needs_tls && !is_secure {
        return Err("the policy of the route leaves protection to TLS, and it is not https");
    }
    let host = without_brackets(url.host().unwrap_or_default());
    let tls = match is_secure {
        true => {
            let unusable = "TLS cannot be used with its host";
            Some(tls::read_client(None, host, &|_| {}).ok_or(unusable)?)
        }
        false => None,
    };
    Ok(MemberSpec {
        // Of one host there may be several.
        name: provider.access_point.clone(),
        tls,
        outbound: None,
        terms: Terms {
            backup: provider.backup,
            ..Terms::default()
        },
        url,
    })
}
