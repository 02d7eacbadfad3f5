//! Element paths: the part of XPath 1.0 in which policies say which elements are signed, encrypted
//! or required.
//!
//! `sp:SignedElements`, `sp:EncryptedElements`, `sp:ContentEncryptedElements` and
//! `sp:RequiredElements` (WS-SecurityPolicy 1.3, 4.1.2, 4.2.2, 4.2.3, 4.3.1) select elements by
//! XPath. What they are written with in practice are absolute location paths of child and
//! descendant steps; those are read here once, and select in one walk over the message, whatever it
//! holds.
//!
//! The one rule: an expression is either understood completely or refused, naming what is not
//! understood.

mod error;
mod reader;
mod steps;

use std::fmt;

use soapstone_xml::{Document, Element, NodeId};

use self::error::LONGEST;
pub use self::error::PathError;
use self::steps::Step;
use crate::names::WSSE11;

/// An absolute path that selects elements.
///
/// Steps are child steps (`/`) and descendant steps (`//`) with a name test (`p:name`, `name`,
/// `p:*`, `*`) and any number of predicates made of `local-name()='x'`, `namespace-uri()='x'`,
/// `@p:name='x'`, `@name`, `!=`, `and`, `or`, `not(…)` and parentheses.
///
/// ```
/// use soapstone_wss::ElementPath;
/// use soapstone_xml::{Buffers, Document, ParseOptions};
///
/// let path = ElementPath::parse("/e:Envelope//w:To", |prefix| match prefix {
///     "e" => Some("urn:e".to_owned()),
///     "w" => Some("urn:w".to_owned()),
///     _ => None,
/// })?;
/// let source = b"<Envelope xmlns='urn:e'><Header><To xmlns='urn:w'/></Header></Envelope>";
/// let options = ParseOptions::default();
/// let document = Document::parse(source.to_vec(), &options, &mut Buffers::new()).unwrap();
/// let selected = path.select(&document);
/// assert_eq!(document.element(selected[0]).local(), "To");
/// # Ok::<(), soapstone_wss::PathError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ElementPath {
    expression: String,
    steps: Vec<Step>,
}

impl fmt::Display for ElementPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.expression)
    }
}

