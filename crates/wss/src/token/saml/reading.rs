//! Elements of assertions, read one after the other in the order of their schema.
//!
//! The one rule: an attribute or an element that the schema does not have there is refused, by the
//! functions that everything here is read with.

use std::borrow::Cow;

use jiff::Timestamp;
use soapstone_xml::Element;

use crate::envelope::expanded_name;
use crate::freshness::{DATE_TIME_FORM, parse_date_time};
use crate::names::XSI;
use crate::rejected::Rejected;

/// Longest value of an attribute, or text of an element, that decides something: bytes.
const LONGEST_VALUE: usize = 4 * 1024;

/// `xsi:type` among the attributes that an element may have.
pub(super) const XSI_TYPE: &str = "xsi:type";

/// Characters of a stranger's text that an error tells.
const LONGEST_TOLD: usize = 80;

pub(super) fn malformed(problem: impl Into<String>) -> Rejected {
    Rejected::Malformed {
        element: "saml:Assertion",
        problem: problem.into(),
    }
}

/// The beginning of a text.
pub(super) fn excerpt(text: &str) -> String {
    text.chars().take(LONGEST_TOLD).collect()
}

/// Whether `xsi:type` names the type that the schema gives the element: `AssertionType` for
/// `Assertion`.
fn says_own_type(element: Element<'_>) -> bool {
    let Some(name) = element.attribute(XSI, "type") else {
        return true;
    };
    let (prefix, local) = name.split_once(':').unwrap_or(("", &name));
    let is_ours = element.namespace_of(prefix) == Some(element.namespace());
    is_ours && local.strip_suffix("Type") == Some(element.local())
}

/// An element whose attributes are those of its schema.
pub(super) struct Reader<'d>(Element<'d>);

impl<'d> Reader<'d> {
    /// Checks that an element has no attribute but these. `xsi:type` is one where it is allowed, or
    /// says what the schema says, as OpenSAML does: an element of another type means something
    /// else.
    pub(super) fn of(element: Element<'d>, allowed: &[&str]) -> Result<Self, Rejected> {
        let mut attributes = element.attributes();
        let unknown = attributes.find(|attribute| match attribute.namespace() {
            "" => !allowed.contains(&attribute.local()),
            XSI if attribute.local() == "type" => {
                !allowed.contains(&XSI_TYPE) && !says_own_type(element)
            }
            XSI => attribute.local() != "schemaLocation",
            _ => true,
        });
        match unknown {
            None => Ok(Self(element)),
            Some(attribute) => Err(malformed(format!(
                "expected no attribute `{}` in `{}`",
                excerpt(attribute.qualified_name()),
                element.local()
            ))),
        }
    }

    /// The text of the element, which has nothing else, and is not empty.
    pub(super) fn text(self) -> Result<String, Rejected> {
        let local = self.0.local();
        let text = self.0.text_strict();
        let text = text.ok_or_else(|| malformed(format!("expected text alone in `{local}`")))?;
        if text.trim().is_empty() || text.len() > LONGEST_VALUE {
            return Err(malformed(format!("expected a short text in `{local}`")));
        }
        Ok(text.into_owned())
    }

    /// The elements inside, between which there is nothing but white space.
    pub(super) fn children(self) -> Children<'d> {
        Children {
            parent: self.0,
            next: self.0.first_child(),
        }
    }

    /// Checks that there is nothing inside.
    pub(super) fn end(self) -> Result<(), Rejected> {
        self.children().end()
    }
}

/// A cursor over the child elements of an element.
pub(super) struct Children<'d> {
    parent: Element<'d>,
    next: Option<Element<'d>>,
}

impl<'d> Children<'d> {
    /// The next child, if it has this name. The cursor stays otherwise.
    pub(super) fn optional(&mut self, namespace: &str, local: &str) -> Option<Element<'d>> {
        let child = self.next.filter(|child| child.is(namespace, local))?;
        self.next = child.next_sibling();
        Some(child)
    }

    /// The next child, which has this name.
    pub(super) fn required(
        &mut self,
        namespace: &str,
        local: &str,
    ) -> Result<Element<'d>, Rejected> {
        let found = self
            .next
            .map_or_else(|| "nothing".to_owned(), expanded_name);
        self.optional(namespace, local).ok_or_else(|| {
            let parent = self.parent.local();
            let found = excerpt(&found);
            malformed(format!("expected `{local}` in `{parent}`, found `{found}`"))
        })
    }

    /// The next child, whatever it is.
    pub(super) fn any(&mut self) -> Option<Element<'d>> {
        let child = self.next?;
        self.next = child.next_sibling();
        Some(child)
    }

    /// Checks that no child and no text is left.
    pub(super) fn end(&self) -> Result<(), Rejected> {
        match self.next {
            Some(left) => Err(unexpected(left)),
            None if !self.parent.text().trim().is_empty() => {
                let parent = self.parent.local();
                Err(malformed(format!("expected no text in `{parent}`")))
            }
            None => Ok(()),
        }
    }
}

/// The refusal of an element that stands where the schema has another one or none, or that is not
/// understood.
pub(super) fn unexpected(element: Element<'_>) -> Rejected {
    let name = expanded_name(element);
    malformed(format!("expected no `{}` in this place", excerpt(&name)))
}

/// An attribute that an element has.
pub(super) fn required<'d>(element: Element<'d>, local: &str) -> Result<Cow<'d, str>, Rejected> {
    optional(element, local)?
        .ok_or_else(|| malformed(format!("expected `{local}` in `{}`", element.local())))
}

/// An attribute that an element may have. One that is there is not empty.
pub(super) fn optional<'d>(
    element: Element<'d>,
    local: &str,
) -> Result<Option<Cow<'d, str>>, Rejected> {
    let value = element.attribute("", local);
    let is_usable = |value: &Cow<'_, str>| !value.trim().is_empty() && value.len() <= LONGEST_VALUE;
    match value.as_ref().is_none_or(is_usable) {
        true => Ok(value),
        false => Err(malformed(format!(
            "expected a short text in the attribute `{local}`"
        ))),
    }
}

/// A moment in an attribute.
pub(super) fn instant(element: Element<'_>, local: &str) -> Result<Timestamp, Rejected> {
    let value = required(element, local)?;
    parse_date_time(value.trim()).ok_or_else(|| {
        let found = excerpt(&value);
        malformed(format!(
            "expected `{local}` as {DATE_TIME_FORM}, found `{found}`"
        ))
    })
}

/// A moment in an attribute that may be left out.
pub(super) fn optional_instant(
    element: Element<'_>,
    local: &str,
) -> Result<Option<Timestamp>, Rejected> {
    match element.attribute("", local) {
        None => Ok(None),
        Some(_) => instant(element, local).map(Some),
    }
}
