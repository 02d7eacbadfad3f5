//! WS-Addressing on behalf of peers that do not speak it: a policy that asks for addressing headers
//! (`wsam:Addressing`, `wsaw:UsingAddressing`) is met by the endpoint, not by the plain client or
//! service behind it.
//!
//! The one rule: what the other side sends in addressing headers decides how an answer is labelled,
//! never where anything is sent.

use soapstone_trust::addressing::Addressing;
use soapstone_wss::{Envelope, SecureError};
use soapstone_xml::Buffers;

use super::addressing_headers::of;
use super::compiled::Endpoint;
use super::plans::Directions;

impl<P: Directions> Endpoint<P> {
    /// Puts the headers into a plain request that its policy asks for and that its client did not
    /// write: what it asks for (what the description says of its operation, its `SOAPAction`, or
    /// else the name of what the Body holds), and from whom.
    ///
    /// `requested` is where it goes: `wsa:To`, unless the file or the description says another.
    ///
    /// # Errors
    /// The request is no envelope, or nothing says where it goes or what it asks for.
    pub fn label_request(
        &self,
        plain: Vec<u8>,
        action: Option<&str>,
        requested: Option<&str>,
        buffers: &mut Buffers,
    ) -> Result<Vec<u8>, SecureError> {
        if !self.plans.iter().any(|plans| plans.addressing) {
            return Ok(plain);
        }
        self.label(plain, buffers, |envelope| {
            let mut of_operation = None;
            if let Some(table) = &self.operations {
                // Of what is no operation, securing says so.
                let operations = table.of_plain(envelope, action).unwrap_or_default();
                if !self.plans_of(&operations).is_some_and(|it| it.addressing) {
                    return Ok(None);
                }
                of_operation = table.addressing_action(&operations).map(str::to_owned);
            }
            let action = of_operation.or_else(|| self.request_actions.to(action, envelope));
            self.request_headers.of(action, requested).map(Some)
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
    ) -> Result<Vec<u8>, SecureError> {
        self.label(plain, buffers, |envelope| {
            let is_fault = envelope
                .body()
                .first_child()
                .is_some_and(|content| content.is(envelope.version().namespace(), "Fault"));
            Ok(Some(request.answer(if is_fault {
                request.version.fault_action().to_owned()
            } else {
                self.answer_actions.to(&request.action)
            })))
        })
    }

    fn label(
        &self,
        plain: Vec<u8>,
        buffers: &mut Buffers,
        headers: impl FnOnce(&Envelope) -> Result<Option<Addressing>, SecureError>,
    ) -> Result<Vec<u8>, SecureError> {
        let envelope = Envelope::parse(plain, self.limits(), buffers)?;
        let wanted = match of(&envelope) {
            Some(_) => None,
            None => headers(&envelope)?,
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
