//! Inner signatures of messages that leave.

use std::sync::Arc;

use soapstone_crypto::hexadecimal::Digits;
use soapstone_crypto::{DigestAlgorithm, Identity, SignatureAlgorithm, base64, digest, random};
use soapstone_xml::{
    Apex, Buffers, C14nOptions, C14nScratch, Canonicalization, Document, Element, Limits,
    canonicalize, escape,
};
use soapstone_xmlsec::write::{
    self, Apex as StartTag, ReferenceParts, SignedInfo, SignedInfoWriter, TransformParts,
};

use super::{ID_ATTRIBUTES, InnerElement, signatures};
use crate::envelope::Envelope;
use crate::secure_error::SecureError;

/// What the `ds:KeyInfo` of an inner signature holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InnerKeyInfo {
    /// The certificate.
    Certificate,
    /// The certificate, and its issuer and serial number.
    CertificateAndIssuer,
    /// The certificate and its chain.
    Chain,
}

/// How an element of the Body is signed.
#[derive(Clone, Debug)]
pub struct InnerSigning {
    /// What is signed.
    pub element: InnerElement,
    /// With which key.
    pub identity: Arc<Identity>,
    /// Signature algorithm.
    pub signature: SignatureAlgorithm,
    /// Digest algorithm.
    pub digest: DigestAlgorithm,
    /// Local name of the attribute without a namespace that the element's id is in, or gets.
    pub id: &'static str,
    /// What names the key.
    pub key_info: InnerKeyInfo,
}

/// Random bytes of an id.
const ID_BYTES: usize = 16;

impl InnerSigning {
    /// The message with the signature as the last child of the element. An answer that is a fault
    /// stays as it is.
    ///
    /// The element keeps its bytes; it gets an id if it has none.
    ///
    /// # Errors
    /// [`SecureError::InnerSignature`] where the message has no such element, several, or one that
    /// is signed already; [`SecureError::Crypto`] where the key cannot sign.
    pub fn sign(
        &self,
        message: Vec<u8>,
        limits: &Limits,
        buffers: &mut Buffers,
    ) -> Result<Vec<u8>, SecureError> {
        let envelope = Envelope::parse(message, limits, buffers)?;
        let found = self.element.find(&envelope);
        let Some(element) = found.map_err(|problem| self.failed(problem))? else {
            return Ok(envelope.document.into_bytes(buffers));
        };
        let document = envelope.document();
        let range = element.range();
        let replaced = match self.element.encoded {
            false => {
                let source = document.source(element.id()).unwrap_or_default();
                // What is in scope around it is for exclusive canonicalization to leave out.
                let with_id = self.with_id(element, source)?;
                let (before, behind) = around(document.bytes(), &range);
                let changed = [before, &with_id, behind].concat();
                let envelope = Envelope::parse(changed, limits, buffers)?;
                let found = self.element.find(&envelope);
                let element = found
                    .ok()
                    .flatten()
                    .ok_or_else(|| self.failed("it is gone"))?;
                self.signed(envelope.document(), element, Canonicalization::Exclusive)?
            }
            true => {
                let decoded = self.element.decoded(element, &envelope.options);
                let inner = decoded.map_err(|problem| self.failed(problem))?;
                let signed = self.signed(&inner, inner.root(), Canonicalization::Inclusive10)?;
                let root = inner.root().range();
                let (before, behind) = around(inner.bytes(), &root);
                let before = without_declaration(before);
                let text = base64::encode(&[before, &signed, behind].concat());
                let start = element.start_tag_range();
                let tag = &document.bytes()[start.start as usize..start.end as usize];
                let name = element.qualified_name();
                [tag, text.as_bytes(), b"</", name.as_bytes(), b">"].concat()
            }
        };
        let (before, behind) = around(document.bytes(), &range);
        Ok([before, &replaced, behind].concat())
    }

    /// The source of the element, with an id.
    fn with_id(&self, element: Element<'_>, source: &[u8]) -> Result<Vec<u8>, SecureError> {
        if element.attribute("", self.id).is_some() {
            return Ok(source.to_vec());
        }
        let others = ID_ATTRIBUTES.iter();
        let mut others =
            others.filter(|(namespace, local)| element.attribute(namespace, local).is_some());
        if let Some((_, local)) = others.next() {
            return Err(self.failed(format!(
                "expected its id in `{}`, found one in `{local}`",
                self.id
            )));
        }
        let at = 1 + element.qualified_name().len();
        let (name, rest) = source.split_at(at.min(source.len()));
        let random = random::bytes::<ID_BYTES>();
        let attribute = format!(" {}=\"s{}\"", self.id, Digits(&random));
        Ok([name, attribute.as_bytes(), rest].concat())
    }

