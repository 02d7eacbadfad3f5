//! `[routes.identity]`: the HTTP header fields that tell a backend who sent a request.
//!
//! The rule kept here: a field that tells who somebody is has one source. What a client says in it
//! is taken out.

use http::HeaderName;
use soapstone::config::{Located, Table};

/// The fields that tell who sent a request.
#[derive(Clone, Debug)]
pub(crate) struct IdentityHeaders {
    /// The subject of the assertion.
    pub(crate) subject: Option<HeaderName>,
    /// The domain of the subject's name, where it is another one than the issuer's.
    pub(crate) subject_domain: Option<HeaderName>,
    /// Its issuer.
    pub(crate) issuer: Option<HeaderName>,
    /// The subject of the certificate that signed an element of the Body by itself.
    pub(crate) document_signer: Option<HeaderName>,
    /// The subject of our certificate that an element of the Body was encrypted for by itself.
    pub(crate) document_recipient: Option<HeaderName>,
    /// Attributes by their names.
    pub(crate) attributes: Vec<(String, HeaderName)>,
}

/// Reads the table to its end.
pub(super) fn read_identity(mut table: Table<'_>) -> Option<IdentityHeaders> {
    let place = table.place();
    let mut used: Vec<HeaderName> = Vec::new();
    let subject = table.string("subject");
    let subject_domain = table.string("subject_domain");
    let issuer = table.string("issuer");
    let document_signer = table.string("document_signer");
    let document_recipient = table.string("document_recipient");
    let attributes: Vec<_> = table
        .tables("attributes")
        .into_iter()
        .filter_map(|mut attribute| {
            let name = attribute.required_string("name", "as the issuer writes it");
            let header = attribute.required_string("header", "for example header = \"X-Role\"");
            attribute.finish();
            Some((name?.value, header?))
        })
        .collect();
    let mut named = |name: Option<Located<String>>| {
        let name = name?;
        let header = field(&table, &name)?;
        if used.contains(&header) {
            table.report(name.place, "a field is there for two things");
        }
        used.push(header.clone());
        Some(header)
    };
    let headers = IdentityHeaders {
        subject: named(subject),
        subject_domain: named(subject_domain),
        issuer: named(issuer),
        document_signer: named(document_signer),
        document_recipient: named(document_recipient),
        attributes: attributes
            .into_iter()
            .filter_map(|(name, header)| Some((name, named(Some(header))?)))
            .collect(),
    };
    if used.is_empty() {
        table.report_with_hint(
            place,
            "`identity` names no field",
            "say which one tells the subject: subject = \"X-Subject\"",
        );
    }
    table.finish();
    Some(headers)
}

/// A field that nothing else uses: one of HTTP or of the gateway would be two things at once.
fn field(table: &Table<'_>, name: &Located<String>) -> Option<HeaderName> {
    let header = HeaderName::from_bytes(name.value.as_bytes()).ok();
    let is_free = |header: &HeaderName| {
        let name = header.as_str();
        name.starts_with("x-") && !name.contains('_') && !OURS.contains(&name)
    };
    let found = header.filter(is_free);
    if found.is_none() {
        table.report_with_hint(
            name.place,
            "expected a field of the application, found another text",
            "its name begins with X-, and has no underscore: subject = \"X-Subject\"",
        );
    }
    found
}

/// Fields of the gateway that begin like those of applications.
const OURS: [&str; 4] = [
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-request-id",
];
