//! Parts of a message that signatures and cipher text cover, by the names of an endpoint file.
//!
//! The rule kept here: a name holds for the next message as well, or the part has none.

use soapstone::wss::names::{DS, SOAP11, SOAP12, WSSE, WSSE11, WSU};
use soapstone::xml::Element;

/// A part that is covered, as an endpoint file names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Covered {
    Part(String),
    /// It has no name that holds for the next message.
    Unnamed(String),
}

/// How an endpoint file names an element.
pub(crate) fn covered_name(element: Element<'_>) -> Covered {
    let parent = element.parent();
    let in_header = parent.is_some_and(|it| {
        matches!(it.namespace(), SOAP11 | SOAP12) && it.local() == "Header"
            || it.is(WSSE11, "EncryptedHeader")
    });
    let name = match (element.namespace(), element.local()) {
        (SOAP11 | SOAP12, "Body") => "Body".to_owned(),
        (WSU, "Timestamp") => "Timestamp".to_owned(),
        (WSSE, "UsernameToken") => "UsernameToken".to_owned(),
        (WSSE, "BinarySecurityToken") => "Token".to_owned(),
        (DS, "Signature") => "Signature".to_owned(),
        (namespace, local) if in_header => format!("{{{namespace}}}{local}"),
        _ => {
            let id = element
                .attribute(WSU, "Id")
                .or_else(|| element.attribute("", "Id"));
            return Covered::Unnamed(format!(
                "{} with the id `{}`",
                element.qualified_name(),
                id.unwrap_or_default()
            ));
        }
    };
    Covered::Part(name)
}
