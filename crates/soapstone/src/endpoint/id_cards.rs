//! ID cards of DGWS in the place of assertions as SAML has them (`saml.id_cards`).
//!
//! The one rule: all cards have one id, and no key of their holder. What asks for either is refused
//! when the file is loaded.

use soapstone_wss::{AssertionToken, ConfirmationMethod, Policy};

use super::compiler::Compiler;
use crate::config::{LoadedFile, SamlConfig};

impl Compiler<'_> {
    /// Whether the assertions of requests with this policy are ID cards. What the file says beside
    /// and no card has is reported.
    pub(super) fn id_cards(&mut self, config: &SamlConfig, policy: &Policy) -> bool {
        let Some(cards) = config.id_cards.as_ref().filter(|it| it.value) else {
            return false;
        };
        if config.confirmation != [ConfirmationMethod::Bearer] {
            self.report_with_hint(
                cards.place,
                "`id_cards` is given, and whoever has an ID card is its subject",
                "say so: confirmation = [\"bearer\"]",
            );
        }
        let converses = policy.uses_context() || self.config.security.conversations.is_some();
        for (key, is_given) in [
            ("once", config.once),
            ("refuse_cancelled", config.refuse_cancelled.is_some()),
            ("by_reference", config.by_reference.is_some()),
            ("send_by_reference", config.send_by_reference.is_some()),
            ("holder_key", config.symmetric.is_some()),
            ("token_service", self.config.token_service.is_some()),
            ("conversations", converses),
        ] {
            if is_given {
                let message = format!(
                    "`{key}` is given beside `id_cards`, and all ID cards have one id and no key of their holder"
                );
                self.report_with_hint(cards.place, message, "leave it out");
            }
        }
        true
    }

    /// Reports an assertion to send that is a card where none is meant, or none where a card is.
    pub(super) fn check_form_of(
        &mut self,
        token: &AssertionToken,
        config: &SamlConfig,
        file: &LoadedFile,
    ) {
        let wants_card = config.id_cards.as_ref().is_some_and(|it| it.value);
        let (found, hint) = match (wants_card, token.is_id_card()) {
            (true, false) => (
                "expected an ID card of DGWS, found another assertion",
                "leave `id_cards` out",
            ),
            (false, true) => (
                "expected an assertion, found an ID card of DGWS",
                "say that it is one: id_cards = true",
            ),
            _ => return,
        };
        let message = format!("`{}`: {found}", file.path.display());
        self.report_with_hint(file.place, message, hint);
    }
}
