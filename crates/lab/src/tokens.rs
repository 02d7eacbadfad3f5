//! Messages under tokens, each in turns with the messages that it is compared with: a holder-of-key
//! assertion beside a certificate and the issuer's signature, and a Kerberos session key beside a
//! shared key.
//!
//! The rule kept here: both sides of a comparison are opened by the same steps, from bytes to
//! bytes, in one process. No KDC takes part: a session is a fact that a host hands to the engine.

use std::cell::RefCell;
use std::hint::black_box;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use soapstone::crypto::{
    DigestAlgorithm, Identity, SignatureAlgorithm, SymmetricKey, TrustRules, TrustStore, digest,
};
use soapstone::wss::{
    Assertion, AssertionIssuer, AssertionPolicy, AssertionToken, Envelope, Facts, FirstSeen,
    InboundPlan, KerberosForm, KerberosPolicy, KerberosSession, KeyBinding, Keys, Mechanism,
    OutboundPlan, Outgoing, SamlVersion, Suite, SupportingToken, SymmetricToken, Tuning,
    kerberos_sha1, names,
};
use soapstone::xml::{Buffers, Canonicalization, Document, ParseOptions};
use soapstone::xmlsec::write::{
    Apex, ReferenceParts, SignedInfoWriter, TransformParts, signature, x509_certificates,
};

use crate::measurement::{
    Effort, HOLDER_OF_KEY, KERBEROS_KEY, Measurement, Samples, Tuning as Told, timed,
};
use crate::parts::SUITE;
use crate::payload::Payload;
use crate::peers::Peers;

/// What messages under tokens carry: 60 bytes, and 1 kB as one text and as one document.
pub(crate) const PAYLOADS: [Payload; 3] =
    [Payload::Echo(12), Payload::Echo(1_000), Payload::Books(4)];

const ISSUER: &str = "https://issuer.example";
const AUDIENCE: &str = "https://service.example";
const ID: &str = "_assertion";

/// Opens a message that the holder of an assertion's key signed. In turns with it: a message that
/// a certificate signed, and the verification of the assertion alone.
pub(crate) fn run_holder_of_key(
    payload: Payload,
    peers: &Peers,
    tuning: Tuning,
    effort: Effort,
    emit: &mut dyn FnMut(&Measurement),
) {
    let issued = Issued::new(peers);
    let holder = issued.holder(payload, peers, tuning);
    let certificate = Sides::of(payload, peers, KeyBinding::Certificate, tuning);
    let mut works: [&mut dyn FnMut() -> f64; 3] = [
        &mut || holder.open(),
        &mut || certificate.open(),
        &mut || issued.verify(),
    ];
    let [holders, certificates, assertions] = Samples::all_in_turns(effort, &mut works);
    let measured = [
        ("open", "assertion", holder.secured.len(), holders),
        (
            "open-certificate",
            "certificate",
            certificate.secured.len(),
            certificates,
        ),
        (
            "verify-assertion",
            "assertion",
            issued.text.len(),
            assertions,
        ),
    ];
    for (op, binding, worked_on, samples) in measured {
        let made = (op, HOLDER_OF_KEY, binding);
        emit(&holder.measurement(made, worked_on, samples));
    }
}

/// Both operations of a message whose HMAC is by the session key of a Kerberos token that an
/// earlier message carried. In turns with them: both operations of a message under a shared key.
pub(crate) fn run_kerberos(
    payload: Payload,
    peers: &Peers,
    tuning: Tuning,
    effort: Effort,
    emit: &mut dyn FnMut(&Measurement),
) {
    let session = Sides::within_session(payload, peers, tuning);
    let shared = Sides::of(payload, peers, KeyBinding::Shared, tuning);
    let mut works: [&mut dyn FnMut() -> f64; 2] =
        [&mut || session.secure(), &mut || shared.secure()];
    let secured = Samples::all_in_turns(effort, &mut works);
    let mut works: [&mut dyn FnMut() -> f64; 2] = [&mut || session.open(), &mut || shared.open()];
    let opened = Samples::all_in_turns(effort, &mut works);
    let ops = [["secure", "secure-shared"], ["open", "open-shared"]];
    for (ops, [own, other]) in ops.into_iter().zip([secured, opened]) {
        let measured = [
            (ops[0], "kerberos", session.secured.len(), own),
            (ops[1], "shared", shared.secured.len(), other),
        ];
        for (op, binding, worked_on, samples) in measured {
            emit(&session.measurement((op, KERBEROS_KEY, binding), worked_on, samples));
        }
    }
}

