//! What the registry answers.
//!
//! The rule kept here: an answer is the same as SOAP body and as JSON.

use serde::{Deserialize, Serialize};

use crate::calls::Logged;
use crate::model::{BindingTemplate, BusinessEntity, BusinessService, TModel, Text};
use crate::registry::{EntryKind, Owner};
use crate::report::{Figures, Host};

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// Entries in short. Of businesses, services or tModels.
    List(List),
    /// Businesses.
    BusinessDetail(Vec<BusinessEntity>),
    /// Services.
    ServiceDetail(Vec<BusinessService>),
    /// Bindings.
    BindingDetail(Vec<BindingTemplate>),
    /// tModels.
    #[serde(rename = "tModelDetail")]
    TModelDetail(Vec<TModel>),
    /// Providers.
    Providers(Providers),
    /// A token for publication, which says nothing.
    AuthToken(String),
    /// What became of calls that were told.
    Logged(Logged),
    /// It was done.
    Done,
}

/// Entries in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct List {
    /// What they are.
    pub kind: EntryKind,
    /// The entries.
    pub infos: Vec<Info>,
    /// Whether there are more.
    pub truncated: bool,
}

/// Providers that were found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Providers {
    /// The providers.
    pub found: Vec<Provider>,
    /// Whether there are more.
    pub truncated: bool,
}

/// An entry in short.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Info {
    /// Its key.
    pub key: String,
    /// The business, of a service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub business_key: Option<String>,
    /// Its names.
    pub names: Vec<Text>,
    /// The services of a business, in short.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<Info>,
}

/// Whether a provider takes calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Its monitor reported in time.
    Active,
    /// Its monitor has not reported for three periods.
    Inactive,
    /// It said that it takes no calls.
    Withdrawn,
    /// No monitor has ever reported.
    Unmonitored,
}

impl State {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Inactive => "inactive",
            Self::Withdrawn => "withdrawn",
            Self::Unmonitored => "unmonitored",
        }
    }

    /// The state of a name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let all = [
            Self::Active,
            Self::Inactive,
            Self::Withdrawn,
            Self::Unmonitored,
        ];
        all.into_iter().find(|state| state.name() == name)
    }
}

/// A provider: a binding with its service, its business and what is known of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Provider {
    /// The key of the binding.
    pub binding_key: String,
    /// The key of the service.
    pub service_key: String,
    /// The name of the business.
    pub business: String,
    /// The name of the service: of several, the one that was asked for.
    pub service: String,
    /// `{namespace}name` of the port type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port_type: Option<String>,
    /// The URL that takes calls.
    pub access_point: String,
    /// The URL of the WSDL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wsdl: Option<String>,
    /// The URL of the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The agreements that it offers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agreements: Vec<String>,
    /// Whose entry it is.
    pub owner: Owner,
    /// Whether it takes calls.
    pub state: State,
    /// How old its last report is, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age: Option<u64>,
    /// When the figures of its last report were taken, by its own clock, in milliseconds since
    /// 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<i64>,
    /// Figures of its machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
    /// Its figures, of the last report. Those of operations are there if they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<Figures>,
}
