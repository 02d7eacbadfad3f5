//! What can be wrong with a policy, whatever the keys: demands that fit no message, or not each
//! other.

use soapstone_crypto::KeyDerivation;

use super::PlanProblem;
use crate::binding::{KeyBinding, KeyReference};
use crate::conversation::{LONGEST_KEY, SHORTEST_KEY};
use crate::part::{Extent, Part};
use crate::policy::{EndorsingPolicy, Policy};
use crate::suite::KeyAgreementMethod;

/// Why the tokens of endorsing signatures are not among the parts.
const TOKEN_OF_ENDORSEMENT: &str =
    "is signed and encrypted where what is said of the endorsing signature wants it";

impl Policy {
    /// Everything that is wrong.
    pub(super) fn check(&self, problems: &mut Vec<PlanProblem>) {
        let suite = &self.suite;
        if self.wraps_key() && suite.key_transport.is_empty() && suite.key_agreement.is_empty() {
            problems.push(PlanProblem::NoAlgorithm {
                purpose: "key transport or key agreement",
            });
        }
        let derived = |one: &KeyAgreementMethod| one.derivation != KeyDerivation::Pbkdf2;
        if !suite.key_agreement.iter().all(derived) {
            problems.push(PlanProblem::Combination {
                problem: "a key that was agreed on is derived with ConcatKDF or HKDF, not as from a password",
            });
        }
        self.check_combinations(problems);
        if self.layout.places_timestamp() && self.has_security() && self.timestamp.is_none() {
            problems.push(PlanProblem::Combination {
                problem: "the layout says where the Timestamp stands, and the policy has none",
            });
        }
        if let Some(signature) = &self.signature {
            if self.suite.digest.is_empty() {
                problems.push(PlanProblem::NoAlgorithm { purpose: "digest" });
            }
            if self.suite.canonicalization.is_empty() {
                problems.push(PlanProblem::NoAlgorithm {
                    purpose: "canonicalization",
                });
            }
            let algorithms = match signature.key {
                KeyBinding::Certificate => &self.suite.signature,
                _ => &self.suite.symmetric_signature,
            };
            if algorithms.is_empty() {
                problems.push(PlanProblem::NoAlgorithm {
                    purpose: "signature",
                });
            }
            for (part, problem) in [
                (Part::Signature, "cannot sign itself"),
                (Part::EndorsingToken, TOKEN_OF_ENDORSEMENT),
            ] {
                if signature.parts.contains(&part) {
                    problems.push(PlanProblem::Part { part, problem });
                }
            }
            for (part, is_there) in [
                (Part::Timestamp, self.timestamp.is_some()),
                (Part::UsernameToken, self.username.is_some()),
            ] {
                if !is_there && signature.parts.contains(&part) {
                    problems.push(PlanProblem::Part {
                        part,
                        problem: "is to be signed, and the policy has none",
                    });
                }
            }
        }
        if let Some(encryption) = &self.encryption {
            if self.suite.data.is_empty() {
                problems.push(PlanProblem::NoAlgorithm {
                    purpose: "data encryption",
                });
            }
            for wanted in &encryption.parts {
                let problem = match (&wanted.part, wanted.extent) {
                    (Part::Body, Extent::Element) => {
                        "must stay an element of the envelope: encrypt its content"
                    }
                    (Part::Timestamp, _) => "must stay readable",
                    (Part::Token, _) => {
                        "names the key that opens the message: it must stay readable"
                    }
                    (Part::Signature, Extent::Content) => "is encrypted as a whole",
                    (Part::Signature, Extent::Element) if self.signature.is_none() => {
                        "is to be encrypted, and the policy has none"
                    }
                    (Part::EndorsingToken, _) => TOKEN_OF_ENDORSEMENT,
                    (Part::UsernameToken, Extent::Content) => "is encrypted as a whole",
                    (Part::UsernameToken, Extent::Element) if self.username.is_none() => {
                        "is to be encrypted, and the policy has none"
                    }
                    _ => continue,
                };
                problems.push(PlanProblem::Part {
                    part: wanted.part.clone(),
                    problem,
                });
            }
        }
    }

