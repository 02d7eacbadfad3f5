//! `ds:SignedInfo`, `ds:Reference` and `ds:Signature`.
//!
//! `SignedInfo` is written first, in the canonical form that is signed: with the namespace
//! declarations that its start tag gets as the apex of a canonicalization. [`signature`] then puts
//! the same bytes into the message, without those declarations.

use soapstone_crypto::{DigestAlgorithm, MacTruncation, SignatureAlgorithm};
use soapstone_xml::{Canonicalization, escape};

use super::element::{attribute, base64_text, optional_attribute, uri_attribute};
use crate::namespaces::{DSIG, ENVELOPED_SIGNATURE, EXCLUSIVE_C14N};

/// How the canonicalization of `SignedInfo` renders the namespaces of its start tag.
#[derive(Clone, Copy, Debug)]
pub enum Apex<'a> {
    /// Exclusive canonicalization: `xmlns:ds`, and those of the prefix list that are in scope in
    /// the message.
    Exclusive {
        /// The prefix list with the URI that each prefix has in the message; `""` is the default
        /// namespace.
        inclusive: &'a [(&'a str, &'a str)],
    },
    /// Inclusive canonicalization: every namespace in scope, and the `xml:` attributes that are
    /// inherited.
    Inclusive {
        /// Every namespace in scope at the `ds:Signature`, `ds` excepted; `""` is the default
        /// namespace.
        in_scope: &'a [(&'a str, &'a str)],
        /// Inherited attributes of the `xml` namespace, by local name.
        xml_attributes: &'a [(&'a str, &'a str)],
    },
}

impl Apex<'_> {
    /// Exclusive canonicalization without a prefix list.
    pub const PLAIN: Self = Self::Exclusive { inclusive: &[] };
}

/// A transform to write.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum TransformParts<'a> {
    /// A canonicalization with its prefix list (exclusive only).
    Canonicalization(Canonicalization, &'a [&'a str]),
    /// `enveloped-signature`.
    Enveloped,
    /// Any other, by URI, with canonical content.
    Other {
        /// The algorithm.
        uri: &'a str,
        /// The content of the `ds:Transform`, canonical in a context where `ds` alone is declared.
        raw_content: &'a str,
    },
}

/// A reference to write.
#[derive(Clone, Copy, Debug)]
pub struct ReferenceParts<'a> {
    /// `Id`.
    pub id: Option<&'a str>,
    /// `URI`.
    pub uri: Option<&'a str>,
    /// `Type`.
    pub kind: Option<&'a str>,
    /// The transforms.
    pub transforms: &'a [TransformParts<'a>],
    /// The digest method.
    pub digest_method: DigestAlgorithm,
    /// The digest.
    pub digest: &'a [u8],
}

/// What a `ds:SignedInfo` with two references takes, a `ds:Reference` with one transform, and a
/// `ds:Signature` beside its parts: reserved, so that writing piece by piece does not grow the
/// buffer piece by piece.
const SIGNED_INFO_BYTES: usize = 1200;
const REFERENCE_BYTES: usize = 400;
const SIGNATURE_BYTES: usize = 300;

const REFERENCE_END: &[u8] = b"</ds:DigestValue></ds:Reference>";

/// Writes one `ds:SignedInfo` in the canonical form that is signed.
#[derive(Debug)]
pub struct SignedInfoWriter {
    out: Vec<u8>,
    start: usize,
    start_tag: usize,
}

impl SignedInfoWriter {
    /// Begins a `SignedInfo` at the end of `out`, usually an empty reused buffer.
    ///
    /// `truncation` is written as `ds:HMACOutputLength` where the signature is a truncated HMAC.
    #[must_use]
    pub fn new(
        mut out: Vec<u8>,
        apex: Apex<'_>,
        canonicalization: Canonicalization,
        method: SignatureAlgorithm,
        truncation: Option<MacTruncation>,
    ) -> Self {
        let start = out.len();
        out.reserve(SIGNED_INFO_BYTES);
        out.extend_from_slice(b"<ds:SignedInfo");
        write_apex(apex, &mut out);
        out.push(b'>');
        let start_tag = out.len() - start;
        let prefixes = match apex {
            Apex::Exclusive { inclusive } => inclusive,
            Apex::Inclusive { .. } => &[],
        };
        let prefixes = prefixes.iter().map(|&(prefix, _)| match prefix {
            "" => "#default",
            prefix => prefix,
        });
        write_algorithm(
            "ds:CanonicalizationMethod",
            canonicalization.uri(),
            &mut out,
        );
        write_prefix_list(prefixes, &mut out);
        out.extend_from_slice(b"</ds:CanonicalizationMethod>");
        write_algorithm("ds:SignatureMethod", method.uri(), &mut out);
        if let Some(truncation) = truncation {
            out.extend_from_slice(
                format!(
                    "<ds:HMACOutputLength>{}</ds:HMACOutputLength>",
                    truncation.bits()
                )
                .as_bytes(),
            );
        }
        out.extend_from_slice(b"</ds:SignatureMethod>");
        Self {
            out,
            start,
            start_tag,
        }
    }

