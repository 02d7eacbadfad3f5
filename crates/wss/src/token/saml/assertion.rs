//! An assertion, read as its schema has it (SAML Core 2.0, 2; SAML Core 1.1, 2).
//!
//! The one rule: what is not understood is refused. A reader that skips an element lets its sender
//! choose which of two readers is right, and the wrapping attacks on assertions live in such
//! places.

use jiff::Timestamp;
use soapstone_crypto::Certificate;
use soapstone_xml::{Content, Element, NodeId};

use super::conditions::Conditions;
use super::id_card::{self, IdCard};
use super::policy::AssertionPolicy;
use super::reading::{Reader, instant, malformed, required};
use super::said::{AssertionAttribute, NameIdentifier};
use super::statements::{self, Statements};
use super::subject::{Confirmation, Subject};
use super::version::SamlVersion;
use crate::names::{DS, SAML11, SAML11_PROTOCOL, SAML20, XENC};
use crate::rejected::Rejected;

/// An assertion as it was read. Who made it is for its signature to show.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Assertion {
    /// The version.
    pub version: SamlVersion,
    /// Whether it is an ID card of DGWS.
    pub is_id_card: bool,
    /// Its id.
    pub id: String,
    /// Who says that he made it.
    pub issuer: String,
    /// When it was made.
    pub issued: Timestamp,
    /// Whom it is about.
    pub subject: NameIdentifier,
    /// When and how the subject authenticated, as the issuer has it.
    pub authenticated: Option<Timestamp>,
    /// What the issuer says of the subject.
    pub attributes: Vec<AssertionAttribute>,
    pub(crate) conditions: Conditions,
    pub(crate) confirmations: Vec<Confirmation>,
    /// The earliest end of a session.
    pub(crate) session_end: Option<Timestamp>,
    /// The one `ds:Signature`.
    pub(crate) signature: Option<NodeId>,
    /// The certificate whose key made it, when that is proven.
    pub(crate) signer: Option<Certificate>,
    pub(crate) node: NodeId,
}

/// Most elements of an assertion. Those of the vectors have at most 60.
const MOST_ELEMENTS: usize = 4096;

impl Assertion {
    /// Reads an assertion. Nothing of it is proven.
    pub(crate) fn read(element: Element<'_>) -> Result<Self, Rejected> {
        let version = SamlVersion::from_namespace(element.namespace());
        let version = version.filter(|_| element.local() == "Assertion");
        let version = version.ok_or_else(|| malformed("expected an assertion"))?;
        check_content(element)?;
        match version {
            SamlVersion::V20 if id_card::id_of(element).is_some() => Self::read_id_card(element),
            SamlVersion::V20 => Self::read_20(element),
            SamlVersion::V11 => Self::read_11(element),
        }
    }

    fn read_20(element: Element<'_>) -> Result<Self, Rejected> {
        let reader = Reader::of(element, &["Version", "ID", "IssueInstant"])?;
        if required(element, "Version")? != "2.0" {
            return Err(malformed("expected `Version` 2.0"));
        }
        let mut children = reader.children();
        let issuer = children.required(SAML20, "Issuer")?;
        // SAML Core 2.0, 8.3.6: an entity has no qualifiers.
        let issuer = Reader::of(issuer, &["Format"])?.text()?;
        let signature = children.optional(DS, "Signature");
        let subject = children.required(SAML20, "Subject")?;
        let subject = Subject::read_20(subject)?;
        let conditions = match children.optional(SAML20, "Conditions") {
            Some(conditions) => Conditions::read_20(conditions)?,
            None => Conditions::default(),
        };
        let _advice = children.optional(SAML20, "Advice");
        let mut found = Statements::default();
        while let Some(statement) = children.any() {
            statements::read_20(statement, &mut found)?;
        }
        let Subject {
            name,
            confirmations,
        } = subject;
        Ok(Self {
            version: SamlVersion::V20,
            is_id_card: false,
            id: required(element, "ID")?.into_owned(),
            issuer,
            issued: instant(element, "IssueInstant")?,
            subject: name,
            authenticated: found.authenticated,
            attributes: found.attributes,
            conditions,
            confirmations,
            session_end: found.session_end,
            signature: signature.map(|signature| signature.id()),
            signer: None,
            node: element.id(),
        })
    }

