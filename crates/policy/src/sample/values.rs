//! Values of simple types.

use soapstone_xml::Element;

use super::error::{DEEPEST, MOST_ELEMENTS, SampleError};
use super::schemas::{Schemas, derivation, is_annotation, unmakeable};
use crate::names::XSD;

impl Schemas {
    /// A value of a simple type that is named here.
    pub(super) fn simple_named(
        &self,
        at: Element<'_>,
        named: &str,
        depth: usize,
    ) -> Result<String, SampleError> {
        if depth == DEEPEST {
            return Err(SampleError::TooLarge);
        }
        let name = self.qualified(at, named)?;
        if name.0 == XSD {
            return builtin(name.1, at).map(str::to_owned);
        }
        let found = self.find("type", name)?;
        if found.is(XSD, "simpleType") {
            return self.simple(found, depth + 1);
        }
        match derivation(found) {
            Some((derived, base)) => self.simple_named(derived, &base, depth + 1),
            None => Err(unmakeable("the text of a type without any", found)),
        }
    }

    /// A value of a simple type.
    pub(super) fn simple(&self, of: Element<'_>, depth: usize) -> Result<String, SampleError> {
        if depth == DEEPEST {
            return Err(SampleError::TooLarge);
        }
        let derived = of.children().find(|it| !is_annotation(*it));
        self.spend(derived.map_or(1, |it| it.children().count()))?;
        let Some(derived) = derived else {
            return Err(unmakeable("a type that says nothing", of));
        };
        match derived.local() {
            "restriction" => {
                let facet = |name| {
                    let found = derived.child(XSD, name)?;
                    found.attribute("", "value").map(|it| it.into_owned())
                };
                let least = || facet("minInclusive").or_else(|| facet("maxInclusive"));
                if let Some(value) = facet("enumeration").or_else(least) {
                    return Ok(value);
                }
                for unknown in ["pattern", "minExclusive", "maxExclusive"] {
                    if let Some(facet) = derived.child(XSD, unknown) {
                        return Err(unmakeable(&format!("a restriction by {unknown}"), facet));
                    }
                }
                let value = match (
                    derived.attribute("", "base"),
                    derived.child(XSD, "simpleType"),
                ) {
                    (Some(base), _) => self.simple_named(derived, &base, depth)?,
                    (None, Some(inline)) => self.simple(inline, depth + 1)?,
                    (None, None) => return Err(unmakeable("a type without a base", derived)),
                };
                let number = |name| facet(name).and_then(|it| it.parse::<usize>().ok());
                let exact = number("length");
                let least = exact.or_else(|| number("minLength")).unwrap_or(0);
                let most = exact.or_else(|| number("maxLength"));
                let length = value.chars().count().max(least.min(MOST_ELEMENTS));
                let length = most.map_or(length, |most| length.min(most));
                let filled = value.chars().chain(std::iter::repeat('x'));
                Ok(filled.take(length).collect())
            }
            "list" => match derived.attribute("", "itemType") {
                Some(item) => self.simple_named(derived, &item, depth),
                None => Ok(String::new()),
            },
            "union" => {
                let members = derived.attribute("", "memberTypes");
                let first = members
                    .as_deref()
                    .and_then(|it| it.split_whitespace().next());
                match (first, derived.child(XSD, "simpleType")) {
                    (Some(first), _) => self.simple_named(derived, first, depth),
                    (None, Some(inline)) => self.simple(inline, depth + 1),
                    (None, None) => Err(unmakeable("a union of nothing", derived)),
                }
            }
            other => Err(unmakeable(&format!("a type by {other}"), derived)),
        }
    }
}

/// A value of a type of XML Schema.
pub(super) fn builtin(local: &str, at: Element<'_>) -> Result<&'static str, SampleError> {
    Ok(match local {
        "string" | "normalizedString" | "token" | "Name" | "NCName" | "ID" | "NMTOKEN"
        | "NMTOKENS" => "text",
        "boolean" => "true",
        "nonPositiveInteger" => "0",
        "negativeInteger" => "-1",
        "decimal" | "float" | "double" | "integer" | "nonNegativeInteger" | "positiveInteger"
        | "long" | "int" | "short" | "byte" | "unsignedLong" | "unsignedInt" | "unsignedShort"
        | "unsignedByte" => "1",
        "dateTime" => "2026-01-01T00:00:00Z",
        "date" => "2026-01-01",
        "time" => "00:00:00Z",
        "gYear" => "2026",
        "gYearMonth" => "2026-01",
        "gMonth" => "--01",
        "gMonthDay" => "--01-01",
        "gDay" => "---01",
        "duration" => "P1D",
        "base64Binary" => "AAAA",
        "hexBinary" => "00",
        "anyURI" => "urn:example",
        "language" => "en",
        "anyType" | "anySimpleType" => "",
        other => return Err(unmakeable(&format!("the type {other}"), at)),
    })
}