    /// Begins a `SignedInfo` in exclusive form without a prefix list, and leaves as much room
    /// before it as [`SignedInfo::into_signature`] needs to make a signature with this id of it
    /// where it lies.
    #[must_use]
    pub fn within(mut out: Vec<u8>, id: Option<&str>, method: SignatureAlgorithm) -> Self {
        out.clear();
        write_signature_start(id, &mut out);
        let mut start_tag = Vec::with_capacity(64);
        start_tag.extend_from_slice(b"<ds:SignedInfo");
        write_apex(Apex::PLAIN, &mut start_tag);
        start_tag.push(b'>');
        out.truncate(out.len().saturating_sub(start_tag.len()));
        Self::new(out, Apex::PLAIN, Canonicalization::Exclusive, method, None)
    }

    /// Adds a `ds:Reference`.
    pub fn reference(&mut self, parts: &ReferenceParts<'_>) {
        let out = &mut self.out;
        out.reserve(REFERENCE_BYTES);
        out.extend_from_slice(b"<ds:Reference");
        optional_attribute("Id", parts.id, out);
        optional_attribute("Type", parts.kind, out);
        optional_attribute("URI", parts.uri, out);
        write_methods(parts.transforms, parts.digest_method, out);
        base64_text(parts.digest, out);
        out.extend_from_slice(REFERENCE_END);
    }

    /// Adds a `ds:Reference` to each of many elements of this document, by id and digest, with the
    /// same methods for all.
    pub fn references<'r>(
        &mut self,
        transforms: &[TransformParts<'_>],
        digest_method: DigestAlgorithm,
        elements: impl IntoIterator<Item = (&'r str, &'r [u8])>,
    ) {
        let mut methods = Vec::with_capacity(REFERENCE_BYTES);
        methods.push(b'"');
        write_methods(transforms, digest_method, &mut methods);
        let out = &mut self.out;
        for (id, digest) in elements {
            out.reserve(REFERENCE_BYTES);
            out.extend_from_slice(b"<ds:Reference URI=\"#");
            escape::attribute(id, out);
            out.extend_from_slice(&methods);
            base64_text(digest, out);
            out.extend_from_slice(REFERENCE_END);
        }
    }

    /// Ends the element. [`SignedInfo::octets`] is what to sign.
    #[must_use]
    pub fn finish(mut self) -> SignedInfo {
        self.out.extend_from_slice(b"</ds:SignedInfo>");
        SignedInfo {
            out: self.out,
            start: self.start,
            start_tag: self.start_tag,
        }
    }
}

/// A finished `ds:SignedInfo`.
#[derive(Debug)]
pub struct SignedInfo {
    out: Vec<u8>,
    start: usize,
    start_tag: usize,
}

impl SignedInfo {
    /// The canonical bytes that are signed.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.out[self.start..]
    }

    /// Gives the buffer back.
    #[must_use]
    pub fn into_buffer(self) -> Vec<u8> {
        self.out
    }

    /// What [`signature`] writes, in the memory of this `SignedInfo`; nothing that was signed is
    /// moved if it was begun [`within`](SignedInfoWriter::within) a signature of this id. What
    /// stood before the `SignedInfo` is gone.
    #[must_use]
    pub fn into_signature(
        self,
        id: Option<&str>,
        value: &[u8],
        raw_key_info: Option<&[u8]>,
    ) -> Vec<u8> {
        let mut out = self.out;
        let mut start = Vec::with_capacity(128);
        write_signature_start(id, &mut start);
        out.splice(..self.start + self.start_tag, start);
        write_signature_end(value, raw_key_info, &mut out);
        out
    }

    fn after_start_tag(&self) -> &[u8] {
        &self.out[self.start + self.start_tag..]
    }
}

/// Writes a `ds:Signature`: `signed_info` as signed, `value`, and the content of `ds:KeyInfo`.
///
/// `raw_key_info` is the content of `ds:KeyInfo` (not the element), canonical in a context where
/// `ds` alone is declared; without it no `ds:KeyInfo` is written. The element declares `xmlns:ds`
/// itself, so it is canonical wherever it is put.
pub fn signature(
    id: Option<&str>,
    signed_info: &SignedInfo,
    value: &[u8],
    raw_key_info: Option<&[u8]>,
    out: &mut Vec<u8>,
) {
    let key_info_length = raw_key_info.map_or(0, <[u8]>::len);
    out.reserve(signed_info.octets().len() + key_info_length + 2 * value.len() + SIGNATURE_BYTES);
    write_signature_start(id, out);
    out.extend_from_slice(signed_info.after_start_tag());
    write_signature_end(value, raw_key_info, out);
}

