//! `bsp` of a route: whether messages that verified are judged by the Basic Security Profile.
//!
//! The rule kept here: a route that opens nothing judges nothing, and says so in the file's
//! problems.

use soapstone::config::{Located, Table};

use super::balance::MemberSpec;
use super::source::ReadSource;

/// What becomes of a message that breaks the WS-I Basic Security Profile 1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bsp {
    /// It is counted and logged, and goes on.
    Warn,
    /// It is refused where it breaks a rule for certain.
    Strict,
}

/// Reads `bsp`.
pub(super) fn read_bsp(table: &mut Table<'_>) -> Option<Located<Bsp>> {
    table.choice("bsp", &[("warn", Bsp::Warn), ("strict", Bsp::Strict)])
}

/// Whether the endpoint of one of several backends opens what comes back. Those that could not be
/// read have been reported.
pub(super) fn members_open(members: &Option<Vec<MemberSpec>>) -> bool {
    members.as_ref().is_none_or(|members| {
        let mut endpoints = members.iter().filter_map(|member| member.outbound.as_ref());
        endpoints.any(|it| !it.endpoint.is_plain())
    })
}

/// Whether an endpoint that a source of backends names opens what comes back. A source that could
/// not be read has been reported.
pub(super) fn source_opens(source: &Option<ReadSource>) -> bool {
    source.as_ref().is_none_or(|source| {
        let mut endpoints = source.policies.iter().filter_map(|it| it.outbound.as_ref());
        endpoints.any(|it| !it.endpoint.is_plain())
    })
}

/// Reports `bsp` of a route that opens nothing.
pub(super) fn demand_opening(table: &Table<'_>, bsp: &Located<Bsp>) {
    table.report_with_hint(
        bsp.place,
        "`bsp` judges messages that an endpoint opened, and the route opens none",
        "leave it out, or give the route an `inbound` or `outbound` with security",
    );
}
