//! Reading the content models of the specifications: which child may follow which, with nothing
//! tolerated.
//!
//! The one rule: an element that the schema does not allow at a place is an error that says what
//! was expected, what was found and where. It is a seam, too: `xmltools` reads with it what only
//! `soapstone xml` knows. Leniency at this layer is how one document comes to mean two things to
//! two readers.

use std::borrow::Cow;
use std::fmt;

use soapstone_xml::Element;

/// An element does not have the content that its specification gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructureError {
    /// The element whose content is wrong, with its prefix as written.
    pub element: String,
    /// What the specification wants there.
    pub expected: &'static str,
    /// What is there instead; `None` when it is missing.
    pub found: Option<String>,
    /// Line of the element in the message, from 1.
    pub line: u32,
    /// Column of the element in the message, from 1.
    pub column: u32,
}

impl StructureError {
    /// `element` should have had `expected`; it has `found`.
    pub fn new(element: Element<'_>, expected: &'static str, found: Option<String>) -> Self {
        let (line, column) = element.line_column();
        Self {
            element: element.qualified_name().to_owned(),
            expected,
            found,
            line,
            column,
        }
    }
}

impl fmt::Display for StructureError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "`{}` (line {}, column {}): expected {}",
            self.element, self.line, self.column, self.expected
        )?;
        match &self.found {
            Some(found) => write!(formatter, ", found `{found}`"),
            None => write!(formatter, ", found nothing"),
        }
    }
}

impl std::error::Error for StructureError {}

/// A cursor over the child elements of one element.
pub struct Children<'d> {
    parent: Element<'d>,
    next: Option<Element<'d>>,
}

impl<'d> Children<'d> {
    /// A cursor before the first child element.
    pub fn of(parent: Element<'d>) -> Self {
        Self {
            parent,
            next: parent.first_child(),
        }
    }

    /// The next child if it is `{namespace}local`; the cursor stays otherwise.
    pub fn optional(&mut self, namespace: &str, local: &str) -> Option<Element<'d>> {
        let child = self.next.filter(|child| child.is(namespace, local))?;
        self.next = child.next_sibling();
        Some(child)
    }

    /// The next child, which must be `{namespace}local`.
    pub fn required(
        &mut self,
        namespace: &str,
        local: &str,
        expected: &'static str,
    ) -> Result<Element<'d>, StructureError> {
        self.optional(namespace, local)
            .ok_or_else(|| self.unexpected(expected))
    }

    /// The next child whatever it is; the cursor stays.
    pub fn peek(&self) -> Option<Element<'d>> {
        self.next
    }

    /// The next child whatever it is.
    pub fn any(&mut self) -> Option<Element<'d>> {
        let child = self.next?;
        self.next = child.next_sibling();
        Some(child)
    }

    /// There must be no further child.
    pub fn end(&self, expected: &'static str) -> Result<(), StructureError> {
        match self.next {
            None => Ok(()),
            Some(_) => Err(self.unexpected(expected)),
        }
    }

    fn unexpected(&self, expected: &'static str) -> StructureError {
        StructureError::new(
            self.parent,
            expected,
            self.next.map(|child| child.qualified_name().to_owned()),
        )
    }
}

/// The attribute `local` (no namespace), which must be there.
pub fn required_attribute<'d>(
    element: Element<'d>,
    local: &str,
    expected: &'static str,
) -> Result<Cow<'d, str>, StructureError> {
    element
        .attribute("", local)
        .ok_or_else(|| StructureError::new(element, expected, None))
}

/// An optional attribute as an owned string.
pub fn owned_attribute(element: Element<'_>, local: &str) -> Option<String> {
    element.attribute("", local).map(Cow::into_owned)
}

/// The simple content of `element`: character data only. A comment, a processing instruction or a
/// child element inside it is an error, so that no reader can see a different value.
pub fn simple_content<'d>(element: Element<'d>) -> Result<Cow<'d, str>, StructureError> {
    element.text_strict().ok_or_else(|| {
        StructureError::new(element, "character data only", Some("markup".to_owned()))
    })
}
