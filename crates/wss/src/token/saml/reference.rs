//! References to assertions that stand elsewhere (SAML Token Profile 1.1.1, 3.3 and 3.4).
//!
//! The one rule: a reference names one assertion by version, id and place. Where it can be fetched
//! is for the host to decide, and whether it is believed for its issuer's signature.

use std::fmt;

use soapstone_crypto::hexadecimal::Digits;
use soapstone_crypto::{DigestAlgorithm, digest};
use soapstone_xml::Element;

use super::reading::malformed;
use super::version::SamlVersion;
use crate::attributes::only_attributes;
use crate::names::{SAML11, SAML11_ID, SAML11_PROTOCOL, SAML20_TOKEN, WSSE, WSSE11};
use crate::rejected::Rejected;

/// Names an assertion that an authority has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AssertionReference {
    /// The version of the assertion.
    pub version: SamlVersion,
    /// Its id: letters, digits, `_`, `-` and `.`.
    pub id: String,
    /// Where it is, beginning with `https://`. In SAML 2.0 the whole URI, whose query is `ID=` with
    /// the id; in SAML 1.1 the address that is asked.
    pub location: String,
}

/// Longest id, bytes.
const LONGEST_ID: usize = 128;

/// Longest address, bytes: what servers take for a URL (RFC 9110, 4.1, asks for 8000 of lines).
const LONGEST_LOCATION: usize = 2048;

/// The one binding of SAML 1.1 (SAML Bindings 1.1, 3.1).
pub(crate) const SOAP_BINDING: &str = "urn:oasis:names:tc:SAML:1.0:bindings:SOAP-binding";

impl AssertionReference {
    /// Names the assertion with this id at its authority, an address without a query.
    ///
    /// # Errors
    /// No receiver would read such an id or such an address.
    pub fn at(authority: &str, version: SamlVersion, id: &str) -> Result<Self, Rejected> {
        if authority.contains('?') {
            return Err(malformed(
                "expected the address of an authority without a query",
            ));
        }
        match version {
            SamlVersion::V20 => Self::checked(version, id, &format!("{authority}?ID={id}")),
            SamlVersion::V11 => Self::checked(version, id, authority),
        }
    }

    /// Reads a `wsse:SecurityTokenReference`; none, if it names no assertion elsewhere.
    pub(crate) fn read(reference: Element<'_>) -> Result<Option<Self>, Rejected> {
        let is_binding = |child: Element<'_>| child.is(SAML11, "AuthorityBinding");
        let is_identifier = |child: Element<'_>| child.is(WSSE, "KeyIdentifier");
        let mut children = reference.children();
        match (children.next(), children.next(), children.next()) {
            // No schema orders them: extensions of a reference stand where they like.
            (Some(binding), Some(identifier), None) | (Some(identifier), Some(binding), None)
                if is_binding(binding) && is_identifier(identifier) =>
            {
                Self::read_11(reference, binding, identifier).map(Some)
            }
            (Some(uri), None, None) if uri.is(WSSE, "Reference") => Self::read_20(reference, uri),
            _ => Ok(None),
        }
    }

    /// Where it is, without the id.
    pub fn place(&self) -> &str {
        let place = self.location.split_once('?');
        place.map_or(self.location.as_str(), |(place, _)| place)
    }

    /// SAML Core 1.1, 2.4.3.2: the authority is asked in its protocol. The element that it is asked
    /// with is of SAML's own namespace (Basic Security Profile 1.1, R6607); what SAML itself has as
    /// kinds is of its protocol's.
    fn read_11(
        reference: Element<'_>,
        binding: Element<'_>,
        identifier: Element<'_>,
    ) -> Result<Self, Rejected> {
        let attributes =
            |element, allowed: &[&str]| only_attributes(element, allowed).map_err(malformed);
        attributes(binding, &["AuthorityKind", "Location", "Binding"])?;
        attributes(identifier, &["ValueType"])?;
        if binding.first_child().is_some() || identifier.first_child().is_some() {
            return Err(malformed("expected no elements inside of a reference"));
        }
        let version = SamlVersion::V11;
        check_type(reference, version)?;
        let kind = binding.attribute("", "AuthorityKind").unwrap_or_default();
        let is_by_id = kind.split_once(':').is_some_and(|(prefix, local)| {
            let namespace = binding.namespace_of(prefix);
            local == "AssertionIDReference"
                && namespace.is_some_and(|found| [SAML11, SAML11_PROTOCOL].contains(&found))
        });
        let is_soap = binding.attribute("", "Binding").as_deref() == Some(SOAP_BINDING);
        let is_id = identifier.attribute("", "ValueType").as_deref() == Some(SAML11_ID);
        if !is_by_id || !is_soap || !is_id {
            return Err(Rejected::TokenUnsupported {
                found: "an authority that is not asked for an assertion by its id, by SOAP"
                    .to_owned(),
            });
        }
        let id = identifier.text_strict().unwrap_or_default();
        let location = binding.attribute("", "Location").unwrap_or_default();
        if location.contains('?') {
            return Err(malformed("expected no query in `Location`"));
        }
        Self::checked(version, id.trim(), &location)
    }

