//! `[[routes]]`, as a configuration has it.
//!
//! The rule kept here: whatever is wrong with a route is reported where it stands, all of it at
//! once; one with a problem is no route.

use http::Uri;
use soapstone::config::{Located, Place, StsConfig, Table};
use soapstone::endpoint::{Calling, Endpoint, Serving};
use soapstone::policy::TransportRequirement;

use super::balance::{
    Balance, GroupSpec, MemberSpec, Rules, Sticky, nobody, read_backends, read_balance,
};
use super::bsp::{demand_opening, members_open, read_bsp, source_opens};
use super::endpoint::{EndpointSpec, Publishing, read_endpoint};
use super::identity::read_identity;
use super::needs::refuse_ambiguous;
use super::rate::read_rate;
use super::registry::read_provided;
use super::route::RouteSpec;
use super::security_index::{over_tls, security_index};
use super::source::{OwnersPolicy, ReadSource, demand_outbound, read_source};
use super::timeouts::Timeouts;
use super::tls;
use super::transparent::{check_passing, demand_assured, refuse_assured};
use super::url::{backend_url, without_brackets};
use super::warm_up::read_warm_up;

/// How clients come.
#[derive(Clone, Copy)]
pub(super) struct ClientSide<'u> {
    /// What descriptions say of it.
    pub(super) transport: Option<TransportRequirement>,
    /// Whether they come to us over TLS.
    pub(super) through_tls: bool,
    /// `public_url`.
    pub(super) public_url: Option<&'u str>,
}

