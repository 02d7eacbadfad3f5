//! The subject of an assertion, and how it is confirmed (SAML Core 2.0, 2.4; SAML Core 1.1, 2.4.2).
//!
//! The one rule: a subject has one identifier, and a confirmation with a part that is not
//! understood confirms nobody.

use jiff::Timestamp;
use soapstone_crypto::{Certificate, PublicKey};
use soapstone_xml::{
    Apex, C14nOptions, C14nScratch, Canonicalization, Element, NodeId, canonicalize,
};
use soapstone_xmlsec::keyinfo::{KeySource, KeyValue, X509Data, der_encoded_key_value, sources};

use super::conditions::Life;
use super::policy::{AssertionPolicy, ConfirmationPart};
use super::reading::{Reader, XSI_TYPE, excerpt, malformed, optional, required};
use super::said::NameIdentifier;
use super::version::{ConfirmationMethod, SamlVersion};
use crate::names::{DS, SAML11, SAML20, XSI};
use crate::rejected::Rejected;

/// The subject.
pub(super) struct Subject {
    pub(super) name: NameIdentifier,
    pub(super) confirmations: Vec<Confirmation>,
}

/// One way to confirm the subject.
#[derive(Clone, Debug)]
pub(crate) struct Confirmation {
    pub(crate) method: ConfirmationMethod,
    pub(crate) life: Life,
    recipient: Option<String>,
    in_response_to: Option<String>,
    /// Whether it says from where the subject shows the assertion.
    has_address: bool,
    /// The keys of the holder.
    pub(super) keys: Vec<HolderKey>,
    /// A part that is not understood.
    unknown: Option<&'static str>,
}

/// A key that confirms the subject, as the issuer has it.
#[derive(Clone, Debug)]
pub(crate) enum HolderKey {
    /// A public key, with its certificate where the issuer names one.
    Public(PublicKey, Option<Certificate>),
    /// A symmetric key, enciphered for its receiver, in this `xenc:EncryptedKey`.
    Wrapped(NodeId),
}

/// Most confirmations of a subject, and most keys of one.
const MOST_CONFIRMATIONS: usize = 8;

/// Most children of a `ds:KeyInfo` and of a `ds:X509Data`.
const MOST_SOURCES: usize = 8;

impl Subject {
    pub(super) fn read_20(element: Element<'_>) -> Result<Self, Rejected> {
        let mut children = Reader::of(element, &[])?.children();
        let name = name_20(children.required(SAML20, "NameID")?)?;
        let mut confirmations = Vec::new();
        while let Some(one) = children.optional(SAML20, "SubjectConfirmation") {
            if confirmations.len() == MOST_CONFIRMATIONS {
                return Err(too_many("confirmations of a subject"));
            }
            confirmations.extend(Confirmation::read_20(one)?);
        }
        children.end()?;
        Ok(Self {
            name,
            confirmations,
        })
    }

    pub(super) fn read_11(element: Element<'_>) -> Result<Self, Rejected> {
        let mut children = Reader::of(element, &[])?.children();
        let name = children.required(SAML11, "NameIdentifier")?;
        let name = NameIdentifier {
            value: Reader::of(name, &["NameQualifier", "Format"])?.text()?,
            format: owned(name, "Format")?,
            qualifier: owned(name, "NameQualifier")?,
            service_qualifier: None,
        };
        let confirmations = match children.optional(SAML11, "SubjectConfirmation") {
            Some(one) => Confirmation::read_11(one)?,
            None => Vec::new(),
        };
        children.end()?;
        Ok(Self {
            name,
            confirmations,
        })
    }

    /// Whether two statements are about one subject, confirmed in one way.
    pub(super) fn is_same(first: Element<'_>, other: Element<'_>) -> Result<bool, Rejected> {
        let form = |subject: Element<'_>| {
            let mut bytes = Vec::new();
            canonicalize(
                subject.document(),
                Apex::Element(subject.id()),
                &C14nOptions::new(Canonicalization::Exclusive),
                &mut C14nScratch::default(),
                &mut bytes,
            )
            .map_err(Rejected::Canonicalization)?;
            Ok::<_, Rejected>(bytes)
        };
        Ok(form(first)? == form(other)?)
    }
}

