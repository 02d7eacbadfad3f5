//! The endorsing signatures that the plan demands, and those of the message (WS-SecurityPolicy 1.3,
//! 8.3 to 8.9).
//!
//! The one rule: one signature meets one demand, and so does one key. Neither a signature that
//! stands there twice nor one that would do for either of two demands is two.

use soapstone_crypto::Certificate;
use soapstone_xml::NodeId;

use super::assertion::holder_misused;
use super::comparison::Comparison;
use super::signer::no_rsa;
use crate::binding::{KeyBinding, KeyReference};
use crate::evidence::{SignatureEvidence, SignatureRole, Signer};
use crate::part::Part;
use crate::plan::EndorsementDemand;
use crate::rejected::Rejected;

/// What a signature is to meet.
enum Demand<'p> {
    /// The demand of the message's own.
    Message,
    /// The demand of one that endorses.
    Endorsing(&'p EndorsementDemand),
}

impl Comparison<'_, '_> {
    /// Finds a signature for each demand, and none beside them.
    pub(super) fn compare_endorsements(&mut self) -> Result<(), Rejected> {
        let endorsements = &self.demands().endorsements;
        let found = self.evidence.endorsements();
        let demands = endorsements.demands.iter().map(Demand::Endorsing);
        let found = self.assign_demands(demands.collect(), found.collect())?;
        // Over the Timestamp, the message's own signature is that of whoever is named first.
        self.evidence.first_endorsement = found
            .first()
            .copied()
            .filter(|_| !endorsements.over_timestamp);
        Ok(())
    }

    /// Tells the signatures over a Timestamp apart, all of them made with certificates: one for
    /// each demand, and none beside them. The one that meets what is said of the message's
    /// signature is that; the others endorse.
    pub(super) fn compare_signers(&mut self) -> Result<(), Rejected> {
        let endorsements = &self.demands().endorsements;
        let found: Vec<&SignatureEvidence> = self.evidence.signatures.iter().collect();
        if found.is_empty() {
            return Err(Rejected::SignatureMissing);
        }
        let endorsing = endorsements.demands.iter().map(Demand::Endorsing);
        let demands = std::iter::once(Demand::Message).chain(endorsing);
        let found = self.assign_demands(demands.collect(), found)?;
        let first = found.first();
        for signature in &mut self.evidence.signatures {
            if Some(&signature.node) != first {
                signature.role = SignatureRole::Endorsing;
            }
        }
        Ok(())
    }

