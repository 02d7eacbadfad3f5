//! The pieces of the `wsse:Security` header, written one by one, and put together in the order in
//! which a receiver must process them.

use jiff::Timestamp;

use super::scope::Declarations;
use super::text::put;
use crate::binding::ProtectionOrder;
use crate::freshness;
use crate::header_order::OrderedItem;
use crate::names::WSU;
use crate::plan::Protection;

/// An endorsing signature with its token, where the message carries it.
#[derive(Default)]
pub(super) struct Endorsement {
    pub(super) token: Vec<u8>,
    /// The `DerivedKeyToken` of its key, where the token is enciphered. The other ones are in
    /// [`Pieces::derived`].
    pub(super) derived: Vec<u8>,
    pub(super) signature: Vec<u8>,
}

/// The pieces; those that the plan has none of are empty.
#[derive(Default)]
pub(super) struct Pieces {
    /// What the header declares for them.
    pub(super) declarations: Declarations,
    pub(super) timestamp: Vec<u8>,
    pub(super) confirmations: Vec<Vec<u8>>,
    pub(super) username: Vec<u8>,
    /// The assertion, or its cipher text.
    pub(super) assertion: Vec<u8>,
    /// The reference through which the signature covers the assertion.
    pub(super) assertion_reference: Vec<u8>,
    pub(super) tokens: Vec<u8>,
    pub(super) tokens_of_keys: Vec<u8>,
    pub(super) context_token: Vec<u8>,
    /// The `UsernameToken` that the key of the signature is derived by.
    pub(super) password_token: Vec<u8>,
    /// The `EncryptedKey` of a session key that signs as well.
    pub(super) session_key: Vec<u8>,
    pub(super) derived: Vec<u8>,
    /// How much of that, from its beginning, is of the key that encrypts, where no other key of
    /// the binding is derived.
    pub(super) derivation_of_data: usize,
    /// The `EncryptedKey` of a session key that only encrypts, or the `ReferenceList` of another
    /// key.
    pub(super) encrypted_key: Vec<u8>,
    /// The `EncryptedData` of attachments.
    pub(super) attachments: Vec<u8>,
    /// `ReferenceList` of the encrypted signature, where it has one of its own.
    pub(super) signature_list: Vec<u8>,
    pub(super) signature: Vec<u8>,
    pub(super) endorsements: Vec<Endorsement>,
    /// `ReferenceList` of everything else, where the signature has one of its own.
    pub(super) data_list: Vec<u8>,
}

/// A piece of the header, with the item that an order knows it by.
type Placed<'a> = (Option<OrderedItem>, &'a [u8]);

/// The place of an assertion in the header.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AssertionPlace {
    /// Among the tokens that can be read.
    Readable,
    /// Behind the key that deciphers it, and in front of the signature that may name it.
    BehindKey,
    /// Behind everything: a signature covers its cipher text, and is verified first.
    Last,
}

impl Pieces {
    /// Where the assertion stands.
    fn assertion_place(&self, protection: &Protection) -> AssertionPlace {
        let encryption = protection.encryption.as_ref();
        match encryption.is_some_and(|encryption| encryption.hides_assertion) {
            false => AssertionPlace::Readable,
            true if protection.order == ProtectionOrder::SignBeforeEncrypting => {
                AssertionPlace::BehindKey
            }
            true => AssertionPlace::Last,
        }
    }

