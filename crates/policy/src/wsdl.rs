//! What is attached where: the policies of services, ports, bindings, operations and messages (WS-PolicyAttachment 1.5, 4).
//!
//! A [`PolicySubject`] is one operation of one port, the smallest thing that messages are sent to, with all policies in whose scope it
//! lies. The one rule: policies of wider scopes are demanded of every message, those of a message of that message alone.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::document::{PolicyDocument, policy_uris};
use crate::error::PolicyError;
use crate::limits::Budget;
use crate::names::{PolicyVersion, WSDL, WSDL_SOAP11, WSDL_SOAP12};
use crate::node::Node;
use crate::normal::{Alternative, Assertion, NormalPolicy, Normalizer, exhaustion, multiply};
use crate::operation::{Bound, OperationMessages};

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
    /// The binding is one of SOAP 1.1 or 1.2, and not of plain HTTP, for example.
    pub is_soap: bool,
    /// What tells its messages from those of other operations; `None` where there is no operation or no SOAP.
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

/// A policy attached to something.
#[derive(Clone, Debug)]
enum Attached {
    /// A policy or a reference inside it.
    Inside(Arc<Node>),
    /// A URI in its attribute `wsp:PolicyURIs`.
    Named(String, Arc<Node>),
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
        let wsdl = Wsdl {
            definitions: self.definitions(),
            allowed: self.limits.subjects,
        };
        let subjects = wsdl.subjects()?;
        if !subjects.is_empty() {
            return Ok(subjects);
        }
        let attachments = self.attachments();
        if !attachments.is_empty() {
            return external(&attachments, self.limits.subjects);
        }
        let alone = |policy: &Arc<Node>| PolicySubject {
            both: vec![Attached::Inside(policy.clone())],
            ..PolicySubject::default()
        };
        Ok(self.policies().into_iter().map(alone).collect())
    }

    /// The alternatives of a subject, most preferred first.
    ///
    /// # Errors
    /// A [`PolicyError`] of one of its policies, or if the alternatives of all of them together are too many.
    pub fn alternatives(
        &self,
        subject: &PolicySubject,
    ) -> Result<Vec<SubjectAlternative>, PolicyError> {
        let endpoint = self.effective(subject.endpoint.iter().chain(&subject.both))?;
        let request = self.effective(&subject.request)?;
        let response = self.effective(&subject.response)?;
        for (_, fault) in &subject.faults {
            self.effective(fault)?;
        }
        let limit = |exhausted| exhaustion(self, exhausted, None);
        let mut budget = Budget::of_document(&self.limits, &self.steps_left);
        let mut alternatives = Vec::new();
        for common in &endpoint {
            let common = std::slice::from_ref(common);
            let requests = multiply(common, &request, &mut budget).map_err(limit)?;
            let responses = multiply(common, &response, &mut budget).map_err(limit)?;
            for request in &requests {
                for response in &responses {
                    budget
                        .spend(request.weight() + response.weight() + 1)
                        .and_then(|()| budget.alternatives(alternatives.len() + 1))
                        .map_err(limit)?;
                    alternatives.push(SubjectAlternative {
                        request: request.clone(),
                        response: response.clone(),
                    });
                }
            }
        }
        Ok(alternatives)
    }

    /// The policy of one message of a subject, in normal form: of what lies around the message, and of the message itself.
    ///
    /// # Errors
    /// As for [`alternatives`](Self::alternatives).
    pub fn message_policy(
        &self,
        subject: &PolicySubject,
        message: MessageKind,
    ) -> Result<NormalPolicy, PolicyError> {
        let own = match message {
            MessageKind::Request => &subject.request,
            MessageKind::Response => &subject.response,
        };
        let attached = || subject.endpoint.iter().chain(&subject.both).chain(own);
        let version = attached().find_map(|attached| match attached {
            Attached::Inside(node) => node.name.policy_version(),
            Attached::Named(..) => None,
        });
        Ok(NormalPolicy {
            version: version.unwrap_or(PolicyVersion::V15),
            alternatives: self.effective(attached())?,
        })
    }

    /// What is demanded of faults in particular. Nothing of it becomes part of an agreement: a fault is an answer like any other.
    ///
    /// # Errors
    /// As for [`alternatives`](Self::alternatives).
    pub fn fault_assertions(
        &self,
        subject: &PolicySubject,
    ) -> Result<Vec<FaultDemands>, PolicyError> {
        subject
            .faults
            .iter()
            .filter(|(_, attached)| !attached.is_empty())
            .map(|(name, attached)| {
                let first = self.effective(attached)?.into_iter().next();
                Ok(FaultDemands {
                    fault: name.clone(),
                    assertions: first.unwrap_or_default().assertions,
                })
            })
            .collect()
    }

    /// The merged alternatives of policies that apply together (WS-PolicyAttachment 1.5, 2.2).
    fn effective<'a>(
        &self,
        attached: impl IntoIterator<Item = &'a Attached>,
    ) -> Result<Vec<Alternative>, PolicyError> {
        let mut normalizer = Normalizer::new(self);
        let mut product = vec![Alternative::default()];
        for attached in attached {
            let factor = match attached {
                Attached::Inside(node) => normalizer.expression(node)?,
                Attached::Named(uri, owner) => normalizer.reference(uri, owner)?,
            };
            product = normalizer.multiply(&product, &factor)?;
        }
        Ok(product)
    }
}

