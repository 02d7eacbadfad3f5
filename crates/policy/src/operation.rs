//! What tells the messages of one operation from those of others: actions, and what stands in the
//! Body (WSDL 1.1, 3; WS-Addressing 1.0 Metadata, 4.4).
//!
//! The one rule: what a description leaves open is said to be open; no Body is expected that the
//! description does not name.

use std::fmt;
use std::sync::Arc;

use crate::names::{
    ADDRESSING_2004, ADDRESSING_METADATA, ADDRESSING_WSDL, Name, WSDL, WSDL_SOAP11, WSDL_SOAP12,
};
use crate::node::Node;
use crate::wsdl::elements::{named, soap_child};
use crate::wsdl::index::Wsdl;

/// What identifies the messages of an operation of a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OperationMessages {
    /// `soapAction` of the SOAP binding (WSDL 1.1, 3.4), which SOAP 1.2 has as the parameter
    /// `action` of its media type. `None` where it is empty or not there.
    pub soap_action: Option<String>,
    /// What `wsa:Action` of the request may be, the one to write first: what the input says
    /// explicitly; or else the `soapAction` and the default pattern (WS-Addressing 1.0
    /// Metadata, 4.4).
    pub addressing_actions: Vec<String>,
    /// What `wsa:Action` of the response is: what the output says explicitly, or else the default
    /// pattern. `None` where there is no response, or no port type to name it after.
    pub answer_action: Option<String>,
    /// What the Body of the request holds.
    pub request: BodyContent,
    /// What the Body of the response holds; `None` for operations without one. Faults are not
    /// spoken of.
    pub response: Option<BodyContent>,
}

impl OperationMessages {
    /// How long its names are.
    pub(crate) fn octets(&self) -> usize {
        let element = |content: &BodyContent| match content {
            BodyContent::Element(name) => name.namespace.len() + name.local.len(),
            _ => 0,
        };
        let actions = self.soap_action.iter().chain(&self.addressing_actions);
        let actions = actions.chain(&self.answer_action);
        actions.map(String::len).sum::<usize>()
            + element(&self.request)
            + self.response.as_ref().map_or(0, element)
    }
}

/// What the Body of a message holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum BodyContent {
    /// Nothing: a message without parts in document style.
    Empty,
    /// One element: that of the part in document style, the operation's own in rpc style (WSDL 1.1,
    /// 3.5).
    Element(Name),
    /// The description does not name one element.
    Unknown {
        /// Why not.
        problem: &'static str,
    },
}

impl fmt::Display for BodyContent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => out.write_str("an empty Body"),
            Self::Element(name) => write!(out, "`{name}`"),
            Self::Unknown { problem } => out.write_str(problem),
        }
    }
}

/// Most parts of a message that are looked at: one is the Body (WS-I Basic Profile 1.1, R2201), and
/// the others are header blocks.
const MOST_PARTS: usize = 64;

/// An operation of a binding, and that of the port type which it binds.
pub(crate) struct Bound<'d> {
    pub(crate) binding: &'d Node,
    pub(crate) operation: &'d Node,
    pub(crate) port_type: Option<&'d Node>,
    pub(crate) inherited: Option<&'d Node>,
    /// It is in rpc style.
    pub(crate) is_rpc: bool,
}

impl<'d> Wsdl<'d> {
    pub(crate) fn messages(&self, bound: &Bound<'d>) -> OperationMessages {
        let soap_action = soap_child(bound.operation, "operation")
            .and_then(|node| node.attribute("", "soapAction"))
            .filter(|action| !action.is_empty())
            .map(str::to_owned);
        let one_way = bound
            .inherited
            .is_none_or(|inherited| inherited.child(WSDL, "output").is_none());
        OperationMessages {
            addressing_actions: addressing_actions(bound, soap_action.as_deref(), one_way),
            answer_action: answer_action(bound),
            soap_action,
            request: self.content(bound, "input"),
            response: (!one_way).then(|| self.content(bound, "output")),
        }
    }

