//! The end of an assertion before its time, as its holder asks for it (WS-Trust 1.4, 6).
//!
//! The one rule: it is cancelled when the service says so, and not when it says nothing.

use soapstone_wss::AssertionToken;
use soapstone_xml::Element;

use super::error::TrustError;
use super::{TrustRequest, one_answer};
use crate::identifier::uuid_urn;
use crate::message::Writer;
use crate::version::{Action, Operation, RequestType, TrustVersion};

/// An assertion that is being cancelled.
#[derive(Debug)]
pub struct PendingTokenCancel {
    context: String,
    version: TrustVersion,
}

impl PendingTokenCancel {
    /// Asks for the end of an assertion.
    #[must_use]
    pub fn cancel(version: TrustVersion, token: &AssertionToken) -> (Self, TrustRequest) {
        let context = uuid_urn();
        let mut body = Vec::with_capacity(4096);
        let name = "wst:RequestSecurityToken";
        let namespace = Some(version.namespace());
        Writer::new(&mut body).message(name, namespace, Some(&context), |writer| {
            writer.text("wst:TokenType", token.version().token_type());
            let cancel = RequestType::single(Operation::Cancel);
            writer.text("wst:RequestType", &cancel.uri(version));
            writer.element("wst:CancelTarget", None, &[], |writer| {
                writer.out().extend_from_slice(token.written());
            });
        });
        let action = Action {
            version,
            operation: Operation::Cancel,
            context: false,
            batch: false,
        };
        let request = TrustRequest {
            action: action.request_uri(),
            body,
            // Whoever reads it might use it, until it is cancelled.
            confidential: true,
        };
        (Self { context, version }, request)
    }

    /// Reads the answer in `body`, the `soap:Body` of a verified message.
    ///
    /// # Errors
    /// [`TrustError`]: the service does not say that the assertion is cancelled.
    pub fn accept(self, body: Element<'_>) -> Result<(), TrustError> {
        let answer = one_answer(body, self.version)?;
        if answer.context.as_ref() != Some(&self.context) {
            return Err(TrustError::AnotherRequestAnswered {
                found: answer.context,
            });
        }
        match answer.cancelled {
            true => Ok(()),
            false => Err(TrustError::NotCancelled),
        }
    }
}
