//! The `wsse:Security` header, put together from what was made, in the order in which a receiver
//! must process it.

use soapstone_xml::Buffers;

use super::securing::Securing;
use super::text::put;
use crate::envelope::{Envelope, SoapVersion};

impl Securing<'_> {
    /// Puts the header first into `soap:Header`.
    pub(super) fn write_header(&mut self, envelope: &Envelope, buffers: &mut Buffers) {
        let root = envelope.document.root();
        let prefix = root.prefix();
        let version = envelope.version();
        let protection = self.message.protection();
        let pieces: usize = self.pieces.in_order(protection).map(<[u8]>::len).sum();
        let room = envelope.room_for_header();
        let mut header = buffers.take(room.before.len() + pieces + 512 + room.behind.len());
        header.extend_from_slice(&room.before);
        // An attribute needs a prefix: `soap` is declared here where the envelope has none.
        let (declared, attribute_prefix) = match prefix {
            "" => ([" xmlns:soap=\"", version.namespace(), "\""], "soap"),
            prefix => ([""; 3], prefix),
        };
        put(&["<wsse:Security"], &mut header);
        put(&declared, &mut header);
        self.pieces.declarations.write(&mut header);
        if protection.must_understand {
            let must = match version {
                SoapVersion::V11 => "1",
                SoapVersion::V12 => "true",
            };
            let attribute = [" ", attribute_prefix, ":mustUnderstand=\"", must, "\""];
            put(&attribute, &mut header);
        }
        if let Some(actor) = &protection.actor {
            let name = version.actor_attribute();
            put(&[" ", attribute_prefix, ":", name, "=\""], &mut header);
            soapstone_xml::escape::attribute(version.role(actor), &mut header);
            header.push(b'"');
        }
        header.push(b'>');
        for piece in self.pieces.in_order(protection) {
            header.extend_from_slice(piece);
        }
        header.extend_from_slice(b"</wsse:Security>");
        header.extend_from_slice(&room.behind);
        self.tell_of_header(envelope);
        buffers.give(std::mem::take(&mut self.pieces.signature));
        buffers.give(std::mem::take(&mut self.pieces.derived));
        self.changes.edits.replace(room.place, header);
    }
}
