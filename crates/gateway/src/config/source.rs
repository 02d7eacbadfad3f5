//! `backends = { … }` of a route: its backends are the providers that a registry knows.
//!
//! The rule kept here: a provider is a backend only if its owner is one that the file names.

use std::collections::BTreeMap;
use std::path::PathBuf;

use soapstone::config::{Located, Place, Table};
use soapstone::endpoint::Calling;
use soapstone_registry::Provider;

use super::endpoint::{EndpointSpec, read_endpoint};

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

impl SourceSpec {
    /// Whether providers of every owner may be backends.
    pub(crate) fn is_open(&self) -> bool {
        self.owners.iter().any(|owner| owner == "*")
    }

    /// Whether a provider is one of those that were asked for.
    pub(crate) fn is_about(&self, provider: &Provider) -> bool {
        let of_service = self
            .service
            .as_ref()
            .is_none_or(|wanted| *wanted == provider.service || *wanted == provider.service_key);
        let of_type = self.port_type.as_ref().is_none_or(|wanted| {
            let found = provider.port_type.as_deref().unwrap_or_default();
            let local = found.rsplit_once('}').map(|(_, local)| local);
            wanted == found || local == Some(wanted)
        });
        of_service && of_type
    }
}

/// A provider that may be a backend.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KnownProvider {
    pub(crate) access_point: String,
    /// The subject of the certificate that owns its entry.
    pub(crate) owner: String,
    /// It does not say how it does: others are preferred.
    pub(crate) backup: bool,
}

/// The providers that are known for each route with a source.
pub(crate) type KnownProviders = BTreeMap<SourceSpec, Vec<KnownProvider>>;

/// The policy in front of the providers of some owners, where it is not that of the route.
pub(crate) struct OwnersPolicy {
    /// Subjects of certificates.
    pub(crate) owners: Vec<String>,
    pub(crate) outbound: EndpointSpec<Calling>,
}

/// Reads `backends` where it is a table. `scope` is that of its endpoints.
pub(super) fn read_source(
    mut table: Table<'_>,
    scope: &str,
) -> Option<(SourceSpec, Vec<OwnersPolicy>)> {
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
    let everybody = owners.iter().flatten().find(|owner| owner.value == "*");
    if let (Some(everybody), None, Some(_)) = (everybody, &service, &port_type) {
        // The rules of a registry are about names of services, and not about port types.
        let message =
            "`owners` has \"*\", and `service` is missing: any publisher can claim a port type";
        table.report_with_hint(everybody.place, message, "name the owners, or the service");
    }
    let cache = table.string("cache");
    let folder = table.document().file().parent().map(PathBuf::from);
    let cache = cache.map(|it| folder.unwrap_or_default().join(it.value));
    let policies = table.tables("policies");
    table.finish();
    let has_owners = owners.is_some();
    let owners = owners.into_iter().flatten().map(|it| it.value);
    let owners: Vec<String> = owners.collect();
    let policies = read_policies(policies, &owners, scope);
    if !has_owners {
        return None;
    }
    let policies = policies?;
    let source = SourceSpec {
        service,
        port_type,
        owners,
        cache,
    };
    Some((source, policies))
}

/// Reads `policies`, which are of some of these owners.
fn read_policies(
    tables: Vec<Table<'_>>,
    known: &[String],
    scope: &str,
) -> Option<Vec<OwnersPolicy>> {
    let count = tables.len();
    let mut taken: Vec<String> = Vec::new();
    let mut policies = Vec::with_capacity(count);
    for mut table in tables {
        let owners = table.strings("owners").unwrap_or_default();
        if owners.is_empty() {
            table.missing("owners", "owners = [\"CN=provider\"]");
        }
        for owner in &owners {
            report_owner(&table, owner, known, &taken);
            taken.push(owner.value.clone());
        }
        if !table.has("outbound") {
            let hint = "say how messages to these providers are secured: [routes.backends.policies.outbound]";
            table.missing("outbound", hint);
        }
        // Nobody knows yet which providers are behind https: what is refused without TLS is
        // refused.
        let outbound = table.table("outbound");
        let outbound = outbound.and_then(|side| read_endpoint(side, scope, false, None, None));
        table.finish();
        policies.extend(outbound.map(|outbound| OwnersPolicy {
            owners: owners.into_iter().map(|it| it.value).collect(),
            outbound,
        }));
    }
    (policies.len() == count).then_some(policies)
}

/// Reports an owner that has no place in `policies`. It is not repeated: whatever stands there may
/// be a secret in the wrong place.
fn report_owner(table: &Table<'_>, owner: &Located<String>, known: &[String], taken: &[String]) {
    let name = &owner.value;
    if taken.contains(name) {
        table.report(owner.place, "this owner has two policies: keep one");
    } else if name == "*" {
        let message =
            "`policies` has \"*\", and the policy of all others is `outbound` of the route";
        table.report_with_hint(owner.place, message, "name the owners");
    } else if !known.iter().any(|it| it == name || it == "*") {
        let message = "this owner has a policy, and is not one of `owners` of `backends`";
        table.report(owner.place, message);
    }
}

/// Reports providers without a policy where those of other owners have one, and the route has no
/// `outbound`: the registry says who owns a provider, and so could say that one gets plain text.
pub(super) fn demand_outbound(
    table: &Table<'_>,
    place: Place,
    source: &SourceSpec,
    policies: &[OwnersPolicy],
) {
    let has_policy = |owner| policies.iter().any(|policy| policy.owners.contains(owner));
    if policies.is_empty() || source.owners.iter().all(has_policy) {
        return;
    }
    table.report_with_hint(
        place,
        "`outbound` is missing: providers of owners without one of `policies` would get messages unsecured",
        "say how messages to these are secured, [routes.outbound], or security = { mechanism = \"none\" } in it",
    );
}
