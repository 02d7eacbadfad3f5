//! The use of WS-Policy and WS-SecurityPolicy.
//!
//! What assertions say to each other comes from `soapstone-policy`, which compiles them; what is
//! weak in them is seen in the elements. The rule kept here: an assertion that is fine and not
//! supported by this project is no finding.

use std::collections::{HashMap, HashSet};

use soapstone_policy::{
    CompileOptions, ExchangePolicyError, Place, PolicyDocument, PolicyError, PolicyLimits,
    PolicyProblem, PolicyVersion, ProblemKind, SecurityPolicyVersion,
};
use soapstone_xml::{Document, Element, Position};

use crate::findings::{Findings, quoted};
use crate::look::wsdl::is_soap;
use crate::names::{WSDL, WSU, XML};
use crate::resolver::Resolver;

/// Assertions that protect messages with keys of their own.
const KEYED: [&str; 2] = ["SymmetricBinding", "AsymmetricBinding"];

/// Suites that digest with SHA-1, by their beginning; a suite with `Sha256` or `GCM` does not.
const OF_SHA1: [&str; 4] = ["Basic256", "Basic192", "Basic128", "TripleDes"];

/// What `soapstone-policy` calls the binding that supporting tokens need.
const BINDING: &str = "a binding";

pub(crate) fn look(document: &Document, resolver: Resolver<'_>, findings: &mut Findings) {
    let root = document.root();
    look_at_elements(root, findings);
    look_at_attachment(root, findings);
    look_at_addresses(root, findings);
    look_at_agreements(document, resolver, findings);
}

/// Whether an element is of WS-Policy.
fn is_policy(element: Element<'_>, local: &str) -> bool {
    element.local() == local && PolicyVersion::from_namespace(element.namespace()).is_some()
}

/// Whether an element is of WS-SecurityPolicy.
fn is_security(element: Element<'_>) -> bool {
    SecurityPolicyVersion::from_namespace(element.namespace()).is_some()
}

/// Weak assertions, each for itself.
fn look_at_elements(root: Element<'_>, findings: &mut Findings) {
    // A policy that stands alone is a piece: its parts may stand in another one.
    let is_whole = root.is(WSDL, "definitions");
    let names_parts = root.descendants().any(|element| {
        is_security(element)
            && matches!(
                element.local(),
                "SignedParts" | "SignedElements" | "EncryptedParts" | "EncryptedElements"
            )
    });
    // The binding stands beside supporting tokens, or in the policy of a wider subject.
    let hides_passwords = root.descendants().any(|element| {
        is_security(element)
            && (element.local() == "TransportBinding" || element.local() == "HttpsToken")
    });
    let mut policy_end = 0;
    for element in root.descendants() {
        let within = element.range().start < policy_end;
        if is_policy(element, "Policy") && !within {
            policy_end = element.range().end;
            look_at_choices(element, findings);
        }
        if !is_security(element) {
            continue;
        }
        match element.local() {
            "AlgorithmSuite" => look_at_suite(element, findings),
            "EncryptBeforeSigning" => {
                let expected = "signatures over plain text";
                findings.add("encrypt-before-sign", element, expected, "over cipher text");
            }
            "UsernameToken" if !hides_passwords => look_at_username(element, findings),
            local if KEYED.contains(&local) => {
                look_at_binding(element, findings);
                if is_whole && !names_parts {
                    let expected = "sp:SignedParts or sp:EncryptedParts";
                    findings.add("nothing-signed", element, expected, "none");
                }
            }
            "TransportBinding" => look_at_optional(element, findings),
            _ => {}
        }
    }
}

/// An empty choice: nothing is allowed.
fn look_at_choices(policy: Element<'_>, findings: &mut Findings) {
    let choices = policy
        .children()
        .filter(|child| is_policy(*child, "ExactlyOne"));
    for empty in choices.filter(|choice| choice.first_child().is_none()) {
        findings.add("policy-impossible", empty, "a wsp:All", "none");
    }
}

fn look_at_optional(binding: Element<'_>, findings: &mut Findings) {
    let optional = binding.attributes().find(|attribute| {
        attribute.local() == "Optional"
            && PolicyVersion::from_namespace(attribute.namespace()).is_some()
    });
    if optional.is_some_and(|optional| matches!(&*optional.value(), "true" | "1")) {
        findings.add(
            "policy-optional",
            binding,
            "protection that is demanded",
            "wsp:Optional",
        );
    }
}

fn look_at_suite(suite: Element<'_>, findings: &mut Findings) {
    let inside = suite.children().filter(|child| is_policy(*child, "Policy"));
    for name in inside.flat_map(|policy| policy.descendants()) {
        let local = name.local();
        let digests_with_sha1 = OF_SHA1.iter().any(|start| local.starts_with(start))
            && !local.contains("Sha256")
            && !local.contains("GCM");
        let weak = local.contains("Rsa15") || local.starts_with("TripleDes") || digests_with_sha1;
        if weak {
            let expected = "a suite without RSA 1.5, Triple DES and SHA-1";
            findings.add("suite-weak", name, expected, quoted(Some(local)));
        }
    }
}

