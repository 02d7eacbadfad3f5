//! An element with a value of each type that its XML Schema names.
//!
//! What is optional is left out, of a choice the first is taken, and what may repeat stands as
//! often as it must.

use soapstone_xml::Element;
use soapstone_xml::escape::{text_of, value_of};

use super::error::{DEEPEST, MOST_ELEMENTS, MOST_NESTED, MOST_PARTICLES, SampleError};
use super::schemas::{Schemas, derivation, is_annotation, schema_of, unmakeable};
use super::values::builtin;
use crate::names::XSD;

/// The message that is being written.
#[derive(Default)]
struct Draft {
    text: String,
    elements: usize,
    depth: usize,
    /// Types and particles that are being written, of all elements.
    nested: usize,
    particles: usize,
    /// The bytes of the text that are counted as steps already.
    counted: usize,
}

impl Draft {
    /// Begins a type or a particle; the end of it is [`Self::leave`].
    fn enter(&mut self) -> Result<(), SampleError> {
        self.nested += 1;
        self.particles += 1;
        if self.nested > MOST_NESTED || self.particles > MOST_PARTICLES {
            return Err(SampleError::TooLarge);
        }
        Ok(())
    }

    fn leave(&mut self) {
        self.nested -= 1;
    }

    /// What was written since the last call, as steps.
    fn steps(&mut self) -> usize {
        let written = self.text.len() - self.counted;
        self.counted = self.text.len();
        written
    }
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
        let declaration = match declaration.attribute("", "ref") {
            // The element that it leads to is at the top of a schema, where none refers further.
            Some(reference) => self.find("element", self.qualified(declaration, &reference)?)?,
            None => declaration,
        };
        self.spend(draft.steps())?;
        if is_true(declaration, "abstract") {
            return Err(unmakeable("an abstract element", declaration));
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
        let target = self.target(declaration).filter(|_| is_qualified);
        let namespace = target.unwrap_or_default();
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
                let name = self.qualified(declaration, &named)?;
                if name.0 == XSD {
                    draft.text.push('>');
                    draft.text.push_str(&builtin(name.1, declaration)?.text);
                    return Ok(());
                }
                found = self.find("type", name)?;
                found
            }
            (None, Some(inline)) => inline,
            (None, None) if declaration.attribute("", "substitutionGroup").is_some() => {
                return Err(unmakeable("the type of a substitution group", declaration));
            }
            (None, None) => {
                draft.text.push('>');
                return Ok(());
            }
        };
        if of.is(XSD, "simpleType") {
            draft.text.push('>');
            let value = self.simple(of, 0)?;
            draft.text.push_str(&text_of(&value.text));
            return Ok(());
        }
        if is_true(of, "abstract") {
            return Err(unmakeable("an abstract type", of));
        }
        self.write_attributes(of, draft)?;
        draft.text.push('>');
        self.write_content(of, namespace, draft)
    }

    /// The required attributes of a complex type, those of its base first.
    fn write_attributes(&self, of: Element<'_>, draft: &mut Draft) -> Result<(), SampleError> {
        let mut attributes = Vec::new();
        self.attributes(of, &mut attributes, draft)?;
        for attribute in attributes {
            self.spend(draft.steps())?;
            if attribute.attribute("", "use").as_deref() != Some("required") {
                continue;
            }
            let Some(name) = attribute.attribute("", "name") else {
                return Err(unmakeable("an attribute of another schema", attribute));
            };
            let of_schema = || schema_of(attribute)?.attribute("", "attributeFormDefault");
            let form = attribute.attribute("", "form").or_else(of_schema);
            if form.as_deref() == Some("qualified") {
                return Err(unmakeable("an attribute with a namespace", attribute));
            }
            let inline = attribute.child(XSD, "simpleType");
            let value = match (attribute.attribute("", "fixed"), inline) {
                (Some(fixed), _) => fixed.into_owned(),
                (None, Some(inline)) => self.simple(inline, 0)?.text,
                (None, None) => match attribute.attribute("", "type") {
                    Some(named) => self.simple_named(attribute, &named, 0)?.text,
                    None => String::new(),
                },
            };
            let value = value_of(&value);
            draft.text.push_str(&format!(" {name}=\"{value}\""));
        }
        Ok(())
    }

    /// Adds the attributes of a complex type, of its base, and of the groups that they name. A
    /// restriction declares only attributes that differ from those of its base.
    fn attributes<'s>(
        &'s self,
        of: Element<'s>,
        attributes: &mut Vec<Element<'s>>,
        draft: &mut Draft,
    ) -> Result<(), SampleError> {
        draft.enter()?;
        let derived = derivation(of);
        if let Some((derived, base)) = &derived {
            let base = self.qualified(*derived, base)?;
            if base.0 != XSD {
                let base = self.find("type", base)?;
                if base.is(XSD, "complexType") {
                    self.attributes(base, attributes, draft)?;
                }
            }
        }
        let holder = derived.map_or(of, |it| it.0);
        for child in holder.children().filter(|it| it.namespace() == XSD) {
            self.spend(1)?;
            match child.local() {
                "attribute" => {
                    self.spend(attributes.len())?;
                    attributes.retain(|it| {
                        let same = |name| it.attribute("", name) == child.attribute("", name);
                        !(same("name") && same("ref"))
                    });
                    attributes.push(child);
                }
                "attributeGroup" => {
                    if let Some(reference) = child.attribute("", "ref") {
                        let name = self.qualified(child, &reference)?;
                        let group = self.find("attributeGroup", name)?;
                        self.attributes(group, attributes, draft)?;
                    }
                }
                _ => {}
            }
        }
        draft.leave();
        Ok(())
    }

    /// The content of a complex type, that of its base first.
    fn write_content(
        &self,
        of: Element<'_>,
        namespace: &str,
        draft: &mut Draft,
    ) -> Result<(), SampleError> {
        draft.enter()?;
        let mut holder = of;
        if let Some((derived, base)) = derivation(of) {
            let is_simple = of.child(XSD, "simpleContent").is_some();
            if is_simple {
                let value = self.simple_content(derived, &base, 0)?;
                draft.text.push_str(&text_of(&value.text));
                draft.leave();
                return Ok(());
            }
            let base = self.qualified(derived, &base)?;
            if derived.local() == "extension" && base.0 != XSD {
                let base = self.find("type", base)?;
                self.write_content(base, namespace, draft)?;
            }
            holder = derived;
        }
        let particles = ["sequence", "all", "choice", "group"];
        let content = holder
            .children()
            .find(|it| it.namespace() == XSD && particles.contains(&it.local()));
        if let Some(content) = content {
            self.write_particle(content, namespace, draft)?;
        }
        draft.leave();
        Ok(())
    }

    fn write_particle(
        &self,
        particle: Element<'_>,
        namespace: &str,
        draft: &mut Draft,
    ) -> Result<(), SampleError> {
        self.spend(1)?;
        if particle.namespace() != XSD {
            return Ok(());
        }
        let occurs = particle.attribute("", "minOccurs");
        let occurs = occurs.as_deref().map_or(Ok(1), |it| it.trim().parse());
        let occurs: usize = occurs.map_err(|_| SampleError::TooLarge)?;
        for _ in 0..occurs {
            self.write_occurrence(particle, namespace, draft)?;
        }
        Ok(())
    }

    /// Writes a particle once.
    fn write_occurrence(
        &self,
        particle: Element<'_>,
        namespace: &str,
        draft: &mut Draft,
    ) -> Result<(), SampleError> {
        draft.enter()?;
        match particle.local() {
            "element" => self.write_element(particle, namespace, draft)?,
            "sequence" | "all" => {
                for inner in particle.children() {
                    self.write_particle(inner, namespace, draft)?;
                }
            }
            "choice" => {
                let mut choices = particle.children().filter(|it| !is_annotation(*it));
                if let Some(first) = choices.next() {
                    self.write_particle(first, namespace, draft)?;
                }
            }
            "group" => {
                if let Some(reference) = particle.attribute("", "ref") {
                    let group = self.find("group", self.qualified(particle, &reference)?)?;
                    for inner in group.children().filter(|it| !is_annotation(*it)) {
                        self.write_particle(inner, namespace, draft)?;
                    }
                }
            }
            "any" => return Err(unmakeable("an element of any name", particle)),
            _ => {}
        }
        draft.leave();
        Ok(())
    }
}