/// A signature up to the content of its `SignedInfo`.
fn write_signature_start(id: Option<&str>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"<ds:Signature");
    uri_attribute("xmlns:ds", DSIG, out);
    optional_attribute("Id", id, out);
    out.extend_from_slice(b"><ds:SignedInfo>");
}

/// A signature from the end of its `SignedInfo` on.
fn write_signature_end(value: &[u8], raw_key_info: Option<&[u8]>, out: &mut Vec<u8>) {
    let key_info_length = raw_key_info.map_or(0, <[u8]>::len);
    out.reserve(key_info_length + 2 * value.len() + SIGNATURE_BYTES);
    out.extend_from_slice(b"<ds:SignatureValue>");
    base64_text(value, out);
    out.extend_from_slice(b"</ds:SignatureValue>");
    if let Some(key_info) = raw_key_info {
        out.extend_from_slice(b"<ds:KeyInfo>");
        out.extend_from_slice(key_info);
        out.extend_from_slice(b"</ds:KeyInfo>");
    }
    out.extend_from_slice(b"</ds:Signature>");
}

/// What a reference has between its attributes and its digest.
fn write_methods(
    transforms: &[TransformParts<'_>],
    digest_method: DigestAlgorithm,
    out: &mut Vec<u8>,
) {
    out.push(b'>');
    if !transforms.is_empty() {
        out.extend_from_slice(b"<ds:Transforms>");
        for transform in transforms {
            match transform {
                TransformParts::Canonicalization(method, prefixes) => {
                    write_algorithm("ds:Transform", method.uri(), out);
                    write_prefix_list(prefixes.iter().copied(), out);
                }
                TransformParts::Enveloped => {
                    write_algorithm("ds:Transform", ENVELOPED_SIGNATURE, out)
                }
                TransformParts::Other { uri, raw_content } => {
                    out.extend_from_slice(b"<ds:Transform");
                    attribute("Algorithm", uri, out);
                    out.push(b'>');
                    out.extend_from_slice(raw_content.as_bytes());
                }
            }
            out.extend_from_slice(b"</ds:Transform>");
        }
        out.extend_from_slice(b"</ds:Transforms>");
    }
    write_algorithm("ds:DigestMethod", digest_method.uri(), out);
    out.extend_from_slice(b"</ds:DigestMethod><ds:DigestValue>");
}

/// `<name Algorithm="uri">`
fn write_algorithm(name: &str, uri: &'static str, out: &mut Vec<u8>) {
    out.push(b'<');
    out.extend_from_slice(name.as_bytes());
    uri_attribute("Algorithm", uri, out);
    out.push(b'>');
}

fn write_prefix_list<'a>(prefixes: impl ExactSizeIterator<Item = &'a str>, out: &mut Vec<u8>) {
    if prefixes.len() == 0 {
        return;
    }
    out.extend_from_slice(b"<ec:InclusiveNamespaces xmlns:ec=\"");
    out.extend_from_slice(EXCLUSIVE_C14N.as_bytes());
    out.extend_from_slice(b"\" PrefixList=\"");
    for (index, prefix) in prefixes.enumerate() {
        if index > 0 {
            out.push(b' ');
        }
        escape::attribute(prefix, out);
    }
    out.extend_from_slice(b"\"></ec:InclusiveNamespaces>");
}