    /// The source of an element with its signature as the last child. With inclusive form the
    /// element is the root, and the whole document is signed.
    fn signed(
        &self,
        document: &Document,
        element: Element<'_>,
        form: Canonicalization,
    ) -> Result<Vec<u8>, SecureError> {
        if signatures(element).next().is_some() {
            return Err(self.failed("it is signed already"));
        }
        let whole = form == Canonicalization::Inclusive10;
        let apex = match whole {
            true => Apex::Document,
            false => Apex::Element(element.id()),
        };
        let mut canonical = Vec::new();
        let scratch = &mut C14nScratch::default();
        canonicalize(
            document,
            apex,
            &C14nOptions::new(form),
            scratch,
            &mut canonical,
        )
        .map_err(SecureError::Canonicalization)?;
        let digest = digest(self.digest, &canonical)?;
        let id = element.attribute("", self.id).filter(|_| !whole);
        let signed_info = self.signed_info(element, id.as_deref(), digest.as_ref(), form);
        let value = self
            .identity
            .key()
            .sign(self.signature, signed_info.octets())?;
        let mut signature = Vec::new();
        let key_info = self.key_info();
        write::signature(None, &signed_info, &value, Some(&key_info), &mut signature);
        let source = document.source(element.id()).unwrap_or_default();
        let name = element.qualified_name();
        let is_empty = element.range() == element.start_tag_range();
        let end = format!("</{name}>");
        let (content, end): (&[u8], _) = match is_empty {
            true => {
                let tag = source.strip_suffix(b"/>").unwrap_or(source);
                (tag, end)
            }
            false => {
                let at = source.iter().rposition(|byte| *byte == b'<');
                (&source[..at.unwrap_or(source.len())], end)
            }
        };
        let closed: &[u8] = if is_empty { b">" } else { b"" };
        Ok([content, closed, &signature, end.as_bytes()].concat())
    }

    fn signed_info(
        &self,
        element: Element<'_>,
        id: Option<&str>,
        digest: &[u8],
        form: Canonicalization,
    ) -> SignedInfo {
        let scope = element.namespaces_in_scope();
        let in_scope: Vec<_> = scope
            .into_iter()
            .filter(|(prefix, _)| *prefix != "ds" && *prefix != "xml")
            .collect();
        let xml: Vec<(String, String)> = element
            .attributes()
            .filter(|attribute| attribute.prefix() == "xml")
            .map(|attribute| (attribute.local().to_owned(), attribute.value().into_owned()))
            .collect();
        let mut xml: Vec<_> = xml
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        xml.sort_unstable();
        let start_tag = match form {
            Canonicalization::Inclusive10 => StartTag::Inclusive {
                in_scope: &in_scope,
                xml_attributes: &xml,
            },
            _ => StartTag::PLAIN,
        };
        let mut uri = Vec::new();
        if let Some(id) = id {
            uri.push(b'#');
            uri.extend_from_slice(id.as_bytes());
        }
        let uri = String::from_utf8(uri).unwrap_or_default();
        let mut writer = SignedInfoWriter::new(Vec::new(), start_tag, form, self.signature, None);
        writer.reference(&ReferenceParts {
            id: None,
            uri: Some(&uri),
            kind: None,
            transforms: &[
                TransformParts::Enveloped,
                TransformParts::Canonicalization(form, &[]),
            ],
            digest_method: self.digest,
            digest,
        });
        writer.finish()
    }

    /// The content of `ds:KeyInfo`: one `ds:X509Data` (XML-DSig 4.5.4).
    fn key_info(&self) -> Vec<u8> {
        let certificate = self.identity.certificate();
        let mut out = b"<ds:X509Data>".to_vec();
        if self.key_info == InnerKeyInfo::CertificateAndIssuer {
            out.extend_from_slice(b"<ds:X509IssuerSerial><ds:X509IssuerName>");
            escape::text(certificate.issuer(), &mut out);
            out.extend_from_slice(b"</ds:X509IssuerName><ds:X509SerialNumber>");
            escape::text(certificate.serial_decimal(), &mut out);
            out.extend_from_slice(b"</ds:X509SerialNumber></ds:X509IssuerSerial>");
        }
        let chain = match self.key_info {
            InnerKeyInfo::Chain => self.identity.chain(),
            _ => &[],
        };
        for certificate in std::iter::once(certificate).chain(chain) {
            out.extend_from_slice(b"<ds:X509Certificate>");
            base64::encode_into(certificate.der(), &mut out);
            out.extend_from_slice(b"</ds:X509Certificate>");
        }
        out.extend_from_slice(b"</ds:X509Data>");
        out
    }

    fn failed(&self, problem: impl Into<String>) -> SecureError {
        SecureError::InnerSignature {
            element: self.element.to_string(),
            problem: problem.into(),
        }
    }
}

/// What stands before the root without the XML declaration, which may name the encoding that the
/// document came in. Without one it is UTF-8.
fn without_declaration(before: &[u8]) -> &[u8] {
    let before = before.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(before);
    if !before.starts_with(b"<?xml ") {
        return before;
    }
    let end = before.windows(2).position(|two| two == b"?>");
    end.map_or(before, |end| &before[end.saturating_add(2)..])
}

/// What stands before a range of bytes and behind it.
fn around<'b>(bytes: &'b [u8], range: &std::ops::Range<u32>) -> (&'b [u8], &'b [u8]) {
    let (start, end) = (range.start as usize, range.end as usize);
    (&bytes[..start], &bytes[end..])
}
