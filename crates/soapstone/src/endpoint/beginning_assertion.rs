//! Assertions that begin conversations: what must hold of them when an endpoint is loaded.
//!
//! The rule kept here: what could begin no conversation is told when the file is read, and not to
//! each client.

use soapstone_wss::{AssertionProtection, ConfirmationMethod, HolderUse, KeyBinding, Policy};

use super::compiler::Compiler;

impl Compiler<'_> {
    /// Reports an assertion that could begin no conversation.
    pub(super) fn check_beginning_assertion(&mut self, bootstrap: &Policy) {
        let security = &self.config.security;
        let place = security.source.place;
        let Some(wanted) = bootstrap.assertion().cloned() else {
            let conversations = security.conversations.as_ref();
            let named = conversations.and_then(|config| config.bootstrap.as_ref());
            if let Some(named) = named.filter(|_| bootstrap.demands_nothing()) {
                self.report_with_hint(
                    named.place,
                    "`bootstrap = \"none\"` is given, and nothing says who begins a conversation",
                    "say whose assertions do: saml = { … }, or name another bootstrap",
                );
            }
            return;
        };
        let Some(config) = &self.config.saml else {
            return;
        };
        let by_connection = wanted.protection == AssertionProtection::Connection;
        let held = wanted.accepts(ConfirmationMethod::HolderOfKey);
        let signs = bootstrap.signs_with() == Some(KeyBinding::Certificate);
        let problems = [
            (
                config.from_request,
                "a request for a security context has no assertion of a user: `from_request` is for single messages",
                "name a file: assertion = \"assertion.xml\"",
            ),
            (
                config.forward,
                "`forward` passes on the assertion of each message, and a conversation has one at its beginning alone",
                "leave it out",
            ),
            (
                config.by_reference.is_some(),
                "assertions that begin conversations are in the message: `by_reference` is for single messages",
                "leave it out",
            ),
            (
                config.send_by_reference.is_some(),
                "assertions that begin conversations are in the message: `send_by_reference` is for single messages",
                "leave it out",
            ),
            (
                self.config
                    .token_service
                    .as_ref()
                    .is_some_and(|service| service.user.is_some()),
                "a conversation is that of all requests, and `user` asks the token service for each user",
                "leave `user` out",
            ),
            (
                bootstrap.username().is_some(),
                "a user stands beside the assertion that begins conversations: one party begins one",
                "take a bootstrap without a user",
            ),
            (
                wanted.accepts(ConfirmationMethod::Bearer) && !by_connection,
                "whoever receives a bearer's assertion could begin conversations with it: it takes a connection that protects it",
                "protection = \"tls\", and bootstrap = \"none\"",
            ),
            (
                wanted.accepts(ConfirmationMethod::SenderVouches) && by_connection,
                "who vouches for the subject that begins conversations signs the message",
                "protection = \"signature\", and bootstrap = \"sign-encrypt\"",
            ),
            (
                wanted.accepts(ConfirmationMethod::Bearer) && by_connection && signs,
                "a certificate stands beside the bearer's assertion that begins conversations: one party begins one",
                "take a bootstrap that nobody signs: bootstrap = \"none\"",
            ),
            (
                held && wanted.holder == HolderUse::Endorses && !bootstrap.is_by_connection(),
                "the holder of the assertion that begins conversations endorses a message that another key signs",
                "let the holder's key sign the message itself, or protect it by TLS",
            ),
            (
                held && wanted.holder == HolderUse::Beside && signs,
                "the holder of the assertion that begins conversations signs by a certificate beside it",
                "let the signature name the assertion, or leave \"holder-of-key\" out of `confirmation`",
            ),
        ];
        for (is_wrong, problem, hint) in problems {
            if is_wrong {
                self.report_with_hint(place, problem, hint);
            }
        }
    }
}
