//! WS-Addressing headers of a message, in the versions of August 2004 and of 1.0 (2005/08): read,
//! and written for an answer.
//!
//! They decide which policy a message is opened with (`Action`) and which answer belongs to which
//! request (`RelatesTo`). The one rule: no address that is read here is ever connected to; an
//! answer goes back where its request came from.

mod version;

use std::fmt;

use soapstone_wss::SoapVersion;
use soapstone_xml::Element;

use crate::identifier;
use crate::message::{MessageError, Writer, endpoint_address, expanded_name, set, uri};

pub use version::AddressingVersion;

/// Why the addressing headers of a message are not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddressingError {
    /// A header that may occur once occurs again, or is not what it should be (1.0 SOAP Binding,
    /// 6.4.1).
    Header(MessageError),
    /// Headers of both versions: a receiver that reads the one sees another message than one that
    /// reads the other.
    Mixed {
        /// Expanded name of a header of the second version.
        found: String,
    },
    /// Headers without an `Action`, which is the one that must be there (1.0 Core, 3.2).
    ActionMissing,
}

impl fmt::Display for AddressingError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(error) => error.fmt(out),
            Self::Mixed { found } => write!(
                out,
                "expected addressing headers of one version, found `{found}` too"
            ),
            Self::ActionMissing => {
                out.write_str("expected `wsa:Action` among the addressing headers, found none")
            }
        }
    }
}

impl std::error::Error for AddressingError {}

impl From<MessageError> for AddressingError {
    fn from(error: MessageError) -> Self {
        Self::Header(error)
    }
}

/// The addressing headers of one message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Addressing {
    /// Version of all of them.
    pub version: AddressingVersion,
    /// `wsa:Action`.
    pub action: String,
    /// `wsa:To`.
    pub to: Option<String>,
    /// `wsa:MessageID`.
    pub message_id: Option<String>,
    /// Address of `wsa:ReplyTo`.
    pub reply_to: Option<String>,
    /// Address of `wsa:FaultTo`.
    pub fault_to: Option<String>,
    /// Address of `wsa:From`, of headers that are written. It is not read: nothing depends on it.
    pub from: Option<String>,
    /// `wsa:RelatesTo` of replies.
    pub relates_to: Option<String>,
}

impl Addressing {
    /// Reads the headers of `header`, a `soap:Header`; `None` if there are none of WS-Addressing.
    ///
    /// Which of them are signed is for the plan to say: an unsigned header is not among what was
    /// verified.
    ///
    /// # Errors
    /// [`AddressingError`].
    pub fn read(header: Element<'_>) -> Result<Option<Self>, AddressingError> {
        let mut version = None;
        let mut action = None;
        let mut to = None;
        let mut message_id = None;
        let mut reply_to = None;
        let mut fault_to = None;
        let mut relates_to = None;
        for block in header.children() {
            let Some(found) = AddressingVersion::from_namespace(block.namespace()) else {
                continue;
            };
            if *version.get_or_insert(found) != found {
                return Err(AddressingError::Mixed {
                    found: expanded_name(block),
                });
            }
            match block.local() {
                "Action" => set(&mut action, block, uri(block)?)?,
                "To" => set(&mut to, block, uri(block)?)?,
                "MessageID" => set(&mut message_id, block, uri(block)?)?,
                "ReplyTo" => set(&mut reply_to, block, endpoint_address(block, found)?)?,
                "FaultTo" => set(&mut fault_to, block, endpoint_address(block, found)?)?,
                "RelatesTo" if is_reply(block, found) => {
                    set(&mut relates_to, block, uri(block)?)?;
                }
                // Other relationships, `From`, reference parameters: nothing depends on them.
                _ => {}
            }
        }
        let Some(version) = version else {
            return Ok(None);
        };
        Ok(Some(Self {
            version,
            action: action.ok_or(AddressingError::ActionMissing)?,
            to,
            message_id,
            reply_to,
            fault_to,
            from: None,
            relates_to,
        }))
    }

