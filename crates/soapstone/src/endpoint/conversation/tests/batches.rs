//! Several requests in one message, and what they cost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use soapstone_crypto::{
    DigestAlgorithm, ExternalKey, ExternalKeyError, Identity, PrivateKey, RsaPadding, SecretBytes,
    SignatureAlgorithm, TrustRules, TrustStore,
};
use soapstone_testkit::keys;
use soapstone_trust::{AssertionRules, KeyType, TargetService};
use soapstone_wss::{AssertionIssuer, AssertionPolicy, SamlVersion};
use soapstone_xml::{Document, ParseOptions};

use super::*;

const WST: &str = "http://docs.oasis-open.org/ws-sx/ws-trust/200512";
const ISSUER: &str = "https://sts.example";

/// Counts what it is asked to sign.
#[derive(Default)]
struct Counting(AtomicU32);

impl ExternalKey for Counting {
    fn sign(&self, _: SignatureAlgorithm, _: &[u8]) -> Result<Vec<u8>, ExternalKeyError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(vec![1; 256])
    }

    fn decrypt(&self, _: RsaPadding<'_>, _: &[u8]) -> Result<SecretBytes, ExternalKeyError> {
        Err(ExternalKeyError::Refused)
    }

    fn agree(&self, _: &[u8]) -> Result<SecretBytes, ExternalKeyError> {
        Err(ExternalKeyError::Refused)
    }
}

/// A token service that signs as this.
fn service(identity: Arc<Identity>) -> SecurityTokenService {
    let mut trust = TrustRules::default();
    trust.pinned = vec![identity.certificate().clone()];
    let issuer = AssertionIssuer {
        name: ISSUER.to_owned(),
        trust: Some(TrustStore::new(trust).expect("trust")),
    };
    let mut rules = ServiceRules::default();
    rules.contexts = false;
    rules.assertions = Some(Arc::new(AssertionRules {
        issuer: ISSUER.to_owned(),
        identity,
        signature: SignatureAlgorithm::RsaSha256,
        digest: DigestAlgorithm::Sha256,
        versions: vec![SamlVersion::V20],
        key_types: vec![KeyType::Bearer],
        shortest_lifetime: Duration::from_secs(60),
        lifetime: Duration::from_secs(600),
        longest_lifetime: Duration::from_secs(3600),
        renewable: Some(Duration::from_secs(3600)),
        cancellable: true,
        services: vec![TargetService {
            address: "https://books.example/books".to_owned(),
            audience: "https://books.example".to_owned(),
            certificate: None,
            key_transport: TargetService::KEY_TRANSPORT,
        }],
        attributes: Vec::new(),
        dialects: Vec::new(),
        delegations: Vec::new(),
        issuers: Arc::new([issuer]),
        policy: AssertionPolicy::default(),
    }));
    SecurityTokenService::new(rules)
}

fn alice() -> Requester {
    Requester {
        owner: ContextOwner::User("alice".to_owned()),
        token: None,
        context: None,
        confidential: true,
        signers: Vec::new(),
        mixed: false,
        idle: false,
    }
}

fn judged_as(service: &SecurityTokenService, body: &str, known: &Known, now: Timestamp) -> Judged {
    let body = format!("<Body>{body}</Body>").into_bytes();
    let body = Document::parse(body, &ParseOptions::default(), &mut Buffers::new());
    let body = body.expect("a document");
    judged(service, body.root(), None, &alice(), known, now)
}

fn request(kind: &str, more: &str) -> String {
    format!(
        "<wst:RequestSecurityToken xmlns:wst='{WST}'><wst:RequestType>{WST}/{kind}</wst:RequestType>{more}</wst:RequestSecurityToken>"
    )
}

fn issued(service: &SecurityTokenService, now: Timestamp) -> String {
    let more = format!(
        "<wsp:AppliesTo xmlns:wsp='http://schemas.xmlsoap.org/ws/2004/09/policy'>\
         <wsa:EndpointReference xmlns:wsa='http://www.w3.org/2005/08/addressing'>\
         <wsa:Address>https://books.example/books</wsa:Address></wsa:EndpointReference>\
         </wsp:AppliesTo><wst:KeyType>{WST}/Bearer</wst:KeyType>"
    );
    let issued = judged_as(service, &request("Issue", &more), &Known::default(), now);
    let Judged::Final(Ok(answer)) = issued else {
        panic!("an answer")
    };
    let body = String::from_utf8(answer.body).expect("text");
    let (_, rest) = body
        .split_once("<wst:RequestedSecurityToken>")
        .expect("a token");
    let (token, _) = rest
        .split_once("</wst:RequestedSecurityToken>")
        .expect("its end");
    token.to_owned()
}

/// The store is asked for all names at once, and what was signed meanwhile is the answer.
#[test]
fn a_batch_of_renewals_is_signed_once() {
    let now = Timestamp::now();
    let known = keys::identity("CN=sts", keys::RSA);
    let ours = service(Arc::clone(&known));
    let tokens: Vec<_> = (0..8).map(|_| issued(&ours, now)).collect();
    let key = Arc::new(Counting::default());
    let public = known.certificate().public_key().clone();
    let external = PrivateKey::external(public, Arc::clone(&key) as Arc<dyn ExternalKey>);
    let identity = Identity::new(external, known.certificate().clone(), Vec::new());
    let counted = service(Arc::new(identity.expect("its own")));
    let renewals = tokens.iter().map(|token| {
        let target = format!("<wst:RenewTarget>{token}</wst:RenewTarget>");
        request("BatchRenew", &target)
    });
    let batch = format!(
        "<wst:RequestSecurityTokenCollection xmlns:wst='{WST}'>{}</wst:RequestSecurityTokenCollection>",
        renewals.collect::<String>()
    );
    key.0.store(0, Ordering::Relaxed);
    let Judged::IfTheyHold(names, outcome) = judged_as(&counted, &batch, &Known::default(), now)
    else {
        panic!("it has to be known whether they hold")
    };
    assert_eq!(names.len(), 8);
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!(key.0.load(Ordering::Relaxed), 8);
    // One that was cancelled ends all of it.
    let cancelled = names.into_iter().enumerate();
    let known = Known {
        cancelled: cancelled.map(|(at, name)| (name, Ok(at == 7))).collect(),
        ..Known::default()
    };
    let Judged::Final(refused) = judged_as(&counted, &batch, &known, now) else {
        panic!("all is known")
    };
    let refusal = refused.expect_err("a refusal").refusal;
    assert!(
        matches!(refusal, Refusal::TokenRejected { .. }),
        "{refusal}"
    );
}
