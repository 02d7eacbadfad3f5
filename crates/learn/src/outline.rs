//! What stands in the Security header of a message, read without a key.
//!
//! The rule kept here: the outline says what is written. What it is worth is for the engine.

use std::collections::BTreeSet;

use jiff::Timestamp;
use soapstone::wss::names::{DS, SOAP11, SOAP12, WSSE, WSSE11, WSU, X509_PKI_PATH_V1, XENC};
use soapstone::wss::{Envelope, EnvelopeError, ItemKind, SecurityHeader, parse_date_time};
use soapstone::xml::{Buffers, Element, Limits};

use crate::algorithms::Algorithms;
use crate::covered::{Covered, covered_name};
use crate::inner::InnerSignature;
use crate::order::Order;
use crate::user::{Password, TokenForm, password};
use crate::written::Written;

/// The namespace of `dsig11:DEREncodedKeyValue` (XML-Signature 1.1, 4.5.8).
const DSIG11: &str = "http://www.w3.org/2009/xmldsig11#";

/// The namespaces of WS-Addressing: 1.0, and the submission of August 2004.
pub(crate) const ADDRESSING: [&str; 2] = [
    "http://www.w3.org/2005/08/addressing",
    "http://schemas.xmlsoap.org/ws/2004/08/addressing",
];

/// Why there is no outline.
pub(crate) enum Fault {
    Envelope(EnvelopeError),
    NoSecurity,
}

/// What names a key, as an endpoint file says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    Known(&'static str),
    /// The token is an `EncryptedKey` or a derived key: a binding that only a policy says.
    SessionKey,
    /// Something that an endpoint file cannot say.
    Other(&'static str),
}

impl Reference {
    /// What a `ds:KeyInfo` holds. `security` is the header that it stands in.
    pub(crate) fn of(key_info: Element<'_>, security: Element<'_>) -> Self {
        let Some(first) = key_info.children().next() else {
            return Self::Other("an empty ds:KeyInfo");
        };
        match (first.namespace(), first.local()) {
            (DS, "KeyName") => Self::Known("key-name"),
            (DS, "X509Data") => Self::Known(match first.children().next().map(|it| it.local()) {
                Some("X509IssuerSerial") if holds_certificate(first) => {
                    "x509-issuer-serial-certificate"
                }
                Some("X509IssuerSerial") => "x509-issuer-serial",
                Some("X509SKI") => "x509-ski",
                _ => "x509-data",
            }),
            (DS, "KeyValue") | (DSIG11, "DEREncodedKeyValue") => Self::Known("key-value"),
            (XENC, "AgreementMethod") => first
                .child(XENC, "RecipientKeyInfo")
                .map_or(Self::Other("xenc:AgreementMethod"), |info| {
                    Self::of(info, security)
                }),
            (WSSE, "SecurityTokenReference") => Self::of_token_reference(first, security),
            _ => Self::Other("a ds:KeyInfo of another sort"),
        }
    }

