//! Who sends messages with weak algorithms.
//!
//! The rule kept here: a message counts for a partner once it is verified and admitted, and for
//! nobody whom it does not prove.

use soapstone::endpoint::OpenedMessage;

use crate::config::direction::Direction;
use crate::observe::metrics::WeakPartner;
use crate::observe::traces::Observed;
use crate::route::roles::Proven;

/// Counts the weak algorithms of a message that was opened for whoever made it: its signer, the
/// issuer of its assertion, or else its proven sender.
pub(super) fn count(
    opened: &OpenedMessage,
    proven: &Proven,
    direction: Direction,
    observed: &Observed,
) {
    let evidence = &opened.evidence;
    if evidence.weak.is_empty() {
        return;
    }
    let partner = match (evidence.signer(), &evidence.assertion, proven) {
        (Some(signer), ..) => WeakPartner::proven("certificate", signer.subject()),
        // Nobody has checked the name in the certificate of its holder.
        (None, Some(told), _) => WeakPartner::proven("issuer", &told.assertion.issuer),
        (None, None, Proven::User(name)) => WeakPartner::proven("user", name),
        (None, None, Proven::Certificate(owner)) => {
            WeakPartner::proven("certificate", owner.subject())
        }
        (None, None, Proven::Kerberos(client)) => WeakPartner::proven("kerberos", client),
        (None, None, Proven::Subject(owner)) => {
            WeakPartner::proven("assertion", &owner.subject.value)
        }
        (None, None, Proven::Nobody) => WeakPartner::Nobody,
    };
    let metrics = &observed.metrics;
    metrics.weak_algorithms_of(direction, &partner, &evidence.weak);
}
