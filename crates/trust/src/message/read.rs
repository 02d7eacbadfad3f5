//! What reading a message can find wrong, and the small steps that reading is made of.
//!
//! The one rule: an error names the element and its line, and never quotes what may be secret.

use std::fmt;

use soapstone_xml::Element;

/// Longest text of one element that is no secret, bytes: URIs, numbers, times. Addresses seldom
/// pass 200.
pub(crate) const TEXT_LIMIT: usize = 2048;

/// Why an element is not a message of WS-Trust.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageError {
    /// Another element than expected.
    Unexpected {
        /// What was expected.
        expected: &'static str,
        /// Expanded name of what stands there; `None` if nothing does.
        found: Option<String>,
        /// Line of it or of its parent, from 1.
        line: u32,
    },
    /// An element that may occur once occurs again.
    Duplicate {
        /// Expanded name.
        element: String,
        /// Line of the second.
        line: u32,
    },
    /// The text of an element is not what it should be.
    Value {
        /// Expanded name.
        element: String,
        /// What was expected.
        expected: &'static str,
        /// What was found, unless it may be secret.
        found: Option<String>,
        /// Line.
        line: u32,
    },
    /// More of something than is read.
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many are read.
        limit: usize,
    },
}

impl MessageError {
    /// `found` stands where `expected` should.
    pub(crate) fn unexpected(expected: &'static str, found: Element<'_>) -> Self {
        Self::Unexpected {
            expected,
            found: Some(expanded_name(found)),
            line: found.line_column().0,
        }
    }

    /// `expected` is missing in `parent`.
    pub(crate) fn missing(expected: &'static str, parent: Element<'_>) -> Self {
        Self::Unexpected {
            expected,
            found: None,
            line: parent.line_column().0,
        }
    }

    /// The content of `element` is not `expected`.
    pub(crate) fn value(
        element: Element<'_>,
        expected: &'static str,
        found: Option<String>,
    ) -> Self {
        Self::Value {
            element: expanded_name(element),
            expected,
            found,
            line: element.line_column().0,
        }
    }
}

impl fmt::Display for MessageError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unexpected {
                expected,
                found: Some(found),
                line,
            } => write!(out, "expected {expected}, found `{found}` in line {line}"),
            Self::Unexpected {
                expected,
                found: None,
                line,
            } => write!(
                out,
                "expected {expected} in the element of line {line}, found nothing"
            ),
            Self::Duplicate { element, line } => {
                write!(
                    out,
                    "expected one `{element}`, found another in line {line}"
                )
            }
            Self::Value {
                element,
                expected,
                found,
                line,
            } => {
                write!(out, "expected {expected} in `{element}` (line {line})")?;
                match found {
                    Some(found) => write!(out, ", found `{found}`"),
                    None => out.write_str(", found something else"),
                }
            }
            Self::TooMany { what, limit } => write!(out, "expected at most {limit} {what}"),
        }
    }
}

impl std::error::Error for MessageError {}

/// `{namespace}local`, or `local` without a namespace.
pub(crate) fn expanded_name(element: Element<'_>) -> String {
    match element.namespace() {
        "" => element.local().to_owned(),
        namespace => format!("{{{namespace}}}{}", element.local()),
    }
}

/// Puts `value` in the place of `element`, which must be empty.
pub(crate) fn set<T>(
    place: &mut Option<T>,
    element: Element<'_>,
    value: T,
) -> Result<(), MessageError> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(MessageError::Duplicate {
            element: expanded_name(element),
            line: element.line_column().0,
        }),
    }
}

/// The text of an element that holds nothing else, without white space around it.
pub(crate) fn text(element: Element<'_>) -> Result<String, MessageError> {
    let text = element
        .text_strict()
        .ok_or_else(|| MessageError::value(element, "text and nothing else", None))?;
    let text = text.trim();
    if text.len() > TEXT_LIMIT {
        let expected = "at most 2048 bytes";
        return Err(MessageError::value(element, expected, None));
    }
    Ok(text.to_owned())
}

/// The text of an element that must not be empty.
pub(crate) fn uri(element: Element<'_>) -> Result<String, MessageError> {
    let text = text(element)?;
    match text.is_empty() {
        false => Ok(text),
        true => Err(MessageError::value(element, "a URI", Some(text))),
    }
}

/// The one child element.
pub(crate) fn only_child<'d>(
    parent: Element<'d>,
    expected: &'static str,
) -> Result<Element<'d>, MessageError> {
    let mut children = parent.children();
    match (children.next(), children.next()) {
        (Some(child), None) => Ok(child),
        (Some(_), Some(second)) => Err(MessageError::unexpected(expected, second)),
        (None, _) => Err(MessageError::missing(expected, parent)),
    }
}

/// An `xsd:boolean` attribute without namespace.
pub(crate) fn flag(
    element: Element<'_>,
    attribute: &str,
    default: bool,
) -> Result<bool, MessageError> {
    match element.attribute("", attribute).as_deref().map(str::trim) {
        None => Ok(default),
        Some("true" | "1") => Ok(true),
        Some("false" | "0") => Ok(false),
        Some(other) => {
            let found = Some(other.chars().take(32).collect());
            Err(MessageError::value(
                element,
                "`true` or `false` in its attribute",
                found,
            ))
        }
    }
}
