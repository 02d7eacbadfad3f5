//! A request made from a description: the element that a Body holds, with a value of each type that
//! its XML Schema names.
//!
//! What is optional is left out, of a choice the first is taken, and what may repeat stands once.
//! The rule kept here: an element that cannot be made valid is an error that says why, and never a
//! message that a service would refuse for its form.

use std::fmt;

use soapstone::xml::escape::{text_of, value_of};
use soapstone::xml::{Buffers, Document, Element, ParseOptions};

/// The namespace of XML Schema.
const XSD: &str = "http://www.w3.org/2001/XMLSchema";
/// The namespace of WSDL 1.1.
const WSDL: &str = "http://schemas.xmlsoap.org/wsdl/";
/// The deepest element: types of other types end before that, recursive ones do not.
const DEEPEST: usize = 64;
/// The most elements of a message.
const MOST_ELEMENTS: usize = 10_000;
/// The most documents that a description refers to.
const MOST_DOCUMENTS: usize = 100;

/// Why no request can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SampleError {
    /// A document is not well-formed.
    Xml {
        /// Which; empty for the first.
        document: String,
        /// Why.
        problem: String,
    },
    /// The description refers to more documents than are read.
    TooManyDocuments,
    /// Nothing has this name.
    Missing {
        /// `element`, `type` or `group`.
        kind: &'static str,
        /// Its namespace and local name.
        name: String,
        /// Locations of documents that are not there, one of which may have it.
        absent: Vec<String>,
    },
    /// A value that only its author knows.
    Unmakeable {
        /// What.
        what: String,
        /// Where it stands in its document: line and column.
        place: (u32, u32),
    },
    /// The element is in itself, or has too many.
    TooLarge,
}

impl fmt::Display for SampleError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Xml { document, problem } if document.is_empty() => out.write_str(problem),
            Self::Xml { document, problem } => write!(out, "{document}: {problem}"),
            Self::TooManyDocuments => {
                write!(out, "it refers to more than {MOST_DOCUMENTS} documents")
            }
            Self::Missing { kind, name, absent } => {
                write!(out, "no schema has the {kind} {name}")?;
                if !absent.is_empty() {
                    let absent = absent.join(", ");
                    write!(
                        out,
                        "; these are not files beside the description: {absent}"
                    )?;
                }
                Ok(())
            }
            Self::Unmakeable {
                what,
                place: (line, column),
            } => write!(
                out,
                "no value can be made for {what} (line {line}, column {column})"
            ),
            Self::TooLarge => write!(
                out,
                "its element has more than {MOST_ELEMENTS} elements, or is deeper than {DEEPEST}"
            ),
        }
    }
}

impl std::error::Error for SampleError {}

/// The schemas of a description.
pub struct Schemas {
    documents: Vec<Document>,
    /// Locations that nothing was found at.
    absent: Vec<String>,
}

/// A name: namespace and local.
type Name<'n> = (&'n str, &'n str);

/// The message that is being written.
#[derive(Default)]
struct Draft {
    text: String,
    elements: usize,
    depth: usize,
}

impl Schemas {
    /// Those of a WSDL or a schema, and of the documents that `resolve` gives for the locations of
    /// its imports and includes. What it does not give is missed where it is needed.
    ///
    /// # Errors
    /// A document is not well-formed, or there are too many.
    pub fn read(
        description: Vec<u8>,
        resolve: &dyn Fn(&str) -> Option<Vec<u8>>,
    ) -> Result<Self, SampleError> {
        let mut documents = vec![parse(description, "")?];
        let (mut known, mut absent): (Vec<String>, Vec<String>) = Default::default();
        let mut next = 0;
        while let Some(document) = documents.get(next) {
            for location in locations(document) {
                if known.contains(&location) {
                    continue;
                }
                known.push(location.clone());
                if documents.len() == MOST_DOCUMENTS {
                    return Err(SampleError::TooManyDocuments);
                }
                match resolve(&location) {
                    Some(bytes) => documents.push(parse(bytes, &location)?),
                    None => absent.push(location),
                }
            }
            next += 1;
        }
        Ok(Self { documents, absent })
    }

    /// An element of this name with a value of each type.
    ///
    /// # Errors
    /// No schema has it, or a value cannot be made.
    pub fn element(&self, namespace: &str, local: &str) -> Result<String, SampleError> {
        let mut draft = Draft::default();
        let declared = self.find("element", (namespace, local))?;
        self.write_element(declared, "", &mut draft)?;
        Ok(draft.text)
    }

