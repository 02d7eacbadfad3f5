//! Reading a request: envelope, headers, and the parameters of the operation.
//!
//! The one rule it keeps: a message is what the contract says or it is refused, with what was
//! expected in its place. No element is skipped, none is taken from where it should not be.

use std::borrow::Cow;

use soapstone_xml::{Buffers, Document, Element, NodeId, ParseOptions};

use crate::catalogue::BOOKS;
use crate::fault::{Fault, Name, Place};
use crate::service::Service;
use crate::soap::SoapVersion;

const XSI: &str = "http://www.w3.org/2001/XMLSchema-instance";
/// How much of a wrong value a fault repeats, in characters.
const SHOWN: usize = 60;

/// A request whose envelope is in order. What is in its body has not been looked at.
pub(crate) struct Message {
    document: Document,
    body: NodeId,
}

impl Message {
    /// Reads an envelope of `version` and refuses header blocks that must be understood, since none
    /// is.
    pub(crate) fn parse(
        version: SoapVersion,
        bytes: Vec<u8>,
        options: &ParseOptions,
    ) -> Result<Message, Fault> {
        let document =
            Document::parse(bytes, options, &mut Buffers::default()).map_err(|error| {
                Fault::Malformed {
                    cause: error.to_string(),
                }
            })?;
        let body = body(&document, version)?.id();
        Ok(Message { document, body })
    }

    /// The element in the body that names the operation of `service`.
    fn wrapper(&self, service: Service) -> Result<Element<'_>, Fault> {
        let expected = || {
            format!(
                "one element {{{}}}{} in the Body",
                service.namespace(),
                service.operation()
            )
        };
        let body = self.document.element(self.body);
        let mut children = body.children();
        let Some(wrapper) = children.next() else {
            return Err(misplaced(expected(), "none", body));
        };
        if !wrapper.is(service.namespace(), service.operation()) {
            return Err(unexpected(expected(), wrapper));
        }
        match children.next() {
            Some(second) => Err(unexpected(expected(), second)),
            None => Ok(wrapper),
        }
    }

    /// The text of `Echo`.
    pub(crate) fn echo(&self) -> Result<Cow<'_, str>, Fault> {
        let [text] = self.parameters(Service::Echo, ["text"])?;
        string(text)
    }

    /// The operands of `Sum`.
    pub(crate) fn sum(&self) -> Result<(i32, i32), Fault> {
        let [a, b] = self.parameters(Service::Sum, ["a", "b"])?;
        Ok((int("a", a)?, int("b", b)?))
    }

    /// That `EmployeeDetails` has no parameter.
    pub(crate) fn employee_details(&self) -> Result<(), Fault> {
        let [] = self.parameters(Service::Employees, [])?;
        Ok(())
    }

    /// That `getTemperature` has no parameter.
    pub(crate) fn get_temperature(&self) -> Result<(), Fault> {
        let [] = self.parameters(Service::Temperature, [])?;
        Ok(())
    }

    /// The count of `getBooks`.
    pub(crate) fn get_books(&self) -> Result<u32, Fault> {
        let [n] = self.parameters(Service::Books, ["n"])?;
        let count = int("n", n)?;
        u32::try_from(count)
            .ok()
            .filter(|count| *count <= BOOKS)
            .ok_or_else(|| Fault::Value {
                parameter: "n",
                expected: format!("from 0 to {BOOKS}"),
                found: count.to_string(),
            })
    }

    /// The strings of `EchoStringArray`: rpc-literal, so the part accessor is in no namespace
    /// (R2735) and the items are where the schema puts them.
    pub(crate) fn echo_string_array(&self) -> Result<Vec<Cow<'_, str>>, Fault> {
        let wrapper = self.wrapper(Service::EchoStringArray)?;
        let [accessor] = exactly(wrapper, "", ["strings"])?;
        let namespace = Service::EchoStringArray.namespace();
        let mut strings = Vec::new();
        for item in accessor.children() {
            if !item.is(namespace, "item") {
                let expected = format!("{{{namespace}}}item in strings");
                return Err(unexpected(expected, item));
            }
            strings.push(string(item)?);
        }
        Ok(strings)
    }

    /// The children of a document-literal wrapper.
    fn parameters<const N: usize>(
        &self,
        service: Service,
        names: [&'static str; N],
    ) -> Result<[Element<'_>; N], Fault> {
        exactly(self.wrapper(service)?, service.namespace(), names)
    }
}

fn body(document: &Document, version: SoapVersion) -> Result<Element<'_>, Fault> {
    let namespace = version.namespace();
    let envelope = document.root();
    if !envelope.is(namespace, "Envelope") {
        return Err(Fault::VersionMismatch {
            expected: version,
            found: name(envelope),
        });
    }
    let mut children = envelope.children().peekable();
    if let Some(header) = children.next_if(|child| child.is(namespace, "Header")) {
        understand(header, version)?;
    }
    let expected = || format!("{{{namespace}}}Body in the Envelope, after an optional Header");
    let Some(body) = children.next() else {
        return Err(misplaced(expected(), "none", envelope));
    };
    if !body.is(namespace, "Body") {
        return Err(unexpected(expected(), body));
    }
    match children.next() {
        // R1011, and the schema of SOAP 1.2.
        Some(after) => Err(unexpected("nothing after the Body".to_owned(), after)),
        None => Ok(body),
    }
}

