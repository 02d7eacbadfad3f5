//! An assertion that stands in for one of the issuer's, where conversations begin with it.
//!
//! The rule kept here: it is made as our token service makes assertions, of the keys of the folder.

use std::sync::Arc;
use std::time::Duration;

use soapstone::crypto::{DigestAlgorithm, Identity, SignatureAlgorithm};
use soapstone::trust::{
    AssertionRules, KeyType, Records, Requester, SecurityTokenService, ServiceRules, TargetService,
    TrustVersion,
};
use soapstone::wss::{AssertionPolicy, ContextOwner, SamlVersion};
use soapstone::xml::{Buffers, Document, ParseOptions};

use crate::failure::Failure;

/// How long it holds: whoever tries the files tries them today.
const LIFETIME: Duration = Duration::from_secs(24 * 3600);

/// Who makes it, and for whom, as the files of both sides have it.
const NAME: &str = "https://issuer.example";
const SERVICE: &str = "https://service.example";

/// An assertion about the holder of a key, or about a user without one.
pub(super) fn stand_in(
    issuer: Identity,
    holder: Option<&Identity>,
    version: SamlVersion,
) -> Result<Vec<u8>, Failure> {
    let key_type = match holder {
        Some(_) => KeyType::PublicKey,
        None => KeyType::Bearer,
    };
    let wst = TrustVersion::V13.namespace();
    let request = format!(
        "<Body><wst:RequestSecurityToken xmlns:wst=\"{wst}\"><wst:TokenType>{}</wst:TokenType>\
         <wst:RequestType>{wst}/Issue</wst:RequestType>\
         <wsp:AppliesTo xmlns:wsp=\"http://schemas.xmlsoap.org/ws/2004/09/policy\"><wsa:EndpointReference \
         xmlns:wsa=\"http://www.w3.org/2005/08/addressing\"><wsa:Address>{SERVICE}</wsa:Address></wsa:EndpointReference></wsp:AppliesTo>\
         <wst:KeyType>{}</wst:KeyType></wst:RequestSecurityToken></Body>",
        version.token_type(),
        key_type.uri(TrustVersion::V13)
    );
    let certificates = holder.map(|holder| holder.certificate().clone());
    let requester = Requester {
        owner: match &certificates {
            Some(certificate) => ContextOwner::Certificate(certificate.clone()),
            None => ContextOwner::User("alice".to_owned()),
        },
        token: None,
        context: None,
        confidential: true,
        signers: certificates.into_iter().collect(),
        mixed: false,
        idle: false,
    };
    let failed = |problem: String| Failure::new(format!("no assertion could be made: {problem}"));
    let document = Document::parse(
        request.into_bytes(),
        &ParseOptions::default(),
        &mut Buffers::new(),
    );
    let document = document.map_err(|error| failed(error.to_string()))?;
    let service = SecurityTokenService::new(rules(issuer, version, key_type));
    let records = Records::of_contexts(&|_| Ok(None));
    let now = jiff::Timestamp::now();
    let answer = service.answer(document.root(), None, &requester, records, now);
    let answer = answer.map_err(|fault| failed(fault.refusal.to_string()))?;
    let text = String::from_utf8_lossy(&answer.body);
    let found = text.split_once("<wst:RequestedSecurityToken>");
    let found = found.and_then(|(_, rest)| rest.split_once("</wst:RequestedSecurityToken>"));
    let (assertion, _) = found.ok_or_else(|| failed("the answer has none".to_owned()))?;
    Ok(assertion.as_bytes().to_vec())
}

/// The rules of an issuer that makes this assertion, and no other one.
fn rules(issuer: Identity, version: SamlVersion, key_type: KeyType) -> ServiceRules {
    let mut rules = ServiceRules::default();
    rules.contexts = false;
    rules.assertions = Some(Arc::new(AssertionRules {
        issuer: NAME.to_owned(),
        identity: Arc::new(issuer),
        signature: SignatureAlgorithm::RsaSha256,
        digest: DigestAlgorithm::Sha256,
        versions: vec![version],
        key_types: vec![key_type],
        shortest_lifetime: LIFETIME,
        lifetime: LIFETIME,
        longest_lifetime: LIFETIME,
        renewable: None,
        cancellable: false,
        services: vec![TargetService {
            address: SERVICE.to_owned(),
            audience: SERVICE.to_owned(),
            certificate: None,
            key_transport: TargetService::KEY_TRANSPORT,
        }],
        attributes: Vec::new(),
        dialects: Vec::new(),
        delegations: Vec::new(),
        issuers: Arc::new([]),
        policy: AssertionPolicy::default(),
    }));
    rules
}
