//! Policies attached to the parts of a WSDL.

use soapstone_policy::{
    CompileOptions, ExchangePolicyError, MessageKind, PolicyDocument, PolicyError, PolicyLimits,
    ProblemKind, Selection, TransportRequirement,
};
use soapstone_wss::{EncryptedPart, Part};

use crate::support::*;

/// A WSDL with two operations; each argument is put where its name says.
#[derive(Default)]
struct Wsdl<'a> {
    service: &'a str,
    port: &'a str,
    binding: &'a str,
    port_type: &'a str,
    operation: &'a str,
    input: &'a str,
    output: &'a str,
    message: &'a str,
    other_input: &'a str,
    policies: &'a str,
    attributes: &'a str,
}

impl Wsdl<'_> {
    fn source(&self) -> String {
        let Self {
            service,
            port,
            binding,
            port_type,
            operation,
            input,
            output,
            message,
            other_input,
            policies,
            attributes,
        } = self;
        format!(
            "<definitions xmlns='http://schemas.xmlsoap.org/wsdl/' xmlns:t='urn:t' targetNamespace='urn:t' xmlns:wsp='{WSP}' xmlns:sp='{SP}'
               xmlns:soap='http://schemas.xmlsoap.org/wsdl/soap/'
               xmlns:u='http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd'>{policies}
              <types><schema xmlns='http://www.w3.org/2001/XMLSchema'/></types>
              <message name='ask'>{message}</message>
              <portType name='T'>{port_type}<operation name='a'><input message='t:ask'/><output/></operation>
                <operation name='b'><input/><output/></operation></portType>
              <binding name='B' type='t:T' {attributes}>{binding}<soap:binding transport='http://schemas.xmlsoap.org/soap/http'/>
                <operation name='a'>{operation}<soap:operation soapAction='urn:a'/><input>{input}</input><output>{output}</output></operation>
                <operation name='b'><input>{other_input}</input><output/></operation></binding>
              <service name='S'>{service}<port name='P' binding='t:B'>{port}<soap:address location='http://localhost/s'/></port></service>
             </definitions>"
        )
    }

    fn document(&self) -> PolicyDocument {
        document(&self.source())
    }
}

fn inline(assertions: &str) -> String {
    format!("<wsp:Policy>{assertions}</wsp:Policy>")
}

fn operation(name: &str) -> Selection {
    Selection {
        operation: Some(name.to_owned()),
        ..Selection::default()
    }
}

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

