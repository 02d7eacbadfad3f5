//! How an intermediary passes a message on: what it takes out, what it puts back, and what it must
//! not touch.
//!
//! The one rule: the header of another node never loses what it refers to, and no signature of
//! another node breaks. Such a message is refused.

use std::collections::HashSet;

use soapstone_xml::{Element, NodeId};
use soapstone_xmlsec::dsig::{NoExtension, Reference, SameDocument, SignatureError, Target};

use super::comparison::Comparison;
use super::opening::Opening;
use super::places::MOST_UNPROVEN;
use crate::envelope::{expanded_name, range};
use crate::names::{DS, DSIG11, NEXT, WSSE, WSSE_2002, WSSE11, XENC};
use crate::passage::Passage;
use crate::rejected::Rejected;

/// Elements that refer to others of the message: all but the last by their `URI`.
const REFERENCES: [(&str, &str); 9] = [
    (DS, "Reference"),
    (DS, "RetrievalMethod"),
    (DSIG11, "KeyInfoReference"),
    (WSSE, "Reference"),
    (WSSE_2002, "Reference"),
    (XENC, "DataReference"),
    (XENC, "KeyReference"),
    (XENC, "CipherReference"),
    (WSSE, "KeyIdentifier"),
];

/// What a signature covers that is not of this node's header.
pub(super) struct Sealed {
    target: NodeId,
    /// It covers cipher text as it came, or nobody here can tell.
    as_cipher_text: bool,
}