/// Both sides of a signed message, and the message.
struct Sides {
    sender: OutboundPlan,
    receiver: InboundPlan,
    session: Option<KerberosSession>,
    facts: Facts,
    payload: Payload,
    tuning: Tuning,
    plain: Vec<u8>,
    secured: Vec<u8>,
    buffers: RefCell<Buffers>,
}

impl Sides {
    fn new(
        payload: Payload,
        (sender, receiver): (OutboundPlan, InboundPlan),
        session: Option<KerberosSession>,
        tuning: Tuning,
    ) -> Self {
        let mut sides = Self {
            sender,
            receiver,
            facts: Facts {
                kerberos: session.clone(),
                ..Facts::default()
            },
            session,
            payload,
            tuning,
            plain: payload.envelope(),
            secured: Vec::new(),
            buffers: RefCell::default(),
        };
        sides.secured = sides.secured_of(sides.plain.clone(), &mut Buffers::default());
        sides
    }

    fn of(payload: Payload, peers: &Peers, binding: KeyBinding, tuning: Tuning) -> Self {
        let plans = peers.plans(Mechanism::Sign, &suite(), binding, tuning);
        Self::new(payload, plans, None, tuning)
    }

    /// Under a session key. Messages name the token by the SHA-1 of its bytes
    /// (`#Kerberosv5APREQSHA1`).
    fn within_session(payload: Payload, peers: &Peers, tuning: Tuning) -> Self {
        let now = Timestamp::now();
        let session = KerberosSession {
            sha1: kerberos_sha1(b"the token of an earlier message"),
            token: None,
            key: SymmetricKey::generate(32).expect("a key"),
            client: "alice@EXAMPLE.COM".to_owned(),
            expires: now + SignedDuration::from_hours(12),
            authenticator: None,
            authenticator_ends: now,
        };
        let binding = KeyBinding::Kerberos;
        let plans = peers.plans_with(Mechanism::Sign, &suite(), binding, tuning, |policy| {
            policy.protect_with(SymmetricToken::Kerberos(KerberosPolicy {
                form: KerberosForm::Gss,
                carried: false,
                by_identifier: true,
            }));
        });
        Self::new(payload, plans, Some(session), tuning)
    }

    fn copy(&self, of: &[u8]) -> Vec<u8> {
        let mut bytes = self.buffers.borrow_mut().take(of.len());
        bytes.extend_from_slice(of);
        bytes
    }

    fn secured_of(&self, bytes: Vec<u8>, buffers: &mut Buffers) -> Vec<u8> {
        let envelope = Envelope::parse(bytes, &Payload::limits(), buffers).expect("an envelope");
        let outgoing = Outgoing {
            kerberos: self.session.as_ref(),
            ..Outgoing::default()
        };
        let secured = self
            .sender
            .secure(envelope, outgoing, Timestamp::now(), buffers);
        secured.expect("a message that can be secured").bytes
    }

    /// Secures the message once; in microseconds.
    fn secure(&self) -> f64 {
        let bytes = self.copy(&self.plain);
        timed(|| {
            let buffers = &mut self.buffers.borrow_mut();
            let secured = self.secured_of(bytes, buffers);
            buffers.give(secured);
        })
    }

    /// Opens the message once, and writes the plain one; in microseconds.
    fn open(&self) -> f64 {
        let bytes = self.copy(&self.secured);
        timed(|| {
            let buffers = &mut self.buffers.borrow_mut();
            let envelope =
                Envelope::parse(bytes, &Payload::limits(), buffers).expect("an envelope");
            let now = Timestamp::now();
            let opened = self
                .receiver
                .open_unmarked(envelope, &self.facts, now, buffers);
            let opened = opened.expect("a message that is accepted");
            let first_seen = FirstSeen::assertion(opened.late_marks());
            let verified = opened.admit(first_seen).expect("a message for us");
            let mut plain = buffers.take(self.plain.len());
            let written = verified.forward(&mut plain, buffers);
            written.expect("the plain message");
            verified.finish(buffers);
            buffers.give(plain);
        })
    }

