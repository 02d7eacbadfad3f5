//! The end of an assertion before its time (WS-Trust 1.4, 6).
//!
//! An assertion holds by its issuer's signature, wherever it is. To cancel it is to remember its id
//! until it ends: this service validates, renews and delegates it no more, and so does whoever asks
//! the same store.
//!
//! The one rule: its subject cancels it, or the holder of the key that it names. Who acts for the
//! subject is neither. What anybody else asks for is refused as a token is that nobody believes.

use soapstone_wss::{Assertion, ConfirmationMethod};

use super::asked::AssertionRequest;
use super::rules::Party;
use crate::fault::Refusal;
use crate::message::{RequestSecurityTokenResponse, later};
use crate::service::{Effect, Issued, Outcome};
use crate::version::Operation;

impl AssertionRequest<'_> {
    /// Cancels an assertion that was issued here. One that was cancelled before stays cancelled.
    pub(super) fn cancel(&self) -> Result<Outcome, Refusal> {
        let requester = self.party()?;
        self.asks_for_nothing_new()?;
        if self.request.entropy.is_some() {
            return Err(self.not_understood("Entropy"));
        }
        if !self.rules.cancellable {
            return Err(Refusal::OperationNotOffered {
                operation: Operation::Cancel,
            });
        }
        let assertion = self.signed(self.target_element(Operation::Cancel)?)?;
        if !self.may_cancel(&assertion, &requester) {
            return Err(Refusal::CancelNotAllowed {
                requester: requester.name().to_owned(),
            });
        }
        let mut answer = RequestSecurityTokenResponse::new(self.request.version);
        answer.context.clone_from(&self.request.context);
        answer.cancelled = true;
        // Clocks of services may be behind.
        let until = later(
            assertion.expires(&self.rules.policy),
            self.service.rules.skew,
        );
        let subject = &assertion.subject;
        let is_bearers = assertion
            .methods()
            .any(|method| method == ConfirmationMethod::Bearer);
        let issued = Issued {
            what: "cancelled",
            id: assertion.id.clone(),
            is_bearers,
            subject: subject.value.clone(),
            domain: subject.other_domain(&assertion.issuer).map(str::to_owned),
            requester: requester.name().to_owned(),
            audience: assertion.audiences().next().unwrap_or_default().to_owned(),
        };
        Ok(Outcome {
            effect: Some(Effect::CancelAssertion {
                issuer: assertion.issuer,
                id: assertion.id,
                until,
                requester: requester.share(),
            }),
            issued: Some(issued),
            ..Outcome::of(answer)
        })
    }

    /// Whether an assertion is one of ours whose subject asks, or the holder of its key by a
    /// signature.
    fn may_cancel(&self, assertion: &Assertion, requester: &Party) -> bool {
        if !self.rules.issued(assertion) {
            return false;
        }
        let subject = Party::own_subject(&assertion.subject);
        let is_subject = !self.is_actor() && subject.is_some_and(|subject| subject.is(requester));
        let mut signers = self.requester.signers.iter();
        is_subject
            || signers.any(|signer| {
                assertion
                    .holder_keys()
                    .any(|key| key == signer.public_key())
            })
    }

    /// Whether an assertion of ours was cancelled. Nothing is known of those of others.
    pub(super) fn is_cancelled(&self, assertion: &Assertion) -> Result<bool, Refusal> {
        if !self.rules.cancellable || assertion.issuer != self.rules.issuer {
            return Ok(false);
        }
        let cancelled = (self.records.cancelled)(&assertion.issuer, &assertion.id);
        cancelled.map_err(|error| Refusal::CancellationsUnavailable {
            problem: error.problem,
        })
    }
}
