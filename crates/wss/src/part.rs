//! Which parts of a message a policy speaks of.
//!
//! A [`Part`] is written in a policy and becomes nodes only against one message; from there on the
//! node counts, never the name. Names are those of WS-SecurityPolicy 1.3, 4.1 (`SignedParts`,
//! `EncryptedParts`).

use std::fmt;

use crate::path::ElementPath;

/// A part of a message that a policy wants signed or encrypted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Part {
    /// The one `soap:Body` of the envelope.
    Body,
    /// The `wsu:Timestamp` of the processed `wsse:Security` header.
    Timestamp,
    /// Every header block of this name.
    Header {
        /// Namespace URI; empty for none.
        namespace: String,
        /// Local name.
        local: String,
    },
    /// The element whose `wsu:Id` (or other id attribute) has this value.
    Id(String),
    /// The message's own `ds:Signature`: encrypted after it was made (`sp:EncryptSignature`).
    Signature,
    /// The `wsse:UsernameToken`.
    UsernameToken,
    /// The `saml:Assertion` about the sender.
    Assertion,
    /// The token that holds the key of the signature (`sp:ProtectTokens`).
    Token,
    /// The token that holds the key of an endorsing signature (WS-SecurityPolicy 1.3, 8.4 and 8.7).
    /// Whether it is signed or encrypted, the [`EndorsingToken`](crate::EndorsingToken) says.
    EndorsingToken,
    /// The `wsse11:SignatureConfirmation` elements of an answer.
    SignatureConfirmation,
    /// Every element that a path selects (`sp:SignedElements` and its kin).
    Path(ElementPath),
}

/// Whether the tags of a part are encrypted with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// Only what is between the tags.
    Content,
    /// The whole element. A header block becomes a `wsse11:EncryptedHeader`.
    Element,
}

/// One encrypted part.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EncryptedPart {
    /// The part.
    pub part: Part,
    /// With or without its tags.
    pub extent: Extent,
}

impl EncryptedPart {
    /// The part in its customary extent: the content of the Body, the whole of anything else.
    pub fn customary(part: Part) -> Self {
        let extent = if part == Part::Body {
            Extent::Content
        } else {
            Extent::Element
        };
        Self { part, extent }
    }
}

/// A text that names no part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartSyntax {
    /// What was found.
    pub found: String,
}

impl fmt::Display for PartSyntax {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "expected `Body`, `Timestamp`, `Signature`, `UsernameToken`, `Assertion`, `Token`, `EndorsingToken`, `SignatureConfirmation`, `{{namespace}}local` or `#id`, \
             found `{}`",
            self.found
        )
    }
}

impl std::error::Error for PartSyntax {}

impl std::str::FromStr for Part {
    type Err = PartSyntax;

    /// Reads `Body`, `Timestamp`, `Signature`, `UsernameToken`, `Assertion`, `Token`,
    /// `EndorsingToken`, `SignatureConfirmation`, `{namespace}local` or `#id`.
    fn from_str(text: &str) -> Result<Self, PartSyntax> {
        let unknown = || PartSyntax {
            found: text.to_owned(),
        };
        match text {
            "Body" => return Ok(Self::Body),
            "Timestamp" => return Ok(Self::Timestamp),
            "Signature" => return Ok(Self::Signature),
            "UsernameToken" => return Ok(Self::UsernameToken),
            "Assertion" => return Ok(Self::Assertion),
            "Token" => return Ok(Self::Token),
            "EndorsingToken" => return Ok(Self::EndorsingToken),
            "SignatureConfirmation" => return Ok(Self::SignatureConfirmation),
            _ => {}
        }
        if let Some(id) = text.strip_prefix('#').filter(|id| !id.is_empty()) {
            return Ok(Self::Id(id.to_owned()));
        }
        let (namespace, local) = text
            .strip_prefix('{')
            .and_then(|rest| rest.split_once('}'))
            .ok_or_else(unknown)?;
        if local.is_empty() || local.contains(|c: char| c.is_whitespace() || "{}<>&:".contains(c)) {
            return Err(unknown());
        }
        Ok(Self::Header {
            namespace: namespace.to_owned(),
            local: local.to_owned(),
        })
    }
}

impl fmt::Display for Part {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Body => out.write_str("Body"),
            Self::Timestamp => out.write_str("Timestamp"),
            Self::Signature => out.write_str("Signature"),
            Self::UsernameToken => out.write_str("UsernameToken"),
            Self::Assertion => out.write_str("Assertion"),
            Self::Token => out.write_str("Token"),
            Self::EndorsingToken => out.write_str("EndorsingToken"),
            Self::SignatureConfirmation => out.write_str("SignatureConfirmation"),
            Self::Id(id) => write!(out, "#{id}"),
            Self::Path(path) => path.fmt(out),
            Self::Header { namespace, local } => write!(out, "{{{namespace}}}{local}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_reads_back_from_its_text() {
        for text in [
            "Body",
            "Timestamp",
            "Signature",
            "UsernameToken",
            "Assertion",
            "Token",
            "EndorsingToken",
            "SignatureConfirmation",
            "#x1",
            "{urn:a}To",
            "{}local",
        ] {
            assert_eq!(text.parse::<Part>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_prefix_is_not_a_name() {
        let refused = "wsa:To".parse::<Part>().unwrap_err();
        assert_eq!(
            refused,
            PartSyntax {
                found: "wsa:To".to_owned()
            }
        );
        assert!("{urn:a}wsa:To".parse::<Part>().is_err());
        assert!("#".parse::<Part>().is_err());
    }
}