    /// The headers of a request to `to` that is answered on its connection.
    #[must_use]
    pub fn request(version: AddressingVersion, action: String, to: String) -> Self {
        Self {
            version,
            action,
            to: Some(to),
            message_id: Some(identifier::uuid_urn()),
            reply_to: Some(version.anonymous().to_owned()),
            fault_to: None,
            from: None,
            relates_to: None,
        }
    }

    /// The headers of the answer to the message with these headers (1.0 Core, 3.4).
    #[must_use]
    pub fn answer(&self, action: String) -> Self {
        Self {
            version: self.version,
            action,
            to: Some(self.version.anonymous().to_owned()),
            message_id: Some(identifier::uuid_urn()),
            reply_to: None,
            fault_to: None,
            from: None,
            relates_to: self.message_id.clone(),
        }
    }

    /// Whether the message wants its answer where it came from, which is where it gets it.
    #[must_use]
    pub fn is_answered_here(&self) -> bool {
        let here = |address: &Option<String>| {
            address
                .as_deref()
                .is_none_or(|address| address == self.version.anonymous())
        };
        here(&self.reply_to) && here(&self.fault_to)
    }

    /// Appends the header blocks, in canonical form. With `must_understand`, a receiver of that
    /// SOAP version must understand `Action` and `To`.
    pub fn write(&self, must_understand: Option<SoapVersion>, out: &mut Vec<u8>) {
        let namespace = self.version.namespace();
        let soap = must_understand.map(SoapVersion::namespace);
        let mut writer = Writer::new(out);
        let mut block = |name: &str, text: &str, marked: bool| {
            let attributes = match soap.filter(|_| marked) {
                Some(soap) => vec![("xmlns:soap", soap), ("soap:mustUnderstand", "1")],
                None => Vec::new(),
            };
            // Canonical order wants `xmlns:soap` before `xmlns:wsa`.
            let (declarations, attributes) = attributes.split_at(attributes.len() / 2);
            let all = [declarations, &[("xmlns:wsa", namespace)], attributes].concat();
            writer.element(name, None, &all, |writer| writer.escaped(text));
        };
        block("wsa:Action", &self.action, true);
        if let Some(message_id) = &self.message_id {
            block("wsa:MessageID", message_id, false);
        }
        if let Some(to) = &self.to {
            block("wsa:To", to, true);
        }
        if let Some(relates_to) = &self.relates_to {
            block("wsa:RelatesTo", relates_to, false);
        }
        for (name, address) in [
            ("wsa:ReplyTo", &self.reply_to),
            ("wsa:FaultTo", &self.fault_to),
            ("wsa:From", &self.from),
        ] {
            if let Some(address) = address {
                writer.element(name, Some(namespace), &[], |writer| {
                    writer.text("wsa:Address", address);
                });
            }
        }
    }
}

/// Every `wsa:MessageID` of a message with that `soap:Header`, of any version, that names
/// something.
#[must_use]
pub fn message_ids(header: Element<'_>) -> Vec<String> {
    let is_id = |block: &Element<'_>| {
        block.local() == "MessageID"
            && AddressingVersion::from_namespace(block.namespace()).is_some()
    };
    header
        .children()
        .filter(is_id)
        .filter_map(|block| uri(block).ok())
        .collect()
}

/// The request that a header block says its message answers; `None` if the block says nothing of
/// that kind.
pub fn reply_relation(block: Element<'_>) -> Option<Result<String, MessageError>> {
    let version = AddressingVersion::from_namespace(block.namespace())?;
    (block.local() == "RelatesTo" && is_reply(block, version)).then(|| uri(block))
}