/// The WSDL documents, read together.
pub(crate) struct Wsdl<'d> {
    definitions: Vec<&'d Arc<Node>>,
    /// [`PolicyLimits::subjects`](crate::PolicyLimits::subjects).
    allowed: usize,
}

impl<'d> Wsdl<'d> {
    fn subjects(&self) -> Result<Vec<PolicySubject>, PolicyError> {
        let mut subjects = Vec::new();
        let mut used: Vec<*const Node> = Vec::new();
        for service in self.all("service") {
            for port in named(service, "port") {
                let binding = self.binding_of(port)?;
                if let Some(binding) = binding {
                    used.push(Arc::as_ptr(binding));
                }
                let subject = PolicySubject {
                    service: name(service),
                    port: name(port),
                    binding: port.attribute("", "binding").map(local),
                    address: soap_child(port, "address").and_then(|node| value(node, "location")),
                    ..PolicySubject::default()
                };
                let mut around = Vec::new();
                attach(service, &mut around);
                attach(port, &mut around);
                self.operations(binding, subject, around, &mut subjects)?;
            }
        }
        for binding in self.all("binding") {
            if !used.contains(&Arc::as_ptr(binding)) {
                let subject = PolicySubject {
                    binding: name(binding),
                    ..PolicySubject::default()
                };
                self.operations(Some(binding), subject, Vec::new(), &mut subjects)?;
            }
        }
        Ok(subjects)
    }

    /// One subject for each operation of a binding.
    fn operations(
        &self,
        binding: Option<&'d Arc<Node>>,
        mut port: PolicySubject,
        mut around: Vec<Attached>,
        subjects: &mut Vec<PolicySubject>,
    ) -> Result<(), PolicyError> {
        let mut add = |subject: PolicySubject| {
            if subjects.len() == self.allowed {
                return Err(PolicyError::TooManySubjects {
                    allowed: self.allowed,
                });
            }
            subjects.push(subject);
            Ok(())
        };
        let Some(binding) = binding else {
            port.endpoint = around.into();
            return add(port);
        };
        attach(binding, &mut around);
        port.is_soap = soap_child(binding, "binding").is_some();
        let port_type = self.find(binding, "type", "portType");
        if let Some(port_type) = port_type {
            attach(port_type, &mut around);
        }
        port.endpoint = around.into();
        let mut operations = named(binding, "operation").peekable();
        if operations.peek().is_none() {
            return add(port);
        }
        for operation in operations {
            let mut subject = port.clone();
            subject.operation = name(operation);
            subject.action =
                soap_child(operation, "operation").and_then(|node| value(node, "soapAction"));
            let inherited = port_type
                .into_iter()
                .flat_map(|port_type| named(port_type, "operation"))
                .find(|other| other.attribute("", "name") == operation.attribute("", "name"));
            subject.messages = port.is_soap.then(|| {
                self.messages(&Bound {
                    binding,
                    operation,
                    port_type: port_type.map(AsRef::as_ref),
                    inherited: inherited.map(AsRef::as_ref),
                })
            });
            for part in inherited.into_iter().chain([operation]) {
                attach(part, &mut subject.both);
                if let Some(input) = part.child(WSDL, "input") {
                    self.message(input, &mut subject.request);
                }
                if let Some(output) = part.child(WSDL, "output") {
                    self.message(output, &mut subject.response);
                }
                for fault in named(part, "fault") {
                    let fault_name = name(fault).unwrap_or_default();
                    let mut attached = Vec::new();
                    self.message(fault, &mut attached);
                    match subject
                        .faults
                        .iter_mut()
                        .find(|(known, _)| *known == fault_name)
                    {
                        Some((_, known)) => known.append(&mut attached),
                        None => subject.faults.push((fault_name, attached)),
                    }
                }
            }
            add(subject)?;
        }
        Ok(())
    }

