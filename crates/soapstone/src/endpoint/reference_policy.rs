//! From `by_reference` of the `[saml]` table to what fetches the assertions that messages name.
//!
//! The rule kept here: what could not be proven of an assertion that the message does not carry is
//! refused by name, together with `by_reference`.

use std::sync::Arc;

use soapstone_wss::{AssertionProtection, ConfirmationMethod, Keys, Policy};

use super::compiler::Compiler;
use super::exchange_policy::Exchange;
use super::references::References;
use super::role::Role;

impl Compiler<'_> {
    /// What has the assertions that messages only name, where the file lets them.
    pub(super) fn references(
        &mut self,
        exchanges: &[Exchange],
        keys: &Keys,
        role: Role,
    ) -> Option<Arc<References>> {
        let config = self.config.saml.as_ref()?;
        let wanted = config.by_reference.as_ref()?;
        let policies = || exchanges.iter().map(|exchange| &exchange.request);
        let accepted = || policies().filter_map(Policy::assertion);
        let mut policy = accepted().next()?.clone();
        // Which operation a reference is for is known when its message is judged.
        for version in accepted().flat_map(|policy| &policy.versions) {
            if !policy.versions.contains(version) {
                policy.versions.push(*version);
            }
        }
        let by_signature = accepted().any(|policy| {
            policy.protection == AssertionProtection::Signature
                && policy.methods != [ConfirmationMethod::HolderOfKey]
        });
        let by_bearer =
            accepted().any(|policy| policy.methods.contains(&ConfirmationMethod::Bearer));
        let by_proof = exchanges
            .iter()
            .any(|exchange| exchange.request.uses_proof_key());
        let problems = [
            (
                role != Role::Service,
                "`by_reference` is for services that a gateway serves: nothing else asks authorities",
            ),
            (
                by_signature,
                "a signature over a reference covers nothing of its assertion: `by_reference` wants holder-of-key alone, or protection = \"tls\"",
            ),
            (
                config.encrypted || by_proof,
                "`by_reference` fetches assertions in the clear, with public keys: `encrypted` and a symmetric `holder_key` are for those that messages carry",
            ),
            (
                by_bearer && !wanted.allow_bearer,
                "whoever knows the id of a bearer's assertion would be its subject, and ids are no secrets: `by_reference` wants holder-of-key, or `allow_bearer = true`",
            ),
            (
                wanted.allow_bearer && !by_bearer,
                "`allow_bearer` is for bearers, and `confirmation` does not name them",
            ),
            (
                config.forward,
                "`forward` passes on the assertion that a message carries, and `by_reference` accepts messages without one",
            ),
        ];
        let mut is_wrong = false;
        for (_, problem) in problems.into_iter().filter(|(is_there, _)| *is_there) {
            self.report_with_hint(wanted.place, problem, "leave one of them out");
            is_wrong = true;
        }
        (!is_wrong).then(|| {
            let issuers = Arc::clone(&keys.issuers);
            Arc::new(References::new(wanted, issuers, policy))
        })
    }
}