/// A password that encryption does not hide, where the connection does not either.
fn look_at_username(token: Element<'_>, findings: &mut Findings) {
    let hashed = token
        .descendants()
        .any(|inside| matches!(inside.local(), "HashPassword" | "NoPassword"));
    let supports = token
        .ancestors()
        .find(|ancestor| is_security(*ancestor) && ancestor.local().ends_with("SupportingTokens"));
    let Some(supports) = supports else {
        return;
    };
    let is_encrypted = supports.local().contains("Encrypted");
    if !hashed && !is_encrypted {
        let expected = "an encrypted or hashed password, or TLS";
        let found = quoted(Some(supports.local()));
        findings.add("password-in-clear", token, expected, found);
    }
}

fn look_at_binding(binding: Element<'_>, findings: &mut Findings) {
    look_at_optional(binding, findings);
    // Assertions of the bootstrap policy inside of a token are about other messages.
    let own = binding
        .children()
        .filter(|child| is_policy(*child, "Policy"))
        .flat_map(|policy| policy.descendants())
        .filter(|element| is_security(*element) && is_of_binding(*element, binding));
    let own: HashSet<&str> = own.map(|element| element.local()).collect();
    if !own.contains("IncludeTimestamp") {
        findings.add("timestamp-missing", binding, "sp:IncludeTimestamp", "none");
    }
    if !own.contains("OnlySignEntireHeadersAndBody") {
        findings.add(
            "headers-in-part",
            binding,
            "sp:OnlySignEntireHeadersAndBody",
            "none",
        );
    }
}

/// Whether an assertion is one of the binding's own, through operators alone.
fn is_of_binding(element: Element<'_>, binding: Element<'_>) -> bool {
    element
        .ancestors()
        .take_while(|ancestor| *ancestor != binding)
        .all(|ancestor| PolicyVersion::from_namespace(ancestor.namespace()).is_some())
}

/// Policies that nothing refers to, and references that lead nowhere.
fn look_at_attachment(root: Element<'_>, findings: &mut Findings) {
    let mut ids: HashMap<String, Element<'_>> = HashMap::new();
    let mut uris: HashSet<String> = HashSet::new();
    let mut references = Vec::new();
    for element in root.descendants() {
        for attribute in element.attributes() {
            if attribute.local() == "PolicyURIs"
                && PolicyVersion::from_namespace(attribute.namespace()).is_some()
            {
                uris.extend(
                    attribute
                        .value()
                        .split_ascii_whitespace()
                        .map(str::to_owned),
                );
            }
        }
        if is_policy(element, "Policy") {
            for (namespace, local) in [(WSU, "Id"), (XML, "id"), ("", "Id"), ("", "ID")] {
                if let Some(id) = element.attribute(namespace, local) {
                    ids.entry(format!("#{id}")).or_insert(element);
                }
            }
            if let Some(name) = element.attribute("", "Name") {
                ids.entry(name.into_owned()).or_insert(element);
            }
        } else if is_policy(element, "PolicyReference") {
            let uri = element
                .attribute("", "URI")
                .unwrap_or_default()
                .into_owned();
            uris.insert(uri.clone());
            references.push((uri, element));
        }
    }
    for (uri, reference) in references {
        if uri.starts_with('#') && !ids.contains_key(&uri) {
            let expected = "a wsp:Policy with this id";
            findings.add("policy-reference", reference, expected, quoted(Some(&uri)));
        }
    }
    if !root.is(WSDL, "definitions") {
        return;
    }
    let used = ids.iter().filter(|(uri, _)| uris.contains(*uri));
    let used: HashSet<_> = used.map(|(_, element)| element.id()).collect();
    for policy in root.children().filter(|child| is_policy(*child, "Policy")) {
        if !used.contains(&policy.id()) {
            findings.add(
                "policy-unattached",
                policy,
                "a reference to the policy",
                "none",
            );
        }
    }
}

/// Addresses of ports whose binding demands HTTPS.
fn look_at_addresses(root: Element<'_>, findings: &mut Findings) {
    if !root.is(WSDL, "definitions") {
        return;
    }
    // A binding inside of an assertion is about the messages that begin a conversation.
    let demanding = |policy: Element<'_>| {
        policy.descendants().any(|element| {
            is_security(element)
                && element.local() == "TransportBinding"
                && !element.ancestors().any(is_security)
        })
    };
    let tls: HashSet<String> = root
        .children()
        .filter(|child| is_policy(*child, "Policy") && demanding(*child))
        .flat_map(|policy| {
            [(WSU, "Id"), (XML, "id")].map(|(space, local)| policy.attribute(space, local))
        })
        .flatten()
        .map(|id| format!("#{id}"))
        .collect();
    let bindings: HashSet<_> = root
        .children()
        .filter(|child| child.is(WSDL, "binding"))
        .filter(|binding| {
            binding.children().any(|child| {
                is_policy(child, "Policy") && demanding(child)
                    || is_policy(child, "PolicyReference")
                        && tls.contains(&*child.attribute("", "URI").unwrap_or_default())
            })
        })
        .filter_map(|binding| binding.attribute("", "name"))
        .collect();
    let services = root.children().filter(|child| child.is(WSDL, "service"));
    for port in services.flat_map(|service| service.children()) {
        let binding = port.attribute("", "binding").unwrap_or_default();
        let local = binding.rsplit(':').next().unwrap_or_default();
        if !bindings.contains(local) {
            continue;
        }
        for address in port.children().filter(|child| is_soap(*child, "address")) {
            let location = address.attribute("", "location").unwrap_or_default();
            if location.trim_start().starts_with("http:") {
                let found = quoted(Some(&location));
                findings.add("transport-unprotected", address, "an https address", found);
            }
        }
    }
}

