//! The tokens of messages: how each is read, which key it gives, whom it proves, by what it is
//! named, and what a policy may demand of it.
//!
//! The one rule: everything that the engine knows of a kind of token is in one module, and each
//! kind has one line in the table of this file.

mod context;
mod derived_key;
mod kerberos;
mod kind;
mod saml;
mod username;
mod x509;

use std::fmt;

use soapstone_xml::Element;

pub(crate) use self::derived_key::{Derivation, derived_from, explicit, implied, is_derived_key};
pub(crate) use self::kerberos::name as kerberos_name;
pub use self::kerberos::sha1 as kerberos_sha1;
pub use self::kind::Claim;
use self::kind::{GivenKey, Kind};
pub(crate) use self::kind::{Proving, broken};
pub use self::saml::{
    Assertion, AssertionAttribute, AssertionIssuer, AssertionPolicy, AssertionProtection,
    AssertionReference, AssertionToken, ConfirmationMethod, ConfirmationPart, FetchedAssertion,
    HolderUse, IGNORED_CONFIRMATION, IdDigest, IssuedAssertion, NameIdentifier, SamlVersion,
    TRANSIENT_NAMES, WantedAssertion, WantedHolder,
};
pub(crate) use self::saml::{
    HiddenAssertion, HolderKey, Presentation, PresentedSignature, SOAP_BINDING, holds_key,
    version_of,
};
pub(crate) use self::username::{
    PasswordKeyToken, PasswordKeyUse, derivation as password_derivation,
    encryption_key as password_encryption_key, is_username_token, write as write_username,
};
pub(crate) use self::x509::unreadable;
use crate::envelope::expanded_name;
use crate::key_locator::KeyLocator;
use crate::policy::Policy;
use crate::rejected::Rejected;

/// The kinds.
static KINDS: [&Kind; 6] = [
    &kerberos::KIND,
    &x509::KIND,
    &username::KIND,
    &context::KIND,
    &derived_key::KIND,
    &saml::KIND,
];

/// A kind of token.
#[derive(Clone, Copy)]
pub struct TokenKind(&'static Kind);

impl TokenKind {
    /// The kind of an element; none, if it is no token.
    pub fn of(element: Element<'_>) -> Option<Self> {
        let mut kinds = KINDS.iter().filter(|kind| element.is_local(kind.local));
        let namespace = element.namespace();
        let kind =
            kinds.find(|kind| kind.namespaces.contains(&namespace) && kind.has_value_type(element));
        kind.copied().map(Self)
    }

    /// Every kind.
    pub fn all() -> impl Iterator<Item = Self> {
        KINDS.into_iter().map(Self)
    }

    /// Its name for people.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// What a token of this kind says. Nothing of it is proven.
    ///
    /// # Errors
    /// The token is not as its schema says.
    pub fn claims(self, token: Element<'_>) -> Result<Vec<Claim>, Rejected> {
        (self.0.claims)(token)
    }

    /// Whether the `ValueType` of a reference is that of the token.
    pub(crate) fn has_type(self, token: Element<'_>, claimed: &str) -> bool {
        (self.0.has_type)(token, claimed)
    }

    /// Whether the header of a message has a place for it under a policy.
    pub(crate) fn is_used_by(self, policy: &Policy) -> bool {
        (self.0.is_used_by)(policy)
    }

    /// The refusal of a second one, where a header has one at most.
    pub(crate) fn repeated(self) -> Option<Rejected> {
        let what = self.0.single?;
        Some(Rejected::TooMany { what, limit: 1 })
    }

    /// Proves whom the token proves by itself, if it does.
    pub(crate) fn prove(self, token: Element<'_>, with: &mut Proving<'_>) -> Result<(), Rejected> {
        match self.0.prove {
            Some(prove) => prove(token, with),
            // Read when something refers to it.
            None => Ok(()),
        }
    }
}

/// The demands of a policy on tokens of any kind that fit no message, or not each other.
pub(crate) fn wrong_demands(policy: &Policy) -> impl Iterator<Item = &'static str> {
    KINDS.iter().flat_map(|kind| (kind.wrong_demands)(policy))
}

/// The certificate that a token holds, or the token whose holder has the key.
pub(crate) fn certificate(token: Element<'_>) -> Result<KeyLocator, Rejected> {
    match TokenKind::of(token).map(|kind| &kind.0.key) {
        Some(GivenKey::Certificate(read) | GivenKey::Holder(read)) => read(token),
        _ => Err(Rejected::TokenUnsupported {
            found: expanded_name(token),
        }),
    }
}

/// The key of both parties that a token names; none, where an element is no such token.
pub(crate) fn secret(token: Element<'_>) -> Result<Option<KeyLocator>, Rejected> {
    match TokenKind::of(token).map(|kind| &kind.0.key) {
        Some(GivenKey::Secret(read)) => read(token).map(Some),
        _ => Ok(None),
    }
}

/// What a `wsse:Reference` means that refers to a token outside of the message.
pub(crate) fn outside(reference: Element<'_>, uri: &str) -> Option<KeyLocator> {
    let mut kinds = KINDS.iter();
    kinds.find_map(|kind| (kind.outside)(reference, uri))
}

/// What the bytes of a `KeyIdentifier` with this `ValueType` mean.
pub(crate) fn identified_by(value_type: &str) -> Option<fn(Vec<u8>) -> KeyLocator> {
    let mut identifiers = KINDS.iter().flat_map(|kind| kind.identifiers);
    let found = identifiers.find(|(identifier, _)| *identifier == value_type);
    found.map(|(_, named)| *named)
}

/// What the text of a `KeyIdentifier` with this `ValueType` means, where it is not base64.
pub(crate) fn named_by_text(value_type: &str) -> Option<fn(String) -> KeyLocator> {
    let mut texts = KINDS.iter().flat_map(|kind| kind.texts);
    let found = texts.find(|(identifier, _)| *identifier == value_type);
    found.map(|(_, named)| *named)
}

impl PartialEq for TokenKind {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for TokenKind {}

impl fmt::Debug for TokenKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0.name)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_element_and_no_identifier_is_of_two_kinds() {
        // Those with types of their own stand in front of the kind of the others.
        let typed = |kind: &&&Kind| !kind.value_types.is_empty();
        assert!(KINDS.iter().is_sorted_by_key(|kind| !typed(&kind)));
        let elements = KINDS.iter().filter(|kind| !typed(kind));
        let elements = || {
            let of =
                |kind: &&'static Kind| kind.namespaces.iter().zip(std::iter::repeat(kind.local));
            elements.clone().flat_map(of)
        };
        let types = || KINDS.iter().flat_map(|kind| kind.value_types);
        assert_eq!(types().collect::<HashSet<_>>().len(), types().count());
        assert_eq!(elements().collect::<HashSet<_>>().len(), elements().count());
        let identifiers = || KINDS.iter().flat_map(|kind| kind.identifiers);
        let texts = || KINDS.iter().flat_map(|kind| kind.texts);
        let types: HashSet<&str> = identifiers()
            .map(|(value_type, _)| *value_type)
            .chain(texts().map(|(value_type, _)| *value_type))
            .collect();
        assert_eq!(types.len(), identifiers().count() + texts().count());
        let names: HashSet<&str> = TokenKind::all().map(TokenKind::name).collect();
        assert_eq!(names.len(), KINDS.len());
    }
}
