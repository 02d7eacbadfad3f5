//! What the policies of the vectors agree on, done: a request and its response travel under every
//! agreement, and open.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use soapstone_crypto::{KeyTransport, OaepParameters, SecretBytes, SymmetricKey};
use soapstone_policy::{CompileOptions, ExchangePolicy, PolicyDocument, PolicyLimits};
use soapstone_testkit::assertion::Assertion;
use soapstone_testkit::envelope::{HELLO, SOAP11, with_header};
use soapstone_testkit::{Failures, cases};
use soapstone_wss::{
    AssertionProtection, AssertionToken, ConfirmationMethod, ContextOwner, Envelope, Facts,
    FirstSeen, HolderUse, InboundPlan, KerberosSession, Keys, OutboundPlan, Outgoing, Part, Policy,
    Receipt, Rejected, SamlVersion, SecurityContext, SupportingToken, Verified, kerberos_sha1,
};
use soapstone_xml::{Buffers, Limits};

use crate::documents::{every_key, issuer};

fn plain() -> String {
    let header = "<a:To>urn:service</a:To><a:Action>urn:echo</a:Action>";
    with_header(SOAP11, header, HELLO)
}

/// What one side knows beside its keys.
fn facts(agreement: &ExchangePolicy, keys: &Keys, request: Option<Receipt>) -> Facts {
    let client = keys.identity.as_ref().map(|it| it.certificate().clone());
    let transport = agreement.transport;
    Facts {
        client_certificate: client.filter(|_| transport.is_some_and(|it| it.client_certificate)),
        passwords: vec![("alice".to_owned(), SecretBytes::copy_of(b"open sesame"))],
        contexts: context(agreement).into_iter().collect(),
        certificates: Vec::new(),
        kerberos: kerberos(agreement),
        request,
        ..Facts::default()
    }
}

fn context(agreement: &ExchangePolicy) -> Option<SecurityContext> {
    let conversation = agreement.conversation.as_ref()?;
    let now = Timestamp::now();
    // Where keys are not derived from the context's, it is as long as the encryption wants.
    let length = agreement.request.suite.data[0].key_length();
    Some(SecurityContext {
        version: conversation.version,
        identifier: "urn:uuid:6b2f7c1e-0000-4000-8000-000000000001".to_owned(),
        instance: None,
        secret: SymmetricKey::new(vec![7; length]).expect("a key"),
        created: now,
        expires: now + Duration::from_secs(600),
        owner: ContextOwner::User("alice".to_owned()),
    })
}

/// The session of a token that the service has accepted: what the token holds is for nobody here.
fn kerberos(agreement: &ExchangePolicy) -> Option<KerberosSession> {
    agreement.request.kerberos()?;
    let length = agreement.request.suite.data[0].key_length();
    let now = Timestamp::now();
    let token = b"AP-REQ".to_vec();
    Some(KerberosSession {
        sha1: kerberos_sha1(&token),
        token: Some(token),
        key: SymmetricKey::new(vec![7; length]).expect("a key"),
        client: "alice@EXAMPLE.COM".to_owned(),
        expires: now + Duration::from_secs(600),
        authenticator: Some([7; 32]),
        authenticator_ends: now + Duration::from_secs(600),
    })
}

fn envelope(bytes: Vec<u8>) -> Result<Envelope, String> {
    Envelope::parse(bytes, &Limits::default(), &mut Buffers::new())
        .map_err(|error| error.to_string())
}

fn open(
    policy: &Policy,
    keys: &Keys,
    facts: &Facts,
    message: Vec<u8>,
) -> Result<Verified<Envelope>, String> {
    let plan = InboundPlan::compile(policy.clone(), keys.clone())
        .map_err(|problems| format!("{problems:?}"))?;
    let opened = plan
        .open_unmarked(
            envelope(message)?,
            facts,
            Timestamp::now(),
            &mut Buffers::new(),
        )
        .map_err(|rejected| format!("{}: {rejected}", rejected.name()))?;
    let first_seen = FirstSeen::assertion(opened.late_marks());
    opened
        .admit(first_seen)
        .map_err(|rejected| rejected.to_string())
}

fn secure(
    policy: &Policy,
    keys: &Keys,
    outgoing: Outgoing<'_>,
) -> Result<(Vec<u8>, Receipt), String> {
    let plan = OutboundPlan::compile(policy.clone(), keys.clone())
        .map_err(|problems| format!("{problems:?}"))?;
    let secured = plan
        .secure(
            envelope(plain().into_bytes())?,
            outgoing,
            Timestamp::now(),
            &mut Buffers::new(),
        )
        .map_err(|error| error.to_string())?;
    Ok((secured.bytes, secured.receipt))
}

