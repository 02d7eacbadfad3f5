//! What an issuer says of a subject: that it authenticated, and its attributes (SAML Core 2.0, 2.7;
//! SAML Core 1.1, 2.4).
//!
//! The one rule: a statement that is not understood is refused. A decision on authorization is
//! one: a reader that passes it over may let somebody in whom it keeps out.

use jiff::Timestamp;
use soapstone_xml::Element;

use super::reading::{
    Reader, excerpt, instant, malformed, optional, optional_instant, required, unexpected,
};
use super::said::AssertionAttribute;
use crate::names::{SAML11, SAML20};
use crate::rejected::Rejected;

/// The statements of an assertion together.
#[derive(Default)]
pub(super) struct Statements {
    pub(super) authenticated: Option<Timestamp>,
    pub(super) session_end: Option<Timestamp>,
    pub(super) attributes: Vec<AssertionAttribute>,
    values: usize,
}

/// Most attributes of an assertion, and most values of them together.
const MOST_ATTRIBUTES: usize = 256;

/// Most values.
const MOST_VALUES: usize = 1024;

/// Reads a statement of SAML 2.0.
pub(super) fn read_20(statement: Element<'_>, found: &mut Statements) -> Result<(), Rejected> {
    match (statement.namespace(), statement.local()) {
        (SAML20, "AuthnStatement") => {
            let allowed = ["AuthnInstant", "SessionIndex", "SessionNotOnOrAfter"];
            let mut children = Reader::of(statement, &allowed)?.children();
            found.authenticated = Some(instant(statement, "AuthnInstant")?);
            let end = optional_instant(statement, "SessionNotOnOrAfter")?;
            found.session_end = match (found.session_end, end) {
                (Some(known), Some(end)) => Some(known.min(end)),
                (known, end) => known.or(end),
            };
            let _ = children.optional(SAML20, "SubjectLocality");
            // The schema wants it; some issuers leave it out.
            let _ = children.optional(SAML20, "AuthnContext");
            children.end()
        }
        (SAML20, "AttributeStatement") => read_attributes(statement, &[], found),
        _ => Err(unexpected(statement)),
    }
}

/// Reads an `AttributeStatement` of SAML 2.0, which may itself have these XML attributes.
pub(super) fn read_attributes(
    statement: Element<'_>,
    allowed: &[&str],
    found: &mut Statements,
) -> Result<(), Rejected> {
    let mut children = Reader::of(statement, allowed)?.children();
    while let Some(attribute) = children.optional(SAML20, "Attribute") {
        let name = required(attribute, "Name")?.into_owned();
        let format = optional(attribute, "NameFormat")?;
        let format = format.map(std::borrow::Cow::into_owned);
        found.read_attribute(attribute, SAML20, name, format)?;
    }
    children.end()
}

/// Reads a statement of SAML 1.1; returns its subject.
pub(super) fn read_11<'d>(
    statement: Element<'d>,
    found: &mut Statements,
) -> Result<Element<'d>, Rejected> {
    match (statement.namespace(), statement.local()) {
        (SAML11, "AuthenticationStatement") => {
            let allowed = ["AuthenticationMethod", "AuthenticationInstant"];
            let mut children = Reader::of(statement, &allowed)?.children();
            found.authenticated = Some(instant(statement, "AuthenticationInstant")?);
            let subject = children.required(SAML11, "Subject")?;
            let _ = children.optional(SAML11, "SubjectLocality");
            while children.optional(SAML11, "AuthorityBinding").is_some() {}
            children.end()?;
            Ok(subject)
        }
        (SAML11, "AttributeStatement") => {
            let mut children = Reader::of(statement, &[])?.children();
            let subject = children.required(SAML11, "Subject")?;
            while let Some(attribute) = children.optional(SAML11, "Attribute") {
                let name = required(attribute, "AttributeName")?.into_owned();
                let namespace = required(attribute, "AttributeNamespace")?.into_owned();
                found.read_attribute(attribute, SAML11, name, Some(namespace))?;
            }
            children.end()?;
            Ok(subject)
        }
        _ => Err(unexpected(statement)),
    }
}

impl Statements {
    fn read_attribute(
        &mut self,
        element: Element<'_>,
        namespace: &str,
        name: String,
        format: Option<String>,
    ) -> Result<(), Rejected> {
        if self.attributes.len() == MOST_ATTRIBUTES {
            return Err(Rejected::TooMany {
                what: "attributes of an assertion",
                limit: MOST_ATTRIBUTES,
            });
        }
        // Of two attributes with one name, one reader heeds the first, and another one the last.
        let is_known = |known: &AssertionAttribute| known.name == name && known.format == format;
        if self.attributes.iter().any(is_known) {
            let name = excerpt(&name);
            return Err(malformed(format!("the attribute `{name}` is there twice")));
        }
        let mut values = Vec::new();
        for value in element.children() {
            if !value.is(namespace, "AttributeValue") {
                return Err(unexpected(value));
            }
            if self.values == MOST_VALUES {
                return Err(Rejected::TooMany {
                    what: "attribute values of an assertion",
                    limit: MOST_VALUES,
                });
            }
            self.values += 1;
            values.extend(value.text_strict().map(std::borrow::Cow::into_owned));
        }
        self.attributes.push(AssertionAttribute {
            name,
            format,
            values,
        });
        Ok(())
    }
}