    /// The signatures that meet the demands, each one of its own.
    fn assign_demands(
        &self,
        demands: Vec<Demand<'_>>,
        mut found: Vec<&SignatureEvidence>,
    ) -> Result<Vec<NodeId>, Rejected> {
        // Another one beside them, over something or over nothing of this message, would be taken
        // for the sender's.
        if found.len() != demands.len() {
            return Err(Rejected::EndorsementMissing);
        }
        if !self.demands().endorsements.same_endorser && !have_different_keys(&found) {
            return Err(Rejected::EndorserRepeated);
        }
        // Which of them is which must not hang on their order in the header, which nobody signs,
        // nor change when certificates are renewed.
        let name = |certificate: &'_ Certificate| {
            (certificate.subject().to_owned(), certificate.der().to_vec())
        };
        found.sort_by_cached_key(|endorsement| endorsement.certificate().map(name));
        let outcomes: Vec<Vec<Result<(), Rejected>>> = demands
            .iter()
            .map(|demand| {
                let outcomes = found.iter().map(|one| match demand {
                    Demand::Message => self.signs(one),
                    Demand::Endorsing(demand) => self.satisfies(one, demand),
                });
                outcomes.collect()
            })
            .collect();
        let assigned = assigned(&outcomes)?;
        Ok(assigned.into_iter().map(|at| found[at].node).collect())
    }

    /// Whether a signature covers what the message's is to cover.
    fn signs(&self, signature: &SignatureEvidence) -> Result<(), Rejected> {
        // A context's is not, whatever it covers.
        if signature.certificate().is_none() {
            return Err(Rejected::EndorsementMissing);
        }
        self.check_signing_key(signature)?;
        let demand = self.demands().signature.iter();
        for (part, _) in demand.flat_map(|demand| &demand.parts) {
            let nodes = match part {
                Part::Token if signature.covers_certificate => Vec::new(),
                Part::Token => signature.token.into_iter().collect(),
                part => self.nodes_of(part),
            };
            let names = *part == Part::Token && nodes.iter().any(|node| self.is_name(*node));
            if names || !self.covers_all(signature, nodes) {
                return Err(Rejected::Unsigned { part: part.clone() });
            }
        }
        Ok(())
    }

    /// Refuses a signature of the message with a key of another kind than the plan wants.
    pub(super) fn check_signing_key(&self, signature: &SignatureEvidence) -> Result<(), Rejected> {
        let demand = self.demands().signature.as_ref();
        check_kind(signature, demand.is_some_and(|demand| demand.by_rsa))
    }

    /// Whether a signature covers every one of these nodes: itself, or something that holds it.
    fn covers_all(&self, signature: &SignatureEvidence, nodes: Vec<NodeId>) -> bool {
        let is_covered = |node: NodeId| self.holders(node).any(|holder| signature.covers(holder));
        nodes.into_iter().all(is_covered)
    }

    /// Whether a signature is what a demand wants: it endorses every other one of the message, or
    /// the Timestamp, with its own token and with parts of the message if that is wanted, and
    /// its token is protected as it should be.
    fn satisfies(
        &self,
        endorsement: &SignatureEvidence,
        demand: &EndorsementDemand,
    ) -> Result<(), Rejected> {
        let part = Part::EndorsingToken;
        let key = match endorsement.signer {
            Signer::Context { .. } => KeyBinding::Context,
            Signer::User(_) => KeyBinding::Password,
            Signer::Kerberos(_) => KeyBinding::Kerberos,
            Signer::Holder { .. } if endorsement.is_by_secret() => KeyBinding::Assertion,
            Signer::Holder { .. } if !self.demands().is_endorsed_by_holder() => {
                return Err(holder_misused());
            }
            _ => KeyBinding::Certificate,
        };
        if key != demand.key {
            return Err(Rejected::EndorsementMissing);
        }
        check_kind(endorsement, demand.by_rsa)?;
        if self.demands().endorsements.over_timestamp {
            let part = Part::Timestamp;
            let covered = |timestamp: NodeId| endorsement.covers(timestamp);
            if !self.evidence.timestamp.is_some_and(covered) {
                return Err(Rejected::Unendorsed { part });
            }
        } else {
            let covered = |signature: &SignatureEvidence| endorsement.covers(signature.node);
            if !self.evidence.message_signatures().all(covered) {
                return Err(Rejected::EndorsementMissing);
            }
        }
        let token = endorsement.token;
        let uncovered = token
            .is_some_and(|token| !endorsement.covers(token) || self.is_name(token))
            && !endorsement.covers_certificate;
        if demand.covers_token && uncovered {
            return Err(Rejected::Unsigned { part });
        }
        for part in &demand.parts {
            if !self.covers_all(endorsement, self.nodes_of(part)) {
                return Err(Rejected::Unendorsed { part: part.clone() });
            }
        }
        let Some(token) = token else {
            // A token that messages of this plan carry, and this one names instead: then the
            // message's signature does not say whose endorsement belongs to it, and
            // another partner's may have taken the place of the sender's.
            return if demand.token_signed && demand.carries_token {
                Err(Rejected::Unsigned { part })
            } else {
                Ok(())
            };
        };
        let protects = demand.token_signed || demand.token_encrypted.is_some();
        if protects && self.is_name(token) {
            return Err(Rejected::Unsigned { part });
        }
        if demand.token_signed {
            if self.signing_steps(token).next().is_none() {
                return Err(Rejected::Unsigned { part });
            }
            if self.is_signed_as_cipher(token) {
                return Err(Rejected::WrongOrder { part });
            }
        }
        if let Some((wanted, order)) = &demand.token_encrypted {
            self.compare_encrypted(wanted, token, *order)?;
        }
        Ok(())
    }
}

