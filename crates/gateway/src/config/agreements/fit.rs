//! Whether the route of an agreement can keep it.
//!
//! The rule kept here: what could not be proven, measured or met at run time is reported when the
//! file is read.

use std::time::Duration;

use jiff::Timestamp;
use soapstone::config::{
    Certifiers, ConversationStoreConfig, Document, OTHER_TEXT, Place, Problem, ReplayStoreConfig,
    Warning,
};
use soapstone_broker::{AgreementTerms, Needs};

use super::file::Read;
use crate::config::balance::MemberSpec;
use crate::config::owner_name::OwnerName;
use crate::config::party::{NAME_THE_ISSUER, ReadParty};
use crate::config::route::RouteSpec;
use crate::config::source::{OwnersPolicy, SourceSpec};

/// Reports what the route of an agreement cannot prove, measure or meet.
pub(super) fn demand_route(document: &Document<'_>, agreement: &Read, routes: &[RouteSpec]) {
    let (terms, places) = (&agreement.terms, &agreement.places);
    let report = |place, message: String, hint: &str| {
        document.report(Problem::new(&agreement.file, place, message).with_hint(hint));
    };
    let mut named = routes.iter().filter(|route| route.name == terms.service);
    let (Some(route), None) = (named.next(), named.next()) else {
        let count = routes.iter().filter(|route| route.name == terms.service);
        let message = match count.count() {
            0 => "`service` must be the name of a route, and no route has it".to_owned(),
            count => format!("`service` must be the name of one route, and {count} routes have it"),
        };
        let hint = "the `name` of a route, or its path where it has none";
        return report(places.service, message, hint);
    };
    if route.inbound.is_none() {
        let message = format!(
            "route {} has no `inbound`: nobody proves to be the client of an agreement",
            route.path
        );
        report(
            places.service,
            message,
            "give it an endpoint whose clients sign",
        );
    }
    for (place, message) in ambiguous_parties(agreement, route) {
        report(place, message, NAME_THE_ISSUER);
    }
    let Some(group) = &route.group else {
        let message = format!(
            "route {} has one `backend`, and nothing measures it",
            route.path
        );
        let hint = "write it as several: backends = [{ url = \"…\" }]";
        return report(places.service, message, hint);
    };
    let is_reported = matches!(group.source, Some(SourceSpec::Registry(_)));
    if terms.of_provider.reports && !is_reported {
        let message = "`reports` of [provider] is about what monitors report to a registry, and the backends of the route are not found in one";
        let hint =
            "leave it out, or let the route have backends = { service = \"…\", owners = […] }";
        report(places.reports, message.to_owned(), hint);
    }
    if terms.of_provider.description && !is_reported {
        let message = "`description` of [provider] is about policies that a registry knows, and the backends of the route are not found in one";
        let hint =
            "leave it out, or let the route have backends = { service = \"…\", owners = […] }";
        report(places.description, message.to_owned(), hint);
    }
    // What a registry knows comes and goes, and the file says how it is named.
    if let Some(source) = &group.source {
        if let Some((message, hint)) = misnamed(terms, source, &group.policies) {
            report(places.backends, message.to_owned(), hint);
        }
        return;
    }
    for name in &terms.backends {
        if !group.members.iter().any(|member| member.name == *name) {
            let message =
                format!("`backends` must hold names of backends of the route, found {OTHER_TEXT}");
            let hint = "the `name` of a backend, or host and port where it has none";
            report(places.backends, message, hint);
        }
    }
    let of_provider = || {
        let members = group.members.iter();
        members.filter(|member| terms.is_about(&member.name))
    };
    // An endpoint through which messages pass as they are opens nothing.
    let is_opened = |member: &MemberSpec| {
        let side = member.outbound.as_ref().or(route.outbound.as_ref());
        side.is_some_and(|side| !side.endpoint.is_plain())
    };
    if let Some(provider) = &agreement.provider
        && !of_provider().all(is_opened)
    {
        let message =
            "`subject` of [provider] is proven by answers, and nothing opens those of a backend";
        let hint = "give the route or the backend an `outbound` whose answers are signed";
        report(provider.place, message.to_owned(), hint);
    }
    let needs = group.rules.needs.and(&terms.of_provider.security);
    let is_covered = |needs: &Needs| of_provider().any(|it| it.terms.security.covers(needs));
    if terms.of_provider.security.has_security() && !is_covered(&needs) {
        let message = "no backend of the provider covers `security`, with what the route needs";
        let hint = "`soapstone broker explain` shows what each backend gives";
        report(places.security, message.to_owned(), hint);
    }
    let is_unseen = |member: &MemberSpec| member.assured.is_some();
    if terms.of_provider.security.has_security() && of_provider().any(is_unseen) {
        let message = "`security` of [provider] is compared with answers, and the route passes those of a backend on unopened";
        let hint = "leave it out: the client compares them with its own policy";
        report(places.security, message.to_owned(), hint);
    }
}

/// What is wrong with the parties of an agreement where several may have issued the certificate of
/// its subject. Each backend of a provider may believe others.
fn ambiguous_parties(agreement: &Read, route: &RouteSpec) -> Vec<(Place, String)> {
    let clients = route.inbound.as_ref().map(|it| &it.certifiers);
    let of = |party: &ReadParty, certifiers: &Certifiers| {
        Some((party.place, party.ambiguity(certifiers)?))
    };
    let client = clients.and_then(|certifiers| of(&agreement.client, certifiers));
    let provider = agreement.provider.as_ref().and_then(|provider| {
        let group = route.group.as_ref();
        let members = group.iter().flat_map(|it| &it.members);
        let members = members.filter(|it| agreement.terms.is_about(&it.name));
        let members = members.filter_map(|it| it.outbound.as_ref());
        let policies = group.iter().flat_map(|it| &it.policies);
        let policies = policies.filter_map(|it| it.outbound.as_ref());
        let sides = members.chain(policies).chain(&route.outbound);
        let all = sides.fold(Certifiers::default(), |all, side| all.or(&side.certifiers));
        of(provider, &all)
    });
    client.into_iter().chain(provider).collect()
}