impl Confirmation {
    /// A confirmation that says nothing but its method.
    pub(super) fn by(method: ConfirmationMethod) -> Self {
        Self {
            method,
            life: Life::default(),
            recipient: None,
            in_response_to: None,
            has_address: false,
            keys: Vec::new(),
            unknown: None,
        }
    }

    /// Reads one `saml:SubjectConfirmation`; none, if its method is not known.
    fn read_20(element: Element<'_>) -> Result<Option<Self>, Rejected> {
        let mut children = Reader::of(element, &["Method"])?.children();
        let method = required(element, "Method")?;
        let method = ConfirmationMethod::from_uri(SamlVersion::V20, &method);
        // Says who is to confirm the subject, and that is nobody whom the engine could tell.
        let names_confirmer = children.optional(SAML20, "NameID").is_some();
        let data = children.optional(SAML20, "SubjectConfirmationData");
        children.end()?;
        let Some(method) = method else {
            return Ok(None);
        };
        let mut read = Self::by(method);
        if names_confirmer {
            read.unknown = Some("the identifier of another party");
        }
        if let Some(data) = data {
            read.read_data(data)?;
        }
        Ok(Some(read))
    }

    fn read_data(&mut self, data: Element<'_>) -> Result<(), Rejected> {
        let allowed = [
            "NotBefore",
            "NotOnOrAfter",
            "Recipient",
            "InResponseTo",
            "Address",
            XSI_TYPE,
        ];
        let mut children = Reader::of(data, &allowed)?.children();
        self.life = Life::read(data)?;
        self.recipient = owned(data, "Recipient")?;
        self.in_response_to = owned(data, "InResponseTo")?;
        self.has_address = data.attribute("", "Address").is_some();
        let of_keys = match data.attribute(XSI, "type") {
            None => true,
            Some(name) => {
                let (prefix, local) = name.split_once(':').unwrap_or(("", &name));
                let is_ours = data.namespace_of(prefix) == Some(SAML20);
                is_ours && local == "KeyInfoConfirmationDataType"
            }
        };
        while let Some(info) = children.optional(DS, "KeyInfo") {
            if !of_keys || self.method != ConfirmationMethod::HolderOfKey {
                self.unknown = Some("a key beside another method than holder-of-key");
                continue;
            }
            self.read_key(info)?;
        }
        if !of_keys || children.any().is_some() {
            self.unknown = Some("data of another type");
            return Ok(());
        }
        children.end()
    }

    /// Reads a `saml:SubjectConfirmation` of SAML 1.1: its methods have one key.
    fn read_11(element: Element<'_>) -> Result<Vec<Self>, Rejected> {
        let mut children = Reader::of(element, &[])?.children();
        let mut read: Vec<Self> = Vec::new();
        let mut count = 0;
        while let Some(method) = children.optional(SAML11, "ConfirmationMethod") {
            if count == MOST_CONFIRMATIONS {
                return Err(too_many("confirmations of a subject"));
            }
            count += 1;
            let uri = Reader::of(method, &[])?.text()?;
            let method = ConfirmationMethod::from_uri(SamlVersion::V11, uri.trim());
            read.extend(method.map(Self::by));
        }
        if count == 0 {
            return Err(malformed("expected a `ConfirmationMethod`, found none"));
        }
        if children
            .optional(SAML11, "SubjectConfirmationData")
            .is_some()
        {
            for one in &mut read {
                one.unknown = Some("`SubjectConfirmationData`");
            }
        }
        if let Some(info) = children.optional(DS, "KeyInfo") {
            for one in &mut read {
                match one.method {
                    ConfirmationMethod::HolderOfKey => one.read_key(info)?,
                    _ => one.unknown = Some("a key beside another method than holder-of-key"),
                }
            }
        }
        children.end()?;
        Ok(read)
    }

