//! What is measured when somebody asks for it, and how much of it is told to whom.

use std::collections::BTreeMap;

use soapstone::crypto::trust::RevocationCounts;
use soapstone_broker::MemberStatus;

use super::AgreementsSnapshot;
use crate::config::direction::Direction;
use crate::observe::calls::CallCounts;
use crate::observe::traces::Counts;

/// What is measured when asked for.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) queued: usize,
    pub(crate) workers: usize,
    pub(crate) buffered: u64,
    /// How much of that there may be, and of what waits and connects.
    pub(crate) room: u64,
    pub(crate) queue: usize,
    pub(crate) most_connections: u64,
    /// Clients and partners that are known.
    pub(crate) clients: usize,
    /// Lines of the log that were lost.
    pub(crate) lost_lines: u64,
    /// Lines of the audit trail that were lost, and bytes of it that wait.
    pub(crate) lost_audit_lines: u64,
    pub(crate) waiting_audit: usize,
    /// What became of the spans of traces.
    pub(crate) spans: Counts,
    /// What became of calls for the log of the registry, where they are logged.
    pub(crate) calls: Option<CallCounts>,
    /// Route and side, with the number of replay marks held.
    pub(crate) replay_marks: Vec<(String, Direction, u64)>,
    /// Route and side, with the number of replay marks that may be.
    pub(crate) replay_capacity: Vec<(String, Direction, u64)>,
    /// Route and side, with the number of conversations that may be held.
    pub(crate) conversations_capacity: Vec<(String, Direction, u64)>,
    /// Route and side, with the number of conversations held.
    pub(crate) conversations: Vec<(String, Direction, u64)>,
    /// Route, side and what was asked for, with the number of questions that a shared store did
    /// not answer.
    pub(crate) unanswered: Vec<(String, Direction, &'static str, u64)>,
    /// Route and side, with the number of messages that were accepted without the shared store's
    /// word.
    pub(crate) decided_alone: Vec<(String, Direction, u64)>,
    /// What certificates and revocation lists are there for, with the second at which the first of
    /// them expires.
    pub(crate) expiries: BTreeMap<ExpiryLabels, i64>,
    /// What is known of revocation.
    pub(crate) revocation: RevocationCounts,
    /// Route and side, with the part of its limit that a shared key has enciphered.
    pub(crate) shared_keys: Vec<(String, Direction, f64)>,
    /// Route and side, with the seconds that the peer's clock is ahead.
    pub(crate) peer_clocks: Vec<(String, Direction, f64)>,
    /// Route, and whether its backend could last be reached.
    pub(crate) backends: Vec<(String, bool)>,
    /// Route, and what is known of each of its backends where there are several.
    pub(crate) balanced: Vec<(String, Vec<MemberStatus>)>,
    /// What is known of agreements, where there are some.
    pub(crate) agreements: Option<AgreementsSnapshot>,
}

/// Route and side (none of `[tls]`), and what the certificate or list is there for.
type ExpiryLabels = (Option<(String, Direction)>, &'static str);

/// How much is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// What strangers may read: no more of a refused message than its sender is told, and nothing
    /// of the steps that it took.
    Classes,
    /// What operators read.
    Everything,
}
