//! The `wsse:Security` header, put together from what was made, in the order in which a receiver
//! must process it.

use jiff::Timestamp;
use soapstone_xml::Buffers;

use super::Securing;
use crate::binding::ProtectionOrder;
use crate::envelope::{Envelope, SoapVersion};
use crate::freshness;
use crate::names::WSU;

impl Securing<'_> {
    /// Puts the header first into `soap:Header`.
    pub(super) fn write_header(&mut self, envelope: &Envelope, buffers: &mut Buffers) {
        let root = envelope.document.root();
        let prefix = root.prefix();
        let version = envelope.version();
        let pieces: usize = self.pieces().map(<[u8]>::len).sum();
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
        self.declarations.write(&mut header);
        if self.plan.protection.must_understand {
            let must = match version {
                SoapVersion::V11 => "1",
                SoapVersion::V12 => "true",
            };
            let attribute = [" ", attribute_prefix, ":mustUnderstand=\"", must, "\""];
            put(&attribute, &mut header);
        }
        if let Some(actor) = &self.plan.protection.actor {
            let name = version.actor_attribute();
            put(&[" ", attribute_prefix, ":", name, "=\""], &mut header);
            soapstone_xml::escape::attribute(actor, &mut header);
            header.push(b'"');
        }
        header.push(b'>');
        for piece in self.pieces() {
            header.extend_from_slice(piece);
        }
        header.extend_from_slice(b"</wsse:Security>");
        header.extend_from_slice(&room.behind);
        buffers.give(std::mem::take(&mut self.signature));
        buffers.give(std::mem::take(&mut self.derived));
        self.edits.replace(room.place, header);
    }

    /// The pieces of the header in the order in which a receiver must process them: what was done
    /// last comes first, and what is named stands before what names it.
    fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let sign_first = self.plan.protection.order == ProtectionOrder::SignBeforeEncrypting;
        // What is enciphered stands behind the key that deciphers it.
        let endorsing_tokens = |hidden: bool| {
            let endorsing = self
                .plan
                .protection
                .endorsing
                .iter()
                .zip(&self.endorsements);
            endorsing
                .filter(move |(demand, _)| demand.token_encrypted == hidden)
                .map(|(_, endorsement)| endorsement.token.as_slice())
        };
        let signatures = || {
            let endorsing = self.endorsements.iter().map(|one| &one.signature);
            std::iter::once(&self.signature)
                .chain(endorsing)
                .map(Vec::as_slice)
        };
        // What deciphers the signatures, or what they cover, and what need not be deciphered before
        // they are verified.
        let (before, behind): ([&[u8]; 2], &[u8]) = if sign_first || !self.signature_list.is_empty()
        {
            ([&self.encrypted_key, &self.signature_list], &self.data_list)
        } else {
            ([&[], &[]], &self.encrypted_key)
        };
        let protection = before
            .into_iter()
            .chain(endorsing_tokens(true))
            .chain(signatures())
            .chain(std::iter::once(behind));
        let tokens_of_keys: [&[u8]; 4] = [
            &self.tokens_of_keys,
            &self.context_token,
            &self.session_key,
            &self.derived,
        ];
        let tokens = std::iter::once(self.tokens.as_slice())
            .chain(endorsing_tokens(false))
            .chain(tokens_of_keys);
        let confirmations = || self.confirmations.iter().map(Vec::as_slice);
        let encryption = self.plan.protection.encryption.as_ref();
        let readable = encryption.is_none_or(|encryption| !encryption.hides_confirmations);
        let timestamp_first = !self.plan.protection.timestamp_last;
        let timestamp = |wanted: bool| wanted.then_some(self.timestamp.as_slice()).into_iter();
        timestamp(timestamp_first)
            .chain(confirmations().filter(move |_| readable))
            .chain(tokens)
            .chain(protection)
            .chain(confirmations().filter(move |_| !readable))
            .chain(std::iter::once(self.username.as_slice()))
            .chain(timestamp(!timestamp_first))
    }
}

/// Appends pieces that have nothing to escape.
pub(super) fn put(pieces: &[&str], out: &mut Vec<u8>) {
    for piece in pieces {
        out.extend_from_slice(piece.as_bytes());
    }
}

/// A `wsu:Timestamp` in canonical form.
pub(super) fn timestamp(id: &str, created: Timestamp, expires: Timestamp) -> Vec<u8> {
    let mut out = Vec::with_capacity(384);
    let pieces = [
        "<wsu:Timestamp xmlns:wsu=\"",
        WSU,
        "\" wsu:Id=\"",
        id,
        "-time\"><wsu:Created>",
        &freshness::write(created),
        "</wsu:Created><wsu:Expires>",
        &freshness::write(expires),
        "</wsu:Expires></wsu:Timestamp>",
    ];
    put(&pieces, &mut out);
    out
}
