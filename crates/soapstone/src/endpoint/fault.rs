//! SOAP faults among the messages that are opened: whether a message is one, and whom it blames.
//!
//! The one rule: what is told of a message is read from what was proven of it, never from the head
//! that it came with.

use soapstone_wss::{Envelope, SoapVersion};
use soapstone_xml::Element;

/// Whom a SOAP fault blames, by its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The sender of the request: `Client` of SOAP 1.1, `Sender` of SOAP 1.2.
    Sender,
    /// Anybody else.
    Other,
}

/// Whom the fault in a Body blames; `None` if the Body holds no fault.
pub(super) fn blame(envelope: &Envelope) -> Option<Blame> {
    let version = envelope.version();
    let soap = version.namespace();
    let fault = envelope.body().first_child()?;
    if !fault.is(soap, "Fault") {
        return None;
    }
    let (code, sender) = match version {
        SoapVersion::V11 => (fault.child("", "faultcode"), "Client"),
        SoapVersion::V12 => {
            let code = fault.child(soap, "Code");
            (code.and_then(|code| code.child(soap, "Value")), "Sender")
        }
    };
    let is_senders = code.is_some_and(|code| names(code, soap, sender));
    Some(if is_senders {
        Blame::Sender
    } else {
        Blame::Other
    })
}

/// Whether the text of an element is this qualified name.
fn names(element: Element<'_>, namespace: &str, local: &str) -> bool {
    let Some(text) = element.text_strict() else {
        return false;
    };
    let (prefix, name) = text.trim().split_once(':').unwrap_or(("", text.trim()));
    name == local && element.namespace_of(prefix) == Some(namespace)
}

#[cfg(test)]
mod tests {
    use soapstone_xml::{Buffers, Limits};

    use super::*;

    fn read(version: SoapVersion, body: &str) -> Option<Blame> {
        let soap = version.namespace();
        let text = format!(
            "<s:Envelope xmlns:s='{soap}' xmlns:o='urn:o'><s:Body>{body}</s:Body></s:Envelope>"
        );
        let buffers = &mut Buffers::default();
        let envelope = Envelope::parse(text.into_bytes(), &Limits::default(), buffers);
        blame(&envelope.expect("an envelope"))
    }

    #[test]
    fn a_fault_of_soap_11_blames_by_its_faultcode() {
        let fault = |code: &str| format!("<s:Fault><faultcode>{code}</faultcode></s:Fault>");
        for (body, blamed) in [
            (fault("s:Client"), Some(Blame::Sender)),
            (fault(" s:Client "), Some(Blame::Sender)),
            (fault("s:Server"), Some(Blame::Other)),
            (fault("o:Client"), Some(Blame::Other)),
            (fault("Client"), Some(Blame::Other)),
            ("<s:Fault/>".to_owned(), Some(Blame::Other)),
            ("<o:Fault/>".to_owned(), None),
            ("<o:a><s:Fault/></o:a>".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(read(SoapVersion::V11, &body), blamed, "{body}");
        }
    }

    #[test]
    fn a_fault_of_soap_12_blames_by_the_value_of_its_code() {
        let fault = |code: &str| {
            format!(
                "<s:Fault><s:Code><s:Value>{code}</s:Value><s:Subcode><s:Value>s:Sender</s:Value></s:Subcode></s:Code></s:Fault>"
            )
        };
        for (code, blamed) in [
            ("s:Sender", Blame::Sender),
            ("s:Receiver", Blame::Other),
            ("s:Client", Blame::Other),
            ("o:Sender", Blame::Other),
        ] {
            assert_eq!(read(SoapVersion::V12, &fault(code)), Some(blamed), "{code}");
        }
    }
}
