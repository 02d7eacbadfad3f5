//! WS-Addressing on behalf of peers that do not speak it: a policy that asks for addressing headers
//! (`wsam:Addressing`, `wsaw:UsingAddressing`) is met by the endpoint, not by the plain client or
//! service behind it.
//!
//! The one rule: what the other side sends in addressing headers decides how an answer is labelled,
//! never where anything is sent.

use std::collections::HashMap;

use soapstone_policy::OperationMessages;
use soapstone_trust::addressing::{Addressing, AddressingVersion};
use soapstone_wss::{Envelope, EnvelopeError, SoapVersion};
use soapstone_xml::{Buffers, Element};

use super::Endpoint;

impl Endpoint {
    /// Puts the headers into a plain request that its policy asks for and that its client did not
    /// write: what it asks for (its `SOAPAction`, or else the name of what the Body holds), and
    /// from whom.
    ///
    /// # Errors
    /// The request is no envelope.
    pub fn label_request(
        &self,
        plain: Vec<u8>,
        action: Option<&str>,
        to: &str,
        buffers: &mut Buffers,
    ) -> Result<Vec<u8>, EnvelopeError> {
        if !self.agreements.iter().any(|agreement| agreement.addressing) {
            return Ok(plain);
        }
        self.label(plain, buffers, |envelope| {
            let Some(table) = &self.operations else {
                return Some(of_request(action, to, envelope));
            };
            // Of what is no operation, securing says so.
            let operations = table.of_plain(envelope, action).unwrap_or_default();
            if !self.agreed(&operations)?.addressing {
                return None;
            }
            let action = table.addressing_action(&operations).or(action);
            Some(of_request(action, to, envelope))
        })
    }

    /// Puts the headers into a plain answer that say which request it answers.
    ///
    /// # Errors
    /// The answer is no envelope.
    pub fn label_answer(
        &self,
        plain: Vec<u8>,
        request: &Addressing,
        buffers: &mut Buffers,
    ) -> Result<Vec<u8>, EnvelopeError> {
        self.label(plain, buffers, |envelope| {
            let is_fault = envelope
                .body()
                .first_child()
                .is_some_and(|content| content.is(envelope.version().namespace(), "Fault"));
            Some(request.answer(if is_fault {
                request.version.fault_action().to_owned()
            } else {
                self.answer_actions.to(&request.action)
            }))
        })
    }

    fn label(
        &self,
        plain: Vec<u8>,
        buffers: &mut Buffers,
        headers: impl FnOnce(&Envelope) -> Option<Addressing>,
    ) -> Result<Vec<u8>, EnvelopeError> {
        let envelope = Envelope::parse(plain, self.limits(), buffers)?;
        let wanted = match of(&envelope) {
            Some(_) => None,
            None => headers(&envelope),
        };
        let bytes = match wanted {
            Some(wanted) => {
                let mut blocks = Vec::with_capacity(768);
                wanted.write(None, &mut blocks);
                envelope.with_header_blocks(&blocks, buffers)
            }
            None => envelope.document().bytes().to_vec(),
        };
        envelope.recycle(buffers);
        Ok(bytes)
    }
}

/// The addressing headers of a message; none if they make no sense.
pub(super) fn of(envelope: &Envelope) -> Option<Addressing> {
    let header = envelope.header()?;
    Addressing::read(header).ok().flatten()
}

/// Whether a header block is one of WS-Addressing.
pub(super) fn is_block(block: Element<'_>) -> bool {
    AddressingVersion::from_namespace(block.namespace()).is_some()
}

/// The headers of a request by a client that has none: `action` is its `SOAPAction`, or else the
/// name of what the Body holds.
fn of_request(action: Option<&str>, to: &str, envelope: &Envelope) -> Addressing {
    let action = action.filter(|action| !action.is_empty());
    let named = || {
        let content = envelope.body().first_child();
        content.map_or_else(String::new, |content| {
            format!(
                "{}/{}",
                content.namespace().trim_end_matches('/'),
                content.local()
            )
        })
    };
    let action = action.map_or_else(named, str::to_owned);
    Addressing::request(AddressingVersion::V10, action, to.to_owned())
}

