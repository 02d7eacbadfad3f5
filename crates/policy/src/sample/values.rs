//! Values of simple types.

use soapstone_xml::Element;

use super::error::{DEEPEST, MOST_ELEMENTS, SampleError};
use super::schemas::{Schemas, derivation, is_annotation, unmakeable};
use crate::names::XSD;

/// A value, and what is known of its type.
pub(super) struct Value {
    pub(super) text: String,
    unit: Unit,
    /// Other lengths are as good.
    is_free: bool,
}

/// What facets of length count (XML Schema Part 2, 4.3.1).
#[derive(Clone, Copy)]
enum Unit {
    Character,
    HexByte,
    Base64Byte,
    Item,
}

impl Value {
    fn length(&self) -> usize {
        match self.unit {
            Unit::Character => self.text.chars().count(),
            Unit::HexByte => self.text.len() / 2,
            Unit::Base64Byte => {
                let digits = self.text.bytes().filter(u8::is_ascii_alphanumeric);
                digits.count() * 3 / 4
            }
            Unit::Item => self.text.split_whitespace().count(),
        }
    }

    /// Makes it of this length, if it can have others.
    fn resize(&mut self, length: usize) -> Option<()> {
        if !self.is_free {
            return None;
        }
        self.text = match self.unit {
            Unit::Character => {
                let filled = self.text.chars().chain(std::iter::repeat('x'));
                filled.take(length).collect()
            }
            Unit::HexByte => "00".repeat(length),
            Unit::Base64Byte => {
                let end = ["", "AA==", "AAA="][length % 3];
                "AAAA".repeat(length / 3) + end
            }
            Unit::Item => {
                let item = self.text.split_whitespace().next()?;
                vec![item; length].join(" ")
            }
        };
        Some(())
    }
}

impl Schemas {
    /// A value of a simple type that is named here.
    pub(super) fn simple_named(
        &self,
        at: Element<'_>,
        named: &str,
        depth: usize,
    ) -> Result<Value, SampleError> {
        if depth == DEEPEST {
            return Err(SampleError::TooLarge);
        }
        let name = self.qualified(at, named)?;
        if name.0 == XSD {
            return builtin(name.1, at);
        }
        let found = self.find("type", name)?;
        if found.is(XSD, "simpleType") {
            return self.simple(found, depth + 1);
        }
        match derivation(found) {
            Some((derived, base)) => self.simple_content(derived, &base, depth + 1),
            None => Err(unmakeable("the text of a type without any", found)),
        }
    }

    /// The text of a complex type that extends or restricts a base.
    pub(super) fn simple_content(
        &self,
        derived: Element<'_>,
        base: &str,
        depth: usize,
    ) -> Result<Value, SampleError> {
        match derived.local() {
            "restriction" => self.restricted(derived, depth),
            _ => self.simple_named(derived, base, depth),
        }
    }

    /// A value of a simple type.
    pub(super) fn simple(&self, of: Element<'_>, depth: usize) -> Result<Value, SampleError> {
        if depth == DEEPEST {
            return Err(SampleError::TooLarge);
        }
        let derived = of.children().find(|it| !is_annotation(*it));
        let Some(derived) = derived else {
            return Err(unmakeable("a type that says nothing", of));
        };
        let inline = derived.child(XSD, "simpleType");
        match derived.local() {
            "restriction" => self.restricted(derived, depth),
            "list" => {
                let item = match (derived.attribute("", "itemType"), inline) {
                    (Some(item), _) => self.simple_named(derived, &item, depth)?,
                    (None, Some(inline)) => self.simple(inline, depth + 1)?,
                    (None, None) => return Err(unmakeable("a list of nothing", derived)),
                };
                Ok(Value {
                    text: item.text,
                    unit: Unit::Item,
                    is_free: true,
                })
            }
            "union" => {
                let members = derived.attribute("", "memberTypes");
                let first = members
                    .as_deref()
                    .and_then(|it| it.split_whitespace().next());
                match (first, inline) {
                    (Some(first), _) => self.simple_named(derived, first, depth),
                    (None, Some(inline)) => self.simple(inline, depth + 1),
                    (None, None) => Err(unmakeable("a union of nothing", derived)),
                }
            }
            other => Err(unmakeable(&format!("a type by {other}"), derived)),
        }
    }

    /// A value of the base of a restriction, as its facets demand.
    fn restricted(&self, derived: Element<'_>, depth: usize) -> Result<Value, SampleError> {
        self.spend(derived.children().count())?;
        let refuse = |names: &[&str]| match names.iter().find_map(|it| derived.child(XSD, it)) {
            Some(facet) => Err(unmakeable(
                &format!("a restriction by {}", facet.local()),
                facet,
            )),
            None => Ok(()),
        };
        // A value that another facet gives need not match it.
        refuse(&["pattern", "assertion", "explicitTimezone"])?;
        let inline = derived.child(XSD, "simpleType");
        let value = match (inline, derived.attribute("", "base")) {
            (Some(inline), _) => self.simple(inline, depth + 1),
            (None, Some(base)) => self.simple_named(derived, &base, depth),
            (None, None) => Err(unmakeable("a type without a base", derived)),
        };
        let facet = |name| {
            let found = derived.child(XSD, name)?;
            found.attribute("", "value").map(|it| it.into_owned())
        };
        let least = || facet("minInclusive").or_else(|| facet("maxInclusive"));
        let given = |text, unit| Value {
            text,
            unit,
            is_free: false,
        };
        let mut value = match (facet("enumeration"), least()) {
            // It is a value of the base, even of one that no value can be made for.
            (Some(text), _) => given(text, value.map_or(Unit::Character, |it| it.unit)),
            (None, Some(text)) => given(text, value?.unit),
            (None, None) => {
                refuse(&["minExclusive", "maxExclusive"])?;
                value?
            }
        };
        let number = |name| match facet(name) {
            Some(text) => match text.trim().parse::<usize>() {
                Ok(number) if number <= MOST_ELEMENTS => Ok(Some(number)),
                // More than is made may be the most, and not the least.
                _ if name == "maxLength" => Ok(None),
                _ => Err(SampleError::TooLarge),
            },
            None => Ok(None),
        };
        let exact = number("length")?;
        let least = exact.or(number("minLength")?).unwrap_or(0);
        let most = exact.or(number("maxLength")?).unwrap_or(usize::MAX);
        let length = value.length();
        if length < least || length > most {
            let resized = value.resize(length.max(least).min(most));
            resized.ok_or_else(|| unmakeable("a restriction by length", derived))?;
        }
        Ok(value)
    }
}

