//! WS-Addressing, one-way operations and SOAP versions in descriptions, as Basic Profile 1.2 and
//! 2.0 have them.

use std::collections::HashSet;

use soapstone_xml::Element;

use crate::findings::{Findings, quoted};
use crate::look::addressing::is_absolute;
use crate::look::wsdl::description::{Description, is_soap};
use crate::names::{
    ADDRESSING_METADATA, ADDRESSING_WSDL_DRAFT, WSDL, WSDL_SOAP11, WSDL_SOAP12, WSU, XML,
};
use crate::rule::Profile;

pub(super) fn look(description: &Description<'_>, findings: &mut Findings) {
    let all = description.definitions;
    for element in all.descendants() {
        look_at_draft(element, findings);
        look_at_responses(element, findings);
    }
    look_at_versions(all, findings);
    let policies = all.children().filter(|child| child.local() == "Policy");
    let demanding: HashSet<String> = policies
        .filter(|policy| demands_addressing(*policy))
        .filter_map(|policy| {
            let id = policy.attribute(WSU, "Id");
            let id = id.or_else(|| policy.attribute(XML, "id"))?;
            Some(id.into_owned())
        })
        .collect();
    for child in all.children() {
        match child.local() {
            "portType" if child.namespace() == WSDL => {
                look_at_operations(child, findings);
                look_at_attachment(child, &demanding, findings);
            }
            "binding" if child.namespace() == WSDL => look_at_actions(description, child, findings),
            _ => {}
        }
    }
}

fn demands_addressing(policy: Element<'_>) -> bool {
    let mut all = policy.descendants();
    all.any(|one| one.is(ADDRESSING_METADATA, "Addressing"))
}

/// Attributes and elements of the draft.
fn look_at_draft(element: Element<'_>, findings: &mut Findings) {
    let mut attributes = element.attributes();
    let attribute = attributes.find(|one| one.namespace() == ADDRESSING_WSDL_DRAFT);
    let name = match (element.namespace(), attribute) {
        (ADDRESSING_WSDL_DRAFT, _) => element.qualified_name().to_owned(),
        (_, Some(attribute)) => attribute.qualified_name().to_owned(),
        _ => return,
    };
    let expected = "the namespace of the Recommendation";
    findings.add(
        "bp-wsdl-action-draft",
        element,
        expected,
        quoted(Some(&name)),
    );
}

/// Both kinds of responses in one alternative: side by side in anything but a choice.
fn look_at_responses(element: Element<'_>, findings: &mut Findings) {
    if element.local() == "ExactlyOne" {
        return;
    }
    let has = |local: &str| element.child(ADDRESSING_METADATA, local);
    if has("AnonymousResponses").is_some()
        && let Some(other) = has("NonAnonymousResponses")
    {
        let expected = "anonymous responses or others";
        findings.add("bp-wsdl-responses", other, expected, "both");
    }
}

fn look_at_operations(port_type: Element<'_>, findings: &mut Findings) {
    for operation in port_type
        .children()
        .filter(|child| child.is(WSDL, "operation"))
    {
        let has_output = operation.child(WSDL, "output").is_some();
        let fault = operation.child(WSDL, "fault");
        if let Some(fault) = fault.filter(|_| !has_output) {
            let expected = "no fault without an output";
            findings.add("bp-one-way-fault", fault, expected, "one");
        }
        for message in operation.children() {
            let action = message.attribute(ADDRESSING_METADATA, "Action");
            if let Some(action) = action.filter(|action| !is_absolute(action)) {
                let found = quoted(Some(&action));
                findings.add("bp-wsdl-action-iri", message, "an absolute IRI", found);
            }
        }
    }
}

/// A policy with `wsam:Addressing` at a port type: inside of it, or a policy that it names, by the
/// ids of `demanding` ones.
fn look_at_attachment(
    port_type: Element<'_>,
    demanding: &HashSet<String>,
    findings: &mut Findings,
) {
    let mut named = port_type
        .children()
        .filter(|child| child.local() == "PolicyReference")
        .filter_map(|child| {
            let uri = child.attribute("", "URI")?;
            uri.strip_prefix('#').map(str::to_owned)
        })
        .chain(
            port_type
                .attributes()
                .filter(|attribute| attribute.local() == "PolicyURIs")
                .flat_map(|attribute| {
                    let uris = port_type.attribute(attribute.namespace(), "PolicyURIs");
                    let uris = uris.unwrap_or_default().into_owned();
                    let ids = uris.split_whitespace();
                    ids.filter_map(|uri| uri.strip_prefix('#').map(str::to_owned))
                        .collect::<Vec<_>>()
                }),
        );
    let inside = port_type.children();
    let mut inside = inside.filter(|child| child.local() == "Policy");
    if inside.any(demands_addressing) || named.any(|id| demanding.contains(&id)) {
        let expected = "the policy at a binding or a port";
        let found = "one at a port type";
        findings.add("bp-wsdl-addressing-attached", port_type, expected, found);
    }
}

/// Bindings of the SOAP version that the only chosen profile is about: one at least, if there are
/// any.
fn look_at_versions(definitions: Element<'_>, findings: &mut Findings) {
    let profiles = findings.profiles();
    let of_11 = profiles.has(Profile::Bp11) || profiles.has(Profile::Bp12);
    let wanted = match (of_11, profiles.has(Profile::Bp20)) {
        (true, false) => WSDL_SOAP11,
        (false, true) => WSDL_SOAP12,
        _ => return,
    };
    let bindings = definitions
        .children()
        .filter(|child| child.is(WSDL, "binding"));
    let of_soap: Vec<_> = bindings
        .filter_map(|binding| binding.children().find(|child| is_soap(*child, "binding")))
        .collect();
    if of_soap.iter().any(|soap| soap.namespace() == wanted) {
        return;
    }
    for soap in of_soap {
        let found = quoted(Some(soap.namespace()));
        findings.add("bp-binding-version", soap, quoted(Some(wanted)), found);
    }
}

/// Actions of the operations of a binding, beside those of its port type.
fn look_at_actions(description: &Description<'_>, binding: Element<'_>, findings: &mut Findings) {
    let port_type = description.port_type(binding);
    for operation in binding
        .children()
        .filter(|child| child.is(WSDL, "operation"))
    {
        let mut children = operation.children();
        let Some(soap) = children.find(|child| is_soap(*child, "operation")) else {
            continue;
        };
        let soap_action = soap.attribute("", "soapAction").unwrap_or_default();
        let required = soap.attribute("", "soapActionRequired");
        let is_required = required.is_some_and(|value| matches!(value.trim(), "true" | "1"));
        if is_required && soap.namespace() == WSDL_SOAP12 && !is_absolute(&soap_action) {
            let found = quoted(Some(&soap_action));
            findings.add("bp20-soap-action", soap, "an absolute IRI", found);
        }
        let name = operation.attribute("", "name").unwrap_or_default();
        let meant = port_type.and_then(|operations| operations.get(&*name));
        let input = meant.and_then(|operation| operation.child(WSDL, "input"));
        let action = input.and_then(|input| input.attribute(ADDRESSING_METADATA, "Action"));
        if let Some((input, action)) = input.zip(action)
            && !soap_action.is_empty()
            && action != soap_action
        {
            let expected = format!("the soapAction {}", quoted(Some(&soap_action)));
            let found = quoted(Some(&action));
            findings.add("bp-wsdl-action-soap", input, expected, found);
        }
    }
}
