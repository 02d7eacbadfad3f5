//! Signatures (WSS 1.1.1, 8).

use std::collections::{HashMap, HashSet};

use soapstone_xml::NodeId;

use crate::element::Element;

use crate::findings::{Findings, quoted};
use crate::message::{IdKind, Message, Target};
use crate::names::{
    ATTACHMENT_COMPLETE, ATTACHMENT_CONTENT, DS, ENVELOPED, EXC_C14N, FILTER2, STR_TRANSFORM, WSSE,
    WSU, XENC, XSI,
};

/// Transforms that may be used.
const TRANSFORMS: [&str; 6] = [
    EXC_C14N,
    FILTER2,
    STR_TRANSFORM,
    ENVELOPED,
    ATTACHMENT_CONTENT,
    ATTACHMENT_COMPLETE,
];

/// Transforms that may be the last one.
const LAST_TRANSFORMS: [&str; 4] = [
    EXC_C14N,
    STR_TRANSFORM,
    ATTACHMENT_CONTENT,
    ATTACHMENT_COMPLETE,
];

pub(crate) fn look(message: &Message<'_>, findings: &mut Findings) {
    for signature in &message.signatures {
        look_at_key(*signature, findings);
        for inside in signature.descendants() {
            if inside.is(DS, "Manifest") {
                findings.add("R5403", inside, "no ds:Manifest", "one");
            } else if inside.is(XENC, "EncryptedData") {
                let expected = "nothing encrypted inside a signature";
                findings.add("R5440", inside, expected, "an xenc:EncryptedData");
            }
        }
        let Some(signed) = signature.child(DS, "SignedInfo") else {
            continue;
        };
        look_at_methods(signed, findings);
        for reference in signed.children().filter(|child| child.is(DS, "Reference")) {
            look_at_reference(message, *signature, reference, findings);
            look_at_transforms(reference, findings);
            look_at_prefixes(message, reference, findings);
        }
    }
    for confirmation in &message.confirmations {
        if confirmation.attribute(WSU, "Id").is_none() {
            findings.add("R5441", *confirmation, "a wsu:Id", "none");
        }
    }
}

fn look_at_key(signature: Element<'_>, findings: &mut Findings) {
    let Some(key_info) = signature.child(DS, "KeyInfo") else {
        return;
    };
    let count = key_info.children().count();
    if count != 1 {
        findings.add("R5402", key_info, "one child", count.to_string());
    }
    if key_info.child(WSSE, "SecurityTokenReference").is_none() {
        let found = key_info.first_child().map(|child| child.qualified_name());
        findings.add(
            "R5417",
            key_info,
            "a wsse:SecurityTokenReference",
            quoted(found),
        );
    }
}

fn look_at_methods(signed: Element<'_>, findings: &mut Findings) {
    for child in signed.children() {
        let algorithm = child.attribute("", "Algorithm").unwrap_or_default();
        if child.is(DS, "CanonicalizationMethod") {
            if algorithm != EXC_C14N {
                findings.add(
                    "R5404",
                    child,
                    quoted(Some(EXC_C14N)),
                    quoted(Some(&algorithm)),
                );
            }
            look_at_prefix_list(child, "R5406", findings);
        } else if child.is(DS, "SignatureMethod") {
            if !is_signature_of_now(&algorithm) {
                let expected = "RSA, ECDSA or HMAC with SHA-1, SHA-2 or SHA-3";
                findings.add("R5421", child, expected, quoted(Some(&algorithm)));
            }
            if let Some(length) = child.child(DS, "HMACOutputLength") {
                findings.add(
                    "R5401",
                    length,
                    "no ds:HMACOutputLength",
                    quoted(Some(&length.text())),
                );
            }
        }
    }
}

/// Whether a signature algorithm is one of the profile's, or of those that came later.
fn is_signature_of_now(algorithm: &str) -> bool {
    let profile = [
        "http://www.w3.org/2000/09/xmldsig#hmac-sha1",
        "http://www.w3.org/2000/09/xmldsig#rsa-sha1",
    ];
    profile.contains(&algorithm) || is_later(algorithm) || algorithm.contains("#eddsa-")
}

