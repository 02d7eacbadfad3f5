//! Operations that demand different things: their agreements, and what tells their messages apart.

use soapstone_policy::{
    BodyContent, CompileOptions, ExchangePolicies, ExchangePolicyError, Name, OperationMessages,
    OperationTable, PolicyDocument, PolicyLimits, Selection,
};
use soapstone_wss::Part;

use crate::support::*;

/// An operation as it stands in a WSDL.
#[derive(Clone, Copy)]
struct Operation<'a> {
    name: &'a str,
    /// The parts of its input message.
    parts: &'a str,
    /// Attributes of the port type's input.
    input: &'a str,
    /// Attributes of the port type's output.
    output: &'a str,
    /// Attributes of `soap:operation`.
    soap: &'a str,
    /// The content of the binding's input.
    bound: &'a str,
    /// The policy of its messages.
    policy: &'a str,
    one_way: bool,
}

impl<'a> Operation<'a> {
    fn new(name: &'a str, parts: &'a str, policy: &'a str) -> Self {
        Self {
            name,
            parts,
            input: "",
            output: "",
            soap: "",
            bound: "<soap:body use='literal' namespace='urn:rpc'/>",
            policy,
            one_way: false,
        }
    }
}

const BINDING_HEAD: &str = "<soap:binding transport='http://schemas.xmlsoap.org/soap/http'/>";

