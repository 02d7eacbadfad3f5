//! `ds:SignedInfo`, `ds:Reference` and `ds:Signature`.
//!
//! `SignedInfo` is written first, in the canonical form that is signed: with the namespace declarations that its start tag gets as
//! the apex of a canonicalization. [`signature`] then puts the same bytes into the message, without those declarations.

use soapstone_crypto::{DigestAlgorithm, MacTruncation, SignatureAlgorithm};
use soapstone_xml::{Canonicalization, escape};

use super::{attribute, base64_text, optional_attribute, uri_attribute};
use crate::namespaces::{DSIG, ENVELOPED_SIGNATURE, EXCLUSIVE_C14N};

/// How the canonicalization of `SignedInfo` renders the namespaces of its start tag.
#[derive(Clone, Copy, Debug)]
pub enum Apex<'a> {
    /// Exclusive canonicalization: `xmlns:ds`, and those of the prefix list that are in scope in the message.
    Exclusive {
        /// The prefix list with the URI that each prefix has in the message; `""` is the default namespace.
        inclusive: &'a [(&'a str, &'a str)],
    },
    /// Inclusive canonicalization: every namespace in scope, and the `xml:` attributes that are inherited.
    Inclusive {
        /// Every namespace in scope at the `ds:Signature`, `ds` excepted; `""` is the default namespace.
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

/// What a `ds:SignedInfo` with two references takes, a `ds:Reference` with one transform, and a `ds:Signature` beside its parts:
/// reserved, so that writing piece by piece does not grow the buffer piece by piece.
const SIGNED_INFO_BYTES: usize = 1200;
const REFERENCE_BYTES: usize = 400;
const SIGNATURE_BYTES: usize = 300;

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

    /// Adds a `ds:Reference`.
    pub fn reference(&mut self, parts: &ReferenceParts<'_>) {
        let out = &mut self.out;
        out.reserve(REFERENCE_BYTES);
        out.extend_from_slice(b"<ds:Reference");
        optional_attribute("Id", parts.id, out);
        optional_attribute("Type", parts.kind, out);
        optional_attribute("URI", parts.uri, out);
        out.push(b'>');
        if !parts.transforms.is_empty() {
            out.extend_from_slice(b"<ds:Transforms>");
            for transform in parts.transforms {
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
        write_algorithm("ds:DigestMethod", parts.digest_method.uri(), out);
        out.extend_from_slice(b"</ds:DigestMethod><ds:DigestValue>");
        base64_text(parts.digest, out);
        out.extend_from_slice(b"</ds:DigestValue></ds:Reference>");
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
    /// The canonical octets that are signed.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.out[self.start..]
    }

    /// Gives the buffer back.
    #[must_use]
    pub fn into_buffer(self) -> Vec<u8> {
        self.out
    }

    fn after_start_tag(&self) -> &[u8] {
        &self.out[self.start + self.start_tag..]
    }
}

/// Writes a `ds:Signature`: `signed_info` as signed, `value`, and the content of `ds:KeyInfo`.
///
/// `raw_key_info` is the content of `ds:KeyInfo` (not the element), canonical in a context where `ds` alone is declared; without it
/// no `ds:KeyInfo` is written. The element declares `xmlns:ds` itself, so it is canonical wherever it is put.
pub fn signature(
    id: Option<&str>,
    signed_info: &SignedInfo,
    value: &[u8],
    raw_key_info: Option<&[u8]>,
    out: &mut Vec<u8>,
) {
    let key_info_length = raw_key_info.map_or(0, <[u8]>::len);
    out.reserve(signed_info.octets().len() + key_info_length + 2 * value.len() + SIGNATURE_BYTES);
    out.extend_from_slice(b"<ds:Signature xmlns:ds=\"");
    out.extend_from_slice(DSIG.as_bytes());
    out.push(b'"');
    optional_attribute("Id", id, out);
    out.extend_from_slice(b"><ds:SignedInfo>");
    out.extend_from_slice(signed_info.after_start_tag());
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
    fn the_prefix_list_names_the_default_namespace_as_the_specification_does() {
        let info = signed_info(Apex::Exclusive {
            inclusive: &[("soap", "urn:s"), ("", "urn:d")],
        });
        let text = String::from_utf8(info.octets().to_vec()).unwrap();
        assert!(text.contains("PrefixList=\"soap #default\""));
    }
}
