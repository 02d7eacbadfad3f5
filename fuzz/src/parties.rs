//! A client, a service, and messages that the one sent to the other, each with the plan that opens
//! it.
//!
//! Keys are in `keys/` and messages in `seeds/open/`; `cargo run --example record` makes both anew.
//! The one rule: the client's key is not among what opens a message, so that a target which changes
//! messages cannot sign them.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use jiff::Timestamp;
use soapstone_crypto::{Certificate, Identity, SecretBytes, SymmetricKey, TrustRules, TrustStore};
use soapstone_wss::{
    Binding, CacheBounds, EncryptedPart, EncryptionToken, Envelope, Facts, FirstSeen, InboundPlan,
    KeyReference, Keys, Mechanism, OperationObserver, Part, Policy, Rejected, SharedKey, Suite,
    SymmetricToken, Tuning, User, Verified,
};
use soapstone_xml::{Apex, Buffers, Canonicalization, Element, Limits};

use crate::reading;

/// The moment at which every message was made and is opened.
pub const MOMENT: &str = "2026-11-20T12:00:00Z";
/// Who authenticates with a password.
pub const USER: &str = "alice";
/// Her password.
pub const PASSWORD: &[u8] = b"open sesame";
/// The message before it was secured.
pub const PLAIN: &str = concat!(
    r#"<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/" xmlns:a="http://www.w3.org/2005/08/addressing">"#,
    r#"<soap:Header><a:To>urn:service</a:To><a:Action>urn:echo</a:Action></soap:Header><soap:Body>"#,
    r#"<e:echo xmlns:e="urn:echo"><e:text kind='x' a:b="1">Gr&#xFC;n &amp; mehr</e:text><e:empty/></e:echo>"#,
    r#"</soap:Body></soap:Envelope>"#
);

const ADDRESSING: &str = "http://www.w3.org/2005/08/addressing";
const WSU: &str = soapstone_wss::names::WSU;

/// The moment as a timestamp.
pub fn moment() -> Timestamp {
    MOMENT.parse().expect("a moment")
}

/// A file of this folder.
pub fn path(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), name].iter().collect()
}

fn file(name: &str) -> Vec<u8> {
    fs::read(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn certificate(name: &str) -> Certificate {
    Certificate::from_pem(&file(&format!("keys/{name}.cert.pem"))).expect("a certificate")
}

/// A party with its private key.
pub fn identity(name: &str) -> Arc<Identity> {
    let key = file(&format!("keys/{name}.key.pem"));
    let certificate = file(&format!("keys/{name}.cert.pem"));
    let read = Identity::from_file_contents(&key, &certificate, None);
    Arc::new(read.expect("key and certificate"))
}

/// What both parties know: each other's certificates, a shared key, a password.
pub fn known(identity: Arc<Identity>, peer: &str) -> Keys {
    let mut rules = TrustRules::default();
    rules.anchors.push(certificate("authority"));
    let shared = SymmetricKey::new((1..=32).collect()).expect("octets");
    Keys {
        identity: Some(identity),
        peer: Some(certificate(peer)),
        trust: Some(Arc::new(TrustStore::new(rules).expect("an anchor"))),
        shared: Some(Arc::new(SharedKey {
            name: "both of us".to_owned(),
            signing: shared.clone(),
            encrypting: shared,
        })),
        user: Some(Arc::new(User {
            name: USER.to_owned(),
            password: SecretBytes::copy_of(PASSWORD),
        })),
        ..Keys::default()
    }
}

/// Every policy with the name of its message.
pub fn policies() -> Vec<(&'static str, Policy)> {
    let preset = |mechanism: Mechanism, suite: &str| {
        let mut policy = mechanism.policy(Suite::named(suite).expect("a suite"));
        if policy.binding.signs() {
            policy.parts.signed.push(to());
        }
        policy
    };
    let sign = preset(Mechanism::Sign, "Basic256GCM");

    let mut sign_encrypt = preset(Mechanism::SignEncrypt, "Basic128GCM");
    let signature = EncryptedPart::customary(Part::Signature);
    sign_encrypt.parts.encrypted.push(signature);
    if let Binding::Asymmetric(keys) = &mut sign_encrypt.binding {
        keys.encryption = Some(EncryptionToken::wrapped(KeyReference::Thumbprint));
    }

    let mut encrypt_sign = preset(Mechanism::EncryptSign, "Basic256");
    encrypt_sign.binding.name_keys(KeyReference::IssuerSerial);

    let mut classic = preset(Mechanism::SignEncrypt, "TripleDesRsa15");
    classic.parts.encrypted.push(EncryptedPart::customary(to()));
    if let Binding::Asymmetric(keys) = &mut classic.binding {
        keys.signature = Some(KeyReference::Embedded);
        let wrapped = EncryptionToken::wrapped(KeyReference::SubjectKeyIdentifier);
        keys.encryption = Some(wrapped);
    }

    let mut shared = preset(Mechanism::SignEncrypt, "Basic256Sha256");
    shared.protect_with(SymmetricToken::Shared(KeyReference::KeyName));

    vec![
        ("sign", sign),
        ("sign-encrypt", sign_encrypt),
        ("encrypt-sign", encrypt_sign),
        ("classic", classic),
        ("shared", shared),
        ("encrypt", preset(Mechanism::Encrypt, "Basic128GCM")),
        ("username", preset(Mechanism::Username, "Basic256GCM")),
    ]
}

fn to() -> Part {
    Part::Header {
        namespace: ADDRESSING.to_owned(),
        local: "To".to_owned(),
    }
}

/// A message, the plan that opens it, and what it says.
#[derive(Debug)]
pub struct Case {
    /// Name of the message.
    pub name: &'static str,
    /// The secured message.
    pub message: Vec<u8>,
    plan: InboundPlan,
    /// The same policy with every tuning that could be fooled, and a memory that knows the
    /// message.
    tuned: InboundPlan,
    said: Said,
}

/// What an application is told: header blocks and the Body in canonical form, without the ids that
/// securing inserted.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Said {
    blocks: Vec<String>,
    body: String,
}

/// Every case.
pub static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let service = identity("service");
    policies()
        .into_iter()
        .map(|(name, policy)| {
            let keys = known(Arc::clone(&service), "client");
            let mut tuned = policy.clone();
            tuned.tuning = Tuning {
                canonical_runs: false,
                on_demand: true,
                digest_cache: Some(CacheBounds::default()),
                ..Tuning::default()
            };
            let tuned = InboundPlan::compile(tuned, keys.clone()).expect("a plan");
            let plan = InboundPlan::compile(policy, keys).expect("a plan");
            let message = file(&format!("seeds/open/{name}.xml"));
            let verified = open(&plan, &message).expect("the message as it was recorded");
            open(&tuned, &message).expect("the same message");
            Case {
                name,
                said: said(&verified).expect("a message of ordinary size"),
                message,
                plan,
                tuned,
            }
        })
        .collect()
});

