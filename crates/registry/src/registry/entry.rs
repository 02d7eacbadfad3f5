//! What the registry keeps: entries with their owners, and reports.
//!
//! The rule kept here: an entry never changes its owner.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::calls::Call;
use crate::model::{BindingTemplate, BusinessEntity, BusinessService, TModel};
use crate::report::{Figures, Host};
use crate::written_name::WrittenName;

/// The kinds of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EntryKind {
    /// `businessEntity`.
    Business,
    /// `businessService`.
    Service,
    /// `bindingTemplate`.
    Binding,
    /// `tModel`.
    TModel,
    /// The last report of a binding.
    Report,
}

impl EntryKind {
    /// Its name in a database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Business => "business",
            Self::Service => "service",
            Self::Binding => "binding",
            Self::TModel => "tmodel",
            Self::Report => "report",
        }
    }
}

/// Whose certificate signed: its subject, as its issuer knows it. A renewed certificate is the
/// same owner, however its authority writes the names.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Owner {
    /// The subject of the certificate.
    pub subject: WrittenName,
    /// Its issuer.
    pub issuer: WrittenName,
}

impl Owner {
    /// The owner with these names.
    pub fn new(subject: impl Into<String>, issuer: impl Into<String>) -> Self {
        Self {
            subject: WrittenName::new(subject),
            issuer: WrittenName::new(issuer),
        }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} of {}", self.subject, self.issuer)
    }
}

/// An entry. A business has no services in it and a service no bindings: these are entries of
/// their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Entry {
    /// Who offers services.
    Business(BusinessEntity),
    /// A service.
    Service(BusinessService),
    /// A provider of a service.
    Binding(BindingTemplate),
    /// A concept.
    #[serde(rename = "tModel")]
    TModel(TModel),
    /// The last report of a binding, by the binding's key.
    Report(StoredReport),
}

impl Entry {
    /// Its kind.
    pub fn kind(&self) -> EntryKind {
        match self {
            Self::Business(_) => EntryKind::Business,
            Self::Service(_) => EntryKind::Service,
            Self::Binding(_) => EntryKind::Binding,
            Self::TModel(_) => EntryKind::TModel,
            Self::Report(_) => EntryKind::Report,
        }
    }

    /// Its key.
    pub fn key(&self) -> &str {
        match self {
            Self::Business(it) => &it.business_key,
            Self::Service(it) => &it.service_key,
            Self::Binding(it) => &it.binding_key,
            Self::TModel(it) => &it.t_model_key,
            Self::Report(it) => &it.figures.binding_key,
        }
    }

    /// The key of the entry that it is part of.
    pub(super) fn parent(&self) -> Option<&str> {
        match self {
            Self::Service(it) => Some(&it.business_key),
            Self::Binding(it) => Some(&it.service_key),
            Self::Business(_) | Self::TModel(_) | Self::Report(_) => None,
        }
    }
}

/// What a monitor said of a binding, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StoredReport {
    /// When the figures were taken, by the provider's clock.
    pub taken: Timestamp,
    /// When they arrived, by the registry's clock.
    pub received: Timestamp,
    /// How often the monitor reports, in milliseconds.
    pub period: u32,
    /// Whether the provider said that it takes no calls.
    pub withdrawn: bool,
    /// Of the binding.
    pub figures: Figures,
    /// The machine.
    pub host: Host,
}

/// An entry with its owner, as a storage keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Whose it is.
    pub owner: Owner,
    /// The entry.
    pub entry: Entry,
}

/// A change that a storage keeps.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// An entry is there, new or in the place of the one with its kind and key.
    Put(Box<Record>),
    /// An entry is gone.
    Delete(EntryKind, String),
    /// Calls are in the log, each once. It is kept and nothing else.
    Log(Box<LoggedCalls>),
}

/// Calls for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedCalls {
    /// Whose certificate told of them.
    pub owner: Owner,
    /// The name of the process that served them.
    pub source: String,
    /// When they were told, by the registry's clock.
    pub received: Timestamp,
    /// The calls.
    pub calls: Vec<Call>,
}