    fn of_token_reference(reference: Element<'_>, security: Element<'_>) -> Self {
        let Some(first) = reference.children().next() else {
            return Self::Other("an empty wsse:SecurityTokenReference");
        };
        match (first.namespace(), first.local()) {
            (WSSE, "Embedded") => Self::Known("embedded"),
            (DS, "X509Data") => {
                let names = |below: &Element<'_>| below.is(DS, "X509IssuerName");
                let name = first.descendants().find(names);
                // As .NET writes a name with a comma.
                let is_quoted = name.is_some_and(|name| name.text().contains('"'));
                Self::Known(match is_quoted {
                    _ if holds_certificate(first) => "issuer-serial-certificate",
                    true => "issuer-serial-quoted",
                    false => "issuer-serial",
                })
            }
            (DS, "KeyName") => Self::Known("key-name"),
            (WSSE, "KeyIdentifier") => {
                let kind = first.attribute("", "ValueType").unwrap_or_default();
                match kind.rsplit('#').next().unwrap_or_default() {
                    "X509SubjectKeyIdentifier" => Self::Known("ski"),
                    "ThumbprintSHA1" => Self::Known("thumbprint"),
                    "EncryptedKeySHA1" => Self::Known("encrypted-key-sha1"),
                    _ => Self::Other("a wsse:KeyIdentifier of another kind"),
                }
            }
            (WSSE, "Reference") => {
                let uri = first.attribute("", "URI").unwrap_or_default();
                let id = uri.strip_prefix('#').unwrap_or(&uri);
                let named = security.children().find(|item| {
                    let ids = [item.attribute(WSU, "Id"), item.attribute("", "Id")];
                    ids.into_iter().flatten().any(|found| found == id)
                });
                let kind = named.and_then(|item| item.attribute("", "ValueType"));
                let is_path = kind.is_some_and(|kind| kind == X509_PKI_PATH_V1);
                match named.map(|item| (item.namespace(), item.local())) {
                    Some((WSSE, "BinarySecurityToken")) => {
                        Self::Known(if is_path { "pki-path" } else { "direct" })
                    }
                    Some((XENC, "EncryptedKey")) | Some((_, "DerivedKeyToken")) => Self::SessionKey,
                    Some((_, "SecurityContextToken")) => Self::SessionKey,
                    // What is enciphered is a token all the same.
                    None => Self::Known("direct"),
                    Some(_) => Self::Other("a token of another kind"),
                }
            }
            _ => Self::Other("a wsse:SecurityTokenReference of another sort"),
        }
    }
}

/// Whether a `ds:X509Data` has a certificate beside a name of it.
fn holds_certificate(data: Element<'_>) -> bool {
    data.child(DS, "X509Certificate").is_some()
}

/// What stands in a message.
#[derive(Debug)]
pub(crate) struct Outline {
    pub(crate) actor: Option<String>,
    pub(crate) must_understand: bool,
    /// The order of the items of the Security header.
    pub(crate) order: Order,
    pub(crate) has_timestamp: bool,
    /// Of the Timestamp or, without one, of the UsernameToken.
    pub(crate) created: Option<Timestamp>,
    pub(crate) expires: Option<Timestamp>,
    /// Of a token that is not enciphered.
    pub(crate) password: Option<Password>,
    /// What else such a token has.
    pub(crate) token: Option<TokenForm>,
    pub(crate) has_signature: bool,
    pub(crate) signatures: usize,
    /// Cipher text anywhere in the message.
    pub(crate) has_cipher_text: bool,
    /// Cipher text that is a child of the Security header.
    pub(crate) hides_items: bool,
    /// Whether a key or a list of cipher text comes before the signature.
    pub(crate) deciphered_first: bool,
    pub(crate) has_encrypted_key: bool,
    pub(crate) has_derived_keys: bool,
    pub(crate) has_confirmation: bool,
    pub(crate) algorithms: Algorithms,
    pub(crate) signature_reference: Option<Reference>,
    pub(crate) encryption_reference: Option<Reference>,
    pub(crate) written: Written,
    /// The parts that the first signature names.
    pub(crate) signed: Vec<Covered>,
    /// Attributes without a namespace that are ids of what is signed.
    pub(crate) ids: BTreeSet<&'static str>,
    /// What is enciphered, as far as it shows from outside.
    pub(crate) encrypted: Vec<Covered>,
    /// Header blocks that must be understood, as an endpoint file names them.
    pub(crate) demanding: Vec<String>,
    /// Items that no mechanism writes.
    pub(crate) strange: Vec<String>,
    /// What the message says of its addresses and its operation.
    pub(crate) call: Call,
    /// The element of the Body that is signed by itself, if there is one, or why no file can
    /// demand it.
    pub(crate) inner: Result<Option<InnerSignature>, String>,
}

/// What a message says of its addresses and its operation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Call {
    pub(crate) to: Option<String>,
    pub(crate) action: Option<String>,
    /// Namespace and name of the element in the Body; `None` where cipher text hides it.
    pub(crate) body: Option<(String, String)>,
    /// The namespace of the envelope.
    pub(crate) soap: String,
}