/// Whether an identifier is of SHA-256 or a later hash.
fn is_later(algorithm: &str) -> bool {
    let hashes = ["sha256", "sha384", "sha512", "sha3-"];
    let of_w3c = algorithm.starts_with("http://www.w3.org/");
    of_w3c && hashes.iter().any(|hash| algorithm.contains(hash))
}

fn look_at_reference(
    message: &Message<'_>,
    signature: Element<'_>,
    reference: Element<'_>,
    findings: &mut Findings,
) {
    let uri = reference.attribute("", "URI");
    let uri = uri.as_deref();
    if let Some(method) = reference.child(DS, "DigestMethod") {
        let algorithm = method.attribute("", "Algorithm").unwrap_or_default();
        let is_sha1 = algorithm == "http://www.w3.org/2000/09/xmldsig#sha1";
        if !is_sha1 && !is_later(&algorithm) {
            let expected = "SHA-1, SHA-2 or SHA-3";
            findings.add("R5420", method, expected, quoted(Some(&algorithm)));
        }
    }
    if uri.is_some_and(|uri| uri.starts_with("cid:")) {
        return;
    }
    let fragment = uri.and_then(|uri| uri.strip_prefix('#'));
    let id = fragment.filter(|fragment| !fragment.contains('('));
    if id.is_none() {
        findings.add("R3001", reference, "# and an id", quoted(uri));
        let has_filter = transforms(reference).any(|(_, algorithm)| algorithm == FILTER2);
        if !has_filter && !matches!(message.target(uri), Target::Inside(_)) {
            let expected = "an id, or the XPath Filter 2.0 transform";
            findings.add("R3002", reference, expected, quoted(uri));
        }
    }
    if let Some((target, kind)) = id.and_then(|id| message.with_id(id)) {
        look_at_id(reference, target, kind, findings);
    }
    let is_whole = uri == Some("");
    let target = match message.target(uri) {
        Target::Inside(target) => Some(target),
        _ => None,
    };
    let is_enveloped = is_whole
        || target.is_some_and(|target| target.contains(signature))
        || transforms(reference).any(|(_, algorithm)| algorithm == ENVELOPED);
    let is_enveloping = target.is_some_and(|target| {
        let of_object = std::iter::once(target).chain(target.ancestors());
        signature.contains(target)
            && of_object
                .take_while(|element| *element != signature)
                .any(|element| element.is(DS, "Object"))
    });
    if is_enveloping {
        findings.add(
            "R3102",
            signature,
            "data beside the signature",
            "data inside of it",
        );
    }
    if is_enveloped {
        findings.add(
            "R3104",
            signature,
            "data beside the signature",
            "data around it",
        );
    }
    if is_enveloping || is_enveloped {
        findings.add(
            "R3103",
            signature,
            "data beside the signature",
            "data inside or around it",
        );
    }
}

/// Which attribute gives a signed element the id that it is signed by.
fn look_at_id(reference: Element<'_>, target: Element<'_>, kind: IdKind, findings: &mut Findings) {
    let name = quoted(Some(target.qualified_name()));
    match target.namespace() {
        DS if kind != IdKind::Own => {
            findings.add("R3003", reference, "the Id attribute of the element", name);
        }
        XENC if kind != IdKind::Own => {
            findings.add("R3004", reference, "the Id attribute of the element", name);
        }
        DS | XENC => {}
        _ if kind != IdKind::Wsu => {
            let found = format!("another id of {name}");
            findings.add("R3005", reference, "the wsu:Id of the element", found);
        }
        _ => {}
    }
}

/// The transforms of a reference and their algorithms.
fn transforms<'d>(reference: Element<'d>) -> impl Iterator<Item = (Element<'d>, String)> {
    let all = reference.child(DS, "Transforms").into_iter();
    let all = all.flat_map(|transforms| transforms.children());
    all.filter(|child| child.is(DS, "Transform")).map(|child| {
        let algorithm = child.attribute("", "Algorithm").unwrap_or_default();
        (child, algorithm.into_owned())
    })
}

