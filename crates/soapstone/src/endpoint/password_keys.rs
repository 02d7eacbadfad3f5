//! Keys from passwords, compared with the users of an endpoint.
//!
//! The rule kept here: the name of a user is no part of the key (UsernameToken Profile 1.1.1, 4).
//! Where no signature covers the name, no two users have one password.

use std::collections::HashMap;

use soapstone_wss::{EndorsingKey, EndorsingToken, KeyBinding, Part, Policy};

use super::compiler::Compiler;
use super::exchange_policy::EndpointPolicies;
use crate::config::SecuritySource;

impl Compiler<'_> {
    /// Reports users that no key can be derived for, or whose messages could be taken for those of
    /// others.
    pub(super) fn check_password_keys(&mut self, agreed: &EndpointPolicies) {
        let bootstrap = agreed.bootstrap.iter();
        let bootstrap = bootstrap.flat_map(|one| [&one.request, &one.response]);
        let exchanges = agreed.exchanges.iter();
        let exchanges = exchanges.flat_map(|one| [&one.request, &one.response]);
        let policies = bootstrap.chain(exchanges);
        let policies = policies.filter(|policy| policy.password_keys().is_some());
        let policies: Vec<&Policy> = policies.collect();
        let config = self.config;
        let security = &config.security;
        if policies.is_empty() {
            let by_policy = matches!(security.source.value, SecuritySource::Policy(_));
            if let (Some(keys), true) = (&security.password_keys, by_policy) {
                self.report_with_hint(
                    keys.place,
                    "`password_keys` is given, and the policy derives no keys from passwords",
                    "leave it out",
                );
            }
            return;
        }
        if config.users.is_empty() && !config.has("users") {
            self.report_with_hint(
                security.source.place,
                "a user with a password is needed to derive keys",
                "say who we are, or whom we know: users = [{ name = \"…\", password_env = \"…\" }]",
            );
        }
        let names_only = policies.iter().any(|policy| leaves_name_unsigned(policy));
        let mut known = HashMap::new();
        for user in &config.users {
            let Some(password) = &user.password else {
                self.report_with_hint(
                    user.place,
                    "`password` is missing in [users]",
                    "give password_env, password_file or password",
                );
                continue;
            };
            let other = known.insert(password.value.expose(), &user.name.value);
            if let (Some(other), true) = (other, names_only) {
                let name = &user.name.value;
                self.report_with_hint(
                    user.place,
                    format!(
                        "the users {other} and {name} have one password, and no signature covers the token that names the user"
                    ),
                    "give them different passwords, or sign the Token",
                );
            }
        }
    }
}

/// Whether somebody on the way may write another name into the token of a message.
fn leaves_name_unsigned(policy: &Policy) -> bool {
    if policy.is_by_connection() {
        return false;
    }
    let protects = policy.uses(KeyBinding::Password) && !policy.signs(&Part::Token);
    let is_unsigned = |token: &EndorsingToken| {
        matches!(token.key, EndorsingKey::Password { .. }) && !token.signed && !token.covers_token
    };
    protects || policy.endorsing().any(is_unsigned)
}
