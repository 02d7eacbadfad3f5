//! The references of a signature: each leads to a node, whose digest is compared or recognized.
//!
//! The one rule: a reference proves the node that was digested, by its place in the tree.

use soapstone_xml::{Document, NodeId};
use soapstone_xmlsec::dsig::{Reference, Scratch, Signature, SignatureError, Target, Transform};

use super::attachments::check_transforms;
use super::authentic::Proven;
use super::budget::Budget;
use super::dereference::{Dereference, OwnKey, Referred};
use super::message::Message;
use super::opening::Opening;
use super::recognition::{Recognition, partner};
use crate::event::Event;
use crate::evidence::{PartDigest, Signer};
use crate::operation::{Observer, Operation};
use crate::rejected::Rejected;

impl Opening<'_> {
    /// Verifies those references of a signature that `is_meant` names by their places.
    pub(super) fn verify_references(
        &mut self,
        signature: &Signature,
        signer: &Signer,
        is_meant: impl Fn(usize) -> bool,
    ) -> Result<Vec<Option<Proven>>, Rejected> {
        let own = OwnKey {
            signer,
            info: signature.key_info,
        };
        let plan = self.message.plan;
        let partner = plan.known.as_ref().and_then(|_| partner(signer));
        let mut recognition = plan
            .known
            .as_ref()
            .zip(partner)
            .map(|(known, partner)| Recognition::new(known, partner));
        let mut proven = Vec::with_capacity(signature.references.len());
        let mut refused = None;
        for (at, reference) in signature.references.iter().enumerate() {
            if !is_meant(at) {
                proven.push(None);
                continue;
            }
            match self.verify_reference(reference, own, recognition.as_mut()) {
                Ok(one) => proven.push(Some(one)),
                Err(rejected) if self.observer.explains => {
                    refused.get_or_insert(rejected);
                }
                Err(rejected) => return Err(rejected),
            }
        }
        refused.map_or(Ok(proven), Err)
    }

    fn verify_reference(
        &mut self,
        reference: &Reference,
        own: OwnKey<'_>,
        recognition: Option<&mut Recognition<'_>>,
    ) -> Result<Proven, Rejected> {
        let attachment = self.attachments.referred(reference).transpose();
        let outcome = match attachment {
            Ok(Some(at)) => self.follow_attachment(reference, at),
            Ok(None) => self.follow(reference, own, recognition),
            Err(missing) => Err(missing),
        };
        if self.observer.listens {
            self.tell_of(reference, own, outcome.as_ref().err());
        }
        outcome
    }

    /// Verifies the digest of what is referred to, or recognizes it; returns what this proves.
    fn follow(
        &mut self,
        reference: &Reference,
        own: OwnKey<'_>,
        mut recognition: Option<&mut Recognition<'_>>,
    ) -> Result<Proven, Rejected> {
        let message = &self.message;
        let document = message.document();
        let target = reference.target(document)?;
        check_transforms(reference)?;
        message.check_enveloped(reference, target)?;
        let mut dereference = message.dereference(&mut self.budget, reference, target, own)?;
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
                &mut self.observer,
            )?;
            if let Some((recognition, candidate)) = candidate {
                recognition.learn(&candidate);
            }
        }
        let weak = reference.digest_method.is_weak();
        let proven = match (target, dereference.referred()) {
            (_, Some(Referred::Token(token))) => Proven::Node(*token, target),
            (Target::Element { node, .. }, Some(Referred::Outside(_))) => Proven::Certificate(node),
            (Target::Element { node, .. }, None) => Proven::Node(node, target),
            (_, _) => {
                return Err(Rejected::TokenUnsupported {
                    found: "a reference to the whole document".to_owned(),
                });
            }
        };
        let name = reference.digest_method.short_name();
        message.note_weak(&mut self.evidence, weak, name)?;
        Ok(proven)
    }

    /// Makes the event of a reference: canonical bytes and digest are computed for it alone.
    fn tell_of(&mut self, reference: &Reference, own: OwnKey<'_>, refused: Option<&Rejected>) {
        let message = &self.message;
        let document = message.document();
        let target = reference.target(document).ok();
        // It is counted already.
        let mut uncounted = Budget::new(message.demands().limits, 0);
        let digested = target.and_then(|target| {
            let mut dereference = message
                .dereference(&mut uncounted, reference, target, own)
                .ok()?;
            let scratch = &mut self.scratch;
            reference
                .digested(document, target, &mut dereference, scratch)
                .ok()
        });
        let node = match target {
            Some(Target::Element { node, .. }) => Some(node),
            _ => None,
        };
        self.observer.found(&message.envelope, || Event::Reference {
            reference,
            target: node,
            canonical: digested.as_ref().map(|(octets, _)| octets.as_slice()),
            computed: digested.as_ref().map(|(_, digest)| digest),
            refused,
        });
    }
}

impl Message<'_> {
    /// Refuses an enveloped signature: one that stands in what it signs, and is left out of it. The
    /// transform takes nothing out of anything else. Many libraries write it for every part.
    fn check_enveloped(&self, reference: &Reference, target: Target<'_>) -> Result<(), Rejected> {
        if !reference.transforms.contains(&Transform::Enveloped) {
            return Ok(());
        }
        let is_around = |node: NodeId| {
            let mut around = self.element(reference.signature).ancestors();
            node == reference.signature || around.any(|holder| holder.id() == node)
        };
        match target {
            Target::Element { node, .. } if !is_around(node) => Ok(()),
            _ => Err(Rejected::Signature(SignatureError::TransformRefused {
                uri: Transform::Enveloped.uri().to_owned(),
            })),
        }
    }
}

/// The digests of the elements that references are to as a whole and without comments, ascending by
/// node. `proven` is what the references prove.
pub(super) fn digests_of(references: &[Reference], proven: &[Proven]) -> Vec<PartDigest> {
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

/// Verifies the digest of a reference, canonicalization and digest one after the other where bytes
/// are collected.
fn verify_digest(
    reference: &Reference,
    document: &Document,
    target: Target<'_>,
    dereference: &mut Dereference,
    scratch: &mut Scratch,
    observer: &mut Observer<'_>,
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