/// Reads one of `[[routes]]`. `paths` are those of the routes before it, and get its own.
#[expect(clippy::too_many_lines, reason = "one block for each key of the table")]
pub(super) fn read_route(
    mut table: Table<'_>,
    timeouts: Timeouts,
    client_side: ClientSide<'_>,
    paths: &mut Vec<Located<String>>,
) -> Option<RouteSpec> {
    let route_place = table.place();
    let path = table
        .required_string("path", "for example path = \"/books\"")
        .and_then(|path| {
            if !path.value.starts_with('/') || path.value.contains(['?', '#', ' ']) {
                let found = match path.value.starts_with('/') {
                    true => "one with a `?`, a `#` or a space",
                    false => "one that begins otherwise",
                };
                let message = format!("`path` must begin with / and hold no query, found {found}");
                let hint = "the path alone, as clients ask for it: path = \"/books\"";
                table.report_with_hint(path.place, message, hint);
                return None;
            }
            let value = match path.value.trim_end_matches('/') {
                "" => "/".to_owned(),
                trimmed => trimmed.to_owned(),
            };
            if let Some(first) = paths.iter().find(|other| other.value == value) {
                let message = format!(
                    "`path` \"{value}\" is served by another route, on line {}",
                    first.place.line
                );
                table.report(path.place, message);
            }
            paths.push(Located {
                value: value.clone(),
                place: path.place,
            });
            Some(value)
        });
    let name = table.string("name");
    let several_place = table.place_of("backends");
    let has_source = table.is_table("backends");
    let source = match has_source {
        true => {
            let scope = path.clone().unwrap_or_default();
            let source = table.table("backends");
            source.map(|source| read_source(source, &scope))
        }
        false => None,
    };
    let several = match has_source {
        true => Vec::new(),
        false => table.tables("backends"),
    };
    let sts_place = table.place_of("sts");
    let sts = table.table("sts").and_then(StsConfig::read);
    let (backend, members) = match several_place {
        None if sts_place.is_some() && !table.has("backend") => (None, None),
        None => (read_backend(&mut table), None),
        Some(place) if has_source => {
            let nobody = nobody();
            let value = nobody.url.clone();
            (Some(Located { value, place }), Some(Some(vec![nobody])))
        }
        Some(place) => {
            if let Some(alone) = table.string("backend") {
                table.report(
                    alone.place,
                    "`backend` and `backends` say the same: keep one",
                );
            }
            if several.is_empty() && table.is_empty_list("backends") {
                let hint = "for example backends = [{ url = \"http://127.0.0.1:9000/books\" }]";
                table.report_with_hint(place, "`backends` names no backend", hint);
            }
            let scope = path.clone().unwrap_or_default();
            let members = read_backends(several, &scope);
            let first = members.as_ref().and_then(|members| members.first());
            let value = first.map(|member| member.url.clone());
            (value.map(|value| Located { value, place }), Some(members))
        }
    };
    let balance_place = table.place_of("balance");
    let balance = table.table("balance").map(read_balance);
    if let (Some(place), None) = (balance_place, several_place) {
        let message = "`balance` is for a route with `backends`, and this one has one `backend`";
        table.report(place, message);
    }
    let is_alone = several_place.is_none();
    let secure = match &members {
        Some(_) if has_source => source.as_ref().is_some_and(|it| {
            // What is wrong with it has been reported.
            it.as_ref().is_none_or(|read| read.source.is_secure())
        }),
        None => backend
            .as_ref()
            .is_some_and(|backend| backend.value.scheme_str() == Some("https")),
        Some(members) => members
            .as_ref()
            .is_some_and(|members| members.iter().all(|member| member.tls.is_some())),
    };
    let tls_place = table.place_of("tls");
    let tls_table = table.table("tls");
    if let (Some(place), false) = (tls_place, is_alone) {
        table.report(place, "with `backends`, each of them has its own `tls`");
    } else if let (Some(place), Some(false)) = (tls_place, backend.as_ref().map(|_| secure)) {
        table.report(
            place,
            "`tls` is for a backend behind https, and this one is behind http",
        );
    }
    let backend_tls = match &backend {
        Some(backend) if secure && is_alone => {
            let host = without_brackets(backend.value.host().unwrap_or_default());
            Some(tls::read_client(tls_table, host, &|message| {
                table.report(backend.place, message)
            }))
        }
        _ => None,
    };
    let timeouts = match table.table("timeouts") {
        None => timeouts,
        Some(mut table) => {
            let connect = table
                .duration("connect")
                .map_or(timeouts.connect, |connect| connect.value);
            let response = table
                .duration("response")
                .map_or(timeouts.response, |response| response.value);
            table.finish();
            Timeouts {
                connect,
                response,
                ..timeouts
            }
        }
    };
    let rate = read_rate(&mut table, "rate", "burst");
    let has_sides = (table.has("inbound"), table.has("outbound"));
    let scope = path.clone().unwrap_or_default();
    let inbound_place = table.place_of("inbound");
    let outbound_place = table.place_of("outbound");
    let wanted = table.boolean("publish_policy");
    if let (Some(wanted), (false, _)) = (&wanted, has_sides) {
        table.report(
            wanted.place,
            "`publish_policy` is for a route with `inbound`: without it clients are plain",
        );
    }
    let publishing = Publishing {
        wanted,
        transport: client_side.transport,
    };
    if let Some(place) = sts_place {
        refuse_beside_sts(&table, place);
    }
    let issues_secrets = sts.as_ref().filter(|sts| sts.issues_secrets());
    let issues_secrets = issues_secrets.map(|sts| sts.key_types_place);
    let inbound = table.table("inbound").and_then(|side| {
        let hidden = client_side.through_tls || client_side.transport.is_some();
        read_endpoint(side, &scope, hidden, Some(&publishing), sts)
    });
    if let (Some(place), Some(Some(read)), false) = (several_place, &source, has_sides.1) {
        demand_outbound(&table, place, &read.source, &read.policies);
    }
    let outbound = table
        .table("outbound")
        .and_then(|side| read_endpoint(side, &scope, secure, None, None));
    if let (Some(_), Some(place), Some(side)) = (several_place, outbound_place, &outbound) {
        refuse_one_clock_of_several(&table, place, side);
    }
    if let (Some(place), Some(side)) = (issues_secrets, &inbound)
        && !client_side.through_tls
        && !side.endpoint.hides_answers()
    {
        table.report_with_hint(
            place,
            "bearer tokens and symmetric keys would be readable on the way: answers are not encrypted, and clients do not come through TLS",
            "give the gateway a certificate, [tls], take a mechanism that encrypts, or key_types = [\"public-key\"]",
        );
    }
    if let Some(side) = &inbound
        && side.shows_its_keys()
        && !side.endpoint.needs_tls()
        && !client_side.through_tls
    {
        let settings = side.endpoint.conversations();
        let bootstrap = settings.and_then(|settings| settings.bootstrap.as_ref());
        let place = bootstrap.map(|bootstrap| bootstrap.place);
        table.report_with_hint(
            place.or(inbound_place).unwrap_or_default(),
            "conversations begin with messages that hide no keys, and clients do not come through TLS",
            "give the gateway a certificate, [tls], or name a bootstrap that encrypts",
        );
    }
    let passes_on = inbound
        .as_ref()
        .is_some_and(|side| side.endpoint.is_intermediary());
    if let (Some(place), true) = (outbound_place, passes_on) {
        table.report_with_hint(
            place,
            "`outbound` is given, and `inbound` passes messages on: their answers are for whoever sent them",
            "leave it out; headers for the next nodes are made by `recipients` of `inbound`",
        );
    }
    // Of the providers that a registry knows each is looked at when it is known.
    let known = match &source {
        None => backend.as_ref().map(|backend| backend.value.to_string()),
        Some(read) => read.as_ref().and_then(|read| read.source.url()),
    };
    if let (Some(place), Some(side), Some(backend)) = (outbound_place, &outbound, &known)
        && side.endpoint.needs_tls()
        && !secure
    {
        table.report_with_hint(
            place,
            format!(
                "the policy of the backend leaves protection to TLS, and {backend} is not https"
            ),
            "name the backend's https address",
        );
    }
    if let (Some(place), Some(side), Some(backend)) = (outbound_place, &outbound, &known)
        && side.shows_its_keys()
        && !side.endpoint.needs_tls()
        && !secure
    {
        table.report_with_hint(
            place,
            format!(
                "conversations begin with messages that hide no keys, and {backend} is not https"
            ),
            "name the backend's https address, or a bootstrap that encrypts",
        );
    }
    let balance = balance.unwrap_or_else(Balance::unless_said);
    if let (Some(place), None) = (balance.requirements_place(), &inbound) {
        table.report_with_hint(
            place,
            "`requirements` is for a route with `inbound`: without it nobody proves what a message needs",
            "say what requests need in `needs`",
        );
    }
    let requirements = balance.requirements_place();
    let found = source.as_ref().and_then(Option::as_ref);
    let fixed = members.as_ref().and_then(Option::as_deref);
    match inbound.as_ref().filter(|_| passes_on) {
        Some(side) => {
            let place = several_place.unwrap_or_default();
            check_passing(
                &table,
                side,
                requirements,
                (fixed.unwrap_or_default(), found),
                place,
            );
            let asks = requirements.is_some() || balance.asks_for_security();
            if let (Some(found), true) = (found, asks) {
                demand_assured(&table, place, found);
            }
        }
        None => refuse_assured(&table, fixed.unwrap_or_default(), found),
    }
    if let Some(sticky) = &balance.sticky {
        demand_sticky(&table, sticky, inbound.as_ref());
    }
    refuse_ambiguous(&table, &balance.classes, inbound.as_ref());
    let warm_up = table.table("warm_up");
    let warm_up = warm_up.map(|warm_up| {
        let inbound = inbound.as_ref().map(|side| &side.endpoint);
        read_warm_up(warm_up, inbound)
    });
    let identity_place = table.place_of("identity");
    let identity = table.table("identity").map(read_identity);
    let proves_one = inbound
        .as_ref()
        .is_some_and(EndpointSpec::proves_an_identity);
    if let (Some(place), false) = (
        identity_place,
        proves_one || has_sides.0 != inbound.is_some(),
    ) {
        table.report_with_hint(
            place,
            "`identity` tells of assertions and of inner protection, and neither is asked for",
            "say in `inbound` which are accepted: saml = { … }, or inner = { … }",
        );
    }
    let bsp = read_bsp(&mut table);
    let opens = inbound.as_ref().is_some_and(|it| !it.endpoint.is_plain())
        || outbound.as_ref().is_some_and(|it| !it.endpoint.is_plain())
        || source.as_ref().is_some_and(source_opens)
        || members.as_ref().is_some_and(members_open)
        || has_sides != (inbound.is_some(), outbound.is_some());
    if let (Some(bsp), false) = (&bsp, opens) {
        demand_opening(&table, bsp);
    }
    let provided = path.clone().unwrap_or_default();
    let provides = table.table("provides");
    let provides = provides.map(|it| read_provided(it, &provided, client_side.public_url));
    table.finish();
    if has_sides != (inbound.is_some(), outbound.is_some()) {
        return None;
    }
    let path = path?;
    let backend = match sts_place {
        Some(_) => {
            // What is wrong with it has been reported.
            let is_served = inbound
                .as_ref()
                .is_some_and(|it| it.endpoint.is_token_service());
            is_served.then_some(())?;
            None
        }
        None => Some(backend?.value),
    };
    let backend_tls = match backend_tls {
        // What is wrong with it has been reported.
        Some(tls) => Some(tls?),
        None => None,
    };
    let name = name.map_or_else(|| path.clone(), |name| name.value);
    let (source, policies, source_assured, source_tls) = match source {
        // What is wrong with it has been reported.
        Some(read) => {
            let ReadSource {
                source,
                policies,
                assured,
                tls,
            } = read?;
            (Some(source), policies, assured, tls)
        }
        None => (None, Vec::new(), None, None),
    };
    let group = match members {
        None => None,
        Some(members) => Some(GroupSpec {
            members: with_security(members?, &policies, inbound.as_ref(), outbound.as_ref()),
            settings: balance.settings,
            source,
            source_tls,
            policies,
            source_assured,
            rules: Rules {
                sticky: balance.sticky.map(|sticky| sticky.value),
                idempotent: balance.idempotent,
                check: balance.check,
                needs: balance.needs,
                classes: balance.classes,
                requirements: balance.requirements.is_some_and(|given| given.value),
            },
        }),
    };
    Some(RouteSpec {
        place: route_place,
        name,
        path,
        backend,
        backend_tls,
        group,
        inbound,
        outbound,
        timeouts,
        rate,
        identity: match identity {
            Some(identity) => Some(identity?),
            None => None,
        },
        warm_up: match warm_up {
            Some(warm_up) => Some(warm_up?),
            None => None,
        },
        provides: match provides {
            Some(provides) => Some(provides?),
            None => None,
        },
        bsp: bsp.map(|bsp| bsp.value),
    })
}

