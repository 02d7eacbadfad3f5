//! Every message of the vectors that is to be processed as a whole, through the engine.
//!
//! The vectors say nothing of what a policy demands, so each message is opened by a plan that wants
//! what the message has, from anybody, at its own time. What we refuse all the same is listed with
//! the reason.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use soapstone_crypto::{
    Certificate, DataEncryption, DigestAlgorithm, Hasher, Identity, SecretBytes,
    SignatureAlgorithm, TrustRules, TrustStore, base64,
};
use soapstone_testkit::Case;
use soapstone_wss::{
    EncryptedPart, Envelope, Facts, FirstSeen, InboundPlan, KeyReference, KeyTransportMethod, Keys,
    Mechanism, Part, PasswordKind, Policy, Rejected, Suite, SymmetricToken, TimestampPolicy,
    Verified, names,
};
use soapstone_xml::{
    Apex, Buffers, C14nOptions, C14nScratch, Canonicalization, Document, FnSink, Limits,
    ParseOptions, canonicalize,
};

/// Valid messages that we refuse: the case, the name of our reason, and why that is so.
const REFUSED: [(&str, &str, &str); 7] = [
    (
        "wss4j-inline/EMPTY_PASSWORD_MSG_UsernameTokenTest",
        "authentication-failed",
        "the password is empty, which everybody knows: an endpoint file with one is refused, too",
    ),
    (
        "cxf-wss/open/encrypted_body_element",
        "not-an-envelope",
        "the Body itself is encrypted, which SOAP Message Security 1.1.1, 9.4 forbids: what arrives is no envelope",
    ),
    (
        "cxf-wss/open/encrypted_body_content_signed_with_encrypted_header",
        "duplicate-id",
        "both encrypted headers carry the id `_9`",
    ),
    (
        "phase4-as4/testfiles/TestReceipt11",
        "header-not-verified",
        "`eb:Messaging` must be understood, and the signature covers the Body only",
    ),
    (
        "signer/output_1_inclusive_namespaces",
        "header-not-verified",
        "`wsa:Action` must be understood and is not signed",
    ),
    (
        "signer/output_4_with_nested_signatures_with_noblanks_disabled",
        "header-not-verified",
        "`wsa:Action` must be understood and is not signed",
    ),
    (
        "signxml/soap/request",
        "malformed",
        "`ds:KeyInfo` names the key in two ways, which BSP 1.1 R5402 forbids: two receivers might take two keys",
    ),
];

/// Invalid messages that we accept: the case, and why.
const ACCEPTED: [(&str, &str); 1] = [(
    "wss4j-inline/DUPLICATE_ACTOR_MSG_SecurityHeaderTest",
    "two security headers for another actor than us are not ours to judge",
)];

/// What a case hands in: keys, certificates and users.
trait Material {
    /// Certificates that the case names.
    fn certificates(&self) -> Vec<Certificate>;

    /// Everybody whose private key the case has; at least nobody.
    fn identities(&self) -> Vec<Option<Arc<Identity>>>;

    /// Every user, with the password that the case knows.
    fn facts(&self) -> Facts;
}

impl Material for Case {
    fn certificates(&self) -> Vec<Certificate> {
        let files = self.keys().filter_map(|key| match key["use"].as_str()? {
            "cert-pem" | "trusted-pem" => Some(&key["file"]),
            "privkey-pem" => Some(&key["cert"]),
            _ => None,
        });
        files
            .filter(|file| file.is_string())
            .flat_map(|file| {
                Certificate::from_file_contents(&self.read(file.as_str().expect("a file")))
                    .expect("PEM")
            })
            .collect()
    }

    fn identities(&self) -> Vec<Option<Arc<Identity>>> {
        let certificates: Vec<u8> = self
            .certificates()
            .iter()
            .flat_map(|certificate| certificate.to_pem().into_bytes())
            .collect();
        let private = self.keys().filter(|key| key["use"] == "privkey-pem");
        let identities: Vec<_> = private
            .map(|key| {
                let key = self.read(key["file"].as_str().expect("a file"));
                Some(Arc::new(
                    Identity::from_file_contents(&key, &certificates, None).expect("a key pair"),
                ))
            })
            .collect();
        if identities.is_empty() {
            return vec![None];
        }
        identities
    }

