//! What is asked of the registry.
//!
//! The rule kept here: a request says itself whether it changes anything ([`Request::writes`]), and
//! nothing is added here without saying so.

use serde::{Deserialize, Serialize};

use crate::calls::Calls;
use crate::model::{
    BindingTemplate, BusinessEntity, BusinessService, KeyedReference, TModel, Text,
};
use crate::registry::EntryKind;
use crate::report::Report;

/// Keys of entries.
pub type Keys = Vec<String>;

/// A request: the inquiry and publication of UDDI (UDDI 3.0.2, sections 5.1 and 5.2), and the
/// project's own requests. In JSON its name is the one key of an object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Businesses by name and category.
    FindBusiness(Find),
    /// Services by name, category and business.
    FindService(Find),
    /// Bindings by service, category and tModel.
    FindBinding(Find),
    /// tModels by name and category.
    #[serde(rename = "find_tModel")]
    FindTModel(Find),
    /// Businesses with all that they offer.
    #[serde(rename = "get_businessDetail")]
    BusinessDetail(Keys),
    /// Services with their bindings.
    #[serde(rename = "get_serviceDetail")]
    ServiceDetail(Keys),
    /// Bindings.
    #[serde(rename = "get_bindingDetail")]
    BindingDetail(Keys),
    /// tModels.
    #[serde(rename = "get_tModelDetail")]
    TModelDetail(Keys),
    /// Providers with their state and their last report.
    FindProviders(ProviderQuery),
    /// A token for publication. It says nothing: the signature of a request authorizes it.
    #[serde(rename = "get_authToken")]
    AuthToken,
    /// The end of such a token.
    #[serde(rename = "discard_authToken")]
    DiscardAuthToken,
    /// Businesses, with the services and bindings in them.
    SaveBusiness(Vec<BusinessEntity>),
    /// Services, with the bindings in them.
    SaveService(Vec<BusinessService>),
    /// Bindings.
    SaveBinding(Vec<BindingTemplate>),
    /// tModels.
    #[serde(rename = "save_tModel")]
    SaveTModel(Vec<TModel>),
    /// Businesses are gone, with their services and bindings.
    DeleteBusiness(Keys),
    /// Services are gone, with their bindings.
    DeleteService(Keys),
    /// Bindings are gone.
    DeleteBinding(Keys),
    /// tModels are gone.
    #[serde(rename = "delete_tModel")]
    DeleteTModel(Keys),
    /// What a monitor measured. It is the heartbeat of a provider, too.
    Report(Report),
    /// Bindings take no calls from now on, and stay in the registry.
    Withdraw(Keys),
    /// Calls that a gateway served, for the log of calls.
    LogCalls(Calls),
}

impl Request {
    /// Whether it needs to be signed: it changes something, or asks for leave to.
    pub fn writes(&self) -> bool {
        match self {
            Self::FindBusiness(_)
            | Self::FindService(_)
            | Self::FindBinding(_)
            | Self::FindTModel(_)
            | Self::BusinessDetail(_)
            | Self::ServiceDetail(_)
            | Self::BindingDetail(_)
            | Self::TModelDetail(_)
            | Self::FindProviders(_) => false,
            Self::AuthToken
            | Self::DiscardAuthToken
            | Self::SaveBusiness(_)
            | Self::SaveService(_)
            | Self::SaveBinding(_)
            | Self::SaveTModel(_)
            | Self::DeleteBusiness(_)
            | Self::DeleteService(_)
            | Self::DeleteBinding(_)
            | Self::DeleteTModel(_)
            | Self::Report(_)
            | Self::Withdraw(_)
            | Self::LogCalls(_) => true,
        }
    }

    /// The name of its element, for logs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::FindBusiness(_) => "find_business",
            Self::FindService(_) => "find_service",
            Self::FindBinding(_) => "find_binding",
            Self::FindTModel(_) => "find_tModel",
            Self::BusinessDetail(_) => "get_businessDetail",
            Self::ServiceDetail(_) => "get_serviceDetail",
            Self::BindingDetail(_) => "get_bindingDetail",
            Self::TModelDetail(_) => "get_tModelDetail",
            Self::FindProviders(_) => "find_providers",
            Self::AuthToken => "get_authToken",
            Self::DiscardAuthToken => "discard_authToken",
            Self::SaveBusiness(_) => "save_business",
            Self::SaveService(_) => "save_service",
            Self::SaveBinding(_) => "save_binding",
            Self::SaveTModel(_) => "save_tModel",
            Self::DeleteBusiness(_) => "delete_business",
            Self::DeleteService(_) => "delete_service",
            Self::DeleteBinding(_) => "delete_binding",
            Self::DeleteTModel(_) => "delete_tModel",
            Self::Report(_) => "report",
            Self::Withdraw(_) => "withdraw",
            Self::LogCalls(_) => "log_calls",
        }
    }

    /// What is looked for, and among which entries.
    pub(crate) fn found(&self) -> Option<(EntryKind, &Find)> {
        Some(match self {
            Self::FindBusiness(find) => (EntryKind::Business, find),
            Self::FindService(find) => (EntryKind::Service, find),
            Self::FindBinding(find) => (EntryKind::Binding, find),
            Self::FindTModel(find) => (EntryKind::TModel, find),
            _ => return None,
        })
    }
}

/// What is looked for. What is empty finds everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Find {
    /// Services of this business.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub business_key: Option<String>,
    /// Bindings of this service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_key: Option<String>,
    /// One of these names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<Text>,
    /// All of these categories.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<KeyedReference>,
    /// All of these tModels: of a service, in one of its bindings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub t_models: Vec<String>,
    /// How names are compared (UDDI 3.0.2, section 5.1.4.3): `exactMatch`, which is the default,
    /// `approximateMatch`, `caseInsensitiveMatch`, `caseSensitiveMatch`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub qualifiers: Vec<String>,
    /// Most entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rows: Option<u32>,
}

/// Which providers are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ProviderQuery {
    /// Of the service with this name or this key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// Of a port type: `{namespace}name`, or its name alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port_type: Option<String>,
    /// Whose entries, by the subjects of certificates; empty: everybody's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<String>,
    /// With the figures of operations, as far as these leave room for providers.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub operations: bool,
}
