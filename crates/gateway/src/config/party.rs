//! The parties of agreements, by their certificates.
//!
//! The rule kept here: a subject is somebody's with its issuer. An agreement names the issuer where
//! several may have issued the certificate of the subject that its route believes.

use soapstone::config::{Certifiers, Located, OTHER_TEXT, Place, Table};
use soapstone::crypto::{DistinguishedName, HolderName};

/// A party as its table names it.
pub(super) struct ReadParty {
    pub(super) name: HolderName,
    /// As records have it.
    pub(super) text: String,
    /// Of its subject.
    pub(super) place: Place,
}

impl ReadParty {
    /// Reads `subject` and `issuer`. `None` where there is no subject, or something is wrong with
    /// the names: that is reported.
    pub(super) fn read(table: &mut Table<'_>, subject: Option<Located<String>>) -> Option<Self> {
        const EXAMPLE: &str = "CN=client,O=Example";
        let issuer = table.string("issuer");
        if let (Some(issuer), None) = (&issuer, &subject)
            && !table.has("subject")
        {
            let message = "`issuer` is that of a `subject`, and there is none";
            table.report(issuer.place, message);
        }
        let name = subject
            .as_ref()
            .and_then(|text| read_name(table, "subject", text, EXAMPLE));
        let text = subject?;
        let read = |issuer: Located<String>| {
            let name = read_name(table, "issuer", &issuer, EXAMPLE)?;
            Some((name, issuer.value))
        };
        let issuer = match issuer {
            None => None,
            Some(issuer) => Some(read(issuer)?),
        };
        let (place, subject) = (text.place, text.value);
        Some(match issuer {
            None => Self {
                name: HolderName::new(name?, None),
                text: subject,
                place,
            },
            Some((issuer, issuer_text)) => Self {
                name: HolderName::new(name?, Some(issuer)),
                text: format!("{subject} of {issuer_text}"),
                place,
            },
        })
    }

    /// What is wrong with it where these may have issued certificates that are believed.
    pub(super) fn ambiguity(&self, certifiers: &Certifiers) -> Option<String> {
        let of_several = certifiers.ambiguity(&self.name)?;
        Some(format!("`subject` is {of_several}"))
    }
}

/// The hint for an ambiguous party.
pub const NAME_THE_ISSUER: &str = "say whose it is: issuer = \"CN=authority,O=Example\"";

/// Reads the name of a subject or of an issuer, and of one alone. `None` where it is another text:
/// that is reported with a name as an example.
pub fn read_name(
    table: &Table<'_>,
    key: &str,
    text: &Located<String>,
    example: &str,
) -> Option<DistinguishedName> {
    let report = |found: &str, hint: &str| {
        let message = format!("`{key}` must be a distinguished name, found {found}");
        table.report_with_hint(text.place, message, hint);
    };
    match DistinguishedName::parse(&text.value) {
        Ok(_) if HolderName::reads_as_two(&text.value) => {
            let hint = format!("say `issuer` by itself; {WORD_IN_A_NAME}");
            report(READS_AS_TWO, &hint);
            None
        }
        Ok(name) if !name.is_empty() => Some(name),
        _ => {
            report(OTHER_TEXT, &format!("for example {key} = \"{example}\""));
            None
        }
    }
}

/// What is wrong with a name that people read as those of a subject and its issuer.
pub(super) const READS_AS_TWO: &str = "a text with \" of \" outside of quotes";

/// How the word stands in a name.
pub(super) const WORD_IN_A_NAME: &str =
    "a value with the word stands in quotes: 'CN=\"Bank of Books\"'";
