//! One `ds:Signature`: its algorithms, its key, its value, its references; in this order.
//!
//! Nothing is computed with a key before every algorithm is known to be in the plan's suite, and no
//! reference is digested before the signature value verified, so that a forger cannot make us
//! digest.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use soapstone_xml::NodeId;
use soapstone_xmlsec::dsig::{Signature, SignatureError, VerificationKey};

use super::authentic::{Authentic, Found, Key, Proven};
use super::opening::Opening;
use super::recognition::partner;
use super::references::digests_of;
use crate::envelope::expanded_name;
use crate::event::Event;
use crate::evidence::{SignatureEvidence, SignatureRole, Signer};
use crate::marks;
use crate::operation::Operation;
use crate::rejected::Rejected;

impl Opening<'_> {
    /// Counts a signature, which the plan must want.
    pub(super) fn expect_signature(&mut self, node: NodeId) -> Result<(), Rejected> {
        self.budget.signature()?;
        if self.message.demands().signature.is_none() {
            return Err(Rejected::ElementUnexpected {
                element: expanded_name(self.message.element(node)),
            });
        }
        Ok(())
    }

    pub(super) fn parse_signature(&self, node: NodeId) -> Result<Signature, Rejected> {
        let rules = self.message.demands().limits.signature_rules();
        let document = self.message.document();
        let signature = Signature::parse(document, node, &rules)?;
        self.attachments.check_references(&signature)?;
        Ok(signature)
    }

    /// The key of a signature whose algorithms the suite lists, and whether it is a symmetric one
    /// that endorses. Some demand of the plan may take it: otherwise a stranger's signature would
    /// be what the message is deciphered for.
    pub(super) fn key_of_signature(
        &mut self,
        signature: &Signature,
    ) -> Result<(bool, Found), Rejected> {
        self.read_embedded_assertion(signature)?;
        let message = &self.message;
        let by_secret = message.endorses_by_secret(signature)?;
        message.check_algorithms(signature, by_secret)?;
        let (weak, name) = (signature.method.is_weak(), signature.method.short_name());
        message.note_weak(&mut self.evidence, weak, name)?;
        self.observer.ended(Operation::Other);
        let found = match self.key_of_holder(signature)? {
            Some(found) => found,
            None => {
                let observer = &mut self.observer;
                let message = &self.message;
                self.keyring
                    .signing_key(message, signature, by_secret, observer)?
            }
        };
        self.message.check_signer(&found)?;
        self.observer.ended(Operation::Key);
        Ok((by_secret, found))
    }

    /// Verifies the value of a signature. With a key from a password, one that does not verify is a
    /// wrong password, or an unknown user.
    pub(super) fn verify_value(
        &mut self,
        signature: &Signature,
        found: &Found,
    ) -> Result<(), Rejected> {
        let key = match &found.key {
            Key::Public(key) => VerificationKey::Public(key),
            Key::Secret(key) => VerificationKey::Secret(key),
        };
        let (message, scratch) = (&self.message, &mut self.scratch);
        let verified = signature.verify_value(message.document(), key, scratch);
        self.observer
            .found(&message.envelope, || Event::SignatureValue {
                signature,
                signed_info: scratch.signed_info(),
                refused: verified.as_ref().err(),
            });
        self.observer.ended(Operation::Signature);
        match (&found.signer, verified) {
            (Signer::User(user), Err(SignatureError::ValueMismatch { .. })) => {
                Err(Rejected::AuthenticationFailed { user: user.clone() })
            }
            (_, verified) => Ok(verified?),
        }
    }

    /// Processes a signature in its turn. The value of one that was there when the message came is
    /// verified already, unless cipher text held its key.
    pub(super) fn process_signature(&mut self, node: NodeId) -> Result<(), Rejected> {
        let mut authentic = self.authentic.iter();
        let Authentic {
            signature,
            found,
            by_secret,
            mut proven,
            ..
        } = match authentic.position(|one| one.node == node) {
            Some(at) => self.authentic.swap_remove(at),
            None => self.authenticate_late(node)?,
        };
        self.note_signed_as_cipher_text(&proven);
        let later = |at: usize| proven[at].is_none();
        let rest = self.verify_references(&signature, &found.signer, later)?;
        for (one, later) in proven.iter_mut().zip(rest) {
            *one = one.take().or(later);
        }
        let proven: Vec<Proven> = proven.into_iter().flatten().collect();
        let plan = self.message.plan;
        let kept_digests = match &plan.known {
            Some(_) => digests_of(&signature.references, &proven),
            None => Vec::new(),
        };
        let mut nodes: Vec<NodeId> = proven.iter().filter_map(Proven::node).collect();
        nodes.sort_unstable();
        let message = &self.message;
        let covers_certificate = proven
            .iter()
            .any(|one| message.proves_token(one, &found, signature.key_info));
        let gone = nodes
            .iter()
            .copied()
            .filter(|node| message.element(*node).is_replaced());
        self.plaintext.sign(gone);
        if let Signer::User(user) = &found.signer {
            self.evidence.user = Some(user.clone());
            self.evidence.user_token = found.token;
        }
        let partner = plan.known.as_ref().and_then(|_| partner(&found.signer));
        let step = self.evidence.next_step();
        let role = message.role_of(&found.key, by_secret, &nodes);
        // The token of another signature may have the certificate that endorses, too: what is
        // demanded of the token that endorses is not demanded of that.
        let is_others = role == SignatureRole::Endorsing && found.by_name;
        let token = found.token.filter(|_| !is_others);
        self.evidence.signatures.push(SignatureEvidence {
            role,
            signer: found.signer,
            node,
            algorithm: signature.method,
            nodes,
            attachments: proven.iter().filter_map(Proven::attachment).collect(),
            covers_certificate,
            value: signature.value,
            token: token.or(found.info),
            root: found.root,
            step,
            partner,
            digests: kept_digests,
        });
        Ok(())
    }

    /// A signature that cipher text held, or whose key it held: verified in its turn, and marked
    /// after that.
    fn authenticate_late(&mut self, node: NodeId) -> Result<Authentic, Rejected> {
        if self.plaintext.origin(node).is_some() {
            self.expect_signature(node)?;
        }
        let signature = self.parse_signature(node)?;
        self.budget.references(signature.references.len())?;
        let (by_secret, found) = self.key_of_signature(&signature)?;
        self.verify_value(&signature, &found)?;
        self.replay.note_late(mark_of(&signature, &found.key));
        let proven = signature.references.iter().map(|_| None).collect();
        Ok(Authentic {
            node,
            signature,
            found,
            by_secret,
            proven,
        })
    }

    /// Notes cipher text that was deciphered before the turn of a signature that was checked over
    /// it.
    fn note_signed_as_cipher_text(&mut self, checked: &[Option<Proven>]) {
        if self.plaintext.is_empty() {
            return;
        }
        let checked: HashSet<NodeId, RandomState> =
            checked.iter().flatten().filter_map(Proven::node).collect();
        let is_covered = |data: &NodeId| {
            let mut around = self.message.element(*data).ancestors();
            around.any(|holder| checked.contains(&holder.id()))
        };
        let deciphered = self.plaintext.encrypted_data();
        let covered: Vec<NodeId> = deciphered.filter(is_covered).collect();
        self.plaintext.sign(covered);
    }
}

/// What a copy of a signed message is known by.
pub(super) fn mark_of(signature: &Signature, key: &Key) -> [u8; 32] {
    match key {
        // Its key: no signature need cover which certificate is named, and another one for the same
        // key, the one before a renewal, would make another message of a copy.
        Key::Public(key) => {
            let references = signature.references.iter();
            let digests = references.map(|reference| reference.digest_value.as_ref());
            marks::of_signature(key.key_bits(), digests)
        }
        Key::Secret(_) => marks::of_code(&signature.value),
    }
}
