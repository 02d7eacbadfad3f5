//! The plan's demands, each compared with what was proven, node by node.

use soapstone_crypto::Certificate;
use soapstone_xml::{Element, NodeId};

use super::Opening;
use crate::binding::{Layout, ProtectionOrder};
use crate::confirmation;
use crate::envelope::expanded_name;
use crate::evidence::{SignatureEvidence, SignatureRole};
use crate::names::{DS, WSSE, WSSE11, WSU, XENC};
use crate::part::{EncryptedPart, Extent, Part};
use crate::rejected::Rejected;

impl Opening<'_> {
    /// The items that the header must have.
    pub(super) fn compare_items(&self) -> Result<(), Rejected> {
        let demands = &self.plan.demands;
        if demands.requires_timestamp && self.timestamp.is_none() {
            return Err(Rejected::TimestampMissing);
        }
        if demands.username.is_some() && self.username.is_none() {
            return Err(Rejected::UsernameMissing);
        }
        self.compare_confirmation()
    }

    pub(super) fn compare(&mut self, security: Option<NodeId>) -> Result<(), Rejected> {
        let plan = self.plan;
        let demands = &plan.demands;
        if demands.has_security {
            // What one held may be several elements, or hide its header block in another one.
            let is_right = |held: Element<'_>| !held.is(WSSE11, "EncryptedHeader");
            self.envelope.check_encrypted_headers(is_right)?;
        }
        self.compare_items()?;
        for part in &demands.required {
            if self.nodes_of(part).is_empty() {
                return Err(Rejected::PartMissing { part: part.clone() });
            }
        }
        if let Some(signature) = &demands.signature {
            if demands.endorsements.assigns_message {
                self.compare_signers()?;
            } else {
                self.compare_signatures()?;
                self.compare_endorsements()?;
            }
            let is_signed = |node: NodeId| self.signing_steps(node).next().is_some();
            for (part, _) in &signature.parts {
                // Of these there may be thousands, and each is one element or none.
                let all_signed = match part {
                    Part::Id(id) => self.named(id).is_none_or(is_signed),
                    part => self.nodes_of(part).into_iter().all(is_signed),
                };
                if !all_signed {
                    return Err(Rejected::Unsigned { part: part.clone() });
                }
            }
        }
        if let Some(encryption) = &demands.encryption {
            for (wanted, order) in &encryption.parts {
                for node in self.nodes_of(&wanted.part) {
                    self.compare_encrypted(wanted, node, *order)?;
                }
            }
        }
        self.check_deciphered()?;
        self.check_order()?;
        self.check_layout(security)?;
        self.check_places(security)
    }

    /// Where cipher text is what is signed, no signature tells whether it was listed for
    /// decryption: somebody may take an element that is encrypted if it is there for one that
    /// is not there, by taking its reference out of the list. Whole header blocks are judged by
    /// their places ([`check_places`](Self::check_places)), and the Body is always there.
    fn check_deciphered(&self) -> Result<(), Rejected> {
        let Some(optional) = &self.plan.demands.optional_cipher else {
            return Ok(());
        };
        let blocks = self.header_blocks();
        let mut left = blocks
            .filter(|block| !block.is(WSSE, "Security"))
            .chain(std::iter::once(self.envelope.body()))
            .flat_map(|held| held.descendants());
        match left.any(|element| element.is(XENC, "EncryptedData") && !element.is_replaced()) {
            true => Err(Rejected::Undeciphered {
                part: optional.clone(),
            }),
            false => Ok(()),
        }
    }

    /// Where the plan has the plain text of a part signed, no signature is over its cipher text:
    /// anybody can sign somebody else's, without knowing what it holds. Steps alone do not
    /// tell: one signature may be verified between two decryptions of the same part, or refer to
    /// what is deciphered already.
    fn check_order(&self) -> Result<(), Rejected> {
        if self.signed_ciphers.is_empty() {
            return Ok(());
        }
        let signature = self.plan.demands.signature.iter();
        for (part, order) in signature.flat_map(|signature| &signature.parts) {
            let mut nodes = self.nodes_of(part).into_iter();
            if *order == ProtectionOrder::SignBeforeEncrypting
                && nodes.any(|node| self.is_signed_as_cipher(node))
            {
                return Err(Rejected::WrongOrder { part: part.clone() });
            }
        }
        Ok(())
    }

    /// Whether the plan has plain text signed, and `node` was signed as cipher text: then nobody
    /// who has read it says so.
    fn is_signed_unread(&self, node: NodeId) -> bool {
        self.plan.demands.order == ProtectionOrder::SignBeforeEncrypting
            && self.is_signed_as_cipher(node)
    }

    /// Whether a signature is over cipher text that `node`, or something inside of it, was in.
    pub(super) fn is_signed_as_cipher(&self, node: NodeId) -> bool {
        let mut signed = self.signed_ciphers.iter();
        signed.any(|data| self.is_hidden_in(node, *data))
    }

    /// Whether `node`, or something inside of it, was in this cipher text, maybe in cipher text
    /// that was in it.
    fn is_hidden_in(&self, node: NodeId, data: NodeId) -> bool {
        let document = &self.envelope.document;
        let hidden = |node: &NodeId| self.graft_of(*node).map(|graft| graft.encrypted_data);
        document.element(node).contains(document.element(data))
            || self
                .holders(node)
                .any(|holder| std::iter::successors(Some(holder), hidden).any(|it| it == data))
    }

    /// The signatures that prove parts of the message.
    pub(super) fn message_signatures(&self) -> impl Iterator<Item = &SignatureEvidence> {
        self.evidence
            .signatures
            .iter()
            .filter(|signature| signature.role == SignatureRole::Message)
    }

    /// One signature proves all parts. Two could come from two messages, whose parts somebody
    /// without a key has put together: the Body of one with the Timestamp, or the password, of
    /// the other. And of two signers it could not be told which one sends.
    fn compare_signatures(&self) -> Result<(), Rejected> {
        let mut signatures = self.message_signatures();
        match (signatures.next(), signatures.next()) {
            (None, _) => Err(Rejected::SignatureMissing),
            (Some(_), None) => Ok(()),
            (Some(_), Some(_)) => Err(Rejected::TooMany {
                what: "signatures that endorse none",
                limit: 1,
            }),
        }
    }

    /// An answer confirms the signatures of its request.
    fn compare_confirmation(&self) -> Result<(), Rejected> {
        match (&self.facts.request, self.plan.demands.confirms) {
            (Some(request), true) => {
                confirmation::compare(&self.confirmed, &request.signature_values)
            }
            _ => Ok(()),
        }
    }

    /// The order of the header's elements (WS-SecurityPolicy 1.3, 6.7).
    fn check_layout(&self, security: Option<NodeId>) -> Result<(), Rejected> {
        let Some(security) = security.map(|security| self.envelope.document.element(security))
        else {
            return Ok(());
        };
        let violated = |problem| Err(Rejected::LayoutViolated { problem });
        let is_timestamp =
            |child: Option<Element<'_>>| child.map(|child| child.id()) == self.timestamp;
        match self.plan.demands.layout {
            Layout::LaxTimestampFirst if !is_timestamp(security.first_child()) => {
                violated("expected the `wsu:Timestamp` first in `wsse:Security`")
            }
            Layout::LaxTimestampLast if !is_timestamp(security.children().last()) => {
                violated("expected the `wsu:Timestamp` last in `wsse:Security`")
            }
            Layout::Lax | Layout::LaxTimestampFirst | Layout::LaxTimestampLast => Ok(()),
            Layout::Strict => {
                let order: Vec<NodeId> = security.children().map(|child| child.id()).collect();
                let place = |node: NodeId| order.iter().position(|child| *child == node);
                let late = self.uses.iter().any(|(token, user)| {
                    place(*token)
                        .zip(place(*user))
                        .is_some_and(|(token, user)| token > user)
                });
                if late {
                    return violated("expected tokens before what uses them in `wsse:Security`");
                }
                Ok(())
            }
        }
    }

    /// Refuses signed elements that stand where nobody signs: a header block that was signed and
    /// moved aside would be missing from its place, and its absence would not be noticed.
    fn check_places(&self, security: Option<NodeId>) -> Result<(), Rejected> {
        let signed = self
            .evidence
            .signatures
            .iter()
            .flat_map(|signature| &signature.nodes);
        for node in signed {
            let element = self.envelope.document.element(*node);
            if !self.is_in_place(element, security) {
                return Err(Rejected::SignedElsewhere {
                    element: expanded_name(element),
                });
            }
        }
        Ok(())
    }

    /// In the Body, a part of the `wsse:Security` header, a header block as it came or as it was
    /// before encryption, or named by the plan.
    fn is_in_place(&self, element: Element<'_>, security: Option<NodeId>) -> bool {
        // What stands inside cipher text that was deciphered is gone with it.
        if element.ancestors().any(|holder| holder.is_replaced()) {
            return false;
        }
        let body = self.envelope.body();
        let whole = self.plan.demands.only_entire_parts;
        let inside_body = |holder: Element<'_>| !whole && holder.id() == body.id();
        if element.id() == body.id() || is_part_of_header(element, security) {
            return true;
        }
        if element.ancestors().any(inside_body) {
            let body_is_signed = || self.signing_steps(body.id()).next().is_some();
            return !belongs_into_header(element, &self.plan.demands.signed_blocks)
                || body_is_signed()
                || self.is_named(element);
        }
        self.is_readable_block(element) || self.is_named(element)
    }

    /// Whether an element is a header block as the application sees it: itself, or held by an
    /// `EncryptedHeader` in cipher text that was deciphered. Cipher text that nobody has
    /// deciphered is no block, since it may be one that the plan names, whose reference somebody
    /// has taken out of the list of what is to be deciphered.
    fn is_readable_block(&self, element: Element<'_>) -> bool {
        let header = self.envelope.header().map(|header| header.id());
        let is_block = |block: Element<'_>| block.parent().map(|parent| parent.id()) == header;
        // One that holds more, or holds it in the clear, is not read as the block that it holds.
        let is_deciphered = |block: Element<'_>| {
            let mut held = block.children();
            let deciphered = held.next().and_then(|first| self.graft_of(first.id()));
            deciphered.is_some() && held.next().is_none()
        };
        let is_encrypted_header = |block: Element<'_>| block.is(WSSE11, "EncryptedHeader");
        if !is_block(element) {
            return element.parent().is_some_and(|parent| {
                is_encrypted_header(parent) && is_block(parent) && is_deciphered(parent)
            });
        }
        if is_encrypted_header(element) {
            let actor = self.plan.demands.actor.as_deref();
            return is_deciphered(element) || !self.envelope.is_for(element, actor);
        }
        !element.is(XENC, "EncryptedData") || element.is_replaced()
    }

    /// Whether the plan wants this element signed by its id or by a path, or something that was in
    /// this cipher text.
    fn is_named(&self, element: Element<'_>) -> bool {
        let is_meant = |node: NodeId| {
            node == element.id()
                || element.is_replaced() && self.holders(node).any(|it| it == element.id())
        };
        let mut named = self.plan.demands.named_parts.iter();
        named.any(|part| self.nodes_of(part).into_iter().any(is_meant))
    }

    /// Whether a node of a part was encrypted, and in this order if it is to be signed, too.
    pub(super) fn compare_encrypted(
        &self,
        wanted: &EncryptedPart,
        node: NodeId,
        order: Option<ProtectionOrder>,
    ) -> Result<(), Rejected> {
        let part = || wanted.part.clone();
        let encrypted = self
            .encrypting_step(node, wanted.extent)
            .ok_or_else(|| Rejected::Unencrypted { part: part() })?;
        let right_order = order.is_none_or(|order| {
            self.signing_steps(node).any(|step| match order {
                ProtectionOrder::SignBeforeEncrypting => step > encrypted,
                ProtectionOrder::EncryptBeforeSigning => step < encrypted,
            })
        });
        if right_order {
            Ok(())
        } else {
            Err(Rejected::WrongOrder { part: part() })
        }
    }

    /// The nodes of this message that a part means. None where the part is absent, which is for the
    /// required parts to judge.
    pub(super) fn nodes_of(&self, part: &Part) -> Vec<NodeId> {
        match part {
            Part::Body => vec![self.envelope.body().id()],
            Part::Timestamp => self.timestamp.into_iter().collect(),
            Part::UsernameToken => self.username.into_iter().collect(),
            Part::Signature => self.signatures.clone(),
            // One inside of the signature that it is for is as it is signed, or encrypted, together
            // with that.
            Part::Token => self.signing_tokens.clone(),
            Part::EndorsingToken => {
                let tokens = self.endorsements().filter_map(|one| one.token);
                tokens.collect()
            }
            Part::SignatureConfirmation => self.confirmations.clone(),
            Part::Header { namespace, local } => self
                .header_blocks()
                .filter(|block| block.is(namespace, local))
                .map(|block| block.id())
                .collect(),
            Part::Id(id) => self.named(id).into_iter().collect(),
            Part::Path(path) => path.select(&self.envelope.document),
        }
    }

    /// The one element with an id.
    fn named(&self, id: &str) -> Option<NodeId> {
        self.envelope.document.by_id(id).ok().flatten()
    }

    /// Header blocks as the application sees them: what an `EncryptedHeader` held counts as the
    /// block (SOAP Message Security 1.1.1, 9.3).
    pub(super) fn header_blocks(&self) -> impl Iterator<Item = Element<'_>> {
        self.envelope
            .header()
            .into_iter()
            .flat_map(|header| header.children())
            .map(|block| {
                let inner = block
                    .is(WSSE11, "EncryptedHeader")
                    .then(|| block.first_child())
                    .flatten();
                inner
                    .filter(|inner| self.graft_of(inner.id()).is_some())
                    .unwrap_or(block)
            })
    }

    /// The steps at which accepted signatures covered `node`: itself, or something that holds it.
    pub(super) fn signing_steps(&self, node: NodeId) -> impl Iterator<Item = u32> {
        self.message_signatures()
            .filter(move |signature| self.holders(node).any(|holder| signature.covers(holder)))
            .map(|signature| signature.step)
    }

    /// Whether the plan has an endorsing signature cover parts, and it covers `node`, and is of
    /// whoever made the message's: what somebody else endorses is not what the sender says.
    fn is_endorsed_by_sender(&self, node: NodeId) -> bool {
        let sender = self.evidence.signer().map(Certificate::der);
        // Where nobody signs by name, neither does the context whose owner sends.
        let by_sender = |signature: &&SignatureEvidence| {
            signature.certificate().map(Certificate::der) == sender
        };
        self.plan.demands.endorsements.cover_parts
            && self
                .endorsements()
                .filter(by_sender)
                .any(|signature| self.holders(node).any(|holder| signature.covers(holder)))
    }

    /// `node`, every element around it, and every `EncryptedData` in whose ciphertext it was;
    /// `node` first.
    pub(super) fn holders(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        let document = &self.envelope.document;
        let around = |node: &NodeId| document.element(*node).parent().map(|parent| parent.id());
        let hidden_in = |node: NodeId| self.graft_of(node).map(|graft| graft.encrypted_data);
        std::iter::successors(Some(node), around)
            .flat_map(move |node| std::iter::once(node).chain(hidden_in(node)))
    }

    /// The step at which `node` (or its content) was deciphered: by itself, or with something
    /// around it.
    fn encrypting_step(&self, node: NodeId, extent: Extent) -> Option<u32> {
        let holders: Vec<NodeId> = self.holders(node).collect();
        let (itself, around) = holders.split_first()?;
        let encrypted = &self.evidence.encrypted;
        let enough = |found: Extent| extent == Extent::Content || found == Extent::Element;
        encrypted
            .iter()
            .find(|proof| proof.node == *itself && enough(proof.extent))
            .or_else(|| {
                encrypted.iter().find(|proof| {
                    around.contains(&proof.node) || around.contains(&proof.encrypted_data)
                })
            })
            .map(|proof| proof.step)
    }

    /// The header blocks that may be passed on; those that no signature covers may not, where
    /// signatures are all that proves them.
    pub(super) fn blocks_to_pass_on(
        &mut self,
        security: Option<NodeId>,
    ) -> Result<Vec<NodeId>, Rejected> {
        let mut blocks = Vec::new();
        let mut dropped = Vec::new();
        for block in self.header_blocks() {
            if Some(block.id()) == security
                || block.is(WSSE, "Security")
                || block.is(DS, "Signature")
            {
                continue;
            }
            let is_signed = self.signing_steps(block.id()).next().is_some()
                || self.is_endorsed_by_sender(block.id());
            if !self.plan.demands.proves_parts || is_signed && !self.is_signed_unread(block.id()) {
                blocks.push(block.id());
            } else if self.envelope.must_understand(block) {
                return Err(Rejected::HeaderNotVerified {
                    header: expanded_name(block),
                });
            } else if dropped.len() < MOST_DROPPED {
                dropped.push(shortened(expanded_name(block)));
            }
        }
        self.evidence.dropped = dropped;
        Ok(blocks)
    }
}

