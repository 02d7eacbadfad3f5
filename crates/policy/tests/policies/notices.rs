//! What operators are told of policies that are obeyed: what was chosen for them, and what they had
//! left out.

use soapstone_crypto::{DataEncryption, DigestAlgorithm, SignatureAlgorithm};
use soapstone_policy::{CompileOptions, Name, Notice, NoticeKind, ProblemKind};
use soapstone_wss::{KeyTransportMethod, Layout, Part, PasswordKind, Suite};

use crate::refusals::not_supported;
use crate::support::*;

/// An asymmetric binding with these suites in one assertion, and a signed Body.
fn with_suites(suites: &str) -> String {
    format!(
        "{}{SIGNED_BODY}",
        asymmetric(&nest("AlgorithmSuite", suites))
    )
}

fn plain() -> String {
    with_suites("<sp:Basic256/>")
}

fn kinds(notices: &[Notice]) -> Vec<(&str, NoticeKind)> {
    let told = notices.iter();
    told.map(|notice| (&*notice.assertion.local, notice.kind.clone()))
        .collect()
}

/// The services of Digipoort list three suites in one assertion (`cases/sectors/13`).
#[test]
fn of_several_suites_in_one_assertion_the_first_that_is_known_is_taken_and_told() {
    let several = "<sp:Basic128Rsa15/><sp:Basic256Rsa15/><sp:TripleDesRsa15/>";
    let agreed = agreement(&with_suites(several));
    assert_eq!(agreed.request.suite, Suite::named("Basic128Rsa15").unwrap());
    let others = ["Basic256Rsa15", "TripleDesRsa15"].map(str::to_owned);
    let kind = NoticeKind::SuiteChosen {
        chosen: "Basic128Rsa15".to_owned(),
        others: others.to_vec(),
    };
    assert_eq!(kinds(&agreed.notices), [("AlgorithmSuite", kind)]);
    let unknown_first = agreement(&with_suites("<sp:Basic600/><sp:Basic192/>"));
    assert_eq!(unknown_first.request.suite.name, "Basic192");
    assert_eq!(
        kinds(&unknown_first.notices),
        [(
            "AlgorithmSuite",
            NoticeKind::SuiteChosen {
                chosen: "Basic192".to_owned(),
                others: vec!["Basic600".to_owned()],
            }
        )]
    );
    assert_eq!(agreement(&plain()).notices, []);
}

#[test]
fn a_suite_that_is_not_known_is_refused_where_it_is_alone() {
    let found = refused(&with_suites("<sp:Basic600/>"));
    assert_eq!(found, [("Basic600".to_owned(), ProblemKind::Unknown)]);
    // What is no suite has no other one to stand in for it.
    let filter = "<sp:Basic256/><sp:XPathFilter20/>";
    let reason = "references of signatures name elements by id";
    let found = not_supported(&with_suites(filter));
    assert_eq!(found, ("XPathFilter20".to_owned(), reason));
}

#[test]
fn suites_that_the_tests_of_cxf_add_have_the_algorithms_of_those() {
    let cxf = |name: &str| {
        let suite = format!("<c:{name} xmlns:c='http://cxf.apache.org/custom/security-policy'/>");
        agreement(&with_suites(&suite)).request.suite
    };
    let mask = cxf("Basic256GCMMGFSHA256");
    assert_eq!(mask.data, [DataEncryption::Aes256Gcm]);
    assert_eq!(mask.digest, [DigestAlgorithm::Sha1]);
    let oaep = KeyTransportMethod::OAEP_SHA256;
    let digest = DigestAlgorithm::Sha1;
    assert_eq!(mask.key_transport, [KeyTransportMethod { digest, ..oaep }]);
    let both = cxf("Basic256GCMMGFSHA256Digest");
    assert_eq!(both.digest, [DigestAlgorithm::Sha256]);
    assert_eq!(both.key_transport, [oaep]);
    let sha512 = cxf("Basic128RsaSha512");
    assert_eq!(sha512.digest, [DigestAlgorithm::Sha512]);
    assert_eq!(sha512.signature, [SignatureAlgorithm::RsaSha512]);
    assert_eq!(sha512.data, [DataEncryption::Aes128Cbc]);
}