impl Call {
    pub(crate) fn of(envelope: &Envelope) -> Self {
        let root = envelope.document().root();
        let soap = root.namespace();
        let header = root.child(soap, "Header");
        let text = |local: &str| {
            let blocks = header.into_iter().flat_map(|header| header.children());
            let mut named = blocks
                .filter(|block| ADDRESSING.contains(&block.namespace()) && block.local() == local);
            named.next().map(|block| block.text().trim().to_owned())
        };
        let body = root
            .child(soap, "Body")
            .and_then(|body| body.children().next());
        let body = body.filter(|element| !is_sealed(*element));
        Self {
            to: text("To"),
            action: text("Action"),
            body: body.map(|it| (it.namespace().to_owned(), it.local().to_owned())),
            soap: soap.to_owned(),
        }
    }
}

impl Outline {
    pub(crate) fn of(message: &[u8]) -> Result<Self, Fault> {
        let limits = Limits::default();
        let envelope = Envelope::parse(message.to_vec(), &limits, &mut Buffers::default())
            .map_err(Fault::Envelope)?;
        let header = SecurityHeader::all(&envelope);
        let header = header.first().ok_or(Fault::NoSecurity)?;
        Ok(Self::read(&envelope, header))
    }

    fn read(envelope: &Envelope, header: &SecurityHeader) -> Self {
        let document = envelope.document();
        let security = document.element(header.node());
        let place = |kind: ItemKind| header.items().iter().position(|item| item.kind == kind);
        let item = |kind: ItemKind| place(kind).map(|at| document.element(header.items()[at].node));
        let timestamp = item(ItemKind::Timestamp);
        let user = security.child(WSSE, "UsernameToken");
        let moment = |element: Option<Element<'_>>, local: &str| {
            let text = element?.child(WSU, local)?.text().trim().to_owned();
            parse_date_time(&text)
        };
        let signature = item(ItemKind::Signature);
        let key = item(ItemKind::EncryptedKey);
        let key_place = place(ItemKind::EncryptedKey)
            .into_iter()
            .chain(place(ItemKind::ReferenceList))
            .chain(place(ItemKind::EncryptedData))
            .min();
        let soap = |local: &str| {
            let namespaces = [SOAP11, SOAP12];
            namespaces
                .into_iter()
                .find_map(|uri| security.attribute(uri, local))
        };
        let cipher_text = document.elements_named(XENC, "EncryptedData");
        let cipher_text: Vec<Element<'_>> = cipher_text.collect();
        let encryption_info = key
            .and_then(key_info)
            .or_else(|| cipher_text.first().copied().and_then(key_info));
        let mut algorithms = Algorithms::of(security);
        for data in &cipher_text {
            algorithms.join(&Algorithms::of(*data));
        }
        let mut ids = BTreeSet::new();
        let signed = signature.map(|it| signed_by(it, envelope, &mut ids));
        let signed = signed.unwrap_or_default();
        let strange = header
            .items()
            .iter()
            .filter(|item| item.kind == ItemKind::Unknown);
        let strange = strange.map(|item| document.element(item.node).qualified_name().to_owned());
        Self {
            actor: soap("actor")
                .or_else(|| soap("role"))
                .map(|it| it.into_owned()),
            must_understand: soap("mustUnderstand").is_some_and(|it| matches!(&*it, "1" | "true")),
            order: Order::of(security),
            has_timestamp: timestamp.is_some(),
            created: moment(timestamp.or(user), "Created"),
            expires: moment(timestamp, "Expires"),
            password: user.map(password),
            token: user.map(TokenForm::of),
            has_signature: signature.is_some(),
            signatures: header
                .items()
                .iter()
                .filter(|item| item.kind == ItemKind::Signature)
                .count(),
            hides_items: header.has(ItemKind::EncryptedData),
            has_cipher_text: !cipher_text.is_empty(),
            deciphered_first: match (key_place, place(ItemKind::Signature)) {
                (Some(key), Some(signature)) => key < signature,
                _ => true,
            },
            has_encrypted_key: key.is_some(),
            has_derived_keys: security
                .children()
                .any(|item| item.local() == "DerivedKeyToken"),
            has_confirmation: header.has(ItemKind::Confirmation),
            signature_reference: signature
                .and_then(key_info)
                .map(|info| Reference::of(info, security)),
            encryption_reference: encryption_info.map(|info| Reference::of(info, security)),
            written: Written::of(security),
            signed,
            ids,
            encrypted: cipher_text
                .iter()
                .filter_map(|data| from_outside(*data))
                .collect(),
            demanding: demanding(envelope),
            strange: strange.collect(),
            call: Call::of(envelope),
            inner: InnerSignature::of(envelope),
            algorithms,
        }
    }
}