fn look_at_transforms(reference: Element<'_>, findings: &mut Findings) {
    let Some(list) = reference.child(DS, "Transforms") else {
        findings.add("R5416", reference, "ds:Transforms", "none");
        return;
    };
    let all: Vec<_> = transforms(reference).collect();
    let Some((last, last_algorithm)) = all.last() else {
        findings.add("R5411", list, "a ds:Transform", "none");
        return;
    };
    if !LAST_TRANSFORMS.contains(&last_algorithm.as_str()) {
        let expected = "exclusive canonicalization last";
        findings.add("R5412", *last, expected, quoted(Some(last_algorithm)));
    }
    for (transform, algorithm) in &all {
        if !TRANSFORMS.contains(&algorithm.as_str()) {
            let expected = "one of the profile's transforms";
            findings.add("R5423", *transform, expected, quoted(Some(algorithm)));
        }
        if algorithm == EXC_C14N {
            look_at_prefix_list(*transform, "R5407", findings);
        }
        if algorithm == STR_TRANSFORM {
            let parameters = transform.child(WSSE, "TransformationParameters");
            let method = parameters.and_then(|all| all.child(DS, "CanonicalizationMethod"));
            match method {
                None => {
                    let expected = "wsse:TransformationParameters/ds:CanonicalizationMethod";
                    findings.add("R3065", *transform, expected, "none");
                }
                Some(method) => look_at_prefix_list(method, "R5413", findings),
            }
        }
    }
}

fn look_at_prefix_list(method: Element<'_>, rule: &str, findings: &mut Findings) {
    let list = method.child(EXC_C14N, "InclusiveNamespaces");
    let empty = list.filter(|list| {
        let prefixes = list.attribute("", "PrefixList");
        prefixes.is_none_or(|prefixes| prefixes.trim().is_empty())
    });
    if let Some(empty) = empty {
        let expected = "prefixes in PrefixList, or no ec:InclusiveNamespaces";
        findings.add(rule, empty, expected, "an empty list");
    }
}

/// Prefixes that values of signed elements use, and that exclusive canonicalization drops.
fn look_at_prefixes(message: &Message<'_>, reference: Element<'_>, findings: &mut Findings) {
    let uri = reference.attribute("", "URI");
    let Target::Inside(apex) = message.target(uri.as_deref()) else {
        return;
    };
    let exclusive = transforms(reference).find(|(_, algorithm)| algorithm == EXC_C14N);
    let Some((transform, _)) = exclusive else {
        return;
    };
    let list = transform.child(EXC_C14N, "InclusiveNamespaces");
    let list = list
        .and_then(|list| list.attribute("", "PrefixList"))
        .unwrap_or_default();
    let listed: HashSet<&str> = list.split_ascii_whitespace().collect();
    let mut told = HashSet::new();
    let mut written = Written::of(apex);
    for element in apex.descendants() {
        let Some(value) = element.attribute(XSI, "type") else {
            continue;
        };
        let value = value.trim();
        let prefix = value.split_once(':').map_or("", |(prefix, _)| prefix);
        let word = if prefix.is_empty() {
            "#default"
        } else {
            prefix
        };
        if listed.contains(word) || told.contains(prefix) {
            continue;
        }
        let Some(meaning) = written.meaning(element, prefix) else {
            continue;
        };
        if !written.is_written(element, prefix, meaning) {
            told.insert(prefix.to_owned());
            let rule = if prefix.is_empty() { "R5408" } else { "R5405" };
            let expected = format!("`{word}` in the PrefixList of the reference to the element");
            findings.add(
                rule,
                element,
                expected,
                format!("xsi:type={}", quoted(Some(value))),
            );
        }
    }
}

/// What exclusive canonicalization of an apex writes of prefixes. What holds for the parent of many
/// elements is computed once.
struct Written<'d> {
    apex: Element<'d>,
    /// The last parent, which the rest is about.
    parent: Option<NodeId>,
    /// The namespace to which a prefix is bound there.
    meanings: HashMap<String, Option<&'d str>>,
    /// Whether a prefix is written with this meaning for it, or for an element around it.
    known: HashMap<(String, &'d str), bool>,
}

impl<'d> Written<'d> {
    fn of(apex: Element<'d>) -> Self {
        Self {
            apex,
            parent: None,
            meanings: HashMap::new(),
            known: HashMap::new(),
        }
    }