    /// Reads an ID card of DGWS.
    fn read_id_card(element: Element<'_>) -> Result<Self, Rejected> {
        let card = IdCard::read(element)?;
        Ok(Self {
            version: SamlVersion::V20,
            is_id_card: true,
            id: card.id,
            issuer: card.issuer,
            issued: instant(element, "IssueInstant")?,
            subject: card.subject,
            authenticated: None,
            attributes: card.attributes,
            conditions: card.conditions,
            confirmations: vec![card.confirmation],
            session_end: None,
            signature: Some(card.signature.id()),
            signer: None,
            node: element.id(),
        })
    }

    /// Whether it has the form that is accepted: that of SAML, or that of ID cards.
    pub(super) fn check_kind(&self, policy: &AssertionPolicy) -> Result<(), Rejected> {
        let found = match (self.is_id_card, policy.id_cards) {
            (true, false) => "an ID card of DGWS",
            (false, true) => "an assertion that is no ID card of DGWS",
            _ => return Ok(()),
        };
        Err(Rejected::TokenUnsupported {
            found: found.to_owned(),
        })
    }

    fn read_11(element: Element<'_>) -> Result<Self, Rejected> {
        let attributes = [
            "MajorVersion",
            "MinorVersion",
            "AssertionID",
            "Issuer",
            "IssueInstant",
        ];
        let reader = Reader::of(element, &attributes)?;
        if required(element, "MajorVersion")? != "1" || required(element, "MinorVersion")? != "1" {
            return Err(malformed("expected `MajorVersion` and `MinorVersion` 1.1"));
        }
        let mut children = reader.children();
        let conditions = match children.optional(SAML11, "Conditions") {
            Some(conditions) => Conditions::read_11(conditions)?,
            None => Conditions::default(),
        };
        let _advice = children.optional(SAML11, "Advice");
        let mut found = Statements::default();
        let mut subject: Option<Element<'_>> = None;
        let signature = loop {
            let Some(child) = children.any() else {
                break None;
            };
            if child.is(DS, "Signature") {
                children.end()?;
                break Some(child.id());
            }
            let of_statement = statements::read_11(child, &mut found)?;
            match subject {
                None => subject = Some(of_statement),
                Some(first) if Subject::is_same(first, of_statement)? => {}
                Some(_) => return Err(malformed("expected one subject, found several")),
            }
        };
        let subject = subject.ok_or_else(|| malformed("expected a statement, found none"))?;
        let Subject {
            name,
            confirmations,
        } = Subject::read_11(subject)?;
        Ok(Self {
            version: SamlVersion::V11,
            is_id_card: false,
            id: required(element, "AssertionID")?.into_owned(),
            issuer: required(element, "Issuer")?.into_owned(),
            issued: instant(element, "IssueInstant")?,
            subject: name,
            authenticated: found.authenticated,
            attributes: found.attributes,
            conditions,
            confirmations,
            session_end: None,
            signature,
            signer: None,
            node: element.id(),
        })
    }
}

/// Checks what may stand anywhere in an assertion: no other assertion, no second signature, no
/// cipher text whose plaintext would change it once it is verified, and no comment or processing
/// instruction, which readers cut values at (CVE-2017-11427 and its kin).
fn check_content(assertion: Element<'_>) -> Result<(), Rejected> {
    let is_own = |signature: Element<'_>| signature.parent() == Some(assertion);
    for (count, element) in assertion.descendants().enumerate() {
        if count == MOST_ELEMENTS {
            return Err(Rejected::TooMany {
                what: "elements of an assertion",
                limit: MOST_ELEMENTS,
            });
        }
        let problem = match (element.namespace(), element.local()) {
            (SAML11 | SAML20, "Assertion") if element != assertion => {
                "expected no assertion inside of another one"
            }
            (SAML20, "EncryptedAssertion" | "EncryptedID" | "EncryptedAttribute")
            | (XENC, "EncryptedData") => "expected no cipher text inside of an assertion",
            (DS, "Signature") if !is_own(element) => {
                "expected no signature but the assertion's own"
            }
            (SAML11_PROTOCOL | PROTOCOL20, _) => {
                "expected no message of a protocol in an assertion"
            }
            _ => {
                let is_hidden = |content: Content<'_>| {
                    matches!(
                        content,
                        Content::Comment(_) | Content::ProcessingInstruction { .. }
                    )
                };
                if element.contents().any(is_hidden) {
                    "expected no comments and no processing instructions"
                } else {
                    continue;
                }
            }
        };
        return Err(malformed(problem));
    }
    Ok(())
}

/// Messages of the protocol of SAML 2.0.
const PROTOCOL20: &str = "urn:oasis:names:tc:SAML:2.0:protocol";
