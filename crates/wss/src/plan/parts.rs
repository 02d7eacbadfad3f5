//! Which parts can be protected in which way, and with which key.

use super::PlanProblem;
use crate::attachments::AttachmentProtection;
use crate::part::{Extent, Part};
use crate::policy::Policy;

/// Why the tokens of endorsing signatures are not among the parts.
const TOKEN_OF_ENDORSEMENT: &str =
    "is signed and encrypted where what is said of the endorsing signature wants it";

impl Policy {
    /// Protection of attachments that no key gives.
    pub(super) fn wrong_attachments(&self) -> impl Iterator<Item = PlanProblem> {
        let said = self.parts.attachments;
        let is_wanted = |said| matches!(said, AttachmentProtection::Of(_));
        let encrypts = is_wanted(said.encrypted);
        let refused = self.attachments().refused.filter(|_| encrypts);
        let without_key = "no key of the message does that";
        let problems = [
            (is_wanted(said.signed) && !self.signs_attachments()).then_some(without_key),
            (encrypts && self.encryption().is_none()).then_some(without_key),
            refused,
        ];
        let problems = problems.into_iter().flatten();
        problems.map(|problem| PlanProblem::Attachments { problem })
    }

    /// Parts that cannot be treated as is wanted.
    pub(super) fn wrong_parts(&self) -> Vec<PlanProblem> {
        let is_there = |part: &Part| match part {
            Part::Timestamp => self
                .header
                .timestamp
                .is_some_and(|timestamp| timestamp.sent),
            Part::UsernameToken => self.username().is_some(),
            Part::Assertion => self.assertion().is_some(),
            Part::Signature => self.signature().is_some(),
            _ => true,
        };
        let own = |part: &Part| match part {
            Part::Body | Part::Header { .. } | Part::Id(_) | Part::Path(_) => None,
            _ => Some("is not for an endorsing signature to cover in particular"),
        };
        let signed = |part: &Part| match part {
            Part::Signature => Some("cannot sign itself"),
            Part::EndorsingToken => Some(TOKEN_OF_ENDORSEMENT),
            part if !is_there(part) => Some("is to be signed, and the policy has none"),
            _ => None,
        };
        let encrypted = |part: &Part, extent| match (part, extent) {
            (Part::Body, Extent::Element) => {
                Some("must stay an element of the envelope: encrypt its content")
            }
            (Part::Timestamp, _) => Some("must stay readable"),
            (Part::Token, _) => Some("names the key that opens the message: it must stay readable"),
            (Part::EndorsingToken, _) => Some(TOKEN_OF_ENDORSEMENT),
            (Part::Signature | Part::UsernameToken | Part::Assertion, Extent::Content) => {
                Some("is encrypted as a whole")
            }
            (part, _) if !is_there(part) => Some("is to be encrypted, and the policy has none"),
            _ => None,
        };
        let keyless = |unprotected: bool| unprotected.then_some("is protected with no key");
        let (signs, encrypts) = (self.binding.signs(), self.binding.encrypts());
        let signature = self.signature();
        let mut wrong: Vec<(&Part, &'static str)> = Vec::new();
        for part in self.endorsing().flat_map(|token| &token.parts) {
            wrong.extend(own(part).map(|problem| (part, problem)));
        }
        let by_message = signature
            .iter()
            .flat_map(|signature| signature.parts.iter());
        wrong.extend(by_message.filter_map(|part| Some((part, signed(part)?))));
        for part in &self.parts.signed {
            wrong.extend(keyless(!signs).map(|problem| (part, problem)));
        }
        for part in &self.parts.unsigned {
            let is_block = matches!(part, Part::Header { .. });
            let problem = match (is_block, self.parts.signed.contains(part)) {
                (false, _) => Some("is no header block, and only these are passed on unsigned"),
                (true, true) => Some("is to be signed, and to be passed on unsigned"),
                (true, false) => None,
            };
            wrong.extend(problem.map(|problem| (part, problem)));
        }
        for wanted in &self.parts.encrypted {
            let problem = keyless(!encrypts).or_else(|| encrypted(&wanted.part, wanted.extent));
            wrong.extend(problem.map(|problem| (&wanted.part, problem)));
        }
        let problem = |(part, problem): (&Part, _)| {
            let part = part.clone();
            PlanProblem::Part { part, problem }
        };
        wrong.into_iter().map(problem).collect()
    }
}
