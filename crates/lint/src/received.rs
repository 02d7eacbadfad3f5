//! The rules of the Basic Security Profile that a received message breaks, for a host that judges
//! every message.
//!
//! The rule kept here: a rule that is broken is named, however many breaches of others there are.

use soapstone_xml::{Buffers, Document, ParseOptions};

use crate::element::Work;
use crate::findings::Findings;
use crate::look::envelope::declared_encoding;
use crate::names::{SOAP11, SOAP12};
use crate::rule::{Profile, Profiles, Rule};
use crate::{LintError, findings, look_at_envelope};

/// The rules of the WS-I Basic Security Profile 1.1 that an envelope breaks, each once, by number.
///
/// The envelope is looked at as it was received: nothing is deciphered and nothing is verified. The
/// steps are counted, and an envelope may take so many for each of its bytes.
///
/// # Errors
/// [`LintError::NotXml`] if it is no XML within the limits of `options`,
/// [`LintError::OtherRoot`] if it is no SOAP envelope, and [`LintError::TooMuchWork`] if the steps
/// were not enough. Then nothing is known of the rules that it breaks.
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
    let work = Work::on(document.total_bytes());
    let mut findings = Findings::new(Profiles::of(Profile::Bsp));
    look_at_envelope(&document, encoding.as_deref(), &work, &mut findings);
    document.recycle(buffers);
    match work.is_done() {
        true => Ok(findings.broken()),
        false => Err(LintError::TooMuchWork),
    }
}

#[cfg(test)]
mod tests {
    use soapstone_crypto::base64;

    use super::*;
    use crate::findings::MOST_FINDINGS;
    use crate::names::{DS, EXC_C14N, WSSE, WSSE11, WSU, XENC, XSI};
    use crate::{Choice, lint};

    fn envelope(header: &str) -> String {
        format!(
            "<s:Envelope xmlns:s=\"{SOAP11}\"><s:Header><o:Security xmlns:o=\"{WSSE}\" xmlns:u=\"{WSU}\">{header}</o:Security></s:Header><s:Body/></s:Envelope>"
        )
    }

    fn broken(header: &str) -> Vec<&'static str> {
        let options = ParseOptions::default();
        let rules = broken_rules(envelope(header).into_bytes(), &options, &mut Buffers::new());
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

    /// The steps that an envelope takes of those that it may take, or `None` if they are not
    /// enough.
    fn steps(header: &str) -> Option<(u64, usize)> {
        let envelope = envelope(header);
        let bytes = envelope.len();
        let options = ParseOptions::default();
        let document = Document::parse(envelope.into_bytes(), &options, &mut Buffers::new());
        let document = document.expect("an envelope");
        let work = Work::on(bytes);
        let before = work.left();
        let mut findings = Findings::new(Profiles::of(Profile::Bsp));
        look_at_envelope(&document, None, &work, &mut findings);
        work.is_done().then(|| (before - work.left(), bytes))
    }

    /// A header that is twice as large takes about twice the steps. Quadratic work on the large one
    /// would take more than there are.
    #[track_caller]
    fn is_linear(header: impl Fn(usize) -> String) {
        let (small, large) = (header(4_000), header(8_000));
        let (once, _) = steps(&small).expect("the small one is judged");
        let (twice, bytes) = steps(&large).expect("the large one is judged");
        assert!(twice < 3 * once, "{once} steps, then {twice}");
        assert!(twice < 12 * bytes as u64, "{twice} steps for {bytes} bytes");
    }

    /// Values with prefixes in many elements under a scope of many declarations.
    fn typed_values(wrappers: usize, declarations: usize, count: usize) -> String {
        let declared: String = (0..declarations)
            .map(|number| format!(" xmlns:p{number}=\"urn:p\""))
            .collect();
        let (open, close) = (
            format!("<a{declared}>").repeat(wrappers),
            "</a>".repeat(wrappers),
        );
        let values = "<b xsi:type=\"t:x\"/>".repeat(count * 8);
        format!(
            "<d:Signature xmlns:d=\"{DS}\"><d:SignedInfo><d:Reference URI=\"#W\"><d:Transforms>\
             <d:Transform Algorithm=\"{EXC_C14N}\"/></d:Transforms></d:Reference></d:SignedInfo>\
             </d:Signature><t:w xmlns:t=\"urn:t\" xmlns:xsi=\"{XSI}\" u:Id=\"W\">{open}{values}{close}</t:w>"
        )
    }

    #[test]
    fn values_under_many_declarations_take_linear_work() {
        is_linear(|count| typed_values(10, 10, count));
    }

