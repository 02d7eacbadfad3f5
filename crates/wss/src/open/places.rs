//! Where signed and deciphered elements stand, and which header blocks are passed on.
//!
//! The one rule: what a signature covers stands where a receiver looks for it, or the message is
//! refused.

use soapstone_xml::{Element, NodeId};

use super::comparison::Comparison;
use crate::binding::ProtectionOrder;
use crate::envelope::expanded_name;
use crate::event::Demand;
use crate::evidence::MOST_DROPPED;
use crate::names::{DS, SAML20, WSSE, WSSE_2002, WSSE11, WSU, XENC};
use crate::part::Part;
use crate::rejected::Rejected;
use crate::token::version_of;

impl Comparison<'_, '_> {
    /// Refuses signed elements that stand where nobody signs: a header block that was signed and
    /// moved aside would be missing from its place, and its absence would not be noticed.
    pub(super) fn check_places(&self) -> Result<(), Rejected> {
        let signed = self
            .evidence
            .signatures
            .iter()
            .flat_map(|signature| &signature.nodes);
        for node in signed {
            let element = self.message.element(*node);
            if !self.is_in_place(element) {
                return Err(Rejected::SignedElsewhere {
                    element: expanded_name(element),
                });
            }
        }
        Ok(())
    }

    /// The list of what is deciphered is not signed (SOAP Message Security 1.1.1, 9.1). Whoever
    /// adds to it has something deciphered that the sender quotes as cipher text, or that
    /// somebody put where no signature covers it. So nothing is deciphered but what the
    /// encrypted parts were in, items of the header, and what a signature covers in plain text;
    /// or a whole header block, which is judged by what it turns out to be. The content of the
    /// Body may be cipher text as a whole where no encrypted part stands in the Body. A token and
    /// the header of another node are never deciphered in part.
    pub(super) fn check_deciphered_places(&self, mut awaited: Vec<NodeId>) -> Result<(), Rejected> {
        awaited.sort_unstable();
        let body = self.message.envelope.body().id();
        let of_body = |data: NodeId| self.holders(data).any(|holder| holder == body);
        let body_is_awaited = awaited.iter().any(|data| of_body(*data));
        for (data, held) in self.plaintext.deciphered() {
            let element = self.message.element(data);
            let is_expected = awaited.binary_search(&data).is_ok()
                || self.is_in_header(element)
                || !body_is_awaited && self.is_whole_body(element)
                || !self.is_in_any_security(element)
                    && (self.demands().signature.is_none() || self.is_judged(element, held));
            if !is_expected {
                let holder = element.parent().unwrap_or(element);
                return Err(Rejected::CipherTextUnexpected {
                    element: expanded_name(holder),
                });
            }
        }
        Ok(())
    }

    /// Whether a signature covers a node, or an endorsement by the sender.
    fn is_covered(&self, node: NodeId) -> bool {
        self.signing_steps(node).next().is_some() || self.is_endorsed_by_sender(node)
    }

    /// Whether the cipher text of a part stands where the plan means it. Paths and ids look
    /// everywhere: in a header block that no signature covers, and in the header of another node,
    /// somebody may have put what he captured. A path that names one header block, and what is in
    /// it, means that, signed or not.
    pub(super) fn is_selected_in_place(&self, part: &Part, node: NodeId, data: NodeId) -> bool {
        let names_its_place = match part {
            Part::Id(_) => false,
            Part::Path(path) => path.names_header_block(),
            _ => return true,
        };
        let element = self.message.element(data);
        if self.is_in_header(element) {
            return true;
        }
        let body = self.message.envelope.body().id();
        !self.is_in_any_security(element)
            && (names_its_place && self.is_of_readable_block(node)
                || self.demands().signature.is_none()
                || self.holders(data).any(|holder| holder == body)
                || self.is_covered(node)
                || self.is_covered(data))
    }