/// What compiling the policies brings up.
fn look_at_agreements(document: &Document, resolver: Resolver<'_>, findings: &mut Findings) {
    let limits = PolicyLimits::default();
    let policies = PolicyDocument::parse_with(document.bytes().to_vec(), &limits, resolver);
    let policies = match policies {
        Ok(policies) => policies,
        Err(error) => return look_at_error(document, &error, findings),
    };
    let subjects = match policies.subjects() {
        Ok(subjects) => subjects,
        Err(error) => return look_at_error(document, &error, findings),
    };
    let mut known: Vec<PolicyProblem> = Vec::new();
    for subject in subjects.iter().filter(|subject| subject.has_policy()) {
        match policies.agreement_of(subject, &CompileOptions::default()) {
            Err(ExchangePolicyError::NotSupported(problems)) => {
                for mut problem in problems {
                    problem.subject = String::new();
                    if !known.contains(&problem) {
                        known.push(problem);
                    }
                }
            }
            Err(ExchangePolicyError::Policy(error)) => {
                look_at_error(document, &error, findings);
                // What is wrong with one subject's policy is often wrong with all of them.
                break;
            }
            _ => {}
        }
        if known.len() > crate::MOST_FINDINGS {
            break;
        }
    }
    let is_whole = document.root().is(WSDL, "definitions");
    for problem in &known {
        // A policy that stands alone is a piece: its binding may stand in another one.
        let is_elsewhere = !is_whole && problem.kind == ProblemKind::Missing { what: BINDING };
        if !is_elsewhere {
            look_at_problem(problem, findings);
        }
    }
}

fn look_at_problem(problem: &PolicyProblem, findings: &mut Findings) {
    let name = problem.assertion.to_string();
    let named = quoted(Some(&name));
    let (rule, expected, found) = match &problem.kind {
        ProblemKind::Unknown => (
            "assertion-unknown",
            "an assertion that is known".to_owned(),
            named,
        ),
        ProblemKind::Missing { what } => (
            "assertion-incomplete",
            quoted(Some(what)),
            "none".to_owned(),
        ),
        ProblemKind::Repeated => (
            "assertion-repeated",
            "the assertion once".to_owned(),
            "another one".to_owned(),
        ),
        ProblemKind::Conflict { with } => (
            "assertion-conflict",
            "one of both".to_owned(),
            format!("{named} beside {with}"),
        ),
        ProblemKind::Value {
            attribute,
            expected,
            found,
        } => (
            "assertion-value",
            format!("{expected} as `{attribute}`"),
            quoted(Some(found)),
        ),
        ProblemKind::NotSupported { reason }
            if matches!(
                &*problem.assertion.local,
                "Policy" | "PolicyReference" | "PolicyAttachment"
            ) && problem.assertion.security_version().is_none() =>
        {
            ("policy-misplaced", (*reason).to_owned(), named)
        }
        // What this project cannot do is no fault of the policy.
        _ => return,
    };
    if let Some(place) = own_place(&problem.place) {
        findings.add_at(rule, place, &name, expected, found);
    }
}

/// A place, if it is in the document itself.
fn own_place(place: &Place) -> Option<Position> {
    place.document.is_none().then_some(Position {
        offset: 0,
        line: place.line,
        column: place.column,
    })
}

fn look_at_error(document: &Document, error: &PolicyError, findings: &mut Findings) {
    let (rule, place) = match error {
        // A description without policies.
        PolicyError::NoPolicy { .. } => return,
        // A reference in the document is told with its element.
        PolicyError::UnknownReference { uri, .. } if uri.starts_with('#') => return,
        PolicyError::UnknownReference { place, .. }
        | PolicyError::ReferenceLoop { place, .. }
        | PolicyError::ReferencesTooDeep { place, .. } => ("policy-reference", Some(place)),
        PolicyError::AmbiguousReference { second, .. } => ("policy-reference", Some(second)),
        PolicyError::Unexpected { place, .. }
        | PolicyError::SecondPolicy { place, .. }
        | PolicyError::Value { place, .. } => ("policy-invalid", Some(place)),
        _ => ("policy-invalid", None),
    };
    let start = Position {
        offset: 0,
        line: 1,
        column: 1,
    };
    let Some(place) = place.map_or(Some(start), own_place) else {
        return;
    };
    let root = document.root();
    findings.add_at(
        rule,
        place,
        root.qualified_name(),
        "a policy that can be read",
        error.to_string(),
    );
}
