//! The operations of ports to which policies are attached: which there are, and which is chosen.

use soapstone_policy::{
    CompileOptions, ExchangePolicyError, MessageKind, PolicyDocument, PolicyError, PolicyLimits,
    Selection,
};
use soapstone_wss::Part;

use super::{Wsdl, inline, operation};
use crate::support::*;

#[test]
fn a_subject_knows_where_it_is_reached() {
    let subjects = Wsdl::default().document().subjects().unwrap();
    let [first, second] = subjects.as_slice() else {
        panic!("{subjects:?}")
    };
    assert_eq!(first.to_string(), "service S, port P, operation a");
    assert_eq!(second.operation.as_deref(), Some("b"));
    assert_eq!(first.address.as_deref(), Some("http://localhost/s"));
    assert_eq!(first.action.as_deref(), Some("urn:a"));
    assert!(!first.has_policy());
}

#[test]
fn operations_that_demand_different_things_must_be_named() {
    let binding = inline(&asymmetric(&suite("Basic256")));
    let signed = inline(SIGNED_BODY);
    let wsdl = Wsdl {
        binding: &binding,
        input: &signed,
        ..Wsdl::default()
    };
    let document = wsdl.document();
    let options = CompileOptions::default();
    assert_eq!(
        document
            .agreement(&Selection::default(), &options)
            .unwrap_err(),
        ExchangePolicyError::Ambiguous {
            first: "service S, port P, operation a".to_owned(),
            second: "service S, port P, operation b".to_owned()
        }
    );
    assert!(
        document
            .agreement(&operation("b"), &options)
            .unwrap()
            .request
            .signature()
            .is_none()
    );
    let same = Wsdl {
        other_input: &signed,
        ..wsdl
    };
    assert!(
        same.document()
            .agreement(&Selection::default(), &options)
            .is_ok()
    );
}

#[test]
fn what_is_not_there_is_not_chosen() {
    let error = Wsdl::default()
        .document()
        .agreement(&operation("c"), &CompileOptions::default())
        .unwrap_err();
    assert_eq!(
        error,
        ExchangePolicyError::NotFound {
            wanted: operation("c"),
            known: vec![
                "service S, port P, operation a".to_owned(),
                "service S, port P, operation b".to_owned()
            ]
        }
    );
    assert_eq!(
        error.to_string(),
        "expected one of `service S, port P, operation a`, `service S, port P, operation b`, found none that is operation c"
    );
}

#[test]
fn a_problem_says_where_its_policy_is_attached() {
    let binding = inline("<sp:Unheard/>");
    let wsdl = Wsdl {
        binding: &binding,
        ..Wsdl::default()
    };
    let error = wsdl
        .document()
        .agreement(&operation("a"), &CompileOptions::default())
        .unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("service S, port P, operation a)"),
        "{error}"
    );
}

#[test]
fn bindings_of_imported_documents_are_found() {
    let binding = inline(&asymmetric(&suite("Basic256")));
    let all = Wsdl {
        binding: &binding,
        ..Wsdl::default()
    }
    .source();
    let (definitions, service) = all.split_once("<service ").unwrap();
    let importing = format!(
        "<definitions xmlns='http://schemas.xmlsoap.org/wsdl/' xmlns:t='urn:t' xmlns:soap='http://schemas.xmlsoap.org/wsdl/soap/'>\
         <import location='logical.wsdl' namespace='urn:t'/><service {service}"
    );
    let resolver = |uri: &str| {
        (uri == "logical.wsdl").then(|| format!("{definitions}</definitions>").into_bytes())
    };
    let document =
        PolicyDocument::parse_with(importing.into_bytes(), &PolicyLimits::default(), &resolver)
            .unwrap();
    let subjects = document.subjects().unwrap();
    assert_eq!(subjects.len(), 2);
    assert!(subjects[0].has_policy());
    let policy = document
        .message_policy(&subjects[0], MessageKind::Response)
        .unwrap();
    assert_eq!(policy.alternatives[0].assertions.len(), 1);
}

#[test]
fn ports_without_soap_are_not_asked_for_their_policy() {
    let binding = inline(&format!("{}{SIGNED_BODY}", asymmetric(&suite("Basic256"))));
    let source = Wsdl {
        binding: &binding,
        ..Wsdl::default()
    }
    .source();
    let plain = "<binding name='H' type='t:T'><operation name='a'><input/><output/></operation></binding><service ";
    let source = source
        .replace("<service ", plain)
        .replace("</service>", "<port name='Get' binding='t:H'/></service>");
    let document = document(&source);
    assert_eq!(document.subjects().unwrap().len(), 3);
    let agreement = document
        .agreement(&Selection::default(), &CompileOptions::default())
        .unwrap();
    assert_eq!(*agreement.request.signature().unwrap().parts, [Part::Body]);
}

/// WS-PolicyAttachment 1.5, 4.1: what is attached to the binding applies. If that is in a document
/// that is not there, nobody knows what it is.
#[test]
fn a_port_whose_binding_is_nowhere_is_an_error() {
    let binding = inline(&format!("{}{SIGNED_BODY}", asymmetric(&suite("Basic256"))));
    let user = token("UsernameToken", "AlwaysToRecipient", "");
    let source = Wsdl {
        binding: &binding,
        service: &inline(&nest("SupportingTokens", &user)),
        ..Wsdl::default()
    }
    .source()
    .replacen("binding='t:B'", "binding='t:Elsewhere'", 1);
    let error = document(&source)
        .agreement(&Selection::default(), &CompileOptions::default())
        .unwrap_err();
    let ExchangePolicyError::Policy(PolicyError::UnknownBinding { name, .. }) = &error else {
        panic!("{error}")
    };
    assert_eq!(name, "t:Elsewhere");
}
