//! What is attached where: the policies of services, ports, bindings, operations and messages
//! (WS-PolicyAttachment 1.5, 4).
//!
//! A [`PolicySubject`] is one operation of one port, the smallest thing that messages are sent to,
//! with all policies in whose scope it lies. The one rule: policies of wider scopes are demanded of
//! every message, those of a message of that message alone.

mod effective;
pub(crate) mod elements;
pub(crate) mod index;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use soapstone_wss::SoapVersion;

use crate::alternative::{Alternative, Assertion};
use crate::document::PolicyDocument;
use crate::error::PolicyError;
use crate::limits::Budget;
use crate::names::{ADDRESSING_WSDL, WSDL};
use crate::node::Node;
use crate::normal::exhaustion;
use crate::operation::{Bound, OperationMessages};
use elements::{is_policy, named, policy_uris, says_rpc, soap_child, soap_version};
use index::Wsdl;

/// An operation of a port, or a policy that stands alone, with the policies that apply to it.
#[derive(Clone, Debug, Default)]
pub struct PolicySubject {
    /// The service that has the port.
    pub service: Option<String>,
    /// The port; `None` for bindings that no port uses and for policies that stand alone.
    pub port: Option<String>,
    /// The binding, or the id of a policy that stands alone.
    pub binding: Option<String>,
    /// The operation; `None` if the binding has none.
    pub operation: Option<String>,
    /// Where the port is reached (`soap:address`).
    pub address: Option<String>,
    /// `soapAction` of the operation.
    pub action: Option<String>,
    /// The version of SOAP of the binding; `None` for one of plain HTTP, for example.
    pub soap: Option<SoapVersion>,
    /// The operation is in rpc style: the Body has an element of the operation's own name.
    pub is_rpc: bool,
    /// Binding or port say that messages must have WS-Addressing headers, beside all policies
    /// (WS-Addressing 1.0 WSDL Binding, candidate of 2006, 3.1).
    pub needs_addressing: bool,
    /// What tells its messages from those of other operations; `None` where there is no operation
    /// or no SOAP.
    pub messages: Option<OperationMessages>,
    /// Of service, port, binding and port type: both messages of all operations.
    endpoint: Arc<[Attached]>,
    /// Of the operation: both messages.
    both: Vec<Attached>,
    /// Of the request alone.
    request: Vec<Attached>,
    /// Of the response alone.
    response: Vec<Attached>,
    /// Of faults, by name.
    faults: Vec<(String, Vec<Attached>)>,
}

/// Policies that apply. What is attached to an element is looked for where it is needed: one
/// element may have many, and belong to many subjects.
#[derive(Clone, Debug)]
enum Attached {
    /// A policy that stands alone.
    Alone(Arc<Node>),
    /// All that are attached to an element: inside it, and in its attribute `wsp:PolicyURIs`.
    To(Arc<Node>),
}

impl Attached {
    /// The policies and references, as elements.
    fn elements(&self) -> impl Iterator<Item = &Arc<Node>> {
        let (alone, inside) = match self {
            Self::Alone(policy) => (Some(policy), [].as_slice()),
            Self::To(element) => (None, element.children.as_slice()),
        };
        alone
            .into_iter()
            .chain(inside.iter().filter(|child| is_policy(child)))
    }

    /// The element that has references in an attribute, and these.
    fn named(&self) -> impl Iterator<Item = (&str, &Arc<Node>)> {
        let element = match self {
            Self::Alone(_) => None,
            Self::To(element) => Some(element),
        };
        element
            .into_iter()
            .flat_map(|element| policy_uris(element).map(move |uri| (uri, element)))
    }
}

/// One of the messages of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// The input.
    Request,
    /// The output.
    Response,
}

/// What the policies attached to a fault demand.
#[derive(Clone, Debug)]
pub struct FaultDemands {
    /// The fault's name.
    pub fault: String,
    /// The assertions of the first alternative.
    pub assertions: Vec<Arc<Assertion>>,
}