impl Opening<'_> {
    /// What signatures for other nodes cover that holds cipher text, before anything of it is
    /// deciphered. No key is needed: their digests tell which form they are of.
    pub(super) fn sealed_as_cipher_text(&mut self) -> Result<Vec<Sealed>, Rejected> {
        let message = &self.message;
        let demands = message.demands();
        if !demands.intermediary.is_some_and(|it| it.reinserts) {
            return Ok(Vec::new());
        }
        let document = message.document();
        let data = document.root().descendants();
        let data = data.filter(|element| element.is(XENC, "EncryptedData"));
        let holds_cipher_text: HashSet<NodeId> = data
            .flat_map(|data| std::iter::once(data).chain(data.ancestors()))
            .map(|holder| holder.id())
            .collect();
        let rules = demands.limits.signature_rules();
        let mut sealed = Vec::new();
        let others = document.root().descendants().filter(|element| {
            element.is(DS, "Reference") && !is_inside(*element, message.security)
        });
        for element in others {
            let Some(target @ Target::Element { node, .. }) = referred(document, element) else {
                continue;
            };
            if !holds_cipher_text.contains(&node) {
                continue;
            }
            if sealed.len() == demands.limits.references {
                return Err(Rejected::TooMany {
                    what: "references of other nodes to what holds cipher text",
                    limit: demands.limits.references,
                });
            }
            let bytes = document.source(node).map_or(0, <[u8]>::len);
            self.budget.digest_of_others(bytes)?;
            let signature = element.ancestors().find(|it| it.is(DS, "Signature"));
            let signature = signature.map_or(element.id(), |it| it.id());
            let reference = Reference::parse(element, signature, &rules);
            let mut covers = |reference: &Reference| {
                reference.verify(document, target, &mut NoExtension, &mut self.scratch)
            };
            let as_cipher_text = match reference {
                Ok(reference) => !matches!(
                    covers(&reference),
                    Err(SignatureError::DigestMismatch { .. })
                ),
                Err(_) => true,
            };
            sealed.push(Sealed {
                target: node,
                as_cipher_text,
            });
        }
        Ok(sealed)
    }

    /// How the message is passed on; `None`, where this node is its last one.
    pub(super) fn passage(&mut self, sealed: &[Sealed]) -> Result<Option<Passage>, Rejected> {
        let Some(intermediary) = self.message.demands().intermediary else {
            return Ok(None);
        };
        let taken_out = self.comparison().blocks_to_take_out()?;
        if intermediary.reinserts {
            self.check_blocks_put_back()?;
        }
        let places = self.places_of(&taken_out)?;
        self.evidence.unproven = self.comparison().unproven_at_intermediary(&taken_out)?;
        let document = self.message.document();
        let out: HashSet<NodeId> = places.iter().copied().collect();
        let goes = |element: Element<'_>| {
            let mut around = std::iter::once(element).chain(element.ancestors());
            around.any(|holder| out.contains(&holder.id()))
        };
        let source_end = document.bytes().len();
        // Grafts have their places behind the message.
        let in_source = |node: &NodeId| document.element(*node).range().end as usize <= source_end;
        let mut changed: Vec<(NodeId, Vec<u8>)> =
            places.iter().map(|node| (*node, Vec::new())).collect();
        let mut reinserted = Vec::new();
        if intermediary.reinserts {
            let replaced: Vec<NodeId> = document.replaced_elements().filter(in_source).collect();
            for data in replaced {
                let element = document.element(data);
                if goes(element) {
                    continue;
                }
                changed.push(self.reinsertion(data)?);
                reinserted.push(data);
            }
        }
        let gone = [taken_out.as_slice(), &places].concat();
        self.check_references(&gone, &reinserted, sealed)?;
        let document = self.message.document();
        changed.sort_by_key(|(node, _)| document.element(*node).range().start);
        let mut passage = Passage::taking(self.comparison().addressed_blocks(&taken_out));
        let document = self.message.document();
        for (node, with) in changed {
            passage.exchange(range(document.element(node)), with);
        }
        for node in taken_out {
            let element = self.message.element(node);
            let name = expanded_name(readable(element));
            self.evidence.note_taken_out(name);
        }
        Ok(Some(passage))
    }

    /// Refuses a `wsse:Security` header that was in cipher text, and is a header block by itself:
    /// nobody behind this node could tell it from a header that the sender addressed to him.
    fn check_blocks_put_back(&self) -> Result<(), Rejected> {
        let header = self.message.envelope.header();
        let mut blocks = header.into_iter().flat_map(|it| it.children());
        let is_hidden =
            |block: Element<'_>| is_security(block) && self.plaintext.origin(block.id()).is_some();
        match blocks.any(is_hidden) {
            true => Err(Rejected::SecurityDuplicated),
            false => Ok(()),
        }
    }

    /// The elements that blocks are taken out with, in the message as it came: each itself, or the
    /// cipher text that it was in. That held no other block.
    fn places_of(&self, blocks: &[NodeId]) -> Result<Vec<NodeId>, Rejected> {
        let out: HashSet<NodeId> = blocks.iter().copied().collect();
        let place = |block: NodeId| self.plaintext.place(block);
        // Blocks of one cipher text stand side by side.
        let mut places: Vec<NodeId> = blocks.iter().map(|block| place(*block)).collect();
        places.dedup();
        let emptied: HashSet<NodeId> = places.iter().copied().collect();
        let header = self.message.envelope.header();
        let mut stay = header.into_iter().flat_map(|it| it.children());
        let is_lost =
            |block: Element<'_>| !out.contains(&block.id()) && emptied.contains(&place(block.id()));
        match stay.any(is_lost) {
            true => Err(Rejected::Malformed {
                element: "xenc:EncryptedData",
                problem: "expected header blocks for this node alone in its cipher text, or for others alone"
                    .to_owned(),
            }),
            false => Ok(places),
        }
    }

    /// What plaintext takes the place of, and its bytes. An `EncryptedHeader` goes with its cipher
    /// text (SOAP Message Security 1.1.1, 9.3).
    fn reinsertion(&self, data: NodeId) -> Result<(NodeId, Vec<u8>), Rejected> {
        let document = self.message.document();
        let mut plain = Vec::new();
        document.write_graft(data, &mut plain);
        let holder = document.element(data).parent();
        let header = self.message.envelope.header();
        let is_header = |parent: Option<Element<'_>>| {
            parent.map(|parent| parent.id()) == header.map(|header| header.id())
        };
        let Some(holder) = holder
            .filter(|holder| holder.is(WSSE11, "EncryptedHeader") && is_header(holder.parent()))
        else {
            return Ok((data, plain));
        };
        let Some(block) = holder.first_child() else {
            return Ok((data, plain));
        };
        // Nobody behind this node could tell it from a header that the sender addressed to him.
        if is_security(block) {
            return Err(Rejected::Malformed {
                element: "wsse11:EncryptedHeader",
                problem:
                    "expected a header block that may be put back, found a `wsse:Security` header"
                        .to_owned(),
            });
        }
        // What the EncryptedHeader declares is gone with it.
        let outside = |prefix: &str| header.and_then(|header| header.namespace_of(prefix));
        let own: Vec<&str> = block.declarations().map(|(prefix, _)| prefix).collect();
        let mut declarations = String::new();
        for (prefix, uri) in holder.declarations() {
            if own.contains(&prefix) || outside(prefix).unwrap_or_default() == uri {
                continue;
            }
            declarations.push_str(match prefix {
                "" => " xmlns",
                _ => " xmlns:",
            });
            declarations.push_str(prefix);
            declarations.push_str("=\"");
            let mut written = Vec::new();
            soapstone_xml::escape::attribute(uri, &mut written);
            declarations.push_str(&String::from_utf8_lossy(&written));
            declarations.push('"');
        }
        let at = first_tag(&plain) + 1 + block.qualified_name().len();
        // An explanation goes on where the block may be another one.
        let at = at.min(plain.len());
        plain.splice(at..at, declarations.into_bytes());
        Ok((holder.id(), plain))
    }

    /// Refuses a message in which something refers to what is taken out, or a signature covers what
    /// is changed.
    fn check_references(
        &self,
        taken_out: &[NodeId],
        reinserted: &[NodeId],
        sealed: &[Sealed],
    ) -> Result<(), Rejected> {
        let document = self.message.document();
        let breaks = |element: Element<'_>| {
            Err(Rejected::SignatureWouldBreak {
                element: expanded_name(element),
            })
        };
        let around = |nodes: &[NodeId]| -> HashSet<NodeId> {
            let nodes = nodes.iter().map(|node| document.element(*node));
            nodes
                .flat_map(|node| node.ancestors().map(|holder| holder.id()))
                .collect()
        };
        let around_taken_out = around(taken_out);
        let out: HashSet<NodeId> = taken_out.iter().copied().collect();
        let goes = |element: Element<'_>| {
            let mut around = std::iter::once(element).chain(element.ancestors());
            around.any(|holder| out.contains(&holder.id()))
        };
        let refers = |element: &Element<'_>| {
            let mut names = REFERENCES.iter();
            names.any(|(namespace, local)| element.is(namespace, local))
        };
        for element in document.root().descendants().filter(refers) {
            if goes(element) {
                continue;
            }
            let covers = element.is(DS, "Reference");
            match referred(document, element) {
                Some(Target::Element { node, .. }) => {
                    let target = document.element(node);
                    if goes(target) || covers && around_taken_out.contains(&node) {
                        return breaks(target);
                    }
                }
                Some(Target::Document { .. }) => {
                    let of_header = element.ancestors().any(|it| it.is(WSSE, "Security"));
                    if covers && of_header {
                        return breaks(document.root());
                    }
                }
                _ => {}
            }
        }
        let mut changed = around(reinserted);
        changed.extend(reinserted);
        let mut sealed = sealed.iter().filter(|one| one.as_cipher_text);
        match sealed.find(|one| changed.contains(&one.target)) {
            Some(one) => breaks(document.element(one.target)),
            None => Ok(()),
        }
    }
}