/// The actions of the answers of a WSDL's operations, by those of their requests.
#[derive(Debug, Default)]
pub(super) struct AnswerActions(HashMap<String, Option<String>>);

impl AnswerActions {
    pub(super) fn of(operations: &[OperationMessages]) -> Self {
        let mut actions = HashMap::new();
        for messages in operations {
            for request in &messages.addressing_actions {
                let answer = messages.answer_action.clone();
                let known = actions
                    .entry(request.clone())
                    .or_insert_with(|| answer.clone());
                // Operations that share one, and whose answers do not: nothing tells them apart
                // here.
                if *known != answer {
                    *known = None;
                }
            }
        }
        Self(actions)
    }

    fn to(&self, request: &str) -> String {
        let known = self.0.get(request).and_then(Option::as_ref);
        known.map_or_else(|| answering(request), String::clone)
    }
}

/// The action of the answer to a request: the default pattern of WSDL (WS-Addressing 1.0 Metadata,
/// 4.4.4) as far as it can be told from the request alone.
fn answering(action: &str) -> String {
    match action.strip_suffix("Request") {
        Some(operation) => format!("{operation}Response"),
        None => format!("{action}Response"),
    }
}

/// An envelope around canonical content.
pub(super) fn envelope_of(
    version: SoapVersion,
    headers: Option<&Addressing>,
    body: &[u8],
) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() + 1024);
    out.extend_from_slice(b"<soap:Envelope xmlns:soap=\"");
    out.extend_from_slice(version.namespace().as_bytes());
    out.extend_from_slice(b"\">");
    if let Some(headers) = headers {
        out.extend_from_slice(b"<soap:Header>");
        headers.write(None, &mut out);
        out.extend_from_slice(b"</soap:Header>");
    }
    out.extend_from_slice(b"<soap:Body>");
    out.extend_from_slice(body);
    out.extend_from_slice(b"</soap:Body></soap:Envelope>");
    out
}

#[cfg(test)]
mod tests {
    use soapstone_policy::BodyContent;

    use super::*;

    #[test]
    fn the_action_of_an_answer_follows_from_that_of_its_request() {
        for (request, answer) in [
            ("urn:books/getBooksRequest", "urn:books/getBooksResponse"),
            ("urn:getBooks", "urn:getBooksResponse"),
        ] {
            assert_eq!(answering(request), answer);
        }
    }

    /// WS-Addressing 1.0 Metadata, 4.4.4: a `soapAction` is the action of a request, and of no
    /// answer.
    #[test]
    fn the_action_of_an_answer_is_what_a_wsdl_says() {
        let operation = |requests: &[&str], answer: Option<&str>| OperationMessages {
            soap_action: None,
            addressing_actions: requests.iter().map(ToString::to_string).collect(),
            answer_action: answer.map(str::to_owned),
            request: BodyContent::Empty,
            response: answer.map(|_| BodyContent::Empty),
        };
        let actions = AnswerActions::of(&[
            operation(
                &["urn:echo", "urn:t:T:EchoRequest"],
                Some("urn:t:T:EchoResponse"),
            ),
            operation(&["urn:shared"], Some("urn:t:T:aResponse")),
            operation(&["urn:shared"], Some("urn:t:T:bResponse")),
            operation(&["urn:tell"], None),
        ]);
        for (request, answer) in [
            ("urn:echo", "urn:t:T:EchoResponse"),
            ("urn:t:T:EchoRequest", "urn:t:T:EchoResponse"),
            ("urn:shared", "urn:sharedResponse"),
            ("urn:tell", "urn:tellResponse"),
            ("urn:unknown", "urn:unknownResponse"),
        ] {
            assert_eq!(actions.to(request), answer);
        }
    }
}
