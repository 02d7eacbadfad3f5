//! One `ds:Signature`: its algorithms, its key, its value, its references; in this order.
//!
//! Nothing is computed with a key before every algorithm is known to be in the plan's suite, and no
//! reference is digested before the signature value verified, so that a forger cannot make us
//! digest.

use std::collections::HashSet;

use soapstone_crypto::{Certificate, PublicKey, SignatureFamily, SymmetricKey};
use soapstone_xml::{Canonicalization, Document, NodeId};
use soapstone_xmlsec::dsig::{
    CanonicalizationMethod, Reference, Rules, Scratch, Signature, Target, Transform,
    VerificationKey,
};

use super::Opening;
use super::authenticate::{Authentic, mark_of};
use super::dereference::{Dereference, Referred, dereferenced_form};
use super::keys::Purpose;
use super::recognition::{Recognition, partner};
use crate::evidence::{PartDigest, SignatureEvidence, SignatureRole, Signer};
use crate::key_reference::KeyLocator;
use crate::names::{DS, STR_TRANSFORM};
use crate::operation::{Operation, OperationObserver};
use crate::plan::CertificateRole;
use crate::rejected::{AlgorithmUse, Rejected};

/// The key of a signature, found and believed.
pub(super) enum Key {
    Public(PublicKey),
    Secret(SymmetricKey),
}

/// A key, whose it is, and the token of this message that it comes from.
pub(super) struct Found {
    pub(super) key: Key,
    pub(super) signer: Signer,
    token: Option<NodeId>,
    /// The `ds:KeyInfo` that holds the certificate itself.
    info: Option<NodeId>,
}

/// What a reference proves, whose digest verified.
pub(super) enum Proven {
    /// A node, and what was referred to.
    Node(NodeId, Target<'static>),
    /// A token that is outside of the message: no node at all.
    OutsideToken,
}

impl Proven {
    /// The node that is proven.
    pub(super) fn node(&self) -> Option<NodeId> {
        match self {
            Self::Node(node, _) => Some(*node),
            Self::OutsideToken => None,
        }
    }
}

impl Opening<'_> {
    /// Counts a signature, which the plan must want.
    pub(super) fn expect_signature(&mut self, node: NodeId) -> Result<(), Rejected> {
        let limit = self.plan.demands.limits.signatures;
        if self.signature_count == limit {
            return Err(Rejected::TooMany {
                what: "signatures",
                limit,
            });
        }
        self.signature_count += 1;
        if self.plan.demands.signature.is_none() {
            let element = self.envelope.document.element(node);
            return Err(Rejected::ElementUnexpected {
                element: crate::envelope::expanded_name(element),
            });
        }
        Ok(())
    }

    pub(super) fn parse_signature(&self, node: NodeId) -> Result<Signature, Rejected> {
        let limits = self.plan.demands.limits;
        let document = &self.envelope.document;
        let mut rules = Rules::default();
        rules.references = limits.references;
        rules.signed_info = limits.signed_info_bytes();
        rules.extensions = &[STR_TRANSFORM];
        Ok(Signature::parse(document, node, &rules)?)
    }

    /// The key of a signature whose algorithms the suite lists, and whether it is a context's that
    /// endorses.
    pub(super) fn key_of_signature(
        &mut self,
        signature: &Signature,
    ) -> Result<(bool, Found), Rejected> {
        let by_context = self.is_by_context(signature)?;
        self.check_algorithms(signature, by_context)?;
        self.note_weak(signature.method.is_weak(), signature.method.short_name())?;
        self.observer.ended(Operation::Other);
        let found = self.signing_key(signature, by_context)?;
        self.observer.ended(Operation::Key);
        Ok((by_context, found))
    }

    /// Verifies the value of a signature.
    pub(super) fn verify_value(
        &mut self,
        signature: &Signature,
        key: &Key,
    ) -> Result<(), Rejected> {
        let key = match key {
            Key::Public(key) => VerificationKey::Public(key),
            Key::Secret(key) => VerificationKey::Secret(key),
        };
        signature.verify_value(&self.envelope.document, key, &mut self.scratch)?;
        self.observer.ended(Operation::Signature);
        Ok(())
    }