/// A value of a type of XML Schema.
pub(super) fn builtin(local: &str, at: Element<'_>) -> Result<Value, SampleError> {
    let (unit, is_free) = match local {
        "string" | "normalizedString" | "token" | "Name" | "NCName" | "ID" | "NMTOKEN"
        | "anyURI" => (Unit::Character, true),
        "NMTOKENS" => (Unit::Item, true),
        "hexBinary" => (Unit::HexByte, true),
        "base64Binary" => (Unit::Base64Byte, true),
        _ => (Unit::Character, false),
    };
    let text = match local {
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
    };
    Ok(Value {
        text: text.to_owned(),
        unit,
        is_free,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::WSDL;

    /// The content of an element of this type.
    fn made(kind: &str) -> Result<String, String> {
        let wsdl = format!(
            "<d:definitions xmlns:d=\"{WSDL}\" xmlns:x=\"{XSD}\" xmlns:t=\"urn:t\"><d:types><x:schema targetNamespace=\"urn:t\">\
             <x:element name=\"e\">{kind}</x:element>\
             <x:simpleType name=\"ints\"><x:list itemType=\"x:int\"/></x:simpleType>\
             <x:simpleType name=\"word\"><x:restriction base=\"x:string\"><x:enumeration value=\"abcdef\"/><x:enumeration value=\"ab\"/></x:restriction></x:simpleType>\
             </x:schema></d:types></d:definitions>"
        );
        let schemas = Schemas::read(wsdl.into_bytes(), &|_| None).expect("a description");
        let text = schemas.element("urn:t", "e").map_err(|it| it.to_string())?;
        let (_, text) = text.split_once('>').expect("a start tag");
        Ok(text.trim_end_matches("</e>").to_owned())
    }

    fn restricted(base: &str, facets: &[(&str, &str)]) -> Result<String, String> {
        let facets = facets.iter();
        let facets: String = facets
            .map(|(name, value)| format!("<x:{name} value=\"{value}\"/>"))
            .collect();
        made(&format!(
            "<x:simpleType><x:restriction base=\"{base}\">{facets}</x:restriction></x:simpleType>"
        ))
    }

    /// XML Schema Part 2, 4.3.1: characters, bytes or items, as the type says.
    #[test]
    fn lengths_are_counted_in_what_the_type_is_made_of() {
        for (base, facets, text) in [
            ("x:string", [("minLength", "6")], "textxx"),
            ("x:string", [("maxLength", "2")], "te"),
            ("x:hexBinary", [("length", "3")], "000000"),
            ("x:hexBinary", [("length", "1")], "00"),
            ("x:base64Binary", [("maxLength", "99999999")], "AAAA"),
            ("x:base64Binary", [("length", "3")], "AAAA"),
            ("x:base64Binary", [("length", "4")], "AAAAAA=="),
            ("x:base64Binary", [("length", "5")], "AAAAAAA="),
            ("t:ints", [("length", "3")], "1 1 1"),
            ("t:ints", [("minLength", "1")], "1"),
            ("x:NMTOKENS", [("minLength", "2")], "text text"),
            ("t:word", [("minLength", "6")], "abcdef"),
        ] {
            assert_eq!(restricted(base, &facets).as_deref(), Ok(text), "{base}");
        }
    }

    #[test]
    fn facets_that_the_value_may_not_meet_are_told() {
        for (base, facets, what) in [
            ("t:word", &[("maxLength", "2")][..], "length"),
            ("x:language", &[("minLength", "9")], "length"),
            (
                "x:int",
                &[("minInclusive", "100"), ("pattern", "[0-9]{4}")],
                "pattern",
            ),
            (
                "x:string",
                &[("enumeration", "a"), ("pattern", "b")],
                "pattern",
            ),
            ("x:int", &[("minExclusive", "1")], "minExclusive"),
        ] {
            let told = restricted(base, facets).expect_err(base);
            let expected = format!("no value can be made for a restriction by {what} (");
            assert!(told.starts_with(&expected), "{told}");
        }
        assert_eq!(
            restricted("x:string", &[("minLength", "10001")]),
            Err(SampleError::TooLarge.to_string())
        );
    }

    #[test]
    fn a_complex_type_restricts_its_text_as_a_simple_one_does() {
        let restricted = made(
            "<x:complexType><x:simpleContent><x:restriction base=\"x:string\"><x:maxLength value=\"1\"/></x:restriction></x:simpleContent></x:complexType>",
        );
        assert_eq!(restricted.as_deref(), Ok("t"));
    }

    #[test]
    fn a_list_has_an_item_of_the_type_inside() {
        let list = made(
            "<x:simpleType><x:list><x:simpleType><x:restriction base=\"x:int\"><x:minInclusive value=\"5\"/></x:restriction></x:simpleType></x:list></x:simpleType>",
        );
        assert_eq!(list.as_deref(), Ok("5"));
    }
}
