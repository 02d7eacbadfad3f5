//! Security context tokens and references to them, inside the messages of WS-Trust
//! (WS-SecureConversation 1.4, 2 and 8).
//!
//! The one rule: what is read here is a name, and proves nothing.

use std::fmt;

use soapstone_wss::names::{WSSE, WSU};
use soapstone_wss::{ContextName, ConversationVersion};
use soapstone_xml::{Apex, C14nOptions, C14nScratch, Canonicalization, Element, canonicalize};

use super::read::{MessageError, expanded_name, only_child, set, uri};
use super::write::Writer;

/// Longest identifier of a context and longest name of an instance, bytes: a URI with a UUID has
/// 45.
const LONGEST_NAME: usize = 512;

/// A token in `wst:RequestedSecurityToken`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecurityToken {
    /// `wsc:SecurityContextToken`.
    Context {
        /// Which context.
        name: ContextName,
        /// `wsu:Id` of the token.
        id: Option<String>,
    },
    /// A token of another kind.
    Other(Foreign),
}

/// An element whose inside says nothing to this crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// Its expanded name.
    pub name: String,
    /// Its exclusive canonical form, with which a signature in it still verifies.
    pub canonical: Vec<u8>,
}

impl Foreign {
    fn read(element: Element<'_>) -> Result<Self, MessageError> {
        let mut canonical = Vec::new();
        let options = C14nOptions::new(Canonicalization::Exclusive);
        let apex = Apex::Element(element.id());
        let mut scratch = C14nScratch::default();
        canonicalize(
            element.document(),
            apex,
            &options,
            &mut scratch,
            &mut canonical,
        )
        .map_err(|_| {
            let expected = "an element with a canonical form of acceptable size";
            MessageError::value(element, expected, None)
        })?;
        Ok(Self {
            name: expanded_name(element),
            canonical,
        })
    }
}

impl SecurityToken {
    pub(crate) fn read(token: Element<'_>) -> Result<Self, MessageError> {
        match ConversationVersion::from_namespace(token.namespace()) {
            Some(version) if token.local() == "SecurityContextToken" => Ok(Self::Context {
                name: context_name(token, version)?,
                id: token.attribute(WSU, "Id").map(|id| id.into_owned()),
            }),
            _ => Foreign::read(token).map(Self::Other),
        }
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>) {
        let (name, id) = match self {
            Self::Context { name, id } => (name, id),
            Self::Other(other) => return writer.out().extend_from_slice(&other.canonical),
        };
        let mut attributes = Vec::new();
        if let Some(id) = id {
            attributes.extend([("xmlns:wsu", WSU), ("wsu:Id", id)]);
        }
        let namespace = Some(name.version.namespace());
        writer.element(
            "wsc:SecurityContextToken",
            namespace,
            &attributes,
            |writer| {
                writer.text("wsc:Identifier", &name.identifier);
                if let Some(instance) = &name.instance {
                    writer.text("wsc:Instance", instance);
                }
            },
        );
    }
}

/// A security context named by a token or by a `wsse:SecurityTokenReference`: the content of
/// `wst:RenewTarget`, `wst:CancelTarget`, `wst:ValidateTarget`, and of the references in a
/// response.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContextReference {
    /// The context itself, whatever the message.
    Context(ContextName),
    /// The token with this `wsu:Id`, in messages that carry the token.
    Token {
        /// Version of the token.
        version: ConversationVersion,
        /// The id.
        id: String,
    },
    /// A token of another kind, or a reference to one.
    Other(Foreign),
}

impl ContextReference {
    /// The context that is named. A reference by id is looked up in `document`, the message in
    /// which it stands.
    pub(crate) fn resolve(&self, near: Element<'_>) -> Option<ContextName> {
        match self {
            Self::Context(name) => Some(name.clone()),
            Self::Token { version, id } => {
                let document = near.document();
                let token = document.element(document.by_id(id).ok()??);
                let named = token.is(version.namespace(), "SecurityContextToken");
                named.then(|| context_name(token, *version).ok()).flatten()
            }
            Self::Other(_) => None,
        }
    }