impl Comparison<'_, '_> {
    /// The header blocks that signatures for this node cover, or all that it knows of where nothing
    /// is signed for it.
    pub(super) fn blocks_at_intermediary(&self) -> Vec<NodeId> {
        let is_proven = |block: &Element<'_>| {
            let is_signed = self.signing_steps(block.id()).next().is_some();
            !block.is(WSSE, "Security") && is_signed && !self.is_signed_unread(block.id())
        };
        let blocks = self.header_blocks().filter(is_proven);
        blocks.map(|block| block.id()).collect()
    }

    /// The header blocks among those that are taken out whose signed text says that they are for
    /// this node. Cipher text around one may name any node: nothing proves that.
    fn addressed_blocks(&self, taken_out: &[NodeId]) -> Vec<NodeId> {
        let envelope = &self.message.envelope;
        let actor = self.demands().actor.as_deref();
        let proven: HashSet<NodeId> = self.blocks_at_intermediary().into_iter().collect();
        let is_ours =
            |seen: Element<'_>| envelope.is_for(seen, actor) || envelope.is_for(seen, Some(NEXT));
        let blocks = envelope.header().into_iter().flat_map(|it| it.children());
        let blocks = blocks.zip(self.header_blocks()).filter(|(block, seen)| {
            taken_out.contains(&block.id()) && proven.contains(&seen.id()) && is_ours(*seen)
        });
        blocks.map(|(_, seen)| seen.id()).collect()
    }

    /// What goes on and nothing here proves, by expanded name, each once.
    fn unproven_at_intermediary(&self, taken_out: &[NodeId]) -> Result<Vec<String>, Rejected> {
        let envelope = &self.message.envelope;
        let out: HashSet<&NodeId> = taken_out.iter().collect();
        let proven: HashSet<NodeId> = self.blocks_at_intermediary().into_iter().collect();
        let mut unproven: Vec<String> = Vec::new();
        let blocks = envelope.header().into_iter().flat_map(|it| it.children());
        let left = blocks.zip(self.header_blocks());
        let left =
            left.filter(|(block, seen)| !out.contains(&block.id()) && !proven.contains(&seen.id()));
        let body = envelope.body();
        let body = Some(body).filter(|body| self.signing_steps(body.id()).next().is_none());
        for element in left.map(|(_, seen)| seen).chain(body) {
            let name = expanded_name(element);
            if unproven.contains(&name) {
                continue;
            }
            if unproven.len() == MOST_UNPROVEN {
                return Err(Rejected::TooMany {
                    what: "header blocks that nothing proves",
                    limit: MOST_UNPROVEN,
                });
            }
            unproven.push(name);
        }
        Ok(unproven)
    }

    /// The header blocks that are for this node, its `wsse:Security` header among them.
    fn blocks_to_take_out(&self) -> Result<Vec<NodeId>, Rejected> {
        let envelope = &self.message.envelope;
        let actor = self.demands().actor.as_deref();
        let is_ours = |block: Element<'_>| {
            envelope.is_for(block, actor) || envelope.is_for(block, Some(NEXT))
        };
        let mut taken_out = Vec::new();
        let blocks = envelope.header().into_iter().flat_map(|it| it.children());
        for (block, seen) in blocks.zip(self.header_blocks()) {
            if Some(block.id()) == self.message.security {
                taken_out.push(block.id());
                continue;
            }
            // One that was deciphered is for whom its plaintext says, and for whom its cipher text
            // did.
            if !is_ours(block) && !is_ours(seen) {
                continue;
            }
            let mut understood = self.demands().understood_blocks.iter();
            let is_understood = understood.any(|(namespace, local)| seen.is(namespace, local));
            if !is_understood {
                if envelope.must_understand(block) || envelope.must_understand(seen) {
                    return Err(Rejected::HeaderNotUnderstood {
                        header: expanded_name(seen),
                    });
                }
                if envelope.is_relayed(block) {
                    continue;
                }
            }
            taken_out.push(block.id());
        }
        Ok(taken_out)
    }
}

