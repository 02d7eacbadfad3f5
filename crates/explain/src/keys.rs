//! Keys that may have signed: certificates of the message, and what the reader's side knows.
//!
//! The rule kept here: a key of the message is tried because it is there, and trusted never.

use std::fmt;

use soapstone_crypto::{Certificate, PrivateKey, PublicKey, SecretBytes, SymmetricKey, base64};
use soapstone_wss::names::{DS, SAML11, SAML20, WSSE, XENC};
use soapstone_xml::{Document, Element, NodeId};
use soapstone_xmlsec::keyinfo::{KeyValue, der_encoded_key_value};
use soapstone_xmlsec::namespaces::DSIG11;

use crate::read::is_in_body;

/// Most certificates of a message that are tried. They displace none that was configured.
const MOST: usize = 32;

/// Namespaces of assertions, and the attributes that are their ids.
const ASSERTIONS: [(&str, &str); 2] = [(SAML20, "ID"), (SAML11, "AssertionID")];

/// Most elements of a `ds:KeyInfo` that are looked at.
const MOST_NAMES: usize = 64;

/// What the reader's side knows beside the message, each with a name to tell it by.
#[derive(Default)]
pub struct Known {
    /// Private keys, which open session keys.
    pub private_keys: Vec<(String, PrivateKey)>,
    /// Certificates of partners, authorities and ours.
    pub certificates: Vec<(String, Certificate)>,
    /// Keys that both sides hold.
    pub secrets: Vec<(String, SymmetricKey)>,
    /// Users and their passwords.
    pub passwords: Vec<(String, SecretBytes)>,
}

impl fmt::Debug for Known {
    /// Numbers only: keys and passwords are not for logs.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Known")
            .field("private_keys", &self.private_keys.len())
            .field("certificates", &self.certificates.len())
            .field("secrets", &self.secrets.len())
            .field("passwords", &self.passwords.len())
            .finish()
    }
}

/// A certificate and where it was found.
#[derive(Clone, Debug)]
pub(crate) struct Certified {
    pub(crate) place: String,
    pub(crate) certificate: Certificate,
    /// The element that holds it.
    pub(crate) node: Option<NodeId>,
}

impl Certified {
    /// Its subject and place.
    pub(crate) fn name(&self) -> String {
        format!("{} ({})", self.certificate.subject(), self.place)
    }
}

/// A public key and how to tell it.
#[derive(Clone, Debug)]
pub(crate) struct SigningKey {
    pub(crate) name: String,
    pub(crate) key: PublicKey,
}

/// All certificates: those of the message first.
pub(crate) fn certificates(document: &Document, known: &Known) -> Vec<Certified> {
    let tokens = document.elements_named(WSSE, "BinarySecurityToken");
    let inside = document.elements_named(DS, "X509Certificate");
    let mut found = Vec::new();
    for element in tokens.chain(inside) {
        if found.len() >= MOST {
            break;
        }
        let Ok(bytes) = base64::decode_xml_to_vec(element.text().as_bytes()) else {
            continue;
        };
        for der in certificates_in(&bytes) {
            found.push(Certified {
                place: format!(
                    "`{}` in line {}",
                    element.qualified_name(),
                    element.line_column().0
                ),
                certificate: der,
                node: Some(element.id()),
            });
        }
    }
    found.truncate(MOST);
    found.extend(
        known
            .certificates
            .iter()
            .map(|(place, certificate)| Certified {
                place: place.clone(),
                certificate: certificate.clone(),
                node: None,
            }),
    );
    found
}

/// Types of binary tokens that are certificates, behind the `#` (X.509 Token Profile 1.1.1, 3.1).
const CERTIFICATES: [&str; 5] = ["X509v3", "X509v1", "X509", "X509PKIPathv1", "PKCS7"];