    /// The parent of an element, which what is known is about from now on.
    fn parent_of(&mut self, element: Element<'d>) -> Option<Element<'d>> {
        let parent = element.parent()?;
        if self.parent != Some(parent.id()) {
            self.parent = Some(parent.id());
            self.meanings.clear();
            self.known.clear();
        }
        Some(parent)
    }

    /// The namespace to which a prefix is bound at an element.
    fn meaning(&mut self, element: Element<'d>, prefix: &str) -> Option<&'d str> {
        let mut declared = element.declarations();
        let is_own = declared.any(|(declared, _)| declared == prefix);
        let parent = self.parent_of(element).filter(|_| !is_own);
        let Some(parent) = parent else {
            return element.namespace_of(prefix);
        };
        if let Some(meaning) = self.meanings.get(prefix) {
            return *meaning;
        }
        let meaning = parent.namespace_of(prefix);
        self.meanings.insert(prefix.to_owned(), meaning);
        meaning
    }

    /// Whether exclusive canonicalization writes the declaration of a prefix, which has this
    /// meaning at an element, for the element or for one around it, up to the apex.
    fn is_written(&mut self, element: Element<'d>, prefix: &str, meaning: &'d str) -> bool {
        if uses(element, prefix) {
            return true;
        }
        if element == self.apex {
            return false;
        }
        let Some(parent) = self.parent_of(element) else {
            return false;
        };
        let place = (prefix.to_owned(), meaning);
        if let Some(known) = self.known.get(&place) {
            return *known;
        }
        let mut found = false;
        for around in std::iter::once(parent).chain(parent.ancestors()) {
            found = uses(around, prefix) && around.namespace_of(prefix) == Some(meaning);
            if found || around == self.apex {
                break;
            }
        }
        self.known.insert(place, found);
        found
    }
}

/// Whether the name of an element or of one of its attributes has a prefix.
fn uses(element: Element<'_>, prefix: &str) -> bool {
    let of_attributes = |prefix| {
        let mut attributes = element.attributes();
        attributes.any(|attribute| attribute.prefix() == prefix)
    };
    element.prefix() == prefix || !prefix.is_empty() && of_attributes(prefix)
}

#[cfg(test)]
mod tests {
    use soapstone_xml::{Buffers, Document, ParseOptions};

    use super::*;
    use crate::element::Work;
    use crate::rule::{Profile, Profiles};

    /// A Body with a value that uses an unsigned prefix in its last of a hundred elements, and many
    /// references to the Body.
    fn found_within(steps: u64) -> usize {
        let reference = format!(
            "<ds:Reference URI=\"#B\"><ds:Transforms><ds:Transform Algorithm=\"{EXC_C14N}\"/>\
             </ds:Transforms></ds:Reference>"
        );
        let source = format!(
            "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:ds=\"{DS}\" \
             xmlns:wsse=\"{WSSE}\" xmlns:wsu=\"{WSU}\" xmlns:xsi=\"{XSI}\" xmlns:t=\"urn:t\">\
             <s:Header><wsse:Security><ds:Signature><ds:SignedInfo>{}</ds:SignedInfo></ds:Signature>\
             </wsse:Security></s:Header><s:Body wsu:Id=\"B\">{}<b xsi:type=\"t:x\"/></s:Body></s:Envelope>",
            reference.repeat(50),
            "<b/>".repeat(98),
        );
        let options = ParseOptions::default();
        let document = Document::parse(source.into_bytes(), &options, &mut Buffers::new());
        let document = document.expect("a message");
        let work = Work::of(steps);
        let message = Message::read(Element::new(document.root(), &work));
        let mut findings = Findings::new(Profiles::of(Profile::Bsp));
        look(&message, &mut findings);
        assert_eq!(
            work.is_done(),
            findings.count("R5405") == 50,
            "{steps} steps"
        );
        findings.count("R5405")
    }

    #[test]
    fn references_to_one_large_element_are_followed_until_the_work_is_done() {
        assert_eq!(found_within(1 << 10), 0);
        assert_eq!(found_within(1 << 20), 50);
    }
}