#[test]
fn a_custom_suite_has_the_algorithms_that_the_operator_names() {
    let custom = with_suites(
        "<c:CustomAlgorithmSuite xmlns:c='http://cxf.apache.org/custom/security-policy'/>",
    );
    let reason = "its algorithms are in the configuration of CXF, and not in the policy: `algorithms` beside `policy` says them";
    let found = not_supported(&custom);
    assert_eq!(found, ("CustomAlgorithmSuite".to_owned(), reason));
    let options = CompileOptions {
        custom_suite: Suite::named("Basic256GCM"),
        ..CompileOptions::default()
    };
    let agreed = agreement_with(&custom, &options).unwrap();
    assert_eq!(Some(agreed.request.suite), options.custom_suite);
}

/// `cases/clients/14`: policies with the configuration of WSO2.
#[test]
fn assertions_of_other_languages_are_ignored_by_name_and_told() {
    let foreign = "<c:CarbonSecConfig xmlns:c='urn:carbon'><c:Authorization/></c:CarbonSecConfig>";
    let policy = format!("{}{foreign}", plain());
    let unknown = [("CarbonSecConfig".to_owned(), ProblemKind::Unknown)];
    assert_eq!(refused(&policy), unknown);
    let ignored = |namespace: &str, local: &str| CompileOptions {
        ignored: vec![Name {
            namespace: namespace.into(),
            local: local.into(),
        }],
        ..CompileOptions::default()
    };
    let carbon = ignored("urn:carbon", "CarbonSecConfig");
    let agreed = agreement_with(&policy, &carbon).unwrap();
    let told = [("CarbonSecConfig", NoticeKind::Ignored)];
    assert_eq!(kinds(&agreed.notices), told);
    // Inside of a binding, too: what else is missing there is still said.
    let inside = "<c:CarbonSecConfig xmlns:c='urn:carbon'/>";
    let binding = asymmetric(&format!("{}{inside}", suite("Basic256")));
    let agreed = agreement_with(&format!("{binding}{SIGNED_BODY}"), &carbon).unwrap();
    assert_eq!(*agreed.request.signature().unwrap().parts, [Part::Body]);
    let without_suite = format!("{}{SIGNED_BODY}", asymmetric(inside));
    let error = agreement_with(&without_suite, &carbon).unwrap_err();
    assert!(
        error.to_string().contains("needs `sp:AlgorithmSuite`"),
        "{error}"
    );
    // A demand on security is never left out.
    let options = ignored(SP, "SignedParts");
    let agreed = agreement_with(&plain(), &options).unwrap();
    assert_eq!(*agreed.request.signature().unwrap().parts, [Part::Body]);
    assert_eq!(agreed.notices, []);
}

/// `cases/clients/14`.
#[test]
fn mtom_is_told_and_basic_authentication_is_a_demand_of_the_agreement() {
    for (namespace, name) in [
        (
            "http://schemas.xmlsoap.org/ws/2004/09/policy/optimizedmimeserialization",
            "OptimizedMimeSerialization",
        ),
        ("http://www.w3.org/2007/08/soap12-mtom-policy", "MTOM"),
    ] {
        let mtom = format!("{}<m:{name} xmlns:m='{namespace}'/>", plain());
        let told = [(name, NoticeKind::WithoutMtom)];
        assert_eq!(kinds(&agreement(&mtom).notices), told);
    }
    let microsoft =
        "<h:BasicAuthentication xmlns:h='http://schemas.microsoft.com/ws/06/2004/policy/http'/>";
    let token = nest("HttpsToken", "<sp:HttpBasicAuthentication/>");
    let token = nest("TransportToken", &token);
    let binding = nest("TransportBinding", &format!("{token}{}", suite("Basic256")));
    for (policy, name) in [
        (
            format!("{}{microsoft}", transport("")),
            "BasicAuthentication",
        ),
        (binding, "HttpBasicAuthentication"),
    ] {
        let agreed = agreement(&policy);
        assert!(agreed.http_basic.is_some(), "{name}");
        assert_eq!(kinds(&agreed.notices), [(name, NoticeKind::HttpBasic)]);
        let written = agreed.write().unwrap().to_xml();
        assert!(written.contains("HttpBasicAuthentication"), "{written}");
    }
    let digest = nest("HttpsToken", "<sp:HttpDigestAuthentication/>");
    let token = nest("TransportToken", &digest);
    let binding = nest("TransportBinding", &format!("{token}{}", suite("Basic256")));
    let reason = "of the ways in which HTTP authenticates users, only Basic is supported";
    let found = not_supported(&binding);
    assert_eq!(found, ("HttpDigestAuthentication".to_owned(), reason));
}

