//! ID cards of DGWS 1.0.1, "Den Gode Webservice" of the Danish health services: assertions of SAML
//! 2.0 by their names, in a form of their own.
//!
//! | | SAML 2.0 | ID card |
//! |---|---|---|
//! | id | `ID` | `id`, the same in all cards |
//! | method of confirmation | attribute `Method` | element `ConfirmationMethod` |
//! | holder's key | in the subject | none: the `ds:KeyName` names the signature of the issuer |
//! | signature | behind `Issuer` | last, with an `id` |
//!
//! The one rule: a card proves nobody by a key, whatever its method says. Whoever has it is its
//! subject, so it is taken for a bearer's.

use soapstone_xml::{Document, Element};

use super::conditions::Conditions;
use super::reading::{Reader, malformed, optional, required};
use super::said::{AssertionAttribute, NameIdentifier};
use super::statements::{Statements, read_attributes};
use super::subject::{Confirmation, name_20};
use super::version::{ConfirmationMethod, SamlVersion};
use crate::names::{DS, SAML20};
use crate::rejected::Rejected;

/// The attribute with the id of a card.
const ID: &str = "id";

/// The id of a card; none, where the element is an assertion as SAML has it.
pub(super) fn id_of<'d>(element: Element<'d>) -> Option<std::borrow::Cow<'d, str>> {
    let is_usual = element.namespace() != SAML20 || element.attribute("", "ID").is_some();
    match is_usual {
        true => None,
        false => element.attribute("", ID),
    }
}

/// Whether one element alone has this id, in whichever attribute somebody may look for it. Who
/// verifies the card again looks it up by its id.
pub(super) fn is_alone(document: &Document, id: &str) -> bool {
    let elements = document.root().descendants();
    let has = |element: &Element<'_>| {
        let mut attributes = element.attributes();
        attributes.any(|attribute| {
            let is_id = matches!(attribute.local(), "Id" | "ID" | "id");
            is_id && attribute.value() == id
        })
    };
    elements.filter(has).take(2).count() == 1
}

/// A card as it was read. Nothing of it is proven.
pub(super) struct IdCard<'d> {
    pub(super) id: String,
    pub(super) issuer: String,
    pub(super) subject: NameIdentifier,
    pub(super) confirmation: Confirmation,
    pub(super) conditions: Conditions,
    pub(super) attributes: Vec<AssertionAttribute>,
    pub(super) signature: Element<'d>,
}

impl<'d> IdCard<'d> {
    pub(super) fn read(element: Element<'d>) -> Result<Self, Rejected> {
        let reader = Reader::of(element, &["Version", ID, "IssueInstant"])?;
        if required(element, "Version")? != "2.0" {
            return Err(malformed("expected `Version` 2.0"));
        }
        let mut children = reader.children();
        let issuer = children.required(SAML20, "Issuer")?;
        let issuer = Reader::of(issuer, &["Format"])?.text()?;
        let subject = children.required(SAML20, "Subject")?;
        let conditions = children.required(SAML20, "Conditions")?;
        let conditions = Conditions::read_20(conditions)?;
        let mut found = Statements::default();
        while let Some(statement) = children.optional(SAML20, "AttributeStatement") {
            read_attributes(statement, &[ID], &mut found)?;
        }
        let signature = children.required(DS, "Signature")?;
        children.end()?;
        let mut inside = Reader::of(subject, &[])?.children();
        let subject = name_20(inside.required(SAML20, "NameID")?)?;
        let confirmation = inside.required(SAML20, "SubjectConfirmation")?;
        inside.end()?;
        Ok(Self {
            id: required(element, ID)?.into_owned(),
            issuer,
            subject,
            confirmation: confirmation_of(confirmation, signature)?,
            conditions,
            attributes: found.attributes,
            signature,
        })
    }
}

/// The confirmation of a card, which names the signature of the card's issuer and nothing else.
fn confirmation_of(element: Element<'_>, signature: Element<'_>) -> Result<Confirmation, Rejected> {
    let mut children = Reader::of(element, &[])?.children();
    let method = children.required(SAML20, "ConfirmationMethod")?;
    let method = Reader::of(method, &[])?.text()?;
    let method = ConfirmationMethod::from_uri(SamlVersion::V20, method.trim());
    let data = children.required(SAML20, "SubjectConfirmationData")?;
    children.end()?;
    let mut data = Reader::of(data, &[])?.children();
    // At the lower levels it is a user with a password, whom no issuer proves.
    let info = data.required(DS, "KeyInfo")?;
    data.end()?;
    let mut info = Reader::of(info, &[])?.children();
    let name = info.required(DS, "KeyName")?;
    info.end()?;
    let name = Reader::of(name, &[])?.text()?;
    let own = optional(signature, ID)?;
    let names_own = own.is_some_and(|own| own == name.trim());
    if method != Some(ConfirmationMethod::HolderOfKey) || !names_own {
        return Err(malformed(
            "expected an ID card whose subject is confirmed by the signature of its issuer",
        ));
    }
    Ok(Confirmation::by(ConfirmationMethod::Bearer))
}