/// One choice among the alternatives of a subject.
#[derive(Clone, Debug)]
pub struct SubjectAlternative {
    /// What the request must do.
    pub request: Alternative,
    /// What the response must do.
    pub response: Alternative,
}

impl fmt::Display for PolicySubject {
    /// Such as `port BooksPort, operation addBook`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = [
            ("service", &self.service),
            ("port", &self.port),
            ("binding", &self.binding),
            ("operation", &self.operation),
        ];
        let mut first = true;
        for (kind, name) in named {
            // The port says which binding it is.
            if let Some(name) = name
                && !(kind == "binding" && self.port.is_some())
            {
                let separator = if first { "" } else { ", " };
                write!(out, "{separator}{kind} {name}")?;
                first = false;
            }
        }
        if first {
            out.write_str("the policy")?;
        }
        Ok(())
    }
}

impl PolicySubject {
    /// How long its names are.
    fn octets(&self) -> usize {
        let own = [
            &self.service,
            &self.port,
            &self.binding,
            &self.operation,
            &self.address,
            &self.action,
        ];
        let messages = self.messages.as_ref().map_or(0, OperationMessages::octets);
        let faults = self.faults.iter().map(|(name, _)| name.len());
        own.into_iter().flatten().map(String::len).sum::<usize>() + messages + faults.sum::<usize>()
    }

    /// Whether any policy applies.
    pub fn has_policy(&self) -> bool {
        [&*self.endpoint, &self.both, &self.request, &self.response]
            .iter()
            .any(|attached| !attached.is_empty())
    }
}

impl PolicyDocument {
    /// All operations of all ports; in a document without ports and bindings, its policies.
    ///
    /// Bindings that no port uses come behind the ports.
    ///
    /// # Errors
    /// [`PolicyError::TooManySubjects`] if there are more than the limits allow.
    pub fn subjects(&self) -> Result<Vec<PolicySubject>, PolicyError> {
        let wsdl = Wsdl::new(self.definitions());
        let subjects = wsdl.subjects(&mut Room {
            subjects: self.limits.subjects,
            budget: Budget::of_document(&self.limits, &self.steps_left),
            document: self,
        })?;
        if !subjects.is_empty() {
            return Ok(subjects);
        }
        let attachments = self.attachments();
        if !attachments.is_empty() {
            return self.external(&attachments);
        }
        let alone = |policy: &Arc<Node>| PolicySubject {
            both: vec![Attached::Alone(policy.clone())],
            ..PolicySubject::default()
        };
        Ok(self.policies().into_iter().map(alone).collect())
    }

    /// Subjects of `wsp:PolicyAttachment` (WS-PolicyAttachment 1.5, 3.4), as Axis2 writes them:
    /// `binding:soap11/operation:echo/in`. What is attached to the front part of an identifier
    /// applies to the whole.
    fn external(&self, attachments: &[&Arc<Node>]) -> Result<Vec<PolicySubject>, PolicyError> {
        let allowed = self.limits.subjects;
        let mut subjects: Vec<PolicySubject> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for attachment in attachments {
            let applies_to = attachment
                .children
                .iter()
                .filter(|child| child.is_policy_element("AppliesTo"))
                .flat_map(|applies_to| &applies_to.children);
            for subject in applies_to {
                let identifier = subject
                    .attribute("", "identifier")
                    .unwrap_or(subject.text.trim());
                let (owner, direction) = match identifier.rsplit_once('/') {
                    Some((owner, direction @ ("in" | "out"))) => (owner, direction),
                    _ => (identifier, ""),
                };
                let place = *places.entry(owner).or_insert(subjects.len());
                if place == subjects.len() {
                    if place == allowed {
                        return Err(PolicyError::TooManySubjects { allowed });
                    }
                    subjects.push(PolicySubject {
                        binding: Some(owner.to_owned()),
                        ..PolicySubject::default()
                    });
                }
                let subject = &mut subjects[place];
                attach(
                    attachment,
                    match direction {
                        "in" => &mut subject.request,
                        "out" => &mut subject.response,
                        _ => &mut subject.both,
                    },
                );
            }
        }
        let own = subjects.clone();
        let mut budget = Budget::of_document(&self.limits, &self.steps_left);
        for (owner, place) in &places {
            let wider = owner.match_indices('/').take(DEEPEST_SUBJECT);
            let wider = wider.map(|(end, _)| &owner[..end]);
            let subject = &mut subjects[*place];
            for wider in wider.filter_map(|wider| places.get(wider)) {
                let wider = &own[*wider];
                let count = wider.both.len() + wider.request.len() + wider.response.len();
                budget
                    .spend(count)
                    .map_err(|exhausted| exhaustion(self, exhausted, None))?;
                subject.both.extend_from_slice(&wider.both);
                subject.request.extend_from_slice(&wider.request);
                subject.response.extend_from_slice(&wider.response);
            }
        }
        Ok(subjects)
    }
}