/// The keys with the assertion that requests of a policy carry.
fn with_assertion(policy: &Policy, keys: &Keys) -> Keys {
    let Some(wanted) = policy.assertion() else {
        return keys.clone();
    };
    let signer = match wanted.holder {
        HolderUse::Endorses => keys.endorsing.first(),
        _ => keys.identity.as_ref(),
    };
    let method = wanted.methods[0];
    let assertion = Assertion {
        is_20: wanted.versions[0] == SamlVersion::V20,
        method: method.name(),
        holder: signer
            .filter(|_| method == ConfirmationMethod::HolderOfKey)
            .map(|signer| signer.certificate()),
        audience: None,
        attributes: &[("role", "reader")],
    };
    let assertion = match policy.uses_proof_key() {
        true => proving(&assertion, policy, keys),
        false => AssertionToken::parse(assertion.about("alice", &issuer()).into_bytes()),
    };
    Keys {
        assertion: Some(Arc::new(assertion.expect("an assertion"))),
        ..keys.clone()
    }
}

/// An assertion with a symmetric key, wrapped as the suite has it.
fn proving(
    assertion: &Assertion<'_>,
    policy: &Policy,
    keys: &Keys,
) -> Result<AssertionToken, Rejected> {
    let mut methods = policy.suite.key_transport.iter();
    let method = methods.find(|it| it.algorithm != KeyTransport::Rsa15);
    let method = method.expect("a way to wrap keys");
    let oaep = OaepParameters::new(method.digest, method.mask);
    let receiver = keys.identity.as_ref().expect("a key that decrypts");
    let (transport, secret) = ((method.algorithm, oaep), [7; 32]);
    let receiver = receiver.certificate();
    let written = assertion.proving_by(transport, "alice", &issuer(), receiver, &secret);
    let token = AssertionToken::parse(written.into_bytes())?;
    let key = SymmetricKey::new(secret.to_vec()).expect("a key");
    Ok(token.with_proof_key(key))
}

/// The agreement with assertions that nothing in messages ties to them, as the policies of CXF have
/// them: an endpoint has to say that TLS does.
fn without_ties(agreement: &ExchangePolicy) -> ExchangePolicy {
    let mut agreement = agreement.clone();
    for token in &mut agreement.request.supporting {
        if let SupportingToken::Assertion(wanted) = token
            && wanted.holder == HolderUse::Beside
        {
            wanted.protection = AssertionProtection::Connection;
        }
    }
    agreement
}

/// A request and its response.
fn exchange(agreement: &ExchangePolicy, keys: &Keys) -> Result<(), String> {
    let keys = &with_assertion(&agreement.request, keys);
    let agreement = &without_ties(agreement);
    let context = context(agreement);
    let kerberos = kerberos(agreement);
    let outgoing = Outgoing {
        context: context.as_ref(),
        kerberos: kerberos.as_ref(),
        ..Outgoing::default()
    };
    let (request, sent) =
        secure(&agreement.request, keys, outgoing).map_err(|why| format!("request: {why}"))?;
    let verified = open(
        &agreement.request,
        keys,
        &facts(agreement, keys, None),
        request,
    )
    .map_err(|why| format!("request: {why}"))?;
    let (_, received) = verified.finish(&mut Buffers::new());
    let outgoing = Outgoing {
        answers: Some(&received),
        ..Outgoing::default()
    };
    let (response, _) =
        secure(&agreement.response, keys, outgoing).map_err(|why| format!("response: {why}"))?;
    open(
        &agreement.response,
        keys,
        &facts(agreement, keys, Some(sent)),
        response,
    )
    .map_err(|why| format!("response: {why}"))?;
    match agreement
        .conversation
        .as_ref()
        .and_then(|conversation| conversation.bootstrap.as_ref())
    {
        Some(bootstrap) => exchange(bootstrap, keys).map_err(|why| format!("bootstrap {why}")),
        None => Ok(()),
    }
}

#[test]
fn messages_travel_under_every_agreement_that_the_policies_compile_to() {
    let keys = every_key();
    let mut outcomes: BTreeMap<String, Result<(), String>> = BTreeMap::new();
    let mut failures = Failures::default();
    for case in cases("policy-parse") {
        let source = case.input();
        let document = PolicyDocument::parse(source, &PolicyLimits::default()).expect("a document");
        for subject in document.subjects().expect("subjects") {
            let Ok(agreement) = document.agreement_of(&subject, &CompileOptions::default()) else {
                continue;
            };
            // What a message must have is not in this one.
            if !agreement.request.parts.required.is_empty() {
                continue;
            }
            // A signature that does not cover the Body holds no assertion: all messages are
            // refused.
            let held = agreement.request.assertion();
            let holder_signs = held.is_some_and(|it| it.holder == HolderUse::Signs);
            if holder_signs && !agreement.request.signs(&Part::Body) {
                continue;
            }
            let key = format!(
                "{:?} {:?} {:?}",
                agreement.request, agreement.response, agreement.conversation
            );
            let outcome = outcomes
                .entry(key)
                .or_insert_with(|| exchange(&agreement, &keys));
            failures.note(format!("{}: {subject}", case.id), outcome.clone());
        }
    }
    failures.end();
    assert!(outcomes.len() > 100, "{} agreements", outcomes.len());
}
