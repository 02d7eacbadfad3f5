//! Small documents that would be large policies.

use soapstone_policy::{PolicyDocument, PolicyError, PolicyLimits};
use soapstone_testkit::processor_time;
use soapstone_xml::{Limit, Problem};

use crate::support::*;

fn optional(count: usize) -> String {
    (0..count)
        .map(|number| format!("<a{number} xmlns='urn:a' wsp:Optional='true'/>"))
        .collect()
}

#[test]
fn optional_assertions_double_the_alternatives_up_to_a_bound() {
    let twelve = document(&policy(&optional(12))).normal_form().unwrap();
    assert_eq!(twelve.alternatives.len(), 4096);
    match normal_error(&policy(&optional(13))) {
        PolicyError::TooManyAlternatives {
            allowed: 4096,
            place: Some(place),
        } => assert_eq!(place.line, 1),
        other => panic!("{other:?}"),
    }
    assert!(matches!(
        normal_error(&policy(&optional(64))),
        PolicyError::TooManyAlternatives { .. }
    ));
}

#[test]
fn references_that_multiply_are_stopped_by_the_work_they_ask_for() {
    // Each policy nests the next one twice.
    let mut source = String::new();
    for number in 0..15 {
        let next = number + 1;
        source.push_str(&format!(
            "<wsp:Policy u:Id='p{number}'><x xmlns='urn:a'><wsp:Policy><wsp:PolicyReference URI='#p{next}'/></wsp:Policy></x>\
             <y xmlns='urn:a'><wsp:Policy><wsp:PolicyReference URI='#p{next}'/></wsp:Policy></y></wsp:Policy>"
        ));
    }
    source.push_str("<wsp:Policy u:Id='p15'><z xmlns='urn:a'/></wsp:Policy>");
    let source =
        format!("<wsp:PolicyReference URI='#p0'/><wsp:ExactlyOne>{source}</wsp:ExactlyOne>");
    let mut limits = PolicyLimits::default();
    limits.steps = 100_000;
    let document = PolicyDocument::parse(policy(&source).into_bytes(), &limits).unwrap();
    match document.normal_form().unwrap_err() {
        PolicyError::TooMuchWork {
            allowed: 100_000, ..
        } => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_large_assertion_in_many_alternatives_is_as_much_as_it_would_be_written_out() {
    let parameters = "<p/>".repeat(1000);
    let source = format!("<a xmlns='urn:a'>{parameters}</a>{}", optional(11));
    assert!(matches!(
        normal_error(&policy(&source)),
        PolicyError::TooMuchWork {
            allowed: 1_000_000,
            ..
        }
    ));
}

#[test]
fn a_chain_of_references_ends_at_its_bound() {
    let mut source = String::new();
    for number in 0..20 {
        source.push_str(&format!(
            "<wsp:Policy u:Id='p{number}'><wsp:PolicyReference URI='#p{}'/></wsp:Policy>",
            number + 1
        ));
    }
    source.push_str("<wsp:Policy u:Id='p20'/>");
    let source = policy(&format!("<wsp:ExactlyOne>{source}</wsp:ExactlyOne>"));
    assert!(matches!(
        normal_error(&source),
        PolicyError::ReferencesTooDeep { allowed: 16, .. }
    ));
}

#[test]
fn a_policy_that_refers_to_itself_through_another_is_refused() {
    let source = policy(
        "<wsp:All><wsp:Policy u:Id='a'><wsp:PolicyReference URI='#b'/></wsp:Policy>\n\
         <wsp:Policy u:Id='b'><wsp:PolicyReference URI='#a'/></wsp:Policy></wsp:All>",
    );
    match normal_error(&source) {
        PolicyError::ReferenceLoop { uri, place } => {
            assert_eq!((uri.as_str(), place.line), ("#a", 2));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn deep_documents_and_long_ones_are_refused_while_they_are_read() {
    let deep = policy(&format!(
        "{}{}",
        "<wsp:All>".repeat(100),
        "</wsp:All>".repeat(100)
    ));
    let mut limits = PolicyLimits::default();
    match PolicyDocument::parse(deep.into_bytes(), &limits).unwrap_err() {
        PolicyError::NotXml {
            document: None,
            error,
        } => assert_eq!(
            error.problem,
            Problem::TooMany {
                limit: Limit::Depth,
                allowed: 100
            }
        ),
        other => panic!("{other:?}"),
    }
    limits.document = 100;
    assert!(matches!(
        PolicyDocument::parse(policy("").into_bytes(), &limits).unwrap_err(),
        PolicyError::NotXml { .. }
    ));
}

#[test]
fn documents_that_import_each_other_are_read_once_and_not_too_many() {
    let next = |uri: &str| -> Option<Vec<u8>> {
        let number: usize = uri.trim_end_matches(".wsdl").parse().ok()?;
        Some(
            format!(
                "<definitions xmlns='http://schemas.xmlsoap.org/wsdl/'><import location='{}.wsdl'/><import location='0.wsdl'/></definitions>",
                number + 1
            )
            .into_bytes(),
        )
    };
    let first = next("0.wsdl").unwrap();
    assert_eq!(
        PolicyDocument::parse_with(first, &PolicyLimits::default(), &next).unwrap_err(),
        PolicyError::TooManyDocuments { allowed: 32 }
    );
    let both = |uri: &str| next(if uri == "0.wsdl" { "0.wsdl" } else { "x" });
    assert!(
        PolicyDocument::parse_with(next("0.wsdl").unwrap(), &PolicyLimits::default(), &both)
            .is_ok()
    );
}

#[test]
fn a_large_policy_on_each_of_many_operations_is_bounded_as_a_whole() {
    let operations: String = (0..100)
        .map(|number| format!("<operation name='o{number}'><input/></operation>"))
        .collect();
    let source = format!(
        "<definitions xmlns='http://schemas.xmlsoap.org/wsdl/' xmlns:wsp='{WSP}'><binding name='B'><wsp:Policy>{}</wsp:Policy>{operations}</binding></definitions>",
        optional(9)
    );
    let mut limits = PolicyLimits::default();
    limits.all_steps = 100_000;
    let document = PolicyDocument::parse(source.into_bytes(), &limits).unwrap();
    let subjects = document.subjects().unwrap();
    assert_eq!(subjects.len(), 100);
    assert!(document.alternatives(&subjects[0]).is_ok());
    let failed = subjects
        .iter()
        .filter(|subject| document.alternatives(subject).is_err())
        .count();
    assert!(failed > 80, "{failed} of 100");
}

#[test]
fn ports_times_operations_are_bounded() {
    let operations: String = (0..200)
        .map(|number| format!("<operation name='o{number}'/>"))
        .collect();
    let ports: String = (0..200)
        .map(|number| format!("<port name='p{number}' binding='B'/>"))
        .collect();
    let source = format!(
        "<definitions xmlns='http://schemas.xmlsoap.org/wsdl/'><binding name='B'>{operations}</binding><service name='S'>{ports}</service></definitions>"
    );
    // A name without prefix is in the default namespace, which is that of WSDL here.
    let source = source.replacen(
        "<definitions ",
        "<definitions targetNamespace='http://schemas.xmlsoap.org/wsdl/' ",
        1,
    );
    assert_eq!(
        document(&source).subjects().unwrap_err(),
        PolicyError::TooManySubjects { allowed: 16_384 }
    );
}

/// One element with many references or a long name, in the scope of many ports: as much as both,
/// and not as their product.
#[test]
fn what_many_ports_share_is_not_kept_for_each() {
    let many = |operation: &str| {
        let ports = "<port name='p' binding='t:B'/>".repeat(16_000);
        let wsdl = format!(
            "<definitions xmlns='http://schemas.xmlsoap.org/wsdl/' xmlns:wsp='{WSP}' xmlns:t='urn:t' targetNamespace='urn:t'>\
             <binding name='B'><operation {operation}/></binding><service name='S'>{ports}</service></definitions>"
        );
        document(&wsdl).subjects().map(|subjects| subjects.len())
    };
    let uris = "#a ".repeat(100_000);
    assert_eq!(
        many(&format!("name='o' wsp:PolicyURIs='{uris}'")),
        Ok(16_000)
    );
    assert!(matches!(
        many(&format!("name='{}'", "o".repeat(300_000))).unwrap_err(),
        PolicyError::TooMuchWork { .. }
    ));
}

/// The same for attachments: what applies to the front part of an identifier applies to all that
/// begin with it.
#[test]
fn attachments_to_many_subjects_are_bounded() {
    let subjects: String = (0..16_000)
        .map(|number| format!("<s identifier='a/{number}'/>"))
        .collect();
    let many = "<wsp:PolicyAttachment><wsp:AppliesTo><s identifier='a'/></wsp:AppliesTo><wsp:Policy/></wsp:PolicyAttachment>";
    let attachments = format!(
        "<x xmlns:wsp='{WSP}'>{}<wsp:PolicyAttachment><wsp:AppliesTo>{subjects}</wsp:AppliesTo><wsp:Policy/></wsp:PolicyAttachment></x>",
        many.repeat(1000)
    );
    assert!(matches!(
        document(&attachments).subjects().unwrap_err(),
        PolicyError::TooMuchWork { .. }
    ));
}

/// Names are looked up, and not compared with all others, and what a binding says of all operations
/// is looked for once, wherever it stands: eight times as many take no 64 times as long.
#[test]
fn many_operations_with_messages_of_their_own_are_read_in_proportion() {
    let time_of = |count: usize, behind: &str| {
        let all = |element: &dyn Fn(usize) -> String| (0..count).map(element).collect::<String>();
        let wsdl = format!(
            "<definitions xmlns='http://schemas.xmlsoap.org/wsdl/' xmlns:t='urn:t' targetNamespace='urn:t'>{}<portType name='T'>{}</portType>\
             <binding name='B' type='t:T'>{}{behind}</binding></definitions>",
            all(&|number| format!("<message name='m{number}'/>")),
            all(&|number| format!(
                "<operation name='o{number}'><input message='t:m{number}'/></operation>"
            )),
            all(&|number| format!("<operation name='o{number}'><input/></operation>")),
        );
        let document = document(&wsdl);
        let (subjects, time) = processor_time(|| document.subjects());
        assert_eq!(subjects.unwrap().len(), count);
        time
    };
    let soap = "<s:binding xmlns:s='http://schemas.xmlsoap.org/wsdl/soap/' style='document'/>";
    for behind in ["", soap] {
        let (few, many) = (time_of(2_000, behind), time_of(16_000, behind));
        assert!(many < few * 24, "{many:?} beside {few:?}: {behind}");
    }
}