    /// Verifies those references of a signature that `is_meant` names by their places.
    pub(super) fn verify_references(
        &mut self,
        signature: &Signature,
        signer: &Signer,
        is_meant: impl Fn(usize) -> bool,
    ) -> Result<Vec<Option<Proven>>, Rejected> {
        let plan = self.plan;
        let partner = plan.known.as_ref().and_then(|_| partner(signer));
        let mut recognition = plan
            .known
            .as_ref()
            .zip(partner)
            .map(|(known, partner)| Recognition::new(known, partner));
        let mut proven = Vec::with_capacity(signature.references.len());
        for (at, reference) in signature.references.iter().enumerate() {
            proven.push(match is_meant(at) {
                true => Some(self.verify_reference(reference, signer, recognition.as_mut())?),
                false => None,
            });
        }
        Ok(proven)
    }

    /// Processes a signature in its turn. The value of one that was there when the message came is
    /// verified already, unless cipher text held its key.
    pub(super) fn process_signature(&mut self, node: NodeId) -> Result<(), Rejected> {
        let mut authentic = self.authentic.iter();
        let Authentic {
            signature,
            found,
            by_context,
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
        let kept_digests = match &self.plan.known {
            Some(_) => digests_of(&signature.references, &proven),
            None => Vec::new(),
        };
        let mut nodes: Vec<NodeId> = proven.iter().filter_map(Proven::node).collect();
        nodes.sort_unstable();
        let document = &self.envelope.document;
        let gone = nodes
            .iter()
            .filter(|node| document.element(**node).is_replaced());
        self.signed_ciphers.extend(gone);
        let step = self.next_step();
        let role = self.role_of(&found.key, by_context, &nodes);
        let token = found.token.or(found.info);
        if role == SignatureRole::Message {
            self.signing_tokens.extend(token);
        }
        let partner = self
            .plan
            .known
            .as_ref()
            .and_then(|_| partner(&found.signer));
        self.signatures.push(node);
        self.signature_values.push(signature.value);
        self.evidence.signatures.push(SignatureEvidence {
            signer: found.signer,
            role,
            node,
            algorithm: signature.method,
            nodes,
            token,
            step,
            partner,
            digests: kept_digests,
        });
        Ok(())
    }

    /// A signature that cipher text held, or whose key it held: verified in its turn, and marked
    /// after that.
    fn authenticate_late(&mut self, node: NodeId) -> Result<Authentic, Rejected> {
        if self.graft_of(node).is_some() {
            self.expect_signature(node)?;
        }
        let signature = self.parse_signature(node)?;
        self.count_references(signature.references.len())?;
        let (by_context, found) = self.key_of_signature(&signature)?;
        self.verify_value(&signature, &found.key)?;
        self.late_marks.push(mark_of(&signature, &found.signer));
        let proven = signature.references.iter().map(|_| None).collect();
        Ok(Authentic {
            node,
            signature,
            found,
            by_context,
            proven,
        })
    }

    /// Notes cipher text that was deciphered before the turn of a signature that was checked over
    /// it.
    fn note_signed_as_cipher_text(&mut self, checked: &[Option<Proven>]) {
        if self.grafts.is_empty() {
            return;
        }
        let checked: HashSet<NodeId> = checked.iter().flatten().filter_map(Proven::node).collect();
        let is_covered = |data: &NodeId| {
            let mut around = self.envelope.document.element(*data).ancestors();
            around.any(|holder| checked.contains(&holder.id()))
        };
        let deciphered = self.grafts.iter().map(|graft| graft.encrypted_data);
        let covered: Vec<NodeId> = deciphered.filter(is_covered).collect();
        self.signed_ciphers.extend(covered);
    }

    /// Whether a signature is the one with which a security context endorses. The message's own is
    /// made with a key of another kind there.
    fn is_by_context(&self, signature: &Signature) -> Result<bool, Rejected> {
        let endorses = self.plan.demands.endorsements.context.is_some();
        let is_hmac = signature.method.family() == SignatureFamily::Hmac;
        Ok(endorses && is_hmac && self.leads_to_context(signature.key_info)?)
    }

    /// What a signature is there for. Where the message's own signature is made with a symmetric
    /// key, one by certificate endorses it, or by a context; where both are made with
    /// certificates, the one that covers a signature does.
    pub(super) fn role_of(&self, key: &Key, by_context: bool, nodes: &[NodeId]) -> SignatureRole {
        let covers_signature = || {
            let is_signature =
                |node: &NodeId| self.envelope.document.element(*node).is(DS, "Signature");
            nodes.iter().any(is_signature)
        };
        let signature = self.plan.demands.signature.as_ref();
        let by_certificate = signature.map(|signature| signature.by_certificate);
        let endorses = match (key, by_certificate) {
            (Key::Secret(_), _) => by_context,
            (Key::Public(_), Some(CertificateRole::Message)) => false,
            (Key::Public(_), Some(CertificateRole::ByCoverage)) => covers_signature(),
            (Key::Public(_), Some(CertificateRole::Endorsing) | None) => true,
        };
        if endorses {
            SignatureRole::Endorsing
        } else {
            SignatureRole::Message
        }
    }

    /// Verifies the digest of what is referred to, or recognizes it; returns what this proves.
    fn verify_reference(
        &mut self,
        reference: &Reference,
        signer: &Signer,
        mut recognition: Option<&mut Recognition<'_>>,
    ) -> Result<Proven, Rejected> {
        let target = reference.target(&self.envelope.document)?;
        let mut dereference = self.dereference(reference, target, signer)?;
        let document = &self.envelope.document;
        let candidate = recognition
            .as_mut()
            .and_then(|recognition| recognition.candidate(document, reference, target));
        let candidate = recognition.zip(candidate);
        if candidate
            .as_ref()
            .is_some_and(|(recognition, candidate)| recognition.knows(candidate))
        {
            self.observer.ended(Operation::Recognition);
        } else {
            verify_digest(
                reference,
                document,
                target,
                &mut dereference,
                &mut self.scratch,
                self.observer,
            )?;
            if let Some((recognition, candidate)) = candidate {
                recognition.learn(&candidate);
            }
        }
        let weak = reference.digest_method.is_weak();
        let proven = match (target, dereference.referred()) {
            (_, Some(Referred::Token(token))) => Proven::Node(*token, target),
            (_, Some(Referred::Outside(_))) => Proven::OutsideToken,
            (Target::Element { node, .. }, None) => Proven::Node(node, target),
            (_, None) => {
                return Err(Rejected::TokenUnsupported {
                    found: "a reference to the whole document".to_owned(),
                });
            }
        };
        self.note_weak(weak, reference.digest_method.short_name())?;
        Ok(proven)
    }

    /// Counts the use of a weak algorithm, and refuses it if its time is over.
    pub(super) fn note_weak(&mut self, weak: bool, name: &'static str) -> Result<(), Rejected> {
        if weak {
            if let Some(since) = self.plan.demands.retired(name, self.now) {
                return Err(Rejected::AlgorithmRetired {
                    algorithm: name,
                    since,
                });
            }
            if !self.evidence.weak.contains(&name) {
                self.evidence.weak.push(name);
            }
        }
        Ok(())
    }

    /// Refuses what the suite does not list, before any key is touched.
    fn check_algorithms(&self, signature: &Signature, by_context: bool) -> Result<(), Rejected> {
        let suite = &self.plan.demands.suite;
        let family = signature.method.family();
        let allowed = self.plan.demands.signature_algorithms(family, by_context);
        if !allowed.contains(&signature.method) {
            return Err(not_allowed(
                AlgorithmUse::Signature,
                signature.method.uri(),
                allowed.iter().map(|one| one.short_name()),
            ));
        }
        self.check_canonicalization(&signature.canonicalization)?;
        for reference in &signature.references {
            if !suite.digest.contains(&reference.digest_method) {
                let allowed = suite.digest.iter().map(|one| one.short_name());
                return Err(not_allowed(
                    AlgorithmUse::Digest,
                    reference.digest_method.uri(),
                    allowed,
                ));
            }
            for transform in reference.transforms.iter() {
                match transform {
                    Transform::Canonicalization(method) => self.check_canonicalization(method)?,
                    // One that is not written as it should be has its own refusal, when it is
                    // executed.
                    Transform::Other { node, .. } => {
                        let document = &self.envelope.document;
                        if let Ok(method) = dereferenced_form(document.element(*node)) {
                            self.check_canonicalization(&method)?;
                        }
                    }
                    _ => {}
                }
            }
            // Without a canonicalization the reference would be digested in inclusive form
            // (XML-DSig 4.4.3.2).
            let canonicalized = reference
                .transforms
                .iter()
                .any(|transform| !matches!(transform, Transform::Enveloped));
            if !canonicalized {
                self.check_canonicalization(&CanonicalizationMethod::new(
                    Canonicalization::Inclusive10,
                ))?;
            }
        }
        Ok(())
    }

    fn check_canonicalization(&self, found: &CanonicalizationMethod) -> Result<(), Rejected> {
        let allowed = &self.plan.demands.suite.canonicalization;
        if allowed.contains(&found.method) {
            return Ok(());
        }
        Err(not_allowed(
            AlgorithmUse::Canonicalization,
            found.method.uri(),
            allowed.iter().map(|one| one.uri()),
        ))
    }

    /// The key that the plan and the trust store accept for this signature.
    fn signing_key(&mut self, signature: &Signature, by_context: bool) -> Result<Found, Rejected> {
        if signature.method.family() == SignatureFamily::Hmac {
            let purpose = match by_context {
                true => Purpose::Endorsing,
                false => Purpose::Verifying,
            };
            let resolved = self.symmetric_key(signature.key_info, purpose)?;
            return Ok(Found {
                key: Key::Secret(resolved.key),
                signer: resolved.holder,
                token: resolved.token,
                info: None,
            });
        }
        let info = signature
            .key_info
            .ok_or_else(|| no_key("a signature without `ds:KeyInfo`"))?;
        let locator = KeyLocator::read(self.envelope.document.element(info))?;
        let chain = self.certificate(&locator)?;
        if self.plan.demands.refuses_own_signatures && self.is_only_ours(&chain.certificate) {
            return Err(Rejected::Reflected);
        }
        let trust = self
            .plan
            .keys
            .trust
            .as_ref()
            .ok_or_else(|| no_key("a trust anchor"))?;
        trust.check(&chain.certificate, &chain.intermediates, self.now)?;
        if let Some(token) = chain.token {
            self.note_use(token);
        }
        Ok(Found {
            key: Key::Public(chain.certificate.public_key().clone()),
            signer: Signer::Certificate(chain.certificate),
            token: chain.token,
            info: chain.inside.then_some(info),
        })
    }
}

impl Opening<'_> {
    /// Whether a certificate is for a key of ours, and neither the peer's nor pinned. Another one
    /// of ours for the same key may be known to the trust store: what our key signed is ours
    /// under any name.
    fn is_only_ours(&self, certificate: &Certificate) -> bool {
        let keys = &self.plan.keys;
        let key = certificate.public_key().key_bits();
        let is_it = |other: &Certificate| other.der() == certificate.der();
        let pinned = keys.trust.iter().flat_map(|trust| &trust.rules().pinned);
        let mut own = keys.own().map(|identity| identity.certificate());
        own.any(|own| own.public_key().key_bits() == key)
            && !keys.peer.iter().chain(pinned).any(is_it)
    }
}