/// Refuses a private key of another kind than RSA, where the plan wants that.
fn check_kind(signature: &SignatureEvidence, by_rsa: bool) -> Result<(), Rejected> {
    let certificate = signature.certificate().filter(|_| by_rsa);
    let kind = certificate.map(|certificate| certificate.public_key().kind());
    match kind.filter(|kind| !KeyReference::RsaKeyValue.fits(*kind)) {
        Some(kind) => Err(no_rsa(kind)),
        None => Ok(()),
    }
}

/// Whether no two signatures were made with one key. Certificates do not tell: there may be several
/// for one key.
fn have_different_keys(endorsements: &[&SignatureEvidence]) -> bool {
    let key = |endorsement: &SignatureEvidence| {
        let certificate = endorsement.certificate();
        certificate.map(|certificate| certificate.public_key().key_bits().to_vec())
    };
    let mut keys: Vec<_> = endorsements.iter().map(|one| key(one)).collect();
    keys.sort_unstable();
    keys.windows(2).all(|pair| pair[0] != pair[1])
}

/// For each demand the place of the signature that meets it, none of which has two: of what would
/// do for the first demand the first one, and so on. `outcomes` has what was found, by demand and
/// by signature, of which there are as many as demands.
fn assigned(outcomes: &[Vec<Result<(), Rejected>>]) -> Result<Vec<usize>, Rejected> {
    let rows = outcomes.iter();
    let mut meeting: Vec<Vec<bool>> = rows
        .map(|row| row.iter().map(Result::is_ok).collect())
        .collect();
    if let Some(demand) = first_unsatisfiable(&meeting) {
        // Where each of them would do, there is one left.
        let reason = outcomes[demand].iter().find_map(|it| it.clone().err());
        return Err(reason.unwrap_or(Rejected::EndorsementMissing));
    }
    let mut assigned = Vec::with_capacity(meeting.len());
    for demand in 0..meeting.len() {
        let candidates = std::mem::take(&mut meeting[demand]);
        for at in (0..candidates.len()).filter(|at| candidates[*at]) {
            meeting[demand] = (0..candidates.len()).map(|other| other == at).collect();
            if first_unsatisfiable(&meeting).is_none() {
                assigned.push(at);
                break;
            }
        }
    }
    Ok(assigned)
}

/// The first demand that cannot be met if all before it are. `meeting` says by demand and by
/// signature who would do.
fn first_unsatisfiable(meeting: &[Vec<bool>]) -> Option<usize> {
    let mut demands = vec![None; meeting.len()];
    (0..meeting.len()).find(|demand| {
        let mut tried = vec![false; meeting.len()];
        !assign(*demand, meeting, &mut demands, &mut tried)
    })
}

/// Finds a signature for a demand: one that is left, or else one whose demand can have another
/// (Kuhn 1955).
fn assign(
    demand: usize,
    meeting: &[Vec<bool>],
    demands: &mut [Option<usize>],
    tried: &mut [bool],
) -> bool {
    let would_do = |at: &usize| meeting[demand][*at];
    for at in (0..meeting.len()).filter(would_do) {
        if std::mem::replace(&mut tried[at], true) {
            continue;
        }
        if demands[at].is_none_or(|other| assign(other, meeting, demands, tried)) {
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
        // The first demand has the first signature that leaves enough to the others.
        assert_eq!(assigned_to(&["xxx", "xxx", "x.."]), Ok(vec![1, 2, 0]));
        assert_eq!(assigned_to(&["xxx", "xxx", "xxx"]), Ok(vec![0, 1, 2]));
    }
}