    /// Each prefix of an attribute is looked for in all elements around.
    #[test]
    fn values_under_more_declarations_than_fit_are_not_judged() {
        assert_eq!(steps(&typed_values(190, 250, 8_000)), None);
    }

    #[test]
    fn expiry_times_without_a_creation_time_take_linear_work() {
        is_linear(|count| {
            format!(
                "<u:Timestamp>{}</u:Timestamp>",
                "<u:Expires/>".repeat(count)
            )
        });
    }

    #[test]
    fn references_to_one_encrypted_header_take_linear_work() {
        is_linear(|count| {
            let references = "<x:DataReference URI=\"#H\"/>".repeat(count);
            format!(
                "<x:ReferenceList xmlns:x=\"{XENC}\">{references}</x:ReferenceList>\
                 <e:EncryptedHeader xmlns:e=\"{WSSE11}\" u:Id=\"H\">{}</e:EncryptedHeader>",
                "<a/>".repeat(count)
            )
        });
    }

    #[test]
    fn references_to_data_that_names_its_key_at_length_take_linear_work() {
        is_linear(|count| {
            let references = "<x:DataReference URI=\"#D\"/>".repeat(count);
            format!(
                "<x:ReferenceList xmlns:x=\"{XENC}\">{references}</x:ReferenceList>\
                 <x:EncryptedData xmlns:x=\"{XENC}\" Id=\"D\"><d:KeyInfo xmlns:d=\"{DS}\">\
                 <o:SecurityTokenReference><o:KeyIdentifier>{}</o:KeyIdentifier>\
                 </o:SecurityTokenReference></d:KeyInfo></x:EncryptedData>",
                "A".repeat(40 * count)
            )
        });
    }

    #[test]
    fn keys_derived_from_one_token_take_linear_work() {
        is_linear(|count| {
            let key = format!(
                "<x:EncryptedKey xmlns:x=\"{XENC}\"><d:KeyInfo xmlns:d=\"{DS}\"><o:SecurityTokenReference>\
                 <o:Reference URI=\"#U\"/></o:SecurityTokenReference></d:KeyInfo></x:EncryptedKey>"
            );
            format!(
                "<o:UsernameToken u:Id=\"U\">{}</o:UsernameToken>{}",
                "<a/>".repeat(count),
                key.repeat(count)
            )
        });
    }

    #[test]
    fn key_identifiers_among_lookalikes_take_linear_work() {
        is_linear(|count| {
            let lookalikes = "<a Id=\"S\"/>".repeat(count);
            let encoded = base64::encode(b"S");
            let references: String = ["S", &encoded].iter().map(|id| {
                let reference = format!(
                    "<o:SecurityTokenReference><o:KeyIdentifier>{id}</o:KeyIdentifier></o:SecurityTokenReference>"
                );
                reference.repeat(count)
            }).collect();
            format!("{lookalikes}{references}")
        });
    }

    /// What no memory helps against is stopped: elements of which each is inside of many signed
    /// ones.
    #[test]
    fn an_envelope_that_takes_more_work_than_its_size_allows_is_not_judged() {
        let reference = format!(
            "<d:Reference URI=\"#W\"><d:Transforms><d:Transform Algorithm=\"{EXC_C14N}\"/>\
             </d:Transforms></d:Reference>"
        );
        let header = format!(
            "<d:Signature xmlns:d=\"{DS}\"><d:SignedInfo>{}</d:SignedInfo></d:Signature>\
             <w u:Id=\"W\">{}</w>",
            reference.repeat(2_000),
            "<b/>".repeat(40_000)
        );
        let options = ParseOptions::default();
        let rules = broken_rules(
            envelope(&header).into_bytes(),
            &options,
            &mut Buffers::new(),
        );
        assert_eq!(rules, Err(LintError::TooMuchWork));
        let report = lint(envelope(&header).into_bytes(), &Choice::Fitting, &|_| None);
        assert_eq!(report, Err(LintError::TooMuchWork));
    }

    /// Another attribute that is called like an id hides no element whose id is one.
    #[test]
    fn a_lookalike_in_front_is_not_what_a_reference_means() {
        let reference =
            "<o:SecurityTokenReference><o:Reference URI=\"#T\"/></o:SecurityTokenReference>";
        let token = "<o:UsernameToken u:Id=\"T\"/>";
        let without = broken(&format!("{token}{reference}"));
        let behind = broken(&format!("<a Id=\"T\"/>{token}{reference}"));
        assert!(without.contains(&"R4214"), "{without:?}");
        assert_eq!(behind, without);
    }
}
