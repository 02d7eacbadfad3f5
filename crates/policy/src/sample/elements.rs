//! An element with a value of each type that its XML Schema names.
//!
//! What is optional is left out, of a choice the first is taken, and what may repeat stands once.

use soapstone_xml::Element;
use soapstone_xml::escape::{text_of, value_of};

use super::error::{DEEPEST, MOST_ELEMENTS, SampleError};
use super::schemas::{Schemas, derivation, is_annotation, qualified, unmakeable};
use super::values::builtin;
use crate::names::XSD;

/// The message that is being written.
#[derive(Default)]
struct Draft {
    text: String,
    elements: usize,
    depth: usize,
}

impl Schemas {
    /// An element of this name with a value of each type.
    ///
    /// # Errors
    /// No schema has it, or a value cannot be made.
    pub(super) fn element(&self, namespace: &str, local: &str) -> Result<String, SampleError> {
        let mut draft = Draft::default();
        let declared = self.find("element", (namespace, local))?;
        self.write_element(declared, "", &mut draft)?;
        Ok(draft.text)
    }

    /// Writes an element that is declared here or elsewhere, into one whose default namespace is
    /// `outer`.
    fn write_element(
        &self,
        declaration: Element<'_>,
        outer: &str,
        draft: &mut Draft,
    ) -> Result<(), SampleError> {
        if let Some(reference) = declaration.attribute("", "ref") {
            let declared = self.find("element", qualified(declaration, &reference)?)?;
            return self.write_element(declared, outer, draft);
        }
        draft.elements += 1;
        if draft.elements > MOST_ELEMENTS || draft.depth == DEEPEST {
            return Err(SampleError::TooLarge);
        }
        let name = declaration.attribute("", "name").unwrap_or_default();
        let schema = schema_of(declaration);
        let is_global = declaration.parent().is_some_and(|it| it.is(XSD, "schema"));
        let of_schema = |attribute| schema.and_then(|it| it.attribute("", attribute));
        let form = declaration.attribute("", "form");
        let is_qualified = match form.as_deref() {
            Some(form) => form == "qualified",
            None => is_global || of_schema("elementFormDefault").as_deref() == Some("qualified"),
        };
        let namespace = match of_schema("targetNamespace") {
            Some(target) if is_qualified => target.into_owned(),
            _ => String::new(),
        };
        draft.text.push_str(&format!("<{name}"));
        if namespace != outer {
            let value = value_of(&namespace);
            draft.text.push_str(&format!(" xmlns=\"{value}\""));
        }
        draft.depth += 1;
        let given = ["fixed", "default"].map(|it| declaration.attribute("", it));
        match given.into_iter().flatten().next() {
            Some(value) => {
                draft.text.push('>');
                draft.text.push_str(&text_of(&value));
            }
            None => self.write_typed(declaration, &namespace, draft)?,
        }
        draft.depth -= 1;
        draft.text.push_str(&format!("</{name}>"));
        Ok(())
    }

    /// The end of the start tag and the content of an element, by its type.
    fn write_typed(
        &self,
        declaration: Element<'_>,
        namespace: &str,
        draft: &mut Draft,
    ) -> Result<(), SampleError> {
        let inline = declaration
            .children()
            .find(|it| it.is(XSD, "complexType") || it.is(XSD, "simpleType"));
        let found;
        let of = match (declaration.attribute("", "type"), inline) {
            (Some(named), _) => {
                let name = qualified(declaration, &named)?;
                if name.0 == XSD {
                    draft.text.push('>');
                    draft.text.push_str(builtin(name.1, declaration)?);
                    return Ok(());
                }
                found = self.find("type", name)?;
                found
            }
            (None, Some(inline)) => inline,
            (None, None) => {
                draft.text.push('>');
                return Ok(());
            }
        };
        if of.is(XSD, "simpleType") {
            draft.text.push('>');
            let value = self.simple(of, 0)?;
            draft.text.push_str(&text_of(&value));
            return Ok(());
        }
        self.write_attributes(of, 0, draft)?;
        draft.text.push('>');
        self.write_content(of, namespace, 0, draft)
    }

