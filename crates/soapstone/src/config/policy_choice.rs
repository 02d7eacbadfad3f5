//! What a WSDL leaves open, and what of a policy is left out.
//!
//! The rule kept here: a demand of WS-SecurityPolicy is never left out.

use soapstone_policy::Name;

use super::problem::Located;
use super::quoting::OTHER_TEXT;
use super::table::{FlagOrStrings, Table};

/// `policy_may_be_empty`: which operations of a policy may be without protection.
#[derive(Clone, Debug, Default)]
pub enum MayBeEmpty {
    /// None.
    #[default]
    Nothing,
    /// All of them, and the policy as a whole.
    Everything,
    /// The operations of these names.
    Operations(Vec<Located<String>>),
}

/// `policy_subject = { … }`, `sha256_suites`, `same_endorser`, `policy_may_be_empty` and
/// `ignore_assertions`: what a WSDL leaves open.
#[derive(Clone, Debug, Default)]
pub struct PolicyChoice {
    /// The service that is meant.
    pub service: Option<String>,
    /// The port that is meant.
    pub port: Option<String>,
    /// The operation that is meant.
    pub operation: Option<String>,
    /// Signatures of the `…Sha256` suites use SHA-256 too.
    pub sha256_signatures: bool,
    /// One key may make several of the endorsing signatures.
    pub same_endorser: bool,
    /// What may be without protection.
    pub may_be_empty: MayBeEmpty,
    /// Assertions of other languages that are left out, by namespace and local name.
    pub ignored: Vec<Located<(String, String)>>,
}

/// What to do about a key that changes nothing under a preset.
pub(super) const WITHOUT_POLICY: &str =
    "leave it out, or name a policy = \"service.wsdl\" in the place of the mechanism";

pub(super) fn read_policy_choice(table: &mut Table<'_>) -> PolicyChoice {
    let sha256_signatures = table
        .choice("sha256_suites", &[("letter", false), ("sha256", true)])
        .is_some_and(|choice| choice.value);
    let same_endorser = table
        .boolean("same_endorser")
        .is_some_and(|same| same.value);
    let example = "[\"Ping\"]";
    let may_be_empty = match table.flag_or_strings("policy_may_be_empty", example) {
        None => MayBeEmpty::Nothing,
        Some(given) => match given.value {
            FlagOrStrings::Flag(false) => MayBeEmpty::Nothing,
            FlagOrStrings::Flag(true) => MayBeEmpty::Everything,
            FlagOrStrings::Strings(names) => MayBeEmpty::Operations(names),
        },
    };
    let mut choice = PolicyChoice {
        sha256_signatures,
        same_endorser,
        may_be_empty,
        ignored: read_ignored_assertions(table),
        ..PolicyChoice::default()
    };
    if let Some(mut subject) = table.table("policy_subject") {
        let mut name = |key| subject.string(key).map(|name| name.value);
        choice.service = name("service");
        choice.port = name("port");
        choice.operation = name("operation");
        subject.finish();
    }
    choice
}

/// `ignore_assertions`: assertions of other languages that are left out of a policy.
fn read_ignored_assertions(table: &mut Table<'_>) -> Vec<Located<(String, String)>> {
    const KEY: &str = "ignore_assertions";
    let names = table.strings(KEY).unwrap_or_default();
    let mut ignored = Vec::with_capacity(names.len());
    for name in names {
        let Some((namespace, local)) = expanded(&name.value) else {
            table.report_with_hint(
                name.place,
                format!("`{KEY}` must name assertions, found {OTHER_TEXT}"),
                "an assertion is {namespace}local",
            );
            continue;
        };
        let name_of_policies = Name {
            namespace: namespace.as_str().into(),
            local: local.as_str().into(),
        };
        let is_security = name_of_policies.security_version().is_some();
        if is_security || name_of_policies.policy_version().is_some() {
            table.report_with_hint(
                name.place,
                format!("`{KEY}` names an assertion of WS-SecurityPolicy or WS-Policy, which is never ignored"),
                "it is for assertions of other languages",
            );
            continue;
        }
        ignored.push(Located {
            value: (namespace, local),
            place: name.place,
        });
    }
    ignored
}

/// A name written as `{namespace}local`.
pub(super) fn expanded(text: &str) -> Option<(String, String)> {
    text.strip_prefix('{')
        .and_then(|rest| rest.rsplit_once('}'))
        .filter(|(_, local)| !local.is_empty())
        .map(|(namespace, local)| (namespace.to_owned(), local.to_owned()))
}