    fn schemas(&self) -> impl Iterator<Item = Element<'_>> {
        let documents = self.documents.iter().map(Document::root);
        documents.flat_map(|root| {
            let own = root.is(XSD, "schema").then_some(root);
            let types = root.children().filter(|it| it.is(WSDL, "types"));
            own.into_iter()
                .chain(types.flat_map(|it| it.children().filter(|it| it.is(XSD, "schema"))))
        })
    }

    /// What is declared with this name at the top of a schema.
    fn find<'s>(
        &'s self,
        kind: &'static str,
        (namespace, local): Name<'_>,
    ) -> Result<Element<'s>, SampleError> {
        let of_namespace = self.schemas().filter(|schema| {
            let target = schema.attribute("", "targetNamespace");
            // An included schema without a namespace has that of whoever includes it.
            target.is_none_or(|target| target == namespace)
        });
        let kinds: &[&str] = match kind {
            "type" => &["complexType", "simpleType"],
            "element" => &["element"],
            _ => &["group"],
        };
        let mut declared = of_namespace.flat_map(|schema| schema.children());
        let found = declared.find(|it| {
            it.namespace() == XSD
                && kinds.contains(&it.local())
                && it.attribute("", "name").as_deref() == Some(local)
        });
        found.ok_or_else(|| SampleError::Missing {
            kind,
            name: format!("{{{namespace}}}{local}"),
            absent: self.absent.clone(),
        })
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

    /// A value of a simple type that is named here.
    fn simple_named(
        &self,
        at: Element<'_>,
        named: &str,
        depth: usize,
    ) -> Result<String, SampleError> {
        let name = qualified(at, named)?;
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
    fn simple(&self, of: Element<'_>, depth: usize) -> Result<String, SampleError> {
        if depth == DEEPEST {
            return Err(SampleError::TooLarge);
        }
        let derived = of.children().find(|it| !is_annotation(*it));
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

fn parse(bytes: Vec<u8>, document: &str) -> Result<Document, SampleError> {
    let parsed = Document::parse(bytes, &ParseOptions::default(), &mut Buffers::default());
    parsed.map_err(|error| SampleError::Xml {
        document: document.to_owned(),
        problem: error.to_string(),
    })
}

/// Where the documents are that this one imports or includes.
fn locations(document: &Document) -> Vec<String> {
    let all = document.root().descendants();
    let named = all.filter_map(|it| match (it.namespace(), it.local()) {
        (XSD, "import" | "include") => it.attribute("", "schemaLocation"),
        (WSDL, "import") => it.attribute("", "location"),
        _ => None,
    });
    named.map(|it| it.into_owned()).collect()
}

/// The schema that a declaration stands in.
fn schema_of(declaration: Element<'_>) -> Option<Element<'_>> {
    declaration.ancestors().find(|it| it.is(XSD, "schema"))
}

fn is_annotation(element: Element<'_>) -> bool {
    element.is(XSD, "annotation")
}

/// The extension or restriction of a complex type, and its base.
fn derivation(of: Element<'_>) -> Option<(Element<'_>, String)> {
    let content = ["complexContent", "simpleContent"];
    let content = content.into_iter().find_map(|name| of.child(XSD, name))?;
    let derived = ["extension", "restriction"];
    let derived = derived
        .into_iter()
        .find_map(|name| content.child(XSD, name))?;
    let base = derived.attribute("", "base")?.into_owned();
    Some((derived, base))
}

/// The name that a prefixed text means where it stands.
fn qualified<'t>(at: Element<'t>, text: &'t str) -> Result<Name<'t>, SampleError> {
    let (prefix, local) = text.trim().split_once(':').unwrap_or(("", text.trim()));
    match at.namespace_of(prefix) {
        Some(namespace) => Ok((namespace, local)),
        None if prefix.is_empty() => Ok(("", local)),
        None => Err(unmakeable(
            &format!("a name whose prefix {prefix} is bound to nothing"),
            at,
        )),
    }
}

fn unmakeable(what: &str, at: Element<'_>) -> SampleError {
    SampleError::Unmakeable {
        what: what.to_owned(),
        place: at.line_column(),
    }
}

/// A value of a type of XML Schema.
fn builtin(local: &str, at: Element<'_>) -> Result<&'static str, SampleError> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