    /// Required attributes of a complex type, those of its base first.
    fn write_attributes(
        &self,
        of: Element<'_>,
        depth: usize,
        draft: &mut Draft,
    ) -> Result<(), SampleError> {
        if depth == DEEPEST {
            return Err(SampleError::TooLarge);
        }
        let derived = derivation(of);
        if let Some((derived, base)) = &derived
            && derived.local() == "extension"
        {
            let base = qualified(*derived, base)?;
            if base.0 != XSD {
                let base = self.find("type", base)?;
                if base.is(XSD, "complexType") {
                    self.write_attributes(base, depth + 1, draft)?;
                }
            }
        }
        let holder = derived.map_or(of, |it| it.0);
        let attributes = holder.children().filter(|it| it.is(XSD, "attribute"));
        for attribute in attributes {
            if attribute.attribute("", "use").as_deref() != Some("required") {
                continue;
            }
            let (Some(name), None) = (
                attribute.attribute("", "name"),
                attribute.attribute("", "form"),
            ) else {
                return Err(unmakeable("an attribute of another schema", attribute));
            };
            let inline = attribute.child(XSD, "simpleType");
            let value = match (attribute.attribute("", "fixed"), inline) {
                (Some(fixed), _) => fixed.into_owned(),
                (None, Some(inline)) => self.simple(inline, 0)?,
                (None, None) => match attribute.attribute("", "type") {
                    Some(named) => self.simple_named(attribute, &named, 0)?,
                    None => String::new(),
                },
            };
            let value = value_of(&value);
            draft.text.push_str(&format!(" {name}=\"{value}\""));
        }
        Ok(())
    }

    /// The content of a complex type, that of its base first.
    fn write_content(
        &self,
        of: Element<'_>,
        namespace: &str,
        depth: usize,
        draft: &mut Draft,
    ) -> Result<(), SampleError> {
        if depth == DEEPEST {
            return Err(SampleError::TooLarge);
        }
        if of.attribute("", "abstract").as_deref() == Some("true") {
            return Err(unmakeable("an abstract type", of));
        }
        let mut holder = of;
        if let Some((derived, base)) = derivation(of) {
            let is_simple = of.child(XSD, "simpleContent").is_some();
            if is_simple {
                let value = self.simple_named(derived, &base, depth)?;
                draft.text.push_str(&text_of(&value));
                return Ok(());
            }
            let base = qualified(derived, &base)?;
            if derived.local() == "extension" && base.0 != XSD {
                let base = self.find("type", base)?;
                self.write_content(base, namespace, depth + 1, draft)?;
            }
            holder = derived;
        }
        let particles = ["sequence", "all", "choice", "group"];
        let content = holder
            .children()
            .find(|it| it.namespace() == XSD && particles.contains(&it.local()));
        match content {
            Some(content) => self.write_particle(content, namespace, depth, draft),
            None => Ok(()),
        }
    }

    fn write_particle(
        &self,
        particle: Element<'_>,
        namespace: &str,
        depth: usize,
        draft: &mut Draft,
    ) -> Result<(), SampleError> {
        if depth == DEEPEST {
            return Err(SampleError::TooLarge);
        }
        if particle.namespace() != XSD
            || particle.attribute("", "minOccurs").as_deref() == Some("0")
        {
            return Ok(());
        }
        match particle.local() {
            "element" => self.write_element(particle, namespace, draft),
            "sequence" | "all" => {
                for inner in particle.children() {
                    self.write_particle(inner, namespace, depth + 1, draft)?;
                }
                Ok(())
            }
            "choice" => {
                let mut choices = particle.children().filter(|it| !is_annotation(*it));
                match choices.next() {
                    Some(first) => self.write_particle(first, namespace, depth + 1, draft),
                    None => Ok(()),
                }
            }
            "group" => {
                let Some(reference) = particle.attribute("", "ref") else {
                    return Ok(());
                };
                let group = self.find("group", qualified(particle, &reference)?)?;
                for inner in group.children().filter(|it| !is_annotation(*it)) {
                    self.write_particle(inner, namespace, depth + 1, draft)?;
                }
                Ok(())
            }
            "any" => Err(unmakeable("an element of any name", particle)),
            _ => Ok(()),
        }
    }
}