    fn measurement(
        &self,
        (op, mechanism, binding): (&'static str, &'static str, &'static str),
        worked_on: usize,
        samples: Samples,
    ) -> Measurement {
        Measurement {
            suite: SUITE.to_owned(),
            binding: binding.into(),
            bytes: self.plain.len(),
            secured_bytes: worked_on,
            tuning: Told {
                canonical_runs: self.tuning.canonical_runs,
                derived_keys: self.tuning.derived_keys.is_some(),
            },
            ..Measurement::ours(op, mechanism, self.payload, &samples.figures())
        }
    }
}

fn suite() -> Suite {
    Suite::called(SUITE).expect("a suite of the table")
}

/// An assertion of SAML 2.0 about the holder of the sender's key, and who believes it.
struct Issued {
    text: Vec<u8>,
    issuers: Arc<[AssertionIssuer]>,
    policy: AssertionPolicy,
    buffers: RefCell<Buffers>,
}

impl Issued {
    fn new(peers: &Peers) -> Self {
        let others = Peers::new();
        let issuer = others.sender.identity.as_deref().expect("an identity");
        let holder = peers.sender.identity.as_deref().expect("an identity");
        let mut rules = TrustRules::default();
        rules.pinned.push(issuer.certificate().clone());
        let trust = TrustStore::new(rules).expect("a trust store");
        Self {
            text: assertion(holder, issuer),
            issuers: Arc::new([AssertionIssuer {
                name: ISSUER.to_owned(),
                trust: Some(trust),
            }]),
            policy: AssertionPolicy {
                audiences: vec![AUDIENCE.to_owned()],
                ..AssertionPolicy::default()
            },
            buffers: RefCell::default(),
        }
    }

    /// A message that carries the assertion, and is signed by its holder's key.
    fn holder(&self, payload: Payload, peers: &Peers, tuning: Tuning) -> Sides {
        let mut policy = Mechanism::Sign.policy(suite());
        policy.tuning = tuning;
        let accepted = self.policy.clone();
        policy.supporting.push(SupportingToken::Assertion(accepted));
        let token = AssertionToken::parse(self.text.clone()).expect("an assertion");
        let sender = Keys {
            assertion: Some(Arc::new(token)),
            ..peers.sender.clone()
        };
        let receiver = Keys {
            issuers: Arc::clone(&self.issuers),
            trust: None,
            ..peers.receiver.clone()
        };
        let outbound = OutboundPlan::compile(policy.clone(), sender);
        let inbound = InboundPlan::compile(policy, receiver);
        let compiled = "a policy that compiles";
        let plans = (outbound.expect(compiled), inbound.expect(compiled));
        Sides::new(payload, plans, None, tuning)
    }

