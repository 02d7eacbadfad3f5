//! Routes that pass messages on and have several backends: clients and backends protect messages
//! from end to end, and the gateway reads its own header alone.
//!
//! The rule kept here: needs are read where the policy has them signed for this node together with
//! the Body that they are about, and nothing is secured for a backend that expects the message of
//! its client.

use soapstone::config::{Place, Table};
use soapstone::endpoint::Serving;
use soapstone::wss::Part;

use super::balance::MemberSpec;
use super::endpoint::EndpointSpec;
use super::needs::{NAMESPACE, REQUIREMENTS};
use super::source::ReadSource;

/// Reports what a route that passes messages on cannot do. `requirements` is where its messages may
/// say what they need, and `place` where its backends are named: in the file, or by a source.
pub(super) fn check_passing(
    table: &Table<'_>,
    side: &EndpointSpec<Serving>,
    requirements: Option<Place>,
    (members, found): (&[MemberSpec], Option<&ReadSource>),
    place: Place,
) {
    let needs = Part::Header {
        namespace: NAMESPACE.to_owned(),
        local: REQUIREMENTS.to_owned(),
    };
    // Without the Body they could be put into another message of the same sender.
    let demanded = [
        (
            needs,
            "`requirements` is given, and `inbound` passes on messages without the sender's signature of them for this node",
        ),
        (
            Part::Body,
            "`requirements` is given, and `inbound` passes on messages whose Body is not signed for this node with them",
        ),
    ];
    let missing = demanded
        .iter()
        .find(|(part, _)| !side.endpoint.demands_signed(part));
    if let (Some(place), Some((_, message))) = (requirements, missing) {
        table.report_with_hint(
            place,
            *message,
            "have it demand that: signed = [\"Body\", \"Timestamp\", \"{urn:soapstone:qos:1}Requirements\"]",
        );
    }
    let mut policies = found.iter().flat_map(|found| &found.policies);
    let of_owners = policies.any(|policy| policy.outbound.is_some());
    if of_owners || members.iter().any(|member| member.outbound.is_some()) {
        table.report_with_hint(
            place,
            "a backend has an `outbound`, and `inbound` passes messages on: they are secured by whoever sent them",
            "leave it out, and say what clients and this backend assure each other: assures = { … }",
        );
    }
}

/// Reports a source of backends of which nothing is assured, where requests may need security: they
/// would go nowhere. What providers register is their own word, and no assurance.
pub(super) fn demand_assured(table: &Table<'_>, place: Place, found: &ReadSource) {
    if found.assurances().next().is_none() {
        table.report_with_hint(
            place,
            "`backends` finds providers, requests may need security, and nothing says what a provider and its clients assure each other",
            "assures = { properties = [\"integrity\"], bits = 112, algorithms = [\"rsa-sha256\"] }, for all or in `policies` for some owners",
        );
    }
}

/// Reports backends whose assurance is said where the gateway computes it.
pub(super) fn refuse_assured(
    table: &Table<'_>,
    members: &[MemberSpec],
    found: Option<&ReadSource>,
) {
    let of_members = members.iter().filter_map(|member| member.assured.as_ref());
    let of_source = found.iter().flat_map(|found| found.assurances());
    for assured in of_members.chain(of_source) {
        table.report_with_hint(
            assured.place,
            "`assures` is for a route whose `inbound` passes messages on; elsewhere the policy in front of the backend tells",
            "leave it out, or give `inbound` a `role`",
        );
    }
}
