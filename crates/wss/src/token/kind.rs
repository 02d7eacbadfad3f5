//! What the engine asks of every kind of token.
//!
//! The one rule: the engine knows a token by the fields of its [`Kind`], and by nothing else.

use jiff::Timestamp;
use soapstone_xml::{Element, NodeId};

use super::saml::issuer::AssertionIssuer;
use crate::evidence::Evidence;
use crate::facts::Facts;
use crate::kerberos::KerberosPolicy;
use crate::key_locator::KeyLocator;
use crate::marks::ReplayKey;
use crate::operation::OperationObserver;
use crate::policy::Policy;
use crate::rejected::Rejected;
use crate::supporting::SupportingToken;
use crate::username::PasswordKeyPolicy;

/// A `ValueType` of `KeyIdentifier`s, and what the bytes of one mean.
pub(super) type Identifier = (&'static str, fn(Vec<u8>) -> KeyLocator);
/// A `ValueType` of `KeyIdentifier`s whose text is the name itself, and what one means.
pub(super) type TextIdentifier = (&'static str, fn(String) -> KeyLocator);
/// How a token is read for the key that it gives.
type Locate = fn(Element<'_>) -> Result<KeyLocator, Rejected>;
/// What is wrong with the demands of a policy.
type WrongDemands = fn(&Policy) -> Vec<&'static str>;
/// How a token proves somebody.
type Prove = fn(Element<'_>, &mut Proving<'_>) -> Result<(), Rejected>;

/// Everything about one kind of token.
pub(super) struct Kind {
    /// Its name for people.
    pub(super) name: &'static str,
    /// The local name of the elements that it is written as.
    pub(super) local: &'static str,
    /// Their namespaces.
    pub(super) namespaces: &'static [&'static str],
    /// The `ValueType`s that tell it from other kinds with its elements; none, where it is every
    /// one of them.
    pub(super) value_types: &'static [&'static str],
    /// Whether a header has one of it at most; then with its name in refusals.
    pub(super) single: Option<&'static str>,
    /// Whether the `ValueType` of a reference is that of the token.
    pub(super) has_type: fn(Element<'_>, &str) -> bool,
    /// The `ValueType`s of the `KeyIdentifier`s that name one, with what each of them means.
    pub(super) identifiers: &'static [Identifier],
    /// The `ValueType`s of the `KeyIdentifier`s that name one by text that is not base64.
    pub(super) texts: &'static [TextIdentifier],
    /// What a `wsse:Reference` means that refers to a token outside of the message.
    pub(super) outside: fn(Element<'_>, &str) -> Option<KeyLocator>,
    /// The key that it gives.
    pub(super) key: GivenKey,
    /// Whom it proves by itself; none, where its key does that, or nothing.
    pub(super) prove: Option<Prove>,
    /// Whether the header of a message has a place for it under a policy.
    pub(super) is_used_by: fn(&Policy) -> bool,
    /// The demands of a policy on it that fit no message, or not each other.
    pub(super) wrong_demands: WrongDemands,
    /// What it says, for people.
    pub(super) claims: fn(Element<'_>) -> Result<Vec<Claim>, Rejected>,
}

impl Kind {
    /// A kind that nothing is known of but its name.
    pub(super) const fn named(name: &'static str) -> Self {
        Self {
            name,
            local: "",
            namespaces: &[],
            value_types: &[],
            single: None,
            has_type: |_, _| false,
            identifiers: &[],
            texts: &[],
            outside: |_, _| None,
            key: GivenKey::None,
            prove: None,
            is_used_by: |_| false,
            wrong_demands: |_| Vec::new(),
            claims: |_| Ok(Vec::new()),
        }
    }

    /// Whether an element with its name has a `ValueType` of this kind.
    pub(super) fn has_value_type(&self, element: Element<'_>) -> bool {
        let found = || element.attribute("", "ValueType");
        self.value_types.is_empty() || found().is_some_and(|it| self.value_types.contains(&&*it))
    }
}

/// The rules that are broken, of those for which it is said whether they are.
pub(crate) fn broken<const RULES: usize>(
    rules: [(bool, &'static str); RULES],
) -> impl Iterator<Item = &'static str> {
    let broken = rules.into_iter().filter(|(is_broken, _)| *is_broken);
    broken.map(|(_, rule)| rule)
}

/// The key that a token gives, with how the token is read for it.
pub(super) enum GivenKey {
    None,
    /// That of a certificate that it holds. Whether it is trusted is not the token's to say.
    Certificate(Locate),
    /// A key that both parties hold, and that it names.
    Secret(Locate),
    /// A key that its issuer says somebody holds. It is found by the token, and believed as far as
    /// the issuer is.
    Holder(Locate),
}

/// What a token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// What the claim is about.
    pub name: &'static str,
    /// The value, unproven.
    pub value: String,
}

impl Claim {
    pub(super) fn new(name: &'static str, value: impl Into<String>) -> Self {
        Self {
            name,
            value: value.into(),
        }
    }
}

/// What a token is compared with that proves somebody, and what comes of it.
pub(crate) struct Proving<'a> {
    /// Who may issue assertions.
    pub(crate) issuers: &'a [AssertionIssuer],
    /// Since when a weak algorithm is not accepted any more.
    pub(crate) retired: &'a dyn Fn(&str) -> Option<Timestamp>,
    /// The tokens that the plan demands.
    pub(crate) demanded: &'a [SupportingToken],
    /// What the plan wants of a Kerberos token.
    pub(crate) kerberos: Option<KerberosPolicy>,
    /// How keys are derived from passwords, where the plan has them.
    pub(crate) password_keys: Option<&'a PasswordKeyPolicy>,
    pub(crate) facts: &'a Facts,
    pub(crate) now: Timestamp,
    /// The token itself.
    pub(crate) token: NodeId,
    pub(crate) evidence: &'a mut Evidence,
    /// What a copy of the message is known by.
    pub(crate) marks: &'a mut Vec<ReplayKey>,
    pub(crate) observer: &'a mut dyn OperationObserver,
}