/// Whether an element is a Security header, maybe of the draft.
fn is_security(block: Element<'_>) -> bool {
    block.is(WSSE, "Security") || block.is(WSSE_2002, "Security")
}

/// A header block, or the one that an `EncryptedHeader` held.
fn readable(block: Element<'_>) -> Element<'_> {
    let held = block
        .is(WSSE11, "EncryptedHeader")
        .then(|| block.first_child());
    held.flatten().unwrap_or(block)
}

/// What a reference of another node may lead to in this message. Another engine may be more lenient
/// than this one: white space around a URI is none of it, and any text is an id.
fn referred(document: &soapstone_xml::Document, reference: Element<'_>) -> Option<Target<'static>> {
    let named = |id: &str, comments| {
        let node = document.by_id(id).ok().flatten()?;
        Some(Target::Element { node, comments })
    };
    if reference.is(WSSE, "KeyIdentifier") {
        // The id of an assertion (SAML Token Profile 1.1.1, 3.4).
        return named(reference.text().trim(), false);
    }
    let uri = reference.attribute("", "URI")?;
    match SameDocument::parse(uri.trim()) {
        Some(SameDocument::Document { comments }) => Some(Target::Document { comments }),
        Some(SameDocument::Element { id, comments }) => named(id, comments),
        None => named(uri.trim().strip_prefix('#')?, false),
    }
}

/// Where the first start tag begins in plaintext that holds an element. Comments, processing
/// instructions and character data may stand before it.
fn first_tag(plain: &[u8]) -> usize {
    let skipped: [(&[u8], &[u8]); 3] = [(b"<!--", b"-->"), (b"<?", b"?>"), (b"<![CDATA[", b"]]>")];
    let mut at = 0;
    while let Some(rest) = plain.get(at..) {
        let opened = skipped.iter().find(|(open, _)| rest.starts_with(open));
        at += match opened {
            None if rest.first().is_none_or(|octet| *octet == b'<') => break,
            None => 1,
            Some((open, close)) => {
                let inside = &rest[open.len()..];
                let end = inside.windows(close.len()).position(|it| it == *close);
                open.len() + end.unwrap_or(inside.len()) + close.len()
            }
        };
    }
    at
}

fn is_inside(element: Element<'_>, holder: Option<NodeId>) -> bool {
    element
        .ancestors()
        .any(|around| Some(around.id()) == holder)
}