/// A WSDL with these operations, all under one binding. `namespace` is its target namespace.
fn wsdl_in(namespace: &str, binding: &str, operations: &[Operation<'_>]) -> String {
    let mut messages = String::new();
    let mut abstracts = String::new();
    let mut bounds = String::new();
    for operation in operations {
        let Operation {
            name,
            parts,
            input,
            output,
            soap,
            bound,
            policy,
            one_way,
        } = operation;
        messages.push_str(&format!(
            "<message name='{name}'>{parts}</message>\
             <message name='{name}Answer'><part name='p' element='x:{name}Answer'/></message>"
        ));
        let (output, bound_output) = if *one_way {
            (String::new(), "")
        } else {
            (
                format!("<output message='t:{name}Answer' {output}/>"),
                "<output><soap:body use='literal' namespace='urn:rpc'/></output>",
            )
        };
        abstracts.push_str(&format!(
            "<operation name='{name}'><input message='t:{name}' {input}/>{output}</operation>"
        ));
        bounds.push_str(&format!(
            "<operation name='{name}'><wsp:Policy>{policy}</wsp:Policy><soap:operation {soap}/>\
             <input>{bound}</input>{bound_output}</operation>"
        ));
    }
    format!(
        "<definitions xmlns='http://schemas.xmlsoap.org/wsdl/' xmlns:t='{namespace}' targetNamespace='{namespace}' xmlns:x='urn:x'
           xmlns:wsp='{WSP}' xmlns:sp='{SP}' xmlns:soap='http://schemas.xmlsoap.org/wsdl/soap/'
           xmlns:wsam='http://www.w3.org/2007/05/addressing/metadata' xmlns:wsaw='http://www.w3.org/2006/05/addressing/wsdl'>{messages}
          <portType name='T'>{abstracts}</portType>
          <binding name='B' type='t:T'><wsp:Policy>{binding}</wsp:Policy>{BINDING_HEAD}{bounds}</binding>
          <service name='S'><port name='P' binding='t:B'/></service>
         </definitions>"
    )
}

fn wsdl(operations: &[Operation<'_>]) -> String {
    wsdl_in("urn:t", &asymmetric(&suite("Basic256")), operations)
}

fn agreements(source: &str) -> Result<ExchangePolicies, ExchangePolicyError> {
    document(source).agreements(&Selection::default(), &CompileOptions::default())
}

fn table(source: &str) -> OperationTable {
    match agreements(source) {
        Ok(ExchangePolicies::ByOperation(table)) => table,
        other => panic!("expected a table, found {other:?}"),
    }
}

/// What identifies the first of these operations; the second one demands something else.
fn messages(first: Operation<'_>) -> OperationMessages {
    let second = Operation::new("other", "<part name='p' element='x:other'/>", "");
    let table = table(&wsdl(&[first, second]));
    table.operations[0].messages.clone()
}

fn element(namespace: &str, local: &str) -> BodyContent {
    BodyContent::Element(Name {
        namespace: namespace.into(),
        local: local.into(),
    })
}

const A: &str = "<part name='p' element='x:a'/>";
const B: &str = "<part name='p' element='x:b'/>";

#[test]
fn operations_that_demand_the_same_have_one_agreement() {
    let source = wsdl(&[
        Operation::new("a", A, SIGNED_BODY),
        // Nothing has to tell them apart.
        Operation::new("b", A, SIGNED_BODY),
    ]);
    let Ok(ExchangePolicies::One(agreement)) = agreements(&source) else {
        panic!("expected one agreement")
    };
    assert_eq!(*agreement.request.signature().unwrap().parts, [Part::Body]);
}

#[test]
fn operations_that_demand_different_things_have_agreements_of_their_own_and_those_alike_share_one()
{
    let both = format!("{SIGNED_BODY}{ENCRYPTED_BODY}");
    let table = table(&wsdl(&[
        Operation::new("a", A, SIGNED_BODY),
        Operation::new("b", B, &both),
        Operation::new("c", "<part name='p' element='x:c'/>", SIGNED_BODY),
    ]));
    let which: Vec<_> = table
        .operations
        .iter()
        .map(|operation| (operation.name.as_str(), operation.agreement))
        .collect();
    assert_eq!(which, [("a", 0), ("b", 1), ("c", 0)]);
    let encrypts: Vec<bool> = table
        .agreements
        .iter()
        .map(|agreement| agreement.request.encryption().is_some())
        .collect();
    assert_eq!(encrypts, [false, true]);
}

#[test]
fn an_operation_that_is_named_has_one_agreement() {
    let source = wsdl(&[
        Operation::new("a", A, SIGNED_BODY),
        Operation::new("b", B, ""),
    ]);
    let selection = Selection {
        operation: Some("b".to_owned()),
        ..Selection::default()
    };
    let agreements = document(&source).agreements(&selection, &CompileOptions::default());
    let Ok(ExchangePolicies::One(agreement)) = agreements else {
        panic!("expected one agreement, found {agreements:?}")
    };
    assert!(agreement.request.signature().is_none());
}

#[test]
fn a_document_message_is_known_by_the_element_of_its_part() {
    let found = messages(Operation {
        soap: "soapAction='urn:do'",
        ..Operation::new("a", A, SIGNED_BODY)
    });
    assert_eq!(
        found,
        OperationMessages {
            soap_action: Some("urn:do".to_owned()),
            addressing_actions: vec!["urn:do".to_owned(), "urn:t:T:aRequest".to_owned()],
            answer_action: Some("urn:t:T:aResponse".to_owned()),
            request: element("urn:x", "a"),
            response: Some(element("urn:x", "aAnswer")),
        }
    );
}

/// WSDL 1.1, 3.5.
#[test]
fn an_rpc_message_is_known_by_its_operation_in_the_namespace_of_the_soap_body() {
    let found = messages(Operation {
        soap: "style='rpc'",
        ..Operation::new("a", "<part name='p' type='x:Some'/>", SIGNED_BODY)
    });
    assert_eq!(found.request, element("urn:rpc", "a"));
    assert_eq!(found.response, Some(element("urn:rpc", "aResponse")));
    assert_eq!(found.soap_action, None);
}

#[test]
fn parts_in_header_blocks_are_not_in_the_body() {
    let parts = "<part name='h' element='x:h'/><part name='p' element='x:a'/>";
    for bound in [
        "<soap:header message='t:a' part='h'/><soap:body use='literal'/>",
        "<soap:body use='literal' parts='p'/>",
    ] {
        let found = messages(Operation {
            bound,
            ..Operation::new("a", parts, SIGNED_BODY)
        });
        assert_eq!(found.request, element("urn:x", "a"), "{bound}");
    }
}

#[test]
fn a_message_without_parts_has_an_empty_body_and_one_way_operations_have_no_response() {
    let found = messages(Operation {
        one_way: true,
        ..Operation::new("a", "", SIGNED_BODY)
    });
    assert_eq!(found.request, BodyContent::Empty);
    assert_eq!(found.response, None);
    // WS-Addressing 1.0 Metadata, 4.4.4: the input of a one-way operation is called like it.
    assert_eq!(found.addressing_actions, ["urn:t:T:a"]);
    assert_eq!(found.answer_action, None);
}

/// WS-Addressing 1.0 Metadata, 4.4.1 and 4.4.4.
#[test]
fn the_action_of_addressing_is_explicit_or_follows_the_default_pattern() {
    for (namespace, input, expected) in [
        ("urn:t", "", "urn:t:T:aRequest"),
        ("http://t/x", "", "http://t/x/T/aRequest"),
        ("http://t/x/", "name='In'", "http://t/x/T/In"),
        ("urn:t", "wsam:Action='urn:explicit'", "urn:explicit"),
        ("urn:t", "wsaw:Action='urn:explicit'", "urn:explicit"),
    ] {
        let first = Operation {
            input,
            ..Operation::new("a", A, SIGNED_BODY)
        };
        let second = Operation::new("b", B, "");
        let binding = asymmetric(&suite("Basic256"));
        let table = table(&wsdl_in(namespace, &binding, &[first, second]));
        let actions = &table.operations[0].messages.addressing_actions;
        assert_eq!(actions, &[expected], "{namespace} {input}");
    }
}

/// WS-Addressing 1.0 Metadata, 4.4.1 and 4.4.4: a `soapAction` is that of the request alone.
#[test]
fn the_action_of_an_answer_is_explicit_or_follows_the_default_pattern() {
    for (output, expected) in [
        ("", "urn:t:T:aResponse"),
        ("name='Out'", "urn:t:T:Out"),
        ("wsam:Action='urn:explicit'", "urn:explicit"),
        ("name='Out' wsaw:Action='urn:explicit'", "urn:explicit"),
    ] {
        let found = messages(Operation {
            output,
            soap: "soapAction='urn:do'",
            ..Operation::new("a", A, SIGNED_BODY)
        });
        assert_eq!(found.answer_action.as_deref(), Some(expected), "{output}");
    }
}

#[test]
fn operations_that_differ_and_whose_requests_look_alike_are_an_error() {
    let refused = ExchangePolicyError::Indistinguishable {
        first: "service S, port P, operation a".to_owned(),
        second: "service S, port P, operation b".to_owned(),
        content: "`{urn:x}a`".to_owned(),
    };
    let with_actions = |first: &'static str, second: &'static str| {
        agreements(&wsdl(&[
            Operation {
                soap: first,
                ..Operation::new("a", A, SIGNED_BODY)
            },
            Operation {
                soap: second,
                ..Operation::new("b", A, "")
            },
        ]))
    };
    for (first, second) in [
        ("", ""),
        ("soapAction='urn:same'", "soapAction='urn:same'"),
        // One without an action can be reached by leaving the other's out.
        ("", "soapAction='urn:b'"),
        ("soapAction='urn:a'", "soapAction=''"),
    ] {
        let error = with_actions(first, second).unwrap_err();
        let expected = match first {
            "soapAction='urn:a'" => ExchangePolicyError::Indistinguishable {
                first: "service S, port P, operation b".to_owned(),
                second: "service S, port P, operation a".to_owned(),
                content: "`{urn:x}a`".to_owned(),
            },
            _ => refused.clone(),
        };
        assert_eq!(error, expected, "{first} {second}");
    }
    assert!(with_actions("soapAction='urn:a'", "soapAction='urn:b'").is_ok());
}

#[test]
fn actions_of_addressing_tell_requests_apart_where_every_policy_asks_for_addressing() {
    let operations = [
        Operation::new("a", A, SIGNED_BODY),
        Operation::new("b", A, ""),
    ];
    let binding = asymmetric(&suite("Basic256"));
    let addressed = format!("{binding}<wsam:Addressing><wsp:Policy/></wsam:Addressing>");
    let table = table(&wsdl_in("urn:t", &addressed, &operations));
    assert_eq!(table.operations.len(), 2);
    assert!(agreements(&wsdl(&operations)).is_err());
}

#[test]
fn an_operation_whose_body_is_not_described_by_an_element_is_an_error() {
    for (parts, problem) in [
        (
            "<part name='p' type='x:Some'/>",
            "its part has a type and names no element (WS-I Basic Profile 1.1, R2204)",
        ),
        (
            "<part name='p' element='x:a'/><part name='q' element='x:b'/>",
            "its Body has several parts (WS-I Basic Profile 1.1, R2201)",
        ),
        (
            "<part name='p' element='nobody:a'/>",
            "the element of its part has a prefix that is bound to nothing",
        ),
    ] {
        let error = agreements(&wsdl(&[
            Operation::new("a", parts, SIGNED_BODY),
            Operation::new("b", B, ""),
        ]))
        .unwrap_err();
        assert_eq!(
            error,
            ExchangePolicyError::Unidentified {
                subject: "service S, port P, operation a".to_owned(),
                problem
            }
        );
    }
}

#[test]
fn ports_share_a_table_if_each_operation_demands_the_same_at_all_of_them() {
    let source = wsdl(&[
        Operation::new("a", A, SIGNED_BODY),
        Operation::new("b", B, ""),
    ]);
    let twice = source.replace("</service>", "<port name='Q' binding='t:B'/></service>");
    assert_eq!(table(&twice).operations, table(&source).operations);
    let weaker = twice.replace(
        "<port name='Q' binding='t:B'/>",
        "<port name='Q' binding='t:W'/>",
    );
    let at = weaker.find("<binding ").unwrap();
    let end = weaker.find("<service ").unwrap();
    let other = weaker[at..end]
        .replace("name='B'", "name='W'")
        .replace(SIGNED_BODY, "");
    let weaker = format!("{}{other}{}", &weaker[..end], &weaker[end..]);
    assert_eq!(
        agreements(&weaker).unwrap_err(),
        ExchangePolicyError::Ambiguous {
            first: "service S, port P, operation a".to_owned(),
            second: "service S, port Q, operation a".to_owned(),
        }
    );
}

#[test]
fn operations_share_their_conversations_or_none_has_one() {
    let bootstrap = |parts: &str| {
        let inner = format!("{}{parts}", asymmetric(&suite("Basic256")));
        let token = token(
            "SecureConversationToken",
            "AlwaysToRecipient",
            &nest("BootstrapPolicy", &inner),
        );
        symmetric(&token, &suite("Basic256"))
    };
    let both = format!("{SIGNED_BODY}{ENCRYPTED_BODY}");
    let in_conversation =
        |parts: &str, bootstrapped: &str| format!("{}{parts}", bootstrap(bootstrapped));
    let (strong, weak) = (
        in_conversation(&both, &both),
        in_conversation(SIGNED_BODY, &both),
    );
    let of = |first: &str, second: &str| {
        agreements(&wsdl_in(
            "urn:t",
            "",
            &[
                Operation::new("a", A, first),
                Operation::new("b", B, second),
            ],
        ))
    };
    let Ok(ExchangePolicies::ByOperation(table)) = of(&strong, &weak) else {
        panic!("expected a table")
    };
    assert!(
        table
            .agreements
            .iter()
            .all(|agreement| agreement.conversation.is_some())
    );
    let differ = ExchangePolicyError::ConversationsDiffer {
        first: "service S, port P, operation a".to_owned(),
        second: "service S, port P, operation b".to_owned(),
    };
    let signed = format!(
        "{SIGNED_BODY}<sp:EncryptedParts><sp:Body/></sp:EncryptedParts><sp:SignedParts><sp:Header Namespace='urn:h'/></sp:SignedParts>"
    );
    let begun_otherwise = in_conversation(&both, &signed);
    assert_eq!(of(&strong, &begun_otherwise).unwrap_err(), differ);
    let outside = format!("{}{SIGNED_BODY}", asymmetric(&suite("Basic256")));
    assert_eq!(of(&strong, &outside).unwrap_err(), differ);
}

#[test]
fn agreements_that_differ_are_bounded() {
    let mut limits = PolicyLimits::default();
    limits.agreements = 2;
    let header = |name: &str| {
        format!("<sp:SignedParts><sp:Header Name='{name}' Namespace='urn:h'/></sp:SignedParts>")
    };
    let (first, second, third) = (header("one"), header("two"), header("three"));
    let of = |operations: &[Operation<'_>]| {
        PolicyDocument::parse(wsdl(operations).into_bytes(), &limits)
            .unwrap()
            .agreements(&Selection::default(), &CompileOptions::default())
    };
    let c = "<part name='p' element='x:c'/>";
    let alike = [
        Operation::new("a", A, &first),
        Operation::new("b", B, &second),
        Operation::new("c", c, &first),
    ];
    assert!(matches!(of(&alike), Ok(ExchangePolicies::ByOperation(_))));
    let different = [alike[0], alike[1], Operation::new("c", c, &third)];
    assert_eq!(
        of(&different).unwrap_err(),
        ExchangePolicyError::TooManyAgreements { allowed: 2 }
    );
}
