//! The data structures of UDDI version 3 that the registry keeps (UDDI 3.0.2, section 3).
//!
//! The rule kept here: what has no field here is refused when it is read, so that nothing that a
//! publisher said gets lost in silence.

use serde::{Deserialize, Serialize};

/// A text for people, with its language.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Text {
    /// `xml:lang`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lang: Option<String>,
    /// The text.
    pub text: String,
}

impl Text {
    /// A text of no language.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            lang: None,
            text: text.into(),
        }
    }
}

/// A category: a value in a category system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyedReference {
    /// The key of the category system.
    pub t_model_key: String,
    /// For people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key_name: String,
    /// The value.
    pub key_value: String,
}

impl KeyedReference {
    /// A value in a category system.
    pub fn new(system: &str, value: impl Into<String>) -> Self {
        Self {
            t_model_key: system.to_owned(),
            key_name: String::new(),
            key_value: value.into(),
        }
    }
}

/// Who offers services.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct BusinessEntity {
    /// Empty: the registry gives it one.
    pub business_key: String,
    /// At least one.
    pub names: Vec<Text>,
    /// For people.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub descriptions: Vec<Text>,
    /// What it offers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<BusinessService>,
    /// Its categories.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<KeyedReference>,
}

/// A service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct BusinessService {
    /// Empty: the registry gives it one.
    pub service_key: String,
    /// Who offers it.
    pub business_key: String,
    /// Its names.
    pub names: Vec<Text>,
    /// For people.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub descriptions: Vec<Text>,
    /// Where it is offered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bindings: Vec<BindingTemplate>,
    /// Its categories; local name and namespace of its port type are among them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<KeyedReference>,
}

/// Where a service is offered, and how it is spoken to: a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct BindingTemplate {
    /// Empty: the registry gives it one.
    pub binding_key: String,
    /// What is offered.
    pub service_key: String,
    /// For people.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub descriptions: Vec<Text>,
    /// The URL that takes calls.
    pub access_point: String,
    /// `useType` of the access point: [`END_POINT`](crate::names::END_POINT) in most cases.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub use_type: String,
    /// What it conforms to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub t_models: Vec<TModelInstance>,
    /// Its categories; its policy and its agreements are among them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<KeyedReference>,
}

/// That a binding conforms to a tModel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TModelInstance {
    /// Which.
    pub t_model_key: String,
    /// For people.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub descriptions: Vec<Text>,
    /// Where it is described.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overview_url: Option<String>,
    /// What else the instance says of itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<String>,
}

/// A concept: a port type, a protocol, a category system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TModel {
    /// Empty: the registry gives it one.
    pub t_model_key: String,
    /// Its name.
    pub name: Text,
    /// For people.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub descriptions: Vec<Text>,
    /// Where it is described.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overview_urls: Vec<String>,
    /// Its categories.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<KeyedReference>,
}

/// The first value in a category system.
pub(crate) fn category<'c>(categories: &'c [KeyedReference], system: &str) -> Option<&'c str> {
    let mut found = categories.iter().filter(|it| it.t_model_key == system);
    found.next().map(|it| it.key_value.as_str())
}