/// The description of gematik's token service has its supporting tokens in the transport binding,
/// and one of CXF its layout beside the binding.
#[test]
fn misplaced_assertions_are_obeyed_where_they_belong() {
    let user = token("UsernameToken", "AlwaysToRecipient", "");
    let users = nest("SignedSupportingTokens", &user);
    let inside = agreement(&transport(&users));
    let beside = agreement(&format!("{}{users}", transport("")));
    assert_eq!(inside.request, beside.request);
    assert!(inside.request.username().is_some());
    let kind = NoticeKind::Misplaced {
        belongs: "beside the binding, not in it",
    };
    assert_eq!(
        kinds(&inside.notices),
        [("SignedSupportingTokens", kind.clone())]
    );
    let parts = asymmetric(&format!("{}{SIGNED_BODY}", suite("Basic256")));
    let agreed = agreement(&parts);
    assert_eq!(*agreed.request.signature().unwrap().parts, [Part::Body]);
    assert_eq!(kinds(&agreed.notices), [("SignedParts", kind)]);
    let strict = nest("Layout", "<sp:Strict/>");
    let agreed = agreement(&format!("{}{strict}<sp:IncludeTimestamp/>", plain()));
    assert_eq!(agreed.request.header.layout, Layout::Strict);
    assert!(agreed.request.header.timestamp.is_some());
    assert_eq!(agreed.notices.len(), 2);
    // Two that say different things are refused, wherever they are.
    let lax = asymmetric(&format!(
        "{}{}",
        suite("Basic256"),
        nest("Layout", "<sp:Lax/>")
    ));
    let found = refused(&format!("{lax}{strict}{SIGNED_BODY}"));
    assert_eq!(found, [("Layout".to_owned(), ProblemKind::Repeated)]);
    // Without a binding nothing is protected by them.
    let found = refused(&strict);
    assert_eq!(found, [("Layout".to_owned(), ProblemKind::Unknown)]);
}

#[test]
fn a_user_whom_nothing_proves_is_obeyed_by_permission_alone() {
    let user = token("UsernameToken", "AlwaysToRecipient", "<sp:NoPassword/>");
    let policy = format!("{}{}", transport(""), nest("SupportingTokens", &user));
    let reason = "a user without a password proves nothing; `password = \"none\"` accepts it";
    let found = not_supported(&policy);
    assert_eq!(found, ("UsernameToken".to_owned(), reason));
    let options = CompileOptions {
        unproven_users: true,
        ..CompileOptions::default()
    };
    let agreed = agreement_with(&policy, &options).unwrap();
    let username = agreed.request.username().unwrap();
    assert_eq!(username.passwords, [PasswordKind::Absent]);
}

#[test]
fn policies_that_no_reference_leads_to_are_told() {
    let wsdl = format!(
        "<wsdl:definitions xmlns:wsdl='http://schemas.xmlsoap.org/wsdl/' xmlns:wsp='{WSP}' xmlns:u='http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd'>\
         <wsp:Policy u:Id='used'/>\n<wsp:Policy u:Id='forgotten'/>\n<wsp:Policy xml:id='inner'/>\n<wsp:Policy Name='urn:named'/>\
         <wsdl:binding name='b' wsp:PolicyURIs='urn:named'><wsp:Policy><wsp:PolicyReference URI='#used'/><wsp:PolicyReference URI='a.wsdl#inner'/></wsp:Policy></wsdl:binding>\
         </wsdl:definitions>"
    );
    let document = document(&wsdl);
    let found: Vec<(String, u32)> = document
        .unattached()
        .into_iter()
        .map(|(name, place)| (name, place.line))
        .collect();
    assert_eq!(found, [("forgotten".to_owned(), 2)]);
}