/// The header blocks that every receiver must understand, but for those of this specification.
fn demanding(envelope: &Envelope) -> Vec<String> {
    let root = envelope.document().root();
    let soap = root.namespace();
    let blocks = root.child(soap, "Header").into_iter();
    let blocks = blocks.flat_map(|header| header.children());
    let others = blocks.filter(|block| {
        let value = block.attribute(soap, "mustUnderstand");
        let is_demanding = value.is_some_and(|it| matches!(it.trim(), "1" | "true"));
        let addressed = ["actor", "role"]
            .iter()
            .any(|name| block.attribute(soap, name).is_some());
        is_demanding && !addressed && !block.is(WSSE, "Security") && !is_sealed(*block)
    });
    let mut names: Vec<String> = Vec::new();
    for block in others {
        if let Covered::Part(name) = covered_name(block)
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}

fn key_info(element: Element<'_>) -> Option<Element<'_>> {
    element.child(DS, "KeyInfo")
}

/// The parts that a signature names. Attributes without a namespace that name one go to `ids`.
fn signed_by(
    signature: Element<'_>,
    envelope: &Envelope,
    ids: &mut BTreeSet<&'static str>,
) -> Vec<Covered> {
    let document = envelope.document();
    let references = signature.child(DS, "SignedInfo").into_iter();
    let references = references.flat_map(|info| info.children());
    let references = references.filter(|child| child.is(DS, "Reference"));
    let mut covered = Vec::new();
    for reference in references {
        let uri = reference.attribute("", "URI").unwrap_or_default();
        let id = uri.strip_prefix('#').unwrap_or_default();
        let target = document.by_id(id).ok().flatten();
        let is_of_token = reference
            .descendants()
            .any(|below| below.local() == "TransformationParameters");
        let found = match target {
            _ if is_of_token => Covered::Part("Token".to_owned()),
            // What it holds shows when it is deciphered.
            Some(node) if is_sealed(document.element(node)) => continue,
            Some(node) => covered_name(document.element(node)),
            None => match by_plain_id(envelope, id) {
                Some((attribute, element)) => {
                    ids.insert(attribute);
                    covered_name(element)
                }
                None => Covered::Unnamed(format!("`{uri}`")),
            },
        };
        if !covered.contains(&found) {
            covered.push(found);
        }
    }
    covered
}

/// The element that has an id in an attribute without a namespace, as libraries for XML signatures
/// write it.
fn by_plain_id<'e>(envelope: &'e Envelope, id: &str) -> Option<(&'static str, Element<'e>)> {
    let root = envelope.document().root();
    ["Id", "ID", "id"].into_iter().find_map(|attribute| {
        let has_it =
            |element: &Element<'_>| element.attribute("", attribute).is_some_and(|it| it == id);
        let found = root.descendants().find(has_it)?;
        Some((attribute, found))
    })
}

/// Whether an element is cipher text, or the header block around it.
pub(crate) fn is_sealed(element: Element<'_>) -> bool {
    element.is(WSSE11, "EncryptedHeader") || element.is(XENC, "EncryptedData")
}

/// What cipher text stands for, where that shows without a key.
fn from_outside(data: Element<'_>) -> Option<Covered> {
    let parent = data.parent()?;
    match (parent.namespace(), parent.local()) {
        (SOAP11 | SOAP12, "Body") => Some(Covered::Part("Body".to_owned())),
        _ => None,
    }
}