/// Reports keys of a route that say something of its backend, or that a token service needs and
/// lacks.
fn refuse_beside_sts(table: &Table<'_>, place: Place) {
    if !table.has("inbound") {
        table.report_with_hint(
            place,
            "`inbound` is missing: nobody would be shown to ask the token service",
            "say how requesters are known: [routes.inbound] with security = { mechanism = \"sign-encrypt\" }",
        );
    }
    for key in OF_BACKENDS {
        if let Some(place) = table.place_of(key) {
            table.report_with_hint(
                place,
                format!("`{key}` is given, and `sts` answers all requests of the route itself"),
                "leave it out",
            );
        }
    }
}

/// Keys of a route that say something of its backend.
const OF_BACKENDS: [&str; 8] = [
    "backend", "backends", "balance", "outbound", "tls", "warm_up", "identity", "provides",
];

/// Reads `backend`, where there is one.
fn read_backend(table: &mut Table<'_>) -> Option<Located<Uri>> {
    let text = table.required_string(
        "backend",
        "for example backend = \"http://127.0.0.1:9000/books\"",
    )?;
    match backend_url(&text.value) {
        Ok(uri) => Some(text.map(|_| uri)),
        Err(error) => {
            table.report_with_hint(
                text.place,
                format!("`backend` {error}"),
                "for example \"http://127.0.0.1:9000/books\"",
            );
            None
        }
    }
}