impl ElementPath {
    /// Reads an expression. `namespace` resolves the prefixes as they are declared where the
    /// expression stands; a name without prefix is in no namespace (XPath 1.0, 2.3).
    ///
    /// # Errors
    /// A [`PathError`] that names what is not understood.
    pub fn parse(
        expression: &str,
        namespace: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, PathError> {
        if expression.len() > LONGEST {
            return Err(PathError::TooLong {
                octets: expression.len(),
            });
        }
        let expression = expression.trim_matches([' ', '\t', '\r', '\n']);
        let steps = reader::read(expression, &namespace)?;
        Ok(Self {
            expression: expression.to_owned(),
            steps,
        })
    }

    /// The elements that it selects in the document as it now stands, in document order, each once.
    ///
    /// A `wsse11:EncryptedHeader` is no step of the way: what it held counts as the header block
    /// (SOAP Message Security 1.1.1, 9.3).
    ///
    /// One walk over the document: the work is bounded by its elements times the steps of the path.
    pub fn select(&self, document: &Document) -> Vec<NodeId> {
        let mut selected = Vec::new();
        let complete = 1u64 << self.steps.len();
        // Bit `i`: the first `i` steps lead to the parent (`near`), or to some element above
        // (`far`).
        let mut pending = vec![(document.root(), 1u64, 1u64)];
        while let Some((element, near, far)) = pending.pop() {
            if let Some(next) = element.next_sibling() {
                pending.push((next, near, far));
            }
            if element.is(WSSE11, "EncryptedHeader") {
                pending.extend(element.first_child().map(|child| (child, near, far)));
                continue;
            }
            let reached = self.advance(element, near, far);
            if reached & complete != 0 {
                selected.push(element.id());
            }
            let above = far | reached;
            if let Some(child) = element.first_child()
                && (reached | above) & (complete - 1) != 0
            {
                pending.push((child, reached, above));
            }
        }
        selected
    }

    /// Whether it may select something of the Body: not where its second step leads to the header.
    pub(crate) fn may_lead_into_body(&self) -> bool {
        !matches!(&self.steps[..], [root, second, ..]
            if !root.descendant && !second.descendant && second.is_named("Header"))
    }

    /// Whether it selects nothing but header blocks of one name, which its third step says, or
    /// what has one name in them: each step behind that is to a child, and has a name, too.
    pub(crate) fn names_header_block(&self) -> bool {
        let is_named = |step: &Step| !step.descendant && step.has_name();
        matches!(&self.steps[..], [root, second, block, inside @ ..]
            if !root.descendant && !second.descendant && second.is_named("Header")
                && is_named(block) && inside.iter().all(is_named))
    }

    /// Which numbers of steps lead to `element`.
    fn advance(&self, element: Element<'_>, near: u64, far: u64) -> u64 {
        let mut reached = 0;
        for (place, step) in self.steps.iter().enumerate() {
            let from = if step.descendant { far } else { near };
            if from & (1 << place) != 0 && step.selects(element) {
                reached |= 1 << (place + 1);
            }
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use soapstone_xml::{Buffers, ParseOptions};

    use super::*;

    const MESSAGE: &str = "<s:Envelope xmlns:s='urn:s' xmlns:a='urn:a'><s:Header>\
        <a:To k='1'>x</a:To><a:To a:k='2'/><b/></s:Header><s:Body><a:To><a:To k='3'/></a:To></s:Body></s:Envelope>";

    fn resolve(prefix: &str) -> Option<String> {
        match prefix {
            "s" => Some("urn:s".to_owned()),
            "a" | "other" => Some("urn:a".to_owned()),
            _ => None,
        }
    }

    #[test]
    fn a_path_stays_in_the_header_where_its_second_step_says_so() {
        for (expression, into_body) in [
            ("/s:Envelope/s:Header/a:To", false),
            ("/s:Envelope/s:Header//a:To", false),
            ("/*/*[local-name()='Header']/a:To", false),
            (
                "/*/*[namespace-uri()='urn:s' and local-name()='Header']/a:To",
                false,
            ),
            ("/s:Envelope/s:Body/a:To", true),
            ("/s:Envelope", true),
            ("/s:Envelope/*/a:To", true),
            ("/s:Envelope//s:Header/a:To", true),
            ("//s:Header/a:To", true),
            ("//a:To", true),
            ("/*/*[not(local-name()='Header')]/a:To", true),
            (
                "/*/*[local-name()='Header' or local-name()='Body']/a:To",
                true,
            ),
        ] {
            let path = ElementPath::parse(expression, resolve).unwrap();
            assert_eq!(path.may_lead_into_body(), into_body, "{expression}");
        }
    }

    /// What a path selects, by the order of elements in the document.
    fn selected(expression: &str) -> Vec<usize> {
        let document = Document::parse(
            MESSAGE.as_bytes().to_vec(),
            &ParseOptions::default(),
            &mut Buffers::new(),
        )
        .unwrap();
        let all: Vec<NodeId> = document
            .root()
            .descendants()
            .map(|element| element.id())
            .collect();
        let path = ElementPath::parse(expression, resolve).unwrap();
        assert_eq!(path.to_string(), expression.trim());
        path.select(&document)
            .into_iter()
            .map(|node| all.iter().position(|other| *other == node).unwrap())
            .collect()
    }

    fn refused(expression: &str) -> PathError {
        ElementPath::parse(expression, resolve).unwrap_err()
    }

    #[test]
    fn child_steps_lead_from_the_root_to_children_only() {
        assert_eq!(selected("/s:Envelope"), [0]);
        assert_eq!(selected("/s:Envelope/s:Header/a:To"), [2, 3]);
        assert_eq!(selected(" /s:Envelope/child::s:Body/other:To "), [6]);
        assert_eq!(selected("/s:Header"), []);
        assert_eq!(selected("/s:Envelope/a:To"), []);
    }

    #[test]
    fn descendant_steps_select_each_element_once() {
        assert_eq!(selected("//a:To"), [2, 3, 6, 7]);
        assert_eq!(selected("//s:*//a:To"), [2, 3, 6, 7]);
        assert_eq!(selected("//a:To//a:To"), [7]);
        assert_eq!(selected("/s:Envelope//*/a:To"), [2, 3, 6, 7]);
        assert_eq!(selected("//b"), [4]);
        assert_eq!(selected("//a:b"), []);
    }

    #[test]
    fn predicates_compare_names_and_attributes() {
        assert_eq!(
            selected("/*/*[local-name()='Header' and namespace-uri()=\"urn:s\"]/*"),
            [2, 3, 4]
        );
        assert_eq!(selected("//a:To[@k='1']"), [2]);
        assert_eq!(selected("//a:To[@a:k='2']"), [3]);
        assert_eq!(selected("//a:To[@k][@k != '1']"), [7]);
        assert_eq!(selected("//a:To[not(@k)]"), [3, 6]);
        assert_eq!(
            selected("/*/s:Header/*[not(local-name()='To' and (namespace-uri()='urn:a' or @x))]"),
            [4]
        );
        assert_eq!(selected("//*[local-name() != 'To'][not(@k)]"), [0, 1, 4, 5]);
    }

    #[test]
    fn what_was_an_encrypted_header_is_a_header_block() {
        let source = format!(
            "<s:Envelope xmlns:s='urn:s'><s:Header><w:EncryptedHeader xmlns:w='{WSSE11}'><a:To xmlns:a='urn:a'/>\
             </w:EncryptedHeader></s:Header></s:Envelope>"
        );
        let document = Document::parse(
            source.into_bytes(),
            &ParseOptions::default(),
            &mut Buffers::new(),
        )
        .unwrap();
        let path = ElementPath::parse("/s:Envelope/s:Header/a:To", resolve).unwrap();
        let selected = path.select(&document);
        assert_eq!(selected.len(), 1);
        assert_eq!(document.element(selected[0]).local(), "To");
    }

    #[test]
    fn a_name_that_begins_like_an_axis_or_an_operator_is_a_name() {
        assert_eq!(selected("/children"), []);
        assert_eq!(selected("//*[@order='1']"), []);
    }

    #[test]
    fn an_undeclared_prefix_is_refused_by_name() {
        assert_eq!(
            refused("/s:Envelope/soap:Body"),
            PathError::UnknownPrefix {
                prefix: "soap".to_owned()
            }
        );
    }

    #[test]
    fn relative_paths_are_refused() {
        assert_eq!(
            refused("s:Envelope"),
            PathError::NotAbsolute {
                expression: "s:Envelope".to_owned()
            }
        );
        assert_eq!(
            refused("  "),
            PathError::NotAbsolute {
                expression: String::new()
            }
        );
    }

    #[test]
    fn whatever_else_xpath_has_is_refused_naming_it() {
        for (expression, found) in [
            ("/s:Envelope/ancestor::s:Body", "ancestor::s:Body"),
            ("//a:To[1]", "1]"),
            ("//a:To[position()=1]", "position()=1]"),
            ("//a:To | //b", "| //b"),
            ("//a:To/@k", "@k"),
            ("//a:To/text()", "text()"),
            ("/s:Envelope/..", ".."),
            ("//a:To[@k=1]", "1]"),
            ("//a:To[local-name()]", "local-name()]"),
        ] {
            match refused(expression) {
                PathError::Unsupported { found: what, at } => {
                    assert_eq!(what, found, "{expression}");
                    assert_eq!(&expression[at..], found);
                }
                other => panic!("{expression}: {other:?}"),
            }
        }
    }

    #[test]
    fn expressions_that_end_too_early_are_refused() {
        assert_eq!(
            refused("/s:Envelope/"),
            PathError::Syntax {
                expected: "a name",
                at: 12
            }
        );
        assert_eq!(
            refused("//b[@k='1'"),
            PathError::Syntax {
                expected: "`]`",
                at: 10
            }
        );
        assert_eq!(
            refused("//b[@k='1"),
            PathError::Syntax {
                expected: "the end of the literal",
                at: 9
            }
        );
    }

    #[test]
    fn expressions_are_bounded_in_every_dimension() {
        assert_eq!(
            refused(&"/".repeat(5000)),
            PathError::TooLong { octets: 5000 }
        );
        assert_eq!(refused(&"/a".repeat(61)), PathError::TooManySteps);
        assert_eq!(selected(&"/a".repeat(60)), []);
        let deep = format!("//a[{}@b{}]", "(".repeat(17), ")".repeat(17));
        assert_eq!(refused(&deep), PathError::TooDeep);
    }
}
