//! Prefix lists of a message that is being signed, and the canonical forms that follow from them.
//!
//! What we write is its own exclusive canonical form. With a list the form depends on what is
//! declared around: the piece is read as it will stand in the message, and canonicalized like any
//! other element. The one rule: what the header will declare is known before anything is signed.

use std::borrow::Cow;

use soapstone_crypto::{Digest, DigestAlgorithm};
use soapstone_xml::{
    Apex, Buffers, C14nOptions, C14nScratch, Canonicalization, Document, Element, ParseOptions,
    canonicalize, escape,
};
use soapstone_xmlsec::write::SignedInfo;

use super::scope::Declarations;
use super::text::put;
use crate::envelope::Envelope;
use crate::envelope_error::EnvelopeError;
use crate::inclusive_prefixes::InclusivePrefixes;
use crate::names::{DS, WSU};
use crate::secure_error::SecureError;
use crate::securing_event::WrittenItem;

/// The lists of one message.
pub(super) struct PrefixLists<'p> {
    wanted: &'p InclusivePrefixes,
    /// Start tags of the elements around the pieces of the header, with their declarations alone.
    before: Vec<u8>,
    /// Their end tags.
    behind: Vec<u8>,
    /// How many they are.
    depth: usize,
    options: ParseOptions,
    /// That of `ds:SignedInfo`: each prefix with its namespace; empty is the default one.
    signed_info: Vec<(String, String)>,
}

impl<'p> PrefixLists<'p> {
    /// Those of a message; none where no signature has lists.
    pub(super) fn of(
        wanted: &'p InclusivePrefixes,
        declarations: &Declarations,
        envelope: &Envelope,
    ) -> Result<Option<Self>, SecureError> {
        if wanted.is_nothing() {
            return Ok(None);
        }
        Self::around(wanted, declarations, envelope).map(Some)
    }

    /// Those of a message, be it that nothing is listed.
    fn around(
        wanted: &'p InclusivePrefixes,
        declarations: &Declarations,
        envelope: &Envelope,
    ) -> Result<Self, SecureError> {
        let root = envelope.document.root();
        let mut holders: Vec<Element<'_>> = envelope.header().into_iter().collect();
        holders.push(root);
        let (mut before, mut behind) = (Vec::new(), Vec::new());
        for holder in holders.iter().rev() {
            put(&["<around"], &mut before);
            for (prefix, namespace) in holder.declarations() {
                let colon = if prefix.is_empty() { "" } else { ":" };
                put(&[" xmlns", colon, prefix, "=\""], &mut before);
                escape::attribute(namespace, &mut before);
                put(&["\""], &mut before);
            }
            put(&[">"], &mut before);
        }
        put(&["<wsse:Security"], &mut before);
        if root.prefix().is_empty() {
            put(
                &[" xmlns:soap=\"", envelope.version().namespace(), "\""],
                &mut before,
            );
        }
        declarations.write(&mut before);
        put(&[">"], &mut before);
        put(&["</wsse:Security>"], &mut behind);
        for _ in &holders {
            put(&["</around>"], &mut behind);
        }
        let mut limits = envelope.options.limits.clone();
        // What is declared around comes on top of a piece.
        limits.message = limits.message.saturating_mul(2);
        let mut lists = Self {
            wanted,
            before,
            behind,
            depth: holders.len() + 1,
            options: ParseOptions {
                limits,
                ..ParseOptions::default()
            },
            signed_info: Vec::new(),
        };
        let document = lists.read(b"<piece></piece>")?;
        if let Some(security) = lists.piece_of(&document).parent() {
            let listed = wanted.of_signed_info(security).into_iter();
            let bound = listed.map(|word| {
                let prefix = if word == "#default" {
                    String::new()
                } else {
                    word
                };
                let namespace = security.namespace_of(&prefix).unwrap_or_default();
                (prefix, namespace.to_owned())
            });
            lists.signed_info = bound.collect();
        }
        Ok(lists)
    }

    /// The list of an element of the message that is to be signed. `added` is the prefix of an id
    /// that is inserted.
    pub(super) fn of_element(&self, element: Element<'_>, added: Option<&str>) -> Vec<String> {
        self.wanted.of_element(element, added)
    }

    /// That of `ds:SignedInfo`.
    pub(super) fn of_signed_info(&self) -> Vec<(&str, &str)> {
        let listed = self.signed_info.iter();
        listed.map(|(prefix, uri)| (&**prefix, &**uri)).collect()
    }

    /// The digest of a piece of the header, and its list.
    pub(super) fn digest(
        &self,
        algorithm: DigestAlgorithm,
        piece: &[u8],
    ) -> Result<(Digest, Vec<String>), SecureError> {
        let (octets, listed) = self.octets(piece)?;
        Ok((soapstone_crypto::digest(algorithm, &octets)?, listed))
    }