    /// What is attached to an input, output or fault, and to the `wsdl:message` it names.
    fn message(&self, part: &'d Arc<Node>, attached: &mut Vec<Attached>) {
        attach(part, attached);
        if let Some(message) = self.find(part, "message", "message") {
            attach(message, attached);
        }
    }

    /// Everything of a kind in all documents.
    fn all(&self, kind: &'static str) -> impl Iterator<Item = &'d Arc<Node>> {
        self.definitions
            .iter()
            .flat_map(move |definitions| named(definitions, kind))
    }

    /// The binding of a port, which has most of its policies: one that is nowhere, in a document that was not given perhaps, is an error. Port types
    /// and messages that are nowhere are missed where operations have to be told apart.
    fn binding_of(&self, port: &Node) -> Result<Option<&'d Arc<Node>>, PolicyError> {
        let found = self.find(port, "binding", "binding");
        match port.attribute("", "binding") {
            Some(name) if found.is_none() => Err(PolicyError::UnknownBinding {
                name: name.to_owned(),
                place: port.place.clone(),
            }),
            _ => Ok(found),
        }
    }

    /// What a QName in an attribute names.
    pub(crate) fn find(
        &self,
        from: &Node,
        attribute: &str,
        kind: &'static str,
    ) -> Option<&'d Arc<Node>> {
        let qualified = from.attribute("", attribute)?.trim();
        let (prefix, local) = qualified.split_once(':').unwrap_or(("", qualified));
        let namespace = from.namespace_of(prefix).unwrap_or_default();
        self.definitions
            .iter()
            .filter(|definitions| {
                definitions
                    .attribute("", "targetNamespace")
                    .unwrap_or_default()
                    == namespace
            })
            .flat_map(|definitions| named(definitions, kind))
            .find(|found| found.attribute("", "name") == Some(local))
    }
}

/// WSDL elements of a kind directly inside.
pub(crate) fn named<'d>(node: &'d Node, kind: &'static str) -> impl Iterator<Item = &'d Arc<Node>> {
    node.children
        .iter()
        .filter(move |child| child.name.is(WSDL, kind))
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

pub(crate) fn soap_child<'d>(node: &'d Node, local: &str) -> Option<&'d Arc<Node>> {
    node.child(WSDL_SOAP11, local)
        .or_else(|| node.child(WSDL_SOAP12, local))
}

/// What is attached to an element of a WSDL: policies and references inside, and references in an attribute.
fn attach(node: &Arc<Node>, attached: &mut Vec<Attached>) {
    let inside = node
        .children
        .iter()
        .filter(|child| {
            child.is_policy_element("Policy") || child.is_policy_element("PolicyReference")
        })
        .map(|child| Attached::Inside(child.clone()));
    attached.extend(inside);
    let uris = policy_uris(node).map(|uri| Attached::Named(uri.to_owned(), node.clone()));
    attached.extend(uris);
}

/// Most parts of an identifier to which something is attached on its own: Axis2 has a service, a binding, an operation and its message.
const DEEPEST_SUBJECT: usize = 8;

/// Subjects of `wsp:PolicyAttachment` (WS-PolicyAttachment 1.5, 3.4), as Axis2 writes them: `binding:soap11/operation:echo/in`. What is attached
/// to the front part of an identifier applies to the whole.
fn external(attachments: &[&Arc<Node>], allowed: usize) -> Result<Vec<PolicySubject>, PolicyError> {
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
    for (owner, place) in &places {
        let wider = owner.match_indices('/').take(DEEPEST_SUBJECT);
        let wider = wider.map(|(end, _)| &owner[..end]);
        let subject = &mut subjects[*place];
        for wider in wider.filter_map(|wider| places.get(wider)) {
            let wider = &own[*wider];
            subject.both.extend_from_slice(&wider.both);
            subject.request.extend_from_slice(&wider.request);
            subject.response.extend_from_slice(&wider.response);
        }
    }
    Ok(subjects)
}
