//! Several requests for assertions in one message (WS-Trust 1.4, 4.2): all of them are granted, or
//! none is.
//!
//! The one rule: each assertion is judged by the rules that it was asked for with. An answer finds
//! its request by `@Context`, and never by its place.

use jiff::Timestamp;
use soapstone_wss::IssuedAssertion;
use soapstone_xml::Element;

use super::error::TrustError;
use super::rules::MOST_TOKENS;
use super::token::{PendingToken, TokenRules, answers_in};
use super::{TrustRequest, all_answers};
use crate::message::Writer;
use crate::version::{Action, Operation, TrustVersion};

/// Requests for several assertions that are under way in one message.
#[derive(Debug)]
pub struct PendingTokens {
    pending: Vec<PendingToken>,
}

impl PendingTokens {
    /// Asks for an assertion by each of these rules, for ourselves.
    ///
    /// # Errors
    /// [`TrustError::BatchSize`]: they are fewer than two or more than [`MOST_TOKENS`].
    /// [`TrustError::Version`]: one of them speaks February 2005, which has no batches.
    pub fn issue(rules: &[TokenRules], now: Timestamp) -> Result<(Self, TrustRequest), TrustError> {
        if !(2..=MOST_TOKENS).contains(&rules.len()) {
            return Err(TrustError::BatchSize { found: rules.len() });
        }
        if let Some(other) = rules.iter().find(|it| it.version != TrustVersion::V13) {
            return Err(TrustError::Version {
                found: other.version,
            });
        }
        let asked = rules
            .iter()
            .map(|one| PendingToken::issue_in_batch(one, now));
        let (pending, requests): (Vec<_>, Vec<_>) = asked.unzip();
        let mut body = Vec::with_capacity(4096);
        let name = "wst:RequestSecurityTokenCollection";
        let namespace = Some(TrustVersion::V13.namespace());
        Writer::new(&mut body).message(name, namespace, None, |writer| {
            for request in &requests {
                writer.out().extend_from_slice(&request.body);
            }
        });
        let action = Action {
            version: TrustVersion::V13,
            operation: Operation::Issue,
            context: false,
            batch: true,
        };
        let request = TrustRequest {
            action: action.request_uri(),
            body,
            confidential: requests.iter().any(|one| one.confidential),
        };
        Ok((Self { pending }, request))
    }

    /// Takes the assertions out of the answer in `body`, the `soap:Body` of a verified message, in
    /// the order of `rules`, which are those of the requests.
    ///
    /// # Errors
    /// [`TrustError`]: one of them is not granted, or is something else than what was asked for.
    /// None is taken then.
    pub fn accept(
        self,
        rules: &[TokenRules],
        body: Element<'_>,
        now: Timestamp,
    ) -> Result<Vec<IssuedAssertion>, TrustError> {
        let answers = all_answers(body, TrustVersion::V13)?;
        let found = answers.len();
        if found != self.pending.len() || rules.len() != found {
            return Err(TrustError::AnswerCount { found });
        }
        let elements = answers_in(body)?;
        let mut granted = Vec::with_capacity(found);
        for (pending, rules) in self.pending.into_iter().zip(rules) {
            let mut both = answers.iter().zip(&elements);
            let is_its = |answer: Option<&String>| answer == Some(&pending.context);
            let answer = both.find(|(answer, _)| is_its(answer.context.as_ref()));
            let (answer, element) = answer.ok_or(TrustError::AnotherRequestAnswered {
                found: answers.first().and_then(|first| first.context.clone()),
            })?;
            granted.push(pending.take(rules, (answer, *element), now)?);
        }
        Ok(granted)
    }
}
