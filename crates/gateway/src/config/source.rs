//! `backends = { … }` of a route: its backends are the providers that a registry knows, or those
//! that DNS names.
//!
//! The rule kept here: a provider is a backend only if its owner is one that the file names, or its
//! address is in a network that the file names.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use soapstone::config::{Located, OTHER_TEXT, Place, Table};
use soapstone::endpoint::Calling;
use soapstone_broker::SecurityIndex;
use soapstone_registry::{Owner, Provider};

use super::endpoint::{EndpointSpec, read_endpoint};
use super::needs::read_assured;
use super::owner_name::OwnerName;
use super::party::{READS_AS_TWO, WORD_IN_A_NAME};
use super::srv::{DnsSource, read_cache, read_srv};
use super::tls::ClientTls;

/// Which providers are backends of a route.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SourceSpec {
    /// Those that a registry knows.
    Registry(RegistrySource),
    /// Those that DNS names.
    Dns(DnsSource),
}

impl SourceSpec {
    /// The file where the providers that are known are kept while the gateway does not run.
    pub(crate) fn cache(&self) -> Option<&Path> {
        match self {
            Self::Registry(source) => source.cache.as_deref(),
            Self::Dns(source) => source.cache.as_deref(),
        }
    }

    /// Whether it is known that all its providers are behind https.
    pub(crate) fn is_secure(&self) -> bool {
        matches!(self, Self::Dns(source) if source.scheme == "https")
    }

    /// Whether names of its backends have their owners in them: one access point may be that of
    /// several.
    pub(crate) fn names_owners(&self) -> bool {
        match self {
            Self::Registry(source) => source.is_open() || source.owners.len() > 1,
            Self::Dns(_) => false,
        }
    }

    /// The URL that its providers come of, where all of them have its scheme.
    pub(crate) fn url(&self) -> Option<String> {
        match self {
            Self::Registry(_) => None,
            Self::Dns(source) => {
                let (scheme, name, path) = (source.scheme, &source.name, &source.path);
                Some(format!("{scheme}://{name}{path}"))
            }
        }
    }

    /// The name of the service, where the registry is asked for one.
    pub(crate) fn service(&self) -> Option<&str> {
        match self {
            Self::Registry(source) => source.service.as_deref(),
            Self::Dns(_) => None,
        }
    }

    /// What people know it by.
    pub(crate) fn label(&self) -> String {
        match self {
            Self::Registry(source) => source.label().to_owned(),
            Self::Dns(source) => source.name.to_string(),
        }
    }
}

/// Which providers of a registry are backends of a route.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RegistrySource {
    /// Of the service with this name or key.
    pub(crate) service: Option<String>,
    /// Of this port type: `{namespace}name`, or its name alone.
    pub(crate) port_type: Option<String>,
    /// Whose certificates own entries.
    pub(crate) owners: Vec<OwnerName>,
    /// Where the providers that are known are kept while the gateway does not run.
    pub(crate) cache: Option<PathBuf>,
}

impl RegistrySource {
    /// The service or the port type.
    pub(crate) fn label(&self) -> &str {
        let wanted = self.service.as_deref().or(self.port_type.as_deref());
        wanted.unwrap_or_default()
    }

    /// Whether providers of every owner may be backends.
    pub(crate) fn is_open(&self) -> bool {
        self.owners.iter().any(OwnerName::is_everybody)
    }

    /// The name of an owner whose providers may be backends, as the file has it. Where it has
    /// everybody, the name has the issuer.
    pub(crate) fn name_of(&self, owner: &Owner) -> Option<OwnerName> {
        let named = self.owners.iter().find(|it| it.is_of(owner)).cloned();
        named.or_else(|| OwnerName::of(owner).filter(|_| self.is_open()))
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
    /// Whose certificate owns its entry; nobody's for what DNS names.
    pub(crate) owner: Owner,
    /// Others are preferred: it does not say how it does, or DNS gives it a later priority.
    pub(crate) backup: bool,
    /// Where DNS says that it is.
    pub(crate) target: Option<DnsTarget>,
}

/// Where DNS says that a provider is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DnsTarget {
    /// The name of the host, for people alone: DNS proves nothing.
    pub(crate) host: String,
    pub(crate) address: SocketAddr,
    /// Its share of requests; at least 1.
    pub(crate) weight: u32,
}

