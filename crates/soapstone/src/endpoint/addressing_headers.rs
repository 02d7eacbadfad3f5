//! Addressing headers in envelopes.

use soapstone_trust::addressing::{Addressing, AddressingVersion};
use soapstone_wss::{Envelope, SoapVersion};
use soapstone_xml::Element;

/// The addressing headers of a message; none if they make no sense.
pub(super) fn of(envelope: &Envelope) -> Option<Addressing> {
    let header = envelope.header()?;
    Addressing::read(header).ok().flatten()
}

/// Whether a header block is one of WS-Addressing.
pub(super) fn is_block(block: Element<'_>) -> bool {
    AddressingVersion::from_namespace(block.namespace()).is_some()
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
