//! Answers that are protected otherwise than requests (`[answers]`): their policy, and what they
//! prove less.
//!
//! The rule kept here: what a file says of answers changes no demand on requests, and nothing of
//! the messages by which conversations begin.

use soapstone_wss::{Layout, Mechanism, Part, Policy, TimestampPolicy};

use super::compiler::Compiler;
use super::exchange_policy::Exchange;
use super::role::Role;
use crate::config::{AnswerProtection, UnsecuredFaults};

/// What answers prove less than requests.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Answers {
    /// Requests are signed, or encrypted, and answers are not, because the file says so.
    pub(super) prove_less: bool,
    pub(super) faults: UnsecuredFaults,
    /// Neither is accepted or sent without TLS.
    pub(super) need_tls: bool,
}

impl Compiler<'_> {
    /// The policy of answers to requests under a preset.
    pub(super) fn answer_policy(
        &mut self,
        request: &Policy,
        mechanism: Mechanism,
        has_certificate: bool,
        role: Role,
    ) -> Option<Policy> {
        let answers = self.config.answers.as_ref();
        let Some(answers) = answers.filter(|answers| answers.changes_protection()) else {
            return Some(self.response(request, has_certificate, role));
        };
        let protection = answers.protection.as_ref().map(|given| given.value);
        let mechanism = match protection {
            None => mechanism,
            Some(AnswerProtection::Mechanism(mechanism)) => mechanism,
            Some(AnswerProtection::Plain | AnswerProtection::Timestamp) => Mechanism::None,
        };
        let mut config = self.config.clone();
        config.security = answers.instead_of(&self.config.security, mechanism);
        self.instead_with(&config, |compiler| {
            let suite = compiler.suite()?;
            match protection {
                Some(AnswerProtection::Plain | AnswerProtection::Timestamp) => {
                    let mut policy = mechanism.policy(suite);
                    if protection == Some(AnswerProtection::Timestamp) {
                        policy.header.timestamp = Some(compiler.optional_timestamp());
                    }
                    compiler.settle(&mut policy);
                    Some(policy)
                }
                _ => {
                    let own = compiler.policy(mechanism, suite);
                    Some(compiler.answering(request, own, has_certificate, role))
                }
            }
        })
    }

    /// A Timestamp that is written, and that a message which arrives may lack.
    fn optional_timestamp(&self) -> TimestampPolicy {
        let default = TimestampPolicy::default();
        let timestamp = self.config.security.timestamp.as_ref();
        let given = timestamp.map(|timestamp| &timestamp.value);
        TimestampPolicy {
            required: false,
            sent: true,
            ttl: given.and_then(|given| given.ttl).unwrap_or(default.ttl),
            skew: given.and_then(|given| given.skew).unwrap_or(default.skew),
        }
    }

    /// A policy file's policy of answers, with what the endpoint file says of their Timestamp:
    /// `sp:IncludeTimestamp` is of the binding, so of requests and answers alike.
    pub(super) fn with_timestamp_of_answers(&mut self, mut policy: Policy, role: Role) -> Policy {
        let answers = self.config.answers.as_ref();
        let Some(given) = answers.and_then(|answers| answers.timestamp.as_ref()) else {
            return policy;
        };
        let place = given.place;
        let default = policy.header.timestamp.unwrap_or_default();
        let wanted = TimestampPolicy {
            required: given.value.wanted,
            sent: true,
            ttl: given.value.ttl.unwrap_or(default.ttl),
            skew: given.value.skew.unwrap_or(default.skew),
        };
        if wanted.required {
            policy.header.timestamp = Some(wanted);
            return policy;
        }
        let is_timestamp = |part: &Part| *part == Part::Timestamp;
        if policy.is_by_connection() && policy.endorsing().next().is_some() {
            self.report_with_hint(
                place,
                "answers have no Timestamp by `timestamp = false`, and the policy has it signed",
                "leave it out: over TLS the Timestamp is what an endorsing signature covers",
            );
        }
        if policy.header.layout.places_timestamp() {
            policy.header.layout = Layout::Lax;
        }
        // One that comes all the same has to be good, and signed where the policy signs it.
        policy.header.timestamp = match role {
            Role::Client | Role::Open => Some(wanted),
            Role::Service | Role::Secure => None,
        };
        if policy.header.timestamp.is_none() {
            policy.parts.signed.retain(|part| !is_timestamp(part));
            policy
                .parts
                .encrypted
                .retain(|one| !is_timestamp(&one.part));
        }
        policy
    }

    /// What answers prove less than requests, as the file says.
    pub(super) fn answers(&self, exchanges: &[Exchange]) -> Answers {
        let Some(config) = &self.config.answers else {
            return Answers::default();
        };
        let proves_less = |exchange: &Exchange| {
            let (request, response) = (&exchange.request, &exchange.response);
            request.signature().is_some() && response.signature().is_none()
                || request.encryption().is_some() && response.encryption().is_none()
        };
        let faults = config.unsecured_faults.as_ref();
        let faults = faults.map_or_else(UnsecuredFaults::default, |given| given.value);
        let prove_less = config.changes_protection() && exchanges.iter().any(proves_less);
        // Where nothing protects answers anyway, their faults prove as much.
        let protects = |exchange: &Exchange| exchange.response.has_security();
        let tells_unproven = faults != UnsecuredFaults::Code && exchanges.iter().any(protects);
        let without_tls = config.without_tls.as_ref();
        let accepted = without_tls.is_some_and(|accepted| accepted.value);
        Answers {
            prove_less,
            faults,
            need_tls: (prove_less || tells_unproven) && !accepted,
        }
    }
}
