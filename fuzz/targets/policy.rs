//! Any bytes as a policy or a WSDL: reading, normalizing and compiling end within their bounds,
//! what is written reads back as the same policy, and what compiles gives plans.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use soapstone_policy::{
    ExchangePolicy, ExchangePolicyError, CompileOptions, IntersectionMode, PolicyDocument, PolicyLimits,
    SignatureReading,
};
use soapstone_wss::{InboundPlan, Keys, PlanProblem};

/// Small enough that one input takes some milliseconds at worst.
static LIMITS: LazyLock<PolicyLimits> = LazyLock::new(|| {
    let mut limits = PolicyLimits::default();
    limits.document = 64 << 10;
    limits.elements = 4096;
    limits.alternatives = 64;
    limits.steps = 20_000;
    limits
});

/// Subjects and policies of one input that are looked at.
const SOME: usize = 8;

fuzz_target!(|bytes: &[u8]| {
    // A reference to another document leads to this one again.
    let resolver = |_: &str| Some(bytes.to_vec());
    let Ok(document) = PolicyDocument::parse_with(bytes.to_vec(), &LIMITS, &resolver) else {
        return;
    };
    for policy in document.policies().into_iter().take(SOME) {
        let Ok(normal) = document.normalize(policy) else {
            continue;
        };
        let written = normal.to_xml();
        // The normal form may be longer than what it was made of.
        if let Ok(again) = PolicyDocument::parse(written.clone().into_bytes(), &LIMITS)
            && let Ok(again) = again.normal_form()
        {
            assert!(again.is_equivalent(&normal), "{written}");
        }
        if let Ok(both) = normal.intersect(&normal, IntersectionMode::Strict, &LIMITS) {
            assert!(both.alternatives.len() >= normal.alternatives.len());
        }
        if let Ok(both) = normal.merge(&normal, &LIMITS) {
            assert_eq!(both.alternatives.len(), normal.alternatives.len().pow(2));
        }
    }
    let subjects = document.subjects().unwrap_or_default();
    for subject in subjects.iter().take(SOME) {
        for signatures in [SignatureReading::Letter, SignatureReading::Sha256] {
            match document.agreement_of(
                subject,
                &CompileOptions {
                    signatures,
                    ..CompileOptions::default()
                },
            ) {
                Ok(agreement) => gives_plans(&agreement),
                Err(ExchangePolicyError::NotSupported(problems)) => {
                    assert!(!problems.is_empty());
                    for problem in problems {
                        assert!(
                            problem.place.line > 0 && problem.place.column > 0,
                            "{problem}"
                        );
                    }
                }
                Err(_) => {}
            }
        }
    }
});

/// All that a plan misses are keys.
fn gives_plans(agreement: &ExchangePolicy) {
    agreement.in_words();
    for policy in [&agreement.request, &agreement.response] {
        soapstone_policy::message_in_words(policy);
        let problems = InboundPlan::compile(policy.clone(), Keys::default()).err();
        for problem in problems.into_iter().flatten() {
            assert!(
                matches!(problem, PlanProblem::KeyMissing { .. }),
                "{problem}"
            );
        }
    }
    if let Some(bootstrap) = agreement
        .conversation
        .as_ref()
        .and_then(|conversation| conversation.bootstrap.as_ref())
    {
        gives_plans(bootstrap);
    }
}
