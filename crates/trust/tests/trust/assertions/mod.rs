//! A token service that issues assertions: what it grants, and what it must not grant, each by its
//! clause or its attack.

mod attacks;
mod batches;
mod cancelled;
mod deputies;
mod granted;
mod renewed;
mod rights;
mod shown;

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use soapstone_crypto::{
    Certificate, DigestAlgorithm, DistinguishedName, Identity, SignatureAlgorithm, TrustRules,
    TrustStore,
};
use soapstone_testkit::keys;
use soapstone_trust::{
    Answer, AssertionRules, ContextsUnavailable, Delegation, DelegationForm, Effect,
    GrantedAttribute, KeyType, Parties, Records, Refusal, Requester, SecurityTokenService,
    ServiceRules, TargetService, TrustFault,
};
use soapstone_wss::{
    Assertion, AssertionIssuer, AssertionPolicy, ContextOwner, Envelope, SamlVersion,
};
use soapstone_xml::{Buffers, Document, Limits, ParseOptions};

use crate::support::{WSSE, WST, user};

pub(super) const WST14: &str = "http://docs.oasis-open.org/ws-sx/ws-trust/200802";
pub(super) const IDENTITY: &str = "http://schemas.xmlsoap.org/ws/2005/05/identity";
pub(super) const ISSUER: &str = "https://sts.example";
pub(super) const BOOKS: &str = "https://books.example/books";
pub(super) const FRONT: &str = "https://front.example/front";
pub(super) const SAML20: &str = "urn:oasis:names:tc:SAML:2.0:assertion";

pub(super) fn claim(name: &str) -> String {
    format!("{IDENTITY}/claims/{name}")
}

pub(super) fn certificate(subject: &str) -> Certificate {
    keys::identity(subject, keys::RSA).certificate().clone()
}

fn users(names: &[&str]) -> Parties {
    Parties {
        users: names.iter().map(|&name| name.to_owned()).collect(),
        ..Parties::default()
    }
}

fn certificates(subjects: &[&str]) -> Parties {
    let parse = |subject: &&str| DistinguishedName::parse(subject).expect("a name");
    Parties {
        certificates: subjects.iter().map(parse).collect(),
        ..Parties::default()
    }
}

/// An issuer whose assertions this certificate signs.
pub(super) fn issuer(name: &str, certificate: Certificate) -> AssertionIssuer {
    let mut rules = TrustRules::default();
    rules.pinned = vec![certificate];
    AssertionIssuer {
        name: name.to_owned(),
        trust: Some(TrustStore::new(rules).expect("trust")),
    }
}

/// The rules of most tests. `signer` has the key of the service.
pub(super) fn rules(signer: &Identity) -> AssertionRules {
    let service = |address: &str, audience: &str, certificate| TargetService {
        address: address.to_owned(),
        audience: audience.to_owned(),
        certificate,
        key_transport: TargetService::KEY_TRANSPORT,
    };
    let attribute = |subjects, name: &str, values: &[&str]| GrantedAttribute {
        subjects,
        claim: claim(name),
        values: values.iter().map(|&value| value.to_owned()).collect(),
    };
    AssertionRules {
        issuer: ISSUER.to_owned(),
        identity: Arc::new(signer.clone()),
        signature: SignatureAlgorithm::RsaSha256,
        digest: DigestAlgorithm::Sha256,
        versions: SamlVersion::ALL.to_vec(),
        key_types: vec![KeyType::PublicKey, KeyType::Bearer, KeyType::SymmetricKey],
        shortest_lifetime: Duration::from_secs(60),
        lifetime: Duration::from_secs(600),
        longest_lifetime: Duration::from_secs(3600),
        renewable: Some(Duration::from_secs(8 * 3600)),
        cancellable: false,
        services: vec![
            service(
                BOOKS,
                "https://books.example",
                Some(certificate("CN=books")),
            ),
            service(FRONT, "https://front.example", None),
        ],
        attributes: vec![
            attribute(users(&["alice"]), "emailaddress", &["alice@books.example"]),
            attribute(users(&["alice", "bob"]), "role", &["reader"]),
            attribute(certificates(&["CN=client"]), "role", &["writer"]),
        ],
        dialects: Vec::new(),
        delegations: vec![Delegation {
            actors: certificates(&["CN=front"]),
            subjects: users(&["alice"]),
            forms: DelegationForm::ALL.to_vec(),
            issuer: None,
            audiences: vec!["https://front.example".to_owned()],
            services: vec![BOOKS.to_owned()],
            renews: false,
        }],
        issuers: Arc::new([issuer(ISSUER, signer.certificate().clone())]),
        policy: AssertionPolicy {
            versions: SamlVersion::ALL.to_vec(),
            ..AssertionPolicy::default()
        },
    }
}

/// A token service at a moment.
pub(super) struct Sts {
    pub(super) service: SecurityTokenService,
    pub(super) now: Timestamp,
    /// Issuers and ids of assertions that were cancelled.
    pub(super) cancelled: RefCell<Vec<(String, String)>>,
    /// Whether it is known which were.
    pub(super) remembers: bool,
}

impl Sts {
    pub(super) fn new() -> Self {
        Self::with(|_| ())
    }

    pub(super) fn with(change: impl FnOnce(&mut AssertionRules)) -> Self {
        Self::signing("CN=sts", change)
    }

    /// A service with the key of this name.
    pub(super) fn signing(signer: &str, change: impl FnOnce(&mut AssertionRules)) -> Self {
        let mut of_assertions = rules(&keys::identity(signer, keys::RSA));
        change(&mut of_assertions);
        let mut rules = ServiceRules::default();
        rules.contexts = false;
        rules.assertions = Some(Arc::new(of_assertions));
        Self {
            service: SecurityTokenService::new(rules),
            now: Timestamp::now(),
            cancelled: RefCell::default(),
            remembers: true,
        }
    }