    /// The canonical form of a piece of the header, and its list.
    pub(super) fn octets(&self, piece: &[u8]) -> Result<(Vec<u8>, Vec<String>), SecureError> {
        let document = self.read(piece)?;
        let element = self.piece_of(&document);
        let listed = self.of_element(element, None);
        let octets = canonical(&document, element, &listed)?;
        Ok((octets, listed))
    }

    /// The items of a header with these pieces, read as they will stand in the message.
    pub(super) fn items(
        wanted: &'p InclusivePrefixes,
        declarations: &Declarations,
        envelope: &Envelope,
        pieces: &[u8],
    ) -> Result<Vec<WrittenItem>, SecureError> {
        let lists = Self::around(wanted, declarations, envelope)?;
        let document = lists.read(pieces)?;
        let first = lists.piece_of(&document);
        let security = first.parent().filter(|_| !pieces.is_empty());
        let items = security
            .into_iter()
            .flat_map(|security| security.children());
        Ok(items
            .map(|item| WrittenItem {
                name: item.qualified_name().to_owned(),
                id: id_of(item).map(Cow::into_owned),
            })
            .collect())
    }

    /// The bytes that the STR Dereference Transform gives of a piece of the header (SOAP Message
    /// Security 1.1.1, 8.3): the default namespace is always declared on it.
    pub(super) fn dereferenced(
        wanted: &'p InclusivePrefixes,
        declarations: &Declarations,
        envelope: &Envelope,
        piece: &[u8],
    ) -> Result<Vec<u8>, SecureError> {
        let lists = Self::around(wanted, declarations, envelope)?;
        let document = lists.read(piece)?;
        let element = lists.piece_of(&document);
        let mut octets = canonical(&document, element, &["#default".to_owned()])?;
        let ends = |octet: &u8| matches!(octet, b' ' | b'>');
        let name_end = octets.iter().position(ends).unwrap_or_default();
        // In canonical form the default namespace comes first.
        if !octets[name_end..].starts_with(b" xmlns=\"") {
            octets.splice(name_end..name_end, *b" xmlns=\"\"");
        }
        Ok(octets)
    }

    /// The bytes that are signed of a `ds:SignedInfo` that was written with its list.
    pub(super) fn signed_octets(&self, signed_info: &SignedInfo) -> Result<Vec<u8>, SecureError> {
        let start = ["<ds:Signature xmlns:ds=\"", DS, "\">"].concat();
        let pieces: [&[u8]; 3] = [start.as_bytes(), signed_info.octets(), b"</ds:Signature>"];
        let document = self.read(&pieces.concat())?;
        let signature = self.piece_of(&document);
        let info = signature.first_child().unwrap_or(signature);
        let words = self.signed_info.iter().map(|(prefix, _)| match &**prefix {
            "" => "#default".to_owned(),
            prefix => prefix.to_owned(),
        });
        canonical(&document, info, &words.collect::<Vec<_>>())
    }

    /// A piece with the elements around it.
    fn read(&self, piece: &[u8]) -> Result<Document, SecureError> {
        let bytes = [self.before.as_slice(), piece, self.behind.as_slice()].concat();
        let document = Document::parse(bytes, &self.options, &mut Buffers::default());
        document.map_err(|error| SecureError::Envelope(EnvelopeError::Xml(error)))
    }

    /// The piece in what was read.
    fn piece_of<'d>(&self, document: &'d Document) -> Element<'d> {
        let root = document.root();
        (0..self.depth).fold(root, |element, _| element.first_child().unwrap_or(element))
    }
}

/// The id of an item of the header.
fn id_of<'d>(item: Element<'d>) -> Option<Cow<'d, str>> {
    let plain = ["Id", "ID", "AssertionID"];
    let mut plain = plain.iter().filter_map(|name| item.attribute("", name));
    item.attribute(WSU, "Id").or_else(|| plain.next())
}

fn canonical(
    document: &Document,
    element: Element<'_>,
    listed: &[String],
) -> Result<Vec<u8>, SecureError> {
    let prefixes: Vec<&str> = listed.iter().map(String::as_str).collect();
    let options = C14nOptions {
        inclusive_prefixes: &prefixes,
        ..C14nOptions::new(Canonicalization::Exclusive)
    };
    let mut octets = Vec::new();
    let mut scratch = C14nScratch::default();
    let apex = Apex::Element(element.id());
    canonicalize(document, apex, &options, &mut scratch, &mut octets)
        .map_err(SecureError::Canonicalization)?;
    Ok(octets)
}