/// Refuses the header blocks that are for this node and must be understood. These services
/// understand none.
fn understand(header: Element<'_>, version: SoapVersion) -> Result<(), Fault> {
    let mut headers = Vec::new();
    for block in header.children() {
        if is_for_us(block, version) && must_be_understood(block, version)? {
            headers.push(name(block));
        }
    }
    if headers.is_empty() {
        Ok(())
    } else {
        Err(Fault::NotUnderstood { headers })
    }
}

/// SOAP 1.1 section 4.2.2, SOAP 1.2 Part 1 section 2.2.
fn is_for_us(block: Element<'_>, version: SoapVersion) -> bool {
    let (attribute, ours): (_, &[&str]) = match version {
        SoapVersion::Soap11 => ("actor", &["", "http://schemas.xmlsoap.org/soap/actor/next"]),
        SoapVersion::Soap12 => (
            "role",
            &[
                "",
                "http://www.w3.org/2003/05/soap-envelope/role/next",
                "http://www.w3.org/2003/05/soap-envelope/role/ultimateReceiver",
            ],
        ),
    };
    block
        .attribute(version.namespace(), attribute)
        .is_none_or(|role| ours.contains(&role.as_ref().trim()))
}

fn must_be_understood(block: Element<'_>, version: SoapVersion) -> Result<bool, Fault> {
    let Some(value) = block.attribute(version.namespace(), "mustUnderstand") else {
        return Ok(false);
    };
    match (value.trim(), version) {
        ("1", _) | ("true", SoapVersion::Soap12) => Ok(true),
        ("0", _) | ("false", SoapVersion::Soap12) => Ok(false),
        // R1013: nothing else in SOAP 1.1.
        (found, _) => Err(Fault::Value {
            parameter: "mustUnderstand",
            expected: match version {
                SoapVersion::Soap11 => "0 or 1".to_owned(),
                SoapVersion::Soap12 => "0, 1, false or true".to_owned(),
            },
            found: shown(found),
        }),
    }
}

/// The children of `parent`, which have to be elements of these names in this order and no others.
fn exactly<'d, const N: usize>(
    parent: Element<'d>,
    namespace: &str,
    names: [&'static str; N],
) -> Result<[Element<'d>; N], Fault> {
    let expanded = |local: &str| {
        Name {
            namespace: namespace.to_owned(),
            local: local.to_owned(),
        }
        .to_string()
    };
    let mut children = parent.children();
    let mut found = [parent; N];
    for (slot, local) in found.iter_mut().zip(names) {
        let expected = || format!("{} in {}", expanded(local), parent.local());
        let Some(child) = children.next() else {
            return Err(misplaced(expected(), "none", parent));
        };
        if !child.is(namespace, local) {
            return Err(unexpected(expected(), child));
        }
        *slot = child;
    }
    match children.next() {
        Some(extra) => {
            let expected = match names.last() {
                Some(last) => format!("nothing after {} in {}", expanded(last), parent.local()),
                None => format!("nothing in {}", parent.local()),
            };
            Err(unexpected(expected, extra))
        }
        None => Ok(found),
    }
}

/// An xsd:string that is not nillable.
fn string(element: Element<'_>) -> Result<Cow<'_, str>, Fault> {
    if let Some(child) = element.first_child() {
        return Err(unexpected(format!("text in {}", element.local()), child));
    }
    match element.attribute(XSI, "nil").as_deref().map(str::trim) {
        Some("1" | "true") => Err(misplaced(
            format!("{} to have a value", element.local()),
            "xsi:nil",
            element,
        )),
        _ => Ok(element.text()),
    }
}

/// An xsd:int: white space around it is not part of it (XML Schema Part 2, 4.3.6).
fn int(parameter: &'static str, element: Element<'_>) -> Result<i32, Fault> {
    let text = string(element)?;
    let number = text.trim_matches([' ', '\t', '\n', '\r']);
    number.parse().map_err(|_| Fault::Value {
        parameter,
        expected: "an xsd:int".to_owned(),
        found: shown(number),
    })
}

fn name(element: Element<'_>) -> Name {
    Name {
        namespace: element.namespace().to_owned(),
        local: element.local().to_owned(),
    }
}

fn unexpected(expected: String, element: Element<'_>) -> Fault {
    misplaced(expected, &name(element).to_string(), element)
}

fn misplaced(expected: String, found: &str, at: Element<'_>) -> Fault {
    let (line, column) = at.line_column();
    Fault::Structure {
        expected,
        found: found.to_owned(),
        place: Place { line, column },
    }
}

fn shown(value: &str) -> String {
    let mut shown: String = value.chars().take(SHOWN).collect();
    if shown.len() < value.len() {
        shown.push('…');
    }
    shown
}
