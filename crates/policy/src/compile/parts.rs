//! Parts and elements of a policy as parts of messages.

use soapstone_wss::{ElementPath, EncryptedPart, Extent, Part};

use crate::names::WSSE;
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
    literal_namespace(&path).map(|namespace| format!("all headers of {namespace}"))
}

/// The namespace in a path that selects all header blocks of one, where a literal holds it.
fn literal_namespace(path: &str) -> Option<&str> {
    let literal = path.strip_prefix(HEADERS_OF_NAMESPACE)?.strip_suffix(']')?;
    let quotes = ['\'', '"'].into_iter();
    let mut within =
        quotes.filter_map(|it| literal.strip_prefix(it)?.strip_suffix(it).zip(Some(it)));
    let found = within.find(|(namespace, quote)| !namespace.contains(*quote));
    found.map(|(namespace, _)| namespace)
}

/// Whether protection of a part is protection of another one, too. They are the same, or one is
/// all header blocks that a policy does not name one by one (`<sp:SignedParts/>`,
/// `<sp:Header Namespace="…"/>`).
///
/// ```
/// # use soapstone_policy::covers;
/// # use soapstone_wss::Part;
/// let header = |namespace: &str| Part::Header {
///     namespace: namespace.to_owned(),
///     local: "To".to_owned(),
/// };
/// assert!(covers(&header("urn:a"), &header("urn:a")));
/// assert!(!covers(&header("urn:a"), &header("urn:b")));
/// ```
pub fn covers(whole: &Part, part: &Part) -> bool {
    let Part::Path(path) = whole else {
        return whole == part;
    };
    let is_all = || path.to_string() == ALL_HEADERS;
    whole == part
        || match part {
            // All headers are all but the one that secures the message.
            Part::Header { namespace, local } => {
                headers_of(namespace).as_ref() == Some(path)
                    || (namespace.as_str(), local.as_str()) != (WSSE, "Security") && is_all()
            }
            Part::Path(wanted) => {
                let wanted = wanted.to_string();
                let is_other = match literal_namespace(&wanted) {
                    Some(namespace) => namespace != WSSE,
                    None => wanted == HEADERS_OF_PREFIX,
                };
                is_other && is_all()
            }
            _ => false,
        }
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

    fn named(namespace: &str, local: &str) -> Part {
        Part::Header {
            namespace: namespace.to_owned(),
            local: local.to_owned(),
        }
    }

    #[test]
    fn all_headers_cover_each_but_the_one_that_secures_the_message() {
        let all = Part::Path(ElementPath::parse(ALL_HEADERS, |_| None).expect("a path"));
        let of = |namespace: &str| Part::Path(headers_of(namespace).expect("a path"));
        for covered in [
            named("urn:a", "To"),
            named("", "Security"),
            named(WSSE, "Other"),
            of("urn:a"),
            of("urn:'\""),
            all.clone(),
        ] {
            assert!(covers(&all, &covered), "{covered}");
            assert_eq!(covers(&covered, &all), covered == all, "{covered}");
        }
        let elements = Part::Path(ElementPath::parse("//*", |_| None).expect("a path"));
        for other in [
            named(WSSE, "Security"),
            of(WSSE),
            Part::Body,
            Part::Timestamp,
            elements,
        ] {
            assert!(!covers(&all, &other), "{other}");
        }
    }

    #[test]
    fn all_headers_of_a_namespace_cover_each_of_it_and_no_other() {
        for namespace in ["urn:a", "urn:'\"", WSSE, ""] {
            let of = Part::Path(headers_of(namespace).expect("a path"));
            assert!(covers(&of, &named(namespace, "To")), "{namespace}");
            assert!(!covers(&of, &named("urn:b", "To")), "{namespace}");
            assert!(!covers(&of, &Part::Body), "{namespace}");
        }
        let of = |namespace: &str| Part::Path(headers_of(namespace).expect("a path"));
        assert!(!covers(&of("urn:'\""), &of("urn:\"'")));
        assert!(!covers(&of("urn:'\""), &named("urn:\"'", "To")));
        assert!(!covers(&of("urn:a"), &of("urn:b")));
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
