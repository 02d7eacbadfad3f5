//! The endorsing signatures that the plan demands, and those of the message (WS-SecurityPolicy 1.3, 8.3 to 8.9).
//!
//! The one rule: one signature meets one demand, and so does one key. Neither a signature that stands there twice nor one that would do for either of
//! two demands is two.

use soapstone_crypto::Certificate;
use soapstone_xml::NodeId;

use super::Opening;
use crate::evidence::{SignatureEvidence, SignatureRole};
use crate::part::Part;
use crate::policy::{EncryptedPart, EndorsingPolicy, KeyReference};
use crate::rejected::Rejected;

impl Opening<'_> {
    /// The signatures that endorse.
    pub(super) fn endorsements(&self) -> impl Iterator<Item = &SignatureEvidence> {
        let signatures = self.evidence.signatures.iter();
        signatures.filter(|signature| signature.role == SignatureRole::Endorsing)
    }

    /// Finds a signature for each demand, and none beside them; returns the one that meets the first demand.
    pub(super) fn compare_endorsements(&self) -> Result<Option<NodeId>, Rejected> {
        let policy = &self.plan.policy;
        if policy.endorsing.is_empty() {
            return Ok(None);
        }
        let mut found: Vec<&SignatureEvidence> = self.endorsements().collect();
        // Another one beside them, over something or over nothing of this message, would be taken for the sender's.
        if found.len() != policy.endorsing.len() {
            return Err(Rejected::EndorsementMissing);
        }
        if !policy.same_endorser && !have_different_keys(&found) {
            return Err(Rejected::EndorserRepeated);
        }
        // Which of them is which must not hang on their order in the header, which nobody signs, nor change when certificates are renewed.
        let name = |certificate: &'_ Certificate| {
            (certificate.subject().to_owned(), certificate.der().to_vec())
        };
        found.sort_by_cached_key(|endorsement| endorsement.certificate().map(name));
        let outcomes: Vec<Vec<Result<(), Rejected>>> = policy
            .endorsing
            .iter()
            .map(|demand| {
                let outcomes = found.iter().map(|one| self.meets(one, demand));
                outcomes.collect()
            })
            .collect();
        let first = assigned(&outcomes)?.first().copied();
        Ok(first.map(|at| found[at].node))
    }

    /// Whether a signature is what a demand wants: it endorses every other one of the message, with its own token and with parts of the message if
    /// that is wanted, and its token is protected as it should be.
    fn meets(
        &self,
        endorsement: &SignatureEvidence,
        demand: &EndorsingPolicy,
    ) -> Result<(), Rejected> {
        let part = Part::EndorsingToken;
        let covered = |signature: &SignatureEvidence| endorsement.covers(signature.node);
        if !self.message_signatures().all(covered) {
            return Err(Rejected::EndorsementMissing);
        }
        let token = endorsement.token;
        let uncovered = token.is_some_and(|token| !endorsement.covers(token));
        if demand.covers_token && uncovered {
            return Err(Rejected::Unsigned { part });
        }
        for part in &demand.parts {
            let is_covered =
                |node: NodeId| self.holders(node).any(|holder| endorsement.covers(holder));
            if !self.nodes_of(part).into_iter().all(is_covered) {
                return Err(Rejected::Unendorsed { part: part.clone() });
            }
        }
        let Some(token) = token else {
            // A token that messages of this plan carry, and this one names instead: then the message's signature does not say whose endorsement
            // belongs to it, and another partner's may have taken the place of the sender's.
            let is_carried = demand.reference == KeyReference::Direct;
            return if demand.token_signed && is_carried {
                Err(Rejected::Unsigned { part })
            } else {
                Ok(())
            };
        };
        if demand.token_signed {
            if self.signing_steps(token).next().is_none() {
                return Err(Rejected::Unsigned { part });
            }
            if self.is_signed_as_cipher(token) {
                return Err(Rejected::WrongOrder { part });
            }
        }
        if demand.token_encrypted {
            let wanted = EncryptedPart::customary(part);
            self.compare_encrypted(&wanted, token, demand.token_signed)?;
        }
        Ok(())
    }
}

/// Whether no two signatures were made with one key. Certificates do not tell: there may be several for one key.
fn have_different_keys(endorsements: &[&SignatureEvidence]) -> bool {
    let key = |endorsement: &SignatureEvidence| {
        let certificate = endorsement.certificate();
        certificate.map(|certificate| certificate.public_key().key_bits().to_vec())
    };
    let mut keys: Vec<_> = endorsements.iter().map(|one| key(one)).collect();
    keys.sort_unstable();
    keys.windows(2).all(|pair| pair[0] != pair[1])
}

/// For each demand the place of the signature that meets it, none of which has two. `outcomes` has what was found, by demand and by signature, of which
/// there are as many as demands.
fn assigned(outcomes: &[Vec<Result<(), Rejected>>]) -> Result<Vec<usize>, Rejected> {
    let mut demands = vec![None; outcomes.len()];
    for (demand, row) in outcomes.iter().enumerate() {
        let mut tried = vec![false; outcomes.len()];
        if !assign(demand, outcomes, &mut demands, &mut tried) {
            // Where each of them would do, there is one left.
            let reason = row.iter().find_map(|outcome| outcome.clone().err());
            return Err(reason.unwrap_or(Rejected::EndorsementMissing));
        }
    }
    let signature = |demand| demands.iter().position(|one| *one == Some(demand));
    Ok((0..outcomes.len()).filter_map(signature).collect())
}

/// Finds a signature for a demand: one that is left, or else one whose demand can have another (Kuhn 1955).
fn assign(
    demand: usize,
    outcomes: &[Vec<Result<(), Rejected>>],
    demands: &mut [Option<usize>],
    tried: &mut [bool],
) -> bool {
    let meeting = |at: &usize| outcomes[demand][*at].is_ok();
    let free = (0..outcomes.len()).find(|at| meeting(at) && demands[*at].is_none());
    if let Some(at) = free {
        demands[at] = Some(demand);
        return true;
    }
    for at in (0..outcomes.len()).filter(meeting) {
        if std::mem::replace(&mut tried[at], true) {
            continue;
        }
        if demands[at].is_some_and(|other| assign(other, outcomes, demands, tried)) {
            demands[at] = Some(demand);
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each demand is met by, written as rows of `x`.
    fn assigned_to(rows: &[&str]) -> Result<Vec<usize>, Rejected> {
        let outcome = |mark: char| match mark {
            'x' => Ok(()),
            _ => Err(Rejected::EndorsementMissing),
        };
        let outcomes: Vec<Vec<_>> = rows
            .iter()
            .map(|row| row.chars().map(outcome).collect())
            .collect();
        assigned(&outcomes)
    }

    #[test]
    fn no_signature_meets_two_demands() {
        let missing = Err(Rejected::EndorsementMissing);
        assert_eq!(assigned_to(&["x"]), Ok(vec![0]));
        assert_eq!(assigned_to(&["xx", "xx"]), Ok(vec![0, 1]));
        assert_eq!(assigned_to(&["xx", "x."]), Ok(vec![1, 0]));
        assert_eq!(assigned_to(&["x.", "x."]), missing);
        assert_eq!(assigned_to(&["xx.", "xx.", "xx."]), missing);
        assert_eq!(assigned_to(&["xx.", "x.x", "x.."]), Ok(vec![1, 2, 0]));
    }
}