/// The namespace declarations (in the order of their prefixes) and `xml:` attributes of the apex.
fn write_apex(apex: Apex<'_>, out: &mut Vec<u8>) {
    let (namespaces, xml_attributes) = match apex {
        Apex::Exclusive { inclusive } => (inclusive, &[][..]),
        Apex::Inclusive {
            in_scope,
            xml_attributes,
        } => (in_scope, xml_attributes),
    };
    if namespaces.is_empty() && xml_attributes.is_empty() {
        return uri_attribute("xmlns:ds", DSIG, out);
    }
    let mut declarations: Vec<(&str, &str)> = namespaces
        .iter()
        .copied()
        .filter(|&(prefix, uri)| prefix != "ds" && !uri.is_empty())
        .collect();
    declarations.push(("ds", DSIG));
    declarations.sort_unstable();
    declarations.dedup_by_key(|&mut (prefix, _)| prefix);
    for (prefix, uri) in declarations {
        if prefix.is_empty() {
            attribute("xmlns", uri, out);
        } else {
            attribute(&format!("xmlns:{prefix}"), uri, out);
        }
    }
    let mut inherited: Vec<(&str, &str)> = xml_attributes.to_vec();
    inherited.sort_unstable();
    for (local, value) in inherited {
        attribute(&format!("xml:{local}"), value, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signed_info(apex: Apex<'_>) -> SignedInfo {
        let mut writer = SignedInfoWriter::new(
            Vec::new(),
            apex,
            Canonicalization::Exclusive,
            SignatureAlgorithm::HmacSha256,
            None,
        );
        writer.reference(&ReferenceParts {
            id: None,
            uri: Some("#a&b"),
            kind: None,
            transforms: &[TransformParts::Canonicalization(
                Canonicalization::Exclusive,
                &["soap"],
            )],
            digest_method: DigestAlgorithm::Sha256,
            digest: &[0; 3],
        });
        writer.finish()
    }

    #[test]
    fn what_is_signed_is_what_is_in_the_message_but_for_the_declarations_of_the_apex() {
        let info = signed_info(Apex::Exclusive {
            inclusive: &[("soap", "urn:s"), ("", "urn:d")],
        });
        let mut message = Vec::new();
        signature(Some("s"), &info, b"v", None, &mut message);
        let signed = String::from_utf8(info.octets().to_vec()).unwrap();
        let message = String::from_utf8(message).unwrap();
        assert!(signed.starts_with(
            "<ds:SignedInfo xmlns=\"urn:d\" xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\" xmlns:soap=\"urn:s\"><ds:CanonicalizationMethod "
        ));
        assert!(signed.contains("<ds:Reference URI=\"#a&amp;b\">"));
        let body = &signed[signed.find('>').unwrap()..];
        assert!(message.contains(&format!(
            "<ds:SignedInfo{body}<ds:SignatureValue>dg==</ds:SignatureValue></ds:Signature>"
        )));
    }

    #[test]
    fn a_signature_made_where_its_signed_info_lies_is_the_one_that_is_written() {
        for id in [None, Some("i"), Some("an-id-of-some-length&")] {
            let mut writer = SignedInfoWriter::within(
                b"used before".to_vec(),
                id,
                SignatureAlgorithm::HmacSha256,
            );
            writer.references(&[], DigestAlgorithm::Sha256, [("a", [1; 32].as_slice())]);
            let info = writer.finish();
            assert!(info.octets().starts_with(b"<ds:SignedInfo xmlns:ds="));
            let mut written = Vec::new();
            signature(id, &info, b"value", Some(b"<k></k>"), &mut written);
            let made = info.into_signature(id, b"value", Some(b"<k></k>"));
            assert_eq!(
                String::from_utf8(made).unwrap(),
                String::from_utf8(written).unwrap()
            );
        }
        // Begun elsewhere it is moved.
        let info = signed_info(Apex::PLAIN);
        let mut written = Vec::new();
        signature(Some("s"), &info, b"v", None, &mut written);
        assert_eq!(info.into_signature(Some("s"), b"v", None), written);
    }

    #[test]
    fn references_written_together_are_those_written_one_by_one() {
        let transforms = [TransformParts::Canonicalization(
            Canonicalization::Exclusive,
            &["x"],
        )];
        let elements: [(&str, &[u8]); 3] = [("#a", &[1; 32]), ("#b&c", &[2; 32]), ("#", &[])];
        let write = |reference: &dyn Fn(&mut SignedInfoWriter)| {
            let mut writer = SignedInfoWriter::new(
                Vec::new(),
                Apex::PLAIN,
                Canonicalization::Exclusive,
                SignatureAlgorithm::HmacSha256,
                None,
            );
            reference(&mut writer);
            String::from_utf8(writer.finish().into_buffer()).unwrap()
        };
        let one_by_one = write(&|writer| {
            for (uri, digest) in elements {
                writer.reference(&ReferenceParts {
                    id: None,
                    uri: Some(uri),
                    kind: None,
                    transforms: &transforms,
                    digest_method: DigestAlgorithm::Sha256,
                    digest,
                });
            }
        });
        let together = write(&|writer| {
            let ids = elements.iter().map(|(uri, digest)| (&uri[1..], *digest));
            writer.references(&transforms, DigestAlgorithm::Sha256, ids);
        });
        assert_eq!(one_by_one, together);
        assert_eq!(together.matches("URI=\"#b&amp;c\"").count(), 1);
    }

    #[test]
    fn the_prefix_list_names_the_default_namespace_as_the_specification_does() {
        let info = signed_info(Apex::Exclusive {
            inclusive: &[("soap", "urn:s"), ("", "urn:d")],
        });
        let text = String::from_utf8(info.octets().to_vec()).unwrap();
        assert!(text.contains("PrefixList=\"soap #default\""));
    }
}
