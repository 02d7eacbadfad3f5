//! The rules of the Basic Security Profile that a received message breaks, for a host that judges
//! every message.
//!
//! The rule kept here: a rule that is broken is named, however many breaches of others there are.

use soapstone_xml::{Buffers, Document, ParseOptions};

use crate::findings::Findings;
use crate::look::envelope::declared_encoding;
use crate::names::{SOAP11, SOAP12};
use crate::rule::{Profile, Profiles, Rule};
use crate::{LintError, findings, look_at_envelope};

/// The rules of the WS-I Basic Security Profile 1.1 that an envelope breaks, each once, by number.
///
/// The envelope is looked at as it was received: nothing is deciphered and nothing is verified. The
/// work is linear in its size.
///
/// # Errors
/// [`LintError::NotXml`] if it is no XML within the limits of `options`, and
/// [`LintError::OtherRoot`] if it is no SOAP envelope.
pub fn broken_rules(
    envelope: Vec<u8>,
    options: &ParseOptions,
    buffers: &mut Buffers,
) -> Result<Vec<&'static Rule>, LintError> {
    let encoding = declared_encoding(&envelope);
    let document = Document::parse(envelope, options, buffers).map_err(LintError::NotXml)?;
    let root = document.root();
    if !matches!(
        (root.namespace(), root.local()),
        (SOAP11 | SOAP12, "Envelope")
    ) {
        return Err(LintError::OtherRoot {
            found: findings::shortened(root.qualified_name()),
            namespace: findings::shortened(root.namespace()),
        });
    }
    let mut findings = Findings::new(Profiles::of(Profile::Bsp));
    look_at_envelope(&document, encoding.as_deref(), &mut findings);
    Ok(findings.broken())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::MOST_FINDINGS;

    const WSU: &str =
        "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";
    const WSSE: &str =
        "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd";

    fn broken(header: &str) -> Vec<&'static str> {
        let envelope = format!(
            "<s:Envelope xmlns:s=\"{SOAP11}\"><s:Header><o:Security xmlns:o=\"{WSSE}\" xmlns:u=\"{WSU}\">{header}</o:Security></s:Header><s:Body/></s:Envelope>"
        );
        let options = ParseOptions::default();
        let rules = broken_rules(envelope.into_bytes(), &options, &mut Buffers::new());
        let rules = rules.expect("it is an envelope");
        rules.into_iter().map(|rule| rule.id).collect()
    }

    /// A sender that puts as many harmless breaches in front as are kept would hide what refuses
    /// its message.
    #[test]
    fn a_rule_is_named_behind_more_findings_than_are_kept() {
        let harmless =
            "<u:Timestamp><u:Created>2026-01-31T12:00:00.1234Z</u:Created></u:Timestamp>";
        let all = harmless.repeat(MOST_FINDINGS + 1);
        let named = broken(&format!(
            "{all}<o:BinarySecurityToken>AAAA</o:BinarySecurityToken>"
        ));
        assert!(named.contains(&"R3220"), "{named:?}");
        assert!(named.contains(&"R3029"), "{named:?}");
    }

    #[test]
    fn a_document_that_is_no_envelope_is_no_message_without_breaches() {
        let options = ParseOptions::default();
        let rules = broken_rules(b"<a/>".to_vec(), &options, &mut Buffers::new());
        let expected = LintError::OtherRoot {
            found: "a".to_owned(),
            namespace: String::new(),
        };
        assert_eq!(rules, Err(expected));
    }
}