    /// SAML Bindings 2.0, 3.7: the query is the id. With anything beside it, whoever writes
    /// messages would say what else the authority is asked for.
    fn read_20(reference: Element<'_>, uri: Element<'_>) -> Result<Option<Self>, Rejected> {
        let Some(location) = uri.attribute("", "URI") else {
            return Ok(None);
        };
        let version = SamlVersion::V20;
        let claimed = reference.attribute(WSSE11, "TokenType");
        let value_type = uri.attribute("", "ValueType");
        let types = [&claimed, &value_type];
        let is_typed = types
            .iter()
            .any(|found| found.as_deref() == Some(SAML20_TOKEN));
        if !location.starts_with("https://") || !is_typed {
            return Ok(None);
        }
        only_attributes(uri, &["URI", "ValueType"]).map_err(malformed)?;
        check_type(reference, version)?;
        if value_type.is_some_and(|found| found != SAML20_TOKEN) || uri.first_child().is_some() {
            return Err(malformed(
                "expected one type in a reference to an assertion",
            ));
        }
        let query = location.split_once('?').map_or("", |(_, query)| query);
        match query.strip_prefix("ID=") {
            Some(id) => Self::checked(version, id, &location).map(Some),
            None => Err(malformed(
                "expected the id of the assertion as the query of its URI, ID=…, and nothing else",
            )),
        }
    }

    fn checked(version: SamlVersion, id: &str, location: &str) -> Result<Self, Rejected> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        let first = id.bytes().next();
        let is_id = first.is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
            && id.len() <= LONGEST_ID
            && id.bytes().all(is_name);
        if !is_id {
            return Err(malformed(format!(
                "expected an id of letters and digits with at most {LONGEST_ID} bytes in a reference"
            )));
        }
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\"#<>@\\^`{|}".contains(&byte);
        let is_location = location.len() <= LONGEST_LOCATION
            && location.starts_with("https://")
            && location.bytes().all(is_plain);
        if !is_location {
            return Err(malformed(format!(
                "expected an https address without user and fragment, with at most {LONGEST_LOCATION} bytes, in a reference"
            )));
        }
        Ok(Self {
            version,
            id: id.to_owned(),
            location: location.to_owned(),
        })
    }
}

/// The place, and a digest of the id: whoever has both may be taken for the subject.
impl fmt::Display for AssertionReference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (version, place) = (self.version.name(), self.place());
        let id = IdDigest(&self.id);
        write!(
            out,
            "the assertion of SAML {version} at `{place}`, whose id has a {id}"
        )
    }
}

/// The id of an assertion, as it is told: the beginning of its SHA-256. Whoever has the id may be
/// given the assertion.
#[derive(Clone, Copy)]
pub struct IdDigest<'i>(pub &'i str);

impl fmt::Display for IdDigest<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sha256 = digest(DigestAlgorithm::Sha256, self.0.as_bytes());
        match sha256.ok().as_ref().and_then(|it| it.as_ref().get(..TOLD)) {
            Some(begin) => write!(out, "SHA-256 of {}…", Digits(begin)),
            None => out.write_str("SHA-256 that is not known"),
        }
    }
}

impl fmt::Debug for IdDigest<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// Bytes of a digest that are told: enough to find a message again.
const TOLD: usize = 8;

/// Checks the type that a reference has for its assertion, where it has one.
fn check_type(reference: Element<'_>, version: SamlVersion) -> Result<(), Rejected> {
    let claimed = reference.attribute(WSSE11, "TokenType");
    match claimed.filter(|claimed| *claimed != version.token_type()) {
        None => Ok(()),
        Some(claimed) => Err(Rejected::TokenUnsupported {
            found: format!(
                "a reference of type `{claimed}` to an assertion of SAML {}",
                version.name()
            ),
        }),
    }
}
