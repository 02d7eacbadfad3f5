//! The user and the password of HTTP that a policy demands of requests (RFC 7617).
//!
//! The one rule: they leave over TLS alone.

use soapstone_crypto::base64;
use soapstone_policy::ExchangePolicy;

use super::compiler::Compiler;
use super::role::Role;
use crate::config::{Confidential, Place};

/// What requests carry.
#[derive(Debug)]
pub(super) struct HttpBasic {
    /// The value of `Authorization`; none where clients send it themselves.
    authorization: Option<Confidential<String>>,
}

impl HttpBasic {
    /// The value of `Authorization`, if the file names the user.
    pub(super) fn authorization(&self) -> Option<&str> {
        let authorization = self.authorization.as_ref()?;
        Some(authorization.expose().as_str())
    }
}

impl Compiler<'_> {
    /// The user of HTTP that policies demand of requests.
    pub(super) fn http_basic(
        &mut self,
        exchanges: &[ExchangePolicy],
        place: Place,
        role: Role,
    ) -> Option<HttpBasic> {
        let conversations = || exchanges.iter().filter_map(|it| it.conversation.as_ref());
        let bootstraps = conversations().filter_map(|it| it.bootstrap.as_deref());
        let all = exchanges.iter().chain(bootstraps);
        let mut demands = all.filter_map(|it| it.http_basic.as_ref());
        let (assertion, there) = demands.next()?;
        if !matches!(role, Role::Client | Role::Secure) {
            self.report_with_hint(
                place,
                format!(
                    "`{assertion}` demands a user of HTTP of requests, which is not checked here (at {there})"
                ),
                "have a proxy in front check it, and take the assertion out of the policy",
            );
            return None;
        }
        let config = self.config;
        let Some(user) = config.users.first() else {
            // Clients send none with messages that are our own.
            if conversations().next().is_some() {
                self.report_with_hint(
                    place,
                    format!("`{assertion}` demands a user of HTTP, also of the messages that begin conversations, which are our own (at {there})"),
                    "name it: users = [{ name = \"…\", password_env = \"…\" }]",
                );
                return None;
            }
            let authorization = None;
            return Some(HttpBasic { authorization });
        };
        // RFC 7617, 2: the first colon ends the name, and there are no control characters.
        let name = user.name.value.as_str();
        let password = user.password.as_ref().map(|it| it.value.expose().as_str());
        let password = password.unwrap_or_default();
        if name.contains(':') || name.chars().chain(password.chars()).any(char::is_control) {
            self.report_with_hint(
                user.name.place,
                "HTTP has no user with this name or password: a colon is in the name, or a control character in either",
                "name another user",
            );
            return None;
        }
        let pair = Confidential::new(format!("{name}:{password}"));
        let mut value = b"Basic ".to_vec();
        base64::encode_into(pair.expose().as_bytes(), &mut value);
        let value = String::from_utf8(value).unwrap_or_default();
        let authorization = Some(Confidential::new(value));
        Some(HttpBasic { authorization })
    }
}
