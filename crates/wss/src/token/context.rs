//! `wsc:SecurityContextToken` (WS-SecureConversation 1.4, 2).
//!
//! It names a key that both parties hold. The one rule: a name is nothing more. Whether there is
//! such a context, and whose it is, the host says.

use std::borrow::Cow;

use soapstone_xml::Element;

use super::kind::{Claim, GivenKey, Kind};
use crate::attributes::only_attributes;
use crate::conversation::{ContextName, ConversationVersion};
use crate::key_locator::KeyLocator;
use crate::rejected::Rejected;

/// The kind.
pub(super) static KIND: Kind = Kind {
    local: "SecurityContextToken",
    namespaces: &[
        ConversationVersion::V13.namespace(),
        ConversationVersion::February2005.namespace(),
    ],
    has_type: |token, claimed| {
        let version = ConversationVersion::from_namespace(token.namespace());
        version.is_some_and(|version| claimed == version.token_type())
    },
    key: GivenKey::Secret(|token| read(token).map(KeyLocator::Context)),
    outside: |reference, uri| outside(reference, uri).map(KeyLocator::Context),
    is_used_by: |policy| policy.uses_context(),
    claims: |token| {
        let name = read(token)?;
        let instance = name.instance.map(|it| Claim::new("instance", it));
        let identifier = Claim::new("identifier", name.identifier);
        Ok(std::iter::once(identifier).chain(instance).collect())
    },
    ..Kind::named("SecurityContextToken")
};

/// The context that a `wsc:SecurityContextToken` names.
pub(crate) fn read(token: Element<'_>) -> Result<ContextName, Rejected> {
    let malformed = |problem: &str| Rejected::Malformed {
        element: "wsc:SecurityContextToken",
        problem: problem.to_owned(),
    };
    let version = ConversationVersion::from_namespace(token.namespace())
        .ok_or_else(|| malformed("expected a namespace of WS-SecureConversation"))?;
    let parts = ["Identifier", "Instance"];
    let mut found = [(None, false); 2];
    for child in token.children() {
        let is_part = |local: &&str| child.is(version.namespace(), local);
        if let Some(at) = parts.iter().position(is_part) {
            let (first, is_again) = &mut found[at];
            *is_again = first.is_some();
            first.get_or_insert(child);
        }
    }
    let one = |at: usize| {
        let (local, (first, is_again)) = (parts[at], found[at]);
        if is_again {
            return Err(malformed(&format!("expected one `{local}`, found more")));
        }
        let text = |element: Element<'_>| {
            only_attributes(element, &[]).map_err(|problem| malformed(&problem))?;
            let text = element.text_strict().map(|text| text.trim().to_owned());
            text.filter(|text| !text.is_empty() && text.len() <= LONGEST_IDENTIFIER)
                .ok_or_else(|| malformed(&format!("expected a short text in `{local}`")))
        };
        first.map(text).transpose()
    };
    let identifier = one(0)?.ok_or_else(|| malformed("expected an `Identifier`"))?;
    let instance = one(1)?;
    Ok(ContextName {
        version,
        identifier,
        instance,
    })
}

/// Longest identifier of a security context, bytes.
const LONGEST_IDENTIFIER: usize = 1024;

/// The context that a `wsse:Reference` names by its identifier (WS-SecureConversation 1.4, 8); none
/// by one that is longer than any.
pub(crate) fn outside(reference: Element<'_>, uri: &str) -> Option<ContextName> {
    if uri.is_empty() || uri.starts_with('#') || uri.len() > LONGEST_IDENTIFIER {
        return None;
    }
    let value_type = reference.attribute("", "ValueType")?;
    let version = ConversationVersion::ALL
        .into_iter()
        .find(|version| version.token_type() == value_type)?;
    let instance = reference.attribute(version.namespace(), "Instance");
    let is_short = |instance: &Cow<'_, str>| instance.len() <= LONGEST_IDENTIFIER;
    instance.iter().all(is_short).then(|| ContextName {
        version,
        identifier: uri.to_owned(),
        instance: instance.map(Cow::into_owned),
    })
}
