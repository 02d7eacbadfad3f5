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

/// Reports what a route that passes messages on cannot do. `requirements` is where its messages may
/// say what they need, and `place` where its backends are named. `of_owners` says whether a
/// registry has policies for some of them.
pub(super) fn check_passing(
    table: &Table<'_>,
    side: &EndpointSpec<Serving>,
    requirements: Option<Place>,
    members: &[MemberSpec],
    place: Place,
    of_owners: bool,
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
    if of_owners || members.iter().any(|member| member.outbound.is_some()) {
        table.report_with_hint(
            place,
            "a backend has an `outbound`, and `inbound` passes messages on: they are secured by whoever sent them",
            "leave it out, and say what clients and this backend assure each other: assures = { … }",
        );
    }
}

/// Reports backends whose assurance is said where the gateway computes it.
pub(super) fn refuse_assured(table: &Table<'_>, members: Option<&[MemberSpec]>) {
    let assured = members.unwrap_or_default().iter();
    for assured in assured.filter_map(|member| member.assured.as_ref()) {
        table.report_with_hint(
            assured.place,
            "`assures` is for a route whose `inbound` passes messages on; elsewhere the policy in front of the backend tells",
            "leave it out, or give `inbound` a `role`",
        );
    }
}