    /// A service whose keys are made by other rules.
    pub(super) fn making_keys(change: impl FnOnce(&mut ServiceRules)) -> Self {
        let mut sts = Self::new();
        let mut rules = sts.service.rules().clone();
        change(&mut rules);
        sts.service = SecurityTokenService::new(rules);
        sts
    }

    pub(super) fn later(mut self, seconds: i64) -> Self {
        self.now += SignedDuration::from_secs(seconds);
        self
    }

    pub(super) fn answer(
        &self,
        request: &str,
        requester: &Requester,
    ) -> Result<Answer, TrustFault> {
        let contexts = |_: &_| Ok(None);
        let cancelled = |issuer: &str, id: &str| match self.remembers {
            true => {
                let cancelled = self.cancelled.borrow();
                Ok(cancelled.iter().any(|it| it.0 == issuer && it.1 == id))
            }
            false => Err(ContextsUnavailable {
                problem: "away".to_owned(),
            }),
        };
        let records = Records {
            contexts: &contexts,
            cancelled: &cancelled,
        };
        let envelope = message(request);
        let answer = self
            .service
            .answer(envelope.body(), None, requester, records, self.now)?;
        for effect in &answer.effects {
            match effect {
                Effect::CancelAssertion {
                    issuer, id, until, ..
                } => {
                    assert!(*until > self.now);
                    let cancelled = (issuer.clone(), id.clone());
                    self.cancelled.borrow_mut().push(cancelled);
                }
                other => panic!("{other:?}"),
            }
        }
        Ok(answer)
    }

    pub(super) fn refusal(&self, request: &str, requester: &Requester) -> Refusal {
        let answered = self.answer(request, requester);
        answered.expect_err("a refusal").refusal
    }

    /// The assertion of an answer, as it was written.
    pub(super) fn issued(&self, request: &str, requester: &Requester) -> String {
        let answer = self.answer(request, requester).expect("an answer");
        assertion_of(&answer)
    }
}

/// An envelope with a request.
pub(super) fn message(request: &str) -> Envelope {
    let text = format!(
        "<s:Envelope xmlns:s=\"http://www.w3.org/2003/05/soap-envelope\"><s:Body>{request}</s:Body></s:Envelope>"
    );
    let limits = Limits::default();
    Envelope::parse(text.into_bytes(), &limits, &mut Buffers::default()).expect("an envelope")
}

/// The assertion in an answer.
pub(super) fn assertion_of(answer: &Answer) -> String {
    let body = String::from_utf8(answer.body.clone()).expect("text");
    let (start, end) = (
        "<wst:RequestedSecurityToken>",
        "</wst:RequestedSecurityToken>",
    );
    let from = body.find(start).expect("a token") + start.len();
    body[from..body.find(end).expect("its end")].to_owned()
}

/// The status in an answer.
pub(super) fn is_valid(answer: &Answer) -> bool {
    let body = String::from_utf8(answer.body.clone()).expect("text");
    let valid = body.contains("/status/valid<");
    assert_eq!(valid, !body.contains("/status/invalid<"), "{body}");
    valid
}

/// What an assertion says, to a service that trusts the key of this name.
pub(super) fn read(assertion: &str, signer: &str, now: Timestamp) -> Assertion {
    let options = ParseOptions::default();
    let bytes = assertion.as_bytes().to_vec();
    let document = Document::parse(bytes, &options, &mut Buffers::new()).expect("a document");
    let issuers = [issuer(ISSUER, certificate(signer))];
    let policy = AssertionPolicy {
        versions: SamlVersion::ALL.to_vec(),
        ..AssertionPolicy::default()
    };
    Assertion::verify(document.root(), &issuers, &policy, now).expect("an assertion")
}

/// A request of 1.3.
pub(super) fn request(operation: &str, elements: &str) -> String {
    format!(
        "<wst:RequestSecurityToken xmlns:wst='{WST}' xmlns:wst14='{WST14}' xmlns:wsse='{WSSE}' \
         xmlns:ic='{IDENTITY}' xmlns:ds='http://www.w3.org/2000/09/xmldsig#' \
         xmlns:wsu='{}'><wst:RequestType>{WST}/{operation}</wst:RequestType>{elements}\
         </wst:RequestSecurityToken>",
        crate::support::WSU
    )
}

/// A request for an assertion for the service at an address.
pub(super) fn issue(address: &str, key_type: &str, more: &str) -> String {
    let scope = format!(
        "<wsp:AppliesTo xmlns:wsp='http://schemas.xmlsoap.org/ws/2004/09/policy'>\
         <wsa:EndpointReference xmlns:wsa='http://www.w3.org/2005/08/addressing'>\
         <wsa:Address>{address}</wsa:Address></wsa:EndpointReference></wsp:AppliesTo>"
    );
    let key_type = format!("<wst:KeyType>{WST}/{key_type}</wst:KeyType>");
    request("Issue", &format!("{scope}{key_type}{more}"))
}

/// A user over TLS.
pub(super) fn by_password(name: &str) -> Requester {
    Requester {
        owner: user(name),
        token: None,
        context: None,
        confidential: true,
        signers: Vec::new(),
        mixed: false,
        idle: false,
    }
}

/// The holder of a certificate, whose key signed the request.
pub(super) fn by_signature(subject: &str) -> Requester {
    let certificate = certificate(subject);
    Requester {
        owner: ContextOwner::Certificate(certificate.clone()),
        token: None,
        context: None,
        confidential: true,
        signers: vec![certificate],
        mixed: false,
        idle: false,
    }
}
