//! References to the other parts of a package, and why the digest of one differs (SwA Profile
//! 1.1.1, 5.4).
//!
//! The rule kept here: an attachment is read and digested within the budget, as everything else.

use std::borrow::Cow;

use soapstone_crypto::{base64, digest};
use soapstone_mime::{Attachment, attachment_named, is_cid};
use soapstone_wss::canonical_attachment;
use soapstone_wss::names::{ATTACHMENT_COMPLETE_SIGNATURE, ATTACHMENT_CONTENT_SIGNATURE, XENC};

use crate::cause::{Cause, Step};
use crate::material::Material;
use crate::model::{Explanation, Finding, ReferenceFound, Severity, State};
use crate::read::ReferenceRead;
use crate::reference::{Named, ends, not_computed};
use crate::search::Budget;
use crate::sent::reference_file;

/// How often XML can grow at most in its canonical form.
const GROWTH: usize = 16;

impl Material<'_> {
    /// The attachment that a reference leads to.
    pub(crate) fn attachment_of(&self, reference: &ReferenceRead<'_>) -> Option<&Attachment> {
        let uri = reference.uri.as_deref().filter(|uri| is_cid(uri))?;
        let id = attachment_named(uri)?;
        let mut attachments = self.attachments.iter();
        attachments.find(|one| one.id().as_bytes() == id)
    }

    /// The digest of an attachment, and why it differs from that of the reference.
    pub(crate) fn attached(
        &self,
        named: &Named<'_, '_>,
        number: usize,
        reference: &ReferenceRead<'_>,
        attachment: &Attachment,
        budget: &mut Budget,
        told: &mut Explanation,
    ) -> ReferenceFound {
        let mut found = not_computed(reference);
        let place = format!("{}, reference `{}`", named.name, found.uri);
        let mut tell = |severity, kind, says: String| {
            let finding = Finding::new(severity, kind, place.as_str(), says);
            told.findings.push(finding);
        };
        let Some(method) = reference.digest_method else {
            let says = format!("the digest method `{}` is not known", reference.digest_uri);
            tell(Severity::Error, "algorithm-unknown", says);
            return found;
        };
        let uri = reference.transforms.first().map(|one| one.uri.as_str());
        let is_complete = match uri {
            Some(ATTACHMENT_CONTENT_SIGNATURE) => false,
            Some(ATTACHMENT_COMPLETE_SIGNATURE) => true,
            _ => {
                let says = "it leads to an attachment, and its transform is none of attachments"
                    .to_owned();
                tell(Severity::Error, "attachment-transform", says);
                return found;
            }
        };
        let says = "its digest was not computed: the work on the message is bounded";
        let size = attachment.content().len();
        if !budget.take(size) {
            tell(Severity::Note, "work-bound", says.to_owned());
            return found;
        }
        let most = size.saturating_mul(GROWTH);
        let content = match canonical_attachment(attachment, &self.parsing, most) {
            Ok(content) => content,
            Err(problem) => {
                tell(Severity::Error, "attachment-malformed", problem);
                return found;
            }
        };
        let header = attachment.canonical_header().unwrap_or_default();
        let bytes = match is_complete {
            true => Cow::Owned([header.as_slice(), &content].concat()),
            false => Cow::Borrowed(&*content),
        };
        // A canonical form may be longer than what it is made of.
        if !budget.take_rest(size, bytes.len()) {
            tell(Severity::Note, "work-bound", says.to_owned());
            return found;
        }
        let Ok(computed) = digest(method, &bytes) else {
            return found;
        };
        "attachment".clone_into(&mut found.element);
        found.computed = base64::encode(computed.as_ref());
        found.bytes = bytes.len();
        (found.first, found.last) = ends(&bytes);
        if reference.value.as_deref() == Some(computed.as_ref()) {
            found.state = State::Matches;
        } else if self.is_cipher_text(&found.uri) {
            let says = "the attachment is still encrypted: if it was signed before that, its digest can be compared once it is deciphered";
            tell(Severity::Note, "still-encrypted", says.to_owned());
        } else {
            found.state = State::Differs;
            let says = format!(
                "the digest in the message is {}, that of the attachment is {}",
                found.expected, found.computed
            );
            let fits = |bytes: &[u8]| {
                let digest = digest(method, bytes);
                digest.is_ok_and(|one| reference.value.as_deref() == Some(one.as_ref()))
            };
            let cause = otherwise(attachment, &header, &content, is_complete, budget, &fits);
            let finding = Finding::new(Severity::Error, "digest-mismatch", place.as_str(), says);
            told.findings.push(finding.because([cause]));
        }
        let file = reference_file(named.place + 1, number + 1);
        self.keep(file, &bytes, told);
        found
    }

    /// Whether an attachment is the cipher text of an `xenc:EncryptedData` of the message.
    fn is_cipher_text(&self, uri: &str) -> bool {
        self.layers.iter().any(|layer| {
            let mut references = layer.document.elements_named(XENC, "CipherReference");
            references.any(|one| one.attribute("", "URI").is_some_and(|named| named == uri))
        })
    }
}

/// What was digested in place of the announced form, or that nothing fits.
fn otherwise(
    attachment: &Attachment,
    header: &[u8],
    content: &[u8],
    is_complete: bool,
    budget: &mut Budget,
    fits: &dyn Fn(&[u8]) -> bool,
) -> Cause {
    let raw = attachment.content();
    let with_header = |bytes: &[u8]| match is_complete {
        true => [header, bytes].concat(),
        false => bytes.to_vec(),
    };
    let lines = |end: &[u8]| {
        let mut text = Vec::with_capacity(raw.len());
        for (at, line) in raw.split(|byte| *byte == b'\n').enumerate() {
            if at > 0 {
                text.extend_from_slice(end);
            }
            text.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
        }
        text
    };
    type Made<'m> = Box<dyn Fn() -> Vec<u8> + 'm>;
    let candidates: [(&'static str, &str, Made<'_>); 6] = [
        (
            "not-canonicalized",
            "the attachment as it stands, and not in its canonical form",
            Box::new(|| with_header(raw)),
        ),
        (
            "attachment-coverage",
            "the other of content and content with header",
            Box::new(|| match is_complete {
                true => content.to_vec(),
                false => [header, content].concat(),
            }),
        ),
        (
            "line-ends",
            "lines that end with LF, and not with CR LF",
            Box::new(|| with_header(&lines(b"\n"))),
        ),
        (
            "line-ends",
            "lines that end with CR LF, and not with LF",
            Box::new(|| with_header(&lines(b"\r\n"))),
        ),
        (
            "transfer-encoding",
            "the base64 of the attachment, and not its bytes",
            Box::new(|| base64::encode(raw).into_bytes()),
        ),
        (
            "attachment-boundary",
            "the attachment with the line end in front of the boundary",
            Box::new(|| [raw, b"\r\n"].concat()),
        ),
    ];
    for (kind, says, made) in candidates {
        if !budget.take(raw.len().max(content.len()).saturating_mul(2)) {
            break;
        }
        budget.tried += 1;
        if fits(&made()) {
            let step = Step::new(kind, says);
            return Cause::proven(&[step], "the digest is the one in the message");
        }
    }
    let says = "none of the known mistakes fits: the attachment was changed after it was signed, or the digest was";
    Cause::likely("content-changed", says)
}
