//! What an assertion says, written and signed (SAML Core 2.0, 2 and 5; SAML Core 1.1, 2 and 5).
//!
//! The one rule: an assertion is sent in exclusive canonical form, so that the bytes that are
//! digested are the bytes that are sent.

use jiff::Timestamp;
use soapstone_crypto::{Certificate, base64, digest};
use soapstone_wss::names::{DS, WSSE, WSSE11};
use soapstone_wss::{ConfirmationMethod, SamlVersion};
use soapstone_xml::{
    Apex as ApexNode, Buffers, C14nOptions, C14nScratch, Canonicalization, Document, ParseOptions,
    canonicalize,
};
use soapstone_xmlsec::write::{
    Apex, ReferenceParts, SignedInfoWriter, TransformParts, signature, x509_certificates,
};

use super::rules::{AssertionRules, KERBEROS, Party, UNSPECIFIED, X509_SUBJECT};
use crate::fault::Refusal;
use crate::message::{Foreign, Writer};

const XSI: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// `NameFormat` of attributes whose names are URIs (SAML Core 2.0, 8.2.2).
const URI_NAME: &str = "urn:oasis:names:tc:SAML:2.0:attrname-format:uri";

/// How a subject authenticated.
#[derive(Clone, Copy, Debug)]
pub(super) enum Authentication {
    Password,
    Certificate,
    Kerberos,
    /// Another one was told, and it is not known any more.
    Unspecified,
}

/// What the key of an assertion is.
pub(super) enum Confirmation {
    Bearer,
    /// The key of a certificate.
    Certificate(Certificate),
    /// A symmetric key as an `xenc:EncryptedKey`, in canonical form.
    Encrypted(Vec<u8>),
}

/// What an assertion says.
pub(super) struct Statement<'s> {
    pub(super) version: SamlVersion,
    pub(super) id: &'s str,
    pub(super) issued: Timestamp,
    pub(super) expires: Timestamp,
    pub(super) subject: &'s Party,
    pub(super) authenticated: Timestamp,
    pub(super) authentication: Authentication,
    pub(super) confirmation: &'s Confirmation,
    pub(super) audience: &'s str,
    /// Names with values.
    pub(super) attributes: &'s [(String, Vec<String>)],
}

impl Authentication {
    const fn uri(self, version: SamlVersion) -> &'static str {
        match (version, self) {
            (SamlVersion::V20, Self::Password) => "urn:oasis:names:tc:SAML:2.0:ac:classes:Password",
            (SamlVersion::V20, Self::Certificate) => "urn:oasis:names:tc:SAML:2.0:ac:classes:X509",
            (SamlVersion::V20, Self::Kerberos) => "urn:oasis:names:tc:SAML:2.0:ac:classes:Kerberos",
            (SamlVersion::V20, Self::Unspecified) => {
                "urn:oasis:names:tc:SAML:2.0:ac:classes:unspecified"
            }
            (SamlVersion::V11, Self::Password) => "urn:oasis:names:tc:SAML:1.0:am:password",
            (SamlVersion::V11, Self::Certificate) => "urn:oasis:names:tc:SAML:1.0:am:X509-PKI",
            (SamlVersion::V11, Self::Kerberos) => "urn:ietf:rfc:1510",
            (SamlVersion::V11, Self::Unspecified) => "urn:oasis:names:tc:SAML:1.0:am:unspecified",
        }
    }
}