/// The providers that are known for each route with a source.
pub(crate) type KnownProviders = BTreeMap<SourceSpec, Vec<KnownProvider>>;

/// The policy in front of the providers of some owners, where it is not that of the route.
pub(crate) struct OwnersPolicy {
    /// Whose.
    pub(crate) owners: Vec<OwnerName>,
    /// None: messages pass as they come.
    pub(crate) outbound: Option<EndpointSpec<Calling>>,
    /// What they and their clients assure each other, past a route that passes messages on.
    pub(crate) assured: Option<Located<SecurityIndex>>,
}

/// `backends` where it is a table.
pub(super) struct ReadSource {
    pub(super) source: SourceSpec,
    pub(super) policies: Vec<OwnersPolicy>,
    /// What those without such a policy and their clients assure each other, past a route that
    /// passes messages on.
    pub(super) assured: Option<Located<SecurityIndex>>,
    /// TLS towards what DNS names behind https.
    pub(super) tls: Option<ClientTls>,
}

impl ReadSource {
    /// What is assured of some providers, past a route that passes messages on.
    pub(super) fn assurances(&self) -> impl Iterator<Item = &Located<SecurityIndex>> {
        let of_owners = self.policies.iter().map(|policy| policy.assured.as_ref());
        of_owners.chain([self.assured.as_ref()]).flatten()
    }
}

/// Reads `backends` where it is a table. `scope` is that of its endpoints.
pub(super) fn read_source(mut table: Table<'_>, scope: &str) -> Option<ReadSource> {
    let assured = read_assurance(&mut table);
    if table.has("srv") {
        let (source, tls) = read_srv(table)?;
        return Some(ReadSource {
            source: SourceSpec::Dns(source),
            policies: Vec::new(),
            assured,
            tls,
        });
    }
    let read = read_registry_source(table, scope)?;
    Some(ReadSource { assured, ..read })
}

/// Reads `assures`, where it is.
fn read_assurance(table: &mut Table<'_>) -> Option<Located<SecurityIndex>> {
    let place = table.place_of("assures")?;
    let value = table.table("assures").map(read_assured)?;
    Some(Located { value, place })
}

fn read_registry_source(mut table: Table<'_>, scope: &str) -> Option<ReadSource> {
    let place = table.place();
    let service = table.string("service").map(|it| it.value);
    let port_type = table.string("port_type").map(|it| it.value);
    if service.is_none() && port_type.is_none() {
        let hint = "for example backends = { service = \"Books\", owners = [\"CN=provider\"] }";
        table.report_with_hint(
            place,
            "`backends` names neither `service` nor `port_type` nor `srv`",
            hint,
        );
    }
    let owners = table.strings("owners");
    if owners.as_ref().is_none_or(Vec::is_empty) {
        let hint = "owners = [\"CN=provider\"] or [\"CN=provider of CN=authority\"]; \"*\" is every certificate that the registry trusts";
        table.missing("owners", hint);
    }
    let everybody = owners.iter().flatten().find(|owner| owner.value == "*");
    if let (Some(everybody), None, Some(_)) = (everybody, &service, &port_type) {
        // The rules of a registry are about names of services, and not about port types.
        let message =
            "`owners` has \"*\", and `service` is missing: any publisher can claim a port type";
        table.report_with_hint(everybody.place, message, "name the owners, or the service");
    }
    let cache = read_cache(&mut table);
    let policies = table.tables("policies");
    let has_owners = owners.is_some();
    let owners = read_owners(&table, owners.unwrap_or_default());
    table.finish();
    let policies = read_policies(policies, &owners, scope);
    if !has_owners {
        return None;
    }
    let policies = policies?;
    Some(ReadSource {
        source: SourceSpec::Registry(RegistrySource {
            service,
            port_type,
            owners,
            cache,
        }),
        policies,
        assured: None,
        tls: None,
    })
}