/// Backends with what the policy in front of each gives: its own, that of its owner, or else that
/// of the route.
pub(super) fn with_security(
    mut members: Vec<MemberSpec>,
    policies: &[OwnersPolicy],
    inbound: Option<&EndpointSpec<Serving>>,
    outbound: Option<&EndpointSpec<Calling>>,
) -> Vec<MemberSpec> {
    // What clients did to such messages is not known here.
    let passes =
        inbound.is_none_or(|side| side.endpoint.is_plain() || side.endpoint.is_intermediary());
    for member in &mut members {
        let of_owner = member.policy.and_then(|index| policies.get(index));
        let of_owner = of_owner.and_then(|policy| policy.outbound.as_ref());
        let side = member.outbound.as_ref().or(of_owner).or(outbound);
        let endpoint = side.map(|side| &side.endpoint);
        member.terms.security = match &member.assured {
            Some(assured) => over_tls(assured.value.clone(), member.tls.as_ref()),
            None => {
                let mut index = security_index(endpoint, member.tls.as_ref());
                index.unseen = passes && endpoint.is_none_or(Endpoint::is_plain);
                index
            }
        };
    }
    members
}

/// Reports a device that is asked for its clock behind an endpoint that faces several backends.
fn refuse_one_clock_of_several(table: &Table<'_>, place: Place, side: &EndpointSpec<Calling>) {
    if side.asks_a_device() {
        table.report_with_hint(
            place,
            "`clock` has from = \"onvif\", and the route has several backends: each has a clock of its own",
            "give each of them its `outbound`",
        );
    }
}

/// Reports calls that are to stay together by what the route never learns of them.
fn demand_sticky(
    table: &Table<'_>,
    sticky: &Located<Sticky>,
    inbound: Option<&EndpointSpec<Serving>>,
) {
    let conversation = inbound.and_then(|side| side.endpoint.conversation());
    let (missing, hint) = match sticky.value {
        Sticky::Client => return,
        Sticky::Partner if inbound.is_some() => return,
        Sticky::Conversation if conversation.is_some() => return,
        Sticky::Partner => (
            "`sticky` is \"partner\", and without `inbound` nobody proves to be one",
            "sticky = \"client\" keeps calls of an address together",
        ),
        Sticky::Conversation => (
            "`sticky` is \"conversation\", and clients begin none with this route",
            "sticky = \"partner\" keeps calls of a certificate or user together",
        ),
    };
    table.report_with_hint(sticky.place, missing, hint);
}
