//! Every policy file and WSDL of the vectors: it parses, and each of its subjects compiles or is refused with an assertion named.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::manifest::cases;
use soapstone_policy::{
    AgreementError, CompileOptions, Node, PolicyDocument, PolicyError, PolicyLimits, PolicyProblem,
    SignatureReading,
};

/// Documents of the vectors in which references lead nowhere, by their suite's own mistake: how many subjects that concerns.
const DANGLING: [(&str, usize); 1] = [(
    "policy/cxf/systests/ws-security/src/test/resources/wsdl_systest_wssec/wssec11/WsSecurity11_policy_restricted-fips.wsdl",
    // The policies of the bindings K, KD, KD-ES and K-NoTimestamp were left out of this copy of the file.
    4,
)];

/// Elements of WS-Policy named `Policy`, and assertions of WS-SecurityPolicy by local name.
fn count(node: &Arc<Node>, policies: &mut usize, assertions: &mut BTreeMap<String, usize>) {
    if node.name.policy_version().is_some() && &*node.name.local == "Policy" {
        *policies += 1;
    }
    if node.name.security_version().is_some() {
        *assertions.entry(node.name.local.to_string()).or_default() += 1;
    }
    for child in &node.children {
        count(child, policies, assertions);
    }
}

#[test]
fn every_policy_document_parses_to_what_its_suite_counted() {
    let mut failures = Vec::new();
    for (folder, case) in cases("policy-parse") {
        let source = std::fs::read(folder.join(&case.file)).expect(&case.file);
        let document = match PolicyDocument::parse(source, &PolicyLimits::default()) {
            Ok(document) => document,
            Err(error) => {
                failures.push(format!("{}: {error}", case.id));
                continue;
            }
        };
        let (mut policies, mut assertions) = (0, BTreeMap::new());
        for policy in document.policies() {
            count(policy, &mut policies, &mut assertions);
        }
        if Some(policies) != case.expected.policy_elements || assertions != case.expected.assertions
        {
            failures.push(format!(
                "{}: {policies} policies, {assertions:?}, expected {:?}, {:?}",
                case.id, case.expected.policy_elements, case.expected.assertions
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_subject_compiles_or_is_refused_with_the_assertion_and_its_place_named() {
    let mut failures = Vec::new();
    let mut compiled = 0;
    let mut dangling: BTreeMap<String, usize> = BTreeMap::new();
    for (folder, case) in cases("policy-parse") {
        let source = std::fs::read(folder.join(&case.file)).expect(&case.file);
        let text = String::from_utf8_lossy(&source).into_owned();
        let document = PolicyDocument::parse(source, &PolicyLimits::default()).expect("a document");
        for subject in document.subjects() {
            let options = CompileOptions {
                signatures: SignatureReading::Letter,
            };
            match document.agreement_of(&subject, &options) {
                Ok(_) => compiled += 1,
                Err(AgreementError::NotSupported(problems)) => {
                    assert!(!problems.is_empty(), "{}", case.id);
                    let misplaced = problems
                        .iter()
                        .filter(|problem| !stands_there(&text, problem));
                    failures.extend(misplaced.map(|problem| format!("{}: {problem}", case.id)));
                }
                Err(AgreementError::Policy(PolicyError::UnknownReference { uri, place })) => {
                    assert!(uri.starts_with('#') && place.line > 1, "{}", case.id);
                    *dangling.entry(case.id.clone()).or_default() += 1;
                }
                Err(error) => failures.push(format!("{}: {subject}: {error}", case.id)),
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures\n{}",
        failures.len(),
        failures.join("\n")
    );
    let expected: BTreeMap<String, usize> = DANGLING
        .map(|(id, count)| (id.to_owned(), count))
        .into_iter()
        .collect();
    assert_eq!(dangling, expected);
    assert!(
        compiled > 400,
        "more than half of the subjects compiled when this was written, now {compiled}"
    );
}

/// Whether the tag of the assertion is where the problem says.
fn stands_there(text: &str, problem: &PolicyProblem) -> bool {
    let line = text.split('\n').nth(problem.place.line as usize - 1);
    let at: String = line
        .unwrap_or_default()
        .chars()
        .skip(problem.place.column as usize - 1)
        .collect();
    at.strip_prefix('<')
        .map(|tag| tag.split_once(':').map_or(tag, |(_, local)| local))
        .is_some_and(|local| local.starts_with(&*problem.assertion.local))
}
