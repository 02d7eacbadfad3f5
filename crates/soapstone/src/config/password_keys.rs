//! `password_keys = { … }`: keys that are derived from the passwords of users.
//!
//! The one rule: every number has its bounds here. Whether there is anything to derive keys for is
//! for the compiler of plans to say.

use soapstone_wss::{DerivedKeyForm, PasswordKeyPolicy};

use super::problem::{Located, Place};
use super::table::Table;

/// `password_keys = { … }`.
#[derive(Clone, Debug)]
pub struct PasswordKeysConfig {
    /// Where the table begins.
    pub place: Place,
    /// How often SHA-1 is applied.
    pub iterations: PasswordKeyPolicy,
    /// How the keys that sign and encrypt are derived further; the inner `None`: not at all.
    pub derived: Option<Located<Option<DerivedKeyForm>>>,
}

/// Reads the table to its end.
pub(super) fn read_password_keys(mut table: Table<'_>) -> PasswordKeysConfig {
    let place = table.place();
    let maximum = u64::from(PasswordKeyPolicy::MAXIMUM_ITERATIONS);
    let mut number = |key, otherwise| {
        let given = table.integer(key, 1, maximum);
        let value = given.and_then(|given| u32::try_from(given.value).ok());
        value.unwrap_or(otherwise)
    };
    let default = PasswordKeyPolicy::default();
    let least = number("least", default.least);
    let most = number("most", default.most.max(least));
    let iterations = number("iterations", default.iterations.max(least).min(most));
    if least > most {
        table.report_with_hint(
            table.place_of("most").unwrap_or(place),
            "`most` is less than `least`: no message would be accepted",
            "leave both out for 1000 to 10000",
        );
    }
    let derived = table.choice(
        "derived",
        &[
            ("explicit", Some(DerivedKeyForm::Explicit)),
            ("implied", Some(DerivedKeyForm::Implied)),
            ("none", None),
        ],
    );
    table.finish();
    PasswordKeysConfig {
        place,
        iterations: PasswordKeyPolicy {
            least,
            most,
            iterations,
        },
        derived,
    }
}