/// Reads `owners`, each of whom is named once.
fn read_owners(table: &Table<'_>, owners: Vec<Located<String>>) -> Vec<OwnerName> {
    let mut read: Vec<OwnerName> = Vec::with_capacity(owners.len());
    for owner in owners {
        let name = OwnerName::parse(&owner.value);
        let found = match (name.is_possible(), name.reads_as_two()) {
            (false, _) => Some(OTHER_TEXT),
            (true, true) => Some(READS_AS_TWO),
            (true, false) => None,
        };
        if let Some(found) = found {
            let message = format!("`owners` must hold distinguished names, found {found}");
            let hint = match name.is_possible() {
                true => {
                    format!("name the issuer as well, \"CN=p1 of CN=authority\"; {WORD_IN_A_NAME}")
                }
                false => {
                    "for example \"CN=provider of CN=authority,O=Example\", or \"*\"".to_owned()
                }
            };
            table.report_with_hint(owner.place, message, &hint);
        }
        if read.contains(&name) {
            let message = "`owners` has this owner twice, however it is written";
            table.report_with_hint(owner.place, message, "keep one");
        } else if read.iter().any(|it| it.overlaps(&name)) {
            let message = "`owners` has this subject once with an issuer, and once without";
            table.report_with_hint(owner.place, message, "name the issuer each time");
        }
        read.push(name);
    }
    read
}

/// Reads `policies`, which are of some of these owners.
fn read_policies(
    tables: Vec<Table<'_>>,
    known: &[OwnerName],
    scope: &str,
) -> Option<Vec<OwnersPolicy>> {
    let count = tables.len();
    let mut taken: Vec<OwnerName> = Vec::new();
    let mut policies = Vec::with_capacity(count);
    for mut table in tables {
        let owners = table.strings("owners").unwrap_or_default();
        if owners.is_empty() {
            table.missing("owners", "owners = [\"CN=provider\"]");
        }
        let first = taken.len();
        for owner in &owners {
            report_owner(&table, owner, known, &taken);
            taken.push(OwnerName::parse(&owner.value));
        }
        let assured_place = table.place_of("assures");
        let assured = read_assurance(&mut table);
        match (table.has("outbound"), assured_place) {
            (false, None) => {
                let hint = "say how messages to these providers are secured: [routes.backends.policies.outbound]";
                table.missing("outbound", hint);
            }
            (true, Some(place)) => {
                let message = "`assures` is about messages that pass as they come, and `outbound` secures them";
                table.report_with_hint(place, message, "keep one");
            }
            _ => {}
        }
        // Nobody knows yet which providers are behind https: what is refused without TLS is
        // refused.
        let outbound = table.table("outbound");
        let outbound = outbound.and_then(|side| {
            let place = side.place();
            let outbound = read_endpoint::<Calling>(side, scope, false, None, None)?;
            if outbound.asks_a_device() {
                table.report_with_hint(
                    place,
                    "`clock` has from = \"onvif\", and the policy is for several providers: each has a clock of its own",
                    "say how far the clocks are off: clock = { offset = \"-37s\" }",
                );
            }
            Some(outbound)
        });
        table.finish();
        let is_read = outbound.is_some() || assured.is_some();
        policies.extend(is_read.then(|| OwnersPolicy {
            owners: taken[first..].to_vec(),
            outbound,
            assured,
        }));
    }
    (policies.len() == count).then_some(policies)
}

/// Reports an owner that has no place in `policies`. It is not repeated: whatever stands there may
/// be a secret in the wrong place.
fn report_owner(
    table: &Table<'_>,
    owner: &Located<String>,
    known: &[OwnerName],
    taken: &[OwnerName],
) {
    let name = OwnerName::parse(&owner.value);
    // A policy of one authority's owner is not that of its namesake: both name the issuer.
    let is_known = |it: &OwnerName| it.is_everybody() || *it == name;
    if taken.iter().any(|it| it.overlaps(&name)) {
        table.report(owner.place, "this owner has two policies: keep one");
    } else if name.is_everybody() {
        let message =
            "`policies` has \"*\", and the policy of all others is `outbound` of the route";
        table.report_with_hint(owner.place, message, "name the owners");
    } else if !known.iter().any(is_known) {
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
    let SourceSpec::Registry(source) = source else {
        return;
    };
    let has_policy = |owner| policies.iter().any(|policy| policy.owners.contains(owner));
    // What is only assured past the gateway secures nothing here.
    let secures = policies.iter().any(|policy| policy.outbound.is_some());
    if !secures || source.owners.iter().all(has_policy) {
        return;
    }
    table.report_with_hint(
        place,
        "`outbound` is missing: providers of owners without one of `policies` would get messages unsecured",
        "say how messages to these are secured, [routes.outbound], or security = { mechanism = \"none\" } in it",
    );
}