/// How many subjects may be made of a document, and of what size.
struct Room<'d> {
    subjects: usize,
    budget: Budget<'d>,
    document: &'d PolicyDocument,
}

/// Bytes of names that count as one step.
const STEP: usize = 64;

impl Room<'_> {
    /// Adds a subject, if it fits.
    fn add(
        &mut self,
        subject: PolicySubject,
        subjects: &mut Vec<PolicySubject>,
    ) -> Result<(), PolicyError> {
        if subjects.len() == self.subjects {
            return Err(PolicyError::TooManySubjects {
                allowed: self.subjects,
            });
        }
        self.budget
            .spend(1 + subject.octets() / STEP)
            .map_err(|exhausted| exhaustion(self.document, exhausted, None))?;
        subjects.push(subject);
        Ok(())
    }
}

impl<'d> Wsdl<'d> {
    fn subjects(&self, room: &mut Room<'_>) -> Result<Vec<PolicySubject>, PolicyError> {
        let mut subjects = Vec::new();
        let mut used: HashMap<*const Node, Vec<PolicySubject>> = HashMap::new();
        for service in self.all("service") {
            let mut of_service = Vec::new();
            attach(service, &mut of_service);
            for port in named(service, "port") {
                let binding = self.binding_of(port)?;
                let mut around = of_service.clone();
                attach(port, &mut around);
                let of_binding = match binding {
                    None => &[PolicySubject::default()][..],
                    Some(binding) => used
                        .entry(Arc::as_ptr(binding))
                        .or_insert_with(|| self.of_binding(binding)),
                };
                // The same for all operations of the binding.
                let inherited = of_binding.iter().take(1).flat_map(|one| &*one.endpoint);
                around.extend(inherited.cloned());
                let endpoint: Arc<[Attached]> = around.into();
                for subject in of_binding {
                    let subject = PolicySubject {
                        service: name(service),
                        port: name(port),
                        binding: port.attribute("", "binding").map(local),
                        address: soap_child(port, "address")
                            .and_then(|node| value(node, "location")),
                        needs_addressing: subject.needs_addressing || needs_addressing(port),
                        endpoint: endpoint.clone(),
                        ..subject.clone()
                    };
                    room.add(subject, &mut subjects)?;
                }
            }
        }
        for binding in self.all("binding") {
            if !used.contains_key(&Arc::as_ptr(binding)) {
                for subject in self.of_binding(binding) {
                    room.add(subject, &mut subjects)?;
                }
            }
        }
        Ok(subjects)
    }