/// Certificates of the message that cannot be read: where each stands, and what was expected and
/// found. A token with content that is no text is cipher text, and one of another type may have any
/// text.
pub(crate) fn malformed(document: &Document) -> Vec<(String, String)> {
    let tokens = document.elements_named(WSSE, "BinarySecurityToken");
    let inside = document.elements_named(DS, "X509Certificate");
    let mut found = Vec::new();
    for element in tokens.chain(inside).take(MOST) {
        let value_type = element.attribute("", "ValueType").unwrap_or_default();
        let kind = value_type.rsplit('#').next().unwrap_or_default();
        let is_certificate = element.is(DS, "X509Certificate") || CERTIFICATES.contains(&kind);
        if element.first_child().is_some() || is_in_body(element) {
            continue;
        }
        let text = element.text();
        let says = match base64::decode_xml_to_vec(text.as_bytes()) {
            Err(_) if text.contains("-----BEGIN ") => {
                "PEM lines inside; expected base64 of DER alone".to_owned()
            }
            Err(_) if !is_certificate => continue,
            Err(_) => "expected base64, found other characters or an end in the middle".to_owned(),
            Ok(bytes) if bytes.starts_with(b"-----BEGIN ") => {
                "base64 of a PEM file; expected base64 of DER alone".to_owned()
            }
            Ok(bytes) if is_certificate && certificates_in(&bytes).is_empty() => format!(
                "expected base64 of a certificate, found {} bytes that are none: cut off, perhaps",
                bytes.len()
            ),
            Ok(_) => continue,
        };
        let (name, line) = (element.qualified_name(), element.line_column().0);
        found.push((format!("`{name}` in line {line}"), says));
    }
    found
}

/// One certificate, or those of a `PkiPath` or of PKCS#7.
fn certificates_in(bytes: &[u8]) -> Vec<Certificate> {
    Certificate::from_file_contents(bytes)
        .or_else(|_| Certificate::from_pki_path(bytes))
        .or_else(|_| Certificate::from_pkcs7(bytes))
        .unwrap_or_default()
}

/// The certificates that a `ds:KeyInfo` or a `wsse:SecurityTokenReference` means.
pub(crate) fn named_by<'c>(
    key_info: Element<'_>,
    certificates: &'c [Certified],
) -> Vec<&'c Certified> {
    let mut found: Vec<&Certified> = Vec::new();
    let document = key_info.document();
    for element in key_info.descendants().take(MOST_NAMES) {
        let text = || element.text().trim().to_owned();
        let octets = || base64::decode_xml_to_vec(element.text().as_bytes()).unwrap_or_default();
        let mut matching = |matches: &dyn Fn(&Certified) -> bool| {
            for certified in certificates.iter().filter(|one| matches(one)) {
                if !found
                    .iter()
                    .any(|one| one.certificate == certified.certificate)
                {
                    found.push(certified);
                }
            }
        };
        match (element.namespace(), element.local()) {
            (WSSE, "Reference") => {
                let uri = element.attribute("", "URI").unwrap_or_default();
                let token = uri
                    .strip_prefix('#')
                    .and_then(|id| document.by_id(id).ok().flatten());
                matching(&|one| token.is_some() && one.node == token);
            }
            (WSSE, "KeyIdentifier") | (DS, "X509SKI") | (DSIG11, "X509Digest") => {
                let octets = octets();
                matching(&|one| {
                    let certificate = &one.certificate;
                    certificate.thumbprint_sha1()[..] == octets[..]
                        || certificate.thumbprint_sha256()[..] == octets[..]
                        || certificate.matches_ski(&octets)
                        || certificate.der() == octets
                });
            }
            (DS, "X509IssuerSerial") => {
                let part = |local| {
                    element
                        .child(DS, local)
                        .map(|part| part.text().trim().to_owned())
                };
                let issuer = part("X509IssuerName").unwrap_or_default();
                let serial = part("X509SerialNumber").unwrap_or_default();
                matching(&|one| one.certificate.matches_issuer_serial(&issuer, &serial));
            }
            (DS, "X509Certificate") | (WSSE, "BinarySecurityToken") => {
                matching(&|one| one.node == Some(element.id()));
            }
            (DS, "X509SubjectName" | "KeyName") => {
                let name = text();
                matching(&|one| one.certificate.matches_subject(&name));
            }
            _ => {}
        }
    }
    found
}

/// The `ds:KeyInfo` of the holder of the assertion that a `ds:KeyInfo` names (SAML Token Profile
/// 1.1.1, 3.4 and 3.5.1).
pub(crate) fn of_holder<'d>(key_info: Element<'d>) -> Option<Element<'d>> {
    let document = key_info.document();
    let ids = key_info
        .descendants()
        .take(MOST_NAMES)
        .filter_map(|element| match (element.namespace(), element.local()) {
            (WSSE, "KeyIdentifier") => Some(element.text().trim().to_owned()),
            (WSSE, "Reference") => {
                let uri = element.attribute("", "URI")?;
                Some(uri.strip_prefix('#')?.to_owned())
            }
            _ => None,
        });
    let ids: Vec<String> = ids.collect();
    let assertions = ASSERTIONS.iter().flat_map(|(namespace, attribute)| {
        let all = document.elements_named(namespace, "Assertion");
        all.map(move |assertion| (assertion, *attribute))
    });
    let mut named = assertions.filter(|(assertion, attribute)| {
        let id = assertion.attribute("", attribute);
        id.is_some_and(|id| ids.iter().any(|one| *one == id))
    });
    let (assertion, _) = named.next()?;
    let is_confirmation = |inside: &Element<'_>| inside.local() == "SubjectConfirmation";
    let mut confirmations = assertion.descendants().filter(is_confirmation);
    confirmations.find_map(|confirmation| {
        let mut inside = confirmation.descendants();
        inside.find(|element| element.is(DS, "KeyInfo"))
    })
}

