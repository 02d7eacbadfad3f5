//! What the monitor of a provider reports.
//!
//! The rule kept here: a figure is finite and not negative, or the report is refused. A report is
//! the word of its provider: whoever chooses by it bounds it by what he measures himself.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The name of all calls of a binding that no operation of a name of its own has: what was refused
/// before it was opened, and what exceeds the operations that a monitor tells apart. No element has
/// this name.
pub const OTHER: &str = "*";

/// What a monitor says of one provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Report {
    /// Of which bindings.
    pub bindings: Vec<Figures>,
    /// When the figures were taken, in milliseconds since 1970. Each report is newer than the one
    /// before.
    pub taken: i64,
    /// How often the monitor reports, in milliseconds.
    pub period: u32,
    /// The machine.
    #[serde(default)]
    pub host: Host,
}

impl Report {
    /// When the figures were taken.
    pub(crate) fn taken(&self) -> Option<Timestamp> {
        Timestamp::from_millisecond(self.taken).ok()
    }
}

/// Figures of the machine. `None` is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Host {
    /// Processes that run or wait to, averaged over a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_one: Option<f64>,
    /// Percent of the processors' time since the last report in which they had nothing to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_idle: Option<f64>,
    /// Processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_num: Option<f64>,
    /// Kilobytes of memory that are free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mem_free: Option<f64>,
    /// Bytes per second that arrive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_in: Option<f64>,
    /// Bytes per second that leave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_out: Option<f64>,
}

impl Host {
    /// Its figures with their names, in the words of Ganglia.
    pub fn figures(&self) -> [(&'static str, &'static str, Option<f64>); 6] {
        [
            ("load_one", "", self.load_one),
            ("cpu_idle", "%", self.cpu_idle),
            ("cpu_num", "CPUs", self.cpu_num),
            ("mem_free", "KB", self.mem_free),
            ("bytes_in", "bytes/sec", self.bytes_in),
            ("bytes_out", "bytes/sec", self.bytes_out),
        ]
    }

    /// The figure of a name.
    pub(crate) fn figure_mut(&mut self, name: &str) -> Option<&mut Option<f64>> {
        Some(match name {
            "load_one" => &mut self.load_one,
            "cpu_idle" => &mut self.cpu_idle,
            "cpu_num" => &mut self.cpu_num,
            "mem_free" => &mut self.mem_free,
            "bytes_in" => &mut self.bytes_in,
            "bytes_out" => &mut self.bytes_out,
            _ => return None,
        })
    }
}

/// Figures of one binding, which a gateway serves as a route.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Figures {
    /// Which.
    pub binding_key: String,
    /// Calls that are being answered.
    pub in_hand: f64,
    /// Calls that wait for a worker.
    pub queue: f64,
    /// Calls since the provider began.
    pub calls: f64,
    /// Of these, calls that the service or the gateway failed.
    pub errors: f64,
    /// Of these, calls that were refused for their security.
    pub refusals: f64,
    /// Of the time of calls, the share of security steps, from 0 to 1.
    pub security_share: f64,
    /// Time of a call with its security.
    pub service: Times,
    /// Time of the backend alone.
    pub backend: Times,
    /// The same by operation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<Operation>,
}

/// Figures of one operation. What waits for a worker is not opened yet: of which operation it will
/// be is not known, and an operation has no queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Operation {
    /// The element in the Body: `{namespace}name`; [`OTHER`] of all calls that no other one is of.
    pub name: String,
    /// Calls that are being answered.
    pub in_hand: f64,
    /// Calls since the provider began.
    pub calls: f64,
    /// Of these, calls that the service or the gateway failed.
    pub errors: f64,
    /// Of these, calls that were refused for their security.
    pub refusals: f64,
    /// Of the time of calls, the share of security steps, from 0 to 1.
    pub security_share: f64,
    /// Time of a call with its security.
    pub service: Times,
    /// Time of the backend alone.
    pub backend: Times,
}

/// Times of answers, in milliseconds, since the last report that had calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Times {
    /// The mean.
    pub mean: f64,
    /// Half of the calls take no longer.
    pub p50: f64,
    /// Of a hundred calls, 95 take no longer.
    pub p95: f64,
}

impl Figures {
    /// The figures without those of operations.
    pub(crate) fn of_binding(&self) -> Self {
        Self {
            binding_key: self.binding_key.clone(),
            operations: Vec::new(),
            ..*self
        }
    }

    /// Every number in it.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = f64> {
        let own = [
            self.in_hand,
            self.queue,
            self.calls,
            self.errors,
            self.refusals,
            self.security_share,
        ];
        let times = [self.service, self.backend].into_iter();
        let of_operations = self.operations.iter().flat_map(Operation::numbers);
        own.into_iter()
            .chain(times.flat_map(|times| [times.mean, times.p50, times.p95]))
            .chain(of_operations)
    }
}

impl Operation {
    /// Every number in it.
    fn numbers(&self) -> [f64; 11] {
        let (service, backend) = (self.service, self.backend);
        [
            self.in_hand,
            self.calls,
            self.errors,
            self.refusals,
            self.security_share,
            service.mean,
            service.p50,
            service.p95,
            backend.mean,
            backend.p50,
            backend.p95,
        ]
    }
}
