//! `wsc:SecurityContextToken` (WS-SecureConversation 1.4, 2).
//!
//! It names a key that both parties hold. The one rule: a name is nothing more. Whether there is
//! such a context, and whose it is, the host says.

use std::borrow::Cow;

use soapstone_xml::Element;

use super::kind::{Claim, GivenKey, Kind, broken};
use crate::attributes::only_attributes;
use crate::binding::{KeyBinding, KeyReference};
use crate::conversation::{ContextName, ConversationVersion};
use crate::key_locator::KeyLocator;
use crate::part::Part;
use crate::policy::Policy;
use crate::rejected::Rejected;
use crate::supporting::EndorsingToken;

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
    wrong_demands,
    claims: |token| {
        let name = read(token)?;
        let instance = name.instance.map(|it| Claim::new("instance", it));
        let identifier = Claim::new("identifier", name.identifier);
        Ok(std::iter::once(identifier).chain(instance).collect())
    },
    ..Kind::named("SecurityContextToken")
};

/// Whether a key is looked up by the host: that of a context, or of the session of a Kerberos
/// token.
const fn is_of_session(key: KeyBinding) -> bool {
    matches!(key, KeyBinding::Context | KeyBinding::Kerberos)
}

/// How many tokens endorse with the key of a context or of a Kerberos session, and whether such a
/// key protects the message.
pub(super) fn sessions(policy: &Policy) -> (usize, bool) {
    let endorsing = policy
        .endorsing_beside()
        .filter(|token| is_of_session(token.key.kind()));
    let protects = policy.uses(KeyBinding::Context) || policy.uses(KeyBinding::Kerberos);
    (endorsing.count(), protects)
}

/// Of contexts, and of Kerberos tokens where their keys are used as those of contexts are.
fn wrong_demands(policy: &Policy) -> Vec<&'static str> {
    let (endorsing, protects) = sessions(policy);
    let is_hidden = |token: &EndorsingToken| {
        let hides = token.encrypted && !policy.is_by_connection();
        let is_named = token.key.reference() != KeyReference::Direct;
        hides || is_named && policy.encrypts(&Part::Signature)
    };
    let mut beside = policy.endorsing_beside();
    let looked_up = beside.find(|token| is_of_session(token.key.kind()));
    let rules = [
        (
            endorsing > 0 && endorsing + usize::from(protects) > 1,
            "a message belongs to one conversation, or to the session of one Kerberos token",
        ),
        (
            looked_up.is_some_and(is_hidden),
            "a security context or a Kerberos token is looked up before anything is deciphered: what names it must stay readable",
        ),
    ];
    broken(rules).collect()
}

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
