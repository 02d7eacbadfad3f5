//! The table of rules: one entry for each rule, by area.
//!
//! The entries say what is looked for; [`look`](crate::look) looks. The rule kept here: an entry
//! tells a person everything: what is demanded, by whom, how strongly, and what to do.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::rule::Rule;

/// Entries of one area. `MUST` is an error and `SHOULD` a warning. `MUST_LIKELY` is a warning, for
/// rules that a message can only make likely to be broken. `REMARK` is for rules without a clause,
/// which no verdict depends on.
macro_rules! rules {
    ($name:ident $profiles:expr, $area:ident;
     $($id:literal $level:tt $looks_at:literal $clause:literal $explanation:literal $remedy:literal;)*) => {
        pub(super) const $name: &[crate::rule::Rule] = &[$(
            crate::rule::Rule {
                id: $id,
                profiles: $profiles,
                level: crate::table::rules!(@level $level),
                severity: crate::table::rules!(@severity $level),
                area: crate::rule::Area::$area,
                looks_at: $looks_at,
                clause: $clause,
                explanation: $explanation,
                remedy: $remedy,
            },
        )*];
    };
    (@level SHOULD) => { crate::rule::Level::Should };
    (@level REMARK) => { crate::rule::Level::Remark };
    (@level $level:tt) => { crate::rule::Level::Must };
    (@severity MUST) => { crate::rule::Severity::Error };
    (@severity $level:tt) => { crate::rule::Severity::Warning };
}
pub(crate) use rules;

mod addressing;
mod as4;
mod basic;
mod description;
mod ebms;
mod encryption;
mod exchange;
mod header;
mod package;
mod policy;
mod references;
mod signatures;
mod tokens;

static ALL: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    [
        header::TIMESTAMPS,
        references::REFERENCES,
        signatures::SIGNATURES,
        encryption::ENCRYPTION,
        tokens::BINARY,
        tokens::USERNAME,
        tokens::X509,
        tokens::REL,
        tokens::KERBEROS,
        tokens::SAML,
        header::HEADER,
        basic::ENVELOPE,
        basic::ENVELOPE11,
        basic::ENVELOPE12,
        addressing::ADDRESSING,
        addressing::ADDRESSING11,
        description::DESCRIPTION,
        addressing::DESCRIPTION,
        addressing::DESCRIPTION12,
        policy::POLICY,
        policy::DIGIKOPPELING,
        ebms::MESSAGING,
        ebms::USER_MESSAGE,
        ebms::SIGNAL_MESSAGE,
        as4::SECURITY,
        as4::EDELIVERY,
        package::PACKAGES,
        package::AS4_PACKAGES,
    ]
    .concat()
});

static BY_ID: LazyLock<HashMap<&'static str, &'static Rule>> =
    LazyLock::new(|| ALL.iter().map(|rule| (rule.id, rule)).collect());

/// All rules, by area.
pub fn rules_table() -> &'static [Rule] {
    &ALL
}

/// The rules about a request and its answer, which no single message can break.
pub fn exchange_rules() -> &'static [Rule] {
    exchange::EXCHANGES
}

/// The rule with this number or name.
pub fn rule(id: &str) -> Option<&'static Rule> {
    BY_ID.get(id).copied()
}

/// Rules of the Basic Security Profile 1.1 that no single message can break or keep, each with the
/// reason why none is looked for.
pub const NOT_LOOKED_FOR: &[(&str, &str)] = &[
    (
        "R3024",
        "whether a token outside of the message has a URI is not in the message",
    ),
    (
        "R3212",
        "which order gives the right result takes the keys to say",
    ),
    ("R3232", "permission alone"),
    ("R3299", "permission alone"),
    ("R4216", "how a key was derived takes the password to say"),
    ("R5414", "about what receivers accept"),
    ("R5415", "about what receivers accept"),
    ("R6903", "about the first of several messages"),
    ("R6904", "about all but the first of several messages"),
];
