//! Records of calls: what gateways tell of each call that they served.
//!
//! The rule kept here: a record holds names, times and numbers, and nothing of what a message says.

mod overhead;

use serde::{Deserialize, Serialize};

pub use overhead::{Basis, Group, Overhead, Part, PartTimes, overhead};

/// Most calls of one request.
pub const MOST_CALLS: usize = 500;
/// Most characters of a text of a call.
pub const LONGEST_TEXT: usize = 255;
/// Most characters of the name of a process.
pub const LONGEST_SOURCE: usize = 64;
/// The largest number of a record: nine years in microseconds. The sum of many fits into 64 bits.
pub const LARGEST_NUMBER: u64 = 1 << 48;

/// Calls that one process of a gateway served.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Calls {
    /// The name of the process. With the number of a call it names the call: the call is in the
    /// log once, however often it is told.
    pub source: String,
    /// The calls.
    pub calls: Vec<Call>,
}

/// One call, as the gateway saw it that tells of it. Times are in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Call {
    /// Its number in the process of the gateway.
    pub number: u64,
    /// When its head had arrived, in milliseconds since 1970, by the gateway's clock.
    pub time: i64,
    /// The name of the request in logs. A broker passes it on to the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The route of the gateway.
    pub route: String,
    /// The name of the service, where the route provides one or looks for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// The entry that the route is, where the gateway provides the service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binding_key: Option<String>,
    /// Who served it: the access point of the route, or the backend that was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Why that backend was chosen of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
    /// The action of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// Who was proven to have sent the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The class of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The agreement that the call is under.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreement: Option<String>,
    /// Bytes of the request, where they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_bytes: Option<u64>,
    /// Bytes of the answer, where they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_bytes: Option<u64>,
    /// Time of all of it.
    pub total: u64,
    /// Time for which the gateway waited for backends.
    pub backend: u64,
    /// Time of security steps.
    pub security: u64,
    /// Time of the choice of backends.
    pub choice: u64,
    /// Backends that the request was sent to.
    pub attempts: u64,
    /// What became of it.
    pub outcome: Outcome,
    /// The name of why it was refused or failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The HTTP status of the answer.
    pub status: u64,
}

/// What became of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It was answered.
    #[default]
    Accepted,
    /// Its security was refused.
    Refused,
    /// It failed for another reason.
    Failed,
}

impl Outcome {
    const ALL: [Self; 3] = [Self::Accepted, Self::Refused, Self::Failed];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }

    /// The outcome of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.name() == name)
    }
}

impl Call {
    /// Whether it is the word of a broker, which tells of others, too.
    pub fn is_of_broker(&self) -> bool {
        self.chosen.is_some() || self.binding_key.is_none()
    }

    /// Every text in it, with its name.
    pub fn texts(&self) -> [(&'static str, Option<&str>); 11] {
        [
            ("request", self.request.as_deref()),
            ("route", Some(&self.route)),
            ("service", self.service.as_deref()),
            ("bindingKey", self.binding_key.as_deref()),
            ("provider", self.provider.as_deref()),
            ("chosen", self.chosen.as_deref()),
            ("operation", self.operation.as_deref()),
            ("client", self.client.as_deref()),
            ("class", self.class.as_deref()),
            ("agreement", self.agreement.as_deref()),
            ("reason", self.reason.as_deref()),
        ]
    }

    /// Every number in it, with its name.
    pub(crate) fn numbers(&self) -> [(&'static str, Option<u64>); 9] {
        [
            ("number", Some(self.number)),
            ("requestBytes", self.request_bytes),
            ("responseBytes", self.response_bytes),
            ("total", Some(self.total)),
            ("backend", Some(self.backend)),
            ("security", Some(self.security)),
            ("choice", Some(self.choice)),
            ("attempts", Some(self.attempts)),
            ("status", Some(self.status)),
        ]
    }
}

/// A call in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallEntry {
    /// Its place in the log: later calls have larger ones.
    pub id: i64,
    /// When it was told, in milliseconds since 1970, by the registry's clock.
    pub received: i64,
    /// The subject of the certificate that told it.
    pub owner: String,
    /// The call.
    pub call: Call,
}

/// Some of the calls in the log, the last one first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallPage {
    /// The calls.
    pub calls: Vec<CallEntry>,
    /// Where there are more: they are before this place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<i64>,
}

/// Which calls are wanted. What is absent is any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallQuery {
    /// Of this service.
    pub service: Option<String>,
    /// Of this provider.
    pub provider: Option<String>,
    /// With this action.
    pub operation: Option<String>,
    /// Sent by this client.
    pub client: Option<String>,
    /// Told by the certificate with this subject.
    pub owner: Option<String>,
    /// That came to this.
    pub outcome: Option<Outcome>,
    /// Served since then, in milliseconds since 1970.
    pub since: Option<i64>,
    /// Served before then, in milliseconds since 1970.
    pub until: Option<i64>,
    /// Before this place in the log.
    pub before: Option<i64>,
}

/// What became of calls that were told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Logged {
    /// Calls that are in the log now, or were before.
    pub calls: u64,
    /// Calls of entries that the registry does not know (any more): these are not in the log.
    pub unknown: u64,
}