    /// Demands that fit no message, or not each other.
    fn check_combinations(&self, problems: &mut Vec<PlanProblem>) {
        let signature = self.signature.as_ref().map(|signature| signature.key);
        let encryption = self.encryption.as_ref().map(|encryption| encryption.key);
        let one_key = |key: KeyBinding| {
            let other = |found: Option<KeyBinding>| found.is_some_and(|found| found != key);
            !self.uses(key) || !(other(signature) || other(encryption))
        };
        for key in [KeyBinding::SessionKey, KeyBinding::Context] {
            if !one_key(key) {
                problems.push(PlanProblem::Combination {
                    problem: "a session key or a security context both signs and encrypts, or is the only key of the message",
                });
            }
        }
        if self.derived_keys.is_some() {
            // A private key signs; what is wrapped to a certificate is a symmetric key.
            if signature == Some(KeyBinding::Certificate) && encryption.is_none() {
                problems.push(PlanProblem::Combination {
                    problem: "keys are derived from symmetric keys, and nothing is signed or encrypted with one",
                });
            }
        }
        let by_context = self.endorsing.iter().filter_map(|one| one.derived_keys);
        let mut derived = self.derived_keys.into_iter().chain(by_context);
        let fits = |length: usize| (SHORTEST_KEY..=LONGEST_KEY).contains(&length);
        if !derived.all(|derived| fits(derived.signature_length)) {
            problems.push(PlanProblem::Combination {
                problem: "a derived signature key has 16 to 64 octets",
            });
        }
        if !self.endorsing.is_empty() {
            self.check_endorsing(problems);
        }
    }

    fn check_endorsing(&self, problems: &mut Vec<PlanProblem>) {
        let of_message = |part: &Part| {
            let named = matches!(part, Part::Header { .. } | Part::Id(_) | Part::Path(_));
            named || *part == Part::Body
        };
        for (_, part) in self.endorsed_parts().filter(|(_, part)| !of_message(part)) {
            problems.push(PlanProblem::Part {
                part: part.clone(),
                problem: "is not for an endorsing signature to cover in particular",
            });
        }
        let hides_token = self.endorsing.iter().any(|one| one.token_encrypted);
        let protects_token = hides_token || self.endorsing.iter().any(|one| one.token_signed);
        let signs_timestamp = self.signed_parts().contains(&Part::Timestamp);
        for (is_wrong, problem) in [
            (
                self.signature.is_none(),
                "an endorsing signature needs a signature to endorse",
            ),
            (
                hides_token && self.encryption.is_none(),
                "the token of an endorsing signature is to be encrypted, and nothing says with which key",
            ),
            (
                self.endorsing.len() >= self.limits.signatures,
                "more endorsing signatures are demanded than a message may have",
            ),
            (
                self.endorses_timestamp() && self.signature.is_some() && !signs_timestamp,
                "where the connection protects messages, the Timestamp is what is endorsed: it is to be signed",
            ),
            (
                self.endorses_timestamp() && protects_token,
                "where the connection protects messages, it protects the tokens of endorsing signatures as well",
            ),
        ] {
            if is_wrong {
                problems.push(PlanProblem::Combination { problem });
            }
        }
        self.check_endorsing_context(problems);
        let suite = &self.suite;
        if self.endorses_by_certificate() && suite.signature.is_empty()
            || self.endorsing_context().is_some() && suite.symmetric_signature.is_empty()
        {
            problems.push(PlanProblem::NoAlgorithm {
                purpose: "signature",
            });
        }
    }

    /// A security context among those who endorse.
    fn check_endorsing_context(&self, problems: &mut Vec<PlanProblem>) {
        let known = |key: KeyBinding| matches!(key, KeyBinding::Certificate | KeyBinding::Context);
        let is_by_context = |one: &&EndorsingPolicy| one.key == KeyBinding::Context;
        let contexts = self.endorsing.iter().filter(is_by_context).count();
        let is_hidden = |one: &EndorsingPolicy| {
            let names_inside = one.reference != KeyReference::Direct;
            one.token_encrypted || names_inside && self.encrypts(&Part::Signature)
        };
        for (is_wrong, problem) in [
            (
                !self.endorsing.iter().all(|one| known(one.key)),
                "an endorsing signature is made with a certificate, or with the key of a security context",
            ),
            (
                contexts + usize::from(self.uses(KeyBinding::Context)) > 1,
                "a message belongs to one conversation",
            ),
            (
                contexts > 0 && self.transport_protected && !self.signs_by_certificate(),
                "where the connection protects messages, a context endorses beside certificates: their own signature is made with one",
            ),
            (
                self.endorsing_context().is_some_and(is_hidden),
                "a security context is looked up before anything is deciphered: what names it must stay readable",
            ),
        ] {
            if is_wrong {
                problems.push(PlanProblem::Combination { problem });
            }
        }
    }
}
