//! The elements of the message that are to be signed: which they are, and the ids by which
//! signatures find them.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use soapstone_xml::{Element, NodeId};

use super::scope::free_prefix;
use super::securing::Securing;
use crate::envelope::{Envelope, range};
use crate::names::WSU;
use crate::part::Part;
use crate::secure_error::SecureError;

/// An element of the message that is to be signed, with the id that it has or is to have.
pub(super) struct ToSign<'m> {
    pub(super) node: NodeId,
    pub(super) id: Id<'m>,
    /// The place of its part among those of the message's signature.
    pub(super) place: usize,
    /// By the message's signature.
    pub(super) by_message: bool,
    /// By these of the endorsing signatures, in particular.
    pub(super) by_endorsements: Vec<usize>,
}

/// The `wsu:Id` of an element as the message will have it.
pub(super) enum Id<'m> {
    /// In the source.
    Present(Cow<'m, str>),
    /// To be inserted, with a prefix that is free or bound to the namespace already.
    Inserted { id: String, prefix: String },
}

/// Whether an id is inserted inside of an element that is signed, too: its digest is that of a
/// message that has the id.
pub(super) fn changes_signed(envelope: &Envelope, elements: &[ToSign<'_>]) -> bool {
    let inserted =
        |element: &ToSign<'_>| matches!(element.id, Id::Inserted { .. }).then_some(element.node);
    if elements.len() < 2 || !elements.iter().any(|element| inserted(element).is_some()) {
        return false;
    }
    let signed: HashSet<NodeId> = elements.iter().map(|element| element.node).collect();
    let inside = |node: NodeId| {
        let mut holders = envelope.document.element(node).ancestors();
        holders.any(|holder| signed.contains(&holder.id()))
    };
    elements.iter().filter_map(inserted).any(inside)
}

impl Securing<'_> {
    /// The elements of the message that are to be signed, with the ids they have or are to have.
    pub(super) fn signed_elements<'m>(
        &self,
        envelope: &'m Envelope,
    ) -> Result<Vec<ToSign<'m>>, SecureError> {
        let protection = self.message.protection();
        let by_message = protection.signed_parts().iter().enumerate();
        let by_message = by_message.map(|(place, part)| (place, part, None));
        let by_endorsements = protection
            .endorsed_parts()
            .map(|(index, part)| (0, part, Some(index)));
        let mut elements: Vec<ToSign<'m>> = Vec::with_capacity(protection.signed_parts().len());
        let mut known =
            HashMap::with_capacity_and_hasher(elements.capacity(), RandomState::default());
        let named = |id: &str| envelope.document.by_id(id).ok().flatten();
        for (place, part, endorsement) in by_message.chain(by_endorsements) {
            let mut add = |node: NodeId| {
                let at = *known.entry(node).or_insert(elements.len());
                if at == elements.len() {
                    let element = envelope.document.element(node);
                    elements.push(ToSign {
                        node,
                        id: self.id_of(part, element),
                        place,
                        by_message: false,
                        by_endorsements: Vec::new(),
                    });
                }
                let element = &mut elements[at];
                match endorsement {
                    None => element.by_message = true,
                    Some(index) if element.by_endorsements.contains(&index) => {}
                    Some(index) => element.by_endorsements.push(index),
                }
            };
            // Of what cannot be seen any more, the `EncryptedData` that it is in.
            let hidden = self.changes.hidden.get(part).map_or(&[][..], Vec::as_slice);
            hidden.iter().filter_map(|id| named(id)).for_each(&mut add);
            match part {
                // Of these there may be thousands, and each is one element.
                Part::Id(id) if let Some(node) = named(id) => add(node),
                Part::Id(_) if !hidden.is_empty() => {}
                part => self
                    .message
                    .nodes_of(envelope, part)?
                    .into_iter()
                    .for_each(add),
            }
        }
        Ok(elements)
    }

    /// Notes in which cipher text the parts are that are to be signed and can no more be seen: the
    /// signature covers them there.
    pub(super) fn note_hidden(&mut self, envelope: &Envelope) -> Result<(), SecureError> {
        let plan = self.message.plan;
        let mut outermost = std::mem::take(&mut self.changes.enciphered);
        outermost.sort_unstable_by_key(|(plain, _)| (plain.start, Reverse(plain.end)));
        let mut reached = 0;
        outermost.retain(|(plain, _)| {
            let is_inside = plain.end <= reached;
            reached = reached.max(plain.end);
            !is_inside
        });
        let endorsed = plan.protection.endorsed_parts().map(|(_, part)| part);
        for part in plan.protection.signed_parts().iter().chain(endorsed) {
            for node in self.message.nodes_of(envelope, part)? {
                let place = range(envelope.document.element(node));
                let behind = outermost.partition_point(|(plain, _)| plain.start <= place.start);
                let around = behind.checked_sub(1).map(|last| &outermost[last]);
                if let Some((_, id)) = around.filter(|(plain, _)| place.end <= plain.end) {
                    let ids = self.changes.hidden.entry(part.clone()).or_default();
                    if ids.last() != Some(id) {
                        ids.push(id.clone());
                    }
                }
            }
        }
        Ok(())
    }

    /// Inserts a `wsu:Id` into every element of the message that is to be signed and has none;
    /// returns them all.
    pub(super) fn insert_ids<'m>(
        &mut self,
        envelope: &'m Envelope,
    ) -> Result<Vec<ToSign<'m>>, SecureError> {
        let elements = self.signed_elements(envelope)?;
        for ToSign { node, id, .. } in &elements {
            let Id::Inserted { id, prefix } = id else {
                continue;
            };
            let element = envelope.document.element(*node);
            let name = if element.prefix().is_empty() {
                0
            } else {
                element.prefix().len() + 1
            } + element.local().len();
            let at = range(element).start + 1 + name;
            let declared = element
                .declarations()
                .any(|(declared, _)| declared == *prefix);
            let mut inserted = Vec::with_capacity(256);
            if !declared {
                for piece in [" xmlns:", prefix, "=\"", WSU, "\""] {
                    inserted.extend_from_slice(piece.as_bytes());
                }
            }
            for piece in [" ", prefix, ":Id=\"", id, "\""] {
                inserted.extend_from_slice(piece.as_bytes());
            }
            self.changes.edits.replace(at..at, inserted);
        }
        Ok(elements)
    }

    /// The id by which a reference can find `element`, which is a part of the plan.
    fn id_of<'m>(&self, part: &Part, element: Element<'m>) -> Id<'m> {
        let document = element.document();
        let present = |namespace: &str, local: &str| {
            let id = element.attribute(namespace, local)?;
            // What the plan names by its id was found by it.
            let finds = match part {
                Part::Id(named) if *named == id => true,
                _ => document.by_id(&id) == Ok(Some(element.id())),
            };
            finds.then_some(id)
        };
        if let Some(id) = present(WSU, "Id")
            .or_else(|| present("", "Id"))
            .or_else(|| present("", "ID"))
        {
            return Id::Present(id);
        }
        let id = self.message.named(&element.range().start.to_string());
        Id::Inserted {
            id,
            prefix: free_prefix(
                element,
                WSU,
                "wsu",
                &self.message.protection().inclusive_prefixes,
            ),
        }
    }
}