    /// Reads the assertion, and verifies its issuer's signature and its life; in microseconds.
    fn verify(&self) -> f64 {
        let mut bytes = self.buffers.borrow_mut().take(self.text.len());
        bytes.extend_from_slice(&self.text);
        timed(|| {
            let buffers = &mut self.buffers.borrow_mut();
            let document = Document::parse(bytes, &ParseOptions::default(), buffers);
            let document = document.expect("a document");
            let now = Timestamp::now();
            let read = Assertion::verify(document.root(), &self.issuers, &self.policy, now);
            black_box(read.expect("an assertion that is believed"));
            document.recycle(buffers);
        })
    }
}

/// An assertion about the holder of a key, in canonical form, signed as issuers sign.
fn assertion(holder: &Identity, issuer: &Identity) -> Vec<u8> {
    let second = Timestamp::now().as_second();
    let moment = |after: i64| {
        let moment = Timestamp::from_second(second + after).expect("a moment");
        moment.to_string()
    };
    let (issued, expires) = (moment(-30), moment(12 * 3600));
    let saml = SamlVersion::V20.namespace();
    let mut data = Vec::new();
    x509_certificates(std::slice::from_ref(holder.certificate()), &mut data);
    let data = String::from_utf8(data).expect("text");
    let begin = format!(
        "<saml:Assertion xmlns:saml=\"{saml}\" ID=\"{ID}\" IssueInstant=\"{issued}\" Version=\"2.0\"><saml:Issuer>{ISSUER}</saml:Issuer>"
    );
    let rest = format!(
        "<saml:Subject><saml:NameID>alice</saml:NameID><saml:SubjectConfirmation Method=\"urn:oasis:names:tc:SAML:2.0:cm:holder-of-key\"><saml:SubjectConfirmationData><ds:KeyInfo xmlns:ds=\"{}\">{data}</ds:KeyInfo></saml:SubjectConfirmationData></saml:SubjectConfirmation></saml:Subject><saml:Conditions NotBefore=\"{issued}\" NotOnOrAfter=\"{expires}\"><saml:AudienceRestriction><saml:Audience>{AUDIENCE}</saml:Audience></saml:AudienceRestriction></saml:Conditions><saml:AttributeStatement><saml:Attribute Name=\"role\"><saml:AttributeValue>reader</saml:AttributeValue></saml:Attribute></saml:AttributeStatement></saml:Assertion>",
        names::DS
    );
    let form = Canonicalization::Exclusive;
    let method = SignatureAlgorithm::RsaSha256;
    let sha256 = DigestAlgorithm::Sha256;
    let unsigned = [begin.as_bytes(), rest.as_bytes()].concat();
    let mut info = SignedInfoWriter::new(Vec::new(), Apex::PLAIN, form, method, None);
    info.reference(&ReferenceParts {
        id: None,
        uri: Some(&format!("#{ID}")),
        kind: None,
        transforms: &[
            TransformParts::Enveloped,
            TransformParts::Canonicalization(form, &[]),
        ],
        digest_method: sha256,
        digest: digest(sha256, &unsigned).expect("SHA-256").as_ref(),
    });
    let info = info.finish();
    let value = issuer.key().sign(method, info.octets());
    let mut own = Vec::new();
    x509_certificates(std::slice::from_ref(issuer.certificate()), &mut own);
    let mut out = begin.into_bytes();
    let value = value.expect("a signature");
    signature(None, &info, &value, Some(&own), &mut out);
    out.extend_from_slice(rest.as_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONCE: Effort = Effort {
        time: std::time::Duration::ZERO,
        least: 4,
        most: 4,
    };

    fn told(run: impl FnOnce(&mut dyn FnMut(&Measurement))) -> Vec<(String, String)> {
        let mut told = Vec::new();
        run(&mut |line| told.push((line.op.to_string(), line.binding.to_string())));
        told
    }

    #[test]
    fn each_message_under_a_token_stands_beside_the_messages_that_it_is_compared_with() {
        let peers = Peers::new();
        let tuning = Tuning::default();
        for payload in PAYLOADS {
            let lines = told(|emit| run_holder_of_key(payload, &peers, tuning, ONCE, emit));
            let expected = [
                ("open", "assertion"),
                ("open-certificate", "certificate"),
                ("verify-assertion", "assertion"),
            ];
            assert_eq!(
                lines,
                expected.map(|(op, binding)| (op.to_owned(), binding.to_owned()))
            );
            let lines = told(|emit| run_kerberos(payload, &peers, tuning, ONCE, emit));
            let expected = [
                ("secure", "kerberos"),
                ("secure-shared", "shared"),
                ("open", "kerberos"),
                ("open-shared", "shared"),
            ];
            assert_eq!(
                lines,
                expected.map(|(op, binding)| (op.to_owned(), binding.to_owned()))
            );
        }
    }

    /// Kerberos Token Profile 1.1, 3.3.2: a later message names the token by its SHA-1.
    #[test]
    fn messages_under_a_session_key_name_a_token_and_carry_none() {
        let sides = Sides::within_session(Payload::Echo(12), &Peers::new(), Tuning::default());
        let text = String::from_utf8(sides.secured.clone()).expect("text");
        assert!(text.contains("#Kerberosv5APREQSHA1"), "{text}");
        assert!(!text.contains("BinarySecurityToken"), "{text}");
    }

    /// SAML Token Profile 1.1.1, 3.5.1: the holder's signature names the assertion.
    #[test]
    fn a_holder_signs_with_the_key_of_the_assertion_and_shows_no_certificate_beside_it() {
        let peers = Peers::new();
        let issued = Issued::new(&peers);
        let sides = issued.holder(Payload::Echo(12), &peers, Tuning::default());
        let text = String::from_utf8(sides.secured.clone()).expect("text");
        let named = format!("#SAMLV2.0\"><wsse:Reference URI=\"#{ID}\">");
        assert!(text.contains(&named), "{text}");
        assert!(!text.contains("BinarySecurityToken"), "{text}");
    }
}
