//! Attributes of the small elements of WS-Security: those that their schema has, and no others.
//!
//! The one rule: an attribute that would change what an element means, and that its schema does not
//! have, is refused. A receiver that heeds it would read another message (BSP 1.1, R3225, R3226).

use soapstone_xml::Element;

/// Checks that an element has no attribute without a namespace but `Id` and those of `allowed`. The
/// error says what was found.
///
/// The schemas of WS-Security allow attributes of other namespaces everywhere. Old senders write
/// `Id` without a namespace.
///
/// # Errors
/// What was expected and what was found.
pub fn only_attributes(element: Element<'_>, allowed: &[&str]) -> Result<(), String> {
    let unknown = |name: &str| name != "Id" && !allowed.contains(&name);
    match element.plain_attribute(unknown) {
        None => Ok(()),
        Some(attribute) => Err(format!(
            "expected no attribute `{}` in `{}`, found \"{}\"",
            excerpt(attribute.qualified_name()),
            element.local(),
            excerpt(&attribute.value())
        )),
    }
}

/// The beginning of a text: a stranger's may have megabytes.
fn excerpt(text: &str) -> String {
    text.chars().take(80).collect()
}
