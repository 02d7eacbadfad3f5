//! The parties of agreements, by their certificates.
//!
//! The rule kept here: a subject is somebody's with its issuer. An agreement names the issuer where
//! its route trusts several authorities.

use soapstone::config::{Located, OTHER_TEXT, Place, Table};
use soapstone::crypto::DistinguishedName;

/// Whose certificate a party has.
#[derive(Clone, Debug)]
pub(crate) struct PartyName {
    subject: DistinguishedName,
    issuer: Option<DistinguishedName>,
}

impl PartyName {
    pub(crate) fn new(subject: DistinguishedName, issuer: Option<DistinguishedName>) -> Self {
        Self { subject, issuer }
    }

    /// Whether a certificate with this subject and this issuer is that of the party. Whose issuer
    /// nobody knows is no party that is named with one.
    pub(crate) fn is(
        &self,
        subject: &DistinguishedName,
        issuer: Option<&DistinguishedName>,
    ) -> bool {
        let is_issuer = |own: &DistinguishedName| issuer.is_some_and(|it| own.matches(it));
        self.subject.matches(subject) && self.issuer.as_ref().is_none_or(is_issuer)
    }
}

/// A party as its table names it.
pub(super) struct ReadParty {
    pub(super) name: PartyName,
    /// As records have it.
    pub(super) text: String,
    /// Of its subject.
    pub(super) place: Place,
}

impl ReadParty {
    /// Reads `subject` and `issuer`. `None` where there is no subject, or something is wrong with
    /// the names: that is reported.
    pub(super) fn read(table: &mut Table<'_>, subject: Option<Located<String>>) -> Option<Self> {
        let issuer = table.string("issuer");
        if let (Some(issuer), None) = (&issuer, &subject)
            && !table.has("subject")
        {
            let message = "`issuer` is that of a `subject`, and there is none";
            table.report(issuer.place, message);
        }
        let name = subject
            .as_ref()
            .and_then(|text| read_name(table, "subject", text));
        let text = subject?;
        let read = |issuer: Located<String>| {
            let name = read_name(table, "issuer", &issuer)?;
            Some((name, issuer.value))
        };
        let issuer = match issuer {
            None => None,
            Some(issuer) => Some(read(issuer)?),
        };
        let (place, subject) = (text.place, text.value);
        Some(match issuer {
            None => Self {
                name: PartyName::new(name?, None),
                text: subject,
                place,
            },
            Some((issuer, issuer_text)) => Self {
                name: PartyName::new(name?, Some(issuer)),
                text: format!("{subject} of {issuer_text}"),
                place,
            },
        })
    }

    /// What is wrong with it where certificates of these issuers are believed.
    pub(super) fn ambiguity(&self, issuers: &[DistinguishedName]) -> Option<String> {
        let count = issuers.len();
        (self.name.issuer.is_none() && count > 1).then(|| {
            format!(
                "`subject` is that of several certificates: `trust` believes {count} issuers, and each may issue one"
            )
        })
    }
}

/// The hint for an ambiguous party.
pub(super) const NAME_THE_ISSUER: &str = "say whose it is: issuer = \"CN=authority,O=Example\"";

/// Reads a distinguished name.
fn read_name(
    table: &Table<'_>,
    key: &'static str,
    text: &Located<String>,
) -> Option<DistinguishedName> {
    match DistinguishedName::parse(&text.value) {
        Ok(name) if !name.is_empty() => Some(name),
        _ => {
            let message = format!("`{key}` must be a distinguished name, found {OTHER_TEXT}");
            let hint = format!("for example {key} = \"CN=client,O=Example\"");
            table.report_with_hint(text.place, message, &hint);
            None
        }
    }
}