/// The schema that a declaration stands in.
fn schema_of(declaration: Element<'_>) -> Option<Element<'_>> {
    declaration.ancestors().find(|it| it.is(XSD, "schema"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::WSDL;

    fn schemas(types: &str) -> Schemas {
        let wsdl = format!(
            "<d:definitions xmlns:d=\"{WSDL}\" xmlns:x=\"{XSD}\" xmlns:t=\"urn:t\"><d:types>\
             <x:schema targetNamespace=\"urn:t\" elementFormDefault=\"qualified\">{types}</x:schema></d:types></d:definitions>"
        );
        Schemas::read(wsdl.into_bytes(), &|_| None).expect("a description")
    }

    #[test]
    fn a_value_of_each_type_is_written_once_and_what_is_optional_is_left_out() {
        let made = schemas(
            "<x:element name=\"find\"><x:complexType><x:sequence>\
             <x:element name=\"id\" type=\"t:code\"/><x:element name=\"on\" type=\"x:date\"/>\
             <x:element name=\"note\" type=\"x:string\" minOccurs=\"0\"/>\
             <x:choice><x:element name=\"one\" type=\"x:int\"/><x:element name=\"two\" type=\"x:int\"/></x:choice>\
             <x:element ref=\"t:tail\"/></x:sequence><x:attribute name=\"kind\" use=\"required\" type=\"t:kind\"/></x:complexType></x:element>\
             <x:element name=\"tail\" type=\"t:longer\"/>\
             <x:simpleType name=\"code\"><x:restriction base=\"x:string\"><x:length value=\"6\"/></x:restriction></x:simpleType>\
             <x:simpleType name=\"kind\"><x:restriction base=\"x:string\"><x:enumeration value=\"a&amp;b\"/></x:restriction></x:simpleType>\
             <x:complexType name=\"base\"><x:sequence><x:element name=\"first\" type=\"x:boolean\"/></x:sequence></x:complexType>\
             <x:complexType name=\"longer\"><x:complexContent><x:extension base=\"t:base\"><x:sequence>\
             <x:element name=\"second\" type=\"x:base64Binary\" form=\"unqualified\"/></x:sequence></x:extension></x:complexContent></x:complexType>",
        );
        assert_eq!(
            made.element("urn:t", "find").as_deref(),
            Ok(
                "<find xmlns=\"urn:t\" kind=\"a&amp;b\"><id>textxx</id><on>2026-01-01</on><one>1</one>\
                 <tail><first>true</first><second xmlns=\"\">AAAA</second></tail></find>"
            )
        );
    }

    #[test]
    fn what_nobody_can_make_up_is_told_with_its_place() {
        let made = schemas(
            "\n<x:element name=\"find\" type=\"t:code\"/>\n<x:simpleType name=\"code\"><x:restriction base=\"x:string\">\n\
             <x:pattern value=\"[A-Z]{3}\"/></x:restriction></x:simpleType>\
             <x:element name=\"loop\"><x:complexType><x:sequence><x:element ref=\"t:loop\"/></x:sequence></x:complexType></x:element>",
        );
        let told = |local| made.element("urn:t", local).expect_err("an error");
        assert_eq!(
            told("find"),
            SampleError::Unmakeable {
                what: "a restriction by pattern".to_owned(),
                place: (4, 1),
            }
        );
        assert_eq!(told("loop"), SampleError::TooLarge);
        assert_eq!(
            told("none").to_string(),
            "no schema has the element {urn:t}none"
        );
    }

    #[test]
    fn documents_that_are_not_there_are_told_where_they_are_missed() {
        let wsdl = format!(
            "<d:definitions xmlns:d=\"{WSDL}\" xmlns:x=\"{XSD}\"><d:types><x:schema>\
             <x:import namespace=\"urn:o\" schemaLocation=\"http://host/o?xsd\"/></x:schema></d:types></d:definitions>"
        );
        let schemas = Schemas::read(wsdl.into_bytes(), &|_| None).expect("a description");
        assert_eq!(
            schemas.element("urn:o", "ask").map_err(|it| it.to_string()),
            Err(
                "no schema has the element {urn:o}ask; these are not files beside the description: http://host/o?xsd"
                    .to_owned()
            )
        );
    }

    #[test]
    fn schemas_of_other_files_are_read_once_even_if_they_import_each_other() {
        let wsdl = format!(
            "<d:definitions xmlns:d=\"{WSDL}\" xmlns:x=\"{XSD}\"><d:types><x:schema>\
             <x:import namespace=\"urn:o\" schemaLocation=\"o.xsd\"/></x:schema></d:types></d:definitions>"
        );
        let other = format!(
            "<x:schema xmlns:x=\"{XSD}\" targetNamespace=\"urn:o\"><x:include schemaLocation=\"o.xsd\"/>\
             <x:element name=\"ask\"><x:complexType><x:all><x:element name=\"what\" type=\"x:string\"/></x:all></x:complexType></x:element></x:schema>"
        );
        let resolve = |location: &str| (location == "o.xsd").then(|| other.clone().into_bytes());
        let schemas = Schemas::read(wsdl.into_bytes(), &resolve).expect("a description");
        assert_eq!(schemas.documents.len(), 2);
        assert_eq!(
            schemas.element("urn:o", "ask").as_deref(),
            Ok("<ask xmlns=\"urn:o\"><what xmlns=\"\">text</what></ask>")
        );
    }
}
