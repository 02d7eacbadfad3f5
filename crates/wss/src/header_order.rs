//! The order of the items of a `wsse:Security` header that is written.
//!
//! The rule kept here: an order moves items whole. No byte of an item depends on its place.

/// An item of the `wsse:Security` header whose place an order may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OrderedItem {
    /// `wsu:Timestamp`.
    Timestamp,
    /// The token of the certificate that signs, or that is sent along.
    Token,
    /// The token of the certificate that the session key is encrypted to.
    KeyToken,
    /// `wsse:UsernameToken`, or its cipher text.
    Username,
    /// A SAML assertion, or its cipher text.
    Assertion,
    /// `xenc:EncryptedKey`, or the `xenc:ReferenceList` of a shared key.
    Key,
    /// `ds:Signature`, or its cipher text.
    Signature,
}

impl OrderedItem {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Timestamp,
        Self::Token,
        Self::KeyToken,
        Self::Username,
        Self::Assertion,
        Self::Key,
        Self::Signature,
    ];

    /// Its name in endpoint files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timestamp => "timestamp",
            Self::Token => "token",
            Self::KeyToken => "key-token",
            Self::Username => "username",
            Self::Assertion => "assertion",
            Self::Key => "key",
            Self::Signature => "signature",
        }
    }

    /// Its place in an order: items that the order does not name share the last one.
    pub(crate) fn rank(self, order: &[Self]) -> usize {
        let place = order.iter().position(|item| *item == self);
        place.unwrap_or(order.len())
    }
}
