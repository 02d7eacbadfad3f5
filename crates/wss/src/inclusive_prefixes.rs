//! The `PrefixList` of the exclusive canonicalizations in signatures that are made.
//!
//! The rule kept here: a list says which prefixes are rendered wherever they are declared. What
//! each means is for the message to say: of those in scope, none is listed that is bound to
//! nothing. One that a file names may be bound inside of an element alone, so it is listed of every
//! element.

use soapstone_xml::Element;

/// Which prefixes signatures list in `ec:InclusiveNamespaces` (Exclusive XML Canonicalization 1.0,
/// 3): the exclusive form leaves out a namespace that only values use, such as that of an
/// `xsi:type`, and a list has it signed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum InclusivePrefixes {
    /// No list.
    #[default]
    Nothing,
    /// Of each signed element, the prefixes that elements around it declare, and that its own start
    /// tag neither declares nor uses; of `ds:SignedInfo`, all that are declared around the
    /// `wsse:Security` header. WSS4J lists these, from the nearest element on.
    InScope,
    /// These of every signed element, and none of `ds:SignedInfo`; `#default` is the default
    /// namespace.
    Listed(Vec<String>),
}

impl InclusivePrefixes {
    /// Whether there are no lists.
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }

    /// Whether a prefix is named, whatever an element declares.
    pub(crate) fn names(&self, prefix: &str) -> bool {
        matches!(self, Self::Listed(named) if named.iter().any(|one| one == prefix))
    }

    /// The list of a signed element. `added` is a prefix that its start tag is to have declared.
    pub fn of_element(&self, element: Element<'_>, added: Option<&str>) -> Vec<String> {
        match self {
            Self::Nothing => Vec::new(),
            Self::InScope => around(element, |prefix| {
                added == Some(prefix) || is_visible(element, prefix)
            }),
            Self::Listed(prefixes) => prefixes.clone(),
        }
    }

    /// The list of the `ds:SignedInfo` of a signature in `security`.
    pub fn of_signed_info(&self, security: Element<'_>) -> Vec<String> {
        match self {
            Self::Nothing | Self::Listed(_) => Vec::new(),
            Self::InScope => around(security, |_| false),
        }
    }
}

/// The prefixes that elements around an element declare, without those that are left out: from the
/// nearest element on, those of one element in their order.
fn around(element: Element<'_>, is_left_out: impl Fn(&str) -> bool) -> Vec<String> {
    let mut listed: Vec<String> = Vec::new();
    for holder in element.ancestors() {
        let mut declared: Vec<&str> = holder.declarations().map(|(prefix, _)| prefix).collect();
        declared.sort_unstable();
        for prefix in declared {
            // A default namespace may be declared away, and `xml` is never rendered.
            let is_bound = prefix != "xml" && element.namespace_of(prefix).is_some();
            let word = match prefix {
                "" => "#default",
                prefix => prefix,
            };
            if is_bound && !is_left_out(prefix) && listed.iter().all(|one| one != word) {
                listed.push(word.to_owned());
            }
        }
    }
    listed
}

/// Whether the start tag of an element declares a prefix, or uses it: the exclusive form has it
/// there, or wherever it is used.
fn is_visible(element: Element<'_>, prefix: &str) -> bool {
    let declares = |(declared, _): (&str, &str)| declared == prefix;
    element.prefix() == prefix
        || element.declarations().any(declares)
        || !prefix.is_empty() && element.attributes().any(|one| one.prefix() == prefix)
}

#[cfg(test)]
mod tests {
    use soapstone_xml::{Buffers, Document, ParseOptions};

    use super::*;

    fn of(text: &str, local: &str, added: Option<&str>) -> Vec<String> {
        let options = ParseOptions::default();
        let document = Document::parse(text.as_bytes().to_vec(), &options, &mut Buffers::new());
        let document = document.unwrap();
        let mut all = document.root().descendants();
        let element = all.find(|element| element.local() == local).unwrap();
        InclusivePrefixes::InScope.of_element(element, added)
    }

    #[test]
    fn a_list_has_what_is_declared_around_from_the_nearest_element_on() {
        let text = "<s:E xmlns:s='urn:s' xmlns:b='urn:b' xmlns:a='urn:a' xmlns='urn:d'>\
                    <s:H xmlns:z='urn:z' xmlns:a='urn:other'><s:T/></s:H></s:E>";
        assert_eq!(of(text, "T", None), ["a", "z", "#default", "b"]);
    }

    #[test]
    fn what_the_start_tag_declares_or_uses_is_not_listed() {
        let text = "<s:E xmlns:s='urn:s' xmlns:b='urn:b' xmlns:a='urn:a' xmlns:c='urn:c' xmlns='urn:d'>\
                    <T b:x='' xmlns:a='urn:a'><s:U/></T></s:E>";
        assert_eq!(of(text, "T", None), ["c", "s"]);
        assert_eq!(of(text, "T", Some("c")), ["s"]);
        // An attribute without a prefix has no namespace, and so does not use the default one.
        let text = "<s:E xmlns:s='urn:s' xmlns='urn:d'><s:T x=''/></s:E>";
        assert_eq!(of(text, "T", None), ["#default"]);
    }

    #[test]
    fn what_is_bound_to_nothing_is_not_listed() {
        let text = "<E xmlns='urn:d' xmlns:s='urn:s'><s:H xmlns=''><s:T/></s:H></E>";
        assert_eq!(of(text, "T", None), Vec::<String>::new());
        let text =
            "<s:E xmlns:s='urn:s' xmlns:xml='http://www.w3.org/XML/1998/namespace'><s:T/></s:E>";
        assert_eq!(of(text, "T", None), Vec::<String>::new());
    }
}