impl Case {
    /// Opens bytes by the plan of this case, and checks what comes of it.
    ///
    /// # Panics
    /// If a plan that wants a signature accepts what the client never signed, or a tuned plan
    /// decides otherwise than one that is not.
    pub fn open(&self, bytes: &[u8]) {
        let opened = open(&self.plan, bytes);
        self.open_tuned(bytes, opened.as_ref().ok());
        let Ok(verified) = opened else {
            return;
        };
        if self.plan.policy().signature().is_none() {
            return;
        }
        assert!(!verified.evidence().signatures.is_empty());
        let Some(Said { blocks, body }) = said(&verified) else {
            return;
        };
        assert_eq!(body, self.said.body, "{}: another body", self.name);
        for block in &blocks {
            assert!(
                self.said.blocks.contains(block),
                "{}: another header: {block}",
                self.name
            );
        }
        // Every block that is passed on was signed, so none of them can be left out.
        let count = self.said.blocks.len();
        assert_eq!(blocks.len(), count, "{}: a header is missing", self.name);
    }
}

impl Case {
    /// Explains bytes by the plan of this case to a listener.
    ///
    /// # Panics
    /// If the explanation accepts what the plan refuses, or the reverse.
    pub fn explain(&self, bytes: &[u8], observer: &mut dyn OperationObserver) {
        let mut buffers = Buffers::default();
        let parsed = Envelope::parse(bytes.to_vec(), &Limits::default(), &mut buffers);
        let Ok(envelope) = parsed else {
            return;
        };
        let (plan, facts) = (&self.plan, facts());
        let explained = plan.explain(envelope, &facts, moment(), &mut buffers, observer);
        let opened = open(plan, bytes);
        assert_eq!(
            explained
                .as_ref()
                .err()
                .map(|rejected| rejected.cause().name()),
            opened
                .as_ref()
                .err()
                .map(|rejected| rejected.cause().name()),
            "{}: explained, the message has another verdict",
            self.name
        );
    }

    /// Opens bytes by the tuned plan, which must come to the same.
    fn open_tuned(&self, bytes: &[u8], expected: Option<&Verified<Envelope>>) {
        let forwarded = |verified: &Verified<Envelope>| {
            let mut octets = Vec::new();
            verified
                .forward(&mut octets, &mut Buffers::default())
                .is_ok()
                .then_some(octets)
        };
        let found = open(&self.tuned, bytes).ok();
        assert!(
            found.as_ref().map(forwarded) == expected.map(forwarded),
            "{}: tuned, the message is {}",
            self.name,
            if found.is_some() {
                "accepted"
            } else {
                "refused"
            }
        );
    }
}

fn facts() -> Facts {
    Facts {
        passwords: vec![(USER.to_owned(), SecretBytes::copy_of(PASSWORD))],
        ..Facts::default()
    }
}

fn open(plan: &InboundPlan, bytes: &[u8]) -> Result<Verified<Envelope>, Rejected> {
    let mut buffers = Buffers::default();
    let envelope = Envelope::parse(bytes.to_vec(), &Limits::default(), &mut buffers)?;
    let _ = plan.peek(&envelope);
    let opened = plan.open_unmarked(envelope, &facts(), moment(), &mut buffers)?;
    let first_seen = FirstSeen::assertion(opened.late_marks());
    opened.admit(first_seen)
}

/// `None` if what is to be passed on is larger than the limits allow.
fn said(verified: &Verified<Envelope>) -> Option<Said> {
    let mut bytes = Vec::new();
    verified.forward(&mut bytes, &mut Buffers::default()).ok()?;
    let document = reading::parse(&bytes).expect("what is passed on is XML");
    let text = |element: Element<'_>| {
        let octets = reading::canonical(
            &document,
            Apex::Element(element.id()),
            Canonicalization::ExclusiveWithComments,
        )
        .expect("what is passed on is canonical already");
        let text = String::from_utf8(octets).expect("UTF-8");
        match element.attribute(WSU, "Id") {
            Some(id) => text.replacen(&*id, "", 1),
            None => text,
        }
    };
    let parts: Vec<Element<'_>> = document.root().children().collect();
    let (body, header) = parts.split_last().expect("a Body");
    Some(Said {
        blocks: header
            .iter()
            .flat_map(|header| header.children())
            .map(text)
            .collect(),
        body: text(*body),
    })
}