    /// Reads a token or a reference. `version` is the one in whose namespace the message is, for
    /// references that do not say it.
    pub(crate) fn read(
        element: Element<'_>,
        version: ConversationVersion,
    ) -> Result<Self, MessageError> {
        if let Some(version) = ConversationVersion::from_namespace(element.namespace())
            && element.local() == "SecurityContextToken"
        {
            return context_name(element, version).map(Self::Context);
        }
        let other = || Foreign::read(element).map(Self::Other);
        if !element.is(WSSE, "SecurityTokenReference") {
            return other();
        }
        let reference = only_child(element, "one kind of reference")?;
        if !reference.is(WSSE, "Reference") {
            return other();
        }
        let version = match reference.attribute("", "ValueType").as_deref() {
            None | Some("") => version,
            Some(value_type) => {
                let known = ConversationVersion::ALL
                    .into_iter()
                    .find(|version| version.token_type() == value_type);
                match known {
                    Some(version) => version,
                    None => return other(),
                }
            }
        };
        let uri = reference.attribute("", "URI").unwrap_or_default();
        if let Some(id) = uri.strip_prefix('#') {
            return Ok(Self::Token {
                version,
                id: id.to_owned(),
            });
        }
        let instance = reference.attribute(version.namespace(), "Instance");
        Ok(Self::Context(ContextName {
            version,
            identifier: checked(reference, &uri)?,
            instance: match instance {
                Some(instance) => Some(checked_instance(reference, &instance)?),
                None => None,
            },
        }))
    }

    /// Writes a `wsse:SecurityTokenReference`.
    pub(crate) fn write(&self, writer: &mut Writer<'_>) {
        let (version, uri, instance) = match self {
            Self::Context(name) => (
                name.version,
                name.identifier.clone(),
                name.instance.as_deref(),
            ),
            Self::Token { version, id } => (*version, format!("#{id}"), None),
            Self::Other(other) => return writer.out().extend_from_slice(&other.canonical),
        };
        let mut attributes = Vec::new();
        if instance.is_some() {
            attributes.push(("xmlns:wsc", version.namespace()));
        }
        attributes.extend([("URI", uri.as_str()), ("ValueType", version.token_type())]);
        if let Some(instance) = instance {
            attributes.push(("wsc:Instance", instance));
        }
        writer.element("wsse:SecurityTokenReference", Some(WSSE), &[], |writer| {
            writer.element("wsse:Reference", None, &attributes, |_| {});
        });
    }
}

impl fmt::Display for ContextReference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Context(name) => name.fmt(out),
            Self::Token { id, .. } => write!(out, "the token `#{id}`"),
            Self::Other(other) => write!(out, "`{}`", other.name),
        }
    }
}

/// Reads `wsc:Identifier` and `wsc:Instance` of a token. What else stands in it is for its issuer
/// (WS-SecureConversation 1.4, 2).
fn context_name(
    token: Element<'_>,
    version: ConversationVersion,
) -> Result<ContextName, MessageError> {
    let mut identifier = None;
    let mut instance = None;
    for child in token.children() {
        if child.is(version.namespace(), "Identifier") {
            set(&mut identifier, child, checked(child, &uri(child)?)?)?;
        } else if child.is(version.namespace(), "Instance") {
            set(&mut instance, child, checked_instance(child, &uri(child)?)?)?;
        }
    }
    Ok(ContextName {
        version,
        identifier: identifier.ok_or_else(|| MessageError::missing("`wsc:Identifier`", token))?,
        instance,
    })
}

/// The identifier, which is an absolute URI (WS-SecureConversation 1.4, 2).
fn checked(element: Element<'_>, identifier: &str) -> Result<String, MessageError> {
    let identifier = identifier.trim();
    let scheme = identifier.split_once(':').map_or("", |(scheme, _)| scheme);
    let absolute = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '.'));
    if absolute && is_name(identifier) {
        return Ok(identifier.to_owned());
    }
    let expected = "an absolute URI of at most 512 bytes";
    Err(MessageError::value(
        element,
        expected,
        Some(identifier.chars().take(64).collect()),
    ))
}

fn checked_instance(element: Element<'_>, instance: &str) -> Result<String, MessageError> {
    let instance = instance.trim();
    match is_name(instance) {
        true => Ok(instance.to_owned()),
        false => Err(MessageError::value(
            element,
            "a name of at most 512 bytes",
            None,
        )),
    }
}

fn is_name(text: &str) -> bool {
    (1..=LONGEST_NAME).contains(&text.len())
        && !text
            .chars()
            .any(|letter| letter.is_whitespace() || letter.is_control())
}
