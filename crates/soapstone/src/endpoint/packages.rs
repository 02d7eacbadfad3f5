//! What a gateway does with packages: whether it takes them, and which parts go on.
//!
//! The rule kept here: a file that says nothing of attachments takes no packages, and a part that
//! nothing covers goes on only where the file says so in so many words. A message that proves
//! nothing itself, and whose protection is left to TLS, leaves that of its parts to TLS as well.

use soapstone_wss::{AttachmentProblem, Evidence, Rejected, SignatureRole};

use crate::config::AttachmentsConfig;

/// What the file of an endpoint says of packages.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Packages {
    /// Whether it says anything of attachments.
    are_named: bool,
    /// Whether parts go on that nothing covers.
    uncovered: bool,
}

impl Packages {
    pub(super) fn of(config: Option<&AttachmentsConfig>) -> Self {
        let uncovered = config.and_then(|config| config.uncovered.as_ref());
        Self {
            are_named: config.is_some(),
            uncovered: uncovered.is_some_and(|uncovered| uncovered.value),
        }
    }

    /// Whether a gateway takes packages.
    pub(super) fn are_taken(self) -> bool {
        self.are_named
    }

    /// Whether a message has a part that nothing covers. Where the message has a signature of its
    /// own, each part has to be signed; otherwise encryption does. `by_tls`: the policy leaves
    /// messages to TLS. Another operation may do so, and this one have a signature, or
    /// cipher text in its Body or its parts.
    ///
    /// # Errors
    /// [`AttachmentProblem::Uncovered`], of the first one, unless such parts go on.
    pub(super) fn have_uncovered_part(
        self,
        evidence: &Evidence,
        by_tls: bool,
    ) -> Result<bool, Rejected> {
        let mut signatures = evidence.signatures.iter();
        // What endorses proves who sent the message, and covers its signature.
        let is_signed = signatures.any(|it| it.role == SignatureRole::Message);
        let mut parts = evidence.attachments.iter();
        // A token in cipher text says nothing of the message that it came with.
        let is_hidden = evidence.hides_body || parts.clone().any(|part| part.encrypted.is_some());
        if by_tls && !is_signed && !is_hidden {
            return Ok(false);
        }
        let uncovered =
            parts.find(|part| part.signed.is_none() && (is_signed || part.encrypted.is_none()));
        match uncovered {
            Some(part) if !self.uncovered => Err(Rejected::Attachment {
                id: part.id.clone(),
                problem: AttachmentProblem::Uncovered,
            }),
            found => Ok(found.is_some()),
        }
    }
}