    fn facts(&self) -> Facts {
        let users = self.keys().filter(|key| key["use"] == "username");
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        Facts {
            passwords: users
                .map(|user| {
                    let password = SecretBytes::copy_of(text(&user["password"]).as_bytes());
                    (text(&user["name"]), password)
                })
                .collect(),
            certificates: self.certificates(),
            ..Facts::default()
        }
    }
}

/// What a message has, read without proof.
struct Seen {
    signed: bool,
    /// With the session key.
    mac: bool,
    wrapped: bool,
    user: bool,
    data: Vec<DataEncryption>,
    created: Option<Timestamp>,
    tokens: Vec<Certificate>,
}

impl Seen {
    fn of(message: &[u8]) -> Option<Self> {
        let document = Document::parse(
            message.to_vec(),
            &ParseOptions::default(),
            &mut Buffers::default(),
        )
        .ok()?;
        let all = || document.root().descendants();
        let has = |namespace: &str, local: &str| all().any(|element| element.is(namespace, local));
        let created = all().find(|element| element.is(names::WSU, "Created"));
        let tokens = all().filter(|element| {
            element.is(names::WSSE, "BinarySecurityToken")
                || element.is(names::DS, "X509Certificate")
        });
        Some(Self {
            signed: has(names::DS, "Signature"),
            mac: all().any(|element| {
                let method = element.attribute("", "Algorithm");
                method.as_deref() == Some(SignatureAlgorithm::HmacSha1.uri())
            }),
            wrapped: has(names::XENC, "EncryptedKey"),
            user: has(names::WSSE, "UsernameToken"),
            data: all()
                .filter_map(|element| element.attribute("", "Algorithm"))
                .filter_map(|uri| DataEncryption::from_uri(&uri))
                .collect(),
            created: created.and_then(|created| created.text().trim().parse().ok()),
            tokens: tokens
                .filter_map(|token| base64::decode_xml_to_vec(token.text().as_bytes()).ok())
                .flat_map(|der| match Certificate::from_der(&der) {
                    Ok(certificate) => vec![certificate],
                    Err(_) => Certificate::from_pki_path(&der).unwrap_or_default(),
                })
                .collect(),
        })
    }

    /// A policy that wants what the message has, with any algorithm.
    fn policy(&self, signed: bool) -> Policy {
        let suite = Suite {
            name: "any".to_owned(),
            signature: vec![SignatureAlgorithm::RsaSha1, SignatureAlgorithm::RsaSha256],
            symmetric_signature: vec![SignatureAlgorithm::HmacSha1],
            digest: vec![DigestAlgorithm::Sha1, DigestAlgorithm::Sha256],
            canonicalization: vec![Canonicalization::Exclusive, Canonicalization::Inclusive10],
            key_transport: vec![KeyTransportMethod::RSA15, KeyTransportMethod::OAEP_SHA1],
            key_agreement: Vec::new(),
            data: self.data.clone(),
            derivation_info: None,
            implied_oaep_digest: false,
        };
        let mut policy = Mechanism::SignEncrypt.policy(suite);
        policy.header.timestamp = Some(TimestampPolicy {
            required: false,
            ttl: Duration::from_secs(3600),
            ..TimestampPolicy::default()
        });
        policy.set_username(
            Mechanism::Username
                .policy(policy.suite.clone())
                .username()
                .cloned(),
        );
        if let Some(username) = policy.username_mut() {
            username.passwords = vec![PasswordKind::Text, PasswordKind::Digest];
        }
        if self.mac {
            policy.protect_with(SymmetricToken::Session(KeyReference::Direct));
        }
        // A part that no message has: something is signed or encrypted, whatever it is.
        let any = Part::Id("nothing".to_owned());
        policy.parts.signed = signed.then(|| any.clone()).into_iter().collect();
        let encrypted = self.wrapped.then(|| EncryptedPart::customary(any));
        policy.parts.encrypted = encrypted.into_iter().collect();
        if !self.user {
            policy.set_username(None);
        }
        policy
    }
}