fn no_key(reference: &str) -> Rejected {
    Rejected::KeyNotFound {
        reference: reference.to_owned(),
    }
}

/// The refusal of an algorithm, with what would have been accepted.
pub(super) fn not_allowed(
    purpose: AlgorithmUse,
    found: &str,
    allowed: impl Iterator<Item = &'static str>,
) -> Rejected {
    Rejected::AlgorithmNotAllowed {
        purpose,
        found: found.to_owned(),
        allowed: allowed.collect::<Vec<_>>().join(", "),
    }
}

/// The digests of the elements that references are to as a whole and without comments, ascending by
/// node. `proven` is what the references prove.
fn digests_of(references: &[Reference], proven: &[Proven]) -> Vec<PartDigest> {
    let part = |(reference, proven): (&Reference, &Proven)| match (proven, &*reference.transforms) {
        (
            Proven::Node(
                node,
                Target::Element {
                    comments: false, ..
                },
            ),
            [Transform::Canonicalization(method)],
        ) => Some(PartDigest {
            node: *node,
            algorithm: reference.digest_method,
            canonicalization: method.selecting(false),
            inclusive_prefixes: method.inclusive_prefixes.clone(),
            digest: reference.digest_value,
        }),
        _ => None,
    };
    let mut digests: Vec<PartDigest> = references.iter().zip(proven).filter_map(part).collect();
    digests.sort_unstable_by_key(|part| part.node);
    digests
}

/// Verifies the digest of a reference, canonicalization and digest one after the other where octets
/// are collected.
fn verify_digest(
    reference: &Reference,
    document: &Document,
    target: Target<'_>,
    dereference: &mut Dereference,
    scratch: &mut Scratch,
    observer: &mut dyn OperationObserver,
) -> Result<(), Rejected> {
    if !scratch.collects {
        reference.verify(document, target, dereference, scratch)?;
    } else if !(scratch.on_demand && reference.came_canonical(document, target, scratch)?) {
        let mut sink = reference.sink(scratch)?;
        reference.transform(document, target, dereference, scratch, &mut sink)?;
        observer.ended(Operation::Canonicalization);
        reference.check_with(sink, scratch)?;
    }
    observer.ended(Operation::Digest);
    Ok(())
}