/// The reference of a `ds:KeyInfo` to a token of the message that is not there, and that no cipher
/// text can hold.
pub(crate) fn missing_token(key_info: Element<'_>) -> Option<String> {
    let document = key_info.document();
    let mut cipher_text = document.elements_named(XENC, "EncryptedData");
    if cipher_text.any(|data| !data.is_replaced()) {
        return None;
    }
    let mut names = key_info.descendants().take(MOST_NAMES);
    let reference = names.find(|element| element.is(WSSE, "Reference"))?;
    let uri = reference.attribute("", "URI")?;
    let found = document.by_id(uri.strip_prefix('#')?).ok().flatten();
    found.is_none().then(|| uri.into_owned())
}

/// Places of the secrets that a `ds:KeyInfo` names by the id of their element.
pub(crate) fn secrets_named_by(key_info: Element<'_>, holders: &[(String, usize)]) -> Vec<usize> {
    let references = key_info.descendants().take(MOST_NAMES);
    let references = references.filter(|element| element.is(WSSE, "Reference"));
    let ids: Vec<String> = references
        .filter_map(|reference| {
            let uri = reference.attribute("", "URI")?;
            Some(uri.strip_prefix('#')?.to_owned())
        })
        .collect();
    let named = holders.iter().filter(|(id, _)| ids.contains(id));
    named.map(|(_, place)| *place).collect()
}

/// Public keys that stand in a `ds:KeyInfo` by themselves.
pub(crate) fn bare_keys(key_info: Element<'_>) -> Vec<SigningKey> {
    let mut found = Vec::new();
    for element in key_info.descendants().take(MOST_NAMES) {
        let key = match (element.namespace(), element.local()) {
            (DS, "KeyValue") => KeyValue::parse(element)
                .ok()
                .flatten()
                .map(KeyValue::into_public_key),
            (DSIG11, "DEREncodedKeyValue") => der_encoded_key_value(element).ok(),
            _ => None,
        };
        found.extend(key.map(|key| SigningKey {
            name: format!(
                "the key of `{}` in line {}",
                element.qualified_name(),
                element.line_column().0
            ),
            key,
        }));
    }
    found
}

/// How a `ds:KeyInfo` names its key, in words.
pub(crate) fn how_named(key_info: Element<'_>) -> String {
    for element in key_info.descendants().take(MOST_NAMES) {
        let text = || element.text().trim().to_owned();
        let said = match (element.namespace(), element.local()) {
            (WSSE, "Reference") => format!(
                "the token `{}`",
                element.attribute("", "URI").unwrap_or_default()
            ),
            (WSSE, "KeyIdentifier") => {
                let kind = element.attribute("", "ValueType").unwrap_or_default();
                let kind = kind.rsplit('#').next().unwrap_or_default().to_owned();
                format!("{kind} {}", text())
            }
            (DS, "X509IssuerSerial") => {
                let part = |local| {
                    element
                        .child(DS, local)
                        .map(|part| part.text().trim().to_owned())
                };
                format!(
                    "issuer `{}` and serial number {}",
                    part("X509IssuerName").unwrap_or_default(),
                    part("X509SerialNumber").unwrap_or_default()
                )
            }
            (DS, "KeyName") => format!("the key name `{}`", text()),
            (DS, "X509Certificate") => "an embedded certificate".to_owned(),
            (DS, "X509SKI") => format!("subject key identifier {}", text()),
            (DS, "X509SubjectName") => format!("the subject `{}`", text()),
            (DS, "KeyValue") => "a bare public key".to_owned(),
            (WSSE, "Embedded") => "an embedded token".to_owned(),
            _ => continue,
        };
        return said;
    }
    "nothing that is known".to_owned()
}