fn is_true(element: Element<'_>, attribute: &str) -> bool {
    let value = element.attribute("", attribute);
    value.is_some_and(|it| ["true", "1"].contains(&it.trim()))
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

    /// A chain of links without an end, and one that doubles at each link.
    #[test]
    fn types_and_groups_that_refer_to_each_other_end_and_cost_little() {
        let doubled: String = (1..32)
            .map(|at| {
                let next = format!("<x:group ref=\"t:g{}\"/>", at + 1);
                format!("<x:group name=\"g{at}\"><x:sequence>{next}{next}</x:sequence></x:group>")
            })
            .collect();
        let of = |name: &str, content: &str| {
            format!(
                "<x:element name=\"{name}\"><x:complexType>{content}</x:complexType></x:element>"
            )
        };
        let text = |base: &str| {
            format!("<x:simpleContent><x:restriction base=\"t:{base}\"/></x:simpleContent>")
        };
        let made = schemas(&format!(
            "<x:complexType name=\"self\">{}</x:complexType>{}{}{}\
             {doubled}<x:group name=\"g32\"><x:sequence/></x:group><x:group name=\"me\"><x:sequence><x:group ref=\"t:me\"/></x:sequence></x:group>",
            text("self"),
            of("text", &text("self")),
            of("doubled", "<x:group ref=\"t:g1\"/>"),
            of("grouped", "<x:group ref=\"t:me\"/>"),
        ));
        for local in ["text", "grouped", "doubled"] {
            assert_eq!(
                made.element("urn:t", local),
                Err(SampleError::TooLarge),
                "{local}"
            );
        }
    }

    /// A reference at the top of a schema leads to itself.
    #[test]
    fn elements_at_the_top_refer_no_further() {
        let made = schemas("<x:element name=\"self\" ref=\"t:self\"/>");
        assert_eq!(
            made.element("urn:t", "self").as_deref(),
            Ok("<self xmlns=\"urn:t\"></self>")
        );
    }

    #[test]
    fn what_must_repeat_stands_as_often_as_it_must() {
        let made = schemas(
            "<x:element name=\"many\"><x:complexType><x:sequence minOccurs=\"2\"><x:element name=\"n\" type=\"x:int\" minOccurs=\"2\"/>\
             <x:element name=\"o\" type=\"x:int\" minOccurs=\"00\"/></x:sequence></x:complexType></x:element>\
             <x:element name=\"huge\"><x:complexType><x:sequence minOccurs=\"4000000000\"/></x:complexType></x:element>",
        );
        assert_eq!(
            made.element("urn:t", "many").as_deref(),
            Ok("<many xmlns=\"urn:t\"><n>1</n><n>1</n><n>1</n><n>1</n></many>")
        );
        assert_eq!(made.element("urn:t", "huge"), Err(SampleError::TooLarge));
    }

    #[test]
    fn what_is_abstract_is_not_written_and_what_extends_it_is() {
        let made = schemas(
            "<x:complexType name=\"base\" abstract=\"true\"><x:sequence><x:element name=\"n\" type=\"x:int\"/></x:sequence></x:complexType>\
             <x:complexType name=\"whole\"><x:complexContent><x:extension base=\"t:base\"/></x:complexContent></x:complexType>\
             <x:element name=\"one\" type=\"t:whole\"/><x:element name=\"two\" type=\"t:base\"/>\
             <x:element name=\"three\" type=\"t:whole\" abstract=\"1\"/><x:element name=\"four\" substitutionGroup=\"t:three\"/>",
        );
        assert_eq!(
            made.element("urn:t", "one").as_deref(),
            Ok("<one xmlns=\"urn:t\"><n>1</n></one>")
        );
        for (local, what) in [
            ("two", "an abstract type"),
            ("three", "an abstract element"),
            ("four", "the type of a substitution group"),
        ] {
            let told = made.element("urn:t", local).map_err(|it| it.to_string());
            let told = told.expect_err(local);
            assert!(told.contains(&format!("made for {what} (")), "{told}");
        }
    }

    #[test]
    fn required_attributes_of_groups_and_of_restricted_types_are_written() {
        let attribute = |name: &str, more: &str| {
            format!("<x:attribute name=\"{name}\" use=\"required\" type=\"x:int\"{more}/>")
        };
        let made = schemas(&format!(
            "<x:attributeGroup name=\"g\">{}</x:attributeGroup><x:attributeGroup name=\"me\"><x:attributeGroup ref=\"t:me\"/></x:attributeGroup>\
             <x:complexType name=\"base\"><x:attributeGroup ref=\"t:g\"/>{}{}</x:complexType>\
             <x:element name=\"less\"><x:complexType><x:complexContent><x:restriction base=\"t:base\">{}</x:restriction></x:complexContent></x:complexType></x:element>\
             <x:element name=\"named\"><x:complexType>{}</x:complexType></x:element>\
             <x:element name=\"self\"><x:complexType><x:attributeGroup ref=\"t:me\"/></x:complexType></x:element>",
            attribute("a", " form=\"unqualified\""),
            attribute("b", ""),
            attribute("c", ""),
            attribute("b", " fixed=\"7\""),
            attribute("q", " form=\"qualified\""),
        ));
        assert_eq!(
            made.element("urn:t", "less").as_deref(),
            Ok("<less xmlns=\"urn:t\" a=\"1\" c=\"1\" b=\"7\"></less>")
        );
        let told = made.element("urn:t", "named").map_err(|it| it.to_string());
        let told = told.expect_err("an attribute");
        assert!(
            told.contains("made for an attribute with a namespace ("),
            "{told}"
        );
        assert_eq!(made.element("urn:t", "self"), Err(SampleError::TooLarge));
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

    /// XML Schema, 4.2.1: a schema without a namespace has that of each schema that includes it.
    #[test]
    fn included_schemas_without_a_namespace_have_that_of_whoever_includes_them() {
        let schema = |namespace: &str| {
            format!(
                "<x:schema targetNamespace=\"{namespace}\" elementFormDefault=\"qualified\"><x:include schemaLocation=\"c.xsd\"/></x:schema>"
            )
        };
        let wsdl = format!(
            "<d:definitions xmlns:d=\"{WSDL}\" xmlns:x=\"{XSD}\"><d:types>{}{}</d:types></d:definitions>",
            schema("urn:a"),
            schema("urn:b"),
        );
        let other = format!(
            "<x:schema xmlns:x=\"{XSD}\"><x:include schemaLocation=\"d.xsd\"/><x:element name=\"ask\" type=\"code\"/></x:schema>"
        );
        let deeper = format!(
            "<x:schema xmlns:x=\"{XSD}\" elementFormDefault=\"qualified\"><x:complexType name=\"code\"><x:sequence>\
             <x:element name=\"n\" type=\"x:int\"/></x:sequence></x:complexType></x:schema>"
        );
        let resolve = |location: &str| match location {
            "c.xsd" => Some(other.clone().into_bytes()),
            "d.xsd" => Some(deeper.clone().into_bytes()),
            _ => None,
        };
        let schemas = Schemas::read(wsdl.into_bytes(), &resolve).expect("a description");
        for namespace in ["urn:a", "urn:b"] {
            assert_eq!(
                schemas.element(namespace, "ask"),
                Ok(format!("<ask xmlns=\"{namespace}\"><n>1</n></ask>"))
            );
        }
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