/// Opens the message as everybody whose key there is, signed or not.
fn open(case: &Case) -> Result<Verified<Envelope>, Rejected> {
    let message = case.input();
    let envelope = || Envelope::parse(message.clone(), &Limits::default(), &mut Buffers::default());
    let seen = match Seen::of(&message) {
        Some(seen) => seen,
        None => return Err(envelope().expect_err("no XML is no envelope").into()),
    };
    let mut rules = TrustRules::default();
    rules.pinned = case.certificates();
    rules.pinned.extend(seen.tokens.iter().cloned());
    rules.min_rsa_bits = 512;
    rules.allow_sha1_certificates = true;
    rules.allow_legacy_certificates = true;
    rules.ignore_validity = true;
    let trust = Arc::new(TrustStore::new(rules).expect("certificates"));
    let now = seen
        .created
        .unwrap_or_else(|| "2020-01-01T00:00:00Z".parse().expect("a moment"));
    let mut outcome = None;
    for identity in case.identities() {
        // A signature may be hidden in cipher text.
        for signed in [true, seen.signed] {
            let keys = Keys {
                identity: identity.clone(),
                trust: Some(Arc::clone(&trust)),
                ..Keys::default()
            };
            let plan = InboundPlan::compile(seen.policy(signed), keys)
                .unwrap_or_else(|problems| panic!("{}: {problems:?}", case.id));
            let opened =
                plan.open_unmarked(envelope()?, &case.facts(), now, &mut Buffers::default());
            let verified = opened.and_then(|opened| {
                let first_seen = FirstSeen::assertion(opened.late_marks());
                opened.admit(first_seen)
            });
            match verified {
                Ok(verified) => return Ok(verified),
                Err(rejected) => {
                    outcome.get_or_insert(rejected);
                }
            }
        }
    }
    Err(outcome.expect("at least one attempt"))
}

/// SHA-256 of the Body in exclusive canonical form.
fn body_digest(envelope: &Envelope) -> String {
    let mut hasher = Hasher::new(DigestAlgorithm::Sha256).expect("SHA-256");
    canonicalize(
        envelope.document(),
        Apex::Element(envelope.body().id()),
        &C14nOptions::new(Canonicalization::Exclusive),
        &mut C14nScratch::default(),
        &mut FnSink(|octets: &[u8]| hasher.update(octets)),
    )
    .expect("a canonical form");
    format!("{:?}", hasher.finish())
}

#[test]
fn every_message_of_the_vectors_has_its_outcome() {
    let cases = soapstone_testkit::cases("wss-open");
    let mut problems = Vec::new();
    for case in &cases {
        let exception = REFUSED.iter().find(|(id, ..)| *id == case.id);
        let outcome = open(case);
        let problem = match (case.outcome(), &outcome, exception) {
            ("valid", Ok(verified), None) => {
                let digest = body_digest(verified.envelope());
                let wanted = case.expected("body_exc_c14n_sha256");
                (wanted != Some(digest.as_str()) && wanted.is_some())
                    .then(|| "another Body".to_owned())
            }
            ("valid", Err(rejected), Some((_, reason, _))) if rejected.name() == *reason => None,
            ("invalid", Err(_), None) => None,
            ("invalid", Ok(_), _) if ACCEPTED.iter().any(|(id, _)| *id == case.id) => None,
            (_, Ok(_), _) => Some("accepted".to_owned()),
            (_, Err(rejected), _) => Some(format!("{}: {rejected}", rejected.name())),
        };
        problems.extend(problem.map(|problem| format!("{}: {problem}", case.id)));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
