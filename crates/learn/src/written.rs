//! Forms of a message that its receiver reads either way: what they change is how a message is
//! written.
//!
//! The rule kept here: a form that no key of an endpoint file makes is no choice, and is told.

use soapstone::crypto::KeyTransport;
use soapstone::wss::InclusivePrefixes;
use soapstone::wss::names::{DS, WSSE11, XENC};
use soapstone::xml::{Canonicalization, Element};

use crate::quoted::quoted;

/// The namespace of `ec:InclusiveNamespaces` (Exclusive XML Canonicalization 1.0, 3).
const EC: &str = "http://www.w3.org/2001/10/xml-exc-c14n#";

/// The lists of `inclusive_prefixes = true`.
const IN_SCOPE: InclusivePrefixes = InclusivePrefixes::InScope;

/// How a message is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    /// Those of the first signature, where it is known.
    prefixes: Option<PrefixLists>,
    /// A session key is encrypted by OAEP, and nothing says with which digest.
    implied_digest: bool,
    /// Cipher text stands right in the `soap:Header`.
    bare_blocks: bool,
}

impl Written {
    /// How the message of a Security header is written.
    pub(crate) fn of(security: Element<'_>) -> Self {
        let mut signatures = security.children().filter(|it| it.is(DS, "Signature"));
        let mut keys = security.children().filter(|it| it.is(XENC, "EncryptedKey"));
        let method = keys
            .next()
            .and_then(|key| key.child(XENC, "EncryptionMethod"));
        let mut blocks = security.parent().into_iter().flat_map(|it| it.children());
        Self {
            prefixes: signatures.next().map(PrefixLists::of),
            implied_digest: method.is_some_and(implies_digest),
            bare_blocks: blocks.any(|block| block.is(XENC, "EncryptedData")),
        }
    }

    /// Learns the lists of a signature, where none was seen before.
    pub(crate) fn also_signed(&mut self, lists: Option<&PrefixLists>) {
        if self.prefixes.is_none() {
            self.prefixes = lists.cloned();
        }
    }

    /// Keys of `signature`, each with its value.
    pub(crate) fn of_signature(&self) -> Option<String> {
        let value = self.prefixes.as_ref()?.value()?;
        Some(format!("inclusive_prefixes = {value}"))
    }

    /// Whether the lists are others than those of the file that is learned.
    pub(crate) fn lists_otherwise(&self) -> bool {
        let lists = self.prefixes.as_ref();
        lists.is_some_and(|lists| !lists.are_in_scope && lists.value().as_deref() == Some("true"))
    }

    /// The same of `encryption`.
    pub(crate) fn of_encryption(&self) -> impl Iterator<Item = String> {
        let implied = self.implied_digest.then_some("implied_digest = true");
        let bare = self.bare_blocks.then_some("encrypted_header = false");
        [implied, bare].into_iter().flatten().map(str::to_owned)
    }
}

/// Whether a method is OAEP, and leaves the digest to its default.
fn implies_digest(method: Element<'_>) -> bool {
    let uri = method.attribute("", "Algorithm");
    let transport = uri.and_then(|uri| KeyTransport::from_uri(&uri));
    transport.is_some_and(|it| it != KeyTransport::Rsa15)
        && method.child(DS, "DigestMethod").is_none()
}

/// The prefix lists of one signature: of its `ds:SignedInfo`, and of its references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PrefixLists {
    signed_info: Option<String>,
    references: Vec<Option<String>>,
    /// Whether they are those of the prefixes in scope, as far as is seen.
    are_in_scope: bool,
}

impl PrefixLists {
    pub(crate) fn of(signature: Element<'_>) -> Self {
        let info = signature.child(DS, "SignedInfo");
        let method = info.and_then(|info| info.child(DS, "CanonicalizationMethod"));
        let all = info.into_iter().flat_map(|info| info.children());
        let references = all.filter(|child| child.is(DS, "Reference"));
        let signed_info = method.and_then(list);
        let of_info = signature.parent().map(|it| IN_SCOPE.of_signed_info(it));
        let mut are_in_scope = of_info.is_none_or(|words| is_list(signed_info.as_ref(), &words));
        let mut lists = Vec::new();
        for reference in references {
            let transforms = reference.child(DS, "Transforms");
            let method = transforms.and_then(|all| all.children().find(is_exclusive));
            let Some(method) = method else { continue };
            let list = list(method);
            are_in_scope &= of_target(reference).is_none_or(|words| is_list(list.as_ref(), &words));
            lists.push(list);
        }
        Self {
            signed_info,
            references: lists,
            are_in_scope,
        }
    }

    /// The value of `inclusive_prefixes`; `None` where nothing is listed.
    fn value(&self) -> Option<String> {
        let mut lists = self.references.iter();
        let first = lists.next().and_then(Option::as_ref);
        let are_same = lists.all(|other| other.as_ref() == first);
        match (&self.signed_info, first) {
            (None, Some(list)) if are_same => {
                let words: Vec<String> = list.split_ascii_whitespace().map(quoted).collect();
                Some(format!("[{}]", words.join(", ")))
            }
            (None, None) if are_same => None,
            _ => Some("true".to_owned()),
        }
    }
}

/// The prefixes in scope of what a reference names, where that is seen as it was signed.
fn of_target(reference: Element<'_>) -> Option<Vec<String>> {
    let uri = reference.attribute("", "URI")?;
    let document = reference.document();
    let target = document.by_id(uri.strip_prefix('#')?).ok().flatten()?;
    let target = document.element(target);
    let is_cipher_text = |it: &Element<'_>| it.is(WSSE11, "EncryptedHeader");
    // Its tag declares prefixes that were not there when the block in it was signed.
    let is_as_signed = !target.ancestors().any(|it| is_cipher_text(&it));
    is_as_signed.then(|| IN_SCOPE.of_element(target, None))
}

/// Whether a list has these prefixes, in this order.
fn is_list(list: Option<&String>, words: &[String]) -> bool {
    let list = list.map_or("", String::as_str);
    list.split_ascii_whitespace().eq(words)
}

fn is_exclusive(transform: &Element<'_>) -> bool {
    let uri = transform.attribute("", "Algorithm");
    let method = uri.and_then(|uri| Canonicalization::from_uri(&uri));
    method.is_some_and(Canonicalization::is_exclusive)
}

/// The list of a canonicalization, if it has one.
fn list(method: Element<'_>) -> Option<String> {
    let list = method.child(EC, "InclusiveNamespaces")?;
    let prefixes = list.attribute("", "PrefixList")?;
    (!prefixes.trim().is_empty()).then(|| prefixes.into_owned())
}