    /// One subject for each operation of a binding, or one for a binding that has none, as if no
    /// port had it.
    fn of_binding(&self, binding: &'d Arc<Node>) -> Vec<PolicySubject> {
        let mut around = Vec::new();
        attach(binding, &mut around);
        let port_type = self.find(binding, "type", "portType");
        if let Some(port_type) = port_type {
            attach(port_type, &mut around);
        }
        let whole = PolicySubject {
            binding: name(binding),
            soap: soap_version(binding),
            // Once for all operations: the binding may have many, and they may stand in front.
            is_rpc: says_rpc(binding, "binding").unwrap_or_default(),
            needs_addressing: needs_addressing(binding),
            endpoint: around.into(),
            ..PolicySubject::default()
        };
        let subjects: Vec<_> = named(binding, "operation")
            .map(|operation| self.operation(binding, port_type, operation, &whole))
            .collect();
        if subjects.is_empty() {
            return vec![whole];
        }
        subjects
    }

    /// The subject of an operation of a binding.
    fn operation(
        &self,
        binding: &'d Arc<Node>,
        port_type: Option<&'d Arc<Node>>,
        operation: &'d Arc<Node>,
        whole: &PolicySubject,
    ) -> PolicySubject {
        let mut subject = whole.clone();
        subject.operation = name(operation);
        subject.action =
            soap_child(operation, "operation").and_then(|node| value(node, "soapAction"));
        let inherited = port_type
            .zip(operation.attribute("", "name"))
            .and_then(|(port_type, name)| self.operations.get(&(Arc::as_ptr(port_type), name)))
            .copied();
        subject.is_rpc = says_rpc(operation, "operation").unwrap_or(whole.is_rpc);
        let bound = Bound {
            binding,
            operation,
            port_type: port_type.map(AsRef::as_ref),
            inherited: inherited.map(AsRef::as_ref),
            is_rpc: subject.is_rpc,
        };
        subject.messages = subject.soap.map(|_| self.messages(&bound));
        let mut faults: HashMap<&str, usize> = HashMap::new();
        for part in inherited.into_iter().chain([operation]) {
            attach(part, &mut subject.both);
            if let Some(input) = part.child(WSDL, "input") {
                self.message(input, &mut subject.request);
            }
            if let Some(output) = part.child(WSDL, "output") {
                self.message(output, &mut subject.response);
            }
            for fault in named(part, "fault") {
                let mut attached = Vec::new();
                self.message(fault, &mut attached);
                let fault_name = fault.attribute("", "name").unwrap_or_default();
                let place = *faults.entry(fault_name).or_insert(subject.faults.len());
                match subject.faults.get_mut(place) {
                    Some((_, known)) => known.append(&mut attached),
                    None => subject.faults.push((fault_name.to_owned(), attached)),
                }
            }
        }
        subject
    }

    /// What is attached to an input, output or fault, and to the `wsdl:message` it names.
    fn message(&self, part: &'d Arc<Node>, attached: &mut Vec<Attached>) {
        attach(part, attached);
        if let Some(message) = self.find(part, "message", "message") {
            attach(message, attached);
        }
    }
}

fn name(node: &Node) -> Option<String> {
    value(node, "name")
}

fn value(node: &Node, attribute: &str) -> Option<String> {
    node.attribute("", attribute).map(str::to_owned)
}

fn local(qualified: &str) -> String {
    let qualified = qualified.trim();
    let local = qualified
        .split_once(':')
        .map_or(qualified, |(_, local)| local);
    local.to_owned()
}

/// Whether a binding or a port has an extension that demands addressing headers. One that is not
/// required says that they are understood.
fn needs_addressing(node: &Node) -> bool {
    let uses = node.child(ADDRESSING_WSDL, "UsingAddressing");
    let required = uses.and_then(|uses| uses.attribute(WSDL, "required"));
    required.is_some_and(|required| matches!(required.trim(), "true" | "1"))
}

/// Remembers an element to which policies are attached.
fn attach(node: &Arc<Node>, attached: &mut Vec<Attached>) {
    if node.children.iter().any(|child| is_policy(child)) || policy_uris(node).next().is_some() {
        attached.push(Attached::To(node.clone()));
    }
}

/// Most parts of an identifier to which something is attached on its own: Axis2 has a service, a
/// binding, an operation and its message.
const DEEPEST_SUBJECT: usize = 8;