/// WS-SecurityPolicy 1.3, 8: tokens that support the answer alone are not what requests have.
#[test]
fn supporting_tokens_of_answers_are_refused() {
    let binding = inline(&format!("{}{SIGNED_BODY}", asymmetric(&suite("Basic256"))));
    let endorsing = nest("EndorsingSupportingTokens", &x509("AlwaysToInitiator", ""));
    let wsdl = Wsdl {
        binding: &binding,
        output: &inline(&endorsing),
        ..Wsdl::default()
    };
    let error = wsdl
        .document()
        .agreement(&operation("a"), &CompileOptions::default())
        .unwrap_err();
    let ExchangePolicyError::NotSupported(problems) = error else {
        panic!("{error}")
    };
    let [problem] = problems.as_slice() else {
        panic!("{problems:?}")
    };
    assert_eq!(&*problem.assertion.local, "EndorsingSupportingTokens");
    assert_eq!(
        problem.kind,
        ProblemKind::NotSupported {
            reason: "supporting tokens are those of requests"
        }
    );
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

/// WS-SecurityPolicy 1.3, 7.3: an answer that the connection is to protect travels on that of its
/// request.
#[test]
fn a_transport_binding_of_answers_alone_demands_tls() {
    let wsdl = Wsdl {
        output: &inline(&transport("")),
        ..Wsdl::default()
    };
    let agreement = wsdl
        .document()
        .agreement(&operation("a"), &CompileOptions::default())
        .unwrap();
    assert_eq!(
        agreement.transport,
        Some(TransportRequirement {
            client_certificate: false
        })
    );
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

/// WS-SecurityPolicy 1.3, 3: bindings are for both messages. What the policy of an answer says of
/// another conversation, or of how it begins, was left out.
#[test]
fn an_answer_in_another_conversation_than_its_request_is_refused() {
    let conversation = |bootstrap: &str| {
        let bootstrap = symmetric(
            &x509("Never", ""),
            &format!("{}{bootstrap}", suite("Basic128")),
        );
        let context = token(
            "SecureConversationToken",
            "AlwaysToRecipient",
            &nest("BootstrapPolicy", &bootstrap),
        );
        let binding = symmetric(&context, &suite("Basic128"));
        inline(&format!("{binding}{SIGNED_BODY}"))
    };
    let plain = conversation("");
    let agreement = |input: &str| {
        Wsdl {
            input,
            output: &plain,
            ..Wsdl::default()
        }
        .document()
        .agreement(&operation("a"), &CompileOptions::default())
    };
    assert!(agreement(&plain).unwrap().conversation.is_some());
    for input in [conversation("<sp:EncryptSignature/>"), String::new()] {
        let Err(ExchangePolicyError::NotSupported(problems)) = agreement(&input) else {
            panic!("{input}")
        };
        let [problem] = problems.as_slice() else {
            panic!("{problems:?}")
        };
        assert_eq!(&*problem.assertion.local, "SecureConversationToken");
        assert_eq!(
            problem.kind,
            ProblemKind::Conflict {
                with: "the binding of its requests"
            }
        );
    }
}

/// WS-SecurityPolicy 1.3, 7.4: answers are protected with the key that came with the request. Where
/// none comes, they cannot be made.
#[test]
fn an_answer_with_the_key_of_a_request_that_brings_none_is_refused() {
    let binding = inline(&symmetric(&x509("Never", ""), &suite("Basic256")));
    let wsdl = Wsdl {
        binding: &binding,
        output: &inline(SIGNED_BODY),
        ..Wsdl::default()
    };
    let found = wsdl
        .document()
        .agreement(&operation("a"), &CompileOptions::default());
    let Err(ExchangePolicyError::NotSupported(problems)) = found else {
        panic!("{found:?}")
    };
    assert_eq!(
        problems[0].to_string(),
        "`sp:SymmetricBinding` needs `signed or encrypted parts of requests, whose key protects answers`, found none \
         (at line 8 column 57, service S, port P, operation a)"
    );
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

/// WS-SecurityPolicy 1.3, 7.3: requests alone carry the issued token of a transport.
#[test]
fn the_issued_token_of_a_transport_is_that_of_requests() {
    let binding = |token: &str| {
        let token = nest("TransportToken", token);
        inline(&nest("TransportBinding", &(token + &suite("Basic256"))))
    };
    let issued = |key: &str| {
        let wst = "http://docs.oasis-open.org/ws-sx/ws-trust/200512";
        let template = format!(
            "<sp:RequestSecurityTokenTemplate xmlns:t='{wst}'><t:KeyType>{wst}/{key}</t:KeyType></sp:RequestSecurityTokenTemplate><wsp:Policy>"
        );
        let token = token("IssuedToken", "AlwaysToRecipient", "");
        binding(&token.replacen("<wsp:Policy>", &template, 1))
    };
    let https = binding("<sp:HttpsToken><wsp:Policy/></sp:HttpsToken>");
    let agreed = |input: &str, output: &str| {
        let wsdl = Wsdl {
            input,
            output,
            ..Wsdl::default()
        };
        let document = wsdl.document();
        document.agreement(&operation("a"), &CompileOptions::default())
    };
    let (held, borne) = (issued("PublicKey"), issued("Bearer"));
    for (input, output) in [(&https, &held), (&borne, &held)] {
        let error = agreed(input, output).unwrap_err();
        let ExchangePolicyError::NotSupported(problems) = error else {
            panic!("{error}")
        };
        let reason =
            "the issued token of a transport is that of requests: write it for both messages";
        assert_eq!(problems[0].kind, ProblemKind::NotSupported { reason });
    }
    for (input, output) in [(&held, &held), (&held, &https)] {
        agreed(input, output).unwrap();
    }
}