impl Statement<'_> {
    /// The assertion, signed.
    pub(super) fn signed(&self, rules: &AssertionRules) -> Result<Foreign, Refusal> {
        let library = |error: soapstone_crypto::CryptoError| Refusal::Library {
            problem: error.to_string(),
        };
        let mut written = Vec::with_capacity(4096);
        let issuer_end = match self.version {
            SamlVersion::V20 => self.write_20(rules, &mut written),
            SamlVersion::V11 => self.write_11(rules, &mut written),
        };
        let mut unsigned = canonical(written)?;
        let at = match self.version {
            SamlVersion::V20 => issuer_end,
            SamlVersion::V11 => unsigned.len().saturating_sub(END_11.len()),
        };
        let form = Canonicalization::Exclusive;
        let digest_value = digest(rules.digest, &unsigned).map_err(library)?;
        let mut info = SignedInfoWriter::new(Vec::new(), Apex::PLAIN, form, rules.signature, None);
        info.reference(&ReferenceParts {
            id: None,
            uri: Some(&format!("#{}", self.id)),
            kind: None,
            transforms: &[
                TransformParts::Enveloped,
                TransformParts::Canonicalization(form, &[]),
            ],
            digest_method: rules.digest,
            digest: digest_value.as_ref(),
        });
        let info = info.finish();
        let key = rules.identity.key();
        let value = key.sign(rules.signature, info.octets()).map_err(library)?;
        let mut key_info = Vec::new();
        let own = std::slice::from_ref(rules.identity.certificate());
        x509_certificates(own, &mut key_info);
        let mut own = Vec::new();
        signature(None, &info, &value, Some(&key_info), &mut own);
        unsigned.splice(at..at, own);
        Ok(Foreign {
            name: format!("{{{}}}Assertion", self.version.namespace()),
            canonical: unsigned,
        })
    }

    /// Writes an assertion of SAML 2.0; returns where its signature belongs.
    fn write_20(&self, rules: &AssertionRules, out: &mut Vec<u8>) -> usize {
        let (issued, expires) = (moment(self.issued), moment(self.expires));
        let namespace = self.version.namespace();
        let mut at = 0;
        let attributes = [
            ("ID", self.id),
            ("IssueInstant", issued.as_str()),
            ("Version", "2.0"),
        ];
        let name = "saml2:Assertion";
        Writer::new(out).element(name, Some(namespace), &attributes, |writer| {
            writer.text("saml2:Issuer", &rules.issuer);
            at = writer.out().len();
            writer.element("saml2:Subject", None, &[], |writer| {
                self.write_name("saml2:NameID", writer);
                let method = self.method().uri(self.version);
                let method = [("Method", method.as_str())];
                writer.element("saml2:SubjectConfirmation", None, &method, |writer| {
                    let data = "saml2:SubjectConfirmationData";
                    if let Confirmation::Bearer = self.confirmation {
                        let end = [("NotOnOrAfter", expires.as_str())];
                        return writer.element(data, None, &end, |_| {});
                    }
                    let attributes = [
                        ("xmlns:xsi", XSI),
                        ("NotOnOrAfter", expires.as_str()),
                        ("xsi:type", "saml2:KeyInfoConfirmationDataType"),
                    ];
                    writer.element(data, None, &attributes, |writer| self.write_key(writer));
                });
            });
            let life = [
                ("NotBefore", issued.as_str()),
                ("NotOnOrAfter", expires.as_str()),
            ];
            writer.element("saml2:Conditions", None, &life, |writer| {
                writer.element("saml2:AudienceRestriction", None, &[], |writer| {
                    writer.text("saml2:Audience", self.audience);
                });
            });
            let instant = moment(self.authenticated);
            let instant = [("AuthnInstant", instant.as_str())];
            writer.element("saml2:AuthnStatement", None, &instant, |writer| {
                writer.element("saml2:AuthnContext", None, &[], |writer| {
                    let class = self.authentication.uri(self.version);
                    writer.text("saml2:AuthnContextClassRef", class);
                });
            });
            if !self.attributes.is_empty() {
                writer.element("saml2:AttributeStatement", None, &[], |writer| {
                    for (name, values) in self.attributes {
                        let attributes = [("Name", name.as_str()), ("NameFormat", URI_NAME)];
                        writer.element("saml2:Attribute", None, &attributes, |writer| {
                            for value in values {
                                writer.text("saml2:AttributeValue", value);
                            }
                        });
                    }
                });
            }
        });
        at
    }

    /// Writes an assertion of SAML 1.1; returns its length.
    fn write_11(&self, rules: &AssertionRules, out: &mut Vec<u8>) -> usize {
        let (issued, expires) = (moment(self.issued), moment(self.expires));
        let namespace = self.version.namespace();
        let attributes = [
            ("AssertionID", self.id),
            ("IssueInstant", issued.as_str()),
            ("Issuer", rules.issuer.as_str()),
            ("MajorVersion", "1"),
            ("MinorVersion", "1"),
        ];
        let name = "saml:Assertion";
        Writer::new(out).element(name, Some(namespace), &attributes, |writer| {
            let life = [
                ("NotBefore", issued.as_str()),
                ("NotOnOrAfter", expires.as_str()),
            ];
            writer.element("saml:Conditions", None, &life, |writer| {
                writer.element("saml:AudienceRestrictionCondition", None, &[], |writer| {
                    writer.text("saml:Audience", self.audience);
                });
            });
            let instant = moment(self.authenticated);
            let attributes = [
                ("AuthenticationInstant", instant.as_str()),
                (
                    "AuthenticationMethod",
                    self.authentication.uri(self.version),
                ),
            ];
            let name = "saml:AuthenticationStatement";
            writer.element(name, None, &attributes, |writer| {
                self.write_subject_11(writer);
            });
            if !self.attributes.is_empty() {
                writer.element("saml:AttributeStatement", None, &[], |writer| {
                    self.write_subject_11(writer);
                    for (name, values) in self.attributes {
                        let split = name.rsplit_once('/');
                        let (namespace, local) = split.unwrap_or((URI_NAME, name));
                        let attributes =
                            [("AttributeName", local), ("AttributeNamespace", namespace)];
                        writer.element("saml:Attribute", None, &attributes, |writer| {
                            for value in values {
                                writer.text("saml:AttributeValue", value);
                            }
                        });
                    }
                });
            }
        });
        out.len()
    }

    fn write_subject_11(&self, writer: &mut Writer<'_>) {
        writer.element("saml:Subject", None, &[], |writer| {
            self.write_name("saml:NameIdentifier", writer);
            writer.element("saml:SubjectConfirmation", None, &[], |writer| {
                let method = self.method().uri(self.version);
                writer.text("saml:ConfirmationMethod", &method);
                self.write_key(writer);
            });
        });
    }

    fn write_name(&self, element: &str, writer: &mut Writer<'_>) {
        let mut attributes = Vec::new();
        match self.subject {
            Party::User(_) => attributes.push(("Format", UNSPECIFIED)),
            Party::Certificate { .. } => attributes.push(("Format", X509_SUBJECT)),
            Party::Kerberos(_) => attributes.push(("Format", KERBEROS)),
            Party::Foreign(name) => {
                attributes.extend(name.format.as_deref().map(|format| ("Format", format)));
                let qualifier = name.qualifier.as_deref();
                attributes.extend(qualifier.map(|qualifier| ("NameQualifier", qualifier)));
            }
        }
        writer.element(element, None, &attributes, |writer| {
            writer.escaped(self.subject.name());
        });
    }

    const fn method(&self) -> ConfirmationMethod {
        match self.confirmation {
            Confirmation::Bearer => ConfirmationMethod::Bearer,
            Confirmation::Certificate(_) | Confirmation::Encrypted(_) => {
                ConfirmationMethod::HolderOfKey
            }
        }
    }

    /// Writes the `ds:KeyInfo` of the holder.
    fn write_key(&self, writer: &mut Writer<'_>) {
        let mut content = Vec::new();
        match self.confirmation {
            Confirmation::Bearer => return,
            Confirmation::Certificate(certificate) => {
                x509_certificates(std::slice::from_ref(certificate), &mut content);
            }
            Confirmation::Encrypted(key) => content.extend_from_slice(key),
        }
        writer.element("ds:KeyInfo", Some(DS), &[], |writer| {
            writer.out().extend_from_slice(&content);
        });
    }
}

