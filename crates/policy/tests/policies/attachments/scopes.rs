//! To which messages an attached policy applies, and what attachments come to together.

use soapstone_policy::{CompileOptions, Selection};
use soapstone_wss::{EncryptedPart, Part};

use super::{Wsdl, inline, operation};
use crate::support::*;

#[test]
fn policies_of_every_scope_apply_to_the_messages_inside_it() {
    let binding = inline(&asymmetric(&suite("Basic256")));
    let header = |name: &str| {
        inline(&format!(
            "<sp:SignedParts><sp:Header Name='{name}' Namespace='urn:h'/></sp:SignedParts>"
        ))
    };
    let encrypted = inline(ENCRYPTED_BODY);
    let wsdl = Wsdl {
        service: &header("service"),
        port: &header("port"),
        binding: &binding,
        port_type: &header("portType"),
        operation: &header("operation"),
        input: &header("input"),
        output: &encrypted,
        message: &header("message"),
        ..Wsdl::default()
    };
    let agreement = wsdl
        .document()
        .agreement(&operation("a"), &CompileOptions::default())
        .unwrap();
    let names = |parts: &[Part]| -> Vec<String> {
        parts
            .iter()
            .map(|part| part.to_string().replace("{urn:h}", ""))
            .collect()
    };
    let request = agreement.request.signature().unwrap().parts;
    assert_eq!(
        names(&request),
        [
            "service",
            "port",
            "portType",
            "operation",
            "message",
            "input"
        ]
    );
    let response = agreement.response.signature().unwrap().parts;
    assert_eq!(
        names(&response),
        ["service", "port", "portType", "operation"]
    );
    assert!(agreement.request.encryption().is_none());
    assert_eq!(
        agreement.response.encryption().unwrap().parts,
        [EncryptedPart::customary(Part::Body)]
    );
}

#[test]
fn policies_are_attached_by_reference_and_by_attribute() {
    let policies = format!(
        "<wsp:Policy u:Id='binding'>{}</wsp:Policy><wsp:Policy u:Id='parts'>{SIGNED_BODY}</wsp:Policy>",
        asymmetric(&suite("Basic256"))
    );
    let wsdl = Wsdl {
        policies: &policies,
        binding: "<wsp:PolicyReference URI='#binding'/>",
        attributes: "wsp:PolicyURIs='#parts'",
        ..Wsdl::default()
    };
    let agreement = wsdl
        .document()
        .agreement(&Selection::default(), &CompileOptions::default())
        .unwrap();
    assert_eq!(*agreement.request.signature().unwrap().parts, [Part::Body]);
}

/// WS-PolicyAttachment 1.5, 4: the policies of port, operation and message are merged. One that is
/// attached to two of them is one demand, and two are two, though they say the same.
#[test]
fn an_endorsing_token_that_is_attached_twice_is_one() {
    let binding = symmetric(&x509("Never", ""), &suite("Basic256"));
    let binding = inline(&format!("{binding}{SIGNED_BODY}"));
    let endorsing = nest("EndorsingSupportingTokens", &x509("AlwaysToRecipient", ""));
    let endorsed = inline(&endorsing);
    let named = policy(&endorsing).replace("<wsp:Policy ", "<wsp:Policy u:Id='endorsed' ");
    let reference = "<wsp:PolicyReference URI='#endorsed'/>";
    for (port, input, expected) in [
        (reference, reference, 1),
        (reference, endorsed.as_str(), 2),
        (endorsed.as_str(), endorsed.as_str(), 2),
    ] {
        let wsdl = Wsdl {
            policies: &named,
            binding: &binding,
            port,
            input,
            ..Wsdl::default()
        };
        let agreement = wsdl
            .document()
            .agreement(&operation("a"), &CompileOptions::default())
            .unwrap();
        assert_eq!(beside(&agreement.request).len(), expected);
    }
}

/// WS-PolicyAttachment 1.5, 3.4 and 4.1: what is attached to a binding applies to its operations as
/// well.
#[test]
fn attachments_to_a_binding_apply_to_its_operations() {
    let attachment = |subject: &str, assertions: &str| {
        format!(
            "<wsp:PolicyAttachment><wsp:AppliesTo><policy-subject xmlns='urn:axis' identifier='{subject}'/></wsp:AppliesTo>{}</wsp:PolicyAttachment>",
            inline(assertions)
        )
    };
    let user = nest(
        "SignedSupportingTokens",
        &token("UsernameToken", "AlwaysToRecipient", ""),
    );
    let source = format!(
        "<attachments xmlns:wsp='{WSP}' xmlns:sp='{SP}'>{}{}{}</attachments>",
        attachment(
            "binding:soap11/operation:echo",
            &format!(
                "{}<sp:SignedParts><sp:Body/></sp:SignedParts>",
                asymmetric(&suite("Basic256"))
            )
        ),
        attachment("binding:soap11", &user),
        attachment("binding:soap11/operation:echo/in", ENCRYPTED_BODY),
    );
    let selection = Selection {
        port: Some("binding:soap11/operation:echo".to_owned()),
        ..Selection::default()
    };
    let agreement = document(&source)
        .agreement(&selection, &CompileOptions::default())
        .unwrap();
    assert!(agreement.request.username().is_some());
    assert!(agreement.request.encryption().is_some());
}

/// WS-Addressing 1.0 WSDL Binding, 3.1: an extension of the binding or of the port, beside whatever
/// policies there are.
#[test]
fn addressing_that_a_binding_or_a_port_requires_is_demanded_beside_its_policies() {
    let uses = |required: &str| {
        format!(
            "<a:UsingAddressing xmlns:a='http://www.w3.org/2006/05/addressing/wsdl' \
             xmlns:w='http://schemas.xmlsoap.org/wsdl/' {required}/>"
        )
    };
    let binding = asymmetric(&suite("Basic256"));
    let policy = inline(&format!(
        "{binding}<sp:SignedParts><sp:Body/></sp:SignedParts>"
    ));
    let demands = |binding: &str, port: &str| {
        let wsdl = Wsdl {
            binding: &format!("{policy}{binding}"),
            port,
            ..Wsdl::default()
        };
        let document = wsdl.document();
        let subjects = document.subjects().expect("subjects");
        let subject = &subjects[0];
        let options = CompileOptions::default();
        let agreement = document.agreement_of(subject, &options).expect("plans");
        assert!(agreement.request.signature().is_some());
        agreement.addressing
    };
    let required = uses("w:required='true'");
    assert!(demands(&required, ""));
    assert!(demands("", &required));
    assert!(demands("", &uses("w:required=' 1 '")));
    // What is not required is understood, and may be left out.
    for optional in ["", "w:required='false'", "required='true'"] {
        assert!(!demands(&uses(optional), &uses(optional)), "{optional}");
    }
    assert!(!demands("", ""));
}
