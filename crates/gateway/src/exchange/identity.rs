//! Who sent a request, as header fields for its backend.
//!
//! The rule kept here: these fields say what was proven of this request, and nothing else. They
//! are set last, so that no field of the client can take them out or stand beside them.

use http::{HeaderMap, HeaderName, HeaderValue};
use soapstone::wss::{AssertionEvidence, Evidence, InnerCipherEvidence, InnerEvidence};

use crate::config::identity::IdentityHeaders;

/// What was found of elements of the Body that are protected by themselves.
#[derive(Debug)]
pub(super) struct InnerProof {
    /// Who signed one.
    pub(super) signature: Option<InnerEvidence>,
    /// Whom one was encrypted for.
    pub(super) encryption: Option<InnerCipherEvidence>,
}

impl InnerProof {
    /// Takes it out of the evidence of a message, if there is any.
    pub(super) fn take(evidence: &mut Evidence) -> Option<Box<Self>> {
        let found = Self {
            signature: evidence.inner.take(),
            encryption: evidence.inner_encryption.take(),
        };
        let is_any = found.signature.is_some() || found.encryption.is_some();
        is_any.then(|| Box::new(found))
    }

    /// Subject of the certificate that signed an element.
    pub(super) fn signer(&self) -> Option<&str> {
        self.signature.as_ref().map(|it| it.subject.as_str())
    }

    /// Subject of our certificate that an element was encrypted for.
    pub(super) fn recipient(&self) -> Option<&str> {
        self.encryption.as_ref().map(|it| it.recipient.as_str())
    }
}

impl IdentityHeaders {
    /// Takes out what the client says of itself, and puts in what its assertion and the inner
    /// protection of its message prove.
    pub(super) fn apply(
        &self,
        headers: &mut HeaderMap,
        proven: Option<&AssertionEvidence>,
        inner: Option<&InnerProof>,
    ) {
        let ours = self.names();
        let is_said = |name: &&HeaderName| {
            let meant = name.as_str().replace('_', "-");
            ours.iter().any(|known| known.as_str() == meant)
        };
        let said: Vec<HeaderName> = headers.keys().filter(is_said).cloned().collect();
        for name in said {
            headers.remove(name);
        }
        let mut put = |name: &HeaderName, text: &str| {
            if let Ok(value) = HeaderValue::try_from(encoded(text)) {
                headers.append(name, value);
            }
        };
        let signer = inner.and_then(InnerProof::signer);
        if let (Some(name), Some(signer)) = (&self.document_signer, signer) {
            put(name, signer);
        }
        let recipient = inner.and_then(InnerProof::recipient);
        if let (Some(name), Some(recipient)) = (&self.document_recipient, recipient) {
            put(name, recipient);
        }
        let Some(AssertionEvidence { assertion, .. }) = proven else {
            return;
        };
        let domain = assertion.subject.other_domain(&assertion.issuer);
        if let Some(name) = &self.subject
            && self.untold_domain(proven).is_none()
        {
            put(name, &assertion.subject.value);
        }
        if let (Some(name), Some(domain)) = (&self.subject_domain, domain) {
            put(name, domain);
        }
        if let Some(name) = &self.issuer {
            put(name, &assertion.issuer);
        }
        for (wanted, name) in &self.attributes {
            let named = assertion.attributes.iter();
            for attribute in named.filter(|attribute| attribute.name == *wanted) {
                attribute.values.iter().for_each(|value| put(name, value));
            }
        }
    }

    /// The domain for which the backend is not told of a subject: the name would be taken for one
    /// of the issuer's own subjects (SAML Core 2.0, 2.2.2).
    pub(crate) fn untold_domain<'p>(
        &self,
        proven: Option<&'p AssertionEvidence>,
    ) -> Option<&'p str> {
        let assertion = &proven?.assertion;
        let domain = assertion.subject.other_domain(&assertion.issuer)?;
        (self.subject.is_some() && self.subject_domain.is_none()).then_some(domain)
    }

    fn names(&self) -> Vec<&HeaderName> {
        let attributes = self.attributes.iter().map(|(_, name)| name);
        let known = self.subject.iter().chain(&self.subject_domain);
        known
            .chain(&self.issuer)
            .chain(&self.document_signer)
            .chain(&self.document_recipient)
            .chain(attributes)
            .collect()
    }
}

/// A value as one element of a field: what is no visible ASCII, a comma and a percent sign are
/// percent-encoded (RFC 3986 section 2.1), so that nobody's value is two, or ends the field.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'%' | b',' => out.push_str(&format!("%{byte:02X}")),
            b'!'..=b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> IdentityHeaders {
        IdentityHeaders {
            subject: Some(HeaderName::from_static("x-subject")),
            subject_domain: Some(HeaderName::from_static("x-domain")),
            issuer: None,
            document_signer: None,
            document_recipient: Some(HeaderName::from_static("x-document-recipient")),
            attributes: vec![("role".to_owned(), HeaderName::from_static("x-role"))],
        }
    }

    #[test]
    fn what_a_client_says_of_itself_is_taken_out() {
        let mut headers = HeaderMap::new();
        for name in [
            "x-subject",
            "x_subject",
            "x-domain",
            "x-role",
            "x-document-recipient",
            "x-other",
        ] {
            headers.append(name, HeaderValue::from_static("admin"));
            headers.append(name, HeaderValue::from_static("root"));
        }
        identity().apply(&mut headers, None, None);
        let left: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        assert_eq!(left, ["x-other"]);
    }

    #[test]
    fn a_value_is_one_element_of_its_field() {
        assert_eq!(encoded("CN=Alice, O=Bücher"), "CN=Alice%2C%20O=B%C3%BCcher");
        assert_eq!(encoded("a\r\nX-Role: admin"), "a%0D%0AX-Role:%20admin");
        assert_eq!(encoded("100%"), "100%25");
    }
}
