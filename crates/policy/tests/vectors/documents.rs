//! Every policy file and WSDL of the vectors: it parses, and each of its subjects compiles or is
//! refused with an assertion named.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use soapstone_crypto::{Identity, SecretBytes, TrustRules, TrustStore};
use soapstone_policy::{
    CompileOptions, ExchangePolicy, ExchangePolicyError, Node, Place, PolicyDocument, PolicyError,
    PolicyLimits, PolicyProblem, ProblemKind,
};
use soapstone_testkit::{Failures, assertion, cases, has_vectors_directory, keys};
use soapstone_wss::{AssertionIssuer, InboundPlan, Keys, OutboundPlan, User};

/// Documents of the vectors in which references lead nowhere, by their suite's own mistake: how
/// many subjects that concerns.
const DANGLING: [(&str, usize); 1] = [(
    "policy/cxf/systests/ws-security/src/test/resources/wsdl_systest_wssec/wssec11/WsSecurity11_policy_restricted-fips.wsdl",
    // The policies of the bindings K, KD, KD-ES and K-NoTimestamp were left out of this copy of
    // the file.
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
    let mut failures = Failures::default();
    for case in cases("policy-parse") {
        let source = case.input();
        let document = match PolicyDocument::parse(source, &PolicyLimits::default()) {
            Ok(document) => document,
            Err(error) => {
                failures.add(&case.id, error);
                continue;
            }
        };
        let (mut policies, mut assertions) = (0, BTreeMap::new());
        for policy in document.policies() {
            count(policy, &mut policies, &mut assertions);
        }
        let expected = &case.value["expected"];
        if expected["policy_elements"] != policies || expected["assertions"] != json!(assertions) {
            let found = format!("{policies} policies, {assertions:?}");
            let expected = [&expected["policy_elements"], &expected["assertions"]];
            failures.add(&case.id, format!("{found}, expected {expected:?}"));
        }
    }
    failures.end();
}

#[test]
fn every_subject_gives_plans_or_is_refused_with_the_assertion_and_its_place_named() {
    let mut failures = Failures::default();
    let mut compiled = 0;
    let keys = every_key();
    let mut dangling: BTreeMap<String, usize> = BTreeMap::new();
    for case in cases("policy-parse") {
        let source = case.input();
        let text = String::from_utf8_lossy(&source).into_owned();
        let document = PolicyDocument::parse(source, &PolicyLimits::default()).expect("a document");
        for subject in document.subjects().expect("subjects") {
            match document.agreement_of(&subject, &CompileOptions::default()) {
                Ok(agreement) => {
                    compiled += 1;
                    for problem in plans(&agreement, &keys) {
                        failures.add(format!("{}: {subject}", case.id), problem);
                    }
                }
                Err(ExchangePolicyError::NotSupported(problems)) => {
                    assert!(!problems.is_empty(), "{}", case.id);
                    for problem in &problems {
                        if !stands_there(&text, problem) {
                            failures.add(&case.id, problem);
                        }
                    }
                }
                Err(ExchangePolicyError::Policy(PolicyError::UnknownReference { uri, place })) => {
                    assert!(uri.starts_with('#') && place.line > 1, "{}", case.id);
                    *dangling.entry(case.id.clone()).or_default() += 1;
                }
                Err(error) => failures.add(format!("{}: {subject}", case.id), error),
            }
        }
    }
    failures.end();
    // Subjects that compiled when this was written: of the project's own documents, and of the 751
    // subjects of the vectors directory.
    let (own, outside) = (424, 614);
    let mut expected = BTreeMap::new();
    let mut least = own;
    if has_vectors_directory() {
        expected.extend(DANGLING.map(|(id, count)| (id.to_owned(), count)));
        least += outside;
    }
    assert_eq!(dangling, expected);
    assert!(compiled >= least, "{compiled} subjects, expected {least}");
}

/// The tokens that a token service or a KDC makes, and those that name such a service.
const TOKENS: [&str; 3] = ["SamlToken", "IssuedToken", "KerberosToken"];

/// The places of tokens, and of everything that is said in them; none of what stands beside them.
fn places_in_tokens(node: &Arc<Node>, is_within: bool, places: &mut Vec<Place>) {
    let is_security = node.name.security_version().is_some();
    let is_within = is_within || (is_security && TOKENS.contains(&&*node.name.local));
    if is_within {
        places.push(node.place.clone());
    }
    for child in &node.children {
        places_in_tokens(child, is_within, places);
    }
}

/// Why a policy that is a token alone is refused.
const TOKEN_ALONE: &str = "a token has its use from the assertion around it, a binding or supporting tokens, and here is none (WS-SecurityPolicy 1.3, 7 and 8)";

/// What of such tokens is refused in the vectors directory: the assertion, the reason, and how many
/// subjects that concerns. None of it is a kind of token: the token could be done in another place,
/// or with another key.
const REFUSED_TOKENS: [(&str, &str, usize); 7] = [
    // One protects messages, and another one says something else of their sender.
    ("IssuedToken", "a message has one assertion", 2),
    // Among plain supporting tokens, in two copies of one sample.
    (
        "IssuedToken",
        "a symmetric key that signs nothing proves nobody: let it endorse",
        2,
    ),
    (
        "IssuedToken",
        "the key of a token that protects messages in a symmetric binding is symmetric",
        1,
    ),
    // A supporting token with a public key, in a symmetric binding that no certificate endorses.
    (
        "IssuedToken",
        "nothing shows the key of its holder: let it endorse, or a certificate beside it",
        1,
    ),
    // Policies that are a token alone, in no place where a token may stand.
    ("IssuedToken", TOKEN_ALONE, 1),
    ("KerberosToken", TOKEN_ALONE, 4),
    ("SamlToken", TOKEN_ALONE, 2),
];

/// Which subjects of documents with such tokens compile, and why the others are refused.
#[derive(Default)]
struct WithTokens {
    documents: usize,
    compiled: usize,
    /// Refused for what stands beside the tokens alone.
    for_others: usize,
    /// Refused for a token: how many for which assertion, and why.
    for_tokens: BTreeMap<(String, String), usize>,
    failures: Failures,
}

impl WithTokens {
    fn add(&mut self, id: &str, document: &PolicyDocument) {
        let mut places = Vec::new();
        for policy in document.policies() {
            places_in_tokens(policy, false, &mut places);
        }
        if places.is_empty() {
            return;
        }
        self.documents += 1;
        for subject in document.subjects().expect("subjects") {
            match document.agreement_of(&subject, &CompileOptions::default()) {
                Ok(_) => self.compiled += 1,
                Err(ExchangePolicyError::NotSupported(problems)) => {
                    self.add_refused(&problems, &places)
                }
                Err(error) => self.failures.add(format!("{id}: {subject}"), error),
            }
        }
    }

    fn add_refused(&mut self, problems: &[PolicyProblem], places: &[Place]) {
        let mut problems = problems.iter();
        let Some(problem) = problems.find(|problem| places.contains(&problem.place)) else {
            self.for_others += 1;
            return;
        };
        let reason = match &problem.kind {
            ProblemKind::NotSupported { reason } => (*reason).to_owned(),
            ProblemKind::Unknown => "unknown".to_owned(),
            other => format!("{other:?}"),
        };
        let name = problem.assertion.local.to_string();
        *self.for_tokens.entry((name, reason)).or_default() += 1;
    }
}

/// A subject with such tokens compiles, or is refused for another reason, but where the table says
/// what of the token is refused.
#[test]
fn a_subject_with_tokens_of_third_parties_is_refused_for_its_token_where_the_table_says_so() {
    let mut found = WithTokens::default();
    for case in cases("policy-parse") {
        let document = PolicyDocument::parse(case.input(), &PolicyLimits::default());
        found.add(&case.id, &document.expect("a document"));
    }
    found.failures.end();
    let mut expected = BTreeMap::new();
    // The project's own documents alone, without a vectors directory.
    let mut counts = [0, 0, 0];
    if has_vectors_directory() {
        let refused = REFUSED_TOKENS.map(|(name, reason, count)| {
            let key = (name.to_owned(), reason.to_owned());
            (key, count)
        });
        expected.extend(refused);
        counts = [63, 181, 9];
    }
    assert_eq!(found.for_tokens, expected);
    let found = [found.documents, found.compiled, found.for_others];
    assert_eq!(found, counts);
}

/// Who makes all assertions.
pub(crate) fn issuer() -> Arc<Identity> {
    keys::identity("CN=idp", keys::RSA)
}

/// Keys for everything that a plan may want.
pub(crate) fn every_key() -> Keys {
    // Some policies want two endorsements, each by a key of its own.
    let endorsing = ["CN=one", "CN=other"].map(|name| keys::identity(name, keys::RSA));
    let identity = keys::identity("CN=everybody", keys::RSA);
    let mut of_issuer = TrustRules::default();
    of_issuer.pinned.push(issuer().certificate().clone());
    Keys {
        peer: Some(identity.certificate().clone()),
        trust: Some(keys::trust()),
        user: Some(Arc::new(User {
            name: "alice".to_owned(),
            password: SecretBytes::copy_of(b"open sesame"),
        })),
        identity: Some(identity),
        endorsing: endorsing.into(),
        issuers: Arc::new([AssertionIssuer {
            name: assertion::ISSUER.to_owned(),
            trust: Some(TrustStore::new(of_issuer).unwrap()),
        }]),
        ..Keys::default()
    }
}

/// Why an agreement gives no plans, on either side and in either direction.
fn plans(agreement: &ExchangePolicy, keys: &Keys) -> Vec<String> {
    let mut problems = Vec::new();
    for policy in [&agreement.request, &agreement.response] {
        let inbound = InboundPlan::compile(policy.clone(), keys.clone()).map(drop);
        let outbound = OutboundPlan::compile(policy.clone(), keys.clone()).map(drop);
        for found in [inbound, outbound].into_iter().filter_map(Result::err) {
            problems.extend(found.iter().map(ToString::to_string));
        }
    }
    if let Some(bootstrap) = agreement
        .conversation
        .as_ref()
        .and_then(|conversation| conversation.bootstrap.as_ref())
    {
        problems.extend(plans(bootstrap, keys));
    }
    problems
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