    /// Reads the key of a holder. All that is said of it is said of one key.
    fn read_key(&mut self, info: Element<'_>) -> Result<(), Rejected> {
        if self.keys.len() == MOST_CONFIRMATIONS {
            return Err(too_many("keys of a subject"));
        }
        let unreadable = |problem: String| malformed(format!("the holder's key: {problem}"));
        let found = sources(info, MOST_SOURCES).map_err(|error| unreadable(error.to_string()))?;
        let mut keys: Vec<HolderKey> = Vec::new();
        for source in found {
            let document = info.document();
            let error =
                |error: soapstone_xmlsec::keyinfo::KeyInfoError| unreadable(error.to_string());
            keys.extend(match source {
                KeySource::X509Data(node) => {
                    let data = X509Data::parse(document.element(node), MOST_SOURCES);
                    let mut certificates = data.map_err(error)?.certificates.into_iter();
                    // The holder's own comes first; the others lead to an authority.
                    let first = certificates.next();
                    first.map(|it| HolderKey::Public(it.public_key().clone(), Some(it)))
                }
                KeySource::KeyValue(node) => {
                    let value = KeyValue::parse(document.element(node)).map_err(error)?;
                    value.map(|value| HolderKey::Public(value.into_public_key(), None))
                }
                KeySource::DerEncodedKeyValue(node) => {
                    let key = der_encoded_key_value(document.element(node)).map_err(error)?;
                    Some(HolderKey::Public(key, None))
                }
                KeySource::EncryptedKey(node) => Some(HolderKey::Wrapped(node)),
                // A name says nothing that could be compared.
                KeySource::KeyName(_) => None,
                _ => {
                    self.unknown = Some("a key by a reference");
                    None
                }
            });
        }
        let Some(first) = keys.first() else {
            self.unknown = Some("a key that is only named");
            return Ok(());
        };
        if keys.iter().any(|other| !first.is_same(other)) {
            return Err(malformed("expected one key in a `KeyInfo`, found several"));
        }
        let with_certificate = keys
            .iter()
            .find(|key| matches!(key, HolderKey::Public(_, Some(_))));
        self.keys.push(with_certificate.unwrap_or(first).clone());
        Ok(())
    }

    /// Whether it tells of the way of its subject. Where it confirms, the policy ignored that.
    pub(crate) fn tells_of_the_way(&self) -> bool {
        self.has_address || self.in_response_to.is_some()
    }

    /// Whether what the confirmation says of time, place and request is so.
    pub(super) fn check_data(
        &self,
        policy: &AssertionPolicy,
        now: Timestamp,
    ) -> Result<(), Rejected> {
        if let Some(unknown) = self.unknown {
            return Err(unconfirmed(format!("it says {unknown}")));
        }
        let is_compared = |part| !policy.ignored_confirmation.contains(&part);
        if self.has_address && is_compared(ConfirmationPart::Address) {
            return Err(unconfirmed("it says an `Address`"));
        }
        self.life.check(policy.skew, now)?;
        if let Some(recipient) = &self.recipient
            && !policy.recipients.contains(recipient)
        {
            let found = excerpt(recipient);
            return Err(unconfirmed(format!("its `Recipient` is `{found}`")));
        }
        // A message that nobody asked for answers no request of a protocol.
        if let Some(request) = &self.in_response_to
            && is_compared(ConfirmationPart::InResponseTo)
        {
            let found = excerpt(request);
            return Err(unconfirmed(format!("it answers the request `{found}`")));
        }
        Ok(())
    }
}

impl HolderKey {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Public(one, _), Self::Public(other, _)) => one == other,
            (Self::Wrapped(one), Self::Wrapped(other)) => one == other,
            _ => false,
        }
    }
}

/// The `saml:NameID` of a subject.
pub(super) fn name_20(name: Element<'_>) -> Result<NameIdentifier, Rejected> {
    let allowed = ["NameQualifier", "SPNameQualifier", "Format", "SPProvidedID"];
    Ok(NameIdentifier {
        value: Reader::of(name, &allowed)?.text()?,
        format: owned(name, "Format")?,
        qualifier: owned(name, "NameQualifier")?,
        service_qualifier: owned(name, "SPNameQualifier")?,
    })
}

/// The refusal of an assertion whose subject is not confirmed.
pub(super) fn unconfirmed(problem: impl Into<String>) -> Rejected {
    Rejected::AssertionUnconfirmed {
        problem: problem.into(),
    }
}

fn too_many(what: &'static str) -> Rejected {
    Rejected::TooMany {
        what,
        limit: MOST_CONFIRMATIONS,
    }
}

fn owned(element: Element<'_>, local: &str) -> Result<Option<String>, Rejected> {
    Ok(optional(element, local)?.map(std::borrow::Cow::into_owned))
}