    /// What stands in the Body of the operation's `input` or `output`.
    fn content(&self, bound: &Bound<'d>, direction: &'static str) -> BodyContent {
        let unknown = |problem| BodyContent::Unknown { problem };
        let Some(abstracted) = bound
            .inherited
            .and_then(|inherited| inherited.child(WSDL, direction))
        else {
            return unknown("its port type does not describe the message");
        };
        let concrete = bound.operation.child(WSDL, direction);
        let body = concrete.and_then(|concrete| soap_child(concrete, "body"));
        if bound.is_rpc {
            let name = bound.operation.attribute("", "name").unwrap_or_default();
            let namespace = body.and_then(|body| body.attribute("", "namespace"));
            let suffix = if direction == "output" {
                "Response"
            } else {
                ""
            };
            return BodyContent::Element(Name {
                namespace: namespace.unwrap_or_default().into(),
                local: format!("{name}{suffix}").into(),
            });
        }
        let Some(message) = self.find(abstracted, "message", "message") else {
            return unknown("its message is nowhere in the description");
        };
        if named(message, "part").nth(MOST_PARTS).is_some() {
            return unknown("its message has more than 64 parts");
        }
        let listed = body.and_then(|body| body.attribute("", "parts"));
        let in_body = |part: &&Arc<Node>| {
            let name = part.attribute("", "name").unwrap_or_default();
            match listed {
                Some(listed) => listed.split_ascii_whitespace().any(|one| one == name),
                None => !concrete.is_some_and(|concrete| self.is_header(concrete, message, name)),
            }
        };
        let mut parts = named(message, "part").filter(in_body);
        match (parts.next(), parts.next()) {
            (None, _) => BodyContent::Empty,
            (Some(part), None) if part.attribute("", "element").is_none() => {
                unknown("its part has a type and names no element (WS-I Basic Profile 1.1, R2204)")
            }
            (Some(part), None) => match qualified(part, "element") {
                Some(name) => BodyContent::Element(name),
                None => unknown("the element of its part has a prefix that is bound to nothing"),
            },
            _ => unknown("its Body has several parts (WS-I Basic Profile 1.1, R2201)"),
        }
    }

    /// Whether a part of a message goes into a header block (`soap:header`; WSDL 1.1, 3.7).
    fn is_header(&self, concrete: &'d Node, message: &Arc<Node>, part: &str) -> bool {
        concrete
            .children
            .iter()
            .filter(|child| {
                child.name.is(WSDL_SOAP11, "header") || child.name.is(WSDL_SOAP12, "header")
            })
            .filter(|header| header.attribute("", "part") == Some(part))
            .any(|header| {
                self.find(header, "message", "message")
                    .is_some_and(|named| Arc::ptr_eq(named, message))
            })
    }
}

/// What `wsa:Action` of a request may be, the one to write first.
fn addressing_actions(bound: &Bound<'_>, soap_action: Option<&str>, one_way: bool) -> Vec<String> {
    let input = bound
        .inherited
        .and_then(|inherited| inherited.child(WSDL, "input"));
    if let Some(explicit) = input.and_then(explicit_action) {
        return vec![explicit.to_owned()];
    }
    let mut actions: Vec<String> = soap_action.map(str::to_owned).into_iter().collect();
    let suffix = if one_way { "" } else { "Request" };
    actions.extend(pattern(bound, input, suffix));
    actions
}

/// What `wsa:Action` of a response is.
fn answer_action(bound: &Bound<'_>) -> Option<String> {
    let output = bound.inherited?.child(WSDL, "output")?;
    match explicit_action(output) {
        Some(explicit) => Some(explicit.to_owned()),
        None => pattern(bound, Some(output), "Response"),
    }
}

/// WS-Addressing 1.0 Metadata, 4.4.1.
fn explicit_action(message: &Arc<Node>) -> Option<&str> {
    [ADDRESSING_METADATA, ADDRESSING_WSDL, ADDRESSING_2004]
        .into_iter()
        .find_map(|namespace| message.attribute(namespace, "Action"))
}

/// The default action of the input or output of an operation, which is called like the operation
/// with a suffix where it has no name.
fn pattern(bound: &Bound<'_>, message: Option<&Arc<Node>>, suffix: &str) -> Option<String> {
    bound.port_type?;
    let port_type = qualified(bound.binding, "type")?;
    let operation = bound.operation.attribute("", "name").unwrap_or_default();
    let name = match message.and_then(|message| message.attribute("", "name")) {
        Some(name) => name.to_owned(),
        None => format!("{operation}{suffix}"),
    };
    Some(default_action(&port_type, &name))
}

/// WS-Addressing 1.0 Metadata, 4.4.4.
fn default_action(port_type: &Name, message: &str) -> String {
    let namespace = &*port_type.namespace;
    let is_urn = namespace
        .get(..4)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("urn:"));
    let delimiter = if is_urn { ':' } else { '/' };
    let namespace = namespace.strip_suffix(delimiter).unwrap_or(namespace);
    let port_type = &port_type.local;
    format!("{namespace}{delimiter}{port_type}{delimiter}{message}")
}

/// The name in an attribute; `None` if it is not there or its prefix is bound to nothing.
fn qualified(node: &Node, attribute: &str) -> Option<Name> {
    let text = node.attribute("", attribute)?.trim();
    let (prefix, local) = text.split_once(':').unwrap_or(("", text));
    let namespace = node.namespace_of(prefix);
    if namespace.is_none() && !prefix.is_empty() {
        return None;
    }
    Some(Name {
        namespace: namespace.unwrap_or_default().into(),
        local: local.into(),
    })
}
