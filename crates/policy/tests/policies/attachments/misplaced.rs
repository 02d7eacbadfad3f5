//! Policies that stand where none is attached, or of which nobody knows what they demand.

use soapstone_policy::{CompileOptions, ExchangePolicyError, ProblemKind, Selection};

use super::{Wsdl, inline};
use crate::support::*;

/// The problems for which a WSDL is refused: local names, lines, reasons.
fn refused_in(source: &str) -> Vec<(String, u32, &'static str)> {
    let found = document(source).agreement(&Selection::default(), &CompileOptions::default());
    match found {
        Err(ExchangePolicyError::NotSupported(problems)) => problems
            .into_iter()
            .map(|problem| match problem.kind {
                ProblemKind::NotSupported { reason } => (
                    problem.assertion.local.to_string(),
                    problem.place.line,
                    reason,
                ),
                other => panic!("{other:?}"),
            })
            .collect(),
        other => panic!("expected problems, found {other:?}"),
    }
}

/// WS-PolicyAttachment 1.5, 4.1: what is attached elsewhere than to a subject applies to none, and
/// the port would go without protection.
#[test]
fn policies_in_places_where_none_is_attached_are_refused() {
    let reason =
        "policies are attached to services, ports, bindings, port types, operations and messages";
    let signed = format!(
        "<wsp:Policy u:Id='p'>{}{SIGNED_BODY}</wsp:Policy>",
        asymmetric(&suite("Basic256"))
    );
    let defined = Wsdl {
        policies: &signed,
        ..Wsdl::default()
    };
    assert!(
        document(&defined.source())
            .agreement(&Selection::default(), &CompileOptions::default())
            .unwrap()
            .demands_nothing()
    );
    let reference = "<wsp:PolicyReference URI='#p'/>";
    let everywhere = format!("{signed}{reference}");
    let referring = Wsdl {
        policies: &everywhere,
        ..Wsdl::default()
    };
    assert_eq!(
        refused_in(&referring.source()),
        [("PolicyReference".to_owned(), 3, reason)]
    );
    let of_soap = defined.source().replace(
        "<soap:operation soapAction='urn:a'/>",
        &format!("<soap:operation soapAction='urn:a'>{reference}</soap:operation>"),
    );
    let found = refused_in(&of_soap);
    assert_eq!((found.len(), &*found[0].0), (1, "PolicyReference"));
    let by_attribute = defined
        .source()
        .replace("<types>", "<types wsp:PolicyURIs='#p'>");
    assert_eq!(refused_in(&by_attribute), [("types".to_owned(), 4, reason)]);
}

/// WS-PolicyAttachment 1.5, 3.4: beside a WSDL's own ports they were left out.
#[test]
fn attachments_in_a_wsdl_that_has_ports_are_refused() {
    let attachment = format!(
        "<wsp:PolicyAttachment><wsp:AppliesTo><wsp:URI>urn:t#wsdl11.port(S/P)</wsp:URI></wsp:AppliesTo><wsp:Policy>{}{SIGNED_BODY}</wsp:Policy></wsp:PolicyAttachment>",
        asymmetric(&suite("Basic256"))
    );
    let wsdl = Wsdl {
        policies: &attachment,
        ..Wsdl::default()
    };
    assert_eq!(
        refused_in(&wsdl.source()),
        [(
            "PolicyAttachment".to_owned(),
            3,
            "what a WSDL's own bindings demand is attached to them, inside"
        )]
    );
}

/// WSDL 1.1, 2.4.5: operations may share a name, and bindings say by other names which of them is
/// meant. The policy of the second one was left out.
#[test]
fn policies_of_a_second_operation_of_a_name_are_refused() {
    let more = format!(
        "<operation name='a'><input>{}</input></operation></portType>",
        inline(SIGNED_BODY)
    );
    let source = Wsdl::default().source().replace("</portType>", &more);
    assert_eq!(
        refused_in(&source),
        [(
            "Policy".to_owned(),
            7,
            "operations of one name have the policies of the first one"
        )]
    );
}

/// WS-PolicyAttachment 1.5, 2: whatever is attached is demanded. A policy that is taken for
/// somebody else's element would be none.
#[test]
fn policies_of_a_version_that_is_not_known_are_refused() {
    let old = "xmlns:w='http://schemas.xmlsoap.org/ws/2002/12/policy'";
    let reason = "policies are those of WS-Policy 1.2 and 1.5";
    for (attributes, binding, local) in [
        ("", format!("<w:Policy {old}/>"), "Policy"),
        (
            "",
            format!("<w:PolicyReference {old} URI='#p'/>"),
            "PolicyReference",
        ),
        (
            &*format!("{old} w:PolicyURIs='#p'"),
            String::new(),
            "binding",
        ),
    ] {
        let wsdl = Wsdl {
            attributes,
            binding: &binding,
            ..Wsdl::default()
        };
        assert_eq!(refused_in(&wsdl.source()), [(local.to_owned(), 8, reason)]);
    }
}

/// Elements of others may be called so.
#[test]
fn what_is_called_a_policy_in_other_languages_is_none_of_ours() {
    let wsdl = Wsdl {
        binding: "<m:Policy xmlns:m='urn:retention'/>",
        ..Wsdl::default()
    };
    let agreement = wsdl
        .document()
        .agreement(&Selection::default(), &CompileOptions::default())
        .unwrap();
    assert!(agreement.demands_nothing());
}