    /// Whether a node is a header block as the application sees it, or stands in one. Paths lead
    /// through each `EncryptedHeader`, but one that was no cipher text is the block itself.
    fn is_of_readable_block(&self, node: NodeId) -> bool {
        let header = self.message.envelope.header().map(|header| header.id());
        let is_outermost = |one: &Element<'_>| {
            one.parent().is_some_and(|holder| {
                Some(holder.id()) == header || holder.is(WSSE11, "EncryptedHeader")
            })
        };
        let element = self.message.element(node);
        let block = std::iter::once(element)
            .chain(element.ancestors())
            .find(is_outermost);
        block.is_some_and(|block| self.is_readable_block(block))
    }

    /// Whether cipher text was all that the Body held, by itself in no other cipher text, and a
    /// signature covers the Body if the plan has one.
    fn is_whole_body(&self, data: Element<'_>) -> bool {
        let body = self.message.envelope.body();
        (self.demands().signature.is_none() || self.is_covered(body.id()))
            && self.holders(data.id()).nth(1) == Some(body.id())
            && body.children().all(|child| {
                child.id() == data.id() || self.holders(child.id()).any(|it| it == data.id())
            })
    }

    /// Where plain text is signed: whether cipher text held a whole header block, or signatures
    /// cover what it held, and none covers the cipher text.
    fn is_judged(&self, data: Element<'_>, held: &[NodeId]) -> bool {
        let header = self.message.envelope.header().map(|header| header.id());
        let is_header = |holder: Element<'_>| Some(holder.id()) == header;
        let is_block = data.parent().is_some_and(|holder| {
            is_header(holder)
                || holder.is(WSSE11, "EncryptedHeader") && holder.parent().is_some_and(is_header)
        });
        let covers = || !held.is_empty() && held.iter().all(|node| self.is_covered(*node));
        let is_signed =
            || (self.is_covered(data.id()) || covers()) && !self.is_signed_as_cipher(data.id());
        self.demands().order == ProtectionOrder::SignBeforeEncrypting && (is_block || is_signed())
    }

    /// Whether an element stands in the header of this node, or in that of another one.
    fn is_in_any_security(&self, element: Element<'_>) -> bool {
        let own = self.message.security;
        let is_security =
            |holder: Element<'_>| Some(holder.id()) == own || holder.is(WSSE, "Security");
        element.ancestors().any(is_security)
    }

    /// In the Body, a part of the `wsse:Security` header, a header block as it came or as it was
    /// before encryption, or named by the plan.
    fn is_in_place(&self, element: Element<'_>) -> bool {
        // What stands inside cipher text that was deciphered is gone with it.
        if element.ancestors().any(|holder| holder.is_replaced()) {
            return false;
        }
        let body = self.message.envelope.body();
        let whole = self.demands().only_entire_parts;
        let inside_body = |holder: Element<'_>| !whole && holder.id() == body.id();
        if element.id() == body.id() || self.is_in_header(element) {
            return true;
        }
        if element.ancestors().any(inside_body) {
            let body_is_signed = || self.signing_steps(body.id()).next().is_some();
            return !belongs_into_header(element, &self.demands().signed_blocks)
                || body_is_signed()
                || self.is_named(element);
        }
        self.is_readable_block(element) || self.is_named(element)
    }

    /// Whether an element is an item of the `wsse:Security` header, or stands in it where a key or
    /// token is.
    pub(super) fn is_in_header(&self, element: Element<'_>) -> bool {
        let security = self.message.security;
        is_part_of_header(element, security, self.demands().hides_assertion())
    }

    /// Whether an element is a header block as the application sees it: itself, or held by an
    /// `EncryptedHeader` in cipher text that was deciphered. Cipher text that nobody has
    /// deciphered is no block, since it may be one that the plan names, whose reference somebody
    /// has taken out of the list of what is to be deciphered.
    fn is_readable_block(&self, element: Element<'_>) -> bool {
        let header = self.message.envelope.header().map(|header| header.id());
        let is_block = |block: Element<'_>| block.parent().map(|parent| parent.id()) == header;
        // One that holds more, or holds it in the clear, is not read as the block that it holds.
        let is_deciphered = |block: Element<'_>| {
            let mut held = block.children();
            let deciphered = held
                .next()
                .and_then(|first| self.plaintext.origin(first.id()));
            deciphered.is_some() && held.next().is_none()
        };
        let is_encrypted_header = |block: Element<'_>| block.is(WSSE11, "EncryptedHeader");
        if !is_block(element) {
            return element.parent().is_some_and(|parent| {
                is_encrypted_header(parent) && is_block(parent) && is_deciphered(parent)
            });
        }
        if is_encrypted_header(element) {
            let actor = self.demands().actor.as_deref();
            return is_deciphered(element) || !self.message.envelope.is_for(element, actor);
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
        let mut named = self.demands().named_parts.iter();
        named.any(|part| self.nodes_of(part).into_iter().any(is_meant))
    }

    /// The header blocks that may be passed on; those that no signature covers may not, where
    /// signatures are all that proves them.
    pub(super) fn blocks_to_pass_on(&mut self) -> Result<PassedBlocks, Rejected> {
        let outcome = self.proven_blocks();
        self.tell_of_demand(Demand::HeaderBlocks, outcome.as_ref().err());
        outcome
    }

    fn proven_blocks(&mut self) -> Result<PassedBlocks, Rejected> {
        if self.demands().intermediary.is_some() {
            return Ok(PassedBlocks {
                proven: self.blocks_at_intermediary(),
                in_order: None,
            });
        }
        let mut blocks = Vec::new();
        let mut unproven = Vec::new();
        let mut dropped = Vec::new();
        for block in self.header_blocks() {
            if Some(block.id()) == self.message.security
                || block.is(WSSE, "Security")
                || block.is(WSSE_2002, "Security") && self.demands().accepts_draft()
                || block.is(DS, "Signature")
            {
                continue;
            }
            let is_signed = self.signing_steps(block.id()).next().is_some()
                || self.is_endorsed_by_sender(block.id());
            let is_proven =
                !self.demands().proves_parts || is_signed && !self.is_signed_unread(block.id());
            if is_proven && !self.looks_accepted(block, is_signed) {
                blocks.push(block.id());
            } else if self.may_be_unsigned(block) && !self.looks_accepted(block, is_signed) {
                if unproven.len() == MOST_UNPROVEN {
                    return Err(Rejected::TooMany {
                        what: "header blocks that nothing proves",
                        limit: MOST_UNPROVEN,
                    });
                }
                unproven.push(block.id());
            } else if self.message.envelope.must_understand(block) {
                return Err(Rejected::HeaderNotVerified {
                    header: expanded_name(block),
                });
            } else if dropped.len() < MOST_DROPPED {
                dropped.push(block);
            }
        }
        // Of two blocks with one name, the backend could not tell which one is proven.
        let name = |node: NodeId| expanded_name(self.message.element(node));
        let proven: Vec<String> = match unproven.is_empty() {
            true => Vec::new(),
            false => blocks.iter().map(|block| name(*block)).collect(),
        };
        let (unproven, ambiguous): (Vec<NodeId>, Vec<NodeId>) = unproven
            .into_iter()
            .partition(|block| !proven.contains(&name(*block)));
        let names: Vec<String> = unproven.iter().map(|block| name(*block)).collect();
        for block in ambiguous {
            let block = self.message.element(block);
            if self.message.envelope.must_understand(block) {
                return Err(Rejected::HeaderNotVerified {
                    header: expanded_name(block),
                });
            }
            if dropped.len() < MOST_DROPPED {
                dropped.push(block);
            }
        }
        for name in names {
            if !self.evidence.unproven.contains(&name) {
                self.evidence.unproven.push(name);
            }
        }
        for block in dropped {
            self.evidence.note_dropped(expanded_name(block));
        }
        let in_order = (!unproven.is_empty()).then(|| {
            let all = self.header_blocks().map(|block| block.id());
            all.filter(|block| blocks.contains(block) || unproven.contains(block))
                .collect()
        });
        let assertion = self.forwarded_assertion();
        blocks.extend(assertion);
        let in_order = in_order.map(|mut all: Vec<NodeId>| {
            all.extend(assertion);
            all
        });
        Ok(PassedBlocks {
            proven: blocks,
            in_order,
        })
    }

    /// Whether somebody behind the receiver would take a header block for the assertion that was
    /// accepted: the block is an assertion, or a stranger's with one inside.
    fn looks_accepted(&self, block: Element<'_>, is_signed: bool) -> bool {
        let is_assertion = |element: Element<'_>| version_of(element).is_some();
        self.demands().assertion().is_some()
            && (is_assertion(block) || !is_signed && block.descendants().any(is_assertion))
    }

    /// Whether the plan has a block passed on although nothing proves it.
    fn may_be_unsigned(&self, block: Element<'_>) -> bool {
        let mut named = self.demands().unsigned_blocks.iter();
        named.any(|(namespace, local)| block.is(namespace, local))
    }
}

