//! The way through a message: header, keys, signatures, references.
//!
//! The rule kept here: every part is looked at, whatever was found in the others.

use soapstone_mime::Attachment;
use soapstone_xml::Document;

use crate::keys;
use crate::material::{Layer, Material};
use crate::model::{EncryptionFound, Explanation, Finding, Severity};
use crate::opened;
use crate::options::Options;
use crate::password_keys;
use crate::read::SignatureRead;
use crate::reference::Named;
use crate::search::Budget;

/// Explains a message. `with_includes` is the same of MTOM as it stands in its package.
pub(crate) fn analyze(
    document: &Document,
    with_includes: Option<&Document>,
    attachments: &[Attachment],
    options: &Options<'_>,
) -> Explanation {
    let mut told = Explanation {
        bytes: document.bytes().len(),
        ..Explanation::default()
    };
    crate::header::tell(document, options, &mut told);
    let of_request = opened::secrets_of(options.request, options, "the request");
    let foreign = opened::secrets_of(options.against, options, "the good message");
    let opened = opened::open(document.bytes(), options, &of_request);
    tell_of_encryption(opened.found, &mut told);
    let plain = opened.document.as_ref();
    let read = plain.unwrap_or(document);
    let mut certificates = keys::certificates(read, &options.known);
    certificates.extend(crate::against::certificates(options));
    let material = Material {
        layers: plain
            .into_iter()
            .chain([document])
            .map(Layer::new)
            .collect(),
        certificates,
        secrets: &opened.secrets,
        holders: &opened.holders,
        foreign: &foreign,
        derivations: opened::derivations(read),
        of_passwords: password_keys::otherwise(read, &options.known),
        verified: options.engine.map_or(&[], |engine| &engine.values),
        attachments,
        with_includes: with_includes.map(Layer::new),
        parsing: options.parsing(),
        dump: options.dump,
    };
    let signatures = SignatureRead::all(read);
    let mut budget = Budget::new(options.work);
    let in_header = signatures.iter().any(|one| !one.is_in_body());
    for (place, signature) in signatures.iter().enumerate() {
        // The endpoint does not judge it, and its document may be another than this message.
        let is_content = in_header && signature.is_in_body();
        let name = match signatures.len() {
            1 => "the signature".to_owned(),
            _ if is_content => format!("signature {}, content of the Body", place + 1),
            _ => format!("signature {}", place + 1),
        };
        let before = told.findings.len();
        let named = Named {
            signature,
            name: &name,
            place,
        };
        let mut share = budget.share(signatures.len() - place);
        let computed = material.references(&named, &mut share, &mut told);
        let found = material.value(&named, &computed, &mut share, &mut told);
        told.signatures.push(found);
        budget.merge(share);
        if is_content {
            for finding in &mut told.findings[before..] {
                finding.severity = Severity::Note;
            }
        }
    }
    told.tried = budget.tried;
    told.stopped = budget.spent;
    crate::username::tell(read, options, &mut told);
    crate::request::tell(read, options, &mut told);
    if signatures.is_empty() && told.encryption.is_empty() && told.header.is_empty() {
        told.findings.push(Finding::new(
            Severity::Error,
            "not-secured",
            "the message",
            "nothing in it is signed, encrypted or authenticated: there is no wsse:Security header",
        ));
    }
    told.differences = crate::against::differences(document, options);
    told.sketch = crate::sketch::sketch(read, document, &signatures);
    told
}

fn tell_of_encryption(found: Vec<EncryptionFound>, told: &mut Explanation) {
    for one in &found {
        if !one.causes.is_empty() {
            let (kind, says) = match one.kind {
                opened::DATA => (
                    "data-cipher",
                    "the content is encrypted in another way than the message announces",
                ),
                _ => (
                    "key-transport",
                    "the session key is encrypted in another way than the message announces",
                ),
            };
            let place = format!("xenc:{} in line {}", one.kind, one.line);
            let finding = Finding::new(Severity::Error, kind, place, says);
            told.findings.push(finding.because(one.causes.clone()));
        }
    }
    told.encryption = found;
}