/// Whether a `RelatesTo` says that the message is the answer to another (1.0 Core, 3.2; in August
/// 2004 a qualified name said so).
fn is_reply(block: Element<'_>, version: AddressingVersion) -> bool {
    let Some(kind) = block.attribute("", "RelationshipType") else {
        return true;
    };
    match version {
        AddressingVersion::V10 => kind == "http://www.w3.org/2005/08/addressing/reply",
        AddressingVersion::August2004 => {
            let (prefix, local) = kind.split_once(':').unwrap_or(("", &kind));
            local == "Reply" && block.namespace_of(prefix) == Some(version.namespace())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::document;

    const V10: &str = "http://www.w3.org/2005/08/addressing";
    const AUGUST: &str = "http://schemas.xmlsoap.org/ws/2004/08/addressing";

    fn read(blocks: &str) -> Result<Option<Addressing>, AddressingError> {
        let text = format!("<h xmlns:a='{V10}' xmlns:o='{AUGUST}'>{blocks}</h>");
        Addressing::read(document(text.as_bytes()).root())
    }

    #[test]
    fn headers_are_read_as_they_are_written() {
        for version in AddressingVersion::ALL {
            let to = "https://example.org/a?b=1&c=2".to_owned();
            let request = Addressing::request(version, "urn:action".to_owned(), to);
            assert!(request.is_answered_here());
            let answer = request.answer("urn:answer".to_owned());
            assert_eq!(answer.relates_to, request.message_id);
            for headers in [request, answer] {
                for must_understand in [None, Some(SoapVersion::V11), Some(SoapVersion::V12)] {
                    let mut text = b"<h>".to_vec();
                    headers.write(must_understand, &mut text);
                    text.extend_from_slice(b"</h>");
                    let read = Addressing::read(document(&text).root());
                    assert_eq!(read.unwrap().unwrap(), headers);
                }
            }
        }
    }

    #[test]
    fn a_message_without_addressing_headers_has_none() {
        assert_eq!(read("<x xmlns='urn:x'/>"), Ok(None));
    }

    /// WS-Addressing 1.0 SOAP Binding 6.4.1, `wsa:InvalidCardinality`: with two actions, one could
    /// be signed and the other obeyed.
    #[test]
    fn a_second_action_is_refused() {
        let refused = read("<a:Action>urn:a</a:Action><a:Action>urn:b</a:Action>");
        let element = format!("{{{V10}}}Action");
        let duplicate = MessageError::Duplicate { element, line: 1 };
        assert_eq!(refused, Err(AddressingError::Header(duplicate)));
    }

    #[test]
    fn headers_of_two_versions_are_refused() {
        let refused = read("<a:Action>urn:a</a:Action><o:Action>urn:b</o:Action>");
        let found = format!("{{{AUGUST}}}Action");
        assert_eq!(refused, Err(AddressingError::Mixed { found }));
    }

    #[test]
    fn headers_without_an_action_are_refused() {
        assert_eq!(
            read("<a:To>urn:a</a:To>"),
            Err(AddressingError::ActionMissing)
        );
    }

    /// An answer must not be sent where a request wishes: whoever could write `ReplyTo` could aim
    /// it.
    #[test]
    fn another_address_to_reply_to_is_noticed_and_not_used() {
        let headers = read(
            "<a:Action>urn:a</a:Action><a:ReplyTo><a:Address>http://10.0.0.1/</a:Address></a:ReplyTo>",
        )
        .unwrap()
        .unwrap();
        assert!(!headers.is_answered_here());
        let answer = headers.answer("urn:b".to_owned());
        assert_eq!(
            answer.to.as_deref(),
            Some(AddressingVersion::V10.anonymous())
        );
    }

    #[test]
    fn only_the_reply_relationship_is_one() {
        let headers = read(
            "<a:Action>urn:a</a:Action><a:RelatesTo RelationshipType='urn:other'>urn:x</a:RelatesTo>\
             <a:RelatesTo>urn:y</a:RelatesTo>",
        );
        assert_eq!(headers.unwrap().unwrap().relates_to.unwrap(), "urn:y");
        let headers = read(
            "<o:Action>urn:a</o:Action><o:RelatesTo RelationshipType='o:Reply'>urn:y</o:RelatesTo>",
        );
        assert_eq!(headers.unwrap().unwrap().relates_to.unwrap(), "urn:y");
    }
}