/// Most header blocks that are dropped whose names are told. Anybody can add some to a message,
/// each with a namespace that takes megabytes to tell and is said once for all of them.
const MOST_DROPPED: usize = 64;

/// Octets of each name.
const LONGEST_DROPPED: usize = 1024;

fn shortened(mut name: String) -> String {
    if name.len() > LONGEST_DROPPED {
        name.truncate(name.floor_char_boundary(LONGEST_DROPPED));
        name.push('…');
        name.shrink_to_fit();
    }
    name
}

/// Whether an element is one that is looked for in the header, or one of these header blocks. In a
/// Body that is not signed, somebody may have put it aside; in one that is, it was there.
fn belongs_into_header(element: Element<'_>, blocks: &[(String, String)]) -> bool {
    element.is(WSU, "Timestamp")
        || element.is(WSSE, "UsernameToken")
        || blocks
            .iter()
            .any(|(namespace, local)| element.is(namespace, local))
}

/// Whether an element is a child of the `wsse:Security` header, or stands in it where a key or
/// token is: in nothing but elements whose content is read strictly, so that nothing else can stand
/// there. Others are read for what they must hold, or not at all, and might hold a header block
/// too.
fn is_part_of_header(element: Element<'_>, security: Option<NodeId>) -> bool {
    let holds_keys = [
        (DS, "Signature"),
        (DS, "KeyInfo"),
        (WSSE, "SecurityTokenReference"),
        (WSSE, "Embedded"),
        (XENC, "EncryptedKey"),
    ];
    let is_security = |holder: &Element<'_>| Some(holder.id()) == security;
    element
        .ancestors()
        .find(|holder| {
            !holds_keys
                .iter()
                .any(|(namespace, local)| holder.is(namespace, local))
        })
        .is_some_and(|holder| is_security(&holder))
}