/// The end tag of an assertion of SAML 1.1, before which its signature belongs.
const END_11: &str = "</saml:Assertion>";

/// The exclusive canonical form. A piece that another writer wrote may repeat declarations.
fn canonical(written: Vec<u8>) -> Result<Vec<u8>, Refusal> {
    let library = |problem: String| Refusal::Library { problem };
    let buffers = &mut Buffers::new();
    let document = Document::parse(written, &ParseOptions::default(), buffers);
    let document = document.map_err(|error| library(error.to_string()))?;
    let mut out = Vec::with_capacity(4096);
    canonicalize(
        &document,
        ApexNode::Element(document.root().id()),
        &C14nOptions::new(Canonicalization::Exclusive),
        &mut C14nScratch::default(),
        &mut out,
    )
    .map_err(|error| library(error.to_string()))?;
    Ok(out)
}

/// The content of the `ds:KeyInfo` of an `xenc:EncryptedKey` for a certificate: its thumbprint.
pub(super) fn named_by_thumbprint(certificate: &Certificate) -> Vec<u8> {
    let mut out = Vec::new();
    let types = [
        (
            "EncodingType",
            "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-soap-message-security-1.0#Base64Binary",
        ),
        (
            "ValueType",
            "http://docs.oasis-open.org/wss/oasis-wss-soap-message-security-1.1#ThumbprintSHA1",
        ),
    ];
    let name = "wsse:SecurityTokenReference";
    Writer::new(&mut out).element(name, Some(WSSE), &[], |writer| {
        writer.element("wsse:KeyIdentifier", None, &types, |writer| {
            writer.escaped(&base64::encode(&certificate.thumbprint_sha1()));
        });
    });
    out
}

/// The reference to an assertion by its id (SAML Token Profile 1.1.1, 3.4).
pub(super) fn reference(version: SamlVersion, id: &str) -> Foreign {
    let mut canonical = Vec::new();
    let attributes = [
        ("xmlns:wsse11", WSSE11),
        ("wsse11:TokenType", version.token_type()),
    ];
    let name = "wsse:SecurityTokenReference";
    Writer::new(&mut canonical).element(name, Some(WSSE), &attributes, |writer| {
        let value_type = [("ValueType", version.identifier_type())];
        writer.element("wsse:KeyIdentifier", None, &value_type, |writer| {
            writer.escaped(id);
        });
    });
    Foreign {
        name: format!("{{{WSSE}}}SecurityTokenReference"),
        canonical,
    }
}

fn moment(instant: Timestamp) -> String {
    format!("{instant:.3}")
}
