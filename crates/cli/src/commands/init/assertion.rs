//! An assertion that stands in for one of the issuer's: in a file, or in the request to try.
//!
//! The rule kept here: it is made as our token service makes assertions, of the keys of the folder.

use std::sync::Arc;
use std::time::Duration;

use soapstone::crypto::{DigestAlgorithm, Identity, SignatureAlgorithm, digest};
use soapstone::trust::{
    AssertionRules, KeyType, Records, Requester, SecurityTokenService, ServiceRules, TargetService,
    TrustVersion,
};
use soapstone::wss::{AssertionPolicy, ConfirmationMethod, ContextOwner, SamlVersion};
use soapstone::xml::{Buffers, Canonicalization, Document, ParseOptions};
use soapstone::xmlsec::write::{
    Apex, ReferenceParts, SignedInfoWriter, TransformParts, signature, x509_certificates,
};

use super::foreign::Shown;
use crate::failure::Failure;

/// How long it holds: whoever tries the files tries them today.
const LIFETIME: Duration = Duration::from_secs(24 * 3600);

/// Who makes it, and for whom, as the files of both sides have it.
const NAME: &str = "https://issuer.example";
const SERVICE: &str = "https://service.example";

const SIGNATURE: SignatureAlgorithm = SignatureAlgorithm::RsaSha256;
const DIGEST: DigestAlgorithm = DigestAlgorithm::Sha256;

/// An assertion about the client, or about a user who has no key.
pub(super) fn stand_in(
    issuer: Identity,
    client: Option<&Identity>,
    shown: Shown,
    version: SamlVersion,
) -> Result<String, Failure> {
    let holder = client.filter(|_| shown == Shown::Held);
    let key_type = match shown {
        Shown::Borne | Shown::Vouched => KeyType::Bearer,
        Shown::Held => KeyType::PublicKey,
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
    let document = Document::parse(
        request.into_bytes(),
        &ParseOptions::default(),
        &mut Buffers::new(),
    );
    let document = document.map_err(|error| failed(error.to_string()))?;
    let issuer = Arc::new(issuer);
    let rules = AssertionRules {
        issuer: NAME.to_owned(),
        identity: Arc::clone(&issuer),
        signature: SIGNATURE,
        digest: DIGEST,
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
    };
    let mut service = ServiceRules::default();
    service.contexts = false;
    service.assertions = Some(Arc::new(rules));
    let service = SecurityTokenService::new(service);
    let records = Records::of_contexts(&|_| Ok(None));
    let now = jiff::Timestamp::now();
    let answer = service.answer(document.root(), None, &requester, records, now);
    let answer = answer.map_err(|fault| failed(fault.refusal.to_string()))?;
    let answer = String::from_utf8_lossy(&answer.body);
    let found = between(
        &answer,
        "<wst:RequestedSecurityToken>",
        "</wst:RequestedSecurityToken>",
    );
    let text = found.ok_or_else(|| failed("the answer has none".to_owned()))?;
    match shown {
        Shown::Vouched => vouched(text, &issuer, version),
        Shown::Borne | Shown::Held => Ok(text.to_owned()),
    }
}

/// The assertion of a bearer as one whose subject somebody vouches for: no token service issues
/// such (SAML Token Profile 1.1.1, 3.5.2). The issuer signs it anew.
fn vouched(assertion: &str, issuer: &Identity, version: SamlVersion) -> Result<String, Failure> {
    let unread = || failed("it has another form than ours".to_owned());
    let (before, rest) = assertion.split_once("<ds:Signature ").ok_or_else(unread)?;
    let (_, behind) = rest.split_once("</ds:Signature>").ok_or_else(unread)?;
    let bearer = ConfirmationMethod::Bearer.uri(version);
    let vouches = ConfirmationMethod::SenderVouches.uri(version);
    let [before, behind] = [before, behind].map(|piece| piece.replace(&bearer, &vouches));
    let name = match version {
        SamlVersion::V20 => " ID=\"",
        SamlVersion::V11 => " AssertionID=\"",
    };
    let id = between(assertion, name, "\"").ok_or_else(unread)?;
    let unsigned = [before.as_bytes(), behind.as_bytes()].concat();
    let digested = digest::digest(DIGEST, &unsigned).map_err(Failure::new)?;
    let form = Canonicalization::Exclusive;
    let mut info = SignedInfoWriter::new(Vec::new(), Apex::PLAIN, form, SIGNATURE, None);
    info.reference(&ReferenceParts {
        id: None,
        uri: Some(&format!("#{id}")),
        kind: None,
        transforms: &[
            TransformParts::Enveloped,
            TransformParts::Canonicalization(form, &[]),
        ],
        digest_method: DIGEST,
        digest: digested.as_ref(),
    });
    let info = info.finish();
    let value = issuer.key().sign(SIGNATURE, info.octets());
    let value = value.map_err(Failure::new)?;
    let mut key_info = Vec::new();
    x509_certificates(std::slice::from_ref(issuer.certificate()), &mut key_info);
    let mut own = Vec::new();
    signature(None, &info, &value, Some(&key_info), &mut own);
    Ok(format!("{before}{}{behind}", String::from_utf8_lossy(&own)))
}

fn between<'t>(text: &'t str, start: &str, end: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(start)?;
    let (inside, _) = rest.split_once(end)?;
    Some(inside)
}

fn failed(problem: String) -> Failure {
    Failure::new(format!("no assertion could be made: {problem}"))
}