/// The header blocks that are passed on.
#[derive(Debug, Default)]
pub(super) struct PassedBlocks {
    /// Those that are proven.
    pub(super) proven: Vec<NodeId>,
    /// All of them in their order, where some are not.
    pub(super) in_order: Option<Vec<NodeId>>,
}

/// Most header blocks that are passed on although nothing proves them: a message has one of a name,
/// or few.
pub(super) const MOST_UNPROVEN: usize = 64;

/// Whether an element is one that is looked for in the header, or one of these header blocks. In a
/// Body that is not signed, somebody may have put it aside; in one that is, it was there.
fn belongs_into_header(element: Element<'_>, blocks: &[(String, String)]) -> bool {
    element.is(WSU, "Timestamp")
        || element.is(WSSE, "UsernameToken")
        || element.is(WSSE_2002, "UsernameToken")
        || blocks
            .iter()
            .any(|(namespace, local)| element.is(namespace, local))
}

/// Whether an element is a child of the `wsse:Security` header, or stands in it where a key or
/// token is: in nothing but elements whose content is read strictly, so that nothing else can stand
/// there. Others are read for what they must hold, or not at all, and might hold a header block
/// too.
fn is_part_of_header(
    element: Element<'_>,
    security: Option<NodeId>,
    hides_assertion: bool,
) -> bool {
    let holds_keys = [
        (DS, "Signature"),
        (DS, "KeyInfo"),
        (WSSE, "SecurityTokenReference"),
        (WSSE, "Embedded"),
        (XENC, "EncryptedKey"),
    ];
    let is_security = |holder: &Element<'_>| Some(holder.id()) == security;
    // Read strictly where the plan has it alone.
    let holds_assertion =
        |holder: &Element<'_>| hides_assertion && holder.is(SAML20, "EncryptedAssertion");
    element
        .ancestors()
        .find(|holder| {
            let mut names = holds_keys.iter();
            let is_named = names.any(|(namespace, local)| holder.is(namespace, local));
            !is_named && !holds_assertion(holder)
        })
        .is_some_and(|holder| is_security(&holder))
}
