//! Parts and elements of a policy as parts of messages.

use soapstone_wss::{ElementPath, EncryptedPart, Extent, Part};

use crate::requirements::{ElementsDemand, HeaderDemand, PartsDemand, Requirements, TokenKind};

/// Header blocks of the message, but the ones that secure it.
const ALL_HEADERS: &str = "/*[local-name()='Envelope']/*[local-name()='Header']/*[not(local-name()='Security' and \
     namespace-uri()='http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd')]";
/// Those of a namespace, which stands behind it in quotes, and before a bracket: wherever the path
/// is told, the namespace is.
const HEADERS_OF_NAMESPACE: &str =
    "/*[local-name()='Envelope']/*[local-name()='Header']/*[namespace-uri()=";
/// The same where no literal of XPath 1.0 can hold the namespace; the prefix is bound to it.
const HEADERS_OF_PREFIX: &str = "/*[local-name()='Envelope']/*[local-name()='Header']/namespace:*";

impl Requirements {
    /// What the message's signature covers because of `sp:SignedParts` and `sp:SignedElements`.
    pub(super) fn signed(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        for demand in &self.signed_parts {
            add_signed(demand, &mut parts);
        }
        add_elements(&self.signed_elements, &mut parts);
        parts
    }

    /// Whether the message's signature covers a user's token.
    pub(super) fn signs_user(&self) -> bool {
        let signed = self.supporting.iter().filter(|one| {
            let kind = one.kind;
            kind.signed && !kind.endorsing
        });
        let mut tokens = signed.flat_map(|one| &one.tokens);
        tokens.any(|token| matches!(token.kind, TokenKind::Username { .. }))
    }

    /// What is encrypted because of `sp:EncryptedParts`, `sp:EncryptedElements` and
    /// `sp:ContentEncryptedElements`.
    pub(super) fn encrypted(&self) -> Vec<EncryptedPart> {
        let mut whole = Vec::new();
        let mut encrypted = Vec::new();
        for demand in &self.encrypted_parts {
            // WS-SecurityPolicy 1.3, 4.2.1: nothing named means the Body.
            if demand.body || demand.everything {
                whole.push(Part::Body);
            }
            whole.extend(demand.headers.iter().filter_map(header));
        }
        add_elements(&self.encrypted_elements, &mut whole);
        let mut content = Vec::new();
        add_elements(&self.content_encrypted_elements, &mut content);
        let content = content.into_iter().map(|part| EncryptedPart {
            part,
            extent: Extent::Content,
        });
        for part in whole
            .into_iter()
            .map(EncryptedPart::customary)
            .chain(content)
        {
            if !encrypted.contains(&part) {
                encrypted.push(part);
            }
        }
        encrypted
    }

    /// What must be in the message.
    pub(super) fn required(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        for demand in &self.required_parts {
            if demand.body {
                add(Part::Body, &mut parts);
            }
            for part in demand.headers.iter().filter_map(header) {
                add(part, &mut parts);
            }
        }
        add_elements(&self.required_elements, &mut parts);
        parts
    }
}

/// WS-SecurityPolicy 1.3, 4.1.1.
pub(super) fn add_signed(demand: &PartsDemand, parts: &mut Vec<Part>) {
    if demand.everything {
        let all = ElementPath::parse(ALL_HEADERS, |_| None);
        parts.extend(all.ok().map(Part::Path));
    }
    if demand.body || demand.everything {
        add(Part::Body, parts);
    }
    for part in demand.headers.iter().filter_map(header) {
        add(part, parts);
    }
}

pub(super) fn add_elements(demands: &[ElementsDemand], parts: &mut Vec<Part>) {
    for path in demands.iter().flat_map(|demand| &demand.paths) {
        add(Part::Path(path.path.clone()), parts);
    }
}

pub(super) fn add(part: Part, parts: &mut Vec<Part>) {
    if !parts.contains(&part) {
        parts.push(part);
    }
}

fn header(demand: &HeaderDemand) -> Option<Part> {
    let namespace = demand.namespace.clone();
    match &demand.local {
        Some(local) => Some(Part::Header {
            namespace,
            local: local.clone(),
        }),
        None => headers_of(&namespace).map(Part::Path),
    }
}

/// Selects all header blocks of a namespace.
fn headers_of(namespace: &str) -> Option<ElementPath> {
    let quote = if namespace.contains('\'') { '"' } else { '\'' };
    let expression = format!("{HEADERS_OF_NAMESPACE}{quote}{namespace}{quote}]");
    let literal = Some(expression).filter(|_| !namespace.contains(quote));
    let path = literal.and_then(|it| ElementPath::parse(&it, |_| None).ok());
    path.or_else(|| ElementPath::parse(HEADERS_OF_PREFIX, |_| Some(namespace.to_owned())).ok())
}

/// What a path selects that stands for header blocks which a policy does not name one by one, in
/// words.
pub(crate) fn headers_in_words(path: &ElementPath) -> Option<String> {
    let path = path.to_string();
    if path == ALL_HEADERS {
        return Some("all headers but Security".to_owned());
    }
    let literal = path.strip_prefix(HEADERS_OF_NAMESPACE)?.strip_suffix(']')?;
    let quotes = ['\'', '"'].into_iter();
    let mut within =
        quotes.filter_map(|it| literal.strip_prefix(it)?.strip_suffix(it).zip(Some(it)));
    within
        .find(|(namespace, quote)| !namespace.contains(*quote))
        .map(|(namespace, _)| format!("all headers of {namespace}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paths_for_header_blocks_are_paths() {
        assert!(ElementPath::parse(ALL_HEADERS, |_| None).is_ok());
        assert!(ElementPath::parse(HEADERS_OF_PREFIX, |_| Some(String::new())).is_ok());
    }

    fn told(path: &str) -> Option<String> {
        headers_in_words(&ElementPath::parse(path, |_| None).expect("a path"))
    }

    #[test]
    fn all_headers_of_a_namespace_are_told_with_it_whatever_stands_in_it() {
        for namespace in [
            "http://www.w3.org/2005/08/addressing",
            "urn:it's",
            "urn:\"a\"",
            "urn:a'] or not(@x)",
            "",
        ] {
            let path = headers_of(namespace).expect("a path");
            assert_eq!(
                headers_in_words(&path),
                Some(format!("all headers of {namespace}"))
            );
        }
        // In no literal; it is selected nevertheless.
        let path = headers_of("urn:'\"").expect("a path");
        assert_eq!(path.to_string(), HEADERS_OF_PREFIX);
        assert_eq!(headers_in_words(&path), None);
    }

    #[test]
    fn other_paths_are_not_told_as_headers() {
        assert_eq!(told("//*[local-name()='To']"), None);
        let other = format!("{HEADERS_OF_NAMESPACE}'urn:a' or namespace-uri()='urn:b']");
        assert_eq!(told(&other), None);
        assert_eq!(
            told(ALL_HEADERS).as_deref(),
            Some("all headers but Security")
        );
    }
}
