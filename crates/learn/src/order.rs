//! The order in which the items of a Security header stand.
//!
//! The rule kept here: an order that the receiver of our messages cannot process is not learned.

use soapstone::wss::OrderedItem;
use soapstone::wss::names::{DS, WSSE, WSU, XENC};
use soapstone::xml::Element;

use crate::covered::Covered;

/// A child of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Item(OrderedItem),
    /// Cipher text.
    Sealed,
    Other,
}

/// The order in which the items of a header stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Order {
    slots: Vec<Slot>,
    /// Items that were in cipher text.
    hidden: Vec<OrderedItem>,
}

impl Order {
    pub(crate) fn of(security: Element<'_>) -> Self {
        let slots = security
            .children()
            .map(|item| match item.is(XENC, "EncryptedData") {
                true => Slot::Sealed,
                false => kind(item, security).map_or(Slot::Other, Slot::Item),
            });
        Self {
            slots: slots.collect(),
            hidden: Vec::new(),
        }
    }

    /// Learns what the cipher text in a place of the header was.
    pub(crate) fn unsealed(&mut self, place: usize, covered: &Covered) {
        let Covered::Part(name) = covered else {
            return;
        };
        let item = match name.as_str() {
            "Signature" => OrderedItem::Signature,
            "UsernameToken" => OrderedItem::Username,
            _ => return,
        };
        if let Some(slot) = self
            .slots
            .get_mut(place)
            .filter(|slot| **slot == Slot::Sealed)
        {
            *slot = Slot::Item(item);
            self.hidden.push(item);
        }
    }

    /// The value of `header_order`, of the items that our messages have; `None` where the usual
    /// order is the same, or where our messages cannot have this one.
    pub(crate) fn value(
        &self,
        signs_first: bool,
        has: impl Fn(OrderedItem) -> bool,
    ) -> Option<String> {
        let mut items = self.items();
        items.retain(|item| has(*item));
        let place = |item: OrderedItem| items.iter().position(|it| *it == item);
        let (key, signature) = (place(OrderedItem::Key), place(OrderedItem::Signature));
        let is_usual = usual(signs_first)
            .filter(|item| items.contains(item))
            .eq(items.iter().copied());
        let fits = match (key, signature) {
            (Some(key), Some(signature)) => (key < signature) == signs_first,
            _ => true,
        };
        let readable = self.hidden.iter().all(|item| key < place(*item));
        // Such a signature has a list of its own, whose place follows from it.
        let has_list = !signs_first && self.hidden.contains(&OrderedItem::Signature);
        let names: Vec<String> = items
            .iter()
            .map(|item| format!("\"{}\"", item.name()))
            .collect();
        (!is_usual && fits && readable && !has_list).then(|| format!("[{}]", names.join(", ")))
    }

    /// Each item once, where the first of its kind stands.
    fn items(&self) -> Vec<OrderedItem> {
        let mut items = Vec::new();
        for slot in &self.slots {
            match slot {
                Slot::Item(item) if !items.contains(item) => items.push(*item),
                _ => {}
            }
        }
        items
    }
}

/// The order in which items stand where a file says none.
fn usual(signs_first: bool) -> impl Iterator<Item = OrderedItem> {
    use OrderedItem::{Assertion, Key, KeyToken, Signature, Timestamp, Token, Username};
    let protecting = match signs_first {
        true => [Key, Signature],
        false => [Signature, Key],
    };
    let tokens = [Timestamp, Token, Assertion, KeyToken];
    tokens.into_iter().chain(protecting).chain([Username])
}

fn kind(item: Element<'_>, security: Element<'_>) -> Option<OrderedItem> {
    Some(match (item.namespace(), item.local()) {
        (WSU, "Timestamp") => OrderedItem::Timestamp,
        (DS, "Signature") => OrderedItem::Signature,
        (XENC, "EncryptedKey" | "ReferenceList") => OrderedItem::Key,
        (WSSE, "UsernameToken") => OrderedItem::Username,
        (WSSE, "BinarySecurityToken") => match is_of_key(item, security) {
            true => OrderedItem::KeyToken,
            false => OrderedItem::Token,
        },
        (_, "Assertion") => OrderedItem::Assertion,
        _ => return None,
    })
}

/// Whether a session key names a token, and no signature does.
fn is_of_key(token: Element<'_>, security: Element<'_>) -> bool {
    let id = token.attribute(WSU, "Id").unwrap_or_default();
    let named_by = |namespace: &str, local: &str| {
        let users = security.children();
        let infos = users
            .filter(|item| item.is(namespace, local))
            .filter_map(|item| item.child(DS, "KeyInfo"));
        let mut references = infos
            .flat_map(|info| info.descendants())
            .filter(|below| below.is(WSSE, "Reference"));
        references.any(|reference| {
            let uri = reference.attribute("", "URI");
            uri.is_some_and(|uri| uri.strip_prefix('#') == Some(&*id))
        })
    };
    named_by(XENC, "EncryptedKey") && !named_by(DS, "Signature")
}