    /// The pieces of the header in the order of the plan: of those that it does not name, in the
    /// order in which a receiver must process them.
    pub(super) fn in_order<'a>(
        &'a self,
        protection: &'a Protection,
    ) -> impl Iterator<Item = &'a [u8]> {
        let order = protection.header_order.as_slice();
        let rank = |item: Option<OrderedItem>| item.map_or(order.len(), |item| item.rank(order));
        (0..=order.len()).flat_map(move |wanted| {
            self.placed(protection)
                .filter(move |(item, _)| rank(*item) == wanted)
                .map(|(_, piece)| piece)
        })
    }

    /// The pieces of the header in the order in which a receiver must process them: what was done
    /// last comes first, and what is named stands before what names it. Each with the item that an
    /// order knows it by.
    fn placed<'a>(&'a self, protection: &'a Protection) -> impl Iterator<Item = Placed<'a>> {
        let sign_first = protection.order == ProtectionOrder::SignBeforeEncrypting;
        // What is enciphered stands behind the key that deciphers it.
        let endorsing_tokens = move |hidden: bool| {
            let endorsing = protection.endorsing.iter().zip(&self.endorsements);
            endorsing
                .filter(move |(demand, _)| demand.token_encrypted == hidden)
                .map(|(_, endorsement)| (None, endorsement.token.as_slice()))
        };
        let keys_of_hidden_tokens = || {
            let endorsing = self.endorsements.iter();
            endorsing.map(|endorsement| (None, endorsement.derived.as_slice()))
        };
        let signatures = || {
            let endorsing = self.endorsements.iter().map(|one| &one.signature);
            std::iter::once(&self.signature)
                .chain(endorsing)
                .map(|piece| (Some(OrderedItem::Signature), piece.as_slice()))
        };
        // What deciphers the signatures, or what they cover, and what need not be deciphered before
        // they are verified.
        let (before, behind): ([&[u8]; 2], &[u8]) = if sign_first || !self.signature_list.is_empty()
        {
            ([&self.encrypted_key, &self.signature_list], &self.data_list)
        } else {
            ([&[], &[]], &self.encrypted_key)
        };
        let place = self.assertion_place(protection);
        let assertion = move |here: AssertionPlace| {
            (place == here)
                .then_some((Some(OrderedItem::Assertion), self.assertion.as_slice()))
                .into_iter()
        };
        let key = |piece| (Some(OrderedItem::Key), piece);
        // Their cipher text stands beside the item that it stands beside without an order.
        let beside = match sign_first {
            true => OrderedItem::Key,
            false => OrderedItem::Signature,
        };
        let attachments = (Some(beside), self.attachments.as_slice());
        let protecting = before
            .into_iter()
            .map(key)
            .chain(std::iter::once(attachments))
            .chain(assertion(AssertionPlace::BehindKey))
            .chain(endorsing_tokens(true))
            .chain(keys_of_hidden_tokens())
            .chain(signatures())
            .chain(std::iter::once(key(behind)));
        let tokens_of_keys: [&[u8]; 4] = [
            &self.context_token,
            &self.password_token,
            &self.session_key,
            &self.derived,
        ];
        let tokens = std::iter::once((Some(OrderedItem::Token), self.tokens.as_slice()))
            .chain(assertion(AssertionPlace::Readable))
            .chain(std::iter::once((
                Some(OrderedItem::Assertion),
                self.assertion_reference.as_slice(),
            )))
            .chain(endorsing_tokens(false))
            .chain(std::iter::once((
                Some(OrderedItem::KeyToken),
                self.tokens_of_keys.as_slice(),
            )))
            .chain(tokens_of_keys.map(|piece| (None, piece)));
        let confirmations = || {
            let pieces = self.confirmations.iter();
            pieces.map(|piece| (None, piece.as_slice()))
        };
        let encryption = protection.encryption.as_ref();
        let readable = encryption.is_none_or(|encryption| !encryption.hides_confirmations);
        let timestamp_first = !protection.timestamp_last;
        let timestamp = |wanted: bool| {
            let piece = (Some(OrderedItem::Timestamp), self.timestamp.as_slice());
            wanted.then_some(piece).into_iter()
        };
        timestamp(timestamp_first)
            .chain(confirmations().filter(move |_| readable))
            .chain(tokens)
            .chain(protecting)
            .chain(confirmations().filter(move |_| !readable))
            .chain(std::iter::once((
                Some(OrderedItem::Username),
                self.username.as_slice(),
            )))
            .chain(assertion(AssertionPlace::Last))
            .chain(timestamp(!timestamp_first))
    }
}

/// A `wsu:Timestamp` in canonical form.
pub(super) fn timestamp(id: &str, created: Timestamp, expires: Timestamp) -> Vec<u8> {
    let mut out = Vec::with_capacity(384);
    let pieces = [
        "<wsu:Timestamp xmlns:wsu=\"",
        WSU,
        "\" wsu:Id=\"",
        id,
        "-time\"><wsu:Created>",
        &freshness::write(created),
        "</wsu:Created><wsu:Expires>",
        &freshness::write(expires),
        "</wsu:Expires></wsu:Timestamp>",
    ];
    put(&pieces, &mut out);
    out
}