/// The names of backends that are found at run time, as they will be found: the agreement may write
/// an owner in another way than `owners` and `policies` do.
pub(super) fn name_as_found(terms: &mut AgreementTerms, routes: &[RouteSpec]) {
    let mut named = routes.iter().filter(|route| route.name == terms.service);
    let Some(group) = named.next().and_then(|route| route.group.as_ref()) else {
        return;
    };
    let Some(SourceSpec::Registry(of)) = &group.source else {
        return;
    };
    let owners = || {
        let of_policies = group.policies.iter().flat_map(|it| &it.owners);
        of_policies.chain(&of.owners)
    };
    for name in &mut terms.backends {
        if let Some((access_point, owner)) = parts_of(name) {
            let found = match owners().find(|it| **it == owner) {
                Some(owner) => owner.to_string(),
                None => owner.to_rfc2253(),
            };
            *name = format!("{access_point} ({found})");
        }
    }
}

/// The access point and the owner in the name of a backend that has both.
fn parts_of(name: &str) -> Option<(&str, OwnerName)> {
    // An access point has no space in it.
    let (access_point, owner) = name.strip_suffix(')')?.split_once(" (")?;
    Some((access_point, OwnerName::parse(owner)))
}

/// What is wrong with the names of backends that are found at run time, and what is right: no
/// backend would ever have such a name.
fn misnamed(
    terms: &AgreementTerms,
    source: &SourceSpec,
    policies: &[OwnersPolicy],
) -> Option<(&'static str, &'static str)> {
    let more = |name: &String| Some(parts_of(name)?.1);
    let mut names = terms.backends.iter();
    match source {
        SourceSpec::Dns(_) => names.any(|it| more(it).is_none()).then_some((
            "`backends` must hold names with addresses, as DNS finds them, found another text",
            "host and address: \"books.example (10.0.0.1:80)\"",
        )),
        SourceSpec::Registry(of) if source.names_owners() || !policies.is_empty() => {
            let named = || policies.iter().flat_map(|it| &it.owners).chain(&of.owners);
            let may_be = |owner: &OwnerName| {
                (of.is_open() && owner.has_issuer()) || named().any(|it| it == owner)
            };
            let is_nobodys = |name| !more(name).is_some_and(|owner| may_be(&owner));
            names.any(is_nobodys).then_some((
                "`backends` must hold access points with their owners, since owners have backends of their own, found another text",
                match of.is_open() {
                    true => "access point, owner and issuer: \"http://10.0.0.1/books (CN=p1 of CN=authority)\"",
                    false => "access point and owner, as `owners` names it: \"http://10.0.0.1/books (CN=p1)\"",
                },
            ))
        }
        SourceSpec::Registry(_) => names.any(|it| more(it).is_some()).then_some((
            "`backends` must hold access points, since the route has the providers of one owner, found another text",
            "the access point alone: \"http://10.0.0.1/books\"",
        )),
    }
}

/// Warns of an agreement about a route that other gateways serve as well: each of them measures and
/// admits by itself.
pub(super) fn warn_of_others(document: &Document<'_>, agreement: &Read, routes: &[RouteSpec]) {
    let terms = &agreement.terms;
    let mut named = routes.iter().filter(|route| route.name == terms.service);
    let Some(inbound) = named.next().and_then(|route| route.inbound.as_ref()) else {
        return;
    };
    let replay = inbound.endpoint.replay().map(|replay| &replay.store);
    let contexts = inbound.endpoint.conversations().map(|it| &it.store);
    let shares = matches!(replay, Some(ReplayStoreConfig::Redis { .. }))
        || matches!(contexts, Some(ConversationStoreConfig::Redis { .. }));
    if !shares {
        return;
    }
    let message = format!(
        "the agreement \"{}\" is kept by each gateway alone, and this one shares a store with others: together they admit the rate of each",
        terms.name
    );
    let problem = Problem::new(&agreement.file, agreement.places.name, message);
    let hint = "name the store in [agreements]: store = { url = \"redis://…\" }; or divide `rate` and `burst` by the number of gateways";
    document.warn(Warning {
        name: "agreement-not-shared",
        problem: problem.with_hint(hint),
    });
}

/// Warns of an agreement that is not in force.
pub(super) fn warn_of_validity(document: &Document<'_>, agreement: &Read, now: Timestamp) {
    let terms = &agreement.terms;
    let now = Duration::from_secs(u64::try_from(now.as_second()).unwrap_or(0));
    if terms.is_in_force(now) {
        return;
    }
    let (name, what) = match now < terms.validity.from {
        true => ("agreement-not-yet", "is not in force yet"),
        false => ("agreement-expired", "has expired"),
    };
    let message = format!(
        "the agreement \"{}\" {what}: its client is served without it",
        terms.name
    );
    let problem = Problem::new(&agreement.file, agreement.places.name, message);
    document.warn(Warning {
        name,
        problem: problem.with_hint("look at `from` and `until`"),
    });
}
